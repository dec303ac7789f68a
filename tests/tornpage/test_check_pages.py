# SPDX-License-Identifier: PostgreSQL
"""`make check-pages`: what it says of sound, damaged and unfit files, its exit status, and its picture."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from ref.tornpage import checksums
from tests.tornpage.strategies import random_page

TOP = Path(__file__).parents[2]


def checked(path: Path | str, *options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    command = [sys.executable, "-m", "bench.tornpage.check_pages", *options, "--", str(path)]
    environment = os.environ | {"PYTHONPATH": ".:csrc/ffi:build/ffi"}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def relation(tmp_path: Path, name: str = "16384", size: int = 8192, first: int = 0) -> tuple[Path, bytearray]:
    """A file of 40 sound pages, one of them new."""
    rng = Random(3)
    pages = [random_page(rng, size, first + block) for block in range(40)]
    for page in pages:
        page[18:20] = (size | 4).to_bytes(2, "little")
    pages[7] = bytearray(size)
    path = tmp_path / name
    return path, seal(b"".join(pages), size, first)


def seal(pages: bytes, size: int, first: int) -> bytearray:
    """With right checksums."""
    sealed = bytearray(pages)
    for i, checksum in enumerate(checksums(pages, size, first)):
        if any(sealed[i * size : (i + 1) * size]):
            sealed[i * size + 8 : i * size + 10] = checksum.to_bytes(2, "little")
    return sealed


def test_a_sound_file(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 0
    assert "40 pages of 8192 bytes: 1 new (all zero), 39 sound" in said


def test_a_torn_page_is_named_and_drawn(tmp_path: Path) -> None:
    """In the third gigabyte of a relation: block numbers count from the file's first one."""
    first = 2 * 131072
    path, pages = relation(tmp_path, "777777.2", first=first)
    pages[5 * 8192 + 4096 : 6 * 8192] = Random(9).randbytes(4096)
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 1
    assert f"block {first + 5}, byte 40960: pd_checksum" in said
    assert said.count("block ") == 1
    assert "1 with a wrong checksum" in said
    picture = TOP / "build" / "check-pages" / "777777.2.png"
    assert picture.read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize("lost", [1, 4096, 8191])
def test_a_truncated_file(tmp_path: Path, lost: int) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages[:-lost])
    status, said = checked(path)
    assert status == 2
    assert f"39 pages of 8192 bytes and {8192 - lost} bytes more: the file is truncated" in said


def test_another_block_size(tmp_path: Path) -> None:
    path, pages = relation(tmp_path, size=16384)
    path.write_bytes(pages)
    status, said = checked(path)
    assert (status, "give BLOCK_SIZE=16384" in said) == (2, True)
    assert checked(path, "--block-size", "16384")[0] == 0
    status, said = checked(path, "--block-size", "5000")
    assert (status, "5000 is no size of a block" in said) == (2, True)


def test_files_that_cannot_be_checked(tmp_path: Path) -> None:
    assert checked(tmp_path / "none") == (2, f"Error: {tmp_path / 'none'}: there is no such file\n")
    assert checked(tmp_path) == (2, f"Error: {tmp_path}: is a directory\n")
    assert checked("")[0] == 2
    path, pages = relation(tmp_path)
    for at in range(0, len(pages), 8192):
        pages[at + 8 : at + 10] = bytes(2)
    path.write_bytes(pages)
    status, said = checked(path)
    assert (status, "without --data-checksums" in said) == (2, True)


def test_an_empty_relation(tmp_path: Path) -> None:
    (tmp_path / "16385").touch()
    status, said = checked(tmp_path / "16385")
    assert (status, "0 pages" in said) == (0, True)

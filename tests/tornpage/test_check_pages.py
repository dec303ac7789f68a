# SPDX-License-Identifier: PostgreSQL
"""`make check-pages`: what it says of sound, damaged and unfit files, its exit status, and its picture."""

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner

from ref.tornpage import checksums
from tests.tornpage.strategies import random_page
from tools.check_pages.__main__ import main

TOP = Path(__file__).parents[2]


def checked(path: Path | str, *options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    done = CliRunner().invoke(main, [*options, "--", str(path)], catch_exceptions=False)
    return done.exit_code, done.output


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


def test_the_command(tmp_path: Path) -> None:
    """As `make check-pages` runs it."""
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    command = [sys.executable, "-m", "tools.check_pages.__main__", "--", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "40 pages of 8192 bytes: 1 new (all zero), 39 sound" in done.stdout


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
    assert (TOP / said.rpartition("picture: ")[2].strip()).read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize("lost", [1, 4096, 8191])
def test_a_truncated_file(tmp_path: Path, lost: int) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages[:-lost])
    status, said = checked(path)
    assert status == 1
    assert "39 pages of 8192 bytes: 1 new (all zero), 38 sound" in said
    assert f"TRUNCATED: {8192 - lost} bytes follow the last page, {lost} less than a page has" in said
    assert "What to do:" in said


def test_another_block_size(tmp_path: Path) -> None:
    path, pages = relation(tmp_path, size=16384)
    path.write_bytes(pages)
    status, said = checked(path)
    assert (status, "40 pages of 16384 bytes" in said) == (0, True)
    assert checked(path, "--block-size", "16384")[0] == 0
    status, said = checked(path, "--block-size", "8192")
    assert (status, "give BLOCK_SIZE=16384" in said) == (2, True)
    status, said = checked(path, "--block-size", "5000")
    assert (status, "5000 is no size of a block" in said) == (2, True)


def test_files_that_cannot_be_checked(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    for name, words in {
        "none": "there is no such file: SELECT pg_relation_filepath",
        "dangling": "the link points nowhere",
        "fifo": "this is a FIFO, which has no pages",
        "/dev/null": "this is a device",
        ".": "this is a directory: give a relation's file in it",
    }.items():
        status, said = checked(tmp_path / name)
        assert (status, words in said) == (2, True), said
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


def damaged(pages: bytearray, at: int, value: int) -> bytearray:
    """With two bytes of the third page's header changed, and its checksum right again."""
    pages[2 * 8192 + at : 2 * 8192 + at + 2] = value.to_bytes(2, "little")
    return seal(bytes(pages), 8192, 0)


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (10, 0x48, "pd_flags 0x0048 has bits that no version knows"),
        (12, 9000, "pd_lower 9000 lies above pd_upper"),
        (14, 8200, "pd_upper 8200 lies above pd_special"),
        (16, 8200, "pd_special 8200 lies above 8192, pd_special"),
        (16, 8191, "pd_special 8191 is no multiple of 8"),
        (14, 0, "pd_upper is 0, and the page is not all zero"),
    ],
)
def test_a_broken_header_is_said_field_by_field(tmp_path: Path, at: int, value: int, says: str) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(damaged(pages, at, value))
    status, said = checked(path)
    assert status == 1
    assert "block 2, byte 16384: pd_checksum is right; " in said
    assert says.partition(", pd_special")[0] in said
    assert "1 with a broken header" in said


def test_a_damaged_size_on_the_first_page_misleads_nobody(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    pages[18:20] = (16384 | 4).to_bytes(2, "little")
    path.write_bytes(pages)
    status, said = checked(path)
    assert status == 1
    assert "40 pages of 8192 bytes" in said
    assert "block 0, byte 0: pd_checksum" in said
    assert "pd_pagesize_version 0x4004 says 16384 bytes" in said


def test_a_zeroed_tail_is_said_with_its_size(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages + bytes(3 * 8192))
    status, said = checked(path)
    assert status == 0
    assert "the last 3 pages (24,576 bytes, from byte 327,680 on) are all zero" in said
    assert "352,256 bytes, blocks 0 to 42" in said


def test_a_segment_that_ends_before_the_next_one(tmp_path: Path) -> None:
    path, pages = relation(tmp_path)
    path.write_bytes(pages)
    (tmp_path / "16384.1").touch()
    status, said = checked(path)
    assert status == 1
    assert "the next segment exists, so this one must have 131,072 pages; it has 40" in said

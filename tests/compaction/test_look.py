# SPDX-License-Identifier: PostgreSQL
"""`pgquern look`: what it says of a heap's file, of damaged pages, and of files that are no heap."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ref import page as heap
from ref.compaction import VERSIONS, page_repair_fragmentation
from tests.page.build import page_of
from tests.page.cluster import cluster
from tests.page.shapes import random_shape
from tools.common.heap_tuple import XMIN_INVALID
from tools.look import __main__ as look
from tools.look.__main__ import main
from tools.look.rows import COLUMNS, Rows, gain

TOP = Path(__file__).parents[2]
SIZE = heap.BLCKSZ


def looked(path: Path | str, *options: str) -> tuple[int, str]:
    """Exit status, and all that is said."""
    done = CliRunner().invoke(main, [*options, "--", str(path)], catch_exceptions=False)
    return done.exit_code, done.output


def found(path: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(looked(path, "--json", *options)[1]))


def sound_pages(count: int = 60) -> list[bytes]:
    """Random sound pages without a special space."""
    pages = list[bytes]()
    number = 0
    while len(pages) < count:
        page = page_of(random_shape(number, sound=True))
        if heap.Header.parse(page).pd_special == SIZE:
            pages.append(heap.Header.parse(page)._replace(pd_flags=0, pd_pagesize_version=SIZE | 4).pack() + page[24:])
        number += 1
    return pages


def rows(looked: look.Looked) -> Rows:
    """Of all pages that are in no hole."""
    return np.concatenate([found for _, found in looked.each])


def write(tmp_path: Path, pages: list[bytes], name: str = "16384") -> Path:
    path = tmp_path / name
    path.write_bytes(b"".join(pages))
    return path


def free(page: bytes) -> int:
    header = heap.Header.parse(page)
    return header.pd_upper - header.pd_lower


@pytest.mark.parametrize("major", [13, 14, 18])
def test_each_page_is_as_the_oracle_compacts_it(tmp_path: Path, major: int) -> None:
    pages = sound_pages()
    said = found(write(tmp_path, pages), "--major", str(major))
    order, truncates = VERSIONS[major]
    for page, line in zip(pages, said["page"], strict=True):
        after = page_repair_fragmentation(page, order=order, truncate=truncates)
        kinds = [lp.lp_flags for lp in heap.line_pointers(page)]
        assert (line["free_before"], line["free_after"]) == (free(page), free(after))
        assert line["unused"] == kinds.count(heap.LP_UNUSED)
        assert line["redirect"] == kinds.count(heap.LP_REDIRECT)
        assert line["dead"] == kinds.count(heap.LP_DEAD)
        assert line["lines_cut"] == len(kinds) - len(heap.line_pointers(after))
    assert said["gain"] == sum(line["free_after"] - line["free_before"] for line in said["page"]) > 0
    assert said["refused"] == []


def test_the_command_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    """As `pgquern look` runs it."""
    path = write(tmp_path, [*sound_pages(), bytes(SIZE)])
    path.chmod(0o400)
    before = path.read_bytes()
    command = [sys.executable, "-m", "tools.look.__main__", "--", str(path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "61 pages (blocks 0 to 60), 1 new, 0 refused" in done.stdout
    assert "Compaction as such removes no dead tuple" in done.stdout
    assert "times as fast as upstream's" in done.stdout
    assert "on this machine now" in done.stdout
    assert path.read_bytes() == before
    assert "<svg" in (TOP / done.stdout.rpartition("picture: ")[2].strip()).read_text()


def test_a_page_that_the_kernel_refuses_is_listed_with_its_reason(tmp_path: Path) -> None:
    pages = sound_pages()
    header = heap.Header.parse(pages[5])
    lps = heap.line_pointers(pages[5])
    lps[0] = heap.LinePointer(header.pd_upper + 4, heap.LP_NORMAL, 40)
    pages[5] = heap.build(lps, header=header, fill=pages[5])
    pages[7] = pages[7][:12] + (9000).to_bytes(2, "little") + pages[7][14:]
    pages[9] = Random(1).randbytes(SIZE)
    pages[11] = pages[11][:16] + (8176).to_bytes(2, "little") + pages[11][18:]
    path = write(tmp_path, pages, "16384.1")
    status, said = looked(path)
    assert status == 1
    assert "block 131077 is refused: line pointer or element 1: corrupt line pointer: lp_off is not a multiple" in said
    assert "block 131079 is refused: pd_lower 9000 lies above pd_upper" in said
    assert "block 131081 is refused: " in said
    assert "block 131083 is refused: " in said
    assert "4 refused" in said
    assert "pgquern check-pages" in said
    assert {line["block"] - 131072 for line in found(path)["page"] if line["free_before"] == line["tuples"] == 0} >= {
        5, 7, 9, 11
    }  # fmt: skip
    status, said = looked(path, "--page", "131079")
    assert (status, "block 131079 cannot be drawn: pd_lower 9000" in said) == (2, True)


def test_a_page_that_cannot_be_drawn_is_told_before_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = sound_pages(1)[0][:12] + (9000).to_bytes(2, "little") + bytes(SIZE - 14)
    path = write(tmp_path, [*sound_pages(3), bytes(SIZE), refused])
    monkeypatch.setattr(look, "columns", lambda *_: pytest.fail("it reads the whole file"))
    for page, says in (("3", "is new"), ("4", "cannot be drawn"), ("5", "has the blocks 0 to 4"), ("-1", "--page -1")):
        status, said = looked(path, "--page", page)
        assert (status, says in said) == (2, True), said


def test_the_page_to_draw(tmp_path: Path) -> None:
    path = write(tmp_path, [*sound_pages(20), bytes(SIZE)], "16399")
    said = found(path)
    gains = [line["free_after"] - line["free_before"] for line in said["page"]]
    assert gains[said["drawn"]] == max(gains)
    assert found(path, "--page", "3")["drawn"] == 3
    for page, words in {"21": "has the blocks 0 to 20: --page 21 is none", "20": "block 20 is new (all zero)"}.items():
        status, text = looked(path, "--page", page)
        assert (status, words in text) == (2, True), text


def test_a_file_that_is_cut_and_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "16384"
    path.write_bytes(b"".join(sound_pages(3))[:-100])
    status, said = looked(path)
    assert (status, "2 pages" in said, "8092 bytes after the last page are no page" in said) == (0, True, True)
    path.write_bytes(b"")
    status, said = looked(path)
    assert (status, "0 pages" in said) == (0, True)


def test_files_that_are_no_heap(tmp_path: Path) -> None:
    sixteen = write(tmp_path, [page[:18] + (16384 | 4).to_bytes(2, "little") + page[20:] + bytes(SIZE)
                               for page in sound_pages(3)], "16")  # fmt: skip
    noise = tmp_path / "99"
    noise.write_bytes(b"\xaa" * 3 * SIZE)
    files: dict[Path | str, str] = {
        "": "say which file: pgquern look /",
        tmp_path / "none": "there is no such file",
        tmp_path: "this is a directory",
        sixteen: "pages of 16384 bytes: the kernels compact pages of 8192",
        noise: "no page says that it is one",
        write(tmp_path, sound_pages(2), "16384_vm"): "no heap, but the visibility map of relation 16384",
    }
    for path, words in files.items():
        status, said = looked(path)
        assert (status, words in said) == (2, True), said


def test_a_segment_that_no_relation_has(tmp_path: Path) -> None:
    status, said = looked(write(tmp_path, sound_pages(1), "16384.99999"))
    assert (status, "a relation has at most 4,294,967,295 pages" in said) == (2, True), said


def test_a_file_of_more_pages_than_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = sound_pages(11)
    pages[9] = pages[9][:12] + (9000).to_bytes(2, "little") + pages[9][14:]
    path = write(tmp_path, pages)
    whole = look.read(path, 18)
    monkeypatch.setattr(look, "CHUNK", 4)
    parts = look.read(path, 18)
    assert list(parts.refused) == list(whole.refused) == [9]
    assert rows(parts).tolist() == rows(whole).tolist()
    assert parts.ranges.sums.tolist() == whole.ranges.sums.tolist()


def test_holes_are_new_pages_and_are_not_read(tmp_path: Path) -> None:
    """2^27 pages, of which eleven lie in the middle: the same is said of those."""
    first, pages = 1 << 26, sound_pages(11)
    pages[9] = pages[9][:12] + (9000).to_bytes(2, "little") + pages[9][14:]
    whole, path = look.read(write(tmp_path, pages), 18), tmp_path / "16385"
    with path.open("wb") as file:
        file.truncate(1 << 40)
        file.seek(first * SIZE)
        file.write(b"".join(pages))
    assert "134,217,728 pages (blocks 0 to 134217727), 134,217,717 new, 1 refused" in looked(path)[1]
    sparse = look.read(path, 18)
    assert list(sparse.refused) == [first + 9]
    places = np.concatenate([found for found, _ in sparse.each])
    there = (places >= first) & (places < first + 11)
    assert rows(sparse)[there].tolist() == rows(whole).tolist()
    assert not rows(sparse)[~there].any()
    assert look.choose(sparse, None) == first + (look.choose(whole, None) or 0)


def test_line_pointers_are_counted_by_their_kind(tmp_path: Path) -> None:
    """Of a dead tuple, the bytes that a prune sets free, with the padding; without storage it is no tuple."""
    dead = struct.pack("<IIIHHHHHB5x", 10, 11, 0, 0, 0, 1, 0, XMIN_INVALID, 24)
    lps = [heap.LinePointer(SIZE - 32, heap.LP_NORMAL, 28), heap.LinePointer(0, heap.LP_NORMAL, 0),
           heap.LinePointer(0, heap.LP_DEAD, 0), heap.LinePointer(1, heap.LP_REDIRECT, 0), heap.UNUSED]  # fmt: skip
    looked = look.read(write(tmp_path, [heap.build(lps, {1: dead})]), 18)
    counted = dict(zip(COLUMNS, rows(looked)[0].tolist(), strict=True))
    assert counted == {
        "free_before": SIZE - 24 - 5 * 4 - 32, "free_after": SIZE - 24 - 4 * 4 - 32, "tuples": 1, "unused": 1,
        "redirect": 1, "dead": 1, "hinted": 1, "hinted_bytes": 32, "lines_cut": 1, "line_pointers": 4,
        "tuple_bytes": 28, "in_order": 1,
    }  # fmt: skip


def test_a_page_that_gains_only_by_a_prune_is_among_the_worst(tmp_path: Path) -> None:
    tuples = [struct.pack("<IIIHHHHHB5x", 10, 0, 0, 0, 0, 1, 0, bits, 24) for bits in (0, XMIN_INVALID)]
    lps = [heap.LinePointer(SIZE - 32, heap.LP_NORMAL, 28)]
    looked = look.read(write(tmp_path, [heap.build(lps, {1: one}) for one in tuples]), 18)
    assert (gain(rows(looked)).tolist(), looked.worst_places.tolist()) == ([0, 0], [1])


def test_what_the_cluster_says(tmp_path: Path) -> None:
    """Its version, and the blocks of a segment."""
    cluster(tmp_path, segment_blocks=1000)
    path = write(tmp_path, sound_pages(3), "16384.2")
    assert (look.read(path, None).first_block, look.read(path, None).major) == (2000, look.NEWEST)
    (tmp_path / "PG_VERSION").write_text("14\n")
    looked = look.read(path, None)
    assert (looked.major, looked.major_is_from) == (14, "as PG_VERSION says")
    assert look.read(path, 16).major == 16
    for says, words in {
        "12\n": "its cluster is of PostgreSQL 12: choose the nearest",
        "9.6\n": "its cluster is of PostgreSQL 9.6: choose the nearest",
        "\0" * 3: "PG_VERSION is damaged",
        "": "PG_VERSION is damaged: it says ''",
    }.items():
        (tmp_path / "PG_VERSION").write_text(says)
        with pytest.raises(look.CannotLook, match=words):
            look.read(path, None)
        assert look.read(path, 13).major == 13


def test_the_version_beside_a_file_or_in_a_tablespace(tmp_path: Path) -> None:
    """A database's folder has one of its own; a tablespace's folder has it in its name."""
    path = write(tmp_path, sound_pages(1))
    (tmp_path / "PG_VERSION").write_text("9.6\n")
    status, said = looked(path)
    assert (status, "its cluster is of PostgreSQL 9.6" in said) == (2, True)
    (tmp_path / "PG_14_202107181" / "5").mkdir(parents=True)
    assert look.read(path.rename(tmp_path / "PG_14_202107181" / "5" / "16384"), None).major == 14


def test_pages_of_an_index_are_the_most_in_an_index(tmp_path: Path) -> None:
    """A heap may have some damaged pages that look so."""
    special = heap.Header.parse(bytes(SIZE))._replace(
        pd_lower=24, pd_upper=8176, pd_special=8176, pd_pagesize_version=SIZE | 4
    )
    other = special.pack() + bytes(SIZE - 24)
    assert list(look.read(write(tmp_path, [*sound_pages(1), other]), 18).refused) == [1]
    with pytest.raises(look.CannotLook, match="no heap, but"):
        look.read(write(tmp_path, [*sound_pages(1), other, other]), 18)

# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages`: pages in a wrong place, pages of indexes, the end of the log, whole folders."""

import json
from pathlib import Path
from random import Random

import pytest

from tests.page.cluster import cluster
from tests.page.rows import BLCKSZ, FAULTS, FROZEN, NEXT, NEXT_MULTI, plain_tuples, sound
from tests.tornpage.test_check_pages import checked, seal
from tools.check_pages.index_pages import KINDS
from tools.common.relation_file import Ids

IDS = Ids(True, 1 << 32, NEXT, FROZEN, NEXT_MULTI, 10)


def heap(blocks: range, damaged: str = "") -> bytes:
    """Pages of these blocks; the first one has a fault."""
    pages = [sound(Random(block), block) for block in blocks]
    if damaged:
        FAULTS[damaged](pages[0], plain_tuples(pages[0])[0])
    return b"".join(bytes(one.page) for one in pages)


@pytest.mark.parametrize("checksums", [True, False])
def test_a_page_that_was_written_to_a_wrong_place(tmp_path: Path, checksums: bool) -> None:
    pages = seal(heap(range(40)), BLCKSZ, 0)
    pages[7 * BLCKSZ : 8 * BLCKSZ] = pages[23 * BLCKSZ : 24 * BLCKSZ]
    (tmp_path / "16384").write_bytes(pages)
    cluster(tmp_path, checksums=checksums)
    status, said = checked(tmp_path / "16384")
    words = "it is right for block 23" if checksums else "its rows say that they are of block 23"
    assert (status, f"block 7, byte {7 * BLCKSZ}: " in said, words in said) == (1, True, True), said


def test_a_page_beyond_the_end_of_the_log(tmp_path: Path) -> None:
    """Of a cluster that was shut down; of another, the end is not known."""
    pages = heap(range(3))
    (tmp_path / "16384").write_bytes(seal(b"\1\0\0\0\1" + pages[5:], BLCKSZ, 0))
    cluster(tmp_path, ids=IDS)
    status, said = checked(tmp_path / "16384")
    assert (status, "pd_lsn 1/1 lies beyond the end of the log, 1/0" in said) == (1, True), said
    cluster(tmp_path, ids=Ids(False, 1 << 32, NEXT, FROZEN, NEXT_MULTI, 10))
    assert checked(tmp_path / "16384")[0] == 0


def index(kind: str, special: int, word: int) -> bytes:
    page = bytearray(BLCKSZ)
    fields = {12: 24, 14: BLCKSZ - special, 16: BLCKSZ - special, 18: BLCKSZ | 4, BLCKSZ - 2 * KINDS[kind].word: word}
    for at, value in fields.items():
        page[at : at + 2] = value.to_bytes(2, "little")
    if kind == "a B-tree index":
        page[24:28] = (0x053162).to_bytes(4, "little")
    return bytes(page)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a GIN index"])
def test_pages_of_an_index(tmp_path: Path, kind: str) -> None:
    """Among sound ones one with another size of the special space, one with another mark."""
    has = KINDS[kind]
    right = index(kind, has.special, has.least)
    wrong = [index(kind, has.special + 8, has.least), index(kind, has.special, has.most + 1)]
    (tmp_path / "16384").write_bytes(seal(right * 3 + b"".join(wrong), BLCKSZ, 0))
    cluster(tmp_path)
    status, said = checked(tmp_path / "16384")
    assert (status, "3 sound, 2 with damaged rows or entries" in said) == (1, True), said
    assert f"block 3, byte {3 * BLCKSZ}: pd_checksum is right; pd_special is {BLCKSZ - has.special - 8}, and" in said
    assert f"is {has.most + 1:#06x}, and" in said
    assert f"on a page of {kind}" in said


def test_a_file_without_its_cluster_and_without_checksums(tmp_path: Path) -> None:
    (tmp_path / "16384").write_bytes(heap(range(3), "its data begins at byte"))
    status, said = checked(tmp_path / "16384")
    assert (status, "--no-checksums" in said) == (2, True), said
    status, said = checked(tmp_path / "16384", "--no-checksums")
    assert (status, "2 sound, 1 with damaged rows" in said) == (1, True), said
    (tmp_path / "16384").write_bytes(heap(range(3)))
    assert checked(tmp_path / "16384", "--no-checksums")[0] == 0


def test_a_whole_data_directory(tmp_path: Path) -> None:
    base = tmp_path / "base" / "5"
    base.mkdir(parents=True)
    cluster(tmp_path, "17", ids=IDS)
    for name in ("16384", "16385", "16386.1"):
        (base / name).write_bytes(seal(heap(range(3)), BLCKSZ, 131072 if name.endswith(".1") else 0))
    (base / "PG_VERSION").write_text("17\n")
    (base / "16386.1").write_bytes(b"")
    status, said = checked(tmp_path)
    assert (status, "3 files are sound; 6 pages: 6 sound" in said) == (0, True), said
    (base / "16385").write_bytes(seal(heap(range(3), "t_ctid points to line pointer 0"), BLCKSZ, 0))
    status, said = checked(tmp_path)
    assert (status, "1 of 3 files are damaged; 6 pages: 5 sound, 1 with damaged rows" in said) == (1, True), said
    assert f"pgquern check-pages {base / '16385'}" in said
    assert said.count("What to do:") == 1
    status, said = checked(base, "--json")
    found = json.loads(said)
    assert (status, found["sound"], found["files"], found["pages_rows"]) == (1, False, 3, 1)
    assert [(one["file"], one["wrong"][0]["block"]) for one in found["wrong"]] == [(str(base / "16385"), 0)]
    cluster(tmp_path, "17", version=937)
    status, said = checked(tmp_path)
    assert (status, "3 could not be checked" in said, "has the version 937" in said) == (2, True, True), said

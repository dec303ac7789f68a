# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages` names nothing in what servers leave behind when all is well."""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.page.cluster import cluster
from tests.page.rows import BLCKSZ, FROZEN, NEXT, NEXT_MULTI, Rows
from tests.postgres.server import EMBEDDED, Server
from tests.tornpage.test_check_pages import checked, seal
from tests.tornpage.test_check_pages_rows import IDS, heap
from tools.check_pages.catalog import Row, _catalog, _either
from tools.common.relation_file import Ids

TABLES = ("frozen", "wider", "rolled_back", "prepared", "aborted")
SETUP = (
    "CREATE TABLE frozen AS SELECT i FROM generate_series(1, 1000) i",
    "CREATE TABLE wider (a int)",
    "CREATE TABLE rolled_back AS SELECT 1 AS a",
    "CREATE TABLE prepared AS SELECT 1 AS a",
    "CREATE TABLE aborted (a int, b char(200))",
    "INSERT INTO aborted SELECT i, 'x' FROM generate_series(1, 1020) i",  # fills 30 pages
    "BEGIN; UPDATE aborted SET a = a; ROLLBACK",
    "VACUUM FREEZE aborted",
    "CHECKPOINT",
)
LATER = (
    "VACUUM FREEZE frozen",
    "ALTER TABLE wider ADD COLUMN b int",
    "INSERT INTO wider VALUES (1, 2)",
    "BEGIN; ALTER TABLE rolled_back ADD COLUMN b int; INSERT INTO rolled_back VALUES (1, 2); ROLLBACK",
    "BEGIN; ALTER TABLE prepared ADD COLUMN b int; INSERT INTO prepared VALUES (1, 2); PREPARE TRANSACTION 'p'",
    "CHECKPOINT",
)


@dataclass(frozen=True)
class Left:
    """The files of a cluster, as they were at a checkpoint, and as the cluster was when it was shut down."""

    data: Path
    files: dict[str, Path]
    before: dict[str, bytes]
    after: dict[str, bytes]

    def put(self, *before: str) -> None:
        """These as they were at the checkpoint, the others as they are."""
        _catalog.cache_clear()
        for name, path in self.files.items():
            path.write_bytes((self.before if name in before else self.after)[name])


@pytest.fixture(scope="module", params=[13, 18])
def left(request: pytest.FixtureRequest) -> Iterator[Left]:
    off = ["--no-data-checksums"] if request.param >= 18 else []
    with Server(EMBEDDED[request.param], settings={"max_prepared_transactions": 1}, initdb=off) as server:
        for statement in SETUP:
            server.execute(statement)
        files = {name: server.data_file(name) for name in (*TABLES, "pg_class")}
        files["pg_control"] = server.data / "global" / "pg_control"
        before = {name: path.read_bytes() for name, path in files.items()}
        for statement in LATER:
            server.execute(statement)
        server.stop()
        yield Left(server.data, files, before, {name: path.read_bytes() for name, path in files.items()})


@pytest.mark.servers
def test_an_aborted_update_whose_rows_were_frozen(left: Left) -> None:
    """Freezing clears xmax and leaves t_ctid: all rows of a page point to those of one other block."""
    page = left.after["aborted"][:BLCKSZ]
    (off,) = struct.unpack_from("<H", page, 24)
    assert page[(off & 0x7FFF) + 4 : (off & 0x7FFF) + 18] == bytes(10) + struct.pack("<HH", 30, 1), "it says block 30"
    left.put()
    status, said = checked(left.files["aborted"])
    assert status == 0, said


@pytest.mark.servers
@pytest.mark.parametrize("table", ["rolled_back", "prepared"])
def test_rows_of_a_transaction_that_added_a_column(left: Left, table: str) -> None:
    """It has not committed, so pg_class says one column less than its rows have."""
    left.put()
    status, said = checked(left.files[table])
    assert (status, f"public.{table}" in said) == (0, True), said


@pytest.mark.servers
@pytest.mark.parametrize(
    ("table", "stale", "says"),
    [("frozen", ("frozen",), "precedes relfrozenxid"), ("wider", ("pg_class",), "more than its table has")],
)
def test_a_crash_between_two_writes(left: Left, table: str, stale: tuple[str, ...], says: str) -> None:
    """After a checkpoint pg_class was written and the table not yet, or the other way. Of a cluster that was shut down
    it is a fault."""
    left.put("pg_control", *stale)
    status, said = checked(left.files[table])
    assert status == 0, said
    left.put(*stale)
    status, said = checked(left.files[table])
    assert (status, says in said, "was not shut down" in said) == (1, True, False), said


def test_a_base_backup(tmp_path: Path) -> None:
    """Its pg_control is copied last: rows may be older than the oldest XID in it."""
    (tmp_path / "16384").write_bytes(seal(heap(range(3)), BLCKSZ, 0))
    cluster(tmp_path, ids=Ids(False, 1 << 32, NEXT, NEXT - 1, NEXT_MULTI, NEXT_MULTI - 1, redo=1 << 32))
    status, said = checked(tmp_path / "16384")
    assert (status, "oldest XID" in said, "the cluster was not shut down" in said) == (1, True, True), said
    (tmp_path / "backup_label").touch()
    assert checked(tmp_path / "16384")[0] == 0
    (tmp_path / "16384").write_bytes(heap(range(3)))
    status, said = checked(tmp_path / "16384")
    assert (status, "The folder is a base backup" in said) == (1, True), said


def test_frozen_rows_do_not_say_their_block(tmp_path: Path) -> None:
    """Two rows that are not frozen do."""
    cluster(tmp_path, checksums=0)
    for unfrozen in (1, 2):
        rows = Rows(bytearray(BLCKSZ), 5)
        for i in range(10):
            rows.tuple(FROZEN, 0, 0, 0x900 if i < unfrozen else 0xB00, None, 20)
        struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, rows.upper, BLCKSZ, BLCKSZ | 4)
        (tmp_path / "16384").write_bytes(rows.page)
        status, said = checked(tmp_path / "16384")
        assert (status, "of block 5" in said) == (int(unfrozen == 2), unfrozen == 2), said


def test_a_row_of_pg_class_in_two_versions() -> None:
    """Of which neither is known to be dead: what allows more."""
    one = Row(16384, "t", 2200, 2, "r", 3, 900, 7, 16384, 0, 50)
    other = Row(16384, "t", 2200, 2, "r", 4, 4294967000, 9, 16384, 0, 40)
    both = Row(16384, "t", 2200, 2, "r", 4, 4294967000, 7, 16384, 0, 50)
    assert _either(one, other) == _either(other, one) == both


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with one table, below folders whose names mislead."""
    top = tmp_path / "base" / "PG_16" / "global" / "main"
    (top / "base" / "5").mkdir(parents=True)
    cluster(top, "16", ids=IDS)
    (top / "base" / "5" / "16384").write_bytes(seal(heap(range(3)), BLCKSZ, 0))
    return top


def test_a_data_directory_below_misleading_names(data: Path) -> None:
    """The log and pg_xact hold no relations, nor do lost files and another version's part of a tablespace. Links to a
    folder above them lead round and round: each turn has twice as many ways."""
    others = {
        "pg_wal/000000010000000000000001", "pg_xact/0000", "pg_multixact/offsets/0000", "lost+found/1/2",
        "pg_tblspc/16400/PG_15_202209061/5/16390",
    }  # fmt: skip
    for name in others:
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(bytes(8193))
    for again in ("again", "and again"):
        os.symlink(data / "base", data / "base" / again)
    status, said = checked(data)
    assert (status, "1 files are sound; 3 pages" in said) == (0, True), said
    (data / "pg_tblspc/16400/PG_16_202307071/5").mkdir(parents=True)
    (data / "pg_tblspc/16400/PG_16_202307071/5/16391").write_bytes(bytes(8193))
    status, said = checked(data)
    assert (status, "1 of 2 files are damaged" in said, "16391" in said) == (1, True, True), said


def test_what_is_not_there(data: Path) -> None:
    """A link that leads nowhere, of a file or of a tablespace, is said: its rows may be lost."""
    (data / "pg_tblspc").mkdir()
    os.symlink("/nowhere", data / "pg_tblspc" / "16400")
    os.symlink("/nowhere", data / "base" / "5" / "16385")
    status, said = checked(data)
    assert (status, "1 files are sound, 2 could not be checked" in said) == (2, True), said
    assert "16385: the link points nowhere" in said
    assert "16400: the tablespace's folder is not there" in said


def test_a_data_directory_that_is_mounted(data: Path) -> None:
    """A page that a crash tore is mended at the next mount: no backup is needed."""
    (data / "PG_VERSION").rename(data / "PG_VERSION.mounted-by-pgquern")
    status, said = checked(data)
    assert (status, "pgquern unmount on it first" in said) == (2, True), said


def test_what_holds_for_very_many_files_is_not_said_of_each(data: Path) -> None:
    cluster(data, "19", version=1900)
    for number in range(60):
        (data / "base" / "5" / f"{20000 + number}").touch()
    status, said = checked(data)
    assert (status, "61 could not be checked" in said, "and 11 files more" in said) == (2, True, True), said


def test_a_folder_that_cannot_be_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = os.scandir

    def scandir(path: str) -> Any:
        if os.fspath(path).endswith("base/5"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    status, said = checked(data)
    assert (status, "base/5: Permission denied: run this as the user that owns" in said) == (2, True), said

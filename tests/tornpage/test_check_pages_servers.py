# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages` on the files of real servers: relations, and all that is none."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres.server import EMBEDDED, Server
from tests.tornpage.test_check_pages import checked, seal
from tools.common.relation_file import cluster_of

pytestmark = pytest.mark.servers
BLCKSZ = 8192
SETUP = (
    "CREATE TABLE t AS SELECT g AS id FROM generate_series(1, 5000) g",
    "CREATE UNLOGGED TABLE u (id int)",
    "VACUUM t",
    "CHECKPOINT",
)


@pytest.fixture(scope="module", params=[13, 18])
def cluster(request: pytest.FixtureRequest) -> Iterator[tuple[Path, str, str]]:
    """A stopped cluster with checksums: its data directory, and the files of a table and of an unlogged one.

    Of the oldest major and the newest.
    """
    with Server(EMBEDDED[request.param], initdb=["--data-checksums"]) as server:
        for statement in SETUP:
            server.execute(statement)
        names = [server.execute(f"SELECT pg_relation_filepath('{name}')")[0][0] for name in ("t", "u")]
        server.stop()
        yield server.data, names[0], names[1]


def test_relations(cluster: tuple[Path, str, str], tmp_path: Path) -> None:
    """Sound; and after a damage, which is named with the page and the cluster."""
    data, table, unlogged = cluster
    for name, words in {
        table: f"pg_control of {data}: 8192 bytes a page, pages have checksums",
        f"{table}_fsm": "this is the free space map of relation",
        f"{table}_vm": "this is the visibility map of relation",
        f"{unlogged}_init": "0 pages",
    }.items():
        status, said = checked(data / name)
        assert (status, words in said) == (0, True), said
    copy = tmp_path / "copy"
    shutil.copytree(data / "global", copy / "global")
    target = copy / table
    target.parent.mkdir(parents=True)
    pages = bytearray((data / table).read_bytes())
    pages[18:20] = (32768 | 4).to_bytes(2, "little")
    pages[2 * BLCKSZ + 4000] ^= 1
    target.write_bytes(pages)
    status, said = checked(target)
    assert status == 1
    assert "2 with a wrong checksum" in said
    assert "pd_pagesize_version 0x8004 says 32768 bytes" in said
    assert "What to do:" in said


def test_files_that_are_no_relations(cluster: tuple[Path, str, str], tmp_path: Path) -> None:
    """By their names where they lie, and by their contents under another name."""
    data, table, _ = cluster
    wal = next(path for path in sorted((data / "pg_wal").iterdir()) if len(path.name) == 24)
    files = {
        data / "global" / "pg_control": "the cluster's control file",
        wal: "a segment of the write-ahead log",
        data / "global" / "pg_filenode.map": "the map of the catalogs' files",
        (data / table).parent / "pg_filenode.map": "the map of the catalogs' files",
        data / "PG_VERSION": "a text file",
        data / "postgresql.conf": "a text file",
        data / "pg_xact" / "0000": "a segment of pg_xact",
        data / "pg_multixact" / "offsets" / "0000": "a segment of offsets",
        next(data.glob("**/pg_internal.init")): "a cache of the catalogs",
    }
    for path, words in files.items():
        status, said = checked(path)
        assert (status, f"no relation, but {words}" in said) == (2, True), said
    for number, (path, words) in enumerate(list(files.items())[:3]):
        other = tmp_path / f"named{number}"
        shutil.copy(path, other)
        status, said = checked(other)
        assert (status, f"no relation, but {words}" in said) == (2, True), said


def test_a_cluster_without_checksums() -> None:
    """Its headers are checked, and that it is so is said."""
    with Server(EMBEDDED[16], initdb=[]) as server:
        server.execute(SETUP[0])
        server.execute("CHECKPOINT")
        table = server.execute("SELECT pg_relation_filepath('t')")[0][0]
        server.stop()
        found = cluster_of(server.data / table)
        assert found is not None
        assert (found.block_size, found.segment_blocks, found.checksums) == (BLCKSZ, 131072, False)
        status, said = checked(server.data / table)
        assert (status, "CHECKSUMS ARE OFF: only the rest is checked" in said) == (0, True), said
        pages = bytearray((server.data / table).read_bytes())
        pages[3 * BLCKSZ + 12 : 3 * BLCKSZ + 14] = (9000).to_bytes(2, "little")
        (server.data / table).write_bytes(pages)
        status, said = checked(server.data / table)
        assert status == 1
        assert "block 3, byte 24576: pd_lower 9000 lies above pd_upper" in said


def test_the_whole_cluster(cluster: tuple[Path, str, str], tmp_path: Path) -> None:
    """Its catalogs, indexes and tables are sound; a damaged row is named with its table."""
    data, table, _ = cluster
    status, said = checked(data)
    assert (status, "files are sound" in said) == (0, True), said
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    pages = bytearray((copy / table).read_bytes())
    at = int.from_bytes(pages[24:28], "little") & 0x7FFF
    pages[at + 22] = 40
    pages[:BLCKSZ] = seal(bytes(pages[:BLCKSZ]), BLCKSZ, 0)
    (copy / table).write_bytes(pages)
    status, said = checked(copy)
    assert (status, "public.t: " in said, "1 with damaged rows" in said) == (1, True, True), said
    assert "line pointer 1: its data begins at byte 40, " in said

# SPDX-License-Identifier: PostgreSQL
"""`pgquern check-pages` on clusters whose recovery went wrong: copies of a running server, of which it began too late
in the log, or ended too early. A server starts on them without a complaint.

The table's file is not as old as the rest. Recovery mends that only if it begins where the copying did, which
backup_label says, and goes on to where that ended.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.common.reports import of
from tests.postgres.server import EMBEDDED, Server
from tests.tornpage.test_check_pages import checked
from tests.tornpage.test_check_pages_amcheck import OURS, SINCE_16, Damaged, ours, theirs

pytestmark = pytest.mark.servers

MADE = "a backup whose backup_label was removed"
SETUP = (
    "CREATE EXTENSION amcheck",
    "CREATE TABLE t AS SELECT g AS id, 0 AS a FROM generate_series(1, 2000) g",
    "CHECKPOINT",
)
SUM = "SELECT count(*), sum(a) FROM t"


@pytest.fixture(params=[14, 18])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(EMBEDDED[request.param], initdb=["--data-checksums"]) as server:
        for statement in SETUP:
            server.execute(statement)
        yield server


def run(server: Server, *statements: str) -> None:
    for statement in statements:
        server.execute(statement)


def named_as_amcheck_does(server: Server, path: Path) -> None:
    """The same rows."""
    unlike = OURS if server.build.major >= 16 else f"{OURS}|{SINCE_16}"
    found = ours(path, unlike)
    assert found
    assert found.keys() == theirs(Damaged(server, path)).keys()


def test_a_backup_whose_backup_label_was_removed(server: Server, tmp_path: Path) -> None:
    """The table is copied first, the rest after a checkpoint. Recovery begins there, as pg_control says."""
    (report,) = (one for one in of("tornpage") if one.made == MADE)
    table, copy, is_new = server.data_file("t"), tmp_path / "copy", server.build.major >= 15
    with server.connect() as session:
        begin = "pg_backup_start('b', true)" if is_new else "pg_start_backup('b', true, false)"
        session.execute(f"SELECT {begin}")
        early = table.read_bytes()
        run(server, "UPDATE t SET a = 1 WHERE id % 2 = 0", "VACUUM (FREEZE) t", "CHECKPOINT")
        server.execute("INSERT INTO t VALUES (0, 7)")
        shutil.copytree(server.data, copy)
        (copy / table.relative_to(server.data)).write_bytes(early)
        stop = "pg_backup_stop()" if is_new else "pg_stop_backup(false)"
        ((label,),) = session.execute(f"SELECT labelfile FROM {stop}").fetchall()
        shutil.copytree(server.data / "pg_wal", copy / "pg_wal", dirs_exist_ok=True)
    expected = server.execute(SUM)

    (copy / "backup_label").write_text(label)
    with Server(server.build, template=copy) as restored:
        assert restored.execute(SUM) == expected
        restored.stop()
        status, said = checked(restored.data)
        assert (status, "files are sound" in said) == (0, True), said

    (copy / "backup_label").unlink()
    with Server(server.build, template=copy) as restored:
        assert restored.execute(SUM) != expected, "nothing tells the user"
        with pytest.raises(psycopg.errors.DataCorrupted, match="found xmin"):
            restored.execute("VACUUM (FREEZE, DISABLE_PAGE_SKIPPING) t")
        path = restored.data_file("t")
        restored.stop()
        status, said = checked(restored.data)
        assert (status, "1 of " in said, "public.t: " in said) == (report.status, True, True), said
        assert report.says in said
        named_as_amcheck_does(restored, path)


def test_a_copy_whose_log_ends_before_its_table(server: Server, tmp_path: Path) -> None:
    """The table is copied last, and nobody told the server that it was copied."""
    table, copy = server.data_file("t"), tmp_path / "copy"
    shutil.copytree(server.data, copy)
    run(server, "INSERT INTO t SELECT g, 7 FROM generate_series(1, 20000) g", "CHECKPOINT")
    shutil.copy(table, copy / table.relative_to(server.data))
    with Server(server.build, template=copy) as restored:
        path = restored.data_file("t")
        restored.stop()
        status, said = checked(restored.data)
        assert (status, "1 of " in said, "public.t: " in said) == (1, True, True), said
        status, said = checked(path)
        assert (status, "beyond the end of the log" in said, "the cluster's next XID" in said) == (1, True, True), said
        named_as_amcheck_does(restored, path)

# SPDX-License-Identifier: PostgreSQL
"""Clusters that are well, though few are like them: no command sees damage, and the ages are the server's own."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from tests.postgres.server import DEBIAN, EMBEDDED, Server, wait_for
from tests.postgres.wrap import _provide_segment
from tools.check_pages.__main__ import main as check_pages
from tools.frozen.__main__ import main as frozen

pytestmark = pytest.mark.servers
ROWS = (
    "CREATE TABLE t (a int PRIMARY KEY, b text)",
    "INSERT INTO t SELECT i, repeat('x', i % 50) FROM generate_series(1, 2000) i",
    "UPDATE t SET b = 'y' WHERE a % 5 = 0",
    "DELETE FROM t WHERE a % 7 = 0",
    "BEGIN; UPDATE t SET b = 'z' WHERE a % 11 = 0; ROLLBACK",
)
CHECKSUMS = ["--data-checksums"]


def fill(server: Server) -> None:
    for statement in ROWS:
        server.execute(statement)


@contextmanager
def upgraded() -> Iterator[Server]:
    """By pg_upgrade, which the distribution's server alone has: from a cluster of its own version."""
    with Server(DEBIAN, initdb=CHECKSUMS) as old, Server(DEBIAN, initdb=CHECKSUMS, start_now=False) as new:
        fill(old)
        old.stop()
        programs = new.home / "bin"
        there = ("-d", old.data, "-D", new.data, "-b", programs, "-B", programs)
        new.tool("pg_upgrade", "-U", "postgres", "-s", new.base, *there)
        new.start()
        for statement in ("UPDATE t SET b = 'new' WHERE a % 3 = 0", "VACUUM t"):
            new.execute(statement)
        yield new


@contextmanager
def standby() -> Iterator[Server]:
    """Of a primary that goes on."""
    with (
        Server(EMBEDDED[18], initdb=CHECKSUMS, start_now=False) as primary,
        Server(EMBEDDED[18], template=primary.data, start_now=False) as server,
    ):
        server.write("standby.signal", "")
        server.configure({"primary_conninfo": f"host={primary.base} user=postgres"})
        primary.start()
        server.start()
        fill(primary)
        primary.execute("CHECKPOINT")
        ((end,),) = primary.execute("SELECT pg_current_wal_lsn()")
        wait_for(lambda: server.execute(f"SELECT pg_last_wal_replay_lsn() >= '{end}'")[0][0], "the standby")
        yield server


@contextmanager
def near_wraparound() -> Iterator[Server]:
    """30 million XIDs before the end, of which a server warns. While autovacuum naps, none comes in an emergency."""
    with Server(DEBIAN, settings={"autovacuum": "on", "autovacuum_naptime": 2147483}, initdb=CHECKSUMS) as server:
        fill(server)
        ((oldest,),) = server.execute("SELECT min(datfrozenxid::text::bigint) FROM pg_database")
        server.stop()
        xid = oldest + 2**31 - 30_000_000
        server.tool("pg_resetwal", "-x", str(xid), "-u", str(oldest), "-D", server.data)
        _provide_segment(server, xid)
        server.start()
        server.execute("UPDATE t SET b = 'new' WHERE a % 3 = 0")
        yield server


def agrees(where: str, ages: list[tuple[Any, ...]], kinds: set[str]) -> None:
    done = CliRunner().invoke(frozen, ["--where", where, "--json"])
    found = json.loads(done.stdout)
    assert {one["kind"] for one in found["findings"]} == kinds, done.output
    assert {one["name"]: one["ages"] for one in found["databases"]} == {name: both for name, *both in ages}


@pytest.mark.parametrize("made", [upgraded, standby, near_wraparound])
def test_a_cluster_that_is_well(made: Callable[[], AbstractContextManager[Server]]) -> None:
    with made() as server:
        kinds = {"WARNING"} if made is near_wraparound else set[str]()
        ages = server.execute("SELECT datname::text, age(datfrozenxid), mxid_age(datminmxid) FROM pg_database")
        agrees(f"host={server.base} user=postgres dbname=postgres", ages, kinds)
        server.stop()
        agrees(str(server.data), ages, kinds)
        done = CliRunner().invoke(check_pages, [str(server.data)])
        assert (done.exit_code, "files are sound" in done.stdout) == (0, True), done.output

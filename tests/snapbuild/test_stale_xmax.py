# SPDX-License-Identifier: PostgreSQL
"""The snapshot builder's xmax, left behind by half the ring, on real servers: decoding loses a column, then fails.

Twice the same happens: two transactions change catalogs, the younger commits first, and then rows go into the table
that it changed and into the one that it created. Near the builder's xmax both are decoded as they are. Then 2^31 XIDs
pass without a catalog change, under the same decoding session; now xmax lies opposite, between the two. About 7 s a
server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
import pytest

from ref.snapbuild import SnapBuild, State
from tests.common.tally import tally
from tests.postgres.server import DEBIAN, EMBEDDED, Build, Server
from tests.snapbuild.decoding import PLUGIN, SLOT, Commit, Purge, decode, events
from tests.snapbuild.half_ring import (
    HALF,
    SETTINGS,
    Receiver,
    create_set_next_xid,
    pass_half_the_ring,
    take_xid,
    wait_for_slot,
)

pytestmark = pytest.mark.servers

BUILDS = [EMBEDDED[13], DEBIAN, EMBEDDED[16], EMBEDDED[18]]
per_build = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.label)
ERROR = re.compile(r'ERROR:  could not map file(?:node|number) "base/\d+/\d+" to relation OID')

Connection = psycopg.Connection[Any]


@dataclass(frozen=True)
class Pair:
    """Two transactions that changed catalogs; the younger committed first."""

    older: int
    younger: int


@dataclass(frozen=True)
class Observed:
    near: Pair
    far: Pair
    received: str
    """The rows that the first session decoded."""
    messages: list[str]
    """The messages of its builder."""
    received_again: str
    """The rows that the session after it decoded."""
    rows: list[tuple[Any, ...]]
    """Of the table `far`, by SQL."""
    snaps: dict[str, bytes]
    """The .snap files that were there in the end, by name."""


def change_catalogs(older: Connection, younger: Connection, table: str) -> Pair:
    """The younger transaction adds a column to the table and creates another one; then rows go into both."""
    older.execute("BEGIN")
    older_xid = take_xid(older)
    with younger.transaction():
        pair = Pair(older_xid, take_xid(younger))
        younger.execute(f"ALTER TABLE {table} ADD COLUMN b int".encode())
        younger.execute(f"CREATE TABLE {table}_new (a int)".encode())
    older.execute("ALTER TABLE other SET (fillfactor = 50)")
    older.execute("COMMIT")
    younger.execute(f"INSERT INTO {table} VALUES (1, 2)".encode())
    younger.execute("CHECKPOINT")
    younger.execute(f"INSERT INTO {table} VALUES (3, 4)".encode())
    younger.execute(f"INSERT INTO {table}_new VALUES (5)".encode())
    return pair


def begin(connection: Connection) -> None:
    connection.execute("BEGIN")
    connection.execute("INSERT INTO other VALUES (0)")


@cache
def observe(build: Build) -> Observed:
    with Server(build, settings=SETTINGS) as server, ExitStack() as stack:
        first, second, third = (stack.enter_context(server.connect()) for _ in range(3))
        create_set_next_xid(server)
        for table in ("near", "far", "other"):
            server.execute(f"CREATE TABLE {table} (a int)")
        server.execute(f"SELECT pg_create_logical_replication_slot('{SLOT}', '{PLUGIN}')")
        with Receiver(server) as receiver:
            near = change_catalogs(first, second, "near")
            pass_half_the_ring(server)

            opposite = near.younger + 1 + HALF
            while take_xid(first) < opposite - 4:
                pass
            # From here on some transaction always runs, as on a busy server: a session that starts at a running-xacts
            # record cannot begin afresh, but has the builder's state, xmax too, from the record's file.
            begin(first)
            ((lsn,),) = server.execute("SELECT pg_current_wal_insert_lsn()")
            server.execute("CHECKPOINT")
            begin(second)
            first.execute("COMMIT")
            wait_for_slot(server, f"restart_lsn >= '{lsn}'")
            far = change_catalogs(first, third, "far")
            second.execute("COMMIT")
            received = receiver.until_ended()
        messages = [line.partition("DEBUG:  ")[2] for line in server.log_text().splitlines()]
        with Receiver(server) as receiver:
            received_again = receiver.until_ended()
        snaps = {path.name: path.read_bytes() for path in (server.data / "pg_logical/snapshots").glob("*.snap")}
        return Observed(near, far, received, messages, received_again, server.execute("SELECT * FROM far"), snaps)


def inserted(received: str, table: str) -> list[str]:
    return re.findall(rf"^table public\.{table}: INSERT: (.*)$", received, re.MULTILINE)


def replay(builder: SnapBuild, messages: Sequence[str]) -> None:
    """The oracle goes through what the server's builder told of itself."""
    for event in events(list(messages)):
        if isinstance(event, Commit):
            builder.commit_txn(event.xid, event.subxids, event.changed)
        elif isinstance(event, Purge):
            builder.running_xacts(event.xmin, event.xmin)
            assert (event.after, event.xmax) == (len(builder.committed), builder.xmax)


@per_build
def test_near_xmax_the_younger_transaction_is_seen(build: Build) -> None:
    seen = observe(build)
    assert seen.near.older + 1 == seen.near.younger
    assert inserted(seen.received, "near") == ["a[integer]:1 b[integer]:2", "a[integer]:3 b[integer]:4"]
    assert inserted(seen.received, "near_new") == ["a[integer]:5"]


@per_build
def test_opposite_to_xmax_its_new_column_is_lost_without_a_word(build: Build) -> None:
    """Not only for a moment: the row after the next running-xacts record lacks the column too."""
    seen = observe(build)
    assert (seen.far.older, seen.far.younger) == (seen.near.younger + HALF, seen.near.younger + 1 + HALF)
    assert seen.rows == [(1, 2), (3, 4)]
    assert inserted(seen.received, "far") == ["a[integer]:1", "a[integer]:3"]


@per_build
def test_opposite_to_xmax_its_new_table_ends_decoding(build: Build) -> None:
    """For good: a session that starts anew has its xmax from the file, and fails at the same place."""
    seen = observe(build)
    assert ERROR.search(seen.received)
    assert ERROR.search(seen.received_again)
    assert inserted(seen.received, "far_new") == inserted(seen.received_again, "far_new") == []


@per_build
def test_the_oracle_hides_the_same(build: Build) -> None:
    seen = observe(build)
    builder = SnapBuild(state=State.CONSISTENT)
    replay(builder, seen.messages)
    assert builder.xmax == seen.far.older + 1
    purges = [event for event in events(seen.messages) if isinstance(event, Purge)]
    assert any(purge.xmin > HALF and purge.xmax == seen.near.younger + 1 for purge in purges)
    tally("snapbuild", "purges of real servers", len(purges))


@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_what_leaves_xmax_behind(build: Build) -> None:
    """Rows, and vacuums that do not truncate. A server that analyzes, or has temporary tables, is safe."""

    def moves_xmax(query: str) -> bool:
        server.execute(query)
        server.execute("CHECKPOINT")
        return any(isinstance(event, Commit) for event in events(decode(server, consume=True)))

    with Server(build, settings=SETTINGS) as server:
        server.execute("CREATE TABLE t (a int)")
        server.execute(f"SELECT pg_create_logical_replication_slot('{SLOT}', '{PLUGIN}')")
        behind = [
            "INSERT INTO t SELECT generate_series(1, 1000)",
            "UPDATE t SET a = 1",
            "VACUUM (FREEZE, TRUNCATE off)",
        ]
        assert [moves_xmax(query) for query in behind] == [False] * 3
        along = ["ANALYZE t", "CREATE TEMPORARY TABLE s (a int)", "TRUNCATE t"]
        assert [moves_xmax(query) for query in along] == [True] * 3

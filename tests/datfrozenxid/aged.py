# SPDX-License-Identifier: PostgreSQL
"""Databases that need an old segment of pg_xact, for one row of one table each.

Nothing but pg_xact says that the transaction which wrote the row of the table `u` committed: the row has no hint bits.
Everything else in the cluster is frozen. The XID counter is moved from there to the start of a later segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.datfrozenxid.standstill import Session
from tests.postgres.server import Server, wait_for
from tests.postgres.wrap import XIDS_PER_SEGMENT

ORIGIN = "origin"


def take_xid(server: Server) -> int:
    ((xid,),) = server.execute("SELECT txid_current()")
    return int(xid)


def has_segment(server: Server, xid: int) -> bool:
    """Is the segment of pg_xact there that knows this XID?"""
    return (server.data / "pg_xact" / f"{xid // XIDS_PER_SEGMENT:04X}").exists()


def datfrozenxid(server: Server, database: str) -> int:
    ((xid,),) = server.execute(f"SELECT datfrozenxid::text::bigint FROM pg_database WHERE datname = '{database}'")
    return int(xid)


def until_left(server: Server, database: str) -> None:
    """CREATE DATABASE waits for a few seconds only until nobody is in the template any more."""
    query = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
    wait_for(lambda: not server.execute(query), f"nobody in {database}")


def _freeze_all_but_u(server: Server) -> None:
    for (database,) in server.execute("SELECT datname FROM pg_database"):
        with Session(server, database) as session:
            found = session.run(
                "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'm') AND relname <> 'u'"
            )
            session.run(f"VACUUM (FREEZE) {', '.join(table for (table,) in found)}")


def _create(server: Server, databases: Sequence[str]) -> int:
    server.execute(f"CREATE DATABASE {ORIGIN}")
    with Session(server, ORIGIN) as session:
        session.run("CREATE TABLE u (a int)")
        ((xid,),) = session.run("WITH written AS (INSERT INTO u VALUES (1)) SELECT txid_current()")
    until_left(server, ORIGIN)
    for database in databases:
        server.execute(f"CREATE DATABASE {database} TEMPLATE {ORIGIN}")
    server.execute(f"DROP DATABASE {ORIGIN}")
    return int(xid)


@contextmanager
def aged(server: Server, *databases: str) -> Iterator[int]:
    """Makes them, and drops them in the end; gives the XID that wrote their rows."""
    old = _create(server, databases)
    start = (old // XIDS_PER_SEGMENT + 3) * XIDS_PER_SEGMENT
    oldest = min(datfrozenxid(server, database) for (database,) in server.execute("SELECT datname FROM pg_database"))
    server.execute(f"SELECT set_next_xid({start}, {oldest})")
    take_xid(server)
    _freeze_all_but_u(server)
    server.execute("CHECKPOINT")
    assert has_segment(server, old)
    try:
        yield old
    finally:
        for (database,) in server.execute("SELECT datname FROM pg_database WHERE datname ~ '^.$'"):
            until_left(server, database)
            server.execute(f"DROP DATABASE {database}")

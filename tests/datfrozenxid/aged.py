# SPDX-License-Identifier: PostgreSQL
"""Databases that need an old part of pg_xact or of pg_multixact, for one row of one table each.

Nothing but pg_xact says that the transaction which wrote the row of the table `u` committed: the row has no hint bits.
Or nothing but pg_multixact says who has locked and updated it. Everything else in the cluster is frozen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from tests.datfrozenxid.standstill import Session
from tests.postgres.server import Server, wait_for
from tests.postgres.wrap import XIDS_PER_SEGMENT

ORIGIN = "origin"
MULTIS_PER_SEGMENT = 32 * 8192 // 4
"""Of pg_multixact/offsets: 32 pages of 8192 bytes, four bytes a MultiXactId."""


def take_xid(server: Server) -> int:
    ((xid,),) = server.execute("SELECT txid_current()")
    return int(xid)


def has_segment(server: Server, xid: int) -> bool:
    """Is the segment of pg_xact there that knows this XID?"""
    return (server.data / "pg_xact" / f"{xid // XIDS_PER_SEGMENT:04X}").exists()


def has_multis(server: Server, multi: int) -> bool:
    """Is the segment of pg_multixact/offsets there that knows this MultiXactId?"""
    return (server.data / "pg_multixact" / "offsets" / f"{multi // MULTIS_PER_SEGMENT:04X}").exists()


def _stored(server: Server, column: str, database: str) -> int:
    ((stored,),) = server.execute(f"SELECT {column}::text::bigint FROM pg_database WHERE datname = '{database}'")
    return int(stored)


def datfrozenxid(server: Server, database: str) -> int:
    return _stored(server, "datfrozenxid", database)


def datminmxid(server: Server, database: str) -> int:
    return _stored(server, "datminmxid", database)


def until_left(server: Server, database: str) -> None:
    """CREATE DATABASE waits for a few seconds only until nobody is in the template any more."""
    query = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
    wait_for(lambda: not server.execute(query), f"nobody in {database}")


def _freeze_all_but_u(server: Server, databases: Iterable[str]) -> None:
    for database in databases:
        with Session(server, database) as session:
            found = session.run(
                "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'm') AND relname <> 'u'"
            )
            session.run(f"VACUUM (FREEZE) {', '.join(table for (table,) in found)}")


def _all(server: Server) -> list[str]:
    return [str(database) for (database,) in server.execute("SELECT datname FROM pg_database")]


def _write(session: Session) -> int:
    """A row that nobody reads again. Returns the XID that wrote it."""
    ((xid,),) = session.run("WITH written AS (INSERT INTO u VALUES (1)) SELECT txid_current()")
    return int(xid)


def _share(session: Session) -> int:
    """A row that was locked by one transaction, and updated by another that rolled back. Returns its MultiXactId."""
    session.run("INSERT INTO u VALUES (1)")
    with Session(session.server, ORIGIN) as locker:
        locker.run("BEGIN")
        locker.run("SELECT a FROM u FOR KEY SHARE")
        session.run("BEGIN")
        session.run("UPDATE u SET a = 2")
        session.run("ROLLBACK")
        locker.run("COMMIT")
    ((multi,),) = session.run("SELECT xmax::text::bigint FROM u")
    return int(multi)


def _create(server: Server, databases: Sequence[str], fill: Callable[[Session], int]) -> int:
    server.execute(f"CREATE DATABASE {ORIGIN}")
    with Session(server, ORIGIN) as session:
        session.run("CREATE TABLE u (a int)")
        id = fill(session)
    until_left(server, ORIGIN)
    for database in databases:
        server.execute(f"CREATE DATABASE {database} TEMPLATE {ORIGIN}")
    server.execute(f"DROP DATABASE {ORIGIN}")
    return id


def _drop(server: Server) -> None:
    for (database,) in server.execute("SELECT datname FROM pg_database WHERE datname ~ '^.$'"):
        until_left(server, database)
        server.execute(f"DROP DATABASE {database}")


@contextmanager
def aged(server: Server, *databases: str, untouched: str = "") -> Iterator[int]:
    """Makes them, and drops them in the end; gives the XID that wrote their rows.

    The XID counter is moved from there to the start of a later segment of pg_xact. Nobody connects to the database
    `untouched`: its catalogs are not frozen, and no row in them has got hint bits from a reader.
    """
    old = _create(server, databases, _write)
    start = (old // XIDS_PER_SEGMENT + 3) * XIDS_PER_SEGMENT
    oldest = min(datfrozenxid(server, database) for database in _all(server))
    server.execute(f"SELECT set_next_xid({start}, {oldest})")
    take_xid(server)
    _freeze_all_but_u(server, (database for database in _all(server) if database != untouched))
    server.execute("CHECKPOINT")
    assert has_segment(server, old)
    try:
        yield old
    finally:
        _drop(server)


@contextmanager
def shared(server: Server, *databases: str, taken: int) -> Iterator[int]:
    """Makes them, and drops them in the end; gives the MultiXactId of their rows. So many more are taken after it."""
    old = _create(server, databases, _share)
    server.execute(f"SELECT take_multis({taken})")
    _freeze_all_but_u(server, _all(server))
    try:
        yield old
    finally:
        _drop(server)

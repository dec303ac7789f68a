# SPDX-License-Identifier: PostgreSQL
"""A real server whose pg_class and pg_database are written by UPDATE, and its own vac_update_datfrozenxid."""

import struct
from collections.abc import Sequence
from typing import Any

import psycopg

from ref.datfrozenxid import Pair, Row
from tests.postgres.server import Server, extension

SETTINGS: dict[str, str | int] = {
    # No age that is tried here may start an autovacuum against wraparound.
    "autovacuum_freeze_max_age": 2_000_000_000,
    "autovacuum_multixact_freeze_max_age": 2_000_000_000,
}
FUNCTIONS = (("update_datfrozenxid()", "bytea", "update_datfrozenxid"),)
ALL_ROWS = "SELECT relkind::text, relfrozenxid::text::bigint, relminmxid::text::bigint FROM pg_class"
STORED = (
    "SELECT datfrozenxid::text::bigint, datminmxid::text::bigint FROM pg_database WHERE datname = current_database()"
)


class Database:
    """One connection to one database. All its tables but `relations` hold invalid ids from the start."""

    def __init__(self, server: Server, relations: int) -> None:
        library = server.put(extension("datfrozenxid", server.build.major))
        self.connection: psycopg.Connection[Any] = server.connect()
        for signature, returns, symbol in FUNCTIONS:
            self.run(f"CREATE FUNCTION {signature} RETURNS {returns} AS '{library}', '{symbol}' LANGUAGE C STRICT")
        for i in range(relations):
            self.run(f"CREATE TABLE f{i} ()")
        self.run("UPDATE pg_class SET relfrozenxid = '0', relminmxid = '0' WHERE relkind IN ('r', 'm', 't')")

    def run(self, command: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(command.encode())
        return cursor.fetchall() if cursor.description else []

    def next_ids(self) -> Pair:
        """The ids to be assigned next, or a few before."""
        ((xid, multi),) = self.run(
            "SELECT txid_current() % 4294967296, next_multixact_id::text::bigint FROM pg_control_checkpoint()"
        )
        return Pair(int(xid), int(multi))

    def write(self, rows: Sequence[Row], stored: Pair) -> None:
        """Gives the relations f0, f1, ... these rows, and the database these stored values."""
        values = ", ".join(
            f"('f{i}', '{kind}'::\"char\", '{xid}'::xid, '{multi}'::xid)" for i, (kind, xid, multi) in enumerate(rows)
        )
        self.run(
            f"UPDATE pg_class SET relkind = k, relfrozenxid = x, relminmxid = m FROM (VALUES {values}) v(name, k, x, m)"
            " WHERE relname = name"
        )
        self.run(
            f"UPDATE pg_database SET datfrozenxid = '{stored.xid}', datminmxid = '{stored.multi}'"
            " WHERE datname = current_database()"
        )

    def rows(self) -> list[Row]:
        return [Row(*row) for row in self.run(ALL_ROWS)]

    def stored(self) -> Pair:
        (found,) = self.run(STORED)
        return Pair(*found)

    def update(self) -> tuple[Pair, Pair]:
        """vac_update_datfrozenxid. Returns the starts of its minima and the next ids."""
        ((bounds,),) = self.run("SELECT update_datfrozenxid()")
        xid, multi, next_xid, next_multi = struct.unpack("<4I", bounds)
        return Pair(xid, multi), Pair(next_xid, next_multi)

# SPDX-License-Identifier: PostgreSQL
"""A running server uses up half the ring of XIDs during one decoding session.

The counter is moved as nothing in production does, by the extension nextxid, but never further than the server would
let transactions take it: it stays below the limit that datfrozenxid sets, and goes to the first XID of a page of
pg_xact, which the next transaction then adds as always. After each step running-xacts records take the decoder's xmin
and the slot's catalog_xmin along, and all databases are frozen, so that nothing refers to an XID half the ring behind.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.postgres.server import DEBIAN, HANG_SECONDS, Server, extension, wait_for
from tests.snapbuild.decoding import SLOT

HALF = 2**31
STEPS = (HALF // 2, HALF)
SETTINGS: dict[str, str | int] = {
    "wal_level": "logical",
    "autovacuum_freeze_max_age": 2_000_000_000,  # below it the server leaves the freezing to us
}


class Receiver:
    """pg_recvlogical, Debian's, on the slot: one decoding session for as long as it lives, its messages in the log."""

    def __init__(self, server: Server) -> None:
        self.output = server.base / "received"
        self.command: list[str | Path] = [
            DEBIAN.bin / "pg_recvlogical", "--start", "--slot", SLOT, "--file", "-", "--no-loop",
            "--status-interval", "1", "--fsync-interval", "0", "--host", server.base, "--username", "postgres",
            "--dbname", "postgres",
        ]  # fmt: skip

    def __enter__(self) -> Self:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PGOPTIONS": "-c log_min_messages=debug3"},
            )
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()

    def until_ended(self) -> str:
        """All that was received, as soon as the server has ended the session."""
        self.process.wait(HANG_SECONDS)
        return self.output.read_text()


def create_set_next_xid(server: Server) -> None:
    """Before the slot, as all that changes catalogs should be; template0 gets open to VACUUM here too."""
    library = server.put(extension("nextxid", server.build.major))
    server.execute(
        f"CREATE FUNCTION set_next_xid(bigint, bigint) RETURNS void AS '{library}', 'set_next_xid' LANGUAGE C STRICT"
    )
    server.execute("UPDATE pg_database SET datallowconn = true WHERE datname = 'template0'")


def take_xid(connection: psycopg.Connection[Any]) -> int:
    """The XID of the open transaction, or of one of its own."""
    row = connection.execute("SELECT txid_current()").fetchone()
    assert row is not None
    return int(row[0])


def pass_half_the_ring(server: Server) -> None:
    """The next XID becomes 2^31 and a few; so does the decoder's xmin. No catalog changes on the way."""
    for xid in STEPS:
        ((oldest,),) = server.execute("SELECT min(datfrozenxid::text::bigint) FROM pg_database")
        server.execute(f"SELECT set_next_xid({xid}, {oldest})")
        with server.connect() as connection:
            take_xid(connection)
        wait_for_slot(server, f"catalog_xmin::text::bigint >= {xid}")
        freeze(server, xid)


def freeze(server: Server, xid: int) -> None:
    """All databases, up to xid; again if need be: a slot shows a new catalog_xmin before it lets go of the old one."""

    def frozen() -> bool:
        for (database,) in server.execute("SELECT datname FROM pg_database"):
            # To truncate takes a lock, the lock an XID, and the vacuum would then count as a catalog change.
            server.execute("VACUUM (FREEZE, TRUNCATE off)", dbname=database)
        ((oldest,),) = server.execute("SELECT min(datfrozenxid::text::bigint) FROM pg_database")
        return int(oldest) >= xid

    wait_for(frozen, f"all databases frozen up to {xid}")


def wait_for_slot(server: Server, condition: str) -> None:
    """Until the slot is as said; running-xacts records are written meanwhile, which it needs to get ahead."""

    def holds() -> bool:
        server.execute("CHECKPOINT")
        return bool(server.execute(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{SLOT}' AND {condition}"))

    wait_for(holds, f"a slot with {condition}")

# SPDX-License-Identifier: PostgreSQL
"""Observes logical decoding on a real server: what the snapshot builder does, by its messages and its .snap files.

At debug level the builder names each XID that a commit adds to committed.xip and tells of each purge the counts before
and after, xmin and xmax. At each running-xacts record it writes the state, not yet purged, to a .snap file, and names
it. So the array is rebuilt from the commits, and held against the file that was written just before each purge:
- 18: committed_xip of pg_get_logical_snapshot_info(), in the order of the array;
- 13 to 15: committed.xip is what such a file ends with, 4 bytes an XID (16 and 17 put catchange.xip behind it).
"""

from __future__ import annotations

import re
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, islice
from random import Random
from threading import Thread
from typing import Any

import psycopg

from tests.postgres.server import Server

SLOT = "watched"
PLUGIN = "test_decoding"
SIZE = 2**32


# ---- the workload --------------------------------------------------------------------------------


@dataclass
class Session:
    """A connection with at most one open transaction and a table of its own, so that no connection waits for
    another."""

    connection: psycopg.Connection[Any]
    name: str
    open: bool = False

    def execute(self, query: str) -> None:
        self.connection.execute(query.encode())

    def begin(self) -> None:
        self.execute("BEGIN")
        self.open = True

    def end(self, how: str) -> None:
        self.execute(how)
        self.open = False


def log_running_xacts(connection: psycopg.Connection[Any]) -> None:
    """Have a running-xacts record written and flushed: decoding reads only up to there."""
    connection.execute("CHECKPOINT")


HOLDERS = 8
SLOT_ROUNDS = 200
STEPS = ("catalog", "catalog", "sub", "sub rolled back", "data", "commit", "commit", "commit", "rollback")
SILENT_STEP = "sub data"
"""A subtransaction without catalog changes: the builder does not say when it keeps one, for a full snapshot."""


def act(session: Session, rng: Random, steps: Sequence[str]) -> None:
    """One random step: begin with or without a catalog change, subtransactions, commit or abort."""
    if not session.open:
        session.begin()
        session.execute(f"INSERT INTO {session.name} VALUES (1)")
        return
    match rng.choice(steps):
        case "catalog":
            session.execute(f"ALTER TABLE {session.name} SET (fillfactor = {rng.randrange(10, 100)})")
        case "sub":
            for _ in range(rng.randrange(1, 5)):
                session.execute("SAVEPOINT s")
                session.execute(f"ALTER TABLE {session.name} ALTER v SET STATISTICS {rng.randrange(1000)}")
                session.execute("RELEASE s")
        case "sub rolled back":
            session.execute("SAVEPOINT s")
            session.execute(f"ALTER TABLE {session.name} ALTER v SET STATISTICS {rng.randrange(1000)}")
            session.execute("ROLLBACK TO s")
            session.execute("RELEASE s")
        case "sub data":
            session.execute("SAVEPOINT s")
            session.execute(f"INSERT INTO {session.name} VALUES (3)")
            session.execute("RELEASE s")
        case "data":
            session.execute(f"INSERT INTO {session.name} VALUES (2)")
        case "commit":
            session.end("COMMIT")
        case "rollback":
            session.end("ROLLBACK")


def turn(holders: list[Session], number: int) -> None:
    """The next holder in turn ends its transaction, which changed no catalog, and begins another one."""
    session = holders[number % len(holders)]
    if session.open:
        session.end("COMMIT")
    session.begin()
    session.execute(f"INSERT INTO {session.name} VALUES (0)")


def run_workload(server: Server, *, rounds: int, sessions: int, seed: int) -> None:
    """Sessions that change catalogs with overlapping transactions, and a running-xacts record after each round.

    A few sessions hold a transaction open and end it in turn: they keep the oldest running XID some rounds behind, so
    that most purges remove something and leave something.
    """
    with ExitStack() as stack:
        control = stack.enter_context(server.connect())
        crew = enlist(server, sessions, stack)
        control.execute(f"SELECT pg_create_logical_replication_slot('{SLOT}', '{PLUGIN}')".encode())
        for _ in islice(play(crew, seed, (*STEPS, SILENT_STEP)), rounds):
            log_running_xacts(control)
        dismiss(crew)
        log_running_xacts(control)


def enlist(server: Server, sessions: int, stack: ExitStack) -> list[Session]:
    """Connections, each with its table, no transaction open."""
    crew = []
    for number in range(sessions):
        connection = stack.enter_context(server.connect())
        connection.execute(f"CREATE TABLE w{number} (v int)".encode())
        crew.append(Session(connection, f"w{number}"))
    return crew


def play(crew: list[Session], seed: int, steps: Sequence[str]) -> Iterator[None]:
    """Rounds of random steps, without end."""
    rng, turns = Random(seed), count()
    while True:
        for session in crew[HOLDERS:]:
            for _ in range(rng.randrange(4)):
                act(session, rng, steps)
        if rng.random() < 0.7:
            turn(crew[:HOLDERS], next(turns))
        yield


def dismiss(crew: list[Session]) -> None:
    for session in crew:
        if session.open:
            session.end("COMMIT")


def run_slot_creation(server: Server, *, sessions: int, seed: int) -> list[str]:
    """Create a slot with an exported snapshot while transactions run; the messages of its builder, in order.

    A full snapshot is then built: the builder waits for all running transactions to end, twice, and meanwhile keeps
    each transaction that commits, whether it changed a catalog or not.
    """
    with ExitStack() as stack:
        control = stack.enter_context(server.connect())
        crew = enlist(server, sessions, stack)
        rounds = play(crew, seed, STEPS)
        for _ in islice(rounds, 5):
            pass
        walsender = stack.enter_context(server.connect_replication())
        messages = listen(walsender)
        creation = Thread(
            target=walsender.execute, args=(f"CREATE_REPLICATION_SLOT {SLOT} LOGICAL {PLUGIN}".encode(),), daemon=True
        )
        creation.start()
        while creation.is_alive() and not any(map(_PHASE.match, messages)):
            time.sleep(0.01)
        for _ in islice(rounds, SLOT_ROUNDS):
            if not creation.is_alive():
                break
            log_running_xacts(control)
        dismiss(crew)
        while creation.is_alive():
            log_running_xacts(control)
            creation.join(0.05)
    return messages


# ---- what the builder says -----------------------------------------------------------------------


@dataclass(frozen=True)
class Commit:
    """XIDs added to committed.xip by one commit, subtransactions first; `changed`: those with catalog changes."""

    xid: int
    subxids: tuple[int, ...]
    changed: frozenset[int]


@dataclass(frozen=True)
class Purge:
    """committed.xip purged: counts, the xmin by which, the builder's xmax, the .snap file written before."""

    before: int
    after: int
    xmin: int
    xmax: int
    snap: str | None


@dataclass(frozen=True)
class Phase:
    """The builder takes a step towards CONSISTENT. next_phase_at: all transactions before it must end first; 0 at the
    end."""

    next_phase_at: int


@dataclass(frozen=True)
class OtherPurge:
    """catchange.xip (16 on) or InitialRunningXacts (13 to 15) purged."""

    before: int
    after: int
    xmin: int


Event = Commit | Purge | OtherPurge | Phase

_SUB = re.compile(r"found subtransaction (\d+):(\d+) with catalog changes")
_TOP = re.compile(r"found top level transaction (\d+), with catalog changes")
_FORCED = re.compile(r"forced transaction (\d+) to do timetravel")
_SNAP = re.compile(r"serializing snapshot to .*?([0-9A-F]+-[0-9A-F]+\.snap)")
_PURGE = re.compile(r"purged committed transactions from (\d+) to (\d+), xmin: (\d+), xmax: (\d+)")
_PHASE = re.compile(r"logical decoding found initial (?:starting|consistent) point.*older than (\d+)", re.DOTALL)
_LAST_PHASE = re.compile(r"logical decoding found consistent point.*There are no old transactions", re.DOTALL)
_CATCHANGE = re.compile(r"purged catalog modifying transactions from (\d+) to (\d+), xmin: (\d+)")
_INITIAL = re.compile(r"purged initial running transactions from (\d+) to (\d+), oldest running xid (\d+)")


def events(messages: list[str]) -> Iterator[Event]:
    """The builder's messages, in order, as events."""
    subxids: list[int] = []
    snap: str | None = None
    for message in messages:
        if found := _SUB.match(message):
            subxids.append(int(found[2]))
        elif found := _TOP.match(message) or _FORCED.match(message):
            xid = int(found[1])
            yield Commit(xid, tuple(subxids), frozenset([*subxids, *([xid] if _TOP.match(message) else [])]))
            subxids = []
        elif found := _SNAP.match(message):
            snap = found[1]
        elif found := _PURGE.match(message):
            before, after, xmin, xmax = map(int, found.groups())
            yield Purge(before, after, xmin, xmax, snap)
            snap = None
        elif found := _PHASE.match(message):
            yield Phase(int(found[1]))
        elif _LAST_PHASE.match(message):
            yield Phase(0)
        elif found := _CATCHANGE.match(message) or _INITIAL.match(message):
            yield OtherPurge(*map(int, found.groups()))


def listen(connection: psycopg.Connection[Any]) -> list[str]:
    """A list that receives all messages to a connection from now on, each with its detail."""
    messages: list[str] = []

    def note(said: psycopg.errors.Diagnostic) -> None:
        messages.append("\n".join(filter(None, (said.message_primary, said.message_detail))))

    connection.add_notice_handler(note)
    connection.execute("SET client_min_messages = debug3")
    return messages


def decode(server: Server, *, consume: bool = False) -> list[str]:
    """Decode all that the slot has; the messages of the builder, in order."""
    verb = "get" if consume else "peek"
    with server.connect() as connection:
        messages = listen(connection)
        connection.execute(f"SELECT count(*) FROM pg_logical_slot_{verb}_changes('{SLOT}', NULL, NULL)".encode())
    return messages


@dataclass(frozen=True)
class Snap:
    """The contents of a .snap file. A field that is not read from this major's file is None."""

    committed: list[int]
    xmin: int | None = None
    xmax: int | None = None
    catchange: list[int] | None = None


def read_snap(server: Server, name: str, count: int) -> Snap:
    """A .snap file whose committed.xip has `count` XIDs."""
    if server.build.major >= 18:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_logicalinspect")
        ((xmin, xmax, committed, catchange),) = server.execute(
            "SELECT xmin::text::bigint, xmax::text::bigint,"
            " committed_xip::text[]::bigint[], catchange_xip::text[]::bigint[]"
            f" FROM pg_get_logical_snapshot_info('{name}')"
        )
        return Snap(committed or [], xmin, xmax, catchange or [])
    if server.build.major >= 16:
        raise ValueError("in a .snap file of 16 or 17 it is not known where committed.xip ends")
    content = (server.data / "pg_logical" / "snapshots" / name).read_bytes()
    return Snap(list(struct.unpack(f"<{count}I", content[len(content) - 4 * count :])))


# ---- the second array: XIDs known from a restored file -------------------------------------------


@dataclass(frozen=True)
class Relay:
    """Four transactions that had changed catalogs, and were running, when the builder's state was written. They end one
    by one after it."""

    xids: tuple[int, ...]
    """In the order in which they began and ended, two on each side of the wrap if asked; and the fifth, which stays."""
    purges: list[OtherPurge]
    """What a builder that restored that file then told of the purges after each end; nothing if it left early."""
    restored: str
    """The .snap file."""


def run_relay(server: Server, *, across: bool) -> Relay:
    """Decode so that the builder restores a file with transactions in progress, and sees them end in turn.

    A builder restarts from the file that was current when the oldest transaction of its last running-xacts record
    began. So a fifth one begins right after the file is written and outlives the four: the slot then restarts there,
    when the four have changed their catalogs already, out of sight. `across` needs a cluster a few XIDs from the wrap.
    """
    with ExitStack() as stack:
        control = stack.enter_context(server.connect())
        crew = [Session(stack.enter_context(server.connect()), f"r{number}") for number in range(5)]
        for session in crew:
            session.execute(f"CREATE TABLE {session.name} (v int)")
        control.execute(f"SELECT pg_create_logical_replication_slot('{SLOT}', '{PLUGIN}')".encode())
        xids: list[int] = []
        for number, session in enumerate(crew[:4]):
            if across and number == 2:
                while _assign_xid(control) > SIZE // 2:
                    pass
            session.begin()
            session.execute(f"ALTER TABLE {session.name} SET (fillfactor = 50)")
            xids.append(_assign_xid(session.connection))
        log_running_xacts(control)
        written = [found[1] for message in decode(server, consume=True) if (found := _SNAP.match(message))]

        crew[4].begin()
        crew[4].execute(f"INSERT INTO {crew[4].name} VALUES (1)")
        xids.append(_assign_xid(crew[4].connection))
        for session in crew[:4]:
            session.end("COMMIT")
            log_running_xacts(control)
        decode(server, consume=True)
        crew[4].end("COMMIT")
        log_running_xacts(control)
        purges = [event for event in events(decode(server)) if isinstance(event, OtherPurge)]
    return Relay(tuple(xids), purges, written[-1])


def _assign_xid(connection: psycopg.Connection[Any]) -> int:
    """The XID of the open transaction, or of one of its own."""
    row = connection.execute("SELECT txid_current()").fetchone()
    assert row is not None
    return int(row[0]) % SIZE

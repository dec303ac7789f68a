# SPDX-License-Identifier: PostgreSQL
"""Traces of a snapshot builder: what a server and its decoder did, for spec/snapbuild/TraceSnapbuild.tla.

Of a real server all is observed. The XIDs of transactions and subtransactions are those of rows that they inserted;
each statement returns before the next one is sent, so the order is that of the WAL. What a running-xacts record names
is in the server's log. What the builder did is in the messages of the decoder (see decoding), and in the .snap files.
From 15 on the journal is also held against the WAL itself.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import psycopg

from ref.xid import XID
from tests.postgres.server import Server
from tests.snapbuild.decoding import (
    PLUGIN,
    SLOT,
    Commit,
    OtherPurge,
    Phase,
    Purge,
    decode,
    events,
    listen,
    read_snap,
)
from tools.common import recordings

Event = dict[str, Any]
SETTINGS: dict[str, str | int] = {
    "wal_level": "logical",
    "log_min_messages": "debug2",  # each running-xacts record is told
    "checkpoint_timeout": "1h",
}
ENOUGH_RECORDS = 400

INSERT_LSN = "SELECT pg_current_wal_insert_lsn() - '0/0'"

_RUNNING = re.compile(
    r"snapshot of (\d+).* running transaction.*\(lsn ([0-9A-F]+)/([0-9A-F]+) oldest xid (\d+) .*next xid (\d+)\)"
)
_RUNNING_RECORD = re.compile(r"nextXid (\d+) .*oldestRunningXid (\d+)(?:; (\d+) xacts)?")
_WAL_RECORDS = (
    "SELECT end_lsn - '0/0', description FROM pg_get_wal_records_info('0/0'::pg_lsn + %s, '0/0'::pg_lsn + %s)"
)
_SUBXACTS = re.compile(r"subxacts: ([\d ]+)")
_CONSISTENT = re.compile(r"logical decoding found consistent point.*(no running|saved snapshot)", re.DOTALL)


@dataclass
class Journal:
    """The events of a trace, and the WAL as the model numbers its records: (type, XID), from 1 on."""

    first: int
    full: bool = False
    events: list[Event] = field(default_factory=list)
    wal: list[tuple[str, int]] = field(default_factory=list)
    tops: dict[int, int] = field(default_factory=dict)
    changed: set[int] = field(default_factory=set)
    aborted: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.next_xid = self.first
        self.decoded = 0

    def tell(self, event: str, **facts: Any) -> None:
        self.events.append({"event": event, **facts})

    # ---- the server ----

    def assigned_up_to(self, xid: int) -> None:
        """XIDs that were assigned unseen."""
        if XID.precedes(xid, self.next_xid):
            raise ValueError(f"XID {xid} is said to be the next one after {self.next_xid}")
        unseen = 0
        while self.next_xid != xid:
            self.next_xid = XID.advance(self.next_xid)
            unseen += 1
        if unseen:
            self.tell("burn", n=unseen)

    def begin(self, xid: int, top: int | None = None) -> None:
        self.assigned_up_to(xid)
        self.next_xid = XID.advance(xid)
        self.tops[xid] = top or xid
        self.tell("begin", xid=xid) if top is None else self.tell("sub", xid=xid, top=top)

    def change(self, xid: int) -> None:
        """A change of the catalog."""
        self.changed.add(xid)
        self.wal.append(("new_cid", xid))
        self.tell("change", xid=xid)

    def commit(self, top: int) -> None:
        """The record of a COMMIT is written. Until `end` the transaction is among the running ones."""
        self.wal.append(("commit", top))
        self.tell("commit", xid=top, subs=[x for x in self.tree(top) if x != top and x not in self.aborted])

    def end(self, top: int) -> None:
        """COMMIT has returned."""
        self.tell("end", xid=top)

    def abort(self, xid: int) -> None:
        """ROLLBACK (TO) has returned; the model leaves the record out if there is no change of a catalog to forget."""
        tree = self.tree(xid)
        self.aborted.update(tree)
        if self.changed & set(tree):
            self.wal.append(("abort", xid))
        self.tell("abort", xid=xid)

    def running(self, oldest: int, next_xid: int) -> None:
        self.assigned_up_to(next_xid)
        self.wal.append(("running", 0))
        self.tell("running", oldest=oldest, next=next_xid)

    def tree(self, xid: int) -> list[int]:
        """A transaction with its subtransactions, or a subtransaction."""
        return [x for x, top in self.tops.items() if xid in (x, top)]

    # ---- the builder ----

    def restart(self, at: int) -> None:
        self.decoded = at - 1
        self.tell("restart", at=at)

    def reads_on(self, kind: str | None = None, xid: int = 0) -> None:
        """Records of which the builder says nothing, up to the one of a kind (and XID), or to the end of the WAL."""
        while self.decoded < len(self.wal) and self.wal[self.decoded] != (kind, xid):
            if self.wal[self.decoded][0] == "running":
                raise ValueError(f"record {self.decoded + 1}: the builder said nothing of a running-xacts record")
            self.decoded += 1
            self.tell("read")
        if kind:
            if self.decoded == len(self.wal):
                raise ValueError(f"the builder read a {kind} record (XID {xid}) that was not written")
            self.decoded += 1

    def read_commit(self, added: Sequence[int]) -> None:
        """The builder adds these to committed.xip, the top-level XID last."""
        self.reads_on("commit", added[-1])
        self.tell("read_commit", added=list(added))

    def read_running(self, **facts: Any) -> None:
        self.reads_on("running")
        self.tell("read_running", **facts)

    def write(self, path: Path, **head: Any) -> None:
        """The head, then the events."""
        recordings.save(path, [{**head, "first": self.first, "full": self.full}, *self.events])


# ---- a real server ---------------------------------------------------------------------------------


@dataclass
class Client:
    """A session with at most one transaction open, `xid`."""

    connection: psycopg.Connection[Any]
    table: str
    xid: int | None = None


@dataclass(frozen=True)
class Record:
    """A running-xacts record; `end`: the LSN after it; `xcnt`: how many transactions it names."""

    end: int
    xcnt: int
    oldest: int
    next_xid: int


class Recorder:
    """Plays random transactions on a server and keeps the journal."""

    STEPS = ("catalog", "catalog", "sub", "data sub", "sub rolled back", "commit", "commit", "commit", "rollback")
    LOUD_STEPS = tuple(step for step in STEPS if step != "data sub")
    """A full snapshot's builder keeps subtransactions that changed no catalog, and does not say so: there are none."""

    def __init__(self, server: Server, stack: ExitStack, *, sessions: int, seed: int, full: bool = False) -> None:
        self.server, self.rng = server, Random(seed)
        self.full, self.steps = full, self.LOUD_STEPS if full else self.STEPS
        self.control = stack.enter_context(server.connect())
        self.clients = [Client(stack.enter_context(server.connect()), f"t{number}") for number in range(sessions)]
        for client in self.clients:
            client.connection.execute(f"CREATE TABLE {client.table} (v int)".encode())
        # Now, since it takes an XID.
        if server.build.major >= 15:
            self.control.execute("CREATE EXTENSION pg_walinspect")
        if server.build.major >= 18:
            self.control.execute("CREATE EXTENSION pg_logicalinspect")
        self.ends = list[tuple[int, int]]()
        self.heard = self.ask(INSERT_LSN) if full else 0  # LSN, or number of lines in the log
        self.late = list(self.records())  # those of before the trace
        self.journal = Journal(XID.advance(self.ask("SELECT txid_current()") % XID.size), full)
        self.late = []
        self.began = self.ask(INSERT_LSN)

    def ask(self, query: str) -> int:
        row = self.control.execute(query.encode()).fetchone()
        assert row is not None
        return int(row[0])

    # ---- running-xacts records ----

    def records(self) -> Iterator[Record]:
        """The records that were written since the last call, by the log.

        While a full snapshot is built, the walsender writes some at any time, and tells the log later: then by the WAL.
        """
        if self.full:
            # The message flushes all that stands before it, and is itself there to be read.
            end = self.ask("SELECT pg_logical_emit_message(false, '', '', true) - '0/0'")
            query = _WAL_RECORDS + " WHERE record_type = 'RUNNING_XACTS'"
            for lsn, text in self.control.execute(query, (self.heard, end)):
                found = _RUNNING_RECORD.search(text)
                assert found, text
                yield Record(int(lsn), int(found[3] or 0), int(found[2]), int(found[1]))
            self.heard = end
            return
        lines = self.server.log_text().splitlines()
        for line in lines[self.heard :]:
            if found := _RUNNING.search(line):
                xcnt, high, low, oldest, next_xid = found.groups()
                yield Record(int(high, 16) << 32 | int(low, 16), int(xcnt), int(oldest), int(next_xid))
        self.heard = len(lines)

    def note(self, early: Callable[[Record], bool] = lambda _: True) -> None:
        """Put those of the late records into the journal that come early enough."""
        for record in filter(early, self.late):
            self.journal.running(record.oldest, record.next_xid)
            self.ends.append((record.end, len(self.journal.wal)))
        self.late = [record for record in self.late if not early(record)]

    def hear(self) -> bool:
        self.late += self.records()
        heard = bool(self.late)
        self.note()
        return heard

    # ---- transactions ----

    def execute(self, client: Client, query: str, written: tuple[str, int] | None = None) -> psycopg.Cursor[Any]:
        """Run a statement that the journal then records. Running-xacts records go in first that stand before what it
        has written (a type of record, and the XID), or before the statement."""
        at = self.ask(INSERT_LSN)
        cursor = client.connection.execute(query.encode())
        self.late += self.records()
        if self.full and written:
            of_these = " WHERE record_type = %s AND xid::text::bigint = %s ORDER BY end_lsn LIMIT 1"
            row = self.control.execute(_WAL_RECORDS + of_these, (at, self.heard, *written)).fetchone()
            assert row is not None, written
            at = int(row[0])
        self.note(lambda record: record.end <= at)
        return cursor

    def insert(self, client: Client, top: int | None = None) -> int:
        """Insert a row, the first one of a transaction or subtransaction: its XID."""
        row = self.execute(client, f"INSERT INTO {client.table} VALUES (1) RETURNING xmin::text").fetchone()
        assert row is not None
        xid = int(row[0])
        self.note(lambda record: XID.precedes_or_equals(record.next_xid, xid))
        self.journal.begin(xid, top)
        self.note()
        return xid

    def change(self, client: Client, xid: int) -> None:
        query = f"ALTER TABLE {client.table} SET (fillfactor = {self.rng.randrange(10, 100)})"
        self.execute(client, query, ("NEW_CID", xid))
        self.journal.change(xid)
        self.note()

    def end(self, client: Client, how: str) -> None:
        """A record that still names this transaction goes in before its end; it may stand behind its COMMIT."""
        assert client.xid is not None
        running = sum(client.xid is not None for client in self.clients)
        self.execute(client, how, ("COMMIT", client.xid) if how == "COMMIT" else None)
        if how == "COMMIT":
            self.journal.commit(client.xid)
        self.note(lambda record: record.xcnt == running)
        self.journal.end(client.xid) if how == "COMMIT" else self.journal.abort(client.xid)
        client.xid = None
        self.note()

    def act(self, client: Client) -> None:
        """One random step of a session."""
        if client.xid is None:
            client.connection.execute("BEGIN")
            client.xid = self.insert(client)
            return
        match self.rng.choice(self.steps):
            case "catalog":
                self.change(client, client.xid)
            case "sub" | "data sub" | "sub rolled back" as step:
                client.connection.execute("SAVEPOINT s")
                sub = self.insert(client, client.xid)
                if step != "data sub":
                    self.change(client, sub)
                if step == "sub rolled back":
                    self.execute(client, "ROLLBACK TO s")
                    self.journal.abort(sub)
                    self.note()
                client.connection.execute("RELEASE s")
            case how:
                self.end(client, how.upper())

    def round(self) -> None:
        """Some steps of each session, then a running-xacts record."""
        for client in self.clients:
            for _ in range(self.rng.randrange(3)):
                self.act(client)
        self.control.execute("CHECKPOINT")
        self.hear()

    def finish(self) -> None:
        for client in self.clients:
            if client.xid is not None:
                self.end(client, "COMMIT")
        self.control.execute("CHECKPOINT")
        self.hear()

    def create_slot(self) -> None:
        """Without transactions running: CONSISTENT at once."""
        self.control.execute(f"SELECT pg_create_logical_replication_slot('{SLOT}', '{PLUGIN}')".encode())
        self.hear()

    def create_slot_amid_transactions(self) -> None:
        """With an exported snapshot, so a full one: the builder waits twice for all running transactions to end."""
        # Closed only when the command is over: after a failure here that would wait for it for ever.
        walsender = self.server.connect_replication()
        messages = listen(walsender)
        command = f"CREATE_REPLICATION_SLOT {SLOT} LOGICAL {PLUGIN}".encode()
        creation = Thread(target=walsender.execute, args=(command,), daemon=True)
        creation.start()
        while creation.is_alive() and not self.hear():
            creation.join(0.01)
        while creation.is_alive() and len(self.journal.wal) < ENOUGH_RECORDS:
            self.round()
            creation.join(0.05)
        self.finish()
        creation.join()
        self.hear()
        walsender.close()
        self.heed(messages)

    def decode(self, *, consume: bool = False) -> None:
        """Decode all that there is. Each call has a new builder, which begins where the slot says."""
        restart = self.ask(f"SELECT restart_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{SLOT}'")
        at = next(number for end, number in self.ends if end > restart)
        if self.journal.decoded:
            self.journal.restart(at)
        self.heed(decode(self.server, consume=consume))
        self.journal.reads_on()

    def heed(self, messages: list[str]) -> None:
        """Put into the journal what a builder said of each record that it read."""
        # A message that it found its consistent point at once stands for a record of which it says nothing else.
        parts: list[list[str]] = [[]]
        for message in messages:
            if _CONSISTENT.match(message):
                parts.append([message])
                parts.append([])
            else:
                parts[-1].append(message)
        for part in parts:
            if part and _CONSISTENT.match(part[0]):
                self.journal.read_running(state="CONSISTENT", next_phase_at=0)
            else:
                self.heed_purges(part)

    def heed_purges(self, messages: list[str]) -> None:
        told = deque(events(messages))
        facts: Event = {}
        while told:
            event = told.popleft()
            if isinstance(event, Commit):
                self.journal.read_commit([*event.subxids, event.xid])
            elif isinstance(event, Phase):
                facts["next_phase_at"] = event.next_phase_at
            elif isinstance(event, Purge):
                facts |= {"before": event.before, "after": event.after, "xmin": event.xmin, "xmax": event.xmax}
                if event.snap and self.server.build.major not in (16, 17):
                    snap = read_snap(self.server, event.snap, event.before)
                    known = {"xmin": snap.xmin, "xmax": snap.xmax, "catchange": snap.catchange}
                    facts["file"] = {"committed": snap.committed} | {k: v for k, v in known.items() if v is not None}
                if told and isinstance(told[0], OtherPurge):
                    other = told.popleft()
                    assert isinstance(other, OtherPurge)
                    facts["catchange"] = [other.before, other.after]
                self.journal.read_running(**facts)
                facts = {}
            else:
                raise ValueError(f"a purge of the second array alone: {event}")

    def check(self) -> None:
        """The journal's commits and running-xacts records are those of the WAL, in its order (pg_walinspect, 15 on)."""
        if self.server.build.major < 15:
            return
        end = self.ask(INSERT_LSN)
        told = [event for event in self.journal.events if event["event"] in ("commit", "running")]
        rows = self.control.execute(
            "SELECT xid::text::bigint, description FROM pg_get_wal_records_info('0/0'::pg_lsn + %s, '0/0'::pg_lsn + %s)"
            " WHERE resource_manager = 'Transaction' AND record_type = 'COMMIT' OR record_type = 'RUNNING_XACTS'",
            (self.began, end),
        ).fetchall()
        written: list[Event] = []
        for xid, text in rows:
            if found := _RUNNING_RECORD.search(text):
                written.append({"event": "running", "oldest": int(found[2]), "next": int(found[1])})
            else:
                subs = _SUBXACTS.search(text)
                written.append({"event": "commit", "xid": xid, "subs": [*map(int, subs[1].split())] if subs else []})
        if told != written:
            raise ValueError(f"the journal has {told}, the WAL {written}")


def record(server: Server, *, rounds: int, sessions: int, seed: int, restarts: int) -> Journal:
    """Random transactions, decoded from a slot; `restarts` times in between all is consumed so far."""
    with ExitStack() as stack:
        stack.enter_context(server.background_writer_stopped())
        recorder = Recorder(server, stack, sessions=sessions, seed=seed)
        recorder.create_slot()
        for number in range(1, rounds + 1):
            recorder.round()
            if number * (restarts + 1) // (rounds + 1) > (number - 1) * (restarts + 1) // (rounds + 1):
                recorder.decode(consume=True)
        recorder.finish()
        recorder.decode()
        recorder.check()
        return recorder.journal


def record_creation(server: Server, *, sessions: int, seed: int) -> Journal:
    """The creation of a slot amid transactions, with a full snapshot."""
    with ExitStack() as stack:
        stack.enter_context(server.background_writer_stopped())
        recorder = Recorder(server, stack, sessions=sessions, seed=seed, full=True)
        for client in recorder.clients:
            recorder.act(client)
        recorder.create_slot_amid_transactions()
        recorder.check()
        return recorder.journal

# SPDX-License-Identifier: PostgreSQL
"""Holds a recorded recovery against the oracle: event by event, up to the first one that the oracle does not explain.

The oracle runs over the records of the WAL. What it asks of the storage is answered from the trace's sizes and from
what replay has done so far; each advise that it gives, and each read that replay needs, must be the trace's next call.
The reads of one record may come in any order.

Where the server has read its configuration anew, the concurrency may have changed. A trace does not always tell between
which two records that was, so all places are tried.

A standby looks ahead no further than its WAL had come when it waited last. Of each flush of the WAL receiver two
moments are known; where the end of a wait lies between them, both answers are tried.

While all pages fit into shared_buffers, none leaves it, and each reference's fate is known beforehand. Otherwise a page
that was there may be gone; then the trace itself says so, by advising or reading it again (`told` counts these).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ref.prefetch import MAIN_FORK, Effect, Prefetcher, Record, Relation
from tools.trace.arrivals import Arrivals
from tools.trace.decode import DecodeBuffer
from tools.trace.guesses import Guesses
from tools.trace.listing import Listed, Replay, lsn_text
from tools.trace.strace import Call, Trace

Page = tuple[Relation, int]
DECODE_BUFFER = 512 * 1024
"""wal_decode_buffer_size, by default."""


def name(page: Page) -> str:
    """A page in words."""
    relation, block = page
    return f"block {block} of relation {relation.tablespace}/{relation.database}/{relation.number}"


class Mismatch(Exception):
    """The first event that the oracle does not explain; the text says what happened, and what had to happen."""


@dataclass(frozen=True)
class Step:
    """A call of the trace, and the record that explains it; None for the one that nothing explains."""

    call: Call
    lsn: int | None


@dataclass
class Followed:
    """How far the trace was followed."""

    steps: list[Step] = field(default_factory=list)
    replayed: int = 0
    """Records."""
    peak: int = 0
    """The most advises of records not replayed yet."""
    told: int = 0
    """References of which only the trace says whether they were in a buffer."""
    counters: dict[str, int] = field(default_factory=dict)
    mismatch: str = ""
    undecided: bool = False
    """Whether there was more to try, of what the recordings leave open."""
    full: bool = False
    """Whether the decode buffer was full at some time, so that look-ahead stopped there."""
    changes: list[tuple[int, int]] = field(default_factory=list)
    """Each time that the concurrency was set anew: after so many events, and to what."""

    @property
    def wrong(self) -> int | None:
        """The number of the first event that is not explained, one past the last if one is missing there."""
        if not self.mismatch:
            return None
        return sum(step.lsn is not None for step in self.steps) + 1


@dataclass(frozen=True)
class Standby:
    """arrivals: of its WAL. until: the last record that it replayed, if it did not replay all."""

    arrivals: Arrivals
    until: int


class Recovery:
    """Implements Wal and Storage: the server as it was, while it is followed.

    concurrencies: the first one, and those that came later; the last one stays. buffers: shared_buffers, in pages.
    decode: wal_decode_buffer_size, in bytes.
    """

    def __init__(
        self,
        records: Sequence[Listed],
        trace: Trace,
        concurrencies: Sequence[int],
        buffers: int,
        decode: int,
        guesses: Guesses,
        standby: Standby | None = None,
    ) -> None:
        self.records, self.trace, self.guesses = records, trace, guesses
        self.decode = DecodeBuffer(decode, guesses)
        self.standby, self.visible = standby, standby.arrivals.local if standby else 0
        self.concurrency, self.to_come = concurrencies[0], list(concurrencies[1:])
        self.reloads, self.set_anew = list(trace.reloads), False
        self.sizes: dict[Relation, int | None] = dict(trace.sizes)
        self.loaded: set[Page] = set()
        self.decoded = 0
        self.seen = Followed()
        pages = {(call.relation, call.block) for call in trace.calls if call.what == "read"}
        fresh = {
            (reference.relation, reference.block, reference.fork)
            for listed in records
            for reference, replay in zip(listed.record.blocks, listed.replays, strict=True)
            if replay is Replay.INIT
        }
        self.room = buffers - len(pages) - len(fresh) - len(trace.other_reads)
        self.made = dict[Relation, list[range]]()
        """Blocks that came between a file's end and a block that was written: those in buffers, beside `loaded`."""
        self.unreplayed: list[Step] = []

    @property
    def evicts(self) -> bool:
        """Whether not all pages fit into the buffers."""
        return self.room < 0

    def in_buffers(self, page: Page) -> bool:
        return page in self.loaded or any(page[1] in blocks for blocks in self.made.get(page[0], ()))

    # ---- what the oracle asks ----

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.decoded == len(self.records):
            return None
        if self.standby and not self.has_come(self.standby.arrivals, self.records[self.decoded], nonblocking):
            return None
        if not self.decode.add(self.records[self.decoded], queued, nonblocking=nonblocking):
            return None
        self.decoded += 1
        return self.records[self.decoded - 1].record

    def exists(self, relation: Relation) -> bool:
        if relation not in self.sizes:
            raise Mismatch(
                f"The trace never looks at the length of relation {'/'.join(map(str, relation))}, which "
                f"{_of(self.records[self.decoded - 1])} references. Was it recorded with lseek and openat?"
            )
        return self.sizes[relation] is not None

    def blocks(self, relation: Relation) -> int:
        return self.sizes[relation] or 0

    def buffer(self, relation: Relation, block: int) -> int | None:
        """The buffer's number means nothing; a page that is in none must be advised now."""
        page, record = (relation, block), self.records[self.decoded - 1]
        loaded = self.in_buffers(page)
        if loaded and not self.evicts:
            return 0
        is_next = self.next_is("advise", {page})
        if loaded:
            self.seen.told += 1
            if not is_next:
                return 0
        if not is_next:
            raise self.unexplained(f"an advise of {name(page)}, which {_of(record)} references")
        self.take(record.record.lsn)
        return None

    def has_come(self, arrivals: Arrivals, listed: Listed, nonblocking: bool) -> bool:
        """Whether a record's bytes are there, as far as the server knows: only a read that waits asks the WAL receiver
        (XLogPageRead, xlogrecovery.c), so no look ahead goes beyond what was there when one waited last."""
        if listed.end <= self.visible or nonblocking:
            return listed.end <= self.visible
        self.interrupts()
        at, calls = len(self.seen.steps), self.trace.calls
        since, until = calls[at - 1].at if at else 0.0, calls[at].at if at < len(calls) else inf
        candidates = arrivals.current(listed.end, since, until)
        if not candidates:
            raise self.unexplained(f"nothing until {_of(listed)} has come")
        self.visible = next((end for end in candidates[:-1] if self.guesses.ask()), candidates[-1])
        return True

    # ---- the configuration ----

    def interrupts(self) -> None:
        """ProcessStartupProcInterrupts: a configuration that is read anew sets the concurrency, even to what it was,
        if a file names it. The next record is looked for with it."""
        while self.reloads and self.reloads[0] == len(self.seen.steps) and self.guesses.ask():
            del self.reloads[0]
            if self.to_come:
                self.concurrency = self.to_come.pop(0)
                self.set_anew = True
            else:
                self.set_anew |= self.guesses.ask()
        if self.reloads and self.reloads[0] < len(self.seen.steps):
            raise Mismatch("No record was left before which the server could have read its configuration anew.")

    def configure(self, prefetcher: Prefetcher) -> None:
        if self.set_anew:
            prefetcher.reconfigure(self.concurrency)
            self.seen.changes.append((len(self.seen.steps), self.concurrency))
            self.set_anew = False

    # ---- the trace ----

    def next_is(self, what: str, pages: set[Page]) -> bool:
        at = len(self.seen.steps)
        if at == len(self.trace.calls):
            return False
        call = self.trace.calls[at]
        return call.what == what and (call.relation, call.block) in pages

    def take(self, lsn: int) -> Page:
        """The next call is explained by the record."""
        call = self.trace.calls[len(self.seen.steps)]
        self.seen.steps.append(Step(call, lsn))
        if call.what == "advise":
            self.unreplayed.append(self.seen.steps[-1])
            self.seen.peak = max(self.seen.peak, len(self.unreplayed))
        return call.relation, call.block

    def unexplained(self, expected: str) -> Mismatch:
        at, calls = len(self.seen.steps), self.trace.calls
        if at == len(calls):
            return Mismatch(f"The trace ends after event {at}. Expected: {expected}.")
        call = calls[at]
        self.seen.steps.append(Step(call, None))
        verb = "advises" if call.what == "advise" else "reads"
        return Mismatch(
            f"Event {at + 1}, line {call.line} of the trace: the server {verb} {name((call.relation, call.block))}. "
            f"Expected: {expected}."
        )

    # ---- replay ----

    def replay(self, listed: Listed) -> None:
        """The record's effects, and its reads."""
        record = listed.record
        self.unreplayed = [step for step in self.unreplayed if step.lsn is None or step.lsn > record.lsn]
        if record.effect is Effect.CREATE:
            self.sizes[record.relation] = self.sizes.get(record.relation) or 0
        elif record.effect is Effect.TRUNCATE:
            self.cut(record.relation, record.block)
        elif record.effect is Effect.CREATE_DATABASE:
            self.loaded = {page for page in self.loaded if page[0].database != record.relation.database}
            self.made = {one: made for one, made in self.made.items() if one.database != record.relation.database}
        needed, maybe = set(), set()
        for reference, replay in zip(record.blocks, listed.replays, strict=True):
            if reference.fork != MAIN_FORK or replay is Replay.NOTHING:
                continue
            page = (reference.relation, reference.block)
            if replay is Replay.READ:
                if not self.is_there(page):
                    continue  # The page is lost: a record to come removes its relation.
                if not self.in_buffers(page):
                    needed.add(page)
                elif self.evicts:
                    maybe.add(page)
            else:
                self.extend(page)
            self.loaded.add(page)
        while needed or self.next_is("read", maybe):
            if not self.next_is("read", needed | maybe):
                missing = " or ".join(sorted(map(name, needed)))
                raise self.unexplained(f"a read of {missing}, which {_of(listed)} changes")
            page = self.take(record.lsn)
            self.seen.told += page in maybe
            needed.discard(page)
            maybe.discard(page)
        for relation in listed.drops:
            self.cut(relation, 0)
            self.sizes[relation] = None
        self.seen.replayed += 1

    def is_there(self, page: Page) -> bool:
        """Whether replay finds the block; replay creates a file that is missing, in any case."""
        relation, block = page
        size = self.sizes.get(relation)
        self.sizes[relation] = size or 0
        return block < (size or 0)

    def extend(self, page: Page) -> None:
        """A file grows up to the page; the pages between are made, too, and are in buffers then."""
        relation, block = page
        size = self.sizes.get(relation) or 0
        if size < block:
            self.made.setdefault(relation, []).append(range(size, block))
            self.room -= block - size
        self.sizes[relation] = max(size, block + 1)

    def cut(self, relation: Relation, length: int) -> None:
        self.loaded = {page for page in self.loaded if page[0] != relation or page[1] < length}
        self.made[relation] = [range(made.start, min(made.stop, length)) for made in self.made.get(relation, ())]
        self.sizes[relation] = min(length, self.sizes.get(relation) or 0)


def _of(listed: Listed) -> str:
    return f"the record at {lsn_text(listed.record.lsn)} ({listed.kind})"


def _read_last_again(prefetcher: Prefetcher, recovery: Recovery) -> None:
    """FinishWalRecovery (xlogrecovery.c) reads the last record once more, so its references are looked at again."""
    recovery.decoded -= 1
    prefetcher.begin_read(recovery.records[-1].record.lsn)
    prefetcher.read_record()


def follow(
    records: Sequence[Listed],
    trace: Trace,
    concurrencies: Sequence[int],
    buffers: int,
    decode: int = DECODE_BUFFER,
    standby: Standby | None = None,
    counters: Mapping[str, int] | None = None,
) -> Followed:
    """Follow a whole recovery, from the first record on. `mismatch` is empty if all is explained.

    Where the recordings leave something open, both answers are tried; of those that do not fit the one that gets
    farthest is returned. counters: what the server has counted, if that is known. An explanation of the whole trace by
    which it would have counted otherwise is returned if there is no other.
    """
    found = list[Followed]()
    for guesses in Guesses.all():
        found.append(_follow(Recovery(records, trace, concurrencies, buffers, decode, guesses, standby)))
        if not found[-1].mismatch and counters in (None, found[-1].counters):
            return found[-1]
    farthest = max(found, key=lambda followed: (not followed.mismatch, len(followed.steps)))
    farthest.undecided = bool(guesses.given)
    return farthest


def _follow(recovery: Recovery) -> Followed:
    records, trace = recovery.records, recovery.trace
    prefetcher = Prefetcher(recovery, recovery, recovery.concurrency, records[0].record.lsn)
    by_lsn = {listed.record.lsn: listed for listed in records}
    try:
        recovery.interrupts()
        recovery.configure(prefetcher)
        while record := prefetcher.read_record():
            recovery.interrupts()
            recovery.replay(by_lsn[record.lsn])
            if recovery.standby and record.lsn == recovery.standby.until:
                break
            recovery.configure(prefetcher)
        else:
            _read_last_again(prefetcher, recovery)
        if len(recovery.seen.steps) < len(trace.calls):
            raise recovery.unexplained("nothing more: all records of the listing have been replayed")
    except Mismatch as mismatch:
        advised = len(recovery.unreplayed)
        recovery.seen.mismatch = f"{mismatch} {advised} of {recovery.concurrency} advises are in flight."
    recovery.seen.counters = prefetcher.counters
    recovery.seen.full = recovery.decode.fullest
    return recovery.seen

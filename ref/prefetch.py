# SPDX-License-Identifier: PostgreSQL
"""The recovery prefetcher: which blocks are advised to the kernel, and when, while WAL is replayed.

Upstream: src/backend/access/transam/xlogprefetcher.c, lrq_alloc, lrq_free, lrq_prefetch, lrq_complete_lsn,
XLogPrefetcherAllocate, XLogPrefetcherNextBlock, XLogPrefetcherBeginRead, XLogPrefetcherReadRecord,
XLogPrefetcherComputeStats, XLogPrefetcherAddFilter, XLogPrefetcherCompleteFilters, XLogPrefetcherIsFiltered;
src/backend/access/transam/xlogreader.c, XLogReadAhead, XLogNextRecord, XLogReleasePreviousRecord. As of PostgreSQL
15; and debug_io_direct, of 16 and later.

Three parts, from the inside out: `Ring` limits what is in flight, `Filters` say which blocks do not exist yet, and
`Prefetcher` walks along the WAL with them. The WAL and the storage are given: `Wal` and `Storage` say what is asked of
them. LSNs, block numbers and object identifiers are ints.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

REPEAT_WINDOW = 4
"""XLOGPREFETCHER_SEQ_WINDOW_SIZE: how many blocks are remembered, so that none is advised twice in a row."""
DISTANCE_MULTIPLIER = 4
"""XLOGPREFETCHER_DISTANCE_MULTIPLIER: block references looked at, for each that may be in flight."""
STATS_DISTANCE = 8192
"""XLOGPREFETCHER_STATS_DISTANCE: after so many bytes of WAL the distances are shown anew."""
MAIN_FORK = 0
ANY = 0
"""InvalidOid: in a filter's key, every tablespace and every relation of a database."""


class Relation(NamedTuple):
    """A RelFileLocator."""

    tablespace: int
    database: int
    number: int


class BlockReference(NamedTuple):
    """A block that a record changes: a DecodedBkpBlock, as far as the prefetcher looks at it."""

    relation: Relation
    block: int
    fork: int = MAIN_FORK
    has_image: bool = False
    will_init: bool = False
    in_use: bool = True


NO_RELATION = Relation(ANY, ANY, ANY)


class Effect(Enum):
    """What a record does besides changing the blocks it references."""

    NONE = "none"
    CREATE = "create"
    """XLOG_SMGR_CREATE of a main fork: `relation`."""
    TRUNCATE = "truncate"
    """XLOG_SMGR_TRUNCATE: `relation`, to `block` blocks."""
    CREATE_DATABASE = "create_database"
    """XLOG_DBASE_CREATE_FILE_COPY: `relation.database`."""
    TIMELINE = "timeline"
    """XLOG_CHECKPOINT_SHUTDOWN or XLOG_END_OF_RECOVERY, which may change the timeline."""


@dataclass(frozen=True)
class Record:
    """A decoded WAL record, from its start `lsn` to `next_lsn`, the end of what is replayed with it.

    ValueError unless 0 < lsn < next_lsn.
    """

    lsn: int
    next_lsn: int
    blocks: tuple[BlockReference, ...] = ()
    effect: Effect = Effect.NONE
    relation: Relation = NO_RELATION
    block: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.lsn < self.next_lsn:
            raise ValueError(f"a record cannot start at LSN {self.lsn} and end at {self.next_lsn}")


class Wal(Protocol):
    """Where records come from."""

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        """The next record, or None: its bytes have not arrived, or `queued` records leave no room to decode it.

        If not nonblocking, it waits, and None is the end of the WAL. An error in the WAL is None too, both ways, until
        the reader's owner has taken note of it: upstream queues its text behind the records that came before.
        """


class Storage(Protocol):
    """The relations on disk and the buffer pool, as they are while the WAL is being replayed."""

    def exists(self, relation: Relation) -> bool: ...
    def blocks(self, relation: Relation) -> int: ...
    def buffer(self, relation: Relation, block: int) -> int | None:
        """The buffer that holds the block, None if none does.

        FileNotFoundError: nor has it a file any more. Upstream's ERROR "could not prefetch relation" ends recovery.
        """


class Event(NamedTuple):
    """What became of a block reference that was looked at. `buffer`: the hint of a hit, which replay must verify."""

    what: str
    lsn: int
    reference: BlockReference
    buffer: int | None = None


COUNTERS = ("prefetch", "hit", "skip_init", "skip_new", "skip_fpw", "skip_rep")
"""Columns of pg_stat_recovery_prefetch; an event of another name ("other_fork", "direct") has none."""


class Distances(NamedTuple):
    """The other columns: how far look-ahead is ahead of replay."""

    wal_distance: int = 0
    """Bytes, from the start of the record given out to that of the last one decoded."""
    block_distance: int = 0
    """Block references looked at."""
    io_depth: int = 0
    """Those of them that were advised."""


# ---- the ring ------------------------------------------------------------------------------------


class Next(Enum):
    """LsnReadQueueNextStatus: what looking at the next block reference came to."""

    IO = "io"
    NO_IO = "no_io"
    AGAIN = "again"


@dataclass
class Ring:
    """LsnReadQueue: at most `max_inflight` I/Os in flight, at most `max_distance` block references looked at.

    An entry is the LSN of its record, and whether an I/O was started. It leaves when its record has been replayed.
    """

    max_inflight: int
    max_distance: int
    entries: deque[tuple[int, bool]] = field(default_factory=deque)
    inflight: int = 0
    """The entries with an I/O, counted as they come and go."""

    def prefetch(self, look: Callable[[], tuple[Next, int]]) -> None:
        """Look at block references until a limit is reached or look() answers AGAIN. look() gives (answer, LSN)."""
        while self.inflight < self.max_inflight and len(self.entries) < self.max_distance:
            answer, lsn = look()
            if answer is Next.AGAIN:
                return
            self.entries.append((lsn, answer is Next.IO))
            self.inflight += answer is Next.IO

    def complete(self, replayed_up_to: int) -> None:
        """Entries of records that start below `replayed_up_to` leave: their I/O is over, as far as anyone can tell."""
        while self.entries and self.entries[0][0] < replayed_up_to:
            _, io = self.entries.popleft()
            self.inflight -= io


# ---- the filters ---------------------------------------------------------------------------------


@dataclass
class Filters:
    """For a relation or a database: no block from `from_block` on exists before the record at `until` is replayed."""

    by_key: dict[Relation, tuple[int, int]] = field(default_factory=dict)
    """key -> (until, from_block). In the order in which they were set: a key that is set again moves last."""

    def add(self, key: Relation, block: int, lsn: int) -> None:
        """A second reason for the same key extends the time and lowers the block."""
        _, lowest = self.by_key.pop(key, (0, block))
        self.by_key[key] = (lsn, min(lowest, block))

    def complete(self, replayed_up_to: int) -> None:
        """Drop the filters whose record has been replayed, up to the first whose record has not.

        LSNs only grow, so these are all, unless the prefetcher has gone back: then some stay for longer.
        """
        while self.by_key:
            key, (until, _) = next(iter(self.by_key.items()))
            if until >= replayed_up_to:
                return
            del self.by_key[key]

    def hide(self, relation: Relation, block: int) -> bool:
        """Whether the block may not exist yet."""
        if not self.by_key:
            return False
        own = self.by_key.get(relation)
        return (own is not None and own[1] <= block) or Relation(ANY, relation.database, ANY) in self.by_key


# ---- the prefetcher ------------------------------------------------------------------------------


class Prefetcher:
    """XLogPrefetcher: gives records in order, and looks ahead at the blocks of those to come.

    concurrency: maintenance_io_concurrency; 0 switches prefetching off, as recovery_prefetch = off does. begin: where
    the WAL is read from. direct: debug_io_direct has `data`, so that the kernel has no cache to advise. `events` has
    what became of each block reference; `counters` adds them up.
    """

    def __init__(self, wal: Wal, storage: Storage, concurrency: int, begin: int, *, direct: bool = False) -> None:
        self.wal, self.storage, self.direct = wal, storage, direct
        self.events: list[Event] = []
        self.filters = Filters()
        self.recent: deque[tuple[Relation, int]] = deque(maxlen=REPEAT_WINDOW)
        self.distances = Distances()
        """As pg_stat_recovery_prefetch shows them: seldom up to date."""
        self._show_from = 0
        self.concurrency = concurrency
        self.begin_read(begin)

    def begin_read(self, begin: int) -> None:
        """XLogPrefetcherBeginRead: read on from another place, forward or back.

        What was decoded is forgotten, and what is in flight, any suspension, and the record that was being looked at.
        Filters, window and counters stay. Upstream, 15 to 18, does not forget that record: this is mended here. It goes
        on with its blocks, in memory that it has given back; if they fill the ring, no record is read.
        """
        self.begin = begin
        self.queue: deque[Record] = deque()
        self.replaying: Record | None = None
        self.no_readahead_until = 0
        self._at: Record | None = None
        """The record whose blocks are being looked at,"""
        self._ahead: Iterator[BlockReference] = iter(())
        """and those of its blocks that are still to come. Both live across calls."""
        self.reconfigure(self.concurrency)

    def reconfigure(self, concurrency: int) -> None:
        """A changed GUC: the ring is made anew, so what is in flight is forgotten. Window and filters stay."""
        if concurrency < 0:
            raise ValueError(f"maintenance_io_concurrency is {concurrency}; it must be 0 or more")
        self.concurrency = concurrency
        self.ring = Ring(concurrency, DISTANCE_MULTIPLIER * concurrency) if concurrency else Ring(1, 1)

    @property
    def counters(self) -> dict[str, int]:
        """pg_stat_recovery_prefetch's counters."""
        whats = [event.what for event in self.events]
        return {counter: whats.count(counter) for counter in COUNTERS}

    def read_record(self) -> Record | None:
        """The next record to replay; None at the end of the WAL. The one given before has been replayed by now.

        Completion comes before look-ahead (commit adb46615): otherwise, with one I/O allowed, the ring could be full of
        the record to come while nothing is decoded, and recovery would end early.
        """
        replayed_up_to = self.replaying.next_lsn if self.replaying else 0
        self.filters.complete(replayed_up_to)
        self.ring.complete(replayed_up_to)
        if self.concurrency:
            self.ring.prefetch(self._look)
        if not self.queue:
            assert not self.ring.entries
            self.ring.prefetch(self._look)
        if not self.queue:
            return None
        self.replaying = self.queue.popleft()
        if self._at is self.replaying:
            self._at = None  # What was not looked at yet is forgotten.
        if self.replaying.lsn >= self._show_from:
            self.show_distances()
        return self.replaying

    def show_distances(self) -> None:
        """XLogPrefetcherComputeStats: after each 8 KiB of WAL, and before the startup process sleeps."""
        head = self.replaying or (self.queue[0] if self.queue else None)
        tail = self.queue[-1] if self.queue else head
        ahead = tail.lsn - head.lsn if head and tail else 0
        self.distances = Distances(ahead, len(self.ring.entries), self.ring.inflight)
        self._show_from = (self.replaying.lsn if self.replaying else 0) + STATS_DISTANCE

    def _look(self) -> tuple[Next, int]:
        """XLogPrefetcherNextBlock: look at the next block reference in use, decoding records as needed."""
        while True:
            if self._at is None and not self._decode():
                return Next.AGAIN, 0
            if self._at is None:  # Prefetching is off: a record was decoded, and that is all.
                return Next.NO_IO, 0
            record = self._at
            for reference in self._ahead:
                if reference.in_use:
                    event = self._judge(record, reference)
                    self.events.append(event)
                    if event.what == "direct":
                        continue  # No entry stands for it, so the ring does not limit how many are looked at.
                    return (Next.IO if event.what == "prefetch" else Next.NO_IO), record.lsn
            # The first record after BeginRead is consumed before anything beyond it is looked at.
            if self.queue and self.queue[-1].lsn == self.begin:
                return Next.AGAIN, 0
            self._at = None

    def _decode(self) -> bool:
        """Decode one more record and note its effects; False if there is none now, or look-ahead is suspended."""
        nonblocking = bool(self.queue)
        replaying_lsn = self.replaying.lsn if self.replaying else 0
        if nonblocking and replaying_lsn <= self.no_readahead_until:
            return False
        record = self.wal.read_ahead(len(self.queue), nonblocking=nonblocking)
        if record is None:
            if nonblocking:
                self.no_readahead_until = self.queue[-1].lsn
            return False
        after = self.queue[-1].next_lsn if self.queue else self.replaying.next_lsn if self.replaying else self.begin
        if record.lsn < after:
            raise ValueError(f"the WAL goes back: a record at LSN {record.lsn} follows one that ends at {after}")
        self.queue.append(record)
        if self.concurrency:
            self._at, self._ahead = record, iter(record.blocks)
            if record.effect is not Effect.NONE:
                self._note_effect(record)
        return True

    def _note_effect(self, record: Record) -> None:
        """What the record will create or truncate does not exist before; what may change the timeline suspends."""
        if record.effect is Effect.TIMELINE:
            self.no_readahead_until = record.lsn
        elif record.effect is Effect.CREATE_DATABASE:
            self.filters.add(Relation(ANY, record.relation.database, ANY), 0, record.lsn)
        elif record.effect is Effect.CREATE:
            self.filters.add(record.relation, 0, record.lsn)
        elif record.effect is Effect.TRUNCATE:
            self.filters.add(record.relation, record.block, record.lsn)

    def _judge(self, record: Record, reference: BlockReference) -> Event:
        """What becomes of one reference. The order of the questions is upstream's."""

        def event(what: str, buffer: int | None = None) -> Event:
            return Event(what, record.lsn, reference, buffer)

        relation, block = reference.relation, reference.block
        if reference.fork != MAIN_FORK:
            return event("other_fork")
        if reference.has_image:
            return event("skip_fpw")
        if reference.will_init:
            return event("skip_init")
        if self.filters.hide(relation, block):
            return event("skip_new")
        if (relation, block) in self.recent:
            return event("skip_rep")
        self.recent.append((relation, block))
        if not self.storage.exists(relation):
            self.filters.add(relation, 0, record.lsn)
            return event("skip_new")
        if block >= self.storage.blocks(relation):
            self.filters.add(relation, block, record.lsn)
            return event("skip_new")
        buffer = self.storage.buffer(relation, block)
        if buffer is not None:
            return event("hit", buffer)
        return event("direct" if self.direct else "prefetch")


# ---- files in segments ---------------------------------------------------------------------------

SEGMENT_BLOCKS = 131072
"""RELSEG_SIZE: blocks of a segment, 1 GiB of 8 KiB."""


def segment_of(block: int, segment_blocks: int = SEGMENT_BLOCKS) -> tuple[int, int]:
    """The segment of a relation that has the block (`1234.1` is 1), and which block of it that is."""
    return block // segment_blocks, block % segment_blocks


def relation_blocks(lengths: Sequence[int | None], segment_blocks: int = SEGMENT_BLOCKS) -> int:
    """mdnblocks: the blocks of a relation whose segments have these; None: the segment is missing.

    ValueError: a segment has more than it may ("segment too big"), or has some after one that is not full. Upstream
    does not see these; they are there if a file was lost, or if a truncation was cut off.
    """
    blocks, ended = 0, False
    for number, length in enumerate(lengths):
        if (length or 0) > segment_blocks or (ended and length):
            raise ValueError(f"segment {number} has {length} blocks, after {blocks} blocks of at most {segment_blocks}")
        ended = (length or 0) < segment_blocks
        blocks += length or 0
    return blocks


# ---- the policy of advise_adaptive and uring_direct ----------------------------------------------


class Advice(Enum):
    """What to do about a block that the prefetcher would advise."""

    NONE = "none"
    GIVE = "give"
    PROBE = "probe"
    """Look whether the kernel has it cached, without waiting: probed() takes the answer."""


PROBE_EVERY, PROBE_SELDOM = 8, 64
FEWEST_PROBES, MOST_PROBES = 64, 1024
COLD_PROBES, TIMES_COLD = 64, 8
LONG_QUIET = 1024
WATCH_ALL, WATCH_EVERY = 4096, 8
COMBINE = 16
"""io_combine_limit, 128 kB in blocks: the longest run that is read at once, or advised before the kernel's own
read-ahead is left to it."""


@dataclass
class AdvicePolicy:
    """When advice to the kernel pays. Not upstream's: PostgreSQL advises always, also what the kernel has cached.

    Advice is what starts a read: posix_fadvise, or a read past the kernel's cache. While the policy gives it, it
    probes some of the blocks, and each one after a probe that found its block cached. If the last few probes all did,
    it becomes quiet: no advice, no probes, and no look-ahead. Reads then say whether they had to wait, and the first
    that had wakes it. If that was soon, it takes twice as many probes to become quiet again. If WATCH_ALL reads had
    not, only each WATCH_EVERY-th that follows is watched: a plain read costs less. And once COLD_PROBES in a row have
    found nothing, probes are TIMES_COLD times as seldom, until one finds its block.

    Runs: a block that follows one that was advised is advised too, without a probe: they can be one read. After COMBINE
    blocks in sequence no more is advised, since by then the kernel reads ahead by itself. Nor is a block advised that
    replay needs before all else.

    Rest: while it is quiet, Wal.read_ahead gives None unless it waits. Once nothing is queued, blocks are replayed in
    order past the prefetcher, until the policy wakes or they end. With a concurrency of 1 all are: what could be
    advised is what comes next.
    """

    probe_every: int = PROBE_EVERY
    """So many references after a probe that found nothing the next one follows: 8 for advice, 1 for reads, which cost
    more. Where the kernel does not say what it has cached, a probe is a read of a byte that must not wait: then 64."""
    quiet: bool = False
    probes_needed: int = FEWEST_PROBES
    cached_probes: int = 0
    cold_probes: int = 0
    """Probes in a row that found nothing, at most COLD_PROBES."""
    until_probe: int = 0
    quiet_reads: int = 0
    """Those that were watched,"""
    until_watch: int = 0
    """and so many follow that are not."""
    last: tuple[int, int] | None = None
    """The file and block that were looked at last,"""
    gave: bool = False
    """whether it was advised,"""
    run: int = 0
    """and how many blocks before it were looked at in sequence."""

    def look(self, file: int, block: int, *, comes_next: bool = False) -> Advice:
        """Look-ahead has come to a block that is in no buffer. comes_next: replay needs it before anything else."""
        self.run = self.run + 1 if self.last == (file, block - 1) else 0
        self.last = file, block
        follows, self.gave = self.run > 0 and self.gave, False
        if self.quiet or comes_next or self.run >= COMBINE:
            return Advice.NONE
        if not follows and not self.until_probe:
            return Advice.PROBE
        if not follows:
            self.until_probe -= 1
        self.gave = True
        return Advice.GIVE

    def probed(self, *, cached: bool) -> bool:
        """The answer to a probe. Returns whether to advise the block."""
        if not cached:
            self.cold_probes = min(self.cold_probes + 1, COLD_PROBES)
            times = TIMES_COLD if self.cold_probes == COLD_PROBES else 1
            self.cached_probes, self.until_probe, self.gave = 0, times * self.probe_every - 1, True
            return True
        self.cold_probes = 0
        self.cached_probes += 1
        if self.cached_probes == self.probes_needed:
            self.quiet, self.cached_probes, self.quiet_reads, self.until_watch = True, 0, 0, 0
        return False

    def watches(self) -> bool:
        """While quiet, replay reads a block: whether read() is to hear of it."""
        if not self.until_watch:
            return True
        self.until_watch -= 1
        return False

    def read(self, *, cached: bool) -> None:
        """While quiet, replay has read a block, watched: the kernel had it cached, or replay had to wait."""
        self.quiet_reads += 1
        if cached:
            self.until_watch = WATCH_EVERY - 1 if self.quiet_reads >= WATCH_ALL else 0
        else:
            soon = self.quiet_reads < LONG_QUIET
            self.probes_needed = min(2 * self.probes_needed, MOST_PROBES) if soon else FEWEST_PROBES
            self.quiet, self.until_probe = False, 0

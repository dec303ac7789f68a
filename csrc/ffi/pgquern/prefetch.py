# SPDX-License-Identifier: PostgreSQL
"""The recovery prefetcher of the C library, and the engine that replays block references on real files.

The prefetcher asks the WAL and the storage through Python, question by question. Records, block references and
relations are any objects that have the attributes of those below. LSNs are at most 2^64 - 1, block numbers and object
identifiers at most 2^32 - 1. A refusal is a PgquernError and loses nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import count, fill
from pgquern.sharing import exclusive
from pgquern.variants import Variant

# Allocates each array. Tests replace it to get memory with guarded ends.
new_array = ffi.new

COUNTERS = ("prefetch", "hit", "skip_init", "skip_new", "skip_fpw", "skip_rep")
"""The columns of pg_stat_recovery_prefetch, in the order of pgq_prefetch_what."""
WHATS = (*COUNTERS, "other_fork", "direct")


class Relation(Protocol):
    """A RelFileLocator."""

    @property
    def tablespace(self) -> int: ...
    @property
    def database(self) -> int: ...
    @property
    def number(self) -> int: ...


class BlockReference(Protocol):
    """A block that a record changes. fork: 0 for the main fork."""

    @property
    def relation(self) -> Relation: ...
    @property
    def block(self) -> int: ...
    @property
    def fork(self) -> int: ...
    @property
    def has_image(self) -> bool: ...
    @property
    def will_init(self) -> bool: ...
    @property
    def in_use(self) -> bool: ...


class Record(Protocol):
    """A decoded WAL record. effect.name: NONE, CREATE, TRUNCATE, CREATE_DATABASE or TIMELINE."""

    @property
    def lsn(self) -> int: ...
    @property
    def next_lsn(self) -> int: ...
    @property
    def blocks(self) -> Sequence[BlockReference]: ...
    @property
    def effect(self) -> Enum: ...
    @property
    def relation(self) -> Relation: ...
    @property
    def block(self) -> int: ...


class Wal(Protocol):
    """Where records come from: pgq_prefetch_world's read_ahead."""

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Any: ...


class Storage(Protocol):
    """The relations on disk and the buffer pool. blocks() is asked only about a relation that exists.

    buffer() raises FileNotFoundError for a block that is in no buffer, and whose file has gone meanwhile.
    """

    def exists(self, relation: Any) -> bool: ...
    def blocks(self, relation: Any) -> int: ...
    def buffer(self, relation: Any, block: int) -> int | None: ...


class Event(NamedTuple):
    """What became of a block reference that was looked at."""

    what: str
    lsn: int
    reference: Any
    buffer: int | None


class Filter(NamedTuple):
    """No block of `key` (tablespace, database, number) from from_block on exists before `until` is replayed."""

    key: tuple[int, int, int]
    until: int
    from_block: int


def _relation(relation: Relation) -> tuple[int, int, int]:
    return relation.tablespace, relation.database, relation.number


@exclusive
class Prefetcher:
    """XLogPrefetcher. `events` has what became of each block reference.

    direct: debug_io_direct has `data`. upstream: the filters are kept in upstream's structures. max_concurrency: what
    the ring has space for. queue_space: decoded records; filter_space: one more than filters.
    """

    def __init__(
        self,
        wal: Wal,
        storage: Storage,
        concurrency: int,
        begin: int,
        *,
        direct: bool = False,
        upstream: bool = False,
        max_concurrency: int = lib.PGQ_PREFETCH_MAX_CONCURRENCY,
        queue_space: int = 1024,
        filter_space: int = 1024,
    ) -> None:
        self.wal, self.storage = wal, storage
        self.events: list[Event] = []
        self._records: dict[Any, tuple[Any, Any, Any]] = {}  # C record -> Python's, and C memory to be kept alive
        self._given: Any = None
        self._error: BaseException | None = None
        space = max(2, lib.PGQ_PREFETCH_DISTANCE_MULTIPLIER * count("max_concurrency", max_concurrency) + 1)
        self._entries = new_array("pgq_prefetch_entry[]", space)
        self._queue = new_array("pgq_prefetch_record *[]", count("queue_space", queue_space))
        self._filters = new_array("pgq_prefetch_filter[]", count("filter_space", filter_space))
        arrays = {"entries": self._entries, "queue": self._queue, "filters": self._filters}
        spaces = {"entry_space": space, "queue_space": queue_space, "filter_space": filter_space}
        table = ffi.gc(lib.pgq_prefetch_upstream_make(), lib.pgq_prefetch_upstream_free) if upstream else ffi.NULL
        self._upstream = table  # kept alive
        self._c = ffi.new("pgq_prefetch *", arrays | spaces | {"io_direct": direct, "upstream": table})
        functions = {
            name: self._callback(f"pgq_prefetch_world.{name}", getattr(self, f"_{name}"))
            for name in ("read_ahead", "blocks", "buffer", "event")
        }
        self._world = ffi.new("pgq_prefetch_world *", functions)
        self._functions = functions  # kept alive
        self.begin(concurrency, begin)

    def _callback(self, name: str, function: Callable[..., Any]) -> Any:
        struct, member = name.split(".")
        signature = dict(ffi.typeof(struct).fields)[member].type

        def keep(_type: Any, error: BaseException, _traceback: Any) -> None:
            self._error = self._error or error

        return ffi.callback(signature, function, onerror=keep)

    # ---- what C asks ----

    def _read_ahead(self, _arg: Any, queued: int, nonblocking: bool) -> Any:
        if self._error:
            return ffi.NULL
        record = self.wal.read_ahead(queued, nonblocking=bool(nonblocking))
        if record is None:
            return ffi.NULL
        blocks = new_array("pgq_prefetch_block[]", len(record.blocks))
        for c, reference in zip(blocks, record.blocks, strict=True):
            c.relation = _relation(reference.relation)
            c.block, c.fork = reference.block, reference.fork
            c.has_image, c.will_init, c.in_use = reference.has_image, reference.will_init, reference.in_use
        c_record = new_array(
            "pgq_prefetch_record *",
            {
                "lsn": record.lsn,
                "next_lsn": record.next_lsn,
                "blocks": blocks,
                "block_count": len(blocks),
                "effect": getattr(lib, f"PGQ_PREFETCH_EFFECT_{record.effect.name}"),
                "relation": _relation(record.relation),
                "block": record.block,
            },
        )
        self._records[c_record] = record, c_record, blocks
        return c_record

    def _reference(self, event: Any) -> Any:
        return self._records[event.record][0].blocks[event.index]

    def _blocks(self, _arg: Any, relation: Any) -> int:
        found = self._asked(relation)
        return self.storage.blocks(found) if self.storage.exists(found) else -1

    def _buffer(self, _arg: Any, relation: Any, block: int) -> int:
        try:
            buffer = self.storage.buffer(self._asked(relation), block)
        except FileNotFoundError:
            return -2
        return -1 if buffer is None else buffer

    def _asked(self, relation: Any) -> Any:
        """The relation of the record that is being looked at."""
        references = self._records[self._c.at][0].blocks
        key = (relation.tablespace, relation.database, relation.number)
        return next(r.relation for r in references if _relation(r.relation) == key)

    def _event(self, _arg: Any, event: Any) -> None:
        what, lsn, buffer = WHATS[event.what], event.record.lsn, event.buffer
        self.events.append(Event(what, lsn, self._reference(event), None if buffer < 0 else buffer))

    # ---- what Python asks ----

    def _accept(self, status: Any) -> None:
        error, self._error = self._error, None
        if error:
            raise error
        if status.code != lib.PGQ_OK:
            raise PgquernError(status.code, status.index)

    def begin(self, concurrency: int, begin: int) -> None:
        """Start with nothing known, to read the WAL at `begin`."""
        self._accept(lib.pgq_prefetch_begin(self._c, concurrency, begin))
        self._forget()

    def begin_read(self, begin: int) -> None:
        """Read on at another place. Filters, window and counters stay."""
        self._accept(lib.pgq_prefetch_begin_read(self._c, begin))
        self._forget()

    def _forget(self) -> None:
        """The records of before."""
        self._records.clear()
        self._given = None

    def reconfigure(self, concurrency: int) -> None:
        """A changed maintenance_io_concurrency; 0 switches prefetching off."""
        self._accept(lib.pgq_prefetch_reconfigure(self._c, concurrency))

    def read_record(self) -> Any:
        """The next record to replay, None at the end of the WAL. The one given before has been replayed by now."""
        record = ffi.new("pgq_prefetch_record **")
        self._accept(lib.pgq_prefetch_read(self._c, self._world, record))
        self._records.pop(self._given, None)
        self._given = record[0] if record[0] != ffi.NULL else None
        return None if self._given is None else self._records[self._given][0]

    @property
    def counters(self) -> dict[str, int]:
        """pg_stat_recovery_prefetch's counters."""
        return dict(zip(COUNTERS, self._c.counters, strict=False))

    def show_distances(self) -> None:
        """Bring `distances` up to date."""
        self._accept(lib.pgq_prefetch_show_distances(self._c))

    @property
    def distances(self) -> tuple[int, int, int]:
        """pg_stat_recovery_prefetch's wal_distance, block_distance and io_depth: seldom up to date."""
        return int(self._c.wal_distance), int(self._c.block_distance), int(self._c.io_depth)

    @property
    def ring(self) -> list[tuple[int, bool]]:
        """The entries from tail to head, each with its LSN and whether an I/O was started."""
        ring = self._c.ring
        used = (ring.head - ring.tail) % ring.size
        return [(e.lsn, bool(e.io)) for e in (self._entries[(ring.tail + i) % ring.size] for i in range(used))]

    @property
    def inflight(self) -> tuple[int, int]:
        """The ring's own count of entries with an I/O, and of those without."""
        return self._c.ring.inflight, self._c.ring.completed

    @property
    def queued(self) -> int:
        """Records that are decoded and not yet given out."""
        return int(self._c.queued)

    @property
    def filters(self) -> list[Filter]:
        """The filters, in the order in which they were set."""
        if self._upstream:
            count = lib.pgq_prefetch_upstream_filters(self._upstream, ffi.NULL, 0)
            copies = ffi.new("pgq_prefetch_filter[]", count)
            lib.pgq_prefetch_upstream_filters(self._upstream, copies, count)
            return [Filter(_relation(f.key), f.until, f.from_block) for f in copies]
        found, slot = [], self._c.oldest_filter
        while slot:
            f = self._filters[slot - 1]
            found.append(Filter((f.key.tablespace, f.key.database, f.key.number), f.until, f.from_block))
            slot = f.newer
        return found

    @property
    def recent(self) -> list[tuple[tuple[int, int, int], int]]:
        """The repeat window, the oldest first."""
        c, window = self._c, lib.PGQ_PREFETCH_REPEAT_WINDOW
        places = [i % window for i in range(max(0, c.recent_count - window), c.recent_count)]
        return [(_relation(c.recent_relations[i]), c.recent_blocks[i]) for i in places]

    @property
    def no_readahead_until(self) -> int:
        """Look-ahead is suspended until replay has got past this LSN."""
        return int(self._c.no_readahead_until)


# ---- the policy of advise_adaptive and uring_direct ----------------------------------------------


@exclusive
class Policy:
    """When advise_adaptive advises, and uring_direct reads ahead. probe_every: 1 or more."""

    def __init__(self, probe_every: int = lib.PGQ_PREFETCH_PROBE_EVERY) -> None:
        start = {"probe_every": probe_every, "probes_needed": lib.PGQ_PREFETCH_FEWEST_PROBES}
        self._c = ffi.new("pgq_prefetch_policy *", start)

    def look(self, file: int, block: int, *, comes_next: bool = False) -> str:
        """Look-ahead has come to a block that is in no buffer: "none", "give" or "probe"."""
        return ("none", "give", "probe")[lib.pgq_prefetch_policy_look(self._c, file, block, comes_next)]

    def probed(self, *, cached: bool) -> bool:
        """The answer to a probe. Returns whether to advise the block."""
        return bool(lib.pgq_prefetch_policy_probed(self._c, cached))

    def watches(self) -> bool:
        """While quiet, replay reads a block: whether read() is to hear of it."""
        return bool(lib.pgq_prefetch_policy_watches(self._c))

    def read(self, *, cached: bool) -> None:
        """While quiet, replay has read a block, watched: the kernel had it cached, or replay had to wait."""
        lib.pgq_prefetch_policy_read(self._c, cached)

    @property
    def quiet(self) -> bool:
        return bool(self._c.quiet)

    @property
    def probes_needed(self) -> int:
        return int(self._c.probes_needed)


# ---- the engine ----------------------------------------------------------------------------------

BLCKSZ = 8192
STEPS = ("advise", "probe", "submit", "complete", "read", "use", "give_up")


class Step(NamedTuple):
    """One of STEPS, and the access that it was for, from 0."""

    what: str
    access: int


class Io:
    """The engine's system calls. A subclass that replaces one is asked instead of the system."""

    def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
        """As pread: at most `size` bytes; or -errno. nowait: -EAGAIN rather than wait for a device."""
        raise NotImplementedError

    def advise(self, fd: int, offset: int, size: int) -> None:
        """As posix_fadvise with POSIX_FADV_WILLNEED."""
        raise NotImplementedError

    def cached(self, fd: int, offset: int, size: int) -> int:
        """1 or 0: whether the kernel has all of it cached; or -errno: it does not say, and read() gives a byte."""
        raise NotImplementedError

    def completed(self, access: int, result: int) -> int:
        """What io_uring says of a read; returns what the engine shall take it for."""
        raise NotImplementedError

    def submit(self) -> int:
        """Before a submission to io_uring: 0, or -errno, with which it then fails."""
        raise NotImplementedError

    def wait(self) -> int:
        """Before a wait for a read to end: 0, or -errno, with which it then fails."""
        raise NotImplementedError


@dataclass(frozen=True)
class Replayed:
    """used: accesses that were replayed. error_number: as errno, for a refusal that has one. rested: accesses that were
    replayed without look-ahead. combined: accesses whose block io_uring read together with the block before it.
    calls: of io_uring, to submit, to wait, or both. registered: it knows the buffers, and looks none of them up."""

    used: int
    steps: list[Step]
    counters: dict[str, int]
    error_number: int
    rested: int
    combined: int
    calls: int
    registered: bool


class ReplayError(PgquernError):
    """A refusal. replayed: what was done before it."""

    def __init__(self, code: int, index: int, replayed: Replayed) -> None:
        super().__init__(code, index)
        self.replayed = replayed


def variants() -> list[Variant]:
    """All variants of the engine, as pgquern.variants.variants."""
    return variants_.variants("prefetch_replay")


def _hooks(io: Io, errors: list[BaseException]) -> dict[str, Any]:
    """The members of pgq_prefetch_io that a subclass replaces."""

    def read(_arg: Any, fd: int, buffer: Any, size: int, offset: int, nowait: bool) -> int:
        got = io.read(fd, size, offset, nowait=bool(nowait))
        if isinstance(got, int):
            return got
        return fill(buffer, got, size)

    def advise(_arg: Any, fd: int, offset: int, size: int) -> int:
        io.advise(fd, offset, size)
        return 0

    def cached(_arg: Any, fd: int, offset: int, size: int) -> int:
        return io.cached(fd, offset, size)

    def completed(_arg: Any, access: int, result: int) -> int:
        return io.completed(access, result)

    def submit(_arg: Any) -> int:
        return io.submit()

    def wait(_arg: Any) -> int:
        return io.wait()

    fields = dict(ffi.typeof("pgq_prefetch_io").fields)

    def keep(_type: Any, error: BaseException, _traceback: Any) -> None:
        errors.append(error)

    return {
        hook.__name__: ffi.callback(fields[hook.__name__].type, hook, error=-5, onerror=keep)
        for hook in (read, advise, cached, completed, submit, wait)
        if getattr(type(io), hook.__name__) is not getattr(Io, hook.__name__)
    }


def replay(
    fds: Sequence[int],
    accesses: Sequence[tuple[int, int]],
    *,
    concurrency: int,
    buffers: int,
    records: Sequence[int] | None = None,
    segments: Sequence[int] | None = None,
    segment_blocks: int = 0,
    variant: str | None = None,
    use: Callable[[int, bytes], None] | None = None,
    io: Io | None = None,
    log: bool = False,
) -> Replayed:
    """Replays accesses, each a pair of file (a place in `fds`) and block, in their order.

    records: how many of the accesses each WAL record has, at most 33; None: one each. segments: how many of `fds` each
    file has, of segment_blocks blocks each (0: 1 GiB), where -1 is one that is missing; None: one each, of any size.
    buffers: of the pool, more than concurrency. use(i, page): called for each access. ReplayError: a refusal.
    """
    errors: list[BaseException] = []

    def use_page(_arg: Any, access: int, page: Any) -> None:
        assert use is not None
        use(access, bytes(ffi.buffer(page, BLCKSZ)))

    fields = dict(ffi.typeof("pgq_prefetch_job").fields)
    hooks = _hooks(io, errors) if io else {}
    c_io = ffi.new("pgq_prefetch_io *", hooks)
    c_use = ffi.callback(fields["use"].type, use_page, onerror=lambda _t, e, _tb: errors.append(e)) if use else ffi.NULL
    c_fds, c_accesses = new_array("int[]", list(fds)), new_array("pgq_prefetch_access[]", list(accesses))
    c_records = ffi.NULL if records is None else new_array("uint32_t[]", list(records))
    c_segments = ffi.NULL if segments is None else new_array("uint32_t[]", list(segments))
    files = len(c_fds) if segments is None else len(segments)
    if segments is not None and sum(segments) != len(c_fds):
        raise ValueError(f"the files have {sum(segments)} segments, and there are {len(c_fds)} descriptors")
    steps = new_array("pgq_prefetch_step[]", 5 * len(c_accesses)) if log else ffi.NULL
    job = ffi.new(
        "pgq_prefetch_job *",
        {
            "fds": c_fds,
            "file_count": files,
            "segments": c_segments,
            "segment_blocks": segment_blocks,
            "accesses": c_accesses,
            "access_count": len(c_accesses),
            "record_blocks": c_records,
            "record_count": 0 if records is None else len(records),
            "concurrency": concurrency,
            "buffers": buffers,
            "io": c_io,
            "use": c_use,
            "steps": steps,
            "step_space": 5 * len(c_accesses) if log else 0,
        },
    )
    fn = lib.pgq_prefetch_replay if variant is None else variants_.row_of("prefetch_replay", variant).fn
    status = fn(job)
    if errors:
        raise errors[0]
    done = [Step(STEPS[steps[i].what], steps[i].access) for i in range(job.step_count)] if log else []
    counters = dict(zip(COUNTERS, job.counters, strict=False))
    replayed = Replayed(job.used, done, counters, job.error_number, job.rested, job.combined,
                        job.calls, bool(job.registered))  # fmt: skip
    if status.code != lib.PGQ_OK:
        raise ReplayError(status.code, status.index, replayed)
    return replayed

# SPDX-License-Identifier: PostgreSQL
"""A device and a recovery in simulated time.

The device serves so many I/Os side by side, first come first served; service times are random, with a seed. The
definition in ref/prefetch.py decides what is advised and when. Nothing here looks at a clock: the same arguments give
the same result everywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import inf
from random import Random

from ref.prefetch import Prefetcher, Record, Relation

Page = tuple[Relation, int]
CPU = 20e-6
"""Seconds to replay a record whose pages are in buffers."""
ADVISE = 2e-6
"""Seconds of a call of posix_fadvise."""


@dataclass
class Device:
    """`channels` I/Os at once; each takes `service` seconds, give or take `spread` of it."""

    channels: int
    service: float
    spread: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        if self.channels < 1 or not 0 < self.service < inf or not 0 <= self.spread < 1:
            raise ValueError("a device needs a channel, a service time above 0, and a spread from 0 to below 1")
        self._random = Random(self.seed)
        self._free = [0.0] * self.channels
        heapify(self._free)

    def submit(self, now: float) -> float:
        """When an I/O that is submitted now is complete."""
        begin = max(now, self._free[0])
        end = begin + self.service * (1 + self.spread * self._random.uniform(-1, 1))
        heapreplace(self._free, end)
        return end


@dataclass
class Sample:
    """After a record: the time, and how old its WAL is by then."""

    time: float
    lag: float


@dataclass
class Recovery:
    """A Wal and a Storage in simulated time. arrivals: when each record can be read. is_cached, length: of a page and
    of a relation, now; replayed: called with each record when it has been replayed."""

    records: Sequence[Record]
    arrivals: Sequence[float]
    device: Device
    is_cached: Callable[[Page], bool] = lambda page: False
    length: Callable[[Relation], int | None] = lambda relation: 1 << 32
    reads: Callable[[Record], Sequence[Page]] = lambda record: [(r.relation, r.block) for r in record.blocks]
    """The pages of a record that replay must read, as things are then."""
    replayed: Callable[[Record], None] = lambda record: None
    cpu: float = CPU
    now: float = 0.0
    decoded: int = 0
    under_way: dict[Page, float] = field(default_factory=dict)
    """When the I/O of an advised page is complete."""

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.decoded == len(self.records):
            return None
        arrival = self.arrivals[self.decoded]
        if arrival > self.now:
            if nonblocking:
                return None
            self.now = arrival
        self.decoded += 1
        return self.records[self.decoded - 1]

    def exists(self, relation: Relation) -> bool:
        return self.length(relation) is not None

    def blocks(self, relation: Relation) -> int:
        return self.length(relation) or 0

    def buffer(self, relation: Relation, block: int) -> int | None:
        """A page that is in no buffer is advised at once."""
        page = (relation, block)
        if self.is_cached(page):
            return 0
        self.now += ADVISE
        self.under_way[page] = self.device.submit(self.now)
        return None

    def replay(self, record: Record) -> None:
        """Read what is not in buffers: a page that was advised may be there sooner."""
        for page in self.reads(record):
            complete = self.under_way.pop(page, None)
            self.now = max(self.now, self.device.submit(self.now) if complete is None else complete)
        self.now += self.cpu
        self.replayed(record)


def simulate(recovery: Recovery, concurrency: int) -> tuple[list[Sample], Prefetcher]:
    """Replay all records."""
    prefetcher = Prefetcher(recovery, recovery, concurrency, recovery.records[0].lsn)
    samples = []
    for arrival in recovery.arrivals:
        record = prefetcher.read_record()
        assert record is not None
        recovery.replay(record)
        samples.append(Sample(recovery.now, recovery.now - arrival))
    return samples, prefetcher

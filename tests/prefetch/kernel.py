# SPDX-License-Identifier: PostgreSQL
"""The C prefetcher in the shape of the definition, so that `replay` and the properties take either."""

from pgquern.prefetch import Filter
from pgquern.prefetch import Prefetcher as Kernel

from ref.prefetch import Event, Prefetcher, Record, Relation, Ring, Storage, Wal


class KernelPrefetcher:
    """Stands for ref.prefetch.Prefetcher. space: the keyword arguments of the binding."""

    upstream = False

    def __init__(
        self, wal: Wal, storage: Storage, concurrency: int, begin: int, *, direct: bool = False, **space: int
    ) -> None:
        self.kernel = Kernel(wal, storage, concurrency, begin, direct=direct, upstream=self.upstream, **space)
        self._events: list[Event] = []

    def begin_read(self, begin: int) -> None:
        self.kernel.begin_read(begin)

    def show_distances(self) -> None:
        self.kernel.show_distances()

    @property
    def distances(self) -> tuple[int, int, int]:
        return self.kernel.distances

    def reconfigure(self, concurrency: int) -> None:
        self.kernel.reconfigure(concurrency)

    def read_record(self) -> Record | None:
        record: Record | None = self.kernel.read_record()
        return record

    @property
    def events(self) -> list[Event]:
        self._events += [Event(*event) for event in self.kernel.events[len(self._events) :]]
        return self._events

    @property
    def counters(self) -> dict[str, int]:
        return self.kernel.counters

    @property
    def ring(self) -> Ring:
        ring = Ring(0, 0)
        ring.entries.extend(self.kernel.ring)
        ring.inflight = self.kernel.inflight[0]
        return ring


class UpstreamsFilters(KernelPrefetcher):
    """The baseline: the same, with its filters in upstream's structures."""

    upstream = True


KERNELS: dict[str, type[KernelPrefetcher]] = {"kernel": KernelPrefetcher, "upstream": UpstreamsFilters}

Recent = list[tuple[tuple[int, int, int], int]]
State = tuple[list[tuple[int, bool]], int, int, list[Filter], Recent, int, tuple[int, int, int]]


def state_of(prefetcher: Prefetcher | KernelPrefetcher) -> State:
    """All that decides what comes next, and what is shown: ring, in flight, queued, filters, repeat window, suspension,
    distances."""
    if isinstance(prefetcher, KernelPrefetcher):
        k = prefetcher.kernel
        return k.ring, k.inflight[0], k.queued, k.filters, k.recent, k.no_readahead_until, k.distances
    p = prefetcher
    filters = [Filter(key[:], until, block) for key, (until, block) in p.filters.by_key.items()]
    recent: list[tuple[Relation, int]] = list(p.recent)
    return (
        list(p.ring.entries),
        p.ring.inflight,
        len(p.queue),
        filters,
        [(relation[:], block) for relation, block in recent],
        p.no_readahead_until,
        p.distances,
    )

# SPDX-License-Identifier: PostgreSQL
"""The cache, and others that choose in another way which page leaves; what each costs on a trace."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from bench.tiercache.ssd_writes import Counting
from ref import tiercache as ref

FSYNC_EVERY = 5_000
BATCH = 16
TURN = 16
"""References between two turns of a cleaner."""


class Cleaner(NamedTuple):
    name: str
    steps: int


CLEANERS = (Cleaner("no cleaner", 0), Cleaner("in time", 4 * TURN), Cleaner("behind", 1))
KEPT = 8
"""A cleaner keeps an eighth of the frames free."""


class Access(NamedTuple):
    page: int
    writes: bool
    then_fsync: bool


def accesses(pages: Sequence[int], writes: int, seed: int) -> list[Access]:
    """Pages are numbered anew; those that follow each other still do."""
    numbers = {page: at for at, page in enumerate(sorted(set(pages)))}
    rng = Random(seed)
    return [Access(numbers[page], rng.random() * 100 < writes, rng.random() * FSYNC_EVERY < 1) for page in pages]


class Device(Counting):
    """Requests, as well."""

    def __init__(self) -> None:
        super().__init__()
        self.store_reads = self.store_writes = 0

    def read_store(self, page: int, count: int) -> list[bytes]:
        self.store_reads += 1
        return super().read_store(page, count)

    def write_store(self, _page: int, _contents: Sequence[bytes]) -> None:
        self.store_writes += 1


class FreeSlots(list[int]):
    """A cache's free slots, which it takes from the end. They write down who takes which and when it is given back."""

    def __init__(self, slots: Sequence[int]) -> None:
        super().__init__(slots)
        self.taken: list[Taken | int] = []
        self.cleans = False

    def pop(self, _at: Any = -1) -> int:
        slot = super().pop()
        self.taken.append(Taken(slot, self.cleans))
        return slot

    def append(self, slot: int) -> None:
        super().append(slot)
        self.taken.append(slot)


class Taken(NamedTuple):
    slot: int
    by_cleaner: bool


class Shared(ref.TierCache):
    """As the cache does. What calls did, as well."""

    store_reads = 0
    """Reads that neither tier could answer."""
    write_backs = 0

    def __init__(self, files: Device, **sizes: Any) -> None:
        super().__init__(files, **sizes)
        self.free_slots: FreeSlots = FreeSlots(self.free_slots)
        for policy in (self.memory_policy, self.ssd_policy):
            if isinstance(policy, ref.TinyLfu):
                policy.counts = Remembering(policy.holds)

    def _read_store(self, page: int) -> bytes:
        self.store_reads += 1
        return super()._read_store(page)

    def _write_back(self, blocks: Sequence[int]) -> bool:
        self.write_backs += 1
        return super()._write_back(blocks)


PLACES: dict[tuple[int, int], list[tuple[int, int, int]]] = {}


class Remembering(ref.Sketch):
    """The same in half of the time: a page's places are computed once."""

    def _places(self, page: int) -> list[tuple[int, int, int]]:
        found = PLACES.get((self.blocks, page))
        if found is None:
            found = PLACES[self.blocks, page] = super()._places(page)
        return found

    def count(self, page: int) -> int:
        a, b, c, d = self._places(page)
        get = self.counters.get
        return min(get(a, 0), get(b, 0), get(c, 0), get(d, 0))

    def add(self, page: int) -> None:
        least = self.count(page)
        if least < self.MOST:
            for place in self._places(page):
                if self.counters.get(place, 0) == least:
                    self.counters[place] = least + 1


class InOrder(Shared):
    """The first one of the doomed, whoever asks."""

    def _next_to_leave(self, _making: ref.Making) -> int | None:
        page = next(iter(self.memory_policy.doomed), None)
        return self.memory_policy.victim() if page is None else page


class CleanOf8(InOrder):
    def __init__(self, files: Device, **sizes: Any) -> None:
        super().__init__(files, **sizes)
        self.memory_policy: Passing = Passing(self.frames, self.memory)


class Passing(ref.TinyLfu):
    """The first clean page of the next victims, as if those before it had left. They keep their places."""

    def __init__(self, n: int, memory: dict[int, ref.Frame]) -> None:
        super().__init__(n)
        self.counts = Remembering(n)
        self.memory = memory

    def victim(self) -> int | None:
        passed = []
        found = first = super().victim()
        while found is not None and self.memory[found].dirty:
            queue = self._queue_of(found)
            passed.append((queue, found, queue.pop(found)))
            self.window_size -= queue is self.window
            found = super().victim() if len(passed) < ref.LOOKS else None
        for queue, page, hits in reversed(passed):
            self.window_size += queue is self.window
            queue[page] = hits
            queue.move_to_end(page, last=False)
        return first if found is None else found


class CleanDoomed(InOrder):
    """The first clean one of the doomed."""

    def _next_to_leave(self, making: ref.Making) -> int | None:
        clean = (page for page in self.memory_policy.doomed if not self.memory[page].dirty)
        page = next(clean, None)
        return super()._next_to_leave(making) if page is None else page


VARIANTS: dict[str, type[Shared]] = {
    "in order": InOrder,
    "clean of 8": CleanOf8,
    "clean doomed": CleanDoomed,
    "shared": Shared,
}


@dataclass
class Counts:
    """hits: references that find their page in memory, ssd_hits: on the SSD. Requests to the devices. waits: reads and
    writes that made a write-back for room. ssd_waits: those that wrote to the SSD."""

    hits: int = 0
    ssd_hits: int = 0
    store_reads: int = 0
    store_writes: int = 0
    ssd_writes: int = 0
    waits: int = 0
    ssd_waits: int = 0


def replay(
    variant: type[Shared], asked: Sequence[Access], frames: int, slots: int, cleaner: Cleaner
) -> tuple[Counts, list[Taken | int]]:
    """What the references cost, and who took which slot."""
    device, found = Device(), Counts()
    last = max(access.page for access in asked)
    blocks = last // ref.BLOCK_PAGES + 1
    cache = variant(device, pages=blocks * ref.BLOCK_PAGES, frames=frames, slots=slots, batch=BATCH)
    kept = frames // KEPT if cleaner.steps else 0
    reads = 0
    for at, access in enumerate(asked):
        found.hits += (hit := access.page in cache.memory)
        reads += not hit and not access.writes
        before, puts = cache.write_backs, device.puts
        if access.writes:
            cache.write(access.page, b"")
        else:
            cache.read(access.page)
        found.waits += cache.write_backs > before
        found.ssd_waits += device.puts > puts
        if access.then_fsync:
            cache.fsync()
        if kept and at % TURN == 0:
            cache.free_slots.cleans = True
            cache.clean(kept, cleaner.steps)
            cache.free_slots.cleans = False
    found.ssd_hits = reads - cache.store_reads
    found.store_reads, found.store_writes, found.ssd_writes = device.store_reads, device.store_writes, device.puts
    return found, cache.free_slots.taken

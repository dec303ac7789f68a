# SPDX-License-Identifier: PostgreSQL
"""The page cache in three tiers: memory, an SSD that may be lost whole, a durable store that is written by the block.

Source: the AppOS file stack's description of a page cache over cloud storage. Two definitions, the second one an
implementation of the first:

- `FlatFile` says what a user may rely on: a read returns the newest write, and a crash leaves of each sector what it
  held at the last successful fsync, or something written since.
- `TierCache` keeps pages in tiers. Where a page stands, and each operation on a file, is determined.

The files are given: `Files` says what is asked of them. Page, block and slot numbers are ints from 0 on.
"""

from collections import OrderedDict
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import NamedTuple, Protocol

PAGE_SIZE = 8192
BLOCK_PAGES = 16
SECTOR = 512
ZEROS = bytes(PAGE_SIZE)


# ---- what a user may rely on ---------------------------------------------------------------------


@dataclass
class FlatFile:
    """An array of pages, all zeros at first, with what a crash may leave of them."""

    newest: dict[int, bytes] = field(default_factory=dict)
    since_sync: dict[int, list[bytes]] = field(default_factory=dict)
    """The contents at the last successful fsync, and all since; nothing of a page that was not written since."""

    def read(self, page: int) -> bytes:
        return self.newest.get(page, ZEROS)

    def write(self, page: int, contents: bytes) -> None:
        self.since_sync.setdefault(page, [self.read(page)]).append(contents)
        self.newest[page] = contents

    def fsync(self) -> None:
        """A successful one."""
        self.since_sync.clear()

    def may_leave(self, page: int, contents: bytes) -> bool:
        """Whether a crash may leave these contents: each sector by itself, since a write may be torn."""
        candidates = self.since_sync.get(page, [self.read(page)])
        return contents in candidates or all(
            any(contents[at : at + SECTOR] == candidate[at : at + SECTOR] for candidate in candidates)
            for at in range(0, PAGE_SIZE, SECTOR)
        )

    def crash(self, page: int, contents: bytes) -> None:
        """The crash has left these contents. They are not durable: another crash may leave older ones."""
        if contents != self.read(page):
            self.write(page, contents)


# ---- eviction policies ---------------------------------------------------------------------------


class Policy(Protocol):
    """Which page should leave. A victim stays until it is removed. A page that cannot leave now is set aside.

    doomed: pages that are to leave, and are still there, the first one first. They are no victims.
    holds: pages that there are to be: fewer than may be, if a cleaner keeps room. W-TinyLFU's shares are of these.
    """

    aside: OrderedDict[int, int]
    doomed: OrderedDict[int, int]
    holds: int

    def insert(self, page: int) -> None: ...
    def hit(self, page: int) -> None: ...
    def victim(self) -> int | None:
        """None: no page can leave."""

    def remove(self, page: int, *, evicted: bool) -> None:
        """evicted: to make room, and not because its contents are old."""

    def pass_by(self, page: int) -> None:
        """A page that was asked for does not come."""

    def set_aside(self, page: int) -> None: ...
    def bring_back(self, page: int) -> None: ...
    def doom(self, page: int) -> None:
        """It is to leave: as if it had, to make room."""

    def rescue(self, page: int) -> None:
        """A doomed page is used: it comes anew."""


class _Dooms:
    """What all policies do in the same way."""

    def __init__(self, n: int) -> None:
        self.holds = n
        self.aside: OrderedDict[int, int] = OrderedDict()
        self.doomed: OrderedDict[int, int] = OrderedDict()

    def _queue_of(self, page: int) -> OrderedDict[int, int]:
        raise NotImplementedError

    def insert(self, page: int) -> None:
        raise NotImplementedError

    def remove(self, page: int, *, evicted: bool) -> None:
        raise NotImplementedError

    def set_aside(self, page: int) -> None:
        self.aside[page] = self._queue_of(page).pop(page)

    def doom(self, page: int) -> None:
        hits = self._queue_of(page)[page]
        self.remove(page, evicted=True)
        self.doomed[page] = hits

    def rescue(self, page: int) -> None:
        del self.doomed[page]
        self.insert(page)


class Lru(_Dooms):
    """Least recently used."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.pages: OrderedDict[int, int] = OrderedDict()

    def _queue_of(self, page: int) -> OrderedDict[int, int]:
        return next(queue for queue in (self.pages, self.aside, self.doomed) if page in queue)

    def insert(self, page: int) -> None:
        self.pages[page] = 0

    def hit(self, page: int) -> None:
        if page in self.pages:
            self.pages.move_to_end(page)

    def victim(self) -> int | None:
        return next(iter(self.pages), None)

    def remove(self, page: int, *, evicted: bool) -> None:
        del self._queue_of(page)[page]

    def pass_by(self, page: int) -> None:
        """Nothing is known of pages that are not there."""

    def bring_back(self, page: int) -> None:
        self.pages[page] = self.aside.pop(page)


class S3Fifo(_Dooms):
    """S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023), algorithm 1: three queues, the oldest page first.

    As in libcachesim, too: until a page was evicted, the small queue takes no more than its share."""

    MOST_HITS, TO_MAIN, SMALL_SHARE = 3, 2, 10

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.n = n
        self.small: OrderedDict[int, int] = OrderedDict()
        self.main: OrderedDict[int, int] = OrderedDict()
        """page -> hits"""
        self.share = max(1, n // self.SMALL_SHARE)
        self.ghosts: OrderedDict[int, None] = OrderedDict()
        """Pages that left the small queue: 9 n / 10 at most, and for the moment n, until the next page has come."""
        self.evicted = False

    def _queue_of(self, page: int) -> OrderedDict[int, int]:
        return next(queue for queue in (self.small, self.main, self.aside, self.doomed) if page in queue)

    def insert(self, page: int) -> None:
        if page in self.ghosts:
            del self.ghosts[page]
            self.main[page] = 0
        elif not self.evicted and len(self.small) >= self.share:
            self.main[page] = 0
        else:
            self.small[page] = 0
        while len(self.ghosts) > self.n * 9 // 10:
            self.ghosts.popitem(last=False)

    def hit(self, page: int) -> None:
        queue = self._queue_of(page)
        queue[page] = min(queue[page] + 1, self.MOST_HITS)

    def victim(self) -> int | None:
        if not self.small and not self.main:
            return None
        if len(self.small) >= self.share or not self.main:
            while self.small:
                page, hits = next(iter(self.small.items()))
                if hits < self.TO_MAIN:
                    return page
                del self.small[page]
                self.main[page] = 0
        while True:
            page, hits = next(iter(self.main.items()))
            if hits == 0:
                return page
            del self.main[page]
            self.main[page] = hits - 1

    def remove(self, page: int, *, evicted: bool) -> None:
        queue = self._queue_of(page)
        del queue[page]
        self.evicted |= evicted
        if evicted and queue is self.small:
            if len(self.ghosts) == self.n:
                self.ghosts.popitem(last=False)
            self.ghosts[page] = None

    def pass_by(self, page: int) -> None:
        """Nothing is known of pages that are not there."""

    def bring_back(self, page: int) -> None:
        self.main[page] = self.aside.pop(page)


class Sketch:
    """How often pages were asked for lately: four counters a page, in one block; others may share some of them."""

    ROWS, ROW, MOST, FACTOR = 4, 16, 15, 0x9E3779B97F4A7C15

    def __init__(self, n: int) -> None:
        """32 to 64 counters for each of n pages, in a power of two of blocks."""
        self.blocks = 1
        while 2 * self.blocks < n:
            self.blocks *= 2
        self.counters: dict[tuple[int, int, int], int] = {}
        """(block, row, column) -> what was counted; zeros are left out."""

    def _places(self, page: int) -> list[tuple[int, int, int]]:
        hashed = (page + 1) % 2**64 * self.FACTOR % 2**64
        block = (hashed >> 32) % self.blocks
        mixed = (hashed ^ hashed >> 32) * self.FACTOR % 2**64
        return [(block, row, (mixed >> 32 + 4 * row) % self.ROW) for row in range(self.ROWS)]

    def count(self, page: int) -> int:
        return min(self.counters.get(place, 0) for place in self._places(page))

    def add(self, page: int) -> None:
        """Counters that are above the least are no page's alone; they stay."""
        least = self.count(page)
        for place in self._places(page):
            if self.counters.get(place, 0) == least < self.MOST:
                self.counters[place] = least + 1

    def halve(self) -> None:
        self.counters = {place: counted // 2 for place, counted in self.counters.items() if counted > 1}


class TinyLfu(_Dooms):
    """W-TinyLFU with a window that adapts (Einziger, Eytan, Friedman, Manes, Middleware 2018): LRU queues, the oldest
    page first.

    New pages come to the window. Who leaves it meets the oldest page of the others, and the one asked for more often
    stays. Of the others, those that are used again are protected. Queues: page -> the number of the last doubt when it
    was used.

    The counts of pages outlive their heat. If pages that have lost by them come back, and more hits are missing than in
    the period before, the counts are doubted: pages that had no hit since leave, whatever their counts.
    """

    PERIOD, STEP_SHARE, WINDOW_SHARE, LEAST_SHARE, REGRET, DOUBTS = 10, 16, 100, 8, 8, 256

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.n = n
        self.window_size = max(1, n // self.WINDOW_SHARE)
        self.window: OrderedDict[int, int] = OrderedDict()
        self.main: OrderedDict[int, int] = OrderedDict()
        self.protected: OrderedDict[int, int] = OrderedDict()
        self.counts = Sketch(n)
        self.references = self.found = self.found_before = 0
        self.grows = True
        self.ghosts: OrderedDict[int, int] = OrderedDict()
        """Pages that have left, n at most -> the number of the doubt that sent them; by their count: the one before."""
        self.doubt = self.doubts = self.lost = 0
        """The last doubt's number; pages that it may still evict; missing hits, times a period's references."""
        self.caution = 2 * n
        self.has_doubted = False

    def _queue_of(self, page: int) -> OrderedDict[int, int]:
        queues = (self.window, self.main, self.protected, self.aside, self.doomed)
        return next(queue for queue in queues if page in queue)

    def _weigh(self, *, found: bool) -> None:
        """A page is found, or is back that had left by its count. A loop over more pages than there are misses all
        others in a row, and no doubt comes of that."""
        period = self.PERIOD * self.holds
        before = min(self.found_before, period)
        if self.doubts:
            return
        self.lost = max(0, self.lost - (period - before)) if found else self.lost + before
        if self.lost > self.holds * (period - before) + self.caution * period:
            self.lost, self.doubts, self.has_doubted = 0, self.holds, True
            self.doubt = (self.doubt + 1) % self.DOUBTS

    def _comes_back(self, page: int) -> None:
        """A page that was doubted comes back at once: so the doubt ends sooner, and the next one needs more."""
        left = self.ghosts.pop(page)
        if self.doubts and left == self.doubt:
            self.doubts = max(0, self.doubts - self.REGRET)
            self.caution = min(self.caution + self.REGRET, 2 * self.holds)
        else:
            self._weigh(found=False)

    def _count(self, page: int, *, found: bool) -> None:
        """After each PERIOD * holds references the window takes a step: the other way, if there were fewer hits, and
        after a doubt it grows."""
        most = max(1, self.holds * 4 // 5)
        self.window_size = min(self.window_size, most)
        self.counts.add(page)
        self.references += 1
        self.found += found
        if self.references >= self.PERIOD * self.holds:
            self.grows = self.has_doubted or self.grows != (self.found < self.found_before)
            step = max(1, self.holds // self.STEP_SHARE) * (1 if self.grows else -1)
            self.window_size = max(1, min(self.window_size + step, most))
            self.references, self.found_before, self.found = 0, self.found, 0
            self.has_doubted = False
            self.counts.halve()
        while len(self.window) > self.window_size:
            page, used = self.window.popitem(last=False)
            self.main[page] = used
        while len(self.protected) > (self.holds - self.window_size) * 4 // 5:
            page, used = self.protected.popitem(last=False)
            self.main[page] = used

    def insert(self, page: int) -> None:
        if page in self.ghosts:
            self._comes_back(page)
        self.window[page] = self.doubt
        self._count(page, found=False)

    def hit(self, page: int) -> None:
        queue = self._queue_of(page)
        if queue is not self.aside:
            del queue[page]
            queue = self.window if queue is self.window else self.protected
        queue[page] = self.doubt
        self._weigh(found=True)
        self._count(page, found=True)

    def _is_doubted(self, queue: OrderedDict[int, int]) -> bool:
        """Its oldest page."""
        return self.doubts > 0 and len(queue) > 0 and next(iter(queue.values())) != self.doubt

    def victim(self) -> int | None:
        queue = self.main if self.main and not self._is_doubted(self.protected) else self.protected
        newcomer, oldest = next(iter(self.window), None), next(iter(queue), None)
        if newcomer is None or oldest is None:
            return oldest if newcomer is None else newcomer
        if len(self.window) < self.window_size:
            return oldest
        if not self._is_doubted(queue):
            self.doubts = 0
            if self.counts.count(newcomer) <= self.counts.count(oldest):
                return newcomer
        del self.window[newcomer]
        self.main[newcomer] = self.doubt
        return oldest

    def _remember(self, page: int, doubt: int) -> None:
        if len(self.ghosts) == self.n:
            self.ghosts.popitem(last=False)
        self.ghosts[page] = doubt

    def remove(self, page: int, *, evicted: bool) -> None:
        queue = self._queue_of(page)
        del queue[page]
        if evicted and queue is self.window:
            self._remember(page, (self.doubt - 1) % self.DOUBTS)
        elif evicted and (queue is self.main or queue is self.protected) and self.doubts:
            self._remember(page, self.doubt)
            self.doubts -= 1
            self.caution -= self.caution > self.holds // self.LEAST_SHARE

    def pass_by(self, page: int) -> None:
        """It counts, so that who was asked for often of late wins against what is there."""
        self._count(page, found=False)

    def bring_back(self, page: int) -> None:
        self.main[page] = self.aside.pop(page)


POLICIES: dict[str, type[Lru] | type[S3Fifo] | type[TinyLfu]] = {"lru": Lru, "s3fifo": S3Fifo, "tinylfu": TinyLfu}


def hits(policy: str, pages: Sequence[int], frames: int) -> int:
    """How many references find their page in a cache of so many frames, empty at first. ValueError: frames < 1."""
    if frames < 1:
        raise ValueError(f"a cache needs frames, and {frames} were given")
    queue, held, found = POLICIES[policy](frames), set[int](), 0
    for page in pages:
        if page in held:
            queue.hit(page)
            found += 1
            continue
        if len(held) == frames:
            victim = queue.victim()
            assert victim is not None
            queue.remove(victim, evicted=True)
            held.remove(victim)
        queue.insert(page)
        held.add(page)
    return found


def most_hits(pages: Sequence[int], frames: int) -> int:
    """The same for Belady's optimum: the page whose next reference is farthest leaves, be it the one that comes."""
    if frames < 1:
        raise ValueError(f"a cache needs frames, and {frames} were given")
    last: dict[int, int] = {}
    following = [0] * len(pages)
    for at in reversed(range(len(pages))):
        following[at] = last.get(pages[at], len(pages))
        last[pages[at]] = at
    held: dict[int, int] = {}
    found = 0
    for page, next_use in zip(pages, following, strict=True):
        found += page in held
        held[page] = next_use
        if len(held) > frames:
            del held[max(held, key=lambda p: held[p])]
    return found


class Once:
    """The last n pages that have left memory after one touch, and whether such pages come back.

    After each quarter of n pages: they pay if two in five came back.
    """

    PERIODS, PAYS = 4, (2, 5)

    def __init__(self, n: int) -> None:
        self.n = n
        self.ring = [-1] * n
        self.places: dict[int, int] = {}
        self.next = 0
        self.left = self.back = 0
        self.pays = False

    def take(self, page: int) -> bool:
        """A page comes to memory. Whether it was remembered; it is not, from now on."""
        if page not in self.places:
            return False
        self.ring[self.places.pop(page)] = -1
        self.back += 1
        return True

    def add(self, page: int) -> None:
        if self.n == 0:
            return
        self.places.pop(self.ring[self.next], None)
        self.ring[self.next], self.places[page] = page, self.next
        self.next = (self.next + 1) % self.n
        self.left += 1
        if self.left * self.PERIODS >= self.n:
            self.pays = self.back * self.PAYS[1] >= self.left * self.PAYS[0]
            self.left = self.back = 0


# ---- the files -----------------------------------------------------------------------------------


class DeviceError(Exception):
    """A file operation has failed."""


class Slot(NamedTuple):
    """What a slot of the SSD holds, of which store."""

    id: int
    generation: int
    page: int
    version: int
    dirty: bool
    contents: bytes


class Superblock(NamedTuple):
    """The SSD's own record. block: the unit in which it is read and written. generation: of the slots that count.
    epoch: how often something was taken off the SSD."""

    pages: int
    slots: int
    block: int
    id: int
    mount: int
    generation: int
    epoch: int


class Trailer(NamedTuple):
    """What the store says of itself, behind its last page. turn: it grows. epoch: the SSD's, at the last write-back.
    blocks: whose writing may not have become durable, though reads give it."""

    pages: int
    id: int
    turn: int
    epoch: int
    blocks: tuple[int, ...]


TRAILERS = 3
"""Pages of which each may have a trailer. One that was synced stays until a newer one was."""


class Control(NamedTuple):
    """The control file's record."""

    pages: int
    id: int
    mount: int


class Drawn(NamedTuple):
    """Random numbers: for a store without an id, for the mount, never to be written to an SSD, for new slots."""

    id: int
    mount: int
    spare: int
    generation: int


class Files(Protocol):
    """The durable store, the SSD, and the control file, which is durable. Each operation may raise DeviceError."""

    def random(self) -> Drawn: ...
    def read_store(self, page: int, count: int) -> list[bytes]: ...
    def write_store(self, page: int, contents: Sequence[bytes]) -> None: ...
    def read_trailers(self, pages: int) -> list[Trailer | None]:
        """Those of a store of so many pages. None: zeros. Other bytes that are no trailer: one of no pages."""

    def write_trailers(self, pages: int, first: int, written: Sequence[Trailer | None]) -> None: ...
    def sync_store(self) -> None: ...
    def read_slot(self, slot: int) -> Slot | None:
        """None: it was made invalid, or never written. DeviceError also if its checksum is wrong: it is torn."""

    def write_slot(self, slot: int, written: Slot | None) -> None:
        """None makes the slot invalid."""

    def sync_ssd(self) -> None: ...
    def read_superblock(self) -> Superblock | None:
        """None: there is none, or its checksum is wrong."""

    def write_superblock(self, written: Superblock) -> None: ...
    def read_control(self) -> Control | None:
        """None: zeros. DeviceError also if its checksum is wrong."""

    def write_control(self, written: Control) -> None: ...
    def sync_control(self) -> None: ...


# ---- the cache -----------------------------------------------------------------------------------


class ReadError(Exception):
    """The durable store could not be read."""


class LostError(Exception):
    """The only copy of the page was on the SSD, which cannot be read."""


class WriteBackError(Exception):
    """A write-back has failed: what it was to write is still dirty."""


class ControlError(Exception):
    """The control file could not be read or written, or is of another size."""


class StoreError(Exception):
    """The store is not the control file's."""


class RandomError(Exception):
    """There are no random numbers."""


class Failure(IntEnum):
    """Why a write-back has left a page dirty: it could not be written or synced; it could not be read on the SSD."""

    STUCK, LOST = 1, 2


class Found(IntEnum):
    """What a mount found in the SSD's place. Only OURS is used again, EMPTY, FOREIGN and OLD are begun anew."""

    NONE, EMPTY, FOREIGN, OLD, OURS, FAILED = range(6)


TWICE = 2
"""Touches that make a page worth a write to the SSD."""
LOOKS = 8
"""Doomed pages of which one leaves."""


@dataclass
class Frame:
    """A page in memory. dirty: newer than what the SSD and the store have. touches: since it came, TWICE at most."""

    contents: bytes
    version: int
    dirty: bool
    touches: int

    def touch(self) -> None:
        self.touches = min(self.touches + 1, TWICE)

    def is_once(self) -> bool:
        """A clean page that was asked for once."""
        return self.touches < TWICE and not self.dirty


@dataclass
class Making:
    """A call that makes room. may_use_ssd: it has taken what it was given. cleans: it is a cleaner's."""

    may_use_ssd: bool = True
    cleans: bool = False


@dataclass
class Held:
    """A page on the SSD. dirty: newer than what the store has. lost: its last write-back could not read it."""

    slot: int
    version: int
    dirty: bool
    lost: bool = False


class Gathered(NamedTuple):
    """A block that is written back: the dirty pages to be written; whether it has others; what is at hand."""

    block: int
    asked: list[int]
    leaves_out: bool
    found: dict[int, bytes]
    """Of those, and of the clean ones between that a tier has."""

    @property
    def dirty(self) -> dict[int, bytes]:
        return {page: self.found[page] for page in self.asked if page in self.found}


class TierCache:
    """pages of the store, frames in memory, slots on the SSD (0: none); a write-back gathers up to batch blocks.
    ssd_block: the unit of the SSD, in bytes; where slots stand there, the files know. write_through: who calls write
    has written the page to the store before.

    RandomError, ControlError, StoreError. ReadError: the store's record. WriteBackError: the store could not be synced.
    """

    def __init__(
        self,
        files: Files,
        *,
        pages: int,
        frames: int,
        slots: int,
        batch: int,
        policy: str = "tinylfu",
        ssd_block: int = SECTOR,
        write_through: bool = False,
    ) -> None:
        self.write_through = write_through
        self.files, self.pages, self.slots, self.batch = files, pages, slots, batch
        self.frames, self.ssd_block = frames, ssd_block
        self.memory: dict[int, Frame] = {}
        self.ssd: dict[int, Held] = {}
        self.memory_policy, self.ssd_policy = POLICIES[policy](frames), POLICIES[policy](slots)
        self.once = Once(slots)
        self.free_slots = list(range(slots))
        self.stale: set[int] = set()
        """Free slots that may still be valid on the SSD."""
        self.ssd_owes = False
        """Some were, and no sync has succeeded since."""
        self.unsure: list[int] = []
        """Blocks that were written, and then a sync failed."""
        self.ssd_in_use, self.ssd_unsynced, self.retiring = slots > 0, False, False
        self.ssd_found, self.ssd_taken_over = Found.NONE, 0
        self.number = self.spare = self.generation = self.turn = self.epoch = 0
        self.synced_place = self.last_place = 0
        """Of the trailers."""
        self.kept = 0
        """Frames that a cleaner keeps free."""
        self.version = 0
        self.expected: int | None = None
        """The page whose reading continues a sequential scan."""
        self.owes_error = False
        """A write-back has failed since the last fsync."""
        self._mount(slots)

    # -- reads and writes

    def read(self, page: int) -> bytes:
        """The newest contents. ReadError, LostError."""
        if page not in self.memory:
            self._make_room(1 if page in self.ssd else len(self._ahead(page)), insists=False)
        if page in self.memory:
            self._touch(page)
            return self.memory[page].contents
        held = self.ssd.get(page)
        if held is None:
            return self._read_store(page)
        contents = self._read_ssd(page)
        if contents is not None:
            self.ssd_policy.hit(page)
            self._keep(page, held.version, contents, TWICE)
            return contents
        if held.dirty:
            raise LostError
        self._forget(page)
        return self._read_store(page)

    def write(self, page: int, contents: bytes) -> None:
        """WriteBackError: there is no room, and the page keeps its contents."""
        if page in self.memory:
            self._touch(page)
        else:
            if not self._make_room(1, insists=True):
                raise WriteBackError
            self._come(page, Frame(contents, 0, dirty=False, touches=TWICE if page in self.ssd else 1))
        self.version += 1
        frame = self.memory[page]
        frame.contents, frame.version, frame.dirty = contents, self.version, not self.write_through
        if page in self.ssd:
            self._forget(page)

    def write_back(self, block: int) -> None:
        """Make what is dirty in a block durable. WriteBackError: it stays dirty, and the next fsync fails too."""
        if block in self._dirty_blocks() and not self._write_back([block]):
            raise WriteBackError

    def fsync(self) -> None:
        """Make all durable. WriteBackError: that failed, or a write-back has since the last fsync."""
        blocks = self._dirty_blocks()
        trusted = self.ssd_in_use and not self.write_through
        if not blocks and (self.retiring or (trusted and self.ssd_owes)):
            self._write_back([])
        for at in range(0, len(blocks), self.batch):
            self._write_back(blocks[at : at + self.batch])
        failed, self.owes_error = self.owes_error, False
        if failed:
            raise WriteBackError
        self.unsure.clear()

    def clean(self, frames: int, steps: int) -> int:
        """Room before it is needed: so many frames are to be free, half of them at most. What was chosen to leave does.

        How many pages are still to leave. WriteBackError: no frame is free, and no page can leave. What was set aside
        before stays so.
        """
        if frames > self.frames // 2:
            raise ValueError(f"{frames} free frames are more than half of {self.frames}")
        if frames != self.kept:
            self.kept, self.memory_policy.holds = frames, self.frames - frames
            self._doom(0)
        making, step = Making(cleans=True), 0
        while step < steps and self._has_doomed():
            may_use_ssd = making.may_use_ssd
            self._step_to_room(making)
            # That the SSD takes nothing is no step.
            step += making.may_use_ssd == may_use_ssd
        if frames > 0 and not self._has_doomed() and len(self.memory) == self.frames:
            raise WriteBackError
        return len(self.memory_policy.doomed)

    def failed(self) -> dict[int, Failure]:
        """The pages that are dirty since their last write-back failed, in order."""
        lost = {page for page in self.ssd_policy.aside if self.ssd[page].lost}
        return {page: Failure.LOST if page in lost else Failure.STUCK for page in sorted(self._set_aside())}

    def _has_doomed(self) -> bool:
        """If no page is doomed, and no frame is free, some are now: those that were could not be written back."""
        if not self.memory_policy.doomed and len(self.memory) == self.frames:
            self._doom(0)
        return bool(self.memory_policy.doomed)

    # -- memory

    def _touch(self, page: int) -> None:
        """A page in memory is used."""
        if page in self.memory_policy.doomed:
            self.memory_policy.rescue(page)
        else:
            self.memory_policy.hit(page)
        self.memory[page].touch()

    def _doom(self, wanted: int) -> None:
        """While a cleaner keeps room: victims are chosen when pages come, as without it. They leave in its calls."""
        staying = len(self.memory) - len(self.memory_policy.doomed)
        while self.kept and staying + wanted > self.frames - self.kept:
            page = self.memory_policy.victim()
            if page is None:
                break
            self.memory_policy.doom(page)
            staying -= 1

    def _make_room(self, wanted: int, *, insists: bool) -> bool:
        """If no victim is left, what was set aside before is tried once more if the caller insists."""
        making = Making()
        self._doom(wanted)
        insists &= bool(self.memory_policy.aside or self.ssd_policy.aside)
        while len(self.memory) + wanted > self.frames:
            if self._step_to_room(making):
                continue
            if not insists:
                return False
            insists, making.may_use_ssd = False, True
            for policy in (self.memory_policy, self.ssd_policy):
                for number in list(policy.aside):
                    policy.bring_back(number)
        return True

    def _next_to_leave(self, making: Making) -> int | None:
        """The next victim. If pages are doomed, of the first LOOKS the first one that needs a write for a cleaner, and
        the first one that needs none for others, who wait; else the first of all."""
        doomed = list(islice(self.memory_policy.doomed, LOOKS))
        for page in doomed:
            if (self.memory[page].dirty or self._goes_to_ssd(page, making)) == making.cleans:
                return page
        return doomed[0] if doomed else self.memory_policy.victim()

    def _goes_to_ssd(self, page: int, making: Making) -> bool:
        below = self.ssd_in_use and page not in self.ssd
        return making.may_use_ssd and below and self._enters_ssd(self.memory[page])

    def _step_to_room(self, making: Making) -> bool:
        """The victim goes to the SSD if it is to enter, unless that has it. If it does not, a dirty one is written back
        before it goes, in a step of its own.

        A page that could not be written back is set aside, and the next victim is asked. False: there is none.
        """
        page = self._next_to_leave(making)
        if page is None:
            return False
        frame = self.memory[page]
        below = self.ssd_in_use and page not in self.ssd
        if self._goes_to_ssd(page, making):
            if not self.free_slots and not self._free_a_slot(making):
                return True
            making.may_use_ssd = self._write_ssd(page, frame)
            if not making.may_use_ssd and page in self.memory_policy.doomed:
                self.memory_policy.doomed.move_to_end(page)
                return True
            self.memory_policy.remove(page, evicted=True)
            if making.may_use_ssd:
                self._leave_memory(page)
            else:
                self.memory_policy.insert(page)
            return True
        if frame.dirty:
            self._write_back_from(page // BLOCK_PAGES)
            return True
        if below:
            self.ssd_policy.pass_by(page)
            self._leave_memory(page)
        else:
            del self.memory[page]
        self.memory_policy.remove(page, evicted=True)
        return True

    def _free_a_slot(self, making: Making) -> bool:
        """A clean page leaves the SSD, or a dirty one is written back. Whether a slot is free now."""
        victim = self.ssd_policy.victim()
        making.may_use_ssd = victim is not None
        if victim is None:
            return False
        if self.ssd[victim].dirty:
            self._write_back_from(victim // BLOCK_PAGES)
            return False
        self._leave_ssd(victim, evicted=True)
        return True

    def _enters_ssd(self, frame: Frame) -> bool:
        """A clean page that was asked for twice, in memory or again after it had left; one that was asked for once
        while a slot is free, which serves nobody, and while two in five of such pages come back. A dirty one always."""
        return not frame.is_once() or bool(self.free_slots) or self.once.pays

    def _leave_memory(self, page: int) -> None:
        """For the SSD, or past it."""
        if self.memory.pop(page).is_once():
            self.once.add(page)

    def _come(self, page: int, frame: Frame) -> None:
        """To memory."""
        if self.once.take(page):
            frame.touch()
        self.memory[page] = frame
        self.memory_policy.insert(page)

    def _keep(self, page: int, version: int, contents: bytes, touches: int) -> None:
        if len(self.memory) < self.frames:
            self._come(page, Frame(contents, version, dirty=False, touches=touches))

    def _ahead(self, page: int) -> range:
        """What one request reads: the page, or in a sequential scan what no tier has up to the end of the block."""
        end = page + 1
        if page == self.expected:
            last = page + min(BLOCK_PAGES - page % BLOCK_PAGES, self.frames // 4)
            while end < last and end not in self.memory and end not in self.ssd:
                end += 1
        return range(page, end)

    def _read_store(self, page: int) -> bytes:
        ahead = self._ahead(page)
        ahead = ahead[: max(1, self.frames - len(self.memory))]
        try:
            contents = self.files.read_store(page, len(ahead))
        except DeviceError as error:
            raise ReadError from error
        self.expected = ahead.stop
        for number, found in zip(ahead, contents, strict=True):
            self._keep(number, 0, found, touches=number == page)
        return contents[0]

    # -- the SSD

    def _read_ssd(self, page: int) -> bytes | None:
        """None: it cannot be read, or is not what was written."""
        held = self.ssd[page]
        try:
            found = self.files.read_slot(held.slot)
        except DeviceError:
            return None
        right = (self.id, self.generation, page, held.version)
        return found.contents if found and found[:4] == right else None

    def _write_ssd(self, page: int, frame: Frame) -> bool:
        """The slot has the page once the write has ended. If that fails, it may have anything."""
        slot = self.free_slots.pop()
        try:
            self.files.write_slot(
                slot, Slot(self.id, self.generation, page, frame.version, frame.dirty, frame.contents)
            )
        except DeviceError:
            self._is_stale(slot)
            self.free_slots.append(slot)
            return False
        self.ssd_unsynced = True
        self.stale.discard(slot)
        self.ssd[page] = Held(slot, frame.version, frame.dirty)
        self.ssd_policy.insert(page)
        return True

    def _leave_ssd(self, page: int, *, evicted: bool) -> None:
        self.ssd_policy.remove(page, evicted=evicted)
        self.free_slots.append(self.ssd.pop(page).slot)

    def _forget(self, page: int) -> None:
        """The slot has old contents, or cannot be read; on the SSD it may be valid."""
        self._is_stale(self.ssd[page].slot)
        self._leave_ssd(page, evicted=False)

    def _is_stale(self, slot: int) -> None:
        self.stale.add(slot)
        self.ssd_owes = True

    def _scrub(self) -> None:
        """Take old contents off the SSD: before the store gets newer ones, and no restart may find them."""
        self.epoch += 1
        for slot in sorted(self.stale):
            self.files.write_slot(slot, None)
            self.stale.remove(slot)
        self._write_superblock()
        self.files.sync_ssd()
        self.ssd_unsynced = self.ssd_owes = False

    def _retire(self) -> bool:
        """No mount will trust the SSD: the control file gets a number that no SSD has."""
        if self.ssd_in_use:
            self.ssd_in_use, self.retiring = False, True
            for page in [page for page, held in self.ssd.items() if not held.dirty]:
                self._forget(page)
            self.number = self.spare
        if self.retiring:
            try:
                self._write_control()
            except DeviceError:
                return False
            self.retiring = False
        return True

    # -- write-back

    def _dirty_blocks(self) -> list[int]:
        dirty = [page for tier in (self.memory, self.ssd) for page, copy in tier.items() if copy.dirty]
        return sorted({page // BLOCK_PAGES for page in dirty})

    def _set_aside(self) -> set[int]:
        return {*self.memory_policy.aside, *self.ssd_policy.aside}

    def _write_back_from(self, block: int) -> None:
        """Pages of this block that have failed before are left out, and behind it blocks that have such pages."""
        aside = self._set_aside()
        failed = {page // BLOCK_PAGES for page in aside}
        blocks = [other for other in self._dirty_blocks() if other == block or (other > block and other not in failed)]
        self._write_back(blocks[: self.batch], aside)

    def _write_back(self, blocks: Sequence[int], without: Collection[int] = ()) -> bool:
        """Gather, take old contents off the SSD, write the store, sync it, call the pages clean: in this order.

        What was not written is set aside.
        """
        gathered = [self._gather(block, without) for block in blocks]
        done, written = False, set[int]()
        if self._take_old_contents_off():
            done, written = self._write_store(gathered)
        for block, asked, leaves_out, found in gathered:
            for page in asked:
                self._settle(page, written=page in written, lost=page not in found)
            whole = written >= set(asked)
            done &= whole
            if whole and not leaves_out and block in self.unsure:
                self.unsure.remove(block)
        self.owes_error |= not done
        return done

    def _settle(self, page: int, *, written: bool, lost: bool) -> None:
        for tier, policy in ((self.memory, self.memory_policy), (self.ssd, self.ssd_policy)):
            if page not in tier:
                continue
            if written:
                tier[page].dirty = False
                if page in policy.aside:
                    policy.bring_back(page)
            elif tier[page].dirty and page not in policy.aside:
                policy.set_aside(page)
        if page in self.ssd:
            self.ssd[page].lost = lost

    def _take_old_contents_off(self) -> bool:
        if self.ssd_in_use and (self.ssd_owes or self.ssd_unsynced):
            try:
                self._scrub()
            except DeviceError:
                return self._retire()
        return not self.retiring or self._retire()

    def _write_store(self, gathered: Sequence[Gathered]) -> tuple[bool, set[int]]:
        """Whether the store could be synced, and which dirty pages it has then.

        Before, the trailer lists them, beside those of which a sync has failed: reads may give what no later sync makes
        durable, and if the process is killed, the next mount writes these once more.
        """
        listed = self.unsure + [of.block for of in gathered if of.block not in self.unsure]
        try:
            self._write_trailer(listed)
        except DeviceError:
            return False, set()
        written = {page for of in gathered for page in self._write_block(of)}
        try:
            self.files.sync_store()
        except DeviceError:
            self.unsure = listed
            return False, set()
        self.synced_place = self.last_place
        return True, written

    def _write_trailer(self, blocks: Sequence[int]) -> None:
        """Not over the last one that was synced, nor over the one after that."""
        self.turn += 1
        synced, last = self.synced_place, self.last_place
        place = (synced + 1) % TRAILERS if last == synced else TRAILERS - synced - last
        trailer = Trailer(self.pages, self.id, self.turn, self.epoch, tuple(blocks))
        self.files.write_trailers(self.pages, place, [trailer])
        self.last_place = place

    def _dirty_pages(self, block: int) -> list[int]:
        pages = range(block * BLOCK_PAGES, (block + 1) * BLOCK_PAGES)
        return [p for p in pages if any(p in tier and tier[p].dirty for tier in (self.memory, self.ssd))]

    def _gather(self, block: int, without: Collection[int]) -> Gathered:
        """Without these pages."""
        dirty = self._dirty_pages(block)
        asked = [page for page in dirty if page not in without]
        found: dict[int, bytes] = {}
        for page in sorted({*range(asked[0], asked[-1] + 1)}.difference(without)):
            contents = self.memory[page].contents if page in self.memory else None
            if contents is None and page in self.ssd:
                contents = self._read_ssd(page)
            if contents is not None:
                found[page] = contents
        return Gathered(block, asked, len(asked) < len(dirty), found)

    def _write_block(self, of: Gathered) -> set[int]:
        """A request for each run of pages; if that were more than two, one reads what lies between, one writes all. But
        what lies between may be a page that is left out. The dirty pages that the store has then: if it does not take a
        run, each of these is a request."""
        dirty, written = of.dirty, set[int]()
        runs = _runs(of.found, dirty)
        if len(runs) > 2 and not of.leaves_out:
            first, last = min(dirty), max(dirty)
            with suppress(DeviceError):
                stored = self.files.read_store(first, last - first + 1)
                runs = [(first, [of.found.get(first + i, old) for i, old in enumerate(stored)])]
        for first, contents in runs:
            pages = [page for page in range(first, first + len(contents)) if page in dirty]
            if self._stores(first, contents):
                written.update(pages)
            elif len(contents) > 1:
                written.update(page for page in pages if self._stores(page, [dirty[page]]))
        return written

    def _stores(self, page: int, contents: Sequence[bytes]) -> bool:
        try:
            self.files.write_store(page, contents)
        except DeviceError:
            return False
        return True

    # -- mounts

    def _write_control(self) -> None:
        self.files.write_control(Control(self.pages, self.id, self.number))
        self.files.sync_control()

    def _mount(self, slots: int) -> None:
        """Know the store, take over the slots of its SSD, and begin a new mount. An SSD that fails is left aside: the
        control file gets a number that the SSD lacks."""
        try:
            drawn = self.files.random()
        except DeviceError as error:
            raise RandomError from error
        try:
            last = self.files.read_control()
        except DeviceError as error:
            raise ControlError from error
        if last is not None and last.pages != self.pages:
            raise ControlError
        self._know_store(last, drawn)
        self.number, self.spare, self.generation = drawn.mount, drawn.spare, drawn.generation
        if slots > 0:
            self.ssd_found = self._mount_ssd(last, slots)
        if self.ssd_found == Found.FAILED:
            self.ssd_in_use = False
            for page in list(self.ssd):
                self._forget(page)
        self.ssd_taken_over = len(self.ssd)
        if not self.ssd_in_use or self.write_through:
            self.number = drawn.spare
        try:
            self._write_control()
        except DeviceError as error:
            raise ControlError from error

    def _know_store(self, last: Control | None, drawn: Drawn) -> None:
        """A new control file takes the store as it is.

        What a process that was killed has written becomes what it seems to be: the listed blocks and the trailers are
        written again, and the store is synced.
        """
        try:
            trailers = self.files.read_trailers(self.pages)
        except DeviceError as error:
            raise ReadError from error
        if last is None and trailers == [None] * TRAILERS:
            trailers[0] = Trailer(self.pages, drawn.id, 0, 0, ())
        sound = [trailer for trailer in trailers if trailer is not None and trailer.pages == self.pages]
        if not sound:
            raise StoreError
        newest = max(sound, key=lambda trailer: trailer.turn)
        if last is not None and newest.id != last.id:
            raise StoreError
        self.id, self.turn, self.epoch = newest.id, newest.turn, newest.epoch
        self.synced_place = self.last_place = trailers.index(newest)
        try:
            for block in newest.blocks:
                contents = self.files.read_store(block * BLOCK_PAGES, BLOCK_PAGES)
                self.files.write_store(block * BLOCK_PAGES, contents)
            self.files.write_trailers(self.pages, 0, trailers)
            self.files.sync_store()
        except DeviceError as error:
            raise WriteBackError from error

    def _mount_ssd(self, last: Control | None, slots: int) -> Found:
        """In doubt is an SSD with an epoch that the store does not know: a crash came between, or a sync has failed.

        Then reads may give what never becomes durable.
        """
        try:
            superblock = self.files.read_superblock()
            if superblock is None:
                found = Found.EMPTY
            elif superblock[:4] != (self.pages, slots, self.ssd_block, self.id):
                found = Found.FOREIGN
            elif last is None or superblock.mount != last.mount or superblock.epoch < self.epoch or self.write_through:
                found = Found.OLD
            else:
                found = Found.OURS
                in_doubt = superblock.epoch > self.epoch
                self.generation, self.epoch = superblock.generation, superblock.epoch
                self.free_slots.clear()
                for slot in range(slots):
                    self._take_over(slot, in_doubt=in_doubt)
            self._write_superblock()
            self.files.sync_ssd()
        except DeviceError:
            return Found.FAILED
        self.ssd_unsynced = False
        return found

    def _write_superblock(self) -> None:
        self.files.write_superblock(
            Superblock(self.pages, self.slots, self.ssd_block, self.id, self.number, self.generation, self.epoch)
        )

    def _take_over(self, slot: int, *, in_doubt: bool) -> None:
        """Of two slots of a page the newer one counts. What cannot be read now may be valid later: it is stale.

        In doubt, a slot that is valid is written again, and any other is stale.
        """
        try:
            found = self.files.read_slot(slot)
            readable = True
        except DeviceError:
            found, readable = None, False
        if found is None or found[:2] != (self.id, self.generation):
            self.free_slots.append(slot)
            if in_doubt or not readable:
                self._is_stale(slot)
            return
        other = self.ssd.get(found.page)
        if other is not None and other.version >= found.version:
            self._is_stale(slot)
            self.free_slots.append(slot)
        else:
            if other is not None:
                self._forget(found.page)
            self.ssd[found.page] = Held(slot, found.version, found.dirty)
            self.ssd_policy.insert(found.page)
            self.version = max(self.version, found.version)
        if in_doubt:
            self.files.write_slot(slot, found)


def _runs(found: dict[int, bytes], dirty: dict[int, bytes]) -> list[tuple[int, list[bytes]]]:
    """Runs of neighbouring pages of a block, each from a dirty page to a dirty one, with all that lies between."""
    runs: list[tuple[int, list[bytes]]] = []
    for page in sorted(dirty):
        if runs:
            first, contents = runs[-1]
            between = range(first + len(contents), page)
            if all(number in found for number in between):
                contents += [found[number] for number in (*between, page)]
                continue
        runs.append((page, [dirty[page]]))
    return runs

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
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    """Which page should leave. A victim stays until it is removed."""

    def insert(self, page: int) -> None: ...
    def hit(self, page: int) -> None: ...
    def victim(self) -> int: ...
    def remove(self, page: int, *, evicted: bool) -> None:
        """evicted: to make room, and not because its contents are old."""


class Lru:
    """Least recently used."""

    def __init__(self, n: int) -> None:
        self.pages: OrderedDict[int, None] = OrderedDict()

    def insert(self, page: int) -> None:
        self.pages[page] = None

    def hit(self, page: int) -> None:
        self.pages.move_to_end(page)

    def victim(self) -> int:
        return next(iter(self.pages))

    def remove(self, page: int, *, evicted: bool) -> None:
        del self.pages[page]


class S3Fifo:
    """S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023), algorithm 1: three queues, the oldest page first."""

    MOST_HITS, TO_MAIN, SMALL_SHARE = 3, 2, 10

    def __init__(self, n: int) -> None:
        self.n = n
        self.small: OrderedDict[int, int] = OrderedDict()
        self.main: OrderedDict[int, int] = OrderedDict()
        """page -> hits"""
        self.ghosts: OrderedDict[int, None] = OrderedDict()
        """Pages that left the small queue, n at most."""

    def insert(self, page: int) -> None:
        if page in self.ghosts:
            del self.ghosts[page]
            self.main[page] = 0
        else:
            self.small[page] = 0

    def hit(self, page: int) -> None:
        queue = self.small if page in self.small else self.main
        queue[page] = min(queue[page] + 1, self.MOST_HITS)

    def victim(self) -> int:
        while len(self.small) >= max(1, self.n // self.SMALL_SHARE) or not self.main:
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
        if page in self.main:
            del self.main[page]
            return
        del self.small[page]
        if evicted:
            if len(self.ghosts) == self.n:
                self.ghosts.popitem(last=False)
            self.ghosts[page] = None


POLICIES: dict[str, type[Lru] | type[S3Fifo]] = {"lru": Lru, "s3fifo": S3Fifo}


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


# ---- the files -----------------------------------------------------------------------------------


class DeviceError(Exception):
    """A file operation has failed."""


class Slot(NamedTuple):
    """What a slot of the SSD holds. A torn slot is none: its checksum is wrong."""

    generation: int
    page: int
    version: int
    dirty: bool
    contents: bytes


class Superblock(NamedTuple):
    """The SSD's own record. generation: of the slots that count."""

    mount: int
    generation: int


class Files(Protocol):
    """The durable store, the SSD, and the control file, which is durable. Each operation may raise DeviceError."""

    def read_store(self, page: int, count: int) -> list[bytes]: ...
    def write_store(self, page: int, contents: Sequence[bytes]) -> None: ...
    def sync_store(self) -> None: ...
    def read_slot(self, slot: int) -> Slot | None: ...
    def write_slot(self, slot: int, written: Slot | None) -> None:
        """None makes the slot invalid."""

    def sync_ssd(self) -> None: ...
    def read_superblock(self) -> Superblock | None: ...
    def write_superblock(self, written: Superblock) -> None: ...
    def read_control(self) -> int:
        """The number of the last mount; 0: there was none."""

    def write_control(self, mount: int) -> None: ...
    def sync_control(self) -> None: ...


# ---- the cache -----------------------------------------------------------------------------------


class ReadError(Exception):
    """The durable store could not be read."""


class LostError(Exception):
    """The only copy of the page was on the SSD, which cannot be read."""


class WriteBackError(Exception):
    """A write-back has failed: what it was to write is still dirty."""


class ControlError(Exception):
    """The control file could not be read or written."""


@dataclass
class Frame:
    """A page in memory. dirty: newer than what the SSD and the store have."""

    contents: bytes
    version: int
    dirty: bool


@dataclass
class Held:
    """A page on the SSD. dirty: newer than what the store has."""

    slot: int
    version: int
    dirty: bool


class TierCache:
    """pages of the store, frames in memory, slots on the SSD (0: none); a write-back gathers up to batch blocks.

    WriteBackError: the store could not be synced. ControlError.
    """

    def __init__(
        self, files: Files, *, pages: int, frames: int, slots: int, batch: int, policy: str = "s3fifo"
    ) -> None:
        self.files, self.pages, self.batch = files, pages, batch
        self.frames = frames
        self.memory: dict[int, Frame] = {}
        self.ssd: dict[int, Held] = {}
        self.memory_policy, self.ssd_policy = POLICIES[policy](frames), POLICIES[policy](slots)
        self.free_slots = list(range(slots))
        self.stale: set[int] = set()
        """Free slots that may still be valid on the SSD."""
        self.ssd_in_use, self.ssd_unsynced, self.retiring = slots > 0, False, False
        self.version = 0
        self.expected: int | None = None
        """The page whose reading continues a sequential scan."""
        self.failed = False
        """A write-back has failed since the last fsync."""
        try:
            files.sync_store()
        except DeviceError as error:
            raise WriteBackError from error
        self._mount(slots)

    # -- reads and writes

    def read(self, page: int) -> bytes:
        """The newest contents. ReadError, LostError."""
        if page not in self.memory:
            self._make_room(1 if page in self.ssd else len(self._ahead(page)))
        if page in self.memory:
            self.memory_policy.hit(page)
            return self.memory[page].contents
        held = self.ssd.get(page)
        if held is None:
            return self._read_store(page)
        contents = self._read_ssd(page)
        if contents is not None:
            self.ssd_policy.hit(page)
            self._keep(page, held.version, contents)
            return contents
        if held.dirty:
            raise LostError
        self._forget(page)
        return self._read_store(page)

    def write(self, page: int, contents: bytes) -> None:
        """WriteBackError: there is no room, and the page keeps its contents."""
        if page in self.memory:
            self.memory_policy.hit(page)
        else:
            if not self._make_room(1):
                raise WriteBackError
            self.memory_policy.insert(page)
        self.version += 1
        self.memory[page] = Frame(contents, self.version, dirty=True)
        if page in self.ssd:
            self._forget(page)

    def write_back(self, block: int) -> None:
        """Make what is dirty in a block durable. WriteBackError: it stays dirty, and the next fsync fails too."""
        if block in self._dirty_blocks() and not self._write_back([block]):
            raise WriteBackError

    def fsync(self) -> None:
        """Make all durable. WriteBackError: that failed, or a write-back has since the last fsync."""
        blocks = self._dirty_blocks()
        for at in range(0, len(blocks), self.batch):
            self._write_back(blocks[at : at + self.batch])
        failed, self.failed = self.failed, False
        if failed:
            raise WriteBackError

    # -- memory

    def _make_room(self, wanted: int) -> bool:
        """The victim goes to the SSD, unless that has it; if it cannot, a dirty one is written back before it goes."""
        may_use_ssd = True
        while len(self.memory) + wanted > self.frames:
            page = self.memory_policy.victim()
            frame = self.memory[page]
            if may_use_ssd and self.ssd_in_use and page not in self.ssd:
                if not self.free_slots:
                    victim = self.ssd_policy.victim()
                    if self.ssd[victim].dirty:
                        may_use_ssd = self._write_back_from(victim // BLOCK_PAGES)
                        continue
                    self._leave_ssd(victim, evicted=True)
                may_use_ssd = self._write_ssd(page, frame)
                if not may_use_ssd:
                    continue
            elif frame.dirty:
                if not self._write_back_from(page // BLOCK_PAGES):
                    return False
                continue
            del self.memory[page]
            self.memory_policy.remove(page, evicted=True)
        return True

    def _keep(self, page: int, version: int, contents: bytes) -> None:
        if len(self.memory) < self.frames:
            self.memory[page] = Frame(contents, version, dirty=False)
            self.memory_policy.insert(page)

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
            self._keep(number, 0, found)
        return contents[0]

    # -- the SSD

    def _read_ssd(self, page: int) -> bytes | None:
        """None: it cannot be read, or is not what was written."""
        held = self.ssd[page]
        try:
            found = self.files.read_slot(held.slot)
        except DeviceError:
            return None
        right = (self.generation, page, held.version)
        return found.contents if found and (found.generation, found.page, found.version) == right else None

    def _write_ssd(self, page: int, frame: Frame) -> bool:
        slot = self.free_slots.pop()
        self.ssd_unsynced = True
        self.stale.discard(slot)
        self.ssd[page] = Held(slot, frame.version, frame.dirty)
        self.ssd_policy.insert(page)
        try:
            self.files.write_slot(slot, Slot(self.generation, page, frame.version, frame.dirty, frame.contents))
        except DeviceError:
            self._forget(page)
            return False
        return True

    def _leave_ssd(self, page: int, *, evicted: bool) -> None:
        self.ssd_policy.remove(page, evicted=evicted)
        self.free_slots.append(self.ssd.pop(page).slot)

    def _forget(self, page: int) -> None:
        """The slot has old contents, or cannot be read; on the SSD it may be valid."""
        self.stale.add(self.ssd[page].slot)
        self._leave_ssd(page, evicted=False)

    def _scrub(self) -> None:
        """Take old contents off the SSD: before the store gets newer ones, and no restart may find them."""
        for slot in sorted(self.stale):
            self.ssd_unsynced = True
            self.files.write_slot(slot, None)
            self.stale.remove(slot)
        if self.ssd_unsynced:
            self.files.sync_ssd()
            self.ssd_unsynced = False

    def _retire(self) -> bool:
        """No restart will trust the SSD: the control file gets a number that the SSD lacks."""
        if self.ssd_in_use:
            self.ssd_in_use, self.retiring = False, True
            for page in [page for page, held in self.ssd.items() if not held.dirty]:
                self._forget(page)
            self.mount += 1
        if self.retiring:
            try:
                self._write_mount()
            except DeviceError:
                return False
            self.retiring = False
        return True

    # -- write-back

    def _dirty_blocks(self) -> list[int]:
        dirty = [page for tier in (self.memory, self.ssd) for page, copy in tier.items() if copy.dirty]
        return sorted({page // BLOCK_PAGES for page in dirty})

    def _write_back_from(self, block: int) -> bool:
        blocks = [dirty for dirty in self._dirty_blocks() if dirty >= block][: self.batch]
        return not blocks or self._write_back(blocks)

    def _write_back(self, blocks: Sequence[int]) -> bool:
        """Gather, take old contents off the SSD, write the store, sync it, call the pages clean: in this order."""
        gathered = [self._gather(block) for block in blocks]
        done = all(complete for _, _, complete in gathered)
        if self._take_old_contents_off():
            written = [self._write_block(contents, dirty) for contents, dirty, _ in gathered]
            done &= all(written)
            try:
                self.files.sync_store()
            except DeviceError:
                written, done = [False] * len(blocks), False
            for (_, dirty, _), wrote in zip(gathered, written, strict=True):
                for page in dirty if wrote else ():
                    for tier in (self.memory, self.ssd):
                        if page in tier:
                            tier[page].dirty = False
        else:
            done = False
        self.failed |= not done
        return done

    def _take_old_contents_off(self) -> bool:
        if self.ssd_in_use:
            try:
                self._scrub()
            except DeviceError:
                return self._retire()
        return not self.retiring or self._retire()

    def _gather(self, block: int) -> tuple[dict[int, bytes], dict[int, bytes], bool]:
        """The contents of a block's dirty pages and of the clean ones between them that a tier has; those of the dirty
        pages alone; and whether all of these could be read."""
        pages = range(block * BLOCK_PAGES, (block + 1) * BLOCK_PAGES)
        dirty = [p for p in pages if any(p in tier and tier[p].dirty for tier in (self.memory, self.ssd))]
        found: dict[int, bytes] = {}
        for page in range(dirty[0], dirty[-1] + 1):
            contents = self.memory[page].contents if page in self.memory else None
            if contents is None and page in self.ssd:
                contents = self._read_ssd(page)
            if contents is not None:
                found[page] = contents
        return found, {page: found[page] for page in dirty if page in found}, found.keys() >= set(dirty)

    def _write_block(self, found: dict[int, bytes], dirty: dict[int, bytes]) -> bool:
        """A request for each run of pages; if that were more than two, one reads what lies between, one writes all."""
        runs = _runs(found, dirty)
        try:
            if len(runs) > 2:
                first, last = min(dirty), max(dirty)
                try:
                    stored = self.files.read_store(first, last - first + 1)
                    runs = [(first, [found.get(first + i, old) for i, old in enumerate(stored)])]
                except DeviceError:
                    pass
            for page, contents in runs:
                self.files.write_store(page, contents)
        except DeviceError:
            return False
        return True

    # -- mounts

    def _write_mount(self) -> None:
        self.files.write_control(self.mount)
        self.files.sync_control()

    def _mount(self, slots: int) -> None:
        """Take over the slots of an SSD of the last mount, and begin a new one. An SSD that fails is left aside."""
        try:
            self.mount = self.files.read_control()
            if self.ssd_in_use:
                try:
                    self._mount_ssd(slots)
                except DeviceError:
                    self.ssd_in_use = False
                    for page in list(self.ssd):
                        self._forget(page)
            self.ssd_unsynced = False
            self.mount += 1
            self._write_mount()
        except DeviceError as error:
            raise ControlError from error

    def _mount_ssd(self, slots: int) -> None:
        superblock = self.files.read_superblock()
        self.generation = self.mount + 1
        if superblock is not None and superblock.mount == self.mount:
            self.generation = superblock.generation
            self.free_slots.clear()
            for slot in range(slots):
                self._take_over(slot)
        self.files.write_superblock(Superblock(self.mount + 1, self.generation))
        self.files.sync_ssd()

    def _take_over(self, slot: int) -> None:
        """Of two slots of a page the newer one counts. What cannot be read now may be valid later: it is stale."""
        try:
            found = self.files.read_slot(slot)
        except DeviceError:
            self.stale.add(slot)
            found = None
        if found is None or found.generation != self.generation:
            self.free_slots.append(slot)
            return
        other = self.ssd.get(found.page)
        if other is not None and other.version >= found.version:
            self.stale.add(slot)
            self.free_slots.append(slot)
            return
        if other is not None:
            self._forget(found.page)
        self.ssd[found.page] = Held(slot, found.version, found.dirty)
        self.ssd_policy.insert(found.page)
        self.version = max(self.version, found.version)


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

# SPDX-License-Identifier: PostgreSQL
"""Devices in memory that fail and crash on purpose: as bytes for the kernel, as records for the oracle.

Each operation has a number, from 0 on, and stands in a log; both devices number alike. What is not synced may be lost
by a crash. A sync that fails is the worst one: nothing of what it was to make durable ever becomes so, though reads
still give it (Linux drops such pages, as PostgreSQL learned in 2018).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from pgquern.tiercache import File

from ref.tiercache import PAGE_SIZE, SECTOR, ZEROS, DeviceError, Slot, Superblock

FIRST_SLOT, SLOT = 4096, SECTOR + PAGE_SIZE


class Operation(NamedTuple):
    """An entry of the log."""

    what: str
    file: File
    offset: int = 0
    size: int = 0


@dataclass
class Faults:
    """Which operations fail, by number; and the log."""

    log: list[Operation] = field(default_factory=list)
    fail: set[int] = field(default_factory=set)
    fail_unless_read: set[int] = field(default_factory=set)
    """The same, unless they are reads."""
    before: Callable[[], None] = lambda: None
    """Called before each operation."""

    def fails(self, operation: Operation) -> bool:
        self.before()
        self.log.append(operation)
        number = len(self.log) - 1
        if number in self.fail_unless_read and operation.what != "read":
            self.fail.add(number)
        return number in self.fail


# ---- bytes -----------------------------------------------------------------------------------------


@dataclass
class Volume:
    """A file: what reads give, what is durable, and what a sync would add."""

    now: bytearray
    durable: bytearray
    pending: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Operation, offset, bytes."""

    def write(self, number: int, contents: bytes, offset: int) -> None:
        self.now[offset : offset + len(contents)] = contents
        self.pending.append((number, offset, contents))

    def copy(self) -> "Volume":
        return Volume(bytearray(self.now), bytearray(self.durable), list(self.pending))

    def sync(self) -> None:
        for _, offset, contents in self.pending:
            self.durable[offset : offset + len(contents)] = contents
        self.pending.clear()

    def crashed(self, keep: Callable[[int, int], bool]) -> bytearray:
        """The durable bytes, and what the crash keeps: keep(operation, sector of it)."""
        left = bytearray(self.durable)
        for number, offset, contents in self.pending:
            for at in range(0, len(contents), SECTOR):
                if keep(number, at // SECTOR):
                    left[offset + at : offset + at + SECTOR] = contents[at : at + SECTOR]
        return left


class Disk(Faults):
    """Store, SSD and control file, as pgquern.tiercache.Files. A short transfer happens at the numbers in `short`."""

    def __init__(self, pages: int, slots: int) -> None:
        super().__init__()
        self.short: set[int] = set()
        sizes = {File.STORE: pages * PAGE_SIZE, File.SSD: FIRST_SLOT + slots * SLOT, File.CONTROL: SECTOR}
        self.volumes = {file: Volume(bytearray(size), bytearray(size)) for file, size in sizes.items()}

    def _length(self, operation: Operation) -> int:
        """How much is moved. OSError: the operation fails."""
        if self.fails(operation):
            raise OSError("on purpose")
        short = len(self.log) - 1 in self.short and operation.size > SECTOR
        return operation.size // SECTOR // 2 * SECTOR if short else operation.size

    def read(self, file: File, size: int, offset: int) -> bytes:
        length = self._length(Operation("read", file, offset, size))
        return bytes(self.volumes[file].now[offset : offset + length])

    def write(self, file: File, contents: bytes, offset: int) -> int:
        length = self._length(Operation("write", file, offset, len(contents)))
        self.volumes[file].write(len(self.log) - 1, contents[:length], offset)
        return length

    def sync(self, file: File) -> None:
        if self.fails(Operation("sync", file)):
            self.volumes[file].pending.clear()
            raise OSError("on purpose")
        self.volumes[file].sync()

    def crash(self, keep: Callable[[int, int], bool], *, lose_ssd: bool) -> None:
        """Only what is durable is left, and what keep(operation, sector) says."""
        for file, volume in self.volumes.items():
            left = bytearray(len(volume.now)) if lose_ssd and file is File.SSD else volume.crashed(keep)
            self.volumes[file] = Volume(left, bytearray(left))
        self.fail, self.fail_unless_read, self.short = set(), set(), set()


# ---- records ---------------------------------------------------------------------------------------


@dataclass
class Shelf:
    """As Volume, of records by key."""

    now: dict[Any, Any] = field(default_factory=dict)
    durable: dict[Any, Any] = field(default_factory=dict)
    pending: list[tuple[int, Any, Any]] = field(default_factory=list)

    def write(self, number: int, key: Any, value: Any) -> None:
        self.now[key] = value
        self.pending.append((number, key, value))

    def sync(self) -> None:
        self.durable.update({key: value for _, key, value in self.pending})
        self.pending.clear()


class Records(Faults):
    """As Disk, for the oracle: ref.tiercache.Files. A crash keeps or loses whole writes."""

    def __init__(self) -> None:
        super().__init__()
        self.shelves = {file: Shelf() for file in File}

    def _do(self, what: str, file: File, offset: int = 0, size: int = 0) -> Shelf:
        if self.fails(Operation(what, file, offset, size)):
            raise DeviceError
        return self.shelves[file]

    def _write(self, file: File, offset: int, size: int, values: dict[Any, Any]) -> None:
        shelf = self._do("write", file, offset, size)
        for key, value in values.items():
            shelf.write(len(self.log) - 1, key, value)

    def _sync(self, file: File) -> None:
        try:
            self._do("sync", file).sync()
        except DeviceError:
            self.shelves[file].pending.clear()
            raise

    def read_store(self, page: int, count: int) -> list[bytes]:
        shelf = self._do("read", File.STORE, page * PAGE_SIZE, count * PAGE_SIZE)
        return [shelf.now.get(number, ZEROS) for number in range(page, page + count)]

    def write_store(self, page: int, contents: Sequence[bytes]) -> None:
        values = {page + i: one for i, one in enumerate(contents)}
        self._write(File.STORE, page * PAGE_SIZE, len(contents) * PAGE_SIZE, values)

    def sync_store(self) -> None:
        self._sync(File.STORE)

    def read_slot(self, slot: int) -> Slot | None:
        found: Slot | None = self._do("read", File.SSD, FIRST_SLOT + slot * SLOT, SLOT).now.get(slot)
        return found

    def write_slot(self, slot: int, written: Slot | None) -> None:
        self._write(File.SSD, FIRST_SLOT + slot * SLOT, SLOT if written else SECTOR, {slot: written})

    def sync_ssd(self) -> None:
        self._sync(File.SSD)

    def read_superblock(self) -> Superblock | None:
        found: Superblock | None = self._do("read", File.SSD, 0, 48).now.get("superblock")
        return found

    def write_superblock(self, written: Superblock) -> None:
        self._write(File.SSD, 0, SECTOR, {"superblock": written})

    def read_control(self) -> int:
        return int(self._do("read", File.CONTROL, 0, 32).now.get("mount", 0))

    def write_control(self, mount: int) -> None:
        self._write(File.CONTROL, 0, SECTOR, {"mount": mount})

    def sync_control(self) -> None:
        self._sync(File.CONTROL)

    def crash(self, keep: Callable[[int, int], bool], *, lose_ssd: bool) -> None:
        for file, shelf in self.shelves.items():
            left = dict(shelf.durable) | {key: value for number, key, value in shelf.pending if keep(number, 0)}
            left = {} if lose_ssd and file is File.SSD else left
            self.shelves[file] = Shelf(left, dict(left))
        self.fail, self.fail_unless_read = set(), set()


def whole_writes(seed: int) -> Callable[[int, int], bool]:
    """For crash(): each write is kept or lost whole, by a coin that depends on its number."""
    return lambda number, _sector: Random(seed * 1_000_003 + number).random() < 0.5


def sectors(rng: Random, share: float) -> Callable[[int, int], bool]:
    """For crash(): each sector of each write by itself."""
    return lambda _number, _sector: rng.random() < share

# SPDX-License-Identifier: PostgreSQL
"""Devices in memory that fail and crash on purpose: as bytes for the kernel, as records for the oracle.

Each operation has a number, from 0 on, and stands in a log; both devices number alike. An operation that fails may
land all the same: wholly, in part, or not. After a sync that failed the rest may go with a later sync, or never, though
reads still give it, and the next sync succeeds (Linux drops such pages, as PostgreSQL learned in 2018). A kill of the
process leaves all as it is; a power loss leaves what is durable, and some of what was not synced.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from threading import Thread, get_ident
from typing import Any, NamedTuple

from pgquern.tiercache import File

from ref.tiercache import PAGE_SIZE, SECTOR, TRAILERS, ZEROS, Control, DeviceError, Drawn, Slot, Superblock, Trailer

FIRST_SLOT, SLOT = 4096, SECTOR + PAGE_SIZE
SSD_BLOCKS = (SECTOR, 4096)

Keep = Callable[[int, int], bool]
"""Whether a sector of an operation's write becomes durable: of the operation's number, and the sector's in it."""


class Operation(NamedTuple):
    """An entry of the log."""

    what: str
    file: File
    offset: int = 0
    size: int = 0


def nothing(_number: int, _sector: int) -> bool:
    return False


def everything(_number: int, _sector: int) -> bool:
    return True


class Fault(NamedTuple):
    """A failure. lands: what is done all the same. stays: after a failed sync, the rest may become durable later."""

    lands: Keep = nothing
    stays: bool = False


LOST = Fault()


@dataclass
class Faults:
    """Which operations fail, by number; and the log."""

    log: list[Operation] = field(default_factory=list)
    fail: dict[int, Fault] = field(default_factory=dict)
    fail_unless_read: set[int] = field(default_factory=set)
    """These are lost, unless they are reads."""
    broken: Callable[[Operation], bool] = lambda _operation: False
    """Operations that always fail."""
    fails_as: Fault = LOST
    """In this way."""
    before: Callable[[], None] = lambda: None
    """Called before each operation."""

    def fault(self, operation: Operation) -> Fault | None:
        self.before()
        self.log.append(operation)
        number = len(self.log) - 1
        if self.broken(operation):
            self.fail[number] = self.fails_as
        if number in self.fail_unless_read and operation.what != "read":
            self.fail[number] = LOST
        return self.fail.get(number)


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

    def fail_to_sync(self, fault: Fault) -> None:
        self.durable = self.crashed(fault.lands)
        if not fault.stays:
            self.pending.clear()

    def crashed(self, keep: Keep) -> bytearray:
        """The durable bytes, and what a power loss keeps."""
        left = bytearray(self.durable)
        for number, offset, contents in self.pending:
            for at in range(0, len(contents), SECTOR):
                if keep(number, at // SECTOR):
                    left[offset + at : offset + at + SECTOR] = contents[at : at + SECTOR]
        return left


class Disk(Faults):
    """Store, SSD and control file, as pgquern.tiercache.Files. A short transfer happens at the numbers in `short`."""

    def __init__(self, pages: int, slots: int, seed: int = 0, ssd_block: int = SECTOR) -> None:
        super().__init__()
        self.short: set[int] = set()
        self.source = Random(seed)
        store = (pages + TRAILERS) * PAGE_SIZE
        ssd = FIRST_SLOT + slots * (ssd_block + PAGE_SIZE)
        sizes = {File.STORE: store, File.SSD: ssd, File.CONTROL: SECTOR}
        self.volumes = {file: Volume(bytearray(size), bytearray(size)) for file, size in sizes.items()}

    def random(self, size: int) -> bytes:
        return self.source.randbytes(size)

    def _moved(self, operation: Operation) -> int:
        """How many bytes of an operation that works are moved."""
        short = len(self.log) - 1 in self.short and operation.size > SECTOR
        return operation.size // SECTOR // 2 * SECTOR if short else operation.size

    def read(self, file: File, size: int, offset: int) -> bytes:
        operation = Operation("read", file, offset, size)
        if self.fault(operation):
            raise OSError("on purpose")
        return bytes(self.volumes[file].now[offset : offset + self._moved(operation)])

    def write(self, file: File, contents: bytes, offset: int) -> int:
        operation = Operation("write", file, offset, len(contents))
        fault, number = self.fault(operation), len(self.log) - 1
        if fault is None:
            length = self._moved(operation)
            self.volumes[file].write(number, contents[:length], offset)
            return length
        for at in range(0, len(contents), SECTOR):
            if fault.lands(number, at // SECTOR):
                self.volumes[file].write(number, contents[at : at + SECTOR], offset + at)
        raise OSError("on purpose")

    def sync(self, file: File) -> None:
        fault = self.fault(Operation("sync", file))
        if fault is None:
            self.volumes[file].sync()
            return
        self.volumes[file].fail_to_sync(fault)
        raise OSError("on purpose")

    def heal(self) -> None:
        """No more failures."""
        self.fail, self.fail_unless_read, self.short = {}, set(), set()

    def lose_power(self, keep: Keep) -> None:
        """Only what is durable is left, and what `keep` says."""
        for file, volume in self.volumes.items():
            left = volume.crashed(keep)
            self.volumes[file] = Volume(left, bytearray(left))

    def copy_of_ssd(self) -> bytes:
        return bytes(self.volumes[File.SSD].now)

    def replace_ssd(self, contents: bytes | None) -> None:
        """None: by one of zeros."""
        contents = bytes(len(self.volumes[File.SSD].now)) if contents is None else contents
        self.volumes[File.SSD] = Volume(bytearray(contents), bytearray(contents))


class Between(Disk):
    """`meanwhile(operation)` is called once, before the first operation that `when` says."""

    def __init__(self, pages: int, slots: int) -> None:
        super().__init__(pages, slots)
        self.when: Callable[[Operation], bool] = lambda _operation: False
        self.meanwhile: Callable[[Operation], None] = lambda _operation: None
        self.done: list[tuple[Operation, int]] = []
        """Operations, each with the thread that makes it."""

    def fault(self, operation: Operation) -> Fault | None:
        self.done.append((operation, get_ident()))
        if self.when(operation):
            self.when = lambda _operation: False
            self.meanwhile(operation)
        return super().fault(operation)

    def during(self, when: Callable[[Operation], bool], meanwhile: Callable[[Operation], None]) -> None:
        self.when, self.meanwhile = when, meanwhile


def is_put(operation: Operation) -> bool:
    """A page is written to a slot of the SSD, whose unit is a sector."""
    return (operation.what, operation.file, operation.size) == ("write", File.SSD, SLOT)


def writes_one_of(pages: Container[int], operation: Operation) -> bool:
    """Of the store."""
    first, end = operation.offset // PAGE_SIZE, (operation.offset + operation.size) // PAGE_SIZE
    return operation[:2] == ("write", File.STORE) and any(page in pages for page in range(first, end))


def contents(number: int) -> bytes:
    """Of a page."""
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


def beside(call: Callable[[], Any]) -> Thread:
    """A call in a thread of its own."""
    thread = Thread(target=call, daemon=True)
    thread.start()
    return thread


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

    def fail_to_sync(self, fault: Fault) -> None:
        self.durable = self.crashed(fault.lands)
        if not fault.stays:
            self.pending.clear()

    def crashed(self, keep: Keep) -> dict[Any, Any]:
        return dict(self.durable) | {key: value for number, key, value in self.pending if keep(number, 0)}


class Records(Faults):
    """As Disk, for the oracle: ref.tiercache.Files. Writes land whole or not at all."""

    def __init__(self, seed: int = 0, ssd_block: int = SECTOR) -> None:
        super().__init__()
        self.source = Random(seed)
        self.shelves = {file: Shelf() for file in File}
        self.ssd_block = ssd_block

    def random(self) -> Drawn:
        drawn = self.source.randbytes(40)
        return Drawn(*(int.from_bytes(drawn[a:b], "little") for a, b in pairwise((0, 16, 24, 32, 40))))

    def _read(self, file: File, offset: int, size: int) -> dict[Any, Any]:
        if self.fault(Operation("read", file, offset, size)):
            raise DeviceError
        return self.shelves[file].now

    def _write(self, file: File, offset: int, size: int, values: dict[Any, Any]) -> None:
        fault, number = self.fault(Operation("write", file, offset, size)), len(self.log) - 1
        if fault is None or fault.lands(number, 0):
            for key, value in values.items():
                self.shelves[file].write(number, key, value)
        if fault is not None:
            raise DeviceError

    def _sync(self, file: File) -> None:
        fault = self.fault(Operation("sync", file))
        if fault is not None:
            self.shelves[file].fail_to_sync(fault)
            raise DeviceError
        self.shelves[file].sync()

    def read_store(self, page: int, count: int) -> list[bytes]:
        now = self._read(File.STORE, page * PAGE_SIZE, count * PAGE_SIZE)
        return [now.get(number, ZEROS) for number in range(page, page + count)]

    def write_store(self, page: int, contents: Sequence[bytes]) -> None:
        values = {page + i: one for i, one in enumerate(contents)}
        self._write(File.STORE, page * PAGE_SIZE, len(contents) * PAGE_SIZE, values)

    def read_trailers(self, pages: int) -> list[Trailer | None]:
        now = self._read(File.STORE, pages * PAGE_SIZE, TRAILERS * PAGE_SIZE)
        return [now.get(("trailer", place)) for place in range(TRAILERS)]

    def write_trailers(self, pages: int, first: int, written: Sequence[Trailer | None]) -> None:
        values = {("trailer", first + i): one for i, one in enumerate(written)}
        self._write(File.STORE, (pages + first) * PAGE_SIZE, len(written) * PAGE_SIZE, values)

    def sync_store(self) -> None:
        self._sync(File.STORE)

    def read_slot(self, slot: int) -> Slot | None:
        size = self.ssd_block + PAGE_SIZE
        found: Slot | None = self._read(File.SSD, FIRST_SLOT + slot * size, size).get(slot)
        return found

    def write_slot(self, slot: int, written: Slot | None) -> None:
        size = self.ssd_block + PAGE_SIZE
        self._write(File.SSD, FIRST_SLOT + slot * size, size if written else self.ssd_block, {slot: written})

    def sync_ssd(self) -> None:
        self._sync(File.SSD)

    def read_superblock(self) -> Superblock | None:
        found: Superblock | None = self._read(File.SSD, 0, self.ssd_block).get("superblock")
        return found

    def write_superblock(self, written: Superblock) -> None:
        self._write(File.SSD, 0, self.ssd_block, {"superblock": written})

    def read_control(self) -> Control | None:
        found: Control | None = self._read(File.CONTROL, 0, SECTOR).get("control")
        return found

    def write_control(self, written: Control) -> None:
        self._write(File.CONTROL, 0, SECTOR, {"control": written})

    def sync_control(self) -> None:
        self._sync(File.CONTROL)

    def heal(self) -> None:
        self.fail, self.fail_unless_read = {}, set()

    def lose_power(self, keep: Keep) -> None:
        for file, shelf in self.shelves.items():
            left = shelf.crashed(keep)
            self.shelves[file] = Shelf(left, dict(left))

    def copy_of_ssd(self) -> dict[Any, Any]:
        return dict(self.shelves[File.SSD].now)

    def replace_ssd(self, contents: dict[Any, Any] | None) -> None:
        left = contents or {}
        self.shelves[File.SSD] = Shelf(dict(left), dict(left))


def whole_writes(seed: int) -> Keep:
    """Each write is kept or lost whole, by a coin that depends on its number."""
    return lambda number, _sector: Random(seed * 1_000_003 + number).random() < 0.5

# SPDX-License-Identifier: PostgreSQL
"""Torn pages: page checksums, and three ways to survive a crash that leaves any subset of a page's sectors.

Upstream: src/include/storage/checksum_impl.h, pg_checksum_page; src/backend/storage/page/bufpage.c, PageIsVerified,
PageIsVerifiedExtended. As of PostgreSQL 13 to 18. The store's rules are those of full_page_writes
(src/backend/access/transam: xloginsert.c, xlogrecovery.c), and of InnoDB's doublewrite buffer; its files are its own.
"""

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from secrets import randbits
from typing import NamedTuple, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

BLOCK_SIZES = tuple(2**k for k in range(10, 16))
"""What PostgreSQL can be built with, in bytes."""

# ---- the page checksum -----------------------------------------------------------------------------

LANES = 32
"""N_SUMS: a page is rows of 32 words of 32 bits; each column has a sum of its own."""
FNV_PRIME = 16777619
BASE_OFFSETS = (
    0x5B1F36E9, 0xB8525960, 0x02AB50AA, 0x1DE66D2A, 0x79FF467A, 0x9BB9F8A3, 0x217E7CD2, 0x83E13D2C,
    0xF8D4474F, 0xE39EB970, 0x42C6AE16, 0x993216FA, 0x7B093B5D, 0x98DAFF3C, 0xF718902A, 0x0B1C9CDB,
    0xE58F764B, 0x187636BC, 0x5D7B3BB1, 0xE73DE7DE, 0x92BEC979, 0xCCA6C0B2, 0x304A0979, 0x85AA43D4,
    0x783125BB, 0x6CA8EAA2, 0xE407EAC6, 0x4B5CFC3E, 0x9FBF8C76, 0x15CA20BE, 0xF2CA9FD3, 0x959BD756,
)  # fmt: skip
"""checksumBaseOffsets: where each lane's sum starts."""

Words = NDArray[np.uint32]


def mix(sums: Words, words: Words) -> Words:
    """CHECKSUM_COMP: one round of FNV-1a, with the high bits folded into the low ones."""
    mixed = sums ^ words
    return (mixed * np.uint32(FNV_PRIME)) ^ (mixed >> np.uint32(17))


def checksums(pages: bytes, block_size: int, first_block: int = 0) -> list[int]:
    """pg_checksum_page of each page; the first one is block `first_block` of its relation.

    pages: whole pages of `block_size` bytes, one after the other. What stands in pd_checksum does not count.
    ValueError: a block size that PostgreSQL cannot have, a part of a page, or a block number above 2^32 - 2.
    """
    count = page_count(pages, block_size, first_block)
    words = np.frombuffer(pages, "<u4").reshape(count, block_size // (4 * LANES), LANES).copy()
    words[:, 0, 2] &= np.uint32(0xFFFF0000)  # pd_checksum, bytes 8 and 9
    sums = np.broadcast_to(np.array(BASE_OFFSETS, np.uint32), (count, LANES))
    for row in range(words.shape[1]):
        sums = mix(sums, words[:, row])
    for _ in range(2):
        sums = mix(sums, np.zeros_like(sums))
    folded = np.bitwise_xor.reduce(sums, axis=1)
    return [((int(sum_) ^ (first_block + i)) % 65535) + 1 for i, sum_ in enumerate(folded)]


def page_count(pages: bytes, block_size: int, first_block: int) -> int:
    """How many pages these are; ValueError as of checksums()."""
    if block_size not in BLOCK_SIZES:
        raise ValueError(f"a block cannot have {block_size} bytes, only {', '.join(map(str, BLOCK_SIZES))}")
    count, rest = divmod(len(pages), block_size)
    if rest:
        raise ValueError(f"the last page has {rest} of {block_size} bytes")
    if first_block < 0 or first_block + count > 2**32 - 1:
        raise ValueError("a block number is above 4294967294")
    return count


class Verdict(IntEnum):
    """What PageIsVerified says of a page."""

    SOUND = 0
    NEW = 1
    """All bytes are zero: the relation was extended, and the page never written."""
    CHECKSUM = 2
    """pd_checksum is not the checksum: torn, or changed by something else than the server."""
    HEADER = 3
    """The checksum is right and the header is not, or pd_upper is 0 on a page that is not all zero."""


def verdicts(pages: bytes, block_size: int, first_block: int = 0) -> list[Verdict]:
    """PageIsVerified of each page, in a cluster with data checksums. Arguments and errors as of checksums()."""
    right = checksums(pages, block_size, first_block)
    return [_verdict(pages[i * block_size : (i + 1) * block_size], sum_) for i, sum_ in enumerate(right)]


def _verdict(page: bytes, checksum: int) -> Verdict:
    def field(at: int) -> int:
        return int.from_bytes(page[at : at + 2], "little")

    stored, flags, lower, upper, special = (field(at) for at in (8, 10, 12, 14, 16))
    if upper == 0:
        return Verdict.HEADER if any(page) else Verdict.NEW
    if stored != checksum:
        return Verdict.CHECKSUM
    sane = flags & ~0x0007 == 0 and lower <= upper <= special <= len(page) and special % 8 == 0
    return Verdict.SOUND if sane else Verdict.HEADER


# ---- a store of pages that survives torn writes ----------------------------------------------------


class File(IntEnum):
    """The files of a store."""

    DATA = 0
    """The pages, in their places."""
    LOG = 1
    """A ring of `log_capacity` bytes; a record's LSN is its position as if the log were endless."""
    AREA = 2
    """The double-write area: a sector that lists its pages, then the pages."""
    CONTROL = 3
    """Two sectors, of which the one with the higher generation counts."""


class Protection(IntEnum):
    """What makes recovery safe after a torn write in place."""

    NONE = 0
    """Nothing: a torn page can only be detected."""
    IMAGES = 1
    """full_page_writes: the first change after a checkpoint's start logs the whole page."""
    DOUBLE_WRITE = 2
    """Each page is durable in the area before it is written in place."""
    ATOMIC = 3
    """The device writes a block whole or not at all."""


class Device(Protocol):
    """Files that are written by sectors. A sync makes durable what the process wrote since the last one that failed."""

    def read(self, file: File, at: int, size: int) -> bytes: ...
    def write(self, file: File, at: int, data: bytes) -> None: ...
    def sync(self, file: File) -> None: ...


class Config(NamedTuple):
    """What does not change in a store's life. Sizes in bytes."""

    protection: Protection
    block_size: int
    pages: int
    log_capacity: int
    slots: int = 8
    """Pages of the double-write area, at most MAX_SLOTS."""


SECTOR = 4096
PAGE_HEADER = 24
MAX_SLOTS = 255
RECORD = struct.Struct("<IIQIIHHI")
"""crc, bytes of payload, lsn, epoch, page, offset, kind, low half of the store's number."""
CONTROL = struct.Struct("<IIQQQQIIIIII")
"""crc, magic, generation, redo, the store's number, log capacity, epoch, protection, block size, pages, slots, made."""
CONTROL_MAGIC, AREA_MAGIC = 0x50474354, 0x50474441
AREA_HEAD, AREA_ENTRY = struct.Struct("<IIQI"), struct.Struct("<II")
"""crc, magic, the store's number, number of pages; then page and crc of each."""
DELTA, IMAGE, MARK = 0, 1, 2
"""A mark has no payload: it stands where a checkpoint, or the time after a recovery, begins."""


class NoStore(Exception):
    """The files hold none, or one whose format has not ended."""


class OtherShape(Exception):
    """The store was made with another Config."""


class OtherLog(Exception):
    """The log lacks the mark with which the last checkpoint begins: it is lost, or log or control are another's."""


class TornPage(Exception):
    """A page is neither what it was nor what it should be. `page`: the first such page."""

    def __init__(self, page: int) -> None:
        super().__init__(f"page {page} is torn")
        self.page = page


class DamagedLog(Exception):
    """A page is newer than the end of the log, which no crash does. `page`: the first such page."""

    def __init__(self, page: int) -> None:
        super().__init__(f"page {page} is newer than the end of the log")
        self.page = page


class LogFull(Exception):
    """The record has no room: a checkpoint makes some."""


def page_lsn(page: bytes | bytearray) -> int:
    """pd_lsn: where the log ended after the last change of the page."""
    high, low = struct.unpack_from("<II", page)
    return int(high << 32 | low)


def set_lsn(page: bytearray, lsn: int) -> None:
    struct.pack_into("<II", page, 0, lsn >> 32, lsn & 0xFFFFFFFF)


class Record(NamedTuple):
    """A log record: `data` replaces the page's bytes from `offset` on; an image is the whole page."""

    page: int
    offset: int
    kind: int
    data: bytes

    def encode(self, lsn: int, epoch: int, life: int) -> bytes:
        head = RECORD.pack(0, len(self.data), lsn, epoch, self.page, self.offset, self.kind, life & 0xFFFFFFFF)
        return _with_crc(head + self.data + bytes(-len(self.data) % 8))


class Control(NamedTuple):
    """Where replay begins, of which store. The order is that of the generations: no two are equal."""

    generation: int
    redo: int
    epoch: int
    life: int
    """The random number of the format."""
    made: bool
    """Whether the format has ended."""
    shape: tuple[int, ...]
    """Protection, block size, pages, slots, log capacity."""

    def encode(self) -> bytes:
        *shape, log_capacity = self.shape
        places = self.generation, self.redo, self.life, log_capacity, self.epoch
        return _with_crc(CONTROL.pack(0, CONTROL_MAGIC, *places, *shape, self.made))

    @classmethod
    def decode(cls, data: bytes) -> "Control | None":
        crc, magic, generation, redo, life, log_capacity, epoch, *shape, made = CONTROL.unpack(data)
        if magic != CONTROL_MAGIC or crc32(data[4:]) != crc:
            return None
        return cls(generation, redo, epoch, life, bool(made), (*shape, log_capacity))


def _with_crc(data: bytes) -> bytes:
    """The same with the CRC of all that follows in its first four bytes."""
    return struct.pack("<I", crc32(data[4:])) + data[4:]


class Store:
    """Pages in memory, all of them, over files. Changes are logged; pages go back to their places at any later time.

    A change survives every crash once flush() has returned after it. ValueError: a page or a range that does not exist.
    """

    def __init__(self, config: Config, device: Device) -> None:
        self.config, self.device = config, device
        self.pages = [bytearray(config.block_size) for _ in range(config.pages)]
        self.dirty: dict[int, int] = {}
        """page -> the LSN of its first change that is not written back."""
        self.log = bytearray(config.log_capacity)
        self.insert = self.flushed = 0
        self.redo = 0
        """Where the replay would begin if the checkpoint that has begun were complete: decides on images."""
        self.durable_redo = 0
        """Where the replay begins."""
        self.generation, self.epoch, self.life = 0, 0, 0
        self.unsynced = False
        """Whether pages were written in place since the last sync."""

    # -- life --

    def format(self, life: int | None = None) -> None:
        """Makes the files of a new store, all pages empty. `life`: its number of 64 bits; without, a random one.

        First the store that the files may hold is ended, by one sector: until that is durable nothing else is touched.
        The newest control is written again before, since the next one goes over the one before it, which may be the
        only one that is durable.
        """
        old = self._read_control()
        self.life = randbits(64) if life is None else life
        self.epoch = 1
        if old:
            self._put_control(old)
            self.generation = old.generation
        self._next_control(made=False)
        self._mark()
        self.flushed = self.insert
        for number, page in enumerate(self.pages):
            size = self.config.block_size
            page[:] = bytes(size)
            struct.pack_into("<HHHHHI", page, 10, 0, PAGE_HEADER, size, size, size | 4, self.life & 0xFFFFFFFF)
            self._seal(number)
            self.device.write(File.DATA, number * size, bytes(page))
        self.device.write(File.LOG, 0, bytes(self.log))
        self.device.write(File.AREA, 0, bytes(SECTOR))
        for file in (File.DATA, File.LOG, File.AREA):
            self.device.sync(file)
        self._next_control()

    def change(self, page: int, offset: int, data: bytes) -> int:
        """Replace bytes of a page, not in its header. Returns the LSN that flush() must reach to make it durable."""
        if not (0 <= page < self.config.pages and PAGE_HEADER <= offset < offset + len(data) <= self.config.block_size):
            raise ValueError("no such bytes of a page")
        image = self.config.protection is Protection.IMAGES and page_lsn(self.pages[page]) <= self.redo
        size = self.config.block_size if image else len(data)
        end = self.insert + RECORD.size + size + -size % 8
        if end + 2 * RECORD.size - self.durable_redo > self.config.log_capacity:
            raise LogFull  # room stays for a mark of the next checkpoint, and for one of a recovery
        self.pages[page][offset : offset + len(data)] = data
        set_lsn(self.pages[page], end)
        record = Record(page, 0, IMAGE, bytes(self.pages[page])) if image else Record(page, offset, DELTA, data)
        self._append(record)
        self.dirty.setdefault(page, end)
        return end

    def flush(self) -> None:
        """Make all changes durable."""
        if self.flushed < self.insert:
            for at, size in self._pieces(self.flushed, self.insert):
                self.device.write(File.LOG, at, bytes(self.log[at : at + size]))
            self.device.sync(File.LOG)
            self.flushed = self.insert

    def write_back(self, pages: Sequence[int]) -> None:
        """Write those of the pages that are dirty to their places, by the protection; the log first."""
        dirty = [page for page in dict.fromkeys(pages) if page in self.dirty]
        if any(page_lsn(self.pages[page]) > self.flushed for page in dirty):
            self.flush()
        double = self.config.protection is Protection.DOUBLE_WRITE
        step = self.config.slots if double else max(1, len(dirty))
        for batch in (dirty[i : i + step] for i in range(0, len(dirty), step)):
            for page in batch:
                self._seal(page)
            if double:
                self._write_area(batch)
            for page in batch:
                self.device.write(File.DATA, page * self.config.block_size, bytes(self.pages[page]))
                self.unsynced = True
                del self.dirty[page]

    def checkpoint_begin(self) -> None:
        """Take the redo point: before any page is written, so that changes from now on log images."""
        if self.insert != self.redo + RECORD.size:  # something was logged since the last mark
            self._mark()

    def checkpoint_end(self) -> None:
        """Write back what was changed before the redo point, and let the replay begin there from now on."""
        self.flush()
        self.write_back(sorted(page for page, first in self.dirty.items() if first <= self.redo))
        self._sync_data()
        self._next_control()

    def recover(self) -> None:
        """After a fault, in a new Store: all durable changes, and perhaps some later ones in their order, are there.

        What was read need not be durable, and after a failed sync no sync makes it so. So all that this relies on is
        written again: control; the log, before any page; the area, before the pages that it protects; each page that
        may have been written since the checkpoint. A new epoch begins once that is durable.

        NoStore, OtherShape, OtherLog, TornPage, DamagedLog: nothing was written.
        """
        control = self._read_control()
        if control is None or not control.made:
            raise NoStore
        if control.shape != self._shape():
            raise OtherShape
        self.generation, self.durable_redo, self.epoch, self.life = control[:4]
        self.log[:] = self.device.read(File.LOG, 0, self.config.log_capacity)
        records = list(self._records())
        if not records:
            raise OtherLog
        self.insert = records[-1][1]
        size = self.config.block_size
        for number, page in enumerate(self.pages):
            page[:] = self.device.read(File.DATA, number * size, size)
        area, copies = self._read_area() if self.config.protection is Protection.DOUBLE_WRITE else (b"", {})
        for number, copy in copies.items():
            self.pages[number][:] = copy
        torn = {number for number in range(self.config.pages) if not self._is_right(number)}
        right = set(range(self.config.pages)) - torn
        ahead = [number for number in sorted(right) if page_lsn(self.pages[number]) > self.insert]
        for record, end in records[1:]:
            if record.kind == IMAGE:
                torn.discard(record.page)
            if record.kind != MARK:
                self._replay(record, end, record.page in torn)
        if torn:
            raise TornPage(min(torn))
        if ahead:
            raise DamagedLog(ahead[0])
        self._put_control(control)
        self.flushed = self.durable_redo
        self.flush()
        self._restore_area(area, copies)
        self.unsynced = True
        self.write_back(sorted(self.dirty))
        self._sync_data()
        self.epoch += 1
        self._mark()
        self.flush()
        self._next_control()

    # -- the log --

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of the ring that hold [start, end): position and size."""
        at = start % self.config.log_capacity
        first = min(end - start, self.config.log_capacity - at)
        yield at, first
        if first < end - start:
            yield 0, end - start - first

    def _mark(self) -> None:
        """Replay begins here, once the control file says so."""
        self.redo = self.insert
        self._append(Record(0, 0, MARK, b""))

    def _append(self, record: Record) -> None:
        data, done = record.encode(self.insert, self.epoch, self.life), 0
        for at, size in self._pieces(self.insert, self.insert + len(data)):
            self.log[at : at + size] = data[done : done + size]
            done += size
        self.insert += len(data)

    def _bytes(self, start: int, size: int) -> bytes:
        return b"".join(self.log[at : at + n] for at, n in self._pieces(start, start + size)) if size else b""

    def _records(self) -> Iterator[tuple[Record, int]]:
        """The records from durable_redo on, and where each ends: up to the first that was not written whole."""
        lsn, block = self.durable_redo, self.config.block_size
        limit = lsn + self.config.log_capacity
        while lsn + RECORD.size <= limit:
            crc, length, at, epoch, page, offset, kind, life = RECORD.unpack(self._bytes(lsn, RECORD.size))
            end = lsn + RECORD.size + length + -length % 8
            if (at, epoch, life) != (lsn, self.epoch, self.life & 0xFFFFFFFF) or length > block or end > limit:
                return
            body = self._bytes(lsn, end - lsn)
            whole = kind == IMAGE and (offset, length) == (0, block)
            part = kind == DELTA and length > 0 and offset >= PAGE_HEADER and offset + length <= block
            mark = kind == MARK and length == 0
            if crc32(body[4:]) != crc or page >= self.config.pages or not (whole or part or mark):
                return
            yield Record(page, offset, kind, body[RECORD.size : RECORD.size + length]), end
            lsn = end

    def _replay(self, record: Record, end: int, torn: bool) -> None:
        """The page counts as dirty in any case: it may have been written since the checkpoint, and not be durable."""
        page = self.pages[record.page]
        self.dirty.setdefault(record.page, end)
        if not torn and (record.kind == IMAGE or page_lsn(page) < end):
            page[record.offset : record.offset + len(record.data)] = record.data
            set_lsn(page, end)

    # -- pages, area, control --

    def _is_right(self, number: int) -> bool:
        """Neither torn nor another store's: the low half of the store's number stands in pd_prune_xid."""
        page = bytes(self.pages[number])
        sound = verdicts(page, self.config.block_size, number) == [Verdict.SOUND]
        return sound and page[20:PAGE_HEADER] == struct.pack("<I", self.life & 0xFFFFFFFF)

    def _seal(self, number: int) -> None:
        """Set pd_checksum."""
        page = self.pages[number]
        struct.pack_into("<H", page, 8, checksums(bytes(page), self.config.block_size, number)[0])

    def _sync_data(self) -> None:
        if self.unsynced:
            self.device.sync(File.DATA)
            self.unsynced = False

    def _write_area(self, batch: Sequence[int]) -> None:
        """Make the batch durable in the area. What the area held until now must be durable in its place first."""
        self._sync_data()
        pages = [bytes(self.pages[page]) for page in batch]
        entries = b"".join(AREA_ENTRY.pack(page, crc32(data)) for page, data in zip(batch, pages, strict=True))
        header = _with_crc(AREA_HEAD.pack(0, AREA_MAGIC, self.life, len(batch)) + entries)
        self.device.write(File.AREA, 0, header + bytes(SECTOR - len(header)) + b"".join(pages))
        self.device.sync(File.AREA)

    def _read_area(self) -> tuple[bytes, dict[int, bytes]]:
        """The area as far as its head lists it, and the pages that are whole in it.

        No crash leaves an older copy than the page in its place; an older file in the area's place may.
        """
        size, entry = self.config.block_size, AREA_ENTRY.size
        head = self.device.read(File.AREA, 0, SECTOR)
        crc, magic, life, count = AREA_HEAD.unpack_from(head)
        entries = head[AREA_HEAD.size : AREA_HEAD.size + count * entry]
        right = (magic, life) == (AREA_MAGIC, self.life) and count <= self.config.slots
        if not right or crc32(head[4 : AREA_HEAD.size] + entries) != crc:
            return b"", {}
        slots = self.device.read(File.AREA, SECTOR, count * size)
        copies = {}
        for slot, (number, page_crc) in enumerate(AREA_ENTRY.iter_unpack(entries)):
            copy = slots[slot * size : (slot + 1) * size]
            if number >= self.config.pages or crc32(copy) != page_crc:
                continue
            if not (self._is_right(number) and page_lsn(self.pages[number]) > page_lsn(copy)):
                copies[number] = copy
        return head + slots, copies

    def _restore_area(self, area: bytes, copies: dict[int, bytes]) -> None:
        """Make the area durable as it was read, and write its pages to their places."""
        if area:
            self.device.write(File.AREA, 0, area)
            self.device.sync(File.AREA)
        for number, copy in copies.items():
            self.device.write(File.DATA, number * self.config.block_size, copy)

    def _shape(self) -> tuple[int, ...]:
        c = self.config
        return c.protection, c.block_size, c.pages, c.slots, c.log_capacity

    def _next_control(self, *, made: bool = True) -> None:
        self._put_control(Control(self.generation + 1, self.redo, self.epoch, self.life, made, self._shape()))
        self.generation += 1
        self.durable_redo = self.redo

    def _put_control(self, control: "Control") -> None:
        self.device.write(File.CONTROL, control.generation % 2 * SECTOR, control.encode())
        self.device.sync(File.CONTROL)

    def _read_control(self) -> "Control | None":
        """The newest of the two that is whole."""
        slots = (Control.decode(self.device.read(File.CONTROL, slot * SECTOR, CONTROL.size)) for slot in range(2))
        return max((control for control in slots if control), default=None)

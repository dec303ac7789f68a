# SPDX-License-Identifier: PostgreSQL
"""Torn pages: page checksums, and three ways to survive a crash that leaves any subset of a page's sectors.

Upstream: src/include/storage/checksum_impl.h (pg_checksum_page) and src/backend/storage/page/bufpage.c
(PageIsVerified), as of PostgreSQL 13 to 18. The store's rules are those of full_page_writes
(src/backend/access/transam: xloginsert.c, xlogrecovery.c), and of InnoDB's doublewrite buffer; its files are its own.
"""

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
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
    """Files that are written by sectors. A write is durable after the next sync of its file, and not before."""

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
"""crc, bytes of payload, lsn, epoch, page, offset, kind, 0."""
CONTROL = struct.Struct("<IIQQI")
"""crc, magic, generation, redo, epoch."""
CONTROL_MAGIC, AREA_MAGIC = 0x50474354, 0x50474441
AREA_HEAD, AREA_ENTRY = struct.Struct("<III"), struct.Struct("<II")
"""crc, magic, number of pages; then page and crc of each."""
DELTA, IMAGE = 0, 1


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

    def encode(self, lsn: int, epoch: int) -> bytes:
        body = RECORD.pack(0, len(self.data), lsn, epoch, self.page, self.offset, self.kind, 0)[4:] + self.data
        body += bytes(-len(self.data) % 8)
        return struct.pack("<I", crc32(body)) + body


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
        self.generation, self.epoch = 0, 0
        self.unsynced = False
        """Whether pages were written in place since the last sync."""

    # -- life --

    def format(self) -> None:
        """Makes the files of a new store, all pages empty."""
        for number, page in enumerate(self.pages):
            size = self.config.block_size
            page[:] = bytes(size)
            struct.pack_into("<HHHHH", page, 10, 0, PAGE_HEADER, size, size, size | 4)
            self._seal(number)
            self.device.write(File.DATA, number * size, bytes(page))
        self.device.write(File.LOG, 0, bytes(self.log))
        self.device.write(File.AREA, 0, bytes(SECTOR))
        for file in (File.DATA, File.LOG, File.AREA):
            self.device.sync(file)
        self.epoch = 1
        self._write_control()

    def change(self, page: int, offset: int, data: bytes) -> int:
        """Replace bytes of a page, not in its header. Returns the LSN that flush() must reach to make it durable."""
        if not (0 <= page < self.config.pages and PAGE_HEADER <= offset < offset + len(data) <= self.config.block_size):
            raise ValueError("no such bytes of a page")
        image = self.config.protection is Protection.IMAGES and page_lsn(self.pages[page]) <= self.redo
        size = self.config.block_size if image else len(data)
        end = self.insert + RECORD.size + size + -size % 8
        if end - self.durable_redo > self.config.log_capacity:
            raise LogFull
        self.pages[page][offset : offset + len(data)] = data
        set_lsn(self.pages[page], end)
        record = Record(page, 0, IMAGE, bytes(self.pages[page])) if image else Record(page, offset, DELTA, data)
        self._append(record.encode(self.insert, self.epoch))
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
        self.redo = self.insert

    def checkpoint_end(self) -> None:
        """Write back what was changed before the redo point, and let the replay begin there from now on."""
        self.flush()
        self.write_back(sorted(page for page, first in self.dirty.items() if first <= self.redo))
        self._sync_data()
        self._write_control()

    def recover(self) -> None:
        """After a crash, in a new Store: all durable changes, and perhaps some later ones in their order, are there.

        TornPage: the protection did not do what it promises, or there is none. DamagedLog: no crash has done this.
        """
        self._read_control()
        if self.config.protection is Protection.DOUBLE_WRITE:
            self._restore_area()
        size = self.config.block_size
        for number, page in enumerate(self.pages):
            page[:] = self.device.read(File.DATA, number * size, size)
        torn = {
            number for number, page in enumerate(self.pages) if verdicts(bytes(page), size, number) != [Verdict.SOUND]
        }
        self.log[:] = self.device.read(File.LOG, 0, self.config.log_capacity)
        self.insert = self.durable_redo
        for record, end in self._records():
            if record.kind == IMAGE:
                torn.discard(record.page)
            self._replay(record, end, record.page in torn)
            self.insert = end
        if torn:
            raise TornPage(min(torn))
        if ahead := [number for number, page in enumerate(self.pages) if page_lsn(page) > self.insert]:
            raise DamagedLog(ahead[0])
        self.flushed = self.redo = self.insert
        self.epoch += 1
        self.write_back(sorted(self.dirty))
        self._sync_data()
        self._write_control()

    # -- the log --

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of the ring that hold [start, end): position and size."""
        at = start % self.config.log_capacity
        first = min(end - start, self.config.log_capacity - at)
        yield at, first
        if first < end - start:
            yield 0, end - start - first

    def _append(self, data: bytes) -> None:
        done = 0
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
            crc, length, at, epoch, page, offset, kind, zero = RECORD.unpack(self._bytes(lsn, RECORD.size))
            end = lsn + RECORD.size + length + -length % 8
            if (at, epoch, zero) != (lsn, self.epoch, 0) or length == 0 or length > block or end > limit:
                return
            body = self._bytes(lsn, end - lsn)
            whole = kind == IMAGE and (offset, length) == (0, block)
            part = kind == DELTA and offset >= PAGE_HEADER and offset + length <= block
            if crc32(body[4:]) != crc or page >= self.config.pages or not (whole or part):
                return
            yield Record(page, offset, kind, body[RECORD.size : RECORD.size + length]), end
            lsn = end

    def _replay(self, record: Record, end: int, torn: bool) -> None:
        page = self.pages[record.page]
        if not torn and (record.kind == IMAGE or page_lsn(page) < end):
            page[record.offset : record.offset + len(record.data)] = record.data
            set_lsn(page, end)
            self.dirty.setdefault(record.page, end)

    # -- pages, area, control --

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
        body = struct.pack("<II", AREA_MAGIC, len(batch)) + entries
        header = struct.pack("<I", crc32(body)) + body
        self.device.write(File.AREA, 0, header + bytes(SECTOR - len(header)) + b"".join(pages))
        self.device.sync(File.AREA)

    def _restore_area(self) -> None:
        """Write the pages that the area holds whole to their places."""
        size = self.config.block_size
        header = self.device.read(File.AREA, 0, SECTOR)
        crc, magic, count = AREA_HEAD.unpack_from(header)
        end = AREA_HEAD.size + count * AREA_ENTRY.size
        if magic != AREA_MAGIC or count > self.config.slots or crc32(header[4:end]) != crc:
            return
        for slot in range(count):
            number, page_crc = AREA_ENTRY.unpack_from(header, AREA_HEAD.size + slot * AREA_ENTRY.size)
            page = self.device.read(File.AREA, SECTOR + slot * size, size)
            if number < self.config.pages and crc32(page) == page_crc:
                self.device.write(File.DATA, number * size, page)
                self.unsynced = True
        self._sync_data()

    def _write_control(self) -> None:
        self.generation += 1
        body = CONTROL.pack(0, CONTROL_MAGIC, self.generation, self.redo, self.epoch)[4:]
        self.device.write(File.CONTROL, self.generation % 2 * SECTOR, struct.pack("<I", crc32(body)) + body)
        self.device.sync(File.CONTROL)
        self.durable_redo = self.redo

    def _read_control(self) -> None:
        found = []
        for slot in range(2):
            data = self.device.read(File.CONTROL, slot * SECTOR, CONTROL.size)
            crc, magic, generation, redo, epoch = CONTROL.unpack(data)
            if magic == CONTROL_MAGIC and crc32(data[4:]) == crc:
                found.append((generation, redo, epoch))
        if not found:
            raise ValueError("there is no store: format() has not ended")
        self.generation, self.durable_redo, self.epoch = max(found)
        self.redo = self.durable_redo

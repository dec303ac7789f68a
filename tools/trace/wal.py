# SPDX-License-Identifier: PostgreSQL
"""What a listing leaves out, from the WAL itself: which blocks a record initialises.

Upstream: XLogRecord and the headers of its blocks (src/include/access/xlogrecord.h), which lie in pages of 8 kB with a
header each (xlog_internal.h), in segments whose size the first page tells.
"""

import re
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tools.trace.listing import (
    LONG_HEADER,
    MARK,
    PAGE,
    SHORT_HEADER,
    XLR_MAX_BLOCK_ID,
    Listed,
    ListingError,
    lsn_of,
    lsn_text,
)

RECORD_HEADER = 24
HAS_IMAGE, WILL_INIT, SAME_RELATION = 0x10, 0x40, 0x80
"""BKPBLOCK_, in a block's fork_flags."""
HAS_HOLE, COMPRESSED = 0x01, 0x1C
"""BKPIMAGE_, in an image's bimg_info, as of 15: by any of three methods."""
LSN = re.compile(r"lsn: ([0-9A-F]+/[0-9A-F]+), prev")
SEGMENT_NAME = re.compile(r"[0-9A-F]{24}$")


class Wal:
    """The segments of a folder pg_wal, read from one record on. ListingError: bytes are missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        names = sorted(file.name for file in folder.iterdir() if SEGMENT_NAME.match(file.name))
        if not names:
            raise ListingError(f"{folder} has no segment of WAL")
        with (folder / names[-1]).open("rb") as file:
            header = file.read(LONG_HEADER)
        if len(header) < LONG_HEADER:
            raise ListingError(f"{folder / names[-1]} is cut off")
        (self.segment_size,) = struct.unpack_from("<I", header, 32)
        if self.segment_size < 1 << 20 or self.segment_size & (self.segment_size - 1):
            raise ListingError(f"{folder / names[-1]} is no segment of WAL: its size would be {self.segment_size}")
        # Of a number that two timelines have, the later one's segment goes on where the earlier one's ends.
        self.names = {name[8:]: name for name in names}

    def page(self, at: int) -> bytes:
        """The page with the byte of this LSN, without its header, from the byte on."""
        number, offset = divmod(at, self.segment_size)
        per_id = (1 << 32) // self.segment_size
        name = f"{number // per_id:08X}{number % per_id:08X}"
        if name not in self.names:
            raise ListingError(f"{self.folder} lacks the segment {name} of WAL")
        with (self.folder / self.names[name]).open("rb") as file:
            file.seek(offset - offset % PAGE)
            found = file.read(PAGE)
        if len(found) < PAGE:
            raise ListingError(f"{self.folder / self.names[name]} ends before {lsn_text(at)}")
        header = LONG_HEADER if offset < PAGE else SHORT_HEADER
        return found[max(offset % PAGE, header) :]

    def bytes_from(self, lsn: int) -> Iterator[int]:
        """Bytes one by one, past the headers of pages."""
        while True:
            yield from self.page(lsn)
            lsn += PAGE - lsn % PAGE

    def initialised(self, lsn: int) -> list[int]:
        """The numbers of the blocks that the record at an LSN initialises."""
        source = self.bytes_from(lsn)
        (length,) = struct.unpack_from("<I", bytes(islice(source, RECORD_HEADER)))
        read, data, found = RECORD_HEADER, 0, list[int]()

        def take(layout: str) -> tuple[int, ...]:
            nonlocal read
            read += struct.calcsize(layout)
            return struct.unpack(layout, bytes(islice(source, struct.calcsize(layout))))

        # The headers end where all that is left is the data that they announce; or at one that is no block's.
        while length - read > data and (number := take("<B")[0]) <= XLR_MAX_BLOCK_ID:
            fork_flags, size = take("<BH")
            data += size
            if fork_flags & WILL_INIT:
                found.append(number)
            if fork_flags & HAS_IMAGE:
                size, _, image = take("<HHB")
                data += size
                if image & HAS_HOLE and image & COMPRESSED:
                    take("<H")
            take("<I" if fork_flags & SAME_RELATION else "<4I")
        return found

    def has(self, listed: Listed, other: "Wal") -> bool:
        """Whether a record of another folder of WAL stands here, too."""
        try:
            here = bytes(islice(self.bytes_from(listed.record.lsn), listed.length))
        except ListingError:
            return False
        return here == bytes(islice(other.bytes_from(listed.record.lsn), listed.length))


def marked(listing: str, folder: Path) -> str:
    """The listing, each line with what its record initialises. A page that does not lie there is an error."""
    wal, lines = Wal(folder), list[str]()
    for line in listing.splitlines():
        lsn = LSN.search(line)
        blocks = wal.initialised(lsn_of(lsn[1])) if lsn and "blkref #" in line else []
        lines.append(f"{line}{MARK}{' '.join(map(str, blocks)) or 'none'}\n")
    return "".join(lines)

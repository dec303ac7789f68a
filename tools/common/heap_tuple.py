# SPDX-License-Identifier: PostgreSQL
"""The header of a heap tuple, as all who look at rows read it, on pages that may be damaged.

Upstream: src/include/access/htup_details.h, 13 to 18.
"""

import struct
from dataclasses import dataclass

HEADER = 23
HASNULL = 0x0001
XMAX_KEYSHR_LOCK, XMAX_EXCL_LOCK, XMAX_LOCK_ONLY = 0x0010, 0x0040, 0x0080
XMIN_COMMITTED, XMIN_INVALID, XMIN_FROZEN = 0x0100, 0x0200, 0x0300
XMAX_COMMITTED, XMAX_INVALID, XMAX_IS_MULTI = 0x0400, 0x0800, 0x1000
UPDATED, MOVED = 0x2000, 0xC000
"""Of t_infomask."""
NATTS, HOT_UPDATED, ONLY_TUPLE = 0x07FF, 0x4000, 0x8000
"""Of t_infomask2."""


@dataclass(frozen=True)
class Tuple:
    """A line pointer with storage, and the header that it points to. block and offset: t_ctid."""

    length: int
    xmin: int
    xmax: int
    block: int
    offset: int
    infomask2: int
    infomask: int
    hoff: int

    @property
    def xmin_frozen(self) -> bool:
        return self.infomask & XMIN_FROZEN == XMIN_FROZEN

    @property
    def xmin_invalid(self) -> bool:
        return self.infomask & XMIN_FROZEN == XMIN_INVALID

    @property
    def heap_only(self) -> bool:
        return bool(self.infomask2 & ONLY_TUPLE)

    @property
    def hot_updated(self) -> bool:
        return bool(self.infomask2 & HOT_UPDATED) and not self.infomask & XMAX_INVALID and not self.xmin_invalid

    @property
    def locked_only(self) -> bool:
        return (
            bool(self.infomask & XMAX_LOCK_ONLY) or self.infomask & (XMAX_IS_MULTI | XMAX_EXCL_LOCK) == XMAX_EXCL_LOCK
        )

    @property
    def locked_before_upgrade(self) -> bool:
        """By a MultiXact of 9.2 or older (HEAP_LOCKED_UPGRADED): a server ignores it, whatever its number."""
        bits = XMAX_IS_MULTI | XMAX_LOCK_ONLY
        return self.infomask & (bits | XMAX_EXCL_LOCK | XMAX_KEYSHR_LOCK) == bits

    @property
    def unknown_updater(self) -> bool:
        """The XID of its update is a member of a MultiXact, in pg_multixact."""
        return bool(self.infomask & XMAX_IS_MULTI) and not self.infomask & XMAX_INVALID and not self.locked_only


def tuple_at(page: bytes | bytearray, off: int, length: int) -> Tuple:
    """HeapTupleHeaderData, little-endian. off: at most BLCKSZ - HEADER."""
    xmin, xmax, _, high, low, offset, infomask2, infomask, hoff = struct.unpack_from("<IIIHHHHHB", page, off)
    return Tuple(length, xmin, xmax, high << 16 | low, offset, infomask2, infomask, hoff)

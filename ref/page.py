# SPDX-License-Identifier: PostgreSQL
"""A heap page, read from and written to its real bytes: header, line pointers, tuples.

Upstream: src/include/storage/bufpage.h, PageHeaderData, PageGetMaxOffsetNumber; src/include/storage/itemid.h,
ItemIdData; src/backend/storage/page/bufpage.c, PageInit, PageAddItemExtended. As of PostgreSQL 15.18; the layout
(version 4) is that of 8.3 to 18. Little-endian, blocks of 8192 bytes, tuples aligned to 8. Any other page is refused.

    0        24           pd_lower     pd_upper              pd_special    8192
    | header | line pointers |   hole   |  tuples, in any order  |  special  |

Line pointers are numbered from 1. One with an lp_len above 0 has storage: MAXALIGN(lp_len) bytes from lp_off on.
"""

import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple, Self

BLCKSZ = 8192
LAYOUT_VERSION = 4
SIZE_OF_PAGE_HEADER = 24
SIZE_OF_LINE_POINTER = 4
MAX_HEAP_TUPLES_PER_PAGE = 291
MAX_LINE_POINTERS = (BLCKSZ - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER

LP_UNUSED = 0
LP_NORMAL = 1
LP_REDIRECT = 2
LP_DEAD = 3

PD_HAS_FREE_LINES = 0x0001
PD_PAGE_FULL = 0x0002
PD_ALL_VISIBLE = 0x0004
PD_VALID_FLAG_BITS = 0x0007


class ErrorCode(IntEnum):
    """Why a page is refused. The numbers are those of csrc/pgquern.h. If several codes apply, the first one counts."""

    OK = 0
    NULL = 1  # the pointer to the page is NULL (C only)
    BLOCK_SIZE = 2  # not a block of 8192 bytes
    HEADER = 3  # not 24 <= pd_lower <= pd_upper <= pd_special <= 8192, or pd_special not MAXALIGNed
    LP_OFF = 4  # lp_off outside [pd_upper, pd_special)
    LP_ALIGN = 5  # lp_off not MAXALIGNed
    LP_END = 6  # lp_off + MAXALIGN(lp_len) > pd_special
    TOO_MANY = 7  # more line pointers with storage than a heap page can have
    TOTAL = 8  # the tuples need more than pd_special - pd_lower bytes
    OVERLAP = 9  # two tuples share bytes


class PageError(ValueError):
    """The page is refused. code: why. index: the line pointer at fault, from 1; 0 if the fault belongs to none."""

    def __init__(self, code: ErrorCode, index: int, message: str) -> None:
        super().__init__(f"line pointer {index}: {message}" if index else message)
        self.code = code
        self.index = index


def maxalign(n: int) -> int:
    """n >= 0, rounded up to a multiple of 8."""
    return (n + 7) // 8 * 8


class LinePointer(NamedTuple):
    """ItemIdData: where a tuple lies. lp_off and lp_len have 15 bits each, lp_flags 2."""

    lp_off: int
    lp_flags: int
    lp_len: int

    @classmethod
    def from_word(cls, word: int) -> Self:
        """The line pointer whose four bytes, read as a little-endian number, are `word`."""
        return cls(word & 0x7FFF, word >> 15 & 0x3, word >> 17)

    @property
    def word(self) -> int:
        return self.lp_off | self.lp_flags << 15 | self.lp_len << 17

    @property
    def is_used(self) -> bool:
        return self.lp_flags != LP_UNUSED

    @property
    def has_storage(self) -> bool:
        return self.lp_len != 0

    @property
    def aligned_len(self) -> int:
        return maxalign(self.lp_len)

    @property
    def end(self) -> int:
        """One past the last byte of its storage, padding included."""
        return self.lp_off + self.aligned_len


UNUSED = LinePointer(0, LP_UNUSED, 0)


class Header(NamedTuple):
    """PageHeaderData without the line pointers. pd_lsn: 64 bits, stored as two halves, the high one first."""

    pd_lsn: int = 0
    pd_checksum: int = 0
    pd_flags: int = 0
    pd_lower: int = SIZE_OF_PAGE_HEADER
    pd_upper: int = BLCKSZ
    pd_special: int = BLCKSZ
    pd_pagesize_version: int = BLCKSZ | LAYOUT_VERSION
    pd_prune_xid: int = 0

    @classmethod
    def parse(cls, page: bytes) -> Self:
        """The header in the first 24 bytes of `page`. The values are not checked."""
        high, low, *rest = struct.unpack_from("<IIHHHHHHI", page)
        return cls(high << 32 | low, *rest)

    def pack(self) -> bytes:
        """The 24 bytes."""
        return struct.pack("<IIHHHHHHI", self.pd_lsn >> 32, self.pd_lsn & 0xFFFFFFFF, *self[1:])

    @property
    def nline(self) -> int:
        """The number of line pointers (PageGetMaxOffsetNumber). Up to 3 bytes may remain below pd_lower."""
        return max(self.pd_lower - SIZE_OF_PAGE_HEADER, 0) // SIZE_OF_LINE_POINTER


def check_header(page: bytes) -> Header:
    """The header of a page on which PageRepairFragmentation may work; PageError BLOCK_SIZE or HEADER otherwise."""
    if len(page) != BLCKSZ:
        raise PageError(ErrorCode.BLOCK_SIZE, 0, f"a page of {len(page)} bytes: only blocks of {BLCKSZ} are supported")
    header = Header.parse(page)
    _, _, _, lower, upper, special, _, _ = header
    if not SIZE_OF_PAGE_HEADER <= lower <= upper <= special <= BLCKSZ:
        raise PageError(
            ErrorCode.HEADER,
            0,
            f"not {SIZE_OF_PAGE_HEADER} <= pd_lower {lower} <= pd_upper {upper} <= pd_special {special} <= {BLCKSZ}",
        )
    if special != maxalign(special):
        raise PageError(ErrorCode.HEADER, 0, f"pd_special {special} is not a multiple of 8")
    return header


def line_pointers(page: bytes) -> list[LinePointer]:
    """All line pointers, in item order: number i is element i - 1. Whatever pd_lower says, they lie within the page."""
    nline = min(Header.parse(page).nline, MAX_LINE_POINTERS)
    return [LinePointer.from_word(word) for word in struct.unpack_from(f"<{nline}I", page, SIZE_OF_PAGE_HEADER)]


def check_storage(header: Header, index: int, lp: LinePointer) -> None:
    """Check that the storage of line pointer `index` lies among the tuples. PageError: LP_OFF, LP_ALIGN or LP_END."""
    upper, special = header.pd_upper, header.pd_special
    if not upper <= lp.lp_off < special:
        raise PageError(
            ErrorCode.LP_OFF, index, f"lp_off {lp.lp_off} is not in [pd_upper, pd_special) = [{upper}, {special})"
        )
    if lp.lp_off != maxalign(lp.lp_off):
        raise PageError(ErrorCode.LP_ALIGN, index, f"lp_off {lp.lp_off} is not a multiple of 8")
    if lp.end > special:
        raise PageError(
            ErrorCode.LP_END,
            index,
            f"lp_off {lp.lp_off} with lp_len {lp.lp_len}, aligned {lp.aligned_len}, ends past pd_special {special}",
        )


def check(page: bytes) -> None:
    """Check that `page` is a heap page as PostgreSQL itself leaves it. PageError: it is not.

    Checked are block size and layout, the header, every line pointer that is used and has storage, that there are at
    most 291 of these, and that no two tuples overlap. PageRepairFragmentation checks less: it does not read
    pd_pagesize_version, and it looks for overlap only on presorted pages.
    """
    header = check_header(page)
    if header.pd_flags & ~PD_VALID_FLAG_BITS:
        raise PageError(ErrorCode.HEADER, 0, f"pd_flags {header.pd_flags:#x} has bits that mean nothing")
    size, version = header.pd_pagesize_version & 0xFF00, header.pd_pagesize_version & 0x00FF
    if size != BLCKSZ:
        raise PageError(
            ErrorCode.BLOCK_SIZE, 0, f"pd_pagesize_version says blocks of {size} bytes: only {BLCKSZ} are supported"
        )
    if version != LAYOUT_VERSION:
        raise PageError(
            ErrorCode.HEADER, 0, f"pd_pagesize_version says layout {version}: only {LAYOUT_VERSION} is supported"
        )
    stored = [(i, lp) for i, lp in enumerate(line_pointers(page), start=1) if lp.is_used and lp.has_storage]
    for i, lp in stored:
        check_storage(header, i, lp)
    if len(stored) > MAX_HEAP_TUPLES_PER_PAGE:
        raise PageError(
            ErrorCode.TOO_MANY,
            stored[MAX_HEAP_TUPLES_PER_PAGE][0],
            f"{len(stored)} line pointers have storage: a heap page has at most {MAX_HEAP_TUPLES_PER_PAGE}",
        )
    by_offset = sorted(stored, key=lambda item: item[1].lp_off)
    for (i, lower), (j, higher) in pairwise(by_offset):
        if lower.end > higher.lp_off:
            raise PageError(ErrorCode.OVERLAP, i, f"ends at {lower.end}, past lp_off {higher.lp_off} of number {j}")


def tuple_bytes(page: bytes, lp: LinePointer) -> bytes:
    """The MAXALIGN(lp_len) bytes that `lp` points at, padding included."""
    return page[lp.lp_off : lp.end]


def init(special_size: int = 0) -> bytes:
    """An empty page (PageInit): zeroes after the header. special_size is rounded up to a multiple of 8."""
    special = BLCKSZ - maxalign(special_size)
    return build([], header=Header(pd_upper=special, pd_special=special))


def build(
    lps: Sequence[LinePointer],
    contents: Mapping[int, bytes] | None = None,
    *,
    header: Header | None = None,
    fill: bytes = bytes(BLCKSZ),
) -> bytes:
    """A page with exactly these line pointers. It need not be a valid page.

    contents: the bytes at a line pointer's lp_off, by its number; they must fit into the page. header: used as given;
    without one, pd_lower is set to the end of the line pointers and pd_upper to the lowest lp_off with storage. fill:
    8192 bytes; the page has these wherever the other arguments set none.
    """
    if len(fill) != BLCKSZ:
        raise PageError(ErrorCode.BLOCK_SIZE, 0, f"fill has {len(fill)} bytes: give {BLCKSZ}")
    if header is None:
        header = Header(
            pd_lower=SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * len(lps),
            pd_upper=min((lp.lp_off for lp in lps if lp.is_used and lp.has_storage), default=BLCKSZ),
        )
    page = bytearray(fill)
    for i, data in (contents or {}).items():
        start = lps[i - 1].lp_off
        if start + len(data) > BLCKSZ:
            raise PageError(ErrorCode.LP_END, i, f"{len(data)} bytes at lp_off {start} don't fit into the page")
        page[start : start + len(data)] = data
    page[:SIZE_OF_PAGE_HEADER] = header.pack()
    struct.pack_into(f"<{len(lps)}I", page, SIZE_OF_PAGE_HEADER, *(lp.word for lp in lps))
    return bytes(page)


def add_item(page: bytes, data: bytes) -> tuple[bytes, int]:
    """The page with a tuple added, and the number of its line pointer (PageAddItemExtended on a heap page, without an
    offset number).

    The tuple is stored directly below pd_upper. If PD_HAS_FREE_LINES hints at an UNUSED line pointer, the tuple takes
    the first one; a wrong hint is cleared. Otherwise it takes a new line pointer. If there is no room, the number is 0
    and nothing but the hint may have changed.
    """
    header = check_header(page)
    lps = line_pointers(page)
    number = len(lps) + 1
    if header.pd_flags & PD_HAS_FREE_LINES:
        free = (i for i, lp in enumerate(lps, start=1) if not lp.is_used and not lp.has_storage)
        number = next(free, number)
        if number > len(lps):
            header = header._replace(pd_flags=header.pd_flags & ~PD_HAS_FREE_LINES)
    lower = header.pd_lower + (SIZE_OF_LINE_POINTER if number > len(lps) else 0)
    upper = header.pd_upper - maxalign(len(data))
    if number > MAX_HEAP_TUPLES_PER_PAGE or lower > upper:
        return header.pack() + page[SIZE_OF_PAGE_HEADER:], 0
    lps[number - 1 : number] = [LinePointer(upper, LP_NORMAL, len(data))]
    return build(lps, {number: data}, header=header._replace(pd_lower=lower, pd_upper=upper), fill=page), number

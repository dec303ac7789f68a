# SPDX-License-Identifier: PostgreSQL
"""The corners: a corner is a name and a predicate over a page. The page decides, not the intention of its builder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from ref.compaction import Item, collect, is_presorted
from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_NORMAL,
    LP_REDIRECT,
    MAX_HEAP_TUPLES_PER_PAGE,
    MAX_LINE_POINTERS,
    PD_HAS_FREE_LINES,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    check_header,
    check_storage,
    line_pointers,
)

S = TypeVar("S")


@dataclass
class Refused:
    """A page whose header is sound, and that is refused for a line pointer or for its total."""

    header: Header
    lps: list[LinePointer]
    error: PageError

    @cached_property
    def lp(self) -> LinePointer:
        """The line pointer at fault; any one if none is."""
        return self.lps[self.error.index - 1]

    @cached_property
    def later(self) -> set[ErrorCode]:
        """Other faults behind it."""
        return {fault(self.header, other) for other in self.lps[self.error.index :]} - {ErrorCode.OK, self.error.code}

    @cached_property
    def at_item(self) -> bool:
        return ErrorCode.LP_OFF <= self.error.code <= ErrorCode.LP_END

    @cached_property
    def stored(self) -> list[LinePointer]:
        return [other for other in self.lps if other.is_used and other.has_storage]


@dataclass
class Scanned:
    """A page that is accepted: its line pointers."""

    header: Header
    lps: list[LinePointer]
    items: list[Item]

    @cached_property
    def used(self) -> list[LinePointer]:
        return [lp for lp in self.lps if lp.is_used]

    @cached_property
    def unused(self) -> list[LinePointer]:
        return [lp for lp in self.lps if not lp.is_used]

    @cached_property
    def kinds(self) -> set[tuple[int, bool]]:
        return {(lp.lp_flags, lp.has_storage) for lp in self.used}

    @cached_property
    def hint(self) -> bool:
        return bool(self.header.pd_flags & PD_HAS_FREE_LINES)


class Tuples(Scanned):
    """A page that is accepted and has tuples."""

    @cached_property
    def stored(self) -> list[LinePointer]:
        return [item.lp for item in self.items]

    @cached_property
    def falling(self) -> list[LinePointer]:
        return sorted(self.stored, key=lambda lp: -lp.lp_off)

    @cached_property
    def presorted(self) -> bool:
        return is_presorted(self.items)

    @cached_property
    def total(self) -> int:
        return sum(lp.aligned_len for lp in self.stored)

    @cached_property
    def overlaps(self) -> bool:
        return any(below.end > above.lp_off for above, below in pairwise(self.falling))

    @cached_property
    def gaps(self) -> bool:
        return not self.overlaps and self.falling[-1].lp_off + self.total < self.header.pd_special

    @cached_property
    def first_stays(self) -> bool:
        return self.stored[0].end == self.header.pd_special

    @cached_property
    def sparse(self) -> bool:
        return len(self.items) < len(self.lps) // 4


class Slots(Tuples):
    """Of long tuples of one length, out of order: a slot is a place at a multiple of the length below pd_special."""

    @property
    def holds(self) -> bool:
        """Whether it is such a page."""
        length = self.stored[0].aligned_len
        return length > 256 and all(lp.aligned_len == length for lp in self.stored) and not self.presorted

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each tuple its slot, and the bytes that it lies off it."""
        length = self.stored[0].aligned_len
        return [divmod(self.header.pd_special - lp.lp_off, length) for lp in self.stored]

    @cached_property
    def slots(self) -> list[int]:
        return [slot for slot, _ in self.places]

    @cached_property
    def rests(self) -> list[int]:
        return [rest for _, rest in self.places]

    @cached_property
    def free(self) -> int:
        """How many of the lowest slots, one for each tuple, are free."""
        return len(set(range(1, len(self.slots) + 1)) - set(self.slots))


def fault(header: Header, lp: LinePointer) -> ErrorCode:
    """What is wrong with one line pointer."""
    if lp.is_used and lp.has_storage:
        try:
            check_storage(header, 1, lp)
        except PageError as error:
            return error.code
    return ErrorCode.OK


HEADER: dict[str, Callable[[Header], bool]] = {
    "refused: pd_lower below the header's end": lambda s: s.pd_lower < SIZE_OF_PAGE_HEADER,
    "refused: pd_lower above pd_upper": lambda s: s.pd_lower > s.pd_upper,
    "refused: pd_upper above pd_special": lambda s: s.pd_upper > s.pd_special,
    "refused: pd_special above 8192": lambda s: s.pd_special > BLCKSZ,
    "refused: pd_special unaligned alone": lambda s: (
        SIZE_OF_PAGE_HEADER <= s.pd_lower <= s.pd_upper <= s.pd_special <= BLCKSZ and s.pd_special % 8 != 0
    ),
    "refused: header of zeroes": lambda s: s == Header(*[0] * len(s)),
}

REFUSED: dict[str, Callable[[Refused], bool]] = {
    "refused: lp_off below pd_upper": lambda s: s.error.code == ErrorCode.LP_OFF and s.lp.lp_off < s.header.pd_upper,
    "refused: lp_off at pd_special": lambda s: s.error.code == ErrorCode.LP_OFF and s.lp.lp_off == s.header.pd_special,
    "refused: lp_off past pd_special": lambda s: s.error.code == ErrorCode.LP_OFF and s.lp.lp_off > s.header.pd_special,
    "refused: unaligned and past the end": lambda s: (
        s.error.code == ErrorCode.LP_ALIGN and s.lp.end > s.header.pd_special
    ),
    "refused: a later one has an earlier code": lambda s: s.at_item and any(code < s.error.code for code in s.later),
    "refused: a later one has a later code": lambda s: s.at_item and any(code > s.error.code for code in s.later),
    "refused: behind garbage in an unused one": lambda s: any(
        not other.is_used and other != UNUSED for other in s.lps[: s.error.index]
    ),
    "refused: at the first": lambda s: s.error.index == 1,
    "refused: at the last": lambda s: s.error.index == len(s.lps),
    "refused: flag DEAD": lambda s: s.at_item and s.lp.lp_flags == LP_DEAD,
    "refused: flag REDIRECT": lambda s: s.at_item and s.lp.lp_flags == LP_REDIRECT,
    "refused: total too large, overlap too": lambda s: (
        s.error.code == ErrorCode.TOTAL and all(a.lp_off > b.lp_off for a, b in pairwise(s.stored))
    ),
}

SCANNED: dict[str, Callable[[Scanned], bool]] = {
    "no line pointers": lambda s: not s.lps,
    "one line pointer": lambda s: len(s.lps) == 1,
    "291 line pointers": lambda s: len(s.lps) == MAX_HEAP_TUPLES_PER_PAGE,
    "more than 291 line pointers": lambda s: len(s.lps) > MAX_HEAP_TUPLES_PER_PAGE,
    "as many line pointers as fit": lambda s: len(s.lps) == MAX_LINE_POINTERS,
    "no storage at all": lambda s: bool(s.used) and not s.items,
    "291 with storage": lambda s: len(s.items) == MAX_HEAP_TUPLES_PER_PAGE,
    "NORMAL without length": lambda s: (LP_NORMAL, False) in s.kinds,
    "REDIRECT": lambda s: (LP_REDIRECT, False) in s.kinds,
    "DEAD": lambda s: (LP_DEAD, False) in s.kinds,
    "REDIRECT with length": lambda s: (LP_REDIRECT, True) in s.kinds,
    "DEAD with length": lambda s: (LP_DEAD, True) in s.kinds,
    "garbage in an unused one": lambda s: any(lp != UNUSED for lp in s.unused),
    "all unused": lambda s: bool(s.lps) and not s.used,
    "unused at the end": lambda s: bool(s.used) and not s.lps[-1].is_used,
    "unused in the middle only": lambda s: bool(s.unused) and s.lps[-1].is_used,
    "none unused": lambda s: bool(s.used) and not s.unused,
    "hint set wrongly": lambda s: s.hint and not s.unused,
    "hint missing": lambda s: not s.hint and bool(s.unused),
    "special space": lambda s: s.header.pd_special < BLCKSZ,
    "nothing but special space": lambda s: s.header.pd_special < 64,
    "remainder in pd_lower": lambda s: (s.header.pd_lower - SIZE_OF_PAGE_HEADER) % SIZE_OF_LINE_POINTER != 0,
    "pd_upper unaligned": lambda s: s.header.pd_upper % 8 != 0,
    "unknown flags": lambda s: s.header.pd_flags > 7,
}

TUPLES: dict[str, Callable[[Tuples], bool]] = {
    "one tuple": lambda s: len(s.items) == 1,
    "a tuple of one unit": lambda s: any(lp.aligned_len == 8 for lp in s.stored),
    "lp_len not aligned": lambda s: any(lp.lp_len % 8 for lp in s.stored),
    "one tuple fills the page": lambda s: len(s.items) == 1 and s.header.pd_lower == s.header.pd_upper and not s.gaps,
    "full page": lambda s: len(s.items) > 1 and s.header.pd_special - s.header.pd_lower == s.total,
    "gaps": lambda s: s.gaps,
    "presorted, in place": lambda s: s.presorted and not s.gaps,
    "presorted, gaps": lambda s: s.presorted and s.gaps and not s.first_stays,
    "presorted, gaps, the first stays": lambda s: s.presorted and s.gaps and s.first_stays,
    "unsorted, sparse": lambda s: not s.presorted and s.sparse,
    "unsorted, dense": lambda s: not s.presorted and not s.sparse,
    "unsorted, one from sparse": lambda s: not s.presorted and len(s.items) == len(s.lps) // 4,
    "unsorted, the first stays": lambda s: not s.presorted and s.first_stays,
    "rising throughout": lambda s: len(s.items) > 1 and all(a.lp_off < b.lp_off for a, b in pairwise(s.stored)),
    "lowest tuple above pd_upper": lambda s: s.falling[-1].lp_off > s.header.pd_upper,
    "a move onto itself": lambda s: (
        s.presorted and any(0 < s.header.pd_special - lp.end < lp.aligned_len for lp in s.stored[:1])
    ),
    "equal lp_off": lambda s: any(a.lp_off == b.lp_off for a, b in pairwise(s.falling)),
    "overlap, unsorted": lambda s: s.overlaps and not s.presorted,
    "pd_upper falls": lambda s: s.header.pd_special - s.total < s.header.pd_upper,
}

SLOTS: dict[str, Callable[[Slots], bool]] = {
    "long, of one length, some in no slot": lambda s: any(s.rests),
    "long, of one length, two in one slot": lambda s: len(set(s.slots)) < len(s.slots),
    "slots, none free": lambda s: not any(s.rests) and set(s.slots) == set(range(1, len(s.slots) + 1)),
    "slots, one free": lambda s: not any(s.rests) and s.free == 1,
    "slots, more free": lambda s: not any(s.rests) and s.free > 1,
}

CODES = {code: f"refused {code.name}" for code in ErrorCode if code >= ErrorCode.HEADER}
CORNERS = (*CODES.values(), *HEADER, *REFUSED, *SCANNED, *TUPLES, *SLOTS)


def of(predicates: Mapping[str, Callable[[S], bool]], seen: S) -> set[str]:
    """The names of the predicates that hold."""
    return {name for name, holds in predicates.items() if holds(seen)}


def corners(page: bytes) -> set[str]:
    """The corners that `page` sits in, of CORNERS. page: 8192 bytes."""
    try:
        header = check_header(page)
    except PageError as error:
        return {CODES[error.code]} | of(HEADER, Header.parse(page))
    lps = line_pointers(page)
    try:
        items = collect(header, lps)
    except PageError as error:
        return {CODES[error.code]} | of(REFUSED, Refused(header, lps, error))
    found = of(SCANNED, Scanned(header, lps, items))
    if items:
        found |= of(TUPLES, Tuples(header, lps, items))
        if (slots := Slots(header, lps, items)).holds:
            found |= of(SLOTS, slots)
    return found

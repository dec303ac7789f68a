# SPDX-License-Identifier: PostgreSQL
"""Heap pages that reach every corner, sound and corrupt; and the corners by name.

A page is drawn in two steps: a `Shape` (few small choices, which Hypothesis shrinks) and the page built from it and
its seed by `random` (fast, and the same for everyone who has the shape). `corners(page)` then says which corners a page
sits in, by looking at the page alone: nothing that the builder meant to do counts.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from ref.compaction import Item, collect, is_presorted
from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_NORMAL,
    LP_REDIRECT,
    LP_UNUSED,
    MAX_HEAP_TUPLES_PER_PAGE,
    PD_HAS_FREE_LINES,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    build,
    check_header,
    check_storage,
    line_pointers,
    maxalign,
)

T = TypeVar("T")
MAX_LINE_POINTERS = (BLCKSZ - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER

# What a line pointer may be, and its weight in each of a few mixes. The first three have storage.
CLASSES = ("tuple", "dead tuple", "redirect tuple", "dead", "redirect", "unused", "unused garbage", "zero-length")
MIXES: dict[str, tuple[int, ...]] = {
    "all live": (1, 0, 0, 0, 0, 0, 0, 0),
    "mostly live": (12, 1, 1, 1, 1, 2, 1, 1),
    "half": (4, 0, 0, 1, 1, 2, 0, 0),
    "every class": (1, 1, 1, 1, 1, 1, 1, 1),
    "sparse": (1, 0, 0, 8, 4, 8, 2, 1),
    "unused": (0, 0, 0, 0, 0, 3, 1, 0),
    "no storage": (0, 0, 0, 1, 1, 1, 0, 1),
    "odd storage": (0, 1, 1, 0, 0, 1, 0, 0),
}
LAYOUTS = ("presorted", "presorted", "random", "reversed", "one swap", "rotated")
ANY_FAULTS = (0, 0, 0, 1, 1, 2)
TAILS = ("as drawn", "unused", "used")


class Source(Protocol):
    """Where choices come from."""

    def choose(self, options: Sequence[T]) -> T: ...

    def integer(self, low: int, high: int) -> int: ...


class RandomSource:
    """From a random generator: fast."""

    def __init__(self, rng: Random) -> None:
        self.choose = rng.choice
        self.integer = rng.randint


class HypothesisSource:
    """From Hypothesis: shrinks, to the first option and the lowest integer."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def choose(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


@dataclass(frozen=True)
class Shape:
    """All that makes a page; see page_of()."""

    nline: int  # line pointers, 0..2042 (fewer if the special space leaves no room)
    mix: str = "all live"  # of MIXES
    layout: str = "presorted"  # of LAYOUTS: physical order of the tuples, from pd_special downwards
    units: tuple[int, int] = (3, 8)  # range of tuple sizes, in units of 8 bytes, at least 1
    ragged: bool = False  # lp_len not a multiple of 8
    gap_percent: int = 0  # of the tuples that have free space above them
    gaps_as_tuples: bool = False  # such a gap is as large as the tuple below it; else of any size
    full: bool = False  # the last tuple takes all the space that is left
    special: int = 0  # bytes of special space, a multiple of 8
    remainder: int = 0  # bytes of pd_lower beyond the last line pointer, 0..3
    slack: int = 0  # bytes of pd_upper below the lowest tuple
    tail: str = "as drawn"  # of TAILS: what the last few line pointers are
    beyond: bool = False  # the hole begins with what would be sound line pointers
    faults: tuple[str, ...] = ()  # of FAULTS, put in one after the other
    seed: int = 0


def draw_shape(source: Source, faults: Sequence[int]) -> Shape:
    """Each choice once. faults: how many there may be, equally likely."""
    scale = source.choose(["few", "some", "many", "edge"])
    units = source.choose([(3, 8), (1, 1), (1, 4), (3, 50), (1, 120), (4, 4), (1, 24), (4, 24), (33, 33), (75, 75)])
    if scale == "edge":
        nline = source.choose([0, 1, 226, 290, 291, 291, 292, 400, MAX_LINE_POINTERS])
    else:
        nline = source.integer(0, {"few": 6, "some": 60, "many": 300}[scale])
    return Shape(
        nline=nline,
        mix=source.choose(("all live", "mostly live", *MIXES)),
        layout=source.choose(LAYOUTS),
        units=units,
        ragged=source.choose([False, True]),
        gap_percent=source.choose([0, 5, 50, 100]),
        gaps_as_tuples=source.choose([False, True]),
        full=source.choose([False, False, True]),
        special=source.choose([0, 0, 0, 8, 16, 1024, 4096, 8160]),
        remainder=source.choose([0, 0, 0, 1, 2, 3]),
        slack=source.choose([0, 0, 1, 7, 8, 500]),
        tail=source.choose(TAILS),
        beyond=source.choose([False, True]),
        faults=tuple(source.choose(FAULTS_BY_CHANCE) for _ in range(source.choose(faults))),
        seed=source.integer(0, 2**32 - 1),
    )


@st.composite
def shapes(draw: st.DrawFn, *, sound: bool = False, faults: Sequence[int] = ANY_FAULTS) -> Shape:
    """Shapes for Hypothesis. sound: without faults; else how many there may be."""
    return draw_shape(HypothesisSource(draw), (0,) if sound else faults)


@st.composite
def slotted_shapes(draw: st.DrawFn) -> Shape:
    """Shapes of pages with long tuples of one length, mostly in slots of that length, some of them free."""
    units = draw(st.integers(33, 200))
    return replace(
        draw(shapes(faults=(0, 0, 1))),
        nline=draw(st.integers(2, 31)),
        mix=draw(st.sampled_from(["all live", "mostly live", "half"])),
        layout=draw(st.sampled_from(["random", "rotated", "one swap"])),
        units=(units, units),
        gaps_as_tuples=draw(st.sampled_from([True, True, True, False])),
        full=False,
    )


@st.composite
def similar_shapes(draw: st.DrawFn) -> Shape:
    """Shapes of presorted pages with tuples of up to 192 bytes, gaps between most of them."""
    return replace(
        draw(shapes(sound=True)),
        nline=draw(st.integers(2, 60)),
        mix=draw(st.sampled_from(["all live", "mostly live", "half"])),
        layout="presorted",
        units=draw(st.sampled_from([(4, 24), (1, 24)])),
        gap_percent=draw(st.sampled_from([50, 100])),
        full=False,
    )


def random_shape(number: int, *, sound: bool = False) -> Shape:
    """Shape `number` of an endless supply that is the same everywhere."""
    return draw_shape(RandomSource(Random(number)), (0,) if sound else ANY_FAULTS)


# ---- building --------------------------------------------------------------------------------------------------------


@dataclass
class Draft:
    """A page in the making, for faults to be put in."""

    rng: Random
    lps: list[LinePointer]
    header: Header

    def stored(self) -> list[int]:
        """Indices (from 0) of the line pointers that are used and have storage."""
        return [i for i, lp in enumerate(self.lps) if lp.is_used and lp.has_storage]

    def change(self, **fields: int) -> None:
        """Replace fields of one line pointer with storage, if there is one."""
        if stored := self.stored():
            i = self.rng.choice(stored)
            self.lps[i] = self.lps[i]._replace(**fields)


def page_of(shape: Shape) -> bytes:
    """The page of a shape: sound unless it has faults. Bytes that nothing determines are random."""
    rng = Random(shape.seed)
    special = BLCKSZ - shape.special
    nline = min(shape.nline, (special - SIZE_OF_PAGE_HEADER - shape.remainder) // SIZE_OF_LINE_POINTER)
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * nline + shape.remainder

    classes = rng.choices(CLASSES, weights=MIXES[shape.mix], k=nline)
    if shape.tail != "as drawn":
        tail = rng.randint(0, min(nline, 9))
        classes[nline - tail :] = ["unused" if shape.tail == "unused" else "redirect"] * tail

    room = (special - lower) // 8  # in units of 8 bytes, as sizes and gaps
    sizes: dict[int, int] = {}
    for i, name in enumerate(classes):
        if name in CLASSES[:3]:
            size = rng.randint(*shape.units)
            if size > room or len(sizes) == MAX_HEAP_TUPLES_PER_PAGE:
                classes[i] = "dead"
            else:
                sizes[i] = size
                room -= size
    if shape.full and sizes:
        sizes[max(sizes)] += room
        room = 0

    offsets: dict[int, int] = {}
    upper = special
    for i in arrange(list(sizes), shape.layout, rng):
        if room and rng.randrange(100) < shape.gap_percent:
            gap = min(sizes[i] if shape.gaps_as_tuples else rng.randint(1, max(1, room // 8)), room)
            room -= gap
            upper -= 8 * gap
        upper -= 8 * sizes[i]
        offsets[i] = upper

    lps = []
    for i, name in enumerate(classes):
        length = 8 * sizes.get(i, 0) - (rng.randrange(8) if shape.ragged and i in sizes else 0)
        lps.append(line_pointer_of(name, offsets.get(i, 0), length, rng))
    draft = Draft(rng, lps, header_of(lower, max(upper - shape.slack, lower), special, rng))
    for fault in shape.faults:
        FAULTS[fault](draft)
    fill = bytearray(rng.randbytes(BLCKSZ))
    if shape.beyond:
        room = (BLCKSZ - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER - nline
        words = [lp.word for lp in rng.choices(lps or [UNUSED], k=min(32, room))]
        struct.pack_into(f"<{len(words)}I", fill, SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * nline, *words)
    return build(draft.lps, header=draft.header, fill=bytes(fill))


def arrange(items: list[int], layout: str, rng: Random) -> list[int]:
    """Items in physical order, from pd_special downwards."""
    match layout:
        case "random":
            rng.shuffle(items)
        case "reversed":
            items.reverse()
        case "one swap" if len(items) > 1:
            i = rng.randrange(len(items) - 1)
            items[i], items[i + 1] = items[i + 1], items[i]
        case "rotated" if items:
            i = rng.randrange(len(items))
            items = items[i:] + items[:i]
    return items


def line_pointer_of(name: str, offset: int, length: int, rng: Random) -> LinePointer:
    """One of CLASSES; offset and length are those of its storage, if it has some."""
    match name:
        case "tuple":
            return LinePointer(offset, LP_NORMAL, length)
        case "dead tuple":
            return LinePointer(offset, LP_DEAD, length)
        case "redirect tuple":
            return LinePointer(offset, LP_REDIRECT, length)
        case "dead":
            return LinePointer(0, LP_DEAD, 0)
        case "redirect":
            return LinePointer(rng.randint(1, MAX_HEAP_TUPLES_PER_PAGE), LP_REDIRECT, 0)
        case "zero-length":
            return LinePointer(rng.randrange(1 << 15), LP_NORMAL, 0)
        case "unused garbage":
            return LinePointer(rng.randrange(1 << 15), LP_UNUSED, rng.randrange(1 << 15))
    return UNUSED


def header_of(lower: int, upper: int, special: int, rng: Random) -> Header:
    """A valid header, its hints and all that compaction must not touch random."""
    return Header(
        pd_lsn=rng.getrandbits(64),
        pd_checksum=rng.getrandbits(16),
        pd_flags=rng.getrandbits(3),
        pd_lower=lower,
        pd_upper=upper,
        pd_special=special,
        pd_prune_xid=rng.getrandbits(32),
    )


# ---- faults ----------------------------------------------------------------------------------------------------------


def header_fault(**fields: Callable[[Header, Random], int]) -> Callable[[Draft], None]:
    """A fault that sets header fields."""

    def apply(draft: Draft) -> None:
        draft.header = draft.header._replace(**{name: of(draft.header, draft.rng) for name, of in fields.items()})

    return apply


def zero_header(draft: Draft) -> None:
    draft.header = Header(*[0] * len(draft.header))


def lp_off_below_upper(draft: Draft) -> None:
    draft.change(lp_off=max(maxalign(draft.header.pd_upper) - 8, 0))


def lp_off_at_special(draft: Draft) -> None:
    draft.change(lp_off=min(draft.header.pd_special, 0x7FFF))


def lp_off_past_special(draft: Draft) -> None:
    draft.change(lp_off=min(draft.header.pd_special + 8 * draft.rng.randint(1, 3000), 0x7FF8))


def lp_off_unaligned(draft: Draft) -> None:
    if stored := draft.stored():
        i = draft.rng.choice(stored)
        draft.lps[i] = draft.lps[i]._replace(lp_off=min(draft.lps[i].lp_off + draft.rng.randint(1, 7), 0x7FFF))


def end_past_special(draft: Draft) -> None:
    if stored := draft.stored():
        i = draft.rng.choice(stored)
        least = max(draft.header.pd_special - draft.lps[i].lp_off + 1, 1)
        draft.lps[i] = draft.lps[i]._replace(lp_len=min(draft.rng.choice([least, least + 7, 0x7FFF]), 0x7FFF))


def unaligned_and_end_past_special(draft: Draft) -> None:
    offset = draft.header.pd_special - draft.rng.randint(1, 7)
    draft.change(lp_off=min(max(offset, 0), 0x7FFF), lp_len=draft.rng.randint(8, 99))


def too_many(draft: Draft) -> None:
    """292 or more tuples of a unit each, presorted, no hole but what pd_special leaves."""
    n = draft.rng.choice([MAX_HEAP_TUPLES_PER_PAGE + 1, 350])
    draft.lps = [LinePointer(BLCKSZ - 8 * i, LP_NORMAL, draft.rng.randint(1, 8)) for i in range(1, n + 1)]
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * n
    draft.header = draft.header._replace(pd_lower=lower, pd_upper=BLCKSZ - 8 * n, pd_special=BLCKSZ)


def total_too_large(draft: Draft) -> None:
    """Every tuple reaches up to pd_special."""
    for i in draft.stored():
        lp = draft.lps[i]
        draft.lps[i] = lp._replace(lp_len=min(max(draft.header.pd_special - lp.lp_off, 1), 0x7FFF))


def overlap(draft: Draft) -> None:
    """One tuple is longer than its place, by a unit or more, but within the page if there is anything above it."""
    if stored := draft.stored():
        i = draft.rng.choice(stored[1:] or stored)  # presorted, there is nothing above the first
        lp = draft.lps[i]
        longer = lp.lp_len + draft.rng.choice([8, 64])
        draft.lps[i] = lp._replace(lp_len=max(1, min(longer, draft.header.pd_special - lp.lp_off, 0x7FFF)))


def same_offset(draft: Draft) -> None:
    """Two line pointers to one tuple."""
    if len(stored := draft.stored()) > 1:
        i, j = draft.rng.sample(stored, 2)
        draft.lps[i] = draft.lps[i]._replace(lp_off=draft.lps[j].lp_off, lp_len=draft.lps[j].lp_len)


def garbage_words(draft: Draft) -> None:
    for _ in range(draft.rng.randint(1, 3)):
        if draft.lps:
            draft.lps[draft.rng.randrange(len(draft.lps))] = LinePointer.from_word(draft.rng.getrandbits(32))


# Not every one makes every page unsound: what it became, corners() tells.
FAULTS: dict[str, Callable[[Draft], None]] = {
    "lp_off below pd_upper": lp_off_below_upper,
    "lp_off at pd_special": lp_off_at_special,
    "lp_off past pd_special": lp_off_past_special,
    "lp_off unaligned": lp_off_unaligned,
    "end past pd_special": end_past_special,
    "unaligned, end past pd_special": unaligned_and_end_past_special,
    "too many": too_many,
    "total too large": total_too_large,
    "overlap": overlap,
    "same lp_off": same_offset,
    "garbage words": garbage_words,
    "pd_lower below 24": header_fault(pd_lower=lambda _, rng: rng.randrange(SIZE_OF_PAGE_HEADER)),
    "pd_lower above pd_upper": header_fault(
        pd_lower=lambda h, rng: min(h.pd_upper + rng.choice([1, 100]), 0xFFFF), pd_special=lambda *_: BLCKSZ
    ),
    "pd_upper above pd_special": header_fault(
        pd_upper=lambda h, rng: min(h.pd_special + rng.choice([1, 8, 50000]), 0xFFFF)
    ),
    "pd_special above 8192": header_fault(pd_special=lambda _, rng: BLCKSZ + rng.choice([8, 50000])),
    "pd_special unaligned": header_fault(pd_special=lambda h, rng: max(h.pd_special - rng.randint(1, 7), 0)),
    "header of zeroes": zero_header,
    "flags and version garbage": header_fault(
        pd_flags=lambda _, rng: rng.getrandbits(16), pd_pagesize_version=lambda _, rng: rng.getrandbits(16)
    ),
}

# Those of the header hide all others, so the others are drawn more often; most often those that need not be refused.
CHANCES = {"overlap": 24, "same lp_off": 24}
FAULTS_BY_CHANCE = tuple(
    name for name in FAULTS for _ in range(1 if "pd_" in name.split()[0] else CHANCES.get(name, 3))
)


# ---- corners ---------------------------------------------------------------------------------------------------------


def corners(page: bytes) -> set[str]:
    """The corners that `page` sits in, of CORNERS. page: 8192 bytes."""
    try:
        header = check_header(page)
    except PageError as error:
        return {"refused " + error.code.name} | header_corners(Header.parse(page))
    lps = line_pointers(page)
    try:
        items = collect(header, lps)
    except PageError as error:
        return {"refused " + error.code.name} | refusal_corners(header, lps, error)
    found = scan_corners(header, lps, items)
    if items:
        found |= tuple_corners(header, lps, items) | slot_corners(header, items)
    return found


def reached(conditions: dict[str, bool]) -> set[str]:
    return {name for name, holds in conditions.items() if holds}


def header_corners(header: Header) -> set[str]:
    _, _, _, lower, upper, special, _, _ = header
    return reached(
        {
            "refused: pd_lower below the header's end": lower < SIZE_OF_PAGE_HEADER,
            "refused: pd_lower above pd_upper": lower > upper,
            "refused: pd_upper above pd_special": upper > special,
            "refused: pd_special above 8192": special > BLCKSZ,
            "refused: pd_special unaligned alone": (
                SIZE_OF_PAGE_HEADER <= lower <= upper <= special <= BLCKSZ and special % 8 != 0
            ),
            "refused: header of zeroes": header == Header(*[0] * len(header)),
        }
    )


def refusal_corners(header: Header, lps: list[LinePointer], error: PageError) -> set[str]:
    lp = lps[error.index - 1]
    later = {fault(header, other) for other in lps[error.index :]} - {ErrorCode.OK, error.code}
    at_item = ErrorCode.LP_OFF <= error.code <= ErrorCode.LP_END
    stored = [other for other in lps if other.is_used and other.has_storage]
    return reached(
        {
            "refused: lp_off below pd_upper": error.code == ErrorCode.LP_OFF and lp.lp_off < header.pd_upper,
            "refused: lp_off at pd_special": error.code == ErrorCode.LP_OFF and lp.lp_off == header.pd_special,
            "refused: lp_off past pd_special": error.code == ErrorCode.LP_OFF and lp.lp_off > header.pd_special,
            "refused: unaligned and past the end": error.code == ErrorCode.LP_ALIGN and lp.end > header.pd_special,
            "refused: a later one has an earlier code": at_item and any(code < error.code for code in later),
            "refused: a later one has a later code": at_item and any(code > error.code for code in later),
            "refused: behind garbage in an unused one": any(
                not other.is_used and other != UNUSED for other in lps[: error.index]
            ),
            "refused: at the first": error.index == 1,
            "refused: at the last": error.index == len(lps),
            "refused: flag DEAD": at_item and lp.lp_flags == LP_DEAD,
            "refused: flag REDIRECT": at_item and lp.lp_flags == LP_REDIRECT,
            "refused: total too large, overlap too": error.code == ErrorCode.TOTAL
            and all(a.lp_off > b.lp_off for a, b in pairwise(stored)),
        }
    )


def fault(header: Header, lp: LinePointer) -> ErrorCode:
    if lp.is_used and lp.has_storage:
        try:
            check_storage(header, 1, lp)
        except PageError as error:
            return error.code
    return ErrorCode.OK


def scan_corners(header: Header, lps: list[LinePointer], items: list[Item]) -> set[str]:
    used = [lp for lp in lps if lp.is_used]
    unused = [lp for lp in lps if not lp.is_used]
    kinds = {(lp.lp_flags, lp.has_storage) for lp in used}
    hint = bool(header.pd_flags & PD_HAS_FREE_LINES)
    return reached(
        {
            "no line pointers": not lps,
            "one line pointer": len(lps) == 1,
            "291 line pointers": len(lps) == MAX_HEAP_TUPLES_PER_PAGE,
            "more than 291 line pointers": len(lps) > MAX_HEAP_TUPLES_PER_PAGE,
            "as many line pointers as fit": len(lps) == MAX_LINE_POINTERS,
            "no storage at all": bool(used) and not items,
            "291 with storage": len(items) == MAX_HEAP_TUPLES_PER_PAGE,
            "NORMAL without length": (LP_NORMAL, False) in kinds,
            "REDIRECT": (LP_REDIRECT, False) in kinds,
            "DEAD": (LP_DEAD, False) in kinds,
            "REDIRECT with length": (LP_REDIRECT, True) in kinds,
            "DEAD with length": (LP_DEAD, True) in kinds,
            "garbage in an unused one": any(lp != UNUSED for lp in unused),
            "all unused": bool(lps) and not used,
            "unused at the end": bool(used) and not lps[-1].is_used,
            "unused in the middle only": bool(unused) and lps[-1].is_used,
            "none unused": bool(used) and not unused,
            "hint set wrongly": hint and not unused,
            "hint missing": not hint and bool(unused),
            "special space": header.pd_special < BLCKSZ,
            "nothing but special space": header.pd_special < 64,
            "remainder in pd_lower": (header.pd_lower - SIZE_OF_PAGE_HEADER) % SIZE_OF_LINE_POINTER != 0,
            "pd_upper unaligned": header.pd_upper % 8 != 0,
            "unknown flags": header.pd_flags > 7,
        }
    )


def tuple_corners(header: Header, lps: list[LinePointer], items: list[Item]) -> set[str]:
    stored = [item.lp for item in items]
    falling = sorted(stored, key=lambda lp: -lp.lp_off)
    presorted = is_presorted(items)
    total = sum(lp.aligned_len for lp in stored)
    overlaps = any(below.end > above.lp_off for above, below in pairwise(falling))
    gaps = not overlaps and falling[-1].lp_off + total < header.pd_special
    first_stays = stored[0].end == header.pd_special
    sparse = len(items) < len(lps) // 4
    return reached(
        {
            "one tuple": len(items) == 1,
            "a tuple of one unit": any(lp.aligned_len == 8 for lp in stored),
            "lp_len not aligned": any(lp.lp_len % 8 for lp in stored),
            "one tuple fills the page": len(items) == 1 and header.pd_lower == header.pd_upper and not gaps,
            "full page": len(items) > 1 and header.pd_special - header.pd_lower == total,
            "gaps": gaps,
            "presorted, in place": presorted and not gaps,
            "presorted, gaps": presorted and gaps and not first_stays,
            "presorted, gaps, the first stays": presorted and gaps and first_stays,
            "unsorted, sparse": not presorted and sparse,
            "unsorted, dense": not presorted and not sparse,
            "unsorted, one from sparse": not presorted and len(items) == len(lps) // 4,
            "unsorted, the first stays": not presorted and first_stays,
            "rising throughout": len(items) > 1 and all(a.lp_off < b.lp_off for a, b in pairwise(stored)),
            "lowest tuple above pd_upper": falling[-1].lp_off > header.pd_upper,
            "a move onto itself": presorted
            and any(0 < header.pd_special - lp.end < lp.aligned_len for lp in stored[:1]),
            "equal lp_off": any(a.lp_off == b.lp_off for a, b in pairwise(falling)),
            "overlap, unsorted": overlaps and not presorted,
            "pd_upper falls": header.pd_special - total < header.pd_upper,
        }
    )


def slot_corners(header: Header, items: list[Item]) -> set[str]:
    """Of long tuples of one length: a slot is a place at a multiple of it below pd_special."""
    length = items[0].lp.aligned_len
    if length <= 256 or any(item.lp.aligned_len != length for item in items) or is_presorted(items):
        return set()
    slots, rests = zip(*(divmod(header.pd_special - item.lp.lp_off, length) for item in items), strict=True)
    return reached(
        {
            "long, of one length, some in no slot": any(rests),
            "long, of one length, two in one slot": len(set(slots)) < len(slots),
            "slots, none free": not any(rests) and set(slots) == set(range(1, len(slots) + 1)),
            "slots, one free": not any(rests) and len(set(range(1, len(slots) + 1)) - set(slots)) == 1,
            "slots, more free": not any(rests) and len(set(range(1, len(slots) + 1)) - set(slots)) > 1,
        }
    )


CORNERS = (
    *(f"refused {code.name}" for code in ErrorCode if code >= ErrorCode.HEADER),
    "refused: pd_lower below the header's end",
    "refused: pd_lower above pd_upper",
    "refused: pd_upper above pd_special",
    "refused: pd_special above 8192",
    "refused: pd_special unaligned alone",
    "refused: header of zeroes",
    "refused: lp_off below pd_upper",
    "refused: lp_off at pd_special",
    "refused: lp_off past pd_special",
    "refused: unaligned and past the end",
    "refused: a later one has an earlier code",
    "refused: a later one has a later code",
    "refused: behind garbage in an unused one",
    "refused: at the first",
    "refused: at the last",
    "refused: flag DEAD",
    "refused: flag REDIRECT",
    "refused: total too large, overlap too",
    "no line pointers",
    "one line pointer",
    "291 line pointers",
    "more than 291 line pointers",
    "as many line pointers as fit",
    "no storage at all",
    "291 with storage",
    "NORMAL without length",
    "REDIRECT",
    "DEAD",
    "REDIRECT with length",
    "DEAD with length",
    "garbage in an unused one",
    "all unused",
    "unused at the end",
    "unused in the middle only",
    "none unused",
    "hint set wrongly",
    "hint missing",
    "special space",
    "nothing but special space",
    "remainder in pd_lower",
    "pd_upper unaligned",
    "unknown flags",
    "one tuple",
    "a tuple of one unit",
    "lp_len not aligned",
    "one tuple fills the page",
    "full page",
    "gaps",
    "presorted, in place",
    "presorted, gaps",
    "presorted, gaps, the first stays",
    "unsorted, sparse",
    "unsorted, dense",
    "unsorted, one from sparse",
    "unsorted, the first stays",
    "rising throughout",
    "lowest tuple above pd_upper",
    "a move onto itself",
    "equal lp_off",
    "overlap, unsorted",
    "pd_upper falls",
    "long, of one length, some in no slot",
    "long, of one length, two in one slot",
    "slots, none free",
    "slots, one free",
    "slots, more free",
)

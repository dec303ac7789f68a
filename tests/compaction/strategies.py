# SPDX-License-Identifier: PostgreSQL
"""Pages at the edges of the ways by which kernels move tuples: an odd pd_upper, a tiny pd_special, overlaps.

A kernel chooses its way by the number of tuples, by the longest, by their order, and by how near to the page's start
they lie. Each way has a guard. A page lies at its edge if a guard that is a little off would let the kernel touch bytes
outside its bounds, or accept what must be refused.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from random import Random

from hypothesis import strategies as st

from ref.compaction import collect
from ref.page import (
    BLCKSZ,
    LP_NORMAL,
    MAX_HEAP_TUPLES_PER_PAGE,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    build,
    check_header,
    line_pointers,
    maxalign,
)
from tests.compaction.corners import Tuples, of
from tests.page.shapes import HypothesisSource, RandomSource, Source

FEW = 16
"""Kernels have ways of their own for so many tuples."""
LENGTHS = (32, 64, 192, 256, 512, BLCKSZ)
"""Bytes of the longest tuple, up to which a way goes."""
ORDERS = ("in order", "in order", "shuffled", "last two swapped")


@dataclass(frozen=True)
class Edge:
    """All that makes such a page; see edge_page(). Lengths are in units of 8 bytes."""

    ntuples: int  # fewer if they do not fit
    longest: int
    shortest: int
    order: str = "in order"  # of ORDERS
    unused: int = 0  # line pointers scattered among the tuples
    gap_percent: int = 0  # of the tuples that have free space above them
    overlap: int = 0  # how many units, in all, tuples reach up beyond their places; fewer if there is no room
    tiny: bool = False  # pd_special right above the tuples, and these near the line pointers
    above: int = 0  # units between the line pointers and the lowest tuple of a tiny page
    slack: int = 0  # bytes of pd_upper below the lowest tuple
    remainder: int = 0  # of pd_lower
    seed: int = 0


def draw_edge(source: Source) -> Edge:
    """Each choice once."""
    longest = source.choose([1, 4, 8, 24, 32, 64, 130])
    return Edge(
        ntuples=source.integer(1, source.choose([7, FEW, 60, 60])),
        longest=longest,
        shortest=source.choose([1, 1, (longest + 1) // 2, longest]),
        order=source.choose(ORDERS),
        unused=source.choose([0, 0, 1, 7]),
        gap_percent=source.choose([0, 0, 50, 100]),
        overlap=source.choose([0, 0, 1, 4, 100]),
        tiny=source.choose([False, True]),
        above=source.integer(0, 4),
        slack=source.integer(0, 7),
        remainder=source.integer(0, 3),
        seed=source.integer(0, 2**32 - 1),
    )


@st.composite
def edges(draw: st.DrawFn) -> Edge:
    return draw_edge(HypothesisSource(draw))


def random_edge(number: int) -> Edge:
    """Edge `number` of an endless supply that is the same everywhere."""
    return draw_edge(RandomSource(Random(number)))


def lengths_of(edge: Edge, room: int, rng: Random) -> list[int]:
    """In units, `room` at most. The longest is anywhere; if the last two are to be swapped, these are short."""
    longest = rng.choice([edge.shortest, (edge.shortest + edge.longest) // 2, edge.longest])
    lengths = [rng.randint(edge.shortest, longest) for _ in range(edge.ntuples)]
    lengths[rng.randrange(len(lengths))] = edge.longest
    if edge.order == "last two swapped" and len(lengths) > 2:
        lengths[-2:] = [rng.randint(1, 2), rng.randint(1, 2)]
    while sum(lengths) > room:
        lengths.remove(sorted(lengths)[-2])
    return lengths


def edge_page(edge: Edge) -> bytes:
    """The page of an edge. Bytes that nothing determines are random."""
    rng = Random(edge.seed)
    nline = edge.ntuples + edge.unused
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * nline + edge.remainder
    bottom = maxalign(lower) + 8 * edge.above
    lengths = lengths_of(edge, (BLCKSZ - bottom) // 8, rng)
    physical = list(range(len(lengths)))  # from pd_special downwards
    if edge.order == "shuffled":
        rng.shuffle(physical)
    elif edge.order == "last two swapped":
        physical[-2:] = reversed(physical[-2:])
    room = (BLCKSZ - bottom) // 8 - sum(lengths)
    gaps = [min(rng.randint(1, 3), room // len(lengths)) * (rng.randrange(100) < edge.gap_percent) for _ in lengths]
    special = bottom + 8 * (sum(lengths) + sum(gaps)) if edge.tiny else BLCKSZ

    offsets, at = [0] * len(lengths), special
    for i in physical:
        at -= 8 * (lengths[i] + gaps[i])
        offsets[i] = at
    spare = min(edge.overlap, (special - lower) // 8 - sum(lengths))
    for _ in range(spare):
        if longer := [i for i in physical if offsets[i] + 8 * lengths[i] < special]:
            lengths[rng.choice(longer)] += 1

    tuples = [LinePointer(off, LP_NORMAL, 8 * n - rng.choice([0, 3])) for off, n in zip(offsets, lengths, strict=True)]
    places = sorted(rng.sample(range(nline), len(tuples)))
    lps = [UNUSED] * nline
    for place, lp in zip(places, tuples, strict=True):
        lps[place] = lp
    header = Header(pd_lower=lower, pd_upper=max(at - edge.slack, lower), pd_special=special)
    return build(lps, header=header, fill=rng.randbytes(BLCKSZ))


# ---- what a page is: the page decides, not the intention of its builder ----------------------------------------------


class Moving(Tuples):
    """A page that is accepted, of which a tuple is not in place."""

    @cached_property
    def odd(self) -> bool:
        return self.header.pd_upper % 2 == 1

    @cached_property
    def few(self) -> bool:
        return len(self.items) <= FEW

    @cached_property
    def longest(self) -> int:
        """The least of LENGTHS that holds the longest tuple."""
        return min(length for length in LENGTHS if max(lp.aligned_len for lp in self.stored) <= length)

    @cached_property
    def shortest(self) -> int:
        return min(lp.aligned_len for lp in self.stored)

    @cached_property
    def new_upper(self) -> int:
        return self.header.pd_special - self.total

    @cached_property
    def moved(self) -> int:
        """Bytes below the tuples that are in place; 0: all are."""
        end = self.header.pd_special
        for lp in self.stored:
            if lp.end != end:
                break
            end = lp.lp_off
        return end - self.new_upper


def way(order: bool, few: bool, longest: int) -> str:
    """The name of a way."""
    reach = f"up to {longest} bytes" if longest < BLCKSZ else "longer"
    return f"{'few' if few else 'many'} tuples, {reach}, {'in order' if order else 'out of order'}"


def of_way(order: bool, few: bool, longest: int) -> Callable[[Moving], bool]:
    return lambda s: (s.presorted, s.few, s.longest) == (order, few, longest)


def ways() -> dict[str, Callable[[Moving], bool]]:
    """Each way with an odd pd_upper; those out of order with an overlap too, and again with an odd pd_upper."""
    found: dict[str, Callable[[Moving], bool]] = {}
    for order, few, longest in product((True, False), (True, False), LENGTHS):
        name, takes = way(order, few, longest), of_way(order, few, longest)
        found[f"odd pd_upper: {name}"] = lambda s, takes=takes: s.odd and takes(s)  # type: ignore[misc]
        if not order:
            found[f"overlap: {name}"] = lambda s, takes=takes: s.overlaps and takes(s)  # type: ignore[misc]
            found[f"overlap, odd pd_upper: {name}"] = lambda s, takes=takes: s.overlaps and s.odd and takes(s)  # type: ignore[misc]
    return found


ACCEPTED: dict[str, Callable[[Moving], bool]] = ways() | {
    "pd_upper from 64 on becomes less, tuples up to 32 bytes": lambda s: (
        s.new_upper < 64 <= s.header.pd_upper and s.longest == 32
    ),
    "pd_upper from 64 on becomes less, tuples up to 64 bytes": lambda s: (
        s.new_upper < 64 <= s.header.pd_upper and s.longest == 64
    ),
    "pd_upper stays below 64, in order": lambda s: s.presorted and s.new_upper < 64,
    "pd_upper stays below 64, longer tuples": lambda s: s.new_upper < 64 and s.longest > 64,
    "less than 32 bytes move, out of order, odd pd_upper": lambda s: (
        0 < s.moved < 32 and not s.presorted and s.odd and s.longest > 32
    ),
    "less than 64 bytes move, out of order, odd pd_upper": lambda s: 32 <= s.moved < 64 and not s.presorted and s.odd,
    "in order, from 32 to 256 bytes, many gaps": lambda s: (
        s.presorted and s.gaps and len(s.lps) > FEW and s.longest == 256 and s.shortest >= 32
    ),
}


@dataclass
class Overlapping:
    """A page that is refused for an overlap."""

    lps: list[LinePointer]
    index: int

    @cached_property
    def before(self) -> list[LinePointer]:
        """The first 8 line pointers with storage: a vector of AVX2."""
        return [lp for lp in self.lps[:8] if lp.is_used]


REFUSED: dict[str, Callable[[Overlapping], bool]] = {
    "refused overlap: few line pointers": lambda s: len(s.lps) <= FEW,
    "refused overlap: more line pointers": lambda s: len(s.lps) > FEW,
    "refused overlap: with the last before the 8th line pointer, and one is unused": lambda s: (
        len(s.lps) <= FEW
        and s.index > 8
        and 0 < len(s.before) < 8
        and not any(lp.is_used for lp in s.lps[8 : s.index - 1])
    ),
}
CLASSES = (*ACCEPTED, *REFUSED)


def classes(page: bytes) -> set[str]:
    """Those of CLASSES that a page is of."""
    header, lps = check_header(page), line_pointers(page)
    try:
        found = Moving(header, lps, collect(header, lps))
    except PageError as error:
        return of(REFUSED, Overlapping(lps, error.index)) if error.code == ErrorCode.OVERLAP else set()
    return of(ACCEPTED, found) if found.items and found.moved else set()


# ---- pages at each limit of a page -----------------------------------------------------------------------------------


def filled(lps: list[LinePointer], upper: int, special: int, remainder: int = 0) -> bytes:
    """A page with these line pointers. Its tuples differ from each other in each byte that may move."""
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * len(lps) + remainder
    fill = Random(len(lps)).randbytes(BLCKSZ)
    return build(lps, header=Header(pd_lower=lower, pd_upper=upper, pd_special=special), fill=fill)


def run_of(ntuples: int, top: int, length: int) -> list[LinePointer]:
    """Each ends where the one before it starts, the first at `top`."""
    step = maxalign(length)
    return [LinePointer(top - step * i, LP_NORMAL, length) for i in range(1, ntuples + 1)]


def header_corners() -> Iterator[bytes]:
    """Each of pd_lower, pd_upper, pd_special at, below and above each bound that it has; no line pointer is used."""
    start, end = SIZE_OF_PAGE_HEADER, BLCKSZ
    near_start = (start - 1, start, start + 1, start + 3, start + 4, start + 8)
    values = (0, *near_start, end - 8, end - 7, end - 1, end, end + 1, end + 8, 0xFFFF)
    for lower, upper, special in product(values, repeat=3):
        page = bytearray(BLCKSZ)
        page[:SIZE_OF_PAGE_HEADER] = Header(pd_lower=lower, pd_upper=upper, pd_special=special).pack()
        yield bytes(page)


def numbers_of_tuples() -> Iterator[bytes]:
    """No tuple to one more than a page can have, in place or below a gap, in either order, among unused ones or not."""
    most = MAX_HEAP_TUPLES_PER_PAGE
    for ntuples, gap, unused in product((0, 1, 2, most - 1, most, most + 1), (0, 8), (0, 1, 40)):
        for special, at in product((BLCKSZ, BLCKSZ - 16), {0, ntuples // 2, ntuples}):
            above = run_of(at, special, 9)
            tuples = above + run_of(ntuples - at, special - 16 * at - gap, 9)
            upper = special - 16 * ntuples - gap
            for lps in (tuples, tuples[::-1]):
                yield filled([UNUSED] * unused + lps, upper, special)
                yield filled(lps[:at] + [UNUSED] * unused + lps[at:], upper, special, remainder=3)


def runs_at_pd_upper() -> Iterator[bytes]:
    """A run of tuples, in place or below a gap, of which the last lies at pd_upper, above it or, in part, below it."""
    for ntuples, in_place, unused in product((1, 2, 7, 8, 9, 15, 16, 17, 33, 200), (0, 1, 3), (0, 1, 9)):
        top = BLCKSZ - 24 * in_place
        for gap in (0, 8):
            run = run_of(ntuples, top - gap, 24)
            lps = [*run_of(in_place, BLCKSZ, 24), *[UNUSED] * unused, *run]
            for upper in {run[-1].lp_off + more for more in (-8, -1, 0, 1, 4, 7, 8, 24)} | {run[0].lp_off + 1}:
                yield filled(lps, upper, BLCKSZ)


def line_pointers_at_bounds() -> Iterator[bytes]:
    """One of some line pointers has lp_off and lp_len at, below and above each bound."""
    upper, special = BLCKSZ - 64, BLCKSZ - 16
    offsets = (0, 8, upper - 8, upper - 1, upper, upper + 4, special - 8, special - 1, special, BLCKSZ, 0x7FFF)
    for off, flags, (before, behind) in product(offsets, range(4), ((0, 0), (1, 0), (0, 1), (9, 9))):
        reach = max(special - off, 0)
        for length in {0, 1, 7, 8, 9, max(reach - 7, 0), reach, reach + 1, 0x7FFF}:
            lps = [UNUSED] * before + [LinePointer(off, flags, length)] + run_of(behind and 1, upper + 8, 8) * behind
            yield filled(lps, upper, special)


def totals_at_the_room() -> Iterator[bytes]:
    """Tuples out of order that overlap: their sum is what lies between pd_lower and pd_special, or 8 bytes off that."""
    for ntuples, special, remainder in product((2, 9, 17, 291), (BLCKSZ, BLCKSZ - 4096), (0, 3)):
        room = special - (SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * ntuples + remainder)
        each = room // ntuples // 8 * 8
        for total in (room // 8 * 8 - 8, room // 8 * 8, room // 8 * 8 + 8):
            lengths = [total - each * (ntuples - 1), *[each] * (ntuples - 1)]
            at = [special - maxalign(max(lengths)) - 8 * (ntuples - i) % 64 for i in range(ntuples)]
            lps = [LinePointer(off, LP_NORMAL, length) for off, length in zip(at, lengths, strict=True)]
            yield filled(lps, special - room, special, remainder)


LIMITS = (header_corners, numbers_of_tuples, runs_at_pd_upper, line_pointers_at_bounds, totals_at_the_room)

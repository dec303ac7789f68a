# SPDX-License-Identifier: PostgreSQL
"""The operations themselves. All ways end in the same bytes: these do not say that C went a way that was proved.

Each memcpy and memmove of pg13, pg14 and scalar (traced.c) is held against the operations of the proved algorithms, each
place where avx2 and avx512 read or write a tuple too. Of the ways that a kernel has it must take the one that the proved
choice names: all give the same page, so nothing else would tell. Of each way it is tested that the extracted program goes
it when it is asked for it.
"""

import struct
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest
from pgquern import compaction

from tests.compaction.strategies import edge_page, random_edge
from tests.compaction.test_extracted import PROGRAM, PROVED
from tests.page.build import page_of
from tests.page.shapes import random_shape
from tests.tally import tally

TRACED = Path(__file__).parents[2] / "build" / "traced" / "compaction"
MOVE, SAVE, RESTORE, STORE16, STORE32 = range(5)
PLANS = 64
"""Added to the algorithm: the program answers with the operations, and does none of them."""
HEADER_STORES = 3
TRACED_NUMBER = {"pg13": 0, "pg14": 1, "scalar": 2, "avx2": 3, "avx512": 4}

Operation = tuple[int, int, int, int]


class Plan(NamedTuple):
    """What is done to a page, or its refusal."""

    code: int
    at: int
    operations: list[Operation]

    @property
    def copies(self) -> list[Operation]:
        return [operation for operation in self.operations if operation[0] <= RESTORE]

    @property
    def stores(self) -> list[Operation]:
        return [operation for operation in self.operations if operation[0] > RESTORE]

    def shifted(self) -> list[Operation]:
        """The copies, as traced.c shows them: it does not know where scratch begins."""
        by = next((start - to for what, to, start, _ in self.copies if what == SAVE), 0)
        shifts = {MOVE: (0, 0), SAVE: (by, 0), RESTORE: (0, by)}
        return [(what, to + shifts[what][0], start + shifts[what][1], n) for what, to, start, n in self.copies]

    def moves(self) -> bool:
        return any(what != SAVE and length > 0 for what, _, _, length in self.copies)

    def lengths(self, kind: int) -> list[int]:
        return [length for what, _, _, length in self.copies if what == kind]

    def kinds(self) -> list[int]:
        return [what for what, *_ in self.copies]


@cache
def pages() -> list[bytes]:
    """Sound and corrupt, on the edges too."""
    return [page_of(random_shape(number)) for number in range(1200)] + [edge_page(random_edge(n)) for n in range(400)]


def plans(program: Path, algorithm: int, truncate: bool) -> list[Plan]:
    """The operations on each page."""
    if not program.exists():
        pytest.fail(f"{program} is not built: run `make oracle test-python-compaction`")
    records = b"".join(bytes([algorithm, truncate]) + page for page in pages())
    answers = subprocess.run([program], input=records, stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    for _ in pages():
        code, index, n = struct.unpack_from("<BHI", answers, at)
        at += 7
        found.append(Plan(code, index, list(struct.iter_unpack("<iiii", answers[at : at + 16 * n]))))
        at += 16 * n
    assert at == len(answers)
    return found


@cache
def proved(way: str, truncate: bool) -> list[Plan]:
    return plans(PROGRAM, PLANS + PROVED[way][0], truncate)


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("way", ["pg13", "pg14"])
def test_upstreams_ways_are_the_proved_ones(way: str, truncate: bool) -> None:
    """The same copies and stores, in the same order; or the same refusal."""
    for got, want in zip(plans(TRACED, PROVED[way][0], truncate), proved(way, truncate), strict=True):
        assert got == want
    tally("compaction", "pages traced", len(pages()))


OF_SCALAR = ["runs", "windows of 32", "windows of 64", "slots", "each exactly, from the area"]


@pytest.mark.parametrize("truncate", [False, True])
def test_scalar_goes_the_way_that_is_proved(truncate: bool) -> None:
    """On each page its copies are those of the way chosen; then come line pointers and header as proved.

    It leaves out stores that change nothing.
    """
    taken: Counter[str] = Counter()
    candidates = [proved(way, truncate) for way in OF_SCALAR]
    chosen = proved("as scalar chooses", truncate)
    for page, got, want, *ways in zip(pages(), plans(TRACED, 2, truncate), chosen, *candidates, strict=True):
        assert (got.code, got.at) == (want.code, want.at)
        assert want.shifted() == got.copies
        taken.update(way for way, plan in zip(OF_SCALAR, ways, strict=True) if got.copies and plan.copies == want.copies)
        assert got.operations == got.copies + got.stores
        assert got.stores[-HEADER_STORES:] == want.stores[-HEADER_STORES:]
        left = iter(want.stores[:-HEADER_STORES])
        for store in got.stores[:-HEADER_STORES]:
            for other in left:
                if other == store:
                    break
                assert struct.unpack_from("<I", page, other[1])[0] == other[2] & 0xFFFFFFFF
            else:
                pytest.fail(f"{store} is no store that is proved, or out of order")
        for other in left:
            assert struct.unpack_from("<I", page, other[1])[0] == other[2] & 0xFFFFFFFF
    assert min(taken[way] for way in OF_SCALAR) >= 5, taken


Access = tuple[int, int]
"""Where it begins, and how many bytes it has."""


def reads(plan: Plan) -> list[Access]:
    return [(start, n) for what, _, start, n in plan.copies if what in (MOVE, SAVE)]


def writes(plan: Plan) -> list[Access]:
    return [(to, n) for what, to, _, n in plan.copies if what in (MOVE, RESTORE)]


def assert_in_pieces(got: list[Access], wanted: list[Access]) -> None:
    """Each access that is proved is one of the kernel's, or several that go upwards through it from its start to its end.

    Pieces may overlap, and the last one may be read or written twice.
    """
    at = 0
    for (start, length), then in zip_longest(wanted, (next_start for next_start, _ in wanted[1:])):
        end = reached = start
        end += length
        while reached < end:
            assert at < len(got), f"{start}, {length}: nothing is left of {got}"
            piece, n = got[at]
            assert piece == start if reached == start else start < piece <= reached, (start, length, got[at])
            assert piece + n <= end, (start, length, got[at])
            reached = max(reached, piece + n)
            at += 1
        if at < len(got) and sum(got[at]) == end and start <= got[at][0] != then:
            at += 1
    assert at == len(got), f"{got[at:]} are proved nowhere"


def assert_by_lines(got: list[Access], wanted: list[Access]) -> None:
    """Squeezing reads the hole, and then whole lines downwards; the proof takes the live units out of each, downwards too."""
    assert got[0] == wanted[0]
    assert all(start % 64 == 0 and n == 64 for start, n in got[1:])
    assert all(below[0] == above[0] - 64 for above, below in pairwise(got[1:]))
    lines = iter(got[1:])
    line = next(lines)
    for start, n in wanted[1:]:
        while start < line[0]:
            line = next(lines)
        assert start + n <= sum(line)
    assert not list(lines)


WAYS_BY_VECTORS = {
    "avx2": ["runs by vectors of 32", "windows of 32", "windows of 64", "windows of 256", "each exactly", "slots"]
    + ["each exactly, from the area"],
    "avx512": ["runs by vectors of 64", "slide", "climb", "squeeze", "windows of 64", "windows of 256", "slots", "by depth"]
    + ["whole lines", "each exactly"],
}
"""Those that the extracted program knows by number; some of other widths are only asked for by a choice."""


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("variant", WAYS_BY_VECTORS)
def test_vectors_go_the_way_that_is_proved(variant: str, truncate: bool) -> None:
    """On each page the kernel reads and writes what the way chosen does, in its order."""
    if not {row.name: row for row in compaction.variants()}[variant].supported:
        pytest.skip(f"this CPU cannot run {variant}")
    taken: Counter[str] = Counter()
    names = [*WAYS_BY_VECTORS[variant], "permute"]
    number = TRACED_NUMBER[variant]
    traced, chosen = plans(TRACED, number, truncate), proved(f"as {variant} chooses", truncate)
    for got, want, *ways in zip(traced, chosen, *(proved(way, truncate) for way in names), strict=True):
        assert (got.code, got.at) == (want.code, want.at)
        assert_in_pieces(writes(got), writes(want))
        took = {way for way, plan in zip(names, ways, strict=True) if got.copies and plan.copies == want.copies}
        if took == {"squeeze"}:
            assert_by_lines(reads(got), reads(want))
        elif is_any_permute(want):
            assert sorted(reads(got)) == sorted(reads(want))
            took.add("permute")
        else:
            assert_in_pieces(reads(got), reads(want))
        taken.update(took)
    assert min(taken[way] for way in names) >= 5, taken


def by_windows(width: int) -> Callable[[Plan], bool]:
    """Windows of one width to scratch, then all back by one copy."""
    return lambda plan: (
        set(plan.lengths(SAVE)) == {width} and plan.kinds() == [SAVE] * (len(plan.copies) - 1) + [RESTORE]
    )


def by_vectors(width: int) -> Callable[[Plan], bool]:
    """No copy but short ones of that width or less, and memmoves of long runs."""
    return lambda plan: (
        all(length <= width or length >= 8 * width for length in plan.lengths(MOVE)) and RESTORE in plan.kinds()
    )


def is_runs(plan: Plan) -> bool:
    return set(plan.kinds()) == {MOVE} or (is_area(plan) and plan.lengths(SAVE)[0] > 64)


def is_exact(plan: Plan) -> bool:
    return sum(plan.lengths(SAVE)) == plan.copies[-1][3] and plan.kinds() == [SAVE] * (len(plan.copies) - 1) + [RESTORE]


def is_squeeze(plan: Plan) -> bool:
    return set(plan.lengths(SAVE)) == {8, 64} and set(plan.lengths(RESTORE)) == {64} and MOVE not in plan.kinds()


def is_permute(plan: Plan) -> bool:
    half = len(plan.copies) // 2
    return plan.kinds() == [SAVE] * half + [RESTORE] * half and {length for *_, length in plan.copies} == {64}


def is_any_permute(plan: Plan) -> bool:
    """All windows of one width are read before one is written."""
    half = len(plan.copies) // 2
    return half > 1 and plan.kinds() == [SAVE] * half + [RESTORE] * half and len({n for *_, n in plan.copies}) == 1


def is_slide(plan: Plan) -> bool:
    batches = len(plan.copies) // 16
    return plan.kinds() == [SAVE] * 8 + ([SAVE] * 8 + [RESTORE] * 8) * batches


def is_climb(plan: Plan) -> bool:
    tuples = len(plan.copies) // 12
    return plan.kinds() == ([SAVE] * 6 + [RESTORE] * 6) * tuples and {length for *_, length in plan.copies} == {32}


def is_lines(plan: Plan) -> bool:
    return plan.kinds()[:2] == [SAVE, SAVE] and SAVE not in plan.kinds()[2:] and set(plan.lengths(RESTORE)) == {64}


def is_area(plan: Plan) -> bool:
    return plan.kinds() == [SAVE] + [RESTORE] * (len(plan.copies) - 1)


def is_slots(plan: Plan) -> bool:
    return len({length for *_, length in plan.copies}) == 1 and plan.copies[0][3] >= 264


SHAPES: dict[str, Callable[[Plan], bool]] = {
    "windows of 32": by_windows(32),
    "windows of 64": by_windows(64),
    "windows of 64 for all": by_windows(64),
    "windows of 256": by_windows(256),
    "each exactly": is_exact,
    "squeeze": is_squeeze,
    "permute": is_permute,
    "slide": is_slide,
    "climb": is_climb,
    "whole lines": is_lines,
    "each exactly, from the area": is_area,
    "by depth": by_windows(64),
    "runs by vectors of 64": by_vectors(64),
    "runs by vectors of 32": by_vectors(32),
    "slots": is_slots,
}
"""What the copies of a way look like, where it does not go by runs instead."""
WHOLE = ("permute", "windows of 64 for all")
"""These do not look at what is in place; where they go by runs, they do not either."""


@pytest.mark.parametrize("way", SHAPES)
def test_the_extracted_program_goes_the_way_it_is_asked_for(way: str) -> None:
    moving = [(plan, runs) for plan, runs in zip(proved(way, True), proved("runs", True), strict=True) if runs.moves()]
    own = [plan for plan, runs in moving if plan.copies != runs.copies and not (way in WHOLE and is_runs(plan))]
    assert len(own) >= 5
    assert all(map(SHAPES[way], own)), next(plan.copies for plan in own if not SHAPES[way](plan))


def test_no_two_ways_are_one() -> None:
    for one, other in combinations(PROVED, 2):
        assert proved(one, True) != proved(other, True), f"{one} and {other}"


def test_each_way_stores_line_pointers_and_header_last() -> None:
    """Upstream's set each line pointer beside its copy."""
    for way in PROVED:
        together = all(plan.operations == plan.copies + plan.stores for plan in proved(way, True))
        assert together == (way not in ("pg13", "pg14")), way

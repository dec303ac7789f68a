# SPDX-License-Identifier: PostgreSQL
"""The operations themselves. All ways end in the same bytes: these do not say that C went a way that was proved.

Each memcpy and memmove of pg13, pg14 and scalar (traced.c) is held against the operations of the proved algorithms. Of
each way it is tested that the extracted program goes it when it is asked to.
"""

import struct
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import pytest

from tests.common.tally import tally
from tests.compaction.operations import (
    HEADER_STORES,
    MOVE,
    RESTORE,
    SAVE,
    TRACED_NUMBER,
    Plan,
    pages,
    plans,
    proved,
    traced,
)
from tests.compaction.test_extracted import PROVED


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("way", ["pg13", "pg14"])
def test_upstreams_ways_are_the_proved_ones(way: str, truncate: bool) -> None:
    """The same copies and stores, in the same order; or the same refusal."""
    for got, want in zip(plans(traced(), TRACED_NUMBER[way], truncate, pages()), proved(way, truncate), strict=True):
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
    done = plans(traced(), TRACED_NUMBER["scalar"], truncate, pages())
    for page, got, want, *ways in zip(pages(), done, chosen, *candidates, strict=True):
        assert (got.code, got.at) == (want.code, want.at)
        assert want.shifted() == got.copies
        if got.copies:
            taken.update(way for way, plan in zip(OF_SCALAR, ways, strict=True) if plan.copies == want.copies)
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


def is_permute(plan: Plan) -> bool:
    half = len(plan.copies) // 2
    return plan.kinds() == [SAVE] * half + [RESTORE] * half and {length for *_, length in plan.copies} == {64}


def is_slide(plan: Plan) -> bool:
    batches = len(plan.copies) // 16
    return plan.kinds() == [SAVE] * 8 + ([SAVE] * 8 + [RESTORE] * 8) * batches


def is_slide_by_pairs(plan: Plan) -> bool:
    return is_slide(plan) and {length for *_, length in plan.copies} == {16}


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
    "squeeze": Plan.squeezes,
    "permute": is_permute,
    "slide": is_slide,
    "slide by pairs": is_slide_by_pairs,
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

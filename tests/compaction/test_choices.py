# SPDX-License-Identifier: PostgreSQL
"""Which way a kernel takes. All ways end in the same page: only the places where it reads and writes can tell.

Of the ways that a kernel has it must take the one that the proved choice names (proofs/compaction/moves/Choice.v).
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, zip_longest

import pytest
from _pytest.mark import ParameterSet
from pgquern import compaction

from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.compaction import choices
from tests.compaction.operations import MOVE, PLANS, RESTORE, SAVE, TRACED_NUMBER, Plan, pages, plans, proved, traced
from tests.compaction.test_extracted import PROGRAM, PROVED

Access = tuple[int, int]
"""Where it begins, and how many bytes it has."""


def reads(plan: Plan) -> list[Access]:
    return [(start, n) for what, _, start, n in plan.copies if what in (MOVE, SAVE)]


def writes(plan: Plan) -> list[Access]:
    return [(to, n) for what, to, _, n in plan.copies if what in (MOVE, RESTORE)]


def assert_in_pieces(got: list[Access], wanted: list[Access]) -> None:
    """Each access that is proved is one of the kernel's, or several that go upwards through it from start to end.

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
    """Squeezing reads the hole, then whole lines downwards. The proof takes the live units out of each."""
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


def every_variant_of(names: Iterable[str]) -> list[ParameterSet]:
    return every_variant(row for row in compaction.variants() if row.name in names)


COMMON = ["permute", "windows of 64", "windows of 256", "slots", "each exactly"]
WAYS_BY_VECTORS = {
    "avx2": [*COMMON, "runs by vectors of 32", "windows of 32", "each exactly, from the area"],
    "avx512": [*COMMON, "runs by vectors of 64", "slide", "climb", "squeeze", "by depth", "whole lines"],
}
"""Those that the extracted program knows by number; some of other widths are only asked for by a choice."""


def assert_same_way(got: Plan, want: Plan) -> None:
    """The kernel has read and written what a proved way does, in its order."""
    assert (got.code, got.at) == (want.code, want.at)
    assert_in_pieces(writes(got), writes(want))
    if want.squeezes():
        assert_by_lines(reads(got), reads(want))
    elif want.permutes():
        assert sorted(reads(got)) == sorted(reads(want))
    else:
        assert_in_pieces(reads(got), reads(want))


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize("variant", every_variant_of(WAYS_BY_VECTORS))
def test_vectors_go_the_way_that_is_proved(variant: str, truncate: bool) -> None:
    taken: Counter[str] = Counter()
    names = WAYS_BY_VECTORS[variant]
    done = plans(traced(), TRACED_NUMBER[variant], truncate, pages())
    chosen = proved(f"as {variant} chooses", truncate)
    for got, want, *ways in zip(done, chosen, *(proved(way, truncate) for way in names), strict=True):
        assert_same_way(got, want)
        if got.copies:
            taken.update(way for way, plan in zip(names, ways, strict=True) if plan.copies == want.copies)
            taken["permute"] += want.permutes()
    assert min(taken[way] for way in names) >= 5, taken


@pytest.mark.parametrize("variant", every_variant_of(["scalar", *WAYS_BY_VECTORS]))
def test_on_both_sides_of_each_number_the_choice_is_the_proved_one(variant: str) -> None:
    done = plans(traced(), TRACED_NUMBER[variant], False, choices.pages())
    chosen = plans(PROGRAM, PLANS + PROVED[f"as {variant} chooses"][0], False, choices.pages())
    for got, want in zip(done, chosen, strict=True):
        if variant == "scalar":
            assert got.copies == want.shifted()
        else:
            assert_same_way(got, want)
    tally("compaction", "choices of a way", len(choices.pages()))

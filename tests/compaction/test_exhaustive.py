# SPDX-License-Identifier: PostgreSQL
"""Every small page: at most 4 line pointers over a tuple area of at most 6 units of 8 bytes.

What is enumerated, for each size of the area from 0 to 6 units (what is marked `deep` the default profile leaves out,
what is marked `whole` that of `make test`):

1. One line pointer: every flag, every lp_off and every lp_len in bytes, from 9 bytes outside the area to 9 beyond.
2. Two: every flag; lp_off at each unit, one unit below, at pd_special, and unaligned; every lp_len in bytes, up to
   one more than the area has (areas of 4 units and more: deep).
3. Three: every flag; lp_off at each unit and at pd_special; lp_len in units (an area of 4 units: whole; areas of 5 and
   6 units: deep).
4. Two to four: lp_off and lp_len as before; each line pointer unused or used. Which of the used flags it has, how far
   its length falls short of the unit, and what garbage is in an unused one, is dealt out over the pages (four, over 5
   and 6 units: whole).
5. Four, every flag, each line pointer with its storage within the area: deep.

All with truncation and without. There is no hole below the area, so that larger totals are refused, and for 1, 4 and 5
also one of 6 units, so that they are accepted (4 over 6 units: deep). The special space takes up the rest.

The oracle is not asked for every one of these pages, because it provably (and by
test_oracle.py::test_only_used_or_not_and_the_aligned_length_matter) looks only at whether a line pointer is
used, at its lp_off if it has storage, and at its MAXALIGNed length. It is asked once for each class of pages that agree
in these, about truncation only where the last one is unused; flag and length are then put into its answer. And it
refuses a line pointer that lies outside the area by itself, at the first one, before all else: so one answer for each
such line pointer does. The kernels get every page, and must give all its bytes.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from ref.page import LP_NORMAL, ErrorCode, LinePointer, line_pointers
from tests.compaction.agree import oracle
from tests.compaction.small_answers import ask, expectation, run
from tests.compaction.small_pages import UNIT, Area, Domain, fault

pytestmark = pytest.mark.exhaustive

AREAS = range(7)
ALL_FLAGS = range(4)
HOLES = pytest.mark.parametrize("hole", [0, 6], ids=["tight", "loose"])


def grid(flags: range, offsets: list[int], lengths: range) -> list[LinePointer]:
    return [LinePointer(*fields) for fields in product(offsets, flags, lengths)]


def deep_from(units: int, whole_from: int = 7) -> pytest.MarkDecorator:
    """Areas by size; those of that many units and more for the profiles `deep` and `whole` only."""

    def marks(k: int) -> Any:
        return pytest.mark.deep if k >= units else pytest.mark.whole if k >= whole_from else ()

    return pytest.mark.parametrize("units", [pytest.param(k, marks=marks(k)) for k in AREAS])


@HOLES
@pytest.mark.parametrize("units", AREAS)
def test_one_line_pointer(units: int, hole: int) -> None:
    area = Area(1, units, hole)
    offsets = list(range(area.upper - 9, area.special + 10))
    run(Domain(area, grid(ALL_FLAGS, offsets, range(8 * units + 10)), deal=False))


@deep_from(4)
def test_two_line_pointers(units: int) -> None:
    area = Area(2, units, hole=0)
    offsets = [*range(area.upper - UNIT, area.special + 1, UNIT), area.upper + 4, area.special - 1]
    run(Domain(area, grid(ALL_FLAGS, offsets, range(8 * units + 2)), deal=False))


@deep_from(5, whole_from=4)
def test_three_line_pointers(units: int) -> None:
    area = Area(3, units, hole=0)
    offsets = list(range(area.upper, area.special + 1, UNIT))
    run(Domain(area, grid(ALL_FLAGS, offsets, range(0, 8 * units + 1, UNIT)), deal=False))


def dealt(units: int, hole: int, n: int) -> ParameterSet:
    """n: line pointers."""
    deep, whole = units == hole == 6, units >= 5 and n == 4
    return pytest.param(units, hole, n, marks=pytest.mark.deep if deep else pytest.mark.whole if whole else ())


@pytest.mark.parametrize(("units", "hole", "n"), [dealt(*case) for case in product(AREAS, [0, 6], [2, 3, 4])])
def test_four_line_pointers(units: int, hole: int, n: int) -> None:
    area = Area(n, units, hole)
    offsets = list(range(area.upper, area.special + 1, UNIT))
    stored = grid(range(1, 2), offsets, range(UNIT, 8 * units + 1, UNIT))
    run(Domain(area, [LinePointer(0, 0, 0), LinePointer(area.upper, LP_NORMAL, 0), *stored], deal=True))


@pytest.mark.deep
@HOLES
@pytest.mark.parametrize("units", AREAS)
def test_four_line_pointers_every_flag(units: int, hole: int) -> None:
    area = Area(4, units, hole)
    offsets = list(range(area.upper, area.special, UNIT))
    stored = grid(range(1, 4), offsets, range(UNIT, 8 * units + 1, UNIT))
    sound = [lp for lp in stored if not fault(area, lp)]
    without = [LinePointer(area.upper, flag, 0) for flag in ALL_FLAGS]
    run(Domain(area, without + sound, deal=False))


def test_the_enumeration_is_what_it_says() -> None:
    """A domain's pages are all different, and as many as its states make; dealing keeps each page's class."""
    area = Area(2, 3, hole=0)
    states = grid(ALL_FLAGS, list(range(area.upper, area.special, UNIT)), range(0, 25, UNIT))
    plain = Domain(area, states, deal=False)
    pages = {tuple(row) for _, words in plain.chunks() for row in words.tolist()}
    assert len(pages) == plain.size == len(states) ** 2 == (4 * 3 * 4) ** 2
    dealt = Domain(area, states, deal=True)
    for (_, words), (_, others) in zip(plain.chunks(), dealt.chunks(), strict=True):
        for row, other in zip(words.tolist(), others.tolist(), strict=True):
            for word, varied in zip(row, other, strict=True):
                a, b = LinePointer.from_word(word), LinePointer.from_word(varied)
                assert a.is_used == b.is_used
                assert not a.is_used or (a.lp_off, a.aligned_len) == (b.lp_off, b.aligned_len)


def test_the_expectation_is_the_oracles() -> None:
    """What is put together from classes is what the oracle says of the page itself, on a sample of each sort."""
    for n, deal in ((2, False), (3, True)):
        area = Area(n, 4, hole=0)
        domain = Domain(area, grid(ALL_FLAGS, list(range(area.upper - 8, area.special + 1, 4)), range(33)), deal)
        answers = ask(domain)
        rng = np.random.default_rng(n)
        seen = set()
        for (order, truncate), answer in answers.items():
            number = rng.integers(0, len(domain.states), (500, n))
            words = domain.words[number]
            if deal:
                words = domain.dealt(np.arange(500), words)
            status, windows = expectation(domain, answer, number, words)
            for i in range(500):
                lps = tuple(LinePointer.from_word(int(word)) for word in words[i])
                outcome = oracle(area.page(lps), order, truncate)
                assert (outcome.code, outcome.at) == tuple(status[i])
                assert outcome.page[: area.window] == windows[i].tobytes()
                assert line_pointers(area.page(lps)) == list(lps)
                seen.add(outcome.code)
        assert {ErrorCode.OK, ErrorCode.LP_OFF, ErrorCode.LP_ALIGN, ErrorCode.LP_END, ErrorCode.TOTAL} <= seen

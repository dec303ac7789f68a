# SPDX-License-Identifier: PostgreSQL
"""The operations themselves. All ways end in the same bytes: these do not say that C went a way that was proved.

Each memcpy and memmove of pg13, pg14 and scalar (traced.c) is held against the operations of the proved algorithms.
"""

import struct
from collections import Counter
from functools import cache
from itertools import combinations

import pytest

from tests.common.tally import tally
from tests.compaction.operations import (
    HEADER_STORES,
    PLANS,
    TRACED_NUMBER,
    Plan,
    pages,
    plans,
    proved,
    traced,
)
from tests.compaction.test_extracted import PROGRAM, PROVED


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


@cache
def on_few_pages(way: str) -> list[Plan]:
    return plans(PROGRAM, PLANS + PROVED[way][0], True, pages()[::8])


def test_no_two_ways_are_one() -> None:
    for one, other in combinations(PROVED, 2):
        assert on_few_pages(one) != on_few_pages(other), f"{one} and {other}"


def test_each_way_stores_line_pointers_and_header_last() -> None:
    """Upstream's set each line pointer beside its copy."""
    for way in PROVED:
        together = all(plan.operations == plan.copies + plan.stores for plan in on_few_pages(way))
        assert together == (way not in ("pg13", "pg14")), way

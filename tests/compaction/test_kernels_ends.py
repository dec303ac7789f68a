# SPDX-License-Identifier: PostgreSQL
"""Line pointers that reach to the end of the page, and tuples that lie at its start.

Kernels read line pointers and tuples by whole vectors and windows. Here these would reach beyond the page, where a
kernel must not read: the page is guarded at both ends.
"""

from itertools import product

import pytest

from ref.compaction import Order
from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_REDIRECT,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    build,
    maxalign,
)
from tests.common.tally import tally
from tests.compaction.agree import assert_agreement, oracle
from tests.compaction.pages import normal


@pytest.mark.exhaustive
@pytest.mark.parametrize("below_the_end", range(0, 128, 4))
def test_line_pointers_up_to_the_end_of_the_page(below_the_end: int) -> None:
    """None with storage, or only the last few: one, or as many as there is room for."""
    lower = BLCKSZ - below_the_end
    n = (lower - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER
    filler = (UNUSED, LinePointer(1, LP_REDIRECT, 0), LinePointer(0, LP_DEAD, 0))[below_the_end // 4 % 3]
    for ntuples, behind in product({0, min(1, below_the_end // 8), below_the_end // 8}, (0, 1)):
        tuples = [normal(BLCKSZ - 8 * i, 8) for i in range(1, ntuples + 1)]
        lps = [*[filler] * (n - ntuples - behind), *tuples, *[UNUSED] * behind]
        assert_agreement(build(lps, header=Header(pd_lower=lower, pd_upper=BLCKSZ - 8 * ntuples)))
        tally("compaction", "pages")


@pytest.mark.exhaustive
@pytest.mark.parametrize("length", [8, 9, 24, 32, 40, 64, 72, 256])
@pytest.mark.parametrize("ntuples", [1, 2, 3, 5, 9, 16, 17, 20])
def test_tuples_at_the_start_of_the_page(ntuples: int, length: int) -> None:
    """Directly after the line pointers, or a little above; in item order, in reverse order, and rotated by one.

    A window is as long as the longest tuple needs, so the lowest tuple is also a short one among longer ones.
    """
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * ntuples
    for above, gap, lowest in product((0, 8, 40), (0, 48), {8, length}):
        upper = maxalign(lower) + above
        rest = [normal(upper + maxalign(lowest) + gap + i * maxalign(length), length) for i in range(ntuples - 1)]
        rising = [normal(upper, lowest), *rest]
        for lps in (rising, rising[::-1], [*rest, rising[0]]):
            page = bytearray(build(lps))
            page[upper:] = (bytes(range(1, 252)) * 33)[: BLCKSZ - upper]
            assert oracle(bytes(page), Order.ITEM, truncate=True).code == ErrorCode.OK
            assert_agreement(bytes(page))
            tally("compaction", "pages")


@pytest.mark.exhaustive
@pytest.mark.parametrize("window", [32, 64, 96, 128, 192, 256])
def test_a_window_at_the_start_of_the_page(window: int) -> None:
    """A kernel reads a short tuple as the window that ends with it: here it begins at the page's start, or near it.

    Another tuple is as long as the window. It lies above the short one, which makes the page unsorted; or below a gap,
    and the page is presorted. A third one, of the same length again, keeps a kernel from its way for few bytes.
    """
    for end, slack, fillers in product(range(max(window - 16, 40), window + 24, 8), (0, 1, 7), (0, 17)):
        low = normal(end - 8, 8)
        long = [normal(end + 16, window), normal(end + 24 + window, window)]
        small = [normal(BLCKSZ - 8 * i, 8) for i in range(1, fillers + 1)]
        for lps in ([*small, low, *long], [*small, *long[::-1], low], [*small, low, *long[::-1]]):
            lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * len(lps)
            if (upper := end - 8 - slack) < lower:
                continue
            page = bytearray(build(lps, header=Header(pd_lower=lower, pd_upper=upper)))
            page[upper:] = (bytes(range(1, 252)) * 33)[: BLCKSZ - upper]
            assert oracle(bytes(page), Order.ITEM, truncate=True).code == ErrorCode.OK
            assert_agreement(bytes(page))
            tally("compaction", "pages")

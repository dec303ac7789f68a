# SPDX-License-Identifier: PostgreSQL
"""The oracle of PageRepairFragmentation, against examples worked by hand.

The laws of compaction are theorems (proofs/compaction/contents/) of what test_extracted.py holds against the oracle.
"""

from collections import Counter
from typing import Any

from _pgquern import lib
from hypothesis import given
from hypothesis import strategies as st

from ref.compaction import VERSIONS, Order, Version, page_repair_fragmentation
from ref.page import (
    LP_DEAD,
    LP_NORMAL,
    LP_REDIRECT,
    LP_UNUSED,
    PD_ALL_VISIBLE,
    PD_HAS_FREE_LINES,
    PD_PAGE_FULL,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    build,
    line_pointers,
)
from tests.common.tally import tally
from tests.compaction.agree import oracle
from tests.compaction.corners import CORNERS, corners
from tests.compaction.pages import EXAMPLE, normal
from tests.page.build import page_of
from tests.page.shapes import Shape, random_shape, shapes

# ---- the oracle, by hand ---------------------------------------------------------------------------------------------


def test_the_example_in_offset_order() -> None:
    page = page_repair_fragmentation(EXAMPLE, order=Order.OFFSET, truncate=False)
    assert page[8128:] == b"." * 8 + b"C" * 16 + b"B" * 24 + b"A" * 8 + b"." * 8
    assert line_pointers(page) == [
        normal(8152, 24), UNUSED, normal(8176, 8), LinePointer(8136, LP_DEAD, 13), UNUSED
    ]  # fmt: skip
    assert Header.parse(page) == Header(
        pd_flags=PD_ALL_VISIBLE | PD_HAS_FREE_LINES, pd_lower=44, pd_upper=8136, pd_special=8184
    )
    assert page[44:8112] == EXAMPLE[44:8112]
    assert page[8112:8128] == b"C" * 16  # the hole keeps its old bytes


def test_the_example_in_item_order() -> None:
    page = page_repair_fragmentation(EXAMPLE, order=Order.ITEM, truncate=True)
    assert page[8128:] == b"." * 8 + b"C" * 16 + b"A" * 8 + b"B" * 24 + b"." * 8
    assert line_pointers(page) == [normal(8160, 24), UNUSED, normal(8152, 8), LinePointer(8136, LP_DEAD, 13)]
    assert Header.parse(page).pd_lower == 40
    assert page[40:44] == bytes(4)  # the line pointer that was cut off is zeroed too
    assert Header.parse(page).pd_flags == PD_ALL_VISIBLE | PD_HAS_FREE_LINES


def test_only_what_is_unused_is_cut_off() -> None:
    lps = [UNUSED, LinePointer(3, LP_REDIRECT, 0), LinePointer(9, LP_UNUSED, 9), UNUSED]
    header = Header(pd_flags=PD_PAGE_FULL, pd_lower=42, pd_upper=4321)  # two bytes remain
    page = page_repair_fragmentation(build(lps, header=header), order=Order.ITEM, truncate=True)
    assert Header.parse(page) == Header(pd_flags=PD_PAGE_FULL | PD_HAS_FREE_LINES, pd_lower=34)
    whole = build([UNUSED, UNUSED], header=Header(pd_flags=PD_HAS_FREE_LINES, pd_lower=32, pd_upper=32))
    assert page_repair_fragmentation(whole, order=Order.ITEM, truncate=True) == build([], header=Header())
    kept = page_repair_fragmentation(whole, order=Order.ITEM, truncate=False)
    assert Header.parse(kept) == Header(pd_flags=PD_HAS_FREE_LINES, pd_lower=32)


def test_a_used_line_pointer_without_storage_is_left_alone() -> None:
    lps = [LinePointer(12345, LP_NORMAL, 0), LinePointer(7, LP_REDIRECT, 0), LinePointer(32767, LP_DEAD, 0)]
    page = page_repair_fragmentation(build(lps), order=Order.OFFSET, truncate=True)
    assert line_pointers(page) == lps
    assert Header.parse(page).pd_flags == 0


def test_the_table_of_versions() -> None:
    assert list(VERSIONS) == [13, 14, 15, 16, 17, 18]
    assert VERSIONS[13] == Version(Order.OFFSET, truncates=False)
    assert VERSIONS[14] == Version(Order.ITEM, truncates=False)
    assert {VERSIONS[major] for major in range(15, 19)} == {Version(Order.ITEM, truncates=True)}


# ---- what does not matter ------------------------------------------------------------------------------------------


@given(shapes(), st.sampled_from(list(Order)), st.booleans(), st.randoms(use_true_random=False))
def test_only_used_or_not_and_the_aligned_length_matter(shape: Shape, order: Order, truncate: bool, rng: Any) -> None:
    """A flag may be another used one, a length another of the same MAXALIGN class, an unused one anything.

    test_exhaustive.py rests on it.
    """
    page = page_of(shape)
    other = []
    for lp in line_pointers(page):
        if not lp.is_used:
            other.append(LinePointer(rng.randrange(1 << 15), LP_UNUSED, rng.randrange(1 << 15)))
        elif lp.has_storage and lp.lp_len < 32760:
            length = lp.aligned_len - rng.randrange(8)
            other.append(LinePointer(lp.lp_off, rng.choice((LP_NORMAL, LP_REDIRECT, LP_DEAD)), length))
        else:
            other.append(lp._replace(lp_flags=rng.choice((LP_NORMAL, LP_REDIRECT, LP_DEAD))))
    twin = build(other, header=Header.parse(page), fill=page)
    one, two = oracle(page, order, truncate), oracle(twin, order, truncate)
    assert (one.code, one.at) == (two.code, two.at)
    if one.code == ErrorCode.OK:
        assert Header.parse(one.page) == Header.parse(two.page)
        for old, a, b in zip(other, line_pointers(one.page), line_pointers(two.page), strict=False):
            assert b == (old._replace(lp_off=a.lp_off) if old.is_used else UNUSED)
        end = Header.parse(one.page).pd_upper
        assert one.page[end:] == two.page[end:]


# ---- the generator ---------------------------------------------------------------------------------------------------


def test_the_generator_reaches_every_corner() -> None:
    """At least five times each on the same 10,000 pages; and no corner is seen that is not named."""
    seen: Counter[str] = Counter()
    for number in range(10_000):
        seen.update(corners(page_of(random_shape(number))))
    assert set(seen) <= set(CORNERS)
    assert {name: seen[name] for name in CORNERS if seen[name] < 5} == {}
    tally("compaction", "corners", len(CORNERS))


def test_error_codes_are_those_of_the_library() -> None:
    for code in ErrorCode:
        common = code in (ErrorCode.OK, ErrorCode.NULL)
        assert getattr(lib, f"PGQ_{code.name}" if common else f"PGQ_COMPACTION_{code.name}") == code

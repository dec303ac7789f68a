# SPDX-License-Identifier: PostgreSQL
"""PageRepairFragmentation: every kernel against the oracle, in all bytes."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import event, given, target
from hypothesis import strategies as st
from pgquern import PgquernError, compaction

from ref.compaction import Order, page_repair_fragmentation
from ref.page import (
    BLCKSZ,
    LP_UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    build,
)
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.compaction.agree import VARIANTS, assert_agreement, kernel, oracle
from tests.compaction.corners import corners
from tests.compaction.pages import contents, normal
from tests.page.build import page_of
from tests.page.shapes import Shape, random_shape, shapes, similar_shapes, slotted_shapes

each_variant = pytest.mark.parametrize("variant", every_variant(compaction.variants()))


# ---- kernels against the oracle --------------------------------------------------------------------------------------


@given(shapes(), st.sampled_from([1, 8, 16]))
def test_kernel_equals_oracle(shape: Shape, pages: int) -> None:
    """All 8192 bytes, or the same refusal and the page unchanged; each variant, with truncation and without."""
    for i in range(pages):
        page = page_of(replace(shape, seed=shape.seed + i))
        tally("compaction", "pages")
        assert_agreement(page)
    where = corners(page)
    for corner in where:
        event(corner)
    target(float(len(where)), label="corners on one page")


@given(slotted_shapes(), st.sampled_from([1, 8]))
def test_long_tuples_of_one_length(shape: Shape, pages: int) -> None:
    """The same for tuples that lie in slots, so that each can move directly into a free one."""
    for i in range(pages):
        page = page_of(replace(shape, seed=shape.seed + i))
        tally("compaction", "pages")
        assert_agreement(page)
    for corner in corners(page):
        event(corner)


def test_unused_line_pointer_that_looks_in_place() -> None:
    """Its lp_off and lp_len are garbage that by chance equals the place of the next tuple."""
    rng = Random(1)
    for unused, follower in [(1, 8192 - 64), (2, 8192 - 96), (2, 8192 - 128), (5, 8192 - 192)]:
        lps = [normal(8192 - 32 * i, 32) for i in range(1, 6)]
        lps[unused - 1] = LinePointer(8192 - 32 * unused, LP_UNUSED, 32)
        assert_agreement(build([*lps, normal(follower - 96, 32)], fill=rng.randbytes(BLCKSZ)))
        assert_agreement(build(lps, fill=rng.randbytes(BLCKSZ)))


@pytest.mark.parametrize("gap", [8, 24, 32, 64, 256])
def test_runs_that_move_up_by_less_than_their_length(gap: int) -> None:
    """Who begins at the wrong end overwrites what is still to be read."""
    for length in (40, 128, 264, 400, 504, 512, 776, 1024):
        lps = [normal(8192 - (length + gap) * i, length) for i in range(1, 7)]
        assert_agreement(build(lps, fill=Random(length).randbytes(BLCKSZ)))


def test_long_tuples_of_two_lengths_in_slots() -> None:
    """Each in a slot of 264 bytes, which some do not fill: 256 has no bit that 264 lacks."""
    rng = Random(1)
    for _ in range(40):
        slots = rng.sample(range(25), 12)
        lps = [normal(8192 - 264 * (slot + 1), rng.choice([264, 264, 256])) for slot in slots]
        assert_agreement(build(lps, fill=rng.randbytes(BLCKSZ)))


@given(similar_shapes())
def test_presorted_tuples_of_similar_lengths(shape: Shape) -> None:
    """The same for tuples that each move up in place by pieces, unless one is shorter than a piece."""
    tally("compaction", "pages")
    assert_agreement(page_of(shape))


@given(shapes(faults=(1, 2)), st.sampled_from([1, 8]))
def test_refusals_equal(shape: Shape, pages: int) -> None:
    """The same on pages with faults only: the code, the line pointer, and not a byte changed."""
    for i in range(pages):
        page = page_of(replace(shape, seed=shape.seed + i))
        tally("compaction", "pages")
        assert_agreement(page)
    event(ErrorCode(oracle(page, Order.ITEM, truncate=True).code).name)


def test_batch_equals_single() -> None:
    """The dispatched variant and each by name; NULL-like entries (a wrong size) among them."""
    pages = [page_of(random_shape(number)) for number in range(300)]
    pages[7] = pages[7][:100]
    for variant in [None, *(variant.name for variant in VARIANTS)]:
        singles = [kernel(page, variant, truncate=True) for page in pages]
        work = [bytearray(page) for page in pages]
        statuses = compaction.batch(work, truncate=True, variant=variant)
        assert statuses == [(outcome.code, outcome.at) for outcome in singles]
        assert [bytes(page) for page in work] == [outcome.page for outcome in singles]
    tally("compaction", "pages", len(pages))


@pytest.mark.parametrize("misalignment", range(8))
def test_pages_need_no_alignment(misalignment: int) -> None:
    for number in range(50):
        page = page_of(random_shape(number, sound=True))
        for variant in VARIANTS:
            room = np.zeros(BLCKSZ + 8, dtype=np.uint8)
            room[misalignment : misalignment + BLCKSZ] = np.frombuffer(page, dtype=np.uint8)
            compaction.page_repair_fragmentation(
                room[misalignment : misalignment + BLCKSZ], truncate=True, variant=variant.name
            )
            assert room[misalignment : misalignment + BLCKSZ].tobytes() == kernel(page, variant.name, True).page
            assert not room[:misalignment].any()
            assert not room[misalignment + BLCKSZ :].any()


# ---- pages on which upstream loses tuples or crashes -----------------------------------------------------------------

NAMED = {
    "292 with storage, of which the last reaches past pd_special": (
        build(
            [*(normal(8176 - 8 * i, 8) for i in range(1, 292)), normal(8168, 16)],
            header=Header(pd_lower=24 + 4 * 292, pd_upper=5840, pd_special=8176),
        ),
        (ErrorCode.LP_END, 292),
    ),
    "an unaligned lp_off": (
        build([normal(8184, 8), normal(8172, 8)], header=Header(pd_lower=32, pd_upper=8100)),
        (ErrorCode.LP_ALIGN, 2),
    ),
    "lp_off right below pd_upper": (
        build([normal(8184, 8), normal(8176, 8)], header=Header(pd_lower=32, pd_upper=8177)),
        (ErrorCode.LP_OFF, 2),
    ),
    "tuples larger than the page": (
        build([normal(4000, 4192), LinePointer(1, LP_UNUSED, 1), normal(4096, 4096)]),
        (ErrorCode.TOTAL, 0),
    ),
    "pd_lower within the header": (build([], header=Header(pd_lower=20)), (ErrorCode.HEADER, 0)),
    "zeroes": (bytes(BLCKSZ), (ErrorCode.HEADER, 0)),
}


@pytest.mark.parametrize("name", NAMED)
def test_named_pages_are_refused_with_their_number_and_unchanged(name: str) -> None:
    page, refusal = NAMED[name]
    for order in Order:
        assert oracle(page, order, truncate=True)[:2] == refusal
    for variant in [None, *(variant.name for variant in VARIANTS)]:
        for truncate in (False, True):
            assert kernel(page, variant, truncate) == (*refusal, page), variant


@pytest.mark.parametrize("n", [2, 9, 16, 17, 40, 200])
def test_overlap_of_a_unit_in_order_is_refused(n: int) -> None:
    """n tuples without a gap, of which any one is a unit longer than its place; the tuples above it move, or do not."""
    for top in (BLCKSZ, BLCKSZ - 8):
        for longer in range(2, n + 1):
            page = build([normal(top - 24 * i, 32 if i == longer else 24) for i in range(1, n + 1)])
            assert_agreement(page)
            assert oracle(page, Order.ITEM, truncate=True) == (ErrorCode.OVERLAP, longer, page)
            tally("compaction", "pages")


def test_overlap_out_of_order_is_accepted_and_no_bytes_are_lost() -> None:
    page = build([normal(8000, 64), normal(8032, 64)], {1: b"abcdefgh" * 8, 2: b"ijklmnop" * 8})
    for variant in VARIANTS:
        after = kernel(page, variant.name, truncate=True)
        assert after.code == ErrorCode.OK
        assert contents(after.page) == contents(page)


@pytest.mark.parametrize("slot", [1, 2])
def test_two_long_tuples_in_one_place(slot: int) -> None:
    """They must not be taken for tuples that each lie in a slot of their own."""
    at = BLCKSZ - 600 * slot
    page = build([normal(at, 600), normal(at, 600)], fill=Random(1).randbytes(BLCKSZ))
    assert oracle(page, Order.ITEM, truncate=True).code == ErrorCode.OK
    assert_agreement(page)


@each_variant
def test_overlap_with_a_tuple_in_place_is_accepted_and_no_bytes_are_lost(variant: str) -> None:
    """The third tuple overlaps the first, which stays. Two fills: the bytes that a call leaves in scratch do not get
    into the next page."""
    for fill in (b"\x11\x22\x33", b"\xdd\xee\xff"):
        page = bytearray(build([normal(8128, 64), normal(8000, 64), normal(8120, 72)]))
        page[7992:8192] = (fill * 100)[:200]
        after = kernel(bytes(page), variant, truncate=True)
        assert after.code == ErrorCode.OK
        assert contents(after.page) == contents(bytes(page))


@pytest.mark.parametrize("size", [0, 4096, 8191, 8193, 16384])
def test_buffers_of_another_size_are_refused(size: int) -> None:
    for variant in [None, *(variant.name for variant in VARIANTS)]:
        outcome = kernel(bytes(range(256)) * 64, variant, truncate=True) if size == 16384 else kernel(
            bytes(size), variant, truncate=True
        )  # fmt: skip
        assert outcome.code == ErrorCode.BLOCK_SIZE
    with pytest.raises(PageError):
        page_repair_fragmentation(bytes(size), order=Order.ITEM, truncate=True)


# ---- the table of variants -------------------------------------------------------------------------------------------


def test_the_table_has_upstreams_two_and_ours() -> None:
    rows = {variant.name: variant for variant in compaction.variants()}
    assert rows["pg13"].order == compaction.Order.OFFSET
    assert {rows[name].order for name in ("pg14", "scalar")} == {compaction.Order.ITEM}
    assert all(rows[name].supported for name in ("pg13", "pg14", "scalar"))
    assert len(rows) == len(compaction.variants())
    assert all(variant.description for variant in rows.values())


def test_unknown_variants_and_buffers_that_cannot_be_written_are_refused() -> None:
    with pytest.raises(ValueError, match="no variant 'pg12'"):
        compaction.page_repair_fragmentation(bytearray(BLCKSZ), truncate=True, variant="pg12")
    with pytest.raises((TypeError, BufferError)):
        compaction.page_repair_fragmentation(bytes(BLCKSZ), truncate=True)  # type: ignore[arg-type]


@each_variant
def test_errors_say_what_and_where(variant: str) -> None:
    page, (code, index) = NAMED["an unaligned lp_off"]
    with pytest.raises(PgquernError, match=str(index)) as caught:
        compaction.page_repair_fragmentation(bytearray(page), truncate=True, variant=variant)
    assert (caught.value.code, caught.value.index) == (code, index)

# SPDX-License-Identifier: PostgreSQL
"""One fault on an otherwise sound page: each kind of fault, at each line pointer, by its code and its number.

SIMD kernels take 8 or 16 line pointers a step, so the numbers of line pointers lie around the ends of the steps.
"""

from collections.abc import Callable

import pytest

from ref.compaction import Order
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
    build,
)
from tests.common.tally import tally
from tests.compaction.agree import Outcome, assert_agreement, oracle
from tests.compaction.pages import normal

pytestmark = pytest.mark.claim4

SPECIAL = BLCKSZ - 16
LENGTH = 16
# The bytes after the line pointers look like used line pointers with an impossible lp_off.
FILL = LinePointer(0x7FFF, LP_NORMAL, 0x7FFF).word.to_bytes(4, "little") * (BLCKSZ // 4)

FAULTS: dict[str, tuple[ErrorCode, Callable[[LinePointer, int], LinePointer]]] = {
    "lp_off below pd_upper": (ErrorCode.LP_OFF, lambda lp, upper: lp._replace(lp_off=upper - 8)),
    "lp_off zero": (ErrorCode.LP_OFF, lambda lp, upper: lp._replace(lp_off=0)),
    "lp_off at pd_special": (ErrorCode.LP_OFF, lambda lp, upper: lp._replace(lp_off=SPECIAL)),
    "lp_off the highest": (ErrorCode.LP_OFF, lambda lp, upper: lp._replace(lp_off=0x7FFF)),
    "lp_off odd": (ErrorCode.LP_ALIGN, lambda lp, upper: lp._replace(lp_off=lp.lp_off + 1)),
    "lp_off a multiple of 4": (ErrorCode.LP_ALIGN, lambda lp, upper: lp._replace(lp_off=lp.lp_off + 4)),
    "one byte too long": (ErrorCode.LP_END, lambda lp, upper: lp._replace(lp_len=SPECIAL - lp.lp_off + 1)),
    "the greatest length": (ErrorCode.LP_END, lambda lp, upper: lp._replace(lp_len=0x7FFF)),
}


def presorted(n: int) -> list[LinePointer]:
    return [normal(SPECIAL - LENGTH * i, LENGTH) for i in range(1, n + 1)]


def rising(n: int) -> list[LinePointer]:
    return presorted(n)[::-1]


def every_other_unused(n: int) -> list[LinePointer]:
    """The last one is used."""
    return [lp if (n - i) % 2 else UNUSED for i, lp in enumerate(presorted(n))]


def page_of(lps: list[LinePointer], upper: int) -> bytes:
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * len(lps)
    return build(lps, header=Header(pd_lower=lower, pd_upper=upper, pd_special=SPECIAL), fill=FILL)


def assert_refused(page: bytes, code: ErrorCode, index: int) -> None:
    """By the oracle, which is slow and asked once, and by every kernel, and unchanged."""
    want = Outcome(code, index, page)
    assert oracle(page, Order.ITEM, truncate=True) == want
    assert_agreement(page, {(order, truncate): want for order in Order for truncate in (False, True)})
    tally("compaction", "pages")


@pytest.mark.exhaustive
@pytest.mark.parametrize("layout", [presorted, rising, every_other_unused])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 200, 291])
def test_each_fault_at_each_line_pointer(n: int, layout: Callable[[int], list[LinePointer]]) -> None:
    """On pages of more line pointers than the longest step has, one kind at each, in turn."""
    sound = layout(n)
    upper = SPECIAL - LENGTH * n
    assert oracle(page_of(sound, upper), Order.ITEM, truncate=True).code == ErrorCode.OK
    kinds = list(FAULTS.values())
    for turn, i in enumerate(i for i, lp in enumerate(sound) if lp.is_used):
        for code, spoil in kinds if n <= 65 else [kinds[turn % len(kinds)]]:
            lps = [*sound[:i], spoil(sound[i], upper), *sound[i + 1 :]]
            assert_refused(page_of(lps, upper), code, i + 1)


@pytest.mark.exhaustive
def test_the_first_of_two_faults_is_named() -> None:
    """Of two in the same step of a SIMD kernel, and of two in different ones."""
    sound, upper = presorted(65), SPECIAL - LENGTH * 65
    for i, j in ((0, 1), (6, 7), (7, 8), (15, 16), (0, 15), (31, 32), (0, 64), (63, 64)):
        for code, spoil in FAULTS.values():
            for _, spoil_also in FAULTS.values():
                lps = list(sound)
                lps[i], lps[j] = spoil(sound[i], upper), spoil_also(sound[j], upper)
                assert_refused(page_of(lps, upper), code, i + 1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [31, 32, 33, 64, 65, 200, 291])
def test_an_overlap_at_each_line_pointer(n: int) -> None:
    for i in range(1, n):
        lps = presorted(n)
        lps[i] = normal(lps[i].lp_off, LENGTH + 1)
        assert_refused(page_of(lps, SPECIAL - LENGTH * n), ErrorCode.OVERLAP, i + 1)


@pytest.mark.exhaustive
def test_the_292nd_tuple_wherever_a_line_pointer_is_unused() -> None:
    too_many = presorted(MAX_HEAP_TUPLES_PER_PAGE + 1)
    upper = too_many[-1].lp_off
    for i in range(len(too_many)):
        assert_refused(page_of([*too_many[:i], UNUSED, *too_many[i:]], upper), ErrorCode.TOO_MANY, 293)
    assert_refused(page_of([*too_many, UNUSED], upper), ErrorCode.TOO_MANY, 292)

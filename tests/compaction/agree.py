# SPDX-License-Identifier: PostgreSQL
"""Oracle and kernels side by side on one page: the same bytes, or the same refusal and the page unchanged."""

from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

from pgquern import PgquernError, compaction

from ref.compaction import Order, page_repair_fragmentation
from ref.page import BLCKSZ, SIZE_OF_LINE_POINTER, SIZE_OF_PAGE_HEADER, ErrorCode, Header, PageError, line_pointers
from tests.common import guard_pages

ORDERS = {compaction.Order.OFFSET: Order.OFFSET, compaction.Order.ITEM: Order.ITEM}
VARIANTS = [variant for variant in compaction.variants() if variant.supported]
GUARDED = guard_pages.page(bytes(BLCKSZ))


class Outcome(NamedTuple):
    """The outcome for a page; a refused page is unchanged."""

    code: int
    at: int  # line pointer, or 0
    page: bytes


Answers = dict[tuple[Order, bool], Outcome]


def oracle(page: bytes, order: Order, truncate: bool) -> Outcome:
    try:
        return Outcome(ErrorCode.OK, 0, page_repair_fragmentation(page, order=order, truncate=truncate))
    except PageError as error:
        return Outcome(error.code, error.index, page)


def kernel(page: bytes, variant: str | None, truncate: bool) -> Outcome:
    """The outcome by a variant; None is the dispatched one. A kernel that changes a page that it refuses is found here.

    The page is guarded at both ends: a kernel that reads or writes beyond one of them crashes.
    """
    work = GUARDED if len(page) == BLCKSZ else bytearray(page)
    work[:] = page
    try:
        compaction.page_repair_fragmentation(work, truncate=truncate, variant=variant)
    except PgquernError as error:
        return Outcome(error.code, error.index, bytes(work))
    return Outcome(ErrorCode.OK, 0, bytes(work))


def expected(page: bytes, orders: Iterable[Order] = Order) -> Answers:
    """The oracle's answer for each of these orders, with truncation and without."""
    return {(order, truncate): oracle(page, order, truncate) for order, truncate in product(orders, (False, True))}


def assert_agreement(page: bytes, want: Answers | None = None) -> None:
    """Check that every variant gives the outcome of the oracle of its order, with truncation and without.

    want: expected(page), if the caller has it.
    """
    want = want or expected(page, {ORDERS[variant.order] for variant in VARIANTS})
    for variant, truncate in product(VARIANTS, (False, True)):
        got = kernel(page, variant.name, truncate)
        wanted = want[ORDERS[variant.order], truncate]
        assert got == wanted, f"{variant.name}, truncate={truncate}: {difference(page, wanted, got)}"


def difference(page: bytes, want: Outcome, got: Outcome) -> str:
    """Describes the first difference between two outcomes on `page`."""
    if (want.code, want.at) != (got.code, got.at):
        return (
            f"expected {name(want.code)} at {want.at}, got {name(got.code)} at {got.at}"
            + (", and the page was changed" if got.code and got.page != page else "")
        )  # fmt: skip
    at = next((i for i in range(BLCKSZ) if want.page[i] != got.page[i]), None)
    if at is None:
        return "no difference"
    count = sum(a != b for a, b in zip(want.page, got.page, strict=True))
    want_at, got_at = want.page[at], got.page[at]
    return f"{count} bytes differ, first {at} ({place(want.page, at)}): expected {want_at:#04x}, got {got_at:#04x}"


def name(code: int) -> str:
    return ErrorCode(code).name if code in set(ErrorCode) else f"code {code}"


def place(page: bytes, at: int) -> str:
    """What lies at byte `at` of a sound page."""
    header = Header.parse(page)
    if at < SIZE_OF_PAGE_HEADER:
        return "header"
    if at < SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * header.nline:
        return f"line pointer {(at - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER + 1}"
    if at >= header.pd_special:
        return "special space"
    for i, lp in enumerate(line_pointers(page), start=1):
        if lp.is_used and lp.has_storage and lp.lp_off <= at < lp.end:
            return f"tuple {i}"
    return "hole"

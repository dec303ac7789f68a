# SPDX-License-Identifier: PostgreSQL
"""Heap page compaction: all of PageRepairFragmentation, in both orders.

Upstream: src/backend/storage/page/bufpage.c, PageRepairFragmentation, compactify_tuples. As of PostgreSQL 15.18.
Item order came with 19c60ad6 (14); before, tuples were sorted by lp_off. Truncation of the line pointers came with 15.

There are two differences from upstream. This module refuses some pages on which upstream reads and writes past the page
or loses a tuple. It leaves a refused page unchanged. If both accept a page, and no tuples overlap on it, then all 8192
bytes of the two results are equal.
"""

import struct
from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from ref.page import (
    MAX_HEAP_TUPLES_PER_PAGE,
    PD_HAS_FREE_LINES,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    check_header,
    check_storage,
    line_pointers,
    tuple_bytes,
)


class Order(Enum):
    """The order of the tuples after compaction, from pd_special downwards."""

    OFFSET = "offset"  # as before: by falling lp_off; tuples of the same lp_off in item order
    ITEM = "item"  # by line pointer number


class Version(NamedTuple):
    """What a major version of PostgreSQL does when it prunes a page."""

    order: Order
    truncates: bool


VERSIONS: dict[int, Version] = {
    13: Version(Order.OFFSET, truncates=False),
    14: Version(Order.ITEM, truncates=False),
    15: Version(Order.ITEM, truncates=True),
    16: Version(Order.ITEM, truncates=True),
    17: Version(Order.ITEM, truncates=True),
    18: Version(Order.ITEM, truncates=True),
}


class Item(NamedTuple):
    """A line pointer that is used and has storage, with its number (from 1)."""

    number: int
    lp: LinePointer


def collect(header: Header, lps: Sequence[LinePointer]) -> list[Item]:
    """The tuples to move, in item order. PageError: one tuple is at fault, or there are too many, or too many bytes."""
    items: list[Item] = []
    for number, lp in enumerate(lps, start=1):
        if not (lp.is_used and lp.has_storage):
            continue
        check_storage(header, number, lp)
        if len(items) == MAX_HEAP_TUPLES_PER_PAGE:
            raise PageError(
                ErrorCode.TOO_MANY, number, f"one more than {MAX_HEAP_TUPLES_PER_PAGE} line pointers with storage"
            )
        items.append(Item(number, lp))
    total, space = sum(item.lp.aligned_len for item in items), header.pd_special - header.pd_lower
    if total > space:
        raise PageError(ErrorCode.TOTAL, 0, f"tuples of {total} bytes, {space} between pd_lower and pd_special")
    if is_presorted(items):
        check_disjoint(items)
    return items


def is_presorted(items: Sequence[Item]) -> bool:
    """Whether lp_off falls strictly in item order. PostgreSQL 14 and later leave a page in this order."""
    return all(a.lp.lp_off > b.lp.lp_off for a, b in pairwise(items))


def check_disjoint(items: Sequence[Item]) -> None:
    """Check that no tuple of a presorted page overlaps the one before it. PageError OVERLAP: one does.

    A presorted page is compacted in place: if two tuples overlapped, moving one would destroy the other. The tuples of
    any other page are copied through a scratch page. Overlap does no harm there, and it is not checked.
    """
    for before, item in pairwise(items):
        if item.lp.end > before.lp.lp_off:
            raise PageError(
                ErrorCode.OVERLAP,
                item.number,
                f"ends at {item.lp.end}, past lp_off {before.lp.lp_off} of line pointer {before.number}",
            )


def place(items: Sequence[Item], order: Order, pd_special: int) -> dict[int, LinePointer]:
    """The new line pointers by number. The first tuple in the order ends at pd_special; there are no gaps."""
    if order is Order.OFFSET:
        items = sorted(items, key=lambda item: -item.lp.lp_off)
    placed: dict[int, LinePointer] = {}
    upper = pd_special
    for number, lp in items:
        upper -= lp.aligned_len
        placed[number] = lp._replace(lp_off=upper)
    return placed


def page_repair_fragmentation(page: bytes, *, order: Order, truncate: bool) -> bytes:
    """The compacted page: unused line pointers are zero, tuples are packed at pd_special, all free bytes in the hole.

    page: 8192 bytes; it does not change. truncate: cut off UNUSED line pointers at the end of the array, so that
    pd_lower falls. The result differs from the page only in pd_lower, pd_upper, the flag PD_HAS_FREE_LINES, the line
    pointers, and [new pd_upper, pd_special). So the hole keeps its old bytes. PageError: the page is refused. Codes and
    their precedence are those of ErrorCode; line pointers are checked in item order.
    """
    header = check_header(page)
    before = line_pointers(page)
    items = collect(header, before)
    placed = place(items, order, header.pd_special)

    after = [placed.get(number, lp) if lp.is_used else UNUSED for number, lp in enumerate(before, start=1)]
    last_used = max((number for number, lp in enumerate(after, start=1) if lp.is_used), default=0)
    nline = last_used if truncate else len(after)
    has_free_lines = UNUSED in after[:nline]

    repaired = bytearray(page)
    repaired[:SIZE_OF_PAGE_HEADER] = header._replace(
        pd_lower=header.pd_lower - SIZE_OF_LINE_POINTER * (len(after) - nline),
        pd_upper=header.pd_special - sum(item.lp.aligned_len for item in items),
        pd_flags=header.pd_flags & ~PD_HAS_FREE_LINES | (PD_HAS_FREE_LINES if has_free_lines else 0),
    ).pack()
    struct.pack_into(f"<{len(after)}I", repaired, SIZE_OF_PAGE_HEADER, *(lp.word for lp in after))
    for number, lp in items:
        repaired[placed[number].lp_off : placed[number].end] = tuple_bytes(page, lp)
    return bytes(repaired)

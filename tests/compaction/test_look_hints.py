# SPDX-License-Identifier: PostgreSQL
"""What counts as dead by hint bits, and how a prune would set line pointers: on pages made tuple by tuple."""

import struct

import numpy as np
import pytest

from ref import page as heap
from tools.common import heap_tuple
from tools.look import hinted

NORMAL, REDIRECT, DEAD, UNUSED = heap.LP_NORMAL, heap.LP_REDIRECT, heap.LP_DEAD, heap.LP_UNUSED
COMMITTED, ABORTED = heap_tuple.XMIN_COMMITTED, heap_tuple.XMIN_INVALID
DELETED = COMMITTED | heap_tuple.XMAX_COMMITTED


def page(*tuples: tuple[int, int, int, int, int]) -> bytes:
    """A page of tuples (xmin, xmax, the number in t_ctid, t_infomask2, t_infomask)."""
    lps, contents = [], {}
    for number, (xmin, xmax, following, infomask2, infomask) in enumerate(tuples, 1):
        lps.append(heap.LinePointer(heap.BLCKSZ - 32 * number, NORMAL, 28))
        contents[number] = struct.pack("<IIIHHHHHB5x", xmin, xmax, 0, 0, 0, following, infomask2, infomask, 24)
    return heap.build(lps, contents)


def flags(*tuples: tuple[int, int, int, int, int]) -> list[int]:
    """Of the line pointers, after a prune."""
    return [lp.lp_flags for lp in heap.line_pointers(hinted.pruned(page(*tuples)))]


@pytest.mark.parametrize(
    ("infomask", "dead"),
    [
        (0, False),
        (COMMITTED, False),
        (ABORTED, True),
        (COMMITTED | ABORTED, False),  # frozen
        (DELETED, True),
        (DELETED | heap_tuple.XMAX_INVALID, False),
        (DELETED | heap_tuple.XMAX_LOCK_ONLY, False),
        (DELETED | heap_tuple.XMAX_IS_MULTI, False),
        (DELETED | heap_tuple.XMAX_EXCL_LOCK, False),  # SELECT FOR UPDATE before 9.3
        (DELETED | heap_tuple.XMAX_EXCL_LOCK | heap_tuple.XMAX_KEYSHR_LOCK, True),
        (ABORTED | heap_tuple.XMAX_EXCL_LOCK, True),
    ],
)
def test_dead_by_hint_bits(infomask: int, dead: bool) -> None:
    one = (10, 11, 1, 0, infomask)
    assert flags(one) == [DEAD if dead else NORMAL]
    pages = np.frombuffer(page(one), np.uint8).reshape(1, -1)
    normal, lp_off = np.array([[True]]), np.array([[heap.BLCKSZ - 32]])
    assert hinted.dead(pages, normal, lp_off).tolist() == [[dead]]


def test_a_chain_of_updates() -> None:
    """The root leads to the first that is left; if none is left, it is dead."""
    root = (10, 11, 2, heap_tuple.HOT_UPDATED, DELETED)
    middle = (11, 12, 3, heap_tuple.HOT_UPDATED | heap_tuple.ONLY_TUPLE, DELETED)
    last = (12, 0, 3, heap_tuple.ONLY_TUPLE, COMMITTED)
    assert flags(root, middle, last) == [REDIRECT, UNUSED, NORMAL]
    assert heap.line_pointers(hinted.pruned(page(root, middle, last)))[0].lp_off == 3
    assert flags(root, middle, (12, 13, 3, heap_tuple.ONLY_TUPLE, DELETED)) == [DEAD, UNUSED, UNUSED]


def test_a_chain_ends_where_the_next_tuple_is_of_another_transaction() -> None:
    root = (10, 11, 2, heap_tuple.HOT_UPDATED, DELETED)
    assert flags(root, (99, 0, 2, heap_tuple.ONLY_TUPLE, COMMITTED)) == [DEAD, NORMAL]


def test_an_update_that_was_rolled_back() -> None:
    root = (10, 11, 2, heap_tuple.HOT_UPDATED, COMMITTED | heap_tuple.XMAX_INVALID)
    assert flags(root, (11, 0, 2, heap_tuple.ONLY_TUPLE, ABORTED)) == [NORMAL, UNUSED]


def test_a_chain_that_leads_back_ends() -> None:
    """A damaged one."""
    on = heap_tuple.HOT_UPDATED | heap_tuple.ONLY_TUPLE
    root = (10, 11, 2, heap_tuple.HOT_UPDATED, DELETED)
    assert flags(root, (11, 12, 3, on, COMMITTED), (12, 11, 2, on, DELETED)) == [DEAD, UNUSED, UNUSED]


def test_a_chain_ends_where_the_next_tuple_is_not_heap_only() -> None:
    root = (10, 11, 2, heap_tuple.HOT_UPDATED, DELETED)
    assert flags(root, (11, 0, 2, 0, COMMITTED)) == [DEAD, NORMAL]

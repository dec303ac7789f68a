# SPDX-License-Identifier: PostgreSQL
"""Which tuples of a heap page are dead by their hint bits, and the page as a prune would hand it to compaction.

A hint bit says that a transaction committed or aborted. It does not say whether a snapshot still needs the tuple: so
this is what a prune would do if no old snapshot were left. A tuple without hint bits counts as live.

Upstream: src/include/access/htup_details.h, src/backend/access/heap/pruneheap.c (heap_prune_chain), 13 to 18.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ref import page as heap
from tools.common.heap_tuple import (
    HEADER,
    HOT_UPDATED,
    XMAX_COMMITTED,
    XMAX_EXCL_LOCK,
    XMAX_INVALID,
    XMAX_IS_MULTI,
    XMAX_KEYSHR_LOCK,
    XMAX_LOCK_ONLY,
    XMIN_FROZEN,
    XMIN_INVALID,
    Tuple,
    tuple_at,
)


def is_dead(infomask: Any) -> Any:
    """Of one t_infomask, or of an array of them."""
    aborted = (infomask & XMIN_FROZEN) == XMIN_INVALID
    deleted = (infomask & (XMAX_COMMITTED | XMAX_INVALID | XMAX_IS_MULTI | XMAX_LOCK_ONLY)) == XMAX_COMMITTED
    # SELECT FOR UPDATE before 9.3, in a cluster that was upgraded: HEAP_XMAX_IS_LOCKED_ONLY knows it by these bits.
    unlocked = (infomask & (XMAX_KEYSHR_LOCK | XMAX_EXCL_LOCK)) != XMAX_EXCL_LOCK
    return aborted | (deleted & unlocked)


def dead(pages: NDArray[np.uint8], normal: NDArray[np.bool_], lp_off: NDArray[Any]) -> NDArray[np.bool_]:
    """Of rows of pages: which of the line pointers that are LP_NORMAL point to a dead tuple."""
    found = np.zeros_like(normal)
    row, item = np.nonzero(normal & (lp_off % 8 == 0) & (lp_off <= heap.BLCKSZ - HEADER))
    infomask = pages.view("<u2")[row, (lp_off[row, item] + 20) // 2]
    found[row, item] = is_dead(infomask)
    return found


def _goes_on(one: Tuple) -> bool:
    """Whether a prune looks for the next tuple of its HOT chain."""
    return bool(one.infomask2 & HOT_UPDATED) and not one.infomask & (XMAX_INVALID | XMAX_IS_MULTI)


def _chain(tuples: dict[int, Tuple], first: int) -> list[int]:
    """The numbers of a HOT chain's tuples, from `first` on."""
    numbers: list[int] = []
    while first in tuples and first not in numbers:
        here, before = tuples[first], tuples[numbers[-1]] if numbers else None
        if before is not None and not (here.heap_only and here.xmin == before.xmax):
            break
        numbers.append(first)
        first = here.offset if _goes_on(here) else 0
    return numbers


def pruned(page: bytes) -> bytes:
    """The page with the line pointers of dead tuples set as a prune sets them; tuples do not move.

    The page must be one that compaction accepts.
    """
    pointers = heap.line_pointers(page)
    stored = {
        number: lp for number, lp in enumerate(pointers, 1) if lp.lp_flags == heap.LP_NORMAL and lp.lp_len >= HEADER
    }
    tuples = {number: tuple_at(page, lp.lp_off, lp.lp_len) for number, lp in stored.items()}
    for number, lp in enumerate(pointers, 1):
        redirect = lp.lp_flags == heap.LP_REDIRECT
        if not redirect and (number not in tuples or tuples[number].heap_only):
            continue
        chain = _chain(tuples, lp.lp_off if redirect else number)
        gone = max((i for i, member in enumerate(chain, 1) if is_dead(tuples[member].infomask)), default=0)
        if not gone:
            continue
        for member in chain[:gone]:
            pointers[member - 1] = heap.UNUSED
        rest = chain[gone:]
        flags = heap.LP_REDIRECT if rest else heap.LP_DEAD
        pointers[number - 1] = heap.LinePointer(rest[0] if rest else 0, flags, 0)
    for number, found in tuples.items():
        if found.heap_only and is_dead(found.infomask):
            pointers[number - 1] = heap.UNUSED
    return heap.build(pointers, header=heap.Header.parse(page), fill=page)

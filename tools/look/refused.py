# SPDX-License-Identifier: PostgreSQL
"""Which pages are no sound pages of a heap, and why; and how files that are no heap are told from it."""

from collections.abc import Iterator

import numpy as np
from _pgquern import ffi, lib
from numpy.typing import NDArray
from pgquern.errors import PgquernError

from ref import page as heap
from tools.common.relation_file import header_faults

SIZE = heap.BLCKSZ
SPECIAL = {
    b"\x80\xff": "a hash index",
    b"\x81\xff": "a GiST index",
    b"\x82\xff": "an SP-GiST index",
    b"\x91\xf0": "a BRIN index",
    b"\x92\xf0": "a BRIN index",
    b"\x93\xf0": "a BRIN index",
}
"""The last two bytes of a page."""
AT_ONCE = 1024
TUPLE_HEADER = 24
"""The bytes of a tuple's header, with padding."""


def index_kind(pages: NDArray[np.uint8]) -> str:
    """What the pages are that have a special space, which a heap's have not; empty if most have none."""
    words = pages.view("<u2")
    special = words[:, 8]
    initialised = words[:, 7] > 0
    others = initialised & (special < SIZE) & (special >= heap.SIZE_OF_PAGE_HEADER)
    if not initialised.any() or 2 * others.sum() <= initialised.sum():
        return ""
    page = bytes(pages[int(np.argmax(others))])
    if page[24:28] == (0x053162).to_bytes(4, "little"):
        return "a B-tree index"
    if page[int.from_bytes(page[16:18], "little") :][:4] == (0x1717).to_bytes(4, "little"):
        return "a sequence"
    return SPECIAL.get(page[-2:], "an index")


def why_refused(pages: NDArray[np.uint8]) -> dict[int, str]:
    """The index of each page that is no sound page of a heap, and why. A new page is none of them."""
    reasons, fields = dict[int, str](), pages.view("<u2")
    # The kernels do not look at these two, and their refusal does not depend on what they cut off.
    odd = (fields[:, 5] & ~np.uint16(heap.PD_VALID_FLAG_BITS) != 0) | (fields[:, 9] != SIZE | heap.LAYOUT_VERSION)
    odd |= fields[:, 8] != SIZE
    copy, statuses = ffi.from_buffer("uint8_t[]", bytearray(pages)), ffi.new("pgq_status[]", len(pages))
    calls = ffi.new("void *[]", [copy + at for at in range(0, len(copy), SIZE)])
    lib.pgq_compaction_repair_fragmentation_batch(calls, len(pages), False, statuses)
    for i, status in enumerate(statuses):
        if (status.code or odd[i]) and pages[i].any():
            words = "pd_special is not 8192: no page of a heap" if fields[i, 8] != SIZE else ""
            words = str(PgquernError(status.code, status.index)) if status.code else words
            reasons[i] = "; ".join(filter(None, [header_faults(bytes(pages[i])), words]))
    return reasons


def unfit(pages: NDArray[np.uint8]) -> dict[int, str]:
    """As why_refused(); and what the kernels accept though no server writes it, as verify_heapam of amcheck has it."""
    reasons = dict[int, str]()
    for at in range(0, len(pages), AT_ONCE):
        for i, words in _items(pages[at : at + AT_ONCE]):
            reasons.setdefault(at + i, words)
    return reasons | why_refused(pages)


def _items(pages: NDArray[np.uint8]) -> Iterator[tuple[int, str]]:
    """Faults of line pointers: the index of the page, and what is wrong."""
    nline = (pages.view("<u2")[:, 6:7].astype(np.int32) - heap.SIZE_OF_PAGE_HEADER) // heap.SIZE_OF_LINE_POINTER
    most = min(int(nline.max(initial=0)), SIZE // heap.SIZE_OF_LINE_POINTER - 6)
    words = pages.view("<u4")[:, 6 : 6 + max(most, 0)]
    there = np.arange(words.shape[1]) < nline
    off, flags, length = (
        (words >> shift & mask).astype(np.int32) for shift, mask in ((0, 0x7FFF), (15, 3), (17, 0x7FFF))
    )
    stored = there & (flags != heap.LP_UNUSED) & (length > 0)
    starts, ends = np.where(stored, off, 2 * SIZE), np.where(stored, off + (length + 7) // 8 * 8, 0)
    order = np.argsort(starts, axis=1, kind="stable")
    shared = np.take_along_axis(ends, order, 1)[:, :-1] > np.take_along_axis(starts, order, 1)[:, 1:]
    for i, k in np.argwhere(shared):
        yield int(i), f"tuples {order[i, k] + 1} and {order[i, k + 1] + 1} share bytes"
    for i, k in np.argwhere(there & (flags == heap.LP_NORMAL) & (length < TUPLE_HEADER)):
        yield int(i), f"line pointer {k + 1}: a tuple of {length[i, k]} bytes, which is less than its header has"
    for i, k in np.argwhere(there & (flags == heap.LP_REDIRECT) & ((off < 1) | (off > nline))):
        yield int(i), f"line pointer {k + 1}: a redirection to {off[i, k]}, where none is"

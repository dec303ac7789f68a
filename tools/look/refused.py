# SPDX-License-Identifier: PostgreSQL
"""Which pages are no sound pages of a heap, and why; and how files that are no heap are told from it."""

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

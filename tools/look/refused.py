# SPDX-License-Identifier: PostgreSQL
"""Which pages are no sound pages of a heap, and why; and how files that are no heap are told from it."""

import struct
from typing import TYPE_CHECKING, Any

from _pgquern import ffi, lib
from pgquern.errors import PgquernError

from ref import page as heap
from tools.common.relation_file import header_faults

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def index_kind(pages: bytes) -> str:
    """What the pages are that have a special space, which a heap's have not; empty if most have none."""
    initialised, others = 0, list[int]()
    for i, (upper, special) in enumerate(struct.iter_unpack(f"<14xHH{SIZE - 18}x", pages)):
        initialised += upper > 0
        if upper > 0 and heap.SIZE_OF_PAGE_HEADER <= special < SIZE:
            others.append(i)
    if not others or 2 * len(others) <= initialised:
        return ""
    page = pages[others[0] * SIZE : (others[0] + 1) * SIZE]
    if page[24:28] == (0x053162).to_bytes(4, "little"):
        return "a B-tree index"
    if page[int.from_bytes(page[16:18], "little") :][:4] == (0x1717).to_bytes(4, "little"):
        return "a sequence"
    return SPECIAL.get(page[-2:], "an index")


def why_refused(pages: "bytes | NDArray[Any]") -> dict[int, str]:
    """The index of each page that is no sound page of a heap, and why. A new page is none of them."""
    reasons, content = dict[int, str](), bytes(pages)
    number = len(content) // SIZE
    copy, statuses = ffi.from_buffer("uint8_t[]", bytearray(content)), ffi.new("pgq_status[]", number)
    calls = ffi.new("void *[]", [copy + i * SIZE for i in range(number)])
    lib.pgq_compaction_repair_fragmentation_batch(calls, number, False, statuses)
    for i, (flags, special, version) in enumerate(struct.iter_unpack(f"<10xH4xHH{SIZE - 20}x", content)):
        # The kernels do not look at these, and their refusal does not depend on what they cut off.
        odd = flags & ~heap.PD_VALID_FLAG_BITS or special != SIZE or version != SIZE | heap.LAYOUT_VERSION
        page, status = content[i * SIZE : (i + 1) * SIZE], statuses[i]
        if (status.code or odd) and any(page):
            words = "pd_special is not 8192: no page of a heap" if special != SIZE else ""
            words = str(PgquernError(status.code, status.index)) if status.code else words
            reasons[i] = "; ".join(filter(None, [header_faults(page), words]))
    return reasons

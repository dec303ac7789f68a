# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

import struct
from collections.abc import Callable

from pgquern.compaction import BLCKSZ, TupleBounds, batch, dispatched, page_repair_fragmentation, suspect_tuples, variants

from tests.common.entry_points import Call


def page() -> bytearray:
    """An empty page."""
    found = bytearray(BLCKSZ)
    found[10:20] = struct.pack("<HHHHH", 0, 24, BLCKSZ, BLCKSZ, BLCKSZ | 4)
    return found


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "dispatched": lambda: Call(dispatched),
    "page_repair_fragmentation": lambda: Call(
        page_repair_fragmentation, (page(),), {"truncate": True, "variant": "scalar"}
    ),
    "suspect_tuples": lambda: Call(suspect_tuples, (page(), TupleBounds()), {"first_block": 7}),
    "batch": lambda: Call(batch, ([page(), page()],), {"truncate": True, "variant": "scalar"}),
}

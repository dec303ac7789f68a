# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable
from typing import Any

from pgquern.tiercache import PAGE_SIZE, TierCache, hits, variants

from tests.common.entry_points import Call
from tests.tiercache.devices import Disk

PAGES, SLOTS = 16, 4


class Closing(TierCache):
    """A cache that ends with its last reference."""

    def __del__(self) -> None:
        self.close()


def cache() -> TierCache:
    return Closing(Disk(PAGES, SLOTS), pages=PAGES, frames=16, slots=SLOTS, batch=1)


def on(method: str, *args: Any) -> Call:
    return Call(getattr(cache(), method), args)


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "hits": lambda: Call(hits, ([1, 2, 1], 2), {"policy": "lru"}),
    "TierCache": lambda: Call(
        Closing,
        (Disk(PAGES, SLOTS),),
        {"pages": PAGES, "frames": 16, "slots": SLOTS, "batch": 1, "policy": "lru"},
    ),
    "TierCache.close": lambda: on("close"),
    "TierCache.read": lambda: on("read", 3),
    "TierCache.write": lambda: on("write", 3, bytes(PAGE_SIZE)),
    "TierCache.write_back": lambda: on("write_back", 0),
    "TierCache.fsync": lambda: on("fsync"),
    "TierCache.clean": lambda: on("clean", 4, 8),
    "TierCache.where": lambda: on("where", 3),
    "TierCache.failed": lambda: on("failed"),
    "TierCache.counts": lambda: on("counts"),
}

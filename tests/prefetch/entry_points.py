# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

import os
from collections.abc import Callable
from typing import Any

from pgquern.prefetch import BLCKSZ, Io, Policy, Prefetcher, replay, variants

from ref.prefetch import BlockReference, Record, Relation
from tests.common.entry_points import Call
from tests.prefetch.world import World

NOT_SHARED = {"Io"}
"""Which callers extend, and C never sees."""
TABLE = Relation(1663, 5, 16384)
FILE = os.memfd_create("blocks")
os.write(FILE, bytes(4 * BLCKSZ))


class Reads(Io):
    """Answers itself, with memory of its own."""

    def read(self, fd: int, size: int, offset: int, *, nowait: bool) -> bytes | int:
        return bytes(size)


def prefetcher() -> Prefetcher:
    records = [Record(10, 20, (BlockReference(TABLE, 1),)), Record(20, 30, (BlockReference(TABLE, 2),))]
    world = World(records, {TABLE: 4}, pool=2)
    return Prefetcher(world, world, 4, 10)


def use(access: int, page: bytes) -> None:
    assert len(page) == BLCKSZ


def on_policy(method: str, *args: Any, **named: Any) -> Call:
    return Call(getattr(Policy(), method), args, named)


def world() -> World:
    return World([], {}, pool=0)


CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants),
    "replay": lambda: Call(
        replay,
        ([FILE], [(0, 1), (0, 3)]),
        {"concurrency": 2, "buffers": 4, "variant": "sync", "use": use, "io": Reads(), "log": True},
    ),
    "Prefetcher": lambda: Call(
        Prefetcher, (world(), world(), 4, 10), {"max_concurrency": 8, "queue_space": 8, "filter_space": 8}
    ),
    "Prefetcher.begin": lambda: Call(prefetcher().begin, (4, 10)),
    "Prefetcher.begin_read": lambda: Call(prefetcher().begin_read, (20,)),
    "Prefetcher.reconfigure": lambda: Call(prefetcher().reconfigure, (2,)),
    "Prefetcher.show_distances": lambda: Call(prefetcher().show_distances),
    "Prefetcher.read_record": lambda: Call(prefetcher().read_record),
    "Policy": lambda: Call(Policy),
    "Policy.look": lambda: on_policy("look", 1, 2),
    "Policy.probed": lambda: on_policy("probed", cached=True),
    "Policy.watches": lambda: on_policy("watches"),
    "Policy.read": lambda: on_policy("read", cached=False),
    "Io": lambda: Call(Io),
    "Io.read": lambda: Call(Reads().read, (3, 4, 0), {"nowait": True}),
    "Io.advise": lambda: Call(type("Advises", (Io,), {"advise": lambda *_: None})().advise, (3, 0, 4)),
    "Io.cached": lambda: Call(type("Caches", (Io,), {"cached": lambda *_: 0})().cached, (3, 0, 4)),
    "Io.completed": lambda: Call(type("Completes", (Io,), {"completed": lambda *_: 0})().completed, (3, 4)),
    "Io.submit": lambda: Call(type("Submits", (Io,), {"submit": lambda *_: 0})().submit),
    "Io.wait": lambda: Call(type("Waits", (Io,), {"wait": lambda *_: 0})().wait),
}

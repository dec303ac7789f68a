# SPDX-License-Identifier: PostgreSQL
"""Heap pages with rows, as a server leaves them, and one fault in them: of each kind that people report."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

BLCKSZ = 8192
NEXT, FROZEN, OLDEST = 5000, 900, 800
NEXT_MULTI, MIN_MULTI = 70, 10
NATTS = 5
COMMITTED, XMIN_INVALID, XMAX_INVALID, UPDATED, FROZEN_BITS = 0x100, 0x200, 0x800, 0x2000, 0x300
XMAX_COMMITTED, IS_MULTI, LOCK_ONLY, HASNULL, SHARE_LOCK = 0x400, 0x1000, 0x80, 1, 0x50
HOT_UPDATED, HEAP_ONLY = 0x4000, 0x8000


@dataclass
class Rows:
    """A page that is built: line pointers by number, from 1, and where the next tuple ends."""

    page: bytearray
    block: int
    n: int = 0
    upper: int = BLCKSZ

    def line(self, off: int, flags: int, length: int = 0) -> int:
        """A line pointer more."""
        self.n += 1
        self.set(self.n, off, flags, length)
        return self.n

    def set(self, number: int, off: int, flags: int, length: int = 0) -> None:
        """A line pointer anew."""
        struct.pack_into("<I", self.page, 20 + 4 * number, off | flags << 15 | length << 17)

    def off(self, number: int) -> int:
        return int.from_bytes(self.page[20 + 4 * number : 24 + 4 * number], "little") & 0x7FFF

    def put(self, number: int, at: int, layout: str, value: int) -> None:
        """Into a tuple's header."""
        struct.pack_into(layout, self.page, self.off(number) + at, value)

    def get(self, number: int, at: int) -> int:
        """Two bytes of it."""
        return int.from_bytes(self.page[self.off(number) + at : self.off(number) + at + 2], "little")

    def tuple(self, xmin: int, xmax: int, mask2: int, mask: int, ctid: tuple[int, int] | None, size: int) -> int:
        """A tuple of `size` bytes behind its header, and its line pointer; without ctid it points to itself."""
        hoff = 32 if mask & HASNULL and NATTS > 8 else 24
        self.upper -= (hoff + size + 7) // 8 * 8
        number = self.line(self.upper, 1, hoff + size)
        block, offset = ctid or (self.block, number)
        fields = (xmin, xmax, 0, block >> 16, block & 0xFFFF, offset, mask2 | NATTS, mask, hoff)
        struct.pack_into("<IIIHHHHHB", self.page, self.upper, *fields)
        return number


def sound(rng: Random, block: int) -> Rows:
    """Plain, frozen, deleted, locked, HOT-updated rows, aborted updates, redirects, dead and unused line pointers."""
    rows = Rows(bytearray(BLCKSZ), block)
    while rows.upper - (24 + 4 * rows.n) > 400:
        xmin, xmax, size = rng.randrange(FROZEN, NEXT), rng.randrange(FROZEN, NEXT), rng.randrange(60)
        null = HASNULL * rng.randrange(2)
        kind = rng.randrange(10)
        if kind < 3:
            rows.tuple(xmin, 0, 0, COMMITTED | XMAX_INVALID | null, None, size)
        elif kind == 3:
            rows.tuple(rng.randrange(3, FROZEN), 0, 0, FROZEN_BITS | XMAX_INVALID | null, None, size)
        elif kind == 4:
            rows.tuple(xmin, xmax, 0x2000, COMMITTED | XMAX_COMMITTED | null, None, size)
        elif kind == 5:
            rows.tuple(
                xmin, rng.randrange(MIN_MULTI, NEXT_MULTI), 0, COMMITTED | IS_MULTI | LOCK_ONLY | SHARE_LOCK, None, size
            )
        elif kind == 6:
            rows.tuple(xmin, xmax, HOT_UPDATED, COMMITTED | XMAX_COMMITTED, (block, rows.n + 2), size)
            rows.tuple(xmax, 0, HEAP_ONLY, COMMITTED | XMAX_INVALID | UPDATED, None, size)
        elif kind == 7:
            rows.line(rows.n + 2, 2)
            rows.tuple(xmin, 0, HEAP_ONLY, COMMITTED | XMAX_INVALID | UPDATED, None, size)
        elif kind == 8:
            rows.tuple(xmin, xmax, HOT_UPDATED, COMMITTED | XMAX_INVALID, (block, rows.n + 2), size)
            rows.tuple(xmax, 0, HEAP_ONLY, XMIN_INVALID | XMAX_INVALID | UPDATED, None, size)
        else:
            rows.line(0, rng.choice([0, 3]))
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, rows.upper, BLCKSZ, BLCKSZ | 4)
    return rows


Fault = Callable[[Rows, int], object]
"""Makes one in the tuple at a line pointer."""


def _line(off: int, flags: int, length: int = 0) -> Fault:
    return lambda rows, k: rows.set(k, off, flags, length)


def _all(*steps: Fault) -> Fault:
    def fault(rows: Rows, k: int) -> None:
        for step in steps:
            step(rows, k)

    return fault


def _bits(at: int, bits: int, clear: int = 0) -> Fault:
    """Of a field of two bytes."""
    return lambda rows, k: rows.put(k, at, "<H", rows.get(k, at) & ~clear | bits)


def _id(at: int, value: int) -> Fault:
    return lambda rows, k: rows.put(k, at, "<I", value)


COMMITS = _bits(20, COMMITTED, clear=0x200)
FAULTS: dict[str, Fault] = {
    "which is no multiple of 8": lambda rows, k: rows.set(k, rows.off(k) + 4, 1, 28),
    "ends beyond the page": lambda rows, k: rows.set(k, rows.off(k), 1, BLCKSZ),
    "less than its header has": lambda rows, k: rows.set(k, rows.off(k), 1, 20),
    "shares bytes with": lambda rows, k: rows.set(k, rows.off(k) - 8, 1, 200),
    "a redirect to line pointer": lambda rows, k: rows.set(k, rows.n + 7, 2),
    "a redirect to an unused line pointer": _all(_line(0, 0), lambda rows, k: rows.set(k % rows.n + 1, k, 2)),
    "its data begins at byte": lambda rows, k: rows.put(k, 22, "<B", 48),
    "columns, more than": _bits(18, NATTS + 8),
    "equals or exceeds the cluster's next XID": _all(COMMITS, _id(0, NEXT)),
    "precedes relfrozenxid": _all(COMMITS, _id(0, FROZEN - 1)),
    "precedes relminmxid": _all(
        COMMITS, _bits(20, IS_MULTI | LOCK_ONLY | SHARE_LOCK, XMAX_COMMITTED), _id(0, FROZEN), _id(4, MIN_MULTI - 1)
    ),
    "marked as committed": _bits(20, IS_MULTI | XMAX_COMMITTED),
    "heap-only, but not made by an update": _all(_bits(18, HEAP_ONLY), _bits(20, 0, UPDATED)),
    "no other tuple or redirect points to it": _all(_bits(18, HEAP_ONLY), _bits(20, UPDATED), COMMITS),
    "HOT updated, but xmax is 0": _all(_bits(18, HOT_UPDATED), _bits(20, 0, XMAX_INVALID), COMMITS, _id(4, 0)),
    "t_ctid points to line pointer 0": lambda rows, k: rows.put(k, 16, "<H", 0),
}
"""By words of what is said."""


def plain_tuples(rows: Rows) -> list[int]:
    """Line pointers of rows that nothing else of the page points to, and that point to themselves."""
    flags = [int.from_bytes(rows.page[20 + 4 * k : 24 + 4 * k], "little") >> 15 & 3 for k in range(1, rows.n)]
    return [k for k, flag in enumerate(flags, 1) if flag == 1 and not rows.get(k, 18) & (HOT_UPDATED | HEAP_ONLY)]

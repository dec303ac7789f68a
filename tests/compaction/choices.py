# SPDX-License-Identifier: PostgreSQL
"""Pages on both sides of each number by which a kernel chooses its way: proofs/compaction/moves/Choice.v."""

from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from random import Random

from ref.page import BLCKSZ, SIZE_OF_LINE_POINTER, SIZE_OF_PAGE_HEADER, Header, build
from tests.compaction.pages import normal

LENGTHS = (24, 32, 40, 64, 72, 96, 128, 192, 200, 256, 264, 512, 520)
"""The longest tuple's."""
COUNTS = (7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 60, 96)
"""How many tuples."""


def page(lengths: list[int], runs: int, presorted: bool, slack: int, special: int, number: int) -> bytes:
    """Tuples of these lengths, in that many runs with 8 bytes that nobody owns above each: so many gaps.

    If they are not presorted, the runs lie in the reverse order. `slack` bytes lie below the lowest tuple.
    """
    bounds = [len(lengths) * run // runs for run in range(runs + 1)]
    parts = [range(*ends) for ends in pairwise(bounds)]
    offsets, upper = {}, special
    for part in parts if presorted else reversed(parts):
        upper -= 8
        for i in part:
            upper -= lengths[i]
            offsets[i] = upper
    pointers = [normal(offsets[i], length) for i, length in enumerate(lengths)]
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * len(lengths)
    header = Header(pd_flags=0, pd_lower=lower, pd_upper=upper - slack, pd_special=special)
    return build(pointers, {}, header=header, fill=Random(number).randbytes(BLCKSZ))


def gaps_of(count: int) -> set[int]:
    """About a sixteenth, a sixth and a quarter of the tuples, and about 10."""
    near = {least + by for least in (count // 16, count // 6, count // 4, 10) for by in (-1, 0, 1, 2)}
    return {gaps for gaps in near if 1 <= gaps <= count}


def drawn() -> Iterator[bytes]:
    number = 0
    for longest, count, presorted, shorter in product(LENGTHS, COUNTS, (True, False), (0, 8)):
        lengths = [longest - shorter * (i % 2) for i in range(count)]
        if count % 3 == 0:
            lengths[-1] = min(lengths[-1], 24 if count % 2 else 32)
        lower, total = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * count, sum(lengths)
        for gaps in sorted(gaps_of(count)):
            number += 1
            needed = total + 8 * gaps
            # pd_upper near the bounds of the windows, or so that a quarter of the area is nobody's; or anywhere
            for upper in (56, 64, 72, 240, 248, 256, 0):
                special = (upper or 1024) + needed
                if lower <= (upper or 1024) and special <= BLCKSZ and (number + upper) % 5 == 0:
                    yield page(lengths, gaps, presorted, 0, special, number)
            slack = total // 3 // 8 * 8 - 8 * gaps
            for by in (-8, 0, 8):
                if number % 4 == 0 and slack + by >= 0 and lower + needed + slack + by <= BLCKSZ:
                    yield page(lengths, gaps, presorted, slack + by, BLCKSZ, number)


@cache
def pages() -> list[bytes]:
    return list(drawn())

# SPDX-License-Identifier: PostgreSQL
"""Purges of sorted arrays at their corners: every small array, long ones, gaps that mislead the search."""

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest
from pgquern.snapbuild import Committed, variants

from ref.xid import FIRST_NORMAL, XID
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.snapbuild.agree import SMALL_RING, names, subsets
from tests.snapbuild.strategies import CORNERS, HALF, LAST, around


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("purge_sorted")))
def test_purge_of_every_subset_at_every_border(variant: str) -> None:
    """All 1024 subsets of ten XIDs around the turning points, with every xmin next to one."""
    xmins = sorted({x for corner in CORNERS for x in around(corner)})
    for xip in subsets(SMALL_RING):
        for xmin in xmins:
            committed = Committed(xip, sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == [x for x in xip if not XID.precedes(x, xmin)], (xip, xmin)
    tally("snapbuild", "arrays", 1024 * len(xmins))


@pytest.mark.parametrize("n", [15, 16, 17, 127, 128, 135, 255, 256, 257, 2047, 2048, 2055, 20_000])
def test_purge_sorted_of_large_arrays(n: int) -> None:
    """Long enough for the search by eighths; boundaries next to XIDs that are there."""
    rng = Random(n)
    for _ in range(max(3, 5000 // n)):
        base = rng.choice([FIRST_NORMAL, HALF, XID.size - 100 * n // 2, rng.randrange(XID.size)])
        xids = {max((base + 100 * i + rng.randrange(100)) % XID.size, FIRST_NORMAL) for i in range(n)}
        xip = sorted(xids)
        xmin = max((rng.choice(xip) + rng.choice([-1, 0, 1]) + rng.choice([0, 0, HALF])) % XID.size, FIRST_NORMAL)
        expected = [x for x in xip if not XID.precedes(x, xmin)]
        for variant in names("purge_sorted"):
            committed = Committed(xip, sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == expected, (variant, xmin)
        batch = [xmin, *(rng.randrange(FIRST_NORMAL, XID.size) for _ in range(20)), *rng.sample(xip, min(len(xip), 20))]
        merged = Committed(xip, capacity=len(xip) + len(batch), sorted=True)
        merged.insert(batch, variant="batch_merge", checked=False)
        assert merged.xip == sorted({*xip, *batch})
        tally("snapbuild", "arrays")


Gaps = Callable[[np.random.Generator, np.ndarray], np.ndarray]
GAPS: dict[str, Gaps] = {
    "random": lambda rng, i: rng.integers(1, 200, len(i)),
    "in bursts": lambda rng, i: np.where(rng.integers(100, size=len(i)), 1, 10_000),
    "ever rarer": lambda rng, i: rng.integers(1, 2 + i // 100),
    "ever denser": lambda rng, i: rng.integers(1, 2 + (70_000 - i) // 100),
    "one far out": lambda rng, i: np.where(i == 30_000, HALF // 2, 1),
}


@pytest.mark.parametrize("gaps", GAPS)
def test_purge_sorted_of_arrays_long_enough_for_a_guess(gaps: str) -> None:
    """0 lies anywhere in them. Nothing goes, or the oldest XIDs go. The guess is good, or bad because the gaps are
    uneven."""
    rng = np.random.default_rng([ord(letter) for letter in gaps])
    for n in [65_535, 65_536, 65_543, *[70_000] * 9]:
        xids = np.cumsum(GAPS[gaps](rng, np.arange(n)))
        gone = rng.choice([0, 0, 1, 20, 1000, n // 2])
        xids = (xids - rng.choice(xids)) % XID.size
        xids = xids[xids >= FIRST_NORMAL]
        xmin, xip = int(xids[gone]), np.sort(xids)
        expected = xip[(xip - xmin) % XID.size < HALF].tolist()
        for variant in names("purge_sorted"):
            committed = Committed(xip.tolist(), sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == expected, (variant, n, xmin, gone)
            tally("snapbuild", "arrays")


def test_purge_sorted_of_disorder_stays_inside() -> None:
    """An array that only claims to be sorted: no particular answer, but nothing outside it is touched (ASan)."""
    rng = Random(0)
    for n, width in product([20, 1000, 65_536], [1, 1000]):
        for xmin in [HALF // 2, HALF + 2000, LAST - 2000] * 6:
            past, share = (xmin + HALF) % XID.size, rng.choice([1, 10])
            starts = [*[xmin, past - width] * share, xmin - width]
            xids = [rng.choice(starts) + rng.randrange(width) for _ in range(1000)]
            committed = Committed(rng.choices(xids, k=n), sorted=True)
            committed.purge_sorted(xmin, variant="scalar", checked=False)
            assert len(committed.xip) <= n


def test_disorder_in_which_the_second_border_lies_below_the_first() -> None:
    """The search for the lower border goes to the end of the first eighth, that for the upper one into the second."""
    xmin = 100
    xids = [xmin + HALF + 5] * 79
    xids[0] = 5
    xids[1:14:2] = [5] * 7
    xids[8] = 200
    committed = Committed(xids, sorted=True)
    committed.purge_sorted(xmin, variant="scalar", checked=False)
    assert len(committed.xip) <= len(xids)


def test_a_single_lower_bound_is_wrong_across_the_wrap() -> None:
    """Why there are two boundaries: 5 was assigned after LAST, and a lower bound at LAST would drop it."""
    committed = Committed([5, LAST - 10, LAST], sorted=True)
    committed.purge_sorted(LAST)
    assert committed.xip == [5, LAST]

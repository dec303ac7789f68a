# SPDX-License-Identifier: PostgreSQL
"""Insertion at its corners: chunks of a batch, every small case, disorder; and the sort of a snapshot."""

from itertools import product
from random import Random

import pytest
from hypothesis import settings
from pgquern.snapbuild import Committed, CommittedFull

from ref.xid import FIRST_NORMAL, XID, full
from tests.common.tally import tally
from tests.snapbuild.agree import subsets
from tests.snapbuild.strategies import HALF, LAST


@pytest.mark.parametrize("m", [*range(2, 19), 31, 32, 33, 62, 63, 64, 65, 66, 127, 128, 129, 191, 193, 500])
@pytest.mark.parametrize("order", ["random", "rising", "top last", "last two swapped"])
def test_batch_merge_of_chunks(m: int, order: str) -> None:
    """Batches of one chunk and of many, with duplicates in and across chunks, for XIDs and FullTransactionIds."""
    rng = Random(f"{m} {order}")
    for _ in range(20):
        base, spread = rng.choice([(FIRST_NORMAL, m), (FIRST_NORMAL, XID.size - FIRST_NORMAL), (HALF - 2 * m, 4 * m)])
        xids = range(base, base + spread)
        batch = rng.choices(xids, k=m) if rng.random() < 0.5 else rng.sample(xids, k=m)
        if order != "random":
            batch.sort()
        if order == "top last":
            batch.append(batch.pop(0))
        if order == "last two swapped":
            batch[-2:] = batch[:-3:-1]
        xip = sorted({*rng.choices(xids, k=rng.randrange(1, 300)), *rng.sample(batch, rng.randrange(m))})
        expected = sorted({*xip, *batch})
        committed = Committed(xip, capacity=len(xip) + m, sorted=True)
        committed.insert(batch, variant="batch_merge", checked=False)
        assert committed.xip == expected
        committed_full = CommittedFull([full(1, x) for x in xip], capacity=len(xip) + m)
        committed_full.insert([full(1, x) for x in batch])
        assert committed_full.fxip == [full(1, x) for x in expected]
        tally("snapbuild", "arrays", 2)


def test_batch_merge_into_disorder_stays_inside() -> None:
    """An array that only claims to be sorted: no particular answer, but nothing outside its space is touched (ASan)."""
    rng = Random(0)
    for n in range(1, 200):
        xip = rng.sample(range(1000, 3000), k=n)
        batch = rng.sample(range(1000, 3000), k=rng.randrange(1, 150))
        committed = Committed(xip, capacity=n + len(batch), sorted=True)
        committed.insert(batch, variant="batch_merge", checked=False)
        assert len(committed.xip) <= n + len(batch)


@pytest.mark.exhaustive
@pytest.mark.plain
def test_batch_merge_of_every_small_case() -> None:
    """Every subset of six XIDs, with every batch of up to three of them, in every order and with duplicates; of four,
    where many examples are wanted."""
    xids = [3, 10, 11, HALF, LAST - 1, LAST]
    batches = [batch for m in range(5 if settings().max_examples > 200 else 4) for batch in product(xids, repeat=m)]
    for xip in subsets(xids):
        for batch in batches:
            committed = Committed(xip, capacity=len(xip) + len(batch), sorted=True)
            committed.insert(batch, variant="batch_merge", checked=False)
            assert committed.xip == sorted({*xip, *batch}), (xip, batch)
    tally("snapbuild", "arrays", 2 ** len(xids) * len(batches))


SHAPES = ("random", "sorted", "reversed", "organ pipe", "few values", "one value", "nearly sorted")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [5, 6, 7, 8, 40, 41, 500, 3000])
def test_the_sort_of_a_snapshot(shape: str, n: int) -> None:
    rng = Random(n)
    xip = [rng.randrange(FIRST_NORMAL, XID.size) for _ in range(n)]
    if shape in ("sorted", "reversed", "nearly sorted"):
        xip.sort(reverse=shape == "reversed")
    if shape == "nearly sorted":
        for _ in range(n // 8 + 1):
            i = rng.randrange(n - 1)
            xip[i], xip[i + 1] = xip[i + 1], xip[i]
    if shape == "organ pipe":
        xip = sorted(xip[: n // 2]) + sorted(xip[n // 2 :], reverse=True)
    if shape in ("few values", "one value"):
        xip = [3 + x % (5 if shape == "few values" else 1) for x in xip]
    assert Committed(xip).snapshot(variant="upstream") == sorted(xip)

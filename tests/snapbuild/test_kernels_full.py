# SPDX-License-Identifier: PostgreSQL
"""Arrays whose memory is not all theirs: a head that has moved, space behind, and what was left there.

Every small array of FullTransactionIds at every place in its memory, both of whose ends are guarded in turn. What does
not count holds XIDs, those of the batch: no kernel may take them for a part of the array.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern.snapbuild import variants

from ref import snapbuild as ref
from ref.xid import XID, full
from tests.common import guard_pages
from tests.common.tally import tally
from tests.common.variants import every_variant

LIVE = [full(4, XID.size - 2), full(4, XID.size - 1), full(5, 3), full(5, 4), full(5, 9)]
BATCH = [full(5, 4), full(5, 20), full(4, XID.size - 3), full(5, 3), full(5, 20)]
MEMORIES = {"lower end guarded": guard_pages.Arrays(False).new, "upper end guarded": guard_pages.Arrays(True).new}


class Array:
    """Live entries from `head` on, `behind` more after them; all that does not count has `stale`."""

    def __init__(self, new: Any, live: list[int], head: int, behind: int, stale: list[int]) -> None:
        self.before = [stale[i % len(stale)] for i in range(head + len(live) + behind)]
        self.before[head : head + len(live)] = live
        self.live, self.head = live, head
        self.fxip = new("uint64_t[]", self.before)
        init = {"fxip": self.fxip, "head": head, "xcnt": len(live), "xcnt_space": len(self.before)}
        self.c = ffi.new("pgq_snapbuild_committed_full *", init)

    def held(self) -> list[int]:
        return list(self.fxip)[self.c.head : self.c.head + self.c.xcnt]

    def is_unchanged(self) -> bool:
        members = (self.c.fxip, self.c.head, self.c.xcnt, self.c.xcnt_space)
        return members == (self.fxip, self.head, len(self.live), len(self.before)) and list(self.fxip) == self.before


def shapes() -> Iterator[tuple[list[int], int, int]]:
    """Live entries, head, space behind."""
    for n, head, behind in product(range(6), range(5), range(5)):
        yield LIVE[:n], head, behind


@pytest.mark.parametrize("memory", MEMORIES)
def test_insert_wherever_the_head_is(memory: str) -> None:
    """It fits behind; or only after the array has moved to the front; or not at all, and then nothing changes."""
    new = MEMORIES[memory]
    for (live, head, behind), m in product(shapes(), range(6)):
        array, batch = Array(new, live, head, behind, BATCH), new("uint64_t[]", BATCH[:m])
        status = lib.pgq_snapbuild_insert_full(array.c, batch, m)
        if m > head + behind:
            assert (status.code, status.index) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
            assert array.is_unchanged()
            assert list(batch) == BATCH[:m]
            continue
        assert status.code == lib.PGQ_OK
        assert array.held() == ref.insert(live, BATCH[:m])
        assert array.c.head == (head if m <= behind else 0)
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_permanent_xid_in_a_batch_changes_nothing_wherever_the_head_is(memory: str) -> None:
    new = MEMORIES[memory]
    for (live, head, behind), at in product(shapes(), range(3)):
        array, given = Array(new, live, head, behind, BATCH), [*BATCH[:at], full(5, 2), *BATCH[at:]]
        batch = new("uint64_t[]", given)
        status = lib.pgq_snapbuild_insert_full(array.c, batch, len(given))
        assert (status.code, status.index) == (lib.PGQ_SNAPBUILD_XID_PERMANENT, at + 1)
        assert array.is_unchanged()
        assert list(batch) == given


@pytest.mark.parametrize("variant", every_variant(variants("purge_full")))
@pytest.mark.parametrize("memory", MEMORIES)
def test_purge_wherever_the_head_is(memory: str, variant: str) -> None:
    fn = lib.pgq_snapbuild_purge_full_variants[[v.name for v in variants("purge_full")].index(variant)].fn
    # A purge that counts stale entries keeps too much if they are younger than all, or too little if they are older.
    xmins = [LIVE[0] - 1, *LIVE, LIVE[-1] + 1, full(5, 2), full(4, 0)]
    for (live, head, behind), xmin, stale in product(shapes(), xmins, [full(6, 5), full(2, 5)]):
        array = Array(MEMORIES[memory], live, head, behind, [stale])
        assert fn(array.c, xmin).code == lib.PGQ_OK
        assert array.held() == ref.purge_full(live, xmin)
        assert array.c.xcnt_space == len(array.before)
        assert array.c.head + array.c.xcnt <= array.c.xcnt_space


def test_only_lazy_head_moves_the_head_and_an_empty_array_starts_again() -> None:
    for variant, gone in product(variants("purge_full"), range(6)):
        fn = lib.pgq_snapbuild_purge_full_variants[[v.name for v in variants("purge_full")].index(variant.name)].fn
        array = Array(ffi.new, LIVE, 2, 0, [full(9, 1)])
        assert fn(array.c, [*LIVE, LIVE[-1] + 1][gone]).code == lib.PGQ_OK
        assert array.c.head == (2 if variant.name != "lazy_head" else 0 if gone == 5 else 2 + gone)


@pytest.mark.parametrize("memory", MEMORIES)
def test_snapshot_and_check_wherever_the_head_is(memory: str) -> None:
    """Entries below the head and behind are permanent XIDs, which a check must not see."""
    new = MEMORIES[memory]
    for (live, head, behind), room in product(shapes(), range(-1, 2)):
        array = Array(new, live, head, behind, [full(9, 1)])
        assert lib.pgq_snapbuild_committed_full_check(array.c).code == lib.PGQ_OK
        if len(live) + room < 0:
            continue
        target = new("uint32_t[]", [1] * (len(live) + room))
        status = lib.pgq_snapbuild_snapshot_full(array.c, target, len(target))
        if room < 0:
            assert (status.code, status.index) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
            assert list(target) == [1] * len(target)
        else:
            assert list(target) == ref.snapshot_xip_full(live) + [1] * room
        assert array.is_unchanged()


def test_a_snapshot_that_spans_too_much_writes_nothing() -> None:
    array = Array(ffi.new, [full(4, 9), full(5, 9)], 3, 2, [full(9, 1)])
    target = ffi.new("uint32_t[]", [1] * 4)
    status = lib.pgq_snapbuild_snapshot_full(array.c, target, 4)
    assert (status.code, status.index) == (lib.PGQ_SNAPBUILD_UNSORTED, 0)
    assert list(target) == [1] * 4
    assert array.is_unchanged()


@pytest.mark.parametrize("head", range(4))
def test_check_counts_from_the_head(head: int) -> None:
    for at, (wrong, code) in product(
        range(1, 4),
        [(full(4, 1), lib.PGQ_SNAPBUILD_XID_PERMANENT), (full(3, 9), lib.PGQ_SNAPBUILD_UNSORTED)],
    ):
        array = Array(ffi.new, [*LIVE[:at], wrong, *LIVE[at:]], head, 2, [full(9, 5)])
        status = lib.pgq_snapbuild_committed_full_check(array.c)
        assert (status.code, status.index) == (code, at + 1)
    twice = Array(ffi.new, [*LIVE, LIVE[-1]], head, 2, [full(9, 5)])
    status = lib.pgq_snapbuild_committed_full_check(twice.c)
    assert (status.code, status.index) == (lib.PGQ_SNAPBUILD_DUPLICATE, len(LIVE) + 1)


# ---- the same for plain XIDs -----------------------------------------------------------------------


@pytest.mark.parametrize("variant", every_variant(variants("insert")))
@pytest.mark.parametrize("sorted_", [False, True])
@pytest.mark.parametrize("consistent", [False, True])
def test_stale_xids_behind_an_array_are_no_duplicates(variant: str, sorted_: bool, consistent: bool) -> None:
    """They are those of the batch, as after a purge of the same XIDs, and lie where each would be searched for."""
    fn = lib.pgq_snapbuild_insert_variants[[v.name for v in variants("insert")].index(variant)].fn
    for held, batch in product(([], [3], [3, 9], [3, 9, 20]), ([30], [30, 31], [40, 30], [9, 30, 40], [30, 30, 2**31])):
        for new, stale in product(MEMORIES.values(), batch):
            xip = new("uint32_t[]", [*held, *[stale] * (len(batch) + 1)])
            init = {"xip": xip, "xcnt": len(held), "xcnt_space": len(xip), "sorted": sorted_}
            committed, given = ffi.new("pgq_snapbuild_committed *", init), new("uint32_t[]", batch)
            assert fn(committed, given, len(batch), consistent).code == lib.PGQ_OK
            assert {*list(xip)[: committed.xcnt]} == {*held, *batch}
            if committed.sorted:
                assert list(xip)[: committed.xcnt] == sorted({*held, *batch})


@pytest.mark.parametrize("variant", every_variant(variants("insert")))
def test_a_refused_insert_writes_nothing(variant: str) -> None:
    """Neither to the array, its space behind included, nor to the batch, nor to what describes the array."""
    fn = lib.pgq_snapbuild_insert_variants[[v.name for v in variants("insert")].index(variant)].fn
    # The first would fit without those that are there already.
    for batch, sorted_, consistent in product(([5, 6, 7], [9, 2, 7]), [False, True], [False, True]):
        space = 5 if 2 in batch else 4
        xip = ffi.new("uint32_t[]", [5, 6, *[77] * (space - 2)])
        init = {"xip": xip, "xcnt": 2, "xcnt_space": space, "sorted": sorted_}
        committed, given = ffi.new("pgq_snapbuild_committed *", init), ffi.new("uint32_t[]", batch)
        code = lib.PGQ_SNAPBUILD_XID_PERMANENT if 2 in batch else lib.PGQ_SNAPBUILD_CAPACITY
        status = fn(committed, given, 3, consistent)
        assert (status.code, status.index) == (code, 2 if 2 in batch else 0)
        assert (list(xip), list(given)) == ([5, 6, *[77] * (space - 2)], batch)
        assert (committed.xip, committed.xcnt, committed.xcnt_space, committed.sorted) == (xip, 2, space, sorted_)


@pytest.mark.parametrize("variant", every_variant(variants("purge_sorted")))
def test_a_refused_purge_writes_nothing(variant: str) -> None:
    fn = lib.pgq_snapbuild_purge_sorted_variants[[v.name for v in variants("purge_sorted")].index(variant)].fn
    xip = ffi.new("uint32_t[]", [9, 6, 77])
    committed = ffi.new("pgq_snapbuild_committed *", {"xip": xip, "xcnt": 2, "xcnt_space": 3})
    assert fn(committed, 8).code == lib.PGQ_SNAPBUILD_UNSORTED
    assert list(xip) == [9, 6, 77]
    assert (committed.xip, committed.xcnt, committed.xcnt_space, committed.sorted) == (xip, 2, 3, False)

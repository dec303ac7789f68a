# SPDX-License-Identifier: PostgreSQL
"""Bounds at the bound: a capacity of exactly the most, one slot left, half of the entries live, spans of 2^32."""

from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern.snapbuild import Committed, CommittedFull, KnownAssigned, Reason, variants

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.common.variants import every_variant
from tests.snapbuild.agree import code_of, pointers

LAST = XID.size - 1
MOST = 2**28
MOST_FULL = 2**27


def refusal(call: Callable[..., Any], *args: Any, **named: Any) -> tuple[int, int]:
    """The refusal of a call with these arguments."""
    return code_of(lambda: call(*args, **named))


# ---- a capacity of exactly the most --------------------------------------------------------------


@pytest.mark.parametrize("name", every_variant(pointers()))
def test_the_greatest_capacity_is_accepted_and_one_more_refused(name: str) -> None:
    """A claim: nothing beyond the XIDs that are there, and the one that is inserted, may be touched."""
    (call,) = (pointer.call for pointer in pointers() if pointer.name == name)
    kind, number = ("committed_full", "uint64_t[]") if "full" in name else ("committed", "uint32_t[]")
    memory = ffi.new(number, [5, 7, 0])
    most = MOST_FULL if "full" in name else MOST
    for space, code in ((most, lib.PGQ_OK), (most + 1, lib.PGQ_SNAPBUILD_CAPACITY)):
        array = {"fxip": memory} if "full" in name else {"xip": memory, "sorted": True}
        status = call(ffi.new(f"pgq_snapbuild_{kind} *", {**array, "xcnt": 2, "xcnt_space": space}))
        assert (status.code, status.index) == (code, 0)


def known_of(xids: list[int], **members: Any) -> tuple[Any, Any]:
    """A struct that the caller makes, with all flags set, and the memory that it points to, to be kept alive."""
    memory, valid = ffi.new("uint32_t[]", xids), ffi.new("bool[]", [True] * len(xids))
    init = {"xids": memory, "valid": valid, "capacity": len(xids), "head": len(xids), "num": len(xids)} | members
    return ffi.new("pgq_snapbuild_known_assigned *", init), (memory, valid)


def test_known_assigned_of_the_greatest_capacity() -> None:
    for capacity, code in ((MOST, lib.PGQ_OK), (MOST + 1, lib.PGQ_SNAPBUILD_CAPACITY)):
        known, _alive = known_of([5, 7, 0], capacity=capacity, head=2, num=2)
        assert lib.pgq_snapbuild_known_assigned_check(known).code == code
        assert lib.pgq_snapbuild_known_assigned_add(known, 9, 9, 1).code == code
        assert lib.pgq_snapbuild_known_assigned_search(known, 7) == (code == lib.PGQ_OK)


# ---- one slot left, or none ----------------------------------------------------------------------


@pytest.mark.parametrize("variant", every_variant(variants("insert")))
def test_a_batch_that_fits_exactly(variant: str) -> None:
    for held in range(20):
        for m in range(1, 20):
            xip, batch = list(range(100, 100 + held)), list(range(500, 500 + m))
            exact = Committed(xip, capacity=held + m, sorted=True)
            exact.insert(batch, variant=variant)
            # A variant may leave them in any order.
            assert sorted(exact.xip) == [*xip, *batch]
            short = Committed(xip, capacity=held + m - 1, sorted=True)
            assert refusal(short.insert, batch, variant=variant) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
            assert short.xip == xip


@pytest.mark.parametrize("variant", every_variant(variants("snapshot")))
def test_a_snapshot_into_exactly_its_space(variant: str) -> None:
    fn = lib.pgq_snapbuild_snapshot_variants[[v.name for v in variants("snapshot")].index(variant)].fn
    xip = ffi.new("uint32_t[]", [9, 5, 7])
    committed = ffi.new("pgq_snapbuild_committed *", {"xip": xip, "xcnt": 3, "xcnt_space": 3})
    target = ffi.new("uint32_t[4]", [1] * 4)
    assert fn(committed, target, 2).code == lib.PGQ_SNAPBUILD_CAPACITY
    assert list(target) == [1] * 4
    assert fn(committed, target, 3).code == lib.PGQ_OK
    assert list(target) == [5, 7, 9, 1]


@pytest.mark.parametrize("n", range(2, 10))
def test_an_addition_into_exactly_its_space_does_not_compress(n: int) -> None:
    """One XID was removed. As long as the new ones fit after the rest, the gap stays."""
    for capacity in (4 + n, 3 + n, 2 + n):
        kernel, oracle = KnownAssigned(capacity), ref.KnownAssigned(capacity)
        for known in (kernel, oracle):
            known.add(3, 6, 1)
            known.remove(4)
        assert refusal(kernel.add, 7, 6 + n, 2) == refusal(oracle.add, 7, 6 + n, 2)
        assert kernel.state[2:] == (oracle.tail, oracle.head, oracle.num)
        assert kernel.get() == oracle.get()
        assert oracle.head == {4: 4 + n, 3: 3 + n, 2: 3}[capacity - n]


def test_get_into_exactly_its_space() -> None:
    known, _alive = known_of([3, 4, 5])
    xarray, n = ffi.new("uint32_t[4]", [1] * 4), ffi.new("size_t *")
    assert lib.pgq_snapbuild_known_assigned_get(known, 0, xarray, 2, n).code == lib.PGQ_SNAPBUILD_CAPACITY
    assert (n[0], list(xarray)) == (2, [3, 4, 1, 1])
    assert lib.pgq_snapbuild_known_assigned_get(known, 0, xarray, 3, n).code == lib.PGQ_OK
    assert (n[0], list(xarray)) == (3, [3, 4, 5, 1])


# ---- half of the entries live --------------------------------------------------------------------


@pytest.mark.parametrize("n", range(2, 40))
def test_a_transaction_end_compresses_if_at_most_half_is_live(n: int) -> None:
    """n entries, of which any number but the first were removed before the first call that finds a gap."""
    for removed in range(1, n):
        kernel, oracle = KnownAssigned(n), ref.KnownAssigned(n)
        for known in (kernel, oracle):
            known.add(3, 2 + n, 1)
            for xid in range(4, 4 + removed):
                known.remove(xid)
        at_most_half = 2 * (n - removed) <= n
        assert kernel.compress(Reason.TRANSACTION_END, 2) == at_most_half
        assert oracle.compress(ref.Reason.TRANSACTION_END, 2) == at_most_half
        assert kernel.get() == oracle.get() == [3, *range(4 + removed, 3 + n)]


# ---- full XIDs that span 2^32, and one less ------------------------------------------------------


@pytest.mark.parametrize("low", [FIRST_NORMAL, 5, 2**31, LAST])
@pytest.mark.parametrize("between", [0, 1, 5])
def test_a_full_snapshot_of_the_widest_span(low: int, between: int) -> None:
    first = full(3, low)
    inner = [x for x in range(first + 1, first + 20) if XID.is_normal(x % XID.size)][:between]
    for last in (first + 2**32 - 1, first + 2**32, first + 2**32 + 5):
        if not XID.is_normal(last % XID.size):
            continue
        committed = CommittedFull([first, *inner, last])
        if last - first < 2**32:
            assert committed.snapshot() == ref.snapshot_xip_full([first, *inner, last])
        else:
            assert refusal(committed.snapshot) == (lib.PGQ_SNAPBUILD_UNSORTED, 0)

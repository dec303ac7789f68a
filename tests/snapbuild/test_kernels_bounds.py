# SPDX-License-Identifier: PostgreSQL
"""Bounds at the bound: a capacity of exactly the most, one slot left, half of the entries live, spans of 2^32."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.snapbuild import Committed, CommittedFull, KnownAssigned, Reason, variants

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.common.variants import every_variant

LAST = XID.size - 1
MOST = 2**28
MOST_FULL = 2**27


def code_of(call: Callable[..., Any], *args: Any, **named: Any) -> tuple[int, int]:
    """The refusal of a call, by oracle or kernel: code and index; (0, 0) if it is accepted."""
    try:
        call(*args, **named)
    except (PgquernError, ref.XidArrayError) as error:
        return int(error.code), error.index
    return 0, 0


# ---- a capacity of exactly the most --------------------------------------------------------------


def calls() -> Iterator[Any]:
    """Every function that takes a struct of an array, by the name of its kind and variant."""
    arguments: dict[str, Callable[[], tuple[Any, ...]]] = {
        "purge": lambda: (3,),
        "purge_sorted": lambda: (3,),
        "purge_full": lambda: (3,),
        "insert": lambda: (ffi.new("uint32_t[]", [9]), 1, True),
        "snapshot": lambda: (ffi.new("uint32_t[2]"), 2),
    }
    for kind, make in arguments.items():
        name = "pgq_snapbuild_committed_full" if kind.endswith("full") else "pgq_snapbuild_committed"
        for i, row in enumerate(every_variant(variants(kind))):
            fn = getattr(lib, f"pgq_snapbuild_{kind}_variants")[i].fn
            call = lambda c, fn=fn, make=make: fn(c, *make())  # noqa: E731
            yield pytest.param(name, call, id=f"{kind}-{row.values[0]}", marks=row.marks)
    for fn, name in (
        (lib.pgq_snapbuild_committed_check, "pgq_snapbuild_committed"),
        (lib.pgq_snapbuild_committed_full_check, "pgq_snapbuild_committed_full"),
    ):
        yield pytest.param(name, fn, id=f"check of {name}")
    yield pytest.param(
        "pgq_snapbuild_committed_full",
        lambda c: lib.pgq_snapbuild_insert_full(c, ffi.new("uint64_t[]", [9]), 1),
        id="insert_full",
    )
    yield pytest.param(
        "pgq_snapbuild_committed_full",
        lambda c: lib.pgq_snapbuild_snapshot_full(c, ffi.new("uint32_t[2]"), 2),
        id="snapshot_full",
    )


@pytest.mark.parametrize(("struct", "call"), list(calls()))
def test_the_greatest_capacity_is_accepted_and_one_more_refused(struct: str, call: Callable[[Any], Any]) -> None:
    """A claim: nothing beyond the XIDs that are there, and the one that is inserted, may be touched."""
    of_full = struct.endswith("full")
    memory = ffi.new("uint64_t[]" if of_full else "uint32_t[]", [5, 7, 0])
    most = MOST_FULL if of_full else MOST
    for space, code in ((most, lib.PGQ_OK), (most + 1, lib.PGQ_SNAPBUILD_CAPACITY)):
        array = {"fxip": memory} if of_full else {"xip": memory, "sorted": True}
        assert call(ffi.new(f"{struct} *", {**array, "xcnt": 2, "xcnt_space": space})).code == code


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
            assert code_of(short.insert, batch, variant=variant) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
            assert short.xip == xip


def test_a_full_batch_that_fits_behind_the_array_leaves_the_head_where_it_is() -> None:
    for head in range(5):
        for m in range(1, 5):
            for room in range(-min(head, m), 3):
                committed = CommittedFull([50, 60], head=head, capacity=head + 2 + m + room)
                committed.insert(list(range(70, 70 + m)))
                assert committed.fxip == [50, 60, *range(70, 70 + m)]
                assert committed.head == (head if room >= 0 else 0)


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


def test_a_full_snapshot_into_exactly_its_space() -> None:
    fxip = ffi.new("uint64_t[]", [5, full(1, 4)])
    committed = ffi.new("pgq_snapbuild_committed_full *", {"fxip": fxip, "xcnt": 2, "xcnt_space": 2})
    target = ffi.new("uint32_t[3]", [1] * 3)
    assert lib.pgq_snapbuild_snapshot_full(committed, target, 1).code == lib.PGQ_SNAPBUILD_CAPACITY
    assert list(target) == [1] * 3
    assert lib.pgq_snapbuild_snapshot_full(committed, target, 2).code == lib.PGQ_OK
    assert list(target) == [4, 5, 1]


@pytest.mark.parametrize("n", range(2, 10))
def test_an_addition_into_exactly_its_space_does_not_compress(n: int) -> None:
    """One XID was removed. As long as the new ones fit after the rest, the gap stays."""
    for capacity in (4 + n, 3 + n, 2 + n):
        kernel, oracle = KnownAssigned(capacity), ref.KnownAssigned(capacity)
        for known in (kernel, oracle):
            known.add(3, 6, 1)
            known.remove(4)
        assert code_of(kernel.add, 7, 6 + n, 2) == code_of(oracle.add, 7, 6 + n, 2)
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
            assert code_of(committed.snapshot) == (lib.PGQ_SNAPBUILD_UNSORTED, 0)


# ---- what a refusal says ---------------------------------------------------------------------------

# The words that the text of each code must contain.
TEXTS = {
    "PGQ_SNAPBUILD_XID_PERMANENT": "a permanent XID (below 3)",
    "PGQ_SNAPBUILD_UNSORTED": "not in the order",
    "PGQ_SNAPBUILD_CAPACITY": "does not fit into the array",
    "PGQ_SNAPBUILD_DUPLICATE": "an XID twice",
}


def test_the_text_of_each_code_says_what_is_wrong() -> None:
    codes = {name: code for code, name in ffi.typeof("pgq_code").elements.items()}
    assert {name for name in codes if name.startswith("PGQ_SNAPBUILD_")} == set(TEXTS)
    for name, text in TEXTS.items():
        assert text in str(PgquernError(codes[name], 7)), name

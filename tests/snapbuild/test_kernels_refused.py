# SPDX-License-Identifier: PostgreSQL
"""What the kernels on XID arrays refuse: which code, at which element, and that nothing has changed."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from _pgquern import ffi, lib
from hypothesis import given
from hypothesis import strategies as st
from pgquern.snapbuild import Committed, CommittedFull, variants

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, full
from tests.common.variants import every_variant
from tests.snapbuild.agree import code_of, names, pointers
from tests.snapbuild.strategies import normal_xids

dirty_xids = st.one_of(normal_xids, st.integers(0, 2))


@given(st.lists(dirty_xids, max_size=30), st.lists(dirty_xids, max_size=10), normal_xids)
def test_refusals_agree_with_the_oracle(xip: list[int], batch: list[int], xmin: int) -> None:
    """Permanent XIDs, order and duplicates: the same code at the same element, and nothing changed."""

    def committed(claim: bool) -> Committed:
        return Committed(xip, capacity=len(xip) + len(batch), sorted=claim)

    pairs: list[tuple[Callable[[Any], Any], Callable[[], Any], Any]] = [
        (lambda c: c.purge(xmin), lambda: ref.purge(xip, xmin), committed(False)),
        (lambda c: c.purge_sorted(xmin), lambda: ref.purge_sorted(xip, xmin), committed(True)),
        (lambda c: c.purge(full(1, xmin)), lambda: ref.purge_full(xip, full(1, xmin)), CommittedFull(xip)),
        (lambda c: c.insert(batch, checked=False), lambda: ref.append([], batch), committed(False)),
        (lambda c: c.snapshot(), lambda: ref.purge_sorted(xip, 0), committed(True)),
    ]
    for kernel, oracle, array in pairs:
        refusal = code_of(lambda kernel=kernel, array=array: kernel(array))  # type: ignore[misc]
        assert refusal == code_of(oracle)
        if refusal != (0, 0):
            assert (array.fxip if isinstance(array, CommittedFull) else array.xip) == xip


def test_a_permanent_xid_is_found_anywhere_in_a_batch() -> None:
    for variant, n, last in product(names("insert"), range(1, 20), range(FIRST_NORMAL)):
        for at in range(n):
            batch = [FIRST_NORMAL] * at + [last] + [FIRST_NORMAL] * (n - at - 1)
            committed = Committed([3], capacity=n + 1)
            refusal = code_of(lambda c=committed, b=batch, v=variant: c.insert(b, variant=v, consistent=False))  # type: ignore[misc]
            assert refusal == (lib.PGQ_SNAPBUILD_XID_PERMANENT, at + 1)
            assert committed.xip == [3]


def test_the_sorted_purge_refuses_what_does_not_claim_to_be_sorted() -> None:
    for variant, xip in product(names("purge_sorted"), ([3, 4], [3], [])):
        committed = Committed(xip, capacity=2)
        refusal = code_of(lambda v=variant, c=committed: c.purge_sorted(4, variant=v))  # type: ignore[misc]
        assert refusal == (lib.PGQ_SNAPBUILD_UNSORTED, 0), (variant, xip)


@pytest.mark.parametrize("variant", every_variant(pointers()))
def test_null_and_counts_past_the_capacity_are_refused(variant: str) -> None:
    name, call = next((pointer.name, pointer.call) for pointer in pointers() if pointer.name == variant)
    is_full = "full" in name
    memory = ffi.new("uint64_t[4]")
    kind, array = ("pgq_snapbuild_committed_full *", "fxip") if is_full else ("pgq_snapbuild_committed *", "xip")
    sound = ffi.cast("uint64_t *" if is_full else "uint32_t *", memory)

    def refusal(**members: Any) -> tuple[int, int]:
        status = call(ffi.new(kind, {"sorted": True, **members} if not is_full else members))
        return status.code, status.index

    assert call(ffi.NULL).code == lib.PGQ_NULL
    assert refusal(**{array: ffi.NULL}, xcnt=1, xcnt_space=4) == (lib.PGQ_NULL, 0)
    assert refusal(**{array: sound}, xcnt=5, xcnt_space=4) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
    for head in (1, 5, 2**64 - 1) if is_full else ():
        assert refusal(**{array: sound}, head=head, xcnt=4, xcnt_space=4) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)


@pytest.mark.parametrize("variant", every_variant(variants("snapshot")))
@pytest.mark.parametrize("xcnt", [0, 1, 3])
@pytest.mark.parametrize("claim", [False, True])
def test_a_snapshot_changes_nothing_of_the_array(variant: str, xcnt: int, claim: bool) -> None:
    call = next(pointer.call for pointer in pointers() if pointer.name == f"snapshot {variant}")
    memory = ffi.new("uint32_t[4]", [5, 6, 7, 8])
    array = ffi.new("pgq_snapbuild_committed *", {"xip": memory, "xcnt": xcnt, "xcnt_space": 4, "sorted": claim})
    before = bytes(ffi.buffer(array)), bytes(ffi.buffer(memory))
    assert call(array).code == lib.PGQ_OK
    assert (bytes(ffi.buffer(array)), bytes(ffi.buffer(memory))) == before


def test_null_batches_and_targets_are_refused() -> None:
    committed, committed_full = ffi.new("pgq_snapbuild_committed *"), ffi.new("pgq_snapbuild_committed_full *")
    assert lib.pgq_snapbuild_insert(committed, ffi.NULL, 1, True).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_insert_full(committed_full, ffi.NULL, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_snapshot(committed, ffi.NULL, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_snapshot_full(committed_full, ffi.NULL, 1).code == lib.PGQ_NULL
    memory, target = ffi.new("uint32_t[2]", [3, 4]), ffi.new("uint32_t[1]")
    two = ffi.new("pgq_snapbuild_committed *", {"xip": memory, "xcnt": 2, "xcnt_space": 2})
    assert lib.pgq_snapbuild_snapshot(two, target, 1).code == lib.PGQ_SNAPBUILD_CAPACITY


def test_nothing_is_done_to_nothing() -> None:
    """An array may have no memory at all."""
    for name, call in ((pointer.name, pointer.call) for pointer in pointers() if pointer.supported):
        kind = "pgq_snapbuild_committed_full *" if "full" in name else "pgq_snapbuild_committed *"
        expected = lib.PGQ_SNAPBUILD_CAPACITY if name.startswith("insert") else lib.PGQ_OK
        status = call(ffi.new(kind, {} if "full" in name else {"sorted": True}))
        assert status.code == expected, name


def test_no_memory_is_needed_for_nothing() -> None:
    """NULL is refused only where something would be read or written."""
    memory = ffi.new("uint64_t[2]", [5, 7])
    full_two = ffi.new("pgq_snapbuild_committed_full *", {"fxip": memory, "xcnt": 2, "xcnt_space": 2})
    assert lib.pgq_snapbuild_insert_full(full_two, ffi.NULL, 0).code == lib.PGQ_OK
    assert lib.pgq_snapbuild_insert_full(full_two, ffi.NULL, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_snapshot_full(ffi.new("pgq_snapbuild_committed_full *"), ffi.NULL, 0).code == lib.PGQ_OK
    empty = ffi.new("pgq_snapbuild_committed *", {"sorted": True})
    assert lib.pgq_snapbuild_insert(empty, ffi.NULL, 0, True).code == lib.PGQ_OK
    assert lib.pgq_snapbuild_snapshot(empty, ffi.NULL, 0).code == lib.PGQ_OK
    known = ffi.new("pgq_snapbuild_known_assigned *")
    assert lib.pgq_snapbuild_known_assigned_check(known).code == lib.PGQ_OK
    assert lib.pgq_snapbuild_known_assigned_remove_tree(known, 3, ffi.NULL, 0, 1).code == lib.PGQ_OK
    assert lib.pgq_snapbuild_known_assigned_remove_preceding(known, 3, ffi.NULL, 0, 1).code == lib.PGQ_OK

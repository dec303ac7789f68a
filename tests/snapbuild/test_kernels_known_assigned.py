# SPDX-License-Identifier: PostgreSQL
"""KnownAssignedXids: permanent XIDs as bounds, the index that a refusal names, searches at the ends of the array."""

from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.snapbuild import KnownAssigned

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID
from tests import guarded

LAST = XID.size - 1
HALF = XID.half
# Ranges at the start of the ring, at half of it, at its end, and across the wrap.
RANGES = [(FIRST_NORMAL, 9), (HALF - 3, HALF + 3), (LAST - 5, LAST), (LAST - 3, FIRST_NORMAL + 3)]
BOUNDS = [0, 1, 2, FIRST_NORMAL, FIRST_NORMAL + 1, HALF - 1, HALF, HALF + 1, LAST - 1, LAST]


def both(from_xid: int, to_xid: int) -> tuple[KnownAssigned, ref.KnownAssigned]:
    """Kernel and oracle, full, with the second XID removed."""
    oracle = ref.KnownAssigned(20)
    oracle.add(from_xid, to_xid, 1)
    xids = oracle.get()
    pair = KnownAssigned(len(xids)), ref.KnownAssigned(len(xids))
    for known in pair:
        known.add(from_xid, to_xid, 1)
        known.remove(xids[1])
    return pair


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "search": lambda known, xid: known.search(xid),
    "remove": lambda known, xid: known.remove(xid),
    "remove_tree": lambda known, xid: known.remove_tree(xid, [xid, 1, 2], 2),
    "remove_preceding": lambda known, xid: known.remove_preceding(xid, 2),
    "remove_preceding, prepared": lambda known, xid: known.remove_preceding(xid, 2, [known.get()[0], 0, 1]),
    "get": lambda known, xid: known.get(xid),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("from_xid", "to_xid"), RANGES)
def test_permanent_xids_and_corners_as_bounds(from_xid: int, to_xid: int, method: str) -> None:
    for xid in [*BOUNDS, from_xid - 1, from_xid, to_xid, XID.advance(to_xid)]:
        kernel, oracle = both(from_xid, to_xid)
        assert METHODS[method](kernel, xid) == METHODS[method](oracle, xid), xid
        used = slice(oracle.tail, oracle.head)
        state = oracle.xids[used], oracle.valid[used], oracle.tail, oracle.head, oracle.num
        assert kernel.state == state, xid


@pytest.mark.parametrize("xid", [0, 1, 2])
def test_no_normal_xid_precedes_a_permanent_one(xid: int) -> None:
    """Said once without the oracle: get(0) is all and remove_preceding(0) removes all; for 1 and 2 it is nothing."""
    for from_xid, to_xid in RANGES:
        kernel, _ = both(from_xid, to_xid)
        held = kernel.get()
        assert not kernel.search(xid)
        assert not kernel.remove(xid)
        assert kernel.get(xid) == ([] if xid else held)
        kernel.remove_preceding(xid, 2)
        assert kernel.get() == (held if xid else [])


# ---- the index that a refusal names --------------------------------------------------------------


def checked(xids: list[int], tail: int) -> tuple[int, int]:
    """pgq_snapbuild_known_assigned_check of the elements from `tail` on: code and index."""
    memory, valid = ffi.new("uint32_t[]", xids), ffi.new("bool[]", [True] * len(xids))
    n = len(xids)
    init = {"xids": memory, "valid": valid, "capacity": n, "head": n, "tail": tail, "num": n - tail}
    status = lib.pgq_snapbuild_known_assigned_check(ffi.new("pgq_snapbuild_known_assigned *", init))
    return status.code, status.index


@pytest.mark.parametrize("tail", [0, 1, 5])
def test_check_names_the_element_by_its_place_in_the_array(tail: int) -> None:
    """It counts from 1 at the array's start, not at the tail. Entries below the tail are not checked."""
    sound = list(range(100, 120))
    assert checked([7] * tail + sound[tail:], tail) == (lib.PGQ_OK, 0)
    for i in range(tail, 20):
        for permanent in range(FIRST_NORMAL):
            assert checked([*sound[:i], permanent, *sound[i + 1 :]], tail) == (lib.PGQ_SNAPBUILD_XID_PERMANENT, i + 1)
    for i in range(tail + 1, 20):
        assert checked([*sound[:i], sound[i - 1], *sound[i + 1 :]], tail) == (lib.PGQ_SNAPBUILD_DUPLICATE, i + 1)
        assert checked([*sound[:i], sound[i - 1] - 1, *sound[i + 1 :]], tail) == (lib.PGQ_SNAPBUILD_UNSORTED, i + 1)


@pytest.mark.parametrize(
    ("from_xid", "to_xid", "refusal"),
    [
        (0, 20, (lib.PGQ_SNAPBUILD_XID_PERMANENT, 1)),
        (20, 2, (lib.PGQ_SNAPBUILD_XID_PERMANENT, 2)),
        (2, 2, (lib.PGQ_SNAPBUILD_XID_PERMANENT, 1)),
        (20, 19, (lib.PGQ_SNAPBUILD_UNSORTED, 2)),
        (9, 20, (lib.PGQ_SNAPBUILD_UNSORTED, 1)),
        (9, 8, (lib.PGQ_SNAPBUILD_UNSORTED, 2)),
        (10, 20, (lib.PGQ_SNAPBUILD_DUPLICATE, 1)),
        (10 + HALF, 10 + HALF, (0, 0)),
        (11 + HALF, 11 + HALF, (lib.PGQ_SNAPBUILD_UNSORTED, 1)),
        (11, 20, (0, 0)),
    ],
)
def test_add_names_the_argument_at_fault(from_xid: int, to_xid: int, refusal: tuple[int, int]) -> None:
    """1: from_xid, 2: to_xid. The last entry is 10."""
    known = KnownAssigned(30)
    known.add(5, 10, 1)
    held = known.state
    if refusal == (0, 0):
        known.add(from_xid, to_xid, 2)
        return
    with pytest.raises(PgquernError) as caught:
        known.add(from_xid, to_xid, 2)
    assert (caught.value.code, caught.value.index) == refusal
    assert known.state == held


# ---- searches at the ends of the array -----------------------------------------------------------


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 16, 1024, 1025])
def test_a_search_stays_within_the_array(monkeypatch: pytest.MonkeyPatch, n: int, at_end: bool) -> None:
    """A full array against a page that cannot be touched: XIDs below all, above all, and each that is there."""
    monkeypatch.setattr("pgquern.snapbuild.new_array", guarded.Arrays(at_end).new)
    held = [XID.size - n // 2 + i for i in range(n // 2)] + [FIRST_NORMAL + i for i in range(n - n // 2)]
    known = KnownAssigned(n)
    known.add(held[0], held[-1], 1)
    assert known.get() == held
    for xid in [held[0] - 1, XID.advance(held[-1]), (held[0] + HALF) % XID.size]:
        assert not known.search(xid)
        assert not known.remove(xid)
    assert all(known.search(xid) for xid in held)
    assert all(known.remove(xid) for xid in held)
    assert known.get() == []


def test_what_lies_beyond_the_head_is_not_found() -> None:
    """After compression the array's end still holds XIDs, their flags set; they are not among the known ones."""
    known = KnownAssigned(8)
    known.add(3, 10, 1)
    for xid in (3, 5, 6, 7):
        known.remove(xid)
    known.remove_preceding(3, 2)  # compresses
    assert known.state == ([4, 8, 9, 10], [True] * 4, 0, 4, 4)
    for xid in (8, 9, 10):
        assert known.remove(xid)
    assert [xid for xid in range(3, 12) if known.search(xid)] == [4]
    known.remove_preceding(5, 2)
    assert [xid for xid in range(12) if known.search(xid) or known.remove(xid)] == []

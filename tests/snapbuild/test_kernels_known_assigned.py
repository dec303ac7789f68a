# SPDX-License-Identifier: PostgreSQL
"""KnownAssignedXids: permanent XIDs as bounds, what a refusal names and leaves, searches at the ends, the clock."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.snapbuild import KnownAssigned, Reason

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID
from tests.common import guard_pages

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
    monkeypatch.setattr("pgquern.snapbuild.new_array", guard_pages.Arrays(at_end).new)
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


# ---- what describes the array --------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["xids", "valid"])
def test_either_array_may_be_missing_only_without_capacity(missing: str) -> None:
    arrays = {"xids": ffi.new("uint32_t[1]"), "valid": ffi.new("bool[1]")}
    for capacity, code in ((0, lib.PGQ_OK), (1, lib.PGQ_NULL)):
        known = ffi.new("pgq_snapbuild_known_assigned *", {**arrays, missing: ffi.NULL, "capacity": capacity})
        assert lib.pgq_snapbuild_known_assigned_check(known).code == code


@pytest.mark.parametrize("tail", range(4))
def test_no_more_flags_than_entries_from_the_tail_on(tail: int) -> None:
    xids, valid = ffi.new("uint32_t[]", [3, 4, 5]), ffi.new("bool[]", [True] * 3)
    for num in range(5):
        init = {"xids": xids, "valid": valid, "capacity": 3, "head": 3, "tail": tail, "num": num}
        code = lib.PGQ_OK if num <= 3 - tail else lib.PGQ_SNAPBUILD_CAPACITY
        assert lib.pgq_snapbuild_known_assigned_check(ffi.new("pgq_snapbuild_known_assigned *", init)).code == code


def test_compress_tells_either_answer_and_a_refusal_tells_none() -> None:
    xids, valid = ffi.new("uint32_t[]", [3, 4, 5]), ffi.new("bool[]", [True, False, True])
    init = {"xids": xids, "valid": valid, "capacity": 3, "head": 3, "num": 2}
    known, done = ffi.new("pgq_snapbuild_known_assigned *", init), ffi.new("bool *")
    compress = lib.pgq_snapbuild_known_assigned_compress
    for expected in (True, False):
        done[0] = not expected
        assert compress(known, lib.PGQ_SNAPBUILD_COMPRESS_PRUNE, 7, done).code == lib.PGQ_OK
        assert done[0] == expected
    known.head = 4
    for before in (True, False):
        done[0] = before
        assert compress(known, lib.PGQ_SNAPBUILD_COMPRESS_NO_SPACE, 8, done).code == lib.PGQ_SNAPBUILD_CAPACITY
        assert (done[0], known.last_compress) == (before, 7)


def test_get_that_is_refused_for_its_arguments_writes_nothing() -> None:
    """Of CAPACITY the header says that the first are written: test_get_into_exactly_its_space."""
    known = ffi.new("pgq_snapbuild_known_assigned *", {"capacity": 1})
    xarray, n = ffi.new("uint32_t[2]", [77, 77]), ffi.new("size_t *", 99)
    assert lib.pgq_snapbuild_known_assigned_get(known, 0, xarray, 2, n).code == lib.PGQ_NULL
    assert (list(xarray), n[0]) == ([77, 77], 99)


# ---- the clock, and an environment that cannot be followed ----------------------------------------

CLOCKS = [-(2**63), -(2**63) + 1, -1001, -1000, -999, -1, 1, 999, 1000, 1001, 2**63 - 1001, 2**63 - 1000, 2**63 - 1]


def test_the_idle_process_compresses_a_second_later_at_every_time_of_the_clock() -> None:
    """Also where the two times lie farther apart than an int64_t can say, and where the clock went back."""
    for last in CLOCKS:
        for now in CLOCKS:
            did = []
            both: list[tuple[Any, Any]] = [(KnownAssigned(8), Reason), (ref.KnownAssigned(8), ref.Reason)]
            for known, reason in both:
                known.add(3, 8, 1)
                known.compress(reason.NO_SPACE, last)
                known.remove(5)
                did.append(known.compress(reason.STARTUP_PROCESS_IDLE, now))
            assert did == [now - last >= 1000] * 2, (last, now)


WITHOUT_A_VARIANT = """
from _pgquern import ffi, lib
from pgquern.snapbuild import KnownAssigned
known = KnownAssigned(8)
known.add(3, 8, 1)
tree, preceding = known.remove_tree, known.remove_preceding
for remove, arguments in ((tree, (4, [5], 2)), (preceding, (6, 2)), (preceding, (0, 2))):
    try:
        remove(*arguments)
    except Exception as error:
        print(error.code, known.get())
"""


def test_a_refusal_because_of_the_environment_removes_nothing() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PGQUERN_VARIANT": "nonsense"}
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_VARIANT], capture_output=True, text=True, env=env, check=False
    )
    assert run.stdout == f"{lib.PGQ_VARIANT} [3, 4, 5, 6, 7, 8]\n" * 3, run.stderr

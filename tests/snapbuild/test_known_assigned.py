# SPDX-License-Identifier: PostgreSQL
"""KnownAssignedXids: every kernel against the oracle, state for state, through additions, removals and compressions."""

from collections.abc import Sequence
from typing import Any

import pytest
from _pgquern import ffi, lib
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pgquern import PgquernError
from pgquern import snapbuild as kernels

from ref.snapbuild import Code, KnownAssigned, Reason, XidArrayError
from ref.xid import FIRST_NORMAL, INVALID, XID
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.snapbuild.extracted import PROGRAM, Extracted, Op

VARIANTS = [v.name for v in kernels.variants("known_assigned") if v.supported]


def call(known: Any, method: str, *args: Any) -> Any:
    """The answer of a method, or the code and index of its refusal."""
    try:
        return getattr(known, method)(*args)
    except (PgquernError, XidArrayError) as error:
        return int(error.code), error.index


def state_of(known: KnownAssigned) -> tuple[list[int], list[bool], int, int, int]:
    used = slice(known.tail, known.head)
    return known.xids[used], known.valid[used], known.tail, known.head, known.num


class Standby(RuleBasedStateMachine):
    """A standby that replays WAL; XIDs are added in their order, with gaps now and then."""

    @initialize(capacity=st.sampled_from([8, 40, 200]), xid=st.integers(0, 400))
    def start(self, capacity: int, xid: int) -> None:
        self.next_xid = max((XID.size - 200 + xid) % XID.size, FIRST_NORMAL)
        self.now = 1
        self.oracle = KnownAssigned(capacity)
        self.kernels = {name: kernels.KnownAssigned(capacity, variant=name) for name in VARIANTS}
        self.extracted = Extracted()

    def each(self, method: str, *args: Any) -> Any:
        """The same call to the oracle and to every kernel; all must answer, or refuse, alike."""
        answer = call(self.oracle, method, *args)
        for name, kernel in self.kernels.items():
            assert call(kernel, method, *args) == answer, name
        return answer

    @rule(n=st.sampled_from([1, 1, 1, 2, 5, 30]), skip=st.sampled_from([0, 0, 0, 1, 1000]))
    def add(self, n: int, skip: int) -> None:
        """n XIDs, some left out before them."""
        for _ in range(skip):
            self.next_xid = XID.advance(self.next_xid)
        last = self.next_xid
        for _ in range(n - 1):
            last = XID.advance(last)
        if self.each("add", self.next_xid, last, self.now) is None:
            self.next_xid = XID.advance(last)

    @rule(back=st.integers(0, 300), to=st.integers(-3, 3))
    def add_out_of_order(self, back: int, to: int) -> None:
        """Refused by all with the same code, unless it happens to be in order."""
        first = (self.next_xid - back) % XID.size
        last = (first + to) % XID.size
        if self.each("add", first, last, self.now) is None:
            self.next_xid = XID.advance(last)

    @precondition(lambda self: self.oracle.num > 0)
    @rule(place=st.integers(0, 999), nsubxids=st.integers(0, 8))
    def end(self, place: int, nsubxids: int) -> None:
        """A transaction ends, with some of the XIDs after it as its subtransactions."""
        live = self.oracle.get()
        at = place % len(live)
        self.each("remove_tree", live[at], live[at + 1 : at + 1 + nsubxids], self.now)

    @rule(back=st.integers(0, 300))
    def remove_and_search(self, back: int) -> None:
        """Any XID: live, ended, never there."""
        xid = (self.next_xid - back) % XID.size
        found = self.each("search", xid)
        assert self.each("remove", xid) == found
        assert not self.each("search", xid)

    @rule(back=st.integers(0, 300), keep=st.booleans())
    def remove_preceding(self, back: int, keep: bool) -> None:
        xid = max((self.next_xid - back) % XID.size, FIRST_NORMAL)
        self.each("remove_preceding", xid, self.now, self.oracle.get()[:3] if keep else [])

    @rule(really=st.integers(0, 9))
    def remove_all(self, really: int) -> None:
        if really == 0:
            self.each("remove_preceding", INVALID, self.now)

    @rule(reason=st.sampled_from(Reason), ms=st.sampled_from([0, 1, 999, 1000]))
    def compress(self, reason: Reason, ms: int) -> None:
        self.now += ms
        xids, valid, *_ = state_of(self.oracle)
        if self.each("compress", reason, self.now):
            self.extracted.expect(self.oracle.get(), Op.COMPRESS, xids, valid)

    @rule(back=st.integers(0, 300))
    def get(self, back: int) -> None:
        xmax = max((self.next_xid - back) % XID.size, FIRST_NORMAL)
        self.each("get", xmax)
        self.each("get")

    @invariant()
    def all_hold_the_same(self) -> None:
        if hasattr(self, "oracle"):
            for name, kernel in self.kernels.items():
                assert kernel.state == state_of(self.oracle), name
                kernel.check()
            assert self.oracle.num == len(self.oracle.get())
            tally("snapbuild", "steps")

    def teardown(self) -> None:
        if PROGRAM.exists() and hasattr(self, "extracted"):
            tally("snapbuild", "answers of the extracted proof", self.extracted.check())


TestStandby = Standby.TestCase
# Not shrunk, which takes minutes here: the steps of a failure are printed as they were.
TestStandby.settings = settings(max_examples=60, stateful_step_count=100, phases=(Phase.explicit, Phase.generate))


@pytest.mark.parametrize("variant", every_variant(kernels.variants("known_assigned")))
def test_the_four_reasons(variant: str) -> None:
    """Each compresses at the calls it should, and at no other: oracle and kernel, call by call."""
    oracle, kernel = KnownAssigned(1000), kernels.KnownAssigned(1000, variant=variant)

    def both(method: str, *args: Any) -> Any:
        answer = call(oracle, method, *args)
        assert call(kernel, method, *args) == answer
        assert kernel.state == state_of(oracle)
        return answer

    both("add", 3, 602, 5)
    for reason in Reason:
        assert both("compress", reason, 6) == (reason == Reason.NO_SPACE)
    both("remove", 4)
    assert both("compress", Reason.STARTUP_PROCESS_IDLE, 1005) is False
    assert both("compress", Reason.STARTUP_PROCESS_IDLE, 1006) is True

    # TRANSACTION_END: the first call with a gap, and every 128th, calls without a gap not counted; then only if half is
    # gap. The first call here finds less.
    for xid in range(5, 250):
        both("remove", xid)
    assert [both("compress", Reason.TRANSACTION_END, 1007) for _ in range(3)] == [False, False, False]
    for xid in range(330, 590):
        both("remove", xid)
    done = [both("compress", Reason.TRANSACTION_END, 1008) for _ in range(130)]
    assert [call for call, was in enumerate(done, 4) if was] == [129]
    assert both("compress", Reason.PRUNE, 1009) is False
    both("remove", 600)
    assert both("compress", Reason.PRUNE, 1009) is True


@pytest.mark.parametrize("variant", every_variant(kernels.variants("known_assigned")))
@pytest.mark.parametrize("reason", Reason)
def test_idling_waits_a_second_from_any_compression(variant: str, reason: Reason) -> None:
    """Whatever it was for, and if it was asked for or came with a removal or an addition."""
    both: tuple[Any, Any] = (KnownAssigned(8), kernels.KnownAssigned(8, variant=variant))
    for known in both:
        known.add(3, 10, 1)
        for xid in (4, 5, 6, 7):
            known.remove(xid)
        if reason == Reason.NO_SPACE:
            known.add(11, 12, 5000)
        elif reason == Reason.PRUNE:
            known.remove_preceding(3, 5000)
        elif reason == Reason.TRANSACTION_END:
            known.remove_tree(9, [], 5000)
        else:
            assert known.compress(reason, 5000)
        known.remove(8)
        for now, due in ((5000, False), (5999, False), (6000, True)):
            assert known.compress(Reason.STARTUP_PROCESS_IDLE, now) == due, now


@pytest.mark.parametrize("first", [FIRST_NORMAL, 5, XID.half - 1, XID.half, XID.half + 3, XID.size - 2, XID.size - 1])
def test_an_addition_that_spans_half_the_ring(first: int) -> None:
    """Of two XIDs half the ring apart each precedes the other: refused as out of order. One less is only too many."""
    for distance in (XID.half - 1, XID.half, XID.half + 1, XID.size - 1):
        to = (first + distance) % XID.size
        if not XID.is_normal(to):
            continue
        oracle, kernel = KnownAssigned(4), kernels.KnownAssigned(4)
        refusal = (Code.CAPACITY, 0) if distance < XID.half else (Code.UNSORTED, 2)
        for known in (oracle, kernel):
            assert call(known, "add", first, to, 1) == refusal, distance
        assert kernel.state == state_of(oracle) == ([], [], 0, 0, 0)


arrays_alive: list[Any] = []


def raw(elements: Sequence[int], **members: Any) -> Any:
    """A struct of the caller's making."""
    xids, valid, n = ffi.new("uint32_t[]", list(elements)), ffi.new("bool[]", [True] * len(elements)), len(elements)
    arrays_alive.append((xids, valid))
    return ffi.new(
        "pgq_snapbuild_known_assigned *", {"xids": xids, "valid": valid, "capacity": n, "head": n, "num": n} | members
    )


def test_refusals() -> None:
    check = lib.pgq_snapbuild_known_assigned_check
    assert check(ffi.NULL).code == lib.PGQ_NULL
    for members in ({"head": 3}, {"tail": 3}, {"capacity": 1}):
        assert check(raw([3, 4], **members)).code == lib.PGQ_SNAPBUILD_CAPACITY
    assert check(raw([XID.size - 1, 3])).code == lib.PGQ_OK
    # At half the ring each of two precedes the other: not an order, and not found out by looking at neighbours.
    assert check(raw([5, 5 + XID.half])).code == lib.PGQ_OK

    n = ffi.new("size_t *")
    two = raw([3, 4])
    xarray = ffi.new("uint32_t[1]")
    assert lib.pgq_snapbuild_known_assigned_get(two, 0, ffi.NULL, 1, n).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_known_assigned_get(two, 0, xarray, 1, ffi.NULL).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_known_assigned_remove_tree(two, 3, ffi.NULL, 1, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_known_assigned_remove_preceding(two, 3, ffi.NULL, 1, 1).code == lib.PGQ_NULL
    for known, code in ((ffi.NULL, lib.PGQ_NULL), (raw([3, 4], head=3), lib.PGQ_SNAPBUILD_CAPACITY)):
        assert lib.pgq_snapbuild_known_assigned_add(known, 9, 9, 1).code == code
        assert (
            lib.pgq_snapbuild_known_assigned_compress(known, lib.PGQ_SNAPBUILD_COMPRESS_NO_SPACE, 1, ffi.NULL).code
            == code
        )
        assert lib.pgq_snapbuild_known_assigned_remove_tree(known, 3, ffi.NULL, 0, 1).code == code
        assert lib.pgq_snapbuild_known_assigned_remove_preceding(known, 3, ffi.NULL, 0, 1).code == code
        assert lib.pgq_snapbuild_known_assigned_get(known, 0, xarray, 1, n).code == code
    assert not lib.pgq_snapbuild_known_assigned_search(ffi.NULL, 3)
    assert not lib.pgq_snapbuild_known_assigned_remove(raw([3], head=2), 3)

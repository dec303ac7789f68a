# SPDX-License-Identifier: PostgreSQL
"""The definition itself: what it implies, and that the judge of logs sees what is wrong."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.rangelock import (
    LIMIT,
    Event,
    NotHeldError,
    NotWaitingError,
    RangeError,
    RangeLock,
    Request,
    What,
    conflict,
    judge,
)
from tests.rangelock.strategies import ranges, refused

steps = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), ranges, st.booleans()), max_size=40)


def played(choices: list[tuple[int, int, tuple[int, int], bool]]) -> RangeLock:
    """A lock after these steps, checked after each of them."""
    lock = RangeLock()
    for what, which, (offset, length), exclusive in choices:
        if what <= 1:
            lock.request(offset, length, exclusive=exclusive)
        elif what == 2:
            lock.try_request(offset, length, exclusive=exclusive)
        elif what <= 4 and lock.held:
            lock.release(lock.held[which % len(lock.held)])
        elif lock.waiting:
            lock.cancel(lock.waiting[which % len(lock.waiting)], What.TIMEOUT if exclusive else What.CANCEL)
        check(lock)
    return lock


def check(lock: RangeLock) -> None:
    """No two that conflict are held; who waits has an earlier one in its way, and nobody later has passed."""
    assert not any(conflict(a, b) for a, b in product(lock.held, lock.held) if a != b)
    for request in lock.waiting:
        before = [other for other in [*lock.held, *lock.waiting] if other.ticket < request.ticket]
        assert any(conflict(other, request) for other in before)
        assert not any(conflict(other, request) for other in lock.held if other.ticket > request.ticket)


@given(steps)
def test_the_rule_implies_the_properties(choices: list[tuple[int, int, tuple[int, int], bool]]) -> None:
    lock = played(choices)
    assert list(judge(lock.events)) == []


@given(steps)
def test_all_are_served(choices: list[tuple[int, int, tuple[int, int], bool]]) -> None:
    """If all who hold a range release it, all who wait get theirs."""
    lock = played(choices)
    for _ in range(len(lock.held) + len(lock.waiting)):
        if lock.held:
            lock.release(lock.held[0])
    assert (lock.held, lock.waiting) == ([], [])


@given(refused)
def test_bad_ranges_are_refused(bad: tuple[int, int]) -> None:
    lock = RangeLock()
    for call in (lock.request, lock.try_request):
        with pytest.raises(RangeError):
            call(*bad, exclusive=True)
    assert (lock.held, lock.waiting, lock.events) == ([], [], [])


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (-1, 10), (5, -1), (LIMIT, -1), (-5, -5)])
def test_what_is_negative_is_refused(offset: int, length: int) -> None:
    """C cannot be asked for it; a negative length would give a range that ends before it begins."""
    with pytest.raises(RangeError, match="does not lie within"):
        RangeLock().request(offset, length, exclusive=True)


def test_a_writer_is_not_passed_by_later_readers() -> None:
    lock = RangeLock()
    reader = lock.request(0, 10, exclusive=False)
    writer = lock.request(5, 10, exclusive=True)
    late = lock.request(0, 20, exclusive=False)
    assert lock.try_request(9, 1, exclusive=False) is None
    assert lock.try_request(0, 5, exclusive=False) is not None
    assert lock.waiting == [writer, late]
    assert lock.release(reader) == [writer]
    assert lock.release(writer) == [late]


def test_what_is_not_there_cannot_leave() -> None:
    lock = RangeLock()
    held, waits = lock.request(0, LIMIT, exclusive=True), lock.request(0, 1, exclusive=False)
    with pytest.raises(NotHeldError):
        lock.release(waits)
    with pytest.raises(NotWaitingError):
        lock.cancel(held)
    lock.release(held)
    with pytest.raises(NotHeldError):
        lock.release(held)


A, B, C = Request(1, 0, 4, True), Request(2, 2, 6, True), Request(3, 5, 9, False)
FREE = Request(2, 8, 9, True)
SOUND = [
    Event(What.REQUEST, A), Event(What.GRANT, A), Event(What.REQUEST, B), Event(What.REQUEST, C),
    Event(What.RELEASE, A), Event(What.GRANT, B), Event(What.CANCEL, C), Event(What.RELEASE, B),
]  # fmt: skip


def test_the_judge_accepts_a_sound_log() -> None:
    assert list(judge(SOUND)) == []


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (SOUND[:1], "were not granted"),
        ([*SOUND[:3], Event(What.GRANT, B)], "may not go"),
        ([*SOUND[:4], Event(What.GRANT, C)], "may not go"),
        ([*SOUND[:5], SOUND[6]], "were not granted"),
        ([*SOUND[:2], SOUND[5]], "may not go"),
        ([*SOUND[:2], Event(What.RELEASE, B)], "was not there"),
        ([*SOUND[:3], Event(What.RELEASE, B)], "was not there"),
        ([*SOUND[:2], Event(What.CANCEL, A)], "was not there"),
        ([*SOUND[:2], Event(What.REFUSE, FREE)], "may go"),
        ([SOUND[2], SOUND[5], SOUND[0]], "comes after"),
    ],
)
def test_the_judge_sees_each_fault(events: list[Event], says: str) -> None:
    assert any(says in fault for fault in judge(events))


@pytest.mark.parametrize(
    ("events", "says"),
    [
        (SOUND[:1], f"at the end: {[A]} may go, and were not granted"),
        ([*SOUND[:3], Event(What.GRANT, B)], f"event 4: {B} is granted, and may not go"),
        ([*SOUND[:5], SOUND[6]], f"event 6: {[B]} may go, and were not granted"),
        ([*SOUND[:2], Event(What.RELEASE, B)], f"event 3: {B} leaves (release), and was not there"),
        ([*SOUND[:2], Event(What.REFUSE, FREE)], f"event 3: {FREE} is refused, and may go"),
        ([SOUND[2], SOUND[5], SOUND[0]], "event 3: ticket 1 comes after 2"),
    ],
)
def test_the_judge_says_which_event_and_which_request(events: list[Event], says: str) -> None:
    assert next(judge(events)) == says

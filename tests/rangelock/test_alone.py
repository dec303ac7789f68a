# SPDX-License-Identifier: PostgreSQL
"""Who comes to a lock of `interval` while nobody is there needs neither the mutex nor a tree, and keeps the rule."""

from collections.abc import Callable

import pytest
from _pgquern import lib
from pgquern import PgquernError
from pgquern.rangelock import Hold, RangeLock


@pytest.fixture
def lock() -> RangeLock:
    return RangeLock(variant="interval")


def is_in_a_tree(hold: Hold) -> bool:
    """Whether it has been in one since it came: there it gets its number."""
    return bool(hold.c.ticket != 0)


def by_lock(lock: RangeLock, hold: Hold, exclusive: bool) -> None:
    lock.lock(hold, 0, 10, exclusive=exclusive)


def by_lock_for(lock: RangeLock, hold: Hold, exclusive: bool) -> None:
    lock.lock(hold, 0, 10, exclusive=exclusive, seconds=60)


def by_try(lock: RangeLock, hold: Hold, exclusive: bool) -> None:
    assert lock.try_lock(hold, 0, 10, exclusive=exclusive)


def by_request(lock: RangeLock, hold: Hold, exclusive: bool) -> None:
    assert lock.request(hold, 0, 10, exclusive=exclusive)


CALLS: list[Callable[[RangeLock, Hold, bool], None]] = [by_lock, by_lock_for, by_try, by_request]


@pytest.mark.parametrize("exclusive", [True, False])
def test_who_is_alone_needs_no_tree(lock: RangeLock, exclusive: bool) -> None:
    """By any call, again and again, with one hold."""
    hold, other = Hold(), RangeLock(variant="interval")
    for call in CALLS * 2:
        call(lock, hold, exclusive)
        assert lock.is_held(hold)
        assert not other.is_held(hold)
        assert not is_in_a_tree(hold)
        lock.wait(hold)
        with pytest.raises(PgquernError):
            lock.cancel(hold)
        lock.unlock(hold)
        assert not lock.is_held(hold)
        with pytest.raises(PgquernError):
            lock.unlock(hold)
    lock.close()
    other.close()


def test_the_word_is_open_when_all_have_left(lock: RangeLock) -> None:
    """Who was granted, cancelled or too late has left as well; and what is not held is not given back."""
    first, second, third = Hold(), Hold(), Hold()
    lock.lock(first, 0, 10, exclusive=True)
    assert not lock.request(second, 0, 10, exclusive=True)
    assert not lock.request(third, 0, 10, exclusive=True)
    with pytest.raises(PgquernError):
        lock.wait(third, 0.0)
    lock.cancel(second)
    lock.unlock(first)
    for hold in (first, second, third):
        lock.lock(hold, 0, 10, exclusive=True)
        assert not is_in_a_tree(hold)
        lock.unlock(hold)
    lock.close()


def test_a_log_hears_everybody(lock: RangeLock) -> None:
    """Also of the release of who was alone as it began; when it has ended, nobody is written down any more."""
    first, second = Hold(), Hold()
    lock.lock(first, 0, 10, exclusive=True)
    lock.log(20)
    assert is_in_a_tree(first)
    lock.unlock(first)
    for _ in range(2):
        lock.lock(second, 0, 10, exclusive=False)
        lock.unlock(second)
    assert [e.what for e in lock.events()] == ["release", *["request", "grant", "release"] * 2]
    lock.log(0)
    lock.lock(second, 0, 10, exclusive=False)
    assert not is_in_a_tree(second)
    lock.unlock(second)
    lock.close()


def test_a_lock_does_not_end_under_who_is_alone(lock: RangeLock) -> None:
    hold = Hold()
    lock.lock(hold, 0, 10, exclusive=False)
    status = lib.pgq_rangelock_destroy(lock.c)
    assert (status.code, status.index) == (lib.PGQ_RANGELOCK_IN_USE, 0)
    assert not is_in_a_tree(hold)
    lock.unlock(hold)
    lock.close()

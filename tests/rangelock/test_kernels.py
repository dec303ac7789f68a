# SPDX-License-Identifier: PostgreSQL
"""The C locks against the oracle: `interval` in a state machine, all variants by what they share, and threads."""

import gc
import math
import os
import random
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import hypothesis.strategies as st
import pytest
from _pgquern import ffi, lib
from hypothesis import event, given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pgquern import PgquernError
from pgquern.rangelock import Event, Hold, RangeLock, variants

from ref import rangelock as ref
from tests.common.sleep import until_asleep
from tests.common.variants import every_variant
from tests.rangelock.strategies import ranges, refused

every = pytest.mark.parametrize("variant", every_variant(variants()))
BASELINES = [v.name for v in variants() if v.name != "interval"]
AWAITED = 3
"""The state of a hold with which a thread waits: see rangelock.h."""


@contextmanager
def fresh(variant: str) -> Iterator[RangeLock]:
    """A lock on a file of its own."""
    with tempfile.TemporaryFile("r+b") as file:
        lock = RangeLock(variant=variant, fd=file.fileno())
        yield lock
        lock.close()


@contextmanager
def refuses(code: str) -> Iterator[None]:
    with pytest.raises(PgquernError) as refusal:
        yield
    assert (refusal.value.code, refusal.value.index) == (getattr(lib, f"PGQ_RANGELOCK_{code}"), 0)


def as_oracle(events: Sequence[Event]) -> list[ref.Event]:
    return [ref.Event(ref.What(e.what), ref.Request(e.ticket, e.lo, e.hi, e.exclusive)) for e in events]


def in_order(events: list[ref.Event]) -> list[ref.Event]:
    """With grants that follow each other in the order of arrival: the lock may grant them in any order."""
    found: list[ref.Event] = []
    for e in events:
        at = len(found)
        while e.what is ref.What.GRANT and found[at - 1].what is ref.What.GRANT and found[at - 1].request > e.request:
            at -= 1
        found.insert(at, e)
    return found


class Machine(RuleBasedStateMachine):
    """One `interval` lock beside the oracle. A hold that left is used again."""

    logs = True

    def __init__(self) -> None:
        super().__init__()
        self.lock, self.oracle = RangeLock(variant="interval"), ref.RangeLock()
        if self.logs:
            self.lock.log(10_000)
        self.requests: list[tuple[Hold, ref.Request]] = []
        self.idle: list[Hold] = []

    def take_out(self, which: int) -> tuple[Hold, ref.Request]:
        hold, request = self.requests.pop(which % len(self.requests))
        self.idle.append(hold)
        return hold, request

    @rule(asked=st.lists(st.tuples(ranges, st.booleans()), min_size=1, max_size=6))
    def request(self, asked: list[tuple[tuple[int, int], bool]]) -> None:
        for span, exclusive in asked:
            hold = self.idle.pop() if self.idle else Hold()
            request = self.oracle.request(*span, exclusive=exclusive)
            assert self.lock.request(hold, *span, exclusive=exclusive) == (request in self.oracle.held)
            self.requests.append((hold, request))

    @rule(span=ranges, exclusive=st.booleans())
    def try_lock(self, span: tuple[int, int], exclusive: bool) -> None:
        """A try; what was had is given back."""
        hold = Hold()
        request = self.oracle.try_request(*span, exclusive=exclusive)
        event("try: " + ("granted" if request else "refused"))
        assert self.lock.try_lock(hold, *span, exclusive=exclusive) == (request is not None)
        if request:
            self.oracle.release(request)
            self.lock.unlock(hold)

    @precondition(lambda self: self.requests)
    @rule(which=st.integers(0, 99))
    def leave(self, which: int) -> None:
        """By release if it is held, otherwise by cancellation."""
        hold, request = self.take_out(which)
        if request in self.oracle.held:
            granted = self.oracle.release(request)
            self.lock.unlock(hold)
            event(f"a release grants {min(len(granted), 3)}")
        else:
            granted = self.oracle.cancel(request)
            self.lock.cancel(hold)
            event(f"a cancellation grants {min(len(granted), 3)}")
            if which % 2:
                return  # and the hold is used again, though nobody was told
            with refuses("CANCELLED"):
                self.lock.wait(hold)
        with refuses("NOT_HELD"):
            self.lock.unlock(hold)
        with refuses("NOT_WAITING"):
            self.lock.wait(hold)

    @precondition(lambda self: self.requests)
    @rule(which=st.integers(0, 99))
    def wait_in_vain(self, which: int) -> None:
        """Who waits for no time at all leaves the queue; who has been granted holds the range, and releases it."""
        hold, request = self.take_out(which)
        if request in self.oracle.held:
            self.lock.wait(hold, 0)
            self.lock.unlock(hold)
            self.oracle.release(request)
        else:
            with refuses("TIMEOUT"):
                self.lock.wait(hold, 0)
            self.oracle.cancel(request, ref.What.TIMEOUT)
            event("timeout")
        with refuses("NOT_WAITING"):
            self.lock.wait(hold, 0)

    @precondition(lambda self: self.requests)
    @rule(which=st.integers(0, 99), span=ranges)
    def misuse(self, which: int, span: tuple[int, int]) -> None:
        """What is in use cannot be used again, nor leave by the wrong door, nor another lock."""
        hold, request = self.requests[which % len(self.requests)]
        other = RangeLock(variant="interval")
        with refuses("IN_USE"):
            self.lock.request(hold, *span, exclusive=True)
        with refuses("IN_USE"):
            self.lock.close()
        with refuses("NOT_HELD"):
            other.unlock(hold)
        with refuses("NOT_WAITING"):
            other.cancel(hold)
        with refuses("NOT_WAITING"):
            other.wait(hold)
        if request in self.oracle.held:
            with refuses("NOT_WAITING"):
                self.lock.cancel(hold)
        else:
            with refuses("NOT_HELD"):
                self.lock.unlock(hold)
        other.close()

    @rule(bad=refused)
    def bad_range(self, bad: tuple[int, int]) -> None:
        calls: list[Callable[..., Any]] = [self.lock.request, self.lock.try_lock, self.lock.lock]
        for call in calls:
            with refuses("OVERFLOW" if bad[1] else "EMPTY"):
                call(Hold(), *bad, exclusive=True)

    @invariant()
    def held_are_the_oracles(self) -> None:
        for hold, request in self.requests:
            assert self.lock.is_held(hold) == (request in self.oracle.held)

    def teardown(self) -> None:
        if self.logs:
            events = as_oracle(self.lock.events())
            assert in_order(events) == self.oracle.events
        for hold, request in sorted(self.requests, key=lambda one: one[1]):
            if request in self.oracle.held:
                self.lock.unlock(hold)
                self.oracle.release(request)
            else:
                self.lock.cancel(hold)
                self.oracle.cancel(request)
        self.lock.close()


TestStates = Machine.TestCase
TestStates.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=30)


class Unheard(Machine):
    """Without a log: who is alone takes no mutex."""

    logs = False


TestUnheard = Unheard.TestCase
TestUnheard.settings = settings(max_examples=max(1, settings().max_examples // 10), stateful_step_count=20)


# ---- all variants --------------------------------------------------------------------------------

Tries = list[tuple[int, tuple[int, int], bool]]


@every
@settings(max_examples=settings().max_examples // 4)
@given(tries=st.lists(st.tuples(st.integers(0, 6), ranges, st.booleans()), max_size=30))
def test_tries(variant: str, tries: Tries) -> None:
    """Tries and releases of one thread: nobody waits, so what is held decides. For `rwlock` every range is the file."""
    oracle, holds = ref.RangeLock(), [Hold() for _ in range(7)]
    held: dict[int, ref.Request] = {}
    with fresh(variant) as lock:
        for which, span, exclusive in tries:
            if which in held:
                lock.unlock(holds[which])
                oracle.release(held.pop(which))
                continue
            asked = (0, ref.LIMIT) if variant == "rwlock" else span
            request = oracle.try_request(*asked, exclusive=exclusive)
            assert lock.try_lock(holds[which], *span, exclusive=exclusive) == (request is not None)
            if request:
                held[which] = request
        for which in held:
            lock.unlock(holds[which])


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 0), (1, ref.LIMIT), (-1, 1), (-1, 10), (5, -1), (ref.LIMIT, -1), (-5, -5)]
)
def test_the_definition_refuses_bad_ranges(offset: int, length: int) -> None:
    """What is negative, too: a negative length would give a range that ends before it begins."""
    lock = ref.RangeLock()
    for call in (lock.request, lock.try_request):
        with pytest.raises(ref.RangeError):
            call(offset, length, exclusive=True)
    assert (lock.held, lock.waiting, lock.events) == ([], [], [])


def test_the_definition_lets_nobody_leave_who_is_not_there() -> None:
    lock = ref.RangeLock()
    held, waits = lock.request(0, ref.LIMIT, exclusive=True), lock.request(0, 1, exclusive=False)
    with pytest.raises(ref.NotHeldError):
        lock.release(waits)
    with pytest.raises(ref.NotWaitingError):
        lock.cancel(held)


@every
def test_time_limits(variant: str) -> None:
    """A range that nobody gives back: the call ends, and leaves nothing behind."""
    reader, writer, late = Hold(), Hold(), Hold()
    with fresh(variant) as lock:
        lock.lock(reader, 0, 10, exclusive=False)
        for seconds in (0, 0.001):
            with refuses("TIMEOUT"):
                lock.lock(writer, 5, 10, exclusive=True, seconds=seconds)
        lock.lock(late, 5, 10, exclusive=False, seconds=3600)
        for hold in (reader, late):
            lock.unlock(hold)
        lock.lock(writer, 5, 10, exclusive=True, seconds=3600)
        lock.unlock(writer)
        lock.lock(writer, 5, 10, exclusive=True, seconds=0)  # what is free needs no time
        lock.unlock(writer)


def waited(lock: RangeLock, nanoseconds: int) -> int:
    """How long a call waits, in ns, for a range that another hold has."""
    before = time.monotonic_ns()
    status = lib.pgq_rangelock_lock_for(lock.c, Hold().c, 0, 1, 1, nanoseconds)
    assert status.code == lib.PGQ_RANGELOCK_TIMEOUT
    return time.monotonic_ns() - before


def test_no_time_limit_ends_early() -> None:
    """All at once. The time now and 999,999,999 ns make a second more, whenever that is."""
    found: list[tuple[str, int, int]] = []
    with ExitStack() as stack:
        locks = {v.name: stack.enter_context(fresh(v.name)) for v in variants()}
        holds = {name: stack.enter_context(lock.range(0, 10, exclusive=False)) for name, lock in locks.items()}
        callers = [
            Caller(lambda name=name, limit=limit: found.append((name, limit, waited(locks[name], limit))))  # type: ignore[misc]
            for name in holds
            for limit in (1, 1_000_000, 999_999_999, 1_000_000_001)
        ]
        assert [caller.result() for caller in callers] == [None] * len(callers)
    assert len(found) == len(callers)
    assert [early for early in found if early[2] < early[1]] == []


@every
def test_a_short_time_limit_is_kept(variant: str) -> None:
    """Shorter than the pause between two tries of `ofd`. One call may be late, and hide that it would end early."""
    with fresh(variant) as lock, lock.range(0, 10, exclusive=False):
        assert min(waited(lock, 90_000) for _ in range(20)) >= 90_000


@every
@pytest.mark.parametrize("limit", [2**64 - 2, 2**63 + 1, 2**63 - 1, 3 * 10**18])
def test_the_longest_time_limits_do_not_end(variant: str, limit: int) -> None:
    """Neither the limit nor the time at which it ends overflows: who waits is still there as the range is released."""
    first, second, codes = Hold(), Hold(), []
    with fresh(variant) as lock:
        lock.lock(first, 0, 10, exclusive=False)

        def wait() -> None:
            codes.append(lib.pgq_rangelock_lock_for(lock.c, second.c, 9, 1, 1, limit).code)
            lock.unlock(second)  # by its own thread: `rwlock` demands it

        caller = Caller(wait)
        if variant == "ofd":  # never sleeps for long
            time.sleep(0.05)
        else:
            until_asleep(caller)
        assert codes == []
        lock.unlock(first)
        assert caller.result() is None
        assert codes == [lib.PGQ_OK]


@every
def test_any_mode_but_shared_is_exclusive(variant: str) -> None:
    for mode in (2, 7, 2**32 - 1):
        first, second = Hold(), Hold()
        with fresh(variant) as lock:
            status = lib.pgq_rangelock_lock(lock.c, first.c, 0, 10, ffi.cast("pgq_rangelock_mode", mode))
            assert status.code == lib.PGQ_OK
            assert not lock.try_lock(second, 5, 1, exclusive=False)
            lock.unlock(first)


@every
def test_a_thread_does_not_own_its_ranges(variant: str) -> None:
    """It waits for itself as for any other, except that `rwlock` tells a writer at once."""
    with fresh(variant) as lock, lock.range(0, 10, exclusive=True):
        for exclusive in (False, True):
            assert not lock.try_lock(Hold(), 9, 2, exclusive=exclusive)
            with refuses("BUSY" if variant == "rwlock" else "TIMEOUT"):
                lock.lock(Hold(), 9, 2, exclusive=exclusive, seconds=0.001)
        if variant == "rwlock":
            with refuses("BUSY"):
                lock.lock(Hold(), 9, 2, exclusive=True)


def content(hold: Hold) -> bytes:
    return bytes(ffi.buffer(hold.c))


@every
def test_a_refused_call_changes_nothing(variant: str) -> None:
    """Neither what it writes to, nor the hold, be it idle or held."""
    idle, held = Hold(), Hold()
    granted, sentinels = ffi.new("uint8_t *", 0x5A), ffi.new("pgq_rangelock_event[2]")
    ffi.memmove(sentinels, b"\x5a" * ffi.sizeof(sentinels), ffi.sizeof(sentinels))
    flag = ffi.cast("bool *", granted)
    with fresh(variant) as lock:
        lock.lock(held, 7, 10, exclusive=False)
        before = content(idle), content(held)
        for hold, offset, length, code in (
            (idle, 5, 0, lib.PGQ_RANGELOCK_EMPTY),
            (idle, 2**63 - 1, 1, lib.PGQ_RANGELOCK_OVERFLOW),
            (idle, 1, 2**64 - 1, lib.PGQ_RANGELOCK_OVERFLOW),
            (held, 100, 1, lib.PGQ_RANGELOCK_IN_USE),
        ):
            for status in (
                lib.pgq_rangelock_lock(lock.c, hold.c, offset, length, 1),
                lib.pgq_rangelock_try(lock.c, hold.c, offset, length, 1),
                lib.pgq_rangelock_lock_for(lock.c, hold.c, offset, length, 1, 1),
                lib.pgq_rangelock_request(lock.c, hold.c, offset, length, 1, flag),
            ):
                assert (status.code, status.index) == (code, 0)
        status = lib.pgq_rangelock_destroy(lock.c)
        assert (status.code, status.index) == (lib.PGQ_RANGELOCK_IN_USE, 0)
        if variant != "interval":
            status = lib.pgq_rangelock_request(lock.c, idle.c, 100, 1, 1, flag)
            assert status.code == lib.PGQ_RANGELOCK_UNSUPPORTED
            assert lib.pgq_rangelock_log(lock.c, sentinels, 2).code == lib.PGQ_RANGELOCK_UNSUPPORTED
        assert lib.pgq_rangelock_request(ffi.NULL, idle.c, 0, 1, 1, flag).code == lib.PGQ_NULL
        assert lib.pgq_rangelock_log(ffi.NULL, sentinels, 2).code == lib.PGQ_NULL
        assert lib.pgq_rangelock_unlock(lock.c, idle.c).code == lib.PGQ_RANGELOCK_NOT_HELD
        with fresh(variant) as other:
            assert lib.pgq_rangelock_unlock(other.c, held.c).code == lib.PGQ_RANGELOCK_NOT_HELD
        assert (content(idle), content(held)) == before
        assert granted[0] == 0x5A
        assert bytes(ffi.buffer(sentinels)) == b"\x5a" * ffi.sizeof(sentinels)
        lock.unlock(held)
        with refuses("NOT_HELD"):
            lock.unlock(held)


@pytest.mark.parametrize("variant", BASELINES)
def test_baselines_have_no_queue(variant: str) -> None:
    hold = Hold()
    with fresh(variant) as lock:
        calls: list[Callable[[], Any]] = [
            lambda: lock.request(hold, 0, 1, exclusive=True),
            lambda: lock.wait(hold),
            lambda: lock.cancel(hold),
            lambda: lock.log(1),
        ]
        for call in calls:
            with refuses("UNSUPPORTED"):
                call()
        assert lib.pgq_rangelock_logged(lock.c) == 0


def test_a_file_that_cannot_be_locked() -> None:
    made = ffi.new("pgq_rangelock **", ffi.cast("pgq_rangelock *", 0x5A))
    (create,) = (row.fn for row in lib.pgq_rangelock_variants[0:3] if ffi.string(row.name) == b"ofd")
    assert create(-1, made).code == lib.PGQ_RANGELOCK_FILE
    assert made[0] == ffi.cast("pgq_rangelock *", 0x5A)


def test_null_pointers_are_refused() -> None:
    lock, hold = RangeLock(variant="interval"), Hold()
    null = lib.pgq_rangelock_lock(lock.c, hold.c, 0, 0, 0)
    assert null.code == lib.PGQ_RANGELOCK_EMPTY
    for c, h in ((ffi.NULL, hold.c), (lock.c, ffi.NULL)):
        for status in (
            lib.pgq_rangelock_lock(c, h, 0, 1, 0),
            lib.pgq_rangelock_try(c, h, 0, 1, 0),
            lib.pgq_rangelock_unlock(c, h),
            lib.pgq_rangelock_wait(c, h, 0),
            lib.pgq_rangelock_cancel(c, h),
        ):
            assert (status.code, status.index) == (lib.PGQ_NULL, 0)
        assert not lib.pgq_rangelock_is_held(c, h)
    assert lib.pgq_rangelock_request(lock.c, hold.c, 0, 1, 0, ffi.NULL).code == lib.PGQ_NULL
    log = lib.pgq_rangelock_log(lock.c, ffi.NULL, 1)
    assert (log.code, log.index) == (lib.PGQ_NULL, 0)
    assert lib.pgq_rangelock_log(ffi.NULL, ffi.NULL, 0).code == lib.PGQ_NULL
    assert lib.pgq_rangelock_destroy(ffi.NULL).code == lib.PGQ_NULL
    assert all(v.fn(-1, ffi.NULL).code == lib.PGQ_NULL for v in lib.pgq_rangelock_variants[0:3])
    lock.close()


# ---- threads -------------------------------------------------------------------------------------


class Caller(threading.Thread):
    """A call in a thread of its own. result() waits for its end."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.call = call
        self.error: PgquernError | None = None
        self.start()

    def run(self) -> None:
        try:
            self.call()
        except PgquernError as error:
            self.error = error

    def result(self) -> PgquernError | None:
        self.join(600)  # only ends a hang
        assert not self.is_alive()
        return self.error


def queue_up(lock: RangeLock, hold: Hold, offset: int, length: int) -> Caller:
    """A thread that waits for a range by now."""
    before = len(lock.events())
    caller = Caller(lambda: lock.lock(hold, offset, length, exclusive=True))
    while len(lock.events()) == before:
        time.sleep(0.001)
    return caller


def test_readers_do_not_pass_a_writer_of_rwlock() -> None:
    """A baseline that lets readers starve writers would flatter ours."""
    first, writer = Hold(), Hold()
    with fresh("rwlock") as lock:
        lock.lock(first, 0, 1, exclusive=False)

        def write() -> None:
            lock.lock(writer, 0, 1, exclusive=True)
            lock.unlock(writer)

        caller = Caller(write)
        until_asleep(caller)
        passed = lock.try_lock(late := Hold(), 0, 1, exclusive=False)
        for hold in [first] + [late] * passed:
            lock.unlock(hold)
        assert caller.result() is None
        assert not passed


@every
def test_a_signal_does_not_end_a_wait(variant: str) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    first = Hold()
    try:
        with fresh(variant) as lock:
            lock.lock(first, 0, 10, exclusive=True)
            done: list[float | None] = []

            def wait(seconds: float | None) -> None:
                lock.lock(hold := Hold(), 0, 10, exclusive=False, seconds=seconds)
                done.append(seconds)
                lock.unlock(hold)

            callers = [Caller(lambda s=s: wait(s)) for s in (None, 3600)]  # type: ignore[misc]
            until_asleep(callers[0])
            for _ in range(20):
                for caller in callers:
                    assert caller.ident is not None
                    signal.pthread_kill(caller.ident, signal.SIGUSR1)
                time.sleep(0.001)
            assert done == []
            lock.unlock(first)
            assert [caller.result() for caller in callers] == [None, None]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_lock_cancels_its_own_requests_alone() -> None:
    """Of two locks neither cancels what waits in the other one, whichever of them lies above the other in memory."""
    with fresh("interval") as one, fresh("interval") as two:
        for lock, other in ((one, two), (two, one)):
            hold = Hold()
            with lock.range(0, 10, exclusive=True):
                assert not lock.request(hold, 0, 10, exclusive=True)
                with refuses("NOT_WAITING"):
                    other.cancel(hold)
            lock.wait(hold)
            lock.unlock(hold)


@pytest.mark.parametrize("n", [15, 16, 17, 40])
def test_a_release_wakes_all_that_can_go(n: int) -> None:
    """More than are woken at once after the mutex is free."""
    holder, waiters = Hold(), [Hold() for _ in range(n)]
    with fresh("interval") as lock:
        lock.log(1000)
        lock.lock(holder, 0, 10 * n, exclusive=True)
        callers = [queue_up(lock, hold, 10 * i, 10) for i, hold in enumerate(waiters)]
        lock.unlock(holder)
        assert [caller.result() for caller in callers] == [None] * n
        for hold in waiters:
            lock.unlock(hold)


def test_a_log_that_is_full_says_so() -> None:
    hold = Hold()
    with fresh("interval") as lock:
        lock.log(2)
        lock.lock(hold, 0, 1, exclusive=True)
        assert [e.what for e in lock.events()] == ["request", "grant"]
        lock.unlock(hold)
        with pytest.raises(ValueError, match="3 events"):
            lock.events()


def test_a_full_log_writes_nothing_behind_it() -> None:
    hold, events = Hold(), ffi.new("pgq_rangelock_event[3]")
    events[2].ticket = before = 0xA5A5
    with fresh("interval") as lock:
        assert lib.pgq_rangelock_log(lock.c, events, 2).code == lib.PGQ_OK
        for _ in range(3):
            lock.lock(hold, 0, 1, exclusive=True)
            lock.unlock(hold)
        assert (events[1].what, events[2].ticket) == (lib.PGQ_RANGELOCK_EVENT_GRANT, before)
        assert lib.pgq_rangelock_logged(lock.c) == 9
        assert lib.pgq_rangelock_log(lock.c, events, 0).code == lib.PGQ_OK  # without room there is no log
        lock.lock(hold, 0, 1, exclusive=True)
        assert lib.pgq_rangelock_logged(lock.c) == 0
        lock.unlock(hold)


def test_a_second_log_begins_anew() -> None:
    hold = Hold()
    with fresh("interval") as lock:
        lock.log(9)
        lock.lock(hold, 0, 1, exclusive=True)
        lock.log(9)
        assert lock.events() == []
        lock.unlock(hold)
        assert [e.what for e in lock.events()] == ["release"]
        lock.log(0)
        assert lib.pgq_rangelock_logged(lock.c) == 0


@pytest.mark.parametrize("ask", [RangeLock.lock, RangeLock.try_lock, RangeLock.request])
def test_a_hold_lives_as_long_as_c_has_it(ask: Any) -> None:
    """Also if its caller forgets it."""
    lock, hold = RangeLock(), Hold()
    ask(lock, hold, 0, 10, exclusive=True)
    seen = weakref.ref(hold)
    del hold
    gc.collect()
    held = seen()
    assert held is not None
    lock.unlock(held)
    del held
    gc.collect()
    assert seen() is None
    lock.close()


@every
def test_no_descriptor_is_left_open(variant: str) -> None:
    """After ranges that were held at the same time, and one that was refused."""
    before = len(os.listdir("/proc/self/fd"))
    holds = [Hold() for _ in range(5)]
    with fresh(variant) as lock:
        for i, hold in enumerate(holds):
            lock.lock(hold, i, 1, exclusive=False)
        assert not lock.try_lock(Hold(), 0, 9, exclusive=True)
        for hold in holds:
            lock.unlock(hold)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("step", [1, -1], ids=["ascending", "descending"])
def test_many_ranges(step: int) -> None:
    """Ten thousand in order, which would make a list of a tree without balance: its depth is bounded."""
    n = 10_000
    holds = [Hold() for _ in range(n)]
    with fresh("interval") as lock:
        for i, hold in [*enumerate(holds)][::step]:
            assert lock.request(hold, 2 * i, 1, exclusive=True)
        # An AVL tree of n nodes is at most 1.4405 log2(n + 2) high.
        height = max(1 + max(hold.c.left_height, hold.c.right_height) for hold in holds)
        assert height <= 1.4405 * math.log2(n + 2)
        assert not lock.try_lock(Hold(), 2 * n - 2, 1, exclusive=False)
        random.Random(1).shuffle(holds)
        for hold in holds:
            lock.unlock(hold)

# SPDX-License-Identifier: PostgreSQL
"""Range locks of a file, by any of the C library's variants: shared or exclusive ranges, first come first served.

A waiting call releases the GIL, so the threads of a Python program can wait for each other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import count
from pgquern.sharing import closable, uncopied
from pgquern.variants import Variant

KIND = "rangelock"
EVENTS = ("request", "grant", "refuse", "release", "cancel", "timeout")
"""The events of a log, by their number in C."""


def variants() -> list[Variant]:
    """All variants, as pgquern.variants.variants."""
    return variants_.variants(KIND)


class Event(NamedTuple):
    """What a lock decided. Tickets number the requests in the order of arrival."""

    what: str
    ticket: int
    lo: int
    hi: int
    exclusive: bool


def checked(status: Any) -> None:
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


class Hold:
    """A request: what a range is locked and unlocked by, one range at a time."""

    def __init__(self) -> None:
        self.c = ffi.new("pgq_rangelock_hold *")

    __reduce__ = uncopied


@closable(lambda: PgquernError(lib.PGQ_RANGELOCK_IN_USE))
class RangeLock:
    """The lock of a file. fd: open for reading and writing; the variant `ofd` needs it.

    Offsets and lengths are bytes, from 0 to 2^63 - 1; others raise PgquernError, or OverflowError from 2^64 on.
    """

    def __init__(self, *, variant: str | None = None, fd: int = -1) -> None:
        create = lib.pgq_rangelock_create if variant is None else variants_.row_of(KIND, variant).fn
        made = ffi.new("pgq_rangelock **")
        checked(create(fd, made))
        self.c = made[0]
        self._events: Any = None
        self._logging = Lock()
        self._kept = set[Hold]()  # what C may have in its queue

    def lock(self, hold: Hold, offset: int, length: int, *, exclusive: bool, seconds: float | None = None) -> None:
        """Wait for a range, for so many seconds at most. PgquernError: TIMEOUT, CANCELLED, or a refusal."""
        if seconds is None:
            checked(lib.pgq_rangelock_lock(self.c, hold.c, offset, length, exclusive))
        else:
            checked(lib.pgq_rangelock_lock_for(self.c, hold.c, offset, length, exclusive, round(seconds * 1e9)))
        self._kept.add(hold)

    def try_lock(self, hold: Hold, offset: int, length: int, *, exclusive: bool) -> bool:
        """Whether the range could be had at once."""
        status = lib.pgq_rangelock_try(self.c, hold.c, offset, length, exclusive)
        if status.code == lib.PGQ_RANGELOCK_BUSY:
            return False
        checked(status)
        self._kept.add(hold)
        return True

    def unlock(self, hold: Hold) -> None:
        """Give the range back. PgquernError (NOT_HELD)."""
        checked(lib.pgq_rangelock_unlock(self.c, hold.c))
        self._kept.discard(hold)

    def request(self, hold: Hold, offset: int, length: int, *, exclusive: bool) -> bool:
        """Ask for a range; whether it is held. If not, it waits in the queue: see wait() and cancel()."""
        granted = ffi.new("bool *")
        checked(lib.pgq_rangelock_request(self.c, hold.c, offset, length, exclusive, granted))
        self._kept.add(hold)
        return bool(granted[0])

    def wait(self, hold: Hold, seconds: float | None = None) -> None:
        """Wait for what was requested. PgquernError: TIMEOUT (the request is gone), CANCELLED, NOT_WAITING."""
        status = lib.pgq_rangelock_wait(self.c, hold.c, 2**64 - 1 if seconds is None else round(seconds * 1e9))
        if status.code != lib.PGQ_OK:
            self._kept.discard(hold)
        checked(status)

    def cancel(self, hold: Hold) -> None:
        """Withdraw a request that waits. PgquernError (NOT_WAITING)."""
        checked(lib.pgq_rangelock_cancel(self.c, hold.c))
        self._kept.discard(hold)

    def is_held(self, hold: Hold) -> bool:
        return bool(lib.pgq_rangelock_is_held(self.c, hold.c))

    @contextmanager
    def range(self, offset: int, length: int, *, exclusive: bool) -> Iterator[Hold]:
        """A range for the time of a with statement."""
        hold = Hold()
        self.lock(hold, offset, length, exclusive=exclusive)
        try:
            yield hold
        finally:
            self.unlock(hold)

    def log(self, capacity: int) -> None:
        """Begin a log of so many events; 0 ends it."""
        events = ffi.new("pgq_rangelock_event[]", max(count("capacity", capacity), 1))
        with self._logging:
            checked(lib.pgq_rangelock_log(self.c, events, capacity))
            self._events = events

    def events(self) -> list[Event]:
        """The log so far. ValueError: there were more events than it has room for."""
        with self._logging:
            kept, logged = self._events, lib.pgq_rangelock_logged(self.c)
        if kept is None or logged > len(kept):
            raise ValueError(f"{logged} events; the log has room for {len(kept or ())}")
        told = (kept[i] for i in range(logged))
        return [Event(EVENTS[e.what], e.ticket, e.lo, e.hi, bool(e.exclusive)) for e in told]

    def close(self) -> None:
        """End the lock. PgquernError (IN_USE): ranges are held or waited for, or another call is in progress."""
        checked(lib.pgq_rangelock_destroy(self.c))
        self.c = ffi.NULL

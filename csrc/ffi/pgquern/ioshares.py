# SPDX-License-Identifier: PostgreSQL
"""The I/O scheduler: classes of requests share a device. Sizes in bytes, latencies in nanoseconds, classes from 0.

A refusal is a PgquernError and changes nothing; its index counts classes from 1. `variant` is a name from variants(),
None the dispatched one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import count
from pgquern.sharing import exclusive
from pgquern.variants import Variant

KIND = "ioshares"

# Allocates a scheduler's memory and its log. Tests replace it to get memory with guarded ends.
new_array = ffi.new


class Class(NamedTuple):
    """What is set for a class: see pgq_ioshares_class."""

    share: int
    warp: int = 0
    capacity: int = 1024


class Limits(NamedTuple):
    """How many requests may be in flight: see pgq_ioshares_limits. target: 0: none."""

    least: int = 1
    start: int = 8
    most: int = 64
    window: int = 64
    target: int = 0


class Request(NamedTuple):
    """A request. id: the caller's own, 64 bits. write: False for a read."""

    cls: int
    size: int
    id: int
    write: bool = False


class Costs(NamedTuple):
    """What a read, and a write, costs beside its bytes: see pgq_ioshares_costs."""

    read: int = 0
    write: int = 0


NO_COSTS = Costs()


class Event(NamedTuple):
    """An entry of the log: what was done, and the state after it."""

    what: str
    request: Request
    latency: int
    waiting: int
    in_flight: int
    limit: int


class ClassState(NamedTuple):
    """See pgq_ioshares_class_state."""

    lead: int
    dispatched: int
    charged: int
    waiting: int
    in_flight: int


class State(NamedTuple):
    """See pgq_ioshares_state."""

    waiting: int
    in_flight: int
    limit: int
    level: int
    floor: int
    window_completed: int
    window_latency: int
    classes: tuple[ClassState, ...]


WHAT = {
    lib.PGQ_IOSHARES_SUBMITTED: "submit",
    lib.PGQ_IOSHARES_DISPATCHED: "next",
    lib.PGQ_IOSHARES_COMPLETED: "complete",
    lib.PGQ_IOSHARES_CANCELLED: "cancel",
    lib.PGQ_IOSHARES_SHARED: "share",
}


def variants() -> list[Variant]:
    """All variants, as pgquern.variants.variants."""
    return variants_.variants(KIND)


def _accept(status: Any) -> None:
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


@exclusive
class Scheduler:
    """A scheduler in memory of exactly its size."""

    def __init__(
        self,
        classes: Sequence[Class],
        limits: Limits,
        *,
        costs: Costs = NO_COSTS,
        log: int = 0,
        variant: str | None = None,
    ) -> None:
        """log: how many events are kept, the newest."""
        init = lib.pgq_ioshares_init if variant is None else variants_.row_of(KIND, variant).fn
        self._classes = new_array("pgq_ioshares_class[]", [tuple(c) for c in classes])
        self._log = new_array("pgq_ioshares_event[]", count("log", log))
        self._log_capacity = log
        config = ffi.new(
            "pgq_ioshares_config *",
            {
                "classes": self._classes,
                "class_count": len(self._classes),
                "limits": tuple(limits),
                "costs": tuple(costs),
                "log": self._log if log else ffi.NULL,
                "log_capacity": log,
            },
        )
        size, made = ffi.new("size_t *"), ffi.new("pgq_ioshares **")
        _accept(lib.pgq_ioshares_bytes(config, size))
        self._memory = new_array("uint64_t[]", size[0] // 8)
        _accept(init(self._memory, size[0], config, made))
        self._c = made[0]
        self._request = ffi.new("pgq_ioshares_request *")
        self._state = ffi.new("pgq_ioshares_state *")

    def submit(self, request: Request) -> None:
        """The request waits from now on."""
        self._request.cls, self._request.size, self._request.id, self._request.write = request
        _accept(lib.pgq_ioshares_submit(self._c, self._request))

    def next(self) -> Request:
        """The request that goes to the device now."""
        _accept(lib.pgq_ioshares_next(self._c, self._request))
        return Request(self._request.cls, self._request.size, self._request.id, self._request.write)

    def complete(self, cls: int, latency: int) -> None:
        """The device has done a request of the class."""
        _accept(lib.pgq_ioshares_complete(self._c, cls, latency))

    def cancel(self, cls: int, id: int) -> None:
        """The oldest request of the class that has this id and waits is taken back."""
        _accept(lib.pgq_ioshares_cancel(self._c, cls, id))

    def set_shares(self, shares: Sequence[int]) -> None:
        """The classes have these shares from now on: one for each."""
        if len(shares) != len(self._classes):
            raise ValueError("one share for each class")
        _accept(lib.pgq_ioshares_set_shares(self._c, ffi.new("uint32_t[]", shares)))

    def _look(self) -> Any:
        _accept(lib.pgq_ioshares_look(self._c, self._state))
        return self._state

    @property
    def limit(self) -> int:
        """How many requests may be in flight now."""
        return int(self._look().limit)

    @property
    def state(self) -> State:
        """What the scheduler knows now."""
        s = self._look()
        classes = (s.classes[i] for i in range(s.class_count))
        return State(
            s.waiting,
            s.in_flight,
            s.limit,
            s.level,
            s.floor,
            s.window_completed,
            s.window_latency,
            tuple(ClassState(c.lead, c.dispatched, c.charged, c.waiting, c.in_flight) for c in classes),
        )

    @property
    def events(self) -> list[Event]:
        """The events that the log still has, oldest first."""
        logged = self._look().logged
        kept = (self._log[k % self._log_capacity] for k in range(max(0, logged - self._log_capacity), logged))
        return [
            Event(
                WHAT[e.what],
                Request(e.request.cls, e.request.size, e.request.id, e.request.write),
                e.latency,
                e.waiting,
                e.in_flight,
                e.limit,
            )
            for e in kept
        ]

# SPDX-License-Identifier: PostgreSQL
"""mClock, a peer of our scheduler, written for the simulation from its description alone.

Source: Gulati, Merchant, Varman: "mClock: Handling Throughput Variability for Hypervisor IO Scheduling", OSDI 2010,
Algorithm 1. Each class has a reservation, which comes first, and a weight for what is left; nobody has an upper limit
here. The number of requests in flight is a constant that somebody must know.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from pgquern.ioshares import Request


@dataclass(frozen=True)
class Terms:
    """reservation: requests a second, 0 for none; weight: of what is left."""

    weight: float
    reservation: float = 0.0


class Waits(Exception):
    """As many requests are in flight as may be."""


@dataclass
class Class:
    """Requests that wait, in order, each with its two tags; and the tags of the last one that came."""

    terms: Terms
    waiting: deque[tuple[Request, float, float]] = field(default_factory=deque)
    reserved: float = 0.0
    shared: float = 0.0
    given: float = 0.0
    """By how much the tags of those that wait are too late: what went by its weight has left its reservation."""

    def due(self) -> float:
        """The tag of the reservation of who is first."""
        return self.waiting[0][1] - self.given if self.terms.reservation else inf


@dataclass
class MClock:
    """now: the time, in seconds. A request of any size counts as one."""

    terms: Sequence[Terms]
    in_flight: int
    now: Callable[[], float]

    def __post_init__(self) -> None:
        self.classes = [Class(terms) for terms in self.terms]
        self.running = 0

    @property
    def limit(self) -> int:
        return self.in_flight

    def active(self) -> list[Class]:
        return [cls for cls in self.classes if cls.waiting]

    def submit(self, request: Request) -> None:
        cls, now = self.classes[request.cls], self.now()
        if not cls.waiting and (others := self.active()):
            self.rebase(min(other.waiting[0][2] for other in others) - now)
        if cls.terms.reservation:
            cls.reserved = max(cls.reserved + 1 / cls.terms.reservation, now + cls.given)
        cls.shared = max(cls.shared + 1 / cls.terms.weight, now)
        cls.waiting.append((request, cls.reserved, cls.shared))

    def rebase(self, by: float) -> None:
        """The tags of the weights begin at the present again, so that who was idle is neither ahead nor behind."""
        for cls in self.classes:
            cls.shared -= by
            cls.waiting = deque((request, due, share - by) for request, due, share in cls.waiting)

    def next(self) -> Request:
        """Who is behind its reservation, the latest first; otherwise by weight. Waits: too many are in flight."""
        active = self.active()
        if self.running >= self.in_flight or not active:
            raise Waits
        self.running += 1
        first = min(active, key=Class.due)
        if first.due() <= self.now():
            return first.waiting.popleft()[0]
        first = min(active, key=lambda cls: cls.waiting[0][2])
        if first.terms.reservation:
            first.given += 1 / first.terms.reservation
        return first.waiting.popleft()[0]

    def complete(self, cls: int, latency: int) -> None:
        self.running -= 1

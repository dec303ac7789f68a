# SPDX-License-Identifier: PostgreSQL
"""Range locks: byte ranges of a file, shared or exclusive, first come first served among those that conflict.

Literature: Kara's range locks for Linux (2013), which count the conflicting requests before one; Kogan, Dice and Issa,
"Scalable Range Locks for Scalable Address Spaces and Beyond", EuroSys 2020.

A request is granted as soon as it conflicts with no range that is held and with no request that came earlier and still
waits. That is the whole definition; all else follows from it, and from who leaves when. A range is [offset,
offset + length), in bytes.

A holder that asks for a second range while it holds one may wait for somebody who waits for it. The lock does not look
for that: hold one range at a time, or ask in ascending order where all ranges are equal or disjoint, as pages are.
Ascending order alone is not enough: a wide request that waits comes before the second range (spec/rangelock shows it).
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

LIMIT = 2**63 - 1
"""The largest end of a range: that of off_t."""


class RangeError(ValueError):
    """A range that is empty, or that ends above LIMIT."""


class NotHeldError(ValueError):
    """A release of what is not held."""


class NotWaitingError(ValueError):
    """A cancellation of what does not wait."""


class Request(NamedTuple):
    """A range that somebody asked for. Tickets are numbers in the order of arrival."""

    ticket: int
    lo: int
    hi: int
    exclusive: bool


class What(Enum):
    """What happened to a request."""

    REQUEST = "request"
    GRANT = "grant"
    REFUSE = "refuse"
    """A try that would have had to wait."""
    RELEASE = "release"
    CANCEL = "cancel"
    TIMEOUT = "timeout"


class Event(NamedTuple):
    what: What
    request: Request


def conflict(a: Request, b: Request) -> bool:
    """They have a byte in common, and not both are shared."""
    return a.lo < b.hi and b.lo < a.hi and (a.exclusive or b.exclusive)


def checked(offset: int, length: int) -> tuple[int, int]:
    """The range as (lo, hi). RangeError unless 0 <= offset, 0 < length and offset + length <= LIMIT."""
    if length == 0:
        raise RangeError("an empty range")
    if offset < 0 or length < 0 or offset + length > LIMIT:
        raise RangeError(f"the range does not lie within 0 to {LIMIT}")
    return offset, offset + length


@dataclass
class RangeLock:
    """A file's lock. `held` and `waiting` are in the order of arrival; `events` has all that happened."""

    held: list[Request] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    arrivals: int = 0

    def may_go(self, request: Request) -> bool:
        """The rule: no conflict with what is held, nor with a request that came earlier and waits."""
        earlier = [other for other in self.waiting if other.ticket < request.ticket]
        return not any(conflict(other, request) for other in [*self.held, *earlier])

    def request(self, offset: int, length: int, *, exclusive: bool) -> Request:
        """Ask for a range. It is in `held` then, or in `waiting`."""
        request = self._arrive(offset, length, exclusive)
        self._note(What.REQUEST, request)
        self.waiting.append(request)
        self._grant()
        return request

    def try_request(self, offset: int, length: int, *, exclusive: bool) -> Request | None:
        """Ask for a range, and leave at once if it cannot be had: None."""
        request = self._arrive(offset, length, exclusive)
        if not self.may_go(request):
            self._note(What.REFUSE, request)
            return None
        self._note(What.REQUEST, request)
        self.waiting.append(request)
        self._grant()
        return request

    def release(self, request: Request) -> list[Request]:
        """Give a range back; those that are granted by that, in the order of arrival."""
        if request not in self.held:
            raise NotHeldError(f"request {request.ticket} is not held")
        self.held.remove(request)
        self._note(What.RELEASE, request)
        return self._grant()

    def cancel(self, request: Request, why: What = What.CANCEL) -> list[Request]:
        """A request that waits leaves, also because its time is up (`why`); those that are granted by that."""
        if request not in self.waiting:
            raise NotWaitingError(f"request {request.ticket} does not wait")
        self.waiting.remove(request)
        self._note(why, request)
        return self._grant()

    def _arrive(self, offset: int, length: int, exclusive: bool) -> Request:
        lo, hi = checked(offset, length)
        self.arrivals += 1
        return Request(self.arrivals, lo, hi, exclusive)

    def _grant(self) -> list[Request]:
        """Grant whatever may go. To grant one lets no other one go, so one pass finds all."""
        granted = [request for request in self.waiting if self.may_go(request)]
        self.waiting = [request for request in self.waiting if request not in granted]
        self.held = sorted(self.held + granted)
        for request in granted:
            self._note(What.GRANT, request)
        return granted

    def _note(self, what: What, request: Request) -> None:
        self.events.append(Event(what, request))

# SPDX-License-Identifier: PostgreSQL
"""An I/O scheduler that divides a device between classes of requests by their shares.

Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) with D requests in flight, SFQ(D) (Jin, Chase and Kaur,
SIGMETRICS 2004). Two things are added. A class may run ahead of its share by up to `warp` bytes, as a thread does in
borrowed virtual time (Duda and Cheriton, SOSP 1999): with no warp the rule is that of SFQ(D). And D, the limit of
requests in flight, is not fixed: it follows the latency that the device shows, against the lowest that it has shown.

Each class has a *tag*: the service it has been given, in bytes (and what its operations cost in bytes), times its
factor. Factors are in inverse proportion to shares, and whole numbers, so that all arithmetic is exact. While
requests of a class wait, its tag is the start tag of the first of them; while none waits, the finish tag of the last
one that went. *Virtual time* is the least tag among classes with waiting requests. A class that has no requests
waiting falls behind it and banks nothing: when it returns, its tag is at least the virtual time.

Sizes are in bytes, latencies in nanoseconds, classes are numbered from 0. Python's integers have no bound. The C
code subtracts the virtual time from all tags now and then, and nobody can see it.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from math import lcm
from typing import NamedTuple

MAX_CLASSES = 8
MAX_SHARE = 10_000
"""As io.weight of cgroups."""
MAX_BYTES = 2**30
"""Of a request, of a warp, and of what an operation costs: a segment of a relation."""
MAX_FACTOR = 2**30
MAX_CAPACITY = 2**20
MAX_LIMIT = 2**15
MAX_WINDOW = 2**16
MAX_LATENCY = 2**40
"""Eighteen minutes: a longer latency counts as this one."""
PROBE_EVERY = 64
"""Windows in which the limit may grow, from one probe to the next."""


class Code(IntEnum):
    """Why a call is refused; the numbers are those of pgq_code."""

    CLASSES = 70
    SHARE = 71
    FACTOR = 72
    WARP = 73
    CAPACITY = 74
    LIMITS = 75
    WINDOW = 76
    TARGET = 77
    COST = 90
    CLASS = 79
    SIZE = 80
    FULL = 81
    EMPTY = 82
    AT_LIMIT = 83
    NOT_IN_FLIGHT = 84
    NOT_WAITING = 89


class Refused(ValueError):
    """A refused call changes nothing. index: the class at fault, from 1; 0 if it belongs to none."""

    def __init__(self, code: Code, index: int = 0) -> None:
        super().__init__(f"{code.name} at class {index}")
        self.code, self.index = code, index


class Policy(Enum):
    """Which of the waiting requests goes next."""

    FIFO = "fifo"
    """The one that came first, whatever its class."""
    SFQ = "sfq"
    """The first of the class with the least tag, less its warp."""


class Request(NamedTuple):
    """id: the caller's own. write: False for a read."""

    cls: int
    size: int
    id: int
    write: bool = False


class Costs(NamedTuple):
    """What a read, and a write, costs beside its bytes, in bytes: the volume's bytes by its operations."""

    read: int = 0
    write: int = 0


class Class(NamedTuple):
    """What is set for a class. warp: bytes that it may run ahead; capacity: requests that may wait."""

    share: int
    warp: int = 0
    capacity: int = 1024


NO_COSTS = Costs()
"""Bytes alone count."""


class Limits(NamedTuple):
    """How many requests may be in flight: `start` at first, then between least and most. See Limit. target: 0: none."""

    least: int = 1
    start: int = 8
    most: int = 64
    window: int = 64
    target: int = 0


def factors(shares: Sequence[int]) -> list[int]:
    """The least whole numbers in inverse proportion to the shares. FACTOR: one of them is above MAX_FACTOR."""
    common = lcm(*shares)
    if common > MAX_FACTOR * min(shares):
        raise Refused(Code.FACTOR)
    return [common // share for share in shares]


def check(classes: Sequence[Class], limits: Limits, costs: Costs) -> None:
    """The first fault of a configuration, class by class."""
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise Refused(Code.CLASSES)
    for i, c in enumerate(classes, 1):
        if not 1 <= c.share <= MAX_SHARE:
            raise Refused(Code.SHARE, i)
        if not 0 <= c.warp <= MAX_BYTES:
            raise Refused(Code.WARP, i)
        if not 1 <= c.capacity <= MAX_CAPACITY:
            raise Refused(Code.CAPACITY, i)
    if not 1 <= limits.least <= limits.start <= limits.most <= MAX_LIMIT:
        raise Refused(Code.LIMITS)
    if not 1 <= limits.window <= MAX_WINDOW:
        raise Refused(Code.WINDOW)
    if not 0 <= limits.target <= MAX_LATENCY:
        raise Refused(Code.TARGET)
    if not all(0 <= cost <= MAX_BYTES for cost in costs):
        raise Refused(Code.COST)


@dataclass
class Limit:
    """How many requests may be in flight: `now`.

    Completions are counted in windows; a window has as many as it is told, and at least as many as may be in flight, so
    that the next one sees what a change has done. The *floor* is the mean latency of a window that was observed while
    the device had little to do. It is found by a *probe*: for two windows half as many may be in flight, and the second
    one tells the floor. The scheduler begins with a probe, and makes another one now and then, so that a floor that the
    device no longer has is forgotten. Between probes a window with a lower mean makes it the floor; and where the limit
    is at its least, the last window does.

    If the mean is above `bound`, requests queue inside the device. The limit falls then as if they were to take a
    quarter longer than the floor, as a gradient does it (at least by one), and the next window, with requests of
    before, is not looked at. Otherwise, if a request waited at some completion of the window, the limit rises by one.
    If none waited, it held nothing back, and stays.
    """

    limits: Limits
    level: int
    """The limit, but for probes."""
    floor: int = 0
    """0 before the first probe has ended."""
    age: int = 0
    """Windows since the last probe, in which the limit might grow."""
    probing: bool = True
    settling: bool = True
    """This window is not looked at: in it requests complete that went under another limit."""
    completed: int = 0
    total: int = 0
    """The sum of the latencies of the window."""
    pressed: bool = False

    @property
    def now(self) -> int:
        return max(self.limits.least, self.level // 2) if self.probing else self.level

    @property
    def bound(self) -> int:
        """Of a mean latency: 7/4 of the floor. A target moves it, but not below 3/2, and not above 2."""
        if self.limits.target == 0:
            return self.floor * 7 // 4
        return max(self.floor * 3 // 2, min(self.floor * 2, self.limits.target))

    def observe(self, latency: int, waiting: bool) -> None:
        """A request has completed; waiting: there are others that wait."""
        self.completed += 1
        self.total += min(latency, MAX_LATENCY)
        self.pressed |= waiting
        if self.completed >= max(self.limits.window, self.level):
            self.adapt(self.total // self.completed)
            self.completed, self.total, self.pressed = 0, 0, False

    def adapt(self, mean: int) -> None:
        """A window has ended."""
        if self.settling:
            self.settling = False
        elif self.probing:
            self.floor, self.age, self.probing, self.settling = mean, 0, False, True
        else:
            if mean < self.floor or self.level == self.limits.least:
                self.floor = mean
            if mean > self.bound:
                fair = self.level * self.floor * 5 // (mean * 4)
                self.level = max(self.limits.least, min(self.level - 1, fair))
                self.settling = True
            elif self.pressed:
                self.level = min(self.limits.most, self.level + 1)
                self.age += 1
                self.probing = self.settling = self.age == PROBE_EVERY


@dataclass
class Flow:
    """A class at work. waiting: its requests, each with the number of its arrival."""

    capacity: int
    factor: int
    warp: int
    """In bytes times the factor."""
    tag: int = 0
    waiting: deque[tuple[int, Request]] = field(default_factory=deque)
    in_flight: int = 0
    served: int = 0
    """Bytes of requests that have gone."""
    charged: int = 0
    """What these cost."""


class Scheduler:
    """The scheduler. Calls come one at a time: whoever shares it holds a lock."""

    def __init__(self, classes: Sequence[Class], limits: Limits, costs: Costs = NO_COSTS) -> None:
        check(classes, limits, costs)
        self.costs = costs
        self.flows = [
            Flow(c.capacity, factor, c.warp * factor)
            for c, factor in zip(classes, factors([c.share for c in classes]), strict=True)
        ]
        self.limit = Limit(limits, limits.start)
        self.virtual_time = 0
        self.arrivals = 0

    @property
    def waiting(self) -> int:
        """Requests that wait, of all classes."""
        return sum(len(flow.waiting) for flow in self.flows)

    @property
    def in_flight(self) -> int:
        """Requests that have gone and not completed, of all classes."""
        return sum(flow.in_flight for flow in self.flows)

    def flow(self, cls: int) -> Flow:
        """CLASS: there is none of that number."""
        if not 0 <= cls < len(self.flows):
            raise Refused(Code.CLASS, cls + 1)
        return self.flows[cls]

    def cost(self, request: Request) -> int:
        """What a request costs its class: its operation and its bytes."""
        return (self.costs.write if request.write else self.costs.read) + request.size

    def lead(self, cls: int) -> int:
        """How far a class is ahead of the virtual time, in bytes times its factor."""
        return max(0, self.flow(cls).tag - self.virtual_time)

    def set_shares(self, shares: Sequence[int]) -> None:
        """The classes have these shares from now on. SHARE: the first that is none. FACTOR: as for a new scheduler.

        Each class stays as many bytes ahead of the virtual time as it was, rounded down, and keeps its warp in bytes.
        What waits is charged when it goes, and so by its new share.
        """
        if len(shares) != len(self.flows):
            raise ValueError("one share for each class")
        for i, share in enumerate(shares, 1):
            if not 1 <= share <= MAX_SHARE:
                raise Refused(Code.SHARE, i)
        for i, (flow, factor) in enumerate(zip(self.flows, factors(shares), strict=True)):
            flow.tag = self.virtual_time + self.lead(i) * factor // flow.factor
            flow.warp = flow.warp // flow.factor * factor
            flow.factor = factor

    def submit(self, request: Request) -> None:
        """The request waits from now on."""
        flow = self.flow(request.cls)
        if not 1 <= request.size <= MAX_BYTES:
            raise Refused(Code.SIZE, request.cls + 1)
        if len(flow.waiting) == flow.capacity:
            raise Refused(Code.FULL, request.cls + 1)
        if not flow.waiting:
            flow.tag = max(flow.tag, self.virtual_time)
        flow.waiting.append((self.arrivals, request))
        self.arrivals += 1

    def cancel(self, cls: int, id: int) -> None:
        """The oldest waiting request of the class with that id waits no longer, and has cost nothing: the tag stays.

        NOT_WAITING: there is none. It may have gone: then it completes.
        """
        flow = self.flow(cls)
        for place, (_, request) in enumerate(flow.waiting):
            if request.id == id:
                del flow.waiting[place]
                return
        raise Refused(Code.NOT_WAITING, cls + 1)

    def next(self, policy: Policy = Policy.SFQ) -> Request:
        """The request that goes to the device now. EMPTY: none waits. AT_LIMIT: too many are in flight."""
        backlogged = [flow for flow in self.flows if flow.waiting]
        if not backlogged:
            raise Refused(Code.EMPTY)
        if self.in_flight >= self.limit.now:
            raise Refused(Code.AT_LIMIT)
        if policy is Policy.FIFO:
            chosen = min(backlogged, key=lambda flow: flow.waiting[0][0])
        else:
            # Of equals the class with the lower number goes first.
            chosen = min(backlogged, key=lambda flow: flow.tag - flow.warp)
            self.virtual_time = min(flow.tag for flow in backlogged)
            chosen.tag += chosen.factor * self.cost(chosen.waiting[0][1])
        _, request = chosen.waiting.popleft()
        chosen.in_flight += 1
        chosen.served += request.size
        chosen.charged += self.cost(request)
        return request

    def complete(self, cls: int, latency: int) -> None:
        """The device has done a request of the class that next() gave. latency: from next() to now."""
        flow = self.flow(cls)
        if flow.in_flight == 0:
            raise Refused(Code.NOT_IN_FLIGHT, cls + 1)
        flow.in_flight -= 1
        self.limit.observe(latency, self.waiting > 0)

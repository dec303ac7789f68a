# SPDX-License-Identifier: PostgreSQL
"""A simulated device with the scheduler of csrc/ioshares in front of it, and the loads that share it. No clock is read.

The device serves eight requests side by side; what is in flight beyond that waits inside it, first come, first served.
A service of a page takes a lognormal time, median 80 µs, sigma 0.5; one of n pages (1 + n) / 2 times as long. Other
devices have another depth, another service time, or one that changes midway. Times are in nanoseconds, a page is 8 KiB.
A seed gives the same run each time, as far as the C library's exp and log agree.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from math import exp, log
from random import Random
from typing import Any

import numpy as np
from pgquern import PgquernError, ioshares
from pgquern.ioshares import Class, Limits, Request

MEDIAN, SIGMA = 80_000.0, 0.5
SIZE = 8192
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Device:
    """depth: requests side by side; median: of a service of a page. From `changes` on it takes `then` times as long."""

    depth: int = 8
    median: float = MEDIAN
    changes: float = float("inf")
    then: float = 1.0

    @property
    def mean(self) -> float:
        """Of a service of a page, before it changes."""
        return self.median * exp(SIGMA**2 / 2)

    @property
    def a_second(self) -> float:
        """Requests of a page that it can do a second, before it changes."""
        return self.depth * 1e9 / self.mean


DEVICE = Device()
DEPTH, MEAN, CAPACITY_A_SECOND = DEVICE.depth, DEVICE.mean, DEVICE.a_second

BACKEND, CHECKPOINTER, AUTOVACUUM, WRITEBACK = range(4)
NAMES = ("backend", "checkpointer", "autovacuum", "writeback")
WARP = 2**20
"""Of the backends: 128 requests that go first. The device does them in 1.5 ms."""
ROOM = 2**16
CLASSES = (Class(500, WARP, ROOM), Class(200, 0, ROOM), Class(200, 0, ROOM), Class(100, 0, ROOM))
LIMITS = Limits(least=1, start=DEPTH, most=64, window=64)
"""No target: the scheduler finds out what the device does."""


@dataclass
class Load:
    """Requests of one class, each of so many pages. Each kind of load is a subclass."""

    cls: int
    pages: int = field(default=1, kw_only=True)

    def begin(self, simulation: "Simulation") -> None:
        """Submit or plan the first requests."""

    def completed(self, simulation: "Simulation") -> None:
        """One of the class's requests has completed."""


@dataclass
class Arrivals(Load):
    """Requests that come at random times, whatever the device does. share: of what the device can do."""

    share: float

    def begin(self, simulation: "Simulation") -> None:
        wait = simulation.random.expovariate(self.share * simulation.device.a_second / 1e9)
        simulation.after(wait, lambda: self.arrive(simulation))

    def arrive(self, simulation: "Simulation") -> None:
        simulation.submit(self)
        self.begin(simulation)


@dataclass
class Backlog(Load):
    """A process that keeps so many requests submitted at all times."""

    requests: int

    def begin(self, simulation: "Simulation") -> None:
        for _ in range(self.requests):
            simulation.submit(self)

    def completed(self, simulation: "Simulation") -> None:
        simulation.submit(self)


@dataclass
class Sessions(Load):
    """Sessions that submit a request, wait for it, and compute for a while. think: the mean of that, in ns."""

    sessions: int
    think: float

    def begin(self, simulation: "Simulation") -> None:
        for _ in range(self.sessions):
            self.completed(simulation)

    def completed(self, simulation: "Simulation") -> None:
        simulation.after(simulation.random.expovariate(1 / self.think), lambda: simulation.submit(self))


@dataclass
class Bursts(Load):
    """So many requests at once, every so many ns: a checkpointer that flushes."""

    requests: int
    every: float

    def begin(self, simulation: "Simulation") -> None:
        simulation.after(self.every, lambda: self.burst(simulation))

    def burst(self, simulation: "Simulation") -> None:
        for _ in range(self.requests):
            simulation.submit(self)
        self.begin(simulation)


FOREGROUND = Arrivals(BACKEND, 0.5)
SESSIONS = 12
TRANSACTIONS = Sessions(BACKEND, SESSIONS, SESSIONS * 1e9 / (0.5 * CAPACITY_A_SECOND) - MEAN)
"""Sessions whose requests use half of the device while they are alone."""


@dataclass
class Outcome:
    """What a simulation saw. For each class: when requests completed, and how long after they were submitted, in ns."""

    seconds: float
    limits: list[int]
    """The limit of requests in flight, at each completion."""
    at: dict[int, Any]
    latency: dict[int, Any]

    def p99(self, cls: int = BACKEND) -> float:
        """Of the latency, in µs."""
        return float(np.percentile(self.latency[cls], 99)) / 1000

    def a_second(self, cls: int = BACKEND) -> float:
        """Completed requests of the class a second."""
        return len(self.at[cls]) / self.seconds

    def late(self, deadline: float, cls: int = BACKEND) -> float:
        """The share of the requests that took longer than so many ns."""
        return float(np.mean(self.latency[cls] > deadline))


@dataclass
class Simulation:
    """The device, the scheduler in front of it, and loads."""

    loads: list[Load]
    variant: str
    seed: int
    limits: Limits = LIMITS
    classes: tuple[Class, ...] = CLASSES
    device: Device = DEVICE
    now: float = 0.0
    random: Random = field(init=False)
    scheduler: ioshares.Scheduler = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.scheduler = ioshares.Scheduler(self.classes, self.limits, variant=self.variant)
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.order, self.ids = count(), count()
        self.submitted: dict[int, float] = {}
        self.inside: deque[tuple[Request, float]] = deque()
        self.serving = 0
        self.waiting = 0
        self.done: list[tuple[int, float, float]] = []
        self.limit: list[int] = []

    def after(self, wait: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + wait, next(self.order), action))

    def submit(self, load: Load) -> None:
        id = next(self.ids)
        self.submitted[id] = self.now
        self.scheduler.submit(Request(load.cls, load.pages * SIZE, id))
        self.waiting += 1

    def dispatch(self) -> None:
        """As much as the limit allows goes to the device, and the device serves as much as it can."""
        while self.waiting:
            try:
                request = self.scheduler.next()
            except PgquernError:
                break
            self.waiting -= 1
            self.inside.append((request, self.now))
        device = self.device
        while self.serving < device.depth and self.inside:
            request, went = self.inside.popleft()
            self.serving += 1
            service = self.random.lognormvariate(log(device.median), SIGMA) * (1 + request.size / SIZE) / 2
            service *= device.then if self.now >= device.changes else 1
            self.after(service, lambda r=request, w=went: self.complete(r, w))  # type: ignore[misc]

    def complete(self, request: Request, went: float) -> None:
        self.serving -= 1
        self.scheduler.complete(request.cls, round(self.now - went))
        self.done.append((request.cls, self.now, self.now - self.submitted.pop(request.id)))
        for load in self.loads:
            if load.cls == request.cls:
                load.completed(self)

    def run(self, seconds: float) -> Outcome:
        """Simulate so many seconds from now."""
        end = self.now + seconds * SECOND
        for load in self.loads:
            load.begin(self)
        self.dispatch()
        while self.events and self.events[0][0] <= end:
            self.now, _, action = heapq.heappop(self.events)
            action()
            self.dispatch()
            self.limit.append(self.scheduler.limit)
        table = np.array(self.done)
        classes = range(len(self.classes))
        return Outcome(
            seconds,
            self.limit,
            {cls: table[table[:, 0] == cls, 1] for cls in classes},
            {cls: table[table[:, 0] == cls, 2] for cls in classes},
        )

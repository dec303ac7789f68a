# SPDX-License-Identifier: PostgreSQL
"""The I/O scheduler of csrc/ioshares on a simulated device, beside first come, first served. No clock is read.

    python -m bench.ioshares.simulated      (two minutes)

The device serves some requests side by side; what is in flight beyond that waits inside it, first come, first served. A
service of a page takes a lognormal time, median 80 µs, sigma 0.5; one of n pages (1 + n) / 2 times as long. Times are
in nanoseconds. A seed gives the same run each time, as far as the C library's exp and log agree. Writes
build/results/simulation/ioshares.json; exits 1 if a bound is missed, or the claim ends elsewhere than POINTS says.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from math import exp, log
from os import sched_getaffinity
from random import Random
from time import monotonic
from typing import Any

import click
import numpy as np
from pgquern import PgquernError, ioshares
from pgquern.ioshares import Class, Limits, Request
from rich.table import Table

from tools.common import progress, results

MEDIAN, SIGMA, SECOND = 80_000.0, 0.5, 1e9
MEAN, PAGE = MEDIAN * exp(SIGMA**2 / 2), 8192
BACKEND, CHECKPOINTER, AUTOVACUUM = range(3)
SHARES = (500, 200, 200, 100)
DEADLINE = 1_000_000.0
"""1 ms, four times the p99 of the foreground alone."""


@dataclass(frozen=True)
class Point:
    """What is changed, one thing at a time. foreground: of what the device can do; backlog: requests that the
    checkpointer and the autovacuum keep submitted each, of so many pages; warp of the backends, in bytes; target of the
    latency, 0: none; depth: requests that the device serves side by side."""

    foreground: float = 0.5
    backlog: int = 256
    pages: int = 1
    warp: int = 1 << 20
    target: int = 0
    depth: int = 8

    def __str__(self) -> str:
        return ", ".join(f"{key} {value:,}" for key, value in asdict(self).items() if value != getattr(Point, key))


BASE = Point()
POINTS = {
    Point(foreground=0.2): True, Point(foreground=0.52): False, Point(backlog=32): True, Point(backlog=1024): True,
    Point(backlog=16): False, Point(pages=2): False, Point(warp=4 << 20): True, Point(warp=768 << 10): False,
    Point(target=10_000): True, Point(target=1_000_000): True, Point(depth=2): False, Point(depth=4): True,
    Point(depth=12): False,
}  # fmt: skip
"""Whether the claim is made there."""
AT_MOST, AT_LEAST = 1.5, 5.0
"""The claim, of the foreground's p99: so many times that alone, and so many times below first come, first served."""


@dataclass
class Simulation:
    """A device with a scheduler in front of it. Loads submit to it; `again`: what a class does when one of its requests
    is complete."""

    variant: str
    seed: int = 3
    point: Point = BASE
    now: float = 0.0
    done: list[tuple[int, float, float]] = field(default_factory=list)
    """Of each request that is complete: its class, when it was, and how long it took."""

    def __post_init__(self) -> None:
        classes = [Class(share, 0 if cls else self.point.warp, 1 << 16) for cls, share in enumerate(SHARES)]
        limits = Limits(least=1, start=8, most=64, window=64, target=self.point.target)
        self.scheduler = ioshares.Scheduler(classes, limits, variant=self.variant)
        self.random, self.order, self.ids = Random(self.seed), count(), count()
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.again: dict[int, Callable[[], None]] = {}
        self.submitted: dict[int, float] = {}
        self.inside: deque[tuple[Request, float]] = deque()
        self.serving = self.waiting = 0

    def after(self, wait: float, action: Callable[[], None]) -> None:
        heapq.heappush(self.events, (self.now + wait, next(self.order), action))

    def submit(self, cls: int, pages: int = 1) -> None:
        self.submitted[id := next(self.ids)] = self.now
        self.scheduler.submit(Request(cls, pages * PAGE, id))
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
        while self.serving < self.point.depth and self.inside:
            request, went = self.inside.popleft()
            self.serving += 1
            service = self.random.lognormvariate(log(MEDIAN), SIGMA) * (1 + request.size / PAGE) / 2
            self.after(service, lambda r=request, w=went: self.complete(r, w))  # type: ignore[misc]

    def complete(self, request: Request, went: float) -> None:
        self.serving -= 1
        self.scheduler.complete(request.cls, round(self.now - went))
        self.done.append((request.cls, self.now, self.now - self.submitted.pop(request.id)))
        self.again.get(request.cls, int)()

    def run(self, seconds: float) -> None:
        self.dispatch()
        while self.events and self.events[0][0] <= seconds * SECOND:
            self.now, _, action = heapq.heappop(self.events)
            action()
            self.dispatch()

    # ---- loads ------------------------------------------------------------------------------------

    def arrivals(self) -> None:
        """The foreground: requests that come at random times, whatever the device does."""
        mean = MEAN / self.point.depth / self.point.foreground

        def arrive() -> None:
            self.submit(BACKEND)
            self.after(self.random.expovariate(1 / mean), arrive)

        self.after(self.random.expovariate(1 / mean), arrive)

    def backlog(self, cls: int, requests: int, pages: int = 1) -> None:
        """A process that keeps so many requests submitted at all times."""
        self.again[cls] = lambda: self.submit(cls, pages)
        for _ in range(requests):
            self.again[cls]()

    def sessions(self, number: int = 12) -> None:
        """A foreground that waits for each request, and then computes; alone it uses half of the device."""
        think = number * 2 * MEAN / self.point.depth - MEAN
        self.again[BACKEND] = lambda: self.after(self.random.expovariate(1 / think), lambda: self.submit(BACKEND))
        for _ in range(number):
            self.again[BACKEND]()

    def bursts(self, requests: int = 512) -> None:
        """A checkpointer that flushes every second."""

        def burst() -> None:
            for _ in range(requests):
                self.submit(CHECKPOINTER)
            self.after(SECOND, burst)

        self.after(SECOND, burst)


def foreground(
    variant: str, load: str, *, beside: bool, point: Point = BASE, seed: int = 3, seconds: float = 0.5
) -> Any:
    """How long each of the foreground's requests took, with one of the loads or alone."""
    one = Simulation(variant, seed, point)
    if load == "transactions":
        one.sessions()
    else:
        one.arrivals()
    if beside and load == "flushes":
        one.bursts()
    elif beside and load == "transactions":
        one.backlog(AUTOVACUUM, 64)
    elif beside:
        for cls in (CHECKPOINTER, AUTOVACUUM):
            one.backlog(cls, point.backlog, point.pages)
    one.run(seconds)
    return np.array([took for cls, _, took in one.done if cls == BACKEND])


def p99s(point: Point, seeds: tuple[int, ...] = (3, 4), seconds: float = 0.5) -> tuple[float, float]:
    """With ours, times that alone; with first come, first served, times that with ours: the worst of the seeds."""
    found = []
    for seed in seeds:
        alone, ours, fifo = (
            float(np.percentile(foreground(variant, "", beside=beside, point=point, seed=seed, seconds=seconds), 99))
            for variant, beside in (("sfq", False), ("sfq", True), ("fifo", True))
        )
        found.append((ours / alone, fifo / ours))
    return max(times for times, _ in found), min(below for _, below in found)


def throughputs() -> tuple[float, float]:
    """Of sessions beside an aggressive autovacuum, as parts of that alone: with ours, and first come, first served."""
    alone, ours, fifo = (
        len(foreground(variant, "transactions", beside=beside, seconds=2))
        for variant, beside in (("sfq", False), ("sfq", True), ("fifo", True))
    )
    return ours / alone, fifo / alone


def rarer() -> float:
    """How many times rarer requests over the deadline are than first come, first served, beside flushes. None late
    counts as half of one."""
    ours, fifo = (foreground(variant, "flushes", beside=True, seconds=6) > DEADLINE for variant in ("sfq", "fifo"))
    return float(np.mean(fifo) / max(np.mean(ours), 0.5 / len(ours)))


def items() -> Iterator[dict[str, Any]]:
    """Each figure with its bound. Where the claim is not made, one of a point's two figures must miss its bound."""
    p99 = "foreground p99 beside a saturating checkpointer and autovacuum"
    vacuum = "foreground throughput beside an aggressive autovacuum"
    late = "foreground over the deadline, beside flushes"
    with ProcessPoolExecutor(len(sched_getaffinity(0))) as pool:
        base, throughput, flushes = pool.submit(p99s, BASE, (3,), 2), pool.submit(throughputs), pool.submit(rarer)
        swept = zip(POINTS.items(), pool.map(p99s, POINTS), strict=True)
        yield from pair(p99, base.result(), claimed=True)
        yield item(f"{vacuum}: sfq, part of alone", throughput.result()[0], 0.8)
        yield item(f"{vacuum}: fifo, part of alone", throughput.result()[1], 0.5, at_most=True)
        yield item(f"{late}: sfq, times rarer than fifo", flushes.result(), 50)
        for (point, claimed), found in swept:
            yield from pair(f"p99, {point}", found, claimed=claimed)


def item(name: str, reached: float, bound: float, *, at_most: bool = False) -> dict[str, Any]:
    status = "passed" if (reached <= bound if at_most else reached >= bound) else "failed"
    return {"name": name, "status": status, "reached": reached, "bound": bound, "at_most": at_most, "claimed": True}


def pair(name: str, found: tuple[float, float], *, claimed: bool) -> list[dict[str, Any]]:
    """What the claim is about."""
    times, below = f"{name}: sfq, times alone", f"{name}: fifo, times sfq"
    both = [item(times, found[0], AT_MOST, at_most=True), item(below, found[1], AT_LEAST)]
    if not claimed:
        status = "failed" if all(one["status"] == "passed" for one in both) else "passed"
        both = [one | {"status": status, "claimed": False} for one in both]
    return both


@click.command(help=__doc__)
def main() -> None:
    started, console = monotonic(), progress.console()
    found = list(items())
    table = Table(
        "figure", "reached", "claimed", title="simulated device, foreground at half of its capacity unless said"
    )
    for one in found:
        bound = f"{'≤' if one['at_most'] else '≥'} {one['bound']:g}" if one["claimed"] else "not"
        table.add_row(one["name"], f"{'[red]' if one['status'] == 'failed' else ''}{one['reached']:,.2f}", bound)
    console.print(table)
    missed = sum(one["status"] == "failed" for one in found)
    says = f"{len(found) - missed} of {len(found)} figures are as claimed on the simulated device"
    result = results.write("simulation", "ioshares", found, says=says, tools={}, seconds=monotonic() - started)
    console.print(f"simulation ioshares: {says}, {result.seconds:.0f} s")
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()

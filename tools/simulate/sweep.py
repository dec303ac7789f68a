# SPDX-License-Identifier: PostgreSQL
"""Where the claim about the foreground ends: one thing at a time is changed, and all else is as at the base.

At the base the foreground uses half of the simulated device, the checkpointer and the autovacuum keep 256 requests of
one page submitted each, the backends' warp is 1 MiB, and there is no target of the latency. At each point the p99 of
the foreground is taken alone, beside the others with our scheduler, and beside them with first come, first served.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tools.simulate.device import (
    AUTOVACUUM,
    BACKEND,
    CHECKPOINTER,
    CLASSES,
    DEPTH,
    LIMITS,
    WARP,
    Arrivals,
    Backlog,
    Device,
    Load,
    Simulation,
)

SEEDS = (3, 4)
SECONDS = 0.5
"""Of simulated time at a point. Where the foreground is past its share, its p99 grows with it."""
AT_MOST, AT_LEAST = 1.5, 5.0
"""The claim: so many times the p99 alone, and so many times below first come, first served."""


@dataclass(frozen=True)
class Point:
    """What can be changed. foreground: of what the device can do; pages: of a request of the others.

    depth: of the device; target in ns, 0: none.
    """

    foreground: float = 0.5
    backlog: int = 256
    warp: int = WARP
    target: int = LIMITS.target
    pages: int = 1
    depth: int = DEPTH


@dataclass(frozen=True)
class Axis:
    """Values of one of them. first, last: between these the claim is made."""

    title: str
    values: tuple[float, ...]
    first: float
    last: float
    at: Callable[[Any], Point]
    scale: str = "log"
    """Of the picture's axis."""

    def points(self) -> list[Point]:
        return [self.at(value) for value in self.values]


AXES = (
    Axis("foreground, % of the device", (20, 30, 40, 45, 50, 52, 53, 54, 55, 56, 58, 60), 20, 50,
         lambda percent: Point(foreground=percent / 100), "linear"),
    Axis("requests submitted by each of the others", (4, 8, 16, 32, 64, 128, 256, 512, 1024), 32, 1024,
         lambda requests: Point(backlog=requests)),
    Axis("warp of the backends, KiB", (64, 128, 256, 384, 512, 768, 1024, 2048, 4096), 1024, 4096,
         lambda kib: Point(warp=1024 * kib)),
    Axis("target of the latency, µs", (10, 20, 45, 70, 90, 110, 140, 180, 250, 450, 1000), 10, 1000,
         lambda us: Point(target=1000 * us)),
    Axis("pages of a request of the others", (1, 2, 4, 8, 16, 32), 1, 1, lambda pages: Point(pages=pages)),
    Axis("depth of the device", (1, 2, 4, 6, 8, 12, 16, 24, 32), 4, 8, lambda depth: Point(depth=depth)),
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A simulation. beside: with the others."""

    point: Point
    variant: str
    beside: bool
    seed: int

    def p99(self) -> float:
        """Of the foreground, in µs."""
        p = self.point
        loads: list[Load] = [Arrivals(BACKEND, p.foreground)]
        if self.beside:
            loads += [Backlog(cls, p.backlog, pages=p.pages) for cls in (CHECKPOINTER, AUTOVACUUM)]
        classes = (CLASSES[BACKEND]._replace(warp=p.warp), *CLASSES[1:])
        limits = LIMITS._replace(target=p.target)
        return (
            Simulation(loads, self.variant, self.seed, limits=limits, classes=classes, device=Device(p.depth))
            .run(SECONDS)
            .p99()
        )


@dataclass(frozen=True)
class Found:
    """The foreground at a value of an axis, the worst of the seeds. Both figures are of its p99 with our scheduler."""

    value: float
    claimed: bool
    times_alone: float
    below_fifo: float

    @property
    def holds(self) -> bool:
        return self.times_alone <= AT_MOST and self.below_fifo >= AT_LEAST


def three(point: Point, seed: int) -> tuple[Run, Run, Run]:
    """Alone, with ours, with fifo. Alone no backlog and no size matters; first come, first served knows no warp."""
    alone = replace(point, backlog=Point.backlog, pages=Point.pages, warp=WARP)
    return (
        Run(alone, "sfq", False, seed),
        Run(point, "sfq", True, seed),
        Run(replace(point, warp=WARP), "fifo", True, seed),
    )


def runs(axes: Iterable[Axis] = AXES) -> list[Run]:
    """All that are needed, each once."""
    points = [point for axis in axes for point in axis.points()]
    return list(dict.fromkeys(run for point in points for seed in SEEDS for run in three(point, seed)))


def found_at(axis: Axis, value: float, p99: Mapping[Run, float]) -> Found:
    of_seeds = [[p99[run] for run in three(axis.at(value), seed)] for seed in SEEDS]
    return Found(
        value,
        axis.first <= value <= axis.last,
        max(sfq / alone for alone, sfq, _ in of_seeds),
        min(fifo / sfq for _, sfq, fifo in of_seeds),
    )


def sweep(p99: Mapping[Run, float], axes: Iterable[Axis] = AXES) -> dict[str, list[Found]]:
    """What was found along each axis, by its title."""
    return {axis.title: [found_at(axis, value, p99) for value in axis.values] for axis in axes}


def ends(points: Sequence[Found]) -> str:
    """The first value and the last one."""
    values = [f"{p.value:g}" for p in points]
    return " to ".join(dict.fromkeys([values[0], values[-1]]))


def curves(found: Mapping[str, Sequence[Found]]) -> list[dict[str, Any]]:
    """What the report draws."""
    return [
        {
            "title": axis.title,
            "scale": axis.scale,
            "points": [asdict(point) | {"holds": point.holds} for point in found[axis.title]],
        }
        for axis in AXES
    ]

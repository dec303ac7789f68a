# SPDX-License-Identifier: PostgreSQL
"""The limit of requests in flight on devices that nobody described: of depth 1, 4 and 32, faster, slower, and changing.

On each device the target of the latency is swept from a fifth of the mean service of the device to five times it, and
there is none. A checkpointer and an autovacuum keep requests submitted, and the foreground uses part of the device.
What the background gets and the p99 of the foreground are held against the best of the sweep. The first third of a run,
in which the limit is found, is not counted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.simulate.device import (
    AUTOVACUUM,
    BACKEND,
    CHECKPOINTER,
    LIMITS,
    MEDIAN,
    SECOND,
    Arrivals,
    Backlog,
    Device,
    Simulation,
)

TARGETS = (0.0, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0)
"""Times the mean service; 0: none."""
REQUESTS = 45_000
"""That the device could do in a run."""
FOREGROUND = 0.4
AT_LEAST, AT_MOST = 0.8, 2.0
"""Of the best of the sweep: the background's requests, and the foreground's p99."""


def half_of_a_run(device: Device) -> float:
    return REQUESTS / device.a_second / 2 * SECOND


DEVICES = {
    "depth 1": Device(1),
    "depth 4": Device(4),
    "depth 8": Device(8),
    "depth 32": Device(32),
    "a quarter of the time": Device(8, MEDIAN / 4),
    "four times the time": Device(8, MEDIAN * 4),
    "four times slower midway": Device(8, changes=half_of_a_run(Device(8)), then=4.0),
    "four times faster midway": Device(8, changes=half_of_a_run(Device(8)), then=0.25),
}


@dataclass(frozen=True)
class Run:
    """A simulation."""

    device: str
    target: float

    def figures(self) -> tuple[float, float]:
        """The background's requests a second, and the p99 of the foreground in µs."""
        device = DEVICES[self.device]
        foreground = FOREGROUND / max(1.0, device.then)
        loads = [Arrivals(BACKEND, foreground), *(Backlog(cls, 256) for cls in (CHECKPOINTER, AUTOVACUUM))]
        limits = LIMITS._replace(target=round(self.target * device.mean))
        found = Simulation(loads, "sfq", 3, limits=limits, device=device).run(REQUESTS / device.a_second)
        start = found.seconds * SECOND / 3
        done = sum(int((found.at[cls] > start).sum()) for cls in (CHECKPOINTER, AUTOVACUUM))
        late = found.latency[BACKEND][found.at[BACKEND] > start]
        return done / (found.seconds * 2 / 3), float(np.percentile(late, 99)) / 1000


@dataclass(frozen=True)
class Found:
    """The worst of a device's sweep, as parts of the best, and where it is."""

    device: str
    background: float
    background_at: float
    p99: float
    p99_at: float


def runs() -> list[Run]:
    return [Run(device, target) for device in DEVICES for target in TARGETS]


def found(figures: Mapping[Run, tuple[float, float]], devices: Iterable[str] = DEVICES) -> list[Found]:
    result = []
    for device in devices:
        swept = {target: figures[Run(device, target)] for target in TARGETS}
        most, best = max(b for b, _ in swept.values()), min(p for _, p in swept.values())
        slow, late = min(TARGETS, key=lambda t: swept[t][0]), max(TARGETS, key=lambda t: swept[t][1])
        result.append(Found(device, swept[slow][0] / most, slow, swept[late][1] / best, late))
    return result


def curves(figures: Mapping[Run, tuple[float, float]]) -> list[dict[str, Any]]:
    """Each run, for who reads the result."""
    return [
        {"device": run.device, "target": run.target, "background": b, "p99_us": p} for run, (b, p) in figures.items()
    ]

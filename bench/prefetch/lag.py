# SPDX-License-Identifier: PostgreSQL
"""The picture of a standby's lag while its concurrency is changed, of a real one and of the simulated one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench import plots

LINE, LIMIT = plots.OURS[0], plots.UPSTREAM[1]


@dataclass(frozen=True)
class Lag:
    """time, lag: seconds. steps: the concurrencies, each for step_seconds."""

    time: Sequence[float]
    lag: Sequence[float]
    steps: Sequence[int]
    step_seconds: float


def plot(axes: Axes, lag: Lag, label: str) -> None:
    axes.plot(lag.time, lag.lag, color=LINE)
    top = max(lag.lag)
    for step, concurrency in enumerate(lag.steps):
        axes.axvline(step * lag.step_seconds, color=LIMIT, linestyle=":")
        axes.text((step + 0.5) * lag.step_seconds, 1.03 * top, str(concurrency), ha="center")
    axes.set(xlabel=f"{label}, and the concurrency of each step", ylabel="lag of a standby, s")
    axes.set_ylim(0, 1.15 * top + 0.1)


def draw(lag: Lag, picture: Path) -> None:
    picture.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
        plot(axes, lag, "seconds")
        figure.savefig(picture)
        plt.close(figure)

# SPDX-License-Identifier: PostgreSQL
"""The I/O scheduler's part of the report and of the figures: the seed's story on a simulated device."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench import plots
from tools.results import Result

FIFO, SFQ, ALONE = plots.UPSTREAM[0], plots.OURS[2], plots.OURS[1]
COLOUR = {"alone": ALONE, "saturated fifo": FIFO, "saturated sfq": SFQ, "flushes fifo": FIFO, "flushes sfq": SFQ}
LABEL = {
    "alone": "foreground alone",
    "saturated fifo": "beside background, fifo",
    "saturated sfq": "beside background, sfq",
    "flushes fifo": "fifo",
    "flushes sfq": "sfq",
}


def _simulated(found: Sequence[Result]) -> dict[str, Any] | None:
    return next((result.model_dump() for result in found if result.layer == "simulation"), None)


def _latencies(axes: Axes, curves: dict[str, Any]) -> None:
    for name, microseconds in curves["cdf"].items():
        axes.plot(microseconds, [q / 100 for q in curves["quantiles"]], color=COLOUR[name], label=LABEL[name])
    axes.set(xscale="log", xlabel="latency of the foreground, µs", ylabel="part of the requests")
    axes.legend(frameon=False, fontsize=8.5)


def _timeline(axes: Axes, curves: dict[str, Any]) -> None:
    for name, microseconds in curves["timeline"].items():
        seconds = [i * curves["timeline_seconds"] for i in range(len(microseconds))]
        axes.plot(seconds, microseconds, color=COLOUR[name], label=LABEL[name])
    axes.set(yscale="log", xlabel="seconds", ylabel="p99 in 20 ms, µs")
    axes.legend(frameon=False, fontsize=8.5)


def _service(axes: Axes, curves: dict[str, Any]) -> None:
    for (name, served), colour in zip(curves["service"].items(), plots.OURS, strict=False):
        axes.plot(curves["edges"], served, color=colour, label=name)
    axes.set(xlabel="seconds", ylabel="requests served")
    axes.legend(frameon=False, fontsize=8.5)


def _picture(curves: dict[str, Any]) -> Markup:
    """Latencies, p99 over time, and service by class."""
    with plt.rc_context(plots.STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
        _latencies(left, curves)
        _timeline(middle, curves)
        _service(right, curves)
        return Markup(plots.svg(figure))


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    result = _simulated(found)
    if result is None:
        return {"targets": [], "picture": ""}
    return {"targets": result["items"], "outcomes": result["outcomes"], "picture": _picture(result["curves"])}


def figures(found: Sequence[Result]) -> list[str]:
    """Sections of bench/figures/CPU.md."""
    result = _simulated(found)
    if result is None:
        return []
    lines = [
        "### The I/O scheduler on a simulated device",
        "",
        f"`make simulate`, commit {result['commit']}. Simulated time: the machine does not matter.",
        "",
        "| work | figure | reached | target | the seed's own |",
        "|---|---|---|---|---|",
    ]
    for t in result["items"]:
        bound = f"{'≤' if t['at_most'] else '≥'} {t['bound']:g}"
        lines.append(f"| {t['work']} | {t['figure']} | {t['reached']:,.2f} | {bound} | {t['seed']} |")
    return [*lines, ""]

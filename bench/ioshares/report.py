# SPDX-License-Identifier: PostgreSQL
"""The I/O scheduler's part of the report: the seed's story on a simulated and on a real device."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench import plots
from tools.common.results import Result
from tools.simulate import sweep

FIFO, KERNEL = plots.UPSTREAM[:2]
LATENCY, ALONE, SFQ = plots.OURS[:3]

Line = tuple[str, str, Sequence[float]]
"""Label, colour, values."""


def _of_layer(found: Sequence[Result], layer: str) -> dict[str, Any] | None:
    return next((result.model_dump() for result in found if result.layer == layer), None)


def _latencies(axes: Axes, quantiles: Sequence[float], lines: Sequence[Line]) -> None:
    for label, colour, microseconds in lines:
        axes.plot(microseconds, [q / 100 for q in quantiles], color=colour, label=label)
    axes.set(xscale="log", xlabel="latency of the foreground, µs", ylabel="part of the requests")
    axes.set_xlim(left=min(line[2][0] for line in lines) / 50)  # room for the legend
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def _timeline(axes: Axes, step: float, lines: Sequence[Line]) -> None:
    for label, colour, microseconds in lines:
        axes.plot([i * step for i in range(len(microseconds))], microseconds, color=colour, label=label)
    axes.set(yscale="log", xlabel="seconds", ylabel=f"p99 in {1000 * step:.0f} ms, µs")
    axes.legend(frameon=False, fontsize=8.5)


def _service(axes: Axes, edges: Sequence[float], service: Mapping[str, Sequence[int]]) -> None:
    """Two classes of equal shares lie on one another: the second one of them is dashed."""
    for i, (name, served) in enumerate(service.items()):
        axes.plot(edges, served, color=plots.OURS[i], label=name, linestyle="--" if i == 2 else "-")
    axes.set(xlabel="seconds", ylabel="requests served")
    axes.legend(frameon=False, fontsize=8.5)


def _simulated(curves: dict[str, Any]) -> Markup:
    """Latencies, p99 over time, and service by class."""
    cdf, timeline = curves["cdf"], curves["timeline"]
    with plt.rc_context(plots.STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
        _latencies(left, curves["quantiles"], [
            ("foreground alone", ALONE, cdf["alone"]),
            ("beside background, fifo", FIFO, cdf["saturated fifo"]),
            ("beside background, sfq", SFQ, cdf["saturated sfq"]),
        ])  # fmt: skip
        _timeline(middle, curves["timeline_seconds"], [
            ("fifo", FIFO, timeline["flushes fifo"]), ("sfq", SFQ, timeline["flushes sfq"]),
        ])  # fmt: skip
        _service(right, curves["edges"], curves["service"])
        return Markup(plots.svg(figure))


def _axis(axes: Axes, axis: Mapping[str, Any]) -> None:
    """One thing changed: both figures, their bounds, and a band over the values for which the claim is made."""
    points = axis["points"]
    values = [p["value"] for p in points]
    claimed = [p["value"] for p in points if p["claimed"]]
    for key, label, colour, bound in (
        ("times_alone", "ours, times alone", SFQ, sweep.AT_MOST),
        ("below_fifo", "fifo, times ours", FIFO, sweep.AT_LEAST),
    ):
        axes.plot(values, [p[key] for p in points], color=colour, label=label, marker="o", markersize=3)
        axes.axhline(bound, color=colour, linestyle=":", linewidth=1)
    axes.set(xscale=axis["scale"], yscale="log", xlabel=axis["title"], ylim=(0.2, 3000))
    if axis["scale"] == "log":
        shown = values if len(values) < 7 else [*values[:-2:2], values[-1]]
        axes.set_xticks(shown, [f"{value:g}" for value in shown])
        axes.minorticks_off()
    low, high = axes.get_xlim()
    left = low if claimed[0] == values[0] else claimed[0]
    right = high if claimed[-1] == values[-1] else claimed[-1]
    axes.axvspan(left, max(right, left * 1.08), color=SFQ, alpha=0.12, linewidth=0)
    axes.set_xlim(low, high)


def _swept(axes_found: Sequence[Mapping[str, Any]]) -> Markup:
    """Where the claim ends."""
    with plt.rc_context(plots.STYLE):
        figure, places = plt.subplots(2, 3, figsize=(13, 6.4), layout="constrained", sharey=True)
        for place, axis in zip(places.flat, axes_found, strict=True):
            _axis(place, axis)
        places[0, 0].legend(frameon=False, fontsize=8.5, loc="upper left")
        return Markup(plots.svg(figure))


def _real(result: dict[str, Any]) -> Markup:
    """The same of the trials on a file."""
    curves = {name.removeprefix("file: "): curve for name, curve in result["curves"].items() if "file: " in name}
    before_and_after = (("straight to the kernel", KERNEL), ("fifo", FIFO), ("sfq", SFQ))
    all_ways = (("alone", ALONE), *before_and_after, ("sfq, for latency", LATENCY))
    with plt.rc_context(plots.STYLE):
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.4), layout="constrained")
        _latencies(left, result["quantiles"], [(n, c, curves[n]["cdf"]) for n, c in all_ways])
        _timeline(middle, result["slot_seconds"], [(n, c, curves[n]["timeline"]) for n, c in before_and_after])
        backlogged = curves["sfq, all backlogged"]
        _service(right, backlogged["edges"], backlogged["service"])
        return Markup(plots.svg(figure))


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    simulated, real = _of_layer(found, "simulation"), _of_layer(found, "workload")
    shown: dict[str, Any] = {"targets": [], "real": real, "real_picture": _real(real) if real else ""}
    if simulated:
        shown |= {"targets": simulated["items"], "outcomes": simulated["outcomes"]}
        shown["picture"] = _simulated(simulated["curves"])
        shown["ends"] = _swept(simulated["sweep"])
        shown["peers"] = simulated.get("peers", [])
    return shown

# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's part of the report and of the figures: cold recoveries of a real server, and the simulated ones."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench import plots
from tools.results import Result

MEASURED, SIMULATED, LIMIT = plots.OURS[2], plots.OURS[0], plots.UPSTREAM[1]


def _measured(found: Sequence[Result]) -> dict[str, Any] | None:
    return next((result.model_dump() for result in found if result.layer == "recovery"), None)


def _replay(axes: Axes, result: dict[str, Any]) -> None:
    names = [str(item["concurrency"]) for item in result["items"]]
    redo = [item["redo"] for item in result["items"]]
    spans = [[r["median"] - r["low"] for r in redo], [r["high"] - r["median"] for r in redo]]
    axes.errorbar(names, [r["median"] for r in redo], spans, marker="o", color=MEASURED, label="real server, cold")
    simulated = [item["simulated"] for item in result["items"]]
    axes.plot(names, simulated, "s--", color=SIMULATED, label="simulated")
    axes.axhline(result["warm"], color=LIMIT, linestyle=":", label="real server, all cached")
    axes.set(xlabel="maintenance_io_concurrency", ylabel="redo, s", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8.5)


def _lag(axes: Axes, lag: dict[str, Any]) -> None:
    axes.plot(lag["time"], lag["lag"], color=SIMULATED)
    for step, concurrency in enumerate(lag["steps"]):
        axes.axvline(step * lag["step_seconds"], color=LIMIT, linestyle=":")
        axes.text((step + 0.5) * lag["step_seconds"], 0.97 * max(lag["lag"]), str(concurrency), ha="center")
    axes.set(xlabel="simulated seconds, and the concurrency of each step", ylabel="lag of a standby, s")


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    result = _measured(found)
    if result is None:
        return {"rows": []}
    with plt.rc_context(plots.STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
        _replay(left, result)
        _lag(right, result["lag"])
        picture = Markup(plots.svg(figure))
    return {"rows": result["items"], "run": result, "picture": picture}


def figures(found: Sequence[Result]) -> list[str]:
    """Sections of bench/figures/CPU.md."""
    result = _measured(found)
    if result is None:
        return []
    server = next(iter(result["tools"].values()))
    lines = [
        "### Cold crash recoveries of a real server",
        "",
        f"`make bench-recovery`, commit {result['commit']}, PostgreSQL {server}: {result['updates']:,} updates, median "
        f"of {result['rounds']} rounds. The files had left the kernel's page cache; what lies below was not emptied. "
        f"With all files cached redo takes {result['warm']:.2f} s.",
        "",
        "| concurrency | redo, s | low | high | speed-up | simulated, s |",
        "|---|---|---|---|---|---|",
    ]
    for item in result["items"]:
        redo = item["redo"]
        lines.append(
            f"| {item['concurrency']} | {redo['median']:.2f} | {redo['low']:.2f} | {redo['high']:.2f} | "
            f"{item['speedup']:.2f} | {item['simulated']:.2f} |"
        )
    return [*lines, ""]

# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's part of the report: cold recoveries of a real server, and the simulated ones."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench import plots
from tools.common.results import Result

MEASURED, SIMULATED, LIMIT = plots.OURS[2], plots.OURS[0], plots.UPSTREAM[1]


def _of(found: Sequence[Result], layer: str) -> dict[str, Any] | None:
    return next((result.model_dump() for result in found if result.layer == layer), None)


def _replay(axes: Axes, result: dict[str, Any]) -> None:
    names = [str(item["concurrency"]) for item in result["items"]]
    redo = [item["redo"] for item in result["items"]]
    spans = [[r["median"] - r["low"] for r in redo], [r["high"] - r["median"] for r in redo]]
    axes.errorbar(names, [r["median"] for r in redo], spans, marker="o", color=MEASURED, label="real server, cold")
    simulated = [item["simulated"] for item in result["items"]]
    axes.plot(names, simulated, "s--", color=SIMULATED, label="simulated seconds")
    axes.axhline(result["warm"], color=LIMIT, linestyle=":", label="real server, all cached")
    axes.set(xlabel="maintenance_io_concurrency", ylabel="redo, s", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8.5)


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    result = _of(found, "recovery")
    if result is None:
        return {"rows": []}
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
        _replay(axes, result)
        picture = Markup(plots.svg(figure))
    return {"rows": result["items"], "run": result, "picture": picture}

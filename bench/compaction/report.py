# SPDX-License-Identifier: PostgreSQL
"""Compaction's part of the report: a real page, the server's own function, recoveries."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import pyplot as plt

from bench import plots
from tools.common.results import Result
from tools.look import page_picture

REAL_PAGE = Path("build/results/real-page.json")
CAPTIONS = {
    "before": "Before: fragmented",
    "after_pg13": "After, by PostgreSQL 13: offset order",
    "after_pg14": "After, by PostgreSQL 14, and by our kernels: item order",
}


def _pictures() -> tuple[list[tuple[Markup, str]], str]:
    """(picture, caption) of one real page before compaction and after it by real servers; and where it is from."""
    if not REAL_PAGE.exists():
        return [], ""
    data = json.loads(REAL_PAGE.read_text())
    drawn = [(Markup(page_picture.svg(bytes.fromhex(data[key]), text)), text) for key, text in CAPTIONS.items()]
    return drawn, data["source"]


def _items(found: Sequence[Result], layer: str) -> list[dict[str, Any]]:
    """What ran in one layer."""
    items = [item for result in found if result.layer == layer for item in result.items]
    return [item.model_dump() for item in items if item.status != "skipped"]


def _beside_plots(items: Sequence[dict[str, Any]]) -> list[Markup]:
    """A plot a server: our kernels against the server's own function, in its process."""
    drawn = []
    for server in dict.fromkeys(item["config"]["server"] for item in items):
        here = [item for item in items if item["config"]["server"] == server]
        ours = [v for v in dict.fromkeys(item["variant"] for item in here) if v != "native"]
        drawn.append(Markup(plots.speedups(here, ours, f"PostgreSQL {server}: speed-up over its own function")))
    return drawn


def _recovery_plot(items: Sequence[dict[str, Any]], title: str) -> Markup:
    """CPU of the startup process in one crash's recovery: a group a server, a bar a kernel, the whisker all rounds."""
    builds = list(dict.fromkeys(item["build"] for item in items))
    kernels = list(dict.fromkeys(item["kernel"] for item in items if item["kernel"] != "native again"))
    by = {(item["build"], item["kernel"]): item["startup_cpu"] for item in items}
    colours = plots.colours(kernels, [k for k in kernels if k.startswith("pg")]) | {"native": "#1d2330"}
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 3.6))
        width = 0.82 / len(kernels)
        for i, kernel in enumerate(kernels):
            x = np.arange(len(builds)) + (i - (len(kernels) - 1) / 2) * width
            cpu = [by.get((build, kernel), {"median": np.nan, "low": np.nan, "high": np.nan}) for build in builds]
            median, low, high = (np.array([c[key] for c in cpu]) for key in ("median", "low", "high"))
            bars = [median - low, high - median]
            axes.bar(x, median, width * 0.92, yerr=bars, ecolor="#444a55", label=kernel, fc=colours[kernel])
        axes.set_ylabel("s of CPU")
        axes.set_xticks(range(len(builds)), [f"PostgreSQL {build}" for build in builds])
        axes.grid(axis="x", visible=False)
        axes.set_title(title, loc="left", fontweight="bold", pad=24)
        axes.legend(frameon=False, ncol=len(kernels), loc="lower left", bbox_to_anchor=(-0.01, 1), fontsize=9)
        return Markup(plots.svg(figure))


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    pictures, source = _pictures()
    beside, recoveries = _items(found, "beside"), _items(found, "endtoend")
    title = "recovery of {:,} updates: CPU of the startup process, by the kernel inside the server"
    return {
        "pictures": pictures,
        "picture_source": source,
        "beside_plots": _beside_plots(beside),
        "recoveries": recoveries,
        "recovery_plots": [
            _recovery_plot([item for item in recoveries if item["updates"] == count], title.format(count))
            for count in sorted({item["updates"] for item in recoveries})
        ],
    }

# SPDX-License-Identifier: PostgreSQL
"""The part of the report on hit rates (policies.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import pyplot as plt

from bench import plots
from bench.tiercache.peer import LEAST_FRAMES
from bench.tiercache.policies import DEFAULT, EIGHT, MOST_POINTS, PERCENTS, points, summary
from tools.common.results import Result

FAR = 20.0
"""Points from the best at which the colour is the darkest."""
NAMED = {
    "lru": "LRU", "clock": "clock", "2q": "2Q", "arc": "ARC", "lirs": "LIRS", "s3fifo": "S3-FIFO", "sieve": "SIEVE",
    "wtinylfu": "W-TinyLFU, window of 1 %", f"our {DEFAULT}": "ours: W-TinyLFU, window that adapts",
}  # fmt: skip


def distances_picture(cells: Sequence[dict[str, Any]]) -> Markup:
    """A map for each policy, a line for each trace, a column for each size: points from the best of the eight."""
    traces = list(dict.fromkeys(cell["trace"] for cell in cells))
    far = {(cell["trace"], cell["percent"]): points(cell) for cell in cells}
    with plt.rc_context(plots.STYLE):
        figure, grid = plt.subplots(3, 3, figsize=(12, 10), layout="constrained", sharey=True, sharex=True)
        for policy, axes in zip((*EIGHT, f"our {DEFAULT}"), grid.flat, strict=True):
            shown = np.array([[far[trace, percent][policy] for percent in PERCENTS] for trace in traces])
            axes.imshow(shown, cmap="Reds", vmin=0, vmax=FAR, aspect="auto")
            for (y, x), value in np.ndenumerate(shown):
                colour = "white" if value > 0.6 * FAR else "#1d2433"
                axes.text(x, y, f"{value:.1f}", ha="center", va="center", fontsize=7, color=colour)
            axes.set_title(NAMED[policy], fontsize=9, loc="left")
            axes.set(xticks=range(len(PERCENTS)), xticklabels=[f"{p:g} %" for p in PERCENTS])
            axes.set(yticks=range(len(traces)), yticklabels=traces)
            axes.grid(visible=False)
        return Markup(plots.svg(figure))


def distances(found: Sequence[Result]) -> dict[str, Any] | None:
    """The sweep of policies.py; None if there is none, or if libcachesim, or one of the eight, was not there."""
    items = [i.model_dump() for result in found if result.layer == "policies" for i in result.items]
    if not items or any(i["status"] == "skipped" or not i["peer"].keys() >= set(EIGHT) for i in items):
        return None
    rows = [
        [NAMED[policy], f"{farthest:.1f}", where, f"{over} of {len(items)}", f"{mean:.2f}"]
        for policy, (farthest, where, over, mean) in summary(items).items()
        if policy in NAMED
    ]
    return {"picture": distances_picture(items), "rows": rows, "least": LEAST_FRAMES, "most": MOST_POINTS}


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    return {"distances": distances(found)}

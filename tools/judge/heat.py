# SPDX-License-Identifier: PostgreSQL
"""The speed of a candidate as a heat map over the grid of configurations: where it wins, and where it loses."""

from collections.abc import Sequence
from itertools import islice

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import TwoSlopeNorm

from bench import plots
from bench.goals import Config, Ratio
from tools.judge.speed import Place

INK = "#010203"
"""Becomes the colour of the page's text, light or dark."""
COLOURS = "PuOr"
"""Told apart by all eyes: orange loses, violet wins."""
MOST = 3.0
"""Doublings up to which the colour changes."""


def axes_of(configs: Sequence[Config]) -> tuple[list[str], str]:
    """The keys whose values name the lines, and the one that names the columns: that which leaves the fewest cells
    empty, and of several the richest."""
    keys = list(dict.fromkeys(key for config in configs for key in config))
    varied = [key for key in keys if len({config.get(key) for config in configs}) > 1]

    def rank(key: str) -> tuple[int, int]:
        columns = len({config.get(key) for config in configs})
        lines = len({tuple(config.get(other) for other in varied if other != key) for config in configs})
        return -lines * columns, columns

    across = max(varied, key=rank, default=keys[0])
    return [key for key in varied if key != across], across


def heat(places: Sequence[Place]) -> str:
    """A map beside upstream's faster variant, one beside the best of ours, and one beside another candidate if there is
    one, as one <svg>."""
    configs = [found.config for found in places]
    down, across = axes_of(configs)
    lines = list(dict.fromkeys(tuple(config.get(key, "") for key in down) for config in configs))
    columns = list(dict.fromkeys(config.get(across, "") for config in configs))
    at = {}
    for found in places:
        line = tuple(found.config.get(key, "") for key in down)
        at[found.where] = lines.index(line), columns.index(found.config.get(across, ""))
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor"), INK)
    with mpl.rc_context(plots.STYLE | ink | {"axes.grid": False}):
        maps = {
            "beside upstream's faster": {found.where: found.to_upstream for found in places},
            "beside the best of ours": {found.where: found.to_best for found in places},
            "beside the other": {found.where: found.to_other for found in places if found.to_other},
        }
        maps = {title: ratios for title, ratios in maps.items() if ratios}
        size = 3.0 + 0.75 * len(maps) * len(columns), 1.3 + 0.3 * len(lines)
        figure, row = plt.subplots(1, len(maps), figsize=size, sharey=True, gridspec_kw={"wspace": 0.06})
        for axes, (title, ratios) in zip(row, maps.items(), strict=True):
            grid = np.full((len(lines), len(columns)), np.nan)
            for where, ratio in ratios.items():
                grid[at[where]] = np.log2(ratio.median)
            norm = TwoSlopeNorm(0, -MOST, MOST)
            axes.imshow(np.clip(grid, -MOST, MOST), cmap=COLOURS, norm=norm, aspect="auto")
            for where, ratio in ratios.items():
                y, x = at[where]
                colour = ink_on(mpl.colormaps[COLOURS](float(norm(np.clip(grid[y, x], -MOST, MOST)))))
                axes.text(x, y, text_of(ratio), ha="center", va="center", fontsize=8, color=colour)
            axes.set_title(title.replace(" ", "\n", 1), loc="left", fontsize=10, fontweight="bold")
            axes.set_xticks(range(len(columns)), columns, fontsize=8)
            axes.set_xlabel(across)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        row[0].set_yticks(range(len(lines)), ["  ".join(line) for line in lines], fontsize=8)
        row[0].set_ylabel(", ".join(down))
        return plots.svg(figure).replace(INK, "currentColor")


def ink_on(ground: tuple[float, ...]) -> str:
    """Black or white, whichever is told apart better from a colour (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in ground[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111111" if (luminance + 0.05) / 0.055 > 1.05 / (luminance + 0.05) else "#ffffff"


def text_of(ratio: Ratio) -> str:
    """How many times as fast; an interval that reaches even is said so."""
    even = ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high
    return f"{ratio.median:.{2 if ratio.median >= 0.1 else 3}f}×{' ≈' if even else ''}"


def extremes(places: Sequence[Place], count: int = 3) -> tuple[list[Place], list[Place]]:
    """Where it wins most and where it loses most, beside upstream."""
    ordered = sorted(places, key=lambda found: found.to_upstream.median)
    loses = [found for found in islice(ordered, count) if found.to_upstream.median < 1]
    return [found for found in islice(reversed(ordered), count) if found.to_upstream.median > 1], loses

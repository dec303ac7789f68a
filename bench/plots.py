# SPDX-License-Identifier: PostgreSQL
"""Plots of benchmark results, as SVG text for the report. Medians, with the interquartile range of the repetitions."""

import io
import re
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

Item = dict[str, Any]

UPSTREAM = ("#5b6b86", "#9aa3b2", "#c3c8d2")
OURS = ("#d9822b", "#2f9e6e", "#2166c4", "#8250c4", "#c43d6b", "#3d9dc4", "#7a8f2a", "#b5651d")
"""The first three are those of scalar, avx2 and avx512."""
LEVELS = ("scalar", "avx2", "avx512")
GRID = "#e8eaef"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


INK = ("#000000", "#1d2330", "#444a55")
"""What is drawn in one of these has the colour of the text around the figure, on a light ground and on a dark one."""


def svg(figure: Figure) -> str:
    """The figure as an <svg> element that scales to its box."""
    out = io.StringIO()
    figure.savefig(
        out, format="svg", bbox_inches="tight", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
    )
    plt.close(figure)
    text = out.getvalue()
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace(f"stroke: {GRID}", "stroke: currentColor; stroke-opacity: 0.14")
    text = re.sub(f'(?<=: )(?:{"|".join(INK)})(?=[;"])', "currentColor", text)
    # Of the many names only those are kept that something refers to: a page has several figures.
    referred = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda match: match[0] if match[1] in referred else "", text)
    # Text is black unless it says otherwise.
    head, _, body = text.partition(">")
    return f'{head} fill="currentColor">{body}'


def colours(ours: Sequence[str], upstream: Sequence[str] = ()) -> dict[str, str]:
    """One colour a variant, the same in every plot: greys for upstream's."""
    others = [v for v in ours if v not in LEVELS]
    found = {v: OURS[(len(LEVELS) + i) % len(OURS)] for i, v in enumerate(others)}
    found |= {v: OURS[i] for i, v in enumerate(LEVELS)}
    return found | {v: UPSTREAM[i % len(UPSTREAM)] for i, v in enumerate(upstream)}


def shared(configs: Sequence[dict[str, str]]) -> set[str]:
    """The keys that have the same value in all of several configurations."""
    return {k for k in configs[0] if len(configs) > 1 and len({c.get(k) for c in configs}) == 1}


def label(config: dict[str, str], constant: set[str]) -> str:
    """A configuration in a few words, without what all of them share."""
    bare = {v for k, v in config.items() if not v[:1].isdigit() and v not in ("yes", "no")}
    return "  ".join(v if v in bare else f"{k} {v}" for k, v in config.items() if k not in constant)


def speedups(items: Sequence[Item], ours: Sequence[str], title: str) -> str:
    """Speed-up over the faster upstream variant: a line a configuration, a dot a variant, its bar the interval."""
    colour = colours(ours)
    rows: dict[str, list[Item]] = {}
    for item in items:
        if item["variant"] in ours:
            rows.setdefault(item["name"], []).append(item)
    configs = [row[0]["config"] for row in rows.values()]
    constant = shared(configs)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 0.9 + 0.235 * len(rows)))
        for y, row in enumerate(rows.values()):
            for item in row:
                s = item["speedup"]
                if s["low"] is not None:
                    axes.plot([s["low"], s["high"]], [y, y], color=colour[item["variant"]], lw=2.4, alpha=0.45)
                axes.plot(s["median"], y, "o", ms=5, color=colour[item["variant"]])
        for variant in ours:
            if any(item["variant"] == variant for row in rows.values() for item in row):
                axes.plot([], [], "o", color=colour[variant], label=variant)
        axes.axvline(1, color="#b3261e", lw=1)
        axes.set_xscale("log")
        ticks = [t for t in (0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if t <= axes.get_xlim()[1]]
        axes.set_xticks(ticks, [f"{t:g}×" for t in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(rows)), [label(c, constant) for c in configs], fontsize=8.5)
        axes.invert_yaxis()
        axes.set_title(title, loc="left", fontweight="bold", pad=24)
        axes.legend(frameon=False, ncol=5, loc="lower left", bbox_to_anchor=(-0.01, 1), fontsize=9, handletextpad=0.1)
        return svg(figure)


GREY = "#7b8496"
ABOVE = "#d6453d"


def growth(items: Sequence[Item], title: str) -> str:
    """Instructions against a size, both on equal log scales: points, the fitted line, and the wanted slope, dashed."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 4.2))
        for item, colour in zip(items, OURS, strict=False):
            sizes, counts = np.array(item["sizes"], float), np.array(item["instructions"], float)
            colour = ABOVE if item["above"] else colour
            label = f"{item['what']}, by {item['unit']}: {item['says']}, wanted {item['wanted']:g}"
            label += ", above what is wanted" if item["above"] else ""
            axes.plot(sizes, counts, "o", ms=5, color=colour, label=label)
            axes.plot(sizes, item["at_one"] * sizes ** item["slope"], color=colour, lw=1.4)
            axes.plot(sizes, counts[0] * (sizes / sizes[0]) ** item["wanted"], "--", color=colour, lw=1.2, alpha=0.7)
        axes.plot([], [], "--", color=GREY, label="dashed: the wanted slope, from the first point")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_aspect("equal", adjustable="datalim")
        axes.set_xlabel("size")
        axes.set_ylabel("instructions")
        axes.set_title(title, loc="left", fontweight="bold", pad=14 + 16 * (len(items) + 1))
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.01, 1), fontsize=9, handletextpad=0.3)
        return svg(figure)


def spread(lines: Sequence[tuple[str, str, Sequence[float]]], title: str) -> str:
    """Ratios of whole variants: a line each (label, variant, ratios), a dot a configuration, the median in ink."""
    colour = colours(list(dict.fromkeys(variant for _, variant, _ in lines)))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 1.1 + 0.42 * len(lines)))
        for y, (_, variant, ratios) in enumerate(lines):
            axes.plot(ratios, [y] * len(ratios), "o", ms=7, mew=0, alpha=0.4, color=colour[variant])
            axes.plot([float(np.median(ratios))], [y], "|", ms=15, mew=2, color="#1d2330")
        axes.axvline(1, color="#b3261e", lw=1)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if low <= t <= high]
        axes.set_xticks(ticks, [f"{t:g}×" for t in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(lines)), [label for label, _, _ in lines], fontsize=8.5)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
        return svg(figure)

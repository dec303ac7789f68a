# SPDX-License-Identifier: PostgreSQL
"""Plots of benchmark results, as SVG text for the report. Medians, with the interquartile range of the repetitions."""

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

Item = dict[str, Any]

COLOURS = {
    "pg13": "#9aa3b2",
    "pg14": "#5b6b86",
    "workspace": "#9aa3b2",
    "append": "#9aa3b2",
    "scalar": "#d9822b",
    "inplace": "#caa24a",
    "avx2": "#2f9e6e",
    "avx512": "#2166c4",
    "batch": "#2166c4",
}
OTHERS = ("#8250c4", "#c43d6b", "#3d9dc4", "#7a8f2a", "#b5651d")
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e8eaef",
    "axes.axisbelow": True,
    "svg.fonttype": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


def svg(figure: Figure) -> str:
    """The figure as an <svg> element that scales to its box."""
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg") :]


def colour(variant: str, variants: Sequence[str]) -> str:
    """One colour a variant, the same in every plot."""
    unnamed = [v for v in variants if v not in COLOURS]
    return COLOURS[variant] if variant in COLOURS else OTHERS[unnamed.index(variant) % len(OTHERS)]


def label(config: dict[str, str], constant: set[str]) -> str:
    """A configuration in a few words, without what all of them share."""
    bare = {v for k, v in config.items() if not v[:1].isdigit() and v not in ("yes", "no")}
    return "  ".join(v if v in bare else f"{k} {v}" for k, v in config.items() if k not in constant)


def speedups(items: Sequence[Item], ours: Sequence[str], title: str) -> str:
    """Speed-up over the faster upstream variant, a line a configuration, a dot a variant, with the 95 % interval."""
    rows: dict[str, list[Item]] = {}
    for item in items:
        if item["variant"] in ours:
            rows.setdefault(item["name"], []).append(item)
    configs = [row[0]["config"] for row in rows.values()]
    constant = {k for k in configs[0] if len({c.get(k) for c in configs}) == 1}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 0.9 + 0.235 * len(rows)))
        for y, row in enumerate(rows.values()):
            for item in row:
                s = item["speedup"]
                axes.plot([s["low"], s["high"]], [y, y], color=colour(item["variant"], ours), lw=2.4, alpha=0.45)
                axes.plot(s["median"], y, "o", ms=5, color=colour(item["variant"], ours))
        for variant in ours:
            if any(item["variant"] == variant for row in rows.values() for item in row):
                axes.plot([], [], "o", color=colour(variant, ours), label=variant)
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


def times(items: Sequence[Item], variants: Sequence[str], title: str) -> str:
    """Nanoseconds a call, log scale: a group a configuration, a bar a variant, the whisker the interquartile range."""
    rows: dict[str, dict[str, Item]] = {}
    for item in items:
        if item["variant"] in variants:
            rows.setdefault(item["name"], {})[item["variant"]] = item
    configs = [next(iter(row.values()))["config"] for row in rows.values()]
    constant = {k for k in configs[0] if len({c.get(k) for c in configs}) == 1}
    present = [v for v in variants if any(v in row for row in rows.values())]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 4.2))
        width = 0.82 / len(present)
        for i, variant in enumerate(present):
            x = np.arange(len(rows)) + (i - (len(present) - 1) / 2) * width
            y = np.array([row[variant]["ns"] if variant in row else np.nan for row in rows.values()])
            low, high = np.array(
                [row[variant]["ns_quartiles"] if variant in row else [np.nan] * 2 for row in rows.values()]
            ).T
            bars = axes.bar(x, y, width * 0.92, yerr=[y - low, high - y], ecolor="#444a55", label=variant)
            for bar in bars:
                bar.set_facecolor("#eef0f4" if variant == "limit" else colour(variant, variants))
                if variant == "limit":
                    bar.set_hatch("///")
                    bar.set_edgecolor("#b6bbc6")
        axes.set_yscale("log")
        axes.set_ylabel("ns a call")
        names = [label(c, constant).replace("  ", "\n") for c in configs]
        axes.set_xticks(range(len(rows)), names, fontsize=8.5)
        axes.grid(axis="x", visible=False)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.legend(frameon=False, ncol=len(present), loc="lower left", bbox_to_anchor=(0, -0.42), fontsize=9)
        return svg(figure)


def recovery(items: Sequence[Item], title: str) -> str:
    """Startup process CPU of one crash's recovery: a group a server, a bar a kernel in it, the whisker all rounds."""
    builds = list(dict.fromkeys(item["build"] for item in items))
    kernels = list(dict.fromkeys(item["kernel"] for item in items if item["kernel"] != "native again"))
    by = {(item["build"], item["kernel"]): item["startup_cpu"] for item in items}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(8.2, 3.6))
        width = 0.82 / len(kernels)
        for i, kernel in enumerate(kernels):
            x = np.arange(len(builds)) + (i - (len(kernels) - 1) / 2) * width
            cpu = [by.get((build, kernel), {"median": np.nan, "low": np.nan, "high": np.nan}) for build in builds]
            median, low, high = (np.array([c[key] for c in cpu]) for key in ("median", "low", "high"))
            face = "#1d2330" if kernel == "native" else colour(kernel, kernels)
            axes.bar(
                x, median, width * 0.92, yerr=[median - low, high - median], ecolor="#444a55", label=kernel, fc=face
            )
        axes.set_ylabel("s of CPU")
        axes.set_xticks(range(len(builds)), [f"PostgreSQL {build}" for build in builds])
        axes.grid(axis="x", visible=False)
        axes.set_title(title, loc="left", fontweight="bold", pad=24)
        axes.legend(frameon=False, ncol=len(kernels), loc="lower left", bbox_to_anchor=(-0.01, 1), fontsize=9)
        return svg(figure)

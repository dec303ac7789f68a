# SPDX-License-Identifier: PostgreSQL
"""The part of the report on the I/O stack (tools/stack), and on hit rates (policies.py)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from bench import plots
from bench.tiercache.peer import LEAST_FRAMES
from bench.tiercache.policies import DEFAULT, MOST_POINTS, PERCENTS, SEVEN, points, summary
from tools.common.results import Result
from tools.stack.__main__ import CONFIGURATIONS, DEVICES

NAMES = [configuration.name for configuration in CONFIGURATIONS]
ALL_FOUR = "all four, images"
PLAIN, ONE, ALL = plots.UPSTREAM[0], plots.OURS[2], plots.OURS[1]
PANELS = {
    "transactions_a_second": "transactions a second",
    "read_p999_ms": "99.9th percentile of a read, ms",
    "commit_p99_ms": "99th percentile of a commit, ms",
}
POLICIES = {
    "lru": ("LRU", PLAIN),
    "s3fifo": ("S3-FIFO", plots.OURS[2]),
    "tinylfu": ("W-TinyLFU", ALL),
    "optimum": ("optimum", plots.UPSTREAM[2]),
}


def _colour(name: str) -> str:
    plain = name == "plain" or name.startswith("kernel")
    return PLAIN if plain else ALL if name.startswith("all") else ONE


def _number(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.2g}" if x >= 10 else f"{x:.2f}"


def _panel(axes: Axes, items: dict[str, dict[str, Any]], key: str) -> None:
    """A line for each configuration: the median, and the range of the rounds."""
    for y, (name, item) in enumerate(items.items()):
        low, high = item["range"][key]
        axes.plot([low, high], [y, y], color=_colour(name), lw=5, alpha=0.3, solid_capstyle="round")
        axes.plot(item[key], y, "o", ms=8, color=_colour(name))
        axes.annotate(_number(item[key]), (item[key], y), (0, 7), ha="center", textcoords="offset points", fontsize=8)
    axes.set(yticks=range(len(items)), yticklabels=list(items), ylim=(len(items) - 0.5, -0.7))
    unprotected = sum(item["protection"] == "none" for item in items.values())
    axes.axhline(unprotected - 0.55, color="#9aa3b2", lw=1, ls="--")
    if key != "transactions_a_second":
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)


def stack_picture(items: Sequence[dict[str, Any]]) -> Markup:
    """A row for each device, a column for each figure. Below the dashed line pages are protected."""
    with plt.rc_context(plots.STYLE):
        figure, rows = plt.subplots(2, 3, figsize=(13, 9.6), layout="constrained", sharey="row")
        for device, row in zip(DEVICES, rows, strict=True):
            here = {item["parts"]: item for item in items if item["device"] == device}
            for (key, title), axes in zip(PANELS.items(), row, strict=True):
                _panel(axes, {name: here[name] for name in NAMES if name in here}, key)
                axes.set_title(f"{device}: {title}", fontsize=9, loc="left")
        return Markup(plots.svg(figure))


IMAGES = [configuration.name for configuration in CONFIGURATIONS if configuration.protection == "images"]
OTHERS = (plots.UPSTREAM[1], plots.OURS[0], *plots.OURS[2:7])
COLOURS = dict(zip(IMAGES, (PLAIN, *OTHERS, ALL), strict=True))


def threads_picture(sweep: Sequence[dict[str, Any]]) -> Markup:
    """Transactions a second against the number of threads, a panel for each device."""
    names = list(dict.fromkeys(item["parts"] for item in sweep))
    with plt.rc_context(plots.STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
        for device, axes in zip(DEVICES, panels, strict=True):
            for name in names:
                of = sorted(
                    (i for i in sweep if (i["device"], i["parts"]) == (device, name)), key=lambda i: i["threads"]
                )
                if not of:
                    continue
                x = [item["threads"] for item in of]
                low, high = zip(*(item["range"]["transactions_a_second"] for item in of), strict=True)
                axes.fill_between(x, low, high, color=COLOURS[name], alpha=0.15, lw=0)
                y = [item["transactions_a_second"] for item in of]
                axes.plot(x, y, "o-", color=COLOURS[name], ms=4, label=name)
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
            axes.set(ylim=(0, None), xlabel="threads")
            axes.set_title(f"{device}: transactions a second", fontsize=9, loc="left")
            axes.legend(frameon=False, fontsize=8)
        return Markup(plots.svg(figure))


def hit_rates(found: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Hits a reference of each policy, by trace and size of the cache, from the benchmarks of kind policy."""
    rates: dict[str, dict[str, float]] = {}
    for item in (i.model_dump() for result in found if result.layer == "bench" for i in result.items):
        config = item.get("config", {})
        if config.get("kind") == "policy" and item["variant"] in POLICIES:
            rates.setdefault(f"{config['trace']}\n{config['percent']} %", {})[item["variant"]] = 1 / item["ns"]
    return rates


def hits_picture(rates: dict[str, dict[str, float]]) -> Markup:
    """Four bars a trace."""
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(max(8.2, 0.9 * len(rates)), 2.8), layout="constrained")
        for i, (policy, (label, colour)) in enumerate(POLICIES.items()):
            places = [place + 0.21 * (i - 1.5) for place in range(len(rates))]
            axes.bar(places, [100 * rate.get(policy, 0) for rate in rates.values()], 0.19, color=colour, label=label)
        axes.set(xticks=range(len(rates)), xticklabels=list(rates), ylabel="hits, % of references", ylim=(0, 100))
        axes.legend(frameon=False, fontsize=8.5, ncols=4)
        return Markup(plots.svg(figure))


FAR = 20.0
"""Points from the best at which the colour is the darkest."""
NAMED = {
    "lru": "LRU", "clock": "clock", "2q": "2Q", "arc": "ARC", "s3fifo": "S3-FIFO", "sieve": "SIEVE",
    "wtinylfu": "W-TinyLFU, window of 1 %", f"our {DEFAULT}": "ours: W-TinyLFU, window that adapts",
}  # fmt: skip


def distances_picture(cells: Sequence[dict[str, Any]]) -> Markup:
    """A map for each policy, a line for each trace, a column for each size: points from the best of the seven."""
    traces = list(dict.fromkeys(cell["trace"] for cell in cells))
    far = {(cell["trace"], cell["percent"]): points(cell) for cell in cells}
    with plt.rc_context(plots.STYLE):
        figure, grid = plt.subplots(2, 4, figsize=(13, 7), layout="constrained", sharey=True, sharex=True)
        for policy, axes in zip((*SEVEN, f"our {DEFAULT}"), grid.flat, strict=True):
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
    """The sweep of policies.py; None if there is none, or if libcachesim was not there."""
    items = [i.model_dump() for result in found if result.layer == "policies" for i in result.items]
    if not items or any(i["status"] == "skipped" for i in items):
        return None
    rows = [
        [NAMED[policy], f"{farthest:.1f}", where, f"{over} of {len(items)}", f"{mean:.2f}"]
        for policy, (farthest, where, over, mean) in summary(items).items()
        if policy in NAMED
    ]
    return {"picture": distances_picture(items), "rows": rows, "least": LEAST_FRAMES, "most": MOST_POINTS}


def seed_rows(items: Sequence[dict[str, Any]]) -> list[list[str]]:
    """What the deck says; ours on each device, and how much better than the plain stack with the same protection."""
    of = {(item["device"], item["parts"]): item for item in items}

    def beside(key: str, fewer: bool, one: str = ALL_FOUR, than: str = "tornpage alone, images") -> list[str]:
        cells = []
        for device in DEVICES:
            if (device, than) not in of:
                cells.append("–")
                continue
            plain, ours = of[device, than][key], of[device, one][key]
            times = (plain / ours if fewer else ours / plain) if ours and plain else 0
            cells.append(f"{_number(plain)} → {_number(ours)} ({times:.2g} times)")
        return cells

    rows = {
        "99th percentile beside checkpoints: 31.37 → 5.77 ms": (
            "commit_p99_ms",
            True,
            "99th percentile of a commit, ms",
        ),
        "stable response without extra hardware": ("read_p999_ms", True, "99.9th percentile of a read, ms"),
        "twice the throughput": ("transactions_a_second", False, "transactions a second"),
        "pages of 8 KiB in blocks of 128 KiB": ("store_writes", True, "writes to the store for 1000 transactions"),
        "a local SSD as an extension of memory": ("store_reads", True, "reads of the store for 1000 transactions"),
    }
    found = [[says, what, *beside(key, fewer)] for says, (key, fewer, what) in rows.items()]
    kernel, atomic = "kernel's page cache", "all four, atomic device"
    a_second, log, says = "transactions_a_second", "log_mb", "transactions a second"
    best = "all but tornpage"
    return [
        *found,
        ["the same without protection", f"{says}, plain → {best}", *beside(a_second, False, best, "plain")],
        ["the same over the kernel's page cache", f"{says}, kernel → {best}", *beside(a_second, False, best, kernel)],
        ["", f"{says}, kernel, images → all four", *beside(a_second, False, ALL_FOUR, f"{kernel}, images")],
        ["range locks in the place of the file lock", f"{says}, plain → rangelock alone",
         *beside(a_second, False, "rangelock alone", "plain")],
        ["4 to 12 times the throughput with atomic writes", f"{says}, all four: images → atomic device",
         *beside(a_second, False, atomic, ALL_FOUR)],
        ["", "MB of log for 1000 transactions, all four: images → atomic device",
         *beside(log, True, atomic, ALL_FOUR)],
    ]  # fmt: skip


def _stack(found: Sequence[Result]) -> dict[str, Any] | None:
    """The stack's result; None if there is none, or if it is of a version with other configurations."""
    for stack in (result.model_dump() for result in found if result.layer == "stack"):
        if {item["parts"] for item in stack["items"]} == set(NAMES):
            return stack
    return None


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    stack, rates = _stack(found), hit_rates(found)
    return {
        "stack": stack,
        "picture": stack_picture(stack["items"]) if stack else "",
        "by_threads": threads_picture(stack["sweep"]) if stack and stack.get("sweep") else "",
        "targets": stack.get("aims", []) if stack else [],
        "rows": seed_rows(stack["items"]) if stack else [],
        "devices": list(DEVICES),
        "hits": hits_picture(rates) if rates else "",
        "rates": rates,
        "distances": distances(found),
    }

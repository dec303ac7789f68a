# SPDX-License-Identifier: PostgreSQL
"""The snapshot builder's part of the report and of the figures: the mailing list's two workloads."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup
from matplotlib import pyplot as plt

from bench import plots
from tools.common.results import Result


def _items(found: Sequence[Result]) -> list[dict[str, Any]]:
    return [item.model_dump() for result in found if result.layer == "workload" for item in result.items]


def _picture(items: Sequence[dict[str, Any]]) -> Markup:
    """Microseconds a tracked commit over the stream of MIXED."""
    colour = {"upstream": plots.UPSTREAM[0], "sorted": plots.OURS[2]}
    with plt.rc_context(plots.STYLE):
        figure, axes = plt.subplots(figsize=(7, 3))
        for item in items:
            if item["workload"] == "MIXED":
                times = [max(us, 0.01) for _, _, us in item["curve"]]
                name = item["builder"]
                axes.plot([commits for commits, _, _ in item["curve"]], times, color=colour[name], label=name)
        axes.set(xlabel="commits", ylabel="µs a commit and its snapshot", yscale="log")
        axes.legend(frameon=False)
        return Markup(plots.svg(figure))


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    items = _items(found)
    return {"workloads": items, "picture": _picture(items) if items else ""}


def figures(found: Sequence[Result]) -> list[str]:
    """Sections of bench/figures/CPU.md."""
    lines: list[str] = []
    for result in found:
        if result.layer != "workload":
            continue
        lines += [
            "### The mailing list's workloads, in the builder alone",
            "",
            f"`pgquern workloads`, {result.finished:%Y-%m-%d}, commit {result.commit}, {result.cpu}. "
            "One pass of each stream.",
            "",
            "| workload | builder | commits | tracked | µs a transaction |",
            "|---|---|---|---|---|",
        ]
        for item in _items([result]):
            lines.append(
                f"| {item['workload']} | {item['builder']} | {item['commits']:,} | {item['tracked']:,} | "
                f"{item['microseconds_a_transaction']:,.2f} |"
            )
        lines.append("")
    return lines

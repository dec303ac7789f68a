# SPDX-License-Identifier: PostgreSQL
"""The figures of CLAIMS.md, written from build/results/ between its markers.

    python -m bench.report.claims      (after `make bench`, `make bench-beside` and `make bench-endtoend`; 1 s)

A goal missed is written as missed, with the figure that was reached.
"""

from pathlib import Path
from typing import Any

import click

from bench.report import results

BEGIN, END = "<!-- figures: made by `make claims` -->", "<!-- /figures -->"


def goal_line(verdict: dict[str, Any]) -> str:
    """One goal: its bound, the worst configuration's ratio with its interval, met or missed."""
    goal, worst = verdict["goal"], verdict["worst"]
    bound = f"≥ {goal['at_least']}×" if goal["at_least"] else f"≤ {goal['at_most']}"
    against = "" if goal["against"] == "upstream" else f" {goal['against']}"
    where = ", ".join(f"{k} {v}" for k, v in verdict["worst_config"].items() if str(goal["where"].get(k)) != v)
    figure = f"{worst['median']:.2f} [{worst['low']:.2f}, {worst['high']:.2f}]"
    status = verdict["status"] + (f": {verdict['why']}" if verdict["why"] else "")
    return f"| {goal['title']} | {goal['variant']} | {bound}{against} | {figure} | {where} | {status} |"


def bench_section(result: dict[str, Any]) -> list[str]:
    """The goals of one stem."""
    stem = next(iter(result["stems"]))
    met = sum(v["is_met"] for v in result["goals"])
    return [
        f"### `{stem}`: {met} of {len(result['goals'])} goals met",
        "",
        f"`make bench STEM={stem}`, {result['finished'][:10]}, commit {result['commit']}, {result['cpu']}, "
        f"{result['tools']['gcc']}, `{result['flags']}`, {result['runs']} runs of {result['repetitions']} repetitions, "
        f"{result['steal_percent']:.1f} % of the time stolen by the hypervisor.",
        "",
        "| goal | variant | bound | worst configuration [95 %] | which | |",
        "|---|---|---|---|---|---|",
        *map(goal_line, result["goals"]),
        "",
    ]


def endtoend_section(result: dict[str, Any]) -> list[str]:
    """Recovery and VACUUM of real servers."""
    lines = [
        "### Inside real servers",
        "",
        f"`make bench-endtoend`, {result['finished'][:10]}, commit {result['commit']}, {result['cpu']}. "
        "Median (lowest to highest) of all rounds; the recovered table is the same in all of them. "
        "Embedded servers are built with -Os, Debian's with -O2.",
        "",
        "| server | updates | kernel inside | startup CPU s | native / kernel | VACUUM ms |",
        "|---|---|---|---|---|---|",
    ]
    for item in result["items"]:
        cpu, ratio, vacuum = item["startup_cpu"], item["speedup"], item["vacuum"]
        lines.append(
            f"| {item['build']} | {item['updates']:,} | {item['kernel']} | {cpu['median']:.2f} ({cpu['low']:.2f} to "
            f"{cpu['high']:.2f}) | {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}) | "
            f"{1000 * vacuum['median']:.0f} |"
        )
    return [*lines, ""]


def beside_section(result: dict[str, Any]) -> list[str]:
    """Our kernels and a real server's own function, in its process: the worst configuration, the middle, the best."""
    lines = [
        "### Beside a real server's own function",
        "",
        f"`make bench-beside`, {result['finished'][:10]}, commit {result['commit']}, {result['cpu']}. "
        "How many times a kernel is as fast as the server's own PageRepairFragmentation, on the same pages in one "
        "process of that server.",
        "",
        "| server | kernel | configurations | worst [95 %] | which | middle | best |",
        "|---|---|---|---|---|---|---|",
    ]
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for item in result["items"]:
        rows.setdefault((item["config"]["server"], item["optimisation"], item["variant"]), []).append(item)
    for (server, optimisation, variant), items in rows.items():
        if variant == "native":
            continue
        low, *_, high = ranked = sorted(items, key=lambda item: float(item["speedup"]["median"]))
        worst, middle = low["speedup"], ranked[len(ranked) // 2]["speedup"]["median"]
        which = ", ".join(f"{k} {v}" for k, v in low["config"].items() if k != "server")
        lines.append(
            f"| {server} ({optimisation}) | {variant} | {len(items)} | {worst['median']:.2f} [{worst['low']:.2f}, "
            f"{worst['high']:.2f}] | {which} | {middle:.2f} | {high['speedup']['median']:.2f} |"
        )
    return [*lines, ""]


def figures(found: list[dict[str, Any]]) -> str:
    """All sections. Only full benchmark runs count: a short one decides nothing."""
    lines: list[str] = []
    for result in found:
        if result["layer"] == "bench" and result["mode"] == "full":
            lines += bench_section(result)
        if result["layer"] == "beside":
            lines += beside_section(result)
        if result["layer"] == "endtoend":
            lines += endtoend_section(result)
    return "\n".join(lines)


@click.command()
def main() -> None:
    """Write the figures into CLAIMS.md."""
    claims = Path("CLAIMS.md")
    head, rest = claims.read_text().split(BEGIN)
    text = figures(results.load())
    if not text:
        raise click.ClickException("no full benchmark in build/results; run `make bench` first")
    claims.write_text(f"{head}{BEGIN}\n\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()

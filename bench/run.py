# SPDX-License-Identifier: PostgreSQL
"""Benchmarks of a stem: every configuration, every variant, judged against `bench/goals/<stem>.toml`.

    python -m bench.run compaction            all that goals are about, three runs (about 7 minutes)
    python -m bench.run compaction --all      every configuration, cold pages too (about 50 minutes)
    python -m bench.run compaction --quick    what the main job shows (about 20 seconds)

Writes build/results/bench-<stem>.json. A goal missed is reported, not an error; an error is a benchmark that fails.
"""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bench import environment, goals
from bench.goals import Config, Roles, Times, Verdict
from bench.icount import run as icount
from bench.measure import list_configs, measure

BUILD = Path("build")
console = Console(width=None if Console().is_terminal else 140)


def row(config: Config, variant: str, times: Times, roles: Roles) -> dict[str, Any]:
    """One measured (configuration, variant), as the results file has it. Times in nanoseconds."""
    low, median, high = (float(q) for q in np.percentile(times[variant], [25, 50, 75]))
    upstream = roles.faster_upstream(times)
    item: dict[str, Any] = {"config": dict(config), "variant": variant, "ns": median, "ns_quartiles": [low, high]}
    item |= {"samples": len(times[variant]), "upstream": upstream}
    item["speedup"] = asdict(goals.paired_ratio(times[upstream], times[variant]))
    if roles.limit and roles.limit in times:
        item["to_limit"] = asdict(goals.paired_ratio(times[variant], times[roles.limit]))
    return item


def settled(verdict: Verdict, roles: Sequence[Roles], measured: Sequence[tuple[Config, Times]]) -> Verdict:
    """What noise leaves undecided, by instructions where the goal says so."""
    if not verdict.goal.or_instructions:
        return verdict

    def instruction_ratio(config: Config) -> float:
        times = next(t for c, t in measured if c == config)
        upstream = goals.roles_of(roles, config).faster_upstream(times)
        shape = icount.shape_of(config)
        return icount.instructions(upstream, shape) / icount.instructions(verdict.goal.variant, shape)

    return goals.settle(verdict, instruction_ratio)


def show_configs(measured: Sequence[tuple[Config, Times]], roles: Sequence[Roles]) -> None:
    """A line a configuration: upstream's faster variant and its time, then how many times faster each of ours is."""
    families: dict[tuple[str, ...], list[tuple[Config, Times]]] = {}
    for config, times in measured:
        families.setdefault((*config, *goals.roles_of(roles, config).ours), []).append((config, times))
    for rows in families.values():
        who = goals.roles_of(roles, rows[0][0])
        ours = [v for v in who.ours if any(v in times for _, times in rows)]
        title = "median ns of the faster upstream variant; speed-up of ours [95 % interval]"
        table = Table(title=title, title_justify="left")
        for key in rows[0][0]:
            table.add_column(key)
        for head in ("upstream", "ns", *ours, *(["A/A"] if who.again else []), *(["best/limit"] if who.limit else [])):
            table.add_column(head, justify="right")
        for config, times in rows:
            upstream = who.faster_upstream(times)
            cells = [*config.values(), upstream, f"{np.median(times[upstream]):,.0f}"]
            for variant in ours:
                ratio = goals.paired_ratio(times[upstream], times[variant]) if variant in times else None
                cells.append(f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio else "")
            if who.again:
                first, second = who.again
                cells.append(f"{goals.paired_ratio(times[first], times[second]).median:.2f}" if second in times else "")
            if who.limit:
                best = min((v for v in ours if v in times), key=lambda v: float(np.median(times[v])))
                near = goals.paired_ratio(times[best], times[who.limit]).median if who.limit in times else None
                cells.append(f"{near:.2f}" if near else "")
            table.add_row(*cells)
        console.print(table)


def show_goals(verdicts: Sequence[Verdict]) -> None:
    """A line a goal: the bound, the worst configuration's ratio, met or missed."""
    table = Table(title="goals: met when the 95 % bound is, in every configuration", title_justify="left")
    for head in ("goal", "variant", "bound", "worst [95 %]", "where", "status"):
        table.add_column(head)
    for v in verdicts:
        against = v.goal.against
        bound = f">= {v.goal.at_least}x {against}" if v.goal.at_least else f"<= {v.goal.at_most} {against}"
        worst = f"{v.worst.median:.2f} [{v.worst.low:.2f}, {v.worst.high:.2f}]" if v.worst else ""
        where = " ".join(f"{k}={x}" for k, x in (v.worst_config or {}).items() if str(v.goal.where.get(k)) != x)
        colour = "green" if v.is_met else "yellow"
        table.add_row(v.goal.title, v.goal.variant, bound, worst, where, f"[{colour}]{v.status}[/]")
    console.print(table)
    for v in verdicts:
        if v.why:
            console.print(f"missed: {v.goal.title}, {v.goal.variant}: {v.why}", highlight=False)


@click.command()
@click.argument("stem")
@click.option("--quick", is_flag=True, help="Only the configurations that the stem's goals file names as `quick`.")
@click.option("--all", "everything", is_flag=True, help="Those too that the goals file has measured `on_request` only.")
@click.option("--runs", default=3, show_default=True, help="Separate processes a configuration (quick: 1).")
@click.option("--repetitions", default=9, show_default=True, help="Repetitions a process, interleaved at random.")
@click.option("--where", "-w", multiple=True, metavar="KEY=VALUE", help="Narrow to matching configurations.")
def main(stem: str, quick: bool, everything: bool, runs: int, repetitions: int, where: tuple[str, ...]) -> None:
    """Measure the kernels of STEM against upstream's algorithms and the physical limit."""
    binary, goals_file = BUILD / "bench" / f"bench_{stem}", Path("bench/goals") / f"{stem}.toml"
    for needed in (binary, goals_file):
        if not needed.exists():
            raise click.ClickException(f"{needed} is missing; `make bench STEM={stem}` builds what it needs")
    table = tomllib.loads(goals_file.read_text())
    selector: dict[str, Any] = table["quick"] if quick else {}
    selector |= dict(pair.split("=", 1) for pair in where)
    on_request = [] if everything else table.get("on_request", [])
    wanted = [
        (config, pattern)
        for config, pattern in list_configs(binary)
        if goals.selects(selector, config) and not goals.selects_any(on_request, config)
    ]
    if not wanted:
        raise click.ClickException(f"no configuration of {stem} matches {selector}")
    roles, goal_list = goals.load(goals_file)

    runs = 1 if quick else runs

    def repetitions_of(config: Config) -> int:
        ninths = 1 if goals.selects_any(table.get("on_request", []), config) else 2
        slow = goals.selects_any(table.get("slow", []), config)
        return max(1, repetitions * ninths // 9) if slow else repetitions

    started, (stolen, ticks) = monotonic(), environment.steal_ticks()
    columns = (TextColumn("bench {task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=runs * len(wanted))
        try:
            measured = measure(
                binary,
                wanted,
                runs=runs,
                repetitions=repetitions_of,
                done=lambda text: progress.update(task, advance=1, description=text),
            )
        except RuntimeError as error:
            raise click.ClickException(str(error)) from error
    stolen_after, ticks_after = environment.steal_ticks()
    verdicts = [v for v in (goals.judge(goal, roles, measured) for goal in goal_list) if v.of]
    if not quick:
        verdicts = [settled(v, roles, measured) for v in verdicts]

    show_configs(measured, roles)
    if verdicts:
        show_goals(verdicts)
    seconds, met = monotonic() - started, sum(v.is_met for v in verdicts)
    says = f"{len(measured)} configurations, {met} of {len(verdicts)} goals met"
    console.print(f"bench {stem}: {says}, {seconds:.0f} s")
    flags = BUILD / "bench" / "flags.txt"
    result = {
        "layer": "bench",
        "mode": "quick" if quick else "full",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "commit": environment.commit(),
        "cpu": environment.cpu(),
        "tools": {
            "gcc": environment.output("gcc", "--version"),
            "Google Benchmark": environment.output("pkg-config", "--modversion", "benchmark"),
        },
        "flags": flags.read_text().strip() if flags.exists() else "",
        "steal_percent": 100 * (stolen_after - stolen) / max(1, ticks_after - ticks),
        "runs": runs,
        "repetitions": repetitions,
        "stems": {stem: {"seconds": seconds, "passed": len(measured), "failed": 0, "skipped": 0, "says": says}},
        "items": [
            {"stem": stem, "name": " ".join(config.values()), "status": "passed"}
            | row(config, variant, times, goals.roles_of(roles, config))
            for config, times in measured
            for variant in times
        ],
        "goals": [asdict(v) | {"status": v.status, "is_met": v.is_met, "why": v.why} for v in verdicts],
    }
    (BUILD / "results").mkdir(parents=True, exist_ok=True)
    (BUILD / "results" / f"bench-{stem}.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

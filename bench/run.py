# SPDX-License-Identifier: PostgreSQL
"""Benchmarks of a stem: every configuration, every variant, held against `bench/STEM/goals.toml`.

    python -m bench.run STEM            all that floors and targets are about, three runs (about 7 minutes)
    python -m bench.run STEM --all      every configuration (up to 50 minutes)
    python -m bench.run STEM --quick    what the main job shows (about 15 seconds): ratios, nothing is judged

Writes build/results/bench/STEM.json. Exits 1 if a floor breaks or a benchmark fails.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import click
import numpy as np
import pgquern

from bench import goals, show
from bench.goals import Config, Goals, Roles, Standing, Times
from bench.measure import list_configs, measure, skipped
from tools.common import environment, progress, results
from tools.common.environment import pin

BUILD = Path("build/bench")
console = progress.console()

Measured = Sequence[tuple[Config, Times]]


def selection(stem: str, table: Goals, quick: bool, everything: bool, where: Sequence[str]) -> list[tuple[Config, str]]:
    """The configurations to measure, each with the pattern that picks its variants."""
    narrow = dict(pair.split("=", 1) for pair in where)
    wanted = [
        (config, pattern)
        for config, pattern in list_configs(BUILD / stem / "bench")
        if goals.selects(narrow, config)
        and (not quick or goals.selects_any(table.quick, config))
        and (everything or not goals.selects_any(table.on_request, config))
    ]
    if not wanted:
        raise click.ClickException(f"no configuration of {stem} matches {' '.join(where) or 'its selection'}")
    return wanted


def rounds_of(table: Goals, config: Config, rounds: int) -> int:
    """How many rounds a run of this configuration has."""
    if not goals.selects_any(table.slow, config):
        return rounds
    ninths = 1 if goals.selects_any(table.on_request, config) else 2
    return max(1, rounds * ninths // 9)


def item(config: Config, variant: str, times: Times, who: Roles) -> dict[str, Any]:
    """One measured (configuration, variant), as the results file has it. Times in nanoseconds."""
    low, median, high = (float(q) for q in np.percentile(times[variant], [25, 50, 75]))
    upstream = who.faster_upstream(times)
    found: dict[str, Any] = {"name": " ".join(config.values()), "status": "passed", "config": dict(config)}
    found |= {"variant": variant, "ns": median, "ns_quartiles": [low, high], "upstream": upstream}
    found["speedup"] = goals.paired_ratio(times[upstream], times[variant]).model_dump()
    if who.limit and who.limit in times:
        found["to_limit"] = goals.paired_ratio(times[variant], times[who.limit]).model_dump()
    return found


def skipped_variants(table: Goals, measured: Measured) -> list[str]:
    """The variants of ours that did not run in any of the configurations that they belong to."""
    named = {v for config, _ in measured for v in table.roles_of(config).ours}
    ran = {v for _, times in measured for v in times}
    everywhere = [v for roles in table.roles for v in roles.ours]
    return [v for v in dict.fromkeys(everywhere) if v in named - ran]


@contextmanager
def measuring(total: int) -> Iterator[Callable[[str], None]]:
    """A progress bar; yields what to call before each step."""
    with progress.bar(console) as bar:
        task = bar.add_task("", total=total)
        yield lambda text: bar.update(task, advance=1, description=f"bench {text}")


def floor_items(floors: Sequence[Standing]) -> list[dict[str, Any]]:
    """The floors as items of the result: a floor that breaks is a failure."""
    found = []
    for standing in floors:
        broken = [f for f in standing.found if f.breaks]
        name = f"floor: {standing.bound.title}, {standing.variant}"
        where = "; ".join(f"{f.ratio} in {' '.join(f.config.values())}" for f in broken)
        found.append({"name": name, "status": "failed" if broken else "passed", "reason": where})
    return found


def unnamed_items(stem: str, table: Goals, measured: Measured) -> list[dict[str, Any]]:
    """The measured variants of the stem's kinds of which goals.toml says nothing: no table shows them."""
    known = {v.variant for v in pgquern.all_variants() if v.kind.startswith(stem)}
    absent = sorted({v for _, times in measured for v in times if v in known} - table.names())
    reason = f"bench/{stem}/goals.toml says nothing of it: name it in `ours` and in a floor, or in `upstream`"
    return [{"name": f"variant {v}", "status": "failed", "reason": reason} for v in absent]


def judged(table: Goals, measured: Measured, quick: bool) -> tuple[list[Standing], list[Standing]]:
    """The floors and targets with their ratios; none for the quick selection, which measures other configurations."""
    if quick:
        return [], []
    floors = [s for bound in table.floor for s in goals.stand(bound, table, measured, is_floor=True)]
    targets = [s for bound in table.target for s in goals.stand(bound, table, measured, is_floor=False)]
    return floors, targets


def summary(measured: Measured, floors: Sequence[Standing], targets: Sequence[Standing]) -> str:
    """One line for people."""
    says = f"{len(measured)} configurations"
    if floors:
        held = sum(all(f.holds for f in s.found) for s in targets)
        broken = sum(any(f.breaks for f in s.found) for s in floors)
        says += f", {len(floors) - broken} of {len(floors)} floors kept, {held} of {len(targets)} targets reached"
    return says


def write(
    stem: str, table: Goals, measured: Measured, floors: Sequence[Standing], targets: Sequence[Standing], **more: Any
) -> results.Result:
    """build/results/bench/STEM.json."""
    absent = [skipped(v) for v in skipped_variants(table, measured)]
    return results.write(
        "bench",
        stem,
        [item(c, v, times, table.roles_of(c)) for c, times in measured for v in times]
        + absent
        + unnamed_items(stem, table, measured)
        + floor_items(floors),
        says=summary(measured, floors, targets),
        tools={
            "gcc": environment.first_line("gcc", "--version"),
            "Google Benchmark": environment.first_line("pkg-config", "--modversion", "benchmark"),
        },
        flags=(BUILD / "flags.txt").read_text().strip(),
        ran=list(dict.fromkeys(v for _, times in measured for v in times)),
        floors=[s.as_dict() for s in floors],
        targets=[s.as_dict() for s in targets],
        **more,
    )


@click.command()
@click.argument("stem")
@click.option("--quick", is_flag=True, help="Only the configurations that goals.toml names as `quick`; judges nothing.")
@click.option(
    "--all", "everything", is_flag=True, help="Also measure the configurations that goals.toml names as `on_request`."
)
@click.option("--runs", type=int, help="Separate processes a configuration (3; quick: 1).")
@click.option("--rounds", type=int, help="Rounds a process (9; quick: 5).")
@click.option("--where", "-w", multiple=True, metavar="KEY=VALUE", help="Narrow to matching configurations.")
def main(
    stem: str, quick: bool, everything: bool, runs: int | None, rounds: int | None, where: tuple[str, ...]
) -> None:
    """Measure the kernels of STEM against upstream's algorithms and the physical limit."""
    table = goals.load(Path("bench") / stem / "goals.toml")
    runs, per_run = runs or (1 if quick else 3), rounds or (5 if quick else 9)
    wanted = selection(stem, table, quick, everything, where)
    cpu = pin() if table.pinned else None
    started, (stolen, ticks) = monotonic(), environment.steal_ticks()
    with measuring(runs * len(wanted)) as step:
        measured = measure(
            BUILD / stem / "bench", wanted, runs=runs, rounds=lambda c: rounds_of(table, c, per_run), done=step
        )
    stolen_after, ticks_after = environment.steal_ticks()
    floors, targets = judged(table, measured, quick)
    result = write(
        stem,
        table,
        measured,
        floors,
        targets,
        seconds=monotonic() - started,
        mode="quick" if quick else "narrowed" if where else "full",
        pinned_to_cpu=cpu,
        steal_percent=100 * (stolen_after - stolen) / max(1, ticks_after - ticks),
        runs=runs,
        rounds=per_run,
    )
    show.configs(console, measured, table, intervals=not quick)
    if floors:
        show.standings(console, "floors: broken where the whole interval is worse than the bound", floors, "broken in")
    if targets:
        show.standings(console, "targets: hold where the unfavourable end of the interval does", targets, "holds in")
    for entry in result.items:
        if entry.status != "passed":
            console.print(f"{'SKIPPED' if entry.status == 'skipped' else 'BROKEN'} {entry.name}: {entry.reason}")
    console.print(f"bench {stem}: {result.says}, on {environment.cpus(cpu)}, {result.seconds:.0f} s")
    if result.status == "failed":
        raise SystemExit(1)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Recover one crash with every kernel, in turn and several times; write build/results/endtoend/compaction.json.

    python -m bench.compaction.endtoend.run [--updates 500000] [--repeat 3] [--build 13 ...]

Each repetition runs all kernels before the next one begins, and each begins with another kernel, so that slow drifts of
the machine affect all alike. `native` is the server's own function; it is listed twice, which shows the noise floor.
Ratios are of one round: native's startup CPU over the kernel's. Results of other numbers of updates and other builds
already in the file stay. About 9 minutes for 500,000 updates on four servers, 30 for 1,500,000, on a quiet machine.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import click
import pgquern.compaction
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from bench.compaction.endtoend.experiment import Recovery, crashed, recover
from bench.measure import skipped
from tests.postgres.server import BUILDS, DEBIAN, Build
from tools.common import environment, progress, results
from tools.common.environment import pin

STEM = "compaction"
BY_LABEL = {build.label: build for build in BUILDS}
DEFAULT_BUILDS = ("13", "14", "15", DEBIAN.label)
NATIVE, AGAIN = "native", "native again"
FASTEST = ("avx2", "avx512")
OURS = ("scalar", *FASTEST)
MEASURES = ("startup_cpu", "redo_cpu", "redo_elapsed", "vacuum")

Item = dict[str, Any]


def kernels() -> list[str]:
    """What is compared: the server's own function twice, then each variant that this CPU can run."""
    return [NATIVE, AGAIN, *(row.name for row in pgquern.compaction.variants() if row.supported)]


def in_words(value: dict[str, float], rounds: int) -> str:
    """The median and all rounds; of one round just its value."""
    median = f"{value['median']:.2f}"
    return median if rounds == 1 else f"{median} ({value['low']:.2f} to {value['high']:.2f})"


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(median(values), 4), "low": round(min(values), 4), "high": round(max(values), 4)}


def summary(build: Build, updates: int, kernel: str, runs: list[Recovery], native: list[Recovery]) -> Item:
    """One row of the result: medians, extremes, and ratios by round."""
    same = all(run.content == native[0].content for run in runs)
    item: Item = {
        "name": f"{build.label}, {updates:,} updates, {kernel}",
        "status": "passed" if same else "failed",
        "build": build.label,
        "version": build.version(),
        "commit": environment.commit(),
        "updates": updates,
        "kernel": kernel,
        "rounds": len(runs),
        "compacted": runs[0].compacted,
        "checksum": runs[0].content[1],
    }
    for measure in MEASURES:
        values = [getattr(run, measure) for run in runs]
        item[measure] = None if None in values else spread(values)
    item["speedup"] = spread([n.startup_cpu / run.startup_cpu for n, run in zip(native, runs, strict=True)])
    if not same:
        item["reason"] = "the table after recovery is not the one that the server's own function gives"
    return item


def measure(build: Build, updates: int, repeat: int, bar: Progress) -> list[Item]:
    """All kernels on one build."""
    names = kernels()
    task = bar.add_task(f"PostgreSQL {build.label}: workload", total=1 + repeat * len(names))
    runs: dict[str, list[Recovery]] = {name: [] for name in names}
    with crashed(build, updates) as crash:
        bar.advance(task)
        for turn in range(repeat):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                bar.update(task, description=f"PostgreSQL {build.label}: recovery with {name}")
                runs[name].append(recover(crash, None if name in (NATIVE, AGAIN) else name))
                bar.advance(task)
    bar.update(task, description=f"PostgreSQL {build.label}")
    return [summary(build, updates, name, runs[name], runs[NATIVE]) for name in names]


def targets(items: list[Item]) -> list[dict[str, Any]]:
    """Recovery with our fastest kernels at 500,000 updates: at least 3 times native 13, not above native 14 and 15.

    Holds when the ratio does, in every round.
    """
    found = []
    for item in items:
        if item["kernel"] not in FASTEST or item["updates"] != 500_000:
            continue
        least = 3.0 if item["build"] == "13" else 1.0
        found.append(
            {
                "title": f"startup CPU, {item['build']} native over {item['kernel']}",
                "at_least": least,
                **item["speedup"],
                "holds": item["speedup"]["low"] >= least,
            }
        )
    return found


def merged(new: list[Item]) -> list[Item]:
    """The new items, and those in the file, of the same commit, that they don't replace."""
    keys = {(item["build"], item["updates"]) for item in new}
    found = [entry for result in results.load(layer="endtoend", stem=STEM) for entry in result.items]
    old = [entry.model_dump() for entry in found if entry.status != "skipped"]
    kept = [item for item in old if item["commit"] == new[0]["commit"] and (item["build"], item["updates"]) not in keys]
    return sorted([*kept, *new], key=lambda item: (item["updates"], item["build"]))


def write(items: list[Item], seconds: float, cpu: int) -> None:
    """build/results/endtoend/compaction.json."""
    fastest = max((item for item in items if item["kernel"] in OURS), key=lambda item: item["speedup"]["median"])
    ratio, build = fastest["speedup"]["median"], fastest["build"]
    same = sum(item["status"] == "passed" for item in items)
    results.write(
        "endtoend",
        STEM,
        items + [skipped(row.name) for row in pgquern.compaction.variants() if not row.supported],
        says=f"recovery CPU of {build} down by {ratio:.1f}x at best, same table in {same} of {len(items)} cases",
        tools={f"PostgreSQL {item['build']}": item["version"] for item in items},
        seconds=seconds,
        pinned_to_cpu=cpu,
        targets=targets(items),
    )


def show(items: list[Item], console: Console) -> None:
    heads = ("server", "updates", "kernel", "startup CPU s", "native / kernel", "redo s", "VACUUM ms", "table")
    table = Table(*(Column(head, no_wrap=True) for head in heads), box=None)
    for item in items:
        cpu, ratio, redo, vacuum = (item[key] for key in ("startup_cpu", "speedup", "redo_elapsed", "vacuum"))
        table.add_row(
            item["build"],
            f"{item['updates']:,}",
            item["kernel"],
            in_words(cpu, item["rounds"]),
            in_words(ratio, item["rounds"]),
            f"{redo['median']:.2f}",
            f"{vacuum['median'] * 1000:.0f}",
            "same" if item["status"] == "passed" else "DIFFERS",
        )
    console.print(table)
    for target in targets(items):
        reached = 100 * target["median"] / target["at_least"]
        console.print(
            f"{target['title']}: {target['median']:.2f}, target {target['at_least']}, {reached:.0f} % reached"
        )


@click.command()
@click.option("--updates", default=500_000, show_default=True, help="Updates of a single row before the crash.")
@click.option("--repeat", default=3, show_default=True, help="Rounds.")
@click.option("--build", "labels", multiple=True, type=click.Choice(list(BY_LABEL)), default=DEFAULT_BUILDS)
def main(updates: int, repeat: int, labels: tuple[str, ...]) -> None:
    """Recover one crash with every kernel (about 9 minutes)."""
    console, cpu, began = progress.console(), pin(), time.monotonic()
    items: list[Item] = []
    with progress.bar(console) as bar:
        for label in labels:
            items += measure(BY_LABEL[label], updates, repeat, bar)
    everything = merged(items)
    write(everything, time.monotonic() - began, cpu)
    show(everything, console)
    if any(item["status"] == "failed" for item in items):
        raise SystemExit("a recovered table differs: see the rows above")


if __name__ == "__main__":
    main()

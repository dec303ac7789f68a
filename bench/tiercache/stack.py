# SPDX-License-Identifier: PostgreSQL
"""The file I/O stack of four parts, each alone and all together, beside the plain one: bench/tiercache/stack/.

    python -m bench.tiercache.stack         (about 4 minutes)

The plain stack has one lock for the file, takes requests in the order in which they come, and writes back page by page.
A stronger one leaves all to the kernel: its page cache, which holds the whole file, its locks, its scheduler. Only
configurations that protect pages in the same way can be compared: a crash may tear the pages of those that do not.

Each configuration runs on real files, and on a simulated volume (not that over the kernel's page cache: the simulation
lies above the kernel); the configurations take turns. Figures are medians of the rounds. Nothing is judged by the
clock; a run fails if a restart does not find all pages.
"""

import json
import subprocess
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import click
from rich import box
from rich.table import Table

from tools.common import progress, results

PROGRAM = Path("build/bench/tiercache/stack/stack")
FILES = Path("build/bench/tiercache/stack/files")
THREADS = 8
ALL = "rangelock,ioshares,tiercache"
Figures = dict[str, Any]


class Configuration(NamedTuple):
    """Which parts are in the place of the plain ones."""

    name: str
    parts: str
    protection: str

    def runs_on(self, device: str) -> bool:
        return self.parts != KERNEL or device == REAL


KERNEL = "kernel"
REAL = "real files"
CONFIGURATIONS = (
    Configuration("plain", "none", "none"),
    Configuration("kernel's page cache", KERNEL, "none"),
    Configuration("rangelock alone", "rangelock", "none"),
    Configuration("ioshares alone", "ioshares", "none"),
    Configuration("tiercache alone", "tiercache", "none"),
    Configuration("rangelock and ioshares", "rangelock,ioshares", "none"),
    Configuration("all but tornpage", ALL, "none"),
    Configuration("tornpage alone, images", "none", "images"),
    Configuration("kernel's page cache, images", KERNEL, "images"),
    Configuration("rangelock and ioshares, images", "rangelock,ioshares", "images"),
    Configuration("all four, images", ALL, "images"),
    Configuration("all four, double write", ALL, "double write"),
    Configuration("all four, atomic device", ALL, "atomic"),
)
"""First those that do not protect pages, then those that do."""
DEVICES = {REAL: str(FILES), "simulated volume": "volume"}


def run(configuration: Configuration, folder: str, seconds: float) -> Figures:
    """The figures of one run. ClickException: the program has failed."""
    command = [str(PROGRAM), configuration.parts, configuration.protection, folder, str(seconds), str(THREADS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"{configuration.name} failed: {done.stderr[-500:] or done.stdout[-200:]}")
    found: Figures = json.loads(done.stdout)
    return found


def summary(found: Figures) -> Figures:
    """What table and report show: latencies in ms, and counts for each 1000 transactions."""
    commits = found["commits"]["n"]
    store = found["store"]
    transactions = (found["reads"]["n"] + commits) / 1000
    written = {file: found[file]["bytes_written"] for file in ("store", "ssd", "log", "area")}
    return {
        "transactions_a_second": 1000 * transactions / found["seconds"],
        "read_p50_ms": found["reads"]["p50"] / 1000,
        "read_p99_ms": found["reads"]["p99"] / 1000,
        "read_p999_ms": found["reads"]["p999"] / 1000,
        "commit_p50_ms": found["commits"]["p50"] / 1000,
        "commit_p99_ms": found["commits"]["p99"] / 1000,
        "checkpoint_ms": found["checkpoint_ms"],
        "store_reads": store["reads"] / transactions,
        "store_writes": store["writes"] / transactions,
        "bytes_a_write": store["bytes_written"] / max(1, store["writes"]),
        "log_mb": written["log"] / 1e6 / transactions,
        "mb": sum(written.values()) / 1e6 / transactions,
    }


def over_rounds(runs: list[Figures]) -> Figures:
    """The medians, and under "range" the smallest and largest value of each number."""
    rounds = {key: [summary(found)[key] for found in runs] for key in summary(runs[0])}
    middle = {key: median(values) for key, values in rounds.items()}
    return middle | {"range": {key: [min(values), max(values)] for key, values in rounds.items()}}


def show(device: str, figures: dict[str, Figures]) -> None:
    table = Table(
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        title=f"{device}: {THREADS} threads beside checkpoints",
        title_justify="left",
    )
    table.add_column("parts", no_wrap=True)
    heads = ("a second", "read p99", "p99.9", "commit p50", "p99 ms", "checkpoint ms", "reads *", "writes *",
             "MB of log *", "MB *")  # fmt: skip
    for head in heads:
        table.add_column(head, justify="right")
    protected = 0
    for name, f in figures.items():
        if f["protection"] != "none" and protected == 0:
            table.add_section()
        protected += f["protection"] != "none"
        table.add_row(
            name, f"{f['transactions_a_second']:,.0f}", f"{f['read_p99_ms']:.2f}", f"{f['read_p999_ms']:.2f}",
            f"{f['commit_p50_ms']:.2f}", f"{f['commit_p99_ms']:.1f}", f"{f['checkpoint_ms']:.0f}",
            f"{f['store_reads']:.0f}", f"{f['store_writes']:.0f}",
            f"{f['log_mb']:.2f}", f"{f['mb']:.2f}",
        )  # fmt: skip
    progress.console().print(table)
    progress.console().print(
        "* for 1000 transactions: requests to the store; MB of store, SSD, log and double-write area"
    )


@click.command()
@click.option("--seconds", default=1.5, show_default=True, help="Seconds of each run that are measured.")
@click.option("--rounds", default=3, show_default=True, help="Runs of each configuration.")
@click.option("--check", is_flag=True, help="Only the whole stack, and no figures: each run must end as it must.")
def main(seconds: float, rounds: int, check: bool) -> None:
    """Run each configuration on each device, print the figures, and write them to build/results/stack/."""
    started = time.monotonic()
    FILES.mkdir(parents=True, exist_ok=True)
    runs: dict[tuple[str, str], list[Figures]] = {}
    chosen = [(device, one) for device in DEVICES for one in CONFIGURATIONS if one.runs_on(device)]
    if check:
        chosen = [(device, one) for device, one in chosen if one.parts == ALL]
    with progress.bar(progress.console()) as bar:
        task = bar.add_task("", total=rounds * len(chosen))
        for _ in range(rounds):
            for device, configuration in chosen:
                bar.update(task, advance=1, description=f"stack {configuration.name}, {device}")
                found = run(configuration, DEVICES[device], seconds)
                runs.setdefault((device, configuration.name), []).append(found)
    for path in FILES.iterdir():
        path.unlink()
    if check:
        done = f"a restart after each of {rounds * len(chosen)} runs found every page"
        progress.console().print(f"stack: {done}, {time.monotonic() - started:.0f} s")
        return
    protection = {configuration.name: configuration.protection for configuration in CONFIGURATIONS}
    figures = {
        (device, name): over_rounds(found) | {"protection": protection[name]} for (device, name), found in runs.items()
    }
    items = [
        {"name": f"{name}, {device}", "status": "passed", "device": device, "parts": name} | found
        for (device, name), found in figures.items()
    ]
    for device in DEVICES:
        show(device, {name: found for (where, name), found in figures.items() if where == device})
    says = f"{len(items)} configurations, and a restart after each of {rounds * len(items)} runs found every page"
    result = results.write(
        "stack", "tiercache", items, says=says, tools={}, seconds=time.monotonic() - started,
        threads=THREADS, rounds=rounds, measured_seconds=seconds,
    )  # fmt: skip
    progress.console().print(f"stack: {result.says}, {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

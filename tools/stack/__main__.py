# SPDX-License-Identifier: PostgreSQL
"""The file I/O stack of four parts, each alone and all together, beside the plain one: tools/stack/.

The plain stack has one lock for the file, takes requests in the order in which they come, and writes back page by page.
A stronger one leaves all to the kernel: its page cache, which holds the whole file, its locks, its scheduler. Only
configurations that protect pages in the same way can be compared: a crash may tear the pages of those that do not.

Each configuration runs on real files, and on a simulated volume (not that over the kernel's page cache: the simulation
lies above the kernel); the configurations take turns. Figures are medians of the rounds. Those that protect pages by
images run with other numbers of threads, too. Nothing is judged by the clock; a run fails if a restart does not find
all pages.
"""

import json
import subprocess
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import click
from rich import box
from rich.table import Table

from tools.common import progress, results
from tools.common.answer import json_option, print_json
from tools.common.options import Seconds

PROGRAM = Path("build/stack/stack")
FILES = Path("build/stack/files")
THREADS = 8
"""With which each configuration runs."""
SWEEP = (1, 4, 16, 64)
"""And with which those run that protect pages by images."""
ALL = "rangelock,ioshares,tiercache"
SHOWN_BY_THREADS = (
    ("transactions_a_second", "transactions a second", 0),
    ("commit_p99_ms", "99th percentile of a commit, ms", 1),
)
"""The figure, its name, digits behind the point."""
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
    Configuration("rangelock, images", "rangelock", "images"),
    Configuration("ioshares, images", "ioshares", "images"),
    Configuration("tiercache, images", "tiercache", "images"),
    Configuration("rangelock and ioshares, images", "rangelock,ioshares", "images"),
    Configuration("rangelock and tiercache, images", "rangelock,tiercache", "images"),
    Configuration("ioshares and tiercache, images", "ioshares,tiercache", "images"),
    Configuration("all four, images", ALL, "images"),
    Configuration("all four, double write", ALL, "double write"),
    Configuration("all four, atomic device", ALL, "atomic"),
)
"""First those that do not protect pages, then those that do."""
DEVICES = {REAL: str(FILES), "simulated volume": "volume"}


def run(configuration: Configuration, folder: str, seconds: float, threads: int) -> Figures:
    """The figures of one run. ClickException: the program has failed."""
    command = [str(PROGRAM), configuration.parts, configuration.protection, folder, str(seconds), str(threads)]
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
    if not transactions:
        raise click.ClickException("no transaction ended in the time that is measured: give more with --seconds")
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


def show_sweep(items: list[Figures]) -> None:
    """Transactions a second, and the 99th percentile of a commit, by the number of threads."""
    for device, (key, title, digits) in product(DEVICES, SHOWN_BY_THREADS):
        here = [item for item in items if item["device"] == device]
        numbers = sorted({item["threads"] for item in here})
        table = Table(
            "parts", *map(str, numbers), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False,
            title=f"{device}: {title}, by threads", title_justify="left",
        )  # fmt: skip
        for name in dict.fromkeys(item["parts"] for item in here):
            at = {item["threads"]: item[key] for item in here if item["parts"] == name}
            table.add_row(name, *(f"{at[n]:,.{digits}f}" for n in numbers))
        progress.console().print(table)


@click.command()
@click.option(
    "--seconds", type=Seconds(), default=1.5, show_default=True, help="Seconds of each run that are measured."
)
@click.option("--rounds", default=3, show_default=True, help="Runs of each configuration.")
@click.option("--threads", multiple=True, type=click.IntRange(1, 1024), default=SWEEP, show_default=True,
              help="Other numbers of threads, for those that protect pages by images.")  # fmt: skip
@click.option("--check", is_flag=True, help="Only the whole stack, and no figures: each run must end as it must.")
@json_option()
def main(seconds: float, rounds: int, threads: tuple[int, ...], check: bool, as_json: bool) -> None:
    """Run each configuration on each device, print the figures, and write them to build/results/stack/."""
    started = time.monotonic()
    FILES.mkdir(parents=True, exist_ok=True)
    runs: dict[tuple[str, str, int], list[Figures]] = {}
    both = [(device, one) for device in DEVICES for one in CONFIGURATIONS if one.runs_on(device)]
    chosen = [(device, one, THREADS) for device, one in both if not check or one.parts == ALL]
    if not check:
        others = sorted(set(threads) - {THREADS})
        chosen += [(device, one, n) for device, one in both if one.protection == "images" for n in others]
    with progress.bar(progress.console(stderr=as_json)) as bar:
        task = bar.add_task("", total=rounds * len(chosen))
        for _ in range(rounds):
            for device, configuration, n in chosen:
                bar.update(task, advance=1, description=f"stack {configuration.name}, {device}, {n} threads")
                found = run(configuration, DEVICES[device], seconds, n)
                runs.setdefault((device, configuration.name, n), []).append(found)
    for path in FILES.iterdir():
        path.unlink()
    if check:
        done = f"a restart after each of {rounds * len(chosen)} runs found every page"
        if as_json:
            print_json({"says": done, "runs": rounds * len(chosen), "seconds": round(time.monotonic() - started, 3)})
        else:
            progress.console().print(f"stack: {done}, {time.monotonic() - started:.0f} s")
        return
    protection = {configuration.name: configuration.protection for configuration in CONFIGURATIONS}
    items: list[Figures] = [
        {"name": f"{name}, {device}", "status": "passed", "device": device, "parts": name, "threads": n}
        | {"protection": protection[name]}
        | over_rounds(found)
        for (device, name, n), found in runs.items()
    ]
    ordinary = [item for item in items if item["threads"] == THREADS]
    sweep = [item for item in items if item["protection"] == "images"]
    says = f"{len(ordinary)} configurations, and a restart after each of {rounds * len(items)} runs found every page"
    result = results.write(
        "stack", "tiercache", ordinary, says=says, tools={}, seconds=time.monotonic() - started,
        threads=THREADS, rounds=rounds, measured_seconds=seconds, sweep=sweep,
    )  # fmt: skip
    if as_json:
        click.echo(result.model_dump_json(indent=1))
        return
    for device in DEVICES:
        show(device, {item["parts"]: item for item in ordinary if item["device"] == device})
    show_sweep(sweep)
    progress.console().print(f"stack: {result.says}, {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""The server's own PageRepairFragmentation and our kernels, timed in one process of that server, on the same pages.

    python -m bench.compaction.endtoend.beside [--build 15 ...] [--passes 9] [-w n=226 ...]

It takes the configurations of repair.cc in L2, its pages and its protocol (prb.c, prb_time). Unlike the benchmark it
measures the function as its users run it, compiled by its packager. Debian's 15 is built with -O2, as our kernels are.
The embedded servers are built with -Os, so their figures apply only to those builds. Writes
build/results/beside/compaction.json. About 3 minutes a server.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pgquern.compaction
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from bench import goals
from bench.compaction.pages import pool
from bench.measure import list_configs, skipped
from ref.compaction import VERSIONS
from tests.compaction.prb import Prb
from tests.postgres.server import BUILDS, DEBIAN, Build, Server
from tools.common import progress, results
from tools.common.environment import pin

BINARY = Path("build/bench/compaction/bench")
STEM = "compaction"
NATIVE = "native"
BY_LABEL = {build.label: build for build in BUILDS}


def optimisation(build: Build) -> str:
    return "-Os" if build.embedded else "-O2"


def kernels(build: Build) -> list[str]:
    """Native twice (the noise floor), then every variant that does what this server's function does."""
    order = VERSIONS[build.major].order.name
    rows = pgquern.compaction.variants()
    return [NATIVE, NATIVE, *(row.name for row in rows if row.supported and row.order.name == order)]


def measure(build: Build, configs: list[dict[str, str]], passes: int, console: Console) -> list[dict[str, Any]]:
    """A row a configuration and kernel: median nanoseconds a page, and native's time over the kernel's."""
    items = []
    with Server(build) as server, Prb(server) as prb:
        for config in track(configs, description=f"PostgreSQL {build.label}", console=console):
            times = prb.time(pool(config), kernels(build), passes)
            for kernel, ns in times.items():
                items.append(
                    {
                        "name": f"{build.label} " + " ".join(config.values()),
                        "status": "passed",
                        "config": {"server": build.label, **config},
                        "version": build.version(),
                        "optimisation": optimisation(build),
                        "variant": kernel,
                        "ns": round(float(np.median(ns)), 1),
                        "speedup": goals.paired_ratio(times[NATIVE], ns).model_dump(),
                    }
                )
    return items


def show(items: list[dict[str, Any]], console: Console) -> None:
    """A line a configuration: native's time, then how many times faster each kernel is."""
    for label in dict.fromkeys(item["config"]["server"] for item in items):
        rows: dict[str, list[dict[str, Any]]] = {}
        for item in items:
            if item["config"]["server"] == label:
                rows.setdefault(item["name"], []).append(item)
        names = [item["variant"] for item in next(iter(rows.values()))]
        heads = ("n", "len", "live", "order", "native ns", *names[1:])
        table = Table(*(Column(head, justify="right", no_wrap=True) for head in heads), box=None)
        for row in rows.values():
            config = row[0]["config"]
            faster = (f"{item['speedup']['median']:.2f}" for item in row[1:])
            table.add_row(*(config[key] for key in heads[:4]), f"{row[0]['ns']:.0f}", *faster)
        console.print(f"PostgreSQL {label} ({optimisation(BY_LABEL[label])}): native over kernel, by configuration")
        console.print(table)


@click.command()
@click.option("--build", "labels", multiple=True, type=click.Choice(list(BY_LABEL)), default=[DEBIAN.label])
@click.option("--passes", default=9, show_default=True, help="How often each kernel sees each of the 4096 pages.")
@click.option("--where", "-w", multiple=True, metavar="KEY=VALUE", help="Narrow to matching configurations.")
def main(labels: tuple[str, ...], passes: int, where: tuple[str, ...]) -> None:
    """Time the kernels beside a real server's own function (about 3 minutes a server)."""
    console, cpu = progress.console(), pin()
    began = time.monotonic()
    selector: dict[str, Any] = {"regime": "L2"} | dict(pair.split("=", 1) for pair in where)
    configs = [
        {key: value for key, value in config.items() if key != "regime"}
        for config, _ in list_configs(BINARY)
        if goals.selects(selector, config)
    ]
    if not configs:
        raise click.ClickException(f"no configuration matches {selector}")
    items = [item for label in labels for item in measure(BY_LABEL[label], configs, passes, console)]
    seconds = time.monotonic() - began
    results.write(
        "beside",
        STEM,
        items + [skipped(row.name) for row in pgquern.compaction.variants() if not row.supported],
        says=f"{len(configs)} configurations beside {', '.join(labels)}",
        tools={f"PostgreSQL {label}": BY_LABEL[label].version() for label in labels},
        seconds=seconds,
        pinned_to_cpu=cpu,
    )
    show(items, console)


if __name__ == "__main__":
    main()

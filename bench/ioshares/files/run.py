# SPDX-License-Identifier: PostgreSQL
"""The seed's mix on a real file: our scheduler, first come first served, and what the kernel itself offers.

    python -m bench.ioshares.files.run [--folder PATH] [--rounds N] [--ms N]

The device's capacity is found first, with reads and writes at each depth. The foreground then reads at random times, at
half of that, and at most 4,000 times a second: more would measure the CPUs. Beside it a checkpointer flushes 512 pages
twice a second, an autovacuum keeps 32 requests submitted, a fifth of them writes, and the writeback 32 writes. A round
runs every way once, in random order. Nothing is judged: the figures are a device's and a moment's. A read that returns
another page, or an I/O error, fails the run.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np
from rich.table import Table

from bench.ioshares.files import kernel
from bench.ioshares.files.kernel import BEST_EFFORT, IDLE, UnavailableError, ioprio
from bench.ioshares.files.mix import BACKEND, CLASSES, QUANTILES, SLOT_MS, Run, Target, Way, make_pages, run
from tools.common import environment, progress, results

NAMES = ("backend", "checkpointer", "autovacuum", "writeback")
SHARES = (500, 200, 200, 100)
PAGES = 65536
DEPTHS = (1, 2, 4, 8, 16, 32, 64)
BEHIND = {1: "bursts:512:500000000", 2: "backlog:32:2", 3: "backlog:32:10"}
ALL_BACKLOGGED = dict.fromkeys(range(CLASSES), "backlog:64:5")
MOST_READS = 4000
ENOUGH, HALF = 0.85, 0.5
"""The depth of a device is the least one that reaches so much of its best throughput; for low latencies, half of it."""


@dataclass(frozen=True)
class Device:
    """What was found out about a target: requests a second, how many in flight that takes, and their mean latency.

    latency_at_half: with so few in flight that it does half as many.
    """

    target: Target
    scheduler: str
    a_second: float
    depth: int
    latency: float
    latency_at_half: float

    @property
    def reads(self) -> int:
        """Of the foreground, a second."""
        return min(MOST_READS, round(self.a_second / 2))

    @property
    def mix(self) -> dict[int, str]:
        return {BACKEND: f"arrivals:{self.reads}", **BEHIND}


def above(latency: float) -> tuple[str, ...]:
    """Options of our schedulers: the limit falls above 1.1 times the latency."""
    return (f"target={round(1.1 * latency)}",)


@dataclass(frozen=True)
class Trial:
    """One line of the table. scheduler: the kernel's, for this trial."""

    name: str
    device: Device
    scheduler: str
    way: Way
    loads: Mapping[int, str]


def calibrate(target: Target, scheduler: str, ms: int) -> Device:
    """Half reads, half writes, at each depth."""
    found = [run(target, Way("fifo", (f"limit={d}",)), {BACKEND: f"backlog:{d}:5"}, ms, 1) for d in DEPTHS]
    speed = [r.a_second(BACKEND) for r in found]
    at, half = (next(i for i, n in enumerate(speed) if n >= part * max(speed)) for part in (ENOUGH, HALF))
    mean = [float(np.mean(r.latency(BACKEND))) for r in found]
    return Device(target, scheduler, speed[at], DEPTHS[at], mean[at], mean[half])


def of_ours(where: str, device: Device) -> list[Trial]:
    """Without a scheduler of ours, with each of ours, and with the same again to show the noise."""
    return [
        Trial(f"{where}: {name}", device, device.scheduler, way, loads)
        for name, way, loads in (
            ("alone", Way("none"), {BACKEND: device.mix[BACKEND]}),
            ("straight to the kernel", Way("none"), device.mix),
            ("fifo", Way("fifo", above(device.latency)), device.mix),
            ("sfq", Way("sfq", above(device.latency)), device.mix),
            ("sfq again", Way("sfq", above(device.latency)), device.mix),
            ("sfq, for latency", Way("sfq", above(device.latency_at_half)), device.mix),
            ("sfq, all backlogged", Way("sfq", above(device.latency)), ALL_BACKLOGGED),
        )
    ]


def kernel_ways(scheduler: str) -> dict[str, Way]:
    """What the kernel's scheduler can be told of a process. mq-deadline knows no levels: all but the backends are idle.

    BFQ turns levels into weights: those of 0, 5, 5 and 6 are 80, 30, 30 and 20, and nearest to the shares.
    """
    idle = {cls: (ioprio(IDLE, 0),) for cls in BEHIND}
    levels = {cls: (ioprio(BEST_EFFORT, level),) for cls, level in enumerate((0, 5, 5, 6))}
    known = {"mq-deadline": {"ioprio: background idle": idle}, "bfq": {"ioprio: levels by share": levels}}
    return {name: Way("none", (), places) for name, places in known.get(scheduler, {}).items()}


def skipped(name: str, reason: object) -> dict[str, Any]:
    return {"name": name, "status": "skipped", "reason": str(reason)}


def on_file(target: Target, ms: int) -> tuple[list[Trial], list[dict[str, Any]]]:
    """The trials on the file, and what is skipped."""
    queue = kernel.queue_of(target.path)
    scheduler = kernel.schedulers((queue / "scheduler").read_text())[0] if queue else "none"
    device = calibrate(target, scheduler, ms)
    told = [Trial(f"file: {name}", device, scheduler, w, device.mix) for name, w in kernel_ways(scheduler).items()]
    absent = skipped("file: ioprio", f"the device's scheduler, {scheduler}, has no priorities")
    return of_ours("file", device) + told, [] if told else [absent]


def on_loop(stack: ExitStack, target: Target, ms: int) -> tuple[list[Trial], list[dict[str, Any]]]:
    """The trials on a loop device over the file: ours alone, and BFQ alone. And what is skipped."""
    try:
        loop = stack.enter_context(kernel.loop_device(target.path))
        kernel.set_scheduler(loop, "none")
        device = calibrate(replace(target, path=loop), "none", ms)
        kernel.set_scheduler(loop, "bfq")
    except UnavailableError as error:
        return [], [skipped("loop: bfq", error)]
    trials = of_ours("loop", device)
    ways = {"told nothing": Way("none"), **kernel_ways("bfq")}
    trials += [Trial(f"loop: bfq, {name}", device, "bfq", way, device.mix) for name, way in ways.items()]
    try:
        places = stack.enter_context(kernel.weighted(SHARES))
    except UnavailableError as error:
        return trials, [skipped("loop: bfq, weights of cgroups", error)]
    way = Way("none", (), {cls: (place,) for cls, place in enumerate(places)})
    trials.append(Trial("loop: bfq, weights of cgroups", device, "bfq", way, device.mix))
    return [*trials, Trial("loop: bfq, weights, all backlogged", device, "bfq", way, ALL_BACKLOGGED)], []


def spread(values: list[float]) -> dict[str, float]:
    return {"median": float(np.median(values)), "low": min(values), "high": max(values)}


def share_error(found: Run) -> float:
    """The largest distance of a class's part of the service from its share, in percent."""
    served = [found.a_second(cls) for cls in range(CLASSES)]
    return 100 * max(abs(n / sum(served) * sum(SHARES) / share - 1) for n, share in zip(served, SHARES, strict=True))


def item(trial: Trial, runs: list[Run]) -> dict[str, Any]:
    """What the results have of a trial: figures with their spread over the rounds."""
    return {
        "name": trial.name,
        "status": "passed",
        "scheduler": trial.scheduler,
        "io": runs[0].way,
        "direct": runs[0].direct,
        "p50_us": spread([r.quantile(50) for r in runs]),
        "p99_us": spread([r.quantile(99) for r in runs]),
        "a_second": [spread([r.a_second(cls) for r in runs]) for cls in range(CLASSES)],
        "share_error": spread([share_error(r) for r in runs]) if trial.loads == ALL_BACKLOGGED else None,
    }


def curve(runs: list[Run]) -> dict[str, Any]:
    """What the report draws, of the round with the middle p99."""
    middle = sorted(runs, key=lambda r: r.quantile(99))[len(runs) // 2]
    edges = np.linspace(0, middle.ms / 1000, 26).tolist()
    return {
        "cdf": middle.quantiles(), "timeline": middle.timeline(), "edges": edges,
        "service": dict(zip(NAMES, middle.service(edges), strict=True)),
    }  # fmt: skip


def measure(trials: Sequence[Trial], rounds: int, ms: int) -> list[list[Run]]:
    """The runs of each trial: every trial once a round, in random order."""
    found: list[list[Run]] = [[] for _ in trials]
    with progress.bar(progress.console()) as bar:
        task = bar.add_task("", total=rounds * len(trials))
        for number in range(rounds):
            for i in Random(number).sample(range(len(trials)), len(trials)):
                trial = trials[i]
                bar.update(task, description=trial.name)
                if trial.device.target.path.is_block_device():
                    kernel.set_scheduler(trial.device.target.path, trial.scheduler)
                found[i].append(run(trial.device.target, trial.way, trial.loads, ms, number))
                bar.advance(task)
    return found


def shown(figure: Mapping[str, float]) -> str:
    """The median, and how far from it the rounds lie at most."""
    middle = figure["median"]
    away = max(figure["high"] - middle, middle - figure["low"])
    return f"{middle:,.0f} ±{100 * away / middle:.0f} %" if middle else "-"


def show(items: Sequence[Mapping[str, Any]], devices: Mapping[str, Device]) -> None:
    table = Table(title="foreground's latency in µs, and requests a second by class", title_justify="left")
    for head in ("", "p50", "p99", *NAMES):
        table.add_column(head, justify="right" if head else "left")
    for found in items:
        if found["status"] == "passed":
            table.add_row(found["name"], *map(shown, (found["p50_us"], found["p99_us"], *found["a_second"])))
    console = progress.console()
    console.print(table)
    for where, d in devices.items():
        console.print(
            f"{where}: {d.a_second:,.0f} requests a second at depth {d.depth}, {d.latency / 1000:,.0f} µs each, and "
            f"{d.latency_at_half / 1000:,.0f} µs at half of that; the kernel's scheduler is {d.scheduler}; "
            f"the foreground reads {d.reads:,} a second"
        )
    for found in items:
        if found["status"] == "skipped":
            console.print(f"[yellow]SKIPPED[/] {found['name']}: {found['reason']}")
        elif found["share_error"]:
            error = found["share_error"]
            console.print(f"{found['name']}: at most {error['median']:.1f} % away from the shares 500/200/200/100")


@click.command()
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), default=Path("build/bench/ioshares"))
@click.option("--rounds", default=5, show_default=True, help="How often each way runs.")
@click.option("--ms", default=2000, show_default=True, help="How long it runs each time.")
def main(folder: Path, rounds: int, ms: int) -> None:
    """Measure each way on a file in the folder, and on a loop device over it."""
    started, stolen = time.monotonic(), environment.steal_ticks()
    target = make_pages(folder / "pages", PAGES)
    with ExitStack() as stack:
        trials, absent = on_file(target, ms // 4)
        more, more_absent = on_loop(stack, target, ms // 4)
        trials, absent = trials + more, absent + more_absent
        runs = measure(trials, rounds, ms)
    items = [item(trial, of) for trial, of in zip(trials, runs, strict=True)] + absent
    devices = {trial.name.split(":")[0]: trial.device for trial in trials}
    show(items, devices)
    steal = [after - before for before, after in zip(stolen, environment.steal_ticks(), strict=True)]
    result = results.write(
        "workload", "ioshares", items, tools={}, seconds=time.monotonic() - started,
        says=f"{len(trials)} ways to share a real device, {rounds} rounds, {len(absent)} SKIPPED",
        devices={where: {"a_second": d.a_second, "depth": d.depth, "latency_us": d.latency / 1000, "reads": d.reads,
                         "scheduler": d.scheduler, "latency_at_half_us": d.latency_at_half / 1000}
                 for where, d in devices.items()},
        curves={trial.name: curve(of) for trial, of in zip(trials, runs, strict=True)},
        quantiles=QUANTILES, slot_seconds=SLOT_MS / 1000, rounds=rounds, ms=ms,
        steal_percent=100 * steal[0] / max(1, steal[1]),
    )  # fmt: skip
    progress.console().print(f"bench-shares: {result.says}, {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

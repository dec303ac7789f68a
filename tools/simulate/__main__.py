# SPDX-License-Identifier: PostgreSQL
"""The loads of the seed on a simulated device: the scheduler against first come, first served.

The foreground uses half of what the device can do; sweep.py then changes one thing at a time, and shows where the claim
ends, and adapts.py the device and the target of the latency. Prints each target and what is reached, and writes
build/results/simulation/ioshares.json. Exits 1 if a target is missed: no clock is read, so no machine is too slow.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from os import sched_getaffinity
from typing import Any

import click
import numpy as np
from rich.progress import Progress
from rich.table import Table

from tools.common import progress, results
from tools.common.answer import json_option
from tools.common.options import Seconds
from tools.simulate import adapts, sweep
from tools.simulate.device import (
    AUTOVACUUM,
    BACKEND,
    CHECKPOINTER,
    CLASSES,
    FOREGROUND,
    NAMES,
    SECOND,
    TRANSACTIONS,
    WRITEBACK,
    Backlog,
    Bursts,
    Load,
    Outcome,
    Simulation,
)

SEED = 3
SECONDS = 2.0
DEADLINE = 1_000_000.0
"""1 ms, four times the p99 of the foreground alone. The seed's is 100 ms, on slower storage."""

SATURATING = (Backlog(CHECKPOINTER, 256), Backlog(AUTOVACUUM, 256))
FLUSHES = Bursts(CHECKPOINTER, 512, SECOND)
AGGRESSIVE = Backlog(AUTOVACUUM, 64)
ALL_BACKLOGGED = tuple(Backlog(cls, 64) for cls in range(4))


@dataclass(frozen=True)
class Target:
    """A bound on a figure. seed: what the seed reports for its own system, to stand beside it."""

    work: str
    figure: str
    reached: float
    bound: float
    at_most: bool
    seed: str

    @property
    def holds(self) -> bool:
        return self.reached <= self.bound if self.at_most else self.reached >= self.bound


def outcome(loads: Sequence[Load], variant: str, seconds: float) -> Outcome:
    return Simulation(list(loads), variant, SEED).run(seconds)


def share_error(found: Outcome) -> float:
    """The largest relative distance of a class's part of the service from its share."""
    served = [len(found.at[cls]) for cls in range(4)]
    wanted = [c.share / sum(c.share for c in CLASSES) for c in CLASSES]
    return max(abs(n / sum(served) / part - 1) for n, part in zip(served, wanted, strict=True))


def simulations(seconds: float) -> dict[str, Callable[[], Outcome]]:
    """Each load under each scheduler, by a name for it; the longest first."""
    return {
        "flushes fifo": partial(outcome, [FOREGROUND, FLUSHES], "fifo", 3 * seconds),
        "flushes sfq": partial(outcome, [FOREGROUND, FLUSHES], "sfq", 3 * seconds),
        "alone": partial(outcome, [FOREGROUND], "sfq", seconds),
        "saturated fifo": partial(outcome, [FOREGROUND, *SATURATING], "fifo", seconds),
        "saturated sfq": partial(outcome, [FOREGROUND, *SATURATING], "sfq", seconds),
        "transactions alone": partial(outcome, [TRANSACTIONS], "sfq", seconds),
        "transactions fifo": partial(outcome, [TRANSACTIONS, AGGRESSIVE], "fifo", seconds),
        "transactions sfq": partial(outcome, [TRANSACTIONS, AGGRESSIVE], "sfq", seconds),
        "all backlogged": partial(outcome, ALL_BACKLOGGED, "sfq", seconds / 4),
    }


def all_done(
    loads: Mapping[str, Callable[[], Outcome]], runs: Sequence[sweep.Run], bar: Progress
) -> tuple[Any, Any, Any]:
    """The outcome of each load, the p99 of each run of the sweep, and the figures of devices."""
    with ProcessPoolExecutor(len(sched_getaffinity(0))) as pool, bar:
        tasks: dict[Any, str | sweep.Run | adapts.Run] = {pool.submit(load): name for name, load in loads.items()}
        tasks |= {pool.submit(run.p99): run for run in runs}
        tasks |= {pool.submit(run.figures): run for run in adapts.runs()}
        for _ in bar.track(as_completed(tasks), total=len(tasks), description="simulated runs"):
            pass
        found = {name: task.result() for task, name in tasks.items()}
    return (
        {name: found[name] for name in loads},
        {run: found[run] for run in runs},
        {run: found[run] for run in adapts.runs()},
    )


def targets(found: dict[str, Outcome]) -> list[Target]:
    """Each target, and what is reached."""
    alone = found["alone"].p99()
    without = found["transactions alone"].a_second()
    late, ours = found["flushes fifo"].late(DEADLINE), found["flushes sfq"].late(DEADLINE)
    # None late counts as half of one.
    rarer = late / max(ours, 0.5 / len(found["flushes sfq"].at[BACKEND]))
    p99 = "foreground p99 beside a saturating checkpointer and autovacuum"
    vacuum = "foreground throughput beside an aggressive autovacuum"
    return [
        Target(p99, "sfq, times alone", found["saturated sfq"].p99() / alone, 1.5, True, "5.77 ms"),
        Target(p99, "fifo, times sfq", found["saturated fifo"].p99() / found["saturated sfq"].p99(), 5, False,
               "31.37 ms tuned"),
        Target(vacuum, "sfq, part of alone", found["transactions sfq"].a_second() / without, 0.8, False,
               "12,561 of 13,868"),
        Target(vacuum, "fifo, part of alone", found["transactions fifo"].a_second() / without, 0.5, True,
               "4,483 of 13,868"),
        Target("foreground over the deadline, beside flushes", "sfq, times rarer than fifo", rarer, 50, False,
               "0.14 % to 0.002 %"),
        Target("service by share, all backlogged", "largest error, %", 100 * share_error(found["all backlogged"]), 2,
               True, "500/200/200/100"),
    ]  # fmt: skip


def within(swept: Mapping[str, Sequence[sweep.Found]]) -> list[Target]:
    """The claim at each point for which it is made: the worst of each axis."""
    claims = {title: [found for found in points if found.claimed] for title, points in swept.items()}
    return [
        Target(f"{title}: {sweep.ends(points)}", figure, reached, bound, at_most, "-")
        for title, points in claims.items()
        for figure, reached, bound, at_most in (
            ("sfq, times alone", max(p.times_alone for p in points), sweep.AT_MOST, True),
            ("fifo, times sfq", min(p.below_fifo for p in points), sweep.AT_LEAST, False),
        )
    ]


def adapted(found: Sequence[adapts.Found]) -> list[Target]:
    """On each device, whatever the target: the worst of the sweep against its best."""
    return [
        Target(f"any target of the latency, device: {f.device}", figure, reached, bound, at_most, "-")
        for f in found
        for figure, reached, bound, at_most in (
            ("background, part of the best", f.background, adapts.AT_LEAST, False),
            ("foreground p99, times the best", f.p99, adapts.AT_MOST, True),
        )
    ]


def curves(found: dict[str, Outcome]) -> dict[str, Any]:
    """What the report draws: quantiles of latencies, p99 over time, and service over time."""
    quantiles = [*np.linspace(0, 99, 100), 99.5, 99.9, 99.99, 100]
    cdf = {
        name: [float(x) / 1000 for x in np.percentile(found[name].latency[BACKEND], quantiles)]
        for name in ("alone", "saturated fifo", "saturated sfq")
    }
    step = SECOND / 50
    timeline = {}
    for name in ("flushes fifo", "flushes sfq"):
        slot = (found[name].at[BACKEND] // step).astype(int)
        latency = found[name].latency[BACKEND]
        timeline[name] = [
            float(np.percentile(latency[slot == i], 99)) / 1000 for i in range(slot.max() + 1) if (slot == i).any()
        ]
    whole = found["all backlogged"]
    edges = np.linspace(0, whole.seconds * SECOND, 26)
    service = {NAMES[cls]: np.searchsorted(whole.at[cls], edges).tolist() for cls in range(4)}
    return {
        "quantiles": quantiles, "cdf": cdf, "timeline_seconds": step / SECOND, "timeline": timeline,
        "edges": (edges / SECOND).tolist(), "service": service,
    }  # fmt: skip


def show(reached: Sequence[Target]) -> None:
    table = Table(title="simulated device, foreground at half of its capacity unless said", title_justify="left")
    for head in ("work", "figure", "reached", "target", "the seed's own"):
        table.add_column(head, justify="right" if head in ("reached", "target") else "left")
    for t in reached:
        bound = f"{'≤' if t.at_most else '≥'} {t.bound:g}"
        table.add_row(t.work, t.figure, f"{'' if t.holds else '[red]'}{t.reached:,.2f}", bound, t.seed)
    progress.console().print(table)


def show_ends(swept: Mapping[str, Sequence[sweep.Found]]) -> None:
    """Each axis, and where the claim does not hold."""
    table = Table(title="p99: sfq, times alone/fifo, times sfq; a star: not as claimed", title_justify="left")
    table.add_column("one thing changed")
    table.add_column("its value: the two figures")
    for title, points in swept.items():
        cells = (f"{p.value:g}:{p.times_alone:.2f}/{p.below_fifo:.2f}{'' if p.holds else '*'}" for p in points)
        table.add_row(title, "  ".join(cells))
    progress.console().print(table)


@click.command()
@click.option(
    "--seconds", type=Seconds(), default=SECONDS, show_default=True, help="How long most loads run, in simulated time."
)
@json_option()
def main(seconds: float, as_json: bool) -> None:
    """Simulate each load under both schedulers, and hold the figures against the targets."""
    started = time.monotonic()
    found, p99, figures = all_done(simulations(seconds), sweep.runs(), progress.bar(progress.console(stderr=as_json)))
    swept = sweep.sweep(p99)
    reached = targets(found) + within(swept) + adapted(adapts.found(figures))
    items = [
        {"name": f"{t.work}: {t.figure}", "status": "passed" if t.holds else "failed"} | asdict(t) for t in reached
    ]
    summary = {
        name: {
            "p99_us": o.p99(), "a_second": o.a_second(), "late": o.late(DEADLINE),
            "limits": [min(o.limits), float(np.mean(o.limits)), max(o.limits)],
        }
        for name, o in found.items() if len(o.at[BACKEND])
    }  # fmt: skip
    missed = sum(not t.holds for t in reached)
    result = results.write(
        "simulation", "ioshares", items,
        says=f"{len(reached) - missed} of {len(reached)} targets hold on the simulated device",
        tools={}, seconds=time.monotonic() - started, outcomes=summary, curves=curves(found), sweep=sweep.curves(swept),
        devices=adapts.curves(figures),
        seed=SEED, shares=[c.share for c in CLASSES], writeback=WRITEBACK,
    )  # fmt: skip
    if as_json:
        click.echo(result.model_dump_json(indent=1))
        raise SystemExit(missed > 0)
    show(reached)
    show_ends(swept)
    progress.console().print(f"simulation ioshares: {result.says}, {result.seconds:.0f} s")
    raise SystemExit(missed > 0)


if __name__ == "__main__":
    main()

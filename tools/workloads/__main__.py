# SPDX-License-Identifier: PostgreSQL
"""The mailing list's two workloads as commit streams through the snapshot builder, upstream's algorithms against ours.

MIXED: 100 clients, every other transaction creates a table that it drops on commit: it changes catalogs, so that its
XID is tracked and a snapshot built. CONTROL: 100 clients that only insert: nothing is tracked. 40 seconds of each, at
the commit rates that were reported; a running-xacts record every 15 seconds, as the background writer logs them,
purges.

Only the builder's own work is timed: insertion, snapshots, purges, in the C library. Snapshots, of which upstream's
take milliseconds, are timed at every so many commits, and the sum scaled up. `implied` is the number of transactions a
second that a decoder would reach in the first 40 seconds, if the rest of its work on each transaction took as long as
the patched decoder of the report took in all. It is a model, not a measurement of a server.

In a whole server on other workloads the purge is at most 3 % of decoding. The effect seen here is that of the sort.
"""

import heapq
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import click
from _pgquern import ffi, lib
from pgquern.snapbuild import variants
from rich.table import Table

from tools.common import progress, results
from tools.common.answer import json_option
from tools.common.environment import pin
from tools.common.options import Seconds

CLIENTS = 100
SECONDS = 40.0
RECORD_INTERVAL = 15.0  # LOG_SNAPSHOT_INTERVAL_MS of the background writer
FIRST_XID = 2**32 - 100_000  # so that the wrap is crossed on the way


@dataclass(frozen=True)
class Workload:
    """ddl: the share of transactions that change catalogs. Rates are those of the report, in transactions a second."""

    name: str
    ddl: float
    commits: float
    decoded_baseline: float
    decoded_patched: float

    def reported(self, builder: str) -> float:
        """What was decoded a second with this builder."""
        return self.decoded_baseline if builder == "upstream" else self.decoded_patched


WORKLOADS = (Workload("MIXED", 0.5, 7845.82, 750.10, 2440.03), Workload("CONTROL", 0.0, 6756.80, 3373.28, 3316.15))


@dataclass(frozen=True)
class Choice:
    """One choice of variants, and how many commits share a timed snapshot."""

    name: str
    insert: str
    snapshot: str
    purge_kind: str
    purge: str
    every: int


PATHS = (
    Choice("upstream", "append", "upstream", "purge", "upstream", 200),
    Choice("sorted", "sorted_after_consistent", "sorted", "purge_sorted", "scalar", 5),
)


def normal(xid: int) -> int:
    return max(xid % 2**32, 3)


def stream(workload: Workload, seconds: float) -> Iterator[tuple[str, int, bool]]:
    """('commit', XID, changes catalogs?) in commit order; ('record', oldest running XID, False) between them."""
    rng, ids = Random(1), count()
    mean = CLIENTS / workload.commits
    running = [(rng.expovariate(1 / mean), next(ids)) for _ in range(CLIENTS)]
    heapq.heapify(running)
    next_record = RECORD_INTERVAL
    while running[0][0] < seconds:
        now, i = running[0]
        if now >= next_record:
            yield "record", normal(FIRST_XID + min(j for _, j in running)), False
            next_record += RECORD_INTERVAL
        yield "commit", normal(FIRST_XID + i), rng.random() < workload.ddl
        heapq.heapreplace(running, (now + rng.expovariate(1 / mean), next(ids)))


def function(kind: str, name: str) -> Any:
    names = [v.name for v in variants(kind)]
    return getattr(lib, f"pgq_snapbuild_{kind}_variants")[names.index(name)].fn


def call_cost() -> float:
    """Nanoseconds that the timing of a call into the library itself takes. They are subtracted."""
    costs = sorted(timed(lambda: lib.pgq_snapbuild_known_assigned_search(ffi.NULL, 3)) for _ in range(20_000))
    return float(costs[len(costs) // 2])


def timed(call: Callable[[], Any]) -> int:
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def run(workload: Workload, path: Choice, seconds: float, overhead: float) -> dict[str, Any]:
    """One pass of the stream. Times in seconds; `curve`: commits so far, XIDs held, microseconds a tracked commit."""
    insert, snapshot = function("insert", path.insert), function("snapshot", path.snapshot)
    purge = function(path.purge_kind, path.purge)
    space = int(seconds * workload.commits) + 1000
    memory, copy, batch = ffi.new("uint32_t[]", space), ffi.new("uint32_t[]", space), ffi.new("uint32_t[1]")
    committed = ffi.new("pgq_snapbuild_committed *", {"xip": memory, "xcnt_space": space, "sorted": True})
    spent = {"insert": 0.0, "snapshot": 0.0, "purge": 0.0}
    commits = tracked = purges = 0
    curve: list[tuple[int, int, float]] = []
    inserted = built = elapsed = 0.0
    decoded, rest = 0, 1 / workload.decoded_patched
    for what, xid, ddl in stream(workload, seconds):
        if what == "record":
            spent["purge"] += max(0.0, timed(lambda x=xid: purge(committed, x)) - overhead)  # type: ignore[misc]
            purges += 1
            continue
        commits += 1
        elapsed += rest + (inserted + built) / 1e9 * ddl
        decoded += elapsed <= seconds
        if not ddl:
            continue
        batch[0] = xid
        inserted = max(0.0, timed(lambda: insert(committed, batch, 1, True)) - overhead)
        spent["insert"] += inserted
        if tracked % path.every == 0:
            # The middle of three: a time slice lost to another process would be scaled up with the rest.
            built = max(0.0, sorted(timed(lambda: snapshot(committed, copy, space)) for _ in range(3))[1] - overhead)
            spent["snapshot"] += built * path.every
            if tracked % 1000 == 0:
                curve.append((commits, committed.xcnt, (inserted + built) / 1000))
        tracked += 1
    total = sum(spent.values()) / 1e9
    return {
        "commits": commits,
        "tracked": tracked,
        "purges": purges,
        "spent": {part: ns / 1e9 for part, ns in spent.items()} | {"all": total},
        "microseconds_a_transaction": 1e6 * total / commits,
        "implied_txns_per_second": decoded / seconds,
        "curve": curve,
    }


def show(found: dict[str, dict[str, dict[str, Any]]]) -> None:
    """A line for each workload and builder."""
    table = Table(title="the builder alone; implied: with the rest of decoding as in the report", title_justify="left")
    for head in ("workload", "builder", "commits", "tracked", "µs a transaction", "implied txns/s", "reported txns/s"):
        table.add_column(head, justify="left" if head in ("workload", "builder") else "right")
    for workload in WORKLOADS:
        for path in PATHS:
            r = found[workload.name][path.name]
            reported = workload.reported(path.name)
            numbers = (f"{r['commits']:,}", f"{r['tracked']:,}", f"{r['microseconds_a_transaction']:,.2f}")
            table.add_row(
                workload.name, path.name, *numbers, f"{r['implied_txns_per_second']:,.0f}", f"{reported:,.0f}"
            )
    progress.console().print(table)


@click.command()
@click.option(
    "--seconds",
    type=Seconds(),
    default=SECONDS,
    show_default=True,
    help="How long each workload runs, in simulated time.",
)
@json_option()
def main(seconds: float, as_json: bool) -> None:
    """Simulate MIXED and CONTROL through the builder, upstream's way and ours."""
    cpu, started, overhead = pin(), time.monotonic(), call_cost()
    found: dict[str, dict[str, dict[str, Any]]] = {}
    with progress.bar(progress.console(stderr=as_json)) as bar:
        task = bar.add_task("workloads", total=len(WORKLOADS) * len(PATHS))
        for workload in WORKLOADS:
            found[workload.name] = {}
            for path in PATHS:
                found[workload.name][path.name] = run(workload, path, seconds, overhead)
                bar.advance(task)
    ours, theirs = (found["MIXED"][name]["microseconds_a_transaction"] for name in ("sorted", "upstream"))
    result = results.write(
        "workload",
        "snapbuild",
        [
            {"name": f"{workload.name} {builder}", "status": "passed", "workload": workload.name, "builder": builder}
            | {"reported_txns_per_second": workload.reported(builder)}
            | r
            for workload in WORKLOADS
            for builder, r in found[workload.name].items()
        ],
        says=f"MIXED: {theirs:,.0f} µs a transaction in upstream's builder, {ours:,.1f} in ours",
        tools={},
        seconds=time.monotonic() - started,
        pinned_to_cpu=cpu,
    )
    if as_json:
        click.echo(result.model_dump_json(indent=1))
        return
    show(found)
    progress.console().print(f"workloads snapbuild: {result.says}, on CPU {cpu}, {result.seconds:.0f} s")


if __name__ == "__main__":
    main()

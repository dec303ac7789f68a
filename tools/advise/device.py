# SPDX-License-Identifier: PostgreSQL
"""A device and a recovery in simulated time, and the lag of a standby while its concurrency is changed.

The device serves so many I/Os side by side, first come first served; service times are random, with a seed. The
definition in ref/prefetch.py decides what is advised and when. Nothing here looks at a clock: the same arguments give
the same result everywhere.

    pgquern lag --picture lag.png
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from math import inf
from pathlib import Path
from random import Random
from typing import BinaryIO

import click

from ref.prefetch import BlockReference, Prefetcher, Record, Relation
from tools.common import picture as pictures
from tools.common.answer import json_option, print_json

Page = tuple[Relation, int]
CPU = 20e-6
"""Seconds to replay a record whose pages are in buffers."""
ADVISE = 2e-6
"""Seconds of a call of posix_fadvise."""


@dataclass
class Device:
    """`channels` I/Os at once; each takes `service` seconds, give or take `spread` of it."""

    channels: int
    service: float
    spread: float = 0.3
    seed: int = 1

    def __post_init__(self) -> None:
        if self.channels < 1 or not 0 < self.service < inf or not 0 <= self.spread < 1:
            raise ValueError("a device needs a channel, a service time above 0, and a spread from 0 to below 1")
        self._random = Random(self.seed)
        self._free = [0.0] * self.channels
        heapify(self._free)

    def submit(self, now: float) -> float:
        """When an I/O that is submitted now is complete."""
        begin = max(now, self._free[0])
        end = begin + self.service * (1 + self.spread * self._random.uniform(-1, 1))
        heapreplace(self._free, end)
        return end


@dataclass
class Sample:
    """After a record: the time, how old its WAL is by then, and how many I/Os are in flight."""

    time: float
    lag: float
    depth: int


@dataclass
class Recovery:
    """A Wal and a Storage in simulated time. arrivals: when each record can be read. is_cached, length: of a page and
    of a relation, now; replayed: called with each record when it has been replayed."""

    records: Sequence[Record]
    arrivals: Sequence[float]
    device: Device
    is_cached: Callable[[Page], bool] = lambda page: False
    length: Callable[[Relation], int | None] = lambda relation: 1 << 32
    reads: Callable[[Record], Sequence[Page]] = lambda record: [(r.relation, r.block) for r in record.blocks]
    """The pages of a record that replay must read, as things are then."""
    replayed: Callable[[Record], None] = lambda record: None
    cpu: float = CPU
    now: float = 0.0
    decoded: int = 0
    under_way: dict[Page, float] = field(default_factory=dict)
    """When the I/O of an advised page is complete."""

    def read_ahead(self, queued: int, *, nonblocking: bool) -> Record | None:
        if self.decoded == len(self.records):
            return None
        arrival = self.arrivals[self.decoded]
        if arrival > self.now:
            if nonblocking:
                return None
            self.now = arrival
        self.decoded += 1
        return self.records[self.decoded - 1]

    def exists(self, relation: Relation) -> bool:
        return self.length(relation) is not None

    def blocks(self, relation: Relation) -> int:
        return self.length(relation) or 0

    def buffer(self, relation: Relation, block: int) -> int | None:
        """A page that is in no buffer is advised at once."""
        page = (relation, block)
        if self.is_cached(page):
            return 0
        self.now += ADVISE
        self.under_way[page] = self.device.submit(self.now)
        return None

    def replay(self, record: Record) -> None:
        """Read what is not in buffers: a page that was advised may be there sooner."""
        for page in self.reads(record):
            complete = self.under_way.pop(page, None)
            self.now = max(self.now, self.device.submit(self.now) if complete is None else complete)
        self.now += self.cpu
        self.replayed(record)


def simulate(recovery: Recovery, concurrency: Callable[[float], int]) -> tuple[list[Sample], Prefetcher]:
    """Replay all records. concurrency: maintenance_io_concurrency at a time."""
    current = concurrency(0.0)
    prefetcher = Prefetcher(recovery, recovery, current, recovery.records[0].lsn)
    samples = []
    for number in range(len(recovery.records)):
        if concurrency(recovery.now) != current:
            current = concurrency(recovery.now)
            prefetcher.reconfigure(current)
        record = prefetcher.read_record()
        assert record is not None
        recovery.replay(record)
        samples.append(Sample(recovery.now, recovery.now - recovery.arrivals[number], prefetcher.ring.inflight))
    return samples, prefetcher


# ---- the lag of a standby ------------------------------------------------------------------------

STEPS = (0, 10, 32, 24, 16, 10)
"""maintenance_io_concurrency, step by step."""
STEP_SECONDS = 10.0
RATE = 1200.0
"""Records a second, each of a cold block: more than ten I/Os at once can bring, less than sixteen."""
SERVICE = 0.01
CHANNELS = 64


def lag_figure(seed: int = 1) -> list[Sample]:
    """A primary that writes at a fixed rate, and a standby whose concurrency is changed while it follows."""
    relation, count = Relation(1663, 5, 16384), int(RATE * STEP_SECONDS * len(STEPS))
    records = [Record(i + 1, i + 2, (BlockReference(relation, i),) if i else ()) for i in range(count)]
    arrivals = [i / RATE for i in range(count)]
    recovery = Recovery(records, arrivals, Device(CHANNELS, SERVICE, seed=seed))
    samples, _ = simulate(recovery, lambda now: STEPS[min(int(now / STEP_SECONDS), len(STEPS) - 1)])
    return [sample for sample in samples if sample.time < STEP_SECONDS * len(STEPS)]


def draw(samples: Sequence[Sample], kind: str, file: BinaryIO) -> None:
    """Lag over time, above the concurrency."""
    pyplot = pictures.pyplot()
    figure, axes = pyplot.subplots(figsize=(9, 4), layout="constrained")
    axes.plot([s.time for s in samples], [s.lag for s in samples], color="tab:purple", label="lag, s")
    axes.set(xlabel="simulated time, s", ylabel="lag, s", title="Replay lag while the concurrency changes (simulated)")
    right = axes.twinx()
    edges = [step * STEP_SECONDS for step in range(len(STEPS) + 1)]
    right.step(edges, [*STEPS, STEPS[-1]], where="post", color="tab:green", linestyle=":", label="concurrency")
    right.plot(
        [s.time for s in samples[::200]], [s.depth for s in samples[::200]], ".", markersize=2, label="in flight"
    )
    right.set(ylabel="maintenance_io_concurrency", ylim=(0, 40))
    figure.legend(loc="outside lower center", ncols=3)
    figure.savefig(file, format=kind, dpi=110)
    pyplot.close(figure)


@click.command(help=__doc__)
@pictures.option("Where the lag is drawn.", Path("build/advise/lag.png"))
@click.option("--seed", default=1, show_default=True, help="Of the times that the device takes.")
@json_option()
def main(picture: Path, seed: int, as_json: bool) -> None:
    """Draw the lag, and print it at the end of each step."""
    samples = lag_figure(seed)
    ends = [[sample for sample in samples if sample.time < (step + 1) * STEP_SECONDS][-1] for step in range(len(STEPS))]
    if not as_json:
        for last, concurrency in zip(ends, STEPS, strict=True):
            click.echo(f"{last.time:6.1f} s, concurrency {concurrency:2}: lag {last.lag:6.2f} s")
    drawing = pictures.save(picture, lambda file: draw(samples, picture.suffix[1:], file))
    if as_json:
        steps = [
            {"seconds": last.time, "concurrency": concurrency, "lag_seconds": last.lag}
            for concurrency, last in zip(STEPS, ends, strict=True)
        ]
        print_json({"seed": seed, "steps": steps, "picture": drawing})
    elif drawing:
        click.echo(f"picture: {drawing}")


if __name__ == "__main__":
    main()

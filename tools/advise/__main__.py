# SPDX-License-Identifier: PostgreSQL
"""What recovery prefetching would do with your WAL, for each concurrency, on a simulated device.

Give what pg_waldump prints. The definition in ref/prefetch.py runs over its records, with an empty buffer pool of least
recently used pages; the device is simulated. Relations that the WAL does not create are taken to be long enough. WAL
arrives as its commits say, if it spans more than a second; otherwise all at once. So the table compares concurrencies;
it does not foretell seconds of your hardware, unless --channels and --service are those of your device.
"""

import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.table import Table

from ref.prefetch import COUNTERS, MAIN_FORK, Effect, Record, Relation
from tools.advise.device import Device, Recovery, simulate
from tools.common import picture as pictures
from tools.common.answer import json_option, print_json
from tools.trace.listing import Listed, ListingError, Replay, read_listing

Page = tuple[Relation, int]
CONCURRENCIES = (0, 1, 2, 4, 8, 10, 16, 32, 64, 128, 256)
LONG = 1 << 32


@dataclass
class Pool:
    """What the files and the buffers hold, as the WAL goes on. capacity: pages."""

    listed: dict[int, Listed]
    capacity: int
    pages: OrderedDict[Page, None] = field(default_factory=OrderedDict)
    lengths: dict[Relation, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for listed in self.listed.values():
            if listed.record.effect is Effect.CREATE:
                self.lengths[listed.record.relation] = None

    def is_cached(self, page: Page) -> bool:
        return page in self.pages

    def length(self, relation: Relation) -> int | None:
        return self.lengths.get(relation, LONG)

    def reads(self, record: Record) -> list[Page]:
        """Pages that replay reads from files."""
        needed = self.by_replay(record, Replay.READ)
        return [page for page in needed if page not in self.pages and page[1] < (self.length(page[0]) or 0)]

    def by_replay(self, record: Record, how: Replay) -> list[Page]:
        replays = self.listed[record.lsn].replays
        pairs = zip(record.blocks, replays, strict=True)
        return [(r.relation, r.block) for r, replay in pairs if r.fork == MAIN_FORK and replay is how]

    def replayed(self, record: Record) -> None:
        """Effects, lengths, and which pages are in buffers now."""
        if record.effect is Effect.CREATE:
            self.lengths[record.relation] = self.length(record.relation) or 0
        elif record.effect is Effect.TRUNCATE:
            self.cut(record.relation, record.block)
        for relation, block in self.by_replay(record, Replay.INIT):
            self.lengths[relation] = max(self.length(relation) or 0, block + 1)
            self.load((relation, block))
        for page in self.by_replay(record, Replay.READ):
            if page[1] < (self.length(page[0]) or 0):
                self.load(page)
        for relation in self.listed[record.lsn].drops:
            self.cut(relation, 0)
            self.lengths[relation] = None

    def load(self, page: Page) -> None:
        self.pages[page] = None
        self.pages.move_to_end(page)
        if len(self.pages) > self.capacity:
            self.pages.popitem(last=False)

    def cut(self, relation: Relation, length: int) -> None:
        for page in [page for page in self.pages if page[0] == relation and page[1] >= length]:
            del self.pages[page]
        self.lengths[relation] = min(length, self.length(relation) or 0)


def seconds(time: str) -> float:
    """Since 1970. ListingError: there is no such time."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError) as error:
        raise ListingError(f"a commit's time is {time}, which there is not: {error}") from error


def arrivals(records: Sequence[Listed]) -> list[float]:
    """When each record arrives, in seconds from the first commit on: between commits in step with the LSN."""
    commits = [(listed.record.lsn, seconds(listed.committed)) for listed in records if listed.committed]
    commits = [commits[0], *(b for a, b in pairwise(commits) if b[1] > a[1])] if commits else []
    if len(commits) < 2 or commits[-1][1] - commits[0][1] < 1:
        return [0.0] * len(records)
    lsns, times = [lsn for lsn, _ in commits], [time - commits[0][1] for _, time in commits]
    found, latest = [], 0.0
    for listed in records:
        at = bisect_right(lsns, listed.record.lsn)
        if 0 < at < len(lsns):
            share = (listed.record.lsn - lsns[at - 1]) / (lsns[at] - lsns[at - 1])
            latest = max(latest, times[at - 1] + share * (times[at] - times[at - 1]))
        found.append(max(latest, times[-1]) if at == len(lsns) else latest)
    return found


@dataclass(frozen=True)
class Outcome:
    """One concurrency: seconds until all is replayed, the highest lag, that at the end, the counters."""

    concurrency: int
    seconds: float
    highest: float
    last: float
    counters: dict[str, int]


def try_concurrency(
    records: Sequence[Listed], when: Sequence[float], concurrency: int, device: Device, buffers: int
) -> Outcome:
    """Replay the WAL once."""
    pool = Pool({listed.record.lsn: listed for listed in records}, buffers)
    recovery = Recovery(
        [listed.record for listed in records], when, device, pool.is_cached, pool.length, pool.reads, pool.replayed
    )
    samples, prefetcher = simulate(recovery, concurrency)
    return Outcome(concurrency, recovery.now, max(s.lag for s in samples), samples[-1].lag, prefetcher.counters)


def table(outcomes: Sequence[Outcome]) -> Table:
    """A row for each concurrency."""
    shown = Table("concurrency", "replayed in", "speed-up", "highest lag", "lag at the end", *COUNTERS)
    for column in shown.columns:
        column.justify = "right"
    for outcome in outcomes:
        shown.add_row(
            str(outcome.concurrency), f"{outcome.seconds:.3f} s", f"{outcomes[0].seconds / outcome.seconds:.2f}",
            f"{outcome.highest:.3f} s", f"{outcome.last:.3f} s", *(f"{count}" for count in outcome.counters.values()),
        )  # fmt: skip
    return shown


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """And for scripts."""
    return [
        {
            "concurrency": outcome.concurrency,
            "seconds": outcome.seconds,
            "speed_up": outcomes[0].seconds / outcome.seconds,
            "highest_lag_seconds": outcome.highest,
            "last_lag_seconds": outcome.last,
            **outcome.counters,
        }
        for outcome in outcomes
    ]


def draw(outcomes: Sequence[Outcome], kind: str, file: BinaryIO) -> None:
    """Lag over concurrency."""
    pyplot = pictures.pyplot()
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    names = [str(outcome.concurrency) for outcome in outcomes]
    axes.plot(names, [outcome.highest for outcome in outcomes], "o-", label="highest lag")
    axes.plot(names, [outcome.last for outcome in outcomes], "s--", label="lag at the end")
    axes.set(xlabel="maintenance_io_concurrency", ylabel="lag, s", title="Lag on a simulated device", ylim=(0, None))
    axes.legend()
    figure.savefig(file, format=kind, dpi=110)
    pyplot.close(figure)


def saved(outcomes: Sequence[Outcome], path: Path | None) -> str | None:
    return pictures.save(path, lambda file: draw(outcomes, path.suffix[1:], file)) if path else None


@click.command(help=__doc__)
@click.option("--wal", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--buffers", default=16384, show_default=True, type=click.IntRange(min=1), help="Pages of 8 KiB.")
@click.option("--channels", default=64, show_default=True, type=click.IntRange(1, 65536), help="I/Os served at once.")
@click.option(
    "--service", default=100.0, show_default=True, type=click.FloatRange(0.001, 1e9), help="Microseconds of an I/O."
)
@click.option("--seed", default=1, show_default=True, help="Of the times that the device takes.")
@pictures.option("Where lag over concurrency is drawn, if anywhere.")
@json_option()
def main(
    wal: Path, buffers: int, channels: int, service: float, seed: int, picture: Path | None, as_json: bool
) -> None:
    """Try all concurrencies."""
    try:
        records = read_listing(wal, guess=True)
        when = arrivals(records)
        devices = [Device(channels, service / 1e6, seed=seed) for _ in CONCURRENCIES]
    except (ListingError, ValueError) as error:
        click.echo(f"advise: {error}", err=True)
        sys.exit(2)
    outcomes = [
        try_concurrency(records, when, concurrency, device, buffers)
        for concurrency, device in zip(CONCURRENCIES, devices, strict=True)
    ]
    references = sum(len(listed.record.blocks) for listed in records)
    guessed = [listed.kind for listed in records if listed.guessed]
    if as_json:
        drawing = saved(outcomes, picture)
        print_json({
            "records": len(records), "references": references, "wal_seconds": when[-1], "buffers": buffers,
            "channels": channels, "service_us": service, "seed": seed,
            "guessed_records": len(guessed), "guessed_kinds": sorted(set(guessed)),
            "concurrencies": rows(outcomes), "picture": drawing,
        })  # fmt: skip
        return
    span = f"{when[-1]:.1f} s of WAL" if when[-1] else "all WAL there from the start"
    click.echo(f"{len(records)} records, {references} references to blocks, {span}; simulated device: {channels} I/Os "
               f"at once, {service:g} us each; {buffers} buffers, empty at first")  # fmt: skip
    if guessed:
        click.echo(f"{len(guessed)} records ({', '.join(sorted(set(guessed)))}) do not tell which of their blocks they "
                   "initialise: all are taken to be read")  # fmt: skip
    Console(width=150).print(table(outcomes))
    if drawing := saved(outcomes, picture):
        click.echo(f"picture: {drawing}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Would the distance of upstream's ReadStream pay in recovery? A comparison in simulated time.

    python -m bench.prefetch.distance

Recovery looks ahead until N reads are in flight, and no further than 4 N references. ReadStream (read_stream.c of 17,
for blocks at random) has a distance besides: it starts at 1, doubles when a block is returned for which a read was
started, and falls by one for each block that needs none. `patient` is a milder rule: it falls only once so many
blocks in a row needed none as may be looked at. The table has, for each share of blocks that are in no buffer:
seconds until all is replayed, and how many references were looked at ahead of replay, on average.

What it shows: the distance never makes replay faster, and where few blocks are cold it makes replay as slow as
without prefetching: hits between two reads bring it back to 1 before it has grown. What it saves is look-ahead where
all is cached, and there the engine's policy rests anyway. So no variant of the engine has it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import click
from rich.table import Table

from ref.prefetch import DISTANCE_MULTIPLIER, BlockReference, Next, Prefetcher, Record, Relation, Ring
from tools.advise.device import Device, Page, Recovery
from tools.common.progress import console

RULES = ("recovery", "stream", "patient")
SHARES = (100, 50, 10, 3, 1, 0)
"""Blocks in a hundred that are in no buffer."""


@dataclass
class StreamRing(Ring):
    """A ring with a distance: how many references may be looked at now. patience: hits that leave it alone."""

    distance: int = 1
    patience: int = 0
    patient_for: int = 0

    def look_within(self) -> int:
        """The limit of references, with the distance."""
        return min(self.max_distance, self.distance)

    def prefetch(self, look: Callable[[], tuple[Next, int]]) -> None:
        """As the ring's own; a hit brings the distance down."""
        while self.inflight < self.max_inflight and len(self.entries) < self.look_within():
            answer, lsn = look()
            if answer is Next.AGAIN:
                return
            self.entries.append((lsn, answer is Next.IO))
            self.inflight += answer is Next.IO
            if answer is Next.NO_IO:
                self.found()

    def found(self) -> None:
        """A block needs no read."""
        if self.patient_for:
            self.patient_for -= 1
        elif self.distance > 1:
            self.distance -= 1

    def needed(self) -> None:
        """Replay has come to a block for which a read was started."""
        self.distance = min(2 * self.distance, self.max_distance)
        self.patient_for = self.patience


class StreamPrefetcher(Prefetcher):
    """The prefetcher with such a ring."""

    patient = False

    def reconfigure(self, concurrency: int) -> None:
        """As the prefetcher's own."""
        super().reconfigure(concurrency)
        limit = DISTANCE_MULTIPLIER * concurrency
        self.ring = StreamRing(concurrency, limit, patience=limit if self.patient else 0)


class PatientPrefetcher(StreamPrefetcher):
    """And with patience."""

    patient = True


PREFETCHERS = {"recovery": Prefetcher, "stream": StreamPrefetcher, "patient": PatientPrefetcher}


@dataclass(frozen=True)
class Outcome:
    """Seconds until all is replayed, and references looked at ahead, on average."""

    seconds: float
    ahead: float


def wal_of(count: int, cold: Sequence[bool]) -> tuple[list[Record], set[Page]]:
    """Records of one block each, none of which comes twice; and the pages that are in no buffer."""
    relation = Relation(1663, 5, 16384)
    records = [Record(i + 1, i + 2, (BlockReference(relation, i),)) for i in range(count)]
    return records, {(relation, i) for i in range(count) if cold[i]}


def try_rule(rule: str, concurrency: int, cold: Sequence[bool], device: Device) -> Outcome:
    """Replay a WAL of one cold or cached block a record."""
    records, missing = wal_of(len(cold), cold)
    recovery = Recovery(
        records,
        [0.0] * len(records),
        device,
        is_cached=lambda page: page not in missing,
        reads=lambda record: [page for r in record.blocks if (page := (r.relation, r.block)) in missing],
    )
    prefetcher = PREFETCHERS[rule](recovery, recovery, concurrency, 1)
    ahead = 0
    while (record := prefetcher.read_record()) is not None:
        ahead += len(prefetcher.ring.entries)
        started = any(page in recovery.under_way for page in recovery.reads(record))
        recovery.replay(record)
        if started and isinstance(prefetcher.ring, StreamRing):
            prefetcher.ring.needed()
    return Outcome(recovery.now, ahead / len(records))


def cold_blocks(count: int, share: int, seed: int = 1) -> list[bool]:
    """So many blocks in a hundred, at random."""
    dice = Random(seed)
    return [dice.randrange(100) < share for _ in range(count)]


@click.command(help=__doc__)
@click.option("--records", default=5000, show_default=True, type=click.IntRange(min=1))
@click.option("--concurrency", default=10, show_default=True, type=click.IntRange(1, 1000))
@click.option("--service", default=100.0, show_default=True, help="Microseconds of an I/O, of which 64 run at once.")
def main(records: int, concurrency: int, service: float) -> None:
    """Print the table."""
    table = Table("cold, %", *(f"{rule}: {column}" for rule in RULES for column in ("s", "ahead")))
    for share in SHARES:
        found = [try_rule(rule, concurrency, cold_blocks(records, share), Device(64, service / 1e6)) for rule in RULES]
        table.add_row(str(share), *(text for o in found for text in (f"{o.seconds:.3f}", f"{o.ahead:.1f}")))
    console().print(table)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""What does a write to the SSD save? Beside a cache that writes each page that leaves memory. Counted, no clock.

    python -m bench.tiercache.ssd_writes      (1 minute)

The pages are read, as the traces say: none is dirty. It is the definition that runs; the tests say that the C code
makes the same operations. What is saved are pages that a cache without an SSD reads from the store, and this one does
not. A line fails if ours writes more than the other, or reads MOST_POINTS more pages for 100 references.
"""

import sys
from collections.abc import Sequence
from typing import Any

import click
from rich import box
from rich.table import Table

from bench.tiercache.made import TRACES
from ref import tiercache as ref
from tools.common import progress, results

SIZES = ((1, 10), (5, 20))
"""Frames and slots, as shares of the trace's distinct pages."""
LEAST_FRAMES = 16
MOST_POINTS = 1.0
Line = dict[str, Any]


class EachEviction(ref.TierCache):
    """Whatever leaves memory is written to the SSD."""

    def _enters_ssd(self, frame: ref.Frame) -> bool:
        return True


class Counting:
    """Files without contents: ref.tiercache.Files."""

    def __init__(self) -> None:
        self.reads, self.puts = 0, 0
        self.slots: dict[int, ref.Slot | None] = {}

    def random(self) -> ref.Drawn:
        return ref.Drawn(1, 2, 3, 4)

    def read_store(self, _page: int, count: int) -> list[bytes]:
        self.reads += count
        return [b""] * count

    def write_store(self, _page: int, _contents: Sequence[bytes]) -> None: ...
    def read_trailers(self, _pages: int) -> list[ref.Trailer | None]:
        return [None] * ref.TRAILERS

    def write_trailers(self, _pages: int, _first: int, _written: Sequence[ref.Trailer | None]) -> None: ...
    def sync_store(self) -> None: ...
    def read_slot(self, slot: int) -> ref.Slot | None:
        return self.slots.get(slot)

    def write_slot(self, slot: int, written: ref.Slot | None) -> None:
        self.slots[slot] = written
        self.puts += written is not None

    def sync_ssd(self) -> None: ...
    def read_superblock(self) -> ref.Superblock | None:
        return None

    def write_superblock(self, _written: ref.Superblock) -> None: ...
    def read_control(self) -> ref.Control | None:
        return None

    def write_control(self, _written: ref.Control) -> None: ...
    def sync_control(self) -> None: ...


def replay(definition: type[ref.TierCache], pages: Sequence[int], frames: int, slots: int) -> Counting:
    """What the references cost. Pages are numbered anew; those that follow each other still do."""
    numbers = {page: at for at, page in enumerate(sorted(set(pages)))}
    files = Counting()
    blocks = len(numbers) // ref.BLOCK_PAGES + 1
    cache = definition(files, pages=blocks * ref.BLOCK_PAGES, frames=frames, slots=slots, batch=1)
    for page in pages:
        cache.read(numbers[page])
    return files


def line(name: str, pages: Sequence[int], percents: tuple[int, int]) -> Line:
    """One trace at one size."""
    distinct = len(set(pages))
    frames, slots = max(LEAST_FRAMES, distinct * percents[0] // 100), max(1, distinct * percents[1] // 100)
    without = replay(ref.TierCache, pages, frames, 0).reads
    each, ours = (replay(definition, pages, frames, slots) for definition in (EachEviction, ref.TierCache))
    points = 100 * (ours.reads - each.reads) / len(pages)
    faults = [f"{ours.puts} writes, and each eviction makes {each.puts}"] * (ours.puts > each.puts)
    faults += [f"{points:.1f} points more reads of the store"] * (points > MOST_POINTS)
    return {
        "name": f"{name}, {percents[0]} % in memory, {percents[1]} % on the SSD",
        "status": "failed" if faults else "passed",
        "reason": "; ".join(faults),
        "references": len(pages),
        "each": {"writes": each.puts, "saved": without - each.reads},
        "ours": {"writes": ours.puts, "saved": without - ours.reads},
        "points": points,
    }


def for_100(found: dict[str, int]) -> str:
    return f"{100 * found['writes'] / found['saved']:.0f}" if found["saved"] > 0 else "-"


@click.command()
@click.option("--references", default=200_000, show_default=True, help="Of each trace, the first so many.")
def main(references: int) -> None:
    """Writes to the SSD for 100 reads of the store that it saves, on each trace."""
    items: list[Line] = []
    console = progress.console()
    with progress.bar(console) as bar:
        task = bar.add_task("writes to the SSD", total=len(TRACES) * len(SIZES))
        for name, make in TRACES.items():
            pages = make()[:references]
            for percents in SIZES:
                items.append(line(name, pages, percents))
                bar.advance(task)
    table = Table(title="writes to the SSD for 100 reads of the store that it saves", box=box.SIMPLE)
    for head in ("trace", "each eviction", "ours", "writes, for 100 of the other", "points of hits"):
        table.add_column(head)
    for item in items:
        share = f"{100 * item['ours']['writes'] / max(1, item['each']['writes']):.0f}"
        table.add_row(item["name"], for_100(item["each"]), for_100(item["ours"]), share, f"{-item['points']:+.2f}")
    console.print(table)
    result = results.write(
        "ssd-writes", "tiercache", items, says="writes to the SSD beside those of each eviction", tools={},
    )  # fmt: skip
    for item in items:
        if item["reason"]:
            console.print(f"FAILED {item['name']}: {item['reason']}")
    sys.exit(result.status == "failed")


if __name__ == "__main__":
    main()

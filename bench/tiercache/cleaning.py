# SPDX-License-Identifier: PostgreSQL
"""Other ways to make room: would a clean victim, or writes to the SSD in batches, pay? Counted, no clock.

    python -m bench.tiercache.cleaning [--keep]      (1 minute)

It is the definition that runs; the tests say that the C code makes the same operations. Its references are those of the
traces. Which of them are writes is drawn, each by itself, and so is when an fsync comes.

Victims. A dirty page that is to leave costs a write: to the SSD, or if that has no room, a write-back of a batch of
blocks. So another page might leave in its place:

- clean of 8: the first clean one of the policy's next eight, when the policy is asked;
- clean doomed: the first clean one of those that are doomed, when one of them is to leave; the policy has let them go;
- shared: of the first eight of those, reads and writes take the first one that leaves without a write, be it to the SSD
  or to the store, and a cleaner takes the first one that needs a write.

Batches. A cleaner that has 8 or 32 pages for the SSD might write those whose slots are neighbours by one request. What
is counted is the most that this could save: the cleaner would have to wait until it has so many. Slots may be handed
out in another order than that of a stack.

A line fails if of 1,000 reads and writes MOST_WAITS more wait for a write-back with what the cache does, shared, than
in order. --keep writes the tables to bench/figures/cleaning/README.md.
"""

import sys
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

import click
from rich import box
from rich.table import Table

from bench.tiercache.made import TRACES
from bench.tiercache.ssd_writes import LEAST_FRAMES, Counting
from ref import tiercache as ref
from tools.common import progress, results

NAMES = ("server16", "pgbench", "zipf 0.9")
SIZES = ((5, 0), (5, 20))
"""Frames and slots, as shares of the trace's distinct pages."""
WRITES = (5, 20, 50)
"""Of 100 references."""
FSYNC_EVERY = 5_000
MOST_WAITS = 1
BATCH = 16
TURN = 16
"""References between two turns of a cleaner."""


class Cleaner(NamedTuple):
    name: str
    steps: int


CLEANERS = (Cleaner("no cleaner", 0), Cleaner("in time", 4 * TURN), Cleaner("behind", 1))
KEPT = 8
"""A cleaner keeps an eighth of the frames free."""


class Access(NamedTuple):
    page: int
    writes: bool
    then_fsync: bool


def accesses(pages: Sequence[int], writes: int, seed: int) -> list[Access]:
    """Pages are numbered anew; those that follow each other still do."""
    numbers = {page: at for at, page in enumerate(sorted(set(pages)))}
    rng = Random(seed)
    return [Access(numbers[page], rng.random() * 100 < writes, rng.random() * FSYNC_EVERY < 1) for page in pages]


class Device(Counting):
    """Requests, as well."""

    def __init__(self) -> None:
        super().__init__()
        self.store_reads = self.store_writes = 0

    def read_store(self, page: int, count: int) -> list[bytes]:
        self.store_reads += 1
        return super().read_store(page, count)

    def write_store(self, _page: int, _contents: Sequence[bytes]) -> None:
        self.store_writes += 1


class FreeSlots(list[int]):
    """A cache's free slots, which it takes from the end. They write down who takes which and when it is given back."""

    def __init__(self, slots: Sequence[int]) -> None:
        super().__init__(slots)
        self.taken: list[Taken | int] = []
        self.cleans = False

    def pop(self, _at: Any = -1) -> int:
        slot = super().pop()
        self.taken.append(Taken(slot, self.cleans))
        return slot

    def append(self, slot: int) -> None:
        super().append(slot)
        self.taken.append(slot)


class Taken(NamedTuple):
    slot: int
    by_cleaner: bool


class Shared(ref.TierCache):
    """As the cache does. What calls did, as well."""

    store_reads = 0
    """Reads that neither tier could answer."""
    write_backs = 0

    def __init__(self, files: Device, **sizes: Any) -> None:
        super().__init__(files, **sizes)
        self.free_slots: FreeSlots = FreeSlots(self.free_slots)
        for policy in (self.memory_policy, self.ssd_policy):
            if isinstance(policy, ref.TinyLfu):
                policy.counts = Remembering(policy.holds)

    def _read_store(self, page: int) -> bytes:
        self.store_reads += 1
        return super()._read_store(page)

    def _write_back(self, blocks: Sequence[int]) -> bool:
        self.write_backs += 1
        return super()._write_back(blocks)


PLACES: dict[tuple[int, int], list[tuple[int, int, int]]] = {}


class Remembering(ref.Sketch):
    """The same in half of the time: a page's places are computed once."""

    def _places(self, page: int) -> list[tuple[int, int, int]]:
        found = PLACES.get((self.blocks, page))
        if found is None:
            found = PLACES[self.blocks, page] = super()._places(page)
        return found

    def count(self, page: int) -> int:
        a, b, c, d = self._places(page)
        get = self.counters.get
        return min(get(a, 0), get(b, 0), get(c, 0), get(d, 0))

    def add(self, page: int) -> None:
        least = self.count(page)
        if least < self.MOST:
            for place in self._places(page):
                if self.counters.get(place, 0) == least:
                    self.counters[place] = least + 1


class InOrder(Shared):
    """The first one of the doomed, whoever asks."""

    def _next_to_leave(self, _making: ref.Making) -> int | None:
        page = next(iter(self.memory_policy.doomed), None)
        return self.memory_policy.victim() if page is None else page


class CleanOf8(InOrder):
    def __init__(self, files: Device, **sizes: Any) -> None:
        super().__init__(files, **sizes)
        self.memory_policy: Passing = Passing(self.frames, self.memory)


class Passing(ref.TinyLfu):
    """The first clean page of the next victims, as if those before it had left. They keep their places."""

    def __init__(self, n: int, memory: dict[int, ref.Frame]) -> None:
        super().__init__(n)
        self.counts = Remembering(n)
        self.memory = memory

    def victim(self) -> int | None:
        passed = []
        found = first = super().victim()
        while found is not None and self.memory[found].dirty:
            queue = self._queue_of(found)
            passed.append((queue, found, queue.pop(found)))
            self.window_size -= queue is self.window
            found = super().victim() if len(passed) < ref.LOOKS else None
        for queue, page, hits in reversed(passed):
            self.window_size += queue is self.window
            queue[page] = hits
            queue.move_to_end(page, last=False)
        return first if found is None else found


class CleanDoomed(InOrder):
    """The first clean one of the doomed."""

    def _next_to_leave(self, making: ref.Making) -> int | None:
        clean = (page for page in self.memory_policy.doomed if not self.memory[page].dirty)
        page = next(clean, None)
        return super()._next_to_leave(making) if page is None else page


VARIANTS: dict[str, type[Shared]] = {
    "in order": InOrder,
    "clean of 8": CleanOf8,
    "clean doomed": CleanDoomed,
    "shared": Shared,
}


@dataclass
class Counts:
    """hits: references that find their page in memory, ssd_hits: on the SSD. Requests to the devices. waits: reads and
    writes that made a write-back for room. ssd_waits: those that wrote to the SSD."""

    hits: int = 0
    ssd_hits: int = 0
    store_reads: int = 0
    store_writes: int = 0
    ssd_writes: int = 0
    waits: int = 0
    ssd_waits: int = 0


def replay(
    variant: type[Shared], asked: Sequence[Access], frames: int, slots: int, cleaner: Cleaner
) -> tuple[Counts, list[Taken | int]]:
    """What the references cost, and who took which slot."""
    device, found = Device(), Counts()
    last = max(access.page for access in asked)
    blocks = last // ref.BLOCK_PAGES + 1
    cache = variant(device, pages=blocks * ref.BLOCK_PAGES, frames=frames, slots=slots, batch=BATCH)
    kept = frames // KEPT if cleaner.steps else 0
    reads = 0
    for at, access in enumerate(asked):
        found.hits += (hit := access.page in cache.memory)
        reads += not hit and not access.writes
        before, puts = cache.write_backs, device.puts
        if access.writes:
            cache.write(access.page, b"")
        else:
            cache.read(access.page)
        found.waits += cache.write_backs > before
        found.ssd_waits += device.puts > puts
        if access.then_fsync:
            cache.fsync()
        if kept and at % TURN == 0:
            cache.free_slots.cleans = True
            cache.clean(kept, cleaner.steps)
            cache.free_slots.cleans = False
    found.ssd_hits = reads - cache.store_reads
    found.store_reads, found.store_writes, found.ssd_writes = device.store_reads, device.store_writes, device.puts
    return found, cache.free_slots.taken


# ---- batches -------------------------------------------------------------------------------------


class Lowest(list[int]):
    """Of the free slots the one with the least number is handed out. They are sorted."""

    def take(self) -> int:
        return self.pop(0)

    def give(self, slot: int) -> None:
        insort(self, slot)


class NextFit(Lowest):
    """The next one behind the last that was handed out; behind the end it begins anew."""

    last = -1

    def take(self) -> int:
        at = bisect_left(self, self.last + 1)
        self.last = self.pop(at if at < len(self) else 0)
        return self.last


class Stack(list[int]):
    """The one that was given back last, as the cache does."""

    def take(self) -> int:
        return self.pop()

    def give(self, slot: int) -> None:
        self.append(slot)


ORDERS: dict[str, tuple[type[Stack] | type[Lowest], int]] = {
    "stack": (Stack, 0),
    "lowest": (Lowest, 0),
    "next fit": (NextFit, 0),
    "next fit, 1/16 free": (NextFit, 16),
}
"""And of how many slots one more stands beside them, so that as many are free though the SSD is full."""
GROUPS = (8, 32)


def requests(taken: Sequence[Taken | int], free: Stack | Lowest, slots: int, group: int) -> int:
    """A cleaner's writes once all slots have been full, if of so many in a row it joins those to neighbouring slots. A
    slot that is given back before its group is whole must have been written: then the group ends."""
    stands, gathered, found, full = dict[int, int](), list[int](), 0, False
    for event in taken:
        ends = False
        if isinstance(event, Taken):
            stands[event.slot] = free.take()
            if event.by_cleaner and full:
                gathered.append(stands[event.slot])
            full |= len(stands) == slots
            ends = len(gathered) == group
        else:
            given = stands.pop(event)
            ends = given in gathered
            free.give(given)
        if ends:
            found += runs(gathered)
            gathered.clear()
    return found + runs(gathered)


def runs(slots: Sequence[int]) -> int:
    """Of neighbours."""
    return sum(after != slot + 1 for slot, after in pairwise([-2, *sorted(slots)]))


def joined(taken: Sequence[Taken | int], slots: int) -> dict[str, dict[str, int]]:
    """By order and group, the requests; of groups of 1 the writes."""
    return {
        order: {str(group): requests(taken, free(range(slots + more)), slots, group) for group in (1, *GROUPS)}
        for order, (free, share) in ORDERS.items()
        for more in [slots // share if share else 0]
    }


# ---- lines ---------------------------------------------------------------------------------------

Line = dict[str, Any]
RUNS = {
    "no cleaner": ("in order", "clean of 8"),
    "in time": ("in order", "shared"),
    "behind": ("in order", "clean doomed", "shared"),
}
"""Without a cleaner no page is doomed; and if one is in time, no page that is doomed waits for others."""


def faults(counts: dict[str, dict[str, dict[str, int]]], references: int) -> str:
    shared = {
        cleaner: (by["shared"]["waits"], by["in order"]["waits"]) for cleaner, by in counts.items() if "shared" in by
    }
    return "; ".join(
        f"{cleaner}: {ours} waits, in order {theirs}"
        for cleaner, (ours, theirs) in shared.items()
        if 1000 * (ours - theirs) > MOST_WAITS * references
    )


def line(name: str, pages: Sequence[int], percents: tuple[int, int], writes: int, seed: int) -> Line:
    """One trace at one size, with one share of writes."""
    distinct, asked = len(set(pages)), accesses(pages, writes, seed)
    frames, slots = max(LEAST_FRAMES, distinct * percents[0] // 100), distinct * percents[1] // 100
    counts, batches = dict[str, dict[str, Any]](), dict[str, dict[str, int]]()
    for cleaner in CLEANERS:
        counts[cleaner.name] = {}
        for variant in RUNS[cleaner.name]:
            found, taken = replay(VARIANTS[variant], asked, frames, slots, cleaner)
            counts[cleaner.name][variant] = asdict(found)
            if (cleaner.name, variant) == ("in time", "in order") and slots:
                batches = joined(taken, slots)
    reason = faults(counts, len(pages))
    return {
        "name": f"{name}, {percents[0]} % in memory, {percents[1]} % on the SSD, {writes} % writes",
        "status": "failed" if reason else "passed",
        "reason": reason,
        "trace": name,
        "references": len(pages),
        "size": percents,
        "counts": counts,
        "batches": batches,
    }


def lines(names: Sequence[str], references: int, seed: int) -> Iterator[Line]:
    for name in names:
        pages = TRACES[name]()[:references]
        for percents in SIZES:
            for writes in WRITES:
                yield line(name, pages, percents, writes, seed)


# ---- tables --------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A choice beside the order of the policy, over some lines: waits for a write-back, and for the SSD, for 1,000
    references; points of hits in memory, the mean, the least and the most; requests to the devices, for 100."""

    who: str
    waits: str
    ssd_waits: str
    hits: str
    store_reads: str
    store_writes: str
    ssd_writes: str


HEADS = (
    "cleaner, choice",
    "write-back waits",
    "SSD waits",
    "points of hits",
    "store reads",
    "store writes",
    "SSD writes",
)


def row(items: Sequence[Line], cleaner: str, variant: str) -> Row:
    pairs = [(item["counts"][cleaner][variant], item["counts"][cleaner]["in order"]) for item in items]
    all_references = sum(item["references"] for item in items)

    def each(key: str) -> str:
        return f"{1000 * sum(found[key] for found, _ in pairs) / all_references:.1f}"

    def beside(key: str) -> str:
        before = sum(old[key] for _, old in pairs)
        return f"{100 * sum(found[key] for found, _ in pairs) / before:.1f}" if before else "-"

    points = [
        100 * (found["hits"] - old["hits"]) / item["references"]
        for item, (found, old) in zip(items, pairs, strict=True)
    ]
    hits = f"{sum(points) / len(points):+.2f} ({min(points):+.2f} to {max(points):+.2f})"
    return Row(
        f"{cleaner}, {variant}", each("waits"), each("ssd_waits"), hits,
        beside("store_reads"), beside("store_writes"), beside("ssd_writes"),
    )  # fmt: skip


def victims(items: Sequence[Line]) -> dict[str, list[Row]]:
    """A table without an SSD, and one with it."""
    parts = {
        "without an SSD": [item for item in items if not item["size"][1]],
        "with an SSD": [item for item in items if item["size"][1]],
    }
    return {
        head: [row(part, cleaner, variant) for cleaner, variants in RUNS.items() for variant in variants]
        for head, part in parts.items()
    }


def batch_rows(items: Sequence[Line]) -> list[tuple[str, ...]]:
    """Requests for 100 writes of a cleaner's, by trace, order and group. How many writes that are, stands first."""
    rows = []
    for trace in dict.fromkeys(item["trace"] for item in items):
        for order in ORDERS:
            counted = [item["batches"][order] for item in items if item["trace"] == trace and item["batches"]]
            sums = {group: sum(found[group] for found in counted) for group in map(str, (1, *GROUPS))}
            cells = [f"{100 * sums[str(group)] / sums['1']:.1f}" if sums["1"] else "-" for group in GROUPS]
            rows.append((trace, order, str(sums["1"]), *cells))
    return rows


BATCH_HEADS = ("trace", "slots handed out", "writes", *(f"{group} joined" for group in GROUPS))


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)
    )  # fmt: skip


KEPT_IN = Path("bench/figures/cleaning/README.md")
TEXT = """# Other ways to make room

Counted, not timed: the same on each machine. Commit {commit}, `make bench-cleaning KEEP=1`: the first {references:,}
references of {traces}, {shares} % of them writes, and an fsync for {fsync:,} of
them. A write-back gathers {batch} blocks. Memory has 5 % of the pages, the SSD none or 20 %. A cleaner keeps an eighth
of the frames free, and comes after each {turn} references: in time with up to {many} steps, behind with one.

## Which page leaves

Waits are reads and writes that made a write-back for room, or wrote to the SSD, of 1,000. Points are hits in memory of
100 references, beside those in order: their mean, the least and the most of a line. A line is a trace, a size and a
share of writes. Requests to store and SSD are for 100 of those in order.
{victims}
## Writes to the SSD in batches

Requests for 100 writes of a cleaner that is in time, once the SSD has been full, if of 8 or 32 in a row those to
neighbouring slots were one.

{batches}
"""


def text(items: Sequence[Line], commit: str) -> str:
    tables = "".join(
        f"\n### {head[0].upper()}{head[1:]}\n\n{markdown(HEADS, rows)}\n" for head, rows in victims(items).items()
    )
    return TEXT.format(
        commit=commit,
        references=max(item["references"] for item in items),
        traces=", ".join(f"`{name}`" for name in dict.fromkeys(item["trace"] for item in items)),
        shares=", ".join(map(str, WRITES)),
        fsync=FSYNC_EVERY,
        batch=BATCH,
        turn=TURN,
        many=4 * TURN,
        victims=tables,
        batches=markdown(BATCH_HEADS, batch_rows(items)),
    )


def shown(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, box=box.SIMPLE)
    for head in heads:
        table.add_column(head)
    for cells in rows:
        table.add_row(*cells)
    return table


@click.command()
@click.option("--references", default=10_000, show_default=True, help="Of each trace, the first so many.")
@click.option("--seed", default=1, show_default=True, help="Which references are writes, and when an fsync comes.")
@click.option("--keep", is_flag=True, help=f"Write the tables to {KEPT_IN}.")
def main(references: int, seed: int, keep: bool) -> None:
    """Waits, hits and requests by which page leaves, and the requests of writes that are joined."""
    console = progress.console()
    items: list[Line] = []
    start = monotonic()
    with progress.bar(console) as bar:
        task = bar.add_task("ways to make room", total=len(NAMES) * len(SIZES) * len(WRITES))
        for item in lines(NAMES, references, seed):
            items.append(item)
            bar.advance(task)
    finish(items, monotonic() - start, keep=keep)


def finish(items: Sequence[Line], seconds: float, *, keep: bool) -> None:
    """Show, and write down."""
    console = progress.console()
    for head, rows in victims(items).items():
        console.print(shown(f"which page leaves, {head}", HEADS, rows))
    console.print(shown("requests for 100 writes to the SSD, joined", BATCH_HEADS, batch_rows(items)))
    result = results.write(
        "cleaning", "tiercache", items, says="other ways to make room, counted", tools={}, seconds=seconds
    )
    if keep:
        KEPT_IN.parent.mkdir(exist_ok=True)
        KEPT_IN.write_text(text(items, result.commit))
        console.print(f"written to {KEPT_IN}")
    for item in items:
        if item["reason"]:
            console.print(f"FAILED {item['name']}: {item['reason']}")
    sys.exit(result.status == "failed")


if __name__ == "__main__":
    main()

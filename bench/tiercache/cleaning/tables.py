# SPDX-License-Identifier: PostgreSQL
"""The tables of what was counted, and the page that keeps them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.tiercache.cleaning.batches import GROUPS, ORDERS
from bench.tiercache.cleaning.caches import BATCH, FSYNC_EVERY, TURN
from bench.tiercache.cleaning.lines import RUNS, WRITES, Line


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

# SPDX-License-Identifier: PostgreSQL
"""What is counted of each trace, at each size and share of writes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from bench.tiercache.cleaning.batches import joined
from bench.tiercache.cleaning.caches import CLEANERS, VARIANTS, accesses, replay
from bench.tiercache.made import TRACES
from bench.tiercache.ssd_writes import LEAST_FRAMES

NAMES = ("server16", "pgbench", "zipf 0.9")
SIZES = ((5, 0), (5, 20))
"""Frames and slots, as shares of the trace's distinct pages."""
WRITES = (5, 20, 50)
"""Of 100 references."""
MOST_WAITS = 1
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

# SPDX-License-Identifier: PostgreSQL
"""How fast the kernels compact given pages, on this machine now: upstream's algorithms and ours, interleaved.

As in the benchmarks, 64 fresh pages are copied, untimed, into a work area, and the 64 calls are timed together. In a
round each variant takes every page once; the order of the variants is drawn anew for each 64 pages.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter_ns
from typing import Any

import pgquern.compaction
from _pgquern import ffi, lib
from pgquern.variants import row_of

BATCH, ROUNDS = 64, 25
FEW = 1024
"""Of fewer pages the branch predictor learns the answers: a figure for them says little of other pages."""
UPSTREAM = ("pg13", "pg14")


@dataclass(frozen=True)
class Spread:
    """The median of the rounds, and the ends of their middle half: other work on the machine spoils some rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Speed:
    """Nanoseconds a page by variant; and how many times as fast ours is as the faster of upstream's, and as itself."""

    pages: int
    ours: str
    upstream: str
    nanoseconds: dict[str, Spread]
    times_as_fast: Spread
    against_itself: Spread


def _spread(values: Sequence[float]) -> Spread:
    low, median, high = statistics.quantiles(values, n=4)
    return Spread(median, low, high)


def _timed(fn: Any, work: Any, calls: Any, source: bytes, truncate: bool, statuses: Any) -> int:
    """Nanoseconds for the pages of `source`, copied first."""
    ffi.memmove(work, source, len(source))
    n = len(source) // pgquern.compaction.BLCKSZ
    began = perf_counter_ns()
    lib.pgq_compaction_batch(fn, calls, n, truncate, statuses)
    return perf_counter_ns() - began


def measure(pages: Sequence[bytes], *, truncate: bool) -> Speed:
    """At least one page, and all of them accepted by the kernels."""
    size = pgquern.compaction.BLCKSZ
    ours = pgquern.compaction.dispatched().name
    ways = {name: row_of("compaction", name).fn for name in (*UPSTREAM, ours)} | {
        "again": row_of("compaction", ours).fn
    }
    batches = [b"".join(pages[at : at + BATCH]) for at in range(0, len(pages), BATCH)]
    work = ffi.new("uint8_t[]", BATCH * size)
    calls = ffi.new("void *[]", [work + i * size for i in range(BATCH)])
    statuses = ffi.new("pgq_status[]", BATCH)
    order, rng = list(ways), Random(1)
    rounds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        spent = dict.fromkeys(ways, 0)
        for batch in batches:
            rng.shuffle(order)
            for name in order:
                spent[name] += _timed(ways[name], work, calls, batch, truncate, statuses)
        if number:  # the first only warms up
            for name in ways:
                rounds[name].append(spent[name] / len(pages))
    upstream = min(UPSTREAM, key=lambda name: statistics.median(rounds[name]))
    return Speed(
        len(pages),
        ours,
        upstream,
        {name: _spread(rounds[name]) for name in dict.fromkeys((*UPSTREAM, ours))},
        _spread([a / b for a, b in zip(rounds[upstream], rounds[ours], strict=True)]),
        _spread([a / b for a, b in zip(rounds["again"], rounds[ours], strict=True)]),
    )

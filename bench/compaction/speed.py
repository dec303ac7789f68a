# SPDX-License-Identifier: PostgreSQL
"""The Python oracle beside the kernels: compacted pages a second, on the same pages, through the Python interface.

    python -m bench.compaction.speed      (5 s)

It shows how many pages a differential run can check; repair.cc times the kernels themselves. Writes
build/results/speed/compaction.json.
"""

import statistics
from collections.abc import Callable
from time import perf_counter

import pgquern.compaction

from bench.compaction.pages import PAGE_SIZE, pool
from bench.measure import skipped
from ref.compaction import Order, page_repair_fragmentation
from tools.common import results
from tools.common.environment import pin
from tools.common.progress import console

PAGES, REPETITIONS = 64, 9
TWO_INTS = {"n": "226", "len": "32", "live": "85", "order": "random"}  # the two-INT table with fillfactor 85


def pages_a_second(repair: Callable[[bytes], object], pages: list[bytes]) -> list[float]:
    """One figure a repetition."""
    rates = []
    for _ in range(REPETITIONS):
        start = perf_counter()
        for page in pages:
            repair(page)
        rates.append(len(pages) / (perf_counter() - start))
    return rates


def by_kernel(variant: str) -> Callable[[bytes], object]:
    """The kernel called as the tests call it: on a fresh copy of the page."""

    def repair(page: bytes) -> None:
        pgquern.compaction.page_repair_fragmentation(bytearray(page), truncate=True, variant=variant)

    return repair


def main() -> None:
    """Measure, print a line a way, write the result."""
    cpu, started = pin(), perf_counter()
    made = pool(TWO_INTS, PAGES)
    pages = [made[at : at + PAGE_SIZE] for at in range(0, len(made), PAGE_SIZE)]
    ways: dict[str, Callable[[bytes], object]] = {
        "ref": lambda page: page_repair_fragmentation(page, order=Order.ITEM, truncate=True)
    }
    ways |= {v.name: by_kernel(v.name) for v in pgquern.compaction.variants() if v.supported}
    rates = {name: pages_a_second(repair, pages) for name, repair in ways.items()}
    oracle = statistics.median(rates["ref"])
    items = []
    for name, rate in rates.items():
        median = statistics.median(rate)
        console().print(f"{name:>8}: {median:>10,.0f} pages a second, {median / oracle:,.0f} times the oracle")
        items.append({"name": name, "status": "passed", "pages_a_second": median, "range": [min(rate), max(rate)]})
    absent = [skipped(v.name) for v in pgquern.compaction.variants() if not v.supported]
    results.write(
        "speed",
        "compaction",
        [*items, *absent],
        says=f"oracle {oracle:,.0f} pages a second",
        tools={},
        seconds=perf_counter() - started,
        pinned_to_cpu=cpu,
    )


if __name__ == "__main__":
    main()

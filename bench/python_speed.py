# SPDX-License-Identifier: PostgreSQL
"""The Python oracle beside the kernels: compacted pages a second, on the same pages, through the Python interface.

    python -m bench.python_speed      (5 s)

Says what a differential run can afford; the kernels themselves are timed by bench_compaction. Writes speed.json.
"""

import json
import random
import statistics
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import pgquern.compaction
from rich.console import Console

from bench import environment
from ref import page as heap
from ref.compaction import Order, page_repair_fragmentation

PAGES, REPETITIONS = 64, 9


def fragmented_page(source: random.Random) -> bytes:
    """A full page of the two-INT table (226 tuples of 32 bytes in random order), 15 % of its line pointers dead."""
    page = bytearray(source.randbytes(heap.BLCKSZ))
    n, places = 226, list(range(226))
    source.shuffle(places)
    pointers = [heap.LinePointer(heap.BLCKSZ - 32 * (place + 1), heap.LP_NORMAL, 32) for place in places]
    for dead in source.sample(range(n), n * 15 // 100):
        pointers[dead] = heap.UNUSED
    page[: heap.SIZE_OF_PAGE_HEADER] = heap.Header(
        pd_lower=heap.SIZE_OF_PAGE_HEADER + 4 * n, pd_upper=heap.BLCKSZ - 32 * n
    ).pack()
    for i, pointer in enumerate(pointers):
        at = heap.SIZE_OF_PAGE_HEADER + 4 * i
        page[at : at + 4] = pointer.word.to_bytes(4, "little")
    return bytes(page)


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
    """Measure, print a line a way, write the results."""
    started, source = perf_counter(), random.Random(1)
    pages = [fragmented_page(source) for _ in range(PAGES)]
    ways: dict[str, Callable[[bytes], object]] = {
        "ref": lambda page: page_repair_fragmentation(page, order=Order.ITEM, truncate=True)
    }
    ways |= {v.name: by_kernel(v.name) for v in pgquern.compaction.variants() if v.supported}
    rates = {name: pages_a_second(repair, pages) for name, repair in ways.items()}
    oracle = statistics.median(rates["ref"])
    items = []
    for name, rate in rates.items():
        median = statistics.median(rate)
        Console().print(f"{name:>8}: {median:>10,.0f} pages a second, {median / oracle:,.0f} times the oracle")
        items.append({"stem": "compaction", "name": name, "status": "passed", "pages_a_second": median,
                      "range": [min(rate), max(rate)]})  # fmt: skip
    seconds = perf_counter() - started
    says = f"oracle {oracle:,.0f} pages a second"
    cell = {"seconds": seconds, "passed": len(items), "failed": 0, "skipped": 0, "says": says}
    result = {
        "layer": "speed",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "commit": environment.commit(),
        "cpu": environment.cpu(),
        "stems": {"compaction": cell},
        "items": items,
    }
    out = Path("build/results/speed.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""The README's picture: a page before and after compaction, with what the recorded benchmark says of such pages.

python -m bench.compaction.before_after      (after `make bench`; writes bench/figures/before_after.svg; 1 s)
"""

import json
from pathlib import Path
from random import Random

from ref import page as heap
from ref.compaction import Order, page_repair_fragmentation
from tools.look.page_picture import HEIGHT, WIDTH, svg

INTO = Path("bench/figures/before_after.svg")
FIGURES = Path("bench/figures/intel-r-xeon-r-processor-family-6-model-167.json")
CONFIG = {"regime": "L2", "n": "226", "len": "32", "live": "50", "order": "random"}
GAP, TOP = 34.0, 30.0
TEXT = 'font-family="system-ui, sans-serif" font-size="12"'


def page() -> bytes:
    """CONFIG's page: tuples that lie in no order, half of whose line pointers are unused."""
    random, n, length = Random(7), int(CONFIG["n"]), int(CONFIG["len"])
    places = random.sample(range(n), n)
    lives = random.sample(range(n), n * int(CONFIG["live"]) // 100)
    at = {item: heap.BLCKSZ - length * (places[item] + 1) for item in lives}
    lps = [heap.LinePointer(at[i], heap.LP_NORMAL, length) if i in at else heap.UNUSED for i in range(n)]
    return heap.build(lps)


def measured() -> tuple[float, float, float]:
    """Of CONFIG: ns of upstream's faster way, ns of the fastest kernel, the ratio."""
    bench = next(found for found in json.loads(FIGURES.read_text()) if found["stem"] == "compaction")
    items = [dict(zip(bench["columns"], row, strict=True)) for row in bench["rows"]]
    chosen = [item for item in items if all(item[f"config.{name}"] == value for name, value in CONFIG.items())]
    by = {item["variant"]: item for item in chosen}
    ours = by["avx512"]
    return by[ours["upstream"]]["ns"], ours["ns"], ours["speedup.median"]


def picture() -> str:
    before = page()
    after = page_repair_fragmentation(before, order=Order.ITEM, truncate=True)
    upstream, ours, ratio = measured()
    dead, n = len(heap.line_pointers(before)) - sum(lp.is_used for lp in heap.line_pointers(before)), CONFIG["n"]
    words = [
        f"A heap page: {dead} of its {n} tuples are dead.",
        f"Compacted in {ours:.0f} ns; PostgreSQL's own takes {upstream:,.0f} ({ratio:.1f} times).",
    ]
    width, height = 2 * WIDTH + 3 * GAP, HEIGHT + TOP + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="{" ".join(words)}"><rect width="100%" height="100%" rx="8" fill="#ffffff"/>'
    ]
    for i, (drawn, said) in enumerate(zip((before, after), words, strict=True)):
        x = GAP + i * (WIDTH + GAP)
        parts.append(f'<text x="{x:g}" y="{TOP - 9:g}" {TEXT} fill="#1d2330">{said}</text>')
        inner = svg(drawn, said).replace("<svg ", f'<svg x="{x:g}" y="{TOP:g}" width="{WIDTH:g}" height="{HEIGHT:g}" ')
        parts.append(inner)
    return "".join(parts) + "</svg>\n"


if __name__ == "__main__":
    INTO.write_text(picture())

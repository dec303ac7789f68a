# SPDX-License-Identifier: PostgreSQL
"""One instructive page of a real table, before and after PageRepairFragmentation of the real 13, 14 and 18, as hex.

    python -m tests.compaction.picture     (writes build/results/real-page.json; about 3 s)

`file`: the page as it lay on disk. `before`: the same with the prune's decisions on its line pointers, which is what
PageRepairFragmentation is given. `after_pg13` and so on: what that server's own function made of `before`.
"""

from __future__ import annotations

import json
from pathlib import Path

from ref import page as rp
from ref.compaction import Order, page_repair_fragmentation
from tests.compaction.heap import Pruned, pruned_pages
from tests.compaction.prb import Prb
from tests.postgres.server import EMBEDDED, Server

RESULT = Path("build/results/real-page.json")
MAJORS = (13, 14, 18)


def _displaced(pruned: Pruned) -> int:
    """How many tuples lie elsewhere after one order than after the other."""
    one, other = (
        rp.line_pointers(page_repair_fragmentation(pruned.decided, order=order, truncate=False)) for order in Order
    )
    return sum(a != b for a, b in zip(one, other, strict=True))


def telling_page() -> tuple[Pruned, dict[int, bytes]]:
    """The page of mixed widths on which the two orders differ most, made by 18; and the result of each major."""
    after: dict[int, bytes] = {}
    with Server(EMBEDDED[18]) as server, Prb(server) as prb:
        chosen = max(pruned_pages(server, "wide"), key=_displaced)
        after[18] = prb(chosen.decided)
    for major in (13, 14):
        with Server(EMBEDDED[major]) as server, Prb(server) as prb:
            after[major] = prb(chosen.decided)
    return chosen, after


def write(path: Path = RESULT) -> None:
    chosen, after = telling_page()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(
            {
                "file": chosen.before.hex(),
                "before": chosen.decided.hex(),
                **{f"after_pg{major}": page.hex() for major, page in after.items()},
                "versions": {str(major): EMBEDDED[major].version() for major in MAJORS},
                "source": f"from a table of PostgreSQL {EMBEDDED[18].version()}, fragmented by updates and deletes",
            }
        )
        + "\n"
    )


if __name__ == "__main__":
    write()

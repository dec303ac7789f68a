# SPDX-License-Identifier: PostgreSQL
"""What vac_update_datfrozenxid costs in a real server, and what the look at the syscache would save.

    python -m bench.datfrozenxid.endtoend.run [--calls 2000] [--rounds 15]

In Debian's 15 (built with -O2) an extension calls, in one backend, again and again:

- the server's own function, with nothing to update, on a pg_class of 300, 1300 and 3400 rows;
- what it does with the pg_database row then (`row`): the same calls of the server's functions in the same order;
- what the patch does instead (`cache`): SearchSysCache1 and ReleaseSysCache.

The patched function itself is not built: its cost is reckoned as the function less `row` plus `cache`. From the first
call on, a call pays for a lock of step 1 that its own transaction holds already. Nobody else waits for the row. Writes
build/results/vacuum/datfrozenxid.json; about a minute.
"""

from typing import Any

import click
import numpy as np
from rich.table import Column, Table

from tests.datfrozenxid.server import SETTINGS, Database
from tests.postgres.server import DEBIAN, Server
from tools.common import progress, results

STEM = "datfrozenxid"
SIZES = (300, 1300, 3400)
"""At least so many rows of pg_class; an empty database of 15 has some 400."""
# What each way to look at the row takes, read off the sources of 15.18 and the patch.
TAKEN = ("table locks", "tuple locks", "exclusive buffer locks", "index scans", "copies of the row")
COUNTS = {"row": dict.fromkeys(TAKEN, 1), "cache": dict.fromkeys(TAKEN, 0)}


def grow(database: Database, rows: int) -> int:
    """Tables without columns until pg_class has that many rows; what it has then."""
    ((have,),) = database.run("SELECT count(*) FROM pg_class")
    for i in range(int(have), rows):
        database.run(f"CREATE TABLE grown{i} ()")
    database.run("VACUUM FREEZE pg_class")
    ((have,),) = database.run("SELECT count(*) FROM pg_class")
    return int(have)


def measure(database: Database, calls: int, rounds: int) -> dict[str, list[float]]:
    """Nanoseconds of a call by what is timed; the three take turns."""
    times: dict[str, list[float]] = {"time_datfrozenxid": [], "time_row": [], "time_cache": []}
    for _ in range(rounds):
        for what, found in times.items():
            found.append(database.time(what, calls))
    return times


def item(rows: int, times: dict[str, list[float]]) -> dict[str, Any]:
    function, row, cache = (float(np.median(found)) for found in times.values())
    patched = function - row + cache
    return {
        "name": f"{rows} rows", "status": "passed", "rows": rows,
        "function_ns": round(function), "row_ns": round(row), "cache_ns": round(cache),
        "patched_ns": round(patched), "saved": round(1 - patched / function, 3), "counts": COUNTS,
    }  # fmt: skip


def show(items: list[dict[str, Any]]) -> None:
    heads = ("rows of pg_class", "function", "row", "cache", "patched (reckoned)", "saved")
    table = Table(*(Column(head, justify="right") for head in heads), title=f"nanoseconds of a call, {DEBIAN.label}")
    for found in items:
        cells = [found[key] for key in ("rows", "function_ns", "row_ns", "cache_ns", "patched_ns")]
        table.add_row(*(f"{cell:,}" for cell in cells), f"{100 * found['saved']:.0f} %")
    progress.console().print(table)
    for name, counts in COUNTS.items():
        progress.console().print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()), highlight=False)


@click.command()
@click.option("--calls", default=2000, show_default=True, help="Calls of each kernel in a round.")
@click.option("--rounds", default=15, show_default=True, help="Rounds. The medians are shown.")
def main(calls: int, rounds: int) -> None:
    """Time the function and both ways to look at the row in a real server (about a minute)."""
    items = []
    with Server(DEBIAN, settings=SETTINGS) as server:
        database = Database(server, relations=1)
        for size in SIZES:
            rows = grow(database, size)
            items.append(item(rows, measure(database, calls, rounds)))
        database.connection.close()
    says = ", ".join(f"{found['rows']} rows: {found['function_ns']:,} ns" for found in items)
    results.write("vacuum", STEM, items, says=says, tools={"PostgreSQL": DEBIAN.version()})
    show(items)


if __name__ == "__main__":
    main()

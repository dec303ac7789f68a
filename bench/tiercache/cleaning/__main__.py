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
from collections.abc import Sequence
from time import monotonic

import click
from rich import box
from rich.table import Table

from bench.tiercache.cleaning.lines import NAMES, SIZES, WRITES, Line, lines
from bench.tiercache.cleaning.tables import BATCH_HEADS, HEADS, KEPT_IN, batch_rows, text, victims
from tools.common import progress, results


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

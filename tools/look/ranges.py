# SPDX-License-Identifier: PostgreSQL
"""What the bytes of a relation are, by block range: so many ranges that a terminal can show them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ref import page as heap
from tools.look.rows import COLUMNS, Rows, column, gain

RANGES, BARS, WIDTH = 256, 16, 60
PARTS = {
    "headers": ("[dim]-[/]", "headers and line pointers"),
    "live": ("[green]#[/]", "tuples"),
    "hinted": ("[red]x[/]", "tuples dead by hint bits: a prune would free them"),
    "gained": ("[yellow]+[/]", "gaps: compaction gives them back"),
    "free": ("[dim].[/]", "free already"),
    "other": ("[dim] [/]", "new or refused pages"),
}


class Ranges:
    """Sums of rows by block range. The memory does not grow with the relation."""

    def __init__(self, pages: int) -> None:
        """pages: how many there are; those that a server adds meanwhile count to the last range."""
        self.width = max(1, -(-pages // RANGES))
        count = max(1, -(-pages // self.width))
        self.sums = np.zeros((count, len(COLUMNS)), np.int64)
        self.sound = np.zeros(count, np.int64)
        """Pages that are neither new nor refused."""
        self.pages_that_gain = 0

    def add(self, places: NDArray[np.int64], rows: Rows) -> None:
        at = np.minimum(places // self.width, len(self.sums) - 1)
        np.add.at(self.sums, at, rows)
        np.add.at(self.sound, at, rows.any(axis=1))
        self.pages_that_gain += int((gain(rows) > 0).sum())

    def parts(self, pages: int) -> NDArray[np.int64]:
        """Bytes by range, a column for each of PARTS."""
        first = np.arange(len(self.sums)) * self.width
        ends = np.minimum(first + self.width, pages)
        ends[-1] = pages
        headers = self.sound * heap.SIZE_OF_PAGE_HEADER + heap.SIZE_OF_LINE_POINTER * column(self.sums, "line_pointers")
        hinted, gained, free = column(self.sums, "hinted_bytes"), gain(self.sums), column(self.sums, "free_before")
        live = self.sound * heap.BLCKSZ - headers - hinted - gained - free
        other = (ends - first - self.sound) * heap.BLCKSZ
        return np.stack([headers, live, hinted, gained, free, other], axis=1)

    def document(self, first_block: int, pages: int) -> list[dict[str, int]]:
        rows = self.parts(pages).tolist() if pages else []
        return [{"block": first_block + i * self.width, **dict(zip(PARTS, row, strict=True))}
                for i, row in enumerate(rows)]  # fmt: skip

    def bars(self, first_block: int, pages: int) -> Iterator[str]:
        """Lines with markup: a bar for some ranges together, as wide as WIDTH; each mark is the same share of it."""
        if not pages:
            return
        parts, together = self.parts(pages), -(-len(self.sums) // BARS)
        yield "by block range, and what a prune and compaction would give back of it:"
        for i in range(0, len(parts), together):
            sums = parts[i : i + together].sum(axis=0)
            ends = np.rint(np.cumsum(sums) / sums.sum() * WIDTH).astype(int)
            marks = [mark * n for (mark, _), n in zip(PARTS.values(), np.diff(ends, prepend=0), strict=True)]
            back = (sums[2] + sums[3]) / sums.sum()
            yield f"{first_block + i * self.width:>10} {''.join(marks)} {back:6.1%}"
        yield "  ".join(f"{mark} {says}" for mark, says in PARTS.values() if mark != PARTS["other"][0])

# SPDX-License-Identifier: PostgreSQL
"""What the bytes of a relation are, by block range: so many ranges that a terminal, or a picture, can show them."""

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ref import page as heap
from tools.common import picture
from tools.common.answer import plural, safe
from tools.look.rows import COLUMNS, Rows, column, gain

RANGES, BARS, WIDTH = 256, 16, 60
PARTS = {
    "headers": ("#8a92a3", "[dim]-[/]", "headers and line pointers"),
    "live": ("#5aa469", "[green]#[/]", "tuples"),
    "hinted": ("#c8322b", "[red]x[/]", "tuples dead by hint bits: a prune would free them"),
    "gained": ("#e0a030", "[yellow]+[/]", "gaps: compaction gives them back"),
    "free": ("#e6e8ee", "[dim].[/]", "free already"),
    "other": ("#2f3542", "[dim] [/]", "new or refused pages"),
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
            marks = [mark * n for (_, mark, _), n in zip(PARTS.values(), np.diff(ends, prepend=0), strict=True)]
            back = (sums[2] + sums[3]) / sums.sum()
            yield f"{first_block + i * self.width:>10} {''.join(marks)} {back:6.1%}"
        yield "  ".join(f"{mark} {says}" for _, mark, says in PARTS.values() if mark != PARTS["other"][1])

    def draw(self, file: BinaryIO, name: str, first_block: int, pages: int) -> None:
        """The same as a PNG."""
        plt: Any = picture.pyplot()
        parts = self.parts(pages)
        places = first_block + np.arange(len(parts)) * self.width
        shares = np.cumsum(parts / parts.sum(axis=1, keepdims=True) * 100, axis=1).T
        figure, axes = plt.subplots(figsize=(9, 4))
        for (colour, _, says), low, high in zip(PARTS.values(), [0 * shares[0], *shares], shares, strict=False):
            axes.bar(places, high - low, self.width, low, align="edge", color=colour, label=says)
        axes.set_xlim(first_block, first_block + len(parts) * self.width)
        axes.set_ylim(0, 100)
        axes.set_xlabel(f"block; a column is {self.width:,} page{'s' if self.width > 1 else ''}")
        axes.set_ylabel("% of the bytes")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=8)
        title = safe(os.fsencode(name).decode(errors="backslashreplace"))
        axes.set_title(f"{title}: {plural(pages, 'page')}", parse_math=False)
        figure.savefig(file, format="png", dpi=130, bbox_inches="tight")
        plt.close(figure)

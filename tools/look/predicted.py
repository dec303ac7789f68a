# SPDX-License-Identifier: PostgreSQL
"""How long the compaction in VACUUM's pruning would take: a prediction, by the nearest cells of the recorded grid.

The grid is that of the benchmarks (bench/compaction/repair.cc): line pointers, lp_len, live share, order of the tuples;
pages in the second-level cache. It says nothing of what else a prune does, of reading, or of the write-ahead log.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgquern.compaction import dispatched, variants

from tools.common import environment
from tools.common.answer import plural
from tools.look.rows import Rows, column

FIGURES = Path(__file__).parents[2] / "bench/figures"
REGIME = "L2"


@cache
def grid() -> dict[str, Any]:
    """The compaction benchmarks of this CPU, or else the newest of another; empty if none was recorded."""
    found = [result for path in sorted(FIGURES.glob("*.json")) for result in listed(path)]
    here = environment.cpu()
    return max(found, key=lambda one: (one["cpu"] == here, one["finished"]), default={})


def listed(path: Path) -> list[dict[str, Any]]:
    """A file of whole servers has other figures."""
    content = json.loads(path.read_text())
    results = content if isinstance(content, list) else []
    return [one for one in results if (one["layer"], one["stem"]) == ("bench", "compaction")]


class Pruning:
    """The pages with tuples dead by hint bits, which a prune would compact, by cell."""

    def __init__(self, order: str) -> None:
        """order: of the server's tuples after compaction, as its version has it."""
        ours = dispatched().name
        upstream = next((one.name for one in variants() if one.order.name == order), ours)
        times = dict[tuple[str, ...], dict[str, float]]()
        items = [dict(zip(grid()["columns"], row, strict=True)) for row in grid().get("rows", ())]
        for item in items:
            if item["config.regime"] == REGIME and item["variant"] in (ours, upstream, "scalar") and item["ns"]:
                cell = tuple(item[f"config.{name}"] for name in ("n", "len", "live", "order"))
                times.setdefault(cell, {})[item["variant"]] = item["ns"]
        # What this CPU runs may not have run on that one.
        self.ours = ours if all(ours in ns for ns in times.values()) else "scalar"
        self.upstream = upstream
        cells = [(int(n), float(np.mean([*map(int, size.split(".."))])), int(live), order == "presorted")
                 for n, size, live, order in times]  # fmt: skip
        self.cells = np.array(cells, float).reshape(-1, 4)
        self.nanoseconds = np.array([[ns[self.upstream], ns[self.ours]] for ns in times.values()]).reshape(-1, 2)
        self.pages = np.zeros(len(cells), np.int64)
        """By cell."""

    def add(self, rows: Rows) -> None:
        rows = rows[column(rows, "hinted") > 0]
        if len(self.cells) and len(rows):
            np.add.at(self.pages, self.nearest(rows), 1)

    def nearest(self, rows: Rows) -> NDArray[np.int64]:
        """Of each page, which has a tuple: the cell. The order is the same, then the shape, then the live share."""
        tuples, pointers = column(rows, "tuples"), column(rows, "line_pointers") + column(rows, "lines_cut")
        shape = np.log(np.stack([pointers, column(rows, "tuple_bytes") / tuples], axis=1).clip(1))
        live = (tuples - column(rows, "hinted")) / pointers * 100
        far = 1e3 * np.abs(shape[:, None] - np.log(self.cells[None, :, :2])).sum(axis=2)
        far += np.abs(live[:, None] - self.cells[:, 2]) / 100
        far += 1e6 * (column(rows, "in_order")[:, None] != self.cells[:, 3])
        return np.asarray(far.argmin(axis=1))

    def document(self) -> dict[str, Any]:
        upstream, ours = (self.pages @ self.nanoseconds).tolist() if len(self.cells) else (None, None)
        return {
            "pages": int(self.pages.sum()),
            "cpu": grid().get("cpu"),
            "is_this_cpu": grid().get("cpu") == environment.cpu(),
            "nanoseconds": {self.upstream: upstream, self.ours: ours},
        }

    def lines(self) -> Iterator[str]:
        if not self.pages.any():
            return
        found = self.document()
        times = " and ".join(f"{said(ns)} by {name}" for name, ns in found["nanoseconds"].items())
        cpu = f"{found['cpu']}, {'this CPU' if found['is_this_cpu'] else 'ANOTHER CPU than this one'}"
        yield (
            f"predicted, not measured: of a VACUUM that prunes {plural(found['pages'], 'page')} with tuples dead by"
            f" hint bits, compaction alone takes {times}, by the nearest cells of what was recorded on {cpu}"
        )


def said(nanoseconds: float) -> str:
    """A time with its unit, to three digits."""
    unit, size = next((one for one in (("s", 1e9), ("ms", 1e6)) if nanoseconds >= one[1]), ("µs", 1e3))
    return f"{nanoseconds / size:.3g} {unit}"

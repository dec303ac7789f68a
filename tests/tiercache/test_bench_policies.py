# SPDX-License-Identifier: PostgreSQL
"""The figures of the eviction policies' hit rates, on made-up hits."""

from typing import Any

from bench.tiercache import report
from bench.tiercache.policies import DEFAULT, EIGHT, OPTIMUM, PERCENTS, SAME, item
from tools.common.results import Result


def cell(trace: str, percent: float, hits: int) -> dict[str, Any]:
    """Of 1000 references: the eight have 500 hits, the optimum 600, our default so many."""
    peer: dict[str, int | None] = dict.fromkeys(EIGHT, 500)
    ours = dict.fromkeys(SAME, 500) | {DEFAULT: hits}
    return {"trace": trace, "percent": percent, "references": 1000, "peer": peer | {OPTIMUM: 600}, "ours": ours}


def result(cells: list[dict[str, Any]]) -> Result:
    return Result.model_validate(
        dict.fromkeys(("says", "commit", "cpu", "cpu_level"), "") | {"layer": "policies", "stem": "tiercache"}
        | {"finished": "2026-01-01T00:00:00Z", "seconds": 1, "tools": {}, "items": [item(one) for one in cells]}
    )  # fmt: skip


def test_the_figures_say_how_far_ours_is_from_the_best() -> None:
    cells = [cell("made", percent, 470 if percent == 2 else 510) for percent in PERCENTS]
    found = report.distances([result(cells)])
    assert found
    mean = sum((30 if one["ours"][DEFAULT] == 470 else -10) for one in cells) / 10 / len(cells)
    assert [report.NAMED[f"our {DEFAULT}"], "3.0", "made, 2 %", f"1 of {len(cells)}", f"{mean:.2f}"] in found["rows"]
    assert ["LRU", "0.0"] in [row[:2] for row in found["rows"]]


def test_without_the_peer_there_is_no_figure() -> None:
    absent = cell("made", 2, 500)
    absent["peer"][OPTIMUM] = None
    assert report.distances([result([absent])]) is None

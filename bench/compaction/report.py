# SPDX-License-Identifier: PostgreSQL
"""Compaction's part of the report: a real page, the server's own function."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bench import plots
from tools.common.results import Result
from tools.look import page_picture

REAL_PAGE = Path("build/results/real-page.json")
CAPTIONS = {
    "before": "Before: fragmented",
    "after_pg13": "After, by PostgreSQL 13: offset order",
    "after_pg14": "After, by PostgreSQL 14, and by our kernels: item order",
}


def _pictures() -> tuple[list[tuple[Markup, str]], str]:
    """(picture, caption) of one real page before compaction and after it by real servers; and where it is from."""
    if not REAL_PAGE.exists():
        return [], ""
    data = json.loads(REAL_PAGE.read_text())
    drawn = [(Markup(page_picture.svg(bytes.fromhex(data[key]), text)), text) for key, text in CAPTIONS.items()]
    return drawn, data["source"]


def _items(found: Sequence[Result], layer: str) -> list[dict[str, Any]]:
    """What ran in one layer."""
    items = [item for result in found if result.layer == layer for item in result.items]
    return [item.model_dump() for item in items if item.status != "skipped"]


def _beside_plots(items: Sequence[dict[str, Any]]) -> list[Markup]:
    """A plot a server: our kernels against the server's own function, in its process."""
    drawn = []
    for server in dict.fromkeys(item["config"]["server"] for item in items):
        here = [item for item in items if item["config"]["server"] == server]
        ours = [v for v in dict.fromkeys(item["variant"] for item in here) if v != "native"]
        drawn.append(Markup(plots.speedups(here, ours, f"PostgreSQL {server}: speed-up over its own function")))
    return drawn


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    pictures, source = _pictures()
    return {"pictures": pictures, "picture_source": source, "beside_plots": _beside_plots(_items(found, "beside"))}

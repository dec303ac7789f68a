# SPDX-License-Identifier: PostgreSQL
"""Compaction's part of the report: a real page before it and after it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

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


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    pictures, source = _pictures()
    return {"pictures": pictures, "picture_source": source}

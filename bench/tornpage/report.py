# SPDX-License-Identifier: PostgreSQL
"""The part of the report and of the figures on torn pages: what each protection writes (tools/written)."""

from collections.abc import Sequence
from typing import Any

from tools.common.results import Result
from tools.written.__main__ import CHECKPOINTS


def _items(found: Sequence[Result]) -> list[dict[str, Any]]:
    return [item.model_dump() for result in found if result.layer == "written" for item in result.items]


def context(found: Sequence[Result]) -> dict[str, Any]:
    """What report.html is rendered with."""
    return {"written": _items(found), "checkpoints": CHECKPOINTS}


def figures(found: Sequence[Result]) -> list[str]:
    """Sections of bench/figures/CPU.md. The counts are the same on every CPU."""
    items = _items(found)
    if not items:
        return []
    rows = [
        f"| {i['config']['protection']} | {i['config']['block']} | {i['config']['changes_a_page']} | {i['ratio']:.2f} "
        f"| {i['log_ratio']:.2f} | {i['syncs']} |"
        for i in items
    ]
    return [
        "### Bytes written, times those of a device with atomic writes (`pgquern written`)",
        "",
        "| protection | block | changes a page | all bytes | log alone | syncs |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
    ]

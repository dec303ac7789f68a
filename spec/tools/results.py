# SPDX-License-Identifier: PostgreSQL
"""build/results/model.json, and the summary on the terminal."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from spec.tools.runner import Item


def write(path: Path, items: Sequence[Item], extra: Sequence[str], wall: float) -> None:
    """Write the layer's results; ``extra``: failures of no one configuration; ``wall``: seconds in all."""
    work = sum(item.outcome.seconds for item in items) or 1.0
    stems = {}
    for stem in sorted({item.config.stem for item in items}):
        mine = [item for item in items if item.config.stem == stem]
        counted = {status: sum(item.status == status for item in mine) for status in ("passed", "failed", "skipped")}
        # A stem's share of the whole time: models of several stems run side by side.
        seconds = round(wall * sum(item.outcome.seconds for item in mine) / work, 1)
        stems[stem] = {"seconds": seconds, **counted, "says": says(mine)}
    document = {
        "layer": "model",
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(wall, 1),
        "tools": {
            name: version
            for name, _, version in (item.outcome.tool.partition(" ") for item in items if item.outcome.tool)
        },
        "commit": said(["git", "rev-parse", "--short", "HEAD"]),
        "cpu": cpu(),
        "stems": stems,
        "items": [described(item) for item in items]
        + [{"stem": "", "name": "manifest", "status": "failed", "why": text} for text in extra],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def never_taken(items: Sequence[Item]) -> list[str]:
    """Actions, as MODULE.ACTION, that not one of the module's large runs took."""
    idle: dict[str, set[str]] = {}
    for item in items:
        if item.config.kind == "large" and item.outcome.result == "success":
            name = f"{item.config.stem}/{item.config.module.stem}"
            idle[name] = idle.get(name, set(item.outcome.never_taken)) & set(item.outcome.never_taken)
    return sorted(f"{name}.{action}" for name, actions in idle.items() for action in actions)


def says(items: Sequence[Item]) -> str:
    """One line on a stem."""
    states = sum(item.outcome.distinct or 0 for item in items if item.outcome.result == "success")
    broken = sum(item.config.must_fail for item in items if item.status == "passed")
    whole = sum(not item.config.must_fail for item in items if item.status == "passed")
    skipped = sum(item.status == "skipped" for item in items)
    return f"{whole} models hold ({states:,} distinct states), {broken} fail as they must" + (
        f", {skipped} skipped" if skipped else ""
    )


def described(item: Item) -> dict[str, Any]:
    """One configuration's results."""
    seen = item.outcome
    return {
        "stem": item.config.stem,
        "name": item.config.name,
        "status": item.status,
        "why": "; ".join(item.why),
        "kind": item.config.kind,
        "says": item.config.says,
        "must_fail": item.config.must_fail,
        "result": seen.result,
        "property": seen.property,
        "trace_length": seen.trace_length,
        "distinct": seen.distinct,
        "total": seen.total,
        "depth": seen.depth,
        "actions": seen.actions,
        "seconds": round(seen.seconds, 1),
        "tool": seen.tool,
        "log": str(seen.log) if seen.log else None,
    }


def summary(items: Sequence[Item], extra: Sequence[str], path: Path, wall: float) -> None:
    """Say how it went."""
    console = Console(stderr=True)
    counted = {status: sum(item.status == status for item in items) for status in ("passed", "failed", "skipped")}
    counted["failed"] += len(extra)
    colour = "red" if counted["failed"] else "green"
    console.print(
        f"[{colour}]models: {counted['passed']} as they must be, {counted['failed']} failed, "
        f"{counted['skipped']} skipped[/], {wall:.0f} s; {path}",
        highlight=False,
        soft_wrap=True,
    )


def said(command: list[str]) -> str:
    """A command's first line, or nothing."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return ""


def cpu() -> str:
    """The processor's name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return ""

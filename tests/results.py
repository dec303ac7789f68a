# SPDX-License-Identifier: PostgreSQL
"""Writes build/results/<layer>.json for the drivers beside pytest: fuzzing, mutants, instruction counts."""

import json
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path("build/results")


def first_line(*command: str) -> str:
    """The first line that a command prints, or "" if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout.splitlines() or [""])[0]


def commit() -> str:
    """The tree's abbreviated commit, with "+" if it has changes that are not committed."""
    changed = first_line("git", "status", "--porcelain", "--untracked-files=no")
    return first_line("git", "rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def cpu() -> str:
    """The CPU's model name."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def write(layer: str, items: list[dict[str, Any]], says: dict[str, str], tools: dict[str, str]) -> None:
    """Writes the layer's result.

    items: each with stem, name, status ("passed", "failed" or "skipped"), seconds. says: a sentence a stem. Stems of an
    earlier run that this one did not touch (STEM= narrows) are kept.
    """
    file = RESULTS / f"{layer}.json"
    stems = sorted({item["stem"] for item in items})
    old: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"stems": {}, "items": []}
    cells = {stem: cell for stem, cell in old["stems"].items() if stem not in stems}
    for stem in stems:
        mine = [item for item in items if item["stem"] == stem]
        statuses = [item["status"] for item in mine]
        cells[stem] = {
            "seconds": round(sum(item["seconds"] for item in mine), 3),
            **{status: statuses.count(status) for status in ("passed", "failed", "skipped")},
            "says": says[stem],
        }
    result = {
        "layer": layer,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(item["seconds"] for item in items), 3),
        "tools": tools,
        "commit": commit(),
        "cpu": cpu(),
        "stems": dict(sorted(cells.items())),
        "items": [item for item in old["items"] if item["stem"] not in stems] + items,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n")

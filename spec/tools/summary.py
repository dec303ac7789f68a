# SPDX-License-Identifier: PostgreSQL
"""The layer's results, one file a stem, and the summary on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spec.tools.models import Run
from spec.tools.runner import Item
from tools.common import progress, results
from tools.common.results import Result


def write(
    layer: str,
    stem: str,
    items: Sequence[Item],
    complaints: Sequence[str],
    share: float,
    folder: Path,
    of: Sequence[Result] = (),
) -> None:
    """Write a stem's results.

    complaints: what is wrong with no single run; share: of the wall time, in seconds; of: shards that are joined.
    """
    names = (item.outcome.tool for item in items if item.outcome.tool)
    results.write(
        layer,
        stem,
        [described(item) for item in items]
        + [{"name": "models.toml", "status": "failed", "reason": text} for text in complaints],
        says=says(items),
        tools={name: version for name, _, version in (tool.partition(" ") for tool in names)},
        seconds=round(share, 1),
        folder=folder,
        of=of,
    )


def shares(items: Sequence[Item], wall: float) -> dict[str, float]:
    """Each stem's share of the wall time, in seconds, by CPU time: runs of several stems run side by side."""
    work: dict[str, float] = {}
    for item in items:
        work[item.run.stem] = work.get(item.run.stem, 0.0) + item.outcome.cpu_seconds
    return {stem: wall * seconds / (sum(work.values()) or 1.0) for stem, seconds in sorted(work.items())}


def never_taken(items: Sequence[Item], listed: Sequence[Run]) -> dict[str, list[str]]:
    """By stem, the actions, as MODULE.ACTION, that not one of the module's large runs took.

    listed: all runs that there are. Of a module whose large runs did not all run nothing is said.
    """
    idle: dict[tuple[str, str], set[str]] = {}
    ran = {(item.run.stem, item.run.name) for item in items}
    in_part = {(run.stem, run.module.stem) for run in listed if run.kind == "large" and (run.stem, run.name) not in ran}
    for item in items:
        if item.run.kind == "large" and item.outcome.result == "success":
            name = (item.run.stem, item.run.module.stem)
            if name in in_part:
                continue
            idle[name] = idle.get(name, set(item.outcome.never_taken)) & set(item.outcome.never_taken)
    found: dict[str, list[str]] = {}
    for (stem, module), actions in sorted(idle.items()):
        found.setdefault(stem, []).extend(f"{module}.{action}" for action in sorted(actions))
    return found


def says(items: Sequence[Item]) -> str:
    """One line on a stem."""
    states = sum(item.outcome.distinct or 0 for item in items if item.outcome.result == "success")
    broken = sum(item.run.must_fail for item in items if item.status == "passed")
    whole = sum(not item.run.must_fail for item in items if item.status == "passed")
    skipped = sum(item.status == "skipped" for item in items)
    return f"{whole} models hold ({states:,} distinct states), {broken} fail as they must" + (
        f", {skipped} skipped" if skipped else ""
    )


def described(item: Item) -> dict[str, Any]:
    """One run's results."""
    seen = item.outcome
    return {
        "name": item.run.name,
        "status": item.status,
        "seconds": round(seen.seconds, 1),
        "cpu_seconds": round(seen.cpu_seconds, 1),
        "reason": "; ".join(item.why),
        "again": item.again,
        "planned_seconds": item.run.seconds,
        "kind": item.run.kind,
        "says": item.run.says,
        "must_fail": item.run.must_fail,
        "result": seen.result,
        "property": seen.property,
        "trace_length": seen.trace_length,
        "distinct": seen.distinct,
        "total": seen.total,
        "depth": seen.depth,
        "actions": seen.actions,
        "never_taken": seen.never_taken,
        "tool": seen.tool,
        "log": str(seen.log) if seen.log else None,
    }


def say(items: Sequence[Item], complaints: Sequence[str], times: Mapping[str, float], folder: Path | None) -> None:
    """Say how it went, how long each stem took, and where the results are. folder: None where none were written."""
    counted = {status: sum(item.status == status for item in items) for status in ("passed", "failed", "skipped")}
    failed = counted["failed"] + len(complaints)
    late = [item.run.key for item in items if item.late]
    console = progress.console(stderr=True)
    if late:
        console.print(f"[yellow]more CPU time than planned[/] (or 'seconds' in models.toml is low): {', '.join(late)}")
    by_stem = ", ".join(f"{stem} {seconds:.0f} s" for stem, seconds in times.items())
    console.print(
        f"[{'red' if failed else 'green'}]models: {counted['passed']} as they must be, {failed} failed, "
        f"{counted['skipped']} skipped[/]; {by_stem}; {f'results in {folder}' if folder else 'no results written'}",
        soft_wrap=True,
    )

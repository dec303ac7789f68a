# SPDX-License-Identifier: PostgreSQL
"""Runs a model with one change made (changes.py), and judges who notices.

The change is made in a copy of the stem's modules. First its small runs that must hold are made, the one with fewest
states first, then the runs that must reach a state; those share a JVM, as always (batch.py). The first property that
shows the change is enough.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from spec.tools import tlc
from spec.tools.changes import Change, Tree, find
from spec.tools.models import Holds, Run, Violates
from spec.tools.outcome import Outcome
from spec.tools.runner import How, Item, run_one, run_some

# killed: a property shows it. counts only: no property does, but there are other states. survived: nothing shows it.
# invalid: no model, because it does not parse, or has no first state that can be evaluated.
Verdict = Literal["killed", "counts only", "survived", "invalid"]

ROOT = "Changed"
FEW = 70_000
"""Runs that must hold and have more states are not made."""
MOST_TIMES, MOST_MORE = 5, 20_000
"""A run ends when it has so many times the states that it had, and so many more. It has then shown other counts."""
NO_STATE_YET = "Finished computing initial states"


@dataclass
class Tried:
    """A change, and what it showed."""

    change: Change
    verdict: Verdict = "survived"
    by: str = ""
    """The run and the property, or the run with other counts."""
    seconds: float = 0.0
    runs: int = 0


@dataclass
class Row:
    """The runs of a stem, and the changes that each executes."""

    stem: str
    runs: dict[str, Run] = field(default_factory=dict)
    executed: dict[str, set[str]] = field(default_factory=dict)
    """By run, the changes' checksums."""
    changes: list[Change] = field(default_factory=list)
    """All changes, in the order in which they are chosen."""
    texts: dict[str, str] = field(default_factory=dict)
    """Of the common modules and the stem's own, as they were parsed: FOLDER/MODULE.tla."""

    def of(self, change: Change, kind: str) -> list[Run]:
        """The runs of a kind that execute the changed definition, the one with the fewest states first."""
        found = [r for r in self.runs.values() if r.kind == kind and change.checksum in self.executed[r.name]]
        return sorted(found, key=lambda run: (states(run), run.name))


def states(run: Run) -> int:
    """How many states it must have."""
    return (run.expected.states or 0) if isinstance(run.expected, Holds) else 0


def is_specification(path: Path, stem: str) -> bool:
    """Whether a module is of the stem and says what happens; others bound it, follow traces, serve Apalache, or have
    each order of their accesses made weaker by a run."""
    if path.parent.name == stem:
        return not path.stem.startswith(("MC", "AP", "Trace", "Recorded", "Litmus"))
    return path.parent.name == "common" and path.stem.lower() == stem


def load(stem: str, runs: Sequence[Run], build: Path) -> Row:
    """Parse the modules of a stem, and find what can be changed in them."""
    row, trees, found = Row(stem), dict[Path, Tree](), dict[str, Change]()
    spec = runs[0].module.parent.parent
    row.texts = {
        f"{path.parent.name}/{path.name}": path.read_text()
        for folder in ("common", stem)
        for path in (spec / folder).glob("*.tla")
    }
    for run in runs:
        if run.symbolic or run.kind not in ("small", "reach") or states(run) > FEW:
            continue
        tree = trees.setdefault(run.module, trees.get(run.module) or Tree(run, build))
        modules = [name for name, path in tree.files.items() if is_specification(path, stem)]
        changes = {change.checksum: change for change in find(tree, tree.executed(run), modules)}
        row.runs[run.name], row.executed[run.name] = run, set(changes)
        found |= changes
    row.changes = sorted(found.values(), key=lambda change: change.checksum)
    return row


def attempt(row: Row, change: Change, build: Path, stop: threading.Event) -> Tried:
    """Make a change, and run what executes it."""
    tried, work = Tried(change), (build / "changes" / "model" / row.stem / change.checksum).resolve()
    shutil.rmtree(work, ignore_errors=True)
    how = How(prepare(row, change, build, work), jobs=1)
    counts = ""
    for run in row.of(change, "small"):
        item = Item(bounded(run, work, MOST_TIMES * states(run) + MOST_MORE))
        run_one(item, how, stop)
        if judged(tried, run, item.outcome):
            break
        counts = counts or other_counts(run, item.outcome)
    else:
        most = MOST_TIMES * max((states(run) for run in row.runs.values()), default=0) + MOST_MORE
        items = [Item(bounded(run, work, most)) for run in row.of(change, "reach")]
        run_some(items, how, stop, lambda _: None)
        for item in items:
            if item.outcome.result == "success" and (item.outcome.distinct or 0) < most:
                tried.verdict, tried.by = "killed", f"{item.run.name}: reached no more"
            elif not judged(tried, item.run, item.outcome):
                counts = counts or other_counts(item.run, item.outcome)
            if tried.verdict == "killed":
                break
    if tried.verdict == "survived" and counts:
        tried.verdict, tried.by = "counts only", counts
    shutil.rmtree(work, ignore_errors=True)
    return tried


def prepare(row: Row, change: Change, build: Path, work: Path) -> Path:
    """Copy the modules into `work`, with the change made; the folder for what is generated there."""
    for name, text in row.texts.items():
        path = work / "spec" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change.applied(text) if path.stem == change.module else text)
    generated = work / "build"
    (generated / "model" / row.stem).mkdir(parents=True)
    os.symlink((build / "tools").resolve(), generated / "tools")
    os.symlink(tlc.batch_jar(build).parent, generated / "model" / "java")
    for path in (build / "model" / row.stem).glob("*.tla"):
        os.symlink(path.resolve(), generated / "model" / row.stem / path.name)
    return generated


def bounded(run: Run, work: Path, most: int) -> Run:
    """The run in the copy. It ends when it has `most` states, by a count and not by the clock."""
    folder = work / "spec" / run.stem
    root = folder / f"{ROOT}{run.module.stem}.tla"
    root.write_text(
        f"---- MODULE {root.stem} ----\nEXTENDS {run.module.stem}\nCONSTANT Most{ROOT}\n{ROOT}TLC == INSTANCE TLC\n"
        f'Few{ROOT} == {ROOT}TLC!TLCGet("distinct") < Most{ROOT} \\/ {ROOT}TLC!TLCSet("exit", TRUE)\n====\n'
    )
    settings = run.settings.model_copy(
        update={
            "constraints": [*run.settings.constraints, f"Few{ROOT}"],
            "constants": run.settings.constants | {f"Most{ROOT}": most},
        }
    )
    return dataclasses.replace(run, module=root, settings=settings)


def judged(tried: Tried, run: Run, seen: Outcome) -> bool:
    """Whether the run has decided: a property fails, an expression cannot be evaluated, or there is no model."""
    tried.runs += 1
    tried.seconds += seen.seconds
    expected = run.expected.property if isinstance(run.expected, Violates) else None
    if seen.result == "violation" and seen.property != expected:
        tried.verdict, tried.by = "killed", f"{run.name}: {seen.property}"
    elif seen.result == "error":
        begun = seen.log is not None and NO_STATE_YET in seen.log.read_text(errors="replace")
        tried.verdict, tried.by = ("killed" if begun else "invalid"), f"{run.name}: {seen.reason}"
    return tried.verdict in ("killed", "invalid")


def other_counts(run: Run, seen: Outcome) -> str:
    """How the run's counts differ from the accepted ones."""
    if isinstance(run.expected, Holds):
        if (seen.distinct, seen.depth) != (run.expected.states, run.expected.depth):
            return f"{run.name}: {seen.distinct} states, depth {seen.depth}"
    elif seen.trace_length != run.expected.trace:
        return f"{run.name}: after {seen.trace_length} states"
    return ""

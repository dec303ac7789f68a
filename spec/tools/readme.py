# SPDX-License-Identifier: PostgreSQL
"""The tables of runs in spec/README.md, one a stem: written from the files models.toml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from spec.tools.models import Holds, Run

BEGIN, END = "<!-- runs: written by 'make model-accept' -->\n", "<!-- end of runs -->"
MARKED = re.compile(f"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)


def shows(run: Run) -> str:
    """What the run must show, in few words."""
    expected = run.expected
    if isinstance(expected, Holds):
        return "holds" if expected.states is None else f"holds: {expected.states:,} states, depth {expected.depth}"
    return f"violates {expected.property}" + (f", {expected.trace} states" if expected.trace else "")


def tables(runs: Sequence[Run]) -> str:
    """A heading and a table for each stem; a row for each run."""
    text = ""
    for stem in sorted({run.stem for run in runs}):
        rows = [f"| `{run.name}` | {run.says} | {shows(run)} |" for run in runs if run.stem == stem]
        text += f"\n### {stem}: {len(rows)} runs\n\n| run | what it says | what it must show |\n|---|---|---|\n"
        text += "\n".join(rows) + "\n"
    return text + "\n"


def differs(path: Path, runs: Sequence[Run]) -> str:
    """The first line in which the README's tables are not what they must be; nothing if they are."""
    match = MARKED.search(path.read_text()) if path.is_file() else None
    if match is None:
        return "no tables found"
    must, there = tables(runs).splitlines(), match[0].splitlines()
    wrong = [f"'{row}' is missing" for row in must if row not in there]
    wrong += [f"'{row}' is too much" for row in there if row not in must]
    return wrong[0] if wrong else ("" if must == there else "lines out of order")


def write(path: Path, runs: Sequence[Run]) -> None:
    """Rewrite the tables in place."""
    path.write_text(MARKED.sub(lambda _: tables(runs), path.read_text()))

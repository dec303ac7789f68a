# SPDX-License-Identifier: PostgreSQL
"""Compares a run with its accepted result, and writes the results of runs to models.toml for review."""

from __future__ import annotations

import json
import re
from pathlib import Path

from spec.tools.models import Holds, ModelError, Run, Violates, load
from spec.tools.outcome import Outcome


def differences(run: Run, outcome: Outcome) -> list[str]:
    """The differences from the accepted result; empty if there are none."""
    if wrong := unfit(run, outcome):
        return wrong
    accepted, now = run.expected.model_dump(), shown(run, outcome).model_dump()
    figure = "states" if isinstance(run.expected, Holds) else "trace"
    if accepted[figure] is None and not (run.symbolic if figure == "states" else now[figure] is None):
        return ["nothing is accepted yet; review this run, then 'make model ACCEPT=1'"]
    return [f"{name}: accepted {accepted[name]}, now {now[name]}" for name in accepted if accepted[name] != now[name]]


def unfit(run: Run, outcome: Outcome) -> list[str]:
    """Why this run cannot be accepted: it does not hold, or does not fail on its property."""
    expected = run.expected
    if outcome.result == "error":
        return [outcome.reason]
    if isinstance(expected, Holds):
        violated = outcome.result == "violation"
        return [f"{outcome.property} is violated, after {outcome.trace_length} states"] if violated else []
    if outcome.result == "success":
        return [f"must violate {expected.property}, but everything holds"]
    if outcome.property != expected.property:
        return [f"must violate {expected.property}, but violates {outcome.property}"]
    return []


def shown(run: Run, outcome: Outcome) -> Holds | Violates:
    """The result of the run in the form of models.toml. The length is left out if it may differ between runs."""
    if outcome.result == "success":
        return Holds() if run.symbolic else Holds(states=outcome.distinct, depth=outcome.depth)
    trace = None if outcome.sort == "liveness" else outcome.trace_length
    if outcome.sort == "deadlock":
        return Violates(deadlock=True, trace=trace)
    return Violates.model_validate({outcome.sort: outcome.property, "trace": trace})


def toml(expected: Holds | Violates) -> str:
    """The line of models.toml that says so."""
    word = "violates" if isinstance(expected, Violates) else "holds"
    values = expected.model_dump(exclude_defaults=True)
    written = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return f"{word} = {{ {', '.join(written)} }}" if written else f"{word} = {{}}"


def accept(path: Path, found: dict[str, Holds | Violates]) -> None:
    """Replace, in a models.toml, what each run in `found` 'holds' or 'violates'. All else stays as it is."""
    text = path.read_text()
    tables = {name: table for name, table, _ in load(path).entries()}
    for name, expected in found.items():
        if table := tables.get(name):
            end = max((key for key in load(path).runs[table] if name.endswith(f"_{key}")), key=len)
            head, value = rf"^\[runs\.{table}\]\n(?:(?!\[).*\n)*?{end} = .*?", r"\{[^}]*\}"
        else:
            head, value = rf"^\[run\.{re.escape(name)}\]\n(?:(?!\[).*\n)*?", ".*$"
        line = re.compile(rf"({head})(?:holds|violates) = {value}", re.MULTILINE)
        text, replaced = line.subn(r"\g<1>" + toml(expected).replace("\\", r"\\"), text)
        if replaced != 1:
            raise ModelError(f"{path}: run {name} needs one line that begins with 'holds = ' or 'violates = '")
    path.write_text(text)
    entries = {name: entry for name, _, entry in load(path).entries()}
    for name, expected in found.items():
        if expected not in (entries[name].holds, entries[name].violates):
            raise ModelError(f"{path}: run {name} could not be rewritten; write by hand: {toml(expected)}")

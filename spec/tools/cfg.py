# SPDX-License-Identifier: PostgreSQL
"""The configuration files of runs, build/model/STEM/NAME.cfg, for TLC and Apalache, also when they are run by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spec.tools.models import Run, Violates


def path(run: Run, build: Path) -> Path:
    """Where the run's configuration file is."""
    return build / "model" / run.stem / f"{run.name}.cfg"


def write(run: Run, build: Path) -> Path:
    """Write the run's configuration file, unless it is already there and right."""
    file, must = path(run, build), "\n".join(lines(run)) + "\n"
    if not file.is_file() or file.read_text() != must:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(must)
    return file


def lines(run: Run) -> Iterator[str]:
    """The lines of a configuration file."""
    settings = run.settings
    yield f"\\* {run.says}"
    yield f"\\* Made from spec/{run.stem}/models.toml, for {run.module.name}."
    if isinstance(run.expected, Violates):
        yield f"\\* Must violate: {run.expected.property}"
    if settings.specification:
        yield f"SPECIFICATION {settings.specification}"
    else:
        yield f"INIT {settings.init}"
        yield f"NEXT {settings.next}"
    assigned = [f"{name} = {tla(value)}" for name, value in settings.constants.items()]
    if not run.symbolic:  # Apalache takes them from a module: apalache.root
        assigned += [f"{name} <- {by}" for name, by in settings.definitions.items()]
    yield from section("CONSTANTS", assigned)
    yield from section("CONSTRAINTS", settings.constraints)
    yield from section("ACTION_CONSTRAINTS", settings.action_constraints)
    if not run.symbolic:
        yield f"CHECK_DEADLOCK {tla(settings.deadlock)}"
    yield from section("INVARIANTS", settings.invariants)
    yield from section("PROPERTIES", settings.properties)
    if settings.symmetry:
        yield f"SYMMETRY {settings.symmetry}"
    if settings.view:
        yield f"VIEW {settings.view}"


def section(title: str, entries: list[str]) -> Iterator[str]:
    """A title and its entries; nothing if there are none."""
    if entries:
        yield title
        yield from (f"    {entry}" for entry in entries)


def tla(value: bool | int | str) -> str:
    """A constant's value in TLA+; text is TLA+ already."""
    return str(value).upper() if isinstance(value, bool) else str(value)

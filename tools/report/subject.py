# SPDX-License-Identifier: PostgreSQL
"""What the report says of a stem: bench/STEM/report.toml, with the recorded figures that it names.

It has a title, what the stem is, its [row] of README.md's table, the theorems that carry it, and which figures are
shown: [[goal]], a floor or a target by title and variant; [[item]], a value of another layer's item; [[beside]], one
variant's time beside another's.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bench import plots
from tools.common import matrix
from tools.report import figures, others, texts
from tools.report.figures import Beside, FigureError, Goal, Item
from tools.report.values import Recorded, Where, filled, on


class Row(BaseModel):
    """A stem's line of README.md's table: its gain in memory and inside a whole server, and what is shown of it."""

    model_config = ConfigDict(extra="forbid")

    memory: str
    server: str
    shown: str
    values: dict[str, Where] = {}


class Subject(BaseModel):
    """bench/STEM/report.toml."""

    model_config = ConfigDict(extra="forbid")

    title: str
    what: str
    row: Row | None = None
    theorems: list[str] = Field(min_length=1)
    goal: list[Goal] = []
    item: list[Item] = []
    beside: list[Beside] = []


def subject(stem: str) -> Subject:
    """What the report says of a stem. FigureError: its file is missing, or has something else in it."""
    path = Path("bench", stem, "report.toml")
    try:
        return Subject.model_validate(tomllib.loads(path.read_text()))
    except FileNotFoundError as error:
        raise FigureError(f"{path} is missing: write what the report says of it, as other stems have it") from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise FigureError(f"{path}: {error}: correct it; tools/report/subject.py says what the keys mean") from error


def picture(stem: str, recorded: Recorded) -> Markup | None:
    """All recorded ratios of a stem to the faster baseline, on each machine; None if there are none."""
    spread = figures.spread(stem, recorded.machines)
    names = {machine.label: on(machine.cpu, "").rstrip(", ") for machine in recorded.machines}
    lines = [(f"{one['variant']}\n{names[one['machine']]}", one["variant"], one["ratios"]) for one in spread]
    said = ", ".join(dict.fromkeys(name for one in spread for name in one["baselines"]))
    title = f"{stem}: each configuration, beside the faster baseline ({said})"
    return Markup(plots.spread(lines, title)) if lines else None


def shown(stem: str, sentences: Mapping[str, str], recorded: Recorded) -> dict[str, Any]:
    """A stem as the report shows it. `sentences`: the English of the theorems that were checked here."""
    said, machines = subject(stem), recorded.machines
    cells = [
        *(figures.goal(stem, wanted, machines) for wanted in said.goal),
        *(figures.item(stem, wanted, machines) for wanted in said.item),
        *(figures.beside(stem, wanted, machines) for wanted in said.beside),
    ]
    return {
        "stem": stem,
        "title": said.title,
        "problem": texts.marked(" ".join(said.what.split())),
        "theorems": [{"name": name, "says": texts.marked(sentences.get(name, ""))} for name in said.theorems],
        "figures": [one | {"what": texts.marked(one["what"])} for one in cells],
        "picture": picture(stem, recorded),
        "claims": others.table(stem, recorded),
    }


def rows(recorded: Recorded) -> tuple[list[tuple[str, str, str, str]], str]:
    """README.md's table: stem, in memory, in a server, proved or tested; and on what its figures were measured."""
    lines, places = list[tuple[str, str, str, str]](), dict[str, None]()
    for stem in matrix.stems():
        if row := subject(stem).row:
            inside = {name: at for name, at in row.values.items() if f"{{{name}:" in row.server}
            memory, place = filled(stem, row.memory, row.values, recorded)
            server, _ = filled(stem, row.server, inside, recorded)
            lines.append((stem, memory, server, row.shown))
            places |= dict.fromkeys(place.split("; "))
    return lines, "; ".join(places)


def readme() -> str:
    """README.md's table as Markdown, for cog."""
    lines, places = rows(Recorded())
    heads = "| subject | in memory | in a whole server | proved or tested |\n|---|---|---|---|\n"
    return (
        heads
        + "\n".join(f"| `{stem}` | {' | '.join(cells)} |" for stem, *cells in lines)
        + f"\n\nMeasured on: {places}."
    )

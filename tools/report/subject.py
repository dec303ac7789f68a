# SPDX-License-Identifier: PostgreSQL
"""What the report says of a stem: bench/STEM/report.toml, with the recorded figures that it names.

It has a title, what the stem is, its line of README.md's table, the
theorems that carry it, and which figures are shown: [[goal]], a floor or a
target by title and variant; [[item]], a value of another layer's item; [[beside]], one variant's time beside another's.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.common import matrix
from tools.report import figures, texts
from tools.report.figures import Beside, FigureError, Goal, Item, Machine
from tools.report.recorded import Recorded, Where, filled


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


def shown(stem: str, sentences: Mapping[tuple[str, str], str], machines: Sequence[Machine]) -> dict[str, Any]:
    """A stem as the report shows it. FigureError: it names a theorem that is none of its required ones."""
    told = subject(stem)
    if wrong := [name for name in told.theorems if (stem, name) not in sentences]:
        raise FigureError(f"bench/{stem}/report.toml: {texts.THEOREMS} has no theorem {', '.join(wrong)}: correct it")
    return {
        "stem": stem,
        "title": told.title,
        "what": texts.pieces(" ".join(told.what.split())),
        "theorems": [{"name": name, "says": texts.pieces(sentences[stem, name])} for name in told.theorems],
        "figures": [
            *(figures.goal(stem, wanted, machines) for wanted in told.goal),
            *(figures.item(stem, wanted, machines) for wanted in told.item),
            *(figures.beside(stem, wanted, machines) for wanted in told.beside),
        ],
    }


def readme() -> str:
    """README.md's table, which cog writes, and below it on what its figures were measured."""
    recorded, lines, places = Recorded(), list[str](), dict[str, None]()
    for stem in matrix.stems():
        if row := subject(stem).row:
            inside = {name: at for name, at in row.values.items() if f"{{{name}:" in row.server}
            memory, place = filled(stem, row.memory, row.values, recorded)
            server, _ = filled(stem, row.server, inside, recorded)
            lines.append(f"| `{stem}` | {memory} | {server} | {row.shown} |")
            places |= dict.fromkeys(place.split("; "))
    heads = "| subject | in memory | in a whole server | proved or tested |\n|---|---|---|---|\n"
    return heads + "\n".join(lines) + f"\n\nMeasured on: {'; '.join(places)}."

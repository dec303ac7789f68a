# SPDX-License-Identifier: PostgreSQL
"""All that the paper shows, as one dictionary for JSON. paper.typ has the words around it, and no number of its own.

What it says of a stem stands in bench/STEM/paper.toml: a title, what the stem is, the theorems that carry it, and which
figures are shown: [[goal]], a floor or a target by title and variant; [[item]], a value of another layer's item;
[[beside]], one variant's time beside another's. `in_paper = false`: the report has the figure, and the paper no room.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tools.common import environment
from tools.common.matrix import stems
from tools.paper import costs, counts, figures, texts
from tools.paper.figures import Beside, FigureError, Goal, Item, Machine

RISKS = ("what could still be wrong", "in which stems", "the strongest thing against it")
KERNELS = ("kernel", "algorithm proved", "operations traced", "C text proved (CBMC: bound; WP: any length)")
"""Which columns of SOUNDNESS.md's tables the paper has."""
MACHINES = 3
"""Of how many machines the paper has room: those with most results."""


class Subject(BaseModel):
    """bench/STEM/paper.toml."""

    model_config = ConfigDict(extra="forbid")

    title: str
    what: str
    theorems: list[str] = Field(min_length=1)
    goal: list[Goal] = []
    item: list[Item] = []
    beside: list[Beside] = []


def subject(stem: str) -> Subject:
    """What the paper says of a stem. FigureError: its file is missing, or has something else in it."""
    path = Path("bench", stem, "paper.toml")
    try:
        return Subject.model_validate(tomllib.loads(path.read_text()))
    except FileNotFoundError as error:
        raise FigureError(f"{path} is missing: write what the paper says of it, as other stems have it") from error
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise FigureError(f"{path}: {error}: correct it; tools/paper/data.py says what the keys mean") from error


def shown(stem: str, sentences: Mapping[tuple[str, str], str], machines: Sequence[Machine]) -> dict[str, Any]:
    """A stem as the paper shows it. FigureError: it names a theorem that is none of its required ones."""
    told = subject(stem)
    if wrong := [name for name in told.theorems if (stem, name) not in sentences]:
        raise FigureError(f"bench/{stem}/paper.toml: {texts.THEOREMS} has no theorem {', '.join(wrong)}: correct it")
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
        "spread": figures.spread(stem, machines),
    }


def collect(folder: Path = figures.FOLDER) -> dict[str, Any]:
    """All data of the paper; `folder` has the recorded figures."""
    recorded, whole = figures.load(folder)
    machines = recorded[:MACHINES]
    sentences = texts.sentences()
    return {
        "commit": environment.commit(),
        "subjects": [shown(stem, sentences, machines) for stem in stems()],
        "counts": counts.table(),
        "machines": [figures.about(machine) for machine in machines],
        "further_machines": len(recorded) - len(machines),
        "noise": figures.noise(machines),
        "servers": figures.servers(whole),
        "growth": costs.groups(),
        "findings": texts.findings(),
        "further_findings": texts.further_findings(),
        "risks": texts.soundness("## The risks on one screen", *RISKS),
        "kernels": texts.soundness("### Kernel by kernel", *KERNELS),
    }

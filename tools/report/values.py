# SPDX-License-Identifier: PostgreSQL
"""A figure of ours by where it is recorded, and texts that have such figures: no figure of ours is typed.

bench/figures has them all. A text has names in braces, and its `values` say where the figure of each name stands.
"""

import re
import string
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from tools.common import results
from tools.report import figures
from tools.report.figures import FigureError, Machine


class Where(BaseModel):
    """Where a figure of ours is recorded. Either `goal` or `layer` says what sort it is."""

    model_config = ConfigDict(extra="forbid")

    goal: str = ""
    """The title of a floor or target: its worst configuration."""
    layer: str = ""
    """A layer: of the item `name`, or of that with the configuration `where`, the `value`."""
    stem: str = ""
    """The stem that has the item; the stem's own, if it is empty."""
    name: str = ""
    where: dict[str, str] = {}
    variant: str = ""
    value: str = ""
    """Of a goal: `low` or `high`, in how many configurations it `holds`, or `of` how many; the median without it. Of an
    item: its time without it."""
    over: str = ""
    """The variant beside which it stands: how many times as fast."""
    than: str = ""
    """The item beside whose value it stands: how many times as much."""
    bound: Literal["", "least", "most"] = ""
    """Whether the text says that it is at least, or at most, so much: then it is rounded down, or up."""


Kept = dict[tuple[str, str], list[tuple[list[dict[str, Any]], str]]]
"""(layer, stem) -> of each machine its items, each by columns with dots, and on what they were measured."""


def on(cpu: str, commit: str) -> str:
    """A CPU and a commit in few words."""
    return f"{short(cpu)}, {commit.rstrip('+')[:7]}"


def short(cpu: str) -> str:
    """A CPU's name without what every one has, and without its features."""
    return cpu.partition(" avx")[0].replace("(R)", "").replace(" Processor", "")


def items(machines: Sequence[Machine], folder: Path = figures.FOLDER) -> Kept:
    """All recorded items, what was measured last first. Folders below hold single results."""
    kept: Kept = {}
    every = [one for machine in machines for one in machine.results]
    for one in sorted(every, key=lambda one: one.finished, reverse=True):
        kept.setdefault((one.layer, one.stem), []).append((list(one.items()), on(one.cpu, one.commit)))
    for path in sorted(folder.glob("*/*.json")):
        alone = results.read(path)
        found = ([item.model_dump() for item in alone.items], on(alone.cpu, alone.commit))
        kept.setdefault((alone.layer, alone.stem), []).append(found)
    return kept


class Recorded:
    """The recorded figures."""

    def __init__(self, folder: Path = figures.FOLDER) -> None:
        self.machines = figures.load(folder)
        self.items = items(self.machines, folder)

    def find(self, stem: str, at: Where) -> tuple[float, str]:
        """A figure, and on what it was measured. FigureError: it is not recorded."""
        if at.goal:
            return self._goal(stem, at)
        return self._item(stem, at)

    def _goal(self, stem: str, at: Where) -> tuple[float, str]:
        cells = figures.goal(stem, figures.Goal(title=at.goal, variant=at.variant), self.machines)["cells"]
        found = [
            (result.finished, (cell["worst"] | cell)[at.value or "median"], on(machine.cpu, result.commit))
            for machine, cell in zip(self.machines, cells, strict=True)
            if cell and (result := machine.of(stem, "bench"))
        ]
        if found:
            _, figure, place = max(found)
            return figure, place
        raise missing(stem, f"the goal {at.goal!r} of {at.variant!r}")

    def _item(self, stem: str, at: Where) -> tuple[float, str]:
        """From the machine that was measured last, of those whose CPU has the variants that are asked for."""
        measured = self.items.get((at.layer, at.stem or stem)) or [([], "")]
        asked = {variant for variant in (at.variant, at.over) if variant}
        able = (one for one in measured if asked <= {row.get("variant") for row in one[0]})
        rows, place = next(able, measured[0])
        return self._of_machine(stem, at, rows), place

    def _of_machine(self, stem: str, at: Where, rows: Sequence[dict[str, Any]]) -> float:
        def value(name: str, variant: str) -> float:
            wanted = {f"config.{key}": text for key, text in at.where.items()}
            wanted |= {"name": name} if name else {}
            wanted |= {"variant": variant} if variant else {}
            found = [one for one in rows if all(one.get(key) == text for key, text in wanted.items())]
            column = at.value or "ns"
            if len(found) != 1 or not isinstance(found[0].get(column), int | float):
                says = f"{len(found)} figures" if len(found) != 1 else "no number"
                raise missing(stem, f"of the layer {at.layer!r} {wanted}, {column!r}", says)
            return float(found[0][column])

        mine = value(at.name, at.variant)
        if at.over:
            return value(at.name, at.over) / mine
        return mine / value(at.than, at.variant) if at.than else mine


def missing(stem: str, what: str, says: str = "no figure") -> FigureError:
    """The error for a figure that is not recorded."""
    return FigureError(f"bench/{stem}/: bench/figures has {says} for {what}: correct it, or measure anew "
                       "(`make bench`, then `make bench ONLY=figures`)")  # fmt: skip


def rounded(value: float, at: Where, spec: str) -> float:
    """The value, or the bound that a text may give of it with so many digits."""
    digits = re.search(r"\.(\d+)(%?)", spec)
    if not (at.bound and digits):
        return value
    unit = Decimal(1).scaleb(-int(digits[1]) - 2 * len(digits[2]))
    return float(Decimal(str(value)).quantize(unit, ROUND_FLOOR if at.bound == "least" else ROUND_CEILING))


def filled(stem: str, text: str, values: Mapping[str, Where], recorded: Recorded) -> tuple[str, str]:
    """A text with its figures, and on what they were measured."""
    found = {name: recorded.find(stem, at) for name, at in values.items()}
    places = "; ".join(dict.fromkeys(place for _, place in found.values()))
    specs = {name: spec or "" for _, name, spec, _ in string.Formatter().parse(text) if name}
    shown = {name: rounded(value, values[name], specs.get(name, "")) for name, (value, _) in found.items()}
    try:
        says = text.format(**shown)
    except (KeyError, ValueError) as error:
        raise FigureError(f"bench/{stem}/: {text!r} and its values disagree: {error!r}") from error
    return says, places

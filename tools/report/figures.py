# SPDX-License-Identifier: PostgreSQL
"""The recorded figures, bench/figures/*.json, as the report shows them.

`make bench ONLY=figures` writes the files, one for each CPU. A file that cannot be read is an error that names it. A
figure that no file has is None, and the report says that it is missing.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

FOLDER = Path("bench/figures")


class FigureError(click.ClickException):
    """A file of figures, or what a stem asks of it, that cannot be taken. The text says what to do."""


class Interval(BaseModel):
    """A median, and what its interval covers; of one sample there is none."""

    median: float
    low: float | None = None
    high: float | None = None


class Standing(BaseModel):
    """A floor or a target on one machine: its bound, the worst configuration, in how many it holds."""

    title: str
    variant: str
    bound: str
    worst: Interval
    of: int
    holds: int
    breaks: int


class Recorded(BaseModel):
    """What one layer measured of one stem: the items are a table, a row of values for each."""

    model_config = ConfigDict(extra="ignore")

    layer: str
    stem: str
    finished: datetime
    commit: str = Field(min_length=7)
    cpu: str
    tools: dict[str, str]
    columns: list[str]
    rows: list[list[Any]]
    floors: list[Standing] = []
    targets: list[Standing] = []
    runs: int = 0
    rounds: int = 0
    flags: str = ""
    steal_percent: float = 0.0

    @model_validator(mode="after")
    def _is_a_table(self) -> Self:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row has another number of values than there are columns")
        return self

    def items(self) -> Iterator[dict[str, Any]]:
        """Each item by its columns."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


class Machine(BaseModel):
    """All that was measured on one CPU."""

    label: str
    """A letter: the CPU's own name is long."""
    cpu: str
    results: list[Recorded]

    def of(self, stem: str, layer: str) -> Recorded | None:
        """The result of a stem and a layer; None if it was not measured there."""
        return next((r for r in self.results if (r.stem, r.layer) == (stem, layer)), None)


class Goal(BaseModel):
    """A floor or a target."""

    model_config = ConfigDict(extra="forbid")

    title: str
    variant: str


class Item(BaseModel):
    """An item of another layer, by its name, and which of its values is shown."""

    model_config = ConfigDict(extra="forbid")

    layer: str
    name: str
    value: str
    says: str


class Beside(BaseModel):
    """Two variants in one configuration: how many times as fast the first is as `against`, by their medians."""

    model_config = ConfigDict(extra="forbid")

    where: dict[str, str]
    variant: str
    against: str
    says: str


def read(path: Path) -> list[Recorded]:
    """One file. FigureError: it is not what `make bench ONLY=figures` writes."""
    try:
        return [Recorded.model_validate(one) for one in json.loads(path.read_text())]
    except (json.JSONDecodeError, UnicodeDecodeError, ValidationError, TypeError) as error:
        raise FigureError(
            f"{path} does not hold figures ({str(error).splitlines()[0]}): take the committed one "
            f"(git checkout {path}), or measure anew (`make bench`, then `make bench ONLY=figures`)"
        ) from error


def load(folder: Path = FOLDER) -> list[Machine]:
    """The machines, the one with most results first. FigureError: there are no figures."""
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    machines = sorted((one for one in found if one), key=lambda one: (-len(one), one[0].cpu))
    if not machines:
        raise FigureError(
            f"{folder} holds no figures: run `make bench` on a clean tree, then `make bench ONLY=figures`"
        )
    labels = (chr(ord("A") + place) for place in range(26))
    return [Machine(label=next(labels), cpu=one[0].cpu, results=one) for one in machines]


def about(machine: Machine) -> dict[str, Any]:
    """What a reader needs to judge a machine's figures."""
    bench = [result for result in machine.results if result.layer == "bench"]
    days = sorted(f"{result.finished:%Y-%m-%d}" for result in machine.results)
    return {
        "label": machine.label,
        "cpu": machine.cpu,
        "commits": sorted({result.commit for result in bench}),
        "days": days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}",
        "gcc": sorted({result.tools["gcc"].rpartition(" ")[2] for result in bench if "gcc" in result.tools}),
        "rounds": sorted({f"{result.runs} × {result.rounds}" for result in bench}),
        "steal": max((result.steal_percent for result in bench), default=0.0),
        "stems": [result.stem for result in bench],
        "floors": sum(len(result.floors) for result in bench),
        "floors_broken": sum(floor.breaks > 0 for result in bench for floor in result.floors),
        "targets": sum(len(result.targets) for result in bench),
        "targets_held": sum(target.holds == target.of for result in bench for target in result.targets),
    }


def known_titles(stem: str, machines: Sequence[Machine]) -> set[str]:
    """The titles of the floors and targets in bench/STEM/goals.toml, and of those recorded before it was changed."""
    table = tomllib.loads(Path("bench", stem, "goals.toml").read_text())
    recorded = [result for machine in machines if (result := machine.of(stem, "bench"))]
    return {entry["title"] for kind in ("floor", "target") for entry in table.get(kind, [])} | {
        one.title for result in recorded for one in [*result.floors, *result.targets]
    }


def goal(stem: str, wanted: Goal, machines: Sequence[Machine]) -> dict[str, Any]:
    """A floor or a target on each machine, in their order; None where no figure is recorded."""
    if wanted.title not in known_titles(stem, machines):
        raise FigureError(
            f"bench/{stem}/report.toml: neither bench/{stem}/goals.toml nor a recorded figure has {wanted.title!r}: "
            "correct `title`"
        )
    cells: list[dict[str, Any] | None] = []
    for machine in machines:
        result = machine.of(stem, "bench")
        # A floor may have the title of a target; the target has the higher bound.
        listed = [*result.targets, *result.floors] if result else []
        match = next((one for one in listed if (one.title, one.variant) == (wanted.title, wanted.variant)), None)
        cells.append(match.model_dump() if match else None)
    return {"what": wanted.title, "variant": wanted.variant, "cells": cells}


def item(stem: str, wanted: Item, machines: Sequence[Machine]) -> dict[str, Any]:
    """A value of an item of another layer on each machine, with the bound that stands beside it."""
    cells: list[dict[str, Any] | None] = []
    for machine in machines:
        result = machine.of(stem, wanted.layer)
        match = next((one for one in result.items() if one["name"] == wanted.name), None) if result else None
        sign = {True: "≤", False: "≥"}
        cells.append(
            {
                "bound": f"{sign[match['at_most']]} {match['bound']:g}",
                "worst": {"median": match[wanted.value], "low": None, "high": None},
                "of": 1,
                "holds": int(match["status"] == "passed"),
                "breaks": 0,
            }
            if match
            else None
        )
    return {"what": wanted.says, "variant": "", "cells": cells}


def beside(stem: str, wanted: Beside, machines: Sequence[Machine]) -> dict[str, Any]:
    """The ratio of two variants' median times on each machine."""
    cells: list[dict[str, Any] | None] = []
    for machine in machines:
        result = machine.of(stem, "bench")
        times = {
            one["variant"]: one["ns"]
            for one in (result.items() if result else ())
            if all(one.get(f"config.{key}") == value for key, value in wanted.where.items())
        }
        has_both = wanted.variant in times and wanted.against in times
        median = times[wanted.against] / times[wanted.variant] if has_both else None
        worst = {"median": median, "low": None, "high": None}
        cells.append({"bound": "", "worst": worst, "of": 0, "holds": 0, "breaks": 0} if has_both else None)
    return {"what": wanted.says, "variant": wanted.variant, "cells": cells}


def spread(stem: str, machines: Sequence[Machine]) -> list[dict[str, Any]]:
    """Of each variant with a goal: how many times as fast as the fastest baseline it is, in every configuration."""
    found = []
    for machine in machines:
        if result := machine.of(stem, "bench"):
            judged = dict.fromkeys(one.variant for one in [*result.floors, *result.targets])
            ratios: dict[str, list[float]] = {variant: [] for variant in judged}
            baselines: dict[str, set[str]] = {variant: set() for variant in judged}
            for one in result.items():
                if one["variant"] in ratios and one.get("speedup.median") is not None and one["upstream"]:
                    ratios[one["variant"]].append(one["speedup.median"])
                    baselines[one["variant"]].add(one["upstream"])
            found += [
                {"stem": stem, "machine": machine.label, "variant": variant, "ratios": sorted(values)}
                | {"baselines": sorted(baselines[variant])}
                for variant, values in ratios.items()
                if values
            ]
    return found

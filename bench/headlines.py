# SPDX-License-Identifier: PostgreSQL
"""The headlines of the articles that we follow, measured anew inside real servers: bench/STEM/headline.toml.

    python -m bench.headlines --major 15 [--stem STEM ...] [--case CASE ...] [--rounds 3] [--percent 100]

PostgreSQL's source is built as it is, and once for each set of texts that a file names; all without asserts. The
servers of a case see one prepared cluster. They take turns, and each round begins with another one. The first two are
one build with the same settings: their ratio is the noise. --percent makes all sizes smaller. Writes
build/results/headlines/STEM.json, and a patch for `git am` of each build, build/upstream/TEXTS-VERSION.patch. No figure
fails the command: its exit code is 1 if something could not be measured, or if the servers do not come to the same.
"""

import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Self

import click
from pydantic import BaseModel, ConfigDict, Field, model_validator
from rich.progress import Progress, TaskID
from rich.table import Column, Table

from bench.goals import paired_ratio
from bench.servers import CONFIGURE, found_in, install, run
from bench.volume import Limits, Refused, limited, little_memory, own_mounts, volume
from tests.upstream import build, kinds, obtain
from tests.upstream.__main__ import fill_from
from tests.upstream.build import BuildError, Tree
from tools.common import environment, results
from tools.common.progress import bar, console

BENCH = Path("bench")
PATCHES = Path("build/upstream")


class Entry(BaseModel):
    """A table of headline.toml: no key but those listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Arm(Entry):
    """One of the servers that are compared."""

    name: str
    kernels: list[str] = []
    """What is put into it: tests/*/upstream/NAME.toml."""
    set: dict[str, str] = {}
    """Variables of the shell, and so of the server."""


class Figure(Entry):
    """One thing that is measured."""

    name: str
    pattern: str
    """Finds it in what the measure prints; of two numbers, their difference."""
    unit: str
    higher: bool = False
    """More is faster."""
    compared: bool = True
    """Else no ratio is taken; nor is one of zeros."""
    profile: bool = False
    """In what the profile prints; one value."""


class Case(Entry):
    """One stream, table or size."""

    says: str
    set: dict[str, str] = {}
    volume: Limits | None = None
    """Its folder lies on a limited volume, once it is prepared; else where all is built."""
    memory: int | None = Field(default=None, gt=0)
    """MiB of memory that each server has, what the kernel caches for it included; else all of the machine's."""


class Headline(Entry):
    """bench/STEM/headline.toml. The texts are for a shell, after bench/servers.sh."""

    says: str
    prepare: str
    """Once for each case, by the unchanged server, in an empty folder. PERCENT is the size."""
    measure: str
    """By each server in turn, in a folder beside it that is emptied before."""
    same: str = ""
    """Finds in what the measure prints what all servers must come to."""
    profile: str = ""
    """Once by each server, at the end; it may print nothing."""
    needs: list[str] = []
    """Paths without which it is SKIPPED. A program that is built here is in the folder EXTENSIONS."""
    arm: list[Arm] = Field(min_length=3)
    against: list[str] = Field(min_length=1)
    """The arms that the ratios are to."""
    figure: list[Figure] = Field(min_length=1)
    case: dict[str, Case]

    @model_validator(mode="after")
    def _the_first_two_are_the_same(self) -> Self:
        first, second = self.arm[:2]
        if first.kernels or (first.kernels, first.set) != (second.kernels, second.set):
            raise ValueError("the first two arms are the unchanged server, with the same settings")
        if unknown := set(self.against) - {arm.name for arm in self.arm}:
            raise ValueError(f"against names no arm: {', '.join(sorted(unknown))}")
        return self


def load() -> dict[str, Headline]:
    """All of them, by stem; headline-NAME.toml is a further one, STEM-NAME."""
    return {
        path.parent.name + path.stem.removeprefix("headline"): Headline.model_validate(tomllib.loads(path.read_text()))
        for path in sorted(BENCH.glob("*/headline*.toml"))
    }


@dataclass
class Measured:
    """A case of a headline: by figure and by arm, a value for each round."""

    case: str
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    shares: dict[str, dict[str, float]] = field(default_factory=dict)
    """By figure of the profile and by arm."""
    came_to: dict[str, set[str]] = field(default_factory=dict)
    """By arm, what must be the same everywhere."""
    prepared: str = ""
    """What the preparation printed."""
    load: list[float] = field(default_factory=list)
    """The machine's load before each round; what is not ours makes all figures doubtful."""

    def fault(self, arm: str) -> str:
        """Why an arm did not come to what all do; "" if it did."""
        every: set[str] = set().union(*self.came_to.values())
        if not every or (len(every) == 1 and "" not in every):
            return ""
        return f"the servers come to {every}, this one to {self.came_to[arm]}"


def build_all(headline: Headline, work: Path, control: Tree) -> dict[str, Tree]:
    """The server of each arm. BuildError: a function is not as expected, or a build failed."""
    known, trees = kinds.load(), {}
    for arm in headline.arm:
        if not arm.kernels:
            trees[arm.name] = control
            continue
        chosen = kinds.chosen(known, " ".join(arm.kernels))
        texts, left_out = kinds.put_in(chosen, control.folder)
        if left_out:
            raise BuildError("; ".join(left_out.values()))
        custom = build.library(work, ()) if any(kind.symbol for kind in chosen) else ""
        trees[arm.name] = build.changed(work, control, "-".join(arm.kernels), texts, custom)
        if missing := {kind.symbol for kind in chosen if kind.symbol} - build.symbols(trees[arm.name].postgres):
            raise BuildError(f"the server does not call {' '.join(sorted(missing))}")
    return trees


def extensions(work: Path, major: str, programs: Sequence[Path]) -> Path:
    """The tests' extensions and these programs, put where the server's user reads them."""
    place = work / "extensions"
    place.mkdir(exist_ok=True)
    for path in (*Path("build/ext", major).glob("*.so"), *programs):
        (place / path.name).unlink(missing_ok=True)
        shutil.copy(path, place / path.name)
    return place


@dataclass
class Runner:
    """Runs the cases of one headline."""

    stem: str
    headline: Headline
    trees: Mapping[str, Tree]
    place: Path
    variables: Mapping[str, str]
    bar: Progress

    def __post_init__(self) -> None:
        self.programs = {name: install(tree) for name, tree in self.trees.items()}

    def said(self, arm: Arm, folder: str, text: str, case: Case) -> str:
        where = self.place / folder
        return run(
            self.trees[arm.name], self.programs[arm.name], where, text, {**self.variables, **case.set, **arm.set}
        )

    def measure(self, name: str, rounds: int) -> Measured:
        """All rounds of one case."""
        case, arms, found = self.headline.case[name], self.headline.arm, Measured(name)
        task = self.bar.add_task(f"{self.stem}, {name}: prepare", total=rounds * len(arms) + 1)
        shutil.rmtree(self.place, ignore_errors=True)
        build.give(self.place)
        with ExitStack() as until:
            if case.volume:
                device = until.enter_context(volume(self.place, 1024 + 70 * int(self.variables["PERCENT"])))
                build.give(self.place)
            found.prepared = self.said(arms[0], "base", self.headline.prepare, case).strip()
            self.bar.advance(task)
            if case.volume:
                until.enter_context(limited(device, case.volume))
            if case.memory:
                until.enter_context(little_memory(case.memory))
            self.take_turns(found, case, rounds, task)
        self.bar.remove_task(task)
        shutil.rmtree(self.place)
        return found

    def take_turns(self, found: Measured, case: Case, rounds: int, task: TaskID) -> None:
        arms, name = self.headline.arm, found.case
        for turn in range(rounds):
            found.load.append(round(os.getloadavg()[0], 2))
            start = turn % len(arms)
            for arm in arms[start:] + arms[:start]:
                self.bar.update(task, description=f"{self.stem}, {name}: {arm.name}")
                said = self.said(arm, "run", self.headline.measure, case)
                if self.headline.same:
                    found.came_to.setdefault(arm.name, set()).update(re.findall(self.headline.same, said) or [""])
                for one in self.headline.figure:
                    if not one.profile:
                        values = found.values.setdefault(one.name, {}).setdefault(arm.name, [])
                        values.append(found_in(one.pattern, said))
                self.bar.advance(task)
        for arm in arms if self.headline.profile else []:
            said = self.said(arm, "run", self.headline.profile, case)
            for one in self.headline.figure:
                if one.profile and said.strip():
                    found.shares.setdefault(one.name, {})[arm.name] = found_in(one.pattern, said)


def ratio(figure: Figure, values: Mapping[str, Sequence[float]], arm: str, base: str) -> dict[str, Any]:
    """How many times as fast an arm is as another one, by rounds."""
    pair = (values[arm], values[base]) if figure.higher else (values[base], values[arm])
    return {key: value for key, value in paired_ratio(*pair).model_dump().items() if value is not None}


def items_of(headline: Headline, found: Sequence[Measured]) -> list[dict[str, Any]]:
    """A row for each case, figure and arm."""
    items: list[dict[str, Any]] = []
    for one, figure, arm in product(found, headline.figure, headline.arm):
        why = one.fault(arm.name)
        values, share = one.values.get(figure.name), one.shares.get(figure.name, {}).get(arm.name)
        item: dict[str, Any] = {
            "name": f"{one.case}, {figure.name}: {arm.name}", "status": "failed" if why else "passed", "reason": why,
            "case": one.case, "figure": figure.name, "arm": arm.name, "unit": figure.unit,
        }  # fmt: skip
        if share is not None:
            items.append(item | {"median": share})
        elif values:
            mine = values[arm.name]
            bases = [base for base in headline.against if base != arm.name and figure.compared]
            times = {base: ratio(figure, values, arm.name, base) for base in bases if all(mine) and all(values[base])}
            spread = {"median": median(mine), "low": min(mine), "high": max(mine), "rounds": len(mine)}
            items.append(item | spread | {"times": times, "load": max(one.load)})
    return items


def interval(of: Mapping[str, Any]) -> str:
    return f"{of['median']:.2f}" + (f" [{of['low']:.2f}, {of['high']:.2f}]" if "low" in of else "")


def show(stem: str, headline: Headline, items: Sequence[Mapping[str, Any]], version: str) -> Table:
    right = ("median", "least to most", *(f"times {base}" for base in headline.against))
    title = f"{stem}: {headline.says}, PostgreSQL {version}"
    shown = Table("case", "figure", "server", *(Column(head, justify="right") for head in right), title=title)
    before: tuple[str, ...] = ("", "")
    for item in items:
        here = (item["case"], item["figure"])
        lead = [new if here != before else "" for new in here]
        spread = f"{item['low']:,.4g} to {item['high']:,.4g}" if "low" in item else ""
        ratios = [interval(item["times"][base]) if base in item.get("times", {}) else "" for base in headline.against]
        shown.add_row(*lead, item["arm"], f"{item['median']:,.4g} {item['unit']}", spread, *ratios)
        before = here
    return shown


def facts(headline: Headline, items: Sequence[Mapping[str, Any]], arm: str) -> list[str]:
    """What was measured of an arm, a line for each case and figure; for the message of its patch."""
    found = {item["name"]: item for item in items}
    base, lines = headline.arm[0].name, []
    for item in items:
        if item["arm"] != arm or base not in item.get("times", {}):
            continue
        before = found[f"{item['case']}, {item['figure']}: {base}"]
        lines.append(
            f"{headline.case[item['case']].says}; {item['figure']}: {before['median']:,.4g} -> {item['median']:,.4g} "
            f"{item['unit']}, {interval(item['times'][base])} times as fast (rounds: {item['rounds']})"
        )
    return lines


def write_patches(
    headline: Headline, items: Sequence[Mapping[str, Any]], top: Path, version: str, percent: int
) -> list[Path]:
    """One for each set of texts, as `git am` takes it; with the facts of the last arm that has it."""
    written, known = [], kinds.load()
    size = "" if percent == 100 else f", all sizes at {percent} %"
    about = f"On {environment.cpu()}, {environment.first_line('gcc', '--version')}, PostgreSQL {version}{size}:"
    for names, arm in {tuple(arm.kernels): arm.name for arm in headline.arm if arm.kernels}.items():
        chosen = kinds.chosen(known, " ".join(names))
        texts, _ = kinds.put_in(chosen, top)
        path = PATCHES / f"{'-'.join(names)}-{version}.patch"
        path.write_text(kinds.mail(chosen, texts, top, [about, *facts(headline, items, arm)]))
        written.append(path)
    return written


@click.command(help=__doc__)
@click.option("--major", default="", help="Of the source package.")
@click.option("--stem", "stems", multiple=True, type=click.Choice(sorted(load())), help="Only these.")
@click.option("--case", "cases", multiple=True, help="Only these.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1))
@click.option("--percent", default=100, show_default=True, type=click.IntRange(1, 1000), help="Of all sizes.")
def main(major: str, stems: tuple[str, ...], cases: tuple[str, ...], rounds: int, percent: int) -> None:
    chosen = {stem: one for stem, one in load().items() if not stems or stem in stems}
    work = build.workshop()
    try:
        version, fill = fill_from(None, major, work)
    except obtain.NotHad as error:
        console().print(f"[yellow]SKIPPED[/]: PostgreSQL's source cannot be had: {error}", soft_wrap=True)
        return
    control = build.control(work, f"{version}-fast", fill, CONFIGURE)
    place, bad = work / "headlines", False
    build.give(place)
    for stem, headline in chosen.items():
        began = time.monotonic()
        if missing := [path for path in headline.needs if not Path(path).exists()]:
            console().print(f"[yellow]SKIPPED[/] {stem}: {', '.join(missing)} is not there", soft_wrap=True)
            continue
        try:
            if headline.needs and os.getuid() == 0:
                own_mounts(work)
        except Refused as error:
            console().print(f"[yellow]SKIPPED[/] {stem}: {error}", soft_wrap=True)
            continue
        programs = [Path(path) for path in headline.needs if Path(path).is_file()]
        known = {"PERCENT": str(percent), "EXTENSIONS": str(extensions(work, version.partition(".")[0], programs))}
        try:
            trees = build_all(headline, work, control)
            with bar(console()) as progress:
                runner = Runner(stem, headline, trees, place / stem, known, progress)
                found = []
                for name in headline.case:
                    try:
                        found += [runner.measure(name, rounds)] if not cases or name in cases else []
                    except Refused as error:
                        console().print(f"[yellow]SKIPPED[/] {stem}, {name}: {error}", soft_wrap=True)
        except (BuildError, ValueError, subprocess.SubprocessError) as error:
            console().print(f"[red]failed[/] {stem}: {error}", soft_wrap=True, markup=False)
            bad = True
            continue
        if not found:
            continue
        items = items_of(headline, found)
        for one in found:
            console().print(one.prepared, markup=False, soft_wrap=True)
        console().print(show(stem, headline, items, version))
        for reason in dict.fromkeys(item["reason"] for item in items if item["reason"]):
            console().print(f"[red]failed[/] {stem}: {reason}", soft_wrap=True)
            bad = True
        for path in write_patches(headline, items, control.folder, version, percent):
            console().print(f"{path}", soft_wrap=True)
        results.write(
            "headlines",
            stem,
            items,
            says=f"{headline.says}: {', '.join(one.case for one in found)}, {rounds} rounds",
            tools={"PostgreSQL": version, "gcc": environment.first_line("gcc", "--version")},
            seconds=time.monotonic() - began,
            percent=percent,
            load=[one.load for one in found],
        )
    raise SystemExit(bad)


if __name__ == "__main__":
    main()

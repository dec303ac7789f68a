# SPDX-License-Identifier: PostgreSQL
"""How much faster a whole server is with our kernels inside: an unchanged one beside it, both without asserts.

    python -m tests.upstream.ratios --major 15 [--rounds 7] [--only "NAMES"]

What is measured stands in ratios.toml. The two servers take turns, and who begins changes each round. A ratio above 1
says that ours is faster. Writes build/upstream/ratios.json and build/upstream/ratios.md. No figure fails the command:
its exit code is 1 only if something could not be measured.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tests.upstream import build, kinds, obtain
from tests.upstream.__main__ import PATCH, fill_from, write_patch
from tests.upstream.build import BuildError, Tree
from tools.common import environment
from tools.common.progress import bar, console

HERE = Path(__file__).parent
MEASURES: dict[str, dict[str, Any]] = tomllib.loads((HERE / "ratios.toml").read_text())
CONFIGURE = (*(word for word in build.CONFIGURE if word != "--enable-cassert"), "--with-lz4")
TO = Path("build/upstream/ratios")


def figure(pattern: str, said: str) -> float:
    """What a measure's pattern finds; of two numbers, the time between them. Raises ValueError if it finds nothing."""
    found = re.search(pattern, said)
    if not found:
        raise ValueError(f"the output has no figure ({pattern}); it ends: {said[-300:]}")
    numbers = [float(group) for group in found.groups()]
    return numbers[-1] - (numbers[0] if len(numbers) > 1 else 0.0)


@dataclass
class Measured:
    """The figures of one measure, a pair for each round."""

    name: str
    kernels: list[str]
    """Those that the servers call on this path."""
    control: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        """Of each round: how many times as fast ours is."""
        pairs = zip(self.control, self.ours, strict=True)
        return [ours / control if MEASURES[self.name].get("higher") else control / ours for control, ours in pairs]

    @property
    def cells(self) -> list[str]:
        ratios = sorted(self.ratios)
        unit = MEASURES[self.name]["unit"]
        return [
            MEASURES[self.name]["says"],
            ", ".join(self.kernels),
            f"{statistics.median(self.control):,.4g} {unit}",
            f"{statistics.median(self.ours):,.4g} {unit}",
            f"{statistics.median(ratios):.3f} [{ratios[0]:.3f}, {ratios[-1]:.3f}]",
        ]


HEADS = ("what", "kernels", "unchanged", "ours", "ratio [least, most]")


def install(tree: Tree) -> Path:
    """The folder of the programs, put where the server's user reads them."""
    to = tree.folder / "installed"
    for folder in (".", "contrib/test_decoding"):
        tree.must("make", "-s", "-C", folder, "install", f"DESTDIR={to}")
    return next(to.rglob("bin/postgres")).parent


def run(tree: Tree, programs: Path, folder: Path, text: str, variables: Mapping[str, str] | None = None) -> str:
    """What a text for a shell prints, after ratios.sh in an empty folder. Raises BuildError if it fails."""
    shutil.rmtree(folder, ignore_errors=True)
    build.give(folder)
    log = folder.with_name(f"{folder.name}.log")
    with tempfile.TemporaryDirectory(prefix="pgquern-", dir="/tmp") as socket:
        build.give(Path(socket))
        script = f'cd "$1"; export PATH="$2:$PATH" PGHOST="$3"\n{(HERE / "ratios.sh").read_text()}\n{text}'
        if tree.run("bash", "-c", script, "ratios", folder, programs, socket, log=log, environment=variables):
            said = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise BuildError(f"it failed in {folder} ({log}):\n{said}")
    return log.read_text(errors="replace")


def measure(name: str, kernels: list[str], trees: Sequence[Tree], work: Path, rounds: int) -> Measured:
    """Rounds of one measure; both servers see the same prepared cluster."""
    one = Measured(name, kernels)
    wanted = MEASURES[name]
    programs = [install(tree) for tree in trees]
    place = work / "ratios" / name
    shutil.rmtree(place, ignore_errors=True)
    build.give(place.parent)
    build.give(place)
    run(trees[0], programs[0], place / "base", wanted["prepare"])
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            said = run(trees[which], programs[which], place / "run", wanted["measure"])
            (one.control, one.ours)[which].append(figure(wanted["figure"], said))
    shutil.rmtree(place)
    return one


def write(found: Sequence[Measured], version: str) -> None:
    """The figures with all that one needs to judge them, for programs and for people."""
    about = {
        "postgres": version,
        "commit": environment.commit(),
        "cpu": environment.cpu(),
        "gcc": environment.first_line("gcc", "--version"),
        "configure": " ".join(CONFIGURE),
    }
    figures: Mapping[str, Any] = {one.name: {"control": one.control, "ours": one.ours} for one in found}
    TO.with_suffix(".json").write_text(json.dumps({**about, "figures": figures}, indent=1) + "\n")
    rows = [HEADS, ["---"] * len(HEADS), *(one.cells for one in found)]
    lines = [f"- {name}: {value}" for name, value in about.items()]
    lines += [f"- rounds: {len(found[0].ratios)}, the servers in turn", ""] if found else []
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    TO.with_suffix(".md").write_text("\n".join(lines) + "\n")


@click.command(help=__doc__)
@click.option("--major", default="", help="Of the source package.")
@click.option("--rounds", default=7, show_default=True, type=click.IntRange(min=1), help="For each measure.")
@click.option("--only", default="", help="These measures.")
def main(major: str, rounds: int, only: str) -> None:
    if unknown := [name for name in only.split() if name not in MEASURES]:
        console(stderr=True).print(f"there is no measure {' '.join(unknown)}; there are: {' '.join(MEASURES)}")
        raise SystemExit(2)
    chosen = kinds.chosen({name: kind for name, kind in kinds.load().items() if kind.symbol}, "")
    work = build.workshop()
    try:
        version, fill = fill_from(None, major, work)
    except obtain.NotHad as error:
        console().print(f"[yellow]SKIPPED[/]: PostgreSQL's source cannot be had: {error}", soft_wrap=True)
        return
    control = build.control(work, f"{version}-fast", fill, CONFIGURE)
    texts, left_out = write_patch(chosen, control.folder, PATCH)
    if left_out:
        raise SystemExit(1)
    ours = build.changed(work, control, "pgquern", texts, build.library(work, ()))
    if missing := {kind.symbol for kind in chosen} - build.symbols(ours.postgres):
        console().print(f"[red]failed[/] the server does not call {' '.join(sorted(missing))}")
        raise SystemExit(1)
    found, bad = [], False
    with bar(console()) as progress:
        names = only.split() or list(MEASURES)
        for name in progress.track(names, description="measuring"):
            try:
                kernels = [kind.name for kind in chosen if name in kind.measures]
                found.append(measure(name, kernels, (control, ours), work, rounds))
            except (BuildError, ValueError) as error:
                console().print(f"[red]failed[/] {name}: {error}", soft_wrap=True)
                bad = True
    shown = Table(*HEADS, title=f"PostgreSQL {version} without asserts, our kernels inside", title_justify="left")
    for one in found:
        shown.add_row(*one.cells)
    console().print(shown)
    write(found, version)
    console().print(f"{TO}.md")
    raise SystemExit(bad)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Breaks one line of a kernel at a time and demands that the named seed of the stem's world finds it.

python -m tests.runners.world_mutants --cflags FLAGS [--stem STEM] [--only NAME] [--one-in N] [--search RUNS]

tests/<stem>/world.toml names mutants of tests/<stem>/mutants.toml:

    [finds]      mutant = the seed that finds it
    [[misses]]   why = "why no run of this world can, or does", mutants = [names]
    [[mutant]]   as in mutants.toml, without killed_by: a change that the world alone can find

Each mutant of the stem is in one of the two. The stem's kernels and its world are compiled for the world's threads, as
in `make world`, but without sanitizers: a violation must be said by the world, or the program must crash. The unchanged
program must pass the same seeds.

A change of the world changes what its seeds do. Then --search looks for the first of RUNS seeds that finds each mutant,
and prints the new [finds]; a mutant that none finds is named.
"""

import re
import shlex
import shutil
import subprocess
import time
import tomllib
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click

from tools.common import environment, mutants, results, shards
from tools.common.kernels import kernel_sources
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import bar, console

SOURCES = Path("csrc")
ROOT = results.scratch(Path("build/world-mutants"))
INTERPOSED = ["-include", "tests/world/interpose.h"]
"""For kernels: their threads and clock are the world's."""
LIBRARY = Path("build/lib/libpgquern.a")
"""All other stems' kernels."""
VIOLATION = re.compile(r"violation with SEED=(\d+): (.*)")


@dataclass(frozen=True)
class Compiler:
    """gcc with the flags of a world; `isa`: further ones by the end of a source's name, the lowest first."""

    cflags: Sequence[str]
    isa: dict[str, list[str]]

    def compile(self, source: Path, include: Path, target: Path) -> Path:
        """Compile one source; headers under `include` come first. A mutant may leave things unused."""
        level = next((level for level in self.isa if source.stem.endswith(level)), "")
        target.parent.mkdir(parents=True, exist_ok=True)
        interposed = INTERPOSED if SOURCES.name in source.parts else []
        flags = [f"-I{include}", *self.cflags, *self.isa.get(level, []), *interposed, "-w"]
        subprocess.run(["gcc", *flags, "-c", str(source), "-o", str(target)], check=True)
        return target


@dataclass(frozen=True)
class World:
    """A stem's world, compiled, and its kernels by source."""

    stem: str
    compiler: Compiler
    objects: dict[Path, Path]
    driver: list[Path]

    @classmethod
    def build(cls, stem: str, compiler: Compiler) -> "World":
        folder = ROOT / stem / "unchanged"
        shutil.rmtree(ROOT / stem, ignore_errors=True)
        kernels = kernel_sources(stem)
        drivers = [Path("tests", stem, "world.c"), *sorted(Path("tests/world").glob("*.c"))]

        def one(source: Path) -> Path:
            return compiler.compile(source, SOURCES, folder / source.parent.name / f"{source.stem}.o")

        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
            made = list(pool.map(one, [*kernels, *drivers]))
        return cls(stem, compiler, dict(zip(kernels, made, strict=False)), made[len(kernels) :])

    def link(self, target: Path, changed: dict[Path, Path]) -> Path:
        """The program, with these objects in the place of the sources' own."""
        objects = {**self.objects, **changed}.values()
        command = ["gcc", *map(str, [*objects, *self.driver, LIBRARY]), "-pthread", "-o", str(target)]
        subprocess.run(command, check=True)
        return target

    def mutant(self, mutant: Mutant) -> Path:
        """The program with one change; a header's change concerns each source of the stem."""
        folder = ROOT / self.stem / mutant.name
        changed = folder / SOURCES / mutant.file
        changed.parent.mkdir(parents=True, exist_ok=True)
        if mutant.file.endswith(".h"):
            shutil.copytree(SOURCES / self.stem, changed.parent, dirs_exist_ok=True)
        changed.write_text(mutant.source(SOURCES))
        sources = list(self.objects) if mutant.file.endswith(".h") else [SOURCES / mutant.file]
        objects = {}
        for source in sources:
            copy = folder / source
            objects[source] = self.compiler.compile(copy, folder / SOURCES, folder / f"{source.stem}.o")
        return self.link(folder / "world", objects)


def run(program: Path, first: int, n: int = 1) -> tuple[int | None, str]:
    """The first seed that finds something, and what; None if none does."""
    command = [str(program), str(first), str(n), "whole"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode == 0:
        return None, ""
    said = VIOLATION.findall(done.stderr)
    if not said:
        raise click.ClickException(f"{program} ended with {done.returncode}, and names no seed:\n{done.stderr[-1000:]}")
    return int(said[-1][0]), said[-1][1]


@dataclass(frozen=True)
class Listed:
    """A stem's table."""

    finds: dict[str, int]
    misses: frozenset[str]
    mutants: dict[str, Mutant]

    @classmethod
    def load(cls, stem: str) -> "Listed":
        table = tomllib.loads(Path("tests", stem, "world.toml").read_text())
        finds: dict[str, int] = table.get("finds", {})
        misses = frozenset(name for group in table.get("misses", []) if group["why"] for name in group["mutants"])
        try:
            both = (Path("tests", stem, name) for name in ("mutants.toml", "world.toml"))
            known = {mutant.name: mutant for path in both for mutant in mutants.load(path, Mutant)}
        except mutants.MutantError as error:
            raise click.ClickException(str(error)) from error
        for wrong, says in (
            (finds.keys() & misses, "in both tables"),
            ((finds.keys() | misses) - known.keys(), "in no list of mutants"),
            (known.keys() - finds.keys() - misses, "in neither table; run --search, or say why none finds it"),
        ):
            if wrong:
                raise click.ClickException(f"tests/{stem}/world.toml: {says}: {', '.join(sorted(wrong))}")
        return cls(finds, misses, known)


def judge(world: World, listed: Listed, name: str) -> dict[str, Any]:
    """An item of the results: whether the named seed finds the mutant, and passes without it."""
    start = time.monotonic()
    seed = listed.finds[name]
    found, says = run(world.mutant(listed.mutants[name]), seed)
    wrong, unchanged = run(ROOT / world.stem / "world", seed)
    reason = ""
    if found is None:
        reason = f"seed {seed} does not find it; if the world has changed, --search names another"
    if wrong is not None:
        reason = f"the unchanged kernel fails: {unchanged}; make world STEM={world.stem} SEED={seed} repeats it"
    seconds = round(time.monotonic() - start, 2)
    status = "failed" if reason else "passed"
    return {"name": name, "status": status, "reason": reason, "seed": seed, "found": says, "seconds": seconds}


def tell(stem: str, items: Sequence[dict[str, Any]], one_in: int, misses: int, seconds: float) -> bool:
    """Print and write the result of a stem; whether it passed."""
    failed = [item for item in items if item["status"] == "failed"]
    sample = f" (one in {one_in})" if one_in > 1 else ""
    says = (
        f"{len(items)} mutants{sample}, {len(items) - len(failed)} found by their seeds; {misses} are beyond this world"
    )
    gcc = environment.first_line("gcc", "--version")
    results.write("world-mutants", stem, items, says=says, seconds=seconds, tools={"gcc": gcc})
    for item in failed:
        console().print(f"{stem}: {item['name']}: {item['reason']}", markup=False, soft_wrap=True)
    console().print(f"world-mutants {stem}: {says}, in {seconds:.0f} s", highlight=False, soft_wrap=True)
    return not failed


def search(world: World, listed: Listed, names: Iterable[str], runs: int, pool: ThreadPoolExecutor) -> None:
    """Print the first seed that finds each."""
    chosen = list(names)
    for name, (seed, says) in zip(
        chosen, pool.map(lambda name: run(world.mutant(listed.mutants[name]), 0, runs), chosen), strict=True
    ):
        console().print(f"{name} = {seed}  # {says}" if seed is not None else f"# none finds {name}", markup=False)


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--cflags", required=True, help="Compiler flags of a world, without sanitizers.")
@click.option("--isa", multiple=True, help="LEVEL=FLAGS: further flags for sources whose name ends in LEVEL.")
@click.option("--only", multiple=True, help="Only these mutants. No result is written.")
@click.option("--one-in", default=1, help="A sample: one mutant in N, chosen by its name.")
@click.option("--search", "runs", type=int, help="Look for each mutant's first seed among so many; judge nothing.")
@click.option("--list", "lists", is_flag=True, help="Print the stems, a shard each, and run nothing.")
def main(
    stem: str, cflags: str, isa: Sequence[str], only: Sequence[str], one_in: int, runs: int | None, lists: bool
) -> None:
    """Let the worlds find the mutants that they are to find."""
    split = (entry.partition("=") for entry in isa)
    compiler = Compiler(shlex.split(cflags), {name: shlex.split(flags) for name, _, flags in split})
    passed = []
    for row in with_cell("tests/{stem}/world.toml", stem):
        start = time.monotonic()
        if lists:
            shards.say(row, "all")
            continue
        listed = Listed.load(row)
        world = World.build(row, compiler)
        world.link(ROOT / row / "world", {})
        names = [name for name in listed.finds if zlib.crc32(name.encode()) % one_in == 0]
        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool, bar(console(stderr=True)) as progress:
            if runs is not None:
                search(world, listed, only or listed.finds, runs, pool)
                continue
            task = progress.add_task(f"world-mutants {row}", total=len(names))
            items = []
            for item in pool.map(partial(judge, world, listed), only or names):
                items.append(item)
                progress.advance(task)
        if only:
            console().print_json(data=items)
            passed.append(all(item["status"] == "passed" for item in items))
        else:
            passed.append(tell(row, items, one_in, len(listed.misses), time.monotonic() - start))
    raise SystemExit(not all(passed))


if __name__ == "__main__":
    main()

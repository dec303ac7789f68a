# SPDX-License-Identifier: PostgreSQL
"""Runs a stem's tests against one-line changes of its kernels and of its oracle that a machine has made.

The ground under all stems, xid and page, has an oracle alone.

python -m tests.runners.mutants_all --cflags FLAGS --world FLAGS --asan FLAGS --isa LEVEL=FLAGS ... [--stem STEM]
    [--number N] [--part I/N]

A change that the build refuses, or that compiles to the same code as the original or as a change before it, is dropped.
Each of the N that are left is tried, until one kills it, by

- the tests that tests/<stem>/mutants.toml names for changes of the same file, and for the oracle by its own tests,
- all of test_kernels*.py and test_extracted.py, and of the stem's other files that mutants.toml names a test of,
- a few seeds of the stem's worlds, if it has any and C was changed,
- test_kernels*.py under ASan and UBSan, if C was changed: a write past an array may hurt nobody else.

A change of which another compiler makes the original's code changes nothing, and is tried no further than the first of
these. What survives must stand in tests/<stem>/survivors.toml with a reason. What stands there and is killed is an
error.
The limits of CPU time are multiples of what the unchanged sources need, for each test; a world has its own.
"""

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import click
import pytest
from rich.table import Table

from tests.runners import changes, nodes
from tests.runners.changes import Change
from tests.runners.mutants import (
    BINDING,
    CONTROL_CPU,
    CONTROL_EXAMPLES,
    FFI,
    OBJECTS,
    SOURCES,
    UNCHANGED,
    Compiler,
    cpu,
    sources_with,
)
from tests.runners.world import weight
from tools.common import environment, mutants, results, sanitized, shards
from tools.common.kernels import kernel_sources
from tools.common.mutants import Mutant
from tools.common.progress import bar, console

ROOT = results.scratch(Path("build/mutants-all"))
WORLD_OBJECTS = Path("build/obj-world")
ASAN_OBJECTS = Path("build/obj-asan")
SEEDS = 200
"""Of a world; fewer of one that is heavy."""
CPU_LEAST, CPU_TIMES = 20, 20
"""A test may use 20 CPU seconds, and 20 times what the control has used, which tries a fifth of the examples."""
SHARD = 25
"""Changes that a shard tries. All shards of a stem compile the whole sample, to know the duplicates in it."""
STATUS = {"killed": "passed", "reason": "passed", "survived": "failed", "stale": "failed", "skipped": "skipped"}


@dataclass(frozen=True)
class Built:
    """A change that compiles, to code of its own."""

    change: Change
    folder: Path
    objects: dict[str, Path]
    """The objects that differ from the ordinary ones, by source under csrc/; none for a change of the oracle."""


@dataclass
class Row:
    """A stem, and what of it has been looked at so far."""

    stem: str
    plain: Compiler
    world: Compiler
    asan: Compiler
    dropped: dict[str, Counter[str]] = field(init=False)
    """By layer: how many changes were refused, equivalent, or duplicates."""
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a test has killed a change of a file: the best come first."""
    controls: nodes.Ended = field(default_factory=lambda: nodes.Ended(0, {}, "", 0.0, {}, ""))
    controlled: set[str] = field(default_factory=set)
    world_passes: bool = False
    """Whether the unchanged worlds have passed."""
    controlling: Lock = field(default_factory=Lock)
    compiling: Lock = field(default_factory=Lock)
    """Held while what all changes share is made."""

    def __post_init__(self) -> None:
        self.dropped = {layer: Counter() for layer in sorted(set(map(changes.layer_of, changes.files(self.stem))))}

    @property
    def root(self) -> Path:
        return ROOT / self.stem

    @cached_property
    def near(self) -> dict[str, list[str]]:
        """The tests that mutants.toml names, by the changed file."""
        found: dict[str, list[str]] = {}
        listed = Path("tests", self.stem, "mutants.toml")
        for mutant in mutants.load(listed, Mutant) if listed.exists() else []:
            found.setdefault(f"csrc/{mutant.file}", []).append(mutant.killed_by)
        every = [killer for killers in found.values() for killer in killers]
        most = [killer for killer, _ in Counter(every).most_common(8)]
        own = map(str, sorted(Path("tests", self.stem).glob("test_oracle*.py")))
        named = {file: list(dict.fromkeys(found.get(file, most))) for file in changes.files(self.stem)}
        named[f"ref/{self.stem}.py"] = [*own, *most]
        return named

    @cached_property
    def every(self) -> list[str]:
        """The files of all fast tests of the stem's kernels."""
        folder = Path("tests", self.stem)
        named = {Path(node.partition("::")[0]) for killers in self.near.values() for node in killers}
        found = {*folder.glob("test_kernels*.py"), *folder.glob("test_extracted.py")}
        return sorted(str(path) for path in found | named if path.parent == folder)

    def control(self, chosen: Sequence[str]) -> nodes.Ended:
        """Runs tests on the unchanged sources, each once, where they must pass. What all those say that have run."""
        with self.controlling:
            before = self.controls
            if missing := [entry for entry in chosen if entry not in self.controlled]:
                log = self.root / "control.log"
                ended = nodes.run(missing, UNCHANGED, log, CONTROL_CPU, CONTROL_EXAMPLES, without=before.seconds)
                if ended.code not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
                    raise click.ClickException(f"{self.stem} does not pass unchanged:\n{ended.output[-3000:]}")
                self.controlled.update(missing)
                seconds, skipped = before.seconds | ended.seconds, ended.skipped or before.skipped
                self.controls = before._replace(seconds=seconds, skipped=skipped)
            return self.controls

    def limits(self, control: nodes.Ended, file: str) -> dict[str, int]:
        """CPU seconds of each test: those first that have killed changes of this file, then the short ones."""
        order = sorted(control.seconds, key=lambda node: (-self.kills[file, node], control.seconds[node]))
        return {node: int(CPU_LEAST + CPU_TIMES * control.seconds[node]) for node in order}

    def compile(self, compiler: Compiler, change: Change, folder: Path) -> dict[str, Path] | None:
        """The objects of what the change concerns; None if the build refuses it, warnings included."""
        file = change.file.removeprefix("csrc/")
        changed = folder / change.file
        changed.parent.mkdir(parents=True, exist_ok=True)
        changed.write_text(change.text())
        made = {}
        for source in sources_with(file):
            origin = changed if source == file else SOURCES / source
            made[source] = folder / "obj" / Path(source).with_suffix(".o")
            if subprocess.run(compiler.command(origin, folder / SOURCES, made[source]), capture_output=True).returncode:
                return None
        return made

    def original(self, source: str) -> bytes:
        """The object of an unchanged source."""
        target = self.root / "original" / Path(source).with_suffix(".o")
        with self.compiling:
            if not target.exists():
                subprocess.run(self.plain.command(SOURCES / source, SOURCES, target), check=True)
        return target.read_bytes()

    def code(self, built: Built) -> list[str | bytes]:
        """What tells two changes apart: their object code, or what Python makes of them."""
        if built.objects:
            return [path.read_bytes() for path in built.objects.values()]
        return [changes.meaning(built.change.text()) or ""]

    def build(self, change: Change) -> Built | str:
        """The change, compiled; or why it is dropped."""
        folder = self.root / f"{change.rank:08x}"
        shutil.rmtree(folder, ignore_errors=True)
        if change.layer == "oracle":
            meant = changes.meaning(change.text())
            if meant is None:
                return "refused"
            if meant == changes.meaning(Path(change.file).read_text()):
                return "equivalent"
            shutil.copytree("ref", folder / "ref", ignore=shutil.ignore_patterns("__pycache__"))
            (folder / change.file).write_text(change.text())
            return Built(change, folder, {})
        made = self.compile(self.plain, change, folder)
        if made is None:
            return "refused"
        if all(path.read_bytes() == self.original(source) for source, path in made.items()):
            return "equivalent"
        built = Built(change, folder, made)
        return built if self.links(built) else "refused"

    def sample(self, number: int, pool: ThreadPoolExecutor) -> Iterator[Built]:
        """The first `number` changes that are left, in the order of the samples. Counts those that are dropped."""
        seen: set[tuple[str, int]] = set()
        waiting = iter(changes.of_row(self.stem))
        while number and (batch := [change for change, _ in zip(waiting, range(8), strict=False)]):
            for change, built in zip(batch, pool.map(self.build, batch), strict=True):
                if not number:
                    break
                fate = built if isinstance(built, str) else ""
                if isinstance(built, Built):
                    mark = change.file, hash(tuple(self.code(built)))
                    fate = "duplicate" if mark in seen else ""
                    seen.add(mark)
                if fate or isinstance(built, str):
                    self.dropped[change.layer][fate] += 1
                    shutil.rmtree(self.root / f"{change.rank:08x}", ignore_errors=True)
                    continue
                number -= 1
                yield built

    def links(self, built: Built) -> bool:
        """Whether the change's binding can be linked; it then lies in the change's folder.

        A shared object may lack a function that it calls, and fails when it is loaded. So the kernels alone, which need
        none of Python's, are linked so that all must be there.
        """
        whole = ["gcc", "-shared", "-Wl,-z,defs", *objects_with(OBJECTS, built.objects), "-pthread", "-o", os.devnull]
        if subprocess.run(whole, capture_output=True).returncode:
            return False
        return self.link(built.folder, OBJECTS, built.objects)

    def link(self, folder: Path, ordinary: Path, changed: Mapping[str, Path], *flags: str) -> bool:
        """Links a binding of the ordinary objects, but for those that are changed."""
        objects = objects_with(ordinary, changed)
        command = ["gcc", "-shared", *flags, str(BINDING), *objects, "-o", str(folder / FFI)]
        return subprocess.run(command, capture_output=True).returncode == 0

    def tests(self, built: Built) -> str:
        """Which test kills the change, or how it ends; empty if none does."""
        file = built.change.file
        binding, before = (built.folder, "") if built.objects else (UNCHANGED, str(built.folder))
        passed: list[str] = []
        for chosen in (self.near[file], self.every):
            if passed and self.same_by_clang(built):
                return ""
            limits = self.limits(self.control(chosen), file)
            log = built.folder / "log"
            ended = nodes.run(chosen, binding, log, CONTROL_CPU, limits=limits, without=passed, before=before)
            failed = next((node for node, outcome in ended.outcomes.items() if outcome == "failed"), "")
            self.kills[file, failed] += 1
            if ended.code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR):
                return "the tests cannot be imported"
            if failed or ended.killed:
                return failed or ended.killed
            passed += ended.outcomes
        return ""

    def worlds(self, built: Built) -> str:
        """Which of the stem's worlds kills the change, by a few runs; empty if none does."""
        sources = sorted(Path("tests", self.stem).glob("*world.c"))
        if not built.objects or not sources:
            return ""
        folder = built.folder / "world"
        if (made := self.compile(self.world, built.change, folder)) is None:
            return ""
        with self.controlling:
            if not self.world_passes and any(self.run_world(each, self.root / "world", {}) for each in sources):
                raise click.ClickException(f"{self.stem}'s world fails unchanged: make world STEM={self.stem}")
            self.world_passes = True
        return next((each.stem for each in sources if self.run_world(each, folder, made)), "")

    def run_world(self, world: Path, folder: Path, changed: Mapping[str, Path]) -> int:
        """Links a world with these objects in the place of the sources' own, and runs it: 0 if all is well.

        Each seed's CPU time is limited by the world itself.
        """
        sources = [world, *sorted(Path("tests/world").glob("*.c"))]
        program = folder / f"run_{world.stem}"
        linked = [*(str(self.harness(source)) for source in sources), *objects_with(WORLD_OBJECTS, changed)]
        sanitize = "-fsanitize=address,undefined"
        subprocess.run(["gcc", sanitize, *linked, "-pthread", "-o", program], check=True)
        seeds = str(SEEDS // weight(world))
        return subprocess.run([program, "0", seeds, "whole"], capture_output=True).returncode

    def sanitized(self, built: Built) -> str:
        """Whether the kernels' tests under ASan and UBSan kill the change."""
        if not built.objects:
            return ""
        folder = built.folder / "asan"
        if (made := self.compile(self.asan, built.change, folder)) is None:
            return ""
        self.link(folder, ASAN_OBJECTS, made, sanitized.FLAG)
        paths = ["-o", f"pythonpath=. csrc/ffi {folder}"]
        tests = sorted(map(str, Path("tests", self.stem).glob("test_kernels*.py")))
        variables = sanitized.environment() | {"PYTHONPATH": f".:csrc/ffi:{folder}", "PGQUERN_PROFILE": "asan"}
        command = [sys.executable, "-m", "pytest", *nodes.OPTIONS, *paths, *tests]
        ended = subprocess.run(command, capture_output=True, env=os.environ | variables)
        return "the sanitizers" if ended.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else ""

    def harness(self, source: Path) -> Path:
        """An object of the world itself, which no change concerns; its calls are the real ones."""
        target = self.root / "world" / source.with_suffix(".o").name
        flags = [flag for flag in self.world.cflags if flag not in ("-include", "tests/world/interpose.h")]
        with self.compiling:
            if not target.exists():
                subprocess.run(Compiler(flags, {}).command(source, SOURCES, target), check=True)
        return target

    def same_by_clang(self, built: Built) -> bool:
        """Whether another compiler makes the same code of the change as of the original: then it changes nothing."""
        for source in built.objects:
            flags = [*self.plain.cflags, *self.plain.isa.get(self.plain.level(source), []), "-w", "-c", "-o", "-"]
            changed = built.folder / SOURCES / source
            here, there = (
                subprocess.run(["clang", f"-I{include}", *flags, str(path)], capture_output=True)
                for include, path in (
                    (built.folder / SOURCES, changed if changed.exists() else SOURCES / source),
                    (SOURCES, SOURCES / source),
                )
            )
            if here.returncode or here.stdout != there.stdout:
                return False
        return bool(built.objects)

    def has_all(self) -> bool:
        """Whether this CPU runs all kernels: the lists are made on such ones, and another may catch more."""
        return cpu() in [*self.plain.isa][-1:] or not self.plain.isa

    def judge(self, listed: Mapping[tuple[str, str, str, int], str], trusts: bool, built: Built) -> dict[str, Any]:
        """Tries a change: an item of the results."""
        start = time.monotonic()
        change, why = built.change, listed.get(built.change.key, "")
        by, verdict, reason = "", "reason", why
        if self.plain.lacks(change.file):
            verdict = "skipped"
            reason = f"{change.file} needs {self.plain.level(change.file)}; this CPU's level is {cpu()}"
        elif not (why and trusts):
            by = self.tests(built) or self.worlds(built) or ("" if why else self.sanitized(built))
            if by and why and self.has_all():
                verdict, reason = "stale", f"{by} kills it; remove its entry from survivors.toml"
            elif by and not why:
                verdict, reason = "killed", ""
            elif not why and self.same_by_clang(built):
                verdict = "equivalent"
            elif not why and (lacks := self.control(self.every).skipped):
                verdict, reason = "skipped", f"no test that can run here fails; of the others: {lacks}"
            elif not why:
                verdict, reason = "survived", "no test fails"
        if verdict != "survived":
            shutil.rmtree(built.folder)
        item = {"name": change.name, "layer": change.layer, "verdict": verdict, "by": by, "reason": reason}
        return item | {"status": STATUS.get(verdict, "passed"), "seconds": round(time.monotonic() - start, 2)}


def objects_with(ordinary: Path, changed: Mapping[str, Path]) -> list[str]:
    """The objects of all kernels, those that are changed in the place of the ordinary ones."""
    names = (str(source.relative_to(SOURCES)) for source in kernel_sources())
    objects = {name: ordinary / Path(name).with_suffix(".o") for name in names} | dict(changed)
    return list(map(str, objects.values()))


def counts(dropped_of: Mapping[str, Counter[str]], items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line for each layer: what became of the changes that were looked at. dropped_of: those dropped, by layer."""
    lines = []
    for layer, dropped in dropped_of.items():
        verdicts = Counter(item["verdict"] for item in items if item["layer"] == layer)
        judged = verdicts["killed"] + verdicts["reason"] + verdicts["survived"] + verdicts["stale"]
        lines.append(
            {
                "layer": layer,
                "made": dropped.total() + verdicts.total(),
                "refused": dropped["refused"],
                "equivalent": dropped["equivalent"] + dropped["duplicate"] + verdicts["equivalent"],
                "killed": verdicts["killed"],
                "with_reason": verdicts["reason"] + verdicts["stale"],
                "survived": verdicts["survived"],
                "skipped": verdicts["skipped"],
                "share": round(100 * verdicts["killed"] / judged, 1) if judged else None,
            }
        )
    return lines


def tell(
    stem: str,
    dropped: Mapping[str, Counter[str]],
    items: Sequence[dict[str, Any]],
    seconds: float,
    of: Sequence[results.Result] = (),
) -> None:
    """Print and write what became of a stem's changes. of: the shards that are joined."""
    lines = counts(dropped, items)
    table = Table(*lines[0], title=f"{stem}: changes by a machine", title_justify="left")
    for line in lines:
        table.add_row(*("" if cell is None else str(cell) for cell in line.values()))
    console().print(table)
    killed, reason, survived = (sum(line[what] for line in lines) for what in ("killed", "with_reason", "survived"))
    says = f"{len(items)} changes by a machine: {killed} killed, {reason} survive with a reason, {survived} without"
    gcc = environment.first_line("gcc", "--version")
    results.write(
        "mutants-all",
        stem,
        items,
        says=says,
        seconds=seconds,
        tools=shards.tools(list(of)) or {"gcc": gcc},
        of=of,
        table=lines,
        dropped=dropped,
    )
    console().print(f"mutants-all {stem}: {says}, in {seconds:.0f} s", soft_wrap=True)


def join(stem: str, folder: Path) -> None:
    """Make a stem's result of those of its shards, which have all dropped the same changes."""
    of = shards.load(folder)
    told = [result.model_dump()["dropped"] for result in of]
    if any(dropped != told[0] for dropped in told):
        raise shards.ShardError(f"{stem}: the shards have not dropped the same changes: their compilers differ")
    items = [item.model_dump() for result in of for item in result.items]
    tell(stem, {layer: Counter(dropped) for layer, dropped in told[0].items()}, items, sum(r.seconds for r in of), of)


def run(row: Row, number: int, trusts: bool, workers: int, part: tuple[int, int]) -> list[dict[str, Any]]:
    """Tries a sample of a stem's changes, of each `n` the one with the rest `i`, if part is (i, n)."""
    try:
        listed = changes.survivors(row.stem)
    except changes.ListError as error:
        raise click.ClickException(str(error)) from error
    shutil.rmtree(row.root, ignore_errors=True)
    items = []
    with bar(console()) as progress, ThreadPoolExecutor(workers) as pool:
        task = progress.add_task(f"{row.stem}: changes", total=number)
        chosen = []
        for place, built in enumerate(row.sample(number, pool)):
            if place % part[1] == part[0]:
                chosen.append(built)
            else:
                shutil.rmtree(built.folder)
        for item in pool.map(lambda built: row.judge(listed, trusts, built), chosen):
            items.append(item)
            progress.advance(task)
            if item["status"] == "failed":
                says = f"{item['verdict']}: {item['name']}\n  {item['reason']}"
                progress.console.print(says, markup=False, soft_wrap=True)
    return items


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--cflags", required=True, help="Compiler flags of the ordinary build.")
@click.option("--world", required=True, help="Compiler flags of the world's build.")
@click.option("--asan", required=True, help="Compiler flags of the build under sanitizers.")
@click.option("--isa", multiple=True, help="LEVEL=FLAGS, lowest level first.")
@click.option("--number", default=150, show_default=True, help="Changes of each stem.")
@click.option("--trust", is_flag=True, help="Do not try what survivors.toml lists.")
@click.option("--jobs", default=4, show_default=True, help="At a time; some of them sleep.")
@click.option("--part", default="0/1", show_default=True, help="I/N: of each N changes the one with the rest I.")
@click.option("--list", "lists", is_flag=True, help="Print the shards, and try no change.")
@click.option("--join", "folder", type=click.Path(path_type=Path), help="Make one result of a stem's shards.")
def main(
    stem: str,
    cflags: str,
    world: str,
    asan: str,
    isa: Sequence[str],
    number: int,
    trust: bool,
    jobs: int,
    part: str,
    lists: bool,
    folder: Path | None,
) -> None:
    """Try changes of each stem's kernels and oracle that a machine has made."""
    which, _, parts = part.partition("/")
    if folder:
        join(stem, folder)
        return
    if lists:
        n = -(-number // SHARD)
        for name in changes.changed(stem):
            for i in range(n):
                shards.say(name, f"part-{i}-of-{n}", NUMBER=number, PART=f"{i}/{n}")
        return
    split = (entry.partition("=") for entry in isa)
    levels = {name: shlex.split(flags) for name, _, flags in split}
    failed = []
    for name in changes.changed(stem):
        start = time.monotonic()
        plain = Compiler([*shlex.split(cflags), "-g0"], levels)
        row = Row(name, plain, Compiler(shlex.split(world), levels), Compiler(shlex.split(asan), levels))
        items = run(row, number, trust, jobs, (int(which), int(parts)))
        tell(name, row.dropped, items, time.monotonic() - start)
        failed += [item["name"] for item in items if item["status"] == "failed"]
    if failed:
        raise click.ClickException(
            f"{len(failed)} changes survive that tests/<stem>/survivors.toml does not list, or are listed and killed; "
            "write a test that fails on each, or list it with the reason why none has to"
        )


if __name__ == "__main__":
    main()

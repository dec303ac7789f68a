# SPDX-License-Identifier: PostgreSQL
"""Breaks one line of a kernel at a time and demands that the test named for it fails.

python -m tests.runners.mutants --cflags FLAGS --isa LEVEL=FLAGS ... [--stem STEM] [--only NAME] [--one-in N | --quick]

Reads tests/<stem>/mutants.toml. For each mutant the changed file, and what includes it, is compiled to
build/mutants/<stem>/<name>/ and linked with the objects of the ordinary build (build/obj) to a binding of its own. A
changed Python module of the binding lies there in a copy of its package, beside the ordinary binding. The test runs
against that. A mutant is killed if the test fails, if the process crashes, if it takes far more CPU time than the
control, or if it waits for ever. One that survives is tried again, and the table says so. The control, the same test
on the ordinary build, must pass; a test that does not exist is an error.

A mutant is skipped, with the reason, if this CPU cannot run its file or its test.
"""

import shlex
import shutil
import subprocess
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from tests.runners import nodes
from tools.common import environment, mutants, results, shards
from tools.common.kernels import kernel_sources
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import bar, console

SOURCES = Path("csrc")
ROOT = results.scratch(Path("build/mutants"))
OBJECTS = Path("build/obj")
UNCHANGED = Path("build/ffi")
BINDING = Path("build/ffi-src/_pgquern.o")
FFI = "_pgquern.abi3.so"
PYTHON = Path("ffi/pgquern")
CONTROL_CPU = 3600
"""CPU seconds after which a control hangs."""
CONTROL_EXAMPLES = 50
"""Of Hypothesis: the control shows that the test passes by the same path. `make test-python` runs it in full."""
TRIES = 3
"""Of a mutant that survives: where threads meet, a busy machine may hide what it breaks."""
STATUS = {"killed": "passed", "survived": "failed", "skipped": "skipped"}
COLOURS = {"killed": "", "survived": "[red]", "skipped": "[yellow]"}


@cache
def cpu() -> str:
    """The level of this CPU, or what PGQUERN_CPU leaves of it."""
    # Not at the top: each child imports this module again, and must load its own binding.
    from pgquern.cpu import cpu as level

    return level()


@dataclass(frozen=True)
class Compiler:
    """gcc with the flags of the ordinary build."""

    cflags: Sequence[str]
    isa: dict[str, list[str]]
    """Flags by level of csrc/common/cpu.h, the lowest level first."""

    def level(self, file: str) -> str:
        """The level that a source file is compiled for, by the end of its name; empty if it runs on any CPU."""
        return next((level for level in self.isa if Path(file).stem.endswith(level)), "")

    def lacks(self, file: str) -> bool:
        """Whether this CPU, or what PGQUERN_CPU leaves of it, cannot run a source file."""
        levels = ["none", *self.isa]
        return bool(self.level(file)) and levels.index(self.level(file)) > levels.index(cpu())

    def command(self, source: Path, include: Path, target: Path) -> list[str]:
        """What compiles one source, headers in `include` first. The target's folder is made."""
        flags = self.isa.get(self.level(source.name), [])
        target.parent.mkdir(parents=True, exist_ok=True)
        return ["gcc", f"-I{include}", *self.cflags, *flags, "-c", str(source), "-o", str(target)]


def sources_with(file: str) -> list[str]:
    """The sources under csrc/ that a change of `file` concerns: itself, or for a header all that include it."""
    if file.endswith(".c"):
        return [file]
    found = []
    for depends in OBJECTS.rglob("*.d"):
        if f"csrc/{file}" in depends.read_text().replace("\\\n", " ").split():
            found.append(str(depends.relative_to(OBJECTS).with_suffix(".c")))
    # The object of a source that was removed may still exist.
    return sorted(source for source in found if (SOURCES / source).exists())


def build(mutant: Mutant, folder: Path, compiler: Compiler) -> None:
    """Builds the mutant's binding in a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    changed = folder / SOURCES / mutant.file
    changed.parent.mkdir(parents=True)
    changed.write_text(mutant.source(SOURCES))
    if mutant.file.endswith(".py"):
        package = folder / PYTHON.name
        shutil.copytree(SOURCES / PYTHON, package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(changed, package)
        shutil.copy(UNCHANGED / FFI, folder)
        return
    names = (str(source.relative_to(SOURCES).with_suffix(".o")) for source in kernel_sources())
    objects = {name: OBJECTS / name for name in names}
    for source in sources_with(mutant.file):
        name = str(Path(source).with_suffix(".o"))
        objects[name] = folder / "obj" / name
        origin = changed if source == mutant.file else SOURCES / source
        # Warnings are no errors: a mutant may leave things unused.
        subprocess.run([*compiler.command(origin, folder / SOURCES, objects[name]), "-w"], check=True)
    subprocess.run(["gcc", "-shared", BINDING, *objects.values(), "-o", folder / FFI], check=True)


def control(node: str) -> nodes.Ended:
    """Runs a test on the ordinary build, where it must pass, or be skipped as a whole."""
    log = ROOT / "control" / f"{zlib.crc32(node.encode()):08x}.log"
    ended = nodes.run(node, UNCHANGED, log, CONTROL_CPU, CONTROL_EXAMPLES)
    if ended.code == nodes.MISSING:
        raise click.ClickException(f"there is no test {node}; correct killed_by in its mutants.toml\n{ended.output}")
    if ended.code != 0:
        raise click.ClickException(f"{node} does not pass on the unchanged kernels:\n{ended.output[-3000:]}")
    return ended


def cannot_run(mutant: Mutant, compiler: Compiler, control: nodes.Ended) -> str:
    """Why a mutant has to be skipped here; empty if it can run."""
    if compiler.lacks(mutant.file):
        return f"csrc/{mutant.file} needs {compiler.level(mutant.file)}; this CPU's level is {cpu()}"
    return control.skipped if set(control.outcomes.values()) == {"skipped"} else ""


def judge(compiler: Compiler, controls: dict[str, nodes.Ended], stem: str, mutant: Mutant) -> dict[str, Any]:
    """Builds a mutant and runs its test: an item of the results."""
    start = time.monotonic()
    unchanged = controls[mutant.killed_by]
    item = mutant.model_dump() | {"file": f"csrc/{mutant.file}", "verdict": "skipped", "by": ""}
    reason = cannot_run(mutant, compiler, unchanged)
    if not reason:
        folder = ROOT / stem / mutant.name
        try:
            build(mutant, folder, compiler)
        except subprocess.CalledProcessError as error:
            raise click.ClickException(f"{mutant.name} does not compile or link; correct `new`") from error
        limit = int(10 + 30 * unchanged.cpu)
        tries = [nodes.run(mutant.killed_by, folder, folder / "log", limit)]
        while not tries[-1].killed and len(tries) < TRIES:
            tries.append(nodes.run(mutant.killed_by, folder, folder / "log", limit))
        ended = tries[-1]
        item |= {"verdict": "killed" if ended.killed else "survived", "by": ended.killed, "tries": len(tries)}
        if not ended.killed:
            reason = f"survived: pytest ended with {ended.code}\n{ended.output[-2000:]}"
    seconds = round(time.monotonic() - start, 2)
    return item | {"status": STATUS[str(item["verdict"])], "reason": reason, "seconds": seconds}


def sample(stem: str, only: Sequence[str], one_in: int) -> list[Mutant]:
    """The stem's mutants: those named, or of each `one_in` one, chosen by a checksum of the name."""
    try:
        listed = mutants.load(Path("tests", stem, "mutants.toml"), Mutant)
        for mutant in listed:
            mutant.source(SOURCES)
    except mutants.MutantError as error:
        raise click.ClickException(str(error)) from error
    if only:
        return [mutant for mutant in listed if mutant.name in only]
    return [mutant for mutant in listed if zlib.crc32(mutant.name.encode()) % one_in == 0]


def show(stem: str, items: Sequence[dict[str, Any]]) -> None:
    """A line for each mutant."""
    table = Table("mutant", "test", "verdict", "s", title=f"{stem}: mutant kernels", title_justify="left")
    for item in items:
        verdict = item["verdict"]
        test = item["killed_by"].rpartition("::")[2].replace("[", r"\[")
        how = COLOURS[verdict] + verdict + (f" by {item['by']}" if item["by"] not in ("", nodes.FAILED) else "")
        how += f" at try {item['tries']}" if item.get("tries", 1) > 1 else ""
        table.add_row(item["name"], test, how, f"{item['seconds']:.1f}")
    console().print(table)


def run(stem: str, chosen: Sequence[Mutant], compiler: Compiler) -> list[dict[str, Any]]:
    """The items of a stem: first the controls, then the mutants, each as many at a time as there are CPUs."""
    nodes.preload([f"ref.{stem}"])
    killers = sorted({mutant.killed_by for mutant in chosen})
    with bar(console()) as progress, ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        task = progress.add_task(f"{stem}: mutants", total=len(killers) + len(chosen))
        controls, items = {}, []
        for killer, ended in zip(killers, pool.map(control, killers), strict=True):
            controls[killer] = ended
            progress.advance(task)
        for item in pool.map(partial(judge, compiler, controls, stem), chosen):
            items.append(item)
            progress.advance(task)
    return items


def first(listed: Sequence[Mutant], compiler: Compiler) -> list[Mutant]:
    """One mutant of a stem, for a first look: in C that any CPU can run, and chosen by the checksum of its name."""
    able = [mutant for mutant in listed if mutant.file.endswith(".c") and not compiler.level(mutant.file)]
    return sorted(able, key=lambda mutant: zlib.crc32(mutant.name.encode()))[:1]


def tell(layer: str, stem: str, items: Sequence[dict[str, Any]], seconds: float, one_in: int) -> None:
    """Print and write the results of a stem's mutants."""
    verdicts = [item["verdict"] for item in items]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in STATUS]
    says = f"{len(items)} mutants{f' (one in {one_in})' if one_in > 1 else ''}: {', '.join(counts)}"
    show(stem, items)
    for reason in sorted({item["reason"] for item in items if item["verdict"] == "skipped"}):
        console().print(f"[yellow]SKIPPED[/] {sum(item['reason'] == reason for item in items)}: {reason}")
    console().print(f"mutants {stem}: {says}, in {seconds:.0f} s", highlight=False, soft_wrap=True)
    results.write(
        layer, stem, items, says=says, seconds=seconds, tools={"gcc": environment.first_line("gcc", "--version")}
    )


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--cflags", required=True, help="Compiler flags of the ordinary build.")
@click.option(
    "--isa",
    multiple=True,
    help="LEVEL=FLAGS: further compiler flags for sources whose name ends in LEVEL, lowest level first.",
)
@click.option("--only", multiple=True, help="Only these mutants. A shard's result is written, no other.")
@click.option("--one-in", default=1, help="A sample: one mutant in N, chosen by its name.")
@click.option("--quick", is_flag=True, help="One mutant of each stem. Results go to mutants-quick.")
@click.option("--list", "lists", is_flag=True, help="Print the shards, and run none.")
def main(
    stem: str, cflags: str, isa: Sequence[str], only: Sequence[str], one_in: int, quick: bool, lists: bool
) -> None:
    """Kill the mutants of each stem that has some."""
    split = (entry.partition("=") for entry in isa)
    compiler = Compiler(shlex.split(cflags), {name: shlex.split(flags) for name, _, flags in split})
    survivors: list[str] = []
    for name in with_cell("tests/{stem}/mutants.toml", stem):
        start = time.monotonic()
        chosen = sample(name, only, one_in)
        if lists:
            for mutant in chosen:
                shards.say(name, mutant.name, ONLY=mutant.name)
            continue
        items = run(name, first(chosen, compiler) if quick else chosen, compiler)
        survivors += [item["name"] for item in items if item["verdict"] == "survived"]
        if only and not results.APART:
            show(name, items)
        else:
            tell("mutants" + results.QUICK * quick, name, items, time.monotonic() - start, one_in)
    if survivors:
        raise click.ClickException(
            f"survived: {', '.join(survivors)}; strengthen the test, or name another in killed_by"
        )


if __name__ == "__main__":
    main()

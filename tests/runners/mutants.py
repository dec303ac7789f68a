# SPDX-License-Identifier: PostgreSQL
"""Breaks one line of a kernel at a time and demands that the test named for it fails.

python -m tests.runners.mutants STEM --cflags FLAGS [--isa avx2=FLAGS --isa avx512=FLAGS] [--only NAME]

Reads tests/<stem>/mutants.toml. For each mutant the changed file, and what includes it, is compiled to
build/mutants/<name>/ and linked with the objects of the ordinary build (build/obj) to a binding of its own; the test
runs against that. A mutant is killed if pytest ends with 1 (a test failed): a test that is missing, or that cannot be
collected, kills nothing. A control, the same path without a change, must pass the same tests.
"""

import os
import shlex
import shutil
import subprocess
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests import results

ROOT = Path("build/mutants")
OBJECTS = Path("build/obj")
BINDING = Path("build/ffi-src/_pgquern.o")
FFI = "_pgquern.abi3.so"
PYTEST_FAILED = 1
NO_END = 124
TIMEOUT = 300
WORKERS = 2


@dataclass(frozen=True)
class Mutant:
    """One change: `old`, which occurs once in csrc/<file>, becomes `new`; the pytest node killed_by must fail."""

    name: str
    file: str
    old: str
    new: str
    killed_by: str

    def source(self) -> str:
        """The file, changed. ClickException if `old` is not there exactly once: the list needs an update then."""
        text = Path("csrc", self.file).read_text()
        if text.count(self.old) != 1:
            raise click.ClickException(
                f"{self.name}: csrc/{self.file} holds its line {text.count(self.old)} times, not once; "
                "bring tests/*/mutants.toml up to date"
            )
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Compiler:
    """gcc with the flags of the ordinary build."""

    cflags: Sequence[str]
    isa: dict[str, list[str]]

    def compile(self, source: Path, include: Path, target: Path) -> None:
        """Compiles one source, headers in `include` first. Warnings are no errors: a mutant may leave things unused."""
        flags = next((flags for name, flags in self.isa.items() if source.stem.endswith(name)), [])
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["gcc", f"-I{include}", *self.cflags, *flags, "-w", "-c", str(source), "-o", str(target)], check=True
        )


def load(stem: str) -> list[Mutant]:
    """The stem's list, names unique."""
    with Path(f"tests/{stem}/mutants.toml").open("rb") as file:
        mutants = [Mutant(**entry) for entry in tomllib.load(file)["mutant"]]
    names = [m.name for m in mutants]
    if len(set(names)) != len(names):
        raise click.ClickException(f"tests/{stem}/mutants.toml: a name occurs twice")
    return mutants


def sources_with(file: str) -> list[str]:
    """The sources under csrc/ that a change of `file` concerns: itself, or for a header all that include it."""
    if file.endswith(".c"):
        return [file]
    found = []
    for depends in OBJECTS.rglob("*.d"):
        if f"csrc/{file}" in depends.read_text().replace("\\\n", " ").split():
            found.append(str(depends.relative_to(OBJECTS).with_suffix(".c")))
    return sorted(found)


def build(mutant: Mutant, compiler: Compiler) -> Path:
    """Builds the mutant's binding; returns its folder."""
    folder = ROOT / mutant.name
    shutil.rmtree(folder, ignore_errors=True)
    changed = folder / "csrc" / mutant.file
    changed.parent.mkdir(parents=True)
    changed.write_text(mutant.source())
    objects = {str(o.relative_to(OBJECTS)): o for o in OBJECTS.rglob("*.o")}
    for source in sources_with(mutant.file):
        name = str(Path(source).with_suffix(".o"))
        original = changed if source == mutant.file else Path("csrc", source)
        objects[name] = folder / "obj" / name
        compiler.compile(original, folder / "csrc", objects[name])
    subprocess.run(
        ["gcc", "-shared", str(BINDING), *map(str, objects.values()), "-o", str(folder / FFI)],
        check=True,
    )
    return folder


def run_tests(nodes: Sequence[str], folder: Path) -> tuple[int, str]:
    """pytest's exit code and output for the nodes, against the binding in `folder`; no end in time is NO_END."""
    command = ["build/venv/bin/python", "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["-p", "tests.runners.without_shrinking", "-o", f"pythonpath=. csrc/ffi {folder}", *nodes]
    environment = os.environ | {"PYTHONPATH": f".:csrc/ffi:{folder}"}
    environment.pop("PGQUERN_RESULT", None)
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return NO_END, f"no end after {TIMEOUT} s"
    # A crash (a signal) is what broken C does, and is noticed: the test run fails.
    return (PYTEST_FAILED if done.returncode < 0 else done.returncode), done.stdout + done.stderr


def control(mutants: Sequence[Mutant]) -> None:
    """The tests that are to kill must pass on the ordinary build, by the same path."""
    nodes = list(dict.fromkeys(m.killed_by for m in mutants))
    code, output = run_tests(nodes, Path("build/ffi"))
    if code != 0:
        raise click.ClickException(f"the tests do not pass on the unchanged kernels:\n{output[-3000:]}")


def judge(mutant: Mutant, compiler: Compiler) -> dict[str, Any]:
    """Builds a mutant and runs its test: an item of the results, "passed" if the test failed."""
    start = time.monotonic()
    code, output = run_tests([mutant.killed_by], build(mutant, compiler))
    killed = code == PYTEST_FAILED
    return {
        "name": mutant.name,
        "status": "passed" if killed else "failed",
        "seconds": round(time.monotonic() - start, 2),
        "killed_by": mutant.killed_by,
        "file": f"csrc/{mutant.file}",
        "old": mutant.old,
        "new": mutant.new,
    } | ({} if killed else {"output": f"pytest ended with {code}\n{output[-2000:]}"})


@click.command()
@click.argument("stem")
@click.option("--cflags", required=True, help="flags of the ordinary build")
@click.option("--isa", multiple=True, help="NAME=FLAGS: further flags for sources whose name ends in NAME")
@click.option("--only", multiple=True, help="just these mutants")
def main(stem: str, cflags: str, isa: Sequence[str], only: Sequence[str]) -> None:
    """Kill the mutants of one stem (about 3 s each)."""
    split = (entry.partition("=") for entry in isa)
    compiler = Compiler(shlex.split(cflags), {name: shlex.split(flags) for name, _, flags in split})
    mutants = [m for m in load(stem) if not only or m.name in only]
    if not mutants:
        raise click.ClickException(f"no such mutant: {', '.join(only)}")
    for mutant in mutants:
        mutant.source()
    table = Table("mutant", "killed by", "seconds", title=f"{stem}: mutant kernels")
    items = []
    with Progress() as progress, ThreadPoolExecutor(WORKERS) as pool:
        task = progress.add_task(f"{stem}: {len(mutants)} mutants", total=len(mutants) + 1)
        control(mutants)
        progress.advance(task)
        for item in pool.map(lambda mutant: judge(mutant, compiler), mutants):
            test = item["killed_by"].rpartition("::")[2]
            killed = item["status"] == "passed"
            table.add_row(item["name"], test if killed else f"[red]SURVIVED[/] {test}", f"{item['seconds']:.1f}")
            items.append({"stem": stem} | item)
            progress.advance(task)
    Console().print(table)
    survivors = [item["name"] for item in items if item["status"] == "failed"]
    if not only:
        says = f"{len(items) - len(survivors)} of {len(items)} mutants killed"
        results.write("mutants", items, {stem: says}, {"gcc": results.first_line("gcc", "--version")})
    if survivors:
        raise click.ClickException(
            f"{stem}: survived: {', '.join(map(str, survivors))}; strengthen the test, or kill it by another"
        )


if __name__ == "__main__":
    main()

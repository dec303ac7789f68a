# SPDX-License-Identifier: PostgreSQL
"""Breaks the programs around the extracted proofs, and demands that the tests that ask them fail.

python -m tests.runners.drivers [--stem STEM] [--only NAME]

Such a program reads questions, calls the proved functions and writes their answers; it is not proved itself. All proved
algorithms of a kind give the same results, so a program that called the wrong one might go unseen. For each entry of
tests/<stem>/drivers.toml the changed file of proofs/oracle/ is compiled with the extracted functions to
build/mutants-drivers/<stem>/<name>/, and the stem's tests run against it (PGQUERN_ORACLES). They must fail.
"""

import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click
import pytest
from rich.table import Table

from tools.common import environment, mutants, results, watched
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant
from tools.common.progress import bar, console

SOURCES = Path("proofs/oracle")
PROVED = Path("build/oracle")
ROOT = Path("build/mutants-drivers")
CPU_SECONDS = 1800
"""After which a run hangs."""
OPTIONS = ("-x", "-q", "--no-header", "--disable-warnings", "-p", "no:cacheprovider")


def build(stem: str, mutant: Mutant) -> Path:
    """Compile a changed program; the folder that it is in."""
    folder = ROOT / stem / mutant.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    name = Path(mutant.file).stem
    for extracted in (PROVED / f"{name}.build").glob(f"{name}_proved.*"):
        shutil.copy(extracted, folder)
    (folder / f"{name}.ml").write_text(mutant.source(SOURCES))
    command = ["ocamlfind", "ocamlopt", "-w", "-a", f"{name}_proved.cmx", f"{name}.ml", "-o", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{mutant.name} does not compile; correct `new`\n{done.stderr}")
    return folder


def run_tests(node: str, oracles: Path, log: Path) -> int:
    """Runs a test against the programs in a folder: pytest's exit code. A test and a program that wait for each other
    for ever are a test that fails."""
    variables = {"PGQUERN_ORACLES": str(oracles.resolve()), "PGQUERN_PROFILE": "brief", "PGQUERN_RESULT": ""}
    command = [sys.executable, "-m", "pytest", *OPTIONS, *node.split()]
    code, asleep, _ = watched.run(command, log, variables, limit_cpu)
    return pytest.ExitCode.TESTS_FAILED if asleep else code


def limit_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, resource.RLIM_INFINITY))


def judge(stem: str, mutant: Mutant) -> dict[str, Any]:
    """An item of the results."""
    start = time.monotonic()
    folder = build(stem, mutant)
    code = run_tests(mutant.killed_by, folder, folder / "log")
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise click.ClickException(f"{mutant.killed_by} could not be run:\n{(folder / 'log').read_text()[-2000:]}")
    survived = code == pytest.ExitCode.OK
    item = mutant.model_dump() | {"file": str(SOURCES / mutant.file), "verdict": "survived" if survived else "killed"}
    seconds = round(time.monotonic() - start, 2)
    return item | {"status": "failed" if survived else "passed", "reason": "survived" * survived, "seconds": seconds}


def run(stem: str, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """The items of a stem; the tests must pass with the programs as they are."""
    listed = mutants.load(Path("tests", stem, "drivers.toml"), Mutant)
    chosen = [mutant for mutant in listed if not only or mutant.name in only]
    ROOT.mkdir(parents=True, exist_ok=True)
    for node in sorted({mutant.killed_by for mutant in chosen}):
        if run_tests(node, PROVED, log := ROOT / f"{stem}.log"):
            raise click.ClickException(f"{node} does not pass with the program as it is:\n{log.read_text()[-3000:]}")
    with bar(console()) as progress, ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        task = progress.add_task(f"{stem}: broken drivers", total=len(chosen))
        items = []
        for item in pool.map(partial(judge, stem), chosen):
            items.append(item)
            progress.advance(task)
    return items


@click.command()
@click.option("--stem", default="", help="Only this stem.")
@click.option("--only", multiple=True, help="Only these. No result is written.")
def main(stem: str, only: tuple[str, ...]) -> None:
    """Break the programs around the extracted proofs."""
    survivors: list[str] = []
    for name in with_cell("tests/{stem}/drivers.toml", stem):
        start = time.monotonic()
        items = run(name, only)
        table = Table("change", "test", "verdict", "s", title=f"{name}: broken drivers", title_justify="left")
        for item in items:
            test = item["killed_by"].rpartition("/")[2].replace("[", r"\[")
            table.add_row(item["name"], test, item["verdict"], f"{item['seconds']:.1f}")
        console().print(table)
        survivors += [item["name"] for item in items if item["verdict"] == "survived"]
        if not only:
            says = f"{len(items)} broken drivers, {sum(item['status'] == 'passed' for item in items)} killed"
            tools = {"ocaml": environment.first_line("ocamlfind", "ocamlopt", "-version")}
            results.write("mutants-drivers", name, items, says=says, seconds=time.monotonic() - start, tools=tools)
    if survivors:
        raise click.ClickException(f"survived: {', '.join(survivors)}; strengthen the test")


if __name__ == "__main__":
    main()

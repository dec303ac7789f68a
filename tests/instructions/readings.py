# SPDX-License-Identifier: PostgreSQL
"""Change one meaning at a time to a wrong reading of the manual; the CPU must refute it.

    python -m tests.instructions.readings [--only NAME] [--one-in N]

tests/instructions/readings.toml lists the changes. Each is compiled and extracted anew in build/instructions/readings/,
and its instruction runs as in `make test`. Writes build/results/instructions-readings/instructions.json.
"""

import shutil
import subprocess
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import click

from tests.instructions.compare import BRIEF, compare
from tests.instructions.programs import listed, on_cpu, with_meaning
from tools.common import environment, mutants, results
from tools.common.mutants import Mutant
from tools.common.progress import bar, console

LIST = Path("tests/instructions/readings.toml")
SOURCES, COMPILED, ROOT = Path("proofs"), Path("build/proofs"), Path("build/instructions/readings")
FOLDER, EXTRACT, DRIVER = "instructions", "oracle/ExtractInstructions.v", "oracle/instructions.ml"
TABLE = f"{FOLDER}/Table.v"


def must_run(command: list[str], folder: Path, name: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"{name} does not compile; correct `new`\n{done.stderr[-2000:]}")


def definitions() -> list[str]:
    """The files up to the table, in their order."""
    listed = [line.strip() for line in (SOURCES / "_CoqProject").read_text().splitlines()]
    mine = [line for line in listed if line.startswith(f"{FOLDER}/")]
    return mine[: mine.index(TABLE) + 1]


def build(mutant: Mutant) -> Path:
    """The changed meanings as a program."""
    folder = ROOT / f"{zlib.crc32(mutant.name.encode()):08x}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(COMPILED / FOLDER, folder / FOLDER)
    (folder / "oracle").mkdir()
    shutil.copy(SOURCES / EXTRACT, folder / EXTRACT)
    shutil.copy(SOURCES / DRIVER, folder)
    (folder / mutant.file).write_text(mutant.source(SOURCES))
    files = definitions()
    for file in [*files[files.index(mutant.file) :], EXTRACT]:
        must_run(["coqc", "-q", "-noglob", "-w", "none", "-Q", ".", "Pgquern", file], folder, mutant.name)
    sources = ["instructions_proved.mli", "instructions_proved.ml", Path(DRIVER).name]
    must_run(["ocamlfind", "ocamlopt", "-w", "-a", *sources, "-o", "program"], folder, mutant.name)
    return folder / "program"


def judge(mutant: Mutant) -> dict[str, Any]:
    """An item of the results."""
    started, here = time.monotonic(), on_cpu().get(mutant.killed_by)
    told = mutant.model_dump()
    if here is None or not here.supported:
        return told | {"status": "skipped", "reason": f"this CPU lacks {listed()[mutant.killed_by]}"}
    found = compare(here, BRIEF, meaning=[str(build(mutant))]).difference
    reason = "" if found else f"survived: {mutant.killed_by} is the same on all inputs of `make test`"
    seconds = round(time.monotonic() - started, 1)
    return told | {"status": "failed" if reason else "passed", "reason": reason, "seconds": seconds, "refuted": found}


@click.command(help=__doc__)
@click.option("--only", multiple=True, help="Only these. No result is written.")
@click.option("--one-in", default=1, help="A sample: one in so many, chosen by name.")
def main(only: tuple[str, ...], one_in: int) -> None:
    started = time.monotonic()
    listed = mutants.load(LIST, Mutant)
    if unknown := {mutant.killed_by for mutant in listed} - set(with_meaning()):
        raise click.ClickException(f"{LIST}: proofs/instructions/Table.v has no {', '.join(sorted(unknown))}")
    chosen = [m for m in listed if (not only or m.name in only) and zlib.crc32(m.name.encode()) % one_in == 0]
    with bar(console()) as progress, ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        task = progress.add_task("wrong readings", total=len(chosen))
        items = []
        for found in pool.map(judge, chosen):
            items.append(found)
            progress.advance(task)
    for found in items:
        console().print(f"  {found['status'].upper()} {found['name']} {found['reason']}", markup=False)
    refuted = sum(found["status"] == "passed" for found in items)
    says = f"{refuted} of {len(items)} wrong readings are refuted by the CPU"
    if not only:
        tools = {"Coq": environment.first_line("coqc", "--print-version").split(" ")[0]}
        seconds = time.monotonic() - started
        results.write("instructions-readings", "instructions", items, says=says, tools=tools, seconds=seconds)
    console().print(f"instructions: {says}; {time.monotonic() - started:.0f} s", markup=False)
    raise SystemExit(any(found["status"] == "failed" for found in items))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Puts a candidate kernel on trial: make judge KIND=kind SRC=their.c [FLAGS=] [CC=] [LIKE=] [SEED=] [SPEED=no]

The file defines one function named `candidate`, of the kind's signature. It is compiled, and linked with the kernels
into a binding of its own, where it is one more variant of its kind: so the row's own tests run against it, in processes
of their own with limits, first as they are, then under ASan and UBSan, then with other inputs in the opposite order.
Each call is watched (tests/judge/watch.c): sleep, threads, descriptors, children, and static memory that changes.

Last comes its speed beside upstream and ours, unless SPEED=no.

Exit code: 0 PASS; 1 FAIL; 2 nothing was judged, and a sentence says what to do; 3 UNDECIDED; 4 SLOWER than upstream.
Of `make judge` the exit code is 2 whenever it is not 0: that is make's own.
"""

import json
import random
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import click

from tests.runners import judge_speed
from tests.runners.judge_build import Candidate
from tests.runners.judge_kinds import JudgeError, kind_of, kinds
from tests.runners.judge_trial import Step, Trial, judge
from tests.runners.judge_verdict import Verdict
from tools import environment
from tools.progress import console

ROOT = Path("build/judge")
CODES = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3, "SLOWER": 4}
COLOURS = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow", "SLOWER": "yellow"}


def write(trial: Trial, verdict: Verdict, path: Path) -> None:
    """The verdict as JSON, with what one needs to repeat it."""
    candidate = trial.candidate
    path.write_text(
        json.dumps(
            {
                "kind": candidate.kind.name,
                "source": str(candidate.source),
                "flags": candidate.flags,
                "compiler": environment.first_line(shlex.split(candidate.compiler)[0], "--version"),
                "commit": environment.commit(),
                "cpu": environment.cpu(),
                "seed": trial.seed,
                "verdict": asdict(verdict),
                "steps": [asdict(step) for step in trial.steps],
                "warnings": trial.warnings,
                "imports": trial.imports,
                "speed": [found.as_dict() for found in trial.places],
            },
            indent=2,
        )
        + "\n"
    )


def tell(verdict: Verdict) -> None:
    """One line, and the input with which the test failed."""
    out = console()
    test = f" ({verdict.test})" if verdict.test and verdict.test not in verdict.why else ""
    out.print(f"[bold {COLOURS[verdict.word]}]{verdict.word}[/]", end=" ")
    out.print(verdict.why + test, markup=False, soft_wrap=True)
    if verdict.input:
        out.print(f"with the smallest input found:\n{verdict.input}", markup=False, soft_wrap=True)


def list_kinds() -> None:
    print("make judge KIND=kind SRC=their.c [FLAGS=] [CC=] puts a kernel on trial. The kinds, and what to define:\n")
    for name, kind in sorted(kinds().items()):
        print(f"  {name}\n    {kind.signature}")
    print("\nmake judge-template KIND=kind prints a file to start from, which passes.")


@click.command(help=__doc__)
@click.option("--kind", default="", help="The kind; empty: list them all.")
@click.option("--source", default="", help="The candidate: a C file, or C++ by its name's end.")
@click.option("--flags", default="", help="Further flags of the compiler and the linker.")
@click.option("--compiler", default="gcc", help="gcc, clang, or another that takes their flags.")
@click.option("--like", default="", help="The variant whose other fields the candidate takes, such as its order.")
@click.option("--speed/--no-speed", default=True, help="Measure its speed, too.")
@click.option("--seed", type=int, help="Of the other inputs; without it, a new one each time.")
@click.option("--template", is_flag=True, help="Print a file to start from, instead.")
@click.option("--cflags", default="", help="Compiler flags of the ordinary build.")
@click.option("--cflags-asan", default="", help="Compiler flags of the build under sanitizers.")
def main(
    kind: str, source: str, flags: str, compiler: str, like: str, speed: bool, seed: int | None, template: bool,
    cflags: str, cflags_asan: str,
) -> None:  # fmt: skip
    if not kind:
        list_kinds()
        return
    try:
        chosen = kind_of(kind, like)
        if template:
            print(chosen.template(), end="")
            return
        path = Path(source)
        if not source or not path.is_file():
            raise JudgeError(f"There is no file {source!r}: name the candidate with SRC=, a C or C++ file.")
        folder = ROOT / path.stem
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        seed = random.SystemRandom().randrange(2**32) if seed is None else seed

        def show(step: Step) -> None:
            if step.name == "compiles" and trial.warnings:
                console().print(trial.warnings.rstrip(), markup=False, soft_wrap=True)
            console().print(f"{step.seconds:6.1f} s  {step.name}: {step.says}", markup=False)

        candidate = Candidate(chosen, path, folder, compiler, flags)
        trial = Trial(candidate, seed, shlex.split(cflags), shlex.split(cflags_asan), show)
        verdict = judge(trial, speed=speed)
    except JudgeError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    write(trial, verdict, ROOT / f"{path.stem}.json")
    if trial.places:
        console().print(judge_speed.shown(trial.places))
    tell(verdict)
    sys.exit(CODES[verdict.word])


if __name__ == "__main__":
    main()

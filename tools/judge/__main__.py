# SPDX-License-Identifier: PostgreSQL
"""Puts a candidate kernel on trial: pgquern judge KIND their.c

The file, or a folder of several, defines one function named `candidate`, of the kind's signature; of a component (a
lock, a policy) those that tests/<stem>/candidate.h declares. Its object file is read first: what it has beyond
functions and constants is refused by name. Then it runs in a process of its own, without files, stopped at each system
call. The
stem's own tests call it there, as one more variant of its kind; and a million inputs, made in C, are given to it and to
ours. A component is called there, too; what reads files asks outside for their bytes, and has no io_uring. In each call
the memory that it asks for is empty, and what it may only read it cannot write. A kernel may know by its surroundings
that it is judged, go another way on another CPU, or go wrong after more calls than a trial makes: nobody sees that.

A fault of a component is not seen that needs more than fifteen requests at a time, 300 held ranges, or 16,384 requests
before them (a lock), or more than 600 entries or 125,000 calls of one cache (a policy). Nor is one that a single number
of 64 bits shows, if that is further than two from each power of two.

A patch in the place of a source judges one of our variants as a unified diff of csrc/ has changed it. --full
adds more examples, a hundred times as many native inputs, and real servers. build/judge/NAME.html is the verdict as a
page.

Last comes its speed beside upstream and ours, each in a process of its own; all that is timed is compared, too. The
speed `no` leaves it out.

Exit code: 0 PASS; 1 FAIL; 2 nothing was judged, and a sentence says what to do; 3 UNDECIDED; 4 SLOWER than upstream; 5
BROKEN: a test fails with ours in its place, too.
"""

import importlib
import json
import os
import random
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from tools.common import environment
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.common.progress import console
from tools.judge import source as judge_source
from tools.judge.build import Candidate
from tools.judge.kinds import JudgeError, kind_of, kinds
from tools.judge.last import Told
from tools.judge.trial import Step, Trial, judge
from tools.judge.verdict import Verdict

ROOT = Path("build/judge")
CODES = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3, "SLOWER": 4, "BROKEN": 5}
COLOURS = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow", "SLOWER": "yellow", "BROKEN": "magenta"}


def told_of(trial: Trial, verdict: Verdict) -> Told | None:
    """What the stem makes of the candidate's last call, if that is why it failed."""
    kind, module = trial.candidate.kind, f"tests.{trial.candidate.kind.stem}.judged"
    if verdict.word != "FAIL" or trial.last is None:
        return None
    told: Told | None = importlib.import_module(module).told(kind, trial.last)
    return told


def facts_of(trial: Trial) -> dict[str, str]:
    """What one needs to repeat it."""
    candidate = trial.candidate
    return {
        "cpu": environment.cpu(),
        "compiler": environment.first_line(shlex.split(candidate.compiler)[0], "--version"),
        "flags": shlex.join([*candidate.command(trial.cflags, candidate.files[0])[1:], *shlex.split(candidate.flags)]),
        "commit": environment.commit(),
        "seed": str(trial.seed),
        "load": f"{os.getloadavg()[0]:.1f} processes in the last minute, on {len(os.sched_getaffinity(0))} CPUs",
    }


def command_of(trial: Trial, *, patch: str, like: str, speed: str) -> str:
    """The command that repeats it."""
    candidate = trial.candidate
    words = ["pgquern", "judge", candidate.kind.name, *(["--patch"] if patch else []), str(candidate.source)]
    options = {
        "--flags": "" if patch else candidate.flags,
        "--compiler": "" if candidate.compiler == "gcc" else candidate.compiler,
        "--like": candidate.kind.like if patch else like,
        "--seed": str(trial.seed),
        "--speed": "" if speed == "clock" else speed,
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    return shlex.join([*words, *given, *(["--full"] if trial.full else [])])


def write(trial: Trial, verdict: Verdict, told: Told | None, path: Path, command: str) -> dict[str, Any]:
    """The verdict as JSON, which is also returned, and as a page, with what one needs to repeat it."""
    candidate, facts = trial.candidate, facts_of(trial)
    found: dict[str, Any] = {"kind": candidate.kind.name, "source": str(candidate.source), "command": command, **facts}
    found |= {"flags": candidate.flags, "seed": trial.seed, "verdict": asdict(verdict)}
    found |= {"told": told and {"says": told.says, "breaks": told.breaks, "regression": told.regression}}
    found |= {"fails": fails(path) if told else None, "page": str(path.with_suffix(".html"))}
    found |= {"steps": [asdict(step) for step in trial.steps], "warnings": trial.warnings, "imports": trial.imports}
    found |= {"speed": [place.as_dict() for place in trial.places]}
    path.with_suffix(".json").write_text(json.dumps(found, indent=2) + "\n")
    # Not before: to load what draws takes seconds.
    from tools.judge import page as judge_page

    path.with_suffix(".html").write_text(judge_page.page(trial, verdict, told, command, fails(path), facts))
    return found


def fails(place: Path) -> str:
    """The command by which the regression test meets the candidate."""
    paths = f"'pythonpath=. csrc/ffi {place / 'plain'}'"
    host = f"env PGQUERN_JUDGE_HOST={place / 'theirs'} " if (place / "theirs").exists() else ""
    return f"{host}build/venv/bin/python -m pytest -q -p no:cacheprovider -o {paths} {place / 'test_regression.py'}"


def tell(verdict: Verdict, told: Told | None, path: Path) -> None:
    """One line, the input with which the test failed, and where the page is."""
    out = console()
    test = f" ({verdict.test})" if verdict.test and verdict.test not in verdict.why else ""
    out.print(f"[bold {COLOURS[verdict.word]}]{verdict.word}[/]", end=" ")
    out.print(verdict.why + test, markup=False, soft_wrap=True)
    if verdict.input:
        out.print(f"with the smallest input found:\n{verdict.input}", markup=False, soft_wrap=True)
    if told:
        out.print(f"its last call:\n{told.says}", markup=False, soft_wrap=True)
        if told.breaks:
            out.print(f"the contract that it breaks: {told.breaks}", markup=False, soft_wrap=True)
        out.print(
            f"a regression test, which passes with ours; see it fail: {fails(path)}", markup=False, soft_wrap=True
        )
    out.print(f"the page: {path.with_suffix('.html')}", markup=False, soft_wrap=True)
    if CODES[verdict.word]:
        out.print(f"exit code {CODES[verdict.word]}: {verdict.word}")


def list_kinds(*, as_json: bool) -> None:
    if as_json:
        print_json({"kinds": [{"kind": name, "signature": kind.signature} for name, kind in sorted(kinds().items())]})
        return
    print("pgquern judge KIND SOURCE [--flags] [--compiler] puts a kernel on trial. The kinds, and what to define:\n")
    for name, kind in sorted(kinds().items()):
        print(f"  {name}\n    {kind.signature}")
    print("\npgquern judge-template KIND prints a file to start from, which passes.")


@click.command(help=__doc__)
@click.option("--kind", default="", help="The kind; empty: list them all.")
@click.option("--source", default="", help="The candidate: a C file, or C++ by its name's end.")
@click.option("--patch", default="", help="Instead of a source: a unified diff of csrc/, of one of our variants.")
@click.option(
    "--branch",
    default="",
    help="Upstream's own function of a tree of PostgreSQL's, changed by --patch or not, beside ours of its age.",
)
@click.option("--against", default="", help="Another candidate, beside which its speed is measured.")
@click.option("--full", is_flag=True, help="More examples, 10^8 native inputs, real servers.")
@click.option("--flags", default="", help="Further flags of the compiler and the linker.")
@click.option("--compiler", default="gcc", help="gcc, clang, or another that takes their flags.")
@click.option("--like", default="", help="The variant whose other fields the candidate takes, such as its order.")
@click.option("--speed", type=click.Choice(["clock", "no"]), default="clock", help="How it is measured.")
@click.option("--seed", type=int, help="Of the other inputs; without it, a new one each time.")
@click.option("--template", is_flag=True, help="Print a file to start from, instead.")
@json_option()
@click.option("--cflags", default="", help="Compiler flags of the ordinary build.")
@click.option("--cflags-asan", default="", help="Compiler flags of the build under sanitizers.")
@click.option("--isa", multiple=True, help="LEVEL=FLAGS: of sources whose names end so.")
def main(
    kind: str, source: str, patch: str, branch: str, against: str, full: bool, flags: str, compiler: str, like: str,
    speed: str,
    seed: int | None, template: bool, as_json: bool,
    cflags: str, cflags_asan: str, isa: Sequence[str],
) -> None:  # fmt: skip
    if not (kind or patch or source or branch or template):
        list_kinds(as_json=as_json)
        return
    try:
        if not (kind or patch):
            raise JudgeError(f"Say which kind it is with {option('KIND')}, one of {', '.join(sorted(kinds()))}.")
        if template:
            text = kind_of(kind, like).template()
            if as_json:
                print_json({"kind": kind, "source": text})
            else:
                print(text, end="")
            return
        path = Path(patch or branch or source)
        chosen = None if patch and not branch else kind_of(kind, like)
        if not (source or patch or branch) or not path.exists():
            missing = f"There is no file {str(path)!r}" if source or patch else f"{option('SOURCE')} is missing"
            raise JudgeError(
                f"{missing}: name the candidate with {option('SOURCE')}, a C or C++ file, or a folder of"
                f" them; or a unified diff with {option('PATCH')}."
            )
        # No dots: `..` is another folder.
        folder = ROOT / (re.sub(r"[^\w+-]+", "_", path.resolve().stem) or "_")
        if any(Path(one).resolve().is_relative_to(folder.resolve()) for one in (source, patch, branch, against) if one):
            raise JudgeError(f"{path} lies in {folder}, which a trial empties: move it.")
        shutil.rmtree(folder, ignore_errors=True)
        # What an earlier trial has said of a file of that name.
        for suffix in (".html", ".json"):
            folder.with_suffix(suffix).unlink(missing_ok=True)
        folder.mkdir(parents=True)
        seed = random.SystemRandom().randrange(2**32) if seed is None else seed

        def show(step: Step) -> None:
            out = console(stderr=as_json)
            if step.name == "compiles" and trial.warnings:
                out.print(trial.warnings.rstrip(), markup=False, soft_wrap=True)
            out.print(f"{step.seconds:6.1f} s  {step.name}: {step.says}", markup=False)

        if branch:
            change = Path(patch) if patch else None
            candidate = judge_source.of_tree(Path(branch), change, folder, kind, like, compiler=compiler, flags=flags)
        elif chosen is None:
            levels = dict(entry.split("=", 1) for entry in isa)
            candidate = judge_source.of_patch(path, folder, kind, like, compiler=compiler, flags=flags, isa=levels)
        else:
            candidate = judge_source.of_source(Candidate(chosen, path, folder, compiler, flags))
        trial = Trial(candidate, seed, shlex.split(cflags), shlex.split(cflags_asan), show, full)
        if against:
            if not Path(against).exists() or candidate.kind.inputs is None:
                raise JudgeError(
                    f"{against} cannot stand beside it: there is no such file, or the kind has no processes."
                )
            folder = folder / "against"
            trial.against = judge_source.of_source(Candidate(candidate.kind, Path(against), folder, compiler, flags))
        verdict = judge(trial, speed)
    except JudgeError as error:
        click.echo(str(error), err=True)
        sys.exit(2)
    told, place = told_of(trial, verdict), trial.candidate.folder
    if told and told.breaks:
        verdict = replace(verdict, why=f'it breaks "{told.breaks}": {told.says.splitlines()[-1]}')
    if told:
        (place / "test_regression.py").write_text(told.regression)
    found = write(trial, verdict, told, place, command_of(trial, patch=patch, like=like, speed=speed))
    if as_json:
        print_json(found)
        sys.exit(CODES[verdict.word])
    if trial.places:
        from tools.judge import speed as judge_speed

        console().print(judge_speed.shown(trial.places))
    tell(verdict, told, place)
    sys.exit(CODES[verdict.word])


if __name__ == "__main__":
    main()

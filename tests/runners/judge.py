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

import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import click

from tests.runners import judge_build, judge_speed, nodes
from tests.runners.judge_build import Candidate
from tests.runners.judge_child import Order
from tests.runners.judge_kinds import JudgeError, kind_of, kinds
from tests.runners.judge_speed import Place
from tools import environment
from tools.progress import console

ROOT = Path("build/judge")
SLEEPER = 86
"""The exit code by which tests/judge/watch.c ends a process whose candidate sleeps again and again."""
CODES = {"PASS": 0, "FAIL": 1, "UNDECIDED": 3, "SLOWER": 4}
COLOURS = {"PASS": "green", "FAIL": "red", "UNDECIDED": "yellow", "SLOWER": "yellow"}
RIGHT = "it answers as the oracle does, within its buffers"
NOT_DONE = "its speed was not measured"
ASAN = {
    "ASAN_OPTIONS": "detect_leaks=1:leak_check_at_exit=0:allocator_may_return_null=1:detect_stack_use_after_return=0",
    "PYTHONMALLOC": "malloc",
}
EXAMPLE = re.compile(r"\s*(Falsifying example|Failing test case): ")
"""How Hypothesis announces the smallest input: its versions differ."""
SANITIZER = re.compile(
    r"^(?:SUMMARY: (?P<asan>AddressSanitizer: .*)|.*?(?P<ubsan>\S+: runtime error: .*))$", re.MULTILINE
)
NEVER = {
    "threads": "it starts or ends threads",
    "files": "it opens files and leaves them open, or closes others'",
    "children": "it leaves child processes",
    "statics": "it changes static memory: that is state from call to call, and threads share it",
}


@dataclass(frozen=True)
class Verdict:
    """What came out, and why."""

    word: str
    why: str
    test: str = ""
    """The test that failed."""
    input: str = ""
    """The smallest input with which it failed, as Hypothesis prints it."""


@dataclass
class Step:
    """A part of the trial."""

    name: str
    says: str
    seconds: float


@dataclass
class Trial:
    """A candidate, and what was seen of it so far."""

    candidate: Candidate
    seed: int
    steps: list[Step] = field(default_factory=list)
    warnings: str = ""
    imports: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    """Where it stands in each configuration of the benchmark; empty if its speed was not measured."""


def example(text: str) -> str:
    """Hypothesis' falsifying example in what pytest says of a failure; empty if there is none."""
    lines = [re.sub(r"^E {3}", "", line) for line in text.splitlines() if line.startswith("E")]
    start = next((i for i, line in enumerate(lines) if EXAMPLE.match(line)), None)
    if start is None:
        return ""
    found = []
    for line in lines[start:]:
        found.append(line.rstrip())
        if line.strip() == ")" or (line.rstrip().endswith(")") and len(found) == 1):
            break
    return EXAMPLE.sub("", textwrap.dedent("\n".join(found))).strip()


def message(text: str) -> str:
    """What an assertion says, and what it compares, in what pytest says of a failure."""
    lines = [line[1:].strip() for line in text.splitlines() if line.startswith("E")]
    compared = lines[1:2] if len(lines) > 1 and lines[1].startswith("assert ") else []
    return "; ".join(lines[:1] + compared) or text.strip().rpartition("\n")[2]


def of_process(code: int, asleep: bool, test: str, log: str) -> Verdict | None:
    """The verdict on a process that ended without a word; None if it was no fault of the candidate's."""
    where = f"in {test}" if test else "before the first test"
    if asleep:
        return Verdict("FAIL", f"it waits for ever {where}", test)
    if code == SLEEPER:
        return Verdict("FAIL", f"it sleeps: again and again a call gave up its CPU of its own accord, {where}", test)
    if found := SANITIZER.search(log):
        return Verdict("FAIL", f"{found['asan'] or found['ubsan']}, {where}", test)
    if -code == signal.SIGXCPU:
        return Verdict("FAIL", f"it comes to no end {where}", test)
    if code < 0:
        return Verdict(
            "FAIL", f"it crashes with {signal.Signals(-code).name} {where}: an access beyond a buffer?", test
        )
    return Verdict("FAIL", f"it ends the process, with {code}, {where}", test) if test else None


def of_report(told: dict[str, Any], log: str) -> Verdict | None:
    """The verdict on what the tests told; None: nothing against the candidate."""
    if told["code"] == 0:
        return of_watch(told["seen"])
    if told["node"] and told["code"] == 1:
        return Verdict("FAIL", message(told["text"]), told["node"], example(told["text"]))
    if told["code"] == 1 and (leak := re.search(r"^(tests/\S+/leaks) FAILED: (.*)$", log, re.MULTILINE)):
        return Verdict("FAIL", f"it leaks memory: {leak[2]}", leak[1])
    raise JudgeError(f"The tests could not run (pytest ended with {told['code']}); repair this clone:\n{log[-3000:]}")


def of_watch(seen: dict[str, int]) -> Verdict | None:
    """The verdict on what the watch saw."""
    calls = seen["calls"]
    for what, why in NEVER.items():
        if seen[what]:
            return Verdict("FAIL", f"{why} (in {seen[what]} of {calls} calls)")
    if seen["slept"] >= 3 and seen["slept"] * 100 >= calls:
        return Verdict("FAIL", f"it sleeps (in {seen['slept']} of {calls} calls)")
    if not calls:
        return Verdict("UNDECIDED", "no test has called it")
    if seen["blind"]:
        return Verdict("UNDECIDED", "whether it sleeps cannot be seen here: the kernel does not count it")
    return None


def run(
    trial: Trial, name: str, *, profile: str, seed: int | None = None, asan: bool = False
) -> tuple[Verdict | None, str]:
    """Runs the row's tests against a binding: the verdict, if there is one already, and what to say of the run."""
    kind, folder = trial.candidate.kind, trial.candidate.folder / name
    current, log, own = folder / "current", folder / "log", folder / "tmp"
    own.mkdir(exist_ok=True)
    current.write_text("")
    at = Path("tests", kind.stem)
    files = {
        *map(str, at.glob("test_kernels*.py")),
        str(at / "test_extracted.py"),
        *(n.split("::")[0] for n in kind.loops),
    }
    order = Order(sorted(files), list(kind.loops), f". csrc/ffi {folder}", str(current), seed, limits_memory=not asan)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PGQUERN_")}
    # What calls the dispatched function calls the candidate, too.
    variables |= {"PGQUERN_VARIANT": f"{kind.name}=candidate"}
    variables |= {"PGQUERN_PROFILE": profile, "TMPDIR": str(own.resolve()), "OPENBLAS_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = f".:csrc/ffi:{folder}"
    if asan:
        library = subprocess.check_output(["gcc", "-print-file-name=libasan.so"], text=True).strip()
        variables |= ASAN | {"LD_PRELOAD": library}
    receiver, sender = os.pipe()
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.runners.judge_child", str(sender), json.dumps(asdict(order))],
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables, pass_fds=[sender], start_new_session=True,
        )  # fmt: skip
    os.close(sender)
    report = Connection(receiver, writable=False)
    try:
        asleep = nodes.falls_asleep(process.pid, report, nodes.PATIENCE)
        if asleep:
            process.kill()
        code = process.wait()
    finally:
        # What the candidate has left behind is of the same group.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with os.fdopen(os.dup(receiver)) as told_by:
        text = told_by.read()
    report.close()
    said = log.read_text(errors="replace")
    if not text:
        verdict = of_process(code, asleep, current.read_text(), said)
        if verdict is None:
            raise JudgeError(f"The tests could not start; repair this clone:\n{said[-3000:]}")
        return verdict, ""
    told = json.loads(text)
    (folder / "told.json").write_text(text)
    (folder / "failure.txt").write_text(told["text"])
    return of_report(told, said), f"{len(told['calls'])} tests, {told['seen']['calls']:,} calls"


def judge(
    trial: Trial, cflags: Sequence[str], cflags_asan: Sequence[str], show: Callable[[Step], None], *, speed: bool
) -> Verdict:
    """The trial, step by step; it ends with the first one that fails. JudgeError: nothing was judged."""
    candidate = trial.candidate
    plain, sanitized = candidate.folder / "plain", candidate.folder / "asan"

    def step(name: str, work: Callable[[], tuple[Verdict | None, str]]) -> Verdict | None:
        start = time.monotonic()
        with console().status(name):
            verdict, says = work()
        trial.steps.append(Step(name, verdict.word if verdict else says, round(time.monotonic() - start, 1)))
        show(trial.steps[-1])
        return verdict

    def compiles() -> tuple[Verdict | None, str]:
        judge_build.write_sources(candidate)
        trial.warnings = judge_build.link(candidate, cflags, Path("build/obj"), plain, watched=True)
        trial.imports = judge_build.imports(plain / "candidate.o")
        count = len(re.findall(r"warning:", trial.warnings))
        return None, f"{count} warnings"

    def is_sane() -> tuple[Verdict | None, str]:
        judge_build.link(candidate, cflags_asan, Path("build/obj-asan"), sanitized, watched=False)
        return run(trial, "asan", profile="asan", asan=True)

    verdict = (
        step("compiles", compiles)
        or step("answers as the oracle and the proof", lambda: run(trial, "plain", profile="brief"))
        or step("the same under ASan and UBSan", is_sane)
        or step(
            f"other inputs (seed {trial.seed}), other order",
            lambda: run(trial, "plain", profile="brief", seed=trial.seed),
        )
    )
    if verdict:
        return verdict
    if judge_build.has_memory_of_threads(plain / "candidate.o"):
        return Verdict("UNDECIDED", "it has thread-local memory, in which it could keep state unseen; do without")
    if not speed or not candidate.kind.bench:
        return Verdict("PASS", f"{RIGHT}; {NOT_DONE}")

    def races() -> tuple[Verdict | None, str]:
        try:
            trial.places = judge_speed.stand(candidate, judge_speed.build(candidate, cflags))
        except click.ClickException as error:
            return Verdict("FAIL", f"it does not get through the benchmark: {error.message}"), ""
        return None, f"{len(trial.places)} configurations"

    if verdict := step("speed beside upstream and ours", races):
        return verdict
    word = "SLOWER" if any(found.slower for found in trial.places) else "PASS"
    return Verdict(word, f"{RIGHT}; {judge_speed.says(trial.places)}")


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
        trial = Trial(Candidate(chosen, path, folder, compiler, flags), seed)

        def show(step: Step) -> None:
            if step.name == "compiles" and trial.warnings:
                console().print(trial.warnings.rstrip(), markup=False, soft_wrap=True)
            console().print(f"{step.seconds:6.1f} s  {step.name}: {step.says}", markup=False)

        verdict = judge(trial, shlex.split(cflags), shlex.split(cflags_asan), show, speed=speed)
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

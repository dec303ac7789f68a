# SPDX-License-Identifier: PostgreSQL
"""The trial of a candidate, step by step."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tools.common.asked import option
from tools.common.progress import console
from tools.judge import build as judge_build
from tools.judge import world as judge_world
from tools.judge.build import Candidate
from tools.judge.full import Asked, fuzzed, more_examples, with_servers
from tools.judge.kinds import JudgeError
from tools.judge.last import Call
from tools.judge.run import Outcome, Run, Runs
from tools.judge.verdict import Verdict, of_process

if TYPE_CHECKING:
    from tools.judge.speed import Place

NOT_DONE = "its speed was not measured"


@dataclass
class Step:
    """A part of the trial."""

    name: str
    checks: str
    says: str
    seconds: float
    calls: dict[str, int] = field(default_factory=dict)
    """Of the candidate, by test."""


@dataclass
class Trial:
    """A candidate, and what was seen of it so far."""

    candidate: Candidate
    seed: int
    cflags: Sequence[str]
    cflags_asan: Sequence[str]
    show: Callable[[Step], None]
    full: Asked | None = None
    steps: list[Step] = field(default_factory=list)
    warnings: str = ""
    imports: list[str] = field(default_factory=list)
    places: list["Place"] = field(default_factory=list)
    """Where it stands in each configuration of the benchmark; empty if its speed was not measured."""
    last: Call | None = None
    """Its last call in the run that failed."""

    @property
    def right(self) -> str:
        """What is said of a candidate against which nothing was found."""
        calls = sum(sum(step.calls.values()) for step in self.steps)
        return f"it answers as the oracle does, within its buffers, in {calls:,} calls"

    def step(self, name: str, checks: str, work: Callable[[], Outcome]) -> Verdict | None:
        """A step; its seconds are its own, also if it ran beside others."""
        start = time.monotonic()
        with console().status(name):
            found = work()
        says = found.verdict.word if found.verdict else found.says
        seconds = found.seconds or round(time.monotonic() - start, 1)
        self.steps.append(Step(name, checks, says, seconds, found.calls))
        if found.verdict:
            self.last = found.last
        self.show(self.steps[-1])
        return found.verdict


def judge(trial: Trial, speed: str) -> Verdict:
    """The trial ends with the first step that fails. speed: clock, counted, or no. JudgeError: nothing was judged."""
    candidate = trial.candidate
    if speed == "counted" and not candidate.kind.icount:
        raise JudgeError(
            f"No instructions are counted for the kind {candidate.kind.name}: leave out {option('SPEED', 'counted')}."
        )
    plain = candidate.folder / "plain"

    def compiles() -> Outcome:
        judge_build.write_sources(candidate)
        trial.warnings = judge_build.link(candidate, trial.cflags, Path("build/obj"), plain, watched=True)
        trial.imports = judge_build.imports(plain / "candidate.o")
        return Outcome(None, f"{len(re.findall(r'warning:', trial.warnings))} warnings")

    verdict = trial.step("compiles", "the compiler's warnings, the signature, and what it calls", compiles)
    verdict = verdict or _component(trial) or _tests(trial, plain)
    if verdict:
        return verdict
    if trial.full and (verdict := _full(trial, plain)):
        return verdict
    if judge_build.has_memory_of_threads(plain / "candidate.o"):
        return Verdict("UNDECIDED", "it has thread-local memory, in which it could keep state unseen; do without")
    if speed == "counted":
        return _counted(trial, decides=True) or Verdict(
            "PASS", f"{trial.right}; it takes no more instructions than upstream"
        )
    if speed == "no" or not candidate.kind.bench:
        return Verdict("PASS", f"{trial.right}; {NOT_DONE}")

    # Not before: to load what measures takes seconds.
    from tools.judge import speed as judge_speed

    def races() -> Outcome:
        try:
            binary = judge_speed.build(candidate, trial.cflags)
            trial.places = judge_speed.stand(candidate, binary, full=trial.full is not None)
        except click.ClickException as error:
            return Outcome(Verdict("FAIL", f"it does not get through the benchmark: {error.message}"))
        rest = f"; {option('FULL', 1)} takes more of them" if candidate.kind.quick and not trial.full else ""
        return Outcome(None, f"{len(trial.places)} configurations{rest}")

    checks = "the stem's own benchmark, upstream's variants and ours in turn with it"
    if verdict := trial.step("speed beside upstream and ours", checks, races):
        return verdict
    word = "SLOWER" if any(found.slower for found in trial.places) else "PASS"
    return Verdict(word, f"{trial.right}; {judge_speed.says(trial.places, candidate.kind.gains)}")


def _component(trial: Trial) -> Verdict | None:
    """A lock or a policy: the world of its stem with the candidate in the place of ours, and real threads."""
    candidate, flags = trial.candidate, trial.cflags_asan

    def worlds() -> Outcome:
        program = candidate.folder / "world" / "world"
        if alone := judge_world.build(candidate, flags, program):
            why = f"the world of threads has no double of {', '.join(alone)}: do without"
            return Outcome(Verdict("UNDECIDED", why))
        return _of_found(judge_world.run(program, trial.seed), candidate.kind.world)

    def threads() -> Outcome:
        found = judge_world.race(candidate, flags, candidate.folder / "threads" / "threads")
        return _of_found(found, candidate.kind.threads)

    checks = "schedules and faults chosen by seeds; a run that fails is replayed and shortened"
    if candidate.kind.world and (verdict := trial.step("the world of threads and faults", checks, worlds)):
        return verdict
    if candidate.kind.threads:
        return trial.step("threads under ThreadSanitizer", "the stem's threads, by the system's own scheduler", threads)
    return None


def _of_found(found: judge_world.Found, at: Path | None) -> Outcome:
    """The verdict on a component in the world of its stem; none: nothing against the candidate."""
    if found.is_right:
        return Outcome(None, found.says)
    if found.why:
        return Outcome(Verdict("FAIL", found.why, str(at), found.history))
    return Outcome(of_process(found.code, found.asleep, str(at), found.log))


def _tests(trial: Trial, plain: Path) -> Verdict | None:
    """The stem's tests three times, side by side; the first that fails in this order decides."""
    candidate, sanitized = trial.candidate, trial.candidate.folder / "asan"

    def build() -> None:
        judge_build.link(candidate, trial.cflags_asan, Path("build/obj-asan"), sanitized, watched=False)

    listed = [
        (
            "answers as the oracle and the proof",
            "the stem's tests: the corners by name, Hypothesis' examples, pages and arrays between guard pages, the "
            "functions extracted from the proofs; each call watched for sleep, threads, files, children and statics",
            Run("plain", plain, "brief"),
        ),
        (
            "the same under ASan and UBSan",
            "the same tests, without the proof, with a candidate and kernels compiled for both sanitizers; leaks",
            Run("asan", sanitized, "asan", asan=True, first=build),
        ),
        (
            f"other inputs (seed {trial.seed}), other order",
            "the same tests in a fresh process, in the opposite order, with examples that nobody has seen before",
            Run("again", plain, "brief", seed=trial.seed),
        ),
    ]
    return _side_by_side(trial, listed)


def _full(trial: Trial, plain: Path) -> Verdict | None:
    """What is asked for beyond."""
    assert trial.full is not None
    candidate, flags = trial.candidate, trial.full.cflags_fuzz
    if verdict := _side_by_side(trial, more_examples(plain, trial.seed)):
        return verdict
    if Path("tests", candidate.kind.stem, "fuzz.c").exists():
        checks = "a minute of the stem's fuzz target under both sanitizers, with the candidate as a variant"
        if verdict := trial.step("fuzzing", checks, lambda: fuzzed(candidate, flags, trial.seed)):
            return verdict
    if candidate.kind.icount and (verdict := _counted(trial, decides=False)):
        return verdict
    return _side_by_side(trial, with_servers(candidate, plain))


def _counted(trial: Trial, *, decides: bool) -> Verdict | None:
    # Not before: to load what counts takes seconds.
    from tools.judge.icount import counted

    checks = "instructions of a call on inputs of some shapes, beside those of upstream's variants and of ours"
    return trial.step("instructions", checks, lambda: counted(trial.candidate, trial.cflags, decides=decides))


def _side_by_side(trial: Trial, listed: Sequence[tuple[str, str, Run]]) -> Verdict | None:
    """Runs, one for each CPU at a time; the first that fails in this order decides."""
    runs = Runs(trial.candidate)
    try:
        started = [(name, checks, runs.start(run)) for name, checks, run in listed]
        for name, checks, ended in started:
            if verdict := trial.step(name, checks, ended):
                return verdict
    finally:
        runs.end()
    return None

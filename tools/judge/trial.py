# SPDX-License-Identifier: PostgreSQL
"""The trial of a candidate, step by step."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tools.common.progress import console
from tools.judge import build as judge_build
from tools.judge import objects
from tools.judge import world as judge_world
from tools.judge.build import Candidate, Hosts
from tools.judge.kinds import JudgeError
from tools.judge.last import Call
from tools.judge.run import Outcome, Run, Runs
from tools.judge.verdict import Verdict, of_process

if TYPE_CHECKING:
    from tools.judge.speed import Place

NOT_DONE = "its speed was not measured"
SERVERS = "tests/{}/test_servers.py"
TESTS = (
    "the stem's tests: the corners by name, Hypothesis' examples, with --full the functions extracted from the proofs; "
    "what it is given ends or begins at a page that it cannot access"
)
AGAIN = "the same tests in the opposite order, with examples that nobody has seen; undefined behaviour is a signal"
NATIVE = "made in C, boundary values of each argument on purpose; all that comes out is compared with ours"
APART = "a process of its own, without files, and stopped at each system call"
ALONE = "the program in which it runs alone"
CALLS = "made in C, as a cache makes them, under ASan and UBSan; the contract is looked at around each"
INPUTS = 1_000_000
"""That are made natively, of a kind that costs little; a hundred times as many with FULL=1."""


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
    full: bool = False
    steps: list[Step] = field(default_factory=list)
    warnings: str = ""
    imports: list[str] = field(default_factory=list)
    constructors: list[str] = field(default_factory=list)
    interposed: list[str] = field(default_factory=list)
    host: Path | None = None
    """The program in which a component runs alone."""
    hosts: Hosts | None = None
    """The programs in which it, and ours, run alone; None: there are none for its kind."""
    inputs: int = 0
    """That were made natively and given to it."""
    against: Candidate | None = None
    """Another candidate, beside which its speed is measured, too."""
    other: Path | None = None
    """The program in which that one runs."""
    namespaces: bool = True
    right_but: str = ""
    places: list["Place"] = field(default_factory=list)
    """Where it stands in each configuration of the benchmark; empty if its speed was not measured."""
    last: Call | None = None
    """Its last call in the run that failed."""

    @property
    def process(self) -> str:
        """In what it ran."""
        apart = (
            "its own user, pid, mount, network and IPC namespace" if self.namespaces else "no namespaces: refused here"
        )
        return f"of its own; {apart}; no descriptor; each system call stopped by seccomp"

    @property
    def right(self) -> str:
        """What is said of a candidate against which nothing was found."""
        calls = sum(sum(step.calls.values()) for step in self.steps)
        native = f" and {self.inputs:,} native inputs; a fault rarer than one in {self.inputs // 3:,} is not seen"
        says = f"it answers as the oracle does, within its buffers, in {calls:,} calls of the tests"
        return f"{says}{native if self.inputs else ''}{self.right_but}"

    def step(self, name: str, checks: str, work: Callable[[], Outcome]) -> Verdict | None:
        """A step; its seconds are its own, also if it ran beside others."""
        start = time.monotonic()
        with console().status(name):
            found = work()
        says = found.verdict.word if found.verdict else found.says
        seconds = found.seconds or round(time.monotonic() - start, 1)
        self.steps.append(Step(name, checks, says, seconds, found.calls))
        self.inputs += found.inputs
        self.namespaces &= found.namespaces
        if found.verdict:
            self.last = found.last
        self.show(self.steps[-1])
        return found.verdict


def judge(trial: Trial, speed: str) -> Verdict:
    """The trial ends with the first step that fails. speed: clock, or no. JudgeError: nothing was judged."""
    candidate = trial.candidate

    def compiles() -> Outcome:
        judge_build.write_sources(candidate)
        target = candidate.folder / "candidate.o"
        trial.warnings = judge_build.compile_candidate(candidate, trial.cflags, target)
        trial.imports = objects.calls(target)
        trial.constructors = objects.constructors(target)
        trial.interposed = objects.interposed(target, candidate.kind.defines)
        why = "" if candidate.as_upstream else judge_build.examine(candidate, target)
        why = f"refused by its object file: {why}" if why else ""
        if not why and (left := judge_build.left_out(candidate, trial.cflags)):
            why = f"it says {left}, by which its faults would not be looked for"
        warned = f"{len(re.findall(r'warning:', trial.warnings))} warnings"
        return Outcome(Verdict("FAIL", why) if why else None, warned)

    checks = "the compiler's warnings, the signature; what is in the object file: constructors, memory, names, calls"
    verdict = trial.step("compiles", checks, compiles)
    verdict = verdict or _component(trial) or _tests(trial)
    if verdict:
        return verdict
    if not trial.namespaces:
        trial.right_but = "; this kernel refuses new namespaces, so its process had seccomp alone"
    if speed == "no" or not candidate.kind.sizes or (candidate.as_upstream and candidate.kind.untimed):
        return Verdict("PASS", f"{trial.right}; {NOT_DONE}")

    # Not before: to load what measures takes seconds.
    from tools.judge import speed as judge_speed

    def races() -> Outcome:
        found, trial.places = judge_speed.stand(candidate, trial.hosts, trial.seed, full=trial.full, other=trial.other)
        return Outcome(found, f"{len(trial.places)} configurations")

    checks = "upstream's variants, ours and it, each in processes of its own, in turn; all that is timed is compared"
    if verdict := trial.step("speed beside upstream and ours", checks, races):
        return verdict
    word = "SLOWER" if any(found.slower for found in trial.places) else "PASS"
    return Verdict(word, f"{trial.right}; {judge_speed.says(trial.places)}")


def _component(trial: Trial) -> Verdict | None:
    """A lock or a policy: the world of its stem with the candidate in the place of ours."""
    candidate, flags = trial.candidate, trial.cflags_asan

    def process() -> Outcome:
        trial.host = judge_build.component_host(candidate, trial.cflags)
        return Outcome(None, APART)

    def worlds() -> Outcome:
        program = candidate.folder / "world" / "world"
        if alone := judge_world.alone(candidate.folder / "caged.o"):
            why = f"the world of threads has no double of {', '.join(alone)}: do without"
            return Outcome(Verdict("UNDECIDED", why))
        judge_world.build(candidate, flags, program)
        return _of_found(judge_world.run(candidate, program, trial.seed), candidate.kind.world)

    checks = "schedules and faults chosen by seeds; a run that fails is replayed and shortened"
    checks += "; data races, by what orders threads" if candidate.kind.threads else ""
    if candidate.kind.cage and (verdict := trial.step("gets a process", ALONE, process)):
        return verdict
    if candidate.kind.world and (verdict := trial.step("the world of threads and faults", checks, worlds)):
        return verdict
    if candidate.kind.calls:
        program, inputs = candidate.folder / "calls" / "calls", INPUTS // 4 * (20 if trial.full else 1)
        verdict = trial.step(
            "native calls", CALLS, lambda: judge_world.call(candidate, flags, program, trial.seed, inputs)
        )
        if verdict:
            return verdict
    return None


def _of_found(found: judge_world.Found, at: Path | None) -> Outcome:
    """The verdict on a component in the world of its stem; none: nothing against the candidate."""
    if found.is_right:
        return Outcome(None, found.says)
    if found.why:
        return Outcome(Verdict("FAIL", found.why, str(at), found.history))
    return Outcome(of_process(found.code, found.asleep, str(at), found.log))


def _tests(trial: Trial) -> Verdict | None:
    """The stem's tests and native inputs, side by side; the first that fails in this order decides."""
    candidate, kind, plain = trial.candidate, trial.candidate.kind, trial.candidate.folder / "plain"

    def prepare() -> Outcome:
        judge_build.link(candidate, trial.cflags, Path("build/obj"), plain)
        if kind.cage:
            return Outcome(None, "the same")
        trial.hosts = Hosts.build(candidate, trial.cflags)
        if trial.against:
            trial.other = _other(trial.against, trial.cflags)
        return Outcome(None, APART)

    if verdict := trial.step("is called by the tests" if kind.cage else "gets a process", ALONE, prepare):
        return verdict
    hosts, profile, inputs = trial.hosts, "ci" if trial.full else "brief", INPUTS // 2 // kind.costs
    control = _control(trial)
    first = Run("plain", plain, profile, host=hosts.theirs if hosts else trial.host, control=control)
    again = Run("again", plain, profile, seed=trial.seed, host=hosts.traps if hosts else trial.host, control=control)
    servers = Run(
        "servers", plain, "brief", only=(SERVERS.format(kind.stem),), host=hosts.theirs if hosts else trial.host
    )
    runs = Runs(candidate, extracted=trial.full)
    try:
        started = [("answers as the oracle" + " and the proof" * trial.full, TESTS, runs.start(first))]
        started.append((f"other inputs (seed {trial.seed})", AGAIN, runs.start(again)))
        for i, theirs in enumerate((hosts.theirs, hosts.traps) if hosts else ()):
            assert hosts is not None
            done = runs.native(hosts.driver, trial.seed + i, inputs * (100 if trial.full else 1), theirs, hosts.ours)
            started.append(("native inputs" + ", traps" * i, NATIVE, done))
        if trial.other and hosts:
            done = runs.native(hosts.driver, trial.seed + 2, inputs, trial.other, hosts.ours)
            started.append(("the other candidate", NATIVE, lambda: replace(done(), inputs=0)))
        if trial.full and Path(servers.only[0]).exists():
            started.append(("real servers", "what PostgreSQL's own functions answer", runs.start(servers)))
        for name, checks, ended in started:
            if verdict := trial.step(name, checks, ended):
                return verdict
    finally:
        runs.end()
    return None


def _other(other: Candidate, cflags: Sequence[str]) -> Path:
    """The program in which another candidate runs. JudgeError: its object file is refused."""
    other.folder.mkdir(exist_ok=True)
    judge_build.write_sources(other)
    judge_build.compile_candidate(other, cflags, other.folder / "candidate.o")
    if why := judge_build.examine(other, other.folder / "candidate.o"):
        raise JudgeError(f"{other.source} is refused by its object file: {why}")
    return judge_build.host(other, other.folder / "candidate.o", other.folder / "theirs")


def _control(trial: Trial) -> Path:
    """Ours in the candidate's place: another program."""
    if trial.hosts:
        return trial.hosts.ours
    folder = trial.candidate.folder / "control"
    folder.mkdir(exist_ok=True)
    (folder / "right.c").write_text(trial.candidate.kind.template())
    ours = replace(trial.candidate, source=folder / "right.c", folder=folder, parts=(), tree=None, alias="")
    judge_build.write_sources(ours)
    return judge_build.component_host(ours, trial.cflags)

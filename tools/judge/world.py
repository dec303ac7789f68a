# SPDX-License-Identifier: PostgreSQL
"""The world that judges a component, one of the stem's, with a candidate in the place of ours.

The candidate's mutexes, conditions, futexes, clock and memory are those of tests/world/, so a seed says which thread
runs when, and the run that fails is replayed without the steps that it does not need. Data races are looked for where
it runs: races.h.
"""

import os
import re
import resource
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common import watch
from tools.common.kernels import kernel_sources
from tools.common.tally import tally, words
from tools.judge import objects
from tools.judge.build import HERE, Candidate
from tools.judge.kinds import JudgeError
from tools.judge.run import Outcome, of_native
from tools.judge.verdict import BROKEN, of_process

Parts = Sequence[str | Path]
RUNS = 400
CPU_SECONDS = 120
SHOWN = 4
"""Counts of a world that are told."""
INTERPOSED = ["-include", "tests/world/interpose.h"]
LIBRARY = Path("build/lib/libpgquern.a")
"""All other stems' kernels."""
ALONE = re.compile(
    r"pthread_(?!condattr_|mutexattr_|attr_|self$|equal$)|(sem|mtx|cnd|thrd)_|sched_yield|u?sleep$|s?poll$|p?select$"
)
"""Calls by which threads wait or meet, of which the world has no double."""
VIOLATION = re.compile(r"^violation with SEED=(\d+): (.*)$", re.MULTILINE)
OWN = re.compile(r"^judge, an error of its own: .*$", re.MULTILINE)
"""How tools/judge/cage.c says that it could not do its own work; a candidate can write nothing."""
HISTORY = re.compile(r"^(?:step \d+|  \S.*)$", re.MULTILINE)
SAID = {"no thread can go on": "it waits for ever: no thread can go on"}
ENDED = {signal.SIGPROF: signal.SIGXCPU}
"""By what signal the world ends a run that takes too much CPU, and by what one the judge does."""


@dataclass(frozen=True)
class Found:
    """What came out of the seeds."""

    says: str
    """Of what was tried, if nothing was found."""
    code: int = 0
    asleep: bool = False
    why: str = ""
    """The violation, in words, if there is one."""
    history: str = ""
    """What led to it."""
    log: str = ""

    @property
    def is_right(self) -> bool:
        return self.code == 0 and not self.asleep


def _objects(folder: str, candidate: Candidate) -> list[Path]:
    """Those of the stem's kernels, and of what it stands on, without its table. JudgeError."""
    sources = [*kernel_sources("common"), *kernel_sources(candidate.kind.stem)]
    objects = [Path(folder, s.relative_to("csrc")).with_suffix(".o") for s in sources if s != candidate.kind.table()]
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "MFLAGS"}
    made = subprocess.run(["make", "-s", *objects], capture_output=True, text=True, env=environment)
    if made.returncode:
        raise JudgeError(f"{folder} does not build; repair this clone:\n{made.stderr[-3000:]}")
    return objects


def _link(candidate: Candidate, cflags: Sequence[str], parts: Parts, program: Path) -> None:
    """The program, of parts that are the same for all, of the candidate's table, and of what calls its process.
    JudgeError."""
    folder = program.parent
    folder.mkdir(parents=True, exist_ok=True)
    own = [folder / "cage.o"]
    subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-c", HERE / "cage.c", "-o", own[0]], check=True)
    for name in ("variants", "call", "proxy"):
        own.append(folder / f"{name}.o")
        subprocess.run(["gcc", *cflags, "-c", candidate.folder / f"{name}.c", "-o", own[-1]], check=True)
    plain = [flag for flag in cflags if flag not in INTERPOSED]
    command = ["gcc", *plain, *parts, *own, LIBRARY, "-pthread", "-o", program]
    linked = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if linked.returncode:
        raise JudgeError(f"{candidate.source} does not link into {program}:\n{linked.stderr[-3000:]}")


def build(candidate: Candidate, cflags: Sequence[str], program: Path) -> None:
    """Builds the world. JudgeError."""
    assert candidate.kind.world is not None
    drivers = [candidate.kind.world, *Path("tests/world").glob("*.c")]
    parts: Parts = ["-DPGQUERN_JUDGED", *drivers, *_objects("build/obj-world", candidate)]
    _link(candidate, [*cflags, *INTERPOSED], parts, program)


def alone(caged: Path) -> list[str]:
    """Calls of a candidate that have no double."""
    return sorted(name for name in objects.calls(caged) if ALONE.match(name))


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, resource.RLIM_INFINITY))


def _environment(candidate: Candidate) -> dict[str, str]:
    return {"ASAN_OPTIONS": "detect_leaks=0", "PGQUERN_JUDGE_HOST": str((candidate.folder / "theirs").resolve())}


def run(candidate: Candidate, program: Path, seed: int) -> Found:
    """RUNS seeds, from this one on; fewer of a component that is called more often than others, in its own process."""
    runs = RUNS // 4 if candidate.kind.calls else RUNS
    code, slept, text = watch.run(
        [program, str(seed), str(runs)], program.with_name("log"), _environment(candidate), _limit
    )
    counts = tally(text)
    if code == 0 and counts:
        most = sorted(counts.items(), key=lambda count: -count[1])[:SHOWN]
        return Found(f"{runs} seeds: {words(dict(most))}")
    if own := OWN.search(text):
        raise JudgeError(f"The world ended: {own[0]}")
    why, said = "", VIOLATION.findall(text)
    if said:
        seed_of, message = said[-1]
        if broken := BROKEN.search(text):
            message = broken[1]
        if (ended := re.fullmatch(r"signal (\d+)", message)) is None:
            why = f"{SAID.get(message, message)} (seed {seed_of} of the world)"
        else:
            code = -ENDED.get(signal.Signals(int(ended[1])), int(ended[1]))
    return Found("", code or 1, slept, why, "\n".join(HISTORY.findall(text)), text)


def call(candidate: Candidate, cflags: Sequence[str], program: Path, seed: int, inputs: int) -> Outcome:
    """Many calls of a component, as the stem makes them. cflags: those for ASan. JudgeError."""
    assert candidate.kind.calls is not None
    _link(candidate, cflags, [candidate.kind.calls, *_objects("build/obj-asan", candidate)], program)
    command: Parts = [program, str(seed), str(inputs)]
    code, slept, text = watch.run(command, program.with_name("log"), _environment(candidate), _limit)
    if verdict := of_process(code, slept, str(candidate.kind.calls), text) if code or slept else None:
        return Outcome(verdict)
    return of_native(code, text)

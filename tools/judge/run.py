# SPDX-License-Identifier: PostgreSQL
"""Runs the stem's own tests against a binding with a candidate, in processes of their own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tools.common.tally import tally, words
from tools.common.watch import PATIENCE, asleep_for_ever
from tools.judge.build import Candidate
from tools.judge.child import Order
from tools.judge.kinds import JudgeError
from tools.judge.last import last_call
from tools.judge.verdict import KEEPER, Verdict, of_process, of_report


@dataclass(frozen=True)
class Run:
    """One run of the tests."""

    name: str
    binding: Path
    """The folder of the binding."""
    profile: str
    seed: int | None = None
    host: Path | None = None
    """The program in which the candidate runs."""
    only: tuple[str, ...] = ()
    """The files of tests, if they are others than those of the kind; then all of their tests are taken."""
    control: Path | None = None
    """The same with ours in the candidate's place: a test that fails with it, too, is itself at fault."""


@dataclass(frozen=True)
class Outcome:
    """What came out of one run."""

    verdict: Verdict | None
    """If there is one already."""
    says: str = ""
    calls: dict[str, int] = field(default_factory=dict)
    """Of the candidate, by test."""
    last: dict[str, Any] | None = None
    """The candidate's last call, if the stem keeps it."""
    seconds: float = 0.0
    inputs: int = 0
    """That were given to it natively."""
    namespaces: bool = True


class Runs:
    """Several runs of one candidate side by side, one for each CPU. The first in order decides; then the rest end."""

    def __init__(self, candidate: Candidate, *, extracted: bool = False) -> None:
        self.candidate = candidate
        self.extracted = extracted
        """The functions extracted from the proofs are asked, too: that a clone has compiled them takes minutes."""
        self._live: list[subprocess.Popen[Any]] = []
        self._ended = False
        self._pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))

    def start(self, run: Run) -> Callable[[], Outcome]:
        """Begins it as soon as a CPU is free; what comes back waits for its end."""
        return self._pool.submit(self._run, run).result

    def native(self, driver: Path, seed: int, inputs: int, theirs: Path, ours: Path) -> Callable[[], Outcome]:
        """The same of inputs that are made natively, and compared with what ours makes of them."""
        return self._pool.submit(self._native, [driver, "check", seed, inputs, theirs, ours]).result

    def _native(self, command: Sequence[Path | str | int]) -> Outcome:
        start = time.monotonic()
        process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        self._live.append(process)
        if self._ended:
            _kill(process)
        said = process.communicate()[0]
        self._live.remove(process)
        return replace(of_native(process.returncode, said), seconds=round(time.monotonic() - start, 1))

    def end(self) -> None:
        """Ends what still runs."""
        self._ended = True
        for process in list(self._live):
            _kill(process)
        self._pool.shutdown(cancel_futures=True)

    def _run(self, run: Run) -> Outcome:
        start = time.monotonic()
        found = self._tests(run)
        if found.verdict and found.verdict.unexplained:
            # A candidate that calls exit() does it again; what a busy machine does to a process, it does seldom.
            found = self._tests(run)
        failed = found.verdict if found.verdict and found.verdict.word == "FAIL" else None
        if failed and "::" in failed.test and run.control and not self._ended:
            ours = replace(run, name=f"{run.name}-control", only=(failed.test,), host=run.control)
            if (theirs := self._tests(ours).verdict) and theirs.word == "FAIL":
                why = f"the test fails with ours in the candidate's place, too, and says nothing of it: {theirs.why}"
                found = replace(found, verdict=Verdict("BROKEN", why, failed.test))
        return replace(found, seconds=round(time.monotonic() - start, 1))

    def _tests(self, run: Run) -> Outcome:
        folder = self.candidate.folder / "runs" / run.name
        (folder / "tmp").mkdir(parents=True, exist_ok=True)
        current, log = folder / "current", folder / "log"
        current.write_text("")
        order, variables = self._order(run, folder), self._environment(run, folder)
        receiver, sender = os.pipe()
        with log.open("w") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tools.judge.child", str(sender), json.dumps(asdict(order))],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables, pass_fds=[sender],
                start_new_session=True,
            )  # fmt: skip
        self._live.append(process)
        if self._ended:
            _kill(process)
        os.close(sender)
        report = Connection(receiver, writable=False)
        try:
            asleep = asleep_for_ever(process.pid, report, PATIENCE)
            if asleep:
                process.kill()
            code = process.wait()
        finally:
            # What the candidate has left behind is of the same group.
            _kill(process)
            self._live.remove(process)
        with os.fdopen(os.dup(receiver)) as told_by:
            text = told_by.read()
        report.close()
        said = log.read_text(errors="replace")
        if not text:
            verdict = of_process(code, asleep, current.read_text(), said)
            if code == KEEPER and not asleep:
                raise JudgeError(f"The judge could not do its own work here:\n{said[-3000:]}")
            if verdict is None:
                raise JudgeError(f"The tests ended with {code} outside of any test; repair this clone:\n{said[-3000:]}")
            return Outcome(verdict, last=last_call(folder / "last"))
        told = json.loads(text)
        (folder / "told.json").write_text(text)
        (folder / "failure.txt").write_text(told["text"])
        says = f"{len(told['calls'])} tests, {sum(told['calls'].values()):,} calls"
        # Not every kind is asked what a server answers.
        verdict = of_report(told, said, may_rest=bool(run.only))
        return Outcome(verdict, says, told["calls"], last_call(folder / "last"), namespaces=told["namespaces"])

    def _order(self, run: Run, folder: Path) -> Order:
        if run.only:
            return Order(
                list(run.only), list(run.only), f". csrc/ffi {run.binding}", str(folder / "current"), run.seed,
                kind=self.candidate.kind.name, last=str(folder / "last"),
            )  # fmt: skip
        kind, at = self.candidate.kind, Path("tests", self.candidate.kind.stem)
        proved = str(at / "test_extracted.py")
        files = {*map(str, at.glob("test_kernels*.py")), *(n.split("::")[0] for n in kind.loops)} - {proved}
        files |= {proved} if self.extracted else set()
        return Order(
            sorted(files), list(kind.loops), f". csrc/ffi {run.binding}", str(folder / "current"), run.seed,
            kind=kind.name, last=str(folder / "last"), without=list(kind.without),
        )  # fmt: skip

    def _environment(self, run: Run, folder: Path) -> dict[str, str]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PGQUERN_")}
        # What calls the dispatched function calls the candidate, too.
        variables |= {"PGQUERN_VARIANT": f"{self.candidate.kind.name}=candidate", "PGQUERN_PROFILE": run.profile}
        variables |= {"TMPDIR": str((folder / "tmp").resolve()), "OPENBLAS_NUM_THREADS": "1"}
        # Tests of many inputs take more of them, and other ones in each run.
        variables["PGQUERN_JUDGE"] = str(run.seed or 0)
        variables["PYTHONPATH"] = f".:csrc/ffi:{run.binding}"
        variables |= {"PGQUERN_JUDGE_HOST": str(run.host)} if run.host else {}
        return variables


def of_native(code: int, said: str) -> Outcome:
    """What tools/judge/driver.c told. JudgeError: an error of ours."""
    if code == 1 and (why := re.search(r"^judge: (.*)$", said, re.MULTILINE)):
        return Outcome(Verdict("FAIL", why[1], "tools/judge/driver.c", said[why.end() :].strip()))
    made = re.search(r"^inputs (\d+)$", said, re.MULTILINE)
    if code or made is None:
        raise JudgeError(f"The native inputs ended with {code}, an error of the judge's own:\n{said[-2000:]}")
    return Outcome(None, f"{int(made[1]):,} inputs: {words(tally(said))}", inputs=int(made[1]))


def _kill(process: subprocess.Popen[Any]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

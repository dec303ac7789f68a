# SPDX-License-Identifier: PostgreSQL
"""Runs a pytest node against a binding of one's choice, each time in a fresh process.

The processes are forked from a server that has imported the heavy modules already: to start one takes a tenth of what
`python -m pytest` takes. What limits a run is its own CPU time: too much of it, next to none for minutes, or sleep
of all its threads without a break, as of those that wait for ever. A busy machine changes no verdict.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from tools.common.watch import PATIENCE, asleep_for_ever

CONTEXT = get_context("forkserver")
HEAVY = ["pytest", "hypothesis.stateful", "_hypothesis_pytestplugin", "numpy", "tests.changes.nodes"]
CONTEXT.set_forkserver_preload(HEAVY)
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
FAILED = "a test failed"
ASLEEP = "asleep"
NO_END = "no end"
OTHERS = ""
"""In limits, the tests that have none of their own."""
OPTIONS = ("-x", "-q", "--no-header", "--disable-warnings", "-p", "no:cacheprovider")


class Ended(NamedTuple):
    """How a run of pytest ended."""

    code: int
    """pytest's exit code; -N if signal N ended the process."""
    outcomes: dict[str, str]
    """Passed, failed or skipped, for each test that ran to its end."""
    skipped: str
    """Why the last test that was skipped was skipped."""
    cpu: float
    """CPU seconds; 0 if a signal ended the process."""
    seconds: dict[str, float]
    """CPU seconds of each test, set-up and all; empty if a signal ended the process."""
    output: str
    asleep: bool = False
    """The run used no CPU time any more, and was ended."""
    last: str = ""
    """The test that ran last: at a crash, or at an end by force, the one that it came in."""

    @property
    def killed(self) -> str:
        """What killed the change: a test that failed, a crash, an endless loop or wait. Empty if it survived."""
        if self.asleep:
            return ASLEEP
        if self.code == pytest.ExitCode.TESTS_FAILED:
            return FAILED
        if -self.code == signal.SIGXCPU:
            return NO_END
        return signal.Signals(-self.code).name if -self.code in CRASHES else ""


class Plugin:
    """A pytest plugin that keeps each test's outcome, and has Hypothesis stop at the first example that fails."""

    def __init__(self, max_examples: int | None, limits: Mapping[str, int], first: Sequence[str], last: Path) -> None:
        self.max_examples = max_examples
        self.limits = limits
        self.order = {node: place for place, node in enumerate(first)}
        self.last = last
        self.outcomes: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self.skipped = ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Derives a profile from the one that conftest.py has chosen. Examples are not shrunk: it only matters that a
        change is told."""
        profile = settings(database=None, phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False)
        if self.max_examples is not None:
            profile = settings(profile, max_examples=self.max_examples)
        settings.register_profile("changes", profile)
        settings.load_profile("changes")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.order.get(item.nodeid, len(self.order)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = time.process_time()
        self.last.write_text(item.nodeid)
        if self.limits:
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            allowed = self.limits.get(item.nodeid, self.limits[OTHERS])
            resource.setrlimit(resource.RLIMIT_CPU, (min(hard, int(before) + allowed), hard))
        ended = yield
        self.seconds[item.nodeid] = time.process_time() - before
        return ended

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped = report.longrepr[2].removeprefix("Skipped: ")


def child(
    chosen: Sequence[str],
    paths: str,
    cpu_limit: int,
    max_examples: int | None,
    limits: Mapping[str, int],
    first: Sequence[str],
    log: Path,
    report: Connection,
) -> None:
    """What the new process does."""
    file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.get(OTHERS, cpu_limit), cpu_limit + 1))
    os.environ.pop("PGQUERN_RESULT", None)
    if "_pgquern" in sys.modules:
        raise RuntimeError("a binding is loaded already; the modules that the server imports must not import it")
    plugin = Plugin(max_examples, limits, first, log.with_suffix(".last"))
    code = pytest.main([*OPTIONS, "-o", f"pythonpath={paths}", *chosen], plugins=[plugin])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    report.send((int(code), plugin.outcomes, plugin.skipped, usage.ru_utime + usage.ru_stime, plugin.seconds))


def run(
    node: str | Sequence[str],
    binding: Path,
    log: Path,
    cpu_limit: int,
    max_examples: int | None = None,
    patience: float = PATIENCE,
    limits: Mapping[str, int] | None = None,
    first: Sequence[str] = (),
    before: str = "",
) -> Ended:
    """Run a node, or several, against the binding in a folder.

    log: the file for what pytest prints. cpu_limit: CPU seconds. max_examples: of Hypothesis, None as the profile says.
    patience: see PATIENCE. limits: CPU seconds of single tests, and of all OTHERS. first: tests that come first, in
    this order. before: a folder whose modules take the place of the tree's.
    """
    chosen = [node] if isinstance(node, str) else list(node)
    paths = f"{before} . {binding} csrc/ffi".strip()
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("")
    (last := log.with_suffix(".last")).write_text("")
    receiver, sender = CONTEXT.Pipe(duplex=False)
    told = (chosen, paths, cpu_limit, max_examples, limits or {}, first, log, sender)
    process = CONTEXT.Process(target=child, args=told)
    process.start()
    sender.close()
    asleep = asleep_for_ever(process.pid or 0, receiver, patience)
    if asleep:
        process.kill()
    try:
        code, outcomes, skipped, cpu, seconds = receiver.recv()
    except EOFError:
        process.join()
        code, outcomes, skipped, cpu, seconds = process.exitcode, {}, "", 0.0, {}
    process.join()
    receiver.close()
    return Ended(code, outcomes, skipped, cpu, seconds, log.read_text(errors="replace"), asleep, last.read_text())

# SPDX-License-Identifier: PostgreSQL
"""Runs a pytest node against a binding of one's choice, each time in a fresh process.

The processes are forked from a server that has imported the heavy modules already: to start one takes a tenth of what
`python -m pytest` takes. What limits a run is its own CPU time, never the clock: a busy machine changes no verdict.
"""

import os
import resource
import signal
import sys
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

CONTEXT = get_context("forkserver")
HEAVY = ("pytest", "hypothesis.stateful", "_hypothesis_pytestplugin", "numpy", "tests.runners.nodes")
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGILL, signal.SIGFPE}
MISSING = pytest.ExitCode.USAGE_ERROR
FAILED = "a test failed"
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
    output: str

    @property
    def killed(self) -> str:
        """What killed the mutant: a test that failed, a crash, or an endless loop. Empty if it survived."""
        if self.code == pytest.ExitCode.TESTS_FAILED:
            return FAILED
        if -self.code == signal.SIGXCPU:
            return "no end"
        return signal.Signals(-self.code).name if -self.code in CRASHES else ""


class Plugin:
    """A pytest plugin that keeps each test's outcome, and has Hypothesis stop at the first example that fails."""

    def __init__(self, max_examples: int | None) -> None:
        self.max_examples = max_examples
        self.outcomes: dict[str, str] = {}
        self.skipped = ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Derives a profile from the one that conftest.py has chosen. Examples are not shrunk: it only matters that a
        mutant dies."""
        profile = settings(database=None, phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False)
        if self.max_examples is not None:
            profile = settings(profile, max_examples=self.max_examples)
        settings.register_profile("mutants", profile)
        settings.load_profile("mutants")

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.outcomes[report.nodeid] = report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped = report.longrepr[2].removeprefix("Skipped: ")


def preload(modules: Sequence[str]) -> None:
    """Name what the server is to import beside HEAVY, before the first run."""
    CONTEXT.set_forkserver_preload([*HEAVY, *modules])


def child(node: str, binding: Path, cpu_limit: int, max_examples: int | None, log: Path, report: Connection) -> None:
    """What the new process does."""
    file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit + 1))
    os.environ.pop("PGQUERN_RESULT", None)
    if "_pgquern" in sys.modules:
        raise RuntimeError("a binding is loaded already; the modules that the server imports must not import it")
    plugin = Plugin(max_examples)
    code = pytest.main([*OPTIONS, "-o", f"pythonpath=. csrc/ffi {binding}", node], plugins=[plugin])
    usage = resource.getrusage(resource.RUSAGE_SELF)
    report.send((int(code), plugin.outcomes, plugin.skipped, usage.ru_utime + usage.ru_stime))


def run(node: str, binding: Path, log: Path, cpu_limit: int, max_examples: int | None = None) -> Ended:
    """Run a node against the binding in a folder.

    log: the file for what pytest prints. cpu_limit: CPU seconds. max_examples: of Hypothesis, None as the profile says.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=child, args=(node, binding, cpu_limit, max_examples, log, sender))
    process.start()
    sender.close()
    try:
        code, outcomes, skipped, cpu = receiver.recv()
    except EOFError:
        process.join()
        code, outcomes, skipped, cpu = process.exitcode, {}, "", 0.0
    process.join()
    receiver.close()
    return Ended(code, outcomes, skipped, cpu, log.read_text(errors="replace"))

# SPDX-License-Identifier: PostgreSQL
"""Run the models, a few at a time, and judge each."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape

from spec.tools import accepted, apalache, tlc
from spec.tools.models import Holds, Run
from spec.tools.outcome import Outcome, ToolMissing
from tools import progress
from tools.results import Status

HANG_FACTOR, HANG_SECONDS = 20, 600
"""A run is taken to hang after HANG_FACTOR times its planned seconds, and at the earliest after HANG_SECONDS."""


@dataclass(frozen=True)
class How:
    """How to run: where generated things go, how many at once, and what is wanted of TLC."""

    build: Path
    jobs: int = 2
    accept: bool = False
    coverage: bool = False


@dataclass
class Item:
    """A run and how it went: passed, failed or skipped, and why."""

    run: Run
    status: Status = "skipped"
    why: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def late(self) -> bool:
        """Whether it took longer than planned. A busy or slow machine is no failure: this is only said."""
        return self.outcome.seconds > self.run.seconds


class Hangs(RuntimeError):
    """A process that was stopped because it did not end."""


def run_all(runs: Sequence[Run], how: How) -> list[Item]:
    """Run all, the longest first, and judge each against what was accepted (or, to accept, only whether it fits)."""
    if any(not run.symbolic for run in runs):
        tlc.find(how.build)
    items = [Item(run) for run in runs]
    console, stop = progress.console(stderr=True), threading.Event()
    waiting = skip_symbolic(items)
    if skipped := [item for item in items if item not in waiting]:
        console.print(
            f"[yellow]SKIPPED[/] {len(skipped)} runs of Apalache: {escape(skipped[0].why[0])}", soft_wrap=True
        )
    with ThreadPoolExecutor(how.jobs) as pool, progress.bar(console) as bar:
        task = bar.add_task("models", total=len(waiting))
        try:
            begun = [pool.submit(run_one, item, how, stop) for item in sorted(waiting, key=cost, reverse=True)]
            for future in as_completed(begun):
                item = future.result()
                bar.console.print(line(item), soft_wrap=True)
                bar.advance(task)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return items


def cost(item: Item) -> tuple[int, int]:
    """What to start first: planned seconds, then states."""
    expected = item.run.expected
    return item.run.seconds, (expected.states or 0) if isinstance(expected, Holds) else 0


def skip_symbolic(items: Sequence[Item]) -> list[Item]:
    """The items that can run. Where there is no Apalache, its runs are marked as skipped."""
    symbolic = [item for item in items if item.run.symbolic]
    try:
        if symbolic:
            apalache.find()
    except ToolMissing as error:
        for item in symbolic:
            item.outcome, item.why = Outcome(result="skipped", reason=str(error)), [str(error)]
        return [item for item in items if not item.run.symbolic]
    return list(items)


def run_one(item: Item, how: How, stop: threading.Event) -> Item:
    """Run one in a process of its own and judge it."""
    run, began = item.run, time.monotonic()
    if run.symbolic:
        command, folder = apalache.command(run, how.build)
    else:
        command, folder = tlc.command(run, how.build, coverage=how.coverage)
    log = how.build / "model" / run.stem / run.name / "log"
    try:
        exit_code = execute(command, folder, log, limit(run), stop)
        output = log.read_text(errors="replace")
        if run.symbolic:
            item.outcome = apalache.parse(output, exit_code, run.properties)
        else:
            item.outcome = tlc.parse(output, exit_code, run.settings.properties)
    except Hangs as hangs:
        item.outcome = Outcome(reason=str(hangs))
    item.outcome.log, item.outcome.seconds = log, time.monotonic() - began
    judge(item, how)
    return item


def judge(item: Item, how: How) -> None:
    """Say whether a run that is over is as it must be."""
    item.why = (accepted.unfit if how.accept else accepted.differences)(item.run, item.outcome)
    item.status = "failed" if item.why else "passed"


def limit(run: Run) -> float:
    """Seconds after which a run is taken to hang."""
    return max(HANG_FACTOR * run.seconds, HANG_SECONDS)


def execute(command: list[str], folder: Path, log: Path, seconds: float, stop: threading.Event) -> int:
    """Run a command with its output in a file; its exit code. Raises Hangs after so many seconds."""
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        began = time.monotonic()
        while True:
            try:
                return process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                late = time.monotonic() - began > seconds
                if stop.is_set() or late:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    raise Hangs(f"taken to hang and stopped after {seconds:.0f} s" if late else "interrupted") from None


def states(item: Item) -> str:
    """The states found, or what is violated and after how many states."""
    seen = item.outcome
    if seen.result == "violation":
        return f"violates {seen.property}" + ("" if seen.sort == "liveness" else f" after {seen.trace_length} states")
    return f"{seen.distinct:,} states, depth {seen.depth}" if seen.distinct is not None else "holds"


def line(item: Item) -> str:
    """What is said of a run that is over."""
    seconds = f"{item.outcome.seconds:.1f} s" + (f" [yellow](planned: {item.run.seconds} s)[/]" if item.late else "")
    if item.status == "failed":
        return f"[red]FAILED[/]  {item.run.key}: {escape('; '.join(item.why))} (log: {item.outcome.log})"
    return f"[green]ok[/]      {item.run.key}: {states(item)}, {seconds}"

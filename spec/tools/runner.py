# SPDX-License-Identifier: PostgreSQL
"""Run the models, a few at a time, and judge each."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from rich.markup import escape

from spec.tools import accepted, apalache, batch, tlc
from spec.tools.models import Holds, Run
from spec.tools.outcome import Ended, Outcome, ToolBroken, ToolMissing
from tools.common import progress
from tools.common.results import Status

HANG_FACTOR, HANG_SECONDS = 20, 600
"""A run is taken to hang after HANG_FACTOR times its planned seconds, and at the earliest after HANG_SECONDS."""
POLL_SECONDS = 0.05


@dataclass(frozen=True)
class How:
    """How to run: where generated things go, how many at once, and what is wanted of TLC."""

    build: Path
    jobs: int = 2
    accept: bool = False
    coverage: bool = False
    alone: bool = False
    """Each run in a JVM of its own."""


@dataclass
class Item:
    """A run and its result: passed, failed or skipped, and why."""

    run: Run
    status: Status = "skipped"
    why: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    again: bool = False
    """Whether it did not end as accepted in a shared JVM, and was run again in one of its own."""

    @property
    def late(self) -> bool:
        """Whether it took more CPU time than planned. This is only reported: a slow machine is no failure."""
        return self.outcome.cpu_seconds > self.run.seconds


class Hangs(RuntimeError):
    """A process that was stopped because it did not end."""


def run_all(runs: Sequence[Run], how: How) -> list[Item]:
    """Run all, the longest first, and judge each against what was accepted (or, to accept, only whether it fits)."""
    if any(not run.symbolic for run in runs):
        tlc.find(how.build)
    items = [Item(run) for run in runs]
    console, stop = progress.console(stderr=True), threading.Event()
    if aside := set_aside(items):
        word = "[red]FAILED[/] " if aside[0].status == "failed" else "[yellow]SKIPPED[/]"
        console.print(f"{word} {len(aside)} runs of Apalache: {escape(aside[0].why[0])}", soft_wrap=True)
    waiting = [item for item in items if item not in aside]
    with ThreadPoolExecutor(how.jobs) as pool, progress.bar(console) as bar:
        task = bar.add_task("models", total=len(waiting))

        def over(item: Item) -> None:
            bar.console.print(line(item), soft_wrap=True)
            bar.advance(task)

        try:
            begun = [pool.submit(run_some, some, how, stop, over) for some in portions(waiting, how)]
            for future in as_completed(begun):
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return items


def portions(items: Sequence[Item], how: How) -> list[list[Item]]:
    """What is done by one process: the items of a batch, or one item. The longest first."""
    by_run = {item.run.key: item for item in items}
    batched = tlc.batch_jar(how.build).is_file() and not (how.alone or how.accept)
    groups = batch.groups([item.run for item in items]) if batched else []
    found = [[by_run.pop(run.key) for run in group] for group in groups]
    found += [[item] for item in by_run.values()]
    return sorted(found, key=cost, reverse=True)


def run_some(items: Sequence[Item], how: How, stop: threading.Event, over: Callable[[Item], None]) -> None:
    """Run the items of a batch in one JVM; those that do not end as accepted there, each in one of its own."""
    if len(items) > 1:
        runs = [item.run for item in items]
        ended = batch.execute(runs, how.build, [limit(run) for run in runs], stop)
        for item in items:
            if item.run.name in ended:
                log = batch.log(item.run, how.build)
                conclude(item, log, ended[item.run.name], how)
            if item.status == "passed":
                over(item)
    for item in items:
        if item.status != "passed" and not stop.is_set():
            item.again = len(items) > 1
            run_one(item, how, stop)
            over(item)


def cost(some: Sequence[Item]) -> tuple[int, int, int]:
    """The order to start in: by planned seconds, then batches by their length, then by states."""
    expected = some[0].run.expected
    states = (expected.states or 0) if isinstance(expected, Holds) else 0
    return max(item.run.seconds for item in some), len(some), states


def set_aside(items: Sequence[Item]) -> list[Item]:
    """The runs of Apalache where it cannot run: skipped if there is none, failed if it is there and broken."""
    symbolic = [item for item in items if item.run.symbolic]
    if not symbolic:
        return []
    try:
        apalache.find()
    except (ToolMissing, ToolBroken) as error:
        for item in symbolic:
            item.status = "skipped" if isinstance(error, ToolMissing) else "failed"
            item.why = [str(error)]
            item.outcome = Outcome(result="skipped" if item.status == "skipped" else "error", reason=str(error))
        return symbolic
    return []


def run_one(item: Item, how: How, stop: threading.Event) -> None:
    """Run one in a process of its own and judge it."""
    run, began = item.run, time.monotonic()
    if run.symbolic:
        command, folder = apalache.command(run, how.build)
    else:
        command, folder = tlc.command(run, how.build, coverage=how.coverage)
    log = tlc.scratch(run, how.build) / "log"
    try:
        ended = execute(command, folder, log, limit(run), stop)
    except Hangs as hangs:
        item.outcome = Outcome(reason=str(hangs), log=log, seconds=time.monotonic() - began)
        judge(item, how)
    else:
        conclude(item, log, ended, how)


def conclude(item: Item, log: Path, ended: Ended, how: How) -> None:
    """Read the output of a run that has ended, and judge it."""
    run, output = item.run, log.read_text(errors="replace")
    if run.symbolic:
        item.outcome = apalache.parse(output, ended.exit_code, run.properties)
    else:
        item.outcome = tlc.parse(output, ended.exit_code, run.settings.properties)
    item.outcome.log, item.outcome.seconds, item.outcome.cpu_seconds = log, ended.seconds, ended.cpu_seconds
    judge(item, how)


def judge(item: Item, how: How) -> None:
    """Decide whether a run that has ended passed."""
    item.why = (accepted.unfit if how.accept else accepted.differences)(item.run, item.outcome)
    item.status = "failed" if item.why else "passed"


def limit(run: Run) -> float:
    """Seconds after which a run is taken to hang."""
    return max(HANG_FACTOR * run.seconds, HANG_SECONDS)


def execute(command: list[str], folder: Path, log: Path, seconds: float, stop: threading.Event) -> Ended:
    """Run a command with its output in a file. Raises Hangs after so many seconds."""
    began = time.monotonic()
    with log.open("w") as output, apalache.temporary() as environment:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            took = time.monotonic() - began
            if pid:
                process.returncode = os.waitstatus_to_exitcode(status)
                return Ended(process.returncode, took, usage.ru_utime + usage.ru_stime)
            if stop.is_set() or took > seconds:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Hangs("interrupted" if stop.is_set() else f"taken to hang and stopped after {seconds:.0f} s")
            time.sleep(POLL_SECONDS)


def states(item: Item) -> str:
    """The states found, or what is violated and after how many states."""
    seen = item.outcome
    if seen.result == "violation":
        return f"violates {seen.property}" + ("" if seen.sort == "liveness" else f" after {seen.trace_length} states")
    return f"{seen.distinct:,} states, depth {seen.depth}" if seen.distinct is not None else "holds"


def line(item: Item) -> str:
    """The line that is printed for a run that has ended."""
    seconds = f"{item.outcome.cpu_seconds:.1f} s of CPU"
    if item.late:
        seconds += f" [yellow](planned: {item.run.seconds} s)[/]"
    if item.status == "failed":
        by_hand = f"pgquern show {item.run.stem} {item.run.name}"
        return f"[red]FAILED[/]  {item.run.key}: {escape('; '.join(item.why))} (log: {item.outcome.log}; {by_hand})"
    again = ", in a JVM of its own after the shared one" if item.again else ""
    return f"[green]ok[/]      {item.run.key}: {states(item)}, {seconds}{again}"

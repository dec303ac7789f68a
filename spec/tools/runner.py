# SPDX-License-Identifier: PostgreSQL
"""Run configurations, a few at a time, with a live table of what is under way."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from spec.tools import apalache, manifest, tlc
from spec.tools.configs import Config
from spec.tools.manifest import Entry
from spec.tools.outcome import Outcome, ToolMissing


@dataclass
class Item:
    """A configuration on its way: waiting, running, then passed, failed or skipped, and why."""

    config: Config
    accepted: Entry | None
    status: str = "waiting"
    why: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    started: float = 0.0
    distinct: int | None = None

    @property
    def expected_seconds(self) -> int:
        """How long it took when it was accepted; 0 if it wasn't."""
        hours, minutes, seconds = map(int, (self.accepted or {}).get("runtime", "0:0:0").split(":"))
        return hours * 3600 + minutes * 60 + seconds


def run_all(configs: list[Config], accepted: dict[str, Entry], build: Path, jobs: int, *, accept: bool) -> list[Item]:
    """Run all, the longest first; judge each against the manifest (or, to accept, against its own head only)."""
    if any(not config.symbolic for config in configs):
        tlc.find(build)
    items = [Item(config, accepted.get(manifest.key(config))) for config in configs]
    order = sorted(items, key=lambda item: (-item.expected_seconds, item.config.small))
    stop = threading.Event()
    console = Console(stderr=True)
    live = Live(console=console, refresh_per_second=4, get_renderable=lambda: under_way(items), transient=True)
    with ThreadPoolExecutor(jobs) as pool, live if console.is_terminal else nullcontext():
        try:
            tasks = {pool.submit(run_one, item, build, stop, accept=accept): item for item in order}
            for task in as_completed(tasks):
                task.result()
                console.print(line(tasks[task]), highlight=False, soft_wrap=True)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return items


def run_one(item: Item, build: Path, stop: threading.Event, *, accept: bool) -> None:
    """Run one configuration and judge it."""
    config, item.started, item.status = item.config, time.monotonic(), "running"
    tool = apalache if config.symbolic else tlc
    try:
        command, folder = tool.command(config, build)
    except ToolMissing as error:
        item.outcome = Outcome(result="skipped", reason=str(error))
        item.status, item.why = "skipped", [str(error)]
        return
    log = build / "model" / config.stem / config.name / "log"
    exit_code = run(command, folder, log, config.seconds, stop, item)
    seconds = time.monotonic() - item.started
    if exit_code is None:
        item.outcome = Outcome(reason=f"not over after {config.seconds:.0f} s; given up")
    else:
        item.outcome = tool.parse(log.read_text(errors="replace"), exit_code, config.path.read_text())
    item.outcome.seconds, item.outcome.log = seconds, log
    item.why = (
        manifest.unfit(config, item.outcome) if accept else manifest.differences(config, item.outcome, item.accepted)
    )
    item.status = "failed" if item.why else "passed"


def run(command: list[str], folder: Path, log: Path, limit: float, stop: threading.Event, item: Item) -> int | None:
    """Run a command with its output in a file; its exit code, or None if it took longer than the limit."""
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        position = 0
        while True:
            try:
                return process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                position = watch(log, position, item)
                if stop.is_set() or time.monotonic() - item.started > limit:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return None


def watch(log: Path, position: int, item: Item) -> int:
    """Read on in a log for the newest number of states."""
    with log.open(errors="replace") as output:
        output.seek(position)
        for text in output:
            if counts := tlc.progress(text):
                item.distinct = counts[1]
        return output.tell()


def states(item: Item) -> str:
    """The states found (of those expected), or the counterexample's length."""
    if item.status == "running":
        expected = (item.accepted or {}).get("distinctStates")
        return " of ".join(f"{count:,}" for count in (item.distinct, expected) if count is not None)
    seen = item.outcome
    if seen.result == "violation":
        return f"violates {seen.property} after {seen.trace_length}"
    return f"{seen.distinct:,} states, depth {seen.depth}" if seen.distinct is not None else "holds"


def line(item: Item) -> str:
    """What is said of a configuration that is over."""
    name = f"{item.config.stem}/{item.config.name}"
    if item.status == "skipped":
        return f"[yellow]SKIPPED[/] {name}: {escape('; '.join(item.why))}"
    if item.status == "failed":
        return f"[red]FAILED[/]  {name}: {escape('; '.join(item.why))} (log: {item.outcome.log})"
    return f"[green]ok[/]      {name}: {states(item)}, {item.outcome.seconds:.1f} s"


def under_way(items: list[Item]) -> Table:
    """The live table: what runs now, and how much is left."""
    left = sum(item.status == "waiting" for item in items)
    table = Table(title=f"models: {len(items) - left} of {len(items)} begun", title_justify="left", box=None)
    for heading in ("model", "states", "seconds"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    for item in items:
        if item.status == "running":
            usual = f" of {item.expected_seconds}" if item.expected_seconds else ""
            taken = f"{time.monotonic() - item.started:.0f}{usual}"
            table.add_row(f"{item.config.stem}/{item.config.name}", states(item), taken)
    return table

# SPDX-License-Identifier: PostgreSQL
"""Runs that must fail, of one module, in one JVM (Batch.java): most of what a short run costs is the start of a JVM.

TLC is made for one run a JVM, so the verdict of a batch is not final. If a run does not end in the batch exactly as
accepted, or does not end at all, it is run again in a JVM of its own, and only that result counts. Runs that must hold
are never batched: static state that one run left in TLC has made a true property fail, and it might also make a false
one hold. Runs that must violate liveness are not batched either: after the first such run TLC finds no violation of
liveness.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue

from spec.tools import tlc
from spec.tools.models import Run, Violates
from spec.tools.outcome import Ended


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """The runs that can share a JVM, by module; a run alone needs no batch."""
    found: dict[Path, list[Run]] = {}
    for run in runs:
        if isinstance(run.expected, Violates) and not run.expected.liveness and not run.symbolic:
            found.setdefault(run.module, []).append(run)
    return [group for group in found.values() if len(group) > 1]


def command(runs: Sequence[Run], build: Path) -> tuple[list[str], Path]:
    """The command line for a batch, and the folder to start it in. Makes an empty folder for each run."""
    module = runs[0].module
    scratch = (build / "model" / runs[0].stem / f"{module.stem}.batch").resolve()
    for folder in (scratch, *(tlc.scratch(run, build) for run in runs)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    lines = ["\t".join([str(log(run, build)), *tlc.arguments(run, build, coverage=False)]) for run in runs]
    (scratch / "list").write_text("\n".join(lines) + "\n")
    java = tlc.java(runs[0], build, scratch, quick=True)
    return [*java, "-XX:+ExitOnOutOfMemoryError", "Batch", str(scratch / "list")], module.parent


def log(run: Run, build: Path) -> Path:
    """Where the output of a run goes."""
    return tlc.scratch(run, build) / "log"


def execute(runs: Sequence[Run], build: Path, limits: Sequence[float], stop: threading.Event) -> dict[str, Ended]:
    """Run a batch; how the runs ended, by name.

    A run that takes longer than its limit ends the batch, and so does a JVM that ends early.
    """
    line, folder = command(runs, build)
    names = {str(log(run, build)): run.name for run in runs}
    process = subprocess.Popen(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )
    said: Queue[str] = Queue()
    reader = threading.Thread(target=lambda: deque(map(said.put, process.stdout or ()), maxlen=0), daemon=True)
    reader.start()
    ended: dict[str, Ended] = {}
    waited = 0.0
    try:
        while len(ended) < len(runs) and not stop.is_set() and waited < limits[len(ended)]:
            try:
                path, exit_code, seconds, cpu_seconds = said.get(timeout=0.2).rstrip("\n").split("\t")
            except Empty:
                waited += 0.2
                if process.poll() is not None and not reader.is_alive() and said.empty():
                    break
            else:
                ended[names[path]] = Ended(int(exit_code), float(seconds), float(cpu_seconds))
                waited = 0.0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return ended

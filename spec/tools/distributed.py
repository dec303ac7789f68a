# SPDX-License-Identifier: PostgreSQL
"""TLC's own distributed mode: a server, which keeps the queue of states, and workers, which find their successors.

What it says is less than what TLC alone says, and in other words, so it is judged with care:

- it does not look at temporal properties, and says "No error has been found" though one is false: none is given to it;
- where an invariant is violated, or an action property, or there is a deadlock, it prints states, names nothing, and
  ends with exit code 0: TLC alone then looks for the name;
- the depth that it prints is not that of the search: nobody reads it;
- where a worker has no states to look at, the server may fall over a null of its own ("this.states" is null): it is
  started anew, a few times at most.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from spec.tools import cfg, tlc
from spec.tools.models import ModelError, Run, Violates
from spec.tools.outcome import Outcome

READY = "TLC server at "
COMPLETED = "Model checking completed. No error has been found."
LEFT = re.compile(r"(\d+) states left on queue")
REGISTERED = "Registration for worker at "
BEHAVIOR = "The behavior up to this point is:"
ERROR = re.compile(r"^Error: (.*)$", re.MULTILINE)
POLL_SECONDS = 0.1
LOCAL = "127.0.0.1"
FELL_OVER = "java.lang.NullPointerException"
ATTEMPTS = 4


def safety(run: Run, *, without_properties: bool) -> Run:
    """The run as this mode can check it. Raises ModelError if that would say less than it seems to."""
    if run.symbolic:
        raise ModelError(f"{run.key} is a run of Apalache; this mode is TLC's")
    if isinstance(run.expected, Violates) and run.settings.properties:
        raise ModelError(
            f"{run.key} must violate {run.expected.property}, a property: TLC's distributed mode sees none"
        )
    if run.settings.properties and not without_properties:
        raise ModelError(
            f"{run.key} has properties, {', '.join(run.settings.properties)}: TLC's distributed mode says 'No error' "
            "though one is false. Take another run, or say SAFETY=1 to check its invariants alone"
        )
    return replace(run, settings=run.settings.model_copy(update={"properties": []}))


def free_port() -> int:
    """A port that nobody has now. The objects of server and workers take further ones, as Java chooses."""
    with socket.socket() as asked:
        asked.bind((LOCAL, 0))
        port: int = asked.getsockname()[1]
        return port


def prepare(run: Run, build: Path) -> Path:
    """An empty folder of the run with all modules and its configuration: the workers get the files from the server."""
    folder = (build / "model" / run.stem / f"{run.name}.distributed").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    generated = (build / "model" / run.stem).glob("Recorded*.tla")
    for module in [*run.module.parent.parent.glob("common/*.tla"), *run.module.parent.glob("*.tla"), *generated]:
        shutil.copy(module, folder)
    (folder / f"{run.name}.cfg").write_text("\n".join(cfg.lines(run)) + "\n")
    return folder


def java(run: Run, build: Path, folder: Path, name: str, port: int) -> list[str]:
    """The command line up to the main class, of the server or a worker; each unpacks modules in a folder of its own."""
    temporary = folder / name
    temporary.mkdir()
    line = tlc.java(run, build, temporary, quick=run.kind != "large")
    here = [f"-Djava.rmi.server.hostname={LOCAL}", f"-Dtlc2.tool.distributed.TLCServer.port={port}"]
    return [line[0], *here, "-Dtlc2.tool.distributed.TLCWorker.threadCount=1", *line[1:]]


@contextmanager
def started(command: Sequence[str], folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose output goes to a file, and which is gone afterwards."""
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def execute(run: Run, build: Path, workers: int, seconds: float) -> Outcome:
    """The verdict of a server and so many workers on this machine; of the last attempt if none ended well."""
    for _ in range(ATTEMPTS):
        outcome = attempt(run, build, workers, seconds)
        if outcome.result != "error" or not outcome.log or FELL_OVER not in outcome.log.read_text(errors="replace"):
            break
    return outcome


def attempt(run: Run, build: Path, workers: int, seconds: float) -> Outcome:
    """Run the server and so many workers, and judge what the server has printed."""
    folder, port = prepare(run, build), free_port()
    log, began = folder / "server.log", time.monotonic()
    serve = [*java(run, build, folder, "server", port), "tlc2.tool.distributed.TLCServer"]
    serve += ["-config", f"{run.name}.cfg", run.module.stem]
    # Made before any starts: each makes a folder.
    works = [
        [*java(run, build, folder, f"worker{n}", port), "tlc2.tool.distributed.TLCWorker", LOCAL]
        for n in range(workers)
    ]
    with ExitStack() as all_of_them:
        server = all_of_them.enter_context(started(serve, folder, log))
        helping: list[subprocess.Popen[bytes]] = []
        while server.poll() is None:
            if time.monotonic() - began > seconds:
                return Outcome(reason=f"taken to hang and stopped after {seconds:.0f} s", log=log)
            if not helping and READY in log.read_text(errors="replace"):
                for n, work in enumerate(works):
                    helping.append(all_of_them.enter_context(started(work, folder, folder / f"worker{n}.log")))
            if helping and all(worker.poll() is not None for worker in helping):
                # They end when the server tells them to, which it does before it ends itself.
                try:
                    server.wait(timeout=30)
                except subprocess.TimeoutExpired:
                    return Outcome(reason="all workers have ended, and the server waits", log=log)
            time.sleep(POLL_SECONDS)
    outcome = parse(log.read_text(errors="replace"), server.returncode)
    outcome.log, outcome.seconds = log, time.monotonic() - began
    return outcome


def parse(output: str, exit_code: int) -> Outcome:
    """Judge the whole output of the server. A violation has a name only if it was printed.

    Of a small run a worker may come too late: how many have joined says nothing.
    """
    seen = Outcome(tool="TLC, distributed")
    if counts := tlc.COUNTS.search(output):
        seen.total, seen.distinct = tlc.number(counts[1]), tlc.number(counts[2])
    errors = [text.strip() for text in ERROR.findall(output)]
    named = tlc.NAMED.search(output)
    if named or BEHAVIOR in errors:
        seen.result, seen.sort, seen.property = "violation", "invariant", named[1] if named else None
        return seen
    left = LEFT.findall(output)
    if errors:
        seen.reason = f"TLC: {errors[0]}"
    elif exit_code != 0 or COMPLETED not in output or seen.distinct is None:
        seen.reason = f"the server ended with exit code {exit_code} and no verdict"
    elif not left or left[-1] != "0":
        seen.reason = "the server ended with states left on its queue"
    elif REGISTERED not in output:
        seen.reason = "no worker has joined"
    else:
        seen.result = "success"
    return seen

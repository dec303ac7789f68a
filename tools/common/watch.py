# SPDX-License-Identifier: PostgreSQL
"""Whether a process goes on: its threads run, or wait for a CPU, or something will wake them.

No clock can tell: a busy machine keeps who could run from it. So what counts is CPU time and sleep without a break.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

PATIENCE = 120.0
"""Seconds in which a run must use AWAKE seconds of CPU time, or be able to run at a share of the looks at it."""
AWAKE = 1.0
ABLE = 0.2
"""Threads that only wake by a clock are seen so far less often."""
LOOK = 1.0
"""Seconds between two looks."""
STILL = 5.0
"""Seconds in which one thread at least must have run, or be able to: no test and no program sleeps for as long."""


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process, its threads, and its children, ended ones, too; 0 if it has ended itself."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = " ".join((task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()).split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_seconds, map(int, children)))


def can_run(pid: int) -> bool:
    """Whether a thread of a process or of its children runs, or waits for a CPU or a disk."""
    waiting = [str(pid)]
    try:
        while waiting:
            for task in Path("/proc", waiting.pop(), "task").iterdir():
                if (task / "stat").read_text().rpartition(") ")[2][0] in "RD":
                    return True
                waiting += (task / "children").read_text().split()
    except OSError:  # a thread has ended
        return True
    return False


def standstill(pid: int) -> dict[str, str] | None:
    """How often each thread of a process and of its children has gone to sleep; None if one of them does not sleep."""
    found: dict[str, str] = {}
    waiting = [str(pid)]
    try:
        while waiting:
            for task in Path("/proc", waiting.pop(), "task").iterdir():
                fields = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines())
                if fields["State"][0] not in "SZ":
                    return None
                found[task.name] = fields["voluntary_ctxt_switches"]
                waiting += (task / "children").read_text().split()
    except OSError:  # a thread has ended
        return None
    return found


def asleep_for_ever(pid: int, report: Connection, patience: float, alarms: int = 0) -> bool:
    """Waits until the process reports or ends: False. True if before that no thread runs, or next to none.

    alarms: how many threads may wake by a clock of their own, as that of ThreadSanitizer does; they wake no other.
    """
    used, since, still, looks, able = cpu_seconds(pid), time.monotonic(), None, 0, 0
    seen = since
    while not report.poll(min(LOOK, patience)):
        looks, able, now = looks + 1, able + can_run(pid), time.monotonic()
        if now - seen >= STILL:
            before, still, seen = still, standstill(pid), now
            if before and still and before.keys() == still.keys() and len(before.items() - still.items()) <= alarms:
                return True
        if now - since >= patience:
            spent = cpu_seconds(pid) - used
            if spent < AWAKE and able < looks * ABLE:
                return True
            used, since, looks, able = used + spent, now, 0, 0
    return False


def run(
    command: Sequence[str | Path], log: Path, variables: Mapping[str, str], limit: Callable[[], None], alarms: int = 0
) -> tuple[int, bool, str]:
    """Run a program: its exit code, whether it slept for ever and was killed, and what it printed.

    log: the file for what it prints. variables: of its environment, beside our own. limit: runs in the new process, to
    set its limits. alarms: as for asleep_for_ever.
    """
    receiver, sender = os.pipe()
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, pass_fds=[sender], env=os.environ | variables,
            preexec_fn=limit, start_new_session=True,
        )  # fmt: skip
    os.close(sender)
    report = Connection(receiver, writable=False)
    asleep = asleep_for_ever(process.pid, report, PATIENCE, alarms)
    if asleep:
        os.killpg(process.pid, signal.SIGKILL)
    code = process.wait()
    report.close()
    return code, asleep, log.read_text(errors="replace")

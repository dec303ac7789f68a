# SPDX-License-Identifier: PostgreSQL
"""Whether a thread sleeps in a call of C, which no clock can say: a busy machine keeps who could run from it."""

import time
from pathlib import Path
from threading import Thread


def _switches(thread: Thread) -> str | None:
    """How often it has gone to sleep, if it sleeps."""
    try:
        status = Path(f"/proc/self/task/{thread.native_id}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # not there yet, or not any more; it may go between open and read
        return None
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    return fields["voluntary_ctxt_switches"] if fields["State"].startswith("S") else None


def until_asleep(thread: Thread) -> None:
    """Returns once it has slept without a break while nobody had the interpreter's lock, or has ended."""
    while thread.is_alive():
        before = _switches(thread)
        time.sleep(0.02)
        if before is not None and _switches(thread) == before:
            return

# SPDX-License-Identifier: PostgreSQL
"""When WAL came to a standby: between which two moments each of its flushes became visible to the startup process.

Upstream: XLogWalRcvWrite and XLogWalRcvFlush (walreceiver.c). The WAL receiver writes, flushes, tells the startup
process how far, and then answers the primary. So what a flush covers was not there when the flush began, and was there
when the receiver made its next call.

Recorded as strace.py says, with -ttt and fdatasync, pwrite64 and sendto, too.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path

from tools.trace.strace import StraceError

_CALL = re.compile(r"(\d+\.\d+) (fdatasync|pwrite64|sendto)\((.*)\) += (\d+)")
_WAL = re.compile(r"pg_wal/[0-9A-F]{8}([0-9A-F]{8})([0-9A-F]{8})>")


@dataclass
class Arrivals:
    """ends, after, before: what each flush covered up to, in ascending order, and the two moments around it."""

    local: int
    """What the standby had before it began, up to this LSN."""
    ends: list[int] = field(default_factory=list)
    after: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)

    def current(self, end: int, since: float, until: float) -> list[int]:
        """What may have been the last flush when WAL up to an LSN was asked for, between two moments."""
        found = []
        for at in range(bisect_left(self.ends, end), len(self.ends)):
            superseded = at + 1 < len(self.ends) and self.before[at + 1] <= since
            if self.after[at] < until and not superseded:
                found.append(self.ends[at])
        return found


def read_arrivals(folder: Path, segment_size: int, local: int) -> Arrivals:
    """From the WAL receiver's file of a folder of traces. StraceError: there is none, or two."""
    found = [file for file in folder.iterdir() if _receives(file)]
    if len(found) != 1:
        raise StraceError(
            f"{folder}: {len(found)} WAL receivers were recorded; one is needed, by -ttt, with fdatasync, pwrite64 and"
            " sendto"
        )
    arrivals, written, flushing = Arrivals(local), local, 0.0
    for time, name, arguments, result in _CALL.findall(found[0].read_text(errors="replace")):
        if flushing and written > (arrivals.ends[-1] if arrivals.ends else local):
            arrivals.ends.append(written)
            arrivals.after.append(flushing)
            arrivals.before.append(float(time))
        flushing = 0.0
        wal = _WAL.search(arguments)
        if wal and name == "pwrite64":
            start = (int(wal[1], 16) << 32) + int(wal[2], 16) * segment_size
            written = start + int(arguments.rpartition(", ")[2]) + int(result)
        elif wal and name == "fdatasync":
            flushing = float(time)
    return arrivals


def _receives(file: Path) -> bool:
    """The receiver answers the primary between its writes of WAL; who recovers or checkpoints sends nothing."""
    text = file.read_text(errors="replace")
    return "pwrite64(" in text and "sendto(" in text and "/pg_wal/" in text

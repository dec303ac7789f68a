# SPDX-License-Identifier: PostgreSQL
"""One crash, recovered again and again, each time with another kernel in the server.

The workload is that of the mail that proposed PostgreSQL 14's algorithm: a table of two INTs, fillfactor 85, updated
one row at a time at random; then the server is stopped at once, and the time of its recovery is measured. Nearly
every update finds its page full and prunes it, and every prune is redone. The crashed cluster is kept, and copied for
each recovery, so all start from the same bytes.

Measured: CPU of the startup process (the postmaster's waited-for children at the moment it is ready: nothing else has
ended by then; clock ticks, 10 ms), the time from "redo starts" to "redo done" by the log, 14 and later: the CPU of redo
alone by the log; then one VACUUM of the table. Before 15 the startup process also writes the checkpoint at the end.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.compaction.preload import calls, use_kernel
from tests.postgres.server import Build, Server

ROWS = 200_000
RECOVERY_SECONDS = 1800.0
SETTINGS: dict[str, str | int] = {
    "shared_buffers": "512MB",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "max_wal_size": "60GB",
    "checkpoint_timeout": "1d",
    "wal_level": "minimal",
    "max_wal_senders": 0,
    "log_line_prefix": "%m [%p] ",
}
LOAD = (
    "CREATE TABLE t (a int PRIMARY KEY, b int) WITH (fillfactor = 85)",
    f"INSERT INTO t SELECT g, 0 FROM generate_series(1, {ROWS}) g",
    "VACUUM FREEZE t",
    "CHECKPOINT",
    "SELECT setseed(0.42)",
)
# The key goes into a variable first: a volatile random() in WHERE would make each update a sequential scan.
UPDATES = """DO $$ DECLARE k int; BEGIN FOR i IN 1..{n} LOOP
  k := 1 + floor(random() * {rows})::int; UPDATE t SET b = b + 1 WHERE a = k; COMMIT;
END LOOP; END $$"""
CHECKSUM = "SELECT count(*), md5(string_agg(a || ':' || b, ',' ORDER BY a)) FROM t"


@dataclass(frozen=True)
class Recovery:
    """One recovery, in seconds; None where the major doesn't say."""

    startup_cpu: float
    redo_cpu: float | None
    redo_elapsed: float
    vacuum: float
    compacted: int  # pages that the kernel compacted; 0 with the server's own function
    content: tuple[int, str]  # rows, checksum of all of them


@contextmanager
def crashed(build: Build, updates: int) -> Iterator[Server]:
    """A server that has run the workload and crashed: stopped, its data to be copied."""
    with Server(build, settings=SETTINGS) as server:
        with server.connect() as connection:
            for statement in LOAD:
                connection.execute(statement.encode())
            connection.execute(UPDATES.format(n=updates, rows=ROWS).encode())
            # The last commits are asynchronous: have the WAL writer flush them, so that every run knows the same ones.
            connection.execute("SET synchronous_commit = on")
            connection.execute("UPDATE t SET b = b WHERE a = 1")
        server.stop("immediate")
        yield server


def _children_cpu(pid: int) -> float:
    """CPU seconds of a process's children that have ended and been waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _logged_redo(log: str) -> tuple[float, float | None]:
    """(elapsed, CPU) seconds of redo."""
    stamp = r"^(\S+ \S+) \S+ \[\d+\] LOG:  redo "
    began, ended = (re.search(stamp + what, log, re.MULTILINE) for what in ("starts at", "done at"))
    if began is None or ended is None:
        raise ValueError(f"the log tells of no redo:\n{log}")
    elapsed = (datetime.fromisoformat(ended[1]) - datetime.fromisoformat(began[1])).total_seconds()
    cpu = re.search(r"redo done at .* CPU: user: ([\d.]+) s, system: ([\d.]+) s", log)
    return elapsed, float(cpu[1]) + float(cpu[2]) if cpu else None


def recover(of: Server, variant: str | None) -> Recovery:
    """Copy a crashed cluster and recover it with a kernel (None: the server's own function), then VACUUM."""
    with Server(of.build, template=of.data, start_now=False) as server:
        server.configure({**SETTINGS, **use_kernel(server, variant)})
        server.start(wait_seconds=RECOVERY_SECONDS)
        startup_cpu = _children_cpu(server.pid)
        redo_elapsed, redo_cpu = _logged_redo(server.log_text())
        ((rows, digest),) = server.execute(CHECKSUM)
        with server.connect() as connection:
            began = time.monotonic()
            connection.execute("VACUUM t")
            vacuum = time.monotonic() - began
        after_vacuum = server.execute(CHECKSUM)
        if after_vacuum != [(rows, digest)]:
            raise ValueError(f"VACUUM with {variant} changed the table from {(rows, digest)} to {after_vacuum}")
        compacted = 0
        if variant is not None:
            server.stop("fast")
            compacted = calls(server, variant)
        return Recovery(startup_cpu, redo_cpu, redo_elapsed, vacuum, compacted, (rows, digest))

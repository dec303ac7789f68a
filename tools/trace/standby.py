# SPDX-License-Identifier: PostgreSQL
"""A standby that streams, as far as its recording differs from that of a crash recovery.

It replays up to where the primary was when the recording began, and pauses there, so that the recording has an end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.postgres.server import Server, ServerError, wait_for
from tools.trace.arrivals import read_arrivals
from tools.trace.follow import Standby
from tools.trace.listing import Listed, lsn_of
from tools.trace.wal import Wal

STRACE = ("-ttt", "-e", "trace=fadvise64,pread64,preadv,openat,close,lseek,fdatasync,pwrite64,sendto")


@dataclass(frozen=True)
class Primary:
    """conninfo: libpq's words. until: the LSN up to which the standby replays. lists: the primary itself, if there is
    no pg_waldump and it has pg_walinspect."""

    conninfo: str
    until: str
    lists: Server | None = None

    def settings(self) -> dict[str, str | int]:
        """Of its standby. With fsync off, no call would show when WAL is flushed."""
        return {
            "primary_conninfo": self.conninfo,
            "primary_slot_name": "",
            "restore_command": "",
            "fsync": "on",
            "hot_standby": "on",
            "recovery_target_lsn": self.until,
            "recovery_target_action": "pause",
        }


def primary_of(conninfo: str) -> Primary:
    """The primary as it is now. psycopg.Error: it cannot be reached."""
    with psycopg.connect(
        conninfo, autocommit=True, replication="true", cursor_factory=psycopg.ClientCursor
    ) as connection:
        said = connection.execute("IDENTIFY_SYSTEM").fetchone()
    assert said is not None
    position = said[2]
    return Primary(conninfo, position.decode() if isinstance(position, bytes) else position)


def wait_until_paused(server: Server) -> str:
    """The last record that it replayed."""
    wait_for(
        lambda: "pausing at the end of recovery" in server.log_text() or not server.running, "the standby to catch up"
    )
    stopped = re.search(r'recovery stopping after WAL location \(LSN\) "([0-9A-F/]+)"', server.log_text())
    if stopped is None or not server.running:
        raise ServerError(f"The standby did not get to where its primary was; its log ends:\n{server.log_tail()}")
    return stopped[1]


def standby_of(records: Sequence[Listed], traces: Path, until: str, before: Path, after: Path) -> Standby:
    """before, after: its pg_wal when it started, and when it ended."""
    had, has = Wal(before), Wal(after)
    local = 0
    for listed in records:
        if not had.has(listed, has):
            break
        local = listed.end
    return Standby(read_arrivals(traces, has.segment_size, local), lsn_of(until))

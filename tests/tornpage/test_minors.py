# SPDX-License-Identifier: PostgreSQL
"""Defects of what keeps pages whole across a crash: on released minors that had them, and on the next ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread

import psycopg
import pytest

from tests.common.tally import tally
from tests.postgres.minors import minors
from tests.postgres.server import Build, Server, extension, wait_for

pytestmark = pytest.mark.minors

ROWS = 1000
# Nothing but a checkpoint that the test asks for writes pages.
SETTINGS: dict[str, str | int] = {"checkpoint_timeout": "1d", "bgwriter_lru_maxpages": 0}


@contextmanager
def sent(server: Server, command: str) -> Iterator[tuple[Thread, int]]:
    """A command on its way in a session of its own: the thread that waits for it, and the session's process. It may
    end with the server."""

    def run() -> None:
        with suppress(psycopg.OperationalError):
            session.execute(command.encode())

    with closing(server.connect()) as session:
        thread = Thread(target=run, daemon=True)
        thread.start()
        yield thread, session.info.backend_pid
        thread.join()


def stands_still(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def crash_before_the_cut(build: Build) -> tuple[str, int]:
    """VACUUM stands still before it cuts the file of an emptied table, a checkpoint comes, and the server crashes.

    What came of the checkpoint, and how many rows there are after recovery.
    """
    with Server(build, settings=SETTINGS, start_now=False) as server:
        arm = server.data / "arm"
        library = str(server.put(extension("cut", build.major)))
        server.environment = {"LD_PRELOAD": library, "PGQUERN_CUT": str(arm)}
        server.start()
        server.execute(f"CREATE TABLE t AS SELECT generate_series(1, {ROWS}) a")
        server.execute("CHECKPOINT")
        server.execute("DELETE FROM t")
        ((checkpointer,),) = server.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        server.write("arm", "")
        with sent(server, "VACUUM t") as (_, vacuum):
            wait_for(lambda: stands_still(vacuum), "a vacuum before it cuts the file")
            with sent(server, "CHECKPOINT") as (checkpoint, _):
                seen: list[str] = []

                def settled() -> bool:
                    waits = str(checkpointer) in arm.read_text().split()
                    seen[:] = ["waits"] if waits else ["ends"] if not checkpoint.is_alive() else []
                    return bool(seen)

                wait_for(settled, "a checkpoint that ends or waits")
                server.stop("immediate")
        arm.unlink()
        server.start()
        ((rows,),) = server.execute("SELECT count(*) FROM t")
        return seen[0], rows


def test_a_checkpoint_between_dropped_buffers_and_the_cut() -> None:
    """412ad7a556: a table's dirty buffers are dropped, a checkpoint ends, and the file is not cut yet when the server
    crashes. Recovery begins behind the DELETE, and finds on disk the rows from before it."""
    old, new = minors("14.2", "14.4")
    assert crash_before_the_cut(old) == ("ends", ROWS)
    assert crash_before_the_cut(new) == ("waits", 0)
    tally("tornpage", "defects told apart in released minors")


def replayed_lsn(build: Build) -> str:
    """The LSN of a page that VACUUM has marked all-visible, after a crash, beside what it was before."""
    query = "SELECT lsn - '0/0', flags & 4 FROM page_header(get_raw_page('t', 0))"
    with Server(build, settings=SETTINGS, initdb=["--data-checksums"]) as server:
        server.execute("CREATE EXTENSION pageinspect")
        server.execute("CREATE TABLE t AS SELECT 1 a")
        server.execute("CHECKPOINT")
        # The page's image is in the record of this one, so that the record of VACUUM has none.
        server.execute("INSERT INTO t VALUES (2)")
        ((inserted, visible),) = server.execute(query)
        assert not visible
        server.execute("VACUUM t")
        ((before, visible),) = server.execute(query)
        assert visible
        assert before > inserted
        server.stop("immediate")
        server.start()
        ((after, visible),) = server.execute(query)
        assert visible
    return {before: "of VACUUM", inserted: "of INSERT"}[after]


def test_replay_leaves_the_lsn_of_a_page() -> None:
    """d6a3dbe14f: replay marks a page all-visible and does not set its LSN, though there are checksums.
    So the page may be written before the log that it needs for repair is known to be replayed."""
    old, new = minors("14.6", "14.7")
    assert replayed_lsn(old) == "of INSERT"
    assert replayed_lsn(new) == "of VACUUM"
    tally("tornpage", "defects told apart in released minors")

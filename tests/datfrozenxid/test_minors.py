# SPDX-License-Identifier: PostgreSQL
"""Defects of datfrozenxid: on released minors that had them, and on the next ones."""

from __future__ import annotations

import pytest

from tests.datfrozenxid.aged import datfrozenxid, take_xid
from tests.datfrozenxid.server import SETTINGS
from tests.datfrozenxid.standstill import Session, Watcher
from tests.postgres.minors import minors
from tests.postgres.server import Build, Server
from tests.tally import tally

pytestmark = pytest.mark.minors

IDLE = "ClientRead"


def second_truncation(build: Build) -> str:
    """A vacuum gives up its truncation, because a database has a value in the future; and stays. What the next one, of
    another session, does: it ends, or waits."""
    with Server(build, settings=SETTINGS) as server, Watcher(server) as watcher:
        server.execute("UPDATE pg_database SET datfrozenxid = '1000000' WHERE datname = 'template1'")
        with Session(server) as second:
            with Session(server) as first:
                take_xid(server)
                first.run("VACUUM (FREEZE)")
                take_xid(server)
                second.send("VACUUM (FREEZE)")
                # It ends by going idle, or never gets there: one of the two comes.
                states: list[str] = []

                def settled() -> bool:
                    ((event,),) = watcher.run(f"SELECT wait_event FROM pg_stat_get_activity({second.pid})")
                    states.append(event)
                    return event in (IDLE, "WrapLimitsVacuum")

                watcher.until(settled, "a vacuum that ends or waits")
            # The first session is gone, and what it kept.
            second.result()
        return states[-1]


def test_a_truncation_that_gives_up() -> None:
    """83ecfa9fad: a vacuum that meets a datfrozenxid in the future gives up its truncation, and keeps its lock.
    The next vacuum that wants to truncate waits until the session of the first one ends."""
    old, new = minors("15.3", "15.4")
    assert second_truncation(old) == "WrapLimitsVacuum"
    assert second_truncation(new) == IDLE
    tally("datfrozenxid", "defects told apart in released minors")

# SPDX-License-Identifier: PostgreSQL
"""Defects of datfrozenxid: on released minors that had them, and on the next ones."""

from __future__ import annotations

import pytest

from tests.common.tally import tally
from tests.datfrozenxid.aged import datfrozenxid, take_xid
from tests.datfrozenxid.server import SETTINGS
from tests.datfrozenxid.standstill import Session, Watcher
from tests.postgres.minors import minors
from tests.postgres.server import Build, Server, wait_for

pytestmark = pytest.mark.minors


def ends_or_waits(watcher: Watcher, session: Session, event: str) -> str:
    """What a session with a statement comes to: its end, or a wait for what nobody gives up yet."""

    def waits() -> bool:
        return (event,) in watcher.run(f"SELECT wait_event FROM pg_stat_get_activity({session.pid})")

    seen: list[str] = []

    def settled() -> bool:
        seen[:] = [text for text, holds in (("ends", session.ended), (f"waits for {event}", waits())) if holds]
        return bool(seen)

    wait_for(settled, f"a session that ends or waits for {event}")
    return seen[0]


def second_truncation(build: Build) -> str:
    """A vacuum gives up its truncation, because a database has a value in the future. Its session stays. What comes of
    the vacuum of another session?"""
    with Server(build, settings=SETTINGS) as server, Watcher(server) as watcher, Session(server) as second:
        server.execute("UPDATE pg_database SET datfrozenxid = '1000000' WHERE datname = 'template1'")
        with Session(server) as first:
            take_xid(server)
            first.run("VACUUM (FREEZE)")
            take_xid(server)
            second.send("VACUUM (FREEZE)")
            seen = ends_or_waits(watcher, second, "WrapLimitsVacuum")
        # The end of the first session frees what it kept.
        second.result()
    return seen


def test_a_truncation_that_gives_up() -> None:
    """83ecfa9fad: a vacuum that meets a datfrozenxid in the future gives up its truncation, and keeps its lock.
    The next vacuum that wants to truncate waits until the session of the first one ends."""
    old, new = minors("15.3", "15.4")
    assert second_truncation(old) == "waits for WrapLimitsVacuum"
    assert second_truncation(new) == "ends"
    tally("datfrozenxid", "defects told apart in released minors")


def vacuum_beside_grant(build: Build) -> tuple[str, bool]:
    """A vacuum comes to a row of pg_database that GRANT is writing anew. What comes of the vacuum, and whether
    datfrozenxid has advanced once both are through."""
    with Server(build, settings=SETTINGS) as server, Watcher(server) as watcher:
        old = datfrozenxid(server, "postgres")
        take_xid(server)
        with Session(server) as grant, Session(server) as vacuum:
            grant.run("BEGIN")
            grant.run("GRANT TEMP ON DATABASE postgres TO PUBLIC")
            vacuum.send("VACUUM (FREEZE)")
            seen = ends_or_waits(watcher, vacuum, "transactionid")
            grant.run("COMMIT")
            vacuum.result()
        return seen, datfrozenxid(server, "postgres") > old


def test_an_update_in_place_beside_a_grant() -> None:
    """a07e03fd8f: a vacuum writes datfrozenxid into a row of which GRANT has made a new version that is not committed.
    When GRANT commits, the new version has the old datfrozenxid: the update in place is lost."""
    old, new = minors("16.4", "16.6")
    assert vacuum_beside_grant(old) == ("ends", False)
    assert vacuum_beside_grant(new) == ("waits for transactionid", True)
    tally("datfrozenxid", "defects told apart in released minors")

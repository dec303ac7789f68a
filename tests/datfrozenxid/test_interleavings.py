# SPDX-License-Identifier: PostgreSQL
"""The interleavings that the model calls dangerous, on real servers of 13 to 18 and Debian's 15.

Sessions are named as in spec/datfrozenxid/README.md. They stand still where the model lets them (standstill.py). What
pg_xact has lost is seen by its files, and by the row that can no longer be read.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.common.tally import tally
from tests.datfrozenxid.aged import (
    MULTIS_PER_SEGMENT,
    aged,
    datfrozenxid,
    datminmxid,
    has_multis,
    has_segment,
    shared,
    take_xid,
    until_left,
)
from tests.datfrozenxid.server import SETTINGS
from tests.datfrozenxid.standstill import Session, Watcher, create_functions, keeps
from tests.postgres.server import BUILDS, DEBIAN, EMBEDDED, HANG_SECONDS, Server, extension

pytestmark = pytest.mark.servers

WARNING = "some databases have not been vacuumed in over 2 billion transactions"
PG_DATABASE = 1262
ISOLATIONTESTER = DEBIAN.home / "lib/pgxs/src/test/isolation/isolationtester"
ISOLATION = Path(__file__).parent / "isolation"
AT_COMMIT = {EMBEDDED[13]}
"""Updates in place send their messages when the transaction commits."""
WRAP_LIMITS, PAGE, DATABASE_LOCK, TRANSACTION = "WrapLimitsVacuum", "BufferContent", "frozenid", "transactionid"


@pytest.fixture(scope="module", params=BUILDS, ids=lambda build: build.label)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    # A session that stands still before a page lets nobody else wait for that page: no one may come there unasked.
    with Server(request.param, settings={**SETTINGS, "checkpoint_timeout": "1d"}) as server:
        library = server.put(extension("nextxid", server.build.major))
        server.execute(
            f"CREATE FUNCTION set_next_xid(bigint, bigint) RETURNS void AS '{library}', 'set_next_xid' LANGUAGE C"
        )
        library = server.put(extension("multis", server.build.major))
        server.execute(f"CREATE FUNCTION take_multis(int) RETURNS void AS '{library}', 'take_multis' LANGUAGE C")
        server.execute("UPDATE pg_database SET datallowconn = true WHERE datname = 'template0'")
        create_functions(server)
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def stands_before_the_lock(watcher: Watcher, session: Session, query: str) -> None:
    """It stands still in vac_truncate_clog: it has read nextXID, and will take WrapLimitsVacuumLock."""
    with keeps(watcher.server, "hold_wrap_limits()"):
        session.send(query)
        watcher.until_waits(session, WRAP_LIMITS)
        session.stand_still()


def stands_in_the_scan(watcher: Watcher, session: Session, query: str) -> None:
    """It stands still in vac_truncate_clog: it has the snapshot for its scan of pg_database, and has read no page."""
    with ExitStack() as page:
        with keeps(watcher.server, "hold_wrap_limits()"):
            session.send(query)
            watcher.until_waits(session, WRAP_LIMITS)
            page.enter_context(keeps(watcher.server, f"hold_page({PG_DATABASE}, 0)"))
        watcher.until_waits(session, PAGE)
        session.stand_still()


def copies_beside_a_scan(
    watcher: Watcher, in_t: str, *, late: bool = False, before_d: Callable[[], None] = lambda: None
) -> None:
    """n is copied from t after A has taken its snapshot of pg_database, and before D vacuums t.

    late: A begins last. before_d is called when A has truncated and D has not.
    """
    server = watcher.server
    with server.background_writer_stopped(), Session(server, "a") as a:
        if not late:
            stands_in_the_scan(watcher, a, "VACUUM (FREEZE) u")
        until_left(server, "t")
        watcher.run("CREATE DATABASE n TEMPLATE t")
        with Session(server, "t") as d:
            d.send(in_t)
            if late:
                d.result()
                a.send("VACUUM (FREEZE) u")
            else:
                watcher.until_waits(d, WRAP_LIMITS)
                d.stand_still()
                a.go_on()
                a.result()
                before_d()
                d.go_on()
                d.result()
        a.result()


LOST = "could not access status of transaction", "does no longer exist -- apparent wraparound"


def u_can_be_read(server: Server, database: str) -> bool:
    try:
        return server.execute("SELECT a FROM u", dbname=database) == [(1,)]
    except (psycopg.errors.UndefinedFile, psycopg.errors.InternalError_) as error:
        if any(text in str(error) for text in LOST):
            return False
        raise


@pytest.mark.parametrize("late", [False, True], ids=["before the copy", "after the copy"])
def test_a_copy_of_the_template_is_missed(server: Server, stack: ExitStack, late: bool) -> None:
    """bug_copied_database, if A's snapshot is older than the copy. If it is younger, nothing is lost."""
    watcher = stack.enter_context(Watcher(server))
    with aged(server, "a", "t") as old:
        copies_beside_a_scan(watcher, "VACUUM (FREEZE) u", late=late)
        assert datfrozenxid(server, "n") <= old < datfrozenxid(server, "t")
        assert has_segment(server, old) == late
        assert [u_can_be_read(server, database) for database in "atn"] == [True, True, late]
    tally("datfrozenxid", "interleavings of real servers")


@pytest.mark.parametrize("taken", [1, MULTIS_PER_SEGMENT + 1], ids=["in one segment", "across a segment"])
def test_the_multixacts_of_a_copy_are_missed(server: Server, stack: ExitStack, taken: int) -> None:
    """bug_copied_database_multis. Until D sets it back, the limit refuses readers: the runs _refused and _back."""
    watcher = stack.enter_context(Watcher(server))
    meanwhile: list[bool] = []
    with shared(server, "a", "t", taken=taken) as old:
        copies_beside_a_scan(
            watcher, "VACUUM (FREEZE) u", before_d=lambda: meanwhile.append(u_can_be_read(server, "n"))
        )
        assert datminmxid(server, "n") <= old < datminmxid(server, "t")
        kept = taken == 1
        assert has_multis(server, old) == kept
        assert meanwhile == [False]
        assert [u_can_be_read(server, database) for database in "atn"] == [True, True, kept]
    tally("datfrozenxid", "interleavings of real servers")


def refuses_connections(server: Server, database: str) -> bool:
    try:
        server.connect(dbname=database).close()
    except psycopg.OperationalError as error:
        if "FATAL:  could not access status of transaction" in str(error):
            return True
        raise
    return False


def test_nobody_connects_to_the_copy(server: Server) -> None:
    """If t's catalogs have rows without hint bits, a session ends while it reads them, after a restart too.

    13 and 14 copy the files of t, and with them its file of relation descriptors: until a restart removes that file, a
    session need not read the catalogs to begin.
    """
    with aged(server, "a", "t", untouched="t") as old:
        with Watcher(server) as watcher:
            copies_beside_a_scan(watcher, "VACUUM (FREEZE)")
        assert not has_segment(server, old)
        assert refuses_connections(server, "n") == (server.build.major >= 15)
        server.stop()
        server.start()
        assert [refuses_connections(server, database) for database in "atn"] == [False, False, True]
    tally("datfrozenxid", "interleavings of real servers")


def test_a_truncation_warns_in_vain(server: Server, stack: ExitStack) -> None:
    """reach_warns: B's row passes the nextXID that A read before it waited for the lock."""
    watcher = stack.enter_context(Watcher(server))
    with aged(server, "a", "b") as old, Session(server, "a") as a, Session(server, "b") as b:
        stands_before_the_lock(watcher, a, "VACUUM (FREEZE) u")
        next_xid = take_xid(server)
        take_xid(server)
        stands_before_the_lock(watcher, b, "VACUUM (FREEZE)")
        passed = datfrozenxid(server, "b") > next_xid
        a.go_on()
        a.result()
        assert (a.notices == [WARNING]) == has_segment(server, old) == passed == (server.build not in AT_COMMIT)
        b.go_on()
        b.result()
        assert (b.notices, has_segment(server, old)) == ([], False)
    tally("datfrozenxid", "interleavings of real servers")


def test_a_truncation_gives_up_in_vain(server: Server, stack: ExitStack) -> None:
    """reach_gives_up: B's row passes the next XID that A read before it looked at pg_class."""
    watcher = stack.enter_context(Watcher(server))
    with aged(server, "a", "b") as old, Session(server) as g, Session(server, "a") as a, Session(server, "b") as b:
        g.run("BEGIN")
        g.run("GRANT TEMP ON DATABASE a TO PUBLIC")
        a.send("VACUUM (FREEZE) u")
        watcher.until_waits(a, TRANSACTION)
        sane = take_xid(server)
        take_xid(server)
        with keeps(server, "hold_wrap_limits()"):
            g.run("COMMIT")
            watcher.until_waits(a, WRAP_LIMITS)
            a.stand_still()
        stands_before_the_lock(watcher, b, "VACUUM (FREEZE)")
        assert datfrozenxid(server, "b") > sane
        a.go_on()
        a.result()
        assert (a.notices, has_segment(server, old)) == ([], True)
        b.go_on()
        b.result()
        assert (b.notices, has_segment(server, old)) == ([], False)
    tally("datfrozenxid", "interleavings of real servers")


def test_a_future_value_that_is_passed(server: Server) -> None:
    """mutant_future_passed: as long as it is in the future it stops the truncation. Then it hides what u needs."""
    with aged(server, "a") as old, Session(server, "a") as a:
        future = take_xid(server) + 10
        a.run(f"UPDATE pg_class SET relfrozenxid = '{future}' WHERE relname = 'u'")
        a.run("VACUUM (FREEZE) pg_class")
        assert has_segment(server, old)
        while take_xid(server) <= future:
            pass
        a.run("VACUUM (FREEZE) pg_class")
        assert not has_segment(server, old)
        assert not u_can_be_read(server, "a")
    tally("datfrozenxid", "interleavings of real servers")


def test_a_vacuum_overtakes_a_new_table(server: Server, stack: ExitStack) -> None:
    """mutant_recent_xmin: relfrozenxid of a new table is the oldest XID that ran when it was created."""
    held, creator, vacuum = (stack.enter_context(Session(server)) for _ in range(3))
    for session in (held, creator):
        session.run("BEGIN")
    ((oldest,),) = held.run("SELECT txid_current()")
    ((own,),) = creator.run("SELECT txid_current()")
    creator.run("CREATE TABLE fresh (a int)")
    held.run("COMMIT")
    vacuum.run("VACUUM (FREEZE)")
    creator.run("COMMIT")
    ((relfrozenxid,),) = vacuum.run("SELECT relfrozenxid::text::bigint FROM pg_class WHERE relname = 'fresh'")
    assert (relfrozenxid, datfrozenxid(server, "postgres")) == (oldest, own)
    vacuum.run("DROP TABLE fresh")
    tally("datfrozenxid", "interleavings of real servers")


def test_one_vacuum_of_a_database_at_a_time(server: Server, stack: ExitStack) -> None:
    """mutant_no_lock cannot be had: the second one waits, before it reads anything."""
    watcher = stack.enter_context(Watcher(server))
    with Session(server) as first, Session(server) as second:
        take_xid(server)
        stands_before_the_lock(watcher, first, "VACUUM (FREEZE)")
        second.send("VACUUM (FREEZE)")
        watcher.until_waits(second, DATABASE_LOCK)
        first.go_on()
        first.result()
        second.result()
    tally("datfrozenxid", "interleavings of real servers")


def test_an_update_in_place_sends_its_message(server: Server, stack: ExitStack) -> None:
    """mutant_no_message: who updates the row accepts the message before he goes on; on 13, after his end."""
    session = stack.enter_context(Session(server))
    take_xid(server)
    before = datfrozenxid(server, "postgres")
    session.run("SELECT stop_at_row()")
    session.send("VACUUM (FREEZE)")
    if server.build in AT_COMMIT:
        session.result()
        session.send("SELECT")
    session.until_stopped()
    assert datfrozenxid(server, "postgres") > before
    session.go_on()
    session.result()
    tally("datfrozenxid", "interleavings of real servers")


def test_the_permutations(server: Server) -> None:
    """isolationtester, Debian's, runs isolation/inplace.spec as inplace.out says."""
    server.execute("CREATE DATABASE isolation_regression")
    run = subprocess.run(
        [ISOLATIONTESTER, f"host={server.base} user=postgres dbname=isolation_regression"],
        stdin=(ISOLATION / "inplace.spec").open(),
        env={**os.environ, "PGISOLATIONTIMEOUT": str(HANG_SECONDS)},
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == (ISOLATION / "inplace.out").read_text()
    tally("datfrozenxid", "permutations of real servers", run.stdout.count("starting permutation"))

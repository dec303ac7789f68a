# SPDX-License-Identifier: PostgreSQL
"""`pgquern frozen` on real servers: what it foresees is what the server's own function then does."""

import json
import os
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from ref.datfrozenxid import Pair
from tests.datfrozenxid.server import SETTINGS, Database
from tests.datfrozenxid.test_frozen_files import said
from tests.datfrozenxid.test_servers import row, stored
from tests.postgres.server import EMBEDDED, Build, Server, extension, wait_for
from tests.postgres.wrap import XIDS_PER_SEGMENT, _provide_segment, move_next_to_wrap
from tools.frozen.wraparound import LIMITS

pytestmark = pytest.mark.servers
CASES, RELATIONS = 8, 8
HALF = 2**31


def asked(server: Server, *words: str) -> tuple[int, str]:
    return said("--where", f"host={server.base} user=postgres dbname=postgres", *words)


def told(server: Server) -> dict[str, Any]:
    return dict(json.loads(asked(server, "--json")[1]))


def of(found: dict[str, Any], database: str) -> dict[str, Any]:
    return next(one for one in found["databases"] if one["name"] == database)


@pytest.mark.parametrize("at_wrap", [False, True], ids=["young", "at the wrap"])
@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_the_server_does_what_is_foreseen(build: Build, at_wrap: bool) -> None:
    rng, gave_up = Random(build.major), 0
    with Server(build, settings=SETTINGS) as server:
        if at_wrap:
            move_next_to_wrap(server, 2000)
        database = Database(server, RELATIONS)
        for case in range(CASES):
            next_ids = database.next_ids()
            rows = [row(rng, next_ids, fault=case % 4 == 0) for _ in range(RELATIONS)]
            database.write(rows, stored(rng, next_ids, rows))
            answer = told(server)
            here = of(answer, "postgres")
            assert here["dat"] == list(database.stored())
            _, after_ids = database.update()
            assert Pair(*here["after"]) == database.stored()
            assert 0 <= (after_ids.xid - answer["next_xid"]) % 2**32 < 20
            gave_up += here["future"] is not None
    assert 0 < gave_up < CASES


def answered(server: Server, query: str, database: str = "postgres") -> str:
    """What the server warns of, or why it refuses; empty if it has nothing to say."""
    said: list[str] = []
    with server.connect(dbname=database) as connection:
        connection.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
        try:
            connection.execute(query.encode())
        except psycopg.Error as error:
            said.append(str(error).partition("\n")[0])
    return "; ".join(said)


@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_it_warns_where_the_server_does(build: Build) -> None:
    (warned, refused), _ = LIMITS[min(build.major, max(LIMITS))]
    # Where it is off, one worker comes in an emergency; where it is on, none before a nap is over.
    with Server(build, settings={"autovacuum": "on", "autovacuum_naptime": 2147483}) as server:
        library = server.put(extension("nextxid", build.major))
        server.execute(
            "CREATE FUNCTION set_next_xid(bigint, bigint) RETURNS void"
            f" AS '{library}', 'set_next_xid' LANGUAGE C STRICT"
        )
        # A database that is half dropped is counted by none.
        server.execute("CREATE DATABASE gone")
        server.execute("UPDATE pg_database SET datallowconn = true, datconnlimit = -(datname = 'gone')::int * 2")
        server.execute("VACUUM FREEZE")
        ((oldest,),) = server.execute("SELECT min(datfrozenxid::text::bigint) FROM pg_database")
        for left, word, words in (
            (warned + 100, "", ""),
            (warned - 100, "WARNING: ", "must be vacuumed within"),
            (refused + 100, "WARNING: ", "must be vacuumed within"),
            (refused - 100, "REFUSED: ", "is not accepting commands"),
        ):
            xid = oldest + HALF - 1 - left
            server.execute(f"SELECT set_next_xid({xid}, {oldest})")
            server.stop()
            _provide_segment(server, xid)
            server.start()
            status, text = asked(server)
            assert (status, text.startswith(word or "LATE: ")) == (1, True), text
            ages = server.execute("SELECT datname::text, age(datfrozenxid), mxid_age(datminmxid) FROM pg_database")
            assert {one["name"]: one["ages"] for one in told(server)["databases"]} == {n: [*x] for n, *x in ages}
            heard = answered(server, "SELECT txid_current()")
            assert words in heard, heard
            assert (heard == "") == (word == "")
        for database in ("template0", "template1", "postgres"):
            answered(server, "VACUUM FREEZE", database)
        assert answered(server, "SELECT txid_current()") == ""
        status, text = asked(server)
        assert (status, "gone (invalid: " in text) == (0, True), text


END_AUTOVACUUM = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%' AND"
    " age(backend_xmin) > 100000"
)


@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_an_old_transaction_of_which_each_vacuum_warns(build: Build) -> None:
    """Prepared, and older than autovacuum_freeze_max_age, which is set to its least.

    Without FREEZE 13 to 15 warn earlier, by vacuum_freeze_min_age.
    """
    settings = {"max_prepared_transactions": 1, "autovacuum_freeze_max_age": 100_000}
    with Server(build, settings=settings) as server:
        library = server.put(extension("nextxid", build.major))
        server.execute(
            "CREATE FUNCTION set_next_xid(bigint, bigint) RETURNS void"
            f" AS '{library}', 'set_next_xid' LANGUAGE C STRICT"
        )
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (a int)")
            for command in ("BEGIN", "INSERT INTO t VALUES (1)", "PREPARE TRANSACTION 'old'"):
                connection.execute(command.encode())
        ((oldest, xid),) = server.execute(
            "SELECT min(datfrozenxid::text::bigint), min(age(datfrozenxid)) FROM pg_database"
        )
        for age, warned in ((99_000, False), (102_000, True)):
            server.execute(f"SELECT set_next_xid({oldest + xid + age}, {oldest})")
            server.stop()
            os.truncate(server.data / "pg_xact" / "0000", XIDS_PER_SEGMENT // 4)
            server.start()
            status, text = asked(server)
            assert (status, "HELD BACK: " in text) == (int(warned), warned), text
            assert ("far in the past" in answered(server, "VACUUM FREEZE pg_class")) == warned
        server.execute(text.partition("What to do: ")[2].partition(" (or")[0])
        # The server starts autovacuum against wraparound, whose snapshot may be as old.
        wait_for(lambda: not server.execute(END_AUTOVACUUM), "the end of autovacuum")
        assert answered(server, "VACUUM FREEZE") == ""
        assert "HELD BACK: " not in asked(server)[1]


@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_what_the_advice_for_a_value_in_the_future_does(build: Build) -> None:
    """VACUUM FREEZE mends it; not a relfrozenxid, if rows are left that are not frozen."""
    with Server(build) as server:
        for name, column, frozen, words in (
            ("pg_class", "relminmxid", False, ""),
            ("young", "relminmxid", False, ""),
            ("old", "relfrozenxid", True, ""),
            ("young", "relfrozenxid", False, "found xmin"),
        ):
            if name != "pg_class":
                server.execute(f"DROP TABLE IF EXISTS {name}")
                server.execute(f"CREATE TABLE {name} AS SELECT 1 AS a")
            if frozen:
                server.execute(f"VACUUM FREEZE {name}")
            server.execute(f"UPDATE pg_class SET {column} = '100000000' WHERE relname = '{name}'")
            status, text = asked(server)
            assert (status, f"GIVES UP: {column} 100000000 of " in text, f".{name} (oid" in text) == (1, True, True), (
                text
            )
            heard = answered(server, f"VACUUM FREEZE {name}")
            mended = "overwrote invalid" if build.major > 14 else ""
            assert words in heard if words else mended in heard, heard
            status, text = asked(server)
            assert status == int(words != ""), text


def cutoff(server: Server) -> int:
    """What VACUUM says of a shared catalog: it may remove what no XID from this one on needs."""
    said = list[str]()
    with server.connect() as connection:
        connection.add_notice_handler(lambda notice: said.append(f"{notice.message_primary}\n{notice.message_detail}"))
        connection.execute("VACUUM (VERBOSE) pg_tablespace")
    found = re.findall(r"(?:oldest xmin|removable cutoff): (\d+)", "\n".join(said))
    return int(found[0])


@pytest.fixture
def standby(primary: Server) -> Iterator[Server]:
    """Of a copy that was made while the primary was stopped."""
    with Server(primary.build, template=primary.data, start_now=False) as server:
        server.write("standby.signal", "")
        more = {"hot_standby_feedback": "on", "wal_receiver_status_interval": "1"}
        server.configure(HOLDING | more | {"primary_conninfo": f"host={primary.base} user=postgres"})
        primary.start()
        server.start()
        yield server


HOLDING: dict[str, str | int] = {"wal_level": "logical", "max_prepared_transactions": 3}


@pytest.fixture(params=EMBEDDED.values(), ids=lambda build: build.label)
def primary(request: pytest.FixtureRequest) -> Iterator[Server]:
    with Server(request.param, settings=HOLDING, start_now=False) as server:
        yield server


def burn(server: Server) -> None:
    """XIDs, so that no two holders are of an age."""
    for _ in range(5):
        server.execute("SELECT txid_current()")


def test_who_holds_the_horizon(primary: Server, standby: Server) -> None:
    """From the oldest on, VACUUM's cutoff is what the holder needs; when it is ended as is said, the next one's."""
    library = primary.put(extension("multis", primary.build.major))
    primary.execute(f"CREATE FUNCTION take_multis(int) RETURNS int AS '{library}', 'take_multis' LANGUAGE C STRICT")
    primary.execute("SELECT take_multis(100)")
    primary.execute("CREATE TABLE t (a int)")
    reader = standby.connect(autocommit=False)
    wait_for(lambda: bool(standby.execute("SELECT 1 FROM pg_class WHERE relname = 't'")), "the table")
    reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    ((needed,),) = reader.execute("SELECT txid_snapshot_xmin(txid_current_snapshot())").fetchall()
    burn(primary)
    feedback = f"SELECT 1 FROM pg_stat_replication WHERE backend_xmin::text = '{needed}'"
    wait_for(lambda: bool(primary.execute(feedback)), "the standby's feedback")
    primary.execute("SELECT pg_create_logical_replication_slot('s', 'test_decoding')")
    burn(primary)
    with primary.connect() as session:
        for command in ("BEGIN", "INSERT INTO t VALUES (1)", "PREPARE TRANSACTION 'it''s'"):
            session.execute(command.encode())
    burn(primary)
    writer = primary.connect()
    writer.execute("CREATE TEMPORARY TABLE mine (a int, b text)")
    for command in ("BEGIN", "INSERT INTO t VALUES (2)"):
        writer.execute(command.encode())
    pid = writer.info.backend_pid
    burn(primary)
    # The same from the files, but for backends and standbys.
    primary.execute("CHECKPOINT")
    before, files = told(primary), json.loads(said("--where", str(primary.data), "--json")[1])
    assert before["members"] == files["members"] == 200
    held = {(one["kind"], one["age"]) for one in before["holders"]}
    assert held - {(one["kind"], one["age"]) for one in files["holders"]} == {
        (one["kind"], one["age"]) for one in before["holders"] if one["kind"] in ("standby", "backend")
    }
    for name in ("postgres", "template1"):
        assert {**of(before, name), "tables": 0, "after": 0} == {**of(files, name), "tables": 0, "after": 0} | {
            "relations": of(before, name)["relations"]
        }

    order = list[str]()
    while True:
        found = told(primary)
        assert cutoff(primary) == found["start"][0]
        oldest = next((one for one in found["holders"] if one["kind"] != "temporary table"), None)
        if not oldest:
            break
        assert oldest["xid"] == found["start"][0]
        order.append(oldest["kind"])
        if oldest["kind"] == "standby":
            reader.rollback()
            standby.stop()
            wait_for(lambda: not primary.execute("SELECT 1 FROM pg_stat_replication"), "the end of the standby")
            continue
        if oldest["kind"] == "backend":
            # Its table becomes an orphan, and its session cannot drop it.
            assert f"pg_terminate_backend({pid})" in oldest["do"]
            primary.stop("immediate")
            primary.start()
            continue
        (command,) = re.findall(r"(SELECT pg_drop_replication_slot\('s'\)|ROLLBACK PREPARED 'it''s')", oldest["do"])
        primary.execute(command)
    assert order == ["standby", "slot", "prepared transaction", "backend"]
    (orphan,) = found["holders"]
    assert "orphaned: no session has it" in orphan["says"]
    primary.execute(orphan["do"].partition(",")[0])
    assert told(primary)["holders"] == []


def test_sessions_that_cannot_be_seen() -> None:
    """Another role's: it is said that they are hidden, and nobody says that all is known."""
    with Server(EMBEDDED[18]) as server, server.connect() as other:
        other.execute("CREATE ROLE someone LOGIN")
        status, text = said("--where", f"postgresql://someone@/postgres?host={server.base}")
        assert (status, " sessions: ask again as a superuser or a member of pg_monitor" in text) == (0, True), text

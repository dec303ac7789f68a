# SPDX-License-Identifier: PostgreSQL
"""`pgquern frozen` on real servers: what it foresees, by both ways, is what the server's own function then does."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from ref.datfrozenxid import Pair
from tests.datfrozenxid.server import SETTINGS, Database
from tests.datfrozenxid.test_frozen import said
from tests.datfrozenxid.test_servers import row, stored
from tests.postgres.server import EMBEDDED, Build, Server, extension
from tests.postgres.wrap import XIDS_PER_SEGMENT, _provide_segment, move_next_to_wrap
from tools.frozen.listing import COPIES
from tools.frozen.wraparound import LIMITS

pytestmark = pytest.mark.servers
CASES, RELATIONS = 8, 8
HALF = 2**31


def by_psql(server: Server, folder: Path) -> dict[str, Any]:
    """The two queries of the help, in psql, word by word."""
    psql = shutil.which("psql")
    assert psql is not None
    options = [option for query in COPIES for option in ("-c", query)]
    command = [psql, "-X", "-q", "-h", str(server.base), "-U", "postgres", "-d", "postgres", *options]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    text = said("--classes", str(folder / "classes.csv"), "--databases", str(folder / "databases.csv"), "--json")[1]
    return dict(json.loads(text))


@pytest.mark.parametrize("at_wrap", [False, True], ids=["young", "at the wrap"])
@pytest.mark.parametrize("build", [EMBEDDED[13], EMBEDDED[18]], ids=lambda build: build.label)
def test_the_server_does_what_is_foreseen(build: Build, at_wrap: bool, tmp_path: Path) -> None:
    rng, gave_up = Random(build.major), 0
    with Server(build, settings=SETTINGS) as server:
        if at_wrap:
            move_next_to_wrap(server, 2000)
        database = Database(server, RELATIONS)
        for case in range(CASES):
            next_ids = database.next_ids()
            rows = [row(rng, next_ids, fault=case % 4 == 0) for _ in range(RELATIONS)]
            database.write(rows, stored(rng, next_ids, rows))
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres", "--json")
            answer, listed = json.loads(text), by_psql(server, tmp_path)
            assert {**answer, "start": None} == {**listed, "start": None}
            before = database.stored()
            assert answer["stored"] == list(before)
            assert (answer["database"], status) == (
                "postgres",
                int(answer["future"] is not None or answer["warnings"] != []),
            )
            _, after_ids = database.update()
            assert Pair(*answer["after"]) == database.stored()
            assert 0 <= (after_ids.xid - answer["next_ids"][0]) % 2**32 < 20
            gave_up += answer["future"] is not None
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
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres")
            assert (status, "WARNING: " in text, "REFUSED: " in text) == (
                int(word != ""), word == "WARNING: ", word == "REFUSED: "
            ), text  # fmt: skip
            heard = answered(server, "SELECT txid_current()")
            assert words in heard, heard
            assert (heard == "") == (word == "")
        for database in ("template0", "template1", "postgres"):
            answered(server, "VACUUM FREEZE", database)
        assert answered(server, "SELECT txid_current()") == ""
        status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres")
        assert (status, "gone (invalid: " in text) == (0, True), text


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
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres")
            assert (status, "HELD BACK: " in text) == (int(warned), warned), text
            assert ("far in the past" in answered(server, "VACUUM FREEZE pg_class")) == warned


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
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres")
            assert (status, f"GIVES UP: {column} 100000000 of {name}" in text) == (1, True), text
            heard = answered(server, f"VACUUM FREEZE {name}")
            mended = "overwrote invalid" if build.major > 14 else ""
            assert words in heard if words else mended in heard, heard
            status, text = said("--connect", f"host={server.base} user=postgres dbname=postgres")
            assert status == int(words != ""), text


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    status, text = said("--connect", f"host={tmp_path} dbname=postgres")
    assert (status, "the server says: " in text) == (2, True), text

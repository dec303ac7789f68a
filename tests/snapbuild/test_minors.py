# SPDX-License-Identifier: PostgreSQL
"""Defects of logical decoding and of starting standbys: on released minors that had them, and on the next ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from threading import Thread
from typing import Any

import psycopg
import pytest

from tests.common.tally import tally
from tests.postgres.minors import minors
from tests.postgres.server import Build, Server, ServerError, wait_for
from tests.postgres.wrap import move_next_to_wrap
from tests.snapbuild.decoding import PLUGIN

pytestmark = pytest.mark.minors

SETTINGS: dict[str, str | int] = {
    "wal_level": "logical",
    "max_prepared_transactions": 1,
    "checkpoint_timeout": "1d",  # a running-xacts record is written where a test wants it
}
Connection = psycopg.Connection[Any]


@contextmanager
def watched(build: Build) -> Iterator[tuple[Server, Connection, Connection]]:
    """A server that writes no running-xacts records unasked, with a table t; and two sessions. It may end before they
    do."""
    with Server(build, settings=SETTINGS) as server, server.background_writer_stopped():
        server.execute("CREATE TABLE t (a int)")
        with closing(server.connect()) as one, closing(server.connect()) as two:
            yield server, one, two


def create_slot(connection: Connection, name: str = "slot") -> None:
    connection.execute(f"SELECT pg_create_logical_replication_slot('{name}', '{PLUGIN}')".encode())


def consume(connection: Connection, name: str = "slot") -> list[str]:
    """Everything that the slot has: changes, or the error that ends the decoding."""
    query = f"SELECT data FROM pg_logical_slot_get_changes('{name}', NULL, NULL, 'include-xids', 'off')"
    try:
        return [data for (data,) in connection.execute(query.encode())]
    except psycopg.Error as error:
        return [str(error.diag.message_primary)]


def execute(connection: Connection, *commands: str) -> None:
    for command in commands:
        connection.execute(command.encode())


# ---- standbys ------------------------------------------------------------------------------------


def start_as_standby(server: Server) -> None:
    """Start its data as those of a standby, which replays what pg_wal has from the last checkpoint on."""
    server.write("standby.signal", "")
    server.start()


def standby_across_the_wrap(build: Build) -> str:
    """A standby starts from a record of two running transactions, one on each side of the wrap. What it says."""
    with Server(build, settings=SETTINGS) as server:
        move_next_to_wrap(server, 20)
        with closing(server.connect()) as before, closing(server.connect()) as after:
            execute(before, "BEGIN")
            ((oldest,),) = before.execute("SELECT txid_current()")
            while server.execute("SELECT txid_current() < 4294967296") == [(True,)]:
                pass
            execute(after, "BEGIN", "SELECT txid_current()")
            server.execute("CHECKPOINT")
            server.stop("immediate")
        before_it = len(server.log_text())
        try:
            start_as_standby(server)
        except ServerError:
            said = server.log_text()[before_it:]
            return next(line.partition("FATAL:  ")[2] for line in said.splitlines() if "FATAL" in line)
        snapshot = "txid_snapshot_xmin(s) - 4294967296, txid_snapshot_xmax(s) > 4294967296"
        ((xmin, across),) = server.execute(f"SELECT {snapshot} FROM txid_current_snapshot() s")
        assert (xmin, across) == (oldest - 2**32, True)
        return "takes queries"


def test_running_xids_across_the_wrap() -> None:
    """f192e1bdf3: the XIDs of the running-xacts record are sorted as plain numbers before they are added.
    The one beyond the wrap comes first then, the other is out of order, and the standby cannot be started."""
    old, new = minors("14.1", "14.2")
    assert standby_across_the_wrap(old) == "out-of-order XID insertion in KnownAssignedXids"
    assert standby_across_the_wrap(new) == "takes queries"
    tally("snapbuild", "defects told apart in released minors")


def prepared_with_subtransaction(build: Build) -> list[int]:
    """Rows of a prepared transaction, committed after a standby has looked at them; the second is of a subtransaction.

    The standby starts from the checkpoint of a shutdown, and is promoted before the commit.
    """
    with Server(build, settings=SETTINGS) as server:
        with closing(server.connect()) as session:
            execute(session, "CREATE TABLE t (a int)", "BEGIN", "INSERT INTO t VALUES (1)")
            execute(session, "SAVEPOINT s", "INSERT INTO t VALUES (2)", "PREPARE TRANSACTION 'p'")
        server.stop()
        start_as_standby(server)
        assert server.execute("SELECT a FROM t") == []
        server.execute("SELECT pg_promote()")
        wait_for(lambda: server.execute("SELECT pg_is_in_recovery()") == [(False,)], "the promotion")
        server.execute("COMMIT PREPARED 'p'")
        return [a for (a,) in server.execute("SELECT a FROM t ORDER BY a")]


def test_subtransactions_of_a_prepared_transaction() -> None:
    """cbfbda7841: a standby that starts from a shutdown does not know that subtransactions of prepared ones run.
    A query takes them for aborted and marks their rows so; when all is committed, the rows are lost."""
    old, new = minors("16.3", "16.4")
    assert prepared_with_subtransaction(old) == [1]
    assert prepared_with_subtransaction(new) == [1, 2]
    tally("snapbuild", "defects told apart in released minors")


# ---- logical decoding ----------------------------------------------------------------------------


def commit_alone(build: Build) -> list[str]:
    """A slot restarts between a change of the catalog and its COMMIT. What it then tells of the next transaction."""
    with watched(build) as (_, one, two):
        create_slot(two)
        execute(one, "BEGIN", "TRUNCATE t")
        execute(two, "CHECKPOINT")
        consume(two)
        execute(one, "COMMIT", "BEGIN", "INSERT INTO t VALUES (1)")
        execute(two, "CHECKPOINT")
        consume(two)
        execute(one, "COMMIT")
        return consume(two)


INSERTED = ["BEGIN", "table public.t: INSERT: a[integer]:1", "COMMIT"]


def test_a_commit_whose_changes_of_the_catalog_are_not_read_again() -> None:
    """7f13ac8123, 68dcce247f: a decoder that restarts and reads only the COMMIT takes it for one without such changes.
    The next transaction is decoded with a snapshot in which the truncated table still has its old file."""
    old, new = minors("14.5", "14.6")
    (error,) = commit_alone(old)
    assert error.startswith("could not map filenode")
    assert commit_alone(new) == INSERTED
    tally("snapbuild", "defects told apart in released minors")


def known_with_subtransaction(build: Build) -> list[str]:
    """As commit_alone, but a subtransaction has truncated, and its top-level transaction changes the catalog after the
    restart."""
    with watched(build) as (_, one, two):
        create_slot(two)
        execute(one, "BEGIN", "SAVEPOINT s", "TRUNCATE t", "RELEASE s")
        execute(two, "CHECKPOINT")
        consume(two)
        execute(one, "CREATE TABLE u ()", "COMMIT", "BEGIN", "INSERT INTO t VALUES (1)")
        execute(two, "CHECKPOINT")
        consume(two)
        execute(one, "COMMIT")
        return consume(two)


def test_a_subtransaction_of_a_known_transaction() -> None:
    """b793a416bf: that a transaction has changed the catalog is seen after the restart, so its subtransactions are not
    looked up. The one that had truncated the table is missed, and the table is looked up by its old file."""
    old, new = minors("15.5", "15.6")
    (error,) = known_with_subtransaction(old)
    assert error.startswith("could not map filenode")
    assert known_with_subtransaction(new) == INSERTED
    tally("snapbuild", "defects told apart in released minors")


def slot_created_beside_another(build: Build) -> list[str]:
    """A slot is created amid a transaction, while another slot writes a file of its snapshot. What it then tells."""
    with watched(build) as (server, one, two), ExitStack() as stack:
        create_slot(two, "other")
        execute(one, "BEGIN", "INSERT INTO t VALUES (1)")
        creator = stack.enter_context(closing(server.connect()))
        creation = Thread(target=create_slot, args=(creator,), daemon=True)
        creation.start()
        waits = f"SELECT wait_event FROM pg_stat_get_activity({creator.info.backend_pid})"
        wait_for(lambda: server.execute(waits) == [("transactionid",)], "the creation, which waits for the transaction")
        execute(two, "CHECKPOINT")
        consume(two, "other")
        execute(one, "INSERT INTO t VALUES (2)", "COMMIT")
        creation.join()
        return consume(two)


def test_a_slot_begins_amid_a_transaction() -> None:
    """bb19b70081: while a slot is created its builder restores the file of another slot, and takes itself for ready.
    The new slot begins in the middle of a transaction, and gives the later half of it."""
    old, new = minors("16.3", "16.4")
    assert slot_created_beside_another(old) == ["BEGIN", "table public.t: INSERT: a[integer]:2", "COMMIT"]
    assert slot_created_beside_another(new) == []
    tally("snapbuild", "defects told apart in released minors")

# SPDX-License-Identifier: PostgreSQL
"""Our kernels inside real servers: primary and standby with wal_consistency_checking, a kernel on one side only.

The primary puts an image of every changed page into the WAL; the standby redoes the record and compares its page with
the image, byte by byte but for what redo need not restore, and dies at the first difference. Then amcheck's
verify_heapam looks at every tuple on both sides. About 15 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pgquern.compaction
import psycopg
import pytest

from ref import page as rp
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.compaction.preload import calls, use_kernel
from tests.postgres.server import DEBIAN, EMBEDDED, HANG_SECONDS, Build, Server, ServerError, extension

pytestmark = pytest.mark.servers

TABLES = ("narrow", "wide")
SETTINGS: dict[str, str | int] = {
    "wal_level": "replica",
    "wal_consistency_checking": "all",
    "max_wal_senders": 10,
    "hot_standby": "on",
    "wal_keep_size": "2GB",
    "max_wal_size": "4GB",
    "shared_buffers": "64MB",
}
COMPACTED_FLOOR = 5000
INCONSISTENT = "inconsistent page found"

# Updates of single rows at random, as the pages get full; then deletes, reuse of what is free, and VACUUM.
WORKLOAD = (
    "CREATE EXTENSION amcheck",
    "CREATE TABLE narrow (id int PRIMARY KEY, v int) WITH (fillfactor = 85)",
    "CREATE TABLE wide (id int PRIMARY KEY, v int, pad text) WITH (fillfactor = 80)",
    "INSERT INTO narrow SELECT g, 0 FROM generate_series(1, 3000) g",
    "INSERT INTO wide SELECT g, 0, repeat('x', g % 300) FROM generate_series(1, 1000) g",
    """DO $$ DECLARE k int; BEGIN PERFORM setseed(0.5); FOR i IN 1..6000 LOOP
         k := 1 + random() * 2999; UPDATE narrow SET v = v + 1 WHERE id = k;
         k := 1 + random() * 999; UPDATE wide SET v = v + 1, pad = repeat('y', (random() * 300)::int) WHERE id = k;
         IF i % 10 = 0 THEN COMMIT; END IF;
       END LOOP; END $$""",
    "DELETE FROM narrow WHERE id % 7 = 0",
    "DELETE FROM wide WHERE id % 5 = 0",
    "VACUUM narrow",
    "SELECT count(*), sum(length(pad)) FROM wide",
    "INSERT INTO wide SELECT g, 0, repeat('z', g % 200) FROM generate_series(1001, 1200) g",
    "VACUUM wide",
    "VACUUM FREEZE",
)


def item_order_rows() -> list[pgquern.compaction.Variant]:
    """Those that must give the bytes of 14 and later."""
    wanted = pgquern.compaction.Order.ITEM
    return [row for row in pgquern.compaction.variants() if row.order == wanted]


def item_order_variants() -> list[str]:
    """Those of them that this CPU can run."""
    return [row.name for row in item_order_rows() if row.supported]


@contextmanager
def primary(build: Build, variant: str | None) -> Iterator[Server]:
    """A primary that has not been started yet."""
    with Server(build, start_now=False) as server:
        server.configure({**SETTINGS, **use_kernel(server, variant)})
        yield server


@contextmanager
def standby(of: Server, variant: str | None) -> Iterator[Server]:
    """A standby of a primary that has not been started yet either."""
    with Server(of.build, template=of.data, start_now=False) as server:
        server.write("standby.signal", "")
        conninfo = f"host={of.base} user=postgres"
        server.configure({**SETTINGS, "primary_conninfo": conninfo, **use_kernel(server, variant)})
        yield server


def work(server: Server) -> str:
    """Run the workload; the LSN at which it ends."""
    with server.connect() as connection:
        for statement in WORKLOAD:
            connection.execute(statement.encode())
    ((lsn,),) = server.execute("SELECT pg_current_wal_flush_lsn()")
    return str(lsn)


def catch_up(server: Server, lsn: str) -> None:
    """Wait until the standby has replayed up to lsn; ServerError with its log when it dies on the way."""
    until = time.monotonic() + HANG_SECONDS
    while time.monotonic() < until and server.running:
        # A standby that is dying takes no connections: the next turn sees that it is gone.
        with suppress(psycopg.OperationalError):
            if server.execute(f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'") == [(True,)]:
                return
        time.sleep(0.05)
    raise ServerError(server.log_tail(30))


def content(server: Server) -> list[tuple[object, ...]]:
    query = "SELECT count(*), md5(string_agg(t::text, ',' ORDER BY id)) FROM {} t"
    return [row for table in TABLES for row in server.execute(query.format(table))]


def complaints(server: Server) -> list[tuple[object, ...]]:
    """What verify_heapam finds wrong."""
    return [row for table in TABLES for row in server.execute(f"SELECT * FROM verify_heapam('{table}')")]


per_build = pytest.mark.parametrize("build", [DEBIAN, EMBEDDED[18]], ids=lambda build: build.label)


@per_build
def test_a_kernel_on_the_standby_only(build: Build) -> None:
    """Every kernel of 14's order redoes what the server's own function did; 13's order is found out at once."""
    variants = item_order_variants()
    with ExitStack() as stack:
        origin = stack.enter_context(primary(build, None))
        replicas = {variant: stack.enter_context(standby(origin, variant)) for variant in variants}
        wrong = stack.enter_context(standby(origin, "pg13"))
        origin.start()
        for server in (*replicas.values(), wrong):
            server.start()
        lsn = work(origin)
        assert complaints(origin) == []
        for variant, server in replicas.items():
            catch_up(server, lsn)
            assert content(server) == content(origin)
            assert complaints(server) == []
            assert INCONSISTENT not in server.log_text()
            server.stop()
            compacted = calls(server, variant)
            assert compacted > COMPACTED_FLOOR
            tally("compaction", "pages redone by our kernels under wal_consistency_checking", compacted)
        with pytest.raises(ServerError, match=INCONSISTENT):
            catch_up(wrong, lsn)


@per_build
def test_a_kernel_on_the_primary_only(build: Build) -> None:
    """The server's own redo agrees with what the fastest kernel did, record by record."""
    variant = item_order_variants()[-1]
    with primary(build, variant) as origin, standby(origin, None) as replica:
        origin.start()
        replica.start()
        catch_up(replica, work(origin))
        assert content(replica) == content(origin)
        assert complaints(origin) == complaints(replica) == []
        assert INCONSISTENT not in replica.log_text()
        origin.stop()
        assert calls(origin, variant) > COMPACTED_FLOOR


@pytest.mark.parametrize("variant", ["", "no such kernel"])
def test_a_server_with_an_unknown_kernel_does_not_start(variant: str) -> None:
    with primary(DEBIAN, variant) as server, pytest.raises(ServerError, match="must name a compaction variant"):
        server.start()


def test_a_library_of_another_major_is_refused() -> None:
    with primary(DEBIAN, "pg14") as server:
        server.put(extension("preload", 14), "preload.so")
        with pytest.raises(ServerError, match="incompatible library"):
            server.start()


def damage(server: Server, number: int, change: Callable[[rp.LinePointer], rp.LinePointer]) -> None:
    """Stop a server, change one line pointer of the first page of `narrow` in its file, start it again."""
    file = server.data_file("narrow")
    server.stop()
    content = file.read_bytes()
    first, rest = content[: rp.BLCKSZ], content[rp.BLCKSZ :]
    lps = rp.line_pointers(first)
    lps[number - 1] = change(lps[number - 1])
    file.write_bytes(rp.build(lps, header=rp.Header.parse(first), fill=first) + rest)
    server.start()


def test_amcheck_sees_a_damaged_line_pointer() -> None:
    """The control of verify_heapam: one tuple's lp_off moved by 8 bytes."""
    with Server(DEBIAN) as server:
        for statement in WORKLOAD[:5]:
            server.execute(statement)
        assert complaints(server) == []
        damage(server, 10, lambda lp: lp._replace(lp_off=lp.lp_off + 8))
        assert {row[1] for row in complaints(server)} == {10}


@pytest.mark.parametrize("variant", [None, *every_variant(item_order_rows())])
def test_a_refusal_stops_the_server_as_its_own_function_does(variant: str | None) -> None:
    """A dead line pointer with storage where there is none: PageRepairFragmentation is the first to look there."""
    with primary(DEBIAN, variant) as server:
        server.start()
        for statement in (*WORKLOAD[1:4], "DELETE FROM narrow WHERE id % 3 = 0", "CHECKPOINT"):
            server.execute(statement)
        damage(server, 7, lambda _: rp.LinePointer(16, rp.LP_DEAD, 24))
        # In a critical section: the ERROR becomes a PANIC.
        with pytest.raises(psycopg.Error, match="corrupted line pointer: 16"):
            server.execute("VACUUM narrow")
        assert "PANIC:  corrupted line pointer: 16" in server.log_text()

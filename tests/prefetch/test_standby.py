# SPDX-License-Identifier: PostgreSQL
"""Standbys that stream from real primaries, recorded with strace, against the oracle."""

import itertools
import random
import re
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from click.testing import CliRunner

from tests.common.tally import tally
from tests.postgres.server import DEBIAN, EMBEDDED, Build, Server, wait_for
from tools.trace.arrivals import Arrivals
from tools.trace.cluster import STANDBYS, main
from tools.trace.follow import follow
from tools.trace.listing import lsn_of, lsn_text
from tools.trace.record import PROBE_PAGES, SETTINGS, Crashed, Recorded, crashed, record, why_no_strace
from tools.trace.standby import Primary

pytestmark = pytest.mark.servers
BUILDS = {build.label: build for build in (DEBIAN, EMBEDDED[18])}
UPDATES, ROWS = 60, 20_000
COLD = range(PROBE_PAGES // 2, PROBE_PAGES - UPDATES // 3)
"""Pages of the table `probe`."""
STREAMED = 10_000
"""Bytes of WAL that come while the standby runs: updates of most of these pages."""
ALONE = 8
"""So many of its transactions come when the standby has replayed the one before; the others when they like."""
REPLAYED = "SELECT 1 FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_insert_lsn()"
CONCURRENCY = 10


@contextmanager
def primary_of(crash: Crashed) -> Iterator[Server]:
    """The crashed cluster itself, recovered; its copies are its standbys."""
    settings = {**SETTINGS, "wal_level": "replica", "max_wal_senders": 4, "shared_buffers": "64MB"}
    with Server(crash.build, settings=settings, template=crash.data) as server:
        yield server


def write_until(server: Server, until: str) -> None:
    """Once a standby streams: one row of each page that nobody has touched since the checkpoint, some alone, some in
    transactions of many, until an LSN is behind; and a record more."""
    wait_for(lambda: bool(server.execute("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")), "the standby")
    pages = iter(random.Random(1).sample(COLD, len(COLD)))
    with server.connect() as session:
        for burst in itertools.count():
            with session.transaction():
                for page in itertools.islice(pages, 1 + burst % 3 * 4):
                    session.execute(f"UPDATE probe SET k = 0 WHERE ctid = '({page},1)'".encode())
            if burst < ALONE:
                wait_for(lambda: bool(session.execute(REPLAYED).fetchall()), "a commit to be replayed")
            if session.execute("SELECT pg_current_wal_insert_lsn() > %s", (until,)).fetchone() == (True,):
                break
    server.execute("CHECKPOINT")


def streamed(build: Build, into: Path) -> Recorded:
    """The standby catches up while its primary goes on."""
    with crashed(build, UPDATES, ROWS) as crash, primary_of(crash) as server, ThreadPoolExecutor(1) as pool:
        ((now,),) = server.execute("SELECT pg_current_wal_insert_lsn()::text")
        until = lsn_text(lsn_of(now) + STREAMED)
        writing = pool.submit(write_until, server, until)
        run = record(
            crash, [CONCURRENCY], into, primary=Primary(f"host={server.base} user=postgres", until, lists=server)
        )
        writing.result()
        return run


@pytest.fixture(scope="module", params=BUILDS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    if reason := why_no_strace():
        pytest.skip(reason)
    return streamed(BUILDS[request.param], tmp_path_factory.mktemp("standby") / "recorded")


def test_a_standby_that_streams_conforms(run: Recorded) -> None:
    followed = run.followed()
    assert followed.mismatch == ""
    assert followed.counters == run.counters
    assert len(followed.steps) == len(run.calls().calls) > 150
    assert run.standby is not None
    assert len(run.standby.arrivals.ends) >= ALONE
    tally("prefetch", "advises and reads of real standbys explained", len(followed.steps))


def test_what_had_not_come_was_not_looked_at(run: Recorded) -> None:
    """If all WAL had been there from the start, more would have been advised."""
    assert run.standby is not None
    early = replace(run.standby, arrivals=Arrivals(run.standby.arrivals.ends[-1]))
    followed = follow(run.records(), run.calls(), run.concurrencies, run.buffers, run.decode, early)
    assert "Expected: an advise" in followed.mismatch


def test_wal_that_is_replayed_has_come(run: Recorded) -> None:
    assert run.standby is not None
    arrivals = run.standby.arrivals
    late = replace(arrivals, after=[at + 3600 for at in arrivals.after], before=[at + 3600 for at in arrivals.before])
    followed = follow(
        run.records(), run.calls(), run.concurrencies, run.buffers, run.decode, replace(run.standby, arrivals=late)
    )
    assert "Expected: nothing until the record at" in followed.mismatch


# ---- by the command ----------------------------------------------------------------------------------


@contextmanager
def stopped(build: Build) -> Iterator[tuple[Server, Path]]:
    """A primary, and the data directory of its standby, which has streamed and was stopped."""
    with (
        crashed(build, UPDATES, ROWS) as crash,
        primary_of(crash) as server,
        Server(build, settings=SETTINGS, template=crash.data, start_now=False) as standby,
    ):
        standby.write("standby.signal", "")
        standby.write("postgresql.auto.conf", f"primary_conninfo = 'host={server.base} user=''postgres'''\n")
        standby.start()
        wait_for(lambda: bool(server.execute("SELECT 1 FROM pg_stat_replication")), "the standby")
        standby.stop("immediate")
        yield server, standby.data


def by_command(build: Build, data: Path, into: Path, *words: str) -> tuple[int, str]:
    said = CliRunner().invoke(main, ["--data", str(data), "--bin", str(build.bin), "--into", str(into), *words])
    return said.exit_code, said.output


@pytest.mark.whole
def test_a_stopped_standby_is_recorded_and_conforms(tmp_path: Path) -> None:
    if reason := why_no_strace():
        pytest.skip(reason)
    with stopped(DEBIAN) as (server, data), ThreadPoolExecutor(1) as pool:
        ended = Event()

        def go_on() -> None:
            while not ended.wait(0.2):
                server.execute("CHECKPOINT")

        going = pool.submit(go_on)
        try:
            code, said = by_command(DEBIAN, data, tmp_path / "recorded")
        finally:
            ended.set()
        going.result()
    assert code == 0, said
    assert re.search(r"recovers from \S+ on up to \S+ and a record more", said)
    assert re.search(r"conforms: \d{3,} advises and reads", said)


@pytest.mark.parametrize(
    ("build", "conf", "words", "says"),
    [
        (DEBIAN, "", (), "does not say where its primary is: give --primary connection"),
        (DEBIAN, "primary_conninfo = 'host=/no user=postgres'\n", (), "The primary does not answer"),
        (DEBIAN, "", ("--primary", "host=/no user=postgres"), "The primary does not answer"),
        (EMBEDDED[18], "", (), "pg_waldump, which lists what a standby has replayed: install it"),
    ],
    ids=["nowhere", "silent", "given", "no pg_waldump"],
)
def test_a_standby_that_cannot_be_recorded_is_told(
    tmp_path: Path, build: Build, conf: str, words: tuple[str, ...], says: str
) -> None:
    if reason := why_no_strace():
        pytest.skip(reason)
    with Server(build, start_now=False) as server:
        control = server.data / "global" / "pg_control"
        read = bytearray(control.read_bytes())
        struct.pack_into("<I", read, 16, STANDBYS[0])
        control.write_bytes(read)
        server.write("postgresql.auto.conf", conf)
        code, said = by_command(build, server.data, tmp_path / "recorded", *words)
    assert code == 2
    assert says in said

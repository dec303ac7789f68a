# SPDX-License-Identifier: PostgreSQL
"""Crash recoveries of real servers, recorded with strace, and the WAL that they replayed, as a listing."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any

import psycopg

from ref.prefetch import COUNTERS
from tests.postgres.server import DEBIAN, Build, Server, ServerError, wait_for
from tools.trace import standby
from tools.trace.follow import DECODE_BUFFER, Followed, Recovery, Standby, follow
from tools.trace.guesses import Guesses
from tools.trace.listing import Listed, lsn_of, read_listing
from tools.trace.standby import Primary
from tools.trace.strace import Trace, read_strace
from tools.trace.wal import Wal, marked

STRACE = ("strace", "-D", "-ff", "-y", "-s", "0", "-e", "trace=fadvise64,pread64,preadv,openat,close,lseek")
SLOWLY = ("-e", "inject=fadvise64,pread64:delay_enter=5000")
"""Each call takes 5 ms more, so that a recovery does not end before its concurrency was to change."""
CALL = re.compile(r"^(?:[\d.]+ )?(?:fadvise64|pread64)\(", re.M)
"""With its time, where a standby is recorded."""
CHANGE_AFTER = 30
"""Advises and reads."""
CONCURRENCY = "maintenance_io_concurrency"
SETTINGS: dict[str, str | int] = {
    "full_page_writes": "off",  # with images the first change of a page reads nothing
    "checkpoint_timeout": "1h",
    "max_wal_size": "10GB",
    "wal_keep_size": "1GB",  # what was replayed is listed afterwards
    "bgwriter_lru_maxpages": 0,
}
PROBE_PAGES = 400


def why_no_strace() -> str | None:
    """Why nothing can be recorded here; None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed: run `make setup`"
    run = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True)
    return None if run.returncode == 0 else f"no permission to ptrace: {run.stderr.strip()[:100]}"


def change_pages(server: Server, updates: int, rows: int) -> str:
    """Tables that are there at the checkpoint; then updates of scattered rows, and relations that come, shrink and go.
    Returns where redo starts.

    Cold blocks, cached blocks, repeated blocks, blocks that are initialised, files that grow and that do not exist yet
    or any more, full page images, other forks, records of 8 kB between cold blocks. The last record is that of a page
    that nothing else has touched: a query prunes it, which commits nothing.
    """
    server.execute("CREATE TABLE t (k int PRIMARY KEY, v int) WITH (fillfactor = 50)")
    server.execute(f"INSERT INTO t SELECT i, 0 FROM generate_series(1, {rows}) i")
    server.execute("CREATE TABLE gone AS SELECT i FROM generate_series(1, 2000) i")
    server.execute("CREATE SEQUENCE s")
    server.execute("CREATE TABLE probe (k int) WITH (fillfactor = 10)")
    server.execute(f"INSERT INTO probe SELECT generate_series(1, {25 * PROBE_PAGES})")
    pages = iter(range(PROBE_PAGES // 2))
    server.execute("CREATE TABLE wide (v text)")
    server.execute("ALTER TABLE wide ALTER v SET STORAGE PLAIN")
    server.execute("CREATE TABLE last (v text) WITH (fillfactor = 10)")
    server.execute("INSERT INTO last VALUES (repeat('a', 1000))")
    server.execute("UPDATE last SET v = repeat('b', 1000)")
    server.execute("CHECKPOINT")
    ((redo,),) = server.execute("SELECT redo_lsn::text FROM pg_control_checkpoint()")
    flushed = "SELECT pg_current_wal_flush_lsn() = pg_current_wal_insert_lsn()"
    with server.connect() as session:
        for i in range(updates):
            session.execute("UPDATE t SET v = v + 1 WHERE k = %s", (i * 7919 % rows + 1,))
            if i % 10 == 3:
                session.execute("INSERT INTO t VALUES (%s, 0)", (rows + 1 + i,))
                session.execute("SELECT nextval('s')")
        session.execute("CREATE TABLE fresh (a int PRIMARY KEY)")
        session.execute("INSERT INTO fresh SELECT generate_series(1, 20)")
        session.execute("TRUNCATE fresh")
        session.execute("INSERT INTO fresh SELECT generate_series(1, %s)", (3 * updates,))
        session.execute("DELETE FROM t WHERE k > %s", (rows - updates,))
        session.execute("VACUUM t")
        session.execute("UPDATE gone SET i = i + 1 WHERE i % 500 = 7")
        session.execute("DROP TABLE fresh, gone")
        for i in range(updates // 3):
            session.execute("INSERT INTO wide VALUES (repeat('w', 7900))")
            session.execute(f"UPDATE probe SET k = 0 WHERE ctid = '({PROBE_PAGES - 1 - i},1)'".encode())
        full_page_writes(session, True, pages)
        for i in range(updates // 10):
            session.execute("UPDATE t SET v = v + 1 WHERE k = %s", (i * 37 + 2,))
        full_page_writes(session, False, pages)
        # From here on nothing is looked up for the first time: a lookup may prune a page of a catalog.
        session.execute(flushed)
        session.execute("SELECT * FROM last")
        wait_for(lambda: session.execute(flushed).fetchone() == (True,), "the last record to be written")
    return str(redo)


def change_indexes(server: Server, updates: int, rows: int) -> str:
    """Tables with GIN, GiST, SP-GiST, hash and BRIN indexes, which grow and are vacuumed; one is empty at the
    checkpoint. Returns where redo starts.
    """
    row = "array[i % 500, i * 7919 % 1000], point(i * 7919 % 10007, i * 31 % 9973), i * 7919 % 100003, i"
    server.execute("CREATE TABLE indexed (a int[], p point, h int, n int)")
    server.execute(f"INSERT INTO indexed SELECT {row} FROM generate_series(1, {rows}) i")
    for index in ("gin (a)", "gist (p)", "spgist (p)", "hash (h)", "brin (n) WITH (pages_per_range = 1)"):
        server.execute(f"CREATE INDEX ON indexed USING {index}")
    server.execute("CREATE TABLE empty (h int, v text)")
    for index in ("hash (h)", "brin (v) WITH (pages_per_range = 1)"):
        server.execute(f"CREATE INDEX ON empty USING {index}")
    server.execute("CHECKPOINT")
    ((redo,),) = server.execute("SELECT redo_lsn::text FROM pg_control_checkpoint()")
    server.execute(f"INSERT INTO indexed SELECT {row} FROM generate_series({rows + 1}, {rows + 20 * updates}) i")
    server.execute("SELECT brin_summarize_new_values('indexed_n_idx')")
    server.execute(f"INSERT INTO empty SELECT i, repeat(md5(i::text), 10) FROM generate_series(1, {20 * updates}) i")
    server.execute("SELECT brin_summarize_new_values('empty_v_idx')")
    server.execute("UPDATE indexed SET n = n + 1000000 WHERE n % 40 = 7")
    server.execute("DELETE FROM indexed WHERE n % 3 = 1")
    server.execute("VACUUM indexed")
    server.execute(f"INSERT INTO indexed SELECT {row} FROM generate_series(1, {updates}) i")
    return str(redo)


def full_page_writes(session: psycopg.Connection[Any], on: bool, pages: Iterator[int]) -> None:
    """Sets it, and waits until the checkpointer has told this session: then the first change of a page of the table
    `probe` gets an image, or none."""
    session.execute(f"ALTER SYSTEM SET full_page_writes = {'on' if on else 'off'}".encode())
    session.execute("SELECT pg_reload_conf()")
    for tries, page in enumerate(pages):
        update = f"UPDATE probe SET k = 0 WHERE ctid = '({page},1)'"
        ((plan,),) = session.execute(f"EXPLAIN (ANALYZE, WAL, FORMAT JSON) {update}".encode()).fetchall()
        if (plan[0]["Plan"].get("WAL FPI", 0) > 0) == on:
            return
        time.sleep(0.02 * tries)
    raise ServerError(f"the checkpointer has not set full_page_writes to {on}")


@dataclass(frozen=True)
class Crashed:
    """A cluster that was stopped at once, and where its recovery starts."""

    build: Build
    data: Path
    redo: str
    least: Mapping[str, str | int] = field(default_factory=dict)
    """Settings that its recovery needs no less of."""


@contextmanager
def crashed(
    build: Build, updates: int, rows: int, change: Callable[[Server, int, int], str] = change_pages
) -> Iterator[Crashed]:
    """A cluster whose recovery has much to read: `updates` of a table of so many rows. It is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="pgquern-", dir="/tmp") as folder:
        with Server(build, settings={**SETTINGS, "shared_buffers": "64MB"}) as server:
            redo = change(server, updates, rows)
            server.stop("immediate")
            data = Path(folder) / "data"
            shutil.copytree(server.data, data, symlinks=True)
        yield Crashed(build, data, redo)


# A recording is followed many times, and read once.
records_of = lru_cache(maxsize=32)(read_listing)
calls_of = lru_cache(maxsize=32)(read_strace)


@dataclass(frozen=True)
class Recorded:
    """A recovery: its trace, the records it replayed, and pg_stat_recovery_prefetch after it."""

    build: Build
    concurrencies: tuple[int, ...]
    """maintenance_io_concurrency: the first one, and what it was set to later."""
    buffers: int
    listing: Path
    trace: Path
    counters: dict[str, int]
    decode: int
    """wal_decode_buffer_size, in bytes."""
    standby: Standby | None = None

    def records(self) -> Sequence[Listed]:
        return records_of(self.listing)

    def calls(self) -> Trace:
        return calls_of(self.trace)

    @property
    def evicts(self) -> bool:
        """Whether not all that it reads and makes fits into its buffers."""
        return Recovery(self.records(), self.calls(), self.concurrencies, self.buffers, self.decode, Guesses()).evicts

    def followed(self) -> Followed:
        return follow(
            self.records(), self.calls(), self.concurrencies, self.buffers, self.decode, self.standby, self.counters
        )


def record(
    crash: Crashed,
    concurrencies: Sequence[int],
    into: Path,
    shared_buffers: str = "128MB",
    decode: int = DECODE_BUFFER,
    primary: Primary | None = None,
) -> Recorded:
    """Let a copy of a crashed cluster recover, or of a standby stream, under strace.

    Each next concurrency comes after CHANGE_AFTER calls.
    """
    settings = {**SETTINGS, **crash.least, "shared_buffers": shared_buffers, CONCURRENCY: concurrencies[0]}
    settings["wal_decode_buffer_size"] = f"{decode >> 10}kB"
    into.mkdir()
    strace = [*STRACE, *(SLOWLY if len(concurrencies) > 1 else ())]
    if primary:
        settings |= primary.settings()
        strace += standby.STRACE
    with Server(crash.build, settings=settings, template=crash.data, start_now=False) as server:
        traces = server.folder("traces")
        alone(server)
        if primary:
            server.write("standby.signal", "")
        with ThreadPoolExecutor(1) as pool:
            ready = Event()
            changing = pool.submit(change_concurrency, server, settings, concurrencies[1:], traces, ready)
            try:
                server.start(under=[*strace, "-o", traces / "trace"])
                until = standby.wait_until_paused(server) if primary else ""
            finally:
                ready.set()
            changing.result()
        ((buffers,),) = server.execute("SELECT setting::int FROM pg_settings WHERE name = 'shared_buffers'")
        (counters,) = server.execute(f"SELECT {', '.join(COUNTERS)} FROM pg_stat_recovery_prefetch")
        listing = into / "wal"
        if primary:
            listing.write_text(list_wal(primary.lists or server, crash.redo, server.data / "pg_wal", None))
        else:
            last = re.findall(r"redo done at ([0-9A-F/]+)", server.log_text())[-1]
            listing.write_text(list_wal(server, crash.redo, crash.data / "pg_wal", last))
        server.stop()
        wait_for(lambda: all("+++ exited" in file.read_text()[-200:] for file in traces.iterdir()), "strace to end")
        shutil.copytree(traces, into / "traces")
        streamed = (
            standby.standby_of(
                read_listing(listing), into / "traces", until, crash.data / "pg_wal", server.data / "pg_wal"
            )
            if primary
            else None
        )
    return Recorded(
        crash.build,
        tuple(concurrencies),
        int(buffers),
        listing,
        into / "traces",
        dict(zip(COUNTERS, counters, strict=True)),
        decode,
        streamed,
    )


def alone(server: Server) -> None:
    """The copy keeps nothing that acts outside it, or that stops it: no archive and no primary of its owner's, no rule
    who may connect, no slot (of which a walsender's may be in use elsewhere, and a logical one asks for a wal_level).
    """
    server.write("postgresql.auto.conf", "")  # it would come before the settings
    server.write("pg_hba.conf", "local all all trust\nlocal replication all trust\n")
    for name in ("standby.signal", "recovery.signal"):
        (server.data / name).unlink(missing_ok=True)
    for slot in (server.data / "pg_replslot").iterdir():
        shutil.rmtree(slot)


def change_concurrency(
    server: Server, settings: Mapping[str, str | int], values: Sequence[int], traces: Path, ready: Event
) -> None:
    """Set each value in turn, while the server recovers."""
    for number, value in enumerate(values, 1):
        while sum(len(CALL.findall(file.read_text())) for file in traces.iterdir()) < number * CHANGE_AFTER:
            if ready.wait(0.01):
                return
        server.configure({**settings, CONCURRENCY: value})
        os.kill(server.pid, signal.SIGHUP)


def list_wal(server: Server, start: str, pg_wal: Path, last: str | None) -> str:
    """WAL of a server, as pg_waldump prints it, with what each record initialises. last: the last record, if not all.

    The server's own pg_waldump, or Debian's, which knows the WAL of its own major. Without one the server itself lists
    it, by pg_walinspect: the same words, put together here as pg_waldump does.
    """
    programs = [build.bin / "pg_waldump" for build in (server.build, DEBIAN) if build.major == server.build.major]
    if waldump := next((program for program in programs if program.exists()), None):
        with one_timeline(pg_wal) as folder:
            command: list[str | Path] = [waldump, "-p", folder, "-s", start]
            listing = subprocess.run(command, capture_output=True, text=True).stdout
    else:
        server.execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
        rows = server.execute(
            "SELECT resource_manager, record_type, record_length, start_lsn::text, prev_lsn::text,"
            f" coalesce(description, ''), coalesce(', ' || block_ref, '') FROM pg_get_wal_records_info('{start}',"
            " pg_current_wal_flush_lsn()) ORDER BY start_lsn"
        )
        listing = "".join(
            f"rmgr: {manager:<11} len (rec/tot): {length:6}/{length:6}, tx: 0, lsn: {lsn}, prev {prev}, "
            f"desc: {kind} {description}{blocks}\n"
            for manager, kind, length, lsn, prev, description, blocks in rows
        )
    return marked("".join(line for line in listing.splitlines(True) if not last or _lsn(line) <= lsn_of(last)), pg_wal)


@contextmanager
def one_timeline(pg_wal: Path) -> Iterator[Path]:
    """A folder with links to the segments, each of the last timeline that has it, named as the first one's: pg_waldump
    does not go from one to the next, as a recovery does."""
    with tempfile.TemporaryDirectory(prefix="pgquern-") as name:
        folder = Path(name)
        for number, segment in Wal(pg_wal).names.items():
            (folder / f"00000001{number}").symlink_to((pg_wal / segment).resolve())
        yield folder


def _lsn(line: str) -> int:
    found = re.search(r"lsn: ([0-9A-F]+/[0-9A-F]+)", line)
    return lsn_of(found[1]) if found else 0

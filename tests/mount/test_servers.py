# SPDX-License-Identifier: PostgreSQL
"""Real servers on the mount, with full_page_writes = off: crashes lose nothing acknowledged, and tear no page."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.mount.mounted import CRASH, Mount
from tests.postgres.server import BUILDS, EMBEDDED, Build, Server, ServerError, wait_for
from tools.check_pages.relation import read
from tools.mount.__main__ import figures

pytestmark = [pytest.mark.servers, pytest.mark.plain]

CLIENTS = 4
CRASHES = int(os.environ.get("PGQUERN_CRASHES", "3"))
SETTINGS: dict[str, str | int] = {
    "full_page_writes": "off", "fsync": "on", "autovacuum": "on", "autovacuum_naptime": 1, "shared_buffers": "4MB",
}  # fmt: skip
INITDB = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums", "--no-sync")


class OnMount:
    """A cluster that initdb has made on the mount. Of odd majors it has a cache, less than the cluster takes."""

    def __init__(self, server: Server, protect: str) -> None:
        self.server = server
        cache = (4, server.base / "ssd", 16) if protect != "none" and server.build.major % 2 else ()
        self.mount = Mount(server.folder("below"), server.folder("mnt"), protect=protect, cache=cache)
        self.acknowledged = [0] * CLIENTS
        self.crashed = threading.Event()

    def begin(self) -> None:
        assert self.mount.start().returncode == 0
        self.server.data = self.mount.point
        self.server.tool("initdb", "-D", self.mount.point, *INITDB)
        self.mount.end()  # what initdb does not sync is written back in a few batches
        assert self.mount.start().returncode == 0
        self.server.configure(SETTINGS)
        self.server.start()
        self.server.execute("CREATE TABLE journal (client int, n int, PRIMARY KEY (client, n))")
        self.server.execute(
            "CREATE TABLE account AS SELECT g AS id, 0 AS n, repeat('x', 200) AS pad FROM generate_series(0, 20000) g"
        )
        self.server.execute("CREATE INDEX ON account (id); CREATE EXTENSION amcheck")
        self.server.execute("CREATE DATABASE other")

    # ---- what is done meanwhile ----

    def client(self, number: int) -> None:
        """A row of the journal and changes of the account, in one transaction after another."""
        chosen = random.Random(number)
        with suppress(psycopg.Error), self.server.connect() as connection:
            while not self.crashed.is_set():
                n = self.acknowledged[number] + 1
                rows = [number, *(chosen.randrange(CLIENTS, 20000) for _ in range(5))]
                with connection.transaction():
                    connection.execute("INSERT INTO journal VALUES (%s, %s)", (number, n))
                    connection.execute("UPDATE account SET n = n + 1 WHERE id = ANY (%s)", (rows,))
                self.acknowledged[number] = n

    def checkpoints(self) -> None:
        with suppress(psycopg.Error):
            while not self.crashed.is_set():
                self.server.execute("CHECKPOINT")

    def under_load(self, seconds: float | None, kill: str = "both") -> None:
        """For so long, then a kill of the server, and with "both" of the mount first. None: until the mount has
        crashed."""
        self.crashed.clear()
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        threads.append(threading.Thread(target=self.checkpoints))
        for thread in threads:
            thread.start()
        try:
            if seconds is None:
                wait_for(lambda: not self.is_there, "the crash")
            else:
                time.sleep(seconds)
                if kill == "both":
                    self.mount.end(signal.SIGKILL)
            if not self.is_there:
                self.mount.wait()
        finally:
            self.crashed.set()
            self.kill_server()
            for thread in threads:
                thread.join()

    @property
    def is_there(self) -> bool:
        """Whether the mount answers."""
        return os.path.exists(self.mount.point / ".pgquern-status")

    def lose_power(self, seed: int, call: int) -> None:
        """At this write or sync of the mount: of its start, of the server's recovery, or of what comes then."""
        self.mount.environment = {"LD_PRELOAD": str(CRASH), "CRASH_SEED": str(seed), "CRASH_AT": str(call)}
        started = self.mount.start().returncode == 0
        self.mount.environment = {}
        if started:
            try:
                self.server.start()
                self.under_load(None)
            except (ServerError, OSError):
                if self.is_there:
                    raise
        self.mount.wait()
        self.kill_server()

    def crash(self, chosen: random.Random) -> str:
        """Of a server that runs: how it was killed. Then the mount is there, and the server is not."""
        how = chosen.choice(["server", "both", "power", "power"])
        if how == "power":
            if chosen.random() < 0.5:
                self.kill_server()
            else:
                self.server.stop()
            self.mount.end()
            losses = [
                chosen.choice([chosen.randrange(1, 60), chosen.randrange(60, 900)])
                for _ in range(chosen.choice([1, 1, 2]))
            ]
            for call in losses:
                self.lose_power(chosen.randrange(1000), call)
            how = f"power at {losses}"
        else:
            self.under_load(chosen.uniform(0.1, 2), how)
        if not self.is_there:
            assert guarded(self.server, self.mount.data)
            assert self.mount.start().returncode == 0
        return how

    def kill_server(self) -> None:
        if not self.server.running:
            self.server.stop("immediate")
            return
        processes = [self.server.pid]
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = stat.read_text().rpartition(")")[2].split()
                processes += [int(stat.parent.name)] if int(fields[1]) == self.server.pid else []
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.server.stop("immediate")
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), "the server's processes")

    # ---- what must be true ----

    def rows(self) -> None:
        """All that was acknowledged; nothing half."""
        found = self.server.execute("SELECT client, count(*), max(n) FROM journal GROUP BY 1 ORDER BY 1")
        for client, count, last in found:
            assert count == last
            assert last - self.acknowledged[client] in (0, 1)
            assert self.server.execute(f"SELECT n FROM account WHERE id = {client}") == [(last,)]
            self.acknowledged[client] = last
        assert len(found) == sum(n > 0 for n in self.acknowledged)
        assert self.server.execute("SELECT count(*) FROM account") == [(20001,)]
        self.server.execute(
            "SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class c ON c.oid = indexrelid"
            " JOIN pg_am a ON a.oid = relam WHERE amname = 'btree' AND relpersistence = 'p'"
        )

    def wrong_pages(self) -> dict[str, list[int]]:
        """Of a server that is stopped."""
        files = [*self.server.data.glob("base/*/[0-9]*"), *self.server.data.glob("global/[0-9]*")]
        wrong = {str(path): read(path, None).wrong() for path in files if path.stat().st_size}
        assert len(wrong) > 300
        return {path: pages for path, pages in wrong.items() if pages}

    def checksums(self) -> None:
        assert self.wrong_pages() == {}
        if not self.server.build.embedded:
            self.server.tool("pg_checksums", "--check", "-D", self.server.data)


@pytest.fixture(params=BUILDS, ids=lambda build: f"pg{build.label}-server")
def build(request: pytest.FixtureRequest) -> Build:
    assert isinstance(request.param, Build)
    return request.param


@contextmanager
def cluster(build: Build, protect: str = "double-write") -> Iterator[OnMount]:
    with Server(build, initdb=["--data-checksums"], start_now=False) as server:
        on = OnMount(server, protect)
        try:
            on.begin()
            yield on
        finally:
            on.mount.__exit__()
            if server.running:
                on.kill_server()


def test_crashes_lose_nothing_and_tear_nothing(build: Build) -> None:
    """kill -9 of the server, of both, and losses of power, of which each seed has another sequence."""
    with cluster(build) as on:
        server, mount = on.server, on.mount
        on.under_load(1.5)
        assert mount.start().returncode == 0
        server.start()
        for seed in range(CRASHES):
            chosen = random.Random(seed)
            how = on.crash(chosen)
            print(f"seed {seed}: {how}", flush=True)
            server.start()
            on.rows()
            if chosen.random() < 0.5:
                server.stop()
                on.checksums()
                server.start()
        if not build.embedded:
            server.tool("pg_amcheck", "-h", server.base, "-U", "postgres", "--heapallindexed", "--all")
        server.stop()
        mount.end()
        server.data = mount.data
        on.checksums()
        server.start()
        on.rows()
        assert min(on.acknowledged) > 10


def test_the_server_s_processes_are_told(build: Build) -> None:
    """By titles that this major gives them, with a cluster_name."""
    with cluster(build) as on:
        on.server.stop()
        on.server.configure(SETTINGS | {"cluster_name": "main", "bgwriter_delay": 10, "log_autovacuum_min_duration": 0})
        on.server.start()

        def asked(kind: str, name: str) -> bool:
            on.server.execute("UPDATE account SET n = n + 1")
            on.server.execute("CHECKPOINT")
            return figures(on.mount.point).classes[name].done[kind].requests > 0

        for kind, name in (
            ("sync", "checkpointer"),
            ("write", "checkpointer"),
            ("read", "autovacuum"),
            ("read", "backend"),
            ("write", "writeback"),
        ):
            wait_for(partial(asked, kind, name), f"a {kind} of {name}")
        done = figures(on.mount.point).classes["checkpointer"].done
        assert done["read"].requests < done["write"].requests
        on.server.stop()
        on.mount.end()


def guarded(server: Server, data: Path) -> bool:
    """Whether a server refuses the data directory itself."""
    refused = subprocess.run(
        ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", server.home / "bin/postgres", "-D", data],
        capture_output=True, text=True,
    )  # fmt: skip
    return "is not a valid data directory" in refused.stderr and (data / "README.mounted-by-pgquern").exists()


def test_without_protection_a_server_finds_torn_pages() -> None:
    """The control: the same crashes, full_page_writes = off, and no double writes."""
    with cluster(EMBEDDED[18], "none") as on:
        for seed in range(10):
            on.server.stop()
            on.mount.end()
            on.mount.environment = {"LD_PRELOAD": str(CRASH), "CRASH_SEED": str(seed), "CRASH_AT": str(2000 + seed)}
            assert on.mount.start().returncode == 0
            on.mount.environment = {}
            on.server.start()
            on.under_load(None)
            assert on.mount.start().returncode == 0
            try:
                on.server.start()
                on.rows()
            except (ServerError, psycopg.Error, AssertionError, FileNotFoundError):  # the last: postmaster.pid has gone
                assert "page verification failed" in on.server.log_text(), on.server.log_tail()
                on.server.stop("immediate")
                assert on.wrong_pages()
                return
            on.server.stop()
            if on.wrong_pages():
                return
            on.server.start()
        pytest.fail("ten crashes, and no page is torn")


def test_the_guard() -> None:
    with cluster(EMBEDDED[18]) as on:
        server, mount = on.server, on.mount
        assert guarded(server, mount.data)
        second = Mount(mount.data, server.folder("second")).start()
        assert second.returncode == 2
        assert "is mounted already" in second.stderr
        os.kill(mount.daemon, signal.SIGTERM)
        wait_for(lambda: "stays mounted" in mount.figures()["said_last"], "the refusal")
        assert server.execute("SELECT count(*) FROM account") == [(20001,)]
        server.stop()
        mount.end()
        server.data = mount.data
        server.start()
        direct = mount.start()
        assert direct.returncode == 2
        assert "stop it first" in direct.stderr
        server.stop()
        assert mount.start().returncode == 0
        with (mount.point / "base/1/99999").open("wb", buffering=0) as file:
            file.write(bytes(8192))
            os.fsync(file.fileno())
        mount.end(signal.SIGKILL)
        (mount.data / "PG_VERSION.mounted-by-pgquern").rename(mount.data / "PG_VERSION")
        by_hand = mount.start()
        assert by_hand.returncode == 2
        assert "put back by hand" in by_hand.stderr

# SPDX-License-Identifier: PostgreSQL
"""A throw-away PostgreSQL server of a chosen build, run as an ordinary user on a Unix socket.

    with Server(EMBEDDED[18], settings={"wal_level": "logical"}) as server:
        server.execute("SELECT 1")

The cluster lives in a directory of its own under /tmp, not under TMPDIR: the path of a Unix socket is limited to 107
bytes. Root may not run a server, so under root the server's processes run as `nobody`. If that user cannot read the
checkout (a directory above it may have mode 0700), the binaries are first copied beside the cluster. When this process
dies, for any reason, the postmaster gets SIGQUIT, so no server is left behind.

initdb and start take about half a second each. Durability (fsync) and autovacuum are off, unless the settings turn them
on.
"""

from __future__ import annotations

import atexit
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psycopg

from tools.common.environment import first_line

TOP = Path(__file__).resolve().parents[2]
# Only a guard against a server that hangs: no verdict depends on the speed of the machine.
HANG_SECONDS = 1800
SERVER_USER = "nobody"

BASE_SETTINGS: Mapping[str, str | int] = {
    "listen_addresses": "",
    "autovacuum": "off",
    "dynamic_shared_memory_type": "mmap",  # in the cluster: an ordinary user cannot write to /dev/shm everywhere
    "fsync": "off",
    "max_connections": 100,
    "shared_buffers": "16MB",
    "log_min_messages": "warning",
    "lc_messages": "C",
    "logging_collector": "off",
    "authentication_timeout": "10min",  # these three end sessions that a busy machine is slow to answer
    "wal_sender_timeout": 0,
    "wal_receiver_timeout": 0,
}


class ServerError(RuntimeError):
    """A server that is missing, does not start, or stopped by itself; the text says what to do, or shows its log."""


@dataclass(frozen=True)
class Build:
    """One installed server: `label` names it in reports, `home` holds bin/, lib/ and share/."""

    label: str
    major: int
    home: Path
    embedded: bool = True

    @property
    def bin(self) -> Path:
        return self.home / "bin"

    def require(self) -> None:
        """Fail, by name, when it is not installed."""
        if not (self.bin / "postgres").exists():
            raise ServerError(
                f"PostgreSQL {self.label} is not in {self.home}: run `make setup`, which reports a download that fails"
            )

    def version(self) -> str:
        """What `postgres --version` prints, without the product's name."""
        self.require()
        said = subprocess.run([self.bin / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
        return said.strip().removeprefix("postgres (PostgreSQL) ")


EMBEDDED: Mapping[int, Build] = {
    major: Build(str(major), major, TOP / "build" / "postgres" / str(major)) for major in range(13, 19)
}


def packaged() -> Build:
    """The distribution's own server, as pg_config tells: 15 in Debian 12, 17 in Debian 13."""
    major = re.search(r"\d+", first_line("pg_config", "--version"))
    home = Path(first_line("pg_config", "--bindir") or "/usr/lib/postgresql/bin").parent
    return Build(
        f"{major.group()}-debian" if major else "debian", int(major.group()) if major else 0, home, embedded=False
    )


DEBIAN = packaged()
BUILDS: tuple[Build, ...] = (*EMBEDDED.values(), DEBIAN)


def extension(name: str, major: int) -> Path:
    """The library `name`.so built for a major."""
    path = TOP / "build" / "ext" / str(major) / f"{name}.so"
    if not path.exists():
        raise ServerError(f"{path} is not built: run `make pg-extensions`")
    return path


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds; it is tested ten times a second."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > HANG_SECONDS:
            raise ServerError(f"waited {HANG_SECONDS} s for {what}")
        time.sleep(0.1)


def as_server_user() -> list[str]:
    """The prefix of a command that must not run as root; empty for an ordinary user."""
    if os.getuid() != 0:
        return []
    user = pwd.getpwnam(SERVER_USER)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def _readable(path: Path) -> bool:
    return subprocess.run([*as_server_user(), "test", "-r", path, "-a", "-x", path]).returncode == 0


def _sockets(folder: str, names: list[str]) -> list[str]:
    """A server that was killed leaves its socket, which cannot be copied; a pipe would be waited for."""
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    return [name for name, mode in modes.items() if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)]


@dataclass
class Server:
    """A context manager; `settings` go into postgresql.conf, `environment` into the postmaster's own at each start.

    `template` is a stopped cluster's data directory to be copied instead of a fresh initdb; `initdb` are more arguments
    of initdb; `start_now=False` leaves the cluster stopped.
    """

    build: Build
    settings: Mapping[str, str | int] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    template: Path | None = None
    initdb: Sequence[str] = ()
    start_now: bool = True

    def __enter__(self) -> Self:
        self.build.require()
        self._postmaster: subprocess.Popen[bytes] | None = None
        self.base = Path(tempfile.mkdtemp(prefix="pgquern-", dir="/tmp"))
        atexit.register(self.close)
        try:
            self._own(self.base)
            self.home = self.build.home
            if not _readable(self.home / "bin" / "postgres"):
                self.home = self.base / "home"
                shutil.copytree(self.build.home, self.home, symlinks=True)
                self._own_tree(self.home)
            self.data = self.base / "data"
            self.log = self.base / "log"
            if self.template is None:
                self._run(
                    self.home / "bin" / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                    "--locale=C", "--no-sync", *self.initdb,
                )  # fmt: skip
            else:
                # What a link leads to is copied, too: else a write to the copy would change the template's own file.
                shutil.copytree(self.template, self.data, ignore=_sockets, ignore_dangling_symlinks=True)
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                self._own_tree(self.data)
                self.data.chmod(0o700)
            self.configure(self.settings)
            if self.start_now:
                self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- files ----

    def _own(self, path: Path) -> None:
        if os.getuid() == 0:
            user = pwd.getpwnam(SERVER_USER)
            os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)

    def _own_tree(self, top: Path) -> None:
        for directory, _, files in os.walk(top):
            self._own(Path(directory))
            for name in files:
                self._own(Path(directory) / name)

    def put(self, source: Path, name: str | None = None) -> Path:
        """Copy a file (a shared library, say) to where the server can read it; returns that path."""
        target = self.base / (name or source.name)
        # Write a new file and rename it: a process may have mapped the old one.
        fresh = target.with_name(f"{target.name}.fresh")
        shutil.copyfile(source, fresh)
        fresh.chmod(0o755)
        self._own(fresh)
        return fresh.rename(target)

    def write(self, name: str, text: str) -> None:
        """Write a file of the data directory."""
        (self.data / name).write_text(text)
        self._own(self.data / name)

    def configure(self, settings: Mapping[str, str | int]) -> None:
        """Write postgresql.conf anew: the base settings, overridden by these. Takes effect at the next start."""
        merged = {**BASE_SETTINGS, **settings, "unix_socket_directories": str(self.base)}
        quoted = {name: str(value).replace("'", "''") for name, value in merged.items()}
        self.write("postgresql.conf", "".join(f"{name} = '{value}'\n" for name, value in quoted.items()))

    def folder(self, name: str) -> Path:
        """A new folder that the server's processes can write to."""
        path = self.base / name
        path.mkdir()
        self._own(path)
        return path

    def _run(self, *command: str | Path) -> str:
        run = subprocess.run([*as_server_user(), *command], capture_output=True, text=True, cwd=self.base)
        if run.returncode:
            raise ServerError(f"{' '.join(map(str, command))} failed:\n{run.stdout}{run.stderr}")
        return run.stdout

    def tool(self, name: str, *arguments: str | Path) -> str:
        """Run one of the build's own programs as the server's user; returns what it prints."""
        return self._run(self.home / "bin" / name, *arguments)

    # ---- processes ----

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        if self._postmaster is None:
            raise ServerError(f"PostgreSQL {self.build.label} is not running")
        return self._postmaster.pid

    @property
    def running(self) -> bool:
        return self._postmaster is not None and self._postmaster.poll() is None

    def start(self, *, wait_seconds: float = HANG_SECONDS, under: Sequence[str | Path] = ()) -> float:
        """Start the postmaster; returns the seconds until it is ready (recovery included).

        `under` is a command that runs the postmaster, in its own process: strace -D, say.
        """
        began = time.monotonic()
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._postmaster = subprocess.Popen(
                [*(as_server_user() or ["setpriv"]), "--pdeathsig=SIGQUIT", *under,
                 self.home / "bin" / "postgres", "-D", self.data],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.base,
                env={**os.environ, **self.environment},
            )  # fmt: skip
        pidfile = self.data / "postmaster.pid"
        while True:
            if self._postmaster.poll() is not None:
                self._postmaster = None
                raise ServerError(f"PostgreSQL {self.build.label} did not start; its log ends:\n{self.log_tail()}")
            # The eighth line holds the postmaster's state: "ready", or "standby" when that takes no connections yet.
            # One that gives up removes it.
            lines = list[str]()
            with suppress(FileNotFoundError):
                lines = pidfile.read_text().splitlines()
            if len(lines) >= 8 and lines[7].strip() == "ready":
                return time.monotonic() - began
            if time.monotonic() - began > wait_seconds:
                raise ServerError(
                    f"PostgreSQL {self.build.label} not ready in {wait_seconds:.0f} s:\n{self.log_tail()}"
                )
            time.sleep(0.005)

    @contextmanager
    def background_writer_stopped(self) -> Iterator[None]:
        """It writes a running-xacts record every 15 s. While it is stopped, CHECKPOINT alone decides where they are."""
        query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'"
        wait_for(lambda: bool(self.execute(query)), "the background writer")
        ((pid,),) = self.execute(query)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `smart`, `fast`, or `immediate` (as a crash: the next start recovers)."""
        if self._postmaster is None:
            return
        self._postmaster.send_signal(
            {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode]
        )
        try:
            self._postmaster.wait(HANG_SECONDS)
        finally:
            if self._postmaster.poll() is None:
                self._postmaster.kill()
            self._postmaster = None

    def close(self) -> None:
        """Stop at once and remove everything. A second call does nothing."""
        atexit.unregister(self.close)
        if getattr(self, "_postmaster", None) is not None:
            self.stop("immediate")
        shutil.rmtree(self.base, ignore_errors=True)

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_tail(self, lines: int = 15) -> str:
        return "\n".join(self.log_text().splitlines()[-lines:])

    # ---- SQL ----

    def connect(
        self, *, dbname: str = "postgres", autocommit: bool = True, options: str = ""
    ) -> psycopg.Connection[Any]:
        """A new connection as the superuser; the caller closes it."""
        return psycopg.connect(
            host=str(self.base),
            user="postgres",
            dbname=dbname,
            autocommit=autocommit,
            options=options,
            connect_timeout=HANG_SECONDS,
        )

    def connect_replication(self) -> psycopg.Connection[Any]:
        """A new connection to a walsender. A walsender knows only the simple query protocol, so the connection uses
        only that."""
        return psycopg.connect(
            host=str(self.base), user="postgres", dbname="postgres", autocommit=True,
            connect_timeout=HANG_SECONDS, replication="database", cursor_factory=psycopg.ClientCursor,
        )  # fmt: skip

    def execute(self, query: str, *, dbname: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one query in a connection of its own; returns its rows (none for a command)."""
        with self.connect(dbname=dbname) as connection, connection.cursor() as cursor:
            cursor.execute(query.encode())
            return cursor.fetchall() if cursor.description else []

    def data_file(self, relation: str, *, dbname: str = "postgres") -> Path:
        """The first segment of a relation's main fork."""
        ((relative,),) = self.execute(f"SELECT pg_relation_filepath('{relation}')", dbname=dbname)
        return self.data / str(relative)

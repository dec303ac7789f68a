# SPDX-License-Identifier: PostgreSQL
"""A recovery of your own cluster: recorded on a copy of it, and judged.

Give the data directory of a server that was stopped at once (pg_ctl stop -m immediate), or of a
standby that was stopped, and the folder of its programs. The copy recovers under strace, with the concurrency and the
buffers that you say; that of a standby streams from its primary, up to where the primary is now, and waits there for a
record more. What was replayed is listed, and the verdict is that of trace-check. The copy is removed, the recordings
stay. Exits with 0 if the recovery conforms, with 1 if it does not, with 2 if nothing could be recorded, or judged.
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click
import psycopg

from tests.postgres.server import DEBIAN, Build, ServerError
from tools.common.answer import json_option, print_json
from tools.common.options import option
from tools.trace.check import concurrencies_of, default_concurrency, of_recovery
from tools.trace.follow import DECODE_BUFFER
from tools.trace.listing import ListingError, lsn_text
from tools.trace.picture import draw
from tools.trace.record import CHANGE_AFTER, Crashed, Recorded, record, why_no_strace
from tools.trace.standby import Primary, primary_of
from tools.trace.strace import StraceError

CONTROL = struct.Struct("<16xI12xQQ")
"""The first bytes of pg_control: state, checkPoint, checkPointCopy.redo (src/include/catalog/pg_control.h)."""
STATES = {
    1: "was shut down cleanly: there is nothing to recover; stop it with `pg_ctl stop -m immediate` instead",
}
STANDBYS = (2, 5)
"""DB_SHUTDOWNED_IN_RECOVERY, and DB_IN_ARCHIVE_RECOVERY of one that was stopped at once."""
LEAST = re.compile(r"^(max_\w+) setting: +(\d+)$", re.M)
"""What pg_controldata says of its settings: prepared transactions and hot_standby need no less."""
MANY_PREPARED = 1000
"""Where there is no pg_controldata to say how many."""
COPIES = Path("/tmp")
"""Where tests/postgres/server.py has its clusters."""
START = re.compile(r"^START WAL LOCATION: ([0-9A-F]+/[0-9A-F]+) ", re.M)
"""In backup_label."""


class ClusterError(Exception):
    """A cluster that cannot be recorded: one sentence, with what to do next."""


def build_of(programs: Path) -> Build:
    """The server whose programs lie in a folder. ClusterError: none do."""
    server = programs / "postgres"
    if not server.exists():
        raise ClusterError(f"There is no program {server}: say with {option('BIN')} where the server's programs are.")
    said = subprocess.run([server, "--version"], capture_output=True, text=True).stdout
    major = re.search(r"\d+", said)
    if major is None:
        raise ClusterError(f"{server} does not tell its version: {said.strip()!r}.")
    return Build(major.group(), int(major.group()), programs.parent, embedded=False)


def running(data: Path) -> int | None:
    """The process of the cluster's server, if there is one that has not ended.

    After a crash of the machine the number may be that of any other process. A server works in its data directory.
    """
    pidfile = data / "postmaster.pid"
    pid = pidfile.read_text().split()[:1] if pidfile.exists() else []
    process = Path("/proc", *pid)
    if not pid or not pid[0].isdecimal() or not (process / "stat").exists():
        return None
    with suppress(FileNotFoundError, PermissionError):  # a zombie works nowhere; of another user's one is not told
        if not (process / "cwd").samefile(data):
            return None
    if (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
        return None
    return int(pid[0])


def crashed(data: Path, build: Build) -> Crashed:
    """The cluster, and where its recovery starts. ClusterError: it runs, or it is none that a copy could recover."""
    version, control = data / "PG_VERSION", data / "global" / "pg_control"
    if not (version.exists() and control.exists()):
        raise ClusterError(f"{data} is no data directory: it lacks PG_VERSION or global/pg_control.")
    if version.read_text().strip() != str(build.major):
        raise ClusterError(
            f"{data} is of PostgreSQL {version.read_text().strip()}, and {build.bin} has {build.major}: say"
            f" {option('BIN')}."
        )
    if running(data):
        raise ClusterError(
            f"The server of {data} runs: stop it at once with `{build.bin}/pg_ctl stop -D {data} -m immediate`."
        )
    if list((data / "pg_tblspc").iterdir()) or (data / "tablespace_map").exists():
        raise ClusterError(f"{data} has tablespaces, which a copy would share with it: not recorded.")
    if control.stat().st_size < CONTROL.size:
        raise ClusterError(f"{control} is cut off: restore it.")
    state, _, redo = CONTROL.unpack_from(control.read_bytes())
    label = data / "backup_label"
    start = START.search(label.read_text(errors="replace")) if label.exists() else None
    if label.exists() and start is None:
        raise ClusterError(f"{label} does not say where the backup starts: restore it.")
    if state in STATES and not start and not is_standby(data):
        raise ClusterError(f"{data} {STATES[state]}.")
    if (data / "recovery.signal").exists() and not is_standby(data):
        raise ClusterError(
            f"{data} has recovery.signal: its WAL comes from an archive, which is not recorded. Let it recover to its"
            " end first, or make a standby of it."
        )
    return Crashed(build, data, start[1] if start else lsn_text(redo), least(data, build))


def least(data: Path, build: Build) -> dict[str, str | int]:
    """Settings that its recovery needs no less of."""
    program = build.bin / "pg_controldata"
    if not program.exists():
        return {"max_prepared_transactions": MANY_PREPARED}
    said = subprocess.run([program, data], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    return {name.replace("xact", "transaction"): value for name, value in LEAST.findall(said)}


def is_standby(data: Path) -> bool:
    """One that has been, or one that has not started yet, such as a backup of its primary."""
    state, *_ = CONTROL.unpack_from((data / "global" / "pg_control").read_bytes())
    return state in STANDBYS or (data / "standby.signal").exists()


def primary_for(crash: Crashed, conninfo: str | None) -> Primary:
    """The primary of a standby. ClusterError: nothing says where it is, or it cannot be reached."""
    waldump = crash.build.bin / "pg_waldump"
    if not waldump.exists():
        raise ClusterError(f"There is no program {waldump}, which lists what a standby has replayed: install it.")
    for name in ("postgresql.auto.conf", "postgresql.conf") if conninfo is None else ():
        file = crash.data / name
        lines = re.findall(
            r"^\s*primary_conninfo\s*=?\s*'((?:[^']|'')*)'", file.read_text() if file.exists() else "", re.M
        )
        conninfo = conninfo or (lines[-1].replace("''", "'") if lines else None)
    if not conninfo:
        raise ClusterError(f"{crash.data} does not say where its primary is: give {option('PRIMARY', 'connection')}.")
    try:
        return primary_of(conninfo)
    except psycopg.Error as error:
        raise ClusterError(f"The primary does not answer ({str(error).strip()}): give {option('PRIMARY')}.") from error


def must_have_room(data: Path) -> None:
    """ClusterError if the copy does not fit where servers of these tests live."""
    files = (Path(folder, name) for folder, _, names in os.walk(data, followlinks=True) for name in names)
    needed = sum(file.stat().st_size for file in files if file.is_file())
    if needed > (free := shutil.disk_usage(COPIES).free):
        raise ClusterError(
            f"The copy of {data} needs {needed >> 20} MB, and {COPIES} has {free >> 20} MB: make room there, or mount a"
            " larger file system."
        )


@contextmanager
def removing() -> Iterator[None]:
    """Whatever ends the program removes the copy first, and is no verdict: not 1, as click would end by Ctrl-C."""

    def end(number: int, _: object) -> None:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # the same again would interrupt the removal
        click.echo(f"trace-record: stopped by {signal.Signals(number).name}; the copy is removed", err=True)
        sys.exit(128 + number)

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    before = {each: handler for each, handler in before.items() if handler is not signal.SIG_IGN}  # nohup, say
    for each in before:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def judge(run: Recorded) -> tuple[int, dict[str, Any]]:
    """The exit code, and what a script reads; people read what it `says`."""
    followed, trace = run.followed(), run.calls()
    found = of_recovery(followed, trace, run.concurrencies, run.decode >> 10) | {"shows": run.counters}
    if not followed.mismatch and followed.counters != run.counters:
        found["says"] += f"\nbut it shows {', '.join(f'{name} {count}' for name, count in run.counters.items())}"
        found["verdict"] = "not decided" if followed.undecided else "does not conform"
        if followed.undecided:
            found["says"] += (
                "\nnot decided: the recordings leave more open than was tried, and with it what was counted."
            )
    return {"conforms": 0, "does not conform": 1, "not decided": 2}[found["verdict"]], found


@click.command(help=__doc__)
@click.option("--data", required=True, type=click.Path(path_type=Path), help="The data directory.")
@click.option("--bin", "programs", default=DEBIAN.bin, type=click.Path(path_type=Path), help="Of the server.")
@click.option(
    "--concurrency",
    "concurrencies",
    callback=concurrencies_of,
    help=f"maintenance_io_concurrency; with commas, each next one is set after {CHANGE_AFTER} advises and reads.",
)
@click.option(
    "--buffers", default=16384, show_default=True, type=click.IntRange(16), help="shared_buffers, in pages of 8 KiB."
)
@click.option("--decode", default=DECODE_BUFFER >> 10, show_default=True, type=click.IntRange(64), help="In kB.")
@click.option("--primary", help="Of a standby: how to reach its primary, in libpq's words, if not as it says itself.")
@click.option("--into", required=True, type=click.Path(path_type=Path), help="Where the recordings stay.")
@json_option()
def main(
    data: Path,
    programs: Path,
    concurrencies: tuple[int, ...] | None,
    buffers: int,
    decode: int,
    primary: str | None,
    into: Path,
    as_json: bool,
) -> None:
    try:
        if reason := why_no_strace():
            raise ClusterError(f"Nothing can be recorded: {reason}.")
        build = build_of(programs)
        usual = default_concurrency(build.major)  # also if another is asked for: it refuses 13 and 14
        limits = concurrencies or (usual,)
        crash = crashed(data, build)
        must_have_room(data)
        shutil.rmtree(into, ignore_errors=True)
        into.parent.mkdir(parents=True, exist_ok=True)
        source = primary_for(crash, primary) if is_standby(data) else None
        up_to = f" up to {source.until} and a record more (a primary that is quiet must commit one)" if source else ""
        click.echo(f"a copy of {data} recovers from {crash.redo} on{up_to}, under strace", err=as_json)
        with removing():
            run = record(crash, limits, into, f"{8 * buffers}kB", decode << 10, source)
            code, found = judge(run)
            if not as_json:
                click.echo(found["says"])
            drawing = draw(run.calls().calls, max(limits), found["wrong_event"], into / "timeline.png")
    except (ClusterError, ServerError, StraceError, ListingError, ValueError, psycopg.Error, OSError) as error:
        click.echo(f"trace-record: {error}", err=True)
        sys.exit(2)
    names = ("traces", "wal", *(["timeline.png"] if drawing else []))
    recordings = {name: os.fspath(into / name) for name in names}
    if as_json:
        print_json({**found, "data": str(data), "redo": crash.redo, "recordings": recordings})
    else:
        click.echo(f"recordings: {', '.join(recordings.values())}")
    sys.exit(code)


if __name__ == "__main__":
    main()

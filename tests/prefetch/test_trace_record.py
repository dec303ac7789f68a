# SPDX-License-Identifier: PostgreSQL
"""`pgquern trace-record`: a crashed cluster is recorded on a copy; what cannot be is told in a sentence."""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.postgres.server import DEBIAN, EMBEDDED, Server, wait_for
from tools.trace.cluster import is_standby, judge, main
from tools.trace.follow import Followed
from tools.trace.record import CALL, SETTINGS, Crashed, Recorded, crashed, why_no_strace
from tools.trace.strace import Trace

pytestmark = pytest.mark.servers
TRIES = 10
"""Of a change during a recovery, which may end before it, on a machine that is busy."""
BUILDS = {build.label: build for build in (DEBIAN, EMBEDDED[18])}


# What does not ask the server is the same for all.
of_18 = pytest.mark.parametrize("crash", ["18"], indirect=True)


@pytest.fixture(scope="module", params=BUILDS)
def crash(request: pytest.FixtureRequest) -> Iterator[Crashed]:
    if reason := why_no_strace():
        pytest.skip(reason)
    with crashed(BUILDS[request.param], updates=8, rows=1000) as found:
        yield found


def run(crash: Crashed, into: Path, *words: str) -> tuple[int, str]:
    said = CliRunner().invoke(
        main, ["--data", str(crash.data), "--bin", str(crash.build.bin), "--into", str(into), *words]
    )
    return said.exit_code, said.output


def test_a_crashed_cluster_is_recorded_and_conforms(crash: Crashed, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in crash.data.rglob("*")}
    code, said = run(crash, tmp_path / "recorded", "--concurrency", "3")
    assert code == 0, said
    assert f"recovers from {crash.redo} on" in said
    assert "conforms: " in said
    assert "of 3 advises were in flight" in said
    assert (tmp_path / "recorded" / "timeline.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "recorded" / "wal").read_text().startswith("rmgr: ")
    assert before == {path: path.stat().st_mtime_ns for path in crash.data.rglob("*")}


def test_a_script_gets_the_verdict(crash: Crashed, tmp_path: Path) -> None:
    into = tmp_path / "recorded"
    words = ["--data", str(crash.data), "--bin", str(crash.build.bin), "--into", str(into), "--json"]
    said = CliRunner().invoke(main, words)
    found = json.loads(said.stdout)
    assert (said.exit_code, found["verdict"], found["mismatch"]) == (0, "conforms", "")
    assert f"recovers from {crash.redo} on" in said.stderr
    assert found["counters"] == found["shows"] != {}
    assert found["advises"] + found["reads"] == found["explained"] > 0
    assert sorted(found["recordings"].values()) == sorted(map(str, into.iterdir()))
    refused = CliRunner().invoke(main, ["--data", str(into), *words[2:]])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "is no data directory" in refused.stderr


@of_18
def test_a_copy_that_does_not_fit_is_not_begun(crash: Crashed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 << 20, 1 << 20, 1 << 20))
    code, said = run(crash, tmp_path / "recorded")
    assert code == 2
    assert "and /tmp has 1 MB: make room there" in said


@pytest.mark.parametrize("buffers", ["0", "15", "-1"])
def test_no_server_has_so_few_buffers(buffers: str, tmp_path: Path) -> None:
    words = ["--data", str(tmp_path), "--into", str(tmp_path), "--buffers", buffers]
    said = CliRunner().invoke(main, words)
    assert said.exit_code == 2
    assert "x>=16" in said.output


def test_a_concurrency_that_changes_is_followed(crash: Crashed, tmp_path: Path) -> None:
    for number in range(TRIES):
        code, said = run(crash, tmp_path / f"recorded {number}", "--concurrency", "3,1")
        assert code == 0, said
        if "never came." not in said:
            break
    assert "of 3 advises were in flight. It was set to 1 after event " in said
    code, said = run(crash, tmp_path / "never", "--concurrency", "3,1,2,1,2,1,2")
    assert code == 0 or (code == 2 and "not decided: the recordings leave more open" in said), said
    assert "conforms: " in said
    assert "never came." in said


COUNTED = {"prefetch": 58, "hit": 67}


@pytest.mark.parametrize(
    ("counters", "mismatch", "undecided", "code"),
    [
        (COUNTED, "", False, 0),
        (COUNTED | {"hit": 63}, "", False, 1),
        (COUNTED | {"hit": 63}, "", True, 2),
        (COUNTED, "An event is missing.", False, 1),
        (COUNTED, "An event is missing.", True, 2),
    ],
)
def test_what_is_counted_decides_where_the_trace_leaves_nothing_open(
    counters: dict[str, int], mismatch: str, undecided: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two records without an event the concurrency may be set at several places, each with other counts."""
    followed = Followed(counters=counters, mismatch=mismatch, undecided=undecided, changes=[(0, 1)])
    monkeypatch.setattr(Recorded, "followed", lambda _: followed)
    monkeypatch.setattr(Recorded, "calls", lambda _: Trace(tmp_path))
    run = Recorded(DEBIAN, (3, 1), 100, tmp_path, tmp_path, COUNTED, 512 << 10)
    found, document = judge(run)
    assert (found, document["verdict"]) == (code, ["conforms", "does not conform", "not decided"][code])
    assert (document["counters"], document["shows"], document["mismatch"]) == (counters, COUNTED, mismatch)
    assert ("but it shows prefetch 58, hit 67" in document["says"]) == (counters != COUNTED)


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "3;4", "99999"])
def test_what_is_no_concurrency_is_told(tmp_path: Path, text: str) -> None:
    said = CliRunner().invoke(main, ["--data", "/no", "--into", str(tmp_path / "into"), "--concurrency", text])
    assert said.exit_code == 2
    assert "is no maintenance_io_concurrency" in said.output


def test_a_server_that_runs_is_left_alone(tmp_path: Path) -> None:
    with Server(EMBEDDED[18]) as server:
        code, said = run(Crashed(EMBEDDED[18], server.data, ""), tmp_path / "recorded")
        assert (code, "runs: stop it at once with `" in said, server.running) == (2, True, True)


@of_18
def test_another_process_of_its_number_is_no_server(crash: Crashed, tmp_path: Path) -> None:
    """After a crash of the machine the number in postmaster.pid may be anybody's."""
    data = tmp_path / "data"
    shutil.copytree(crash.data, data)
    with subprocess.Popen(["sleep", "infinity"], cwd="/") as other:
        (data / "postmaster.pid").write_text(f"{other.pid}\n")
        code, said = run(Crashed(crash.build, data, crash.redo), tmp_path / "recorded")
        other.kill()
    assert code == 0, said


def with_state(state: int) -> Callable[[Path], None]:
    def change(data: Path) -> None:
        control = data / "global" / "pg_control"
        read = bytearray(control.read_bytes())
        struct.pack_into("<I", read, 16, state)
        control.write_bytes(read)

    return change


@of_18
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: (data / "PG_VERSION").unlink(), "is no data directory"),
        (lambda data: (data / "PG_VERSION").write_text("9.6\n"), "is of PostgreSQL 9.6, and "),
        (lambda data: (data / "pg_tblspc" / "1").symlink_to("/tmp"), "has tablespaces"),
        (lambda data: (data / "tablespace_map").write_text("1 /tmp\n"), "has tablespaces"),
        (lambda data: (data / "backup_label").write_text("\n"), "does not say where the backup starts"),
        (lambda data: (data / "recovery.signal").write_text(""), "its WAL comes from an archive"),
        (lambda data: (data / "global" / "pg_control").write_bytes(b""), "is cut off"),
        (with_state(1), "was shut down cleanly: there is nothing to recover"),
    ],
)
def test_what_cannot_be_recorded_is_told(
    crash: Crashed, tmp_path: Path, change: Callable[[Path], object], says: str
) -> None:
    data = tmp_path / "data"
    shutil.copytree(crash.data, data, symlinks=True, ignore=shutil.ignore_patterns("base", "pg_wal"))
    (data / "postmaster.pid").write_text("")
    change(data)
    code, said = run(Crashed(crash.build, data, crash.redo), tmp_path / "recorded")
    assert code == 2
    assert says in said
    assert "Traceback" not in said


def test_the_copy_shares_nothing_with_the_cluster(crash: Crashed, tmp_path: Path) -> None:
    """Links out of the data directory, a socket that a killed server left, and settings that act outside: an archive,
    a primary and its slot, a port, who may connect."""
    data, outside = tmp_path / "data", tmp_path / "outside"
    shutil.copytree(crash.data, data)
    outside.mkdir()
    (data / "pg_wal").rename(outside / "wal")
    (data / "pg_wal").symlink_to(outside / "wal")
    (data / "postgresql.conf").rename(outside / "postgresql.conf")
    (data / "postgresql.conf").symlink_to(outside / "postgresql.conf")
    (data / "gone").symlink_to(outside / "nothing")
    (data / "pg_hba.conf").unlink()
    (data / "postgresql.auto.conf").write_text(
        f"port = 5999\narchive_mode = always\narchive_command = 'cp %p {outside}/'\nmax_connections = 1\n"
    )
    with socket.socket(socket.AF_UNIX) as left, pytest.MonkeyPatch.context() as patch:
        patch.chdir(data)  # the path of a socket must be short
        left.bind(".s.PGSQL.5432")
    slot = data / "pg_replslot" / "theirs"
    slot.mkdir()
    (slot / "state").write_bytes(b"of no version")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for folder in (tmp_path, *tmp_path.rglob("*/")):
        folder.chmod(0o777)
    code, said = run(Crashed(crash.build, data, crash.redo), tmp_path.with_name(f"{tmp_path.name}-recorded"))
    assert code == 0, said
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.parametrize("label", BUILDS)
@pytest.mark.whole
def test_a_second_timeline_is_listed(label: str, tmp_path: Path) -> None:
    """A standby was promoted, and crashed before its first checkpoint: replay begins on the timeline before."""
    if reason := why_no_strace():
        pytest.skip(reason)
    with crashed(BUILDS[label], updates=8, rows=1000) as crash, Server(
        crash.build, settings={**SETTINGS, "hot_standby": "on"}, template=crash.data, start_now=False
    ) as server:  # fmt: skip
        server.write("standby.signal", "")
        server.start()
        server.execute("SELECT pg_promote(true)")
        server.execute("INSERT INTO t SELECT i, 0 FROM generate_series(100000, 100200) i")
        server.execute("UPDATE t SET v = 7 WHERE k % 50 = 3")
        server.stop("immediate")
        assert {path.name[:8] for path in (server.data / "pg_wal").glob("0" * 7 + "*")} >= {"00000001", "00000002"}
        code, said = run(Crashed(crash.build, server.data, ""), tmp_path / "recorded")
        assert code == 0, said
        assert server.data.exists()


@of_18
def test_what_has_yet_to_become_a_standby_is_one(crash: Crashed, tmp_path: Path) -> None:
    """A backup of its primary: a crash recovery of it would be another."""
    data = tmp_path / "data"
    shutil.copytree(crash.data, data, ignore=shutil.ignore_patterns("base", "pg_wal"))
    assert not is_standby(data)
    (data / "standby.signal").write_text("")
    assert is_standby(data)


@pytest.mark.parametrize("label", BUILDS)
@pytest.mark.whole
def test_a_backup_recovers_from_where_it_began(label: str, tmp_path: Path) -> None:
    """Which a checkpoint during the backup does not change, but pg_control has that one. Its WAL has a prepared
    transaction, which a server that allows none does not replay."""
    if reason := why_no_strace():
        pytest.skip(reason)
    settings: dict[str, str | int] = {"wal_level": "replica", "max_wal_senders": 2, "max_prepared_transactions": 2}
    data = tmp_path / "data"
    with Server(BUILDS[label], settings=settings) as server:
        server.execute("CREATE TABLE t AS SELECT generate_series(1, 10000) k")
        with server.connect() as session:
            session.execute("SELECT pg_backup_start('b', true)")
            session.execute("UPDATE t SET k = k + 1 WHERE k % 500 = 0")
            for statement in ("BEGIN", "DELETE FROM t WHERE k = 1", "PREPARE TRANSACTION 'p'", "CHECKPOINT"):
                session.execute(statement.encode())
            shutil.copytree(server.data, data, ignore=shutil.ignore_patterns("postmaster.*"))
            stopped = session.execute("SELECT labelfile FROM pg_backup_stop()").fetchone()
            assert stopped is not None
        server.stop("immediate")
        shutil.copytree(server.data / "pg_wal", data / "pg_wal", dirs_exist_ok=True)
    (data / "backup_label").write_text(stopped[0])
    code, said = run(Crashed(BUILDS[label], data, ""), tmp_path / "recorded")
    assert code == 0, said
    assert f"recovers from {stopped[0].split()[3]} on" in said


@of_18
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_stops_it_finds_nothing_left(crash: Crashed, tmp_path: Path, number: signal.Signals) -> None:
    """The whole group, as Ctrl-C does."""
    data = tmp_path / "data"
    shutil.copytree(crash.data, data)
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "tools.trace.cluster",
        "--data",
        data,
        "--bin",
        crash.build.bin,
    ]
    with subprocess.Popen(
        [*command, "--into", tmp_path / "into", "--concurrency", "3,1"],
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell lets its background jobs ignore SIGINT, nohup lets a job ignore SIGHUP, and what they start, too.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert "recovers from" in process.stdout.readline()
        wait_for(lambda: bool(folders_of(process.pid)), "the copy")
        (folder,) = folders_of(process.pid)
        os.killpg(process.pid, number)
        _, said = process.communicate()
    assert (process.returncode, said) == (
        128 + number,
        f"trace-record: stopped by {number.name}; the copy is removed\n",
    )
    assert not folder.exists()


def folders_of(pid: int) -> set[Path]:
    """Where the servers of a process lie, once they have started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    words = [Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0") for child in children]
    return {Path(word.decode()).parent for each in words if b"-D" in each for word in each if word.endswith(b"/data")}


@pytest.mark.parametrize("words", [(), ("--concurrency", "10")])
def test_a_server_without_prefetching_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    if reason := why_no_strace():
        pytest.skip(reason)
    said = run(Crashed(EMBEDDED[14], tmp_path, ""), tmp_path / "into", *words)
    assert said == (2, "trace-record: PostgreSQL 14 has no recovery prefetching; 15 is the first that has it\n")


@pytest.mark.parametrize("stamp", ["", "1000000000.123456 "])
def test_advises_and_reads_are_counted_until_a_change(stamp: str) -> None:
    """A standby's have times."""
    lines = ("fadvise64(5</base/1/2>, 0, 8192, 3) = 0", "pread64(5</base/1/2>, , 8192, 0) = 8192", "lseek(5) = 8192")
    assert len(CALL.findall("".join(f"{stamp}{line}\n" for line in lines))) == 2


def test_without_programs_nothing_is_recorded(tmp_path: Path) -> None:
    said = CliRunner().invoke(main, ["--data", "/no", "--bin", str(tmp_path), "--into", str(tmp_path / "into")])
    assert said.exit_code == 2
    assert "say with --bin where the server's programs are" in said.output


def test_a_cluster_that_was_shut_down_is_told_so(tmp_path: Path) -> None:
    """By what a real server leaves in pg_control."""
    with Server(EMBEDDED[18]) as server:
        server.stop()
        code, said = run(Crashed(EMBEDDED[18], server.data, "0/0"), tmp_path / "recorded")
    assert code == 2
    assert "was shut down cleanly" in said

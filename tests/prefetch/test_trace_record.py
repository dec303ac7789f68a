# SPDX-License-Identifier: PostgreSQL
"""`pgquern trace-record`: a crashed cluster is recorded on a copy; what cannot be is told in a sentence."""

import json
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.postgres.server import DEBIAN, EMBEDDED, Server
from tools.trace.cluster import main
from tools.trace.record import Crashed, crashed, why_no_strace

pytestmark = pytest.mark.servers
TRIES = 10
"""Of a change during a recovery, which may end before it, on a machine that is busy."""
BUILDS = {build.label: build for build in (DEBIAN, EMBEDDED[18])}


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


@pytest.mark.parametrize("text", ["", "x", "1,", "-1", "3;4", "99999"])
def test_what_is_no_concurrency_is_told(tmp_path: Path, text: str) -> None:
    said = CliRunner().invoke(main, ["--data", "/no", "--into", str(tmp_path / "into"), "--concurrency", text])
    assert said.exit_code == 2
    assert "is no maintenance_io_concurrency" in said.output


@pytest.mark.whole
def test_a_server_that_runs_is_stopped_if_asked(tmp_path: Path) -> None:
    if reason := why_no_strace():
        pytest.skip(reason)
    with Server(EMBEDDED[18]) as server:
        server.execute("CREATE TABLE t AS SELECT generate_series(1, 1000)")
        crash = Crashed(EMBEDDED[18], server.data, "")
        code, said = run(crash, tmp_path / "recorded")
        assert code == 2
        assert "runs: stop it at once with `" in said
        assert server.running
        code, said = run(crash, tmp_path / "recorded", "--stop")
        assert code == 0, said
        assert "it stays stopped" in said
        assert not server.running
        code, said = run(crash, tmp_path / "again", "--stop")
        assert code == 0, said
        assert "stopping" not in said


@pytest.mark.parametrize("words", [(), ("--stop",)])
def test_another_process_of_its_number_is_no_server(crash: Crashed, tmp_path: Path, words: tuple[str, ...]) -> None:
    """It is not stopped: after a crash of the machine the number in postmaster.pid may be anybody's."""
    data = tmp_path / "data"
    shutil.copytree(crash.data, data)
    with subprocess.Popen(["sleep", "infinity"], cwd="/") as other:
        (data / "postmaster.pid").write_text(f"{other.pid}\n")
        code, said = run(Crashed(crash.build, data, crash.redo), tmp_path / "recorded", *words)
        assert other.poll() is None
        other.kill()
    assert code == 0, said
    assert "stopping" not in said


def with_state(state: int) -> Callable[[Path], None]:
    def change(data: Path) -> None:
        control = data / "global" / "pg_control"
        read = bytearray(control.read_bytes())
        struct.pack_into("<I", read, 16, state)
        control.write_bytes(read)

    return change


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
    shutil.copytree(crash.data, data, symlinks=True)
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


@pytest.mark.parametrize("words", [(), ("--concurrency", "10")])
def test_a_server_without_prefetching_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    if reason := why_no_strace():
        pytest.skip(reason)
    said = run(Crashed(EMBEDDED[14], tmp_path, ""), tmp_path / "into", *words)
    assert said == (2, "trace-record: PostgreSQL 14 has no recovery prefetching; 15 is the first that has it\n")


def test_without_programs_nothing_is_recorded(tmp_path: Path) -> None:
    said = CliRunner().invoke(main, ["--data", "/no", "--bin", str(tmp_path), "--into", str(tmp_path / "into")])
    assert said.exit_code == 2
    assert "say with --bin where the server's programs are" in said.output

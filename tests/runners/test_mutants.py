# SPDX-License-Identifier: PostgreSQL
"""The lists of mutants fit the sources and the tests: a mutant whose line or test no longer exists would test
nothing."""

import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import click
import pytest

from tests.runners import drivers, nodes, tsan, world_mutants
from tests.runners import mutants as runner
from tools.common import mutants, watched
from tools.common.matrix import with_cell
from tools.common.mutants import Mutant

TOP = Path(__file__).resolve().parents[2]
# Where the files of each sort of list lie.
LISTS = dict.fromkeys(TOP.glob("tests/*/mutants.toml"), TOP / "csrc")
LISTS |= dict.fromkeys(TOP.glob("tests/*/cross.toml"), TOP / "csrc")
LISTS |= dict.fromkeys(TOP.glob("tests/*/tsan.toml"), TOP)
LISTS |= dict.fromkeys(TOP.glob("tests/*/drivers.toml"), TOP / "proofs/oracle")


def collect(nodes: list[str]) -> subprocess.CompletedProcess[str]:
    """Makes pytest collect tests without running them."""
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", *nodes]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("PGQUERN_RESULT", None)
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize("path", LISTS, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_every_mutant_changes_a_line_that_is_there_once(path: Path) -> None:
    listed = mutants.load(path, Mutant)
    assert listed
    for mutant in listed:
        assert mutant.source(LISTS[path]) != (LISTS[path] / mutant.file).read_text()


@pytest.mark.parametrize("stem", with_cell("tests/{stem}/world.toml"))
def test_every_mutant_of_a_stem_with_a_world_has_its_seed_or_a_reason(stem: str) -> None:
    world_mutants.Listed.load(stem)


def test_a_mutant_without_seed_and_reason_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("tests/some")
    folder.mkdir(parents=True)
    (folder / "mutants.toml").write_text(
        '[[mutant]]\nname = "forgotten"\nfile = "a.c"\nold = "1"\nnew = "2"\nkilled_by = "test_a.py::test_a"\n'
    )
    (folder / "world.toml").write_text("[finds]\n")
    with pytest.raises(click.ClickException, match=r"in neither table; .*: forgotten$"):
        world_mutants.Listed.load("some")


def test_every_mutant_names_a_test_that_exists() -> None:
    nodes = {m.killed_by for path in LISTS if path.stem == "mutants" for m in mutants.load(path, Mutant)}
    found = collect(sorted(nodes))
    assert found.returncode == 0, found.stdout


def test_a_test_that_does_not_exist_is_named() -> None:
    found = collect([f"{Path(__file__).relative_to(TOP)}::test_that_is_not_there"])
    assert found.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_that_is_not_there" in found.stdout + found.stderr


@pytest.mark.tools
@pytest.mark.parametrize(
    ("body", "patience", "killed"),
    [
        ("threading.Event().wait()", 60.0, nodes.ASLEEP),
        ("while not __import__('time').sleep(0.2): pass", 3.0, nodes.ASLEEP),
        ("__import__('subprocess').run('i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done', shell=True)", 60.0, ""),
        ("pass", watched.PATIENCE, ""),
        ("assert 0", watched.PATIENCE, nodes.FAILED),
    ],
    ids=["waits for ever", "wakes for ever", "waits for a child", "passes", "fails"],
)
def test_a_run_that_waits_for_ever_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, patience: float, killed: str
) -> None:
    monkeypatch.setattr(watched, "STILL", min(patience, 2.0))
    file = tmp_path / "test_run.py"
    file.write_text(f"import threading\n\ndef test_run():\n    {body}\n")
    ended = nodes.run(f"{file}::test_run", tmp_path, tmp_path / "log", cpu_limit=60, patience=patience)
    assert ended.killed == killed, ended.output


@pytest.mark.parametrize(
    ("dies_at", "verdict", "tries"), [(1, "killed", 1), (3, "killed", 3), (4, "survived", runner.TRIES)]
)
def test_a_mutant_that_survives_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, dies_at: int, verdict: str, tries: int
) -> None:
    runs: list[int] = []

    def run(*_: object) -> nodes.Ended:
        runs.append(0)
        return nodes.Ended(int(len(runs) == dies_at), {"one": "passed"}, "", 0.1, {}, "")

    monkeypatch.setattr(nodes, "run", run)
    monkeypatch.setattr(runner, "build", lambda *_: None)
    control = nodes.Ended(0, {"one": "passed"}, "", 0.1, {}, "")
    mutant = Mutant(name="racy", file="a.c", old="1", new="2", killed_by="a test")
    item = runner.judge(runner.Compiler([], {}), {"a test": control}, "some", mutant)
    assert (item["verdict"], item["tries"]) == (verdict, tries)


TWO_TESTS = """
def test_first():
    pass

def test_second():
    while {endless}:
        pass
"""


@pytest.mark.tools
def test_a_run_orders_and_limits_its_tests_and_leaves_some_out(tmp_path: Path) -> None:
    file = tmp_path / "test_run.py"
    file.write_text(TWO_TESTS.format(endless=False))
    first, second = nodes.run(str(file), tmp_path, tmp_path / "log", cpu_limit=60).outcomes
    ordered = nodes.run(str(file), tmp_path, tmp_path / "log", cpu_limit=60, limits={second: 20})
    assert list(ordered.seconds) == [second, first]
    without = nodes.run(str(file), tmp_path, tmp_path / "log", cpu_limit=60, without=[first])
    assert list(without.outcomes) == [second]
    file.write_text(TWO_TESTS.format(endless=True))
    endless = nodes.run(str(file), tmp_path, tmp_path / "log", cpu_limit=60, limits={second: 1})
    assert endless.killed == "no end"


@pytest.mark.tools
def test_tests_that_are_never_imported_are_ended(tmp_path: Path) -> None:
    file = tmp_path / "test_run.py"
    file.write_text("while True:\n    pass\n")
    endless = nodes.run(str(file), tmp_path, tmp_path / "log", cpu_limit=600, limits={"none": 1})
    assert endless.killed == "no end"


@pytest.mark.tools
def test_threads_in_an_endless_loop_are_ended_by_their_cpu_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the clock: a program that sleeps for longer ends by itself. One that sleeps for ever is ended, too."""
    build = tsan.Build("endless", 1, tmp_path, [], False)
    for name, body in (
        ("endless", "while :; do :; done"),
        ("asleep", "sleep 2; exit 7"),
        ("for_ever", "echo says; sleep 100000"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    assert build.run(tmp_path / "endless", cpu=1) == (-signal.SIGXCPU, False, "")
    assert build.run(tmp_path / "asleep", cpu=1) == (7, False, "")
    monkeypatch.setattr(watched, "STILL", 2.0)
    assert build.run(tmp_path / "for_ever", cpu=1) == (-signal.SIGKILL, True, "says\n")


WAITS = """#!{python}
import threading, time
for _ in range({waiting}):
    threading.Thread(target=threading.Event().wait).start()
while True:
    time.sleep(0.1)
"""


@pytest.mark.tools
def test_a_sanitizer_s_own_alarm_is_no_thread_that_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread that wakes by the clock and wakes no other. Without a sanitizer it is the program's own."""
    monkeypatch.setattr(watched, "STILL", 1.0)
    monkeypatch.setattr(watched, "PATIENCE", 600.0)
    (tmp_path / "waits").write_text(WAITS.format(python=sys.executable, waiting=2))
    (tmp_path / "waits").chmod(0o755)
    sanitized = tsan.Build("waits", 1, tmp_path, [], True)
    assert sanitized.run(tmp_path / "waits") == (-signal.SIGKILL, True, "")
    receiver, sender = os.pipe()
    with subprocess.Popen([tmp_path / "waits"]) as own, Connection(receiver, writable=False) as report:
        threading.Timer(4, os.close, [sender]).start()
        assert not watched.asleep_for_ever(own.pid, report, 600.0)
        own.kill()


@pytest.mark.parametrize(
    ("code", "slept", "output", "found"),
    [
        (66, False, "WARNING: ThreadSanitizer: data race (pid=7)\n", "data race"),
        (
            66,
            False,
            "WARNING: ThreadSanitizer: unlock of an unlocked mutex (or by a wrong thread) (pid=7)\n",
            "unlock of an",
        ),
        (66, False, "==7==ERROR: ThreadSanitizer: SEGV on unknown address\n", "SEGV"),
        (1, False, "wrong answer: 3 for 4\n", "wrong answer"),
        (-signal.SIGXCPU, False, "", "no end"),
        (-signal.SIGSEGV, False, "", "killed by signal 11"),
        (66, False, "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2\n", ""),
        (1, False, "tsan.c: start\n", ""),
        (0, False, "tally: grants=1\n", ""),
        (-signal.SIGKILL, True, "", "no thread goes on"),
        (-signal.SIGKILL, True, "WARNING: ThreadSanitizer: data race (pid=7)\n", "data race"),
    ],
)
def test_what_threads_find(code: int, slept: bool, output: str, found: str) -> None:
    """Whatever ThreadSanitizer reports first is a finding, but for what it says of itself."""
    assert tsan.finding(code, slept, output).startswith(found)
    assert bool(tsan.finding(code, slept, output)) == bool(found)


@pytest.mark.parametrize("stem", with_cell("tests/{stem}/mutants.toml"))
def test_a_first_look_takes_one_mutant_of_each_row_that_any_cpu_can_run(stem: str) -> None:
    compiler = runner.Compiler([], {"avx2": [], "avx512": []})
    listed = mutants.load(Path("tests", stem, "mutants.toml"), Mutant)
    (chosen,) = runner.first(listed, compiler)
    assert (compiler.level(chosen.file), Path(chosen.file).suffix) == ("", ".c")
    assert runner.first(listed[::-1], compiler) == [chosen]


def test_a_driver_that_waits_for_its_test_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "STILL", 0.5)
    waits = 'subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE).stdout.read(1)'
    test, log = tmp_path / "test_waits.py", tmp_path / "log"
    test.write_text(f"import subprocess\n\ndef test_waits():\n    {waits}\n")
    assert drivers.run_tests(str(test), tmp_path, log) == pytest.ExitCode.TESTS_FAILED
    assert "failed" not in log.read_text()

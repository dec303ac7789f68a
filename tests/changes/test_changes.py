# SPDX-License-Identifier: PostgreSQL
"""The engine: which changes there are, what is no change, what ends an endless one, and what the lists must say."""

import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.changes import engine, hand, layers, lines, nodes
from tests.changes.build import Compiler, Compilers, Workshop
from tests.changes.change import Change, Tried, Verdict
from tests.changes.engine import Trial
from tests.runners import tsan
from tools.common import results, survivors, watch
from tools.common.defects import load as defects
from tools.common.survivors import Survivor

SCALAR = "int f(int x);\nint f(int x)\n{\n    return x + 0;\n}\n"
ORACLE = '''"""f."""


def f(x: int) -> int:
    """1 less."""
    return x - 1


def g() -> None:
    x: int = 1


class File(Protocol):
    def read(self) -> bytes: ...
'''
LISTS = [stem for stem in layers.stems() if hand.load(stem).change]
BY_LINE = ("C", "oracle", "binding", "extracted", "cross")


def compilers() -> Compilers:
    plain = Compiler(["-O2", "-Wall", "-Wextra", "-Werror", "-Icsrc"], {})
    return Compilers(plain, plain, plain, plain)


@pytest.mark.parametrize("stem", layers.stems())
def test_what_may_survive_is_a_change_that_is_made_today(stem: str) -> None:
    number, listed = survivors.load(Path("tests", stem, "survivors.toml"))
    assert number
    rows = [layers.LAYERS[layer].row(stem, compilers()) for layer in layers.of(stem, [*BY_LINE, "meaning"])]
    made = {change.name: change for row in rows for change in row.changes()}
    assert listed.keys() <= made.keys()
    assert all(made[name].says == one.says and len(one.why.split()) >= 4 for name, one in listed.items())


@pytest.mark.parametrize("stem", layers.stems())
def test_no_change_comes_twice(stem: str) -> None:
    """Each is built in a folder that its rank names."""
    for layer in layers.of(stem, BY_LINE):
        changes = layers.LAYERS[layer].row(stem, compilers()).changes()
        assert len({(change.file, change.rank) for change in changes}) == len(changes) > 0
        assert len({change.name for change in changes}) == len(changes)


@pytest.mark.parametrize("stem", LISTS)
def test_each_change_by_hand_fits_and_is_made_by_no_rule(stem: str) -> None:
    for entry in hand.load(stem).change:
        change = entry.change()
        text = " ".join(change.text().split())
        assert text != " ".join(Path(entry.file).read_text().split()), entry.name
        made = [one for one in lines.of_file(entry.file) if one.edits[0][0] <= change.edits[0][0] < one.edits[0][1]]
        assert text not in [" ".join(one.text().split()) for one in made], f"{entry.name}: a rule makes it"


def test_each_killer_exists() -> None:
    """By its name. A case that its test no longer has is an error of the engine's, when the change is tried."""
    named = {killer for stem in LISTS for entry in hand.load(stem).change for killer in entry.killers}
    words = {killer.partition(" ")[0] for killer in named if "::" not in killer}
    assert words <= {"world", "threads", "cross", "sanitizers"}
    for killer in sorted(killer for killer in named if "::" in killer):
        file, test, *_ = killer.partition("[")[0].split("::")
        assert re.search(rf"^(def {test}\(|class {test}\b|{test} = )", Path(file).read_text(), re.MULTILINE), killer


@pytest.mark.parametrize("stem", LISTS)
def test_a_first_look_takes_one_of_each_stem_that_any_cpu_can_run(stem: str) -> None:
    (chosen,) = Trial(layers.LAYERS["hand"].row(stem, compilers()), "hand", None, quick=True).chosen()
    assert Compiler([], {"avx2": [], "avx512": []}).level(chosen.file) == ""


def test_each_defect_s_kernel_is_a_change_by_hand() -> None:
    for defect in defects():
        if defect.kernel:
            assert defect.kernel in {entry.name for entry in hand.load(defect.stem).change}, defect.title


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one small stem, which is the current folder."""
    for folder in ("csrc/small", "ref", "tests/small"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "csrc/small/scalar.c").write_text(SCALAR)
    (tmp_path / "csrc/small/small.h").write_text("int f(int x);\n")
    (tmp_path / "ref/small.py").write_text(ORACLE)
    monkeypatch.chdir(tmp_path)
    lines.of_file.cache_clear()
    # There is no binding in this tree.
    monkeypatch.setattr(Workshop, "links", lambda self, folder, made: True)
    return tmp_path


def change(file: str, line: int, new: str) -> Change:
    text = Path(file).read_text().splitlines(keepends=True)
    begin = sum(map(len, text[: line - 1]))
    return Change(file, ((begin, begin + len(text[line - 1]), new),), f"{file} 0", new, "0")


@pytest.mark.parametrize(
    ("file", "line", "new", "fate"),
    [
        ("csrc/small/scalar.c", 4, "    return x - 0;\n", "equivalent"),
        ("csrc/small/scalar.c", 4, "    return y + 0;\n", "refused"),
        ("csrc/small/scalar.c", 4, "    return 0;\n", "refused"),  # x is unused: the build has warnings as errors
        ("csrc/small/scalar.c", 4, "    return x + 1;\n", None),
        ("ref/small.py", 5, '    ""\n', "equivalent"),
        ("ref/small.py", 4, "def f(x: str) -> None:\n", "equivalent"),
        ("ref/small.py", 6, "    return x -\n", "refused"),
        ("ref/small.py", 6, "    return x - 2\n", None),
        ("ref/small.py", 10, "    x: str = 1\n", "equivalent"),
        ("ref/small.py", 14, "    pass\n", "equivalent"),
    ],
)
def test_what_is_no_change(tree: Path, file: str, line: int, new: str, fate: Verdict | None) -> None:
    shop, one = Workshop("small", "C", compilers()), change(file, line, new)
    assert shop.build(one)[0] == fate
    assert (one.name in shop.built) == (fate is None)


def test_a_change_that_takes_a_function_away_is_refused(tmp_path: Path) -> None:
    """A binding without it is made all the same, and fails when it is loaded."""
    (tmp_path / "empty.c").write_text("static int nothing;\nint *pgq_nothing(void)\n{\n    return &nothing;\n}\n")
    empty = tmp_path / "empty.o"
    subprocess.run(["gcc", "-fPIC", "-c", str(tmp_path / "empty.c"), "-o", str(empty)], check=True)
    shop = Workshop("small", "C", compilers())
    assert not shop.links(tmp_path, {"common/cpu.c": empty})
    assert shop.links(tmp_path, {})


def test_an_edit_elsewhere_leaves_the_others(tree: Path) -> None:
    before = {one.name for one in lines.of_file("csrc/small/scalar.c")}
    (tree / "csrc/small/scalar.c").write_text("/* Of one number. */\n\n" + SCALAR)
    lines.of_file.cache_clear()
    assert {one.name for one in lines.of_file("csrc/small/scalar.c")} >= before


class Small:
    """A row whose changes end as their names say."""

    stem = "small"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def changes(self) -> Sequence[Change]:
        names = ["refused", "equivalent", "survived", "killed", "skipped", "killed too", "survived too"]
        return [Change("csrc/small/scalar.c", (), name, name, f"{n}") for n, name in enumerate(names)]

    def reads(self) -> Sequence[str]:
        return ["csrc"]

    def prepare(self, one: Change) -> tuple[Verdict | None, bytes]:
        return (None, b"") if one.name not in ("refused", "equivalent") else (one.name, b"")  # type: ignore[return-value]

    def attempt(self, one: Change) -> Tried:
        self.asked.append(one.name)
        return Tried(one, one.name.split()[0], reason="no CPU" * (one.name == "skipped"))  # type: ignore[arg-type]


LISTED = {name: Survivor(change=name, says=name, seen="survived", why="it changes nothing here")
          for name in ("survived", "killed", "gone")}  # fmt: skip


def test_a_sample_counts_what_is_a_change_and_says_what_is_wrong(tree: Path) -> None:
    trial = Trial(Small(), "C", 4, LISTED)
    items, says, fine = trial.report(trial.run(1), 0)
    assert [item["name"] for item in items] == ["equivalent", "survived", "killed", "skipped", "killed too", "gone"]
    assert [item["status"] for item in items] == ["passed", "passed", "failed", "skipped", "passed", "failed"]
    assert not fine
    assert "2 of 3 changes told, 1 live with a reason, 1 skipped" in says


def test_what_is_not_listed_fails_and_what_was_tried_is_not_tried_again(tree: Path) -> None:
    row = Small()
    trial = Trial(row, "C", None, {"survived": LISTED["survived"]})
    items, _, fine = trial.report(trial.run(1), 0)
    assert not fine
    assert [item["name"] for item in items if item["status"] == "failed"] == ["survived too"]
    row.asked.clear()
    trial.run(1)
    assert row.asked == ["skipped"]
    (tree / "csrc/small/small.h").write_text("int g(int x);\n")
    trial.run(1)
    assert "killed" in row.asked


def test_a_sample_trusts_the_list_and_a_part_is_a_part(tree: Path) -> None:
    row = Small()
    Trial(row, "C", None, LISTED, trusts=True).run(1)
    assert row.asked == ["skipped", "killed too", "survived too"]
    parts = [[one.name for one in Trial(row, "C", None, {}, part=(i, 2)).chosen()] for i in range(2)]
    assert parts[0] == [one.name for one in row.changes()][::2]
    assert parts[1] == [one.name for one in row.changes()][1::2]


def test_a_change_by_hand_that_a_killer_does_not_tell_fails() -> None:
    one = Change("csrc/small/scalar.c", (), "by hand", "", "0", killers=("world 3",))

    class ByHand(Small):
        def changes(self) -> Sequence[Change]:
            return [one]

    items, _, fine = Trial(ByHand(), "hand", None).report([Tried(one, "survived", reason="world 3 does not")], 0)
    assert not fine
    assert items[0]["reason"] == "world 3 does not"


def test_layers_that_did_not_run_keep_their_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    for layer, status in (("C", "failed"), ("hand", "passed"), ("C", "passed")):
        engine.written("one", {layer: ([{"name": layer, "layer": layer, "status": status}], layer)}, "changes", 1)
    (result,) = results.load(tmp_path)
    assert [(item.name, item.status) for item in result.items] == [("hand", "passed"), ("C", "passed")]


@pytest.mark.tools
@pytest.mark.parametrize(
    ("body", "patience", "killed"),
    [
        ("threading.Event().wait()", 60.0, nodes.ASLEEP),
        ("while not __import__('time').sleep(0.2): pass", 3.0, nodes.ASLEEP),
        ("__import__('subprocess').run('i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done', shell=True)", 60.0, ""),
        ("while True: pass", 60.0, nodes.NO_END),
        ("pass", watch.PATIENCE, ""),
        ("assert 0", watch.PATIENCE, nodes.FAILED),
    ],
    ids=["waits for ever", "wakes for ever", "waits for a child", "runs for ever", "passes", "fails"],
)
def test_a_test_that_has_no_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, patience: float, killed: str
) -> None:
    monkeypatch.setattr(watch, "STILL", min(patience, 2.0))
    file = tmp_path / "test_run.py"
    file.write_text(f"import threading\n\ndef test_first():\n    pass\n\ndef test_run():\n    {body}\n")
    first = nodes.run(f"{file}::test_first", tmp_path, tmp_path / "log", cpu_limit=60)
    (node,) = first.outcomes
    last = node.replace("test_first", "test_run")
    limits = {nodes.OTHERS: 30, last: 5}
    ended = nodes.run(str(file), tmp_path, tmp_path / "log", 600, patience=patience, limits=limits, first=[last])
    assert ended.killed == killed, ended.output
    if patience > 3:  # a busy machine may not have begun with it
        assert ended.last == (node if killed == "" else last)


@pytest.mark.tools
def test_tests_that_are_never_imported_are_ended(tmp_path: Path) -> None:
    file = tmp_path / "test_run.py"
    file.write_text("while True:\n    pass\n")
    assert nodes.run(str(file), tmp_path, tmp_path / "log", 600, limits={nodes.OTHERS: 5}).killed == nodes.NO_END


@pytest.mark.tools
def test_threads_in_an_endless_loop_are_ended_by_their_cpu_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the clock: a program that sleeps for longer ends by itself. One that sleeps for ever is ended, too."""
    program = tsan.Build("endless", 1, tmp_path, [], False)
    for name, body in (
        ("endless", "while :; do :; done"),
        ("asleep", "sleep 2; exit 7"),
        ("for_ever", "echo says; sleep 100000"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    assert program.run(tmp_path / "endless", cpu=1) == (-signal.SIGXCPU, False, "")
    assert program.run(tmp_path / "asleep", cpu=1) == (7, False, "")
    monkeypatch.setattr(watch, "STILL", 2.0)
    assert program.run(tmp_path / "for_ever", cpu=1) == (-signal.SIGKILL, True, "says\n")


@pytest.mark.parametrize(
    ("code", "slept", "output", "found"),
    [
        (66, False, "WARNING: ThreadSanitizer: data race (pid=7)\n", "data race"),
        (66, False, "==7==ERROR: ThreadSanitizer: SEGV on unknown address\n", "SEGV"),
        (1, False, "wrong answer: 3 for 4\n", "wrong answer"),
        (-signal.SIGXCPU, False, "", "no end"),
        (-signal.SIGSEGV, False, "", "killed by signal 11"),
        (66, False, "FATAL: ThreadSanitizer: unexpected memory mapping 0x1-0x2\n", ""),
        (1, False, "tsan.c: start\n", ""),
        (0, False, "tally: grants=1\n", ""),
        (-signal.SIGKILL, True, "", "no thread goes on"),
    ],
)
def test_what_threads_find(code: int, slept: bool, output: str, found: str) -> None:
    """Whatever ThreadSanitizer reports first is a finding, but for what it says of itself."""
    assert tsan.finding(code, slept, output).startswith(found)
    assert bool(tsan.finding(code, slept, output)) == bool(found)


@pytest.mark.parametrize("able", [True, False])
def test_who_could_run_and_gets_no_cpu_does_not_sleep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    """Threads that hand a lock around on a busy machine take next to no CPU time, and each is new."""
    monkeypatch.setattr(watch, "PATIENCE", 1.0)
    monkeypatch.setattr(watch, "LOOK", 0.1)
    monkeypatch.setattr(watch, "can_run", lambda _: able)
    monkeypatch.setattr(watch, "cpu_seconds", lambda _: 0.0)
    code, asleep, _ = watch.run(["sleep", "3" if able else "1000"], tmp_path / "log", {}, lambda: None)
    assert asleep != able
    assert code == (0 if able else -signal.SIGKILL)

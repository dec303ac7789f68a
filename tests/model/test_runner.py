# SPDX-License-Identifier: PostgreSQL
"""The runner of the models: it reads the output of TLC and Apalache, and passes a run only if it ends as accepted."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spec.tools import accepted, apalache, batch, changed, changes, models, runner, summary, tlc
from spec.tools.models import Holds, ModelError, Run, Settings, Violates
from spec.tools.outcome import Ended, Outcome, ToolMissing
from spec.tools.runner import How, Item
from spec.tools.smallest import smallest
from tools.common import results, survivors

TOP = Path(__file__).resolve().parents[2]
HANG = 1800
"""Seconds after which a command hangs, whatever else the machine does."""


def message(code: int, text: str, severity: int = 0) -> str:
    return f"@!@!@STARTMSG {code}:{severity} @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n"


HEAD = message(2262, "TLC2 Version 2.18 of 20 March 2023") + "Parsing file M.tla\n"
COMPLETE = (
    HEAD
    + message(2193, "Model checking completed. No error has been found.")
    + message(
        2200, "Progress(7) at 2026-01-01 00:00:00: 1,234 states generated, 567 distinct states found, 0 states left"
    )
    + message(2199, "1234 states generated, 567 distinct states found, 0 states left on queue.")
    + message(2194, "The depth of the complete state graph search is 7.")
)
TRACE = message(2217, "1: <Initial predicate>\n/\\ x = 0", 4) + message(2217, "2: <Inc line 5>\n/\\ x = 1", 4)
BROKEN = HEAD + message(2110, "Invariant Small is violated.", 1) + TRACE


def run(kind: str = "small", expected: Holds | Violates | None = None, module: str = "MCM") -> Run:
    path, must = Path(f"spec/stem/{module}.tla"), expected or Holds(states=567, depth=7)
    return Run("stem", f"{module}_{kind}", path, kind, "It holds.", Settings(), must, 30, 0)


SMALL = Violates(invariant="Small", trace=2)
VIOLATED = Ended(12, 0.5, 0.7)


@pytest.mark.parametrize(
    ("output", "exit_code"),
    [
        ("", 0),
        ("", 1),
        (HEAD, 0),
        (COMPLETE, 1),
        (COMPLETE[: COMPLETE.index("@!@!@ENDMSG 2193")], 0),
        (COMPLETE.replace("567 distinct states found, 0 states left on queue", ""), 0),
        (COMPLETE + message(2103, "Something went wrong", 1), 0),
        (BROKEN, 0),
        (BROKEN, 150),
        (HEAD + message(2104, "Assumption line 3 is false.", 1), 10),
        (HEAD + message(3002, "Parse error: was expecting END", 1), 150),
    ],
)
def test_anything_else_is_an_error(output: str, exit_code: int) -> None:
    seen = tlc.parse(output, exit_code, [])
    assert seen.result == "error"
    assert accepted.unfit(run(), seen)
    assert accepted.unfit(run("mutant", SMALL), seen)


def test_action_never_taken_fails() -> None:
    covered = message(2772, "<Inc line 5, col 1 to line 5, col 3 of module M>: 3:5")
    idle = message(2772, "<Never line 6, col 1 to line 6, col 5 of module M>: 0:0")
    seen = tlc.parse(COMPLETE + covered + idle, 0, [])
    assert (seen.actions, seen.never_taken) == (2, ["Never"])
    item = Item(run("large"), "passed", [], seen)
    assert summary.never_taken([item], [item.run]) == {"stem": ["MCM.Never"]}
    left_out = replace(item.run, name="MCM_large_more")
    assert summary.never_taken([item], [item.run, left_out]) == {}, "it may be what takes the action"
    other = tlc.parse(COMPLETE + covered + idle.replace("0:0", "0:4"), 0, [])
    assert summary.never_taken([item, Item(run("large"), "passed", [], other)], [item.run]) == {"stem": []}
    later = message(2772, "<Never line 6, col 1 to line 6, col 5 of module M>: 0:4")
    assert tlc.parse(COMPLETE + covered + idle + later, 0, []).never_taken == []


def test_run_without_accepted_figures_fails() -> None:
    assert "ACCEPT=1" in accepted.differences(run(expected=Holds()), tlc.parse(COMPLETE, 0, []))[0]
    trace_missing = Violates(invariant="Small")
    assert "ACCEPT=1" in accepted.differences(run("mutant", trace_missing), tlc.parse(BROKEN, 12, []))[0]


def test_no_length_is_compared_or_accepted_where_liveness_fails() -> None:
    must_fail = run("mutant", Violates(liveness="Live"))
    temporal = message(2116, "Temporal properties were violated.", 1)
    for trace in (TRACE, TRACE + message(2218, "3: Stuttering", 4)):
        seen = tlc.parse(HEAD + temporal + trace, 13, ["Live"])
        assert accepted.differences(must_fail, seen) == []
        assert accepted.toml(accepted.shown(must_fail, seen)) == 'violates = { liveness = "Live" }'
    step = tlc.parse(HEAD + message(2112, "Action property Live is violated.", 1) + TRACE, 13, ["Live"])
    assert accepted.differences(must_fail, step), "a step that violates it is something else"


def test_liveness_is_checked_at_the_end_and_not_at_times_of_the_clock(tmp_path: Path) -> None:
    line = tlc.arguments(run(), tmp_path, coverage=False)
    assert line[line.index("-lncheck") + 1] == "seqfinal"
    assert line[line.index("-workers") + 1] == "1"
    assert "-coverage" not in line


def test_apalache_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apalache, "find", lambda: ("apalache-mc", "Apalache 0.0"))
    good = apalache.parse("The outcome is: NoError\nEXITCODE: OK", 0, ["A"])
    assert good.result == "success"
    bad = apalache.parse("State 2: state invariant 1 violated.\nThe outcome is: Error", 12, ["A"])
    assert (bad.result, bad.property, bad.trace_length) == ("violation", "A", 3)
    assert apalache.parse("no type   E@12:00:00.000", 120, []).reason == "no type"
    assert apalache.parse("The outcome is: Deadlock", 0, []).result == "error"


BASE = '[base.MCM]\nspecification = "Spec"\nconstants = { Size = 8, Full = true }\ninvariants = ["A", "B"]\n'
SAYS = 'says = "What it shows."\n'
HOLDS = f"[run.MCM_small]\n{SAYS}holds = {{ states = 1, depth = 1 }}\n"


def write_models(folder: Path, text: str, module: str = "MCM") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{module}.tla").write_text(f"---- MODULE {module} ----\n====\n")
    (folder / "models.toml").write_text(text)
    return folder / "models.toml"


def read(tmp_path: Path, text: str, module: str = "MCM") -> dict[str, Run]:
    return {one.name: one for one in models.runs(write_models(tmp_path / "stem", text, module))}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HOLDS.replace("holds", "constant = { Size = 9 }\nholds"), "run MCM_small: constant: .* mean 'constants'"),
        (HOLDS.replace("MCM_small", "MCM_other"), "run MCM_other: the name must be"),
        (HOLDS.replace("holds", 'base = "one"\nholds'), "run MCM_small: there is no base 'one'; there are: MCM"),
        ('[base.a]\nbase = "a"\n' + HOLDS.replace("holds", 'base = "a"\nholds'), "starts from itself: a -> a"),
        (HOLDS.replace("small", "mutant_x"), "run MCM_mutant_x: 'violates' is for the kinds"),
        (HOLDS + 'violates = { invariant = "A" }\n', "run MCM_small: say 'holds"),
        (f"[run.MCM_mutant_x]\n{SAYS}violates = {{}}\n", "run MCM_mutant_x: violates: .*exactly one"),
        (f'[run.MCM_mutant_x]\n{SAYS}violates = {{ liveness = "L", trace = 3 }}\n', "no shortest trace"),
        (
            f'[run.MCM_mutant_x]\n{SAYS}properties = ["K"]\nviolates = {{ liveness = "L" }}\n',
            "TLC does not say which liveness property",
        ),
        (HOLDS.replace("holds", 'symmetry = "S"\nproperties = ["L"]\nholds'), "run MCM_small: 'symmetry' is not sound"),
        (HOLDS.replace("holds", 'init = "Init"\nholds'), "run MCM_small: give 'specification'"),
        (HOLDS + HOLDS, r"models.toml: Cannot declare \('run', 'MCM_small'\) twice"),
        (HOLDS + f"[runs.MCM]\nsmall = {{ {SAYS.strip()}, holds = {{}} }}\n", "two runs are called MCM_small"),
    ],
)
def test_bad_key_is_refused_and_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint) as refused:
        read(tmp_path, BASE + text)
    assert "stem/models.toml" in str(refused.value)


def test_accept_replaces_the_figures_and_nothing_else(tmp_path: Path) -> None:
    mutant = f'[run.MCM_mutant_x]\n{SAYS}invariants = [\n    "A",\n]  # as well\nviolates = {{ invariant = "B" }}\n'
    path = write_models(tmp_path / "stem", f"# head\n{BASE}{HOLDS}\n# why\n{mutant}")
    before = path.read_text()
    accepted.accept(path, {"MCM_small": Holds(states=9, depth=2), "MCM_mutant_x": Violates(action="B", trace=4)})
    assert path.read_text() == before.replace("states = 1, depth = 1", "states = 9, depth = 2").replace(
        'invariant = "B" }', 'action = "B", trace = 4 }'
    )
    short = 'mutant_y = { says = "Short.....", violates = { invariant = "B" } }\n'
    longer = short.replace("mutant_y", "mutant_long_y").replace("Short", "It's { short }")
    path.write_text(f'{path.read_text()}[base.b]\nbase = "MCM"\n[runs.b]\n{longer}{short}')
    accepted.accept(path, {"MCM_mutant_y": Violates(invariant="B", trace=7)})
    assert path.read_text().endswith(longer + short.replace('"B" }', '"B", trace = 7 }'))
    path.write_text(path.read_text().replace("holds = {", "holds={"))
    with pytest.raises(ModelError, match="MCM_small needs one line"):
        accepted.accept(path, {"MCM_small": Holds()})


def test_each_property_has_a_broken_model_that_fails_on_it() -> None:
    assert models.unbroken(models.find(TOP / "spec")) == []


def test_apalache_gets_definitions_with_parameters(tmp_path: Path) -> None:
    replaced = '[run.APM_mutant_x]\ndefinitions = { Less = "Lax", Few = "None", Next = "Far" }\n'
    text = BASE.replace("base.MCM", "base.APM") + replaced + f"{SAYS}violates = {{ invariant = 'A' }}\n"
    path = write_models(tmp_path / "spec" / "stem", text)
    path.with_name("APM.tla").write_text("Lax(a, b) == a <= b\nNone == {}\nFar(a) == LET b == a IN b\n")
    (mutant,) = models.find(tmp_path / "spec")
    folder = apalache.prepare(mutant, tmp_path)
    assert (folder / "APM.tla").is_file()
    assert (folder / "APM_mutant_x.tla").read_text().splitlines() == [
        *("---- MODULE APM_mutant_x ----", "EXTENDS APM", "OVERRIDE_Less(p0, p1) == Lax(p0, p1)"),
        *("OVERRIDE_Few == None", "OVERRIDE_Next(p0) == Far(p0)", "===="),
    ]
    assert "Lax" not in (folder / "APM_mutant_x.cfg").read_text()
    with pytest.raises(ModelError, match="stem/APM_mutant_x: no module defines Lax, which replaces Less"):
        apalache.root(mutant, ["Laxer(a) == a"])


def test_skipped_is_never_counted_as_passed() -> None:
    item = Item(run("laws", module="APM"), "skipped", ["no Apalache"], Outcome("skipped", "no Apalache"))
    assert summary.says([item]) == "0 models hold (0 distinct states), 0 fail as they must, 1 skipped"


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """Apalache is looked for once a process: look again in this test, and again after it."""
    apalache.find.cache_clear()
    yield
    apalache.find.cache_clear()


def said_of_apalache(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """The statuses of two runs of Apalache, and the one line that is said of both."""
    items = runner.run_all([run("laws", Holds(), "APM"), run("step", Holds(), "APM")], How(folder))
    (said,) = (text for text in capsys.readouterr().err.splitlines() if text.strip())
    assert all(item.why[0] in said for item in items)
    return [item.status for item in items], said


@pytest.mark.usefixtures("asked_anew")
def test_missing_apalache_is_skipped_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("APALACHE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    statuses, said = said_of_apalache(tmp_path, capsys)
    assert statuses == ["skipped", "skipped"]
    assert said.startswith("SKIPPED 2 runs of Apalache: no Apalache: set APALACHE=")


OLD_JAVA = "echo 'java.lang.UnsupportedClassVersionError: class file version 65.0' >&2; exit 1"


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize(
    ("script", "named", "complaint"),
    [
        (OLD_JAVA, False, "ended with exit code 1: java.lang.UnsupportedClassVersionError: class file version 65.0."),
        ("exit 0", True, "ended with exit code 0: it said nothing."),
        ("", True, "Exec format error"),
        (None, True, "is no program."),
    ],
    ids=["java is too old", "no version", "no program", "no such file"],
)
def test_broken_apalache_fails(
    script: str | None,
    named: bool,
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program = tmp_path / "apalache-mc"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n" if script else "")
        program.chmod(0o755)
    monkeypatch.delenv("APALACHE", raising=False)
    monkeypatch.setenv(*(("APALACHE", str(program)) if named else ("PATH", f"{tmp_path}:/usr/bin:/bin")))
    statuses, said = said_of_apalache(tmp_path, capsys)
    assert statuses == ["failed", "failed"]
    assert complaint in said


def test_hanging_process_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(runner.Hangs, match="taken to hang and stopped after 1 s"):
        runner.execute(["sleep", "60"], tmp_path, tmp_path / "log", 1, threading.Event())


def test_only_runs_of_one_module_that_must_violate_safety_share_a_jvm() -> None:
    one, two = run("mutant", SMALL), run("reach", SMALL)
    live = run("mutant", Violates(liveness="Live"))
    others = [run(), live, run("mutant", SMALL, "MCN"), run("mutant", SMALL, "APM"), run("reach", SMALL, "APM")]
    assert batch.groups([one, *others, two]) == [[one, two]]


@pytest.mark.parametrize("ending", ["sleep 60", "kill -9 $$", "true"])
def test_batch_that_hangs_or_dies_tells_what_ended_before(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [run("mutant", SMALL), run("reach", SMALL)]
    script = f"printf '%s\\t12\\t0.5\\t0.7\\n' {batch.log(runs[0], tmp_path)}; {ending}"
    monkeypatch.setattr(batch, "command", lambda runs, build: (["bash", "-c", script], tmp_path))
    assert batch.execute(runs, tmp_path, [60, 0.5], threading.Event()) == {"MCM_mutant": Ended(12, 0.5, 0.7)}


@pytest.mark.parametrize(
    ("ended", "alone"),
    [
        ({"MCM_mutant": VIOLATED, "MCM_reach": VIOLATED}, []),
        ({"MCM_mutant": VIOLATED}, ["MCM_reach"]),
        ({"MCM_mutant": VIOLATED, "MCM_reach": Ended(255, 0.5, 0.7)}, ["MCM_reach"]),
        ({}, ["MCM_mutant", "MCM_reach"]),
    ],
)
def test_what_does_not_end_as_accepted_in_a_batch_is_run_alone(
    ended: dict[str, Ended], alone: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, told, began = [Item(run("mutant", SMALL)), Item(run("reach", SMALL))], list[str](), list[str]()
    for item in items:
        log = batch.log(item.run, tmp_path)
        log.parent.mkdir(parents=True)
        log.write_text(BROKEN)

    def run_one(item: Item, how: How, stop: threading.Event) -> None:
        began.append(item.run.name)
        item.status = "failed"

    monkeypatch.setattr(batch, "execute", lambda *_: ended)
    monkeypatch.setattr(runner, "run_one", run_one)
    runner.run_some(items, How(tmp_path), threading.Event(), lambda item: told.append(item.run.name))
    assert began == alone
    assert sorted(told) == ["MCM_mutant", "MCM_reach"]
    assert [item.run.name for item in items if item.status == "failed"] == alone, "what it does alone counts"
    assert [item.run.name for item in items if item.again] == alone


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with two of the real XID models."""
    try:
        tlc.find(TOP / "build")
    except ToolMissing as error:
        pytest.skip(str(error))
    shutil.copytree(TOP / "spec" / "common", tmp_path / "spec" / "common")
    (tmp_path / "spec" / "xid").mkdir()
    for name in ("XidLaws.tla", "MCXid.tla"):
        shutil.copy(TOP / "spec" / "xid" / name, tmp_path / "spec" / "xid")
    (tmp_path / "spec" / "xid" / "models.toml").write_text(XID)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "tools").symlink_to(TOP / "build" / "tools")
    return tmp_path


XID = """
[base.MCXid]
specification = "Spec"
constants = { Size = 16, FirstNormal = 3, Span = 8, Epochs = "{1, 2}", WithOpposite = true }
invariants = ["Transitive"]

[run.MCXid_small]
says = "Within half a ring precedes is transitive."
holds = { states = 3346, depth = 1 }

[run.MCXid_mutant_third]
says = "Beyond half a ring precedes is not transitive."
constants = { Span = 16, WithOpposite = false }
violates = { invariant = "Transitive", trace = 1 }
"""
LAX = """
[run.MCXid_mutant_lax]
says = "With <= in the place of < an XID precedes itself."
definitions = { Precedes = "LaxPrecedes" }
violates = { invariant = "Irreflexive", trace = 1 }
"""


def run_models(folder: Path, *options: str) -> tuple[int, dict[str, str]]:
    """The runner on the copy: its exit code, and the status of each run."""
    command = [sys.executable, str(TOP / "spec" / "run.py"), "--stem", "xid", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    written = [result for result in results.load(folder / "build" / "results") if result.layer == "model"]
    found = {item.name: str(item.status) for result in written for item in result.items}
    return done.returncode, found or {"said": done.stderr}


@pytest.mark.tools
def test_real_models_pass_and_a_wrong_count_or_a_mended_mutant_fails(copied: Path) -> None:
    assert run_models(copied) == (0, {"MCXid_mutant_third": "passed", "MCXid_small": "passed"})

    path = copied / "spec" / "xid" / "models.toml"
    path.write_text(XID.replace("states = 3346", "states = 3345").replace("Span = 16", "Span = 8"))
    assert run_models(copied) == (1, {"MCXid_mutant_third": "failed", "MCXid_small": "failed"})


def compile_batch(folder: Path) -> None:
    """Batch.java, where the runner looks for it."""
    if shutil.which("javac") is None:
        pytest.skip("no javac; 'make setup' installs it")
    _, jar = tlc.find(TOP / "build")
    to = tlc.batch_jar(folder / "build").parent
    source = TOP / "spec" / "tools" / "Batch.java"
    subprocess.run(["javac", "-cp", jar, "-d", to / "classes", source], check=True, timeout=HANG)
    subprocess.run(["jar", "cf", to / "batch.jar", "-C", to / "classes", "."], check=True, timeout=HANG)


@pytest.mark.tools
def test_batch_judges_as_runs_alone_do(copied: Path) -> None:
    compile_batch(copied)
    path = copied / "spec" / "xid" / "models.toml"
    path.write_text(XID + LAX)
    all_pass = {"MCXid_small": "passed", "MCXid_mutant_third": "passed", "MCXid_mutant_lax": "passed"}
    assert run_models(copied) == (0, all_pass)
    said = (copied / "build" / "model" / "xid" / "MCXid.batch" / "list").read_text()
    assert [name in said for name in all_pass] == [False, True, True]
    assert run_models(copied, "--alone") == (0, all_pass)

    path.write_text(XID.replace("Span = 16", "Span = 8") + LAX.replace('"Irreflexive"', '"Transitive"'))
    assert run_models(copied) == (1, all_pass | {"MCXid_mutant_third": "failed", "MCXid_mutant_lax": "failed"})


@pytest.mark.tools
def test_batch_that_cannot_start_costs_no_verdict(copied: Path) -> None:
    (copied / "spec" / "xid" / "models.toml").write_text(XID + LAX)
    tlc.batch_jar(copied / "build").parent.mkdir(parents=True)
    tlc.batch_jar(copied / "build").write_text("no jar")
    assert run_models(copied)[0] == 0


@pytest.mark.tools
def test_some_runs_write_no_results_and_say_so(copied: Path) -> None:
    code, said = run_models(copied, "--run", "MCXid_mutant_*")
    assert code == 0
    assert "1 as they must be, 0 failed" in said["said"]
    assert "no results written" in said["said"]
    assert "results in" not in said["said"]
    assert not (copied / "build" / "results").exists()


@pytest.mark.tools
def test_accept_fills_in_what_a_new_run_shows(copied: Path) -> None:
    path = copied / "spec" / "xid" / "models.toml"
    path.write_text(XID.replace("{ states = 3346, depth = 1 }", "{}").replace(", trace = 1", ""))
    assert run_models(copied, "--accept")[0] == 0
    assert path.read_text() == XID


def test_property_that_nothing_breaks_is_found(tmp_path: Path) -> None:
    mutant = f"[run.MCM_mutant_x]\n{SAYS}violates = {{ invariant = 'A' }}\n"
    write_models(tmp_path / "stem", BASE + HOLDS + mutant)
    write_models(tmp_path / "other", BASE + mutant.replace("'A'", "'B'"))
    assert models.unbroken(models.find(tmp_path)) == [("stem", "MCM", "B")]


def test_mutant_of_another_module_breaks_nothing(tmp_path: Path) -> None:
    mutant = f"[run.MCM_mutant_x]\n{SAYS}violates = {{ invariant = 'A' }}\n"
    mutants = mutant + mutant.replace("_x", "_y").replace("'A'", "'B'")
    laws = f"[run.APM_laws]\n{SAYS}holds = {{}}\n"
    path = write_models(tmp_path / "stem", BASE + HOLDS + mutants)
    assert models.unbroken(models.find(tmp_path)) == []
    (tmp_path / "stem" / "APM.tla").touch()
    symbolic = BASE.replace("base.MCM", "base.APM") + laws
    path.write_text(BASE + HOLDS + mutants + symbolic + mutant.replace("MCM", "APM"))
    assert models.unbroken(models.find(tmp_path)) == [("stem", "APM", "B")]
    path.write_text(BASE + HOLDS + mutants + symbolic + mutants.replace("MCM", "APM"))
    assert models.unbroken(models.find(tmp_path)) == []


TINY = """---- MODULE tiny ----
EXTENDS Integers
VARIABLES x, ghost
Room == 3
MayStep ==
    /\\ x < Room
    /\\ ghost >= 0  \\* never false
Init == x = 0 /\\ ghost = 0
Step ==
    /\\ MayStep
    /\\ x' = IF x = 2 THEN x + 1
            ELSE x + 1
    /\\ ghost' = ghost
Stay == x = Room /\\ x' = x /\\ ghost' = IF ghost < 0 THEN ghost + 1 ELSE 0
Next == Step \\/ Stay
Spec == Init /\\ [][Next]_<<x, ghost>>
InRoom == x <= 3
NeverFull == x # 3
====
"""
TINY_RUNS = """
[base.MCtiny]
specification = "Spec"
invariants = ["InRoom"]

[run.MCtiny_small]
says = "The number stays in its room."
holds = { states = 4, depth = 4 }

[run.MCtiny_reach_full]
says = "The room is full at last."
violates = { invariant = "NeverFull", trace = 4 }

[run.MCtiny_mutant_room]
says = "A step that never is beyond the room."
violates = { invariant = "InRoom", trace = 1 }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A folder with a model of a number that grows up to 3."""
    try:
        tlc.find(TOP / "build")
    except ToolMissing as error:
        pytest.skip(str(error))
    folder = tmp_path / "spec" / "tiny"
    folder.mkdir(parents=True)
    (tmp_path / "spec" / "common").mkdir()
    (folder / "tiny.tla").write_text(TINY)
    (folder / "MCtiny.tla").write_text("---- MODULE MCtiny ----\nEXTENDS tiny\n====\n")
    (folder / "models.toml").write_text(TINY_RUNS)
    (tmp_path / "build" / "model" / "java").mkdir(parents=True)
    (tmp_path / "build" / "tools").symlink_to(TOP / "build" / "tools")
    return tmp_path


def changes_of(folder: Path) -> changed.Row:
    return changed.load("tiny", models.find(folder / "spec"), folder / "build")


@pytest.mark.tools
def test_changes_are_found_where_the_specification_looks(tiny: Path) -> None:
    row = changes_of(tiny)
    assert {change.definition for change in row.changes} == {"Room", "MayStep", "Init", "Step", "Stay", "Next"}
    found = {f"{change.definition}: {change.says}" for change in row.changes}
    assert {
        "Room: one more: 3",
        "MayStep: < becomes <=: x < Room",
        "MayStep: conjunct left out: ghost >= 0",
        "MayStep: negated: x < Room",
        "Step: always ELSE: x = 2",
        "Step: not updated: x' = IF x = 2 THEN x + 1 ELSE x + 1",
        "Next: branch left out: Stay",
    } <= found
    assert "Step: not updated: ghost' = ghost" not in found, "that is no change"


@pytest.mark.tools
def test_changes_are_the_same_wherever_a_definition_stands(tiny: Path) -> None:
    before = [change.name for change in changes_of(tiny).changes]
    path = tiny / "spec" / "tiny" / "tiny.tla"
    path.write_text(path.read_text().replace("VARIABLES", "\\* A comment that moves all.\n\nVARIABLES"))
    assert [change.name for change in changes_of(tiny).changes] == before
    assert before == sorted(before, key=lambda name: name.split()[1])


def test_a_change_leaves_the_columns_of_all_that_follows() -> None:
    text = "A == /\\ x < 1 /\\ \\/ y\n               \\/ z\n"
    shifted = changes.replaced(text, text.index("< 1"), text.index("< 1") + 1, "=<>")
    assert [line.rstrip() for line in shifted.splitlines()] == [
        "A == /\\ x =<>",
        "            1 /\\ \\/ y",
        "               \\/ z",
    ]
    assert changes.replaced("x <= 1", 2, 4, "<") == "x <  1"


@pytest.mark.tools
@pytest.mark.parametrize(
    ("says", "verdict", "by"),
    [
        ("one more: 3", "killed", "MCtiny_small: InRoom"),
        ("< becomes <=: x < Room", "killed", "MCtiny_small: InRoom"),
        ("one less: 3", "killed", "MCtiny_reach_full: reached no more"),
        ("branch left out: Stay", "killed", "MCtiny_small: deadlock"),
        ("always ELSE: x = 2", "survived", ""),
        ("conjunct left out: ghost >= 0", "survived", ""),
        ("conjunct left out: ghost = 0", "invalid", "MCtiny_small: "),
        ("always THEN: ghost < 0", "counts only", "MCtiny_small: 21 states"),
    ],
)
def test_a_change_is_judged_by_what_shows_it(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, says: str, verdict: str, by: str
) -> None:
    monkeypatch.setattr(changed, "MOST_MORE", 0)  # what would go on for ever ends after 5 times 4 states
    row = changes_of(tiny)
    change = next(one for one in row.changes if one.says == says)
    tried = changed.attempt(row, change, tiny / "build", threading.Event())
    assert (tried.verdict, tried.by[: len(by)]) == (verdict, by)


def tried_as(verdict: changed.Verdict, name: str) -> changed.Tried:
    return changed.Tried(changes.Change("tiny", name, "one more", "3", ()), verdict)


def test_each_change_that_no_property_shows_is_listed_and_no_other() -> None:
    tried = [tried_as("survived", "A"), tried_as("counts only", "B"), tried_as("killed", "C")]
    a, b, c = (one.change for one in tried)

    def listed(change: changes.Change, seen: str = "survived", says: str = "") -> dict[str, survivors.Survivor]:
        why = "Nothing depends on it."
        values = {"change": change.name, "says": says or change.says, "seen": seen, "why": why}
        return {change.name: survivors.Survivor.model_validate(values)}

    there = {change.name for change in (a, b, c)}
    assert survivors.wrong(tried, listed(a) | listed(b, "counts only"), there) == {}
    assert set(survivors.wrong(tried, listed(a), there)) == {b.name}, "not listed"
    assert set(survivors.wrong(tried, listed(a) | listed(b), there)) == {b.name}, "listed as something else"
    assert set(survivors.wrong(tried, listed(a, says="one less: 3") | listed(b, "counts only"), there)) == {a.name}
    assert set(survivors.wrong(tried[:1], listed(a) | listed(c), there)) == set(), "not tried"
    assert set(survivors.wrong(tried, listed(a) | listed(b, "counts only") | listed(c), there)) == {c.name}, "killed"
    assert set(survivors.wrong(tried[:1], listed(a) | listed(b), {a.name})) == {b.name}, "gone"


def test_survivors_need_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "survivors.toml"
    with pytest.raises(survivors.ListError, match="number = 12"):
        survivors.load(path)
    entry = survivors.entry(tried_as("survived", "A"))
    path.write_text(f"number = 2\n{entry}")
    with pytest.raises(survivors.ListError, match="why"):
        survivors.load(path)
    path.write_text("number = 2\n" + entry.replace('why = ""', 'why = "Nothing depends on it."'))
    number, listed = survivors.load(path)
    assert (number, [one.seen for one in listed.values()]) == (2, ["survived"])


def test_a_first_look_has_each_row_that_has_models() -> None:
    found = models.find(TOP / "spec")
    chosen = smallest(found)
    for stem in {run.stem for run in found}:
        assert sorted(run.must_fail for run in chosen if run.stem == stem) == [False, True]

# SPDX-License-Identifier: PostgreSQL
"""The runner of the models: it reads what TLC and Apalache say, and lets nothing pass that isn't what was accepted."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spec.tools import apalache, configs, manifest, readme, results, tlc
from spec.tools.configs import Config, ConfigError
from spec.tools.outcome import Outcome, ToolMissing
from spec.tools.runner import Item


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


def config(kind: str = "small", violates: str | None = None, module: str = "MCM.tla") -> Config:
    path = Path(f"spec/stem/{Path(module).stem}_{kind}.cfg")
    return Config(path, path.with_name(module), kind, "It holds.", violates, 300, 0)


def test_complete_run_is_read() -> None:
    seen = tlc.parse(COMPLETE, 0, "")
    assert (seen.result, seen.total, seen.distinct, seen.depth, seen.tool) == ("success", 1234, 567, 7, "TLC 2.18")


@pytest.mark.parametrize(
    ("said", "exit_code", "config_text", "name"),
    [
        (message(2110, "Invariant Small is violated.", 1), 12, "", "Small"),
        (message(2107, "Invariant Small is violated by the initial state:\nx = 1", 1), 12, "", "Small"),
        (message(2112, "Action property Grows is violated.", 1), 13, "", "Grows"),
        (message(2114, "Deadlock reached.", 1), 11, "", "deadlock"),
        (message(2116, "Temporal properties were violated.", 1), 13, "INVARIANT A\nPROPERTY Live\n", "Live"),
        (
            message(2116, "Temporal properties were violated.", 1),
            13,
            "PROPERTIES Live\n  Other\n",
            "one of Live, Other",
        ),
    ],
)
def test_violation_is_named(said: str, exit_code: int, config_text: str, name: str) -> None:
    seen = tlc.parse(HEAD + said + TRACE, exit_code, config_text)
    assert (seen.result, seen.property, seen.trace_length) == ("violation", name, 2)


def test_violation_in_an_initial_state_has_a_trace_of_one() -> None:
    seen = tlc.parse(HEAD + message(2107, "Invariant Small is violated by the initial state:\nx = 1", 1), 12, "")
    assert seen.trace_length == 1


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
    seen = tlc.parse(output, exit_code, "")
    assert seen.result == "error"
    assert manifest.unfit(config(), seen)
    assert manifest.unfit(config("mutant", "Small"), seen)


def test_error_carries_what_tlc_said() -> None:
    seen = tlc.parse(HEAD + message(1000, "Unknown operator:\n`Foo'.", 1), 150, "")
    assert "Unknown operator: `Foo'." in seen.reason


@pytest.mark.parametrize(
    ("parser", "reason"),
    [
        (
            '***Parse Error***\nWas expecting "END"\nEncountered "x" at line 5\n\nResidual stack trace follows:\nM',
            "at line 5",
        ),
        ("*** Errors: 1\n\nline 5, col 1 of module M\n\nUnknown operator: `Foo'.\n\n\n\n", "Unknown operator: `Foo'."),
    ],
)
def test_module_that_does_not_parse_is_said_why(parser: str, reason: str) -> None:
    seen = tlc.parse(HEAD + parser + "\n" + message(3002, "Parsing or semantic analysis failed.", 1), 150, "")
    assert seen.result == "error"
    assert seen.reason.endswith(reason)


def test_action_never_taken_fails() -> None:
    covered = message(2772, "<Inc line 5, col 1 to line 5, col 3 of module M>: 3:5")
    idle = message(2772, "<Never line 6, col 1 to line 6, col 5 of module M>: 0:0")
    seen = tlc.parse(COMPLETE + covered + idle, 0, "")
    assert (seen.actions, seen.never_taken) == (2, ["Never"])
    item = Item(config("large"), None, "passed", [], seen)
    assert results.never_taken([item]) == ["stem/MCM.Never"]
    other = tlc.parse(COMPLETE + covered + idle.replace("0:0", "0:4"), 0, "")
    assert results.never_taken([item, Item(config("large"), None, "passed", [], other)]) == []
    later = message(2772, "<Never line 6, col 1 to line 6, col 5 of module M>: 0:4")
    assert tlc.parse(COMPLETE + covered + idle + later, 0, "").never_taken == []


def accepted(which: Config, seen: Outcome) -> manifest.Entry:
    return manifest.entry(which, seen)


def test_what_was_accepted_passes() -> None:
    seen = tlc.parse(COMPLETE, 0, "")
    assert manifest.differences(config(), seen, accepted(config(), seen)) == []


@pytest.mark.parametrize(("field", "value"), [("distinctStates", 566), ("stateDepth", 8), ("result", "violation")])
def test_control_a_wrong_expected_figure_fails(field: str, value: object) -> None:
    seen = tlc.parse(COMPLETE, 0, "")
    wrong = accepted(config(), seen) | {field: value}
    assert field in manifest.differences(config(), seen, wrong)[0]


def test_time_and_total_states_may_differ() -> None:
    seen = tlc.parse(COMPLETE, 0, "")
    assert not manifest.differences(
        config(), seen, accepted(config(), seen) | {"runtime": "09:00:00", "totalStates": 1}
    )


def test_model_that_is_not_in_the_manifest_fails() -> None:
    assert "model-accept" in manifest.differences(config(), tlc.parse(COMPLETE, 0, ""), None)[0]


def test_control_a_must_fail_model_that_passes_fails() -> None:
    must_fail, seen = config("mutant", "Small"), tlc.parse(COMPLETE, 0, "")
    assert manifest.unfit(must_fail, seen) == ["must fail on Small, but passed"]
    assert manifest.differences(must_fail, seen, accepted(must_fail, seen)), "not even when it was accepted so"


def test_must_fail_model_has_to_fail_on_its_property_and_as_soon_as_ever() -> None:
    seen = tlc.parse(BROKEN, 12, "")
    assert manifest.unfit(config("mutant", "Small"), seen) == []
    assert manifest.unfit(config("mutant", "Other"), seen) == ["must fail on Other, but failed on Small"]
    longer = accepted(config("mutant", "Small"), seen) | {"traceLength": 3}
    assert manifest.differences(config("mutant", "Small"), seen, longer) == ["traceLength: accepted 3, now 2"]


def test_violation_in_a_model_that_must_hold_fails() -> None:
    assert manifest.unfit(config(), tlc.parse(BROKEN, 12, "")) == ["Small is violated, after 2 states"]


def test_apalache_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apalache, "find", lambda: ("apalache-mc", "Apalache 0.0"))
    good = apalache.parse("The outcome is: NoError\nEXITCODE: OK", 0, "INVARIANT A")
    assert good.result == "success"
    bad = apalache.parse("State 2: state invariant 1 violated.\nThe outcome is: Error", 12, "INVARIANT A")
    assert (bad.result, bad.property, bad.trace_length) == ("violation", "A", 3)
    assert apalache.parse("no type   E@12:00:00.000", 120, "").reason == "no type"
    assert apalache.parse("The outcome is: Deadlock", 0, "").result == "error"


def write_model(folder: Path, name: str, text: str, module: str = "MCM.tla") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / module).write_text("---- MODULE MCM ----\n====\n")
    (folder / name).write_text(text)
    return folder / name


def test_configuration_is_read(tmp_path: Path) -> None:
    path = write_model(
        tmp_path / "stem",
        "MCM_mutant_far_off.cfg",
        "\\* says: It breaks.\n\\* violates: Small\nINVARIANTS\n    Small \\* not Other\nPROPERTY Live\n",
    )
    read = configs.read(path)
    assert (read.stem, read.module.name, read.kind, read.violates) == ("stem", "MCM.tla", "mutant", "Small")
    assert read.must_fail
    assert configs.properties(path.read_text()) == ["Small", "Live"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("MCM_other.cfg", "\\* says: x\n", "the name must be"),
        ("MCN_small.cfg", "\\* says: x\n", "no module"),
        ("MCM_small.cfg", "INVARIANT A\n", "says"),
        ("MCM_small.cfg", "\\* says: x\n\\* violates: A\nINVARIANT A\n", "violates"),
        ("MCM_mutant_x.cfg", "\\* says: x\nINVARIANT A\n", "violates"),
        ("MCM_mutant_x.cfg", "\\* says: x\n\\* violates: B\nINVARIANT A\n", "not among"),
        ("MCM_laws.cfg", "\\* says: x\n", "Apalache"),
    ],
)
def test_bad_configuration_is_refused_with_a_reason(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        configs.read(write_model(tmp_path / "stem", name, text))


def test_unknown_stem_is_refused(tmp_path: Path) -> None:
    write_model(tmp_path / "stem", "MCM_small.cfg", "\\* says: x\n")
    with pytest.raises(ConfigError, match="there are: stem"):
        configs.discover(tmp_path, "other")


def test_accept_keeps_others_and_drops_what_is_gone(tmp_path: Path) -> None:
    for stem in ("one", "two"):
        write_model(tmp_path / stem, "MCM_small.cfg", "\\* says: x\n")
    both, path, seen = configs.discover(tmp_path), tmp_path / "manifest.json", tlc.parse(COMPLETE, 0, "")
    manifest.accept(path, both, {manifest.key(one): manifest.entry(one, seen) for one in both}, whole=True)
    seen.distinct = 9
    manifest.accept(path, both[:1], {manifest.key(both[0]): manifest.entry(both[0], seen)}, whole=False)
    assert {name: entry["distinctStates"] for name, entry in manifest.load(path).items()} == {
        "one/MCM_small.cfg": 9, "two/MCM_small.cfg": 567}  # fmt: skip
    manifest.accept(path, both[:1], {}, whole=True)
    assert list(manifest.load(path)) == ["one/MCM_small.cfg"]


def test_readme_table_must_equal_the_manifest(tmp_path: Path) -> None:
    path, which = tmp_path / "README.md", config()
    path.write_text("<!-- models: written by 'make model-accept' -->\n<!-- end of models -->\n")
    entries = {manifest.key(which): manifest.entry(which, tlc.parse(COMPLETE, 0, ""))}
    assert readme.differs(path, [which], entries)
    readme.write(path, [which], entries)
    assert readme.differs(path, [which], entries) == ""
    assert "| `stem/MCM_small` | It holds. | 567 distinct, depth 7 |" in path.read_text()
    path.write_text(path.read_text().replace("567", "568"))
    assert "567" in readme.differs(path, [which], entries)


def test_skipped_is_never_counted_as_passed() -> None:
    item = Item(config("laws", module="APM.tla"), None, "skipped", ["no Apalache"], Outcome("skipped", "no Apalache"))
    assert results.says([item]) == "0 models hold (0 distinct states), 0 fail as they must, 1 skipped"


TOP = Path(__file__).resolve().parent.parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with the real XID models, small ones only, and a manifest of just these."""
    try:
        tlc.find(TOP / "build")
    except ToolMissing as error:
        pytest.skip(str(error))
    shutil.copytree(TOP / "spec" / "common", tmp_path / "spec" / "common")
    (tmp_path / "spec" / "xid").mkdir()
    for name in ("XidLaws.tla", "MCXid.tla", "MCXid_small.cfg", "MCXid_mutant_third.cfg"):
        shutil.copy(TOP / "spec" / "xid" / name, tmp_path / "spec" / "xid")
    small = tmp_path / "spec" / "xid" / "MCXid_small.cfg"
    small.write_text(small.read_text().split("INVARIANTS")[0] + "INVARIANTS\n    Transitive\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "tools").symlink_to(TOP / "build" / "tools")
    whole = manifest.load(TOP / "spec" / "manifest.json")
    mine = configs.discover(tmp_path / "spec")
    manifest.accept(
        tmp_path / "spec" / "manifest.json", mine, {manifest.key(one): whole[manifest.key(one)] for one in mine}, True
    )
    return tmp_path


def run_models(folder: Path) -> tuple[int, dict[str, str]]:
    """The runner on the copy: its exit code, and the status of each model."""
    command = [sys.executable, str(TOP / "spec" / "run.py"), "--stem", "xid"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    written = folder / "build" / "results" / "model.json"
    items = json.loads(written.read_text())["items"] if written.is_file() else []
    return done.returncode, {item["name"]: item["status"] for item in items} or {"said": done.stderr}


def test_real_models_pass_and_a_wrong_count_or_a_mended_mutant_fails(copied: Path) -> None:
    assert run_models(copied) == (0, {"MCXid_mutant_third": "passed", "MCXid_small": "passed"})

    path = copied / "spec" / "manifest.json"
    path.write_text(path.read_text().replace('"distinctStates": 3346', '"distinctStates": 3345'))
    third = copied / "spec" / "xid" / "MCXid_mutant_third.cfg"
    third.write_text(third.read_text().replace("Span = 16", "Span = 8"))
    assert run_models(copied) == (1, {"MCXid_mutant_third": "failed", "MCXid_small": "failed"})


def test_module_that_does_not_parse_fails(copied: Path) -> None:
    module = copied / "spec" / "xid" / "XidLaws.tla"
    module.write_text(module.read_text().replace("Irreflexive ==", "Irreflexive = ="))
    assert run_models(copied) == (1, {"MCXid_mutant_third": "failed", "MCXid_small": "failed"})


def test_property_that_nothing_breaks_is_found(tmp_path: Path) -> None:
    write_model(tmp_path / "stem", "MCM_small.cfg", "\\* says: x\nINVARIANTS\n    A\n    B\n")
    write_model(tmp_path / "stem", "MCM_mutant_a.cfg", "\\* says: x\n\\* violates: A\nINVARIANT A\n")
    write_model(tmp_path / "other", "MCM_mutant_b.cfg", "\\* says: x\n\\* violates: B\nINVARIANT B\n")
    assert configs.unbroken(configs.discover(tmp_path)) == ["stem/B"]


def test_missing_tools_say_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLA2TOOLS", str(tmp_path / "none.jar"))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(ToolMissing, match="is no file"):
        tlc.find(tmp_path)
    monkeypatch.delenv("TLA2TOOLS")
    with pytest.raises(ToolMissing, match="make setup"):
        tlc.find(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ToolMissing, match="java is missing"):
        tlc.find(tmp_path)
    monkeypatch.delenv("APALACHE", raising=False)
    with pytest.raises(ToolMissing, match="APALACHE="):
        apalache.find.__wrapped__()

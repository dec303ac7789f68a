# SPDX-License-Identifier: PostgreSQL
"""How long a command takes is told in several places: for the same command all tell about the same. A run that took
another time says so, and fails nothing."""

import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tools.claims import __main__ as claims
from tools.common import told
from tools.common.told import FACTOR, in_help, minutes

TOP = Path(__file__).resolve().parent.parent
TABLES = ("README.md", "bench/README.md")
Told = dict[str, dict[str, float]]
"""Command without `make` -> where its time is told -> minutes."""


def in_tables(text: str) -> Iterator[tuple[str, str]]:
    """Lines of tables that name one command, and end with a time. Of all stems: what a single one takes is less."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        commands = re.findall(r"`make ([^`]+)`", cells[-2]) if len(cells) == 3 else []
        if len(commands) == 1:
            yield commands[0], cells[-1]


def in_claims(text: str) -> Iterator[tuple[str, float]]:
    for claim in claims.read(text):
        if len(claim.commands) == 1 and claim.minutes is not None:
            yield claim.commands[0].removeprefix("make "), claim.minutes


def in_jobs(text: str) -> Iterator[tuple[str, float]]:
    """What was measured last of a job that is a target of that name."""
    for name, job in tomllib.loads(text).items():
        if job["measured"] and name not in ("make", "full"):  # `full` does less than when it was measured
            yield name, job["measured"][-1]["seconds"] / 60


def told_anywhere() -> Told:
    found: Told = defaultdict(dict)
    times = [("make help", command, time) for command, time in told.texts().items()]
    for name in TABLES:
        times += [(name, command, time) for command, time in in_tables((TOP / name).read_text())]
    for path in sorted(TOP.glob("tools/*/commands.toml")):
        says = " ".join(re.findall(r'^says = "(.*)"$', path.read_text(), re.MULTILINE))
        times += [
            ("pgquern --help", path.parent.name.replace("_", "-"), about) for about in re.findall(r"\(([^()]*)\)", says)
        ]
    for place, command, time in times:
        if (much := minutes(time)) is not None:
            found[command][place] = much
    for command, much in in_claims((TOP / "CLAIMS.md").read_text()):
        found[command]["CLAIMS.md"] = much
    for command, much in in_jobs((TOP / "tools/job/jobs.toml").read_text()):
        found[command]["tools/job/jobs.toml"] = much
    return found


def apart(found: Told) -> Told:
    """The commands of which two places tell times that differ by more than the factor."""
    return {
        command: places for command, places in found.items() if max(places.values()) > FACTOR * min(places.values())
    }


def test_the_times_told_of_a_command_agree() -> None:
    found = told_anywhere()
    assert apart(found) == {}
    several = [command for command, places in found.items() if len(places) > 1]
    assert len(several) > 20
    for command in ("quick", "test", "model", "stack", "simulate", "workloads", "instructions", "test-minors"):
        assert command in several


def test_times_that_differ_are_found_and_read() -> None:
    assert apart({"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 2.1}}) == {"y": {"a": 1, "b": 2.1}}
    lines = "| see | `make x Y=1` | 30 s |\n| it | `make y`, `make z` | 1 s |\n| it | `make a` | 9 minutes, busy |\n"
    assert {command: minutes(time) for command, time in in_tables(lines)} == {"x Y=1": 0.5, "a": 9}
    shown = "  make x    what (so) (2 hours planned; 3 min)\n  make y   what (7 minutes a stem)\n"
    assert {command: minutes(time) for command, time in in_help(shown)} == {"x": 120}
    assert [minutes(text) for text in ("a minute", "about 8 minutes", "hours", "as prove", "1 h")] == [
        1,
        8,
        None,
        None,
        60,
    ]


TEXTS = {"long": "2 minutes", "brief": "20 s", "twice": "1 minute, again: 1 s", "untold": "as long as the work"}


@pytest.mark.parametrize(
    ("target", "took", "whole", "says"),
    [
        ("long", 240, True, ""),
        ("long", 241, True, "told 120 s, took 4 minutes: make long"),
        ("long", 60, True, ""),
        ("long", 59, True, "told 120 s, took 59 s: make long"),
        ("long", 59, False, ""),
        ("long", 241, False, "told 120 s, took 4 minutes: make long"),
        ("brief", 9, True, ""),
        ("brief", 41, True, "told 20 s, took 41 s: make brief"),
        ("twice", 1, True, ""),
        ("twice", 121, True, "told 60 s, took 2 minutes: make twice"),
        ("untold", 1e6, True, ""),
        ("unknown", 1e6, True, ""),
        ("long STEM=x", 1e6, True, ""),
    ],
)
def test_a_run_far_from_the_time_told_is_told(
    monkeypatch: pytest.MonkeyPatch, target: str, took: float, whole: bool, says: str
) -> None:
    monkeypatch.setattr(told, "texts", lambda: TEXTS)
    assert told.apart(target, took, whole=whole) == says


def test_the_time_of_a_target_is_that_of_its_help() -> None:
    assert told.seconds("help") == 1
    assert told.seconds("fuzz") is None  # of one stem only
    assert told.seconds("everything") is None


@pytest.mark.parametrize(
    ("flags", "variables"),
    [("", False), (" -j2 --jobserver-auth=3,4", False), (" -- STEM=x", True), ("s -- STEM=x", True)],
)
@pytest.mark.parametrize("goal", ["long", "brief", "long brief", ""])
def test_a_command_of_a_person_s_that_is_late_says_so(
    monkeypatch: pytest.MonkeyPatch, flags: str, variables: bool, goal: str
) -> None:
    monkeypatch.setattr(told, "texts", lambda: TEXTS)
    monkeypatch.setattr(told, "BEGAN", monotonic() - 100)
    monkeypatch.setenv("MAKEFLAGS", flags)
    monkeypatch.setenv("PGQUERN_GOAL", goal)
    assert told.with_variables() is variables
    assert told.late().endswith(": make brief") is (goal == "brief" and not variables)
    assert (told.late() == "") is (goal != "brief" or variables)


WRITES = """
from tools.common import results, told
told.texts, told.BEGAN = lambda: {"brief": "20 s"}, told.BEGAN - 100
for stem in "one", "two":
    results.write("layer", stem, [{"name": "x", "status": "passed"}], says="", tools={})
"""


def test_what_writes_a_result_says_once_that_it_was_late(tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(TOP),
        "PGQUERN_GOAL": "brief",
        "MAKEFLAGS": "",
        "PGQUERN_RESULTS": "r",
    }
    done = subprocess.run([sys.executable, "-c", WRITES], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "")
    assert re.fullmatch(r"warning: told 20 s, took 1\d\d s: make brief\n", done.stderr), done.stderr


@pytest.mark.parametrize(("goals", "goal"), [(["one"], "[one]"), (["one", "two"], "[one two]"), (["outer"], "[outer]")])
def test_make_tells_its_programs_what_a_person_asked_for(goals: list[str], goal: str) -> None:
    rules = 'one: ; @echo "[$$PGQUERN_GOAL]"', "two: ;", "outer: ; @$(MAKE) -s --eval '$(value rule)' one"
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKELEVEL", "MAKEFLAGS")}
    command = ["make", "-s", *(f"--eval={rule}" for rule in rules), *goals]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, env=clean | {"rule": rules[0]})
    assert done.stdout == goal + "\n", done.stderr

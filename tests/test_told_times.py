# SPDX-License-Identifier: PostgreSQL
"""How long a command takes is told in several places: for the same command all tell about the same."""

import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.claims import __main__ as claims

TOP = Path(__file__).resolve().parent.parent
TABLES = ("README.md", "bench/README.md")
FACTOR = 2.0
"""Machines differ, and so do a quiet and a busy one."""
MINUTES = {"s": 1 / 60, "min": 1.0, "h": 60.0, "hour": 60.0}
Told = dict[str, dict[str, float]]
"""Command without `make` -> where its time is told -> minutes."""


def minutes(text: str) -> float | None:
    """The first time of a text, in minutes: that on quiet cores, or of the first run."""
    found = re.search(r"\b(\d+|a) (s|min|h|hour)(?:ute)?s?\b", text)
    return (1 if found[1] == "a" else int(found[1])) * MINUTES[found[2]] if found else None


def in_help(shown: str) -> Iterator[tuple[str, str]]:
    for target, about in re.findall(r"^  make ([a-z-]+) .*\(([^()]*)\)$", shown, re.MULTILINE):
        if "a stem" not in about or "the longest stem" in about:
            yield target, about


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


def told() -> Told:
    found: Told = defaultdict(dict)
    shown = subprocess.run(["make", "-s", "help"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    texts = [("make help", command, time) for command, time in in_help(shown)]
    for name in TABLES:
        texts += [(name, command, time) for command, time in in_tables((TOP / name).read_text())]
    for path in sorted(TOP.glob("tools/*/commands.toml")):
        says = " ".join(re.findall(r'^says = "(.*)"$', path.read_text(), re.MULTILINE))
        texts += [
            ("pgquern --help", path.parent.name.replace("_", "-"), about) for about in re.findall(r"\(([^()]*)\)", says)
        ]
    for place, command, time in texts:
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
    found = told()
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

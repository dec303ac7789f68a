# SPDX-License-Identifier: PostgreSQL
"""CLAIMS.md names commands and tests that are there; `make claims` and `claims-check` give each claim its verdict."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tools.claims import __main__ as claims
from tools.common import results
from tools.common.results import Item

TOP = Path(__file__).parents[2]
LISTED = claims.read((TOP / "CLAIMS.md").read_text())
MAKEFILE = """
compiled:
holds:
\t@echo "begun"; echo "12 passed"
fails:
\t@echo "12 passed"; exit 3
skips:
\t@echo "skips: SKIPPED: no tool"
twice:
\t@echo x >> ran; wc -l < ran
"""


def run(folder: Path, shown: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "CLAIMS.md").write_text(f"| # | claim | shown by |\n|---|---|---|\n| 1 | It is so | {shown} |\n")
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    command = [sys.executable, "-m", "tools.claims", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("shown", "verdict", "says", "code"),
    [
        ("`make holds`", "holds", "12 passed", 0),
        ("`make holds`, `make fails`", "FAILED", "make fails ended with 2", 1),
        ("`make holds`, `make skips`", "SKIPPED", "no tool", 1),
        ("`make nothing-of-that-name`", "FAILED", "make nothing-of-that-name ended with 2", 1),
        ("`make twice`", "holds", "1", 0),
    ],
)
def test_each_claim_gets_its_verdict(tmp_path: Path, shown: str, verdict: str, says: str, code: int) -> None:
    done = run(tmp_path, shown)
    assert done.returncode == code, done.stdout + done.stderr
    assert re.search(rf"│ 1 +│ {verdict} +│ .*{says}", done.stdout)


@pytest.mark.parametrize(
    ("test", "verdict", "code"),
    [
        ("def test_it():\n    pass", "holds", 0),
        ("def test_it():\n    assert 0", "FAILED", 1),
        ("@pytest.mark.skip(reason='no tool')\ndef test_it():\n    pass", "SKIPPED", 1),
    ],
)
def test_a_claim_may_be_shown_by_tests_with_its_marker(tmp_path: Path, test: str, verdict: str, code: int) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(f"import pytest\npytestmark = pytest.mark.claim1\n{test}\n")
    done = run(tmp_path, "`pytest -m claim1`")
    assert (done.returncode, bool(re.search(rf"│ 1 +│ {verdict} ", done.stdout))) == (code, True), done.stdout
    (tmp_path / "tests" / "test_one.py").unlink()
    assert "ended with 5" in run(tmp_path, "`pytest -m claim1`").stdout, "no test has the marker"


def test_only_one_claim_runs_or_none_if_they_are_listed(tmp_path: Path) -> None:
    assert run(tmp_path, "`make fails`", "--list").returncode == 0
    assert "has the claims 1 to 1: there is no claim 3" in run(tmp_path, "`make holds`", "--claim", "3").stderr


def item(status: str, **more: object) -> dict[str, object]:
    return {"name": "it", "status": status, "reason": "no tool", **more}


@pytest.mark.parametrize(
    ("layer", "statuses", "verdict"),
    [
        ("proof", ["passed", "skipped"], "holds"),
        ("proof", ["passed", "failed"], "FAILED"),
        ("proof", ["skipped"], "SKIPPED"),
        ("proof", [], "not run"),
        ("model", ["passed"], "not run"),
    ],
)
def test_a_target_is_judged_by_the_results_of_its_layer(
    tmp_path: Path, layer: str, statuses: list[str], verdict: str
) -> None:
    results.write(layer, "one", [item(status) for status in statuses], says="", tools={}, folder=tmp_path)
    assert claims.verdict(claims.found("make prove", 1, results.load(tmp_path)))[0] == verdict


def test_a_quick_look_shows_nothing(tmp_path: Path) -> None:
    results.write("bench", "one", [item("passed")], says="", tools={}, folder=tmp_path, mode="quick")
    assert claims.found("make bench", 1, results.load(tmp_path)) == []


def test_tests_are_judged_by_their_marker_whatever_ran_them(tmp_path: Path) -> None:
    results.write("test", "one", [item("passed", claims=[3]), item("failed")], says="", tools={}, folder=tmp_path)
    results.write("asan", "one", [item("passed", claims=[3, 4])], says="", tools={}, folder=tmp_path)
    every = results.load(tmp_path)
    found = {number: claims.verdict(claims.found("pytest -m claim", number, every)) for number in (3, 4, 5)}
    assert found == {3: ("holds", "2 passed, 0 skipped"), 4: ("holds", "1 passed, 0 skipped"), 5: ("not run", "")}
    assert all(isinstance(one, Item) for one in claims.found("pytest -m claim3", 3, every))


@pytest.mark.parametrize("row", ["| 2 | It | `make x` |", "| 1 | It | see there |", "| 1 | It | is | `make x` |"])
def test_a_row_that_cannot_be_checked_is_an_error(row: str) -> None:
    with pytest.raises(click.ClickException, match=r"Claim \d of CLAIMS"):
        claims.read(row)


def test_there_are_at_most_15_claims_and_each_command_of_theirs_is_there() -> None:
    rules = "".join(
        path.read_text() for path in [TOP / "Makefile", *TOP.glob("*/**/*.mk")] if "build" not in path.parts
    )
    settings = (TOP / "pyproject.toml").read_text()
    tests = "".join(path.read_text() for path in TOP.glob("tests/**/test_*.py"))
    assert 10 < len(LISTED) <= 15
    for claim in LISTED:
        for command in claim.commands:
            name = command.split()[-1] if command.startswith("pytest") else command.split()[1]
            if command.startswith("pytest"):
                assert name == f"claim{claim.number}"
                assert f'"{name}' in settings
                assert f"mark.{name}\n" in tests or f"mark.{name}]" in tests
            elif command.startswith("make"):
                assert re.search(rf"^{name}:.*##", rules, re.MULTILINE), name
                assert set(re.findall(r"=(\w+)", command)) <= set(re.findall(r"\w+", rules))
            else:
                assert (TOP / "tools" / name / "__main__.py").exists()


def test_ci_judges_the_claims() -> None:
    """As the last thing that it does."""
    assert re.search(r"^STEPS_ci(.*\\\n)*.*claims-check$", (TOP / "Makefile").read_text(), re.MULTILINE)

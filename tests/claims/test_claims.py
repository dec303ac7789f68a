# SPDX-License-Identifier: PostgreSQL
"""CLAIMS.md names commands that are there; and `make claims` tells claims that hold from those that do not."""

import contextlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import pytest

from tools.claims import __main__ as claims
from tools.claims import ran
from tools.common import matrix
from tools.job import __main__ as job
from tools.job.__main__ import inner, jobs
from tools.job.kept import KEPT
from tools.report import counts

TOP = Path(__file__).resolve().parents[2]
LISTED = claims.read((TOP / "CLAIMS.md").read_text())
MAKEFILE = """
holds:
\t@echo "begun"; echo "12/12 theorems, 3,400 pages"
fails:
\t@echo "12/12 theorems, 3,400 pages"; exit 3
lacks:
\t@echo "12/12 theorems"
skips:
\t@echo "SKIPPED skips: no tool | here"
twice:
\t@echo x >> ran; wc -l < ran
other:
\t@echo "of $(PG)"
narrow:
\t@echo "minutes: ($(MINUTES))"
whole:
\t@echo "all of it"
help:
\t@echo "  make holds   at once (0 s)"; echo "  make skips   long (2 hours)"
\t@echo "  make fails   long (2 hours)"; echo "  make whole   long (2 hours)"
"""
TABLE = """
Words before.

| # | claim | check it by | time | it prints |
|---|---|---|---|---|
| 1 | This holds | `make holds` | 10 s | `N/N theorems`, and `N pages` |
"""
OF = {
    "holds": "| 2 | It is so | `make holds`, `make lacks` | 2 min | `3,400 pages`; `N/N theorems` |",
    "fails": "| 2 | It is so | `make fails` | 2 min | `N/N theorems` |",
    "lacks": "| 2 | It is so | `make lacks` | never timed whole | `N pages` |",
    "skips": "| 2 | It is so | `make skips` | 1 min | `N pages` |",
    "empty": "| 2 | It is so | `make nothing-of-that-name` | 1 min | `N pages` |",
    "other": "| 2 | It is so | `make other PG=/path/to/postgres` | 1 min | `of` |",
}


@pytest.fixture(scope="module")
def targets() -> set[str]:
    offered = subprocess.run(["make", "-s", "help"], cwd=TOP, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  make ([a-z-]+) ", offered, re.MULTILINE))


def run(folder: Path, rows: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "CLAIMS.md").write_text(TABLE + rows + "\n")
    command = [sys.executable, "-m", "tools.claims", *options]
    # As under `make claims MINUTES=5`.
    environment = os.environ | {"PYTHONPATH": str(TOP), "MINUTES": "5", "MAKEFLAGS": " -- MINUTES=5"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("name", "verdict", "says", "code"),
    [
        ("holds", "holds", "`12/12 theorems, 3,400 pages`; `12/12 theorems, 3,400 pages`", 0),
        ("fails", "FAILED", "make fails ended with 2: build/claims/fails.log", 1),
        ("lacks", "FAILED", "nowhere in the output: N pages", 1),
        ("skips", "SKIPPED", r"SKIPPED skips: no tool \| here", 0),
        ("empty", "FAILED", "make nothing-of-that-name ended with 2", 1),
        ("other", "SKIPPED", "say where a checkout is, as PG=/path/to/postgres", 0),
    ],
)
def test_each_claim_gets_its_verdict(tmp_path: Path, name: str, verdict: str, says: str, code: int) -> None:
    done = run(tmp_path, OF[name])
    assert done.returncode == code, done.stdout + done.stderr
    first, second = (tmp_path / "build" / "claims" / "CLAIMS.md").read_text().splitlines()[-2:]
    assert "| holds: `12/12 theorems, 3,400 pages`" in first
    assert f"| {verdict}: `" in second
    assert says in second
    assert re.search(rf"│ 2 +│ {verdict} ", done.stdout)


def test_a_command_of_several_claims_runs_once(tmp_path: Path) -> None:
    twice = "\n".join(f"| {n} | It is so | `make twice` | 1 s | `1` |" for n in (2, 3))
    assert run(tmp_path, twice).returncode == 0
    assert (tmp_path / "ran").read_text() == "x\n"


def test_a_command_gets_no_variable_of_make_claims(tmp_path: Path) -> None:
    assert run(tmp_path, "| 2 | It is so | `make narrow` | 1 s | `minutes: ()` |").returncode == 0


def test_what_runs_can_be_chosen(tmp_path: Path) -> None:
    one = run(tmp_path, OF["fails"], "--claim", "1")
    assert (one.returncode, "This holds" in one.stdout, "FAILED" in one.stdout) == (0, True, False)
    assert run(tmp_path, OF["fails"], "--minutes", "1").returncode == 0
    assert run(tmp_path, OF["lacks"], "--minutes", "1000").returncode == 0
    none = run(tmp_path, OF["fails"], "--claim", "3")
    assert (none.returncode, "has the claims 1 to 2: there is no claim 3" in none.stderr) == (2, True)
    listed = run(tmp_path, OF["fails"], "--list")
    assert (listed.returncode, "2. It is so\n   make fails" in listed.stdout) == (0, True)
    with_pg = run(tmp_path, OF["other"], "--claim", "2", "--postgres", "/some/where")
    assert (with_pg.returncode, "of /some/where" in with_pg.stdout) == (0, True)


@pytest.mark.parametrize(
    ("output", "piece", "has"),
    [
        ("x: 12/12 stop", "N/N stop", True),
        ("x: 11/12 stop", "N/N stop", False),
        ("x: 2/12 stop", "N/N stop", False),
        ("18 of 18 hold", "N of N hold", True),
        ("passed, pages", "N pages", False),
        ("3,400 pages", "N pages", True),
        ("10 failed", "0 failed", False),
        ("1,0 failed, 0 failed", "0 failed", True),
        ("a.b", "a+b", False),
        ("None pages", "None pages", True),
        ("0 of 0 hold", "N of N hold", False),
        ("0.0 pages", "N pages", False),
        ("12 of 123", "N of N", False),
        ("12 of 12.", "N of N", True),
        ("12 of 12,345", "N of N", False),
        ("8 of 560", "8 of 56", False),
        ("8 of 56, 7 of 56", "8 of 56", True),
    ],
)
def test_a_number_is_taken_whole_and_the_same_each_time(output: str, piece: str, has: bool) -> None:
    assert bool(claims.found_in(output, piece)) is has


def test_a_time_is_read_in_minutes() -> None:
    assert [claims.told_minutes(cell) for cell in ("2 min", "30 s", "2 h", "never")] == [2, 0.5, 120, None]


@pytest.mark.parametrize("row", ["| 2 | It is so | see there | 1 min | `x` |", "| 2 | It is so | `make x` | 1 s | x |"])
def test_a_row_that_cannot_be_checked_is_told(row: str) -> None:
    with pytest.raises(click.ClickException, match="Claim 2"):
        claims.read(TABLE + row)


@pytest.mark.parametrize("row", ["| 1 | Another | `make x` | 1 s | `x` |", "| 2 | It | is | `make x` | 1 s | `x` |"])
def test_no_row_is_lost(row: str) -> None:
    with pytest.raises(click.ClickException, match="stands there twice, or has not 5 cells"):
        claims.read(TABLE + row)


def test_no_claim_holds_by_the_name_of_a_file() -> None:
    """`make` prints which files it compiles."""
    files = (path for folder in ("bench", "csrc", "proofs", "spec", "tests") for path in (TOP / folder).rglob("*.*"))
    listed = "\n".join(str(path.relative_to(TOP)) for path in files)
    pieces = {piece: claims.found_in(listed, piece) for claim in LISTED for piece in claim.prints}
    assert {piece: name for piece, name in pieces.items() if name} == {}


def test_no_piece_wants_one_number_for_two_things() -> None:
    """Of "N of N hold, N checks" all three would be the same."""
    assert [piece for claim in LISTED for piece in claim.prints if len(re.findall(r"\bN\b", piece)) > 2] == []


def test_claims_are_numbered_from_one_on() -> None:
    assert [claim.number for claim in LISTED] == list(range(1, len(LISTED) + 1))


def contradicted(claim: claims.Claim, required: Counter[str]) -> list[str]:
    """The counts of theorems in a claim that are neither those of its commands' stems nor all."""
    stems = [stem for command in claim.commands for stem in re.findall(r"STEM=(\w+)", command)]
    right = {required[stem] for stem in stems} | {required.total()}
    told = re.findall(r"(?:(\d+)/)?(\d+) (?:required )?theorems", " ".join((claim.text, *claim.prints)))
    return [number for pair in told for number in pair if number and int(number) not in right]


def test_no_claim_tells_a_count_of_theorems_that_is_not_required() -> None:
    required = counts.theorems()
    assert {claim.number: wrong for claim in LISTED if (wrong := contradicted(claim, required))} == {}
    one = claims.Claim(1, "7 theorems", ["make prove STEM=a"], 1.0, ["N/N required theorems", "3/4 required theorems"])
    assert contradicted(one, Counter(a=3, b=4)) == ["4"]
    assert contradicted(one, Counter(a=4, b=2)) == ["7", "3"]


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: str(claim.number))
def test_each_command_of_a_claim_is_there(claim: claims.Claim, targets: set[str]) -> None:
    for command in claim.commands:
        target, *variables = command.removeprefix("make ").split()
        assert target in targets
        assert all(word.partition("=")[2] in matrix.stems(TOP) for word in variables if word.startswith("STEM="))


JOBS = """
[ci]
steps = ["holds", "part UP_TO=3", "test", "lost"]
kept = true
[test]
steps = ["inner"]
"""
OF_THE_JOB = """
test:
\t@echo "SKIPPED other: no tool"; echo "3 of 3 inner"
part:
\t@echo "of the part: 7 of 7"
lost:
\t@echo "7 of 7"; exit 1
"""


def judged(folder: Path, rows: str, *, flags: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a job that keeps what its steps print, and judges claims by that. `flags`: as `make` hands them on."""
    (folder / "tools/job").mkdir(parents=True)
    (folder / "tools/job/jobs.toml").write_text(JOBS)
    (folder / "Makefile").write_text(MAKEFILE + OF_THE_JOB)
    (folder / "CLAIMS.md").write_text(TABLE + rows + "\n")
    environment = os.environ | {"PYTHONPATH": str(TOP)}
    ran = subprocess.run(
        [sys.executable, "-m", "tools.job", "ci"], cwd=folder, capture_output=True, text=True,
        env=environment | {"MAKEFLAGS": flags},
    )  # fmt: skip
    assert ran.returncode == 1
    assert "12/12 theorems" in ran.stdout
    assert "of the part" in (folder / "build/job/ci/01-part.log").read_text()
    command = [sys.executable, "-m", "tools.claims.ran", "ci"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)


@pytest.mark.tools
@pytest.mark.parametrize(
    ("row", "verdict", "says", "code"),
    [
        ("`make inner STEM=x` | 1 min | `N of N inner`", "holds", "3 of 3 inner", 0),
        ("`make inner STEM=x` | 1 min | `N of N outer`", "FAILED", "nowhere in the output: N of N outer", 1),
        ("`make inner STEM=other` | 1 min | `N of N outer`", "SKIPPED", "SKIPPED other: no tool", 0),
        ("`make part` | 1 min | `N of N`", "in part", "of the part: 7 of 7", 0),
        ("`make part` | 1 min | `9 of N`", "in part", "not in the part that ran: 9 of N", 0),
        ("`make part UP_TO=3` | 1 min | `9 of N`", "FAILED", "nowhere in the output: 9 of N", 1),
        ("`make lost` | 1 min | `N of N`", "FAILED", "make lost failed", 1),
        ("`make inner`, `make fails` | 1 min | `N of N`", "", "not run by this job: 2 (make fails)", 0),
        ("`make inner MENDS=1` | 1 min | `N of N`", "", "not run by this job: 2 (make inner MENDS=1)", 0),
    ],
)
def test_claims_are_judged_by_what_a_job_has_run(tmp_path: Path, row: str, verdict: str, says: str, code: int) -> None:
    done = judged(tmp_path, f"| 2 | It is so | {row} |")
    assert done.returncode == code, done.stdout + done.stderr
    assert re.search(r"│ 1 +│ holds +│ 12/12 theorems, 3,400 pages", done.stdout)
    assert says in done.stdout
    if verdict:
        assert re.search(rf"│ 2 +│ {verdict} ", done.stdout)


@pytest.mark.tools
def test_a_job_that_a_person_narrowed_ran_a_part(tmp_path: Path) -> None:
    """`make ci EXAMPLES=few`: the steps get it, too."""
    few = "| 2 | It is so | `make test EXAMPLES=few` | 1 min | `N of N inner` |"
    done = judged(tmp_path, few, flags=" -- EXAMPLES=few")
    assert re.findall(r"│ (\d) +│ (in part|holds) ", done.stdout) == [("1", "in part"), ("2", "holds")]


def test_a_job_that_is_stopped_leaves_nothing_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    ci, before = jobs()["ci"], tmp_path / KEPT / "ci" / "steps.json"
    before.parent.mkdir(parents=True)
    before.write_text("[]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(job, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        job.run_kept("ci", ci, "")
    assert not before.exists()


@pytest.mark.parametrize(
    ("step", "command", "whole"),
    [
        ("a", "make a", True),
        ("a STEM=x", "make a STEM=x", True),
        ("a", "make a STEM=x", True),
        ("a FEW=1", "make a", None),
        ("job", "make a", True),
        ("job", "make b", None),
        ("job", "make b FEW=1 STEM=x", True),
        ("job FEW=1", "make a", None),
        ("above", "make b", None),
        ("above", "make c", None),
        ("differential", "make differential", True),
        ("test-python", "make differential", True),
    ],
)
def test_a_step_that_is_narrowed_in_a_job_ran_a_part(step: str, command: str, whole: bool | None) -> None:
    within = {"job": {"a", "b FEW=1"}, "above": {"job", "c ONE_IN=2", "a", "b FEW=1"}}
    assert ran.covers(step, command, within) is whole


@pytest.mark.parametrize("command", ["make b", "make a STEM=y", "make a MORE=1", "make a b", "make a && make b"])
def test_what_a_step_did_not_run_is_not_judged_by_it(command: str) -> None:
    with pytest.raises(KeyError):
        ran.covers("a STEM=x", command, {})


def test_the_steps_of_a_job_keep_how_they_are_narrowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tools/job").mkdir(parents=True)
    (tmp_path / "tools/job/jobs.toml").write_text(
        JOBS.replace('"test", "lost"', '"test WORLD=1"').replace('["inner"]', '["inner FEW=2"]')
    )
    monkeypatch.chdir(tmp_path)
    assert inner()["ci"] == {"holds", "part UP_TO=3", "test WORLD=1", "inner FEW=2 WORLD=1"}


def test_without_a_job_that_ran_there_is_nothing_to_judge(tmp_path: Path) -> None:
    (tmp_path / "tools/job").mkdir(parents=True)
    (tmp_path / "tools/job/jobs.toml").write_text(JOBS)
    done = subprocess.run(
        [sys.executable, "-m", "tools.claims.ran", "ci"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(TOP)},
    )  # fmt: skip
    assert (done.returncode, "run `make ci` first" in done.stderr) == (1, True)


def test_what_ci_runs_judges_most_claims_at_least_in_part() -> None:
    """And those of proofs and kernels whole: CI is what holds CLAIMS.md to its word."""
    within, steps = inner(), jobs()["ci"].steps

    def covered(command: str) -> bool | None:
        found = []
        for step in steps:
            with contextlib.suppress(KeyError):
                found.append(ran.covers(step, command, within))
        return None if not found else True in found

    seen = {claim.number: [covered(command) for command in claim.commands] for claim in LISTED}
    assert sum(None not in of for of in seen.values()) >= 20
    assert sum(all(of) for of in seen.values()) >= 8
    assert "claims-check" in jobs()["ci"].finally_

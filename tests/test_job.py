# SPDX-License-Identifier: PostgreSQL
"""A job runs every step and prints what failed and how to repeat it. It never fails because it is slow."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tools.common import results
from tools.job.__main__ import Step, jobs

JOBS = """
[make]
steps = ["good", "bad WORD=2", "silent"]
finally = ["report"]
seconds = {seconds}
row_seconds = 0
measured = {measured}
may_skip = ["this CPU"]
"""

MAKEFILE = """
%:
\t@test -e results/$@ && mkdir -p build/results/layer && cp results/$@ build/results/layer/$@.json || true
\t@echo ran $@$(WORD)
\t@! test -e fails/$@
"""


def result(stem: str, status: str) -> str:
    """A result of one item, finished far in the future, so that the job takes it for its own."""
    reasons = {"failed": "broken [here]", "skipped": "no such tool", "allowed": "this CPU lacks it"}
    status, reason = status.replace("allowed", "skipped"), reasons.get(status, "")
    item = {"name": f"{stem}[1]", "status": status, "reason": reason}
    told = {"layer": "layer", "stem": stem, "says": "one thing", "finished": "2999-01-01T00:00:00Z", "seconds": 5.0}
    return json.dumps(told | {"commit": "", "cpu": "", "cpu_level": "all", "tools": {}, "items": [item]})


def job(
    folder: Path, fails: dict[str, str], *, seconds: int = 0, measured: str = "[]", flags: str = "", told: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs `make`'s job in a tree of its own; `fails`: the targets that do not pass, and the status of their item.
    `flags`: as `make` hands them on; `told`: what `make help` prints."""
    for name in ("tools/job", "results", "fails"):
        (folder / name).mkdir(parents=True)
    (folder / "tools/job/jobs.toml").write_text(JOBS.format(seconds=seconds, measured=measured))
    (folder / "help").write_text(told)
    (folder / "Makefile").write_text("help: ; @cat help\n.PHONY: help\n" + MAKEFILE)
    (folder / "results/good").write_text(result("good", "passed"))
    for target, status in fails.items():
        if status in ("", "failed"):
            (folder / "fails" / target).touch()
        if status:
            (folder / "results" / target).write_text(result(target, status))
    environment = os.environ | {"PYTHONPATH": str(Path.cwd()), "MAKEFLAGS": flags}
    command = [sys.executable, "-m", "tools.job", "make"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_all_pass(tmp_path: Path) -> None:
    done = job(tmp_path, {})
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"


def test_every_step_runs_after_a_failure(tmp_path: Path) -> None:
    done = job(tmp_path, {"bad": "failed"})
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("ran ")] == [
        "ran good", "ran bad2", "ran silent", "ran report"
    ]  # fmt: skip
    assert "failed layer bad: bad[1]: broken [here]" in done.stdout
    assert "`make bad WORD=2`: run it again" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_step_that_leaves_no_result_still_fails_the_job(tmp_path: Path) -> None:
    done = job(tmp_path, {"silent": ""})
    assert done.returncode == 1
    assert "`make silent`: run it again" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_too_slow_is_a_warning(tmp_path: Path) -> None:
    done = job(tmp_path, {})
    assert "slow good: 5 s, planned are 0 s a stem" in done.stdout
    assert "slow: planned are 0 s" in done.stdout
    assert done.returncode == 0


def test_what_may_not_be_skipped_fails_the_job(tmp_path: Path) -> None:
    done = job(tmp_path, {"bad": "skipped"})
    assert done.returncode == 1
    assert "skipped, but should run: layer bad: bad[1]: no such tool" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"


def test_what_this_machine_lacks_may_be_skipped(tmp_path: Path) -> None:
    done = job(tmp_path, {"bad": "allowed"})
    assert done.returncode == 0
    assert "SKIPPED 1: this CPU lacks it" in done.stdout


TOOK = '[{ seconds = 300, on = "two cores", when = 2026-01-02, commit = "abc" }]'


def test_the_plan_and_what_was_measured_are_printed_before_it_starts(tmp_path: Path) -> None:
    said = job(tmp_path, {}, seconds=600, measured=TOOK).stdout.splitlines()
    assert said[:2] == [
        "make: planned: 10 minutes on 2 quiet cores",
        "make: measured: 5 minutes on two cores, 2026-01-02, commit abc",
    ]
    assert said.index("ran good") > 1


def test_a_plan_that_a_measurement_exceeds_says_so(tmp_path: Path) -> None:
    said = job(tmp_path, {}, seconds=100, measured=TOOK).stdout.splitlines()
    assert said[0] == "make: planned: 100 s on 2 quiet cores"
    assert said[1].endswith("commit abc; that is more than planned")


@pytest.mark.parametrize(("seconds", "told"), [(0, ""), (100_000, "on it. On two quiet cores, tell the new time")])
def test_a_time_that_is_told_and_is_far_from_the_run_s_is_a_warning(tmp_path: Path, seconds: int, told: str) -> None:
    measured = f'[{{ seconds = {seconds}, on = "it", when = 2026-11-22, commit = "123abcd" }}]' if seconds else "[]"
    ran = job(tmp_path, {}, measured=measured)
    assert ran.returncode == 0, ran.stdout
    assert (told in ran.stdout) if told else ("told are" not in ran.stdout)


TOLD = """
  make good    a thing that is made at once (0 s)
  make bad     with a variable (0 s)
  make silent  long (9 hours)
"""
MEASURED = '[{ seconds = 90000, on = "it", when = 2026-11-22, commit = "123abcd" }]'


@pytest.mark.parametrize(
    ("fails", "flags", "told"),
    [
        ({}, "", ["told 0 s: make good", "told 9 hours: make silent", "told are 25 hours"]),
        ({"silent": ""}, "", ["told 0 s: make good"]),
        ({}, " -- EXAMPLES=few", []),
    ],
)
def test_each_step_far_from_the_time_told_is_a_warning(
    tmp_path: Path, fails: dict[str, str], flags: str, told: list[str]
) -> None:
    ran = job(tmp_path, fails, measured=MEASURED, flags=flags, told=TOLD)
    assert ran.returncode == bool(fails)
    warned = [line.removeprefix("warning: ") for line in ran.stdout.splitlines() if line.startswith("warning: ")]
    assert [re.sub(r"(make: )?took \d+ s; |, took \d+ s|, on it.*", "", line) for line in warned] == told
    assert ran.stdout.splitlines()[-1].endswith("skipped")


@pytest.mark.parametrize(
    ("status", "after", "failed", "command", "warns"),
    [
        ("passed", 5, False, "make long", True),
        ("skipped", 5, False, "make long", False),
        ("skipped", 11, False, "make long", False),  # parts of a second
        ("skipped", 12, False, "make long", True),
        ("skipped", -1, False, "make long", True),
        ("passed", 5, True, "make long", False),
        ("passed", 5, False, "make long STEM=x", False),
    ],
)
def test_a_step_that_did_not_do_all_may_be_short(
    monkeypatch: pytest.MonkeyPatch, status: str, after: int, failed: bool, command: str, warns: bool
) -> None:
    monkeypatch.setattr("tools.common.told.texts", lambda: {"long": "1 minute"})
    began = datetime(2026, 11, 22, tzinfo=UTC)
    of = results.Result.model_validate_json(result("x", status)).model_copy(
        update={"finished": began + timedelta(seconds=after)}
    )
    step = Step(command=command, failed=failed, seconds=10.0, began=began)
    assert bool(step.unlike([of])) is warns


NUMBERS = {"a minute": 1}


@pytest.mark.parametrize(("command", "name"), [("make quick", "quick"), ("make", "make"), ("make test", "test")])
def test_the_readme_tells_the_time_that_was_measured(command: str, name: str) -> None:
    """Within 2 times: people plan by it."""
    line = next(line for line in Path("README.md").read_text().splitlines() if re.match(rf"{command} +#", line))
    told = re.search(r"(?:about )?(a minute|\d+ minutes)", line)
    assert told is not None, line
    minutes = NUMBERS.get(told[1]) or int(told[1].split()[0])
    assert 0.5 <= minutes * 60 / jobs()[name].measured[-1].seconds <= 2


def test_what_was_never_timed_says_so(tmp_path: Path) -> None:
    assert job(tmp_path, {}).stdout.splitlines()[1] == "make: measured: never yet as a whole"


def test_a_measurement_without_its_commit_is_no_measurement(tmp_path: Path) -> None:
    done = job(tmp_path, {}, measured=TOOK.replace("commit", "comit"))
    assert done.returncode != 0
    assert "comit" in done.stderr


def targets() -> set[str]:
    """The targets that have a rule in the Makefile, or in what it includes."""
    rules = [Path("Makefile"), *Path().glob("[!b]*/**/rules.mk"), *Path("bench").glob("**/rules.mk")]
    lines = [line for path in rules for line in path.read_text().splitlines()]
    return {name for line in lines if (rule := re.match(r"([a-z][a-z -]*):(?!=)", line)) for name in rule[1].split()}


@pytest.mark.parametrize("name", sorted(jobs()))
def test_each_step_of_each_job_is_a_target(name: str) -> None:
    steps = [*jobs()[name].steps, *jobs()[name].finally_]
    assert steps
    assert len(set(steps)) == len(steps)
    assert {step.split()[0] for step in steps} - targets() == set()
    assert "no-such-target" not in targets()


def test_the_first_look_has_each_layer_within_two_minutes() -> None:
    """Its results are apart from those of whole runs, and nothing of it is skipped in silence."""
    quick = jobs()["quick"]
    assert quick.seconds <= 120
    assert quick.seconds < jobs()["make"].seconds
    assert [step.removesuffix(results.QUICK) for step in quick.steps] == ["model", "prove", "differential", "mutants"]
    assert all(one.seconds <= quick.seconds for one in quick.measured)
    assert quick.steps[-1] in targets()
    recipe = subprocess.run(["make", "-n", "quick"], capture_output=True, text=True, check=True).stdout
    assert "tools.job quick" in recipe


def test_the_results_of_a_first_look_are_in_no_report(tmp_path: Path) -> None:
    for layer in ("model", "model-quick"):
        results.write(layer, "one", [{"name": "a", "status": "passed"}], says="", tools={}, folder=tmp_path)
    assert [result.layer for result in results.whole(tmp_path)] == ["model"]
    assert len(results.load(tmp_path)) == 2

# SPDX-License-Identifier: PostgreSQL
"""A job runs every step and prints what failed and how to repeat it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.common import results
from tools.job.__main__ import jobs

JOBS = """
[make]
steps = ["good", "bad WORD=2", "silent"]
finally = ["report"]
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


def job(folder: Path, fails: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs `make`'s job in a tree of its own; `fails`: the targets that do not pass, and the status of their item."""
    for name in ("tools/job", "results", "fails"):
        (folder / name).mkdir(parents=True)
    (folder / "tools/job/jobs.toml").write_text(JOBS)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "results/good").write_text(result("good", "passed"))
    for target, status in fails.items():
        if status in ("", "failed"):
            (folder / "fails" / target).touch()
        if status:
            (folder / "results" / target).write_text(result(target, status))
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
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


def test_what_may_not_be_skipped_fails_the_job(tmp_path: Path) -> None:
    done = job(tmp_path, {"bad": "skipped"})
    assert done.returncode == 1
    assert "skipped, but should run: layer bad: bad[1]: no such tool" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"


def test_what_this_machine_lacks_may_be_skipped(tmp_path: Path) -> None:
    done = job(tmp_path, {"bad": "allowed"})
    assert done.returncode == 0
    assert "SKIPPED 1: this CPU lacks it" in done.stdout


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


def test_the_first_look_has_each_layer() -> None:
    """Its results are apart from those of whole runs, and nothing of it is skipped in silence."""
    quick = jobs()["quick"]
    assert [step.removesuffix(results.QUICK) for step in quick.steps] == ["model", "prove", "differential", "changes"]
    assert quick.steps[-1] in targets()
    recipe = subprocess.run(["make", "-n", "quick"], capture_output=True, text=True, check=True).stdout
    assert "tools.job quick" in recipe


def test_the_results_of_a_first_look_are_in_no_report(tmp_path: Path) -> None:
    for layer in ("model", "model-quick"):
        results.write(layer, "one", [{"name": "a", "status": "passed"}], says="", tools={}, folder=tmp_path)
    assert [result.layer for result in results.whole(tmp_path)] == ["model"]
    assert len(results.load(tmp_path)) == 2

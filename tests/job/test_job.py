# SPDX-License-Identifier: PostgreSQL
"""A job runs every step and prints what failed and how to repeat it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

STEPS = ("good", "bad WORD=2", "silent", "report")
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


def job(folder: Path, fails: dict[str, str], name: str = "ci") -> subprocess.CompletedProcess[str]:
    """Runs a job in a tree of its own; `fails`: the targets that do not pass, and the status of their item."""
    for place in ("results", "fails"):
        (folder / place).mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "results/good").write_text(result("good", "passed"))
    for target, status in fails.items():
        if status in ("", "failed"):
            (folder / "fails" / target).touch()
        if status:
            (folder / "results" / target).write_text(result(target, status))
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, "-m", "tools.job", name, *STEPS]
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


def test_only_ci_asks_for_the_reason(tmp_path: Path) -> None:
    assert job(tmp_path, {"bad": "skipped"}, "test").returncode == 0


def test_each_step_of_each_job_is_a_target() -> None:
    """As make itself reads its files."""
    read = subprocess.run(["make", "-npq", "help"], capture_output=True, text=True).stdout
    targets = {word for line in re.findall(r"^\.PHONY:(.*)$", read, re.MULTILINE) for word in line.split()}
    jobs = {name: shlex.split(steps) for name, steps in re.findall(r"^STEPS_(\w+) := (.*)$", read, re.MULTILINE)}
    assert jobs.keys() == {"main", "quick", "test", "ci", "full", "everything"}
    for steps in jobs.values():
        assert len(steps) == len(set(steps)) > 3
        assert {step.split()[0] for step in steps} <= targets

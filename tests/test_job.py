# SPDX-License-Identifier: PostgreSQL
"""A job runs every step and prints what failed and how to repeat it. It never fails because it is slow."""

import json
import os
import subprocess
import sys
from pathlib import Path

JOBS = """
[make]
steps = ["good", "bad", "silent"]
finally = ["report"]
seconds = {seconds}
row_seconds = 0
may_skip = ["this CPU"]
"""

MAKEFILE = """
%:
\t@test -e results/$@ && mkdir -p build/results/layer && cp results/$@ build/results/layer/$@.json || true
\t@echo ran $@
\t@! test -e fails/$@
"""


def result(stem: str, status: str) -> str:
    """A result of one item, finished far in the future, so that the job takes it for its own."""
    reasons = {"failed": "broken [here]", "skipped": "no such tool", "allowed": "this CPU lacks it"}
    status, reason = status.replace("allowed", "skipped"), reasons.get(status, "")
    item = {"name": f"{stem}[1]", "status": status, "reason": reason}
    told = {"layer": "layer", "stem": stem, "says": "one thing", "finished": "2999-01-01T00:00:00Z", "seconds": 5.0}
    return json.dumps(told | {"commit": "", "cpu": "", "cpu_level": "all", "tools": {}, "items": [item]})


def job(folder: Path, fails: dict[str, str], *, seconds: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs `make`'s job in a tree of its own; `fails`: the targets that do not pass, and the status of their item."""
    for name in ("tools", "results", "fails"):
        (folder / name).mkdir()
    (folder / "tools/jobs.toml").write_text(JOBS.format(seconds=seconds))
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
        "ran good", "ran bad", "ran silent", "ran report"
    ]  # fmt: skip
    assert "failed layer bad: bad[1]: broken [here]" in done.stdout
    assert "`make bad`: run it again" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_step_that_leaves_no_result_still_fails_the_job(tmp_path: Path) -> None:
    done = job(tmp_path, {"silent": ""})
    assert done.returncode == 1
    assert "`make silent`: run it again" in done.stdout
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_too_slow_is_a_warning(tmp_path: Path) -> None:
    done = job(tmp_path, {})
    assert "slow good: 5 s, planned are 0 s a row" in done.stdout
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

# SPDX-License-Identifier: PostgreSQL
"""Apalache, the symbolic model checker, if it is installed: laws and inductive invariants on the true 2^32."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from spec.tools import cfg, tlc
from spec.tools.models import Run
from spec.tools.outcome import Outcome, ToolMissing

VIOLATED = re.compile(r"State (\d+): state invariant \d+ violated")
ERROR = re.compile(r"^(.*?)\s+E@[\d:.]+$", re.MULTILINE)


@cache
def find() -> tuple[str, str]:
    """Apalache's command and version."""
    named = os.environ.get("APALACHE")
    path = shutil.which(named or "apalache-mc")
    if path is None:
        raise ToolMissing(
            f"APALACHE={named} is no program"
            if named
            else "no Apalache: set APALACHE=/path/to/apalache-mc, or put apalache-mc on PATH"
        )
    version = subprocess.run([path, "version"], capture_output=True, text=True, check=False, timeout=60)
    if version.returncode != 0:
        raise ToolMissing(f"{path} version failed: {(version.stdout + version.stderr).strip()[-200:]}")
    return path, f"Apalache {version.stdout.strip().splitlines()[-1]}"


def command(run: Run, build: Path) -> tuple[list[str], Path]:
    """The command line for Apalache, and the folder to start it in: a copy of the modules, because it finds no
    others."""
    path, _ = find()
    config = cfg.write(run, build).resolve()
    scratch = tlc.scratch(run, build)
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for module in [*run.module.parent.parent.glob("common/*.tla"), *run.module.parent.glob("*.tla")]:
        shutil.copy(module, scratch)
    shutil.copy(config, scratch)
    return [
        path,
        "check",
        f"--config={config.name}",
        f"--length={run.length}",
        "--no-deadlock=true",
        f"--out-dir={scratch / 'out'}",
        run.module.name,
    ], scratch


def parse(output: str, exit_code: int, names: Sequence[str]) -> Outcome:
    """Judge a whole output of Apalache together with its exit code. names: the invariants that it checked."""
    seen = Outcome(tool=find()[1])
    if exit_code == 0 and "The outcome is: NoError" in output:
        seen.result = "success"
    elif exit_code == 12 and (violated := VIOLATED.search(output)):
        # It numbers the conjuncts of the invariant, not the names: a run that must fail has one name.
        seen.result, seen.sort, seen.trace_length = "violation", "invariant", int(violated[1]) + 1
        seen.property = names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    else:
        error = ERROR.search(output)
        seen.reason = error[1].strip() if error else f"Apalache ended with exit code {exit_code} and no verdict"
    return seen

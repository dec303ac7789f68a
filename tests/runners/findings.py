# SPDX-License-Identifier: PostgreSQL
"""Runs what reproduces each finding, on each server that its finding.toml names.

python -m tests.runners.findings [--stem STEM]

The program says in its last line what is lost, and exits with 0; or with 2 if it could not be tried, because a tool is
missing that it needs: that is SKIPPED.
"""

import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import click

from spec.tools import models
from tests.postgres.server import BUILDS
from tools.common import environment, results
from tools.common.matrix import stems
from tools.common.progress import console

TOP = Path(__file__).resolve().parents[2]
FINDINGS = TOP / "tests" / "findings"
SERVERS = {build.label if build.embedded else "debian": build for build in BUILDS}
NOT_TRIED = 2


def found_by(run: str) -> str:
    """The stem whose models have this run."""
    for stem in stems(TOP):
        listed = TOP / "spec" / stem / "models.toml"
        if listed.exists() and any(run == name for name, _, _ in models.load(listed).entries()):
            return stem
    raise ValueError(f"no model has the run {run}")


def finding(folder: Path) -> dict[str, Any]:
    """Its finding.toml: `model` is the run that found it, `servers` where it can be reproduced."""
    return tomllib.loads((folder / "finding.toml").read_text())


def reproduce(folder: Path, server: str) -> dict[str, Any]:
    """Runs it, and prints how it ended."""
    build, name = SERVERS[server], f"{folder.name} on {server}"
    build.require()
    began = time.monotonic()
    run = subprocess.run([folder / "reproduce", build.bin], capture_output=True, text=True)
    seconds = round(time.monotonic() - began, 2)
    status = {0: "passed", NOT_TRIED: "skipped"}.get(run.returncode, "failed")
    last = [line for line in (run.stdout if status == "passed" else run.stderr or run.stdout).splitlines() if line][-1:]
    word = {"passed": "reproduced", "skipped": "SKIPPED", "failed": "NOT REPRODUCED"}[status]
    console().print(f"{name}: {word} in {seconds:.0f} s: {''.join(last)}", markup=False, soft_wrap=True)
    if status == "failed":
        console().print(run.stdout + run.stderr, markup=False, soft_wrap=True)
    return {"name": name, "status": status, "seconds": seconds, "reason": "" if status == "passed" else "".join(last)}


@click.command()
@click.option("--stem", default="", help="Only the findings of this stem's models.")
def main(stem: str) -> None:
    """Reproduce each finding, one after the other."""
    items: dict[str, list[dict[str, Any]]] = {}
    for folder in sorted(path.parent for path in FINDINGS.glob("*/reproduce")):
        told = finding(folder)
        row = found_by(told["model"])
        if stem in ("", row):
            items.setdefault(row, []).extend(reproduce(folder, server) for server in told["servers"])
    for row, ran in items.items():
        says = f"{sum(item['status'] == 'passed' for item in ran)} of {len(ran)} reproduced"
        results.write("findings", row, ran, says=says, tools={"gdb": environment.first_line("gdb", "--version")})
    raise SystemExit(any(item["status"] == "failed" for ran in items.values() for item in ran))


if __name__ == "__main__":
    main()

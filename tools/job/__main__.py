# SPDX-License-Identifier: PostgreSQL
"""Runs all steps of a job, also after one has failed. Then prints the results and the commands to run again.

    python -m tools.job ci lint "model UP_TO=2000" ...

Steps are targets of make with their variables; the Makefile lists those of each job. Exits with 1 if a step failed, or
if `ci` has skipped what it may not skip.
"""

import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from tools.common import results, summary
from tools.common.progress import console
from tools.common.results import Result

STRICT = "ci"
"""The job that may not skip anything else: set-up installs all else."""
MAY_SKIP = (
    "this CPU", "address space", "Apalache", "CBMC", "toolchain", "io_uring", "O_DIRECT", "this file system", "ptrace",
    "sparse file", "RLIMIT_AS", "Snakemake", "seccomp", "no other Python", "/dev/fuse", "refuses mounts",
    "controller of cgroup v1",
)  # fmt: skip
"""Words of the reasons for which it may."""


def unneeded(found: Sequence[Result]) -> list[str]:
    """What was skipped for another reason: "LAYER STEM: NAME: REASON"."""
    return [
        f"{result.label} {result.stem}: {item.name}: {item.reason or 'no reason given'}"
        for result in found
        for item in result.items
        if item.status == "skipped" and not any(word in item.reason for word in MAY_SKIP)
    ]


@click.command()
@click.argument("name")
@click.argument("steps", nargs=-1, required=True)
def main(name: str, steps: tuple[str, ...]) -> None:
    """Run the job NAME."""
    began, seconds, failed = datetime.now(UTC).replace(microsecond=0), [], []
    for step in steps:
        console().rule(f"[bold]make {step}", align="left")
        start = time.monotonic()
        if subprocess.run(["make", *step.split()]).returncode:
            failed.append(f"make {step}")
        seconds.append((f"make {step}", time.monotonic() - start))
    found = [result for result in results.load() if result.finished >= began]
    summary.show(name, found)
    summary.costs(found, seconds)
    lacking = unneeded(found) if name == STRICT else []
    for text in lacking:
        console().print(f"skipped, but should run: {text}", markup=False)
    summary.closing(found, failed, len(lacking))
    raise SystemExit(1 if failed or lacking else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Runs all steps of a job, also after one has failed. Then prints the results and the commands to run again.

    python -m tools.job quick|make|test|full|everything|ci [--stem STEM]

jobs.toml beside this lists the steps. Exits with 1 if a step failed, or if something was skipped that the job may not
skip.
"""

import contextlib
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
from pydantic import BaseModel, ConfigDict, Field

from tools.common import results, summary
from tools.common.progress import console
from tools.common.results import Result
from tools.job.kept import KEPT, Kept, write

JOBS = Path("tools/job/jobs.toml")


class Job(BaseModel):
    """One table of jobs.toml."""

    model_config = ConfigDict(extra="forbid")

    steps: list[str]
    """Targets of make, each with its variables: "world MINUTES=1"."""
    finally_: list[str] = Field([], alias="finally")
    may_skip: list[str] | None = None
    kept: bool = False
    """Whether build/job/NAME/ keeps what the steps print. They then print to no terminal."""

    def unneeded(self, found: Sequence[Result]) -> list[str]:
        """What was skipped for a reason that the job does not allow: "LAYER STEM: NAME: REASON"."""
        return [
            f"{result.label} {result.stem}: {item.name}: {item.reason or 'no reason given'}"
            for result in found
            for item in result.items
            if item.status == "skipped" and self.may_skip is not None
            if not any(word in item.reason for word in self.may_skip)
        ]


class Step(BaseModel):
    """A target of make that has run."""

    command: str
    failed: bool
    seconds: float


def jobs() -> dict[str, Job]:
    """All jobs, by name."""
    return {name: Job.model_validate(job) for name, job in tomllib.loads(JOBS.read_text()).items()}


def variables() -> list[str]:
    """Those in the command line of the `make` that runs this, as EXAMPLES=few: the targets below it get them, too."""
    return f" {os.environ.get('MAKEFLAGS', '')} ".partition(" -- ")[2].split()


def with_stem(step: str, stem: str) -> str:
    return f"{step} STEM={stem}" if stem else step


def inner() -> dict[str, set[str]]:
    """The steps that each job runs, also those of a job that is a step of it."""

    def steps(name: str, variables: Sequence[str]) -> set[str]:
        own = {" ".join([step, *variables]) for step in listed[name].steps} if name in listed else set()
        return own.union(*(steps(target, had) for target, *had in map(str.split, own)))

    listed = jobs()
    return {name: steps(name, []) for name in listed}


def run(step: str, stem: str, log: Path | None = None) -> Step:
    """Runs `make STEP`, its output shown as it comes, and kept in a log if there is one."""
    command = ["make", *with_stem(step, stem).split()]
    console().rule(f"[bold]{' '.join(command)}", align="left")
    began = time.monotonic()
    failed = (shown(command, log) if log else subprocess.run(command).returncode) != 0
    return Step(command=" ".join(command), failed=failed, seconds=time.monotonic() - began)


def shown(command: Sequence[str], log: Path) -> int:
    """Runs a command that writes to a log, which is shown as it grows; its exit status. A pipe would not end before a
    server that the command left behind."""
    log.unlink(missing_ok=True)
    with log.open("ab") as into, log.open("rb") as out, subprocess.Popen(command, stdout=into, stderr=into) as process:
        ended = False
        while not ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.2)
            ended = process.poll() is not None
            sys.stdout.buffer.write(out.read())
            sys.stdout.buffer.flush()
    return process.returncode


def run_kept(name: str, job: Job, stem: str) -> list[Step]:
    """Runs the steps of a job, and keeps what they print, and the variables that they had."""
    folder, steps, kept = KEPT / name, [], []
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "steps.json").unlink(missing_ok=True)
    for number, step in enumerate(job.steps):
        log = folder / f"{number:02}-{step.split()[0]}.log"
        steps.append(run(step, stem, log))
        ran = " ".join(dict.fromkeys([*with_stem(step, stem).split(), *variables()]))
        kept.append(Kept(step=ran, failed=steps[-1].failed, log=log))
        write(folder / "steps.json", kept)
    return steps


@click.command()
@click.argument("name", type=click.Choice(sorted(jobs())))
@click.option("--stem", default="", help="Only this stem.")
def main(name: str, stem: str) -> None:
    """Run the job NAME."""
    job, began = jobs()[name], datetime.now(UTC).replace(microsecond=0)
    steps = run_kept(name, job, stem) if job.kept else [run(step, stem) for step in job.steps]
    steps += [run(step, stem) for step in job.finally_]
    found = [result for result in results.load() if result.finished >= began]
    summary.show(f"{name}{' ' + stem if stem else ''}", found)
    summary.costs(found, [(step.command, step.seconds) for step in steps])
    failed = [step.command for step in steps if step.failed]
    for text in (unneeded := job.unneeded(found)):
        console().print(f"skipped, but should run: {text}", markup=False)
    summary.closing(found, failed, len(unneeded))
    raise SystemExit(1 if failed or unneeded else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Runs the long work as many small jobs, and joins their results.

Snakemake runs the jobs: here, or where a profile in profiles/ says. README.md beside this says more.
"""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from tools.common import summary
from tools.common.progress import console
from tools.farm import job, merge, work
from tools.farm.work import FARM, FarmError, Work

SNAKEMAKE = Path("build/farm-venv/bin/snakemake")
HERE = Path("tools/farm")
PROFILES = HERE / "profiles"


def available_mb() -> int:
    """The memory that is free here."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable"))


def engine(jobs: int, profile: str, listed: list[Work]) -> list[str]:
    """Snakemake's command line."""
    line = [str(SNAKEMAKE), "--snakefile", str((HERE / "Snakefile").resolve()), "--directory", str(FARM)]
    line += ["--keep-going", "--rerun-incomplete", "--nolock", "--quiet", "host", "reason", "rules"]
    if not profile:
        # One job at least must fit.
        memory = max(available_mb(), *(one.kind.mb for one in listed))
        return [*line, "--cores", str(jobs), "--resources", f"mem_mb={memory}"]
    there = sorted(path.name for path in PROFILES.iterdir())
    if profile not in there:
        raise FarmError(f"there is no PROFILE={profile}; there are {', '.join(there)}")
    return [*line, "--jobs", str(jobs), "--profile", str((PROFILES / profile).resolve())]


def report(listed: list[Work], state: str) -> int:
    """Join the shards and print what came of them. How much failed or is missing."""
    found, wrong = merge.merge(listed, state)
    summary.show("farm", found)
    for key, command in merge.failures(listed).items():
        console().print(f"failed {key}; to repeat it: {command}", markup=False, soft_wrap=True)
    for key, reason in wrong.items():
        console().print(f"missing {key}: {reason}", markup=False, soft_wrap=True)
    summary.closing(found, [], len(wrong))
    return len(wrong) + sum(result.count("failed") for result in found)


@click.group(help=__doc__)
def main() -> None:
    pass


@main.command()
@click.option("--what", default="", help="Kinds of work, as farm.toml names them; all without it.")
@click.option("--stem", default="", help="Only this stem.")
@click.option("--jobs", default=0, help="How many at once; 0: as many as there are CPUs, or 100 on a cluster.")
@click.option("--profile", default="", help="A folder of profiles/: where the jobs run.")
def run(what: str, stem: str, jobs: int, profile: str) -> None:
    """List the shards, run those that are not done, and join all."""
    try:
        if not SNAKEMAKE.is_file():
            raise FarmError("Snakemake is not installed; `make farm` does that first")
        FARM.mkdir(parents=True, exist_ok=True)
        lock = (FARM / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FarmError("another `make farm` runs in this checkout") from error
        listed = [one for name, kind in work.chosen(what).items() for one in work.ask(name, kind, stem)]
        if not listed:
            raise FarmError(f"there is nothing to do for WHAT={what} STEM={stem}")
        work.write(listed)
        state = work.mark()
        jobs = jobs or (100 if profile else len(os.sched_getaffinity(0)))
        done = sum(merge.place(one, state)[0] == job.good(one) for one in listed)
        console().print(f"farm: {len(listed)} jobs, {done} of them done before, {jobs} at a time", markup=False)
        with subprocess.Popen(engine(jobs, profile, listed), env=work.environment()) as snakes:
            try:
                code = snakes.wait()
            except KeyboardInterrupt:
                snakes.send_signal(signal.SIGINT)
                snakes.wait()
                raise FarmError("interrupted; the same command goes on where it stopped") from None
    except FarmError as error:
        raise click.ClickException(str(error)) from error
    if state != work.state():
        raise click.ClickException("the sources changed meanwhile; run `make farm` again")
    lost = report(listed, state)
    if code and not lost:
        raise click.ClickException(f"Snakemake ended with {code}")
    sys.exit(bool(lost))


@main.command("job")
@click.argument("key")
def one(key: str) -> None:
    """Run one shard of the list, KIND/STEM/NAME. Snakemake calls this."""
    chosen = next((each for each in work.read() if each.key == key), None)
    if chosen is None:
        raise click.ClickException(f"there is no shard {key} in {work.LIST}")
    if wrong := job.run(chosen, work.TREE.read_text()):
        raise click.ClickException(f"{key}: {wrong}\nto repeat it: {' '.join(chosen.command)}")
    click.echo(f"ok {key}")


@main.command("merge")
def again() -> None:
    """Join what the last run has left, also while jobs are missing."""
    try:
        sys.exit(bool(report(work.read(), work.state())))
    except FarmError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: PostgreSQL
"""Check the invariants of one large run with several processes, by TLC's own distributed mode.

Distinct states must be those of models.toml; the depth is not compared. An invariant that is violated is named: if the
server does not say which, TLC alone looks for it. Exits as spec/run.py does. No results are written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import distributed, models, traces
from spec.tools.models import Holds, ModelError, Run
from spec.tools.outcome import Outcome, ToolMissing
from spec.tools.runner import How, limit, run_all

SPEC = Path("spec")


def one(stem: str, name: str) -> Run:
    """The run of that name."""
    for run in models.find(SPEC, stem):
        if run.name == name:
            return run
    raise ModelError(f"{stem} has no run '{name}'; spec/{stem}/models.toml lists them")


def wrong(run: Run, outcome: Outcome) -> str:
    """What differs from models.toml; empty if nothing does."""
    expected = run.expected
    if outcome.result not in ("success", "violation"):
        return outcome.reason
    if isinstance(expected, Holds):
        if outcome.result == "violation":
            return f"{outcome.property} is violated"
        if expected.states is None:
            return "models.toml has no number of states; accept it first"
        same = outcome.distinct == expected.states
        return "" if same else f"states: accepted {expected.states}, now {outcome.distinct}"
    if outcome.result == "success":
        return f"must violate {expected.property}, but everything holds"
    same = outcome.property == expected.property
    return "" if same else f"must violate {expected.property}, but violates {outcome.property}"


def named(run: Run, outcome: Outcome, build: Path) -> Outcome:
    """The outcome, with the name of what is violated: from TLC alone where this mode printed none."""
    if outcome.result != "violation" or outcome.property:
        return outcome
    click.echo(f"{run.key}: something is violated; TLC alone looks for its name")
    alone = run_all([run], How(build, jobs=1, alone=True))[0].outcome
    if alone.result != "violation":
        return Outcome(reason=f"the distributed mode found a violation that TLC alone does not find: {alone.reason}")
    return alone


@click.command(help=__doc__)
@click.option("--stem", required=True, help="The subject, a folder of spec/.")
@click.option("--run", "name", required=True, help="The run, as in models.toml.")
@click.option("--workers", default=2, show_default=True, type=click.IntRange(1), help="Processes, beside the server.")
@click.option("--safety", is_flag=True, help="Leave the run's properties out, and check its invariants alone.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
def main(stem: str, name: str, workers: int, safety: bool, build: Path) -> None:
    """Check one run and compare with what was accepted."""
    try:
        run = one(stem, name)
        left_out = run.settings.properties
        run = distributed.safety(run, without_properties=safety)
        traces.generate(SPEC, build)
        outcome = named(run, distributed.execute(run, build, workers, limit(run)), build)
    except (ModelError, ToolMissing) as error:
        click.echo(f"model-distributed: {error}", err=True)
        sys.exit(2)
    if left_out:
        click.echo(f"{run.key}: not checked here: {', '.join(left_out)}")
    if why := wrong(run, outcome):
        click.echo(f"FAILED  {run.key}: {why} (log: {outcome.log})", err=True)
        sys.exit(1)
    said = f"violates {outcome.property}" if outcome.result == "violation" else f"{outcome.distinct:,} states"
    click.echo(f"ok      {run.key}: {said}, by a server and {workers} workers")


if __name__ == "__main__":
    main()

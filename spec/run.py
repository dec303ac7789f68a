# SPDX-License-Identifier: PostgreSQL
"""Run the models and compare their results with spec/STEM/models.toml.

Exits with 0 if nothing failed, with 1 if something failed, with 2 if it could not begin. Results:
build/results/model/STEM.json; for the large runs alone, and the smallest of each stem, build/results/model-large and
model-quick. Configuration files:
build/model/STEM/RUN.cfg; what the tools said: build/model/STEM/RUN/log.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import accepted, models, smallest, summary, traces
from spec.tools import shards as parts
from spec.tools.models import ModelError, Run
from spec.tools.outcome import ToolMissing
from spec.tools.runner import How, Item, run_all
from tools.common import results, shards
from tools.common.shards import ShardError

SPEC = Path("spec")
LAYERS = {"small": "model", "large": "model-large", "quick": "model" + results.QUICK}
"""What is run alone, and the layer of its results."""


@click.command(help=__doc__)
@click.option("--stem", help="Only the models of this subject, a folder of spec/.")
@click.option(
    "--run", "pattern", default="*", help="Only runs whose name matches, as in 'MC*_mutant_*'. No results are written."
)
@click.option(
    "--only",
    type=click.Choice(list(LAYERS)),
    help="Only the large runs, or only the others; quick: of each stem the smallest that holds, and that fails.",
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Count how often each action is taken; one that is never taken fails. A third slower.",
)
@click.option("--up-to", type=int, help="Leave out what holds and has more states than so many, by what was accepted.")
@click.option("--accept", is_flag=True, help="Write what was found to models.toml, for review.")
@click.option("--alone", is_flag=True, help="Give each run that must fail its own JVM. Three times slower.")
@click.option("--jobs", default=2, show_default=True, help="How many run at once.")
@click.option("--list", "lists", is_flag=True, help="Print the runs, a shard each, and run none.")
@click.option("--table", is_flag=True, help="Print what each run says and must show, and run none.")
@click.option("--join", type=click.Path(path_type=Path), help="Make one result of the shards in a folder.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
def main(
    stem: str | None,
    pattern: str,
    only: str | None,
    coverage: bool,
    up_to: int | None,
    accept: bool,
    alone: bool,
    jobs: int,
    lists: bool,
    table: bool,
    join: Path | None,
    build: Path,
) -> None:
    """Run the models and compare with what was accepted."""
    of: list[results.Result] = []
    try:
        found = models.find(SPEC, stem)
        traces.generate(SPEC, build)
        among = smallest.smallest(found) if only == "quick" else [run for run in found if only in (None, size(run))]
        short = among if up_to is None else smallest.up_to(among, up_to)
        wanted = [run for run in short if fnmatch(run.name, pattern)]
        if table:
            for run in wanted:
                click.echo(f"{run.key}: {run.says} [{run.expected.shown}]")
            return
        if not wanted and not lists:
            raise ModelError(f"no run of {stem or 'any subject'} matches '{pattern}'; 'make model TABLE=1' lists them")
        if lists:
            for run in wanted:
                shards.say(run.stem, run.name, RUN=run.name)
            return
        began = time.monotonic()
        if join:
            items = parts.items(wanted, of := shards.load(join))
        else:
            items = run_all(wanted, How(build, jobs, accept, coverage, alone))
        if accept:
            write_accepted(items)
            found = models.find(SPEC, stem)
    except (ModelError, ShardError, ToolMissing) as error:
        click.echo(f"model: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("model: interrupted", err=True)
        sys.exit(130)
    took = sum(shard.seconds for shard in of) if join else time.monotonic() - began
    times = summary.shares(items, took)
    # A shard is no whole: who joins them looks for what no run shows.
    complaints = {} if results.APART else complain(found, items)
    said = [text for texts in complaints.values() for text in texts]
    for text in said:
        click.echo(f"model: {text}", err=True)
    folder = Path(results.APART) if results.APART else build / "results" if pattern == "*" else None
    if folder:
        layer = LAYERS[only or "small"]
        for name, share in times.items():
            mine = [item for item in items if item.run.stem == name]
            summary.write(layer, name, mine, complaints.get(name, []), share, folder, of)
    summary.say(items, said, times, folder)
    sys.exit(1 if said or any(item.status == "failed" for item in items) else 0)


def size(run: Run) -> str:
    """Which half of the runs it belongs to."""
    return "large" if run.kind == "large" else "small"


def write_accepted(items: Sequence[Item]) -> None:
    """Write what runs showed that can be accepted."""
    for stem in sorted({item.run.stem for item in items}):
        passed = [item for item in items if item.run.stem == stem and item.status == "passed"]
        shown = {item.run.name: accepted.shown(item.run, item.outcome) for item in passed}
        accepted.accept(SPEC / stem / "models.toml", shown)


def complain(found: Sequence[Run], items: Sequence[Item]) -> dict[str, list[str]]:
    """What is wrong with no single run, by stem."""
    wrong: dict[str, list[str]] = {}
    for stem, module, name in models.unbroken(found):
        text = f"{stem}: no run of {module} that must fail violates {name}; add a mutant"
        wrong.setdefault(stem, []).append(text)
    for stem, actions in summary.never_taken(items, found).items():
        wrong.setdefault(stem, []).extend(f"{stem}: {action} is never taken in a large model" for action in actions)
    return wrong


if __name__ == "__main__":
    main()

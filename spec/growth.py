# SPDX-License-Identifier: PostgreSQL
"""How the states of each model grow with each of its bounds: one bound is raised at a time, until it takes too long.

build/results/model-growth/STEM.json gets what was seen; the report shows it. Nothing here can fail, but for a run that
does not end as it did when its bound was accepted.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import growth, models, traces
from spec.tools.growth import TOO_LONG, Growth
from spec.tools.models import ModelError
from spec.tools.outcome import ToolMissing
from tools.common import results
from tools.common.progress import bar, console

SPEC = Path("spec")


def item(one: Growth) -> dict[str, object]:
    """A bound, for the results. It fails if even the accepted value gives no states; a slow machine skips it."""
    missing = "skipped" if one.ended.endswith(TOO_LONG) else "failed"
    told: dict[str, object] = {
        "name": f"{one.run.name} {one.bound}", "run": one.run.name, "bound": one.bound, "values": one.values,
        "states": one.states, "cpu_seconds": one.seconds, "ended": one.ended, "factor": one.factor,
        "expected": one.expected, "status": "passed" if one.values else missing,
    }  # fmt: skip
    return told if one.values else told | {"reason": one.ended}


def shown(stem: str, found: list[Growth]) -> Table:
    table = Table("run", "bound", "values", "states", "s of CPU", "one more", title=stem, title_justify="left")
    for one in found:
        told = one.expected
        table.add_row(
            one.run.name,
            one.bound,
            ", ".join(map(str, one.values)),
            ", ".join(f"{count:,}" for count in one.states),
            ", ".join(map(str, one.seconds)),
            f"x {one.factor:.1f}: {told[0]:,} states, {told[1]:.0f} s" if told and one.factor else one.ended,
        )
    return table


@click.command(help=__doc__)
@click.option("--stem", help="Only this subject.")
@click.option("--seconds", default=60, show_default=True, help="CPU time that a run may take.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
def main(stem: str | None, seconds: int, build: Path) -> None:
    """Raise the bounds of each model."""
    failed = False
    try:
        found = models.find(SPEC, stem)
        traces.generate(SPEC, build)
        for name in sorted({run.stem for run in found}):
            wanted = [
                (run, *at) for run in growth.chosen([r for r in found if r.stem == name]) for at in growth.bounds(run)
            ]
            seen = []
            with bar(console()) as progress:
                task = progress.add_task(name, total=len(wanted))
                for run, bound, values, sizes in wanted:
                    seen.append(growth.grow(run, bound, values, sizes, build, seconds))
                    progress.advance(task)
            console().print(shown(name, seen))
            steepest = max((one.factor or 1.0 for one in seen), default=1.0)
            says = f"{len(seen)} bounds; the steepest: {steepest:.1f} times as many states with one more"
            items = [item(one) for one in seen]
            results.write("model-growth", name, items, says=says, tools={})
            failed = failed or any(one["status"] == "failed" for one in items)
    except ModelError as error:
        raise click.ClickException(str(error)) from error
    except ToolMissing as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from error
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

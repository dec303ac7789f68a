# SPDX-License-Identifier: PostgreSQL
"""Change the models one piece at a time, and see which property shows it.

Of all changes of a stem some are tried, chosen by their checksums: the same each time. A change that no property shows
must be listed in spec/STEM/survivors.toml with a reason; the number of states alone is no property. Exits with 0 if all
is killed or listed, with 1 if not, with 2 if it could not begin. Results: build/results/model-mutants/STEM.json.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from spec.tools import changed, models, traces
from spec.tools.changed import Row, Tried
from spec.tools.models import ModelError
from spec.tools.outcome import ToolMissing
from tools.common import progress, results, survivors

SPEC, LAYER = Path("spec"), "model-mutants"


@click.command(help=__doc__)
@click.option("--stem", help="Only the models of this subject, a folder of spec/.")
@click.option("--number", type=int, help="How many changes of each stem to try, in place of what survivors.toml says.")
@click.option("--at-most", type=int, help="Try no more than so many of each stem.")
@click.option("--name", help="Only the changes whose names begin so, all of them. No results are written.")
@click.option("--jobs", default=2, show_default=True, help="How many to try at once.")
@click.option("--build", type=click.Path(path_type=Path), default=Path("build"), help="Where generated things go.")
def main(stem: str | None, number: int | None, at_most: int | None, name: str | None, jobs: int, build: Path) -> None:
    """Try changes of each stem."""
    bad = False
    try:
        found = models.find(SPEC, stem)
        traces.generate(SPEC, build)
        for row_stem in dict.fromkeys(run.stem for run in found):
            began = time.monotonic()
            row = changed.load(row_stem, [run for run in found if run.stem == row_stem], build)
            planned, listed = survivors.load(SPEC / row_stem / "survivors.toml")
            wanted = number or planned
            tried = some(row, wanted if at_most is None else min(wanted, at_most), name, jobs, build)
            faults = survivors.wrong(tried, listed, {change.name for change in row.changes})
            say(row, tried, faults)
            bad = bad or bool(faults)
            if name is None:
                write(row, tried, listed, faults, time.monotonic() - began, build / "results")
    except (ModelError, survivors.ListError, ToolMissing) as error:
        click.echo(f"model-mutants: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        click.echo("model-mutants: interrupted", err=True)
        sys.exit(130)
    sys.exit(1 if bad else 0)


def some(row: Row, number: int, name: str | None, jobs: int, build: Path) -> list[Tried]:
    """Try the first changes by checksum, until so many of them were models; or those that are named."""
    waiting = [change for change in row.changes if name is None or change.name.startswith(name)]
    number = len(waiting) if name else number
    tried: list[Tried] = []
    stop, console = threading.Event(), progress.console(stderr=True)
    with ThreadPoolExecutor(jobs) as pool, progress.bar(console) as bar:
        task = bar.add_task(row.stem, total=number)
        while waiting and (missing := number - sum(one.verdict != "invalid" for one in tried)) > 0:
            batch, waiting = waiting[:missing], waiting[missing:]
            begun = [pool.submit(changed.attempt, row, change, build, stop) for change in batch]
            try:
                for future in as_completed(begun):
                    one = future.result()
                    tried.append(one)
                    bar.console.print(line(one), soft_wrap=True)
                    bar.advance(task, one.verdict != "invalid")
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
    return sorted(tried, key=lambda one: one.change.checksum)


def line(one: Tried) -> str:
    """The line that is printed for a change that was tried."""
    colour = {"killed": "green", "invalid": "dim"}.get(one.verdict, "yellow")
    by = f" ({one.by[:160]})" if one.by else ""
    return f"[{colour}]{one.verdict:11}[/] {one.change.name}: {escape(one.change.says + by)}"


def count(tried: Sequence[Tried], verdict: str) -> int:
    """How many ended so."""
    return sum(one.verdict == verdict for one in tried)


def says(tried: Sequence[Tried]) -> str:
    """One line on a stem."""
    valid = len(tried) - count(tried, "invalid")
    return (
        f"{valid} changes tried: {count(tried, 'killed')} killed by a property, {count(tried, 'counts only')} seen by "
        f"counts only, {count(tried, 'survived')} survived"
    )


def say(row: Row, tried: Sequence[Tried], faults: dict[str, str]) -> None:
    """Say how it went; for a survivor that is not listed, the lines for survivors.toml."""
    console = progress.console(stderr=True)
    for one in tried:
        if one.change.name in faults and one.verdict in ("counts only", "survived"):
            console.print(escape(survivors.entry(one)), soft_wrap=True)
    for name, fault in faults.items():
        console.print(f"[red]FAILED[/] {row.stem}: {escape(f'{name}: {fault}')}", soft_wrap=True)
    colour = "red" if faults else "green"
    console.print(f"[{colour}]{row.stem}: {says(tried)}[/], of {len(row.changes)} that there are", soft_wrap=True)


def described(one: Tried, why: str, fault: str) -> dict[str, Any]:
    """One change's result."""
    return {
        "name": one.change.name,
        "status": "failed" if fault else "passed",
        "seconds": round(one.seconds, 1),
        "reason": fault,
        "change": one.change.says,
        "verdict": one.verdict,
        "by": one.by,
        "why": why,
        "runs": one.runs,
    }


def write(
    row: Row,
    tried: Sequence[Tried],
    listed: dict[str, survivors.Survivor],
    faults: dict[str, str],
    seconds: float,
    folder: Path,
) -> None:
    """Write the stem's results."""
    why = {name: one.why for name, one in listed.items()}
    items = [
        described(one, why.get(one.change.name, ""), faults.get(one.change.name, ""))
        for one in tried
        if one.verdict != "invalid"
    ]
    names = {item["name"] for item in items}
    items += [{"name": name, "status": "failed", "reason": text} for name, text in faults.items() if name not in names]
    results.write(
        LAYER,
        row.stem,
        items,
        says=says(tried),
        tools={},
        seconds=round(seconds, 1),
        folder=folder,
        changes=len(row.changes),
        killed=count(tried, "killed"),
        counts_only=count(tried, "counts only"),
        survived=count(tried, "survived"),
    )


if __name__ == "__main__":
    main()

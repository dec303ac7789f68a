# SPDX-License-Identifier: PostgreSQL
"""Change the proved definitions one piece at a time, and see a proof stop.

Of all changes of a stem some are tried, chosen by their checksums: the same each time. A change with which the whole
row is proved must be listed in proofs/STEM/survivors.toml with a reason. Exits with 0 if all is killed or listed, with
1 if not, with 2 if it could not begin. Results: build/results/proof-changes/STEM.json.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from proofs.changes import attempt
from proofs.changes.attempt import Row, Tried
from tools.common import matrix, progress, results, survivors
from tools.common.environment import first_line

SOURCE, COMPILED, WORK = Path("proofs"), Path("build/proofs"), Path("build/proof-changes")
LAYER = "proof-changes"


@click.command(help=__doc__)
@click.option("--stem", default="", help="Only this stem.")
@click.option("--number", type=int, help="How many changes of each stem to try, in place of what survivors.toml says.")
@click.option("--at-most", type=int, help="Try no more than so many of each stem.")
@click.option("--name", help="Only the changes whose names begin so, all of them. No results are written.")
@click.option("--jobs", default=2, show_default=True, help="How many to try at once.")
def main(stem: str, number: int | None, at_most: int | None, name: str | None, jobs: int) -> None:
    bad = False
    try:
        for row_stem in matrix.with_cell("proofs/{stem}/survivors.toml", stem):
            began = time.monotonic()
            row = attempt.load(row_stem, SOURCE, COMPILED)
            planned, listed = survivors.load(SOURCE / row_stem / "survivors.toml")
            wanted = number or planned
            tried = some(row, wanted if at_most is None else min(wanted, at_most), name, jobs)
            faults = survivors.wrong(tried, listed, {change.name for change in row.changes})
            say(row, tried, faults)
            bad = bad or bool(faults)
            if name is None:
                write(row, tried, listed, faults, time.monotonic() - began)
    except (survivors.ListError, RuntimeError) as error:
        click.echo(f"proof-changes: {error}", err=True)
        sys.exit(2)
    sys.exit(1 if bad else 0)


def counts(one: Tried) -> bool:
    """Whether it is a change at all."""
    return one.verdict in ("killed", "survived")


def some(row: Row, number: int, name: str | None, jobs: int) -> list[Tried]:
    """Try the first changes by checksum, until so many of them were changes; or those that are named."""
    waiting = [change for change in row.changes if name is None or change.name.startswith(name)]
    number = len(waiting) if name else number
    tried: list[Tried] = []
    with ThreadPoolExecutor(jobs) as pool, progress.bar(console := progress.console(stderr=True)) as bar:
        task = bar.add_task(row.stem, total=number)
        while waiting and (missing := number - sum(map(counts, tried))) > 0:
            batch, waiting = waiting[:missing], waiting[missing:]
            begun = [pool.submit(attempt.attempt, row, change, COMPILED, WORK) for change in batch]
            for future in as_completed(begun):
                tried.append(one := future.result())
                if one.verdict != "refused":
                    console.print(line(one), soft_wrap=True)
                bar.advance(task, counts(one))
    return sorted(tried, key=lambda one: one.change.checksum)


def line(one: Tried) -> str:
    """The line that is printed for a change that was tried."""
    colour = {"killed": "green", "survived": "yellow"}.get(one.verdict, "dim")
    by = f" ({one.by})" if one.by else ""
    text = escape(f"{one.change.name}: {one.change.says}{by}")
    return f"[{colour}]{one.verdict:10}[/] {text} [dim]{one.seconds:.0f} s[/]"


def count(tried: Sequence[Tried], verdict: str) -> int:
    """How many ended so."""
    return sum(one.verdict == verdict for one in tried)


def says(tried: Sequence[Tried]) -> str:
    """One line on a stem."""
    return (
        f"{sum(map(counts, tried))} changes tried: {count(tried, 'killed')} stop a proof, "
        f"{count(tried, 'survived')} survived; besides {count(tried, 'equivalent')} the same term, "
        f"{count(tried, 'refused')} refused by Coq"
    )


def say(row: Row, tried: Sequence[Tried], faults: dict[str, str]) -> None:
    """Say how it went; for a survivor that is not listed, the lines for survivors.toml."""
    console = progress.console(stderr=True)
    for one in tried:
        if one.change.name in faults and one.verdict == "survived":
            console.print(escape(survivors.entry(one)), soft_wrap=True)
    for name, fault in faults.items():
        console.print(f"[red]FAILED[/] {row.stem}: {escape(f'{name}: {fault}')}", soft_wrap=True)
    colour = "red" if faults else "green"
    console.print(f"[{colour}]{row.stem}: {says(tried)}[/], of {len(row.changes)} that there are", soft_wrap=True)


def write(
    row: Row, tried: Sequence[Tried], listed: dict[str, survivors.Survivor], faults: dict[str, str], seconds: float
) -> None:
    """Write the stem's results."""
    items: list[dict[str, Any]] = []
    for one in tried:
        if one.verdict != "refused":
            name, listed_as = one.change.name, listed.get(one.change.name)
            fault = faults.get(name, "")
            item: dict[str, Any] = {
                "name": name,
                "status": "failed" if fault else "passed",
                "reason": fault,
                "change": one.change.says,
            }
            item |= {"seconds": one.seconds, "verdict": one.verdict, "by": one.by}
            items.append(item | {"why": listed_as.why if listed_as else ""})
    names = {item["name"] for item in items}
    items += [{"name": name, "status": "failed", "reason": text} for name, text in faults.items() if name not in names]
    figures: dict[str, Any] = {
        "changes": len(row.changes),
        "refused": count(tried, "refused"),
    }
    tools = {"Coq": first_line("coqc", "--print-version").split(" ")[0]}
    results.write(LAYER, row.stem, items, says=says(tried), tools=tools, seconds=round(seconds, 1), **figures)


if __name__ == "__main__":
    main()

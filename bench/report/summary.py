# SPDX-License-Identifier: PostgreSQL
"""The table at the end of a run: every layer and stem, its counts, its seconds against its budget.

    python -m bench.report.summary make|ci

Exits 1 when something failed or went over its budget (`bench/budget.toml`), or CI skipped a test without need.
"""

import tomllib
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from bench.report import results

# The one reason for which a test may be skipped in CI: what it needs cannot be installed.
NO_SUCH_CPU = "this CPU cannot run"
console = Console(width=None if Console().is_terminal else 120)


@click.command()
@click.argument("job", type=click.Choice(["make", "ci"]))
def main(job: str) -> None:
    """Print the summary of JOB."""
    budget = tomllib.loads(Path("bench/budget.toml").read_text())[job]
    found = [cell for cell in results.cells(results.load()) if cell.layer in budget]
    if missing := sorted(set(budget) - {cell.layer for cell in found}):
        raise click.ClickException(f"no result of {', '.join(missing)}; run `make` (or the layer's own target) first")

    table = Table(title=f"pgquern: summary of `{'make' if job == 'make' else '.ci/run'}`", title_justify="left")
    for head, justify in (
        ("layer", "left"),
        ("stem", "left"),
        ("", "left"),
        ("what", "left"),
        ("s", "right"),
        ("of", "right"),
    ):
        table.add_column(head, justify=justify)  # type: ignore[arg-type]
    over = []
    for cell in found:
        allowed = budget[cell.layer].get(cell.stem)
        late = allowed is not None and cell.seconds > allowed
        if late:
            over.append(f"{cell.layer} of {cell.stem}: {cell.seconds:.0f} s of {allowed} s")
        colour = {"passed": "green", "failed": "red", "skipped": "yellow"}[cell.status]
        seconds = f"[red]{cell.seconds:.0f}[/]" if late else f"{cell.seconds:.0f}"
        says = cell.says + (f", {cell.skipped} skipped" if cell.skipped and "skip" not in cell.says.lower() else "")
        table.add_row(cell.layer, cell.stem, f"[{colour}]{cell.status}[/]", says, seconds, str(allowed or ""))
    console.print(table)

    failed = sum(cell.failed for cell in found)
    console.print(
        f"{sum(cell.passed for cell in found)} passed, {failed} failed, {sum(c.skipped for c in found)} skipped"
    )
    for text in over:
        console.print(f"[red]over budget[/] {text}: make it faster, or change bench/budget.toml after review")
    left_out = [
        f"{item['name']}: {item.get('reason', 'no reason given')}"
        for result in results.load()
        if job == "ci" and result["layer"] in ("test", "asan")
        for item in result["items"]
        if item["status"] == "skipped" and NO_SUCH_CPU not in item.get("reason", "")
    ]
    for text in left_out:
        console.print(f"[red]skipped in CI[/] {text}")
    if failed or over or left_out:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

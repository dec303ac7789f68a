# SPDX-License-Identifier: PostgreSQL
"""README's table of how costs grow, from the recorded counts in bench/STEM/growth.json.

python -m tools.report.growth            print it
python -m tools.report.growth --write    put it into README.md, between its markers
python -m tools.report.growth --check    fail when README.md disagrees, or a series has no recorded counts
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from bench.icount import growth
from bench.icount.growth import Fit, Series, two
from tools.common.matrix import with_cell
from tools.report.readme import README, with_table

BEGIN, END = "<!-- growth: made by `make icount-accept` -->", "<!-- /growth -->"
HEADINGS = ("stem", "operation", "grows with", "slope [95 % interval]", "last step", "wanted")


def declared(stem: str) -> list[Series]:
    """The series of a stem's icount.toml."""
    entries = tomllib.loads(Path("bench", stem, "icount.toml").read_text()).get("growth", [])
    return [Series.model_validate(entry) for entry in entries]


def recorded() -> Iterator[tuple[str, Series, Fit]]:
    """Each series of each stem, with the line through its recorded counts. ClickException: there are none."""
    for stem in with_cell("bench/{stem}/icount.toml"):
        record = growth.read_record(stem)
        for series in declared(stem):
            counts = record.instructions.get(series.what, []) if record else []
            if len(counts) != len(series.sizes):
                raise click.ClickException(f"{stem}: {series.what}: no counts are recorded: run `make icount-accept`")
            yield stem, series, growth.fit(series.sizes, counts)


def line(stem: str, series: Series, found: Fit) -> str:
    """A series as a row of the table."""
    above = f": **above what is wanted**, {series.above.why}" if series.above else ""
    sizes = f"{series.sizes[0]:,} to {series.sizes[-1]:,} {series.unit}"
    cells = (f"`{stem}`", series.what, sizes, found.says, two(found.last), f"{series.wanted:g}{above}")
    return f"| {' | '.join(cells)} |"


def markdown() -> str:
    """The table."""
    heads = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    return "\n".join([*heads, *(line(*each) for each in recorded())])


@click.command()
@click.option("--write", is_flag=True, help="Put the table into README.md.")
@click.option("--check", is_flag=True, help="Fail when README.md disagrees.")
def main(write: bool, check: bool) -> None:
    """Print, write or check the table."""
    if not (write or check):
        click.echo(markdown())
        return
    text = README.read_text()
    wanted = with_table(text, BEGIN, END, markdown())
    if write:
        README.write_text(wanted)
    elif wanted != text:
        raise click.ClickException("README.md's table of how costs grow is out of date: run `make icount-accept`")
    else:
        click.echo("growth: README agrees with the recorded counts")


if __name__ == "__main__":
    main()

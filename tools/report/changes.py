# SPDX-License-Identifier: PostgreSQL
"""What became of the changes that `make changes` tried: a line for each stem and layer.

    python -m tools.report.changes

prints the lines of build/results; the report has them as a table.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import click

from tools.common import matrix, results
from tools.common.results import Item, Result

LAYER = "changes"


@dataclass(frozen=True)
class Line:
    """The changes of one stem in one layer."""

    layer: str
    killed: int = 0
    """By a test, by a property, by a proof that stops."""
    counts_only: int = 0
    """Only the number of states shows them, and there is a reason."""
    reason: int = 0
    """They survive, and there is a reason."""
    without: int = 0
    """They survive, and there is none."""
    equivalent: int = 0
    """They change nothing: the same object code, the same term. They do not count as tried."""
    skipped: int = 0
    """What could tell them does not run here."""

    @property
    def tried(self) -> int:
        return self.killed + self.counts_only + self.reason + self.without

    @property
    def share(self) -> float | None:
        """Per cent killed of those tried."""
        return round(100 * self.killed / self.tried, 1) if self.tried else None


def line(layer: str, items: Iterable[Item]) -> Line:
    """From the verdict of each change."""
    counted = Counter(verdict_of(item) for item in items)
    names = ("killed", "counts only", "survived", "without", "equivalent", "skipped")
    return Line(layer, *(counted[name] for name in names))


def verdict_of(item: Item) -> str:
    """What became of a change; one that nothing shows and that is not listed survives without a reason."""
    said = str((item.model_extra or {}).get("verdict", ""))
    return "without" if item.status == "failed" and said in ("counts only", "survived") else said


def lines(found: Sequence[Result], stem: str) -> list[Line]:
    """The lines of one stem, of the layers that were run."""
    layers: dict[str, list[Item]] = {}
    for result in found:
        if (result.layer, result.stem) == (LAYER, stem):
            for item in result.items:
                layers.setdefault(str((item.model_extra or {}).get("layer", "")), []).append(item)
    return [line(layer, items) for layer, items in layers.items()]


def table(found: Sequence[Result], stems: Sequence[str]) -> dict[str, list[Line]]:
    """For each stem, and for all together, the lines of the layers that were run."""
    run = {stem: of for stem in stems if (of := lines(found, stem))}
    every = [item for result in found if result.layer == LAYER and result.stem in stems for item in result.items]
    layers = dict.fromkeys(line.layer for of in run.values() for line in of)
    of_all = [line(each, (i for i in every if (i.model_extra or {}).get("layer") == each)) for each in layers]
    return run | ({"all": of_all} if run else {})


@click.command()
def main() -> None:
    """Print what the last runs made of the changes."""
    found = results.whole()
    every = table(found, [*matrix.stems(), *matrix.GROUND, *(result.stem for result in found)])
    for stem, of in every.items():
        for one in of:
            click.echo(f"{stem}, {one.layer}: {one.killed} told of {one.tried}, {one.without} live without a reason")
    if not every:
        click.echo("nothing was run: make changes")


if __name__ == "__main__":
    main()

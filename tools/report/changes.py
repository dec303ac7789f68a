# SPDX-License-Identifier: PostgreSQL
"""What became of the changes that a machine made: a line for each stem and each layer in which changes are made.

    python -m tools.report.changes

prints the lines of build/results; the report has them as a table.
"""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from tools.common import matrix, results
from tools.common.results import Item, Result

LAYERS = {
    "C": "mutants-all",
    "oracle": "mutants-all",
    "model": "model-mutants",
    "Coq definitions": "proof-changes",
}
"""What is changed, and the layer of the results that says what became of it."""


@dataclass(frozen=True)
class Line:
    """The changes of one stem in one layer."""

    layer: str
    killed: int = 0
    """By a test, by a property, by a proof that stops."""
    refuted: int | None = None
    """Of those killed in Coq: a theorem is false, by a computed counterexample."""
    counts_only: int = 0
    """Only the number of states shows them, and there is a reason."""
    reason: int = 0
    """They survive, and there is a reason."""
    without: int = 0
    """They survive, and there is none."""
    equivalent: int = 0
    """They change nothing: the same object code, the same term. They do not count as tried."""

    @property
    def tried(self) -> int:
        return self.killed + self.counts_only + self.reason + self.without

    @property
    def share(self) -> float | None:
        """Per cent killed of those tried."""
        return round(100 * self.killed / self.tried, 1) if self.tried else None


def tables(result: Result) -> dict[str, dict[str, int]]:
    """The counts of `make mutants-all`, by layer. The ground under the stems, xid and page, has no C."""
    return {counts["layer"]: counts for counts in (result.model_extra or {}).get("table", [])}


def has(layer: str, result: Result) -> bool:
    """Whether the result speaks of the layer."""
    return LAYERS[layer] != "mutants-all" or layer in tables(result)


def of_tests(layer: str, result: Result) -> Line:
    """From the table that the result has."""
    counts = tables(result)[layer]
    killed, reason, without, same = (int(counts[key]) for key in ("killed", "with_reason", "survived", "equivalent"))
    since = sum(has_a_reason(item, result.stem) for item in result.items if (item.model_extra or {})["layer"] == layer)
    return Line(layer, killed, reason=reason + since, without=without - since, equivalent=same)


def has_a_reason(item: Item, stem: str) -> bool:
    """Whether a change that survived got its entry in tests/STEM/survivors.toml after the run: that is no reason to try
    all others once more."""
    path = Path("tests", stem, "survivors.toml")
    if item.status != "failed" or verdict_of(item) != "without" or not path.exists():
        return False
    at, _, change = item.name.partition(": ")
    file, _, line = at.rpartition(":")
    above = [text.strip() for text in Path(file).read_text().splitlines()[: int(line)]]
    nth = above.count(above[-1])
    return any(
        (one["file"], one.get("nth", 1), f"{one['old'].strip()}  ->  {' '.join(one['new'].split())}")
        == (file, nth, change)
        for one in tomllib.loads(path.read_text()).get("survivor", [])
    )


def of_items(layer: str, result: Result) -> Line:
    """From the verdict of each change."""
    counted = Counter(verdict_of(item) for item in result.items)
    refuted = (result.model_extra or {}).get("refuted")
    survive, same = (counted["counts only"], counted["survived"], counted["without"]), counted["equivalent"]
    return Line(layer, counted["killed"], refuted, *survive, equivalent=same)


def verdict_of(item: Item) -> str:
    """What became of a change; one that nothing shows and that is not listed survives without a reason."""
    said = str((item.model_extra or {}).get("verdict", ""))
    return "without" if item.status == "failed" and said in ("counts only", "survived") else said


def lines(found: Sequence[Result], stem: str) -> dict[str, Line]:
    """The lines of one stem that were run, by layer."""
    by_name = {result.layer: result for result in found if result.stem == stem}
    return {
        layer: (of_tests if source == "mutants-all" else of_items)(layer, by_name[source])
        for layer, source in LAYERS.items()
        if source in by_name and has(layer, by_name[source])
    }


def table(found: Sequence[Result], stems: Sequence[str]) -> dict[str, list[Line | None]]:
    """For each stem, and for all together, a line for each of LAYERS; None if it was never run."""
    run = {stem: lines(found, stem) for stem in stems}
    shown = {stem: [of.get(layer) for layer in LAYERS] for stem, of in run.items()}
    return shown | {"all": [total(layer, [of[i] for of in shown.values()]) for i, layer in enumerate(LAYERS)]}


def total(layer: str, lines: Sequence[Line | None]) -> Line | None:
    """The sum of the lines of those rows that were run."""
    run = [line for line in lines if line]
    if not run:
        return None
    refuted = [line.refuted for line in run if line.refuted is not None]
    return Line(
        layer,
        sum(line.killed for line in run),
        sum(refuted) if refuted else None,
        sum(line.counts_only for line in run),
        sum(line.reason for line in run),
        sum(line.without for line in run),
        sum(line.equivalent for line in run),
    )


@click.command()
def main() -> None:
    """Print what the last runs made of the changes."""
    found = results.whole()
    every = [(stem, line) for stem in [*matrix.stems(), *matrix.GROUND] for line in lines(found, stem).values()]
    for stem, line in every:
        click.echo(f"{stem}, {line.layer}: {line.killed} killed of {line.tried}, {line.without} live without a reason")
    if not every:
        click.echo("nothing was run: make mutants-all, model-mutants, prove-changes")


if __name__ == "__main__":
    main()

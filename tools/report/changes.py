# SPDX-License-Identifier: PostgreSQL
"""What became of the changes that a machine made: a line for each stem and each layer in which changes are made.

    python -m tools.report.changes

records the lines of build/results in tests/changes.json. The whole runs take hours, so the report shows what is
recorded where this machine has tried fewer.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click

from tools.common import matrix, results
from tools.common.results import Item, Result

RECORDED = Path("tests/changes.json")

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
    recorded: str = ""
    """Where it was recorded: the day and the commit; empty for what was run here."""

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


def recorded(path: Path = RECORDED) -> dict[str, dict[str, Line]]:
    """For each stem, the recorded lines by layer."""
    if not path.exists():
        return {}
    return {
        stem: {layer: Line(layer, **line) for layer, line in kept.items()}
        for stem, kept in json.loads(path.read_text()).items()
    }


def table(
    found: Sequence[Result], stems: Sequence[str], kept: Mapping[str, Mapping[str, Line]]
) -> dict[str, list[Line | None]]:
    """For each stem, and for all together, a line for each of LAYERS; None if it was never run.

    Of a line that was run and one of `kept`, that with more changes; if they are as many, the one that was run.
    """
    shown: dict[str, list[Line | None]] = {}
    for stem in stems:
        run, old = lines(found, stem), kept.get(stem, {})
        both = [[each[layer] for each in (run, old) if layer in each] for layer in LAYERS]
        shown[stem] = [max(of, key=lambda line: line.tried, default=None) for of in both]
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


def record(found: Sequence[Result], stems: Sequence[str], path: Path = RECORDED) -> list[str]:
    """Write the lines of `found` beside those that are kept, and say what became of each.

    A sample does not replace a larger one: `make ci` tries a few changes of each stem.
    """
    kept, says = recorded(path), []
    when = {(result.stem, result.layer): f"{result.finished:%Y-%m-%d}, {result.commit}" for result in found}
    for stem in stems:
        for layer, line in lines(found, stem).items():
            old = kept.setdefault(stem, {}).get(layer)
            if old and old.tried > line.tried:
                says.append(f"{stem}, {layer}: {old.tried} changes stay recorded; {line.tried} were tried now")
            else:
                kept[stem][layer] = replace(line, recorded=when[stem, LAYERS[layer]])
                says.append(f"{stem}, {layer}: {line.killed} killed of {line.tried}")
    text = {stem: {layer: stored(line) for layer, line in of.items()} for stem, of in sorted(kept.items())}
    path.write_text(json.dumps(text, indent=1) + "\n")
    return says


def stored(line: Line) -> dict[str, int | str | None]:
    """A line as the file has it."""
    return {key: value for key, value in asdict(line).items() if key != "layer"}


@click.command()
def main() -> None:
    """Record what the last runs made of the changes."""
    for line in record(results.whole(), [*matrix.stems(), *matrix.GROUND]) or [
        "nothing was run: make mutants-all, model-mutants, prove-changes"
    ]:
        click.echo(line)


if __name__ == "__main__":
    main()

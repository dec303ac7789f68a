# SPDX-License-Identifier: PostgreSQL
"""What became of the changes that a machine made: a line for each row and each layer in which changes are made."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

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
    """The changes of one row in one layer."""

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


def of_tests(layer: str, result: Result) -> Line:
    """From the table that the result has."""
    tables: Sequence[dict[str, int | str]] = (result.model_extra or {})["table"]
    counts = next(counts for counts in tables if counts["layer"] == layer)
    killed, reason, without, same = (int(counts[key]) for key in ("killed", "with_reason", "survived", "equivalent"))
    return Line(layer, killed, reason=reason, without=without, equivalent=same)


def of_items(layer: str, result: Result) -> Line:
    """From the verdict of each change."""
    counted = Counter(verdict_of(item) for item in result.items)
    refuted = (result.model_extra or {}).get("refuted")
    verdicts = ("counts only", "survived", "without", "equivalent")
    return Line(layer, counted["killed"], refuted, *(counted[verdict] for verdict in verdicts))


def verdict_of(item: Item) -> str:
    """What became of a change; one that nothing shows and that is not listed survives without a reason."""
    said = str((item.model_extra or {}).get("verdict", ""))
    return "without" if item.status == "failed" and said in ("counts only", "survived") else said


def table(found: Sequence[Result], stems: Sequence[str]) -> dict[str, list[Line | None]]:
    """For each row, and for all together, a line for each of LAYERS; None if it was not run."""
    by_name = {(result.layer, result.stem): result for result in found}
    lines: dict[str, list[Line | None]] = {}
    for stem in stems:
        lines[stem] = []
        for layer, source in LAYERS.items():
            result = by_name.get((source, stem))
            read = of_tests if source == "mutants-all" else of_items
            lines[stem].append(read(layer, result) if result else None)
    alls = [total(layer, [of[i] for of in lines.values()]) for i, layer in enumerate(LAYERS)]
    return lines | {"all": alls}


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

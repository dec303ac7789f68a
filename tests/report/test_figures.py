# SPDX-License-Identifier: PostgreSQL
"""What others claim stands beside recorded figures of ours."""

import re
from pathlib import Path
from typing import Any

import pytest

from tools.common import matrix
from tools.report import figures, others, subject
from tools.report.figures import FigureError
from tools.report.values import Recorded, Where, filled, items


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    return Recorded()


def test_no_figure_of_ours_is_typed(recorded: Recorded) -> None:
    """What is left of a sentence without its names has no fraction, which only a measurement gives."""
    for stem in matrix.stems():
        said = others.read(stem)
        for claim in said.claim if said else []:
            assert not re.search(r"\d\.\d", re.sub(r"\{[^}]*\}|`[^`]*`", "", claim.ours)), claim.ours


def test_a_figure_comes_from_where_it_is_recorded(recorded: Recorded) -> None:
    """A ratio of two variants, computed here from the file."""

    def compared(result: figures.Recorded) -> list[dict[str, Any]]:
        return [i for i in result.items() if i.get("speedup.median") and i["upstream"] != i["variant"]]

    measured = [r for m in recorded.machines for r in m.results if r.layer == "bench" and compared(r)]
    result = max(measured, key=lambda r: r.finished)
    stem, one = result.stem, compared(result)[0]
    times = {item["variant"]: item["ns"] for item in result.items() if item["name"] == one["name"]}
    at = Where(layer="bench", name=one["name"], variant=one["variant"], over=one["upstream"])
    value, place = recorded.find(stem, at)
    assert value == pytest.approx(times[one["upstream"]] / times[one["variant"]])
    assert result.commit[:7] in place


def test_a_variant_that_the_last_cpu_lacks_comes_from_the_one_before() -> None:
    """The last machine has what both have; for `wide` the one before stands in, and no third one."""
    kept = Recorded()
    first = [{"name": "x", "variant": v, "ns": ns} for v, ns in (("plain", 8.0), ("wide", 2.0))]
    first.append({"name": "an old name", "variant": "plain", "ns": 8.0})
    last = [{"name": "x", "variant": "plain", "ns": 6.0}]
    kept.items = {("bench", "s"): [(last, "the last"), (first, "the one before")]}
    plain, wide, none = (Where(layer="bench", name="x", variant=v, value="ns") for v in ("plain", "wide", "none"))
    assert kept.find("s", plain) == (6.0, "the last")
    assert kept.find("s", wide) == (2.0, "the one before")
    assert kept.find("s", wide.model_copy(update={"variant": "plain", "over": "wide"})) == (0.25, "the one before")
    for at in (none, plain.model_copy(update={"name": "an old name"})):
        with pytest.raises(FigureError, match="0 figures"):
            kept.find("s", at)


def test_of_two_machines_the_figures_count_that_were_measured_last(tmp_path: Path) -> None:
    def machine(label: str, day: int) -> figures.Machine:
        said = {"layer": "bench", "stem": "one", "finished": f"2026-01-0{day}T00:00:00Z", "commit": "1234567",
                "cpu": f"CPU {label}", "tools": {}, "columns": ["name", "ns"], "rows": [["a", day]]}  # fmt: skip
        return figures.Machine(label=label, cpu=f"CPU {label}", results=[figures.Recorded.model_validate(said)])

    for machines in ([machine("A", 1), machine("B", 2)], [machine("A", 2), machine("B", 1)]):
        (((found, _), _),) = items(machines, tmp_path).values()
        assert found == [{"name": "a", "ns": 2}]


@pytest.mark.parametrize(
    ("value", "bound", "text", "says"),
    [
        (3.1998, "", "{x:.1f}", "3.2"),
        (3.1998, "least", "{x:.1f} and more", "3.1 and more"),
        (3.2, "least", "{x:.1f} and more", "3.2 and more"),
        (1.3101, "most", "{x:.2f} at most", "1.32 at most"),
        (1.1, "most", "{x:.1f} at most", "1.1 at most"),
        (1234.9, "least", "{x:,.0f} or more", "1,234 or more"),
        (0.2699, "least", "{x:.0%} at least", "26% at least"),
    ],
)
def test_a_bound_is_never_rounded_past_the_figure(value: float, bound: Any, text: str, says: str) -> None:
    kept = Recorded()
    kept.items = {("bench", "s"): [([{"name": "a", "ns": value}], "CPU, 1234567")]}
    at = Where(layer="bench", name="a", bound=bound)
    assert filled("s", text, {"x": at}, kept)[0] == says


def test_each_text_that_gives_a_bound_says_which_figure_is_one() -> None:
    words = re.compile(r"\b(and more|or more|or faster|at least|at most)\b")
    found = dict[str, set[str]]()
    for stem in matrix.stems():
        known, row = others.read(stem), subject.subject(stem).row
        if known and row:
            texts = [(one.ours, one.values) for one in known.claim] + [(row.memory, row.values)]
            found |= {text: {at.bound for at in values.values()} for text, values in texts if words.search(text)}
    assert len(found) >= 5
    assert [text for text, bounds in found.items() if bounds == {""}] == []

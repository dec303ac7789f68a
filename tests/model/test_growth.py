# SPDX-License-Identifier: PostgreSQL
"""How a model grows with its bounds: each is raised alone, until it takes too long, breaks, or gives no more states."""

from pathlib import Path

import pytest

from spec.tools import growth, models
from spec.tools.growth import Growth
from spec.tools.models import Holds, Run, Settings
from tools.common import matrix

TOP = Path(__file__).resolve().parents[2]


def run(name: str, states: int | None, **constants: object) -> Run:
    settings = Settings.model_validate({"specification": "Spec", "constants": constants})
    return Run("s", name, Path("spec/s/MCs.tla"), "small", "It says so.", settings, Holds(states=states), 30, 0)


def test_of_each_module_the_smallest_run_that_holds_is_taken() -> None:
    small, large = run("MCs_small", 7), run("MCs_large", 70)
    assert growth.chosen([large, small, run("MCs_small_unknown", None)]) == [small]


def test_bounds_are_whole_numbers_and_sets_that_can_be_gone_on_with() -> None:
    found = [*growth.bounds(run("MCs_small", 7, Max=2, Broken=True, Pages="{p, q}", Who='{"p1", "p2"}', At="{3}"))]
    numbers, who, at = found
    assert numbers == ("Max", [2, 3, 4, 5, 6], [2, 3, 4, 5, 6])
    assert (who[0], who[1][:2], who[2]) == ("|Who|", ['{"p1", "p2"}', '{"p1", "p2", "p3"}'], [2, 3, 4, 5, 6])
    assert (at[0], at[1][-1], at[2][0]) == ("|At|", "{3, 4, 5, 6, 7}", 1)


@pytest.mark.parametrize(
    ("seen", "values", "ended", "expected"),
    [
        ([(10, 1.0), (40, 2.0), (160, 4.0), (640, 8.0), (2560, 16.0)], [2, 3, 4, 5, 6], "", (10240, 64.0)),
        ([(10, 1.0), (40, 2.0), "more than 60 s"], [2, 3], "4: more than 60 s", (160, 8.0)),
        ([(10, 1.0), (10, 1.0), (10, 1.0)], [2, 3, 4], "no more states", (10, 1.0)),
        (["Safe is violated"], [], "2: Safe is violated", None),
    ],
)
def test_a_bound_is_raised_until(
    monkeypatch: pytest.MonkeyPatch,
    seen: list[tuple[int, float] | str],
    values: list[int],
    ended: str,
    expected: tuple[int, float] | None,
) -> None:
    asked: list[object] = []

    def measure(one: Run, build: Path, limit: int) -> tuple[int, float] | str:
        asked.append(one.settings.constants)
        return seen[len(asked) - 1]

    monkeypatch.setattr(growth, "measure", measure)
    found = growth.grow(
        run("MCs_small", 10, Max=2, Other=5), "Max", [2, 3, 4, 5, 6], [2, 3, 4, 5, 6], Path("build"), 60
    )
    assert asked == [{"Max": 2 + step, "Other": 5} for step in range(len(seen))]
    assert (found.values, found.ended, found.expected) == (values, ended, expected)


def test_one_value_alone_tells_nothing_of_the_next() -> None:
    assert Growth(run("MCs_small", 10), "Max", [2], [10], [1.0]).expected is None


@pytest.mark.parametrize("stem", matrix.stems())
def test_each_subject_has_a_model_with_a_bound(stem: str) -> None:
    chosen = growth.chosen(models.find(TOP / "spec", stem))
    assert any([*growth.bounds(one)] for one in chosen)

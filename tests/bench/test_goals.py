# SPDX-License-Identifier: PostgreSQL
"""Floors and targets of benchmarks are judged by intervals, so that noise breaks no floor. Figures as they are kept."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pgquern
import pytest

from bench import figures, goals
from bench.goals import Bound, Goals, Roles, Times
from bench.run import unnamed_items

ROOT = Path(__file__).parents[2]
CONFIG = {"regime": "L2", "n": "226", "order": "random"}
FLOOR = Bound(title="floor", where={}, variants=["fast"], at_least=0.95)


def table(*, bare: Sequence[str] = ()) -> Goals:
    roles = Roles(upstream=["old", "older"], ours=["fast"], limit="limit", bare=list(bare))
    return Goals(quick=[], roles=[roles])


def stand(bound: Bound, times: Times, *, is_floor: bool = True, bare: Sequence[str] = ()) -> goals.Found:
    """How the bound stands in one configuration."""
    (standing,) = goals.stand(bound, table(bare=bare), [(CONFIG, times)], is_floor=is_floor)
    return standing.worst


def test_an_interval_is_named_for_what_it_covers() -> None:
    one = goals.paired_ratio([3.0], [2.0])
    assert (one.median, one.low, one.high, one.coverage, str(one)) == (1.5, None, None, 0.0, "1.50")
    three = goals.paired_ratio([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])
    assert (three.median, three.low, three.high, three.coverage) == (2.0, 1.0, 3.0, 0.75)
    five = goals.paired_ratio([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5)
    assert (five.low, five.high, five.coverage) == (1.0, 5.0, 0.9375)
    many = goals.paired_ratio([float(i) for i in range(1, 28)], [1.0] * 27)
    assert (many.low, many.high, many.coverage) == (8.0, 20.0, 0.95)  # ranks 8 and 20 of 27: binomial(27, 1/2)


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    found = [goals.paired_ratio(random.lognormal(size=15).tolist(), [1.0] * 15) for _ in range(400)]
    covered = sum(r.low is not None and r.high is not None and r.low <= 1 <= r.high for r in found)
    assert 0.95 * 400 <= covered < 400


@pytest.mark.parametrize(
    ("ratios", "breaks", "holds"),
    [
        ([0.90] * 9, True, False),  # the whole interval is below
        ([0.90] * 6 + [1.10] * 3, False, False),  # the median is below, but not the interval
        ([1.10] * 9, False, True),
        ([0.90] * 3, False, False),  # three rounds cannot give an interval of 95 %
        ([0.90], False, False),
    ],
)
def test_a_floor_breaks_where_the_whole_interval_is_below(ratios: list[float], breaks: bool, holds: bool) -> None:
    times = {"old": ratios, "older": [5.0] * len(ratios), "fast": [1.0] * len(ratios)}
    found = stand(FLOOR, times)
    assert (found.breaks, found.holds) == (breaks, holds)


def test_a_claim_is_a_ratio_to_the_faster_upstream_variant() -> None:
    times = {"old": [2.0] * 9, "older": [8.0] * 9, "fast": [1.0] * 9}
    assert stand(FLOOR, times).ratio.median == 2.0
    assert stand(FLOOR, times | {"older": [1.5] * 9}).ratio.median == 1.5


def test_where_bare_moves_miss_a_target_they_are_the_target() -> None:
    target = Bound(title="target", where={}, variants=["fast"], at_least=4.0)
    times = {"old": [3.0] * 9, "older": [9.0] * 9, "fast": [1.5] * 9, "limit": [1.0] * 9}
    found = stand(target, times, is_floor=False, bare=["limit"])
    assert (found.bound, found.bare) == (3.0, True)
    assert found.reached == pytest.approx(2 / 3)
    found = stand(target, times | {"limit": [0.5] * 9}, is_floor=False, bare=["limit"])
    assert (found.bound, found.bare) == (4.0, False)
    assert stand(target, times, bare=["limit"]).bound == 4.0  # a floor stays as it is


def test_a_bound_from_above_is_judged_from_above() -> None:
    bound = Bound(title="to the limit", where={}, variants=["fast"], against="limit", at_most=1.4)
    times = {"old": [9.0] * 9, "older": [9.0] * 9, "fast": [1.3] * 9, "limit": [1.0] * 9}
    assert stand(bound, times).holds
    worse = stand(bound, times | {"fast": [2.8] * 9})
    assert worse.breaks
    assert worse.reached == pytest.approx(0.5)


@pytest.mark.parametrize("path", sorted(ROOT.glob("bench/*/goals.toml")), ids=lambda path: path.parent.name)
def test_every_stem_has_a_floor_for_each_of_its_kinds(path: Path) -> None:
    """No bound names a variant that has no role."""
    found = goals.load(path)
    ours = {variant for roles in found.roles for variant in roles.ours}
    assert {variant for bound in [*found.floor, *found.target] for variant in bound.variants} <= ours
    floored = {variant for bound in found.floor for variant in bound.variants}
    assert all(floored & set(roles.ours) for roles in found.roles)


def test_a_variant_of_which_nothing_is_said_is_a_failure() -> None:
    """What only a benchmark has, such as a yardstick, needs no role."""
    kind, variant = pgquern.all_variants()[0][:2]
    times = {"old": [2.0], "fast": [1.0], variant: [1.0], "yardstick": [1.0]}
    (found,) = unnamed_items(kind, table(), [(CONFIG, times)])
    assert (found["name"], found["status"]) == (f"variant {variant}", "failed")
    assert not unnamed_items(kind, Goals(quick=[], roles=[Roles(upstream=["old"], ours=[variant])]), [(CONFIG, times)])


def test_a_wrong_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "goals.toml"
    path.write_text('quick = []\nroles = []\n[[floor]]\ntitel = "x"\nwhere = {}\nvariants = []\nat_least = 1\n')
    with pytest.raises(ValueError, match=r"floor\.0\.titel"):
        goals.load(path)


def test_figures_are_one_table_a_result_without_raw_curves() -> None:
    """An item may lack what another has; nested figures get names with dots."""
    items = [{"name": "a", "ns": 1.234567, "speedup": {"median": 2}}, {"name": "b", "range": [1.00004, 12345.6]}]
    assert figures.compact({"stem": "any", "items": items, "curves": [1]}) == {
        "stem": "any",
        "columns": ["name", "ns", "speedup.median", "range"],
        "rows": [["a", 1.235, 2, None], ["b", None, None, [1.0, 12350.0]]],
    }


def test_what_was_not_measured_again_stays_among_the_figures() -> None:
    for path in sorted(set(figures.FOLDER.glob("*.json")) - set(figures.FOLDER.glob("servers-*.json"))):
        values = json.loads(path.read_text())
        before = [figures.expanded(value) for value in values]
        assert [figures.compact(result.model_dump(mode="json", exclude_defaults=True)) for result in before] == values
        again = before[0].model_copy(update={"says": "anew"})
        merged = figures.merged(before, [again])
        assert {result.says for result in merged} == {"anew", *(result.says for result in before[1:])}

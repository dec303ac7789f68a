# SPDX-License-Identifier: PostgreSQL
"""The bounds for a stem's benchmarks: the floors and targets of `bench/STEM/goals.toml`, and whether they hold.

A *floor* is a regression bound. It breaks in a configuration where the whole confidence interval of the ratio is worse
than the bound, so noise does not break it. A *target* is what we aim at. It holds in a configuration where the
unfavourable end of the interval does. If bare memory moves also miss a target, the time of the bare moves is the
target.

A configuration is a dict such as {"regime": "L2", "n": "226", "order": "random"}. A selector gives, for some keys, a
value (`85`, `"random"`), a list of values, a bound (`">=100"`, `"<=12"`) or a range (`"24..40"`, ends included).
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from scipy.stats import quantile_test

Config = Mapping[str, str]
Times = Mapping[str, Sequence[float]]  # variant -> nanoseconds, one a round; equal indices were taken in the same round
Selector = dict[str, Any]

CONFIDENCE = 0.95


def selects(where: Mapping[str, Any], config: Config) -> bool:
    """Whether the selector `where` picks `config`."""
    return all(key in config and _agrees(want, config[key]) for key, want in where.items())


def selects_any(selectors: Sequence[Mapping[str, Any]], config: Config) -> bool:
    """Whether one of the selectors picks `config`."""
    return any(selects(where, config) for where in selectors)


def _agrees(want: Any, have: str) -> bool:
    if isinstance(want, list):
        return any(_agrees(one, have) for one in want)
    if isinstance(want, str) and want[:2] in (">=", "<="):
        return have.isdigit() and (int(have) >= int(want[2:]) if want[0] == ">" else int(have) <= int(want[2:]))
    if isinstance(want, str) and ".." in want and have.isdigit():
        low, high = want.split("..")
        return int(low) <= int(have) <= int(high)
    return str(want) == have


class Ratio(BaseModel):
    """The median of paired ratios. low, high: its confidence interval, which covers the median with `coverage`."""

    median: float
    low: float | None = None
    """None, as `high`, if there is one sample only."""
    high: float | None = None
    coverage: float = 0.0
    samples: int

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]"


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> Ratio:
    """Median of numerator[i] / denominator[i], with the interval of scipy.stats.quantile_test, at 95 %.

    Fewer than six samples cannot give 95 %: then the interval is their range, which covers 1 - 2 / 2^n.
    """
    ratios = np.asarray(numerator, dtype=float) / np.asarray(denominator, dtype=float)
    n, median = len(ratios), float(np.median(ratios))
    if n == 1:
        return Ratio(median=median, samples=n)
    widest = 1 - 2 * 0.5**n
    if widest < CONFIDENCE:
        low, high, coverage = float(ratios.min()), float(ratios.max()), widest
    else:
        found: Any = quantile_test(ratios, q=median, p=0.5).confidence_interval(CONFIDENCE)
        low, high, coverage = float(found.low), float(found.high), CONFIDENCE
    return Ratio(median=median, low=low, high=high, coverage=coverage, samples=n)


class Entry(BaseModel):
    """A table of goals.toml: no key but those listed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Roles(Entry):
    """The roles of the variants in a family of configurations."""

    where: Selector = {}
    upstream: list[str]
    ours: list[str]
    again: tuple[str, str] | None = None
    """A variant and its second name: the A/A row."""
    limit: str | None = None
    bare: list[str] = []
    """Variants that do only the work that cannot be avoided."""

    def faster_upstream(self, times: Times) -> str:
        """The upstream variant with the least median: a claim is a ratio to this one."""
        return min((v for v in self.upstream if v in times), key=lambda v: float(np.median(times[v])))


class Bound(Entry):
    """A floor or a target: a bound on the ratio to upstream, to the limit, to a variant, or on the time itself."""

    title: str
    where: Selector
    variants: list[str]
    against: str = "upstream"
    """The faster "upstream" variant, "limit", "ns", or the name of a variant."""
    at_least: float | None = None
    """Times as fast as `against`."""
    at_most: float | None = None
    """Times as long as `against`; nanoseconds if that is "ns"."""
    obstacle: str = ""
    """The reason why the target does not hold everywhere."""

    @model_validator(mode="after")
    def one_side(self) -> "Bound":
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.title}: give at_least or at_most, and not both")
        return self

    @property
    def value(self) -> float:
        found = self.at_least if self.at_least is not None else self.at_most
        assert found is not None
        return found

    def in_words(self) -> str:
        """As in "≥ 3.0× upstream" or "≤ 1.4 limit"."""
        return f"≥ {self.at_least}× {self.against}" if self.at_least is not None else f"≤ {self.at_most} {self.against}"


class Goals(Entry):
    """A stem's goals.toml."""

    pinned: bool = True
    """Whether a benchmark runs on one CPU; False for one that has threads (UsesAllCpus of bench/harness.h)."""
    quick: list[Selector]
    """The configurations that the main job measures."""
    slow: list[Selector] = []
    """A round of these takes long: they get two ninths of the rounds."""
    on_request: list[Selector] = []
    """These are measured with --all only, a ninth of the rounds."""
    roles: list[Roles]
    floor: list[Bound] = []
    target: list[Bound] = []

    def names(self) -> set[str | None]:
        """The variants that have a role, or that others are compared with."""
        roles = {v for roles in self.roles for v in (*roles.upstream, *roles.ours, *roles.bare, roles.limit)}
        return roles | {bound.against for bound in (*self.floor, *self.target)}

    def roles_of(self, config: Config) -> Roles:
        """The first entry that picks `config`."""
        return next(r for r in self.roles if selects(r.where, config))


def load(path: Path) -> Goals:
    """Raises ValueError, naming the file and the key, if it is not as above."""
    try:
        return Goals.model_validate(tomllib.loads(path.read_text()))
    except ValidationError as error:
        raise ValueError(f"{path}: {error}") from error


def ratio_of(bound: Bound, variant: str, who: Roles, times: Times) -> Ratio | None:
    """The ratio of `variant` that is bounded; None if what it is compared with was not measured."""
    if bound.against == "ns":
        return paired_ratio(times[variant], [1.0] * len(times[variant]))
    other = {"upstream": who.faster_upstream(times), "limit": who.limit or ""}.get(bound.against, bound.against)
    if other not in times:
        return None
    if bound.at_least is not None:
        return paired_ratio(times[other], times[variant])
    return paired_ratio(times[variant], times[other])


@dataclass(frozen=True)
class Found:
    """A bound and the measured ratio in one configuration."""

    config: Config
    ratio: Ratio
    bound: float
    bare: bool
    """The bound is the ratio of the bare moves, because they miss the bound of the table."""
    at_least: bool

    @property
    def reached(self) -> float:
        """The share of the bound that the median reaches: 1 or more is at the bound or better."""
        return self.ratio.median / self.bound if self.at_least else self.bound / self.ratio.median

    @property
    def holds(self) -> bool:
        """Whether the unfavourable end of the interval is at the bound or better; False without an interval."""
        if self.ratio.low is None or self.ratio.high is None:
            return False
        return self.ratio.low >= self.bound if self.at_least else self.ratio.high <= self.bound

    @property
    def breaks(self) -> bool:
        """Whether the favourable end of an interval of 95 % is worse than the bound; False without such an interval."""
        if self.ratio.low is None or self.ratio.high is None or self.ratio.coverage < CONFIDENCE:
            return False
        return self.ratio.high < self.bound if self.at_least else self.ratio.low > self.bound


@dataclass(frozen=True)
class Standing:
    """A floor or a target of one variant, with the ratios in all configurations that it applies to."""

    bound: Bound
    variant: str
    found: Sequence[Found]

    @property
    def worst(self) -> Found:
        return min(self.found, key=lambda f: f.reached)

    def as_dict(self) -> dict[str, Any]:
        """For the results file."""
        worst = self.worst
        return {
            "title": self.bound.title,
            "variant": self.variant,
            "bound": self.bound.in_words(),
            "obstacle": self.bound.obstacle,
            "of": len(self.found),
            "holds": sum(f.holds for f in self.found),
            "breaks": sum(f.breaks for f in self.found),
            "bare": sum(f.bare for f in self.found),
            "worst": worst.ratio.model_dump(),
            "worst_config": {k: v for k, v in worst.config.items() if str(self.bound.where.get(k)) != v},
            "worst_bound": worst.bound,
            "worst_is_bare": worst.bare,
            "reached": worst.reached,
        }


def _loosest(bound: Bound, who: Roles, times: Times) -> tuple[float, bool]:
    """The bound, or what bare moves reach if that is less."""
    if bound.against == "upstream" or bound.against == (who.limit and "limit"):
        bare = [ratio_of(bound, v, who, times) for v in who.bare if v in times]
        reached = [r.median for r in bare if r is not None]
        loosest = (min if bound.at_least is not None else max)([bound.value, *reached])
        return loosest, loosest != bound.value
    return bound.value, False


def stand(bound: Bound, goals: Goals, measured: Sequence[tuple[Config, Times]], *, is_floor: bool) -> list[Standing]:
    """One entry for each variant of the bound that was measured. A floor is never loosened."""
    standings = []
    for variant in bound.variants:
        found = []
        for config, times in measured:
            if not selects(bound.where, config) or variant not in times:
                continue
            who = goals.roles_of(config)
            ratio = ratio_of(bound, variant, who, times)
            value, bare = (bound.value, False) if is_floor else _loosest(bound, who, times)
            if ratio is not None:
                found.append(Found(config, ratio, value, bare, bound.at_least is not None))
        if found:
            standings.append(Standing(bound, variant, found))
    return standings

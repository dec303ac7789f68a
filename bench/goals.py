# SPDX-License-Identifier: PostgreSQL
"""Goals of a stem (`bench/goals/<stem>.toml`), judged against measured configurations.

A configuration is a dict such as {"regime": "L2", "n": "226", "order": "random"}. A selector gives, for some keys,
a value (`85`, `"random"`), a list of values, a bound (`">=100"`, `"<=12"`) or a range (`"24..40"`, ends included).
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

Config = Mapping[str, str]
Times = Mapping[str, Sequence[float]]  # variant -> nanoseconds, one a repetition; equal indices were taken side by side


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


@dataclass(frozen=True)
class Ratio:
    """Median of paired ratios, with its 95 % confidence interval."""

    median: float
    low: float
    high: float


def paired_ratio(numerator: Sequence[float], denominator: Sequence[float]) -> Ratio:
    """Median of numerator[i] / denominator[i]; its interval is the sign test's, which assumes no distribution."""
    ratios = np.sort(np.asarray(numerator) / np.asarray(denominator))
    n = len(ratios)
    rank = max(0, int(np.floor((n - 1.96 * np.sqrt(n)) / 2)))  # normal approximation of the binomial quantile
    return Ratio(float(np.median(ratios)), float(ratios[rank]), float(ratios[n - 1 - rank]))


@dataclass(frozen=True)
class Roles:
    """Who is who in a family of configurations."""

    where: Mapping[str, Any]
    upstream: Sequence[str]
    ours: Sequence[str]
    again: tuple[str, str] | None
    limit: str | None
    floor: Sequence[str]  # variants that do no more than must be done

    def faster_upstream(self, times: Times) -> str:
        """The upstream variant with the least median: a claim is a ratio to this one."""
        return min((v for v in self.upstream if v in times), key=lambda v: float(np.median(times[v])))


@dataclass(frozen=True)
class Goal:
    """One row of a stem's table: a bound on the ratio to upstream, to the limit, or on the time itself."""

    title: str
    where: Mapping[str, Any]
    variant: str
    against: str  # "upstream", "limit", "ns", or the name of a variant
    at_least: float | None
    at_most: float | None
    or_instructions: bool  # where the times cannot decide, the ratio of instructions does
    obstacle: str  # what was found to stand in its way, where it is missed


@dataclass(frozen=True)
class Verdict:
    """How a goal stands: in how many configurations it is met or missed, where noise hides which, and the worst one."""

    goal: Goal
    met: int
    missed: int
    undecided: Sequence[Config]
    below_floor: int  # of those missed: what must be done takes too long already
    by_instructions: int  # of those met
    worst: Ratio | None
    worst_config: Config | None

    @property
    def of(self) -> int:
        return self.met + self.missed + len(self.undecided)

    @property
    def status(self) -> str:
        if not self.of:
            return "not measured"
        if self.met == self.of:
            return "met" + (f", {self.by_instructions} of {self.of} by instructions" if self.by_instructions else "")
        open_ones = {"missed": self.missed, "undecided": len(self.undecided)}
        text = ", ".join(f"{word} in {n}" for word, n in open_ones.items() if n) + f" of {self.of}"
        return text + (f" (in {self.below_floor} the bare moves miss it too)" if self.below_floor else "")

    @property
    def why(self) -> str:
        """What stands in the way of a goal that is missed somewhere."""
        return self.goal.obstacle if self.missed else ""

    @property
    def is_met(self) -> bool:
        return self.of > 0 and self.met == self.of


def load(path: Path) -> tuple[list[Roles], list[Goal]]:
    """Roles and goals of a stem."""
    table = tomllib.loads(path.read_text())
    roles = [
        Roles(
            r.get("where", {}),
            r["upstream"],
            r["ours"],
            tuple(r["again"]) if "again" in r else None,
            r.get("limit"),
            r.get("floor", []),
        )
        for r in table["roles"]
    ]
    goals = [
        Goal(
            g["title"],
            g["where"],
            g["variant"],
            g["against"],
            g.get("at_least"),
            g.get("at_most"),
            g.get("or_instructions", False),
            g.get("obstacle", ""),
        )
        for g in table["goal"]
    ]
    return roles, goals


def roles_of(roles: Sequence[Roles], config: Config) -> Roles:
    """The first entry that picks `config`."""
    return next(r for r in roles if selects(r.where, config))


def ratio_of(goal: Goal, variant: str, who: Roles, times: Times) -> Ratio | None:
    """The ratio that the goal bounds, of `variant`; None if what it is compared with was not measured."""
    mine = times[variant]
    if goal.against == "ns":
        return paired_ratio(mine, [1.0] * len(mine))
    other = {"upstream": who.faster_upstream(times), "limit": who.limit or ""}.get(goal.against, goal.against)
    if other not in times:
        return None
    return paired_ratio(times[other], mine) if goal.at_least is not None else paired_ratio(mine, times[other])


def slack(goal: Goal, ratio: Ratio) -> tuple[float, float]:
    """How many times better than the bound the two ends of the interval are, the worse end first."""
    if goal.at_least is not None:
        return ratio.low / goal.at_least, ratio.high / goal.at_least
    assert goal.at_most is not None
    return goal.at_most / ratio.high, goal.at_most / ratio.low


def judge(goal: Goal, roles: Sequence[Roles], measured: Sequence[tuple[Config, Times]]) -> Verdict:
    """Met in a configuration when the 95 % bound on the unfavourable side is; missed when neither bound is."""
    met = missed = below_floor = 0
    undecided: list[Config] = []
    worst: tuple[float, Ratio, Config] | None = None
    for config, times in measured:
        if not selects(goal.where, config) or goal.variant not in times:
            continue
        who = roles_of(roles, config)
        ratio = ratio_of(goal, goal.variant, who, times)
        if ratio is None:
            continue
        at_worst, at_best = slack(goal, ratio)
        met += at_worst >= 1
        if at_best < 1:
            missed += 1
            bare = [ratio_of(goal, variant, who, times) for variant in who.floor if variant in times]
            below_floor += any(r is not None and slack(goal, r)[1] < 1 for r in bare)
        elif at_worst < 1:
            undecided.append(config)
        if worst is None or at_worst < worst[0]:
            worst = (at_worst, ratio, config)
    return Verdict(
        goal, met, missed, undecided, below_floor, 0, worst[1] if worst else None, worst[2] if worst else None
    )


def settle(verdict: Verdict, instruction_ratio: Callable[[Config], float]) -> Verdict:
    """Decides by the instructions of upstream over ours what noise has left undecided."""
    least = verdict.goal.at_least
    assert least is not None
    met = sum(instruction_ratio(config) >= least for config in verdict.undecided)
    missed = len(verdict.undecided) - met
    return replace(verdict, met=verdict.met + met, missed=verdict.missed + missed, undecided=[], by_instructions=met)

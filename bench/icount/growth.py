# SPDX-License-Identifier: PostgreSQL
"""How the instructions of an operation grow with a size: the slope of a straight line through both logarithms.

0 is a cost that stays, 1 one in proportion, 2 a square. `[[growth]]` in bench/STEM/icount.toml declares a series, and
the slope that is wanted.

The line is that of least squares. Its interval is Student's, at 95 %: counts have no noise, so it says how far the
points are from a straight line. The last step is the slope between the two largest sizes: a part that grows faster may
be hidden below a constant one at smaller sizes. A series fails if the upper end of the interval, or the last step, is
above the wanted slope by more than TOLERANCE.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, model_validator
from scipy.special import stdtrit

TOLERANCE = 0.25
"""Half way to the square root, which is refused. The logarithm of sizes from 64 to 16,384 has a slope of 0.15, with an
upper end of 0.19, and passes, also as a factor: it is what a tree costs, and a sort."""
CONFIDENCE = 0.95
FEWEST, WIDE = 5, 256
"""Sizes of a series, and the largest by the smallest."""


class Above(BaseModel):
    """A slope that is known to be above what is wanted: it may be so much, and no more, until that is mended."""

    model_config = ConfigDict(extra="forbid")

    slope: float
    why: str


class Series(BaseModel):
    """An operation, counted at several sizes."""

    model_config = ConfigDict(extra="forbid")

    what: str
    unit: str
    """What there are more and more of."""
    variant: str
    shape: str
    """As icount.c takes it; {} stands for the size."""
    sizes: list[int]
    wanted: float
    narrow: str = ""
    """Why the sizes cannot span WIDE."""
    above: Above | None = None

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.sizes != sorted(set(self.sizes)) or len(self.sizes) < FEWEST or self.sizes[0] < 1:
            raise ValueError(f"{self.what}: at least {FEWEST} sizes, in ascending order, are needed")
        if (self.sizes[-1] < WIDE * self.sizes[0]) != bool(self.narrow):
            raise ValueError(f"{self.what}: `narrow` says why sizes span less than a factor of {WIDE}, and only then")
        if "{}" not in self.shape:
            raise ValueError(f"{self.what}: {{}} in the shape stands for the size")
        return self

    def shape_of(self, size: int) -> str:
        return self.shape.replace("{}", str(size))


@dataclass(frozen=True)
class Fit:
    """The line through the logarithms: its slope and the interval, its value at 1, the slope of the last step."""

    slope: float
    low: float
    high: float
    at_one: float
    last: float

    @property
    def worst(self) -> float:
        return max(self.high, self.last)

    @property
    def says(self) -> str:
        return f"{two(self.slope)} [{two(self.low)}, {two(self.high)}]"

    def __str__(self) -> str:
        return f"{self.says}, last step {two(self.last)}"


def two(value: float) -> str:
    """Two digits, and no -0.00."""
    return f"{round(value, 2) + 0:.2f}"


def fit(sizes: Sequence[int], counts: Sequence[int]) -> Fit:
    """The line of least squares through log(size) and log(count)."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(counts, float))
    slope, intercept = np.polyfit(x, y, 1)
    rest, freedom = y - (slope * x + intercept), len(x) - 2
    error = np.sqrt((rest @ rest) / freedom / np.sum((x - x.mean()) ** 2))
    half = stdtrit(freedom, (1 + CONFIDENCE) / 2) * error
    last = (y[-1] - y[-2]) / (x[-1] - x[-2])
    return Fit(float(slope), float(slope - half), float(slope + half), float(np.exp(intercept)), float(last))


def fault(series: Series, found: Fit) -> str:
    """Why a series fails; empty if it does not."""
    if found.worst <= series.wanted + TOLERANCE:
        return f"{found}: no longer above what is wanted: take `above` out of the series" if series.above else ""
    bound, known = (series.above.slope, "known") if series.above else (series.wanted, "wanted")
    if found.worst <= bound + TOLERANCE:
        return ""
    return f"{found}: above {bound:g}, which is {known}, by more than {TOLERANCE}"


def judge(series: Series, counts: Sequence[int]) -> dict[str, Any]:
    """One item of the result."""
    found = fit(series.sizes, counts)
    item: dict[str, Any] = series.model_dump() | {"name": series.what, "instructions": list(counts)}
    item |= {key: round(value, 4) for key, value in vars(found).items()} | {"says": found.says}
    item["above"] = series.above.why if series.above else ""
    reason = fault(series, found)
    return item | ({"status": "failed", "reason": reason} if reason else {"status": "passed"})

# SPDX-License-Identifier: PostgreSQL
"""How costs grow: what slope is found, what is refused, and that an operation which looks at everything is."""

import subprocess
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bench.icount.growth import FEWEST, TOLERANCE, WIDE, Above, Fit, Series, fault, fit, judge
from bench.icount.run import Counter, Subject

SIZES = [16 * 4**k for k in range(5)]


def series(**changes: Any) -> Series:
    declared: dict[str, Any] = {"what": "it", "unit": "things", "variant": "any", "shape": "{}", "sizes": SIZES}
    return Series.model_validate(declared | {"wanted": 0} | changes)


def of(cost: Callable[[int], float]) -> Fit:
    return fit(SIZES, [round(cost(n)) for n in SIZES])


@pytest.mark.parametrize("power", [0, 1, 2])
def test_a_power_has_its_slope_exactly(power: int) -> None:
    found = of(lambda n: 700 * n**power)
    assert [found.slope, found.low, found.high, found.last] == pytest.approx([power] * 4, abs=1e-9)
    assert found.at_one == pytest.approx(700)


def test_the_interval_is_students() -> None:
    """Against a textbook's: log2 of the counts is 0, 1, 1, 2, 4 where that of the sizes is 0, 2, 4, 6, 8."""
    found = fit([1, 4, 16, 64, 256], [1, 2, 2, 4, 16])
    # Slope 18 / 40; squares left 9.2 - 8.1 = 1.1; its error is the root of 1.1 / 3 / 40; t(3, 97.5 %) is 3.182446.
    half = 3.182446 * (1.1 / 3 / 40) ** 0.5
    assert [found.slope, found.low, found.high] == pytest.approx([0.45, 0.45 - half, 0.45 + half], abs=1e-6)
    assert found.last == pytest.approx(1)


def test_a_logarithm_passes_also_as_a_factor() -> None:
    sizes = [4 * n for n in SIZES]
    assert sizes[-1] == WIDE * sizes[0]
    assert fault(series(), fit(sizes, [round(1000 * log2(n)) for n in sizes])) == ""
    assert fault(series(wanted=1), fit(sizes, [round(1000 * n * log2(n)) for n in sizes])) == ""
    assert fault(series(wanted=1), fit(sizes, [200 + 3 * n for n in sizes])) == ""


def test_what_grows_faster_is_refused() -> None:
    assert "above 0, which is wanted" in fault(series(), of(lambda n: 100 * n**0.5))
    assert "above 0, which is wanted" in fault(series(), of(lambda n: 1000 + 2 * n))
    assert "above 1, which is wanted" in fault(series(wanted=1), of(lambda n: n**2))
    assert fault(series(wanted=2), of(lambda n: n**2)) == ""


def test_what_begins_late_is_refused_by_the_last_step() -> None:
    late = fit(SIZES, [1000, 1000, 1000, 1000, 1450])
    assert late.high < TOLERANCE < late.last
    assert fault(series(), late) != ""


def test_a_known_exception_is_bounded_and_does_not_outlive_its_reason() -> None:
    known = series(above=Above(slope=1, why="it walks"))
    assert fault(known, of(lambda n: 1000 + 2 * n)) == ""
    assert "above 1, which is known" in fault(known, of(lambda n: n**2))
    assert "no longer above" in fault(known, of(lambda _: 1000))


@pytest.mark.parametrize(
    "changes",
    [
        {"sizes": SIZES[: FEWEST - 1], "narrow": "few"},
        {"sizes": SIZES[::-1]},
        {"sizes": [0, *SIZES]},
        {"sizes": [1, 2, 3, 4, 5]},
        {"narrow": "it is not"},
        {"shape": "no size"},
        {"wanted": None},
        {"slope": 1},
    ],
)
def test_a_series_says_enough(changes: dict[str, Any]) -> None:
    series()
    series(sizes=[1, 2, 3, 4, 5], narrow="there are five")
    with pytest.raises(ValidationError):
        series(**changes)


SUBJECT = r"""
#include "icount/subject.h"
#include <stdlib.h>
#include <string.h>

static size_t n, sought;
static bool walks;
static uint32_t all[1 << 16];

bool subject_choose(const char *variant, int words, char **shape)
{
    n = words == 1 ? strtoul(shape[0], NULL, 10) : 0;
    walks = strcmp(variant, "walks") == 0;
    return n > 0 && n <= 1 << 16 && (walks || strcmp(variant, "searches") == 0);
}

static bool run(void)
{
    size_t from = 0, to = n;

    while (walks && all[from] != sought)
        from++;
    while (!walks && to - from > 1)
        if (all[(from + to) / 2] <= sought)
            from = (from + to) / 2;
        else
            to = (from + to) / 2;
    return all[from] == sought;
}

bool subject_warm_up(void)
{
    for (size_t i = 0; i < n; i++)
        all[i] = (uint32_t)i;
    return run();
}

void subject_next(void)
{
    sought = subject_random() % n;
}

__attribute__((noinline)) bool counted_call(void)
{
    bool good = run();

    __asm__ volatile("" ::: "memory");
    return good;
}
"""


def test_an_operation_that_looks_at_everything_is_refused(tmp_path: Path) -> None:
    """By the same program and the same counter as the stems' operations. The same look-up by halves passes."""
    (tmp_path / "icount.c").write_text(SUBJECT)
    flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Ibench"]
    step = tmp_path / "step"
    subprocess.run(["gcc", *flags, "bench/icount/step.c", tmp_path / "icount.c", "-o", step], check=True)
    both = [series(what=variant, variant=variant) for variant in ("walks", "searches", "lacking")]
    counts = Counter(step, Subject(growth=both)).count_growth()
    assert list(counts) == ["walks", "searches"]
    walks, searches = (judge(one, counts[one.what]) for one in both[:2])
    assert walks["status"] == "failed"
    assert walks["last"] > 0.5
    assert searches["status"] == "passed"

# SPDX-License-Identifier: PostgreSQL
"""What CBMC is told of the intrinsics, proofs/bounded/immintrin.h, against this CPU: every line of each list."""

from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity

import pytest

from tests.instructions import inputs
from tests.instructions.compare import Amount, compare, first_difference
from tests.instructions.programs import OnCpu, listed, on_cpu, results
from tests.tally import tally

BY_LANES = ("build/instructions/by_lanes",)
AMOUNT = Amount(random=10_000, corners=1500)
LEVELS = sorted(set(listed().values()) - {"neon"})
HERE = on_cpu()


def of_level(level: str) -> list[OnCpu]:
    mine = [one for one in HERE.values() if one.level == level]
    if not all(one.supported for one in mine):
        pytest.skip(f"this CPU lacks {level}: {', '.join(name for name, its in listed().items() if its == level)}")
    return mine


@pytest.mark.parametrize("level", LEVELS)
def test_each_intrinsic_does_what_its_lanes_say(level: str) -> None:
    mine = of_level(level)
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(lambda one: compare(one, AMOUNT, meaning=BY_LANES), mine))
    assert [outcome.difference for outcome in outcomes if outcome.difference] == []
    assert {outcome.name for outcome in outcomes} == {name for name, its in listed().items() if its == level}
    assert all(outcome.random >= AMOUNT.random for outcome in outcomes if HERE[outcome.name].instruction.sizes)
    tally("instructions", "by lanes", sum(outcome.tried for outcome in outcomes))


@pytest.mark.parametrize(("name", "other"), [("_mm256_max_epu16", "_mm256_min_epu16"), ("_tzcnt_u32", "_lzcnt_u32")])
def test_the_lanes_of_another_differ(name: str, other: str) -> None:
    of_level("avx2")
    here, one = HERE[name], HERE[other].instruction
    batch = inputs.corners(one)
    wrong = first_difference(
        here.instruction, batch, results(here.command, here.instruction, batch), results(BY_LANES, one, batch)
    )
    assert wrong.startswith(f"{name} of ")

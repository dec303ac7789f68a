# SPDX-License-Identifier: PostgreSQL
"""What CBMC is told of the intrinsics, the headers of proofs/bounded, against the CPU: every line of each list.

ARM's run under qemu beside the compiler's own arm_neon.h, where `make test-cross` or `make instructions` built them.
"""

from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity
from pathlib import Path
from platform import machine

import pytest

from tests.common.tally import tally
from tests.instructions import inputs
from tests.instructions.compare import Amount, Outcome, compare, first_difference
from tests.instructions.programs import Command, OnCpu, listed, on_cpu, results

AMOUNT = Amount(random=10_000, corners=1500)
LEVELS = sorted(set(listed().values()))
HERE = on_cpu()


def by_lanes(one: OnCpu) -> Command:
    """The program of the same machine that has the lanes in the place of the compiler's intrinsics."""
    *runs_it, program = one.command
    return (*runs_it, str(Path(program).with_name("by_lanes")))


def of_level(level: str) -> list[OnCpu]:
    mine = [one for one in HERE.values() if one.level == level]
    if not mine and (level == "neon") == (machine() == "x86_64"):
        pytest.skip(f"this CPU lacks {level}, another machine has it: `make test-cross` runs it under qemu")
    if not all(one.supported for one in mine):
        pytest.skip(f"this CPU lacks {level}: {', '.join(name for name, its in listed().items() if its == level)}")
    return mine


@pytest.mark.parametrize("level", LEVELS)
def test_each_intrinsic_does_what_its_lanes_say(level: str) -> None:
    def compared(one: OnCpu) -> Outcome:
        return compare(one, AMOUNT, meaning=by_lanes(one))

    mine = of_level(level)
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(compared, mine))
    assert [outcome.difference for outcome in outcomes if outcome.difference] == []
    assert {outcome.name for outcome in outcomes} == {name for name, its in listed().items() if its == level}
    assert all(outcome.random >= AMOUNT.random for outcome in outcomes if HERE[outcome.name].instruction.sizes)
    tally("instructions", "by lanes", sum(outcome.tried for outcome in outcomes))


@pytest.mark.parametrize(
    ("level", "name", "other"),
    [
        ("avx2", "_mm256_max_epu16", "_mm256_min_epu16"),
        ("avx2", "_tzcnt_u32", "_lzcnt_u32"),
        ("neon", "vmaxq_u16", "vminq_u16"),
        ("neon", "vcgeq_u32", "vsubq_u32"),
    ],
)
def test_the_lanes_of_another_differ(level: str, name: str, other: str) -> None:
    of_level(level)
    here, one = HERE[name], HERE[other].instruction
    batch = inputs.corners(one)
    wrong = first_difference(
        here.instruction, batch, results(here.command, here.instruction, batch), results(by_lanes(here), one, batch)
    )
    assert wrong.startswith(f"{name} of ")

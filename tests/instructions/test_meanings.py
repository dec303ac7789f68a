# SPDX-License-Identifier: PostgreSQL
"""The meaning of each instruction against this CPU, on a few thousand inputs; `make instructions` tries many more."""

from concurrent.futures import ThreadPoolExecutor
from os import sched_getaffinity

import numpy as np
import pytest

from tests.common.tally import tally
from tests.instructions import inputs, used
from tests.instructions.compare import BRIEF, Outcome, compare, first_difference
from tests.instructions.programs import (
    CPU,
    MEANING,
    Instruction,
    OnCpu,
    UnknownError,
    listed,
    on_cpu,
    results,
    with_meaning,
)

HERE, MEANINGS = on_cpu(), with_meaning()
LEVELS = sorted(set(listed().values()))


def test_both_sides_have_the_same_instructions() -> None:
    """With the same sizes; the lists of other machines have the same names."""
    assert set(listed()) == set(MEANINGS)
    assert {name: one.instruction for name, one in HERE.items()}.items() <= MEANINGS.items()
    assert {name: one.level for name, one in HERE.items()}.items() <= listed().items()


@pytest.mark.parametrize("level", LEVELS)
def test_each_instruction_does_what_its_meaning_says(level: str) -> None:
    mine = [one for one in HERE.values() if one.level == level]
    if not all(one.supported for one in mine) or not mine:
        pytest.skip(f"this CPU lacks {level}: {', '.join(name for name, its in listed().items() if its == level)}")
    with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
        outcomes: list[Outcome] = list(pool.map(lambda one: compare(one, BRIEF), mine))
    assert [outcome.difference for outcome in outcomes if outcome.difference] == []
    assert len(outcomes) == len(mine)
    tally("instructions", "instructions", len(outcomes))
    tally("instructions", "inputs", sum(outcome.tried for outcome in outcomes))


def test_csrc_uses_no_instruction_without_a_meaning() -> None:
    uses = used.used(MEANINGS)
    assert [name for name in uses if name not in MEANINGS and name not in used.NO_MEANING] == []
    assert [name for name in MEANINGS if name not in uses] == []
    assert [name for name in used.NO_MEANING if name not in uses] == []
    assert len(uses) > 150


def runnable(name: str) -> OnCpu:
    if not (name in HERE and HERE[name].supported):
        pytest.skip(f"this CPU lacks {name}")
    return HERE[name]


@pytest.mark.parametrize(
    ("name", "other"),
    [("_mm256_and_si256", "_mm256_or_si256"), ("_mm256_permute2x128_si256 8", "_mm256_permute2x128_si256 32")],
)
def test_another_instruction_differs(name: str, other: str) -> None:
    """The comparison can fail: with the CPU doing one thing, and the meaning of another."""
    here, one, batch = runnable(name), MEANINGS[name], inputs.corners(MEANINGS[other])
    meaning = results(MEANING, MEANINGS[other], batch)
    assert first_difference(one, batch, results(here.command, one, batch), meaning).startswith(f"{name} of ")
    assert first_difference(one, batch, meaning, meaning) == ""


def test_a_load_beyond_the_edge_is_seen() -> None:
    """Of 16 bytes the last is not there: no result. A mask without it gives one."""
    name = "_mm256_maskload_epi32"
    here, one, memory = runnable(name), MEANINGS[name], bytes(range(32))
    most, everything = b"\xff" * 28 + bytes(4), b"\xff" * 32
    for command in (here.command, MEANING):
        assert results(command, one, bytes([31]) + memory + everything) == bytes(33)
        assert results(command, one, bytes([31]) + memory + most) == b"\1" + memory[:28] + bytes(4)


def test_an_unknown_instruction_is_refused() -> None:
    for command in ((str(CPU),), MEANING):
        with pytest.raises(UnknownError, match="_mm_nothing"):
            results(command, Instruction("_mm_nothing", (16,), 16), bytes(16))


def test_random_inputs_reach_what_they_are_for() -> None:
    """Equal lanes, neighbours, and corners as lanes; the same inputs for the same seed."""
    one = Instruction("_mm256_cmpgt_epi32", (32, 32), 32)
    made = np.concatenate(list(inputs.randoms(one, 6000, 7, 2000)))
    a, b = (made[:, at : at + 32].copy().view("<u4") for at in (0, 32))
    for step in (0, 1, 2**32 - 1):
        assert np.count_nonzero(b == a + np.uint32(step)) > 1000
    assert all(np.count_nonzero(a == x) > 300 for x in inputs.values(4))
    again = np.concatenate(list(inputs.randoms(one, 6000, 7, 2000)))
    assert (made == again).all()
    assert (made != np.concatenate(list(inputs.randoms(one, 6000, 8, 2000)))).any()


def test_corners_have_every_mask_index_and_pair() -> None:
    masked = Instruction("_mm512_mask_xor_epi64", (64, 1, 64, 64), 64)
    rows = np.frombuffer(inputs.corners(masked), dtype=np.uint8).reshape(-1, masked.size)
    assert set(rows[:, 64].tolist()) == set(range(256))
    picks = np.frombuffer(inputs.corners(Instruction("p", (64, 64, 64), 64)), dtype=np.uint8).reshape(-1, 192)
    index = picks[:, 64:128].copy().view("<u2")
    assert all(set(range(64)) <= set(index[:, lane].tolist()) for lane in range(32))
    a, b = (picks[:, at : at + 64].copy().view("<u4") for at in (0, 128))
    wanted = {(x, y) for x in inputs.values(4) for y in inputs.values(4)}
    assert all(wanted <= set(zip(a[:, k].tolist(), b[:, k].tolist(), strict=True)) for k in range(16))

# SPDX-License-Identifier: PostgreSQL
"""An instruction's meaning against the CPU, byte by byte."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.instructions import inputs
from tests.instructions.programs import MEANING, Command, Instruction, OnCpu, results


@dataclass
class Outcome:
    """What the comparison of an instruction found."""

    name: str
    corners: int = 0
    random: int = 0
    difference: str = ""
    """The first input with two results, and these; "" if there is none."""
    seconds: float = 0.0

    @property
    def tried(self) -> int:
        return self.corners + self.random


@dataclass(frozen=True)
class Amount:
    """How many inputs: random ones, from a seed, and of the corners at most so many, evenly chosen."""

    random: int
    corners: int | None = None
    masks: bool = False
    """Whether each mask of 16 lanes is tried."""
    seed: int = field(default=1)


BRIEF = Amount(random=500, corners=1500)
"""For `make test`."""


def sample(batch: bytes, size: int, most: int | None) -> bytes:
    """At most so many inputs of a batch, evenly chosen."""
    n = len(batch) // size
    if most is None or n <= most:
        return batch
    chosen = np.linspace(0, n - 1, most).astype(int)
    return bytes(np.frombuffer(batch, dtype=np.uint8).reshape(n, size)[chosen].tobytes())


def batches(one: Instruction, amount: Amount) -> Iterator[tuple[bytes, bool]]:
    """Inputs, and whether they are random ones."""
    yield sample(inputs.corners(one), one.size, amount.corners), False
    if amount.masks and (masks := inputs.every_mask(one)):
        yield masks, False
    for chunk in inputs.randoms(one, amount.random, amount.seed):
        yield chunk.tobytes(), True


def first_difference(one: Instruction, batch: bytes, cpu: bytes, meaning: bytes) -> str:
    """The first input with two results."""
    for at in range(len(cpu) // one.width):
        mine = slice(at * one.width, (at + 1) * one.width)
        if cpu[mine] != meaning[mine]:
            given, operands = batch[at * one.size : (at + 1) * one.size], []
            for size in one.sizes:
                operands.append(given[:size].hex())
                given = given[size:]
            return f"{one.name} of {', '.join(operands)}: CPU {cpu[mine].hex()}, meaning {meaning[mine].hex()}"
    return ""


def compare(here: OnCpu, amount: Amount, *, meaning: Command = MEANING) -> Outcome:
    """Run both on the same inputs, up to the first difference."""
    one = here.instruction
    outcome, started = Outcome(one.name), time.monotonic()
    todo: Iterable[tuple[bytes, bool]] = batches(one, amount) if one.sizes else [(b"", False)]
    for batch, random in todo:
        n = len(batch) // one.size if one.size else 1
        by_cpu, by_meaning = results(here.command, one, batch), results(meaning, one, batch)
        outcome.difference = first_difference(one, batch, by_cpu, by_meaning)
        outcome.random += n * random
        outcome.corners += n * (not random)
        if outcome.difference:
            break
    outcome.seconds = time.monotonic() - started
    return outcome

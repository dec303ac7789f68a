# SPDX-License-Identifier: PostgreSQL
"""The two programs that run an instruction: the CPU's (main.c), and that of its meaning, extracted from Coq."""

import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.extracted import program

CPU = Path("build/instructions/cpu")
MEANING = program("instructions")


@dataclass(frozen=True)
class Instruction:
    """An intrinsic, with its immediate behind its name; the sizes of its operands and of its result, in bytes."""

    name: str
    sizes: tuple[int, ...]
    width: int

    @property
    def size(self) -> int:
        """Of all operands."""
        return sum(self.sizes)


@dataclass(frozen=True)
class OnCpu:
    """What the CPU's program says of one: its level, and whether this CPU has it."""

    instruction: Instruction
    level: str
    supported: bool


class UnknownError(Exception):
    """A program could not be run, with what to do."""


def lines_of(path: Path) -> list[list[str]]:
    if not path.exists():
        raise UnknownError(f"{path} is not built: `make instructions` builds it")
    run = subprocess.run([path, "--list"], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in run.stdout.splitlines()]


def instruction(name: str, sizes: str, width: str) -> Instruction:
    return Instruction(name, tuple(map(int, sizes.split())), int(width))


def on_cpu() -> dict[str, OnCpu]:
    """The instructions of the lists in C, by name."""
    found = (OnCpu(instruction(*line[:3]), line[3], line[4] == "1") for line in lines_of(CPU))
    return {one.instruction.name: one for one in found}


def with_meaning(path: Path = MEANING) -> dict[str, Instruction]:
    """The instructions of the table in Coq, by name."""
    found = (instruction(*line) for line in lines_of(path))
    return {one.name: one for one in found}


def results(path: Path, one: Instruction, inputs: bytes) -> bytes:
    """What a program makes of some inputs, one behind the other. UnknownError: it gave up, with its words."""
    n = len(inputs) // one.size if one.size else 1
    head = struct.pack("<B", len(one.name)) + one.name.encode() + struct.pack("<I", n)
    run = subprocess.run([path], input=head + inputs, capture_output=True, check=False)
    if run.returncode or len(run.stdout) != n * one.width:
        raise UnknownError(f"{path} gave up on {one.name}: {run.stderr.decode()}")
    return run.stdout

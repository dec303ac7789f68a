# SPDX-License-Identifier: PostgreSQL
"""The programs that run an instruction: this CPU's, another machine's under qemu, and that of the meanings from Coq.

The CPU's is main.c with the lists avx2.def and others; the one of the meanings is proofs/oracle/instructions.ml.
"""

import re
import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.common.extraction import program

LISTS = Path("tests/instructions")
CPU = Path("build/instructions/cpu")
MEANING = (str(program("instructions")),)
EMULATED = {"qemu-aarch64": Path("build/aarch64/instructions/cpu")}
"""The programs of other machines, and what runs them."""

Command = Sequence[str]
NAME = re.compile(r"_mm\w+|_[a-z]+_u\d+|__builtin_\w+|vp?[a-z]\w*")


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
    """What a CPU's program says of one: its level, and whether the CPU has it; and how the program is run."""

    instruction: Instruction
    level: str
    supported: bool
    command: tuple[str, ...]


class UnknownError(Exception):
    """A program could not be run, with what to do."""


def lines_of(command: Command) -> list[list[str]]:
    if not Path(command[-1]).exists():
        raise UnknownError(f"{command[-1]} is not built: `make instructions` builds it")
    run = subprocess.run([*command, "--list"], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in run.stdout.splitlines()]


def instruction(name: str, sizes: str, width: str) -> Instruction:
    return Instruction(name, tuple(map(int, sizes.split())), int(width))


def on_cpu() -> dict[str, OnCpu]:
    """The instructions that a program can be asked for here, by name: those under qemu, and this machine's."""
    commands: list[tuple[str, ...]] = []
    commands += [(qemu, str(path)) for qemu, path in EMULATED.items() if shutil.which(qemu) and path.exists()]
    commands.append((str(CPU),))
    return {
        line[0]: OnCpu(instruction(*line[:3]), line[3], line[4] == "1", command)
        for command in commands
        for line in lines_of(command)
    }


def listed() -> dict[str, str]:
    """The instructions of all lists, those of other machines too, each with its level."""
    levels = {}
    for path in sorted(LISTS.glob("*.def")):
        for macro, arguments in re.findall(r"^([A-Z_]+)\((.*)\)$", path.read_text(), re.M):
            parts = re.split(r",\s*", arguments)
            name = next(part for part in parts if NAME.fullmatch(part))
            levels[f"{name} {parts[-1]}" if macro.endswith("_OF") else name] = path.stem
    return levels


def with_meaning(command: Command = MEANING) -> dict[str, Instruction]:
    """The instructions of the table in Coq, by name."""
    found = (instruction(*line) for line in lines_of(command))
    return {one.name: one for one in found}


def results(command: Command, one: Instruction, inputs: bytes) -> bytes:
    """What a program makes of some inputs, one behind the other. UnknownError: it gave up, with its words."""
    n = len(inputs) // one.size if one.size else 1
    head = struct.pack("<B", len(one.name)) + one.name.encode() + struct.pack("<I", n)
    run = subprocess.run(command, input=head + inputs, capture_output=True, check=False)
    if run.returncode or len(run.stdout) != n * one.width:
        raise UnknownError(f"{command[-1]} gave up on {one.name}: {run.stderr.decode()}")
    return run.stdout

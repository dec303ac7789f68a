# SPDX-License-Identifier: PostgreSQL
"""What kernels in plain C do to memory beside what the proved functions do: the same operations in the same order.

Equal results do not say that: another way may end in the same bytes. build/traced/STEM tells what C does, as gcc
compiles it at -O1; build/oracle/STEM_operations tells what the proved functions do, extracted from the proofs.
"""

import os
import struct
import subprocess
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.extracted import program
from tests.tally import tally

TOP = Path(__file__).parents[1]
LOAD, STORE, MOVE = range(3)

Operation = tuple[int, ...]
"""What, array, zero, at, from, how many elements."""


def _told(path: Path, records: Sequence[bytes]) -> list[list[Operation]]:
    """The operations for each record, an access to several elements as one to each."""
    if not path.exists():
        pytest.fail(f"{path} is not built: run `make oracle build/traced/{path.name.removesuffix('_operations')}`")
    output = subprocess.run([path], input=b"".join(records), stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    for _ in records:
        (k,) = struct.unpack_from("<I", output, at)
        operations = struct.iter_unpack("<BBHIII", output[at + 4 : at + 4 + 16 * k])
        found.append([one for operation in operations for one in _single(operation)])
        at += 4 + 16 * k
    assert at == len(output)
    return found


def _single(operation: Operation) -> list[Operation]:
    what, array, zero, at, start, n = operation
    if what == MOVE or n == 1:
        return [operation]
    return [(what, array, zero, at + i, start, 1) for i in range(n)]


def traced(stem: str, records: Sequence[bytes]) -> list[list[Operation]]:
    return _told(TOP / "build/traced" / stem, records)


@cache
def _proved(stem: str, records: tuple[bytes, ...]) -> list[list[Operation]]:
    return _told(program(f"{stem}_operations"), records)


def proved(stem: str, records: Sequence[bytes]) -> list[list[Operation]]:
    return _proved(stem, tuple(records))


def compare(stem: str, records: Sequence[bytes], inputs: str) -> None:
    """C and proof do the same for each record; `inputs`: what the records are called in the tally."""
    for number, (got, want) in enumerate(zip(traced(stem, records), proved(stem, records), strict=True)):
        pairs = enumerate(zip_longest(got, want))
        other = next((f"operation {n}: {a} in C, {b} proved" for n, (a, b) in pairs if a != b), None)
        assert other is None, f"record {number} of {len(records)}, {len(records[number])} bytes: {other}"
        tally(stem, "operations traced", len(got))
    tally(stem, f"{inputs} traced", len(records))


def is_told(stem: str, file: str, old: str, new: str, records: Sequence[bytes], folder: Path) -> bool:
    """C with one change, which gives the same results, does something else for some record. Compiled in a folder."""
    text = (TOP / "csrc" / stem / file).read_text()
    assert text.count(old) == 1
    (folder / stem).mkdir()
    (folder / stem / file).write_text(text.replace(old, new))
    command = ["make", "-s", f"CHANGED={folder}", f"TRACED={folder}/traced", f"{folder}/traced/{stem}"]
    variables = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(command, cwd=TOP, env=variables, check=True)
    return _told(folder / "traced" / stem, records) != proved(stem, records)

# SPDX-License-Identifier: PostgreSQL
"""What kernels and proved algorithms do to a page, one by one, as traced.c and the extracted program tell it."""

import os
import struct
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import _pgquern
import pytest

from tests.common.extraction import FOLDER
from tests.common.operations import BUILT, EMULATOR
from tests.compaction.strategies import edge_page, random_edge
from tests.compaction.test_extracted import PROGRAM, PROVED
from tests.page.build import page_of
from tests.page.shapes import random_shape

TRACED = BUILT / "compaction"
MOVE, SAVE, RESTORE, STORE16, STORE32 = range(5)
PLANS = 64
"""Added to the algorithm: the program answers with the operations, and does none of them."""
HEADER_STORES = 3
TRACED_NUMBER = {"pg13": 0, "pg14": 1, "scalar": 2, "avx2": 3, "avx512": 4, "neon": 5}

Operation = tuple[int, int, int, int]


class Plan(NamedTuple):
    """What is done to a page, or its refusal."""

    code: int
    at: int
    operations: list[Operation]

    @property
    def copies(self) -> list[Operation]:
        return [operation for operation in self.operations if operation[0] <= RESTORE]

    @property
    def stores(self) -> list[Operation]:
        return [operation for operation in self.operations if operation[0] > RESTORE]

    def shifted(self) -> list[Operation]:
        """The copies, as traced.c shows them: it does not know where scratch begins."""
        by = next((start - to for what, to, start, _ in self.copies if what == SAVE), 0)
        shifts = {MOVE: (0, 0), SAVE: (by, 0), RESTORE: (0, by)}
        return [(what, to + shifts[what][0], start + shifts[what][1], n) for what, to, start, n in self.copies]

    def lengths(self, kind: int) -> list[int]:
        return [length for what, _, _, length in self.copies if what == kind]

    def squeezes(self) -> bool:
        """Units of 8 bytes, and the hole, are read; whole lines are written."""
        return set(self.lengths(SAVE)) == {8, 64} and set(self.lengths(RESTORE)) == {64} and MOVE not in self.kinds()

    def slides_by_pairs(self) -> bool:
        """By registers of 16 bytes, some of which are read before the first is written."""
        return {n for *_, n in self.copies} == {16} and self.kinds()[:2] == [SAVE, SAVE]

    def permutes(self) -> bool:
        """Two windows or more, all of one width, are read before one is written."""
        half = len(self.copies) // 2
        return half > 1 and self.kinds() == [SAVE] * half + [RESTORE] * half and len({n for *_, n in self.copies}) == 1

    def kinds(self) -> list[int]:
        return [what for what, *_ in self.copies]


@cache
def pages() -> list[bytes]:
    """Sound and corrupt, on the edges too."""
    return [page_of(random_shape(number)) for number in range(1200)] + [edge_page(random_edge(n)) for n in range(400)]


def command(program: Path) -> list[str]:
    """Those that are extracted are this machine's."""
    if not program.exists():
        build = "test-cross" if EMULATOR else "oracle test-python-compaction"
        pytest.fail(f"{program} is not built: run `make {build}`")
    return [str(program)] if program.parent == FOLDER else [*EMULATOR, str(program)]


def plans(program: Path, algorithm: int, truncate: bool, pages: Sequence[bytes]) -> list[Plan]:
    """The operations on each page."""
    records = b"".join(bytes([algorithm, truncate]) + page for page in pages)
    answers = subprocess.run(command(program), input=records, stdout=subprocess.PIPE, check=True).stdout
    found, at = [], 0
    for _ in pages:
        code, index, n = struct.unpack_from("<BHI", answers, at)
        at += 7
        found.append(Plan(code, index, list(struct.iter_unpack("<iiii", answers[at : at + 16 * n]))))
        at += 16 * n
    assert at == len(answers)
    return found


@cache
def traced() -> Path:
    """The kernels' program: of their sources, or of the changed ones that lie beside the binding."""
    folder = Path(_pgquern.__file__).parent
    if not (folder / "csrc").exists():
        return TRACED
    program = folder / "traced" / "compaction"
    make = ["make", "-s", f"TRACED={program.parent}", f"CHANGED={folder / 'csrc'}", str(program)]
    subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return program


@cache
def proved(way: str, truncate: bool) -> list[Plan]:
    return plans(PROGRAM, PLANS + PROVED[way][0], truncate, pages())

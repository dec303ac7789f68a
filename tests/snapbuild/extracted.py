# SPDX-License-Identifier: PostgreSQL
"""The program extracted from the proofs (build/oracle/snapbuild), as one more opinion on every operation.

A question is [1 byte operation][u32 n][u32 m][u64 xmin][n u64 array][m u64 batch or flags], an answer is
[1 byte code][u32 k][k u64], all little-endian. Questions are collected and asked together.
"""

import struct
import subprocess
from collections.abc import Sequence
from enum import IntEnum

from tests.common.extraction import program

PROGRAM = program("snapbuild")


class Op(IntEnum):
    PURGE = 0
    PURGE_SORTED = 1
    INSERT = 2
    PURGE_FULL = 3
    COMPRESS = 4


class Extracted:
    """Questions with the answers that they must get."""

    def __init__(self) -> None:
        self.questions = bytearray()
        self.answers: list[tuple[int, list[int]]] = []

    def expect(
        self, answer: Sequence[int], op: Op, array: Sequence[int], batch: Sequence[int] = (), xmin: int = 0
    ) -> None:
        """Asking `op` must give `answer`."""
        self._ask(op, array, batch, xmin, (0, list(answer)))

    def refuse(self, code: int, op: Op, array: Sequence[int], batch: Sequence[int] = (), xmin: int = 0) -> None:
        """Asking `op` must be refused with `code`."""
        self._ask(op, array, batch, xmin, (code, []))

    def _ask(
        self, op: Op, array: Sequence[int], batch: Sequence[int], xmin: int, answer: tuple[int, list[int]]
    ) -> None:
        self.questions += struct.pack("<BIIQ", op, len(array), len(batch), xmin)
        self.questions += struct.pack(f"<{len(array) + len(batch)}Q", *array, *batch)
        self.answers.append(answer)

    def check(self) -> int:
        """Ask them all; AssertionError at the first other answer. The number asked."""
        run = subprocess.run([PROGRAM], input=bytes(self.questions), capture_output=True, check=True)
        at = 0
        for i, answer in enumerate(self.answers):
            code, k = struct.unpack_from("<BI", run.stdout, at)
            got = list(struct.unpack_from(f"<{k}Q", run.stdout, at + 5))
            assert (code, got) == answer, f"question {i}: the extracted proof says {code}, {got}, not {answer}"
            at += 5 + 8 * k
        assert at == len(run.stdout), "more answers than questions"
        return len(self.answers)

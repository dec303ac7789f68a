# SPDX-License-Identifier: PostgreSQL
"""The function extracted from the proof, oracle and every variant, on the same arrays."""

import struct
import subprocess
from pathlib import Path
from random import Random

from pgquern.toy import largest, variants

from ref import toy as ref
from tests.common.tally import tally

PROGRAM = Path(__file__).parents[2] / "build" / "oracle" / "toy"


def test_proof_equals_oracle_equals_kernels() -> None:
    rng = Random(1)
    arrays = [[rng.getrandbits(32) for _ in range(n % 7)] for n in range(1000)]
    questions = b"".join(struct.pack(f"<I{len(array)}I", len(array), *array) for array in arrays)
    answers = subprocess.run([PROGRAM], input=questions, capture_output=True, check=True).stdout
    for array, (found, number) in zip(arrays, struct.iter_unpack("<BI", answers), strict=True):
        assert bool(found) == bool(array)
        if array:
            assert number == ref.largest(array)
            assert {largest(array, variant=v.name) for v in variants() if v.supported} == {number}
    tally("toy", "arrays through proof, oracle and kernels", len(arrays))

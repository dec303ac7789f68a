# SPDX-License-Identifier: PostgreSQL
"""The scans of avx512, number by number and array by array, against the proved ones.

As test_scans_avx2.py. That of at most 16 line pointers is proofs/compaction/scan/avx512/ScanAvx512Few.v, that of more
ScanAvx512.v; C chooses between them (scanned_avx512.c).
"""

from functools import cache
from random import Random

import pytest
from pgquern import compaction

from tests.common.variants import every_variant
from tests.compaction.scans import hold_against_proof, inputs_of, of_steps

NAMES = (
    "nitems", "nused", "nline_left", "total", "new_upper", "longest", "shortest", "ngaps", "first", "out_of_bounds",
    "falls",
)  # fmt: skip
TOLD = ("ngaps", "out_of_bounds", "falls")
FEW = 16
"""Up to so many line pointers are in one vector of whole ones."""
LANES = 32
"""Of more, so many are taken at a time."""
OF_MIXED_STEPS = 300


def of_mixed_steps(number: int) -> bytes:
    """Up to three vectors of tuples, most of which touch the one before: gaps and overlaps before and after one
    another."""
    random = Random(number)
    count = 1 + number % (3 * LANES)
    return of_steps(random.choices((0, 8, 16, 24), (1, 1, 5 * LANES // 4, 2), k=count))


@cache
def all_pages() -> list[bytes]:
    return [*inputs_of(LANES), *(of_mixed_steps(number) for number in range(OF_MIXED_STEPS))]


@pytest.mark.parametrize("variant", every_variant(row for row in compaction.variants() if row.name == "avx512"))
def test_the_scans_of_avx512_find_what_the_proved_ones_find(variant: str) -> None:
    hold_against_proof(variant, NAMES, TOLD, FEW, all_pages())

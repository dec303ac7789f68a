# SPDX-License-Identifier: PostgreSQL
"""The scan of avx2, number by number and array by array, against the proved one.

proofs/compaction/scan/avx2/ScanAvx2.v has it register by register, each intrinsic by its meaning. A theorem says what
it finds; here C's scan (scanned_avx2.c) finds the same, on pages that the kernel then leaves to scalar, too. The arrays
are compared farther than the scan has filled them: what its last vectors store there is the same.
"""

import pytest
from pgquern import compaction

from tests.common.variants import every_variant
from tests.compaction.scans import hold_against_proof, inputs_of

NAMES = (
    "nitems", "nused", "nline_left", "total", "longest", "ngaps", "first", "out_of_bounds", "unsorted", "overlapping",
)  # fmt: skip
TOLD = ("ngaps", "out_of_bounds", "unsorted", "overlapping")
LANES = 16
"""Up to so many line pointers are compared while they are in registers; so many are taken at a time."""


@pytest.mark.parametrize("variant", every_variant(row for row in compaction.variants() if row.name == "avx2"))
def test_the_scan_of_avx2_finds_what_the_proved_one_finds(variant: str) -> None:
    hold_against_proof(variant, NAMES, TOLD, LANES, inputs_of(LANES))

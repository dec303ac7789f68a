# SPDX-License-Identifier: PostgreSQL
"""The scan of neon, number by number and array by array, against the proved one.

As test_scans_avx2.py. The proved one is proofs/compaction/scan/neon/ScanNeon.v. `make test-cross` runs these tests
where this CPU is another: qemu runs C's scan (scanned_neon.c).
"""

from pgquern import compaction

from tests.common.operations import skip_unless_run
from tests.compaction.scans import hold_against_proof, inputs_of

HERE = {variant.name for variant in compaction.variants() if variant.supported}
NAMES = (
    "nitems", "nused", "nline_left", "total", "longest", "new_upper", "ngaps", "first", "out_of_bounds", "falls",
)  # fmt: skip
TOLD = ("ngaps", "out_of_bounds", "falls")
LANES = 8
"""So many line pointers are taken at a time."""


def test_the_scan_of_neon_finds_what_the_proved_one_finds() -> None:
    skip_unless_run("neon", HERE)
    hold_against_proof("neon", NAMES, TOLD, LANES, inputs_of(LANES))

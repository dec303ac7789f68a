# SPDX-License-Identifier: PostgreSQL
"""The scan of neon, number by number and array by array, against the proved one.

As test_scans_avx2.py. The proved one is proofs/compaction/scan/neon/ScanNeon.v. `make test-cross` runs these tests
where this CPU is another: qemu runs C's scan (scanned_neon.c).
"""

from functools import cache
from pathlib import Path

import pytest
from pgquern import compaction

from tests.common.operations import change, make_changed, skip_unless_run
from tests.compaction.scans import PROVED, hold_against_proof, inputs_of, scans

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


CHANGES = {
    "an alignment of 16": ("vandq_u16(x.offs, vdupq_n_u16(UNIT - 1))", "vandq_u16(x.offs, vdupq_n_u16(2 * UNIT - 1))"),
    "the longest is the OR of all": (
        "x->longest = vmaxq_u16(x->longest, len);",
        "x->longest = vorrq_u16(x->longest, len);",
    ),
    "an lp_off without storage is out of bounds": ("vornq_u16(off, stored)", "off"),
    "only those with storage are used": ("vsubq_u16(x.nused, used)", "vsubq_u16(x.nused, stored)"),
    "only those with storage are left": (
        "vmaxq_u16(x.last_used, vandq_u16(numbers, used))",
        "vmaxq_u16(x.last_used, vandq_u16(numbers, stored))",
    ),
    "all lanes of a vector are left": (
        "vmaxq_u16(x.last_used, vandq_u16(numbers, used))",
        "vmaxq_u16(x.last_used, vmaxq_u16(numbers, used))",
    ),
    "dead line pointers lose lp_off": (
        "vbslq_u16(vandq_u16(stored, off_mask)",
        "vbslq_u16(vandq_u16(used, off_mask)",
    ),
    "the last line pointer is not used": ("vcleq_u16(numbers, nline)", "vcltq_u16(numbers, nline)"),
    "the total has 16 bits": ("s->total = vaddvq_u32(x.totals);", "s->total = (uint16_t)vaddvq_u32(x.totals);"),
    "pd_upper has 16 bits": ("s->new_upper = b->special - s->total;", "s->new_upper = vgetq_lane_u16(base, 0);"),
    "tuples of the lower lanes are four": ("to += sum >> 8 & 15;", "to += LANES / 2;"),
    "eight tuples are put behind the last": ("k < 2 * LANES; k += LANES / 2", "k < LANES; k += LANES / 2"),
    "nothing is put behind the last before they are compared": ("if (s->nitems != 0)\n", "if (false)\n"),
    "a fall is kept as a gap": ("vst1_u8(gaps, vmovn_u16(gap));", "vst1_u8(gaps, vmovn_u16(vorrq_u16(gap, fall)));"),
    "a fall counts as a gap": (
        "ngaps = vsubq_u16(ngaps, gap);",
        "ngaps = vsubq_u16(ngaps, vorrq_u16(gap, fall));",
    ),
    "the first to move is behind a gap": ("vornq_u16(numbers, vorrq_u16(gap, fall))", "vornq_u16(numbers, gap)"),
    "tuples are numbered from 1 on": ("{0, 1, 2, 3, 4, 5, 6, 7}", "{1, 2, 3, 4, 5, 6, 7, 8}"),
    "equal distances are a gap": ("gap = vcgtq_s16(shift, before)", "gap = vcgeq_s16(shift, before)"),
    "distances are not negative": (
        "gap = vcgtq_s16(shift, before)",
        "gap = vcgtq_u16(vreinterpretq_u16_s16(shift), vreinterpretq_u16_s16(before))",
    ),
    "the last distance of a vector is lost": ("        last = shift;\n", ""),
}


@cache
def proved() -> list[tuple[int, ...]]:
    return list(scans(PROVED, inputs_of(LANES), "neon"))


@pytest.mark.whole
@pytest.mark.parametrize("name", CHANGES)
def test_another_scan_is_told(name: str, tmp_path: Path) -> None:
    skip_unless_run("neon", HERE)
    change("compaction", "neon.c", *CHANGES[name], tmp_path)
    assert list(scans(make_changed(tmp_path, "scanned_neon"), inputs_of(LANES), "neon")) != proved()

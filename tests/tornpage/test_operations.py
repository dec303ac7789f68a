# SPDX-License-Identifier: PostgreSQL
"""The checksums load each word of a page once, in the order of the proved algorithms.

Those by vector registers take pages side by side: their order says how many, and which pages are left to go alone.
"""

import struct
from functools import cache
from pathlib import Path
from random import Random

import pytest
from pgquern.tornpage import variants

from tests.common.operations import compare, is_told, skip_unless_run

KINDS = {"upstream": 0, "scalar": 1, "avx2": 2, "avx512": 3, "neon": 4}
SIDE_BY_SIDE = ("avx2", "avx512", "neon")
HERE = {variant.name for variant in variants() if variant.supported}
ROW = 128
SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
"""Bytes of a page."""
COUNTS = (0, 1, 2, 3, 4, 5, 7, 8)
"""Pages of a call: no group, groups alone, and groups with each number of pages that can be left."""
MOST = 65536
"""Bytes of a call, at most."""


@cache
def records(name: str) -> list[bytes]:
    """Calls: single pages, or each number of pages of each size."""
    rng = Random(KINDS[name])
    counts = COUNTS if name in SIDE_BY_SIDE else [1] * 5
    return [
        struct.pack("<BII", KINDS[name], size // ROW, count) + rng.randbytes(size * count)
        for size in SIZES
        for count in counts
        if size * count <= MOST
    ]


@pytest.mark.parametrize("name", KINDS)
def test_loads_are_the_proved_ones(name: str) -> None:
    skip_unless_run(name, HERE)
    compare("tornpage", records(name), "runs of pages" if name in SIDE_BY_SIDE else "pages")


CHANGES = {
    "lanes from the last to the first": (
        "scalar.c",
        "scalar",
        "            mixed[lane] = next(mixed[lane], words[lane]);\n",
        "            mixed[LANES - 1 - lane] = next(mixed[LANES - 1 - lane], words[LANES - 1 - lane]);\n",
    ),
    "the first row is loaded again": (
        "upstream_loop.h",
        "upstream",
        "    mix_row(sums, first);\n",
        "    for (size_t lane = 0; lane < LANES; lane++)\n"
        "        first[lane] = lane == CHECKSUM_WORD ? first[lane] : ((const page_word *)page)[lane];\n"
        "    mix_row(sums, first);\n",
    ),
    "three pages go side by side": ("avx2.c", "avx2", "enum { GROUP = 2, ", "enum { GROUP = 3, "),
    "no pages go side by side": (
        "avx2.c",
        "avx2",
        "DEFINE_CHECKSUM(avx2, fold_page, fold_groups)\n",
        "DEFINE_CHECKSUM(avx2, fold_page, no_groups)\n",
    ),
    "the pages of a group go one after the other": (
        "fold.h",
        "avx2",
        "    for (size_t row = 1; row < rows; row++)\n#pragma GCC unroll 4\n        for (size_t p = 0; p < n; p++)\n",
        "#pragma GCC unroll 4\n    for (size_t p = 0; p < n; p++)\n        for (size_t row = 1; row < rows; row++)\n",
    ),
    "registers from the last to the first": (
        "fold.h",
        "avx2",
        "                mixed[p][r] = next(mixed[p][r], words_at(pages + (p * rows + row) * ROW, r), prime);\n",
        "                mixed[p][REGISTERS - 1 - r] =\n"
        "                    next(mixed[p][REGISTERS - 1 - r],\n"
        "                         words_at(pages + (p * rows + row) * ROW, REGISTERS - 1 - r), prime);\n",
    ),
    "the page that is left goes first": (
        "fold.h",
        "avx2",
        "    size_t i = 0;\n\n    for (; count - i >= GROUP;",
        "    size_t i = 0;\n\n"
        "    if (count % GROUP)\n"
        "        checksums[count - 1] = finish(fold_page(pages + (count - 1) * block_size, block_size / ROW),\n"
        "                                      first_block + (uint32_t)(count - 1));\n"
        "    for (; count - i >= GROUP;",
    ),
    "three pages go side by side in neon": ("neon.c", "neon", "enum { GROUP = 2, ", "enum { GROUP = 3, "),
    "no pages go side by side in neon": (
        "neon.c",
        "neon",
        "DEFINE_CHECKSUM(neon, fold_page, fold_groups)\n",
        "DEFINE_CHECKSUM(neon, fold_page, no_groups)\n",
    ),
    "the upper half of a register comes first in neon": (
        "neon.c",
        "neon",
        "    return vreinterpretq_u32_u8(vld1q_u8(row + 16 * r));\n",
        "    uint8x8_t upper = *(volatile uint8x8_t *)(row + 16 * r + 8);\n\n"
        "    return vreinterpretq_u32_u8(vcombine_u8(*(volatile uint8x8_t *)(row + 16 * r), upper));\n",
    ),
}
CHANGES |= {
    f"{name} in neon": (file, "neon", old, new) for name, (file, _, old, new) in CHANGES.items() if file == "fold.h"
}


@pytest.mark.whole
@pytest.mark.parametrize("name", CHANGES)
def test_another_way_to_the_same_sum_is_told(name: str, tmp_path: Path) -> None:
    file, kind, old, new = CHANGES[name]
    skip_unless_run(kind, HERE)
    assert is_told("tornpage", file, old, new, records(kind), tmp_path)

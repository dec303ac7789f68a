# SPDX-License-Identifier: PostgreSQL
"""The checksums load each word of a page once, in the order of the proved algorithms.

Those by vector registers take pages side by side: their order says how many, and which pages are left to go alone.
"""

import struct
from functools import cache
from random import Random

import pytest
from pgquern.tornpage import variants

from tests.common.operations import compare, skip_unless_run

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

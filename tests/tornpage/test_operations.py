# SPDX-License-Identifier: PostgreSQL
"""The checksums in plain C load each word of a page once, in the order of the proved algorithms."""

import struct
from pathlib import Path
from random import Random

import pytest

from tests.operations import compare, is_told

KINDS = {"upstream": 0, "scalar": 1}
ROW = 128
SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
"""Bytes of a page."""


def records(kind: int) -> list[bytes]:
    rng = Random(kind)
    return [struct.pack("<BI", kind, size // ROW) + rng.randbytes(size) for size in SIZES for _ in range(5)]


@pytest.mark.parametrize("name", KINDS)
def test_loads_are_the_proved_ones(name: str) -> None:
    compare("tornpage", records(KINDS[name]), "pages")


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
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_way_to_the_same_sum_is_told(name: str, tmp_path: Path) -> None:
    file, kind, old, new = CHANGES[name]
    assert is_told("tornpage", file, old, new, records(KINDS[kind]), tmp_path)

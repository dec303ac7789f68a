# SPDX-License-Identifier: PostgreSQL
"""The arrays by which AVX2 and NEON pack lanes are what the proofs take them for."""

import re
from pathlib import Path

SOURCE = Path("csrc/common/left_pack.c")
NEON = Path("csrc/common/left_pack_neon.h")


def test_each_entry_lists_the_places_of_its_bits() -> None:
    entries = [int(entry, 16) for entry in re.findall(r"0x[0-9a-f]{16}", SOURCE.read_text())]
    assert len(entries) == 256
    for m, entry in enumerate(entries):
        places = [k for k in range(8) if m >> k & 1]
        assert entry.to_bytes(8, "little") == bytes(places) + bytes(8 - len(places))


def test_each_entry_of_neon_lists_the_bytes_of_its_bits() -> None:
    rows = re.findall(r"^    \{([0-9, ]+)\},$", NEON.read_text(), re.M)
    assert len(rows) == 16
    for m, row in enumerate(rows):
        places = [4 * k + byte for k in range(4) if m >> k & 1 for byte in range(4)]
        assert [int(entry) for entry in row.split(",")] == places + [255] * (16 - len(places))

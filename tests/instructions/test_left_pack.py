# SPDX-License-Identifier: PostgreSQL
"""The array by which AVX2 packs lanes is what the proof takes it for: `left_pack` of the vector steps."""

import re
from pathlib import Path

SOURCE = Path("csrc/common/left_pack.c")


def test_each_entry_lists_the_places_of_its_bits() -> None:
    entries = [int(entry, 16) for entry in re.findall(r"0x[0-9a-f]{16}", SOURCE.read_text())]
    assert len(entries) == 256
    for m, entry in enumerate(entries):
        places = [k for k in range(8) if m >> k & 1]
        assert entry.to_bytes(8, "little") == bytes(places) + bytes(8 - len(places))

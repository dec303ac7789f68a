# SPDX-License-Identifier: PostgreSQL
"""What avx512 does with its scans, against the proved one: which way it takes, with which numbers, and what it stores.

The proved one is proofs/compaction/scan/avx512/ScanAvx512Moves.v: a theorem says that it repairs the page. Of C the
functions that choose are compiled a second time, and tell what they call in place of moving tuples (moved_avx512.c).
"""

from collections import Counter

import pytest
from pgquern import compaction

from ref.page import BLCKSZ
from tests.common.extraction import program
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.compaction import choices
from tests.compaction.scans import scanner, scans
from tests.compaction.test_scans_avx512 import all_pages

PROVED = program("compaction_moves")
WAYS = (
    "nothing", "permute", "runs", "slide", "climb", "windows", "squeeze", "slots", "by depth", "whole lines", "each",
)  # fmt: skip
NUMBERS = {
    "permute": [(32, 8), (32, 16), (64, 16)],
    "slide": [(32, 0), (64, 0)],
    "climb": [(3, 0), (4, 0), (5, 0), (6, 0)],
    "windows": [(32, 0), (64, 0), (96, 0), (128, 0), (192, 0), (256, 0)],
}
"""Those that go with a way."""


def of_five_pieces() -> list[bytes]:
    """No longest tuple of choices.py has five pieces of 32 bytes."""
    return [
        choices.page([160 - 8 * (i % 4) for i in range(count)], count // 2, True, 0, BLCKSZ, count)
        for count in range(18, 36)
    ]


@pytest.mark.parametrize("variant", every_variant(row for row in compaction.variants() if row.name == "avx512"))
def test_avx512_does_with_its_scans_what_the_proved_one_does(variant: str) -> None:
    pages = [*all_pages(), *choices.pages(), *of_five_pieces()]
    seen: Counter[tuple[str, int, int]] = Counter()
    found, proved = scans(scanner(f"moved_{variant}"), pages, "moves"), scans(PROVED, pages, "moves")
    for number, (got, want) in enumerate(zip(found, proved, strict=True)):
        assert got[:3] == want[:3], number
        assert got == want, number
        if got:
            seen[WAYS[got[0]], got[1], got[2]] += 1
    wanted = {(way, *numbers) for way in WAYS for numbers in NUMBERS.get(way, [(0, 0)])}
    assert wanted == set(seen), seen
    assert min(seen.values()) >= 5, seen
    tally("compaction", f"what {variant} does with its scans", len(pages))

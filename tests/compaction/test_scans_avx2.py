# SPDX-License-Identifier: PostgreSQL
"""The scan of avx2, number by number and array by array, against the proved one.

proofs/compaction/ScanAvx2.v has it register by register, each intrinsic by its meaning. A theorem says what it finds;
here C's scan (scanned_avx2.c) finds the same, on pages that the kernel then leaves to scalar, too. The arrays are
compared farther than the scan has filled them: what its last vectors store there is the same.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain, cycle, islice
from random import Random

import pytest
from pgquern import compaction

from ref.page import BLCKSZ
from tests.compaction.scans import crafted, inputs, line_pointer, scanner, scans
from tests.every_variant import every_variant
from tests.extracted import program
from tests.tally import tally

PROGRAM = program("compaction_scan")
NAMES = (
    "nitems", "nused", "nline_left", "total", "longest", "ngaps", "first", "out_of_bounds", "unsorted", "overlapping",
)  # fmt: skip
LANES = 16
"""Up to so many line pointers are compared while they are in registers; so many are taken at a time."""
MOST = (BLCKSZ - 24) // 4 - LANES
"""Line pointers of the fullest page that is scanned: behind them the last vector must end within the page."""
OF_ANY_WORDS = 400


def of_any_words(number: int) -> bytes:
    """Up to three vectors of line pointers, each any 32 bits."""
    random = Random(number)
    words = [random.getrandbits(32) for _ in range(number % (3 * LANES + 2))]
    special = 8 * random.randint(64, BLCKSZ // 8)
    return crafted(words, random.randint(24 + 4 * len(words), special), special)


def of_equal_tuples(count: int, step: int) -> bytes:
    """Each tuple lies so far below the one before: 0 in one place, 8 overlaps, 16 touches, 24 leaves a gap."""
    words = [line_pointer(8176 - step * i, 1, 16) for i in range(count)]
    return crafted(words, 4096, BLCKSZ)


def full_pages() -> Iterator[bytes]:
    """As many line pointers as the kernel scans, and one more."""
    random = Random(MOST)
    for words in (
        [line_pointer(24, 1, 32767)],
        [line_pointer(0, 3, 0)],
        [0x1FFFF],
        [line_pointer(8184, 1, 8)],
        [random.getrandbits(32) for _ in range(MOST + 1)],
    ):
        for count in (MOST, MOST + 1):
            yield crafted(list(islice(cycle(words), count)), BLCKSZ, BLCKSZ)


@cache
def all_inputs() -> list[bytes]:
    """The pages on which scalar's scan is looked at, and corners of this one."""
    words = (of_any_words(number) for number in range(OF_ANY_WORDS))
    equal = (of_equal_tuples(count, step) for count in range(1, 2 * LANES + 3) for step in (0, 8, 16, 24))
    return [*inputs(), *chain(words, equal, full_pages())]


def line_pointers(page: bytes) -> int:
    return (int(struct.unpack_from("<H", page, 12)[0]) - 24) // 4


@pytest.mark.parametrize("variant", every_variant(row for row in compaction.variants() if row.name == "avx2"))
def test_the_scan_of_avx2_finds_what_the_proved_one_finds(variant: str) -> None:
    """All its numbers and arrays; on pages that it finds out of bounds, too."""
    seen: Counter[str] = Counter()
    found, proved = scans(scanner(f"scanned_{variant}"), all_inputs()), scans(PROGRAM, all_inputs())
    for number, (page, got, want) in enumerate(zip(all_inputs(), found, proved, strict=True)):
        numbers = dict(zip(NAMES, got, strict=False))
        assert numbers == dict(zip(NAMES, want, strict=False)), number
        assert got == want, number
        seen.update(name for name in ("ngaps", "out_of_bounds", "unsorted", "overlapping") if numbers.get(name))
        seen["no gap"] += bool(got) and numbers["nitems"] > 0 and not numbers["ngaps"]
        seen["one vector"] += bool(got) and line_pointers(page) == LANES
        seen["few"] += bool(got) and line_pointers(page) < LANES
        seen["many"] += bool(got) and line_pointers(page) > LANES
        seen["not scanned"] += not got
    assert len(seen) == 9, seen
    assert min(seen.values()) >= 5, seen
    tally("compaction", "scans of avx2", len(all_inputs()))

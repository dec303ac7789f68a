# SPDX-License-Identifier: PostgreSQL
"""The scan of scalar, number by number, and all that scalar does after it, against the proved loops.

proofs/compaction/Scan.v has both, line pointer by line pointer, with C's arrays. Here C's scan (scanned.c) and C's
operations (traced.c) are those of the extracted ones, on each page: what is refused, and what is stored, too.
"""

import os
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import _pgquern
import pytest

from ref.page import BLCKSZ
from tests.compaction import choices
from tests.compaction.operations import PLANS, TRACED, TRACED_NUMBER, pages, plans, traced
from tests.compaction.test_extracted import PROGRAM
from tests.page.build import page_of
from tests.page.shapes import random_shape
from tests.tally import tally

ALL_OF_SCALAR, SCAN = 21, 22
NAMES = ("nkept", "nitems", "nused", "ngaps", "total", "lengths", "refused", "unsorted", "changed")
SHARE_OF_CHOICES = 8
"""Every so many-th of the pages on both sides of the numbers that choose a way."""


@cache
def scanner() -> Path:
    """scanned.c with the kernel's source, or with the changed one that lies beside the binding."""
    folder = Path(_pgquern.__file__).parent
    if not (folder / "csrc").exists():
        return TRACED.with_name("scanned")
    program = folder / "traced" / "scanned"
    command = ["make", "-s", f"TRACED={program.parent}", f"CHANGED={folder / 'csrc'}", str(program)]
    subprocess.run(command, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return program


def scans(program: Path, pages: Sequence[bytes]) -> Iterator[tuple[int, ...]]:
    """What the scan finds on each page, as integers of 32 bits; () if the header is refused."""
    if not program.exists():
        pytest.fail(f"{program} is not built: run `make oracle test-python-compaction`")
    records = b"".join(bytes([SCAN, 0]) + page for page in pages)
    answers = subprocess.run([program], input=records, stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _ in pages:
        _, n = struct.unpack_from("<3sI", answers, at)
        yield struct.unpack_from(f"<{n}I", answers, at + 7)
        at += 7 + 4 * n
    assert at == len(answers)


def line_pointer(off: int, flags: int, length: int) -> int:
    return off | flags << 15 | length << 17


def crafted(words: Sequence[int], upper: int, special: int) -> bytes:
    """A page of these line pointers."""
    page = bytearray(BLCKSZ)
    struct.pack_into("<HHH", page, 12, 24 + 4 * len(words), upper, special)
    struct.pack_into(f"<{len(words)}I", page, 24, *words)
    return bytes(page)


def corner_pages() -> list[bytes]:
    """Large sums, a full array, tuples in place that go too low, faults behind the point where branches end."""
    long, dead, in_place = (
        line_pointer(24, 1, 32767),
        line_pointer(0, 3, 0),
        [line_pointer(8192 - 8 * i, 1, 8) for i in range(1, 293)],
    )
    unaligned, late = line_pointer(8100, 1, 8), [dead, 0, dead, 0, dead]
    return [
        crafted([long] * 2042, 8192, 8192),
        crafted([dead] * 2042, 8192, 8192),
        crafted([0x1FFFF] * 2042, 8192, 8192),
        crafted(in_place[:291], 1192 + 4672, 8192),
        crafted(in_place[:291], 1192, 8192),
        crafted(in_place, 1192, 8192),
        crafted([*late, unaligned], 8000, 8192),
        crafted([unaligned, line_pointer(8092, 1, 8)], 8000, 8192),
        crafted([*late, line_pointer(7992, 1, 8)], 8000, 8192),
        crafted([line_pointer(8184, 1, 16)], 8000, 8192),
        crafted([*late, line_pointer(8184, 1, 16), line_pointer(8176, 1, 8)], 8000, 8192),
        crafted([line_pointer(8184, 1, 8), 0, line_pointer(8176, 1, 8)], 8000, 8192),
        crafted([line_pointer(8184, 1, 8), 5, line_pointer(8176, 1, 8)], 8000, 8192),
        crafted([line_pointer(8128, 1, 32), line_pointer(8104, 1, 32)], 8000, 8192),
        crafted([line_pointer(8128, 1, 32), line_pointer(8120, 1, 16), line_pointer(8160, 1, 32)], 8000, 8192),
        crafted([line_pointer(8128, 1, 32), line_pointer(8120, 1, 8), line_pointer(8128, 1, 32)], 8000, 8192),
    ]


@cache
def inputs() -> list[bytes]:
    random = (page_of(random_shape(number)) for number in range(50_000, 51_000))
    return [*corner_pages(), *pages(), *random, *choices.pages()[::SHARE_OF_CHOICES]]


def test_the_scan_of_scalar_finds_what_the_proved_one_finds() -> None:
    """All its numbers and arrays; on pages that it refuses too."""
    seen: Counter[str] = Counter()
    for number, (got, want) in enumerate(zip(scans(scanner(), inputs()), scans(PROGRAM, inputs()), strict=True)):
        assert dict(zip(NAMES, got, strict=False)) == dict(zip(NAMES, want, strict=False)), number
        assert got == want, number
        numbers = dict(zip(NAMES, got, strict=False))
        seen.update(name for name in ("nkept", "ngaps", "refused", "unsorted", "changed") if numbers.get(name))
        seen["sound and as it must be"] += numbers.get("refused") == 0 and not numbers["changed"]
        seen["no header"] += not got
    assert len(seen) == 7, seen
    assert min(seen.values()) >= 5, seen
    tally("compaction", "scans of scalar", len(inputs()))


@pytest.mark.parametrize("truncate", [False, True])
def test_scalar_does_what_is_proved_and_no_more(truncate: bool) -> None:
    """Each copy and each store in its order, without those that it may leave out; or the refusal."""
    done = plans(traced(), TRACED_NUMBER["scalar"], truncate, inputs())
    wanted = plans(PROGRAM, PLANS + ALL_OF_SCALAR, truncate, inputs())
    stored = 0
    for number, (got, want) in enumerate(zip(done, wanted, strict=True)):
        assert (got.code, got.at) == (want.code, want.at), number
        assert got.copies == want.shifted(), number
        assert [(*store[:2], store[2] & 0xFFFFFFFF) for store in got.stores] == [
            (*store[:2], store[2] & 0xFFFFFFFF) for store in want.stores
        ], number
        assert got.operations == list(chain(got.copies, got.stores))
        stored += len(got.stores) > 3  # more than the header
    assert stored >= 100

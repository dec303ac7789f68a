# SPDX-License-Identifier: PostgreSQL
"""What scans of line pointers find, as programs tell it: scanned*.c for C, the extracted ones for the proof."""

import os
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, cycle, islice
from pathlib import Path
from random import Random

import _pgquern

from ref.page import BLCKSZ
from tests.common.extraction import program
from tests.common.tally import tally
from tests.compaction import choices
from tests.compaction.operations import TRACED, command, pages
from tests.page.build import page_of
from tests.page.shapes import random_shape

SCANS = {"scalar": 22, "avx2": 23, "avx512": 24, "moves": 25, "neon": 26}
"""The extracted programs' answers that are scans, and what avx512 does with its scans."""
PROVED = program("compaction_scan")
"""The proved scans by vectors."""
OF_ANY_WORDS = 400
SHARE_OF_CHOICES = 8
"""Every so many-th of the pages on both sides of the numbers that choose a way."""


@cache
def scanner(name: str) -> Path:
    """A program with the kernel's source, or with the changed one that lies beside the binding."""
    folder = Path(_pgquern.__file__).parent
    if not (folder / "csrc").exists():
        return TRACED.with_name(name)
    program = folder / "traced" / name
    make = ["make", "-s", f"TRACED={program.parent}", f"CHANGED={folder / 'csrc'}", str(program)]
    subprocess.run(make, check=True, env={**os.environ, "MAKEFLAGS": ""})
    return program


def scans(program: Path, pages: Sequence[bytes], kernel: str = "scalar") -> Iterator[tuple[int, ...]]:
    """What the program tells of each page, as integers of 32 bits; () if the kernel does not scan it."""
    records = b"".join(bytes([SCANS[kernel], 0]) + page for page in pages)
    answers = subprocess.run(command(program), input=records, stdout=subprocess.PIPE, check=True).stdout
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


def of_any_words(number: int, lanes: int) -> bytes:
    """Up to three vectors of line pointers, each any 32 bits."""
    random = Random(number)
    words = [random.getrandbits(32) for _ in range(number % (3 * lanes + 2))]
    special = 8 * random.randint(64, BLCKSZ // 8)
    return crafted(words, random.randint(24 + 4 * len(words), special), special)


def of_steps(steps: Sequence[int]) -> bytes:
    """Each tuple lies so far below the one before: 0 in one place, 8 overlaps, 16 touches, 24 leaves a gap."""
    starts = accumulate(steps[1:], lambda off, step: off - step, initial=8176)
    return crafted([line_pointer(off, 1, 16) for off in starts], 4096, BLCKSZ)


def full_pages(lanes: int) -> Iterator[bytes]:
    """As many line pointers as the kernel scans, and one more: behind them the last vector must end within the page."""
    most = (BLCKSZ - 24) // 4 - lanes
    random = Random(most)
    for words in (
        [line_pointer(24, 1, 32767)],
        [line_pointer(0, 3, 0)],
        [0x1FFFF],
        [line_pointer(8184, 1, 8)],
        [random.getrandbits(32) for _ in range(most + 1)],
    ):
        for count in (most, most + 1):
            yield crafted(list(islice(cycle(words), count)), BLCKSZ, BLCKSZ)


@cache
def inputs_of(lanes: int) -> list[bytes]:
    """The pages on which scalar's scan is looked at, and corners of one that takes so many line pointers at a time."""
    words = (of_any_words(number, lanes) for number in range(OF_ANY_WORDS))
    equal = (of_steps([step] * count) for count in range(1, 2 * lanes + 3) for step in (0, 8, 16, 24))
    return [*inputs(), *words, *equal, *full_pages(lanes)]


def line_pointers(page: bytes) -> int:
    return (int(struct.unpack_from("<H", page, 12)[0]) - 24) // 4


def hold_against_proof(
    kernel: str, names: Sequence[str], told: Sequence[str], few: int, pages: Sequence[bytes]
) -> None:
    """All numbers and arrays of C's scan are the proved ones, on pages that it finds out of bounds, too.

    names: of the numbers; told: of those that some pages must have; few: up to so many line pointers there is a way
    of its own.
    """
    seen: Counter[str] = Counter()
    found, proved = scans(scanner(f"scanned_{kernel}"), pages, kernel), scans(PROVED, pages, kernel)
    for number, (page, got, want) in enumerate(zip(pages, found, proved, strict=True)):
        numbers = dict(zip(names, got, strict=False))
        assert numbers == dict(zip(names, want, strict=False)), number
        assert got == want, number
        seen.update(name for name in told if numbers.get(name))
        seen["no gap"] += bool(got) and numbers["nitems"] > 0 and not numbers["ngaps"]
        seen["as many as are few"] += bool(got) and line_pointers(page) == few
        seen["few"] += bool(got) and line_pointers(page) < few
        seen["many"] += bool(got) and line_pointers(page) > few
        seen["not scanned"] += not got
    assert len(seen) == len(told) + 5, seen
    assert min(seen.values()) >= 5, seen
    tally("compaction", f"scans of {kernel}", len(pages))

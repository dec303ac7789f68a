# SPDX-License-Identifier: PostgreSQL
"""What scans of line pointers find, as programs tell it: scanned*.c for C, the extracted ones for the proof."""

import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import _pgquern
import pytest

from ref.page import BLCKSZ
from tests.compaction import choices
from tests.compaction.operations import TRACED, pages
from tests.page.build import page_of
from tests.page.shapes import random_shape

SCAN = 22
"""The extracted program's answer that is a scan."""
SHARE_OF_CHOICES = 8
"""Every so many-th of the pages on both sides of the numbers that choose a way."""


@cache
def scanner(name: str) -> Path:
    """A program with the kernel's source, or with the changed one that lies beside the binding."""
    folder = Path(_pgquern.__file__).parent
    if not (folder / "csrc").exists():
        return TRACED.with_name(name)
    program = folder / "traced" / name
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

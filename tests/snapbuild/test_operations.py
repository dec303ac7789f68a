# SPDX-License-Identifier: PostgreSQL
"""The loads, stores, copies and moves of the kernels are those of the proved algorithms, in their order."""

import struct
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from pgquern.snapbuild import variants

from ref.xid import FIRST_NORMAL
from tests.common.operations import MOVE, compare, is_told, proved, skip_unless_run

INPLACE, SORTED, SCALAR, FULL, COMPRESS, UPSTREAM, APPEND = range(7)
SNAPSHOT, BRANCHLESS, AVX2, INSERT, APPEND_FEW, NEON, SORT = range(7, 14)
AVX512, INSERT_UNSORTED, FULL_LAZY_HEAD = range(14, 17)
KINDS = {
    "inplace": INPLACE,
    "sorted": SORTED,
    "scalar": SCALAR,
    "full": FULL,
    "compress": COMPRESS,
    "upstream": UPSTREAM,
    "append": APPEND,
    "snapshot": SNAPSHOT,
    "branchless_compress": BRANCHLESS,
    "avx2": AVX2,
    "sorted_insert": INSERT,
    "append_few": APPEND_FEW,
    "neon": NEON,
    "upstreams_snapshot": SORT,
    "avx512": AVX512,
    "unsorted_insert": INSERT_UNSORTED,
    "full_lazy_head": FULL_LAZY_HEAD,
}
NEEDS = {AVX2: "avx2", AVX512: "avx512", NEON: "neon"}
"""The variants that not every CPU has."""
HERE = {variant.name for variant in variants("purge") if variant.supported}
COMPRESSING = (COMPRESS, BRANCHLESS)
BY_BLOCKS = (SCALAR, AVX2, AVX512, NEON)
HALF, RING = 2**31, 2**32
LONG = 2**16
"""From here on the sorted purge guesses where the gap begins."""
BLOCKS_FROM = 4096
"""From here on the kernels of BY_BLOCKS look at blocks."""


class Question(NamedTuple):
    """A kernel, what it is given, and for FULL 64-bit XIDs."""

    kind: int
    xids: list[int]
    beside: list[int]
    """Flags for COMPRESSING, a batch for APPEND, APPEND_FEW and both INSERT, the space for SNAPSHOT; for FULL_LAZY_HEAD
    as many as lie before the head."""
    xmin: int
    """For COMPRESSING the tail."""

    def record(self) -> bytes:
        head = struct.pack("<BIIQ", self.kind, len(self.xids), len(self.beside), self.xmin)
        return head + struct.pack(f"<{len(self.xids) + len(self.beside)}Q", *self.xids, *self.beside)


def question(kind: int, rng: Random, n: int) -> Question:
    """XIDs near an xmin, which may be anywhere on the ring; those of sorted arrays lie close, or far apart."""
    xmin = rng.choice(
        [rng.randrange(FIRST_NORMAL, RING), rng.randrange(3, 2000), rng.randrange(RING - 2000, RING), HALF]
    )
    width = rng.choice([2 * n + 10, 64 * n + 10, HALF - 1])
    offsets = [rng.randrange(-width, width) for _ in range(n)]
    xids = [max(FIRST_NORMAL, (xmin + offset) % RING) for offset in offsets]
    if kind in (SORTED, SNAPSHOT):
        xids = sorted(set(xids))
    if kind in (FULL, FULL_LAZY_HEAD):
        epoch = rng.randrange(1, 100) * RING
        xids = sorted({epoch + x for x in xids})
        xmin += epoch
    flags = [rng.randrange(2) for _ in xids]
    beside = {
        **dict.fromkeys(COMPRESSING, flags),
        APPEND: [rng.randrange(FIRST_NORMAL, RING) for _ in range(rng.choice([0, 1, 7, 8, 9, 40, 77]))],
        APPEND_FEW: [rng.randrange(FIRST_NORMAL, RING) for _ in range(rng.choice([*range(10), 40]))],
        SNAPSHOT: [0] * (len(xids) + rng.randrange(3)),
        FULL_LAZY_HEAD: [0] * rng.randrange(len(xids) + 1),
    }
    if kind in COMPRESSING:
        xmin = rng.choice([0, rng.randrange(n + 1)])
    return Question(kind, xids, beside.get(kind, []), xmin)


def insertion(rng: Random) -> Question:
    """A sorted array, and a batch in one of the orders that decide how it is sorted; its XIDs may all be newer."""
    n, m = rng.randrange(301), rng.choice([0, 1, 2, 3, 7, 8, 9, 10, 17, 63, 64, 65, 66, 128, 129, rng.randrange(300)])
    low = rng.randrange(FIRST_NORMAL, RING - 2**20)
    xids = sorted(rng.sample(range(low, low + rng.choice([n + 1, 4 * n + 1, 2**16])), n))
    begin = low + 2**16 if rng.random() < 0.2 else low
    batch = [begin + rng.randrange(rng.choice([2 * n + 2, 2**17])) for _ in range(m)]
    if rng.random() < 0.5:
        batch[: m // 2] = rng.choices(xids or [low], k=m // 2)
    order = rng.randrange(3)
    if order < 2:
        batch = sorted(set(batch))
    if order == 1:
        batch = batch[1:] + batch[:1]
    return Question(INSERT, xids, batch, 0)


def unsorted_insertion(rng: Random) -> Question:
    """The same into an array in any order, in which some XIDs stand several times, and now and then each."""
    _, xids, batch, xmin = insertion(rng)
    again = rng.choice([0, 0, len(xids), rng.randrange(40)])
    xids += [rng.choice(xids) for _ in range(again if xids else 0)]
    if rng.random() < 0.9:
        rng.shuffle(xids)
    return Question(INSERT_UNSORTED, xids, batch, xmin)


def to_be_sorted(rng: Random) -> Question:
    """In any order, and nearly sorted, and with many that are equal; each number that decides how a pivot is found."""
    n = rng.choice([*range(10), 39, 40, 41, 42, rng.randrange(301)])
    xids = [FIRST_NORMAL + rng.randrange(rng.choice([2, 7, n + 1, 2**20])) for _ in range(n)]
    if rng.random() < 0.3:
        xids.sort(reverse=rng.random() < 0.5)
        for _ in range(rng.randrange(3) if n else 0):
            i, j = rng.randrange(n), rng.randrange(n)
            xids[i], xids[j] = xids[j], xids[i]
    return Question(SORT, xids, [0] * (n + rng.randrange(3)), 0)


def all_stay(kind: int, n: int) -> Question:
    return Question(kind, list(range(1000, 1000 + n)), [], 1000)


def across_the_wrap(n: int, below: int) -> Question:
    """A sorted array with so many XIDs below the far end of xmin's half of the ring; the others follow xmin."""
    xmin = 3 * 2**30
    return Question(SORTED, [*range(FIRST_NORMAL, FIRST_NORMAL + below), *range(xmin, xmin + n - below)], [], xmin)


def in_stretches(kind: int, rng: Random) -> Question:
    """A long array in which, for a while, all XIDs stay, or all go, or some."""
    xids: list[int] = []
    xmin = rng.randrange(FIRST_NORMAL, RING)
    while len(xids) < BLOCKS_FROM + rng.randrange(4000):
        signs = rng.choice([(1,), (-1,), (1, -1), (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1)])
        offsets = [rng.choice(signs) * rng.randrange(1, 10**6) for _ in range(rng.choice([16, 40, 256, 1024, 1500]))]
        xids += [max(FIRST_NORMAL, (xmin + offset) % RING) for offset in offsets]
    return Question(kind, xids, [], xmin)


@cache
def questions(kind: int) -> list[Question]:
    rng = Random(kind)
    makes = {INSERT: insertion, INSERT_UNSORTED: unsorted_insertion, SORT: to_be_sorted}
    found = [makes[kind](rng) if kind in makes else question(kind, rng, rng.randrange(301)) for _ in range(400)]
    if kind == SORTED:
        found += [question(SORTED, rng, LONG + rng.randrange(5000)) for _ in range(12)]
        found += [across_the_wrap(n, below) for n in (LONG - 1, LONG, LONG + 1) for below in (5000, n * 6 // 8 + 100)]
        found.append(Question(SORTED, [], [], FIRST_NORMAL))
    if kind in BY_BLOCKS:
        found += [in_stretches(kind, rng) for _ in range(40)]
        found += [all_stay(kind, n) for n in (2000, BLOCKS_FROM - 1, BLOCKS_FROM, BLOCKS_FROM + 1)]
    return found


@cache
def records(kind: int) -> list[bytes]:
    return [one.record() for one in questions(kind)]


@pytest.mark.parametrize("name", KINDS)
def test_loads_stores_and_moves_are_the_proved_ones(name: str) -> None:
    skip_unless_run(NEEDS.get(KINDS[name], "scalar"), HERE)
    compare("snapbuild", records(KINDS[name]), "arrays")


def test_each_way_of_the_sorted_purge_is_asked_for() -> None:
    """A move down to the front and one into a gap, none at all, and a guess."""
    asked = questions(SORTED)
    told = proved("snapbuild", [one.record() for one in asked])
    moves = [one[one["what"] == MOVE] for one in told]
    into = [int(one["at"][0]) for one in moves if len(one)]
    assert into.count(0) >= 20
    assert len(into) - into.count(0) >= 20
    assert len(moves) - len(into) >= 20
    assert sum(len(one.xids) >= LONG for one in asked) >= 5


def test_each_way_of_the_sorted_insertion_is_asked_for() -> None:
    """A batch is sorted already, or has its lowest XID last, or is sorted by chunks; it is all new, or leaves holes."""
    asked = questions(INSERT)
    batches = [one.beside for one in asked if len(one.beside) > 1]
    rising = [batch == sorted(set(batch)) for batch in batches]
    but_last = [batch[:-1] == sorted(set(batch[:-1])) and batch[-1] <= batch[-2] for batch in batches]
    chunks = [len(batch) > 64 and not any(one) for batch, *one in zip(batches, rising, but_last, strict=True)]
    holes = [bool(set(one.beside) & set(one.xids)) for one in asked]
    behind = [bool(one.xids and one.beside) and min(one.beside) > max(one.xids) for one in asked]
    assert min(map(sum, (rising, but_last, chunks, holes, behind))) >= 20


CHANGES = {
    "a group that stays in its place is not stored": (
        "purge_scalar.c",
        SCALAR,
        "            copy_group(to, from);\n",
        "            if (to != from)\n                copy_group(to, from);\n",
    ),
    "places that overlap are copied": (
        "full.c",
        FULL,
        "        memmove(fxip, fxip + gone, committed->xcnt * sizeof(uint64_t));\n    return accepted();",
        "        memcpy(fxip, fxip + gone, committed->xcnt * sizeof(uint64_t));\n    return accepted();",
    ),
    "the flag comes before the XID": (
        "compress.c",
        COMPRESS,
        "            xids[to] = xids[i];\n            valid[to] = true;\n",
        "            valid[to] = true;\n            xids[to] = xids[i];\n",
    ),
    "a register is loaded again": (
        "keep_avx2.h",
        AVX2,
        "_mm256_permutevar8x32_epi32(b, left_pack(in_b))",
        "_mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(from + 8)), left_pack(in_b))",
    ),
    "a rest is loaded again in neon": (
        "purge.h",
        NEON,
        "        to[kept] = x;\n",
        "        to[kept] = *(const volatile uint32_t *)(from + i);\n",
    ),
}
"""Of each sort of operation one: a store left out, a move, an order, a load too many of a register, and of NEON."""


@pytest.mark.whole
@pytest.mark.parametrize("name", CHANGES)
def test_another_way_to_the_same_array_is_told(name: str, tmp_path: Path) -> None:
    file, kind, old, new = CHANGES[name]
    skip_unless_run(NEEDS.get(kind, "scalar"), HERE)
    assert is_told("snapbuild", file, old, new, records(kind), tmp_path)

# SPDX-License-Identifier: PostgreSQL
"""Kernels load what the proved algorithms load, in their order: those in plain C, of AVX2 on rows, and of NEON.

Which values are looked at twice says where a chunk was suspect; which ids of rows are not loaded at all, that their
relkind was asked for first.
"""

import struct
from functools import cache
from pathlib import Path
from random import Random

import pytest
from pgquern.datfrozenxid import variants

from ref.datfrozenxid import Ids
from tests.common.neon_header import LOADED_AGAIN, UPPER_FIRST
from tests.common.operations import compare, is_told, proved, skip_unless_run
from tests.datfrozenxid.strategies import HALF, LAST, MULTIXACTS, XIDS, around, normal_of

SCAN, SCALAR, NEON, SCAN_ROWS, SCALAR_ROWS, AVX2_ROWS, NEON_ROWS = 0, 1, 2, 4, 5, 6, 7
KINDS = {
    "scan": SCAN,
    "scalar": SCALAR,
    "neon": NEON,
    "strided_scan": SCAN_ROWS,
    "strided_scalar": SCALAR_ROWS,
    "strided_avx2": AVX2_ROWS,
    "strided_neon": NEON_ROWS,
}
NEEDS = {AVX2_ROWS: "avx2", NEON: "neon", NEON_ROWS: "neon"}
"""The variants that not every CPU has."""
HERE = {variant.name for variant in variants("min_frozen_strided") if variant.supported}
CHUNK, ROW_CHUNK = 4096, 256


def an_id(rng: Random, ids: Ids, sane: int, sound: bool) -> int:
    """Invalid, permanent, in use, or next to where the future begins and ends."""
    which = rng.randrange(6)
    x = (
        rng.choice((0, 1, 2))
        if which == 0
        else rng.choice(around(sane))
        if which == 1
        else normal_of(ids, sane - rng.randrange(HALF))
    )
    return sane if sound and x and ids.precedes(sane, x) else x


def column(rng: Random, ids: Ids, sane: int, n: int) -> list[int]:
    """Nothing lies in the future, or one value does; permanent ones are few, so that few chunks are suspect."""
    found = [an_id(rng, ids, sane, sound=True) for _ in range(n)]
    if n and rng.random() < 0.4:
        found[rng.randrange(n)] = normal_of(ids, sane + 1)
    if rng.random() < 0.5:
        found = [sane if 0 < x < 3 else x for x in found]
    return found


def record(kind: int, n: int, numbers: list[int], content: list[int]) -> bytes:
    head = struct.pack("<BI6I", kind, n, *numbers, *[0] * (6 - len(numbers)))
    return head + struct.pack(f"<{len(content)}I", *content)


def sane_of(rng: Random, ids: Ids) -> int:
    return normal_of(ids, rng.choice([rng.randrange(3, 100), rng.randrange(LAST), LAST - rng.randrange(100), HALF]))


def an_array(kind: int, rng: Random, n: int) -> bytes:
    ids = rng.choice([XIDS, MULTIXACTS])
    sane = sane_of(rng, ids)
    start = normal_of(ids, sane - rng.randrange(50))
    start = sane if ids.precedes(sane, start) else start
    return record(kind, n, [start, sane, ids.multixact], column(rng, ids, sane, n))


def a_table(kind: int, rng: Random, n: int) -> bytes:
    xid, multi = sane_of(rng, XIDS), sane_of(rng, MULTIXACTS)
    columns = zip(column(rng, XIDS, xid, n), column(rng, MULTIXACTS, multi, n), strict=True)
    rows = [x for x, m in columns for x in (rng.random() < 0.8, x, m)]
    return record(kind, n, [xid, multi, xid, multi], rows)


@cache
def records(kind: int) -> list[bytes]:
    """Small ones, and some around a chunk's end."""
    rng = Random(kind)
    make, chunk = (an_array, CHUNK) if kind < SCAN_ROWS else (a_table, ROW_CHUNK)
    return [make(kind, rng, rng.randrange(70)) for _ in range(300)] + [
        make(kind, rng, chunk + extra)
        for extra in (-1, 0, 1, 2, chunk // 2, chunk, chunk + 1, 4 * chunk)
        for _ in range(3)
    ]


@pytest.mark.parametrize("name", KINDS)
def test_loads_are_the_proved_ones(name: str) -> None:
    kind = KINDS[name]
    skip_unless_run(NEEDS.get(kind, "scalar"), HERE)
    compare("datfrozenxid", records(kind), "arrays" if kind < SCAN_ROWS else "tables")


def test_each_way_of_the_walk_is_asked_for() -> None:
    """No chunk is suspect; one is that has nothing in the future; the scan ends within a chunk, also the second one."""
    told = [one["at"].tolist() for one in proved("datfrozenxid", records(SCALAR))]
    once = [one for one in told if one == list(range(len(one)))]
    again = [one for one in told if len(one) > len(set(one)) and one[-1] == max(one)]
    ends = [one for one in told if one and one[-1] < max(one)]
    assert min(len(once), len(again), len(ends)) >= 30
    assert any(one[-1] >= CHUNK for one in ends)
    assert any(max(one, default=0) > CHUNK for one in once)


CHANGES: dict[str, tuple[str, int, str, str]] = {
    "values from the end to the beginning": (
        "scalar.c",
        SCALAR,
        "    return larger(even, odd);\n",
        "    even = 0;\n"
        "    for (size_t k = n; k-- > 0;)\n"
        "        even = larger(even, age(values[k], last_sane, first));\n"
        "    return even;\n",
    ),
    "one of the chains looks ahead": (
        "scalar.c",
        SCALAR,
        "        even = larger(even, age(values[i], last_sane, first));\n"
        "        odd = larger(odd, age(values[i + 1], last_sane, first));\n",
        "        odd = larger(odd, age(values[i + 1], last_sane, first));\n"
        "        even = larger(even, age(values[i], last_sane, first));\n",
    ),
    "a chunk is never trusted": (
        "chunks.h",
        SCALAR,
        "        if (greatest < HALF_RING) {\n",
        "        if (false) {\n",
    ),
    "the place behind the last value is loaded": (
        "scan.c",
        SCAN,
        "    if (i < n)\n        return refused(future(bounds->multixact), i + 1);\n",
        "    (void)*(volatile const uint32_t *)(values + n);\n"
        "    if (i < n)\n        return refused(future(bounds->multixact), i + 1);\n",
    ),
    "chunks are shorter": ("ids.h", SCALAR, "    CHUNK = 4096, ", "    CHUNK = 4095, "),
    "ids come before relkind": (
        "scalar.c",
        SCALAR_ROWS,
        "        uint32_t counts = (uint32_t)holds_ids[record(rows, i)[rows->relkind_at]];\n"
        "        pgq_datfrozenxid_pair ids = frozen_ids(rows, i);\n",
        "        pgq_datfrozenxid_pair ids = frozen_ids(rows, i);\n"
        "        uint32_t counts = (uint32_t)holds_ids[record(rows, i)[rows->relkind_at]];\n",
    ),
    "ids of all rows are loaded": (
        "ids.h",
        SCAN_ROWS,
        "        pgq_datfrozenxid_pair ids;\n\n        if (relkind",
        "        pgq_datfrozenxid_pair ids = frozen_ids(rows, i);\n\n        if (relkind",
    ),
    "a row's relkind comes before its ids": (
        "strided_avx2.c",
        AVX2_ROWS,
        "    long long ids;\n\n    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);\n"
        "    return ids & holds_ids[row[rows->relkind_at]];\n",
        "    long long ids, counts = holds_ids[row[rows->relkind_at]];\n\n"
        "    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);\n    return ids & counts;\n",
    ),
    "four rows in their order": (
        "strided_avx2.c",
        AVX2_ROWS,
        "        a = older(a,\n"
        "                  _mm256_setr_epi64x(ids_at(rows, row), ids_at(rows, row + stride),\n"
        "                                     ids_at(rows, row + 2 * stride), ids_at(rows, row + 3 * stride)),\n"
        "                  sane, first);\n",
        "        long long ids[4];\n\n"
        "        for (int k = 0; k < 4; k++)\n"
        "            ids[k] = ids_at(rows, row + k * stride);\n"
        "        a = older(a, _mm256_setr_epi64x(ids[0], ids[1], ids[2], ids[3]), sane, first);\n",
    ),
    "a step of eight rows for sixteen at least": (
        "strided_avx2.c",
        AVX2_ROWS,
        "    for (; left >= 8; left -= 8, row += 8 * stride) {\n",
        "    for (; left >= 16; left -= 8, row += 8 * stride) {\n",
    ),
    "rows that are left come first": (
        "strided_avx2.c",
        AVX2_ROWS,
        "    __m128i m;\n\n    for (; left >= 8;",
        "    __m128i m;\n\n"
        "    for (size_t i = to - left % 8; i < to; i++)\n"
        "        a = older(a, _mm256_setr_epi64x(ids_at(rows, record(rows, i)), 0, 0, 0), sane, first);\n"
        "    to -= left % 8;\n"
        "    left -= left % 8;\n"
        "    for (; left >= 8;",
    ),
    "chunks of rows are of 128": ("ids.h", AVX2_ROWS, "    ROW_CHUNK = 256 ", "    ROW_CHUNK = 128 "),
    "chunks are shorter in neon": ("ids.h", NEON, "    CHUNK = 4096, ", "    CHUNK = 4095, "),
    "a chunk is never trusted in neon": (
        "chunks.h",
        NEON,
        "        if (greatest < HALF_RING) {\n",
        "        if (false) {\n",
    ),
    "the next chunk is looked at before a suspect one in neon": (
        "chunks.h",
        NEON,
        "            size_t i = scan_values(values, from, to, last_sane, multixact, &oldest);\n",
        "            (void)*(volatile const uint32_t *)(values + (to < n ? to : from));\n"
        "            size_t i = scan_values(values, from, to, last_sane, multixact, &oldest);\n",
    ),
    "the upper half of a register comes first in neon": (
        "min_frozen_neon.c",
        NEON,
        "#include <arm_neon.h>\n",
        UPPER_FIRST,
    ),
    "a register is loaded again in neon": (
        "min_frozen_neon.c",
        NEON,
        "#include <arm_neon.h>\n",
        LOADED_AGAIN,
    ),
    "a row's relkind comes before its ids in neon": (
        "strided_neon.c",
        NEON_ROWS,
        "    uint64_t ids;\n\n    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);\n"
        "    return ids & (uint64_t)(int64_t)holds_ids[row[rows->relkind_at]];\n",
        "    uint64_t ids, counts = (uint64_t)(int64_t)holds_ids[row[rows->relkind_at]];\n\n"
        "    memcpy(&ids, row + rows->relfrozenxid_at, sizeof ids);\n    return ids & counts;\n",
    ),
    "the second of two rows comes first in neon": (
        "strided_neon.c",
        NEON_ROWS,
        "        a = older(a, ids_at(rows, row), ids_at(rows, row + stride), sane, first);\n",
        "        uint64_t ids = ids_at(rows, row + stride);\n\n"
        "        a = older(a, ids_at(rows, row), ids, sane, first);\n",
    ),
    "rows that are left come first in neon": (
        "strided_neon.c",
        NEON_ROWS,
        "    uint32x2_t both;\n\n    for (; left >= 4;",
        "    uint32x2_t both;\n\n"
        "    for (size_t i = to - left % 4; i < to; i++)\n"
        "        a = older(a, ids_at(rows, record(rows, i)), 0, sane, first);\n"
        "    to -= left % 4;\n"
        "    left -= left % 4;\n"
        "    for (; left >= 4;",
    ),
    "the second register comes first in neon": (
        "strided_neon.c",
        NEON_ROWS,
        "        a = older(a, ids_at(rows, row), ids_at(rows, row + stride), sane, first);\n"
        "        b = older(b, ids_at(rows, row + 2 * stride), ids_at(rows, row + 3 * stride), sane, first);\n",
        "        b = older(b, ids_at(rows, row + 2 * stride), ids_at(rows, row + 3 * stride), sane, first);\n"
        "        a = older(a, ids_at(rows, row), ids_at(rows, row + stride), sane, first);\n",
    ),
    "chunks of rows are of 128 in neon": ("ids.h", NEON_ROWS, "    ROW_CHUNK = 256 ", "    ROW_CHUNK = 128 "),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", CHANGES)
def test_another_way_to_the_same_answer_is_told(name: str, tmp_path: Path) -> None:
    file, kind, old, new = CHANGES[name]
    skip_unless_run(NEEDS.get(kind, "scalar"), HERE)
    assert is_told("datfrozenxid", file, old, new, records(kind), tmp_path)

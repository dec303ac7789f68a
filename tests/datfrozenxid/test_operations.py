# SPDX-License-Identifier: PostgreSQL
"""Kernels load what the proved algorithms load, in their order: those in plain C, of AVX2 on rows, and of NEON.

Which values are looked at twice says where a chunk was suspect; which ids of rows are not loaded at all, that their
relkind was asked for first.
"""

import struct
from functools import cache
from random import Random

import pytest
from pgquern.datfrozenxid import variants

from ref.datfrozenxid import Ids
from tests.common.operations import compare, proved, skip_unless_run
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

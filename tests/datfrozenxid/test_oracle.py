# SPDX-License-Identifier: PostgreSQL
"""What the definition promises, on every value of a small ring, and in generated calls."""

from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ref.datfrozenxid import (
    FutureError,
    Ids,
    Pair,
    Row,
    min_frozen,
    min_frozen_rows,
    need_update,
    update,
    update_patched,
)
from ref.xid import Ring
from tests.common.tally import tally
from tests.datfrozenxid.strategies import CORNERS, MULTIXACTS, XIDS, tables

SMALL = Ring(5)
BOTH = [Ids(SMALL), Ids(SMALL, multixact=True)]


def normals(ids: Ids) -> list[int]:
    return [x for x in range(ids.ring.size) if ids.is_normal(x)]


@pytest.mark.parametrize("ids", BOTH)
def test_need_update_keeps_what_is_newer_and_mends_the_future(ids: Ids) -> None:
    """For each minimum that does not lie in the future: False keeps a value that is no older, and not in the future."""
    for dat, new, sane in product(range(SMALL.size), normals(ids), normals(ids)):
        if ids.precedes(sane, new):
            continue
        future = ids.precedes(sane, dat)
        assert need_update(dat, new, sane, ids) == (future or ids.precedes(dat, new))
        if not need_update(dat, new, sane, ids):
            assert dat == new or (ids.precedes(new, dat) and not future)
    tally("datfrozenxid", "decisions", SMALL.size**3)


@pytest.mark.parametrize("ids", BOTH)
def test_the_minimum_does_not_depend_on_the_order(ids: Ids) -> None:
    """Three values of which none lies in the future, in every order: one minimum, and nothing precedes it."""
    for sane in normals(ids)[::5]:
        sound = [x for x in range(SMALL.size) if not ids.precedes(sane, x)]
        for a, b, c in product(sound, repeat=3):
            minima = {min_frozen(order, sane, sane, ids) for order in permutations((a, b, c))}
            assert len(minima) == 1
            oldest = minima.pop()
            assert not any(ids.precedes(x, oldest) for x in (a, b, c, sane) if x)


def unchecked_minimum(values: tuple[int, ...], start: int, ids: Ids) -> int:
    """The loop without the look at the future."""
    for x in values:
        if x and ids.precedes(x, start):
            start = x
    return start


@pytest.mark.parametrize("ids", BOTH)
def test_without_the_check_of_the_future_the_order_matters(ids: Ids) -> None:
    """Some three values have two minima if none is refused. With the check each such set is refused, in any order."""
    seen = 0
    for values in product(normals(ids)[::3], repeat=3):
        start = normals(ids)[0]
        if len({unchecked_minimum(order, start, ids) for order in permutations(values)}) > 1:
            seen += 1
            with pytest.raises(FutureError):
                min_frozen(values, start, start, ids)
    assert seen > 100


@settings(max_examples=settings().max_examples // 4)
@given(tables(20), st.sampled_from(CORNERS), st.sampled_from(CORNERS))
def test_a_patch_with_a_fresh_cache_changes_nothing_but_the_lock(
    table: tuple[list[Row], Pair, Pair], xid: int, multi: int
) -> None:
    """If the cache holds what is stored, the patched function stores and passes on the same, and locks less."""
    rows, start, sane = table
    for stored in (Pair(xid, multi), start, Pair(start.xid, multi)):
        plain, patched = update(stored, rows, start, sane), update_patched(stored, stored, rows, start, sane)
        assert patched[:3] == plain[:3]
        assert patched.locked <= plain.locked
        assert patched.locked or not plain.dirty


@settings(max_examples=settings().max_examples // 4)
@given(tables(20), st.sampled_from(CORNERS), st.sampled_from(CORNERS))
def test_a_stale_cache_can_only_skip_or_repeat(table: tuple[list[Row], Pair, Pair], xid: int, multi: int) -> None:
    """Whatever the cache holds: what is written is what the plain function writes, or nothing is written."""
    rows, start, sane = table
    cached = Pair(xid, multi)
    plain = update(start, rows, start, sane)
    for patched in (update_patched(cached, start, rows, start, sane), update_patched(None, start, rows, start, sane)):
        assert patched.stored in (start, plain.stored)
        if patched.locked:
            assert patched == plain


def test_a_future_value_is_mended_and_a_future_row_stops_all() -> None:
    sane, start = Pair(1000, 50), Pair(900, 40)
    rows = [Row("r", 800, 30), Row("i", 5000, 5000), Row("t", 0, 35), Row("m", 850, 0)]
    assert update(Pair(2000, 60), rows, start, sane)[:3] == (Pair(800, 30), Pair(800, 30), True)
    assert update(Pair(800, 30), rows, start, sane)[:3] == (Pair(800, 30), Pair(800, 30), False)
    assert update(Pair(850, 20), rows, start, sane)[:3] == (Pair(850, 30), Pair(850, 30), True)
    assert update(Pair(700, 20), [*rows, Row("r", 1001, 30)], start, sane)[:3] == (Pair(700, 20), None, False)
    with pytest.raises(FutureError, match="relminmxid of row 2") as refusal:
        min_frozen_rows([Row("r", 0, 0), Row("r", 999, 51)], start, sane)
    assert (refusal.value.index, refusal.value.multixact) == (2, True)


def test_permanent_xids_precede_all_normal_ones() -> None:
    assert min_frozen([900, 2, 1, 2], 950, 1000, XIDS) == 1
    assert min_frozen([900, 2], 950, 1000, XIDS) == 2
    assert min_frozen([900, 2], 950, 1000, MULTIXACTS) == 2
    assert min_frozen([2**32 - 5, 2], 950, 1000, XIDS) == 2
    assert min_frozen([2**32 - 5, 2], 950, 1000, MULTIXACTS) == 2**32 - 5

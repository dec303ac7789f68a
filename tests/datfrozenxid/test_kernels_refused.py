# SPDX-License-Identifier: PostgreSQL
"""A call that refuses, or gives up at a value in the future, writes no output: each holds what it held before."""

from itertools import product
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern.datfrozenxid import variants

from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.datfrozenxid.strategies import HALF

UNTOUCHED = (77, 78)
NINE = (9, 9)
WRONG_MULTIS = [(0, 9), (9, 0), (10, 9), (9 + HALF, 9), (9, 9 + HALF)]
WRONG_XIDS = [*WRONG_MULTIS, (1, 9), (2, 9), (9, 1), (9, 2)]
"""A start (or minimum) and a next id that are refused, for each of the two sorts of ids."""
WRONG = [((x, 9), (s, 9)) for x, s in WRONG_XIDS] + [((9, x), (9, s)) for x, s in WRONG_MULTIS]
"""The same for a pair of ids, of which the other is sound."""


BOUNDS = (lib.PGQ_DATFROZENXID_BOUNDS, 0)


def every(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("variant", every_variant(variants(kind)))


def function_of(kind: str, variant: str) -> Any:
    return getattr(lib, f"pgq_datfrozenxid_{kind}_variants")[[v.name for v in variants(kind)].index(variant)].fn


def answer(status: Any) -> tuple[int, int]:
    return status.code, status.index


def pair(ids: tuple[int, int]) -> Any:
    return ffi.new("pgq_datfrozenxid_pair *", ids)


def places(chunk: int) -> list[int]:
    """Where the value in the future stands: older values precede it, in its chunk or in the one before."""
    return [1, 7, 8, 33, chunk, 2 * chunk + 1]


@every("min_frozen")
@pytest.mark.parametrize("multixact", [False, True], ids=["xids", "multixacts"])
def test_an_array(variant: str, multixact: bool) -> None:
    function, minimum = function_of("min_frozen", variant), ffi.new("uint32_t *")
    sound, future = ffi.new("pgq_datfrozenxid_bounds *", (900, 1000, multixact)), lib.PGQ_DATFROZENXID_FUTURE_XID
    future = lib.PGQ_DATFROZENXID_FUTURE_MULTI if multixact else future
    for at in places(4096):
        minimum[0] = 77
        values = ffi.new("uint32_t[]", [500] * at + [1001] + [400] * 5)
        status = function(values, len(values), sound, minimum)
        assert (answer(status), minimum[0]) == ((future, at + 1), 77)
        tally("datfrozenxid", "arrays")
    array = ffi.new("uint32_t[]", [5] * 40)
    for (start, sane), n in product(WRONG_MULTIS if multixact else WRONG_XIDS, (0, 40)):
        bounds = ffi.new("pgq_datfrozenxid_bounds *", (start, sane, multixact))
        assert answer(function(array, n, bounds, minimum)) == BOUNDS
        assert minimum[0] == 77
    for start, sane in [(1, 2)] if multixact else [(10, 9 + HALF)]:
        bounds = ffi.new("pgq_datfrozenxid_bounds *", (start, sane, multixact))
        assert function(array, 0, bounds, minimum).code == lib.PGQ_OK
        assert minimum[0] == start


@every("min_frozen_strided")
@pytest.mark.parametrize("multixact", [False, True], ids=["xid", "multixact"])
def test_rows(variant: str, multixact: bool) -> None:
    """Of both columns: also of the one in which no value lies in the future."""
    function, minimum = function_of("min_frozen_strided", variant), pair(UNTOUCHED)
    code = lib.PGQ_DATFROZENXID_FUTURE_MULTI if multixact else lib.PGQ_DATFROZENXID_FUTURE_XID
    for at in places(256):
        ids = [(500, 500)] * at + [(500, 1001) if multixact else (1001, 500)] + [(400, 400)] * 5
        records = b"".join(b"r" + xid.to_bytes(4, "little") + multi.to_bytes(4, "little") for xid, multi in ids)
        memory = ffi.new("uint8_t[]", records)
        rows = ffi.new("pgq_datfrozenxid_rows *", (memory, len(ids), 9, 0, 1))
        status = function(rows, pair((900, 900)), pair((1000, 1000)), minimum)
        assert answer(status) == (code, at + 1)
        assert (minimum.xid, minimum.multi) == UNTOUCHED
        tally("datfrozenxid", "tables")
        for start, sane in WRONG:
            assert answer(function(rows, pair(start), pair(sane), minimum)) == BOUNDS
            assert (minimum.xid, minimum.multi) == UNTOUCHED
    rows = ffi.new("pgq_datfrozenxid_rows *", (memory, 1, 8, 0, 1))
    assert function(rows, pair(NINE), pair(NINE), minimum).code == lib.PGQ_DATFROZENXID_STRIDE
    assert (minimum.xid, minimum.multi) == UNTOUCHED


@every("need_update")
def test_a_decision(variant: str) -> None:
    """For each former content of the two flags."""
    function, changes = function_of("need_update", variant), ffi.new("pgq_datfrozenxid_changes *")
    for before in [(False, False), (True, False), (False, True), (True, True)]:
        for new, sane in WRONG:
            changes.xid, changes.multi = before
            for stored in [(5, 5), (9, 9), (12, 12)]:
                assert answer(function(pair(stored), pair(new), pair(sane), changes)) == BOUNDS
                assert (changes.xid, changes.multi) == before
                tally("datfrozenxid", "decisions")
        changes.xid, changes.multi = before
        assert function(ffi.NULL, pair(NINE), pair(NINE), changes).code == lib.PGQ_NULL
        assert (changes.xid, changes.multi) == before

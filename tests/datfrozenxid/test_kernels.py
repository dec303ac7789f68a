# SPDX-License-Identifier: PostgreSQL
"""Every kernel against the oracle's definition of it: the minimum, or the first value in the future."""

from array import array
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, mmap
from random import Random
from typing import Any

import pytest
from _pgquern import ffi, lib
from hypothesis import given, settings
from hypothesis import strategies as st
from pgquern import PgquernError
from pgquern import datfrozenxid as kernels
from pgquern.datfrozenxid import variants

from ref import datfrozenxid as ref
from ref.datfrozenxid import FutureError, Ids, Pair, Row
from ref.xid import XID
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.datfrozenxid.strategies import (
    CORNERS,
    HALF,
    HELD,
    LAST,
    MULTIXACTS,
    OTHERS,
    XIDS,
    around,
    bounds,
    normal_of,
    scans,
    tables,
)  # fmt: skip

CODES = {False: lib.PGQ_DATFROZENXID_FUTURE_XID, True: lib.PGQ_DATFROZENXID_FUTURE_MULTI}
both_orders = pytest.mark.parametrize("ids", [XIDS, MULTIXACTS], ids=["xids", "multixacts"])


def every(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("variant", every_variant(variants(kind)))


def names(kind: str) -> list[str]:
    """The variants that this CPU can run: those of a Hypothesis test share each example, which costs more to make."""
    return [v.name for v in variants(kind) if v.supported]


def answer(call: Callable[[], Any]) -> Any:
    """What a call returns; of a refusal by oracle or kernel, the code and the index."""
    try:
        return call()
    except PgquernError as error:
        return "refused", error.code, error.index
    except FutureError as error:
        return "refused", CODES[error.multixact], error.index


@lru_cache(maxsize=30_000)  # the variants get the same arrays
def minimum_of(values: bytes, start: int, sane: int, ids: Ids) -> Any:
    return answer(lambda: ref.min_frozen(array("I", values).tolist(), start, sane, ids))


def same(values: list[int], start: int, sane: int, ids: Ids, variant: str) -> None:
    """Kernel and oracle give the same answer."""
    kernel = answer(lambda: kernels.min_frozen(values, start, sane, multixact=ids.multixact, variant=variant))
    assert kernel == minimum_of(array("I", values).tobytes(), start, sane, ids), (values, start, sane)
    tally("datfrozenxid", "arrays")


# ---- arrays --------------------------------------------------------------------------------------


@both_orders
@given(st.data())
def test_min_frozen(ids: Ids, data: st.DataObject) -> None:
    values, start, sane = data.draw(scans(ids))
    for variant in names("min_frozen"):
        same(values, start, sane, ids, variant)


@pytest.mark.exhaustive
@every("min_frozen")
@both_orders
def test_min_frozen_of_two_corners(ids: Ids, variant: str) -> None:
    """Every corner as sane value, every start and every two values out of the corners and what lies around them."""
    for sane in (sane for sane in CORNERS if ids.is_normal(sane)):
        points = sorted({*CORNERS, *around(sane)})
        starts = [x for x in points if ids.is_normal(x) and not ids.precedes(sane, x)]
        for start in starts[::5]:
            for pair in product(points, repeat=2):
                same([*pair], start, sane, ids, variant)


@pytest.mark.exhaustive
@every("min_frozen")
@both_orders
def test_min_frozen_of_every_length_with_the_oldest_at_each_place(ids: Ids, variant: str) -> None:
    """Every tail of a SIMD loop: the oldest value, a value in the future, or a permanent one stands at each place."""
    rng = Random(1)
    for n in range(1, 150):
        sane = normal_of(ids, rng.choice([*CORNERS, rng.randrange(XID.size)]))
        ages = [rng.randrange(HALF - 2) for _ in range(n)]
        sound = [normal_of(ids, sane - age) for age in ages]
        sound = [x if not ids.precedes(sane, x) else sane for x in sound]
        for at in {0, n - 1, rng.randrange(n), rng.randrange(n)}:
            for x in (normal_of(ids, sane - HALF + 1), normal_of(ids, sane + 1), (sane + HALF) % XID.size, 0, 1, 2):
                same([*sound[:at], x, *sound[at + 1 :]], sane, sane, ids, variant)


@every("min_frozen")
@both_orders
def test_min_frozen_ignores_invalid_values(ids: Ids, variant: str) -> None:
    """Nothing but invalid values, of every number, or all but one: at each corner as start and sane value."""
    for sane in (sane for sane in CORNERS if ids.is_normal(sane)):
        for n in (0, 1, 7, 8, 9, 16, 31, 64, 100):
            same([0] * n, sane, sane, ids, variant)
            same([0] * n + [normal_of(ids, sane - 7)] + [0] * n, sane, sane, ids, variant)


@every("min_frozen")
@both_orders
def test_min_frozen_of_long_arrays(ids: Ids, variant: str) -> None:
    """Several chunks: the first value in the future counts, wherever others lie; permanent XIDs before and behind.

    One length where a profile wants few examples.
    """
    rng = Random(2)
    for n in (4095, 4096, 4097, 8192, 9001) if settings().max_examples > 200 else (4097,):
        for sane in (normal_of(ids, rng.randrange(XID.size)), 1000, LAST):
            sound = [normal_of(ids, sane - rng.randrange(HALF - 1)) for _ in range(n)]
            sound = [x if not ids.precedes(sane, x) else sane for x in sound]
            same(sound, sane, sane, ids, variant)
            for x in (normal_of(ids, sane + 1), 1, 2, 0):
                array = list(sound)
                for at in sorted(rng.choices([0, 1, 4095, 4096, n - 1, rng.randrange(n)], k=3)):
                    array[min(at, n - 1)] = x
                    same(array, sane, sane, ids, variant)


@every("min_frozen")
@both_orders
def test_min_frozen_at_every_alignment(ids: Ids, variant: str) -> None:
    """The array begins at each multiple of 4 bytes within 64; the older values before and behind it do not count."""
    function = lib.pgq_datfrozenxid_min_frozen_variants[[v.name for v in variants("min_frozen")].index(variant)].fn
    memory, minimum = ffi.new("uint32_t[]", [2_500] * 200), ffi.new("uint32_t *")
    limits = ffi.new("pgq_datfrozenxid_bounds *", (4_000, 4_000, ids.multixact))
    for offset, n in product(range(16), (0, 1, 8, 15, 33, 100)):
        array = [3_000 + i for i in range(n)]
        memory[offset : offset + n] = array
        status = function(memory + offset, n, limits, minimum)
        assert (status.code, minimum[0]) == (0, 3_000 if n else 4_000), (offset, n)
        memory[offset : offset + n] = [2_500] * n


# ---- rows ----------------------------------------------------------------------------------------


LAYOUTS = [
    {"stride": 128, "relkind_at": 115, "relfrozenxid_at": 120},
    {"stride": 168, "relkind_at": 115, "relfrozenxid_at": 132},  # FormData_pg_class of 15, and what lies around it
    {"stride": 9, "relkind_at": 8, "relfrozenxid_at": 0},
    {"stride": 9, "relkind_at": 0, "relfrozenxid_at": 1},
]


def same_rows(rows: list[Row], start: Pair, sane: Pair, variant: str, layout: dict[str, int] = LAYOUTS[0]) -> None:
    kernel = answer(lambda: kernels.min_frozen_strided(rows, start, sane, variant=variant, **layout))
    assert kernel == answer(lambda: ref.min_frozen_rows(rows, start, sane)), (rows, start, sane)
    tally("datfrozenxid", "tables")


@settings(max_examples=settings().max_examples // 2)
@given(tables(), st.sampled_from(LAYOUTS))
def test_min_frozen_strided(table: tuple[list[Row], Pair, Pair], layout: dict[str, int]) -> None:
    for variant in names("min_frozen_strided"):
        same_rows(*table, variant, layout)


@every("min_frozen_strided")
def test_min_frozen_strided_of_every_relkind(variant: str) -> None:
    """Rows of three kinds count. The values of all others may be anything."""
    start, sane = Pair(900, 90), Pair(1000, 100)
    for kind in map(chr, range(256)):
        for values in ((5, 6), (0, 6), (5, 0), (1001, 6), (5, 101), (1001, 101), (2, 2), (1, 1)):
            same_rows([Row("r", 800, 80), Row(kind, *values), Row("t", 700, 85)], start, sane, variant)


@pytest.mark.exhaustive
@every("min_frozen_strided")
def test_min_frozen_strided_of_every_length_with_faults_at_each_place(variant: str) -> None:
    """The first row at fault counts, and in a row the XID before the MultiXactId; also behind the first chunk."""
    rng = Random(3)
    for n in [*range(1, 40), 255, 256, 257, 600]:
        start = sane = Pair(rng.choice([1000, LAST]), rng.choice([1000, LAST]))
        rows = [
            Row(rng.choice(HELD + OTHERS), normal_of(XIDS, sane.xid - age), sane.multi - age % 900)
            for age in rng.choices(range(5000), k=n)
        ]
        rows = [row if not XIDS.precedes(sane.xid, row.relfrozenxid) else row._replace(relfrozenxid=0) for row in rows]
        same_rows(rows, start, sane, variant)
        for at in {0, n - 1, rng.randrange(n), rng.randrange(n)}:
            xid, multi = XID.advance(sane.xid), normal_of(MULTIXACTS, sane.multi + 1)
            for ids in ((xid, multi), (xid, 7), (7, multi), (2, 2), (1, 0), (0, 1), (0, 0), (900, 900)):
                kind = rng.choice(HELD * 3 + "i")
                same_rows([*rows[:at], Row(kind, *ids), *rows[at + 1 :]], start, sane, variant)


# ---- the decision --------------------------------------------------------------------------------


def same_decision(dat: Pair, new: Pair, sane: Pair, variant: str) -> None:
    xid = ref.need_update(dat.xid, new.xid, sane.xid, XIDS)
    multi = ref.need_update(dat.multi, new.multi, sane.multi, MULTIXACTS)
    assert kernels.need_update(dat, new, sane, variant=variant) == (xid, multi), (dat, new, sane)
    tally("datfrozenxid", "decisions")


@given(
    xid=bounds(XIDS),
    multi=bounds(MULTIXACTS),
    dat=st.tuples(st.integers(0, LAST) | st.sampled_from(CORNERS), st.integers(0, LAST) | st.sampled_from(CORNERS)),
)
def test_need_update(xid: tuple[int, int], multi: tuple[int, int], dat: tuple[int, int]) -> None:
    new, sane = Pair(xid[0], multi[0]), Pair(xid[1], multi[1])
    for variant in names("need_update"):
        for stored in (Pair(*dat), Pair(dat[0], new.multi), Pair(new.xid, dat[1])):
            same_decision(stored, new, sane, variant)


@pytest.mark.exhaustive
@every("need_update")
def test_need_update_of_all_corners(variant: str) -> None:
    """Stored value, minimum and sane value out of the corners and what lies around the last two."""
    for sane in (sane for sane in CORNERS if sane >= 3):
        for new in {*CORNERS, *around(sane)}:
            if new < 3 or XIDS.precedes(sane, new):
                continue
            for dat in {*CORNERS, *around(sane), *around(new)}:
                same_decision(Pair(dat, dat), Pair(new, new), Pair(sane, sane), variant)


# ---- refusals ------------------------------------------------------------------------------------


def refusal_of(call: Callable[..., Any], *arguments: Any, **options: Any) -> tuple[int, int]:
    with pytest.raises(PgquernError) as caught:
        call(*arguments, **options)
    return caught.value.code, caught.value.index


def row_of(kind: str, variant: str) -> Any:
    table = getattr(lib, f"pgq_datfrozenxid_{kind}_variants")
    return table[[v.name for v in variants(kind)].index(variant)].fn


@every("min_frozen")
def test_what_is_missing_or_too_long_is_refused(variant: str) -> None:
    function, minimum = row_of("min_frozen", variant), ffi.new("uint32_t *", 77)
    limits, array = ffi.new("pgq_datfrozenxid_bounds *", (9, 9, False)), ffi.new("uint32_t[]", [10])
    assert function(ffi.NULL, 1, limits, minimum).code == lib.PGQ_NULL
    assert function(array, 1, ffi.NULL, minimum).code == lib.PGQ_NULL
    assert function(array, 1, limits, ffi.NULL).code == lib.PGQ_NULL
    assert function(array, 2**28 + 1, limits, minimum).code == lib.PGQ_DATFROZENXID_CAPACITY
    status = function(array, 1, limits, minimum)
    assert (status.code, status.index) == (lib.PGQ_DATFROZENXID_FUTURE_XID, 1)
    assert minimum[0] == 77
    assert function(ffi.NULL, 0, limits, minimum).code == lib.PGQ_OK
    assert minimum[0] == 9


@pytest.mark.plain
@every("min_frozen")
def test_as_many_values_as_there_may_be(variant: str) -> None:
    """2^28 of them, all invalid, of memory that nobody has written to: it takes no room."""
    function, minimum = row_of("min_frozen", variant), ffi.new("uint32_t *", 77)
    limits = ffi.new("pgq_datfrozenxid_bounds *", (9, 9, False))
    memory = mmap(-1, 4 << 28, flags=MAP_PRIVATE | MAP_ANONYMOUS, prot=PROT_READ)
    status = function(ffi.from_buffer("uint32_t[]", memory), 1 << 28, limits, minimum)
    assert (status.code, minimum[0]) == (lib.PGQ_OK, 9)


@every("min_frozen")
def test_a_place_beyond_16_bits_is_told_whole(variant: str) -> None:
    for at in (65_535, 65_536, 69_999):
        values = [9] * 70_000
        values[at] = 10
        got = refusal_of(kernels.min_frozen, values, 9, 9, variant=variant)
        assert got == (lib.PGQ_DATFROZENXID_FUTURE_XID, at + 1)


@every("min_frozen_strided")
def test_what_is_missing_or_does_not_fit_a_record_is_refused(variant: str) -> None:
    function, minimum = row_of("min_frozen_strided", variant), ffi.new("pgq_datfrozenxid_pair *", (77, 78))
    nine, memory = ffi.new("pgq_datfrozenxid_pair *", (9, 9)), ffi.new("uint8_t[]", b"\0" * 256)

    def code(records: Any, n: int, stride: int, kind_at: int, xid_at: int, *rest: Any) -> int:
        rows = ffi.new("pgq_datfrozenxid_rows *", (records, n, stride, kind_at, xid_at))
        return int(function(rows, *(rest or (nine, nine, minimum))).code)

    assert function(ffi.NULL, nine, nine, minimum).code == lib.PGQ_NULL
    assert code(ffi.NULL, 1, 128, 8, 0) == lib.PGQ_NULL
    assert code(memory, 1, 128, 8, 0, ffi.NULL, nine, minimum) == lib.PGQ_NULL
    assert code(memory, 1, 128, 8, 0, nine, ffi.NULL, minimum) == lib.PGQ_NULL
    assert code(memory, 1, 128, 8, 0, nine, nine, ffi.NULL) == lib.PGQ_NULL
    assert code(memory, 2**28 + 1, 128, 8, 0) == lib.PGQ_DATFROZENXID_CAPACITY
    for stride, kind_at, xid_at in ((128, 128, 0), (128, 8, 121), (7, 0, 0), (8, 8, 0), (0, 0, 0), (128, 0, 2**64 - 1)):
        assert code(memory, 1, stride, kind_at, xid_at) == lib.PGQ_DATFROZENXID_STRIDE, (stride, kind_at, xid_at)
    assert (minimum.xid, minimum.multi) == (77, 78)
    assert code(memory, 2, 128, 127, 120) == lib.PGQ_OK
    assert code(ffi.NULL, 0, 8, 7, 0) == lib.PGQ_OK
    assert (minimum.xid, minimum.multi) == (9, 9)


@every("need_update")
def test_decisions_without_arguments_are_refused(variant: str) -> None:
    function, changes = row_of("need_update", variant), ffi.new("pgq_datfrozenxid_changes *")
    nine = ffi.new("pgq_datfrozenxid_pair *", (9, 9))
    for at in range(4):
        arguments = [nine, nine, nine, changes]
        arguments[at] = ffi.NULL
        assert function(*arguments).code == lib.PGQ_NULL


# ---- strides that no table has, and what the binding lays out --------------------------------------


@every("min_frozen_strided")
def test_one_row_may_have_any_stride(variant: str) -> None:
    """There is no next record, so no address of one may be computed: under UBSan that would be seen."""
    function, minimum = row_of("min_frozen_strided", variant), ffi.new("pgq_datfrozenxid_pair *")
    memory, nine = ffi.new("uint8_t[]", b"\5\0\0\0\6\0\0\0r"), ffi.new("pgq_datfrozenxid_pair *", (9, 9))
    for stride in (2**62, 2**63 - 1, 2**63, 2**64 - 1):
        rows = ffi.new("pgq_datfrozenxid_rows *", (memory, 1, stride, 8, 0))
        assert function(rows, nine, nine, minimum).code == lib.PGQ_OK
        assert (minimum.xid, minimum.multi) == (5, 6)


MAP_NORESERVE = 0x4000
"""Linux's, on x86-64 and on ARM: Python has no name for it before 3.13."""


@every("min_frozen_strided")
@pytest.mark.parametrize("stride", [2**27 + 9, 2**28 + 9, 2**29 + 9, 2**32 + 11])
def test_rows_far_apart(variant: str, stride: int) -> None:
    """Farther than 31 bits, and than 32, can say; of the last stride a single one is, and what lies between the
    fields of a row. A row touches a few pages of memory; the rest is never touched, and need not be there."""
    n, ids = 9, stride - 8
    try:
        memory = mmap(-1, n * stride, flags=MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
    except OSError as error:
        pytest.skip(f"no address space of {n * stride} bytes: {error}")
    function, minimum = row_of("min_frozen_strided", variant), ffi.new("pgq_datfrozenxid_pair *")
    hundred = ffi.new("pgq_datfrozenxid_pair *", (100, 100))
    for oldest in range(n):
        for i in range(n):
            xid = 90 if i == oldest else 95
            memory[i * stride] = ord("r")
            at = i * stride + ids
            memory[at : at + 8] = xid.to_bytes(4, "little") + (xid + 1).to_bytes(4, "little")
        with ffi.from_buffer(memory) as records:
            rows = ffi.new("pgq_datfrozenxid_rows *", (records, n, stride, 0, ids))
            assert function(rows, hundred, hundred, minimum).code == lib.PGQ_OK
        assert (minimum.xid, minimum.multi) == (90, 91)
    memory.close()


@every("min_frozen_strided")
@pytest.mark.parametrize("layout", [{"stride": 8}, {"relkind_at": 128}, {"relfrozenxid_at": 121}, {"stride": 0}])
def test_the_binding_leaves_fields_beyond_the_stride_to_the_kernel(variant: str, layout: dict[str, int]) -> None:
    with pytest.raises(PgquernError) as caught:
        kernels.min_frozen_strided([("r", 5, 5)] * 3, (9, 9), (9, 9), **layout, variant=variant)
    assert (caught.value.code, caught.value.index) == (lib.PGQ_DATFROZENXID_STRIDE, 0)


def test_the_binding_refuses_rows_and_pairs_of_a_wrong_type_or_length() -> None:
    wrong: Any
    for wrong in [("r", "5", 6), ("r", 5.0, 6), ("r", 5, None), (None, 5, 6)]:
        with pytest.raises(TypeError):
            kernels.min_frozen_strided([wrong], (9, 9), (9, 9))
    for wrong in [("r", -1, 6), ("r", 5, 2**32)]:
        with pytest.raises(OverflowError):
            kernels.min_frozen_strided([wrong], (9, 9), (9, 9))
    with pytest.raises(OverflowError):
        kernels.min_frozen_strided([("r", 5, 6)], (9, 9), (9, 9), relkind_at=-1)
    for wrong in [(5,), (5, 6, 7)]:
        with pytest.raises(ValueError, match="unpack"):
            kernels.need_update(wrong, (9, 9), (9, 9))

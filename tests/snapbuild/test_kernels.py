# SPDX-License-Identifier: PostgreSQL
"""Every kernel on XID arrays against the oracle's definition of it, and the extracted proof as a third opinion."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, combinations, product
from random import Random
from typing import Any, NamedTuple

import pytest
from _pgquern import ffi, lib
from hypothesis import given
from hypothesis import strategies as st
from pgquern import PgquernError
from pgquern.snapbuild import Committed, CommittedFull, compress, variants

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID, full
from tests.every_variant import every_variant
from tests.snapbuild.extracted import PROGRAM, Extracted, Op
from tests.snapbuild.strategies import CORNERS, HALF, LAST, around, arrays, commit_xids, normal_xids, sorted_arrays
from tests.tally import tally

needs_extracted = pytest.mark.skipif(not PROGRAM.exists(), reason="build/oracle/snapbuild is not built: make oracle")


def names(kind: str) -> list[str]:
    return [v.name for v in variants(kind) if v.supported]


def code_of(call: Callable[[], Any]) -> tuple[int, int]:
    """The refusal of a call, by oracle or kernel: code and index; (0, 0) if it is accepted."""
    try:
        call()
    except (PgquernError, ref.XidArrayError) as error:
        return int(error.code), error.index
    return 0, 0


def subsets(xids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All of them, in order of xids."""
    return chain.from_iterable(combinations(xids, k) for k in range(len(xids) + 1))


# ---- purge ---------------------------------------------------------------------------------------


@given(arrays())
def test_purge(array: tuple[list[int], int]) -> None:
    xip, xmin = array
    for variant in names("purge"):
        committed = Committed(xip)
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge(xip, xmin), variant


PATTERNS: dict[str, Callable[[int, int], bool]] = {
    "all": lambda i, n: True,
    "none": lambda i, n: False,
    "first": lambda i, n: i == 0,
    "last": lambda i, n: i == n - 1,
    "all but the first": lambda i, n: i > 0,
    "all but the last": lambda i, n: i < n - 1,
    "every other": lambda i, n: i % 2 == 1,
    "second half": lambda i, n: 2 * i >= n,
    "first half": lambda i, n: 2 * i < n,
    "scattered": lambda i, n: (i * 2654435761 >> 7) % 3 > 0,
}
CANARY = 0xDEADBEEF


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_every_length_and_alignment(variant: str) -> None:
    """Every tail of a SIMD loop and every alignment to 64 bytes; no byte outside the array is touched."""
    fn = lib.pgq_snapbuild_purge_variants[[v.name for v in variants("purge")].index(variant)].fn
    rng = Random(1)
    for n, (name, pattern) in product(range(150), PATTERNS.items()):
        xmin = rng.choice([*CORNERS, rng.randrange(FIRST_NORMAL, XID.size)])
        keep = [x for x in around(xmin) if not XID.precedes(x, xmin)]
        drop = [x for x in around(xmin) if XID.precedes(x, xmin)]
        xip = [rng.choice(keep if pattern(i, n) else drop) for i in range(n)]
        expected = ref.purge(xip, xmin)
        offset = (n + len(name)) % 16
        memory = ffi.new("uint32_t[]", [CANARY] * (offset + n + 32))
        memory[offset : offset + n] = xip
        committed = ffi.new("pgq_snapbuild_committed *", {"xip": memory + offset, "xcnt": n, "xcnt_space": n})
        assert fn(committed, xmin).code == lib.PGQ_OK
        after = ffi.unpack(memory, len(memory))
        assert after[offset : offset + committed.xcnt] == expected, (n, name, xmin)
        assert after[:offset] == [CANARY] * offset
        assert after[offset + n :] == [CANARY] * 32
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_xids_half_a_ring_away(variant: str) -> None:
    """Such an XID precedes xmin and goes, also as the only one in an array that otherwise holds xmin alone."""
    for xmin in (xmin for xmin in CORNERS if xmin ^ HALF >= FIRST_NORMAL):
        for n, at in product([1, 8, 16, 32, 100], [0, 7, -1]):
            xip = [xmin] * n
            xip[at % n] = xmin ^ HALF
            committed = Committed(xip)
            committed.purge(xmin, variant=variant, checked=False)
            assert committed.xip == ref.purge(xip, xmin), (xmin, n, at)


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_of_long_arrays(variant: str) -> None:
    """Long enough for blocks: runs that stay or go as a whole, mixed ones, and runs with single XIDs that differ."""
    rng = Random(1)
    for n in [4095, 4096, 4351, 4352, 6000, 9000] * 8:
        xmin = rng.choice([*CORNERS, rng.randrange(FIRST_NORMAL, XID.size)])
        keep = [x for x in around(xmin) if not XID.precedes(x, xmin)]
        drop = [x for x in around(xmin) if XID.precedes(x, xmin)]
        xip: list[int] = []
        while len(xip) < n:
            run = rng.choice([1, 255, 256, 257, 512, 1023, 1024, 1025, 2048, n, rng.randrange(n)])
            xip += rng.choices(rng.choice([keep, keep, drop, drop, keep + drop]), k=run)
        del xip[n:]
        for _ in range(rng.randrange(3)):
            xip[rng.randrange(n)] = rng.choice(keep + drop)
        committed = Committed(xip)
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge(xip, xmin), (xmin, n)
        tally("snapbuild", "arrays")


@pytest.mark.parametrize("variant", every_variant(variants("purge")))
def test_purge_waits_for_a_normal_xmin(variant: str) -> None:
    for xmin in range(FIRST_NORMAL):
        committed = Committed([LAST, 7, 3])
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge([LAST, 7, 3], xmin) == [LAST, 7, 3]


# ---- purge of sorted arrays ----------------------------------------------------------------------


@given(sorted_arrays())
def test_purge_sorted(array: tuple[list[int], int]) -> None:
    xip, xmin = array
    for variant in names("purge_sorted"):
        committed = Committed(xip, sorted=True)
        committed.purge_sorted(xmin, variant=variant)
        assert committed.xip == ref.purge_sorted(xip, xmin), variant
        assert committed.sorted


# Both sides of every turning point, ten in all.
SMALL_RING = [3, 4, 5, HALF - 1, HALF, HALF + 3, HALF + 4, LAST - 2, LAST - 1, LAST]


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("purge_sorted")))
def test_purge_of_every_subset_at_every_border(variant: str) -> None:
    """All 1024 subsets of ten XIDs around the turning points, with every xmin next to one."""
    xmins = sorted({x for corner in CORNERS for x in around(corner)})
    for xip in subsets(SMALL_RING):
        for xmin in xmins:
            committed = Committed(xip, sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == [x for x in xip if not XID.precedes(x, xmin)], (xip, xmin)
    tally("snapbuild", "arrays", 1024 * len(xmins))


@pytest.mark.parametrize("n", [15, 16, 17, 127, 128, 135, 255, 256, 257, 2047, 2048, 2055, 20_000])
def test_purge_sorted_of_large_arrays(n: int) -> None:
    """Long enough for the search by eighths; boundaries next to XIDs that are there."""
    rng = Random(n)
    for _ in range(max(3, 5000 // n)):
        base = rng.choice([FIRST_NORMAL, HALF, XID.size - 100 * n // 2, rng.randrange(XID.size)])
        xids = {max((base + 100 * i + rng.randrange(100)) % XID.size, FIRST_NORMAL) for i in range(n)}
        xip = sorted(xids)
        xmin = max((rng.choice(xip) + rng.choice([-1, 0, 1]) + rng.choice([0, 0, HALF])) % XID.size, FIRST_NORMAL)
        expected = [x for x in xip if not XID.precedes(x, xmin)]
        for variant in names("purge_sorted"):
            committed = Committed(xip, sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == expected, (variant, xmin)
        batch = [xmin, *(rng.randrange(FIRST_NORMAL, XID.size) for _ in range(20)), *rng.sample(xip, min(len(xip), 20))]
        merged = Committed(xip, capacity=len(xip) + len(batch), sorted=True)
        merged.insert(batch, variant="batch_merge", checked=False)
        assert merged.xip == sorted({*xip, *batch})
        tally("snapbuild", "arrays")


GAPS: dict[str, Callable[[Random, int], int]] = {
    "random": lambda rng, i: rng.randrange(1, 200),
    "in bursts": lambda rng, i: 1 if rng.randrange(100) else 10_000,
    "ever rarer": lambda rng, i: rng.randrange(1, 2 + i // 100),
    "ever denser": lambda rng, i: rng.randrange(1, 2 + (70_000 - i) // 100),
    "one far out": lambda rng, i: HALF // 2 if i == 30_000 else 1,
}


@pytest.mark.parametrize("gaps", GAPS)
def test_purge_sorted_of_arrays_long_enough_for_a_guess(gaps: str) -> None:
    """0 lies anywhere in them. Nothing goes, or the oldest XIDs go. The guess is good, or bad because the gaps are
    uneven."""
    rng = Random(gaps)
    for n in [65_535, 65_536, 65_543, *[70_000] * 9]:
        xids = list(accumulate((GAPS[gaps](rng, i) for i in range(n - 1)), initial=0))
        zero, gone = rng.choice(xids), rng.choice([0, 0, 1, 20, 1000, n // 2])
        xids = [x for x in ((x - zero) % XID.size for x in xids) if XID.is_normal(x)]
        xmin, xip = xids[gone], sorted(xids)
        for variant in names("purge_sorted"):
            committed = Committed(xip, sorted=True)
            committed.purge_sorted(xmin, variant=variant, checked=False)
            assert committed.xip == [x for x in xip if (x - xmin) % XID.size < HALF], (variant, n, zero, gone)
            tally("snapbuild", "arrays")


def test_purge_sorted_of_disorder_stays_inside() -> None:
    """An array that only claims to be sorted: no particular answer, but nothing outside it is touched (ASan)."""
    rng = Random(0)
    for n, width in product([20, 1000, 65_536], [1, 1000]):
        for xmin in [HALF // 2, HALF + 2000, LAST - 2000] * 6:
            past, share = (xmin + HALF) % XID.size, rng.choice([1, 10])
            starts = [*[xmin, past - width] * share, xmin - width]
            xids = [rng.choice(starts) + rng.randrange(width) for _ in range(1000)]
            committed = Committed(rng.choices(xids, k=n), sorted=True)
            committed.purge_sorted(xmin, variant="scalar", checked=False)
            assert len(committed.xip) <= n


def test_a_single_lower_bound_is_wrong_across_the_wrap() -> None:
    """Why there are two boundaries: 5 was assigned after LAST, and a lower bound at LAST would drop it."""
    committed = Committed([5, LAST - 10, LAST], sorted=True)
    committed.purge_sorted(LAST)
    assert committed.xip == [5, LAST]


# ---- purge of FullTransactionIds -----------------------------------------------------------------

full_xids = st.builds(full, st.integers(0, 3), normal_xids)


@given(st.lists(full_xids, unique=True, max_size=60).map(sorted), full_xids, st.integers(0, 20))
def test_purge_full(fxip: list[int], full_xmin: int, head: int) -> None:
    for variant in names("purge_full"):
        committed = CommittedFull(fxip, head=head)
        committed.purge(full_xmin, variant=variant)
        assert committed.fxip == ref.purge_full(fxip, full_xmin), variant


@pytest.mark.parametrize("variant", every_variant(variants("purge_full")))
def test_purge_full_waits_for_a_normal_xmin(variant: str) -> None:
    for xmin in range(FIRST_NORMAL):
        committed = CommittedFull([5, full(1, 9)])
        committed.purge(full(2, xmin), variant=variant)
        assert committed.fxip == ref.purge_full([5, full(1, 9)], full(2, xmin)) == [5, full(1, 9)]


@given(st.integers(0, (4 << 32) - HALF), st.lists(st.integers(0, HALF), max_size=100, unique=True))
def test_snapshot_of_full_xids_is_raw_sorted(low: int, above: list[int]) -> None:
    fxip = sorted({x for x in (low + d for d in above) if XID.is_normal(x % XID.size)})
    assert CommittedFull(fxip).snapshot() == ref.snapshot_xip_full(fxip)


@given(st.lists(full_xids, unique=True, max_size=60), st.lists(full_xids, max_size=30), st.integers(0, 40))
def test_insert_full_compacts_when_it_must(fxip: list[int], batch: list[int], head: int) -> None:
    """With space for exactly the result, and the head at any place."""
    fxip.sort()
    space = max(len(fxip) + len(batch), head + len(fxip))
    committed = CommittedFull(fxip, head=head, capacity=space)
    committed.insert(batch)
    assert committed.fxip == sorted({*fxip, *batch})
    assert committed.head in (0, head)


# ---- insertion and snapshots ---------------------------------------------------------------------


@st.composite
def insertions(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """A sorted array and a batch: far apart, interleaved, overlapping; in the order of a commit record, or in none."""
    if draw(st.booleans()):
        xip = draw(sorted_arrays(120))[0]
        return xip, draw(st.lists(st.one_of(normal_xids, st.sampled_from(xip or [3])), max_size=80))
    base = draw(normal_xids)
    near = st.integers(0, 300).map(lambda d: max((base + d) % XID.size, FIRST_NORMAL))
    return sorted(draw(st.sets(near, max_size=120))), commit_xids(draw(near), draw(st.integers(0, 70)))


@given(insertions())
def test_batch_merge(case: tuple[list[int], list[int]]) -> None:
    xip, batch = case
    committed = Committed(xip, capacity=len(xip) + len(batch), sorted=True)
    committed.insert(batch, variant="batch_merge")
    assert committed.xip == ref.insert(xip, batch)
    assert committed.sorted


@pytest.mark.parametrize("m", [*range(2, 19), 31, 32, 33, 62, 63, 64, 65, 66, 127, 128, 129, 191, 193, 500])
@pytest.mark.parametrize("order", ["random", "rising", "top last", "last two swapped"])
def test_batch_merge_of_chunks(m: int, order: str) -> None:
    """Batches of one chunk and of many, with duplicates in and across chunks, for XIDs and FullTransactionIds."""
    rng = Random(f"{m} {order}")
    for _ in range(20):
        base, spread = rng.choice([(FIRST_NORMAL, m), (FIRST_NORMAL, XID.size - FIRST_NORMAL), (HALF - 2 * m, 4 * m)])
        xids = range(base, base + spread)
        batch = rng.choices(xids, k=m) if rng.random() < 0.5 else rng.sample(xids, k=m)
        if order != "random":
            batch.sort()
        if order == "top last":
            batch.append(batch.pop(0))
        if order == "last two swapped":
            batch[-2:] = batch[:-3:-1]
        xip = sorted({*rng.choices(xids, k=rng.randrange(1, 300)), *rng.sample(batch, rng.randrange(m))})
        expected = sorted({*xip, *batch})
        committed = Committed(xip, capacity=len(xip) + m, sorted=True)
        committed.insert(batch, variant="batch_merge", checked=False)
        assert committed.xip == expected
        committed_full = CommittedFull([full(1, x) for x in xip], capacity=len(xip) + m)
        committed_full.insert([full(1, x) for x in batch])
        assert committed_full.fxip == [full(1, x) for x in expected]
        tally("snapbuild", "arrays", 2)


def test_batch_merge_into_disorder_stays_inside() -> None:
    """An array that only claims to be sorted: no particular answer, but nothing outside its space is touched (ASan)."""
    rng = Random(0)
    for n in range(1, 200):
        xip = rng.sample(range(1000, 3000), k=n)
        batch = rng.sample(range(1000, 3000), k=rng.randrange(1, 150))
        committed = Committed(xip, capacity=n + len(batch), sorted=True)
        committed.insert(batch, variant="batch_merge", checked=False)
        assert len(committed.xip) <= n + len(batch)


@pytest.mark.exhaustive
def test_batch_merge_of_every_small_case() -> None:
    """Every subset of six XIDs, with every batch of up to four of them, in every order and with duplicates."""
    xids = [3, 10, 11, HALF, LAST - 1, LAST]
    batches = [batch for m in range(5) for batch in product(xids, repeat=m)]
    for xip in subsets(xids):
        for batch in batches:
            committed = Committed(xip, capacity=len(xip) + len(batch), sorted=True)
            committed.insert(batch, variant="batch_merge", checked=False)
            assert committed.xip == sorted({*xip, *batch}), (xip, batch)
    tally("snapbuild", "arrays", 2 ** len(xids) * len(batches))


@given(arrays(60), st.lists(normal_xids, max_size=20))
def test_append_keeps_commit_order(array: tuple[list[int], int], batch: list[int]) -> None:
    committed = Committed(array[0], capacity=len(array[0]) + len(batch))
    committed.insert(batch, variant="append")
    assert committed.xip == ref.append(array[0], batch)


@given(st.lists(st.tuples(st.lists(normal_xids, max_size=10), st.booleans()), max_size=8))
def test_any_sequence_of_inserts_holds_the_union(batches: list[tuple[list[int], bool]]) -> None:
    """The array is sorted if the variant promises it: always, or from CONSISTENT on."""
    arrays = {variant: Committed() for variant in names("insert")}
    xids: set[int] = set()
    for batch, consistent in batches:
        xids |= set(batch)
        for variant, committed in arrays.items():
            committed.reserve(len(batch))
            committed.insert(batch, consistent=consistent, variant=variant)
            assert set(committed.xip) == xids, variant
            if variant == "batch_merge" or (variant == "sorted_after_consistent" and consistent):
                assert committed.sorted
                assert committed.xip == sorted(xids), variant


@given(arrays())
def test_snapshot(array: tuple[list[int], int]) -> None:
    """The snapshot of an unsorted array, duplicates included; the array does not change."""
    committed = Committed(array[0])
    for variant in names("snapshot"):
        assert committed.snapshot(variant=variant) == ref.snapshot_xip(array[0]), variant
        assert committed.xip == array[0]


SHAPES = ("random", "sorted", "reversed", "organ pipe", "few values", "one value", "nearly sorted")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [5, 6, 7, 8, 40, 41, 500, 3000])
def test_the_sort_of_a_snapshot(shape: str, n: int) -> None:
    rng = Random(n)
    xip = [rng.randrange(FIRST_NORMAL, XID.size) for _ in range(n)]
    if shape in ("sorted", "reversed", "nearly sorted"):
        xip.sort(reverse=shape == "reversed")
    if shape == "nearly sorted":
        for _ in range(n // 8 + 1):
            i = rng.randrange(n - 1)
            xip[i], xip[i + 1] = xip[i + 1], xip[i]
    if shape == "organ pipe":
        xip = sorted(xip[: n // 2]) + sorted(xip[n // 2 :], reverse=True)
    if shape in ("few values", "one value"):
        xip = [3 + x % (5 if shape == "few values" else 1) for x in xip]
    assert Committed(xip).snapshot(variant="upstream") == sorted(xip)


# ---- refusals ------------------------------------------------------------------------------------

dirty_xids = st.one_of(normal_xids, st.integers(0, 2))


@given(st.lists(dirty_xids, max_size=30), st.lists(dirty_xids, max_size=10), normal_xids)
def test_refusals_agree_with_the_oracle(xip: list[int], batch: list[int], xmin: int) -> None:
    """Permanent XIDs, order and duplicates: the same code at the same element, and nothing changed."""

    def committed(claim: bool) -> Committed:
        return Committed(xip, capacity=len(xip) + len(batch), sorted=claim)

    pairs: list[tuple[Callable[[Any], Any], Callable[[], Any], Any]] = [
        (lambda c: c.purge(xmin), lambda: ref.purge(xip, xmin), committed(False)),
        (lambda c: c.purge_sorted(xmin), lambda: ref.purge_sorted(xip, xmin), committed(True)),
        (lambda c: c.purge(full(1, xmin)), lambda: ref.purge_full(xip, full(1, xmin)), CommittedFull(xip)),
        (lambda c: c.insert(batch, checked=False), lambda: ref.append([], batch), committed(False)),
        (lambda c: c.snapshot(), lambda: ref.purge_sorted(xip, 0), committed(True)),
    ]
    for kernel, oracle, array in pairs:
        refusal = code_of(lambda kernel=kernel, array=array: kernel(array))  # type: ignore[misc]
        assert refusal == code_of(oracle)
        if refusal != (0, 0):
            assert (array.fxip if isinstance(array, CommittedFull) else array.xip) == xip


def test_the_sorted_purge_refuses_what_does_not_claim_to_be_sorted() -> None:
    for variant in names("purge_sorted"):
        refusal = code_of(lambda v=variant: Committed([3, 4]).purge_sorted(4, variant=v))  # type: ignore[misc]
        assert refusal == (lib.PGQ_SNAPBUILD_UNSORTED, 0)


def test_a_batch_that_does_not_fit_is_refused() -> None:
    """Even if it would fit after duplicates are dropped. The array does not change."""
    for variant in names("insert"):
        committed = Committed([3, 5], capacity=3, sorted=True)
        assert code_of(lambda c=committed, v=variant: c.insert([3, 5], variant=v)) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)  # type: ignore[misc]
        assert (committed.xip, committed.sorted) == ([3, 5], True)
    full_array = CommittedFull([3, 5], head=1)
    assert code_of(lambda: full_array.insert([7, 8])) == (lib.PGQ_SNAPBUILD_CAPACITY, 0)
    assert full_array.fxip == [3, 5]


class Pointer(NamedTuple):
    """A function of a kind's table, or of the header, to be called with a struct of the caller's."""

    name: str
    call: Callable[[Any], Any]
    supported: bool = True


def pointers() -> Iterator[Pointer]:
    """Every function of every kind."""

    def rows(kind: str) -> Iterator[tuple[str, Any, bool]]:
        table = getattr(lib, f"pgq_snapbuild_{kind}_variants")
        for i, variant in enumerate(variants(kind)):
            yield f"{kind} {variant.name}", table[i].fn, variant.supported

    def call(fn: Callable[..., Any], *arguments: Any) -> Callable[[Any], Any]:
        return lambda array: fn(array, *arguments)

    for name, fn, supported in chain(rows("purge"), rows("purge_sorted"), rows("purge_full")):
        yield Pointer(name, call(fn, 9), supported)
    for name, fn, supported in rows("insert"):
        yield Pointer(name, call(fn, ffi.new("uint32_t[1]", [9]), 1, True), supported)
    for name, fn, supported in rows("snapshot"):
        yield Pointer(name, call(fn, ffi.new("uint32_t[9]"), 9), supported)
    yield Pointer("check", lib.pgq_snapbuild_committed_check)
    yield Pointer("check full", lib.pgq_snapbuild_committed_full_check)
    yield Pointer("insert full", lambda c: lib.pgq_snapbuild_insert_full(c, ffi.new("uint64_t[1]", [9]), 1))
    yield Pointer("snapshot full", lambda c: lib.pgq_snapbuild_snapshot_full(c, ffi.new("uint32_t[9]"), 9))


@pytest.mark.parametrize("variant", every_variant(pointers()))
def test_null_and_counts_past_the_capacity_are_refused(variant: str) -> None:
    name, call = next((pointer.name, pointer.call) for pointer in pointers() if pointer.name == variant)
    is_full = "full" in name
    memory = ffi.new("uint64_t[4]")
    kind, array = ("pgq_snapbuild_committed_full *", "fxip") if is_full else ("pgq_snapbuild_committed *", "xip")
    sound = ffi.cast("uint64_t *" if is_full else "uint32_t *", memory)
    assert call(ffi.NULL).code == lib.PGQ_NULL
    assert call(ffi.new(kind, {array: ffi.NULL, "xcnt": 1, "xcnt_space": 4})).code == lib.PGQ_NULL
    assert call(ffi.new(kind, {array: sound, "xcnt": 5, "xcnt_space": 4})).code == lib.PGQ_SNAPBUILD_CAPACITY
    assert call(ffi.new(kind, {array: sound, "xcnt": 4, "xcnt_space": 2**28 + 1})).code == lib.PGQ_SNAPBUILD_CAPACITY
    for head in (1, 5) if is_full else ():
        past = ffi.new(kind, {array: sound, "head": head, "xcnt": 4, "xcnt_space": 4})
        assert call(past).code == lib.PGQ_SNAPBUILD_CAPACITY


def test_null_batches_and_targets_are_refused() -> None:
    committed, committed_full = ffi.new("pgq_snapbuild_committed *"), ffi.new("pgq_snapbuild_committed_full *")
    assert lib.pgq_snapbuild_insert(committed, ffi.NULL, 1, True).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_insert_full(committed_full, ffi.NULL, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_snapshot(committed, ffi.NULL, 1).code == lib.PGQ_NULL
    assert lib.pgq_snapbuild_snapshot_full(committed_full, ffi.NULL, 1).code == lib.PGQ_NULL
    memory, target = ffi.new("uint32_t[2]", [3, 4]), ffi.new("uint32_t[1]")
    two = ffi.new("pgq_snapbuild_committed *", {"xip": memory, "xcnt": 2, "xcnt_space": 2})
    assert lib.pgq_snapbuild_snapshot(two, target, 1).code == lib.PGQ_SNAPBUILD_CAPACITY


def test_nothing_is_done_to_nothing() -> None:
    """An array may have no memory at all."""
    for name, call in ((pointer.name, pointer.call) for pointer in pointers() if pointer.supported):
        kind = "pgq_snapbuild_committed_full *" if "full" in name else "pgq_snapbuild_committed *"
        expected = lib.PGQ_SNAPBUILD_CAPACITY if name.startswith("insert") else lib.PGQ_OK
        status = call(ffi.new(kind, {} if "full" in name else {"sorted": True}))
        assert status.code == expected, name


def test_a_snapshot_of_more_than_a_ring_is_refused() -> None:
    assert code_of(lambda: CommittedFull([5, full(1, 6)]).snapshot()) == (lib.PGQ_SNAPBUILD_UNSORTED, 0)


# ---- KnownAssignedXids: the loop -----------------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(variants("known_assigned")))
def test_compress_of_every_length(variant: str) -> None:
    rng = Random(2)
    for n, pattern in product(range(100), PATTERNS.values()):
        tail = rng.randrange(0, 20)
        valid = [rng.random() < 0.5 for _ in range(tail)] + [pattern(i, n) for i in range(n)]
        xids = [FIRST_NORMAL + i for i in range(tail + n)]
        assert compress(xids, valid, tail=tail, variant=variant) == ref.compress(xids[tail:], valid[tail:])
        tally("snapbuild", "arrays")


# ---- the extracted proof -------------------------------------------------------------------------


@needs_extracted
def test_the_extracted_proof_agrees() -> None:
    """On every subset at every border, and on generated arrays."""
    extracted, rng = Extracted(), Random(3)
    for subset in subsets(SMALL_RING[::2]):
        xip = list(subset)
        for xmin in (x for corner in CORNERS for x in around(corner)):
            extracted.expect(ref.purge(xip, xmin), Op.PURGE, xip, xmin=xmin)
            extracted.expect(ref.purge_sorted(xip, xmin), Op.PURGE_SORTED, xip, xmin=xmin)
    for _ in range(2000):
        base, n = rng.randrange(FIRST_NORMAL, XID.size), rng.choice([0, 1, 5, 30, 200])
        xids = [max((base + rng.randrange(rng.choice([n + 1, HALF]))) % XID.size, FIRST_NORMAL) for _ in range(n)]
        xip, batch = sorted(set(xids)), [rng.choice([*xids, base]) for _ in range(rng.randrange(20))]
        fxip = sorted(full(rng.randrange(3), x) for x in xip)
        valid = [rng.random() < 0.5 for _ in xip]
        extracted.expect(ref.purge(xids, base), Op.PURGE, xids, xmin=base)
        extracted.expect(ref.purge_sorted(xip, base), Op.PURGE_SORTED, xip, xmin=base)
        extracted.expect(ref.insert(xip, batch), Op.INSERT, xip, batch)
        extracted.expect(ref.purge_full(fxip, full(1, base)), Op.PURGE_FULL, fxip, xmin=full(1, base))
        extracted.expect(ref.compress(xip, valid), Op.COMPRESS, xip, valid)
    tally("snapbuild", "answers of the extracted proof", extracted.check())

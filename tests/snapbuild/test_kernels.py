# SPDX-License-Identifier: PostgreSQL
"""Every kernel on XID arrays against the oracle's definition of it, on generated arrays."""

from hypothesis import given
from hypothesis import strategies as st
from pgquern.snapbuild import Committed, CommittedFull, compress

from ref import snapbuild as ref
from ref.xid import FIRST_NORMAL, XID
from tests.snapbuild.agree import names
from tests.snapbuild.strategies import HALF, arrays, commit_xids, full_xids, normal_xids, sorted_arrays


@given(arrays())
def test_purge(array: tuple[list[int], int]) -> None:
    xip, xmin = array
    for variant in names("purge"):
        committed = Committed(xip)
        committed.purge(xmin, variant=variant)
        assert committed.xip == ref.purge(xip, xmin), variant


@given(sorted_arrays())
def test_purge_sorted(array: tuple[list[int], int]) -> None:
    xip, xmin = array
    for variant in names("purge_sorted"):
        committed = Committed(xip, sorted=True)
        committed.purge_sorted(xmin, variant=variant)
        assert committed.xip == ref.purge_sorted(xip, xmin), variant
        assert committed.sorted


@given(st.lists(full_xids, unique=True, max_size=60).map(sorted), full_xids, st.integers(0, 20))
def test_purge_full(fxip: list[int], full_xmin: int, head: int) -> None:
    for variant in names("purge_full"):
        committed = CommittedFull(fxip, head=head)
        committed.purge(full_xmin, variant=variant)
        assert committed.fxip == ref.purge_full(fxip, full_xmin), variant


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


@given(arrays(60), st.lists(normal_xids, max_size=20))
def test_append_keeps_commit_order(array: tuple[list[int], int], batch: list[int]) -> None:
    """Upstream always, ours before CONSISTENT."""
    for variant in ("append", "sorted_after_consistent"):
        committed = Committed(array[0], capacity=len(array[0]) + len(batch))
        committed.insert(batch, consistent=False, variant=variant)
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


@given(arrays(), st.data())
def test_compress(array: tuple[list[int], int], data: st.DataObject) -> None:
    """The loop of KnownAssignedXidsCompress: any flags, any tail."""
    xids, _ = array
    valid = data.draw(st.lists(st.booleans(), min_size=len(xids), max_size=len(xids)), label="valid")
    tail = data.draw(st.integers(0, len(xids)), label="tail")
    for variant in names("known_assigned"):
        assert compress(xids, valid, tail=tail, variant=variant) == ref.compress(xids[tail:], valid[tail:]), variant

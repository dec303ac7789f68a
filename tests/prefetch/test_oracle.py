# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's definition: by hand, and in random worlds."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.prefetch import (
    COUNTERS,
    DISTANCE_MULTIPLIER,
    MAIN_FORK,
    BlockReference,
    Effect,
    Next,
    Record,
    Relation,
    Ring,
)
from tests.prefetch.random_world import MOST, random_world
from tests.prefetch.world import World, replay

TABLE = Relation(1663, 5, 16384)


def cold(blocks: int, *, first_is_empty: bool = True) -> World:
    """Records of one cold, distinct block each, after a first record without blocks."""
    first = [Record(100, 101)] if first_is_empty else []
    records = first + [Record(101 + i, 102 + i, (BlockReference(TABLE, i + 1),)) for i in range(blocks)]
    return World(records, {TABLE: blocks + 1}, pool=0)


# ---- by hand -------------------------------------------------------------------------------------


def test_the_picture_of_twelve_blocks() -> None:
    """With three in flight: the sequence of system calls in the article on PostgreSQL 15's recovery prefetching."""
    picture = "a1 a2 a3 p1 a4 p2 a5 p3 a6 p4 a7 p5 a8 p6 a9 p7 a10 p8 a11 p9 a12 p10 p11 p12"
    assert " ".join(replay(cold(12), 3).script) == picture


def test_a_first_record_with_a_block_is_read_before_anything_else_is_advised() -> None:
    assert replay(cold(3, first_is_empty=False), 3).script[:2] == ["a1", "p1"]


@pytest.mark.parametrize("concurrency", [1, 2, 3, 10, 100])
def test_the_eager_schedule_has_exactly_N_in_flight(concurrency: int) -> None:
    seen = replay(cold(250), concurrency)
    # Entry i is taken when record i is about to be replayed; the first record has no block.
    full = seen.advised[1 : 250 - concurrency + 2]
    assert full == [concurrency] * len(full)


def test_a_record_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="cannot start at LSN 5 and end at 5"):
        Record(5, 5)


def test_wal_that_goes_back_is_refused() -> None:
    world = World([Record(100, 110), Record(105, 120)], {}, pool=0)
    with pytest.raises(ValueError, match="record at LSN 105 follows one that ends at 110"):
        replay(world, 0)


def test_a_negative_concurrency_is_refused() -> None:
    with pytest.raises(ValueError, match="maintenance_io_concurrency is -1"):
        replay(cold(1), -1)


# ---- in random worlds ----------------------------------------------------------------------------


@given(
    st.integers(1, MOST),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1, 1, 2, 3, 8]),
    st.dictionaries(st.integers(0, MOST), st.sampled_from([0, 1, 2, 8]), max_size=5),
)
def test_replay_is_whole_and_each_reference_is_counted_once(
    size: int, seed: int, first: int, changes: dict[int, int]
) -> None:
    """Those of the main fork, in one counter. And the pages are those of a replay without prefetching. What else holds
    in each world is proved (proofs/prefetch/Advised.v) of the prefetcher that test_extracted.py holds against this."""
    world, plain = random_world(size, seed), random_world(size, seed)
    seen = replay(world, first, changes=changes)
    replay(plain, 0)
    assert seen.replayed == world.records
    assert (world.pages, world.sizes) == (plain.pages, plain.sizes)
    assert sum(seen.counters.values()) == sum(event.reference.fork == MAIN_FORK for event in seen.events)
    assert all((event.what in COUNTERS) == (event.reference.fork == MAIN_FORK) for event in seen.events)


def test_every_corner_is_reached() -> None:
    """By the random worlds, always the same."""
    reached = set()
    for size, seed in product(range(1, MOST + 1), range(40)):
        world = random_world(size, seed)
        seen = replay(world, 2)
        reached |= world.corners | {event.what for event in seen.events}
        if max(seen.advised) == 2:
            reached.add("N in flight")
        if max(seen.looked_at) == 2 * DISTANCE_MULTIPLIER:
            reached.add("distance is the limit")
        if any(record.effect is Effect.TIMELINE for record in world.records[:-1]):
            reached.add("suspended by a record")
    corners = {"WAL is late", "no room to decode", "stale hint", "block lost", "references forgotten"}
    limits = {"N in flight", "distance is the limit", "suspended by a record"}
    assert reached == {*COUNTERS, "other_fork", *corners, *limits}


# ---- the ring alone ------------------------------------------------------------------------------


@given(st.integers(1, 1000), st.data())
def test_the_ring_looks_until_a_limit_is_reached(concurrency: int, data: st.DataObject) -> None:
    ring = Ring(concurrency, DISTANCE_MULTIPLIER * concurrency)
    answers = data.draw(st.lists(st.sampled_from([Next.IO, Next.NO_IO]), max_size=50))
    left = iter([*((answer, 1) for answer in answers), (Next.AGAIN, 0)])
    ring.prefetch(lambda: next(left))
    looked = answers[: len(ring.entries)]
    assert [io for _, io in ring.entries] == [answer is Next.IO for answer in looked]
    if len(looked) < len(answers):
        assert ring.inflight == concurrency or len(ring.entries) == ring.max_distance

# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's definition: by hand, in random worlds, and that each property sees what breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.prefetch import (
    COUNTERS,
    DISTANCE_MULTIPLIER,
    BlockReference,
    Effect,
    Record,
    Relation,
)
from tests.prefetch.properties import PROPERTIES, RESULT, result_is_right
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


# ---- properties ----------------------------------------------------------------------------------

sizes = st.integers(1, MOST)
seeds = st.integers(0, 2**32 - 1)
concurrencies = st.sampled_from([0, 1, 1, 2, 3, 8])


@given(sizes, seeds, concurrencies)
def test_every_property_holds(size: int, seed: int, concurrency: int) -> None:
    world = random_world(size, seed)
    seen = replay(world, concurrency)
    assert [name for name, holds in PROPERTIES.items() if not holds(world, seen, concurrency)] == []
    assert result_is_right(world, size, seed), RESULT


@given(sizes, seeds, concurrencies, st.dictionaries(st.integers(0, MOST), concurrencies, max_size=5))
def test_replay_is_whole_while_the_concurrency_changes(
    size: int, seed: int, first: int, changes: dict[int, int]
) -> None:
    world = random_world(size, seed)
    assert replay(world, first, changes=changes).replayed == world.records
    assert result_is_right(world, size, seed), RESULT


# The worlds that the corners and the breakers look through: the smallest first, always the same.
WORLDS = [(size, seed) for size in range(1, MOST + 1) for seed in range(40)]


def test_every_corner_is_reached() -> None:
    """What the properties speak of comes up in the random worlds."""
    reached = set()
    for size, seed in WORLDS:
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

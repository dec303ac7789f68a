# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's definition: by hand, in random worlds, and that each property sees what breaks it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.prefetch import (
    COUNTERS,
    DISTANCE_MULTIPLIER,
    MAIN_FORK,
    BlockReference,
    Effect,
    Event,
    Filters,
    Next,
    Prefetcher,
    Record,
    Relation,
    Ring,
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


# ---- what breaks them ----------------------------------------------------------------------------


class StartsFirst(Prefetcher):
    """Looks ahead before it completes, as upstream did before commit adb46615."""

    def read_record(self) -> Record | None:
        replayed_up_to = self.replaying.next_lsn if self.replaying else 0
        self.filters.complete(replayed_up_to)
        if not self.queue:
            self.ring.prefetch(self._look)
        self.ring.complete(replayed_up_to)
        if not self.queue:
            return None
        self.replaying = self.queue.popleft()
        self._at = None if self._at is self.replaying else self._at
        return self.replaying


def with_ring(ring: type[Ring]) -> type[Prefetcher]:
    """A prefetcher that has this ring."""

    class WithRing(Prefetcher):
        def reconfigure(self, concurrency: int) -> None:
            super().reconfigure(concurrency)
            self.ring = ring(self.ring.max_inflight, self.ring.max_distance)

    return WithRing


class CompletesTooMuch(Ring):
    """Completes entries at the LSN too: those of the record that comes next."""

    def complete(self, replayed_up_to: int) -> None:
        super().complete(replayed_up_to + 1)


class KeepsTheOldSize(Ring):
    """Guards a ring as if it had one slot more than it has."""

    def prefetch(self, look: Callable[[], tuple[Next, int]]) -> None:
        self.max_distance += 1
        super().prefetch(look)
        self.max_distance -= 1


class CountsOn(Ring):
    """Completes without counting down, when more than one entry leaves."""

    def complete(self, replayed_up_to: int) -> None:
        before, entries = self.inflight, len(self.entries)
        super().complete(replayed_up_to)
        if entries - len(self.entries) > 1:
            self.inflight = before


class NoFilters(Prefetcher):
    """Filters nothing."""

    def read_record(self) -> Record | None:
        self.filters = Filters()
        return super().read_record()

    def _note_effect(self, record: Record) -> None:
        if record.effect is Effect.TIMELINE:
            super()._note_effect(record)


class NeverForgets(Prefetcher):
    """Goes on with the blocks of a record that is being replayed."""

    last_at: Record | None = None

    def read_record(self) -> Record | None:
        record = super().read_record()
        if record is not None and self.last_at is record:
            self._at = record
        return record

    def _look(self) -> tuple[Next, int]:
        answer = super()._look()
        self.last_at = self._at
        return answer


class LooksTwice(Prefetcher):
    """Notes each reference that is a hit a second time."""

    def _judge(self, record: Record, reference: BlockReference) -> Event:
        event = super()._judge(record, reference)
        if event.what == "hit":
            self.events.append(event)
        return event


class CountsOtherForks(Prefetcher):
    """Counts a block of another fork as a new one."""

    def _judge(self, record: Record, reference: BlockReference) -> Event:
        event = super()._judge(record, reference)
        return event._replace(what="skip_new") if reference.fork != MAIN_FORK else event


def first_violation(name: str, make: type[Prefetcher], **world_has: Any) -> tuple[int, int, int] | None:
    """The first world, as (size, seed, concurrency), in which `make` violates the property; None if there is none."""
    for size, seed in WORLDS:
        for concurrency in (1, 2):
            world = random_world(size, seed)
            for attribute, value in world_has.items():
                setattr(world, attribute, value)
            try:
                seen = replay(world, concurrency, make=make)
            except AssertionError:  # The definition asserts something else, on the way.
                continue
            holds = result_is_right(world, size, seed) if name == RESULT else PROPERTIES[name](world, seen, concurrency)
            if not holds:
                return size, seed, concurrency
    return None


BREAKERS: list[tuple[str, type[Prefetcher], dict[str, Any]]] = [
    ("recovery never ends early", StartsFirst, {}),
    ("at most N advised blocks are unreplayed", with_ring(CompletesTooMuch), {}),
    ("at most 4 N references are looked at ahead", with_ring(KeepsTheOldSize), {}),
    ("the ring counts what it holds", with_ring(CountsOn), {}),
    ("an advised block is the one that replay reads", NoFilters, {}),
    ("references are looked at before their record is replayed", NeverForgets, {}),
    ("references are looked at once", LooksTwice, {}),
    ("references are counted once", CountsOtherForks, {}),
    (RESULT, Prefetcher, {"verify_hints": False}),
]


@pytest.mark.parametrize(("name", "make", "world_has"), BREAKERS, ids=[name for name, *_ in BREAKERS])
def test_each_property_sees_what_breaks_it(name: str, make: type[Prefetcher], world_has: dict[str, Any]) -> None:
    assert first_violation(name, make, **world_has) is not None


def test_every_property_has_a_breaker() -> None:
    assert {name for name, *_ in BREAKERS} == {*PROPERTIES, RESULT}


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

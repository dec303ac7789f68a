# SPDX-License-Identifier: PostgreSQL
"""The prefetcher's definition: its properties in random worlds, and that each property would see what breaks it."""

import copy
from collections import Counter

import pytest
from hypothesis import event, find, given
from hypothesis import strategies as st

from ref.prefetch import (
    COUNTERS,
    DISTANCE_MULTIPLIER,
    MAIN_FORK,
    BlockReference,
    Effect,
    Filters,
    Next,
    Prefetcher,
    Record,
    Relation,
    Ring,
)
from tests.prefetch.strategies import concurrencies, worlds
from tests.prefetch.world import Seen, World, looked_at, replay

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
    full = seen.unreplayed[1 : 250 - concurrency + 2]
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


def check_replay_is_whole(world: World, seen: Seen) -> None:
    assert seen.replayed == list(world.records)


def check_at_most_N_unreplayed(seen: Seen, concurrency: int) -> None:
    assert max(seen.unreplayed) <= concurrency


def check_generations(seen: Seen) -> None:
    assert not seen.wrong_generation


@given(worlds(), concurrencies)
def test_recovery_never_ends_early(world: World, concurrency: int) -> None:
    check_replay_is_whole(world, replay(world, concurrency))


@given(worlds(), concurrencies)
def test_at_most_N_advised_blocks_are_unreplayed(world: World, concurrency: int) -> None:
    seen = replay(world, concurrency)
    check_at_most_N_unreplayed(seen, concurrency)
    event(f"in flight at most: {max(seen.unreplayed)} of {concurrency}")


@given(worlds(), concurrencies)
def test_an_advised_block_is_the_one_that_replay_reads(world: World, concurrency: int) -> None:
    check_generations(replay(world, concurrency))


@given(worlds(), concurrencies)
def test_each_reference_is_looked_at_once_and_before_its_record_is_replayed(world: World, concurrency: int) -> None:
    seen = replay(world, concurrency)
    assert not seen.late
    looked = Counter((e.lsn, e.reference) for e in seen.events)
    assert looked <= Counter(looked_at(world.records))
    if concurrency == 0:
        assert not looked


@given(worlds(), concurrencies)
def test_each_main_fork_reference_that_is_looked_at_is_counted_once(world: World, concurrency: int) -> None:
    prefetchers: list[Prefetcher] = []

    def make(*arguments: object) -> Prefetcher:
        prefetchers.append(Prefetcher(*arguments))  # type: ignore[arg-type]
        return prefetchers[-1]

    seen = replay(world, concurrency, make=make)
    main_fork = [e for e in seen.events if e.reference.fork == MAIN_FORK]
    assert sum(prefetchers[0].counters.values()) == len(main_fork)
    assert all((e.what in COUNTERS) == (e.reference.fork == MAIN_FORK) for e in seen.events)
    for e in main_fork:
        event(e.what)


@given(worlds(), st.dictionaries(st.integers(0, 20), concurrencies), concurrencies)
def test_replay_is_whole_while_the_concurrency_changes(world: World, changes: dict[int, int], first: int) -> None:
    check_replay_is_whole(world, replay(world, first, changes=changes))


@given(worlds(), concurrencies)
def test_the_ring_counts_what_it_holds(world: World, concurrency: int) -> None:
    class Watched(Prefetcher):
        def read_record(self) -> Record | None:
            found = super().read_record()
            assert self.ring.inflight == sum(io for _, io in self.ring.entries) <= self.ring.max_inflight
            assert len(self.ring.entries) <= self.ring.max_distance
            return found

    replay(world, concurrency, make=Watched)


# ---- what breaks them ----------------------------------------------------------------------------


class StartsFirst(Prefetcher):
    """Looks ahead before it completes, as upstream did before commit adb46615."""

    def read_record(self) -> Record | None:
        self.filters.complete(self.replaying.next_lsn if self.replaying else 0)
        if not self.queue:
            self.ring.prefetch(self._look)
        self.ring.complete(self.replaying.next_lsn if self.replaying else 0)
        if not self.queue:
            return None
        self.replaying = self.queue.popleft()
        self._at = None if self._at is self.replaying else self._at
        return self.replaying


class CompletesTooMuch(Prefetcher):
    """Completes entries at the LSN too: those of the record that comes next."""

    def reconfigure(self, concurrency: int) -> None:
        super().reconfigure(concurrency)

        class Eager(Ring):
            def complete(self, replayed_up_to: int) -> None:
                super().complete(replayed_up_to + 1)

        self.ring = Eager(self.ring.max_inflight, self.ring.max_distance)


class NoFilters(Prefetcher):
    """Filters nothing."""

    def read_record(self) -> Record | None:
        self.filters = Filters()
        return super().read_record()

    def _note_effect(self, record: Record) -> None:
        if record.effect is Effect.TIMELINE:
            super()._note_effect(record)


def breaks(make: type[Prefetcher], check: str) -> bool:
    """Whether some small world shows that `make` violates the property."""

    def violated(case: tuple[World, int]) -> bool:
        world, concurrency = copy.deepcopy(case[0]), case[1]
        try:
            seen = replay(world, concurrency, make=make)
            if check == "whole":
                check_replay_is_whole(world, seen)
            elif check == "N":
                check_at_most_N_unreplayed(seen, concurrency)
            else:
                check_generations(seen)
        except AssertionError:
            return True
        return False

    find(st.tuples(worlds(), st.sampled_from([1, 2, 3])), violated)
    return True


@pytest.mark.parametrize(
    ("make", "check"),
    [(StartsFirst, "whole"), (CompletesTooMuch, "N"), (NoFilters, "generations")],
    ids=["starts before it completes", "completes the next record", "no filters"],
)
def test_each_property_sees_what_breaks_it(make: type[Prefetcher], check: str) -> None:
    assert breaks(make, check)


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

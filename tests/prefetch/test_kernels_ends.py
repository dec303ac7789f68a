# SPDX-License-Identifier: PostgreSQL
"""The C prefetcher at its ends: the least space, full tables, concurrencies and records that are refused."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from _pgquern import ffi, lib
from hypothesis import given, settings
from hypothesis import strategies as st
from pgquern import PgquernError

from ref.prefetch import DISTANCE_MULTIPLIER, BlockReference, Effect, Prefetcher, Record, Relation
from tests.prefetch.kernel import KERNELS, KernelPrefetcher, state_of
from tests.prefetch.random_world import MOST, RELATIONS, random_world
from tests.prefetch.test_oracle import TABLE, cold
from tests.prefetch.world import World, replay

fewer = settings(max_examples=settings().max_examples // 4)


def kernel(world: World, concurrency: int, begin: int = 1, **space: int) -> KernelPrefetcher:
    return KernelPrefetcher(world, world, concurrency, begin, direct=False, **space)


def code_of(call: Callable[..., Any], *args: Any, **named: Any) -> int:
    """The code of a refusal; 0 if the call is accepted."""
    try:
        call(*args, **named)
    except PgquernError as error:
        return error.code
    return 0


# ---- space ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [0, 1, 2, 999, 1000])
def test_a_ring_of_exactly_its_space(concurrency: int) -> None:
    """One entry more is needed than are in use; one concurrency more is refused and changes nothing."""
    world = cold(20)
    exact = kernel(world, concurrency, max_concurrency=concurrency)
    before = exact.kernel.ring
    # With prefetching off the ring has two entries, and concurrency 1 needs five.
    assert code_of(exact.reconfigure, concurrency + 1) == lib.PGQ_PREFETCH_CONCURRENCY
    assert exact.kernel.ring == before
    assert replay(cold(20), concurrency, make=lambda *args: KernelPrefetcher(*args, max_concurrency=concurrency)) == (
        replay(cold(20), concurrency)
    )


@pytest.mark.parametrize("concurrency", [0, 1, 1000])
def test_a_ring_needs_an_entry_more_than_are_in_use(concurrency: int) -> None:
    entries, queue = ffi.new("pgq_prefetch_entry[4001]"), ffi.new("pgq_prefetch_record *[1]")
    filters = ffi.new("pgq_prefetch_filter[2]")
    least = max(2, DISTANCE_MULTIPLIER * concurrency + 1)
    for space, code in ((least, lib.PGQ_OK), (least - 1, lib.PGQ_PREFETCH_CONCURRENCY)):
        arrays = {"entries": entries, "entry_space": space, "queue": queue, "queue_space": 1}
        prefetch = ffi.new("pgq_prefetch *", {**arrays, "filters": filters, "filter_space": 2})
        assert lib.pgq_prefetch_begin(prefetch, concurrency, 1).code == code


def test_no_concurrency_is_above_upstreams_most() -> None:
    world = cold(1)
    assert code_of(kernel, world, 1000, max_concurrency=2000) == 0
    assert code_of(kernel, world, 1001, max_concurrency=2000) == lib.PGQ_PREFETCH_CONCURRENCY
    assert code_of(kernel, world, 2**32 - 1, max_concurrency=2000) == lib.PGQ_PREFETCH_CONCURRENCY


def test_the_least_space_for_the_queue_and_the_filters() -> None:
    world = cold(1)
    assert code_of(kernel, world, 1, queue_space=0) == lib.PGQ_PREFETCH_SPACE
    assert code_of(kernel, world, 1, filter_space=1) == lib.PGQ_PREFETCH_SPACE
    assert code_of(kernel, world, 1, queue_space=1, filter_space=2) == 0


@fewer
@given(st.integers(1, MOST), st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([0, 1, 2, 8]))
def test_a_full_queue_is_a_full_decode_buffer(size: int, seed: int, room: int, concurrency: int) -> None:
    """The queue's own end stops look-ahead as a WAL reader without room does."""
    limited = random_world(size, seed)
    limited.room = min(limited.room, room)
    seen = replay(random_world(size, seed), concurrency, make=lambda *args: KernelPrefetcher(*args, queue_space=room))
    assert seen == replay(limited, concurrency)


# ---- filters -------------------------------------------------------------------------------------


def creations(count: int) -> list[Record]:
    """A first record, and then records that each create a relation of their own."""
    first = [Record(1, 2)]
    return first + [Record(2 + i, 3 + i, (), Effect.CREATE, Relation(1663, 5 + i % 7, 16384 + i)) for i in range(count)]


def test_a_full_table_of_filters_refuses_and_loses_nothing() -> None:
    """Look-ahead stops at the record whose filter finds no slot; with prefetching off replay goes on from there."""
    records = creations(20)
    world = World(records, {}, pool=0)
    prefetcher = kernel(world, 8, filter_space=6)
    assert prefetcher.read_record() is records[0]
    for _ in range(3):
        assert code_of(prefetcher.read_record) == lib.PGQ_PREFETCH_FILTERS
        assert world.decoded == 7  # the first record, five whose filters are set, and one whose filter is not
        assert [f.from_block for f in prefetcher.kernel.filters] == [0] * 5
    prefetcher.reconfigure(0)
    for record in records[1:]:
        assert prefetcher.read_record() is record
    assert prefetcher.read_record() is None
    assert prefetcher.kernel.filters == []


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS)
def test_thousands_of_filters(make: type[KernelPrefetcher]) -> None:
    """Upstream's table grows beyond its 1024 buckets, to more than 2048. All are set ahead, and dropped in order."""
    count = 2100
    records = creations(count)
    records += [
        Record(2 + count + i, 3 + count + i, (BlockReference(record.relation._replace(tablespace=1663 + i % 2), 0),))
        for i, record in enumerate(records[1 : 1 + count])
    ]
    sizes = {reference.relation: 1 for record in records for reference in record.blocks}
    worlds = [World(records, dict(sizes), pool=0) for _ in range(2)]
    oracle = Prefetcher(worlds[0], worlds[0], 1000, 1)
    prefetcher = make(worlds[1], worlds[1], 1000, 1, filter_space=count + 2, queue_space=2 * count + 2)
    for number in range(count + 2):
        assert oracle.read_record() == prefetcher.read_record()
        if number % (count // 5) < 2:
            assert state_of(prefetcher) == state_of(oracle)
    assert prefetcher.events == oracle.events
    assert {event.what for event in oracle.events} == {"skip_new", "prefetch"}


def test_a_full_table_that_a_missing_relation_meets_asks_again_and_counts_once() -> None:
    missing = [BlockReference(Relation(1663, 5, 16384 + i), 0) for i in range(3)]
    prefetcher = kernel(World([Record(1, 2), Record(2, 3, tuple(missing))], {}, pool=0), 8, filter_space=3)
    prefetcher.read_record()
    assert code_of(prefetcher.read_record) == lib.PGQ_PREFETCH_FILTERS
    before = prefetcher.kernel.counters, prefetcher.kernel.recent
    assert code_of(prefetcher.read_record) == lib.PGQ_PREFETCH_FILTERS
    assert (prefetcher.kernel.counters, prefetcher.kernel.recent) == before
    assert before[0]["skip_new"] == 2
    prefetcher.reconfigure(0)
    assert [prefetcher.read_record(), prefetcher.read_record()] == [Record(2, 3, tuple(missing)), None]


KEYS = len(RELATIONS) + len({relation.database for relation in RELATIONS})
"""Filters that can be set at once in a random world."""


@fewer
@given(st.integers(1, MOST), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 8]))
def test_worlds_in_the_least_table_of_filters(size: int, seed: int, concurrency: int) -> None:
    """One slot stays free. So most searches pass other filters, and removals close gaps across the end."""
    world, limited = filtered_world(size, seed), filtered_world(size, seed)
    oracle = Prefetcher(world, world, concurrency, world.records[0].lsn)
    prefetcher = kernel(limited, concurrency, world.records[0].lsn, filter_space=KEYS + 1)
    record: Record | None = world.records[0]
    while record is not None:
        record = oracle.read_record()
        assert prefetcher.read_record() == record
        assert state_of(prefetcher) == state_of(oracle)
        if record is not None:
            world.apply(record, {})
            limited.apply(record, {})
    assert prefetcher.events == oracle.events


@pytest.mark.parametrize("part", Relation._fields)
def test_no_part_of_a_filters_key_is_ignored(part: str) -> None:
    """A relation is created; a block of another one, which differs in one part, is advised all the same.

    In a table of three slots many a search for the one passes the filter of the other; but not if they are neighbours.
    """
    for apart in range(1, 101):
        created = Relation(1663, 5, 16384 + apart)
        other = created._replace(**{part: getattr(created, part) + apart})
        records = [Record(1, 2), Record(2, 3, (BlockReference(other, 0),)), Record(3, 4, (BlockReference(created, 0),))]
        records.insert(1, Record(2, 3, (), Effect.CREATE, created))
        records = [replace(record, lsn=i + 1, next_lsn=i + 2) for i, record in enumerate(records)]
        world = World(records, {created: 1, other: 1}, pool=0)
        prefetcher = kernel(world, 8, filter_space=3)
        prefetcher.read_record()
        prefetcher.read_record()
        assert [event.what for event in prefetcher.events] == ["prefetch", "skip_new"]


def filtered_world(size: int, seed: int) -> World:
    """A random world, in which each record has an effect that sets a filter."""
    world = random_world(size, seed)
    dice = Random(seed)
    effects = [Effect.CREATE, Effect.TRUNCATE, Effect.TRUNCATE, Effect.CREATE_DATABASE]
    world.records = [replace(record, effect=dice.choice(effects)) for record in random_world(size, seed).records]
    return world


# ---- records that are refused --------------------------------------------------------------------


class Fake:
    """A record without the definition's own checks."""

    effect, relation, block, blocks = Effect.NONE, TABLE, 0, ()

    def __init__(self, lsn: int, next_lsn: int) -> None:
        self.lsn, self.next_lsn = lsn, next_lsn


@pytest.mark.parametrize(
    ("lsn", "next_lsn", "accepted"),
    [(0, 5, False), (9, 20, False), (10, 10, False), (11, 5, False), (10, 11, True), (2**64 - 2, 2**64 - 1, True)],
)
@pytest.mark.parametrize("concurrency", [0, 1])
def test_a_record_that_cannot_follow_is_refused(lsn: int, next_lsn: int, accepted: bool, concurrency: int) -> None:
    """The first record ends at 10. After the refusal the next record can be read."""
    good = Record(max(lsn, 30), max(lsn, 30) + 1)
    records: list[Any] = [Record(1, 10), Fake(lsn, next_lsn), *([] if accepted else [good])]
    prefetcher = kernel(World(records, {}, pool=0), concurrency)
    assert prefetcher.read_record() is records[0]
    if accepted:
        assert prefetcher.read_record() is records[1]
    else:
        assert code_of(prefetcher.read_record) == lib.PGQ_PREFETCH_RECORD
        assert prefetcher.read_record() is good
    assert prefetcher.read_record() is None


def test_the_largest_numbers() -> None:
    most = 2**32 - 1
    reference = BlockReference(Relation(most, most, most), most - 1)
    records = [Record(1, 2), Record(2, 2**64 - 1, (reference, reference._replace(block=most)))]
    sizes = {reference.relation: most}
    assert replay(World(records, dict(sizes), pool=1), 1000, make=KernelPrefetcher).script == (
        ["a4294967294", "p4294967294", "p4294967295"]
    )


# ---- the C interface -----------------------------------------------------------------------------


def test_null_is_refused() -> None:
    empty, record = ffi.new("pgq_prefetch *"), ffi.new("pgq_prefetch_record **")
    world = ffi.new("pgq_prefetch_world *")
    calls: list[Callable[[], Any]] = [
        lambda: lib.pgq_prefetch_begin(ffi.NULL, 1, 1),
        lambda: lib.pgq_prefetch_begin(empty, 1, 1),
        lambda: lib.pgq_prefetch_reconfigure(ffi.NULL, 1),
        lambda: lib.pgq_prefetch_reconfigure(empty, 1),
        lambda: lib.pgq_prefetch_begin_read(ffi.NULL, 1),
        lambda: lib.pgq_prefetch_begin_read(empty, 1),
        lambda: lib.pgq_prefetch_show_distances(ffi.NULL),
        lambda: lib.pgq_prefetch_show_distances(empty),
        lambda: lib.pgq_prefetch_read(ffi.NULL, world, record),
        lambda: lib.pgq_prefetch_read(empty, ffi.NULL, record),
        lambda: lib.pgq_prefetch_read(empty, world, ffi.NULL),
    ]
    for call in calls:
        assert call().code == lib.PGQ_NULL


@pytest.mark.parametrize("missing", ["read_ahead", "blocks", "buffer"])
def test_a_world_that_lacks_a_call_is_refused(missing: str) -> None:
    prefetcher = kernel(World([Record(1, 2)], {}, pool=1), concurrency=1).kernel
    members = {name: getattr(prefetcher._world, name) for name in ("arg", "read_ahead", "blocks", "buffer")}
    lacking = ffi.new("pgq_prefetch_world *", members | {missing: ffi.NULL})
    record = ffi.new("pgq_prefetch_record **", ffi.cast("pgq_prefetch_record *", 42))
    assert lib.pgq_prefetch_read(prefetcher._c, lacking, record).code == lib.PGQ_NULL
    assert record[0] == ffi.cast("pgq_prefetch_record *", 42)
    assert lib.pgq_prefetch_read(prefetcher._c, ffi.new("pgq_prefetch_world *", members), record).code == lib.PGQ_OK
    assert record[0].lsn == 1


def test_the_multiplier_and_the_most_are_upstreams() -> None:
    assert lib.PGQ_PREFETCH_DISTANCE_MULTIPLIER == DISTANCE_MULTIPLIER
    assert lib.PGQ_PREFETCH_MAX_CONCURRENCY == 1000

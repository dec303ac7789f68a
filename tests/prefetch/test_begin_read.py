# SPDX-License-Identifier: PostgreSQL
"""What XLogPrefetcherBeginRead keeps, what debug_io_direct and a vanished file change, and which distances are shown.

By hand, of the definition and of the C prefetcher. test_kernels.py has the same in random worlds.
"""

from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError

from ref.prefetch import BlockReference, Prefetcher, Record, Relation
from tests.prefetch.kernel import KERNELS, KernelPrefetcher, state_of
from tests.prefetch.random_world import random_world
from tests.prefetch.test_oracle import TABLE, cold
from tests.prefetch.world import World, replay

MAKERS: dict[str, Callable[..., Any]] = {"definition": Prefetcher, **KERNELS}


# ---- begin_read ----------------------------------------------------------------------------------


class AsUpstream(Prefetcher):
    """XLogPrefetcherBeginRead as it is in 15 to 18: the record that was being looked at is not forgotten."""

    _at, _ahead = None, iter(())

    def begin_read(self, begin: int) -> None:
        at, ahead = self._at, self._ahead
        super().begin_read(begin)
        self._at, self._ahead = at, ahead


def where_recovery_stops(make: Callable[..., Any], concurrency: int, blocks: int, *, cached: bool) -> Any:
    """Record 2 commits, and is the last that is replayed. Look-ahead was in record 3, which has so many blocks."""
    record = Record(3, 4, tuple(BlockReference(TABLE, block) for block in range(blocks)))
    world = World([Record(1, 2), Record(2, 3), record], {TABLE: 100}, pool=100)
    world.buffers = [(TABLE, block) for block in range(blocks if cached else 0)]
    prefetcher = make(world, world, concurrency, 1)
    for record in (prefetcher.read_record(), prefetcher.read_record()):
        world.apply(record, {})
    world.decoded = 1
    prefetcher.begin_read(2)
    return prefetcher


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 8, 20, 33])
@pytest.mark.parametrize("concurrency", [1, 2, 3, 10])
def test_where_recovery_stops_its_last_record_is_read_again(concurrency: int, blocks: int, cached: bool) -> None:
    """FinishWalRecovery: where that record ends, the new timeline begins.

    Upstream first goes on with the blocks of another record. If they fill the ring, nothing is decoded. A server then
    takes it that the log ends where its last record starts; with assertions it stops.
    """
    for make in MAKERS.values():
        prefetcher = where_recovery_stops(make, concurrency, blocks, cached=cached)
        seen = len(prefetcher.events)
        assert prefetcher.read_record().lsn == 2
        assert len(prefetcher.events) == seen
    limit = 4 * concurrency if cached else concurrency
    upstream = where_recovery_stops(AsUpstream, concurrency, blocks, cached=cached)
    if blocks >= 2 * limit:
        with pytest.raises(AssertionError):
            upstream.read_record()
    else:
        assert upstream.read_record().lsn == 2


@pytest.mark.parametrize("concurrency", [0, 1, 3, 10])
@pytest.mark.parametrize("of", KERNELS.values(), ids=KERNELS)
def test_a_second_begin_knows_nothing_of_the_first(of: type[KernelPrefetcher], concurrency: int) -> None:
    """Half a world with filters, a window, counters and distances; then another world, as by a new prefetcher."""
    before = random_world(25, 11)
    prefetcher = of(before, before, 8, before.records[0].lsn)
    for _ in range(15):
        record = prefetcher.read_record()
        assert record is not None
        before.apply(record, {})
    prefetcher.show_distances()
    assert all(state_of(prefetcher)[3:5])
    assert all(prefetcher.distances)

    def again(wal: World, storage: World, concurrency: int, begin: int) -> KernelPrefetcher:
        prefetcher.kernel.wal, prefetcher.kernel.storage = wal, storage
        prefetcher.kernel.events.clear()
        prefetcher._events.clear()
        prefetcher.kernel.begin(concurrency, begin)
        assert state_of(prefetcher) == state_of(Prefetcher(wal, storage, concurrency, begin))
        return prefetcher

    assert replay(random_world(25, 12), concurrency, make=again) == replay(random_world(25, 12), concurrency)


# ---- a file that has gone ------------------------------------------------------------------------


class Gone(World):
    """Relation files are there when they are looked at, and not when a block is to be advised."""

    def buffer(self, relation: Relation, block: int) -> int | None:
        raise FileNotFoundError(f"block {block} of {relation}")


def test_a_file_that_has_gone_ends_look_ahead_and_loses_nothing() -> None:
    """Upstream's ERROR "could not prefetch relation". In C replay can go on without prefetching."""
    worlds = [Gone(cold(5).records, {TABLE: 9}, pool=0) for _ in range(2)]
    oracle, prefetcher = Prefetcher(worlds[0], worlds[0], 3, 100), KernelPrefetcher(worlds[1], worlds[1], 3, 100)
    assert oracle.read_record() == prefetcher.read_record()
    with pytest.raises(FileNotFoundError):
        oracle.read_record()
    for _ in range(3):
        before = state_of(prefetcher)[3:], prefetcher.counters
        with pytest.raises(PgquernError, match="could not prefetch relation") as refusal:
            prefetcher.read_record()
        assert refusal.value.code == lib.PGQ_PREFETCH_GONE
        assert (state_of(prefetcher)[3:], prefetcher.counters) == before
    prefetcher.reconfigure(0)
    assert [prefetcher.read_record() for _ in range(6)] == [*cold(5).records[1:], None]


# ---- distances -----------------------------------------------------------------------------------


def test_the_largest_lsns_are_shown_too() -> None:
    last = 2**64 - 2
    world = World([Record(last - 10, last), Record(last, last + 1)], {}, pool=0)
    oracle, prefetcher = Prefetcher(world, world, 3, last - 10), KernelPrefetcher(world, world, 3, last - 10)
    for reader in (oracle, prefetcher):
        world.decoded = 0
        reader.read_record()
        reader.read_record()
        assert tuple(reader.distances) == (0, 0, 0)
    assert prefetcher.kernel._c.show_from == 2**64 - 1


# ---- outputs of a refusal ------------------------------------------------------------------------


def test_a_refusal_leaves_the_record_alone() -> None:
    """Of each reason that a read has. At the end of the WAL it is NULL."""
    sentinel = ffi.new("pgq_prefetch_record *")
    missing = [BlockReference(Relation(1663, 5, 16384 + i), 0) for i in range(3)]
    good = Record(1, 2)
    worlds = {
        lib.PGQ_PREFETCH_RECORD: World([good, Record(1, 5)], {}, pool=0),
        lib.PGQ_PREFETCH_FILTERS: World([good, Record(2, 3, tuple(missing))], {}, pool=0),
        lib.PGQ_PREFETCH_GONE: Gone([good, Record(2, 3, (BlockReference(TABLE, 1),))], {TABLE: 2}, pool=0),
        lib.PGQ_OK: World([good], {}, pool=0),
    }
    for code, world in worlds.items():
        prefetcher = KernelPrefetcher(world, world, 4, 1, filter_space=3)
        assert prefetcher.read_record() is good
        out = ffi.new("pgq_prefetch_record **", sentinel)
        kernel = prefetcher.kernel
        assert lib.pgq_prefetch_read(kernel._c, kernel._world, out).code == code
        assert out[0] == (ffi.NULL if code == lib.PGQ_OK else sentinel)
        assert lib.pgq_prefetch_read(ffi.NULL, kernel._world, out).code == lib.PGQ_NULL
        assert lib.pgq_prefetch_read(kernel._c, ffi.NULL, out).code == lib.PGQ_NULL


def test_a_refused_begin_changes_nothing() -> None:
    world = random_world(25, 11)
    prefetcher = KernelPrefetcher(world, world, 8, world.records[0].lsn, max_concurrency=8)
    for _ in range(10):
        prefetcher.read_record()
    before = bytes(ffi.buffer(prefetcher.kernel._c)), state_of(prefetcher), prefetcher.counters
    c = prefetcher.kernel._c
    assert lib.pgq_prefetch_begin(c, 9, 1).code == lib.PGQ_PREFETCH_CONCURRENCY
    c.queue_space, space = 0, c.queue_space
    assert lib.pgq_prefetch_begin(c, 8, 1).code == lib.PGQ_PREFETCH_SPACE
    c.queue_space = space
    assert (bytes(ffi.buffer(prefetcher.kernel._c)), state_of(prefetcher), prefetcher.counters) == before

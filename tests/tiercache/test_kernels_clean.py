# SPDX-License-Identifier: PostgreSQL
"""A cleaner makes room before somebody needs it, and loses nothing; also if files fail, and beside other calls."""

from collections.abc import Callable, Iterator
from random import Random
from threading import Thread, get_ident
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.tiercache import PAGE_SIZE, File, TierCache, Where, variants

from ref import tiercache as ref
from tests.common.sleep import until_asleep
from tests.common.variants import every_variant
from tests.tiercache.devices import SLOT, Disk, Operation, Records

PAGES, FRAMES, SLOTS = 80, 16, 4
SIZES: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 1, "policy": "lru"}
LONG = 20.0
"""Seconds in which what must happen will."""
ALL = 1000
"""Steps: as many as it takes."""
every = pytest.mark.parametrize("policy", every_variant(variants()))


def contents(number: int) -> bytes:
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


def in_memory(cache: TierCache) -> list[int]:
    return [page for page in range(PAGES) if cache.where(page) & Where.IN_MEMORY]


def is_put(operation: Operation) -> bool:
    return (operation.what, operation.file, operation.size) == ("write", File.SSD, SLOT)


def writes_pages(operation: Operation) -> bool:
    return operation[:2] == ("write", File.STORE) and operation.offset < PAGES * PAGE_SIZE


class Meddled(Disk):
    """`meanwhile()` is called once, before the first operation that `when` says."""

    def __init__(self) -> None:
        super().__init__(PAGES, SLOTS)
        self.when: Callable[[Operation], bool] = lambda _operation: False
        self.meanwhile: Callable[[], None] = lambda: None
        self.done: list[tuple[Operation, int]] = []
        """Operations, each with the thread that makes it."""

    def fault(self, operation: Operation) -> Any:
        self.done.append((operation, get_ident()))
        if self.when(operation):
            self.when = lambda _operation: False
            self.meanwhile()
        return super().fault(operation)

    def during(self, when: Callable[[Operation], bool], meanwhile: Callable[[], None]) -> None:
        self.when, self.meanwhile = when, meanwhile


@pytest.fixture
def disk() -> Meddled:
    return Meddled()


@pytest.fixture
def clean(disk: Meddled) -> Iterator[TierCache]:
    """Page p holds contents(p), is clean, and was asked for twice; the memory has the last sixteen."""
    cache = TierCache(disk, **SIZES)
    for page in range(PAGES):
        cache.write(page, contents(page))
        cache.read(page)
    cache.fsync()
    assert in_memory(cache) == [*range(PAGES - FRAMES, PAGES)]
    yield cache
    cache.close()


@pytest.fixture
def dirty(disk: Meddled) -> Iterator[TierCache]:
    """No SSD; the pages 0 to 15, all of a block, are dirty in memory."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        cache.write(page, contents(page))
    yield cache
    cache.close()


# ---- how many leave, and which -------------------------------------------------------------------


def test_a_page_that_comes_chooses_who_is_to_leave(clean: TierCache) -> None:
    """That one stays until the cleaner comes."""
    clean.clean(3, ALL)
    clean.read(10)
    assert in_memory(clean) == [10, *range(67, PAGES)]
    assert clean.clean(3, 0) == 1
    assert clean.clean(3, 1) == 0
    assert in_memory(clean) == [10, *range(68, PAGES)]


@every
def test_a_page_that_is_to_leave_and_is_used_stays(disk: Meddled, policy: str) -> None:
    """No other one leaves in its place before the next page comes. Then two do."""
    cache = TierCache(disk, **SIZES | {"policy": policy})
    for page in range(PAGES):
        cache.read(page)
    cache.clean(3, ALL)
    cache.read(40)
    probe = in_memory(cache)
    cache.clean(3, 1)
    (doomed,) = {*probe} - {*in_memory(cache)}
    cache.close()
    disk.__init__()  # type: ignore[misc]
    cache = TierCache(disk, **SIZES | {"policy": policy})
    for page in range(PAGES):
        cache.read(page)
    cache.clean(3, ALL)
    cache.read(40)
    before = len(disk.log)
    cache.read(doomed)
    assert len(disk.log) == before
    assert cache.clean(3, ALL) == 0
    assert in_memory(cache) == probe
    cache.read(20)
    assert cache.clean(3, 0) == 2
    assert cache.clean(3, ALL) == 0
    assert len(in_memory(cache)) == FRAMES - 3
    cache.close()


def test_a_call_takes_no_more_steps_than_it_may(clean: TierCache) -> None:
    """Each step takes a page out: all are clean."""
    assert clean.clean(8, 0) == 8
    assert clean.clean(8, 3) == 5
    assert in_memory(clean) == [*range(67, PAGES)]
    assert clean.clean(8, 4) == 1
    assert len(in_memory(clean)) == FRAMES - 7
    assert clean.clean(8, 4) == 0


def test_an_fsync_waits_for_one_write_back_at_most(dirty: TierCache, disk: Meddled) -> None:
    """A write-back is a step; then a page leaves in each."""
    before = len(disk.log)
    assert dirty.clean(8, 1) == 8
    assert sum(operation == Operation("sync", File.STORE) for operation in disk.log[before:]) == 1
    assert dirty.clean(8, 3) == 5


@pytest.mark.parametrize(("written", "leaves"), [(0, 0), (2, 2), (7, 7), (8, 0)])
def test_who_needs_room_takes_what_needs_no_write(disk: Meddled, written: int, leaves: int) -> None:
    """So many of the doomed pages are dirty, the first ones; eight are looked at."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        if page < written:
            cache.write(page, contents(page))
        else:
            cache.read(page)
    assert cache.clean(8, 0) == 8
    before = len(disk.log)
    cache.read(40)
    assert in_memory(cache) == [page for page in range(FRAMES) if page != leaves] + [40]
    assert any(map(writes_pages, disk.log[before:])) == (written == 8)
    cache.close()


def test_a_cleaner_takes_what_needs_a_write(disk: Meddled) -> None:
    """A page that is dirty, and then those that were asked for twice, though others were doomed before."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        cache.read(page)
    cache.write(3, contents(3))
    for page in (*range(4, FRAMES), 0, 1, 2):
        cache.read(page)
    for page in (0, 1, 2):
        cache.read(page)
    assert cache.clean(4, 0) == 4
    before = len(disk.log)
    assert cache.clean(4, 1) == 4
    assert sum(map(writes_pages, disk.log[before:])) == 1
    assert cache.clean(4, 1) == 3
    cache.close()


def test_a_read_finds_a_free_frame(clean: TierCache, disk: Meddled) -> None:
    clean.clean(2, ALL)
    before = len(disk.log)
    assert [clean.read(page) for page in (10, 20)] == [contents(10), contents(20)]
    assert [operation[:2] for operation in disk.log[before:]] == [("read", File.STORE)] * 2


def test_a_write_finds_a_free_frame(dirty: TierCache, disk: Meddled) -> None:
    dirty.clean(1, ALL)
    before = len(disk.log)
    dirty.write(40, contents(40))
    assert len(disk.log) == before


def test_what_is_refused_touches_nothing(clean: TierCache) -> None:
    left = ffi.new("uint32_t *", 77)
    assert lib.pgq_tiercache_clean(ffi.NULL, 1, 1, left).code == lib.PGQ_NULL
    assert lib.pgq_tiercache_clean(clean._cache, 1, 1, ffi.NULL).code == lib.PGQ_NULL
    assert lib.pgq_tiercache_clean(clean._cache, FRAMES, 1, left).code == lib.PGQ_TIERCACHE_OPTIONS
    assert left[0] == 77
    assert len(in_memory(clean)) == FRAMES


@pytest.mark.parametrize("seed", range(6))
def test_lru_has_what_a_smaller_cache_has(seed: int) -> None:
    """Each page, so at least its hits, whenever the cleaner comes."""
    rng, kept = Random(seed), 1 + seed
    cleaned = ref.TierCache(Records(), **SIZES | {"slots": 0})
    smaller = ref.TierCache(Records(), **SIZES | {"slots": 0, "frames": FRAMES - kept})
    for _ in range(600):
        page = int(rng.paretovariate(0.7)) * 7 % PAGES
        for cache in (cleaned, smaller):
            cache.expected = None  # Nothing is read ahead.
            cache.read(page)
        if rng.random() < 0.5:
            cleaned.clean(kept, rng.randrange(4))
        assert cleaned.memory.keys() >= smaller.memory.keys()


@every
@pytest.mark.parametrize("seed", range(4))
def test_the_same_pages_leave_as_by_the_definition(policy: str, seed: int) -> None:
    """Few pages have most of the references, which ones changes, and how many frames are kept free does, too. With an
    odd seed some are written."""
    rng = Random(seed)
    disk, records = Disk(PAGES, SLOTS), Records()
    sizes = SIZES | {"policy": policy}
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    for at in range(4000):
        page = int(rng.paretovariate(0.6) + at // 500 * 7) % PAGES
        if at % 700 > 350:
            frames, steps = at // 700 * 3 % 9, rng.randrange(4)
            assert kernel.clean(frames, steps) == oracle.clean(frames, steps)
        writes = seed % 2 == 1 and rng.random() < 0.3
        for cache in (kernel, oracle):
            if writes:
                cache.write(page, contents(at))
            else:
                cache.read(page)
        assert len(disk.log) == len(records.log)
    assert disk.log == records.log
    assert in_memory(kernel) == sorted(oracle.memory)
    kernel.close()


def test_a_large_window_makes_room_for_a_cleaner() -> None:
    """While no page comes back, W-TinyLFU's window grows, here to three quarters. A cleaner takes half."""
    pages, grown, rng = 2048, 12 * 10 * FRAMES + 10, Random(1)
    disk, records = Disk(pages, 0), Records()
    sizes = SIZES | {"pages": pages, "slots": 0, "policy": "tinylfu"}
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    new = [*range(0, pages, 2), *range(1, pages, 2)]
    for at, page in enumerate(new[:grown] + [rng.randrange(24) for _ in range(600)]):
        if at >= grown:
            assert kernel.clean(8, 4) == oracle.clean(8, 4)
        for cache in (kernel, oracle):
            cache.read(page)
    assert disk.log == records.log
    kernel.close()


@every
def test_a_cleaner_costs_as_many_hits_as_its_frames_would(policy: str) -> None:
    """Within half a point, though pages are read ahead: none leaves before it was asked for."""
    rng = Random(1)
    pages = [at % 500 if at % 120 < 60 else rng.randrange(40) for at in range(20_000)]
    sizes: dict[str, Any] = {"pages": 512, "slots": 0, "batch": 1, "policy": policy}
    found = []
    for frames, kept in ((64, 8), (56, 0)):
        cache = TierCache(Disk(512, 0), **sizes | {"frames": frames})
        for page in pages:
            cache.read(page)
            if kept:
                cache.clean(kept, ALL)
        found.append(cache.counts().memory_hits / len(pages))
        cache.close()
    assert found[0] > found[1] - 0.005


# ---- failures ------------------------------------------------------------------------------------


def refused(cache: TierCache, frames: int = 4) -> int:
    with pytest.raises(PgquernError) as refusal:
        cache.clean(frames, ALL)
    return refusal.value.code


def test_a_loop_of_calls_makes_no_requests_to_a_store_that_fails(dirty: TierCache, disk: Meddled) -> None:
    """Each call tells it; the next fsync, too. Nothing is lost."""
    disk.broken = writes_pages
    assert refused(dirty) == lib.PGQ_TIERCACHE_WRITE_BACK
    before = len(disk.log)
    for _ in range(10):
        assert refused(dirty) == lib.PGQ_TIERCACHE_WRITE_BACK
    assert len(disk.log) == before
    assert dirty.clean(0, ALL) == 0
    disk.broken = lambda _operation: False
    with pytest.raises(PgquernError):
        dirty.fsync()
    assert dirty.clean(4, ALL) == 0
    assert len(in_memory(dirty)) == FRAMES - 4
    assert [dirty.read(page) for page in range(FRAMES)] == [contents(page) for page in range(FRAMES)]
    dirty.fsync()


def test_what_was_set_aside_on_the_ssd_alone_is_tried_again(disk: Meddled) -> None:
    """No block could be written back when that was tried last. Now one can whose pages are on the SSD."""
    cache = TierCache(disk, **SIZES)
    for page in [*range(SLOTS), *range(16, 16 + FRAMES)]:
        cache.write(page, contents(page))
    assert [cache.where(page) for page in range(SLOTS)] == [Where.ON_SSD | Where.SSD_DIRTY] * SLOTS
    disk.broken = writes_pages
    with pytest.raises(PgquernError):
        cache.write_back(0)
    disk.broken = lambda operation: writes_pages(operation) and operation.offset >= 16 * PAGE_SIZE
    cache.write(79, contents(79))
    assert cache.read(79) == contents(79)
    cache.close()


@every
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_pages_leave_past_an_ssd_that_fails(policy: str, steps: int) -> None:
    """However few steps a call makes: the SSD is asked once in each, and that is no step. By the definition, too."""
    disk, records = Disk(PAGES, SLOTS), Records()
    sizes = SIZES | {"policy": policy}
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    disk.broken = records.broken = is_put
    for page in range(FRAMES):
        for cache in (kernel, oracle):
            if page % 3 == 0:
                cache.write(page, contents(page))
            cache.read(page)
            cache.read(page)
    for _ in range(24):
        before = len(disk.log)
        left = kernel.clean(8, steps)
        assert left == oracle.clean(8, steps)
        assert sum(is_put(operation) for operation in disk.log[before:]) <= 1
        if left == 0:
            break
    assert left == 0
    assert len(in_memory(kernel)) == FRAMES - 8
    assert in_memory(kernel) == sorted(oracle.memory)
    assert disk.log == records.log
    kernel.close()


def test_pages_leave_though_no_slot_can_be_had(disk: Meddled) -> None:
    """All slots are dirty, and could not be written back. A call makes one step."""
    cache = TierCache(disk, **SIZES)
    for page in [*range(SLOTS), *range(16, 16 + FRAMES)]:
        cache.write(page, contents(page))
    assert [cache.where(page) for page in range(SLOTS)] == [Where.ON_SSD | Where.SSD_DIRTY] * SLOTS
    disk.broken = lambda operation: writes_pages(operation) and operation.offset < 16 * PAGE_SIZE
    cache.write_back(1)
    with pytest.raises(PgquernError):
        cache.write_back(0)
    for page in range(16, 16 + FRAMES):
        cache.read(page)
    assert [cache.clean(4, 1) for _ in range(4)] == [3, 2, 1, 0]
    assert len(in_memory(cache)) == FRAMES - 4
    disk.broken = lambda _operation: False
    assert [cache.read(page) for page in range(SLOTS)] == [contents(page) for page in range(SLOTS)]
    cache.close()


def test_a_page_that_is_written_on_its_way_to_an_ssd_that_fails_stays(clean: TierCache, disk: Meddled) -> None:
    """It was used: another one leaves when the next page comes."""
    disk.broken = is_put
    disk.during(is_put, lambda: clean.write(64, contents(1000)))
    assert clean.clean(4, ALL) == 0
    assert in_memory(clean) == [64, *range(68, PAGES)]
    assert clean.read(64) == contents(1000)
    clean.read(10)
    assert clean.clean(4, ALL) == 0
    assert len(in_memory(clean)) == FRAMES - 4


@every
@pytest.mark.parametrize("power_lost", [False, True])
def test_what_is_synced_survives_a_cleaner_that_is_stopped(policy: str, power_lost: bool) -> None:
    """The machine stops at any operation of a cleaner, with the kernel's cache or without."""
    log = 1
    for stop in range(60):
        disk = Disk(PAGES, SLOTS)
        cache = TierCache(disk, **SIZES | {"policy": policy})
        for page in range(20):
            cache.write(page, contents(page))
        cache.fsync()
        for page in range(5, 20):
            cache.write(page, contents(1000 + page))
        begin = len(disk.log)
        disk.fail_unless_read = {*range(begin + stop, begin + stop + 1000)}
        try:
            cache.clean(8, ALL)
        except PgquernError as error:
            assert error.code == lib.PGQ_TIERCACHE_WRITE_BACK  # noqa: PT017
        log = len(disk.log) - begin
        cache.close()
        disk.heal()
        if power_lost:
            disk.lose_power(lambda number, _sector: number % 3 > 0)
        cache = TierCache(disk, **SIZES | {"policy": policy})
        for page in range(20):
            assert cache.read(page) in (contents(page), contents(1000 + page)), f"stop {stop}, page {page}"
        cache.close()
        if stop >= log:
            break
    assert 1 < log < 60


# ---- beside others -------------------------------------------------------------------------------


def beside(call: Callable[[], Any]) -> Thread:
    thread = Thread(target=call, daemon=True)
    thread.start()
    return thread


def test_an_fsync_waits_for_one_batch_of_a_cleaner(disk: Meddled) -> None:
    """It comes while the cleaner writes its first one back; five blocks are dirty, and the cleaner needs them all."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    # Several rounds: a cleaner that lets nobody go first would not come first in each.
    for _ in range(5):
        for n in range(FRAMES):
            cache.write(n % 5 * 16 + n // 5, contents(n))
        begin = len(disk.done)
        other: list[Thread] = []

        def meanwhile(other: list[Thread] = other) -> None:
            other.append(beside(cache.fsync))
            until_asleep(other[0])

        disk.during(writes_pages, meanwhile)
        assert cache.clean(FRAMES // 2, ALL) == 0
        other[0].join(LONG)
        assert not other[0].is_alive()
        writers = [thread for operation, thread in disk.done[begin:] if writes_pages(operation)]
        assert [writer == other[0].ident for writer in writers] == [False, True, True, True, True]
    cache.close()


def test_an_fsync_waits_for_one_batch_of_a_cleaner_that_frees_slots(disk: Meddled) -> None:
    """All slots and all frames are dirty, so each page that leaves needs a slot, and that a write-back."""
    cache = TierCache(disk, **SIZES)
    for _ in range(5):
        for page in [*range(0, 64, 16), *range(64, PAGES)]:
            cache.write(page, contents(page))
        assert [cache.where(page) & Where.SSD_DIRTY for page in range(0, 64, 16)] == [Where.SSD_DIRTY] * SLOTS
        begin = len(disk.done)
        other: list[Thread] = []

        def meanwhile(other: list[Thread] = other) -> None:
            other.append(beside(cache.fsync))
            until_asleep(other[0])

        disk.during(writes_pages, meanwhile)
        assert cache.clean(4, ALL) == 0
        other[0].join(LONG)
        assert not other[0].is_alive()
        writers = [thread for operation, thread in disk.done[begin:] if writes_pages(operation)]
        assert [writer == other[0].ident for writer in writers] == [False, *[True] * (len(writers) - 1)]
        assert len(writers) > SLOTS
        cache.clean(0, ALL)
    cache.close()


def test_fsyncs_that_wait_for_each_other_stop_no_cleaner(clean: TierCache, disk: Meddled) -> None:
    """One writes, another one waits for it, and the pages that are to leave are clean."""
    clean.write(PAGES - 1, contents(PAGES - 1))
    left: list[int] = []
    others: list[Thread] = []

    def meanwhile() -> None:
        others.append(beside(clean.fsync))
        until_asleep(others[0])
        others.append(beside(lambda: left.append(clean.clean(4, ALL))))
        others[1].join(LONG)

    disk.during(writes_pages, meanwhile)
    clean.fsync()
    assert left == [0]
    others[0].join(LONG)
    assert in_memory(clean) == [*range(68, PAGES)]


def test_the_begin_of_an_fsync_wakes_all_cleaners(disk: Meddled) -> None:
    """Two wait for the one that waits for another fsync, and none comes after it."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        cache.write(page, contents(page))
    left: list[int] = []
    others: list[Thread] = []

    def meanwhile() -> None:
        for call in (cache.fsync, *[lambda: left.append(cache.clean(FRAMES // 2, ALL))] * 2):
            others.append(beside(call))
            until_asleep(others[-1])

    disk.during(writes_pages, meanwhile)
    cache.fsync()
    for other in others:
        other.join(LONG)
    assert left == [0, 0]
    cache.close()


def test_nobody_waits_for_a_cleaner_while_a_frame_is_free(clean: TierCache, disk: Meddled) -> None:
    """The second page is on its way to the SSD, and a read needs what the first one has left."""
    found: list[bytes] = []

    def second() -> None:
        before = len(disk.log)
        found.append(clean.read(10))
        assert [operation[:2] for operation in disk.log[before:]] == [("read", File.STORE)]

    disk.during(is_put, lambda: disk.during(is_put, second))
    assert clean.clean(2, ALL) == 0
    assert found == [contents(10)]
    assert len(in_memory(clean)) == FRAMES - 2


def test_a_cleaner_does_not_fail_while_a_page_leaves(disk: Meddled) -> None:
    """No other can: all are dirty, and a write-back of them has failed."""
    cache = TierCache(disk, **SIZES | {"slots": 2})
    for page in range(FRAMES):
        cache.write(page, contents(page))
    disk.broken = lambda operation: operation[:2] == ("write", File.STORE)
    with pytest.raises(PgquernError):
        cache.write_back(0)
    cache.write(16, contents(16))
    with pytest.raises(PgquernError):
        cache.write_back(0)
    left: list[int] = []
    disk.during(is_put, lambda: left.append(cache.clean(4, ALL)))
    cache.write(17, contents(17))
    assert left == [0]
    assert refused(cache) == lib.PGQ_TIERCACHE_WRITE_BACK
    disk.broken = lambda _operation: False
    assert [cache.read(page) for page in range(18)] == [contents(page) for page in range(18)]
    cache.close()


def test_a_cleaner_that_another_call_ends_does_not_fail(clean: TierCache, disk: Meddled) -> None:
    """Its page is written meanwhile, and stays: no frame is free, and none is to be."""

    def meanwhile() -> None:
        clean.write(64, contents(1000))
        assert clean.clean(0, ALL) == 0

    disk.during(is_put, meanwhile)
    assert clean.clean(1, 1) == 0
    assert len(in_memory(clean)) == FRAMES


def test_who_has_waited_for_a_write_back_makes_none_for_others(disk: Meddled) -> None:
    """A write needs room while a cleaner writes the block back whose pages leave next. Another block stays dirty."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        cache.write(page if page < 8 else 40 + page, contents(page))
    other: list[Thread] = []

    def meanwhile() -> None:
        other.append(beside(lambda: cache.write(30, contents(30))))
        other[0].join(0.2)

    disk.during(writes_pages, meanwhile)
    cache.clean(1, 1)
    other[0].join(LONG)
    assert not other[0].is_alive()
    assert cache.where(48) == Where.IN_MEMORY | Where.MEMORY_DIRTY
    assert cache.read(30) == contents(30)
    cache.close()

# SPDX-License-Identifier: PostgreSQL
"""A cleaner makes room before somebody needs it, and loses nothing; also if files fail."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.tiercache import PAGE_SIZE, File, TierCache, Where, variants

from ref import tiercache as ref
from tests.common.variants import every_variant
from tests.tiercache.devices import Disk, Operation, Records, contents, is_put

PAGES, FRAMES, SLOTS = 80, 16, 4
SIZES: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 1, "policy": "lru"}
ALL = 1000
"""Steps: as many as it takes."""
defined = pytest.mark.parametrize("policy", every_variant(row for row in variants() if row.name in ref.POLICIES))
"""Those that have a definition: what is on trial has none."""


def in_memory(cache: TierCache) -> list[int]:
    return [page for page in range(PAGES) if cache.where(page) & Where.IN_MEMORY]


def writes_pages(operation: Operation) -> bool:
    return operation[:2] == ("write", File.STORE) and operation.offset < PAGES * PAGE_SIZE


@pytest.fixture
def disk() -> Disk:
    return Disk(PAGES, SLOTS)


@pytest.fixture
def clean(disk: Disk) -> Iterator[TierCache]:
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
def dirty(disk: Disk) -> Iterator[TierCache]:
    """No SSD; the pages 0 to 15, all of a block, are dirty in memory."""
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(FRAMES):
        cache.write(page, contents(page))
    yield cache
    cache.close()


# ---- how many leave, and which -------------------------------------------------------------------


def test_what_is_refused_touches_nothing(clean: TierCache) -> None:
    left = ffi.new("uint32_t *", 77)
    assert lib.pgq_tiercache_clean(ffi.NULL, 1, 1, left).code == lib.PGQ_NULL
    assert lib.pgq_tiercache_clean(clean._cache, 1, 1, ffi.NULL).code == lib.PGQ_NULL
    assert lib.pgq_tiercache_clean(clean._cache, FRAMES, 1, left).code == lib.PGQ_TIERCACHE_OPTIONS
    assert left[0] == 77
    assert len(in_memory(clean)) == FRAMES


@defined
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


@defined
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


def test_a_loop_of_calls_makes_no_requests_to_a_store_that_fails(dirty: TierCache, disk: Disk) -> None:
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


@defined
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

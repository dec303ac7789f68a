# SPDX-License-Identifier: PostgreSQL
"""Pages, slots and frames while a thread works on a file: other calls are made in the middle of an operation."""

from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest
from pgquern.tiercache import PAGE_SIZE, File, TierCache, Where

from ref.tiercache import SECTOR
from tests.common.sleep import until_asleep
from tests.tiercache.devices import FIRST_SLOT, Between, Operation, beside, contents, is_put

PAGES, SLOTS = 80, 4
SIZES: dict[str, Any] = {"pages": PAGES, "frames": 16, "slots": SLOTS, "batch": 1, "policy": "lru"}
A_WHILE, LONG = 0.2, 20.0
"""Seconds: in which what must not happen may show, and in which what must happen will."""


def is_scrub(operation: Operation) -> bool:
    return operation[:2] == ("write", File.SSD) and operation.size == SECTOR and operation.offset >= FIRST_SLOT


def reads_ssd(operation: Operation) -> bool:
    return operation[:2] == ("read", File.SSD)


def reads_store(page: int, n: int = 1) -> Callable[[Operation], bool]:
    return lambda operation: operation == Operation("read", File.STORE, page * PAGE_SIZE, n * PAGE_SIZE)


@pytest.fixture
def between() -> Iterator[tuple[Between, TierCache]]:
    """Page p holds contents(p), is clean, and was asked for twice. The memory has the last sixteen, the SSD the four
    before."""
    disk = Between(PAGES, SLOTS)
    cache = TierCache(disk, **SIZES)
    for page in range(PAGES):
        cache.write(page, contents(page))
        cache.read(page)
    cache.fsync()
    assert [cache.where(page) for page in range(60, PAGES)] == [Where.ON_SSD] * 4 + [Where.IN_MEMORY] * 16
    yield disk, cache
    cache.close()


def all_as_written(disk: Between, changed: dict[int, bytes]) -> None:
    """After the process has ended. Those pages come first: others would take the place of what is on the SSD."""
    cache = TierCache(disk, **SIZES)
    for page in [*changed, *range(PAGES)]:
        assert cache.read(page) == changed.get(page, contents(page)), page
    cache.close()


def next_but_one_is_on_the_ssd(cache: TierCache) -> None:
    """Page 65 leaves memory next, and then 63, which the SSD has: it takes no slot. And the SSD is synced."""
    cache.read(63)
    cache.write(79, contents(79))
    cache.fsync()
    for page in range(66, 80):
        cache.read(page)


def test_old_contents_on_their_way_to_the_ssd_are_taken_off(between: tuple[Between, TierCache]) -> None:
    """An fsync waits for the write of what was written again since; then a kill finds what was synced."""
    disk, cache = between
    next_but_one_is_on_the_ssd(cache)
    done: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        cache.write(65, contents(1000))
        done.append(beside(cache.fsync))
        done[0].join(A_WHILE)

    disk.during(is_put, meanwhile)
    assert cache.read(0) == contents(0)
    done[0].join(LONG)
    assert not done[0].is_alive()
    cache.close()
    all_as_written(disk, {65: contents(1000)})


@pytest.mark.parametrize("page", [64, 63])
def test_a_slot_written_beside_a_sync_is_synced_before_the_next_write_back(
    between: tuple[Between, TierCache], page: int
) -> None:
    """A slot that has older contents of a page is written, once a sync of the SSD has taken down all that it will make
    durable. Without another sync a power loss brings these contents back. Page 64 leaves its slot by a write, beside
    the sync. Page 63 is evicted then, and written afterwards: until that its slot owes nothing."""
    disk, cache = between
    cache.read(1 if page == 64 else 63)
    assert cache.where(64) == Where.ON_SSD
    cache.write(79, contents(1079))
    puts: list[Operation] = []
    sync = disk.sync

    def then_put(file: File) -> None:
        sync(file)
        if file is File.SSD and not puts:
            if page == 64:
                cache.write(page, contents(1000))
            before = len(disk.log)
            for other in range(2, 2 + 2 * SLOTS, 2):
                cache.read(other)
            puts.extend(filter(is_put, disk.log[before:]))

    disk.sync = then_put  # type: ignore[method-assign]
    cache.fsync()
    assert puts
    if page == 63:
        assert cache.where(page) == Where.IN_MEMORY
        cache.write(page, contents(1000))
    cache.fsync()
    cache.close()
    disk.lose_power(lambda _number, _sector: False)
    all_as_written(disk, {page: contents(1000), 79: contents(1079)})


def test_a_slot_that_loses_its_page_while_it_is_read_is_old(between: tuple[Between, TierCache]) -> None:
    """It is not written before the page is: then the next fsync does not leave it."""
    disk, cache = between
    puts: list[int] = []

    def meanwhile(operation: Operation) -> None:
        for page in range(4):
            assert cache.read(page) == contents(page)
        puts.append(operation.offset)

    disk.during(reads_ssd, meanwhile)
    assert cache.read(63) == contents(63)
    assert cache.where(63) == Where.IN_MEMORY
    cache.write(63, contents(1000))
    before = len(disk.log)
    cache.fsync()
    assert [found.offset for found in disk.log[before:] if is_scrub(found)] == puts
    cache.close()
    all_as_written(disk, {63: contents(1000)})


@pytest.mark.parametrize("order", [(62, 63), (63, 62)])
def test_a_slot_that_is_taken_off_is_not_taken(between: tuple[Between, TierCache], order: tuple[int, int]) -> None:
    """Two slots are old. While one is overwritten a page goes to the other, which then is not overwritten."""
    disk, cache = between
    for page in (62, 63):
        cache.read(page)
    for page in order:
        cache.write(page, contents(1000 + page))
    puts: list[int] = []

    def meanwhile(operation: Operation) -> None:
        before = len(disk.log)
        assert cache.read(0) == contents(0)
        puts.extend(found.offset for found in disk.log[before:] if is_put(found))
        assert operation.offset not in puts

    disk.during(is_scrub, meanwhile)
    before = len(disk.log)
    cache.fsync()
    assert len(puts) == 1
    assert not any(is_scrub(found) and found.offset in puts for found in disk.log[before:])
    all_as_written(disk, {page: contents(1000 + page) for page in order})


# ---- a cleaner -----------------------------------------------------------------------------------

ALL = 1000
"""Steps: as many as it takes."""


def writes_pages(operation: Operation) -> bool:
    return operation[:2] == ("write", File.STORE) and operation.offset < PAGES * PAGE_SIZE


def test_an_fsync_waits_for_one_batch_of_a_cleaner() -> None:
    """It comes while the cleaner writes its first one back; five blocks are dirty, and the cleaner needs them all."""
    disk = Between(PAGES, 0)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    # Several rounds: a cleaner that lets nobody go first would not come first in each.
    for _ in range(5):
        for n in range(16):
            cache.write(n % 5 * 16 + n // 5, contents(n))
        begin = len(disk.done)
        other: list[Thread] = []

        def meanwhile(_operation: Operation, other: list[Thread] = other) -> None:
            other.append(beside(cache.fsync))
            until_asleep(other[0])

        disk.during(writes_pages, meanwhile)
        assert cache.clean(16 // 2, ALL) == 0
        other[0].join(LONG)
        assert not other[0].is_alive()
        writers = [thread for operation, thread in disk.done[begin:] if writes_pages(operation)]
        assert [writer == other[0].ident for writer in writers] == [False, True, True, True, True]
    cache.close()


def test_fsyncs_that_wait_for_each_other_stop_no_cleaner(between: tuple[Between, TierCache]) -> None:
    """One writes, another one waits for it, and the pages that are to leave are clean."""
    disk, clean = between
    clean.write(PAGES - 1, contents(PAGES - 1))
    left: list[int] = []
    others: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        others.append(beside(clean.fsync))
        until_asleep(others[0])
        others.append(beside(lambda: left.append(clean.clean(4, ALL))))
        others[1].join(LONG)

    disk.during(writes_pages, meanwhile)
    clean.fsync()
    assert left == [0]
    others[0].join(LONG)
    assert [page for page in range(PAGES) if clean.where(page) & Where.IN_MEMORY] == [*range(68, PAGES)]

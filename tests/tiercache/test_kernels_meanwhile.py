# SPDX-License-Identifier: PostgreSQL
"""Pages, slots and frames while a thread works on a file: other calls are made in the middle of an operation."""

from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pytest
from _pgquern import lib
from pgquern import PgquernError
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


def test_a_page_made_durable_on_its_way_to_the_ssd_is_clean_there(between: tuple[Between, TierCache]) -> None:
    """The write-back sets nothing aside, and settles what is in memory; the slot is then of a clean page."""
    disk, cache = between
    cache.write(64, contents(1000))
    for page in range(65, 80):
        cache.read(page)
    done: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        done.append(beside(cache.fsync))
        done[0].join(A_WHILE)

    disk.during(is_put, meanwhile)
    assert cache.read(0) == contents(0)
    done[0].join(LONG)
    assert not done[0].is_alive()
    assert cache.where(64) == Where.ON_SSD
    disk.replace_ssd(None)
    all_as_written(disk, {64: contents(1000)})


def test_a_slot_is_not_written_while_it_is_read(between: tuple[Between, TierCache]) -> None:
    """Meanwhile other pages come to the SSD. The slot is free afterwards."""
    disk, cache = between

    def meanwhile(_operation: Operation) -> None:
        for page in range(4):
            assert cache.read(page) == contents(page)

    disk.during(reads_ssd, meanwhile)
    before = len(disk.log)
    assert cache.read(63) == contents(63)
    assert not any(reads_store(63)(operation) for operation in disk.log[before:])
    for page in range(20, 40):
        assert cache.read(page) == contents(page)
    assert sum(cache.where(page) & Where.ON_SSD == Where.ON_SSD for page in range(PAGES)) == SLOTS
    cache.write(63, contents(1000))
    cache.fsync()
    all_as_written(disk, {63: contents(1000)})


def test_a_slot_that_cannot_be_read_and_has_lost_its_page_meanwhile(between: tuple[Between, TierCache]) -> None:
    disk, cache = between

    def meanwhile(_operation: Operation) -> None:
        for page in range(4):
            assert cache.read(page) == contents(page)
        raise OSError("on purpose")

    disk.during(reads_ssd, meanwhile)
    assert cache.read(63) == contents(63)


@pytest.fixture
def scanned() -> tuple[Between, TierCache]:
    """All pages are in the store alone, and scans may read ahead."""
    disk, sizes = Between(PAGES, SLOTS), SIZES | {"frames": 160, "slots": 0}
    cache = TierCache(disk, **sizes)
    for page in range(PAGES):
        cache.write(page, contents(page))
    cache.fsync()
    cache.close()
    return disk, TierCache(disk, **sizes)


def test_one_request_reads_ahead_at_a_time(scanned: tuple[Between, TierCache]) -> None:
    """There is one buffer for it. Another scan reads its pages one by one meanwhile."""
    disk, cache = scanned

    def meanwhile(_operation: Operation) -> None:
        assert [cache.read(page) for page in (32, 33)] == [contents(page) for page in (32, 33)]

    cache.read(0)
    disk.during(reads_store(1, 15), meanwhile)
    before = len(disk.log)
    assert [cache.read(page) for page in range(1, 16)] == [contents(page) for page in range(1, 16)]
    assert [found.size // PAGE_SIZE for found in disk.log[before:]] == [1, 1, 15]
    cache.close()


def test_a_scan_reads_ahead_up_to_a_page_that_another_reads(scanned: tuple[Between, TierCache]) -> None:
    """Or that page would come to two frames."""
    disk, cache = scanned

    def meanwhile(_operation: Operation) -> None:
        assert [cache.read(page) for page in (0, 1, 2)] == [contents(page) for page in (0, 1, 2)]

    disk.during(reads_store(3), meanwhile)
    before = len(disk.log)
    assert cache.read(3) == contents(3)
    assert [(found.offset // PAGE_SIZE, found.size // PAGE_SIZE) for found in disk.log[before:]] == [
        (0, 1),
        (1, 2),
        (3, 1),
    ]
    cache.close()


def test_a_page_that_three_want_is_read_once(between: tuple[Between, TierCache]) -> None:
    """From the store, and from the SSD; the others wait, and all are woken."""
    disk, cache = between
    for page, when in ((0, reads_store(0)), (63, reads_ssd)):
        others: list[Thread] = []
        found: list[bytes] = []

        def meanwhile(_operation: Operation, page: int = page, others: Any = others, found: Any = found) -> None:
            others.extend(beside(lambda: found.append(cache.read(page))) for _ in range(2))
            for other in others:
                until_asleep(other)

        before = len(disk.log)
        disk.during(when, meanwhile)
        assert cache.read(page) == contents(page)
        for other in others:
            other.join(LONG)
        assert found == [contents(page)] * 2
        assert sum(operation.what == "read" for operation in disk.log[before:]) == 1


@pytest.mark.parametrize("another", ["", "brings it to memory", "reads past the memory, too"])
def test_a_page_written_while_it_is_read_past_the_memory_is_read_again(another: str) -> None:
    """No page can leave as the read begins. Then its page is written, beside another read or after it, and the store
    is, between two sectors of the read."""
    disk = Between(PAGES, SLOTS)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in (40, *range(16)):
        cache.write(page, contents(page))
    disk.broken = lambda operation: operation[:2] == ("write", File.STORE)
    with pytest.raises(PgquernError):
        cache.fsync()
    read, begun = disk.read, list[int]()

    def slow(file: File, size: int, offset: int) -> bytes:
        first = read(file, size, offset)
        if another == "reads past the memory, too" and not begun:
            begun.append(offset)
            assert cache.read(40) == contents(1000)
            return first[:SECTOR] + read(file, size, offset)[SECTOR:]
        disk.read = read  # type: ignore[method-assign]
        disk.broken = lambda _operation: False
        if another == "brings it to memory":
            cache.fsync()
            assert cache.read(40) == contents(40)
        cache.write(40, contents(1000))
        cache.fsync()
        return first[:SECTOR] + read(file, size, offset)[SECTOR:]

    disk.read = slow  # type: ignore[method-assign]
    assert cache.read(40) == contents(1000)
    cache.close()


def test_a_page_that_another_brings_to_memory_is_read_past_it(between: tuple[Between, TierCache]) -> None:
    """A read of the SSD has no frame, and fails. Beside it another one has a frame, and ends while the first one reads
    the store; and a frame is free by then. The page comes to one frame: its newest contents stay in memory."""
    disk, cache = between
    others: list[Thread] = []
    holds, goes_on = Event(), Event()
    for page in range(64, 80):
        cache.write(page, contents(page))
    disk.broken = lambda operation: operation[:2] == ("write", File.STORE)
    with pytest.raises(PgquernError):
        cache.fsync()

    def hold(_operation: Operation) -> None:
        holds.set()
        goes_on.wait(LONG)

    def go_on(_operation: Operation) -> None:
        goes_on.set()
        others[0].join(LONG)

    def meanwhile(_operation: Operation) -> None:
        disk.broken = lambda _operation: False
        cache.fsync()
        disk.during(reads_ssd, hold)
        others.append(beside(lambda: cache.read(63)))
        holds.wait(LONG)
        disk.broken = reads_store(10)
        with pytest.raises(PgquernError):
            cache.read(10)
        disk.broken = lambda _operation: False
        disk.during(reads_store(63), go_on)
        raise OSError("on purpose")

    disk.during(reads_ssd, meanwhile)
    assert cache.read(63) == contents(63)
    assert goes_on.is_set()
    assert cache.where(63) == Where.IN_MEMORY
    cache.write(63, contents(1000))
    for page in range(0, 40, 2):
        assert cache.read(page) == contents(page)
        assert cache.read(63) == contents(1000)


def test_the_only_free_slot_is_waited_for(between: tuple[Between, TierCache]) -> None:
    """It is being overwritten; a page that is to leave memory goes there afterwards."""
    disk, cache = between
    cache.read(63)
    cache.write(63, contents(1000))
    victim = min(page for page in range(PAGES) if cache.where(page) & Where.IN_MEMORY and page != 63)
    other: list[Thread] = []

    def meanwhile(operation: Operation) -> None:
        before = len(disk.log)
        other.append(beside(lambda: cache.read(0)))
        other[0].join(A_WHILE)
        assert not any(is_put(found) and found.offset == operation.offset for found in disk.log[before:])

    disk.during(is_scrub, meanwhile)
    cache.fsync()
    other[0].join(LONG)
    assert not other[0].is_alive()
    assert cache.where(0) == Where.IN_MEMORY
    assert cache.where(victim) == Where.ON_SSD
    all_as_written(disk, {63: contents(1000)})


def one_can_leave() -> tuple[Between, TierCache]:
    """Page 16, to the SSD. All are dirty, a write-back of the others has failed, and so will each."""
    disk = Between(PAGES, SLOTS)
    cache = TierCache(disk, **SIZES | {"slots": 2})
    for page in range(16):
        cache.write(page, contents(page))
    disk.broken = lambda operation: operation[:2] == ("write", File.STORE)
    with pytest.raises(PgquernError):
        cache.write_back(0)
    cache.write(16, contents(16))
    with pytest.raises(PgquernError):
        cache.write_back(0)
    return disk, cache


def test_a_page_that_is_leaving_is_waited_for() -> None:
    """A read waits for the only one that can leave, and its page comes to memory then."""
    disk, cache = one_can_leave()
    waits: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        waits.append(beside(lambda: cache.read(40)))
        waits[0].join(A_WHILE)
        disk.broken = lambda _operation: False

    disk.during(is_put, meanwhile)
    cache.write(17, contents(17))
    waits[0].join(LONG)
    assert cache.where(40) == Where.IN_MEMORY
    with pytest.raises(PgquernError):
        cache.fsync()
    assert [cache.read(page) for page in range(18)] == [contents(page) for page in range(18)]
    cache.close()


def test_a_write_that_finds_no_room_succeeds_in_memory() -> None:
    """Another write brings its page meanwhile, to the last frame that could become free."""
    disk, cache = one_can_leave()
    others, done = list[Thread](), list[int]()

    def another() -> None:
        cache.write(40, contents(1000))
        done.append(40)

    def meanwhile(_operation: Operation) -> None:
        others.append(beside(another))
        until_asleep(others[0])

    disk.during(is_put, meanwhile)
    cache.write(40, contents(40))
    others[0].join(LONG)
    assert done == [40]
    assert cache.read(40) == contents(1000)
    cache.close()


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


def test_what_is_dirty_meanwhile_does_not_change_what_an_fsync_writes() -> None:
    """In its first of several batches the last block becomes dirty, which it leaves so, and a write that needs a frame
    looks for the blocks to write back, from another one on."""
    disk = Between(PAGES, 0)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    cache.write(79, contents(79))
    cache.fsync()
    dirty = [page for block in (3, 1, 2) for page in range(16 * block, 16 * block + 5)]
    for page in dirty:
        cache.write(page, contents(page))
    others: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        cache.write(79, contents(1000))
        others.append(beside(lambda: cache.write(64, contents(64))))
        until_asleep(others[0])

    disk.during(writes_pages, meanwhile)
    cache.fsync()
    others[0].join(LONG)
    assert not others[0].is_alive()
    assert cache.where(79) == Where.IN_MEMORY | Where.MEMORY_DIRTY
    cache.close()
    disk.lose_power(lambda _number, _sector: False)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    assert [page for page in dirty if cache.read(page) != contents(page)] == []
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


def refused(cache: TierCache) -> int:
    with pytest.raises(PgquernError) as refusal:
        cache.clean(4, ALL)
    return refusal.value.code


def test_the_begin_of_an_fsync_wakes_all_cleaners() -> None:
    """Two wait for the one that waits for another fsync, and none comes after it."""
    disk = Between(PAGES, SLOTS)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(16):
        cache.write(page, contents(page))
    left: list[int] = []
    others: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        for call in (cache.fsync, *[lambda: left.append(cache.clean(16 // 2, ALL))] * 2):
            others.append(beside(call))
            until_asleep(others[-1])

    disk.during(writes_pages, meanwhile)
    cache.fsync()
    for other in others:
        other.join(LONG)
    assert left == [0, 0]
    cache.close()


def test_nobody_waits_for_a_cleaner_while_a_frame_is_free(between: tuple[Between, TierCache]) -> None:
    """The second page is on its way to the SSD, and a read needs what the first one has left."""
    disk, clean = between
    found: list[bytes] = []

    def second(_operation: Operation) -> None:
        before = len(disk.log)
        found.append(clean.read(10))
        assert [operation[:2] for operation in disk.log[before:]] == [("read", File.STORE)]

    disk.during(is_put, lambda _operation: disk.during(is_put, second))
    assert clean.clean(2, ALL) == 0
    assert found == [contents(10)]
    assert sum(clean.where(page) & Where.IN_MEMORY != 0 for page in range(PAGES)) == 16 - 2


def test_a_cleaner_does_not_fail_while_a_page_leaves() -> None:
    """No other can."""
    disk, cache = one_can_leave()
    left: list[int] = []
    disk.during(is_put, lambda _operation: left.append(cache.clean(4, ALL)))
    cache.write(17, contents(17))
    assert left == [0]
    assert refused(cache) == lib.PGQ_TIERCACHE_WRITE_BACK
    disk.broken = lambda _operation: False
    assert [cache.read(page) for page in range(18)] == [contents(page) for page in range(18)]
    cache.close()


def test_a_cleaner_that_another_call_ends_does_not_fail(between: tuple[Between, TierCache]) -> None:
    """Its page is written meanwhile, and stays: no frame is free, and none is to be."""
    disk, clean = between

    def meanwhile(_operation: Operation) -> None:
        clean.write(64, contents(1000))
        assert clean.clean(0, ALL) == 0

    disk.during(is_put, meanwhile)
    assert clean.clean(1, 1) == 0
    assert sum(clean.where(page) & Where.IN_MEMORY != 0 for page in range(PAGES)) == 16


def test_who_has_waited_for_a_write_back_makes_none_for_others() -> None:
    """A write needs room while a cleaner writes the block back whose pages leave next. Another block stays dirty."""
    disk = Between(PAGES, SLOTS)
    cache = TierCache(disk, **SIZES | {"slots": 0})
    for page in range(16):
        cache.write(page if page < 8 else 40 + page, contents(page))
    other: list[Thread] = []

    def meanwhile(_operation: Operation) -> None:
        other.append(beside(lambda: cache.write(30, contents(30))))
        other[0].join(0.2)

    disk.during(writes_pages, meanwhile)
    cache.clean(1, 1)
    other[0].join(LONG)
    assert not other[0].is_alive()
    assert cache.where(48) == Where.IN_MEMORY | Where.MEMORY_DIRTY
    assert cache.read(30) == contents(30)
    cache.close()

# SPDX-License-Identifier: PostgreSQL
"""Which pages enter the SSD: a write to it must pay for itself."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest
from pgquern.tiercache import PAGE_SIZE, File, TierCache, Where, variants

from ref import tiercache as ref
from tests.common.variants import every_variant
from tests.tiercache.devices import SLOT, Disk, Records

PAGES, FRAMES, SLOTS, FIRST = 640, 16, 8, 575
SIZES: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 1, "policy": "lru"}


def contents(number: int) -> bytes:
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


class Counted:
    """A cache of a store of zeros, whose SSD is full of pages from FIRST downwards, of which none comes back."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.disk = Disk(PAGES, slots)
        self.cache = TierCache(self.disk, **SIZES | {"slots": slots})
        self.next = FIRST
        self.others(FRAMES + slots)

    def others(self, n: int) -> None:
        """So many pages that were never asked for, each once. Backwards: nothing is read ahead."""
        for _ in range(n):
            self.cache.read(self.next)
            self.next -= 1

    def puts(self) -> int:
        """Pages that were written to the SSD."""
        return sum(op.what == "write" and op.file is File.SSD and op.size == SLOT for op in self.disk.log)


@pytest.fixture
def full() -> Iterator[Counted]:
    counted = Counted()
    assert counted.puts() == SLOTS
    yield counted
    counted.cache.close()


def test_what_is_free_on_the_ssd_is_used(full: Counted) -> None:
    """The first pages that have left memory stand there."""
    assert [full.cache.where(FIRST - n) for n in range(SLOTS)] == [Where.ON_SSD] * SLOTS


def test_a_page_that_is_asked_for_once_does_not_enter(full: Counted) -> None:
    full.others(100)
    assert full.puts() == SLOTS


def test_a_page_that_is_asked_for_twice_enters(full: Counted) -> None:
    full.cache.read(601)
    full.cache.read(601)
    full.others(FRAMES)
    assert full.cache.where(601) == Where.ON_SSD
    assert full.puts() == SLOTS + 1


def test_a_page_that_is_asked_for_very_often_enters(full: Counted) -> None:
    """256 times, and 257 times."""
    for page, times in ((601, 256), (607, 257)):
        for _ in range(times):
            full.cache.read(page)
    full.others(FRAMES)
    assert [full.cache.where(page) for page in (601, 607)] == [Where.ON_SSD] * 2


def test_a_page_that_comes_back_enters(full: Counted) -> None:
    full.cache.read(601)
    full.others(FRAMES)
    assert full.cache.where(601) == 0
    full.cache.read(601)
    full.others(FRAMES)
    assert full.cache.where(601) == Where.ON_SSD


def test_a_page_that_comes_back_late_does_not_enter(full: Counted) -> None:
    """As many have left since as the SSD has slots."""
    full.cache.read(601)
    full.others(FRAMES + SLOTS)
    full.cache.read(601)
    full.others(FRAMES)
    assert full.cache.where(601) == 0
    assert full.puts() == SLOTS


def test_a_page_that_left_anew_is_remembered_as_long() -> None:
    """Page 602 is read ahead, leaves, is read ahead, and leaves; from the second time on it is remembered."""
    counted = Counted(slots=80)
    for _ in range(2):
        counted.cache.read(600)
        counted.cache.read(601)
        assert counted.cache.where(602) == Where.IN_MEMORY
        counted.others(FRAMES + 24)
    counted.others(30)
    counted.cache.read(602)
    counted.others(FRAMES)
    assert counted.cache.where(602) == Where.ON_SSD
    counted.cache.close()


def test_a_page_that_came_back_is_remembered_no_more() -> None:
    """It enters, and others that are asked for twice take its slot. Then it is asked for once again."""
    counted = Counted(slots=80)
    for _ in range(2):
        counted.cache.read(601)
        counted.others(FRAMES)
    assert counted.cache.where(601) == Where.ON_SSD
    for _ in range(80):
        counted.cache.read(counted.next)
        counted.others(1)
    counted.others(FRAMES)
    assert counted.cache.where(601) == 0
    counted.cache.read(601)
    counted.others(FRAMES)
    assert counted.cache.where(601) == 0
    counted.cache.close()


def test_a_scan_does_not_enter(full: Counted) -> None:
    """What was read ahead is asked for once when the scan comes to it."""
    for page in range(576, 640):
        full.cache.read(page)
    full.others(FRAMES)
    reads = [op.size for op in full.disk.log if op[:2] == ("read", File.STORE) and op.offset < PAGES * PAGE_SIZE]
    assert max(reads) > PAGE_SIZE
    assert full.puts() == SLOTS


def test_a_dirty_page_enters(full: Counted) -> None:
    """It is not written to the store to make room; and it is durable after an fsync."""
    full.cache.write(601, contents(1))
    before = len(full.disk.log)
    full.others(FRAMES)
    assert full.cache.where(601) == Where.ON_SSD | Where.SSD_DIRTY
    assert not any(op.what == "write" and op.file is File.STORE for op in full.disk.log[before:])
    full.cache.fsync()
    full.disk.replace_ssd(None)
    cache = TierCache(full.disk, **SIZES)
    assert cache.read(601) == contents(1)
    cache.close()


def test_a_page_that_was_written_once_and_is_durable_does_not_enter(full: Counted) -> None:
    full.cache.write(601, contents(1))
    full.cache.fsync()
    full.others(FRAMES)
    assert full.cache.where(601) == 0
    assert full.cache.read(601) == contents(1)
    assert full.puts() == SLOTS


def test_a_page_that_came_from_the_ssd_may_return(full: Counted) -> None:
    """Others push it off the SSD while it is in memory; then it enters again when it leaves that."""
    for page in range(599, 599 - SLOTS, -1):
        full.cache.read(page)
        full.cache.read(page)
    full.cache.read(FIRST)
    full.others(FRAMES - 1)
    assert full.cache.where(FIRST) == Where.IN_MEMORY
    full.others(1)
    assert full.cache.where(FIRST) == Where.ON_SSD


def test_a_page_that_was_on_the_ssd_and_is_written_returns(full: Counted) -> None:
    """A write asks for it again. Others take its slot while it is in memory; once it is durable it enters again."""
    full.cache.read(601)
    full.cache.read(601)
    full.others(FRAMES)
    assert full.cache.where(601) == Where.ON_SSD
    full.cache.write(601, contents(1))
    full.others(FRAMES - 1)
    full.cache.fsync()
    assert full.cache.where(601) == Where.IN_MEMORY
    before = full.puts()
    full.others(1)
    assert full.cache.where(601) == Where.ON_SSD
    assert full.puts() == before + 1


def test_while_pages_come_back_they_enter_at_once() -> None:
    """Each comes back after twenty others. Then none does, and no more enter."""
    counted = Counted(slots=80)
    first = counted.next

    def one_comes_back() -> None:
        counted.others(1)
        counted.cache.read(min(counted.next + 21, first))

    for _ in range(150):
        one_comes_back()
    counted.cache.read(601)
    for _ in range(FRAMES):
        one_comes_back()
    assert counted.cache.where(601) == Where.ON_SSD
    counted.others(100)
    before = counted.puts()
    counted.others(50)
    assert counted.puts() == before
    counted.cache.close()


def asked(seed: int, n: int) -> Iterable[tuple[int, bool]]:
    """Pages, and whether they are written. A few are asked for often, then others; between there are scans, and
    pairs of pages, behind which some are read ahead in vain."""
    rng = Random(seed)
    for at in range(n):
        if at % 500 < 60:
            yield 300 + (at + at // 500 * 70) % 300, False
        elif at % 7 == 0:
            page = rng.randrange(40) * 8
            yield page, False
            yield page + 1, False
        else:
            yield (int(rng.paretovariate(0.7)) + at // 1000 * 17) % 300, rng.random() < 0.1


@pytest.mark.parametrize("policy", every_variant(variants()))
@pytest.mark.parametrize("slots", [1, 3, 40])
def test_the_same_pages_enter_as_by_the_definition(policy: str, slots: int) -> None:
    """Operation by operation, on a long trace."""
    sizes = SIZES | {"slots": slots, "policy": policy}
    disk, records = Disk(PAGES, slots), Records()
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    for at, (page, writes) in enumerate(asked(slots, 3000)):
        for cache in (kernel, oracle):
            if writes:
                cache.write(page, contents(at))
            else:
                cache.read(page)
            if at % 400 == 0:
                cache.fsync()
        assert len(disk.log) == len(records.log), at
    kernel.close()
    assert disk.log == records.log


class EachEviction(ref.TierCache):
    """Whatever leaves memory is written to the SSD."""

    def _enters_ssd(self, frame: ref.Frame) -> bool:
        return True


@pytest.mark.parametrize("policy", ["lru", "s3fifo", "tinylfu"])
def test_fewer_writes_to_the_ssd_and_hardly_more_reads_of_the_store(policy: str) -> None:
    """Pages that are asked for by a power law, with scans between."""
    found = []
    for definition in (EachEviction, ref.TierCache):
        records = Records()
        cache = definition(records, **SIZES | {"slots": 40, "policy": policy})
        for page, _ in asked(1, 6000):
            cache.read(page)
        puts = sum(op.what == "write" and op.file is File.SSD and op.size == SLOT for op in records.log)
        found.append((puts, sum(op[:2] == ("read", File.STORE) for op in records.log)))
    (each, reads_of_each), (ours, reads) = found
    assert 2 * ours < each
    assert reads < 1.1 * reads_of_each

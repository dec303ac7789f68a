# SPDX-License-Identifier: PostgreSQL
"""Faults that once lost data, or stopped writers, one test each. Page contents are numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.tiercache import Failure, File, SsdFound, TierCache, Where, _Callbacks, variants

from ref.tiercache import BLOCK_PAGES, PAGE_SIZE
from tests.common.variants import every_variant
from tests.tiercache.devices import FIRST_SLOT, SLOT, Disk, Fault, Operation, nothing, writes_one_of

PAGES, SLOTS, FRAMES = 80, 12, 16
every = pytest.mark.parametrize("policy", every_variant(variants()))


def page(number: int) -> bytes:
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


def number(contents: bytes | bytearray) -> int:
    return int.from_bytes(contents[:8], "little")


def opened(disk: Disk, policy: str = "lru", **sizes: Any) -> TierCache:
    usual: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 1, "policy": policy}
    return TierCache(disk, **(usual | sizes))


def refusal(disk: Disk, **sizes: Any) -> int:
    with pytest.raises(PgquernError) as refused:
        opened(disk, **sizes)
    return refused.value.code


def to_ssd(cache: TierCache) -> None:
    """Reads of other pages: what was in memory goes to the SSD, if there is one."""
    for other in range(PAGES - FRAMES, PAGES):
        cache.read(other)


def with_page_0_on_the_ssd(contents: int, seed: int = 0) -> Disk:
    """Synced, and clean there."""
    disk = Disk(PAGES, SLOTS, seed)
    cache = opened(disk)
    cache.write(0, page(contents))
    cache.fsync()
    for other in range(1, 1 + FRAMES):
        cache.read(other + 40)
    assert cache.where(0) == Where.ON_SSD
    cache.fsync()
    cache.close()
    return disk


def slot_of_page_0(disk: Disk) -> int:
    ssd = disk.copy_of_ssd()
    at = (n for n in range(SLOTS) if int.from_bytes(ssd[FIRST_SLOT + n * SLOT + 32 :][:8], "little") == 0)
    return next(n for n in at if any(ssd[FIRST_SLOT + n * SLOT :][:8]))


def fails_at(wanted: Operation) -> Callable[[Operation], bool]:
    return lambda operation: operation == wanted


def fsync_fails(disk: Disk, cache: TierCache, broken: Callable[[Operation], bool]) -> None:
    """While these operations do."""
    disk.broken = broken
    with pytest.raises(PgquernError):
        cache.fsync()
    disk.broken = lambda _operation: False


def ssd_sync_or_control(operation: Operation) -> bool:
    """A sync of the SSD, and all that would say so in the control file."""
    return operation == Operation("sync", File.SSD) or (operation.what != "read" and operation.file is File.CONTROL)


def after_power_loss(disk: Disk, **sizes: Any) -> TierCache:
    disk.lose_power(nothing)
    disk.heal()
    disk.broken = lambda _operation: False
    return opened(disk, **sizes)


def stays_after_an_fsync(disk: Disk, cache: TierCache, content: int, **sizes: Any) -> None:
    """Page 0, through a loss of power."""
    seen = number(cache.read(0))
    cache.fsync()
    cache.close()
    cache = after_power_loss(disk, **sizes)
    assert number(cache.read(0)) == seen == content
    cache.close()


# ---- who belongs to whom -------------------------------------------------------------------------


def test_an_earlier_copy_of_the_ssd_from_the_same_mount_is_told() -> None:
    disk = with_page_0_on_the_ssd(1)
    cache = opened(disk)
    copied = disk.copy_of_ssd()
    cache.write(0, page(2))
    cache.fsync()
    cache.close()
    disk.replace_ssd(copied)
    cache = opened(disk)
    assert (number(cache.read(0)), cache.counts().ssd_found) == (2, SsdFound.OLD)
    cache.close()


@pytest.mark.parametrize("place", [0, PAGE_SIZE - 1, PAGE_SIZE, 2 * PAGE_SIZE, 3 * PAGE_SIZE - 1])
def test_other_bytes_behind_the_last_page_are_not_overwritten(place: int) -> None:
    """The control file is new, and the store has no id, but something else where that belongs."""
    disk = Disk(PAGES, SLOTS)
    disk.volumes[File.STORE].now[PAGES * PAGE_SIZE + place] = 1
    before = bytes(disk.volumes[File.STORE].now)
    assert refusal(disk) == lib.PGQ_TIERCACHE_STORE
    assert disk.volumes[File.STORE].now == before


def test_one_trailer_is_enough_for_a_store_that_was_truncated() -> None:
    """The read of the three gives that one, and then the end of the file."""
    disk = Disk(PAGES, 0)
    opened(disk, slots=0).close()
    del disk.volumes[File.STORE].now[(PAGES + 1) * PAGE_SIZE :]
    opened(disk, slots=0).close()


# ---- what a restart must not find ----------------------------------------------------------------


def two_slots_of_page_0(*, reopened: bool, older_is_first: bool) -> Disk:
    """Page 0 goes to the SSD twice, the second time after another open if wanted; its first slot stays as it was.
    An open reads the older one first, or last."""
    disk = Disk(PAGES, SLOTS)
    cache = opened(disk)
    for _ in range(5):
        cache.write(0, page(1))
    to_ssd(cache)
    slot = slot_of_page_0(disk)
    older = disk.copy_of_ssd()[FIRST_SLOT + slot * SLOT :][:SLOT]
    if reopened:
        cache.close()
        cache = opened(disk)
        to_ssd(cache)
    cache.write(0, page(2))
    for other in range(20, 20 + FRAMES):
        cache.read(other)
    cache.close()
    ssd = bytearray(disk.copy_of_ssd())
    [second] = (n for n in range(SLOTS) if number(ssd[FIRST_SLOT + n * SLOT + 512 :]) == 2)
    newer = bytes(ssd[FIRST_SLOT + second * SLOT :][:SLOT])
    assert slot != second
    for n, found in zip(sorted((slot, second), reverse=not older_is_first), (older, newer), strict=True):
        ssd[FIRST_SLOT + n * SLOT : FIRST_SLOT + (n + 1) * SLOT] = found
    disk.replace_ssd(bytes(ssd))
    return disk


@pytest.mark.parametrize("older_is_first", [False, True])
@pytest.mark.parametrize("reopened", [False, True])
def test_the_newer_of_two_slots_counts_and_an_fsync_takes_the_older_one_off(
    reopened: bool, older_is_first: bool
) -> None:
    """Versions go on after an open. Later the newer slot cannot be read: then the store's contents count."""
    disk = two_slots_of_page_0(reopened=reopened, older_is_first=older_is_first)
    cache = opened(disk)
    assert number(cache.read(0)) == 2
    cache.fsync()
    assert cache.where(0) & Where.ON_SSD
    cache.close()
    ssd = disk.copy_of_ssd()
    left = [n for n in range(SLOTS) if number(ssd[FIRST_SLOT + n * SLOT + 512 :]) == 2]
    disk.broken = lambda op: op.what == "read" and any(op.offset == FIRST_SLOT + n * SLOT for n in left)
    cache = opened(disk)
    assert number(cache.read(0)) == 2
    cache.close()


def no_page(operation: Operation) -> bool:
    return operation.what == "write" and operation.file is not File.STORE


@pytest.mark.parametrize("fails_first", [None, no_page, ssd_sync_or_control])
def test_a_slot_that_an_open_could_not_read_is_taken_off_by_an_fsync(
    fails_first: Callable[[Operation], bool] | None,
) -> None:
    """Its page is newer than the store's, which counts from then on; and nothing is dirty. At first neither it nor the
    control file can be written, or of what a sync of the SSD covers the superblock alone becomes durable. The next
    fsync writes the control file."""
    disk = with_page_0_on_the_ssd(1)
    cache = opened(disk)
    cache.write(0, page(2))
    for other in range(20, 20 + FRAMES):
        cache.read(other)
    assert cache.where(0) == Where.ON_SSD | Where.SSD_DIRTY
    cache.close()
    disk.broken = fails_at(Operation("read", File.SSD, FIRST_SLOT + slot_of_page_0(disk) * SLOT, SLOT))
    cache = opened(disk)
    disk.fails_as = Fault(lambda number, _sector: disk.log[number][:3] == ("write", File.SSD, 0))
    if fails_first:
        fsync_fails(disk, cache, fails_first)
    stays_after_an_fsync(disk, cache, 1)


def test_a_slot_that_a_read_could_not_read_is_taken_off_by_an_fsync() -> None:
    """The store has its page, which is written then. The slot can be read again at the next open."""
    disk = with_page_0_on_the_ssd(1)
    cache = opened(disk)
    disk.broken = lambda operation: operation[:2] == ("read", File.SSD)
    assert number(cache.read(0)) == 1
    disk.broken = lambda _operation: False
    cache.write(0, page(2))
    cache.fsync()
    cache.close()
    cache = opened(disk)
    assert number(cache.read(0)) == 2
    cache.close()


# ---- a sync fails, the process is killed, the machine goes on, and then loses its power -----------


@pytest.mark.parametrize("first", [1, 20])
def test_a_block_stays_listed_until_it_is_durable(first: int) -> None:
    """Its sync has failed; then other pages make room, a first one of this block or of another: each is written, and
    synced."""
    disk = Disk(PAGES, 0)
    cache = opened(disk, slots=0)
    cache.write(0, page(1))
    fsync_fails(disk, cache, fails_at(Operation("sync", File.STORE)))
    for other in (first, 20, 20):
        cache.write(other, page(9))
        to_ssd(cache)
        assert cache.where(other) == 0
    cache.close()
    cache = opened(disk, slots=0)
    stays_after_an_fsync(disk, cache, 1, slots=0)


def test_a_block_that_could_not_be_listed_is_not_written() -> None:
    """Otherwise a later sync that fails would forget it, and no open would write it again."""
    disk = Disk(PAGES, 0)
    cache = opened(disk, slots=0)
    cache.write(0, page(1))
    fsync_fails(disk, cache, lambda op: op.what == "write" and op.offset >= PAGES * PAGE_SIZE)
    cache.write(20, page(9))
    disk.broken = fails_at(Operation("sync", File.STORE))
    with pytest.raises(PgquernError):
        cache.write_back(1)
    cache.close()
    disk.broken = lambda _operation: False
    stays_after_an_fsync(disk, opened(disk, slots=0), 0, slots=0)


class Sparse:
    """A large store in which few pages are written, whose syncs may fail; and which pages each write began at."""

    def __init__(self) -> None:
        self.pages: dict[tuple[File, int], bytes] = {}
        self.fails = False
        self.writes: list[int] = []

    def read(self, file: File, size: int, offset: int) -> bytes:
        first, last = offset // PAGE_SIZE, (offset + size - 1) // PAGE_SIZE
        return b"".join(self.pages.get((file, at), bytes(PAGE_SIZE)) for at in range(first, last + 1))[:size]

    def write(self, file: File, contents: bytes, offset: int) -> int:
        if file is File.STORE:
            self.writes.append(offset // PAGE_SIZE)
        for at in range(0, len(contents), PAGE_SIZE):
            self.pages[file, (offset + at) // PAGE_SIZE] = bytes(contents[at : at + PAGE_SIZE]).ljust(PAGE_SIZE, b"\0")
        return len(contents)

    def sync(self, _file: File) -> None:
        if self.fails:
            raise OSError("on purpose")

    def random(self, size: int) -> bytes:
        return bytes(range(size))


@pytest.mark.parametrize("failed", [1016, 1017, 1018, 1019])
def test_a_list_that_is_too_long_means_all_blocks(failed: int) -> None:
    """A trailer has room for 1017 blocks of which a sync has failed."""
    blocks, disk = 1024, Sparse()
    sizes: dict[str, Any] = {"pages": blocks * BLOCK_PAGES, "frames": blocks, "slots": 0, "batch": 256}
    cache = TierCache(disk, **sizes)
    for block in range(failed):
        cache.write(block * BLOCK_PAGES, page(1))
    disk.fails = True
    with pytest.raises(PgquernError):
        cache.fsync()
    cache.close()
    disk.fails = False
    disk.writes.clear()
    TierCache(disk, **sizes).close()
    again = failed if failed <= 1017 else blocks
    assert disk.writes == [block * BLOCK_PAGES for block in range(again)] + [blocks * BLOCK_PAGES]


def test_what_a_failed_sync_of_the_ssd_has_dropped_does_not_come_back() -> None:
    """The process is killed before the control file knows."""
    disk = with_page_0_on_the_ssd(1)
    cache = opened(disk)
    cache.write(0, page(2))
    fsync_fails(disk, cache, ssd_sync_or_control)
    cache.close()
    cache = opened(disk)
    assert cache.counts().ssd_found == SsdFound.OURS
    cache.write(0, page(3))
    cache.fsync()
    cache.close()
    cache = after_power_loss(disk)
    assert number(cache.read(0)) == 3
    cache.close()


def test_a_sound_slot_that_a_failed_sync_of_the_ssd_has_dropped_is_written_again() -> None:
    """Page 0 goes to the slot that has its older contents, and the sync forgets it: the medium has the older ones."""
    disk = with_page_0_on_the_ssd(1)
    cache = opened(disk)
    cache.write(0, page(2))
    for other in range(20, 20 + FRAMES):
        cache.write(other, page(3))
    assert cache.where(0) == Where.ON_SSD | Where.SSD_DIRTY
    fsync_fails(disk, cache, ssd_sync_or_control)
    cache.close()
    cache = opened(disk)
    assert cache.counts().ssd_found == SsdFound.OURS
    stays_after_an_fsync(disk, cache, 2)


def test_a_clean_slot_that_a_failed_sync_of_the_ssd_has_dropped_is_written_again() -> None:
    """A clean page goes to the slot that has older contents of page 0, and the sync forgets it: they are on the medium
    still, and page 0 is written to the store."""
    disk = with_page_0_on_the_ssd(1)
    slot = slot_of_page_0(disk)
    cache = opened(disk)
    cache.write(0, page(2))
    before = len(disk.log)
    for other in range(20, 20 + FRAMES):
        cache.read(other)
        cache.read(0)
    assert Operation("write", File.SSD, FIRST_SLOT + slot * SLOT, SLOT) in disk.log[before:]
    fsync_fails(disk, cache, ssd_sync_or_control)
    cache.close()
    cache = opened(disk)
    assert cache.counts().ssd_found == SsdFound.OURS
    assert not any(cache.where(other) & Where.SSD_DIRTY for other in range(PAGES))
    cache.write(0, page(3))
    stays_after_an_fsync(disk, cache, 3)


def test_a_block_that_was_written_in_part_stays_listed() -> None:
    """The page that was not written cannot be read on the SSD, which is lost before the next open."""
    disk = Disk(PAGES, SLOTS)
    cache = opened(disk)
    for other in range(FRAMES):
        cache.write(other, page(1))
    fsync_fails(disk, cache, fails_at(Operation("sync", File.STORE)))
    cache.write(FRAMES, page(1))
    assert cache.where(0) == Where.ON_SSD | Where.SSD_DIRTY
    disk.broken = lambda operation: operation.what == "read" and operation.file is File.SSD
    with pytest.raises(PgquernError):
        cache.write_back(0)
    assert cache.failed() == {0: Failure.LOST}
    cache.write_back(1)
    cache.close()
    disk.broken = lambda _operation: False
    disk.replace_ssd(None)
    cache = opened(disk)
    stays_after_an_fsync(disk, cache, 1)


def test_one_of_the_trailers_is_always_sound() -> None:
    """Syncs of the store fail, one after the other, and keep the first sector of each write; the lists fill several."""
    pages, blocks = 1600, 100
    disk = Disk(pages, 0)
    sizes: dict[str, Any] = {"pages": pages, "frames": 128, "slots": 0, "batch": 128}
    cache = TierCache(disk, **sizes)
    cache.write(0, page(1))
    cache.fsync()
    disk.fails_as = Fault(lambda _number, sector: sector == 0)
    disk.broken = fails_at(Operation("sync", File.STORE))
    for attempt in range(4):
        for block in range(blocks):
            cache.write(block * BLOCK_PAGES, page(2))
        with pytest.raises(PgquernError):
            cache.fsync()
        left = Disk(pages, 0, seed=attempt)
        left.volumes = {file: volume.copy() for file, volume in disk.volumes.items()}
        left.lose_power(nothing)
        TierCache(left, **sizes).close()
    cache.close()


def test_a_torn_trailer_leaves_the_list_of_a_failed_sync() -> None:
    """The next one, torn by a kill, is not over it: it alone says which blocks are not durable."""
    sizes: dict[str, Any] = {"pages": 1600, "frames": 128, "slots": 0, "batch": 128}
    disk = Disk(1600, 0)
    cache = opened(disk, **sizes)
    for block in range(80):
        cache.write(block * BLOCK_PAGES, page(2))
    disk.broken = fails_at(Operation("sync", File.STORE))
    with pytest.raises(PgquernError):
        cache.fsync()
    cache.write(80 * BLOCK_PAGES, page(3))
    disk.fails_as = Fault(lambda _number, sector: sector == 0)
    fsync_fails(disk, cache, lambda op: op.what == "write" and op.offset >= 1600 * PAGE_SIZE)
    cache.close()
    stays_after_an_fsync(disk, opened(disk, **sizes), 2, **sizes)


# ---- what cannot be written ----------------------------------------------------------------------


def test_a_torn_trailer_leaves_the_epoch_that_was_synced_last() -> None:
    """A sync of the store fails, then a trailer is torn; the SSD comes back as it was before the last fsync."""
    frames, blocks = 128, 100
    disk = Disk(16 * (blocks + 1), SLOTS)
    sizes: dict[str, Any] = {"pages": 16 * (blocks + 1), "frames": frames, "slots": SLOTS, "batch": blocks}
    cache = TierCache(disk, **sizes, policy="lru")
    cache.write(0, page(1))
    cache.fsync()
    for other in range(1, 1 + frames):
        cache.read(2 * other + 1)
    assert cache.where(0) == Where.ON_SSD
    older = disk.copy_of_ssd()
    cache.write(0, page(2))
    cache.fsync()
    disk.broken = fails_at(Operation("sync", File.STORE))
    for lands in (nothing, lambda _number, sector: sector == 0):
        disk.fails_as = Fault(lands)
        for block in range(1, blocks):
            cache.write(block * BLOCK_PAGES, page(3))
        with pytest.raises(PgquernError):
            cache.fsync()
    cache.close()
    disk.lose_power(nothing)
    disk.replace_ssd(older)
    disk.heal()
    disk.broken = lambda _operation: False
    cache = TierCache(disk, **sizes, policy="lru")
    assert cache.counts().ssd_found == SsdFound.OLD
    assert number(cache.read(0)) == 2
    cache.close()


@every
def test_a_block_that_has_failed_is_not_tried_with_others(policy: str) -> None:
    """Blocks are asked for from the last one on, and each brings those behind it that have not failed."""
    disk = Disk(PAGES, 0)
    cache = opened(disk, policy, slots=0, batch=3)
    for other in reversed(range(FRAMES)):
        cache.write(other * 5, page(other))
    disk.broken = lambda operation: operation[:2] == ("write", File.STORE) and operation.offset < PAGES * PAGE_SIZE
    before = len(disk.log)
    with pytest.raises(PgquernError):
        cache.write(1, page(1))
    tried = [operation for operation in disk.log[before:] if disk.broken(operation)]
    alone = sorted(operation.offset // PAGE_SIZE for operation in tried if operation.size == PAGE_SIZE)
    assert alone == list(range(0, 5 * FRAMES, 5))
    assert len(tried) == len(alone) + PAGES // BLOCK_PAGES
    cache.close()


@every
def test_a_page_that_cannot_be_written_holds_no_other_one(policy: str) -> None:
    """All frames have pages of its block at first. It is tried with them, and alone; and not again while others make
    room, though a page beside it is written anew."""
    disk = Disk(PAGES, 0)
    cache = opened(disk, policy, slots=0)
    disk.broken = partial(writes_one_of, {5})
    for other in [*range(PAGES), 0, *4 * [*range(FRAMES, PAGES)]]:
        cache.write(other, page(other))
    assert sum(map(disk.broken, disk.log)) == 2
    assert cache.where(0) == 0
    with pytest.raises(PgquernError):
        cache.fsync()
    assert cache.failed() == {5: Failure.STUCK}
    assert [other for other in range(PAGES) if cache.where(other) & Where.MEMORY_DIRTY] == [5]
    disk.broken = lambda _operation: False
    cache.fsync()
    assert cache.failed() == {}
    cache.close()
    cache = after_power_loss(disk, slots=0)
    assert [number(cache.read(other)) for other in range(PAGES)] == [*range(PAGES)]
    cache.close()


class Full(Disk):
    """Writes of a file move nothing, as pwrite of a full device may."""

    full: File | None = None
    nothings = 0

    def write(self, file: File, contents: bytes, offset: int) -> int:
        if file is not self.full:
            return super().write(file, contents, offset)
        self.nothings += 1
        assert self.nothings < 10 * FRAMES, "it is asked again and again"
        return 0


@pytest.mark.parametrize("file", [File.STORE, File.SSD])
def test_a_write_that_moves_nothing_has_failed(file: File) -> None:
    """It is not tried for ever: the fsync says so of the store, and the SSD is given up."""
    disk = Full(PAGES, SLOTS)
    cache = opened(disk)
    disk.full = file
    for written in range(FRAMES + 1):
        cache.write(written, page(1))
    if file is File.STORE:
        with pytest.raises(PgquernError) as failure:
            cache.fsync()
        assert failure.value.code == lib.PGQ_TIERCACHE_WRITE_BACK
        disk.full = None
    cache.fsync()
    cache.close()
    disk.lose_power(nothing)
    disk.full = None
    cache = opened(disk)
    assert [number(cache.read(written)) for written in range(FRAMES + 1)] == [1] * (FRAMES + 1)
    cache.close()


# ---- refusals ------------------------------------------------------------------------------------


def test_a_refusal_touches_no_output() -> None:
    hits = ffi.new("uint64_t *", 77)
    assert lib.pgq_tiercache_policy(ffi.new("uint64_t[1]"), 1, 0, hits).code == lib.PGQ_TIERCACHE_OPTIONS
    assert lib.pgq_tiercache_policy(ffi.NULL, 1, 1, hits).code == lib.PGQ_NULL
    assert hits[0] == 77
    untouched = ffi.cast("pgq_tiercache *", 8)
    made = ffi.new("pgq_tiercache **", untouched)
    table = ffi.new("pgq_tiercache_files *")
    options = ffi.new("pgq_tiercache_options *", (PAGES, FRAMES, 0, 513, ffi.NULL, 0))
    assert lib.pgq_tiercache_open(table, options, made).code == lib.PGQ_NULL
    callbacks = opened(Disk(PAGES, SLOTS))
    assert callbacks._callbacks is not None
    assert lib.pgq_tiercache_open(callbacks._callbacks.table, options, made).code == lib.PGQ_TIERCACHE_OPTIONS
    damaged = Disk(PAGES, SLOTS)
    damaged.volumes[File.CONTROL].now[0] = 1
    table = _Callbacks(damaged).table
    options.batch = 1
    assert lib.pgq_tiercache_open(table, options, made).code == lib.PGQ_TIERCACHE_CONTROL
    assert made[0] == untouched
    contents = ffi.new("char[]", b"\x5a" * PAGE_SIZE)
    assert lib.pgq_tiercache_read(callbacks._cache, PAGES, contents).code == lib.PGQ_TIERCACHE_PAGE
    assert lib.pgq_tiercache_read(ffi.NULL, 0, contents).code == lib.PGQ_NULL
    assert ffi.buffer(contents)[:] == b"\x5a" * PAGE_SIZE + b"\0"
    assert lib.pgq_tiercache_failed(ffi.NULL, 0, hits) == lib.PGQ_TIERCACHE_FAILED_NONE
    assert lib.pgq_tiercache_failed(callbacks._cache, 0, ffi.NULL) == lib.PGQ_TIERCACHE_FAILED_NONE
    assert lib.pgq_tiercache_failed(callbacks._cache, 0, hits) == lib.PGQ_TIERCACHE_FAILED_NONE
    assert hits[0] == 77
    callbacks.close()

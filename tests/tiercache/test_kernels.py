# SPDX-License-Identifier: PostgreSQL
"""The kernel and the oracle side by side: each answer, each page's place, and each operation on a file."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from _pgquern import lib
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pgquern import PgquernError
from pgquern.tiercache import File, SsdFound, TierCache, Where, hits, variants

from ref import tiercache as ref
from tests.common.variants import every_variant
from tests.tiercache.devices import (
    SLOT,
    SSD_BLOCKS,
    Disk,
    Fault,
    Records,
    contents,
    everything,
    nothing,
    whole_writes,
    writes_one_of,
)

every = pytest.mark.parametrize("policy", every_variant(variants()))
defined = pytest.mark.parametrize("policy", every_variant(row for row in variants() if row.name in ref.POLICIES))
"""Those that have a definition: what is on trial has none."""
CODES = {
    ref.ReadError: lib.PGQ_TIERCACHE_READ,
    ref.LostError: lib.PGQ_TIERCACHE_LOST,
    ref.WriteBackError: lib.PGQ_TIERCACHE_WRITE_BACK,
    ref.ControlError: lib.PGQ_TIERCACHE_CONTROL,
    ref.StoreError: lib.PGQ_TIERCACHE_STORE,
}
PAGES, SLOTS = 80, 12
BUSY = st.integers(0, 23) | st.integers(0, PAGES - 1)
"""Page numbers, most of them in few blocks."""
FAULTS = st.builds(
    Fault, st.just(nothing) | st.just(everything) | st.integers(0, 2**16).map(whole_writes), st.booleans()
)
FAILURES = st.dictionaries(st.integers(0, 40), FAULTS, min_size=1, max_size=6)
"""How many operations from now each comes, and what becomes of it."""


# ---- eviction policies ---------------------------------------------------------------------------


@defined
@given(pages=st.lists(st.integers(0, 30) | st.integers(0, 2**39), max_size=300), frames=st.integers(1, 25))
def test_hits(policy: str, pages: list[int], frames: int) -> None:
    assert hits(pages, frames, policy=policy) == ref.hits(policy, pages, frames) <= ref.most_hits(pages, frames)


@defined
@pytest.mark.parametrize("seed", range(4))
def test_hits_of_long_traces(policy: str, seed: int) -> None:
    """Few pages have most of the references, and which ones changes on the way."""
    rng = Random(seed)
    pages = [int(rng.paretovariate(0.6)) % 400 + at // 1000 * 7 for at in range(4000)]
    for frames in (10, 40, 100):
        assert hits(pages, frames, policy=policy) == ref.hits(policy, pages, frames)


@every
@given(pages=st.lists(st.integers(0, 30) | st.integers(0, 2**64 - 1), max_size=300), frames=st.integers(1, 25))
def test_hits_of_any_policy(policy: str, pages: list[int], frames: int) -> None:
    """No policy beats the optimum, and none has a choice with one frame, or with enough for all."""
    distinct = len(set(pages))
    assert hits(pages, frames, policy=policy) <= ref.most_hits(pages, frames)
    assert hits(pages, max(distinct, 1), policy=policy) == len(pages) - distinct
    assert hits(pages, 1, policy=policy) == sum(page == before for before, page in pairwise(pages))


@defined
def test_a_hot_set_survives_a_scan_but_not_under_lru(policy: str) -> None:
    hot = list(range(50)) * 4
    pages = hot + list(range(1000, 1400)) + hot
    found = hits(pages, 100, policy=policy)
    assert found == (300 if policy == "lru" else 350)


@pytest.mark.parametrize(("other", "turn", "most_behind"), [(3000, 3000, 0.02), (100, 500, -0.1)])
def test_hot_pages_that_take_turns(other: int, turn: int, most_behind: float) -> None:
    """Hot pages, then others, for so many references each: W-TinyLFU follows turns nearly as LRU does, and
    a scan of a table as large as the cache is none."""
    rng = Random(1)
    pages = list[int]()
    while len(pages) < 40_000:
        pages += [rng.randrange(95) for _ in range(turn)]
        pages += [1000 + (rng.randrange(95) if other == turn else at) for at in range(other)]
    found = hits(pages, 100, policy="tinylfu")
    assert found == ref.hits("tinylfu", pages, 100)
    assert found >= hits(pages, 100, policy="lru") - most_behind * len(pages)


@defined
def test_the_largest_numbers_are_pages_too(policy: str) -> None:
    pages = [2**64 - 1, 2**64 - 1, 0, 2**64 - 2, 0, 2**64 - 1]
    assert hits(pages, 16, policy=policy) == ref.hits(policy, pages, 16) == 3


@defined
def test_a_cache_without_frames_is_refused(policy: str) -> None:
    with pytest.raises(PgquernError) as refusal:
        hits([1], 0, policy=policy)
    assert refusal.value.code == lib.PGQ_TIERCACHE_OPTIONS
    with pytest.raises(ValueError, match="frames"):
        ref.hits(policy, [1], 0)


# ---- the cache -----------------------------------------------------------------------------------


class SideBySide(RuleBasedStateMachine):
    """Random calls, failures of single operations, and crashes. `flat` is what a user may rely on."""

    policy, ssd_block = "tinylfu", SSD_BLOCKS[0]

    def __init__(self) -> None:
        super().__init__()
        self.disk, self.records = Disk(PAGES, SLOTS, ssd_block=self.ssd_block), Records(ssd_block=self.ssd_block)
        self.flat = ref.FlatFile()
        self.written = 0
        self.compared = 0
        self.kernel: TierCache | None = None
        self.older: tuple[Any, Any] | None = None
        """The SSD at the crash before."""

    @initialize(slots=st.sampled_from([0, 3, SLOTS]), batch=st.integers(1, 3))
    def begin(self, slots: int, batch: int) -> None:
        self.sizes = {"pages": PAGES, "frames": 16, "slots": slots, "batch": batch, "policy": self.policy}
        self.sizes |= {"ssd_block": self.ssd_block}
        self.open()

    def teardown(self) -> None:
        if self.kernel is not None:
            self.kernel.close()

    def open(self) -> None:
        code, kernel = outcome(lambda: TierCache(self.disk, **self.sizes))  # type: ignore[arg-type]
        right, oracle = outcome(lambda: ref.TierCache(self.records, **self.sizes))  # type: ignore[arg-type]
        assert code == right
        self.kernel, self.oracle = kernel, oracle
        if kernel is not None:
            found = kernel.counts()
            event(f"SSD {found.ssd_found.name}")
            assert found[3:] == (oracle.ssd_taken_over, oracle.ssd_in_use, oracle.ssd_found)

    def both(self, call: Callable[[Any], Any]) -> tuple[int, Any]:
        """The same call to both: the same outcome, by the same operations."""
        code, answer = outcome(lambda: call(self.kernel))
        right, expected = outcome(lambda: call(self.oracle))
        assert (code, answer) == (right, expected)
        assert self.disk.log[self.compared :] == self.records.log[self.compared :]
        self.compared = len(self.disk.log)
        event(f"outcome {code}")
        return code, answer

    @precondition(lambda self: self.kernel is not None)
    @rule(page=BUSY)
    def read(self, page: int) -> None:
        code, contents = self.both(lambda cache: cache.read(page))
        if code == lib.PGQ_OK:
            assert contents == self.flat.read(page)

    @precondition(lambda self: self.kernel is not None)
    @rule(pages=st.lists(BUSY, min_size=1, max_size=8))
    def write(self, pages: list[int]) -> None:
        for page in pages:
            self.written += 1
            contents = self.written.to_bytes(8, "little") * (ref.PAGE_SIZE // 8)
            code, _ = self.both(partial(_write, page=page, contents=contents))
            if code == lib.PGQ_OK:
                self.flat.write(page, contents)

    @precondition(lambda self: self.kernel is not None)
    @rule(first=BUSY, n=st.integers(2, 24))
    def scan(self, first: int, n: int) -> None:
        for page in range(first, min(first + n, PAGES)):
            self.read(page)

    @precondition(lambda self: self.kernel is not None)
    @rule(block=st.integers(0, PAGES // ref.BLOCK_PAGES - 1))
    def write_back(self, block: int) -> None:
        self.both(lambda cache: cache.write_back(block))

    @precondition(lambda self: self.kernel is not None)
    @rule()
    def fsync(self) -> None:
        code, _ = self.both(lambda cache: cache.fsync())
        if code == lib.PGQ_OK:
            self.flat.fsync()

    @rule(after=FAILURES)
    def fail(self, after: dict[int, Fault]) -> None:
        """Operations that will fail."""
        for device in (self.disk, self.records):
            at = len(device.log)
            device.fail |= {at + n: fault for n, fault in after.items()}

    @rule(pages=st.sets(BUSY, max_size=4))
    def go_bad(self, pages: set[int]) -> None:
        """These pages of the store cannot be written until the next crash; others can again."""
        self.disk.broken = self.records.broken = partial(writes_one_of, pages)

    @rule(
        seed=st.none() | st.integers(0, 2**16),
        ssd=st.sampled_from(["keeps", "keeps", "keeps", "lost", "older"]),
        fail=st.just({}) | FAILURES,
    )
    def crash(self, seed: int | None, ssd: str, fail: dict[int, Fault]) -> None:
        """A kill, or a power loss: what is not synced is kept or lost, write by write. The open may meet failures."""
        if self.kernel is not None:
            self.kernel.close()
        older = self.older
        self.older = (self.disk.copy_of_ssd(), self.records.copy_of_ssd())
        for device in (self.disk, self.records):
            if seed is not None:
                device.lose_power(whole_writes(seed))
            device.heal()
        self.go_bad(set())
        if ssd != "keeps":
            self.disk.replace_ssd(older[0] if ssd == "older" and older else None)
            self.records.replace_ssd(older[1] if ssd == "older" and older else None)
        self.fail(fail)
        self.open()
        self.compared = len(self.disk.log)
        assert self.disk.log == self.records.log
        self.disk.heal()
        self.records.heal()
        if self.kernel is None:
            return
        for page in range(PAGES):
            contents = self.kernel.read(page)
            assert contents == self.oracle.read(page)
            assert self.flat.may_leave(page, contents), f"page {page}"
            self.flat.crash(page, contents)

    @invariant()
    def pages_stand_in_the_same_places(self) -> None:
        if self.kernel is not None:
            assert self.kernel.failed() == self.oracle.failed()
            assert [self.kernel.where(page) for page in range(PAGES)] == [
                where(self.oracle, page) for page in range(PAGES)
            ]


def _write(cache: Any, page: int, contents: bytes) -> None:
    cache.write(page, contents)


def _read(cache: Any, page: int, _contents: bytes) -> bytes:
    return bytes(cache.read(page))


def outcome(call: Callable[[], Any]) -> tuple[int, Any]:
    """PGQ_OK and the answer, or the code of a failure and None."""
    try:
        return int(lib.PGQ_OK), call()
    except PgquernError as error:
        return error.code, None
    except tuple(CODES) as error:
        return int(CODES[type(error)]), None


@defined
def test_many_dirty_blocks_are_written_back_as_by_the_definition(policy: str) -> None:
    """Operation by operation, on a store of which some pages, or all, cannot be written for a while."""
    pages, slots, rng = 3200, 100, Random(7)
    bad: set[int] = set()
    disk, records = Disk(pages, slots), Records()
    for device in (disk, records):
        device.broken = partial(writes_one_of, bad)
    sizes: Any = {"pages": pages, "frames": 16, "slots": slots, "batch": 5, "policy": policy}
    kernel, oracle = TierCache(disk, **sizes), ref.TierCache(records, **sizes)
    for at in range(700):
        if at % 500 in (0, 250, 450):
            bad.clear()
            bad.update(rng.sample(range(pages), pages if at % 500 == 250 else pages // 5))
        page, call = rng.randrange(pages), rng.choice([_write, _write, _write, _read])
        found = [outcome(partial(call, cache, page, contents(at))) for cache in (kernel, oracle)]
        if at % 700 == 699:
            found += [outcome(cache.fsync) for cache in (kernel, oracle)]
        assert found[0::2] == found[1::2], at
        assert len(disk.log) == len(records.log), at
        failed = [dict[int, int](cache.failed()) for cache in (kernel, oracle)]
        assert failed[0] == failed[1]
    kernel.close()
    assert disk.log == records.log


def where(cache: ref.TierCache, page: int) -> int:
    """As pgquern.tiercache.Where."""
    frame, held = cache.memory.get(page), cache.ssd.get(page)
    in_memory = 0 if frame is None else Where.IN_MEMORY + Where.MEMORY_DIRTY * frame.dirty
    on_ssd = 0 if held is None else Where.ON_SSD + Where.SSD_DIRTY * held.dirty
    return in_memory + on_ssd


def crc32c(data: bytes | bytearray) -> int:
    """CRC-32C, bit by bit."""
    crc = 2**32 - 1
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 2**32 - 1


def test_the_checksum_is_crc_32c_by_tables_and_by_the_cpu() -> None:
    """Of the control file (44 bytes), of the superblock (68), of a slot, and of a trailer."""
    assert crc32c(b"123456789") == 0xE3069283
    disk = Disk(PAGES, SLOTS)
    cache = TierCache(disk, pages=PAGES, frames=16, slots=SLOTS, batch=1)
    for page in range(17):
        cache.write(page, Random(page).randbytes(ref.PAGE_SIZE))
    cache.close()
    control, ssd = (disk.volumes[file].now for file in (File.CONTROL, File.SSD))
    assert int.from_bytes(control[44:48], "little") == crc32c(control[:44])
    assert int.from_bytes(ssd[68:72], "little") == crc32c(ssd[:68])
    put = next(op for op in disk.log if op.file is File.SSD and op.size == SLOT)
    slot = ssd[put.offset : put.offset + SLOT]
    trailer = disk.volumes[File.STORE].now[PAGES * ref.PAGE_SIZE : (PAGES + 1) * ref.PAGE_SIZE]
    for record, at in ((slot, 52), (trailer, 52)):
        found, record[at : at + 4] = int.from_bytes(record[at : at + 4], "little"), bytes(4)
        assert found == crc32c(record)


class Meddling(Disk):
    """Another thread's calls, made while a page of the store is on its way: `meanwhile(page)`, once it was read."""

    def __init__(self) -> None:
        super().__init__(PAGES, 0)
        self.meanwhile: Callable[[int], None] | None = None

    def read(self, file: File, size: int, offset: int) -> bytes:
        found = super().read(file, size, offset)
        if file is File.STORE and self.meanwhile is not None:
            self.meanwhile(offset // ref.PAGE_SIZE)
        return found


@pytest.fixture
def meddling() -> Iterator[tuple[Meddling, TierCache]]:
    """Sixteen frames, and no SSD; page p holds contents(p), and the memory has the last ones."""
    disk = Meddling()
    cache = TierCache(disk, pages=PAGES, frames=16, slots=0, batch=1, policy="lru")
    for page in range(PAGES):
        cache.write(page, contents(page))
    cache.fsync()
    yield disk, cache
    cache.close()


def test_a_page_that_is_written_while_it_is_read_is_read_again(meddling: tuple[Meddling, TierCache]) -> None:
    """It is written back and evicted, too: when the read ends, no tier has it, as when the read began."""
    disk, cache = meddling

    def meanwhile(_page: int) -> None:
        disk.meanwhile = None
        cache.write(0, contents(1000))
        cache.fsync()
        for page in range(PAGES - 1, PAGES - 33, -1):
            cache.read(page)
        assert cache.where(0) == 0

    disk.meanwhile = meanwhile
    assert cache.read(0) == contents(1000)
    assert cache.read(0) == contents(1000)


def test_an_fsync_finds_what_is_dirty_whatever_became_clean_before(meddling: tuple[Meddling, TierCache]) -> None:
    """A page in each of the five blocks, written many times. Two blocks become clean; the fsync writes the others."""
    disk, cache = meddling
    pages = range(0, PAGES, ref.BLOCK_PAGES)
    for page in [*pages] * 40:
        cache.write(page, contents(1000 + page))
    cache.write_back(1)
    cache.write_back(4)
    before = len(disk.log)
    cache.fsync()
    done = [operation for operation in disk.log[before:] if operation.file is File.STORE]
    written = [operation.offset // ref.PAGE_SIZE for operation in done if operation.what == "write"]
    assert [page for page in written if page < PAGES] == [0, 32, 48]
    assert sum(operation.what == "sync" for operation in done) == 3
    assert {cache.where(page) for page in pages} == {Where.IN_MEMORY}
    durable = disk.volumes[File.STORE].durable
    assert all(durable[page * ref.PAGE_SIZE :].startswith(contents(1000 + page)) for page in pages)


def test_more_readers_than_frames(meddling: tuple[Meddling, TierCache]) -> None:
    """Each begins while the one before waits for the store; a quarter of the frames is reserved at most, so a write
    finds room."""
    disk, cache = meddling
    readers = 20

    def meanwhile(page: int) -> None:
        if page < 2 * readers:
            assert cache.read(page + 2) == contents(page + 2)
        else:
            cache.write(PAGES - 1, contents(PAGES - 1))

    disk.meanwhile = meanwhile
    assert cache.read(0) == contents(0)
    disk.meanwhile = None
    for page in reversed(range(PAGES)):
        assert cache.read(page) == contents(page)
    assert sum(cache.where(page) != 0 for page in range(PAGES)) == 16


@pytest.mark.parametrize("more", [0, 1, 62, 63, 64, 65, 66, 127, 128, 129, 1000])
def test_each_of_many_hits_is_told(more: int) -> None:
    """The policy hears of hits later: as if of each at once, however many there were before it is asked."""
    cache = TierCache(Disk(PAGES, 0), pages=PAGES, frames=16, slots=0, policy="lru")
    recent, hits = list(range(0, 32, 2)), 0
    for page in recent:
        cache.read(page)
    for comes in range(33, PAGES, 2):
        for page in [recent[0]] + more * [recent[-1]]:
            cache.read(page)
            recent.remove(page)
            recent.append(page)
            hits += 1
        cache.read(comes)
        recent = [*recent[1:], comes]
        assert [page for page in range(PAGES) if cache.where(page)] == sorted(recent)
    assert cache.counts().memory_hits == hits
    cache.close()


def test_no_open_trusts_the_ssd_of_a_cache_that_is_written_through() -> None:
    """A kill may come after the caller's write of the store: a page that was rewritten has an old slot then."""
    disk = Disk(PAGES, SLOTS)
    cache = TierCache(disk, pages=PAGES, frames=16, slots=SLOTS, batch=1, write_through=True)
    for page in [*range(40), *range(40)]:
        cache.read(page)
    page = next(page for page in range(40) if cache.where(page) == Where.ON_SSD)
    disk.volumes[File.STORE].write(len(disk.log), contents(1), page * ref.PAGE_SIZE)
    cache.write(page, contents(1))
    assert cache.where(page) == Where.IN_MEMORY
    before = len(disk.log)
    cache.fsync()
    assert len(disk.log) == before
    cache.close()
    for through in (False, True, False):
        cache = TierCache(disk, pages=PAGES, frames=16, slots=SLOTS, batch=1, write_through=through)
        assert cache.counts().ssd_found is SsdFound.OLD
        assert cache.read(page) == contents(1)
        cache.close()


def test_a_hit_is_told_before_a_page_comes_back() -> None:
    """What a write-back could not write, and now can, is newer to the policy than the hits before the write-back."""
    disk = Disk(PAGES, 0)
    cache = TierCache(disk, pages=PAGES, frames=16, slots=0, batch=1, policy="lru")
    cache.write(0, contents(0))
    for page in range(16, 46, 2):
        cache.read(page)
    disk.broken = partial(writes_one_of, {0})
    with pytest.raises(PgquernError):
        cache.fsync()
    disk.broken = lambda _operation: False
    cache.read(16)
    cache.fsync()
    for page in range(47, 77, 2):
        cache.read(page)
    assert (cache.where(16), cache.where(0)) == (0, Where.IN_MEMORY)
    cache.close()


class SideBySideCleaned(SideBySide):
    """And a cleaner."""

    @precondition(lambda self: self.kernel is not None)
    @rule(frames=st.integers(0, 8), steps=st.integers(0, 12))
    def clean(self, frames: int, steps: int) -> None:
        self.both(lambda cache: cache.clean(frames, steps))


class SideBySideThrough(SideBySideCleaned):
    """The caller writes the store itself, before; after every other crash the cache does."""

    def open(self) -> None:
        self.sizes["write_through"] = not self.sizes.get("write_through", False)
        super().open()

    def write_store(self, page: int, contents: bytes) -> None:
        number = len(self.disk.log)
        self.disk.volumes[File.STORE].write(number, contents, page * ref.PAGE_SIZE)
        self.records.shelves[File.STORE].write(number, page, contents)

    @precondition(lambda self: self.kernel is not None and self.sizes["write_through"])
    @rule(pages=st.lists(BUSY, min_size=1, max_size=8))
    def write(self, pages: list[int]) -> None:
        for page in pages:
            self.written += 1
            contents = self.written.to_bytes(8, "little") * (ref.PAGE_SIZE // 8)
            self.write_store(page, contents)
            self.flat.write(page, contents)
            assert self.both(partial(_write, page=page, contents=contents))[0] == lib.PGQ_OK

    @precondition(lambda self: self.kernel is not None and not self.sizes["write_through"])
    @rule(pages=st.lists(BUSY, min_size=1, max_size=8))
    def write_back_later(self, pages: list[int]) -> None:
        super().write(pages)

    @precondition(lambda self: self.kernel is not None)
    @rule()
    def fsync(self) -> None:
        if self.sizes["write_through"]:
            self.disk.volumes[File.STORE].sync()
            self.records.shelves[File.STORE].sync()
        super().fsync()


class SideBySideCleanedLru(SideBySideCleaned):
    policy = "lru"


class SideBySideLru(SideBySide):
    policy = "lru"


class SideBySideS3Fifo(SideBySide):
    policy = "s3fifo"


class SideBySideBy4Kib(SideBySide):
    ssd_block = SSD_BLOCKS[1]


SETTINGS = settings(max_examples=max(10, settings().max_examples // 40), stateful_step_count=40)
TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = SETTINGS
TestSideBySideCleaned = SideBySideCleaned.TestCase
TestSideBySideCleaned.settings = SETTINGS
TestSideBySideCleanedLru = SideBySideCleanedLru.TestCase
TestSideBySideCleanedLru.settings = SETTINGS
TestSideBySideThrough = SideBySideThrough.TestCase
TestSideBySideThrough.settings = SETTINGS
TestSideBySideLru = SideBySideLru.TestCase
TestSideBySideLru.settings = SETTINGS
TestSideBySideS3Fifo = SideBySideS3Fifo.TestCase
TestSideBySideS3Fifo.settings = SETTINGS
TestSideBySideBy4Kib = SideBySideBy4Kib.TestCase
TestSideBySideBy4Kib.settings = SETTINGS

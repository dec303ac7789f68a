# SPDX-License-Identifier: PostgreSQL
"""The unit in which the SSD is read and written: where each request begins, in its file and in memory, what stands in a
slot, and files that are opened with O_DIRECT."""

import os
from collections.abc import Callable, Sequence
from mmap import mmap
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError, tiercache
from pgquern.tiercache import File, SsdFound, TierCache, Where

from ref.tiercache import PAGE_SIZE, SECTOR
from tests.tiercache.devices import FIRST_SLOT, SSD_BLOCKS, Disk, Operation

PAGES, SLOTS, FRAMES, ALIGNMENT = 80, 12, 16, 4096
blocks = pytest.mark.parametrize("ssd_block", SSD_BLOCKS)


def page(number: int) -> bytes:
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


def opened(files: Any, ssd_block: int, **sizes: Any) -> TierCache:
    usual: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 2, "policy": "lru"}
    return TierCache(files, **(usual | sizes), ssd_block=ssd_block)


class Request(NamedTuple):
    """What a cache asks of a file, and the address of the bytes."""

    what: str
    file: File
    offset: int
    size: int
    address: int


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """All that the caches of a test ask for."""
    seen: list[Request] = []

    class Looking(tiercache._Callbacks):
        def read(self, context: Any, file: int, into: Any, size: int, offset: int) -> int:
            seen.append(Request("read", File(file), offset, size, int(ffi.cast("uintptr_t", into))))
            return super().read(context, file, into, size, offset)

        def write(self, context: Any, file: int, contents: Any, size: int, offset: int) -> int:
            seen.append(Request("write", File(file), offset, size, int(ffi.cast("uintptr_t", contents))))
            return super().write(context, file, contents, size, offset)

    monkeypatch.setattr(tiercache, "_Callbacks", Looking)
    return seen


class Nested(Disk):
    """`meanwhile(page)` is called when a page of the store was read."""

    meanwhile: Callable[[int], object] | None = None

    def read(self, file: File, size: int, offset: int) -> bytes:
        found = super().read(file, size, offset)
        if file is File.STORE and self.meanwhile is not None:
            self.meanwhile(offset // PAGE_SIZE)
        return found


def fails(*wanted: tuple[str, File]) -> Callable[[Operation], bool]:
    return lambda operation: operation[:2] in wanted


def live(disk: Nested, ssd_block: int) -> None:
    """Opens, and all that a cache does with its files, failures among it."""
    rng, cache = Random(ssd_block), opened(disk, ssd_block)
    disk.meanwhile = lambda number: cache.read(number + 2) if number < 2 * FRAMES else None
    cache.read(0)
    disk.meanwhile = None
    assert cache.where(2 * FRAMES) == 0, "it was read past the memory"
    for n in range(400):
        number = rng.choice([rng.randrange(PAGES), rng.randrange(24)])
        if rng.random() < 0.3:
            cache.write(number, page(n))
        cache.read(number)
        if n % 40 == 0:
            cache.fsync()
    for number in range(40, 70):
        cache.read(number)
    for number in (0, 4, 8, 12):
        cache.write(number, page(number))
    cache.write_back(0)
    cache.write(0, page(1))
    disk.broken = fails(("sync", File.STORE))
    with pytest.raises(PgquernError):
        cache.fsync()
    cache.close()
    disk.broken = lambda _operation: False
    cache = opened(disk, ssd_block)
    for number in range(FRAMES + 1):
        cache.write(number, page(2))
    disk.broken = fails(("sync", File.SSD), ("write", File.CONTROL))
    with pytest.raises(PgquernError):
        cache.fsync()
    cache.close()
    disk.broken = lambda _operation: False
    cache = opened(disk, ssd_block)
    assert cache.counts().ssd_found == SsdFound.OURS
    cache.fsync()
    cache.close()


# ---- what stands in a slot -----------------------------------------------------------------------


def on_the_ssd(ssd_block: int, numbers: Sequence[int]) -> tuple[Disk, TierCache]:
    """These pages are clean, and on the SSD alone. Each holds its number + 1."""
    disk = Disk(PAGES, SLOTS, ssd_block=max(SSD_BLOCKS))
    cache = opened(disk, ssd_block)
    for number in numbers:
        cache.write(number, page(number + 1))
    cache.fsync()
    for other in range(PAGES - 1, PAGES - 1 - FRAMES, -1):
        cache.read(other)
    assert {cache.where(number) for number in numbers} == {Where.ON_SSD}
    return disk, cache


def slots_of(disk: Disk, ssd_block: int) -> list[int]:
    """Where slots were written, in order."""
    size = ssd_block + PAGE_SIZE
    return [op.offset for op in disk.log if op[:2] == ("write", File.SSD) and op.size == size]


@blocks
def test_a_slot_ends_with_its_header_and_page(ssd_block: int) -> None:
    """Zeros stand before these. No slot has bytes of another."""
    disk, cache = on_the_ssd(ssd_block, range(5))
    cache.close()
    ssd, written = disk.copy_of_ssd(), slots_of(disk, ssd_block)
    assert len(set(written)) == len(written) == 5
    for at in written:
        assert (at - FIRST_SLOT) % (ssd_block + PAGE_SIZE) == 0
        head, contents = ssd[at : at + ssd_block], ssd[at + ssd_block : at + ssd_block + PAGE_SIZE]
        header, number = head[ssd_block - SECTOR :], int.from_bytes(head[ssd_block - SECTOR + 32 :][:8], "little")
        assert not any(head[: ssd_block - SECTOR])
        assert header[:8] == b"PQGSLOT2"
        assert not any(header[56:])
        assert contents == page(number + 1)


def test_what_stands_before_a_header_does_not_matter() -> None:
    """A write that was torn there, and a sector that was damaged, lose nothing."""
    disk, cache = on_the_ssd(4096, range(3))
    cache.close()
    ssd = bytearray(disk.copy_of_ssd())
    for at in slots_of(disk, 4096):
        ssd[at : at + 4096 - SECTOR] = b"\x5a" * (4096 - SECTOR)
    disk.replace_ssd(bytes(ssd))
    cache = opened(disk, 4096)
    assert cache.counts()[3:] == (3, True, SsdFound.OURS)
    assert [cache.read(number) for number in range(3)] == [page(number + 1) for number in range(3)]
    assert cache.counts().ssd_hits == 3
    cache.close()


@blocks
def test_a_slot_is_discarded_by_one_unit_of_zeros(ssd_block: int) -> None:
    """Its header is gone: the next open does not find the old contents."""
    disk, cache = on_the_ssd(ssd_block, range(3))
    slots = slots_of(disk, ssd_block)
    before = len(disk.log)
    cache.write(1, page(100))
    cache.fsync()
    cache.close()
    size = ssd_block + PAGE_SIZE
    written = [op for op in disk.log[before:] if op[:2] == ("write", File.SSD) and op.offset >= FIRST_SLOT]
    discards = [op for op in written if op.size != size]
    assert [op.size for op in discards] == [ssd_block]
    assert discards[0].offset in slots
    assert not any(disk.copy_of_ssd()[discards[0].offset :][:ssd_block])
    cache = opened(disk, ssd_block)
    assert [cache.where(number) for number in range(3)] == [Where.ON_SSD, 0, Where.ON_SSD]
    assert [cache.read(number) for number in range(3)] == [page(1), page(100), page(3)]
    cache.close()


# ---- options -------------------------------------------------------------------------------------


def test_other_units_are_refused() -> None:
    for ssd_block in (1, 256, 511, 513, 1024, 2048, 4095, 4097, 8192):
        with pytest.raises(PgquernError) as refused:
            opened(Disk(PAGES, SLOTS), ssd_block)
        assert refused.value.code == lib.PGQ_TIERCACHE_OPTIONS


def test_0_is_512() -> None:
    disk = Disk(PAGES, SLOTS)
    for ssd_block, found in ((0, SsdFound.EMPTY), (512, SsdFound.OURS), (0, SsdFound.OURS)):
        cache = opened(disk, ssd_block)
        assert cache.counts().ssd_found == found
        cache.close()


# ---- files that are opened with O_DIRECT ----------------------------------------------------------


def direct_files(folder: Path, ssd_block: int) -> tuple[int, int, int]:
    """The control file is opened without O_DIRECT. Skips the test where the file system refuses such requests."""
    try:
        store, ssd = (os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_DIRECT) for name in ("store", "ssd"))
        with mmap(-1, ssd_block) as aligned:
            os.pwrite(ssd, aligned, ssd_block)
            os.ftruncate(ssd, 0)
    except OSError as error:
        pytest.skip(f"this file system refuses O_DIRECT by {ssd_block} bytes: {error.strerror}")
    return store, ssd, os.open(folder / "control", os.O_RDWR | os.O_CREAT)


@blocks
def test_store_and_ssd_may_be_opened_with_o_direct(ssd_block: int, tmp_path: Path) -> None:
    fds = direct_files(tmp_path, ssd_block)
    rng, newest = Random(ssd_block), dict.fromkeys(range(PAGES), 0)
    for life in range(3):
        cache = opened(fds, ssd_block)
        assert cache.counts()[4:] == (True, SsdFound.OURS if life else SsdFound.EMPTY)
        for n in range(600):
            number = rng.choice([rng.randrange(PAGES), rng.randrange(24)])
            if rng.random() < 0.4:
                newest[number] = 1000 * life + n + 1
                cache.write(number, page(newest[number]))
            assert cache.read(number) == page(newest[number])
            if n % 100 == 0:
                cache.fsync()
        for number in range(PAGES):
            assert cache.read(number) == page(newest[number])
        cache.fsync()
        assert cache.counts().ssd_hits > 0
        assert cache.counts().ssd_in_use
        cache.close()
    os.close(fds[File.SSD])
    (tmp_path / "ssd").unlink()
    cache = opened((fds[0], os.open(tmp_path / "ssd", os.O_RDWR | os.O_CREAT), fds[2]), ssd_block)
    assert [cache.read(number) for number in range(PAGES)] == [page(newest[number]) for number in range(PAGES)]
    cache.close()

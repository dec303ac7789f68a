# SPDX-License-Identifier: PostgreSQL
"""The unit in which the SSD is read and written: where each request begins, in its file and in memory, what stands in a
slot, and files that are opened with O_DIRECT."""

import os
from collections.abc import Sequence
from mmap import mmap
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pgquern.tiercache import File, SsdFound, TierCache, Where

from ref.tiercache import PAGE_SIZE
from tests.tiercache.devices import FIRST_SLOT, SSD_BLOCKS, Disk

PAGES, SLOTS, FRAMES, ALIGNMENT = 80, 12, 16, 4096
blocks = pytest.mark.parametrize("ssd_block", SSD_BLOCKS)


def page(number: int) -> bytes:
    return number.to_bytes(8, "little") * (PAGE_SIZE // 8)


def opened(files: Any, ssd_block: int, **sizes: Any) -> TierCache:
    usual: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 2, "policy": "lru"}
    return TierCache(files, **(usual | sizes), ssd_block=ssd_block)


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

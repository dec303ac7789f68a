# SPDX-License-Identifier: PostgreSQL
"""The unit in which the SSD is read and written, and files that are opened with O_DIRECT."""

import os
from mmap import mmap
from pathlib import Path
from random import Random
from typing import Any

import pytest
from _pgquern import lib
from pgquern import PgquernError
from pgquern.tiercache import File, SsdFound, TierCache

from tests.tiercache.devices import SSD_BLOCKS, Disk, contents

PAGES, SLOTS, FRAMES = 80, 12, 16
blocks = pytest.mark.parametrize("ssd_block", SSD_BLOCKS)


def opened(files: Any, ssd_block: int, **sizes: Any) -> TierCache:
    usual: dict[str, Any] = {"pages": PAGES, "frames": FRAMES, "slots": SLOTS, "batch": 2, "policy": "lru"}
    return TierCache(files, **(usual | sizes), ssd_block=ssd_block)


@pytest.mark.parametrize("ssd_block", [1, 256, 511, 513, 1024, 2048, 4095, 4097, 8192])
def test_other_units_are_refused(ssd_block: int) -> None:
    with pytest.raises(PgquernError) as refused:
        opened(Disk(PAGES, SLOTS), ssd_block)
    assert refused.value.code == lib.PGQ_TIERCACHE_OPTIONS


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
                cache.write(number, contents(newest[number]))
            assert cache.read(number) == contents(newest[number])
            if n % 100 == 0:
                cache.fsync()
        for number in range(PAGES):
            assert cache.read(number) == contents(newest[number])
        cache.fsync()
        assert cache.counts().ssd_hits > 0
        assert cache.counts().ssd_in_use
        cache.close()
    os.close(fds[File.SSD])
    (tmp_path / "ssd").unlink()
    cache = opened((fds[0], os.open(tmp_path / "ssd", os.O_RDWR | os.O_CREAT), fds[2]), ssd_block)
    assert [cache.read(number) for number in range(PAGES)] == [contents(newest[number]) for number in range(PAGES)]
    cache.close()

# SPDX-License-Identifier: PostgreSQL
"""A process that writes pages through the cache on real files, until it is killed.

python -m tests.tiercache.killed FOLDER FIRST

Write number n, from FIRST on, fills page_of(n) with n. After each successful fsync the last number that it covers is
printed.
"""

import os
import sys
from pathlib import Path

from pgquern.tiercache import PAGE_SIZE, TierCache

PAGES, SLOTS = 96, 24


def page_of(n: int) -> int:
    """Some pages are written far more often than others."""
    scrambled = n * 2_654_435_761 % 2**32
    return scrambled % 12 if scrambled >> 16 & 1 else scrambled % PAGES


def contents(n: int) -> bytes:
    return n.to_bytes(8, "little") * (PAGE_SIZE // 8)


def open_cache(folder: Path) -> TierCache:
    """Over the three files of a folder, which are made if need be."""
    store, ssd, control = (os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("store", "ssd", "control"))
    return TierCache((store, ssd, control), pages=PAGES, frames=16, slots=SLOTS, batch=2)


def main(folder: Path, n: int) -> None:
    cache = open_cache(folder)
    while True:
        cache.write(page_of(n), contents(n))
        cache.read(page_of(n * 3))
        if n % 17 == 0:
            cache.write_back(page_of(n) // 16)
        if n % 50 == 0:
            cache.fsync()
            print(n, flush=True)
        n += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

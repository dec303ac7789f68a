# SPDX-License-Identifier: PostgreSQL
"""Random runs of the kernel on devices that fail, crashed at every operation on a file, and mounted again."""

from dataclasses import dataclass
from random import Random
from typing import Any

from _pgquern import lib
from pgquern import PgquernError
from pgquern.tiercache import File, TierCache

from ref.tiercache import BLOCK_PAGES, PAGE_SIZE, FlatFile
from tests.tally import tally
from tests.tiercache.devices import Disk, Volume, sectors

PAGES, SLOTS = 48, 8
SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""Of the unsynced sectors that a crash keeps."""


@dataclass
class Moment:
    """What a user could rely on from operation number `begin` on."""

    begin: int
    flat: FlatFile


def copy(flat: FlatFile) -> FlatFile:
    return FlatFile(dict(flat.newest), {page: list(all_) for page, all_ in flat.since_sync.items()})


def contents(number: int) -> bytes:
    """Each sector of each write is unlike any other."""
    return b"".join((number << 8 | sector).to_bytes(8, "little") * 64 for sector in range(PAGE_SIZE // 512))


class Run:
    """Random calls, with failures and short transfers if `faults`. `moments` has what a crash may leave, and when."""

    def __init__(self, seed: int, calls: int, *, faults: bool) -> None:
        self.rng = Random(seed)
        self.disk, self.flat, self.moments = Disk(PAGES, SLOTS), FlatFile(), list[Moment]()
        self.images: list[dict[File, Volume]] = []
        self.sizes: dict[str, Any] = {"pages": PAGES, "frames": 16, "slots": SLOTS, "batch": self.rng.choice([1, 2, 4])}
        self.written = seed << 20
        self.disk.before = self._note
        cache = TierCache(self.disk, **self.sizes)
        if faults:
            self.disk.fail = {n for n in range(20, 60 * calls) if self.rng.random() < 0.02}
            self.disk.short = {n for n in range(20, 60 * calls) if self.rng.random() < 0.05}
        for _ in range(calls):
            self._call(cache)
        cache.close()

    def _note(self) -> None:
        """Before each operation: the volumes as they are, and what may be left of them."""
        self.images.append({file: volume.copy() for file, volume in self.disk.volumes.items()})
        self.moments.append(Moment(len(self.disk.log), copy(self.flat)))

    def _call(self, cache: TierCache) -> None:
        page = self.rng.choice([self.rng.randrange(PAGES), self.rng.randrange(8)])
        what = self.rng.choices(("write", "read", "write_back", "fsync", "scan"), (50, 20, 10, 8, 5))[0]
        try:
            if what == "write":
                self.written += 1
                new = contents(self.written)
                # From here on a crash may leave it, though the call has not ended.
                before = copy(self.flat)
                self.flat.write(page, new)
                try:
                    cache.write(page, new)
                except PgquernError:
                    self.flat = before
                    raise
            elif what == "fsync":
                cache.fsync()
                self.flat.fsync()
            elif what == "write_back":
                cache.write_back(page // BLOCK_PAGES)
            else:
                for number in range(page, min(page + (12 if what == "scan" else 1), PAGES)):
                    assert cache.read(number) == self.flat.read(number)
        except PgquernError as error:
            if error.code not in (lib.PGQ_TIERCACHE_READ, lib.PGQ_TIERCACHE_LOST, lib.PGQ_TIERCACHE_WRITE_BACK):
                raise

    def points(self) -> int:
        """At how many moments the run can be crashed."""
        return len(self.images)

    def crash(self, point: int, rng: Random, *, lose_ssd: bool) -> None:
        """Crash before an operation, mount, read all, write a little, crash and mount again."""
        disk = Disk(PAGES, SLOTS)
        disk.volumes = {file: volume.copy() for file, volume in self.images[point].items()}
        flat = copy(self.moments[point].flat)
        for again in (False, True):
            disk.crash(sectors(rng, rng.choice(SHARES)), lose_ssd=lose_ssd)
            cache = TierCache(disk, **self.sizes)
            for page in rng.sample(range(PAGES), PAGES):
                left = cache.read(page)
                assert flat.may_leave(page, left), f"page {page} at operation {point}, mount {1 + again}"
                flat.crash(page, left)
            for page in rng.sample(range(PAGES), PAGES // 4):
                assert cache.read(page) == flat.read(page), "the same answer again"
            for _ in range(0 if again else 6):
                page = rng.randrange(PAGES)
                self.written += 1
                flat.write(page, contents(self.written))
                cache.write(page, contents(self.written))
            if not again and rng.random() < 0.5:
                cache.fsync()
                flat.fsync()
            cache.close()


def crash_everywhere(seed: int, wanted: int, *, faults: bool) -> None:
    """Crash runs at each of their operations, with the SSD and without it, until so many crashes have been survived."""
    done = 0
    while done < wanted:
        run = Run(seed, 100, faults=faults)
        for point in range(run.points()):
            for lose_ssd in (False, True):
                run.crash(point, Random(seed * 100_003 + point * 2 + lose_ssd), lose_ssd=lose_ssd)
                done += 1
        seed += 1
    tally("tiercache", "crash points", done)

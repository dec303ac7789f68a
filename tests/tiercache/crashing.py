# SPDX-License-Identifier: PostgreSQL
"""Random lives of the kernel on devices that fail; each is crashed at every operation on a file, those of opens too.

A crash is a kill or a power loss. Then the SSD may be gone, damaged, another store's, or as it was at any moment
before. The opens after it, and the calls after these, meet failures, too, and crash again.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from _pgquern import lib
from pgquern import PgquernError
from pgquern.tiercache import File, TierCache

from ref.tiercache import BLOCK_PAGES, PAGE_SIZE, SECTOR, FlatFile
from tests.common.tally import tally
from tests.tiercache.devices import SSD_BLOCKS, Disk, Fault, nothing, sectors

PAGES, SLOTS = 48, 8
SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""Of the unsynced sectors that a crash keeps."""
REFUSALS = (lib.PGQ_TIERCACHE_READ, lib.PGQ_TIERCACHE_CONTROL, lib.PGQ_TIERCACHE_WRITE_BACK)
FAILURES = (lib.PGQ_TIERCACHE_READ, lib.PGQ_TIERCACHE_LOST, lib.PGQ_TIERCACHE_WRITE_BACK)


def contents(number: int) -> bytes:
    """Each sector of each write is unlike any other."""
    return b"".join((number << 8 | sector).to_bytes(8, "little") * 64 for sector in range(PAGE_SIZE // 512))


def a_fault(rng: Random) -> Fault:
    """Lost, landed in part, or landed; after a sync the rest is dropped, or may become durable later."""
    share = rng.choice(SHARES)
    return Fault(sectors(rng, share) if share else nothing, rng.random() < 0.3)


def an_ssd_of_another_store(ssd_block: int) -> bytes:
    """Of the same shape, with the same pages."""
    disk = Disk(PAGES, SLOTS, seed=99, ssd_block=ssd_block)
    cache = TierCache(disk, pages=PAGES, frames=16, slots=SLOTS, ssd_block=ssd_block)
    for page in range(PAGES):
        cache.write(page, contents(0xFFFF))
    cache.close()
    return disk.copy_of_ssd()


@dataclass
class Life:
    """A disk, a cache above it, and what a user may rely on."""

    rng: Random
    faults: bool
    sizes: dict[str, Any]
    disk: Disk
    flat: FlatFile
    written: int
    ssds: list[tuple[int, bytes]] = field(default_factory=list)
    """Copies of the SSD, of earlier moments, and the opens before them."""
    opens: int = 0
    copied: bool = False
    """Since a kill in the middle of a write-back the SSD is an earlier copy: a power loss may then lose something."""
    cache: TierCache | None = None

    def copy(self, rng: Random) -> "Life":
        """Without a cache."""
        flat = FlatFile(dict(self.flat.newest), {page: list(all_) for page, all_ in self.flat.since_sync.items()})
        disk = Disk(PAGES, SLOTS, seed=rng.randrange(2**32))
        disk.volumes = {file: volume.copy() for file, volume in self.disk.volumes.items()}
        return Life(rng, True, self.sizes, disk, flat, self.written, self.ssds, self.opens)

    def plan(self, share: float) -> None:
        """Faults and short transfers, from now on."""
        self.disk.heal()
        if self.faults:
            at, rng = len(self.disk.log), self.rng
            self.disk.fail = {n: a_fault(rng) for n in range(at, at + 2000) if rng.random() < share}
            self.disk.short = {n for n in range(at, at + 2000) if rng.random() < 0.05}

    def open(self) -> bool:
        """False: it was refused, for a reason that there was."""
        try:
            self.cache = TierCache(self.disk, **self.sizes)
        except PgquernError as error:
            if error.code not in REFUSALS or not self.disk.fail:
                raise
            return False
        self.opens += 1
        self.copied = False
        return True

    def close(self) -> None:
        assert self.cache is not None
        self.cache.close()
        self.cache = None

    def read_all(self) -> None:
        """After a crash, without failures: what it has left counts from now on."""
        assert self.cache is not None
        planned, self.disk.fail = self.disk.fail, {}
        for page in self.rng.sample(range(PAGES), PAGES):
            left = self.cache.read(page)
            assert self.flat.may_leave(page, left), f"page {page}"
            self.flat.crash(page, left)
        for page in self.rng.sample(range(PAGES), PAGES // 4):
            assert self.cache.read(page) == self.flat.read(page), "the same answer again"
        self.disk.fail = planned

    def call(self) -> None:
        """A random one. It may fail."""
        assert self.cache is not None
        page = self.rng.choice([self.rng.randrange(PAGES), self.rng.randrange(8)])
        what = self.rng.choices(("write", "read", "write_back", "fsync", "scan"), (50, 20, 10, 10, 5))[0]
        try:
            if what == "write":
                self.write(page)
            elif what == "fsync":
                self.cache.fsync()
                self.flat.fsync()
            elif what == "write_back":
                self.cache.write_back(page // BLOCK_PAGES)
            else:
                for number in range(page, min(page + (12 if what == "scan" else 1), PAGES)):
                    assert self.cache.read(number) == self.flat.read(number)
        except PgquernError as error:
            if error.code not in FAILURES:
                raise

    def write(self, page: int) -> None:
        """From its beginning a crash may leave it, though the call has not ended. If it fails, the page stays."""
        assert self.cache is not None
        self.written += 1
        new, before = contents(self.written), self.flat.since_sync.get(page)
        older, known = self.flat.read(page), list(before or [])
        self.flat.write(page, new)
        try:
            self.cache.write(page, new)
        except PgquernError:
            self.flat.newest[page] = older
            self.flat.since_sync[page] = known
            if before is None:
                del self.flat.since_sync[page]
            raise

    # -- crashes

    def crash(self) -> None:
        """A kill or a power loss; and the SSD may not be what it was.

        It is no copy of the last mount's if a power loss came in the middle of a write-back: that is not promised.
        """
        store, power_lost = self.disk.volumes[File.STORE], not self.copied and self.rng.random() < 0.6
        older = [ssd for opens, ssd in self.ssds if opens < self.opens or not power_lost or store.now == store.durable]
        if power_lost:
            self.disk.lose_power(sectors(self.rng, self.rng.choice(SHARES)))
        what = self.rng.choices(("keeps", "lost", "older", "foreign", "damaged"), (60, 10, 20, 5, 5))[0]
        if what == "lost":
            self.disk.replace_ssd(None)
        elif what == "older" and older:
            self.disk.replace_ssd(self.rng.choice(older))
            self.copied = store.now != store.durable
        elif what == "foreign":
            self.disk.replace_ssd(FOREIGN[self.sizes["ssd_block"]])
        elif what == "damaged":
            left = bytearray(self.disk.copy_of_ssd())
            for _ in range(3):
                left[self.rng.randrange(len(left))] ^= 0xFF
            self.disk.replace_ssd(bytes(left))

    def recover(self) -> None:
        """Opens until one succeeds, with crashes between them; then what is left is read."""
        for attempt in range(4):
            self.plan(0.08)
            if attempt == 3:
                self.disk.heal()
            if self.open():
                break
            if self.rng.random() < 0.5:
                self.crash()
        self.read_all()

    def go_on(self) -> None:
        """Three times: crash, open, call a little, mostly with an fsync at the end."""
        for _ in range(3):
            self.crash()
            self.recover()
            if self.rng.random() < 0.7:
                for _ in range(self.rng.randrange(8)):
                    self.call()
            if self.rng.random() < 0.7:
                try:
                    assert self.cache is not None
                    self.cache.fsync()
                    self.flat.fsync()
                except PgquernError as error:
                    if error.code != lib.PGQ_TIERCACHE_WRITE_BACK:
                        raise
            self.close()


FOREIGN = {ssd_block: an_ssd_of_another_store(ssd_block) for ssd_block in SSD_BLOCKS}


def crash_everywhere(seed: int, wanted: int, *, faults: bool, ssd_block: int = SECTOR) -> None:
    """Crash lives at each of their operations, until so many crashes have been survived."""
    done = 0

    def before() -> None:
        nonlocal done
        if done < wanted:
            if len(life.disk.log) % 8 == 0:
                life.ssds.append((life.opens, life.disk.copy_of_ssd()))
            life.copy(Random(seed * 100_003 + len(life.disk.log))).go_on()
            done += 1

    while done < wanted:
        rng = Random(seed)
        sizes = {"pages": PAGES, "frames": 16, "slots": SLOTS, "batch": rng.choice([1, 2, 4]), "ssd_block": ssd_block}
        disk = Disk(PAGES, SLOTS, seed, ssd_block)
        life = Life(rng, faults, sizes, disk, FlatFile(), seed << 20)
        for _ in range(3):
            life.disk.before = before
            life.plan(0.02)
            while not life.open():
                pass
            life.disk.before = lambda: None
            life.read_all()
            life.disk.before = before
            for _ in range(30):
                life.call()
            life.close()
        seed += 1
    tally("tiercache", "crash points", done)

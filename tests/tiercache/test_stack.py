# SPDX-License-Identifier: PostgreSQL
"""The file I/O stack in one process, crashed at its operations on files: nothing that was flushed is lost.

A store of `tornpage` has its pages in a cache of `tiercache`. Each request to the cache's store holds its bytes in a
lock of `rangelock`, and goes through a scheduler of `ioshares`. A crash keeps any of the unsynced sectors of each file.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from random import Random

import pytest
from _pgquern import lib
from hypothesis import settings
from pgquern import PgquernError, tornpage
from pgquern.ioshares import Class, Limits, Request, Scheduler
from pgquern.rangelock import RangeLock
from pgquern.tiercache import File, TierCache
from pgquern.tornpage import Protection, Store

from ref.tiercache import PAGE_SIZE
from tests.common.tally import tally
from tests.tiercache.devices import Disk, Volume, sectors

pytestmark = pytest.mark.claim7

SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)
"""Of the unsynced sectors that a crash keeps."""
PAGES, SLOTS, LOG = 32, 8, 1 << 20
SIZES = {
    tornpage.File.LOG: LOG,
    tornpage.File.AREA: 4096 + 4 * PAGE_SIZE,
    tornpage.File.CONTROL: 8192,
}
State = tuple[bytes, ...]


class Below(Disk):
    """The cache's files; each request to the store is locked, and scheduled."""

    def __init__(self) -> None:
        super().__init__(PAGES, SLOTS)
        self.lock = RangeLock(variant="interval")
        self.scheduler = Scheduler([Class(500, 1 << 20, 8), Class(200, 0, 8)], Limits(1, 2, 4, 16, 10**6))
        self.scheduled = 0

    @contextmanager
    def request(self, file: File, size: int, offset: int, *, write: bool) -> Iterator[None]:
        if file is not File.STORE:
            yield
            return
        with self.lock.range(offset, size, exclusive=write):
            request = Request(int(write), size, self.scheduled)
            self.scheduler.submit(request)
            assert self.scheduler.next() == request
            self.scheduled += 1
            try:
                yield
            finally:
                self.scheduler.complete(request.cls, 1000)

    def read(self, file: File, size: int, offset: int) -> bytes:
        with self.request(file, size, offset, write=False):
            return super().read(file, size, offset)

    def write(self, file: File, contents: bytes, offset: int) -> int:
        with self.request(file, len(contents), offset, write=True):
            return super().write(file, contents, offset)


class Stack:
    """The four parts; `below` and `volumes` have all that a crash leaves. A tornpage.Device."""

    def __init__(self, protection: Protection, below: Below, volumes: dict[tornpage.File, Volume]) -> None:
        self.protection, self.below, self.volumes = protection, below, volumes
        self.cache = TierCache(below, pages=PAGES, frames=16, slots=SLOTS, batch=1)
        self.store = Store(self, protection=protection, block_size=PAGE_SIZE, pages=PAGES, log_capacity=LOG, slots=4)

    def read(self, file: int, at: int, size: int) -> bytes:
        if file != tornpage.File.DATA:
            return bytes(self.volumes[tornpage.File(file)].now[at : at + size]).ljust(size, b"\0")
        return b"".join(self.cache.read(page) for page in range(at // PAGE_SIZE, (at + size) // PAGE_SIZE))

    def write(self, file: int, at: int, data: bytes) -> None:
        if file == tornpage.File.DATA:
            self.cache.write(at // PAGE_SIZE, data)
            return
        self.below.before()
        self.volumes[tornpage.File(file)].write(0, data, at)

    def sync(self, file: int) -> None:
        if file == tornpage.File.DATA:
            self.cache.fsync()
            return
        self.below.before()
        self.volumes[tornpage.File(file)].sync()

    def close(self) -> None:
        self.cache.close()
        self.below.lock.close()

    def state(self) -> State:
        """What a user sees of the pages."""
        return tuple(self.store.page(page)[24:] for page in range(PAGES))

    def crashed(self, rng: Random) -> "Stack":
        """What is left of a crash at this moment, not recovered yet. Each file keeps a share of its own."""
        below = Below()
        below.volumes = {file: volume.copy() for file, volume in self.below.volumes.items()}
        below.lose_power(sectors(rng, rng.choice(SHARES)))
        if rng.random() < 0.3:
            below.replace_ssd(None)
        left = {file: volume.crashed(sectors(rng, rng.choice(SHARES))) for file, volume in self.volumes.items()}
        return Stack(self.protection, below, {file: Volume(now, bytearray(now)) for file, now in left.items()})


class Life:
    """Random changes, flushes, write-backs and checkpoints. `states` are those after each change."""

    def __init__(self, protection: Protection, seed: int) -> None:
        self.rng = Random(seed)
        volumes = {file: Volume(bytearray(size), bytearray(size)) for file, size in SIZES.items()}
        self.stack = Stack(protection, Below(), volumes)
        self.stack.store.format()
        self.states = [self.stack.state()]
        self.durable = 0
        """The number of the state that the last flush has covered."""
        self.left: list[tuple[Stack, int]] = []
        """Stacks after a crash, and the state that was durable then."""
        self.stack.below.before = self.maybe_crash

    def maybe_crash(self) -> None:
        """Mostly while the store has pages that are not synced: they may be torn."""
        if self.rng.random() < (0.6 if self.stack.below.volumes[File.STORE].pending else 0.05):
            self.left.append((self.stack.crashed(self.rng), self.durable))

    def step(self) -> None:
        store, rng = self.stack.store, self.rng
        what = rng.choices(("change", "flush", "write back", "checkpoint", "read"), (50, 15, 15, 5, 15))[0]
        page = rng.choice([rng.randrange(PAGES), rng.randrange(6)])
        if what == "change":
            store.change(page, rng.randrange(24, PAGE_SIZE - 100), rng.randbytes(100))
            changed = store.page(page)[24:]
            self.states.append((*self.states[-1][:page], changed, *self.states[-1][page + 1 :]))
        elif what == "flush":
            store.flush()
            self.durable = len(self.states) - 1
        elif what == "write back":
            store.write_back(rng.sample(range(PAGES), 6))
        elif what == "checkpoint":
            store.checkpoint_begin()
            self.stack.cache.fsync()
            store.checkpoint_end()
        else:
            for number in range(page, min(page + 8, PAGES)):
                self.stack.cache.read(number)
        assert store.failure is None


def recover(stack: Stack) -> State:
    """Twice the same: the second restart comes after a checkpoint."""
    stack.store.recover()
    found = stack.state()
    stack.store.checkpoint_begin()
    stack.store.checkpoint_end()
    again = stack.crashed(Random(1))
    again.store.recover()
    assert again.state() == found
    again.close()
    return found


def lives(protection: Protection, crashes: int) -> Iterator[tuple[Life, Stack, int]]:
    """Lives with their crashes, until there were so many."""
    done = 0
    for seed in count():
        life = Life(protection, seed)
        for _ in range(60):
            life.step()
            while life.left:
                left, durable = life.left.pop()
                yield life, left, durable
                left.close()
                done += 1
                if done == crashes:
                    tally("tiercache", "crashes of the stack", done)
                    return
        life.stack.close()


@pytest.mark.parametrize("protection", [Protection.IMAGES, Protection.DOUBLE_WRITE], ids=lambda p: p.name.lower())
def test_what_was_flushed_survives_a_crash_of_the_stack(protection: Protection) -> None:
    scheduled = 0
    for life, left, durable in lives(protection, settings().max_examples // 4 + 50):
        found = recover(left)
        assert found in life.states[durable:], "a flushed change is lost, or the state never was"
        scheduled += life.stack.below.scheduled
    assert scheduled > 0


def outcome(store: Store) -> int:
    """The code of a recovery."""
    try:
        store.recover()
    except PgquernError as error:
        return error.code
    return int(lib.PGQ_OK)


def test_without_protection_a_crash_of_the_stack_tears_pages() -> None:
    """So the crashes above are such that protection is needed."""
    torn = 0
    for life, left, durable in lives(Protection.NONE, 60):
        code = outcome(left.store)
        assert code in (lib.PGQ_OK, lib.PGQ_TORNPAGE_WRONG_PAGE)
        torn += code == lib.PGQ_TORNPAGE_WRONG_PAGE
        assert code != lib.PGQ_OK or left.state() in life.states[durable:]
    assert torn > 0

# SPDX-License-Identifier: PostgreSQL
"""Random lives of a store, and what may be left of one after a crash."""

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, NamedTuple

from _pgquern import lib
from pgquern import PgquernError
from pgquern.tornpage import Device as Files
from pgquern.tornpage import Store

from ref import tornpage as ref
from tests.tornpage.crash import Device, Operation

Contents = tuple[bytes, ...]
"""The pages without their headers."""


class Shape(NamedTuple):
    """A store and the sectors under it."""

    protection: ref.Protection
    block_size: int = 1024
    pages: int = 3
    records: int = 5
    """Room of the log, in images of a page."""
    slots: int = 2
    sector: int = 512

    def config(self) -> ref.Config:
        room = self.records * (self.block_size + ref.RECORD.size)
        return ref.Config(self.protection, self.block_size, self.pages, room, self.slots)

    def device(self) -> Device:
        config = self.config()
        sizes = {
            int(ref.File.DATA): self.pages * self.block_size,
            int(ref.File.LOG): config.log_capacity,
            int(ref.File.AREA): ref.SECTOR + self.slots * self.block_size,
            int(ref.File.CONTROL): 2 * ref.SECTOR,
        }
        return Device(sizes, self.sector, atomic=self.block_size if self.protection is ref.Protection.ATOMIC else None)


def kernel(shape: Shape, device: Files) -> Store:
    """The C store."""
    c = shape.config()
    return Store(device, **{name: int(value) for name, value in c._asdict().items()})


class Oracle:
    """The definition, with the binding's calls and refusals."""

    def __init__(self, shape: Shape, device: Files) -> None:
        self.store = ref.Store(shape.config(), device)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def page(self, number: int) -> bytes:
        return bytes(self.store.pages[number])

    def change(self, page: int, offset: int, data: bytes) -> None:
        try:
            self.store.change(page, offset, data)
        except ref.LogFull:
            raise PgquernError(lib.PGQ_TORNPAGE_LOG_FULL) from None

    def recover(self) -> None:
        try:
            self.store.recover()
        except ref.TornPage as torn:
            raise PgquernError(lib.PGQ_TORNPAGE_WRONG_PAGE, torn.page + 1) from None
        except ref.DamagedLog as ahead:
            raise PgquernError(lib.PGQ_TORNPAGE_AHEAD, ahead.page + 1) from None
        except tuple(REFUSALS) as refusal:
            raise PgquernError(REFUSALS[type(refusal)]) from None


REFUSALS: dict[type[Exception], int] = {
    ref.NoStore: lib.PGQ_TORNPAGE_NO_STORE,
    ref.OtherShape: lib.PGQ_TORNPAGE_SHAPE,
    ref.OtherLog: lib.PGQ_TORNPAGE_OTHER_LOG,
    OSError: lib.PGQ_TORNPAGE_IO,
}

Opener = Callable[[Shape, Files], Any]


def contents(store: Any, shape: Shape) -> Contents:
    return tuple(store.page(number)[ref.PAGE_HEADER :] for number in range(shape.pages))


class Life:
    """A store that is changed at random. What must hold after a crash, the world asks (world.c)."""

    def __init__(self, shape: Shape, store: Any, rng: Random) -> None:
        """From an open store on, whatever is in it."""
        self.shape, self.store, self.rng = shape, store, rng

    @classmethod
    def new(cls, shape: Shape, open_store: Opener, device: Device, seed: int) -> "Life":
        store = open_store(shape, device)
        store.format()
        return cls(shape, store, Random(seed))

    def change(self) -> None:
        """Some bytes of a page, in one sector or across two; or nearly the whole page."""
        size, rng = self.shape.block_size, self.rng
        length = rng.choice([1, 8, 100, size // 2, size - ref.PAGE_HEADER])
        offset = rng.randrange(ref.PAGE_HEADER, size - length + 1)
        page, data = rng.randrange(self.shape.pages), rng.randbytes(length)
        try:
            self.store.change(page, offset, data)
        except PgquernError as refusal:
            if refusal.code != lib.PGQ_TORNPAGE_LOG_FULL:
                raise
            self.checkpoint()
            self.store.change(page, offset, data)

    def write_back(self) -> None:
        self.store.write_back([self.rng.randrange(self.shape.pages) for _ in range(self.rng.randrange(1, 4))])

    def checkpoint(self) -> None:
        self.store.checkpoint_begin()
        self.store.checkpoint_end()

    def spread_checkpoint(self) -> None:
        """With changes and pages written back in between, and a second beginning."""
        self.store.checkpoint_begin()
        for _ in range(self.rng.randrange(4)):
            self.rng.choice([self.change, self.write_back, self.store.checkpoint_begin])()
        self.store.checkpoint_end()

    def step(self) -> None:
        """One call."""
        self.rng.choices(
            [self.change, self.store.flush, self.write_back, self.checkpoint, self.spread_checkpoint], [10, 3, 4, 1, 1]
        )[0]()


class World:
    """The definition under faults of every kind, in its lives and its recoveries."""

    def __init__(self, shape: Shape, rng: Random) -> None:
        self.shape, self.rng = shape, rng
        self.device = shape.device()
        self.store = Oracle(shape, self)
        self.store.format()

    def read(self, file: int, at: int, size: int) -> bytes:
        return self.device.read(file, at, size)

    def write(self, file: int, at: int, data: bytes) -> None:
        self.device.write(file, at, data)

    def sync(self, file: int) -> None:
        self.device.sync(file)

    def fail_at(self, number: int, call: Callable[[], None]) -> bool:
        """Run; the operation of this number fails, and lands in part. True: there was none of that number."""
        device, stopped, seen = self.device, list[Operation](), count()

        def before(operation: Operation) -> None:
            if next(seen) == number:
                stopped.append(operation)
            if stopped:
                raise OSError(5, "Input/output error")

        device.before = before
        try:
            call()
        except (PgquernError, OSError):
            if not stopped:
                raise
        finally:
            device.before = None
        if stopped:
            self.device = device.interrupted(stopped[0], self.rng)
        return not stopped

    def restart(self) -> None:
        """Kill the process, or let the power fail; or what the kernel has forgotten is read anew."""
        fate = self.rng.randrange(5)
        if fate < 2:
            self.device = self.device.killed(self.rng)
        elif fate < 4:
            self.device = self.device.power_loss(self.rng)
        elif self.rng.random() < 0.5:
            self.device.evict(self.rng)

    def recover(self, number: int) -> bool:
        """In a new process. False: it was stopped."""
        self.store = Oracle(self.shape, self)
        return self.fail_at(number, self.store.recover)

    def live(self, number: int, steps: int) -> None:
        life = Life(self.shape, self.store, self.rng)

        def run() -> None:
            for _ in range(steps):
                life.step()

        self.fail_at(number, run)

# SPDX-License-Identifier: PostgreSQL
"""Random lives of a store, and what may be left of one after a crash."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from _pgquern import lib
from pgquern import PgquernError
from pgquern.tornpage import Store

from ref import tornpage as ref
from tests.tornpage.crash import Device

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
        return Device(sizes, atomic=self.block_size if self.protection is ref.Protection.ATOMIC else None)


def kernel(shape: Shape, device: Device) -> Store:
    """The C store."""
    c = shape.config()
    return Store(device, **{name: int(value) for name, value in c._asdict().items()})


class Oracle:
    """The definition, with the binding's calls and refusals."""

    def __init__(self, shape: Shape, device: Device) -> None:
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


Opener = Callable[[Shape, Device], Any]


def contents(store: Any, shape: Shape) -> Contents:
    return tuple(store.page(number)[ref.PAGE_HEADER :] for number in range(shape.pages))


class Life:
    """A store that is changed at random.

    `states`: the contents after each number of changes; `durable`: how many of them must survive.
    """

    def __init__(self, shape: Shape, open_store: Opener, device: Device, seed: int) -> None:
        self.shape, self.device, self.rng = shape, device, Random(seed)
        self.store = open_store(shape, device)
        self.store.format()
        self.states = [contents(self.store, shape)]
        self.durable = 0

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
        now = bytearray(self.states[-1][page])
        at = offset - ref.PAGE_HEADER
        now[at : at + length] = data
        self.states.append((*self.states[-1][:page], bytes(now), *self.states[-1][page + 1 :]))

    def flush(self) -> None:
        self.store.flush()
        self.durable = len(self.states) - 1

    def write_back(self) -> None:
        self.store.write_back([self.rng.randrange(self.shape.pages) for _ in range(self.rng.randrange(1, 4))])

    def checkpoint(self) -> None:
        self.store.checkpoint_begin()
        self.store.checkpoint_end()

    def spread_checkpoint(self) -> None:
        """With changes and pages written back in between."""
        self.store.checkpoint_begin()
        for _ in range(self.rng.randrange(3)):
            self.rng.choice([self.change, self.write_back])()
        self.store.checkpoint_end()

    def step(self) -> None:
        """One call."""
        self.rng.choices(
            [self.change, self.flush, self.write_back, self.checkpoint, self.spread_checkpoint], [10, 3, 4, 1, 1]
        )[0]()

    def allowed(self) -> list[Contents]:
        """What a crash now may leave."""
        return self.states[self.durable :]


class Watched(Device):
    """A device that calls `watch` around each write and sync."""

    watch: Callable[[], None] | None = None

    def _look(self) -> None:
        if self.watch is not None:
            self.watch()

    def write(self, file: int, at: int, data: bytes) -> None:
        super().write(file, at, data)
        self._look()

    def sync(self, file: int) -> None:
        super().sync(file)
        self._look()


def watched(device: Device) -> Watched:
    """The same files, watched."""
    return Watched(device.sizes, device.sector, device.atomic, device.durable)


def lives(shape: Shape, open_store: Opener, seed: int, steps: int, most: int) -> Iterator[tuple[Life, Device]]:
    """Every crash of a life: at each write and sync, states of the device that it may leave, `most` at each."""
    device = watched(shape.device())
    life = Life(shape, open_store, device, seed)
    rng = Random(seed)
    found: list[Device] = []
    device.watch = lambda: found.extend(device.crashes(rng, most))
    for _ in range(steps):
        durable, known = life.durable, len(life.states)
        life.step()
        now = life.durable
        life.durable = durable  # while the call ran, no more was promised
        for crashed in found:
            yield life, crashed
        life.durable = now
        found.clear()
        assert len(life.states) >= known
        yield life, next(device.crashes(rng, 1))

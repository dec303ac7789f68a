# SPDX-License-Identifier: PostgreSQL
"""Faults of every kind, mixed, and several in a row: kills, power losses, failed reads, writes and syncs, at every
operation of a format, a life and a recovery. A failed write lands wholly, in part or not; a failed sync may forget what
it was for.

Whatever happens: a recovery finds all that was durable, and no mixture; none is refused but where a format has not
ended.
"""

from collections.abc import Callable
from random import Random

import pytest
from pgquern import PgquernError

from ref.tornpage import SECTOR, Control, File, Protection
from tests.common.tally import tally
from tests.tornpage.crash import Device, Operation
from tests.tornpage.worlds import Life, Opener, Oracle, Shape, World, contents, fill_log, kernel

pytestmark = pytest.mark.claim7

SHAPES = {
    "images": Shape(Protection.IMAGES, block_size=2048, pages=2),
    "images, large sectors": Shape(Protection.IMAGES, block_size=8192, sector=4096),
    "double write": Shape(Protection.DOUBLE_WRITE, block_size=1024, pages=4),
    "double write, large sectors": Shape(Protection.DOUBLE_WRITE, block_size=8192, slots=1, sector=4096),
    "atomic": Shape(Protection.ATOMIC),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
FAR = 10**6


def settle(world: World, first: int, most: int) -> int:
    """Recover; the first recovery fails at operation `first`, up to `most` later ones at any. How many faults."""
    for fault in range(most):
        world.restart()
        if world.recover(first if fault == 0 else world.rng.randrange(24)):
            return fault
    world.restart()
    assert world.recover(FAR)
    return most


def walk(shape: Shape, open_store: Opener, seed: int, rounds: int) -> int:
    """A life of a world: formats, lives and recoveries, each stopped somewhere or not. How many faults."""
    world = World(shape, open_store, Random(seed))
    world.format(FAR)
    faults = 0
    for _ in range(rounds):
        if world.store is not None:
            last = world.rng.choice([1, 4, 16, 64]) * world.rng.randrange(4)
            faults += not world.live(last, steps=world.rng.randrange(12))
        if world.rng.random() < 0.05:
            faults += not world.format(world.rng.randrange(20))
        faults += settle(world, world.rng.randrange(24), world.rng.choice([0, 1, 1, 3]))
        if world.store is None:
            assert world.format(FAR)
    return faults


@every_shape
def test_faults_of_the_definition(shape: Shape) -> None:
    tally("tornpage", "faults", walk(shape, Oracle, 1, rounds=12))


CONTROL = int(File.CONTROL)


def failing(device: Device, wanted: Callable[[Operation], bool], effect: Callable[[Operation], None]) -> None:
    """The first operation that is wanted fails, and has this effect; so do all after it, with none."""
    failed = list[Operation]()

    def look(operation: Operation) -> None:
        if not failed and wanted(operation):
            failed.append(operation)
            effect(operation)
        if failed:
            raise OSError(5, "Input/output error")

    device.before = look


def forgetting(device: Device, file: int) -> None:
    """The next sync of the file fails, and forgets all that it was for."""

    def forget(_: Operation) -> None:
        device.pending = {where: contents for where, contents in device.pending.items() if where[0] != file}

    failing(device, lambda operation: operation == ("sync", file), forget)


@pytest.mark.parametrize("open_store", [kernel, Oracle])
def test_an_area_that_was_forgotten(open_store: Opener) -> None:
    """It is read, and not durable; its page is torn in its place, and the power fails."""
    shape = Shape(Protection.DOUBLE_WRITE, slots=1)
    device = shape.device()
    store = open_store(shape, device)
    store.format()
    store.change(0, 24, b"x" * 1000)
    forgetting(device, int(File.AREA))
    with pytest.raises((PgquernError, OSError)):
        store.write_back([0])
    left = device.copy()

    def tear(operation: Operation) -> None:
        _, file, at, data = operation  # type: ignore[misc]
        left.land(file, at, data[:512])

    failing(left, lambda operation: operation[:2] == ("write", int(File.DATA)), tear)
    with pytest.raises((PgquernError, OSError)):
        open_store(shape, left).recover()
    left.before = None
    left.sync(int(File.DATA))
    store = open_store(shape, Device(left.sizes, left.sector, left.atomic, left.durable))
    store.recover()
    assert store.page(0)[24:] == b"x" * 1000


@pytest.mark.parametrize("open_store", [kernel, Oracle])
@pytest.mark.parametrize("then", ["recover", "format"])
def test_a_control_that_was_forgotten(then: str, open_store: Opener) -> None:
    """It is read, and not durable; the next one goes over the one before it, lands in part, and the power fails.

    Without the one before it there would be one from before that, and its log has been overwritten.
    """
    shape = Shape(Protection.ATOMIC, records=2)
    device = shape.device()
    life = Life.new(shape, open_store, device, 5)
    for _ in range(3):
        life.change()
        life.checkpoint()
    fill_log(life.store)
    life = Life(shape, life.store, life.rng)
    slots = [Control.decode(device.read(CONTROL, at, 64)) for at in (0, SECTOR)]
    newest = max(slot.generation for slot in slots if slot)

    forgetting(device, CONTROL)
    with pytest.raises((PgquernError, OSError)):
        life.checkpoint()
    life.durable = len(life.states) - 1  # the log was durable before the control was written
    left = device.copy()

    def is_next(operation: Operation) -> bool:
        return operation[:2] == ("write", CONTROL) and operation[3][8] == newest + 2  # type: ignore[misc]

    def land(operation: Operation) -> None:
        _, file, at, data = operation  # type: ignore[misc]
        left.land(file, at, data[:40])

    failing(left, is_next, land)
    with pytest.raises((PgquernError, OSError)):
        getattr(open_store(shape, left), then)()
    left.before = None
    left.sync(CONTROL)
    store = open_store(shape, Device(left.sizes, left.sector, left.atomic, left.durable))
    store.recover()
    assert contents(store, shape) in life.allowed()

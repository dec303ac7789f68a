# SPDX-License-Identifier: PostgreSQL
"""The C store does the same file operations as its definition, after crashes too, and refuses the same files.

What must hold after a crash, the world asks (world.c).
"""

from collections import Counter
from random import Random
from typing import Any

import pytest
from _pgquern import lib
from pgquern import PgquernError

from ref.tornpage import CONTROL, File, Protection
from tests.common.tally import tally
from tests.tornpage.crash import Device
from tests.tornpage.worlds import Life, Oracle, Shape, contents, kernel

SHAPES = {
    "images": Shape(Protection.IMAGES),
    "images, four sectors": Shape(Protection.IMAGES, block_size=2048, pages=2),
    "double write": Shape(Protection.DOUBLE_WRITE),
    "double write, four sectors": Shape(Protection.DOUBLE_WRITE, block_size=2048, pages=2, slots=1),
    "atomic": Shape(Protection.ATOMIC),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


def life_of(device: Device) -> int:
    """The number that a format drew."""
    generation_2 = device.current[int(File.CONTROL)][: CONTROL.size]
    return int(CONTROL.unpack(generation_2)[4])


@every_shape
@pytest.mark.parametrize("seed", range(8))
def test_the_same_operations_as_the_definition(shape: Shape, seed: int) -> None:
    """Byte by byte: in format, in a life, and in recovery from a power loss or a kill of it, with failed syncs."""
    ours, theirs = shape.device(), shape.device()
    runs = [Life.new(shape, kernel, ours, seed)]
    oracle = Oracle(shape, theirs)
    oracle.format(life_of(ours))
    runs.append(Life(shape, oracle, Random(seed)))
    for _ in range(120):
        for run in runs:
            run.step()
        assert ours.operations == theirs.operations
        for page in range(shape.pages):
            assert runs[0].store.page(page) == oracle.page(page)
    for make in (Device.power_loss, Device.killed) * 3:
        left = [make(device, Random(seed)) for device in (ours, theirs)]
        stores = kernel(shape, left[0]), Oracle(shape, left[1])
        for store in stores:
            store.recover()
        assert left[0].operations == left[1].operations
        assert contents(stores[0], shape) == contents(stores[1], shape)
        kernel(shape, left[0]).format()
        Oracle(shape, left[1]).format(life_of(left[0]))
        assert left[0].operations == left[1].operations
    tally("tornpage", "operations compared", len(ours.operations))


def recovery(store: Any, device: Device, shape: Shape) -> tuple[int, int, Any]:
    """The code of a recovery and its index, and what it finds, or what a refusal has written."""
    device.operations.clear()
    try:
        store.recover()
    except PgquernError as refusal:
        return refusal.code, refusal.index, list(device.operations)
    return int(lib.PGQ_OK), 0, contents(store, shape)


def changed(device: Device, older: Device, other: Device, rng: Random) -> Device:
    """Another file in the place of one: empty, of an earlier moment, of another store, cut, or with other bytes."""
    left, file = device.copy(), int(rng.choice(list(File)))
    now = left.current[file]
    how = rng.randrange(5)
    if how < 3:
        now[:] = (bytearray(len(now)), older.current[file], other.current[file])[how]
    elif how == 3:
        at = rng.randrange(len(now))
        now[at:] = bytes(len(now) - at)
    else:
        for _ in range(rng.randrange(1, 20)):
            now[rng.randrange(len(now))] = rng.randrange(256)
    return left


@every_shape
def test_the_same_files_are_refused_as_by_the_definition(shape: Shape) -> None:
    """With the same code and index, and nothing is written then. What is not refused is the same."""
    codes = Counter[int]()
    for seed in range(150):
        rng, device, other = Random(seed), shape.device(), shape.device()
        life, older = Life.new(shape, kernel, device, seed), device.copy()
        for step in range(rng.randrange(30)):
            life.step()
            if step == 5:
                older = device.copy()
        kernel(shape, other).format()
        left = changed(device, older, other, rng)
        asked = shape if rng.random() < 0.8 else shape._replace(slots=shape.slots + 1)
        for file in left.current:
            left.current[file] = left.current[file].ljust(asked.device().sizes[file], b"\0")
        left.sizes = asked.device().sizes
        twin = left.copy()
        found = recovery(kernel(asked, left), left, asked)
        assert found == recovery(Oracle(asked, twin), twin, asked), seed
        codes[found[0]] += 1
        if found[0] != lib.PGQ_OK:
            assert found[2] == [], seed
    codes_wanted = {lib.PGQ_OK, lib.PGQ_TORNPAGE_NO_STORE, lib.PGQ_TORNPAGE_SHAPE}
    assert codes_wanted | {lib.PGQ_TORNPAGE_OTHER_LOG, lib.PGQ_TORNPAGE_AHEAD} <= set(codes), codes


def test_a_change_may_come_from_the_page_itself() -> None:
    """Its position in the log is among the bytes: they are those of before the change."""
    shape = Shape(Protection.DOUBLE_WRITE)
    store = kernel(shape, shape.device())
    store.format()
    store.change(0, 40, b"first")
    before = store.page(0)
    status = lib.pgq_tornpage_change(store._store, 0, 28, lib.pgq_tornpage_page(store._store, 0), 24)
    assert status.code == lib.PGQ_OK
    assert store.page(0)[28:52] == before[:24]
    assert store.page(0)[:8] != before[:8]

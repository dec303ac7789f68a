# SPDX-License-Identifier: PostgreSQL
"""Crashes of the store: whatever subset of sectors each leaves, recovery finds all that was durable, and no mixture.

Also in a crash during recovery, and after one. The C store does the same file operations as its definition.
"""

from collections import Counter
from random import Random

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError
from pgquern.tornpage import Store

from ref.tornpage import CONTROL, RECORD, File, Protection
from tests.common.tally import tally
from tests.tornpage.crash import Device
from tests.tornpage.worlds import Life, Opener, Oracle, Shape, contents, kernel, lives

pytestmark = pytest.mark.claim7

SHAPES = {
    "images": Shape(Protection.IMAGES),
    "images, four sectors": Shape(Protection.IMAGES, block_size=2048, pages=2),
    "double write": Shape(Protection.DOUBLE_WRITE),
    "double write, four sectors": Shape(Protection.DOUBLE_WRITE, block_size=2048, pages=2, slots=1),
    "atomic": Shape(Protection.ATOMIC),
}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())


def recovered(shape: Shape, open_store: Opener, crashed: Device, allowed: list[tuple[bytes, ...]]) -> int:
    """Recover, and say which of the allowed states it is."""
    store = open_store(shape, crashed)
    store.recover()
    found = contents(store, shape)
    assert found in allowed, "recovery found a state that never was, or lost a durable change"
    return allowed.index(found)


@every_shape
def test_crashes_of_the_definition(shape: Shape) -> None:
    for allowed, crashed in lives(shape, Oracle, 3, steps=20, most=4):
        recovered(shape, Oracle, crashed, allowed)
        tally("tornpage", "crashes")


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


@pytest.mark.parametrize("open_store", [kernel, Oracle])
def test_without_protection_a_torn_page_is_detected(open_store: Opener) -> None:
    """Recovery then names the page, or the crash tore none; it never goes on with a mixture."""
    shape, answers = Shape(Protection.NONE), Counter[str]()
    for allowed, crashed in lives(shape, open_store, 5, steps=40, most=8):
        try:
            recovered(shape, open_store, crashed, allowed)
            answers["whole"] += 1
        except PgquernError as refusal:
            if refusal.code != lib.PGQ_TORNPAGE_WRONG_PAGE or not 1 <= refusal.index <= shape.pages:
                raise
            answers["torn"] += 1
    assert answers["torn"] > 20
    assert answers["whole"] > 20


@pytest.mark.parametrize("open_store", [kernel, Oracle])
def test_a_damaged_log_is_refused(open_store: Opener) -> None:
    """Pages that were written back are there, and their records no longer: that is no crash. The first is told."""
    shape = Shape(Protection.DOUBLE_WRITE)
    device = shape.device()
    store = open_store(shape, device)
    store.format()
    for page in (1, 2):
        store.change(page, 24, b"x")
    store.write_back([1, 2])
    changed = bytes([device.read(int(File.LOG), RECORD.size, 1)[0] ^ 1])
    device.write(int(File.LOG), RECORD.size, changed)
    with pytest.raises(PgquernError) as refusal:
        open_store(shape, device).recover()
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_TORNPAGE_AHEAD, 2)


def test_what_was_never_formatted_is_refused() -> None:
    shape = Shape(Protection.IMAGES)
    with pytest.raises(PgquernError) as refusal:
        kernel(shape, shape.device()).recover()
    assert refusal.value.code == lib.PGQ_TORNPAGE_NO_STORE
    with pytest.raises(PgquernError) as refusal:
        kernel(shape, shape.device()).flush()
    assert refusal.value.code == lib.PGQ_TORNPAGE_NO_STORE


def test_bad_arguments() -> None:
    shape = Shape(Protection.IMAGES)
    store = kernel(shape, shape.device())
    store.format()
    for page, offset, data in ((3, 24, b"x"), (0, 23, b"x"), (0, 1024, b"x"), (0, 1020, b"12345"), (0, 24, b"")):
        with pytest.raises(PgquernError) as refusal:
            store.change(page, offset, data)
        assert refusal.value.code == lib.PGQ_TORNPAGE_RANGE
    with pytest.raises(PgquernError) as refusal:
        store.write_back([0, 3])
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_TORNPAGE_RANGE, 2)
    for wrong in (
        shape._replace(pages=0),
        shape._replace(pages=2**32 - 1),
        shape._replace(slots=0),
        shape._replace(slots=256),
        shape._replace(records=1),
    ):
        with pytest.raises(PgquernError) as refusal:
            kernel(wrong, shape.device())
        assert refusal.value.code == lib.PGQ_TORNPAGE_CONFIG
    good = {name: int(value) for name, value in shape.config()._asdict().items()}
    for capacity in (good["log_capacity"] - 4, 2 * (shape.block_size + RECORD.size) - 8):
        with pytest.raises(PgquernError) as refusal:
            Store(shape.device(), **(good | {"log_capacity": capacity}))
        assert refusal.value.code == lib.PGQ_TORNPAGE_CONFIG
    status = lib.pgq_tornpage_write_back(store._store, ffi.NULL, 1)
    assert status.code == lib.PGQ_NULL
    assert lib.pgq_tornpage_write_back(store._store, ffi.NULL, 0).code == lib.PGQ_OK


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

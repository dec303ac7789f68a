# SPDX-License-Identifier: PostgreSQL
"""Files that are lost, cut, another store's or older; heads that are torn; and what each refusal leaves."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError

from ref.tornpage import AREA_ENTRY, AREA_HEAD, SECTOR, File, Protection
from tests.tornpage.crash import Device, Operation
from tests.tornpage.worlds import Contents, Life, Opener, Oracle, Shape, contents, kernel

both = pytest.mark.parametrize("open_store", [kernel, Oracle])


def outcome(shape: Shape, device: Device, may: list[Contents], open_store: Opener = kernel) -> int:
    """The code of a recovery. What it finds must be allowed; if it refuses it has written nothing."""
    store = open_store(shape, device)
    device.operations.clear()
    try:
        store.recover()
    except PgquernError as refusal:
        assert device.operations == []
        return int(refusal.code)
    assert contents(store, shape) in may
    return int(lib.PGQ_OK)


def lived(shape: Shape, seed: int) -> tuple[Device, list[Contents]]:
    """What a kill leaves of a life, and what a recovery may find."""
    device = shape.device()
    life = Life.new(shape, kernel, device, seed)
    for _ in range(10 + seed % 20):
        life.step()
    life.flush()
    return device, list(life.allowed())


def replaced(device: Device, file: File, content: bytes | bytearray) -> Device:
    left = device.copy()
    left.current[int(file)][:] = content
    return left


"""What a recovery says of the file of another store."""


@both
def test_a_data_file_that_was_cut(open_store: Opener) -> None:
    shape = Shape(Protection.ATOMIC)
    device, may = lived(shape, 3)
    device.current[int(File.DATA)][1500:] = bytes(3 * 1024 - 1500)
    assert outcome(shape, device, may, open_store) == lib.PGQ_TORNPAGE_WRONG_PAGE


@both
def test_an_older_area_does_not_undo_newer_pages(open_store: Opener) -> None:
    shape = Shape(Protection.DOUBLE_WRITE)
    device = shape.device()
    life = Life.new(shape, kernel, device, 0)
    life.store.change(0, 24, b"old")
    life.store.write_back([0])
    area = bytes(device.current[int(File.AREA)])
    life.store.change(0, 24, b"new")
    life.checkpoint()
    store = open_store(shape, replaced(device, File.AREA, area))
    store.recover()
    assert store.page(0)[24:27] == b"new"


@both
def test_an_older_control_does_not_undo_newer_pages(open_store: Opener) -> None:
    """The image that it lets be replayed makes the page older: the page is judged before that."""
    shape = Shape(Protection.IMAGES)
    device = shape.device()
    store = kernel(shape, device)
    store.format()
    store.change(0, 24, b"old")
    store.flush()
    control = bytes(device.current[int(File.CONTROL)])
    store = kernel(shape, device)
    store.recover()
    store.change(0, 24, b"new")
    store.write_back([0])
    assert outcome(shape, replaced(device, File.CONTROL, control), [], open_store) == lib.PGQ_TORNPAGE_AHEAD


@both
@pytest.mark.parametrize(
    "other",
    [{"protection": Protection.IMAGES}, {"block_size": 2048}, {"pages": 2}, {"slots": 3}, {"records": 6}],
    ids=lambda other: next(iter(other)),
)
def test_another_shape_is_refused(other: dict[str, Any], open_store: Opener) -> None:
    shape = Shape(Protection.DOUBLE_WRITE)
    device, may = lived(shape, 1)
    changed = shape._replace(**other)
    wide = changed.device()
    for file, content in device.current.items():
        wide.current[file][: len(content)] = content[: len(wide.current[file])]
    assert outcome(changed, wide, may, open_store) == lib.PGQ_TORNPAGE_SHAPE


# ---- torn heads ----


def at_write(device: Device, file: File, call: Callable[[], None]) -> tuple[Device, Operation]:
    """The device before the first write of this file in the call, and that write."""
    found = list[tuple[Device, Operation]]()

    def look(operation: Operation) -> None:
        if operation[:2] == ("write", int(file)):
            found.append((device.copy(), operation))

    device.before = look
    call()
    device.before = None
    return found[0]


def landed(device: Device, operation: Operation, start: int, end: int) -> Device:
    """The bytes [start, end) of the write are there."""
    _, file, at, data = operation  # type: ignore[misc]
    left = device.copy()
    left.land(file, at + start, data[start:end])
    return left


@both
def test_a_torn_head_of_the_area_does_not_count(open_store: Opener) -> None:
    """Its entry 61 lies in two sectors: the page of one batch, and the CRC of the one before, whose copy is there."""
    slots = 70
    shape = Shape(Protection.DOUBLE_WRITE, pages=slots, slots=slots, records=20)
    assert (AREA_HEAD.size + 61 * AREA_ENTRY.size) % shape.sector == shape.sector - 4
    device = shape.device()
    store = Life.new(shape, open_store, device, 0).store
    pages = list(range(slots))
    for page in pages:
        store.change(page, 24, b"first")
    store.write_back(pages)
    for page in pages:
        store.change(page, 24, b"second")
    left, write = at_write(device, File.AREA, lambda: store.write_back(pages[::-1]))
    may = [contents(store, shape)]
    for start, end in ((0, 512), (512, SECTOR), (0, 1), (0, 40), (0, SECTOR), (SECTOR, SECTOR + 5000)):
        for crashed in (landed(left, write, start, end), landed(left, write, start, end).power_loss(Random(1))):
            assert outcome(shape, crashed, may, open_store) == lib.PGQ_OK


# ---- a full log, a second life ----


def test_two_lives_have_two_numbers() -> None:
    shape = Shape(Protection.IMAGES)
    device = shape.device()
    numbers = set()
    for _ in range(4):
        store = kernel(shape, device)
        store.format()
        numbers.add(store.page(0)[20:24])
    assert len(numbers) == 4


def test_a_refused_create_leaves_the_pointer() -> None:
    device = ffi.new("pgq_tornpage_device *")
    config = ffi.new("pgq_tornpage_config *", (1, 1024, 0, 1, 1 << 20))
    made = ffi.new("pgq_tornpage_store **", ffi.cast("pgq_tornpage_store *", 42))
    codes = [lib.pgq_tornpage_create(config, device, made).code]
    operations = (
        ffi.callback("int(void *, int, uint64_t, void *, size_t)", lambda *_: 0),
        ffi.callback("int(void *, int, uint64_t, const void *, size_t)", lambda *_: 0),
        ffi.callback("int(void *, int)", lambda *_: 0),
    )
    device.read, device.write, device.sync = operations
    codes.append(lib.pgq_tornpage_create(config, device, made).code)
    config.pages, config.block_size = 1, 1000
    codes.append(lib.pgq_tornpage_create(config, device, made).code)
    assert codes == [lib.PGQ_NULL, lib.PGQ_TORNPAGE_CONFIG, lib.PGQ_TORNPAGE_BLOCK_SIZE]
    assert int(ffi.cast("uintptr_t", made[0])) == 42

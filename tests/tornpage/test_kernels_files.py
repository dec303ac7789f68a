# SPDX-License-Identifier: PostgreSQL
"""Files that are lost, cut, another store's or older; heads that are torn; and what each refusal leaves."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import PgquernError

from ref.tornpage import AREA_ENTRY, AREA_HEAD, RECORD, SECTOR, File, Protection
from tests.tornpage.crash import Device, Operation
from tests.tornpage.worlds import Contents, Life, Opener, Oracle, Shape, World, contents, fill_log, kernel

PROTECTIONS = pytest.mark.parametrize("protection", [Protection.IMAGES, Protection.DOUBLE_WRITE, Protection.ATOMIC])
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


WRONG = {
    File.CONTROL: {lib.PGQ_TORNPAGE_OTHER_LOG},
    File.LOG: {lib.PGQ_TORNPAGE_OTHER_LOG},
    File.DATA: {lib.PGQ_TORNPAGE_WRONG_PAGE, lib.PGQ_OK},
    File.AREA: {lib.PGQ_OK},
}
"""What a recovery says of the file of another store."""


@PROTECTIONS
@pytest.mark.parametrize("file", list(File))
def test_a_file_of_another_store(file: File, protection: Protection) -> None:
    """Or of the same files before a format over them; or lost: zeros, or garbage."""
    shape = Shape(protection)
    for seed in range(12):
        device, may = lived(shape, seed)
        other, _ = lived(shape, seed + 100)
        before = device.copy()
        store = kernel(shape, device)
        store.format()
        empty = [contents(store, shape)]
        size = len(other.current[file])
        assert outcome(shape, replaced(before, file, other.current[file]), may) in WRONG[file]
        assert outcome(shape, replaced(device, file, before.current[file]), empty) in WRONG[file]
        lost = {lib.PGQ_TORNPAGE_NO_STORE} if file is File.CONTROL else WRONG[file]
        for nothing in (bytes(size), Random(seed).randbytes(size)):
            assert outcome(shape, replaced(before, file, nothing), may) in lost


@both
def test_pages_of_another_store_are_named(open_store: Opener) -> None:
    shape = Shape(Protection.ATOMIC)
    device, may = lived(shape, 1)
    other, _ = lived(shape, 2)
    device.current[int(File.DATA)][1024:2048] = other.current[int(File.DATA)][1024:2048]
    with pytest.raises(PgquernError) as refusal:
        open_store(shape, device).recover()
    assert (refusal.value.code, refusal.value.index) == (lib.PGQ_TORNPAGE_WRONG_PAGE, 2)
    assert may


@both
def test_a_data_file_that_was_cut(open_store: Opener) -> None:
    shape = Shape(Protection.ATOMIC)
    device, may = lived(shape, 3)
    device.current[int(File.DATA)][1500:] = bytes(3 * 1024 - 1500)
    assert outcome(shape, device, may, open_store) == lib.PGQ_TORNPAGE_WRONG_PAGE


@both
def test_records_of_another_store(open_store: Opener) -> None:
    """Behind the end of the log, in the same epoch and at the right places: they are not replayed."""
    shape = Shape(Protection.ATOMIC)
    devices = [shape.device(), shape.device()]
    for device in devices:
        store = kernel(shape, device)
        store.format()
        store.change(0, 24, b"one")
        if device is devices[1]:
            store.change(0, 24, b"two")
        store.flush()
    end = 2 * RECORD.size + 8
    devices[0].current[int(File.LOG)][end:] = devices[1].current[int(File.LOG)][end:]
    store = open_store(shape, devices[0])
    store.recover()
    assert store.page(0)[24:27] == b"one"


@both
@pytest.mark.parametrize("length", [1001, 1024, 1 << 20, (1 << 32) - 1])
def test_a_head_that_is_right_but_for_its_length_ends_the_log(length: int, open_store: Opener) -> None:
    """Behind the end of the log: all that it says of itself is true, but its length is garbage."""
    shape = Shape(Protection.ATOMIC)
    device = shape.device()
    store = kernel(shape, device)
    store.format()
    store.change(0, 24, b"one")
    store.flush()
    log = device.current[int(File.LOG)]
    last, end = RECORD.size, 2 * RECORD.size + 8
    crc, _, lsn, *rest = RECORD.unpack_from(log, last)
    RECORD.pack_into(log, end, crc, length, lsn + end - last, *rest)
    assert outcome(shape, device, [contents(store, shape)], open_store) == lib.PGQ_OK


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


@both
def test_a_torn_control_does_not_count(open_store: Opener) -> None:
    """Where a write lands in part: the number of the new one over the rest of an old one."""
    shape = Shape(Protection.IMAGES)
    device = shape.device()
    life = Life.new(shape, kernel, device, 0)
    life.store.change(0, 24, b"x")
    left, write = at_write(device, File.CONTROL, life.checkpoint)
    may = [contents(life.store, shape)]
    for end in range(1, 64):
        assert outcome(shape, landed(left, write, 0, end), may, open_store) == lib.PGQ_OK


# ---- a full log, a second life ----


@PROTECTIONS
@pytest.mark.parametrize("begun", ["never", "first", "last"])
def test_a_full_log_leaves_room_for_recovery(begun: str, protection: Protection) -> None:
    """Its mark must not go over the one where replay begins, as long as that counts: stopped at each operation."""
    shape = Shape(protection, records=2)
    for number in range(20):
        world = World(shape, kernel, Random(number))
        world.format(10**6)
        store = world.store
        store.change(0, 24, b"first")
        if begun == "first":
            store.checkpoint_begin()
        fill_log(store)
        if begun == "last":
            store.checkpoint_begin()
        store.flush()
        world.may = [contents(store, shape)]
        for again in range(3):
            world.recover(number + again)
            world.device = world.device.power_loss(world.rng)
        assert world.recover(10**6)


@both
def test_many_beginnings_need_no_room(open_store: Opener) -> None:
    shape = Shape(Protection.IMAGES, records=2)
    device = shape.device()
    store = open_store(shape, device)
    store.format()
    store.change(0, 24, b"x")
    for _ in range(200):
        store.checkpoint_begin()
    store.flush()
    assert outcome(shape, device.copy(), [contents(store, shape)], open_store) == lib.PGQ_OK


@both
def test_records_of_an_earlier_lap_do_not_count(open_store: Opener) -> None:
    """In a ring of 2112 bytes the second lap's records of 40 bytes end where the first lap's begin: each is whole, of
    this store and this epoch, and says another LSN.
    """
    shape = Shape(Protection.ATOMIC, records=2)
    device = shape.device()
    store = open_store(shape, device)
    store.format()
    fill_log(store)
    store.checkpoint_begin()
    store.checkpoint_end()
    for number in range(40):
        store.change(0, 24, (1 << 32 | number).to_bytes(8, "little"))
        store.flush()
        assert outcome(shape, device.copy(), [contents(store, shape)], open_store) == lib.PGQ_OK


@both
def test_a_format_goes_on_after_a_failure(open_store: Opener) -> None:
    shape = Shape(Protection.IMAGES)
    device = shape.device()
    store = open_store(shape, device)
    store.format()

    def fail(_: Operation) -> None:
        raise OSError(5, "Input/output error")

    device.before = fail
    with pytest.raises((PgquernError, OSError)):
        store.format()
    device.before = None
    if open_store is Oracle:  # an object of the definition is used once
        store = open_store(shape, device)
    store.format()
    store.change(0, 24, b"x")
    store.flush()


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

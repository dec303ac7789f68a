# SPDX-License-Identifier: PostgreSQL
"""The engine on real files, by io_uring and by threads: bytes arrive, and a start that makes no sense is refused.

What the kernel may do beside, the world does (world.c).
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import ioshares

from tests.common.rings import has_rings

PAGE = 4096
WAYS = {"uring": lib.PGQ_IOSHARES_BY_URING, "threads": lib.PGQ_IOSHARES_BY_THREADS}


class Engine:
    """An engine with one class, whose queue has room for some requests."""

    def __init__(self, room: int, most: int, way: str) -> None:
        self.scheduler = ioshares.Scheduler([ioshares.Class(1, 0, room)], ioshares.Limits(1, 1, most))
        made = ffi.new("pgq_ioshares_engine **")
        status = lib.pgq_ioshares_engine_start(self.scheduler._c, WAYS[way], made)
        if status.code == lib.PGQ_IOSHARES_URING:
            pytest.skip("no io_uring here")
        assert status.code == lib.PGQ_OK
        self.c = made[0]
        assert lib.pgq_ioshares_engine_way(self.c) == WAYS[way]

    def do(self, fd: int, offset: int, data: bytes | int) -> tuple[Any, Any]:
        """A request, submitted, and its buffer. data: to be written, or how many bytes to read."""
        write = isinstance(data, bytes)
        buffer = ffi.new("char[]", data)
        size = len(data) if isinstance(data, bytes) else data
        io = ffi.new("pgq_ioshares_io *", {"buffer": buffer, "offset": offset, "size": size, "fd": fd, "write": write})
        assert lib.pgq_ioshares_engine_submit(self.c, io).code == lib.PGQ_OK
        return io, buffer

    def wait(self, io: Any) -> int:
        assert lib.pgq_ioshares_engine_wait(self.c, io).code == lib.PGQ_OK
        assert io.done == 1
        return int(io.error)

    def stop(self) -> None:
        assert lib.pgq_ioshares_engine_stop(self.c).code == lib.PGQ_OK


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(way: str) -> Iterator[Engine]:
    made = Engine(64, 4, way)
    yield made
    made.stop()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def random_pages(count: int) -> list[bytes]:
    return [bytes((31 * n + 7 * i // 8) % 251 for i in range(PAGE)) for n in range(count)]


def test_what_is_written_is_read(engine: Engine, file: int) -> None:
    """All pages are written, and then read; several at once."""
    count = 40
    pages = random_pages(count)
    writes = [engine.do(file, n * PAGE, page) for n, page in enumerate(pages)]
    assert [engine.wait(io) for io, _ in writes] == [0] * count
    assert os.pread(file, count * PAGE, 0) == b"".join(pages)
    reads = [engine.do(file, n * PAGE, PAGE) for n in reversed(range(count))]
    assert [engine.wait(io) for io, _ in reads] == [0] * count
    assert [ffi.buffer(buffer, PAGE)[:] for _, buffer in reads] == pages[::-1]
    assert {io.did for io, _ in reads} == {PAGE}
    assert engine.scheduler.state.classes[0].dispatched == 2 * count * PAGE


def test_a_call_without_a_request_is_refused(engine: Engine) -> None:
    assert lib.pgq_ioshares_engine_submit(engine.c, ffi.NULL).code == lib.PGQ_NULL
    assert lib.pgq_ioshares_engine_wait(engine.c, ffi.NULL).code == lib.PGQ_NULL


def test_a_read_that_waits_outlives_its_submitter() -> None:
    """A thread submits a read of an empty pipe and ends; what is written then arrives.

    The kernel gives up the requests in a ring whose thread ends.
    """
    engine = Engine(1, 1, "uring")
    output, into = os.pipe()
    reads: list[Any] = []
    client = Thread(target=lambda: reads.append(engine.do(output, 0, PAGE)))
    client.start()
    client.join()
    while Path("/proc/self/task", str(client.native_id)).exists():  # join comes back a little before its end
        time.sleep(0.001)
    (page,) = random_pages(1)
    os.write(into, page)
    ((io, buffer),) = reads
    assert engine.wait(io) == 0
    assert ffi.buffer(buffer, PAGE)[:] == page
    engine.stop()
    os.close(output)
    os.close(into)


@pytest.mark.parametrize("in_flight", [False, True])
def test_a_scheduler_in_use_gets_no_engine(in_flight: bool) -> None:
    """What waits is no request of the engine, and nobody would complete what is in flight."""
    buffer = ffi.new("char[]", 1)
    io = ffi.new("pgq_ioshares_io *", {"buffer": buffer, "size": 1, "fd": -1})  # an engine that takes it does no harm
    scheduler = ioshares.Scheduler([ioshares.Class(1, 0, 4)], ioshares.Limits(1, 1, 1))
    request = ioshares.Request(0, 1, int(ffi.cast("uintptr_t", io)))
    scheduler.submit(request)
    if in_flight:
        scheduler.next()
    start, made = lib.pgq_ioshares_engine_start, ffi.new("pgq_ioshares_engine **")
    status = start(scheduler._c, lib.PGQ_IOSHARES_BY_THREADS, made)
    assert (status.code, status.index, made[0]) == (lib.PGQ_IOSHARES_IN_USE, 0, ffi.NULL)
    if in_flight:
        scheduler.complete(0, 1)
    else:
        scheduler.cancel(0, request.id)
    assert start(scheduler._c, lib.PGQ_IOSHARES_BY_THREADS, made).code == lib.PGQ_OK
    assert lib.pgq_ioshares_engine_stop(made[0]).code == lib.PGQ_OK


def test_a_start_without_sense_is_refused() -> None:
    scheduler, made = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits()), ffi.new("pgq_ioshares_engine **")
    start = lib.pgq_ioshares_engine_start
    assert start(ffi.NULL, lib.PGQ_IOSHARES_BY_ANY, made).code == lib.PGQ_NULL
    assert start(scheduler._c, lib.PGQ_IOSHARES_BY_ANY, ffi.NULL).code == lib.PGQ_NULL
    made[0] = ffi.cast("pgq_ioshares_engine *", 0x5A)
    assert start(scheduler._c, ffi.cast("pgq_ioshares_way", 3), made).code == lib.PGQ_IOSHARES_WAY
    assert made[0] == ffi.cast("pgq_ioshares_engine *", 0x5A)
    assert lib.pgq_ioshares_engine_wait(ffi.NULL, ffi.new("pgq_ioshares_io *")).code == lib.PGQ_NULL
    assert lib.pgq_ioshares_engine_stop(ffi.NULL).code == lib.PGQ_NULL


@pytest.mark.parametrize("most", [1, 100])
def test_where_the_system_has_rings_the_engine_makes_one(most: int) -> None:
    """Otherwise each test of rings would be skipped on a machine that has them."""
    if not has_rings():
        pytest.skip("no io_uring here")
    scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits(1, 1, most))
    for way in (lib.PGQ_IOSHARES_BY_URING, lib.PGQ_IOSHARES_BY_ANY):
        made = ffi.new("pgq_ioshares_engine **")
        assert lib.pgq_ioshares_engine_start(scheduler._c, way, made).code == lib.PGQ_OK
        assert lib.pgq_ioshares_engine_way(made[0]) == lib.PGQ_IOSHARES_BY_URING
        assert lib.pgq_ioshares_engine_stop(made[0]).code == lib.PGQ_OK

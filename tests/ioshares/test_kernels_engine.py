# SPDX-License-Identifier: PostgreSQL
"""The engine on real files, by io_uring and by threads: bytes and errors arrive, refusals are those of the scheduler.

What the kernel may do beside, the world does (world.c).
"""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import ioshares

from tests.common.rings import has_rings

PAGE = 4096
WAYS = {"uring": lib.PGQ_IOSHARES_BY_URING, "threads": lib.PGQ_IOSHARES_BY_THREADS}

Ended = Callable[[Any, int], int]
"""What a part of a request is taken for: of the request and what the kernel said of it."""


class Engine:
    """An engine with one class, whose queue has room for some requests."""

    def __init__(self, room: int, most: int, way: str, ended: Ended | None = None) -> None:
        self.scheduler = ioshares.Scheduler([ioshares.Class(1, 0, room)], ioshares.Limits(1, 1, most))
        hook = dict(ffi.typeof("pgq_ioshares_faults").fields)["ended"].type
        self._hooks = {"ended": ffi.callback(hook, lambda _, io, result: ended(io, result))} if ended else {}
        made = ffi.new("pgq_ioshares_engine **")
        faults = ffi.new("pgq_ioshares_faults *", self._hooks)
        status = lib.pgq_ioshares_engine_start(self.scheduler._c, WAYS[way], faults, made)
        if status.code == lib.PGQ_IOSHARES_URING:
            pytest.skip("no io_uring here")
        assert status.code == lib.PGQ_OK
        self.c = made[0]
        assert lib.pgq_ioshares_engine_way(self.c) == WAYS[way]

    def do(self, fd: int, offset: int, data: bytes | int, cls: int = 0) -> tuple[int, Any, Any]:
        """The code of the submission, the request, and its buffer. data: to be written, or how many bytes to read."""
        write = isinstance(data, bytes)
        buffer = ffi.new("char[]", data)
        size = len(data) if isinstance(data, bytes) else data
        io = ffi.new(
            "pgq_ioshares_io *",
            {"buffer": buffer, "offset": offset, "size": size, "cls": cls, "fd": fd, "write": write},
        )
        return self.submit(io), io, buffer

    def submit(self, io: Any) -> int:
        return int(lib.pgq_ioshares_engine_submit(self.c, io).code)

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


def write_and_read(engine: Engine, file: int, count: int) -> None:
    """All pages are written, and then read; several at once."""
    pages = random_pages(count)
    writes = [engine.do(file, n * PAGE, page) for n, page in enumerate(pages)]
    assert [engine.wait(io) for _, io, _ in writes] == [0] * count
    assert os.pread(file, count * PAGE, 0) == b"".join(pages)
    reads = [engine.do(file, n * PAGE, PAGE) for n in reversed(range(count))]
    assert [engine.wait(io) for _, io, _ in reads] == [0] * count
    assert [ffi.buffer(buffer, PAGE)[:] for _, _, buffer in reads] == pages[::-1]
    assert {io.did for _, io, _ in reads} == {PAGE}


def test_what_is_written_is_read(engine: Engine, file: int) -> None:
    write_and_read(engine, file, 40)
    assert engine.scheduler.state.classes[0].dispatched == 80 * PAGE


def test_errors_of_the_file_are_told(engine: Engine, file: int) -> None:
    _, closed, _ = engine.do(-1, 0, PAGE)
    assert engine.wait(closed) == errno.EBADF
    os.pwrite(file, b"x" * (PAGE + 1), 0)
    _, beyond, _ = engine.do(file, PAGE, PAGE)
    assert (engine.wait(beyond), beyond.did) == (errno.EIO, 1)
    _, sound, _ = engine.do(file, 0, PAGE)
    assert engine.wait(sound) == 0


def test_refusals_are_those_of_the_scheduler(engine: Engine, file: int) -> None:
    code, refused, _ = engine.do(file, 0, PAGE, cls=1)
    assert code == lib.PGQ_IOSHARES_CLASS
    engine.wait(refused)  # it is over, so that nobody waits for ever
    assert engine.do(file, 0, 0)[0] == lib.PGQ_IOSHARES_SIZE
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
    ((_, io, buffer),) = reads
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
    status = start(scheduler._c, lib.PGQ_IOSHARES_BY_THREADS, ffi.NULL, made)
    assert (status.code, status.index, made[0]) == (lib.PGQ_IOSHARES_IN_USE, 0, ffi.NULL)
    if in_flight:
        scheduler.complete(0, 1)
    else:
        scheduler.cancel(0, request.id)
    assert start(scheduler._c, lib.PGQ_IOSHARES_BY_THREADS, ffi.NULL, made).code == lib.PGQ_OK
    assert lib.pgq_ioshares_engine_stop(made[0]).code == lib.PGQ_OK


def test_a_start_without_sense_is_refused() -> None:
    scheduler, made = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits()), ffi.new("pgq_ioshares_engine **")
    start = lib.pgq_ioshares_engine_start
    assert start(ffi.NULL, lib.PGQ_IOSHARES_BY_ANY, ffi.NULL, made).code == lib.PGQ_NULL
    assert start(scheduler._c, lib.PGQ_IOSHARES_BY_ANY, ffi.NULL, ffi.NULL).code == lib.PGQ_NULL
    made[0] = ffi.cast("pgq_ioshares_engine *", 0x5A)
    assert start(scheduler._c, ffi.cast("pgq_ioshares_way", 3), ffi.NULL, made).code == lib.PGQ_IOSHARES_WAY
    assert made[0] == ffi.cast("pgq_ioshares_engine *", 0x5A)
    assert lib.pgq_ioshares_engine_wait(ffi.NULL, ffi.new("pgq_ioshares_io *")).code == lib.PGQ_NULL
    assert lib.pgq_ioshares_engine_stop(ffi.NULL).code == lib.PGQ_NULL


# ---- faults --------------------------------------------------------------------------------------


def test_what_a_part_leaves_is_done_too(file: int, way: str) -> None:
    """Reads and writes end early, again and again, or are interrupted before they have done anything."""
    lock, parts, interrupted = Lock(), 0, 0

    def ended(_io: Any, result: int) -> int:
        nonlocal parts, interrupted
        with lock:
            parts += 1
            interrupted += parts % 5 == 0
            return -errno.EINTR if parts % 5 == 0 else min(result, 1000)

    engine = Engine(64, 4, way, ended)
    write_and_read(engine, file, 20)
    engine.stop()
    assert parts - interrupted == 2 * 20 * 5  # 4 of 1000, and the rest
    assert interrupted >= 40


# ---- no ring -------------------------------------------------------------------------------------

REFUSED = """
import ctypes, struct, sys
from _pgquern import ffi, lib
from pgquern import ioshares
if sys.argv[1] == "forbidden":
    # A seccomp filter: load the number of the system call; if it is io_uring_setup (425), EPERM; else allow.
    code = b"".join(struct.pack("<HBBI", *i) for i in [
        (0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)])
    held = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 4, ctypes.addressof(held)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits())
made = ffi.new("pgq_ioshares_engine **")
print(lib.pgq_ioshares_engine_start(scheduler._c, lib.PGQ_IOSHARES_BY_URING, ffi.NULL, made).code)
assert lib.pgq_ioshares_engine_start(scheduler._c, lib.PGQ_IOSHARES_BY_ANY, ffi.NULL, made).code == lib.PGQ_OK
print(lib.pgq_ioshares_engine_way(made[0]))
lib.pgq_ioshares_engine_stop(made[0])
"""


@pytest.mark.parametrize("why", ["forbidden", "missing"])
def test_threads_do_it_where_there_is_no_io_uring(tmp_path: Path, why: str) -> None:
    """The kernel forbids it, or liburing is missing: a file without contents stands in its place."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    if why == "missing":
        (tmp_path / "liburing.so.2").touch()
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    run = subprocess.run([sys.executable, "-c", REFUSED, why], capture_output=True, text=True, env=environment)
    assert run.stdout.split() == [str(lib.PGQ_IOSHARES_URING), str(lib.PGQ_IOSHARES_BY_THREADS)], run.stderr


@pytest.mark.parametrize("most", [1, 100])
def test_where_the_system_has_rings_the_engine_makes_one(most: int) -> None:
    """Otherwise each test of rings would be skipped on a machine that has them."""
    if not has_rings():
        pytest.skip("no io_uring here")
    scheduler = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits(1, 1, most))
    for way in (lib.PGQ_IOSHARES_BY_URING, lib.PGQ_IOSHARES_BY_ANY):
        made = ffi.new("pgq_ioshares_engine **")
        assert lib.pgq_ioshares_engine_start(scheduler._c, way, ffi.NULL, made).code == lib.PGQ_OK
        assert lib.pgq_ioshares_engine_way(made[0]) == lib.PGQ_IOSHARES_BY_URING
        assert lib.pgq_ioshares_engine_stop(made[0]).code == lib.PGQ_OK

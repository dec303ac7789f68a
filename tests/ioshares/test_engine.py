# SPDX-License-Identifier: PostgreSQL
"""The engine on real files: bytes arrive, errors too, and refusals are those of the scheduler."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import ioshares

PAGE = 4096


class Engine:
    """An engine with one class, whose queue has room for some requests."""

    def __init__(self, room: int, most: int) -> None:
        self.scheduler = ioshares.Scheduler([ioshares.Class(1, 0, room)], ioshares.Limits(1, 1, most))
        made = ffi.new("pgq_ioshares_engine **")
        assert lib.pgq_ioshares_engine_start(self.scheduler._c, made).code == lib.PGQ_OK
        self.c = made[0]

    def do(self, fd: int, offset: int, data: bytes | int, cls: int = 0) -> tuple[int, Any, Any]:
        """The code of the submission, the request, and its buffer. data: to be written, or how many bytes to read."""
        write = isinstance(data, bytes)
        buffer = ffi.new("char[]", data)
        size = len(data) if isinstance(data, bytes) else data
        io = ffi.new(
            "pgq_ioshares_io *",
            {"buffer": buffer, "offset": offset, "size": size, "cls": cls, "fd": fd, "write": write},
        )
        return lib.pgq_ioshares_engine_submit(self.c, io).code, io, buffer

    def wait(self, io: Any) -> int:
        assert lib.pgq_ioshares_engine_wait(self.c, io).code == lib.PGQ_OK
        return int(io.error)


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine(64, 4)
    yield made
    assert lib.pgq_ioshares_engine_stop(made.c).code == lib.PGQ_OK


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield fd
    os.close(fd)


def test_what_is_written_is_read(engine: Engine, file: int) -> None:
    pages = [bytes([n]) * PAGE for n in range(40)]
    writes = [engine.do(file, n * PAGE, page) for n, page in enumerate(pages)]
    assert [engine.wait(io) for _, io, _ in writes] == [0] * 40
    assert os.pread(file, 40 * PAGE, 0) == b"".join(pages)
    reads = [engine.do(file, n * PAGE, PAGE) for n in reversed(range(40))]
    assert [engine.wait(io) for _, io, _ in reads] == [0] * 40
    assert [ffi.buffer(buffer, PAGE)[:] for _, _, buffer in reads] == pages[::-1]
    assert engine.scheduler.state.classes[0].dispatched == 80 * PAGE


def test_errors_of_the_file_are_told(engine: Engine, file: int) -> None:
    _, closed, _ = engine.do(-1, 0, PAGE)
    assert engine.wait(closed) == errno.EBADF
    os.pwrite(file, b"x" * (PAGE + 1), 0)
    _, beyond, _ = engine.do(file, PAGE, PAGE)
    assert engine.wait(beyond) == errno.EIO


def test_refusals_are_those_of_the_scheduler(engine: Engine, file: int) -> None:
    assert engine.do(file, 0, PAGE, cls=1)[0] == lib.PGQ_IOSHARES_CLASS
    assert engine.do(file, 0, 0)[0] == lib.PGQ_IOSHARES_SIZE
    assert lib.pgq_ioshares_engine_submit(engine.c, ffi.NULL).code == lib.PGQ_NULL


def test_stop_does_what_waits(file: int) -> None:
    engine = Engine(64, 1)
    writes = [engine.do(file, n * PAGE, bytes([n]) * PAGE) for n in range(30)]
    assert lib.pgq_ioshares_engine_stop(engine.c).code == lib.PGQ_OK
    assert all(io.done and io.error == 0 for _, io, _ in writes)
    assert os.fstat(file).st_size == 30 * PAGE

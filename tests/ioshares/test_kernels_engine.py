# SPDX-License-Identifier: PostgreSQL
"""The engine on real files, by io_uring and by threads: bytes and errors arrive, refusals are those of the scheduler.

Faults are injected into what the kernel says: short reads and writes, interrupted ones, errors, and errors of each call
that enters a ring, once or from then on.
"""

import errno
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest
from _pgquern import ffi, lib
from pgquern import ioshares

from tests.common.rings import has_rings
from tests.common.sleep import until_all_others_sleep, until_asleep
from tests.common.tally import tally

PAGE = 4096
WAYS = {"uring": lib.PGQ_IOSHARES_BY_URING, "threads": lib.PGQ_IOSHARES_BY_THREADS}

Ended = Callable[[Any, int], int]
"""What a part of a request is taken for: of the request and what the kernel said of it."""


class Engine:
    """An engine with one class, whose queue has room for some requests."""

    def __init__(
        self,
        room: int,
        most: int,
        way: str,
        ended: Ended | None = None,
        enter: Callable[[], int] | None = None,
        wait: Callable[[], int] | None = None,
        start: int = 1,
        log: int = 0,
    ) -> None:
        self.scheduler = ioshares.Scheduler([ioshares.Class(1, 0, room)], ioshares.Limits(1, start, most), log=log)
        fields = dict(ffi.typeof("pgq_ioshares_faults").fields)
        hooks: dict[str, Any] = {}
        if ended:
            hooks["ended"] = ffi.callback(fields["ended"].type, lambda _, io, result: ended(io, result))
        if enter:
            hooks["enter"] = ffi.callback(fields["enter"].type, lambda _: enter())
        if wait:
            hooks["wait"] = ffi.callback(fields["wait"].type, lambda _: wait())
        self._hooks = hooks
        made = ffi.new("pgq_ioshares_engine **")
        status = lib.pgq_ioshares_engine_start(
            self.scheduler._c, WAYS[way], ffi.new("pgq_ioshares_faults *", hooks), made
        )
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


def test_shares_and_kinds_reach_the_scheduler(file: int, way: str) -> None:
    """A write is submitted as one; shares that change while the engine runs are logged, and bad ones refused."""
    engine = Engine(4, 1, way, log=16)
    set_shares = lib.pgq_ioshares_engine_set_shares
    _, written, _kept = engine.do(file, 0, b"x" * PAGE)  # its buffer stays until it is done
    assert engine.wait(written) == 0
    assert set_shares(engine.c, ffi.new("uint32_t[]", [7])).code == lib.PGQ_OK
    _, read, _kept_too = engine.do(file, 0, PAGE)
    assert engine.wait(read) == 0
    status = set_shares(engine.c, ffi.new("uint32_t[]", [0]))
    assert (status.code, status.index) == (lib.PGQ_IOSHARES_SHARE, 1)
    assert set_shares(engine.c, ffi.NULL).code == lib.PGQ_NULL
    engine.stop()
    told = [(e.what, e.request.write) for e in engine.scheduler.events if e.what != "complete"]
    assert told == [("submit", True), ("next", True), ("share", False), ("submit", False), ("next", False)]
    assert engine.scheduler.events[3].request.size == 7


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


@pytest.mark.parametrize("offset", [2**63 - PAGE, 2**63 - 1, 2**64 - 1])
def test_no_file_has_such_an_offset(engine: Engine, file: int, offset: int) -> None:
    """For the kernel some of them mean something else: the place where the file is read now."""
    os.pwrite(file, b"x" * PAGE, 0)
    code, io, _ = engine.do(file, offset, PAGE)
    assert code == lib.PGQ_IOSHARES_OFFSET
    assert (engine.wait(io), io.did) == (0, 0)
    code, io, _ = engine.do(file, 2**63 - 1 - PAGE, PAGE)
    assert code == lib.PGQ_OK
    assert (engine.wait(io), io.did) == (errno.EIO, 0)


def test_a_refused_request_is_left_alone(engine: Engine, file: int) -> None:
    """It is over, and nothing else has changed."""
    mine = {"did": 7, "error": 8, "submitted": 9, "went": 10, "ended": 11}
    for wrong in ({"cls": 1}, {"size": 0}, {"offset": 2**63}):
        io = ffi.new("pgq_ioshares_io *", {"buffer": ffi.new("char[]", 1), "size": 1, "fd": file} | mine | wrong)
        io.done = 1
        before = bytes(ffi.buffer(io))
        assert engine.submit(io) != lib.PGQ_OK
        assert bytes(ffi.buffer(io)) == before
        io.done = 0x5A
        engine.submit(io)
        assert io.done == 1
    io = ffi.new("pgq_ioshares_io *", {"size": 1, "fd": file, "done": 0x5A})
    before = bytes(ffi.buffer(io))
    assert engine.submit(io) == lib.PGQ_NULL
    assert bytes(ffi.buffer(io)) == before


def test_a_request_is_used_again(engine: Engine, file: int) -> None:
    """Nothing is left of how it ended before."""
    os.pwrite(file, b"x" * PAGE, 0)
    _, io, _buffer = engine.do(file, PAGE // 2, PAGE)
    assert (engine.wait(io), io.did) == (errno.EIO, PAGE // 2)
    for _ in range(3):
        ended, io.offset = io.ended, 0
        assert engine.submit(io) == lib.PGQ_OK
        assert (engine.wait(io), io.did) == (0, PAGE)
        assert ended <= io.submitted <= io.went <= io.ended


def test_the_latency_begins_when_a_request_goes(file: int, way: str) -> None:
    """And not when it is submitted: the second one waits until the first one may end, which is long after that."""
    both = Event()

    def ended(_io: Any, result: int) -> int:
        both.wait()
        return result

    os.pwrite(file, b"x" * PAGE, 0)
    engine = Engine(4, 1, way, ended, log=16)
    reads = [engine.do(file, 0, PAGE)]
    # The ring's thread holds the engine's lock while it is told of a completion.
    second = Thread(target=lambda: reads.append(engine.do(file, 0, PAGE)))
    second.start()
    until_asleep(second)
    both.set()
    second.join()
    assert [engine.wait(io) for _, io, _ in reads] == [0, 0]
    engine.stop()
    told = [event.latency for event in engine.scheduler.events if event.what == "complete"]
    assert sorted(told) == sorted(io.ended - io.went for _, io, _ in reads)
    assert all(io.submitted <= io.went <= io.ended for _, io, _ in reads)


def test_several_threads_wait_for_a_request(file: int, way: str) -> None:
    """Each of them returns when it is done, and not before."""
    may_end = Event()

    def ended(_io: Any, result: int) -> int:
        may_end.wait()
        return result

    os.pwrite(file, b"x" * PAGE, 0)
    engine = Engine(4, 1, way, ended)
    _, io, _ = engine.do(file, 0, PAGE)
    seen: list[int] = []

    def wait() -> None:
        lib.pgq_ioshares_engine_wait(engine.c, io)
        seen.append(int(io.done))

    clients = [Thread(target=wait, daemon=True) for _ in range(3)]
    for client in clients:
        client.start()
        until_asleep(client)
    may_end.set()
    for client in clients:
        client.join(600)  # only ends a hang
    assert seen == [1, 1, 1]
    engine.stop()


def test_what_waits_is_taken_back(file: int, way: str) -> None:
    """While another one is at the file: it ends with ECANCELED, once, and nothing of it is done. What went is left."""
    may_end = Event()

    def ended(io: Any, result: int) -> int:
        if way == "threads" and io.offset == 0:
            may_end.wait()
        return result

    os.pwrite(file, b"x" * 3 * PAGE, 0)
    engine = Engine(4, 1, way, ended)
    cancel = lib.pgq_ioshares_engine_cancel
    # The first one stays where it is: by io_uring a read of an empty pipe, since a hook would hold up the reaper.
    output, into = os.pipe()
    _, first, _page = engine.do(output if way == "uring" else file, 0, PAGE)
    while not first.went:
        time.sleep(0.001)
    _, second, _kept = engine.do(file, PAGE, b"y" * PAGE)
    _, third, _too = engine.do(file, 2 * PAGE, b"y" * PAGE)
    client = Thread(target=lambda: engine.wait(second), daemon=True)
    client.start()
    until_asleep(client)
    second.went = 1  # what is used again may have been at a file before
    assert cancel(engine.c, second).code == lib.PGQ_OK
    client.join(600)  # only ends a hang
    assert (second.done, second.error, second.did, second.went) == (1, errno.ECANCELED, 0, 0)
    assert first.went <= second.submitted <= second.ended <= time.monotonic_ns()
    for io in (first, second):
        status = cancel(engine.c, io)
        assert (status.code, status.index) == (lib.PGQ_IOSHARES_NOT_WAITING, 1)
    assert cancel(engine.c, ffi.NULL).code == cancel(ffi.NULL, first).code == lib.PGQ_NULL
    may_end.set()
    os.write(into, bytes(PAGE))
    assert [engine.wait(io) for io in (first, third)] == [0, 0]
    engine.stop()
    os.close(into)
    os.close(output)
    assert os.pread(file, 3 * PAGE, 0) == b"x" * 2 * PAGE + b"y" * PAGE
    assert engine.scheduler.state.in_flight == 0


def test_threads_follow_a_limit_that_rises(file: int) -> None:
    """
    After four windows two may be in flight. Nobody submits any more, and the next request hangs: it holds up no other.
    """
    all_wait, others_are_done, told = Event(), Event(), []

    def ended(io: Any, result: int) -> int:
        if io.offset == 0:
            all_wait.wait()
        if io.offset == 4 * 64:
            told.append(others_are_done.wait(60))  # only ends a hang
        return result

    os.pwrite(file, bytes(300), 0)
    engine = Engine(300, 2, "threads", ended)
    kept = [engine.do(file, n, 1) for n in range(300)]
    until_all_others_sleep()
    all_wait.set()
    for n, (_, io, _buffer) in enumerate(kept):
        if n != 4 * 64:
            assert engine.wait(io) == 0
    others_are_done.set()
    assert engine.wait(kept[4 * 64][1]) == 0
    engine.stop()
    assert told == [True]


def test_stop_does_what_waits(file: int, way: str) -> None:
    engine = Engine(64, 1, way)
    writes = [engine.do(file, n * PAGE, bytes([n]) * PAGE) for n in range(30)]
    engine.stop()
    assert all(io.done == 1 and io.error == 0 for _, io, _ in writes)
    assert os.fstat(file).st_size == 30 * PAGE


def test_whoever_submits_may_end(file: int, way: str) -> None:
    """A thread submits reads of what no cache has, and is gone before they are done."""
    pages = random_pages(64)
    for n, page in enumerate(pages):
        os.pwrite(file, page, n * 16 * PAGE)
    os.fsync(file)
    engine = Engine(64, 64, way, start=64)
    for _ in range(5):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        reads: list[Any] = []
        client = Thread(target=lambda: reads.extend(engine.do(file, n * 16 * PAGE, PAGE) for n in range(64)))  # noqa: B023
        client.start()
        client.join()
        assert [engine.wait(io) for _, io, _ in reads] == [0] * 64
        assert [ffi.buffer(buffer, PAGE)[:] for _, _, buffer in reads] == pages
    engine.stop()


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


def test_an_engine_that_did_nothing_stops(way: str) -> None:
    Engine(1, 8, way).stop()


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


def test_an_error_ends_its_request_and_no_other(file: int, way: str) -> None:
    """A page of the file cannot be read, the second half of another one cannot either."""
    os.pwrite(file, b"x" * 8 * PAGE, 0)

    def ended(io: Any, result: int) -> int:
        if io.offset == 3 * PAGE:
            return -errno.EIO
        if io.offset == 5 * PAGE:
            return PAGE // 2 if io.did == 0 else -errno.ENXIO
        return result

    engine = Engine(64, 4, way, ended)
    reads = [engine.do(file, n * PAGE, PAGE) for n in range(8)]
    errors = [engine.wait(io) for _, io, _ in reads]
    engine.stop()
    assert errors == [errno.EIO if n == 3 else errno.ENXIO if n == 5 else 0 for n in range(8)]
    assert [io.did for _, io, _ in reads] == [0 if n == 3 else PAGE // 2 if n == 5 else PAGE for n in range(8)]
    assert engine.scheduler.state.in_flight == 0


def test_a_ring_that_is_busy_is_tried_again(file: int) -> None:
    calls = 0

    def enter() -> int:
        nonlocal calls
        calls += 1
        return (0, -errno.EAGAIN, -errno.EINTR, -errno.EBUSY)[calls % 4]

    engine = Engine(64, 4, "uring", enter=enter)
    write_and_read(engine, file, 20)
    engine.stop()
    assert calls >= 8


@pytest.mark.parametrize("run", range(20))
def test_a_ring_that_takes_nothing_fails_its_requests(file: int, run: int) -> None:
    """More of them than the ring has room for; later the ring works again, and what failed is not done after all.

    Many runs: a kernel that does a file's writes in any order may show what is done after all in some of them only.
    """
    broken = True
    engine = Engine(64, 4, "uring", enter=lambda: -errno.ENXIO if broken else 0)
    os.pwrite(file, b"x" * PAGE, 0)
    writes = [engine.do(file, 0, b"y" * PAGE) for _ in range(30)]
    assert {engine.wait(io) for _, io, _ in writes} == {errno.ENXIO}
    assert engine.scheduler.state.in_flight == 0
    broken = False
    later = [engine.do(file, PAGE, b"z" * PAGE) for _ in range(10)]
    assert [engine.wait(io) for _, io, _ in later] == [0] * 10
    assert os.pread(file, 2 * PAGE, 0) == b"x" * PAGE + b"z" * PAGE
    engine.stop()
    assert os.pread(file, PAGE, 0) == b"x" * PAGE


def test_what_fails_makes_room_for_what_waits(file: int) -> None:
    """All wait before the first one fails: nobody rings again for those that the limit kept back."""
    submitted, refused = Event(), False

    def wait() -> int:
        submitted.wait()
        return 0

    engine = Engine(64, 4, "uring", enter=lambda: -errno.ENXIO if refused else 0, wait=wait)
    until_all_others_sleep()
    refused = True
    reads = [engine.do(file, 0, PAGE) for _ in range(30)]
    submitted.set()
    assert {engine.wait(io) for _, io, _ in reads} == {errno.ENXIO}
    refused = False
    engine.stop()


class Failing:
    """A call that the kernel refuses: the first-th one, and so many in all; None: all from then on."""

    def __init__(self, error: int, first: int, times: int | None = 1) -> None:
        self.error, self.first, self.times, self.calls = error, first, times, 0

    def __call__(self) -> int:
        self.calls += 1
        last = self.times is None or self.calls < self.first + self.times
        return -self.error if self.first <= self.calls and last else 0


TRANSIENT = [errno.EAGAIN, errno.EINTR, errno.ENOMEM, errno.EBUSY]
NEVER = Failing(0, 2**62)
COUNT = 12
SENTINEL = b"\xa5" * PAGE


def pages_with(file: int, enter: Failing, wait: Failing = NEVER) -> list[int]:
    """The errors of reads and writes. Each has done all or nothing; the buffer of what failed stays as it is."""
    page = b"x" * PAGE
    os.pwrite(file, page * COUNT + bytes(COUNT * PAGE), 0)
    engine = Engine(64, 3, "uring", enter=enter, wait=wait)
    ios = [engine.do(file, n * PAGE, PAGE if n < COUNT else b"y" * PAGE) for n in range(2 * COUNT)]
    errors = [engine.wait(io) for _, io, _ in ios]
    for error, (_, _io, buffer) in zip(errors, ios, strict=True):
        if error:
            ffi.memmove(buffer, SENTINEL, PAGE)
    assert engine.scheduler.state.in_flight == engine.scheduler.state.waiting == 0
    engine.stop()
    for n, (error, (_, io, buffer)) in enumerate(zip(errors, ios, strict=True)):
        assert io.did == (0 if error else PAGE)
        assert ffi.buffer(buffer, PAGE)[:] == (SENTINEL if error else page if n < COUNT else b"y" * PAGE)
        if n >= COUNT:
            assert os.pread(file, PAGE, n * PAGE) == (bytes(PAGE) if error else b"y" * PAGE)
    tally("ioshares", "requests through a ring that fails", len(ios))
    return errors


@pytest.mark.parametrize("error", TRANSIENT, ids=errno.errorcode.get)
def test_each_call_that_fails_once_is_tried_again(file: int, error: int) -> None:
    """Each submission, and each wait; once, or ten times in a row. Nothing is lost, and nothing fails."""
    seen = {"enter": 0, "wait": 0}
    for times in (1, 10):
        first = 1
        while first <= 12:
            enter, wait = Failing(error, first, times), Failing(error, first, times)
            assert pages_with(file, enter) == [0] * 2 * COUNT
            assert pages_with(file, NEVER, wait) == [0] * 2 * COUNT
            assert pages_with(file, enter, wait) == [0] * 2 * COUNT
            seen["enter"] += enter.calls >= first
            seen["wait"] += wait.calls >= first
            first += 1 if times == 1 else 4
    assert min(seen.values()) >= 5


@pytest.mark.parametrize("error", TRANSIENT, ids=errno.errorcode.get)
def test_a_wait_that_always_fails_loses_nothing(file: int, error: int) -> None:
    for first in (1, 2, 5):
        wait = Failing(error, first, None)
        assert pages_with(file, NEVER, wait) == [0] * 2 * COUNT
        assert wait.calls >= first


@pytest.mark.parametrize("error", [*TRANSIENT, errno.ENXIO, errno.EPERM], ids=errno.errorcode.get)
def test_a_submission_that_always_fails_ends_its_requests(file: int, error: int) -> None:
    """With its errno; those that the kernel has taken before are done."""
    failed = 0
    for first in (1, 2, 3, 5):
        errors = pages_with(file, Failing(error, first, None))
        assert set(errors) <= {0, error}
        failed += sum(e != 0 for e in errors)
        pages_with(file, Failing(error, first, None), Failing(error, first, None))
    assert failed > 2 * COUNT


def test_what_the_kernel_has_is_waited_for(file: int) -> None:
    """A read of a pipe stays in the kernel while nothing can be submitted and no wait succeeds. Others fail."""
    broken = False
    hook = lambda: -errno.ENOMEM if broken else 0  # noqa: E731
    engine = Engine(8, 4, "uring", enter=hook, wait=hook, start=4)
    out, into = os.pipe()
    try:
        code, piped, buffer = engine.do(out, 0, 5)
        assert code == lib.PGQ_OK
        while not piped.went:
            time.sleep(0.001)
        _, before, _ = engine.do(file, 0, b"a" * PAGE)
        assert engine.wait(before) == 0  # so the kernel has the one that went before it
        broken = True
        others = [engine.do(file, 0, b"z" * PAGE) for _ in range(3)]
        assert [engine.wait(io) for _, io, _ in others] == [errno.ENOMEM] * 3
        assert piped.done != 1
        os.write(into, b"hello")
        assert engine.wait(piped) == 0
        assert ffi.buffer(buffer, 5)[:] == b"hello"
        assert os.pread(file, PAGE, 0) == b"a" * PAGE
    finally:
        os.close(into)
        os.close(out)
        engine.stop()


@pytest.mark.parametrize("times", [0, 1, 5])
@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_request_that_hangs_holds_up_no_other(file: int, first: int, times: int) -> None:
    """Also after the kernel has refused to read the bell."""
    os.pwrite(file, b"x" * PAGE, 0)
    engine = Engine(8, 4, "uring", enter=Failing(errno.EAGAIN, first, times), start=4)
    out, into = os.pipe()
    try:
        _, piped, _buffer = engine.do(out, 0, 5)
        for _ in range(5):
            _, io, _page = engine.do(file, 0, PAGE)
            assert engine.wait(io) == 0
        os.write(into, b"hello")
        assert engine.wait(piped) == 0
    finally:
        engine.stop()
        os.close(into)
        os.close(out)


def test_stop_ends_though_the_ring_takes_nothing(file: int) -> None:
    for first in (1, 2, 4):
        enter, wait = Failing(errno.ENOMEM, first, None), Failing(errno.EINTR, first, None)
        engine = Engine(64, 2, "uring", enter=enter, wait=wait)
        writes = [engine.do(file, n * PAGE, bytes([n]) * PAGE) for n in range(30)]
        engine.stop()
        assert {int(io.done) for _, io, _ in writes} == {1}
        assert {int(io.error) for _, io, _ in writes} <= {0, errno.ENOMEM}


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


def test_a_ring_that_cannot_be_made_is_refused() -> None:
    """liburing is loaded, and no file may be opened any more."""
    Engine(1, 1, "uring").stop()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    scheduler, made = ioshares.Scheduler([ioshares.Class(1)], ioshares.Limits()), ffi.new("pgq_ioshares_engine **")
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        status = lib.pgq_ioshares_engine_start(scheduler._c, lib.PGQ_IOSHARES_BY_URING, ffi.NULL, made)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert status.code == lib.PGQ_IOSHARES_URING

# SPDX-License-Identifier: PostgreSQL
"""What others do while a reader stands in the middle of its copy: it copies to memory that faults till it may go on."""

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from mmap import mmap
from threading import Event, Thread

import pytest
from _pgquern import ffi, lib
from pgquern.tiercache import PAGE_SIZE, TierCache

from tests.common.sleep import until_asleep
from tests.tiercache.devices import Between, Disk, Operation, contents, is_put
from tests.tiercache.test_kernels_meanwhile import all_as_written, between, one_can_leave

__all__ = ["between"]

FRAMES, PAGES = 16, 64
FAULT = r"""
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;
static int pipe_of[2], stopped[2], back[2];
static struct sigaction before, before_stop;

static void wait_here(int number, siginfo_t *fault, void *context)
{
    char byte;

    (void)context;
    if ((char *)fault->si_addr < page || (char *)fault->si_addr >= page + 8192)
        sigaction(number, &before, NULL);
    else if (read(pipe_of[0], &byte, 1) != 1 || mprotect(page, 8192, PROT_READ | PROT_WRITE) != 0)
        _exit(99);
}

static void stay(int number)
{
    int error = errno;
    char byte;

    (void)number;
    if (write(stopped[1], "", 1) != 1 || read(back[0], &byte, 1) != 1)
        _exit(99);
    errno = error;
}

/* Who touches the page waits from now on. */
int hold(void *at)
{
    struct sigaction action = {.sa_sigaction = wait_here, .sa_flags = SA_SIGINFO}, stop = {.sa_handler = stay};

    page = at;
    return pipe(pipe_of) || pipe(stopped) || pipe(back) || sigaction(SIGUSR1, &stop, &before_stop) ||
           sigaction(SIGSEGV, &action, &before) || mprotect(page, 8192, PROT_NONE);
}

/* He goes on. */
int let_go(void)
{
    return write(pipe_of[1], "", 1) != 1;
}

/* A thread stops where it is: nothing wakes it but go_on. */
int stop(unsigned long thread)
{
    char byte;

    return pthread_kill((pthread_t)thread, SIGUSR1) || read(stopped[0], &byte, 1) != 1;
}

int go_on(void)
{
    return write(back[1], "", 1) != 1;
}

int end(void)
{
    return sigaction(SIGSEGV, &before, NULL) || sigaction(SIGUSR1, &before_stop, NULL) || close(pipe_of[0]) ||
           close(pipe_of[1]) || close(stopped[0]) || close(stopped[1]) || close(back[0]) || close(back[1]);
}
"""


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("fault")
    (folder / "fault.c").write_text(FAULT)
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, folder / "fault.c", "-o", folder / "fault.so"], check=True)
    return ctypes.CDLL(str(folder / "fault.so"))


@pytest.fixture
def cache() -> Iterator[TierCache]:
    """Pages 0, 2, 4 and so on are in memory, 0 for the longest time."""
    cache = TierCache(Disk(PAGES, 0), pages=PAGES, frames=FRAMES, slots=0, policy="lru")
    for page in range(0, 2 * FRAMES, 2):
        cache.read(page)
    yield cache
    cache.close()


def started(body: Callable[[], object]) -> Thread:
    thread = Thread(target=body, daemon=True)
    thread.start()
    until_asleep(thread)
    assert thread.is_alive()
    return thread


@pytest.fixture
def held(fault: ctypes.CDLL) -> Iterator[int]:
    """Where to copy to, for who is to wait there."""
    memory = mmap(-1, PAGE_SIZE)
    place = int(ffi.cast("uintptr_t", ffi.from_buffer(memory)))
    assert fault.hold(ctypes.c_void_p(place)) == 0
    yield place
    fault.end()


@pytest.mark.parametrize("needs_room", [lambda cache: cache.read(61), lambda cache: cache.write(61, bytes(PAGE_SIZE))])
def test_hits_beside_a_wait_for_readers_are_told(
    fault: ctypes.CDLL, held: int, cache: TierCache, needs_room: Callable[[TierCache], object]
) -> None:
    """Page 0 is to leave, and is being copied. Who needs room waits; page 2, which comes next, is read meanwhile."""
    reader = started(lambda: lib.pgq_tiercache_read(cache._cache, 0, ffi.cast("void *", held)))
    other = started(lambda: needs_room(cache))
    cache.read(0)
    cache.read(2)
    assert fault.let_go() == 0
    reader.join()
    other.join()
    assert ctypes.string_at(held, PAGE_SIZE) == cache.read(0)
    assert [page for page in range(0, 2 * FRAMES, 2) if not cache.where(page)] == [4]


@pytest.mark.parametrize(
    ("comes", "page"),
    [
        (lambda _cache: None, 0),
        (lambda cache: cache.write(0, bytes(PAGE_SIZE)), 0),
        (lambda cache: cache.write(61, bytes(PAGE_SIZE)), 61),
        *((lambda cache: [cache.read(page) for page in range(41, 48)], page) for page in range(41, 48)),
    ],
)
def test_who_copies_a_page_holds_no_lock(
    fault: ctypes.CDLL, held: int, cache: TierCache, comes: Callable[[TierCache], object], page: int
) -> None:
    """However the page has come: another call ends while its reader stands."""
    comes(cache)
    reader = started(lambda: lib.pgq_tiercache_read(cache._cache, page, ffi.cast("void *", held)))
    other = Thread(target=lambda: cache.where(page), daemon=True)
    other.start()
    until_asleep(other)
    ended = not other.is_alive()
    assert fault.let_go() == 0
    reader.join()
    other.join()
    assert ended


def test_who_copies_from_a_closed_frame_holds_the_lock(fault: ctypes.CDLL, held: int, cache: TierCache) -> None:
    """Page 0 is to leave, once its reader has left. A second reader has no pin: the frame must not change beside it."""
    bodies: list[Callable[[], object]] = [
        lambda: lib.pgq_tiercache_read(cache._cache, 0, ffi.cast("void *", held)),
        lambda: cache.read(61),
    ]
    threads = [started(body) for body in (*bodies, bodies[0])]
    other = Thread(target=lambda: cache.where(0), daemon=True)
    other.start()
    until_asleep(other)
    ended = not other.is_alive()
    assert fault.let_go() == 0
    assert fault.let_go() == 0
    for thread in (*threads, other):
        thread.join()
    assert not ended


@pytest.mark.parametrize("write_is_last", [False, True])
def test_a_write_that_waited_for_a_reader_finds_its_page_anew(
    fault: ctypes.CDLL, held: int, between: tuple[Between, TierCache], write_is_last: bool
) -> None:
    """Page 64 is on its way to the SSD, and is being copied. A write to it waits, and so does who moves it: if that one
    goes on first, the frame has another page then; if not, a newer version of this one."""
    disk, cache = between
    threads, has_put = [], Event()

    def meanwhile(_operation: Operation) -> None:
        threads.append(started(lambda: lib.pgq_tiercache_read(cache._cache, 64, ffi.cast("void *", held))))
        threads.append(started(lambda: cache.write(64, contents(1000))))
        has_put.set()

    disk.during(is_put, meanwhile)
    threads.append(Thread(target=lambda: cache.read(0), daemon=True))
    threads[0].start()
    has_put.wait()
    until_asleep(threads[0])
    moves, _, writes = threads
    first, last = (moves, writes) if write_is_last else (writes, moves)
    assert fault.stop(ctypes.c_ulong(last.ident or 0)) == 0
    assert fault.let_go() == 0
    first.join()
    assert fault.go_on() == 0
    for thread in threads:
        thread.join()
    assert ctypes.string_at(held, PAGE_SIZE) == contents(64)
    assert cache.read(64) == contents(1000)
    cache.fsync()
    all_as_written(disk, {64: contents(1000)})


def test_a_page_that_is_written_while_its_frame_is_waited_for_stays(
    fault: ctypes.CDLL, held: int, cache: TierCache
) -> None:
    """Page 0 is to leave, and is being copied. A write to it waits beside who needs its frame, and goes on first."""
    reader = started(lambda: lib.pgq_tiercache_read(cache._cache, 0, ffi.cast("void *", held)))
    other = started(lambda: cache.read(61))
    writer = started(lambda: cache.write(0, contents(1000)))
    assert fault.stop(ctypes.c_ulong(other.ident or 0)) == 0
    assert fault.let_go() == 0
    writer.join()
    assert fault.go_on() == 0
    reader.join()
    other.join()
    assert cache.read(0) == contents(1000)


def test_a_cleaner_does_not_fail_while_the_readers_of_a_page_that_leaves_are_waited_for(
    fault: ctypes.CDLL, held: int
) -> None:
    """It has come to its slot, and is being copied from its frame. No other page can leave."""
    disk, cache = one_can_leave()
    threads, has_put = [Thread(target=lambda: cache.write(17, contents(17)), daemon=True)], Event()

    def meanwhile(_operation: Operation) -> None:
        threads.append(started(lambda: lib.pgq_tiercache_read(cache._cache, 16, ffi.cast("void *", held))))
        has_put.set()

    disk.during(is_put, meanwhile)
    threads[0].start()
    has_put.wait()
    until_asleep(threads[0])
    try:
        assert cache.clean(FRAMES // 4, 1) == 0
    finally:
        assert fault.let_go() == 0
    for thread in threads:
        thread.join()
    assert cache.read(17) == contents(17)
    cache.close()

# SPDX-License-Identifier: PostgreSQL
"""What others do while a reader stands in the middle of its copy: it copies to memory that faults till it may go on."""

import ctypes
import subprocess
from collections.abc import Callable, Iterator
from mmap import mmap
from threading import Thread

import pytest
from _pgquern import ffi, lib
from pgquern.tiercache import PAGE_SIZE, TierCache

from tests.asleep import until_asleep
from tests.tiercache.devices import Disk

FRAMES, PAGES = 16, 64
FAULT = r"""
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;
static int pipe_of[2];
static struct sigaction before;

static void wait_here(int number, siginfo_t *fault, void *context)
{
    char byte;

    (void)context;
    if ((char *)fault->si_addr < page || (char *)fault->si_addr >= page + 8192)
        sigaction(number, &before, NULL);
    else if (read(pipe_of[0], &byte, 1) != 1 || mprotect(page, 8192, PROT_READ | PROT_WRITE) != 0)
        _exit(99);
}

/* Who touches the page waits from now on. */
int hold(void *at)
{
    struct sigaction action = {.sa_sigaction = wait_here, .sa_flags = SA_SIGINFO};

    page = at;
    return pipe(pipe_of) || sigaction(SIGSEGV, &action, &before) || mprotect(page, 8192, PROT_NONE);
}

/* He goes on. */
int let_go(void)
{
    return write(pipe_of[1], "", 1) != 1;
}

int end(void)
{
    return sigaction(SIGSEGV, &before, NULL) || close(pipe_of[0]) || close(pipe_of[1]);
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


@pytest.mark.parametrize("needs_room", [lambda cache: cache.read(61), lambda cache: cache.write(61, bytes(PAGE_SIZE))])
def test_hits_beside_a_wait_for_readers_are_told(
    fault: ctypes.CDLL, cache: TierCache, needs_room: Callable[[TierCache], object]
) -> None:
    """Page 0 is to leave, and is being copied. Who needs room waits; page 2, which comes next, is read meanwhile."""
    memory = mmap(-1, PAGE_SIZE)
    place = int(ffi.cast("uintptr_t", ffi.from_buffer(memory)))
    assert fault.hold(ctypes.c_void_p(place)) == 0
    try:
        reader = started(lambda: lib.pgq_tiercache_read(cache._cache, 0, ffi.cast("void *", place)))
        other = started(lambda: needs_room(cache))
        cache.read(0)
        cache.read(2)
        assert fault.let_go() == 0
        reader.join()
        other.join()
    finally:
        fault.end()
    assert bytes(memory) == cache.read(0)
    assert [page for page in range(0, 2 * FRAMES, 2) if not cache.where(page)] == [4]

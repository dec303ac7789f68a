# SPDX-License-Identifier: PostgreSQL
"""A lock that finds no memory says so, and gives back what it had."""

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from _pgquern import lib
from pgquern.rangelock import Hold, RangeLock

# The nth allocation while `failing` is set fails: the interpreter makes none meanwhile that could be taken for it.
ALLOCATOR = """
#include <errno.h>
#include <stddef.h>
extern void *__libc_calloc(size_t n, size_t size), *__libc_realloc(void *p, size_t size);
int failing = -1, seen;
static int fails(void) { return failing >= 0 && seen++ == failing; }
void *calloc(size_t n, size_t size)
{
    return failing >= 0 && n == 1 && fails() ? (errno = ENOMEM, NULL) : __libc_calloc(n, size);
}
void *realloc(void *p, size_t size)
{
    return failing >= 0 && p == NULL && fails() ? (errno = ENOMEM, NULL) : __libc_realloc(p, size);
}
"""
CREATE = """
import ctypes, os, sys
from _pgquern import ffi, lib
(create,) = (v.fn for v in lib.pgq_rangelock_variants[0:3] if ffi.string(v.name).decode() == sys.argv[1])
allocator = ctypes.CDLL(os.environ["LD_PRELOAD"])
failing, seen = (ctypes.c_int.in_dll(allocator, name) for name in ("failing", "seen"))
made, before = ffi.new("pgq_rangelock **", ffi.NULL), len(os.listdir("/proc/self/fd"))
fd = sys.stdin.fileno()
seen.value, failing.value = 0, int(sys.argv[2])
status = create(fd, made)
failing.value = -1
print(status.code, status.index, made[0] == ffi.NULL, len(os.listdir("/proc/self/fd")) - before)
"""


@pytest.fixture(scope="module")
def allocator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("allocator")
    (folder / "allocator.c").write_text(ALLOCATOR)
    made = folder / "allocator.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", str(folder / "allocator.c"), "-o", str(made)], check=True)
    return made


@pytest.mark.parametrize(("variant", "failing"), [("rwlock", 0), ("ofd", 0), ("ofd", 1), ("interval", 0)])
def test_without_memory_no_lock_is_made(variant: str, failing: int, allocator: Path, tmp_path: Path) -> None:
    """Each allocation of a lock's beginning fails in turn."""
    environment = os.environ | {"LD_PRELOAD": str(allocator), "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "file").open("w+") as file:
        command = [sys.executable, "-c", CREATE, variant, str(failing)]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=file)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [str(lib.PGQ_MEMORY), "0", "True", "0"]


@pytest.mark.parametrize("ask", [RangeLock.lock, RangeLock.try_lock, RangeLock.request])
def test_a_hold_lives_as_long_as_c_has_it(ask: Any) -> None:
    """Also if its caller forgets it."""
    lock, hold = RangeLock(), Hold()
    ask(lock, hold, 0, 10, exclusive=True)
    seen = weakref.ref(hold)
    del hold
    gc.collect()
    held = seen()
    assert held is not None
    lock.unlock(held)
    del held
    gc.collect()
    assert seen() is None

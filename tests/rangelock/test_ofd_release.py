# SPDX-License-Identifier: PostgreSQL
"""While `ofd` gives a range back, the range is still locked, and nobody else may give it back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from _pgquern import lib

# Calls `meanwhile` before the kernel unlocks, once.
FCNTL = """
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>
void (*meanwhile)(void);
int fcntl(int fd, int command, ...)
{
    va_list arguments;
    void *argument, (*now)(void) = meanwhile;
    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_OFD_SETLK && ((struct flock *)argument)->l_type == F_UNLCK && now) {
        meanwhile = 0;
        now();
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}
"""
RELEASE = """
import ctypes, os, sys
from pgquern.errors import PgquernError
from pgquern.rangelock import Hold, RangeLock
lock, mine, other = RangeLock(variant="ofd", fd=sys.stdin.fileno()), Hold(), Hold()
lock.lock(mine, 0, 10, exclusive=True)

@ctypes.CFUNCTYPE(None)
def now():
    print(lock.try_lock(other, 5, 1, exclusive=True))
    try:
        lock.unlock(mine)
        print("given back")
    except PgquernError as error:
        print(error.code)

meanwhile = ctypes.c_void_p.in_dll(ctypes.CDLL(os.environ["LD_PRELOAD"]), "meanwhile")
meanwhile.value = ctypes.cast(now, ctypes.c_void_p).value
lock.unlock(mine)
print(lock.try_lock(other, 5, 1, exclusive=True))
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fcntl")
    (folder / "fcntl.c").write_text("#define _GNU_SOURCE\n" + FCNTL)
    made = folder / "fcntl.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", str(folder / "fcntl.c"), "-o", str(made)], check=True)
    return made


def test_until_the_kernel_has_unlocked_nobody_comes_and_nobody_gives_back(shim: Path, tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(sys.path)}
    with (tmp_path / "file").open("w+") as file:
        command = [sys.executable, "-c", RELEASE]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=file)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["False", str(lib.PGQ_RANGELOCK_NOT_HELD), "True"]

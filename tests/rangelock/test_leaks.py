# SPDX-License-Identifier: PostgreSQL
"""Leaks are seen: a lock that is not freed when it is destroyed. The control of what `make test-asan` looks for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.common import leaks

SOURCES = Path("csrc")
FREED = "    pthread_mutex_destroy(&me->mutex);\n    free(me);\n"
"""What ends a lock of `interval`."""
CREATE_AND_DESTROY = """
import ctypes, sys
from tests.common import leaks
if reason := leaks.why_not():
    print("skipped", reason)
    raise SystemExit
library, lock = ctypes.CDLL(sys.argv[1]), ctypes.c_void_p()
for _ in range(20):
    library.pgq_rangelock_create(0, ctypes.byref(lock))
    library.pgq_rangelock_destroy(lock)
print("".join(leaks.of_library(leaks.report())))
"""


def built(folder: Path, *, frees: bool) -> Path:
    """The row alone as a shared library under AddressSanitizer, as it is, or with the free dropped."""
    interval = SOURCES / "rangelock/interval.c"
    text = interval.read_text()
    assert text.count(FREED) == 1
    changed = folder / interval  # a frame of the library is known by its source
    changed.parent.mkdir(parents=True)
    changed.write_text(text if frees else text.replace(FREED, FREED.partition("    free")[0]))
    sources = [
        changed,
        *(path for path in SOURCES.glob("rangelock/*.c") if path != interval),
        *(SOURCES / "common" / f"{name}.c" for name in ("cpu", "dispatch", "errors")),
    ]
    asan = ["-fPIC", "-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=address"]
    flags = [*asan, "-shared", "-D_GNU_SOURCE", "-Icsrc", "-Icsrc/rangelock"]
    subprocess.run(["gcc", *flags, *map(str, sources), "-o", str(folder / "row.so")], check=True)
    return folder / "row.so"


@pytest.mark.parametrize("frees", [True, False])
def test_a_lock_that_is_not_freed_is_seen(tmp_path: Path, frees: bool) -> None:
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = os.environ | {
        "LD_PRELOAD": asan.stdout.strip(),
        "ASAN_OPTIONS": "detect_leaks=1:leak_check_at_exit=0",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, "-c", CREATE_AND_DESTROY, str(built(tmp_path, frees=frees))]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    if run.stdout.startswith("skipped"):
        pytest.skip(run.stdout.removeprefix("skipped ").strip())
    assert ("in pgq_rangelock_interval" in run.stdout) != frees, run.stdout


REPORT = """
=================================================================
==7==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 40 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_malloc ../../libsanitizer/asan/asan_malloc_linux.cpp:69
    #1 0x7f in PyThread_allocate_lock (/usr/bin/python3.11+0x1)
    #2 0x7f in pgq_rangelock_create csrc/rangelock/variants.c:22

Indirect leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f in __interceptor_calloc (/usr/lib/libasan.so.8+0xb)
    #1 0x7f in __strdup (/lib/x86_64-linux-gnu/libc.so.6+0x7)
    #2 0x7f  (/home/you/build/ffi-asan/_pgquern.abi3.so+0x12)

SUMMARY: AddressSanitizer: 48 byte(s) leaked in 2 allocation(s).
"""


def test_a_leak_is_the_librarys_if_it_asked_for_the_memory() -> None:
    (leak,) = leaks.of_library(REPORT)
    assert leak.startswith("Indirect leak of 8 byte(s)")

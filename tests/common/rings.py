# SPDX-License-Identifier: PostgreSQL
"""Whether this system has io_uring: an engine that wrongly says no would have all its tests of rings skipped."""

import ctypes
import os
import subprocess

IO_URING_SETUP = 425
"""The number of the system call, the same on each machine."""


def has_rings() -> bool:
    """Whether the system has io_uring, and what an engine needs for it; no engine is asked."""
    compiled = subprocess.run(["gcc", "-E", "-include", "liburing.h", "-"], capture_output=True, input=b"")
    libc = ctypes.CDLL(None)
    try:
        ctypes.CDLL("liburing.so.2")
    except OSError:
        return False
    fd = libc.syscall(IO_URING_SETUP, 1, ctypes.create_string_buffer(120))
    if fd < 0:
        return False
    os.close(fd)
    return compiled.returncode == 0

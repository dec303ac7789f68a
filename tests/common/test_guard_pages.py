# SPDX-License-Identifier: PostgreSQL
"""Guarded memory is guarded: this is the control of all tests that rely on it."""

import os
import signal
import subprocess
import sys

import pytest

READ = """
import sys
from _pgquern import ffi
from tests.common import guard_pages
size, end, at = (int(arg) for arg in sys.argv[1:])
array = guard_pages.Arrays(at_end=bool(end)).new("char[]", size) if size % 4096 else guard_pages.page(bytes(size))
start = ffi.cast("char *", array if size % 4096 else ffi.from_buffer(array))
print(start[0] + start[size - 1], flush=True)
start[at]
print("read")
"""


@pytest.mark.parametrize("size", [1, 64, 4095, 4097, 8192])
def test_one_byte_beyond_a_guarded_end_cannot_be_read(size: int) -> None:
    """A page is guarded at both ends, an array at the end that was asked for."""
    both = size % 4096 == 0
    for end, at in ((1, size), (0, -1)):
        run = subprocess.run(
            [sys.executable, "-c", READ, str(size), str(end), str(at)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert (run.returncode, run.stdout) == (-signal.SIGSEGV, str(b"\0\0") + "\n"), (both, end, run.stderr)

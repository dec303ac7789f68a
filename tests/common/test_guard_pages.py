# SPDX-License-Identifier: PostgreSQL
"""Guarded memory is guarded: this is the control of all tests that rely on it."""

import faulthandler
import os
import signal
from typing import Any

import pytest
from _pgquern import ffi

from tests.common import guard_pages


def end_of_a_read(start: Any, at: int) -> int:
    """How a process ends that reads this byte: 0, or the signal."""
    if (child := os.fork()) == 0:
        faulthandler.disable()
        os._exit(start[at] != b"\0")
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("size", [1, 64, 4095, 4097, 8192])
def test_one_byte_beyond_a_guarded_end_cannot_be_read(size: int) -> None:
    """A page is guarded at both ends, an array at the end that was asked for."""
    for at_end, beyond in ((True, size), (False, -1)):
        is_page = size % 4096 == 0
        array = guard_pages.page(bytes(size)) if is_page else guard_pages.Arrays(at_end=at_end).new("char[]", size)
        start = ffi.cast("char *", ffi.from_buffer(array) if is_page else array)
        ends = [end_of_a_read(start, at) for at in (0, size - 1, beyond)]
        assert ends == [0, 0, signal.SIGSEGV], at_end

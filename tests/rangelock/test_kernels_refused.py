# SPDX-License-Identifier: PostgreSQL
"""A missing argument is refused, and the fault belongs to no element of an array: the index is 0."""

from collections.abc import Callable
from typing import Any

import pytest
from _pgquern import ffi, lib

CALLS: list[Callable[[], Any]] = [
    lambda: lib.pgq_rangelock_wait(ffi.NULL, ffi.NULL, 0),
    lambda: lib.pgq_rangelock_cancel(ffi.NULL, ffi.NULL),
    lambda: lib.pgq_rangelock_unlock(ffi.NULL, ffi.NULL),
    lambda: lib.pgq_rangelock_log(ffi.NULL, ffi.NULL, 0),
    lambda: lib.pgq_rangelock_destroy(ffi.NULL),
]


@pytest.mark.parametrize("call", CALLS, ids=["wait", "cancel", "unlock", "log", "destroy"])
def test_what_is_missing_is_no_element(call: Callable[[], Any]) -> None:
    status = call()
    assert (status.code, status.index) == (lib.PGQ_NULL, 0)

# SPDX-License-Identifier: PostgreSQL
"""Memory that Python and C share. Where an array is made for C, the length that C is told is that array's own."""

from operator import index
from typing import Any

from _pgquern import ffi

from pgquern.errors import PgquernBufferError

MOST = 2**28
"""Elements of an array that is made for C."""


def buffer(source: Any, *, writable: bool = False) -> Any:
    """The bytes of an object, in place, for as long as the answer's `with` block lasts: it cannot be resized meanwhile.

    PgquernBufferError: its memory is not contiguous, not writable although that is asked for, or has elements that are
    not bytes, such as the pointers of numpy's dtype=object. TypeError: the object has no memory to show.
    """
    try:
        view = memoryview(source)
    except (BufferError, ValueError) as error:
        raise PgquernBufferError(f"it says: {error}") from error
    if view.itemsize != 1:
        raise PgquernBufferError(f"the elements have {view.itemsize} bytes ({view.format})")
    if not view.c_contiguous:
        raise PgquernBufferError
    if writable and view.readonly:
        raise PgquernBufferError("it is read-only")
    return ffi.from_buffer(view, require_writable=writable)


def count(of: str, number: int) -> int:
    """How many elements to allocate. ValueError: more than MOST, or fewer than none."""
    if not 0 <= index(number) <= MOST:
        raise ValueError(f"{of} is {index(number)}; it must be 0 to {MOST}")
    return index(number)


def fill(target: Any, source: Any, size: int) -> int:
    """Copies the bytes that a callback gave to C's memory of `size` bytes, and says how many. ValueError: too many."""
    with memoryview(source) as view:
        if view.nbytes > size:
            raise ValueError(f"{view.nbytes} bytes were given where {size} were asked for")
        with buffer(view) as found:
            ffi.memmove(target, found, view.nbytes)
            return int(view.nbytes)

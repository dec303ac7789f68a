# SPDX-License-Identifier: PostgreSQL
"""Memory whose ends are guarded: an access beyond a buffer's end, by one byte or more, is a segmentation fault.

A buffer lies between two memory pages of PROT_NONE. One whose size is a multiple of 4096 touches both, any other one
touches the upper or the lower. AddressSanitizer sees fewer faults: it does not check masked loads, gathers, or accesses
that jump over its red zones. Under it the rest of the memory between the two pages is poisoned, so that it checks the
other end. A segmentation fault ends pytest; the name of the test and the stack are printed.
"""

import ctypes
from collections import defaultdict
from mmap import PAGESIZE, PROT_READ, mmap
from random import Random
from typing import Any

from _pgquern import ffi

PROT_NONE = 0
LIBC = ctypes.CDLL(None, use_errno=True)
POISON = getattr(LIBC, "__asan_poison_memory_region", None)
UNPOISON = getattr(LIBC, "__asan_unpoison_memory_region", None)


def _address(memory: mmap) -> int:
    return int(ffi.cast("uintptr_t", ffi.from_buffer(memory)))


def mapping(size: int) -> mmap:
    """Fresh memory for `size` bytes, rounded up to whole pages, with a page that cannot be accessed on each side."""
    memory = mmap(-1, (2 + -(-size // PAGESIZE)) * PAGESIZE)
    for at in (0, len(memory) - PAGESIZE):
        if LIBC.mprotect(ctypes.c_void_p(_address(memory) + at), ctypes.c_size_t(PAGESIZE), PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    return memory


def page(content: bytes) -> memoryview:
    """A copy of a heap page (or of any multiple of 4096 bytes), guarded at both ends."""
    if len(content) % PAGESIZE:
        raise ValueError(f"{len(content)} bytes cannot touch both ends")
    memory = memoryview(mapping(len(content)))[PAGESIZE:-PAGESIZE]
    memory[:] = content
    return memory


def read_only(content: bytes) -> mmap:
    """A copy that nobody can write to."""
    memory = mmap(-1, len(content))
    memory.write(content)
    if LIBC.mprotect(ctypes.c_void_p(_address(memory)), ctypes.c_size_t(len(content)), PROT_READ):
        raise OSError(ctypes.get_errno(), "mprotect")
    return memory


class Arrays:
    """Makes arrays as ffi.new does, each guarded at one end; the mappings are used again.

    at_end: the upper end is the guarded one, or (False) the lower; None: either, as a generator of fixed seed says.
    """

    def __init__(self, at_end: bool | None = None) -> None:
        self.at_end = at_end
        self._random = Random(0)
        self._free: defaultdict[int, list[mmap]] = defaultdict(list)
        self._used: dict[int, tuple[mmap, int]] = {}
        self.new = ffi.new_allocator(self._allocate, self._release)

    def _allocate(self, size: int) -> Any:
        pages = -(-size // PAGESIZE)
        memory = self._free[pages].pop() if self._free[pages] else mapping(size)
        low, room = _address(memory) + PAGESIZE, pages * PAGESIZE
        at_end = self._random.random() < 0.5 if self.at_end is None else self.at_end
        at = low + room - size if at_end else low
        if POISON and UNPOISON:
            POISON(ctypes.c_void_p(low), ctypes.c_size_t(room))
            UNPOISON(ctypes.c_void_p(at), ctypes.c_size_t(size))
        self._used[at] = memory, pages
        return ffi.cast("void *", at)

    def _release(self, pointer: Any) -> None:
        memory, pages = self._used.pop(int(ffi.cast("uintptr_t", pointer)))
        if UNPOISON:  # the mapping may be freed, and another one take its place
            UNPOISON(ctypes.c_void_p(_address(memory) + PAGESIZE), ctypes.c_size_t(pages * PAGESIZE))
        self._free[pages].append(memory)

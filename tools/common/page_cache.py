# SPDX-License-Identifier: PostgreSQL
"""What the kernel's page cache has of a file."""

import ctypes
import mmap
import os


def cached_pages(fd: int) -> int:
    """How many of the file's pages the kernel has cached. A read that must not wait cannot tell: it reads ahead."""
    size = os.fstat(fd).st_size
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    there = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    try:
        if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), there) != 0:
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    return sum(byte & 1 for byte in there)

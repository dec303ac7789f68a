# SPDX-License-Identifier: PostgreSQL
"""Real files for the engine, whose pages tell where they belong; and which variants can run on them here."""

import ctypes
import mmap
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from _pgquern import lib
from pgquern.prefetch import BLCKSZ, Io, ReplayError, Step, replay, variants

VARIANTS = [variant.name for variant in variants()]


def page(file: int, block: int) -> bytes:
    return struct.pack("<II", file, block) * (BLCKSZ // 8)


@contextmanager
def files(folder: Path, sizes: Sequence[int], extra: int = 0) -> Iterator[list[int]]:
    """Files of so many blocks, and `extra` bytes each, open for reading."""
    fds = []
    for file, size in enumerate(sizes):
        path = folder / f"{file}"
        path.write_bytes(b"".join(page(file, block) for block in range(size)) + bytes(extra))
        fds.append(os.open(path, os.O_RDONLY))
    try:
        yield fds
    finally:
        for fd in fds:
            os.close(fd)


class Cold(Io):
    """The kernel says that it has nothing cached, so that what reads past its cache does."""

    def cached(self, fd: int, offset: int, size: int) -> int:
        return 0


def skip_unless_it_runs(variant: str, fds: Sequence[int]) -> None:
    """Skips the test by name if this kernel has no io_uring, or this file system no O_DIRECT."""
    try:
        replay(fds, [], concurrency=1, buffers=2, variant=variant)
    except ReplayError as error:
        if error.code not in (lib.PGQ_PREFETCH_URING, lib.PGQ_PREFETCH_DIRECT):
            raise
        pytest.skip(f"{variant}: {error} (error {error.replayed.error_number})")


def faults_of(steps: Sequence[Step], accesses: int, concurrency: int) -> list[str]:
    """What no log may have, whatever the variant and however fast the device."""
    found, before, ahead, most = [], set[Step](), set[int](), 0
    for step in steps:
        what, access = step
        if step in before:
            found.append(f"{what} of {access} twice")
        before.add(step)
        if what in ("advise", "submit"):
            ahead.add(access)
            most = max(most, len(ahead))
        elif what == "use":
            if Step("submit", access) in before and not {Step("complete", access), Step("give_up", access)} & before:
                found.append(f"{access} used before its read had ended")
            ahead.discard(access)
    used = [access for what, access in steps if what == "use"]
    if used != list(range(accesses)):
        found.append(f"replayed: {used}")
    if most > concurrency:
        found.append(f"{most} in flight")
    return found


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

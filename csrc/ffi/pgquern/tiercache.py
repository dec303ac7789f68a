# SPDX-License-Identifier: PostgreSQL
"""The page cache in three tiers, and its eviction policies, by the C library.

A refusal or a failure is a PgquernError; its `code` says which, as csrc/tiercache/tiercache.h does.
"""

from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Any, NamedTuple, Protocol

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import buffer, fill
from pgquern.sharing import closable
from pgquern.variants import Variant

KIND = "tiercache_policy"
PAGE_SIZE = int(lib.PGQ_TIERCACHE_PAGE_SIZE)


def variants() -> list[Variant]:
    """The eviction policies, as pgquern.variants.variants."""
    return variants_.variants(KIND)


def hits(pages: Sequence[int], frames: int, *, policy: str | None = None) -> int:
    """How many references find their page in a cache of so many frames, empty at first. PgquernError."""
    function = lib.pgq_tiercache_policy if policy is None else variants_.row_of(KIND, policy).fn
    found = ffi.new("uint64_t *")
    given = ffi.new("uint64_t[]", list(pages))
    _accept(function(given, len(given), frames, found))
    return int(found[0])


def _accept(status: Any) -> None:
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


class File(IntEnum):
    """What a cache works on."""

    STORE = lib.PGQ_TIERCACHE_FILE_STORE
    SSD = lib.PGQ_TIERCACHE_FILE_SSD
    CONTROL = lib.PGQ_TIERCACHE_FILE_CONTROL


class Where(IntFlag):
    """The tiers that have a page, beside the store."""

    IN_MEMORY = lib.PGQ_TIERCACHE_IN_MEMORY
    MEMORY_DIRTY = lib.PGQ_TIERCACHE_MEMORY_DIRTY
    ON_SSD = lib.PGQ_TIERCACHE_ON_SSD
    SSD_DIRTY = lib.PGQ_TIERCACHE_SSD_DIRTY


class Failure(IntEnum):
    """Why a write-back has left a page dirty."""

    STUCK = lib.PGQ_TIERCACHE_FAILED_STUCK
    LOST = lib.PGQ_TIERCACHE_FAILED_LOST


class SsdFound(IntEnum):
    """What an open found in the SSD's place."""

    NONE = lib.PGQ_TIERCACHE_SSD_NONE
    EMPTY = lib.PGQ_TIERCACHE_SSD_EMPTY
    FOREIGN = lib.PGQ_TIERCACHE_SSD_FOREIGN
    OLD = lib.PGQ_TIERCACHE_SSD_OLD
    OURS = lib.PGQ_TIERCACHE_SSD_OURS
    FAILED = lib.PGQ_TIERCACHE_SSD_FAILED


class Counts(NamedTuple):
    """Reads by the tier that answered; pages that open found on the SSD; whether it is in use; what open found."""

    memory_hits: int
    ssd_hits: int
    store_reads: int
    ssd_taken_over: int
    ssd_in_use: bool
    ssd_found: SsdFound


class Files(Protocol):
    """The file operations, for a cache over files in Python. An OSError is a failure."""

    def read(self, file: File, size: int, offset: int) -> bytes:
        """At most `size` bytes; none at the end of the file."""

    def write(self, file: File, contents: bytes, offset: int) -> int:
        """How many bytes were written."""

    def sync(self, file: File) -> None: ...

    def random(self, size: int) -> bytes:
        """So many random bytes. os.urandom will do; a fixed seed makes a run repeatable."""


class _Callbacks:
    """The table of file operations that calls a Files; an exception other than OSError is kept, and raised later."""

    def __init__(self, files: Files) -> None:
        self.files, self.raised = files, list[BaseException]()
        self.kept = (
            ffi.callback("int64_t(void *, int, void *, uint64_t, uint64_t)", self.read),
            ffi.callback("int64_t(void *, int, const void *, uint64_t, uint64_t)", self.write),
            ffi.callback("int(void *, int)", self.sync),
            ffi.callback("int(void *, void *, uint64_t)", self.random),
        )
        self.table = ffi.new("pgq_tiercache_files *", (ffi.NULL, *self.kept))

    def failed(self, error: BaseException) -> int:
        if not isinstance(error, OSError):
            self.raised.append(error)
        return -1

    def read(self, _context: Any, file: int, into: Any, size: int, offset: int) -> int:
        try:
            return fill(into, self.files.read(File(file), size, offset), size)
        except BaseException as error:
            return self.failed(error)

    def write(self, _context: Any, file: int, contents: Any, size: int, offset: int) -> int:
        try:
            return self.files.write(File(file), bytes(ffi.buffer(contents, size)), offset)
        except BaseException as error:
            return self.failed(error)

    def sync(self, _context: Any, file: int) -> int:
        try:
            self.files.sync(File(file))
            return 0
        except BaseException as error:
            return self.failed(error)

    def random(self, _context: Any, into: Any, size: int) -> int:
        try:
            if (given := fill(into, self.files.random(size), size)) != size:
                raise ValueError(f"{size} random bytes were asked for, and {given} were given")
            return 0
        except BaseException as error:
            return self.failed(error)


@closable(lambda: RuntimeError("the cache is in use"))
class TierCache:
    """A cache over a Files, or over three file descriptors: store, SSD, control. Sizes as pgq_tiercache_options."""

    def __init__(
        self,
        files: Files | tuple[int, int, int],
        *,
        pages: int,
        frames: int,
        slots: int,
        batch: int = 16,
        policy: str | None = None,
        ssd_block: int = 0,
        write_through: bool = False,
    ) -> None:
        self._cache = ffi.NULL
        self._callbacks = None if isinstance(files, tuple) else _Callbacks(files)
        if isinstance(files, tuple):
            self._fds = ffi.new("int[3]", files)
            table = ffi.new("pgq_tiercache_files *", lib.pgq_tiercache_descriptors(self._fds))
        else:
            assert self._callbacks is not None
            table = self._callbacks.table
        if policy is not None:
            variants_.row_of(KIND, policy)
        name = ffi.NULL if policy is None else ffi.new("char[]", policy.encode())
        options = ffi.new("pgq_tiercache_options *", (pages, frames, slots, batch, name, ssd_block, write_through))
        made = ffi.new("pgq_tiercache **")
        status = lib.pgq_tiercache_open(table, options, made)
        self._done(status)
        self._cache = made[0]

    def _done(self, status: Any) -> None:
        if self._callbacks is not None and self._callbacks.raised:
            raise self._callbacks.raised.pop()
        _accept(status)

    def close(self) -> None:
        """Free the memory; nothing is written. RuntimeError: another call is in progress."""
        lib.pgq_tiercache_close(self._cache)
        self._cache = ffi.NULL

    def read(self, page: int) -> bytes:
        contents = ffi.new(f"char[{PAGE_SIZE}]")
        self._done(lib.pgq_tiercache_read(self._cache, page, contents))
        return bytes(ffi.buffer(contents))

    def write(self, page: int, contents: bytes) -> None:
        """ValueError: the contents are not 8192 bytes."""
        with buffer(contents) as given:
            if len(given) != PAGE_SIZE:
                raise ValueError(f"a page has {PAGE_SIZE} bytes, and {len(given)} were given")
            self._done(lib.pgq_tiercache_write(self._cache, page, given))

    def write_back(self, block: int) -> None:
        self._done(lib.pgq_tiercache_write_back(self._cache, block))

    def fsync(self) -> None:
        self._done(lib.pgq_tiercache_fsync(self._cache))

    def clean(self, frames: int, steps: int) -> int:
        """Make room before it is needed, as pgq_tiercache_clean; how many pages are still to leave."""
        left = ffi.new("uint32_t *")
        self._done(lib.pgq_tiercache_clean(self._cache, frames, steps, left))
        return int(left[0])

    def where(self, page: int) -> int:
        """The bits of Where."""
        return int(lib.pgq_tiercache_where(self._cache, page))

    def failed(self) -> dict[int, Failure]:
        """The pages that are dirty since their last write-back failed, in order, as pgq_tiercache_failed."""
        found, page = dict[int, Failure](), ffi.new("uint64_t *")
        begin = 0
        while why := lib.pgq_tiercache_failed(self._cache, begin, page):
            found[int(page[0])] = Failure(why)
            begin = int(page[0]) + 1
        return found

    def counts(self) -> Counts:
        counts = lib.pgq_tiercache_count(self._cache)
        return Counts(
            int(counts.memory_hits),
            int(counts.ssd_hits),
            int(counts.store_reads),
            int(counts.ssd_taken_over),
            bool(counts.ssd_in_use),
            SsdFound(counts.ssd_found),
        )

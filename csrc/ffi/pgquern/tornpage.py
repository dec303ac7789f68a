# SPDX-License-Identifier: PostgreSQL
"""PostgreSQL's page checksum by any of the C library's variants, the check of a relation's pages, and the store."""

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import buffer, fill
from pgquern.sharing import exclusive
from pgquern.variants import Variant

if TYPE_CHECKING:
    from array import array
    from mmap import mmap

    from numpy.typing import NDArray

    Pages = bytes | bytearray | memoryview | mmap | array[int] | NDArray[Any]

CHECKSUM = "tornpage_checksum"


class Verdict(IntEnum):
    """What PageIsVerified says of a page."""

    SOUND = lib.PGQ_TORNPAGE_SOUND
    NEW = lib.PGQ_TORNPAGE_NEW
    CHECKSUM = lib.PGQ_TORNPAGE_CHECKSUM
    HEADER = lib.PGQ_TORNPAGE_HEADER


def variants() -> list[Variant]:
    """All variants, as pgquern.variants.variants."""
    return variants_.variants(CHECKSUM)


def _count(size: int, block_size: int) -> int:
    """How many pages these are. ValueError: the last one is not whole."""
    count, rest = divmod(size, block_size) if block_size > 0 else (0, size)
    if rest:
        raise ValueError(f"the last page has {rest} of {block_size} bytes")
    return count


def checksums(pages: "Pages", *, block_size: int = 8192, first_block: int = 0, variant: str | None = None) -> list[int]:
    """pg_checksum_page of each page. pages: contiguous, whole pages of `block_size` bytes, from block `first_block` on.

    PgquernError: refused, as csrc/tornpage/tornpage.h says. ValueError: a part of a page, or no such variant here.
    """
    run = lib.pgq_tornpage_checksum if variant is None else variants_.row_of(CHECKSUM, variant).fn
    with buffer(pages) as contents:
        count = _count(len(contents), block_size)
        found = ffi.new("uint16_t[]", count)
        status = run(contents, count, block_size, first_block, found)
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)
    return list(found)


def check(pages: "Pages", *, block_size: int = 8192, first_block: int = 0) -> list[Verdict]:
    """A verdict for each page. Arguments and errors as of checksums()."""
    return [Verdict(v) for v in verdicts(pages, block_size=block_size, first_block=first_block)]


def verdicts(pages: "Pages", *, block_size: int = 8192, first_block: int = 0) -> bytes:
    """As check(), a byte for each page: quick for many."""
    with buffer(pages) as contents:
        count = _count(len(contents), block_size)
        found = ffi.new("uint8_t[]", count)
        status = lib.pgq_tornpage_check(contents, count, block_size, first_block, found)
    if status.code not in (lib.PGQ_OK, lib.PGQ_TORNPAGE_WRONG_PAGE):
        raise PgquernError(status.code, status.index)
    return bytes(found)


def first_wrong(pages: "Pages", *, block_size: int = 8192, first_block: int = 0) -> int | None:
    """The block number of the first wrong page, None if there is none. Arguments and errors as of checksums()."""
    with buffer(pages) as contents:
        count = _count(len(contents), block_size)
        status = lib.pgq_tornpage_check(contents, count, block_size, first_block, ffi.NULL)
    if status.code == lib.PGQ_TORNPAGE_WRONG_PAGE:
        return first_block + int(status.index) - 1
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)
    return None


class File(IntEnum):
    """The files of a store."""

    DATA = lib.PGQ_TORNPAGE_DATA
    LOG = lib.PGQ_TORNPAGE_LOG
    AREA = lib.PGQ_TORNPAGE_AREA
    CONTROL = lib.PGQ_TORNPAGE_CONTROL


class Protection(IntEnum):
    """What makes recovery safe after a torn write in place."""

    NONE = lib.PGQ_TORNPAGE_NONE
    IMAGES = lib.PGQ_TORNPAGE_IMAGES
    DOUBLE_WRITE = lib.PGQ_TORNPAGE_DOUBLE_WRITE
    ATOMIC = lib.PGQ_TORNPAGE_ATOMIC


class Device(Protocol):
    """File operations. An exception, or a read of fewer bytes than asked for, is a failure of the operation."""

    def read(self, file: int, at: int, size: int) -> bytes: ...
    def write(self, file: int, at: int, data: bytes) -> None: ...
    def sync(self, file: int) -> None: ...


@exclusive
class Store:
    """A store of pages over a device, as csrc/tornpage/tornpage.h says. Each refusal is a PgquernError.

    `failure` is the exception that a file operation has raised, if one has.
    """

    def __init__(
        self, device: Device, *, protection: int, block_size: int, pages: int, log_capacity: int, slots: int = 8
    ) -> None:
        self.failure: Exception | None = None
        self._size = block_size
        self._callbacks = (
            ffi.callback("int(void *, int, uint64_t, void *, size_t)", self._reader(device)),
            ffi.callback("int(void *, int, uint64_t, const void *, size_t)", self._writer(device)),
            ffi.callback("int(void *, int)", self._syncer(device)),
        )
        config = ffi.new("pgq_tornpage_config *", (protection, block_size, pages, slots, log_capacity))
        table = ffi.new("pgq_tornpage_device *", (ffi.NULL, *self._callbacks))
        made = ffi.new("pgq_tornpage_store **")
        self._done(lib.pgq_tornpage_create(config, table, made))
        self._store = ffi.gc(made[0], lib.pgq_tornpage_destroy)

    def _failed(self, error: Exception) -> int:
        self.failure = error
        return -1

    def _reader(self, device: Device) -> Any:
        def read(_: Any, file: int, at: int, into: Any, size: int) -> int:
            try:
                if (got := fill(into, device.read(file, at, size), size)) != size:
                    raise ValueError(f"{got} bytes were given where {size} were asked for")
            except Exception as error:
                return self._failed(error)
            return 0

        return read

    def _writer(self, device: Device) -> Any:
        def write(_: Any, file: int, at: int, data: Any, size: int) -> int:
            try:
                device.write(file, at, bytes(ffi.buffer(data, size)))
            except Exception as error:
                return self._failed(error)
            return 0

        return write

    def _syncer(self, device: Device) -> Any:
        def sync(_: Any, file: int) -> int:
            try:
                device.sync(file)
            except Exception as error:
                return self._failed(error)
            return 0

        return sync

    @staticmethod
    def _done(status: Any) -> None:
        if status.code != lib.PGQ_OK:
            raise PgquernError(status.code, status.index)

    def format(self) -> None:
        self._done(lib.pgq_tornpage_format(self._store))

    def recover(self) -> None:
        self._done(lib.pgq_tornpage_recover(self._store))

    def change(self, page: int, offset: int, data: bytes) -> None:
        with buffer(data) as given:
            self._done(lib.pgq_tornpage_change(self._store, page, offset, given, len(given)))

    def page(self, page: int) -> bytes:
        """The page in memory. PgquernError: there is none of that number, or the store is not open."""
        found = lib.pgq_tornpage_page(self._store, page)
        if found == ffi.NULL:
            raise PgquernError(lib.PGQ_TORNPAGE_RANGE)
        return bytes(ffi.buffer(found, self._size))

    def flush(self) -> None:
        self._done(lib.pgq_tornpage_flush(self._store))

    def write_back(self, pages: Sequence[int]) -> None:
        given = ffi.new("uint32_t[]", list(pages))
        self._done(lib.pgq_tornpage_write_back(self._store, given, len(given)))

    def checkpoint_begin(self) -> None:
        self._done(lib.pgq_tornpage_checkpoint_begin(self._store))

    def checkpoint_end(self) -> None:
        self._done(lib.pgq_tornpage_checkpoint_end(self._store))

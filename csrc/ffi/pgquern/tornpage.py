# SPDX-License-Identifier: PostgreSQL
"""PostgreSQL's page checksum by any of the C library's variants, and the check of a relation's pages."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.variants import Variant

if TYPE_CHECKING:
    from mmap import mmap

    from numpy.typing import NDArray

    Pages = bytes | bytearray | memoryview | mmap | NDArray[Any]

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
    with ffi.from_buffer(pages) as buffer:
        count = _count(len(buffer), block_size)
        found = ffi.new("uint16_t[]", count)
        status = run(buffer, count, block_size, first_block, found)
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)
    return list(found)


def check(pages: "Pages", *, block_size: int = 8192, first_block: int = 0) -> list[Verdict]:
    """A verdict for each page. Arguments and errors as of checksums()."""
    with ffi.from_buffer(pages) as buffer:
        count = _count(len(buffer), block_size)
        found = ffi.new("uint8_t[]", count)
        status = lib.pgq_tornpage_check(buffer, count, block_size, first_block, found)
    if status.code not in (lib.PGQ_OK, lib.PGQ_TORNPAGE_WRONG_PAGE):
        raise PgquernError(status.code, status.index)
    return [Verdict(v) for v in found]


def first_wrong(pages: "Pages", *, block_size: int = 8192, first_block: int = 0) -> int | None:
    """The block number of the first wrong page, None if there is none. Arguments and errors as of checksums()."""
    with ffi.from_buffer(pages) as buffer:
        count = _count(len(buffer), block_size)
        status = lib.pgq_tornpage_check(buffer, count, block_size, first_block, ffi.NULL)
    if status.code == lib.PGQ_TORNPAGE_WRONG_PAGE:
        return first_block + int(status.index) - 1
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)
    return None

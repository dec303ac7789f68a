# SPDX-License-Identifier: PostgreSQL
"""Heap page compaction (PageRepairFragmentation) by any of the C library's variants."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import cache
from mmap import mmap
from typing import TYPE_CHECKING, Any

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.cpu import cpu
from pgquern.errors import PgquernError
from pgquern.memory import buffer

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray

    type_of_page = bytearray | memoryview | mmap | array[int] | NDArray[Any]

BLCKSZ = 8192


class Order(IntEnum):
    """The order of the tuples after compaction, from pd_special downwards."""

    OFFSET = lib.PGQ_COMPACTION_ORDER_OFFSET
    """As before, by falling lp_off: PostgreSQL 13 and earlier."""
    ITEM = lib.PGQ_COMPACTION_ORDER_ITEM
    """By rising line pointer number: PostgreSQL 14 and later."""


@dataclass(frozen=True)
class Variant(variants_.Variant):
    """A row of the library's table. supported: this CPU can run it, and PGQUERN_CPU allows it."""

    order: Order


def _variant(row: Any) -> Variant:
    return Variant(order=Order(row.order), **variants_.fields(row))


def variants() -> list[Variant]:
    """All variants, upstream's first and the fastest last, those that this CPU cannot run included.

    PgquernError (VARIANT): PGQUERN_CPU holds an unknown word.
    """
    cpu()
    return [_variant(row) for row in variants_.rows("compaction")]


def dispatched() -> Variant:
    """The variant that runs when none is named; PgquernError (VARIANT): the environment cannot be followed."""
    row = lib.pgq_compaction_dispatched()
    if row == ffi.NULL:
        raise PgquernError(lib.PGQ_VARIANT)
    return _variant(row)


def _function(variant: str) -> Any:
    return _named(variant) if isinstance(variant, str) else variants_.row_of("compaction", variant).fn


@cache
def _named(variant: str) -> Any:
    return variants_.row_of("compaction", variant).fn


def page_repair_fragmentation(page: "type_of_page", *, truncate: bool, variant: str | None = None) -> None:
    """Compacts a page in place.

    page: a writable, contiguous buffer of 8192 bytes. truncate: whether trailing unused line pointers are cut off
    (PostgreSQL 15 and later). variant: a name from variants(); None is the dispatched one. PgquernError: the page is
    refused, and unchanged. ValueError: no such variant here. PgquernBufferError, TypeError: not a writable buffer.
    """
    run = lib.pgq_compaction_repair_fragmentation if variant is None else _function(variant)
    with buffer(page, writable=True) as contents:
        if len(contents) != BLCKSZ:
            raise PgquernError(lib.PGQ_COMPACTION_BLOCK_SIZE)
        status = run(contents, truncate)
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


def batch(pages: Sequence["type_of_page"], *, truncate: bool, variant: str | None = None) -> list[tuple[int, int]]:
    """Compacts pages in place, each as page_repair_fragmentation does. Releases the GIL once for all pages.

    Returns (code, index) for each page, in order; (0, 0) means accepted. A buffer that is not of 8192 bytes gets
    BLOCK_SIZE and does not stop the others. The pages must not overlap. PgquernBufferError, TypeError: one of them is
    not a writable buffer; no page has changed.
    """
    with ExitStack() as kept:
        buffers = [kept.enter_context(buffer(page, writable=True)) for page in pages]
        pointers = ffi.new("void *[]", [b if len(b) == BLCKSZ else ffi.NULL for b in buffers])
        statuses = ffi.new("pgq_status[]", len(buffers))
        if variant is None:
            lib.pgq_compaction_repair_fragmentation_batch(pointers, len(buffers), truncate, statuses)
        else:
            lib.pgq_compaction_batch(_function(variant), pointers, len(buffers), truncate, statuses)
        return [
            (status.code, status.index) if len(b) == BLCKSZ else (lib.PGQ_COMPACTION_BLOCK_SIZE, 0)
            for status, b in zip(statuses, buffers, strict=True)
        ]


@dataclass(frozen=True)
class TupleBounds:
    """The ids that rows may have, each in [0, 2^32); 0: not known."""

    next_xid: int = 0
    oldest_xid: int = 0
    relfrozenxid: int = 0
    next_multi: int = 0
    oldest_multi: int = 0
    relminmxid: int = 0
    natts: int = 0
    """The columns of the table."""


def suspect_tuples(pages: "bytes | type_of_page", bounds: TupleBounds, *, first_block: int = 0) -> bytes:
    """A byte for each page: 1 if it may hold a damaged row, 0 if it does not (csrc/compaction/compaction.h says which).

    pages: contiguous, whole pages of 8192 bytes, from block `first_block` on. ValueError: a part of a page.
    """
    with buffer(pages) as contents:
        count, rest = divmod(len(contents), BLCKSZ)
        if rest:
            raise ValueError(f"{len(contents)} bytes are no whole pages of {BLCKSZ}")
        found = ffi.new("uint8_t[]", count)
        ids = ffi.new("pgq_compaction_tuple_bounds *", asdict(bounds))
        lib.pgq_compaction_suspect_tuples(contents, count, first_block, ids, found)
    return bytes(found)

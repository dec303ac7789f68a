# SPDX-License-Identifier: PostgreSQL
"""A real server as the oracle of compaction: its own PageRepairFragmentation, by the extension prb.

The extension is built once for each major, with PG_MAJOR set to it: from one C source (extensions/prb.c) and one header
of our own (tests/postgres/abi.h), which declares the few pieces of the server's interface that it needs. The server
compares the magic block before it calls anything. Debian's headers of 15 are compared with abi.h at build time.
Debian's 15 and the embedded 15 load the same file.
"""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType
from typing import Self

import psycopg

from ref import page as rp
from ref.compaction import Order, page_repair_fragmentation
from tests.postgres.server import Server, extension

REPORTS = {
    rp.ErrorCode.HEADER: "corrupted page pointers:",
    rp.ErrorCode.LP_OFF: "corrupted line pointer:",
    rp.ErrorCode.TOTAL: "corrupted item lengths:",
}
"""The faults that a server finds before it moves anything, and how its report begins (SQLSTATE XX001)."""


class UnsafePageError(ValueError):
    """No server may get this page: it would read or write outside the page, or lose a tuple."""


@lru_cache(maxsize=8192)
def require_safe(page: bytes) -> None:
    """Raise UnsafePageError unless every major compacts the page soundly, or refuses it before it moves anything."""
    try:
        page_repair_fragmentation(page, order=Order.ITEM, truncate=True)
    except rp.PageError as error:
        # The first fault of the page in the order in which the server checks: it stops there.
        if error.code in REPORTS:
            return
        raise UnsafePageError(str(error)) from error
    try:
        plain = rp.Header.parse(page)._replace(pd_flags=0, pd_pagesize_version=rp.BLCKSZ | rp.LAYOUT_VERSION)
        rp.check(plain.pack() + page[rp.SIZE_OF_PAGE_HEADER :])
    except rp.PageError as error:
        raise UnsafePageError(str(error)) from error


class Prb:
    """A connection to a server that has prb(). A page that could harm the server is not sent."""

    def __init__(self, server: Server) -> None:
        library = server.put(extension("prb", server.build.major))
        self._connection = server.connect()
        self._cursor = self._connection.cursor(binary=True)
        self._cursor.execute(
            f"CREATE OR REPLACE FUNCTION prb(bytea) RETURNS bytea AS '{library}' LANGUAGE C STRICT".encode()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def __call__(self, page: bytes) -> bytes:
        """The page after the server's PageRepairFragmentation; psycopg.errors.DataCorrupted if it refuses."""
        require_safe(page)
        self._cursor.execute("SELECT prb(%b)", (page,))
        row = self._cursor.fetchone()
        assert row is not None
        return bytes(row[0])

    def refusal(self, page: bytes) -> str:
        """The server's report on a page that it refuses; empty if it accepts it."""
        try:
            self(page)
        except psycopg.errors.DataCorrupted as error:
            return error.diag.message_primary or ""
        return ""

# SPDX-License-Identifier: PostgreSQL
"""A page that a reader can follow by hand, and two views of any page."""

from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_NORMAL,
    LP_UNUSED,
    PD_ALL_VISIBLE,
    UNUSED,
    Header,
    LinePointer,
    build,
    line_pointers,
    tuple_bytes,
)


def normal(lp_off: int, lp_len: int) -> LinePointer:
    return LinePointer(lp_off, LP_NORMAL, lp_len)


# Five line pointers. From pd_special 8184 downwards lie: 16 bytes that nobody owns, tuple 3 (A: 8 bytes), tuple 1
# (B: 24), tuple 4 (C: 13, so 16), with 8 that nobody owns above it.
EXAMPLE = build(
    [normal(8136, 24), LinePointer(77, LP_UNUSED, 5), normal(8160, 8), LinePointer(8112, LP_DEAD, 13), UNUSED],
    {1: b"B" * 24, 3: b"A" * 8, 4: b"C" * 16},
    header=Header(pd_flags=PD_ALL_VISIBLE, pd_lower=44, pd_upper=8112, pd_special=8184),
    fill=b"." * BLCKSZ,
)


def stored(page: bytes) -> dict[int, LinePointer]:
    """The line pointers that are used and have storage, by number."""
    return {i: lp for i, lp in enumerate(line_pointers(page), start=1) if lp.is_used and lp.has_storage}


def contents(page: bytes) -> dict[int, bytes]:
    """What each of them points at, padding included."""
    return {i: tuple_bytes(page, lp) for i, lp in stored(page).items()}

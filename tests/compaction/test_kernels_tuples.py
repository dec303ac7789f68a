# SPDX-License-Identifier: PostgreSQL
"""suspect_tuples: no page with a fault passes, and no sound page is named."""

import struct
from dataclasses import asdict
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgquern.compaction import TupleBounds, page_repair_fragmentation, suspect_tuples
from pgquern.errors import PgquernError

from tests.page.rows import (
    BLCKSZ,
    FAULTS,
    FROZEN,
    FROZEN_BITS,
    HASNULL,
    HEAP_ONLY,
    HOT_UPDATED,
    MIN_MULTI,
    NATTS,
    NEXT,
    NEXT_MULTI,
    OLDEST,
    UPDATED,
    XMAX_COMMITTED,
    XMAX_INVALID,
    XMIN_INVALID,
    Rows,
    plain_tuples,
    sound,
)
from tests.page.rows import COMMITTED as HINT
from tools.check_pages.catalog import COMMITTED
from tools.check_pages.tuples import Bounds, faults
from tools.common.relation_file import Ids

KNOWN = TupleBounds(NEXT, OLDEST, FROZEN, NEXT_MULTI, MIN_MULTI, MIN_MULTI, NATTS)
NOTHING = TupleBounds()


def bounds_of(known: TupleBounds) -> Bounds:
    """The same, as the definition takes them; each XID is committed, which names the most."""
    ids = Ids(True, 0, known.next_xid, known.oldest_xid, known.next_multi, known.oldest_multi)
    return Bounds(ids, known.relfrozenxid, known.relminmxid, known.natts, status=lambda _: COMMITTED)


def is_refused(page: bytes) -> bool:
    try:
        page_repair_fragmentation(bytearray(page), truncate=False)
    except PgquernError:
        return True
    return False


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 2))
def test_a_sound_page_is_not_suspect(seed: int, block: int) -> None:
    page = bytes(sound(Random(seed), block).page)
    assert not faults(page, block, bounds_of(KNOWN))
    assert suspect_tuples(page, KNOWN, first_block=block) == b"\0"


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_is_named_and_its_page_is_suspect(words: str) -> None:
    """The second of three pages."""
    for seed in range(20):
        pages = [sound(Random(3 * seed + i), 7 + i) for i in range(3)]
        number = Random(seed).choice(plain_tuples(pages[1]))
        FAULTS[words](pages[1], number)
        content = b"".join(bytes(one.page) for one in pages)
        said = faults(content[BLCKSZ : 2 * BLCKSZ], 8, bounds_of(KNOWN))
        assert any(words in text for _, text in said), said
        assert suspect_tuples(content, KNOWN, first_block=7) == b"\0\1\0"


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([KNOWN, NOTHING]),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 4), st.integers(0, 191)), max_size=6),
    st.booleans(),
)
def test_a_page_with_a_fault_is_suspect(
    seed: int, known: TupleBounds, flips: list[tuple[int, int, int]], redirects: bool
) -> None:
    """Bits of line pointers, of tuples' headers and of the page's header change."""
    rows = sound(Random(seed), 3)
    for which, kind, bit in flips:
        number = 1 + which % rows.n
        at = {0: 8 * (20 + 4 * number) + bit % 32, 1: 8 * 10 + bit % 64}.get(kind, 8 * (rows.off(number) % 8168) + bit)
        rows.page[at // 8] ^= 1 << at % 8
    if redirects:
        rows.set(1 + seed % rows.n, 1 + seed // 300 % rows.n, 2)
    page = bytes(rows.page)
    if faults(page, 3, bounds_of(known)) or is_refused(page):
        assert suspect_tuples(page, known, first_block=3) == b"\1"


@pytest.mark.parametrize(
    "field", ["next_xid", "oldest_xid", "relfrozenxid", "next_multi", "oldest_multi", "relminmxid"]
)
def test_each_bound_is_looked_at(field: str) -> None:
    """A row at the bound, and one behind it; for a bound that is not known neither is suspect."""
    multi = "multi" in field or field == "relminmxid"
    for distance, wrong in ((-1, "next" not in field), (0, "next" in field), (1, "next" in field)):
        rows = sound(Random(5), 0)
        at = rows.off(plain_tuples(rows)[0])
        value = 2**31 + 10 + distance
        rows.page[at + 20 : at + 22] = (0x1180 if multi else 0x900).to_bytes(2, "little")
        rows.page[at + 4 * multi : at + 4 * multi + 4] = value.to_bytes(4, "little")
        known = TupleBounds(**asdict(NOTHING) | {field: 2**31 + 10})
        others = bytes(sound(Random(5), 0).page)
        assert suspect_tuples(bytes(rows.page), NOTHING) == b"\0"
        far = suspect_tuples(others, known) == b"\1"
        assert (suspect_tuples(bytes(rows.page), known) == b"\1") == (wrong or far)


def test_what_is_no_whole_page_is_refused() -> None:
    with pytest.raises(ValueError, match="no whole pages"):
        suspect_tuples(bytes(BLCKSZ + 1), NOTHING)
    assert suspect_tuples(b"", NOTHING) == b""
    assert suspect_tuples(bytes(2 * BLCKSZ), NOTHING) == b"\0\0", "new pages"


@pytest.mark.parametrize("first", [FROZEN_BITS, XMIN_INVALID])
def test_an_xmin_is_not_right_because_the_row_before_has_it(first: int) -> None:
    """Nobody looks at that of a frozen row."""
    rows = Rows(bytearray(BLCKSZ), 0)
    rows.tuple(FROZEN - 1 if first == FROZEN_BITS else FROZEN, 0, 0, first, None, 4)
    rows.tuple(FROZEN - 1, 0, 0, HINT | XMAX_INVALID, None, 4)
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, rows.upper, BLCKSZ, BLCKSZ | 4)
    assert suspect_tuples(bytes(rows.page), KNOWN) == b"\1"
    rows.put(2, 0, "<I", FROZEN)
    assert suspect_tuples(bytes(rows.page), KNOWN) == b"\0"


@pytest.mark.parametrize("between", [0, 1])
def test_tuples_share_bytes_though_they_are_not_in_order(between: int) -> None:
    """The second lies above the first, the third half in one of them, or between them."""
    rows = Rows(bytearray(BLCKSZ), 0)
    for _ in range(3):
        rows.tuple(FROZEN, 0, 0, HINT | XMAX_INVALID, None, 40)
    low, high = BLCKSZ - 3 * 64, BLCKSZ - 64
    header = bytes(rows.page[rows.off(1) : rows.off(1) + 24])
    for number, off in ((1, low), (2, high), (3, low + (64 if between else 32))):
        rows.page[off : off + 24] = header
        rows.set(number, off, 1, 64)
        rows.put(number, 16, "<H", number)
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, low, BLCKSZ, BLCKSZ | 4)
    assert suspect_tuples(bytes(rows.page), NOTHING) == bytes([not between])


@pytest.mark.parametrize(
    ("natts", "hoff", "length", "xmax", "wrong"),
    [
        (NATTS, 24, 32, FROZEN, False),
        (NATTS + 1, 24, 32, FROZEN, True),
        (NATTS, 24, 32, NEXT, True),
        (9, 32, 32, 0, False),
        (9, 32, 31, 0, True),
        (9, 24, 32, 0, True),
    ],
)
def test_a_header_at_its_limit(natts: int, hoff: int, length: int, xmax: int, wrong: bool) -> None:
    """One column more than its table has, an xmax, data that begin one byte behind the tuple's end or too early."""
    rows = Rows(bytearray(BLCKSZ), 0)
    rows.tuple(FROZEN, xmax, 0, FROZEN_BITS | HASNULL, None, 8)
    rows.set(1, rows.off(1), 1, length)
    rows.put(1, 18, "<H", natts)
    rows.put(1, 22, "<B", hoff)
    struct.pack_into("<5H", rows.page, 10, 0, 28, rows.upper, BLCKSZ, BLCKSZ | 4)
    known = NOTHING if natts > 8 else KNOWN
    assert suspect_tuples(bytes(rows.page), known) == bytes([wrong])
    if xmax == FROZEN or natts > 8:
        rows.put(1, 20, "<H", FROZEN_BITS | HASNULL | XMAX_INVALID)
        assert suspect_tuples(bytes(rows.page), known) == bytes([wrong])


@pytest.mark.parametrize("kind", ["an update", "a heap-only tuple", "a redirect"])
def test_a_chain_that_is_wrong_alone_on_its_page(kind: str) -> None:
    """Each alone makes the kernel follow chains."""
    rows = Rows(bytearray(BLCKSZ), 7)
    if kind == "an update":
        rows.tuple(FROZEN, FROZEN + 1, HOT_UPDATED, HINT | XMAX_COMMITTED, (7, 2), 8)
    elif kind == "a redirect":
        rows.line(2, 2)
    heap_only = HEAP_ONLY * (kind == "a heap-only tuple")
    rows.tuple(FROZEN + 1, 0, heap_only, HINT | XMAX_INVALID | UPDATED, None, 8)
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * rows.n, rows.upper, BLCKSZ, BLCKSZ | 4)
    assert suspect_tuples(bytes(rows.page), KNOWN, first_block=7) == b"\1"
    rows.put(rows.n, 18, "<H", NATTS | (HEAP_ONLY ^ heap_only))
    assert suspect_tuples(bytes(rows.page), KNOWN, first_block=7) == b"\0"


@pytest.mark.parametrize(("n", "wrong"), [(291, False), (292, True)])
def test_more_line_pointers_with_storage_than_a_heap_page_has(n: int, wrong: bool) -> None:
    """Dead ones of eight bytes."""
    rows = Rows(bytearray(BLCKSZ), 0)
    for i in range(n):
        rows.line(BLCKSZ - 8 * (i + 1), 3, 8)
    struct.pack_into("<5H", rows.page, 10, 0, 24 + 4 * n, BLCKSZ - 8 * n, BLCKSZ, BLCKSZ | 4)
    assert is_refused(bytes(rows.page)) == wrong
    assert suspect_tuples(bytes(rows.page), NOTHING) == bytes([wrong])

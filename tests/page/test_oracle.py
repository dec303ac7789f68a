# SPDX-License-Identifier: PostgreSQL
"""Compares the oracle of the page layout with bytes written by hand, and with itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ref.page import (
    BLCKSZ,
    LP_DEAD,
    LP_NORMAL,
    LP_REDIRECT,
    LP_UNUSED,
    MAX_HEAP_TUPLES_PER_PAGE,
    PD_ALL_VISIBLE,
    PD_HAS_FREE_LINES,
    PD_PAGE_FULL,
    SIZE_OF_PAGE_HEADER,
    UNUSED,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    add_item,
    build,
    check,
    check_header,
    init,
    line_pointers,
    maxalign,
    tuple_bytes,
)
from tests.common.tally import tally
from tests.page.build import page_of
from tests.page.shapes import Shape, shapes

words = st.integers(0, 2**32 - 1)


def refused(page: bytes) -> PageError:
    with pytest.raises(PageError) as caught:
        check(page)
    return caught.value


# ---- by hand ---------------------------------------------------------------------------------------------------------


def test_an_empty_page_as_a_hex_dump_shows_it() -> None:
    page = init()
    assert page[:24].hex(" ", 4) == "00000000 00000000 00000000 18000020 00200420 00000000"
    assert page[24:] == bytes(8168)
    assert init(special_size=13)[12:20].hex() == "1800f01ff01f0420"


def test_the_numbers_of_the_codes_and_of_the_flags() -> None:
    """The codes are those of csrc/pgquern.h, the flags those of bufpage.h."""
    assert [code.value for code in ErrorCode] == [*range(10)]
    assert (ErrorCode.OK, ErrorCode.NULL, ErrorCode.OVERLAP) == (0, 1, 9)
    assert (PD_HAS_FREE_LINES, PD_PAGE_FULL, PD_ALL_VISIBLE) == (1, 2, 4)


def test_a_built_page_has_its_tuples_above_pd_upper() -> None:
    """An unused line pointer has none, whatever its other bits say."""
    lps = [LinePointer(8184, LP_NORMAL, 8), LinePointer(4096, LP_UNUSED, 8), LinePointer(4096, LP_REDIRECT, 0)]
    header = Header.parse(build(lps))
    assert (header.pd_lower, header.pd_upper) == (36, 8184)


def test_the_first_line_pointer_of_many_a_table() -> None:
    """Offset 8160, NORMAL, length 28: e0 9f 38 00."""
    lp = LinePointer.from_word(int.from_bytes(bytes.fromhex("e09f3800"), "little"))
    assert lp == LinePointer(lp_off=8160, lp_flags=LP_NORMAL, lp_len=28)
    assert lp.word.to_bytes(4, "little").hex() == "e09f3800"
    assert (lp.has_storage, lp.aligned_len, lp.end) == (True, 32, 8192)


def test_each_header_field_at_its_place() -> None:
    raw = bytes.fromhex("04030201 08070605 0a09 0c0b 0e0d 100f 1211 1413 18171615")
    assert Header.parse(raw) == Header(
        pd_lsn=0x0102030405060708,
        pd_checksum=0x090A,
        pd_flags=0x0B0C,
        pd_lower=0x0D0E,
        pd_upper=0x0F10,
        pd_special=0x1112,
        pd_pagesize_version=0x1314,
        pd_prune_xid=0x15161718,
    )
    assert Header.parse(raw).pack() == raw


def test_flags_lie_between_offset_and_length() -> None:
    assert LinePointer(1, 0, 0).word == 1
    assert LinePointer(0, 1, 0).word == 1 << 15
    assert LinePointer(0, 0, 1).word == 1 << 17
    assert LinePointer(0x7FFF, LP_DEAD, 0x7FFF).word == 2**32 - 1
    assert [maxalign(n) for n in (0, 1, 7, 8, 9, 8192)] == [0, 8, 8, 8, 16, 8192]


@pytest.mark.parametrize(("pd_lower", "nline"), [(0, 0), (24, 0), (27, 0), (28, 1), (31, 1), (8192, 2042)])
def test_number_of_line_pointers(pd_lower: int, nline: int) -> None:
    assert Header(pd_lower=pd_lower).nline == nline


# ---- there and back --------------------------------------------------------------------------------------------------


@given(words)
def test_every_word_is_a_line_pointer(word: int) -> None:
    lp = LinePointer.from_word(word)
    assert lp.word == word
    assert 0 <= lp.lp_off < 1 << 15
    assert 0 <= lp.lp_flags < 4
    assert 0 <= lp.lp_len < 1 << 15


@given(st.binary(min_size=SIZE_OF_PAGE_HEADER, max_size=SIZE_OF_PAGE_HEADER))
def test_every_24_bytes_are_a_header(raw: bytes) -> None:
    assert Header.parse(raw).pack() == raw


@given(shapes())
def test_build_undoes_parse(shape: Shape) -> None:
    page = page_of(shape)
    tally("page", "pages")
    header = Header.parse(page)
    if header.nline <= (BLCKSZ - SIZE_OF_PAGE_HEADER) // 4:
        assert build(line_pointers(page), header=header, fill=page) == page


@given(shapes(sound=True))
def test_what_the_builder_calls_sound_is(shape: Shape) -> None:
    tally("page", "pages")
    check(page_of(shape))


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=40), st.integers(0, 64))
def test_a_page_holds_what_was_added(tuples: list[bytes], special_size: int) -> None:
    page = init(special_size)
    numbers = []
    for data in tuples:
        page, number = add_item(page, data)
        numbers.append(number)
    check(page)
    tally("page", "pages")
    room = BLCKSZ - maxalign(special_size) - SIZE_OF_PAGE_HEADER
    lps = line_pointers(page)
    for data, number in zip(tuples, numbers, strict=True):
        if number:
            assert tuple_bytes(page, lps[number - 1])[: len(data)] == data
            room -= maxalign(len(data)) + 4
    assert 0 in numbers or room >= 0
    assert Header.parse(page).pd_upper - Header.parse(page).pd_lower == room
    assert [n for n in numbers if n] == list(range(1, len(lps) + 1))


def test_a_free_line_pointer_is_taken_first_if_the_hint_says_so() -> None:
    lps = [LinePointer(8184, LP_NORMAL, 8), UNUSED, LinePointer(1, LP_REDIRECT, 0), UNUSED]
    page = build(lps, header=Header(pd_flags=PD_HAS_FREE_LINES, pd_lower=40, pd_upper=8184))
    page, first = add_item(page, b"first")
    page, second = add_item(page, b"second")
    page, third = add_item(page, b"third")
    assert (first, second, third) == (2, 4, 5)
    assert Header.parse(page).pd_flags == 0
    unhinted = build(lps, header=Header(pd_flags=PD_ALL_VISIBLE, pd_lower=40, pd_upper=8184))
    assert add_item(unhinted, b"x")[1] == 5


def test_a_page_takes_291_tuples_and_no_more() -> None:
    page = init()
    for number in range(1, MAX_HEAP_TUPLES_PER_PAGE + 1):
        page, got = add_item(page, b"x")
        assert got == number
    assert add_item(page, b"x") == (page, 0)


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 1024, 4096, 8191, 8193, 16384, 32768])
def test_other_block_sizes_are_refused(size: int) -> None:
    with pytest.raises(PageError, match=f"a page of {size} bytes: only blocks of 8192 are supported") as caught:
        check_header(bytes(size))
    assert (caught.value.code, caught.value.index) == (ErrorCode.BLOCK_SIZE, 0)


@pytest.mark.parametrize("size", [1024, 4096, 16384, 32768])
def test_a_page_that_says_it_is_of_another_size_is_refused(size: int) -> None:
    error = refused(build([], header=Header(pd_pagesize_version=size | 4)))
    assert (error.code, error.index) == (ErrorCode.BLOCK_SIZE, 0)
    assert "pd_pagesize_version" in str(error)
    assert str(size) in str(error)


def test_other_layouts_and_unknown_flags_are_refused() -> None:
    for fields, named in (({"pd_pagesize_version": BLCKSZ | 3}, "layout 3"), ({"pd_flags": 8}, "pd_flags 0x8")):
        error = refused(build([], header=Header(**fields)))
        assert (error.code, error.index) == (ErrorCode.HEADER, 0)
        assert named in str(error)
    check(build([], header=Header(pd_flags=PD_HAS_FREE_LINES | PD_PAGE_FULL | PD_ALL_VISIBLE)))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"pd_lower": 23}, "pd_lower 23"),
        ({"pd_lower": 101, "pd_upper": 100}, "pd_upper 100"),
        ({"pd_upper": 8185, "pd_special": 8184}, "pd_special 8184"),
        ({"pd_special": 8200}, "pd_special 8200"),
        ({"pd_upper": 8000, "pd_special": 8188}, "pd_special 8188"),
    ],
)
def test_header_errors_name_the_field(fields: dict[str, int], named: str) -> None:
    error = refused(build([], header=Header(**fields)))
    assert (error.code, error.index) == (ErrorCode.HEADER, 0)
    assert named in str(error)


def test_a_header_whose_bounds_are_out_of_order_is_told_whole() -> None:
    with pytest.raises(PageError, match=r"^not 24 <= pd_lower 23 <= pd_upper 8192 <= pd_special 8192 <= 8192$"):
        check_header(build([], header=Header(pd_lower=23)))


@pytest.mark.parametrize(
    ("lp", "code", "named"),
    [
        (LinePointer(8152, LP_NORMAL, 8), ErrorCode.LP_OFF, "lp_off 8152"),
        (LinePointer(8192, LP_DEAD, 8), ErrorCode.LP_OFF, "lp_off 8192"),
        (LinePointer(8164, LP_NORMAL, 8), ErrorCode.LP_ALIGN, "lp_off 8164"),
        (LinePointer(8160, LP_REDIRECT, 33), ErrorCode.LP_END, "lp_len 33"),
        (LinePointer(8168, LP_NORMAL, 17), ErrorCode.OVERLAP, "number 1"),
    ],
)
def test_line_pointer_errors_name_the_number_and_the_field(lp: LinePointer, code: ErrorCode, named: str) -> None:
    lps = [LinePointer(8184, LP_NORMAL, 8), UNUSED, lp]
    error = refused(build(lps, header=Header(pd_lower=36, pd_upper=8160)))
    assert (error.code, error.index) == (code, 3)
    assert str(error).startswith("line pointer 3: ")
    assert named in str(error)


def test_more_than_291_with_storage_are_refused_at_the_292nd() -> None:
    lps = [UNUSED] + [LinePointer(8192 - 8 * i, LP_NORMAL, 8) for i in range(1, 293)]
    error = refused(build(lps))
    assert (error.code, error.index) == (ErrorCode.TOO_MANY, 293)


def test_what_does_not_fit_cannot_be_built() -> None:
    with pytest.raises(PageError, match="line pointer 1: 9 bytes at lp_off 8184"):
        build([LinePointer(8184, LP_NORMAL, 9)], {1: bytes(9)})
    with pytest.raises(PageError, match="fill has 3 bytes: give 8192") as caught:
        build([], fill=bytes(3))
    assert (caught.value.code, caught.value.index) == (ErrorCode.BLOCK_SIZE, 0)

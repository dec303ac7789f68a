# SPDX-License-Identifier: PostgreSQL
"""What neon does to a page, against the proved choice and its ways.

Its copies are traced as scalar's are: where from, where to, how many bytes, in their order. Of registers it is known
where each is loaded and where each is stored, and in which order: Choice.v and Algorithms.v of proofs/compaction/ have
each of these, too. `make test CROSS=aarch64` runs these tests where this CPU is another: qemu runs C.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain

import pytest
from pgquern import compaction

from ref.page import BLCKSZ, SIZE_OF_LINE_POINTER, SIZE_OF_PAGE_HEADER
from tests.common.operations import TOP, skip_unless_run
from tests.common.tally import tally
from tests.compaction import choices
from tests.compaction.operations import (
    PLANS,
    SAVE,
    STORE16,
    TRACED_NUMBER,
    Operation,
    Plan,
    pages,
    plans,
    proved,
    traced,
)
from tests.compaction.scans import crafted, line_pointer
from tests.compaction.test_extracted import PROGRAM, PROVED

HERE = {variant.name for variant in compaction.variants() if variant.supported}
WAYS = ["runs", "slide by pairs", "windows of 32", "windows of 64", "windows of 256", "slots", "each exactly"]
"""Those that the extracted program knows by number; windows of other widths are only asked for by the choice."""
WIDTHS = (32, 64, 96, 128, 192, 256)
MOST = (BLCKSZ - SIZE_OF_PAGE_HEADER) // SIZE_OF_LINE_POINTER - 8
"""Of more line pointers a whole vector would reach past the page's end."""


def at_the_end_of_the_page() -> Iterator[bytes]:
    """So many line pointers that a vector of them reaches the page's end, or past it; these are left to scalar."""
    for count in range(MOST - 2, MOST + 3):
        for offs in ((8184, 8168), (8176, 8168), (8168, 8184), (8184, 8176)):
            words = [line_pointer(off, 1, 8) for off in offs]
            yield crafted([*words, *[0] * (count - len(words))], 8168, BLCKSZ)


@cache
def chosen_pages() -> list[bytes]:
    return [*choices.pages(), *at_the_end_of_the_page()]


@cache
def wanted(truncate: bool) -> list[Plan]:
    """Of pages(), or of those on both sides of a number that chooses; the latter are not truncated."""
    return proved("as neon chooses", truncate)


@cache
def wanted_choices() -> list[Plan]:
    return plans(PROGRAM, PLANS + PROVED["as neon chooses"][0], False, chosen_pages())


def where(plan: Plan) -> list[tuple[int, int, int]]:
    """Loads and stores of registers: what lies in which of them is unknown."""
    return [(what, start if what == SAVE else to, n) for what, to, start, n in plan.copies]


def is_left_to_scalar(page: bytes) -> bool:
    return int(struct.unpack_from("<H", page, 12)[0]) > SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * MOST


def stores(page: bytes, plan: Plan) -> list[Operation]:
    """Of line pointers and header. Scalar leaves out those of line pointers that change nothing."""
    found = [(what, at, value & 0xFFFFFFFF, n) for what, at, value, n in plan.stores]
    if is_left_to_scalar(page):
        found = [one for one in found if one[0] == STORE16 or struct.unpack_from("<I", page, one[1])[0] != one[2]]
    return found


def same(page: bytes, got: Plan, want: Plan) -> bool:
    """The same refusal, or the same copies in the same order, then the same line pointers and header.

    Above the first gap C copies a run of no bytes.
    """
    copies = [operation for operation in got.copies if operation[3] > 0]
    moved = where(got) == where(want) if want.slides_by_pairs() else copies == want.shifted()
    return (
        (got.code, got.at) == (want.code, want.at)
        and moved
        and got.operations == list(chain(got.copies, got.stores))
        and stores(page, got) == stores(page, want)
    )


@pytest.mark.parametrize("truncate", [False, True])
def test_neon_goes_the_way_that_is_proved(truncate: bool) -> None:
    """Each of its ways is taken."""
    skip_unless_run("neon", HERE)
    taken: Counter[str] = Counter()
    done = plans(traced(), TRACED_NUMBER["neon"], truncate, pages())
    ways = [proved(way, truncate) for way in WAYS]
    for number, (page, got, want, *others) in enumerate(zip(pages(), done, wanted(truncate), *ways, strict=True)):
        assert same(page, got, want), number
        if want.copies:
            taken.update(way for way, plan in zip(WAYS, others, strict=True) if plan.copies == want.copies)
    assert min(taken[way] for way in WAYS) >= 5, taken
    tally("compaction", "pages traced", len(pages()))


def test_on_both_sides_of_each_number_neon_chooses_as_is_proved() -> None:
    skip_unless_run("neon", HERE)
    widths: Counter[int] = Counter()
    done = plans(traced(), TRACED_NUMBER["neon"], False, chosen_pages())
    for number, (page, got, want) in enumerate(zip(chosen_pages(), done, wanted_choices(), strict=True)):
        assert same(page, got, want), number
        saved = set(want.lengths(SAVE))
        widths.update(saved if len(saved) == 1 else ())
    assert min(widths[width] for width in WIDTHS) >= 5, widths
    tally("compaction", "choices of a way", len(chosen_pages()))


def test_each_load_and_store_of_a_vector_by_neon_is_traced() -> None:
    """Of the page and of all else, by the names that traced_vectors.h makes known."""
    named = r"\bv(?:ld|st)\d\w*"
    used = set(re.findall(named, (TOP / "csrc/compaction/neon.c").read_text()))
    header = (TOP / "tests/compaction/traced_vectors.h").read_text()
    assert used == set(re.findall(rf"#define ({named})", header))

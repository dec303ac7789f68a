# SPDX-License-Identifier: PostgreSQL
"""Every small page: at most 4 line pointers over a tuple area of at most 6 units of 8 bytes.

What is enumerated, for each size of the area from 0 to 6 units (what is marked `deep` the default profile leaves out):

1. One line pointer: every flag, every lp_off and every lp_len in bytes, from 9 bytes outside the area to 9 beyond.
2. Two: every flag; lp_off at each unit, one unit below, at pd_special, and unaligned; every lp_len in bytes, up to
   one more than the area has (areas of 4 units and more: deep).
3. Three: every flag; lp_off at each unit and at pd_special; lp_len in units (areas of 5 and 6 units: deep).
4. Two to four: lp_off and lp_len as before; each line pointer unused or used. Which of the used flags it has, how far
   its length falls short of the unit, and what garbage is in an unused one, is dealt out over the pages.
5. Four, every flag, each line pointer with its storage within the area: deep.

All with truncation and without. There is no hole below the area, so that larger totals are refused, and for 1, 4 and 5
also one of 6 units, so that they are accepted (4 over 6 units: deep). The special space takes up the rest.

The oracle is not asked for every one of these pages, because it provably (and by
test_oracle.py::test_only_used_or_not_and_the_aligned_length_matter) looks only at whether a line pointer is
used, at its lp_off if it has storage, and at its MAXALIGNed length. It is asked once for each class of pages that agree
in these, about truncation only where the last one is unused; flag and length are then put into its answer. And it
refuses a line pointer that lies outside the area by itself, at the first one, before all else: so one answer for each
such line pointer does. The kernels get every page, and must give all its bytes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from _pgquern import ffi, lib
from numpy.typing import NDArray

from ref.compaction import Order
from ref.page import (
    BLCKSZ,
    LP_NORMAL,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    ErrorCode,
    Header,
    LinePointer,
    PageError,
    build,
    check_storage,
    line_pointers,
    maxalign,
)
from tests.compaction.agree import ORDERS, VARIANTS, oracle
from tests.tally import tally

pytestmark = pytest.mark.exhaustive

Words = NDArray[np.uint32]
UNIT = 8
CHUNK = 1024  # pages that are worked on together: what is touched of them stays in the second-level cache
STRIDE = BLCKSZ + 64  # so that equal places of different pages don't fall into the same cache sets
ARRAY = SIZE_OF_PAGE_HEADER // SIZE_OF_LINE_POINTER  # the line pointer array starts at this word of the page
GUARD = 32
UNSOUND = -1


@dataclass(frozen=True)
class Area:
    """Where the tuples of a page with n line pointers lie: `units` of them above a hole of `hole` units."""

    n: int
    units: int
    hole: int

    @cached_property
    def lower(self) -> int:
        return SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * self.n

    @cached_property
    def upper(self) -> int:
        return maxalign(self.lower) + UNIT * self.hole

    @cached_property
    def special(self) -> int:
        return self.upper + UNIT * self.units

    @cached_property
    def header(self) -> Header:
        return Header(
            pd_lsn=0x0102030405060708,
            pd_checksum=0x1122,
            pd_flags=6,
            pd_lower=self.lower,
            pd_upper=self.upper,
            pd_special=self.special,
            pd_prune_xid=99,
        )

    @cached_property
    def window(self) -> int:
        """Bytes from the start of the page that a kernel may change, and a few more; a multiple of 8."""
        return self.special + GUARD

    @cached_property
    def blank(self) -> bytes:
        """The page without its line pointers; no two places of it look alike to a kernel that reads the wrong one."""
        return build([], header=self.header, fill=np.random.default_rng(self.units).bytes(BLCKSZ))

    def page(self, lps: tuple[LinePointer, ...]) -> bytes:
        return build(lps, header=self.header, fill=self.blank)


@dataclass(frozen=True)
class Domain:
    """Pages over an area whose line pointers are each any of `states`.

    deal: vary what no answer depends on (the used flag, the length within its class, garbage) from page to page, where
    the states don't enumerate it.
    """

    area: Area
    states: list[LinePointer]
    deal: bool

    @property
    def size(self) -> int:
        return int(len(self.states) ** self.area.n)

    @cached_property
    def classes(self) -> list[LinePointer]:
        """One line pointer for each class of sound states: the first is unused, the second has no storage."""
        area = self.area
        stored = {
            (lp.lp_off, lp.aligned_len) for lp in self.states if lp.is_used and lp.has_storage and not fault(area, lp)
        }
        return [
            LinePointer(0, 0, 0),
            LinePointer(0, LP_NORMAL, 0),
            *(LinePointer(offset, LP_NORMAL, length) for offset, length in sorted(stored)),
        ]

    @cached_property
    def class_of(self) -> NDArray[np.int64]:
        """The class of each state, UNSOUND if the state is refused by itself."""
        number = {(lp.lp_off, lp.aligned_len): i for i, lp in enumerate(self.classes) if i > 1}
        return np.array(
            [
                0
                if not lp.is_used
                else 1
                if not lp.has_storage
                else UNSOUND
                if fault(self.area, lp)
                else number[lp.lp_off, lp.aligned_len]
                for lp in self.states
            ]
        )

    @cached_property
    def fault_of(self) -> Words:
        return np.array([fault(self.area, lp) for lp in self.states], dtype=np.uint32)

    @cached_property
    def words(self) -> Words:
        return np.array([lp.word for lp in self.states], dtype=np.uint32)

    def chunks(self) -> Iterator[tuple[NDArray[np.int64], Words]]:
        """The state number and the word of every line pointer of every page: arrays of (pages, n)."""
        for start in range(0, self.size, CHUNK):
            number = np.arange(start, min(start + CHUNK, self.size))
            states = np.empty((len(number), self.area.n), dtype=np.int64)
            rest = number
            for i in range(self.area.n):
                rest, states[:, i] = np.divmod(rest, len(self.states))
            yield states, self.dealt(number, self.words[states]) if self.deal else self.words[states]

    def dealt(self, number: NDArray[np.int64], words: Words) -> Words:
        for i in range(self.area.n):
            luck = ((number * 0x9E3779B1 + i * 0x85EBCA77) >> 7 & 0xFFFFFFFF).astype(np.uint32)
            word = words[:, i]
            used, length = word >> 15 & 3, word >> 17
            short = np.where((length > 0) & (length % UNIT == 0), luck % UNIT, 0).astype(np.uint32)
            flag = luck // UNIT % 3 + 1
            garbage = luck & ~np.uint32(3 << 15)
            words[:, i] = np.where(used > 0, (word & 0x7FFF) | flag << 15 | (length - short) << 17, garbage)
        return words


def fault(area: Area, lp: LinePointer) -> ErrorCode:
    """Why `lp` by itself is refused; OK (0) if it is not."""
    if lp.is_used and lp.has_storage:
        try:
            check_storage(area.header, 1, lp)
        except PageError as error:
            return error.code
    return ErrorCode.OK


@dataclass(frozen=True)
class Answers:
    """The oracle's answer for every combination of classes, in one order, with or without truncation."""

    status: Words  # (combinations, 2)
    windows: NDArray[np.uint64]  # (combinations, window / 8)

    @classmethod
    def of(cls, domain: Domain, order: Order, truncate: bool, among: slice = slice(None)) -> "Answers":
        """By asking. The class of the first line pointer varies fastest; `among` takes some of the combinations."""
        area, classes = domain.area, domain.classes
        combinations = list(product(classes, repeat=area.n))[among]
        status = np.zeros((len(combinations), 2), dtype=np.uint32)
        windows = bytearray()
        for i, last_to_first in enumerate(combinations):
            outcome = oracle(area.page(last_to_first[::-1]), order, truncate)
            status[i] = outcome.code, outcome.at
            windows += outcome.page[: area.window]
            assert outcome.page.endswith(area.blank[area.window :])
        return cls(status, np.frombuffer(windows, dtype=np.uint64).reshape(len(combinations), -1))


def ask(domain: Domain) -> dict[tuple[Order, bool], Answers]:
    """All answers. Where the last line pointer is used there is nothing to truncate, so those are asked only once."""
    answers = {}
    unused_at_the_end = len(domain.classes) ** (domain.area.n - 1)
    for order in Order:
        plain = answers[order, False] = Answers.of(domain, order, truncate=False)
        cut = Answers.of(domain, order, truncate=True, among=slice(unused_at_the_end))
        answers[order, True] = Answers(
            np.concatenate([cut.status, plain.status[unused_at_the_end:]]),
            np.concatenate([cut.windows, plain.windows[unused_at_the_end:]]),
        )
    return answers


class Bench:
    """CHUNK pages side by side, what a kernel said of each, and the pages as they have to be."""

    def __init__(self, area: Area) -> None:
        self.area = area
        whole = np.frombuffer(area.blank + bytes(STRIDE - BLCKSZ), dtype=np.uint64)
        self.pages = np.tile(whole, (CHUNK, 1))
        self.blank = whole.copy()
        self.columns = area.window // 8
        start = ffi.cast("char *", ffi.from_buffer(self.pages))
        self.pointers = ffi.new("void *[]", [start + i * STRIDE for i in range(CHUNK)])
        self.memory = ffi.new("pgq_status[]", CHUNK)
        self.status = np.frombuffer(ffi.buffer(self.memory), dtype=np.uint32).reshape(CHUNK, 2)

    def lay(self, words: Words) -> None:
        """Puts fresh pages with these line pointers."""
        self.pages[:, : self.columns] = self.blank[: self.columns]
        self.pages.view(np.uint32)[: len(words), ARRAY : ARRAY + self.area.n] = words

    def agree(self, variant: str, truncate: bool, status: Words, windows: NDArray[np.uint64]) -> bool:
        """Runs a kernel on the pages laid; whether it said and did the same."""
        n = len(status)
        lib.pgq_compaction_batch(function(variant), self.pointers, n, truncate, self.memory)
        return np.array_equal(self.status[:n], status) and np.array_equal(self.pages[:n, : self.columns], windows)

    def untouched(self) -> bool:
        """Whether all bytes beyond the windows are what they were: nothing ever restored them."""
        return bool((self.pages[:, self.columns :] == self.blank[self.columns :]).all())


def function(variant: str) -> object:
    rows = (lib.pgq_compaction_variants[i] for i in range(lib.pgq_compaction_variant_count))
    return next(row.fn for row in rows if ffi.string(row.name).decode() == variant)


def expectation(
    domain: Domain, answers: Answers, states: NDArray[np.int64], words: Words
) -> tuple[Words, NDArray[np.uint64]]:
    """Status and window of each page of a chunk, from the answers for its classes."""
    area, n = domain.area, len(states)
    classes = domain.class_of[states]
    combination = np.zeros(n, dtype=np.int64)
    for i in reversed(range(area.n)):
        combination = combination * len(domain.classes) + np.maximum(classes[:, i], 0)
    status, windows = answers.status[combination], answers.windows[combination]

    unsound = classes == UNSOUND
    alone = unsound.any(axis=1)
    first = unsound.argmax(axis=1)
    status[alone, 0] = domain.fault_of[states[np.arange(n), first]][alone]
    status[alone, 1] = first[alone] + 1
    windows[alone] = np.frombuffer(area.blank, dtype=np.uint64)[: area.window // 8]

    lps = windows.view(np.uint32)[:, ARRAY : ARRAY + area.n]
    moved = (words & ~np.uint32(0x7FFF)) | (lps & 0x7FFF)
    done = np.select([classes == 0, classes == 1], [np.uint32(0), words], moved)
    lps[:] = np.where(status[:, :1] == ErrorCode.OK, done, words)
    return status, windows


def run(domain: Domain) -> None:
    area = domain.area
    bench = Bench(area)
    answers = ask(domain)
    for states, words in domain.chunks():
        for (order, truncate), answer in answers.items():
            status, windows = expectation(domain, answer, states, words)
            for variant in VARIANTS:
                if ORDERS[variant.order] is order:
                    bench.lay(words)
                    agreed = bench.agree(variant.name, truncate, status, windows)
                    assert agreed, first_difference(bench, variant.name, truncate, status, windows, words)
    assert bench.untouched(), "a kernel wrote beyond the tuples"
    tally("compaction", "small pages", domain.size)


def first_difference(
    bench: Bench, variant: str, truncate: bool, status: Words, windows: NDArray[np.uint64], words: Words
) -> str:
    n = len(status)
    wrong = (bench.status[:n] != status).any(axis=1) | (bench.pages[:n, : bench.columns] != windows).any(axis=1)
    i = int(wrong.argmax())
    lps = tuple(LinePointer.from_word(int(word)) for word in words[i])
    return (
        f"{variant}, truncate={truncate}, {bench.area}, {lps}: "
        f"expected {tuple(status[i])}, got {tuple(bench.status[i])}, "
        f"expected {windows[i].tobytes().hex(' ', 4)}, got {bench.pages[i, : bench.columns].tobytes().hex(' ', 4)}"
    )


def grid(flags: range, offsets: list[int], lengths: range) -> list[LinePointer]:
    return [LinePointer(*fields) for fields in product(offsets, flags, lengths)]


AREAS = range(7)
ALL_FLAGS = range(4)
HOLES = pytest.mark.parametrize("hole", [0, 6], ids=["tight", "loose"])


def deep_from(units: int) -> pytest.MarkDecorator:
    """Areas by size; those of that many units and more for the profile `deep` only."""
    return pytest.mark.parametrize(
        "units", [pytest.param(k, marks=pytest.mark.deep if k >= units else ()) for k in AREAS]
    )


@HOLES
@pytest.mark.parametrize("units", AREAS)
def test_one_line_pointer(units: int, hole: int) -> None:
    area = Area(1, units, hole)
    offsets = list(range(area.upper - 9, area.special + 10))
    run(Domain(area, grid(ALL_FLAGS, offsets, range(8 * units + 10)), deal=False))


@deep_from(4)
def test_two_line_pointers(units: int) -> None:
    area = Area(2, units, hole=0)
    offsets = [*range(area.upper - UNIT, area.special + 1, UNIT), area.upper + 4, area.special - 1]
    run(Domain(area, grid(ALL_FLAGS, offsets, range(8 * units + 2)), deal=False))


@deep_from(5)
def test_three_line_pointers(units: int) -> None:
    area = Area(3, units, hole=0)
    offsets = list(range(area.upper, area.special + 1, UNIT))
    run(Domain(area, grid(ALL_FLAGS, offsets, range(0, 8 * units + 1, UNIT)), deal=False))


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize(
    ("units", "hole"),
    [*product(AREAS, [0]), *product(AREAS[:6], [6]), pytest.param(6, 6, marks=pytest.mark.deep)],
)
def test_four_line_pointers(units: int, hole: int, n: int) -> None:
    area = Area(n, units, hole)
    offsets = list(range(area.upper, area.special + 1, UNIT))
    stored = grid(range(1, 2), offsets, range(UNIT, 8 * units + 1, UNIT))
    run(Domain(area, [LinePointer(0, 0, 0), LinePointer(area.upper, LP_NORMAL, 0), *stored], deal=True))


@pytest.mark.deep
@HOLES
@pytest.mark.parametrize("units", AREAS)
def test_four_line_pointers_every_flag(units: int, hole: int) -> None:
    area = Area(4, units, hole)
    offsets = list(range(area.upper, area.special, UNIT))
    stored = grid(range(1, 4), offsets, range(UNIT, 8 * units + 1, UNIT))
    sound = [lp for lp in stored if not fault(area, lp)]
    without = [LinePointer(area.upper, flag, 0) for flag in ALL_FLAGS]
    run(Domain(area, without + sound, deal=False))


def test_the_enumeration_is_what_it_says() -> None:
    """A domain's pages are all different, and as many as its states make; dealing keeps each page's class."""
    area = Area(2, 3, hole=0)
    states = grid(ALL_FLAGS, list(range(area.upper, area.special, UNIT)), range(0, 25, UNIT))
    plain = Domain(area, states, deal=False)
    pages = {tuple(row) for _, words in plain.chunks() for row in words.tolist()}
    assert len(pages) == plain.size == len(states) ** 2 == (4 * 3 * 4) ** 2
    dealt = Domain(area, states, deal=True)
    for (_, words), (_, others) in zip(plain.chunks(), dealt.chunks(), strict=True):
        for row, other in zip(words.tolist(), others.tolist(), strict=True):
            for word, varied in zip(row, other, strict=True):
                a, b = LinePointer.from_word(word), LinePointer.from_word(varied)
                assert a.is_used == b.is_used
                assert not a.is_used or (a.lp_off, a.aligned_len) == (b.lp_off, b.aligned_len)


def test_the_expectation_is_the_oracles() -> None:
    """What is put together from classes is what the oracle says of the page itself, on a sample of each sort."""
    for n, deal in ((2, False), (3, True)):
        area = Area(n, 4, hole=0)
        domain = Domain(area, grid(ALL_FLAGS, list(range(area.upper - 8, area.special + 1, 4)), range(33)), deal)
        answers = ask(domain)
        rng = np.random.default_rng(n)
        seen = set()
        for (order, truncate), answer in answers.items():
            number = rng.integers(0, len(domain.states), (500, n))
            words = domain.words[number]
            if deal:
                words = domain.dealt(np.arange(500), words)
            status, windows = expectation(domain, answer, number, words)
            for i in range(500):
                lps = tuple(LinePointer.from_word(int(word)) for word in words[i])
                outcome = oracle(area.page(lps), order, truncate)
                assert (outcome.code, outcome.at) == tuple(status[i])
                assert outcome.page[: area.window] == windows[i].tobytes()
                assert line_pointers(area.page(lps)) == list(lps)
                seen.add(outcome.code)
        assert {ErrorCode.OK, ErrorCode.LP_OFF, ErrorCode.LP_ALIGN, ErrorCode.LP_END, ErrorCode.TOTAL} <= seen

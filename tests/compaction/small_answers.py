# SPDX-License-Identifier: PostgreSQL
"""What each small page must become, from few questions to the oracle; and the kernels on all of them, side by side."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from _pgquern import ffi, lib
from numpy.typing import NDArray

from ref.compaction import Order
from ref.page import BLCKSZ, SIZE_OF_LINE_POINTER, SIZE_OF_PAGE_HEADER, ErrorCode, LinePointer
from tests.common.tally import tally
from tests.compaction.agree import ORDERS, VARIANTS, oracle
from tests.compaction.small_pages import CHUNK, UNSOUND, Area, Domain, Words

STRIDE = BLCKSZ + 64  # so that equal places of different pages don't fall into the same cache sets
ARRAY = SIZE_OF_PAGE_HEADER // SIZE_OF_LINE_POINTER  # the line pointer array starts at this word of the page


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

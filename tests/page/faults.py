# SPDX-License-Identifier: PostgreSQL
"""Faults: changes that make a page unsound, put into a page while it is built."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from ref.page import (
    BLCKSZ,
    LP_NORMAL,
    MAX_HEAP_TUPLES_PER_PAGE,
    SIZE_OF_LINE_POINTER,
    SIZE_OF_PAGE_HEADER,
    Header,
    LinePointer,
    maxalign,
)


@dataclass
class Draft:
    """A page while it is built, for faults to change."""

    rng: Random
    lps: list[LinePointer]
    header: Header

    def stored(self) -> list[int]:
        """Indices (from 0) of the line pointers that are used and have storage."""
        return [i for i, lp in enumerate(self.lps) if lp.is_used and lp.has_storage]

    def change(self, **fields: int) -> None:
        """Replace fields of one line pointer with storage, if there is one."""
        if stored := self.stored():
            i = self.rng.choice(stored)
            self.lps[i] = self.lps[i]._replace(**fields)


def header_fault(**fields: Callable[[Header, Random], int]) -> Callable[[Draft], None]:
    """A fault that sets header fields."""

    def apply(draft: Draft) -> None:
        draft.header = draft.header._replace(**{name: of(draft.header, draft.rng) for name, of in fields.items()})

    return apply


def zero_header(draft: Draft) -> None:
    draft.header = Header(*[0] * len(draft.header))


def lp_off_below_upper(draft: Draft) -> None:
    draft.change(lp_off=max(maxalign(draft.header.pd_upper) - 8, 0))


def lp_off_at_special(draft: Draft) -> None:
    draft.change(lp_off=min(draft.header.pd_special, 0x7FFF))


def lp_off_past_special(draft: Draft) -> None:
    draft.change(lp_off=min(draft.header.pd_special + 8 * draft.rng.randint(1, 3000), 0x7FF8))


def lp_off_unaligned(draft: Draft) -> None:
    if stored := draft.stored():
        i = draft.rng.choice(stored)
        draft.lps[i] = draft.lps[i]._replace(lp_off=min(draft.lps[i].lp_off + draft.rng.randint(1, 7), 0x7FFF))


def end_past_special(draft: Draft) -> None:
    if stored := draft.stored():
        i = draft.rng.choice(stored)
        least = max(draft.header.pd_special - draft.lps[i].lp_off + 1, 1)
        draft.lps[i] = draft.lps[i]._replace(lp_len=min(draft.rng.choice([least, least + 7, 0x7FFF]), 0x7FFF))


def unaligned_and_end_past_special(draft: Draft) -> None:
    offset = draft.header.pd_special - draft.rng.randint(1, 7)
    draft.change(lp_off=min(max(offset, 0), 0x7FFF), lp_len=draft.rng.randint(8, 99))


def too_many(draft: Draft) -> None:
    """292 or more tuples of a unit each, presorted, no hole but what pd_special leaves."""
    n = draft.rng.choice([MAX_HEAP_TUPLES_PER_PAGE + 1, 350])
    draft.lps = [LinePointer(BLCKSZ - 8 * i, LP_NORMAL, draft.rng.randint(1, 8)) for i in range(1, n + 1)]
    lower = SIZE_OF_PAGE_HEADER + SIZE_OF_LINE_POINTER * n
    draft.header = draft.header._replace(pd_lower=lower, pd_upper=BLCKSZ - 8 * n, pd_special=BLCKSZ)


def total_too_large(draft: Draft) -> None:
    """Every tuple reaches up to pd_special."""
    for i in draft.stored():
        lp = draft.lps[i]
        draft.lps[i] = lp._replace(lp_len=min(max(draft.header.pd_special - lp.lp_off, 1), 0x7FFF))


def overlap(draft: Draft) -> None:
    """One tuple is longer than its place, by a unit or more. If anything lies above it, it stays within the page."""
    if stored := draft.stored():
        i = draft.rng.choice(stored[1:] or stored)  # presorted, there is nothing above the first
        lp = draft.lps[i]
        longer = lp.lp_len + draft.rng.choice([8, 64])
        draft.lps[i] = lp._replace(lp_len=max(1, min(longer, draft.header.pd_special - lp.lp_off, 0x7FFF)))


def same_offset(draft: Draft) -> None:
    """Two line pointers to one tuple."""
    if len(stored := draft.stored()) > 1:
        i, j = draft.rng.sample(stored, 2)
        draft.lps[i] = draft.lps[i]._replace(lp_off=draft.lps[j].lp_off, lp_len=draft.lps[j].lp_len)


def garbage_words(draft: Draft) -> None:
    for _ in range(draft.rng.randint(1, 3)):
        if draft.lps:
            draft.lps[draft.rng.randrange(len(draft.lps))] = LinePointer.from_word(draft.rng.getrandbits(32))


# Not every one makes every page unsound: what it became, corners() tells.
FAULTS: dict[str, Callable[[Draft], None]] = {
    "lp_off below pd_upper": lp_off_below_upper,
    "lp_off at pd_special": lp_off_at_special,
    "lp_off past pd_special": lp_off_past_special,
    "lp_off unaligned": lp_off_unaligned,
    "end past pd_special": end_past_special,
    "unaligned, end past pd_special": unaligned_and_end_past_special,
    "too many": too_many,
    "total too large": total_too_large,
    "overlap": overlap,
    "same lp_off": same_offset,
    "garbage words": garbage_words,
    "pd_lower below 24": header_fault(pd_lower=lambda _, rng: rng.randrange(SIZE_OF_PAGE_HEADER)),
    "pd_lower above pd_upper": header_fault(
        pd_lower=lambda h, rng: min(h.pd_upper + rng.choice([1, 100]), 0xFFFF), pd_special=lambda *_: BLCKSZ
    ),
    "pd_upper above pd_special": header_fault(
        pd_upper=lambda h, rng: min(h.pd_special + rng.choice([1, 8, 50000]), 0xFFFF)
    ),
    "pd_special above 8192": header_fault(pd_special=lambda _, rng: BLCKSZ + rng.choice([8, 50000])),
    "pd_special unaligned": header_fault(pd_special=lambda h, rng: max(h.pd_special - rng.randint(1, 7), 0)),
    "header of zeroes": zero_header,
    "flags and version garbage": header_fault(
        pd_flags=lambda _, rng: rng.getrandbits(16), pd_pagesize_version=lambda _, rng: rng.getrandbits(16)
    ),
}

# Those of the header hide all others, so the others are drawn more often; most often those that need not be refused.
CHANCES = {"overlap": 24, "same lp_off": 24}
FAULTS_BY_CHANCE = tuple(
    name for name in FAULTS for _ in range(1 if "pd_" in name.split()[0] else CHANCES.get(name, 3))
)

# SPDX-License-Identifier: PostgreSQL
"""Small pages by enumeration: an area for the tuples, what each line pointer may be, and all pages of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
    maxalign,
)

Words = NDArray[np.uint32]
UNIT = 8
CHUNK = 1024  # pages that are worked on together: what is touched of them stays in the second-level cache
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

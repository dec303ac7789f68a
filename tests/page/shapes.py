# SPDX-License-Identifier: PostgreSQL
"""Shapes of heap pages: a few small choices, which Hypothesis shrinks. build.py builds the page of a shape."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from ref.page import MAX_LINE_POINTERS
from tests.page.faults import FAULTS_BY_CHANCE

T = TypeVar("T")

# The kinds of line pointers, and the weight of each in a few mixes. The first three have storage.
CLASSES = ("tuple", "dead tuple", "redirect tuple", "dead", "redirect", "unused", "unused garbage", "zero-length")
MIXES: dict[str, tuple[int, ...]] = {
    "all live": (1, 0, 0, 0, 0, 0, 0, 0),
    "mostly live": (12, 1, 1, 1, 1, 2, 1, 1),
    "half": (4, 0, 0, 1, 1, 2, 0, 0),
    "every class": (1, 1, 1, 1, 1, 1, 1, 1),
    "sparse": (1, 0, 0, 8, 4, 8, 2, 1),
    "unused": (0, 0, 0, 0, 0, 3, 1, 0),
    "no storage": (0, 0, 0, 1, 1, 1, 0, 1),
    "odd storage": (0, 1, 1, 0, 0, 1, 0, 0),
}
LAYOUTS = ("presorted", "presorted", "random", "reversed", "one swap", "rotated")
ANY_FAULTS = (0, 0, 0, 1, 1, 2)
TAILS = ("as drawn", "unused", "used")


class Source(Protocol):
    """The source of choices."""

    def choose(self, options: Sequence[T]) -> T: ...

    def integer(self, low: int, high: int) -> int: ...


class RandomSource:
    """From a random generator: fast."""

    def __init__(self, rng: Random) -> None:
        self.choose = rng.choice
        self.integer = rng.randint


class HypothesisSource:
    """From Hypothesis: shrinks, to the first option and the lowest integer."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def choose(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


@dataclass(frozen=True)
class Shape:
    """All that makes a page; see page_of()."""

    nline: int  # line pointers, 0..2042 (fewer if the special space leaves no room)
    mix: str = "all live"  # of MIXES
    layout: str = "presorted"  # of LAYOUTS: physical order of the tuples, from pd_special downwards
    units: tuple[int, int] = (3, 8)  # range of tuple sizes, in units of 8 bytes, at least 1
    ragged: bool = False  # lp_len not a multiple of 8
    gap_percent: int = 0  # of the tuples that have free space above them
    gaps_as_tuples: bool = False  # such a gap is as large as the tuple below it; else of any size
    full: bool = False  # the last tuple takes all the space that is left
    special: int = 0  # bytes of special space, a multiple of 8
    remainder: int = 0  # bytes of pd_lower beyond the last line pointer, 0..3
    slack: int = 0  # bytes of pd_upper below the lowest tuple
    tail: str = "as drawn"  # of TAILS: what the last few line pointers are
    beyond: bool = False  # the hole begins with what would be sound line pointers
    faults: tuple[str, ...] = ()  # of FAULTS, put in one after the other
    seed: int = 0


def draw_shape(source: Source, faults: Sequence[int]) -> Shape:
    """Each choice once. faults: how many there may be, equally likely."""
    scale = source.choose(["few", "some", "many", "edge"])
    units = source.choose([(3, 8), (1, 1), (1, 4), (3, 50), (1, 120), (4, 4), (1, 24), (4, 24), (33, 33), (75, 75)])
    if scale == "edge":
        nline = source.choose([0, 1, 226, 290, 291, 291, 292, 400, MAX_LINE_POINTERS])
    else:
        nline = source.integer(0, {"few": 6, "some": 60, "many": 300}[scale])
    return Shape(
        nline=nline,
        mix=source.choose(("all live", "mostly live", *MIXES)),
        layout=source.choose(LAYOUTS),
        units=units,
        ragged=source.choose([False, True]),
        gap_percent=source.choose([0, 5, 50, 100]),
        gaps_as_tuples=source.choose([False, True]),
        full=source.choose([False, False, True]),
        special=source.choose([0, 0, 0, 8, 16, 1024, 4096, 8160]),
        remainder=source.choose([0, 0, 0, 1, 2, 3]),
        slack=source.choose([0, 0, 1, 7, 8, 500]),
        tail=source.choose(TAILS),
        beyond=source.choose([False, True]),
        faults=tuple(source.choose(FAULTS_BY_CHANCE) for _ in range(source.choose(faults))),
        seed=source.integer(0, 2**32 - 1),
    )


@st.composite
def shapes(draw: st.DrawFn, *, sound: bool = False, faults: Sequence[int] = ANY_FAULTS) -> Shape:
    """Shapes for Hypothesis. sound: without faults; else how many there may be."""
    return draw_shape(HypothesisSource(draw), (0,) if sound else faults)


@st.composite
def slotted_shapes(draw: st.DrawFn) -> Shape:
    """Shapes of pages with long tuples of one length, mostly in slots of that length, some of them free."""
    units = draw(st.integers(33, 200))
    return replace(
        draw(shapes(faults=(0, 0, 1))),
        nline=draw(st.integers(2, 31)),
        mix=draw(st.sampled_from(["all live", "mostly live", "half"])),
        layout=draw(st.sampled_from(["random", "rotated", "one swap"])),
        units=(units, units),
        gaps_as_tuples=draw(st.sampled_from([True, True, True, False])),
        full=False,
    )


@st.composite
def similar_shapes(draw: st.DrawFn) -> Shape:
    """Shapes of presorted pages with tuples of up to 192 bytes, gaps between most of them."""
    return replace(
        draw(shapes(sound=True)),
        nline=draw(st.integers(2, 60)),
        mix=draw(st.sampled_from(["all live", "mostly live", "half"])),
        layout="presorted",
        units=draw(st.sampled_from([(4, 24), (1, 24)])),
        gap_percent=draw(st.sampled_from([50, 100])),
        full=False,
    )


def random_shape(number: int, *, sound: bool = False) -> Shape:
    """Shape `number` of an endless supply that is the same everywhere."""
    return draw_shape(RandomSource(Random(number)), (0,) if sound else ANY_FAULTS)

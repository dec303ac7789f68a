# SPDX-License-Identifier: PostgreSQL
"""Scans that reach the corners on purpose: the wrap, the distance 2^31, permanent and invalid values, the future."""

from hypothesis import event
from hypothesis import strategies as st

from ref.datfrozenxid import Ids, Pair, Row
from ref.xid import XID

LAST = XID.size - 1
HALF = XID.half
# Values at which an order or a sign changes.
CORNERS = (0, 1, 2, 3, 4, HALF - 2, HALF - 1, HALF, HALF + 1, HALF + 2, HALF + 3, LAST - 1, LAST)
HELD = "rmt"
OTHERS = "iSvcfpIn\0\xff"


def around(sane: int) -> list[int]:
    """The values next to sane, where the future begins, and next to the point half a ring away, where it ends."""
    return [(sane + far + d) % XID.size for far in (0, HALF) for d in (-2, -1, 0, 1, 2)]


def normal_of(ids: Ids, x: int) -> int:
    """x, or the first normal value if x is none."""
    x %= XID.size
    return x if ids.is_normal(x) else 1 if ids.multixact else 3


def sanes(ids: Ids) -> st.SearchStrategy[int]:
    """The next value to be assigned: normal, often at a corner."""
    return (st.sampled_from(CORNERS) | st.integers(0, LAST) | st.integers(3, 40)).map(lambda x: normal_of(ids, x))


@st.composite
def bounds(draw: st.DrawFn, ids: Ids) -> tuple[int, int]:
    """A start and a sane value: the start is normal and does not lie in the future."""
    sane = draw(sanes(ids))
    behind = draw(st.sampled_from([0, 1, 2, 100, HALF - 2, HALF - 1]) | st.integers(0, HALF - 1))
    start = normal_of(ids, sane - behind)
    return (start if not ids.precedes(sane, start) else sane), sane


def values(ids: Ids, sane: int) -> st.SearchStrategy[int]:
    """Values of a column: most are in use, some invalid, permanent, at a corner or in the future."""
    used = st.integers(0, HALF - 1).map(lambda age: normal_of(ids, sane - age))
    near = st.integers(0, 40).map(lambda age: normal_of(ids, sane - age))
    return st.one_of(used, near, st.sampled_from(around(sane)), st.sampled_from(CORNERS), st.just(0))


def used_values(ids: Ids, sane: int) -> st.SearchStrategy[int]:
    """As values(), without those that lie in the future: the scan goes to the end."""
    return values(ids, sane).map(lambda x: sane if x and ids.precedes(sane, x) else x)


@st.composite
def scans(draw: st.DrawFn, ids: Ids, max_size: int = 70) -> tuple[list[int], int, int]:
    """An array with its start and sane value; at most one value of it lies in the future, or many do."""
    start, sane = draw(bounds(ids))
    shape = draw(st.sampled_from(["sound", "sound", "one", "many", "invalid"]))
    event(f"array: {shape}")
    if shape == "invalid":
        return [0] * draw(st.integers(0, max_size)), start, sane
    if shape == "many":
        return draw(st.lists(values(ids, sane), max_size=max_size)), start, sane
    array = draw(st.lists(used_values(ids, sane), max_size=max_size))
    if shape == "one" and array:
        ahead = draw(st.sampled_from([1, 2, HALF - 1, HALF]))
        array[draw(st.integers(0, len(array) - 1))] = normal_of(ids, sane + ahead)
    return array, start, sane


XIDS, MULTIXACTS = Ids(), Ids(multixact=True)


@st.composite
def tables(draw: st.DrawFn, max_size: int = 40) -> tuple[list[Row], Pair, Pair]:
    """Rows of pg_class with their start and sane values; rows of other kinds may hold anything."""
    xid_start, xid_sane = draw(bounds(XIDS))
    multi_start, multi_sane = draw(bounds(MULTIXACTS))
    sound = draw(st.booleans())
    column = used_values if sound else values
    held = st.builds(Row, st.sampled_from(HELD), column(XIDS, xid_sane), column(MULTIXACTS, multi_sane))
    other = st.builds(Row, st.sampled_from(OTHERS), values(XIDS, xid_sane), values(MULTIXACTS, multi_sane))
    rows = draw(st.lists(st.one_of(held, held, held, other), max_size=max_size))
    return rows, Pair(xid_start, multi_start), Pair(xid_sane, multi_sane)

# SPDX-License-Identifier: PostgreSQL
"""XIDs by walking whole rings of 4 to 6 bits, and on the true one of 32 by generation.

The laws of their order are theorems (proofs/common/Xid.v).
"""

import ctypes

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from ref.xid import (
    BOOTSTRAP,
    FIRST_NORMAL,
    FROZEN,
    INVALID,
    XID,
    Ring,
    epoch_of,
    full,
    raw_sorted,
    widen,
    xid_of,
)
from tests.common.tally import tally

RINGS = [Ring(4), Ring(5), Ring(6)]
whole = pytest.mark.parametrize("ring", RINGS, ids=lambda ring: f"{ring.bits} bits")


def normals(ring: Ring) -> range:
    return range(FIRST_NORMAL, ring.size)


def xids(ring: Ring = XID) -> st.SearchStrategy[int]:
    """Any XID. The permanent ones and those on both sides of the wrap and of the middle are more frequent."""
    edges = [*range(6), *range(ring.half - 3, ring.half + 4), *range(ring.size - 4, ring.size)]
    return st.sampled_from(edges) | st.integers(0, ring.size - 1)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, int]:
    """Two normal XIDs, often at a distance where the answer changes."""
    a = draw(xids().filter(XID.is_normal))
    near = st.sampled_from([0, 1, 2, 3, 4, XID.half - 1, XID.half, XID.half + 1, XID.size - 1])
    b = (a + draw(near | st.integers(0, XID.size - 1))) % XID.size
    return a, b if XID.is_normal(b) else FIRST_NORMAL


# ---- whole rings -----------------------------------------------------------------------------------------------------


@whole
def test_precedes_means_reached_in_fewer_than_half_the_steps(ring: Ring) -> None:
    """By walking, not by arithmetic: b is ahead of a iff 1 to half steps lead from a to b (half: each of the other)."""
    for a in normals(ring):
        steps = {(a + n) % ring.size: n for n in range(ring.size)}
        for b in normals(ring):
            tally("xid", "pairs")
            assert ring.precedes(a, b) == (1 <= steps[b] <= ring.half)
            assert ring.follows(a, b) == (steps[b] > ring.half)


@whole
def test_advance_walks_the_normal_ones_in_a_circle_and_retreat_walks_back(ring: Ring) -> None:
    walk = [FIRST_NORMAL]
    while (xid := ring.advance(walk[-1])) != FIRST_NORMAL:
        walk.append(xid)
    assert walk == list(normals(ring))
    for xid in walk:
        assert ring.retreat(ring.advance(xid)) == ring.advance(ring.retreat(xid)) == xid
        assert ring.precedes(xid, ring.advance(xid))
    for permanent in range(FIRST_NORMAL):
        assert ring.advance(permanent) == FIRST_NORMAL
        assert ring.retreat(permanent) == ring.size - 1


@whole
def test_widen_undoes_the_downcast(ring: Ring) -> None:
    """Of every full XID less than a ring behind the next one, in each of three epochs."""
    for next_full in range(FIRST_NORMAL, 3 * ring.size):
        for f in range(max(FIRST_NORMAL, next_full - ring.size + 1), next_full + 1):
            tally("xid", "pairs")
            if ring.is_normal(xid_of(f, ring)):
                assert widen(xid_of(f, ring), next_full, ring) == f


@whole
def test_widen_refuses_what_precedes_the_first_epoch(ring: Ring) -> None:
    with pytest.raises(ValueError, match=r"^XID 4 lies ahead of next_full 3, in epoch 0: pass a later next_full$"):
        widen(FIRST_NORMAL + 1, full(0, FIRST_NORMAL, ring), ring)
    assert [widen(xid, full(2, 5, ring), ring) for xid in range(FIRST_NORMAL)] == [0, 1, 2]


def test_a_ring_without_normal_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 bits"):
        Ring(2)
    assert [*normals(Ring(3))] == [3, 4, 5, 6, 7]
    assert Ring() == XID


def test_raw_order_is_that_of_the_numbers() -> None:
    assert raw_sorted([XID.size - 1, 5, XID.half, 3]) == [3, 5, XID.half, XID.size - 1]


def test_the_permanent_ones_are_those_of_transam_h() -> None:
    assert (INVALID, BOOTSTRAP, FROZEN, FIRST_NORMAL) == (0, 1, 2, 3)


# ---- the ring of 2^32 ------------------------------------------------------------------------------------------------


@given(pairs())
def test_precedes_is_the_sign_of_the_32_bit_difference(pair: tuple[int, int]) -> None:
    a, b = pair
    difference = ctypes.c_int32(a - b).value
    turn = {0: "equal", XID.half: "opposite"}
    event(turn.get((a - b) % XID.size, "wrapped" if (a < b) != (difference < 0) else "near"))
    assert XID.precedes(a, b) == (difference < 0)
    assert XID.precedes_or_equals(a, b) == (difference <= 0)
    assert XID.follows(a, b) == (difference > 0)
    assert XID.follows_or_equals(a, b) == (difference >= 0)


@given(xids(), xids())
def test_permanent_ones_are_compared_as_numbers(a: int, b: int) -> None:
    if XID.is_normal(a) and XID.is_normal(b):
        a %= FIRST_NORMAL
    assert XID.precedes(a, b) == (a < b)
    assert XID.follows(a, b) == (a > b)


@given(st.integers(0, 5), xids().filter(XID.is_normal), st.integers(0, XID.size - 1))
def test_full_xids_of_64_bits(epoch: int, next_xid: int, behind: int) -> None:
    next_full = full(epoch, next_xid)
    assert (epoch_of(next_full), xid_of(next_full)) == (epoch, next_xid)
    f = next_full - behind
    if f >= FIRST_NORMAL and XID.is_normal(xid_of(f)):
        event("the epoch before" if epoch_of(f) < epoch else "the same epoch")
        assert widen(xid_of(f), next_full) == f

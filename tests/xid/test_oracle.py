# SPDX-License-Identifier: PostgreSQL
"""The laws of XIDs: whole rings of 4 to 6 bits, and the true one of 32 by generation."""

import ctypes
from itertools import pairwise, product

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
    full_precedes,
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
def test_the_four_relations_agree(ring: Ring) -> None:
    for a, b in product(range(ring.size), repeat=2):
        tally("xid", "pairs")
        assert ring.precedes_or_equals(a, b) == (ring.precedes(a, b) or a == b)
        assert ring.follows_or_equals(a, b) == (ring.follows(a, b) or a == b)
        assert ring.follows(a, b) == (not ring.precedes_or_equals(a, b))
        assert ring.precedes(a, b) == (not ring.follows_or_equals(a, b))


@whole
def test_irreflexive_and_asymmetric_but_at_half_a_ring(ring: Ring) -> None:
    for a, b in product(range(ring.size), repeat=2):
        tally("xid", "pairs")
        opposite = ring.is_normal(a) and ring.is_normal(b) and (a - b) % ring.size == ring.half
        assert not ring.precedes(a, a)
        assert (ring.precedes(a, b) and ring.precedes(b, a)) == opposite
        if opposite:
            assert not ring.follows(a, b)
        elif a != b:
            assert ring.precedes(a, b) != ring.precedes(b, a)
            assert ring.precedes(a, b) == ring.follows(b, a)


@whole
def test_strict_total_order_within_half_a_ring(ring: Ring) -> None:
    """On each window of half the ring "precedes" is the order of the positions, hence strict and total."""
    for start in range(ring.size):
        window = [xid for i in range(ring.half) if ring.is_normal(xid := (start + i) % ring.size)]
        for (i, a), (j, b) in product(enumerate(window), repeat=2):
            tally("xid", "pairs")
            assert ring.precedes(a, b) == (i < j)


@whole
def test_no_order_beyond_half_a_ring(ring: Ring) -> None:
    """Each window of one more has a pair that precedes each other; and precedence goes in circles of three."""
    for start in range(FIRST_NORMAL, ring.half):
        assert ring.precedes(start, start + ring.half)
        assert ring.precedes(start + ring.half, start)
    third = ring.size // 3
    a, b, c = FIRST_NORMAL, FIRST_NORMAL + third, FIRST_NORMAL + 2 * third
    assert ring.precedes(a, b)
    assert ring.precedes(b, c)
    assert ring.precedes(c, a)


@whole
def test_permanent_ones_precede_all_normal_ones_in_their_own_order(ring: Ring) -> None:
    for a, b in product(range(FIRST_NORMAL), range(ring.size)):
        tally("xid", "pairs")
        assert ring.precedes(a, b) == (a < b)
        assert ring.precedes(b, a) == (b < a)


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


@whole
def test_full_order_is_ring_order_within_half_a_ring(ring: Ring) -> None:
    for f, g in product(range(3 * ring.size), repeat=2):
        a, b = xid_of(f, ring), xid_of(g, ring)
        if abs(f - g) < ring.half and ring.is_normal(a) and ring.is_normal(b):
            tally("xid", "pairs")
            assert full_precedes(f, g) == ring.precedes(a, b)


@whole
def test_downcast_of_a_sorted_window_is_a_rotation_of_the_raw_order(ring: Ring) -> None:
    rotated = 0
    for start in range(2 * ring.size):
        xids = [xid for f in range(start, start + ring.half) if ring.is_normal(xid := xid_of(f, ring))]
        drops = sum(a > b for a, b in pairwise(xids))
        assert drops <= 1
        first = xids.index(min(xids))
        assert xids[first:] + xids[:first] == raw_sorted(xids)
        rotated += drops
    assert rotated > 0


def test_a_ring_without_normal_ones_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 3 bits"):
        Ring(2)
    assert [*normals(Ring(3))] == [3, 4, 5, 6, 7]
    assert Ring() == XID


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


@given(xids(), st.lists(st.integers(0, XID.half - 1), max_size=20))
def test_half_a_window_of_the_true_ring_is_totally_ordered(start: int, offsets: list[int]) -> None:
    window = {(start + i) % XID.size: i for i in offsets}
    for a, b in product([xid for xid in window if XID.is_normal(xid)], repeat=2):
        assert XID.precedes(a, b) == (window[a] < window[b])


@given(xids())
def test_neighbours_on_the_true_ring(xid: int) -> None:
    event("last" if xid == XID.size - 1 else "permanent" if not XID.is_normal(xid) else "normal")
    after = XID.advance(xid)
    assert XID.is_normal(after)
    assert XID.precedes(xid, after)
    if XID.is_normal(xid):
        assert XID.retreat(after) == xid


@given(st.integers(0, 5), xids().filter(XID.is_normal), st.integers(0, XID.size - 1))
def test_full_xids_of_64_bits(epoch: int, next_xid: int, behind: int) -> None:
    next_full = full(epoch, next_xid)
    assert (epoch_of(next_full), xid_of(next_full)) == (epoch, next_xid)
    f = next_full - behind
    if f >= FIRST_NORMAL and XID.is_normal(xid_of(f)):
        event("the epoch before" if epoch_of(f) < epoch else "the same epoch")
        assert widen(xid_of(f), next_full) == f


def test_distances_at_which_the_answer_turns() -> None:
    a = 1_000_000
    assert XID.precedes(a, a + 2**31 - 1)
    assert not XID.precedes(a + 2**31 - 1, a)
    assert XID.precedes(a, a + 2**31)
    assert XID.precedes(a + 2**31, a)
    assert not XID.precedes(a, a + 2**31 + 1)
    assert XID.precedes(2**32 - 1, 3)
    assert XID.advance(2**32 - 1) == 3
    assert XID.retreat(3) == 2**32 - 1

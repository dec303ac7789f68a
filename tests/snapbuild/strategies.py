# SPDX-License-Identifier: PostgreSQL
"""XIDs and arrays of them that reach the corners on purpose: the wrap, the distance 2^31, runs, and what is refused."""

from hypothesis import event
from hypothesis import strategies as st

from ref.xid import FIRST_NORMAL, XID, full

LAST = XID.size - 1
HALF = XID.half
# The XIDs at which an order or a sign changes.
CORNERS = (FIRST_NORMAL, FIRST_NORMAL + 1, HALF - 1, HALF, HALF + 1, LAST - 1, LAST)


def around(xid: int) -> list[int]:
    """Normal XIDs next to xid, and next to the point half a ring away from it."""
    near = [xid + d for d in (-2, -1, 0, 1, 2)] + [xid + HALF + d for d in (-2, -1, 0, 1, 2)]
    return [max(x % XID.size, FIRST_NORMAL) for x in near]


normal_xids = st.one_of(
    st.sampled_from(CORNERS),
    st.integers(FIRST_NORMAL, LAST),
    st.integers(FIRST_NORMAL, 40),
    st.integers(LAST - 40, LAST),
)
full_xids = st.builds(full, st.integers(0, 3), normal_xids)


@st.composite
def arrays(draw: st.DrawFn, max_size: int = 60) -> tuple[list[int], int]:
    """An unsorted array and an xmin: anywhere on the ring, or in a window of it, or in runs next to xmin."""
    xmin = draw(normal_xids)
    shape = draw(st.sampled_from(["anywhere", "window", "corners", "runs"]))
    event(f"array: {shape}")
    if shape == "anywhere":
        elements = normal_xids
    elif shape == "corners":
        elements = st.sampled_from([*CORNERS, *around(xmin)])
    else:
        width = draw(st.sampled_from([4, 100, 1 << 16, HALF - 1]))
        low = xmin - draw(st.integers(0, width))
        elements = st.integers(low, low + width).map(lambda x: max(x % XID.size, FIRST_NORMAL))
    xip = draw(st.lists(elements, max_size=max_size))
    if shape == "runs":
        xip.sort(key=lambda x: XID.difference(x, xmin))
    kept = sum(not XID.precedes(x, xmin) for x in xip)
    event("kept: none" if kept == 0 else "kept: all" if kept == len(xip) else "kept: some")
    if any(x - xmin in (HALF, -HALF) for x in xip):
        event("distance exactly half a ring")
    return xip, xmin


@st.composite
def sorted_arrays(draw: st.DrawFn, max_size: int = 60) -> tuple[list[int], int]:
    """The same, raw-sorted and free of duplicates."""
    xip, xmin = draw(arrays(max_size))
    xip = sorted(set(xip))
    pasts = [x for x in xip if XID.precedes(x, xmin)]
    if pasts and xip and pasts[0] == xip[0] and pasts[-1] == xip[-1] and len(pasts) < len(xip):
        event("what goes is a prefix and a suffix")
    elif pasts and pasts[0] != xip[0] and pasts[-1] != xip[-1]:
        event("what goes is an interval inside")
    return xip, xmin


def commit_xids(top: int, nsubxids: int) -> list[int]:
    """The XIDs of a transaction as a commit record lists them: subtransactions in rising order, the top one last."""
    xids = [top]
    for _ in range(nsubxids):
        xids.append(XID.advance(xids[-1]))
    return [*xids[1:], top]

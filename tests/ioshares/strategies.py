# SPDX-License-Identifier: PostgreSQL
"""Configurations of a scheduler, and requests, many of them at the ends of what is allowed."""

from hypothesis import strategies as st

from ref.ioshares import MAX_BYTES, MAX_FACTOR, MAX_LATENCY, MAX_SHARE, Class, Costs, Limits

POSTGRES = (Class(500, 2**20), Class(200), Class(200), Class(100))
"""backend, checkpointer, autovacuum and writeback."""

# Least common multiples of these stay small, or grow to the last one that is accepted.
LARGEST_FACTOR = [1, 10, 9973, 9967]
SHARES = (
    [500, 200, 200, 100],
    [1, 1],
    [1],
    [3, 5, 7],
    [1, MAX_SHARE],
    LARGEST_FACTOR,
    [997, 991, 983, 977],
    [1, 2, 3, 4, 5, 6, 7, 8],
)

sizes = st.integers(1, 4) | st.sampled_from([8192, 8192 * 16, MAX_BYTES - 1, MAX_BYTES])
warps = st.sampled_from([0, 0, 1, 3, 8192, 2**20, MAX_BYTES])
costs = st.builds(Costs, *[st.sampled_from([0, 0, 1, 3, 43_690, MAX_BYTES])] * 2)
latencies = st.integers(0, 40) | st.sampled_from([MAX_LATENCY, MAX_LATENCY + 1, 2**64 - 1])


@st.composite
def classes(draw: st.DrawFn) -> list[Class]:
    """Shares of the list, in any order, with any warps and mostly short queues."""
    shares = draw(st.sampled_from(SHARES).flatmap(st.permutations))
    capacities = st.integers(1, 4) | st.just(1024)
    return [Class(share, draw(warps), draw(capacities)) for share in shares]


def new_shares(count: int) -> st.SearchStrategy[list[int]]:
    """For so many classes; mostly some of which a scheduler takes."""
    known = [shares for shares in SHARES if len(shares) == count]
    any_shares = st.lists(
        st.sampled_from([0, 1, 2, 6, 500, 9973, MAX_SHARE, MAX_SHARE + 1]), min_size=count, max_size=count
    )
    small = st.lists(st.integers(1, 12), min_size=count, max_size=count)
    return any_shares | small | (st.sampled_from(known).flatmap(st.permutations) if known else small)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    """Short windows, so that the limit moves."""
    least = draw(st.integers(1, 4))
    start = draw(st.integers(least, 20))
    most = draw(st.integers(start, 24))
    return Limits(least, start, most, draw(st.integers(1, 4)), draw(st.sampled_from([0, 0, 1, 20, MAX_LATENCY])))


assert 0.9 * MAX_FACTOR < 10 * 9973 * 9967 < MAX_FACTOR

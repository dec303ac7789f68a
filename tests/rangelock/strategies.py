# SPDX-License-Identifier: PostgreSQL
"""Ranges that touch, overlap, lie within each other or at the ends of what is allowed; and ranges that are refused."""

from hypothesis import strategies as st

from ref.rangelock import LIMIT

near = st.tuples(st.integers(0, 12), st.integers(1, 6))
pages = st.tuples(st.integers(0, 5).map(lambda page: 8192 * page), st.sampled_from([1, 8191, 8192, 8193]))
ends = st.sampled_from([(0, LIMIT), (0, 1), (LIMIT - 1, 1), (LIMIT - 8192, 8192), (2**62, 2**62 - 1), (2**32, 2**32)])
ranges = near | pages | ends
"""(offset, length), mostly near each other."""

refused = st.sampled_from(
    [(0, 0), (5, 0), (LIMIT, 0), (LIMIT, 1), (1, LIMIT), (0, LIMIT + 1), (2**64 - 1, 1), (1, 2**64 - 1), (2**63, 2**63)]
)
"""Empty ranges, and those that end above LIMIT, also beyond 2^64."""

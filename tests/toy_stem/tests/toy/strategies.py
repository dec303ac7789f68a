# SPDX-License-Identifier: PostgreSQL
"""Arrays of 32-bit numbers, many of them at the ends of the range or equal."""

from hypothesis import strategies as st

numbers = st.integers(0, 2**32 - 1) | st.sampled_from([0, 1, 2**31, 2**32 - 1])
arrays = st.lists(numbers, min_size=1, max_size=9)

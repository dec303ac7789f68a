# SPDX-License-Identifier: PostgreSQL
"""The largest number of an array."""

from collections.abc import Sequence


def largest(array: Sequence[int]) -> int:
    """The largest number. ValueError: the array is empty."""
    return max(array)

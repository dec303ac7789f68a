# SPDX-License-Identifier: PostgreSQL
"""Counts of what the tests of a run have tried (examples, pages and so on), by stem. conftest.py writes them at the
end."""

from collections import Counter

counts: Counter[tuple[str, str]] = Counter()


def tally(stem: str, what: str, n: int = 1) -> None:
    """Count n more of `what` ("pages", "examples", ...: a plural noun) for `stem`."""
    counts[stem, what] += n


def of(stem: str) -> dict[str, int]:
    """All counts of one stem."""
    return {what: n for (of_stem, what), n in sorted(counts.items()) if of_stem == stem}

# SPDX-License-Identifier: PostgreSQL
"""The last line of a C test program, `tally: NAME=N NAME=N`: what it has counted."""

import re
from collections.abc import Mapping


def tally(output: str) -> dict[str, int]:
    """Counts by name; empty if the program did not reach its last line."""
    line = re.search(r"^tally:(.*)$", output, re.MULTILINE)
    return {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", line[1])} if line else {}


def words(counts: Mapping[str, int]) -> str:
    """The counts for people."""
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())

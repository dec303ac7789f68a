# SPDX-License-Identifier: PostgreSQL
"""The last line of a C test program: `tally: NAME=N NAME=N`, what it went through."""

import re
from collections.abc import Mapping


def tally(output: str) -> dict[str, int]:
    """Counts by name; empty if the program did not get that far."""
    line = re.search(r"^tally:(.*)$", output, re.MULTILINE)
    return {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", line[1])} if line else {}


def words(counts: Mapping[str, int]) -> str:
    """The counts for people."""
    return ", ".join(f"{n:,} {name}" for name, n in counts.items())

# SPDX-License-Identifier: PostgreSQL
"""The lines of a recording, one after the other: a file may be no text, and have no end."""

from collections.abc import Iterator
from pathlib import Path

LONGEST = 16 << 20
"""Characters of a line. A commit that drops very many relations has a long one."""


def lines(path: Path) -> Iterator[str]:
    """With their ends. ValueError: one is longer than any that a program writes."""
    with path.open(errors="replace") as file:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            if len(line) == LONGEST:
                raise ValueError(f"{path}, line {number} is longer than {LONGEST:,} characters: this is no recording")
            yield line

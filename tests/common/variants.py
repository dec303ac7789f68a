# SPDX-License-Identifier: PostgreSQL
"""Parameters over a table of variants: every row on every CPU. A variant that the CPU lacks is skipped by name."""

from collections.abc import Iterable
from typing import Protocol

import pytest
from _pytest.mark import ParameterSet


class Row(Protocol):
    """A row of any kind's table, as the bindings show it."""

    @property
    def name(self) -> str: ...
    @property
    def supported(self) -> bool: ...


def every_variant(rows: Iterable[Row]) -> list[ParameterSet]:
    """The names of all variants; those that this CPU cannot run are marked to be skipped."""
    return [
        pytest.param(
            row.name, marks=() if row.supported else pytest.mark.skip(reason=f"this CPU cannot run {row.name}")
        )
        for row in rows
    ]

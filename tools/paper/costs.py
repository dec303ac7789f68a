# SPDX-License-Identifier: PostgreSQL
"""How costs grow, in sum: README's table has each operation."""

from typing import Any

from tools.report import growth


def groups() -> list[dict[str, Any]]:
    """A line for each slope that is wanted: of how many operations, how steep they are at most, how many are above."""
    found = [(series, fit) for _, series, fit in growth.recorded()]
    return [
        {
            "wanted": wanted,
            "operations": len(mine),
            "steepest": max(max(fit.slope, fit.last) for _, fit in mine),
            "above": sum(series.above is not None for series, _ in mine),
        }
        for wanted in sorted({series.wanted for series, _ in found})
        if (mine := [(series, fit) for series, fit in found if series.wanted == wanted])
    ]

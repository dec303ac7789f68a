# SPDX-License-Identifier: PostgreSQL
"""How costs grow: the recorded slopes, as README's table has them."""

from typing import Any

from tools.report import growth


def table() -> list[dict[str, Any]]:
    """A line for each operation that is counted at several sizes."""
    return [
        {
            "stem": stem,
            "what": series.what,
            "sizes": f"{series.sizes[0]:,} to {series.sizes[-1]:,} {series.unit}",
            "slope": fit.says,
            "last": f"{fit.last:.2f}",
            "wanted": f"{series.wanted:g}",
            "above": series.above.why if series.above else "",
        }
        for stem, series, fit in growth.recorded()
    ]

# SPDX-License-Identifier: PostgreSQL
"""A sound call of each entry point of the binding; see tests/common/entry_points.py."""

from collections.abc import Callable

from pgquern.datfrozenxid import min_frozen, min_frozen_strided, need_update, variants

from tests.common.entry_points import Call

CALLS: dict[str, Callable[[], Call]] = {
    "variants": lambda: Call(variants, ("min_frozen",)),
    "min_frozen": lambda: Call(min_frozen, ([7, 5], 9, 20), {"multixact": False, "variant": "scalar"}),
    "min_frozen_strided": lambda: Call(
        min_frozen_strided,
        ([("r", 7, 5), ("t", 6, 8)], (9, 9), (20, 20)),
        {"stride": 24, "relkind_at": 0, "relfrozenxid_at": 8, "variant": "scalar"},
    ),
    "need_update": lambda: Call(need_update, ((7, 5), (8, 6), (20, 20)), {"variant": "scalar"}),
}

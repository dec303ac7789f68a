# SPDX-License-Identifier: PostgreSQL
"""What is counted on each page: a row of COLUMNS."""

import numpy as np
from numpy.typing import NDArray

SHOWN = ("free_before", "free_after", "tuples", "unused", "redirect", "dead", "hinted", "hinted_bytes", "lines_cut")
COLUMNS = (*SHOWN, "line_pointers", "tuple_bytes", "in_order")
"""line_pointers: that are left; tuple_bytes: lp_len of all tuples; in_order: 1 if lp_off falls by line pointer."""

Rows = NDArray[np.int64]
"""A row for each page; zero of a new or a refused one."""


def column(rows: Rows, name: str) -> NDArray[np.int64]:
    return np.asarray(rows[..., COLUMNS.index(name)])


def gain(rows: Rows) -> NDArray[np.int64]:
    return column(rows, "free_after") - column(rows, "free_before")

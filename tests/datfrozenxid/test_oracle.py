# SPDX-License-Identifier: PostgreSQL
"""The definition, by hand.

What it promises are theorems (Minimum.v, Decision.v and Patch.v of proofs/datfrozenxid/) of what test_extracted.py
holds against it.
"""

import pytest

from ref.datfrozenxid import FutureError, Pair, Row, min_frozen, min_frozen_rows, update
from tests.datfrozenxid.strategies import MULTIXACTS, XIDS


def test_a_future_value_is_mended_and_a_future_row_stops_all() -> None:
    sane, start = Pair(1000, 50), Pair(900, 40)
    rows = [Row("r", 800, 30), Row("i", 5000, 5000), Row("t", 0, 35), Row("m", 850, 0)]
    assert update(Pair(2000, 60), rows, start, sane)[:3] == (Pair(800, 30), Pair(800, 30), True)
    assert update(Pair(800, 30), rows, start, sane)[:3] == (Pair(800, 30), Pair(800, 30), False)
    assert update(Pair(850, 20), rows, start, sane)[:3] == (Pair(850, 30), Pair(850, 30), True)
    assert update(Pair(700, 20), [*rows, Row("r", 1001, 30)], start, sane)[:3] == (Pair(700, 20), None, False)
    with pytest.raises(FutureError, match="relminmxid of row 2") as refusal:
        min_frozen_rows([Row("r", 0, 0), Row("r", 999, 51)], start, sane)
    assert (refusal.value.index, refusal.value.multixact) == (2, True)


def test_permanent_xids_precede_all_normal_ones() -> None:
    assert min_frozen([900, 2, 1, 2], 950, 1000, XIDS) == 1
    assert min_frozen([900, 2], 950, 1000, XIDS) == 2
    assert min_frozen([900, 2], 950, 1000, MULTIXACTS) == 2
    assert min_frozen([2**32 - 5, 2], 950, 1000, XIDS) == 2
    assert min_frozen([2**32 - 5, 2], 950, 1000, MULTIXACTS) == 2**32 - 5

# SPDX-License-Identifier: PostgreSQL
"""Every sequence of six calls on two classes that have requests waiting, oracle and kernel side by side."""

from itertools import product

import pytest
from pgquern import ioshares

from ref.ioshares import Class, Limits
from tests.common.tally import tally
from tests.common.variants import every_variant
from tests.ioshares.pair import Pair

LENGTH = 6
CLASSES = [Class(2, 0, 2), Class(1, 1, 2)]
LIMITS = Limits(1, 1, 2, 1, 10)


def call(pair: Pair, which: int) -> None:
    if which < 2:
        pair.submit(which, 1 + which)
    elif which == 2:
        pair.next()
    else:
        pair.complete(which - 3, 1 + 20 * (which - 3))


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", every_variant(ioshares.variants()))
def test_all_short_sequences(variant: str) -> None:
    """The five calls: submit to each class, next, and complete of each, quickly or slowly."""
    sequences = list(product(range(5), repeat=LENGTH))
    for sequence in sequences:
        pair = Pair(CLASSES, LIMITS, variant)
        for which in (0, 1, *sequence):
            call(pair, which)
    tally("ioshares", "sequences enumerated", len(sequences))

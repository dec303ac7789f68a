# SPDX-License-Identifier: PostgreSQL
"""Every variant against the oracle."""

import pytest
from _pgquern import lib
from hypothesis import given
from pgquern import PgquernError
from pgquern.toy import largest, variants

from ref import toy as ref
from tests.common.variants import every_variant
from tests.toy.strategies import arrays

every = pytest.mark.parametrize("variant", every_variant(variants()))


@every
@given(array=arrays)
def test_largest(variant: str, array: list[int]) -> None:
    assert largest(array, variant=variant) == ref.largest(array)


@every
def test_an_empty_array_is_refused(variant: str) -> None:
    with pytest.raises(PgquernError) as refusal:
        largest([], variant=variant)
    assert refusal.value.code == lib.PGQ_TOY_EMPTY
    with pytest.raises(ValueError, match="empty"):
        ref.largest([])

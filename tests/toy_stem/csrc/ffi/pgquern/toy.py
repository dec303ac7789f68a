# SPDX-License-Identifier: PostgreSQL
"""The largest number of an array, by any of the C library's variants."""

from collections.abc import Sequence

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.variants import Variant

KIND = "toy_largest"


def variants() -> list[Variant]:
    """All variants, as pgquern.variants.variants."""
    return variants_.variants(KIND)


def largest(array: Sequence[int], *, variant: str | None = None) -> int:
    """The largest number. PgquernError: the array is empty."""
    function = lib.pgq_toy_largest if variant is None else variants_.row_of(KIND, variant).fn
    found = ffi.new("uint32_t *")
    status = function(ffi.new("uint32_t[]", list(array)), len(array), found)
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)
    return int(found[0])

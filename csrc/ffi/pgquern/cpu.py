# SPDX-License-Identifier: PostgreSQL
"""What can run here: the CPU's level, and all variants of all kinds."""

from typing import NamedTuple

from _pgquern import ffi, lib

from pgquern.errors import PgquernError


class VariantInfo(NamedTuple):
    """A row of a kind's table of variants. supported: this CPU can run it, and PGQUERN_CPU allows it."""

    kind: str
    variant: str
    supported: bool


def cpu() -> str:
    """The level in use: none, avx2, avx512 or avx512vbmi2; on ARM none or neon. PgquernError (VARIANT): PGQUERN_CPU is
    none of them."""
    word = lib.pgq_cpu()
    if word == ffi.NULL:
        raise PgquernError(lib.PGQ_VARIANT)
    return str(ffi.string(word).decode("ascii"))


def all_variants() -> list[VariantInfo]:
    """The variants of all kinds, those that cannot run here included. PgquernError as cpu()."""
    cpu()
    found = (lib.pgq_variant_at(i) for i in range(lib.pgq_variant_count()))
    return [
        VariantInfo(ffi.string(v.kind).decode("ascii"), ffi.string(v.variant).decode("ascii"), bool(v.supported))
        for v in found
    ]

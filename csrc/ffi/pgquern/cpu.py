# SPDX-License-Identifier: PostgreSQL
"""What can run here: the CPU's level, and all rows of all tables of variants."""

from typing import NamedTuple

from _pgquern import ffi, lib

from pgquern.errors import PgquernError


class Row(NamedTuple):
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


def rows() -> list[Row]:
    """The rows of all kinds, those that cannot run here included. PgquernError as cpu()."""
    cpu()
    found = (lib.pgq_row_at(i) for i in range(lib.pgq_row_count()))
    return [
        Row(ffi.string(r.kind).decode("ascii"), ffi.string(r.variant).decode("ascii"), bool(r.supported)) for r in found
    ]

# SPDX-License-Identifier: PostgreSQL
"""The tables of variants, for the modules of all stems. A kind is named as in C: its table is pgq_<kind>_variants."""

from dataclasses import dataclass
from typing import Any

from _pgquern import ffi, lib

from pgquern.cpu import cpu


@dataclass(frozen=True)
class Variant:
    """A row of a kind's table. supported: this CPU can run it, and PGQUERN_CPU allows it."""

    name: str
    description: str
    supported: bool


def rows(kind: str) -> list[Any]:
    """The rows as C has them. ValueError: there is no such kind."""
    table = getattr(lib, f"pgq_{kind}_variants", None)
    if table is None:
        raise ValueError(f"no kind {kind!r} of kernels; pgquern.all_variants() names them all")
    return [table[i] for i in range(getattr(lib, f"pgq_{kind}_variant_count"))]


def fields(row: Any) -> dict[str, Any]:
    """The fields of Variant, from a row."""
    return {
        "name": ffi.string(row.name).decode("ascii"),
        "description": ffi.string(row.description).decode("ascii"),
        "supported": bool(row.supported()),
    }


def variants(kind: str) -> list[Variant]:
    """All variants, upstream's first and the preferred last, those that this CPU cannot run included.

    PgquernError (VARIANT): PGQUERN_CPU holds an unknown word. ValueError: there is no such kind.
    """
    cpu()
    return [Variant(**fields(row)) for row in rows(kind)]


def row_of(kind: str, variant: str) -> Any:
    """The row of that name. ValueError: there is none, or this CPU cannot run it."""
    known = variants(kind)
    for found, row in zip(known, rows(kind), strict=True):
        if found.name == variant:
            if not found.supported:
                raise ValueError(f"variant {variant!r} of {kind} needs a CPU that has it; variants() lists all")
            return row
    raise ValueError(f"no variant {variant!r} of {kind}; there are {', '.join(v.name for v in known)}")

# SPDX-License-Identifier: PostgreSQL
"""The oldest ids of a database and whether they replace the stored ones, by any of the C library's variants.

Each array has memory of exactly its size, so that a sanitizer sees any access beyond. `variant` is a name from
variants(kind), None the dispatched one; ValueError: no such variant here. A value in the future, and all that is
refused, is a PgquernError.
"""

from collections.abc import Sequence
from operator import index
from typing import Any

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.variants import Variant

# Allocates each array. Tests replace it to get memory with guarded ends.
new_array = ffi.new

KINDS = ("min_frozen", "min_frozen_strided", "need_update")


def variants(kind: str) -> list[Variant]:
    """All variants of one of KINDS, as pgquern.variants.variants."""
    return variants_.variants(f"datfrozenxid_{kind}")


def _call(kind: str, variant: str | None, *arguments: Any) -> None:
    name = f"datfrozenxid_{kind}"
    function = getattr(lib, f"pgq_{name}") if variant is None else variants_.row_of(name, variant).fn
    status = function(*arguments)
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


def _pair(ids: tuple[int, int]) -> Any:
    xid, multi = ids
    return ffi.new("pgq_datfrozenxid_pair *", (xid, multi))


def min_frozen(
    values: Sequence[int], start: int, last_sane: int, *, multixact: bool = False, variant: str | None = None
) -> int:
    """The oldest of the values and `start`; invalid values do not count."""
    bounds = ffi.new("pgq_datfrozenxid_bounds *", (start, last_sane, multixact))
    minimum = ffi.new("uint32_t *")
    given = new_array("uint32_t[]", list(values))
    _call("min_frozen", variant, given, len(given), bounds, minimum)
    return int(minimum[0])


def min_frozen_strided(
    rows: Sequence[tuple[str, int, int]],
    start: tuple[int, int],
    last_sane: tuple[int, int],
    *,
    stride: int = 128,
    relkind_at: int = 115,
    relfrozenxid_at: int = 120,
    variant: str | None = None,
) -> tuple[int, int]:
    """The oldest XID and MultiXactId of rows (relkind, relfrozenxid, relminmxid).

    The rows are laid out in records of `stride` bytes. The bytes around the fields are 0xA5. The last record ends
    with its last field.
    """
    rows = list(rows)
    content = bytearray(b"\xa5" * stride * len(rows))
    # C refuses fields beyond the stride before it reads any.
    if 0 <= relkind_at < stride and 0 <= relfrozenxid_at <= stride - 8:
        for i, (relkind, xid, multi) in enumerate(rows):
            content[i * stride + relkind_at] = ord(relkind)
            at = i * stride + relfrozenxid_at
            content[at : at + 8] = index(xid).to_bytes(4, "little") + index(multi).to_bytes(4, "little")
        del content[max(len(rows) - 1, 0) * stride + max(relkind_at + 1, relfrozenxid_at + 8) :]
    records = new_array("uint8_t[]", len(content))
    ffi.memmove(records, content, len(content))
    table = ffi.new("pgq_datfrozenxid_rows *", (records, len(rows), stride, relkind_at, relfrozenxid_at))
    minimum = _pair((0, 0))
    _call("min_frozen_strided", variant, table, _pair(start), _pair(last_sane), minimum)
    return int(minimum.xid), int(minimum.multi)


def need_update(
    stored: tuple[int, int], minimum: tuple[int, int], last_sane: tuple[int, int], *, variant: str | None = None
) -> tuple[bool, bool]:
    """For datfrozenxid and datminmxid: shall the minimum replace the stored value?"""
    changes = ffi.new("pgq_datfrozenxid_changes *")
    _call("need_update", variant, _pair(stored), _pair(minimum), _pair(last_sane), changes)
    return bool(changes.xid), bool(changes.multi)

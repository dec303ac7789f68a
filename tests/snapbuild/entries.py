# SPDX-License-Identifier: PostgreSQL
"""How to reach the kinds that have no dispatched function of their own; see tests/common/dispatch.py."""

from collections.abc import Callable
from typing import Any

from _pgquern import ffi, lib


def compress() -> Any:
    """KnownAssignedXids without a variant of its own compresses by the dispatched one."""
    known = ffi.new("pgq_snapbuild_known_assigned *")
    return lib.pgq_snapbuild_known_assigned_compress(known, lib.PGQ_SNAPBUILD_COMPRESS_NO_SPACE, 1, ffi.NULL)


ENTRIES: dict[str, Callable[[], Any]] = {"snapbuild_known_assigned": compress}

# SPDX-License-Identifier: PostgreSQL
"""XID arrays of the snapshot builder, and KnownAssignedXids, by any of the C library's variants.

Each array has memory of exactly its capacity, so that a sanitizer sees any access beyond. Methods check their whole
input unless `checked=False` is given. A refusal is a PgquernError and leaves the array unchanged. `variant` is a name
from variants(kind), None the dispatched one; ValueError: no such variant here. Threads may share any of these objects.
"""

from collections.abc import Sequence
from enum import IntEnum
from operator import index
from typing import Any

from _pgquern import ffi, lib

import pgquern.variants as variants_
from pgquern.errors import PgquernError
from pgquern.memory import MOST, count
from pgquern.sharing import exclusive
from pgquern.variants import Variant

# Allocates each array. Tests replace it to get memory with guarded ends.
new_array = ffi.new

KINDS = ("purge", "purge_sorted", "purge_full", "insert", "snapshot", "known_assigned")


class Reason(IntEnum):
    """Why KnownAssignedXids may be compressed."""

    NO_SPACE = lib.PGQ_SNAPBUILD_COMPRESS_NO_SPACE
    PRUNE = lib.PGQ_SNAPBUILD_COMPRESS_PRUNE
    TRANSACTION_END = lib.PGQ_SNAPBUILD_COMPRESS_TRANSACTION_END
    STARTUP_PROCESS_IDLE = lib.PGQ_SNAPBUILD_COMPRESS_STARTUP_PROCESS_IDLE


def _kind(kind: str) -> str:
    return f"snapbuild_{kind}"


def variants(kind: str) -> list[Variant]:
    """All variants of one of KINDS, as pgquern.variants.variants."""
    return variants_.variants(_kind(kind))


def _row(kind: str, variant: str) -> Any:
    return variants_.row_of(_kind(kind), variant)


def _function(kind: str, variant: str | None) -> Any:
    return getattr(lib, f"pgq_{_kind(kind)}") if variant is None else _row(kind, variant).fn


def _accept(status: Any) -> None:
    if status.code != lib.PGQ_OK:
        raise PgquernError(status.code, status.index)


@exclusive
class Committed:
    """committed.xip: up to `capacity` XIDs, unsorted, or raw-sorted and free of duplicates."""

    def __init__(self, xip: Sequence[int] = (), *, capacity: int | None = None, sorted: bool = False) -> None:
        """sorted: claims that xip is; a wrong claim is found by the first checked call."""
        given = list(xip)
        space = len(given) if capacity is None else count("capacity", capacity)
        if len(given) > space:
            raise PgquernError(lib.PGQ_SNAPBUILD_CAPACITY)
        self._xip = new_array("uint32_t[]", space)
        self._xip[0 : len(given)] = given
        init = {"xip": self._xip, "xcnt": len(given), "xcnt_space": space, "sorted": sorted}
        self._c = ffi.new("pgq_snapbuild_committed *", init)

    @property
    def xip(self) -> list[int]:
        return list(ffi.unpack(self._xip, self._c.xcnt)) if self._c.xcnt else []

    @property
    def sorted(self) -> bool:
        return bool(self._c.sorted)

    @property
    def capacity(self) -> int:
        return int(self._c.xcnt_space)

    def check(self) -> None:
        """PgquernError: permanent XIDs, or `sorted` is set and the array is not sorted."""
        self._check(True)

    def _check(self, checked: bool) -> None:
        if checked:
            _accept(lib.pgq_snapbuild_committed_check(self._c))

    def reserve(self, m: int) -> None:
        """Makes space for m more, as SnapBuildAddCommittedTxn does: twice as much and one. PgquernError (CAPACITY)."""
        needed, space = self._c.xcnt + index(m), self._c.xcnt_space
        if needed > MOST:
            raise PgquernError(lib.PGQ_SNAPBUILD_CAPACITY)
        while space < needed:
            space = 2 * space + 1
        space = space if space <= MOST else needed
        if space > self._c.xcnt_space:
            grown = new_array("uint32_t[]", space)
            ffi.memmove(grown, self._xip, 4 * self._c.xcnt)
            self._xip = self._c.xip = grown
            self._c.xcnt_space = space

    def purge(self, xmin: int, *, variant: str | None = None, checked: bool = True) -> None:
        """Keeps x if and only if it does not precede xmin. The order stays."""
        self._check(checked)
        _accept(_function("purge", variant)(self._c, xmin))

    def purge_sorted(self, xmin: int, *, variant: str | None = None, checked: bool = True) -> None:
        """The same for a sorted array."""
        self._check(checked)
        _accept(_function("purge_sorted", variant)(self._c, xmin))

    def insert(
        self, batch: Sequence[int], *, consistent: bool = True, variant: str | None = None, checked: bool = True
    ) -> None:
        """Inserts the XIDs of a commit; capacity must be there."""
        self._check(checked)
        given = new_array("uint32_t[]", list(batch))
        _accept(_function("insert", variant)(self._c, given, len(given), consistent))

    def snapshot(self, *, variant: str | None = None, checked: bool = True) -> list[int]:
        """The XIDs, raw-sorted."""
        self._check(checked)
        n = self._c.xcnt
        xip = new_array("uint32_t[]", n)
        _accept(_function("snapshot", variant)(self._c, xip, n))
        return list(ffi.unpack(xip, n)) if n else []


@exclusive
class CommittedFull:
    """The same with FullTransactionIds (epoch << 32 | XID), sorted and free of duplicates, with a moving head."""

    def __init__(self, fxip: Sequence[int] = (), *, capacity: int | None = None, head: int = 0) -> None:
        given = list(fxip)
        head = count("head", head)
        space = head + len(given) if capacity is None else count("capacity", capacity)
        if head + len(given) > space:
            raise PgquernError(lib.PGQ_SNAPBUILD_CAPACITY)
        self._c = ffi.new("pgq_snapbuild_committed_full *", {"head": head, "xcnt": len(given), "xcnt_space": space})
        self._fxip = self._c.fxip = new_array("uint64_t[]", space)
        self._fxip[head : head + len(given)] = given

    @property
    def fxip(self) -> list[int]:
        return list(ffi.unpack(self._fxip + self._c.head, self._c.xcnt)) if self._c.xcnt else []

    @property
    def capacity(self) -> int:
        return int(self._c.xcnt_space)

    @property
    def head(self) -> int:
        return int(self._c.head)

    def check(self) -> None:
        """PgquernError: permanent XIDs, or out of order."""
        self._check(True)

    def _check(self, checked: bool) -> None:
        if checked:
            _accept(lib.pgq_snapbuild_committed_full_check(self._c))

    def purge(self, full_xmin: int, *, variant: str | None = None, checked: bool = True) -> None:
        """Keeps x if and only if x >= full_xmin."""
        self._check(checked)
        _accept(_function("purge_full", variant)(self._c, full_xmin))

    def insert(self, batch: Sequence[int], *, checked: bool = True) -> None:
        """Inserts FullTransactionIds; capacity must be there."""
        self._check(checked)
        given = new_array("uint64_t[]", list(batch))
        _accept(lib.pgq_snapbuild_insert_full(self._c, given, len(given)))

    def snapshot(self, *, checked: bool = True) -> list[int]:
        """The XIDs, raw-sorted."""
        self._check(checked)
        n = self._c.xcnt
        xip = new_array("uint32_t[]", n)
        _accept(lib.pgq_snapbuild_snapshot_full(self._c, xip, n))
        return list(ffi.unpack(xip, n)) if n else []


@exclusive
class KnownAssigned:
    """KnownAssignedXids of a standby. now is in milliseconds."""

    def __init__(self, capacity: int, *, variant: str | None = None) -> None:
        capacity = count("capacity", capacity)
        self._xids, self._valid = new_array("uint32_t[]", capacity), new_array("bool[]", capacity)
        row = ffi.NULL if variant is None else ffi.addressof(_row("known_assigned", variant))
        init = {"xids": self._xids, "valid": self._valid, "capacity": capacity, "variant": row}
        self._k = ffi.new("pgq_snapbuild_known_assigned *", init)

    @property
    def state(self) -> tuple[list[int], list[bool], int, int, int]:
        """The used part: XIDs, flags; then tail, head, num."""
        k = self._k
        used = range(k.tail, k.head)
        return [self._xids[i] for i in used], [bool(self._valid[i]) for i in used], k.tail, k.head, k.num

    def check(self) -> None:
        """PgquernError: out of order, or permanent XIDs."""
        _accept(lib.pgq_snapbuild_known_assigned_check(self._k))

    def add(self, from_xid: int, to_xid: int, now: int) -> None:
        """Adds from_xid to to_xid; on PgquernError (CAPACITY) the array has been compressed."""
        _accept(lib.pgq_snapbuild_known_assigned_add(self._k, from_xid, to_xid, now))

    def search(self, xid: int) -> bool:
        """Is xid among them?"""
        return bool(lib.pgq_snapbuild_known_assigned_search(self._k, xid))

    def remove(self, xid: int) -> bool:
        """Removes xid. False: it was not there."""
        return bool(lib.pgq_snapbuild_known_assigned_remove(self._k, xid))

    def remove_tree(self, xid: int, subxids: Sequence[int], now: int) -> None:
        """Removes xid and its subtransactions: the transaction has ended."""
        given = new_array("uint32_t[]", list(subxids))
        _accept(lib.pgq_snapbuild_known_assigned_remove_tree(self._k, xid, given, len(given), now))

    def remove_preceding(self, xid: int, now: int, prepared: Sequence[int] = ()) -> None:
        """Removes all XIDs that precede xid, except the prepared ones; all there are, if xid is 0."""
        given = new_array("uint32_t[]", list(prepared))
        _accept(lib.pgq_snapbuild_known_assigned_remove_preceding(self._k, xid, given, len(given), now))

    def compress(self, reason: Reason, now: int) -> bool:
        """Compresses if the rule for the reason says so; whether it did. ValueError: there is no such reason."""
        done = ffi.new("bool *")
        _accept(lib.pgq_snapbuild_known_assigned_compress(self._k, Reason(reason), now, done))
        return bool(done[0])

    def get(self, xmax: int = 0) -> list[int]:
        """The live XIDs, up to the first that does not precede xmax (0: all)."""
        xarray, n = new_array("uint32_t[]", self._k.num), ffi.new("size_t *")
        _accept(lib.pgq_snapbuild_known_assigned_get(self._k, xmax, xarray, self._k.num, n))
        return list(ffi.unpack(xarray, n[0])) if n[0] else []


def compress(xids: Sequence[int], valid: Sequence[bool], *, tail: int = 0, variant: str) -> list[int]:
    """The compressing loop alone: the XIDs from `tail` on whose flag is set.

    ValueError: there are not as many flags as XIDs, or fewer than `tail` of them.
    """
    x, v = new_array("uint32_t[]", list(xids)), new_array("bool[]", list(valid))
    if len(x) != len(v) or tail > len(x):
        raise ValueError(f"{len(x)} XIDs have {len(v)} flags, and the tail is {tail}")
    n = _row("known_assigned", variant).fn(x, v, tail, len(x))
    if not all(ffi.unpack(v, n) if n else []):
        raise AssertionError("a flag of a live entry is not set")
    return list(ffi.unpack(x, n)) if n else []

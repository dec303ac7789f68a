# SPDX-License-Identifier: PostgreSQL
"""Transaction IDs: points on a ring, and three permanent ones outside it.

Upstream: src/backend/access/transam/transam.c, TransactionIdPrecedes; src/include/access/transam.h,
TransactionIdPrecedes, NormalTransactionIdPrecedes, FullTransactionIdFromAllowableAt,
FullTransactionIdFromEpochAndXid; src/backend/utils/adt/xid.c, xidComparator. The first with its three sisters. As of
PostgreSQL 15.18; widen() is FullTransactionIdFromAllowableAt of 18.

An XID is an int in [0, ring.size). PostgreSQL's ring has 2^32 points. A smaller ring obeys the same laws, and a test
can go through all of it. A FullTransactionId is an int, epoch * ring.size + xid; it does not wrap.
"""

from collections.abc import Iterable
from dataclasses import dataclass

INVALID = 0
BOOTSTRAP = 1
FROZEN = 2
FIRST_NORMAL = 3


@dataclass(frozen=True)
class Ring:
    """The XIDs of `bits` bits. bits >= 3, because smaller rings have no normal XIDs.

    A normal XID precedes another if it lies at most half a ring behind it. This is a strict total order on any set that
    lies within half a ring. On a larger set it is no order: three XIDs a third of the ring apart precede each other in
    a circle, and of two XIDs exactly half a ring apart each precedes the other.
    """

    bits: int = 32

    def __post_init__(self) -> None:
        if self.bits < 3:
            raise ValueError(f"a ring of {self.bits} bits has no normal XIDs: use at least 3 bits")

    @property
    def size(self) -> int:
        return 1 << self.bits

    @property
    def half(self) -> int:
        return 1 << (self.bits - 1)

    def is_normal(self, xid: int) -> bool:
        """Not one of the three permanent XIDs."""
        return xid >= FIRST_NORMAL

    def difference(self, a: int, b: int) -> int:
        """a - b as a signed number of `bits` bits: in [-half, half)."""
        return (a - b + self.half) % self.size - self.half

    def _compare(self, a: int, b: int) -> int:
        """The number that the four relations compare with zero. If an XID is permanent, both count as plain numbers."""
        if self.is_normal(a) and self.is_normal(b):
            return self.difference(a, b)
        return a - b

    def precedes(self, a: int, b: int) -> bool:
        return self._compare(a, b) < 0

    def precedes_or_equals(self, a: int, b: int) -> bool:
        return self._compare(a, b) <= 0

    def follows(self, a: int, b: int) -> bool:
        """The negation of precedes_or_equals. So of two XIDs at distance `half` neither follows the other."""
        return self._compare(a, b) > 0

    def follows_or_equals(self, a: int, b: int) -> bool:
        """The negation of precedes."""
        return self._compare(a, b) >= 0

    def advance(self, xid: int) -> int:
        """The next normal XID (macro TransactionIdAdvance)."""
        return max((xid + 1) % self.size, FIRST_NORMAL)

    def retreat(self, xid: int) -> int:
        """The normal XID before `xid` (macro TransactionIdRetreat). The last of the ring comes before the first."""
        return xid - 1 if xid > FIRST_NORMAL else self.size - 1


XID = Ring(32)


def full(epoch: int, xid: int, ring: Ring = XID) -> int:
    """FullTransactionIdFromEpochAndXid. epoch >= 0, xid in [0, ring.size)."""
    return epoch * ring.size + xid


def epoch_of(full_xid: int, ring: Ring = XID) -> int:
    """EpochFromFullTransactionId."""
    return full_xid // ring.size


def xid_of(full_xid: int, ring: Ring = XID) -> int:
    """XidFromFullTransactionId."""
    return full_xid % ring.size


def widen(xid: int, next_full: int, ring: Ring = XID) -> int:
    """The FullTransactionId of `xid`. It must lie at most a ring behind `next_full`, the next one to be assigned.

    A permanent XID has epoch 0. ValueError: `xid` would lie in an epoch before the first.
    """
    if not ring.is_normal(xid):
        return full(0, xid, ring)
    epoch = epoch_of(next_full, ring) - (xid > xid_of(next_full, ring))
    if epoch < 0:
        raise ValueError(f"XID {xid} lies ahead of next_full {next_full}, in epoch 0: pass a later next_full")
    return full(epoch, xid, ring)


def raw_sorted(xids: Iterable[int]) -> list[int]:
    """The XIDs in the order of xidComparator: they count as unsigned numbers, not as points on the ring."""
    return sorted(xids)

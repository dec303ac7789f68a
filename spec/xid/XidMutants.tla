\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE XidMutants ----------------------------
(* Definitions that are wrong on purpose.  A mutant run puts one of them   *)
(* in the place of Precedes, Advance, FullAdvance or Widen.  They stand    *)
(* apart because MCXid (for TLC) and APXid (for Apalache) both use them.   *)
EXTENDS XidLaws

\* <= for <.
LaxPrecedes(a, b) == IF IsNormal(a) /\ IsNormal(b) THEN SignedDifference(a, b) <= 0 ELSE a < b

\* The neighbour counts as equal.
FarPrecedes(a, b) == IF IsNormal(a) /\ IsNormal(b) THEN SignedDifference(a, b) < -1 ELSE a < b

\* Permanent XIDs are compared as normal ones.
RingPrecedes(a, b) == SignedDifference(a, b) < 0

\* The reversed order.
FollowingPrecedes(a, b) == IF IsNormal(a) /\ IsNormal(b) THEN SignedDifference(a, b) > 0 ELSE a < b

\* The next number, permanent or not.
PlainAdvance(x0) == (x0 + 1) % Size

\* The next number in 64 bits, permanent or not; and one that loses the epoch when it skips the permanent ones.
PlainFullAdvance(f) == f + 1
EpochLost(f) == IF IsNormal(XidOf(f + 1)) THEN f + 1 ELSE EpochOf(f) * Size + FirstNormal

\* The epoch of nextFull for every XID.
SameEpochWiden(x0, nextFull) == Full(EpochOf(nextFull), x0)

\* The wrong comparison of x with nextFull's XID: the newest XID gets an epoch too low.
EarlyWiden(x0, nextFull) ==
    IF ~IsNormal(x0) THEN Full(0, x0)
    ELSE IF x0 >= XidOf(nextFull) THEN Full(EpochOf(nextFull) - 1, x0)
    ELSE Full(EpochOf(nextFull), x0)

=============================================================================

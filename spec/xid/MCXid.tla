\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE MCXid -------------------------------
(* XidLaws on small rings, and wrong definitions for mutant runs. On the   *)
(* ring of 2^32 the laws are theorems: proofs/common/Xid.v.                *)
EXTENDS XidLaws

\* The ring's size counts as an XID.
OneTooMany == 0..Size

\* Denials of states that must be among the choices.
NeverAcrossTheWrap == ~(IsNormal(z) /\ z < y /\ Precedes(x, y) /\ Precedes(y, z))

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

\* The next number in 64 bits, permanent or not.
PlainFullAdvance(f) == f + 1

\* The wrong comparison of x with nextFull's XID: the newest XID gets an epoch too low.
EarlyWiden(x0, nextFull) ==
    IF ~IsNormal(x0) THEN Full(0, x0)
    ELSE IF x0 >= XidOf(nextFull) THEN Full(EpochOf(nextFull) - 1, x0)
    ELSE Full(EpochOf(nextFull), x0)
=============================================================================

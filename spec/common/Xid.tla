\* SPDX-License-Identifier: PostgreSQL
-------------------------------- MODULE Xid --------------------------------
(***************************************************************************)
(* Transaction identifiers (XIDs): numbers on a ring, compared by signed   *)
(* difference, as in PostgreSQL's transam.c (TransactionIdPrecedes),       *)
(* transam.h (TransactionIdAdvance, FullTransactionId).                    *)
(*                                                                         *)
(* The server's ring has Size = 2^32 and FirstNormal = 3: the XIDs 0       *)
(* (Invalid), 1 (Bootstrap) and 2 (Frozen) are permanent.  They stand      *)
(* outside the ring's order: a comparison with one of them is by plain     *)
(* number, and so they precede every normal XID.                           *)
(*                                                                         *)
(* How to break it: the mutants of spec/xid put another Precedes in the    *)
(* place of this one; each breaks one law, which the run names.            *)
(***************************************************************************)
EXTENDS Integers, Sequences

CONSTANTS
    \* @type: Int;
    Size,           \* how many XIDs the ring has; even
    \* @type: Int;
    FirstNormal     \* the first XID that is not permanent; below Size \div 2

XIDs    == 0..(Size - 1)
Half    == Size \div 2
Invalid == 0

IsNormal(x) == x >= FirstNormal
Normals     == FirstNormal..(Size - 1)

(* (int32) (a - b), on a ring of any size: in -Half..(Half - 1). *)
SignedDifference(a, b) ==
    LET d == (a - b) % Size IN IF d < Half THEN d ELSE d - Size

(* At distance exactly Half each of two normal XIDs precedes the other. *)
Precedes(a, b) ==
    IF IsNormal(a) /\ IsNormal(b) THEN SignedDifference(a, b) < 0 ELSE a < b

PrecedesOrEquals(a, b) == a = b \/ Precedes(a, b)

(* Follows is upstream's own comparison, difference > 0.  It is *not*      *)
(* Precedes turned round at distance Half: there neither follows.          *)
Follows(a, b) ==
    IF IsNormal(a) /\ IsNormal(b) THEN SignedDifference(a, b) > 0 ELSE a > b

FollowsOrEquals(a, b) == a = b \/ Follows(a, b)

(* The next and the previous normal XID; the permanent ones are skipped. *)
Advance(x) == LET n == (x + 1) % Size IN IF IsNormal(n) THEN n ELSE FirstNormal
Retreat(x) == LET p == (x - 1) % Size IN IF IsNormal(p) THEN p ELSE Size - 1

(* x lies in the arc of length span that starts at start. *)
InArc(x, start, span) == (x - start) % Size < span

(* The normal XIDs of xs lie in one arc of length span.  The server keeps  *)
(* all live XIDs in one of length Half: it refuses to assign any beyond    *)
(* oldest + 2^31 - margin.  Permanent XIDs may be in xs as well.           *)
InOneArc(xs, span) ==
    \/ \A x \in xs : ~IsNormal(x)
    \/ \E start \in xs : IsNormal(start) /\ \A x \in xs : IsNormal(x) => InArc(x, start, span)

-----------------------------------------------------------------------------
(* FullTransactionId: 64 bits, never wraps, epoch in the upper half.  It   *)
(* is ordered by plain number.                                             *)

Full(epoch, x) == epoch * Size + x
XidOf(full)    == full % Size
EpochOf(full)  == full \div Size

FullPrecedes(f, g) == f < g

FullAdvance(f) == IF IsNormal(XidOf(f + 1)) THEN f + 1 ELSE EpochOf(f + 1) * Size + FirstNormal

(* The FullTransactionId of x, known to be at most Half behind nextFull    *)
(* and not beyond it (FullTransactionIdFromAllowableAt, and what several   *)
(* callers did before it by hand).  Permanent XIDs have epoch 0.           *)
Widen(x, nextFull) ==
    IF ~IsNormal(x) THEN Full(0, x)
    ELSE IF x > XidOf(nextFull) THEN Full(EpochOf(nextFull) - 1, x)
    ELSE Full(EpochOf(nextFull), x)

=============================================================================

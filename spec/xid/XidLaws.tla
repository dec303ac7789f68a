\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE XidLaws ------------------------------
(***************************************************************************)
(* The laws of XID comparison, for every choice of XIDs that the server    *)
(* could hold at the same time.                                            *)
(*                                                                         *)
(* An initial state is a choice of three XIDs x, y, z that lie in one arc  *)
(* of length Span (permanent ones may be among them).  There are no steps. *)
(* A law is an invariant of all choices.  If it fails, TLC names it and    *)
(* shows a state that breaks it.  With Span = Half the laws hold.          *)
(*                                                                         *)
(* How to break it: raise Span by one (Asymmetric fails at distance Half), *)
(* or leave out those pairs and let three XIDs stand a third of the ring   *)
(* apart (Transitive fails); or put a wrong definition of MCXid in the     *)
(* place of the right one.                                                 *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANTS
    Span,           \* the three XIDs lie in one arc so long
    WithOpposite,   \* may two of them stand at distance Half?
    Epochs          \* what the next FullTransactionId's epoch may be; above 0

VARIABLES
    x,
    y,
    z

vars == <<x, y, z>>

Opposite(a, b) == IsNormal(a) /\ IsNormal(b) /\ (a - b) % Size = Half

Init ==
    /\ x \in XIDs
    /\ y \in XIDs
    /\ z \in XIDs
    /\ InOneArc({x, y, z}, Span)
    /\ ~WithOpposite => ~Opposite(x, y) /\ ~Opposite(y, z) /\ ~Opposite(x, z)

Stay == UNCHANGED vars
Next == Stay
Spec == Init /\ [][Next]_vars

TypeOK == {x, y, z} \subseteq 0..(Size - 1)

-----------------------------------------------------------------------------
(* A strict total order. *)

Irreflexive == ~Precedes(x, x)
Asymmetric  == ~(Precedes(x, y) /\ Precedes(y, x))
Transitive  == Precedes(x, y) /\ Precedes(y, z) => Precedes(x, z)
Total       == x = y \/ Precedes(x, y) \/ Precedes(y, x)

(* The other comparisons are what their names say. *)
FollowsIsConverse == Follows(x, y) <=> Precedes(y, x)
OrEqualsIsNegation ==
    /\ PrecedesOrEquals(x, y) <=> ~Follows(x, y)
    /\ FollowsOrEquals(x, y) <=> ~Precedes(x, y)

PermanentFirst == ~IsNormal(x) /\ IsNormal(y) => Precedes(x, y) /\ ~Precedes(y, x)

(* Advance and Retreat stay on the normal XIDs, undo each other, and move  *)
(* forward.                                                                *)
AdvanceMovesOn ==
    IsNormal(x) => /\ IsNormal(Advance(x)) /\ IsNormal(Retreat(x))
                   /\ Retreat(Advance(x)) = x /\ Advance(Retreat(x)) = x
                   /\ Precedes(x, Advance(x)) /\ Precedes(Retreat(x), x)

(* Inside one arc of length Half the 64-bit order and the ring's agree:    *)
(* take z as the next XID of some epoch, and x and y as at most Half       *)
(* behind it.                                                              *)
NotAfter(a) == ~IsNormal(a) \/ InArc(z, a, Half + 1)
FullAgrees ==
    \A epoch \in Epochs :
        IsNormal(z) /\ NotAfter(x) /\ NotAfter(y) =>
            LET next == Full(epoch, z) IN
            /\ FullPrecedes(Widen(x, next), Widen(y, next)) <=> Precedes(x, y)
            /\ XidOf(Widen(x, next)) = x
            /\ Widen(x, next) <= next
            /\ IsNormal(x) => next - Widen(x, next) <= Half

(* FullAdvance is Advance in 64 bits: it moves on by less than a ring, to  *)
(* the XID that Advance says.                                              *)
FullAdvanceIsAdvance ==
    \A epoch \in Epochs :
        IsNormal(z) =>
            LET full == Full(epoch, z) IN
            /\ XidOf(FullAdvance(full)) = Advance(z)
            /\ FullPrecedes(full, FullAdvance(full))
            /\ FullAdvance(full) - full < Size

(* 64-bit XIDs in order, cut down to 32 bits: the raw order is the same    *)
(* but for a rotation.  Three in a row show it: going round, the raw value *)
(* falls at most once.                                                     *)
Falls(a, b) == IF a > b THEN 1 ELSE 0
RawOrderIsRotated ==
    IsNormal(x) /\ IsNormal(y) /\ IsNormal(z) /\ Precedes(x, y) /\ Precedes(y, z) =>
        Falls(x, y) + Falls(y, z) + Falls(z, x) = 1

=============================================================================

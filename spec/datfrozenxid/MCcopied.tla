\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE MCcopied ------------------------------
(* copied with bounds, and with steps left out on purpose.  The ring has   *)
(* 16 MultiXactIds; those in play are 13 to 15 and 1 to 4, across the    *)
(* wrap.                                                                   *)
EXTENDS copied

CONSTANT LastMulti  \* the next MultiXactId does not go beyond it

FewMultis == next # LastMulti

a == "a"
n == "n"
t == "t"
b == "b"
Apart == [w1 |-> a, w2 |-> t]
ThreeApart == [w1 |-> a, w2 |-> t, w3 |-> b]

(* A scan of pg_database during which a message came is done again. *)
ScansAgain(w) ==
    /\ pc[w] = "scan" /\ my[w].todo = {}
    /\ IF my[w].message
       THEN my' = [my EXCEPT ![w].todo = ToScan(w), ![w].message = FALSE] /\ UNCHANGED pc
       ELSE Goto(w, "truncate") /\ UNCHANGED my
    /\ UNCHANGED <<next, oldest, row, limit, segments>>

-----------------------------------------------------------------------------
(* Steps that are left out, or go wrong. *)

\* A running transaction may hold the last MultiXactId, which stays.
FreezesLess(w) == \E x \in {next, Retreat(next)} :
    /\ pc[w] = "idle" /\ ~Precedes(x, oldest[DbOf[w]])
    /\ Goto(w, "frozen")
    /\ oldest' = [oldest EXCEPT ![DbOf[w]] = x]
    /\ my' = [my EXCEPT ![w].new = x]
    /\ UNCHANGED <<next, row, limit, segments>>
\* pg_database is not scanned.
ScansNothing(w) == {}
\* datminmxid is raised to the next one, after others have been assigned.
RaisedToNext(w) == next
\* The number 0, which is no MultiXactId, is not skipped.
WithZero == (next + 1) % Size

\* Before 6db99283 segments were compared by where they begin, as if half a ring ended between two of them.
ByBeginnings(s, u) == Behind(s * PerSegment, u * PerSegment)

\* CREATE DATABASE does not wait until nobody is in the template.
NeverWaits == FALSE

(* States that must be reachable. *)
NeverTruncates == Segment(Retreat(First)) \in segments
NeverHalfARing ==
    ~\E w \in Workers : pc[w] = "truncate" /\ Precedes(limit, my[w].new)
                        /\ \E d \in Present : ByBeginnings(Segment(oldest[d]), Segment(Retreat(my[w].new)))
NeverAgain == \A w \in Workers : ~(pc[w] = "scan" /\ my[w].todo = {} /\ my[w].message)
=============================================================================

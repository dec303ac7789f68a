\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE MCknown_assigned --------------------------
(***************************************************************************)
(* Bounds for known_assigned, broken definitions, states that must be      *)
(* reachable.                                                              *)
(***************************************************************************)
EXTENDS known_assigned

CONSTANT MaxXid     \* nextXid goes no further

Bounds == nextXid' <= MaxXid /\ (adding' # <<>> => adding'[Len(adding')] < MaxXid)

-----------------------------------------------------------------------------
(* Mutants *)
KeepsGaps(a, v, t, h) == [i \in 1..(h - t) |-> a[t + i - 1]]
TurnedRound(a, v, t, h) == [i \in 1..(h - t) |-> a[h - i]]
TailStays(v, t, h)    == t
IdleNeedsNoGap(reason, t, h, c) == IF reason = "STARTUP_PROCESS_IDLE" THEN long_ago ELSE reason = "PRUNE" /\ Gap(t, h, c)

SameMiddle(middle) == middle

(* States that must be reachable *)
NeverForSpace == last_reason # "NO_SPACE"
NeverAtEnd    == last_reason # "TRANSACTION_END"
NeverForPrune == last_reason # "PRUNE"
NeverForIdle  == last_reason # "STARTUP_PROCESS_IDLE"
NeverSearchedWhileAdding ==
    ~(\E r \in Readers : reader[r].does = "search" /\ reader[r].last < head - 1 /\ reader[r].first <= reader[r].last
                         /\ xids[tail] > xids[head - 1])
=============================================================================

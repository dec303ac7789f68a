\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE MCknown_assigned --------------------------
(***************************************************************************)
(* Bounds for known_assigned, broken definitions, states that must be      *)
(* reachable.                                                              *)
(***************************************************************************)
EXTENDS known_assigned

CONSTANT MaxXid     \* nextXid goes no further

Bounds == nextXid' <= MaxXid /\ (adding' # <<>> => adding'[Len(adding')] < MaxXid)

\* A transaction of one XID or, as upstream, of two in a row.
EndsTree(x) == \E tree \in {{x}, {x, FullAdvance(x)} \cap running} :
    /\ Idle /\ Unlocked
    /\ running' = running \ tree
    /\ LET gone == {IndexOf(y) : y \in tree}
           v == [i \in Slots |-> valid[i] /\ i \notin gone]
           t == IF tail \in gone THEN TailAfter(v, tail, head) ELSE tail
           h == IF tail \in gone THEN HeadAfter(v, tail, head) ELSE head
           c == count - Cardinality(tree)
       IN  count' = c /\ MaybeCompress("TRANSACTION_END", xids, v, t, h, c)
    /\ UNCHANGED <<nextXid, adding, written, reader>>

-----------------------------------------------------------------------------
(* Mutants *)
KeepsGaps(a, v, t, h) == [i \in 1..(h - t) |-> a[t + i - 1]]
TurnedRound(a, v, t, h) == [i \in 1..(h - t) |-> a[h - i]]
TailStays(v, t, h)    == t
IdleNeedsNoGap(reason, t, h, c) == IF reason = "STARTUP_PROCESS_IDLE" THEN long_ago ELSE reason = "PRUNE" /\ Gap(t, h, c)

(* Rules that are almost right: see Worthwhile *)
Rules(reason, t, h, c, atEnd, idle) ==
    Gap(t, h, c) /\ CASE reason = "TRANSACTION_END" -> atEnd [] reason = "PRUNE" -> TRUE
                       [] reason = "STARTUP_PROCESS_IDLE" -> idle
IdleAtOnce(reason, t, h, c)    == Rules(reason, t, h, c, ends = 0 /\ h - t >= 2 * c, TRUE)
PruneAtHalf(reason, t, h, c) ==
    IF reason = "PRUNE" THEN Gap(t, h, c) /\ h - t >= 2 * c
    ELSE Rules(reason, t, h, c, ends = 0 /\ h - t >= 2 * c, long_ago)
\* Before 8242752f the span also had to reach a least length, which max_connections set, and idleness gave no reason.
OnlyLongSpans(reason, t, h, c) ==
    reason # "STARTUP_PROCESS_IDLE" /\ h - t >= Capacity /\ h - t >= 2 * c

SameMiddle(middle) == middle

(* States that must be reachable *)
NeverTwo      == Len(adding) < 2
NeverForSpace == ~(history.reason = "NO_SPACE" /\ history.done)
NeverAtEnd    == ~(history.reason = "TRANSACTION_END" /\ history.done)
NeverForPrune == ~(history.reason = "PRUNE" /\ history.done)
NeverForIdle  == ~(history.reason = "STARTUP_PROCESS_IDLE" /\ history.done)
NeverSearchedWhileAdding ==
    ~(\E r \in Readers : reader[r].does = "search" /\ reader[r].last < head - 1 /\ reader[r].first <= reader[r].last
                         /\ xids[tail] > xids[head - 1])
\* The ends of transactions are counted on and on.
CountsOn(reason, t, h, c) == IF reason = "TRANSACTION_END" /\ Gap(t, h, c) THEN ends + 1 ELSE ends
\* Space is made while there is some.
CompressesEarly(k) ==
    /\ Idle /\ Unlocked
    /\ head + k >= Capacity + 1
    /\ count + k <= Capacity
    /\ Store(Compressed(xids, valid, tail, head))
    /\ long_ago' = FALSE
    /\ Remember("NO_SPACE", TRUE)
    /\ UNCHANGED <<nextXid, running, count, adding, written, ends, reader>>
=============================================================================

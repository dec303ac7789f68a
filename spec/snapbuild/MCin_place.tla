\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCin_place -----------------------------
(***************************************************************************)
(* All inputs within bounds, for in_place.                                 *)
(***************************************************************************)
EXTENDS in_place

CONSTANTS MaxPurge, MaxMerge, MaxBatch

RECURSIVE Choose(_, _)
Choose(S, k) == IF k = 0 THEN {{}} ELSE LET less == Choose(S, k - 1) IN less \cup {T \cup {x} : T \in less, x \in S}

MCInputs ==
    [task : {"purge"}, xs : UNION {[1..k -> Normals] : k \in 0..MaxPurge}, xmin : Normals, batch : {<<>>}]
    \cup [task : {"merge"}, xs : {SortUnique(S) : S \in Choose(Normals, MaxMerge)}, xmin : {Invalid},
          batch : {SortUnique(S) : S \in Choose(Normals, MaxBatch)}]

-----------------------------------------------------------------------------
(* Mutants *)
OnePlaceUp    == IF low + 2 <= n THEN low + 2 ELSE low + 1
PlaceTooLow   == IF high - 2 >= 1 THEN high - 2 ELSE 1
FilterEquals(xs, xmin) == SelectSeq(xs, LAMBDA x : ~PrecedesOrEquals(x, xmin))
MergeWithout(xs, b) == xs

TakesOn == pc = "merge" /\ taken' = taken - 1 /\ UNCHANGED <<input, memory, pc, unread, low, high>>

ClosesOn ==
    /\ pc = "close" /\ high <= n + m
    /\ memory' = [memory EXCEPT ![low + 1] = memory[high]]
    /\ low' = low + 1 /\ high' = high + 1
    /\ UNCHANGED <<input, pc, unread, taken>>

EndsApart ==
    /\ pc = "close" /\ ~(low + 1 < high /\ high <= n + m)
    /\ pc' = "done"
    /\ low' = low + (n + m + 1 - high)
    /\ UNCHANGED <<input, memory, unread, taken, high>>

TakesFirst == CHOOSE i \in unread : \A j \in unread : i <= j
Unfair     == Init /\ [][Next]_vars

(* States that must be reachable *)
NeverGap      == ~(pc = "close" /\ low > 0 /\ low + 2 < high /\ high <= n + m)
NeverSlides   == ~(pc = "purge" /\ low > 1 /\ unread # {} /\ First > low + 2)
=============================================================================

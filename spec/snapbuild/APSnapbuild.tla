\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE APSnapbuild -----------------------------
(***************************************************************************)
(* The two algorithms that overwrite their input, on the true 2^32, for    *)
(* Apalache: purge of six XIDs, in any order, by any xmin; merge of two    *)
(* XIDs into six, from the back, and closing the holes that duplicates     *)
(* leave.  The invariants are inductive: they hold before the first write  *)
(* (base), and each step keeps them (step), from any state that they admit,*)
(* reachable or not.  When all is read, they imply that the result is      *)
(* right.                                                                  *)
(*                                                                         *)
(* The merge is that of merge_batch32 (csrc/snapbuild/merge.h), which moves*)
(* whole runs; here it is one XID at a time (there and here XIDs start at  *)
(* 0 and at 1):                                                            *)
(*   here                          there                                   *)
(*   left, take                    top, j + 1                              *)
(*   an XID of the array goes to   move_run(a + at + j + 1, a + at,        *)
(*     left + take                   top - at)                             *)
(*   one of the batch to           a[at + j] = x                           *)
(*     left + take                                                         *)
(*   of equals the array's goes    the run begins with it; batch[m -       *)
(*     there, and a hole is left     ++holes] = at + j, the hole           *)
(*     below it                                                            *)
(*   CloseBegin: to is the lowest  to = batch[m - holes]                   *)
(*     hole, from one above it                                             *)
(*   CloseStep: move down, upwards move_run(a + to, a + from, end - from), *)
(*     over the other holes          the next hole's from                  *)
(*                                                                         *)
(* How to break it: the runs APSnapbuild_mutant_* write a survivor, or XID *)
(* that is moved down, one place further up (Up = 1), the merged one place *)
(* too low (Low = 1), begin to close one place above the lowest hole, or   *)
(* take one XID too many for the result (Far = 1).                         *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    Up,         \* an XID that stays, or moves down, is written so many places too high: 0
    \* @type: Int;
    Low,        \* a merged XID is written so many places too low: 0
    \* @type: Int;
    Far         \* closing begins, and the result ends, so many places too high: 0

VARIABLES
    \* @type: Int -> Int;
    before,     \* the array, as it was
    \* @type: Int -> Int;
    memory,     \* and as it is
    \* @type: Int;
    xmin,
    \* @type: Int;
    next,       \* purge: memory[next..6] is yet to be read
    \* @type: Int;
    kept,       \* purge: memory[1..kept] stands
    \* @type: Int -> Int;
    batch,      \* merge: what is to be merged
    \* @type: Int;
    left,       \* merge: memory[1..left] is yet to be read
    \* @type: Int;
    take,       \* merge: batch[1..take] too
    \* @type: Int -> Bool;
    holes,      \* merge: the places above left + take where nothing stands
    \* @type: Int;
    to,         \* closing: memory[1..to - 1] stands; 0 before
    \* @type: Int;
    from        \* closing: memory[from..8] is yet to be moved

Ring == 4294967296
Half == 2147483648
(* (int32) (a - b) < 0 of normal XIDs, without the remainder operator, which is slow in solvers *)
Precedes(a, b) == a - b >= Half \/ (a - b < 0 /\ a - b >= -Half)

Places == 1..6
Wide   == 1..8

Normal(x) == 3 <= x /\ x < Ring

Inputs ==
    /\ before \in [Wide -> Int] /\ \A i \in Wide : Normal(before[i])
    /\ memory \in [Wide -> Int]
    /\ batch \in [1..2 -> Int] /\ Normal(batch[1]) /\ Normal(batch[2])
    /\ xmin \in Int /\ Normal(xmin)
    /\ next \in Int /\ kept \in Int /\ left \in Int /\ take \in Int
    /\ holes \in [Wide -> BOOLEAN] /\ to \in Int /\ from \in Int

Merging == UNCHANGED <<before, xmin, next, kept, batch>>
Purging == UNCHANGED <<before, xmin, batch, left, take, holes, to, from>>

NoHoles    == \A i \in Wide : ~holes[i]
NotMerging == left = 0 /\ take = 0 /\ to = 0 /\ from = 0 /\ NoHoles

-----------------------------------------------------------------------------
InitPurge ==
    /\ Inputs
    /\ memory = before
    /\ next = 1 /\ kept = 0 /\ NotMerging

Survives(i) == ~Precedes(before[i], xmin)
One(i, j)   == IF j < i /\ Survives(j) THEN 1 ELSE 0
Rank(i)     == One(i, 1) + One(i, 2) + One(i, 3) + One(i, 4) + One(i, 5) + One(i, 6)

NextPurge ==
    /\ next <= 6
    /\ next' = next + 1
    /\ IF Precedes(memory[next], xmin) THEN UNCHANGED <<memory, kept>>
       ELSE memory' = [memory EXCEPT ![kept + 1 + Up] = memory[next]] /\ kept' = kept + 1
    /\ Purging

PurgeInvariant ==
    /\ 1 <= next /\ next <= 7
    /\ kept = Rank(next)
    /\ \A i \in Places : i >= next => memory[i] = before[i]
    /\ \A i \in Places : i < next /\ Survives(i) => memory[Rank(i) + 1] = before[i]

StartPurge == Inputs /\ NotMerging /\ PurgeInvariant

-----------------------------------------------------------------------------
SortedInputs ==
    /\ \A i \in Places : i < 6 => before[i] < before[i + 1]
    /\ batch[1] < batch[2]

InitMerge ==
    /\ Inputs
    /\ SortedInputs
    /\ memory = before
    /\ next = 1 /\ kept = 0 /\ left = 6 /\ take = 2 /\ to = 0 /\ from = 0 /\ NoHoles

Place == left + take - Low

MergeStep ==
    /\ to = 0 /\ take > 0
    /\ IF left > 0 /\ memory[left] >= batch[take]
       THEN /\ memory' = [memory EXCEPT ![Place] = memory[left]]
            /\ left' = left - 1
            /\ IF memory[left] = batch[take]
               THEN holes' = [holes EXCEPT ![left + take - 1] = TRUE] /\ take' = take - 1
               ELSE UNCHANGED <<holes, take>>
       ELSE /\ memory' = [memory EXCEPT ![Place] = batch[take]]
            /\ take' = take - 1
            /\ UNCHANGED <<left, holes>>
    /\ UNCHANGED <<to, from>>

CloseBegin ==
    /\ to = 0 /\ take = 0
    /\ \/ NoHoles /\ to' = 9 /\ from' = 9
       \/ \E i \in Wide :
             /\ holes[i] /\ \A j \in Wide : j < i => ~holes[j]
             /\ to' = i + Far /\ from' = i + 1
    /\ UNCHANGED <<memory, left, take, holes>>

CloseStep ==
    /\ to > 0 /\ from <= 8
    /\ from' = from + 1
    /\ IF holes[from] THEN UNCHANGED <<memory, to>>
       ELSE memory' = [memory EXCEPT ![to + Up] = memory[from]] /\ to' = to + 1
    /\ UNCHANGED <<left, take, holes>>

NextMerge == (MergeStep \/ CloseBegin \/ CloseStep) /\ Merging

(* The place of each XID while merging: above those of the other array that are not larger *)
Upto(i, k)  == IF batch[k] <= before[i] THEN 1 ELSE 0
Below(k, i) == IF before[i] < batch[k] THEN 1 ELSE 0
Of(i)       == i + Upto(i, 1) + Upto(i, 2)
OfBatch(k)  == k + Below(k, 1) + Below(k, 2) + Below(k, 3) + Below(k, 4) + Below(k, 5) + Below(k, 6)
Twice(k)    == \E i \in Places : before[i] = batch[k]

(* Its place after the holes are closed: lower by the number of holes below it *)
Hole(place, i) == IF i < place /\ holes[i] THEN 1 ELSE 0
Holes(place) == Hole(place, 1) + Hole(place, 2) + Hole(place, 3) + Hole(place, 4)
                + Hole(place, 5) + Hole(place, 6) + Hole(place, 7) + Hole(place, 8)
Closed(place) == IF place < from THEN place - Holes(place) ELSE place

MergeInvariant ==
    /\ SortedInputs
    /\ 0 <= left /\ left <= 6 /\ 0 <= take /\ take <= 2
    /\ \A i \in Wide : holes[i] <=> \E k \in 1..2 : take < k /\ Twice(k) /\ i = OfBatch(k)
    \* each merged XID is larger than each XID that is not merged yet
    /\ \A k \in 1..2 : take < k /\ left > 0 => before[left] < batch[k]
    /\ \A i \in Places : left < i /\ take > 0 => batch[take] < before[i]
    /\ \/ to = 0 /\ from = 0
       \/ take = 0 /\ 1 <= from /\ from <= 9 /\ to = from - Holes(from)
    /\ \A i \in Places : memory[IF left < i THEN Closed(Of(i)) ELSE i] = before[i]
    /\ \A k \in 1..2 : take < k /\ ~Twice(k) => memory[Closed(OfBatch(k))] = batch[k]

(* At the end: the union, sorted, without duplicates *)
Result(i) == i < to + Far
MergeRight ==
    from = 9 =>
        /\ \A i \in 1..7 : Result(i + 1) => memory[i] < memory[i + 1]
        /\ \A i \in Places : \E j \in Wide : Result(j) /\ memory[j] = before[i]
        /\ \A k \in 1..2 : \E j \in Wide : Result(j) /\ memory[j] = batch[k]
        /\ \A j \in Wide : Result(j) => \/ \E i \in Places : memory[j] = before[i]
                                       \/ \E k \in 1..2 : memory[j] = batch[k]

Started    == Inputs /\ next = 1 /\ kept = 0 /\ MergeInvariant
StartMerge == Started /\ to = 0
StartClose == Started /\ to > 0
StartEnd   == Started /\ from = 9
=============================================================================

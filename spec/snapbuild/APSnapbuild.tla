\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE APSnapbuild -----------------------------
(***************************************************************************)
(* in_place on the true 2^32, for Apalache: purge of six XIDs, in any      *)
(* order, by any xmin; merge of two XIDs into six, from the back.  The     *)
(* invariants are inductive: they hold before the first write (base), and  *)
(* a step keeps them (step) from any state that they admit, reachable or   *)
(* not.  What they say when all is read is that the result is right.       *)
(* Closing the merge's gap (memmove) is left to in_place.                  *)
(*                                                                         *)
(* How to break it: APSnapbuild_mutant_*.cfg write a survivor one place    *)
(* further up (Up = 1), or the merged one place too low (Low = 1).         *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    Up,         \* a survivor is written so many places too high: 0
    \* @type: Int;
    Low         \* what is merged is written so many places too low: 0

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
    \* @type: Int;
    high        \* merge: memory[high..8] stands

Ring == 4294967296
Half == 2147483648
(* (int32) (a - b) < 0 of normal XIDs, without the remainder, which solvers are slow at *)
Precedes(a, b) == a - b >= Half \/ (a - b < 0 /\ a - b >= -Half)

Places == 1..6
Wide   == 1..8

Normal(x) == 3 <= x /\ x < Ring

Inputs ==
    /\ before \in [Wide -> Int] /\ \A i \in Wide : Normal(before[i])
    /\ memory \in [Wide -> Int]
    /\ batch \in [1..2 -> Int] /\ Normal(batch[1]) /\ Normal(batch[2])
    /\ xmin \in Int /\ Normal(xmin)
    /\ next \in Int /\ kept \in Int /\ left \in Int /\ take \in Int /\ high \in Int

Merging == UNCHANGED <<before, xmin, next, kept, batch>>
Purging == UNCHANGED <<before, xmin, batch, left, take, high>>

-----------------------------------------------------------------------------
InitPurge ==
    /\ Inputs
    /\ memory = before
    /\ next = 1 /\ kept = 0 /\ left = 0 /\ take = 0 /\ high = 9

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

StartPurge == Inputs /\ left = 0 /\ take = 0 /\ high = 9 /\ PurgeInvariant

-----------------------------------------------------------------------------
SortedInputs ==
    /\ \A i \in Places : i < 6 => before[i] < before[i + 1]
    /\ batch[1] < batch[2]

InitMerge ==
    /\ Inputs
    /\ SortedInputs
    /\ memory = before
    /\ next = 1 /\ kept = 0 /\ left = 6 /\ take = 2 /\ high = 9

NextMerge ==
    /\ take > 0
    /\ high' = high - 1
    /\ IF left = 0 \/ memory[left] <= batch[take]
       THEN /\ memory' = [memory EXCEPT ![high - 1 - Low] = batch[take]]
            /\ take' = take - 1
            /\ left' = IF left > 0 /\ memory[left] = batch[take] THEN left - 1 ELSE left
       ELSE /\ memory' = [memory EXCEPT ![high - 1 - Low] = memory[left]]
            /\ left' = left - 1
            /\ UNCHANGED take
    /\ Merging

MergeInvariant ==
    /\ SortedInputs
    /\ 0 <= left /\ left <= 6 /\ 0 <= take /\ take <= 2
    /\ left + take < high /\ high <= 9
    /\ \A i \in Places : i <= left => memory[i] = before[i]
    \* what stands is sorted without duplicates, ...
    /\ \A i \in Wide : high <= i /\ i < 8 => memory[i] < memory[i + 1]
    \* ... beyond what is not merged, ...
    /\ \A i \in Wide : high <= i => /\ (left > 0 => before[left] < memory[i])
                                    /\ (take > 0 => batch[take] < memory[i])
    \* ... and is just what was merged.
    /\ \A i \in Places : left < i => \E j \in Wide : high <= j /\ memory[j] = before[i]
    /\ \A i \in 1..2 : take < i => \E j \in Wide : high <= j /\ memory[j] = batch[i]
    /\ \A j \in Wide : high <= j =>
          \/ \E i \in Places : left < i /\ memory[j] = before[i]
          \/ \E i \in 1..2 : take < i /\ memory[j] = batch[i]

StartMerge == Inputs /\ next = 1 /\ kept = 0 /\ MergeInvariant
=============================================================================

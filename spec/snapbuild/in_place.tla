\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE in_place ------------------------------
(***************************************************************************)
(* The two algorithms of xid_arrays that overwrite their own input, one    *)
(* array write a step: purge in place (the XIDs that stay move down) and   *)
(* the merge of a sorted batch from the back.  At every step no entry may  *)
(* be overwritten before it has been read (NothingLost).  At the end the   *)
(* array must hold the result of the function of xid_arrays.               *)
(*                                                                         *)
(* The merge writes the largest XID of both at the back of the space that  *)
(* both need, then the next one below it, and so on.  Of equal ones one    *)
(* stays.  This leaves a gap between the XIDs that are not read yet and    *)
(* the XIDs that are written.  When the batch is used up, the written XIDs *)
(* move down, in ascending order, to close the gap (memmove).              *)
(*                                                                         *)
(* Simplified: galloping copies many entries at once; here it is one.      *)
(*                                                                         *)
(* How to break it: write an XID that stays one place too high, or merge   *)
(* from the front (the mutants): NothingLost fails at the first such write.*)
(***************************************************************************)
EXTENDS xid_arrays

CONSTANT Inputs     \* of [task |-> "purge" or "merge", xs |-> array, xmin |-> XID, batch |-> sorted array]

VARIABLES
    input,
    memory,         \* the array, long enough for both
    pc,             \* "purge", "merge", "close" or "done"
    unread,         \* indexes of xs that are yet to be read
    taken,          \* batch[1..taken] is yet to be merged
    low, high       \* what stands is memory[1..low], or memory[high..end] in the merge

vars == <<input, memory, pc, unread, taken, low, high>>

n == Len(input.xs)
m == Len(input.batch)

\* INNER input, pc, unread, taken
\* NOTE if input.task = "purge" | The array is {input.xs}; all before {input.xmin} are to go
\* NOTE if input.task = "merge" | The array is {input.xs}; {input.batch} are to be inserted
Init ==
    /\ input \in Inputs
    /\ memory = [i \in 1..(n + m) |-> IF i <= n THEN input.xs[i] ELSE Invalid]
    /\ pc = input.task
    /\ unread = 1..n
    /\ taken = m
    /\ low = 0
    /\ high = n + m + 1

First == CHOOSE i \in unread : \A j \in unread : i <= j
Last  == CHOOSE i \in unread : \A j \in unread : i >= j

(* The place that an XID that stays moves to *)
Target == low + 1

\* STEP if low' = low | the kernel | reads place {First}: XID {memory[First]} goes
\* STEP | the kernel | reads place {First}: XID {memory[First]} stays, and moves to place {Target}
PurgeStep ==
    /\ pc = "purge"
    /\ unread # {}
    /\ unread' = unread \ {First}
    /\ IF Precedes(memory[First], input.xmin) THEN UNCHANGED <<memory, low>>
       ELSE memory' = [memory EXCEPT ![Target] = memory[First]] /\ low' = low + 1
    /\ UNCHANGED <<input, pc, taken, high>>

\* STEP | the kernel | has read all. The result is the first {low}: {SubSeq(memory, 1, low)}
PurgeEnd ==
    /\ pc = "purge" /\ unread = {}
    /\ pc' = "done"
    /\ UNCHANGED <<input, memory, unread, taken, low, high>>

(* The next place from the back *)
Place == high - 1

\* STEP if taken \notin 1..m | the kernel | takes on, though nothing of the batch is left
\* STEP if taken \in 1..m | the kernel | takes {input.batch[taken]} from the batch, and writes it from behind, to place {Place}
TakeBatch ==
    /\ pc = "merge" /\ taken > 0
    /\ IF unread = {} THEN TRUE ELSE memory[Last] <= input.batch[taken]
    /\ memory' = [memory EXCEPT ![Place] = input.batch[taken]]
    /\ high' = high - 1
    /\ taken' = taken - 1
    /\ unread' = IF unread # {} /\ memory[Last] = input.batch[taken] THEN unread \ {Last} ELSE unread
    /\ UNCHANGED <<input, pc, low>>

\* STEP | the kernel | moves {memory[Last]} from place {Last} to place {Place}
TakeArray ==
    /\ pc = "merge" /\ taken > 0
    /\ unread # {} /\ memory[Last] > input.batch[taken]
    /\ memory' = [memory EXCEPT ![Place] = memory[Last]]
    /\ high' = high - 1
    /\ unread' = unread \ {Last}
    /\ UNCHANGED <<input, pc, taken, low>>

(* The batch is used up: the XIDs that are not read stay in place. *)
\* STEP | the kernel | has merged the batch; the first {low'} stay where they are
MergeEnd ==
    /\ pc = "merge" /\ taken = 0
    /\ pc' = "close"
    /\ low' = Cardinality(unread)
    /\ unread' = {}
    /\ UNCHANGED <<input, memory, taken, high>>

\* STEP | the kernel | closes the gap: moves {memory[high]} from place {high} to place {low + 1}
CloseGap ==
    /\ pc = "close"
    /\ low + 1 < high /\ high <= n + m
    /\ memory' = [memory EXCEPT ![low + 1] = memory[high]]
    /\ low' = low + 1
    /\ high' = high + 1
    /\ UNCHANGED <<input, pc, unread, taken>>

\* STEP | the kernel | is done: {SubSeq(memory', 1, low')}
CloseEnd ==
    /\ pc = "close" /\ ~(low + 1 < high /\ high <= n + m)
    /\ pc' = "done"
    /\ low' = low + (n + m + 1 - high)
    /\ high' = n + m + 1
    /\ UNCHANGED <<input, memory, unread, taken>>

Next == PurgeStep \/ PurgeEnd \/ TakeBatch \/ TakeArray \/ MergeEnd \/ CloseGap \/ CloseEnd

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

-----------------------------------------------------------------------------
TypeOK ==
    /\ memory \in [1..(n + m) -> Range(input.xs) \cup Range(input.batch) \cup {Invalid}]
    /\ pc \in {"purge", "merge", "close", "done"}
    /\ unread \subseteq 1..n /\ taken \in 0..m
    /\ low \in 0..(n + m) /\ high \in 1..(n + m + 1)

NothingLost == \A i \in unread : memory[i] = input.xs[i]

(* The written XIDs never overlap the XIDs that are not read. *)
Apart == pc = "merge" => \A i \in unread : i < high

Result  == SubSeq(memory, 1, low)
\* BROKEN | The result is {Result}
Correct ==
    pc = "done" => Result = IF input.task = "purge" THEN Filter(input.xs, input.xmin)
                            ELSE SortUnique(Range(input.xs) \cup Range(input.batch))

(* The function of xid_arrays that the model refines has the same result. *)
AsFunction ==
    pc = "done" => Result = IF input.task = "purge" THEN PurgeInPlace(input.xs, input.xmin)
                            ELSE InsertMerge(input.xs, input.batch)

(* At the end nothing lies apart from the result. *)
NothingApart == pc = "done" => high = n + m + 1

(* An XID that is written moves down, and never onto itself. *)
ClosesGaps == [][pc = "close" /\ high' = high + 1 /\ pc' = pc => low' < high]_vars

Ends == <>(pc = "done")

=============================================================================

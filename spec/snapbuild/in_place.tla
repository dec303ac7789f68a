\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE in_place ------------------------------
(***************************************************************************)
(* The two algorithms of xid_arrays that overwrite their own input, one    *)
(* array write a step: purge in place (survivors slide down) and the merge *)
(* of a sorted batch from the back.  What must hold at every step is that  *)
(* no entry is overwritten before it has been read (NothingLost), and at   *)
(* the end that the array holds what the function of xid_arrays says.      *)
(*                                                                         *)
(* The merge puts the largest of both at the back of the space that both   *)
(* need, and so on down; of equals one stays, which leaves a gap between   *)
(* what is not yet read and what stands.  When the batch is used up the    *)
(* gap is closed by moving down what stands, in ascending order (memmove). *)
(*                                                                         *)
(* Simplified: galloping copies many entries at once; here it is one.      *)
(*                                                                         *)
(* How to break it: write survivors one place further up, or merge from    *)
(* the front (the mutants): NothingLost fails at the first such write.     *)
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

(* Where a survivor goes *)
Target == low + 1

PurgeStep ==
    /\ pc = "purge"
    /\ unread # {}
    /\ unread' = unread \ {First}
    /\ IF Precedes(memory[First], input.xmin) THEN UNCHANGED <<memory, low>>
       ELSE memory' = [memory EXCEPT ![Target] = memory[First]] /\ low' = low + 1
    /\ UNCHANGED <<input, pc, taken, high>>

PurgeEnd ==
    /\ pc = "purge" /\ unread = {}
    /\ pc' = "done"
    /\ UNCHANGED <<input, memory, unread, taken, low, high>>

(* The next place from the back *)
Place == high - 1

TakeBatch ==
    /\ pc = "merge" /\ taken > 0
    /\ IF unread = {} THEN TRUE ELSE memory[Last] <= input.batch[taken]
    /\ memory' = [memory EXCEPT ![Place] = input.batch[taken]]
    /\ high' = high - 1
    /\ taken' = taken - 1
    /\ unread' = IF unread # {} /\ memory[Last] = input.batch[taken] THEN unread \ {Last} ELSE unread
    /\ UNCHANGED <<input, pc, low>>

TakeArray ==
    /\ pc = "merge" /\ taken > 0
    /\ unread # {} /\ memory[Last] > input.batch[taken]
    /\ memory' = [memory EXCEPT ![Place] = memory[Last]]
    /\ high' = high - 1
    /\ unread' = unread \ {Last}
    /\ UNCHANGED <<input, pc, taken, low>>

(* The batch is used up: what is unread stands where it is. *)
MergeEnd ==
    /\ pc = "merge" /\ taken = 0
    /\ pc' = "close"
    /\ low' = Cardinality(unread)
    /\ unread' = {}
    /\ UNCHANGED <<input, memory, taken, high>>

CloseGap ==
    /\ pc = "close"
    /\ low + 1 < high /\ high <= n + m
    /\ memory' = [memory EXCEPT ![low + 1] = memory[high]]
    /\ low' = low + 1
    /\ high' = high + 1
    /\ UNCHANGED <<input, pc, unread, taken>>

CloseEnd ==
    /\ pc = "close" /\ ~(low + 1 < high /\ high <= n + m)
    /\ pc' = "done"
    /\ low' = low + (n + m + 1 - high)
    /\ high' = n + m + 1
    /\ UNCHANGED <<input, memory, unread, taken>>

Next == PurgeStep \/ PurgeEnd \/ TakeBatch \/ TakeArray \/ MergeEnd \/ CloseGap \/ CloseEnd

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

-----------------------------------------------------------------------------
NothingLost == \A i \in unread : memory[i] = input.xs[i]

(* What stands never runs into what is unread. *)
Apart == pc = "merge" => \A i \in unread : i < high

Result  == SubSeq(memory, 1, low)
Correct ==
    pc = "done" => Result = IF input.task = "purge" THEN Filter(input.xs, input.xmin)
                            ELSE SortUnique(Range(input.xs) \cup Range(input.batch))

(* The function of xid_arrays that the model refines has the same result. *)
AsFunction ==
    pc = "done" => Result = IF input.task = "purge" THEN PurgeInPlace(input.xs, input.xmin)
                            ELSE InsertMerge(input.xs, input.batch)

Ends == <>(pc = "done")

=============================================================================

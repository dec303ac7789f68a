\* SPDX-License-Identifier: PostgreSQL
-------------------------------- MODULE Orders --------------------------------
(* A memory with the orders of C11: relaxed, acquire, release, and plain accesses.                                               *)
(*                                                                                                                              *)
(* Each word has all values that were ever written to it, oldest first. A thread has a view: for each word the oldest value      *)
(* that it may still read. A write that releases gives its thread's view along; a read that acquires takes it over. So a thread  *)
(* has in its view all that happened before (Kang et al., A Promising Semantics, POPL 2017, without its promises).               *)
(*                                                                                                                              *)
(* A plain access must have every write to its word in view: otherwise it races, and C11 says nothing more. An object that a     *)
(* thread may take away is such a word: each access to it counts as a write.                                                     *)
(*                                                                                                                              *)
(* Simplified: writes to a word stand in the order in which they ran, which is all that there is if one thread writes it, or all *)
(* read and write it at once, or hold a lock. There is no sequentially consistent access and no fence, because no kernel has one.*)
EXTENDS Naturals, Sequences
CONSTANTS Threads, Words,
    First   \* [Words -> values]
VARIABLES memory, view,
    raced   \* whether a thread touched a place, and did not see all earlier writes to it

Bottom == [w \in Words |-> 1]
Join(a, b) == [w \in Words |-> IF a[w] >= b[w] THEN a[w] ELSE b[w]]
Newest(w) == Len(memory[w])

MemoryTypeOK ==
    /\ \A w \in Words: memory[w] # <<>> /\ \A i \in DOMAIN memory[w]: memory[w][i].sees[w] <= Newest(w)
    /\ view \in [Threads -> [Words -> Nat]]
    /\ \A t \in Threads, w \in Words: view[t][w] \in 1..Newest(w)
    /\ raced \in BOOLEAN

MemoryInit ==
    /\ memory = [w \in Words |-> <<[value |-> First[w], sees |-> Bottom]>>]
    /\ view = [t \in Threads |-> Bottom]
    /\ raced = FALSE

Acquires(order) == order \in {"acquire", "acq_rel"}
Releases(order) == order \in {"release", "acq_rel"}

\* The view of t after reading value i of w.
Seen(t, w, i, order) ==
    IF Acquires(order) THEN Join(view[t], memory[w][i].sees) ELSE [view[t] EXCEPT ![w] = IF @ >= i THEN @ ELSE i]

\* t reads value i of w.
Load(t, w, i, order) ==
    /\ i \in view[t][w]..Newest(w)
    /\ view' = [view EXCEPT ![t] = Seen(t, w, i, order)]
    /\ UNCHANGED <<memory, raced>>

Put(t, w, value, before, order, also) ==
    LET mine == [before EXCEPT ![w] = Newest(w) + 1]
        sees == IF Releases(order) THEN mine ELSE [Bottom EXCEPT ![w] = Newest(w) + 1]
    IN /\ memory' = [memory EXCEPT ![w] = Append(@, [value |-> value, sees |-> Join(sees, also)])]
       /\ view' = [view EXCEPT ![t] = mine]

Store(t, w, value, order) == Put(t, w, value, view[t], order, Bottom) /\ UNCHANGED raced

\* Reads the newest value of w and writes another in one step; who acquires the new one acquires what the old one gave, too.
Swap(t, w, value, order) ==
    Put(t, w, value, Seen(t, w, Newest(w), order), order, memory[w][Newest(w)].sees) /\ UNCHANGED raced

\* A plain write, and any access to an object that may be taken away.
Touch(t, w, value) ==
    /\ raced' = (raced \/ view[t][w] # Newest(w))
    /\ Put(t, w, value, view[t], "plain", Bottom)

\* A broken memory: a write is not in its own thread's view.
PutUnseen(t, w, value, before, order, also) ==
    /\ memory' = [memory EXCEPT ![w] = Append(@, [value |-> value, sees |-> [Bottom EXCEPT ![w] = Newest(w) + 2]])]
    /\ view' = [view EXCEPT ![t] = before]

Value(w, i) == memory[w][i].value
NewestValue(w) == Value(w, Newest(w))
\* Who touches a place sees all earlier writes to it.
\* NOTE | A write that releases passes on what its thread has seen, to a thread that reads it and acquires. A relaxed
\*        write or read passes nothing on
\* BROKEN | Nothing passed an earlier write to this place on to the thread of the last step. That is a data race, and
\*        C11 promises nothing
\* INNER memory, view
NoRace == ~raced
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE HeadOrders ------------------------------
(* The head of KnownAssignedXids (csrc/snapbuild/known_assigned.c): the startup process appends XIDs while readers, who share   *)
(* ProcArrayLock, go through those below the head. Upstream has barriers in these two places (procarray.c,                      *)
(* KnownAssignedXidsAdd and KnownAssignedXidsGetAndSetXmin).                                                                    *)
(*                                                                                                                              *)
(* | here            | known_assigned.c                               |                                                         *)
(* |-----------------|------------------------------------------------|                                                         *)
(* | Add             | pgq_snapbuild_known_assigned_add: xids, valid  |                                                         *)
(* | Publish, StoreOrder | head_release                               |                                                         *)
(* | LookAt, LoadOrder   | head_acquire                               |                                                         *)
(* | ReadEntry       | a reader's loop                                |                                                         *)
(*                                                                                                                              *)
(* How to break it: make either order relaxed.                                                                                  *)
EXTENDS Orders
CONSTANTS Entries,     \* how many there is space for: three at most
    StoreOrder, LoadOrder
VARIABLES written,     \* entries that the startup process has written
    bound, next        \* of each reader: the head that it has read, and the entry that it reads next

Readers == Threads \ {"startup"}
Entry(k) == <<"first entry", "second entry", "third entry">>[k]
vars == <<memory, view, raced, written, bound, next>>

TypeOK ==
    /\ MemoryTypeOK
    /\ written \in 0..Entries
    /\ bound \in [Readers -> 0..Entries]
    /\ next \in [Readers -> 1..Entries + 1]

Init ==
    /\ MemoryInit
    /\ written = 0
    /\ bound = [r \in Readers |-> 0]
    /\ next = [r \in Readers |-> 1]

\* STEP | startup process -> {Entry(written + 1)} | writes an XID into the {Entry(written + 1)} of KnownAssignedXids
Add ==
    /\ written < Entries
    /\ written = NewestValue("head")
    /\ Touch("startup", Entry(written + 1), "xid")
    /\ written' = written + 1
    /\ UNCHANGED <<bound, next>>

\* STEP | startup process -> the head | sets the head to {written} ({StoreOrder}): readers may read the entries below
Publish ==
    /\ NewestValue("head") < written
    /\ Store("startup", "head", written, StoreOrder)
    /\ UNCHANGED <<written, bound, next>>

\* STEP r \in Readers, i \in 1..Newest("head") if Load(r, "head", i, LoadOrder) /\ bound'[r] = Value("head", i) | {r}
\*        -> the head | reads the head ({LoadOrder}): {Value("head", i)}{IF i < Newest("head") THEN ", which is an old
\*        value" ELSE ""}. It begins with the {Entry(next'[r])}
LookAt(r) ==
    /\ next[r] > bound[r]
    /\ \E i \in 1..Newest("head"):
        /\ Load(r, "head", i, LoadOrder)
        /\ bound' = [bound EXCEPT ![r] = Value("head", i)]
    /\ next' = [next EXCEPT ![r] = 1]
    /\ UNCHANGED written

\* It reads an old value of the entry, or races with who writes it, if the write is not in its view.
\* STEP r \in Readers if view[r][Entry(next[r])] # Newest(Entry(next[r])) | {r} -> {Entry(next[r])} | reads the
\*        {Entry(next[r])}, and may find it as it was before the XID was written
\* STEP r \in Readers | {r} -> {Entry(next[r])} | reads the {Entry(next[r])}: the XID
ReadEntry(r) ==
    /\ next[r] <= bound[r]
    /\ raced' = (raced \/ view[r][Entry(next[r])] # Newest(Entry(next[r])))
    /\ next' = [next EXCEPT ![r] = @ + 1]
    /\ UNCHANGED <<memory, view, written, bound>>

Empty == [w \in Words |-> IF w = "head" THEN 0 ELSE "nothing"]

Next == Add \/ Publish \/ \E r \in Readers: LookAt(r) \/ ReadEntry(r)
Spec == Init /\ [][Next]_vars

\* A reader that has read the head begins with the first entry.
\* INNER written, bound, next
\* BROKEN r \in Readers if bound'[r] # bound[r] /\ next'[r] # 1 | {r} skips the first entry
BeginsAtFirst == [][\A r \in Readers: bound'[r] # bound[r] => next'[r] = 1]_vars

\* Wrong on purpose: it begins with the second one.
LooksFromTheSecond(r) ==
    /\ next[r] > bound[r]
    /\ \E i \in 1..Newest("head"):
        /\ Load(r, "head", i, LoadOrder)
        /\ bound' = [bound EXCEPT ![r] = Value("head", i)]
    /\ next' = [next EXCEPT ![r] = 2]
    /\ UNCHANGED written
=============================================================================

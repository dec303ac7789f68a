\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE rangelock -----------------------------
(***************************************************************************)
(* Range locks: ranges of a file's bytes, shared or exclusive, first come  *)
(* first served among those that conflict.                                 *)
(*                                                                         *)
(* A request is granted as soon as it conflicts with no range that is held *)
(* and with no earlier request that waits.  Whoever arrives or leaves, all *)
(* that may go then go in the same step.  A try that would have to wait is *)
(* no step.  Time limits and cancellation are one step, GiveUp.            *)
(*                                                                         *)
(*   rangelock        this one: what any implementation may do             *)
(*     ^ refines                                                           *)
(*   rangelock_steps  the steps of csrc/rangelock/interval.c               *)
(*   TraceRangelock   follows logs of the C lock                           *)
(*                                                                         *)
(* Simplified: a process asks for one range at a time, unless MayAsk lets  *)
(* it ask while it holds another.                                          *)
(*                                                                         *)
(* Departures from upstream: PostgreSQL has no range locks.  Where         *)
(* rangelock_steps is simpler than csrc/rangelock, its header says so.     *)
(*                                                                         *)
(* How to break it: drop a conjunct of MayGo, grant one only in Settle, or *)
(* let MayAsk be TRUE.                                                     *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Processes,
    Ranges,      \* <<lo, hi>>: the bytes from lo to hi - 1
    Modes,       \* TRUE: exclusive, FALSE: shared
    MayGiveUp    \* whether a request may leave before it is granted

VARIABLES
    held,        \* the requests that were granted and not released
    queue        \* those that wait, in the order of arrival

vars == <<held, queue>>

Request(p, range, exclusive) == [who |-> p, lo |-> range[1], hi |-> range[2], exclusive |-> exclusive]
Requests == {Request(p, range, mode) : p \in Processes, range \in Ranges, mode \in Modes}

Conflict(r, s) == r.lo < s.hi /\ s.lo < r.hi /\ (r.exclusive \/ s.exclusive)

(* The rule, for the request at place i of q while h is held. *)
MayGo(h, q, i) ==
    /\ \A s \in h : ~Conflict(s, q[i])
    /\ \A j \in 1 .. i - 1 : ~Conflict(q[j], q[i])

(* q without the places in `gone`. *)
RECURSIVE Without(_, _)
Without(q, gone) ==
    IF q = <<>> THEN <<>>
    ELSE LET n == Len(q) rest == Without(SubSeq(q, 1, n - 1), gone)
         IN IF n \in gone THEN rest ELSE Append(rest, q[n])

(* All that may go, go. *)
Going(h, q) == {i \in 1 .. Len(q) : MayGo(h, q, i)}
Settle(h, q) ==
    LET going == Going(h, q)
    IN /\ held' = h \cup {q[i] : i \in going}
       /\ queue' = Without(q, going)

Places(p)   == {i \in 1 .. Len(queue) : queue[i].who = p}
Waits(p)    == Places(p) # {}
HeldBy(p)   == {r \in held : r.who = p}

(* One range at a time. *)
MayAsk(p, r) == HeldBy(p) = {}

Init == held = {} /\ queue = <<>>

Ask(p) == \E range \in Ranges, mode \in Modes :
    LET r == Request(p, range, mode)
    IN ~Waits(p) /\ MayAsk(p, r) /\ Settle(held, Append(queue, r))

Release(p) == ~Waits(p) /\ \E r \in HeldBy(p) : Settle(held \ {r}, queue)

GiveUp(p) == MayGiveUp /\ Waits(p) /\ Settle(held, Without(queue, Places(p)))

Next == \E p \in Processes : Ask(p) \/ Release(p) \/ GiveUp(p)

Spec     == Init /\ [][Next]_vars
(* Who holds a range releases it some time. *)
FairSpec == Spec /\ \A p \in Processes : WF_vars(Release(p))

-----------------------------------------------------------------------------
TypeOK == held \subseteq Requests /\ queue \in Seq(Requests)

(* No two that conflict are held. *)
NoConflict == \A r, s \in held : r # s => ~Conflict(r, s)

(* The same, byte by byte: where one of two is exclusive they share none.  *)
Bytes(r) == r.lo .. r.hi - 1
Clash(r, s) == Bytes(r) \cap Bytes(s) # {} /\ TRUE \in {r.exclusive, s.exclusive}
NoByteTwice == \A r, s \in held : r # s => ~Clash(r, s)

(* Who waits does so for a byte of one that is held or came earlier. *)
WaitsForAByte ==
    \A i \in DOMAIN queue :
        \/ \E s \in held : Clash(s, queue[i])
        \/ \E j \in DOMAIN queue : j < i /\ Clash(queue[j], queue[i])

(* Nobody waits who may go: no step has granted too few. *)
NobodyWaitsInVain == Going(held, queue) = {}

(* First come, first served: who is granted conflicts with nobody who came *)
(* earlier and still waits.                                                *)
Came(q, r) == IF \E i \in 1 .. Len(q) : q[i] = r THEN CHOOSE i \in 1 .. Len(q) : q[i] = r ELSE Len(q) + 1
FirstComeFirstServed ==
    [][\A r \in held' \ held : \A i \in 1 .. Len(queue') :
        Came(queue, queue'[i]) < Came(queue, r) => ~Conflict(queue'[i], r)]_vars

(* Of those who hold or wait at most one leaves in a step.  The others who *)
(* wait keep their order.                                                  *)
InQueue(q) == {q[i] : i \in DOMAIN q}
Present == held \cup InQueue(queue)
OneLeaves == [][Cardinality(Present \ Present') <= 1]_vars
OrderIsKept ==
    [][\A i, j \in DOMAIN queue' : i < j => Came(queue, queue'[i]) < Came(queue, queue'[j])]_vars

(* Every request is granted, or given up; each is granted, if none may be  *)
(* given up.                                                               *)
EveryoneIsServed == \A p \in Processes : Waits(p) ~> ~Waits(p)
EveryoneHolds    == \A p \in Processes : Waits(p) ~> HeldBy(p) # {}

(* p cannot go before q has left. *)
WaitsFor(p, q) == \E i \in Places(p) :
    \/ \E r \in HeldBy(q) : Conflict(r, queue[i])
    \/ \E j \in Places(q) : j < i /\ Conflict(queue[j], queue[i])

(* No processes wait for each other in a circle. *)
NoDeadlock == ~\E group \in SUBSET Processes : group # {} /\ \A p \in group : \E q \in group : WaitsFor(p, q)
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE APRing -------------------------------
(***************************************************************************)
(* The ring of recovery prefetching, for Apalache: any concurrency from 0  *)
(* to 1000, the values of maintenance_io_concurrency.  The invariant is    *)
(* inductive: it holds at first (base), each step keeps it (step), from    *)
(* any state that it admits, reachable or not.  It implies that no entry   *)
(* is overwritten, and that a ring that looks empty is empty (implies).    *)
(*                                                                         *)
(* What is simplified                                                      *)
(*   - Slots are counted, not listed: ios and others say how many entries  *)
(*     of each sort lie in the ring.  Any of them may be the oldest, so    *)
(*     this ring can do all that the real one does, and more.              *)
(*     RecoveryPrefetch has the slots one by one.                          *)
(*                                                                         *)
(*   here                          xlogprefetcher.c                        *)
(*   Look, Lose, Remake            lrq_prefetch, lrq_complete_lsn,         *)
(*                                   lrq_free and lrq_alloc                *)
(*   n                             max_inflight                            *)
(*   size, head, tail,             the fields of LsnReadQueue of these     *)
(*     inflight, completed           names                                 *)
(*                                                                         *)
(* How to break it: the runs APRing_mutant_*.                              *)
(***************************************************************************)
EXTENDS Integers

VARIABLES
    \* @type: Int;
    n,          \* how many I/Os are allowed; 0: prefetching is off
    \* @type: Int;
    size,
    \* @type: Int;
    head,
    \* @type: Int;
    tail,
    \* @type: Int;
    inflight,
    \* @type: Int;
    completed,
    \* @type: Int;
    ios,        \* ghost: entries in the ring that are an I/O
    \* @type: Int;
    others      \* ghost: entries that are none

SizeOf(limit)     == IF limit = 0 THEN 2 ELSE 4 * limit + 1
LimitOf(limit)    == IF limit = 0 THEN 1 ELSE limit
Following(i)      == IF i + 1 = size THEN 0 ELSE i + 1
HasSlot           == inflight + completed < size - 1
MayStart          == inflight < LimitOf(n)
Counted(sort, io) == IF sort = io THEN 1 ELSE 0

Anew(limit) ==
    /\ size' = SizeOf(limit)
    /\ head' = 0 /\ tail' = 0
    /\ inflight' = 0 /\ completed' = 0
    /\ ios' = 0 /\ others' = 0

Init ==
    /\ n \in 0..1000
    /\ size = SizeOf(n)
    /\ head = 0 /\ tail = 0
    /\ inflight = 0 /\ completed = 0
    /\ ios = 0 /\ others = 0

(* A block is looked at, and an entry stands for it. *)
Look(io) ==
    /\ MayStart /\ HasSlot
    /\ head' = Following(head)
    /\ inflight' = inflight + Counted(TRUE, io)
    /\ completed' = completed + Counted(FALSE, io)
    /\ ios' = IF io THEN ios + 1 ELSE ios
    /\ others' = IF io THEN others ELSE others + 1
    /\ UNCHANGED <<n, size, tail>>

(* The oldest entry leaves. *)
Lose(io) ==
    /\ tail # head
    /\ IF io THEN ios > 0 ELSE others > 0
    /\ tail' = Following(tail)
    /\ inflight' = IF io THEN inflight - 1 ELSE inflight
    /\ completed' = IF io THEN completed ELSE completed - 1
    /\ ios' = IF io THEN ios - 1 ELSE ios
    /\ others' = IF io THEN others ELSE others - 1
    /\ UNCHANGED <<n, size, head>>

(* The concurrency is changed. *)
Remake ==
    /\ n' \in 0..1000
    /\ Anew(n')

Next == Remake \/ \E io \in BOOLEAN : Look(io) \/ Lose(io)

-----------------------------------------------------------------------------
(* The invariant *)
Used == IF tail <= head THEN head - tail ELSE head + size - tail

InBounds       == 0 <= head /\ head < size /\ 0 <= tail /\ tail < size
CountersCount  == inflight = ios /\ completed = others /\ 0 <= ios /\ 0 <= others
NeverOverflows == Used = ios + others
AtMostN        == inflight <= LimitOf(n)

Types ==
    /\ n \in 0..1000
    /\ size = SizeOf(n)
    /\ head \in Int /\ tail \in Int
    /\ inflight \in Int /\ completed \in Int
    /\ ios \in Int /\ others \in Int

Start == Types /\ InBounds /\ CountersCount /\ NeverOverflows /\ AtMostN

(* What it implies *)
SlotIsFree  == HasSlot => Following(head) # tail
EmptyIsNone == (head = tail) = (inflight + completed = 0)

-----------------------------------------------------------------------------
(* Wrong on purpose *)
HasSlotOfOldSize         == inflight + completed < size
MayStartOneMore          == inflight <= LimitOf(n)
FollowingLate(i)         == IF i = size THEN 0 ELSE i + 1
CountedAsNone(sort, io)  == IF sort THEN 0 ELSE 1
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------- MODULE MCRecoveryPrefetch -------------------------
(* RecoveryPrefetch with bounds: all sequences of a few kinds of records.  *)
(* And definitions that are wrong on purpose.                              *)
EXTENDS RecoveryPrefetch, TLC

CONSTANT Length

R == "r"
TwoBlocks == [r \in Relations |-> 2]
Missing   == [r \in Relations |-> -1]

Ref(block)  == [page |-> <<R, block>>, how |-> "read"]
How(how, block) == [page |-> <<R, block>>, how |-> how]
Kinds == {Changes(<<>>), Changes(<<Ref(1)>>), Changes(<<How("init", 1), Ref(0)>>), Truncates(R, 1), Creates(R)}
AllWals == [1..Length -> Kinds]

\* Records of one block each, and records of cached blocks that fill the ring.
Two == {Changes(<<Ref(0)>>), Changes(<<Ref(1)>>), Changes(<<Ref(0), Ref(1), Ref(0)>>)}
BlockWals == [1..Length -> Two]

\* What is referenced and not read, what suspends look-ahead, and a whole database.
Other == {Changes(<<Ref(0)>>), Changes(<<How("image", 0), How("fork", 1)>>), Changes(<<How("hint", 1)>>),
          CreatesDatabase, ChangesTimeline}
OtherWals == [1..Length -> Other]

\* Twelve cold blocks after a record without blocks.
ZeroToTwelve == 0..12
TwelveBlocks == [r \in Relations |-> 13]
PictureWal == {[n \in 1..13 |-> IF n = 1 THEN Changes(<<>>) ELSE Changes(<<Ref(n - 1)>>)]}

-----------------------------------------------------------------------------
\* Nothing is filtered.
NeverFiltered(page) == FALSE
\* The record that comes next is completed, too.
OverAtOnce(lsn, upto) == lsn <= upto
\* The guard of a ring with one slot more.
HasSlotOfOldSize == ring.inflight + ring.completed < ring.size
\* A hint that is not verified.
AlwaysRight(page, b) == TRUE
\* Look-ahead starts before it completes, as upstream did before commit adb46615.
StartFirst ==
    /\ pc = "complete" /\ Goto("look")
    /\ UNCHANGED <<vars, arrived, current, concurrency, looking, queues, buffers, advised>>
CompleteSecond == pc = "read" /\ CompleteRing /\ Goto("give")
\* An I/O that is counted as none.
PushUncounted(lsn, io) ==
    /\ ring' = [ring EXCEPT !.slots[ring.head] = Entry(lsn, io), !.head = Following(ring.head), !.completed = @ + 1]
    /\ held' = Append(held, Entry(lsn, io))
\* Entries that leave only after one more record.
OverLate(lsn, upto) == lsn < upto - 1
\* Nothing is ever switched off.
AlwaysEnabled == TRUE
\* WAL need not arrive.
UnfairSpec == PrefetchSpec /\ WF_allvars(Startup)

-----------------------------------------------------------------------------
\* Denials of states that must be reachable.
NeverStaleHint ==
    ~(pc = "replay" /\ \E h \in hints : h[1] = current /\ h[3] \in 1..Buffers /\ pool[h[3]] # h[2])
NeverPicture == ~(pc = "replay" /\ current = Len(wal) /\ {g.record : g \in advised} = {current})
NeverN == Cardinality(advised) < 2
NeverFull == HasSlot \/ ring.inflight = concurrency
NeverSuspended == suspended = 0 \/ pc # "replay"
NeverForgotten == ~(pc = "give" /\ at.record = current + 1 /\ at.next <= Len(wal[at.record].refs))
NeverFilters == ~(pc = "look" /\ at.record # 0 /\ at.next <= Len(wal[at.record].refs)
                  /\ Filtered(wal[at.record].refs[at.next].page))
\* With three in flight, the picture of twelve blocks: when block i is read, blocks i to i + 2 are advised.
Picture ==
    pc = "replay" /\ current > 1 =>
        {g.record : g \in advised} = current..Min(current + concurrency - 1, Len(wal))
=============================================================================

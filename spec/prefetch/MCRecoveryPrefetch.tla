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

\* Records of two cold blocks among others.
BeginWals == [1..Length -> (Kinds \ {Changes(<<How("init", 1), Ref(0)>>)}) \cup {Changes(<<Ref(0), Ref(1)>>)}]

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

\* A record makes a page, reads the one before it, and then changes the new one.
GrownWals == {<<Truncates(R, 1), Changes(<<How("init", 1), Ref(0), Ref(1)>>)>>}

\* A record that removes a block, which the next one references.
WaitWals == {<<Changes(<<>>), Changes(<<>>), Truncates(R, 1), Changes(<<Ref(1)>>)>>}

-----------------------------------------------------------------------------
\* As upstream, where RecoveryPrefetch departs from it.
\* A relation that is created may be left over from before the crash.
LeftOver(length) == Max(length, 0)
\* Other processes read pages into buffers, and push others out, when they like.
OthersRead ==
    /\ \E b \in 1..Buffers, page \in {NoPage} \cup {p \in Pages : Exists(store, p) /\ Found(p) = {}} :
        pool' = [pool EXCEPT ![b] = page]
    /\ UNCHANGED <<vars, pc, arrived, current, concurrency, begin, looking, queues, hand, advised>>
OthersSpec == StartPrefetch /\ [][PrefetchNext \/ OthersRead]_allvars
\* The concurrency is set while look-ahead waits for WAL, which goes on with the ring of before until a record is requested.
SetInWait ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record = 0 /\ Blocking /\ decoded = arrived
    /\ concurrency' \in Concurrencies \ {concurrency}
    /\ UNCHANGED <<vars, pc, arrived, current, begin, looking, queues, buffers, advised>>
IsOldRing == ring.size # NewRing(concurrency).size
MayLookInRing == ring.inflight < Max((ring.size - 1) \div Multiplier, 1) /\ HasSlot
CompleteAndLook == pc = "complete" /\ ~IsOldRing /\ CompleteRing /\ Goto(IF Enabled THEN "look" ELSE "read")
NewRingAtLast ==
    /\ pc = "complete" /\ IsOldRing
    /\ ring' = NewRing(concurrency) /\ held' = <<>> /\ advised' = {}
    /\ UNCHANGED <<vars, pc, arrived, current, concurrency, begin, looking, buffers>>
WaitSpec == StartPrefetch /\ [][PrefetchNext \/ SetInWait \/ NewRingAtLast]_allvars

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
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, looking, queues, buffers, advised>>
CompleteSecond == pc = "read" /\ CompleteRing /\ Goto("give")
\* An I/O that is counted as none.
PushUncounted(lsn, io) ==
    /\ ring' = [ring EXCEPT !.slots[ring.head] = Entry(lsn, io), !.head = Following(ring.head), !.completed = @ + 1]
    /\ held' = Append(held, Entry(lsn, io))
\* Entries that leave only after one more record.
OverLate(lsn, upto) == lsn < upto - 1
\* Nothing is ever switched off.
AlwaysEnabled == TRUE
\* Upstream's: reading begins anew, and look-ahead goes on in the record where it was.
KeptAt == at
\* Nothing is special about the first record.
NeverFirst == FALSE
\* Look-ahead is never suspended, or there is always room.
NeverIsSuspended == FALSE
AlwaysRoom == TRUE
\* It goes on as soon as the record that suspends it is given out.
SuspendedBefore == current < suspended
\* Look-ahead stays in the record that was given to replay.
NeverGiven(n) == FALSE
\* A page in a buffer is advised too.
NeverFound(page) == {}
\* Each page counts as one in a buffer.
AlwaysFound(page) == 1..Buffers
\* The first filter of a relation stays as it is.
FirstFilter(keys, from, lsn) ==
    filters' = [key \in Keys |-> IF key \notin keys \/ filters[key].until # 0 THEN filters[key] ELSE [until |-> lsn, from |-> from]]
\* A filter hides one block more.
WiderFilter(keys, from, lsn) ==
    filters' = [key \in Keys |-> IF key \notin keys THEN filters[key] ELSE [until |-> lsn, from |-> from + 2]]
\* A page is read into a buffer, and its old one stays there; or none is read.
AllStay == pool
LoadsNothing(s, refs) == <<>>
\* Filters go before their records are replayed, or never.
AllReplayedSoon(until) == TRUE
NoneReplayed(until) == until = 0
\* Only what replay waits for is looked at.
CompletesOnly == pc = "complete" /\ CompleteRing /\ Goto("read")
\* Replay counts twice what it gives.
TakesTwo ==
    /\ pc = "give" /\ Queued > 0
    /\ current' = current + 2 /\ Goto("replay")
    /\ UNCHANGED <<vars, arrived, concurrency, begin, at, decoded, suspended, filters, recent, hints, queues, buffers, advised>>
\* After a first record two that remove blocks, and a reference to each block.
Removals == {Truncates(R, 0), Truncates(R, 1), Creates(R)}
MergeWals == {<<Changes(<<>>), m, n, Changes(<<Ref(0), Ref(1)>>)>> : m, n \in Removals}
\* Reading may begin anew before each record.
BeginSpec == StartPrefetch /\ [][PrefetchNext \/ BeginRead]_allvars
\* WAL need not arrive.
UnfairSpec == PrefetchSpec /\ WF_allvars(Startup)
\* Pages that go keep their contents.
OnlyLengths(s, lengths) == [s EXCEPT !.size = lengths]

-----------------------------------------------------------------------------
\* Denials of states that must be reachable.
NeverStaleHint ==
    ~(pc = "replay" /\ \E h \in hints : h[1] = current /\ h[3] \in 1..Buffers /\ pool[h[3]] # h[2])
NeverPicture == ~(pc = "replay" /\ current = Len(wal) /\ {g.record : g \in advised} = {current})
NeverN == Cardinality(advised) < 2
NeverFull == HasSlot \/ ring.inflight = concurrency
NeverSuspended == suspended = 0 \/ pc # "replay"
NeverForgotten == ~(pc = "give" /\ at.record = current + 1 /\ at.next <= Len(wal[at.record].refs))
NeverStopped == ~(pc = "stopped" /\ replayed = 1)
NeverGoesOn == begin = 1 \/ begin <= replayed
NeverBegunWithFilters == ~(begin > 1 /\ \E key \in Keys : filters[key].until >= begin)
NeverFilters == ~(pc = "look" /\ at.record # 0 /\ at.next <= Len(wal[at.record].refs)
                  /\ Filtered(wal[at.record].refs[at.next].page))
\* With three in flight, the picture of twelve blocks: when block i is read, blocks i to i + 2 are advised.
Picture ==
    pc = "replay" /\ current > 1 =>
        {g.record : g \in advised} = current..Min(current + concurrency - 1, Len(wal))
=============================================================================

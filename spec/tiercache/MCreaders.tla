\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCreaders -----------------------------
(* readers with bounds, and definitions that are wrong on purpose.         *)
EXTENDS readers

\* What each thread does.
Given(some) == [t \in Threads |-> IF t = "r1" \/ t = "r2" THEN {"read"} ELSE some]
ReadsAndWrites     == Given({"write"})
ReadsAndEvicts     == Given({"evict"})
ReadsAndDrops      == Given({"drop"})
ReadsAndAnyOther   == Given({"write", "drop", "evict"})
ReadsAndAllOthers  == Given({"write", "drop", "evict", "gather"})
\* The one writes and the other moves pages.
ReadsWritesDrops   == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"drop"} ELSE {"read"}]
ReadsWritesEvicts  == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"evict"} ELSE {"read"}]
ReadsWritesMoves   == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"drop", "evict", "gather"} ELSE {"read"}]
ReadsDropsEvicts   == [t \in Threads |-> IF t = "w" THEN {"drop"} ELSE IF t = "m" THEN {"evict"} ELSE {"read"}]
WritesAndReadsToo  == [t \in Threads |-> IF t = "r1" THEN {"read"} ELSE {"read", "write"}]

\* Who writes, or drops a page, does not wait for readers; nor does who has written the SSD.
DoesNotWait == FALSE
\* The eviction looks whether the page was written before it waits.
LookThenWait(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ my' = [my EXCEPT ![t].half = IF my[t].page \in changed THEN 2 ELSE 1]
    /\ Goto(t, "announces")
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>
WasUnchanged(t) == my[t].half = 1
\* A reader looks whether anybody waits before it counts itself out: half is 2 if nobody did, and 3 if somebody.
LookThenUnpin(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "unpins"
    /\ IF my[t].half = 1
       THEN my' = [my EXCEPT ![t].half = IF awaiting = 0 THEN 2 ELSE 3] /\ UNCHANGED <<readers, pc>>
       ELSE /\ readers' = [readers EXCEPT ![f] = @ - 1]
            /\ IF IsLast(f) /\ my[t].half = 3 THEN Goto(t, "calls") /\ UNCHANGED my ELSE End(t)
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>
\* Who waits looks at the readers before it says that it waits.
LookThenAnnounce(t) ==
    /\ map = t /\ pc[t] = "announces"
    /\ Goto(t, IF IsUnread(t) THEN AfterWait(t) ELSE "falls asleep")
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages, my>>
AnnounceAndSleep(t) ==
    /\ map = t /\ pc[t] = "falls asleep"
    /\ awaiting' = IF my[t].slept THEN awaiting ELSE awaiting + 1
    /\ asleep' = asleep \cup {t}
    /\ map' = Nobody
    /\ my' = [my EXCEPT ![t].slept = TRUE]
    /\ Goto(t, "asleep")
    /\ UNCHANGED <<frame, readers, pages>>
\* Who finds a frame without readers does not say that it waits: nobody can begin to read while it has map. That is right.
AnnounceIfRead(t) ==
    /\ map = t /\ pc[t] = "announces"
    /\ IF IsUnread(t)
       THEN Goto(t, AfterWait(t)) /\ UNCHANGED awaiting
       ELSE Goto(t, "waits") /\ awaiting' = awaiting + 1
    /\ UNCHANGED <<map, frame, readers, asleep, pages, my>>
\* A reader copies without map though somebody waits.
PinsAnyhow == TRUE
\* Nobody is woken.
WakesNobody == {{}}
\* One of those that sleep is woken.
WakesOne == IF asleep = {} THEN {{}} ELSE {{t} : t \in asleep}
\* They are woken without map.
LockingToWork == {"comes", "has loaded", "asleep", "puts", "writes back"}
CallWithoutMap(t) ==
    /\ pc[t] = "calls"
    /\ asleep' = {}
    /\ End(t)
    /\ UNCHANGED <<map, frame, readers, awaiting, pages>>
\* The first reader that is through looks whether anybody waits, and not the last.
IsFirst(f) == readers[f] > 1
\* A reader counts itself without map.
NotYet(f) == readers
PinWithoutMap(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying
    /\ IF pc[t] = "copies" /\ h = 1
       THEN /\ readers' = [readers EXCEPT ![my[t].frame] = @ + 1]
            /\ my' = [my EXCEPT ![t].half = 2]
            /\ UNCHANGED pc
       ELSE LET k == IF pc[t] = "copies" THEN h - 1 ELSE h IN
            /\ my' = [my EXCEPT ![t].got[k] = frame[my[t].frame][k], ![t].half = IF k = 2 THEN 1 ELSE h + 1]
            /\ IF k = 2 THEN Goto(t, AfterCopy(t)) ELSE UNCHANGED pc
            /\ UNCHANGED readers
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>
\* It does so after it has copied the first half.
CopyThenPin(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, AfterCopy(t)) ELSE UNCHANGED pc
    /\ readers' = IF pc[t] = "copies" /\ h = 1 THEN [readers EXCEPT ![my[t].frame] = @ + 1] ELSE readers
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>
\* It counts itself out before it has copied the second half.
UnpinThenCopy(t) ==
    LET h == my[t].half  f == my[t].frame IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[f][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, IF pc[t] = "copies" THEN "looks" ELSE "has copied") ELSE UNCHANGED pc
    /\ readers' = IF pc[t] = "copies" /\ h = 1 THEN [readers EXCEPT ![f] = @ - 1] ELSE readers
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>
NoUnpin(t) == FALSE
\* It copies neither counted nor with map while somebody waits.
HitFreely(t, f) ==
    /\ With(t, f)
    /\ readers' = IF MayPin THEN Pinned(f) ELSE readers
    /\ map' = Nobody
    /\ Goto(t, IF MayPin THEN "copies" ELSE "copies freely")
CopyFreely(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying \cup {"copies freely"}
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, IF pc[t] = "copies freely" THEN "looks" ELSE AfterCopy(t)) ELSE UNCHANGED pc
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>
\* Who was woken does not look at the readers again.
SleptOrUnread(t) == my[t].slept \/ readers[my[t].frame] = 0
\* Nor where its page is.
LooksNot(t) == FALSE
\* Who has waited does not take itself off `awaiting`.
WaitForEver(t) ==
    /\ map = t /\ pc[t] = "waits"
    /\ Goto(t, IF IsUnread(t) THEN AfterWait(t) ELSE "falls asleep")
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages, my>>
\* A page that is on its way to the SSD is dropped, or brought there by another thread.
NeverOnItsWay(p) == FALSE
\* A page that was written is dropped.
AlwaysClean(p) == TRUE
\* What was written while it was on its way to the SSD leaves.
AlwaysUnchanged(t) == TRUE
\* A frame that a load fills counts as free.
FreeOrLoaded == {f \in Frames : \A p \in Pages : table[p] # f}
\* Two threads load a page.
NeverLoaded(p) == FALSE
\* Map is free while a page is written.
ChangeWithoutMap(t) ==
    LET p == my[t].page  f == my[t].frame  h == my[t].half  v == Next1(now[p]) IN
    /\ map = t /\ pc[t] = "changes" /\ h = 1
    /\ frame' = [frame EXCEPT ![f][h] = Of(p, v)]
    /\ my' = [my EXCEPT ![t].half = 2] /\ map' = Nobody
    /\ UNCHANGED <<readers, awaiting, asleep, pages, pc>>
ChangeHalfWithoutMap(t) ==
    \/ ChangeWithoutMap(t)
    \/ LET p == my[t].page  f == my[t].frame  v == Next1(now[p]) IN
       /\ pc[t] = "changes" /\ my[t].half = 2
       /\ frame' = [frame EXCEPT ![f][2] = Of(p, v)]
       /\ now' = [now EXCEPT ![p] = v]
       /\ table' = [table EXCEPT ![p] = f]
       /\ my' = [Met(p, v) EXCEPT ![t] = Idle]
       /\ Goto(t, "outside")
       /\ UNCHANGED <<map, readers, awaiting, asleep, leaving, changed, below>>
\* What a load has read comes to memory though its page was written meanwhile.
NeverOld(p) == my
\* Who begins anew takes its next load for an old one.
OldAnew(t) == [my[t] EXCEPT !.frame = None, !.got = Nothing]
\* A thread may stop.
Unfair == Spec
\* The mutex is only fair to who wants it while it stays free.
UnfairMutex == Spec /\ \A t \in Threads : WF_vars(Inside(t)) /\ WF_vars(Lock(t))

\* ---- states that must be reachable ----
NeverAsleep == asleep = {}
\* A reader copies with map, because somebody waits.
NeverWithMap == \A t \in Threads : my[t].call = "read" => pc[t] # "copies with map"
\* A page that is on its way to the SSD was written, and is read without map.
NeverWrittenOnItsWay == \A p \in changed, t \in Threads : my[t].page = p => pc[t] # "copies"
\* A frame has another page before its last reader has looked whether anybody waits.
NeverAnotherPage == \A t \in Threads, p \in Pages : pc[t] = "looks" /\ table[p] = my[t].frame => my[t].page = p
\* Who was woken finds its page nowhere; or another page where it was.
NeverGone == \A t \in Threads : map = t /\ pc[t] = "comes" /\ my[t].slept => table[my[t].page] # None
NeverReplaced == \A t \in Threads, p \in Pages : map = t /\ pc[t] = "comes" /\ my[t].slept /\ table[p] = my[t].frame => p = my[t].page
\* It sleeps for a frame that is free.
NeverForNothing == \A t \in asleep : my[t].frame \notin FreeFrames
\* Two sleep.
NeverTwoAsleep == Cardinality(asleep) < 2
\* A reader wakes though nobody sleeps any more.
NeverInVain == \A t \in Threads : map = t /\ pc[t] = "calls" => asleep # {}
\* A page is written while it is loaded.
NeverOldLoad == \A t \in Threads : ~my[t].old
\* Two readers copy a frame without map at once.
NeverTwoReaders == \A f \in Frames : readers[f] < 2
\* A page that was written while it was on its way to the SSD stays.
NeverStays == \A t \in Threads : pc[t] = "decides" => IsUnchanged(t)
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCreaders -----------------------------
(* readers with bounds, and definitions that are wrong on purpose.         *)
EXTENDS readers

\* What each thread does.
Given(some) == [t \in Threads |-> IF t = "r1" \/ t = "r2" THEN {"read"} ELSE some]
ReadsAndWrites     == Given({"write"})
ReadsAndEvicts     == Given({"evict"})
ReadsAndDrops      == Given({"drop"})
ReadsAndWritesOut  == Given({"write", "evict"})
ReadsAndAnyOther   == Given({"write", "drop", "evict"})
ReadsAndAllOthers  == Given({"write", "drop", "evict", "gather"})
\* The one writes and the other moves pages.
ReadsWritesDrops   == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"drop"} ELSE {"read"}]
ReadsWritesEvicts  == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"evict"} ELSE {"read"}]
ReadsWritesMoves   == [t \in Threads |-> IF t = "w" THEN {"write"} ELSE IF t = "m" THEN {"drop", "evict", "gather"} ELSE {"read"}]
ReadsDropsEvicts   == [t \in Threads |-> IF t = "w" THEN {"drop"} ELSE IF t = "m" THEN {"evict"} ELSE {"read"}]
WritesAndReadsToo  == [t \in Threads |-> IF t = "r1" THEN {"read"} ELSE {"read", "write"}]
\* Who needs room drops all other pages, though a frame may be free.  That is right.
DropsAll(t) == IsMissing(t) => FreeFrames # {} /\ Victims(t) = {}

\* ---- a reader, without the mutex ----
\* It does not look at the name of its frame.
HasAnyPage(t) == TRUE
\* It looks at the name before it pins the frame.
PeekAtName(t) == \E f \in Frames \cup {None} :
    /\ pc[t] = "peeks"
    /\ IF f # None /\ named[f] = my[t].page
       THEN my' = [my EXCEPT ![t].frame = f] /\ Goto(t, "checks")
       ELSE Goto(t, "comes") /\ UNCHANGED my
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>
PinNamed(t) ==
    /\ pc[t] = "checks"
    /\ IF MayPin(my[t].frame)
       THEN word' = Pinned(my[t].frame) /\ Goto(t, "copies") /\ UNCHANGED my
       ELSE Through(t) /\ UNCHANGED word
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It looks whether the frame is closed in another step than it pins it: half is 2 when it has looked.
LookThenPin(t) == \E f \in Frames \cup {None} :
    /\ pc[t] = "peeks"
    /\ IF my[t].half = 2
       THEN /\ f = my[t].frame
            /\ word' = Pinned(f) /\ my' = [my EXCEPT ![t].half = 1] /\ Goto(t, "checks")
       ELSE IF f # None /\ MayPin(f)
       THEN my' = [my EXCEPT ![t].frame = f, ![t].half = 2] /\ UNCHANGED <<word, pc>>
       ELSE Goto(t, "comes") /\ UNCHANGED <<word, my>>
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It pins a frame that is closed: without map, or with it.
PinsAnyhow(f) == TRUE
\* It does not count its pin.
NotPinned(f) == word
\* It looks whether the frame is closed before it unpins it: half is 2 if it was open, and 3 if it was closed.
LookThenUnpin(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "unpins"
    /\ IF my[t].half = 1
       THEN my' = [my EXCEPT ![t].half = IF word[f].closed THEN 3 ELSE 2] /\ UNCHANGED <<word, pc>>
       ELSE /\ word' = Unpinned(f)
            /\ IF my[t].half = 3 /\ word[f].pins = 1
               THEN Goto(t, "calls") /\ my' = [my EXCEPT ![t].half = 1]
               ELSE IF HasCopied(t)
               THEN End(t)
               ELSE Goto(t, "comes") /\ my' = [my EXCEPT ![t].frame = None, ![t].half = 1]
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It does not unpin a frame that has another page.
UnpinCopied(t) ==
    /\ pc[t] = "unpins"
    /\ word' = IF HasCopied(t) THEN Unpinned(my[t].frame) ELSE word
    /\ IF HasCopied(t) /\ IsLast(my[t].frame) THEN Goto(t, "calls") /\ UNCHANGED my ELSE Through(t)
    /\ UNCHANGED <<map, named, frame, waits, pages>>
UnpinSilently(t) ==
    /\ pc[t] = "unpins"
    /\ word' = Unpinned(my[t].frame)
    /\ IF HasCopied(t) /\ IsLast(my[t].frame) THEN Goto(t, "calls") /\ UNCHANGED my ELSE Through(t)
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It wakes also if the frame is open.
IsAnyLast(f) == word[f].pins = 1
\* They are woken without map.
LockingToWork == {"comes", "has loaded", "asleep", "puts", "writes back"}
CallWithoutMap(t) ==
    /\ pc[t] = "calls"
    /\ asleep' = {}
    /\ Through(t)
    /\ UNCHANGED <<map, named, frame, word, waiting, held, pages>>

\* ---- who must have a frame for itself ----
\* Who writes, or drops a page, does not close its frame; nor does who has written the SSD.
LooksAndDrops(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None /\ ~IsOnItsWay(p) /\ IsClean(p)
       THEN WithVictim(t, p) /\ Goto(t, "drops") /\ UNCHANGED map
       ELSE Leave(t)
    /\ UNCHANGED <<word, named, held, leaving, changed>>
PutAndDecides(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ Goto(t, "decides")
    /\ UNCHANGED <<map, named, frame, word, waits, pages, my>>
\* What is held is opened though another thread waits for it; or never.
OpensAnyhow(f) == TRUE
OpensNever(f) == FALSE
\* Nor where its page is.
LooksNot(t) == FALSE
\* The eviction looks whether the page was written before it waits.
LookThenWait(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ my' = [my EXCEPT ![t].half = IF my[t].page \in changed THEN 2 ELSE 1]
    /\ Goto(t, "closes")
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>
WasUnchanged(t) == my[t].half = 1

NameThenWrite(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None
       THEN With(t, table[p]) /\ Goto(t, "closes") /\ UNCHANGED named
       ELSE /\ \E g \in FreeFrames : my' = [LoadsAreOld(p) EXCEPT ![t].frame = g] /\ named' = Named(g, p)
            /\ Goto(t, "changes")
    /\ UNCHANGED <<word, map, held, leaving, changed>>
\* What was loaded, or written, gets no name.
NoName(f, p) == named
\* A page that is on its way to the SSD is dropped, or brought there by another thread.
NeverOnItsWay(p) == FALSE
\* A page that was written is dropped.
AlwaysClean(p) == TRUE
\* Map is free while a page is written.
ChangeWithoutMap(t) ==
    LET p == my[t].page  f == my[t].frame  h == my[t].half  v == Next1(now[p]) IN
    \/ /\ map = t /\ pc[t] = "changes" /\ h = 1
       /\ frame' = [frame EXCEPT ![f][h] = Of(p, v)]
       /\ my' = [my EXCEPT ![t].half = 2] /\ map' = Nobody
       /\ UNCHANGED <<named, word, waits, pages, pc>>
    \/ /\ pc[t] = "changes" /\ h = 2
       /\ frame' = [frame EXCEPT ![f][2] = Of(p, v)]
       /\ now' = [now EXCEPT ![p] = v]
       /\ table' = [table EXCEPT ![p] = f] /\ named' = Named(f, p)
       /\ my' = [Met(p, v) EXCEPT ![t] = Idle]
       /\ Goto(t, "outside")
       /\ UNCHANGED <<map, word, waits, leaving, changed, below>>
\* What a load has read comes to memory though its page was written meanwhile.
NeverOld(p) == my
\* Who begins anew takes its next load for an old one.
OldAnew(t) == [my[t] EXCEPT !.frame = None, !.got = Nothing]
\* A thread may stop.
Unfair == Spec

\* ---- states that must be reachable ----
NeverAsleep == asleep = {}
\* A reader copies with map, because somebody waits.
NeverWithMap == \A t \in Threads : my[t].call = "read" => pc[t] # "copies with map"
\* Its look in the table has given a frame that a load fills; that a write fills; or that has another page.
NeverFilled == \A t, r \in Threads : pc[t] = "checks" /\ pc[r] = "loads" => my[r].frame # my[t].frame
NeverWritten == \A t, r \in Threads : pc[t] = "checks" /\ pc[r] = "changes" => my[r].frame # my[t].frame
NeverAnother == \A t \in Threads : pc[t] = "checks" => named[my[t].frame] \in {None, my[t].page}
\* It finds its page in a frame that it pinned before that had its page: who fills the frame has done so to its end.
NeverJustInTime == \A t \in Threads : pc[t] = "checks" /\ map # Nobody /\ pc[map] = "names" => my[t].frame # my[map].frame
\* The one that somebody waits for has pinned a frame of another page.
NeverForAnother == \A t \in Threads : pc[t] = "calls" => HasCopied(t)
\* A page that is on its way to the SSD was written, and is read without map.
NeverWrittenOnItsWay == \A p \in changed, t \in Threads : my[t].page = p => pc[t] # "copies"
\* A frame has another page before the last one that unpinned it has woken who waits.
NeverAnotherPage == \A t \in Threads, p \in Pages : pc[t] = "calls" /\ table[p] = my[t].frame => my[t].page = p
\* Who was woken finds its page nowhere; or another page where it was.
NeverGone == \A t \in Threads : map = t /\ pc[t] = "comes" /\ my[t].slept => table[my[t].page] # None
NeverReplaced == \A t \in Threads, p \in Pages : map = t /\ pc[t] = "comes" /\ my[t].slept /\ table[p] = my[t].frame => p = my[t].page
\* It holds the frame where its page was, and is about to close another one.
NeverElsewhere == \A t \in Threads : pc[t] = "closes" => held \in {None, my[t].frame}
\* It finds the frame still pinned.
NeverTooEarly == \A t \in Threads : pc[t] = "waits" => IsUnpinned(t)
\* It holds a frame that it has closed to make room: and loads a page into it; or finds its page in it; or in another one.
NeverRoomMade == \A t \in Threads : pc[t] = "comes" /\ my[t].call = "read" => held \notin FreeFrames
NeverRoomFilled == \A t \in Threads : pc[t] = "copies with map" => held # my[t].frame
NeverRoomInVain == \A t \in Threads : pc[t] # "has pinned"
\* It leaves the frame closed, because another one waits for it.
NeverLeftClosed == \A t \in Threads : pc[t] = "ends" /\ held # None => waiting[held] = 0
\* It sleeps for a frame that is free; or is about to wake, and a load fills the frame.
NeverForNothing == \A t \in asleep : my[t].frame \notin FreeFrames
NeverForALoad == \A t, r \in Threads : pc[t] = "asleep" /\ pc[r] = "loads" => my[r].frame # my[t].frame
\* Two sleep.
NeverTwoAsleep == Cardinality(asleep) < 2
\* A reader wakes though nobody sleeps any more.
NeverInVain == \A t \in Threads : map = t /\ pc[t] = "calls" => asleep # {}
\* A page is written while it is loaded.
NeverOldLoad == \A t \in Threads : ~my[t].old
\* Two readers copy a frame without map at once.
NeverTwoReaders == \A f \in Frames : Cardinality(Readers(f)) < 2
\* A page that was written while it was on its way to the SSD stays.
NeverStays == \A t \in Threads : pc[t] = "decides" => IsUnchanged(t)
=============================================================================

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
\* It copies the first half before it looks at the name.
CopyThenCheck(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "checks"
    /\ IF my[t].half = 1
       THEN my' = [my EXCEPT ![t].got[1] = frame[f][1], ![t].half = 2] /\ UNCHANGED pc
       ELSE IF HasItsPage(t)
       THEN Goto(t, "copies") /\ UNCHANGED my
       ELSE Goto(t, "unpins") /\ my' = [my EXCEPT ![t].got = Nothing, ![t].half = 1]
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>
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
\* It unpins the frame before it copies the second half.
UnpinThenCopy(t) ==
    LET h == my[t].half  f == my[t].frame  unpins == pc[t] = "copies" /\ h = 1 IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[f][h], ![t].half = 3 - h]
    /\ IF h = 1
       THEN UNCHANGED pc
       ELSE Goto(t, IF pc[t] = "copies" THEN "calls" ELSE "has copied")
    /\ word' = IF unpins THEN Unpinned(f) ELSE word
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It does not unpin a frame that has another page.
UnpinCopied(t) ==
    /\ pc[t] = "unpins"
    /\ word' = IF HasCopied(t) THEN Unpinned(my[t].frame) ELSE word
    /\ IF HasCopied(t) /\ IsLast(my[t].frame) THEN Goto(t, "calls") /\ UNCHANGED my ELSE Through(t)
    /\ UNCHANGED <<map, named, frame, waits, pages>>
\* It wakes nobody: ever; if the frame had another page; or if it was not the first one to unpin a closed frame.
NeverLast(f) == FALSE
UnpinSilently(t) ==
    /\ pc[t] = "unpins"
    /\ word' = Unpinned(my[t].frame)
    /\ IF HasCopied(t) /\ IsLast(my[t].frame) THEN Goto(t, "calls") /\ UNCHANGED my ELSE Through(t)
    /\ UNCHANGED <<map, named, frame, waits, pages>>
IsFirst(f) == word[f].closed /\ word[f].pins > 1
\* It wakes also if the frame is open.
IsAnyLast(f) == word[f].pins = 1
\* Nobody is woken, or one of those that sleep.
WakesNobody == {{}}
WakesOne == IF asleep = {} THEN {{}} ELSE {{t} : t \in asleep}
\* They are woken without map.
LockingToWork == {"comes", "has loaded", "asleep", "puts", "writes back"}
CallWithoutMap(t) ==
    /\ pc[t] = "calls"
    /\ asleep' = {}
    /\ Through(t)
    /\ UNCHANGED <<map, named, frame, word, waiting, held, pages>>
\* It gives map back, though it found its frame closed and has not pinned it.
HitFreely(t, f) ==
    /\ With(t, f)
    /\ word' = IF MayPinWithMap(f) THEN Pinned(f) ELSE word
    /\ map' = Nobody
    /\ Goto(t, IF MayPinWithMap(f) THEN "copies" ELSE "copies freely")
    /\ UNCHANGED <<named, held>>
CopyFreely(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying \cup {"copies freely"}
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, IF pc[t] = "copies freely" THEN "calls" ELSE AfterCopy(t)) ELSE UNCHANGED pc
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>

\* Of a page that has left for the SSD nobody knows any more that it was written while it was loaded.
DecideAndForget(t) ==
    LET p == my[t].page IN
    /\ map = t /\ pc[t] = "decides" /\ IsUnchanged(t)
    /\ below' = [below EXCEPT ![p] = my[t].got[1].v] /\ table' = [table EXCEPT ![p] = None]
    /\ named' = Nameless(my[t].frame)
    /\ leaving' = leaving \ {p} /\ changed' = changed \ {p}
    /\ my' = [r \in Threads |-> IF pc[r] \in Loading /\ my[r].page = p THEN [my[r] EXCEPT !.old = FALSE] ELSE my[r]]
    /\ Goto(t, "ends")
    /\ UNCHANGED <<map, frame, word, waits, now>>

\* ---- who must have a frame for itself ----
\* Who writes, or drops a page, does not close its frame; nor does who has written the SSD.
DoesNotWait == FALSE
\* Who closes a frame does not look at its pins.
NeverPinned(t) == TRUE
\* It looks at them in another step, before it closes the frame: half is 2 if there were none.
LookThenClose(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "closes" /\ held \in {None, f}
    /\ IF my[t].half = 1 /\ IsUnpinned(t)
       THEN my' = [my EXCEPT ![t].half = 2] /\ UNCHANGED <<word, held, waiting, pc>>
       ELSE /\ word' = [word EXCEPT ![f].closed = TRUE] /\ held' = f
            /\ my' = [my EXCEPT ![t].half = 1]
            /\ IF my[t].half = 2
               THEN Goto(t, AfterWait(t)) /\ UNCHANGED waiting
               ELSE Goto(t, "falls asleep") /\ waiting' = [waiting EXCEPT ![f] = @ + 1]
    /\ UNCHANGED <<map, named, frame, asleep, pages>>
\* It does not count itself among those who wait; or it does so for ever.
CloseUncounted(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "closes" /\ held \in {None, f}
    /\ word' = [word EXCEPT ![f].closed = TRUE] /\ held' = f
    /\ Goto(t, IF IsUnpinned(t) THEN AfterWait(t) ELSE "falls asleep")
    /\ UNCHANGED <<map, named, frame, waiting, asleep, pages, my>>
WaitUncounted(t) ==
    /\ map = t /\ pc[t] = "waits"
    /\ Goto(t, IF IsUnpinned(t) THEN AfterWait(t) ELSE "falls asleep")
    /\ held' = IF IsUnpinned(t) THEN my[t].frame ELSE held
    /\ UNCHANGED <<map, named, frame, word, waiting, asleep, pages, my>>
\* What is held is opened though another thread waits for it; or never.
OpensAnyhow(f) == TRUE
OpensNever(f) == FALSE
\* Who closes another frame forgets the one that it holds.
CloseAnother(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "closes"
    /\ word' = [word EXCEPT ![f].closed = TRUE] /\ held' = f
    /\ IF IsUnpinned(t)
       THEN Goto(t, AfterWait(t)) /\ UNCHANGED waiting
       ELSE Goto(t, "falls asleep") /\ waiting' = [waiting EXCEPT ![f] = @ + 1]
    /\ UNCHANGED <<map, named, frame, asleep, pages, my>>
\* Who begins a load goes on holding the frame that it has closed to make room.
LoadAndHold(t) ==
    /\ \E f \in FreeFrames : With(t, f)
    /\ map' = Nobody /\ Goto(t, "loads")
    /\ UNCHANGED <<word, named, held>>
\* Who falls asleep holds its frame.
SleepAndHold(t) ==
    /\ map = t /\ pc[t] = "falls asleep"
    /\ asleep' = asleep \cup {t}
    /\ map' = Nobody
    /\ my' = [my EXCEPT ![t].slept = TRUE]
    /\ Goto(t, "asleep")
    /\ UNCHANGED <<named, frame, word, waiting, held, pages>>
\* Who was woken does not hold the frame that it has waited for: nobody opens it again.
WaitAndForget(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "waits"
    /\ IF IsUnpinned(t)
       THEN waiting' = [waiting EXCEPT ![f] = @ - 1] /\ Goto(t, AfterWait(t))
       ELSE Goto(t, "falls asleep") /\ UNCHANGED waiting
    /\ UNCHANGED <<map, named, frame, word, held, asleep, pages, my>>
\* Who was woken does not look at the pins again.
SleptOrUnpinned(t) == my[t].slept \/ word[my[t].frame].pins = 0
\* Nor where its page is.
LooksNot(t) == FALSE
\* The eviction looks whether the page was written before it waits.
LookThenWait(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ my' = [my EXCEPT ![t].half = IF my[t].page \in changed THEN 2 ELSE 1]
    /\ Goto(t, "closes")
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>
WasUnchanged(t) == my[t].half = 1

\* ---- what they have it for ----
\* A frame that a page leaves keeps its name.
StillNamed(f) == named
\* It is opened before its name is taken off.
OpenThenDrop(t) ==
    /\ map = t /\ pc[t] = "drops"
    /\ IF held # None
       THEN word' = Opened /\ held' = None /\ UNCHANGED <<map, named, table, pc, my>>
       ELSE /\ named' = Nameless(my[t].frame)
            /\ table' = [table EXCEPT ![my[t].victim] = None]
            /\ IF my[t].call = "drop"
               THEN Leave(t)
               ELSE Goto(t, "comes") /\ my' = [my EXCEPT ![t].frame = None, ![t].victim = None] /\ UNCHANGED map
            /\ UNCHANGED <<word, held>>
    /\ UNCHANGED <<frame, waiting, asleep, leaving, changed, below, now>>
\* A frame has its name before its bytes: of a load, and of a page that is written.
NameThenLoad(t) ==
    /\ \E f \in FreeFrames : With(t, f) /\ named' = Named(f, my[t].page)
    /\ GiveBack /\ Goto(t, "loads")
NameThenWrite(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None
       THEN With(t, table[p]) /\ Goto(t, "closes") /\ UNCHANGED named
       ELSE /\ \E g \in FreeFrames : my' = [LoadsAreOld(p) EXCEPT ![t].frame = g] /\ named' = Named(g, p)
            /\ Goto(t, "changes")
    /\ UNCHANGED <<word, map, held, leaving, changed>>
\* What was loaded gets its name when map is free again.
EndLoadThenName(t) ==
    \/ /\ map = t /\ pc[t] = "has loaded"
       /\ IF my[t].old
          THEN my' = [my EXCEPT ![t] = Anew(t)] /\ Goto(t, "comes") /\ UNCHANGED <<table, map>>
          ELSE /\ table' = [table EXCEPT ![my[t].page] = my[t].frame]
               /\ map' = Nobody /\ Goto(t, "names") /\ UNCHANGED my
       /\ UNCHANGED <<named, frame, word, waits, leaving, changed, below, now>>
    \/ /\ pc[t] = "names" /\ my[t].call = "read"
       /\ named' = Named(my[t].frame, my[t].page)
       /\ End(t)
       /\ UNCHANGED <<map, frame, word, waits, pages>>
\* What was loaded, or written, gets no name.
NoName(f, p) == named
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
\* The mutex is only fair to who wants it while it stays free.
UnfairMutex == Spec /\ \A t \in Threads : WF_vars(Inside(t)) /\ WF_vars(Lock(t))

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

\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE readers ------------------------------
(***************************************************************************)
(* How a hit in the memory of csrc/tiercache copies its page while the     *)
(* mutex `map` is free, step by step.  tiercache has the same calls, each  *)
(* change of the memory as one step; here a page has two halves, and is    *)
(* copied and changed half by half.                                        *)
(*                                                                         *)
(* A reader counts itself in readers[f] while it has map, copies without   *)
(* it, and counts itself out.  Who must have a frame without readers says  *)
(* so in `awaiting`, looks at the count, and sleeps at the condition       *)
(* `unread`.  The last reader of a frame looks whether anybody waits, and  *)
(* wakes all.  While somebody waits, who comes copies with map held.       *)
(*                                                                         *)
(* variable       in the C code                                            *)
(*   map            who holds the mutex                                    *)
(*   table          the frame of each page that is in memory               *)
(*   frame          the bytes of each frame: two halves                    *)
(*   readers        how many copy a frame without map (atomic)             *)
(*   awaiting       how many wait for a frame without readers (atomic)     *)
(*   asleep         who sleeps at `unread`                                 *)
(*   leaving        the pages that are on their way to the SSD             *)
(*   changed        those of them that were written since (the C code      *)
(*                    compares versions)                                   *)
(*   below          what a load of a page finds, on the SSD or the store   *)
(*   now            the newest contents of a page (no variable of the C    *)
(*                    code)                                                *)
(*   pc, my         where a thread is; its call, page, frame, which half   *)
(*                    is next, what it has copied, whether it has slept,   *)
(*                    whether its load is old, and what the page has been  *)
(*                    since the call began                                 *)
(*                                                                         *)
(* A step has at most one access to what others look at without map: an    *)
(* atomic, or half a frame.  So what is done with map held to all else is  *)
(* one step with it, and so is giving map back.  Memory is sequentially    *)
(* consistent: all accesses to readers and awaiting are seq_cst.           *)
(*                                                                         *)
(* Simplified: contents are numbers below Versions, and after the last     *)
(* comes the first again.  Files do not fail, and a write to a file is no  *)
(* step.  Who waits for another thread's load does not take map before.    *)
(* Who finds no frame free ends its call: the C code reads past the        *)
(* memory, or drops and evicts first, and these are calls of their own     *)
(* here.                                                                   *)
(*                                                                         *)
(* How to break it: the mutants of MCreaders.                              *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Threads, Pages, Frames,
    Versions,
    May,        \* what each thread does: of "read", "write", "drop", "evict", "gather"
    None

VARIABLES map, table, frame, readers, awaiting, asleep, leaving, changed, below, now, pc, my

pages == <<table, leaving, changed, below, now>>
vars  == <<map, table, frame, readers, awaiting, asleep, leaving, changed, below, now, pc, my>>

Nobody   == "nobody"
Calls    == {"read", "write", "drop", "evict", "gather"}
Contents == [page : Pages, v : 0 .. Versions - 1]
Of(p, v) == [page |-> p, v |-> v]
Nothing  == <<None, None>>
Idle     == [call |-> None, page |-> None, frame |-> None, half |-> 1, got |-> Nothing, slept |-> FALSE, old |-> FALSE,
             seen |-> {}]

Init ==
    /\ map = Nobody
    /\ table = [p \in Pages |-> None]
    /\ frame = [f \in Frames |-> Nothing]
    /\ readers = [f \in Frames |-> 0]
    /\ awaiting = 0
    /\ asleep = {}
    /\ leaving = {} /\ changed = {}
    /\ below = [p \in Pages |-> 0] /\ now = below
    /\ pc = [t \in Threads |-> "outside"]
    /\ my = [t \in Threads |-> Idle]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
End(t) == Goto(t, "outside") /\ my' = [my EXCEPT ![t] = Idle]

Loading == {"loads", "has loaded"}
IsLoaded(p) == \E t \in Threads : pc[t] \in Loading /\ my[t].page = p
FreeFrames ==
    {f \in Frames : (\A p \in Pages : table[p] # f) /\ \A t \in Threads : pc[t] \in Loading => my[t].frame # f}

-----------------------------------------------------------------------------
(* A call begins. *)
Begin(t) == \E call \in May[t], p \in Pages :
    /\ pc[t] = "outside"
    /\ my' = [my EXCEPT ![t] = [Idle EXCEPT !.call = call, !.page = p, !.seen = {now[p]}]]
    /\ Goto(t, "comes")
    /\ UNCHANGED <<map, table, frame, readers, awaiting, asleep, leaving, changed, below, now>>

IsMissing(t) == my[t].call \in {"read", "write"} /\ table[my[t].page] = None
IsComing(t)  == IsMissing(t) /\ my[t].call = "read" /\ IsLoaded(my[t].page)
HasRoom(t)   == IsMissing(t) => FreeFrames # {}

(* Who was woken at `unread` takes map before it goes on. *)
Locking == {"comes", "has loaded", "asleep", "calls", "puts", "writes back"}
Lock(t) ==
    /\ pc[t] \in Locking /\ map = Nobody
    /\ pc[t] = "comes" => ~IsComing(t)
    /\ t \notin asleep
    /\ map' = t
    /\ IF pc[t] = "asleep" THEN Goto(t, "waits") ELSE UNCHANGED pc
    /\ UNCHANGED <<table, frame, readers, awaiting, asleep, leaving, changed, below, now, my>>

-----------------------------------------------------------------------------
(* With map held: a call looks where its page is. *)

With(t, f) == my' = [my EXCEPT ![t].frame = f, ![t].slept = FALSE]

MayPin == awaiting = 0
Pinned(f) == [readers EXCEPT ![f] = @ + 1]
LookToHit(t, f) ==
    /\ With(t, f)
    /\ IF MayPin
       THEN readers' = Pinned(f) /\ map' = Nobody /\ Goto(t, "copies")
       ELSE Goto(t, "copies with map") /\ UNCHANGED <<readers, map>>
LookToLoad(t) ==
    /\ \E f \in FreeFrames : With(t, f)
    /\ map' = Nobody /\ Goto(t, "loads")
    /\ UNCHANGED readers
LookToRead(t) ==
    LET f == table[my[t].page] IN
    /\ IF f # None THEN LookToHit(t, f) ELSE LookToLoad(t)
    /\ UNCHANGED <<leaving, changed>>

(* A page that is written while it is loaded: what is loaded is old. *)
LoadsAreOld(p) == [t \in Threads |-> IF pc[t] \in Loading /\ my[t].page = p THEN [my[t] EXCEPT !.old = TRUE] ELSE my[t]]
WriteWaits == TRUE
LookToWrite(t) ==
    LET f == table[my[t].page] IN
    /\ IF f # None
       THEN With(t, f) /\ Goto(t, IF WriteWaits THEN "announces" ELSE "changes")
       ELSE Goto(t, "changes") /\ \E g \in FreeFrames : my' = [LoadsAreOld(my[t].page) EXCEPT ![t].frame = g]
    /\ UNCHANGED <<readers, map, leaving, changed>>

(* What is on its way to the SSD leaves by that way alone. *)
IsOnItsWay(p) == p \in leaving
IsClean(p) == below[p] = now[p]
DropWaits == TRUE
LookToDrop(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None /\ ~IsOnItsWay(p) /\ IsClean(p)
       THEN With(t, table[p]) /\ Goto(t, IF DropWaits THEN "announces" ELSE "drops") /\ UNCHANGED map
       ELSE End(t) /\ map' = Nobody
    /\ UNCHANGED <<readers, leaving, changed>>

LookToEvict(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None /\ ~IsOnItsWay(p)
       THEN /\ leaving' = leaving \cup {p} /\ changed' = changed \ {p}
            /\ With(t, table[p]) /\ Goto(t, "copies with map") /\ UNCHANGED map
       ELSE End(t) /\ map' = Nobody /\ UNCHANGED <<leaving, changed>>
    /\ UNCHANGED readers

LookToGather(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None
       THEN With(t, table[p]) /\ Goto(t, "copies with map") /\ UNCHANGED map
       ELSE End(t) /\ map' = Nobody
    /\ UNCHANGED <<readers, leaving, changed>>

(* Whose load was old may find that another thread loads the page. *)
Look(t) ==
    /\ map = t /\ pc[t] = "comes"
    /\ IF IsComing(t)
       THEN map' = Nobody /\ UNCHANGED <<readers, leaving, changed, pc, my>>
       ELSE IF ~HasRoom(t)
       THEN map' = Nobody /\ End(t) /\ UNCHANGED <<readers, leaving, changed>>
       ELSE CASE my[t].call = "read"   -> LookToRead(t)
              [] my[t].call = "write"  -> LookToWrite(t)
              [] my[t].call = "drop"   -> LookToDrop(t)
              [] my[t].call = "evict"  -> LookToEvict(t)
              [] my[t].call = "gather" -> LookToGather(t)
    /\ UNCHANGED <<table, frame, awaiting, asleep, below, now>>

-----------------------------------------------------------------------------
(* A copy, half by half: of a reader without map; and with it, of one that *)
(* came while somebody waits, of a write-back, and for the SSD.            *)

Copying == {"copies", "copies with map"}
AfterCopy(t) == IF pc[t] = "copies" THEN "unpins" ELSE "has copied"
Copy(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, AfterCopy(t)) ELSE UNCHANGED pc
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>

EndCopy(t) ==
    /\ map = t /\ pc[t] = "has copied"
    /\ map' = Nobody
    /\ CASE my[t].call = "read"   -> End(t)
         [] my[t].call = "evict"  -> Goto(t, "puts") /\ UNCHANGED my
         [] my[t].call = "gather" -> Goto(t, "writes back") /\ UNCHANGED my
    /\ UNCHANGED <<frame, readers, awaiting, asleep, pages>>

(* A reader counts itself out.  The last one looks whether anybody waits,  *)
(* and takes map to wake them: so nobody is between its look and its sleep. *)
IsLast(f) == readers[f] = 1
Unpin(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "unpins"
    /\ readers' = [readers EXCEPT ![f] = @ - 1]
    /\ IF IsLast(f) THEN Goto(t, "looks") /\ UNCHANGED my ELSE End(t)
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>

LookWhoWaits(t) ==
    /\ pc[t] = "looks"
    /\ IF awaiting = 0 THEN End(t) ELSE Goto(t, "calls") /\ UNCHANGED my
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>

Woken == {asleep}
Call(t) ==
    /\ map = t /\ pc[t] = "calls"
    /\ \E woken \in Woken : asleep' = asleep \ woken
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, pages>>

-----------------------------------------------------------------------------
(* Who must have a frame without readers, with map held. *)

Announce(t) ==
    /\ map = t /\ pc[t] = "announces"
    /\ awaiting' = awaiting + 1
    /\ Goto(t, "waits")
    /\ UNCHANGED <<map, frame, readers, asleep, pages, my>>

(* Who has slept looks anew where its page is; but one that is on its way  *)
(* to the SSD has not left its frame.                                      *)
LooksAnew(t) == my[t].slept
AfterWait(t) ==
    CASE my[t].call = "evict" -> "decides"
      [] my[t].call = "write" -> IF LooksAnew(t) THEN "comes" ELSE "changes"
      [] my[t].call = "drop"  -> IF LooksAnew(t) THEN "comes" ELSE "drops"

IsUnread(t) == readers[my[t].frame] = 0
Wait(t) ==
    /\ map = t /\ pc[t] = "waits"
    /\ IF IsUnread(t)
       THEN awaiting' = awaiting - 1 /\ Goto(t, AfterWait(t))
       ELSE Goto(t, "falls asleep") /\ UNCHANGED awaiting
    /\ UNCHANGED <<map, frame, readers, asleep, pages, my>>

FallAsleep(t) ==
    /\ map = t /\ pc[t] = "falls asleep"
    /\ asleep' = asleep \cup {t}
    /\ map' = Nobody
    /\ my' = [my EXCEPT ![t].slept = TRUE]
    /\ Goto(t, "asleep")
    /\ UNCHANGED <<frame, readers, awaiting, pages>>

WakeForNoReason(t) ==
    /\ t \in asleep
    /\ asleep' = asleep \ {t}
    /\ UNCHANGED <<map, frame, readers, awaiting, pages, pc, my>>

-----------------------------------------------------------------------------
(* What they wait for. *)

Next1(v) == (v + 1) % Versions
(* Calls that are under way have met these contents. *)
Met(p, v) == [t \in Threads |-> IF my[t].page = p THEN [my[t] EXCEPT !.seen = @ \cup {v}] ELSE my[t]]
Change(t) ==
    LET p == my[t].page  f == my[t].frame  h == my[t].half  v == Next1(now[p]) IN
    /\ map = t /\ pc[t] = "changes"
    /\ frame' = [frame EXCEPT ![f][h] = Of(p, v)]
    /\ IF h = 1
       THEN my' = [my EXCEPT ![t].half = 2] /\ UNCHANGED <<map, table, changed, now, pc>>
       ELSE /\ now' = [now EXCEPT ![p] = v]
            /\ table' = [table EXCEPT ![p] = f]
            /\ changed' = changed \cup ({p} \cap leaving)
            /\ map' = Nobody
            /\ my' = [Met(p, v) EXCEPT ![t] = Idle]
            /\ Goto(t, "outside")
    /\ UNCHANGED <<readers, awaiting, asleep, leaving, below>>

Drop(t) ==
    /\ map = t /\ pc[t] = "drops"
    /\ table' = [table EXCEPT ![my[t].page] = None]
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, asleep, leaving, changed, below, now>>

(* The SSD has been written. *)
EvictWaits == TRUE
EndPut(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ Goto(t, IF EvictWaits THEN "announces" ELSE "decides")
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages, my>>

(* A page that was written meanwhile stays. *)
IsUnchanged(t) == my[t].page \notin changed
Decide(t) ==
    LET p == my[t].page IN
    /\ map = t /\ pc[t] = "decides"
    /\ IF IsUnchanged(t)
       THEN below' = [below EXCEPT ![p] = my[t].got[1].v] /\ table' = [table EXCEPT ![p] = None]
       ELSE UNCHANGED <<below, table>>
    /\ leaving' = leaving \ {p} /\ changed' = changed \ {p}
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, asleep, now>>

(* The store has been written: the page is clean if it has the same contents. *)
EndWriteBack(t) ==
    LET p == my[t].page  v == my[t].got[1].v IN
    /\ map = t /\ pc[t] = "writes back"
    /\ below' = IF now[p] = v THEN [below EXCEPT ![p] = v] ELSE below
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<table, frame, readers, awaiting, asleep, leaving, changed, now>>

(* A free frame is filled while map is free, and then comes to the table,  *)
(* unless its page was written meanwhile.                                  *)
Load(t) ==
    LET p == my[t].page  h == my[t].half  c == Of(p, below[p]) IN
    /\ pc[t] = "loads"
    /\ frame' = [frame EXCEPT ![my[t].frame][h] = c]
    /\ my' = [my EXCEPT ![t].got[h] = c, ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, "has loaded") ELSE UNCHANGED pc
    /\ UNCHANGED <<map, readers, awaiting, asleep, pages>>

Anew(t) == [my[t] EXCEPT !.frame = None, !.got = Nothing, !.old = FALSE]
EndLoad(t) ==
    /\ map = t /\ pc[t] = "has loaded"
    /\ IF my[t].old
       THEN /\ my' = [my EXCEPT ![t] = Anew(t)]
            /\ Goto(t, "comes")
            /\ UNCHANGED <<table, map>>
       ELSE /\ table' = [table EXCEPT ![my[t].page] = my[t].frame]
            /\ map' = Nobody
            /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, asleep, leaving, changed, below, now>>

-----------------------------------------------------------------------------
Inside(t) ==
    \/ Look(t) \/ Copy(t) \/ EndCopy(t) \/ Unpin(t) \/ LookWhoWaits(t) \/ Call(t)
    \/ Announce(t) \/ Wait(t) \/ FallAsleep(t)
    \/ Change(t) \/ Drop(t) \/ EndPut(t) \/ Decide(t) \/ EndWriteBack(t) \/ Load(t) \/ EndLoad(t)

Next == \E t \in Threads : Begin(t) \/ Lock(t) \/ Inside(t) \/ WakeForNoReason(t)

Spec == Init /\ [][Next]_vars

(* A thread goes on, and gets the mutex if it is free again and again.     *)
(* Nothing is said of whether calls begin, nor of wake-ups for no reason.  *)
FairSpec == Spec /\ \A t \in Threads : WF_vars(Inside(t)) /\ SF_vars(Lock(t))

-----------------------------------------------------------------------------
Places ==
    {"outside", "comes", "copies", "copies with map", "has copied", "unpins", "looks", "calls", "announces", "waits",
     "falls asleep", "asleep", "changes", "drops", "puts", "decides", "writes back", "loads", "has loaded"}
Halves == (Contents \cup {None}) \X (Contents \cup {None})
TypeOK ==
    /\ map \in Threads \cup {Nobody}
    /\ table \in [Pages -> Frames \cup {None}]
    /\ frame \in [Frames -> Halves]
    /\ readers \in [Frames -> 0 .. Cardinality(Threads)] /\ awaiting \in 0 .. Cardinality(Threads)
    /\ asleep \subseteq Threads /\ leaving \subseteq Pages /\ changed \subseteq leaving
    /\ below \in [Pages -> 0 .. Versions - 1] /\ now \in [Pages -> 0 .. Versions - 1]
    /\ pc \in [Threads -> Places]
    /\ my \in [Threads -> [call : Calls \cup {None}, page : Pages \cup {None}, frame : Frames \cup {None}, half : {1, 2},
                           got : Halves, slept : BOOLEAN, old : BOOLEAN, seen : SUBSET (0 .. Versions - 1)]]

Pins(f)     == {t \in Threads : pc[t] \in {"copies", "unpins"} /\ my[t].frame = f}
Changers(f) == {t \in Threads : pc[t] \in {"changes", "loads"} /\ my[t].frame = f}
Waiters     == {t \in Threads : pc[t] \in {"waits", "falls asleep", "asleep"}}

(* Who needs map has it, and nobody else. *)
NeedsMap == {"copies with map", "has copied", "announces", "waits", "falls asleep", "changes", "drops", "decides"}
MapIsHeld == \A t \in Threads :
    /\ pc[t] \in NeedsMap => map = t
    /\ map = t => pc[t] \in NeedsMap \cup (Locking \ {"asleep"})

CountsAreRight ==
    /\ \A f \in Frames : readers[f] = Cardinality(Pins(f))
    /\ awaiting = Cardinality(Waiters)

(* What was copied is whole: contents that the page itself had since the call began. *)
CopyIsWhole == \A t \in Threads :
    my[t].got[2] # None /\ ~my[t].old =>
        my[t].got[1] = my[t].got[2] /\ my[t].got[2].page = my[t].page /\ my[t].got[2].v \in my[t].seen

(* One thread at a time changes the bytes of a frame, and none that has readers. *)
ChangedAlone == \A f \in Frames :
    /\ Cardinality(Changers(f)) <= 1
    /\ Changers(f) # {} => readers[f] = 0

(* The page that a reader copies without map is in the table, in that frame. *)
ReadIsInTable == \A t \in Threads : pc[t] = "copies" => table[my[t].page] = my[t].frame
FreeIsUnread == \A f \in FreeFrames : readers[f] = 0

(* A frame has one page, and one that a load fills has none.  A page has   *)
(* one frame, but for loads that are old.                                  *)
OnePageEach == \A p \in Pages : table[p] # None =>
    /\ \A q \in Pages \ {p} : table[q] # table[p]
    /\ \A t \in Threads : pc[t] \in Loading => my[t].frame # table[p] /\ (my[t].page = p => my[t].old)

(* What is old is a load, and not what comes after it. *)
OldIsLoading == \A t \in Threads : my[t].old => pc[t] \in Loading

(* A page that is on its way to the SSD stays in its frame, and one thread brings it there. *)
Bringers(p) == {t \in Threads : my[t].call = "evict" /\ my[t].page = p /\ my[t].frame # None}
LeavingStays == \A p \in Pages :
    /\ p \in leaving <=> Bringers(p) # {}
    /\ Cardinality(Bringers(p)) <= 1
    /\ \A t \in Bringers(p) : table[p] = my[t].frame

(* The newest contents are in memory, or below. *)
NewestIsKept == \A p \in Pages :
    IF table[p] = None THEN below[p] = now[p]
    ELSE Changers(table[p]) = {} => frame[table[p]] = <<Of(p, now[p]), Of(p, now[p])>>

(* Whoever sleeps for a frame without readers is about to be woken, by its last reader. *)
NoLostWakeUp == \A t \in asleep :
    IsUnread(t) => \E r \in Threads : pc[r] \in {"looks", "calls"} /\ my[r].frame = my[t].frame

(* While somebody waits nobody begins to copy without map. *)
NobodyPinsMeanwhile == [][\A f \in Frames : readers'[f] > readers[f] => awaiting = 0]_vars

(* A page leaves memory unread. *)
LeavesUnread == [][\A p \in Pages : table[p] # None /\ table'[p] # table[p] => readers[table[p]] = 0 /\ readers'[table[p]] = 0]_vars

(* Every call ends. *)
EachEnds == \A t \in Threads : pc[t] # "outside" ~> pc[t] = "outside"
=============================================================================

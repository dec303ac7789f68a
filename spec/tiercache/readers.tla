\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE readers ------------------------------
(***************************************************************************)
(* How a hit in the memory of csrc/tiercache copies its page without the   *)
(* mutex `map`, step by step.  tiercache has the same calls, each change   *)
(* of the memory as one step; here a page has two halves, and is copied    *)
(* and changed half by half.                                               *)
(*                                                                         *)
(* Each frame has a word: how many threads have pinned it, and whether it  *)
(* is closed.  A reader looks in the table without map, pins the frame     *)
(* that it finds if that is not closed, then looks whether the frame has   *)
(* its page by name, copies, and unpins.  If it finds anything else it     *)
(* goes the slow way, with map.  The look in the table may give any frame, *)
(* or none: nothing hangs on it.                                           *)
(*                                                                         *)
(* Who changes a page in its frame, or takes it from there, has map and    *)
(* closes the frame.  If nobody has pinned it, he has it for himself.      *)
(* Otherwise he counts himself among those who wait for the frame, and     *)
(* sleeps at the condition `unread`.  The last one to unpin a closed frame *)
(* wakes all.  A frame is open again when its holder gives map back, but   *)
(* stays closed while somebody waits for it; who comes then copies with    *)
(* map held.  A free frame has no name, and need not be closed.            *)
(*                                                                         *)
(* variable       in the C code                                            *)
(*   map            who holds the mutex                                    *)
(*   table          the frame of each page that is in memory               *)
(*   named          the page that each frame has (atomic)                  *)
(*   frame          the bytes of each frame: two halves                    *)
(*   word           the pins of each frame, and whether it is closed       *)
(*                    (one atomic)                                         *)
(*   waiting        how many wait until nobody has pinned a frame          *)
(*   held           the frame that the holder of map has closed            *)
(*   asleep         who sleeps at `unread`                                 *)
(*   leaving        the pages that are on their way to the SSD             *)
(*   changed        those of them that were written since (the C code      *)
(*                    compares versions)                                   *)
(*   below          what a load of a page finds, on the SSD or the store   *)
(*   now            the newest contents of a page (no variable of the C    *)
(*                    code)                                                *)
(*   pc, my         where a thread is; its call, page, frame, the page     *)
(*                    that it takes from memory, which half is next,       *)
(*                    what it has copied, whether it has slept, whether    *)
(*                    its load is old, and what the page has been since    *)
(*                    the call began                                       *)
(*                                                                         *)
(* A step has at most one access to what others look at without map: a     *)
(* word, a name, or half a frame.  So what is done with map held to all    *)
(* else is one step with it, and so is giving map back.  As the look in    *)
(* the table without map may give anything, it is one step with the pin.   *)
(* Memory is sequentially consistent; Litmus has the orders of C11.        *)
(*                                                                         *)
(* Simplified: contents are numbers below Versions, and after the last     *)
(* comes the first again.  Files do not fail, and a write to a file is no  *)
(* step.  Who waits for another thread's load does not take map before.    *)
(* Who needs room drops pages; evictions are calls of their own.  Who can  *)
(* make none ends its call, where the C code reads past the memory.        *)
(*                                                                         *)
(* How to break it: the mutants of MCreaders.                              *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Threads, Pages, Frames,
    Versions,
    May,        \* what each thread does: of "read", "write", "drop", "evict", "gather"
    None

VARIABLES
    map,        \* who holds the mutex
    table,      \* the frame of each page that is in memory
    named,      \* the page that each frame says it has
    frame,
    word,       \* of each frame: how many have pinned it, and whether it is closed
    waiting,    \* how many threads wait until nobody has pinned each frame
    held,       \* the frame that who holds the mutex has closed
    asleep,     \* who sleeps
    leaving,    \* the pages that are on their way to the SSD
    changed,    \* those of them that were written since
    below,      \* the version of each page on the SSD or the store
    now,        \* the newest version of each page
    pc, my

pages == <<table, leaving, changed, below, now>>
waits == <<waiting, held, asleep>>
vars  == <<map, table, named, frame, word, waiting, held, asleep, leaving, changed, below, now, pc, my>>

Nobody   == "nobody"
Calls    == {"read", "write", "drop", "evict", "gather"}
Contents == [page : Pages, v : 0 .. Versions - 1]
Of(p, v) == [page |-> p, v |-> v]
Nothing  == <<None, None>>
Idle     == [call |-> None, page |-> None, frame |-> None, victim |-> None, half |-> 1, got |-> Nothing,
             slept |-> FALSE, old |-> FALSE, seen |-> {}]

Init ==
    /\ map = Nobody
    /\ table = [p \in Pages |-> None]
    /\ named = [f \in Frames |-> None]
    /\ frame = [f \in Frames |-> Nothing]
    /\ word = [f \in Frames |-> [pins |-> 0, closed |-> FALSE]]
    /\ waiting = [f \in Frames |-> 0]
    /\ held = None
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
    /\ Goto(t, IF call = "read" THEN "peeks" ELSE "comes")
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>

-----------------------------------------------------------------------------
(* A reader, without map. *)

(* The table may change meanwhile, so the look there may give anything.    *)
MayPin(f) == ~word[f].closed
Pinned(f) == [word EXCEPT ![f].pins = @ + 1]
Peek(t) == \E f \in Frames \cup {None} :
    /\ pc[t] = "peeks"
    /\ IF f # None /\ MayPin(f)
       THEN word' = Pinned(f) /\ my' = [my EXCEPT ![t].frame = f] /\ Goto(t, "checks")
       ELSE Goto(t, "comes") /\ UNCHANGED <<word, my>>
    /\ UNCHANGED <<map, named, frame, waits, pages>>

HasItsPage(t) == named[my[t].frame] = my[t].page
Check(t) ==
    /\ pc[t] = "checks"
    /\ Goto(t, IF HasItsPage(t) THEN "copies" ELSE "unpins")
    /\ UNCHANGED <<map, named, frame, word, waits, pages, my>>

(* It unpins the frame.  If that was closed, the last one takes map to     *)
(* wake those who wait: so nobody is between its look and its sleep.       *)
Unpinned(f) == [word EXCEPT ![f].pins = @ - 1]
IsLast(f) == word[f].closed /\ word[f].pins = 1
HasCopied(t) == my[t].got # Nothing
Through(t) == IF HasCopied(t) THEN End(t) ELSE Goto(t, "comes") /\ my' = [my EXCEPT ![t].frame = None]
Unpin(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "unpins"
    /\ word' = Unpinned(f)
    /\ IF IsLast(f) THEN Goto(t, "calls") /\ UNCHANGED my ELSE Through(t)
    /\ UNCHANGED <<map, named, frame, waits, pages>>

Call(t) ==
    /\ map = t /\ pc[t] = "calls"
    /\ asleep' = {}
    /\ map' = Nobody
    /\ Through(t)
    /\ UNCHANGED <<named, frame, word, waiting, held, pages>>

-----------------------------------------------------------------------------
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
    /\ UNCHANGED <<named, frame, word, waits, pages, my>>

(* Who gives map back opens what it holds, unless another thread waits for *)
(* that.                                                                   *)
MayOpen(f) == waiting[f] = 0
Opened == IF held # None /\ MayOpen(held) THEN [word EXCEPT ![held].closed = FALSE] ELSE word
GiveBack == word' = Opened /\ held' = None /\ map' = Nobody

(* Map is given back, at once or by Open. *)
Leave(t) == IF held = None THEN map' = Nobody /\ End(t) ELSE Goto(t, "ends") /\ UNCHANGED <<map, my>>

-----------------------------------------------------------------------------
(* With map held: a call looks where its page is. *)

With(t, f) == my' = [my EXCEPT ![t].frame = f, ![t].victim = None, ![t].slept = FALSE]

(* Nobody closes a frame meanwhile: so this look and the pin are one.      *)
MayPinWithMap(f) == ~word[f].closed
LookToHit(t, f) ==
    /\ With(t, f)
    /\ IF ~MayPinWithMap(f)
       THEN Goto(t, "copies with map") /\ UNCHANGED <<word, map>>
       ELSE /\ word' = Pinned(f)
            /\ IF held = None
               THEN map' = Nobody /\ Goto(t, "copies")
               ELSE Goto(t, "has pinned") /\ UNCHANGED map
    /\ UNCHANGED <<named, held>>
LookToLoad(t) ==
    /\ \E f \in FreeFrames : With(t, f)
    /\ GiveBack /\ Goto(t, "loads")
    /\ UNCHANGED named
LookToRead(t) ==
    LET f == table[my[t].page] IN
    /\ IF f # None THEN LookToHit(t, f) ELSE LookToLoad(t)
    /\ UNCHANGED <<leaving, changed>>

(* A page that is written while it is loaded: what is loaded is old. *)
LoadsAreOld(p) == [t \in Threads |-> IF pc[t] \in Loading /\ my[t].page = p THEN [my[t] EXCEPT !.old = TRUE] ELSE my[t]]
LookToWrite(t) ==
    LET f == table[my[t].page] IN
    /\ IF f # None
       THEN With(t, f) /\ Goto(t, "closes")
       ELSE /\ Goto(t, "changes")
            /\ \E g \in FreeFrames : my' = [LoadsAreOld(my[t].page) EXCEPT ![t].frame = g, ![t].victim = None]
    /\ UNCHANGED <<word, named, map, held, leaving, changed>>

(* What is on its way to the SSD leaves by that way alone. *)
IsOnItsWay(p) == p \in leaving
IsClean(p) == below[p] = now[p]
WithVictim(t, p) == my' = [my EXCEPT ![t].frame = table[p], ![t].victim = p, ![t].slept = FALSE]
LookToDrop(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None /\ ~IsOnItsWay(p) /\ IsClean(p)
       THEN WithVictim(t, p) /\ Goto(t, "closes") /\ UNCHANGED map
       ELSE Leave(t)
    /\ UNCHANGED <<word, named, held, leaving, changed>>

(* Who needs room takes another page from memory, and looks anew.          *)
Victims(t) == {p \in Pages \ {my[t].page} : table[p] # None /\ ~IsOnItsWay(p) /\ IsClean(p)}
MakeRoom(t) ==
    /\ \E p \in Victims(t) : WithVictim(t, p)
    /\ Goto(t, "closes")
    /\ UNCHANGED <<word, named, map, held, leaving, changed>>

LookToEvict(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None /\ ~IsOnItsWay(p)
       THEN /\ leaving' = leaving \cup {p} /\ changed' = changed \ {p}
            /\ With(t, table[p]) /\ Goto(t, "copies with map") /\ UNCHANGED map
       ELSE Leave(t) /\ UNCHANGED <<leaving, changed>>
    /\ UNCHANGED <<word, named, held>>

LookToGather(t) ==
    LET p == my[t].page IN
    /\ IF table[p] # None
       THEN With(t, table[p]) /\ Goto(t, "copies with map") /\ UNCHANGED map
       ELSE Leave(t)
    /\ UNCHANGED <<word, named, held, leaving, changed>>

(* Whose load was old may find that another thread loads the page. *)
Look(t) ==
    /\ map = t /\ pc[t] = "comes"
    /\ IF IsComing(t)
       THEN GiveBack /\ UNCHANGED <<named, leaving, changed, pc, my>>
       ELSE IF ~HasRoom(t) /\ Victims(t) = {}
       THEN Leave(t) /\ UNCHANGED <<word, named, held, leaving, changed>>
       ELSE IF ~HasRoom(t)
       THEN MakeRoom(t)
       ELSE CASE my[t].call = "read"   -> LookToRead(t)
              [] my[t].call = "write"  -> LookToWrite(t)
              [] my[t].call = "drop"   -> LookToDrop(t)
              [] my[t].call = "evict"  -> LookToEvict(t)
              [] my[t].call = "gather" -> LookToGather(t)
    /\ UNCHANGED <<table, frame, waiting, asleep, below, now>>

-----------------------------------------------------------------------------
(* A copy, half by half: of a reader without map; and with it, of one that *)
(* found its frame closed, of a write-back, and for the SSD.               *)

Copying == {"copies", "copies with map"}
AfterCopy(t) == IF pc[t] = "copies" THEN "unpins" ELSE "has copied"
Copy(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, AfterCopy(t)) ELSE UNCHANGED pc
    /\ UNCHANGED <<map, named, frame, word, waits, pages>>

EndCopy(t) ==
    /\ map = t /\ pc[t] = "has copied"
    /\ GiveBack
    /\ CASE my[t].call = "read"   -> End(t)
         [] my[t].call = "evict"  -> Goto(t, "puts") /\ UNCHANGED my
         [] my[t].call = "gather" -> Goto(t, "writes back") /\ UNCHANGED my
    /\ UNCHANGED <<named, frame, waiting, asleep, pages>>

-----------------------------------------------------------------------------
(* Who must have a frame for itself, with map held. *)

(* Who has slept looks anew where its page is; but one that is on its way  *)
(* to the SSD has not left its frame.                                      *)
LooksAnew(t) == my[t].slept
AfterWait(t) ==
    IF my[t].call = "evict" THEN "decides"
    ELSE IF LooksAnew(t) THEN "comes"
    ELSE IF my[t].victim = None THEN "changes"
    ELSE "drops"

IsUnpinned(t) == word[my[t].frame].pins = 0
Close(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "closes"
    /\ IF held \notin {None, f}
       THEN word' = Opened /\ held' = None /\ UNCHANGED <<waiting, pc>>
       ELSE /\ word' = [word EXCEPT ![f].closed = TRUE] /\ held' = f
            /\ IF IsUnpinned(t)
               THEN Goto(t, AfterWait(t)) /\ UNCHANGED waiting
               ELSE Goto(t, "falls asleep") /\ waiting' = [waiting EXCEPT ![f] = @ + 1]
    /\ UNCHANGED <<map, named, frame, asleep, pages, my>>

FallAsleep(t) ==
    /\ map = t /\ pc[t] = "falls asleep"
    /\ GiveBack
    /\ asleep' = asleep \cup {t}
    /\ my' = [my EXCEPT ![t].slept = TRUE]
    /\ Goto(t, "asleep")
    /\ UNCHANGED <<named, frame, waiting, pages>>

WakeForNoReason(t) ==
    /\ t \in asleep
    /\ asleep' = asleep \ {t}
    /\ UNCHANGED <<map, named, frame, word, waiting, held, pages, pc, my>>

Wait(t) ==
    LET f == my[t].frame IN
    /\ map = t /\ pc[t] = "waits"
    /\ IF IsUnpinned(t)
       THEN waiting' = [waiting EXCEPT ![f] = @ - 1] /\ held' = f /\ Goto(t, AfterWait(t))
       ELSE Goto(t, "falls asleep") /\ UNCHANGED <<waiting, held>>
    /\ UNCHANGED <<map, named, frame, word, asleep, pages, my>>

Open(t) ==
    /\ map = t /\ pc[t] \in {"ends", "has pinned"}
    /\ GiveBack
    /\ IF pc[t] = "ends" THEN End(t) ELSE Goto(t, "copies") /\ UNCHANGED my
    /\ UNCHANGED <<named, frame, waiting, asleep, pages>>

-----------------------------------------------------------------------------
(* What they have it for. *)

Next1(v) == (v + 1) % Versions
(* Calls that are under way have met these contents. *)
Met(p, v) == [t \in Threads |-> IF my[t].page = p THEN [my[t] EXCEPT !.seen = @ \cup {v}] ELSE my[t]]
Change(t) ==
    LET p == my[t].page  f == my[t].frame  h == my[t].half  v == Next1(now[p]) IN
    /\ map = t /\ pc[t] = "changes"
    /\ frame' = [frame EXCEPT ![f][h] = Of(p, v)]
    /\ IF h = 1
       THEN my' = [my EXCEPT ![t].half = 2] /\ UNCHANGED <<table, changed, now, pc>>
       ELSE /\ now' = [now EXCEPT ![p] = v]
            /\ table' = [table EXCEPT ![p] = f]
            /\ changed' = changed \cup ({p} \cap leaving)
            /\ my' = Met(p, v)
            /\ Goto(t, IF named[f] = p THEN "ends" ELSE "names")
    /\ UNCHANGED <<map, named, word, waits, leaving, below>>

(* The name comes last. *)
Named(f, p) == [named EXCEPT ![f] = p]
Name(t) ==
    /\ map = t /\ pc[t] = "names"
    /\ named' = Named(my[t].frame, my[t].page)
    /\ Leave(t)
    /\ UNCHANGED <<frame, word, waits, pages>>

(* A page leaves memory: its frame has no name, and is free. *)
Nameless(f) == [named EXCEPT ![f] = None]
Drop(t) ==
    /\ map = t /\ pc[t] = "drops"
    /\ named' = Nameless(my[t].frame)
    /\ table' = [table EXCEPT ![my[t].victim] = None]
    /\ IF my[t].call = "drop"
       THEN Leave(t)
       ELSE Goto(t, "comes") /\ my' = [my EXCEPT ![t].frame = None, ![t].victim = None] /\ UNCHANGED map
    /\ UNCHANGED <<frame, word, waits, leaving, changed, below, now>>

(* The SSD has been written. *)
EndPut(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ Goto(t, "closes")
    /\ UNCHANGED <<map, named, frame, word, waits, pages, my>>

(* A page that was written meanwhile stays. *)
IsUnchanged(t) == my[t].page \notin changed
Decide(t) ==
    LET p == my[t].page IN
    /\ map = t /\ pc[t] = "decides"
    /\ IF IsUnchanged(t)
       THEN /\ below' = [below EXCEPT ![p] = my[t].got[1].v] /\ table' = [table EXCEPT ![p] = None]
            /\ named' = Nameless(my[t].frame)
       ELSE UNCHANGED <<below, table, named>>
    /\ leaving' = leaving \ {p} /\ changed' = changed \ {p}
    /\ Leave(t)
    /\ UNCHANGED <<frame, word, waits, now>>

(* The store has been written: the page is clean if it has the same contents. *)
EndWriteBack(t) ==
    LET p == my[t].page  v == my[t].got[1].v IN
    /\ map = t /\ pc[t] = "writes back"
    /\ below' = IF now[p] = v THEN [below EXCEPT ![p] = v] ELSE below
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<table, named, frame, word, waits, leaving, changed, now>>

(* A free frame is filled while map is free, and then comes to the table   *)
(* and gets its name, unless its page was written meanwhile.               *)
Load(t) ==
    LET p == my[t].page  h == my[t].half  c == Of(p, below[p]) IN
    /\ pc[t] = "loads"
    /\ frame' = [frame EXCEPT ![my[t].frame][h] = c]
    /\ my' = [my EXCEPT ![t].got[h] = c, ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, "has loaded") ELSE UNCHANGED pc
    /\ UNCHANGED <<map, named, word, waits, pages>>

Anew(t) == [my[t] EXCEPT !.frame = None, !.got = Nothing, !.old = FALSE]
EndLoad(t) ==
    /\ map = t /\ pc[t] = "has loaded"
    /\ IF my[t].old
       THEN /\ my' = [my EXCEPT ![t] = Anew(t)]
            /\ Goto(t, "comes")
            /\ UNCHANGED <<table, named, map>>
       ELSE /\ table' = [table EXCEPT ![my[t].page] = my[t].frame]
            /\ named' = Named(my[t].frame, my[t].page)
            /\ map' = Nobody
            /\ End(t)
    /\ UNCHANGED <<frame, word, waits, leaving, changed, below, now>>

-----------------------------------------------------------------------------
Inside(t) ==
    \/ Peek(t) \/ Check(t) \/ Copy(t) \/ Unpin(t) \/ Call(t)
    \/ Look(t) \/ EndCopy(t)
    \/ Close(t) \/ FallAsleep(t) \/ Wait(t) \/ Open(t)
    \/ Change(t) \/ Name(t) \/ Drop(t) \/ EndPut(t) \/ Decide(t) \/ EndWriteBack(t) \/ Load(t) \/ EndLoad(t)

Next == \E t \in Threads : Begin(t) \/ Lock(t) \/ Inside(t) \/ WakeForNoReason(t)

Spec == Init /\ [][Next]_vars

(* A thread goes on, and gets the mutex if it is free again and again.     *)
(* Nothing is said of whether calls begin, nor of wake-ups for no reason.  *)
FairSpec == Spec /\ \A t \in Threads : WF_vars(Inside(t)) /\ SF_vars(Lock(t))

-----------------------------------------------------------------------------
Places ==
    {"outside", "peeks", "checks", "unpins", "calls", "comes", "copies", "has pinned", "copies with map", "has copied",
     "closes", "falls asleep", "asleep", "waits", "ends", "changes", "names", "drops", "puts", "decides", "writes back",
     "loads", "has loaded"}
Halves == (Contents \cup {None}) \X (Contents \cup {None})
TypeOK ==
    /\ map \in Threads \cup {Nobody}
    /\ table \in [Pages -> Frames \cup {None}]
    /\ named \in [Frames -> Pages \cup {None}]
    /\ frame \in [Frames -> Halves]
    /\ word \in [Frames -> [pins : 0 .. Cardinality(Threads), closed : BOOLEAN]]
    /\ waiting \in [Frames -> 0 .. Cardinality(Threads)] /\ held \in Frames \cup {None}
    /\ asleep \subseteq Threads /\ leaving \subseteq Pages /\ changed \subseteq leaving
    /\ below \in [Pages -> 0 .. Versions - 1] /\ now \in [Pages -> 0 .. Versions - 1]
    /\ pc \in [Threads -> Places]
    /\ my \in [Threads -> [call : Calls \cup {None}, page : Pages \cup {None}, frame : Frames \cup {None},
                           victim : Pages \cup {None}, half : {1, 2}, got : Halves, slept : BOOLEAN, old : BOOLEAN,
                           seen : SUBSET (0 .. Versions - 1)]]

(* Who has pinned a frame, and who of them has seen that it has its page.  *)
Pinners(f)  == {t \in Threads : pc[t] \in {"checks", "has pinned", "copies", "unpins"} /\ my[t].frame = f}
Readers(f)  == {t \in Pinners(f) : pc[t] \in {"has pinned", "copies"} \/ (pc[t] = "unpins" /\ HasCopied(t))}
Changers(f) == {t \in Threads : pc[t] \in {"changes", "loads"} /\ my[t].frame = f}
Waiters(f)  == {t \in Threads : pc[t] \in {"waits", "falls asleep", "asleep"} /\ my[t].frame = f}

(* Who needs map has it, and nobody else; and who gives it back holds no   *)
(* frame.                                                                  *)
NeedsMap ==
    {"has pinned", "copies with map", "has copied", "closes", "waits", "falls asleep", "ends", "changes", "names",
     "drops", "decides"}
MapIsHeld ==
    /\ \A t \in Threads :
        /\ pc[t] \in NeedsMap => map = t
        /\ map = t => pc[t] \in NeedsMap \cup (Locking \ {"asleep"})
    /\ map = Nobody => held = None

(* A frame counts those that have pinned it, and those that wait for it. *)
CountsAreRight == \A f \in Frames :
    /\ word[f].pins = Cardinality(Pinners(f))
    /\ waiting[f] = Cardinality(Waiters(f))

(* A frame is closed only if its holder has map, or somebody waits for it: *)
(* otherwise readers would go the slow way for ever.                       *)
ClosedForAReason == \A f \in Frames : word[f].closed => waiting[f] > 0 \/ held = f
(* And it is closed as long as there is such a reason. *)
ClosedWhileNeeded == \A f \in Frames : waiting[f] > 0 \/ held = f => word[f].closed

(* A frame that has a name has that page in the table.  A page in the      *)
(* table has its frame's name, but while who puts it there has map.        *)
NamesAreRight == \A f \in Frames, p \in Pages :
    /\ named[f] = p => table[p] = f
    /\ table[p] = f /\ named[f] # p => \E t \in Threads : pc[t] = "names" /\ my[t].frame = f

(* What was copied is whole: contents that the page itself had since the call began. *)
CopyIsWhole == \A t \in Threads :
    my[t].got[2] # None /\ ~my[t].old =>
        my[t].got[1] = my[t].got[2] /\ my[t].got[2].page = my[t].page /\ my[t].got[2].v \in my[t].seen

(* One thread at a time changes the bytes of a frame, and no reader that has seen its page there has pinned it. *)
ChangedAlone == \A f \in Frames :
    /\ Cardinality(Changers(f)) <= 1
    /\ Changers(f) # {} => Readers(f) = {}

(* The page that a reader has seen in a frame, and copies, is in the table, in that frame. *)
ReadIsInTable == \A f \in Frames : \A t \in Readers(f) : table[my[t].page] = f
FreeIsUnread == \A f \in FreeFrames : Readers(f) = {}

(* A frame has one page, and one that a load fills has none.  A page has   *)
(* one frame, but for loads that are old.                                  *)
OnePageEach == \A p \in Pages : table[p] # None =>
    /\ \A q \in Pages \ {p} : table[q] # table[p]
    /\ \A t \in Threads : pc[t] \in Loading => my[t].frame # table[p] /\ (my[t].page = p => my[t].old)

(* What is old is a load, and not what comes after it. *)
OldIsLoading == \A t \in Threads : my[t].old => pc[t] \in Loading

(* A page that is on its way to the SSD stays in its frame, and one thread brings it there. *)
Bringers(p) == {t \in Threads : my[t].call = "evict" /\ my[t].page = p /\ my[t].frame # None /\ pc[t] # "ends"}
LeavingStays == \A p \in Pages :
    /\ p \in leaving <=> Bringers(p) # {}
    /\ Cardinality(Bringers(p)) <= 1
    /\ \A t \in Bringers(p) : table[p] = my[t].frame

(* The newest contents are in memory, or below. *)
NewestIsKept == \A p \in Pages :
    IF table[p] = None THEN below[p] = now[p]
    ELSE Changers(table[p]) = {} => frame[table[p]] = <<Of(p, now[p]), Of(p, now[p])>>

(* Whoever sleeps for a frame that nobody has pinned is about to be woken, by the last one that unpinned it. *)
NoLostWakeUp == \A t \in asleep :
    IsUnpinned(t) => \E r \in Threads : pc[r] = "calls" /\ my[r].frame = my[t].frame

(* While somebody waits for a frame nobody pins it. *)
NobodyPinsMeanwhile == [][\A f \in Frames : word'[f].pins > word[f].pins => waiting[f] = 0]_vars

(* A reader that unpins its frame takes map only if somebody waits for that. *)
CallsForAReason == [][\A t \in Threads : pc[t] = "unpins" /\ pc'[t] = "calls" => waiting[my[t].frame] > 0]_vars

(* A page leaves a frame that is closed, and that nobody has pinned. *)
LeavesUnread == [][\A p \in Pages : table[p] # None /\ table'[p] # table[p] =>
    word[table[p]].closed /\ word[table[p]].pins = 0]_vars

(* Every call ends. *)
EachEnds == \A t \in Threads : pc[t] # "outside" ~> pc[t] = "outside"
=============================================================================

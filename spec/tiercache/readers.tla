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

VARIABLES
    map,        \* who holds the mutex
    table,      \* the frame of each page that is in memory
    frame,
    readers,    \* how many threads copy each frame without map
    awaiting,   \* how many threads wait for a frame without readers
    asleep,     \* who sleeps
    leaving,    \* the pages that are on their way to the SSD
    changed,    \* those of them that were written since
    below,      \* the version of each page on the SSD or the store
    now,        \* the newest version of each page
    pc, my

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
\* STEP t \in Threads | thread {t} -> cache | wants to {IF my'[t].call = "evict" THEN "move" ELSE IF my'[t].call =
\*        "gather" THEN "copy" ELSE my'[t].call} page {my'[t].page}{IF my'[t].call = "drop" THEN " from memory" ELSE IF
\*        my'[t].call = "evict" THEN " to the SSD" ELSE IF my'[t].call = "gather" THEN " back to the store" ELSE ""}
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
\* SMALL t \in Threads | thread {t} -> map | takes the mutex map
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
\* STEP t \in Threads if pc' = pc | thread {t} -> cache | finds that another thread loads page {my[t].page}, and gives
\*        map back, to wait for that
\* STEP t \in Threads if pc'[t] = "outside" /\ IsMissing(t) | thread {t} -> cache | finds no page {my[t].page} and no
\*        free frame: its call ends here
\* STEP t \in Threads if pc'[t] = "outside" | thread {t} -> cache | finds nothing to do for page {my[t].page}: its call
\*        ends
\* STEP t \in Threads if pc'[t] = "loads" | thread {t} -> cache | does not find page {my[t].page}, takes frame
\*        {my'[t].frame} to load it into, and gives map back
\* STEP t \in Threads if pc'[t] = "copies" /\ readers' # readers | thread {t} -> cache | finds page {my[t].page} in
\*        frame {table[my[t].page]}, counts itself as a reader of it, and gives map back
\* STEP t \in Threads if map' # t | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and
\*        gives map back. It does not count itself as a reader
\* STEP t \in Threads if pc'[t] = "copies with map" /\ my[t].call = "read" | thread {t} -> cache | finds page
\*        {my[t].page} in frame {table[my[t].page]}. Somebody waits for a frame without readers, so it will copy with
\*        map held
\* STEP t \in Threads if pc'[t] = "copies with map" /\ my[t].call = "evict" | thread {t} -> cache | says that page
\*        {my[t].page} in frame {table[my[t].page]} is on its way to the SSD, and will copy it with map held
\* STEP t \in Threads if pc'[t] = "copies with map" | thread {t} -> cache | finds page {my[t].page} in frame
\*        {table[my[t].page]}, and will copy it with map held
\* STEP t \in Threads if pc'[t] = "announces" | thread {t} -> cache | finds page {my[t].page} in frame
\*        {table[my[t].page]}. It must have that frame without readers
\* STEP t \in Threads if table[my[t].page] = None | thread {t} -> cache | does not find page {my[t].page}, and takes
\*        the free frame {my'[t].frame} for it
\* STEP t \in Threads | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and does not look
\*        whether that has readers
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
\* STEP t \in Threads if my'[t].got[my[t].half] # None | thread {t} -> frame {my[t].frame} | copies the {IF my[t].half
\*        = 1 THEN "first" ELSE "second"} half of frame {my[t].frame}: it is of page {my'[t].got[my[t].half].page},
\*        version {my'[t].got[my[t].half].v}
\* STEP t \in Threads if readers' # readers | thread {t} -> frame {my[t].frame} | counts itself as a reader of frame
\*        {my[t].frame}
\* STEP t \in Threads | thread {t} -> frame {my[t].frame} | copies a half of frame {my[t].frame}
Copy(t) ==
    LET h == my[t].half IN
    /\ pc[t] \in Copying
    /\ my' = [my EXCEPT ![t].got[h] = frame[my[t].frame][h], ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, AfterCopy(t)) ELSE UNCHANGED pc
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>

\* STEP t \in Threads if my[t].call = "read" | thread {t} -> cache | has copied the page, and gives map back: its call
\*        ends
\* STEP t \in Threads if my[t].call = "evict" | thread {t} -> SSD | has copied page {my[t].page}, gives map back, and
\*        writes the copy to the SSD
\* STEP t \in Threads | thread {t} -> store | has copied page {my[t].page}, gives map back, and writes the copy to the
\*        store
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
\* STEP t \in Threads if readers' = readers | thread {t} | looks whether anybody waits, before it counts itself out
\* STEP t \in Threads if readers'[my[t].frame] = 0 | thread {t} -> cache | counts itself out: frame {my[t].frame} has
\*        no readers any more
\* STEP t \in Threads | thread {t} -> cache | counts itself out: readers of frame {my[t].frame} by now:
\*        {readers'[my[t].frame]}
Unpin(t) ==
    LET f == my[t].frame IN
    /\ pc[t] = "unpins"
    /\ readers' = [readers EXCEPT ![f] = @ - 1]
    /\ IF IsLast(f) THEN Goto(t, "looks") /\ UNCHANGED my ELSE End(t)
    /\ UNCHANGED <<map, frame, awaiting, asleep, pages>>

\* STEP t \in Threads if pc'[t] = "outside" | thread {t} | sees that nobody waits for a frame without readers: its call
\*        ends
\* STEP t \in Threads | thread {t} | sees that somebody waits for a frame without readers, and must wake it
LookWhoWaits(t) ==
    /\ pc[t] = "looks"
    /\ IF awaiting = 0 THEN End(t) ELSE Goto(t, "calls") /\ UNCHANGED my
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages>>

Woken == {asleep}
\* STEP t \in Threads if map = t /\ asleep # {} | thread {t} -> cache | wakes these: {asleep \ asleep'}. It gives map
\*        back, and its call ends
\* STEP t \in Threads if asleep # asleep' | thread {t} -> cache | wakes these without map: {asleep \ asleep'}. Its call
\*        ends
\* STEP t \in Threads | thread {t} -> cache | would wake who sleeps; nobody does. Its call ends
Call(t) ==
    /\ map = t /\ pc[t] = "calls"
    /\ \E woken \in Woken : asleep' = asleep \ woken
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, pages>>

-----------------------------------------------------------------------------
(* Who must have a frame without readers, with map held. *)

\* STEP t \in Threads if awaiting' # awaiting | thread {t} -> cache | says that it waits for a frame without readers
\* STEP t \in Threads | thread {t} -> cache | looks whether frame {my[t].frame} has readers: {readers[my[t].frame]}
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
\* STEP t \in Threads if pc'[t] = "falls asleep" | thread {t} -> frame {my[t].frame} | looks at the readers of frame
\*        {my[t].frame}: {readers[my[t].frame]}. It must sleep
\* STEP t \in Threads if pc'[t] = "comes" | thread {t} -> frame {my[t].frame} | looks at the readers of frame
\*        {my[t].frame}: {readers[my[t].frame]}. It has slept, so it looks anew where its page is
\* STEP t \in Threads | thread {t} -> frame {my[t].frame} | looks at the readers of frame {my[t].frame}:
\*        {readers[my[t].frame]}. It waits no more
Wait(t) ==
    /\ map = t /\ pc[t] = "waits"
    /\ IF IsUnread(t)
       THEN awaiting' = awaiting - 1 /\ Goto(t, AfterWait(t))
       ELSE Goto(t, "falls asleep") /\ UNCHANGED awaiting
    /\ UNCHANGED <<map, frame, readers, asleep, pages, my>>

\* STEP t \in Threads | thread {t} | gives map back, and falls asleep until the last reader wakes it
FallAsleep(t) ==
    /\ map = t /\ pc[t] = "falls asleep"
    /\ asleep' = asleep \cup {t}
    /\ map' = Nobody
    /\ my' = [my EXCEPT ![t].slept = TRUE]
    /\ Goto(t, "asleep")
    /\ UNCHANGED <<frame, readers, awaiting, pages>>

\* STEP t \in Threads | thread {t} | wakes up for no reason
WakeForNoReason(t) ==
    /\ t \in asleep
    /\ asleep' = asleep \ {t}
    /\ UNCHANGED <<map, frame, readers, awaiting, pages, pc, my>>

-----------------------------------------------------------------------------
(* What they wait for. *)

Next1(v) == (v + 1) % Versions
(* Calls that are under way have met these contents. *)
Met(p, v) == [t \in Threads |-> IF my[t].page = p THEN [my[t] EXCEPT !.seen = @ \cup {v}] ELSE my[t]]
\* STEP t \in Threads if my'[t] # Idle | thread {t} -> frame {my[t].frame} | writes the first half of frame
\*        {my[t].frame}: page {my[t].page}, version {Next1(now[my[t].page])}
\* STEP t \in Threads | thread {t} -> frame {my[t].frame} | writes the second half of frame {my[t].frame}. Page
\*        {my[t].page} has version {now'[my[t].page]} now, map is free, and the call ends
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

\* STEP t \in Threads | thread {t} -> cache | takes page {my[t].page} from memory, and gives map back: frame
\*        {my[t].frame} is free
Drop(t) ==
    /\ map = t /\ pc[t] = "drops"
    /\ table' = [table EXCEPT ![my[t].page] = None]
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<frame, readers, awaiting, asleep, leaving, changed, below, now>>

(* The SSD has been written. *)
EvictWaits == TRUE
\* STEP t \in Threads | thread {t} -> SSD | has written page {my[t].page} to the SSD, and has map again
EndPut(t) ==
    /\ map = t /\ pc[t] = "puts"
    /\ Goto(t, IF EvictWaits THEN "announces" ELSE "decides")
    /\ UNCHANGED <<map, frame, readers, awaiting, asleep, pages, my>>

(* A page that was written meanwhile stays. *)
IsUnchanged(t) == my[t].page \notin changed
\* STEP t \in Threads if table' # table /\ my[t].page \in changed | thread {t} -> cache | lets page {my[t].page} leave
\*        the memory, though it was written meanwhile
\* STEP t \in Threads if table' # table | thread {t} -> cache | lets page {my[t].page} leave the memory: the SSD has it
\* STEP t \in Threads | thread {t} -> cache | lets page {my[t].page} stay in memory: it was written meanwhile
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
\* STEP t \in Threads | thread {t} -> store | has written version {my[t].got[1].v} of page {my[t].page} to the store,
\*        and gives map back
EndWriteBack(t) ==
    LET p == my[t].page  v == my[t].got[1].v IN
    /\ map = t /\ pc[t] = "writes back"
    /\ below' = IF now[p] = v THEN [below EXCEPT ![p] = v] ELSE below
    /\ map' = Nobody
    /\ End(t)
    /\ UNCHANGED <<table, frame, readers, awaiting, asleep, leaving, changed, now>>

(* A free frame is filled while map is free, and then comes to the table,  *)
(* unless its page was written meanwhile.                                  *)
\* STEP t \in Threads | thread {t} -> frame {my[t].frame} | loads the {IF my[t].half = 1 THEN "first" ELSE "second"}
\*        half of page {my[t].page} into frame {my[t].frame}: version {below[my[t].page]}
Load(t) ==
    LET p == my[t].page  h == my[t].half  c == Of(p, below[p]) IN
    /\ pc[t] = "loads"
    /\ frame' = [frame EXCEPT ![my[t].frame][h] = c]
    /\ my' = [my EXCEPT ![t].got[h] = c, ![t].half = 3 - h]
    /\ IF h = 2 THEN Goto(t, "has loaded") ELSE UNCHANGED pc
    /\ UNCHANGED <<map, readers, awaiting, asleep, pages>>

Anew(t) == [my[t] EXCEPT !.frame = None, !.got = Nothing, !.old = FALSE]
\* STEP t \in Threads if my[t].old | thread {t} -> cache | finds that page {my[t].page} was written while it was
\*        loaded, and begins anew
\* STEP t \in Threads | thread {t} -> cache | puts page {my[t].page} into the table: it is in frame {my[t].frame}. Map
\*        is free, and the call ends
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
\* INNER pc, my, frame
\* NOTE | A page has two halves. A frame is whole if both are of one page and one version
\* NOTE | Nothing is in memory yet. What is below, on the SSD or the store, is version 0 of each page
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
\* BROKEN t \in Threads if pc[t] \in NeedsMap /\ map # t | Thread {t} does what needs map, and {map} has it
MapIsHeld == \A t \in Threads :
    /\ pc[t] \in NeedsMap => map = t
    /\ map = t => pc[t] \in NeedsMap \cup (Locking \ {"asleep"})

(* A frame counts those that copy it without map; and who waits is counted. *)
\* BROKEN f \in Frames if readers[f] # Cardinality(Pins(f)) | Frame {f} counts {readers[f]} readers; those that copy it
\*        without map are {Cardinality(Pins(f))}
\* BROKEN if awaiting # Cardinality(Waiters) | {awaiting} count as waiting for a frame without readers;
\*        {Cardinality(Waiters)} do
CountsAreRight ==
    /\ \A f \in Frames : readers[f] = Cardinality(Pins(f))
    /\ awaiting = Cardinality(Waiters)

(* What was copied is whole: contents that the page itself had since the call began. *)
\* BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] # my[t].got[2] /\ my[t].got[1] # None |
\*        Thread {t} has copied a half of page {my[t].got[1].page}, version {my[t].got[1].v}, and another one of page
\*        {my[t].got[2].page}, version {my[t].got[2].v}
\* BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] = my[t].got[2] /\ my[t].got[2].page #
\*        my[t].page | Thread {t} wanted page {my[t].page}, and has copied page {my[t].got[2].page}
\* BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] = my[t].got[2] /\ my[t].got[2].page =
\*        my[t].page /\ my[t].got[2].v \notin my[t].seen | Thread {t} has version {my[t].got[2].v} of page
\*        {my[t].page}. Since its call began the page has had these: {my[t].seen}
CopyIsWhole == \A t \in Threads :
    my[t].got[2] # None /\ ~my[t].old =>
        my[t].got[1] = my[t].got[2] /\ my[t].got[2].page = my[t].page /\ my[t].got[2].v \in my[t].seen

(* One thread at a time changes the bytes of a frame, and none that has readers. *)
\* BROKEN f \in Frames if Cardinality(Changers(f)) > 1 | These change frame {f} at once: {Changers(f)}
\* BROKEN f \in Frames if Changers(f) # {} /\ readers[f] > 0 | {Changers(f)} changes frame {f}, which has {readers[f]}
\*        readers
ChangedAlone == \A f \in Frames :
    /\ Cardinality(Changers(f)) <= 1
    /\ Changers(f) # {} => readers[f] = 0

(* The page that a reader copies without map is in the table, in that frame. *)
\* BROKEN t \in Threads if pc[t] = "copies" /\ table[my[t].page] # my[t].frame | Thread {t} copies page {my[t].page}
\*        from frame {my[t].frame}, where it is no more
ReadIsInTable == \A t \in Threads : pc[t] = "copies" => table[my[t].page] = my[t].frame
\* BROKEN f \in FreeFrames if readers[f] # 0 | Frame {f} is free, and has {readers[f]} readers
FreeIsUnread == \A f \in FreeFrames : readers[f] = 0

(* A frame has one page, and one that a load fills has none.  A page has   *)
(* one frame, but for loads that are old.                                  *)
\* BROKEN p \in Pages, q \in Pages if p # q /\ table[p] # None /\ table[p] = table[q] | Pages {p} and {q} are both in
\*        frame {table[p]}
\* BROKEN p \in Pages, t \in Threads if table[p] # None /\ pc[t] \in Loading /\ my[t].frame = table[p] | Page {p} is in
\*        frame {table[p]}, into which thread {t} loads page {my[t].page}
\* BROKEN p \in Pages, t \in Threads if table[p] # None /\ pc[t] \in Loading /\ my[t].frame # table[p] /\ my[t].page =
\*        p /\ ~my[t].old | Page {p} is in frame {table[p]}, and thread {t} loads it into frame {my[t].frame}
OnePageEach == \A p \in Pages : table[p] # None =>
    /\ \A q \in Pages \ {p} : table[q] # table[p]
    /\ \A t \in Threads : pc[t] \in Loading => my[t].frame # table[p] /\ (my[t].page = p => my[t].old)

(* What is old is a load, and not what comes after it. *)
OldIsLoading == \A t \in Threads : my[t].old => pc[t] \in Loading

(* A page that is on its way to the SSD stays in its frame, and one thread brings it there. *)
Bringers(p) == {t \in Threads : my[t].call = "evict" /\ my[t].page = p /\ my[t].frame # None}
\* BROKEN p \in Pages if Cardinality(Bringers(p)) > 1 | These bring page {p} to the SSD at once: {Bringers(p)}
\* BROKEN p \in Pages, t \in Threads if t \in Bringers(p) /\ table[p] # my[t].frame | Thread {t} brings page {p} to the
\*        SSD from frame {my[t].frame}, where it is no more
LeavingStays == \A p \in Pages :
    /\ p \in leaving <=> Bringers(p) # {}
    /\ Cardinality(Bringers(p)) <= 1
    /\ \A t \in Bringers(p) : table[p] = my[t].frame

(* The newest contents are in memory, or below. *)
\* BROKEN p \in Pages if table[p] = None | Page {p} is at version {now[p]}. It is not in memory, and below is version
\*        {below[p]}
\* BROKEN p \in Pages if table[p] # None /\ frame[table[p]] # <<Of(p, now[p]), Of(p, now[p])>> | Page {p} is at version
\*        {now[p]}, and its frame has something else
NewestIsKept == \A p \in Pages :
    IF table[p] = None THEN below[p] = now[p]
    ELSE Changers(table[p]) = {} => frame[table[p]] = <<Of(p, now[p]), Of(p, now[p])>>

(* Whoever sleeps for a frame without readers is about to be woken, by its last reader. *)
\* BROKEN t \in asleep if IsUnread(t) | Thread {t} sleeps until frame {my[t].frame} has no readers. It has none, and
\*        nobody will wake it
NoLostWakeUp == \A t \in asleep :
    IsUnread(t) => \E r \in Threads : pc[r] \in {"looks", "calls"} /\ my[r].frame = my[t].frame

(* While somebody waits nobody begins to copy without map. *)
\* BROKEN f \in Frames if readers'[f] > readers[f] | {awaiting} thread waits for a frame without readers, and a reader
\*        of frame {f} begins to copy
NobodyPinsMeanwhile == [][\A f \in Frames : readers'[f] > readers[f] => awaiting = 0]_vars

(* A page leaves memory unread. *)
\* BROKEN p \in Pages if table[p] # None /\ table'[p] # table[p] | Page {p} leaves frame {table[p]}, which has
\*        {readers[table[p]]} readers
LeavesUnread == [][\A p \in Pages : table[p] # None /\ table'[p] # table[p] => readers[table[p]] = 0 /\ readers'[table[p]] = 0]_vars

(* Every call ends. *)
\* BROKEN t \in Threads if pc[t] # "outside" | Thread {t} is in a call that does not end
EachEnds == \A t \in Threads : pc[t] # "outside" ~> pc[t] = "outside"
=============================================================================

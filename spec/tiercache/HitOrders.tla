\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE HitOrders -------------------------------
(* A stripe of hits that the policy has not been told (csrc/tiercache/hits.h): a ring, here with room for one hit. Two threads  *)
(* note one hit each, without a lock; a third, who has `map`, tells the policy.                                                 *)
(*                                                                                                                              *)
(* | here                        | hits.h, reads.c                                              |                               *)
(* |-----------------------------|--------------------------------------------------------------|                               *)
(* | Enter, EnterOrder           | hits_note: its exchange of busy                              |                               *)
(* | LookForRoom, RoomOrder      | hits_note: its loads of noted, relaxed, and of told          |                               *)
(* | Write; Note, NoteOrder      | hits_note: the hit; its store to noted                       |                               *)
(* | Leave, FreeOrder            | hits_note: its store to busy                                 |                               *)
(* | LookForHits, HitsOrder      | pgq_tiercache_tell_hits: its load of noted                   |                               *)
(* | Tell; HasTold, ToldOrder    | pgq_tiercache_tell_hits: the hit; its store to told          |                               *)
(*                                                                                                                              *)
(* Who finds no room, or another thread there, tells its hit with `map`; it is done here.                                       *)
(* How to break it: make one of the orders weaker.                                                                              *)
EXTENDS Orders, FiniteSets
CONSTANTS EnterOrder, RoomOrder, NoteOrder, FreeOrder, HitsOrder, ToldOrder
VARIABLES at, heard   \* where each thread is; the hits that the policy has heard of

vars == <<memory, view, raced, at, heard>>
Noters == Threads \ {"teller"}
TypeOK ==
    /\ MemoryTypeOK
    /\ at \in [Threads -> {"comes", "looks", "writes", "notes", "leaves", "is turned away", "gone", "tells", "has told"}]
    /\ \A w \in {"noted", "told"}: \A i \in DOMAIN memory[w]: Value(w, i) \in 0..Cardinality(Noters)

Ring == [w \in Words |-> CASE w = "busy" -> "free" [] w = "hit" -> "none" [] OTHER -> 0]
Init == MemoryInit /\ at = [t \in Threads |-> "comes"] /\ heard = <<>>
Goto(t, where) == at' = [at EXCEPT ![t] = where] /\ UNCHANGED heard

\* STEP t \in Noters if at'[t] = "looks" | thread {t} -> busy | is alone in the stripe ({EnterOrder})
\* STEP t \in Noters | thread {t} -> busy | finds another thread in the stripe
Enter(t) ==
    /\ at[t] = "comes"
    /\ Goto(t, IF NewestValue("busy") = "free" THEN "looks" ELSE "gone")
    /\ Swap(t, "busy", "taken", EnterOrder)

\* A number of noted that is old would be a race of its own: who is alone here has noted last, or sees who did.
\* STEP t \in Noters if at'[t] = "writes" | thread {t} -> told | finds room ({RoomOrder})
\* STEP t \in Noters | thread {t} -> told | finds no room ({RoomOrder})
LookForRoom(t) ==
    /\ at[t] = "looks"
    /\ \E n \in view[t]["noted"]..Newest("noted"), i \in DOMAIN memory["told"]:
        /\ Load(t, "told", i, RoomOrder)
        /\ Goto(t, IF Value("noted", n) = Value("told", i) THEN "writes" ELSE "is turned away")

\* STEP t \in Noters | thread {t} -> the hit | writes its hit
Write(t) == at[t] = "writes" /\ Touch(t, "hit", t) /\ Goto(t, "notes")

\* STEP t \in Noters | thread {t} -> noted | counts its hit ({NoteOrder})
Note(t) == at[t] = "notes" /\ Store(t, "noted", NewestValue("noted") + 1, NoteOrder) /\ Goto(t, "leaves")

\* STEP t \in Noters | thread {t} -> busy | leaves the stripe ({FreeOrder})
Leave(t) == at[t] \in {"leaves", "is turned away"} /\ Store(t, "busy", "free", FreeOrder) /\ Goto(t, "gone")

\* STEP if at'["teller"] = "tells" | teller -> noted | finds a hit that the policy has not heard of ({HitsOrder})
\* STEP | teller -> noted | finds no hit that the policy has not heard of ({HitsOrder})
LookForHits ==
    /\ at["teller"] = "comes"
    /\ \E i \in DOMAIN memory["noted"]:
        /\ Load("teller", "noted", i, HitsOrder)
        /\ Goto("teller", IF Value("noted", i) = NewestValue("told") THEN "comes" ELSE "tells")

\* STEP of Tell | teller -> the hit | reads the hit, and tells the policy
Tell ==
    /\ at["teller"] = "tells"
    /\ Touch("teller", "hit", NewestValue("hit"))
    /\ heard' = Append(heard, NewestValue("hit"))
    /\ at' = [at EXCEPT !["teller"] = "has told"]

\* STEP of HasTold | teller -> told | counts what the policy has heard ({ToldOrder})
HasTold ==
    /\ at["teller"] = "has told"
    /\ Store("teller", "told", NewestValue("told") + 1, ToldOrder)
    /\ Goto("teller", "comes")

Next ==
    \/ LookForHits \/ Tell \/ HasTold
    \/ \E t \in Noters: Enter(t) \/ LookForRoom(t) \/ Write(t) \/ Note(t) \/ Leave(t)
Spec == Init /\ [][Next]_vars

\* The policy hears of each hit that was noted, once.
\* INNER at, heard
\* BROKEN | The policy has heard {heard}, and {NewestValue("told")} of them are counted
HearsEachOnce ==
    /\ \A i \in DOMAIN heard: heard[i] \in Noters
    /\ \A i, j \in DOMAIN heard: i # j => heard[i] # heard[j]
    /\ Len(heard) = NewestValue("told") + IF at["teller"] = "has told" THEN 1 ELSE 0
\* No hit is written over before the policy has heard of it.
\* BROKEN | There are more hits than there is room for
Fits == NewestValue("noted") <= NewestValue("told") + 1
\* One thread at a time is in the stripe, and busy says so.
Inside == {t \in Noters: at[t] \in {"looks", "writes", "notes", "leaves", "is turned away"}}
\* BROKEN if Cardinality(Inside) > 1 | Two threads are in the stripe
\* BROKEN | A thread is in the stripe, which is not busy
OneAtATime == Cardinality(Inside) <= 1 /\ (Inside # {} => NewestValue("busy") = "taken")

NeverBoth == Len(heard) < 2
NeverFull == ~\E t \in Noters: at[t] = "is turned away"
\* Who comes does not look whether another thread is there.
EnterAnyhow(t) == at[t] = "comes" /\ Swap(t, "busy", "taken", EnterOrder) /\ Goto(t, "looks")
\* Who comes writes whether there is room or not.
LookForNothing(t) == at[t] = "looks" /\ UNCHANGED <<memory, view, raced>> /\ Goto(t, "writes")
\* What was told is told again.
ForgetsTold == at["teller"] = "has told" /\ UNCHANGED <<memory, view, raced>> /\ Goto("teller", "comes")
\* Who tells does not look whether there is a hit.
TellAnyhow == at["teller"] = "comes" /\ UNCHANGED <<memory, view, raced>> /\ Goto("teller", "tells")
\* Who comes looks at busy, and then stores to it.
EnterByStore(t) ==
    /\ at[t] = "comes"
    /\ \E i \in view[t]["busy"]..Newest("busy"):
        IF Value("busy", i) = "free" THEN Store(t, "busy", "taken", "relaxed") /\ Goto(t, "looks")
        ELSE UNCHANGED <<memory, view, raced>> /\ Goto(t, "gone")
\* A hit is counted, and then written.
CountFirst(t) == at[t] = "writes" /\ Store(t, "noted", NewestValue("noted") + 1, NoteOrder) /\ Goto(t, "notes")
WriteLast(t) == at[t] = "notes" /\ Touch(t, "hit", t) /\ Goto(t, "leaves")
\* A thread leaves the stripe, and then counts its hit.
FreeFirst(t) == at[t] = "notes" /\ Store(t, "busy", "free", FreeOrder) /\ Goto(t, "leaves")
CountLast(t) ==
    \/ at[t] = "leaves" /\ Store(t, "noted", NewestValue("noted") + 1, NoteOrder) /\ Goto(t, "gone")
    \/ at[t] = "is turned away" /\ Store(t, "busy", "free", FreeOrder) /\ Goto(t, "gone")
\* A hit is counted as told, and then read.
CountToldFirst ==
    at["teller"] = "tells" /\ Store("teller", "told", NewestValue("told") + 1, ToldOrder) /\ Goto("teller", "has told")
TellLast ==
    /\ at["teller"] = "has told"
    /\ Touch("teller", "hit", NewestValue("hit"))
    /\ heard' = Append(heard, NewestValue("hit"))
    /\ at' = [at EXCEPT !["teller"] = "comes"]
\* Who finds no room leaves without releasing.
TurnAwayWeakly(t) ==
    /\ at[t] \in {"leaves", "is turned away"}
    /\ Store(t, "busy", "free", IF at[t] = "leaves" THEN FreeOrder ELSE "relaxed")
    /\ Goto(t, "gone")
=============================================================================

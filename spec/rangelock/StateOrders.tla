\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE StateOrders ------------------------------
(* The state of a hold (csrc/rangelock/lock.h, interval.c): who has the mutex grants or cancels, and tells the owner by the      *)
(* hold's state; the owner, who sleeps without the mutex, finds it, and reads what the range protects, or lets the hold go;     *)
(* then any thread may ask with the same hold.                                                                                  *)
(*                                                                                                                              *)
(* | here                  | interval.c                                            |                                            *)
(* |-----------------------|-------------------------------------------------------|                                            *)
(* | Lock, Unlock          | pthread_mutex_lock, pthread_mutex_unlock              |                                            *)
(* | Tell, TellOrder       | tell: its exchange                                    |                                            *)
(* | LookAt, LoadOrder     | state_of                                              |                                            *)
(* | GiveUp, SetOrder      | release: set_state                                    |                                            *)
(* | Forget, ChangeOrder   | await: change_state of who was cancelled              |                                            *)
(* | Reuse, LoadOrder      | the check for IN_USE, then the next request           |                                            *)
(*                                                                                                                              *)
(* Words: the mutex, the state, what the range protects, and the rest of the hold. The next thread may come at any time.        *)
(* ChangeOrder may be relaxed: the exchange goes on with the release of who cancelled. lock.h's is stronger, because the        *)
(* baselines (rwlock.c, ofd.c) read the hold's range after it.                                                                  *)
(* How to break it: make any of the other three orders relaxed.                                                                 *)
EXTENDS Orders
CONSTANTS TellOrder, LoadOrder, SetOrder, ChangeOrder
VARIABLES other, owner, next   \* where each of the three is

vars == <<memory, view, raced, other, owner, next>>

TypeOK ==
    /\ MemoryTypeOK
    /\ other \in {"holds", "locks", "tells", "unlocks", "gone"}
    /\ owner \in {"looks", "uses", "locks", "gives up", "unlocks", "forgets", "gone"}
    /\ next \in {"looks", "asks", "gone"}

Init == MemoryInit /\ other = "holds" /\ owner = "looks" /\ next = "looks"

Free == NewestValue("mutex") = "free"
Lock(t) == Free /\ Swap(t, "mutex", t, "acquire")
Unlock(t) == Swap(t, "mutex", "free", "release")

\* It holds a range, and writes what the range protects.
\* STEP | the other thread -> what the range protects | holds the range, and writes what it protects
Use ==
    /\ other = "holds"
    /\ Touch("other", "protected", "by the other")
    /\ other' = "locks"
    /\ UNCHANGED <<owner, next>>

\* STEP | the other thread -> the mutex | takes the mutex, to let the range go
Take ==
    /\ other = "locks"
    /\ Lock("other")
    /\ other' = "tells"
    /\ UNCHANGED <<owner, next>>

\* Its release grants the owner's request, or it cancels that. Before, it has changed the hold, which was in the tree.
\* STEP | the other thread -> the hold | changes the owner's hold, which is in a tree
Change ==
    /\ other = "tells"
    /\ NewestValue("hold") = "asked"
    /\ Touch("other", "hold", "changed")
    /\ UNCHANGED <<other, owner, next>>

\* STEP | the other thread -> the state | sets the owner's state to "{memory'["state"][Len(memory'["state"])].value}"
\*        ({TellOrder})
Tell ==
    /\ other = "tells"
    /\ NewestValue("hold") = "changed"
    /\ \E how \in {"held", "cancelled"}: Swap("other", "state", how, TellOrder)
    /\ other' = "unlocks"
    /\ UNCHANGED <<owner, next>>

\* STEP | the other thread -> the mutex | gives the mutex back
Leave ==
    /\ other = "unlocks"
    /\ Unlock("other")
    /\ other' = "gone"
    /\ UNCHANGED <<owner, next>>

\* STEP i \in 1..Newest("state") if Load("owner", "state", i, LoadOrder) | owner -> the state | looks at its state
\*        without the mutex ({LoadOrder}): "{Value("state", i)}"
LookAt ==
    /\ owner = "looks"
    /\ \E i \in view["owner"]["state"] + 1..Newest("state"):   \* to look in vain again changes nothing
        /\ Load("owner", "state", i, LoadOrder)
        /\ owner' = CASE Value("state", i) = "held" -> "uses" [] Value("state", i) = "cancelled" -> "forgets" [] OTHER -> "looks"
    /\ UNCHANGED <<other, next>>

\* STEP | owner -> what the range protects | writes what the range protects
UseMine ==
    /\ owner = "uses"
    /\ Touch("owner", "protected", "by the owner")
    /\ owner' = "locks"
    /\ UNCHANGED <<other, next>>

\* STEP | owner -> the mutex | takes the mutex, to let the range go
TakeMine ==
    /\ owner = "locks"
    /\ Lock("owner")
    /\ owner' = "gives up"
    /\ UNCHANGED <<other, next>>

\* It leaves the tree.
\* STEP | owner -> the hold | takes its hold out of the tree
LeaveTree ==
    /\ owner = "gives up"
    /\ NewestValue("hold") = "changed"
    /\ Touch("owner", "hold", "out of the tree")
    /\ UNCHANGED <<other, owner, next>>

\* STEP | owner -> the state | sets its state to "idle" ({SetOrder})
GiveUp ==
    /\ owner = "gives up"
    /\ NewestValue("hold") = "out of the tree"
    /\ Store("owner", "state", "idle", SetOrder)
    /\ owner' = "unlocks"
    /\ UNCHANGED <<other, next>>

\* STEP | owner -> the mutex | gives the mutex back
LeaveMine ==
    /\ owner = "unlocks"
    /\ Unlock("owner")
    /\ owner' = "gone"
    /\ UNCHANGED <<other, next>>

\* STEP | owner -> the state | was cancelled, and sets its state to "idle" ({ChangeOrder})
Forget ==
    /\ owner = "forgets"
    /\ NewestValue("state") = "cancelled"
    /\ Swap("owner", "state", "idle", ChangeOrder)
    /\ owner' = "gone"
    /\ UNCHANGED <<other, next>>

\* Not in use: the next thread asks with the same hold, and writes its range there.
\* STEP i \in 1..Newest("state") if Load("next", "state", i, LoadOrder) | the next thread -> the state | looks whether
\*        the hold is in use ({LoadOrder}): its state is "{Value("state", i)}"
Reuse ==
    /\ next = "looks"
    /\ \E i \in 1..Newest("state"):
        /\ Value("state", i) = "idle" \/ i > view["next"]["state"]
        /\ Load("next", "state", i, LoadOrder)
        /\ next' = IF Value("state", i) = "idle" THEN "asks" ELSE "looks"
    /\ UNCHANGED <<other, owner>>

\* STEP | the next thread -> the hold | asks with the same hold: it writes its own range there
Ask ==
    /\ next = "asks"
    /\ Touch("next", "hold", "asked again")
    /\ next' = "gone"
    /\ UNCHANGED <<other, owner>>

Done == other = "gone" /\ owner = "gone" /\ next = "gone" /\ UNCHANGED vars

Next ==
    \/ Use \/ Take \/ Change \/ Tell \/ Leave
    \/ LookAt \/ UseMine \/ TakeMine \/ LeaveTree \/ GiveUp \/ LeaveMine \/ Forget
    \/ Reuse \/ Ask \/ Done
Spec == Init /\ [][Next]_vars

Waiting == [w \in Words |-> CASE w = "mutex" -> "free" [] w = "state" -> "awaited" [] w = "hold" -> "asked" [] OTHER -> "nothing"]
\* The mutex is taken when it is free, and let go by who has it.
\* INNER other, owner, next
\* BROKEN | The mutex was taken though it was not free, or let go by who did not have it
MutexAlternates == \A i \in DOMAIN memory["mutex"]: (Value("mutex", i) = "free") <=> i % 2 = 1
Anyhow == TRUE
NeverAskedAgain == next # "gone"
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE WordOrders ------------------------------
(* The word of csrc/rangelock/interval.c: the first comes alone, uses its range, and leaves, alone or, if it was found, from the  *)
(* tree; the second does as it does, or finds it, puts its hold into a tree, and has its own range when the first has left.     *)
(*                                                                                                                              *)
(* | here                  | interval.c                                            |                                            *)
(* |-----------------------|-------------------------------------------------------|                                            *)
(* | Come, ComeOrder       | come_alone: its compare and swap                      |                                            *)
(* | Leave, LeaveOrder     | leave_alone: its compare and swap                     |                                            *)
(* | Shut, ShutOrder       | shut: its exchange                                    |                                            *)
(* | Reopen, OpenOrder     | open_if_empty: its store                              |                                            *)
(* | Lock, Unlock          | pthread_mutex_lock, pthread_mutex_unlock              |                                            *)
(*                                                                                                                              *)
(* "hold" is the hold of the first, "protected" what the range protects. The second asks for the same range.                    *)
(* How to break it: make one of the orders weaker.                                                                              *)
EXTENDS Orders
CONSTANTS ComeOrder, LeaveOrder, ShutOrder, OpenOrder
VARIABLES at   \* where each of the two is

vars == <<memory, view, raced, at>>
Places == {"asks", "comes", "uses", "leaves", "locks", "shuts", "inserts", "removes", "opens", "unlocks", "gone"}
TypeOK == MemoryTypeOK /\ at \in [Threads -> Places]

Open == [w \in Words |-> CASE w = "alone" -> "open" [] w = "mutex" -> "free" [] OTHER -> "nothing"]
Init == MemoryInit /\ at = [t \in Threads |-> IF t = "first" THEN "asks" ELSE "comes"]
Goto(t, where) == at' = [at EXCEPT ![t] = where]

Word == NewestValue("alone")

\* It writes its range into its hold.
\* STEP of Ask | thread first -> the hold | writes its range into its hold
Ask == at["first"] = "asks" /\ Touch("first", "hold", "asked") /\ Goto("first", "comes")

\* STEP t \in Threads | thread {t} -> the word | finds the word open, and swaps its hold in ({ComeOrder}): the range is
\*        its own
Come(t) ==
    /\ at[t] = "comes" /\ Word = "open"
    /\ Swap(t, "alone", t, ComeOrder)
    /\ Goto(t, "uses")

\* STEP t \in Threads | thread {t} -> what the range protects | writes what the range protects
Use(t) == at[t] = "uses" /\ Touch(t, "protected", t) /\ Goto(t, "leaves")

\* STEP t \in Threads | thread {t} -> the word | swaps its hold out ({LeaveOrder}): the word is open again
Leave(t) ==
    /\ at[t] = "leaves" /\ Word = t
    /\ Swap(t, "alone", "open", LeaveOrder)
    /\ Goto(t, "gone")

\* The first is in a tree by now. Who finds the word shut waits here for it.
\* STEP of IsFound | thread first -> the word | wants to leave, and does not find itself in the word: it needs the
\*        mutex
IsFound == at["first"] = "leaves" /\ Word # "first" /\ Goto("first", "locks") /\ UNCHANGED <<memory, view, raced>>
\* STEP of IsTurnedAway | thread second -> the word | finds the first in the word: it needs the mutex
IsTurnedAway == at["second"] = "comes" /\ Word = "first" /\ Goto("second", "locks") /\ UNCHANGED <<memory, view, raced>>

\* STEP t \in Threads if NewestValue("mutex") = "free" | thread {t} -> the mutex | takes the mutex
\* STEP t \in Threads | thread {t} -> the mutex | takes the mutex, though it is not free
Lock(t) ==
    /\ at[t] = "locks" /\ NewestValue("mutex") = "free"
    /\ Swap(t, "mutex", t, "acquire")
    /\ Goto(t, IF t = "first" THEN "removes" ELSE "shuts")

\* Who is found there was the first; otherwise the second has come when it has left.
\* STEP if Word = "first" | thread second -> the word | shuts the word ({ShutOrder}), and finds the first there
\* STEP | thread second -> the word | shuts the word ({ShutOrder}), and finds nobody there
Shut ==
    /\ at["second"] = "shuts"
    /\ Swap("second", "alone", "shut", ShutOrder)
    /\ Goto("second", IF Word = "first" THEN "inserts" ELSE "opens")

\* STEP of Insert | thread second -> the hold | puts the hold of the first into a tree
Insert == at["second"] = "inserts" /\ Touch("second", "hold", "in a tree") /\ Goto("second", "unlocks")
\* STEP of Remove | thread first -> the hold | takes its hold out of the tree
Remove == at["first"] = "removes" /\ Touch("first", "hold", "out of the tree") /\ Goto("first", "opens")

\* STEP t \in Threads | thread {t} -> the word | opens the word again ({OpenOrder})
Reopen(t) ==
    /\ at[t] = "opens"
    /\ Store(t, "alone", "open", OpenOrder)
    /\ Goto(t, "unlocks")

\* The second, having found the first, comes again: it waits for its turn.
\* STEP t \in Threads | thread {t} -> the mutex | gives the mutex back
Unlock(t) ==
    /\ at[t] = "unlocks"
    /\ Swap(t, "mutex", "free", "release")
    /\ Goto(t, IF t = "second" THEN "comes" ELSE "gone")

Done == (\A t \in Threads : at[t] = "gone") /\ UNCHANGED vars

Next ==
    \/ Ask \/ IsFound \/ IsTurnedAway \/ Shut \/ Insert \/ Remove \/ Done
    \/ \E t \in Threads : Come(t) \/ Use(t) \/ Leave(t) \/ Lock(t) \/ Reopen(t) \/ Unlock(t)
Spec == Init /\ [][Next]_vars

\* The mutex is taken when it is free, and let go by who has it.
\* INNER at
\* BROKEN | The mutex was taken though it was not free, or let go by who did not have it
MutexAlternates == \A i \in DOMAIN memory["mutex"]: (Value("mutex", i) = "free") <=> i % 2 = 1
\* Each of them comes, uses its range and leaves once: nothing but the word is as it was again, and that only if it is open.
\* BROKEN w \in Words \ {"mutex"}, i \in DOMAIN memory[w], j \in DOMAIN memory[w] if i < j /\ Value(w, i) = Value(w, j)
\*        /\ Value(w, i) # "open" | The same was written twice: "{Value(w, i)}"
OnceEach ==
    \A w \in Words \ {"mutex"}: \A i, j \in DOMAIN memory[w]: i # j /\ Value(w, i) = Value(w, j) => Value(w, i) = "open"

\* A thread takes the mutex though another one has it.
LockAnyhow(t) ==
    /\ at[t] = "locks"
    /\ Swap(t, "mutex", t, "acquire")
    /\ Goto(t, IF t = "first" THEN "removes" ELSE "shuts")
\* A thread that has used its range uses it again.
UseAgain(t) == at[t] = "uses" /\ Touch(t, "protected", t) /\ \E where \in {"uses", "leaves"}: Goto(t, where)

NeverFound == at["second"] # "inserts"
=============================================================================

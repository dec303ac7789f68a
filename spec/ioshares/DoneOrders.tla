\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE DoneOrders ------------------------------
(* How a request of an engine ends (csrc/ioshares/engine.c): the engine writes what became of it, and sets its word `done`; the *)
(* thread that waits finds the word set, reads, and may take the request's memory away.                                         *)
(*                                                                                                                              *)
(* | here               | engine.c                                              |                                               *)
(* |--------------------|-------------------------------------------------------|                                               *)
(* | Finish             | pgq_ioshares_engine_done: io->ended, did, error       |                                               *)
(* | Tell, TellOrder    | its exchange, then futex_wake                         |                                               *)
(* | Await, AwaitOrder  | pgq_ioshares_engine_wait: its compare-and-exchange    |                                               *)
(* | LookAt, LoadOrder  | its loop                                              |                                               *)
(* | FallAsleep         | futex_wait: the kernel looks at the word again        |                                               *)
(*                                                                                                                              *)
(* How to break it: make Tell or LookAt relaxed; or sleep without a look.                                                       *)
EXTENDS Orders
CONSTANTS TellOrder, AwaitOrder, LoadOrder
VARIABLES engine, waiter   \* where each of the two is

vars == <<memory, view, raced, engine, waiter>>

TypeOK ==
    /\ MemoryTypeOK
    /\ engine \in {"works", "tells", "wakes", "gone"}
    /\ waiter \in {"comes", "looks", "sleeps", "asleep", "reads", "leaves", "gone"}

Init == MemoryInit /\ engine = "works" /\ waiter = "comes"

\* STEP | engine -> request | writes into the request what became of it
Finish ==
    /\ engine = "works"
    /\ Touch("engine", "request", "ended")
    /\ engine' = "tells"
    /\ UNCHANGED waiter

\* STEP if engine' = "wakes" | engine -> the word done | sets the word to "done" ({TellOrder}). It was
\*        "{NewestValue("done")}": the engine must wake the waiter
\* STEP | engine -> the word done | sets the word to "done" ({TellOrder}). It was "{NewestValue("done")}": nobody waits
Tell ==
    /\ engine = "tells"
    /\ engine' = IF NewestValue("done") = "awaited" THEN "wakes" ELSE "gone"
    /\ Swap("engine", "done", "done", TellOrder)
    /\ UNCHANGED waiter

\* STEP if waiter = "asleep" | engine -> waiter | wakes the waiter
\* STEP | engine -> waiter | would wake the waiter, which does not sleep
Wake ==
    /\ engine = "wakes"
    /\ engine' = "gone"
    /\ waiter' = IF waiter = "asleep" THEN "looks" ELSE waiter
    /\ UNCHANGED <<memory, view, raced>>

\* STEP if memory' # memory | waiter -> the word done | sets the word to "awaited" ({AwaitOrder}), so that it is woken
\* STEP | waiter -> the word done | finds the word at "{NewestValue("done")}" ({AwaitOrder})
Await ==
    /\ waiter = "comes"
    /\ IF NewestValue("done") = "on its way" THEN Swap("waiter", "done", "awaited", AwaitOrder)
       ELSE Load("waiter", "done", Newest("done"), AwaitOrder)
    /\ waiter' = "looks"
    /\ UNCHANGED engine

\* STEP i \in 1..Newest("done") if Load("waiter", "done", i, LoadOrder) /\ waiter' = (IF Value("done", i) = "done" THEN
\*        "reads" ELSE "sleeps") | waiter -> the word done | reads the word ({LoadOrder}): "{Value("done", i)}"{IF i <
\*        Newest("done") THEN ", which is an old value" ELSE ""}
LookAt ==
    /\ waiter = "looks"
    /\ \E i \in 1..Newest("done"):
        /\ Load("waiter", "done", i, LoadOrder)
        /\ waiter' = IF Value("done", i) = "done" THEN "reads" ELSE "sleeps"
    /\ UNCHANGED engine

SleepsOn == NewestValue("done") = "awaited"

\* STEP if waiter' = "asleep" | waiter | falls asleep
\* STEP | waiter | is not let to sleep: the kernel sees that the word has changed
FallAsleep ==
    /\ waiter = "sleeps"
    /\ waiter' = IF SleepsOn THEN "asleep" ELSE "looks"
    /\ UNCHANGED <<memory, view, raced, engine>>

\* What became of the request; then it is gone.
\* STEP if view["waiter"]["request"] # Newest("request") | waiter -> request | reads what became of the request, and
\*        may find it as it was before
\* STEP | waiter -> request | reads what became of the request
Read ==
    /\ waiter = "reads"
    /\ raced' = (raced \/ view["waiter"]["request"] # Newest("request"))
    /\ waiter' = "leaves"
    /\ UNCHANGED <<memory, view, engine>>

\* STEP | waiter -> request | takes the memory of the request away
TakeAway ==
    /\ waiter = "leaves"
    /\ Touch("waiter", "request", "gone")
    /\ waiter' = "gone"
    /\ UNCHANGED engine

Done == waiter = "gone" /\ engine = "gone" /\ UNCHANGED vars

Next == Finish \/ Tell \/ Wake \/ Await \/ LookAt \/ FallAsleep \/ Read \/ TakeAway \/ Done
Spec == Init /\ [][Next]_vars

\* The waiter does not sleep for ever. (Wake-ups for no reason, which only help, are left out.)
\* INNER engine, waiter
\* BROKEN | The waiter sleeps, and the engine has gone
NotForgotten == ~(waiter = "asleep" /\ engine = "gone")
OnItsWay == [w \in Words |-> IF w = "done" THEN "on its way" ELSE "submitted"]
\* The engine wakes nobody but who waits.
\* BROKEN | The engine is about to wake the waiter, which never said that it waits
WakesWhoWaits == engine = "wakes" => \E i \in DOMAIN memory["done"] : Value("done", i) = "awaited"
Blindly == TRUE
\* The engine wakes whether anybody waits or not.
TellAnyhow ==
    /\ engine = "tells"
    /\ engine' = "wakes"
    /\ Swap("engine", "done", "done", TellOrder)
    /\ UNCHANGED waiter
NeverAsleep == waiter # "asleep"
=============================================================================

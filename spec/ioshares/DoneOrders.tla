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

Finish ==
    /\ engine = "works"
    /\ Touch("engine", "request", "ended")
    /\ engine' = "tells"
    /\ UNCHANGED waiter

Tell ==
    /\ engine = "tells"
    /\ engine' = IF NewestValue("done") = "awaited" THEN "wakes" ELSE "gone"
    /\ Swap("engine", "done", "done", TellOrder)
    /\ UNCHANGED waiter

Wake ==
    /\ engine = "wakes"
    /\ engine' = "gone"
    /\ waiter' = IF waiter = "asleep" THEN "looks" ELSE waiter
    /\ UNCHANGED <<memory, view, raced>>

Await ==
    /\ waiter = "comes"
    /\ IF NewestValue("done") = "on its way" THEN Swap("waiter", "done", "awaited", AwaitOrder)
       ELSE Load("waiter", "done", Newest("done"), AwaitOrder)
    /\ waiter' = "looks"
    /\ UNCHANGED engine

LookAt ==
    /\ waiter = "looks"
    /\ \E i \in 1..Newest("done"):
        /\ Load("waiter", "done", i, LoadOrder)
        /\ waiter' = IF Value("done", i) = "done" THEN "reads" ELSE "sleeps"
    /\ UNCHANGED engine

SleepsOn == NewestValue("done") = "awaited"

FallAsleep ==
    /\ waiter = "sleeps"
    /\ waiter' = IF SleepsOn THEN "asleep" ELSE "looks"
    /\ UNCHANGED <<memory, view, raced, engine>>

\* What became of the request; then it is gone.
Read ==
    /\ waiter = "reads"
    /\ raced' = (raced \/ view["waiter"]["request"] # Newest("request"))
    /\ waiter' = "leaves"
    /\ UNCHANGED <<memory, view, engine>>

TakeAway ==
    /\ waiter = "leaves"
    /\ Touch("waiter", "request", "gone")
    /\ waiter' = "gone"
    /\ UNCHANGED engine

Done == waiter = "gone" /\ engine = "gone" /\ UNCHANGED vars

Next == Finish \/ Tell \/ Wake \/ Await \/ LookAt \/ FallAsleep \/ Read \/ TakeAway \/ Done
Spec == Init /\ [][Next]_vars

\* The waiter sleeps for ever. (Wake-ups for no reason, which only help, are left out.)
NotForgotten == ~(waiter = "asleep" /\ engine = "gone")
OnItsWay == [w \in Words |-> IF w = "done" THEN "on its way" ELSE "submitted"]
\* The engine wakes nobody but who waits.
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

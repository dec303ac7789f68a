\* SPDX-License-Identifier: PostgreSQL
--------------------------------- MODULE Litmus ---------------------------------
(* How a request of an engine ends (csrc/ioshares/engine.c): the engine writes what became of it, and sets its word `done`; the *)
(* thread that waits finds the word set, reads, and may take the request's memory away. (Wake-ups for no reason, which only     *)
(* help, are left out.)                                                                                                         *)
(*                                                                                                                              *)
(* tell   pgq_ioshares_engine_done: its exchange, then futex_wake     load   pgq_ioshares_engine_wait: its loop                 *)
(* (pgq_ioshares_engine_wait's compare-and-exchange is relaxed; futex_wait looks at the word again)                             *)
EXTENDS Orders

Ended == [first |-> [done |-> "on its way", request |-> "submitted"], threads |-> [
    engine |-> [
        begin |-> {Puts("request", "ended", "tells")},
        tells |-> {Swaps("done", "tell" :> "release", [v \in {"on its way", "awaited"} |-> {"done"}], "awaited" :> "wakes", "gone")},
        wakes |-> {Wakes("waiter", "looks", "gone")}],
    waiter |-> [
        begin  |-> {Swaps("done", <<>>, "on its way" :> {"awaited"}, <<>>, "looks")},
        looks  |-> {Loads("done", "load" :> "acquire", "done" :> "reads", "sleeps")},
        sleeps |-> {Sleeps("done", "awaited", "looks")},
        reads  |-> {Reads("request", "takes")},
        takes  |-> {Puts("request", "taken away", "gone")}]]]

\* The kernel does not look at the word before the thread sleeps: the wake-up was before.
Blindly == [Ended EXCEPT !.threads.waiter.sleeps = {Loads("done", <<>>, <<>>, "asleep")}]
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE APioshares -----------------------------
(***************************************************************************)
(* The tags of start-time fair queueing with arbitrary shares, warps and   *)
(* sizes of requests, for Apalache: three classes, and the true bounds of  *)
(* 64 bits.  The invariant is inductive: it holds at first (base), and     *)
(* each step keeps it (step), from any state that it admits, reachable or  *)
(* not.  It implies the bound on what two classes have paid, and that no   *)
(* number is 2^63 or more (implies).                                       *)
(*                                                                         *)
(* A class is what it may pay at most for one request: its factor times    *)
(* the largest cost.  A request costs any number up to that.               *)
(*                                                                         *)
(*   here        csrc/ioshares/scheduler.h                                 *)
(*   tag, v      tag, virtual_time                                         *)
(*   Slack       the largest warp, less handicap                           *)
(*   waits       count > 0                                                 *)
(*                                                                         *)
(* How to break it: the runs APioshares_mutant_* let an idle class keep    *)
(* its old tag (Banks = 1), begin anew too late (Late = 4), let any class  *)
(* go that waits (Chosen), or take a request of any 32-bit size (Times).   *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    \* @type: Int;
    Banks,      \* 1: a class that comes back keeps its tag, however old: 0
    \* @type: Int;
    Late,       \* tags begin anew when virtual time is so many times 2^61: 1
    \* @type: Int;
    Chosen,     \* 1: the class goes whose tag, less its warp, is the least; 0: any
    \* @type: Int;
    Times       \* a request may be so many times the largest size: 1

VARIABLES
    \* @type: Int -> Int;
    most,       \* what a request of the class costs at most
    \* @type: Int -> Int;
    slack,      \* its warp
    \* @type: Int -> Int;
    tag,
    \* @type: Int -> Bool;
    waits,
    \* @type: Int;
    v           \* virtual time

Classes == 1..3
Cost    == 2305843009213693952      \* 2^61: 2^30 bytes and as many for an operation, times a factor of 2^30
Ahead   == 1152921504606846976      \* 2^60: a warp of 2^30 bytes, times a factor of 2^30
Anew    == 2305843009213693952      \* 2^61
Word    == 9223372036854775808      \* 2^63

Types ==
    /\ most \in [Classes -> Int] /\ slack \in [Classes -> Int]
    /\ tag \in [Classes -> Int] /\ waits \in [Classes -> BOOLEAN]
    /\ v \in Int
    /\ \A c \in Classes : 1 <= most[c] /\ most[c] <= Cost /\ 0 <= slack[c] /\ slack[c] <= Ahead

Init ==
    /\ Types
    /\ v = 0
    /\ \A c \in Classes : tag[c] = 0 /\ ~waits[c]

Submit(c) ==
    /\ waits' = [waits EXCEPT ![c] = TRUE]
    /\ tag' = IF ~waits[c] /\ tag[c] < v /\ Banks = 0 THEN [tag EXCEPT ![c] = v] ELSE tag
    /\ UNCHANGED <<most, slack, v>>

(* c goes; low is a class with the least tag. *)
Dispatch(c, low) ==
    /\ waits[c] /\ waits[low]
    /\ \A d \in Classes : waits[d] => tag[low] <= tag[d]
    /\ Chosen = 1 => \A d \in Classes : waits[d] => tag[c] - slack[c] <= tag[d] - slack[d]
    /\ \E cost \in Int, more \in BOOLEAN :
          /\ 1 <= cost /\ cost <= Times * most[c]
          /\ waits' = [waits EXCEPT ![c] = more]
          /\ IF tag[low] >= Late * Anew
             THEN /\ v' = 0
                  /\ tag' = [d \in Classes |->
                        LET new == tag[d] + (IF d = c THEN cost ELSE 0)
                        IN  IF new > tag[low] THEN new - tag[low] ELSE 0]
             ELSE /\ v' = tag[low]
                  /\ tag' = [tag EXCEPT ![c] = tag[c] + cost]
    /\ UNCHANGED <<most, slack>>

Next == \E c \in Classes, low \in Classes : Submit(c) \/ Dispatch(c, low)

-----------------------------------------------------------------------------
Near ==
    /\ 0 <= v /\ v < Anew
    /\ \A c \in Classes :
          /\ 0 <= tag[c] /\ tag[c] <= v + slack[c] + most[c]
          /\ waits[c] => v <= tag[c]

Start == Types /\ Near

(* Two classes that wait: their tags differ by at most what fairness allows at one end of an interval. *)
Apart == \A c \in Classes, d \in Classes : waits[c] /\ waits[d] => tag[c] - tag[d] <= slack[c] + most[c]
(* No sum of a tag, a warp and a request is too large for a signed number of 64 bits. *)
Fits  == \A c \in Classes : tag[c] + Ahead + Cost < Word
=============================================================================

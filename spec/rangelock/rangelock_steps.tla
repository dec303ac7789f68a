\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE rangelock_steps --------------------------
(***************************************************************************)
(* The steps of csrc/rangelock/interval.c: one mutex, a count of blockers  *)
(* for each request, and a futex word, `state`, in each hold.  What is     *)
(* done to the trees and the counts with the mutex held is one step, since *)
(* nobody else looks at them; states are set, and threads woken, one by    *)
(* one, because threads look at their state without the mutex.             *)
(*                                                                         *)
(* Who comes while nobody is there takes no mutex: it swaps its hold into  *)
(* a word, and out of it as it leaves.  Who finds it there shuts the word, *)
(* with the mutex held, and puts that one into a tree.                     *)
(*                                                                         *)
(* variable       in the C code                                            *)
(*   alone          the word: "open" (NULL), "shut", or who is alone       *)
(*   arrived        both trees, by ticket: the threads whose requests have *)
(*                    arrived and not left                                 *)
(*   request        lo, hi, exclusive of each thread's hold                *)
(*   blockers       the same                                               *)
(*   state          the same: "idle", "waits", "awaited", "held",          *)
(*                    "cancelled"                                          *)
(*   mutex          who holds it                                           *)
(*   granted        to be set to "held" by who has the mutex (unblock)     *)
(*   wakes          struct wakes of each thread                            *)
(*   asleep         threads in futex_wait                                  *)
(*   pc, call       where a thread is, and in which call                   *)
(*   target         whose hold a thread waits with, cancels or gives back  *)
(*                                                                         *)
(* One thread waits with a hold; any thread may try to.  Whoever asks      *)
(* anew with a hold first sees to it that nobody else waits with it any    *)
(* more, or gives it back (MayAskAgain): rangelock.h demands that.         *)
(*                                                                         *)
(* Any thread may give back what is held, several at once: one does        *)
(* (MayGiveBack).                                                          *)
(*                                                                         *)
(* Simplified: the clock is that a time limit may be up at any moment;     *)
(* wake-ups for no reason come from a thread that is woken late.  There is *)
(* no log, and wakes has room for all.  The count of those who wait only   *)
(* saves a search (nobody_waits_nobody_is_let_go in proofs/rangelock/).    *)
(*                                                                         *)
(* It refines rangelock: held are who is alone, and those that have        *)
(* arrived and have no blockers; the queue are the others.                 *)
(*                                                                         *)
(* How to break it: see the definitions of MCrangelock_steps.              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Processes, Ranges, Modes,
    Calls,      \* of "lock", "lock_for", "try", "request"
    MayCancel,  \* whether threads cancel others' requests
    MayJoin,    \* whether threads wait with others' holds
    MayGiveBack \* whether threads give back what others hold

VARIABLES
    alone,      \* the word: open, shut, or whose hold is in it
    arrived,    \* whose holds are in the trees, in the order in which they came
    request,
    blockers,   \* of each thread's hold: how many that came earlier and conflict are still there
    state,      \* of each thread's hold: idle, waits (nobody waits with it yet), awaited, held, cancelled
    mutex,      \* who has it
    granted,    \* whose state is still to be set to held by who has the mutex
    wakes,
    asleep,     \* who sleeps in the kernel
    pc, call, target

shared  == <<alone, arrived, request, blockers, state, mutex, granted>>
vars    == <<alone, arrived, request, blockers, state, mutex, granted, wakes, asleep, pc, call, target>>

Nobody == "nobody"
NoRequest == [who |-> Nobody, lo |-> 0, hi |-> 0, exclusive |-> FALSE]

Conflict(r, s) == r.lo < s.hi /\ s.lo < r.hi /\ (r.exclusive \/ s.exclusive)
Arrived == {arrived[i] : i \in 1 .. Len(arrived)}
Place(p) == CHOOSE i \in 1 .. Len(arrived) : arrived[i] = p

(* count(): those that conflict, in both trees. *)
Count(r) == Cardinality({q \in Arrived : Conflict(request[q], r)})
(* unblock(): whom p takes itself off the count of. *)
Unblocked(p) == {q \in Arrived : Place(q) > Place(p) /\ Conflict(request[p], request[q])}
(* Who is granted by that; the states are set one by one. *)
ToGrant(unblocked) == {q \in unblocked : blockers[q] = 1}

Init ==
    /\ alone = "open"
    /\ arrived = <<>>
    /\ request = [p \in Processes |-> NoRequest]
    /\ blockers = [p \in Processes |-> 0]
    /\ state = [p \in Processes |-> "idle"]
    /\ mutex = Nobody
    /\ granted = {}
    /\ wakes = [p \in Processes |-> {}]
    /\ asleep = {}
    /\ pc = [p \in Processes |-> "outside"]
    /\ call = [p \in Processes |-> "none"]
    /\ target = [p \in Processes |-> p]

Goto(p, where) == pc' = [pc EXCEPT ![p] = where]

IsWaiting(q)  == state[q] \in {"waits", "awaited"}
Waiting       == {"looks", "falls asleep", "asleep", "is late", "unlocks to look"}
WaitersOf(q)  == {p \in Processes : pc[p] \in Waiting /\ target[p] = q}
SleepersOf(q) == {p \in asleep : target[p] = q}

-----------------------------------------------------------------------------
(* A call begins.  Who finds nobody is alone and has its range; else, and  *)
(* in all other calls, it takes the mutex.                                 *)

GivesBack(p, q) == pc[p] \in {"leaves", "has left", "releases"} /\ target[p] = q
MayAskAgain(p) == WaitersOf(p) = {} /\ \A q \in Processes : ~GivesBack(q, p)
Begin(p) == \E kind \in Calls, range \in Ranges, mode \in Modes :
    /\ pc[p] = "outside" /\ state[p] \in {"idle", "cancelled"} /\ MayAskAgain(p)
    /\ target' = [target EXCEPT ![p] = p]
    /\ call' = [call EXCEPT ![p] = kind]
    /\ request' = [request EXCEPT ![p] = [who |-> p, lo |-> range[1], hi |-> range[2], exclusive |-> mode]]
    /\ Goto(p, "comes")
    /\ UNCHANGED <<alone, arrived, blockers, state, mutex, granted, wakes, asleep>>

(* come_alone(): one compare and swap. *)
NobodyIsHere(p) == alone = "open"
Come(p) ==
    /\ pc[p] = "comes"
    /\ IF NobodyIsHere(p)
       THEN alone' = p /\ Goto(p, "is alone")
       ELSE Goto(p, "arrives") /\ UNCHANGED alone
    /\ UNCHANGED <<arrived, request, blockers, state, mutex, granted, wakes, asleep, call, target>>

SayAlone(p) ==
    /\ pc[p] = "is alone"
    /\ state' = [state EXCEPT ![p] = "held"]
    /\ Goto(p, "outside")
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, wakes, asleep, call, target>>

BeginRelease(p) ==
    /\ pc[p] = "outside" /\ state[p] = "held"
    /\ target' = [target EXCEPT ![p] = p]
    /\ Goto(p, "leaves")
    /\ UNCHANGED <<shared, wakes, asleep, call>>

(* The owner must know by now that it is held. *)
BeginGiveBack(p) == \E q \in Processes \ {p} :
    /\ MayGiveBack /\ pc[p] = "outside" /\ state[p] = "idle"
    /\ state[q] = "held" /\ pc[q] \in {"outside", "leaves", "has left", "releases"}
    /\ target' = [target EXCEPT ![p] = q]
    /\ Goto(p, "leaves")
    /\ UNCHANGED <<shared, wakes, asleep, call>>

(* leave_alone(): the same; and then the state is set. *)
IsAlone(p) == alone = target[p]
LeaveAlone(p) ==
    /\ pc[p] = "leaves"
    /\ IF IsAlone(p)
       THEN alone' = "open" /\ Goto(p, "has left")
       ELSE Goto(p, "releases") /\ UNCHANGED alone
    /\ UNCHANGED <<arrived, request, blockers, state, mutex, granted, wakes, asleep, call, target>>

SayLeft(p) ==
    /\ pc[p] = "has left"
    /\ state' = [state EXCEPT ![target[p]] = "idle"]
    /\ Goto(p, "outside")
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, wakes, asleep, call, target>>

BeginCancel(p) == \E q \in Processes \ {p} :
    /\ MayCancel /\ pc[p] = "outside" /\ IsWaiting(q)
    /\ target' = [target EXCEPT ![p] = q]
    /\ Goto(p, "cancels")
    /\ UNCHANGED <<shared, wakes, asleep, call>>

(* pgq_rangelock_wait, with one's own hold or another's, whether its owner *)
(* waits already or not.                                                   *)
BeginWait(p) == \E q \in Processes :
    /\ pc[p] = "outside" /\ state[p] # "held" /\ (MayJoin \/ (q = p /\ IsWaiting(q)))
    /\ target' = [target EXCEPT ![p] = q]
    /\ call' = [call EXCEPT ![p] = "wait"]
    /\ Goto(p, "joins")
    /\ UNCHANGED <<shared, wakes, asleep>>

Locking == {"arrives", "releases", "cancels", "is late"}
Lock(p) ==
    /\ pc[p] \in Locking /\ mutex = Nobody
    /\ mutex' = p
    /\ UNCHANGED <<alone, arrived, request, blockers, state, granted, wakes, asleep, pc, call, target>>

-----------------------------------------------------------------------------
(* With the mutex held. *)

(* shut(): who is alone is the first in the trees. *)
Found == IF alone \in Processes THEN <<alone>> ELSE <<>>
Shut(p) ==
    /\ mutex = p /\ pc[p] \in {"arrives", "releases"} /\ alone # "shut"
    /\ alone' = "shut"
    /\ arrived' = arrived \o Found
    /\ UNCHANGED <<request, blockers, state, mutex, granted, wakes, asleep, pc, call, target>>

(* arrive() and stay(); a try that would wait leaves nothing. *)
Arrive(p) ==
    LET n == Count(request[p]) IN
    /\ mutex = p /\ pc[p] = "arrives" /\ alone = "shut"
    /\ IF call[p] = "try" /\ n > 0
       THEN UNCHANGED <<alone, arrived, blockers, state>>
       ELSE /\ arrived' = Append(arrived, p)
            /\ blockers' = [blockers EXCEPT ![p] = n]
            /\ state' = [state EXCEPT ![p] = IF n = 0 THEN "held"
                                             ELSE IF call[p] = "request" THEN "waits" ELSE "awaited"]
    /\ Goto(p, IF n > 0 /\ call[p] \in {"lock", "lock_for"} THEN "unlocks to wait" ELSE "unlocks")
    /\ UNCHANGED <<alone, request, mutex, granted, wakes, asleep, call, target>>

(* leave(): q goes from its tree, and from the counts.  Who finds both     *)
(* trees empty opens the word.                                             *)
NobodyIsLeft(others) == others = <<>>
Leave(q) ==
    LET unblocked == Unblocked(q)
        others == SelectSeq(arrived, LAMBDA x : x # q) IN
    /\ alone' = IF NobodyIsLeft(others) THEN "open" ELSE alone
    /\ arrived' = others
    /\ blockers' = [x \in Processes |-> IF x \in unblocked THEN blockers[x] - 1
                                        ELSE IF x = q THEN 0 ELSE blockers[x]]
    /\ granted' = ToGrant(unblocked)

(* release_from_tree(): unless another thread has given it back, or is     *)
(* about to say so.                                                        *)
IsInATree(q) == q \in Arrived /\ state[q] = "held"
DoRelease(p) ==
    LET q == target[p] IN
    /\ mutex = p /\ pc[p] = "releases" /\ alone = "shut"
    /\ IF IsInATree(q)
       THEN /\ Leave(q)
            /\ state' = [state EXCEPT ![q] = "idle"]
            /\ Goto(p, "grants")
       ELSE /\ alone' = IF NobodyIsLeft(arrived) THEN "open" ELSE alone
            /\ Goto(p, "unlocks")
            /\ UNCHANGED <<arrived, blockers, granted, state>>
    /\ UNCHANGED <<request, mutex, wakes, asleep, call, target>>

(* cancel(): who waits no more is left alone.  Its state is set last. *)
DoCancel(p) ==
    LET q == target[p] IN
    /\ mutex = p /\ pc[p] = "cancels"
    /\ IF IsWaiting(q)
       THEN /\ Leave(q)
            /\ Goto(p, "grants and cancels")
       ELSE /\ Goto(p, "unlocks")
            /\ UNCHANGED <<alone, arrived, blockers, granted>>
    /\ UNCHANGED <<request, state, mutex, wakes, asleep, call, target>>

(* gave_up(): unless it was granted or cancelled meanwhile. *)
IsStillWaiting(q) == state[q] = "awaited"
DoTimeOut(p) ==
    /\ mutex = p /\ pc[p] = "is late"
    /\ IF IsStillWaiting(target[p])
       THEN /\ Leave(target[p])
            /\ state' = [state EXCEPT ![target[p]] = "idle"]
            /\ Goto(p, "grants")
       ELSE /\ Goto(p, "unlocks to look")
            /\ UNCHANGED <<alone, arrived, blockers, granted, state>>
    /\ UNCHANGED <<request, mutex, wakes, asleep, call, target>>

Granting == {"grants", "grants and cancels"}
(* Tells one that it is granted, before the mutex is free; who waits with  *)
(* its hold is woken after.                                                *)
ToWake(q) == IF state[q] = "awaited" THEN {q} ELSE {}
Grant(p) == \E q \in granted :
    /\ mutex = p /\ pc[p] \in Granting
    /\ granted' = granted \ {q}
    /\ state' = [state EXCEPT ![q] = "held"]
    /\ wakes' = [wakes EXCEPT ![p] = @ \cup ToWake(q)]
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, asleep, pc, call, target>>

SetCancelled(p) ==
    /\ mutex = p /\ pc[p] = "grants and cancels" /\ granted = {}
    /\ state' = [state EXCEPT ![target[p]] = "cancelled"]
    /\ wakes' = [wakes EXCEPT ![p] = @ \cup ToWake(target[p])]
    /\ Goto(p, "grants")
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, asleep, call, target>>

Unlock(p) ==
    /\ mutex = p
    /\ \/ pc[p] = "grants" /\ granted = {} /\ Goto(p, "wakes")
       \/ pc[p] = "unlocks" /\ Goto(p, "outside")
       \/ pc[p] \in {"unlocks to wait", "unlocks to look"} /\ Goto(p, "looks")
    /\ mutex' = Nobody
    /\ UNCHANGED <<alone, arrived, request, blockers, state, granted, wakes, asleep, call, target>>

-----------------------------------------------------------------------------
(* Without the mutex. *)

Wake(p) == \E q \in wakes[p] :
    /\ pc[p] = "wakes"
    /\ wakes' = [wakes EXCEPT ![p] = @ \ {q}]
    /\ asleep' = asleep \ SleepersOf(q)
    /\ UNCHANGED <<shared, pc, call, target>>

AllAreAwake(p) ==
    /\ pc[p] = "wakes" /\ wakes[p] = {}
    /\ Goto(p, "outside")
    /\ UNCHANGED <<shared, wakes, asleep, call, target>>

(* wait_for(): the first thread waits with the hold, the next is refused.  *)
(* If nothing waits it says so: what comes later is another request. *)
IsRefused(q) == state[q] = "awaited"
NothingWaits(q) == ~IsWaiting(q)
Join(p) ==
    LET q == target[p] IN
    /\ pc[p] = "joins"
    /\ Goto(p, IF IsRefused(q) \/ NothingWaits(q) THEN "outside" ELSE "looks")
    /\ state' = [state EXCEPT ![q] = IF @ = "waits" THEN "awaited"
                                     ELSE IF @ = "cancelled" /\ NothingWaits(q) THEN "idle" ELSE @]
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, wakes, asleep, call, target>>

(* sleep_until_granted() looks at the state; the kernel looks again. *)
Look(p) ==
    /\ pc[p] = "looks"
    /\ IF state[target[p]] = "awaited"
       THEN Goto(p, "falls asleep") /\ UNCHANGED state
       ELSE /\ Goto(p, "outside")
            /\ state' = [state EXCEPT ![target[p]] = IF @ = "cancelled" THEN "idle" ELSE @]
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, wakes, asleep, call, target>>

KernelLooksAgain(p) == state[target[p]] = "awaited"
FallAsleep(p) ==
    /\ pc[p] = "falls asleep"
    /\ IF KernelLooksAgain(p)
       THEN asleep' = asleep \cup {p} /\ Goto(p, "asleep")
       ELSE Goto(p, "looks") /\ UNCHANGED asleep
    /\ UNCHANGED <<shared, wakes, call, target>>

WakeUp(p) ==
    /\ pc[p] = "asleep" /\ p \notin asleep
    /\ Goto(p, "looks")
    /\ UNCHANGED <<shared, wakes, asleep, call, target>>

(* futex_wait says whether it was woken or is late. *)
MayBeLate(p) == p \in asleep
TimeIsUp(p) ==
    /\ call[p] \in {"lock_for", "wait"} /\ pc[p] = "asleep" /\ MayBeLate(p)
    /\ asleep' = asleep \ {p}
    /\ Goto(p, "is late")
    /\ UNCHANGED <<shared, wakes, call, target>>

-----------------------------------------------------------------------------
Inside(p) ==
    \/ Come(p) \/ SayAlone(p) \/ LeaveAlone(p) \/ SayLeft(p) \/ Shut(p)
    \/ Arrive(p) \/ DoRelease(p) \/ DoCancel(p) \/ DoTimeOut(p)
    \/ Grant(p) \/ SetCancelled(p) \/ Unlock(p)
    \/ Wake(p) \/ AllAreAwake(p) \/ Join(p) \/ Look(p) \/ FallAsleep(p) \/ WakeUp(p)

Next == \E p \in Processes :
    Begin(p) \/ BeginRelease(p) \/ BeginGiveBack(p) \/ BeginCancel(p) \/ BeginWait(p) \/ Lock(p) \/ TimeIsUp(p) \/ Inside(p)

Spec == Init /\ [][Next]_vars

(* A thread goes on, gets the mutex if it is free again and again, and     *)
(* releases what it holds.                                                 *)
FairSpec == Spec /\ \A p \in Processes :
    WF_vars(Inside(p)) /\ SF_vars(Lock(p)) /\ WF_vars(BeginRelease(p))

-----------------------------------------------------------------------------
Places ==
    {"outside", "comes", "is alone", "leaves", "has left", "arrives", "releases", "cancels", "joins", "looks",
     "falls asleep", "asleep", "is late", "grants", "grants and cancels", "unlocks", "unlocks to wait", "unlocks to look", "wakes"}
TypeOK ==
    /\ alone \in Processes \cup {"open", "shut"}
    /\ arrived \in Seq(Processes) /\ Cardinality(Arrived) = Len(arrived)
    /\ request \in [Processes -> {NoRequest} \cup [who : Processes, lo : Nat, hi : Nat, exclusive : Modes]]
    /\ blockers \in [Processes -> 0 .. Cardinality(Processes) - 1]
    /\ state \in [Processes -> {"idle", "waits", "awaited", "held", "cancelled"}]
    /\ mutex \in Processes \cup {Nobody} /\ granted \subseteq Processes /\ asleep \subseteq Processes
    /\ wakes \in [Processes -> SUBSET Processes] /\ pc \in [Processes -> Places]
    /\ call \in [Processes -> Calls \cup {"none", "wait"}] /\ target \in [Processes -> Processes]

(* Who is outside has nobody to wake, and not the mutex; states are set    *)
(* before the mutex is free; who has left counts nobody; and who sleeps    *)
(* does nothing else.                                                      *)
NothingIsLeft ==
    /\ \A p \in Processes :
          /\ pc[p] = "outside" => wakes[p] = {} /\ mutex # p
          /\ p \notin Arrived => blockers[p] = 0
          /\ p \in asleep => pc[p] = "asleep"
    /\ mutex = Nobody => granted = {}

(* Only a wake-up for its hold wakes a thread, or the end of its time. *)
WokenBySomebody ==
    [][\A q \in asleep \ asleep' :
           pc'[q] = "is late" \/ \E p \in Processes : pc[p] = "wakes" /\ target[q] \in wakes[p] \ wakes'[p]]_vars

(* A thread that was woken is not late. *)
WokenIsNotLate == [][\A p \in Processes : pc[p] = "asleep" /\ pc'[p] = "is late" => p \in asleep]_vars

(* A plain lock() gives up for nobody: what waits so is granted or cancelled. *)
LockWaitsOn == [][\A p \in Processes :
    call[p] = "lock" /\ state[p] = "awaited" => state'[p] \in {"awaited", "held", "cancelled"}]_vars

(* The count of blockers is the number of earlier requests in conflict. *)
CountsAreRight == \A q \in Arrived :
    blockers[q] = Cardinality({p \in Arrived : Place(p) < Place(q) /\ Conflict(request[p], request[q])})

(* The state of who has come or left alone is set a step later. *)
StateIsSet(p) == pc[p] # "is alone" /\ ~\E q \in Processes : pc[q] = "has left" /\ target[q] = p

(* Who knows that it holds a range conflicts with nobody else who does. *)
Knows(p) == state[p] = "held" /\ StateIsSet(p)
HoldersDoNotConflict == \A p, q \in Processes :
    p # q /\ Knows(p) /\ Knows(q) => ~Conflict(request[p], request[q])

(* Unless the word is shut there is nobody in the trees; and it is shut    *)
(* no longer than somebody is there, or has the mutex.                     *)
TheWordIsRight ==
    /\ alone # "shut" => arrived = <<>>
    /\ alone = "shut" /\ mutex = Nobody => arrived # <<>>

(* Whoever sleeps has to wait, or somebody is about to wake it, or to say so. *)
NoLostWakeUp == \A p \in asleep :
    LET h == target[p] IN
    \/ state[h] = "awaited" /\ (blockers[h] > 0 \/ h \in granted)
    \/ state[h] = "awaited" /\ \E q \in Processes : pc[q] = "grants and cancels" /\ target[q] = h
    \/ \E q \in Processes : h \in wakes[q]

(* A request is awaited only while a thread waits with its hold: a try     *)
(* that would have to wait leaves none, and who gives up takes its own.    *)
AwaitedBySomebody == \A q \in Processes : state[q] = "awaited" =>
    \E p \in Processes : target[p] = q /\ pc[p] \in Waiting \cup {"unlocks to wait"}

(* One thread waits with a hold. *)
OneWaits == \A q \in Processes : Cardinality(SleepersOf(q)) <= 1

(* When the mutex is free, exactly those without blockers are held. *)
StatesAreRight == mutex = Nobody =>
    \A p \in Processes : StateIsSet(p) => (state[p] = "held" <=> alone = p \/ (p \in Arrived /\ blockers[p] = 0))

(* Who is in the queue is on its way, and who waits is in the queue. *)
NoGhosts == mutex = Nobody => 
    \A p \in Processes : StateIsSet(p) => (IsWaiting(p) \/ state[p] = "held" <=> p \in Arrived \/ alone = p)

(* Each step is one of rangelock, or changes none of its variables; the    *)
(* start has neither holders nor a queue, as there.                        *)
Held == {request[p] : p \in {x \in Arrived : blockers[x] = 0} \cup (Processes \cap {alone})}
InQueue(p) == blockers[p] > 0
Queue == LET places == SelectSeq(arrived, InQueue) IN [i \in 1 .. Len(places) |-> request[places[i]]]
Abstract == INSTANCE rangelock WITH held <- Held, queue <- Queue, MayGiveUp <- TRUE
Refines == [][Abstract!Next]_<<Held, Queue>>

(* A hold is given back once: one call alone says that it has left.        *)
OneGivesBack ==
    [][\A p, q \in Processes : pc[p] = "has left" /\ target[p] = q /\ pc'[p] = "outside" =>
           state[q] = "held" /\ state'[q] = "idle"]_vars

(* Every call ends. *)
EveryCallEnds == \A p \in Processes : pc[p] # "outside" ~> pc[p] = "outside"
=============================================================================

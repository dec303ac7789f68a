\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE ioshares ------------------------------
(***************************************************************************)
(* An I/O scheduler that divides a device between classes by shares:       *)
(* start-time fair queueing with D requests in flight, where D follows the *)
(* latency.  Requests come at any time, and the device completes those in  *)
(* flight in any order, each quickly or slowly.                            *)
(*                                                                         *)
(* A class pays for each request that goes: its size times the class's     *)
(* factor, which is in inverse proportion to its share.  What it has paid  *)
(* is its tag.  Virtual time is the least tag among classes with requests  *)
(* waiting.  The model keeps only how far each class is ahead of it.       *)
(*                                                                         *)
(* Simplified: of the requests in flight only their classes are known, and *)
(* latencies are of a few values.  Numbers have no bound;                  *)
(* proofs/ioshares/Overflow.v has the bounds of 64 bits.                   *)
(*                                                                         *)
(*   here        ref/ioshares.py              csrc/ioshares/scheduler.h    *)
(*   queue       Flow.waiting                 flow.ring, head, count       *)
(*   ahead       Scheduler.lead               tag - virtual_time           *)
(*   inFlight    Flow.in_flight               flow.in_flight               *)
(*   limit       Limit.now                    limit                        *)
(*   completed, total, pressed (Limit)        completed, latency, pressed  *)
(*                                                                         *)
(* Safety: Shares (two classes that stay backlogged: what they get, by     *)
(* share, differs by at most LagBound), WorkConserving, NoneAboveLimit,    *)
(* TagsNear, GrowsUnderPressure.  Liveness: EveryClassGoes, LimitRecovers. *)
(*                                                                         *)
(* How to break it: let an idle class fall behind (Floor below 0), round   *)
(* what a class pays, let virtual time follow the class that goes, hold a  *)
(* class back to a quota of the limit, or never raise the limit.  Each is  *)
(* a run MCioshares_mutant_*.                                              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Classes,    \* 1..n
    Factor,     \* by class: the least common multiple of the shares, divided by its share
    Warp,       \* by class: how far it may run ahead, in the same unit as tags
    Sizes,      \* of requests
    Capacity,   \* requests of a class that may wait
    Least, Start, Most,     \* bounds of the limit, and its value at first
    Window,     \* completions between two looks at the latency
    Latencies, Target,
    Floor       \* how far behind virtual time an idle class may fall: 0

VARIABLES
    queue,      \* by class: sizes of the requests that wait, oldest first
    ahead,      \* by class: its tag, less the virtual time
    inFlight,   \* by class: requests in flight
    limit,      \* of requests in flight
    completed, total, pressed,  \* of this window: completions, their latencies, did requests wait?
    calm,       \* the device is never slow again
    last,       \* the class of the last request that went; 0: none
    lag         \* what class 1 has paid less what class 2 has, since some moment; both have been backlogged since

vars == <<queue, ahead, inFlight, limit, completed, total, pressed, calm, last, lag>>
window == <<completed, total, pressed>>

Max(a, b) == IF a < b THEN b ELSE a
Min(a, b) == IF a < b THEN a ELSE b
MinOf(S)  == CHOOSE x \in S : \A y \in S : x <= y
MaxOf(S)  == CHOOSE x \in S : \A y \in S : y <= x
Sum(f)    == LET RECURSIVE of(_)
                 of(S) == IF S = {} THEN 0 ELSE LET c == MinOf(S) IN f[c] + of(S \ {c})
             IN  of(DOMAIN f)

Backlogged == {c \in Classes : queue[c] # <<>>}
InFlight   == Sum(inFlight)
Largest    == MaxOf(Sizes)

\* INNER completed, total, pressed, last, lag
\* NOTE | {limit} requests may be in flight at once; a latency above {Target} is too high
\* NOTE c \in Classes | Class {c} pays {Factor[c]} for each unit that it reads or writes: the less, the larger its
\*        share
Init ==
    /\ queue = [c \in Classes |-> <<>>]
    /\ ahead = [c \in Classes |-> 0]
    /\ inFlight = [c \in Classes |-> 0]
    /\ limit = Start
    /\ completed = 0 /\ total = 0 /\ pressed = FALSE
    /\ calm = FALSE
    /\ last = 0
    /\ lag = 0

-----------------------------------------------------------------------------
(* A request comes.  A class that comes back has kept nothing of what it   *)
(* did not use: Behind has seen to that at each dispatch.                  *)
\* STEP c \in Classes, size \in Sizes | class {c} -> scheduler | asks for a request of size {size}. These wait:
\*        {queue'[c]}
Submit(c, size) ==
    /\ Len(queue[c]) < Capacity
    /\ queue' = [queue EXCEPT ![c] = Append(@, size)]
    /\ UNCHANGED <<ahead, inFlight, limit, window, calm, last, lag>>

-----------------------------------------------------------------------------
(* A request goes.                                                         *)
MayGo == Backlogged # {} /\ InFlight < limit

Key(c)  == ahead[c] - Warp[c]
Chosen  == {c \in Backlogged : \A d \in Backlogged : Key(c) <= Key(d)}
Pays(c, size) == Factor[c] * size

(* How much the virtual time advances when c goes, and how far behind it   *)
(* an idle class may fall.                                                 *)
Advance(c)   == MinOf({ahead[d] : d \in Backlogged})
Behind(d, x) == IF d \in Backlogged THEN x ELSE Max(x, Floor)

(* The moment from which lag is measured is any at which both are backlogged, so at each it may begin anew. *)
Both(q) == \A c \in {1, 2} : q[c] # <<>>
Measured(c, paid, q) ==
    IF Both(queue) /\ Both(q) THEN {0, lag + (IF c = 1 THEN paid ELSE IF c = 2 THEN -paid ELSE 0)} ELSE {0}

\* STEP c \in Classes | scheduler -> device | takes the oldest request of class {c}, of size {Head(queue[c])}. What
\*        each class is ahead: {ahead'}
Dispatch(c) ==
    /\ MayGo
    /\ c \in Chosen
    /\ LET size == Head(queue[c])
           paid == Pays(c, size)
           step == Advance(c)
       IN  /\ queue' = [queue EXCEPT ![c] = Tail(@)]
           /\ ahead' = [d \in Classes |-> Behind(d, ahead[d] - step + (IF d = c THEN paid ELSE 0))]
           /\ lag' \in Measured(c, Factor[c] * size, queue')
    /\ inFlight' = [inFlight EXCEPT ![c] = @ + 1]
    /\ last' = c
    /\ UNCHANGED <<limit, window, calm>>

-----------------------------------------------------------------------------
(* The device has done a request.                                          *)
Lower(n) == Max(Least, n - Max(1, n \div 8))
Raise(n) == Min(Most, n + 1)
Grows(waited) == waited
Added(latency) == total + latency

\* STEP c \in Classes, latency \in Latencies if limit' # limit | device -> scheduler | has done a request of class
\*        {c}, in {latency}. A window ends: {limit'} may be in flight now, not {limit}
\* STEP c \in Classes, latency \in Latencies | device -> scheduler | has done a request of class {c}, in {latency}
Complete(c, latency) ==
    LET waited == pressed \/ Backlogged # {}
        sum    == Added(latency)
    IN  /\ inFlight[c] > 0
        /\ calm => latency <= Target
        /\ inFlight' = [inFlight EXCEPT ![c] = @ - 1]
        /\ IF completed + 1 < Window
           THEN /\ completed' = completed + 1 /\ total' = sum /\ pressed' = waited
                /\ UNCHANGED limit
           ELSE /\ completed' = 0 /\ total' = 0 /\ pressed' = FALSE
                /\ limit' = IF sum > Target * Window THEN Lower(limit)
                            ELSE IF Grows(waited) THEN Raise(limit) ELSE limit
        /\ UNCHANGED <<queue, ahead, calm, last, lag>>

\* STEP | device | is never slow again, from now on
CalmDown ==
    /\ ~calm
    /\ \E latency \in Latencies : latency > Target
    /\ calm' = TRUE
    /\ UNCHANGED <<queue, ahead, inFlight, limit, window, last, lag>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Classes, size \in Sizes : Submit(c, size)
    \/ \E c \in Classes : Dispatch(c)
    \/ \E c \in Classes, latency \in Latencies : Complete(c, latency)
    \/ CalmDown

Spec == Init /\ [][Next]_vars

(* The caller asks for the next request whenever it may, and the device    *)
(* does each request in the end.                                           *)
Fair ==
    /\ WF_vars(\E c \in Classes : Dispatch(c))
    /\ \A c \in Classes : WF_vars(\E latency \in Latencies : Complete(c, latency))
FairSpec == Spec /\ Fair

-----------------------------------------------------------------------------
TypeOK ==
    /\ queue \in [Classes -> Seq(Sizes)]
    /\ \A c \in Classes : Len(queue[c]) <= Capacity
    /\ ahead \in [Classes -> Int]
    /\ inFlight \in [Classes -> 0..Most]
    /\ limit \in Least..Most
    /\ completed \in 0..(Window - 1)
    /\ total \in completed * MinOf(Latencies)..completed * MaxOf(Latencies)
    /\ last \in Classes \cup {0} /\ lag \in Int
    /\ pressed \in BOOLEAN /\ calm \in BOOLEAN

(* Where the tags are.  All else about shares follows. *)
\* BROKEN c \in Classes if ~(c \in Backlogged => ahead[c] >= 0) \/ ahead[c] > Warp[c] + Factor[c] * Largest | Class
\*        {c} is {ahead[c]} ahead; it should lie between 0 (if it waits) and {Warp[c] + Factor[c] * Largest}
TagsNear ==
    \A c \in Classes :
        /\ c \in Backlogged => ahead[c] >= 0
        /\ ahead[c] <= Warp[c] + Factor[c] * Largest

(* The bound of two classes: a request and the warp of each.  With no warp *)
(* it is that of start-time fair queueing.                                 *)
LagBound == Warp[1] + Warp[2] + (Factor[1] + Factor[2]) * Largest
\* BROKEN | Class 1 has paid {lag} more than class 2; the bound is {LagBound} either way
Shares   == -LagBound <= lag /\ lag <= LagBound

(* While something waits and the limit allows, something can go. *)
WorkConserving == MayGo => Chosen # {}

\* BROKEN | {InFlight} are in flight, and at most {Most} may be
AtMostMost == InFlight <= Most

(* Steps.  The limit may fall below what is in flight; then nothing goes.  *)
NoneAboveLimit     == [][InFlight' > InFlight => InFlight < limit]_vars
GrowsUnderPressure == [][limit' > limit => pressed \/ Backlogged # {}]_vars

(* What goes is the oldest of its class, and each request that leaves the  *)
(* queue is in flight.  What comes is put behind the others.               *)
OldestGoes ==
    [][queue' # queue \/ inFlight' # inFlight => \A c \in Classes :
           LET n == Len(queue[c])
           IN IF inFlight'[c] > inFlight[c]
              THEN n > 0 /\ queue'[c] = Tail(queue[c]) /\ inFlight'[c] = inFlight[c] + 1 /\ last' = c
              ELSE Len(queue'[c]) \in {n, n + 1} /\ SubSeq(queue'[c], 1, n) = queue[c]]_vars

(* The limit moves where a window ends: up by one, if the latencies may    *)
(* have been low enough; down by an eighth and by one at least, if they    *)
(* may not.  Under pressure it does move, between its bounds.              *)
Done == inFlight' # inFlight /\ \E c \in Classes : inFlight'[c] < inFlight[c]
Ends == completed = Window - 1 /\ Done
MayHaveBeenFast == total + MinOf(Latencies) <= Target * Window
MayHaveBeenSlow == total + MaxOf(Latencies) > Target * Window
Pressed == pressed \/ Backlogged # {}
LimitSteps ==
    [][IF ~Ends THEN limit' = limit
       ELSE \/ limit' = limit + 1 /\ MayHaveBeenFast
            \/ /\ limit' < limit /\ limit' >= Least /\ MayHaveBeenSlow
               /\ 8 * (limit - limit') <= Max(8, limit)
               /\ limit' # Least => 8 * (limit - limit' + 1) > limit
            \/ /\ limit' = limit
               /\ \/ limit = Least /\ MayHaveBeenSlow
                  \/ MayHaveBeenFast /\ (limit = Most \/ ~Pressed)]_vars

(* A window counts each completion, and its latency, and whether requests  *)
(* waited at one of them.                                                  *)
WindowCounts ==
    [][IF ~Done THEN UNCHANGED window
       ELSE IF Ends THEN completed' = 0 /\ total' = 0 /\ ~pressed'
       ELSE completed' = completed + 1 /\ total' - total \in Latencies /\ pressed' = Pressed]_vars

(* A device that is never slow again stays so. *)
CalmStays == [][calm => calm' /\ (Done /\ ~Ends => total' - total <= Target)]_vars

EveryClassGoes == \A c \in Classes : c \in Backlogged ~> last = c

(* Once the device is never slow again, and if requests go on to wait, the *)
(* limit gets back to its most.                                            *)
LimitRecovers == (<>calm /\ []<>pressed) => <>[](limit = Most)
=============================================================================

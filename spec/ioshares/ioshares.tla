\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE ioshares ------------------------------
(***************************************************************************)
(* An I/O scheduler that divides a device between classes by shares:       *)
(* start-time fair queueing with D requests in flight, where D follows the *)
(* latency, against the lowest that the device has shown.  Requests come   *)
(* at any time, may be taken back while they wait, and the device          *)
(* completes those in flight in any order, each quickly or slowly.         *)
(*                                                                         *)
(* A class pays for each request that goes: its cost, which is its size    *)
(* and that of an operation, times the class's factor, which is in inverse *)
(* proportion to its share.  What it has paid is its tag.  Virtual time is the least tag among classes with requests  *)
(* waiting.  The model keeps only how far each class is ahead of it.       *)
(*                                                                         *)
(* Shares may change at any time.  Then each class stays as many bytes     *)
(* ahead as it was, and what waits pays by the share it has when it goes.  *)
(*                                                                         *)
(* Simplified: of the requests in flight only their classes are known,     *)
(* latencies are of a few values, and a read costs what a write costs.  Numbers have no bound;                  *)
(* proofs/ioshares/Overflow.v has the bounds of 64 bits.                   *)
(*                                                                         *)
(*   here        ref/ioshares.py              csrc/ioshares/scheduler.h    *)
(*   queue       Flow.waiting                 flow.ring, head, count       *)
(*   ahead       Scheduler.lead               tag - virtual_time           *)
(*   factor      Flow.factor                  flow.factor                  *)
(*   inFlight    Flow.in_flight               flow.in_flight               *)
(*   limit       Limit.now                    limit                        *)
(*   pace        Limit.level ... settling     level ... settling (pace.c)  *)
(*   completed, total, pressed (Limit)        completed, latency, pressed  *)
(*                                                                         *)
(* Safety: Shares (two classes that stay backlogged: what they get, by     *)
(* share, differs by at most LagBound), WorkConserving, NoneAboveLimit,    *)
(* TagsNear, GrowsUnderPressure, HalfInAProbe, FloorObserved,              *)
(* FloorFollows, NoCliff, HeedsTarget, SettlesOnceLowered, LeadsStay.      *)
(* Liveness: EveryClassGoes, LimitRecovers, ProbesComeAgain, FloorIsFound. *)
(*                                                                         *)
(* Departures from upstream: PostgreSQL has no such scheduler.             *)
(*                                                                         *)
(* How to break it: let an idle class fall behind (Floor below 0), round   *)
(* what a class pays, let virtual time follow the class that goes, hold a  *)
(* class back to a quota of the limit, or never raise the limit.  Each is  *)
(* a run MCioshares_mutant_*.                                              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Classes,    \* 1..n
    Factors,    \* shares that there may be, the first ones first: of each class the least common multiple of all, divided by its share
    Warp,       \* by class: how far it may run ahead, in the unit of sizes
    Sizes,      \* of requests
    Operation,  \* what an operation costs beside its size
    Capacity,   \* requests of a class that may wait
    Least, Start, Most,     \* bounds of the limit, and its value at first
    Window,     \* completions between two looks at the latency
    Latencies, Target,      \* Target: 0 if there is none
    ProbeEvery,     \* windows in which the limit may grow, from one probe to the next
    Floor       \* how far behind virtual time an idle class may fall: 0

VARIABLES
    factor,     \* by class: of the shares of now
    queue,      \* by class: sizes of the requests that wait, oldest first
    ahead,      \* by class: its tag, less the virtual time
    inFlight,   \* by class: requests in flight
    limit,      \* of requests in flight
    pace,       \* what the limit is made of: level, floor, age, probing, settling
    completed, total, pressed,  \* of this window: completions, their latencies, did requests wait?
    calm,       \* the device is never slow again
    last,       \* the class of the last request that went; 0: none
    lag         \* what class 1 has paid less what class 2 has, since some moment; both have been backlogged since

vars == <<factor, queue, ahead, inFlight, limit, pace, completed, total, pressed, calm, last, lag>>
window == <<pace, completed, total, pressed>>

Max(a, b) == IF a < b THEN b ELSE a
Min(a, b) == IF a < b THEN a ELSE b
MinOf(S)  == CHOOSE x \in S : \A y \in S : x <= y
MaxOf(S)  == CHOOSE x \in S : \A y \in S : y <= x
Sum(f)    == LET RECURSIVE of(_)
                 of(S) == IF S = {} THEN 0 ELSE LET c == MinOf(S) IN f[c] + of(S \ {c})
             IN  of(DOMAIN f)

Backlogged == {c \in Classes : queue[c] # <<>>}
InFlight   == Sum(inFlight)
Cost(size) == Operation + size
Largest    == Cost(MaxOf(Sizes))

(* During a probe half as many may be in flight. *)
LimitOf(p) == IF p.probing THEN Max(Least, p.level \div 2) ELSE p.level

Init ==
    /\ factor = Factors[1]
    /\ queue = [c \in Classes |-> <<>>]
    /\ ahead = [c \in Classes |-> 0]
    /\ inFlight = [c \in Classes |-> 0]
    /\ pace = [level |-> Start, floor |-> 0, age |-> 0, probing |-> TRUE, settling |-> TRUE]
    /\ limit = LimitOf(pace)
    /\ completed = 0 /\ total = 0 /\ pressed = FALSE
    /\ calm = FALSE
    /\ last = 0
    /\ lag = 0

-----------------------------------------------------------------------------
(* A request comes.  A class that comes back has no credit for what it      *)
(* did not use: Behind has seen to that at each dispatch.                  *)
Submit(c, size) ==
    /\ Len(queue[c]) < Capacity
    /\ queue' = [queue EXCEPT ![c] = Append(@, size)]
    /\ UNCHANGED <<factor, ahead, inFlight, limit, window, calm, last, lag>>

-----------------------------------------------------------------------------
(* A request goes.                                                         *)
MayGo == Backlogged # {} /\ InFlight < limit

WarpOf(c) == factor[c] * Warp[c]
Key(c)  == ahead[c] - WarpOf(c)
Chosen  == {c \in Backlogged : \A d \in Backlogged : Key(c) <= Key(d)}
Pays(c, size) == factor[c] * Cost(size)

(* How much the virtual time advances when c goes, and how far behind it   *)
(* an idle class may fall.                                                 *)
Advance(c)   == MinOf({ahead[d] : d \in Backlogged})
Behind(d, x) == IF d \in Backlogged THEN x ELSE Max(x, Floor)

(* The moment from which lag is measured is any at which both are backlogged, so at each it may begin anew. *)
Both(q) == \A c \in {1, 2} : q[c] # <<>>
Measured(c, paid, q) ==
    IF Both(queue) /\ Both(q) THEN {0, lag + (IF c = 1 THEN paid ELSE IF c = 2 THEN -paid ELSE 0)} ELSE {0}

Dispatch(c) ==
    /\ MayGo
    /\ c \in Chosen
    /\ LET size == Head(queue[c])
           paid == Pays(c, size)
           step == Advance(c)
       IN  /\ queue' = [queue EXCEPT ![c] = Tail(@)]
           /\ ahead' = [d \in Classes |-> Behind(d, ahead[d] - step + (IF d = c THEN paid ELSE 0))]
           /\ lag' \in Measured(c, factor[c] * Cost(size), queue')
    /\ inFlight' = [inFlight EXCEPT ![c] = @ + 1]
    /\ last' = c
    /\ UNCHANGED <<factor, limit, window, calm>>

-----------------------------------------------------------------------------
(* A request that waits is taken back, and has cost nothing.               *)
Without(q, k) == SubSeq(q, 1, k - 1) \o SubSeq(q, k + 1, Len(q))
Cancel(c, k) ==
    /\ k <= Len(queue[c])
    /\ queue' = [queue EXCEPT ![c] = Without(@, k)]
    /\ lag' \in Measured(c, 0, queue')
    /\ UNCHANGED <<factor, ahead, inFlight, limit, window, calm, last>>

-----------------------------------------------------------------------------
(* The shares change.  Each class stays as many bytes ahead as it was,     *)
(* rounded down.  What two classes get is measured anew.                   *)
Carried(new) == [c \in Classes |-> (ahead[c] * new[c]) \div factor[c]]
SetShares(k) ==
    /\ Factors[k] # factor
    /\ factor' = Factors[k]
    /\ ahead' = Carried(Factors[k])
    /\ lag' = 0
    /\ UNCHANGED <<queue, inFlight, limit, window, calm, last>>

-----------------------------------------------------------------------------
(* The device has done a request.  At the end of a window its mean latency *)
(* is held against the floor.  A window that settles is not looked at, and *)
(* one of a probe sets the floor.                                          *)
Bound(f) == IF Target = 0 THEN (7 * f) \div 4 ELSE Max((3 * f) \div 2, Min(2 * f, Target))
Lower(n, f, mean) == Max(Least, Min(n - 1, (5 * n * f) \div (4 * mean)))
Raise(n)      == Min(Most, n + 1)
Added(latency) == total + latency
Lowest(p, mean) == IF mean < p.floor \/ p.level = Least THEN mean ELSE p.floor

Looked(p, mean, waited) ==
    LET f   == Lowest(p, mean)
        due == p.age + 1 = ProbeEvery
    IN  IF mean > Bound(f) THEN [p EXCEPT !.level = Lower(@, f, mean), !.floor = f, !.settling = TRUE]
        ELSE IF waited
        THEN [p EXCEPT !.level = Raise(@), !.floor = f, !.age = @ + 1, !.probing = due, !.settling = due]
        ELSE [p EXCEPT !.floor = f]

Adapted(p, mean, waited) ==
    IF p.settling THEN [p EXCEPT !.settling = FALSE]
    ELSE IF p.probing THEN [p EXCEPT !.floor = mean, !.age = 0, !.probing = FALSE, !.settling = TRUE]
    ELSE Looked(p, mean, waited)

Complete(c, latency) ==
    LET waited == pressed \/ Backlogged # {}
        sum    == Added(latency)
    IN  /\ inFlight[c] > 0
        /\ calm => latency = MinOf(Latencies)
        /\ inFlight' = [inFlight EXCEPT ![c] = @ - 1]
        /\ IF completed + 1 < Max(Window, pace.level)
           THEN /\ completed' = completed + 1 /\ total' = sum /\ pressed' = waited
                /\ UNCHANGED <<limit, pace>>
           ELSE /\ completed' = 0 /\ total' = 0 /\ pressed' = FALSE
                /\ pace' = Adapted(pace, sum \div (completed + 1), waited)
                /\ limit' = LimitOf(pace')
        /\ UNCHANGED <<factor, queue, ahead, calm, last, lag>>

CalmDown ==
    /\ ~calm
    /\ Cardinality(Latencies) > 1
    /\ calm' = TRUE
    /\ UNCHANGED <<factor, queue, ahead, inFlight, limit, window, last, lag>>

-----------------------------------------------------------------------------
Next ==
    \/ \E c \in Classes, size \in Sizes : Submit(c, size)
    \/ \E c \in Classes : Dispatch(c)
    \/ \E c \in Classes, k \in 1..Capacity : Cancel(c, k)
    \/ \E c \in Classes, latency \in Latencies : Complete(c, latency)
    \/ \E k \in 1..Len(Factors) : SetShares(k)
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
    /\ \E k \in 1..Len(Factors) : factor = Factors[k]
    /\ queue \in [Classes -> Seq(Sizes)]
    /\ \A c \in Classes : Len(queue[c]) <= Capacity
    /\ ahead \in [Classes -> Int]
    /\ inFlight \in [Classes -> 0..Most]
    /\ pace.level \in Least..Most /\ pace.floor \in 0..MaxOf(Latencies) /\ pace.age \in 0..ProbeEvery
    /\ pace.probing \in BOOLEAN /\ pace.settling \in BOOLEAN
    /\ limit = LimitOf(pace) /\ limit >= Least
    /\ completed \in 0..(Max(Window, pace.level) - 1)
    /\ total \in completed * MinOf(Latencies)..completed * MaxOf(Latencies)
    /\ last \in Classes \cup {0} /\ lag \in Int
    /\ pressed \in BOOLEAN /\ calm \in BOOLEAN

(* Where the tags are.  All else about shares follows. *)
TagsNear ==
    \A c \in Classes :
        /\ c \in Backlogged => ahead[c] >= 0
        /\ ahead[c] <= WarpOf(c) + factor[c] * Largest

(* The bound of two classes: a request and the warp of each.  With no warp *)
(* it is that of start-time fair queueing.                                 *)
LagBound == WarpOf(1) + WarpOf(2) + (factor[1] + factor[2]) * Largest
Shares   == -LagBound <= lag /\ lag <= LagBound

(* While something waits and the limit allows, something can go. *)
WorkConserving == MayGo => Chosen # {}

(* During a probe half as many may be in flight, rounded down, but no less *)
(* than the least.                                                         *)
HalfInAProbe ==
    IF pace.probing
    THEN \E half \in 0..limit : pace.level - 2 * half \in {0, 1} /\ limit = Max(Least, half)
    ELSE limit = pace.level

AtMostMost == InFlight <= Most

(* The floor is no latency that the device cannot have: below it the limit *)
(* would fall for nothing.  There is none until the first probe has ended. *)
FloorIsPossible == pace.floor \in MinOf(Latencies)..MaxOf(Latencies) \/ (pace.floor = 0 /\ pace.probing)

(* Steps.  The limit may fall below what is in flight; then nothing goes.  *)
NoneAboveLimit     == [][InFlight' > InFlight => InFlight < limit]_vars
GrowsUnderPressure == [][pace'.level > pace.level => pressed \/ Backlogged # {}]_vars

(* What goes is the oldest of its class, and each request that leaves the  *)
(* queue is in flight, or was taken back.  What comes is put behind the    *)
(* others.                                                                 *)
OldestGoes ==
    [][queue' # queue \/ inFlight' # inFlight => \A c \in Classes :
           LET n == Len(queue[c])
           IN IF inFlight'[c] > inFlight[c]
              THEN n > 0 /\ queue'[c] = Tail(queue[c]) /\ inFlight'[c] = inFlight[c] + 1 /\ last' = c
              ELSE \/ Len(queue'[c]) \in {n, n + 1} /\ SubSeq(queue'[c], 1, n) = queue[c]
                   \/ \E k \in 1..n : queue'[c] = SubSeq(queue[c], 1, k - 1) \o SubSeq(queue[c], k + 1, n)]_vars

(* What is taken back has cost nothing, and nobody else notices. *)
TakenBackIsFree ==
    [][\A c \in Classes : Len(queue'[c]) < Len(queue[c]) /\ inFlight' = inFlight =>
           ahead' = ahead /\ \A d \in Classes \ {c} : queue'[d] = queue[d]]_vars

(* New shares leave each class as many bytes ahead, but for less than one  *)
(* by rounding, and all else as it was.                                    *)
LeadsStay ==
    [][factor' # factor =>
           /\ UNCHANGED <<queue, inFlight, limit, window, last>>
           /\ \A c \in Classes : LET less == ahead[c] * factor'[c] - ahead'[c] * factor[c]
                               IN  0 <= less /\ less < factor[c]]_vars

Done == inFlight' # inFlight /\ \E c \in Classes : inFlight'[c] < inFlight[c]
Ends == completed + 1 >= Max(Window, pace.level) /\ Done
Means == {(total + latency) \div (completed + 1) : latency \in Latencies}
Pressed == pressed \/ Backlogged # {}
Looks == Ends /\ ~pace.settling /\ ~pace.probing

(* The floor is a latency that was observed: the mean of the window that   *)
(* ends.  A probe's is the floor, whatever it was; else it is not above    *)
(* the last one, unless the limit is at its least.                         *)
FloorObserved ==
    [][/\ pace'.floor # pace.floor => Ends /\ pace'.floor \in Means
       /\ Ends /\ pace.probing /\ ~pace.settling => pace'.floor \in Means
       /\ Looks => pace'.floor <= pace.floor \/ pace.level = Least]_vars

(* It follows a window that was faster.                                    *)
FloorFollows == [][Looks /\ (\A m \in Means : m < pace.floor) => pace'.floor \in Means]_vars

(* The step ends a window that is looked at, with this last latency.       *)
Ended(latency) == Looks /\ \E c \in Classes : Complete(c, latency)
Mean(latency) == (total + latency) \div (completed + 1)

(* The limit falls only if the mean is above 3/2 of the floor, and must    *)
(* fall above twice the floor.  It falls by one, or no further than the    *)
(* latency has risen: of n requests in flight n * floor / mean are in the  *)
(* device, the others queue.  To fall below these is a cliff: it is idle.  *)
NoCliff ==
    [][/\ pace'.level < pace.level => Looks
       /\ \A latency \in Latencies : Ended(latency) =>
              LET m == Mean(latency)  f == pace'.floor
              IN  /\ pace'.level < pace.level => m > (3 * f) \div 2
                  /\ pace'.level >= pace.level - 1 \/ (pace'.level + 1) * m > pace.level * f
                  /\ m > 2 * f => pace'.level < pace.level \/ pace.level = Least]_vars

(* A target: the limit stays as long as the mean is within it, and falls   *)
(* beyond.  It is a hint only: not above twice the floor, nor below 3/2.   *)
HeedsTarget ==
    [][\A latency \in Latencies : Target > 0 /\ Ended(latency) =>
           LET m == Mean(latency)  f == pace'.floor
           IN  /\ m <= Target /\ m <= 2 * f => pace'.level >= pace.level
               /\ m > Target /\ m > (3 * f) \div 2 => pace'.level < pace.level \/ pace.level = Least]_vars

(* Two windows in a row do not lower it: those in flight were sent before. *)
SettlesOnceLowered == [][pace'.level < pace.level => pace'.settling]_vars

(* It rises by one, where a window ends, and in each that may have been    *)
(* fast enough and in which requests waited.                               *)
RisesByOne ==
    [][/\ pace'.level > pace.level => Looks /\ pace'.level = pace.level + 1
       /\ Looks /\ Pressed /\ (\A m \in Means : m <= (3 * pace'.floor) \div 2) => pace'.level = Min(Most, pace.level + 1)]_vars

(* A device that is never slow again stays so. *)
CalmStays == [][calm => calm' /\ (Done /\ ~Ends => total' - total = MinOf(Latencies))]_vars

EveryClassGoes == \A c \in Classes : c \in Backlogged ~> last = c \/ c \notin Backlogged

(* Once the device is never slow again, and if requests go on to wait and  *)
(* windows to end (nobody takes everything back before it goes), the limit *)
(* gets back to its most, but for probes.                                  *)
LimitRecovers == (<>calm /\ []<>pressed /\ []<>~pressed) => <>[](pace.level = Most)

(* And if they do, whatever the device does: a probe comes again and again,*)
(* each ends, and a calm device's latency is found.                        *)
ProbesComeAgain == ([]<>pressed /\ []<>~pressed) => []<>pace.probing /\ []<>~pace.probing
FloorIsFound == (<>calm /\ []<>pressed /\ []<>~pressed) => <>[](pace.floor = MinOf(Latencies))
=============================================================================

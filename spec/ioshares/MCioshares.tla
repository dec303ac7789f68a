\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCioshares -----------------------------
(* ioshares with bounds, and definitions that are wrong on purpose.        *)
EXTENDS ioshares

OneClass     == {1}
TwoClasses   == {1, 2}

\* Without the ghost of liveness.
View == <<factor, queue, ahead, inFlight, limit, window, calm, lag>>

\* Without the measurement, which only Shares needs.
NotMeasured(c, paid, q) == {0}

\* Calm matters for liveness alone.
NeverCalm == FALSE /\ UNCHANGED vars

Zero    == 0

OneFactor    == << <<1>> >>
\* Shares 3 and 2; of three classes 3, 2 and 1; of two classes 3 and 1.
TwoFactors   == << <<2, 3>> >>
\* Shares 3 and 2, and then 1 and 3; and back.
TurnedFactors == << <<2, 3>>, <<3, 1>> >>

NoWarp   == [c \in Classes |-> 0]
SomeWarp == [c \in Classes |-> IF c = 1 THEN 1 ELSE 0]

\* Virtual time is the tag of the class that goes, though its warp has let it run ahead.
AdvanceOfTheChosen(c) == ahead[c]

\* Each class has a slot of its own, and no other.
OwnSlots == {c \in Backlogged : inFlight[c] < 1 /\ \A d \in Backlogged : Key(c) <= Key(d)}

\* First come, first served knows no shares: any class may be the one whose request is oldest.
AnyClass == Backlogged

OneMore == Backlogged # {} /\ InFlight <= limit

\* The newest request of a class goes first.
NewestFirst(c) ==
    /\ MayGo /\ c \in Chosen
    /\ LET n == Len(queue[c]) step == Advance(c)
       IN  /\ queue' = [queue EXCEPT ![c] = SubSeq(@, 1, n - 1)]
           /\ ahead' = [d \in Classes |-> Behind(d, ahead[d] - step + (IF d = c THEN Pays(c, queue[c][n]) ELSE 0))]
           /\ lag' = 0
    /\ inFlight' = [inFlight EXCEPT ![c] = @ + 1]
    /\ last' = c
    /\ UNCHANGED <<factor, limit, window, calm>>

\* The latency of the last completion alone counts.
LastAlone(latency) == latency
\* Up by two.
ByTwo(n) == Min(Most, n + 2)
\* The limit is left as it is: for what does not depend on it.
Unpaced(p, mean, waited) == p
\* Half of what was observed.
HalfTheMean(p, mean, waited) ==
    IF p.settling THEN [p EXCEPT !.settling = FALSE]
    ELSE IF p.probing THEN [p EXCEPT !.floor = mean \div 2, !.age = 0, !.probing = FALSE, !.settling = TRUE]
    ELSE Looked(p, mean, waited)
\* The floor of the last probe stays, though a window was faster.
StaysAtProbe(p, mean) == p.floor
\* A probe leaves the limit as it is.
WholeLimit(p) == p.level
\* The target alone, whatever the floor.
TargetAlone(f) == Target
\* No target, whatever it is.
NoTarget(f) == (7 * f) \div 4
\* A limit that has fallen is looked at in the next window.
NeverSettles(p, mean, waited) ==
    LET q == Looked(p, mean, waited) IN IF p.settling THEN [p EXCEPT !.settling = FALSE]
    ELSE IF p.probing THEN [p EXCEPT !.floor = mean, !.age = 0, !.probing = FALSE, !.settling = TRUE]
    ELSE [q EXCEPT !.settling = q.probing]
\* A probe never comes again.
NeverDue(p, mean, waited) ==
    LET q == [p EXCEPT !.age = 0] IN IF p.settling THEN [p EXCEPT !.settling = FALSE]
    ELSE IF p.probing THEN [q EXCEPT !.floor = mean, !.probing = FALSE, !.settling = TRUE] ELSE Looked(q, mean, waited)
\* New shares leave the tags as they are.
KeptTags(new) == ahead
\* New shares send what waits away.
SharesAlone(k) ==
    /\ Factors[k] # factor
    /\ factor' = Factors[k] /\ ahead' = Carried(Factors[k]) /\ lag' = 0
    /\ queue' = [c \in Classes |-> <<>>]
    /\ UNCHANGED <<inFlight, limit, window, calm, last>>
\* What is taken back has been paid for.
CancelCharged(c, k) ==
    /\ k <= Len(queue[c])
    /\ queue' = [queue EXCEPT ![c] = Without(@, k)]
    /\ ahead' = [ahead EXCEPT ![c] = @ + factor[c]]
    /\ lag' \in Measured(c, 0, queue')
    /\ UNCHANGED <<factor, inFlight, limit, window, calm, last>>
\* The device is calm for a while.
CalmForAWhile == calm' = ~calm /\ UNCHANGED <<factor, queue, ahead, inFlight, limit, window, last, lag>>

NeverRaised(n) == n
ByTwoDown(n, f, mean)   == n - 2
DownToLeast(n, f, mean) == Least
NeverLower(n, f, mean)  == n
\* The limit grows though nothing waits.
GrowsAnyhow(p, mean, waited) ==
    LET f == Lowest(p, mean)
        due == p.age + 1 = ProbeEvery
    IN  IF mean > Bound(f) THEN [p EXCEPT !.level = Lower(@, f, mean), !.floor = f, !.settling = TRUE]
        ELSE [p EXCEPT !.level = Raise(@), !.floor = f, !.age = @ + 1, !.probing = due, !.settling = due]

\* Denials of states that must be reached.
NeverAboveLimit  == InFlight <= limit
NeverRunsAhead   == \A c \in Backlogged : ahead[c] <= factor[c] * Largest
NeverReturns     == ~(\E c \in Classes : c \notin Backlogged /\ ahead[c] = 0 /\ \E d \in Classes : ahead[d] > 0)
NeverNearBound   == lag < LagBound - 1
NeverTurned      == factor = Factors[1] \/ \E c \in Classes : queue[c] = <<>> \/ ahead[c] = 0
NeverLowered     == pace.level >= Start
NeverProbes      == ~(pace.probing /\ pace.age > 0)
NeverCalmed      == ~calm
\* The newest request of a full queue, which is not like the one before it, is taken back.
NeverNewestBack  ==
    [][\A c \in Classes : Len(queue[c]) = Capacity /\ inFlight' = inFlight =>
           queue'[c] # SubSeq(queue[c], 1, Capacity - 1) \/ queue'[c] = Tail(queue[c])]_vars
=============================================================================

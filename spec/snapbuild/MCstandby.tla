\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCstandby ------------------------------
(* Bounds for standby, broken definitions, states that must be reachable.  *)
EXTENDS standby

CONSTANTS MaxXacts, MaxXid

Bounds == Cardinality(DOMAIN top') <= MaxXacts /\ next' <= MaxXid

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before 1df21ddb an XID that was listed twice was an insertion out of order.
RefusesTwice(r) == IF twice # 0 THEN "refused" ELSE IF r.subs = "missing" THEN "pending" ELSE "ready"
\* Before 05e6e78c lastOverflowedXid was never reset.
NeverExpires(oldest) == overflow
\* Before cbfbda78 nobody looked for the subtransactions of prepared transactions at a shutdown checkpoint.
ShutdownAlone ==
    /\ state # "refused" /\ twice = 0
    /\ logged' = next
    /\ status' = [x \in Xacts |-> IF status[x] = "running" THEN "aborted" ELSE status[x]]
    /\ Apply([xids |-> {x \in Prepared : top[x] = x}, subs |-> "listed", oldest |-> Min(Prepared \cup {next})])
    /\ UNCHANGED <<next, top, reported, twice, subtrans, clog>>
\* Before 5a031a55 the standby began to observe XIDs at the oldest that ran.
AtTheOldest ==
    /\ state = "none"
    /\ state' = "begun" /\ observed' = OldestRunning
    /\ UNCHANGED <<primary, known, subtrans, pending, overflow, clog>>

(* Mutants *)
Always(t) == TRUE
Seldom == next + 1 < OldestRunning + Half
TopAlone(x, ended, committed) ==
    /\ observed' = ObservedAfter(x)
    /\ known' = KnownAfter(x) \ (IF committed = {} THEN ended ELSE {y \in ended : top[y] = y})
    /\ clog' = ClogAfter(x) \cup committed
PrunesNothing(oldest) == known
MovesNothing(subs) == {}

(* States that must be reachable *)
NeverTwice      == ~(state = "ready" /\ twice # 0 /\ logged = next /\ observed = next /\ \E x \in Committed : TRUE)
NeverByPending  == [][~(state = "pending" /\ state' = "ready" /\ Living # {})]_vars
NeverShutdown   == ~(state = "ready" /\ \E x \in Prepared : x \in subtrans /\ x \notin known /\ x \notin reported)
NeverHalfARing  == ~(state = "ready" /\ reported # {} /\ \A x \in reported : ~Lives(x) /\ next > x + Half)
NeverOldRuns    == ~(state = "begun" /\ \E x \in Living, y \in Committed : x < y /\ Page(y) # Page(x) /\ observed > y)
=============================================================================

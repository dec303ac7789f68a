\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCstandby ------------------------------
(* Bounds for standby, broken definitions, states that must be reachable.  *)
EXTENDS standby

CONSTANTS MaxXacts, MaxXid

Bounds == Cardinality(DOMAIN top') <= MaxXacts /\ next' <= MaxXid

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before 1df21ddb an XID that was listed twice was an insertion out of order.
RefusesTwice(r) == r.twice
\* Before 05e6e78c lastOverflowedXid was never reset.
NeverExpires(oldest) == overflow
\* Before cbfbda78 nobody looked for the subtransactions of prepared transactions at a shutdown checkpoint.
Never == FALSE
\* Before 5a031a55 the standby began to observe XIDs at the oldest that ran.
AtTheOldest == OldestRunning

(* Mutants *)
Always(t) == TRUE
Seldom == next + 1 < OldestRunning + Half
TopAlone(tree) == {x \in tree : top[x] = x}
PrunesNothing(oldest) == known
MovesNothing(subs) == {}

(* States that must be reachable *)
NeverTwice      == ~(state = "ready" /\ twice # 0 /\ logged = next /\ observed = next /\ \E x \in Committed : TRUE)
NeverByPending  == [][~(state = "pending" /\ state' = "ready" /\ Living # {})]_vars
NeverShutdown   == ~(state = "ready" /\ \E x \in Prepared : x \in subtrans /\ x \notin known /\ x \notin reported)
NeverHalfARing  == ~(state = "ready" /\ reported # {} /\ \A x \in reported : ~Lives(x) /\ next > x + Half)
NeverOldRuns    == ~(state = "begun" /\ \E x \in Living, y \in Committed : x < y /\ Page(y) # Page(x) /\ observed > y)
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MClogicalctl ----------------------------
(* Broken definitions for logicalctl, states that must be reachable.       *)
EXTENDS logicalctl

Always == TRUE
Never == FALSE
AlwaysOf(c) == TRUE

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before 93a3e6839b who was interrupted cleared the flag itself, though somebody else might have switched on meanwhile.
ClearsItself(c) ==
    /\ pc[c] = "waiting"
    /\ info' = FALSE /\ told' = Procs
    /\ waits' = [waits EXCEPT ![c] = {}]
    /\ Goto(c, "failed")
    /\ UNCHANGED <<startup, enabled, pending, disabling, cache, late, xid, slot, reserved, old, spoilt, snap>>
\* Before 6aba42c660 a copy did not look again, or nobody did in recovery.
CopiesDoNotLook(c) == c \in Copies \/ enabled
\* Before c209931bd4 nothing was decided with wal_level = minimal.
UnlessMinimal == ~Minimal
\* LogStandbySnapshot asks for the flag that is set behind the barrier.
AsksForEnabled == enabled

-----------------------------------------------------------------------------
(* Mutants *)
DoesNotWait(c) ==
    /\ pc[c] = "waiting"
    /\ enabled' = TRUE /\ pending' = FALSE
    /\ Spoils("status", IF AlreadyOn THEN {} ELSE reserved)
    /\ Goto(c, "enabled")
    /\ UNCHANGED <<startup, info, disabling, caches, xid, slot, waits, reserved, old, snap>>
ForgetsRequest(c) ==
    /\ pc[c] = "dropped"
    /\ Goto(c, "idle")
    /\ UNCHANGED <<startup, shared, disabling, caches, xid, slots, snap>>

NeverOf(c) == FALSE /\ UNCHANGED vars
KeepsLate(w) ==
    /\ w \in xid /\ ~(snap.at = "listed" /\ snap.holds)
    /\ xid' = xid \ {w}
    /\ old' = [c \in Creators |-> old[c] \ {w}]
    /\ cache' = IF w \in late THEN [cache EXCEPT ![w] = info] ELSE cache
    /\ UNCHANGED <<startup, shared, disabling, told, late, pc, slot, waits, reserved, spoilt, snap>>

-----------------------------------------------------------------------------
(* States that must be reachable *)
NeverReady   == ~\E c \in Creators \ Copies : phase = "normal" /\ slot[c] = "ready"
NeverCopied  == ~\E c \in Copies : phase = "normal" /\ slot[c] = "ready"
NeverBoth    == ~(Cardinality({c \in Creators : pc[c] = "waiting"}) = 2)
NeverLate    == late = {}
NeverHalfOff == ~(info /\ ~enabled /\ NobodyUses)
NeverStandby == ~\E c \in Creators \ Copies : phase = "recovery" /\ slot[c] = "ready"
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE MCslot -------------------------------
(* Bounds for slot, broken definitions, states that must be reachable.     *)
EXTENDS slot

CONSTANTS MaxXid, MaxWal, MaxRestarts

VARIABLE restarts
mcvars == <<vars, restarts>>

Bounds == next' <= MaxXid + 1 /\ Len(wal') <= MaxWal /\ restarts' <= MaxRestarts

MCSpec == Init /\ restarts = 0 /\ [][Next /\ restarts' = restarts + IF serialized' = 0 /\ serialized # 0 THEN 1 ELSE 0]_mcvars

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before f49a80c4 the oldest running XID was proposed, whatever snapshots were in use.
OldestRunning(oldest) == oldest
\* Before e5ed873b an older position was proposed where nothing else was.
ProposeAny(s, lsn, to) ==
    IF s.forRestart = Nothing /\ (to <= s.restart \/ lsn > s.confirmed)
    THEN [s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]]
    ELSE IF to > s.restart /\ lsn <= s.confirmed
    THEN Confirmed([s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]], s.confirmed)
    ELSE s

(* Mutants *)
NewestFile(lsn) == lsn
XminLate(s, lsn) ==
    IF s.forXmin # Nothing /\ s.forXmin.valid < lsn THEN [s EXCEPT !.xmin = s.forXmin.to, !.forXmin = Nothing] ELSE s
RestartLate(s, lsn) ==
    IF s.forRestart # Nothing /\ s.forRestart.valid < lsn
    THEN [s EXCEPT !.restart = s.forRestart.to, !.forRestart = Nothing] ELSE s
ProposeUnfiled(s, lsn, to) == IF s.forRestart = Nothing THEN [s EXCEPT !.forRestart = [valid |-> lsn, to |-> to + 1]] ELSE s

(* States that must be reachable *)
NeverHeldBack == ~\E x \in DOMAIN buffer : Wanted(x) /\ read > 1 /\ wal[read].type = "running" /\ buffer[x].xmin < wal[read].xid
NeverLate == ~(restarts > 0 /\ serialized # 0 /\ read + 1 < slot.restart /\ wal[read + 1].type = "running"
               /\ slot.forRestart = Nothing /\ buffer # <<>>)
=============================================================================

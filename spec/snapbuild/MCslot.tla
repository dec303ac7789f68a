\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE MCslot -------------------------------
(* Bounds for slot, broken definitions, states that must be reachable.     *)
EXTENDS slot

CONSTANTS MaxXid, MaxWal, MaxRestarts

VARIABLES
    restarts,
    saved       \* the slot on disk
mcvars == <<vars, restarts, saved>>

Bounds == next' <= MaxXid + 1 /\ Len(wal') <= MaxWal /\ restarts' <= MaxRestarts

MCInit == Init /\ restarts = 0 /\ saved = slot
Counts == restarts' = restarts + IF serialized' = 0 /\ serialized # 0 THEN 1 ELSE 0
MCSpec == MCInit /\ [][Next /\ Counts /\ UNCHANGED saved]_mcvars

(* A crash leaves the slot as it was saved, without what was proposed. Who runs is prepared, and runs on.  A checkpoint *)
(* removes WAL by what was saved.                                                                                      *)
Save ==
    /\ saved' = [slot EXCEPT !.forRestart = Nothing, !.forXmin = Nothing] /\ saved' # saved
    /\ UNCHANGED vars
Crash ==
    /\ slot' = saved
    /\ read' = saved.restart - 1 /\ serialized' = 0 /\ xmin' = 0 /\ buffer' = <<>>
    /\ UNCHANGED <<server, removed, received, files, saved>>
RemovesUpTo == saved.restart
CheckPointSaved == removed < RemovesUpTo /\ removed' = RemovesUpTo /\ UNCHANGED <<server, slot, decoder, saved>>
CrashNext == (Next /\ UNCHANGED <<removed, saved>>) \/ Save \/ Crash \/ CheckPointSaved
CrashSpec == MCInit /\ [][CrashNext /\ Counts]_mcvars
\* Before ca307d5c it did so by the slot in memory.
InMemory == slot.restart

(* For ever: a record of the running transactions that nothing refers to is forgotten, and those behind it count anew. *)
Referred ==
    {slot.restart, slot.confirmed, slot.forRestart.valid, slot.forRestart.to, slot.forXmin.valid, removed, received, serialized}
    \cup {buffer[x].since : x \in DOMAIN buffer}
Forget == \E i \in (1..read) \ Referred :
    LET less(lsn) == IF lsn > i THEN lsn - 1 ELSE lsn
        old(lsn)  == IF lsn < i THEN lsn ELSE lsn + 1
    IN  /\ wal[i].type = "running"
        /\ wal' = [j \in 1..(Len(wal) - 1) |-> wal[old(j)]]
        /\ slot' = [slot EXCEPT !.restart = less(@), !.confirmed = less(@), !.forXmin.valid = less(@),
                                !.forRestart = [valid |-> less(@.valid), to |-> less(@.to)]]
        /\ removed' = less(removed) /\ received' = received - 1 /\ read' = read - 1 /\ serialized' = less(serialized)
        /\ files' = [j \in {less(lsn) : lsn \in DOMAIN files \ {i}} |-> files[old(j)]]
        /\ buffer' = [x \in DOMAIN buffer |-> [buffer[x] EXCEPT !.since = less(@), !.at = less(@)]]
        /\ UNCHANGED <<next, running, xmin>>
HasRoom == Len(wal) < MaxWal
LiveNext ==
    \/ next <= MaxXid /\ Begin
    \/ HasRoom /\ (LogRunning \/ \E x \in running : Change(x) \/ Commit(x))
    \/ Reads \/ Confirms \/ CheckPoint \/ Forget
LiveSpec ==
    /\ MCInit /\ [][LiveNext /\ UNCHANGED <<restarts, saved>>]_mcvars
    /\ Fairness /\ WF_vars(HasRoom /\ LogRunning) /\ WF_vars(Forget)

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
RestartLate(s, lsn) ==
    IF s.forRestart # Nothing /\ s.forRestart.valid < lsn
    THEN [s EXCEPT !.restart = s.forRestart.to, !.forRestart = Nothing] ELSE s
ProposeUnfiled(s, lsn, to) == IF s.forRestart = Nothing THEN [s EXCEPT !.forRestart = [valid |-> lsn, to |-> to + 1]] ELSE s

NeverProposed(s, lsn, to) == s
NewerXmin(s, lsn, x) ==
    IF x <= s.xmin THEN s
    ELSE IF lsn <= s.confirmed THEN Confirmed([s EXCEPT !.forXmin = [valid |-> lsn, to |-> x]], s.confirmed)
    ELSE [s EXCEPT !.forXmin = [valid |-> lsn, to |-> x]]
NewerRestart(s, lsn, to) ==
    IF to <= s.restart THEN s
    ELSE IF lsn <= s.confirmed THEN Confirmed([s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]], s.confirmed)
    ELSE [s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]]

(* States that must be reachable *)
NeverHeldBack == ~\E x \in DOMAIN buffer : Wanted(x) /\ read > 1 /\ wal[read].type = "running" /\ buffer[x].xmin < wal[read].xid
NeverLate == ~(restarts > 0 /\ serialized # 0 /\ read + 1 < slot.restart /\ wal[read + 1].type = "running"
               /\ slot.forRestart = Nothing /\ buffer # <<>>)
=============================================================================

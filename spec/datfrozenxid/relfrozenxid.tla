\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE relfrozenxid ----------------------------
(***************************************************************************)
(* A vacuum of a table, up to its relfrozenxid: it freezes all below the   *)
(* horizon, logs the new relfrozenxid, and shows it, in place.             *)
(*                                                                         *)
(* Upstream: src/backend/commands/vacuum.c, vac_update_relstats;           *)
(* src/backend/access/heap/heapam.c, heap_inplace_update,                  *)
(* heap_inplace_update_and_unlock.                                         *)
(***************************************************************************)
EXTENDS crash

FreezeBelow(t, horizon) ==
    /\ rel[t].status = "live" /\ freezing[t] = 0 /\ ~BeingCopied(DbOf[t])
    /\ Precedes(rel[t].oldest, horizon) \/ Future(rel[t].frozen, next)
    /\ rel' = [rel EXCEPT ![t].oldest = IF Precedes(@, horizon) THEN horizon ELSE @]
    /\ Log([kind |-> "oldest", of |-> t, xid |-> rel'[t].oldest])
    /\ freezing' = [freezing EXCEPT ![t] = rel'[t].oldest]
    /\ UNCHANGED <<shared, row, truncs, worker, ddl, flushed, crashes>>
Freeze(t) == FreezeBelow(t, Horizon)

Logged(t) == [kind |-> "rel", of |-> t, xid |-> freezing[t]]
InLog(t) == \E i \in 1..Len(wal) : wal[i] = Logged(t)
LogRel(t) ==
    /\ MayCrash /\ freezing[t] # 0 /\ ~InLog(t)
    /\ Log(Logged(t))
    /\ UNCHANGED <<shared, rows, truncs, freezing, worker, ddl, flushed, crashes>>

(* WAL comes before the buffer. *)
MayShowRel(t) == MayCrash => InLog(t) \/ flushed.rel[t].frozen = freezing[t]
ShowRel(t) ==
    /\ freezing[t] # 0 /\ MayShowRel(t)
    /\ rel' = [rel EXCEPT ![t].frozen =
                   IF Precedes(@, freezing[t]) \/ Future(@, next) THEN freezing[t] ELSE @]
    /\ freezing' = [freezing EXCEPT ![t] = 0]
    /\ pending' = ToDatabase(DbOf[t])
    /\ UNCHANGED <<shared, row, truncs, pc, my, cache, snap, ddl>> /\ NoWal

VacuumTables == \E t \in Tables : Freeze(t) \/ LogRel(t) \/ ShowRel(t)

-----------------------------------------------------------------------------
(* A vacuum holds a lock on its table: nobody drops it meanwhile.          *)
NoneDroppedInVacuum == \A t \in Tables : rel[t].status = "dropped" => freezing[t] = 0

(* Of an update in place there is one record in the WAL.                   *)
LoggedOnce == \A t \in Tables : freezing[t] # 0 => Cardinality({i \in 1..Len(wal) : wal[i] = Logged(t)}) <= 1

(* A vacuum freezes nothing that a running transaction or a snapshot keeps.*)
FreezesBehindHorizon ==
    [][\A t \in Tables :
           rel[t].status = "live" /\ rel'[t].oldest # rel[t].oldest /\ crashes' = crashes
               => ~Precedes(Horizon, rel'[t].oldest)]_vars
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE crash --------------------------------
(***************************************************************************)
(* The WAL: a crash keeps any prefix of what was not yet flushed.          *)
(***************************************************************************)
EXTENDS catalogs

(* A record is about a row of pg_database, a row of pg_class, or what a    *)
(* vacuum has frozen in a table.                                           *)
Log(record) == wal' = IF MayCrash THEN Append(wal, record) ELSE wal
Replay1(state, r) ==
    IF r.kind = "row" THEN [state EXCEPT !.row[r.of].frozen = r.xid]
    ELSE IF r.kind = "rel" THEN [state EXCEPT !.rel[r.of].frozen = r.xid]
    ELSE [state EXCEPT !.rel[r.of].oldest = r.xid]
RECURSIVE Replay(_, _)
Replay(state, records) == IF records = <<>> THEN state ELSE Replay(Replay1(state, Head(records)), Tail(records))
Flush == wal' = <<>> /\ flushed' = Replay(flushed, wal)
NoWal == UNCHANGED durable

(* A crash: any prefix of the WAL survives; the limit comes from the last  *)
(* checkpoint, which is as old as can be.                                  *)
Crash ==
    /\ MayCrash /\ crashes = 0
    /\ \E n \in 0..Len(wal) : LET state == Replay(flushed, SubSeq(wal, 1, n)) IN
           rel' = state.rel /\ row' = state.row /\ flushed' = state
    /\ wal' = <<>> /\ crashes' = crashes + 1
    /\ limit' = Oldest({flushed.limit, limit})
    /\ freezing' = [t \in Tables |-> 0]
    /\ pc' = [w \in Workers |-> "idle"] /\ my' = [w \in Workers |-> NotWorking]
    /\ cache' = [w \in Workers |-> 0] /\ pending' = [w \in Workers |-> {}]
    /\ snap' = [w \in Workers |-> NoSnapshot]
    /\ passed' = [d \in Databases |-> 0]
    /\ hold' = 0
    /\ UNCHANGED <<next, clog, ddl>>
=============================================================================

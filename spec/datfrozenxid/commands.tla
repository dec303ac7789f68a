\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE commands ------------------------------
(***************************************************************************)
(* Commands that move tables and databases beside a vacuum: CREATE TABLE   *)
(* and DROP TABLE; one ALTER DATABASE; one CREATE DATABASE.  Each commits, *)
(* and sends its messages only then.                                       *)
(*                                                                         *)
(* Upstream: src/backend/commands/dbcommands.c, createdb, get_db_info.     *)
(***************************************************************************)
EXTENDS crash

-----------------------------------------------------------------------------
(* Tables.  A new one has relfrozenxid from its creator's snapshot; what   *)
(* its creator inserts has the creator's own XID.                          *)
CreateTable(t) ==
    /\ t \in MayCreate /\ rel[t].status = "none" /\ MayAssign
    /\ row[DbOf[t]].status = "live"
    /\ rel' = [rel EXCEPT ![t] = [status |-> "new", frozen |-> next, oldest |-> next]]
    /\ next' = Advance(next)
    /\ UNCHANGED <<hold, row, truncs, freezing, worker, ddl>> /\ NoWal
CommitTable(t) ==
    /\ rel[t].status = "new"
    /\ rel' = [rel EXCEPT ![t].status = "live"]
    /\ unsent' = unsent \cup {t}
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, alter, copy>> /\ NoWal
AbortTable(t) ==
    /\ rel[t].status = "new"
    /\ rel' = [rel EXCEPT ![t].status = "dropped"]
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, ddl>> /\ NoWal
DropTable(t) ==
    /\ t \in MayDrop /\ rel[t].status = "live" /\ freezing[t] = 0
    /\ rel' = [rel EXCEPT ![t].status = "dropped"]
    /\ unsent' = unsent \cup {t}
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, alter, copy>> /\ NoWal
SendTable(t) ==
    /\ t \in unsent
    /\ unsent' = unsent \ {t}
    /\ pending' = ToDatabase(DbOf[t])
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, alter, copy>> /\ NoWal

OnTables ==
    \E t \in Tables : CreateTable(t) \/ CommitTable(t) \/ AbortTable(t) \/ DropTable(t) \/ SendTable(t)

-----------------------------------------------------------------------------
(* ALTER DATABASE: a new version of the row of pg_database, with a copy of *)
(* datfrozenxid.  The tuple lock is held from read to written.  (A         *)
(* superuser's UPDATE is the same, with another datfrozenxid.)             *)
ReadToAlter(d, frozen) ==
    /\ d \in MayAlter /\ alter.pc = "none" /\ ~TupleLocked(d) /\ row[d].status = "live"
    /\ alter' = [pc |-> "read", db |-> d, before |-> 0, after |-> frozen]
    /\ UNCHANGED <<shared, truncs, rows, freezing, worker, copy, unsent>> /\ NoWal
AlterRead(d) == ReadToAlter(d, row[d].frozen)
AlterWrite ==
    /\ alter.pc = "read" /\ ~TupleLocked(alter.db)
    /\ alter' = [alter EXCEPT !.pc = "written"]
    /\ UNCHANGED <<shared, truncs, rows, freezing, worker, copy, unsent>> /\ NoWal
AlterCommit ==
    /\ alter.pc = "written"
    /\ alter' = [alter EXCEPT !.pc = "committed", !.before = row[alter.db].frozen]
    /\ row' = [row EXCEPT ![alter.db].frozen = alter.after]
    /\ UNCHANGED <<shared, truncs, rel, freezing, worker, copy, unsent>> /\ NoWal
AlterSend ==
    /\ alter.pc = "committed"
    /\ alter' = [alter EXCEPT !.pc = "sent"]
    /\ pending' = ToAll(alter.db)
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, copy, unsent>> /\ NoWal

-----------------------------------------------------------------------------
(* CREATE DATABASE: no one is in the template, and no one can connect to   *)
(* it until the end.  The one table of the new database gets what the one  *)
(* of the template has.                                                    *)
CopyDatabase ==
    /\ MayCopy /\ copy.pc = "none" /\ MayAssign
    /\ \A w \in Workers : DbOf[w] = Template => pc[w] = "idle"
    /\ \A t \in TablesOf(Template) : rel[t].status \in {"live", "dropped"} /\ freezing[t] = 0
    /\ copy' = [pc |-> "copied", xid |-> next]
    /\ next' = Advance(next)
    /\ row' = [row EXCEPT ![NewDatabase] = [status |-> "new", frozen |-> row[Template].frozen]]
    /\ LET original == CHOOSE t \in TablesOf(Template) : TRUE
       IN rel' = [t \in Tables |-> IF DbOf[t] = NewDatabase THEN [rel[original] EXCEPT !.status = "copied"] ELSE rel[t]]
    /\ UNCHANGED <<hold, truncs, freezing, worker, alter, unsent>> /\ NoWal
CommitCopy ==
    /\ copy.pc = "copied"
    /\ copy' = [copy EXCEPT !.pc = "committed"]
    /\ row' = [row EXCEPT ![NewDatabase].status = "live"]
    /\ rel' = [t \in Tables |-> IF DbOf[t] = NewDatabase THEN [rel[t] EXCEPT !.status = "live"] ELSE rel[t]]
    /\ unsent' = unsent \cup {"copy"}
    /\ UNCHANGED <<shared, truncs, freezing, worker, alter>> /\ NoWal
SendCopy ==
    /\ "copy" \in unsent
    /\ unsent' = unsent \ {"copy"}
    /\ pending' = ToAll(NewDatabase)
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, alter, copy>> /\ NoWal

OnDatabases ==
    \/ \E d \in Databases : AlterRead(d)
    \/ AlterWrite \/ AlterCommit \/ AlterSend \/ CopyDatabase \/ CommitCopy \/ SendCopy

-----------------------------------------------------------------------------
(* While a template is copied nobody is in it, and nothing of it changes.  *)
CopiesAlone ==
    [][copy.pc = "none" /\ copy'.pc # "none" =>
           /\ \A w \in Workers : DbOf[w] = Template => pc[w] = "idle"
           /\ \A t \in TablesOf(Template) : rel[t].status # "new" /\ freezing[t] = 0]_vars
=============================================================================

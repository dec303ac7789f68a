\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE MCdatfrozenxid ---------------------------
(* datfrozenxid with bounds, and states that must be reachable.  The ring  *)
(* has 16 XIDs; those in play are 13, 14, 15, 3 and 4, across the wrap.    *)
EXTENDS MCmutants, TLC

CONSTANT LastXid    \* the next XID does not go beyond it

AssignsUpTo == next # LastXid

(* Each worker runs to its truncation once.                                *)
Once == \A w \in Workers : pc[w] = "idle" /\ pc'[w] = "begun" => passed[DbOf[w]] = 0

(* A worker that is idle accepts its messages before it does anything      *)
(* else.  Workers of one database may be exchanged.                        *)
Standing(w) ==
    IF pc[w] = "idle" THEN <<DbOf[w], "idle", CacheAfter(w)>>
    ELSE <<DbOf[w], pc[w], my[w], cache[w], pending[w], snap[w]>>
View == <<shared, truncs, rows, freezing, ddl, durable, {Standing(w) : w \in Workers}>>

a == "a"
b == "b"
n == "n"
Places == [w1 |-> a, w2 |-> a, t1 |-> a, t2 |-> a]
Apart == [w1 |-> a, w2 |-> b, t1 |-> a, u1 |-> b]
Copied == [w1 |-> a, w2 |-> b, u1 |-> b, v1 |-> n]

NoTable == [status |-> "none", frozen |-> 0, oldest |-> 0]
Live(x) == [status |-> "live", frozen |-> x, oldest |-> x]
Row(x) == [status |-> "live", frozen |-> x]

(* The next XID is 15; the tables and databases are at 13. *)
Old ==
    [next |-> 15, hold |-> 0, clog |-> 13, row |-> [d \in Databases |-> Row(13)],
     rel |-> [t \in Tables |-> IF t \in MayCreate THEN NoTable ELSE Live(13)]]
StartOld == {Old}
(* Another transaction, 14, is running. *)
StartHeld == {[Old EXCEPT !.hold = 14]}
(* A relfrozenxid, or a datfrozenxid, is in the future. *)
StartFuture ==
    {[Old EXCEPT !.rel.t1.frozen = 5], [Old EXCEPT !.row.a.frozen = 5],
     [Old EXCEPT !.rel.t1.frozen = 5, !.row.a.frozen = 5]}
StartFutureRel == {[Old EXCEPT !.rel.t1.frozen = 4]}
StartFutureRow == {[Old EXCEPT !.row.b.frozen = 5]}
(* The second table has been frozen, the first has not. *)
StartDrop == {[Old EXCEPT !.rel.t2 = Live(15), !.rel.t1 = Live(13)]}
(* CREATE DATABASE: there is no new database yet. *)
StartCopy ==
    {[Old EXCEPT !.row.n = [status |-> "none", frozen |-> 0], !.rel.v1 = NoTable]}

-----------------------------------------------------------------------------
(* States that must be reachable.                                          *)
Behind(w) == pc[w] = "decide" /\ cache[w] # 0
NeverOldVersion == \A w \in Workers : ~(Behind(w) /\ "row" \in pending[w])
NeverCopyAnnounced == [][~("copy" \in unsent /\ "copy" \notin unsent')]_vars
NeverRollsBack == [][\A t \in Tables : rel[t].status = "new" => rel'[t].status # "dropped"]_vars
NeverForMultis ==
    [][\A w \in Workers :
           pc[w] = "tuple" /\ pc'[w] = "show" => NeedUpdate(row[DbOf[w]].frozen, my[w].new, my[w].sane)]_vars
NeverCrashesIdle == [][crashes' # crashes => wal # <<>>]_vars
NeverUnsent == \A w \in Workers : ~(Behind(w) /\ alter.pc = "committed" /\ alter.db = DbOf[w])
NeverOldSnapshot == \A w \in Workers : ~(pc[w] = "scan" /\ \E t \in unsent : t \notin snap[w].rels /\ rel[t].status = "live")
AllSane == \A d \in Databases : row[d].status = "live" => ~Future(row[d].frozen, next)
NeverGivesUpInVain == ~(AllSane /\ \E w \in Workers : pc[w] = "rows" /\ my[w].bad)
NeverWarnsInVain ==
    ~(AllSane /\ \E w \in Workers : pc[w] = "rows" /\ \E d \in my[w].todo : Future(Seen(d, snap[w]), my[w].nextXid))
NeverRefusesNewTable ==
    ~(\E w \in Workers : pc[w] = "scan" /\ \E t \in my[w].todo :
          Future(rel[t].frozen, my[w].sane) /\ ~Future(rel[t].frozen, next))
NeverWraps == limit \notin {3, 4}

(* Liveness: a worker goes on, transactions end, tables are vacuumed, and  *)
(* messages are sent.  A superuser may set a row back.                     *)
Fair ==
    /\ \A w \in Workers : WF_vars(Advances(w))
    /\ WF_vars(OtherEnds) /\ WF_vars(AlterWrite) /\ WF_vars(AlterCommit) /\ WF_vars(AlterSend)
    /\ \A t \in Tables : WF_vars(Freeze(t)) /\ WF_vars(ShowRel(t))
FairSpec == Spec /\ Fair
Target(d) == Oldest(RunningXids \cup {rel[t].frozen : t \in {u \in Tables : DbOf[u] = d /\ rel[u].status = "live"}})

(* Who waits for the lock WrapLimitsVacuumLock gets it in the end.         *)
WrapLimitsAreEntered == \A w \in Workers : pc[w] = "enter" ~> pc[w] # "enter"

(* In the end datfrozenxid of each database is the oldest relfrozenxid of  *)
(* its tables, and stays so.                                               *)
Converges == <>[](\A d \in Databases : row[d].frozen = Target(d))
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE MCdatfrozenxid ---------------------------
(* datfrozenxid with bounds, and with steps left out on purpose.  The ring *)
(* has 16 XIDs; those in play are 13, 14, 15, 3 and 4, across the wrap.    *)
EXTENDS datfrozenxid, TLC

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
(* Steps that are left out. *)

NeverLocked(d) == FALSE
\* Opening pg_class accepts no messages.
KeepsMessages(w) == UNCHANGED <<pending, cache>>
OpenedWithout(w) == IF snap[w] = NoSnapshot THEN TakeSnapshot ELSE snap[w]
\* No check for values in the future.
NeverFuture(x, sane) == FALSE
\* The locked row is written without a look at it.
NoRecheck(w, dat) == TRUE
\* Workers' snapshots do not hold back the horizon, as if they were marked PROC_IN_VACUUM.
NoXmins(ws) == {}
\* The minimum starts from the next XID, whatever transactions are running.
HorizonOfNext(w) == next
\* pg_database is not scanned; the own row is not scanned.
ScansNothing(w) == {}
ScansOthers(w) == Opened(w).rows \ {DbOf[w]}
\* A value in the future is not repaired: only what goes forward is written.
OnlyForward(dat, new, sane) == Precedes(dat, new)
\* A scan of pg_database looks at the next XID alone, not at lastSane.
InsaneByNext(w, dat) == FutureDat(dat, my[w].nextXid)
\* A snapshot sees tables that are not committed; or misses those whose messages are not sent.
SeesNew == {t \in Tables : rel[t].status \in {"live", "new"}}
SeesSent == {t \in Tables : rel[t].status = "live"} \ unsent
\* A vacuum freezes all, whatever transactions are running.
VacuumedToNext(t) == next
\* A table may be dropped while it is vacuumed.
NeverInVacuum(t) == FALSE
\* The WAL of an update in place is written again and again.
NeverInLog(t) == FALSE
\* Who opens a catalog takes no snapshot.
OpensWithout(w) == Accept(w) /\ UNCHANGED snap
\* A template is copied though it is being vacuumed.
CopiesBeside ==
    /\ MayCopy /\ copy.pc = "none" /\ MayAssign
    /\ copy' = [pc |-> "copied", xid |-> next] /\ next' = Advance(next)
    /\ row' = [row EXCEPT ![NewDatabase] = [status |-> "new", frozen |-> row[Template].frozen]]
    /\ LET original == CHOOSE t \in TablesOf(Template) : TRUE
       IN rel' = [t \in Tables |-> IF DbOf[t] = NewDatabase THEN [rel[original] EXCEPT !.status = "copied"] ELSE rel[t]]
    /\ UNCHANGED <<hold, truncs, freezing, worker, alter, unsent>> /\ NoWal
\* A commit sends no message.
Unannounced(t) == unsent
\* 0 is taken for a running transaction.
RunningZero == {next, hold}
\* A transaction's end keeps its snapshot.
KeepsSnapshot(w) == GotoWith(w, "idle", NotWorking) /\ UNCHANGED snap
\* An update in place sends no message; an error then leaves it so.
NoMessages(w) == pending
\* Different is enough.
AnyDifference(dat, new, sane) == dat # new
\* pg_xact is cut where the last argument says, even if that was before.
LimitFirst(w) == /\ pc[w] = "truncate" /\ limit' = my[w].new /\ Goto(w, "limit")
                 /\ UNCHANGED <<my, clog, passed, cache, pending, snap, shared, rows, freezing, ddl>> /\ NoWal
ClogSecond(w) == /\ pc[w] = "limit" /\ clog' = Truncated(w) /\ Flush /\ Finish(w)
                 /\ UNCHANGED <<limit, passed, cache, pending, shared, rows, freezing, ddl, crashes>>

(* States that must be reachable.                                          *)
Behind(w) == pc[w] = "decide" /\ cache[w] # 0
NeverOldVersion == \A w \in Workers : ~(Behind(w) /\ "row" \in pending[w])
NeverCopyTold == [][~("copy" \in unsent /\ "copy" \notin unsent')]_vars
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

(* Upstream's defects. *)
\* Before 8e7e672c the buffer was changed before the WAL was written.
ShowsFirst(t) == TRUE
\* Before 82b43f7d a vacuum that had skipped pages could take itself for one of the whole table.
SkipsPages(t) ==
    /\ rel[t].status = "live" /\ freezing[t] = 0 /\ ~BeingCopied(DbOf[t]) /\ Precedes(rel[t].oldest, Vacuumed(t))
    /\ freezing' = [freezing EXCEPT ![t] = Vacuumed(t)]
    /\ UNCHANGED <<shared, rows, truncs, worker, ddl>> /\ NoWal
\* Before f65ab862 relfrozenxid was read once to compare it and once more to take it; in between it may be updated in place.
ReadsTwice(w) ==
    /\ pc[w] = "scan"
    /\ \E t \in my[w].todo :
           LET Took(x) == GotoWith(w, Scanning(my[w].todo \ {t}), [my[w] EXCEPT !.new = x, !.todo = @ \ {t}])
           IN \/ /\ ~FutureRel(rel[t].frozen, my[w].sane)
                 /\ Took(Older(rel[t].frozen, my[w].new))
                 /\ UNCHANGED <<rel, freezing, pending>>
              \/ /\ ~FutureRel(rel[t].frozen, my[w].sane) /\ Precedes(rel[t].frozen, my[w].new)
                 /\ freezing[t] # 0 /\ MayShowRel(t)
                 /\ rel' = [rel EXCEPT ![t].frozen = freezing[t]]
                 /\ freezing' = [freezing EXCEPT ![t] = 0]
                 /\ pending' = ToDatabase(DbOf[t])
                 /\ Took(freezing[t])
    /\ UNCHANGED <<cache, snap, row, shared, truncs, ddl>> /\ NoWal
\* Before a07e03fd the row was copied without a lock on the tuple.
ChangingOnlyWritten(d) == alter.db = d /\ alter.pc = "written"
\* Before 83ecfa9f who gave up because of pg_database kept WrapLimitsVacuumLock: then, of an idle worker, bad says so.
KeepsTheLock(w) == GotoWith(w, "idle", [NotWorking EXCEPT !.bad = TRUE]) /\ snap' = [snap EXCEPT ![w] = NoSnapshot]
LockedOrKept == \E w \in Workers : pc[w] \in InWrapLimits \/ my[w].bad

\* An action that is left out.
NotTaken(w) == FALSE
Never == FALSE

(* Liveness: a worker goes on, transactions end, tables are vacuumed, and  *)
(* messages are sent.  A superuser may set a row back.                     *)
SetBack(d) == {13}
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

(* What may be found, and does no harm. *)
\* relfrozenxid of a new table is RecentXmin, the oldest XID that its creator saw running.
RecentXmin == Oldest(RunningXids)
\* A superuser writes another datfrozenxid.
ByHand(d) == {13, 14, 15} \ {row[d].frozen}
\* A scan of pg_database during which a message came is done again.
AgainIfTold(w) == pending[w] # {}
\* After a crash what was flushed counts for less than what survived.
FlushedBefore(state) == flushed
=============================================================================

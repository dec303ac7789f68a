\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCmutants ------------------------------
(***************************************************************************)
(* What runs put in the place of an action or a definition of datfrozenxid:*)
(* one that is wrong on purpose, as upstream had it, or another choice     *)
(* that does no harm.  models.toml says which run puts what where.         *)
(***************************************************************************)
EXTENDS datfrozenxid

-----------------------------------------------------------------------------
(* Steps that are left out, or go wrong. *)

\* An action that is left out.
NotTaken(w) == FALSE
Never == FALSE

NeverLocked(d) == FALSE
\* Opening pg_class accepts no messages.
OpensWithoutMessages(w) ==
    LET opened == IF snap[w] = NoSnapshot THEN TakeSnapshot ELSE snap[w]
        todo == {t \in opened.rels : DbOf[t] = DbOf[w]}
    IN /\ pc[w] = "sane"
       /\ snap' = [snap EXCEPT ![w] = opened]
       /\ GotoWith(w, Scanning(todo), [my[w] EXCEPT !.todo = todo])
       /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal
\* No check for values in the future, of pg_class or of pg_database.
ScansUnchecked(w) ==
    /\ pc[w] = "scan"
    /\ \E t \in my[w].todo : Takes(w, t, Older(rel[t].frozen, my[w].new))
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal
NeverFuture(w, dat) == FALSE
\* The locked row is written without a look at it.
WritesUnseen(w) ==
    /\ pc[w] = "tuple" /\ ~Changing(DbOf[w]) /\ ~TupleLocked(DbOf[w])
    /\ Open(w) /\ GotoWith(w, Writing, [my[w] EXCEPT !.dirty = TRUE])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal
\* Workers' snapshots do not hold back the horizon, as if they were marked PROC_IN_VACUUM.
NoXmins(ws) == {}
\* The minimum starts from the next XID, whatever transactions are running.
LocksFromNext(w) ==
    /\ pc[w] = "begun" /\ ~IdsLocked(DbOf[w])
    /\ GotoWith(w, "bounded", [my[w] EXCEPT !.new = next])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal
\* pg_database is not scanned; the own row is not scanned.
ScansNothing(w) == {}
ScansOthers(w) == Opened(w).rows \ {DbOf[w]}
\* A value in the future is not repaired: only what goes forward is written.
OnlyForward(dat, new, sane) == Precedes(dat, new)
\* A snapshot sees tables that are not committed; or misses those whose messages are not sent.
SeesNew == {t \in Tables : rel[t].status \in {"live", "new"}}
SeesSent == {t \in Tables : rel[t].status = "live"} \ unsent
\* A vacuum freezes all, whatever transactions are running.
FreezesAll(t) == FreezeBelow(t, next)
\* A vacuum may leave what is younger than it must.
FreezesLess(t) == \E xid \in {Horizon, Retreat(Horizon)} : FreezeBelow(t, xid)
\* Messages are accepted at any time; the snapshot of a scan that is under way stays, and who opens next takes a new one.
AcceptsNow(w) ==
    /\ pending[w] # {}
    /\ cache' = [cache EXCEPT ![w] = CacheAfter(w)]
    /\ IF pc[w] \in {"scan", "rows"}
       THEN pending' = [pending EXCEPT ![w] = {"other"}] /\ UNCHANGED snap
       ELSE pending' = [pending EXCEPT ![w] = {}] /\ snap' = [snap EXCEPT ![w] = SnapAfter(w)]
    /\ UNCHANGED <<pc, my, shared, truncs, rows, freezing, ddl>> /\ NoWal
NextAccepting == Next \/ \E w \in Workers : AcceptsNow(w)
\* A table may be dropped while it is vacuumed.
DropsInVacuum(t) ==
    /\ t \in MayDrop /\ rel[t].status = "live"
    /\ rel' = [rel EXCEPT ![t].status = "dropped"]
    /\ unsent' = unsent \cup {t}
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, alter, copy>> /\ NoWal
\* The WAL of an update in place is written again and again.
NeverInLog(t) == FALSE
\* Who opens pg_database takes no snapshot.
OpensWithout(w) == Accept(w) /\ snap' = IF pc[w] = "sane" THEN [snap EXCEPT ![w] = Opened(w)] ELSE snap
\* A template is copied though it is being vacuumed.
CopiesBeside ==
    /\ MayCopy /\ copy.pc = "none" /\ MayAssign
    /\ copy' = [pc |-> "copied", xid |-> next] /\ next' = Advance(next)
    /\ row' = [row EXCEPT ![NewDatabase] = [status |-> "new", frozen |-> row[Template].frozen]]
    /\ LET original == CHOOSE t \in TablesOf(Template) : TRUE
       IN rel' = [t \in Tables |-> IF DbOf[t] = NewDatabase THEN [rel[original] EXCEPT !.status = "copied"] ELSE rel[t]]
    /\ UNCHANGED <<hold, truncs, freezing, worker, alter, unsent>> /\ NoWal
\* 0 is taken for a running transaction.
RunningZero == {next, hold}
\* A transaction's end keeps its snapshot.
KeepsSnapshot(w) == GotoWith(w, "idle", NotWorking) /\ UNCHANGED snap
\* An update in place sends no message; an error then leaves it so.
SendsNothing(w) ==
    /\ pc[w] = "send"
    /\ pending' = [pending EXCEPT ![w] = {}]
    /\ cache' = [cache EXCEPT ![w] = 0]
    /\ snap' = [snap EXCEPT ![w] = NoSnapshot]
    /\ Goto(w, "force")
    /\ UNCHANGED <<my, shared, truncs, rows, freezing, ddl>> /\ NoWal
\* Different is enough.
AnyDifference(dat, new, sane) == dat # new
\* pg_xact is cut where the last argument says, even if that was before.
LimitFirst(w) == /\ pc[w] = "truncate" /\ limit' = my[w].new /\ Goto(w, "limit")
                 /\ UNCHANGED <<my, clog, passed, cache, pending, snap, shared, rows, freezing, ddl>> /\ NoWal
ClogSecond(w) == /\ pc[w] = "limit" /\ clog' = Truncated(w) /\ Flush /\ Finish(w)
                 /\ UNCHANGED <<limit, passed, cache, pending, shared, rows, freezing, ddl, crashes>>

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before 8e7e672c the buffer was changed before the WAL was written.
ShowsFirst(t) == TRUE
\* Before 82b43f7d a vacuum that had skipped pages could take itself for one of the whole table.
SkipsPages(t) ==
    /\ rel[t].status = "live" /\ freezing[t] = 0 /\ ~BeingCopied(DbOf[t]) /\ Precedes(rel[t].oldest, Horizon)
    /\ freezing' = [freezing EXCEPT ![t] = Horizon]
    /\ UNCHANGED <<shared, rows, truncs, worker, ddl>> /\ NoWal
\* Before f65ab862 relfrozenxid was read once to compare it and once more to take it; in between it may be updated in place.
ReadsTwice(w) ==
    /\ pc[w] = "scan"
    /\ \E t \in my[w].todo :
           /\ ~Future(rel[t].frozen, my[w].sane)
           /\ \/ /\ Takes(w, t, Older(rel[t].frozen, my[w].new))
                 /\ UNCHANGED <<rel, freezing, pending>>
              \/ /\ Precedes(rel[t].frozen, my[w].new)
                 /\ freezing[t] # 0 /\ MayShowRel(t)
                 /\ rel' = [rel EXCEPT ![t].frozen = freezing[t]]
                 /\ freezing' = [freezing EXCEPT ![t] = 0]
                 /\ pending' = ToDatabase(DbOf[t])
                 /\ Takes(w, t, freezing[t])
    /\ UNCHANGED <<cache, snap, row, shared, truncs, ddl>> /\ NoWal
\* Before a07e03fd the row was copied without a lock on the tuple.
ChangingOnlyWritten(d) == alter.db = d /\ alter.pc = "written"
\* Before 83ecfa9f who gave up because of pg_database kept WrapLimitsVacuumLock: then, of an idle worker, bad says so.
KeepsTheLock(w) ==
    GotoWith(w, "idle", [NotWorking EXCEPT !.bad = pc[w] = "rows"]) /\ snap' = [snap EXCEPT ![w] = NoSnapshot]
LockedOrKept == \E w \in Workers : pc[w] \in InWrapLimits \/ my[w].bad

-----------------------------------------------------------------------------
(* What may be found, and does no harm. *)
\* relfrozenxid of a new table is RecentXmin, the oldest XID that its creator saw running.
CreatesWithRecentXmin(t) ==
    /\ t \in MayCreate /\ rel[t].status = "none" /\ MayAssign
    /\ row[DbOf[t]].status = "live"
    /\ rel' = [rel EXCEPT ![t] = [status |-> "new", frozen |-> Oldest(RunningXids), oldest |-> next]]
    /\ next' = Advance(next)
    /\ UNCHANGED <<hold, row, truncs, freezing, worker, ddl>> /\ NoWal
\* A superuser writes another datfrozenxid, or sets it back.
WritesAnother(d) == \E x \in {13, 14, 15} \ {row[d].frozen} : ReadToAlter(d, x)
SetsBack(d) == ReadToAlter(d, 13)
=============================================================================

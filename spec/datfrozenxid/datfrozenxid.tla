\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE datfrozenxid ----------------------------
(***************************************************************************)
(* vac_update_datfrozenxid and vac_truncate_clog (vacuum.c), run by        *)
(* several workers in several databases, and all that moves beside them.   *)
(*                                                                         *)
(* Begin here: this module is the end of a vacuum, step by step, and what  *)
(* must be true of it.  What extends what:                                 *)
(*   catalogs             the state, and what a backend sees of it         *)
(*     types              what each variable may hold                      *)
(*     crash              the WAL, and what a crash leaves                 *)
(*       relfrozenxid     a vacuum of one table                            *)
(*       commands         CREATE TABLE, ALTER DATABASE and so on           *)
(*         datfrozenxid   the end of a vacuum                              *)
(*           MCmutants    what broken models have in its place             *)
(*                                                                         *)
(* Patched chooses the algorithm: upstream's, which always locks the       *)
(* pg_database row, or the proposed one, which first asks the syscache.    *)
(*                                                                         *)
(* Modelled, each as a step of its own: the lock of the database; the      *)
(* horizon; the next XID; opening pg_class; each row of pg_class; the      *)
(* decision by the syscache; the locked pg_database row; WAL, buffer and   *)
(* invalidations of an update in place; ForceTransactionIdLimitUpdate;     *)
(* WrapLimitsVacuumLock; each row of pg_database; pg_xact; the shared      *)
(* limit; an error at any point outside the critical section.              *)
(* Beside them: XIDs are assigned; tables are created (rows not yet        *)
(* committed), dropped, vacuumed (relfrozenxid in place); one ALTER        *)
(* DATABASE (a new version of a pg_database row) or an UPDATE by a         *)
(* superuser; one CREATE DATABASE; a crash, which keeps any prefix of the  *)
(* WAL that was not yet flushed.                                           *)
(*                                                                         *)
(* Departures from upstream, each with the run that has it as upstream     *)
(*   - A vacuum freezes all below the horizon: if it may freeze less,      *)
(*     MCdatfrozenxid_small_freezes_less holds.                            *)
(*   - Messages are accepted where the README says, and not in between: at *)
(*     any time MCdatfrozenxid_small_accepts_at_any_time holds.            *)
(*   - A new table's relfrozenxid is its creator's XID, upstream's         *)
(*     RecentXmin: MCdatfrozenxid_mutant_recent_xmin fails, and loses      *)
(*     nothing (_small_recent_xmin; README).                               *)
(*   - copied: no running transaction holds a MultiXactId when a table is  *)
(*     frozen: MCcopied_small_held holds.                                  *)
(*   - copied: the copy, its commit and its message are one step: in this  *)
(*     module they are three (MCdatfrozenxid_bug_copied_database).         *)
(*   - One XID a page and a segment of pg_xact. Not tried: a truncation is *)
(*     as sharp as its argument, upstream's less; copied has segments of   *)
(*     several.                                                            *)
(*   - Force... may say yes at any time, and after a crash the limit is as *)
(*     old as can be. Not tried: upstream does less.                       *)
(*   - MultiXacts are a choice here (Multis): the row may have to be       *)
(*     written for them alone, and a scan may give up. copied has them.    *)
(*                                                                         *)
(* How to break it: MCmutants has a definition for each step that can be   *)
(* left out; models.toml says what then fails.                             *)
(*                                                                         *)
(* Upstream: src/backend/commands/vacuum.c, vac_update_datfrozenxid,       *)
(* vac_truncate_clog; src/backend/access/heap/heapam.c,                    *)
(* heap_inplace_update, heap_inplace_update_and_unlock;                    *)
(* src/backend/access/index/genam.c, systable_inplace_update_begin;        *)
(* src/backend/access/transam/varsup.c, SetTransactionIdLimit,             *)
(* ForceTransactionIdLimitUpdate; src/backend/storage/ipc/procarray.c,     *)
(* GetOldestNonRemovableTransactionId; src/backend/storage/lmgr/lmgr.c,    *)
(* LockDatabaseFrozenIds; src/include/access/transam.h,                    *)
(* ReadNextTransactionId; src/backend/access/transam/clog.c, TruncateCLOG; *)
(* src/backend/postmaster/autovacuum.c, do_autovacuum.                     *)
(***************************************************************************)
EXTENDS relfrozenxid, commands, types

(* The end of the transaction releases all locks. *)
Finish(w) == GotoWith(w, "idle", NotWorking) /\ snap' = [snap EXCEPT ![w] = NoSnapshot]

(* A transaction starts. *)
Begin(w) ==
    /\ pc[w] = "idle"
    /\ row[DbOf[w]].status = "live"
    /\ ~BeingCopied(DbOf[w])
    /\ Goto(w, "begun") /\ Accept(w)
    /\ UNCHANGED <<my, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* Before it takes the lock it may have used the cache and a snapshot, as  *)
(* do_autovacuum does.                                                     *)
Look(w) ==
    /\ pc[w] = "begun" /\ snap[w] = NoSnapshot
    /\ snap' = [snap EXCEPT ![w] = TakeSnapshot]
    /\ cache' = [cache EXCEPT ![w] = IF @ = 0 THEN Seen(DbOf[w], TakeSnapshot) ELSE @]
    /\ UNCHANGED <<pc, my, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* LockDatabaseFrozenIds, and GetOldestNonRemovableTransactionId. *)
LockIds(w) ==
    /\ pc[w] = "begun" /\ ~IdsLocked(DbOf[w])
    /\ GotoWith(w, "bounded", [my[w] EXCEPT !.new = Horizon])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* ReadNextTransactionId. *)
ReadNext(w) ==
    /\ pc[w] = "bounded"
    /\ GotoWith(w, "sane", [my[w] EXCEPT !.sane = next])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

Scanning(todo) == IF todo # {} THEN "scan" ELSE IF Patched THEN "decide" ELSE "tuple"
OpenClass(w) ==
    /\ pc[w] = "sane"
    /\ Open(w)
    /\ LET todo == {t \in Opened(w).rels : DbOf[t] = DbOf[w]}
       IN GotoWith(w, Scanning(todo), [my[w] EXCEPT !.todo = todo])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A row of pg_class.  A value in the future: give up. *)
Takes(w, t, new) == GotoWith(w, Scanning(my[w].todo \ {t}), [my[w] EXCEPT !.new = new, !.todo = @ \ {t}])
ScanClass(w) ==
    /\ pc[w] = "scan"
    /\ \E t \in my[w].todo :
           IF Future(rel[t].frozen, my[w].sane)
           THEN Finish(w)
           ELSE Takes(w, t, Older(rel[t].frozen, my[w].new)) /\ UNCHANGED snap
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A MultiXact in the future. *)
GiveUp(w) ==
    /\ Multis /\ pc[w] = "scan" /\ Finish(w)
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* The patch asks the syscache.  If it has no such row, the row is loaded, *)
(* and that opens pg_database.                                             *)
Load(w) ==
    /\ pc[w] = "decide" /\ cache[w] = 0
    /\ pending' = [pending EXCEPT ![w] = {}]
    /\ snap' = [snap EXCEPT ![w] = Opened(w)]
    /\ cache' = [cache EXCEPT ![w] = Seen(DbOf[w], Opened(w))]
    /\ UNCHANGED <<pc, my, shared, truncs, rows, freezing, ddl>> /\ NoWal

Decide(w) ==
    /\ pc[w] = "decide" /\ cache[w] # 0
    /\ LET need == NeedUpdate(cache[w], my[w].new, my[w].sane)
       IN \/ (need \/ Multis) /\ Goto(w, "tuple") /\ UNCHANGED my
          \/ ~need /\ GotoWith(w, "force", [my[w] EXCEPT !.new = cache[w]])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* systable_inplace_update_begin: waits for whoever makes a new version of *)
(* the row, and looks at the row again, locked.                            *)
Changing(d) == alter.db = d /\ alter.pc \in {"read", "written"}
Writing == IF MayCrash THEN "log" ELSE "show"
LockTuple(w) ==
    /\ pc[w] = "tuple" /\ ~Changing(DbOf[w]) /\ ~TupleLocked(DbOf[w])
    /\ Open(w)
    /\ LET dat == row[DbOf[w]].frozen
       IN IF NeedUpdate(dat, my[w].new, my[w].sane)
          THEN GotoWith(w, Writing, [my[w] EXCEPT !.dirty = TRUE])
          ELSE \/ GotoWith(w, "force", [my[w] EXCEPT !.new = dat])
               \/ Multis /\ GotoWith(w, Writing, [my[w] EXCEPT !.new = dat, !.dirty = TRUE])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* heap_inplace_update_and_unlock: WAL, the buffer, messages. *)
LogTuple(w) ==
    /\ pc[w] = "log"
    /\ Log([kind |-> "row", of |-> DbOf[w], xid |-> my[w].new]) /\ Goto(w, "show")
    /\ UNCHANGED <<my, cache, pending, snap, shared, truncs, rows, freezing, ddl, flushed, crashes>>
ShowTuple(w) ==
    /\ pc[w] = "show"
    /\ row' = [row EXCEPT ![DbOf[w]].frozen = my[w].new]
    /\ Goto(w, "send")
    /\ UNCHANGED <<my, cache, pending, snap, rel, shared, truncs, freezing, ddl>> /\ NoWal
SendTuple(w) ==
    /\ pc[w] = "send"
    /\ pending' = [ToAll(DbOf[w]) EXCEPT ![w] = {}]
    /\ cache' = [cache EXCEPT ![w] = 0]
    /\ snap' = [snap EXCEPT ![w] = NoSnapshot]
    /\ Goto(w, "force")
    /\ UNCHANGED <<my, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* ForceTransactionIdLimitUpdate, and the start of vac_truncate_clog, which*)
(* reads nextXID before it takes the lock.                                 *)
Force(w) ==
    /\ pc[w] = "force"
    /\ GotoWith(w, "enter", [my[w] EXCEPT !.nextXid = next])
    /\ passed' = [passed EXCEPT ![DbOf[w]] = my[w].new]
    /\ UNCHANGED <<clog, limit, cache, pending, snap, shared, rows, freezing, ddl>> /\ NoWal
(* Nothing is dirty, and no one forces it; or an error ends the transaction*)
DoNotForce(w) ==
    /\ pc[w] = "force"
    /\ Finish(w)
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

ToScan(w) == Opened(w).rows
EnterWrapLimits(w) ==
    /\ pc[w] = "enter" /\ ~WrapLimitsLocked
    /\ Open(w)
    /\ GotoWith(w, IF ToScan(w) = {} THEN "truncate" ELSE "rows", [my[w] EXCEPT !.todo = ToScan(w)])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A row of pg_database.  In the end a value in the future makes it give   *)
(* up: bogus, beyond the next XID as it was when the worker looked at      *)
(* pg_class (lastSane); or frozenAlreadyWrapped, beyond the next XID as it *)
(* was before the lock.                                                    *)
Bogus(w, dat) == Future(dat, my[w].sane)
Wrapped(w, dat) == Future(dat, my[w].nextXid)
ScanDatabase(w) ==
    /\ pc[w] = "rows"
    /\ \E d \in my[w].todo :
           LET dat == Seen(d, snap[w])
               bad == my[w].bad \/ Bogus(w, dat) \/ Wrapped(w, dat)
               todo == my[w].todo \ {d}
           IN IF todo = {} /\ bad
              THEN Finish(w) /\ UNCHANGED <<cache, pending>>
              ELSE IF todo = {} /\ ScansAgain /\ pending[w] # {}
              THEN Open(w) /\ my' = [my EXCEPT ![w].todo = ToScan(w)] /\ UNCHANGED pc
              ELSE /\ GotoWith(w, IF todo = {} THEN "truncate" ELSE "rows",
                       [my[w] EXCEPT !.todo = todo, !.bad = bad,
                                     !.new = IF Wrapped(w, dat) THEN @ ELSE Older(dat, @)])
                   /\ UNCHANGED <<cache, pending, snap>>
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* TruncateCLOG: its WAL is flushed before a file goes. *)
Truncated(w) == IF Precedes(clog, my[w].new) THEN my[w].new ELSE clog
TruncateClog(w) ==
    /\ pc[w] = "truncate"
    /\ clog' = Truncated(w)
    /\ Flush /\ Goto(w, "limit")
    /\ UNCHANGED <<my, cache, pending, snap, shared, limit, passed, rows, freezing, ddl, crashes>>

(* SetTransactionIdLimit: it does not look at the old value. *)
SetLimit(w) ==
    /\ pc[w] = "limit"
    /\ limit' = my[w].new
    /\ Finish(w)
    /\ UNCHANGED <<clog, passed, cache, pending, shared, rows, freezing, ddl>> /\ NoWal

Advances(w) ==
    \/ Begin(w) \/ LockIds(w) \/ ReadNext(w) \/ OpenClass(w) \/ ScanClass(w)
    \/ Load(w) \/ Decide(w) \/ LockTuple(w) \/ LogTuple(w) \/ ShowTuple(w) \/ SendTuple(w) \/ Force(w)
    \/ EnterWrapLimits(w) \/ ScanDatabase(w) \/ TruncateClog(w) \/ SetLimit(w)

-----------------------------------------------------------------------------
(* Other transactions. *)

Assign ==
    /\ MayAssign
    /\ next' = Advance(next)
    /\ UNCHANGED <<hold, truncs, rows, freezing, worker, ddl>> /\ NoWal
OtherEnds ==
    /\ hold # 0
    /\ hold' = 0
    /\ UNCHANGED <<next, truncs, rows, freezing, worker, ddl>> /\ NoWal

-----------------------------------------------------------------------------
Init ==
    \E s \in Starts :
        /\ next = s.next /\ hold = s.hold /\ clog = s.clog /\ limit = s.clog
        /\ rel = s.rel /\ row = s.row
        /\ passed = [d \in Databases |-> 0]
        /\ freezing = [t \in Tables |-> 0]
        /\ pc = [w \in Workers |-> "idle"] /\ my = [w \in Workers |-> NotWorking]
        /\ cache = [w \in Workers |-> 0] /\ pending = [w \in Workers |-> {}]
        /\ snap = [w \in Workers |-> NoSnapshot]
        /\ alter = [pc |-> "none", db |-> "", before |-> 0, after |-> 0]
        /\ copy = [pc |-> "none", xid |-> 0]
        /\ unsent = {}
        /\ wal = <<>> /\ crashes = 0
        /\ flushed = [rel |-> s.rel, row |-> s.row, limit |-> s.clog]

Work == \E w \in Workers : Advances(w) \/ Look(w) \/ GiveUp(w) \/ DoNotForce(w)
Next == Work \/ Assign \/ OtherEnds \/ OnTables \/ VacuumTables \/ OnDatabases \/ Crash
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Safety. *)

(* Who has ended holds nothing: no snapshot keeps the horizon back.        *)
IdleHoldsNothing == \A w \in Workers : pc[w] = "idle" => my[w] = NotWorking /\ snap[w] = NoSnapshot

InUse(t) == rel[t].status \in {"new", "live", "copied"}

(* pg_xact has the status of every XID that may be in a table. *)
NothingNeededTruncated == \A t \in Tables : InUse(t) => ~Precedes(rel[t].oldest, clog)

(* The limit, from which no XID may be assigned half a ring on, neither    *)
(* passes an XID in a table nor the beginning of pg_xact.                  *)
LimitBehindTables == \A t \in Tables : InUse(t) => ~Precedes(rel[t].oldest, limit)
LimitBehindClog == ~Precedes(clog, limit)

(* datfrozenxid overtakes no relfrozenxid of its database. *)
DatBehindRels ==
    \A t \in Tables :
        LET dat == row[DbOf[t]].frozen
        IN rel[t].status = "live" /\ ~Future(dat, next) /\ ~Future(rel[t].frozen, next)
               => ~Precedes(rel[t].frozen, dat)

(* The patch decides by the value that the row has. *)
DecidesByTheRow == \A w \in Workers : pc[w] = "decide" /\ cache[w] # 0 => cache[w] = row[DbOf[w]].frozen

(* A datfrozenxid in the future is never passed over: it is written anew,  *)
(* and what is written is not in the future.                               *)
RepairsFuture ==
    [][\A w \in Workers :
           /\ pc[w] \in {"decide", "tuple"} /\ pc'[w] = "force" => ~Future(row[DbOf[w]].frozen, my[w].sane)
           /\ pc[w] = "show" /\ pc'[w] = "send" => ~Future(row'[DbOf[w]].frozen, next)]_vars

(* A scan of pg_class that reads a value in the future gives up; one of    *)
(* pg_database does so in the end.                                         *)
GivesUpOnFuture ==
    [][\A w \in Workers :
           /\ pc[w] = "scan" /\ pc'[w] # "idle"
                  => \A t \in my[w].todo \ my'[w].todo : ~Precedes(my[w].sane, rel[t].frozen)
           /\ pc[w] = "rows" /\ pc'[w] # "idle"
                  => \A d \in my[w].todo \ my'[w].todo :
                         \/ ~Precedes(my[w].sane, Seen(d, snap[w])) /\ ~Precedes(my[w].nextXid, Seen(d, snap[w]))
                         \/ my'[w].bad
           /\ pc[w] = "rows" /\ pc'[w] = "truncate" => ~my[w].bad /\ ~my'[w].bad]_vars

(* datfrozenxid goes forward, unless it was in the future. *)
DatAdvances ==
    [][\A d \in Databases :
           row[d].status = "live" /\ row'[d].frozen # row[d].frozen /\ crashes' = crashes
               => Precedes(row[d].frozen, row'[d].frozen) \/ Future(row[d].frozen, next)]_vars

(* vac_truncate_clog is not called with less than before. *)
PassedAdvances ==
    [][\A d \in Databases :
           passed[d] # 0 /\ ~Future(passed[d], next) /\ crashes' = crashes => ~Precedes(passed'[d], passed[d])]_vars

(* The shared limit goes forward. *)
LimitAdvances == [][crashes' = crashes => ~Precedes(limit', limit)]_vars

Opens(w) ==
    \/ pc[w] \in {"sane", "tuple", "enter"} /\ pc'[w] \notin {pc[w], "idle"}
    \/ pc[w] = "decide" /\ cache[w] = 0 /\ cache'[w] # 0
(* Who opens pg_class or pg_database scans it with a snapshot, which holds *)
(* the horizon back, and shows each table of its database whose commit has *)
(* been announced.                                                         *)
OpeningSees ==
    [][\A w \in Workers : Opens(w) =>
           /\ snap'[w].xmin # 0
           /\ \A t \in Visible : DbOf[t] = DbOf[w] => t \in unsent \/ t \in snap'[w].rels]_vars

(* No update that the row needs is left out, neither by the patch nor, with*)
(* the row locked, by upstream.                                            *)
SkipsNoNeeded ==
    [][\A w \in Workers :
           pc[w] \in {"decide", "tuple"} /\ pc'[w] = "force" => ~NeedUpdate(row[DbOf[w]].frozen, my[w].new, my[w].sane)]_vars
=============================================================================

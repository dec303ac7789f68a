\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE datfrozenxid ----------------------------
(***************************************************************************)
(* vac_update_datfrozenxid and vac_truncate_clog (vacuum.c), run by        *)
(* several workers in several databases, and all that moves beside them.   *)
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
(* What a backend sees.  Messages to a backend are a set: "row" (the       *)
(* pg_database row of its database changed) and "other".  Accepting them   *)
(* empties the set; "row" drops the cached row, any message drops the      *)
(* catalog snapshot.  They are accepted when a transaction starts, when    *)
(* pg_class or pg_database is opened, and after an own update in place;    *)
(* not by taking the database's lock.  A catalog snapshot holds back the   *)
(* horizon as long as it lives, that of its own backend too.  It decides   *)
(* which rows and versions are seen; the XIDs in a row are updated in      *)
(* place, so a scan reads what they are when it reads them.                *)
(*                                                                         *)
(* Simplified: one XID a page and a segment of pg_xact, so every           *)
(* truncation is as sharp as its argument.  A vacuum freezes everything    *)
(* below the horizon.  Force... may say yes at any time.  MultiXacts run   *)
(* through the same code with their own counters; for the XIDs they are a  *)
(* choice (Multis): the row may have to be written for them alone, and a   *)
(* scan may give up because of them.                                       *)
(*                                                                         *)
(* How to break it: MCdatfrozenxid has a definition for each step that can *)
(* be left out; models.toml says what then fails.                          *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANTS
    Databases, Tables, Workers,
    DbOf,           \* the database of each table and worker
    Starts,         \* the states to start from
    Patched,        \* the proposed algorithm?
    Multis,         \* may MultiXacts make a difference?
    MayCreate,      \* which tables may be created
    MayDrop,        \* which tables may be dropped
    MayAlter,       \* in which databases a row may get a new version
    MayCopy,        \* may NewDatabase be made from Template?
    Template, NewDatabase,
    MayCrash

VARIABLES
    next,           \* the next XID to be assigned
    hold,           \* the oldest other running transaction, or 0
    clog,           \* pg_xact begins here
    limit,          \* TransamVariables->oldestXid
    passed,         \* what vac_truncate_clog was last called with, by database
    rel,            \* pg_class: status, frozen (relfrozenxid), oldest (what is really in the table)
    row,            \* pg_database: status, frozen (datfrozenxid)
    freezing,       \* a vacuum of a table: what it is about to write to relfrozenxid, or 0
    pc, my,         \* where a worker stands, and its local variables
    cache,          \* datfrozenxid in a worker's syscache, or 0
    pending,        \* messages that a worker has not accepted
    snap,           \* its catalog snapshot
    alter,          \* ALTER DATABASE
    copy,           \* CREATE DATABASE
    unsent,         \* committed changes whose messages are not sent yet
    wal,            \* WAL that is not flushed
    flushed,        \* what WAL up to there says
    crashes

shared   == <<next, hold>>
truncs   == <<clog, limit, passed>>
rows     == <<rel, row>>
worker   == <<pc, my, cache, pending, snap>>
ddl      == <<alter, copy, unsent>>
durable  == <<wal, flushed, crashes>>
vars     == <<shared, truncs, rows, freezing, worker, ddl, durable>>

-----------------------------------------------------------------------------
(* Ring arithmetic. *)

Oldest(xids) == CHOOSE x \in xids : \A y \in xids : PrecedesOrEquals(x, y)
Older(x, y) == IF Precedes(x, y) THEN x ELSE y
Future(x, sane) == Precedes(sane, x)
FutureRel(x, sane) == Future(x, sane)
FutureDat(x, sane) == Future(x, sane)
NeedUpdate(dat, new, sane) == dat # new /\ (Precedes(dat, new) \/ Future(dat, sane))

-----------------------------------------------------------------------------
(* Snapshots and the horizon. *)

NoSnapshot == [xmin |-> 0, rels |-> {}, rows |-> {}, altered |-> FALSE]
Altered == alter.pc \in {"committed", "sent"}

(* The XIDs of running transactions: a table not yet committed has that of *)
(* its creator as its oldest.                                              *)
RunningXids ==
    {next} \cup ({hold} \ {0}) \cup {rel[t].oldest : t \in {u \in Tables : rel[u].status = "new"}}
           \cup (IF copy.pc = "copied" THEN {copy.xid} ELSE {})
Visible == {t \in Tables : rel[t].status = "live"}
TakeSnapshot ==
    [xmin |-> Oldest(RunningXids), rels |-> Visible,
     rows |-> {d \in Databases : row[d].status = "live"}, altered |-> Altered]

Xmins(ws) == {snap[w].xmin : w \in ws} \ {0}
HorizonOf(w) == Oldest(RunningXids \cup Xmins(Workers))

(* datfrozenxid of d as a snapshot s sees it: from before ALTER DATABASE,  *)
(* the old version, which is never updated again.                          *)
Seen(d, s) == IF Altered /\ d = alter.db /\ ~s.altered THEN alter.before ELSE row[d].frozen

-----------------------------------------------------------------------------
(* Messages. *)

Message(w, d) == IF DbOf[w] = d THEN "row" ELSE "other"
ToAll(d) == [w \in Workers |-> pending[w] \cup {Message(w, d)}]
ToDatabase(d) == [w \in Workers |-> IF DbOf[w] = d THEN pending[w] \cup {"other"} ELSE pending[w]]

CacheAfter(w) == IF "row" \in pending[w] THEN 0 ELSE cache[w]
SnapAfter(w) == IF pending[w] = {} THEN snap[w] ELSE NoSnapshot
Accept(w) ==
    /\ pending' = [pending EXCEPT ![w] = {}]
    /\ cache' = [cache EXCEPT ![w] = CacheAfter(w)]

(* Open a catalog, and scan it with the catalog snapshot. *)
Opened(w) == IF SnapAfter(w) = NoSnapshot THEN TakeSnapshot ELSE SnapAfter(w)
Open(w) == Accept(w) /\ snap' = [snap EXCEPT ![w] = Opened(w)]

-----------------------------------------------------------------------------
(* WAL. *)

Log(record) == wal' = IF MayCrash THEN Append(wal, record) ELSE wal
LogRow(d, x) == Log([kind |-> "row", of |-> d, xid |-> x])
Replay1(state, r) ==
    IF r.kind = "row" THEN [state EXCEPT !.row[r.of].frozen = r.xid]
    ELSE IF r.kind = "rel" THEN [state EXCEPT !.rel[r.of].frozen = r.xid]
    ELSE [state EXCEPT !.rel[r.of].oldest = r.xid]
RECURSIVE Replay(_, _)
Replay(state, records) == IF records = <<>> THEN state ELSE Replay(Replay1(state, Head(records)), Tail(records))
Flush == wal' = <<>> /\ flushed' = Replay(flushed, wal)
NoWal == UNCHANGED durable

-----------------------------------------------------------------------------
(* A worker. *)

NotWorking == [new |-> 0, sane |-> 0, nextXid |-> 0, todo |-> {}, dirty |-> FALSE, bad |-> FALSE]
Goto(w, label) == pc' = [pc EXCEPT ![w] = label]
GotoWith(w, label, locals) == Goto(w, label) /\ my' = [my EXCEPT ![w] = locals]

InDatabase == {"bounded", "sane", "scan", "decide", "tuple", "log", "show", "send", "force", "enter", "rows", "truncate",
               "limit"}
InWrapLimits == {"rows", "truncate", "limit"}
InTuple == {"log", "show", "send"}
IdsLocked(d) == \E w \in Workers : DbOf[w] = d /\ pc[w] \in InDatabase
WrapLimitsLocked == \E w \in Workers : pc[w] \in InWrapLimits
TupleLocked(d) == \E w \in Workers : DbOf[w] = d /\ pc[w] \in InTuple

(* The end of the transaction releases all locks. *)
Finish(w) == GotoWith(w, "idle", NotWorking) /\ snap' = [snap EXCEPT ![w] = NoSnapshot]

(* A transaction starts.  No one connects to the template of a CREATE      *)
(* DATABASE until its locks are released, after its messages.              *)
BeingCopied(d) == d = Template /\ (copy.pc = "copied" \/ "copy" \in unsent)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | starts a transaction
Begin(w) ==
    /\ pc[w] = "idle"
    /\ row[DbOf[w]].status = "live"
    /\ ~BeingCopied(DbOf[w])
    /\ Goto(w, "begun") /\ Accept(w)
    /\ UNCHANGED <<my, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* Before it takes the lock it may have used the cache and a snapshot, as  *)
(* do_autovacuum does.                                                     *)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | looks up the row of its database, and keeps a snapshot of
\*        the catalogs
Look(w) ==
    /\ pc[w] = "begun" /\ snap[w] = NoSnapshot
    /\ snap' = [snap EXCEPT ![w] = TakeSnapshot]
    /\ cache' = [cache EXCEPT ![w] = IF @ = 0 THEN Seen(DbOf[w], TakeSnapshot) ELSE @]
    /\ UNCHANGED <<pc, my, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* LockDatabaseFrozenIds, and GetOldestNonRemovableTransactionId. *)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | takes the lock under which datfrozenxid is computed; no
\*        running transaction needs XIDs before {my'[w].new}
LockIds(w) ==
    /\ pc[w] = "begun" /\ ~IdsLocked(DbOf[w])
    /\ GotoWith(w, "bounded", [my[w] EXCEPT !.new = HorizonOf(w)])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* ReadNextTransactionId. *)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | reads the next XID: {my'[w].sane}
ReadNext(w) ==
    /\ pc[w] = "bounded"
    /\ GotoWith(w, "sane", [my[w] EXCEPT !.sane = next])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

Scanned == IF Patched THEN "decide" ELSE "tuple"
Scanning(todo) == IF todo = {} THEN Scanned ELSE "scan"
OpenedClass(w) == Opened(w)
AcceptAtClass(w) == Accept(w)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | scans pg_class; tables that it must look at: {my'[w].todo}
OpenClass(w) ==
    /\ pc[w] = "sane"
    /\ AcceptAtClass(w) /\ snap' = [snap EXCEPT ![w] = OpenedClass(w)]
    /\ LET todo == {t \in OpenedClass(w).rels : DbOf[t] = DbOf[w]}
       IN GotoWith(w, Scanning(todo), [my[w] EXCEPT !.todo = todo])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A row of pg_class.  A value in the future: give up. *)
\* STEP w \in Workers, t \in my[w].todo if my'[w].todo = {} /\ pc'[w] = "idle" /\ FutureRel(rel[t].frozen,
\*        my[w].sane) | vacuum {w} in database {DbOf[w]} | reads the row of table {t} in pg_class: relfrozenxid
\*        {rel[t].frozen} is in the future. It gives up
\* SMALL w \in Workers, t \in my[w].todo \ my'[w].todo | vacuum {w} in database {DbOf[w]} | reads the row of table
\*        {t} in pg_class: relfrozenxid {rel[t].frozen}
ScanClass(w) ==
    /\ pc[w] = "scan"
    /\ \E t \in my[w].todo :
           IF FutureRel(rel[t].frozen, my[w].sane)
           THEN Finish(w)
           ELSE /\ GotoWith(w, Scanning(my[w].todo \ {t}),
                            [my[w] EXCEPT !.new = Older(rel[t].frozen, @), !.todo = @ \ {t}])
                /\ UNCHANGED snap
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A MultiXact in the future. *)
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} | reads a MultiXactId in the future, and gives up
GiveUp(w) ==
    /\ Multis /\ pc[w] = "scan" /\ Finish(w)
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* The patch asks the syscache.  If it has no such row, the row is loaded, *)
(* and that opens pg_database.                                             *)
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | has the row of its database no more in its
\*        cache, and loads it: datfrozenxid {cache'[w]}
Load(w) ==
    /\ pc[w] = "decide" /\ cache[w] = 0
    /\ pending' = [pending EXCEPT ![w] = {}]
    /\ snap' = [snap EXCEPT ![w] = Opened(w)]
    /\ cache' = [cache EXCEPT ![w] = Seen(DbOf[w], Opened(w))]
    /\ UNCHANGED <<pc, my, shared, truncs, rows, freezing, ddl>> /\ NoWal

\* STEP w \in Workers if pc'[w] = "tuple" | vacuum {w} in database {DbOf[w]} | asks its cache: datfrozenxid is
\*        {cache[w]}. It must be written, with {my[w].new}
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} | asks its cache: datfrozenxid is {cache[w]}. Nothing needs
\*        to be written
Decide(w) ==
    /\ pc[w] = "decide" /\ cache[w] # 0
    /\ LET need == NeedUpdate(cache[w], my[w].new, my[w].sane)
       IN \/ (need \/ Multis) /\ Goto(w, "tuple") /\ UNCHANGED my
          \/ ~need /\ GotoWith(w, "force", [my[w] EXCEPT !.new = cache[w]])
    /\ UNCHANGED <<cache, pending, snap, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* systable_inplace_update_begin: waits for whoever makes a new version of *)
(* the row, and looks at the row again, locked.                            *)
Changing(d) == alter.db = d /\ alter.pc \in {"read", "written"}
Rechecked(w, dat) == NeedUpdate(dat, my[w].new, my[w].sane)
Writing == IF MayCrash THEN "log" ELSE "show"
\* SMALL w \in Workers if pc'[w] # "force" | vacuum {w} in database {DbOf[w]} | locks the row of its database:
\*        datfrozenxid is {row[DbOf[w]].frozen}, and may become {my'[w].new}
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | locks the row of its database: datfrozenxid is
\*        {row[DbOf[w]].frozen}, and need not be written
LockTuple(w) ==
    /\ pc[w] = "tuple" /\ ~Changing(DbOf[w]) /\ ~TupleLocked(DbOf[w])
    /\ Open(w)
    /\ LET dat == row[DbOf[w]].frozen
       IN IF Rechecked(w, dat)
          THEN GotoWith(w, Writing, [my[w] EXCEPT !.dirty = TRUE])
          ELSE \/ GotoWith(w, "force", [my[w] EXCEPT !.new = dat])
               \/ Multis /\ GotoWith(w, Writing, [my[w] EXCEPT !.new = dat, !.dirty = TRUE])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* heap_inplace_update_and_unlock: WAL, the buffer, messages. *)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} -> WAL | writes the WAL of the update: datfrozenxid
\*        {my[w].new}
LogTuple(w) ==
    /\ pc[w] = "log"
    /\ LogRow(DbOf[w], my[w].new) /\ Goto(w, "show")
    /\ UNCHANGED <<my, cache, pending, snap, shared, truncs, rows, freezing, ddl, flushed, crashes>>
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | writes its result over the old one, in
\*        place, in the row of its own database {DbOf[w]}: datfrozenxid is {my[w].new} now
ShowTuple(w) ==
    /\ pc[w] = "show"
    /\ row' = [row EXCEPT ![DbOf[w]].frozen = my[w].new]
    /\ Goto(w, "send")
    /\ UNCHANGED <<my, cache, pending, snap, rel, shared, truncs, freezing, ddl>> /\ NoWal
InPlaceMessages(w) == ToAll(DbOf[w])
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | tells all others that the row has changed, and forgets
\*        its own cache and snapshot
SendTuple(w) ==
    /\ pc[w] = "send"
    /\ pending' = [InPlaceMessages(w) EXCEPT ![w] = {}]
    /\ cache' = [cache EXCEPT ![w] = 0]
    /\ snap' = [snap EXCEPT ![w] = NoSnapshot]
    /\ Goto(w, "force")
    /\ UNCHANGED <<my, shared, truncs, rows, freezing, ddl>> /\ NoWal

(* ForceTransactionIdLimitUpdate, and the start of vac_truncate_clog, which*)
(* reads nextXID before it takes the lock.                                 *)
\* SMALL w \in Workers | vacuum {w} in database {DbOf[w]} | goes on to truncate pg_xact, and reads the next XID:
\*        {next}
Force(w) ==
    /\ pc[w] = "force"
    /\ GotoWith(w, "enter", [my[w] EXCEPT !.nextXid = next])
    /\ passed' = [passed EXCEPT ![DbOf[w]] = my[w].new]
    /\ UNCHANGED <<clog, limit, cache, pending, snap, shared, rows, freezing, ddl>> /\ NoWal
(* Nothing is dirty, and no one forces it; or an error ends the transaction*)
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} | ends here: nothing forces a truncation of pg_xact
DoNotForce(w) ==
    /\ pc[w] = "force"
    /\ Finish(w)
    /\ UNCHANGED <<cache, pending, shared, truncs, rows, freezing, ddl>> /\ NoWal

ToScan(w) == Opened(w).rows
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_database | begins to scan pg_database for the oldest
\*        datfrozenxid of all. Its snapshot shows the databases {snap'[w].rows}. Its own result is {my[w].new}
EnterWrapLimits(w) ==
    /\ pc[w] = "enter" /\ ~WrapLimitsLocked
    /\ Open(w)
    /\ GotoWith(w, IF ToScan(w) = {} THEN "truncate" ELSE "rows", [my[w] EXCEPT !.todo = ToScan(w)])
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* A row of pg_database.  One that is in the future of the next XID, as it *)
(* was when the worker looked at pg_class (lastSane) or is before the lock,*)
(* makes it give up in the end.                                            *)
GivesUp(w) == Finish(w)
Insane(w, dat) == FutureDat(dat, my[w].sane) \/ FutureDat(dat, my[w].nextXid)
ScanAgain(w) == FALSE
\* STEP w \in Workers, d \in my[w].todo if pc'[w] = "idle" | vacuum {w} in database {DbOf[w]} -> pg_database | reads
\*        the row of database {d}: datfrozenxid {Seen(d, snap[w])}. A value was in the future, so it gives up
\* STEP w \in Workers, d \in my[w].todo if my[w].todo = {d} /\ my'[w].todo # {} | vacuum {w} in database {DbOf[w]} ->
\*        pg_database | reads the row of database {d}: datfrozenxid {Seen(d, snap[w])}. A message came meanwhile: it
\*        scans all again, with a snapshot that shows {snap'[w].rows}
\* STEP w \in Workers, d \in my[w].todo \ my'[w].todo if my'[w].bad | vacuum {w} in database {DbOf[w]} -> pg_database
\*        | reads the row of database {d}: datfrozenxid {Seen(d, snap[w])}. It will give up, because a value is in
\*        the future
\* STEP w \in Workers, d \in my[w].todo \ my'[w].todo if my'[w].todo # {} | vacuum {w} in database {DbOf[w]} ->
\*        pg_database | reads the row of database {d}, as it is now: datfrozenxid {Seen(d, snap[w])}. The oldest so
\*        far is {my'[w].new}. Still to be read: {my'[w].todo}
\* STEP w \in Workers, d \in my[w].todo \ my'[w].todo | vacuum {w} in database {DbOf[w]} -> pg_database | reads the
\*        row of database {d}, as it is now: datfrozenxid {Seen(d, snap[w])}. That was the last row that its snapshot
\*        shows. The oldest of all is {my'[w].new}
ScanDatabase(w) ==
    /\ pc[w] = "rows"
    /\ \E d \in my[w].todo :
           LET dat == Seen(d, snap[w])
               bad == my[w].bad \/ Insane(w, dat)
               todo == my[w].todo \ {d}
           IN IF todo = {} /\ bad
              THEN GivesUp(w) /\ UNCHANGED <<cache, pending>>
              ELSE IF todo = {} /\ ScanAgain(w)
              THEN Open(w) /\ my' = [my EXCEPT ![w].todo = ToScan(w)] /\ UNCHANGED pc
              ELSE /\ GotoWith(w, IF todo = {} THEN "truncate" ELSE "rows",
                       [my[w] EXCEPT !.todo = todo, !.bad = bad,
                                     !.new = IF FutureDat(dat, my[w].nextXid) THEN @ ELSE Older(dat, @)])
                   /\ UNCHANGED <<cache, pending, snap>>
    /\ UNCHANGED <<shared, truncs, rows, freezing, ddl>> /\ NoWal

(* TruncateCLOG: its WAL is flushed before a file goes. *)
Truncated(w) == IF Precedes(clog, my[w].new) THEN my[w].new ELSE clog
\* STEP w \in Workers if clog' # clog | vacuum {w} in database {DbOf[w]} -> pg_xact | removes from pg_xact all before
\*        XID {my[w].new}, the oldest that it found
\* STEP w \in Workers if clog' = clog /\ limit' = limit | vacuum {w} in database {DbOf[w]} -> pg_xact | would remove
\*        from pg_xact all before XID {my[w].new}; there is nothing
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} | sets the limit for new XIDs, before it cuts pg_xact: the
\*        oldest XID is {my[w].new}
TruncateClog(w) ==
    /\ pc[w] = "truncate"
    /\ clog' = Truncated(w)
    /\ Flush /\ Goto(w, "limit")
    /\ UNCHANGED <<my, cache, pending, snap, shared, limit, passed, rows, freezing, ddl, crashes>>

(* SetTransactionIdLimit: it does not look at the old value. *)
\* STEP w \in Workers if clog' = clog | vacuum {w} in database {DbOf[w]} | sets the shared limit to XID {my[w].new},
\*        from which no XID may be half a ring ahead; it is done
\* STEP w \in Workers | vacuum {w} in database {DbOf[w]} -> pg_xact | removes from pg_xact all before XID {my[w].new}
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
(* XIDs.  None is assigned half a ring or more after the limit. *)

MayAssign == Precedes(limit, Advance(next)) /\ Precedes(limit, Advance(Advance(next)))
\* STEP | other transactions | take XID {next}; the next one is {next'}
Assign ==
    /\ MayAssign
    /\ next' = Advance(next)
    /\ UNCHANGED <<hold, truncs, rows, freezing, worker, ddl>> /\ NoWal
\* STEP | other transactions | The running transaction {hold} ends
OtherEnds ==
    /\ hold # 0
    /\ hold' = 0
    /\ UNCHANGED <<next, truncs, rows, freezing, worker, ddl>> /\ NoWal

(* Tables.  A new one has relfrozenxid from its creator's snapshot; what   *)
(* its creator inserts has the creator's own XID.                          *)
NewFrozen == next
Announced(t) == unsent \cup {t}
\* STEP t \in Tables | creator of table {t} | creates table {t} in database {DbOf[t]} as transaction {next}:
\*        relfrozenxid {rel'[t].frozen}. Nobody else sees it yet
CreateTable(t) ==
    /\ t \in MayCreate /\ rel[t].status = "none" /\ MayAssign
    /\ row[DbOf[t]].status = "live"
    /\ rel' = [rel EXCEPT ![t] = [status |-> "new", frozen |-> NewFrozen, oldest |-> next]]
    /\ next' = Advance(next)
    /\ UNCHANGED <<hold, row, truncs, freezing, worker, ddl>> /\ NoWal
\* STEP t \in Tables | creator of table {t} | commits: from now on snapshots show table {t}
CommitTable(t) ==
    /\ rel[t].status = "new"
    /\ rel' = [rel EXCEPT ![t].status = "live"]
    /\ unsent' = Announced(t)
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, alter, copy>> /\ NoWal
\* STEP t \in Tables | creator of table {t} | rolls back: table {t} is gone
AbortTable(t) ==
    /\ rel[t].status = "new"
    /\ rel' = [rel EXCEPT ![t].status = "dropped"]
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, ddl>> /\ NoWal
InVacuum(t) == freezing[t] # 0
\* STEP t \in Tables | a session in database {DbOf[t]} | drops table {t}, and commits
DropTable(t) ==
    /\ t \in MayDrop /\ rel[t].status = "live" /\ ~InVacuum(t)
    /\ rel' = [rel EXCEPT ![t].status = "dropped"]
    /\ unsent' = Announced(t)
    /\ UNCHANGED <<shared, row, truncs, freezing, worker, alter, copy>> /\ NoWal
\* SMALL t \in Tables | a session in database {DbOf[t]} | sends the messages of the commit about table {t}
SendTable(t) ==
    /\ t \in unsent
    /\ unsent' = unsent \ {t}
    /\ pending' = ToDatabase(DbOf[t])
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, alter, copy>> /\ NoWal

(* VACUUM of a table: freezes, logs the new relfrozenxid, shows it. *)
Vacuumed(t) == Oldest(RunningXids \cup Xmins(Workers))
\* STEP t \in Tables | VACUUM of table {t} in database {DbOf[t]} | freezes the rows of {t}: from XID {rel'[t].oldest}
\*        on they need pg_xact; relfrozenxid will be {freezing'[t]}
Freeze(t) ==
    /\ rel[t].status = "live" /\ freezing[t] = 0 /\ ~BeingCopied(DbOf[t])
    /\ Precedes(rel[t].oldest, Vacuumed(t)) \/ Future(rel[t].frozen, next)
    /\ rel' = [rel EXCEPT ![t].oldest = IF Precedes(@, Vacuumed(t)) THEN Vacuumed(t) ELSE @]
    /\ Log([kind |-> "oldest", of |-> t, xid |-> rel'[t].oldest])
    /\ freezing' = [freezing EXCEPT ![t] = rel'[t].oldest]
    /\ UNCHANGED <<shared, row, truncs, worker, ddl, flushed, crashes>>
Logged(t) == [kind |-> "rel", of |-> t, xid |-> freezing[t]]
InLog(t) == \E i \in 1..Len(wal) : wal[i] = Logged(t)
\* SMALL t \in Tables | VACUUM of table {t} in database {DbOf[t]} -> WAL | writes the WAL of the update: relfrozenxid
\*        {freezing[t]}
LogRel(t) ==
    /\ MayCrash /\ freezing[t] # 0 /\ ~InLog(t)
    /\ Log(Logged(t))
    /\ UNCHANGED <<shared, rows, truncs, freezing, worker, ddl, flushed, crashes>>
MayShowRel(t) == MayCrash => InLog(t) \/ flushed.rel[t].frozen = freezing[t]
\* STEP t \in Tables | VACUUM of table {t} in database {DbOf[t]} | writes relfrozenxid of {t} in place:
\*        {rel'[t].frozen}
ShowRel(t) ==
    /\ freezing[t] # 0 /\ MayShowRel(t)
    /\ rel' = [rel EXCEPT ![t].frozen =
                   IF Precedes(@, freezing[t]) \/ Future(@, next) THEN freezing[t] ELSE @]
    /\ freezing' = [freezing EXCEPT ![t] = 0]
    /\ pending' = ToDatabase(DbOf[t])
    /\ UNCHANGED <<shared, row, truncs, pc, my, cache, snap, ddl>> /\ NoWal

(* ALTER DATABASE, and a superuser's UPDATE: a new version of the row, with *)
(* a copy of datfrozenxid.  The tuple lock is held from read to written.   *)
NewValues(d) == {row[d].frozen}
\* STEP d \in Databases | ALTER DATABASE | reads the row of database {d}, to make a new version of it, with
\*        datfrozenxid {alter'.after}
AlterRead(d) ==
    /\ d \in MayAlter /\ alter.pc = "none" /\ ~TupleLocked(d) /\ row[d].status = "live"
    /\ \E x \in NewValues(d) : alter' = [pc |-> "read", db |-> d, before |-> 0, after |-> x]
    /\ UNCHANGED <<shared, truncs, rows, freezing, worker, copy, unsent>> /\ NoWal
\* STEP | ALTER DATABASE | writes the new version of the row of database {alter.db}, not committed yet
AlterWrite ==
    /\ alter.pc = "read" /\ ~TupleLocked(alter.db)
    /\ alter' = [alter EXCEPT !.pc = "written"]
    /\ UNCHANGED <<shared, truncs, rows, freezing, worker, copy, unsent>> /\ NoWal
\* STEP | ALTER DATABASE -> pg_database | commits: the new version counts, with datfrozenxid {alter.after}. The old
\*        one had {row[alter.db].frozen}
AlterCommit ==
    /\ alter.pc = "written"
    /\ alter' = [alter EXCEPT !.pc = "committed", !.before = row[alter.db].frozen]
    /\ row' = [row EXCEPT ![alter.db].frozen = alter.after]
    /\ UNCHANGED <<shared, truncs, rel, freezing, worker, copy, unsent>> /\ NoWal
\* STEP | ALTER DATABASE | sends its messages: the row of database {alter.db} has changed
AlterSend ==
    /\ alter.pc = "committed"
    /\ alter' = [alter EXCEPT !.pc = "sent"]
    /\ pending' = ToAll(alter.db)
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, copy, unsent>> /\ NoWal

(* CREATE DATABASE: no one is in the template, and no one can connect to   *)
(* it until the end.  The one table of the new database gets what the one  *)
(* of the template has.                                                    *)
TablesOf(d) == {t \in Tables : DbOf[t] = d}
\* STEP | CREATE DATABASE -> pg_database | copies the template {Template} to the new database {NewDatabase}, as
\*        transaction {copy'.xid}. The copy has the datfrozenxid of the template: {row'[NewDatabase].frozen}
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
\* STEP | CREATE DATABASE -> pg_database | commits: database {NewDatabase} is there. Snapshots that were taken before
\*        do not show it
CommitCopy ==
    /\ copy.pc = "copied"
    /\ copy' = [copy EXCEPT !.pc = "committed"]
    /\ row' = [row EXCEPT ![NewDatabase].status = "live"]
    /\ rel' = [t \in Tables |-> IF DbOf[t] = NewDatabase THEN [rel[t] EXCEPT !.status = "live"] ELSE rel[t]]
    /\ unsent' = unsent \cup {"copy"}
    /\ UNCHANGED <<shared, truncs, freezing, worker, alter>> /\ NoWal
\* STEP | CREATE DATABASE | sends its messages, and lets go of the template: others may connect to {Template} again
SendCopy ==
    /\ "copy" \in unsent
    /\ unsent' = unsent \ {"copy"}
    /\ pending' = ToAll(NewDatabase)
    /\ UNCHANGED <<shared, truncs, rows, freezing, pc, my, cache, snap, alter, copy>> /\ NoWal

(* A crash: any prefix of the WAL survives; the limit comes from the last  *)
(* checkpoint, which is as old as can be.                                  *)
AfterCrash(state) == state
\* STEP | the server | crashes, and recovers from the WAL that has survived
Crash ==
    /\ MayCrash /\ crashes = 0
    /\ \E n \in 0..Len(wal) :
           LET state == Replay(flushed, SubSeq(wal, 1, n))
           IN rel' = state.rel /\ row' = state.row /\ flushed' = AfterCrash(state)
    /\ wal' = <<>> /\ crashes' = crashes + 1
    /\ limit' = Oldest({flushed.limit, limit})
    /\ freezing' = [t \in Tables |-> 0]
    /\ pc' = [w \in Workers |-> "idle"] /\ my' = [w \in Workers |-> NotWorking]
    /\ cache' = [w \in Workers |-> 0] /\ pending' = [w \in Workers |-> {}]
    /\ snap' = [w \in Workers |-> NoSnapshot]
    /\ passed' = [d \in Databases |-> 0]
    /\ hold' = 0
    /\ UNCHANGED <<next, clog, ddl>>

-----------------------------------------------------------------------------
\* INNER pc, my, snap, pending, cache, hold, copy, alter, unsent, passed, flushed, freezing
\* NOTE | XIDs go round a ring of {Size}: after {Size - 1} comes {FirstNormal}. The next one to be assigned is
\*        {next}. pg_xact knows what became of the transactions from {clog} on
\* NOTE d \in Databases if row[d].status = "live" | Database {d} has datfrozenxid {row[d].frozen}: no row in it has
\*        an older XID
\* NOTE t \in Tables if rel[t].status = "live" | Table {t} in database {DbOf[t]} has relfrozenxid {rel[t].frozen};
\*        its rows have XIDs from {rel[t].oldest} on
\* NOTE if MayCopy | Database {Template} is a template, of which CREATE DATABASE makes the copy {NewDatabase}
\* NOTE if hold # 0 | Another transaction, {hold}, is running
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
OnTables ==
    \E t \in Tables :
        \/ CreateTable(t) \/ CommitTable(t) \/ AbortTable(t) \/ DropTable(t) \/ SendTable(t)
        \/ Freeze(t) \/ LogRel(t) \/ ShowRel(t)
OnDatabases ==
    \/ \E d \in Databases : AlterRead(d)
    \/ AlterWrite \/ AlterCommit \/ AlterSend \/ CopyDatabase \/ CommitCopy \/ SendCopy
Next == Work \/ Assign \/ OtherEnds \/ OnTables \/ OnDatabases \/ Crash
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Safety. *)

Optional == Normals \cup {0}
Locals == [new : Optional, sane : Optional, nextXid : Optional, todo : SUBSET (Tables \cup Databases),
           dirty : BOOLEAN, bad : BOOLEAN]
TypeOK ==
    /\ next \in Normals /\ hold \in Optional /\ clog \in Normals /\ limit \in Normals
    /\ passed \in [Databases -> Optional] /\ freezing \in [Tables -> Optional]
    /\ rel \in [Tables -> [status : {"none", "new", "live", "copied", "dropped"}, frozen : Optional, oldest : Optional]]
    /\ row \in [Databases -> [status : {"none", "new", "live"}, frozen : Optional]]
    /\ pc \in [Workers -> {"idle", "begun"} \cup InDatabase]
    /\ my \in [Workers -> Locals] /\ cache \in [Workers -> Optional]
    /\ pending \in [Workers -> SUBSET {"row", "other"}]
    /\ snap \in [Workers -> [xmin : Optional, rels : SUBSET Tables, rows : SUBSET Databases, altered : BOOLEAN]]
    /\ alter \in [pc : {"none", "read", "written", "committed", "sent"}, db : Databases \cup {""}, before : Optional,
                  after : Optional]
    /\ alter.pc # "none" => row[alter.db].status = "live"
    /\ copy \in [pc : {"none", "copied", "committed"}, xid : Optional]
    /\ unsent \subseteq Tables \cup {"copy"} /\ crashes \in {0, 1}
    /\ \A w \in Workers :
          /\ pc[w] \in InDatabase => my[w].new \in Normals
          /\ my[w].todo \subseteq CASE pc[w] = "scan" -> TablesOf(DbOf[w]) [] pc[w] = "rows" -> Databases [] OTHER -> {}

(* Who has ended holds nothing: no snapshot keeps the horizon back.        *)
IdleHoldsNothing == \A w \in Workers : pc[w] = "idle" => my[w] = NotWorking /\ snap[w] = NoSnapshot

(* A vacuum holds a lock on its table: nobody drops it meanwhile.          *)
NoneDroppedInVacuum == \A t \in Tables : rel[t].status = "dropped" => freezing[t] = 0

(* Of an update in place there is one record in the WAL.                   *)
LoggedOnce == \A t \in Tables : freezing[t] # 0 => Cardinality({i \in 1..Len(wal) : wal[i] = Logged(t)}) <= 1

(* What a snapshot sees: no table or database that is not committed; and   *)
(* of a committed table of its own database that it misses, every XID is   *)
(* one that it protects.  (Of a copied database that is not so.)           *)
SnapshotSees ==
    \A w \in Workers :
        /\ \A t \in snap[w].rels : rel[t].status \in {"live", "dropped"}
        /\ \A d \in snap[w].rows : row[d].status = "live"
        /\ \A t \in Tables \ snap[w].rels :
               snap[w] # NoSnapshot /\ DbOf[t] = DbOf[w] /\ rel[t].status = "live"
                   => ~Precedes(rel[t].oldest, snap[w].xmin)

InUse(t) == rel[t].status \in {"new", "live", "copied"}

(* pg_xact has the status of every XID that may be in a table. *)
\* BROKEN t \in Tables if InUse(t) /\ Precedes(rel[t].oldest, clog) | Table {t} in database {DbOf[t]} has rows with
\*        XIDs from {rel[t].oldest} on, but pg_xact begins at {clog} now. Whether these rows are committed is lost:
\*        nobody can read them
NothingNeededTruncated == \A t \in Tables : InUse(t) => ~Precedes(rel[t].oldest, clog)

(* The limit, from which no XID may be assigned half a ring on, neither    *)
(* passes an XID in a table nor the beginning of pg_xact.                  *)
\* BROKEN t \in Tables if InUse(t) /\ Precedes(rel[t].oldest, limit) | Table {t} in database {DbOf[t]} has rows with
\*        XIDs from {rel[t].oldest} on, but the limit is {limit}
LimitBehindTables == \A t \in Tables : InUse(t) => ~Precedes(rel[t].oldest, limit)
\* BROKEN | The limit is {limit}, and pg_xact begins at {clog}
LimitBehindClog == ~Precedes(clog, limit)

(* datfrozenxid overtakes no relfrozenxid of its database. *)
\* BROKEN t \in Tables if rel[t].status = "live" /\ Precedes(rel[t].frozen, row[DbOf[t]].frozen) | Table {t} has
\*        relfrozenxid {rel[t].frozen}, and its database {DbOf[t]} has datfrozenxid {row[DbOf[t]].frozen}
DatBehindRels ==
    \A t \in Tables :
        LET dat == row[DbOf[t]].frozen
        IN rel[t].status = "live" /\ ~Future(dat, next) /\ ~Future(rel[t].frozen, next)
               => ~Precedes(rel[t].frozen, dat)

(* The patch decides by the value that the row has. *)
\* BROKEN w \in Workers if pc[w] = "decide" /\ cache[w] # 0 /\ cache[w] # row[DbOf[w]].frozen | Vacuum {w} takes
\*        datfrozenxid for {cache[w]}; the row has {row[DbOf[w]].frozen}
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
\* BROKEN d \in Databases if row'[d].frozen # row[d].frozen | datfrozenxid of database {d} was {row[d].frozen}, and
\*        is {row'[d].frozen}
DatAdvances ==
    [][\A d \in Databases :
           row[d].status = "live" /\ row'[d].frozen # row[d].frozen /\ crashes' = crashes
               => Precedes(row[d].frozen, row'[d].frozen) \/ Future(row[d].frozen, next)]_vars

(* vac_truncate_clog is not called with less than before. *)
\* BROKEN d \in Databases if passed[d] # passed'[d] | In database {d} it was called with {passed[d]} before, and is
\*        called with {passed'[d]}
PassedAdvances ==
    [][\A d \in Databases :
           passed[d] # 0 /\ ~Future(passed[d], next) /\ crashes' = crashes => ~Precedes(passed'[d], passed[d])]_vars

(* The shared limit goes forward. *)
\* BROKEN | The limit was {limit}, and is {limit'}
LimitAdvances == [][crashes' = crashes => ~Precedes(limit', limit)]_vars

(* What a flush and a crash leave is what the WAL says: after a crash the  *)
(* tables and databases are those of the WAL that survived.                *)
FlushedIsWhatSurvives ==
    [][/\ crashes' # crashes => wal' = <<>> /\ rel' = flushed'.rel /\ row' = flushed'.row
       /\ wal # <<>> /\ wal' = <<>> /\ crashes' = crashes => flushed' = Replay(flushed, wal)]_vars

(* Who opens pg_class or pg_database has accepted all messages.            *)
Opens(w) ==
    \/ pc[w] \in {"sane", "tuple", "enter"} /\ pc'[w] \notin {pc[w], "idle"}
    \/ pc[w] = "decide" /\ cache[w] = 0 /\ cache'[w] # 0
OpeningAccepts == [][\A w \in Workers : Opens(w) => pending'[w] = {}]_vars

(* It scans with a snapshot that holds the horizon back; after a message   *)
(* that is a new one.                                                      *)
OpeningSees ==
    [][\A w \in Workers :
           Opens(w) => snap'[w] # NoSnapshot /\ (pending[w] # {} => snap'[w] = TakeSnapshot)]_vars

(* While a template is copied nobody is in it, and nothing of it changes.  *)
CopiesAlone ==
    [][copy.pc = "none" /\ copy'.pc # "none" =>
           /\ \A w \in Workers : DbOf[w] = Template => pc[w] = "idle"
           /\ \A t \in TablesOf(Template) : rel[t].status # "new" /\ freezing[t] = 0]_vars

(* A vacuum freezes nothing that a running transaction or a snapshot keeps.*)
FreezesBehindHorizon ==
    [][\A t \in Tables :
           rel[t].status = "live" /\ rel'[t].oldest # rel[t].oldest /\ crashes' = crashes
               => ~Precedes(Oldest(RunningXids \cup Xmins(Workers)), rel'[t].oldest)]_vars

(* Who commits a table, drops one, or raises its relfrozenxid sends a      *)
(* message to all in its database.                                         *)
ChangesAreAnnounced ==
    [][crashes' = crashes =>
           \A t \in Tables :
               /\ \/ rel[t].status = "new" /\ rel'[t].status = "live"
                  \/ rel[t].status = "live" /\ rel'[t].status = "dropped"
                  => t \in unsent'
               /\ \/ t \in unsent \ unsent'
                  \/ rel[t].status = "live" /\ rel'[t].frozen # rel[t].frozen
                  => \A w \in Workers : DbOf[w] = DbOf[t] => "other" \in pending'[w]]_vars

(* No update that the row needs is left out, neither by the patch nor, with*)
(* the row locked, by upstream.                                            *)
\* BROKEN w \in Workers if pc[w] \in {"decide", "tuple"} /\ pc'[w] = "force" | Vacuum {w} leaves datfrozenxid at
\*        {row[DbOf[w]].frozen}, and should have written {my[w].new}
SkipsNoNeeded ==
    [][\A w \in Workers :
           pc[w] \in {"decide", "tuple"} /\ pc'[w] = "force" => ~NeedUpdate(row[DbOf[w]].frozen, my[w].new, my[w].sane)]_vars
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE catalogs ------------------------------
(***************************************************************************)
(* The state of datfrozenxid: the rows of pg_class and pg_database, and    *)
(* what a backend sees of them.  No step is taken here.                    *)
(*                                                                         *)
(* Messages to a backend are a set: "row" (the pg_database row of its      *)
(* database changed) and "other".  Accepting them empties the set; "row"   *)
(* drops the cached row, any message drops the catalog snapshot.  They are *)
(* accepted when a transaction starts, when pg_class or pg_database is     *)
(* opened, and after an own update in place; not by taking the database's  *)
(* lock.  A catalog snapshot holds back the horizon as long as it lives,   *)
(* that of its own backend too.  It decides which rows and versions are    *)
(* seen; the XIDs in a row are updated in place, so a scan reads what they *)
(* are when it reads them.                                                 *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANTS
    Databases, Tables, Workers,
    DbOf,           \* the database of each table and worker
    Starts,         \* the states to start from
    Patched,        \* the proposed algorithm?
    ScansAgain,     \* a cure: is pg_database scanned again if a message came during the scan?
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

TablesOf(d) == {t \in Tables : DbOf[t] = d}

-----------------------------------------------------------------------------
(* Ring arithmetic. *)

Oldest(xids) == CHOOSE x \in xids : \A y \in xids : PrecedesOrEquals(x, y)
Older(x, y) == IF Precedes(x, y) THEN x ELSE y
Future(x, sane) == Precedes(sane, x)
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
Horizon == Oldest(RunningXids \cup Xmins(Workers))

(* datfrozenxid of d as a snapshot s sees it: from before ALTER DATABASE,  *)
(* the old version, which is never updated again.                          *)
Seen(d, s) == IF Altered /\ d = alter.db /\ ~s.altered THEN alter.before ELSE row[d].frozen

-----------------------------------------------------------------------------
(* Messages. *)

ToAll(d) == [w \in Workers |-> pending[w] \cup {IF DbOf[w] = d THEN "row" ELSE "other"}]
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
(* Where a worker stands, and what is locked meanwhile. *)

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

(* No one connects to the template of a CREATE DATABASE until its locks    *)
(* are released, after its messages.                                       *)
BeingCopied(d) == d = Template /\ (copy.pc = "copied" \/ "copy" \in unsent)

(* No XID is assigned half a ring or more after the limit. *)
MayAssign == Precedes(limit, Advance(next)) /\ Precedes(limit, Advance(Advance(next)))

-----------------------------------------------------------------------------
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
=============================================================================

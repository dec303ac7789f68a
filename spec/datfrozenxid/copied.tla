\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE copied -------------------------------
(***************************************************************************)
(* vac_truncate_clog (vacuum.c) beside CREATE DATABASE, for MultiXactIds:  *)
(* the hole that datfrozenxid.tla shows for XIDs.  The same scan of        *)
(* pg_database gives both minima.                                          *)
(*                                                                         *)
(* Two things differ from pg_xact.  A reader asks the shared limit before  *)
(* it looks a MultiXactId up, and refuses one that precedes the limit; of  *)
(* an XID it asks no limit.  And a segment holds several ids here          *)
(* (PerSegment), so that a truncation may remove none.                     *)
(*                                                                         *)
(* Modelled, each as a step of its own: a vacuum freezes the tables of its *)
(* database; raises datminmxid in place; takes WrapLimitsVacuumLock and    *)
(* the snapshot of pg_database; reads each row; TruncateMultiXact, which   *)
(* looks at the old limit; SetMultiXactIdLimit, which does not.  Beside    *)
(* them MultiXactIds are assigned, and a database is copied.               *)
(*                                                                         *)
(* Simplified: the copy, its commit and its message are one step, since    *)
(* nobody can connect to the template in between.  No MultiXactId is held  *)
(* by a running transaction when a table is frozen: the vacuum leaves      *)
(* nothing before the next one.                                            *)
(* The lock of the database, syscaches, snapshots of pg_class, ALTER       *)
(* DATABASE and crashes are datfrozenxid.tla's.                            *)
(*                                                                         *)
(* How to break it: MCcopied replaces Removable, SegmentPrecedes, Raised,  *)
(* ToScan, Waits and NextMulti; models.toml says what then fails.          *)
(*                                                                         *)
(* Upstream: src/backend/commands/vacuum.c, vac_truncate_clog;             *)
(* src/backend/commands/dbcommands.c, createdb, get_db_info;               *)
(* src/backend/access/transam/multixact.c, TruncateMultiXact,              *)
(* SetMultiXactIdLimit, MultiXactOffsetPagePrecedes.                       *)
(***************************************************************************)
EXTENDS Xid

CONSTANTS
    Databases, Workers,
    DbOf,           \* the database of each worker
    MayCopy,        \* may NewDatabase be made from Template?
    Template, NewDatabase,
    PerSegment,     \* how many MultiXactIds a segment of pg_multixact has; divides Size
    First           \* the next MultiXactId at the start

VARIABLES
    next,           \* the next MultiXactId to be assigned
    oldest,         \* by database: the oldest one that may be in its tables; 0: no such database
    row,            \* by database: datminmxid; 0: no such database
    limit,          \* MultiXactState->oldestMultiXactId
    segments,       \* the segments that are there
    pc, my          \* where a worker stands, and its local variables

vars == <<next, oldest, row, limit, segments, pc, my>>

Segment(x) == x \div PerSegment
Present == {d \in Databases : row[d] # 0}
Older(x, y) == IF Precedes(x, y) THEN x ELSE y

-----------------------------------------------------------------------------
(* A vacuum, and its truncation. *)

NotWorking == [new |-> 0, todo |-> {}, message |-> FALSE]
Goto(w, label) == pc' = [pc EXCEPT ![w] = label]

Freeze(w) ==
    /\ pc[w] = "idle"
    /\ Goto(w, "frozen")
    /\ oldest' = [oldest EXCEPT ![DbOf[w]] = next]
    /\ my' = [my EXCEPT ![w].new = next]
    /\ UNCHANGED <<next, row, limit, segments>>

Raised(w) == my[w].new
Raise(w) ==
    /\ pc[w] = "frozen"
    /\ Goto(w, "enter")
    /\ row' = [row EXCEPT ![DbOf[w]] = Raised(w)]
    /\ UNCHANGED <<next, oldest, limit, segments, my>>

(* WrapLimitsVacuumLock, and the snapshot. *)
Locked == \E w \in Workers : pc[w] \in {"scan", "truncate", "limit"}
ToScan(w) == Present
Enter(w) ==
    /\ pc[w] = "enter" /\ ~Locked
    /\ Goto(w, "scan")
    /\ my' = [my EXCEPT ![w].todo = ToScan(w), ![w].message = FALSE]
    /\ UNCHANGED <<next, oldest, row, limit, segments>>

(* A row of pg_database, read as it is now. *)
Scan(w) ==
    /\ pc[w] = "scan"
    /\ \E d \in my[w].todo :
           my' = [my EXCEPT ![w].new = Older(row[d], @), ![w].todo = @ \ {d}]
    /\ UNCHANGED <<next, oldest, row, limit, segments, pc>>
EndScan(w) ==
    /\ pc[w] = "scan" /\ my[w].todo = {}
    /\ Goto(w, "truncate")
    /\ UNCHANGED <<next, oldest, row, limit, segments, my>>

(* TruncateMultiXact: the segment of the last id before the new limit stays*)
(* and so does one that lies behind no more than a part of it: the half of *)
(* the ring ends within a segment (MultiXactOffsetPagePrecedes).           *)
Behind(x, y) == SignedDifference(x, y) < 0
SegmentPrecedes(s, t) ==
    /\ Behind(s * PerSegment, t * PerSegment)
    /\ Behind(s * PerSegment, t * PerSegment + PerSegment - 1)
Removable(x) == {s \in segments : SegmentPrecedes(s, Segment(Retreat(x)))}
Truncate(w) ==
    /\ pc[w] = "truncate"
    /\ Goto(w, "limit")
    /\ IF Precedes(limit, my[w].new)
       THEN limit' = my[w].new /\ segments' = segments \ Removable(my[w].new)
       ELSE UNCHANGED <<limit, segments>>
    /\ UNCHANGED <<next, oldest, row, my>>

(* SetMultiXactIdLimit: it does not look at the old value. *)
SetLimit(w) ==
    /\ pc[w] = "limit"
    /\ Goto(w, "done")
    /\ limit' = my[w].new
    /\ my' = [my EXCEPT ![w] = NotWorking]
    /\ UNCHANGED <<next, oldest, row, segments>>

-----------------------------------------------------------------------------
(* A MultiXactId is assigned: any table may get it.  None is assigned half *)
(* a ring or more after the limit.                                         *)
NextMulti == Advance(next)
Assign ==
    /\ Precedes(limit, Advance(NextMulti))
    /\ next' = NextMulti
    /\ segments' = segments \cup {Segment(NextMulti)}
    /\ UNCHANGED <<oldest, row, limit, pc, my>>

(* CREATE DATABASE: nobody is in the template. *)
InTemplate == {w \in Workers : DbOf[w] = Template /\ pc[w] \notin {"idle", "done"}}
Waits == InTemplate # {}
Copy ==
    /\ MayCopy /\ row[NewDatabase] = 0 /\ ~Waits
    /\ oldest' = [oldest EXCEPT ![NewDatabase] = oldest[Template]]
    /\ row' = [row EXCEPT ![NewDatabase] = row[Template]]
    /\ my' = [w \in Workers |-> [my[w] EXCEPT !.message = TRUE]]
    /\ UNCHANGED <<next, limit, segments, pc>>

-----------------------------------------------------------------------------
Init ==
    /\ next = First
    /\ oldest = [d \in Databases |-> IF MayCopy /\ d = NewDatabase THEN 0 ELSE Retreat(First)]
    /\ row = oldest
    /\ limit = Retreat(First)
    /\ segments = {Segment(Retreat(First)), Segment(First)}
    /\ pc = [w \in Workers |-> "idle"]
    /\ my = [w \in Workers |-> NotWorking]

Work == \E w \in Workers : Freeze(w) \/ Raise(w) \/ Enter(w) \/ Scan(w) \/ EndScan(w) \/ Truncate(w) \/ SetLimit(w)
Next == Work \/ Assign \/ Copy
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ next \in Normals /\ limit \in Normals
    /\ \A d \in Databases : oldest[d] \in Normals \cup {0} /\ row[d] \in Normals \cup {0}
    /\ \A d \in Databases : oldest[d] = 0 <=> row[d] = 0
    /\ segments \subseteq 0..((Size - 1) \div PerSegment) /\ Segment(next) \in segments
    /\ pc \in [Workers -> {"idle", "frozen", "enter", "scan", "truncate", "limit", "done"}]
    /\ my \in [Workers -> [new : Normals \cup {0}, todo : SUBSET Databases, message : BOOLEAN]]

(* pg_multixact knows every MultiXactId that may be in a table. *)
NothingNeededTruncated == \A d \in Present : Segment(oldest[d]) \in segments

(* None of them precedes the limit: a reader would be refused. *)
NobodyRefused == \A d \in Present : ~Precedes(oldest[d], limit)

(* datminmxid overtakes none. *)
RowBehindTables == \A d \in Present : ~Precedes(oldest[d], row[d])

CopiesAlone == [][row[NewDatabase] = 0 /\ row'[NewDatabase] # 0 => InTemplate = {}]_vars

LimitAdvances == [][~Precedes(limit', limit)]_vars
=============================================================================

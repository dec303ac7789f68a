\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE MCsnapbuild_ring --------------------------
(***************************************************************************)
(* Bounds for snapbuild_ring, the algorithms that a run may choose,        *)
(* broken ones for its mutants, and states that must be reachable.         *)
(***************************************************************************)
EXTENDS snapbuild_ring, MCserver

CONSTANTS
    MaxLag,         \* by how many records the builder may lie behind when the server moves on
    Burns,          \* how many XIDs may get used up at once
    MaxXid          \* nextXid goes no further

MCNat == {0} \cup Burns

Bounds ==
    /\ ServerBounds
    /\ nextXid' <= MaxXid
    /\ (serverVars' # serverVars => Len(wal) - read <= MaxLag)
    /\ (read' < read => creating)       \* one restart

-----------------------------------------------------------------------------
(* For long runs: only these records, in this order. *)
Planned(plan) == Len(wal') <= Len(plan) /\ \A i \in 1..Len(wal') : wal'[i].type \in plan[i]

Run    == {"running"}
Cid    == {"new_cid"}
Finish == {"commit", "abort"}

(* There are three transactions.  The first two change the catalog, then a *)
(* snapshot is serialised (4).  The third one begins after that, so the    *)
(* decoder can restart from the snapshot while it runs.  The first ends, a *)
(* record follows, the second ends, then the third.                        *)
ByPlan ==
    /\ Planned(<<Run, Cid, Cid, Run, Cid, Finish, Run, Finish, Finish, Run>>)
    /\ (Len(wal') >= 6 => wal'[6].xid = FirstXid)
    /\ (Len(wal') >= 8 => wal'[8].xid # Max(Xacts))
    /\ (top' # top => Len(wal) \in {1, 4})
    /\ (nextXid' # nextXid => top' # top \/ Len(wal) = 9)

(* A subtransaction changes the catalog.  A snapshot is serialised (3).    *)
(* Another transaction begins and changes the catalog; the first one may   *)
(* change it, too.  The first one commits while the other one runs.        *)
BySubPlan == Planned(<<Run, Cid, Run, Cid, Cid, {"commit"}, Run>>)

(* While an older transaction runs, one with a subtransaction commits, and *)
(* a record names it as running still.                                     *)
ByFullPlan == Planned(<<Run, Cid, Cid, {"commit"}, Run>>)

(* Two transactions change the catalog and commit, long after xmax moved. *)
ByStalePlan == Planned(<<Run, Run, Cid, Cid, {"commit"}, {"commit"}>>)

-----------------------------------------------------------------------------
(* Inserts that keep the array sorted, so that a snapshot need only copy it *)
CopyXip(xs) == xs
InsertByState(xs, batch) == InsertSortedAfterConsistent(AtLeast("CONSISTENT"), xs, batch)
XipByState(xs) == IF Strictly(xs) THEN xs ELSE Sorted(xs)
PurgeByState(xs, horizon) == IF Strictly(xs) THEN PurgeTwoBorders(xs, horizon) ELSE PurgeInPlace(xs, horizon)

-----------------------------------------------------------------------------
(* Before 16: a file is written when exactly the XIDs that the record      *)
(* names are running (MaxLag = 0).  These XIDs are kept when the file is   *)
(* restored.                                                               *)
RunningFile == [xmin |-> xmin, xmax |-> xmax, committed |-> committed,
                catchange |-> SortUnique(Xids({x \in Xacts : ~Finished(x)})), next |-> nextXid]

-----------------------------------------------------------------------------
(* Mutants *)
InsertInXidOrder(xs, batch) == Downcast(SortUnique({Now(x) : x \in Range(xs) \cup Range(batch)}))
InsertTwice(xs, batch) == xs \o batch \o batch
KeepAll(xs, horizon)   == xs
StillAll(whole)        == all_transactions
MarkHere(xids) ==
    /\ in_progress' = [x \in DOMAIN in_progress \cup xids |-> IF x \in DOMAIN in_progress THEN in_progress[x] ELSE read']
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>
NextNumber(f) == f + 1
InsertFulls(xs, batch) == xs \o [i \in 1..Len(batch) |-> Now(batch[i])]
AtAsNormal(x, next)    == Widen(IF x = Invalid THEN FirstNormal ELSE x, next)
UnlessKnown(x, r) ==
    x \in DOMAIN in_progress \/ (XidOf(r.xid) \notin DOMAIN in_progress /\ ByInitialRunning(x, r))
XidOrderFile == [xmin |-> xmin, xmax |-> xmax, committed |-> committed,
                 catchange |-> Downcast(SortUnique({Now(x) : x \in DOMAIN in_progress})), next |-> nextXid]

-----------------------------------------------------------------------------
(* States that must be reachable *)
AcrossTheWrap(S) == \E x, y \in S : x < y /\ Precedes(y, x)
NeverBothArrays      == ~(state = "CONSISTENT" /\ committed # <<>> /\ catchange # <<>>)
NeverSnapshotAcross  == snapshot = None \/ ~AcrossTheWrap(Range(snapshot.xip))
NeverCatchangeAcross == ~AcrossTheWrap(Range(catchange))
Future(x)            == x # Invalid /\ Precedes(XidOf(nextXid), x)
NeverCommittedBehind == ~\E x \in Range(committed) : Future(x)
NeverXmaxBehind      == ~Future(xmax)
NeverSnapshotBehind  == snapshot = None \/ ~Future(snapshot.xmin)
NeverFileBehind      == ~\E lsn \in DOMAIN disk : Future(disk[lsn].xmin)
NeverRoundTheRing    == nextXid - FirstXid <= Half
=============================================================================

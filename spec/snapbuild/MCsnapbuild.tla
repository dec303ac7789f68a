\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCsnapbuild -----------------------------
(***************************************************************************)
(* Bounds for snapbuild, broken definitions for its mutants, and states    *)
(* that must be reachable.  Burn is left out: without a ring it only       *)
(* renames XIDs.                                                           *)
(***************************************************************************)
EXTENDS snapbuild, MCserver

CONSTANTS
    MaxLag          \* by how many records the builder may lie behind when the server moves on

MCNat == {0}

Bounds ==
    /\ ServerBounds
    /\ (serverVars' # serverVars => Len(wal) - read <= MaxLag)
    /\ (read' < read => creating)       \* one restart

-----------------------------------------------------------------------------
(* Mutants *)
KeepNotOldest(S, horizon) == {x \in S : x > horizon}
KeepAll(S, horizon)       == S
KeepNobody(S, horizon)    == {Invalid}
WithoutCatchange == [xmin |-> xmin, xmax |-> xmax, committed |-> committed, catchange |-> {}]
XminIsXmax(xmn, xmx, xip) == [xmin |-> Max({xmn, xmx}), xmax |-> xmx, xip |-> xip]
RestoresAlways            == TRUE
NewestIsOldest            == nextXid
GoesBack                  == IF Len(wal) % 2 = 1 THEN nextXid - 1 ELSE FirstXid

UnwantedOrNewest     == {lsn \in DOMAIN disk : lsn <= RestartLsn}
NewestFile           == restart_point
AbortAlone(x) ==
    /\ status[x] = "running"
    /\ status' = [status EXCEPT ![x] = "aborted"]
    /\ wal' = Append(wal, [type |-> "abort", xid |-> x, subs |-> {}])
    /\ UNCHANGED <<nextXid, top, changed>>
ForgetTopAlone(r) ==
    /\ in_progress' = Without(in_progress, {r.xid})
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>
MarkHere(xids) ==
    /\ in_progress' = [x \in DOMAIN in_progress \cup xids |-> IF x \in DOMAIN in_progress THEN in_progress[x] ELSE read']
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>
OfAnyRank(x) == TRUE

(* Upstream *)
TopTooOld(r) == r.xid < next_phase_at
TopTracked(r, tracked) == all_transactions /\ tracked # {}

(* Upstream's pg_replication_slot_advance reads the WAL in fast-forward mode: it hands out no snapshot, writes files all the  *)
(* same, and passes over the NEW_CID records.  A change of a table with user_catalog_table sends no invalidations, so nothing *)
(* else marks its transaction.  Here a slot is advanced as soon as it is there, and read after the restart.                   *)
Forwards == creating /\ state = "CONSISTENT"
NewCidPassedOver(r) ==
    IF Forwards THEN UNCHANGED <<in_progress, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange,
                                 snapshot, restart_point, disk>>
    ELSE Mark({r.xid, r.top})
(* The snapshots of who reads *)
ReadersExact == ~creating => CachedSnapshotExact /\ NextSnapshotExact

\* 19 may let ProcArrayLock go before it writes the record (logicalctl: Holds): the last transaction that got an XID is
\* listed, and has ended since.  XidGenLock is held, so nobody gets an XID meanwhile.
LastEnded == {x \in Xacts : x = nextXid - 1 /\ Finished(x)}
LogsLate ==
    /\ \E late \in {{}, LastEnded} :
           wal' = Append(wal, [type |-> "running", oldest |-> Min({x \in Xacts : ~Finished(x)} \cup late \cup {nextXid}),
                               next |-> nextXid])
    /\ UNCHANGED <<nextXid, top, status, changed>>

-----------------------------------------------------------------------------
(* As upstream does it, where the model departs on purpose. *)
\* Each change of the catalog is recorded, not only a transaction's first one.
ChangesAgain(x) ==
    /\ status[x] = "running"
    /\ changed' = changed \cup {x}
    /\ wal' = Append(wal, [type |-> "new_cid", xid |-> x, top |-> top[x]])
    /\ UNCHANGED <<nextXid, top, status>>
\* Each abort is recorded.
AbortsRecorded(x) ==
    /\ status[x] = "running"
    /\ LET tree == IF IsTop(x) THEN {y \in Tree(x) : status[y] = "running"} ELSE {x}
       IN  /\ status' = [y \in Xacts |-> IF y \in tree THEN "aborted" ELSE status[y]]
           /\ wal' = Append(wal, [type |-> "abort", xid |-> x, subs |-> tree \ {x}])
    /\ UNCHANGED <<nextXid, top, changed>>
\* A commit may have invalidations though it changed no catalog.
CommitsAnyhow(t) ==
    /\ IsTop(t) /\ status[t] = "running"
    /\ LET tree == {x \in Tree(t) : status[x] = "running"}
       IN  /\ \E invals \in {TRUE, tree \cap changed # {}} :
                  wal' = Append(wal, [type |-> "commit", xid |-> t, subs |-> tree \ {t}, invals |-> invals])
           /\ status' = [x \in Xacts |-> IF x \in tree THEN "committing" ELSE status[x]]
    /\ UNCHANGED <<nextXid, top, changed>>
\* A record is of no use to a slot that is created if its oldest XID precedes the horizon that the slot demands. It moves
\* xmin, and purges, all the same.
ReadRunningFrom(r) ==
    IF creating /\ ~AtLeast("CONSISTENT") /\ r.oldest < FirstXid + 1
    THEN MovePurge(r.oldest) /\ UNCHANGED <<in_progress, all_transactions, state, xmax, next_phase_at, snapshot,
                                           restart_point, disk>>
    ELSE FindSnapshot(r.oldest, r.next, LAMBDA x, y : x <= y, MovePurge, File, Restored, Snapshot)

-----------------------------------------------------------------------------
(* States that must be reachable: each of these must fail. *)
NeverSubs          == \A i \in 1..Len(wal) : wal[i].type = "commit" => wal[i].subs \cap changed = {}
NeverAborts        == \A i \in 1..Len(wal) : wal[i].type = "abort" => wal[i].subs = {}
NeverUnwanted      == DOMAIN disk \cap Unwanted = {}
NeverBothArrays    == ~(state = "CONSISTENT" /\ committed # {} /\ catchange # {})
NeverRestored      == ~(~creating /\ state = "CONSISTENT" /\ read = Len(wal) /\ committed # {})
NeverFileAtHand    == ~(creating /\ ~full /\ state # "CONSISTENT" /\ read + 1 \in DOMAIN disk
                        /\ wal[read + 1].oldest # wal[read + 1].next)
NeverXmaxBelowXmin == ~(state = "CONSISTENT" /\ xmax < xmin)
NeverLateCommit    == ~(state = "CONSISTENT" /\ read > 0 /\ wal[read].type = "running"
                        /\ \E x \in CommittedBy(read) : x >= wal[read].oldest)
NeverByPhases      == [][~(state = "FULL_SNAPSHOT" /\ state' = "CONSISTENT" /\ wal[read'].oldest # wal[read'].next)]_vars
NeverFullExport    == ~(full /\ state = "FULL_SNAPSHOT" /\ all_transactions /\ committed # {})
NeverTaken         == [][~(snapshot = None /\ snapshot' # None /\ read' = read)]_vars
=============================================================================

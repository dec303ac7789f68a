\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE builder ------------------------------
(***************************************************************************)
(* The snapshot builder's state machine: what snapbuild (sets of unbounded *)
(* XIDs) and snapbuild_ring (arrays of XIDs on a ring) have in common.     *)
(* They extend this module and define what an XID, an order, a purge, a    *)
(* file and a snapshot are.  Each defines for itself what a commit adds.   *)
(*                                                                         *)
(* An error here is in both, and the refinement of one by the other does   *)
(* not show it.  The invariants of snapbuild must show it: see its         *)
(* RestartFileKept, RestartsBeforeChanges, ForgetsEnded.                   *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c,                  *)
(* SnapBuildCommitTxn, SnapBuildProcessRunningXacts, SnapBuildFindSnapshot,*)
(* SnapBuildProcessChange, SnapBuildProcessNewCid, SnapBuildSerialize,     *)
(* SnapBuildRestore, SnapBuildXidHasCatalogChanges,                        *)
(* SnapBuildInitialSnapshot, SnapBuildBuildSnapshot,                       *)
(* SnapBuildDistributeNewCatalogSnapshot,                                  *)
(* SnapBuildDistributeSnapshotAndInval, CheckPointSnapBuild;               *)
(* src/backend/replication/logical/reorderbuffer.c,                        *)
(* ReorderBufferGetOldestTXN.                                              *)
(***************************************************************************)
EXTENDS server

CONSTANTS
    FullSnapshots,  \* the values that building_full_snapshot may have at first
    GateAt          \* the state from which on commits and catalog changes are read

VARIABLES
    read,               \* LSN of the last record read
    state,              \* how far the builder is; from CONSISTENT on it decodes
    xmin, xmax,         \* a snapshot built now asks clog about what precedes xmin, and takes as running all from xmax
                        \* on; Invalid at first
    next_phase_at,      \* all that precede it must be over before the state changes
    committed,          \* committed.xip: of the others these have committed
    all_transactions,   \* committed.includes_all_transactions
    catchange,          \* catchange.xip
    snapshot,           \* cached; None when there is none
    in_progress,        \* the reorder buffer: XIDs known to have changed the catalog, each with
                        \* the LSN from which it can be decoded again (0: there is none)
    restart_point,      \* LSN of the newest serialised or restored snapshot, 0 when there is none
    creating,           \* the slot is being created, and must not restore
    full,               \* building_full_snapshot
    disk                \* serialised snapshots, by LSN

builderVars == <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                 in_progress, restart_point, creating, full, disk>>
vars == <<serverVars, builderVars>>

None == [none |-> TRUE]

Rank(s) == CASE s = "START" -> 0 [] s = "BUILDING_SNAPSHOT" -> 1 [] s = "FULL_SNAPSHOT" -> 2 [] s = "CONSISTENT" -> 3
AtLeast(s) == Rank(state) >= Rank(s)
Gated      == Rank(state) < Rank(GateAt)

(* empty is a set or an array. *)
BuilderInit(empty) ==
    /\ read = 0
    /\ state = "START"
    /\ xmin = Invalid /\ xmax = Invalid /\ next_phase_at = Invalid
    /\ committed = empty /\ all_transactions = TRUE
    /\ catchange = empty
    /\ snapshot = None
    /\ in_progress = <<>>
    /\ restart_point = 0
    /\ creating = TRUE
    /\ full \in FullSnapshots
    /\ disk = <<>>

-----------------------------------------------------------------------------
(* The record after the last one read *)
Read(type, Handle(_)) ==
    /\ read < Len(wal)
    /\ wal[read + 1].type = type
    /\ read' = read + 1
    /\ Handle(wal[read'])
    /\ UNCHANGED <<creating, full, serverVars>>

Without(f, S) == [x \in DOMAIN f \ S |-> f[x]]

(* SnapBuildProcessNewCid, which marks these XIDs *)
Mark(xids) ==
    /\ in_progress' =
         IF Gated THEN in_progress
         ELSE [x \in DOMAIN in_progress \cup xids |-> IF x \in DOMAIN in_progress THEN in_progress[x] ELSE restart_point]
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>

(* An abort of these XIDs *)
Forget(xids) ==
    /\ in_progress' = Without(in_progress, xids)
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>

(* A slot that is being created must see all transactions from their begin *)
(* and so must not restore, though another slot has left files.            *)
MayRestore == ~full /\ ~creating

(* SnapBuildProcessRunningXacts with SnapBuildFindSnapshot and             *)
(* SnapBuildSerialize, for a record that names these XIDs.  Passed(x, y):  *)
(* x = y or x precedes y.  MovePurge(x) moves xmin to x, and purges.       *)
FindSnapshot(oldest, next, Passed(_, _), MovePurge(_), file, Restored(_), Snapshot(_, _, _)) ==
    /\ UNCHANGED <<in_progress, all_transactions>>
    /\ CASE AtLeast("CONSISTENT") ->
              /\ disk' = IF read' \in DOMAIN disk THEN disk ELSE With(disk, read', file)
              /\ restart_point' = read'
              /\ MovePurge(oldest)
              /\ UNCHANGED <<state, xmax, next_phase_at, snapshot>>
         [] ~AtLeast("CONSISTENT") /\ oldest = next ->
              /\ state' = "CONSISTENT"
              /\ next_phase_at' = Invalid
              /\ xmin' = next
              /\ xmax' = next
              /\ UNCHANGED <<committed, catchange, snapshot, restart_point, disk>>
         [] ~AtLeast("CONSISTENT") /\ oldest # next /\ MayRestore /\ read' \in DOMAIN disk ->
              /\ state' = "CONSISTENT"
              /\ next_phase_at' = Invalid
              /\ xmin' = disk[read'].xmin
              /\ xmax' = disk[read'].xmax
              /\ committed' = disk[read'].committed
              /\ catchange' = Restored(disk[read'])
              /\ snapshot' = Snapshot(xmin', xmax', committed')
              /\ restart_point' = read'
              /\ UNCHANGED disk
         [] OTHER ->
              /\ CASE state = "START" ->
                        /\ state' = "BUILDING_SNAPSHOT"
                        /\ next_phase_at' = next
                        /\ xmax' = next
                   [] state = "BUILDING_SNAPSHOT" /\ Passed(next_phase_at, oldest) ->
                        /\ state' = "FULL_SNAPSHOT"
                        /\ next_phase_at' = next
                        /\ UNCHANGED xmax
                   [] state = "FULL_SNAPSHOT" /\ Passed(next_phase_at, oldest) ->
                        /\ state' = "CONSISTENT"
                        /\ next_phase_at' = Invalid
                        /\ UNCHANGED xmax
                   [] OTHER -> UNCHANGED <<state, next_phase_at, xmax>>
              /\ MovePurge(oldest)
              /\ UNCHANGED <<snapshot, restart_point, disk>>

-----------------------------------------------------------------------------
(* A change to decode needs a snapshot, and there is none: SnapBuildProcessChange *)
TakeSnapshot(new) ==
    /\ AtLeast("FULL_SNAPSHOT")
    /\ snapshot = None
    /\ snapshot' = new
    /\ UNCHANGED <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, in_progress,
                   restart_point, creating, full, disk, serverVars>>

(* Where decoding can start again: before the oldest transaction in        *)
(* progress began (ReorderBufferGetOldestTXN), else at the newest          *)
(* serialised snapshot; 0 if there is none.                                *)
RestartLsn ==
    IF DOMAIN in_progress = {} THEN restart_point ELSE Min({in_progress[x] : x \in DOMAIN in_progress})

(* The decoder ends.  Another one begins, from what the slot has stored. *)
StartAgain(lsn, empty) ==
    /\ state = "CONSISTENT"
    /\ lsn > 0
    /\ read' = lsn - 1
    /\ state' = "START"
    /\ xmin' = Invalid /\ xmax' = Invalid /\ next_phase_at' = Invalid
    /\ committed' = empty /\ all_transactions' = TRUE
    /\ catchange' = empty
    /\ snapshot' = None
    /\ in_progress' = <<>>
    /\ restart_point' = 0
    /\ creating' = FALSE
    /\ full' = FALSE
    /\ UNCHANGED <<disk, serverVars>>

(* Another slot is created, and its builder reads from lsn on what this    *)
(* one has read already.  It finds the files that this one has written.    *)
CreateSlot(lsn, empty) ==
    /\ state = "CONSISTENT"
    /\ lsn < read
    /\ read' = lsn
    /\ state' = "START"
    /\ xmin' = Invalid /\ xmax' = Invalid /\ next_phase_at' = Invalid
    /\ committed' = empty /\ all_transactions' = TRUE
    /\ catchange' = empty
    /\ snapshot' = None
    /\ in_progress' = <<>>
    /\ restart_point' = 0
    /\ creating' = TRUE
    /\ full' \in FullSnapshots
    /\ UNCHANGED <<disk, serverVars>>

(* CheckPointSnapBuild: files that no restart can want are removed. *)
Unwanted == {lsn \in DOMAIN disk : lsn < RestartLsn}

CheckPoint ==
    /\ Unwanted # {}
    /\ disk' = Without(disk, Unwanted)
    /\ UNCHANGED <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   in_progress, restart_point, creating, full, serverVars>>

-----------------------------------------------------------------------------
(* What an XID, an array and a snapshot are is said by the modules that    *)
(* extend this one, in their TypeOK.                                       *)
RunningRecords == {lsn \in 1..Len(wal) : wal[lsn].type = "running"}

BuilderTypeOK ==
    /\ read \in 0..Len(wal)
    /\ state \in {"START", "BUILDING_SNAPSHOT", "FULL_SNAPSHOT", "CONSISTENT"}
    /\ {all_transactions, creating, full} \subseteq BOOLEAN
    /\ state = "START" <=> xmin = Invalid
    /\ next_phase_at # Invalid <=> state \in {"BUILDING_SNAPSHOT", "FULL_SNAPSHOT"}
    /\ snapshot # None => AtLeast("FULL_SNAPSHOT") /\ DOMAIN snapshot = {"xmin", "xmax", "xip"}
    /\ restart_point \in {0} \cup RunningRecords /\ restart_point <= read
    /\ \A x \in DOMAIN in_progress : in_progress[x] \in {0} \cup RunningRecords
    /\ DOMAIN disk \subseteq RunningRecords

=============================================================================

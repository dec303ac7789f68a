\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE snapbuild ------------------------------
(***************************************************************************)
(* The snapshot builder of logical decoding, on XIDs that do not wrap: what*)
(* any implementation may do.  It reads the WAL record by record, keeps    *)
(* the committed transactions that changed the catalog, and builds         *)
(* snapshots for decoding.  A snapshot must see exactly the catalog-       *)
(* changing transactions whose COMMIT lies before its LSN, also if it is   *)
(* used much later, when clog knows more.                                  *)
(*                                                                         *)
(* What refines what                                                       *)
(*   builder                 the state machine, extended by both           *)
(*   snapbuild               sets of unbounded XIDs (this module)          *)
(*     <- snapbuild_ring     arrays of XIDs on a ring, purge and insert    *)
(*                           by a named algorithm                          *)
(*          uses xid_arrays  the algorithms, as functions on sequences     *)
(*          TraceSnapbuild compares it with recordings of real servers     *)
(*   known_assigned          KnownAssignedXids, with readers (on its own)  *)
(*   standby, slot           how a standby begins, and a slot's positions    *)
(*                           (each on its own)                             *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   START, BUILDING_SNAPSHOT, FULL_SNAPSHOT, CONSISTENT, next_phase_at;   *)
(*   the jump to CONSISTENT when nothing runs; full snapshots; the XIDs    *)
(*   that a commit adds; purge; serialisation before the purge; restart of *)
(*   the decoder at the slot's restart LSN, which reads the WAL again from *)
(*   there; restoring, with the transactions then in progress (catchange). *)
(* Departures from upstream, each with the run that has it as upstream     *)
(*   - Commits and changes count from BUILDING_SNAPSHOT on, upstream's     *)
(*     from FULL_SNAPSHOT: MCsnapbuild_bug_building_gate fails (found by   *)
(*     it, below).                                                         *)
(*   - A commit of BUILDING_SNAPSHOT is skipped if the whole transaction   *)
(*     is too old, upstream's if its top-level XID is:                     *)
(*     MCsnapbuild_bug_building_subxacts fails (below).                    *)
(*   - includes_all_transactions ends with any part that is not tracked:   *)
(*     MCsnapbuild_bug_full_subxacts fails, and does no harm (below).      *)
(*   - server: a catalog change is recorded once, an abort only if there   *)
(*     is something to forget: MCsnapbuild_small_changes_again and         *)
(*     MCsnapbuild_small_aborts_recorded hold.                             *)
(*   - server: COMMIT has invalidations if and only if the catalog was     *)
(*     changed. More of them: MCsnapbuild_small_commits_anyhow holds.      *)
(*     None, as of a user_catalog_table: MCsnapbuild_bug_fast_forward      *)
(*     fails (upstream's).                                                 *)
(*   - A slot demands no horizon at its creation; upstream skips records   *)
(*     before it, and moves xmin: MCsnapbuild_small_horizon holds, but     *)
(*     that xmin is Invalid at START.                                      *)
(*   - One slot: with several MCsnapbuild_small_slots holds. Its restart   *)
(*     LSN is used as soon as it is known: slot has what delays that.      *)
(*   - snapbuild_ring: what is held lies in half a ring, by Held:          *)
(*     MCsnapbuild_ring_bug_stale_* and _jump fail (its header).           *)
(*   - slot: no crash: MCslot_small_crash holds, and MCslot_bug_ca307d5c   *)
(*     fails (mended in 18, and otherwise in the branches before).         *)
(*   - slot: VACUUM removes at once what it may; no subtransactions. Not   *)
(*     tried: upstream removes later, and a tree has one first change.     *)
(*   - standby: records of running transactions are frequent:              *)
(*     MCstandby_mutant_seldom fails. A server writes one every 15 s.      *)
(*   - standby: the array has no end. With upstream's size                 *)
(*     MCstandby_bug_array_size fails: a standby that begins while         *)
(*     transactions with 64 subtransactions run may know twice as many,    *)
(*     and ends with "too many KnownAssignedXids" (seen on 15, 17 and 18). *)
(*   - standby: a record is replayed when it is written. Not tried: what   *)
(*     the standby knows comes from the records alone. A crash of the      *)
(*     primary assigns no XID again: such an XID stands in no record.      *)
(*   - known_assigned: a transaction is one XID: with two                  *)
(*     MCknown_assigned_small_trees holds. Memory is sequentially          *)
(*     consistent: Litmus has C11's.                                       *)
(*   - The cached snapshot alone is a variable. Not tried: one that was    *)
(*     handed out never changes, and what clog says of XIDs before its     *)
(*     xmin cannot (XminFinished, SnapshotXminFinished).                   *)
(*   - One level of subtransactions, and a transaction's own changes are   *)
(*     left out. Not tried: records name a tree's XIDs whatever its depth; *)
(*     command ids are no XIDs.                                            *)
(*                                                                         *)
(* How to break it: each run MCsnapbuild_mutant_* replaces one definition. *)
(* For example let Keep say x > xmin: the oldest running transaction, once *)
(* committed, is purged at the next record and no later snapshot sees it.  *)
(*                                                                         *)
(* Found by it                                                             *)
(*   - GateAt = "FULL_SNAPSHOT" is what upstream's decode.c does           *)
(*     (xact_decode and heap2_decode return before FULL_SNAPSHOT), though  *)
(*     SnapBuildCommitTxn is written to track commits of BUILDING_SNAPSHOT.*)
(*     A transaction that begins and commits between the two states, while *)
(*     an older one runs on, is then unknown to snapshots of FULL_SNAPSHOT.*)
(*     A transaction decoded after CONSISTENT can hold such a snapshot     *)
(*     (MCsnapbuild_bug_building_gate; reported on pgsql-hackers as        *)
(*     "Historic snapshot doesn't track txns committed in BUILDING_SNAPSHOT*)
(*     state").                                                            *)
(*   - Without that gate, SnapBuildCommitTxn's own rule would lose the     *)
(*     same. It skips a commit of BUILDING_SNAPSHOT when the top-level XID *)
(*     precedes next_phase_at. But a subtransaction may have got its XID   *)
(*     later, and then does not precede the xmin of FULL_SNAPSHOT          *)
(*     (MCsnapbuild_bug_building_subxacts). Here the whole transaction must*)
(*     be too old (TooOldToTrack). From CONSISTENT on, a newly built       *)
(*     snapshot is exact either way: MCsnapbuild_small_upstream.           *)
(*   - includes_all_transactions stays set upstream when a commit that     *)
(*     changed the catalog, after CONSISTENT, has a subtransaction that did*)
(*     not and so is not tracked (MCsnapbuild_bug_full_subxacts). It does  *)
(*     no harm, as a snapshot is exported at once when CONSISTENT is       *)
(*     reached (FullSnapshotAtOnce).                                       *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c,                  *)
(* SnapBuildCommitTxn, SnapBuildProcessRunningXacts;                       *)
(* src/backend/replication/logical/decode.c, heap2_decode, xact_decode;    *)
(* src/backend/access/heap/heapam_visibility.c,                            *)
(* HeapTupleSatisfiesHistoricMVCC.                                         *)
(***************************************************************************)
EXTENDS builder

-----------------------------------------------------------------------------
(* Definitions that a mutant replaces *)

(* Purge: the XIDs that stay *)
Keep(S, horizon) == {x \in S : x >= horizon}

(* Does the builder know, at xid's commit record, that xid changed the catalog? *)
HasCatalogChanges(x, invals) == x \in DOMAIN in_progress \/ (invals /\ x \in catchange)

(* Is it too old for a snapshot of FULL_SNAPSHOT to need it? *)
TooOldToTrack(r) == \A x \in {r.xid} \cup r.subs : x < next_phase_at

(* The subtransactions that are tracked with a commit, and whether the top-level one is *)
TrackedSubs(subs, invals, forced) == IF forced THEN subs ELSE {s \in subs : HasCatalogChanges(s, invals)}

(* Does committed still hold all transactions, and not just catalog-changing ones? *)
StillAll(r, tracked) == all_transactions /\ {r.xid} \cup r.subs \subseteq tracked

(* The snapshot that would be built now *)
Snapshot(xmn, xmx, xip) == [xmin |-> xmn, xmax |-> xmx, xip |-> xip]

-----------------------------------------------------------------------------
(* HeapTupleSatisfiesHistoricMVCC asks this of an XID *)
Sees(s, x) ==
    IF x < s.xmin THEN DidCommit(x)
    ELSE IF x >= s.xmax THEN FALSE
    ELSE x \in s.xip

-----------------------------------------------------------------------------
Init == ServerInit /\ BuilderInit({})

(* The top-level transaction is marked too. *)
ReadNewCid(r) == Mark({r.xid, r.top})

ReadAbort(r) == Forget({r.xid} \cup r.subs)

(* SnapBuildCommitTxn *)
ReadCommit(r) ==
    /\ in_progress' = Without(in_progress, {r.xid} \cup r.subs)
    /\ IF \/ Gated
          \/ state = "START"
          \/ state = "BUILDING_SNAPSHOT" /\ TooOldToTrack(r)
       THEN UNCHANGED <<committed, all_transactions, xmax, snapshot>>
       ELSE LET forced   == full /\ ~AtLeast("CONSISTENT")
                subs     == TrackedSubs(r.subs, r.invals, forced)
                changer  == \E x \in {r.xid} \cup r.subs : HasCatalogChanges(x, r.invals)
                tracked  == IF forced \/ changer THEN subs \cup {r.xid} ELSE {}
            IN  /\ committed' = committed \cup tracked
                /\ all_transactions' = StillAll(r, tracked)
                /\ xmax' = IF tracked # {} /\ Max(tracked) >= xmax THEN FullAdvance(Max(tracked)) ELSE xmax
                /\ snapshot' = IF changer /\ AtLeast("FULL_SNAPSHOT")
                               THEN Snapshot(xmin, xmax', committed') ELSE snapshot
    /\ UNCHANGED <<state, xmin, next_phase_at, catchange, restart_point, disk>>

(* The end of SnapBuildProcessRunningXacts: move xmin, then purge *)
MovePurge(oldest) ==
    /\ xmin' = oldest
    /\ committed' = Keep(committed, oldest)
    /\ catchange' = Keep(catchange, oldest)

File == [xmin |-> xmin, xmax |-> xmax, committed |-> committed, catchange |-> DOMAIN in_progress]

Restored(file) == file.catchange

ReadRunning(r) == FindSnapshot(r.oldest, r.next, LAMBDA x, y : x <= y, MovePurge, File, Restored, Snapshot)

Change == TakeSnapshot(Snapshot(xmin, xmax, committed))

Restart == StartAgain(RestartLsn, {})

Server ==
    \/ Begin
    \/ \E t \in Xacts : BeginSub(t) \/ Commit(t) \/ EndCommit(t) \/ Abort(t) \/ ChangeCatalog(t)
    \/ \E n \in Nat \ {0} : Burn(n)
    \/ LogRunning

Builder ==
    \/ Read("new_cid", ReadNewCid)
    \/ Read("commit", ReadCommit)
    \/ Read("abort", ReadAbort)
    \/ Read("running", ReadRunning)
    \/ Change
    \/ Restart
    \/ CheckPoint

Next == (Server /\ UNCHANGED builderVars) \/ Builder

Spec == Init /\ [][Next]_vars

(* The same with slots that are created while there are files.  The builder*)
(* is that of the newest slot; the files of the others are never removed.  *)
AnotherSlot == \E lsn \in 0..Len(wal) : CreateSlot(lsn, {})

SpecOfSlots == Init /\ [][(Next /\ ~CheckPoint) \/ AnotherSlot]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ BuilderTypeOK
    /\ {xmin, xmax, next_phase_at} \subseteq {Invalid} \cup FirstXid..nextXid
    /\ committed \subseteq Xacts /\ catchange \subseteq Xacts /\ DOMAIN in_progress \subseteq Xacts
    /\ snapshot # None => {snapshot.xmin, snapshot.xmax} \subseteq FirstXid..nextXid /\ snapshot.xip \subseteq Xacts
    /\ \A lsn \in DOMAIN disk :
          /\ DOMAIN disk[lsn] = {"xmin", "xmax", "committed", "catchange"}
          /\ {disk[lsn].xmin, disk[lsn].xmax} \subseteq FirstXid..nextXid
          /\ disk[lsn].committed \subseteq Xacts /\ disk[lsn].catchange \subseteq Xacts

(* The cached snapshot, and any that would be built now, sees exactly the  *)
(* catalog-changing transactions whose COMMIT has been read.               *)
Exact(s, lsn) == \A x \in changed : Sees(s, x) <=> x \in CommittedBy(lsn)

(* The cached snapshot shows exactly the transactions that changed the catalog and whose COMMIT has been read. *)
CachedSnapshotExact == snapshot # None => Exact(snapshot, read)

(* A snapshot that is built now shows exactly the transactions that changed the catalog and whose COMMIT has been read. *)
NextSnapshotExact   == AtLeast("FULL_SNAPSHOT") => Exact(Snapshot(xmin, xmax, committed), read)

(* The property that upstream's rules guarantee *)
ConsistentSnapshotExact == AtLeast("CONSISTENT") => NextSnapshotExact

(* A full snapshot, which can be exported, sees exactly all committed transactions. *)
FullExactNow ==
    \A x \in Xacts : Sees(Snapshot(xmin, xmax, committed), x) <=> x \in CommittedBy(read)
FullSnapshotExact  == full /\ state = "CONSISTENT" /\ all_transactions => FullExactNow
FullSnapshotAtOnce == [][full /\ state # "CONSISTENT" /\ state' = "CONSISTENT" => FullExactNow']_vars

(* The reason why clog may be read, and why its answer on these XIDs cannot change. *)
XminFinished         == \A x \in Xacts : x < xmin => Finished(x)
SnapshotXminFinished == snapshot # None => \A x \in Xacts : x < snapshot.xmin => Finished(x)

ReadsRunning == read' = read + 1 /\ wal[read'].type = "running"
Restores     == ~AtLeast("CONSISTENT") /\ MayRestore /\ read' \in DOMAIN disk
Jumps        == ~AtLeast("CONSISTENT") /\ wal[read'].oldest = wal[read'].next

(* Purge changes no visibility answer: not of a snapshot with the new xmin *)
(* and so of no later one, as xmin only grows until the decoder restarts.  *)
PurgeHarmless ==
    [][ReadsRunning /\ ~Restores =>
          \A x \in Xacts : Sees(Snapshot(xmin', xmax', committed), x) = Sees(Snapshot(xmin', xmax', committed'), x)]_vars

(* Purge leaves no XID that precedes xmin.  (The jump does not purge.) *)
PurgeComplete ==
    [][ReadsRunning /\ ~Restores /\ ~Jumps => \A x \in committed' \cup catchange' : x >= xmin']_vars

(* Where decoding starts again there is a snapshot to restore, *)
RestartFileKept == state = "CONSISTENT" /\ RestartLsn > 0 => RestartLsn \in DOMAIN disk

(* and no change before it that is yet to be decoded: of a transaction     *)
(* that has not ended.  (After a restart, what had ended before it need not*)
(* be decoded again.)                                                      *)
EndRead(t) == \E i \in 1..read : wal[i].type \in {"commit", "abort"} /\ wal[i].xid = t
RestartsBeforeChanges ==
    creating /\ state = "CONSISTENT" =>
        \A i \in 1..read : wal[i].type = "new_cid" /\ ~EndRead(wal[i].top) => RestartLsn < i

(* The builder forgets a transaction when it has read its end. *)
ForgetsEnded == \A x \in DOMAIN in_progress : ~EndRead(x) /\ ~EndRead(top[x])

XminGrows == [][xmin' >= xmin \/ state' = "START"]_vars
=============================================================================

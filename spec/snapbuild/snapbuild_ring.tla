\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE snapbuild_ring ---------------------------
(***************************************************************************)
(* The snapshot builder as it is: arrays of XIDs on a ring (32 bits in     *)
(* PostgreSQL; Size is a constant here), upstream's comparisons, and purge *)
(* and insert by one of the algorithms of xid_arrays. It refines snapbuild *)
(* (Refines) as long as the XIDs it holds lie in half a ring.              *)
(*                                                                         *)
(* What is modelled beyond snapbuild                                       *)
(*   - committed.xip and catchange.xip as arrays, in the order in which the*)
(*     insert leaves them.                                                 *)
(*   - bsearch in a snapshot's xip and in catchange.xip. It is not reliable*)
(*     in an unsorted array.                                               *)
(*   - Many XIDs that are assigned while nothing of interest happens       *)
(*     (Burn), so that XIDs go round the ring.                             *)
(*                                                                         *)
(* The hypothesis                                                          *)
(*   The server assigns no XID that is half a ring or more from one that is*)
(*   still held (HalfRing). Running XIDs and the builder's xmin are held:  *)
(*   the slot's catalog_xmin protects them. The constant Held names what   *)
(*   else counts as held. The real server does not protect these:          *)
(*     "files": the xmin, and with "xmax" the xmax, of serialised          *)
(*       snapshots.                                                        *)
(*     "xmax": the builder's xmax. Without it the builder does not refine  *)
(*       snapbuild: an xmax older than half a ring counts as the future and*)
(*       is not moved (MCsnapbuild_ring_bug_stale_xmax). With one          *)
(*       transaction at a time every snapshot stays exact, and only        *)
(*       searches more (MCsnapbuild_ring_large_stale_xmax). But take two   *)
(*       transactions whose XIDs straddle the opposite of xmax, the younger*)
(*       committing first: the younger is then invisible                   *)
(*       (MCsnapbuild_ring_bug_stale_xmax_straddled).  So it needs commits *)
(*       on both sides of one exact point in 2^32, which is rare.          *)
(*     "snapshot": the cached snapshot's xmin. Without it a snapshot can   *)
(*       stay cached while more than half a ring of XIDs is assigned and no*)
(*       catalog changes. It then takes new XIDs to precede its xmin and   *)
(*       asks clog, which a decoder that lies behind must not do           *)
(*       (MCsnapbuild_ring_bug_stale_snapshot). Any ANALYZE prevents it, so*)
(*       it is unlikely.                                                   *)
(*     "committed": what the jump to CONSISTENT leaves in committed.xip.   *)
(*       The jump sets xmin past such XIDs and does not purge them. If half*)
(*       a ring of XIDs is assigned before the next running-xacts record,  *)
(*       they count as the future (MCsnapbuild_ring_bug_jump). A server    *)
(*       writes such a record every 15 s, so it is unlikely.               *)
(*                                                                         *)
(* Upstream's purge of catchange.xip (PurgeFrontScan) on the ring          *)
(*   Safe (no snapshot goes wrong): yes, MCsnapbuild_ring_small_front_scan.*)
(*   Complete: no, across the wrap MCsnapbuild_ring_bug_front_scan fails on*)
(*   Purged.                                                               *)
(*   The XIDs that stay are finished, so no reader looks for them. They go *)
(*   when xmin passes the XIDs from after the wrap. They stay if xmin      *)
(*   passes them in one step of nearly half a ring: then they are more than*)
(*   half a ring behind, count as the future, and stay until their numbers *)
(*   are assigned again (MCsnapbuild_ring_bug_front_scan_outlives; Held is *)
(*   empty there). A transaction with invalidations can then be taken for  *)
(*   one that changed the catalog, which adds an entry that no reader looks*)
(*   for. InitialRunningXacts of 15 (PurgeRawMinimum) is safe and          *)
(*   incomplete in the same way: MCsnapbuild_ring_small_raw_minimum,       *)
(*   MCsnapbuild_ring_bug_raw_minimum.                                     *)
(*                                                                         *)
(* How to break it: let Window be Half + 1                                 *)
(* (MCsnapbuild_ring_mutant_window), or purge by a single lower bound      *)
(* (MCsnapbuild_ring_mutant_lower_bound).                                  *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c,                  *)
(* SnapBuildCommitTxn, SnapBuildSerialize; src/backend/utils/adt/xid.c,    *)
(* xidComparator. As of 18.                                                *)
(***************************************************************************)
EXTENDS builder, xid_arrays

CONSTANTS
    Window,                     \* the XIDs held span less than this; Half is the hypothesis
    Held                        \* which of "xmax", "snapshot", "files", "committed" count as held

-----------------------------------------------------------------------------
(* The algorithms; a run may choose others. *)
Purge(xs, horizon)          == PurgeInPlace(xs, horizon)
PurgeCatchange(xs, horizon) == PurgeInPlace(xs, horizon)
Insert(xs, batch)           == InsertAppend(xs, batch)
Xip(xs)                     == Sorted(xs)

(* The new includes_all_transactions after a commit: whole if all of it is tracked *)
StaysAll(whole) == all_transactions /\ whole

-----------------------------------------------------------------------------
(* bsearch with xidComparator: right on a sorted array; on another one it may give any answer *)
RECURSIVE Bsearch(_, _, _, _)
Bsearch(x, xs, low, high) ==
    low < high /\
        LET middle == (low + high) \div 2
        IN  IF xs[middle] = x THEN TRUE
            ELSE IF xs[middle] < x THEN Bsearch(x, xs, middle + 1, high) ELSE Bsearch(x, xs, low, middle)

Found(x, xs) == Bsearch(x, xs, 1, Len(xs) + 1)

(* x is a FullTransactionId only so that the right one is looked up in clog. *)
Sees(s, x) ==
    IF Precedes(XidOf(x), s.xmin) THEN DidCommit(x)
    ELSE IF ~Precedes(XidOf(x), s.xmax) THEN FALSE
    ELSE Found(XidOf(x), s.xip)

Snapshot(xmn, xmx, xs) == [xmin |-> xmn, xmax |-> xmx, xip |-> Xip(xs)]

-----------------------------------------------------------------------------
Init == ServerInit /\ BuilderInit(<<>>)

Xids(fulls) == {XidOf(f) : f \in fulls}

(* From 14 on the top-level transaction is marked too. *)
Marks(r) == {r.xid, r.top}

ReadNewCid(r) == Mark(Xids(Marks(r)))

ReadAbort(r) == Forget(Xids({r.xid} \cup r.subs))

(* Where a restored builder gets catchange.xip from, and how it uses it at a commit *)
Restored(file)          == file.catchange
HasCatalogChanges(x, r) == x \in DOMAIN in_progress \/ (r.invals /\ Found(x, catchange))

(* Before 16 a file says nothing of the transactions in progress.  A restored builder keeps the XIDs that *)
(* the record names instead, InitialRunningXacts, and a commit with invalidations is looked up there by   *)
(* its top-level XID: if found, all of it has changed the catalog.                                        *)
ByInitialRunning(x, r) == x \in DOMAIN in_progress \/ (r.invals /\ Found(XidOf(r.xid), catchange))

(* The latest of the XIDs of a sequence, by Follows *)
RECURSIVE Latest(_, _)
Latest(xs, so_far) ==
    IF xs = <<>> THEN so_far ELSE Latest(Tail(xs), IF Follows(Head(xs), so_far) THEN Head(xs) ELSE so_far)

TooOldToTrack(r) == \A x \in Xids({r.xid} \cup r.subs) : Precedes(x, next_phase_at)

(* SnapBuildCommitTxn *)
ReadCommit(r) ==
    LET xid  == XidOf(r.xid)
        subs == Downcast(SortUnique(r.subs))      \* in the order they were assigned
    IN  /\ in_progress' = Without(in_progress, {xid} \cup Range(subs))
        /\ IF \/ Gated
              \/ state = "START"
              \/ state = "BUILDING_SNAPSHOT" /\ TooOldToTrack(r)
           THEN UNCHANGED <<committed, all_transactions, xmax, snapshot>>
           ELSE LET forced  == full /\ ~AtLeast("CONSISTENT")
                    changers == SelectSeq(subs, LAMBDA s : HasCatalogChanges(s, r))
                    changer == changers # <<>> \/ HasCatalogChanges(xid, r)
                    tracked == IF forced THEN subs ELSE changers
                    newest  == Latest(tracked, xid)
                IN  IF forced \/ changer
                    THEN /\ committed' = Insert(committed, Append(tracked, xid))
                         /\ all_transactions' = StaysAll(Len(tracked) = Len(subs))
                         /\ xmax' = IF xmax = Invalid \/ FollowsOrEquals(newest, xmax) THEN Advance(newest) ELSE xmax
                         /\ snapshot' = IF changer /\ AtLeast("FULL_SNAPSHOT")
                                        THEN Snapshot(xmin, xmax', committed') ELSE snapshot
                    ELSE /\ all_transactions' = StaysAll(FALSE)
                         /\ UNCHANGED <<committed, xmax, snapshot>>
        /\ UNCHANGED <<state, xmin, next_phase_at, catchange, restart_point, disk>>

MovePurge(oldest) ==
    /\ xmin' = oldest
    /\ committed' = Purge(committed, oldest)
    /\ catchange' = PurgeCatchange(catchange, oldest)

(* SnapBuildSerialize.  next is not in the file: it is there to say later  *)
(* which FullTransactionIds were meant.                                    *)
File == [xmin |-> xmin, xmax |-> xmax, committed |-> committed,
         catchange |-> SortUnique(DOMAIN in_progress), next |-> nextXid]

ReadRunning(r) ==
    FindSnapshot(XidOf(r.oldest), XidOf(r.next), PrecedesOrEquals, MovePurge, File, Restored, Snapshot)

Change == TakeSnapshot(Snapshot(xmin, xmax, committed))

RestartAt(lsn) == StartAgain(lsn, <<>>)
Restart        == RestartAt(RestartLsn)

-----------------------------------------------------------------------------
(* The meaning of the builder's XIDs: the FullTransactionIds last assigned with them. *)
At(x, next) == IF x = Invalid THEN Invalid ELSE Widen(x, next)
Now(x)      == At(x, nextXid)
Meant(xs, next) == {At(x, next) : x \in Range(xs)}

(* The FullTransactionIds that are held, as they were when they came in.   *)
(* For the builder's own this is their meaning now, by the hypothesis.     *)
HeldFulls ==
    {x \in Xacts : ~Finished(x)}
    \cup {Now(x) : x \in ({xmin, next_phase_at} \cup IF "xmax" \in Held THEN {xmax} ELSE {}) \ {Invalid}}
    \cup (IF "snapshot" \in Held /\ snapshot # None
          THEN {Now(snapshot.xmin)} \cup IF "xmax" \in Held THEN {Now(snapshot.xmax)} ELSE {} ELSE {})
    \cup UNION {{At(disk[lsn].xmin, disk[lsn].next)}
                \cup IF "xmax" \in Held THEN {At(disk[lsn].xmax, disk[lsn].next)} ELSE {} :
                lsn \in IF "files" \in Held THEN DOMAIN disk ELSE {}}
    \cup (IF "committed" \in Held THEN Meant(committed, nextXid) ELSE {})

HalfRing == \A f \in HeldFulls : nextXid' - f < Window

Server ==
    \/ (Begin \/ \E t \in Xacts : BeginSub(t)) /\ HalfRing
    \/ (\E n \in Nat \ {0} : Burn(n)) /\ HalfRing
    \/ \E t \in Xacts : Commit(t) \/ EndCommit(t) \/ Abort(t) \/ ChangeCatalog(t)
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

-----------------------------------------------------------------------------
(* Refinement: the same server, and the builder's arrays as sets of what they mean. *)
AbstractSnapshot ==
    IF snapshot = None THEN None
    ELSE [xmin |-> Now(snapshot.xmin), xmax |-> Now(snapshot.xmax), xip |-> Meant(snapshot.xip, nextXid)]

AbstractInProgress ==
    [f \in {Now(x) : x \in DOMAIN in_progress} |-> in_progress[XidOf(f)]]

AbstractDisk ==
    [lsn \in DOMAIN disk |->
        LET file == disk[lsn]
        IN  [xmin |-> At(file.xmin, file.next), xmax |-> At(file.xmax, file.next),
             committed |-> Meant(file.committed, file.next), catchange |-> Meant(file.catchange, file.next)]]

Unbounded == INSTANCE snapbuild WITH
    xmin <- Now(xmin), xmax <- Now(xmax), next_phase_at <- Now(next_phase_at),
    committed <- Meant(committed, nextXid), catchange <- Meant(catchange, nextXid),
    snapshot <- AbstractSnapshot, in_progress <- AbstractInProgress, disk <- AbstractDisk

RefinesInit == wal = <<>> /\ nextXid = FirstXid => Unbounded!Init
Refines     == [][Unbounded!Next]_(Unbounded!vars)

-----------------------------------------------------------------------------
(* The builder has XIDs of the ring; the server's are FullTransactionIds. *)
TypeOK ==
    /\ BuilderTypeOK
    /\ {xmin, xmax, next_phase_at} \subseteq {Invalid} \cup Normals
    /\ committed \in Seq(Normals) /\ catchange \in Seq(Normals) /\ DOMAIN in_progress \subseteq Xids(Xacts)
    /\ snapshot # None => {snapshot.xmin, snapshot.xmax} \subseteq Normals /\ snapshot.xip \in Seq(Normals)
    /\ \A lsn \in DOMAIN disk :
          /\ DOMAIN disk[lsn] = {"xmin", "xmax", "committed", "catchange", "next"}
          /\ {disk[lsn].xmin, disk[lsn].xmax} \subseteq Normals
          /\ disk[lsn].committed \in Seq(Normals) /\ disk[lsn].catchange \in Seq(Normals)
          /\ FirstXid <= disk[lsn].next /\ disk[lsn].next <= nextXid

(* Nobody asks about XIDs half a ring behind: the tuples that they wrote are frozen. *)
Exact(s, lsn) == \A x \in changed : nextXid - x < Half => (Sees(s, x) <=> x \in CommittedBy(lsn))

(* The cached snapshot shows exactly the transactions that changed the catalog and whose COMMIT has been read. *)
CachedSnapshotExact == snapshot # None => Exact(snapshot, read)

(* A snapshot that is built now shows exactly the transactions that changed the catalog and whose COMMIT has been read. *)
NextSnapshotExact   == AtLeast("FULL_SNAPSHOT") => Exact(Snapshot(xmin, xmax, committed), read)
FullSnapshotExact ==
    full /\ state = "CONSISTENT" /\ all_transactions =>
        \A x \in Xacts : nextXid - x < Half =>
            (Sees(Snapshot(xmin, xmax, committed), x) <=> x \in CommittedBy(read))

(* bsearch works where it is used; and the arrays hold no XID twice. *)
SnapshotSorted  == snapshot # None => Strictly(snapshot.xip)
CatchangeSorted == Strictly(catchange)
NoDuplicates    == Cardinality(Range(committed)) = Len(committed)

(* With an insert that sorts, the array is at all times what a snapshot needs. *)
CommittedSorted == Strictly(committed)

(* No XID that precedes xmin stays; in catchange, directly after a purge. *)
JustPurged == read > 0 /\ wal[read].type = "running" /\ wal[read].oldest # wal[read].next /\ xmin = XidOf(wal[read].oldest)
Purged     == JustPurged => \A x \in Range(committed) \cup Range(catchange) : ~Precedes(x, xmin)

(* No XID counts as one that is not assigned yet. *)
NothingFromTheFuture == \A x \in Range(committed) \cup Range(catchange) : Precedes(x, XidOf(nextXid))

=============================================================================

\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE snapbuild_ring ---------------------------
(***************************************************************************)
(* The snapshot builder as it is: arrays of XIDs on a ring (32 bits in     *)
(* PostgreSQL, Size is a constant here), upstream's comparisons, and purge *)
(* and insert by one of the algorithms of xid_arrays.  It refines          *)
(* snapbuild (Refines) as long as the XIDs it holds lie in half a ring.    *)
(*                                                                         *)
(* What is modelled beyond snapbuild                                       *)
(*   committed.xip and catchange.xip as arrays, in the order the insert    *)
(*   leaves them; bsearch in a snapshot's xip and in catchange.xip, which  *)
(*   finds nothing reliable in an unsorted array; XIDs that get used up by *)
(*   the thousand while nothing of interest happens (Burn), so that the    *)
(*   ring is gone round.                                                   *)
(* The hypothesis                                                          *)
(*   The server assigns no XID that is half a ring or more from one that   *)
(*   is still held (HalfRing).  Held are: running XIDs and the builder's   *)
(*   xmin, for which the slot's catalog_xmin stands; and, as Held says, the*)
(*   xmin of files, the builder's xmax, the cached snapshot's xmin, and    *)
(*   committed.xip.  For these the real server does not stand:             *)
(*     "xmax" left out: the builder no longer refines snapbuild: an xmax   *)
(*       older than half a ring counts as the future and is not moved      *)
(*       (MCsnapbuild_ring_bug_stale_xmax).  With one transaction at a time*)
(*       every snapshot stays exact, it only searches more                 *)
(*       (MCsnapbuild_ring_small_stale_xmax).  But of two that straddle the*)
(*       opposite of xmax, the younger committing first, the younger is    *)
(*       then invisible (MCsnapbuild_ring_bug_stale_xmax_straddled).       *)
(*     "snapshot" left out: a snapshot cached for more than half a ring of *)
(*       XIDs, without one change of a catalog, takes new XIDs to precede  *)
(*       its xmin and asks clog, which a decoder that lies behind must not *)
(*       do (MCsnapbuild_ring_bug_stale_snapshot).  Any ANALYZE prevents   *)
(*       it, so this is of theory.                                         *)
(*     "committed" left out: the jump to CONSISTENT sets xmin past XIDs of *)
(*       committed.xip and does not purge.  When half a ring of XIDs is    *)
(*       assigned before the next running-xacts record, those count as the *)
(*       future (MCsnapbuild_ring_bug_jump).  A server writes such a record*)
(*       every 15 s, so this is of theory, too.                            *)
(*                                                                         *)
(* Upstream's purge of catchange.xip (PurgeFrontScan) on the ring          *)
(*   Safe (no snapshot goes wrong): yes.  MCsnapbuild_ring_small_front_scan*)
(*   Complete: no, across the wrap: MCsnapbuild_ring_bug_front_scan fails  *)
(*   on Purged.                                                            *)
(*   What stays is not looked for again: its XIDs are finished.  It goes   *)
(*   when xmin passes the XIDs from after the wrap, unless xmin does that  *)
(*   in one step of nearly half a ring (Held is empty there: only running  *)
(*   XIDs and xmin hold it back): then what stayed is more than half       *)
(*   a ring behind, counts as the future, and stays until its XIDs come    *)
(*   round again (MCsnapbuild_ring_bug_front_scan_outlives).  Then a       *)
(*   transaction with invalidations can be taken for a catalog-changing    *)
(*   one, which adds an entry that nobody asks for.  InitialRunningXacts   *)
(*   of 15 (PurgeRawMinimum) is safe and incomplete in the same way:       *)
(*   ..._small_raw_minimum, ..._bug_raw_minimum.                           *)
(*                                                                         *)
(* How to break it: let Window be Size (MCsnapbuild_ring_mutant_window), or*)
(* purge by a single lower bound (..._mutant_lower_bound).                 *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c, as of 18.        *)
(***************************************************************************)
EXTENDS server, xid_arrays

CONSTANTS
    FullSnapshots, GateAt,      \* as in snapbuild
    Window,                     \* the XIDs held span less than this; Half is the hypothesis
    Held                        \* which of "xmax", "snapshot", "files", "committed" count as held

VARIABLES
    read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
    in_progress, restart_point, creating, full, disk

builderVars == <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                 in_progress, restart_point, creating, full, disk>>
vars == <<serverVars, builderVars>>

None == [none |-> TRUE]

Rank(s) == CASE s = "START" -> 0 [] s = "BUILDING_SNAPSHOT" -> 1 [] s = "FULL_SNAPSHOT" -> 2 [] s = "CONSISTENT" -> 3
AtLeast(s) == Rank(state) >= Rank(s)

-----------------------------------------------------------------------------
(* The algorithms, for a configuration to choose *)
Purge(xs, horizon)          == PurgeInPlace(xs, horizon)
PurgeCatchange(xs, horizon) == PurgeInPlace(xs, horizon)
Insert(xs, batch)           == InsertAppend(xs, batch)
Xip(xs)                     == Sorted(xs)

(* What a commit that is not tracked, whole, makes of includes_all_transactions *)
NotAll == FALSE

-----------------------------------------------------------------------------
(* bsearch with xidComparator: right on a sorted array, and as wrong as it likes on another *)
RECURSIVE Bsearch(_, _, _, _)
Bsearch(x, xs, low, high) ==
    low < high /\
        LET middle == (low + high) \div 2
        IN  IF xs[middle] = x THEN TRUE
            ELSE IF xs[middle] < x THEN Bsearch(x, xs, middle + 1, high) ELSE Bsearch(x, xs, low, middle)

Found(x, xs) == Bsearch(x, xs, 1, Len(xs) + 1)

(* x is a FullTransactionId only so that clog can be asked about the right one. *)
Sees(s, x) ==
    IF Precedes(XidOf(x), s.xmin) THEN DidCommit(x)
    ELSE IF ~Precedes(XidOf(x), s.xmax) THEN FALSE
    ELSE Found(XidOf(x), s.xip)

Snapshot(xmn, xmx, xs) == [xmin |-> xmn, xmax |-> xmx, xip |-> Xip(xs)]

-----------------------------------------------------------------------------
BuilderInit ==
    /\ read = 0
    /\ state = "START"
    /\ xmin = Invalid /\ xmax = Invalid /\ next_phase_at = Invalid
    /\ committed = <<>> /\ all_transactions = TRUE
    /\ catchange = <<>>
    /\ snapshot = None
    /\ in_progress = <<>>
    /\ restart_point = 0
    /\ creating = TRUE
    /\ full \in FullSnapshots
    /\ disk = <<>>

Init == ServerInit /\ BuilderInit

Without(f, S) == [x \in DOMAIN f \ S |-> f[x]]
Xids(fulls)   == {XidOf(f) : f \in fulls}

(* SnapBuildProcessNewCid; from 14 on it marks the top-level transaction too. *)
Marks(r) == {r.xid, r.top}

ReadNewCid(r) ==
    /\ in_progress' =
         IF Rank(state) < Rank(GateAt) THEN in_progress
         ELSE [x \in DOMAIN in_progress \cup Xids(Marks(r)) |->
                  IF x \in DOMAIN in_progress THEN in_progress[x] ELSE restart_point]
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>

(* What a restored builder takes catchange.xip from, and what it concludes at a commit *)
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
        /\ IF \/ Rank(state) < Rank(GateAt)
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
                         /\ all_transactions' = IF Len(tracked) = Len(subs) THEN all_transactions ELSE NotAll
                         /\ xmax' = IF xmax = Invalid \/ FollowsOrEquals(newest, xmax) THEN Advance(newest) ELSE xmax
                         /\ snapshot' = IF changer /\ AtLeast("FULL_SNAPSHOT")
                                        THEN Snapshot(xmin, xmax', committed') ELSE snapshot
                    ELSE /\ all_transactions' = NotAll
                         /\ UNCHANGED <<committed, xmax, snapshot>>
        /\ UNCHANGED <<state, xmin, next_phase_at, catchange, restart_point, disk>>

ReadAbort(r) ==
    /\ in_progress' = Without(in_progress, Xids({r.xid} \cup r.subs))
    /\ UNCHANGED <<state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   restart_point, disk>>

MovePurge(oldest) ==
    /\ xmin' = oldest
    /\ committed' = Purge(committed, oldest)
    /\ catchange' = PurgeCatchange(catchange, oldest)

(* SnapBuildSerialize.  next is not in the file: it is there to say later  *)
(* which FullTransactionIds were meant.                                    *)
File == [xmin |-> xmin, xmax |-> xmax, committed |-> committed,
         catchange |-> SortUnique(DOMAIN in_progress), next |-> nextXid]

ReadRunning(r) ==
    LET oldest == XidOf(r.oldest)
        next   == XidOf(r.next)
    IN  /\ UNCHANGED <<in_progress, all_transactions>>
        /\ CASE AtLeast("CONSISTENT") ->
                  /\ disk' = IF read' \in DOMAIN disk THEN disk ELSE With(disk, read', File)
                  /\ restart_point' = read'
                  /\ MovePurge(oldest)
                  /\ UNCHANGED <<state, xmax, next_phase_at, snapshot>>
             [] ~AtLeast("CONSISTENT") /\ oldest = next ->
                  /\ state' = "CONSISTENT"
                  /\ next_phase_at' = Invalid
                  /\ xmin' = next
                  /\ xmax' = next
                  /\ UNCHANGED <<committed, catchange, snapshot, restart_point, disk>>
             [] ~AtLeast("CONSISTENT") /\ oldest # next /\ ~full /\ ~creating /\ read' \in DOMAIN disk ->
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
                       [] state = "BUILDING_SNAPSHOT" /\ PrecedesOrEquals(next_phase_at, oldest) ->
                            /\ state' = "FULL_SNAPSHOT"
                            /\ next_phase_at' = next
                            /\ UNCHANGED xmax
                       [] state = "FULL_SNAPSHOT" /\ PrecedesOrEquals(next_phase_at, oldest) ->
                            /\ state' = "CONSISTENT"
                            /\ next_phase_at' = Invalid
                            /\ UNCHANGED xmax
                       [] OTHER -> UNCHANGED <<state, next_phase_at, xmax>>
                  /\ MovePurge(oldest)
                  /\ UNCHANGED <<snapshot, restart_point, disk>>

Read(type, Handle(_)) ==
    /\ read < Len(wal)
    /\ wal[read + 1].type = type
    /\ read' = read + 1
    /\ Handle(wal[read'])
    /\ UNCHANGED <<creating, full, serverVars>>

Change ==
    /\ AtLeast("FULL_SNAPSHOT")
    /\ snapshot = None
    /\ snapshot' = Snapshot(xmin, xmax, committed)
    /\ UNCHANGED <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, in_progress,
                   restart_point, creating, full, disk, serverVars>>

RestartLsn ==
    IF DOMAIN in_progress = {} THEN restart_point ELSE Min({in_progress[x] : x \in DOMAIN in_progress})

RestartAt(lsn) ==
    /\ state = "CONSISTENT"
    /\ lsn > 0
    /\ read' = lsn - 1
    /\ state' = "START"
    /\ xmin' = Invalid /\ xmax' = Invalid /\ next_phase_at' = Invalid
    /\ committed' = <<>> /\ all_transactions' = TRUE
    /\ catchange' = <<>>
    /\ snapshot' = None
    /\ in_progress' = <<>>
    /\ restart_point' = 0
    /\ creating' = FALSE
    /\ full' = FALSE
    /\ UNCHANGED <<disk, serverVars>>

Restart == RestartAt(RestartLsn)

CheckPoint ==
    /\ \E lsn \in DOMAIN disk : lsn < RestartLsn
    /\ disk' = Without(disk, {lsn \in DOMAIN disk : lsn < RestartLsn})
    /\ UNCHANGED <<read, state, xmin, xmax, next_phase_at, committed, all_transactions, catchange, snapshot,
                   in_progress, restart_point, creating, full, serverVars>>

-----------------------------------------------------------------------------
(* What the builder's XIDs mean: the FullTransactionIds last assigned under them. *)
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
(* XIDs half a ring behind are not asked about: what they wrote is frozen. *)
Exact(s, lsn) == \A x \in changed : nextXid - x < Half => (Sees(s, x) <=> x \in CommittedBy(lsn))

CachedSnapshotExact == snapshot # None => Exact(snapshot, read)
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

(* Nothing stays that precedes xmin: of catchange when it was just purged. *)
JustPurged == read > 0 /\ wal[read].type = "running" /\ wal[read].oldest # wal[read].next /\ xmin = XidOf(wal[read].oldest)
Purged     == JustPurged => \A x \in Range(committed) \cup Range(catchange) : ~Precedes(x, xmin)

(* No XID is taken for one that is yet to be assigned. *)
NothingFromTheFuture == \A x \in Range(committed) \cup Range(catchange) : Precedes(x, XidOf(nextXid))

=============================================================================

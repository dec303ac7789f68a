\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE standby -------------------------------
(***************************************************************************)
(* How a standby comes to know which transactions run on its primary, and  *)
(* what its snapshots then say.  known_assigned has the array itself.      *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - Transactions with subtransactions, prepared ones too.  While one is *)
(*     being prepared it stands twice in the primary's array.              *)
(*   - The standby begins at some time, and knows nothing before the first *)
(*     running-xacts record or the first shutdown checkpoint.  A record    *)
(*     that lacks subtransactions (overflow) leaves it PENDING, until all  *)
(*     that ran then have ended.  At a shutdown checkpoint nothing runs    *)
(*     but what is prepared, and its files tell the subtransactions.       *)
(*   - Assignment records: subtransactions move from the known XIDs to     *)
(*     pg_subtrans, and up to the newest one snapshots count as overflowed.*)
(*   - Any record of an XID makes all up to it known.  A page of pg_xact   *)
(*     is zeroed when its first XID is observed (until 98f58a30; today by  *)
(*     a record of its own).                                               *)
(*   - XIDs on a ring: lastOverflowedXid is compared in the ring's order.  *)
(* What is simplified                                                      *)
(*   - A record is replayed when it is written.                            *)
(*   - Overflow leaves out the subtransactions of all transactions.        *)
(*   - Running-xacts records are frequent: see MayAssign.                  *)
(*                                                                         *)
(* How to break it: refuse a record that lists an XID twice (StateAfter),  *)
(* or leave pg_subtrans as it is at a Shutdown (MCstandby_bug_* fail).     *)
(*                                                                         *)
(* Upstream: src/backend/storage/ipc/procarray.c,                          *)
(* ProcArrayApplyRecoveryInfo, ProcArrayApplyXidAssignment,                *)
(* RecordKnownAssignedTransactionIds, ExpireOldKnownAssignedTransactionIds,*)
(* GetSnapshotData; src/backend/access/transam/twophase.c,                 *)
(* StandbyRecoverPreparedTransactions; src/backend/utils/time/snapmgr.c,   *)
(* XidInMVCCSnapshot. As of 18.                                            *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANTS
    FirstXid,
    Cached,         \* PGPROC_MAX_CACHED_SUBXIDS: with more subtransactions a transaction overflows
    Often,          \* so many XIDs are assigned between two running-xacts records, at most
    PerPage         \* XIDs on a page of pg_xact

VARIABLES
    next,           \* FullTransactionId: the next to be assigned
    top,            \* of each XID seen here: its top-level XID
    status,         \* "running", "prepared", "committed", "aborted"
    reported,       \* subtransactions that an assignment record has named
    twice,          \* the transaction that is being prepared, or 0
    logged,         \* the next XID of the last running-xacts record
    state,          \* of the standby: "none", "begun", "pending", "ready", or "refused": it gave up
    known,          \* KnownAssignedXids
    subtrans,       \* subtransactions whose parents pg_subtrans has
    observed,       \* the XID after latestObservedXid
    pending,        \* standbySnapshotPendingXmin, or 0
    overflow,       \* lastOverflowedXid, or 0
    clog            \* what the standby's pg_xact has as committed

primary == <<next, top, status, reported, twice, logged>>
standby == <<state, known, subtrans, observed, pending, overflow, clog>>
vars    == <<primary, standby>>

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y
With(f, x, v) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN v ELSE f[y]]
Before(f) == IF IsNormal(XidOf(f - 1)) THEN f - 1 ELSE EpochOf(f - 1) * Size - 1

Xacts     == DOMAIN top
Tree(t)   == {x \in Xacts : top[x] = t}
Lives(x)  == status[x] \in {"running", "prepared"}
Subs(t)   == {x \in Tree(t) \ {t} : Lives(x)}
Living    == {x \in Xacts : Lives(x)}
Prepared  == {x \in Xacts : status[x] = "prepared"}
Committed == {x \in Xacts : status[x] = "committed"}
OldestRunning == Min(Living \cup {next})

Init ==
    /\ next = FirstXid /\ top = <<>> /\ status = <<>> /\ reported = {} /\ twice = 0 /\ logged = FirstXid
    /\ state = "none" /\ known = {} /\ subtrans = {} /\ observed = FirstXid /\ pending = 0 /\ overflow = 0
    /\ clog = {}

-----------------------------------------------------------------------------
(* The standby reads a record of x: all XIDs up to it are known to run. *)
Tracks == state \in {"pending", "ready"}
ObservedAfter(x) == IF state # "none" /\ x >= observed THEN FullAdvance(x) ELSE observed
KnownAfter(x) == IF Tracks THEN known \cup {y \in Xacts : observed <= y /\ y <= x} ELSE known

Page(x) == x \div PerPage
BeginsPage(x) == IsNormal(XidOf(x)) /\ (x = FirstNormal \/ ~IsNormal(XidOf(x - 1)) \/ Page(x - 1) # Page(x))
Zeroed(x) == {Page(y) : y \in {z \in observed..x : BeginsPage(z)}}
ClogAfter(x) == IF state = "none" THEN clog ELSE {y \in clog : Page(y) \notin Zeroed(x)}

Reads(x, ended, committed) ==
    /\ observed' = ObservedAfter(x)
    /\ known' = KnownAfter(x) \ ended
    /\ clog' = ClogAfter(x) \cup committed

-----------------------------------------------------------------------------
(* The primary.  The oldest XID and the last record are far from half a ring behind. *)
MayAssign == next + 1 < OldestRunning + Half - Often /\ next < logged + Often

Assign(t) ==
    /\ MayAssign
    /\ next' = FullAdvance(next) /\ top' = With(top, next, t) /\ status' = With(status, next, "running")
    /\ UNCHANGED <<reported, twice, logged, standby>>

Begin == Assign(next)

Unreported(t) == Subs(t) \ reported
Moved(subs) == IF Tracks THEN subs ELSE {}
BeginSub(t) == top[t] = t /\ status[t] = "running" /\ t # twice /\ Cardinality(Unreported(t)) < Cached /\ Assign(t)

(* XLOG_XACT_ASSIGNMENT *)
Report(t) ==
    /\ status[t] = "running" /\ top[t] = t /\ Cardinality(Unreported(t)) >= Cached
    /\ reported' = reported \cup Unreported(t)
    /\ LET subs == Unreported(t)
       IN  /\ Reads(Max(subs), Moved(subs), {})
           /\ subtrans' = IF state = "none" THEN subtrans ELSE subtrans \cup subs
           /\ overflow' = IF Tracks /\ (overflow = 0 \/ Precedes(XidOf(overflow), XidOf(Max(subs)))) THEN Max(subs)
                          ELSE overflow
    /\ UNCHANGED <<next, top, status, twice, logged, state, pending>>

(* Any other record of an XID; and a transaction that begins, writes and ends. *)
Write(x) ==
    /\ status[x] = "running" /\ x >= observed
    /\ Reads(x, {}, {})
    /\ UNCHANGED <<primary, state, subtrans, pending, overflow>>

Pass ==
    /\ MayAssign
    /\ next' = FullAdvance(next)
    /\ Reads(next, {}, {})
    /\ UNCHANGED <<top, status, reported, twice, logged, state, subtrans, pending, overflow>>

(* PREPARE TRANSACTION: first it stands in the array a second time, then only as a prepared one. *)
StartPrepare(t) ==
    /\ top[t] = t /\ status[t] = "running" /\ twice = 0
    /\ twice' = t
    /\ Reads(Max(Subs(t) \cup {t}), {}, {})
    /\ UNCHANGED <<next, top, status, reported, logged, state, subtrans, pending, overflow>>
EndPrepare ==
    /\ twice # 0
    /\ status' = [x \in Xacts |-> IF x = twice \/ x \in Subs(twice) THEN "prepared" ELSE status[x]]
    /\ twice' = 0
    /\ UNCHANGED <<next, top, reported, logged, standby>>

MayEnd(t) == twice # t
End(x, how) ==
    /\ Lives(x) /\ MayEnd(top[x])
    /\ \/ top[x] = x
       \/ how = "aborted" /\ status[x] = "running"
    /\ LET tree == {y \in Tree(top[x]) : Lives(y) /\ (y = x \/ top[x] = x)}
       IN  /\ status' = [y \in Xacts |-> IF y \in tree THEN how ELSE status[y]]
           /\ Reads(Max(tree), tree, IF how = "committed" THEN tree ELSE {})
    /\ UNCHANGED <<next, top, reported, twice, logged, state, subtrans, pending, overflow>>

-----------------------------------------------------------------------------
(* The standby begins to replay, at a checkpoint that says the next XID. *)
StandBy ==
    /\ state = "none"
    /\ state' = "begun" /\ observed' = next
    /\ UNCHANGED <<primary, known, subtrans, pending, overflow, clog>>

(* ProcArrayApplyRecoveryInfo: of a record that lists these XIDs; some may *)
(* be listed twice, and be missing (subs lost), or be in pg_subtrans.      *)
ExpiredOverflow(oldest) == IF overflow # 0 /\ Precedes(XidOf(overflow), XidOf(oldest)) THEN 0 ELSE overflow
Pruned(oldest) == {x \in known : x >= oldest}
StateAfter(r) == IF r.subs = "missing" THEN "pending" ELSE "ready"
AllThere(oldest) == Precedes(XidOf(pending), XidOf(oldest))
Apply(r) ==
    CASE state = "none" -> UNCHANGED <<state, known, observed, pending, overflow>>
      [] state = "ready" \/ (state = "pending" /\ r.subs = "missing") ->
           /\ known' = Pruned(r.oldest)
           /\ overflow' = ExpiredOverflow(r.oldest)
           /\ IF state = "pending" /\ AllThere(r.oldest)
              THEN state' = "ready" /\ pending' = 0
              ELSE UNCHANGED <<state, pending>>
           /\ UNCHANGED observed
      [] OTHER ->
           /\ state' = StateAfter(r)
           /\ known' = r.xids
           /\ observed' = next
           /\ pending' = IF r.subs = "missing" THEN Before(next) ELSE 0
           /\ overflow' = IF r.subs = "listed" THEN ExpiredOverflow(r.oldest) ELSE Before(next)

Overflowed == \E t \in Living : Cardinality(Subs(t)) > Cached
LogRunning ==
    /\ state # "refused"
    /\ logged' = next
    /\ Apply([xids |-> IF Overflowed THEN {x \in Living : top[x] = x} ELSE Living,
              subs |-> IF Overflowed THEN "missing" ELSE "listed", oldest |-> OldestRunning])
    /\ UNCHANGED <<next, top, status, reported, twice, subtrans, clog>>

(* Nothing runs but what is prepared.  The files of those say their subtransactions.  After a crash this record alone tells *)
(* that the others are over.                                                                                               *)
Shutdown ==
    /\ state # "refused" /\ twice = 0
    /\ logged' = next
    /\ status' = [x \in Xacts |-> IF status[x] = "running" THEN "aborted" ELSE status[x]]
    /\ Apply([xids |-> {x \in Prepared : top[x] = x}, subs |-> "in pg_subtrans", oldest |-> Min(Prepared \cup {next})])
    /\ subtrans' = IF state # "none" THEN subtrans \cup {x \in Prepared : top[x] # x} ELSE subtrans
    /\ UNCHANGED <<next, top, reported, twice, clog>>

Next ==
    \/ Begin \/ Pass \/ EndPrepare \/ StandBy \/ LogRunning \/ Shutdown
    \/ \E t \in Xacts : BeginSub(t) \/ Report(t) \/ Write(t) \/ StartPrepare(t) \/ End(t, "committed") \/ End(t, "aborted")

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A snapshot that is taken now: GetSnapshotData and XidInMVCCSnapshot. *)
SnapshotXmin == Min(known \cup {observed})
SnapshotOverflowed == overflow # 0 /\ PrecedesOrEquals(XidOf(SnapshotXmin), XidOf(overflow))
InProgress(x) ==
    \/ x >= observed
    \/ x \in known
    \/ SnapshotOverflowed /\ x \in subtrans /\ top[x] \in known

TypeOK ==
    /\ next >= FirstXid /\ IsNormal(XidOf(next)) /\ logged \in FirstXid..next
    /\ DOMAIN status = Xacts /\ \A x \in Xacts : x < next /\ top[x] <= x /\ top[top[x]] = top[x]
    /\ \A x \in Xacts : status[x] \in {"running", "prepared", "committed", "aborted"}
    /\ twice # 0 => twice \in Xacts /\ top[twice] = twice /\ status[twice] = "running"
    /\ state \in {"none", "begun", "pending", "ready", "refused"} /\ pending # 0 <=> state = "pending"
    /\ known \cup subtrans \cup reported \cup clog \subseteq Xacts
    /\ observed \in FirstXid..next /\ overflow < next

(* The standby does not give up. *)
Starts == state # "refused"

(* Who runs, or is prepared, is in progress to a snapshot: clog is not read, and no hint bit is set. *)
RunningAreInProgress == state = "ready" => \A x \in Living : InProgress(x)

(* Who has committed is not. *)
CommittedAreNot == state = "ready" => \A x \in Committed : ~InProgress(x)

(* A snapshot counts as overflowed only while something from then runs. *)
OverflowedForAReason == state = "ready" /\ SnapshotOverflowed => SnapshotXmin <= overflow

(* KnownAssignedXids has room for each transaction's XID and the subtransactions that a PGPROC holds.  Of those that its   *)
(* first record lists the standby cannot tell which were reported before, so it may have as many again.                    *)
Of(t) == {x \in known : top[x] = t}
FitsTwice == \A t \in Xacts : Cardinality(Of(t)) <= 1 + 2 * Cached
Fits      == \A t \in Xacts : Cardinality(Of(t)) <= 1 + Cached

(* Who is over without a record stays in the array only while something older runs. *)
StaleGo ==
    [][(LogRunning \/ Shutdown) /\ state' = "ready" =>
           \A x \in known' : \E y \in Xacts : y <= x /\ status'[y] \in {"running", "prepared"}]_vars

(* No commit is lost from pg_xact. *)
CommitsAreKept == clog = Committed
=============================================================================

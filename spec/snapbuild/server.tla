\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE server -------------------------------
(***************************************************************************)
(* The server whose WAL a snapshot builder reads.  Transactions and their  *)
(* subtransactions get XIDs, change the catalog, commit, abort, and write  *)
(* WAL records.  The module builder extends this one and changes nothing.  *)
(*                                                                         *)
(* XIDs are FullTransactionIds (64 bits, taken as unbounded): nothing      *)
(* wraps here.  A record's LSN is its place in the sequence wal.           *)
(*                                                                         *)
(* What is modelled, because it causes the difficulties                    *)
(*   - A commit is two steps: its record is written, and only later is it  *)
(*     marked in clog and leaves the array of running transactions.  A     *)
(*     running-xacts record between the two lists a transaction whose      *)
(*     COMMIT lies before it.                                              *)
(*   - XIDs get used up by transactions that leave no record (Burn).       *)
(* What is simplified                                                      *)
(*   - One level of subtransactions; a transaction gets its XID before its *)
(*     subtransactions do (as upstream's AssignTransactionId has it).      *)
(*   - Only a transaction's first change of the catalog is recorded.  A    *)
(*     later one tells a builder nothing new; to a builder that restarted  *)
(*     in between it could only help.  Changes of user data leave no       *)
(*     record.  A builder may need a snapshot for one at any time: see     *)
(*     Change in the builders.                                             *)
(*   - An abort is one step, and written only if there is a change of the  *)
(*     catalog to forget.                                                  *)
(*   - COMMIT carries invalidations if and only if a part that commits     *)
(*     changed the catalog.                                                *)
(*                                                                         *)
(* Upstream: src/backend/storage/ipc/procarray.c,                          *)
(* GetRunningTransactionData, ProcArrayEndTransaction;                     *)
(* src/backend/storage/ipc/standby.c, LogStandbySnapshot,                  *)
(* LogCurrentRunningXacts; src/backend/access/transam/xact.c,              *)
(* RecordTransactionCommit, AssignTransactionId;                           *)
(* src/backend/access/transam/transam.c, TransactionIdCommitTree,          *)
(* TransactionIdDidCommit.  As of 18.                                      *)
(*                                                                         *)
(* A running-xacts record is one step, because with wal_level = logical    *)
(* ProcArrayLock is held until it is written.  In 19 (67c20979ce) a flag   *)
(* stands in the place of wal_level.  It is switched online, and           *)
(* LogStandbySnapshot reads it before it lists: a record may then list who *)
(* has ended before it.  logicalctl has the flag and such a record,        *)
(* MCsnapbuild_bug_67c20979ce what a builder makes of it.                  *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANT
    FirstXid        \* the first XID to be assigned, normal

VARIABLES
    nextXid,        \* the next XID to be assigned
    top,            \* of each XID assigned to a transaction seen here: its top-level XID
    status,         \* of each of them: "running", "committing", "committed" or "aborted"
    changed,        \* the XIDs that changed the catalog
    wal             \* the records

serverVars == <<nextXid, top, status, changed, wal>>

Xacts      == DOMAIN top
IsTop(x)   == top[x] = x
Tree(t)    == {x \in Xacts : top[x] = t}
Finished(x) == status[x] \in {"committed", "aborted"}

(* TransactionIdDidCommit: the answer of clog now, whatever LSN the reader has reached. *)
DidCommit(x) == status[x] = "committed"

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y

(* The contents of the running-xacts record; without transactions the oldest is nextXid. *)
OldestRunning == Min({x \in Xacts : ~Finished(x)} \cup {nextXid})

(* What a snapshot must see: the transactions whose COMMIT record lies at or before lsn. *)
CommittedBy(lsn) ==
    UNION {{wal[i].xid} \cup wal[i].subs : i \in {j \in 1..lsn : wal[j].type = "commit"}}

ServerInit ==
    /\ nextXid = FirstXid
    /\ top     = <<>>
    /\ status  = <<>>
    /\ changed = {}
    /\ wal     = <<>>

With(f, x, v) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN v ELSE f[y]]

Assign(t) ==
    /\ nextXid' = FullAdvance(nextXid)
    /\ top'     = With(top, nextXid, t)
    /\ status'  = With(status, nextXid, "running")
    /\ UNCHANGED <<changed, wal>>

Begin == Assign(nextXid)

BeginSub(t) == IsTop(t) /\ status[t] = "running" /\ Assign(t)

(* A transaction that matters to nobody takes the next n XIDs and ends. *)
RECURSIVE Later(_, _)
Later(f, n) == IF n = 0 THEN f ELSE Later(FullAdvance(f), n - 1)

Burn(n) == nextXid' = Later(nextXid, n) /\ UNCHANGED <<top, status, changed, wal>>

(* XLOG_HEAP2_NEW_CID *)
ChangeCatalog(x) ==
    /\ status[x] = "running"
    /\ x \notin changed
    /\ changed' = changed \cup {x}
    /\ wal'     = Append(wal, [type |-> "new_cid", xid |-> x, top |-> top[x]])
    /\ UNCHANGED <<nextXid, top, status>>

(* RecordTransactionCommit, up to where the record is in the WAL ... *)
Commit(t) ==
    /\ IsTop(t)
    /\ status[t] = "running"
    /\ LET tree == {x \in Tree(t) : status[x] = "running"}
       IN  /\ wal' = Append(wal, [type |-> "commit", xid |-> t, subs |-> tree \ {t},
                                  invals |-> tree \cap changed # {}])
           /\ status' = [x \in Xacts |-> IF x \in tree THEN "committing" ELSE status[x]]
    /\ UNCHANGED <<nextXid, top, changed>>

(* ... and from there: TransactionIdCommitTree, ProcArrayEndTransaction. *)
EndCommit(t) ==
    /\ IsTop(t)
    /\ status[t] = "committing"
    /\ status' = [x \in Xacts |-> IF top[x] = t /\ status[x] = "committing" THEN "committed" ELSE status[x]]
    /\ UNCHANGED <<nextXid, top, changed, wal>>

(* A subtransaction aborts alone; a top-level transaction aborts with all of its subtransactions. *)
(* A builder may know it by the change of a subtransaction that aborted earlier; it must forget it. *)
Abort(x) ==
    /\ status[x] = "running"
    /\ LET tree == IF IsTop(x) THEN {y \in Tree(x) : status[y] = "running"} ELSE {x}
       IN  /\ status' = [y \in Xacts |-> IF y \in tree THEN "aborted" ELSE status[y]]
           /\ wal' = IF (IF IsTop(x) THEN Tree(x) ELSE {x}) \cap changed = {} THEN wal
                     ELSE Append(wal, [type |-> "abort", xid |-> x, subs |-> tree \ {x}])
    /\ UNCHANGED <<nextXid, top, changed>>

(* A transaction ends with all of its subtransactions. *)
TreesEndWhole == \A x \in Xacts : Finished(top[x]) => Finished(x)

(* XLOG_RUNNING_XACTS, from the background writer or a checkpoint *)
LogRunning ==
    /\ wal' = Append(wal, [type |-> "running", oldest |-> OldestRunning, next |-> nextXid])
    /\ UNCHANGED <<nextXid, top, status, changed>>

-----------------------------------------------------------------------------
(* The fields of a record, by its type *)
Record(r) ==
    CASE r.type = "new_cid" -> DOMAIN r = {"type", "xid", "top"} /\ r.xid \in changed /\ r.top = top[r.xid]
      [] r.type = "commit"  -> /\ DOMAIN r = {"type", "xid", "subs", "invals"}
                               /\ r.subs \subseteq Tree(r.xid) \ {r.xid}
                               /\ r.invals <=> (r.subs \cup {r.xid}) \cap changed # {}
      [] r.type = "abort"   -> DOMAIN r = {"type", "xid", "subs"} /\ r.subs \subseteq Tree(r.xid) \ {r.xid}
      [] r.type = "running" -> /\ DOMAIN r = {"type", "oldest", "next"}
                               /\ FirstXid <= r.oldest /\ r.oldest <= r.next /\ r.next <= nextXid
      [] OTHER -> FALSE

(* Modules that extend this one have a TypeOK of their own. *)
ServerTypeOK ==
    /\ nextXid >= FirstXid /\ IsNormal(XidOf(nextXid))
    /\ DOMAIN status = Xacts
    /\ \A x \in Xacts :
          /\ FirstXid <= x /\ x < nextXid /\ IsNormal(XidOf(x))
          /\ status[x] \in {"running", "committing", "committed", "aborted"}
          /\ top[x] \in Xacts /\ top[x] <= x /\ top[top[x]] = top[x]
    /\ changed \subseteq Xacts
    /\ \A i \in 1..Len(wal) : Record(wal[i])

=============================================================================

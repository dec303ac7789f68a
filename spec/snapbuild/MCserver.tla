\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE MCserver ------------------------------
(***************************************************************************)
(* Bounds for the server, and an order of steps that is sufficient:        *)
(* MCsnapbuild and MCsnapbuild_ring extend this module.                    *)
(***************************************************************************)
EXTENDS server

CONSTANTS
    MaxXacts,       \* XIDs that take part
    MaxSubs,        \* of these, subtransactions
    MaxWal          \* records

ServerBounds ==
    /\ Cardinality(Xacts') <= MaxXacts
    /\ Cardinality({x \in Xacts' : top'[x] # x}) <= MaxSubs
    /\ Len(wal') <= MaxWal

(* Of steps that commute, only one order is checked, for these reasons.    *)
(* An XID is assigned as late as possible: just before its transaction's   *)
(* first other step, before another XID is assigned, or before a           *)
(* running-xacts record, which names it.  A commit is ended as late as     *)
(* possible: just before such a record.  (Nobody asks clog about it        *)
(* earlier: xmin comes from such records.)  An abort without a record      *)
(* matters only to a transaction that was named.  After the last record    *)
(* nothing matters.  (MCsnapbuild_small, ..._lag and runs of the ring      *)
(* check any order.)                                                       *)
LastRunning == Max({i \in 1..Len(wal) : wal[i].type = "running"} \cup {0})
Logs        == Len(wal') > Len(wal) /\ wal'[Len(wal')].type = "running"
Named(x)    == LastRunning > 0 /\ x < wal[LastRunning].next
Fresh(x)    == ~Named(x) /\ x \notin changed /\ status[x] = "running"
Ended       == \E i \in (LastRunning + 1)..Len(wal) : wal[i].type = "commit" /\ DidCommit(wal[i].xid)

OneOrder ==
    serverVars' # serverVars =>
        /\ Len(wal) < MaxWal
        /\ \A x \in Xacts : status'[x] # status[x] /\ status'[x] = "aborted" => (Tree(x) \cup {x}) \cap changed # {} \/ Named(top[x])
        /\ \A x \in Xacts : x = Max(Xacts) /\ Fresh(x) =>
              nextXid' # nextXid \/ Logs \/ x \in changed' \/ status'[x] # status[x]
        /\ Ended => Logs \/ \E t \in Xacts : status[t] = "committing" /\ status'[t] = "committed"

=============================================================================

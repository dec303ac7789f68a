\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE TraceSnapbuild ---------------------------
(***************************************************************************)
(* Follows a recorded trace event by event: what a server and its snapshot *)
(* builder did.  Each event is one step of snapbuild_ring, with upstream's *)
(* algorithms.  The values in the event must be the new values of the      *)
(* model's variables.  An event that fits no step is a deadlock; the       *)
(* number of states is then the number of events followed.  An accepted    *)
(* trace has one state more than events.  The invariants that a run names  *)
(* are checked in each state.                                              *)
(*                                                                         *)
(* Traces are recorded from real servers (tests/snapbuild/tracing.py), and *)
(* are in traces/; spec/tools/traces.py makes the module RecordedSnapbuild *)
(* of them. To record them anew: python -m tests.snapbuild.test_trace      *)
(*                                                                         *)
(* spec variable    event: field           PostgreSQL                      *)
(*   nextXid, top     begin, sub: xid, top   xmin of a row that the        *)
(*                                             (sub)transaction inserted   *)
(*   nextXid          burn: n                XIDs assigned out of sight    *)
(*   changed, wal     change: xid            ALTER TABLE: a NEW_CID record *)
(*   status, wal      commit: xid, subs      XLOG_XACT_COMMIT: subxacts    *)
(*   status           end: xid               COMMIT has returned           *)
(*   status, wal      abort: xid             ROLLBACK, ROLLBACK TO returned*)
(*   wal              running: oldest, next  LogCurrentRunningXacts's      *)
(*                                             message (DEBUG2)            *)
(*   read             restart: at            restart_lsn of the slot       *)
(*                                           builder's messages (DEBUG3):  *)
(*   committed        read_commit: added     "found (sub|top level)        *)
(*                                             transaction", "forced"      *)
(*   (no change)      read                   no message                    *)
(*   state            read_running: state    "logical decoding found       *)
(*                                             consistent point", and how  *)
(*   next_phase_at      next_phase_at        "... initial starting point", *)
(*                                             "... older than"            *)
(*   committed          before, after        "purged committed             *)
(*   xmin, xmax         xmin, xmax             transactions from to"       *)
(*   catchange          catchange            "purged catalog modifying     *)
(*                                             transactions from to", before*)
(*                                             16 "purged initial running  *)
(*                                             transactions from to"       *)
(*   disk               file: committed      .snap: committed.xip          *)
(*                      file: xmin, xmax,    18: pg_get_logical_snapshot_  *)
(*                        catchange            info()                      *)
(*                                                                         *)
(* A field that a server of some major does not tell is absent.  A trace   *)
(* that tells of files tells of every file, at the record that wrote it.   *)
(* XIDs are those of the server: a ring of 2^16 is 2^32 without the middle,*)
(* in which no XID of a trace lies.                                        *)
(* The trace "oracle" is of ref/snapbuild.py's builder; its committed is   *)
(* the array that the kernels of csrc/snapbuild keep (pgquern.snapbuild's  *)
(* Committed.xip), the rest are the builder's attributes of the same names.*)
(* Not compared: snapshots, of which the server tells nothing (Change is   *)
(* never taken), and includes_all_transactions.                            *)
(*                                                                         *)
(* What majors do differently: their runs replace these definitions        *)
(*   before 16  Restored, HasCatalogChanges: InitialRunningXacts instead of*)
(*              catchange.xip, and PurgeRawMinimum instead of PurgeFrontScan*)
(*   13         Marks: a change marks no top-level transaction, so one     *)
(*              whose only change was rolled back is not tracked.          *)
(*                                                                         *)
(* Found by it: a transaction aborts, and only its subtransaction, aborted *)
(* before, changed the catalog.  The model wrote no record for this abort, *)
(* and its builder never forgot the transaction.  The next file of a       *)
(* server of 18 showed that this was wrong.                                *)
(*                                                                         *)
(* Shown by it: in the traces across the wrap, upstream's purge of         *)
(* catchange.xip, or of InitialRunningXacts, leaves XIDs that it should    *)
(* drop (TraceSnapbuild_mutant_complete and ..._complete_initial).         *)
(*                                                                         *)
(* How to break it: TraceSnapbuild_mutant_* each alter one event, break the*)
(* builder, or follow a server by another major's rules.  For each field   *)
(* that is compared one of them alters that field alone; without the       *)
(* comparison that run would follow the trace further.                     *)
(***************************************************************************)
EXTENDS snapbuild_ring, RecordedSnapbuild

CONSTANTS
    Trace,          \* [first |-> the first XID, full |-> is a full snapshot built?, events |-> sequence of records]
    Altered         \* how a mutant run alters an event of it; "nothing"

VARIABLES
    done,           \* how many events have been followed
    confirmed,      \* no restart goes beyond this LSN
    running,        \* by LSN of each running-xacts record: the XIDs in it
    altered         \* the event that a mutant run alters; 0: none

-----------------------------------------------------------------------------
(* A mutant run alters one event of the trace: of the events of this Kind  *)
(* that have this Field, the last one to which it makes a difference.      *)
Kind ==
    CASE Altered \in {"begin", "sub"} -> Altered
      [] Altered \in {"commit", "subs"} -> "commit"
      [] Altered \in {"next", "oldest"} -> "running"
      [] Altered \in {"restart", "confirmed"} -> "restart"
      [] Altered \in {"added", "read_commit", "twice"} -> "read_commit"
      [] OTHER -> "read_running"
Field ==
    CASE Altered \in {"begin", "sub"} -> "xid"
      [] Altered \in {"commit", "subs"} -> "subs"
      [] Altered \in {"restart", "confirmed"} -> "at"
      [] Altered \in {"added", "read_commit", "twice"} -> "added"
      [] Altered \in {"purge", "purge_less"} -> "after"
      [] Altered \in {"catchange_before", "catchange_after", "catchange_unlogged"} -> "catchange"
      [] Altered \in {"file_catchange", "file_committed", "file_xmin", "file_xmax", "file_unlogged", "file_twice"} -> "file"
      [] OTHER -> Altered

Shorter(list) == IF list = <<>> THEN list ELSE Tail(list)
OfFile(file)  ==    \* a file that does not have the field stays as it is
    [name \in DOMAIN file |->
        CASE Altered = "file_" \o name /\ name \in {"catchange", "committed"} -> Shorter(file[name])
          [] Altered = "file_" \o name /\ name \in {"xmin", "xmax"} -> file[name] + 1
          [] OTHER -> file[name]]
Other(value) ==
    CASE Altered \in {"oldest", "xmin"} -> Trace.first
      [] Altered = "state" -> "FULL_SNAPSHOT"
      [] Altered = "purge" -> IF value = 0 THEN 0 ELSE value - 1
      [] Altered = "confirmed" -> Max(DOMAIN disk \cup {value + 1})
      [] Altered = "subs" -> Shorter(value)
      [] Altered \in {"added", "catchange_before"} -> IF value = <<>> THEN value ELSE [value EXCEPT ![1] = @ + 1]
      [] Altered = "catchange_after" -> IF value = <<>> THEN value ELSE [value EXCEPT ![Len(value)] = @ + 1]
      [] Altered = "twice" -> value \o value
      [] Field = "file" -> OfFile(value)
      [] OTHER -> value + 1
Alter(event) ==
    CASE Altered = "commit" -> [event |-> "burn", n |-> 0]
      [] Altered = "read_commit" -> [event |-> "read"]
      [] Altered \in {"catchange_unlogged", "file_unlogged"} -> [name \in DOMAIN event \ {Field} |-> event[name]]
      [] Altered = "file_twice" -> With(event, "file", disk[read + 1])
      [] OTHER -> [event EXCEPT ![Field] = Other(@)]

Events(kind) == {i \in DOMAIN Trace.events : Trace.events[i].event = kind}
Telling      == {i \in Events(Kind) : Field \in DOMAIN Trace.events[i]}
Which ==
    CASE Altered = "nothing" -> {}
      [] Altered = "file_twice" -> Events(Kind) \ Telling
      [] Altered = "twice" -> {Min(Telling)}
      [] OTHER -> {i \in Telling : Alter(Trace.events[i]) # Trace.events[i]}

(* Wrong builders *)
Unsorted(xs)         == xs
TurnedRound(file)    == [i \in DOMAIN file.catchange |-> file.catchange[Len(file.catchange) + 1 - i]]
NextTooRestored(file) == Append(file.catchange, XidOf(nextXid))
InsertTwice(xs, batch) == xs \o batch \o batch

-----------------------------------------------------------------------------
Event == LET event == Trace.events[done + 1] IN IF done + 1 = altered THEN Alter(event) ELSE event

Recorded(field) == field \in DOMAIN Event
Agrees(field, value) == Recorded(field) => Event[field] = value

(* Constants that the trace records *)
TraceFirst == Trace.first
TraceFull  == {Trace.full}
TraceBurns == {0} \cup {Trace.events[i].n : i \in {j \in DOMAIN Trace.events : Trace.events[j].event = "burn"}}

-----------------------------------------------------------------------------
Known(x) == x \in Xacts

(* A builder that has read no earlier change learns of the transaction by this one. *)
ChangeAgain(x) ==
    /\ status[x] = "running"
    /\ x \in changed
    /\ wal' = Append(wal, [type |-> "new_cid", xid |-> x, top |-> top[x]])
    /\ UNCHANGED <<nextXid, top, status, changed>>

ServerStep ==
    LET xid == Now(Event.xid)
    IN  CASE Event.event = "begin" -> Event.xid = XidOf(nextXid) /\ Begin /\ HalfRing
          [] Event.event = "sub" ->
                Event.xid = XidOf(nextXid) /\ Known(Now(Event.top)) /\ BeginSub(Now(Event.top)) /\ HalfRing
          [] Event.event = "burn"   -> Burn(Event.n) /\ HalfRing
          [] Event.event = "change" -> Known(xid) /\ (ChangeCatalog(xid) \/ ChangeAgain(xid))
          [] Event.event = "commit" -> Known(xid) /\ Commit(xid) /\ Xids(wal'[Len(wal')].subs) = Range(Event.subs)
          [] Event.event = "end"    -> Known(xid) /\ EndCommit(xid)
          [] Event.event = "abort"  -> Known(xid) /\ Abort(xid)
          [] Event.event = "running" ->
                LogRunning /\ XidOf(OldestRunning) = Event.oldest /\ XidOf(nextXid) = Event.next

-----------------------------------------------------------------------------
(* Before 16, with ByInitialRunning *)
InitialRunning(file) == SortUnique(running[read'])

(* 13 *)
MarksAlone(r) == {r.xid}

-----------------------------------------------------------------------------
(* A trace that records files records each when it is written. *)
TellsFiles == \E i \in Events("read_running") : "file" \in DOMAIN Trace.events[i]
Writes     == read' \in DOMAIN disk' \ DOMAIN disk
FileAgrees ==
    /\ TellsFiles => (Recorded("file") <=> Writes)
    /\ Recorded("file") => \A field \in DOMAIN Event.file : Event.file[field] = disk'[read'][field]

RunningAgrees ==
    /\ Agrees("state", state')
    /\ Agrees("next_phase_at", next_phase_at')
    /\ Agrees("before", Len(committed)) /\ Agrees("after", Len(committed'))
    /\ Agrees("xmin", xmin') /\ Agrees("xmax", xmax')
    /\ Agrees("catchange", <<Len(catchange), Len(catchange')>>)
    /\ Recorded("after") /\ ~Recorded("catchange") => catchange' = catchange
    /\ FileAgrees

(* A slot goes back to where it was created, or to a snapshot that was serialised, as far as   *)
(* RestartLsn has been or, as it comes late and transactions without a change of the catalog *)
(* hold it up, not quite so far.                                                               *)
MayRestartAt(lsn) == lsn = 1 \/ (lsn \in DOMAIN disk /\ lsn <= confirmed)

BuilderStep ==
    CASE Event.event = "restart"      -> MayRestartAt(Event.at) /\ RestartAt(Event.at)
      [] Event.event = "read_commit"  -> Read("commit", ReadCommit) /\ committed' = committed \o Event.added
      [] Event.event = "read_running" -> Read("running", ReadRunning) /\ RunningAgrees
      [] Event.event = "read" ->
            \/ Read("new_cid", ReadNewCid)
            \/ Read("abort", ReadAbort)
            \/ Read("commit", ReadCommit) /\ UNCHANGED committed

OfTheServer == Event.event \in {"begin", "sub", "burn", "change", "commit", "end", "abort", "running"}

Follow ==
    /\ done < Len(Trace.events)
    /\ done' = done + 1
    /\ IF OfTheServer THEN ServerStep /\ UNCHANGED builderVars ELSE BuilderStep
    /\ confirmed' = IF RestartLsn' > confirmed THEN RestartLsn' ELSE confirmed
    /\ running' = IF Event.event = "running" THEN With(running, Len(wal'), Xids({x \in Xacts : ~Finished(x)})) ELSE running
    /\ UNCHANGED altered

Finish == done = Len(Trace.events) /\ UNCHANGED <<vars, done, confirmed, running, altered>>

TraceInit == Init /\ done = 0 /\ confirmed = 0 /\ running = <<>> /\ altered = Max(Which \cup {0})

TraceSpec == TraceInit /\ [][Follow \/ Finish]_<<vars, done, confirmed, running, altered>>

-----------------------------------------------------------------------------
(* From CONSISTENT on; why not before: see GateAt in snapbuild. *)
ConsistentSnapshotExact == AtLeast("CONSISTENT") => NextSnapshotExact

=============================================================================

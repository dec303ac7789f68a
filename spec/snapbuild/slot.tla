\* SPDX-License-Identifier: PostgreSQL
-------------------------------- MODULE slot --------------------------------
(***************************************************************************)
(* A logical slot's two positions: restart_lsn, from which WAL is read     *)
(* again, and catalog_xmin, up to which VACUUM removes rows of the catalog.*)
(* At running-xacts records the decoder proposes new ones; they are taken  *)
(* once the client has confirmed that far.  The decoder may end and start  *)
(* again; what was proposed remains.  snapbuild has the builder itself.    *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - Transactions, each of which changes the catalog: its first change,  *)
(*     with which it comes into the reorder buffer and gets its base       *)
(*     snapshot, and its commit.  The XID is older than both.              *)
(*   - The builder's xmin, which a running-xacts record moves; a file with *)
(*     the xmin from before at each record; restoring it at a restart.     *)
(*   - One proposal at a time of each sort; a checkpoint that removes WAL. *)
(* What is simplified                                                      *)
(*   - The slot is there, and nothing ran when it was made.  No crash.     *)
(*   - XIDs do not wrap.  A commit is one step.  No subtransactions.       *)
(*   - VACUUM removes at once all that catalog_xmin lets it remove.        *)
(*                                                                         *)
(* How to break it: let OldestXmin be the record's oldest XID, or          *)
(* ProposeRestart take an older position (MCslot_bug_* fail).              *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c,                  *)
(* SnapBuildProcessRunningXacts; src/backend/replication/logical/logical.c,*)
(* LogicalIncreaseXminForSlot, LogicalIncreaseRestartDecodingForSlot,      *)
(* LogicalConfirmReceivedLocation; src/backend/replication/slotfuncs.c,    *)
(* pg_replication_slot_advance. As of 18.                                  *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

VARIABLES
    next,       \* the next XID
    running,    \* XIDs
    wal,
    slot,       \* restart, xmin, confirmed; what is proposed for restart and xmin: from which confirmed LSN on, and what
    removed,    \* WAL before this LSN is gone
    received,   \* so far WAL was decoded once
    read,       \* LSN of the decoder's last record
    xmin,       \* the builder's
    serialized, \* LSN of the newest file that this decoder has written or restored; 0: it has just started
    files,      \* LSN -> xmin in the file
    buffer      \* XID -> where decoding can start again, the LSN of its base snapshot, and that snapshot's xmin

server  == <<next, running, wal>>
decoder == <<received, read, xmin, serialized, files, buffer>>
vars    == <<server, slot, removed, decoder>>

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
With(f, x, v) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN v ELSE f[y]]
Without(f, S) == [x \in DOMAIN f \ S |-> f[x]]
Nothing == [valid |-> 0, to |-> 0]
NewRecord(r) == wal' = Append(wal, r)
Logs(type, x, lsn) == \E i \in 1..lsn : wal[i].type = type /\ wal[i].xid = x

Init ==
    /\ next = 1 /\ running = {}
    /\ wal = <<[type |-> "running", xid |-> 1]>>
    /\ slot = [restart |-> 1, xmin |-> 1, confirmed |-> 1, forRestart |-> Nothing, forXmin |-> Nothing]
    /\ removed = 1
    /\ received = 1 /\ read = 1 /\ xmin = 1 /\ serialized = 1 /\ files = <<1>> /\ buffer = <<>>

-----------------------------------------------------------------------------
(* The server.  Of a running-xacts record, xid is the oldest that runs. *)
Begin ==
    /\ next' = next + 1 /\ running' = running \cup {next}
    /\ UNCHANGED <<wal, slot, removed, decoder>>
Change(x) ==
    /\ ~Logs("change", x, Len(wal))
    /\ NewRecord([type |-> "change", xid |-> x])
    /\ UNCHANGED <<next, running, slot, removed, decoder>>
Commit(x) ==
    /\ Logs("change", x, Len(wal))
    /\ NewRecord([type |-> "commit", xid |-> x]) /\ running' = running \ {x}
    /\ UNCHANGED <<next, slot, removed, decoder>>
LogRunning ==
    /\ NewRecord([type |-> "running", xid |-> Min(running \cup {next})])
    /\ UNCHANGED <<next, running, slot, removed, decoder>>

(* A checkpoint removes WAL that no restart wants. *)
CheckPoint ==
    /\ removed < slot.restart
    /\ removed' = slot.restart
    /\ UNCHANGED <<server, slot, decoder>>

-----------------------------------------------------------------------------
(* The slot. *)
TakeXmin(s, lsn) ==
    IF s.forXmin # Nothing /\ s.forXmin.valid <= lsn THEN [s EXCEPT !.xmin = s.forXmin.to, !.forXmin = Nothing] ELSE s
TakeRestart(s, lsn) ==
    IF s.forRestart # Nothing /\ s.forRestart.valid <= lsn
    THEN [s EXCEPT !.restart = s.forRestart.to, !.forRestart = Nothing] ELSE s
Confirmed(s, lsn) == [TakeRestart(TakeXmin(s, lsn), lsn) EXCEPT !.confirmed = lsn]

(* The client has what lies before lsn. *)
Confirm(lsn) ==
    /\ slot.confirmed < lsn /\ lsn <= received
    /\ slot' = Confirmed(slot, lsn)
    /\ UNCHANGED <<server, removed, decoder>>

ProposeXmin(s, lsn, x) ==
    IF x <= s.xmin THEN s
    ELSE IF lsn <= s.confirmed THEN Confirmed([s EXCEPT !.forXmin = [valid |-> lsn, to |-> x]], s.confirmed)
    ELSE IF s.forXmin = Nothing THEN [s EXCEPT !.forXmin = [valid |-> lsn, to |-> x]]
    ELSE s
ProposeRestart(s, lsn, to) ==
    IF to <= s.restart THEN s
    ELSE IF lsn <= s.confirmed THEN Confirmed([s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]], s.confirmed)
    ELSE IF s.forRestart = Nothing THEN [s EXCEPT !.forRestart = [valid |-> lsn, to |-> to]]
    ELSE s

-----------------------------------------------------------------------------
(* The decoder. *)
Read(type) ==
    /\ read < Len(wal) /\ wal[read + 1].type = type
    /\ read' = read + 1
    /\ received' = IF read' > received THEN read' ELSE received
    /\ UNCHANGED <<server, removed>>

ReadChange ==
    /\ Read("change")
    /\ buffer' = With(buffer, wal[read'].xid, [since |-> serialized, at |-> read', xmin |-> xmin])
    /\ UNCHANGED <<slot, xmin, serialized, files>>
ReadCommit ==
    /\ Read("commit")
    /\ buffer' = Without(buffer, {wal[read'].xid})
    /\ UNCHANGED <<slot, xmin, serialized, files>>

(* The transactions of the buffer, the first to come first *)
FirstIn == CHOOSE x \in DOMAIN buffer : \A y \in DOMAIN buffer : buffer[x].at <= buffer[y].at
OldestXmin(oldest) == IF buffer = <<>> THEN oldest ELSE buffer[FirstIn].xmin
OldestStart(lsn) == IF buffer = <<>> THEN lsn ELSE buffer[FirstIn].since

ReadRunning ==
    /\ Read("running")
    /\ serialized' = read'
    /\ IF serialized = 0
       THEN xmin' = files[read'] /\ UNCHANGED <<slot, files>>
       ELSE /\ files' = IF read' \in DOMAIN files THEN files ELSE With(files, read', xmin)
            /\ xmin' = wal[read'].xid
            /\ slot' = ProposeRestart(ProposeXmin(slot, read', OldestXmin(wal[read'].xid)), read', OldestStart(read'))
    /\ UNCHANGED buffer

(* It ends, and starts again. *)
Restart ==
    /\ serialized # 0
    /\ read' = slot.restart - 1 /\ serialized' = 0 /\ xmin' = 0 /\ buffer' = <<>>
    /\ UNCHANGED <<server, slot, removed, received, files>>

Next ==
    \/ Begin \/ LogRunning \/ CheckPoint \/ ReadChange \/ ReadCommit \/ ReadRunning \/ Restart
    \/ \E x \in running : Change(x) \/ Commit(x)
    \/ \E lsn \in 1..received : Confirm(lsn)

Spec == Init /\ [][Next]_vars

(* The decoder goes on to read, and the client to confirm.  How far it     *)
(* confirms each time is its own matter: it may lag behind for ever.       *)
Reads    == ReadChange \/ ReadCommit \/ ReadRunning
Confirms == \E lsn \in 1..received : Confirm(lsn)
Fairness == WF_vars(Reads) /\ WF_vars(Confirms)

-----------------------------------------------------------------------------
Proposal == [valid : Nat, to : Nat]
TypeOK ==
    /\ running \subseteq 1..(next - 1)
    /\ \A i \in 1..Len(wal) : wal[i].type = "commit" =>
          wal[i].xid \notin running /\ \E j \in 1..i : wal[j] = [type |-> "change", xid |-> wal[i].xid]
    /\ \A lsn \in DOMAIN files : files[lsn] \in 1..next
    /\ slot.restart \in 1..Len(wal) /\ wal[slot.restart].type = "running" /\ slot.restart \in DOMAIN files
    /\ slot.xmin \in 1..next /\ slot.confirmed \in 1..received /\ {slot.forRestart, slot.forXmin} \subseteq Proposal
    /\ read \in 0..received /\ received <= Len(wal)
    /\ DOMAIN buffer \subseteq 1..(next - 1)
    /\ \A x \in DOMAIN buffer : buffer[x].since < buffer[x].at /\ buffer[x].at <= read

(* Its commit is still to be decoded for the client. *)
Wanted(x) == ~Logs("commit", x, slot.confirmed)

(* What a snapshot of a transaction that is to be decoded takes for running*)
(* VACUUM must not take for ended: it would remove rows that it still sees.*)
SnapshotsAreKept ==
    \A x \in DOMAIN buffer : Wanted(x) =>
        \A y \in 1..(slot.xmin - 1) : Logs("commit", y, buffer[x].at)

(* What the client has confirmed is taken at once: nothing is retained longer. *)
TakenAtOnce ==
    \A proposal \in {slot.forXmin, slot.forRestart} : proposal # Nothing => proposal.valid > slot.confirmed

(* A restart finds its WAL, *)
WalIsThere == slot.restart >= removed

(* and no change lies before it of a transaction that is to be decoded. *)
ReadsAllAgain == \A i \in 1..received : wal[i].type = "change" /\ Wanted(wal[i].xid) => slot.restart < i

PositionsGrow == [][slot'.restart >= slot.restart /\ slot'.xmin >= slot.xmin]_vars

(* Once nothing runs any more, and running-xacts records go on to come,    *)
(* catalog_xmin comes to the next XID, and restart_lsn goes on and on.     *)
Quiet        == <>[](running = {})
XminComes    == Quiet => <>[](slot.xmin = next)
RestartComes == Quiet => []<><<slot'.restart > slot.restart>>_vars
=============================================================================

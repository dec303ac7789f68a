\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of snapbuild, and of what is broken: spec/tools/sentences.py has the form.

$ring = {IF XidOf(x) = x THEN "" ELSE " (on the ring: " \o ToString(XidOf(x)) \o ")"}

module MCslot
VIA Counts
Save SMALL | the slot | is saved: restart {saved'.restart}, xmin {saved'.xmin}
Crash STEP | the server | crashes: the slot starts again at record {slot'.restart}, as it was saved
CheckPointSaved STEP | checkpointer -> WAL | removes the WAL before record {removed'}. The slot that is saved starts again at record {saved.restart}
Forget SMALL | the WAL | loses a record to which nothing refers: those behind it count anew

module MCxid_arrays
NOTE | The array is {array}; xmin is {xmin}; the batch that is inserted is {batch}

module TraceSnapbuild
INNER done, confirmed, running, altered
VIA Writes, RunningAgrees, BuilderStep, Follow
ChangeAgain STEP x \in Xacts | transaction {top[x]} -> WAL | changes the catalog again. A record says so
BuilderStep STEP lsn \in 1..Len(wal) of StartAgain(lsn, <<>>) | decoder | ends, and starts again from record {read' + 1}
TraceSpec BROKEN if done < Len(Trace.events) | The trace goes on with event {done + 1}, which fits no step: {Event}

module builder
INNER read, restart_point, creating, full, disk, in_progress, all_transactions, catchange
CheckPoint SMALL | checkpointer | removes the decoder's files that no restart wants

module known_assigned
CompressForSpace STEP k \in 1..2 | startup process -> array | makes room: moves what is valid to the beginning. It ends before place {head'} now
StartAdd STEP k \in 1..2 if head' # head | startup process -> array | is to add {k} XIDs, and moves the end of the array first, to {head'}
StartAdd STEP k \in 1..2 | startup process | is to add {k} XIDs, from {XidOf(nextXid)} on
WriteEntry SMALL | startup process -> array | writes XID {XidOf(adding[written + 1])} behind the others
PublishHead STEP | startup process -> array | makes them part of the array, which ends before place {head'}: they run now
EndTransaction STEP x \in running | startup process -> array | removes XID {XidOf(x)}: its transaction is over. The array begins at {tail'}, and ends
    before {head'}
Prune STEP x \in running \cup {nextXid} | startup process -> array | removes all before XID {XidOf(x)}: they are over. The array begins at {tail'},
    and ends before {head'}
IdleMaintenance STEP | startup process -> array | is idle, and looks whether the array should be compressed. It begins at {tail'}, and ends before
    {head'}
Tick SMALL | the clock | time passes
Lock STEP r \in Readers if reader'[r].next = "search" | reader {r} | takes the lock, to ask whether XID {XidOf(reader'[r].x)} runs. These run now:
    {{XidOf(x) : x \in running}}
Lock STEP r \in Readers | reader {r} | takes the lock, to list the running XIDs. These run now: {{XidOf(x) : x \in running}}
ReadTail SMALL r \in Readers | reader {r} -> array | reads where the array begins: {tail}
ReadHead SMALL r \in Readers | reader {r} -> array | reads where the array ends: before {head}
SearchStep SMALL r \in Readers | reader {r} -> array | looks at place {(reader[r].first + reader[r].last) \div 2}: XID {xids[(reader[r].first +
    reader[r].last) \div 2]}{IF valid[(reader[r].first + reader[r].last) \div 2] THEN "" ELSE ", no longer valid"}
SearchEnd STEP r \in Readers | reader {r} | has not found it
ScanStep SMALL r \in Readers | reader {r} -> array | looks at place {reader[r].first}: XID {xids[reader[r].first]}{IF valid[reader[r].first] THEN ""
    ELSE ", no longer valid"}
ScanEnd STEP r \in Readers | reader {r} | has them all: {reader[r].got}
Unlock SMALL r \in Readers | reader {r} | lets the lock go
FindsRunning BROKEN r \in Readers if Done(r, "search") /\ reader[r].x \in reader[r].seen /\ reader[r].got = {} | Reader {r} does not find XID
    {XidOf(reader[r].x)}, which runs: a snapshot takes its changes for committed or aborted
FindsNoOther BROKEN r \in Readers if Done(r, "search") /\ reader[r].got # {} /\ reader[r].x \notin running | Reader {r} finds XID
    {XidOf(reader[r].x)}, which does not run
ScansRunning BROKEN r \in Readers if Done(r, "scan") | Reader {r} lists {reader[r].got}; these ran all the time: {{XidOf(x) : x \in reader[r].seen}}
ScansNoOther BROKEN r \in Readers if Done(r, "scan") | Reader {r} lists {reader[r].got}; these run: {{XidOf(x) : x \in running}}

module logicalctl
INNER told, late, waits, reserved, old, toggles, pc
Begin SMALL w \in Writers | transaction {w} | gets an XID
Write STEP w \in Writers | transaction {w} -> WAL | writes a change without what decoding needs
End SMALL w \in Writers | transaction {w} | ends
Absorb SMALL p \in Procs | {p} | takes note of the barrier
SnapReads STEP | background writer | asks whether ProcArrayLock must be held until a running-xacts record is written: {snap'.holds}
SnapLists STEP | background writer | lists the running transactions: {snap'.lists}
SnapWrites STEP | background writer -> WAL | writes the record: {snap.lists} run. These run now: {xid}
Check STEP c \in Creators | creator {c} | is to create a slot, and finds that it may
Create STEP c \in Creators | creator {c} -> slot | creates the slot: from now on others see it
EnsureInRecovery STEP c \in Creators | creator {c} | looks again, in recovery: decoding is {IF enabled THEN "on" ELSE "off"}
StartEnabling STEP c \in Creators if enabled | creator {c} | finds decoding on
StartEnabling STEP c \in Creators | creator {c} | sets the first flag, and waits until all have taken note
FinishEnabling STEP c \in Creators | creator {c} -> WAL | sets the second flag: decoding is on
AbortEnabling STEP c \in Creators | creator {c} | is interrupted
Reserve STEP c \in Creators | creator {c} -> slot | reserves the WAL: the slot has a start
Finish STEP c \in Creators | creator {c} | has built a snapshot, or met a record on which it gives up
Interrupt STEP c \in Creators | startup process -> creator {c} | interrupts it: its slot is to be invalidated
Drop STEP c \in Creators | creator {c} -> slot | drops the slot
Request SMALL c \in Creators | creator {c} -> checkpointer | asks it to look whether decoding may go off
SeeRequest SMALL | checkpointer | sees that it is asked
Disable STEP if enabled' # enabled | checkpointer -> WAL | finds no slot, and clears both flags: decoding is off
Disable STEP | checkpointer | looks for slots. The first flag is {IF info' THEN "on" ELSE "off"}
Replay STEP | startup process -> WAL | replays a record: decoding is {IF enabled' THEN "on" ELSE "off"}
Invalidate STEP | startup process -> slot | invalidates all slots
EndRecovery STEP | startup process -> WAL | ends recovery: decoding is {IF enabled' THEN "on" ELSE "off"}
AcceptWrites STEP | startup process | lets others write
Decodable BROKEN c \in Creators if Usable(c) /\ spoilt[c] \cap {"status", "plain"} # {} | Behind the start of the slot of {c} lies {IF "status" \in
    spoilt[c] THEN "a record of a switch, on which decoding fails for good" ELSE "a change that cannot be decoded"}
RecordsAreTrue BROKEN c \in Creators if Usable(c) /\ "stale" \in spoilt[c] | Behind the start of the slot of {c} a running-xacts record lists a
    transaction that had ended before it
SlotsAreOn BROKEN c \in Creators if Usable(c) | There is a slot of {c}, and decoding is {IF enabled THEN "on" ELSE "off"}
EnabledWrites BROKEN | Decoding is on, and new transactions do not write what it needs
CreatedAtOnce BROKEN c \in Creators if pc[c] = "reserved" | The creation of the slot of {c} meets a record of a switch, and fails
MinimalIsOff BROKEN | The server runs with wal_level = minimal, and decoding is {IF enabled THEN "on" ELSE "off"}

module server
INNER top, status, changed, wal
Begin STEP | transaction {nextXid} | begins, and gets XID {nextXid}{IF XidOf(nextXid) = nextXid THEN "" ELSE " (on the ring: " \o
    ToString(XidOf(nextXid)) \o ")"}
BeginSub STEP t \in Xacts | transaction {t} | begins a subtransaction, which gets XID {nextXid}{IF XidOf(nextXid) = nextXid THEN "" ELSE " (on the
    ring: " \o ToString(XidOf(nextXid)) \o ")"}
Burn STEP n \in Nat \ {0} | other transactions | take {n} XIDs, and do nothing of interest. The next XID is {nextXid'}{IF XidOf(nextXid') = nextXid'
    THEN "" ELSE " (on the ring: " \o ToString(XidOf(nextXid')) \o ")"}
ChangeCatalog STEP x \in Xacts if top[x] = x | transaction {top[x]} -> WAL | changes the catalog: a table gets a column. A record says so
ChangeCatalog STEP x \in Xacts | transaction {top[x]} -> WAL | changes the catalog in its subtransaction {x}. A record says so
Commit STEP t \in Xacts if wal'[Len(wal')].subs = {} | transaction {t} -> WAL | writes its COMMIT record
Commit STEP t \in Xacts | transaction {t} -> WAL | writes its COMMIT record, which names the subtransactions {wal'[Len(wal')].subs}
EndCommit STEP t \in Xacts | transaction {t} | is over: it counts as committed, and runs no more
Abort STEP x \in Xacts if top[x] = x | transaction {top[x]} -> WAL | rolls back
Abort STEP x \in Xacts | transaction {top[x]} -> WAL | rolls back its subtransaction {x}
LogRunning STEP if OldestRunning = nextXid | checkpointer -> WAL | writes a record of the running transactions: there are none, and the next XID is
    {nextXid}
LogRunning STEP | checkpointer -> WAL | writes a record of the running transactions: the oldest is {OldestRunning}, and the next XID is {nextXid}

module slot
INNER next, received, serialized
Begin STEP | transaction {next} | begins
Change STEP x \in running | transaction {x} -> WAL | changes a row
Commit STEP x \in running | transaction {x} -> WAL | commits
LogRunning STEP | checkpointer -> WAL | writes a record of the running transactions: the oldest is {wal'[Len(wal')].xid}
CheckPoint STEP | checkpointer -> WAL | removes the WAL before record {removed'}, where the slot says that decoding may start again
Confirm STEP lsn \in 1..received | the client -> slot | confirms that it has all before record {lsn}. The slot starts again at record {slot'.restart},
    and keeps XIDs from {slot'.xmin} on
ReadChange STEP | decoder -> WAL | reads a change of transaction {wal[read'].xid}, and keeps it
ReadCommit STEP | decoder -> WAL | reads the COMMIT of transaction {wal[read'].xid}, and sends its changes
ReadRunning STEP if serialized = 0 | decoder -> WAL | reads a record of the running transactions, and takes its state from the file that it finds
    there
ReadRunning STEP | decoder -> WAL | reads a record of the running transactions, and stores its state in a file. The slot starts again at record
    {slot'.restart}, and keeps XIDs from {slot'.xmin} on
Restart STEP | decoder | ends, and starts again after record {read'}
SnapshotsAreKept BROKEN x \in DOMAIN buffer, y \in 1..(slot.xmin - 1) if Wanted(x) /\ ~Logs("commit", y, buffer[x].at) | The snapshot of transaction
    {x} takes transaction {y} as running; the slot keeps XIDs from {slot.xmin} on only, so VACUUM may remove rows that it sees
TakenAtOnce BROKEN | The client has confirmed all before record {slot.confirmed}, and the slot does not yet do what this allows
WalIsThere BROKEN | Decoding starts again at record {slot.restart}; the WAL before {removed} is gone
ReadsAllAgain BROKEN i \in 1..received if wal[i].type = "change" /\ Wanted(wal[i].xid) /\ slot.restart >= i | Decoding starts again at record
    {slot.restart}, and misses the change of transaction {wal[i].xid} in record {i}
PositionsGrow BROKEN | The slot went from restart {slot.restart} and xmin {slot.xmin} to restart {slot'.restart} and xmin {slot'.xmin}

module snapbuild
ReadNewCid SMALL if Gated of Read("new_cid", ReadNewCid) | decoder -> WAL | reads that {wal[read'].xid} changed the catalog, and does not note it in
    its state {state}
ReadNewCid SMALL of Read("new_cid", ReadNewCid) | decoder -> WAL | reads that {wal[read'].xid} changed the catalog, and notes it
ReadAbort SMALL of Read("abort", ReadAbort) | decoder -> WAL | reads the abort of {wal[read'].xid}, and forgets it
ReadCommit STEP if Gated of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and skips it: its state is {state},
    and it keeps commits from {GateAt} on
ReadCommit STEP if state = "START" of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and skips it: its state is
    START
ReadCommit STEP if state = "BUILDING_SNAPSHOT" /\ committed' = committed of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of
    {wal[read'].xid} (subtransactions: {wal[read'].subs}), and skips it: {wal[read'].xid} precedes {next_phase_at}, the next XID when the builder
    began, so it seems too old to matter
ReadCommit STEP if committed' # committed /\ xmax' = xmax of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and
    keeps it: committed is {committed'}. The end of its snapshots, xmax, stays {xmax}: XID {XidOf(wal[read'].xid)} seems to precede it
ReadCommit STEP if committed' # committed of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and keeps it:
    committed is {committed'}. The end of its snapshots, xmax, becomes {xmax'}
ReadCommit SMALL of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, which changed no catalog
ReadRunning STEP if AtLeast("CONSISTENT") of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions: the oldest is
    {xmin'}. It stores its state in a file, forgets what precedes, and stays CONSISTENT
ReadRunning STEP if wal[read'].oldest = wal[read'].next of Read("running", ReadRunning) | decoder -> WAL | reads that nothing runs: it jumps to
    CONSISTENT, and can decode from here on. Its snapshots begin and end at XID {xmax'}
ReadRunning STEP if state' = "CONSISTENT" /\ MayRestore /\ read' \in DOMAIN disk of Read("running", ReadRunning) | decoder -> WAL | reads a record of
    the running transactions, finds the file that it stored there, and takes its state from it: CONSISTENT, with committed {committed'}
ReadRunning STEP if state = "START" of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions: the oldest is
    {wal[read'].oldest}. It begins to build (BUILDING_SNAPSHOT), and waits for all that precede XID {next_phase_at'}
ReadRunning STEP if state' = "FULL_SNAPSHOT" /\ state # state' of Read("running", ReadRunning) | decoder -> WAL | reads that all it waited for are
    over: FULL_SNAPSHOT. Its snapshots begin at XID {xmin'}. It waits for all that precede XID {next_phase_at'}
ReadRunning STEP if state' = "CONSISTENT" of Read("running", ReadRunning) | decoder -> WAL | reads that all it waited for are over: CONSISTENT. It can
    decode from here on
ReadRunning STEP of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions. It still waits for those that precede
    {next_phase_at}
Change STEP | decoder | needs a snapshot to decode a change, and builds one: it begins at {xmin}, ends before {xmax}, and shows {snapshot'.xip}
Restart STEP | decoder | ends, and starts again from record {read' + 1}
AnotherSlot STEP lsn \in 0..Len(wal) of CreateSlot(lsn, {}) | decoder | another slot is created: its builder begins after record {lsn}
CachedSnapshotExact BROKEN x \in changed if snapshot # None /\ TRUE /\ x \in CommittedBy(read) /\ ~Sees(snapshot, x) | Transaction {x}$ring changed
    the catalog, has committed, and the decoder has read its COMMIT. But its snapshot begins at {snapshot.xmin}, ends before {snapshot.xmax}, and
    shows these in between: {snapshot.xip}. So it takes transaction {x} as still running: a row is decoded without the column that this added, or its
    table is not found
CachedSnapshotExact BROKEN x \in changed if snapshot # None /\ TRUE /\ x \notin CommittedBy(read) /\ Sees(snapshot, x) | Transaction {x}$ring changed
    the catalog, and the decoder has not read its COMMIT. But its snapshot shows it: it begins at {snapshot.xmin}, ends before {snapshot.xmax}, and
    shows these in between: {snapshot.xip}
NextSnapshotExact BROKEN x \in changed if TRUE /\ x \in CommittedBy(read) /\ ~Sees(Snapshot(xmin, xmax, committed), x) | Transaction {x}$ring changed
    the catalog, has committed, and the decoder has read its COMMIT. But its snapshot begins at {Snapshot(xmin, xmax, committed).xmin}, ends before
    {Snapshot(xmin, xmax, committed).xmax}, and shows these in between: {Snapshot(xmin, xmax, committed).xip}. So it takes transaction {x} as still
    running: a row is decoded without the column that this added, or its table is not found
NextSnapshotExact BROKEN x \in changed if TRUE /\ x \notin CommittedBy(read) /\ Sees(Snapshot(xmin, xmax, committed), x) | Transaction {x}$ring
    changed the catalog, and the decoder has not read its COMMIT. But its snapshot shows it: it begins at {Snapshot(xmin, xmax, committed).xmin}, ends
    before {Snapshot(xmin, xmax, committed).xmax}, and shows these in between: {Snapshot(xmin, xmax, committed).xip}

module snapbuild_ring
NOTE | XIDs go round a ring of {Size}: after {Size - 1} comes {FirstNormal}. Of two XIDs that precedes which is less than half a ring ({Half}) behind.
    XID {FirstXid + Half} is {XidOf(FirstXid + Half)} on the ring, half a ring from {XidOf(FirstXid)}: as far ahead of it as behind it
ReadNewCid SMALL if Gated of Read("new_cid", ReadNewCid) | decoder -> WAL | reads that {wal[read'].xid} changed the catalog, and does not note it in
    its state {state}
ReadNewCid SMALL of Read("new_cid", ReadNewCid) | decoder -> WAL | reads that {wal[read'].xid} changed the catalog, and notes it
ReadAbort SMALL of Read("abort", ReadAbort) | decoder -> WAL | reads the abort of {wal[read'].xid}, and forgets it
ReadCommit STEP if Gated of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and skips it: its state is {state},
    and it keeps commits from {GateAt} on
ReadCommit STEP if state = "START" of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and skips it: its state is
    START
ReadCommit STEP if state = "BUILDING_SNAPSHOT" /\ committed' = committed of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of
    {wal[read'].xid} (subtransactions: {wal[read'].subs}), and skips it: {wal[read'].xid} precedes {next_phase_at}, the next XID when the builder
    began, so it seems too old to matter
ReadCommit STEP if committed' # committed /\ xmax' = xmax of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and
    keeps it: committed is {committed'}. The end of its snapshots, xmax, stays {xmax}: XID {XidOf(wal[read'].xid)} seems to precede it
ReadCommit STEP if committed' # committed of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, and keeps it:
    committed is {committed'}. The end of its snapshots, xmax, becomes {xmax'}
ReadCommit SMALL of Read("commit", ReadCommit) | decoder -> WAL | reads the COMMIT of {wal[read'].xid}, which changed no catalog
ReadRunning STEP if AtLeast("CONSISTENT") of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions: the oldest is
    {xmin'}. It stores its state in a file, forgets what precedes, and stays CONSISTENT
ReadRunning STEP if wal[read'].oldest = wal[read'].next of Read("running", ReadRunning) | decoder -> WAL | reads that nothing runs: it jumps to
    CONSISTENT, and can decode from here on. Its snapshots begin and end at XID {xmax'}
ReadRunning STEP if state' = "CONSISTENT" /\ MayRestore /\ read' \in DOMAIN disk of Read("running", ReadRunning) | decoder -> WAL | reads a record of
    the running transactions, finds the file that it stored there, and takes its state from it: CONSISTENT, with committed {committed'}
ReadRunning STEP if state = "START" of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions: the oldest is
    {wal[read'].oldest}. It begins to build (BUILDING_SNAPSHOT), and waits for all that precede XID {next_phase_at'}
ReadRunning STEP if state' = "FULL_SNAPSHOT" /\ state # state' of Read("running", ReadRunning) | decoder -> WAL | reads that all it waited for are
    over: FULL_SNAPSHOT. Its snapshots begin at XID {xmin'}. It waits for all that precede XID {next_phase_at'}
ReadRunning STEP if state' = "CONSISTENT" of Read("running", ReadRunning) | decoder -> WAL | reads that all it waited for are over: CONSISTENT. It can
    decode from here on
ReadRunning STEP of Read("running", ReadRunning) | decoder -> WAL | reads a record of the running transactions. It still waits for those that precede
    {next_phase_at}
Change STEP | decoder | needs a snapshot to decode a change, and builds one: it begins at {xmin}, ends before {xmax}, and shows {snapshot'.xip}
Restart STEP | decoder | ends, and starts again from record {read' + 1}
CachedSnapshotExact BROKEN x \in changed if snapshot # None /\ nextXid - x < Half /\ x \in CommittedBy(read) /\ ~Sees(snapshot, x) | Transaction
    {x}$ring changed the catalog, has committed, and the decoder has read its COMMIT. But its snapshot begins at {snapshot.xmin}, ends before
    {snapshot.xmax}, and shows these in between: {snapshot.xip}. So it takes transaction {x} as still running: a row is decoded without the column
    that this added, or its table is not found
CachedSnapshotExact BROKEN x \in changed if snapshot # None /\ nextXid - x < Half /\ x \notin CommittedBy(read) /\ Sees(snapshot, x) | Transaction
    {x}$ring changed the catalog, and the decoder has not read its COMMIT. But its snapshot shows it: it begins at {snapshot.xmin}, ends before
    {snapshot.xmax}, and shows these in between: {snapshot.xip}
NextSnapshotExact BROKEN x \in changed if nextXid - x < Half /\ x \in CommittedBy(read) /\ ~Sees(Snapshot(xmin, xmax, committed), x) | Transaction
    {x}$ring changed the catalog, has committed, and the decoder has read its COMMIT. But its snapshot begins at {Snapshot(xmin, xmax,
    committed).xmin}, ends before {Snapshot(xmin, xmax, committed).xmax}, and shows these in between: {Snapshot(xmin, xmax, committed).xip}. So it
    takes transaction {x} as still running: a row is decoded without the column that this added, or its table is not found
NextSnapshotExact BROKEN x \in changed if nextXid - x < Half /\ x \notin CommittedBy(read) /\ Sees(Snapshot(xmin, xmax, committed), x) | Transaction
    {x}$ring changed the catalog, and the decoder has not read its COMMIT. But its snapshot shows it: it begins at {Snapshot(xmin, xmax,
    committed).xmin}, ends before {Snapshot(xmin, xmax, committed).xmax}, and shows these in between: {Snapshot(xmin, xmax, committed).xip}

module standby
INNER top, status, reported, twice, logged, clog
Begin STEP | transaction {next} | begins, and gets XID {next}
BeginSub STEP t \in Xacts | transaction {t} | begins a subtransaction, which gets XID {next}
Report STEP t \in Xacts | transaction {t} -> standby | reports its subtransactions {Unreported(t)} in a record. The standby moves them to pg_subtrans:
    it knows as running {known'}
Write STEP x \in Xacts | transaction {top[x]} -> standby | writes a record with XID {x}. The standby knows as running {known'}
Pass STEP | another transaction -> standby | begins, writes and ends: XID {next}
StartPrepare STEP t \in Xacts | transaction {t} -> standby | is being prepared: it stands in the array twice
EndPrepare STEP | transaction {twice} | is prepared; no session has it any more
End STEP x \in Xacts, how \in {"committed", "aborted"} if top[x] = x | transaction {x} -> standby | is over: {how}. The standby knows as running
    {known'}
End STEP x \in Xacts, how \in {"committed", "aborted"} | transaction {top[x]} -> standby | rolls back its subtransaction {x}. The standby knows as
    running {known'}
StandBy STEP | standby | begins to replay at a checkpoint, which says that the next XID is {observed'}
LogRunning STEP | checkpointer -> standby | writes a record of the running transactions{IF Overflowed THEN ", without subtransactions: there are too
    many" ELSE ""}. The standby is {state'}, and knows as running {known'}
Shutdown STEP if status' # status | checkpointer -> standby | crashes, and starts again: only prepared transactions are left. The standby is {state'},
    and knows as running {known'}
Shutdown STEP | checkpointer -> standby | shuts down: only prepared transactions are left. The standby is {state'}, and knows as running {known'}
RunningAreInProgress BROKEN x \in Living if ~InProgress(x) | Transaction {x} is running, and a snapshot on the standby takes it as over: clog is
    read, and may set hint bits that are wrong
CommittedAreNot BROKEN x \in Committed if InProgress(x) | Transaction {x} has committed, and a snapshot on the standby takes it as running
OverflowedForAReason BROKEN | The snapshot counts as overflowed up to {overflow}, and nothing from then runs: the oldest is {SnapshotXmin}
FitsTwice BROKEN t \in Xacts if Cardinality(Of(t)) > 1 + 2 * Cached | Of transaction {t} the array has {Of(t)}
Fits BROKEN t \in Xacts if Cardinality(Of(t)) > 1 + Cached | Of transaction {t} the array has {Of(t)}: more than its places
StaleGo BROKEN x \in known' if status'[x] \in {"committed", "aborted"} /\ ~\E y \in Xacts : y < x /\ status'[y] \in {"running", "prepared"} |
    Transaction {x} is over, nothing older runs, and the array still has it
CommitsAreKept BROKEN x \in Committed \ clog | The commit of transaction {x} is lost from pg_xact

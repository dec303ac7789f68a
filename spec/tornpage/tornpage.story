\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of tornpage, and of what is broken: spec/tools/sentences.py has the form.

module MCtornpage
VIA MCNext

module tornpage
INNER next, disklog, wrote, stage, seenarea, seenlog, areacache, logcache, seencontrol, copy, history, wal, seen
NOTE | The page has the sectors {Sectors}. It is protected by: {Protection}
Change STEP if wal'[Len(wal')].image | server | changes the page: version {next}, in record {Len(wal')} of the log, which has an image of the page.
    Nothing of it is written yet
Change STEP | server | changes the page: version {next}, in record {Len(wal')} of the log. Nothing of it is written yet
WriteLog STEP | server -> log | writes the log up to record {Len(wal)}: the kernel has it, the device may not
SyncLog STEP | server -> log | syncs the log: up to record {wrote} it is durable
Acknowledge STEP | server | promises the client all changes up to record {acked'}
WriteArea STEP | server -> area | writes a copy of the page, version {mem[1].v}, to the area
SyncArea STEP | server -> area | syncs the area: the copy is durable
WriteInPlace STEP | server -> page file | writes the page in place, version {seen'[1].v}: the kernel has it, the device may not
SyncPage STEP | server -> page file | syncs the page file: the page is durable
BeginCheckpoint STEP | checkpointer | begins a checkpoint: recovery is to begin after record {redo'}
PageWritten SMALL | checkpointer | sees that the page has been written
EndCheckpoint STEP | checkpointer -> control file | ends the checkpoint: the control file says that recovery begins after record {control'.redo}
PowerLoss STEP | power loss -> page file | memory is gone. Of what was not synced each sector may have been written or not. The page's versions on the
    device, by sector: {[s \in Sectors |-> disk'[s].v]}
Kill STEP | kill -> server | the process ends. The files stay as they were written
ControlFails STEP | kernel -> control file | a sync of the control file fails, and the server stops. It reads as written, and is not durable
Forget STEP | kernel | takes for clean what it could not write: it will not be written again. The page's versions on the device, by sector: {[s \in
    Sectors |-> disk'[s].v]}
Evict STEP | kernel | drops what counts as clean from its cache: it is read from the device again. The page's versions as read, by sector: {[s \in
    Sectors |-> seen'[s].v]}
Read STEP | server | starts again, reads all files, and replays the log from record {seencontrol.redo + 1} to {Len(wal')}. The page's versions, by
    sector: {[s \in Sectors |-> mem'[s].v]}
WriteLogAgain SMALL | server -> log | writes the log that it has read once more
SyncLogAgain SMALL | server -> log | syncs it
WriteAreaAgain SMALL | server -> area | writes the copy in the area once more, if there is one
Recycle SMALL | server -> log | writes over the records of before the redo point: {1..seencontrol.redo}
EndRecovery STEP | server -> control file | ends the recovery, and serves clients again
NoMixture BROKEN | The page is a mixture. Its versions, by sector: {[s \in Sectors |-> mem[s].v]}
WasThere BROKEN | The page has version {mem[1].v} and LSN {mem[1].lsn}. It never had this: its versions were {history}
NotAhead BROKEN | The page has LSN {mem[1].lsn}, and the log ends at {Len(wal)}
DurableSurvives BROKEN | All up to record {acked} was promised, and the page has only what lies up to record {mem[1].lsn}
AckedIsDurable BROKEN p \in 1..acked if ~(p <= control.redo \/ disklog[p].payload /\ disklog[p].v = history[p]) | Record {p} was promised, and is not
    durable
SyncedIsDurable BROKEN | The page was synced, and the device has other versions, by sector: {[s \in Sectors |-> disk[s].v]}

module MCdoublewrite
VIA MCNext, UserChanges

module doublewrite
VIA Failures
INNER mem, newest, cache, seen, areaMay, areaSeen, dirMay, listed, call, owner, made
NOTE | File 1 has the pages {Pages}, of zeroes. A batch has {Room} of them at most
Write STEP k \in K | server -> mount | writes page {k[2]} of file {k[1]}: {3 * Change + 2}. It waits in memory
Extend STEP k \in K | server -> mount | makes file {k[1]} longer by page {k[2]}, of zeroes
ReadBelow STEP k \in K | reader | finds page {k[2]} of file {k[1]} not in memory, and is about to read the file
ReadEnds SMALL | reader | has read it
Create STEP n \in Names | server -> mount | makes file {made'}, of name {n}
Fsync STEP c \in Callers, f \in Files | fsync {c} -> mount | wants to sync file {f}
Acquire SMALL c \in Callers | fsync {c} | has the lock of the write-back
Flusher SMALL | flusher | has the lock of the write-back
Cut SMALL k \in K | server -> mount | is to cut file {k[1]}, and has the lock of the write-back
Rename SMALL n \in Names, m \in Names \union {Nobody} | server -> mount | is to take away the name {n}, and has the lock of the write-back
Retry STEP | mount | takes up the batch that waits since a failure
AllDone SMALL | mount | has written back all, and gives the lock back
WriteArea STEP b \in SUBSET K | mount -> area | syncs the directories, and writes a batch to the area: {batch'}
WriteAreaFails STEP b \in SUBSET K | mount -> area | fails to write a batch to the area. It reads as {areaSeen'}
SyncArea STEP | mount -> area | syncs the area: the batch is durable
SyncAreaFails STEP | mount -> area | fails to sync the area. What is durable there: {areaDisk'}
WriteInPlace STEP | mount -> files | writes the batch in place
WriteInPlaceFails STEP | mount -> files | fails to write the batch in place
SyncInPlace STEP | mount -> files | syncs the files of the batch. Its pages leave memory, but those that were written meanwhile
SyncInPlaceFails STEP | mount -> files | fails to sync the files of the batch
SyncFile STEP c \in Callers | fsync {c} | syncs the size of file {call[c].file}, and returns
SyncFileFails STEP c \in Callers | fsync {c} | fails to sync the size of file {call[c].file}, and tells so
ForgetFirst SMALL | mount | looks whether the area has pages of the file
EmptyArea STEP | mount -> area | empties the area, durably
EmptyAreaFails STEP | mount -> area | fails to empty the area
CutNow STEP | mount -> files | cuts the file
RenameNow STEP | mount -> directory | changes the name. File by name: {dir'}
Kill STEP | kill -> mount | the program ends. The files stay as they were written
PowerLoss STEP | power loss -> files | memory is gone. What is durable of the pages: {disk'}; of the area: {areaDisk'}; file by name: {dir'}
Evict STEP | kernel | reads from the device again what it has forgotten
Read STEP if phase' = "read" | next mount -> area | finds a whole batch: {areaSeen}
Read STEP | next mount -> area | finds no whole batch
RewriteArea STEP | next mount -> area | writes it to the area again, and syncs it
RewriteAreaFails STEP | next mount -> area | fails to write it there again, and ends
Replay STEP | next mount -> files | writes its pages in place
SyncReplayed STEP | next mount -> files | syncs their files
SyncReplayedFails STEP | next mount -> files | fails to sync their files, and ends
EndRecovery STEP | next mount -> area | empties the area, and serves again
EndRecoveryFails STEP | next mount -> area | fails to empty the area, and ends
NeverTorn BROKEN k \in K if HasName(k) /\ ~IsWhole(View(k)) | Page {k[2]} of file {k[1]} is torn: {View(k)}
SyncedSurvives BROKEN k \in K if HasName(k) /\ View(k)[1] < promised[k] | Page {k[2]} of file {k[1]} is {View(k)[1]}; an fsync has covered {promised[k]}
WasWrittenThere BROKEN k \in K if HasName(k) /\ View(k)[1] >= 3 /\ k \notin owner[View(k)[1] \div 3] | Page {k[2]} of file {k[1]} has what was written to
    another file
ReadsNewest BROKEN k \in K if View(k) # Whole(newest[k]) | Page {k[2]} of file {k[1]} reads as {View(k)}; {newest[k]} was written last
CopyIsKept BROKEN | Pages may be torn in place, and the area has, durably: {areaDisk}
AreaIsListed BROKEN | After a power loss the area may have pages of {UNION {FilesOf(b) : b \in {areaDisk, areaSeen} \union areaMay}}, and the files
    {listed} are listed
NoReadBesideAWrite BROKEN | Page {reader[2]} of file {reader[1]} is read from the file while it is written there
RecoveryIsIdempotent BROKEN | The next recovery does not find what this one has found
FsyncEnds BROKEN | An fsync waits for ever

module datachecksums
VIA Launcher, Worker, Copier, Recovery
INNER left, causes, wal, at, minrec, boot, result, pid, invocation, ckpt, asked, launcher, running, worker
NOTE | The state is {wal[1][2]}
Absorb STEP p \in All | {p} | takes note: its state is {local'[p]}
Enter STEP p \in All | {p} | starts, with the postmaster's old state: {local'[p]}
ReadState STEP p \in All | {p} | reads the state: {local'[p]}
Change STEP n \in Nodes, page \in Pages | {n} | a transaction changes page {page}
Flush STEP p \in All, page \in Pages | {p} -> disk | writes page {page}: it is {disk'[NodeOf(p)][page]}
CopyBegins STEP | CREATE DATABASE | finds that it may copy files
CopyHasXid STEP | CREATE DATABASE | has an XID, and looks again: {IF copier' = "copying" THEN "it may" ELSE "it may not"}
CopyFiles STEP | CREATE DATABASE -> disk | copies the files: {disk'["primary"]}
BeginCheckpoint STEP | checkpointer -> WAL | begins a checkpoint: its record says {wal'[Len(wal')][2]}
EndCheckpoint STEP | checkpointer -> WAL | ends it: recovery would begin at record {lastredo'["primary"]}
RestartPoint STEP | standby | has a restartpoint: recovery would begin at record {lastredo'["standby"]}
Ask STEP op \in {"enable", "disable"} | client | asks to {op} checksums
Begin STEP l \in Launchers | launcher {l} | {IF launcher'[l].step = "done" THEN "has nothing to do" ELSE "is to switch to " \o launcher'[l].to}
Record STEP l \in Launchers | launcher {l} -> WAL | writes the record of the switch to {launcher[l].to}
Publish STEP l \in Launchers | launcher {l} | sets the state in shared memory: {launcher[l].to}
EmitBarrier STEP l \in Launchers | launcher {l} | writes pg_control, and tells all processes: {launcher[l].to}
WaitEnds STEP l \in Launchers | launcher {l} | sees that all have taken note of {launcher[l].to}
StartWorker STEP l \in Launchers | launcher {l} -> worker {invocation'} | starts it
SeesRunning STEP l \in Launchers | launcher {l} | sees that worker {invocation} runs
SeesStopped STEP l \in Launchers | launcher {l} | sees that worker {invocation} has ended. {IF launcher'[l].op = "exit"
    THEN "It gives up" ELSE "It goes on"}
Killed STEP l \in Launchers | launcher {l} | is terminated, and is to clean up
Done STEP l \in Launchers | launcher {l} | has done what it was to do{IF launcher'[l].step = "begin" THEN ", and takes the next request" ELSE ""}
Exited STEP l \in Launchers | launcher {l} | is gone{IF launcher'[l].step = "begin" THEN ", and another one takes the next request" ELSE ""}
Process STEP i \in 1..Invocations, page \in Pages if worker'[i].step = "running" | worker {i} -> WAL | makes page {page} dirty, and logs its image
Process STEP i \in 1..Invocations, page \in Pages | worker {i} | is told to abort
WorkerEnds STEP i \in 1..Invocations | worker {i} | has done all pages. The result is: {result'}
WorkerFails STEP i \in 1..Invocations | worker {i} | fails
CrashPrimary STEP | crash -> primary | memory is gone. pg_control says {control["primary"]}
CrashStandby STEP | crash -> standby | memory is gone. pg_control says {control["standby"]}
ReplayState STEP n \in Nodes | startup process of the {n} | replays the switch to {shared'[n]}
ReplayRedo STEP n \in Nodes | startup process of the {n} | replays the begin of a checkpoint: the state is {shared'[n]}
ReplayEnd SMALL n \in Nodes | startup process of the {n} | replays the end of a checkpoint: the state is {shared'[n]}
ReplayPage STEP n \in Nodes | startup process of the {n} | replays page {ToReplay(n)[2]}, in the state {shared[n]}
ReplayCopy STEP n \in Nodes | startup process of the {n} -> disk | copies the files: {disk'[n]}
EndRecovery STEP n \in Nodes | startup process of the {n} | ends recovery: the state is {shared'[n]}
AcceptWrites SMALL n \in Nodes | startup process of the {n} | lets others write
NoFalseFailure BROKEN n \in Nodes, page \in Pages if page \notin dirty[n] /\ disk[n][page] = "plain" /\ Verifies(n, page) | Page
    {page} of the {n} has a wrong checksum on disk, and who reads it verifies it
NoRefusal BROKEN p \in All if AllMoves(p) = "error" | {p} has state {local[p]}, and refuses one of the barriers {pending[p]}
SameForAll BROKEN n \in Nodes, p \in All if local[p] # shared[n] | {p} has state {local[p]}, and new processes have {shared[n]}
FailsForACause BROKEN | The enabling is given up, and nothing has cancelled it
NoRequestLost BROKEN | The request to {request} is taken by nobody

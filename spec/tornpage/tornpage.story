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

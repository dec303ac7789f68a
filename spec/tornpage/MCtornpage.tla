\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE MCtornpage -----------------------------
(* tornpage with bounds, and definitions that are wrong on purpose.         *)
EXTENDS tornpage

CONSTANTS Changes, Crashes

VARIABLE crashes
mcvars == <<vars, crashes>>

\* So many changes in all, and so many kills, power losses and failures of the control file.
MCInit == Init /\ crashes = 0
MCNext ==
    \/ crashes < Crashes /\ (PowerLoss \/ Kill \/ ControlFails) /\ crashes' = crashes + 1
    \/ next <= Changes /\ Change /\ UNCHANGED crashes
    \/ /\ \/ WriteLog \/ SyncLog \/ Acknowledge \/ WriteArea \/ SyncArea \/ WriteInPlace \/ SyncPage
          \/ BeginCheckpoint \/ PageWritten \/ EndCheckpoint \/ Forget \/ Evict
          \/ Read \/ WriteLogAgain \/ SyncLogAgain \/ WriteAreaAgain \/ Recycle \/ EndRecovery
       /\ UNCHANGED crashes
MCSpec == MCInit /\ [][MCNext]_mcvars

TwoSectors == {1, 2}
FourSectors == {1, 2, 3, 4}

-----------------------------------------------------------------------------
\* Wrong on purpose.
Always == TRUE
\* Two changes are the same.
SameChange == next
\* A sync of the page that writes nothing.
SyncsNothing ==
    /\ Writing /\ unsynced /\ stage = "idle"
    /\ cache' = {} /\ unsynced' = FALSE
    /\ UNCHANGED <<phase, mem, first, wal, wrote, flushed, stage, copy, redo, checkpoint, disk, seen, areafile, logfile,
                   controlfile, promise>>
\* An image only once a change after the checkpoint has made none.
AtTheSecond == mem[1].lsn > redo
\* The redo point is taken when the page has been written.
AsBefore == redo
WrittenAndRedo ==
    /\ phase = "up" /\ checkpoint = "begun" /\ stage = "idle" /\ WrittenUpTo(redo)
    /\ checkpoint' = "written" /\ redo' = Len(wal)
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, stage, copy, files, promise>>
\* Promised as soon as it was given to the system.
AsWritten == phase = "up" /\ acked < wrote /\ acked' = wrote /\ UNCHANGED <<phase, memory, files, history, next>>
\* The epoch stays.
SameEpoch == seencontrol.epoch
\* A checkpoint counts a page as written that is older.
AnyPage(lsn) == TRUE
\* The device tears also where it claims to be atomic.
TearsAlways == TRUE
\* Recovery relies on the log, or on pages, that it has read.
NoPositions(from, to) == {}
IfOlder(from, to) == IF seen # mem' THEN from ELSE 0
\* Recovery relies on the control file that it has read.
LeavesControl ==
    /\ phase = "read"
    /\ logcache' = logcache \union LogAgain(seencontrol.redo + 1, Len(wal))
    /\ phase' = "again"
    /\ UNCHANGED <<memory, pagefile, areafile, disklog, seenlog, controlfile, promise>>
\* And on the area.
LeavesArea ==
    /\ phase = "logged" /\ phase' = "replayed"
    /\ stage' = IF copy # Empty THEN "safe" ELSE stage
    /\ UNCHANGED <<mem, first, unsynced, wal, wrote, flushed, copy, redo, checkpoint, files, promise>>
\* A checkpoint ends, and the control file is not written.
EndsUnrecorded ==
    /\ phase = "up" /\ checkpoint = "written" /\ PageIsDurable
    /\ checkpoint' = "none"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, stage, copy, redo, files, promise>>
\* The area is read from the device while what was written to it may still come there.
EvictsAny ==
    /\ phase = "down" /\ seenarea # area /\ seenarea' = area
    /\ UNCHANGED <<phase, memory, pagefile, area, areacache, logfile, controlfile, promise>>
\* More changes are promised than there were.
MoreThanAll ==
    phase = "up" /\ acked <= Len(history) /\ acked' = Len(history) + 1 /\ UNCHANGED <<phase, memory, files, history, next>>
\* The redo point is still there after a fault.
KeepsRedo ==
    /\ phase' = "down"
    /\ mem' = Whole(Empty) /\ first' = 0 /\ unsynced' = FALSE
    /\ wal' = <<>> /\ wrote' = 0 /\ flushed' = 0
    /\ stage' = "idle" /\ copy' = Empty /\ redo' = redo /\ checkpoint' = "none"
    /\ UNCHANGED promise

-----------------------------------------------------------------------------
\* Denials of states that must be reached.
NeverTorn == phase = "down" => IsWhole(disk)
NeverTornArea == phase = "down" => IsWhole(area)
NeverTornRecord == phase = "down" => \A p \in Positions : disklog[p].payload \/ disklog[p].epoch = 0
NeverStale == phase = "up" => \A p \in Positions : disklog[p].epoch \in {0, control.epoch} \/ p <= Len(wal)
NeverImageAfterImage == ~\E p, q \in 1..Len(wal) : p < q /\ wal[p].image /\ wal[q].image
NeverCrashInRecovery == ~(phase = "replayed" /\ crashes = 2 /\ cache # {})
\* What is read is not durable, and no sync will make it so.
NeverForgotten == phase = "read" => seen = disk \/ cache # {}
NeverForgottenLog == phase = "read" => seenlog = disklog \/ logcache # {}
NeverRecycled == phase = "down" => \A p \in 1..control.redo : disklog[p] # Blank
NeverForgottenControl == phase = "read" => seencontrol = control
NeverForgottenEpoch == phase = "read" => seencontrol.epoch = control.epoch
\* The area is read whole, and a write of it that failed has torn what is durable.
NeverForgottenTornArea == phase = "down" /\ crashes = 1 => IsWhole(area) \/ ~IsWhole(seenarea)
NeverDurable == crashes = 0 => disk = Whole(Empty)
NeverCheckpointed == crashes = 0 => control.redo = 0
NeverFull == \E p \in Positions : p > Len(wal)
\* A record that was not synced is lost, or torn, in each power loss.
NeverKeptUnsynced ==
    [][phase # "down" /\ phase' = "down" /\ logcache' = {} =>
         \A p \in logcache : seenlog[p] # disklog[p] => disklog'[p] # seenlog[p]]_vars
=============================================================================

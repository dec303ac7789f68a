\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE tornpage ------------------------------
(* A page of several sectors, its log, a kill after which the kernel's      *)
(* cache is still there, and a power loss that keeps any subset of what is  *)
(* not durable yet.                                                         *)
(*                                                                          *)
(* What is modelled: changes to one page; the log, whose records tear too;  *)
(* writes of the page in place, a double-write area, a device that writes   *)
(* the whole page or nothing; checkpoints spread over time; kill and power  *)
(* loss; failed syncs, after which the kernel has forgotten what was        *)
(* written: it is read, until it is evicted, and never becomes durable;     *)
(* recovery in steps, with faults in it. A sector holds the page's state of *)
(* when it was written: the change it contains, and its LSN.                *)
(* What is simplified: one page; a record is one position of the log, with  *)
(* a header and a payload that tear apart; the control file is one sector;  *)
(* a write is cut by a power loss only; a failed sync ends the process, so  *)
(* it is a kill, and then the kernel forgets. The kernel also forgets when  *)
(* no process is there to see the error.                                    *)
(* The checksum of a page, and the CRC of a record, see every difference.   *)
(* Departures from upstream (full_page_writes; the area is not PostgreSQL's)*)
(*   - Recovery writes again the control file, the log and the pages that it*)
(*     has read; upstream relies on them. MCtornpage_mutant_control_not_again,*)
(*     _log_not_again and _page_not_again fail, after a failed sync that the*)
(*     kernel has forgotten, and a power loss.                              *)
(*   - Records have an epoch: without MCtornpage_mutant_same_epoch fails.   *)
(*     Upstream tells old records by page addresses, and by the record      *)
(*     before, which one position a record has not.                         *)
(*   - The log is written over by recovery's mark alone. Not tried while the*)
(*     server is up: the control file is durable then (RedoIsRecorded), and *)
(*     nothing reads before its redo point.                                 *)
(*   - The control file is one sector; of its two slots in C, as upstream   *)
(*     has none, one is always whole. Not tried: a sector does not tear.    *)
(* How to break it: write in place before the area is durable               *)
(* (PlaceAllowed), let a record be valid by its header (IsValid), take the  *)
(* redo point at the end (RedoAtBegin, PageWritten), log no image at the    *)
(* first change (NeedsImage), let recovery keep the epoch (NextEpoch), or   *)
(* rely on what it read and has not written (WriteLogAgain, WriteAreaAgain, *)
(* FirstAfter).                                                             *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Sectors,      \* 1..n; the first one has the page's header
    Protection,   \* "none", "images", "double" or "atomic"
    Positions     \* 1..n, of the log

VARIABLES
    phase,      \* "up", "down"; recovery: "read", "again" (the log is written again), "logged", "replayed"
    mem,        \* the page in memory: sector -> content
    first,      \* LSN of its first change that is not written back; 0: none
    unsynced,   \* it was written in place since the last sync, or that is not known
    wal,        \* the log in memory, from the first position on
    wrote,      \* so many records were given to the system
    flushed,    \* so many were synced
    stage,      \* of writing the page: "idle", "area" (written there), "safe" (and synced)
    copy,       \* what is being written; in recovery, what the area gave back
    redo,       \* where the replay would begin after the checkpoint that has begun
    checkpoint, \* "none", "begun", "written"
    disk,       \* the page on the device: sector -> durable content
    cache,      \* contents of the page that were written and are not durable, and may become so
    seen,       \* sector -> what is read
    area,       \* the same three for the double-write area
    areacache,
    seenarea,
    disklog,    \* position -> what is durable there
    logcache,   \* positions that were written and are not durable, and may become so
    seenlog,    \* position -> what is read
    control,    \* durable: where the replay begins, and the epoch
    seencontrol,\* what is read
    history,    \* the changes that the page has had, in their order
    acked,      \* so many of them were promised to be durable
    next        \* the number of the next change: never used twice

memory == <<mem, first, unsynced, wal, wrote, flushed, stage, copy, redo, checkpoint>>
pagefile == <<disk, cache, seen>>
areafile == <<area, areacache, seenarea>>
logfile == <<disklog, logcache, seenlog>>
controlfile == <<control, seencontrol>>
files == <<pagefile, areafile, logfile, controlfile>>
promise == <<history, acked, next>>
vars == <<phase, memory, files, promise>>

Junk == -1
Empty == [v |-> 0, lsn |-> 0]
Whole(content) == [s \in Sectors |-> content]
IsWhole(page) == \A s, t \in Sectors : page[s] = page[t]
Blank == [image |-> FALSE, v |-> 0, prev |-> 0, epoch |-> 0, payload |-> FALSE]
Contents == [v : Int, lsn : Nat]
Records == [image : BOOLEAN, v : Nat, prev : Int, epoch : Nat, payload : BOOLEAN]
Controls == [redo : Nat, epoch : Nat]

TypeOK ==
    /\ phase \in {"up", "down", "read", "again", "logged", "replayed"}
    /\ mem \in [Sectors -> Contents] /\ first \in Nat /\ unsynced \in BOOLEAN
    /\ wrote \in 0..Len(wal) /\ flushed \in 0..wrote
    /\ stage \in {"idle", "area", "safe"} /\ copy \in Contents
    /\ checkpoint \in {"none", "begun", "written"}
    /\ \A page \in {disk, seen, area, seenarea} : page \in [Sectors -> Contents]
    /\ cache \subseteq Contents /\ areacache \subseteq Contents
    /\ disklog \in [Positions -> Records] /\ seenlog \in [Positions -> Records] /\ logcache \subseteq Positions
    /\ control \in Controls /\ seencontrol \in Controls
    /\ phase # "down" => seencontrol.redo <= redo
    /\ acked \in 0..Len(history)

Nothing ==
    /\ mem = Whole(Empty) /\ first = 0 /\ unsynced = FALSE
    /\ wal = <<>> /\ wrote = 0 /\ flushed = 0
    /\ stage = "idle" /\ copy = Empty /\ redo = 0 /\ checkpoint = "none"

Init ==
    /\ phase = "up" /\ Nothing
    /\ disk = Whole(Empty) /\ seen = disk /\ cache = {}
    /\ area = disk /\ seenarea = disk /\ areacache = {}
    /\ disklog = [p \in Positions |-> Blank] /\ seenlog = disklog /\ logcache = {}
    /\ control = [redo |-> 0, epoch |-> 1] /\ seencontrol = control
    /\ history = <<>> /\ acked = 0 /\ next = 1

-----------------------------------------------------------------------------
\* Rules that broken models replace.
NeedsImage == mem[1].lsn <= redo
LogIsDurable == flushed >= mem[1].lsn
AreaIsFree == stage = "idle"
NextChange == next + 1
PlaceAllowed == stage = "safe"
RedoAtBegin == Len(wal)
PageIsDurable == ~unsynced
WrittenUpTo(lsn) == first = 0 \/ first > lsn
IsValid(record) == record.payload
NextEpoch == seencontrol.epoch + 1
AreaCounts == IsWhole(seenarea)
Tearing == Protection # "atomic"
LogAgain(from, to) == {p \in Positions : from <= p /\ p <= to}
FirstAfter(from, to) == IF from <= to THEN from ELSE 0

-----------------------------------------------------------------------------
\* The log.
Change ==
    /\ phase = "up" /\ stage = "idle" /\ Len(wal) + 1 \in Positions
    /\ LET lsn == Len(wal) + 1
           image == Protection = "images" /\ NeedsImage
       IN /\ wal' = Append(wal, [image |-> image, v |-> next, prev |-> mem[1].v, epoch |-> seencontrol.epoch,
                                 payload |-> TRUE])
          /\ mem' = Whole([v |-> next, lsn |-> lsn])
          /\ first' = IF first = 0 THEN lsn ELSE first
    /\ history' = Append(history, next) /\ next' = NextChange
    /\ UNCHANGED <<phase, unsynced, wrote, flushed, stage, copy, redo, checkpoint, files, acked>>

WriteLog ==
    /\ phase = "up" /\ wrote < Len(wal)
    /\ wrote' = Len(wal)
    /\ seenlog' = [p \in Positions |-> IF wrote < p /\ p <= Len(wal) THEN wal[p] ELSE seenlog[p]]
    /\ logcache' = logcache \union {p \in Positions : wrote < p /\ p <= Len(wal)}
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, flushed, stage, copy, redo, checkpoint, pagefile, areafile, disklog,
                   controlfile, promise>>

\* A sync makes durable what was written; of what was forgotten it says nothing.
Synced == [p \in Positions |-> IF p \in logcache THEN seenlog[p] ELSE disklog[p]]

SyncLog ==
    /\ phase = "up" /\ flushed < wrote
    /\ flushed' = wrote
    /\ disklog' = Synced /\ logcache' = {}
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, stage, copy, redo, checkpoint, pagefile, areafile, seenlog,
                   controlfile, promise>>

\* A flush returns: all changes up to there are promised. History starts at the first position of the log.
Acknowledge ==
    /\ phase = "up" /\ acked < flushed
    /\ acked' = flushed
    /\ UNCHANGED <<phase, memory, files, history, next>>

-----------------------------------------------------------------------------
\* The page, while the server is up or ends its recovery.
Writing == phase \in {"up", "replayed"}
Dirty == first # 0

WriteArea ==
    /\ Writing /\ Protection = "double" /\ AreaIsFree /\ Dirty /\ LogIsDurable /\ ~unsynced
    /\ areacache' = areacache \union {mem[1]} /\ seenarea' = Whole(mem[1])
    /\ copy' = mem[1] /\ stage' = "area"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, redo, checkpoint, pagefile, area, logfile,
                   controlfile, promise>>

SyncArea ==
    /\ Writing /\ stage = "area"
    /\ area' = IF areacache = {} THEN area ELSE seenarea
    /\ areacache' = {} /\ stage' = "safe"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, copy, redo, checkpoint, pagefile, seenarea, logfile,
                   controlfile, promise>>

InPlace(content) ==
    /\ cache' = cache \union {content} /\ seen' = Whole(content)
    /\ first' = IF content = mem[1] THEN 0 ELSE first
    /\ unsynced' = TRUE

WriteInPlace ==
    /\ Writing
    /\ IF Protection = "double"
       THEN PlaceAllowed /\ InPlace(copy) /\ stage' = "idle"
       ELSE Dirty /\ LogIsDurable /\ InPlace(mem[1]) /\ stage' = stage
    /\ UNCHANGED <<phase, mem, wal, wrote, flushed, copy, redo, checkpoint, disk, areafile, logfile, controlfile, promise>>

SyncPage ==
    /\ Writing /\ unsynced /\ stage = "idle"
    /\ disk' = IF cache = {} THEN disk ELSE seen
    /\ cache' = {} /\ unsynced' = FALSE
    /\ UNCHANGED <<phase, mem, first, wal, wrote, flushed, stage, copy, redo, checkpoint, seen, areafile, logfile,
                   controlfile, promise>>

-----------------------------------------------------------------------------
\* A checkpoint: the redo point, then the page if it was changed before that, then the control file.
BeginCheckpoint ==
    /\ phase = "up" /\ checkpoint = "none" /\ Len(wal) > seencontrol.redo
    /\ redo' = RedoAtBegin /\ checkpoint' = "begun"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, stage, copy, files, promise>>

PageWritten ==
    /\ phase = "up" /\ checkpoint = "begun" /\ stage = "idle" /\ WrittenUpTo(redo)
    /\ checkpoint' = "written"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, stage, copy, redo, files, promise>>

EndCheckpoint ==
    /\ phase = "up" /\ checkpoint = "written" /\ PageIsDurable
    /\ control' = [seencontrol EXCEPT !.redo = redo] /\ seencontrol' = control'
    /\ checkpoint' = "none"
    /\ UNCHANGED <<phase, mem, first, unsynced, wal, wrote, flushed, stage, copy, redo, pagefile, areafile, logfile, promise>>

-----------------------------------------------------------------------------
\* Faults. A power loss: each sector, by itself, has its durable content or that of a write since.
After(durable, written, tears) ==
    IF tears
    THEN {page \in [Sectors -> {durable[s] : s \in Sectors} \union written] :
            \A s \in Sectors : page[s] \in {durable[s]} \union written}
    ELSE {durable} \union {Whole(c) : c \in written}

\* Of a record that was not synced: nothing, the header with an older payload, or all. The same one over itself cannot tear.
RecordsAfter(p) ==
    IF p \in logcache /\ seenlog[p] # disklog[p]
    THEN {disklog[p], seenlog[p], [seenlog[p] EXCEPT !.payload = FALSE]}
    ELSE {disklog[p]}
LogsAfter == {log \in [Positions -> UNION {RecordsAfter(p) : p \in Positions}] :
                 \A p \in Positions : log[p] \in RecordsAfter(p)}

MemoryLost ==
    /\ phase' = "down"
    /\ mem' = Whole(Empty) /\ first' = 0 /\ unsynced' = FALSE
    /\ wal' = <<>> /\ wrote' = 0 /\ flushed' = 0
    /\ stage' = "idle" /\ copy' = Empty /\ redo' = 0 /\ checkpoint' = "none"
    /\ UNCHANGED promise

PowerLoss ==
    /\ MemoryLost
    /\ disk' \in After(disk, cache, Tearing) /\ cache' = {} /\ seen' = disk'
    /\ area' \in After(area, areacache, TRUE) /\ areacache' = {} /\ seenarea' = area'
    /\ disklog' \in LogsAfter /\ logcache' = {} /\ seenlog' = disklog'
    /\ seencontrol' = control /\ UNCHANGED control

\* The process ends; the files are read as they were written. So it is where a sync fails.
Kill ==
    /\ phase # "down" /\ MemoryLost
    /\ UNCHANGED files

\* The control file's sync fails: the new one is read, and not durable.
ControlFails ==
    /\ \/ phase = "up" /\ checkpoint = "written" /\ PageIsDurable
          /\ seencontrol' = [seencontrol EXCEPT !.redo = redo]
       \/ phase = "replayed" /\ stage = "idle" /\ PageIsDurable /\ ~Dirty
          /\ seencontrol' = [redo |-> redo, epoch |-> NextEpoch]
    /\ MemoryLost
    /\ UNCHANGED <<pagefile, areafile, logfile, control>>

\* A sync has failed, or the kernel's own write of what an ended process has left: pages are marked as clean.
Forget ==
    /\ phase = "down"
    /\ \/ /\ cache # {} /\ cache' = {} /\ disk' \in After(disk, cache, Tearing)
          /\ UNCHANGED <<seen, areafile, logfile>>
       \/ /\ areacache # {} /\ areacache' = {} /\ area' \in After(area, areacache, TRUE)
          /\ UNCHANGED <<seenarea, pagefile, logfile>>
       \/ /\ logcache # {} /\ logcache' = {} /\ disklog' \in LogsAfter
          /\ UNCHANGED <<seenlog, pagefile, areafile>>
    /\ UNCHANGED <<phase, memory, controlfile, promise>>

\* What was forgotten is read from the device again.
Evict ==
    /\ phase = "down"
    /\ \/ /\ cache = {} /\ seen # disk
          /\ seen' \in {[s \in Sectors |-> IF s \in gone THEN disk[s] ELSE seen[s]] :
                            gone \in IF Tearing THEN SUBSET Sectors ELSE {Sectors}}
          /\ UNCHANGED <<disk, cache, areafile, logfile, controlfile>>
       \/ /\ areacache = {} /\ seenarea # area
          /\ seenarea' \in {[s \in Sectors |-> IF s \in gone THEN area[s] ELSE seenarea[s]] : gone \in SUBSET Sectors}
          /\ UNCHANGED <<pagefile, area, areacache, logfile, controlfile>>
       \/ /\ logcache = {} /\ seenlog # disklog
          /\ seenlog' \in {[p \in Positions |-> IF p \in gone THEN disklog[p] ELSE seenlog[p]] : gone \in SUBSET Positions}
          /\ UNCHANGED <<pagefile, areafile, disklog, logcache, controlfile>>
       \/ /\ seencontrol' = control
          /\ UNCHANGED <<pagefile, areafile, logfile, control>>
    /\ UNCHANGED <<phase, memory, promise>>

-----------------------------------------------------------------------------
\* Recovery. A record on a page. A change of a page that is no whole page reaches the header alone.
Apply(page, p, record) ==
    LET content == [v |-> IF ~record.payload THEN Junk
                          ELSE IF record.image \/ page[1].v = record.prev THEN record.v ELSE Junk,
                    lsn |-> p]
    IN IF record.image THEN Whole(content)
       ELSE IF page[1].lsn >= p THEN page
       ELSE IF IsWhole(page) THEN Whole(content)
       ELSE [page EXCEPT ![1] = content]

RECURSIVE ReplayFrom(_, _)
Replayable(p) == p \in Positions /\ seenlog[p].epoch = seencontrol.epoch /\ IsValid(seenlog[p])
ReplayFrom(page, p) == IF Replayable(p) THEN ReplayFrom(Apply(page, p, seenlog[p]), p + 1) ELSE page
RECURSIVE EndFrom(_)
EndFrom(p) == IF Replayable(p) THEN EndFrom(p + 1) ELSE p - 1

\* All files are read, and nothing is written. The area gives the page back, if it holds it whole.
Read ==
    /\ phase = "down"
    /\ LET end == EndFrom(seencontrol.redo + 1)
           restored == Protection = "double" /\ AreaCounts /\ seenarea[1] # Empty
       IN /\ mem' = ReplayFrom(IF restored THEN seenarea ELSE seen, seencontrol.redo + 1)
          /\ copy' = IF restored THEN seenarea[1] ELSE Empty
          /\ wal' = [p \in 1..end |-> seenlog[p]]
          /\ wrote' = end /\ flushed' = end
          /\ redo' = end
          /\ first' = FirstAfter(seencontrol.redo + 1, end)
    /\ unsynced' = TRUE
    /\ phase' = "read"
    /\ UNCHANGED <<stage, checkpoint, files, promise>>

\* What was read need not be durable: it is written again. The control file, then the log, before any page.
WriteLogAgain ==
    /\ phase = "read"
    /\ control' = seencontrol
    /\ logcache' = logcache \union LogAgain(seencontrol.redo + 1, Len(wal))
    /\ phase' = "again"
    /\ UNCHANGED <<memory, pagefile, areafile, disklog, seenlog, seencontrol, promise>>

SyncLogAgain ==
    /\ phase = "again"
    /\ disklog' = Synced /\ logcache' = {}
    /\ phase' = "logged"
    /\ UNCHANGED <<memory, pagefile, areafile, seenlog, controlfile, promise>>

\* The area as it was read, then its page: so the area can be used again.
WriteAreaAgain ==
    /\ phase = "logged"
    /\ IF copy # Empty
       THEN areacache' = areacache \union {copy} /\ stage' = "area" /\ UNCHANGED <<area, seenarea>>
       ELSE UNCHANGED <<areafile, stage>>
    /\ phase' = "replayed"
    /\ UNCHANGED <<mem, first, unsynced, wal, wrote, flushed, copy, redo, checkpoint, pagefile, logfile, controlfile,
                   promise>>

\* The log is a ring. The mark with which the new epoch begins may go over what lies before the redo point that was read.
Recycle ==
    LET gone == {p \in Positions : p <= seencontrol.redo} IN
    /\ phase = "replayed" /\ stage = "idle" /\ PageIsDurable /\ ~Dirty
    /\ \E p \in gone : disklog[p] # Blank
    /\ disklog' = [p \in Positions |-> IF p \in gone THEN Blank ELSE disklog[p]]
    /\ seenlog' = [p \in Positions |-> IF p \in gone THEN Blank ELSE seenlog[p]]
    /\ logcache' = logcache \ gone
    /\ UNCHANGED <<phase, memory, pagefile, areafile, controlfile, promise>>

\* Once the page is durable, a new epoch begins. The changes that were lost are none of its history.
EndRecovery ==
    /\ phase = "replayed" /\ stage = "idle" /\ PageIsDurable /\ ~Dirty
    /\ control' = [redo |-> redo, epoch |-> NextEpoch] /\ seencontrol' = control'
    /\ history' = SubSeq(history, 1, Len(wal)) /\ acked' = Len(wal)
    /\ phase' = "up"
    /\ UNCHANGED <<memory, pagefile, areafile, logfile, next>>

Next ==
    \/ Change \/ WriteLog \/ SyncLog \/ Acknowledge
    \/ WriteArea \/ SyncArea \/ WriteInPlace \/ SyncPage
    \/ BeginCheckpoint \/ PageWritten \/ EndCheckpoint
    \/ PowerLoss \/ Kill \/ ControlFails \/ Forget \/ Evict
    \/ Read \/ WriteLogAgain \/ SyncLogAgain \/ WriteAreaAgain \/ Recycle \/ EndRecovery

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Recovered == phase \in {"read", "again", "logged", "replayed", "up"}
\* What recovery has found is no mixture of two states.
NoMixture == Recovered => IsWhole(mem)
\* It is a state that the page had, the last one or an earlier one; not one of a life before that was given up.
WasThere ==
    phase = "read" => \/ mem[1] = Empty
                      \/ mem[1].lsn \in 1..Len(history) /\ mem[1].v = history[mem[1].lsn]
\* It is not newer than the end of the log: recovery would refuse it as AHEAD.
NotAhead == phase = "read" => mem[1].lsn <= Len(wal)
\* It has all that was promised.
DurableSurvives == Recovered => acked = 0 \/ mem[1].lsn >= acked
\* Once a change was promised its record is durable, or a page that contains it.
AckedIsDurable ==
    phase = "up" => \A p \in 1..acked : \/ p <= control.redo
                                        \/ disklog[p].payload /\ disklog[p].v = history[p]
\* What was written back and synced is durable: the device's page is that in memory.
SyncedIsDurable == phase = "up" /\ first = 0 /\ ~unsynced => disk = mem
\* No page is ahead of the durable log, wherever it was written.
LogFirst ==
    \A c \in cache \union areacache \union {disk[s] : s \in Sectors} \union {area[s] : s \in Sectors} :
        c.lsn > control.redo => disklog[c.lsn].payload /\ disklog[c.lsn].v = c.v
\* While the server is up its control file is durable, and says the redo point of the last checkpoint that has ended.
RedoIsRecorded == phase = "up" => seencontrol = control /\ (checkpoint = "none" => redo = control.redo)
\* Of what the server had in memory nothing is left when it is down.
MemoryIsGone == phase = "down" => Nothing
\* Each change is a new one.
ChangesAreNew ==
    /\ \A i \in DOMAIN history : history[i] < next
    /\ \A i, j \in DOMAIN history : i < j => history[i] < history[j]
\* An image is logged with the first change after the redo point, and with no other.
ImagesAreNeeded ==
    [][phase = "up" /\ Len(wal') > Len(wal) =>
         Len(wal') = Len(wal) + 1 /\ wal'[Len(wal')].image = (Protection = "images" /\ Len(wal) = redo)]_vars
\* The area holds a copy until its page is written in place.
CopyIsKept == [][phase' = phase /\ stage = "safe" => stage' \in {"safe", "idle"} /\ seenarea' = seenarea]_vars
\* What may still become durable is not read from the device.
DirtyStays ==
    [][phase = "down" /\ phase' = "down" =>
         /\ seen' # seen /\ cache' = cache => cache = {}
         /\ seenarea' # seenarea /\ areacache' = areacache => areacache = {}
         /\ seenlog' # seenlog /\ logcache' = logcache => logcache = {}]_vars
\* Only what is flushed is promised, and no promise is taken back while the server is up.
PromisesHold == [][phase = "up" /\ phase' = "up" => acked' >= acked /\ (acked' > acked => acked' <= flushed)]_vars
=============================================================================

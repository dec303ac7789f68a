\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE tornpage ------------------------------
(* A page of several sectors, its log, and a crash that keeps any subset of *)
(* what is not durable yet.                                                 *)
(*                                                                          *)
(* What is modelled: changes to one page; the log, whose records tear too;  *)
(* writes of the page in place, a double-write area, a device that writes   *)
(* the whole page or nothing; checkpoints spread over time; crash; recovery *)
(* in steps, with crashes in it. A sector holds the page's state of when it *)
(* was written: the change it contains, and its LSN.                        *)
(* What is simplified: one page; a record is one position of the log, with  *)
(* a header and a payload that tear apart; the control file is one sector.  *)
(* The checksum of a page, and the CRC of a record, see every difference.   *)
(* How to break it: write in place before the area is durable               *)
(* (PlaceAllowed), let a record be valid by its header (IsValid), take the  *)
(* redo point at the end (RedoAtBegin, RedoAtEnd), log no image at the      *)
(* first change (NeedsImage), or let recovery keep the epoch (NextEpoch).   *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Sectors,      \* 1..n; the first one has the page's header
    Protection,   \* "none", "images", "double" or "atomic"
    Positions     \* 1..n, of the log

VARIABLES
    phase,      \* "up", "down", "restored" (recovery has read the area), "replayed" (and the log)
    mem,        \* the page in memory: sector -> content
    wal,        \* the log in memory, from the first position on
    wrote,      \* so many records were given to the system
    flushed,    \* so many were synced
    disklog,    \* position -> what is durable there
    disk,       \* the page on the device: sector -> durable content
    cache,      \* contents of the page that were written and not synced
    area,       \* the same two for the double-write area
    areacache,
    stage,      \* of writing the page: "idle", "area" (written there), "safe" (and synced)
    copy,       \* what is being written
    redo,       \* where the replay would begin after the checkpoint that has begun
    checkpoint, \* "none", "begun", "written"
    control,    \* durable: where the replay begins, and the epoch
    history,    \* the changes that the page has had, in their order
    acked,      \* so many of them were promised to be durable
    next        \* the number of the next change: never used twice

vars == <<phase, mem, wal, wrote, flushed, disklog, disk, cache, area, areacache, stage, copy, redo, checkpoint,
          control, history, acked, next>>
logvars == <<wal, wrote, flushed, disklog>>
pagevars == <<disk, cache, area, areacache, stage, copy>>
promise == <<history, acked, next>>

Junk == -1
Empty == [v |-> 0, lsn |-> 0]
Whole(content) == [s \in Sectors |-> content]
IsWhole(page) == \A s, t \in Sectors : page[s] = page[t]
Blank == [image |-> FALSE, v |-> 0, prev |-> 0, epoch |-> 0, payload |-> FALSE]
Contents == [v : Int, lsn : Nat]

TypeOK ==
    /\ phase \in {"up", "down", "restored", "replayed"}
    /\ mem \in [Sectors -> Contents]
    /\ wrote \in 0..Len(wal) /\ flushed \in 0..wrote
    /\ disk \in [Sectors -> Contents] /\ area \in [Sectors -> Contents]
    /\ stage \in {"idle", "area", "safe"}
    /\ checkpoint \in {"none", "begun", "written"}
    /\ control.redo <= redo
    /\ acked \in 0..Len(history)

Init ==
    /\ phase = "up"
    /\ mem = Whole(Empty) /\ disk = mem /\ area = mem
    /\ wal = <<>> /\ wrote = 0 /\ flushed = 0
    /\ disklog = [p \in Positions |-> Blank]
    /\ cache = {} /\ areacache = {}
    /\ stage = "idle" /\ copy = Empty
    /\ redo = 0 /\ checkpoint = "none"
    /\ control = [redo |-> 0, epoch |-> 1]
    /\ history = <<>> /\ acked = 0 /\ next = 1

-----------------------------------------------------------------------------
\* Rules that broken models replace.
NeedsImage == mem[1].lsn <= redo
LogIsDurable == flushed >= mem[1].lsn
AreaAllowed == cache = {}
PlaceAllowed == stage = "safe"
RedoAtBegin == Len(wal)
RedoAtEnd == redo
PageIsDurable == cache = {}
AckedBy == flushed
IsValid(record) == record.payload
NextEpoch == control.epoch + 1
AreaCounts == IsWhole(area)
Tearing == Protection # "atomic"

-----------------------------------------------------------------------------
\* The log.
Change ==
    /\ phase = "up" /\ Len(wal) + 1 \in Positions
    /\ LET lsn == Len(wal) + 1
           image == Protection = "images" /\ NeedsImage
       IN /\ wal' = Append(wal, [image |-> image, v |-> next, prev |-> mem[1].v, epoch |-> control.epoch,
                                 payload |-> TRUE])
          /\ mem' = Whole([v |-> next, lsn |-> lsn])
    /\ history' = Append(history, next) /\ next' = next + 1
    /\ UNCHANGED <<phase, wrote, flushed, disklog, pagevars, redo, checkpoint, control, acked>>

WriteLog ==
    /\ phase = "up" /\ wrote < Len(wal)
    /\ wrote' = Len(wal)
    /\ UNCHANGED <<phase, mem, wal, flushed, disklog, pagevars, redo, checkpoint, control, promise>>

SyncLog ==
    /\ phase = "up" /\ flushed < wrote
    /\ flushed' = wrote
    /\ disklog' = [p \in Positions |-> IF p <= wrote THEN wal[p] ELSE disklog[p]]
    /\ UNCHANGED <<phase, mem, wal, wrote, pagevars, redo, checkpoint, control, promise>>

\* A flush returns: all changes up to there are promised. History starts at the first position of the log.
Acknowledge ==
    /\ phase = "up" /\ acked < AckedBy
    /\ acked' = AckedBy
    /\ UNCHANGED <<phase, mem, logvars, pagevars, redo, checkpoint, control, history, next>>

-----------------------------------------------------------------------------
\* The page, while the server is up or ends its recovery.
Writing == phase \in {"up", "replayed"}
Dirty == mem[1] \notin cache /\ (mem # disk \/ cache # {})

WriteArea ==
    /\ Writing /\ Protection = "double" /\ stage = "idle" /\ Dirty /\ LogIsDurable /\ AreaAllowed
    /\ areacache' = areacache \union {mem[1]}
    /\ copy' = mem[1] /\ stage' = "area"
    /\ UNCHANGED <<phase, mem, logvars, disk, cache, area, redo, checkpoint, control, promise>>

SyncArea ==
    /\ Writing /\ stage = "area"
    /\ area' = Whole(copy) /\ areacache' = {} /\ stage' = "safe"
    /\ UNCHANGED <<phase, mem, logvars, disk, cache, copy, redo, checkpoint, control, promise>>

WriteInPlace ==
    /\ Writing
    /\ IF Protection = "double"
       THEN PlaceAllowed /\ cache' = cache \union {copy} /\ stage' = "idle"
       ELSE Dirty /\ LogIsDurable /\ cache' = cache \union {mem[1]} /\ stage' = stage
    /\ UNCHANGED <<phase, mem, logvars, disk, area, areacache, copy, redo, checkpoint, control, promise>>

\* Of several writes since the last sync the last one is what the device then holds: the one with the highest LSN.
Latest == CHOOSE c \in cache : \A d \in cache : d.lsn <= c.lsn

SyncPage ==
    /\ Writing /\ cache # {}
    /\ disk' = Whole(Latest) /\ cache' = {}
    /\ UNCHANGED <<phase, mem, logvars, area, areacache, stage, copy, redo, checkpoint, control, promise>>

-----------------------------------------------------------------------------
\* A checkpoint: the redo point, then the page if it was changed before that, then the control file.
BeginCheckpoint ==
    /\ phase = "up" /\ checkpoint = "none" /\ Len(wal) > control.redo
    /\ redo' = RedoAtBegin /\ checkpoint' = "begun"
    /\ UNCHANGED <<phase, mem, logvars, pagevars, control, promise>>

\* What the page needs to contain: the last change at or before the point that was taken.
WrittenUpTo(lsn) ==
    /\ stage = "idle"
    /\ \E c \in cache \union {disk[1]} : c.lsn >= IF mem[1].lsn <= lsn THEN mem[1].lsn ELSE lsn

PageWritten ==
    /\ phase = "up" /\ checkpoint = "begun" /\ WrittenUpTo(redo)
    /\ checkpoint' = "written"
    /\ UNCHANGED <<phase, mem, logvars, pagevars, redo, control, promise>>

EndCheckpoint ==
    /\ phase = "up" /\ checkpoint = "written" /\ PageIsDurable
    /\ control' = [control EXCEPT !.redo = RedoAtEnd]
    /\ redo' = RedoAtEnd
    /\ checkpoint' = "none"
    /\ UNCHANGED <<phase, mem, logvars, pagevars, promise>>

-----------------------------------------------------------------------------
\* A crash: each sector, by itself, has its durable content or that of a write since.
After(durable, written, tears) ==
    IF tears
    THEN {page \in [Sectors -> {durable[s] : s \in Sectors} \union written] :
            \A s \in Sectors : page[s] \in {durable[s]} \union written}
    ELSE {durable} \union {Whole(c) : c \in written}

\* Of a record that was not synced: nothing, the header with an older payload, or all.
LogsAfter ==
    {log \in [Positions -> {disklog[p] : p \in Positions} \union {wal[p] : p \in 1..wrote}
                           \union {[wal[p] EXCEPT !.payload = FALSE] : p \in 1..wrote}] :
        \A p \in Positions :
            IF p \in (flushed + 1)..wrote
            THEN log[p] \in {disklog[p], wal[p], [wal[p] EXCEPT !.payload = FALSE]}
            ELSE log[p] = disklog[p]}

Crash ==
    /\ phase' = "down"
    /\ disk' \in After(disk, cache, Tearing)
    /\ area' \in After(area, areacache, TRUE)
    /\ disklog' \in LogsAfter
    /\ cache' = {} /\ areacache' = {} /\ stage' = "idle" /\ copy' = Empty
    /\ mem' = Whole(Empty) /\ wal' = <<>> /\ wrote' = 0 /\ flushed' = 0
    /\ redo' = control.redo /\ checkpoint' = "none"
    /\ UNCHANGED <<control, promise>>

-----------------------------------------------------------------------------
\* Recovery. The area gives the page back, if it holds it whole.
Restore ==
    /\ phase = "down"
    /\ disk' = IF Protection = "double" /\ AreaCounts /\ area[1] # Empty THEN area ELSE disk
    /\ phase' = "restored"
    /\ UNCHANGED <<mem, logvars, cache, area, areacache, stage, copy, redo, checkpoint, control, promise>>

\* A record on a page. A change of a page that is no whole page reaches the header alone.
Apply(page, p, record) ==
    LET content == [v |-> IF ~record.payload THEN Junk
                          ELSE IF record.image \/ page[1].v = record.prev THEN record.v ELSE Junk,
                    lsn |-> p]
    IN IF record.image THEN Whole(content)
       ELSE IF page[1].lsn >= p THEN page
       ELSE IF IsWhole(page) THEN Whole(content)
       ELSE [page EXCEPT ![1] = content]

RECURSIVE ReplayFrom(_, _)
Replayable(p) == p \in Positions /\ disklog[p].epoch = control.epoch /\ IsValid(disklog[p])
ReplayFrom(page, p) == IF Replayable(p) THEN ReplayFrom(Apply(page, p, disklog[p]), p + 1) ELSE page
RECURSIVE EndFrom(_)
EndFrom(p) == IF Replayable(p) THEN EndFrom(p + 1) ELSE p - 1

Replay ==
    /\ phase = "restored"
    /\ LET end == EndFrom(control.redo + 1)
       IN /\ mem' = ReplayFrom(disk, control.redo + 1)
          /\ wal' = [p \in 1..end |-> disklog[p]]
          /\ wrote' = end /\ flushed' = end
          /\ redo' = end
    /\ phase' = "replayed"
    /\ UNCHANGED <<disklog, pagevars, checkpoint, control, promise>>

\* Once the page is durable, a new epoch begins. The changes that were lost are none of its history.
EndRecovery ==
    /\ phase = "replayed" /\ stage = "idle" /\ PageIsDurable /\ disk = mem
    /\ control' = [redo |-> redo, epoch |-> NextEpoch]
    /\ history' = SubSeq(history, 1, Len(wal)) /\ acked' = Len(wal)
    /\ phase' = "up"
    /\ UNCHANGED <<mem, logvars, pagevars, redo, checkpoint, next>>

Next ==
    \/ Change \/ WriteLog \/ SyncLog \/ Acknowledge
    \/ WriteArea \/ SyncArea \/ WriteInPlace \/ SyncPage
    \/ BeginCheckpoint \/ PageWritten \/ EndCheckpoint
    \/ Crash \/ Restore \/ Replay \/ EndRecovery

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* What recovery has found is no mixture of two states.
NoMixture == phase \in {"replayed", "up"} => IsWhole(mem)
\* It is a state that the page had, the last one or an earlier one; not one of a life before that was given up.
WasThere ==
    phase = "replayed" => \/ mem[1] = Empty
                          \/ mem[1].lsn \in 1..Len(history) /\ mem[1].v = history[mem[1].lsn]
\* It has all that was promised.
DurableSurvives == phase \in {"replayed", "up"} => acked = 0 \/ mem[1].lsn >= acked
\* No page is ahead of the durable log, wherever it was written.
LogFirst == \A c \in cache \union areacache : c.lsn <= flushed
=============================================================================

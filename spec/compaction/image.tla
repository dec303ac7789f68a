\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE image --------------------------------
(***************************************************************************)
(* A standby that replays full-page images of a page while queries read    *)
(* it.  The page need not be in memory.  Who needs a page that is to be    *)
(* overwritten as a whole does not read it: the buffer is zeroed, and      *)
(* others can find it from then on.  compaction has who may move tuples.   *)
(*                                                                         *)
(* What is modelled, each as a step of its own: pin, lock, look or restore,*)
(* unlock and unpin; a page without pins leaves the memory, and is written *)
(* then; finding a buffer and zeroing it.                                  *)
(* What is simplified: one page; a page is the number of its last image    *)
(* (Zeroes: none), and a later one has all rows of those before.           *)
(*                                                                         *)
(* How to break it: zero a page before it is locked (PinToRestore): a query*)
(* finds it empty (MCimage_bug_81c45081 fails on RowsAreFound).            *)
(*                                                                         *)
(* Upstream: src/backend/access/transam/xlogutils.c,                       *)
(* XLogReadBufferForRedoExtended; src/backend/storage/buffer/bufmgr.c,     *)
(* ReadBuffer_common. With RBM_ZERO_AND_LOCK, as of 15.                    *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS
    Readers,
    Images,         \* so many are replayed
    Startup         \* the startup process, who replays them

VARIABLES
    pc,             \* of each process: "idle", "pinned", "locked"
    memory,         \* the page in memory: its last image, Zeroes, or Absent
    disk,           \* its last image
    pins, shared,   \* processes
    exclusive,      \* the startup process holds the content lock
    image,          \* the last one that was replayed
    began, found    \* of each reader: the last one replayed when it began; the page that it has looked at

vars == <<pc, memory, disk, pins, shared, exclusive, image, began, found>>

Zeroes == -1
Absent == -2
Nothing == -3
Processes == Readers \cup {Startup}
Goto(p, label) == pc' = [pc EXCEPT ![p] = label]

Init ==
    /\ pc = [p \in Processes |-> "idle"]
    /\ memory = Absent /\ disk = 0 /\ pins = {} /\ shared = {} /\ exclusive = FALSE /\ image = 0
    /\ began = [r \in Readers |-> 0] /\ found = [r \in Readers |-> Nothing]

-----------------------------------------------------------------------------
(* A query. *)
PinToRead(r) ==
    /\ pc[r] = "idle"
    /\ Goto(r, "pinned") /\ pins' = pins \cup {r}
    /\ memory' = IF memory = Absent THEN disk ELSE memory
    /\ began' = [began EXCEPT ![r] = image]
    /\ UNCHANGED <<disk, shared, exclusive, image, found>>
MayShare == ~exclusive
LockToRead(r) ==
    /\ pc[r] = "pinned" /\ MayShare
    /\ Goto(r, "locked") /\ shared' = shared \cup {r}
    /\ UNCHANGED <<memory, disk, pins, exclusive, image, began, found>>
Look(r) ==
    /\ pc[r] = "locked" /\ found[r] = Nothing
    /\ found' = [found EXCEPT ![r] = memory]
    /\ UNCHANGED <<pc, memory, disk, pins, shared, exclusive, image, began>>
Leave(r) ==
    /\ found[r] # Nothing
    /\ Goto(r, "idle") /\ pins' = pins \ {r} /\ shared' = shared \ {r}
    /\ found' = [found EXCEPT ![r] = Nothing]
    /\ UNCHANGED <<memory, disk, exclusive, image, began>>

(* The replay of an image.  Nobody can have the lock of a page that was not*)
(* in memory.                                                              *)
PinToRestore ==
    /\ pc[Startup] = "idle" /\ image < Images
    /\ pins' = pins \cup {Startup}
    /\ IF memory = Absent
       THEN /\ memory' = Zeroes
            /\ exclusive' = TRUE
            /\ Goto(Startup, "locked")
       ELSE Goto(Startup, "pinned") /\ UNCHANGED <<memory, exclusive>>
    /\ UNCHANGED <<disk, shared, image, began, found>>
LockToRestore ==
    /\ pc[Startup] = "pinned" /\ shared = {}
    /\ Goto(Startup, "locked") /\ exclusive' = TRUE
    /\ UNCHANGED <<memory, disk, pins, shared, image, began, found>>
Restored == image + 1
Restore ==
    /\ pc[Startup] = "locked"
    /\ memory' = Restored /\ image' = image + 1
    /\ Goto(Startup, "idle") /\ pins' = pins \ {Startup} /\ exclusive' = FALSE
    /\ UNCHANGED <<disk, shared, began, found>>

(* The buffer is needed for another page. *)
MayGo == pins = {}
Evict ==
    /\ memory # Absent /\ MayGo
    /\ disk' = memory /\ memory' = Absent
    /\ UNCHANGED <<pc, pins, shared, exclusive, image, began, found>>

Next ==
    \/ PinToRestore \/ LockToRestore \/ Restore \/ Evict
    \/ \E r \in Readers : PinToRead(r) \/ LockToRead(r) \/ Look(r) \/ Leave(r)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
TypeOK ==
    /\ pc \in [Processes -> {"idle", "pinned", "locked"}]
    /\ image \in 0..Images /\ disk \in 0..Images /\ memory \in {Zeroes, Absent} \cup 0..Images
    /\ began \in [Readers -> 0..Images] /\ found \in [Readers -> {Nothing, Zeroes} \cup 0..Images]
    /\ exclusive \in BOOLEAN /\ shared \subseteq pins /\ pins \subseteq Processes

(* Who is at the page has a pin, and so the page. *)
PinnedStays == pins = {p \in Processes : pc[p] # "idle"} /\ (pins # {} => memory # Absent)

(* Who has the lock has it alone, or with other readers; who has looked has it. *)
LocksExclude ==
    /\ shared = {r \in Readers : pc[r] = "locked"} /\ (exclusive <=> pc[Startup] = "locked")
    /\ exclusive => shared = {}
    /\ \A r \in Readers : found[r] # Nothing => r \in shared

(* A query finds all rows that there were when it came to the page. *)
RowsAreFound == \A r \in Readers : found[r] # Nothing => found[r] >= began[r]

(* What has been replayed is in memory or on disk. *)
ImagesStay == ~exclusive /\ pc[Startup] = "idle" => image = IF memory = Absent THEN disk ELSE memory
=============================================================================

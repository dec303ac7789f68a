\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE compaction -----------------------------
(***************************************************************************)
(* Who may compact a heap page, and when, while others use it.             *)
(*                                                                         *)
(* A reader pins the page, takes its content lock in shared mode, looks up *)
(* a line pointer, and releases the lock.  It then reads the tuple's bytes *)
(* in place, through a pointer into the page, until it unpins.  So a       *)
(* process that moves tuples needs the cleanup lock: the content lock in   *)
(* exclusive mode *and* the only pin.  It counts the pins while it holds   *)
(* the lock.  Backends of a primary prune if they get the cleanup lock at  *)
(* once (heap_page_prune_opt, ConditionalLockBufferForCleanup).  VACUUM on *)
(* a primary, and the startup process that replays pruning on a standby,   *)
(* wait for it (LockBufferForCleanup): such a process registers as the     *)
(* page's one waiter.  A process that unpins, and sees that only the       *)
(* waiter's pin is left, wakes it (UnpinBuffer).  On a standby the startup *)
(* process waits only for a limited time.  It then cancels those whose     *)
(* pins it waits for (ResolveRecoveryConflictWithBufferPin).               *)
(* Upstream: src/backend/storage/buffer/bufmgr.c, LockBufferForCleanup,    *)
(* ConditionalLockBufferForCleanup, ConditionalLockBuffer, UnpinBuffer,    *)
(* UnpinBufferNoOwner, WakePinCountWaiter, GetPrivateRefCount;             *)
(* src/backend/access/heap/pruneheap.c, heap_page_prune_opt;               *)
(* src/backend/storage/ipc/standby.c, ResolveRecoveryConflictWithBufferPin;*)
(* src/backend/storage/page/bufpage.c, PageRepairFragmentation. As of 15,  *)
(* but for what is said of 19 below.                                       *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - Real contents. A cell of the tuple area holds one byte of one       *)
(*     version of one line pointer's tuple. Compaction copies cell by cell,*)
(*     and each copy is a step, so that a reader meanwhile sees what a real*)
(*     one would see. Cells that become free keep their old bytes.         *)
(*   - Room. A new tuple goes below the others, if there is room. The area *)
(*     may be too small for the tuples of all line pointers.               *)
(* Departures from upstream, each with the run that has it as upstream     *)
(*   - A cancellation reaches those that have the page pinned; upstream    *)
(*     signals all, and who has no pin forgets it:                         *)
(*     MCcompaction_small_signals holds.                                   *)
(*   - A look-up and the release of the shared lock after it are one step: *)
(*     with two MCcompaction_small_looks_then_unlocks holds.               *)
(*   - image: a page is written when it leaves the memory, not by a        *)
(*     checkpoint: MCimage_small_written holds.                            *)
(*   - Tuples move in descending order of offset. Other orders need        *)
(*     scratch memory (MCcompaction_mutant_lowest_first fails): the proofs *)
(*     have upstream's.                                                    *)
(*   - A pruned line pointer is UNUSED at once; upstream makes it DEAD     *)
(*     until VACUUM's second pass, which from 14 on moves nothing, and in  *)
(*     13 is a cleaner's. Not tried: the model may leave it unused for as  *)
(*     long.                                                               *)
(*   - Scans of a session take turns freely, and prune at any time. Not    *)
(*     tried: upstream does less.                                          *)
(*   - What happens under the header spinlock is one step. Until 18        *)
(*     nobody can tell. Since 19 (5310fac6e0, c75ebc657f) a pin may go     *)
(*     while the header is locked: MCcompaction_small_live_19 holds;       *)
(*     without 8d85cb889a a wake-up is lost (MCcompaction_bug_8d85cb889a). *)
(*   - The content lock is an LWLock, shared or exclusive, as until 18. 19 *)
(*     has a lock of its own (fcb9c977aa) with a third mode, share-        *)
(*     exclusive, for who sets hint bits or writes the page out            *)
(*     (41d3d64e87): it lets readers in, and no second one of its kind.    *)
(*     Not modelled: its holder moves no tuple, and has a pin.             *)
(*   - There is one page, with one pin of a scan. Not tried: a deadlock    *)
(*     between a pin and a lock of another kind is upstream's deadlock     *)
(*     check.                                                              *)
(*                                                                         *)
(* How to break it: in MayCompact do not count the pins (NoWrongBytes      *)
(* fails); in TakeShared do not check the exclusive holder (LocksExclude); *)
(* in Moves choose the lowest tuple first (PageIsSound), or do not change  *)
(* pd_upper (Compacted); in Wake drop the signal (CleanupComes).  The      *)
(* mutants of MCcompaction do these and more.                              *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Backends,   \* scans: they read, and on a primary prune and insert
    SessionOf,  \* SessionOf[b]: whose it is; a session may have several (cursors)
    Cleaners,   \* the processes that wait for the cleanup lock: VACUUM, or the startup process
    Lengths,    \* Lengths[i]: how many cells line pointer i's tuples occupy
    Room,       \* how many cells the tuple area has; cell Room ends at pd_special
    IsPrimary,  \* backends prune and insert only on a primary
    Cancels,    \* a cleaner that waits too long cancels the readers that it waits for
    None

ASSUME Backends \cap Cleaners = {} /\ None \notin Backends \cup Cleaners /\ DOMAIN SessionOf = Backends

VARIABLES
    pc,         \* where each process is
    pins,       \* which scans and cleaners have the page pinned
    shared,     \* who holds the content lock in shared mode
    exclusive,  \* who holds it in exclusive mode, or None
    waiter,     \* BM_PIN_COUNT_WAITER and wait_backend: the process to wake, or None
    signals,    \* whose latch is set
    conflicts,  \* backends that recovery has cancelled
    cells,      \* the tuple area
    lp,         \* the line pointers: offset (0 if UNUSED) and the tuple's version
    upper,      \* pd_upper: the first cell in use; Room + 1 if none is
    dead,       \* line pointers whose tuples nobody can see any more
    plan,       \* the remaining steps of the current compaction
    pointer,    \* each backend's pointer into the page
    seen        \* the bytes that it has read through it

locks    == <<shared, exclusive>>
page     == <<cells, lp, upper, dead>>
waiting  == <<waiter, signals, conflicts>>
reading  == <<pointer, seen>>
vars     == <<pc, pins, locks, waiting, page, plan, reading>>

Processes == Backends \cup Cleaners
Items     == 1..Len(Lengths)
Cells     == 1..Room
Versions  == 0..1   \* enough to tell a line pointer's tuple from the one before it
Hole      == <<0, 0, 0>>
Byte(i, version, k) == <<i, version, k>>
Bytes     == {Hole} \cup {Byte(i, v, k) : i \in Items, v \in Versions, k \in 1..Room}
NoPointer == [item |-> 0, version |-> 0, off |-> 0]

RECURSIVE SumOf(_)
SumOf(items) == IF items = {} THEN 0 ELSE LET i == CHOOSE i \in items : TRUE IN Lengths[i] + SumOf(items \ {i})

(* At first the tuples of line pointers 1, 2, ... lie from the end of the  *)
(* page down, as many as have room; the other line pointers are UNUSED.    *)
Sum(i)  == SumOf(1..i)
AtFirst == {i \in Items : Sum(i) <= Room}

Init ==
    /\ pc = [p \in Processes |-> "idle"]
    /\ pins = {}
    /\ shared = {}
    /\ exclusive = None
    /\ waiter = None
    /\ signals = {}
    /\ conflicts = {}
    /\ lp = [i \in Items |-> [off |-> IF i \in AtFirst THEN Room - Sum(i) + 1 ELSE 0, version |-> 0]]
    /\ cells = [c \in Cells |->
                  IF \E i \in AtFirst : c \in lp[i].off..(lp[i].off + Lengths[i] - 1)
                  THEN LET i == CHOOSE i \in AtFirst : c \in lp[i].off..(lp[i].off + Lengths[i] - 1)
                       IN Byte(i, 0, c - lp[i].off + 1)
                  ELSE Hole]
    /\ upper = Room - SumOf(AtFirst) + 1
    /\ dead = {}
    /\ plan = <<>>
    /\ pointer = [b \in Backends |-> NoPointer]
    /\ seen = [b \in Backends |-> <<>>]

Goto(p, label) == pc' = [pc EXCEPT ![p] = label]
IsFree == shared = {} /\ exclusive = None
InUse  == {i \in Items : lp[i].off # 0}

-----------------------------------------------------------------------------
(* Compaction, by whoever holds the cleanup lock. *)

(* The moves that bring the tuples of the given line pointers, the highest *)
(* first, to the cells up to top; then pd_upper.                           *)
Highest(items) == CHOOSE i \in items : \A j \in items : lp[j].off <= lp[i].off
RECURSIVE Moves(_, _)
Moves(items, top) ==
    IF items = {} THEN <<[do |-> "upper", to |-> top + 1]>>
    ELSE LET i     == Highest(items)
             n     == Lengths[i]
             last  == lp[i].off + n - 1
             copy  == [k \in 1..n |-> [do |-> "copy", from |-> last - k + 1, to |-> top - k + 1]]
         IN (IF last = top THEN <<>> ELSE Append(copy, [do |-> "lp", item |-> i, to |-> top - n + 1]))
            \o Moves(items \ {i}, top - n)

(* The buffer's refcount counts processes, not pins: a session that has    *)
(* the page pinned by two cursors counts as one there.  So a process that  *)
(* wants the cleanup lock also checks its own count of pins                *)
(* (GetPrivateRefCount).  Otherwise it would compact under its own cursor. *)
Owner(p)    == IF p \in Backends THEN SessionOf[p] ELSE p
RefCount    == Cardinality({Owner(p) : p \in pins})
OwnCount(p) == Cardinality({q \in pins : Owner(q) = Owner(p)})

(* The page's pins, counted with the content lock held: mine alone? *)
MayCompact(p) == RefCount = 1 /\ OwnCount(p) = 1

BeginCompaction(p) ==
    /\ plan' = Moves(InUse \ dead, Room)
    /\ lp' = [i \in Items |-> IF i \in dead THEN [lp[i] EXCEPT !.off = 0] ELSE lp[i]]
    /\ dead' = {}
    /\ Goto(p, "compacting")

CompactionStep(p) ==
    /\ pc[p] = "compacting"
    /\ plan # <<>>
    /\ LET step == Head(plan) IN
       /\ cells' = IF step.do = "copy" THEN [cells EXCEPT ![step.to] = cells[step.from]] ELSE cells
       /\ lp' = IF step.do = "lp" THEN [lp EXCEPT ![step.item].off = step.to] ELSE lp
       /\ upper' = IF step.do = "upper" THEN step.to ELSE upper
    /\ plan' = Tail(plan)
    /\ UNCHANGED <<pc, pins, locks, waiting, dead, reading>>

EndCompaction(p) ==
    /\ pc[p] = "compacting"
    /\ plan = <<>>
    /\ exclusive' = None
    /\ Goto(p, IF p \in Cleaners THEN "cleaned" ELSE "pruned")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

-----------------------------------------------------------------------------
(* Pins.  Anyone may pin at any time; no lock is needed for it. *)

Pin(p) ==
    /\ pc[p] = "idle"
    /\ p \in Cleaners => dead # {}
    /\ pins' = pins \cup {p}
    /\ Goto(p, "pinned")
    /\ UNCHANGED <<locks, waiting, page, plan, reading>>

(* UnpinBuffer.  With a process's last pin the refcount falls and the flag *)
(* of the waiter is read: this is one step.  Waking the waiter is another. *)
DropPin(p) ==
    /\ pins' = pins \ {p}
    /\ conflicts' = conflicts \ {p}
    /\ Goto(p, IF waiter # None /\ OwnCount(p) = 1 THEN "unpinned" ELSE "idle")

Wake(p) ==
    /\ pc[p] = "unpinned"
    /\ IF waiter # None /\ RefCount = 1
       THEN waiter' = None /\ signals' = signals \cup {waiter}
       ELSE UNCHANGED <<waiter, signals>>
    /\ Goto(p, "idle")
    /\ UNCHANGED <<pins, locks, conflicts, page, plan, reading>>

-----------------------------------------------------------------------------
(* Backends: read; on a primary also prune and insert. *)

(* ConditionalLockBuffer: the lock at once, or not at all. *)
TryPrune(b) ==
    /\ IsPrimary
    /\ pc[b] = "pinned"
    /\ dead # {}
    /\ IF IsFree
       THEN exclusive' = b /\ Goto(b, "counting")
       ELSE exclusive' = exclusive /\ Goto(b, "refused")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

CountToPrune(b) ==
    /\ b \in Backends
    /\ pc[b] = "counting"
    /\ IF MayCompact(b)
       THEN /\ BeginCompaction(b)
            /\ UNCHANGED <<exclusive, cells, upper>>
       ELSE /\ exclusive' = None
            /\ Goto(b, "refused")
            /\ UNCHANGED <<page, plan>>
    /\ UNCHANGED <<pins, shared, waiting, reading>>

MayTakeShared == exclusive = None

TakeShared(b) ==
    /\ pc[b] \in {"pinned", "refused", "pruned", "between"}
    /\ MayTakeShared
    /\ shared' = shared \cup {b}
    /\ Goto(b, "looking")
    /\ UNCHANGED <<pins, exclusive, waiting, page, plan, reading>>

(* A pointer to a tuple on the page, dead to others or not; then unlock. *)
LookUp(b) ==
    /\ pc[b] = "looking"
    /\ \/ /\ \E i \in InUse :
                pointer' = [pointer EXCEPT ![b] = [item |-> i, version |-> lp[i].version, off |-> lp[i].off]]
          /\ Goto(b, "reading")
       \/ /\ InUse = {}
          /\ pointer' = pointer
          /\ Goto(b, "done")
    /\ shared' = shared \ {b}
    /\ UNCHANGED <<pins, exclusive, waiting, page, plan, seen>>

ReadByte(b) ==
    /\ pc[b] = "reading"
    /\ Len(seen[b]) < Lengths[pointer[b].item]
    /\ seen' = [seen EXCEPT ![b] = Append(@, cells[pointer[b].off + Len(@)])]
    /\ UNCHANGED <<pc, pins, locks, waiting, page, plan, pointer>>

Forget(b) ==
    /\ pointer' = [pointer EXCEPT ![b] = NoPointer]
    /\ seen' = [seen EXCEPT ![b] = <<>>]

(* On to the page's next tuple, under the same pin. *)
LookFurther(b) ==
    /\ pc[b] = "reading"
    /\ Goto(b, "between")
    /\ Forget(b)
    /\ UNCHANGED <<pins, locks, waiting, page, plan>>

(* Done with the page, all of the tuple read or not. *)
Unpin(b) ==
    /\ pc[b] = "reading"
    /\ DropPin(b)
    /\ Forget(b)
    /\ UNCHANGED <<locks, waiter, signals, page, plan>>

(* Nothing to read, or a tuple inserted. *)
Leave(b) ==
    /\ pc[b] = "done"
    /\ DropPin(b)
    /\ UNCHANGED <<locks, waiter, signals, page, plan, reading>>

(* Cancelled by recovery; not while it waits for or holds a content lock. *)
GiveWay(b) ==
    /\ b \in conflicts
    /\ pc[b] = "reading"
    /\ DropPin(b)
    /\ Forget(b)
    /\ UNCHANGED <<locks, waiter, signals, page, plan>>

(* A new tuple needs the exclusive lock only: it moves nothing.  It goes   *)
(* below the others if there is room, under a line pointer that is UNUSED. *)
HasRoom(i)    == upper - Lengths[i] >= 1
NewVersion(i) == 1 - lp[i].version

TakeToInsert(b) ==
    /\ IsPrimary
    /\ pc[b] = "pinned"
    /\ IsFree
    /\ \E i \in Items \ InUse : HasRoom(i)
    /\ exclusive' = b
    /\ Goto(b, "inserting")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

Insert(b) ==
    /\ pc[b] = "inserting"
    /\ \E i \in Items \ InUse :
          LET off == upper - Lengths[i]
              new == NewVersion(i)
          IN /\ HasRoom(i)
             /\ lp' = [lp EXCEPT ![i] = [off |-> off, version |-> new]]
             /\ cells' = [c \in Cells |-> IF c \in off..(upper - 1) THEN Byte(i, new, c - off + 1) ELSE cells[c]]
             /\ upper' = off
    /\ exclusive' = None
    /\ Goto(b, "done")
    /\ UNCHANGED <<pins, shared, waiting, dead, plan, reading>>

-----------------------------------------------------------------------------
(* Cleaners: LockBufferForCleanup. *)

TakeExclusive(c) ==
    /\ c \in Cleaners
    /\ pc[c] \in {"pinned", "retrying"}
    /\ IsFree
    /\ exclusive' = c
    /\ Goto(c, "counting")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

(* Only one may wait: a second one gets an error, "multiple backends       *)
(* attempting to wait for pincount 1".                                     *)
CountToClean(c) ==
    /\ c \in Cleaners
    /\ pc[c] = "counting"
    /\ IF MayCompact(c)
       THEN /\ BeginCompaction(c)
            /\ UNCHANGED <<exclusive, waiter, cells, upper>>
       ELSE /\ IF waiter = None
               THEN waiter' = c /\ Goto(c, "flagged") /\ exclusive' = exclusive
               ELSE waiter' = waiter /\ Goto(c, "error") /\ exclusive' = None
            /\ UNCHANGED <<page, plan>>
    /\ UNCHANGED <<pins, shared, signals, conflicts, reading>>

FallAsleep(c) ==
    /\ pc[c] = "flagged"
    /\ exclusive' = None
    /\ Goto(c, "asleep")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

BeWoken(c) ==
    /\ pc[c] = "asleep"
    /\ c \in signals
    /\ signals' = signals \ {c}
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiter, conflicts, page, plan, reading>>

(* The latch may be set for other reasons too. *)
WakeForNothing(c) ==
    /\ pc[c] = "asleep"
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>

LosePatience(c) ==
    /\ Cancels
    /\ pc[c] = "asleep"
    /\ conflicts' = conflicts \cup (pins \cap Backends)
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiter, signals, page, plan, reading>>

Retry(c) ==
    /\ pc[c] = "awake"
    /\ waiter' = IF waiter = c THEN None ELSE waiter
    /\ Goto(c, "retrying")
    /\ UNCHANGED <<pins, locks, signals, conflicts, page, plan, reading>>

UnpinCleaned(c) ==
    /\ pc[c] = "cleaned"
    /\ DropPin(c)
    /\ UNCHANGED <<locks, waiter, signals, page, plan, reading>>

-----------------------------------------------------------------------------
(* A tuple dies: no snapshot can see it any more.  It may do so under a    *)
(* reader's eyes; only the pin protects the bytes.                         *)
Die(i) ==
    /\ i \in InUse \ dead
    /\ \A p \in Processes : pc[p] # "compacting"
    /\ dead' = dead \cup {i}
    /\ UNCHANGED <<pc, pins, locks, waiting, cells, lp, upper, plan, reading>>

BackendStep(b) ==
    \/ TryPrune(b) \/ CountToPrune(b)
    \/ TakeShared(b) \/ LookUp(b) \/ ReadByte(b) \/ LookFurther(b) \/ Unpin(b) \/ Leave(b) \/ GiveWay(b)
    \/ TakeToInsert(b) \/ Insert(b)

CleanerStep(c) ==
    \/ TakeExclusive(c) \/ CountToClean(c) \/ FallAsleep(c) \/ BeWoken(c) \/ WakeForNothing(c)
    \/ LosePatience(c) \/ Retry(c) \/ UnpinCleaned(c)

AnyStep(p) == Pin(p) \/ CompactionStep(p) \/ EndCompaction(p) \/ Wake(p)

Next ==
    \/ \E p \in Processes : AnyStep(p)
    \/ \E b \in Backends : BackendStep(b)
    \/ \E c \in Cleaners : CleanerStep(c)
    \/ \E i \in Items : Die(i)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Safety *)

Labels == {"idle", "pinned", "counting", "refused", "compacting", "pruned", "looking", "reading", "between", "done",
           "inserting",
           "unpinned", "flagged", "asleep", "awake", "retrying", "cleaned", "error"}

TypeOK ==
    /\ pc \in [Processes -> Labels]
    /\ pins \subseteq Processes
    /\ shared \subseteq Backends
    /\ exclusive \in Processes \cup {None}
    /\ waiter \in Cleaners \cup {None}
    /\ signals \subseteq Cleaners
    /\ conflicts \subseteq Backends
    /\ DOMAIN cells = Cells /\ \A c \in Cells : cells[c] \in Bytes
    /\ lp \in [Items -> [off : 0..Room, version : Versions]]
    /\ upper \in 1..(Room + 1)
    /\ dead \subseteq Items

(* The main property: a reader reads the bytes of its own tuple. *)
NoWrongBytes ==
    \A b \in Backends : \A k \in 1..Len(seen[b]) :
        seen[b][k] = Byte(pointer[b].item, pointer[b].version, k)

(* The bytes that a reader has not read yet are there, too. *)
Holds(i, version, off) == \A k \in 1..Lengths[i] : cells[off + k - 1] = Byte(i, version, k)
PointersHold ==
    \A b \in Backends : pointer[b] # NoPointer =>
        Holds(pointer[b].item, pointer[b].version, pointer[b].off)

(* Who has the content lock in exclusive mode has it alone. *)
LocksExclude == exclusive # None => shared = {}

(* Who looks up has the lock shared; who counts pins, moves tuples, inserts *)
(* or has just set its flag has it exclusive; and nobody else.             *)
LocksAreHeld ==
    /\ shared = {b \in Backends : pc[b] = "looking"}
    /\ \A p \in Processes : exclusive = p <=> pc[p] \in {"counting", "compacting", "inserting", "flagged"}

(* Nobody locks, points into or waits for a page without a pin on it. *)
UsersHavePins ==
    /\ shared \subseteq pins
    /\ exclusive # None => exclusive \in pins
    /\ waiter # None => waiter \in pins
    /\ \A b \in Backends : pointer[b] # NoPointer => b \in pins

(* A cleaner does not read or insert, and a scan does not wait for the     *)
(* cleanup lock.                                                           *)
EachDoesItsOwn ==
    /\ \A c \in Cleaners :
           pc[c] \in {"idle", "pinned", "counting", "compacting", "cleaned", "unpinned"} \cup
                    {"flagged", "asleep", "awake", "retrying", "error"}
    /\ \A b \in Backends : pc[b] \notin {"cleaned", "flagged", "asleep", "awake", "retrying", "error"}

(* While tuples move, nobody else has a pointer; others may have pins. *)
CompactsAlone ==
    \A p \in Processes : pc[p] = "compacting" =>
        /\ exclusive = p
        /\ \A b \in Backends \ {p} : pointer[b] = NoPointer

(* While no one changes it, the page is in order. *)
PageIsSound ==
    exclusive = None =>
        /\ plan = <<>>
        /\ \A i \in InUse : lp[i].off >= upper /\ Holds(i, lp[i].version, lp[i].off)

(* Compaction compacts: dead tuples are gone, and tuples in use lie        *)
(* without a hole at the end of the page (PageIsSound: nothing overlaps).  *)
Compacted ==
    \A p \in Processes : pc[p] = "compacting" /\ plan = <<>> =>
        dead = {} /\ upper = Room + 1 - SumOf(InUse)

(* Only a tuple dies: a line pointer that is UNUSED has none.              *)
DeadAreInUse == dead \subseteq InUse

(* A dead tuple does not come back: its line pointer becomes UNUSED.       *)
DeadAreRemoved == [][\A i \in dead \ dead' : lp'[i].off = 0]_vars

(* A line pointer that is used again has a tuple of another version.       *)
InsertsAreNew == [][\A i \in Items \ InUse : lp'[i].off # 0 => lp'[i].version # lp[i].version]_vars

(* A tuple that is not dead stays, and no other one takes its line pointer.*)
TuplesStay == [][\A i \in InUse : lp'[i].version = lp[i].version /\ (lp'[i].off = 0 => i \in dead)]_vars

(* The waiter is one that sleeps, is about to, or has just been woken.     *)
WaiterWaits == waiter # None => pc[waiter] \in {"flagged", "asleep", "awake"}

(* Who sleeps will be woken: the page has its flag, or it has been signalled. *)
SleepersAreKnown == \A c \in Cleaners : pc[c] \in {"flagged", "asleep"} => waiter = c \/ c \in signals

(* A cancellation ends with the pin: the backend's next pin is no conflict. *)
ConflictsHavePins == conflicts \subseteq pins

(* Nobody gets the error for a second waiter. *)
OneWaiter == \A c \in Cleaners : pc[c] # "error"

-----------------------------------------------------------------------------
(* Liveness *)

(* Nobody stops inside a critical section, or while it waits for a lock.   *)
LocksAreBrief ==
    /\ \A p \in Processes : WF_vars(CompactionStep(p) \/ EndCompaction(p) \/ Wake(p))
    /\ \A b \in Backends : WF_vars(CountToPrune(b) \/ TakeShared(b) \/ LookUp(b) \/ Insert(b) \/ Leave(b))
(* A process that waits for the content lock gets it if it is free again   *)
(* and again: LWLocks have a queue.  A cleaner that is woken without need  *)
(* takes the lock each time to count the pins.                             *)
LocksAreFair ==
    /\ \A b \in Backends : SF_vars(TakeShared(b))
    /\ \A c \in Cleaners : SF_vars(TakeExclusive(c))
(* A cleaner takes each step that it can take.  It may not depend on being *)
(* woken without a reason.                                                 *)
CleanersGoOn ==
    \A c \in Cleaners : WF_vars(TakeExclusive(c) \/ CountToClean(c) \/ FallAsleep(c) \/ BeWoken(c)
                                \/ LosePatience(c) \/ Retry(c) \/ UnpinCleaned(c))
(* No reader keeps its pin for ever of its own accord.  (A cursor may.)    *)
ReadersFinish == \A b \in Backends : WF_vars(Unpin(b))
(* A process that waits again and again reaches its time limit (the limit  *)
(* is a point in time, not a length of one sleep), and a cancelled reader  *)
(* unpins.                                                                 *)
PatienceEnds == \A c \in Cleaners : SF_vars(LosePatience(c))
ConflictsAreHeeded == \A b \in Backends : WF_vars(GiveWay(b))
(* After some time no new pins come, and the readers that have pins do not *)
(* go to more and more tuples (a page does not have so many).              *)
Lull == <>[][\A b \in Backends : ~Pin(b) /\ ~LookFurther(b)]_vars

(* On a primary the readers must finish.  On a standby that cancels them   *)
(* they need not.                                                          *)
PrimaryFairness == LocksAreBrief /\ LocksAreFair /\ CleanersGoOn /\ ReadersFinish
StandbyFairness == LocksAreBrief /\ LocksAreFair /\ CleanersGoOn /\ PatienceEnds /\ ConflictsAreHeeded

PrimarySpec == Spec /\ PrimaryFairness
StandbySpec == Spec /\ StandbyFairness

(* A process that waits for the cleanup lock gets it if no new pins come.  *)
CleanupComes == Lull => \A c \in Cleaners : pc[c] = "pinned" ~> pc[c] = "compacting"
(* It gets it though new pins keep coming.  That does not hold: see the    *)
(* mutant of that name.                                                    *)
CleanupComesInACrowd == \A c \in Cleaners : pc[c] = "pinned" ~> pc[c] = "compacting"

=============================================================================

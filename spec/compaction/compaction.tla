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
(* Upstream: bufmgr.c, pruneheap.c, standby.c of PostgreSQL 15.            *)
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
(*   - What happens under the header spinlock is one step. Not tried:      *)
(*     upstream changes refcount and flag in one word, or holds the lock.  *)
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

\* STEP p \in Processes if Head(plan).do = "copy" /\ cells[Head(plan).to] # Hole | {IF p \in Backends THEN "backend"
\*        ELSE IF IsPrimary THEN "VACUUM" ELSE "startup process"} {p} -> page | copies a byte of tuple
\*        {cells[Head(plan).from][1]} from cell {Head(plan).from} to cell {Head(plan).to}, over a byte of tuple
\*        {cells[Head(plan).to][1]}
\* STEP p \in Processes if Head(plan).do = "copy" | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM"
\*        ELSE "startup process"} {p} -> page | copies a byte of tuple {cells[Head(plan).from][1]} from cell
\*        {Head(plan).from} to cell {Head(plan).to}, which was never used
\* STEP p \in Processes if Head(plan).do = "lp" | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM"
\*        ELSE "startup process"} {p} -> page | sets line pointer {Head(plan).item}: its tuple begins at cell
\*        {Head(plan).to} now
\* STEP p \in Processes | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE "startup process"} {p}
\*        -> page | sets pd_upper to {Head(plan).to}: the cells below are free
CompactionStep(p) ==
    /\ pc[p] = "compacting"
    /\ plan # <<>>
    /\ LET step == Head(plan) IN
       /\ cells' = IF step.do = "copy" THEN [cells EXCEPT ![step.to] = cells[step.from]] ELSE cells
       /\ lp' = IF step.do = "lp" THEN [lp EXCEPT ![step.item].off = step.to] ELSE lp
       /\ upper' = IF step.do = "upper" THEN step.to ELSE upper
    /\ plan' = Tail(plan)
    /\ UNCHANGED <<pc, pins, locks, waiting, dead, reading>>

\* STEP p \in Processes | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE "startup process"} {p}
\*        -> page | has compacted the page, and lets the content lock go
EndCompaction(p) ==
    /\ pc[p] = "compacting"
    /\ plan = <<>>
    /\ exclusive' = None
    /\ Goto(p, IF p \in Cleaners THEN "cleaned" ELSE "pruned")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

-----------------------------------------------------------------------------
(* Pins.  Anyone may pin at any time; no lock is needed for it. *)

\* STEP b \in Backends of Pin(b) | backend {b} -> page | pins the page; that needs no lock
\* STEP c \in Cleaners of Pin(c) | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | pins the page, to
\*        remove the dead tuples {dead}
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

\* STEP p \in Processes if signals' # signals | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE
\*        "startup process"} {p} -> {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {waiter} | sees that only the
\*        waiter's pin is left, takes its flag from the page, and wakes it
\* STEP p \in Processes if waiter # None | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE
\*        "startup process"} {p} | looks who has the page pinned: {pins}. It does not wake the waiter {waiter}
\* STEP p \in Processes | {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE "startup process"} {p}
\*        | sees that nobody waits any more
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
\* STEP b \in Backends if exclusive' = b | backend {b} -> page | wants to remove the dead tuples {dead}, and has the
\*        content lock in exclusive mode at once
\* STEP b \in Backends | backend {b} -> page | wants to remove the dead tuples {dead}; others have the content lock, so
\*        it goes on without
TryPrune(b) ==
    /\ IsPrimary
    /\ pc[b] = "pinned"
    /\ dead # {}
    /\ IF IsFree
       THEN exclusive' = b /\ Goto(b, "counting")
       ELSE exclusive' = exclusive /\ Goto(b, "refused")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

\* STEP b \in Backends if pc'[b] = "compacting" | backend {b} -> page | looks who has the page pinned: {pins}. It
\*        begins to compact, and {IF \E i \in dead : lp'[i].off = 0 THEN "makes the line pointers of dead tuples
\*        unused" ELSE "keeps the line pointers of dead tuples"}: {dead}
\* STEP b \in Backends | backend {b} -> page | looks who has the page pinned: {pins}. It may not compact, and lets the
\*        content lock go
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

\* STEP b \in Backends if shared' # shared | backend {b} -> page | takes the content lock in shared mode
\* STEP b \in Backends | backend {b} -> page | begins to look at the page, without the content lock
TakeShared(b) ==
    /\ pc[b] \in {"pinned", "refused", "pruned", "between"}
    /\ MayTakeShared
    /\ shared' = shared \cup {b}
    /\ Goto(b, "looking")
    /\ UNCHANGED <<pins, exclusive, waiting, page, plan, reading>>

(* A pointer to a tuple on the page, dead to others or not; then unlock. *)
\* STEP b \in Backends if pointer'[b] # NoPointer | backend {b} -> page | looks up line pointer {pointer'[b].item},
\*        keeps a pointer to its tuple at cell {pointer'[b].off}, and lets the content lock go. The pin must protect
\*        the tuple from here on
\* STEP b \in Backends | backend {b} -> page | finds no tuple, and lets the content lock go
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

\* STEP b \in Backends if seen'[b][Len(seen'[b])] = Byte(pointer[b].item, pointer[b].version, Len(seen'[b])) | backend
\*        {b} -> page | reads cell {pointer[b].off + Len(seen[b])} through its pointer: byte {Len(seen'[b])} of its
\*        tuple {pointer[b].item}
\* STEP b \in Backends if cells[pointer[b].off + Len(seen[b])] = Hole | backend {b} -> page | reads cell
\*        {pointer[b].off + Len(seen[b])} through its pointer: there is nothing of its tuple {pointer[b].item}
\* STEP b \in Backends | backend {b} -> page | reads cell {pointer[b].off + Len(seen[b])} through its pointer to tuple
\*        {pointer[b].item}; but there is by now byte {cells[pointer[b].off + Len(seen[b])][3]} of {IF
\*        cells[pointer[b].off + Len(seen[b])][1] # pointer[b].item THEN "tuple" ELSE IF cells[pointer[b].off +
\*        Len(seen[b])][2] # pointer[b].version THEN "a newer tuple under line pointer" ELSE "tuple"}
\*        {cells[pointer[b].off + Len(seen[b])][1]}
ReadByte(b) ==
    /\ pc[b] = "reading"
    /\ Len(seen[b]) < Lengths[pointer[b].item]
    /\ seen' = [seen EXCEPT ![b] = Append(@, cells[pointer[b].off + Len(@)])]
    /\ UNCHANGED <<pc, pins, locks, waiting, page, plan, pointer>>

Forget(b) ==
    /\ pointer' = [pointer EXCEPT ![b] = NoPointer]
    /\ seen' = [seen EXCEPT ![b] = <<>>]

(* On to the page's next tuple, under the same pin. *)
\* STEP b \in Backends | backend {b} | is done with tuple {pointer[b].item}, and goes on to the next one under the same
\*        pin
LookFurther(b) ==
    /\ pc[b] = "reading"
    /\ Goto(b, "between")
    /\ Forget(b)
    /\ UNCHANGED <<pins, locks, waiting, page, plan>>

(* Done with the page, all of the tuple read or not. *)
\* STEP b \in Backends | backend {b} -> page | is done with tuple {pointer[b].item}, and unpins the page
Unpin(b) ==
    /\ pc[b] = "reading"
    /\ DropPin(b)
    /\ Forget(b)
    /\ UNCHANGED <<locks, waiter, signals, page, plan>>

(* Nothing to read, or a tuple inserted. *)
\* STEP b \in Backends | backend {b} -> page | unpins the page
Leave(b) ==
    /\ pc[b] = "done"
    /\ DropPin(b)
    /\ UNCHANGED <<locks, waiter, signals, page, plan, reading>>

(* Cancelled by recovery; not while it waits for or holds a content lock. *)
\* STEP b \in Backends | backend {b} -> page | was cancelled by recovery: it stops to read, and unpins the page
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

\* STEP b \in Backends | backend {b} -> page | takes the content lock in exclusive mode, to insert a tuple
TakeToInsert(b) ==
    /\ IsPrimary
    /\ pc[b] = "pinned"
    /\ IsFree
    /\ \E i \in Items \ InUse : HasRoom(i)
    /\ exclusive' = b
    /\ Goto(b, "inserting")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

\* STEP b \in Backends, i \in Items if lp'[i] # lp[i] | backend {b} -> page | inserts a tuple under line pointer {i},
\*        from cell {lp'[i].off} on, and lets the content lock go
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

\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | takes the content lock in
\*        exclusive mode
TakeExclusive(c) ==
    /\ c \in Cleaners
    /\ pc[c] \in {"pinned", "retrying"}
    /\ IsFree
    /\ exclusive' = c
    /\ Goto(c, "counting")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

(* Only one may wait: a second one gets an error, "multiple backends       *)
(* attempting to wait for pincount 1".                                     *)
\* STEP c \in Cleaners if pc'[c] = "compacting" | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page |
\*        looks who has the page pinned: {pins}. It begins to compact, and {IF \E i \in dead : lp'[i].off = 0 THEN
\*        "makes the line pointers of dead tuples unused" ELSE "keeps the line pointers of dead tuples"}: {dead}
\* STEP c \in Cleaners if waiter' = c | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | looks who has
\*        the page pinned: {pins}. It must wait, and sets its flag on the page, so that the last of them wakes it
\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | looks who has the page
\*        pinned: {pins}. It would have to wait, but the flag of {waiter} is there: it gets an error, and lets the
\*        content lock go
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

\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | lets the content lock go,
\*        and falls asleep
FallAsleep(c) ==
    /\ pc[c] = "flagged"
    /\ exclusive' = None
    /\ Goto(c, "asleep")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} | wakes up: its latch was set
BeWoken(c) ==
    /\ pc[c] = "asleep"
    /\ c \in signals
    /\ signals' = signals \ {c}
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiter, conflicts, page, plan, reading>>

(* The latch may be set for other reasons too. *)
\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} | wakes up for another reason
WakeForNothing(c) ==
    /\ pc[c] = "asleep"
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>

\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} | has waited too long, and cancels the
\*        backends that have the page pinned: {pins \cap Backends}
LosePatience(c) ==
    /\ Cancels
    /\ pc[c] = "asleep"
    /\ conflicts' = conflicts \cup (pins \cap Backends)
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiter, signals, page, plan, reading>>

\* STEP c \in Cleaners if waiter = c /\ waiter' = None | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} ->
\*        page | takes its flag from the page, and will try again
\* STEP c \in Cleaners if waiter # waiter' | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | takes
\*        the flag of {waiter} from the page, and will try again
\* STEP c \in Cleaners if waiter = c | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} | will try again; its
\*        flag stays on the page
\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} | will try again; its flag was taken
\*        from the page by who woke it
Retry(c) ==
    /\ pc[c] = "awake"
    /\ waiter' = IF waiter = c THEN None ELSE waiter
    /\ Goto(c, "retrying")
    /\ UNCHANGED <<pins, locks, signals, conflicts, page, plan, reading>>

\* STEP c \in Cleaners | {IF IsPrimary THEN "VACUUM" ELSE "startup process"} {c} -> page | unpins the page that it has
\*        compacted
UnpinCleaned(c) ==
    /\ pc[c] = "cleaned"
    /\ DropPin(c)
    /\ UNCHANGED <<locks, waiter, signals, page, plan, reading>>

-----------------------------------------------------------------------------
(* A tuple dies: no snapshot can see it any more.  It may do so under a    *)
(* reader's eyes; only the pin protects the bytes.                         *)
\* STEP i \in Items | other transactions | need tuple {i} no more: it is dead from now on
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

\* INNER pc, plan, cells, pointer, seen
\* NOTE | The page has room for the bytes of tuples: cells 1 to {Room}. A tuple has the number of its line pointer
\* NOTE i \in AtFirst if Lengths[i] = 1 | Tuple {i} lies in cell {lp[i].off}
\* NOTE i \in AtFirst if Lengths[i] > 1 | Tuple {i} lies in the cells {lp[i].off} to {lp[i].off + Lengths[i] - 1}
\* NOTE if Items # AtFirst | These line pointers are unused: {Items \ AtFirst}
\* NOTE if \E a, b \in Backends : a # b /\ SessionOf[a] = SessionOf[b] | The backends are cursors of one session
\* BROKEN if upper \notin 1..(Room + 1) | pd_upper is {upper}; the cells are 1 to {Room}
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
\* BROKEN b \in Backends, k \in 1..Len(seen[b]) if seen[b][k] # Byte(pointer[b].item, pointer[b].version, k) /\
\*        seen[b][k] # Hole | Backend {b} took byte {seen[b][k][3]} of {IF seen[b][k][1] = pointer[b].item /\
\*        seen[b][k][2] # pointer[b].version THEN "a newer tuple under line pointer" ELSE "tuple"} {seen[b][k][1]} for
\*        byte {k} of its tuple {pointer[b].item}
\* BROKEN b \in Backends, k \in 1..Len(seen[b]) if seen[b][k] = Hole | Backend {b} took what was never written for byte
\*        {k} of its tuple {pointer[b].item}
NoWrongBytes ==
    \A b \in Backends : \A k \in 1..Len(seen[b]) :
        seen[b][k] = Byte(pointer[b].item, pointer[b].version, k)

(* The bytes that a reader has not read yet are there, too. *)
Holds(i, version, off) == \A k \in 1..Lengths[i] : cells[off + k - 1] = Byte(i, version, k)
\* BROKEN b \in Backends if pointer[b] # NoPointer /\ ~Holds(pointer[b].item, pointer[b].version, pointer[b].off) |
\*        Backend {b} still has a pointer to tuple {pointer[b].item} at cell {pointer[b].off}, where it is no more
PointersHold ==
    \A b \in Backends : pointer[b] # NoPointer =>
        Holds(pointer[b].item, pointer[b].version, pointer[b].off)

(* Who has the content lock in exclusive mode has it alone. *)
\* BROKEN | {exclusive} has the content lock in exclusive mode, and {shared} in shared mode
LocksExclude == exclusive # None => shared = {}

(* Who looks up has the lock shared; who counts pins, moves tuples, inserts *)
(* or has just set its flag has it exclusive; and nobody else.             *)
\* BROKEN b \in Backends if pc[b] = "looking" /\ b \notin shared | Backend {b} looks at the page without the content
\*        lock
LocksAreHeld ==
    /\ shared = {b \in Backends : pc[b] = "looking"}
    /\ \A p \in Processes : exclusive = p <=> pc[p] \in {"counting", "compacting", "inserting", "flagged"}

(* Nobody locks, points into or waits for a page without a pin on it. *)
\* BROKEN b \in Backends if pointer[b] # NoPointer /\ b \notin pins | Backend {b} has a pointer into the page, and no
\*        pin on it
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
\* BROKEN p \in Processes, b \in Backends if pc[p] = "compacting" /\ b # p /\ pointer[b] # NoPointer | {p} compacts the
\*        page, while backend {b} has a pointer to tuple {pointer[b].item}
CompactsAlone ==
    \A p \in Processes : pc[p] = "compacting" =>
        /\ exclusive = p
        /\ \A b \in Backends \ {p} : pointer[b] = NoPointer

(* While no one changes it, the page is in order. *)
\* BROKEN i \in InUse if lp[i].off < upper | Tuple {i} begins at cell {lp[i].off}, below pd_upper, {upper}
\* BROKEN i \in InUse if ~Holds(i, lp[i].version, lp[i].off) | The bytes of tuple {i} are no more where its line
\*        pointer says, at cell {lp[i].off}
\* BROKEN if plan # <<>> | Nobody has the page locked, though tuples are still to be moved
PageIsSound ==
    exclusive = None =>
        /\ plan = <<>>
        /\ \A i \in InUse : lp[i].off >= upper /\ Holds(i, lp[i].version, lp[i].off)

(* Compaction compacts: dead tuples are gone, and tuples in use lie        *)
(* without a hole at the end of the page (PageIsSound: nothing overlaps).  *)
\* BROKEN if dead # {} | The page was compacted, and these dead tuples are still there: {dead}
\* BROKEN if upper # Room + 1 - SumOf(InUse) | The page was compacted: pd_upper should be {Room + 1 - SumOf(InUse)},
\*        and is {upper}
Compacted ==
    \A p \in Processes : pc[p] = "compacting" /\ plan = <<>> =>
        dead = {} /\ upper = Room + 1 - SumOf(InUse)

(* Only a tuple dies: a line pointer that is UNUSED has none.              *)
\* BROKEN i \in dead \ InUse | Line pointer {i} counts as dead, and has no tuple
DeadAreInUse == dead \subseteq InUse

(* A dead tuple does not come back: its line pointer becomes UNUSED.       *)
\* BROKEN i \in dead \ dead' if lp'[i].off # 0 | Tuple {i} was dead, and is visible again
DeadAreRemoved == [][\A i \in dead \ dead' : lp'[i].off = 0]_vars

(* A line pointer that is used again has a tuple of another version.       *)
\* BROKEN i \in Items \ InUse if lp'[i].off # 0 /\ lp'[i].version = lp[i].version | The new tuple of line pointer {i}
\*        cannot be told from the one that was there before
InsertsAreNew == [][\A i \in Items \ InUse : lp'[i].off # 0 => lp'[i].version # lp[i].version]_vars

(* A tuple that is not dead stays, and no other one takes its line pointer.*)
\* BROKEN i \in InUse if lp'[i].off # 0 /\ lp'[i].version # lp[i].version | Another tuple has taken line pointer {i},
\*        which was in use
\* BROKEN i \in InUse \ dead if lp'[i].off = 0 | Tuple {i} is gone, and was not dead
TuplesStay == [][\A i \in InUse : lp'[i].version = lp[i].version /\ (lp'[i].off = 0 => i \in dead)]_vars

(* The waiter is one that sleeps, is about to, or has just been woken.     *)
\* BROKEN | The page has the flag of {waiter}, who does not wait
WaiterWaits == waiter # None => pc[waiter] \in {"flagged", "asleep", "awake"}

(* Who sleeps will be woken: the page has its flag, or it has been signalled. *)
\* BROKEN c \in Cleaners if pc[c] \in {"flagged", "asleep"} /\ waiter # c /\ c \notin signals | {c} sleeps; its flag is
\*        not on the page, so that nobody will wake it
SleepersAreKnown == \A c \in Cleaners : pc[c] \in {"flagged", "asleep"} => waiter = c \/ c \in signals

(* A cancellation ends with the pin: the backend's next pin is no conflict. *)
\* BROKEN b \in conflicts \ pins | Backend {b} was cancelled, and has no pin any more
ConflictsHavePins == conflicts \subseteq pins

(* Nobody gets the error for a second waiter. *)
\* BROKEN c \in Cleaners if pc[c] = "error" | {c} got the error
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
\* BROKEN c \in Cleaners if pc[c] \notin {"idle", "cleaned", "unpinned"} | {c} waits, and never gets the cleanup lock
CleanupComes == Lull => \A c \in Cleaners : pc[c] = "pinned" ~> pc[c] = "compacting"
(* It gets it though new pins keep coming.  That does not hold: see the    *)
(* mutant of that name.                                                    *)
\* BROKEN c \in Cleaners if pc[c] \notin {"idle", "cleaned", "unpinned"} | {c} waits, and never gets the cleanup lock
CleanupComesInACrowd == \A c \in Cleaners : pc[c] = "pinned" ~> pc[c] = "compacting"

=============================================================================

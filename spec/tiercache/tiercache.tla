\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE tiercache -----------------------------
(* A page cache in three tiers: memory, an SSD that may be lost whole, and *)
(* a durable store.  Users read and write pages, and call fsync.  Write-   *)
(* backs take time: they gather, take old contents off the SSD, write the  *)
(* store, sync it, and call the pages clean.  Reads of the store take time *)
(* too.  Meanwhile anything may happen: writes, evictions, failures, and a *)
(* crash.                                                                  *)
(*                                                                         *)
(* Contents are numbers: each write of a page gives it the next one.       *)
(* A page is one sector here: a page torn by a crash is, sector by sector, *)
(* one of the contents that the crash may leave.                           *)
(*                                                                         *)
(* Simplified: all pages are of one block, so that each write-back has the *)
(* clean neighbours in its hands, too.  The choice of victims is free.     *)
(* One read of the store is on its way at a time.                          *)
(* A read of a device does not fail.                                       *)
(*                                                                         *)
(* How to break it: the mutants of MCtiercache.                            *)
EXTENDS Integers, FiniteSets

CONSTANTS
    Pages,
    Frames,         \* pages that the memory holds
    Slots,          \* of the SSD, by name
    Flushers,       \* those that may write back
    MaxWrites, MaxFailures, MaxCrashes,
    None

VARIABLES
    newest,     \* ghost: the contents that a read must give
    synced,     \* ghost: at the last successful fsync
    memory,     \* [page -> None, or its contents v, dirty: newer than the tiers below]
    held,       \* [slot -> None, or page, v, dirty: newer than the store]: what the cache knows of the SSD
    stale,      \* slots that are free, and may be valid on the SSD
    disk,       \* [slot -> what the SSD gives to a read], None: not valid
    diskMay,    \* [slot -> the set of what a crash may leave there]
    ssdInUse,
    reading,    \* None, or a page that is read from the store, v: what is read, old: it was written since
    mounts,     \* control, ssd: the numbers of the last mount that they tell
    store,      \* [page -> what the store gives to a read]
    durable,    \* [page -> the set of what may be durable]; a set of one, unless a sync has failed
    pending,    \* [page -> None, or what was written since the last sync]
    flush,      \* [flusher -> where it is, what it has gathered]
    failed,     \* a write-back has failed since the last fsync
    unreported, \* ghost: the same
    lied,       \* ghost: an fsync has hidden a failure
    writes, failures, crashes

cacheVars == <<memory, held, stale, ssdInUse, reading>>
ssdVars   == <<disk, diskMay, mounts>>
storeVars == <<store, durable, pending>>
ghosts    == <<newest, synced>>
reports   == <<failed, unreported, lied>>
bounds    == <<writes, failures, crashes>>
vars == <<ghosts, cacheVars, ssdVars, storeVars, flush, reports, bounds>>

Copy(v, d)    == [v |-> v, dirty |-> d]
Slot(p, v, d) == [page |-> p, v |-> v, dirty |-> d]
Idle == [at |-> "idle", fsync |-> FALSE, target |-> None, has |-> None, dirty |-> {}]

Init ==
    /\ newest = [p \in Pages |-> 0] /\ synced = newest
    /\ memory = [p \in Pages |-> None]
    /\ held = [s \in Slots |-> None] /\ stale = {}
    /\ disk = held /\ diskMay = [s \in Slots |-> {None}]
    /\ ssdInUse = TRUE /\ reading = None /\ mounts = [control |-> 1, ssd |-> 1]
    /\ store = newest /\ durable = [p \in Pages |-> {0}] /\ pending = [p \in Pages |-> None]
    /\ flush = [f \in Flushers |-> Idle]
    /\ failed = FALSE /\ unreported = FALSE /\ lied = FALSE
    /\ writes = 0 /\ failures = 0 /\ crashes = 0

-----------------------------------------------------------------------------
(* Where a page is *)

InMemory(p) == memory[p] # None
SlotOf(p)   == {s \in Slots : held[s] # None /\ held[s].page = p}
OnSsd(p)    == SlotOf(p) # {}
DirtyInMemory(p) == InMemory(p) /\ memory[p].dirty
DirtyOnSsd(p)    == \E s \in SlotOf(p) : held[s].dirty
Dirty(p)    == DirtyInMemory(p) \/ DirtyOnSsd(p)

\* What a slot gives to a read: nothing, if it is not what the cache knows.
Given(s) == IF disk[s] # None /\ disk[s].page = held[s].page THEN disk[s].v ELSE None

\* What a read gives.
View(p) ==
    IF InMemory(p) THEN memory[p].v
    ELSE IF OnSsd(p) THEN Given(CHOOSE s \in SlotOf(p) : TRUE)
    ELSE store[p]

Room == Cardinality({p \in Pages : InMemory(p)}) < Frames

-----------------------------------------------------------------------------
(* Reads and writes *)

LoadFromSsd(p) ==
    /\ ~InMemory(p) /\ Room /\ OnSsd(p)
    /\ memory' = [memory EXCEPT ![p] = Copy(View(p), FALSE)]
    /\ UNCHANGED <<ghosts, held, stale, ssdInUse, reading, ssdVars, storeVars, flush, reports, bounds>>

\* What a read gives that takes time is the oldest that it may be.
BeginRead(p) ==
    /\ reading = None /\ ~InMemory(p) /\ ~OnSsd(p)
    /\ reading' = [page |-> p, v |-> store[p], old |-> FALSE]
    /\ UNCHANGED <<ghosts, memory, held, stale, ssdInUse, ssdVars, storeVars, flush, reports, bounds>>

\* Old contents are read again; others are the user's, and go to memory unless they are there.
EndRead ==
    /\ reading # None
    /\ reading' = None
    /\ \/ UNCHANGED memory
       \/ /\ ~reading.old /\ ~InMemory(reading.page) /\ Room
          /\ memory' = [memory EXCEPT ![reading.page] = Copy(reading.v, FALSE)]
    /\ UNCHANGED <<ghosts, held, stale, ssdInUse, ssdVars, storeVars, flush, reports, bounds>>

\* Older contents on the SSD do not count any more.
Forget(slots) ==
    /\ held' = [s \in Slots |-> IF s \in slots THEN None ELSE held[s]]
    /\ stale' = stale \cup slots

Notices(p) == reading.page = p
Write(p) ==
    /\ writes < MaxWrites /\ (InMemory(p) \/ Room)
    /\ newest' = [newest EXCEPT ![p] = @ + 1]
    /\ memory' = [memory EXCEPT ![p] = Copy(newest[p] + 1, TRUE)]
    /\ Forget(SlotOf(p))
    /\ reading' = IF reading # None /\ Notices(p) THEN [reading EXCEPT !.old = TRUE] ELSE reading
    /\ writes' = writes + 1
    /\ UNCHANGED <<synced, ssdInUse, ssdVars, storeVars, flush, reports, failures, crashes>>

-----------------------------------------------------------------------------
(* Evictions *)

PutOnDisk(s, what) ==
    /\ disk' = [disk EXCEPT ![s] = what]
    /\ diskMay' = [diskMay EXCEPT ![s] = @ \cup {what}]

\* To a slot that is free, or that holds a clean page.
MayTake(s) == IF held[s] = None THEN TRUE ELSE ~held[s].dirty
Evict(p, s) ==
    /\ ssdInUse /\ InMemory(p) /\ ~OnSsd(p) /\ MayTake(s)
    /\ LET what == Slot(p, memory[p].v, memory[p].dirty) IN
       held' = [held EXCEPT ![s] = what] /\ PutOnDisk(s, what)
    /\ stale' = stale \ {s}
    /\ memory' = [memory EXCEPT ![p] = None]
    /\ UNCHANGED <<ghosts, ssdInUse, reading, mounts, storeVars, flush, reports, bounds>>

\* The write to the SSD fails: part of it may be there, or the whole. The page stays in memory.
EvictFails(p, s) ==
    /\ failures < MaxFailures
    /\ ssdInUse /\ InMemory(p) /\ ~OnSsd(p) /\ MayTake(s)
    /\ \E what \in {None, Slot(p, memory[p].v, memory[p].dirty)} : PutOnDisk(s, what)
    /\ Forget({s})
    /\ failures' = failures + 1
    /\ UNCHANGED <<ghosts, memory, ssdInUse, reading, mounts, storeVars, flush, reports, writes, crashes>>

MayDrop(p) == ~memory[p].dirty
Drop(p) ==
    /\ InMemory(p) /\ MayDrop(p)
    /\ memory' = [memory EXCEPT ![p] = None]
    /\ UNCHANGED <<ghosts, held, stale, ssdInUse, reading, ssdVars, storeVars, flush, reports, bounds>>

-----------------------------------------------------------------------------
(* Write-back *)

Fails == failures < MaxFailures /\ failures' = failures + 1
Works == UNCHANGED failures

Goto(f, label) == flush' = [flush EXCEPT ![f].at = label]
Alone(f) == \A other \in Flushers \ {f} : flush[other].at = "idle"

\* A write-back takes the dirty pages, and the clean ones at hand, to write them with the block. In the same step it
\* overwrites what is stale on the SSD: no slot is taken in between.
Wanted == {p \in Pages : Dirty(p)}
AtHand == {p \in Pages : InMemory(p) \/ OnSsd(p)}
Overwritten(s) == s \in stale
Gather(f, fsync) ==
    /\ flush[f].at = "idle" /\ Alone(f)
    /\ IF fsync THEN TRUE ELSE Wanted # {}
    /\ flush' = [flush EXCEPT ![f] =
                   [at |-> IF ssdInUse THEN "gathered" ELSE IF mounts.control = mounts.ssd THEN "retire" ELSE "write",
                    fsync |-> fsync, target |-> newest, dirty |-> Wanted, has |-> [p \in AtHand |-> View(p)]]]
    /\ IF ssdInUse
       THEN /\ disk' = [s \in Slots |-> IF Overwritten(s) THEN None ELSE disk[s]]
            /\ diskMay' = [s \in Slots |-> diskMay[s] \cup {disk'[s]}]
            /\ stale' = {}
       ELSE UNCHANGED <<disk, diskMay, stale>>
    /\ UNCHANGED <<ghosts, memory, held, ssdInUse, reading, mounts, storeVars, reports, bounds>>

SyncedDisk == [s \in Slots |-> {disk[s]}]
SyncSsd(f) ==
    /\ flush[f].at = "gathered"
    /\ \/ Works /\ diskMay' = SyncedDisk /\ Goto(f, "write")
       \/ Fails /\ UNCHANGED diskMay /\ Goto(f, "retire")
    /\ UNCHANGED <<ghosts, cacheVars, disk, mounts, storeVars, reports, writes, crashes>>

\* No restart will trust the SSD any more. Its dirty pages stay where they are.
NextMount == mounts.ssd + 1
Retire(f) ==
    /\ flush[f].at = "retire"
    /\ ssdInUse' = FALSE
    /\ held' = [s \in Slots |-> IF held[s] # None /\ held[s].dirty THEN held[s] ELSE None]
    /\ \/ Works /\ mounts' = [mounts EXCEPT !.control = NextMount] /\ Goto(f, "write")
       \/ Fails /\ UNCHANGED mounts /\ Goto(f, "failed")
    /\ UNCHANGED <<ghosts, memory, stale, reading, disk, diskMay, storeVars, reports, writes, crashes>>

\* If a write fails, part of it may have come there.
WriteStore(f) ==
    /\ flush[f].at = "write"
    /\ \E part \in SUBSET DOMAIN flush[f].has :
          /\ \/ Works /\ part = DOMAIN flush[f].has /\ Goto(f, "sync")
             \/ Fails /\ Goto(f, "failed")
          /\ store' = [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE store[p]]
          /\ pending' = [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE pending[p]]
          /\ durable' = [p \in Pages |-> IF p \in part /\ pending[p] # None THEN durable[p] \cup {pending[p]} ELSE durable[p]]
    /\ UNCHANGED <<ghosts, cacheVars, ssdVars, reports, writes, crashes>>

\* If a sync fails, what it was to make durable never becomes so, or did: reads give it, and later syncs do not know of it.
SyncStore(f) ==
    /\ flush[f].at = "sync"
    /\ \/ /\ Works /\ Goto(f, "clean")
          /\ durable' = [p \in Pages |-> IF pending[p] = None THEN durable[p] ELSE {pending[p]}]
       \/ /\ Fails /\ Goto(f, "failed")
          /\ durable' = [p \in Pages |-> IF pending[p] = None THEN durable[p] ELSE durable[p] \cup {pending[p]}]
    /\ pending' = [p \in Pages |-> None]
    /\ UNCHANGED <<ghosts, cacheVars, ssdVars, store, reports, writes, crashes>>

\* A page is clean if it was not written since it was gathered.
Unchanged(f, p, v) == flush[f].has[p] = v
CallClean(f) ==
    /\ memory' = [p \in Pages |-> IF p \in flush[f].dirty /\ InMemory(p) /\ Unchanged(f, p, memory[p].v)
                                  THEN Copy(memory[p].v, FALSE) ELSE memory[p]]
    /\ held' = [s \in Slots |-> IF held[s] # None /\ held[s].page \in flush[f].dirty
                                   /\ Unchanged(f, held[s].page, held[s].v)
                                THEN Slot(held[s].page, held[s].v, FALSE) ELSE held[s]]

\* An fsync gives an error if it has failed, or if a write-back has since the last one.
Report(f, bad) ==
    IF flush[f].fsync
    THEN /\ failed' = FALSE /\ unreported' = FALSE
         /\ lied' = (lied \/ (~bad /\ unreported))
         /\ synced' = IF bad THEN synced ELSE flush[f].target
    ELSE /\ failed' = bad
         /\ UNCHANGED <<synced, unreported, lied>>

Succeed(f) ==
    /\ flush[f].at = "clean"
    /\ CallClean(f)
    /\ Report(f, failed)
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<newest, stale, ssdInUse, reading, ssdVars, storeVars, bounds>>

\* Everything stays dirty; the next fsync gives the error.
AfterFailure(f) == UNCHANGED <<memory, held>>
NoteFailure == TRUE
Fail(f) ==
    /\ flush[f].at = "failed"
    /\ AfterFailure(f)
    /\ IF flush[f].fsync THEN Report(f, TRUE)
       ELSE failed' = NoteFailure /\ unreported' = TRUE /\ UNCHANGED <<synced, lied>>
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<newest, stale, ssdInUse, reading, ssdVars, storeVars, bounds>>

Flush(f) ==
    \/ \E fsync \in BOOLEAN : Gather(f, fsync)
    \/ SyncSsd(f) \/ Retire(f) \/ WriteStore(f) \/ SyncStore(f) \/ Succeed(f) \/ Fail(f)

-----------------------------------------------------------------------------
(* Crash and restart *)

Leaves(p) == durable[p] \cup (IF pending[p] = None THEN {} ELSE {pending[p]})

\* What a restart takes over of what the crash has left on the SSD: of each page the newest.
IsTrusted == mounts.control = mounts.ssd
IsTheOne(left, s) == \A t \in Slots : left[t] # None /\ left[t].page = left[s].page => left[t].v <= left[s].v
Taken(what) == what
TakeOver(left) ==
    [s \in Slots |->
        IF left[s] # None /\ IsTheOne(left, s)
           /\ \A t \in Slots : t < s => left[t] = None \/ left[t].page # left[s].page \/ left[t].v # left[s].v
        THEN Taken(left[s]) ELSE None]

Crash ==
    /\ crashes < MaxCrashes
    /\ crashes' = crashes + 1
    /\ \E left \in [Pages -> UNION {Leaves(p) : p \in Pages}], kept \in [Slots -> UNION {diskMay[s] : s \in Slots}],
          lose \in BOOLEAN :
          /\ \A p \in Pages : left[p] \in Leaves(p)
          /\ \A s \in Slots : kept[s] \in diskMay[s]
          /\ LET onSsd == IF lose THEN [s \in Slots |-> None] ELSE kept
                 taken == IF ~lose /\ IsTrusted THEN TakeOver(onSsd) ELSE [s \in Slots |-> None]
                 of(p) == {s \in Slots : taken[s] # None /\ taken[s].page = p}
             IN /\ store' = left
                /\ durable' = [p \in Pages |-> {left[p]}]
                /\ disk' = IF IsTrusted THEN onSsd ELSE taken
                /\ diskMay' = [s \in Slots |-> {disk'[s]}]
                /\ held' = taken
                /\ stale' = {s \in Slots : disk'[s] # None /\ taken[s] = None}
                /\ newest' = [p \in Pages |-> IF of(p) = {} THEN left[p] ELSE taken[CHOOSE s \in of(p) : TRUE].v]
    /\ memory' = [p \in Pages |-> None] /\ reading' = None
    /\ pending' = [p \in Pages |-> None]
    /\ ssdInUse' = TRUE
    /\ mounts' = [control |-> mounts.control + 1, ssd |-> mounts.control + 1]
    /\ flush' = [f \in Flushers |-> Idle]
    /\ failed' = FALSE /\ unreported' = FALSE
    /\ UNCHANGED <<synced, lied, writes, failures>>

-----------------------------------------------------------------------------
Next ==
    \/ EndRead
    \/ \E p \in Pages : LoadFromSsd(p) \/ BeginRead(p) \/ Write(p) \/ Drop(p) \/ \E s \in Slots : Evict(p, s) \/ EvictFails(p, s)
    \/ \E f \in Flushers : Flush(f)
    \/ Crash

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(\E f \in Flushers : SyncSsd(f) \/ Retire(f) \/ WriteStore(f) \/ SyncStore(f) \/ Succeed(f) \/ Fail(f))

TypeOK ==
    /\ newest \in [Pages -> Nat] /\ synced \in [Pages -> Nat] /\ store \in [Pages -> Nat]
    /\ \A p \in Pages : memory[p] = None \/ memory[p] \in [v : Nat, dirty : BOOLEAN]
    /\ \A s \in Slots : held[s] = None \/ held[s] \in [page : Pages, v : Nat, dirty : BOOLEAN]
    /\ reading = None \/ reading \in [page : Pages, v : Nat, old : BOOLEAN]
    /\ stale \subseteq Slots /\ \A s \in stale : held[s] = None
    /\ Cardinality({p \in Pages : InMemory(p)}) <= Frames
    /\ \A p \in Pages : Cardinality(SlotOf(p)) <= 1

\* A read gives the newest contents.
ReadsNewest ==
    /\ \A p \in Pages : View(p) = newest[p]
    /\ reading # None /\ ~reading.old => reading.v = newest[reading.page]

\* What the SSD holds of a page is its newest contents: old ones are never read.
SsdIsNewest == \A s \in Slots : held[s] # None => held[s].v = newest[held[s].page]

\* A page that no tier calls dirty is durable in the store: it may leave all tiers.
CleanIsDurable == \A p \in Pages : ~Dirty(p) => Leaves(p) = {newest[p]}

\* Whatever a crash leaves, be it with the SSD or without, nothing that was synced is lost.
SyncedSurvives ==
    \A p \in Pages :
        /\ newest[p] >= synced[p]
        /\ \A v \in Leaves(p) : v >= synced[p]
TrustedIsNotOld ==
    IsTrusted => \A s \in Slots : \A what \in diskMay[s] : what # None => what.v >= synced[what.page]

\* No fsync succeeds while a failure is not reported.
NoLie == ~lied

\* A write-back that has begun ends.
EachEnds == \A f \in Flushers : flush[f].at # "idle" ~> flush[f].at = "idle"
=============================================================================

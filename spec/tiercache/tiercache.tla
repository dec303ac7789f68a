\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE tiercache -----------------------------
(* A page cache in three tiers: memory, an SSD that may be lost whole, and *)
(* a durable store.  Users read and write pages, and call fsync.  Write-   *)
(* backs take time: they gather, take old contents off the SSD, write the  *)
(* store, sync it, and call the pages clean.  Reads of store and SSD take  *)
(* time too, as do evictions, and a mount is five steps.  Meanwhile        *)
(* anything may happen: writes, failures, a kill that leaves the kernel's  *)
(* cache, and a power loss that drops it.  While the cache is down its SSD may be exchanged   *)
(* for an older copy of itself or for that of another store, its store may *)
(* be exchanged, and store and control file may be made anew.              *)
(*                                                                         *)
(* Contents are numbers: each write takes the next one.  So are nonces: a  *)
(* life of the store counts its own, and a second life meets the numbers   *)
(* of the first again, under another id.                                   *)
(* A page is one sector here: a page torn by a crash is, sector by sector, *)
(* one of the contents that the crash may leave.                           *)
(*                                                                         *)
(* Failures: a write that fails has landed, or not; of a slot also in      *)
(* part. A sync that fails has made durable any part; after it the kernel  *)
(* may count as clean what it did not write (Linux), or write it later.    *)
(*                                                                         *)
(* The store's trailer lists what a write-back is about to write, and what *)
(* a sync has failed to make durable: a mount writes that again.  Likewise *)
(* it is in doubt of an SSD of which a sync has failed.  What is listed is *)
(* here a set, and the doubt a flag: how they outlive a torn trailer, and  *)
(* the epochs that tell the doubt, are the code's.                         *)
(*                                                                         *)
(* Assumed: an SSD that is put in place is no copy from within the last    *)
(* mount (Exchange).                                                       *)
(*                                                                         *)
(* Simplified: all pages are of one block, so that each write-back has the *)
(* clean neighbours in its hands, too.  The choice of victims is free, and *)
(* so is which clean pages enter the SSD (BeginEvict) and which pass it by *)
(* (Drop): it is no matter of safety, and the code's rule is one choice.   *)
(* So is when: a page may leave though nobody needs its frame.  That is    *)
(* what a cleaner does, which makes room ahead: all its steps are here.    *)
(* Of two slots of a page a mount may take over any: versions order them,  *)
(* and nothing here rests on that order.                                   *)
(* One read and one eviction are on their way at a time.  A write-back     *)
(* reads the SSD in one step, since nobody writes a slot that is read.  An *)
(* fsync with nothing dirty waits for an eviction, too.                    *)
(*                                                                         *)
(* Departures from upstream: PostgreSQL has no such cache.                 *)
(*                                                                         *)
(* How to break it: the mutants of MCtiercache.                            *)
EXTENDS Integers, FiniteSets

CONSTANTS
    Pages,
    Frames,         \* pages that the memory holds
    Slots,          \* of the SSD, by name
    Flushers,       \* those that may write back
    MaxWrites, MaxFailures,
    MaxCrashes,     \* kills, power losses and exchanges
    MaxLives,       \* how often store and control file are made, the first time included
    None

VARIABLES
    newest,     \* ghost: the contents that a read must give
    synced,     \* ghost: at the last successful fsync
    allowed,    \* ghost: [page -> these, and what was written since]
    memory,     \* [page -> None, or its contents v, dirty: newer than the tiers below]
    held,       \* [slot -> None, or page, v, dirty: newer than the store]: what the cache knows of the SSD
    stale,      \* slots without a page, that may be valid on the SSD: those that are being written are among them
    ssdInUse,
    retiring,   \* the control file is still to tell that the SSD is out of use
    reading,    \* None, or a page that is read from a slot (None: the store), v: what is read, old: it was written
                \* since, keeps: it has a frame, and comes to memory
    waits,      \* None, or the page for whose reading another reader waits
    leaving,    \* None, or a page on its way to a slot of the SSD, v, dirty: what is written there
    needs,      \* somebody needs a frame, and waits until the page that is leaving has left
    phase,      \* "up", "down", or where a mount is
    mine,       \* id of the store, gen: of the slots that count, n: the nonce that this mount gives to the control file
    disk,       \* [slot -> what the SSD gives to a read: page, v, dirty, gen], None: nothing valid
    diskMay,    \* [slot -> the set of what a crash may leave there]
    super,      \* the SSD's superblock: None, or id, n, gen
    superMay,
    forgot,     \* a sync of the SSD has failed, and the kernel does not write again what it was to write
    control,    \* the control file: None, or id, n
    controlMay,
    store,      \* [page -> what the store gives to a read]
    durable,    \* [page -> the set of what may be durable]; a set of one, unless a sync has failed
    pending,    \* [page -> None, or what was written since the last sync]
    listed,     \* pages in the store's trailer: a write-back was to write them, and no sync has made them durable
    inPlace,    \* the store is the one that the control file belongs to
    flush,      \* [flusher -> where it is, what it has gathered]
    failed,     \* a write-back has failed since the last fsync
    unreported, \* ghost: the same
    lied,       \* ghost: an fsync has hidden a failure
    life,       \* how often store and control file were made
    drawn,      \* nonces drawn in this life
    earlier,    \* ghost: the id and n of superblocks before the last mount
    writes, failures, crashes

going       == <<reading, waits, leaving, needs>>
cacheVars   == <<memory, held, stale, ssdInUse, retiring, going, mine>>
slotVars    == <<disk, diskMay>>
superVars   == <<super, superMay, forgot>>
controlVars == <<control, controlMay>>
storeVars   == <<store, durable, pending, listed>>
ghosts      == <<newest, synced, allowed>>
reports     == <<failed, unreported, lied>>
lives       == <<life, drawn, earlier>>
bounds      == <<writes, failures, crashes>>
vars == <<ghosts, cacheVars, phase, slotVars, superVars, controlVars, storeVars, inPlace, flush, reports, lives, bounds>>
\* What reads, writes and evictions leave as it is, and most of a write-back.
still == <<ssdInUse, retiring, mine, phase, superVars, controlVars, inPlace, lives>>

Copy(v, d)    == [v |-> v, dirty |-> d]
Slot(p, v, d) == [page |-> p, v |-> v, dirty |-> d]
OnDisk(slot)  == [page |-> slot.page, v |-> slot.v, dirty |-> slot.dirty, gen |-> mine.gen]
Idle == [at |-> "idle", fsync |-> FALSE, target |-> None, from |-> 0, has |-> None, dirty |-> {}, off |-> {}]
Empty == [s \in Slots |-> None]
Each(f) == [x \in DOMAIN f |-> {f[x]}]

Mark(id, n) == [id |-> id, n |-> n]
MarkOf(u)   == Mark(u.id, u.n)
First == Mark(1, 1)

Init ==
    /\ newest = [p \in Pages |-> 0] /\ synced = newest /\ allowed = Each(newest)
    /\ memory = [p \in Pages |-> None]
    /\ held = Empty /\ stale = {}
    /\ disk = Empty /\ diskMay = Each(Empty)
    /\ ssdInUse = TRUE /\ retiring = FALSE /\ reading = None /\ waits = None /\ leaving = None /\ needs = FALSE
    /\ phase = "up" /\ mine = [id |-> 1, gen |-> First]
    /\ super = [id |-> 1, n |-> 1, gen |-> First] /\ superMay = {super} /\ forgot = FALSE
    /\ control = First /\ controlMay = {First}
    /\ store = newest /\ durable = Each(newest) /\ pending = [p \in Pages |-> None] /\ listed = {} /\ inPlace = TRUE
    /\ flush = [f \in Flushers |-> Idle]
    /\ failed = FALSE /\ unreported = FALSE /\ lied = FALSE
    /\ life = 1 /\ drawn = 1 /\ earlier = {}
    /\ writes = 0 /\ failures = 0 /\ crashes = 0

Up    == phase = "up"
Fails == failures < MaxFailures /\ failures' = failures + 1
Works == UNCHANGED failures

-----------------------------------------------------------------------------
(* Where a page is *)

InMemory(p) == memory[p] # None
SlotOf(p)   == {s \in Slots : held[s] # None /\ held[s].page = p}
OnSsd(p)    == SlotOf(p) # {}
DirtyInMemory(p) == InMemory(p) /\ memory[p].dirty
DirtyOnSsd(p)    == \E s \in SlotOf(p) : held[s].dirty
Dirty(p)    == DirtyInMemory(p) \/ DirtyOnSsd(p)

\* What a slot gives to a read: nothing, if it is not what the cache knows.
Given(s) == IF disk[s] # None /\ disk[s].page = held[s].page /\ disk[s].gen = mine.gen THEN disk[s].v ELSE None

\* What another store gives, or a slot of another SSD.
Alien == -1
InStore(p) == IF inPlace THEN store[p] ELSE Alien

\* What a read gives.
View(p) ==
    IF InMemory(p) THEN memory[p].v
    ELSE IF OnSsd(p) THEN Given(CHOOSE s \in SlotOf(p) : TRUE)
    ELSE InStore(p)

\* A frame that waits for what is read is taken.
Reserved == IF reading # None /\ reading.keeps THEN 1 ELSE 0
Room == Cardinality({p \in Pages : InMemory(p)}) + Reserved < Frames

-----------------------------------------------------------------------------
(* Reads and writes *)

\* What a read of the store gives that takes time is the oldest that it may be.
BeginRead(p) ==
    /\ Up /\ reading = None /\ ~InMemory(p)
    /\ \E keeps \in BOOLEAN :
          /\ keeps => Room
          /\ reading' = [page |-> p, slot |-> IF OnSsd(p) THEN CHOOSE s \in SlotOf(p) : TRUE ELSE None, v |-> View(p),
                         old |-> FALSE, keeps |-> keeps]
    /\ UNCHANGED <<ghosts, memory, held, stale, waits, leaving, needs, still, slotVars, storeVars, flush, reports, bounds>>

Wait(p) ==
    /\ reading # None /\ reading.page = p /\ reading.keeps /\ waits = None
    /\ waits' = p
    /\ UNCHANGED <<ghosts, memory, held, stale, reading, leaving, needs, still, slotVars, storeVars, flush, reports, bounds>>

\* Old contents are read again; others are the user's, and go to memory if there is a frame for them.
Fresh == ~reading.old
EndRead ==
    /\ reading # None
    /\ reading' = None /\ waits' = None
    /\ memory' = IF reading.keeps /\ Fresh THEN [memory EXCEPT ![reading.page] = Copy(reading.v, FALSE)] ELSE memory
    /\ UNCHANGED <<ghosts, held, stale, leaving, needs, still, slotVars, storeVars, flush, reports, bounds>>

\* Older contents on the SSD do not count any more.
Forget(slots) ==
    /\ held' = [s \in Slots |-> IF s \in slots THEN None ELSE held[s]]
    /\ stale' = stale \cup slots

Notices(p) == reading.page = p
Write(p) ==
    /\ Up /\ writes < MaxWrites /\ (InMemory(p) \/ Room)
    /\ LET v == writes + 1 IN
       /\ newest' = [newest EXCEPT ![p] = v]
       /\ allowed' = [allowed EXCEPT ![p] = @ \cup {v}]
       /\ memory' = [memory EXCEPT ![p] = Copy(v, TRUE)]
    /\ Forget(SlotOf(p))
    /\ reading' = IF reading # None /\ Notices(p) THEN [reading EXCEPT !.old = TRUE] ELSE reading
    /\ writes' = writes + 1
    /\ UNCHANGED <<synced, waits, leaving, needs, still, slotVars, storeVars, flush, reports, failures, crashes>>

-----------------------------------------------------------------------------
(* Evictions *)

PutOnDisk(s, what) == disk' = [disk EXCEPT ![s] = what]
MayLeave(s, whats) == diskMay' = [diskMay EXCEPT ![s] = @ \cup whats]

\* A slot that somebody reads.
Used(s) == IF reading = None THEN FALSE ELSE reading.slot = s
\* To a slot that is free, or that holds a clean page, and that nobody reads.
MayTake(s) == IF held[s] = None THEN TRUE ELSE ~held[s].dirty
\* Until the slot is written the page stays in memory, and the slot counts for nothing, whatever it has.
StaleMeanwhile(s) == stale \cup {s}
BeginEvict(p, s) ==
    /\ Up /\ ssdInUse /\ InMemory(p) /\ ~OnSsd(p) /\ leaving = None /\ MayTake(s) /\ ~Used(s)
    /\ leaving' = [page |-> p, slot |-> s, v |-> memory[p].v, dirty |-> memory[p].dirty]
    /\ LET what == Slot(p, memory[p].v, memory[p].dirty) IN
       /\ held' = [held EXCEPT ![s] = None]
       /\ MayLeave(s, {None, OnDisk(what)})
    /\ stale' = StaleMeanwhile(s)
    /\ UNCHANGED memory
    /\ UNCHANGED <<ghosts, reading, waits, needs, still, disk, storeVars, flush, reports, bounds>>

\* If the page was written meanwhile, the slot has old contents, and the page stays. If the write to the SSD fails, nothing of it is
\* there, or part, or the whole, and the page stays, too.
StillThat == InMemory(leaving.page) /\ memory[leaving.page].v = leaving.v
EndEvict ==
    /\ leaving # None
    /\ leaving' = None /\ needs' = FALSE
    /\ LET p == leaving.page
           s == leaving.slot
           what == OnDisk(Slot(p, leaving.v, leaving.dirty))
       IN /\ MayLeave(s, {None, what})
          /\ \/ /\ Works
                /\ PutOnDisk(s, what)
                /\ IF StillThat
                   THEN /\ held' = [held EXCEPT ![s] = Slot(p, leaving.v, memory[p].dirty)]
                        /\ stale' = stale \ {s}
                        /\ memory' = [memory EXCEPT ![p] = None]
                   ELSE UNCHANGED <<held, stale, memory>>
             \/ /\ Fails
                /\ \E left \in {disk[s], None, what} : PutOnDisk(s, left)
                /\ UNCHANGED <<held, stale, memory>>
    /\ UNCHANGED <<ghosts, reading, waits, still, storeVars, flush, reports, writes, crashes>>

\* A write needs a frame, and what can leave is leaving. It looks again once it is woken.
MayNeed == leaving # None /\ ~Room
Need ==
    /\ MayNeed /\ ~needs
    /\ needs' = TRUE
    /\ UNCHANGED <<ghosts, memory, held, stale, reading, waits, leaving, still, slotVars, storeVars, flush, reports, bounds>>

\* Its slot is wanted for another page while it is read: the page leaves the SSD, and the slot is free once it was read.
Displace(s) ==
    /\ Up /\ ssdInUse /\ Used(s) /\ held[s] # None /\ MayTake(s)
    /\ Forget({s})
    /\ UNCHANGED <<ghosts, memory, going, still, slotVars, storeVars, flush, reports, bounds>>

NotLeaving(p) == IF leaving = None THEN TRUE ELSE leaving.page # p
MayDrop(p) == ~memory[p].dirty
\* Also a page that the SSD could take. A dirty one goes to the SSD, or is written back first.
Drop(p) ==
    /\ Up /\ InMemory(p) /\ MayDrop(p) /\ NotLeaving(p)
    /\ memory' = [memory EXCEPT ![p] = None]
    /\ UNCHANGED <<ghosts, held, stale, going, still, slotVars, storeVars, flush, reports, bounds>>

\* A slot cannot be read. Its page is clean: the store has it.
Unreadable(s) ==
    /\ Up /\ held[s] # None /\ MayTake(s)
    /\ Fails
    /\ Forget({s})
    /\ UNCHANGED <<ghosts, memory, going, still, slotVars, storeVars, flush, reports, writes, crashes>>

-----------------------------------------------------------------------------
(* Write-back *)

Goto(f, label) == flush' = [flush EXCEPT ![f].at = label]
Alone(f) == \A other \in Flushers \ {f} : flush[other].at = "idle"

\* A write-back takes the dirty pages, and the clean ones at hand, to write them with the block. What is stale then it is to
\* overwrite on the SSD. An fsync does so with nothing dirty, too.
Wanted == {p \in Pages : Dirty(p)}
AtHand == {p \in Pages : InMemory(p) \/ OnSsd(p)}
NothingToWrite(f) == flush[f].dirty = {}
ToStore(f) == IF NothingToWrite(f) THEN "clean" ELSE "write"
Gather(f, fsync) ==
    /\ Up /\ flush[f].at = "idle" /\ Alone(f)
    /\ IF fsync THEN TRUE ELSE Wanted # {}
    /\ LET after == IF Wanted = {} THEN "clean" ELSE "write"
           next == IF ssdInUse THEN "scrub" ELSE IF retiring THEN "retire" ELSE after
       IN flush' = [flush EXCEPT ![f] = [at |-> next, fsync |-> fsync, target |-> newest, from |-> writes, dirty |-> Wanted,
                                         has |-> IF Wanted = {} THEN None ELSE [p \in AtHand |-> View(p)],
                                         off |-> IF next = "scrub" THEN stale ELSE {}]]
    /\ UNCHANGED <<ghosts, cacheVars, phase, slotVars, superVars, controlVars, storeVars, inPlace, reports, lives, bounds>>

\* A slot that is being written is waited for: then it has its page, or is stale still. So is one that is read.
Settled(s) == (IF leaving = None THEN TRUE ELSE leaving.slot # s) /\ ~(s \in stale /\ Used(s))
Scrub(f) ==
    /\ flush[f].at = "scrub" /\ \A s \in flush[f].off : Settled(s)
    /\ LET off == flush[f].off \cap stale
       IN \E done \in SUBSET off :
          /\ disk' = [s \in Slots |-> IF s \in done THEN None ELSE disk[s]]
          /\ diskMay' = [s \in Slots |-> IF s \in off THEN diskMay[s] \cup {None} ELSE diskMay[s]]
          /\ \/ /\ Works /\ done = off
                /\ stale' = stale \ flush[f].off
                /\ flush' = [flush EXCEPT ![f].at = "gathered", ![f].off = {}]
             \/ /\ Fails /\ off # {}
                /\ stale' = stale \ done
                /\ flush' = [flush EXCEPT ![f].at = "retire", ![f].off = {}]
    /\ UNCHANGED <<ghosts, memory, held, going, still, storeVars, reports, writes, crashes>>

SyncSsd(f) ==
    /\ flush[f].at = "gathered"
    /\ \/ Works /\ diskMay' = Each(disk) /\ Goto(f, ToStore(f)) /\ UNCHANGED forgot
       \/ Fails /\ UNCHANGED diskMay /\ Goto(f, "retire") /\ forgot' \in BOOLEAN
    /\ UNCHANGED <<ghosts, cacheVars, disk, phase, super, superMay, controlVars, storeVars, inPlace, reports, lives, writes, crashes>>

\* No restart will trust the SSD any more: the control file gets a nonce that no superblock has carried. If that fails, it
\* may have it, or not. The SSD's dirty pages stay where they are.
FreshNonce == drawn + 1
Retire(f) ==
    /\ flush[f].at = "retire"
    /\ ssdInUse' = FALSE
    /\ held' = [s \in Slots |-> IF held[s] # None /\ held[s].dirty THEN held[s] ELSE None]
    /\ drawn' = drawn + 1
    /\ LET new == Mark(mine.id, FreshNonce) IN
       \/ Works /\ control' = new /\ controlMay' = {new} /\ retiring' = FALSE /\ forgot' = FALSE /\ Goto(f, ToStore(f))
       \/ Fails /\ control' \in {control, new} /\ controlMay' = controlMay \cup {new} /\ retiring' = TRUE
          /\ Goto(f, "failed") /\ UNCHANGED forgot
    /\ UNCHANGED <<ghosts, memory, stale, going, mine, phase, slotVars, super, superMay, storeVars, inPlace, life, earlier,
                   reports, writes, crashes>>

Written(p) == IF pending[p] = None THEN {} ELSE {pending[p]}

\* If a write fails, part of it may have come there. Before, the trailer lists the pages; if that fails, nothing is written.
WriteStore(f) ==
    /\ flush[f].at = "write"
    /\ listed' = listed \cup flush[f].dirty
    /\ \E part \in SUBSET DOMAIN flush[f].has :
          /\ \/ Works /\ part = DOMAIN flush[f].has /\ Goto(f, "sync")
             \/ Fails /\ Goto(f, "failed")
          /\ store' = [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE store[p]]
          /\ pending' = [p \in Pages |-> IF p \in part THEN flush[f].has[p] ELSE pending[p]]
          /\ durable' = [p \in Pages |-> IF p \in part THEN durable[p] \cup Written(p) ELSE durable[p]]
    /\ UNCHANGED <<ghosts, memory, held, stale, going, still, slotVars, reports, writes, crashes>>

\* If a sync fails, what it was to make durable became so or not. The kernel forgets it, or writes it with a later sync.
StoreSyncs == durable' = [p \in Pages |-> IF pending[p] = None THEN durable[p] ELSE {pending[p]}] /\ pending' = [p \in Pages |-> None]
StoreSyncFails ==
    /\ durable' = [p \in Pages |-> durable[p] \cup Written(p)]
    /\ pending' \in {pending, [p \in Pages |-> None]}
SyncStore(f) ==
    /\ flush[f].at = "sync"
    /\ \/ Works /\ StoreSyncs /\ listed' = listed \ flush[f].dirty /\ Goto(f, "clean")
       \/ Fails /\ StoreSyncFails /\ UNCHANGED listed /\ Goto(f, "failed")
    /\ UNCHANGED <<ghosts, memory, held, stale, going, still, slotVars, store, reports, writes, crashes>>

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
         /\ allowed' = IF bad THEN allowed
                       ELSE [p \in Pages |-> {flush[f].target[p]} \cup {v \in allowed[p] : v > flush[f].from}]
    ELSE /\ failed' = bad
         /\ UNCHANGED <<synced, allowed, unreported, lied>>

Succeed(f) ==
    /\ flush[f].at = "clean"
    /\ CallClean(f)
    /\ Report(f, failed)
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<newest, stale, going, still, slotVars, storeVars, bounds>>

\* Everything stays dirty; the next fsync gives the error.
AfterFailure(f) == UNCHANGED <<memory, held>>
NoteFailure == TRUE
Fail(f) ==
    /\ flush[f].at = "failed"
    /\ AfterFailure(f)
    /\ IF flush[f].fsync THEN Report(f, TRUE)
       ELSE failed' = NoteFailure /\ unreported' = TRUE /\ UNCHANGED <<synced, allowed, lied>>
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<newest, stale, going, still, slotVars, storeVars, bounds>>

Flush(f) ==
    \/ \E fsync \in BOOLEAN : Gather(f, fsync)
    \/ Scrub(f) \/ SyncSsd(f) \/ Retire(f) \/ WriteStore(f) \/ SyncStore(f) \/ Succeed(f) \/ Fail(f)

-----------------------------------------------------------------------------
(* The end of a mount, and what may happen to the devices then *)

Nothing ==
    /\ memory' = [p \in Pages |-> None] /\ held' = Empty /\ stale' = {}
    /\ ssdInUse' = FALSE /\ retiring' = FALSE /\ reading' = None /\ waits' = None /\ leaving' = None /\ needs' = FALSE
Down ==
    /\ Nothing /\ mine' = None /\ phase' = "down"
    /\ flush' = [f \in Flushers |-> Idle]
    /\ failed' = FALSE /\ unreported' = FALSE
Happens == crashes < MaxCrashes /\ crashes' = crashes + 1 /\ UNCHANGED <<ghosts, lied, writes, failures>>

\* The process ends. What the kernel has in its cache it gives to reads, and writes one day, unless it forgot that.
Kill ==
    /\ phase # "down" /\ Happens /\ Down
    /\ UNCHANGED <<slotVars, superVars, controlVars, storeVars, inPlace, lives>>

\* The kernel's cache is gone. The SSD may be lost as a whole, or some of its slots.
Leaves(p) == durable[p] \cup Written(p)
PowerLoss ==
    /\ Happens /\ Down
    /\ \E left \in [Pages -> UNION {Leaves(p) : p \in Pages}], kept \in [Slots -> UNION {diskMay[s] : s \in Slots} \cup {None}],
          u \in superMay, c \in controlMay, lose \in BOOLEAN :
          /\ \A p \in Pages : left[p] \in Leaves(p)
          /\ \A s \in Slots : kept[s] \in diskMay[s] \cup {None}
          /\ store' = left /\ durable' = Each(left) /\ pending' = [p \in Pages |-> None] /\ listed' \in SUBSET listed
          /\ disk' = (IF lose THEN Empty ELSE kept) /\ diskMay' = Each(disk')
          /\ super' = (IF lose THEN None ELSE u) /\ superMay' = {super'}
          /\ control' = c /\ controlMay' = {c}
    /\ forgot' = FALSE
    /\ UNCHANGED <<inPlace, lives>>

\* Another SSD comes in place of the SSD: of another store, with any nonce, or one of ours from before the last mount.
SlotsGen(id, n) == Mark(id, n)
Exchange ==
    /\ phase = "down" /\ Happens
    /\ \E u \in earlier \cup {Mark(0, n) : n \in 1..drawn}, s \in Slots, p \in Pages :
          LET gen == SlotsGen(u.id, u.n) IN
          /\ super' = [id |-> u.id, n |-> u.n, gen |-> gen]
          /\ disk' = [Empty EXCEPT ![s] = [page |-> p, v |-> Alien, dirty |-> TRUE, gen |-> gen]]
    /\ superMay' = {super'} /\ diskMay' = Each(disk') /\ forgot' = FALSE
    /\ UNCHANGED <<cacheVars, phase, controlVars, storeVars, inPlace, flush, failed, unreported, lives>>

\* Another store is there in place of the store; and it comes back.
OtherStore ==
    /\ phase = "down"
    /\ inPlace' = ~inPlace
    /\ IF inPlace THEN Happens ELSE UNCHANGED <<ghosts, lied, bounds>>
    /\ UNCHANGED <<cacheVars, phase, slotVars, superVars, controlVars, storeVars, flush, failed, unreported, lives>>

\* Store and control file are made anew. The SSD stays as it is.
SecondLife ==
    /\ phase = "down" /\ life < MaxLives
    /\ life' = life + 1 /\ drawn' = 0
    /\ control' = None /\ controlMay' = {None}
    /\ store' = [p \in Pages |-> 0] /\ durable' = Each(store') /\ pending' = [p \in Pages |-> None] /\ listed' = {} /\ inPlace' = TRUE
    /\ newest' = store' /\ synced' = store' /\ allowed' = Each(store')
    /\ UNCHANGED <<cacheVars, phase, slotVars, superVars, flush, reports, earlier, bounds>>

-----------------------------------------------------------------------------
(* A mount: five steps that write, each of which may fail. It is refused without its store or its control file; the next
   one begins anew. Without its SSD it goes on. *)

\* The store's trailer has the id that the control file has. The pages that it lists are read and written again, and the
\* store is synced: what a process that was killed has written becomes what it seems to be. If one of the writes fails, the
\* mount is refused as if the sync had.
Again(p) == p \in listed
MountStore ==
    /\ phase = "down" /\ inPlace
    /\ LET written(p) == IF Again(p) THEN store[p] ELSE pending[p] IN
       \/ /\ Works /\ phase' = "scan" /\ listed' = {}
          /\ durable' = [p \in Pages |-> IF written(p) = None THEN durable[p] ELSE {written(p)}]
          /\ pending' = [p \in Pages |-> None]
       \/ /\ Fails /\ UNCHANGED <<phase, listed>>
          /\ durable' = [p \in Pages |-> durable[p] \cup Written(p) \cup (IF written(p) = None THEN {} ELSE {written(p)})]
          /\ pending' \in {[p \in Pages |-> written(p)], [p \in Pages |-> None]}
    /\ UNCHANGED <<ghosts, cacheVars, slotVars, superVars, controlVars, store, inPlace, flush, reports, lives, writes, crashes>>

Trusts(u, c) == u.id = c.id /\ u.n = c.n
IsTrusted == super # None /\ control # None /\ Trusts(super, control)

\* The slots that count are taken over: of a page one. What cannot be read now may be valid later: it is stale, as is what
\* another slot was taken for. In doubt, all others are stale, too. An SSD that is not trusted is taken for empty: its slots
\* are of no generation that counts.
Taken(what) == Slot(what.page, what.v, what.dirty)
Scan ==
    /\ phase = "scan"
    /\ LET id  == IF control = None THEN life ELSE control.id
           gen == IF IsTrusted THEN super.gen ELSE SlotsGen(id, FreshNonce)
           valid == IF IsTrusted THEN {s \in Slots : disk[s] # None /\ disk[s].gen = gen} ELSE {}
       IN /\ mine' = [id |-> id, gen |-> gen, n |-> FreshNonce, before |-> IF super = None THEN {} ELSE {MarkOf(super)}]
          /\ \/ \E unreadable \in SUBSET valid, chosen \in SUBSET valid :
                   /\ IF unreadable = {} THEN Works ELSE Fails
                   /\ chosen \cap unreadable = {}
                   /\ \A s, t \in chosen : s # t => disk[s].page # disk[t].page
                   /\ \A s \in valid \ unreadable : \E t \in chosen : disk[t].page = disk[s].page
                   /\ held' = [s \in Slots |-> IF s \in chosen THEN Taken(disk[s]) ELSE None]
                   /\ stale' = unreadable \cup (valid \ chosen)
                               \cup (IF forgot /\ IsTrusted THEN Slots \ chosen ELSE {})
                   /\ ssdInUse' = TRUE /\ phase' = "super"
             \/ Fails /\ phase' = "control" /\ UNCHANGED <<held, stale, ssdInUse>>
    /\ drawn' = drawn + 1
    /\ UNCHANGED <<ghosts, memory, retiring, going, slotVars, superVars, controlVars, storeVars, inPlace, flush, reports,
                   life, earlier, writes, crashes>>

\* An SSD that fails is not used in this mount. Its superblock may have this mount's nonce: control gets another one.
OtherNonce == FreshNonce
SetAside ==
    /\ held' = Empty /\ stale' = {} /\ ssdInUse' = FALSE
    /\ mine' = [mine EXCEPT !.n = OtherNonce] /\ drawn' = drawn + 1
    /\ phase' = "control"
OnlyMounts == <<ghosts, memory, retiring, going, storeVars, inPlace, flush, reports, life, earlier, writes, crashes>>

WriteSuper ==
    /\ phase = "super"
    /\ LET new == [id |-> mine.id, n |-> mine.n, gen |-> mine.gen] IN
       /\ superMay' = superMay \cup {new}
       /\ \/ Works /\ super' = new /\ phase' = "sync" /\ UNCHANGED <<held, stale, ssdInUse, mine, drawn>>
          \/ Fails /\ super' \in {super, new} /\ SetAside
    /\ UNCHANGED <<OnlyMounts, slotVars, forgot, controlVars>>

\* What was taken over is durable. In doubt it was written again, and what a slot has that was not is not known.
TakenOver == [s \in Slots |-> IF forgot /\ held[s] = None THEN diskMay[s] ELSE {disk[s]}]
SyncSuper ==
    /\ phase = "sync"
    /\ \/ /\ Works /\ superMay' = {super} /\ diskMay' = TakenOver /\ forgot' = FALSE /\ phase' = "control"
          /\ UNCHANGED <<held, stale, ssdInUse, mine, drawn>>
       \/ Fails /\ SetAside /\ UNCHANGED <<superMay, diskMay, forgot>>
    /\ UNCHANGED <<OnlyMounts, disk, super, controlVars>>

WriteControl ==
    /\ phase = "control"
    /\ LET new == Mark(mine.id, mine.n) IN
       /\ controlMay' = controlMay \cup {new}
       /\ \/ Works /\ control' = new /\ phase' = "confirm" /\ UNCHANGED <<cacheVars, flush, failed, unreported>>
          \/ Fails /\ control' \in {control, new} /\ Down
    /\ UNCHANGED <<ghosts, slotVars, superVars, storeVars, inPlace, lied, lives, writes, crashes>>

\* From here on no mount trusts a slot of another generation: the model drops those.
MayCount(what) == \E u \in superMay : u # None /\ Trusts(u, control) /\ what.gen = u.gen
Counting(what) == IF what = None THEN None ELSE IF MayCount(what) THEN what ELSE None
SyncControl ==
    /\ phase = "confirm"
    /\ \/ /\ Works /\ controlMay' = {control} /\ phase' = "up"
          /\ newest' = [p \in Pages |-> View(p)]
          /\ disk' = [s \in Slots |-> Counting(disk[s])]
          /\ diskMay' = [s \in Slots |-> {Counting(what) : what \in diskMay[s]}]
          /\ earlier' = earlier \cup mine.before
          /\ mine' = [id |-> mine.id, gen |-> mine.gen]
          /\ UNCHANGED <<memory, held, stale, ssdInUse, retiring, going, flush, failed, unreported>>
       \/ Fails /\ Down /\ UNCHANGED <<newest, slotVars, controlMay, earlier>>
    /\ UNCHANGED <<synced, allowed, superVars, control, storeVars, inPlace, lied, life, drawn, writes, crashes>>

-----------------------------------------------------------------------------
Next ==
    \/ EndRead \/ EndEvict \/ Need
    \/ \E p \in Pages : BeginRead(p) \/ Wait(p) \/ Write(p) \/ Drop(p) \/ \E s \in Slots : BeginEvict(p, s)
    \/ \E s \in Slots : Unreadable(s) \/ Displace(s)
    \/ \E f \in Flushers : Flush(f)
    \/ Kill \/ PowerLoss \/ Exchange \/ OtherStore \/ SecondLife
    \/ MountStore \/ Scan \/ WriteSuper \/ SyncSuper \/ WriteControl \/ SyncControl

Spec == Init /\ [][Next]_vars
\* A slot that is waited for may be taken anew each time; the write-back is not passed by for ever.
FairSpec ==
    /\ Spec /\ WF_vars(EndRead) /\ WF_vars(EndEvict) /\ SF_vars(\E f \in Flushers : Scrub(f))
    /\ WF_vars(\E f \in Flushers : SyncSsd(f) \/ Retire(f) \/ WriteStore(f) \/ SyncStore(f) \/ Succeed(f) \/ Fail(f))

TypeOK ==
    /\ newest \in [Pages -> Int] /\ synced \in [Pages -> Nat] /\ store \in [Pages -> Int]
    /\ \A p \in Pages : memory[p] = None \/ memory[p] \in [v : Int, dirty : BOOLEAN]
    /\ \A s \in Slots : held[s] = None \/ held[s] \in [page : Pages, v : Int, dirty : BOOLEAN]
    /\ reading = None \/ reading \in [page : Pages, slot : Slots \cup {None}, v : Int, old : BOOLEAN, keeps : BOOLEAN]
    /\ waits \in Pages \cup {None} /\ needs \in BOOLEAN
    /\ leaving = None \/ leaving \in [page : Pages, slot : Slots, v : Int, dirty : BOOLEAN]
    /\ ~Up => reading = None /\ leaving = None
    /\ phase \in {"up", "down", "scan", "super", "sync", "control", "confirm"}
    /\ ~Up => \A p \in Pages : ~InMemory(p)
    /\ stale \subseteq Slots /\ \A s \in stale : held[s] = None
    /\ Cardinality({p \in Pages : InMemory(p)}) + (IF reading = None \/ ~reading.keeps THEN 0 ELSE 1) <= Frames
    /\ \A p \in Pages : Cardinality(SlotOf(p)) <= 1
    /\ \A f \in Flushers :
          /\ flush[f].at \in {"idle", "scrub", "gathered", "retire", "write", "sync", "clean", "failed"}
          /\ flush[f].fsync \in BOOLEAN /\ flush[f].dirty \subseteq Pages /\ flush[f].off \subseteq Slots
          /\ flush[f].has = None <=> flush[f].dirty = {}
          /\ ~Up => flush[f] = Idle
    /\ listed \subseteq Pages
    /\ {ssdInUse, retiring, forgot, inPlace, failed, unreported, lied} \subseteq BOOLEAN
    /\ control # None => control.id = life /\ control.n \in 1..drawn
    /\ \A p \in Pages : newest[p] <= writes /\ synced[p] \in allowed[p]
    /\ life \in 1..MaxLives /\ drawn \in Nat
    /\ writes \in 0..MaxWrites /\ failures \in 0..MaxFailures /\ crashes \in 0..MaxCrashes

\* Of a block there is one write-back at a time.
OneAtATime == \A f, g \in Flushers : flush[f].at # "idle" /\ flush[g].at # "idle" => f = g

\* A slot that is read stays as it was, and so does a frame that is kept for what is read.
SlotStays ==
    reading # None /\ reading.slot # None =>
        LET found == disk[reading.slot] IN found # None /\ found.page = reading.page /\ found.v = reading.v
KeptOnce == reading # None /\ reading.keeps /\ Fresh => ~InMemory(reading.page)

\* A page on its way to the SSD is in memory, and its slot has no page.
LeavesFromMemory == leaving # None => InMemory(leaving.page) /\ leaving.slot \in stale

\* Who waits for a page waits for somebody who reads it, and for whom it comes to memory.
NobodyWaitsInVain == waits # None => reading # None /\ reading.page = waits /\ reading.keeps

\* Who needs a frame waits while a page is leaving, and no longer.
NobodyNeedsInVain == needs => leaving # None

\* What a read of a device gives is among what a crash may leave.
ReadMayStay ==
    /\ \A p \in Pages : store[p] \in Leaves(p)
    /\ \A s \in Slots : disk[s] \in diskMay[s]
    /\ super \in superMay /\ control \in controlMay

\* A read gives the newest contents.
ReadsNewest ==
    Up => /\ \A p \in Pages : View(p) = newest[p]
          /\ reading # None /\ ~reading.old => reading.v = newest[reading.page]

\* What the SSD holds of a page is its newest contents: old ones are never read.
SsdIsNewest == Up => \A s \in Slots : held[s] # None => held[s].v = newest[held[s].page]

\* A page that no tier calls dirty is durable in the store: it may leave all tiers.
CleanIsDurable == Up => \A p \in Pages : ~Dirty(p) => Leaves(p) = {newest[p]}

\* What a restart may take over, whatever a power loss leaves.
MayBeTrusted(what) ==
    what # None /\ \E u \in superMay, c \in controlMay : u # None /\ c # None /\ Trusts(u, c) /\ what.gen = u.gen
\* What a read may give of a page, now or after a restart.
Outcomes(p) ==
    Leaves(p) \cup (IF Up THEN {newest[p]} ELSE {})
    \cup {what.v : what \in {x \in UNION {diskMay[s] : s \in Slots} : MayBeTrusted(x) /\ x.page = p}}

\* Nothing that an fsync has covered is lost: no restart reads anything older, be it with the SSD or without.
NothingFsyncedIsLost == \A p \in Pages : \A v \in Outcomes(p) : v >= synced[p]

\* And nothing comes back that an fsync has not said: it is what the fsync said, or was written since.
NothingComesBack == \A p \in Pages : \A v \in Outcomes(p) : v > synced[p] => v \in allowed[p]

\* No page has the contents of another store, or of an SSD that is not the last mount's.
NothingIsForeign == Up => \A p \in Pages : newest[p] # Alien

\* No fsync succeeds while a failure is not reported.
NoLie == ~lied

\* A write-back that has begun ends.
EachEnds == \A f \in Flushers : flush[f].at # "idle" ~> flush[f].at = "idle"
=============================================================================

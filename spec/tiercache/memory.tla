\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE memory -------------------------------
(* The state of tiercache, and what a mounted cache does for its users:    *)
(* reads, writes, and evictions to the SSD.  writeback is how pages come   *)
(* to the store, and mount what happens when the cache is down.            *)
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
    user,       \* ghost: newest: the contents that a read must give; synced: at the last successful fsync;
                \* allowed: [page -> these, and what was written since]
    memory,     \* [page -> None, or its contents v, dirty: newer than the tiers below]
    held,       \* [slot -> None, or page, v, dirty: newer than the store]: what the cache knows of the SSD
    stale,      \* slots without a page, that may be valid on the SSD: those that are being written are among them
    way,        \* reading: None, or a page that is read from a slot (None: the store), v: what is read, old: it was
                \* written since, keeps: it has a frame, and comes to memory; waits: None, or the page for whose reading
                \* another reader waits; leaving: None, or a page on its way to a slot of the SSD, v, dirty: what is
                \* written there; needs: somebody needs a frame, and waits until the page that is leaving has left
    ours,       \* of this mount: ssdInUse; retiring: the control file is still to say that the SSD is out of use;
                \* mine: id of the store, gen: of the slots that count, n: the nonce that it gives to the control file
    phase,      \* "up", "down", or where a mount is
    ssd,        \* disk: [slot -> what the SSD gives to a read: page, v, dirty, gen], None: nothing valid; super: its
                \* superblock: None, or id, n, gen; diskMay, superMay: the sets of what a crash may leave there;
                \* forgot: a sync has failed, and the kernel does not write again what it was to write
    file,       \* control: the control file: None, or id, n; controlMay: what a crash may leave
    storage,    \* store: [page -> what the store gives to a read]; durable: [page -> the set of what may be durable], a
                \* set of one, unless a sync has failed; pending: [page -> None, or what was written since the last
                \* sync]; listed: pages in the store's trailer: a write-back was to write them, and no sync has made them durable
    inPlace,    \* the store is the one that the control file belongs to
    flush,      \* [flusher -> where it is, what it has gathered]
    report,     \* failed: a write-back has failed since the last fsync; ghosts: unreported: the same; lied: an fsync
                \* has hidden a failure
    lives,      \* life: how often store and control file were made; drawn: nonces drawn in this life; earlier: ghost:
                \* the id and n of superblocks before the last mount
    bounds      \* writes, failures and crashes so far

newest   == user.newest
synced   == user.synced
allowed  == user.allowed
reading  == way.reading
waits    == way.waits
leaving  == way.leaving
needs    == way.needs
ssdInUse == ours.ssdInUse
retiring == ours.retiring
mine     == ours.mine
disk     == ssd.disk
diskMay  == ssd.diskMay
super    == ssd.super
superMay == ssd.superMay
forgot   == ssd.forgot
control    == file.control
controlMay == file.controlMay
store    == storage.store
durable  == storage.durable
pending  == storage.pending
listed   == storage.listed
failed     == report.failed
unreported == report.unreported
lied     == report.lied
life     == lives.life
drawn    == lives.drawn
earlier  == lives.earlier
writes   == bounds.writes
failures == bounds.failures
crashes  == bounds.crashes

cache == <<memory, held, stale, way, ours>>
mounting == <<phase, inPlace, lives>>
vars  == <<user, cache, mounting, ssd, file, storage, flush, report, bounds>>
\* What reads, writes and evictions leave as it is.
below == <<ours, mounting, file, storage, flush, report>>

Copy(v, d)    == [v |-> v, dirty |-> d]
Slot(p, v, d) == [page |-> p, v |-> v, dirty |-> d]
OnDisk(slot)  == [page |-> slot.page, v |-> slot.v, dirty |-> slot.dirty, gen |-> mine.gen]
Empty   == [s \in Slots |-> None]
Nowhere == [p \in Pages |-> None]
Each(f) == [x \in DOMAIN f |-> {f[x]}]

Up    == phase = "up"
Fails == failures < MaxFailures /\ bounds' = [bounds EXCEPT !.failures = @ + 1]
Works == UNCHANGED bounds

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
          /\ way' = [way EXCEPT !.reading =
                [page |-> p, slot |-> IF OnSsd(p) THEN CHOOSE s \in SlotOf(p) : TRUE ELSE None, v |-> View(p),
                 old |-> FALSE, keeps |-> keeps]]
    /\ UNCHANGED <<user, memory, held, stale, ssd, below, bounds>>

Wait(p) ==
    /\ reading # None /\ reading.page = p /\ reading.keeps /\ waits = None
    /\ way' = [way EXCEPT !.waits = p]
    /\ UNCHANGED <<user, memory, held, stale, ssd, below, bounds>>

\* Old contents are read again; others are the user's, and go to memory if there is a frame for them.
Fresh == ~reading.old
EndRead ==
    /\ reading # None
    /\ way' = [way EXCEPT !.reading = None, !.waits = None]
    /\ memory' = IF reading.keeps /\ Fresh THEN [memory EXCEPT ![reading.page] = Copy(reading.v, FALSE)] ELSE memory
    /\ UNCHANGED <<user, held, stale, ssd, below, bounds>>

\* Older contents on the SSD do not count any more.
Forget(slots) ==
    /\ held' = [s \in Slots |-> IF s \in slots THEN None ELSE held[s]]
    /\ stale' = stale \cup slots

Notices(p) == reading.page = p
Write(p) ==
    /\ Up /\ writes < MaxWrites /\ (InMemory(p) \/ Room)
    /\ LET v == writes + 1 IN
       /\ user' = [user EXCEPT !.newest[p] = v, !.allowed[p] = @ \cup {v}]
       /\ memory' = [memory EXCEPT ![p] = Copy(v, TRUE)]
       /\ bounds' = [bounds EXCEPT !.writes = v]
    /\ Forget(SlotOf(p))
    /\ way' = IF reading # None /\ Notices(p) THEN [way EXCEPT !.reading.old = TRUE] ELSE way
    /\ UNCHANGED <<ssd, below>>

-----------------------------------------------------------------------------
(* Evictions *)

\* What a crash may leave of a slot, once it may also leave these.
MayLeave(s, whats) == [diskMay EXCEPT ![s] = @ \cup whats]

\* A slot that somebody reads.
Used(s) == IF reading = None THEN FALSE ELSE reading.slot = s
\* To a slot that is free, or that holds a clean page, and that nobody reads.
MayTake(s) == IF held[s] = None THEN TRUE ELSE ~held[s].dirty
\* Until the slot is written the page stays in memory, and the slot counts for nothing, whatever it has.
StaleMeanwhile(s) == stale \cup {s}
BeginEvict(p, s) ==
    /\ Up /\ ssdInUse /\ InMemory(p) /\ ~OnSsd(p) /\ leaving = None /\ MayTake(s) /\ ~Used(s)
    /\ way' = [way EXCEPT !.leaving = [page |-> p, slot |-> s, v |-> memory[p].v, dirty |-> memory[p].dirty]]
    /\ held' = [held EXCEPT ![s] = None]
    /\ ssd' = [ssd EXCEPT !.diskMay = MayLeave(s, {None, OnDisk(Slot(p, memory[p].v, memory[p].dirty))})]
    /\ stale' = StaleMeanwhile(s)
    /\ UNCHANGED <<user, memory, below, bounds>>

\* If the page was written meanwhile, the slot has old contents, and the page stays. If the write to the SSD fails, nothing of it is
\* there, or part, or the whole, and the page stays, too.
StillThat == InMemory(leaving.page) /\ memory[leaving.page].v = leaving.v
EndEvict ==
    /\ leaving # None
    /\ way' = [way EXCEPT !.leaving = None, !.needs = FALSE]
    /\ LET p == leaving.page
           s == leaving.slot
           what == OnDisk(Slot(p, leaving.v, leaving.dirty))
           left(x) == ssd' = [ssd EXCEPT !.disk[s] = x, !.diskMay = MayLeave(s, {None, what})]
       IN \/ /\ Works /\ left(what)
             /\ IF StillThat
                THEN /\ held' = [held EXCEPT ![s] = Slot(p, leaving.v, memory[p].dirty)]
                     /\ stale' = stale \ {s}
                     /\ memory' = [memory EXCEPT ![p] = None]
                ELSE UNCHANGED <<held, stale, memory>>
          \/ /\ Fails /\ \E x \in {disk[s], None, what} : left(x)
             /\ UNCHANGED <<held, stale, memory>>
    /\ UNCHANGED <<user, below>>

\* A write needs a frame, and what can leave is leaving. It looks again once it is woken.
MayNeed == leaving # None /\ ~Room
Need ==
    /\ MayNeed /\ ~needs
    /\ way' = [way EXCEPT !.needs = TRUE]
    /\ UNCHANGED <<user, memory, held, stale, ssd, below, bounds>>

\* Its slot is wanted for another page while it is read: the page leaves the SSD, and the slot is free once it was read.
Displace(s) ==
    /\ Up /\ ssdInUse /\ Used(s) /\ held[s] # None /\ MayTake(s)
    /\ Forget({s})
    /\ UNCHANGED <<user, memory, way, ssd, below, bounds>>

NotLeaving(p) == IF leaving = None THEN TRUE ELSE leaving.page # p
MayDrop(p) == ~memory[p].dirty
\* Also a page that the SSD could take. A dirty one goes to the SSD, or is written back first.
Drop(p) ==
    /\ Up /\ InMemory(p) /\ MayDrop(p) /\ NotLeaving(p)
    /\ memory' = [memory EXCEPT ![p] = None]
    /\ UNCHANGED <<user, held, stale, way, ssd, below, bounds>>

\* A slot cannot be read. Its page is clean: the store has it.
Unreadable(s) ==
    /\ Up /\ held[s] # None /\ MayTake(s)
    /\ Fails
    /\ Forget({s})
    /\ UNCHANGED <<user, memory, way, ssd, below>>
=============================================================================

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
(* What extends what:                                                      *)
(*   memory             the state; reads, writes, and evictions to the SSD *)
(*     writeback        how pages come to the store                        *)
(*       mount          kills, power losses, exchanges, and the next mount *)
(*         tiercache    all of it, and what must be true of it             *)
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
(* clean neighbours in its hands, too.  If its write fails, it calls none  *)
(* clean; the code calls those clean that it then could write one by one   *)
(* and sync, as Beside.v does.  The choice of victims is free, and         *)
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
EXTENDS mount

First == Mark(1, 1)
Init ==
    LET zero == [p \in Pages |-> 0]
        u == [id |-> 1, n |-> 1, gen |-> First]
    IN /\ user = [newest |-> zero, synced |-> zero, allowed |-> Each(zero)]
       /\ memory = Nowhere /\ held = Empty /\ stale = {}
       /\ way = [reading |-> None, waits |-> None, leaving |-> None, needs |-> FALSE]
       /\ ours = [ssdInUse |-> TRUE, retiring |-> FALSE, mine |-> [id |-> 1, gen |-> First]]
       /\ phase = "up" /\ inPlace = TRUE
       /\ ssd = [disk |-> Empty, diskMay |-> Each(Empty), super |-> u, superMay |-> {u}, forgot |-> FALSE]
       /\ file = [control |-> First, controlMay |-> {First}]
       /\ storage = [store |-> zero, durable |-> Each(zero), pending |-> Nowhere, listed |-> {}]
       /\ flush = [f \in Flushers |-> Idle]
       /\ report = [failed |-> FALSE, unreported |-> FALSE, lied |-> FALSE]
       /\ lives = [life |-> 1, drawn |-> 1, earlier |-> {}]
       /\ bounds = [writes |-> 0, failures |-> 0, crashes |-> 0]

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

\* A page that was never written is not dirty: to read it costs no write-back.
CleanUntilWritten == Up => \A p \in Pages : newest[p] = 0 => ~Dirty(p)

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

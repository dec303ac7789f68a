\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCtiercache ----------------------------
(* tiercache with bounds, and definitions that are wrong on purpose.       *)
EXTENDS tiercache

\* Reads of the SSD and evictions take no time: nothing else happens meanwhile. And nobody waits.
UnderWay == leaving # None \/ (reading # None /\ reading.slot # None)
AtOnce == (IF UnderWay THEN EndRead \/ EndEvict ELSE Next) /\ waits' = None /\ ~needs'
SpecAtOnce == Init /\ [][AtOnce]_vars

\* The SSD keeps what is old.
KeepOld(slots) == UNCHANGED <<held, stale>>
\* Only what is dirty in memory is written.
WantedInMemory == {p \in Pages : DirtyInMemory(p)}
\* After a failure the pages count as clean: the kernel's way.
CleanAfterFailure(f) == IF flush[f].has = None THEN UNCHANGED <<memory, held>> ELSE CallClean(f)
\* Two write-backs of a block at once.
NotAlone(f) == TRUE
\* A mount that sets its SSD aside gives control the nonce that the superblock may have.
SetAsideTrusted ==
    /\ held' = Empty /\ stale' = {} /\ phase' = "control"
    /\ ours' = [ours EXCEPT !.ssdInUse = FALSE] /\ lives' = [lives EXCEPT !.drawn = @ + 1]
\* A restart trusts any SSD.
TrustAll(u, c) == TRUE
\* The generation of the slots is always the same.
SameGen(id, n) == Mark(1, 1)
\* A mount writes nothing again.
NothingAgain(p) == FALSE
\* The failure of a write-back is not noted.
FailsUnnoted(f) ==
    /\ flush[f].at = "failed"
    /\ AfterFailure(f)
    /\ IF flush[f].fsync THEN Report(f, TRUE)
       ELSE report' = [report EXCEPT !.failed = FALSE, !.unreported = TRUE] /\ UNCHANGED user
    /\ flush' = [flush EXCEPT ![f] = Idle]
    /\ UNCHANGED <<stale, way, ours, mounting, ssd, file, storage, bounds>>
\* A dirty page leaves the memory.
DropAny(p) == TRUE
\* A write does not look at what is being read.
NoticesNot(p) == FALSE
\* Who needs a frame waits though nothing is leaving.
NeedsAnyhow == ~Room
\* A slot is written while it is read.
NeverUsed(s) == FALSE
\* A page is dropped while it is on its way to the SSD.
DropLeaving(p) == TRUE
\* A reader waits though nothing comes to memory.
WaitsAnyhow(p) ==
    /\ reading # None /\ reading.page = p /\ waits = None
    /\ way' = [way EXCEPT !.waits = p]
    /\ UNCHANGED <<user, memory, held, stale, ssd, below, bounds>>
\* What is read counts as dirty.
AlwaysDirty(v, d) == [v |-> v, dirty |-> TRUE]
\* The memory is never full.
NeverFull == TRUE
\* A crash leaves what was there before an eviction.
LeavesTheOld(s, whats) == diskMay
\* The write-back stops.
Unfair == Spec

\* Denials of states that must be reached.
\* After a power loss, which drops the kernel's cache, the SSD has lost a superblock that it had; or has it, or a slot.
CacheIsDropped == phase = "up" /\ phase' = "down" /\ \E p \in Pages : pending[p] # None /\ pending'[p] = None
NeverLost == [][CacheIsDropped /\ None \notin superMay => super' # None]_vars
NeverSuperKept == [][CacheIsDropped => super' = None]_vars
NeverSlotKept == [][CacheIsDropped => disk' = Empty]_vars
\* The second life draws a nonce that a superblock of the first has.
NeverNonceAgain == phase = "super" /\ super # None /\ super.id = 1 => super.n # mine.n \/ mine.id = 1
NeverOld == reading # None => ~reading.old
NeverWaits == waits = None
NeverNeeds == ~needs
NeverWrittenOnItsWay == leaving # None => memory[leaving.page].v = leaving.v
NeverAwaited == \A f \in Flushers : flush[f].at = "scrub" => \A s \in flush[f].off : Settled(s)
NeverReadOld == reading # None => reading.slot \notin stale
NeverDirtyOnItsWay == leaving # None => ~leaving.dirty \/ memory[leaving.page].dirty
\* A page that was written and is clean leaves memory, though a slot is free.
PassesBy(p) == Up /\ InMemory(p) /\ memory'[p] = None /\ newest[p] > 0 /\ ssdInUse /\ held = Empty /\ stale = {} /\ held' = held
NeverPassesBy == [][phase' = "up" => \A p \in Pages : ~PassesBy(p)]_vars
NeverOnlyOnSsd == \A s \in Slots : held[s] # None /\ held[s].dirty => InMemory(held[s].page)
NeverTakenOverDirty == ~(Up /\ crashes > 0 /\ writes = 1 /\ \E s \in Slots : held[s] # None /\ held[s].dirty)
NeverRetired == Up => ssdInUse \/ crashes > 0
NeverStillRetiring == ~retiring
NeverWrittenMeanwhile == \A f \in Flushers : flush[f].at = "clean" => \A p \in flush[f].dirty : flush[f].has[p] = newest[p]
NeverUnsure == \A p \in Pages : Cardinality(durable[p]) = 1
NeverDuplicate == \A s, t \in Slots : s # t /\ disk[s] # None /\ disk[t] # None => disk[s].page # disk[t].page
NeverAside == phase = "confirm" => ssdInUse
NeverLandedAside == phase = "confirm" /\ ~ssdInUse /\ super # None => super.n = 1
NeverUnreadable == phase = "super" => stale = {}
NeverOnlyInTheCache == phase = "down" => \A p \in Pages : pending[p] = None
NeverRefused == phase = "down" /\ drawn = 2 /\ super # None /\ control # None => super.n = 1 \/ control.n = 1
NeverSecondLife == Up /\ life = 2 => \A s \in Slots : disk[s] = None
NeverMetAgain == phase = "scan" /\ super # None /\ super.id = 0 => super.n # control.n
NeverOldSsd == phase = "scan" /\ super # None /\ super.id = 1 => MarkOf(super) \notin earlier
NeverOtherStore == inPlace
NeverForgotten == phase = "down" => \A p \in Pages : pending[p] = None => durable[p] = {store[p]}
NeverInDoubt == phase = "super" => ~(forgot /\ IsTrusted)
NeverIdleFsync ==
    \A f \in Flushers : flush[f].at = "gathered" /\ flush[f].dirty = {} =>
        \A s \in Slots : disk[s] = None /\ held[s] = None => diskMay[s] = {None}
=============================================================================

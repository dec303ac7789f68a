\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCtiercache ----------------------------
(* tiercache with bounds, and definitions that are wrong on purpose.       *)
EXTENDS tiercache

\* The SSD keeps what is old.
KeepOld(slots) == UNCHANGED <<held, stale>>
\* Only what is dirty in memory is written.
WantedInMemory == {p \in Pages : DirtyInMemory(p)}
\* After a failure the pages count as clean: the kernel's way.
CleanAfterFailure(f) == IF flush[f].has = None THEN UNCHANGED <<memory, held>> ELSE CallClean(f)
\* Two write-backs of a block at once.
NotAlone(f) == TRUE
\* Old slots stay valid on the SSD.
NotOverwritten(s) == FALSE
\* The SSD is not synced before the store is written.
UnsyncedDisk == diskMay
\* A page is called clean though it was written meanwhile.
AlwaysUnchanged(f, p, v) == TRUE
\* The control file does not say that the SSD is out of use.
SameMount == mounts.ssd
\* A restart trusts any SSD.
TrustAll == TRUE
\* What a restart takes over counts as clean.
TakenAsClean(what) == [what EXCEPT !.dirty = FALSE]
\* The failure of a write-back is not noted.
NotNoted == FALSE
\* A dirty page leaves the memory.
DropAny(p) == TRUE
\* A dirty page's slot is taken.
TakeAny(s) == TRUE
\* A write does not look at what is being read.
NoticesNot(p) == FALSE
\* The memory is never full.
NeverFull == TRUE
\* The write-back stops.
Unfair == Spec

\* Denials of states that must be reached.
NeverOld == reading # None => ~reading.old
NeverOnlyOnSsd == \A s \in Slots : held[s] # None /\ held[s].dirty => InMemory(held[s].page)
NeverTakenOverDirty == ~(crashes > 0 /\ writes = 1 /\ \E s \in Slots : held[s] # None /\ held[s].dirty)
NeverRetired == mounts.control = mounts.ssd
NeverWrittenMeanwhile == \A f \in Flushers : flush[f].at = "clean" => \A p \in flush[f].dirty : flush[f].has[p] = newest[p]
NeverUnsure == \A p \in Pages : Cardinality(durable[p]) = 1
NeverDuplicate == \A s, t \in Slots : s # t /\ disk[s] # None /\ disk[t] # None => disk[s].page # disk[t].page
=============================================================================

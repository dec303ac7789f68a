\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE MCdoublewrite ---------------------------
(* doublewrite with bounds, and definitions that are wrong on purpose.      *)
EXTENDS doublewrite

CONSTANTS Changes, Crashes, Faults, Uses

VARIABLES crashes, faults
mcvars == <<vars, crashes, faults>>

\* So many changes, kills and power losses, and failures in all. Uses: which of the calls there are.
MCInit == Init /\ crashes = 0 /\ faults = 0
UserChanges ==
    /\ Len(owner) < Changes /\ (hold.who = "changer" => Len(owner) + 1 < Changes)
    /\ \/ \E k \in K : Write(k)
       \/ "extend" \in Uses /\ \E k \in K : Extend(k)
       \/ "cut" \in Uses /\ \E k \in K : Cut(k)
       \/ "unlink" \in Uses /\ \E n \in Names : Rename(n, Nobody)
       \/ "rename" \in Uses /\ \E n, m \in Names : Rename(n, m)
    /\ UNCHANGED <<crashes, faults>>
MCNext ==
    \/ crashes < Crashes /\ (PowerLoss \/ Kill) /\ crashes' = crashes + 1 /\ UNCHANGED faults
    \/ faults < Faults /\ Failures /\ faults' = faults + 1 /\ UNCHANGED crashes
    \/ UserChanges
    \/ /\ \/ "unlink" \in Uses /\ \E n \in Names : Create(n)
          \/ "read" \in Uses /\ \E k \in K : ReadBelow(k)
          \/ "flush" \in Uses /\ Flusher
          \/ \E c \in Callers, f \in Files : Fsync(c, f)
          \/ \E c \in Callers : Acquire(c) \/ SyncFile(c)
          \/ ReadEnds \/ Retry \/ AllDone \/ SyncArea \/ WriteInPlace \/ SyncInPlace
          \/ \E b \in SUBSET K : WriteArea(b)
          \/ ForgetFirst \/ EmptyArea \/ CutNow \/ RenameNow
          \/ Read \/ RewriteArea \/ Replay \/ SyncReplayed \/ EndRecovery \/ Evict
       /\ UNCHANGED <<crashes, faults>>
MCSpec == MCInit /\ [][MCNext]_mcvars
FairSpec == MCSpec /\ Fair

-----------------------------------------------------------------------------
\* Wrong on purpose.
Never == FALSE
ListsNewOnly(b) == FilesOf(b)
AnyRange(k) == TRUE
\* The area is not synced.
SyncsAreaNot ==
    /\ hold.at = "written"
    /\ listed' = FilesOf(batch) /\ pending' = TRUE
    /\ Goto("place")
    /\ UNCHANGED <<phase, names, mem, newest, files, area, batch, reader, promise>>
\* Pages go to their places before the area.
PlacesFirst(b) ==
    /\ Steps("writer") /\ ~PendingFirst /\ hold.due # {} /\ b \in Batches
    /\ Written(Entered(b)) /\ batch' = Entered(b) /\ Goto("sync")
    /\ UNCHANGED <<phase, names, mem, newest, area, pending, listed, reader, promise>>
\* The pages are not synced in their places, and the area is used again.
PlacedNot == UNCHANGED files
\* What has failed is synced again, and not written again.
SyncsAgain ==
    /\ hold.at = "place"
    /\ IF \A e \in batch : seen[e.key] = Whole(e.v) THEN UNCHANGED files ELSE Written(batch)
    /\ Goto("sync")
    /\ UNCHANGED <<phase, names, mem, newest, area, batch, pending, listed, reader, promise>>
\* An fsync finds nothing to do.
NothingDue(f) == {}
\* Who cuts, unlinks or renames leaves the area as it is.
ForgetsNot(some) == FALSE
\* The directories are not synced.
DirUnsynced == dirMay
\* Checksums are not looked at.
CountsAny(b) == b # {}
\* Recovery relies on the area that it has read.
TrustsArea ==
    /\ phase = "read" /\ phase' = "safe"
    /\ UNCHANGED <<names, mem, newest, files, area, work, call, reader, promise>>
\* A page leaves memory though it was written meanwhile.
LeavesAnyhow(k) == k \in KeysOf(batch)
\* A page that was written while an older batch failed counts as covered by that batch.
DueWithoutAny == hold.due \ KeysOf(batch)
\* Who fails keeps the lock.
KeepsTheLock == [hold EXCEPT !.at = "free"]
\* Recovery ends before what it has written is synced.
EndsUnsynced ==
    /\ phase = "replayed" /\ phase' = "empties"
    /\ UNCHANGED <<names, mem, newest, files, area, work, call, reader, promise>>

-----------------------------------------------------------------------------
\* Denials of states that must be reached.
NeverTornInPlace == phase = "down" => \A k \in K : IsWhole(seen[k])
NeverRepaired == phase = "replayed" => \A e \in Repairs : disk[e.key] = Whole(e.v)
NeverAreaForgotten == phase = "read" => areaSeen = areaDisk \/ areaMay # {}
NeverAreaUnsynced == phase = "read" => areaMay = {}
NeverTwice == ~(phase = "replayed" /\ crashes = 2)
NeverWrittenMeanwhile == hold.at = "sync" => \A e \in batch : mem[e.key] = e.v
NeverRetried == ~(pending /\ hold.at = "place" /\ faults > 0)
NeverForgets == hold.at # "empty"
NeverNameless == hold.at = "place" => \A e \in batch : e.name # Nobody
NeverBackAgain == phase = "down" => \A f \in Files : f <= made => \E g \in Files : g >= f /\ \E n \in Names : dir[n] = g
NeverOldBatch == phase = "read" => \A e \in areaSeen : e.v >= promised[e.key]
=============================================================================

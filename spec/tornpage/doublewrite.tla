\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE doublewrite -----------------------------
(* The double-write protocol of `pgquern mount` (tools/mount): pages wait in *)
(* memory, go in batches to one area, and then to their places.             *)
(*                                                                          *)
(* What is modelled: pages of files, each of two sectors; a directory, whose*)
(* changes are durable once it is synced, or by chance; writes that make a  *)
(* file longer; the lock of the write-back, for which fsyncs, the flusher,  *)
(* and whoever cuts, unlinks or renames a file wait; a reader beside; kills,*)
(* after which the kernel's cache is still there; power losses, after which *)
(* each sector that was not synced is old or new; writes and syncs that     *)
(* fail, after which the kernel may have forgotten what was written;        *)
(* recovery by the next mount, and faults in it.                            *)
(* A content is a number: 3n, 3n+1, 3n+2 say that change n has cut the page,*)
(* made it a page of zeroes, or written it. So a later one is a greater one.*)
(* What is simplified: a call of the kernel is one step, and so are steps   *)
(* between which nothing that matters can come: gathering a batch, syncing  *)
(* the directories and writing the area; emptying the area with its sync;   *)
(* the last sync of a batch and that its pages leave memory. A page is cut  *)
(* or made longer as a whole. A batch that is not whole counts as none: its *)
(* checksums see every difference. Not modelled: room in memory; that a     *)
(* failed write-back is told to a later fsync; writes of part of a page;    *)
(* pages of an unlinked file that are dropped at its last close.            *)
(*                                                                          *)
(*   spec variable      tools/mount                                         *)
(*   mem                dirty.c: the hash table; NotHere: no page in it     *)
(*   hold, batch        write_back.c: lock, slots                           *)
(*   pending            write_back.c: pending                               *)
(*   listed             area.c: area.file                                   *)
(*   call               pages_fsync; since: what it must cover              *)
(*   reader             pages_read, between copy_out and pread              *)
(*   area*              .pgquern-area; {}: no batch that is whole           *)
(*                                                                          *)
(* What the program did not do before this model, and does since. Runs have *)
(* it the old way:                                                          *)
(*   - recovery writes the area again (MCdoublewrite_mutant_trusts_area);   *)
(*   - the files of an older batch stay listed until the new one is durable *)
(*     (_mutant_older_unlisted);                                            *)
(*   - directories are synced before the area (_mutant_names_unsynced,      *)
(*     _mutant_unlinked_torn, _mutant_rename_torn);                         *)
(*   - an older batch that is tried again covers no later write             *)
(*     (_mutant_older_covers).                                              *)
(* How to break it: let recovery rely on an area that it has not written    *)
(* again (RewriteArea), forget which files an older batch had while the new *)
(* one is not durable (Listed), leave out the sync of the directories       *)
(* (DirAfterSync), the forgetting (MustForget), a sync (SyncArea, Placed),  *)
(* the retry (PendingFirst, DueAfter) or the range lock (RangeIsFree).      *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Names,    \* of files; numbers, from 1 on
    Files,    \* 1..n; number 1 is there at the start, under name 1
    Pages,    \* 1..n, of a file
    Room,     \* pages of a batch
    Callers   \* who calls fsync: strings

VARIABLES
    phase,    \* "up", "down"; recovery: "read", "safe" (the area was written again), "replayed", "empties"
    dir,      \* name -> file that has it, or Nobody
    dirMay,   \* what the directory may be after a power loss
    made,     \* so many files were made
    mem,      \* page -> content that waits in memory, or NotHere
    newest,   \* page -> what was written last
    disk,     \* page -> sector -> durable content
    cache,    \* page -> contents that were written and are not durable, and may become so
    seen,     \* page -> sector -> what is read
    areaDisk, \* the same three of the area: a batch
    areaMay,
    areaSeen,
    hold,     \* who has the lock of the write-back, and where
    batch,    \* what is in the area, or on its way there
    pending,  \* it is durable there, and perhaps not in place
    listed,   \* files that a batch in the area may have
    call,     \* caller -> where its fsync is, of which file, and what it must cover: page -> content
    reader,   \* the page that it is about to read from the file, or NoPage
    promised, \* page -> the content that an fsync has covered
    owner     \* change -> the pages that it has changed

names == <<dir, dirMay, made>>
files == <<disk, cache, seen>>
area == <<areaDisk, areaMay, areaSeen>>
work == <<hold, batch, pending, listed>>
promise == <<promised, owner>>
vars == <<phase, names, mem, newest, files, area, work, call, reader, promise>>

Nobody == 0
NotHere == -1
NoPage == <<0, 0>>
K == Files \X Pages
Whole(c) == <<c, c>>
IsWhole(page) == page[1] = page[2]
IsCut(c) == c % 3 = 0
IsWrite(c) == c % 3 = 2
Change == Len(owner) + 1
Contents == 0 .. 3 * Len(owner) + 2

\* An entry of a batch. In the area the file stands by its name alone: 0 if it has none. whole: its checksum is right.
Entries == [name : Names \union {Nobody}, key : K, v : Contents, whole : BOOLEAN]
KeysOf(b) == {e.key : e \in b}
FilesOf(b) == {e.key[1] : e \in b}
Free == [who |-> "free", at |-> "free", due |-> {}, again |-> FALSE, op |-> <<>>]
Idle == [at |-> "idle", file |-> Nobody, since |-> [p \in Pages |-> 0]]

TypeOK ==
    /\ phase \in {"up", "down", "read", "safe", "replayed", "empties"}
    /\ dirMay \subseteq [Names -> Files \union {Nobody}] /\ dir \in dirMay /\ made \in Files
    /\ mem \in [K -> Contents \union {NotHere}] /\ newest \in [K -> Contents]
    /\ \A k \in K : disk[k] \in Contents \X Contents /\ seen[k] \in Contents \X Contents /\ cache[k] \subseteq Contents
    /\ \A b \in {areaDisk, areaSeen, batch} \union areaMay : b \subseteq Entries /\ Cardinality(b) <= Room
    /\ hold.at \in {"free", "step", "written", "place", "sync", "empty", "op"} /\ hold.due \subseteq K
    /\ hold.who \in Callers \union {"free", "flusher", "changer"} /\ (hold.who = "free") = (hold = Free)
    /\ pending \in BOOLEAN /\ listed \subseteq Files
    /\ \A c \in Callers : call[c].at \in {"idle", "waits", "holds", "syncs"} /\ (call[c].at = "holds") = (hold.who = c)
    /\ reader \in K \union {NoPage}
    /\ promised \in [K -> Contents]
    /\ phase # "up" => mem = [k \in K |-> NotHere] /\ hold = Free

\* Of file 1 all pages are there, of zeroes, and durable.
Init ==
    /\ phase = "up"
    /\ dir = [n \in Names |-> IF n = 1 THEN 1 ELSE Nobody] /\ dirMay = {dir} /\ made = 1
    /\ mem = [k \in K |-> NotHere]
    /\ newest = [k \in K |-> IF k[1] = 1 THEN 1 ELSE 0]
    /\ disk = [k \in K |-> Whole(newest[k])] /\ seen = disk /\ cache = [k \in K |-> {}]
    /\ areaDisk = {} /\ areaMay = {} /\ areaSeen = {}
    /\ hold = Free /\ batch = {} /\ pending = FALSE /\ listed = {}
    /\ call = [c \in Callers |-> Idle] /\ reader = NoPage
    /\ promised = [k \in K |-> 0] /\ owner = <<>>

-----------------------------------------------------------------------------
\* Rules that broken models replace.
PendingFirst == pending
MustForget(some) == some \cap listed # {}
Listed(b) == listed \union FilesOf(b)
DirAfterSync == {dir}
RangeIsFree(k) == reader # k
Counts(b) == b # {} /\ \A e \in b : e.whole
Due(f) == {k \in K : k[1] = f /\ mem[k] # NotHere}
AfterFailure == Free
Leaves(k) == \E e \in batch : e.key = k /\ e.v = mem[k]
\* A batch of before the fsync may have older contents of what it must cover.
DueAfter == IF hold.again THEN {k \in hold.due : ~Leaves(k)} ELSE hold.due \ KeysOf(batch)

-----------------------------------------------------------------------------
\* What a power loss, or a sync that fails, leaves of a page. Whether it is there is a matter of metadata: as a whole, and
\* in order. Of a write each sector comes by itself. Only writes are forgotten: the metadata has become durable then.
After(k, forgets) ==
    LET metadata == {c \in cache[k] : ~IsWrite(c)}
        bases == IF forgets /\ metadata # {}
                 THEN {Whole(c) : c \in {c \in metadata : \A other \in metadata : other <= c}}
                 ELSE {disk[k]} \union {Whole(c) : c \in metadata}
        Over(base) == {c \in cache[k] : IsWrite(c) /\ (c > base[1] \/ base = disk[k])}
        Mixed(base) == IF IsCut(base[1]) THEN {base}
                       ELSE {<<x, y>> : x \in {base[1]} \union Over(base), y \in {base[2]} \union Over(base)}
    IN UNION {Mixed(base) : base \in bases}
RECURSIVE DisksAfter(_, _, _)
DisksAfter(keys, d, forgets) ==
    IF keys = {} THEN {d}
    ELSE LET k == CHOOSE k \in keys : TRUE
         IN UNION {{[rest EXCEPT ![k] = page] : page \in After(k, forgets)} : rest \in DisksAfter(keys \ {k}, d, forgets)}
Unsynced(some) == {k \in K : k[1] \in some /\ cache[k] # {}}

\* Of a batch all, or none that is whole: its newest page is torn, if that counts at all.
Torn(b) == {[e EXCEPT !.whole = \E other \in b : other.v > e.v] : e \in b}
AreasAfter == {areaDisk} \union areaMay \union {{}} \union {b \in {Torn(b) : b \in areaMay} : Counts(b)}
AreaKeptOrForgotten == areaMay' \in {{}, areaMay}
AreaAfterFailure ==
    areaDisk' \in (IF areaMay = {} THEN {areaDisk} ELSE AreasAfter) /\ AreaKeptOrForgotten

\* A sync makes durable what is read, unless the kernel has forgotten it.
Synced(some) ==
    /\ disk' = [k \in K |-> IF k \in Unsynced(some) THEN seen[k] ELSE disk[k]]
    /\ cache' = [k \in K |-> IF k[1] \in some THEN {} ELSE cache[k]]
    /\ UNCHANGED seen
\* If it fails: part of it, and the rest may be forgotten.
SyncFails(some) ==
    /\ \E forgets \in BOOLEAN :
          /\ disk' \in DisksAfter(Unsynced(some), disk, forgets)
          /\ cache' = [k \in K |-> IF forgets /\ k[1] \in some THEN {} ELSE cache[k]]
    /\ UNCHANGED seen
AsEntered(e) == IF e.whole THEN Whole(e.v) ELSE <<e.v, 1>>
Written(part) ==
    /\ seen' = [k \in K |-> IF \E e \in part : e.key = k THEN AsEntered(CHOOSE e \in part : e.key = k) ELSE seen[k]]
    /\ cache' = [k \in K |-> cache[k] \union {e.v : e \in {e \in part : e.key = k}}]
    /\ UNCHANGED disk

-----------------------------------------------------------------------------
\* Writers. A page that is not there yet gets its space, of zeroes, at once.
Changed(keys) == owner' = Append(owner, keys)
Longer(k) == IF IsCut(newest[k])
             THEN seen' = [seen EXCEPT ![k] = Whole(3 * Change + 1)] /\ cache' = [cache EXCEPT ![k] = @ \union {3 * Change + 1}]
             ELSE UNCHANGED <<seen, cache>>
NoHole(k) == IF k[2] = 1 THEN TRUE ELSE ~IsCut(newest[<<k[1], k[2] - 1>>])
Write(k) ==
    /\ phase = "up" /\ k[1] <= made /\ RangeIsFree(k) /\ NoHole(k)
    /\ Longer(k)
    /\ mem' = [mem EXCEPT ![k] = 3 * Change + 2] /\ newest' = [newest EXCEPT ![k] = 3 * Change + 2]
    /\ Changed({k})
    /\ UNCHANGED <<phase, names, disk, area, work, call, reader, promised>>
Extend(k) ==
    /\ phase = "up" /\ k[1] <= made /\ RangeIsFree(k) /\ NoHole(k) /\ IsCut(newest[k])
    /\ Longer(k)
    /\ newest' = [newest EXCEPT ![k] = 3 * Change + 1]
    /\ Changed({k})
    /\ UNCHANGED <<phase, names, mem, disk, area, work, call, reader, promised>>

\* A reader whose page is not in memory reads the file. It holds its range meanwhile.
ReadBelow(k) ==
    /\ phase = "up" /\ reader = NoPage /\ k[1] <= made /\ mem[k] = NotHere
    /\ reader' = k
    /\ UNCHANGED <<phase, names, mem, newest, files, area, work, call, promise>>
ReadEnds ==
    /\ reader # NoPage /\ reader' = NoPage
    /\ UNCHANGED <<phase, names, mem, newest, files, area, work, call, promise>>

\* A new file. Its pages are none.
Create(n) ==
    /\ phase = "up" /\ dir[n] = Nobody /\ made + 1 \in Files
    /\ dir' = [dir EXCEPT ![n] = made + 1] /\ dirMay' = dirMay \union {dir'} /\ made' = made + 1
    /\ UNCHANGED <<phase, mem, newest, files, area, work, call, reader, promise>>

-----------------------------------------------------------------------------
\* Who waits for the lock of the write-back.
Fsync(c, f) ==
    /\ phase = "up" /\ call[c].at = "idle" /\ f <= made
    /\ call' = [call EXCEPT ![c] = [at |-> "waits", file |-> f, since |-> [p \in Pages |-> newest[<<f, p>>]]]]
    /\ UNCHANGED <<phase, names, mem, newest, files, area, work, reader, promise>>
Take(who, due, op) ==
    /\ hold = Free /\ hold' = [who |-> who, at |-> "step", due |-> due, again |-> FALSE, op |-> op]
    /\ UNCHANGED <<phase, names, mem, newest, files, area, batch, pending, listed, reader, promise>>
Acquire(c) ==
    /\ call[c].at = "waits" /\ Take(c, Due(call[c].file), <<>>) /\ call' = [call EXCEPT ![c].at = "holds"]
Flusher ==
    /\ phase = "up" /\ \E k \in K : mem[k] # NotHere
    /\ Take("flusher", {k \in K : mem[k] # NotHere}, <<>>) /\ UNCHANGED call

\* Cut: from this page on. Rename to Nobody: unlink.
Cut(k) == phase = "up" /\ ~IsCut(newest[k]) /\ Take("changer", {}, [cut |-> k]) /\ UNCHANGED call
Rename(n, m) ==
    /\ phase = "up" /\ n # m /\ dir[n] # Nobody
    /\ Take("changer", {}, [from |-> n, to |-> m]) /\ UNCHANGED call
IsOfCut == "cut" \in DOMAIN hold.op
FilesOfOp == IF IsOfCut THEN {hold.op.cut[1]}
             ELSE {dir[hold.op.from]} \union (IF hold.op.to = Nobody THEN {} ELSE {dir[hold.op.to]})

\* An fsync, the flusher: one batch after the other.
Release == hold' = Free /\ call' = [c \in Callers |-> IF hold.who = c THEN [call[c] EXCEPT !.at = "syncs"] ELSE call[c]]
\* It has failed, and says so.
Fail == hold' = AfterFailure /\ call' = [c \in Callers |-> IF hold.who = c THEN Idle ELSE call[c]]
Goto(at) == hold' = [hold EXCEPT !.at = at] /\ UNCHANGED call
Steps(who) == hold.at = "step" /\ IF who = "changer" THEN hold.who = who ELSE hold.who \notin {"free", "changer"}

\* What waits since a failure comes first.
Retry ==
    /\ \/ Steps("writer") /\ PendingFirst
       \/ Steps("changer") /\ PendingFirst /\ MustForget(FilesOfOp)
    /\ hold' = [hold EXCEPT !.at = "place", !.again = TRUE] /\ UNCHANGED call
    /\ UNCHANGED <<phase, names, mem, newest, files, area, batch, pending, listed, reader, promise>>
AllDone ==
    /\ Steps("writer") /\ ~PendingFirst /\ hold.due = {}
    /\ Release
    /\ UNCHANGED <<phase, names, mem, newest, files, area, batch, pending, listed, reader, promise>>

\* A batch, by the names that its files have now: first the pages that are due, and as many others as there is room for.
NameOf(f) == IF \E n \in Names : dir[n] = f THEN CHOOSE n \in Names : dir[n] = f ELSE Nobody
Dirty == {k \in K : mem[k] # NotHere}
Batches ==
    {b \in SUBSET Dirty : /\ b # {} /\ Cardinality(b) = (IF Cardinality(Dirty) < Room THEN Cardinality(Dirty) ELSE Room)
                          /\ hold.due \cap Dirty \subseteq b \/ b \subseteq hold.due}
Entered(b) == {[name |-> NameOf(k[1]), key |-> k, v |-> mem[k], whole |-> TRUE] : k \in b}
Gathers(b) ==
    /\ Steps("writer") /\ ~PendingFirst /\ hold.due # {} /\ b \in Batches
    /\ dirMay' = DirAfterSync
    /\ areaMay' = areaMay \union {Entered(b)}
    /\ listed' = Listed(Entered(b))
    /\ UNCHANGED <<phase, dir, made, mem, newest, files, areaDisk, pending, reader, promise>>
WriteArea(b) == Gathers(b) /\ batch' = Entered(b) /\ areaSeen' = Entered(b) /\ Goto("written")
WriteAreaFails(b) == Gathers(b) /\ batch' = {} /\ areaSeen' \in {areaSeen, {}, Entered(b)} /\ Fail
SyncArea ==
    /\ hold.at = "written"
    /\ areaDisk' = areaSeen /\ areaMay' = {} /\ listed' = FilesOf(batch) /\ pending' = TRUE
    /\ Goto("place")
    /\ UNCHANGED <<phase, names, mem, newest, files, areaSeen, batch, reader, promise>>
SyncAreaFails ==
    /\ hold.at = "written"
    /\ AreaAfterFailure /\ batch' = {}
    /\ Fail
    /\ UNCHANGED <<phase, names, mem, newest, files, areaSeen, pending, listed, reader, promise>>

WriteInPlace ==
    /\ hold.at = "place"
    /\ Written(batch) /\ Goto("sync")
    /\ UNCHANGED <<phase, names, mem, newest, area, batch, pending, listed, reader, promise>>
WriteInPlaceFails ==
    /\ hold.at = "place"
    /\ \E part \in SUBSET batch : Written(part)
    /\ Fail
    /\ UNCHANGED <<phase, names, mem, newest, area, batch, pending, listed, reader, promise>>
\* Pages leave memory, but those that were written meanwhile. The flusher makes one batch.
Placed == Synced(FilesOf(batch))
SyncInPlace ==
    /\ hold.at = "sync"
    /\ Placed
    /\ mem' = [k \in K |-> IF Leaves(k) THEN NotHere ELSE mem[k]]
    /\ pending' = FALSE /\ batch' = {}
    /\ IF hold.who = "flusher" THEN Release
       ELSE hold' = [hold EXCEPT !.at = "step", !.due = DueAfter, !.again = FALSE] /\ UNCHANGED call
    /\ UNCHANGED <<phase, names, newest, area, listed, reader, promise>>
SyncInPlaceFails ==
    /\ hold.at = "sync"
    /\ SyncFails(FilesOf(batch))
    /\ Fail
    /\ UNCHANGED <<phase, names, mem, newest, area, batch, pending, listed, reader, promise>>

\* The rest of an fsync, without the lock: the file's size.
SyncFile(c) ==
    /\ call[c].at = "syncs"
    /\ Synced({call[c].file})
    /\ promised' = [k \in K |-> IF k[1] = call[c].file /\ call[c].since[k[2]] > promised[k]
                                THEN call[c].since[k[2]] ELSE promised[k]]
    /\ call' = [call EXCEPT ![c] = Idle]
    /\ UNCHANGED <<phase, names, mem, newest, area, work, reader, owner>>
SyncFileFails(c) ==
    /\ call[c].at = "syncs"
    /\ SyncFails({call[c].file})
    /\ call' = [call EXCEPT ![c] = Idle]
    /\ UNCHANGED <<phase, names, mem, newest, area, work, reader, promise>>

\* Who cuts, unlinks or renames: the area forgets the file before.
ForgetFirst ==
    /\ Steps("changer") /\ ~(PendingFirst /\ MustForget(FilesOfOp))
    /\ Goto(IF MustForget(FilesOfOp) THEN "empty" ELSE "op")
    /\ UNCHANGED <<phase, names, mem, newest, files, area, batch, pending, listed, reader, promise>>
EmptyArea ==
    /\ hold.at = "empty"
    /\ areaSeen' = {} /\ areaDisk' = {} /\ areaMay' = {} /\ listed' = {}
    /\ Goto("op")
    /\ UNCHANGED <<phase, names, mem, newest, files, batch, pending, reader, promise>>
EmptyAreaFails ==
    /\ hold.at = "empty"
    /\ areaSeen' = {} /\ areaDisk' \in AreasAfter /\ areaMay' \in {{}, areaMay \union {{}}}
    /\ Fail
    /\ UNCHANGED <<phase, names, mem, newest, files, batch, pending, listed, reader, promise>>
IsCutOff(k) == k[1] = hold.op.cut[1] /\ k[2] >= hold.op.cut[2] /\ ~IsCut(newest[k])
CutNow ==
    /\ hold.at = "op" /\ IsOfCut /\ \A k \in K : IsCutOff(k) => RangeIsFree(k)
    /\ LET Now(before, c) == [k \in K |-> IF IsCutOff(k) THEN c ELSE before[k]] IN
       /\ mem' = Now(mem, NotHere) /\ newest' = Now(newest, 3 * Change) /\ seen' = Now(seen, Whole(3 * Change))
       /\ cache' = [k \in K |-> IF IsCutOff(k) THEN cache[k] \union {3 * Change} ELSE cache[k]]
    /\ Changed({k \in K : IsCutOff(k)})
    /\ hold' = Free
    /\ UNCHANGED <<phase, names, disk, area, batch, pending, listed, call, reader, promised>>
RenameNow ==
    /\ hold.at = "op" /\ ~IsOfCut
    /\ dir' = [n \in Names |-> IF n = hold.op.from THEN Nobody ELSE IF n = hold.op.to THEN dir[hold.op.from] ELSE dir[n]]
    /\ dirMay' = dirMay \union {dir'}
    /\ Changed({})
    /\ hold' = Free
    /\ UNCHANGED <<phase, made, mem, newest, files, area, batch, pending, listed, call, reader, promised>>

-----------------------------------------------------------------------------
\* Faults. What the program had in memory is gone.
MemoryLost ==
    /\ phase' = "down"
    /\ mem' = [k \in K |-> NotHere]
    /\ hold' = Free /\ batch' = {} /\ pending' = FALSE /\ listed' = {}
    /\ call' = [c \in Callers |-> Idle] /\ reader' = NoPage
    /\ UNCHANGED <<made, newest, promise>>
Kill == phase # "down" /\ MemoryLost /\ UNCHANGED <<dir, dirMay, files, area>>
PowerLoss ==
    /\ MemoryLost
    /\ dir' \in dirMay /\ dirMay' = {dir'}
    /\ disk' \in DisksAfter(Unsynced(Files), disk, FALSE) /\ cache' = [k \in K |-> {}] /\ seen' = disk'
    /\ areaDisk' \in (IF areaMay = {} THEN {areaDisk} ELSE AreasAfter) /\ areaMay' = {} /\ areaSeen' = areaDisk'
\* What the kernel has forgotten is read from the device again.
Evict ==
    /\ phase = "down"
    /\ \/ /\ \E k \in K : /\ cache[k] = {} /\ seen[k] # disk[k]
                          /\ \E gone \in {disk[k], <<disk[k][1], seen[k][2]>>, <<seen[k][1], disk[k][2]>>} :
                                /\ gone # seen[k] /\ seen' = [seen EXCEPT ![k] = gone]
          /\ UNCHANGED areaSeen
       \/ /\ areaMay = {} /\ areaSeen # areaDisk /\ areaSeen' \in {areaDisk, {}}
          /\ UNCHANGED seen
    /\ UNCHANGED <<phase, names, mem, newest, disk, cache, areaDisk, areaMay, work, call, reader, promise>>

-----------------------------------------------------------------------------
\* The next mount. What it has read need not be durable: the area is written again, and synced.
Read ==
    /\ phase = "down"
    /\ phase' = IF Counts(areaSeen) THEN "read" ELSE "empties"
    /\ UNCHANGED <<names, mem, newest, files, area, work, call, reader, promise>>
RewriteArea ==
    /\ phase = "read" /\ phase' = "safe"
    /\ areaDisk' = areaSeen /\ areaMay' = {}
    /\ UNCHANGED <<names, mem, newest, files, areaSeen, work, call, reader, promise>>
\* The same bytes over themselves cannot tear.
RewriteAreaFails ==
    /\ phase = "read" /\ phase' = "down"
    /\ IF areaDisk = areaSeen /\ areaMay = {}
       THEN UNCHANGED <<areaDisk, areaMay>>
       ELSE areaDisk' \in {areaDisk, areaSeen, {}} \union areaMay /\ areaMay' \in {{}, areaMay \union {areaSeen}}
    /\ UNCHANGED <<names, mem, newest, files, areaSeen, work, call, reader, promise>>
\* A file that is not there any more was not durable.
Placeable == {e \in areaSeen : e.name # Nobody /\ (IF e.name = Nobody THEN FALSE ELSE dir[e.name] # Nobody)}
Now(e) == [e EXCEPT !.key[1] = dir[e.name]]
Repairs == {Now(e) : e \in Placeable}
Replay ==
    /\ phase = "safe" /\ phase' = "replayed"
    /\ Written(Repairs)
    /\ UNCHANGED <<names, mem, newest, area, work, call, reader, promise>>
SyncReplayed ==
    /\ phase = "replayed" /\ phase' = "empties"
    /\ Synced(FilesOf(Repairs))
    /\ UNCHANGED <<names, mem, newest, area, work, call, reader, promise>>
SyncReplayedFails ==
    /\ phase = "replayed" /\ phase' = "down"
    /\ SyncFails(FilesOf(Repairs))
    /\ UNCHANGED <<names, mem, newest, area, work, call, reader, promise>>
EndRecovery ==
    /\ phase = "empties" /\ phase' = "up"
    /\ areaSeen' = {} /\ areaDisk' = {} /\ areaMay' = {}
    /\ newest' = [k \in K |-> seen[k][1]]
    /\ UNCHANGED <<names, mem, files, work, call, reader, promise>>
EndRecoveryFails ==
    /\ phase = "empties" /\ phase' = "down"
    /\ areaSeen' = {} /\ areaDisk' \in AreasAfter /\ areaMay' \in {{}, areaMay \union {{}}}
    /\ UNCHANGED <<names, mem, newest, files, work, call, reader, promise>>

-----------------------------------------------------------------------------
Users ==
    \/ \E k \in K : Write(k) \/ Extend(k) \/ Cut(k)
    \/ \E n \in Names : Create(n) \/ \E m \in Names \union {Nobody} : Rename(n, m)
Steps1 ==
    \/ \E c \in Callers, f \in Files : Fsync(c, f)
    \/ \E c \in Callers : Acquire(c) \/ SyncFile(c)
    \/ \E k \in K : ReadBelow(k)
    \/ ReadEnds \/ Flusher \/ Retry \/ AllDone \/ SyncArea \/ WriteInPlace \/ SyncInPlace
    \/ \E b \in SUBSET K : WriteArea(b)
    \/ ForgetFirst \/ EmptyArea \/ CutNow \/ RenameNow
    \/ Read \/ RewriteArea \/ Replay \/ SyncReplayed \/ EndRecovery \/ Evict
Failures ==
    \/ \E b \in SUBSET K : WriteAreaFails(b)
    \/ SyncAreaFails \/ WriteInPlaceFails \/ SyncInPlaceFails \/ EmptyAreaFails
    \/ \E c \in Callers : SyncFileFails(c)
    \/ RewriteAreaFails \/ SyncReplayedFails \/ EndRecoveryFails
Next == Users \/ Steps1 \/ Failures \/ Kill \/ PowerLoss
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
\* Files that have a name, and files that are not there yet, or not any more.
HasName(k) == \E n \in Names : dir[n] = k[1]
View(k) == IF mem[k] # NotHere THEN Whole(mem[k]) ELSE seen[k]

\* No page is a mixture, as a server reads it.
NeverTorn == phase = "up" => \A k \in K : HasName(k) => IsWhole(View(k))
\* What an fsync has covered is there, or what came later.
SyncedSurvives == phase = "up" => \A k \in K : HasName(k) => View(k)[1] >= promised[k]
\* A page is one that was written there, into this very file.
WasWrittenThere ==
    phase = "up" => \A k \in K : HasName(k) => View(k)[1] < 3 \/ k \in owner[View(k)[1] \div 3]
\* While it is mounted a read gives what was written last.
ReadsNewest == phase = "up" => \A k \in K : HasName(k) => View(k) = Whole(newest[k])
\* While pages may be torn in place the area has them, durably.
CopyIsKept == phase = "up" /\ pending => areaDisk = batch /\ areaMay = {}
\* Each file is listed of which the area may have a page after a power loss: before it is cut or gets another name the area must forget it.
AreaIsListed == phase = "up" => \A b \in {areaDisk, areaSeen} \union areaMay : FilesOf(b) \subseteq listed
\* No page is read from a file while it is written there.
NoReadBesideAWrite == hold.at \in {"place", "sync"} => reader \notin KeysOf(batch)

\* What a recovery would find on a page now.
Found(k) == IF Counts(areaSeen) /\ \E e \in Repairs : e.key = k
            THEN AsEntered(CHOOSE e \in Repairs : e.key = k) ELSE seen[k]
\* Once a recovery has begun to write, what stops it does not change what the next one finds of the pages in the area.
RecoveryIsIdempotent ==
    [][(phase \in {"safe", "replayed"} /\ phase' \notin {"safe", "replayed"}) =>
         \A k \in KeysOf(Repairs) : Found(k)' = Found(k)]_vars

\* Each step of the lock's holder, and of the calls, is taken in the end; who waits for the lock gets it.
Fair ==
    /\ WF_vars(Retry \/ AllDone \/ SyncArea \/ WriteInPlace \/ SyncInPlace \/ ForgetFirst \/ EmptyArea
               \/ CutNow \/ RenameNow \/ \E b \in SUBSET K : WriteArea(b))
    /\ WF_vars(ReadEnds)
    /\ \A c \in Callers : SF_vars(Acquire(c)) /\ WF_vars(SyncFile(c))
\* An fsync ends.
FsyncEnds == \A c \in Callers : call[c].at # "idle" ~> call[c].at = "idle"
=============================================================================

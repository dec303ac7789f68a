\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of tiercache, and of what is broken: spec/tools/sentences.py has the form.

module Litmus
HearsEachOnce BROKEN | The policy has heard of something twice, or of no hit

module MCtiercache
VIA AtOnce

module readers
INNER pc, my, frame
Begin STEP t \in Threads | thread {t} -> cache | wants to {IF my'[t].call = "evict" THEN "move" ELSE IF my'[t].call = "gather" THEN "copy" ELSE
    my'[t].call} page {my'[t].page}{IF my'[t].call = "drop" THEN " from memory" ELSE IF my'[t].call = "evict" THEN " to the SSD" ELSE IF my'[t].call =
    "gather" THEN " back to the store" ELSE ""}
Peek STEP t \in Threads if pc'[t] = "checks" | thread {t} -> frame {my'[t].frame} | looks in the table without map, which gives frame {my'[t].frame},
    and pins that. Its pins by now: {word'[my'[t].frame].pins}
Peek STEP t \in Threads | thread {t} | looks in the table without map, which gives no frame, or one that is closed: it goes the slow way
Check STEP t \in Threads if pc'[t] = "copies" /\ named[my[t].frame] # my[t].page | thread {t} -> frame {my[t].frame} | does not look which page frame
    {my[t].frame} has
Check STEP t \in Threads if pc'[t] = "copies" | thread {t} -> frame {my[t].frame} | looks which page frame {my[t].frame} has: {my[t].page}, as it
    should
Check STEP t \in Threads if named[my[t].frame] = None | thread {t} -> frame {my[t].frame} | looks which page frame {my[t].frame} has: none. It must
    unpin it, and go the slow way
Check STEP t \in Threads | thread {t} -> frame {my[t].frame} | looks which page frame {my[t].frame} has: {named[my[t].frame]}. It must unpin it, and
    go the slow way
Unpin STEP t \in Threads if word' = word | thread {t} -> frame {my[t].frame} | looks whether frame {my[t].frame} is closed, before it unpins it
Unpin STEP t \in Threads if pc'[t] = "calls" | thread {t} -> frame {my[t].frame} | unpins frame {my[t].frame}, and sees that it is closed and was
    pinned by nobody else: it must wake who waits
Unpin STEP t \in Threads if pc'[t] = "outside" | thread {t} -> frame {my[t].frame} | unpins frame {my[t].frame}. Its pins by now:
    {word'[my[t].frame].pins}. The call ends
Unpin STEP t \in Threads | thread {t} -> frame {my[t].frame} | unpins frame {my[t].frame}. Its pins by now: {word'[my[t].frame].pins}. It goes the
    slow way
Call STEP t \in Threads if map = t /\ asleep # {} | thread {t} -> cache | wakes these: {asleep \ asleep'}. It gives map back{IF pc'[t] = "outside"
    THEN ", and its call ends" ELSE ", to go the slow way"}
Call STEP t \in Threads if asleep # asleep' | thread {t} -> cache | wakes these without map: {asleep \ asleep'}
Call STEP t \in Threads | thread {t} -> cache | would wake who sleeps; nobody does, or nobody is woken. It gives map back{IF pc'[t] = "outside" THEN
    ", and its call ends" ELSE ", to go the slow way"}
Lock SMALL t \in Threads | thread {t} -> map | takes the mutex map
Look STEP t \in Threads if pc' = pc | thread {t} -> cache | finds that another thread loads page {my[t].page}, and gives map back, to wait for that
Look STEP t \in Threads if pc'[t] \in {"outside", "ends"} /\ IsMissing(t) | thread {t} -> cache | finds no page {my[t].page} and no free frame: its
    call {IF pc'[t] = "ends" THEN "is at its end" ELSE "ends here"}
Look STEP t \in Threads if pc'[t] \in {"outside", "ends"} | thread {t} -> cache | finds nothing to do for page {my[t].page}: its call {IF pc'[t] =
    "ends" THEN "is at its end" ELSE "ends"}
Look STEP t \in Threads if pc'[t] = "loads" | thread {t} -> cache | does not find page {my[t].page}, takes frame {my'[t].frame} to load it into, and
    gives map back{IF word' # word THEN ". The frame that it held is open now" ELSE ""}
Look STEP t \in Threads if pc'[t] = "copies" /\ word' # word | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, pins that
    with map held, and gives map back
Look STEP t \in Threads if pc'[t] = "has pinned" | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and pins that with map
    held
Look STEP t \in Threads if my'[t].victim # None /\ my[t].call # "drop" | thread {t} -> cache | does not find page {my[t].page}, and makes room: page
    {my'[t].victim} is to leave frame {my'[t].frame}, which it must have for itself
Look STEP t \in Threads if map' # t | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and gives map back. It does not pin
    the frame
Look STEP t \in Threads if pc'[t] = "copies with map" /\ my[t].call = "read" | thread {t} -> cache | finds page {my[t].page} in frame
    {table[my[t].page]}, which is closed: it will copy with map held
Look STEP t \in Threads if pc'[t] = "copies with map" /\ my[t].call = "evict" | thread {t} -> cache | says that page {my[t].page} in frame
    {table[my[t].page]} is on its way to the SSD, and will copy it with map held
Look STEP t \in Threads if pc'[t] = "copies with map" | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and will copy it
    with map held
Look STEP t \in Threads if pc'[t] = "closes" | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}. It must have that frame for
    itself
Look STEP t \in Threads if table[my[t].page] = None | thread {t} -> cache | does not find page {my[t].page}, and takes the free frame {my'[t].frame}
    for it
Look STEP t \in Threads | thread {t} -> cache | finds page {my[t].page} in frame {table[my[t].page]}, and does not look whether that is pinned
Copy STEP t \in Threads if my'[t].got[my[t].half] # None | thread {t} -> frame {my[t].frame} | copies the {IF my[t].half = 1 THEN "first" ELSE
    "second"} half of frame {my[t].frame}: it is of page {my'[t].got[my[t].half].page}, version {my'[t].got[my[t].half].v}
Copy STEP t \in Threads | thread {t} -> frame {my[t].frame} | copies a half of frame {my[t].frame}, in which nothing is
EndCopy STEP t \in Threads if my[t].call = "read" | thread {t} -> cache | has copied the page, and gives map back: its call ends
EndCopy STEP t \in Threads if my[t].call = "evict" | thread {t} -> SSD | has copied page {my[t].page}, gives map back, and writes the copy to the SSD
EndCopy STEP t \in Threads | thread {t} -> store | has copied page {my[t].page}, gives map back, and writes the copy to the store
Close STEP t \in Threads if held' = None /\ word' # word | thread {t} -> frame {held} | opens frame {held}, before it closes another one
Close STEP t \in Threads if held' = None | thread {t} -> frame {held} | leaves frame {held} closed, because another thread waits for it
Close STEP t \in Threads if pc'[t] = "falls asleep" | thread {t} -> frame {my[t].frame} | closes frame {my[t].frame}, and sees its pins:
    {word[my[t].frame].pins}. It must wait
Close STEP t \in Threads if word[my[t].frame].pins > 0 | thread {t} -> frame {my[t].frame} | closes frame {my[t].frame}, and does not look at its
    pins: {word[my[t].frame].pins}
Close STEP t \in Threads | thread {t} -> frame {my[t].frame} | closes frame {my[t].frame}, and sees that nobody has pinned it
FallAsleep STEP t \in Threads if word' # word | thread {t} | opens frame {held}, gives map back, and falls asleep
FallAsleep STEP t \in Threads | thread {t} | gives map back, and falls asleep until the last one unpins frame {my[t].frame}
WakeForNoReason STEP t \in Threads | thread {t} | wakes up for no reason
Wait STEP t \in Threads if pc'[t] = "falls asleep" | thread {t} -> frame {my[t].frame} | looks at the pins of frame {my[t].frame}:
    {word[my[t].frame].pins}. It must sleep again
Wait STEP t \in Threads if pc'[t] = "comes" | thread {t} -> frame {my[t].frame} | looks at the pins of frame {my[t].frame}: {word[my[t].frame].pins}.
    It has slept, so it looks anew where its page is
Wait STEP t \in Threads | thread {t} -> frame {my[t].frame} | looks at the pins of frame {my[t].frame}: {word[my[t].frame].pins}. It waits no more
Open STEP t \in Threads if word' # word | thread {t} -> frame {held} | opens frame {held}, and gives map back{IF pc[t] = "ends" THEN ": the call ends"
    ELSE ""}
Open STEP t \in Threads if held # None /\ word[held].closed | thread {t} -> frame {held} | gives map back, and leaves frame {held} closed. Those that
    wait for it: {waiting[held]}{IF pc[t] = "ends" THEN ". The call ends" ELSE ""}
Open STEP t \in Threads | thread {t} -> cache | gives map back{IF pc[t] = "ends" THEN ": the call ends" ELSE ""}
Change STEP t \in Threads if my[t].half = 1 | thread {t} -> frame {my[t].frame} | writes the first half of frame {my[t].frame}: page {my[t].page},
    version {Next1(now[my[t].page])}
Change STEP t \in Threads | thread {t} -> frame {my[t].frame} | writes the second half of frame {my[t].frame}. Page {my[t].page} has version
    {now'[my[t].page]} now
Name STEP t \in Threads | thread {t} -> frame {my[t].frame} | says that frame {my[t].frame} has page {my[t].page}
Drop STEP t \in Threads if table' = table | thread {t} -> frame {held} | opens frame {held}
Drop STEP t \in Threads | thread {t} -> frame {my[t].frame} | takes page {my[t].victim} from memory: frame {my[t].frame} has no name now, and is free
EndPut STEP t \in Threads | thread {t} -> SSD | has written page {my[t].page} to the SSD, and has map again
Decide STEP t \in Threads if table' # table /\ my[t].page \in changed | thread {t} -> cache | lets page {my[t].page} leave the memory, though it was
    written meanwhile
Decide STEP t \in Threads if table' # table | thread {t} -> cache | lets page {my[t].page} leave the memory: the SSD has it. Frame {my[t].frame} has
    no name now, and is free
Decide STEP t \in Threads | thread {t} -> cache | lets page {my[t].page} stay in memory: it was written meanwhile
EndWriteBack STEP t \in Threads | thread {t} -> store | has written version {my[t].got[1].v} of page {my[t].page} to the store, and gives map back
Load STEP t \in Threads | thread {t} -> frame {my[t].frame} | loads the {IF my[t].half = 1 THEN "first" ELSE "second"} half of page {my[t].page} into
    frame {my[t].frame}: version {below[my[t].page]}
EndLoad STEP t \in Threads if my[t].old | thread {t} -> cache | finds that page {my[t].page} was written while it was loaded, and begins anew
EndLoad STEP t \in Threads if table' = table | thread {t} -> frame {my[t].frame} | says that frame {my[t].frame} has page {my[t].page}, without map:
    the call ends
EndLoad STEP t \in Threads if named' = named | thread {t} -> cache | puts page {my[t].page} into the table: it is in frame {my[t].frame}, which has
    had its name before, or has none yet. Map is free
EndLoad STEP t \in Threads | thread {t} -> cache | puts page {my[t].page} into the table, and says that frame {my[t].frame} has it. Map is free, and
    the call ends
NOTE | A page has two halves. A frame is whole if both are of one page and one version
NOTE | Nothing is in memory yet. What is below, on the SSD or the store, is version 0 of each page
MapIsHeld BROKEN t \in Threads if pc[t] \in NeedsMap /\ map # t | Thread {t} does what needs map, and {map} has it
MapIsHeld BROKEN if map = Nobody /\ held # None | Nobody has map, and frame {held} is held
CountsAreRight BROKEN f \in Frames if word[f].pins # Cardinality(Pinners(f)) | Frame {f} counts {word[f].pins} pins; those that have pinned it:
    {Pinners(f)}
CountsAreRight BROKEN f \in Frames if waiting[f] # Cardinality(Waiters(f)) | Frame {f} counts {waiting[f]} that wait for it; those that do:
    {Waiters(f)}
ClosedForAReason BROKEN f \in Frames if word[f].closed /\ waiting[f] = 0 /\ held # f | Frame {f} is closed. Nobody waits for it, and who has map does
    not hold it
ClosedWhileNeeded BROKEN f \in Frames if ~word[f].closed /\ waiting[f] > 0 | Frame {f} is open, and {waiting[f]} wait for it
ClosedWhileNeeded BROKEN f \in Frames if ~word[f].closed /\ held = f | Frame {f} is open, and who has map holds it
NamesAreRight BROKEN f \in Frames, p \in Pages if named[f] = p /\ table[p] # f | Frame {f} says that it has page {p}, which is not there
NamesAreRight BROKEN f \in Frames, p \in Pages if table[p] = f /\ named[f] # p | Page {p} is in frame {f}, whose name is {named[f]}
CopyIsWhole BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] = None | Thread {t} has copied a half in which nothing was
CopyIsWhole BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] # my[t].got[2] /\ my[t].got[1] # None | Thread {t} has copied a
    half of page {my[t].got[1].page}, version {my[t].got[1].v}, and another one of page {my[t].got[2].page}, version {my[t].got[2].v}
CopyIsWhole BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] = my[t].got[2] /\ my[t].got[2].page # my[t].page | Thread {t}
    wanted page {my[t].page}, and has copied page {my[t].got[2].page}
CopyIsWhole BROKEN t \in Threads if my[t].got[2] # None /\ ~my[t].old /\ my[t].got[1] = my[t].got[2] /\ my[t].got[2].page = my[t].page /\
    my[t].got[2].v \notin my[t].seen | Thread {t} has version {my[t].got[2].v} of page {my[t].page}. Since its call began the page has had these:
    {my[t].seen}
ChangedAlone BROKEN f \in Frames if Cardinality(Changers(f)) > 1 | These change frame {f} at once: {Changers(f)}
ChangedAlone BROKEN f \in Frames if Changers(f) # {} /\ Readers(f) # {} | {Changers(f)} changes frame {f}, which these read: {Readers(f)}
ReadIsInTable BROKEN f \in Frames, t \in Readers(f) if table[my[t].page] # f | Thread {t} copies page {my[t].page} from frame {f}, where it is no more
FreeIsUnread BROKEN f \in FreeFrames if Readers(f) # {} | Frame {f} is free, and these read it: {Readers(f)}
OnePageEach BROKEN p \in Pages, q \in Pages if p # q /\ table[p] # None /\ table[p] = table[q] | Pages {p} and {q} are both in frame {table[p]}
OnePageEach BROKEN p \in Pages, t \in Threads if table[p] # None /\ pc[t] \in Loading /\ my[t].frame = table[p] | Page {p} is in frame {table[p]},
    into which thread {t} loads page {my[t].page}
OnePageEach BROKEN p \in Pages, t \in Threads if table[p] # None /\ pc[t] \in Loading /\ my[t].frame # table[p] /\ my[t].page = p /\ ~my[t].old | Page
    {p} is in frame {table[p]}, and thread {t} loads it into frame {my[t].frame}
LeavingStays BROKEN p \in Pages if Cardinality(Bringers(p)) > 1 | These bring page {p} to the SSD at once: {Bringers(p)}
LeavingStays BROKEN p \in Pages, t \in Threads if t \in Bringers(p) /\ table[p] # my[t].frame | Thread {t} brings page {p} to the SSD from frame
    {my[t].frame}, where it is no more
NewestIsKept BROKEN p \in Pages if table[p] = None | Page {p} is at version {now[p]}. It is not in memory, and below is version {below[p]}
NewestIsKept BROKEN p \in Pages if table[p] # None /\ frame[table[p]] # <<Of(p, now[p]), Of(p, now[p])>> | Page {p} is at version {now[p]}, and its
    frame has something else
NoLostWakeUp BROKEN t \in asleep if IsUnpinned(t) | Thread {t} sleeps until nobody has pinned frame {my[t].frame}. Nobody has, and nobody will wake it
NobodyPinsMeanwhile BROKEN f \in Frames if word'[f].pins > word[f].pins /\ waiting[f] > 0 | {waiting[f]} wait for frame {f}, and it is pinned once
    more
CallsForAReason BROKEN t \in Threads if pc[t] = "unpins" /\ pc'[t] = "calls" /\ waiting[my[t].frame] = 0 | Thread {t} unpins frame {my[t].frame}, and
    will take map to wake who waits for it. Nobody does
LeavesUnread BROKEN p \in Pages if table[p] # None /\ table'[p] # table[p] | Page {p} leaves frame {table[p]}, which {IF word[table[p]].closed THEN
    "is closed" ELSE "is open"}. Its pins: {word[table[p]].pins}
EachEnds BROKEN t \in Threads if pc[t] # "outside" | Thread {t} is in a call that does not end

module memory
INNER user, storage.durable, storage.pending, storage.listed, ssd.diskMay, ssd.superMay, ssd.forgot, file.controlMay, report.unreported, lives, bounds,
    flush, ours.mine, stale, held
BeginRead STEP p \in Pages if OnSsd(p) | cache -> SSD | begins to read page {p} from the SSD, which has version {reading'.v}
BeginRead STEP p \in Pages | cache -> store | begins to read page {p} from the store, which has version {reading'.v}
Wait STEP p \in Pages | cache | another reader of page {p} waits until it comes to memory
EndRead STEP if memory' # memory | cache | has read page {reading.page}, version {reading.v}, and keeps it in memory
EndRead STEP | cache | has read page {reading.page}, version {reading.v}, and does not keep it
Write STEP p \in Pages | user -> cache | writes page {p}: version {newest'[p]}. It is in memory alone, and dirty
BeginEvict STEP p \in Pages, s \in Slots | cache -> SSD | begins to write page {p}, version {memory[p].v}{IF memory[p].dirty THEN ", dirty," ELSE ""}
    to slot {s} of the SSD
EndEvict STEP if failures' # failures | cache -> SSD | fails to write page {leaving.page} to slot {leaving.slot} of the SSD; the page stays in memory
EndEvict STEP if memory' # memory | cache -> SSD | has written page {leaving.page} to slot {leaving.slot} of the SSD, and moves it there
EndEvict STEP | cache -> SSD | has written page {leaving.page} to slot {leaving.slot} of the SSD; it was written meanwhile, and stays in memory
Need STEP | cache | somebody needs a frame, and waits for page {leaving.page}, which is leaving
Displace STEP s \in Slots | cache | the page of slot {s}, which is being read, leaves the SSD
Drop STEP p \in Pages | cache | drops page {p} from memory: it is clean
Unreadable STEP s \in Slots | cache -> SSD | cannot read slot {s} of the SSD, and forgets it: the store has the page

module writeback
Gather STEP f \in Flushers, fsync \in BOOLEAN if fsync | write-back {f} | begins an fsync. Dirty pages: {flush'[f].dirty}
Gather STEP f \in Flushers, fsync \in BOOLEAN | write-back {f} | begins. Dirty pages: {flush'[f].dirty}
Scrub STEP f \in Flushers if failures' = failures | write-back {f} -> SSD | takes old contents off the slots {flush[f].off}
Scrub STEP f \in Flushers | write-back {f} -> SSD | fails to take old contents off the SSD
SyncSsd STEP f \in Flushers if failures' = failures | write-back {f} -> SSD | syncs the SSD
SyncSsd STEP f \in Flushers | write-back {f} -> SSD | fails to sync the SSD
Retire STEP f \in Flushers if failures' = failures | write-back {f} -> control file | uses the SSD no more: the control file says that no restart may
    trust it
Retire STEP f \in Flushers | write-back {f} -> control file | is to use the SSD no more, and fails to write that to the control file
WriteStore STEP f \in Flushers if failures' = failures | write-back {f} -> store | writes the pages {DOMAIN flush[f].has} to the store: the kernel has
    them, the device may not
WriteStore STEP f \in Flushers | write-back {f} -> store | fails to write to the store; some of it may have come there
SyncStore STEP f \in Flushers if failures' = failures | write-back {f} -> store | syncs the store: what was written is durable
SyncStore STEP f \in Flushers | write-back {f} -> store | fails to sync the store: what was written is durable or not, and nobody knows
Succeed STEP f \in Flushers if flush[f].fsync /\ failed | write-back {f} -> user | is done: the fsync returns an error
Succeed STEP f \in Flushers if flush[f].fsync | write-back {f} -> user | is done: the fsync returns success. Durable is now, by
    page: {synced'}
Succeed STEP f \in Flushers | write-back {f} | is done: what it wrote counts as clean
Fail STEP f \in Flushers if flush[f].fsync | write-back {f} -> user | has failed: the fsync returns an error
Fail STEP f \in Flushers | write-back {f} | has failed. All stays dirty

module mount
Kill STEP | kill -> cache | the process ends: memory is gone. The kernel has what was written
PowerLoss STEP | power loss -> store | memory and the kernel's cache are gone. The store has, by page: {store'}{IF super' = None THEN ". The SSD is
    lost" ELSE ""}
Exchange STEP | operator -> SSD | puts another SSD in the place of the SSD
OtherStore STEP if inPlace | operator -> store | puts another store in the place of the store
OtherStore STEP | operator -> store | puts the store back in its place
SecondLife STEP | operator -> store | makes store and control file anew; the SSD stays as it is
MountStore STEP if failures' = failures | cache -> store | mounts: it writes again what the store's trailer lists, and syncs the store
MountStore STEP | cache -> store | is to mount, and fails to write to the store
Scan STEP if phase' = "super" /\ IsTrusted | cache -> SSD | reads the SSD, and trusts it: superblock and control file fit. It takes over slots: {{s
    \in Slots : held'[s] # None}}
Scan STEP if phase' = "super" | cache -> SSD | reads the SSD, and takes it for empty: superblock and control file do not fit
Scan STEP | cache -> SSD | fails to read the SSD, and goes on without it
WriteSuper SMALL if failures' = failures | cache -> SSD | writes the SSD's superblock
WriteSuper STEP | cache -> SSD | fails to write the SSD's superblock, and goes on without the SSD
SyncSuper SMALL if failures' = failures | cache -> SSD | syncs the SSD
SyncSuper STEP | cache -> SSD | fails to sync the SSD, and goes on without it
WriteControl SMALL if failures' = failures | cache -> control file | writes the control file
WriteControl STEP | cache -> control file | fails to write the control file, and stops
SyncControl STEP if failures' = failures | cache -> control file | syncs the control file: the mount is done
SyncControl STEP | cache -> control file | fails to sync the control file, and stops

module tiercache
NOTE | {Frames} of the pages {Pages} fit into memory; the SSD has the slots {Slots}. All pages have version 0
ReadsNewest BROKEN p \in Pages if Up /\ View(p) # newest[p] | A read of page {p} gives version {View(p)}; the last one that was written is {newest[p]}
CleanIsDurable BROKEN p \in Pages if Up /\ ~Dirty(p) /\ Leaves(p) # {newest[p]} | Page {p} counts as clean with version {newest[p]}, and after a power
    loss the store may have: {Leaves(p)}
NothingFsyncedIsLost BROKEN p \in Pages, v \in Outcomes(p) if v < synced[p] | An fsync has promised version {synced[p]} of page {p}; a restart may
    find version {v}
NothingComesBack BROKEN p \in Pages, v \in Outcomes(p) if v > synced[p] /\ v \notin allowed[p] | A restart may find version {v} of page {p}, which a
    later write had replaced before the last fsync
NothingIsForeign BROKEN p \in Pages if newest[p] = Alien | Page {p} has the contents of another store
NoLie BROKEN | An fsync has returned success, though a write-back had failed

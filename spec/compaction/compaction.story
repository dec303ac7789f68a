\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of compaction, and of what is broken: spec/tools/sentences.py has the form.

$who = {IF p \in Backends THEN "backend" ELSE IF IsPrimary THEN "VACUUM" ELSE "startup process"}
$cleaner = {IF IsPrimary THEN "VACUUM" ELSE "startup process"}

module MCcompaction
CountFirst STEP p \in Processes of CountFirst(p) | $who {p} -> page | looks who has the page pinned: {pins}. It has no lock yet
LockThen STEP p \in Processes of LockThen(p) | $who {p} -> page | takes the content lock in exclusive mode, relies on what it saw before, and begins
    to compact. Pinned by now: {pins}. It makes the line pointers of dead tuples unused: {dead}
UnpinAndGoOn STEP b \in Backends | backend {b} -> page | unpins the page, and goes on to read its tuple

module compaction
INNER pc, plan, cells, pointer, seen
CompactionStep STEP p \in Processes if Head(plan).do = "copy" /\ cells[Head(plan).to] # Hole | $who {p} -> page | copies a byte of tuple
    {cells[Head(plan).from][1]} from cell {Head(plan).from} to cell {Head(plan).to}, over a byte of tuple {cells[Head(plan).to][1]}
CompactionStep STEP p \in Processes if Head(plan).do = "copy" | $who {p} -> page | copies a byte of tuple {cells[Head(plan).from][1]} from cell
    {Head(plan).from} to cell {Head(plan).to}, which was never used
CompactionStep STEP p \in Processes if Head(plan).do = "lp" | $who {p} -> page | sets line pointer {Head(plan).item}: its tuple begins at cell
    {Head(plan).to} now
CompactionStep STEP p \in Processes | $who {p} -> page | sets pd_upper to {Head(plan).to}: the cells below are free
EndCompaction STEP p \in Processes | $who {p} -> page | has compacted the page, and lets the content lock go
Pin STEP b \in Backends of Pin(b) | backend {b} -> page | pins the page; that needs no lock
Pin STEP c \in Cleaners of Pin(c) | $cleaner {c} -> page | pins the page, to remove the dead tuples {dead}
Wake STEP p \in Processes if signals' # signals | $who {p} -> $cleaner {waiter} | sees that only the waiter's pin is left, takes its flag from the
    page, and wakes it
Wake STEP p \in Processes if waiter # None | $who {p} | looks who has the page pinned: {pins}. It does not wake the waiter {waiter}
Wake STEP p \in Processes | $who {p} | sees that nobody waits any more
TryPrune STEP b \in Backends if exclusive' = b | backend {b} -> page | wants to remove the dead tuples {dead}, and has the content lock in exclusive
    mode at once
TryPrune STEP b \in Backends | backend {b} -> page | wants to remove the dead tuples {dead}; others have the content lock, so it goes on without
CountToPrune STEP b \in Backends if pc'[b] = "compacting" | backend {b} -> page | looks who has the page pinned: {pins}. It begins to compact, and {IF
    \E i \in dead : lp'[i].off = 0 THEN "makes the line pointers of dead tuples unused" ELSE "keeps the line pointers of dead tuples"}: {dead}
CountToPrune STEP b \in Backends | backend {b} -> page | looks who has the page pinned: {pins}. It may not compact, and lets the content lock go
TakeShared STEP b \in Backends if shared' # shared | backend {b} -> page | takes the content lock in shared mode
TakeShared STEP b \in Backends | backend {b} -> page | begins to look at the page, without the content lock
LookUp STEP b \in Backends if pointer'[b] # NoPointer | backend {b} -> page | looks up line pointer {pointer'[b].item}, keeps a pointer to its tuple
    at cell {pointer'[b].off}, and lets the content lock go. The pin must protect the tuple from here on
LookUp STEP b \in Backends | backend {b} -> page | finds no tuple, and lets the content lock go
ReadByte STEP b \in Backends if seen'[b][Len(seen'[b])] = Byte(pointer[b].item, pointer[b].version, Len(seen'[b])) | backend {b} -> page | reads cell
    {pointer[b].off + Len(seen[b])} through its pointer: byte {Len(seen'[b])} of its tuple {pointer[b].item}
ReadByte STEP b \in Backends if cells[pointer[b].off + Len(seen[b])] = Hole | backend {b} -> page | reads cell {pointer[b].off + Len(seen[b])} through
    its pointer: there is nothing of its tuple {pointer[b].item}
ReadByte STEP b \in Backends | backend {b} -> page | reads cell {pointer[b].off + Len(seen[b])} through its pointer to tuple {pointer[b].item}; but
    there is by now byte {cells[pointer[b].off + Len(seen[b])][3]} of {IF cells[pointer[b].off + Len(seen[b])][1] # pointer[b].item THEN "tuple" ELSE
    IF cells[pointer[b].off + Len(seen[b])][2] # pointer[b].version THEN "a newer tuple under line pointer" ELSE "tuple"} {cells[pointer[b].off +
    Len(seen[b])][1]}
LookFurther STEP b \in Backends | backend {b} | is done with tuple {pointer[b].item}, and goes on to the next one under the same pin
Unpin STEP b \in Backends | backend {b} -> page | is done with tuple {pointer[b].item}, and unpins the page
Leave STEP b \in Backends | backend {b} -> page | unpins the page
GiveWay STEP b \in Backends | backend {b} -> page | was cancelled by recovery: it stops to read, and unpins the page
TakeToInsert STEP b \in Backends | backend {b} -> page | takes the content lock in exclusive mode, to insert a tuple
Insert STEP b \in Backends, i \in Items if lp'[i] # lp[i] | backend {b} -> page | inserts a tuple under line pointer {i}, from cell {lp'[i].off} on,
    and lets the content lock go
TakeExclusive STEP c \in Cleaners | $cleaner {c} -> page | takes the content lock in exclusive mode
CountToClean STEP c \in Cleaners if pc'[c] = "compacting" | $cleaner {c} -> page | looks who has the page pinned: {pins}. It begins to compact, and
    {IF \E i \in dead : lp'[i].off = 0 THEN "makes the line pointers of dead tuples unused" ELSE "keeps the line pointers of dead tuples"}: {dead}
CountToClean STEP c \in Cleaners if waiter' = c | $cleaner {c} -> page | looks who has the page pinned: {pins}. It must wait, and sets its flag on the
    page, so that the last of them wakes it
CountToClean STEP c \in Cleaners | $cleaner {c} -> page | looks who has the page pinned: {pins}. It would have to wait, but the flag of {waiter} is
    there: it gets an error, and lets the content lock go
FallAsleep STEP c \in Cleaners | $cleaner {c} -> page | lets the content lock go, and falls asleep
BeWoken STEP c \in Cleaners | $cleaner {c} | wakes up: its latch was set
WakeForNothing STEP c \in Cleaners | $cleaner {c} | wakes up for another reason
LosePatience STEP c \in Cleaners | $cleaner {c} | has waited too long, and cancels the backends that have the page pinned: {pins \cap Backends}
Retry STEP c \in Cleaners if waiter = c /\ waiter' = None | $cleaner {c} -> page | takes its flag from the page, and will try again
Retry STEP c \in Cleaners if waiter # waiter' | $cleaner {c} -> page | takes the flag of {waiter} from the page, and will try again
Retry STEP c \in Cleaners if waiter = c | $cleaner {c} | will try again; its flag stays on the page
Retry STEP c \in Cleaners | $cleaner {c} | will try again; its flag was taken from the page by who woke it
UnpinCleaned STEP c \in Cleaners | $cleaner {c} -> page | unpins the page that it has compacted
Die STEP i \in Items | other transactions | need tuple {i} no more: it is dead from now on
NOTE | The page has room for the bytes of tuples: cells 1 to {Room}. A tuple has the number of its line pointer
NOTE i \in AtFirst if Lengths[i] = 1 | Tuple {i} lies in cell {lp[i].off}
NOTE i \in AtFirst if Lengths[i] > 1 | Tuple {i} lies in the cells {lp[i].off} to {lp[i].off + Lengths[i] - 1}
NOTE if Items # AtFirst | These line pointers are unused: {Items \ AtFirst}
NOTE if \E a, b \in Backends : a # b /\ SessionOf[a] = SessionOf[b] | The backends are cursors of one session
TypeOK BROKEN if upper \notin 1..(Room + 1) | pd_upper is {upper}; the cells are 1 to {Room}
NoWrongBytes BROKEN b \in Backends, k \in 1..Len(seen[b]) if seen[b][k] # Byte(pointer[b].item, pointer[b].version, k) /\ seen[b][k] # Hole | Backend
    {b} took byte {seen[b][k][3]} of {IF seen[b][k][1] = pointer[b].item /\ seen[b][k][2] # pointer[b].version THEN "a newer tuple under line pointer"
    ELSE "tuple"} {seen[b][k][1]} for byte {k} of its tuple {pointer[b].item}
NoWrongBytes BROKEN b \in Backends, k \in 1..Len(seen[b]) if seen[b][k] = Hole | Backend {b} took what was never written for byte {k} of its tuple
    {pointer[b].item}
PointersHold BROKEN b \in Backends if pointer[b] # NoPointer /\ ~Holds(pointer[b].item, pointer[b].version, pointer[b].off) | Backend {b} still has a
    pointer to tuple {pointer[b].item} at cell {pointer[b].off}, where it is no more
LocksExclude BROKEN | {exclusive} has the content lock in exclusive mode, and {shared} in shared mode
LocksAreHeld BROKEN b \in Backends if pc[b] = "looking" /\ b \notin shared | Backend {b} looks at the page without the content lock
UsersHavePins BROKEN b \in Backends if pointer[b] # NoPointer /\ b \notin pins | Backend {b} has a pointer into the page, and no pin on it
CompactsAlone BROKEN p \in Processes, b \in Backends if pc[p] = "compacting" /\ b # p /\ pointer[b] # NoPointer | {p} compacts the page, while backend
    {b} has a pointer to tuple {pointer[b].item}
PageIsSound BROKEN i \in InUse if lp[i].off < upper | Tuple {i} begins at cell {lp[i].off}, below pd_upper, {upper}
PageIsSound BROKEN i \in InUse if ~Holds(i, lp[i].version, lp[i].off) | The bytes of tuple {i} are no more where its line pointer says, at cell
    {lp[i].off}
PageIsSound BROKEN if plan # <<>> | Nobody has the page locked, though tuples are still to be moved
Compacted BROKEN if dead # {} | The page was compacted, and these dead tuples are still there: {dead}
Compacted BROKEN if upper # Room + 1 - SumOf(InUse) | The page was compacted: pd_upper should be {Room + 1 - SumOf(InUse)}, and is {upper}
DeadAreInUse BROKEN i \in dead \ InUse | Line pointer {i} counts as dead, and has no tuple
DeadAreRemoved BROKEN i \in dead \ dead' if lp'[i].off # 0 | Tuple {i} was dead, and is visible again
InsertsAreNew BROKEN i \in Items \ InUse if lp'[i].off # 0 /\ lp'[i].version = lp[i].version | The new tuple of line pointer {i} cannot be distinguished from
    the one that was there before
TuplesStay BROKEN i \in InUse if lp'[i].off # 0 /\ lp'[i].version # lp[i].version | Another tuple has taken line pointer {i}, which was in use
TuplesStay BROKEN i \in InUse \ dead if lp'[i].off = 0 | Tuple {i} is gone, and was not dead
WaiterWaits BROKEN | The page has the flag of {waiter}, who does not wait
SleepersAreKnown BROKEN c \in Cleaners if pc[c] \in {"flagged", "asleep"} /\ waiter # c /\ c \notin signals | {c} sleeps; its flag is not on the page,
    so that nobody will wake it
ConflictsHavePins BROKEN b \in conflicts \ pins | Backend {b} was cancelled, and has no pin any more
OneWaiter BROKEN c \in Cleaners if pc[c] = "error" | {c} got the error
CleanupComes BROKEN c \in Cleaners if pc[c] \notin {"idle", "cleaned", "unpinned"} | {c} waits, and never gets the cleanup lock
CleanupComesInACrowd BROKEN c \in Cleaners if pc[c] \notin {"idle", "cleaned", "unpinned"} | {c} waits, and never gets the cleanup lock

module image
INNER pc
PinToRead STEP r \in Readers if memory = Absent | query {r} -> page | pins the page, which is not in memory: it is read from the disk
PinToRead STEP r \in Readers | query {r} -> page | pins the page, which is in memory
LockToRead STEP r \in Readers | query {r} -> page | takes the content lock in shared mode
Look STEP r \in Readers if memory = Zeroes | query {r} -> page | reads the page: it is full of zeroes
Look STEP r \in Readers | query {r} -> page | reads the page: it has the rows up to image {memory}
Leave STEP r \in Readers | query {r} -> page | lets the lock go, and unpins the page
PinToRestore STEP if memory' # memory /\ exclusive' | startup process -> page | needs the page for the next image. It is not in memory, and not read:
    the startup process makes it full of zeroes, pinned and locked at once
PinToRestore STEP if memory' # memory | startup process -> page | needs the page for the next image. It is not in memory, and not read: the startup
    process makes it full of zeroes, and pins it; it has no lock yet
PinToRestore STEP | startup process -> page | pins the page, for the next image
LockToRestore STEP | startup process -> page | takes the content lock in exclusive mode
Restore STEP | startup process -> page | writes image {image'} over the page, lets the lock go, and unpins it
Evict STEP | server -> page | needs the buffer for another page: it writes this one to the disk, and it leaves the memory
NOTE | The standby replays {Images} images of one page: each has the rows of those before, and more. In memory, {Zeroes} is a page full of zeroes, and
    {Absent} is no page
PinnedStays BROKEN if pins # {} /\ memory = Absent | The page is pinned by {pins}, and has left the memory
LocksExclude BROKEN if exclusive /\ shared # {} | The startup process has the lock alone, and {shared} share it
RowsAreFound BROKEN r \in Readers if found[r] # Nothing /\ found[r] < began[r] /\ found[r] = Zeroes | Query {r} found a page full of zeroes. All rows
    up to image {began[r]} were there before it came
RowsAreFound BROKEN r \in Readers if found[r] # Nothing /\ found[r] < began[r] /\ found[r] # Zeroes | Query {r} found the rows up to image {found[r]}
    only. All up to image {began[r]} were there before it came
ImagesStay BROKEN | Image {image} was replayed, and is neither in memory nor on disk

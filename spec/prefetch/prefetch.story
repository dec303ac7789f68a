\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of prefetch, and of what is broken: spec/tools/sentences.py has the form.

module AsyncRecovery
INNER reads, pins, flying, arrived, replayed
Submit STEP n \in (replayed + 1)..Len(wal), page \in Old(n), b \in Buffers if store' # store | startup process -> kernel | starts to read block
    {page[2]} of relation {page[1]} into buffer {b}, for record {n}. In flight by now: {flying'}, of at most {concurrency}. Before, it writes what the
    buffer had to its file: block {pool[b].page[2]} of relation {pool[b].page[1]}
Submit STEP n \in (replayed + 1)..Len(wal), page \in Old(n), b \in Buffers if pool[b].dirty | startup process -> kernel | starts to read block
    {page[2]} of relation {page[1]} into buffer {b}, for record {n}. In flight by now: {flying'}, of at most {concurrency}. The buffer had block
    {pool[b].page[2]} of relation {pool[b].page[1]}, changed and not written
Submit STEP n \in (replayed + 1)..Len(wal), page \in Old(n), b \in Buffers | startup process -> kernel | starts to read block {page[2]} of relation
    {page[1]} into buffer {b}, for record {n}. In flight by now: {flying'}, of at most {concurrency}
Join STEP n \in (replayed + 1)..Len(wal), page \in Old(n), b \in Buffers, read \in reads | startup process -> kernel | adds block {page[2]} of
    relation {page[1]} to the read of the block before it, into buffer {b}, for record {n}. In flight by now: {flying'}, of at most {concurrency}
Pin STEP n \in (replayed + 1)..Len(wal), page \in Old(n), b \in Buffers | startup process | pins block {page[2]} of relation {page[1]} for record {n}:
    it is in buffer {b}, or on its way there
Claim STEP page \in Pages, b \in Buffers if store' # store | startup process | takes buffer {b} for block {page[2]} of relation {page[1]}, which
    record {replayed + 1} writes anew. Before, it writes what the buffer had to its file: block {pool[b].page[2]} of relation {pool[b].page[1]}
Claim STEP page \in Pages, b \in Buffers | startup process | takes buffer {b} for block {page[2]} of relation {page[1]}, which record {replayed + 1}
    writes anew
Give STEP first \in reads if Cardinality(PartsOf(first)) = 1 | startup process -> kernel | gives the kernel a read of block {first.page[2]} of
    relation {first.page[1]}
Give STEP first \in reads | startup process -> kernel | gives the kernel a read of {Cardinality(PartsOf(first))} blocks, from block {first.page[2]} of
    relation {first.page[1]} on
Fetch STEP read \in reads, page \in {After(read.from, read.place)} if page \in Pages /\ store.content[page] # <<>> | kernel -> files | takes block
    {page[2]} of relation {page[1]} from its file: it has the changes of the records {store.content[page]}
Fetch STEP read \in reads, page \in {After(read.from, read.place)} | kernel -> files | takes block {page[2]} of relation {page[1]} from its file, as
    it was at the start
End STEP first \in reads, whole \in 0..Combine if whole = Cardinality(PartsOf(first)) /\ whole = 1 of End(first, whole) | kernel -> startup process |
    says that block {first.page[2]} of relation {first.page[1]} is in buffer {first.buffer}
End STEP first \in reads, whole \in 0..Combine if whole = Cardinality(PartsOf(first)) of End(first, whole) | kernel -> startup process | says that the
    {whole} blocks from block {first.page[2]} of relation {first.page[1]} on are in their buffers
End STEP first \in reads, whole \in 0..Combine if whole = 0 of End(first, whole) | kernel -> startup process | says that the read of block
    {first.page[2]} of relation {first.page[1]} has failed
End STEP first \in reads, whole \in 0..Combine of End(first, whole) | kernel -> startup process | says that only {whole} of the
    {Cardinality(PartsOf(first))} blocks from block {first.page[2]} of relation {first.page[1]} on were read
Replayed STEP if wal[replayed'].effect = "create" | startup process -> pages | replays record {replayed'}, which creates relation
    {wal[replayed'].relations}
Replayed STEP if wal[replayed'].effect = "truncate" | startup process -> pages | replays record {replayed'}, which cuts relation
    {wal[replayed'].relations} to {wal[replayed'].to} blocks
Replayed STEP if wal[replayed'].effect = "drop" | startup process -> pages | replays record {replayed'}, which drops relation
    {wal[replayed'].relations}
Replayed STEP | startup process -> pages | replays record {replayed'}, which has the blocks {[i \in DOMAIN wal[replayed'].refs |->
    wal[replayed'].refs[i].page]}
Arrive STEP | WAL receiver -> WAL | receives record {arrived'}
Reconfigure STEP | administrator -> startup process | sets maintenance_io_concurrency from {concurrency} to {concurrency'}. {Cardinality(reads)} reads
    are in flight; {flying'} are counted
NOTE | maintenance_io_concurrency is {concurrency}: so many blocks may be read at once. The WAL has {Len(wal)} records
NOTE | A block is written as (relation, number). Its content are the records that have changed it; store is the files
NOTE r \in Relations if store.size[r] >= 0 | Blocks of relation {r}: {store.size[r]}
NOTE r \in Relations if store.size[r] < 0 | Relation {r} does not exist
AtMostN BROKEN | {Cardinality(reads)} blocks are read at once, and {concurrency} may be
StartsWithinN BROKEN | A read starts, so that {Cardinality(reads')} blocks are read at once; {concurrency'} may be
CounterCounts BROKEN | {Cardinality(reads)} blocks are being read, and {flying} are counted
ReadsOwnBuffers BROKEN read \in reads if pool[read.buffer].state # "reading" \/ pool[read.buffer].page # read.page | Block {read.page[2]} of relation
    {read.page[1]} is being read into buffer {read.buffer}, which is in use for something else by now
ReadsTogether BROKEN read \in reads if read.place >= Combine | A read of the kernel's has {read.place + 1} blocks, and {Combine} may be
ReadsTogether BROKEN read \in reads if read.page # After(read.from, read.place) | Block {read.page[2]} of relation {read.page[1]} is wanted in buffer
    {read.buffer}; the kernel will read block {After(read.from, read.place)[2]}
ReadsTogether BROKEN read \in reads if ~IsInto(read, read.buffer) | Block {read.page[2]} of relation {read.page[1]} is wanted in buffer {read.buffer};
    the kernel will write another one
OneBuffer BROKEN b \in Buffers, c \in Buffers if Row[b] < Row[c] /\ pool[b].page = pool[c].page /\ pool[b].page # NoPage | Block {pool[b].page[2]} of
    relation {pool[b].page[1]} is in two buffers, {b} and {c}
PinsHold BROKEN pin \in pins if pin[1] <= replayed | Block {pin[3][2]} of relation {pin[3][1]} is still pinned for record {pin[1]}, which is replayed
PinsHold BROKEN pin \in pins if pool[pin[2]].page # pin[3] | Record {pin[1]} needs block {pin[3][2]} of relation {pin[3][1]}, pinned in buffer
    {pin[2]}; that buffer has something else by now
PinsStay BROKEN pin \in pins \ pins' if pin[1] > replayed' /\ pool'[pin[2]].page = pin[3] | Record {pin[1]} needs block {pin[3][2]} of relation
    {pin[3][1]} in buffer {pin[2]}, which is pinned no more
OnlyArrived BROKEN pin \in pins if pin[1] > arrived | A block is pinned for record {pin[1]}, and only {arrived} have arrived
SameGeneration BROKEN b \in Buffers if pool[b].state = "ready" /\ ~Exists(store, pool[b].page) | Buffer {b} has block {pool[b].page[2]} of relation
    {pool[b].page[1]}, which is gone
SameGeneration BROKEN b \in Buffers if pool[b].state = "ready" /\ Exists(store, pool[b].page) /\ pool[b].generation # store.generation[pool[b].page] |
    Buffer {b} has block {pool[b].page[2]} of relation {pool[b].page[1]} as it was before it went and came anew
Refines BROKEN p \in Pages if replayed' = replayed /\ View.content[p] # View'.content[p] | Nothing is replayed, and block {p[2]} of relation {p[1]}
    changes: it had the changes of these records: {View.content[p]}. Now it has these: {View'.content[p]}
Refines BROKEN p \in Pages if replayed' = replayed + 1 /\ Apply(View, replayed', Itself).content[p] # View'.content[p] | After record {replayed'},
    block {p[2]} of relation {p[1]} should have been changed by these records: {Apply(View, replayed', Itself).content[p]}. It was by these:
    {View'.content[p]}
AllReplayed BROKEN | Record {replayed + 1} is never replayed

module MCRecoveryPrefetch
OthersRead STEP | another process -> pages | changes what is in the buffers: {pool'}
SetInWait STEP | administrator -> startup process | sets maintenance_io_concurrency from {concurrency} to {concurrency'}, while the startup process
    waits for WAL
NewRingAtLast STEP | startup process | makes the ring anew, since the concurrency was set. What is in flight is forgotten

module RecoveryPrefetch
INNER pc, at, recent, hand, hints, held, advised, decoded, current, arrived, replayed, begin
Complete STEP if filters' # filters | startup process | takes entries of replayed records from the ring, and forgets the filters of replayed records.
    In flight by now: {ring'.inflight}
Complete STEP if ring' # ring | startup process | takes entries of replayed records from the ring. In flight by now: {ring'.inflight}
Complete SMALL | startup process | finds nothing to take from the ring
Decode STEP if decoded' # decoded /\ ~(Enabled /\ at'.record = decoded') | startup process -> WAL | decodes record {decoded'}. Prefetching is off: its
    blocks are not looked at
Decode STEP if decoded' # decoded /\ wal[decoded'].effect = "truncate" | startup process -> WAL | decodes record {decoded'}, which cuts relation
    {wal[decoded'].relations} to {wal[decoded'].to} blocks. {IF filters' # filters THEN "A filter hides the blocks from there on" ELSE "The filter
    stays as it was"}
Decode STEP if decoded' # decoded /\ wal[decoded'].effect = "create" | startup process -> WAL | decodes record {decoded'}, which creates relation
    {wal[decoded'].relations}. {IF filters' # filters THEN "A filter hides its blocks until then" ELSE "The filter stays as it was"}
Decode STEP if decoded' # decoded /\ wal[decoded'].effect = "database" | startup process -> WAL | decodes record {decoded'}, which creates a database.
    {IF filters' # filters THEN "A filter hides its blocks until then" ELSE "The filter stays as it was"}
Decode STEP if decoded' # decoded /\ wal[decoded'].effect = "drop" | startup process -> WAL | decodes record {decoded'}, which drops relation
    {wal[decoded'].relations}
Decode STEP if decoded' # decoded /\ wal[decoded'].effect = "timeline" | startup process -> WAL | decodes record {decoded'}, which may change the
    timeline: nothing beyond it is to be decoded before it is given to replay
Decode STEP if decoded' # decoded /\ wal[decoded'].refs = <<>> | startup process -> WAL | decodes record {decoded'}, which has no blocks
Decode STEP if decoded' # decoded | startup process -> WAL | decodes record {decoded'}, to look at its blocks: {[i \in DOMAIN wal[decoded'].refs |->
    wal[decoded'].refs[i].page]}
Decode STEP if ~Blocking /\ IsSuspended | startup process | looks no further: record {suspended} must be given to replay before
Decode STEP if decoded = arrived | startup process | looks no further: there is no more WAL
Decode STEP | startup process | looks no further: there is no room for more decoded records
Judge STEP ref \in {wal[at.record].refs[at.next]} if advised' # advised | startup process -> kernel | looks at block {ref.page[2]} of relation
    {ref.page[1]}, which record {at.record} needs, and advises the kernel of it. Advised for records that are not replayed: {Cardinality(advised')},
    of at most {concurrency}
Judge STEP ref \in {wal[at.record].refs[at.next]} if Initialises(ref) | startup process | looks at block {ref.page[2]} of relation {ref.page[1]},
    which record {at.record} writes anew: it need not be read
Judge STEP ref \in {wal[at.record].refs[at.next]} if ref.how \in {"hint", "fork"} | startup process | looks at block {ref.page[2]} of relation
    {ref.page[1]} in record {at.record}, which replay does not read
Judge STEP ref \in {wal[at.record].refs[at.next]} if Filtered(ref.page) | startup process | looks at block {ref.page[2]} of relation {ref.page[1]},
    which record {at.record} needs, and skips it: a filter hides it
Judge STEP ref \in {wal[at.record].refs[at.next]} if Seen(ref.page) | startup process | looks at block {ref.page[2]} of relation {ref.page[1]}, which
    record {at.record} needs, and skips it: it has just looked at that block
Judge STEP ref \in {wal[at.record].refs[at.next]} if ~Exists(store, ref.page) | startup process | looks at block {ref.page[2]} of relation
    {ref.page[1]}, which record {at.record} needs, and finds that there is none yet. A filter hides the blocks from there on
Judge STEP ref \in {wal[at.record].refs[at.next]} | startup process | looks at block {ref.page[2]} of relation {ref.page[1]}, which record {at.record}
    needs, and finds it in a buffer; it notes that buffer as a hint
LeaveRecord STEP if at' = at | startup process | has looked at all blocks of record {at.record}. That is the first one: nothing beyond it is decoded
    before it is given to replay
LeaveRecord SMALL | startup process | has looked at all blocks of record {at.record}
LimitReached STEP if ~Enabled /\ pc = "look" | startup process | does not look ahead: prefetching is off
LimitReached STEP if ring.inflight >= Max(concurrency, 1) | startup process | looks no further: {ring.inflight} are in flight, and {concurrency} may
    be
LimitReached STEP if MayLook | startup process | looks no further
LimitReached STEP | startup process | looks no further: the ring has no free slot
Read STEP if Queued = 0 | startup process | needs the next record, and has none decoded
Read SMALL if ring' = ring | startup process | asks for the next record
Read STEP | startup process | asks for the next record, and takes entries from the ring. In flight by now: {ring'.inflight}
Give STEP if pc' = "ended" | startup process | has no more records to replay: recovery ends
Give STEP if pc' = "stopped" /\ current' = current | startup process | gets no record. So the new timeline begins where record {begin} starts
Give STEP if pc' = "stopped" | startup process | gets record {current'}. So the new timeline begins where it ends
Give SMALL | startup process | gives record {current'} to replay
ReplayCurrent STEP if wal[current].effect = "create" | startup process -> pages | replays record {current}, which creates relation
    {wal[current].relations}
ReplayCurrent STEP if wal[current].effect = "truncate" | startup process -> pages | replays record {current}, which cuts relation
    {wal[current].relations} to {wal[current].to} blocks
ReplayCurrent STEP if wal[current].effect = "database" | startup process -> pages | replays record {current}, which creates a database
ReplayCurrent STEP if wal[current].effect = "drop" | startup process -> pages | replays record {current}, which drops relation
    {wal[current].relations}
ReplayCurrent STEP if wal[current].refs = <<>> | startup process -> pages | replays record {current}, which changes no block
ReplayCurrent STEP | startup process -> pages | replays record {current}, which has the blocks {[i \in DOMAIN wal[current].refs |->
    wal[current].refs[i].page]}
Reconfigure STEP | administrator -> startup process | sets maintenance_io_concurrency from {concurrency} to {concurrency'}. The ring is made anew, and
    what is in flight is forgotten
BeginRead STEP if begin' = replayed | startup process | stops here, and reads record {begin'} once more: where it ends, the new timeline begins. What
    is decoded is forgotten{IF at'.record > 0 THEN ", but not that it was looking at record " \o ToString(at.record) ELSE ""}
BeginRead STEP | startup process | begins to read anew, at record {begin'}: what is decoded is forgotten{IF ring'.inflight + ring'.completed = 0 THEN
    ", and what is in the ring" ELSE ". The ring stays as it is"}
Arrive STEP | WAL receiver -> WAL | receives record {arrived'}
NOTE | maintenance_io_concurrency is {concurrency}: for records that are not replayed, so many blocks may be advised at most. The WAL has {Len(wal)}
    records
NOTE | A block is written as (relation, number). Of a block, content has the records that have changed it
NOTE r \in Relations if store.size[r] >= 0 | Blocks of relation {r}: {store.size[r]}
NOTE r \in Relations if store.size[r] < 0 | Relation {r} does not exist
NeverOverflows BROKEN | The ring should have {Len(held)} entries between tail and head, and has {Used}, or others
CountersCount BROKEN | The ring has {Cardinality({k \in 1..Len(held) : held[k].io})} entries with an I/O and {Cardinality({k \in 1..Len(held) :
    ~held[k].io})} without; its counters say {ring.inflight} and {ring.completed}
AtMostN BROKEN | {Cardinality(advised)} blocks are advised for records that are not replayed, and {concurrency} may be
OffIsOff BROKEN if at.record # 0 | Prefetching is off, and the blocks of record {at.record} are looked at
SameGeneration BROKEN g \in advised if store.generation[g.page] # g.generation | Block {g.page[2]} of relation {g.page[1]} was advised for record
    {g.record}; meanwhile it went, or came anew
EmptyQueueEmptyRing BROKEN | No record is decoded, and the ring has {Len(held)} entries
FirstAlone BROKEN | Records up to {decoded} are decoded. The first one, {begin}, is not given to replay yet
TypeOK BROKEN if current > decoded | Record {current} is replayed, and only {decoded} are decoded
GoesOn BROKEN | The startup process looks at record {at.record}; record {current} was given to replay, and {decoded} are decoded
RoomIsKept BROKEN | {Queued} records are decoded and not given to replay; there is room for {Max(Room, 1)}
StopsAtTimeline BROKEN n \in current + 1..decoded if wal[n].effect = "timeline" /\ n # decoded | Record {n} may change the timeline, and record
    {decoded}, beyond it, is decoded before it is given to replay
WaitsWhileSuspended BROKEN | Look-ahead is suspended until record {suspended} is given to replay, and {decoded} records are decoded
FiltersExpire BROKEN key \in Keys if filters[key].until \in 1..Replaying | A filter hides blocks until record {filters[key].until} is replayed. It is,
    and the filter stays
LooksAhead BROKEN | {ring.inflight} are in flight, and {concurrency} may be. Nothing hinders the startup process from looking beyond record {decoded},
    and record {current + 1} is about to be given to replay
NothingRemovedIsAdvised BROKEN g \in advised, n \in current + 1..g.record - 1 if Removes(n, g.page) | Block {g.page[2]} of relation {g.page[1]} is
    advised for record {g.record}; record {n} removes it before
BuffersHoldPages BROKEN b \in 1..Buffers if pool[b] # NoPage /\ ~Exists(store, pool[b]) | Buffer {b} has block {pool[b][2]} of relation {pool[b][1]},
    which is gone
NeverEndsEarly BROKEN | Recovery has ended after {replayed} of {Len(wal)} records
NewTimelineFollows BROKEN | Record {replayed} is replayed. The new timeline begins where it starts: who follows that timeline never replays it
Refines BROKEN p \in Pages if replayed' # replayed /\ replayed' <= Len(wal) /\ Apply(store, replayed', Itself).content[p] # store'.content[p] | After
    record {replayed'}, block {p[2]} of relation {p[1]} should have been changed by these records: {Apply(store, replayed', Itself).content[p]}. It
    was by these: {store'.content[p]}
AllReplayed BROKEN | Record {replayed + 1} is never replayed

module TraceRecoveryPrefetch
INNER which, done, gone, pool
VIA FollowJudge, FollowReplay, FollowChange, FollowArrival, Unseen, Step
FollowEviction STEP | startup process | takes it that these blocks have left their buffers, because the trace reads or advises them again: {Gone}
TraceSpec BROKEN if done < Len(Events) | The trace goes on with event {done + 1}, which fits no step: {Event}

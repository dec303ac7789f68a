\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE RecoveryPrefetch --------------------------
(***************************************************************************)
(* Recovery prefetching.  Before each record the startup process looks     *)
(* ahead at the blocks of coming records, and advises the kernel of those  *)
(* that are in no buffer.  A ring bounds how many advises stand in records *)
(* not replayed yet.                                                       *)
(* Upstream: src/backend/access/transam/xlogprefetcher.c, lrq_prefetch,    *)
(* lrq_complete_lsn, XLogPrefetcherNextBlock, XLogPrefetcherReadRecord,    *)
(* XLogPrefetcherBeginRead; src/backend/access/transam/xlogrecovery.c,     *)
(* FinishWalRecovery; src/backend/storage/buffer/bufmgr.c,                 *)
(* PrefetchSharedBuffer. As of 15.                                         *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - The ring, slot by slot; filters; the repeat window; WAL that        *)
(*     arrives late; room for a few decoded records; the first record.     *)
(*   - Buffers, too few for all pages: a hint may be wrong when it is used.*)
(*   - Relations that do not exist, grow, are truncated and created anew.  *)
(*   - A change of the concurrency, which throws the ring away; and 0,     *)
(*     which switches prefetching off; reading that begins anew.           *)
(* What is simplified                                                      *)
(*   - Advises have no effect: what the kernel does with them is its own.  *)
(*                                                                         *)
(* Departures from upstream: what differs; the run that does as upstream   *)
(* does (of MCRecoveryPrefetch), or why there is none; what came of it.    *)
(*   - Reading that begins anew forgets the record that was looked at.     *)
(*     bug_begin_read, bug_begin_read_ring: where recovery stops, its last *)
(*     record may not be found again.  A finding.                          *)
(*   - The concurrency is set between records.  Upstream's can also be set *)
(*     while it waits for WAL.  small_wait: replay and ring stay right.    *)
(*     bug_set_in_wait, bug_set_in_wait_filters: if it is set to 0 there,  *)
(*     what is decoded next is not looked at, and neither a change of the  *)
(*     timeline nor what a record removes is noted.  A small finding.      *)
(*   - What is created is empty.  small_left_over: holds.                  *)
(*   - Replay alone uses the buffers.  small_others: holds.                *)
(*   - Record n starts at LSN n and ends at n + 1.  No run: an LSN of the  *)
(*     ring is a start, and no record starts within another one.           *)
(*   - Filters leave when their record is replayed.  Upstream drops them   *)
(*     from the oldest on, up to the first that stays.  No run: LSNs only  *)
(*     grow.  Where reading goes back some stay longer: ref/prefetch.py.   *)
(*   - What a record removes is noted once; by upstream at each look at    *)
(*     the record.  No run: such records have no blocks to look at.        *)
(*   - Reading may begin anew after any record.  Upstream reads the last   *)
(*     one again where it stops, and at the start the checkpoint before    *)
(*     it goes back.  No run: the checkpoint has no blocks, and nothing    *)
(*     beyond it is decoded.                                               *)
(*   - Room is counted in records, and the WAL has no errors.  No run:     *)
(*     both end look-ahead as the end of the WAL does.                     *)
(*   - A database that is copied has empty relations.  No run: until then  *)
(*     its blocks are hidden, and later the store decides.                 *)
(*   - All relations are of one database and one tablespace.  No run:      *)
(*     TraceRecoveryPrefetch follows logs with several.                    *)
(*   - There is no debug_io_direct, no file that vanishes, and no column   *)
(*     of distances.  No run: ref/prefetch.py and C have them, the proof   *)
(*     has direct I/O.                                                     *)
(* Tried, and taken over: since reading began no record was given out, so  *)
(* look-ahead is suspended (IsSuspended).  Upstream's rule for the first   *)
(* record (IsFirst) does nothing more, see mutant_first.                   *)
(*                                                                         *)
(* How to break it: the mutants of MCRecoveryPrefetch.                     *)
(***************************************************************************)
EXTENDS SequentialReplay, FiniteSets

CONSTANTS
    Concurrencies,  \* values of maintenance_io_concurrency
    MayChange,      \* it is changed while recovery runs
    Multiplier,     \* XLOGPREFETCHER_DISTANCE_MULTIPLIER
    Window,         \* XLOGPREFETCHER_SEQ_WINDOW_SIZE
    Buffers,        \* how many buffers there are
    Room,           \* how many records may be decoded and not given out
    MayBeLate,      \* WAL arrives record by record, when it likes
    NoPage

VARIABLES
    pc,         \* where the startup process is
    arrived,    \* how many records have arrived
    decoded,    \* how many have been decoded
    current,    \* the last one given to replay
    at,         \* what is looked at: a record, 0 if none, and the next of its references
    suspended,  \* no_readahead_until
    concurrency,
    begin,      \* where reading began: this record is replayed before anything beyond it is looked at
    ring,       \* slots of what was looked at, from tail to head: of which record (lsn), and whether advised (io)
    filters,    \* of a relation or a database: its blocks from one on are hidden until a record is replayed (0: none)
    recent,     \* the repeat window
    pool,       \* the page in each buffer
    hand,       \* the next buffer to be reused
    hints,      \* the buffers in which pages were found: <<record, page, buffer>>
    held,       \* ghost: the entries that ought to lie between tail and head
    advised     \* ghost G: advised, and the record is not replayed yet

looking == <<at, decoded, suspended, filters, recent, hints>>
queues  == <<ring, held>>
buffers == <<pool, hand>>
allvars == <<vars, pc, arrived, current, concurrency, begin, looking, queues, buffers, advised>>

(* What a filter is for: a relation, or a database. *)
DatabaseOf(relation) == "database"
Keys == Relations \cup {DatabaseOf(r) : r \in Relations}

Entry(lsn, io) == [lsn |-> lsn, io |-> io]
NewRing(n) ==
    LET distance == IF n = 0 THEN 1 ELSE Multiplier * n
    IN [slots |-> [i \in 0..distance |-> Entry(0, FALSE)], head |-> 0, tail |-> 0, size |-> distance + 1,
        inflight |-> 0, completed |-> 0]
Enabled == concurrency > 0
Following(i) == IF i + 1 = ring.size THEN 0 ELSE i + 1

StartPrefetch ==
    /\ Init
    /\ pc = "complete"
    /\ arrived = IF MayBeLate THEN 0 ELSE Len(wal)
    /\ decoded = 0
    /\ current = 0
    /\ at = [record |-> 0, next |-> 1]
    /\ suspended = 0
    /\ concurrency \in Concurrencies
    /\ begin = 1
    /\ ring = NewRing(concurrency)
    /\ filters = [key \in Keys |-> [until |-> 0, from |-> 0]]
    /\ recent = <<>>
    /\ pool = [b \in 1..Buffers |-> NoPage]
    /\ hand = 1
    /\ hints = {}
    /\ held = <<>>
    /\ advised = {}

Goto(label) == pc' = label

-----------------------------------------------------------------------------
(* The ring *)

HasSlot == ring.inflight + ring.completed < ring.size - 1
MayLook == (Enabled \/ pc = "look_again") /\ ring.inflight < Max(concurrency, 1) /\ HasSlot

Push(lsn, io) ==
    /\ ring' = [ring EXCEPT !.slots[ring.head] = Entry(lsn, io), !.head = Following(ring.head),
                            !.inflight = IF io THEN @ + 1 ELSE @, !.completed = IF io THEN @ ELSE @ + 1]
    /\ held' = Append(held, Entry(lsn, io))

IsOver(lsn, upto) == lsn < upto

RECURSIVE Completed(_, _)
Completed(r, upto) ==
    IF r.tail = r.head \/ ~IsOver(r.slots[r.tail].lsn, upto) THEN r
    ELSE LET io == r.slots[r.tail].io
         IN Completed([r EXCEPT !.tail = IF @ + 1 = r.size THEN 0 ELSE @ + 1,
                                !.inflight = IF io THEN @ - 1 ELSE @, !.completed = IF io THEN @ ELSE @ - 1], upto)

(* The record that was given out last, since reading began: ReadRecPtr. *)
Replaying == IF current < begin THEN 0 ELSE current
IsReplayed(until) == until <= Replaying

(* Lose what has been replayed: entries and filters. *)
CompleteRing ==
    /\ ring' = Completed(ring, Replaying + 1)
    /\ held' = SubSeq(held, Len(held) - (ring'.inflight + ring'.completed) + 1, Len(held))
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, at, decoded, suspended, recent, hints, buffers, advised>>
    /\ filters' = [key \in Keys |-> IF IsReplayed(filters[key].until) THEN [until |-> 0, from |-> 0] ELSE filters[key]]

Complete == pc = "complete" /\ CompleteRing /\ Goto("look")

-----------------------------------------------------------------------------
(* Look-ahead *)

Queued   == decoded - current
Blocking == Queued = 0
Filtered(page) ==
    \E key \in {page[1], DatabaseOf(page[1])} : filters[key].until # 0 /\ filters[key].from <= page[2]
AddFilter(keys, from, lsn) ==
    filters' = [key \in Keys |->
                  IF key \notin keys THEN filters[key]
                  ELSE [until |-> lsn, from |-> IF filters[key].until = 0 THEN from ELSE Min(from, filters[key].from)]]
Seen(page) == \E i \in 1..Len(recent) : recent[i] = page
Remember(page) ==
    recent' = LET all == Append(recent, page) IN SubSeq(all, Max(1, Len(all) - Window + 1), Len(all))

(* The look-ahead ends for now: AGAIN. *)
StopLooking == Goto(IF pc = "look" THEN "read" ELSE "give")

(* What a record creates or truncates does not exist before; what may      *)
(* change the timeline suspends look-ahead.                                *)
NoteEffect(n) ==
    LET record == wal[n] IN
    /\ IF record.effect = "create" THEN AddFilter(record.relations, 0, n)
       ELSE IF record.effect = "database" THEN AddFilter({DatabaseOf(r) : r \in record.relations}, 0, n)
       ELSE IF record.effect = "truncate" THEN AddFilter(record.relations, record.to, n)
       ELSE UNCHANGED filters
    /\ suspended' = IF record.effect = "timeline" THEN n ELSE suspended

IsSuspended == Replaying <= suspended
HasRoom == Queued < Room

(* Decode one more record, if there is one, or wait for it, if none is     *)
(* queued.  If prefetching is off, that is all: an entry stands for it.    *)
Decode ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record = 0
    /\ IF ~Blocking /\ IsSuspended
       THEN StopLooking /\ UNCHANGED <<at, decoded, suspended, filters, queues>>
       ELSE IF decoded < arrived /\ (Blocking \/ HasRoom)
       THEN LET n == decoded + 1 IN
            /\ decoded' = n
            /\ IF Enabled THEN NoteEffect(n) /\ at' = [record |-> n, next |-> 1] /\ UNCHANGED queues
               ELSE Push(0, FALSE) /\ UNCHANGED <<at, filters, suspended>>
            /\ UNCHANGED pc
       ELSE /\ Blocking => decoded = Len(wal)
            /\ suspended' = IF Blocking THEN suspended ELSE decoded
            /\ StopLooking
            /\ UNCHANGED <<at, decoded, filters, queues>>
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, recent, hints, buffers, advised>>

Found(page) == {b \in 1..Buffers : pool[b] = page}

(* What becomes of a block reference. *)
Judge ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record # 0 /\ at.next <= Len(wal[at.record].refs)
    /\ LET ref      == wal[at.record].refs[at.next]
           page     == ref.page
           skip     == Initialises(ref) \/ ref.how = "fork" \/ Filtered(page) \/ Seen(page)
           missing  == page[2] >= store.size[page[1]]
           found    == Found(page)
           io       == ~skip /\ ~missing /\ found = {}
       IN /\ Push(at.record, io)
          /\ IF skip THEN UNCHANGED recent ELSE Remember(page)
          /\ IF ~skip /\ missing THEN AddFilter({page[1]}, IF store.size[page[1]] < 0 THEN 0 ELSE page[2], at.record)
             ELSE UNCHANGED filters
          /\ hints' = IF skip \/ missing THEN hints ELSE hints \cup {<<at.record, page, b>> : b \in found}
          /\ advised' = IF io THEN advised \cup {[record |-> at.record, ref |-> at.next, page |-> page,
                                                  generation |-> store.generation[page]]}
                        ELSE advised
    /\ at' = [at EXCEPT !.next = @ + 1]
    /\ UNCHANGED <<vars, pc, arrived, current, concurrency, begin, decoded, suspended, buffers>>

(* All blocks of a record have been looked at.  Nothing beyond the first   *)
(* record is looked at until it is consumed.  Upstream asks where the last *)
(* decoded record starts.                                                  *)
IsFirst == ~Blocking /\ decoded = begin
LeaveRecord ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record # 0 /\ at.next > Len(wal[at.record].refs)
    /\ IF IsFirst
       THEN StopLooking /\ UNCHANGED at
       ELSE at' = [record |-> 0, next |-> 1] /\ UNCHANGED pc
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, decoded, suspended, filters, recent, hints, queues, buffers,
                   advised>>

LimitReached ==
    /\ pc \in {"look", "look_again"} /\ ~MayLook
    /\ StopLooking
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, looking, queues, buffers, advised>>

Look == Decode \/ Judge \/ LeaveRecord \/ LimitReached

-----------------------------------------------------------------------------
(* The next record is given to replay, and replayed. *)

Read ==
    /\ pc = "read"
    /\ Goto(IF Queued = 0 THEN "look_again" ELSE "give")
    /\ UNCHANGED <<vars, arrived, current, concurrency, begin, looking, queues, buffers, advised>>

IsGiven(n) == n = current + 1
\* The record that comes next has been replayed: recovery has stopped, and only reads it again.
HasStopped == current < replayed
Give ==
    /\ pc = "give"
    /\ Goto(IF HasStopped THEN "stopped" ELSE IF Queued = 0 THEN "ended" ELSE "replay")
    /\ IF Queued = 0
       THEN UNCHANGED <<current, at>>
       ELSE /\ current' = current + 1
            /\ at' = IF IsGiven(at.record) THEN [record |-> 0, next |-> 1] ELSE at
    /\ UNCHANGED <<vars, arrived, concurrency, begin, decoded, suspended, filters, recent, hints, queues, buffers, advised>>

(* Where replay writes a page: a hint is verified. *)
Hinted(page) == {b \in 1..Buffers : <<current, page, b>> \in hints}
IsRight(page, b) == pool[b] = page
Into ==
    [page \in Pages |->
        LET right == {b \in Hinted(page) : IsRight(page, b) /\ pool[b] # NoPage}
        IN IF right = {} THEN page ELSE pool[CHOOSE b \in right : TRUE]]

(* The pages that a reference brings into buffers, if they are not there:  *)
(* where a relation grows, all new ones.  sizes: the relations' lengths.   *)
Loads(sizes, ref) ==
    LET size == Max(sizes[ref.page[1]], 0)
        new  == [i \in 1..Max(ref.page[2] + 1 - size, 0) |-> <<ref.page[1], size + i - 1>>]
    IN IF Initialises(ref) THEN new \o <<ref.page>>
       ELSE IF ref.how = "read" /\ ref.page[2] < size THEN <<ref.page>>
       ELSE <<>>
Grown(sizes, ref) == IF Initialises(ref) THEN [sizes EXCEPT ![ref.page[1]] = Max(@, ref.page[2] + 1)] ELSE sizes

RECURSIVE LoadsAll(_, _), Load(_, _)
LoadsAll(sizes, refs) ==
    IF refs = <<>> THEN <<>> ELSE Loads(sizes, Head(refs)) \o LoadsAll(Grown(sizes, Head(refs)), Tail(refs))
Load(s, pages) ==
    IF pages = <<>> THEN s
    ELSE IF Buffers = 0 \/ \E b \in 1..Buffers : s.pool[b] = Head(pages) THEN Load(s, Tail(pages))
    ELSE Load([pool |-> [s.pool EXCEPT ![s.hand] = Head(pages)], hand |-> (s.hand % Buffers) + 1], Tail(pages))

(* Buffers whose page is removed, or another one of that name, are free. *)
Kept ==
    IF wal[current].relations = {} THEN pool
    ELSE [b \in 1..Buffers |->
            IF pool[b] # NoPage /\ store'.generation[pool[b]] # store.generation[pool[b]] THEN NoPage ELSE pool[b]]

ReplayCurrent ==
    /\ pc = "replay"
    /\ store' = Apply(store, current, Into)
    /\ replayed' = replayed + 1
    /\ LET loaded == Load([pool |-> Kept, hand |-> hand], LoadsAll(LengthsAfter(store, wal[current]), wal[current].refs))
       IN pool' = loaded.pool /\ hand' = loaded.hand
    /\ hints' = {h \in hints : h[1] > current}
    /\ advised' = {g \in advised : g.record > current}
    /\ Goto("complete")
    /\ UNCHANGED <<wal, arrived, current, concurrency, begin, at, decoded, suspended, filters, recent, queues>>

(* The ring is made anew, and what is in flight is forgotten. *)
Reconfigure ==
    /\ MayChange /\ pc = "complete"
    /\ \E n \in Concurrencies \ {concurrency} : concurrency' = n /\ ring' = NewRing(n)
    /\ held' = <<>>
    /\ advised' = {}
    /\ UNCHANGED <<vars, pc, arrived, current, begin, looking, buffers>>

(* XLogPrefetcherBeginRead.  What is decoded and in flight is forgotten;   *)
(* filters and window stay.  It begins at the record that was replayed     *)
(* last, if recovery stops there (FinishWalRecovery): where that record    *)
(* ends, the new timeline begins.  Or it goes on at the next record.       *)
(* Upstream leaves `at` as it is (record and next_block_id): so            *)
(* MCRecoveryPrefetch_bug_begin_read.  No part of PrefetchNext.            *)
BegunRing == [ring |-> NewRing(concurrency), held |-> <<>>]
BegunAt == [record |-> 0, next |-> 1]
BeginRead ==
    /\ pc = "complete" /\ ~HasStopped
    /\ begin' \in Max(replayed, 1)..replayed + 1
    /\ current' = begin' - 1
    /\ decoded' = begin' - 1
    /\ at' = BegunAt
    /\ suspended' = 0
    /\ ring' = BegunRing.ring
    /\ held' = BegunRing.held
    /\ hints' = {}
    /\ advised' = {}
    /\ UNCHANGED <<vars, pc, arrived, concurrency, filters, recent, buffers>>

Arrive ==
    /\ arrived < Len(wal)
    /\ arrived' = arrived + 1
    /\ UNCHANGED <<vars, pc, current, concurrency, begin, looking, queues, buffers, advised>>

Startup == Complete \/ Look \/ Read \/ Give \/ ReplayCurrent
Ended == pc \in {"ended", "stopped"} /\ UNCHANGED allvars
PrefetchNext == Startup \/ Reconfigure \/ Arrive \/ Ended
PrefetchSpec == StartPrefetch /\ [][PrefetchNext]_allvars
FairSpec == PrefetchSpec /\ WF_allvars(Startup) /\ WF_allvars(Arrive)

-----------------------------------------------------------------------------
(* Safety *)

(* What lies between tail and head is what ought to: nothing is overwritten. *)
Used == IF ring.tail <= ring.head THEN ring.head - ring.tail ELSE ring.head + ring.size - ring.tail
NeverOverflows ==
    /\ Used = Len(held)
    /\ \A k \in 1..Len(held) : ring.slots[(ring.tail + k - 1) % ring.size] = held[k]
CountersCount ==
    /\ ring.inflight = Cardinality({k \in 1..Len(held) : held[k].io})
    /\ ring.completed = Len(held) - ring.inflight

(* At most N advises stand in records that have not been replayed. *)
AtMostN == Cardinality(advised) <= concurrency

(* With concurrency 0 nothing is looked at. *)
OffIsOff == concurrency = 0 => at.record = 0 /\ advised = {}

(* An advised block is the one that replay will find. *)
SameGeneration == \A g \in advised : store.generation[g.page] = g.generation

(* If no record is queued when one is requested, nothing is in the ring. *)
EmptyQueueEmptyRing == pc = "read" /\ Queued = 0 => held = <<>>

(* Until the first record is given to replay, nothing beyond it is decoded. *)
FirstAlone == current < begin => decoded <= begin

Labels == {"complete", "look", "look_again", "read", "give", "replay", "ended", "stopped"}
TypeOK ==
    /\ pc \in Labels /\ arrived \in 0..Len(wal) /\ decoded \in 0..arrived /\ current \in 0..decoded
    /\ IF pc = "replay" THEN replayed = current - 1 ELSE replayed \in {current, Max(current, begin)}
    /\ concurrency \in Concurrencies /\ begin \in 1..current + 1 /\ suspended \in 0..decoded
    /\ at.record # 0 => at.next \in 1..Len(wal[at.record].refs) + 1
    /\ ring.size = NewRing(concurrency).size /\ {ring.head, ring.tail} \subseteq 0..ring.size - 1
    /\ \A k \in Keys : filters[k].until \in 0..Len(wal) /\ filters[k].from \in Nat
    /\ pool \in [1..Buffers -> Pages \cup {NoPage}] /\ hand \in 1..Max(Buffers, 1)
    /\ \A h \in hints : /\ h[1] \in (IF pc = "stopped" THEN current ELSE Min(replayed, current) + 1)..decoded
                        /\ h[2] \in Pages /\ h[3] \in 1..Buffers

(* Look-ahead stands in the record that was decoded last, or between       *)
(* records, and goes on after the record that was given to replay.         *)
GoesOn == at.record = 0 \/ (at.record = decoded /\ at.record > current)

(* No more records are decoded and not given out than there is room for.   *)
RoomIsKept == Queued <= Max(Room, 1)

(* Beyond a record that may change the timeline nothing is decoded before  *)
(* that record was given out.                                              *)
StopsAtTimeline == \A n \in current + 1..decoded : wal[n].effect = "timeline" => n = decoded

(* While it is suspended no more is decoded than the one record beyond,    *)
(* which replay waits for.                                                 *)
WaitsWhileSuspended == current <= suspended => decoded <= suspended + 1

(* A filter is there for a record that was looked at, and whose relation   *)
(* it created, truncated, or did not find.                                 *)
Asks(n, key, from) ==
    LET record == wal[n] IN
    \/ record.effect = "create" /\ key \in record.relations /\ from = 0
    \/ record.effect = "database" /\ (\E r \in record.relations : key = DatabaseOf(r)) /\ from = 0
    \/ record.effect = "truncate" /\ key \in record.relations /\ from = record.to
    \/ \E i \in DOMAIN record.refs : record.refs[i].page[1] = key /\ from \in {0, record.refs[i].page[2]}
FiltersHaveReasons ==
    \A key \in Keys :
        LET f == filters[key] IN
        f.until # 0 =>
            /\ \E from \in Blocks : Asks(f.until, key, from)
            /\ \E n \in 1..Len(wal) : Asks(n, key, f.from)  \* n > f.until: it was looked at before reading began anew

(* No filter outlives its record: else its blocks would be hidden for ever.*)
FiltersExpire ==
    pc \in {"look", "look_again", "read", "give", "ended"} =>
        \A key \in Keys : filters[key].until = 0 \/ filters[key].until > Replaying

(* Look-ahead is of use: before a record is given to replay, as much is    *)
(* looked at as may be.  What may end it sooner is the first record, and   *)
(* what suspends it: no WAL, no room, another timeline.                    *)
LooksAhead ==
    pc = "read" /\ Enabled /\ ~Blocking =>
        ring.inflight = concurrency \/ Len(held) = Multiplier * concurrency \/ decoded = begin \/ IsSuspended

(* Nothing is advised of what a record removes that comes before: filters  *)
(* hide all of it, also after a second one has been merged with the first. *)
Removes(n, page) ==
    LET record == wal[n] IN
    /\ page[1] \in record.relations
    /\ record.effect \in {"create", "database"} \/ (record.effect = "truncate" /\ page[2] >= record.to)
NothingRemovedIsAdvised == \A g \in advised : \A n \in current + 1..g.record - 1 : ~Removes(n, g.page)

(* A page in a buffer exists, and is in one only. *)
BuffersHoldPages ==
    \A b \in 1..Buffers : pool[b] # NoPage =>
        Exists(store, pool[b]) /\ \A c \in 1..Buffers : pool[c] = pool[b] => b = c

(* An advise is of use: its record refers to the page, which exists, and   *)
(* is in no buffer; and the last references to be looked at had others.    *)
AdvisesAreOfUse ==
    [][\A g \in advised' \ advised :
         LET ref == wal[g.record].refs[g.ref] IN
         /\ ref.page = g.page /\ ref.how \in {"read", "hint"}
         /\ Exists(store, g.page) /\ \A b \in 1..Buffers : pool[b] # g.page
         /\ \A i \in Max(1, Len(recent) - Window + 1)..Len(recent) : recent[i] # g.page]_allvars

(* And none is missed: the first reference that needs a page is advised, if*)
(* the page exists, is hidden by no filter, and is in no buffer.  (Not     *)
(* where reading begins anew: others may have been looked at before.)      *)
NeededBefore(page) ==
    \E n \in 1..at.record : \E i \in 1..Len(wal[n].refs) :
        /\ n < at.record \/ i < at.next
        /\ wal[n].refs[i].page = page /\ wal[n].refs[i].how \in {"read", "hint"}
NoneIsMissed ==
    [][at.record # 0 /\ at'.record = at.record /\ at'.next > at.next =>
         LET ref == wal[at.record].refs[at.next] IN
         /\ ref.how \in {"read", "hint"} /\ ~NeededBefore(ref.page) /\ ~Filtered(ref.page)
         /\ Exists(store, ref.page) /\ \A b \in 1..Buffers : pool[b] # ref.page
         => \E g \in advised' : g.record = at.record /\ g.ref = at.next]_allvars

(* Filters, advises and hints of records to come stay until they are       *)
(* replayed, unless reading or the ring begin anew.                        *)
NothingIsForgotten ==
    [][begin' = begin /\ concurrency' = concurrency =>
         /\ \A key \in Keys : filters[key].until \in current + 1..decoded => filters'[key].until >= filters[key].until
         /\ \A g \in advised \ advised' : g.record = replayed'
         /\ \A h \in hints \ hints' : h[1] = replayed']_allvars

(* What is replayed has been read into a buffer, the last page at least.   *)
ReplayReads ==
    [][replayed' # replayed =>
         LET refs == wal[current].refs n == Len(refs) IN
         Buffers > 0 /\ n > 0 =>
             LET ref == refs[n] IN
             Initialises(ref) \/ (ref.how = "read" /\ Exists(store', ref.page)) => \E b \in 1..Buffers : pool'[b] = ref.page]_allvars

(* Recovery does not end while WAL remains. *)
NeverEndsEarly == pc = "ended" => replayed = Len(wal)

(* Where recovery stops, the log goes on after all that was replayed.      *)
NewTimelineFollows == pc = "stopped" => current = replayed

(* The pages, and the order of replay, are those of sequential replay:     *)
(* each step is one of SequentialReplay, or changes none of its variables. *)
(* StartPrefetch has its Init.                                             *)
Refines == [][Next]_vars

(* Every record is replayed. *)
AllReplayed == <>(replayed = Len(wal))
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE RecoveryPrefetch --------------------------
(***************************************************************************)
(* Recovery prefetching.  Before each record the startup process looks     *)
(* ahead at the blocks of coming records, and advises the kernel of those  *)
(* that are in no buffer.  A ring bounds how many advises stand in records *)
(* not replayed yet.                                                       *)
(* Upstream: xlogprefetcher.c of PostgreSQL 15 (lrq_prefetch,              *)
(* lrq_complete_lsn, XLogPrefetcherNextBlock, XLogPrefetcherReadRecord).   *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - The ring, slot by slot; filters; the repeat window; WAL that        *)
(*     arrives late; room for a few decoded records; the first record.     *)
(*   - Buffers, too few for all pages: a hint may be wrong when it is used.*)
(*   - Relations that do not exist, grow, are truncated and created anew.  *)
(*   - A change of the concurrency, which throws the ring away.            *)
(* What is simplified                                                      *)
(*   - Record n starts at LSN n and ends at n + 1.                         *)
(*   - Concurrency 0, shutdown checkpoints, databases created by file copy *)
(*     and other forks are in ref/prefetch.py and not here.                *)
(*   - Advises have no effect: what the kernel does with them is its own.  *)
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
    ring,       \* slots, head, tail, size, inflight, completed
    filters,    \* [Relations -> until, from]; until = 0: none
    recent,     \* the repeat window
    pool,       \* the page in each buffer
    hand,       \* the next buffer to be reused
    hints,      \* the buffers in which pages were found: <<record, page, buffer>>
    held,       \* ghost: the entries that ought to lie between tail and head
    advised     \* ghost G: advised, and the record is not replayed yet

looking == <<at, decoded, suspended, filters, recent, hints>>
queues  == <<ring, held>>
buffers == <<pool, hand>>
allvars == <<vars, pc, arrived, current, concurrency, looking, queues, buffers, advised>>

Entry(lsn, io) == [lsn |-> lsn, io |-> io]
NewRing(n) == [slots |-> [i \in 0..(Multiplier * n) |-> Entry(0, FALSE)], head |-> 0, tail |-> 0,
               size |-> Multiplier * n + 1, inflight |-> 0, completed |-> 0]
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
    /\ ring = NewRing(concurrency)
    /\ filters = [r \in Relations |-> [until |-> 0, from |-> 0]]
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
MayLook == ring.inflight < concurrency /\ HasSlot

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

(* Lose what has been replayed: entries, filters and hints. *)
CompleteRing ==
    /\ ring' = Completed(ring, current + 1)
    /\ held' = SubSeq(held, Len(held) - (ring'.inflight + ring'.completed) + 1, Len(held))
    /\ UNCHANGED <<vars, arrived, current, concurrency, at, decoded, suspended, recent, hints, buffers, advised>>
    /\ filters' = [r \in Relations |-> IF filters[r].until <= current THEN [until |-> 0, from |-> 0] ELSE filters[r]]

Complete == pc = "complete" /\ CompleteRing /\ Goto("look")

-----------------------------------------------------------------------------
(* Look-ahead *)

Queued   == decoded - current
Blocking == Queued = 0
Filtered(page) == filters[page[1]].until # 0 /\ filters[page[1]].from <= page[2]
AddFilter(relation, from, lsn) ==
    filters' = [filters EXCEPT ![relation] =
                  [until |-> lsn, from |-> IF @.until = 0 THEN from ELSE Min(from, @.from)]]
Seen(page) == \E i \in 1..Len(recent) : recent[i] = page
Remember(page) ==
    recent' = LET all == Append(recent, page) IN SubSeq(all, Max(1, Len(all) - Window + 1), Len(all))

(* The look-ahead ends for now: AGAIN. *)
StopLooking == Goto(IF pc = "look" THEN "read" ELSE "give")

(* Decode one more record, if there is one, or wait for it, if none is queued. *)
Decode ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record = 0
    /\ IF ~Blocking /\ current <= suspended
       THEN StopLooking /\ UNCHANGED <<at, decoded, suspended, filters>>
       ELSE IF decoded < arrived /\ (Blocking \/ Queued < Room)
       THEN LET n == decoded + 1 IN
            /\ decoded' = n
            /\ at' = [record |-> n, next |-> 1]
            /\ IF wal[n].effect = "create" THEN AddFilter(wal[n].relation, 0, n)
               ELSE IF wal[n].effect = "truncate" THEN AddFilter(wal[n].relation, wal[n].to, n)
               ELSE UNCHANGED filters
            /\ UNCHANGED <<pc, suspended>>
       ELSE /\ Blocking => decoded = Len(wal)
            /\ suspended' = IF Blocking THEN suspended ELSE decoded
            /\ StopLooking
            /\ UNCHANGED <<at, decoded, filters>>
    /\ UNCHANGED <<vars, arrived, current, concurrency, recent, hints, queues, buffers, advised>>

(* What becomes of a block reference. *)
Judge ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record # 0 /\ at.next <= Len(wal[at.record].refs)
    /\ LET ref      == wal[at.record].refs[at.next]
           page     == ref.page
           skip     == ref.init \/ Filtered(page) \/ Seen(page)
           missing  == page[2] >= store.size[page[1]]
           found    == {b \in 1..Buffers : pool[b] = page}
           io       == ~skip /\ ~missing /\ found = {}
       IN /\ Push(at.record, io)
          /\ IF skip THEN UNCHANGED recent ELSE Remember(page)
          /\ IF ~skip /\ missing THEN AddFilter(page[1], IF store.size[page[1]] < 0 THEN 0 ELSE page[2], at.record)
             ELSE UNCHANGED filters
          /\ hints' = IF skip \/ missing THEN hints ELSE hints \cup {<<at.record, page, b>> : b \in found}
          /\ advised' = IF io THEN advised \cup {[record |-> at.record, ref |-> at.next, page |-> page,
                                                  generation |-> store.generation[page]]}
                        ELSE advised
    /\ at' = [at EXCEPT !.next = @ + 1]
    /\ UNCHANGED <<vars, pc, arrived, current, concurrency, decoded, suspended, buffers>>

(* All blocks of a record have been looked at.  Nothing beyond the first   *)
(* record is looked at until it is consumed.                               *)
LeaveRecord ==
    /\ pc \in {"look", "look_again"} /\ MayLook /\ at.record # 0 /\ at.next > Len(wal[at.record].refs)
    /\ IF at.record = 1 /\ current = 0
       THEN StopLooking /\ UNCHANGED at
       ELSE at' = [record |-> 0, next |-> 1] /\ UNCHANGED pc
    /\ UNCHANGED <<vars, arrived, current, concurrency, decoded, suspended, filters, recent, hints, queues, buffers,
                   advised>>

LimitReached ==
    /\ pc \in {"look", "look_again"} /\ ~MayLook
    /\ StopLooking
    /\ UNCHANGED <<vars, arrived, current, concurrency, looking, queues, buffers, advised>>

Look == Decode \/ Judge \/ LeaveRecord \/ LimitReached

-----------------------------------------------------------------------------
(* The next record is given to replay, and replayed. *)

Read ==
    /\ pc = "read"
    /\ Goto(IF Queued = 0 THEN "look_again" ELSE "give")
    /\ UNCHANGED <<vars, arrived, current, concurrency, looking, queues, buffers, advised>>

Give ==
    /\ pc = "give"
    /\ IF Queued = 0
       THEN Goto("ended") /\ UNCHANGED <<current, at>>
       ELSE /\ current' = current + 1
            /\ at' = IF at.record = current + 1 THEN [record |-> 0, next |-> 1] ELSE at
            /\ Goto("replay")
    /\ UNCHANGED <<vars, arrived, concurrency, decoded, suspended, filters, recent, hints, queues, buffers, advised>>

(* Where replay writes a page: a hint is verified. *)
Hinted(page) == {b \in 1..Buffers : <<current, page, b>> \in hints}
IsRight(page, b) == pool[b] = page
Into ==
    [page \in Pages |->
        LET right == {b \in Hinted(page) : IsRight(page, b) /\ pool[b] # NoPage}
        IN IF right = {} THEN page ELSE pool[CHOOSE b \in right : TRUE]]

RECURSIVE Load(_, _)
Load(s, refs) ==
    IF refs = <<>> THEN s
    ELSE LET page == Head(refs).page IN
         IF Buffers = 0 \/ \E b \in 1..Buffers : s.pool[b] = page THEN Load(s, Tail(refs))
         ELSE Load([pool |-> [s.pool EXCEPT ![s.hand] = page], hand |-> (s.hand % Buffers) + 1], Tail(refs))

ReplayCurrent ==
    /\ pc = "replay"
    /\ store' = Apply(store, current, Into)
    /\ replayed' = replayed + 1
    /\ LET record == wal[current]
           kept   == [b \in 1..Buffers |-> IF record.effect # "none" /\ pool[b] # NoPage /\ pool[b][1] = record.relation
                                              /\ pool[b][2] >= record.to THEN NoPage ELSE pool[b]]
           loaded == Load([pool |-> kept, hand |-> hand], record.refs)
       IN pool' = loaded.pool /\ hand' = loaded.hand
    /\ hints' = {h \in hints : h[1] > current}
    /\ advised' = {g \in advised : g.record > current}
    /\ Goto("complete")
    /\ UNCHANGED <<wal, arrived, current, concurrency, at, decoded, suspended, filters, recent, queues>>

(* The ring is made anew, and what is in flight is forgotten. *)
Reconfigure ==
    /\ MayChange /\ pc = "complete"
    /\ \E n \in Concurrencies \ {concurrency} : concurrency' = n /\ ring' = NewRing(n)
    /\ held' = <<>>
    /\ advised' = {}
    /\ UNCHANGED <<vars, pc, arrived, current, looking, buffers>>

Arrive ==
    /\ arrived < Len(wal)
    /\ arrived' = arrived + 1
    /\ UNCHANGED <<vars, pc, current, concurrency, looking, queues, buffers, advised>>

Startup == Complete \/ Look \/ Read \/ Give \/ ReplayCurrent
Ended == pc = "ended" /\ UNCHANGED allvars
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

(* An advised block is the one that replay will find. *)
SameGeneration == \A g \in advised : store.generation[g.page] = g.generation

(* If no record is queued when one is asked for, nothing is in the ring. *)
EmptyQueueEmptyRing == pc = "read" /\ Queued = 0 => held = <<>>

(* Recovery does not end while WAL remains. *)
NeverEndsEarly == pc = "ended" => replayed = Len(wal)

(* The pages, and the order of replay, are those of sequential replay:     *)
(* each step is one of SequentialReplay, or changes none of its variables. *)
(* StartPrefetch has its Init.                                             *)
Refines == [][Next]_vars

(* Every record is replayed. *)
AllReplayed == <>(replayed = Len(wal))
=============================================================================

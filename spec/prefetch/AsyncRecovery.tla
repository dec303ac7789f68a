\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE AsyncRecovery ---------------------------
(***************************************************************************)
(* Recovery with true asynchronous reads: look-ahead starts reads into     *)
(* buffers, at most N at a time.  The kernel takes each page from its file *)
(* when it likes, and says that it is done when it likes.  Replay waits    *)
(* for its own pages.  This is what io_uring, or a read stream in          *)
(* recovery, would do; a sibling of RecoveryPrefetch.                      *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - Reads in flight, which complete in any order, or fail.  What the    *)
(*     kernel took from the file may be old when the read completes.       *)
(*   - Buffers, too few for all pages.  Look-ahead pins the pages of       *)
(*     coming records; a buffer without pins is reused, and written back   *)
(*     before, if it was changed.                                          *)
(*   - Relations that grow, are truncated, dropped and created anew while  *)
(*     their pages are read.                                               *)
(*   - WAL that arrives late, record by record.                            *)
(*   - A change of the concurrency.  Reads in flight go on, and count.     *)
(*   - Neighbours that are one read of the kernel's (Combine): their       *)
(*     blocks and their buffers follow each other, and the request names   *)
(*     the first ones and how many there are.                              *)
(*     Such a read may be cut: its first blocks are whole.                 *)
(* What is simplified                                                      *)
(*   - Look-ahead takes the references of the next Ahead records in any    *)
(*     order.                                                              *)
(*   - A page that a record makes and changes at once, and that it does    *)
(*     not initialise, is written to its file.                             *)
(*   - A read that fails is tried again, block by block.                   *)
(*                                                                         *)
(* Departures from upstream: none to be tried, since no server reads so.   *)
(*                                                                         *)
(* How to break it: the mutants of MCAsyncRecovery.                        *)
(***************************************************************************)
EXTENDS SequentialReplay, FiniteSets

CONSTANTS
    Buffers,        \* their names
    Concurrencies,  \* values of N
    MayChange,      \* it is changed while recovery runs
    MayBeLate,      \* WAL arrives record by record, when it likes
    Ahead,          \* how many records beyond the next one are looked at
    Reserve,        \* how many pages one record references at most: so many buffers are left to replay
    MayFail,        \* reads may fail
    Combine,        \* how many blocks may be one read; 1: the kernel is given each at once
    NoPage

VARIABLES
    pool,       \* for each buffer: its page, its state, the content, and whether this is newer than the file's
    reads,      \* in flight, a block each: the buffer, its page, whether the kernel has taken the data, and the data;
                \* and of what read of the kernel's it is: the first buffer and page, its place, whether the kernel has it
    flying,     \* the counter that bounds them
    arrived,    \* how many records have arrived
    concurrency,
    pins        \* <<record, buffer, page>>: look-ahead, or the next record, needs the page there

(* Here `store` is the files.  What recovery has made is the files, and    *)
(* over them the buffers.                                                  *)
asyncvars == <<vars, pool, reads, flying, pins, arrived, concurrency>>

Free == [page |-> NoPage, state |-> "free", content |-> <<>>, generation |-> 0, dirty |-> FALSE]
Holding(page) == {b \in Buffers : pool[b].page = page}
Ready(page)   == {b \in Buffers : pool[b].page = page /\ pool[b].state = "ready"}

View ==
    [store EXCEPT !.content =
        [p \in Pages |->
            IF ~Exists(store, p) THEN <<>>
            ELSE IF Ready(p) = {} THEN store.content[p]
            ELSE pool[CHOOSE b \in Ready(p) : TRUE].content]]

Sequential == INSTANCE SequentialReplay WITH store <- View

StartAsync ==
    /\ Init
    /\ pool = [b \in Buffers |-> Free]
    /\ reads = {}
    /\ flying = 0
    /\ pins = {}
    /\ arrived = IF MayBeLate THEN 0 ELSE Len(wal)
    /\ concurrency \in Concurrencies

-----------------------------------------------------------------------------
(* Buffers *)

PagesOf(n, hows) == {ref.page : ref \in {wal[n].refs[i] : i \in {i \in DOMAIN wal[n].refs : wal[n].refs[i].how \in hows}}}
Old(n) == {p \in PagesOf(n, {"read"}) : Exists(store, p)}      \* must be read
New(n) == PagesOf(n, {"init", "image"})                        \* need a buffer only

Pinned(b)   == \E pin \in pins : pin[2] = b
InFlight(b) == pool[b].state = "reading"
Victims     == {b \in Buffers : ~Pinned(b) /\ ~InFlight(b)}

(* Look-ahead leaves enough buffers to the next record. *)
LeavesRoom(n, b) ==
    n = replayed + 1 \/
    Cardinality({b} \cup {pin[2] : pin \in {pin \in pins : pin[1] > replayed + 1}}) + Reserve <= Cardinality(Buffers)

WriteBack(b) ==
    store' = IF pool[b].dirty /\ Exists(store, pool[b].page) THEN [store EXCEPT !.content[pool[b].page] = pool[b].content]
             ELSE store
Take(b, page, state) == pool' = [pool EXCEPT ![b] = [Free EXCEPT !.page = page, !.state = state]]

-----------------------------------------------------------------------------
(* Reads *)

MayRead == flying < concurrency
InWindow(n) == n > replayed /\ n <= Min(replayed + 1 + Ahead, arrived)

(* The next record's pages are read in this way, too. *)
Start(n, page, b, entry, from, place) ==
    /\ InWindow(n) /\ page \in Old(n) /\ Holding(page) = {}
    /\ b \in Victims /\ LeavesRoom(n, b)
    /\ WriteBack(b)
    /\ Take(b, page, "reading")
    /\ reads' = reads \cup {[buffer |-> b, page |-> page, taken |-> FALSE, content |-> <<>>, generation |-> 0,
                             entry |-> entry, from |-> from, place |-> place, given |-> Combine = 1]}
    /\ flying' = flying + 1
    /\ pins' = pins \cup {<<n, b, page>>}
    /\ UNCHANGED <<wal, replayed>>

Submit(n, page, b) == MayRead /\ Start(n, page, b, b, page, 0)

(* The buffers lie in a row. *)
Row == CHOOSE row \in [Buffers -> 1..Cardinality(Buffers)] : \A b, c \in Buffers : row[b] = row[c] => b = c

After(page, n) == <<page[1], page[2] + n>>

(* A block joins the read before it. *)
HasRoom(read)        == read.place + 1 < Combine
IsLast(read)         == ~\E other \in reads : other.entry = read.entry /\ other.from = read.from /\ other.place > read.place
PageFollows(read, p) == p = After(read.page, 1)
BufferFollows(r, b)  == Row[b] = Row[r.buffer] + 1
Join(n, page, b, read) ==
    /\ MayRead /\ HasRoom(read) /\ IsLast(read) /\ ~read.given /\ PageFollows(read, page) /\ BufferFollows(read, b)
    /\ Start(n, page, b, read.entry, read.from, read.place + 1)

(* The page is in a buffer, or on its way there. *)
Pin(n, page, b) ==
    /\ InWindow(n) /\ page \in Old(n) /\ b \in Holding(page) /\ <<n, b, page>> \notin pins
    /\ LeavesRoom(n, b)
    /\ pins' = pins \cup {<<n, b, page>>}
    /\ UNCHANGED <<wal, replayed, store, pool, reads, flying>>

(* The next record initialises a page. *)
Claim(page, b) ==
    /\ replayed < arrived /\ page \in New(replayed + 1) /\ Holding(page) = {} /\ b \in Victims
    /\ WriteBack(b)
    /\ Take(b, page, "claimed")
    /\ pins' = pins \cup {<<replayed + 1, b, page>>}
    /\ UNCHANGED <<wal, replayed, reads, flying>>

(* The kernel is given a read: it learns where it starts, and how long it is. *)
PartsOf(first) == {read \in reads : read.entry = first.entry /\ read.from = first.from}
Give(first) ==
    /\ first.place = 0 /\ ~first.given
    /\ reads' = (reads \ PartsOf(first)) \cup {[read EXCEPT !.given = TRUE] : read \in PartsOf(first)}
    /\ UNCHANGED <<vars, pool, flying, pins>>

(* The kernel takes the data from the file, of each block when it likes. *)
Fetch(read) ==
    LET page == After(read.from, read.place) IN
    /\ read.given /\ ~read.taken
    /\ reads' = (reads \ {read}) \cup
                {[read EXCEPT !.taken = TRUE, !.content = IF page \in Pages THEN store.content[page] ELSE <<>>,
                              !.generation = IF page \in Pages THEN store.generation[page] ELSE 0]}
    /\ UNCHANGED <<vars, pool, flying, pins>>

(* A buffer in which a block has been read, and one that the kernel has written to. *)
Landed(old) == [old EXCEPT !.state = "ready"]
Written(old, read) == [old EXCEPT !.content = read.content, !.generation = read.generation]
IsInto(read, b) == Row[b] = Row[read.entry] + read.place

(* A read that failed gives no page. *)
Over(there, failed) == there \cup failed

(* The kernel says that the first `whole` blocks of a read are there. *)
IsWhole(read, whole) == read.place < whole
End(first, whole) ==
    LET parts  == {read \in PartsOf(first) : read.given}
        there  == {read \in parts : IsWhole(read, whole)}
        failed == parts \ there
        From(b) == {read \in parts : read.place < whole /\ IsInto(read, b)}
        Wrote(b) == IF From(b) = {} THEN pool[b] ELSE Written(pool[b], CHOOSE read \in From(b) : TRUE)
    IN /\ first.place = 0 /\ first.given /\ whole <= Cardinality(parts)
       /\ MayFail \/ whole = Cardinality(parts)
       /\ \A read \in parts : read.place < whole => read.taken
       /\ pool' = [b \in Buffers |->
                      IF \E read \in failed : read.buffer = b THEN Free
                      ELSE IF \E read \in there : read.buffer = b THEN Landed(Wrote(b))
                      ELSE Wrote(b)]
       /\ reads' = reads \ parts
       /\ flying' = flying - Cardinality(Over(there, failed))
       /\ pins' = {pin \in pins : \A read \in failed : pin[2] # read.buffer}
       /\ UNCHANGED vars

-----------------------------------------------------------------------------
(* Replay *)

HasItsPages(n) ==
    /\ \A p \in Old(n) : Ready(p) # {}
    /\ \A p \in New(n) : \E b \in Holding(p) : ~InFlight(b)

(* Pages that the record takes away. *)
IsRemoved(page, after) == Exists(store, page) /\ after.generation[page] # store.generation[page]

(* A relation loses pages only while none of them is read. *)
NoneInFlight(after) == \A read \in reads : ~IsRemoved(read.page, after)

AfterReplay(n, b, after) ==
    LET old == pool[b] IN
    IF old.page = NoPage THEN old
    ELSE IF IsRemoved(old.page, after) THEN Free
    ELSE IF old.page \in Old(n) \cup New(n) /\ ~InFlight(b)
    THEN [old EXCEPT !.state = "ready", !.content = after.content[old.page], !.dirty = TRUE,
                     !.generation = after.generation[old.page]]
    ELSE old

Replayed ==
    LET n     == replayed + 1
        after == Apply(View, n, Itself)
    IN /\ n <= arrived
       /\ HasItsPages(n)
       /\ NoneInFlight(after)
       /\ replayed' = n
       /\ pool' = [b \in Buffers |-> AfterReplay(n, b, after)]
       /\ store' = [after EXCEPT !.content =
                       [p \in Pages |-> IF \E b \in Buffers : pool'[b].page = p /\ pool'[b].state = "ready"
                                        THEN IF after.generation[p] = store.generation[p] THEN store.content[p] ELSE <<>>
                                        ELSE after.content[p]]]
       /\ pins' = {pin \in pins : pin[1] > n /\ pool'[pin[2]].page = pin[3]}
       /\ UNCHANGED <<wal, reads, flying>>

LookAhead == \E n \in (replayed + 1)..Len(wal) : \E page \in Old(n), b \in Buffers :
                Submit(n, page, b) \/ Pin(n, page, b) \/ \E read \in reads : Join(n, page, b, read)
Prepare   == \E page \in Pages, b \in Buffers : Claim(page, b)
Kernel    == \E read \in reads : Fetch(read) \/ Give(read) \/ \E whole \in 0..Combine : End(read, whole)
Ended     == replayed = Len(wal) /\ UNCHANGED asyncvars
Startup   == (LookAhead \/ Prepare \/ Kernel \/ Replayed) /\ UNCHANGED <<arrived, concurrency>>

Arrive == arrived < Len(wal) /\ arrived' = arrived + 1 /\ UNCHANGED <<vars, pool, reads, flying, pins, concurrency>>

(* Reads in flight cannot be called back. *)
Reconfigure ==
    /\ MayChange
    /\ concurrency' \in Concurrencies \ {concurrency}
    /\ UNCHANGED <<vars, pool, reads, flying, pins, arrived>>

AsyncNext == Startup \/ Arrive \/ Reconfigure \/ Ended
AsyncSpec == StartAsync /\ [][AsyncNext]_asyncvars
FairAsync == AsyncSpec /\ WF_asyncvars(Startup) /\ WF_asyncvars(Arrive)

-----------------------------------------------------------------------------
(* Safety *)

TypeOK ==
    /\ arrived \in 0..Len(wal) /\ replayed \in 0..Len(wal) /\ concurrency \in Concurrencies /\ flying \in Nat
    /\ \A b \in Buffers :
          /\ pool[b].page \in Pages \cup {NoPage} /\ pool[b].state \in {"free", "reading", "claimed", "ready"}
          /\ pool[b].generation \in Nat /\ pool[b].dirty \in BOOLEAN
          /\ pool[b].page = NoPage <=> pool[b].state = "free"
    /\ \A read \in reads :
          /\ read.buffer \in Buffers /\ read.page \in Pages /\ read.taken \in BOOLEAN
          /\ read.entry \in Buffers /\ read.from \in Pages /\ read.place \in Nat /\ read.given \in BOOLEAN
    /\ \A pin \in pins : pin[1] \in 1..Len(wal) /\ pin[2] \in Buffers /\ pin[3] \in Pages

(* At most N reads are in flight, while N stays as it is; and no read      *)
(* starts unless it is one of at most N.                                   *)
AtMostN       == Cardinality(reads) <= concurrency
StartsWithinN == [][Cardinality(reads') > Cardinality(reads) => Cardinality(reads') <= concurrency']_asyncvars
CounterCounts == flying = Cardinality(reads)

(* A read in flight has its buffer for itself, so that it lands nowhere else. *)
ReadsOwnBuffers ==
    \A read \in reads : pool[read.buffer].state = "reading" /\ pool[read.buffer].page = read.page

(* The request that the kernel has of a read names what it will take: no   *)
(* more blocks than may be, of each its page and its buffer.               *)
ReadsTogether ==
    \A read \in reads : /\ read.place < Combine
                        /\ read.page = After(read.from, read.place)
                        /\ IsInto(read, read.buffer)

(* A page is in one buffer only. *)
OneBuffer == \A b \in Buffers, c \in Buffers : pool[b].page = pool[c].page => b = c \/ pool[b].page = NoPage

(* What look-ahead has pinned is there until it is replayed. *)
PinsHold == \A pin \in pins : pin[1] > replayed /\ pool[pin[2]].page = pin[3]

(* A page stays pinned, unless a record removes it, or its read fails. *)
PinsStay == [][\A pin \in pins \ pins' : pin[1] <= replayed' \/ pool'[pin[2]].page # pin[3]]_asyncvars

(* Nothing is known of records that have not arrived. *)
OnlyArrived == replayed <= arrived /\ \A pin \in pins : pin[1] <= arrived

(* A page in a buffer is the one of that name that exists now. *)
SameGeneration ==
    \A b \in Buffers : pool[b].state = "ready" =>
        Exists(store, pool[b].page) /\ pool[b].generation = store.generation[pool[b].page]

(* The pages, and the order of replay, are those of sequential replay. *)
Refines == [][Sequential!Next]_(Sequential!vars)

(* Every record is replayed, if reads do not fail for ever and WAL arrives. *)
AllReplayed == <>(replayed = Len(wal))
=============================================================================

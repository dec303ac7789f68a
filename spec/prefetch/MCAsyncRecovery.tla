\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE MCAsyncRecovery --------------------------
(* AsyncRecovery with bounds: all sequences of a few kinds of records.     *)
(* And definitions that are wrong on purpose.                              *)
EXTENDS AsyncRecovery

CONSTANT Length

R == "r"
ThreeBlocks == [r \in Relations |-> 3]

Ref(how, block) == [page |-> <<R, block>>, how |-> how]
Read(block)     == Changes(<<Ref("read", block)>>)
\* A page is changed; one is made beyond the end, and with it those before it; the relation is truncated, and comes anew.
Kinds   == {Read(0), Read(1), Changes(<<Ref("init", 2)>>), Truncates(R, 1), Creates(R)}
AllWals == [1..Length -> Kinds]
\* Two pages a record, a drop, and a full page image over a page that is read.
Others    == {Changes(<<Ref("read", 0), Ref("read", 1)>>), Changes(<<Ref("image", 0)>>), Drops({R})}
OtherWals == [1..Length -> Others]

-----------------------------------------------------------------------------
\* What was read before a truncation stays in its buffer.
NeverRemoved(page, after) == FALSE
\* A buffer is reused while a read into it is in flight: nothing but pins protects it, and they are not looked at.
AnyVictim == Buffers
\* A buffer is reused although it is pinned.
PinnedVictims == {b \in Buffers : ~InFlight(b)}
\* A change of the concurrency forgets what is in flight, as it does where reads are only advised.
ForgetsFlying ==
    /\ MayChange
    /\ concurrency' \in Concurrencies \ {concurrency}
    /\ flying' = 0
    /\ UNCHANGED <<vars, pool, reads, pins, arrived>>
\* Records are looked at that have not arrived.
InWindowOfAll(n) == n > replayed /\ n <= Min(replayed + 1 + Ahead, Len(wal))
\* A read that fails is still counted.
StillCounted(there, failed) == there
\* A block joins a read though it does not follow, or its buffer does not, or the kernel has that read.
AnyPage(read, page) == TRUE
\* A changed buffer is reused, and its page is not written.
NeverWrites(b) == store' = store
\* A page is looked for only among those that have been read.
OnlyReady(page) == {b \in Buffers : pool[b].page = page /\ pool[b].state = "ready"}
\* Who pins a page lets all others go.
PinAlone(n, page, b) ==
    /\ InWindow(n) /\ page \in Old(n) /\ b \in Holding(page) /\ <<n, b, page>> \notin pins /\ LeavesRoom(n, b)
    /\ pins' = {<<n, b, page>>}
    /\ UNCHANGED <<wal, replayed, store, pool, reads, flying>>
\* Look-ahead takes all buffers.
TakesAll(n, b) == TRUE
\* Pages that go keep their contents.
OnlyLengths(s, lengths) == [s EXCEPT !.size = lengths]

-----------------------------------------------------------------------------
\* Denials of states that must be reachable.
NeverFull == Cardinality(reads) < concurrency
\* Replay has caught up with the WAL, and a page for a record that came then has been read ahead.
NeverLate == ~\E pin \in pins : pin[1] = arrived /\ pin[1] > replayed + 1 /\ pool[pin[2]].state = "ready" /\ arrived < Len(wal)
\* A read fails, of which not even the first block is there.
NeverFails == [][\A b \in Buffers : pool[b].state = "reading" => pool'[b].state # "free"]_asyncvars
NeverTwoPages == \A page \in Pages : Len(View.content[page]) < 2
\* A page was taken from its file, and a later record will remove it.
NeverRemovedSoon ==
    ~\E read \in reads : /\ read.taken /\ replayed < Len(wal)
                         /\ HasItsPages(replayed + 1) /\ IsRemoved(read.page, Apply(View, replayed + 1, Itself))
\* A page that look-ahead had read was removed before the record that needs it: it is created anew, and read again.
NeverReadAnew == ~\E read \in reads : store.generation[read.page] > 0
\* The kernel has a read of two blocks.
NeverTogether == ~\E read \in reads : read.place = 1 /\ read.given
\* The first of two blocks is there, and the second, which was read with it, is read again.
NeverCut ==
    ~\E b \in Buffers, read \in reads :
        /\ pool[b].state = "ready" /\ ~pool[b].dirty
        /\ read.page = After(pool[b].page, 1) /\ read.place = 0
\* A page read ahead is there when its record is the next one, while another read is in flight.
NeverAhead == ~\E pin \in pins : pin[1] > replayed + 1 /\ pool[pin[2]].state = "ready" /\ reads # {}
=============================================================================

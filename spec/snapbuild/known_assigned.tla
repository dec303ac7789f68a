\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE known_assigned ---------------------------
(***************************************************************************)
(* KnownAssignedXids: the XIDs that a standby knows to run on the primary, *)
(* in an array that only grows at its head.  A removal only marks an       *)
(* entry.  The array is compressed later, for one of four reasons.         *)
(* Readers search it while the startup process adds XIDs.                  *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - The array with a flag each, tail, head and the count of valid       *)
(*     entries; XIDs on a ring, in the order of Precedes.                  *)
(*   - Startup process: adds XIDs without the lock, entry by entry, and    *)
(*     then the head (the write barrier); removes, prunes and compresses   *)
(*     with the lock held exclusively.  This is one step, because nobody   *)
(*     can read meanwhile.                                                 *)
(*   - Readers: take the lock shared, read tail, then head, then search by *)
(*     halves or scan, one array read a step, while entries are added.     *)
(*   - Compress: NO_SPACE always; PRUNE whenever there is a gap;           *)
(*     TRANSACTION_END on the first of every Frequency calls that find a   *)
(*     gap, and only if the span is at least twice the count;              *)
(*     STARTUP_PROCESS_IDLE if the last time was long ago, or there was    *)
(*     none.  Without a gap only NO_SPACE compresses.                      *)
(* What is simplified                                                      *)
(*   - A transaction is one XID (with subtransactions more are removed     *)
(*     before one call to compress).  No prepared transactions.            *)
(*   - The clock is a flag: whether 1000 ms have passed.                   *)
(*   - Memory is sequentially consistent.  Only the mutant HeadFirst, which*)
(*     lacks the barrier, publishes the head before the entries.           *)
(*                                                                         *)
(* How to break it: let CompressLocks be FALSE: entries move under a reader*)
(* that holds a stale tail and head, and it misses a running transaction   *)
(* (MCknown_assigned_mutant_stale_search fails on FindsRunning).           *)
(*                                                                         *)
(* Upstream: src/backend/storage/ipc/procarray.c, KnownAssignedXidsAdd,    *)
(* KnownAssignedXidsSearch, KnownAssignedXidsRemove,                       *)
(* KnownAssignedXidsRemoveTree, KnownAssignedXidsRemovePreceding,          *)
(* KnownAssignedXidsCompress, KnownAssignedXidsGet,                        *)
(* KnownAssignedXidsGetAndSetXmin. As of 18.                               *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

CONSTANTS
    FirstXid,
    Capacity,       \* slots of the array
    Frequency,      \* KAX_COMPRESS_FREQUENCY, 128 upstream
    Readers,
    CompressLocks,  \* whether compress waits for readers to be gone; it must
    HeadFirst       \* whether the head may be seen before the entries; it must not

VARIABLES
    nextXid,        \* FullTransactionId: the next to be observed
    running,        \* FullTransactionIds added and not removed
    xids, valid,    \* the array
    tail, head,     \* valid entries have indexes tail..(head - 1); from 1 here
    count,          \* numKnownAssignedXids
    adding,         \* FullTransactionIds that are being added, in a row; none when it is done
    written,        \* how many of them stand in the array
    ends,           \* transactionEndsCounter, modulo Frequency
    long_ago,       \* whether an idle process may compress again
    history,        \* ghost: the reason of the last call to compress, and whether it compressed
    reader          \* of each: what it does, its tail and head, and what it has

vars == <<nextXid, running, xids, valid, tail, head, count, adding, written, ends, long_ago, history, reader>>
arrayVars == <<xids, valid, tail, head>>

Slots == 1..Capacity
Out   == [does |-> "nothing"]

Init ==
    /\ nextXid = FirstXid
    /\ running = {}
    /\ xids = [i \in Slots |-> Invalid]
    /\ valid = [i \in Slots |-> FALSE]
    /\ tail = 1 /\ head = 1 /\ count = 0
    /\ adding = <<>> /\ written = 0
    /\ ends = 0 /\ long_ago = TRUE
    /\ history = [reason |-> "none", done |-> FALSE]
    /\ reader = [r \in Readers |-> Out]

Unlocked == \A r \in Readers : reader[r] = Out
Idle     == adding = <<>>

Gap(t, h, c) == h - t # c

(* The array after compress: the valid entries between tail and head, at the front. *)
ValidEntries(a, v, t, h) ==
    LET entries == [i \in 1..(h - t) |-> [xid |-> a[t + i - 1], valid |-> v[t + i - 1]]]
        kept    == SelectSeq(entries, LAMBDA e : e.valid)
    IN  [i \in 1..Len(kept) |-> kept[i].xid]

Compressed(a, v, t, h) ==
    LET kept == ValidEntries(a, v, t, h)
    IN  [xids  |-> [i \in Slots |-> IF i <= Len(kept) THEN kept[i] ELSE a[i]],
         valid |-> [i \in Slots |-> IF i <= Len(kept) THEN TRUE ELSE v[i]],
         tail  |-> 1, head |-> Len(kept) + 1]

Same(a, v, t, h) == [xids |-> a, valid |-> v, tail |-> t, head |-> h]

Store(array) == xids' = array.xids /\ valid' = array.valid /\ tail' = array.tail /\ head' = array.head

(* The three reasons that leave a choice *)
Worthwhile(reason, t, h, c) ==
    /\ Gap(t, h, c)
    /\ CASE reason = "TRANSACTION_END" -> ends = 0 /\ h - t >= 2 * c
         [] reason = "PRUNE" -> TRUE
         [] reason = "STARTUP_PROCESS_IDLE" -> long_ago

EndsAfter(reason, t, h, c) ==
    IF reason = "TRANSACTION_END" /\ Gap(t, h, c) THEN (ends + 1) % Frequency ELSE ends

Remember(reason, done) == history' = [reason |-> reason, done |-> done]

MaybeCompress(reason, a, v, t, h, c) ==
    LET done == Worthwhile(reason, t, h, c)
    IN  /\ Store(IF done THEN Compressed(a, v, t, h) ELSE Same(a, v, t, h))
        /\ ends' = EndsAfter(reason, t, h, c)
        /\ long_ago' = IF done THEN FALSE ELSE long_ago
        /\ Remember(reason, done)

-----------------------------------------------------------------------------
(* The startup process *)

RECURSIVE Run(_, _)
Run(f, k) == IF k = 0 THEN <<>> ELSE <<f>> \o Run(FullAdvance(f), k - 1)

(* KnownAssignedXidsAdd: k XIDs in a row.  First make room ... *)
CompressForSpace(k) ==
    /\ Idle
    /\ head + k > Capacity + 1
    /\ count + k <= Capacity
    /\ CompressLocks => Unlocked
    /\ Store(Compressed(xids, valid, tail, head))
    /\ long_ago' = FALSE
    /\ Remember("NO_SPACE", TRUE)
    /\ UNCHANGED <<nextXid, running, count, adding, written, ends, reader>>

StartAdd(k) ==
    /\ Idle
    /\ head + k <= Capacity + 1
    /\ adding' = Run(nextXid, k)
    /\ IF HeadFirst THEN head' = head + k ELSE UNCHANGED head
    /\ UNCHANGED <<nextXid, running, xids, valid, tail, count, written, ends, long_ago, history, reader>>

(* ... then write the entries, to the right of the head ... *)
WriteEntry ==
    /\ written < Len(adding)
    /\ LET i == head + written - IF HeadFirst THEN Len(adding) ELSE 0
       IN  /\ xids' = [xids EXCEPT ![i] = XidOf(adding[written + 1])]
           /\ valid' = [valid EXCEPT ![i] = TRUE]
    /\ written' = written + 1
    /\ UNCHANGED <<nextXid, running, tail, head, count, adding, ends, long_ago, history, reader>>

(* ... and then move the head over them. *)
PublishHead ==
    /\ adding # <<>> /\ written = Len(adding)
    /\ running' = running \cup {adding[i] : i \in 1..Len(adding)}
    /\ nextXid' = FullAdvance(adding[Len(adding)])
    /\ count' = count + Len(adding)
    /\ IF HeadFirst THEN UNCHANGED head ELSE head' = head + Len(adding)
    /\ adding' = <<>> /\ written' = 0
    /\ UNCHANGED <<xids, valid, tail, ends, long_ago, history, reader>>

(* The tail moves past entries that are not valid; an empty array starts again at 1. *)
RECURSIVE SkipInvalid(_, _, _)
SkipInvalid(v, t, h) == IF t < h /\ ~v[t] THEN SkipInvalid(v, t + 1, h) ELSE t

TailAfter(v, t, h) == IF SkipInvalid(v, t, h) >= h THEN 1 ELSE SkipInvalid(v, t, h)
HeadAfter(v, t, h) == IF SkipInvalid(v, t, h) >= h THEN 1 ELSE h

IndexOf(x) == CHOOSE i \in tail..(head - 1) : xids[i] = XidOf(x)

(* KnownAssignedXidsRemoveTree *)
EndTransaction(x) ==
    /\ Idle /\ Unlocked
    /\ running' = running \ {x}
    /\ LET v == [valid EXCEPT ![IndexOf(x)] = FALSE]
           t == IF IndexOf(x) = tail THEN TailAfter(v, tail, head) ELSE tail
           h == IF IndexOf(x) = tail THEN HeadAfter(v, tail, head) ELSE head
       IN  /\ count' = count - 1
           /\ MaybeCompress("TRANSACTION_END", xids, v, t, h, count - 1)
    /\ UNCHANGED <<nextXid, adding, written, reader>>

(* KnownAssignedXidsRemovePreceding: a running-xacts record says that all before x have ended. *)
Prune(x) ==
    /\ Idle /\ Unlocked
    /\ running' = {y \in running : y >= x}
    /\ LET v == [i \in Slots |-> valid[i] /\ ~(tail <= i /\ i < head /\ Precedes(xids[i], XidOf(x)))]
           c == Cardinality({i \in tail..(head - 1) : v[i]})
       IN  /\ count' = c
           /\ MaybeCompress("PRUNE", xids, v, TailAfter(v, tail, head), HeadAfter(v, tail, head), c)
    /\ UNCHANGED <<nextXid, adding, written, reader>>

IdleMaintenance ==
    /\ Idle
    /\ CompressLocks => Unlocked
    /\ MaybeCompress("STARTUP_PROCESS_IDLE", xids, valid, tail, head, count)
    /\ UNCHANGED <<nextXid, running, count, adding, written, reader>>

Tick ==
    /\ ~long_ago
    /\ long_ago' = TRUE
    /\ UNCHANGED <<nextXid, running, count, adding, written, ends, history, reader, arrayVars>>

-----------------------------------------------------------------------------
(* The readers.  seen: the XIDs that ran when the lock was taken.  None of *)
(* them can end before the lock is released.                               *)
startupVars == <<nextXid, running, xids, valid, tail, head, count, adding, written, ends, long_ago, history>>

Set(r, state) == reader' = [reader EXCEPT ![r] = state] /\ UNCHANGED startupVars

Lock(r) ==
    /\ reader[r] = Out
    /\ \E does \in {"search", "scan"} :
       \E x \in (IF does = "search" THEN {f \in FirstXid..nextXid : IsNormal(XidOf(f))} ELSE {nextXid}) :
          Set(r, [does |-> "tail", next |-> does, x |-> x, seen |-> running, first |-> 0, last |-> 0, got |-> {}])

ReadTail(r) ==
    /\ reader[r].does = "tail"
    /\ Set(r, [reader[r] EXCEPT !.does = "head", !.first = tail])

ReadHead(r) ==
    /\ reader[r].does = "head"
    /\ Set(r, [reader[r] EXCEPT !.does = reader[r].next, !.last = head - 1])

(* KnownAssignedXidsSearch, one comparison *)
Above(middle) == middle + 1

SearchStep(r) ==
    /\ reader[r].does = "search"
    /\ reader[r].first <= reader[r].last
    /\ LET middle == (reader[r].first + reader[r].last) \div 2
           x      == XidOf(reader[r].x)
       IN  Set(r, IF xids[middle] = x
                  THEN [reader[r] EXCEPT !.does = "done", !.got = IF valid[middle] THEN {x} ELSE {}]
                  ELSE IF Precedes(x, xids[middle]) THEN [reader[r] EXCEPT !.last = middle - 1]
                  ELSE [reader[r] EXCEPT !.first = Above(middle)])

SearchEnd(r) ==
    /\ reader[r].does = "search"
    /\ reader[r].first > reader[r].last
    /\ Set(r, [reader[r] EXCEPT !.does = "done"])

(* KnownAssignedXidsGet, one entry *)
ScanStep(r) ==
    /\ reader[r].does = "scan"
    /\ reader[r].first <= reader[r].last
    /\ Set(r, [reader[r] EXCEPT !.first = reader[r].first + 1,
                                !.got = IF valid[reader[r].first] THEN reader[r].got \cup {xids[reader[r].first]}
                                        ELSE reader[r].got])

ScanEnd(r) ==
    /\ reader[r].does = "scan"
    /\ reader[r].first > reader[r].last
    /\ Set(r, [reader[r] EXCEPT !.does = "done"])

Unlock(r) == reader[r].does = "done" /\ Set(r, Out)

Startup ==
    \/ \E k \in 1..2 : StartAdd(k) \/ CompressForSpace(k)
    \/ WriteEntry \/ PublishHead
    \/ \E x \in running : EndTransaction(x)
    \/ \E x \in running \cup {nextXid} : Prune(x)
    \/ IdleMaintenance
    \/ Tick

GoesOn(r) ==
    \/ ReadTail(r) \/ ReadHead(r) \/ SearchStep(r) \/ SearchEnd(r) \/ ScanStep(r) \/ ScanEnd(r) \/ Unlock(r)

Next == Startup \/ \E r \in Readers : Lock(r) \/ GoesOn(r)

Spec == Init /\ [][Next]_vars

(* A reader that has the lock goes on. *)
FairSpec == Spec /\ \A r \in Readers : WF_vars(GoesOn(r))

TypeOK ==
    /\ nextXid \in Nat /\ running \subseteq 0..nextXid
    /\ xids \in [Slots -> 0..Size - 1] /\ valid \in [Slots -> BOOLEAN]
    /\ head \in 1..Capacity + 1 /\ tail \in 1..head /\ count \in 0..Capacity
    /\ written \in 0..Len(adding) /\ ends \in 0..Frequency - 1
    /\ {long_ago, history.done} \subseteq BOOLEAN

-----------------------------------------------------------------------------
(* Between tail and head, gaps included, XIDs are in order: the search depends on it. *)
Ordered == Idle => \A i, j \in tail..(head - 1) : i < j => Precedes(xids[i], xids[j])

(* The valid entries are exactly the running XIDs, and their number is the count. *)
Exact ==
    Idle => /\ {xids[i] : i \in {j \in tail..(head - 1) : valid[j]}} = {XidOf(x) : x \in running}
            /\ count = Cardinality(running)
            /\ count = Cardinality({j \in tail..(head - 1) : valid[j]})

(* The tail is valid, or the array is empty and starts again. *)
TailValid == Idle => IF count = 0 THEN tail = 1 /\ head = 1 ELSE valid[tail]

Done(r, what) == reader[r] # Out /\ reader[r].does = "done" /\ reader[r].next = what

(* A reader finds the XIDs that run, and no others. *)
FindsRunning  == \A r \in Readers : Done(r, "search") /\ reader[r].x \in reader[r].seen => reader[r].got # {}
FindsNoOther  == \A r \in Readers : Done(r, "search") /\ reader[r].got # {} => reader[r].x \in running
ScansRunning  == \A r \in Readers : Done(r, "scan") => {XidOf(x) : x \in reader[r].seen} \subseteq reader[r].got
ScansNoOther  == \A r \in Readers : Done(r, "scan") => reader[r].got \subseteq {XidOf(x) : x \in running}

(* A reader ends, however many XIDs the startup process adds meanwhile. *)
ReadersEnd == \A r \in Readers : reader[r] # Out ~> reader[r] = Out

(* What a scan costs: it reads fewer entries than twice those that run, but for the ends that are not looked at. *)
GapsAreFew == Idle /\ count > 0 => head - tail < 2 * (count + Frequency - 1)

(* Until a transaction ends, a prune has left no gap. *)
PruneLeavesNoGap == Idle /\ history.reason = "PRUNE" => ~Gap(tail, head, count)

(* An idle process leaves no gap, unless the array was compressed less than a second ago: then it lets readers be. *)
IdleLeavesNoGap ==
    [][/\ IdleMaintenance => IF long_ago THEN ~Gap(tail', head', count) ELSE UNCHANGED arrayVars
       /\ long_ago /\ ~long_ago' => history'.done]_vars

(* Entries move without a gap only for space; and compress leaves no gap. *)
Moves == running' = running /\ tail' < tail
MovesForAReason    == [][Moves /\ ~Gap(tail, head, count) => history'.reason = "NO_SPACE"]_vars
NoGapAfterCompress == [][head' < head => ~Gap(tail', head', count') /\ tail' = 1]_vars

(* Entries move for space only if two more have none.                      *)
SpaceIsShort ==
    [][arrayVars' # arrayVars /\ Idle /\ adding' = <<>> /\ running' = running /\ history'.reason = "NO_SPACE"
         => head + 2 > Capacity + 1]_vars

=============================================================================

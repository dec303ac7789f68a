\* SPDX-License-Identifier: PostgreSQL
----------------------- MODULE TraceRecoveryPrefetch -----------------------
(***************************************************************************)
(* Follows a recorded crash recovery: the system calls of a real startup   *)
(* process, beside the WAL that it replayed.  RecoveryPrefetch runs over   *)
(* the same records.  Each advise that it gives, and each read that its    *)
(* replay needs, must be the next event of the trace.  The reads of one    *)
(* record may come in any order.  An event that fits no step is a deadlock.*)
(* The model has one behaviour for a trace, so a run that holds has        *)
(* followed all events, and the prefetcher has ended.  The invariants and  *)
(* the refinement are checked by MCRecoveryPrefetch.                       *)
(*                                                                         *)
(* Traces are recorded by `python -m tests.prefetch.test_recorded`.  They  *)
(* are in traces/ as JSON lines; spec/tools/traces.py makes the module     *)
(* RecordedPrefetch of them.  All pages fit into the server's buffers, and *)
(* its decode buffer never fills.                                          *)
(*                                                                         *)
(* spec variable        trace: field            PostgreSQL                 *)
(*   concurrency          concurrency             maintenance_io_concurrency*)
(*   store.size           sizes, missing          lseek(SEEK_END), openat  *)
(*   wal: refs            wal: refs               pg_waldump: blkref       *)
(*   wal: effect,         wal: effect, relations, pg_waldump: CREATE,      *)
(*     relations, to        to                      TRUNCATE, rels         *)
(*   advised              call = "advise": page   posix_fadvise(WILLNEED)  *)
(*   (replay reads)       call = "read": page     pread                    *)
(*                                                                         *)
(* How to break it: TraceRecoveryPrefetch_mutant_* alter the trace by one  *)
(* event, or follow it by the rules of a broken prefetcher.                *)
(***************************************************************************)
EXTENDS RecoveryPrefetch, RecordedPrefetch

CONSTANT Trace  \* [concurrency, sizes |-> [relation |-> length], missing |-> relations, wal |-> records,
                \*  lengths |-> [relation |-> pages of it that may matter], pages |-> sum of these, events |-> calls]

VARIABLE done   \* how many events have been followed

-----------------------------------------------------------------------------
(* Constants that the trace tells *)
RangeOf(list)    == {list[i] : i \in DOMAIN list}
TraceRelations   == DOMAIN Trace.sizes \cup RangeOf(Trace.missing)
TraceConcurrency == {Trace.concurrency}
TraceSizes       == [r \in TraceRelations |-> IF r \in DOMAIN Trace.sizes THEN Trace.sizes[r] ELSE -1]
TraceWals ==
    {[n \in DOMAIN Trace.wal |-> [Trace.wal[n] EXCEPT !.relations = RangeOf(@)]]}
TracePages   == UNION {{r} \X (0..Trace.lengths[r] - 1) : r \in TraceRelations}
TraceBuffers == Trace.pages

(* A file may be left over from before the crash; then it stays. *)
LeftOver(length) == Max(length, 0)

-----------------------------------------------------------------------------
Events == Trace.events
Call(i, call) == i <= Len(Events) /\ Events[i].call = call

(* The pages that replay must read from disk. *)
Reads ==
    {p \in {ref.page : ref \in {r \in RangeOf(wal[current].refs) : r.how = "read"}} :
        Exists(store, p) /\ \A b \in 1..Buffers : pool[b] # p}

FollowAdvise ==
    /\ Judge
    /\ IF advised' = advised THEN done' = done
       ELSE /\ Call(done + 1, "advise")
            /\ Events[done + 1].page \in {g.page : g \in advised' \ advised}
            /\ done' = done + 1

FollowReads ==
    /\ ReplayCurrent
    /\ done' = done + Cardinality(Reads)
    /\ \A i \in done + 1..done' : Call(i, "read")
    /\ {Events[i].page : i \in done + 1..done'} = Reads

Unseen == (Complete \/ Decode \/ LeaveRecord \/ LimitReached \/ Read \/ Give) /\ done' = done

Finish == pc = "ended" /\ done = Len(Events) /\ UNCHANGED <<allvars, done>>

TraceSpec ==
    StartPrefetch /\ done = 0 /\ [][FollowAdvise \/ FollowReads \/ Unseen \/ Finish]_<<allvars, done>>

(* What differs between two states of one behaviour; the WAL is always the same. *)
WithoutWal == <<pc, replayed, arrived, decoded, current, at, suspended, ring, filters, recent, hand, held, advised, done>>

-----------------------------------------------------------------------------
(* Altered traces *)
AnAdvise(list) == CHOOSE i \in 5..Len(list) :
                    /\ list[i].call = "advise" /\ list[i - 1].call = "read"
                    /\ \A j \in 5..(i - 1) : ~(list[j].call = "advise" /\ list[j - 1].call = "read")
Without(list, i) == SubSeq(list, 1, i - 1) \o SubSeq(list, i + 1, Len(list))
Insert(list, i, item) == SubSeq(list, 1, i - 1) \o <<item>> \o SubSeq(list, i, Len(list))
ReadOf(list, i) == CHOOSE j \in i..Len(list) : list[j].call = "read" /\ list[j].page = list[i].page
                                               /\ \A k \in i..(j - 1) : list[k].call # "read" \/ list[k].page # list[i].page

Dropped(trace) == [trace EXCEPT !.events = Without(@, AnAdvise(@))]
Late(trace)    == [trace EXCEPT !.events = LET i == AnAdvise(@) IN Without(Insert(@, ReadOf(@, i) + 1, @[i]), i)]
Early(trace)   == [trace EXCEPT !.events = LET i == AnAdvise(@) IN Insert(Without(@, i), i - 1, @[i])]

Dropped3 == Dropped(pg15_3)
Late3    == Late(pg15_3)
Early3   == Early(pg15_3)
OneMore  == {Trace.concurrency + 1}

(* Broken prefetchers *)
OverLate(lsn, upto)   == lsn < upto - 1
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
----------------------- MODULE TraceRecoveryPrefetch -----------------------
(***************************************************************************)
(* Follows what a prefetcher did, event by event.  RecoveryPrefetch runs   *)
(* over the same records; each of its steps that a trace of this sort      *)
(* tells must be the next event of the trace.  The reads of one record may *)
(* come in any order.  An event that fits no step is a deadlock.           *)
(*                                                                         *)
(* Three sorts of traces                                                   *)
(*   - Crash recoveries of real servers: their system calls, beside the    *)
(*     WAL that they replayed.  They tell advises and reads.  The decode   *)
(*     buffer never fills.  If not all pages fit into the server's buffers *)
(*     (evicts), a page is taken for gone where the trace advises or reads *)
(*     it again.                                                           *)
(*   - Logs of the definition, ref/prefetch.py, and of csrc/prefetch, in   *)
(*     random worlds: what became of each reference, each record that is   *)
(*     given to replay, each change of the concurrency.                    *)
(*   - Logs of the engine of csrc/prefetch on real files: advises, reads   *)
(*     and uses.                                                           *)
(*                                                                         *)
(* The model has one behaviour for a trace, so a run that holds has        *)
(* followed all events, and the prefetcher has ended.  A trace that was    *)
(* altered says at which event; there, and nowhere else, it must be        *)
(* refused.  The invariants and the refinement are checked by              *)
(* MCRecoveryPrefetch.                                                     *)
(*                                                                         *)
(* Recorded traces, in traces/, are made by `python -m                     *)
(* tests.prefetch.test_recorded`; spec/tools/traces.py makes the module    *)
(* RecordedPrefetch of them.  tests/prefetch/test_followed.py makes logs,  *)
(* and gives them to this module.                                          *)
(*                                                                         *)
(* spec variable        trace: field            PostgreSQL                 *)
(*   concurrency          concurrency, call =     maintenance_io_concurrency*)
(*                        "concurrency": to                                *)
(*   store.size           sizes, missing          lseek(SEEK_END), openat  *)
(*   pool                 buffers, evicts         shared_buffers           *)
(*   decoded - current    room                    wal_decode_buffer_size   *)
(*   arrived              late                    when WAL is received     *)
(*   wal: refs            wal: refs               pg_waldump: blkref       *)
(*   wal: effect,         wal: effect, relations, pg_waldump: CREATE,      *)
(*     relations, to        to                      TRUNCATE, rels         *)
(*   advised              call = "advise": page   posix_fadvise(WILLNEED)  *)
(*   hints                call = "hit": page,     recent_buffer            *)
(*                          buffer                                         *)
(*   (replay reads)       call = "read": page     pread                    *)
(*   replayed             call = "use": record    rm_redo                  *)
(*                                                                         *)
(* How to break it: TraceRecoveryPrefetch_mutant_* alter the trace by one  *)
(* event, or follow it by the rules of a broken prefetcher.                *)
(***************************************************************************)
EXTENDS RecoveryPrefetch, RecordedPrefetch

CONSTANT Trace  \* [server |-> its version, if it is one, tells |-> the calls that it tells, concurrency, buffers, room,
                \*  sizes |-> [relation |-> length], missing |-> relations, databases |-> [relation |-> its database],
                \*  lengths |-> [relation |-> pages of it that may matter], wal |-> records,
                \*  evicts |-> whether pages leave buffers when they like,
                \*  again |-> the first advise or read of a page that was read before,
                \*  late |-> for each record how many are replayed before it arrives (none: all is there at the start),
                \*  wrong |-> the first event that was altered, 0 if none, events |-> calls]

VARIABLES
    which,  \* the trace that is followed
    done,   \* how many of its events have been followed
    gone    \* how many pages were taken for gone

-----------------------------------------------------------------------------
(* Constants that the traces tell. Those that are followed in one run have *)
(* the same relations, lengths, buffers and room.                          *)
Traces           == <<Trace>>
RangeOf(list)    == {list[i] : i \in DOMAIN list}
One              == Traces[1]
TraceRelations   == DOMAIN One.databases
TraceDatabase(r) == One.databases[r]
TraceSizes       == [r \in TraceRelations |-> IF r \in DOMAIN One.sizes THEN One.sizes[r] ELSE -1]
TracePages       == UNION {{r} \X (0..One.lengths[r] - 1) : r \in TraceRelations}
TraceBuffers     == One.buffers
TraceRoom        == One.room
WalOf(trace)     == [n \in DOMAIN trace.wal |-> [trace.wal[n] EXCEPT !.relations = RangeOf(@)]]
TraceWals        == {WalOf(trace) : trace \in RangeOf(Traces)}
ChangesOf(trace) == {i \in DOMAIN trace.events : trace.events[i].call = "concurrency"}
TraceConcurrencies ==
    UNION {{trace.concurrency} \cup {trace.events[i].to : i \in ChangesOf(trace)} : trace \in RangeOf(Traces)}

(* A server finds files that are left over from before its crash; they stay. *)
LeftOver(length) == IF "server" \in DOMAIN One THEN Max(length, 0) ELSE 0

-----------------------------------------------------------------------------
tracevars == <<allvars, which, done, gone>>
Followed  == Traces[which]
Events   == Followed.events
Event    == Events[done + 1]
Recorded(call)   == \E i \in DOMAIN Followed.tells : Followed.tells[i] = call
NextIs(call) == done < Len(Events) /\ Event.call = call

InBuffer(page) == \E b \in 1..Buffers : pool[b] = page

(* What becomes of a reference, in the order of the questions. *)
Verdict(ref) ==
    IF ref.how = "fork" THEN "other_fork"
    ELSE IF ref.how = "image" THEN "skip_fpw"
    ELSE IF ref.how = "init" THEN "skip_init"
    ELSE IF Filtered(ref.page) THEN "skip_new"
    ELSE IF Seen(ref.page) THEN "skip_rep"
    ELSE IF ~Exists(store, ref.page) THEN "skip_new"
    ELSE IF InBuffer(ref.page) THEN "hit"
    ELSE "advise"

FollowJudge ==
    /\ Judge
    /\ LET ref == wal[at.record].refs[at.next]
           verdict == Verdict(ref)
       IN /\ (verdict = "advise") = (advised' # advised)
          /\ IF ~Recorded(verdict) THEN done' = done
             ELSE /\ NextIs(verdict) /\ Event.page = ref.page
                  /\ verdict = "hit" => pool[Event.buffer] = ref.page
                  /\ done' = done + 1

(* The pages that replay may read, and those that it must read from disk. *)
MayRead == {ref.page : ref \in {r \in RangeOf(wal[current].refs) : r.how = "read"}}
Reads   == {p \in MayRead : Exists(store, p) /\ ~InBuffer(p)}

LastRead == done + IF Recorded("read") THEN Cardinality(Reads) ELSE 0
FollowReplay ==
    /\ ReplayCurrent
    /\ LET last == LastRead
       IN /\ last <= Len(Events)
          /\ \A i \in done + 1..last : Events[i].call = "read"
          /\ Recorded("read") => {Events[i].page : i \in done + 1..last} = Reads
          /\ IF ~Recorded("use") THEN done' = last
             ELSE /\ last < Len(Events) /\ Events[last + 1].call = "use" /\ Events[last + 1].record = current
                  /\ done' = last + 1

FollowChange == Reconfigure /\ NextIs("concurrency") /\ concurrency' = Event.to /\ done' = done + 1

(* Pages that the next events advise or read, and that would be in buffers. *)
Judging  == pc \in {"look", "look_again"} /\ MayLook /\ at.record # 0 /\ at.next <= Len(wal[at.record].refs)
Judged   == wal[at.record].refs[at.next]
ReadNext ==
    {i \in done + 1..Min(done + Cardinality(MayRead), Len(Events)) :
        \A j \in done + 1..i : Events[j].call = "read" /\ Events[j].page \in MayRead}
Gone ==
    IF ~Followed.evicts THEN {}
    ELSE IF Judging THEN {p \in {Judged.page} : Verdict(Judged) = "hit" /\ NextIs("advise") /\ Event.page = p}
    ELSE IF pc = "replay" THEN {p \in {Events[i].page : i \in ReadNext} : InBuffer(p)}
    ELSE {}
FollowEviction ==
    /\ pool' = [b \in 1..Buffers |-> IF pool[b] \in Gone THEN NoPage ELSE pool[b]]
    /\ gone' = gone + Cardinality(Gone)
    /\ UNCHANGED <<vars, pc, arrived, current, concurrency, begin, looking, queues, hand, advised, done>>

(* A record arrives when the trace says so, or when nothing else is left to be replayed. *)
Waits == pc \in {"look", "look_again"} /\ MayLook /\ at.record = 0 /\ Blocking
Arrives ==
    /\ arrived < Len(wal) /\ arrived = decoded
    /\ arrived >= Len(Followed.late) \/ Followed.late[arrived + 1] <= replayed \/ Waits
FollowArrival == Arrive /\ done' = done

Unseen == (Complete \/ Decode \/ LeaveRecord \/ LimitReached \/ Read \/ Give) /\ done' = done

Step ==
    IF Gone # {} THEN FollowEviction
    ELSE /\ gone' = gone
         /\ IF Arrives THEN FollowArrival
            ELSE IF pc = "complete" /\ NextIs("concurrency") THEN FollowChange
            ELSE FollowJudge \/ FollowReplay \/ Unseen

Accepted ==
    /\ pc = "ended" /\ done = Len(Events) /\ Followed.wrong = 0
    /\ Followed.evicts => gone > 0

(* The reads of a record and its use are one step; any of them may be the event that was altered. *)
Refused ==
    /\ Followed.wrong \in done + 1..(IF pc = "replay" THEN LastRead ELSE done) + 1
    /\ ~ENABLED Step

Finish == (Accepted \/ Refused) /\ UNCHANGED tracevars

TraceInit ==
    /\ which \in DOMAIN Traces
    /\ wal = WalOf(Followed)
    /\ concurrency = Followed.concurrency
    /\ StartPrefetch
    /\ done = 0
    /\ gone = 0
TraceSpec == TraceInit /\ [][(Step /\ which' = which) \/ Finish]_tracevars

-----------------------------------------------------------------------------
(* What differs between two states of one behaviour; the WAL of a trace is always the same. *)
WithoutWal ==
    <<pc, which, replayed, arrived, decoded, current, at, suspended, concurrency, ring, filters, recent, hand, held,
      advised, done, gone>>

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
OneMore3 == [pg15_3 EXCEPT !.concurrency = @ + 1]

(* As if no page left its buffer: refused where one is advised or read that was read before. *)
SmallAndAllFit == <<pg15_small, [pg15_small EXCEPT !.evicts = FALSE, !.wrong = pg15_small.again]>>

(* Broken prefetchers *)
OverLate(lsn, upto)   == lsn < upto - 1
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE TraceRangelock ---------------------------
(***************************************************************************)
(* Follows a log of the C lock, event by event: each is one step of        *)
(* rangelock.  An event that fits no step is a deadlock; an accepted trace *)
(* has one state more than it has events.                                  *)
(*                                                                         *)
(* Traces are in traces/, recorded by python -m tests.rangelock.tracing    *)
(*                                                                         *)
(* spec variable     event: field                  pgq_rangelock_event     *)
(*   (the step)        what: request, refuse,        what                  *)
(*                       release, cancel, timeout                          *)
(*   held, queue: who  ticket                        ticket                *)
(*   lo, hi            lo, hi                        lo, hi                *)
(*   exclusive         exclusive                     exclusive             *)
(*   held' \ held      granted: tickets              the grants that       *)
(*                                                   follow the event      *)
(***************************************************************************)
EXTENDS rangelock, RecordedRangelock

CONSTANTS
    Trace,
    Which,   \* an event to be altered: the Which-th that How can alter; 0: none
    How      \* see Alter

VARIABLE at  \* the next event

AsRequest(e) == Request(e.ticket, <<e.lo, e.hi>>, e.exclusive)
Tickets(s) == {s[i] : i \in 1 .. Len(s)}

(* What How does to an event, and to which ones. *)
Alter(e) ==
    CASE How = "grants nobody"     -> [e EXCEPT !.granted = <<>>]
      [] How = "is granted itself" -> [e EXCEPT !.granted = <<e.ticket>>]
      [] How = "another range"     -> [e EXCEPT !.lo = @ + 1, !.hi = @ + 1]
      [] How = "another mode"      -> [e EXCEPT !.exclusive = ~@]
      [] How = "another ticket"    -> [e EXCEPT !.ticket = 0]
      [] OTHER -> e
CanAlter(e) ==
    CASE How = "grants nobody"     -> e.granted # <<>>
      [] How = "is granted itself" -> e.what = "request" /\ e.granted = <<>>
      [] How \in {"another range", "another mode", "another ticket"} -> e.what = "release"
      [] OTHER -> FALSE
Event == LET e == Trace.events[at]
             before == {i \in 1 .. at : CanAlter(Trace.events[i])}
         IN IF CanAlter(e) /\ Cardinality(before) = Which THEN Alter(e) ELSE e

(* Whom the step grants. *)
Granted(e) == Tickets(e.granted)

TraceInit == Init /\ at = 1

TraceStep ==
    LET e == Event r == AsRequest(e) IN
    /\ at <= Len(Trace.events)
    /\ at' = at + 1
    /\ \/ e.what = "request" /\ Settle(held, Append(queue, r))
       \/ e.what = "refuse" /\ ~MayGo(held, Append(queue, r), Len(queue) + 1) /\ UNCHANGED vars
       \/ e.what = "release" /\ r \in held /\ Settle(held \ {r}, queue)
       \/ /\ e.what \in {"cancel", "timeout"}
          /\ \E i \in 1 .. Len(queue) : queue[i] = r /\ Settle(held, Without(queue, {i}))
    /\ {x.who : x \in held' \ held} = Granted(e)

TraceEnd == at = Len(Trace.events) + 1 /\ UNCHANGED <<vars, at>>

TraceSpec == TraceInit /\ [][TraceStep \/ TraceEnd]_<<vars, at>>

\* ---- for traces that must be refused ----
Anybody(e) == {x.who : x \in held' \ held}
IgnoresHolders(h, q, i) == \A j \in 1 .. i - 1 : ~Conflict(q[j], q[i])
SettleNobody(h, q) ==
    IF Len(q) > Len(queue)
    THEN LET going == {i \in 1 .. Len(q) : MayGo(h, q, i)}
         IN held' = h \cup {q[i] : i \in going} /\ queue' = Without(q, going)
    ELSE held' = h /\ queue' = q
=============================================================================

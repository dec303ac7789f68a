\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCrangelock ----------------------------
(* rangelock with bounds, and definitions that are wrong on purpose.       *)
EXTENDS rangelock, TLC

\* Two bytes, and both together; three bytes, and two that overlap.
Wide  == {<<0, 1>>, <<1, 2>>, <<0, 2>>}
Chain == {<<0, 2>>, <<1, 3>>, <<2, 3>>}
Pages == {<<0, 1>>, <<1, 2>>, <<2, 3>>}

\* ---- two ranges at a time ----
Second(p, r)           == Cardinality(HeldBy(p)) < 2 /\ \A s \in HeldBy(p) : s.hi <= r.lo \/ r.hi <= s.lo
InAscendingOrder(p, r) == Second(p, r) /\ \A s \in HeldBy(p) : s.hi <= r.lo

\* ---- broken rules ----
\* Only what is held counts: later readers pass a writer.
PassesTheQueue(h, q, i) == \A s \in h : ~Conflict(s, q[i])
\* Only the queue counts.
IgnoresHolders(h, q, i) == \A j \in 1 .. i - 1 : ~Conflict(q[j], q[i])
\* A release grants the first only.
FirstOnly(h, q) ==
    LET going == {i \in 1 .. Len(q) : MayGo(h, q, i)}
    IN IF going = {} THEN {} ELSE {CHOOSE i \in going : \A j \in going : i <= j}
SettleFirst(h, q) ==
    LET going == FirstOnly(h, q)
    IN held' = h \cup {q[i] : i \in going} /\ queue' = Without(q, going)
\* Ranges conflict only where they begin at the same byte; or also where one begins at the end of the other.
ConflictByStart(r, s) == r.lo = s.lo /\ (r.exclusive \/ s.exclusive)
ConflictByTouch(r, s) == r.lo <= s.hi /\ s.lo <= r.hi /\ (r.exclusive \/ s.exclusive)
\* Whom a release lets go leaves the queue, and holds nothing.
SettleInto(h, q, going) == held' = h /\ queue' = Without(q, going)
SettleLosing(h, q) == SettleInto(IF Len(q) > Len(queue) THEN h \cup {q[i] : i \in Going(h, q)} ELSE h, q, Going(h, q))
\* The last to come is put before all that wait.
SettleTurned(h, q) ==
    LET going == Going(h, q) left == Without(q, going) n == Len(left)
    IN /\ held' = h \cup {q[i] : i \in going}
       /\ queue' = IF n = 0 THEN left ELSE <<left[n]>> \o SubSeq(left, 1, n - 1)
\* A request for the last byte beyond the file.
AskBeyond == \E p \in Processes : ~Waits(p) /\ Settle(held, Append(queue, Request(p, <<9, 9>>, TRUE)))
NextBeyond == Next \/ AskBeyond

\* ---- states that must be reachable ----
NeverTwoReaders == ~\E r, s \in held : r # s /\ r.lo < s.hi /\ s.lo < r.hi
NeverTwoWritersApart == ~\E r, s \in held : r # s /\ r.exclusive /\ s.exclusive
\* A request waits though all that is held would let it go.
NeverBehindAWaiter == ~\E i \in 1 .. Len(queue) : \A s \in held : ~Conflict(s, queue[i])
NeverTwoWoken == [][Cardinality(held' \ held) < 2]_vars
=============================================================================

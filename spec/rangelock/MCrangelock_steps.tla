\* SPDX-License-Identifier: PostgreSQL
------------------------- MODULE MCrangelock_steps -------------------------
(* rangelock_steps with bounds, and definitions that are wrong on purpose. *)
EXTENDS rangelock_steps, TLC

One  == {<<0, 1>>}
Wide == {<<0, 1>>, <<0, 2>>}
Three == {<<0, 1>>, <<1, 2>>, <<0, 2>>}

\* Each thread asks once, the second one alone for an exclusive range.
Once == \A p \in Processes :
    pc[p] = "outside" /\ pc'[p] = "comes" => request[p] = NoRequest /\ request'[p].exclusive = (p = "p2")

\* The kernel does not look at the word again before the thread sleeps.
SleepsBlindly(p) == TRUE
\* A cancellation wakes before it sets the state.
WakeThenSet(p) ==
    /\ mutex = p /\ granted = {}
    /\ \/ /\ pc[p] = "grants and cancels"
          /\ asleep' = asleep \ SleepersOf(target[p])
          /\ Goto(p, "sets")
          /\ UNCHANGED state
       \/ /\ pc[p] = "sets"
          /\ state' = [state EXCEPT ![target[p]] = "cancelled"]
          /\ Goto(p, "grants")
          /\ UNCHANGED asleep
    /\ UNCHANGED <<alone, arrived, request, blockers, mutex, granted, wakes, call, target>>
\* A release grants one of those that it lets go.
OneOnly(unblocked) ==
    LET all == {q \in unblocked : blockers[q] = 1}
    IN IF all = {} THEN {} ELSE {CHOOSE q \in all : TRUE}
\* Who leaves unblocks earlier requests too.
AlsoEarlier(p) == {q \in Arrived \ {p} : Conflict(request[p], request[q])}
\* A try that would have to wait stays in the queue, and its thread does not wait.
StaysThoughTried(p) ==
    LET n == Count(request[p]) IN
    /\ mutex = p /\ pc[p] = "arrives" /\ alone = "shut"
    /\ arrived' = Append(arrived, p)
    /\ blockers' = [blockers EXCEPT ![p] = n]
    /\ state' = [state EXCEPT ![p] = IF n = 0 THEN "held" ELSE "awaited"]
    /\ Goto(p, IF n > 0 /\ call[p] = "lock" THEN "unlocks to wait" ELSE "unlocks")
    /\ UNCHANGED <<alone, request, mutex, granted, wakes, asleep, call, target>>
\* Any number of threads wait with a hold; a wake-up finds one of them.
NeverRefused(q) == FALSE
\* Whoever finds that nothing waits looks again, and sleeps with who asks meanwhile.
SomethingMay(q) == FALSE
\* Who was woken may be late too.
Anyhow(p) == TRUE
\* Who has set no time limit may be late too.
LateAtAnyTime(p) ==
    /\ pc[p] = "asleep" /\ MayBeLate(p)
    /\ asleep' = asleep \ {p} /\ Goto(p, "is late")
    /\ UNCHANGED <<shared, wakes, call, target>>
\* A thread goes on before all whom it has to wake are awake.
LeavesEarly(p) ==
    /\ pc[p] = "wakes"
    /\ Goto(p, "outside")
    /\ UNCHANGED <<shared, wakes, asleep, call, target>>
\* Who falls asleep wakes all others.
WakesTheOthers(p) ==
    /\ pc[p] = "falls asleep" /\ KernelLooksAgain(p)
    /\ asleep' = {p} /\ Goto(p, "asleep")
    /\ UNCHANGED <<shared, wakes, call, target>>
\* Who finds somebody alone does not put it into a tree.
FoundNobody == <<>>
\* Who comes does not look whether somebody is alone.
NobodyIsInTheTrees(p) == alone # "shut"
\* Who leaves the trees opens the word, though others are there.
OpensAnyhow(others) == TRUE
\* Who came alone leaves without a look: it may be in a tree by now.
LeavesBlindly(p) == blockers[p] = 0
\* Who gives back believes the state.
SaysThatItIsHeld(q) == state[q] = "held"
\* Who finds that another one gives the hold back comes again.
ComesAgain(p) ==
    LET q == target[p] IN
    /\ mutex = p /\ pc[p] = "releases" /\ alone = "shut"
    /\ IF IsInATree(q)
       THEN /\ Leave(q)
            /\ state' = [state EXCEPT ![q] = "idle"]
            /\ Goto(p, "grants")
            /\ UNCHANGED mutex
       ELSE /\ alone' = IF NobodyIsLeft(arrived) THEN "open" ELSE alone
            /\ mutex' = Nobody
            /\ Goto(p, IF state[q] = "held" THEN "leaves" ELSE "outside")
            /\ UNCHANGED <<arrived, blockers, granted, state>>
    /\ UNCHANGED <<request, wakes, asleep, call, target>>
\* A thread that has left the word may stop before it says so.
StopsBeforeItSays == Spec /\ \A p \in Processes :
    WF_vars(Inside(p) /\ pc[p] # "has left") /\ SF_vars(Lock(p)) /\ WF_vars(BeginRelease(p))
\* Who gives back is through, or has left and may stop.
GivingBackEnds == \A p \in Processes : pc[p] = "leaves" ~> pc[p] \in {"outside", "has left"}
\* Who holds a range never gives it back.
NeverReleases == Spec /\ \A p \in Processes : WF_vars(Inside(p)) /\ SF_vars(Lock(p))

\* ---- states that must be reachable ----
\* A thread that still waits gives up.
NeverGivesUp == ~\E p \in Processes : pc[p] = "is late" /\ mutex = p /\ IsStillWaiting(target[p])
\* The time is up, and the range was granted meanwhile.
NeverGrantedLate == ~\E p \in Processes : pc[p] = "unlocks to look" /\ state[p] = "held"
\* A thread is woken for no reason: by who granted it an earlier request.
NeverWokenInVain == ~\E p, q \in Processes : p # q /\ p \in wakes[q] /\ pc[p] = "asleep" /\ state[p] = "awaited"
NeverCancelled == ~\E p \in Processes : state[p] = "cancelled" /\ pc[p] = "asleep"
NeverGrantedBeforeSleep == ~\E p \in Processes : pc[p] = "falls asleep" /\ state[p] = "held"
NeverJoined == \A p \in asleep : target[p] = p
NeverTurnedAway == ~\E p \in Processes : pc[p] = "joins" /\ IsRefused(target[p])
NeverFoundAlone == ~\E p \in Processes : mutex = p /\ alone \in Processes /\ pc[p] = "arrives"
\* Its hold is put into a tree before it has set its state.
NeverFoundBeforeItSays == ~\E p \in Processes : pc[p] = "is alone" /\ p \in Arrived
NeverGivenTwice == ~\E p, q \in Processes : p # q /\ target[p] = target[q] /\ pc[p] = "has left" /\ mutex = q /\ pc[q] = "releases"
NeverLetGoByACancel == ~\E p \in Processes : pc[p] = "grants and cancels" /\ granted # {}
NeverTwoAtOnce == Cardinality(granted) < 2
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE MCdatachecksums --------------------------
(* Broken definitions for datachecksums, states that must be reachable.    *)
EXTENDS datachecksums

Always == TRUE
Never == FALSE
AlwaysOf(x) == TRUE
NeverOf(x) == FALSE

-----------------------------------------------------------------------------
(* Upstream's defects. *)
\* Before 25b922ec58 replay took the state from the record of a checkpoint's end, too: that of its begin.
TakesState(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] = "end"
    /\ shared' = [shared EXCEPT ![n] = ToReplay(n)[2]] /\ control' = [control EXCEPT ![n] = ToReplay(n)[2]]
    /\ IF ToReplay(n)[2] # control[n] THEN Emit(n, ToReplay(n)[2]) ELSE UNCHANGED pending
    /\ point' = IF n = "standby" THEN at[n] ELSE point
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, local, boot, absent, entering, pages, check, launch,
                   work, copier, causes, left>>
\* Before d771b0a907 a worker that had ended before the launcher looked counted as failed.
CountsAsFailed == "failed"
\* bf25e5571b: a launcher that has ended no longer counts as running, and then runs launcher_exit.
EndsAndThenExits(l) ==
    \/ /\ launcher[l].step = "done" /\ launcher[l].op # "exit"
       /\ IF request # "none"
          THEN Turn(l, request) /\ request' = "none" /\ UNCHANGED running
          ELSE Goto(l, "leaving") /\ running' = FALSE /\ UNCHANGED request
       /\ UNCHANGED <<wal, servers, states, caches, pages, check, work, copier, causes, left>>
    \/ /\ launcher[l].step = "leaving"
       /\ IF shared["primary"] = "inprogress_on"
          THEN Turn(l, "exit")
          ELSE launcher' = [launcher EXCEPT ![l] = Idle]
       /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, work, copier, causes, left>>
\* A launcher on its way out does not look for a request, and one whose worker was told to abort gives up.
ExitsBlindly(l) ==
    /\ launcher[l].step = "done" /\ launcher[l].op = "exit"
    /\ launcher' = [launcher EXCEPT ![l] = Idle] /\ running' = FALSE
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, request, work, copier, causes, left>>
GivesUp(l) == Turn(l, IF request = "none" THEN "exit" ELSE request)

-----------------------------------------------------------------------------
(* Mutants *)
DoesNotWait(l) ==
    /\ launcher[l].step = "wait" /\ CheckpointIsDone
    /\ CASE launcher[l].to = "inprogress_on"  -> Goto(l, "start")
         [] launcher[l].to = "inprogress_off" -> Switch(l, "off")
         [] OTHER                             -> Goto(l, "done")
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, work, copier, causes, left>>
LogsNothing(i, page) ==
    /\ worker[i].step = "running" /\ page \in worker[i].todo
    /\ worker' = [worker EXCEPT ![i].todo = @ \ {page}]
    /\ dirty' = [dirty EXCEPT !["primary"] = @ \cup {page}]
    /\ UNCHANGED <<wal, result, servers, states, caches, disk, check, launch, invocation, pid, copier,
                   causes, left>>
StaysRunning(l) ==
    /\ launcher[l].step = "done" /\ launcher[l].op # "exit"
    /\ launcher' = [launcher EXCEPT ![l] = Idle]
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, work, copier, causes, left>>

-----------------------------------------------------------------------------
(* States that must be reachable *)
Quiet == \A l \in Launchers : launcher[l].step = "idle"
Began == wal[1][2]
NeverOn        == ~(Quiet /\ Began = "off" /\ Runs /\ shared["primary"] = "on")
NeverOff       == ~(Quiet /\ Began = "on" /\ Runs /\ shared["primary"] = "off")
NeverMixed     == ~(\E p, q \in Primary : local[p] = "on" /\ local[q] = "inprogress_on")
NeverOld       == ~(\E i \in 1..Invocations : i # invocation /\ worker[i].step = "running")
NeverCopied    ==
    ~(copier = "done" /\ shared["primary"] = "on" /\ Began = "off" /\ \E page \in Copies : disk["primary"][page] = "summed")
NeverStandbyOn ==
    ~(Standby # {} /\ Began = "off" /\ shared["standby"] = "on" /\ \A page \in Pages : disk["standby"][page] = "summed")
NeverPromoted  == ~(Standby # {} /\ mode["standby"] = "normal" /\ wal[Len(wal)] = <<"state", "off", 0>>)
NeverRecovered == ~(Began = "off" /\ Runs /\ shared["primary"] = "on" /\ left.crash < Crashes)
NeverRestartPoint == ~(Standby # {} /\ lastredo["standby"] > 2 /\ left.crash < Crashes)
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
--------------------------- MODULE datachecksums ---------------------------
(***************************************************************************)
(* Data checksums that are switched on and off while a server runs         *)
(* (20devel, and the betas of 19).                                         *)
(*                                                                         *)
(* The state is off, inprogress_on, on or inprogress_off.  Who writes a    *)
(* page sums it unless the state is off; who reads one verifies it if the  *)
(* state is on.  A switch is a WAL record, a value in shared memory, one   *)
(* in pg_control, and a ProcSignalBarrier, at which each process renews    *)
(* its own copy.  A launcher switches.  To enable, it switches to          *)
(* inprogress_on, starts a worker that writes every page anew, and         *)
(* switches to on; to disable, it switches to inprogress_off and off.  A   *)
(* standby, or a recovery, does as the records say.                        *)
(* Upstream: src/backend/postmaster/datachecksum_state.c,                  *)
(* AbsorbDataChecksumsBarrier, StartDataChecksumsWorkerLauncher,           *)
(* ProcessSingleRelationFork, ProcessDatabase, launcher_exit,              *)
(* DataChecksumsWorkerLauncherMain, ProcessAllDatabases,                   *)
(* WaitForAllTransactionsToFinish, DataChecksumsWorkerMain;                *)
(* src/backend/access/transam/xlog.c, SetDataChecksumsOnInProgress,        *)
(* SetDataChecksumsOn, SetDataChecksumsOff, InitLocalDataChecksumState,    *)
(* DataChecksumsNeedWrite, DataChecksumsNeedVerify, XLogChecksums,         *)
(* StartupXLOG, CreateCheckPoint, CreateRestartPoint, xlog_redo,           *)
(* xlog2_redo;                                                             *)
(* src/backend/storage/ipc/procsignal.c, ProcessProcSignalBarrier;         *)
(* src/backend/commands/dbcommands.c, CreateDatabaseUsingFileCopy.         *)
(* As of 617636328f (20devel), but for what BeginsWhen, RedoWhen,          *)
(* VerifiesInRecovery, AfterAbort, Done and Exited say.                    *)
(*                                                                         *)
(* What is modelled                                                        *)
(*   - A page on disk is summed, or plain: its checksum is wrong.  One in  *)
(*     memory is dirty, or could be read from the disk at any time.        *)
(*   - The WAL is the list of records <<type, value, index>>: "state" (a   *)
(*     switch), "redo" (a checkpoint begins, in this state), "end" (it has *)
(*     ended, and began at this index), "image" (of a page), "change" (of  *)
(*     a page, which replay must read), "copy" (files, by CREATE DATABASE).*)
(*   - A process that comes has the postmaster's old copy of the state     *)
(*     until it reads the one in shared memory.                            *)
(* What is simplified                                                      *)
(*   - What is in the WAL is durable.  The startup process, which waits    *)
(*     for its own barriers, has no copy of its own: it goes by shared.    *)
(*   - There is one list of pages, one worker at a time does them all.     *)
(*   - A checkpoint waits for nobody (DELAY_CHKPT_START): nothing here     *)
(*     needs it.                                                           *)
(*   - A restartpoint writes all that is dirty.                            *)
(*                                                                         *)
(* How to break it: switch before an earlier barrier is absorbed, let a    *)
(* checkpoint begin between record and shared memory, verify in recovery   *)
(* what may be newer than the WAL.  MCdatachecksums does these.            *)
(***************************************************************************)
EXTENDS FiniteSets, Naturals, Sequences

CONSTANTS
    Primary,        \* processes of the primary that read and write pages
    Standby,        \* of a standby; none: there is no standby
    Comers,         \* of Primary, those who start later
    Launchers,      \* who may be launchers: one, since there is one at a time
    Pages,
    Copies,         \* of Pages, those that CREATE DATABASE copies, from one that is there
    Starts,         \* the states in which a behaviour may begin
    Shutdown,       \* recovery begins behind the record of a shutdown, which it does not replay
    Images,         \* full_page_writes
    Invocations,    \* how often a worker may be started
    Asks, Kills, Failures, Changes, Checkpoints, Crashes, Promotions    \* how often each may happen

VARIABLES
    wal,
    mode,           \* of each node: "normal", "recovery", "ending" (of recovery), "stopped"
    at,             \* of each node: the record that it replays next
    minrec,         \* of each node: where it is consistent
    lastredo,       \* of each node: where its next recovery begins
    point,          \* of the standby: the last checkpoint that it has replayed, by its index
    shared,         \* of each node: XLogCtl->data_checksum_version
    control,        \* of each node: ControlFile->data_checksum_version
    local,          \* of each process: LocalDataChecksumState
    pending,        \* of each process: the barriers to absorb
    boot,           \* the postmaster's copy
    absent,         \* processes that are not there
    entering,       \* those who have a ProcSignal slot, and have not read shared yet
    disk,           \* of each node, of each page: "none", "plain", "summed"
    dirty,          \* of each node: pages
    ckpt,           \* the primary's checkpoint: its begin, what is to be written, whether the launcher waits for it
    asked,          \* the launcher has asked for a checkpoint
    launcher,       \* of each launcher: its step, to which state it switches, what it is to do
    running,        \* launcher_running
    request,        \* a request that no launcher has taken yet
    worker,         \* of each invocation
    invocation,     \* worker_invocation: the last one
    pid,            \* worker_pid: the invocation that the launcher would signal; 0: none
    result,         \* worker_result
    copier,         \* who runs CREATE DATABASE
    causes,         \* what has cancelled the enabling: "request", "signal", "error"
    left            \* how often each may happen yet

servers  == <<mode, at, minrec, lastredo, point>>
states   == <<shared, control>>
caches   == <<local, pending, boot, absent, entering>>
pages    == <<disk, dirty>>
check    == <<ckpt, asked>>
launch   == <<launcher, running, request>>
work     == <<worker, invocation, pid, result>>
vars     == <<wal, servers, states, caches, pages, check, launch, work, copier, causes, left>>

Nodes     == IF Standby = {} THEN {"primary"} ELSE {"primary", "standby"}
Procs(n)  == IF n = "primary" THEN Primary ELSE Standby
NodeOf(p) == IF p \in Primary THEN "primary" ELSE "standby"
All       == Primary \cup Standby
States    == {"off", "inprogress_on", "on", "inprogress_off"}
NoCkpt    == [redo |-> 0, state |-> "off", due |-> {}, serves |-> FALSE]
NoWorker  == [step |-> "none", todo |-> {}]
Idle      == [step |-> "idle", to |-> "off", op |-> "exit"]
Source    == CHOOSE page \in Pages : page \notin Copies
Exists(n) == {page \in Pages : disk[n][page] # "none"}

Init ==
    \E s \in Starts :
        /\ wal = << <<IF Shutdown THEN "end" ELSE "redo", s, 1>> >>
        /\ mode = [n \in Nodes |-> IF n = "primary" THEN "normal" ELSE "recovery"]
        /\ at = [n \in Nodes |-> 2] /\ minrec = [n \in Nodes |-> 2]
        /\ lastredo = [n \in Nodes |-> IF Shutdown THEN 2 ELSE 1] /\ point = 0
        /\ shared = [n \in Nodes |-> s] /\ control = [n \in Nodes |-> s]
        /\ local = [p \in All |-> s] /\ pending = [p \in All |-> {}] /\ boot = s
        /\ absent = Comers /\ entering = {}
        /\ disk = [n \in Nodes |-> [page \in Pages |-> IF page \in Copies THEN "none"
                                                       ELSE IF s = "on" THEN "summed" ELSE "plain"]]
        /\ dirty = [n \in Nodes |-> {}]
        /\ ckpt = NoCkpt /\ asked = FALSE
        /\ launcher = [l \in Launchers |-> Idle] /\ running = FALSE /\ request = "none"
        /\ worker = [i \in 1..Invocations |-> NoWorker] /\ invocation = 0 /\ pid = 0 /\ result = "failed"
        /\ copier = "idle" /\ causes = {}
        /\ left = [ask |-> Asks, kill |-> Kills, fail |-> Failures, change |-> Changes, ckpt |-> Checkpoints,
                   crash |-> Crashes, promote |-> Promotions]

Runs == mode["primary"] = "normal"
Log(type, value, index) == wal' = Append(wal, <<type, value, index>>)
Spend(what) == left[what] > 0 /\ left' = [left EXCEPT ![what] = @ - 1]
Emit(n, s) == pending' = [p \in All |-> IF p \in Procs(n) \ absent THEN pending[p] \cup {s} ELSE pending[p]]
Absorbed(n) == \A p \in Procs(n) : pending[p] = {}

-----------------------------------------------------------------------------
(* Processes *)

(* checksum_barriers; in recovery the records are trusted. *)
Allowed == {<<"on", "inprogress_off">>, <<"inprogress_off", "off">>, <<"inprogress_on", "off">>,
            <<"off", "inprogress_on">>, <<"inprogress_on", "on">>, <<"inprogress_off", "on">>,
            <<"inprogress_on", "inprogress_off">>, <<"inprogress_off", "inprogress_on">>, <<"off", "inprogress_off">>}

Move(p, from, to) ==
    IF from = "error" \/ to \notin pending[p] \/ from = to THEN from
    ELSE IF mode[NodeOf(p)] # "normal" \/ <<from, to>> \in Allowed THEN to ELSE "error"

(* Of several barriers that wait, a process takes the one with the lowest number first, not the oldest. *)
AllMoves(p) ==
    Move(p, Move(p, Move(p, Move(p, local[p], "off"), "inprogress_on"), "inprogress_off"), "on")

(* Interrupts are held until the process has read the state. *)
Held(p) == p \in entering

Absorb(p) ==
    /\ pending[p] # {} /\ ~Held(p)
    /\ AllMoves(p) # "error"
    /\ local' = [local EXCEPT ![p] = AllMoves(p)]
    /\ pending' = [pending EXCEPT ![p] = {}]
    /\ UNCHANGED <<wal, servers, states, boot, absent, entering, pages, check, launch, work, copier, causes, left>>

Enter(p) ==
    /\ p \in absent /\ Runs
    /\ absent' = absent \ {p} /\ entering' = entering \cup {p}
    /\ local' = [local EXCEPT ![p] = boot]
    /\ UNCHANGED <<wal, servers, states, pending, boot, pages, check, launch, work, copier, causes, left>>

ReadState(p) ==
    /\ p \in entering
    /\ entering' = entering \ {p}
    /\ local' = [local EXCEPT ![p] = shared[NodeOf(p)]]
    /\ UNCHANGED <<wal, servers, states, pending, boot, absent, pages, check, launch, work, copier, causes, left>>

(* A change of a page, or a new page *)
Change(n, page) ==
    /\ mode[n] = "normal" /\ page \in Exists(n) \ dirty[n] /\ Spend("change")
    /\ dirty' = [dirty EXCEPT ![n] = @ \cup {page}]
    /\ Log(IF Images THEN "image" ELSE "change", page, 0)
    /\ UNCHANGED <<servers, states, caches, disk, check, launch, work, copier, causes>>

Flush(p, page) ==
    LET n == NodeOf(p) IN
    /\ mode[n] # "stopped" /\ p \notin absent \cup entering /\ page \in dirty[n]
    /\ dirty' = [dirty EXCEPT ![n] = @ \ {page}]
    /\ disk' = [disk EXCEPT ![n][page] = IF local[p] = "off" THEN "plain" ELSE "summed"]
    /\ ckpt' = IF n = "primary" THEN [ckpt EXCEPT !.due = @ \ {page}] ELSE ckpt
    /\ UNCHANGED <<wal, servers, states, caches, asked, launch, work, copier, causes, left>>

(* CREATE DATABASE by file_copy.  It looks at the state twice: the second  *)
(* time it has an XID, for whose end a launcher waits.                     *)
MayCopy == shared["primary"] # "inprogress_on"

CopyBegins ==
    /\ Copies # {} /\ copier = "idle" /\ MayCopy
    /\ copier' = "checked"
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, launch, work, causes, left>>

ChecksAgain == MayCopy

CopyHasXid ==
    /\ copier = "checked"
    /\ copier' = IF ChecksAgain THEN "copying" ELSE "failed"
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, launch, work, causes, left>>

CopyFiles ==
    /\ copier = "copying" /\ Source \notin dirty["primary"]
    /\ copier' = "done"
    /\ disk' = [disk EXCEPT !["primary"] = [page \in Pages |-> IF page \in Copies THEN @[Source] ELSE @[page]]]
    /\ Log("copy", "", 0)
    /\ UNCHANGED <<servers, states, caches, dirty, check, launch, work, causes, left>>

-----------------------------------------------------------------------------
(* The checkpointer *)

(* No checkpoint begins while a switch is in the WAL and not yet in shared *)
(* memory: its record would say the state of before.                       *)
RedoWhen == \A l \in Launchers : launcher[l].step # "publish"

BeginCheckpoint ==
    /\ Runs /\ ckpt.redo = 0 /\ RedoWhen
    /\ IF asked THEN UNCHANGED left ELSE Spend("ckpt")
    /\ Log("redo", shared["primary"], 0)
    /\ ckpt' = [redo |-> Len(wal) + 1, state |-> shared["primary"], due |-> dirty["primary"], serves |-> asked]
    /\ asked' = FALSE
    /\ UNCHANGED <<servers, states, caches, pages, launch, work, copier, causes>>

EndCheckpoint ==
    /\ Runs /\ ckpt.redo # 0 /\ ckpt.due = {}
    /\ Log("end", ckpt.state, ckpt.redo)
    /\ lastredo' = [lastredo EXCEPT !["primary"] = ckpt.redo]
    /\ ckpt' = NoCkpt
    /\ UNCHANGED <<mode, at, minrec, point, states, caches, pages, asked, launch, work, copier, causes, left>>

RestartPoint ==
    /\ Standby # {} /\ mode["standby"] = "recovery" /\ point # 0 /\ dirty["standby"] = {}
    /\ lastredo' = [lastredo EXCEPT !["standby"] = wal[point][3]]
    /\ control' = [control EXCEPT !["standby"] = wal[point][2]]
    /\ point' = 0
    /\ UNCHANGED <<wal, mode, at, minrec, shared, caches, pages, check, launch, work, copier, causes, left>>

CheckpointIsDone == ~asked /\ ~ckpt.serves

-----------------------------------------------------------------------------
(* Requests, and the launcher *)

Goto(l, step) == launcher' = [launcher EXCEPT ![l].step = step]
Switch(l, to) == launcher' = [launcher EXCEPT ![l].step = "record", ![l].to = to]
Turn(l, op)   == launcher' = [launcher EXCEPT ![l].step = "begin", ![l].op = op]

Goal(op) == IF op = "enable" THEN "on" ELSE "off"

(* pg_enable_data_checksums, pg_disable_data_checksums *)
Ask(op) ==
    /\ Runs /\ Spend("ask")
    /\ IF running
       THEN /\ request' = IF \E l \in Launchers : launcher[l].op = op THEN "none" ELSE op
            /\ causes' = IF op = "enable" THEN causes \ {"request"} ELSE causes \cup {"request"}
            /\ UNCHANGED <<launcher, running>>
       ELSE /\ shared["primary"] # Goal(op)
            /\ \E l \in Launchers : launcher[l].step = "idle" /\ Turn(l, op)
            /\ running' = TRUE
            /\ causes' = {}
            /\ UNCHANGED request
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, work, copier>>

(* A launcher that was interrupted may have left a barrier that not all have absorbed. *)
BeginsWhen == Absorbed("primary")

(* The state to switch to first; "": there is nothing to do. *)
First(op, now) ==
    CASE op = "enable"                            -> IF now = "on" THEN "" ELSE "inprogress_on"
      [] op = "exit" /\ now # "inprogress_on"     -> ""
      [] op = "disable" /\ now = "off"            -> ""
      [] op = "disable" /\ now = "inprogress_off" -> "off"
      [] OTHER                                    -> "inprogress_off"

Begin(l) ==
    LET to == First(launcher[l].op, shared["primary"]) IN
    /\ launcher[l].step = "begin" /\ BeginsWhen
    /\ IF to = "" THEN Goto(l, "done") ELSE Switch(l, to)
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, work, copier, causes, left>>

Record(l) ==
    /\ launcher[l].step = "record"
    /\ Log("state", launcher[l].to, 0)
    /\ Goto(l, "publish")
    /\ UNCHANGED <<servers, states, caches, pages, check, running, request, work, copier, causes, left>>

Publish(l) ==
    /\ launcher[l].step = "publish"
    /\ shared' = [shared EXCEPT !["primary"] = launcher[l].to]
    /\ Goto(l, "emit")
    /\ UNCHANGED <<wal, servers, control, caches, pages, check, running, request, work, copier, causes, left>>

(* Whether the launcher waits for a checkpoint, too: then recovery begins  *)
(* behind the switch.  What verifies in recovery needs it.                 *)
Forces(to) == to # "inprogress_on"

EmitBarrier(l) ==
    /\ launcher[l].step = "emit"
    /\ control' = [control EXCEPT !["primary"] = launcher[l].to]
    /\ Emit("primary", launcher[l].to)
    /\ asked' = (asked \/ Forces(launcher[l].to))
    /\ Goto(l, "wait")
    /\ UNCHANGED <<wal, servers, shared, local, boot, absent, entering, pages, ckpt, running, request,
                   work, copier, causes, left>>

WaitEnds(l) ==
    /\ launcher[l].step = "wait" /\ CheckpointIsDone /\ Absorbed("primary")
    /\ CASE launcher[l].to = "inprogress_on"  -> Goto(l, "start")
         [] launcher[l].to = "inprogress_off" -> Switch(l, "off")
         [] OTHER                             -> Goto(l, "done")
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, work, copier, causes, left>>

(* ProcessDatabase; before it, WaitForAllTransactionsToFinish *)
StartWorker(l) ==
    /\ launcher[l].step = "start" /\ copier # "copying" /\ invocation < Invocations
    /\ invocation' = invocation + 1 /\ pid' = 0 /\ result' = "failed"
    /\ worker' = [worker EXCEPT ![invocation + 1] = [step |-> "running", todo |-> Exists("primary")]]
    /\ Goto(l, "started")
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, copier, causes, left>>

SeesRunning(l) ==
    /\ launcher[l].step = "started" /\ worker[invocation].step = "running"
    /\ pid' = invocation
    /\ Goto(l, "working")
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, worker, invocation,
                   result, copier, causes, left>>

(* What the launcher takes for the result of a worker that has ended before anybody looked *)
ResultIfStopped == result

(* After a request to disable that another one has taken back *)
AfterAbort(l) == Turn(l, IF request = "none" THEN "enable" ELSE request)

SeesStopped(l) ==
    LET told == IF launcher[l].step = "started" THEN ResultIfStopped ELSE result IN
    /\ launcher[l].step \in {"started", "working"} /\ worker[invocation].step = "stopped"
    /\ pid' = 0
    /\ CASE told = "success" /\ shared["primary"] = "inprogress_on" -> Switch(l, "on") /\ UNCHANGED request
         [] told = "aborted"                                        -> AfterAbort(l) /\ request' = "none"
         [] OTHER                                                   -> Turn(l, "exit") /\ UNCHANGED request
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, worker, invocation, result,
                   copier, causes, left>>

(* The launcher is terminated, or its checkpoint fails.  A worker whose    *)
(* process it knows is signalled, and ends without a result.               *)
Killed(l) ==
    /\ Runs /\ launcher[l].step \in {"wait", "start", "started", "working"} /\ launcher[l].op # "exit" /\ Spend("kill")
    /\ Turn(l, "exit")
    /\ worker' = IF pid # 0 THEN [worker EXCEPT ![pid] = [step |-> "stopped", todo |-> {}]] ELSE worker
    /\ pid' = 0
    /\ causes' = causes \cup {"signal"}
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, running, request, invocation, result, copier>>

Done(l) ==
    /\ launcher[l].step = "done" /\ launcher[l].op # "exit"
    /\ IF request # "none"
       THEN Turn(l, request) /\ request' = "none" /\ UNCHANGED running
       ELSE launcher' = [launcher EXCEPT ![l] = Idle] /\ running' = FALSE /\ UNCHANGED request
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, work, copier, causes, left>>

(* A launcher on its way out, too, looks whether somebody has asked meanwhile. *)
Exited(l) ==
    /\ launcher[l].step = "done" /\ launcher[l].op = "exit"
    /\ IF request # "none"
       THEN Turn(l, request) /\ request' = "none" /\ UNCHANGED running
       ELSE launcher' = [launcher EXCEPT ![l] = Idle] /\ running' = FALSE /\ UNCHANGED request
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, work, copier, causes, left>>

-----------------------------------------------------------------------------
(* Workers *)

(* A worker may tell the result only if no other one has been started since. *)
MayTell(i) == i = invocation

Cancelled(i) == request = "disable" \/ ~MayTell(i)

Process(i, page) ==
    /\ worker[i].step = "running" /\ page \in worker[i].todo
    /\ IF Cancelled(i)
       THEN /\ worker' = [worker EXCEPT ![i] = [step |-> "stopped", todo |-> {}]]
            /\ result' = IF MayTell(i) THEN "aborted" ELSE result
            /\ UNCHANGED <<dirty, wal>>
       ELSE /\ worker' = [worker EXCEPT ![i].todo = @ \ {page}]
            /\ dirty' = [dirty EXCEPT !["primary"] = @ \cup {page}]
            /\ Log("image", page, 0)
            /\ UNCHANGED result
    /\ UNCHANGED <<servers, states, caches, disk, check, launch, invocation, pid, copier, causes, left>>

WorkerEnds(i) ==
    /\ worker[i].step = "running" /\ worker[i].todo = {}
    /\ worker' = [worker EXCEPT ![i].step = "stopped"]
    /\ result' = IF MayTell(i) THEN "success" ELSE result
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, launch, invocation, pid, copier, causes, left>>

WorkerFails(i) ==
    /\ Runs /\ worker[i].step = "running" /\ Spend("fail")
    /\ worker' = [worker EXCEPT ![i] = [step |-> "stopped", todo |-> {}]]
    /\ causes' = causes \cup {"error"}
    /\ UNCHANGED <<wal, servers, states, caches, pages, check, launch, invocation, pid, result, copier>>

-----------------------------------------------------------------------------
(* Crash, recovery, standby *)

Restarted(n) ==
    /\ mode' = [mode EXCEPT ![n] = "recovery"]
    /\ at' = [at EXCEPT ![n] = lastredo[n]]
    /\ shared' = [shared EXCEPT ![n] = control[n]]
    /\ local' = [p \in All |-> IF p \in Procs(n) THEN control[n] ELSE local[p]]
    /\ pending' = [p \in All |-> IF p \in Procs(n) THEN {} ELSE pending[p]]
    /\ dirty' = [dirty EXCEPT ![n] = {}]
    /\ UNCHANGED <<wal, lastredo, control, disk>>

CrashPrimary ==
    /\ mode["primary"] \in {"normal", "recovery", "ending"} /\ Spend("crash")
    /\ Restarted("primary")
    /\ minrec' = [minrec EXCEPT !["primary"] = Len(wal) + 1]
    /\ boot' = control["primary"] /\ absent' = Comers /\ entering' = {}
    /\ ckpt' = NoCkpt /\ asked' = FALSE
    /\ launcher' = [l \in Launchers |-> Idle] /\ running' = FALSE /\ request' = "none"
    /\ worker' = [i \in 1..Invocations |-> NoWorker] /\ invocation' = 0 /\ pid' = 0 /\ result' = "failed"
    /\ copier' = IF copier = "done" THEN copier ELSE "failed"
    /\ causes' = {}
    /\ UNCHANGED point

CrashStandby ==
    /\ Standby # {} /\ mode["standby"] \in {"recovery", "ending"} /\ Spend("crash")
    /\ Restarted("standby")
    /\ minrec' = [minrec EXCEPT !["standby"] = at["standby"]]
    /\ point' = 0
    /\ UNCHANGED <<boot, absent, entering, check, launch, work, copier, causes>>

ToReplay(n) == wal[at[n]]

Replays(n) == mode[n] = "recovery" /\ at[n] <= Len(wal) /\ Absorbed(n)

ReplayState(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] = "state"
    /\ shared' = [shared EXCEPT ![n] = ToReplay(n)[2]]
    /\ control' = [control EXCEPT ![n] = ToReplay(n)[2]]
    /\ Emit(n, ToReplay(n)[2])
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, point, local, boot, absent, entering, pages, check,
                   launch, work, copier, causes, left>>

ReplayRedo(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] = "redo"
    /\ shared' = [shared EXCEPT ![n] = ToReplay(n)[2]]
    /\ IF ToReplay(n)[2] # control[n] THEN Emit(n, ToReplay(n)[2]) ELSE UNCHANGED pending
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, point, control, local, boot, absent, entering, pages,
                   check, launch, work, copier, causes, left>>

(* The end of a checkpoint says nothing new of the state. *)
ReplayEnd(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] = "end"
    /\ point' = IF n = "standby" THEN at[n] ELSE point
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, states, caches, pages, check, launch, work, copier, causes, left>>

ReplayPage(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] \in {"image", "change"}
    /\ dirty' = [dirty EXCEPT ![n] = @ \cup {ToReplay(n)[2]}]
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, point, states, caches, disk, check, launch, work,
                   copier, causes, left>>

ReplayCopy(n) ==
    /\ Replays(n) /\ ToReplay(n)[1] = "copy" /\ Source \notin dirty[n]
    /\ disk' = [disk EXCEPT ![n] = [page \in Pages |-> IF page \in Copies THEN @[Source] ELSE @[page]]]
    /\ at' = [at EXCEPT ![n] = @ + 1]
    /\ UNCHANGED <<wal, mode, minrec, lastredo, point, states, caches, dirty, check, launch, work,
                   copier, causes, left>>

(* StartupXLOG: what was in progress ends in off. *)
TellsAtEnd == TRUE

EndRecovery(n) ==
    LET off == shared[n] \in {"inprogress_on", "inprogress_off"} IN
    /\ mode[n] = "recovery" /\ Absorbed(n) /\ at[n] >= minrec[n]
    /\ IF n = "primary"
       THEN at[n] = Len(wal) + 1 /\ UNCHANGED left
       ELSE Spend("promote")
    /\ mode' = [k \in Nodes |-> IF k = n THEN "ending" ELSE IF n = "standby" THEN "stopped" ELSE mode[k]]
    /\ wal' = SubSeq(wal, 1, at[n] - 1) \o (IF off THEN << <<"state", "off", 0>> >> ELSE << >>)
    /\ at' = [at EXCEPT ![n] = Len(wal') + 1]
    /\ shared' = [shared EXCEPT ![n] = IF off THEN "off" ELSE @]
    /\ IF off /\ TellsAtEnd THEN Emit(n, "off") ELSE UNCHANGED pending
    /\ UNCHANGED <<minrec, lastredo, point, control, local, boot, absent, entering, pages, check,
                   launch, work, copier, causes>>

AcceptWrites(n) ==
    /\ mode[n] = "ending" /\ Absorbed(n)
    /\ mode' = [mode EXCEPT ![n] = "normal"]
    /\ control' = [control EXCEPT ![n] = shared[n]]
    /\ UNCHANGED <<wal, at, minrec, lastredo, point, shared, caches, pages, check, launch, work,
                   copier, causes, left>>

Launcher(l) ==
    /\ Runs
    /\ \/ Begin(l) \/ Record(l) \/ Publish(l) \/ EmitBarrier(l) \/ WaitEnds(l)
       \/ StartWorker(l) \/ SeesRunning(l) \/ SeesStopped(l) \/ Done(l) \/ Exited(l)
Worker(i) == Runs /\ ((\E page \in Pages : Process(i, page)) \/ WorkerEnds(i))
Copier == Runs /\ (CopyBegins \/ CopyHasXid \/ CopyFiles)
Recovery(n) ==
    ReplayState(n) \/ ReplayRedo(n) \/ ReplayEnd(n) \/ ReplayPage(n) \/ ReplayCopy(n) \/ AcceptWrites(n)

Next ==
    \/ \E p \in All : Absorb(p) \/ Enter(p) \/ ReadState(p) \/ \E page \in Pages : Flush(p, page)
    \/ \E n \in Nodes, page \in Pages : Change(n, page)
    \/ Copier
    \/ BeginCheckpoint \/ EndCheckpoint \/ RestartPoint
    \/ \E op \in {"enable", "disable"} : Ask(op)
    \/ \E l \in Launchers : Launcher(l) \/ Killed(l)
    \/ \E i \in 1..Invocations : Worker(i) \/ WorkerFails(i)
    \/ CrashPrimary \/ CrashStandby
    \/ \E n \in Nodes : Recovery(n) \/ EndRecovery(n)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
Steps == {"idle", "begin", "record", "publish", "emit", "wait", "start", "started", "working", "done"}

TypeOK ==
    /\ wal \in Seq({"redo", "end", "state", "image", "change", "copy"} \X (States \cup Pages \cup {""}) \X Nat)
    /\ mode \in [Nodes -> {"normal", "recovery", "ending", "stopped"}]
    /\ \A n \in Nodes : {at[n], minrec[n], lastredo[n]} \subseteq Nat \ {0}
    /\ point \in Nat
    /\ shared \in [Nodes -> States] /\ control \in [Nodes -> States]
    /\ local \in [All -> States] /\ pending \in [All -> SUBSET States] /\ boot \in States
    /\ absent \subseteq Comers /\ entering \subseteq Comers \ absent
    /\ disk \in [Nodes -> [Pages -> {"none", "plain", "summed"}]] /\ dirty \in [Nodes -> SUBSET Pages]
    /\ ckpt \in [redo : Nat, state : States, due : SUBSET Pages, serves : BOOLEAN] /\ asked \in BOOLEAN
    /\ launcher \in [Launchers -> [step : Steps, to : States, op : {"enable", "disable", "exit"}]]
    /\ running = (\E l \in Launchers : launcher[l].step # "idle")
    /\ request \in {"none", "enable", "disable"}
    /\ worker \in [1..Invocations -> [step : {"none", "running", "stopped"}, todo : SUBSET Pages]]
    /\ invocation \in 0..Invocations /\ pid \in 0..invocation /\ result \in {"failed", "aborted", "success"}
    /\ copier \in {"idle", "checked", "copying", "done", "failed"} /\ causes \subseteq {"request", "signal", "error"}
    /\ \A what \in DOMAIN left : left[what] \in Nat

Ready(n) == Procs(n) \ (absent \cup entering)

(* Backends read in a server that runs, and on a standby that is consistent. *)
Serves(n) == mode[n] \in {"normal", "ending"} \/ (n = "standby" /\ mode[n] = "recovery" /\ at[n] >= minrec[n])

(* Before that, a page may be newer than the WAL that is replayed; replay does not verify it then. *)
VerifiesInRecovery(n) == at[n] >= minrec[n]

Verifies(n, page) ==
    \/ Serves(n) /\ \E p \in Ready(n) : local[p] = "on"
    \/ /\ mode[n] = "recovery" /\ at[n] <= Len(wal) /\ ToReplay(n)[1] = "change" /\ ToReplay(n)[2] = page
       /\ shared[n] = "on" /\ VerifiesInRecovery(n)

(* Nobody who verifies finds a page on disk whose checksum is wrong. *)
NoFalseFailure == \A n \in Nodes : \A page \in Pages \ dirty[n] : disk[n][page] = "plain" => ~Verifies(n, page)

(* No process refuses a barrier: that is an error at each of its steps, and the launcher waits for ever. *)
NoRefusal == \A p \in All : ~Held(p) => AllMoves(p) # "error"

(* When no barrier is under way, each process has the state that is shown to new ones. *)
SameForAll ==
    \A n \in Nodes : \A p \in Ready(n) :
        mode[n] # "stopped" /\ pending[p] = {} /\ (\A l \in Launchers : launcher[l].step # "emit")
            => local[p] = shared[n]

(* An enabling that nobody cancels, and whose worker has no error, is not given up. *)
FailsForACause == (\E l \in Launchers : launcher[l].op = "exit" /\ launcher[l].step # "idle") => causes # {}

(* A request is not forgotten. *)
NoRequestLost == request # "none" => running

-----------------------------------------------------------------------------
(* Liveness: each process goes on; what may happen a number of times need not. *)
Fairness ==
    /\ \A p \in All : SF_vars(Absorb(p)) /\ WF_vars(ReadState(p)) /\ \A page \in Pages : SF_vars(Flush(p, page))
    /\ WF_vars(Runs /\ CopyHasXid) /\ SF_vars(Runs /\ CopyFiles)
    /\ WF_vars(BeginCheckpoint /\ asked) /\ WF_vars(EndCheckpoint)
    /\ \A l \in Launchers : WF_vars(Launcher(l))
    /\ \A i \in 1..Invocations : WF_vars(Worker(i))
    /\ \A n \in Nodes : WF_vars(Recovery(n)) /\ WF_vars(EndRecovery(n) /\ n = "primary")

FairSpec == Spec /\ Fairness

(* What is asked for comes to an end. *)
SwitchEnds == running ~> ~running
=============================================================================

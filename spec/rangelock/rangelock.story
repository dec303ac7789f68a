\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of rangelock, and of what is broken: spec/tools/sentences.py has the form.

$does = {IF e.what = "request" THEN "asks for" ELSE IF e.what = "refuse" THEN "may not have" ELSE IF e.what = "release" THEN "lets go" ELSE IF e.what
    = "cancel" THEN "is cancelled, and waits no longer for" ELSE "is late, and waits no longer for"}
$mode = {IF e.exclusive THEN "exclusive" ELSE "shared"}

module MCrangelock
AskBeyond STEP p \in Processes | process {p} -> lock | asks for a byte beyond the end of the file

module TraceRangelock
INNER at
TraceStep STEP e \in {Event} if e.granted = <<>> | ticket {e.ticket} -> lock | $does bytes {e.lo} to {e.hi - 1}, $mode (event {at} of the trace).
    Nobody is granted by that
TraceStep STEP e \in {Event} | ticket {e.ticket} -> lock | $does bytes {e.lo} to {e.hi - 1}, $mode (event {at} of the trace). Granted by that: the
    tickets {e.granted}
TraceSpec BROKEN e \in {Event} if at <= Len(Trace.events) | The trace goes on with event {at}, which fits no step: ticket {e.ticket} $does bytes
    {e.lo} to {e.hi - 1}, $mode, and these are granted: {e.granted}

module rangelock
Ask STEP p \in Processes, r \in InQueue(queue') \ InQueue(queue) if queue' # queue | process {p} -> lock | asks for bytes {r.lo} to {r.hi - 1}, {IF
    r.exclusive THEN "exclusive" ELSE "shared"}, and waits
Ask STEP p \in Processes, r \in held' \ held | process {p} -> lock | asks for bytes {r.lo} to {r.hi - 1}, {IF r.exclusive THEN "exclusive" ELSE
    "shared"}, and has it at once
Release STEP p \in Processes, r \in held \ held' if held' \ held = {} | process {p} -> lock | lets bytes {r.lo} to {r.hi - 1}, {IF r.exclusive THEN
    "exclusive" ELSE "shared"} go
Release STEP p \in Processes, r \in held \ held' | process {p} -> lock | lets bytes {r.lo} to {r.hi - 1}, {IF r.exclusive THEN "exclusive" ELSE
    "shared"} go. Now these have theirs: {{s.who : s \in held' \ held}}
GiveUp STEP p \in Processes if held' \ held = {} | process {p} -> lock | waits no longer
GiveUp STEP p \in Processes | process {p} -> lock | waits no longer. Now these have theirs: {{s.who : s \in held' \ held}}
NoConflict BROKEN r \in held, s \in held if r # s /\ Conflict(r, s) | Process {r.who} holds bytes {r.lo} to {r.hi - 1}, and process {s.who} bytes
    {s.lo} to {s.hi - 1}: they conflict
NobodyWaitsInVain BROKEN i \in Going(held, queue) | Process {queue[i].who} waits for bytes {queue[i].lo} to {queue[i].hi - 1}, which it could have
NoDeadlock BROKEN p \in Processes, q \in Processes if WaitsFor(p, q) | Process {p} waits for process {q}

module rangelock_steps
INNER pc, call, target, request, wakes
Begin STEP p \in Processes | thread {p} -> lock | asks for bytes {request'[p].lo} to {request'[p].hi - 1}, {IF request'[p].exclusive THEN "exclusive"
    ELSE "shared"}{IF call'[p] = "lock" THEN ", and will wait for them" ELSE IF call'[p] = "lock_for" THEN ", and will wait for them for a limited
    time" ELSE IF call'[p] = "try" THEN ", if it can have them at once" ELSE ", and will not wait now"}
Come STEP p \in Processes if alone' # alone | thread {p} -> the word | finds nobody there, and swaps its hold into the word: the range is its own
Come STEP p \in Processes | thread {p} -> the word | finds the word {IF alone = "shut" THEN "shut" ELSE "taken"}: it needs the mutex
SayAlone STEP p \in Processes | thread {p} | sets its state to "held": its call ends
BeginRelease STEP p \in Processes | thread {p} -> lock | is done with bytes {request[p].lo} to {request[p].hi - 1}, and begins to give them back
BeginGiveBack STEP p \in Processes | thread {p} -> lock | begins to give back what thread {target'[p]} holds, bytes {request[target'[p]].lo} to
    {request[target'[p]].hi - 1}
LeaveAlone STEP p \in Processes if alone' # alone | thread {p} -> the word | swaps the hold of thread {target[p]} out of the word, which is open again
LeaveAlone STEP p \in Processes | thread {p} -> the word | does not find the hold of thread {target[p]} in the word: it needs the mutex
SayLeft STEP p \in Processes | thread {p} | sets the state of thread {target[p]} to "idle": the range is given back
BeginCancel STEP p \in Processes | thread {p} -> lock | begins to cancel the request of thread {target'[p]}
BeginWait STEP p \in Processes if target'[p] = p | thread {p} -> lock | begins to wait for its own request
BeginWait STEP p \in Processes | thread {p} -> lock | begins to wait for the request of thread {target'[p]}
Lock SMALL p \in Processes | thread {p} -> the mutex | takes the mutex
Shut STEP p \in Processes if alone \in Processes /\ arrived' # arrived | thread {p} -> the word | shuts the word, and puts the hold of thread {alone},
    which it found there, into a tree
Shut STEP p \in Processes if alone \in Processes | thread {p} -> the word | shuts the word, in which it found the hold of thread {alone}. That gets
    into no tree
Shut STEP p \in Processes | thread {p} -> the word | shuts the word; nobody is in it
Arrive STEP p \in Processes if arrived' = arrived | thread {p} -> the trees | would have to wait for others, and gives up
Arrive STEP p \in Processes if state'[p] = "held" | thread {p} -> the trees | puts its hold into a tree. It counts no blocker: the range is its own
Arrive STEP p \in Processes if state'[p] = "waits" | thread {p} -> the trees | puts its hold into a tree. It counts {blockers'[p]} blockers, and goes
    on without waiting
Arrive STEP p \in Processes | thread {p} -> the trees | puts its hold into a tree. It counts {blockers'[p]} blockers, and must wait
DoRelease STEP p \in Processes if state' # state /\ target[p] \notin Arrived | thread {p} -> the trees | gives the range of thread {target[p]} back:
    it sets the state of that hold to "idle", though it is in no tree
DoRelease STEP p \in Processes if state' # state | thread {p} -> the trees | takes the hold of thread {target[p]} out of its tree, and off the counts
    of those behind. These are let go by that: {granted'}
DoRelease STEP p \in Processes if target[p] \in Arrived | thread {p} -> the trees | finds that the hold of thread {target[p]} has been given back
DoRelease STEP p \in Processes | thread {p} -> the trees | finds the hold of thread {target[p]} in no tree: another thread gives it back
DoCancel STEP p \in Processes if arrived' # arrived | thread {p} -> the trees | takes the request of thread {target[p]} out of its tree, and off the
    counts of those behind. These are let go by that: {granted'}
DoCancel STEP p \in Processes | thread {p} -> the trees | finds that thread {target[p]} waits no more, and leaves it alone
DoTimeOut STEP p \in Processes if arrived' # arrived | thread {p} -> the trees | takes its request out of its tree, and off the counts of those
    behind. These are let go by that: {granted'}
DoTimeOut STEP p \in Processes if state' # state | thread {p} -> the trees | sets the state of thread {target[p]} to "idle"; the request stays in its
    tree
DoTimeOut STEP p \in Processes | thread {p} -> the trees | finds that its request was granted or cancelled meanwhile
Grant STEP p \in Processes, q \in granted if q \notin granted' /\ wakes' # wakes | thread {p} -> thread {q} | sets the state of thread {q} to "held",
    and notes to wake who waits with it
Grant STEP p \in Processes, q \in granted if q \notin granted' | thread {p} -> thread {q} | sets the state of thread {q} to "held". It will wake
    nobody
SetCancelled STEP p \in Processes if state' # state | thread {p} -> thread {target[p]} | sets the state of thread {target[p]} to "cancelled"
SetCancelled STEP p \in Processes | thread {p} -> thread {target[p]} | wakes who waits with the hold of thread {target[p]}, and has not set the state
    yet
Unlock SMALL p \in Processes | thread {p} -> the mutex | gives the mutex back
Wake STEP p \in Processes, q \in wakes[p] if q \notin wakes'[p] /\ asleep' # asleep | thread {p} -> thread {q} | wakes who sleeps with the hold of
    thread {q}: {asleep \ asleep'}
Wake STEP p \in Processes, q \in wakes[p] if q \notin wakes'[p] | thread {p} -> thread {q} | would wake who sleeps with the hold of thread {q}; nobody
    does
AllAreAwake SMALL p \in Processes if wakes[p] = {} | thread {p} | has nobody more to wake: its call ends
AllAreAwake STEP p \in Processes | thread {p} | ends its call, though it should still wake who waits with the holds of {wakes[p]}
Join STEP p \in Processes if pc'[p] = "looks" | thread {p} | is the one that waits with the hold of thread {target[p]}
Join STEP p \in Processes if IsRefused(target[p]) | thread {p} | is refused: another thread waits with the hold of thread {target[p]}
Join STEP p \in Processes | thread {p} | sees that thread {target[p]} has nothing to wait for
Look STEP p \in Processes if pc'[p] # "outside" | thread {p} | looks at the state of thread {target[p]}: it has to wait, and will sleep
Look STEP p \in Processes | thread {p} | looks at the state of thread {target[p]}: {state[target[p]]}. Its call ends
FallAsleep STEP p \in Processes if p \in asleep' | thread {p} -> kernel | falls asleep, until the state of thread {target[p]} changes and somebody
    wakes it
FallAsleep STEP p \in Processes | thread {p} -> kernel | is not let to sleep: the kernel sees that the state of thread {target[p]} has changed
WakeUp SMALL p \in Processes | thread {p} | is awake again
TimeIsUp STEP p \in Processes | thread {p} | has waited as long as it wanted to: its time is up
NOTE | A thread asks with its hold. The hold of a thread that is alone is in the word; else holds are in trees, which only who has the mutex may
    touch. What blocks a hold are earlier ones that conflict with it
NothingIsLeft BROKEN p \in Processes if pc[p] = "outside" /\ wakes[p] # {} | Thread {p} has ended its call, and should still wake who waits with the
    holds of {wakes[p]}
NothingIsLeft BROKEN p \in Processes if p \notin Arrived /\ blockers[p] # 0 | Thread {p} is in no tree, and counts {blockers[p]} blockers
NothingIsLeft BROKEN if mutex = Nobody /\ granted # {} | The mutex is free, and the states of these do not say yet that they hold their ranges: {granted}
WokenBySomebody BROKEN | {asleep \ asleep'} wakes up, and nobody has woken it
WokenIsNotLate BROKEN p \in Processes if pc[p] = "asleep" /\ pc'[p] = "is late" /\ p \notin asleep | Thread {p} was woken, and takes itself for late
LockWaitsOn BROKEN p \in Processes if call[p] = "lock" /\ state[p] = "awaited" /\ state'[p] = "idle" | The request of thread {p}, which has no time
    limit, is given up
CountsAreRight BROKEN q \in Arrived if blockers[q] # Cardinality({p \in Arrived : Place(p) < Place(q) /\ Conflict(request[p], request[q])}) | Thread
    {q} counts {blockers[q]} blockers. Those that came earlier and conflict with it are {Cardinality({p \in Arrived : Place(p) < Place(q) /\
    Conflict(request[p], request[q])})}
HoldersDoNotConflict BROKEN p \in Processes, q \in Processes if p # q /\ Knows(p) /\ Knows(q) /\ Conflict(request[p], request[q]) | Thread {p} holds
    bytes {request[p].lo} to {request[p].hi - 1}, and thread {q} bytes {request[q].lo} to {request[q].hi - 1}: they conflict
TheWordIsRight BROKEN if alone # "shut" /\ arrived # <<>> | The word is not shut, and these are in the trees: {arrived}
TheWordIsRight BROKEN if alone = "shut" /\ arrived = <<>> | The word is shut, and nobody is in the trees
NoLostWakeUp BROKEN p \in asleep if state[target[p]] # "awaited" /\ ~\E q \in Processes : target[p] \in wakes[q] | Thread {p} sleeps. The state of
    thread {target[p]} is "{state[target[p]]}", and nobody will wake it
NoLostWakeUp BROKEN p \in asleep if state[target[p]] = "awaited" /\ blockers[target[p]] = 0 | Thread {p} sleeps with the hold of thread {target[p]},
    which nothing blocks
AwaitedBySomebody BROKEN q \in Processes if state[q] = "awaited" /\ ~\E p \in Processes : target[p] = q /\ pc[p] \in Waiting \cup {"unlocks to wait"}
    | The state of thread {q} says that somebody waits with its hold, and nobody does
OneWaits BROKEN q \in Processes if Cardinality(SleepersOf(q)) > 1 | These all sleep with the hold of thread {q}: {SleepersOf(q)}
StatesAreRight BROKEN p \in Processes if StateIsSet(p) /\ state[p] # "held" /\ (alone = p \/ (p \in Arrived /\ blockers[p] = 0)) | Thread {p} could
    have its range, and its state is "{state[p]}"
StatesAreRight BROKEN p \in Processes if StateIsSet(p) /\ state[p] = "held" /\ ~(alone = p \/ (p \in Arrived /\ blockers[p] = 0)) | The state of
    thread {p} is "held", and the range is not its own
NoGhosts BROKEN p \in Processes if StateIsSet(p) /\ (IsWaiting(p) \/ state[p] = "held") /\ ~(p \in Arrived \/ alone = p) | The state of thread {p} is
    "{state[p]}", and its hold is nowhere
NoGhosts BROKEN p \in Processes if StateIsSet(p) /\ ~(IsWaiting(p) \/ state[p] = "held") /\ (p \in Arrived \/ alone = p) | The state of thread {p} is
    "{state[p]}", and its hold is still there
OneGivesBack BROKEN p \in Processes, q \in Processes if pc[p] = "has left" /\ target[p] = q /\ pc'[p] = "outside" /\ state[q] # "held" | Thread {p}
    says that the range of thread {q} is given back; another thread has said so before
EveryCallEnds BROKEN p \in Processes if pc[p] # "outside" | Thread {p} is in a call that does not end

\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCcompaction ----------------------------
(* compaction with bounds, and definitions that are wrong on purpose: a    *)
(* mutant run puts one of them in the place of one of compaction.          *)
EXTENDS compaction, TLC

One       == <<1>>
OneOne    == <<1, 1>>
OneTwo    == <<1, 2>>
OneTwoOne == <<1, 2, 1>>
TwoOneOne == <<2, 1, 1>>

Alone      == [b \in Backends |-> b]     \* every scan a session of its own
OneSession == [b \in Backends |-> "s"]   \* all scans cursors of one session

Symmetry == Permutations(Backends)

\* Of the line pointers only the first is used again.
FirstAgain == \A i \in Items \ {1} : lp'[i].version = lp[i].version

\* Takes the exclusive lock and does not look at pins.
ExclusiveIsEnough(p) == TRUE
\* Tolerates one pin of another session.
OneMoreIsFine(p) == RefCount <= 2
\* Does not count its own pins.
RefCountIsEnough(p) == RefCount = 1

\* Counts the pins first and takes the lock afterwards.
CountFirst(b) ==
    /\ (IsPrimary \/ b \in Cleaners) /\ pc[b] = "pinned" /\ dead # {} /\ MayCompact(b)
    /\ Goto(b, "counted")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>
LockThen(b) ==
    /\ pc[b] = "counted" /\ IsFree
    /\ exclusive' = b
    /\ BeginCompaction(b)
    /\ UNCHANGED <<pins, shared, waiting, cells, upper, reading>>
CountFirstNext ==
    \/ \E p \in Processes : AnyStep(p)
    \/ \E b \in Backends : BackendStep(b) /\ pc'[b] # "counting"
    \/ \E p \in Processes : CountFirst(p) \/ LockThen(p)
    \/ \E i \in Items : Die(i)

\* A reader that unpins and still reads.
UnpinAndGoOn(b) ==
    /\ pc[b] = "reading" /\ b \in pins
    /\ pins' = pins \ {b}
    /\ UNCHANGED <<pc, locks, waiting, page, plan, reading>>
UnpinsEarlyNext ==
    Next \/ \E b \in Backends : UnpinAndGoOn(b)

\* A shared lock that does not check for an exclusive one.
SharedAlways == TRUE

\* Moves the lowest tuple first, and so overwrites those above it.
Lowest(items) == CHOOSE i \in items : \A j \in items : lp[j].off >= lp[i].off

\* Moves the tuples in the order of their line pointers.
First(items) == CHOOSE i \in items : \A j \in items : i <= j

\* A waiter that does not clear its flag.
RetryFlagged(c) ==
    /\ pc[c] = "awake"
    /\ Goto(c, "retrying")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>

\* A waiter that clears the flag, be it its own or another's.
RetryClears(c) ==
    /\ pc[c] = "awake"
    /\ waiter' = None
    /\ Goto(c, "retrying")
    /\ UNCHANGED <<pins, locks, signals, conflicts, page, plan, reading>>

\* An unpin that wakes nobody.
WakeNobody(p) ==
    /\ pc[p] = "unpinned"
    /\ Goto(p, "idle")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>

\* A backend that unpins stays cancelled.
StaysCancelled(p) ==
    /\ pins' = pins \ {p}
    /\ UNCHANGED conflicts
    /\ Goto(p, IF waiter # None /\ OwnCount(p) = 1 THEN "unpinned" ELSE "idle")

\* As upstream does it, the signal goes to all backends; a backend that has no pin when it comes to look forgets it.
SignalsAll(c) ==
    /\ Cancels /\ pc[c] = "asleep"
    /\ conflicts' = Backends
    /\ Goto(c, "awake")
    /\ UNCHANGED <<pins, locks, waiter, signals, page, plan, reading>>
Overhears(b) ==
    /\ b \in conflicts \ pins
    /\ conflicts' = conflicts \ {b}
    /\ UNCHANGED <<pc, pins, locks, waiter, signals, page, plan, reading>>
SignalsSpec == Init /\ [][Next \/ \E b \in Backends : Overhears(b)]_vars /\ StandbyFairness

\* The lock is kept from the look-up to a step of its own.
LooksThenUnlocks(b) ==
    /\ pc[b] = "looking"
    /\ IF InUse # {} /\ pointer[b] = NoPointer
       THEN /\ \E i \in InUse :
                   pointer' = [pointer EXCEPT ![b] = [item |-> i, version |-> lp[i].version, off |-> lp[i].off]]
            /\ UNCHANGED <<pc, shared>>
       ELSE /\ Goto(b, IF pointer[b] = NoPointer THEN "done" ELSE "reading")
            /\ shared' = shared \ {b}
            /\ UNCHANGED pointer
    /\ UNCHANGED <<pins, exclusive, waiting, page, plan, seen>>

\* pd_upper starts one cell too high.
RECURSIVE MovesTooFar(_, _)
MovesTooFar(items, top) ==
    IF items = {} THEN <<[do |-> "upper", to |-> top + 2]>> ELSE MovesTooFar(items \ {Highest(items)}, top)

\* pd_upper does not change.
RECURSIVE MovesWithoutUpper(_, _)
MovesWithoutUpper(items, top) ==
    IF items = {} THEN <<>> ELSE MovesWithoutUpper(items \ {Highest(items)}, top - Lengths[Highest(items)])

\* pd_upper set to the cell before the first one in use.
RECURSIVE MovesTooLow(_, _)
MovesTooLow(items, top) ==
    IF items = {} THEN <<[do |-> "upper", to |-> IF top > 0 THEN top ELSE 1]>>
    ELSE MovesTooLow(items \ {Highest(items)}, top - Lengths[Highest(items)])

RevivesDead(p) ==
    /\ plan' = Moves(InUse, Room)
    /\ UNCHANGED lp
    /\ dead' = {}
    /\ Goto(p, "compacting")

\* An insert that does not check for room, and one that reuses the old version.
AlwaysRoom(i)  == TRUE
SameVersion(i) == lp[i].version

\* An insert that takes any line pointer, in use or not.
InsertsAnywhere(b) ==
    /\ pc[b] = "inserting"
    /\ \E i \in Items :
          LET off == upper - Lengths[i]
              new == NewVersion(i)
          IN /\ HasRoom(i)
             /\ lp' = [lp EXCEPT ![i] = [off |-> off, version |-> new]]
             /\ cells' = [c \in Cells |-> IF c \in off..(upper - 1) THEN Byte(i, new, c - off + 1) ELSE cells[c]]
             /\ upper' = off
    /\ exclusive' = None
    /\ Goto(b, "done")
    /\ UNCHANGED <<pins, shared, waiting, dead, plan, reading>>

\* A line pointer dies that has no tuple.
DiesUnused(i) ==
    /\ i \notin dead
    /\ dead' = dead \cup {i}
    /\ UNCHANGED <<pc, pins, locks, waiting, cells, lp, upper, plan, reading>>

\* A reader that looks up without the lock.
TakesNoLock(b) ==
    /\ pc[b] \in {"pinned", "refused", "pruned", "between"}
    /\ MayTakeShared
    /\ Goto(b, "looking")
    /\ UNCHANGED <<pins, locks, waiting, page, plan, reading>>

\* A cleaner that goes on as a scan would.
EndsAsScan(p) ==
    /\ pc[p] = "compacting"
    /\ plan = <<>>
    /\ exclusive' = None
    /\ Goto(p, "pruned")
    /\ UNCHANGED <<pins, shared, waiting, page, plan, reading>>

\* As 19 does it (5310fac6e0, c75ebc657f): while the header is locked, to count pins and to set the flag, others can unpin;
\* they can neither pin the page nor wake its waiter.
HeaderLocked == \E c \in Cleaners : pc[c] \in {"counted", "looking_again"}
CountInSteps(c, after) ==
    /\ c \in Cleaners
    /\ CASE pc[c] = "counting" ->
              IF MayCompact(c) THEN BeginCompaction(c) /\ UNCHANGED <<exclusive, waiter, cells, upper>>
              ELSE /\ IF waiter = None THEN Goto(c, "counted") /\ UNCHANGED exclusive
                      ELSE Goto(c, "error") /\ exclusive' = None
                   /\ UNCHANGED <<waiter, page, plan>>
         [] pc[c] = "counted" -> waiter' = c /\ Goto(c, after) /\ UNCHANGED <<exclusive, page, plan>>
         [] pc[c] = "looking_again" ->
              IF RefCount = 1 THEN waiter' = None /\ BeginCompaction(c) /\ UNCHANGED <<exclusive, cells, upper>>
              ELSE Goto(c, "flagged") /\ UNCHANGED <<exclusive, waiter, page, plan>>
         [] OTHER -> FALSE
    /\ UNCHANGED <<pins, shared, signals, conflicts, reading>>
\* Before 8d85cb889a it was not counted again; since then it is.
CountOnce(c)  == CountInSteps(c, "flagged")
CountTwice(c) == CountInSteps(c, "looking_again")
HeaderSpec ==
    /\ Init /\ PrimaryFairness
    /\ [][Next /\ (HeaderLocked => pins' \subseteq pins /\ \A p \in Processes : pc[p] = "unpinned" => pc'[p] = "unpinned")]_vars

\* Denials of states that must be reachable.
NeverRefusedByAPin ==
    ~\E b, r \in Backends : pc[b] = "refused" /\ pc[r] = "reading" /\ pins = {b, r} /\ IsFree
NeverWokenByTheLast == \A c \in Cleaners : ~(c \in signals /\ pins = {c})
\* The process that woke the waiter has cleared the flag, but there is another pin again.
NeverWokenInVain == ~\E c \in Cleaners : pc[c] = "awake" /\ waiter = None /\ pins # {c}
\* A cleaner wakes up while another one has flagged the page.
NeverAnothersFlag == ~\E c, d \in Cleaners : c # d /\ pc[c] = "awake" /\ waiter = d
NeverPinnedMeanwhile ==
    ~\E p \in Processes, b \in Backends : p # b /\ pc[p] = "compacting" /\ plan = <<>> /\ pc[b] = "pinned"
NeverReadAfterMove ==
    ~\E b \in Backends : /\ pointer[b] # NoPointer
                         /\ pointer[b].off # Room - Sum(pointer[b].item) + 1
                         /\ Len(seen[b]) = Lengths[pointer[b].item]
\* A line pointer is UNUSED, and there is no room for its tuple.
NeverNoRoom == ~(exclusive = None /\ Items \ InUse # {} /\ \A i \in Items \ InUse : ~HasRoom(i) /\ lp[i].version = 1)
NeverGivesWay == ~\E b \in Backends : b \in conflicts /\ pc[b] = "reading"
=============================================================================

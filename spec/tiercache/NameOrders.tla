\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE NameOrders ------------------------------
(* The accesses to a frame that takes no lock to be read (csrc/tiercache/readers.h), with their orders. Two readers pin the     *)
(* frame, look at its name, copy, and leave. A writer, who has `map`, takes the page from the frame, loads another one into it, *)
(* which nobody reads yet, and names it; then he changes that page where it is.                                                 *)
(*                                                                                                                              *)
(* | here                         | readers.h                                                      |                            *)
(* |------------------------------|----------------------------------------------------------------|                            *)
(* | Pin, PinOrder; IsTurnedAway  | readers_enter: its compare and exchange; its first load        |                            *)
(* | LookAtName, LookOrder        | readers_enter: its load of the name                            |                            *)
(* | Leave, LeaveOrder            | readers_leave: its subtraction                                 |                            *)
(* | Close, CloseOrder            | readers_close: its addition                                    |                            *)
(* | Find, FindOrder              | readers_close: its first load, of a frame that is closed       |                            *)
(* | Await, AwaitOrder            | readers_close: its load behind the wait                        |                            *)
(* | Rename, NameOrder            | readers_name                                                   |                            *)
(* | Reopen, OpenOrder            | readers_open: its subtraction                                  |                            *)
(*                                                                                                                              *)
(* In this memory two reads of one place are a race. So a page has two halves, and each reader copies one of them.              *)
(* Simplified: one thread at a time has `map`, and passes on all that it has seen with it; so one writer stands for all.        *)
(* readers.tla has the wait, and how the last reader ends it.                                                                   *)
(* How to break it: make one of the orders weaker.                                                                              *)
EXTENDS Orders, FiniteSets
CONSTANTS Wants, PinOrder, LookOrder, LeaveOrder, CloseOrder, FindOrder, AwaitOrder, NameOrder,
    OpenOrder
VARIABLES at   \* where each thread is; the writer: how many of his steps are done

vars == <<memory, view, raced, at>>
Readers == Threads \ {"writer"}
Places == {"comes", "looks", "copies", "leaves", "gone"}

\* What the writer does. Between his first reopening and the naming of the new page, the frame is open and free.
Plan == <<"close", "await", "unname", "reopen", "load first", "load second", "name", "close", "await", "change first",
          "change second", "reopen">>
Turn == IF at["writer"] <= Len(Plan) THEN Plan[at["writer"]] ELSE "nothing"

Word(pins, closed) == [pins |-> pins, closed |-> closed]
TypeOK ==
    /\ MemoryTypeOK
    /\ \A r \in Readers: at[r] \in Places
    /\ at["writer"] \in 1..Len(Plan) + 1
    /\ \A i \in DOMAIN memory["word"]: Value("word", i) \in [pins : 0..2, closed : BOOLEAN]

\* The frame has page "a".
Frame == [w \in Words |-> IF w = "word" THEN Word(0, FALSE) ELSE "a"]
Init == MemoryInit /\ at = [t \in Threads |-> IF t = "writer" THEN 1 ELSE "comes"]
Goto(t, where) == at' = [at EXCEPT ![t] = where]
Advance == Goto("writer", at["writer"] + 1)

Pins == NewestValue("word").pins
IsClosed == NewestValue("word").closed
Half(r) == IF r = "first" THEN "first half" ELSE "second half"

\* STEP r \in Readers | reader {r} -> the word | pins the frame ({PinOrder}): {Pins + 1} pins now
Pin(r) ==
    /\ at[r] = "comes" /\ ~IsClosed
    /\ Swap(r, "word", Word(Pins + 1, FALSE), PinOrder)
    /\ Goto(r, "looks")

\* What it finds may be old.
\* STEP r \in Readers | reader {r} -> the word | finds the frame closed, and takes the lock
IsTurnedAway(r) ==
    /\ at[r] = "comes"
    /\ \E i \in DOMAIN memory["word"]: Value("word", i).closed /\ Load(r, "word", i, "relaxed")
    /\ Goto(r, "gone")

\* STEP r \in Readers, i \in DOMAIN memory["name"] if Load(r, "name", i, LookOrder) /\ at'[r] = (IF Value("name", i) = Wants[r] THEN
\*        "copies" ELSE "leaves") | reader {r} -> the name | wants page {Wants[r]}, and reads the name ({LookOrder}):
\*        "{Value("name", i)}"{IF i < Newest("name") THEN ", which is an old value" ELSE ""}
LookAtName(r) ==
    /\ at[r] = "looks"
    /\ \E i \in DOMAIN memory["name"]:
        /\ Load(r, "name", i, LookOrder)
        /\ Goto(r, IF Value("name", i) = Wants[r] THEN "copies" ELSE "leaves")

\* STEP r \in Readers | reader {r} -> its half of the page | copies its half: page {NewestValue(Half(r))}
Copy(r) ==
    /\ at[r] = "copies"
    /\ Touch(r, Half(r), NewestValue(Half(r)))
    /\ Goto(r, "leaves")

\* STEP r \in Readers | reader {r} -> the word | unpins the frame ({LeaveOrder}): {Pins - 1} pins now
Leave(r) ==
    /\ at[r] = "leaves"
    /\ Swap(r, "word", Word(Pins - 1, IsClosed), LeaveOrder)
    /\ Goto(r, "gone")

\* STEP of Close | writer -> the word | closes the frame ({CloseOrder}), which has {Pins} pins
Close == Turn = "close" /\ Swap("writer", "word", Word(Pins, TRUE), CloseOrder) /\ Advance

\* Without pins there is nothing to wait for: what the closing read is what is here.
\* STEP of Await | writer -> the word | sees that nobody has pinned the frame ({AwaitOrder})
Await ==
    /\ Turn = "await"
    /\ IF memory["word"][view["writer"]["word"]].value = Word(0, TRUE) THEN UNCHANGED <<memory, view, raced>>
       ELSE \E i \in DOMAIN memory["word"]: Value("word", i) = Word(0, TRUE) /\ Load("writer", "word", i, AwaitOrder)
    /\ Advance

\* Another thread has closed the frame, and sleeps until the readers have left. Who has `map` now finds that they have.
\* STEP of Find | writer -> the word | finds the frame closed, and that nobody has pinned it ({FindOrder})
Find ==
    /\ Turn = "await"
    /\ \E i \in DOMAIN memory["word"]: Value("word", i) = Word(0, TRUE) /\ Load("writer", "word", i, FindOrder)
    /\ Advance

\* STEP if Turn = "unname" | writer -> the name | takes the name from the frame ({NameOrder})
\* STEP | writer -> the name | names the page of the frame: "b" ({NameOrder})
Rename ==
    /\ Turn \in {"unname", "name"}
    /\ Store("writer", "name", IF Turn = "name" THEN "b" ELSE "none", NameOrder)
    /\ Advance

\* STEP of Reopen | writer -> the word | opens the frame ({OpenOrder})
Reopen == Turn = "reopen" /\ Swap("writer", "word", Word(Pins, FALSE), OpenOrder) /\ Advance

\* STEP of Fill | writer -> the bytes | writes a half of page b
Fill ==
    /\ Turn \in {"load first", "load second", "change first", "change second"}
    /\ Touch("writer", IF Turn \in {"load first", "change first"} THEN "first half" ELSE "second half", "b")
    /\ Advance

Done == Turn = "nothing" /\ (\A r \in Readers: at[r] = "gone") /\ UNCHANGED vars

Next ==
    \/ Close \/ Await \/ Find \/ Rename \/ Reopen \/ Fill \/ Done
    \/ \E r \in Readers: Pin(r) \/ IsTurnedAway(r) \/ LookAtName(r) \/ Copy(r) \/ Leave(r)
Spec == Init /\ [][Next]_vars

\* Who copies finds the page that it wants.
\* INNER at
\* BROKEN r \in Readers if at[r] = "copies" /\ NewestValue(Half(r)) # Wants[r] | Reader {r} copies page {Wants[r]}, and
\*        finds page {NewestValue(Half(r))}
CopiesWhatItWants == \A r \in Readers: at[r] = "copies" => NewestValue(Half(r)) = Wants[r]
\* The frame has as many pins as readers are in it.
\* BROKEN | The frame has {Pins} pins, and not as many readers
PinsAreReaders == Pins = Cardinality({r \in Readers: at[r] \in {"looks", "copies", "leaves"}})

WantBoth == [r \in Readers |-> IF r = "first" THEN "b" ELSE "a"]
WantNew == [r \in Readers |-> "b"]
WantOld == [r \in Readers |-> "a"]

NeverCopiesNew == ~\E r \in Readers: at[r] = "copies" /\ Wants[r] = "b" /\ at["writer"] > Len(Plan)
NeverCopiesOld == ~\E r \in Readers: at[r] = "copies" /\ Wants[r] = "a"
\* The new page is named before its bytes are there.
NamedFirst == <<"close", "await", "unname", "reopen", "name", "load first", "load second">>
\* A page is changed while the frame is open.
ChangedOpen == <<"change first">>
\* The word is read once, before the readers have left.
AwaitNobody == Turn = "await" /\ UNCHANGED <<memory, view, raced>> /\ Advance
\* A reader trusts the table.
CopyAnyhow(r) == at[r] = "looks" /\ UNCHANGED <<memory, view, raced>> /\ Goto(r, "copies")
\* A reader leaves, and its pin stays.
LeavePinned(r) == at[r] = "leaves" /\ Goto(r, "gone") /\ UNCHANGED <<memory, view, raced>>
\* Opening releases but for the first time, when the frame is free; or but for the last time, when its page was changed.
ReopenWeakly(step) ==
    Turn = "reopen" /\ Swap("writer", "word", Word(Pins, FALSE), IF at["writer"] = step THEN "relaxed" ELSE OpenOrder) /\ Advance
ReopenFreeWeakly == ReopenWeakly(4)
ReopenChangedWeakly == ReopenWeakly(12)
\* The name is taken from the frame without releasing.
UnnameWeakly ==
    /\ Turn \in {"unname", "name"}
    /\ IF Turn = "name" THEN Store("writer", "name", "b", NameOrder) ELSE Store("writer", "name", "none", "relaxed")
    /\ Advance
\* The frame is opened before its name is taken from it, or with its name.
OpenedFirst == <<"close", "await", "reopen", "unname", "load first", "load second", "name">>
NeverUnnamed == <<"close", "await", "reopen", "load first", "load second", "name">>
\* A page is changed, and then the writer waits for its readers.
ChangedFirst == <<"close", "change first", "change second", "await", "reopen">>
\* A reader pins a frame that is closed, too.
PinAnyhow(r) == at[r] = "comes" /\ Swap(r, "word", Word(Pins + 1, IsClosed), PinOrder) /\ Goto(r, "looks")
\* A reader looks at the name, and then pins the frame.
LookFirst(r) ==
    /\ at[r] = "comes"
    /\ \E i \in DOMAIN memory["name"]:
        /\ Load(r, "name", i, LookOrder)
        /\ Goto(r, IF Value("name", i) = Wants[r] THEN "looks" ELSE "gone")
PinLast(r) == at[r] = "looks" /\ ~IsClosed /\ Swap(r, "word", Word(Pins + 1, FALSE), PinOrder) /\ Goto(r, "copies")
\* A reader unpins the frame, and then copies.
CopyLast(r) ==
    \/ at[r] = "copies" /\ Swap(r, "word", Word(Pins - 1, IsClosed), LeaveOrder) /\ Goto(r, "has left")
    \/ at[r] = "has left" /\ Touch(r, Half(r), NewestValue(Half(r))) /\ Goto(r, "gone")
\* A reader unpins by a load and a store: what others did between them is lost.
LeaveByStore(r) ==
    /\ at[r] = "leaves"
    /\ \E i \in view[r]["word"]..Newest("word"):
        Store(r, "word", Word(Value("word", i).pins - 1, Value("word", i).closed), LeaveOrder)
    /\ Goto(r, "gone")
=============================================================================

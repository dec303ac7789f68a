\* SPDX-License-Identifier: PostgreSQL
--------------------------------- MODULE Litmus ---------------------------------
(* What a hit of csrc/tiercache reads and writes without the mutex `map`, with the orders.                                       *)
EXTENDS Orders

(* A frame that takes no lock to be read (readers.h). Two readers pin it, look at its name, copy, and leave. A writer, who has   *)
(* `map`, takes the page from the frame, loads another one into it, which nobody reads yet, and names it; then he changes that   *)
(* page where it is. In this memory two reads of one place are a race: so a page has two halves, and each reader copies one.     *)
(* Simplified: one thread at a time has `map`, and passes on all that it has seen with it; so one writer stands for all.        *)
(* readers.tla has the wait, and how the last reader ends it.                                                                   *)
(*                                                                                                                              *)
(* pin     readers_enter: its compare and exchange        close   readers_close: its addition                                   *)
(* look    readers_enter: its load of the name            find    readers_close: its first load, of a frame that is closed      *)
(* leave   readers_leave: its subtraction                 await   readers_close: its load behind the wait                       *)
(* name, unname   readers_name                            open, free   readers_open: its subtraction; of a frame that is free   *)
Pins(pins, closed) == [pins : pins, closed : closed]
Unpinned == [pins |-> 0, closed |-> TRUE]
Pin(order) == Swaps("word", order, [w \in Pins(0..1, {FALSE}) |-> {[w EXCEPT !.pins = @ + 1]}], [w \in Pins(0..1, {FALSE}) |-> "looks"], "")
TurnedAway == Loads("word", <<>>, [w \in Pins(0..2, {TRUE}) |-> "gone"], "")
Unpin(next) == Swaps("word", "leave" :> "release", [w \in Pins(1..2, BOOLEAN) |-> {[w EXCEPT !.pins = @ - 1]}], <<>>, next)
Close(await, next) ==
    Swaps("word", "close" :> "acquire", [w \in Pins(0..2, {FALSE}) |-> {[w EXCEPT !.closed = TRUE]}],
          [pins |-> 0, closed |-> FALSE] :> next, await)
Await(next) == {Loads("word", "await" :> "acquire", Unpinned :> next, ""), Loads("word", "find" :> "acquire", Unpinned :> next, "")}
Open(order, next) == Swaps("word", order, [w \in Pins(0..2, {TRUE}) |-> {[w EXCEPT !.closed = FALSE]}], <<>>, next)
Reader(half, page) == [
    begin  |-> {Pin("pin" :> "acquire"), TurnedAway},
    looks  |-> {Loads("name", "look" :> "acquire", page :> "copies", "leaves")},
    copies |-> {Takes(half, page :> "leaves", "wrong")},
    leaves |-> {Unpin("gone")}]
Writer == [
    begin   |-> {Close("awaits", "unnames")},
    awaits  |-> Await("unnames"),
    unnames |-> {Stores("name", "unname" :> "release", "none", "frees")},
    frees   |-> {Open("free" :> "release", "loads")},
    loads   |-> {Puts("half", "b", "more")},
    more    |-> {Puts("rest", "b", "names")},
    names   |-> {Stores("name", "name" :> "release", "b", "closes")},
    closes  |-> {Close("waits", "changes")},
    waits   |-> Await("changes"),
    changes |-> {Puts("half", "b", "again")},
    again   |-> {Puts("rest", "b", "opens")},
    opens   |-> {Open("open" :> "release", "gone")}]
Name(first, second) == [
    first |-> [word |-> [pins |-> 0, closed |-> FALSE], name |-> "a", half |-> "a", rest |-> "a"],
    threads |-> [first |-> Reader("half", first), second |-> Reader("rest", second), writer |-> Writer]]
Names   == Name("b", "a")
NamesNew == Name("b", "b")
NamesOld == Name("a", "a")

\* The frame is opened before its name is taken from it: a reader copies while another page is loaded.
OpenedFirst == [Names EXCEPT
    !.threads.writer.begin = {Close("awaits", "frees")}, !.threads.writer.awaits = Await("frees"),
    !.threads.writer.frees = {Open("free" :> "release", "unnames")},
    !.threads.writer.unnames = {Stores("name", "unname" :> "release", "none", "loads")}]
\* A reader looks at the name before it pins the frame: another page may come between.
LookFirst(half, page) == [
    begin  |-> {Loads("name", "look" :> "acquire", page :> "pins", "gone")},
    pins   |-> {Pin("pin" :> "acquire")},
    looks  |-> {Takes(half, page :> "leaves", "wrong")},
    leaves |-> {Unpin("gone")}]
\* A reader unpins the frame before it copies: nobody waits for it.
CopiesLast == [Names EXCEPT
    !.threads.first.looks = {Loads("name", "look" :> "acquire", "b" :> "copies", "")},
    !.threads.first.copies = {Unpin("leaves")}, !.threads.first.leaves = {Takes("half", "b" :> "gone", "wrong")}]
\* A page is named before its bytes are there.
NamedFirst == [Names EXCEPT
    !.threads.writer.frees = {Open("free" :> "release", "names")},
    !.threads.writer.names = {Stores("name", "name" :> "release", "b", "loads")},
    !.threads.writer.more = {Puts("rest", "b", "closes")}]
LooksFirst == [Names EXCEPT !.threads.first = LookFirst("half", "a")]

-----------------------------------------------------------------------------
(* A stripe of hits that the policy has not been told (hits.h): a ring, here with room for one hit. Two threads or three note    *)
(* one hit each, without a lock; another one, who has `map`, tells the policy. Who finds no room, or another thread there, tells *)
(* its hit with `map`; it is done here.                                                                                         *)
(*                                                                                                                              *)
(* enter   hits_note: its exchange of busy                     free, turn   hits_note: its stores to busy                       *)
(* room    hits_note: its load of told (of noted: relaxed)     hits   pgq_tiercache_tell_hits: its load of noted                *)
(* note    hits_note: its store to noted                       told   pgq_tiercache_tell_hits: its store to told                *)
Noter(t) == [
    begin  |-> {Swaps("busy", "enter" :> "acquire", [v \in {"free", "taken"} |-> {"taken"}], "free" :> "counts", "gone")},
    counts |-> {Loads("noted", <<>>, <<>>, "looks")},
    looks  |-> {Compares("told", "room" :> "acquire", TRUE :> "writes" @@ FALSE :> "turns")},
    writes |-> {Puts("hit", t, "notes")},
    notes  |-> {Counts("noted", "note" :> "release", "leaves")},
    leaves |-> {Stores("busy", "free" :> "release", "free", "gone")},
    turns  |-> {Stores("busy", "turn" :> "release", "free", "gone")}]
Teller == [
    begin  |-> {Loads("told", <<>>, <<>>, "looks")},
    looks  |-> {Compares("noted", "hits" :> "acquire", TRUE :> "begin" @@ FALSE :> "tells")},
    tells  |-> {Takes("hit", <<>>, "gives")},
    gives  |-> {Gives("policy", "counts")},
    counts |-> {Counts("told", "told" :> "release", "begin")}]
Stripe == [busy |-> "free", noted |-> 0, told |-> 0, hit |-> "none", policy |-> "none"]
Hits == [first |-> Stripe, threads |-> [first |-> Noter("first"), second |-> Noter("second"), teller |-> Teller]]
HitsOfThree == [Hits EXCEPT !.threads = @ @@ [third |-> Noter("third")]]

\* A hit is counted before it is written: who tells finds none.
CountsFirst == [Hits EXCEPT
    !.threads.first.writes = {Counts("noted", "note" :> "release", "notes")},
    !.threads.first.notes = {Puts("hit", "first", "leaves")}]
\* What was told is not counted: the policy hears of it again.
Forgets == [Hits EXCEPT !.threads.teller.counts = {Loads("told", <<>>, <<>>, "looks")}]

\* The policy hears of each hit that was noted, once.
HearsEachOnce == "policy" \in Words =>
    /\ \A i \in 2..Newest("policy"): Value("policy", i) \in Threads
    /\ \A i, j \in 1..Newest("policy"): i # j => Value("policy", i) # Value("policy", j)
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
-------------------------------- MODULE Orders --------------------------------
(* Litmus tests: a few threads with the atomic accesses of some C code, in a memory with the orders of C11.                      *)
(*                                                                                                                              *)
(* Each word has all values that were ever written to it, oldest first. A thread has a view: for each word the oldest value      *)
(* that it may still read. A write that releases gives its thread's view along; a read that acquires takes it over. So a thread  *)
(* has in its view all that happened before (Kang et al., A Promising Semantics, POPL 2017, without its promises).               *)
(*                                                                                                                              *)
(* A plain access must have every write to its word in view: otherwise it races, and C11 says nothing more. An object that a     *)
(* thread may take away is such a word: each access to it counts as a write.                                                     *)
(*                                                                                                                              *)
(* Simplified: writes to a word stand in the order in which they ran, which is all that there is if one thread writes it, or all *)
(* read and write it at once, or hold a lock. There is no sequentially consistent access and no fence, because no kernel has one.*)
(*                                                                                                                              *)
(* A test says what each word has at first, and has a program for each thread: by the place where the thread is the steps that   *)
(* it may take there, one of which is "begin". It ends when it is "gone", and has gone wrong when it is "wrong". An order is      *)
(* written as what it is called, :> "acquire" or "release"; <<>> is relaxed. Of the order called Weak that half is missing.       *)
(* How to break it: each order must show a race, or a wrong end, when it is missing.                                             *)
EXTENDS Naturals, Sequences, TLC
CONSTANTS
    Test,   \* [first |-> [words -> values], threads |-> [threads -> [places -> sets of steps]]]
    Weak    \* the name of an order, or "none"
VARIABLES memory, view,
    raced,  \* whether a thread touched a place, and did not see all earlier writes to it
    at,     \* where each thread is
    got     \* what each thread has read, as far as it needs it later

vars == <<memory, view, raced, at, got>>
Threads == DOMAIN Test.threads
Words == DOMAIN Test.first

Bottom == [w \in Words |-> 1]
Join(a, b) == [w \in Words |-> IF a[w] >= b[w] THEN a[w] ELSE b[w]]
Newest(w) == Len(memory[w])
Value(w, i) == memory[w][i].value
NewestValue(w) == Value(w, Newest(w))

TypeOK ==
    /\ \A w \in Words: memory[w] # <<>> /\ \A i \in DOMAIN memory[w]: memory[w][i].sees[w] <= Newest(w)
    /\ view \in [Threads -> [Words -> Nat]]
    /\ \A t \in Threads, w \in Words: view[t][w] \in 1..Newest(w)
    /\ raced \in BOOLEAN
    /\ \A t \in Threads: at[t] \in DOMAIN Test.threads[t] \cup {"gone", "asleep", "wrong"}

Init ==
    /\ memory = [w \in Words |-> <<[value |-> Test.first[w], sees |-> Bottom]>>]
    /\ view = [t \in Threads |-> Bottom]
    /\ raced = FALSE
    /\ at = [t \in Threads |-> "begin"]
    /\ got = [t \in Threads |-> "nothing"]

-----------------------------------------------------------------------------
(* Steps. Where a thread goes may depend on the value that it finds: otherwise it goes to `else`; "" means that it waits. *)
Step(op, word, order, new, to, else) ==
    [op |-> op, word |-> word, order |-> order, new |-> new, to |-> to, else |-> else]
Loads(word, order, to, else) == Step("load", word, order, <<>>, to, else)
\* Whether a word has the value that was got before: TRUE or FALSE.
Compares(word, order, to) == Step("compare", word, order, <<>>, to, "")
Stores(word, order, value, next) == Step("store", word, order, [any |-> value], <<>>, next)
\* A number, one more.
Counts(word, order, next) == Step("count", word, order, <<>>, <<>>, next)
\* In one step. new: what each value may become; another value stays as it is.
Swaps(word, order, new, to, else) == Step("swap", word, order, new, to, else)
Locks(t, next) == Swaps("mutex", "lock" :> "acquire", "free" :> {t}, "free" :> next, "")
Unlocks(next) == Stores("mutex", "unlock" :> "release", "free", next)
\* Plain accesses: a write, a read that counts as one, a write of what was got, and a read alone.
Puts(word, value, next) == Step("put", word, <<>>, [any |-> value], <<>>, next)
Takes(word, to, else) == Step("take", word, <<>>, <<>>, to, else)
Gives(word, next) == Step("give", word, <<>>, <<>>, <<>>, next)
Reads(word, next) == Step("read", word, <<>>, <<>>, <<>>, next)
\* futex: sleeps if a word has this value; wakes a thread, which goes to a place.
Sleeps(word, value, next) == Step("sleep", word, <<>>, <<>>, value :> "asleep", next)
Wakes(thread, place, next) == Step("wake", thread, <<>>, [any |-> place], <<>>, next)

Halves(order) == {order[name] : name \in DOMAIN order \ {Weak}}

\* The view of t after reading value i of w.
Seen(t, w, i, halves) ==
    IF "acquire" \in halves THEN Join(view[t], memory[w][i].sees) ELSE [view[t] EXCEPT ![w] = IF @ >= i THEN @ ELSE i]

Load(t, w, i, halves) ==
    /\ i \in view[t][w]..Newest(w)
    /\ view' = [view EXCEPT ![t] = Seen(t, w, i, halves)]
    /\ UNCHANGED <<memory, raced>>

Put(t, w, value, before, halves, also) ==
    LET mine == [before EXCEPT ![w] = Newest(w) + 1]
        sees == IF "release" \in halves THEN mine ELSE [Bottom EXCEPT ![w] = Newest(w) + 1]
    IN /\ memory' = [memory EXCEPT ![w] = Append(@, [value |-> value, sees |-> Join(sees, also)])]
       /\ view' = [view EXCEPT ![t] = mine]

Store(t, w, value, halves) == Put(t, w, value, view[t], halves, Bottom) /\ UNCHANGED raced

\* Reads the newest value of w and writes another in one step; who acquires the new one acquires what the old one gave, too.
Swap(t, w, value, halves) ==
    Put(t, w, value, Seen(t, w, Newest(w), halves), halves, memory[w][Newest(w)].sees) /\ UNCHANGED raced

Races(t, w) == raced' = (raced \/ view[t][w] # Newest(w))
\* A plain write, and any access to an object that may be taken away.
Touch(t, w, value) == Races(t, w) /\ Put(t, w, value, view[t], {}, Bottom)

Goes(t, s, value) ==
    LET to == IF value \in DOMAIN s.to THEN s.to[value] ELSE s.else IN to # "" /\ at' = [at EXCEPT ![t] = to]
Keeps == UNCHANGED got

Act(t, s) ==
    CASE s.op = "load" -> \E i \in DOMAIN memory[s.word]:
            Load(t, s.word, i, Halves(s.order)) /\ Goes(t, s, Value(s.word, i)) /\ got' = [got EXCEPT ![t] = Value(s.word, i)]
      [] s.op = "compare" -> \E i \in DOMAIN memory[s.word]:
            Load(t, s.word, i, Halves(s.order)) /\ Goes(t, s, Value(s.word, i) = got[t]) /\ Keeps
      [] s.op = "store" -> Store(t, s.word, s.new.any, Halves(s.order)) /\ Goes(t, s, "") /\ Keeps
      [] s.op = "count" -> Store(t, s.word, NewestValue(s.word) + 1, Halves(s.order)) /\ Goes(t, s, "") /\ Keeps
      [] s.op = "swap" ->
            /\ Goes(t, s, NewestValue(s.word)) /\ Keeps
            /\ IF NewestValue(s.word) \notin DOMAIN s.new THEN UNCHANGED <<memory, view, raced>>
               ELSE \E value \in s.new[NewestValue(s.word)]: Swap(t, s.word, value, Halves(s.order))
      [] s.op = "put" -> Touch(t, s.word, s.new.any) /\ Goes(t, s, "") /\ Keeps
      [] s.op = "take" ->
            /\ Touch(t, s.word, NewestValue(s.word)) /\ Goes(t, s, NewestValue(s.word))
            /\ got' = [got EXCEPT ![t] = NewestValue(s.word)]
      [] s.op = "give" -> Touch(t, s.word, got[t]) /\ Goes(t, s, "") /\ Keeps
      [] s.op = "read" -> Races(t, s.word) /\ Goes(t, s, "") /\ UNCHANGED <<memory, view, got>>
      [] s.op = "sleep" -> Goes(t, s, NewestValue(s.word)) /\ UNCHANGED <<memory, view, raced, got>>
      [] s.op = "wake" ->
            /\ at' = [at EXCEPT ![t] = s.else, ![s.word] = IF @ = "asleep" THEN s.new.any ELSE @]
            /\ UNCHANGED <<memory, view, raced, got>>

Here(t) == IF at[t] \in DOMAIN Test.threads[t] THEN Test.threads[t][at[t]] ELSE {}
Done == (\A t \in Threads: at[t] = "gone") /\ UNCHANGED vars
\* Who sleeps and is woken by nobody is a deadlock.
Next == (\E t \in Threads: \E s \in Here(t): Act(t, s)) \/ Done
Spec == Init /\ [][Next]_vars

\* A broken memory: a write is not in its own thread's view.
PutUnseen(t, w, value, before, halves, also) ==
    /\ memory' = [memory EXCEPT ![w] = Append(@, [value |-> value, sees |-> [Bottom EXCEPT ![w] = Newest(w) + 2]])]
    /\ view' = [view EXCEPT ![t] = before]

\* Who touches a place sees all earlier writes to it.
NoRace == ~raced
\* No thread comes to a wrong end.
NothingWrong == \A t \in Threads: at[t] # "wrong"
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
--------------------------------- MODULE Litmus ---------------------------------
(* The accesses of csrc/rangelock (interval.c, lock.h) without the mutex, with their orders.                                     *)
EXTENDS Orders

(* The state of a hold: who has the mutex grants or cancels, and tells the owner by the hold's state; the owner, who sleeps     *)
(* without the mutex, finds it, and reads what the range protects, or lets the hold go; then any thread may ask with the same   *)
(* hold. `forget` may be relaxed: the exchange goes on with the release of who cancelled. lock.h's is stronger, because the     *)
(* baselines (rwlock.c, ofd.c) read the hold's range after it.                                                                  *)
(*                                                                                                                              *)
(* tell   tell: its exchange          look, reuse   state_of; the check for IN_USE          set   release: set_state            *)
State == [first |-> [mutex |-> "free", state |-> "awaited", protected |-> "nothing", hold |-> "asked"], threads |-> [
    other |-> [
        begin   |-> {Puts("protected", "by the other", "locks")},
        locks   |-> {Locks("other", "changes")},
        changes |-> {Puts("hold", "changed", "tells")},
        tells   |-> {Swaps("state", "tell" :> "release", "awaited" :> {"held", "cancelled"}, <<>>, "unlocks")},
        unlocks |-> {Unlocks("gone")}],
    owner |-> [
        begin   |-> {Loads("state", "look" :> "acquire", "held" :> "uses" @@ "cancelled" :> "forgets", "begin")},
        uses    |-> {Puts("protected", "by the owner", "locks")},
        locks   |-> {Locks("owner", "leaves")},
        leaves  |-> {Puts("hold", "out of the tree", "sets")},
        sets    |-> {Stores("state", "set" :> "release", "idle", "unlocks")},
        unlocks |-> {Unlocks("gone")},
        forgets |-> {Swaps("state", <<>>, "cancelled" :> {"idle"}, <<>>, "gone")}],
    next |-> [
        begin |-> {Loads("state", "reuse" :> "acquire", "idle" :> "asks", "begin")},
        asks  |-> {Puts("hold", "asked again", "gone")}]]]

(* The word: the first comes alone, uses its range, and leaves, alone or, if it was found, from the tree; the second does as it *)
(* does, or finds it, puts its hold into a tree, and has its own range when the first has left.                                 *)
(*                                                                                                                              *)
(* come, show   come_alone: its compare and swap            shut   shut: its exchange                                           *)
(* leave        leave_alone: its compare and swap           open   open_if_empty: its store                                     *)
Comes(t, found) ==
    Swaps("alone", "come" :> "acquire" @@ "show" :> "release", "open" :> {t}, "open" :> "uses" @@ "first" :> found, "")
Leaves(t, found) == Swaps("alone", "leave" :> "release", t :> {"open"}, t :> "gone", found)
Opens == Stores("alone", "open" :> "release", "open", "unlocks")
Word == [first |-> [alone |-> "open", mutex |-> "free", protected |-> "nothing", hold |-> "nothing"], threads |-> [
    first |-> [
        begin   |-> {Puts("hold", "asked", "comes")},
        comes   |-> {Comes("first", "")},
        uses    |-> {Puts("protected", "by the first", "leaves")},
        leaves  |-> {Leaves("first", "locks")},
        locks   |-> {Locks("first", "removes")},
        removes |-> {Puts("hold", "out of the tree", "opens")},
        opens   |-> {Opens},
        unlocks |-> {Unlocks("gone")}],
    second |-> [
        begin   |-> {Comes("second", "locks")},
        uses    |-> {Puts("protected", "by the second", "leaves")},
        leaves  |-> {Leaves("second", "wrong")},
        locks   |-> {Locks("second", "shuts")},
        shuts   |-> {Swaps("alone", "shut" :> "acquire", [v \in {"open", "first"} |-> {"shut"}], "first" :> "inserts", "opens")},
        inserts |-> {Puts("hold", "in a tree", "unlocks")},
        opens   |-> {Opens},
        unlocks |-> {Unlocks("begin")}]]]

(* The number of a hold, by which who gives back what another thread gives back knows that (release_from_tree). The owner was   *)
(* alone in lock a, has left its word, and is about to say so; the next thread asks with the same hold in lock b, and comes     *)
(* into a tree there. A third one gives the hold back to lock a, whose mutex it has, and must not find it there.                *)
(* Simplified: lock b grants at once, and its mutex is not here. The third thread has seen that the owner has left the word.    *)
(*                                                                                                                              *)
(* set, have   leave_alone, stay: set_state      number   arrive: set_ticket       (stay: set_lock is relaxed)                  *)
(* reuse       the check for IN_USE              ticket, look   release_from_tree: ticket_of, state_of; lock_of is relaxed      *)
Number == [first |-> [number |-> 0, state |-> "held", lock |-> "a"], threads |-> [
    owner |-> [begin |-> {Stores("state", "set" :> "release", "idle", "gone")}],
    next |-> [
        begin   |-> {Loads("state", "reuse" :> "acquire", "idle" :> "numbers", "")},
        numbers |-> {Stores("number", "number" :> "release", 1, "places")},
        places  |-> {Stores("lock", <<>>, "b", "has")},
        has     |-> {Stores("state", "have" :> "release", "held", "gone")}],
    third |-> [
        begin |-> {Loads("number", "ticket" :> "acquire", 0 :> "gone", "looks")},
        looks |-> {Loads("state", "look" :> "acquire", "held" :> "finds", "gone")},
        finds |-> {Loads("lock", <<>>, "a" :> "wrong", "gone")}]]]

\* The state is read before the number: it is from before, and the number is not.
StateFirst == [Number EXCEPT
    !.threads.third.begin = {Loads("state", "look" :> "acquire", "held" :> "looks", "gone")},
    !.threads.third.looks = {Loads("number", "ticket" :> "acquire", 0 :> "gone", "finds")}]
\* The lock is set after the state: who finds the hold held finds it in the lock from before.
LockLast == [Number EXCEPT
    !.threads.next.places = {Stores("state", "have" :> "release", "held", "has")},
    !.threads.next.has = {Stores("lock", <<>>, "b", "gone")}]
=============================================================================

\* SPDX-License-Identifier: PostgreSQL
-------------------------------- MODULE toy --------------------------------
(* A search for the largest number of an array, element by element, from   *)
(* the first one on.                                                       *)
(* How to break it: let Larger return the second number (LargestSoFar      *)
(* fails), or a number that neither of the two is (OneOfThem).             *)
EXTENDS Integers

CONSTANTS
    Numbers,    \* what an element may be
    Length      \* of the array, at least 1

VARIABLES array, seen, largest
vars == <<array, seen, largest>>

Larger(a, b) == IF a < b THEN b ELSE a

TypeOK ==
    /\ array \in [1..Length -> Numbers]
    /\ seen \in 1..Length
    /\ largest \in Int

Init ==
    /\ array \in [1..Length -> Numbers]
    /\ seen = 1
    /\ largest = array[1]

Look ==
    /\ seen < Length
    /\ seen' = seen + 1
    /\ largest' = Larger(largest, array[seen + 1])
    /\ UNCHANGED array

Done == seen = Length /\ UNCHANGED vars

Next == Look \/ Done
Spec == Init /\ [][Next]_vars

LargestSoFar == \A k \in 1..seen : array[k] <= largest
OneOfThem == \E k \in 1..seen : array[k] = largest
=============================================================================

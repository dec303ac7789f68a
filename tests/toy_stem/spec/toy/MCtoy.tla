\* SPDX-License-Identifier: PostgreSQL
------------------------------- MODULE MCtoy -------------------------------
(* toy with bounds, and definitions that are wrong on purpose.             *)
EXTENDS toy

\* The newest number, large or not.
Newest(a, b) == b

\* A number above both.
AboveBoth(a, b) == a + b + 1

\* No number seen at the start.
BeginsAtNothing ==
    /\ array \in [1..Length -> Numbers]
    /\ seen = 0
    /\ largest = 0

\* Denials of states that must be reached.
NeverGrows == largest = array[1]
=============================================================================

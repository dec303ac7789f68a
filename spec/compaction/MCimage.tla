\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE MCimage -------------------------------
(* Broken definitions of image, and states that must be reachable.         *)
EXTENDS image

\* Upstream before 81c45081: the page was zeroed, and locked afterwards.
Never == FALSE

(* Mutants *)
Always == TRUE
OneBefore == image

(* States that must be reachable *)
NeverReadWhileZeroed == ~(memory = Zeroes /\ \E r \in Readers : pc[r] = "pinned")
NeverReadOfMemory == ~\E r \in Readers : found[r] = 2 /\ disk = 0
NeverWritten == disk = 0
=============================================================================

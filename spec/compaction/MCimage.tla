\* SPDX-License-Identifier: PostgreSQL
------------------------------ MODULE MCimage -------------------------------
(* Broken definitions of image, and states that must be reachable.         *)
EXTENDS image

\* Upstream before 81c45081: the page was zeroed, and locked afterwards.
PinsAlone ==
    /\ pc[Startup] = "idle" /\ image < Images
    /\ pins' = pins \cup {Startup}
    /\ memory' = IF memory = Absent THEN Zeroes ELSE memory
    /\ Goto(Startup, "pinned")
    /\ UNCHANGED <<disk, shared, exclusive, image, began, found>>

\* A page that somebody has pinned is written, and stays.
EvictOrWrite ==
    /\ memory # Absent /\ ~exclusive
    /\ disk' = memory
    /\ \/ MayGo /\ memory' = Absent
       \/ UNCHANGED memory
    /\ UNCHANGED <<pc, pins, shared, exclusive, image, began, found>>

(* Mutants *)
Always == TRUE
OneBefore == image

(* States that must be reachable *)
NeverReadWhileZeroed == ~(memory = Zeroes /\ \E r \in Readers : pc[r] = "pinned")
NeverReadOfMemory == ~\E r \in Readers : found[r] = 2 /\ disk = 0
NeverWritten == disk = 0
=============================================================================

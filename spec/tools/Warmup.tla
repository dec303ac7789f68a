------------------------------- MODULE Warmup -------------------------------
(* SPDX-License-Identifier: PostgreSQL                                     *)
(* No model: TLC runs this once so that the JVM writes an archive of the   *)
(* classes that it loads.                                                  *)
EXTENDS Naturals, Sequences, FiniteSets

VARIABLES step, seen

Init == step = 0 /\ seen = <<>>
Next == step < 3 /\ step' = step + 1 /\ seen' = Append(seen, {step})
Spec == Init /\ [][Next]_<<step, seen>> /\ WF_<<step, seen>>(Next)

Few == Cardinality({seen[i] : i \in DOMAIN seen}) <= 3
Grows == [][step' > step]_<<step, seen>>
Ends == <>(step = 3)
=============================================================================

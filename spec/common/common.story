\* SPDX-License-Identifier: PostgreSQL
\* What 'pgquern show' says of the steps of common, and of what is broken: spec/tools/sentences.py has the form.

module Orders
INNER memory, view, at, got
Act STEP t \in Threads, s \in Here(t) of Act(t, s) | {t} -> {s.word} | {s.op}: {s.word} {IF DOMAIN s.order = {} THEN "" ELSE ToString(s.order)}. Then
    it is at "{at'[t]}"
NOTE | A write that releases passes on what its thread has seen, to a thread that reads it and acquires. A relaxed write or read passes nothing on
NoRace BROKEN | Nothing passed an earlier write to this place on to the thread of the last step. That is a data race, and C11 promises nothing
NothingWrong BROKEN t \in Threads if at[t] = "wrong" | Thread {t} finds {got[t]}, which is wrong

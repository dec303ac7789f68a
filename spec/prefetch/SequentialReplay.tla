\* SPDX-License-Identifier: PostgreSQL
-------------------------- MODULE SequentialReplay --------------------------
(* Replay as it is defined: take the next record, apply it, go on.  What   *)
(* looks ahead must refine this: the same records, in the same order, with *)
(* the same pages.                                                         *)
EXTENDS Integers, Sequences

CONSTANTS
    Relations,  \* relations, by name
    Blocks,     \* block numbers, from 0 on
    Wals,       \* sequences of records that a run may replay
    Sizes       \* the relations' lengths at the start: [Relations -> Nat], or -1 for one that does not exist

VARIABLES
    wal,        \* the records. A record references pages, or it creates or truncates a relation
    replayed,   \* how many of them have been replayed
    store       \* size: each relation's length; content: the records that changed each page;
                \* generation: how often a page of this name came or went

vars == <<wal, replayed, store>>
Pages == Relations \X Blocks

Changes(refs)          == [refs |-> refs, effect |-> "none", relation |-> "", to |-> 0]
Truncates(relation, n) == [refs |-> <<>>, effect |-> "truncate", relation |-> relation, to |-> n]
Creates(relation)      == [refs |-> <<>>, effect |-> "create", relation |-> relation, to |-> 0]

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

(* A relation gets another length: what lies between the two comes or goes. *)
Resize(s, relation, n) ==
    LET old == s.size[relation]
        touched(p) == p[1] = relation /\ p[2] >= Min(n, Max(old, 0)) /\ p[2] < Max(n, old)
    IN [size       |-> [s.size EXCEPT ![relation] = n],
        content    |-> [p \in Pages |-> IF touched(p) THEN <<>> ELSE s.content[p]],
        generation |-> [p \in Pages |-> IF touched(p) THEN s.generation[p] + 1 ELSE s.generation[p]]]

(* Record n changes the named page, and writes to the page `into`: it is   *)
(* the same, unless replay trusts a hint that is wrong.                    *)
Change(s, n, page, into) ==
    LET extended == IF page[2] < s.size[page[1]] THEN s ELSE Resize(s, page[1], page[2] + 1)
    IN [extended EXCEPT !.content[into] = Append(@, n)]

(* into: for each page referenced, the one that is written. *)
RECURSIVE ChangeAll(_, _, _, _)
ChangeAll(s, n, refs, into) ==
    IF refs = <<>> THEN s
    ELSE ChangeAll(Change(s, n, Head(refs).page, into[Head(refs).page]), n, Tail(refs), into)

Apply(s, n, into) ==
    LET record == wal[n] IN
    IF record.effect = "none" THEN ChangeAll(s, n, record.refs, into)
    ELSE IF record.effect = "create" THEN Resize(s, record.relation, 0)
    ELSE Resize(s, record.relation, Min(record.to, Max(s.size[record.relation], 0)))

Itself == [page \in Pages |-> page]

Init ==
    /\ wal \in Wals
    /\ replayed = 0
    /\ store = [size |-> Sizes, content |-> [p \in Pages |-> <<>>], generation |-> [p \in Pages |-> 0]]

Replay ==
    /\ replayed < Len(wal)
    /\ store' = Apply(store, replayed + 1, Itself)
    /\ replayed' = replayed + 1
    /\ UNCHANGED wal

Next == Replay
Spec == Init /\ [][Next]_vars
=============================================================================

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
    wal,        \* the records. A record references pages, or it creates, truncates or drops relations
    replayed,   \* how many of them have been replayed
    store       \* size: each relation's length; content: the records that changed each page;
                \* generation: how often a page of this name came or went

vars == <<wal, replayed, store>>
Pages == Relations \X Blocks

(* A reference to a page says what replay does with it:                    *)
(*   "read"   it changes the page, if there is one;                        *)
(*   "init"   it writes the page anew, and the relation may grow;          *)
(*   "image"  the same, from a full page image;                            *)
(*   "hint"   nothing: its change of hint bits needs no replay;            *)
(*   "fork"   nothing here: the page is of another fork.                   *)
Initialises(ref) == ref.how \in {"init", "image"}

Record(refs, effect, relations, to) == [refs |-> refs, effect |-> effect, relations |-> relations, to |-> to]
Changes(refs)          == Record(refs, "none", {}, 0)
Truncates(relation, n) == Record(<<>>, "truncate", {relation}, n)
Creates(relation)      == Record(<<>>, "create", {relation}, 0)
Drops(relations)       == Record(<<>>, "drop", relations, 0)
CreatesDatabase        == Record(<<>>, "database", Relations, 0)   \* by file copy: its relations come anew
ChangesTimeline        == Record(<<>>, "timeline", {}, 0)          \* a shutdown checkpoint, or the end of a recovery

Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

(* Relations get other lengths: the pages between come or go. *)
Resize(s, lengths) ==
    LET old == s.size
        touched(p) == LET o == old[p[1]] n == lengths[p[1]]
                      IN o # n /\ p[2] >= Max(Min(n, o), 0) /\ p[2] < Max(n, o)
    IN [size       |-> lengths,
        content    |-> [p \in Pages |-> IF touched(p) THEN <<>> ELSE s.content[p]],
        generation |-> [p \in Pages |-> IF touched(p) THEN s.generation[p] + 1 ELSE s.generation[p]]]

Exists(s, page) == page[2] < s.size[page[1]]

(* Record n changes the page of a reference, and writes to the page `into`:*)
(* it is the same, unless replay trusts a hint that is wrong.  A page that *)
(* does not exist is lost: a record to come removes its relation.  Its     *)
(* file is made, in any case.                                              *)
Change(s, n, ref, into) ==
    LET page == ref.page
        grown == Resize(s, [s.size EXCEPT ![page[1]] = Max(@, page[2] + 1)])
        made  == [s EXCEPT !.size[page[1]] = Max(@, 0)]
    IN IF Initialises(ref) THEN [grown EXCEPT !.content[page] = <<n>>]
       ELSE IF ref.how # "read" THEN s
       ELSE IF Exists(s, page) THEN [s EXCEPT !.content[into] = Append(@, n)]
       ELSE made

(* into: for each page referenced, the one that is written. *)
RECURSIVE ChangeAll(_, _, _, _)
ChangeAll(s, n, refs, into) ==
    IF refs = <<>> THEN s
    ELSE ChangeAll(Change(s, n, Head(refs), into[Head(refs).page]), n, Tail(refs), into)

(* What is created is new.  TraceRecoveryPrefetch has another definition:  *)
(* there the file may be left over from before the crash.                  *)
Created(length) == 0

LengthAfter(record, length) ==
    IF record.effect = "create" THEN Created(length)
    ELSE IF record.effect = "database" THEN Min(length, 0)
    ELSE IF record.effect = "drop" THEN -1
    ELSE Min(record.to, Max(length, 0))

LengthsAfter(s, record) ==
    [r \in Relations |-> IF r \in record.relations THEN LengthAfter(record, s.size[r]) ELSE s.size[r]]

Apply(s, n, into) ==
    LET record == wal[n]
    IN ChangeAll(IF record.relations = {} THEN s ELSE Resize(s, LengthsAfter(s, record)), n, record.refs, into)

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

(* A page that does not exist has no contents.  (Modules that extend this  *)
(* one have a TypeOK of their own.)                                        *)
ReplayTypeOK ==
    /\ wal \in Wals
    /\ replayed \in 0..Len(wal)
    /\ DOMAIN store = {"size", "content", "generation"}
    /\ store.size \in [Relations -> Nat \cup {-1}]
    /\ store.content \in [Pages -> Seq(1..replayed)]
    /\ store.generation \in [Pages -> Nat]
    /\ \A page \in Pages : Exists(store, page) \/ store.content[page] = <<>>
=============================================================================

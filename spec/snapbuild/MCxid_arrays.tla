\* SPDX-License-Identifier: PostgreSQL
---------------------------- MODULE MCxid_arrays ----------------------------
(***************************************************************************)
(* Every array, batch and xmin within the bounds is an initial state.  In  *)
(* each one the operators of xid_arrays are compared with the filter.      *)
(* Span bounds how far apart the XIDs lie: Half is the server's            *)
(* hypothesis, and Size is no bound.                                       *)
(***************************************************************************)
EXTENDS xid_arrays

CONSTANTS
    MaxLen,     \* of an array
    MaxBatch,   \* of a batch
    Span

VARIABLES array, xmin, batch

vars == <<array, xmin, batch>>

Seqs(S, n) == UNION {[1..k -> S] : k \in 0..n}
Near(S, x) == InOneArc(S \cup {x}, Span)

RECURSIVE Choose(_, _)
Choose(S, n) == IF n = 0 THEN {{}} ELSE LET less == Choose(S, n - 1) IN less \cup {T \cup {x} : T \in less, x \in S}

(* An xmin may be Invalid: a builder that has none yet drops nothing. *)
Xmins == {Invalid} \cup Normals

(* Arrays in any order, with duplicates *)
InitUnsorted ==
    /\ array \in Seqs(Normals, MaxLen)
    /\ xmin \in Xmins
    /\ Near(Range(array), xmin)
    /\ batch = <<>>

(* Raw-sorted arrays without duplicates *)
InitSorted ==
    /\ xmin \in Xmins
    /\ array \in {SortUnique(S) : S \in Choose(Normals, MaxLen)}
    /\ Near(Range(array), xmin)
    /\ batch = <<>>

(* The same with a commit's XIDs, in any order *)
InitInsert ==
    /\ xmin = Invalid
    /\ array \in {SortUnique(S) : S \in Choose(Normals, MaxLen)}
    /\ batch \in Seqs(Normals, MaxBatch)

(* Sorted FullTransactionIds of the epochs 1 and 2 that lie in one arc *)
InitFull ==
    \E first \in {Full(1, x) : x \in Normals} :
        /\ array \in {SortUnique(S) : S \in Choose({f \in first..(first + Span - 1) : IsNormal(XidOf(f))}, MaxLen)}
        /\ xmin \in {f \in first..(first + Span - 1) : IsNormal(XidOf(f))}
        /\ batch = <<>>

Stay == UNCHANGED vars

SpecUnsorted == InitUnsorted /\ [][Stay]_vars
SpecSorted   == InitSorted /\ [][Stay]_vars
SpecInsert   == InitInsert /\ [][Stay]_vars
SpecFull     == InitFull /\ [][Stay]_vars

(* The same choices, and then the algorithms as steps: a change that a     *)
(* machine makes in one of them is then a change of what is executed.      *)
Purges ==
    /\ array' \in {PurgeWorkspace(array, xmin), PurgeInPlace(array, xmin), PurgeTwoBorders(array, xmin),
                   PurgeFrontScan(array, xmin), PurgeRawMinimum(array, xmin), PurgeLowerBound(array, xmin)}
    /\ UNCHANGED <<xmin, batch>>

PurgesFull ==
    /\ array' \in {PurgeFull(array, xmin), Live(PurgeLazyHead([head |-> 0, fulls |-> array], xmin))}
    /\ UNCHANGED <<xmin, batch>>

Merges ==
    /\ batch # <<>>
    /\ array' \in {InsertMerge(array, batch), InsertSortedAfterConsistent(TRUE, InsertAppend(array, batch), <<>>)}
    /\ batch' = <<>>
    /\ UNCHANGED xmin

SpecPurges     == InitSorted /\ [][Purges]_vars
SpecPurgesFull == InitFull /\ [][PurgesFull]_vars
SpecMerges     == InitInsert /\ [][Merges]_vars

-----------------------------------------------------------------------------
(* xid_arrays has no variables; these are the types of the choices. *)
TypeOK ==
    /\ array \in Seq(Normals) /\ batch \in Seq(Normals) /\ xmin \in {Invalid} \cup Normals
    /\ Len(array) + Len(batch) <= MaxLen + MaxBatch

FullTypeOK ==
    /\ \A full \in Range(array) \cup {xmin} : IsNormal(XidOf(full)) /\ EpochOf(full) \in {1, 2}
    /\ Strictly(array) /\ Len(array) <= MaxLen /\ batch = <<>>

WorkspaceIsFilter  == PurgeWorkspace(array, xmin) = Filter(array, xmin)
InPlaceIsFilter    == PurgeInPlace(array, xmin) = Filter(array, xmin)
TwoBordersIsFilter == PurgeTwoBorders(array, xmin) = Filter(array, xmin)
TwoBordersSorted   == Strictly(PurgeTwoBorders(array, xmin))

(* Safe: no XID that must stay is dropped.  Complete: no other XID stays. *)
Safe(purged)     == Range(Filter(array, xmin)) \subseteq Range(purged)
Complete(purged) == Range(purged) \subseteq Range(Filter(array, xmin))
AcrossTheWrap    == \E x, y \in Range(array) \cup {xmin} : x < y /\ Precedes(y, x)

FrontScanSafe        == Safe(PurgeFrontScan(array, xmin)) /\ Strictly(PurgeFrontScan(array, xmin))
FrontScanComplete    == Complete(PurgeFrontScan(array, xmin))
FrontScanUnwrapped   == ~AcrossTheWrap => FrontScanComplete
RawMinimumSafe       == Safe(PurgeRawMinimum(array, xmin)) /\ Strictly(PurgeRawMinimum(array, xmin))
RawMinimumComplete   == Complete(PurgeRawMinimum(array, xmin))
RawMinimumUnwrapped  == ~AcrossTheWrap => RawMinimumComplete
RawMinimumAllOrNothing == PurgeRawMinimum(array, xmin) \in {array, Filter(array, xmin)}
LowerBoundSafe       == Safe(PurgeLowerBound(array, xmin))
LowerBoundComplete   == Complete(PurgeLowerBound(array, xmin))
LowerBoundUnwrapped  == ~AcrossTheWrap => PurgeLowerBound(array, xmin) = Filter(array, xmin)

(* Both drop all if xmin is past the whole array by less than half a ring. *)
PassedAll == \A x \in Range(array) : Precedes(x, xmin)
FrontScanInTheEnd  == PassedAll => PurgeFrontScan(array, xmin) = <<>>
RawMinimumInTheEnd == PassedAll => PurgeRawMinimum(array, xmin) = <<>>

MergeIsSortedUnion == InsertMerge(array, batch) = SortUnique(Range(array) \cup Range(batch))
AppendSortsToMerge == Sorted(InsertAppend(array, batch)) = InsertMerge(array, batch)
ByStateIsMerge ==
    \A n \in 0..Len(batch) :
        InsertSortedAfterConsistent(TRUE, InsertSortedAfterConsistent(FALSE, array, SubSeq(batch, 1, n)),
                                    SubSeq(batch, n + 1, Len(batch)))
        = InsertMerge(array, batch)

(* For FullTransactionIds within half a ring: equal to the filter on their XIDs. *)
FullIsFilter == Downcast(PurgeFull(array, xmin)) = Filter(Downcast(array), XidOf(xmin))
LazyIsFull ==
    \A i \in 1..Len(array) :
        LET once  == PurgeLazyHead([head |-> 0, fulls |-> array], array[i])
            twice == PurgeLazyHead(once, xmin)
        IN  /\ Live(once) = PurgeFull(array, array[i])
            /\ Live(twice) = PurgeFull(PurgeFull(array, array[i]), xmin)
            /\ 2 * twice.head < Len(twice.fulls) \/ twice.head = 0
DowncastIsRotated == Rotated(Downcast(array)) = Sorted(Downcast(array))

-----------------------------------------------------------------------------
(* Mutants *)
PermanentToo == XIDs
FallingOrder(S) == [i \in 1..Cardinality(S) |-> CHOOSE x \in S : Cardinality({y \in S : y >= x}) = i]
MergeKeepsBoth(xs, b, low, left, merged) ==
    SubSeq(xs, 1, low) \o SubSeq(b, 1, left) \o merged
StaleHead(a) == a.fulls
SearchPast(xs, bound, low, high) ==
    IF \E i \in low..(high - 1) : xs[i] > bound
    THEN CHOOSE i \in low..(high - 1) : xs[i] > bound /\ \A j \in low..(i - 1) : xs[j] <= bound
    ELSE high
WithoutLast(xs) == IF xs = <<>> THEN xs ELSE SubSeq(xs, 1, Len(xs) - 1)
LosesLast(xs, horizon, i, kept) == WithoutLast(Filter(xs, horizon))
NotRotated(xs) == xs
AlwaysAppend(consistent, xs, b) == xs \o b
EagerScan(xs, horizon, i) == IF xs = <<>> THEN xs ELSE Tail(xs)
LazyScan(xs, horizon, i)  == xs
EagerMinimum(xs, horizon) == IF xs = <<>> \/ ~Precedes(xs[1], horizon) THEN xs ELSE <<>>
LazyMinimum(xs, horizon)  == xs
HalfMinimum(xs, horizon)  ==
    IF xs = <<>> \/ ~Precedes(xs[1], horizon) THEN xs ELSE Tail(xs)
BordersSwapped(xs, horizon) ==
    LET kept == Filter(xs, horizon) IN [i \in 1..Len(kept) |-> kept[Len(kept) + 1 - i]]
PlainLowerBound(xs, bound) == Search(xs, bound + 1, 1, Len(xs) + 1)
DropsEquals(xs, b) == xs \o SelectSeq(b, LAMBDA x : x > FirstNormal)

(* States that must be reachable *)
NeverSuffixAndPrefix ==
    ~(Len(array) > 3 /\ xmin >= Half /\ array[1] < Half /\ Precedes(array[2], xmin) = FALSE /\ Len(Filter(array, xmin)) < Len(array) - 1
      /\ array[Len(array)] >= xmin)
NeverDuplicateInBatch == ~(\E i, j \in 1..Len(batch) : i # j /\ batch[i] = batch[j] /\ batch[i] \in Range(array))
=============================================================================

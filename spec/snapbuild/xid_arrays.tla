\* SPDX-License-Identifier: PostgreSQL
----------------------------- MODULE xid_arrays -----------------------------
(***************************************************************************)
(* The algorithms on arrays of XIDs, each an operator on sequences: purge  *)
(* (keep x if and only if x does not precede xmin) and insert.             *)
(* MCxid_arrays compares each with the plain filter, on all small inputs.  *)
(* snapbuild_ring runs the builder with any of them.                       *)
(*                                                                         *)
(* Which purge needs what                                                  *)
(*   any array, order kept      PurgeWorkspace, PurgeInPlace               *)
(*   raw-sorted, no duplicates  PurgeTwoBorders                            *)
(*   sorted FullTransactionIds  PurgeFull, PurgeLazyHead                   *)
(*                                                                         *)
(* Two questions about upstream, answered by MCxid_arrays                  *)
(*   Purge of catchange.xip (16 on): raw-sorted; scans from the front,     *)
(*     stops at the first XID that does not precede xmin (PurgeFrontScan). *)
(*     Safe: yes, always: it drops only XIDs that precede xmin.            *)
(*     Complete: yes if the array does not cross the wrap.  Across it, NO: *)
(*     the XIDs from after the wrap are the smallest numbers and stand in  *)
(*     front.  While one of them does not precede xmin, all XIDs from      *)
(*     before the wrap stay.  (3, 14) on the ring of 16 with xmin 15.      *)
(*   InitialRunningXacts (11 to 15): filtered, but only if the first, the  *)
(*     raw minimum, precedes xmin (PurgeRawMinimum).  Safe: yes, always.   *)
(*     Complete: NO across the wrap, with the same witness; but the first  *)
(*     purge that does begin is complete.                                  *)
(*   snapbuild_ring says what happens to the XIDs that stay.               *)
(*                                                                         *)
(* How to break it: in PurgeTwoBorders take only the lower border          *)
(* (PurgeLowerBound): right until the array crosses the wrap, and then it  *)
(* drops the newest XIDs.                                                  *)
(*                                                                         *)
(* Upstream: src/backend/replication/logical/snapbuild.c,                  *)
(* SnapBuildPurgeOlderTxn, SnapBuildAddCommittedTxn. The ideas are of the  *)
(* thread "Optimize SnapBuildPurgeOlderTxn: use in-place compaction instead*)
(* of temporary array".                                                    *)
(***************************************************************************)
EXTENDS Xid, FiniteSets

Range(xs) == {xs[i] : i \in 1..Len(xs)}

Strictly(xs) == \A i \in 1..(Len(xs) - 1) : xs[i] < xs[i + 1]

-----------------------------------------------------------------------------
(* The specification of every purge *)
Filter(xs, xmin) == SelectSeq(xs, LAMBDA x : ~Precedes(x, xmin))

(* Copy the XIDs that stay to a workspace, and back. *)
RECURSIVE CopySurvivors(_, _, _, _)
CopySurvivors(xs, xmin, i, workspace) ==
    IF i > Len(xs) THEN workspace
    ELSE CopySurvivors(xs, xmin, i + 1, IF Precedes(xs[i], xmin) THEN workspace ELSE Append(workspace, xs[i]))

PurgeWorkspace(xs, xmin) == CopySurvivors(xs, xmin, 1, <<>>)

(* The XIDs that stay move down over the dropped ones, in the array itself. *)
RECURSIVE SlideDown(_, _, _, _)
SlideDown(xs, xmin, i, kept) ==
    IF i > Len(xs) THEN SubSeq(xs, 1, kept)
    ELSE IF Precedes(xs[i], xmin) THEN SlideDown(xs, xmin, i + 1, kept)
    ELSE SlideDown([xs EXCEPT ![kept + 1] = xs[i]], xmin, i + 1, kept + 1)

PurgeInPlace(xs, xmin) == SlideDown(xs, xmin, 1, 0)

(* First index in [low, high) of a sorted array whose number is at least bound, else high. *)
RECURSIVE Search(_, _, _, _)
Search(xs, bound, low, high) ==
    IF low >= high THEN low
    ELSE LET middle == (low + high) \div 2
         IN  IF xs[middle] < bound THEN Search(xs, bound, middle + 1, high) ELSE Search(xs, bound, low, middle)

LowerBound(xs, bound) == Search(xs, bound, 1, Len(xs) + 1)

(* The XIDs in the arc of Half XIDs from xmin on stay.  In raw order they  *)
(* are one interval or, if the arc crosses 0, a suffix and a prefix.       *)
PurgeTwoBorders(xs, xmin) ==
    IF ~IsNormal(xmin) THEN xs
    ELSE LET end  == (xmin + Half) % Size
             from == LowerBound(xs, xmin)
             to   == LowerBound(xs, end)
         IN  IF xmin < end THEN SubSeq(xs, from, to - 1)
             ELSE SubSeq(xs, 1, to - 1) \o SubSeq(xs, from, Len(xs))

(* Wrong on purpose: only one boundary. *)
PurgeLowerBound(xs, xmin) == SubSeq(xs, LowerBound(xs, xmin), Len(xs))

(* catchange.xip, upstream 16 on *)
RECURSIVE FrontScan(_, _, _)
FrontScan(xs, xmin, i) ==
    IF i > Len(xs) \/ FollowsOrEquals(xs[i], xmin) THEN SubSeq(xs, i, Len(xs)) ELSE FrontScan(xs, xmin, i + 1)

PurgeFrontScan(xs, xmin) == FrontScan(xs, xmin, 1)

(* InitialRunningXacts, upstream 11 to 15 *)
PurgeRawMinimum(xs, xmin) ==
    IF xs = <<>> \/ ~Precedes(xs[1], xmin) THEN xs ELSE PurgeWorkspace(xs, xmin)

-----------------------------------------------------------------------------
(* FullTransactionIds: their order is that of the numbers. *)

PurgeFull(fulls, xminFull) == SubSeq(fulls, LowerBound(fulls, xminFull), Len(fulls))

(* The head moves, the array stays; it is compacted when at least half of  *)
(* it is dead.  An array is [head |-> entries before the first live one,   *)
(* fulls |-> all entries].                                                 *)
Live(array) == SubSeq(array.fulls, array.head + 1, Len(array.fulls))

PurgeLazyHead(array, xminFull) ==
    LET head == Search(array.fulls, xminFull, array.head + 1, Len(array.fulls) + 1) - 1
    IN  IF 2 * head >= Len(array.fulls) THEN [head |-> 0, fulls |-> SubSeq(array.fulls, head + 1, Len(array.fulls))]
        ELSE [head |-> head, fulls |-> array.fulls]

(* A snapshot holds 32-bit XIDs in raw order.  Those of a sorted full      *)
(* array are in raw order rotated: the part after the wrap goes in front.  *)
Downcast(fulls) == [i \in 1..Len(fulls) |-> XidOf(fulls[i])]

Rotated(xs) ==
    LET falls == {i \in 1..(Len(xs) - 1) : xs[i] > xs[i + 1]}
    IN  IF falls = {} THEN xs
        ELSE LET i == CHOOSE i \in falls : TRUE IN SubSeq(xs, i + 1, Len(xs)) \o SubSeq(xs, 1, i)

-----------------------------------------------------------------------------
(* Insert: a commit's XIDs, its subtransactions before the top-level one. *)

InsertAppend(xs, batch) == xs \o batch

(* Sort, without duplicates *)
RECURSIVE SortUnique(_)
SortUnique(S) ==
    IF S = {} THEN <<>>
    ELSE LET least == CHOOSE x \in S : \A y \in S : x <= y IN <<least>> \o SortUnique(S \ {least})

Sorted(xs) == SortUnique(Range(xs))

(* Two sorted arrays merged from the back; of equals one stays.  low and   *)
(* b are how many of xs and batch are left, merged is what stands already. *)
RECURSIVE MergeBack(_, _, _, _, _)
MergeBack(xs, batch, low, b, merged) ==
    IF b = 0 THEN SubSeq(xs, 1, low) \o merged
    ELSE IF low = 0 \/ xs[low] < batch[b] THEN MergeBack(xs, batch, low, b - 1, <<batch[b]>> \o merged)
    ELSE IF xs[low] = batch[b] THEN MergeBack(xs, batch, low - 1, b - 1, <<batch[b]>> \o merged)
    ELSE MergeBack(xs, batch, low - 1, b, <<xs[low]>> \o merged)

InsertMerge(xs, batch) ==
    LET b == Sorted(batch) IN MergeBack(xs, b, Len(xs), Len(b), <<>>)

(* Append before CONSISTENT; from then on sort the array if it is not sorted, and merge. *)
InsertSortedAfterConsistent(consistent, xs, batch) ==
    IF consistent THEN InsertMerge(IF Strictly(xs) THEN xs ELSE Sorted(xs), batch) ELSE InsertAppend(xs, batch)

=============================================================================

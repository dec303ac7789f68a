(* SPDX-License-Identifier: PostgreSQL *)
(** * The insertion into a sorted array as C does it: eight XIDs are searched for side by side

    Algorithms.v searches for one XID of a chunk after the other.  The functions here load in the order of C: insert.c,
    merge_template.h, search_template.h. *)
From Coq Require Import ZArith List.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Algorithms Upstream.
Local Open Scope Z_scope.

(** A local array, before anything is written to it. *)
Definition nothing : memory := ∅.

(** ** search_chunk, SEARCH_LANES at a time: of each lane its place in the chunk, its XID and where that may begin

    for (l = 0; l < 8; l++) { lane[l] = i + l < m ? i + l : i; key[l] = x[lane[l]]; p[l] = from; } *)
Definition lanes : Type := list (Z * Z * Z).

Fixpoint start_lanes (b : memory) (low i m from : Z) (numbers : list Z) : option lanes :=
  match numbers with
  | [] => Some []
  | l :: numbers =>
      let lane := if i + l <? m then i + l else i in
      key ← load b (low + lane);
      rest ← start_lanes b low i m from numbers;
      Some ((lane, key, from) :: rest)
  end.

(** for (l = 0; l < 8; l++) p[l] += a[p[l] + half - 1] < key[l] ? half : 0; *)
Fixpoint halve_lanes (a : memory) (half : Z) (group : lanes) : option lanes :=
  match group with
  | [] => Some []
  | (lane, key, p) :: group =>
      v ← load a (p + half - 1);
      rest ← halve_lanes a half group;
      Some ((lane, key, if v <? key then p + half else p) :: rest)
  end.

Definition lanes_test (s : lanes * Z) : option bool := let '(group, w) := s in Some (1 <? w).

Definition lanes_body (a : memory) (s : lanes * Z) : option (lanes * Z) :=
  let '(group, w) := s in
  let half := w / 2 in
  group ← halve_lanes a half group;
  Some (group, w - half).

(** for (l = 0; l < 8; l++) at[lane[l]] = p[l] + (p[l] < n && a[p[l]] < key[l]); *)
Fixpoint put_lanes (a : memory) (n : Z) (group : lanes) (at_ : memory) : option memory :=
  match group with
  | [] => Some at_
  | (lane, key, p) :: group =>
      p ← (if p <? n then v ← load a p; Some (if v <? key then p + 1 else p) else Some p);
      at_ ← put at_ lane p;
      put_lanes a n group at_
  end.

(** for (i = 1; i < m; i += 8) ... *)
Definition group_body (a b : memory) (low from n m : Z) (s : Z * memory) : option (Z * memory) :=
  let '(i, at_) := s in
  group ← start_lanes b low i m from [0; 1; 2; 3; 4; 5; 6; 7];
  '(group, _) ← while (Z.to_nat (n - from)) lanes_test (lanes_body a) (group, n - from);
  at_ ← put_lanes a n group at_;
  Some (i + 8, at_).

(** for (i = 1; i < m; i++) at[i] = n; *)
Definition end_body (n : Z) (s : Z * memory) : option (Z * memory) :=
  let '(i, at_) := s in
  at_ ← put at_ i n;
  Some (i + 1, at_).

Definition search_side_by_side (a b : memory) (low n m : Z) : option memory :=
  x ← load b low;
  from ← gallop a x n;
  at_ ← put nothing 0 from;
  '(_, at_) ← while (Z.to_nat m) (search_test m)
                (if from =? n then end_body n else group_body a b low from n m) (1, at_);
  Some at_.

(** ** merge_batch and sort_batch, as in Algorithms.v but for this search: it comes after the load of the XID *)
Definition merge_body_in_order (m : Z) (s : merging) : option merging :=
  let '(top, j, low, at_, holes, b, a) := s in
  let j := j - 1 in
  x ← load b j;
  '(low, at_) ← (
    if j <? low
    then
      let low := if j <? CHUNK then 0 else j - CHUNK + 1 in
      at_ ← search_side_by_side a b low top (j - low + 1);
      Some (low, at_)
    else Some (low, at_));
  here ← load at_ (j - low);
  let here := if here <? top then here else top in
  there ← (if here <? top then v ← load a here; Some (v =? x) else Some false);
  a ← memmove a (here + j + 1) here (top - here);
  if (there : bool)
  then b ← store b (m - (holes + 1)) (here + j); Some (here, j, low, at_, holes + 1, b, a)
  else a ← store a (here + j) x; Some (here, j, low, at_, holes, b, a).

Definition merge_in_order (n m : Z) (b a : memory) : option (Z * memory) :=
  '(_, _, _, _, holes, b, a) ←
    while (Z.to_nat m) merge_test (merge_body_in_order m) (n, m, m, nothing, 0, b, a);
  if holes =? 0 then Some (n + m, a)
  else
    lowest ← load b (m - holes);
    '(_, to, a) ← while (Z.to_nat holes) close_test (close_body n m b) (holes, lowest, a);
    Some (to, a).

Definition chunk_in_order (m : Z) (s : Z * Z * memory) : option (Z * Z * memory) :=
  let '(i, n, b) := s in
  l ← read b i (Z.to_nat (Z.min (m - i) CHUNK));
  '(k, next) ← sort_chunk (Z.min (m - i) CHUNK) (allocate nothing 0 l);
  '(n, b) ← merge_in_order n k next b;
  Some (i + CHUNK, n, b).

Definition sort_in_order (m : Z) (b : memory) : option (Z * memory) :=
  n ← while (Z.to_nat m) (rising_test m b) rising_body (if 0 <? m then 1 else 0);
  if n =? m then Some (n, b)
  else if n + 1 =? m then top ← load b n; merge_in_order n 1 (allocate nothing 0 [top]) b
  else
    '(n, b) ← sort_chunk (Z.min m CHUNK) b;
    '(_, n, b) ← while (Z.to_nat m) (chunks_test m) (chunk_in_order m) (CHUNK, n, b);
    Some (n, b).

(** insert.c, pgq_snapbuild_insert_batch_merge on an array that is sorted: nothing happens if an XID is permanent. *)
Definition insert_sorted (n m : Z) (batch xip : memory) : option (Z * memory) :=
  '(_, permanent) ← while (Z.to_nat m) (permanent_test m) (permanent_body batch) (0, false);
  if (permanent : bool) then Some (n, xip)
  else
    '(m, batch) ← sort_in_order m batch;
    merge_in_order n m batch xip.

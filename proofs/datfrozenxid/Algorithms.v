(* SPDX-License-Identifier: PostgreSQL *)
(** * The kernels, step by step

    They look for the greatest age: how far an id lies behind the next one to be assigned, as an unsigned number.  What they
    compute is said in Spec.v, and that they do in the other files. *)
From Coq Require Import Arith.
From Pgquern.common Require Import Integers Xid.
From Pgquern.datfrozenxid Require Import Spec.

(** (x < first_normal ? 0 : last_sane) - x, in 32 bits *)
Definition age (s : sort) (sane x : Z) : Z := ((if x <? first_normal s then 0 else sane) - x) mod RING.

(** ** The greatest age, with vectors *)

(** The unsigned maximum of two vectors, lane by lane. *)
Definition lanes_max (a b : list Z) : list Z := map (fun p => Z.max (fst p) (snd p)) (combine a b).

(** A step of a chain: a vector of values is loaded, and one accumulator takes their ages. *)
Fixpoint take (s : sort) (sane : Z) (accumulators : list (list Z)) (i : nat) (v : list Z) : list (list Z) :=
  match accumulators, i with
  | [], _ => []
  | a :: rest, O => lanes_max a (map (age s sane) v) :: rest
  | a :: rest, S i => a :: take s sane rest i v
  end.

Definition accumulate (s : sort) (sane : Z) (schedule : list (nat * list Z)) (accumulators : list (list Z)) :
    list (list Z) :=
  fold_left (fun acc step => take s sane acc (fst step) (snd step)) schedule accumulators.

(** The chains meet: max(max(a, b), max(c, d)), or max(a, b). *)
Definition join (accumulators : list (list Z)) : list Z :=
  match accumulators with
  | [a; b; c; d] => lanes_max (lanes_max a b) (lanes_max c d)
  | [a; b] => lanes_max a b
  | _ => []
  end.

(** The final reduction of 2^k lanes: the upper half meets the lower half, k times. *)
Fixpoint reduce (k : nat) (v : list Z) : Z :=
  match k with
  | O => hd 0 v
  | S k => reduce k (lanes_max (firstn (2 ^ k) v) (skipn (2 ^ k) v))
  end.

Definition greatest_age (s : sort) (sane : Z) (chains k : nat) (schedule : list (nat * list Z)) : Z :=
  reduce k (join (accumulate s sane schedule (repeat (repeat 0 (2 ^ k)) chains))).

(** ** Who takes what *)

(** The first [count] vectors of [lanes] values, and what is left. *)
Fixpoint cut (lanes count : nat) (l : list Z) : list (list Z) * list Z :=
  match count with
  | O => ([], l)
  | S count => let '(vectors, rest) := cut lanes count (skipn lanes l) in (firstn lanes l :: vectors, rest)
  end.

(** Lanes that are not loaded hold 0, the invalid id. *)
Definition padded (lanes : nat) (v : list Z) : list Z := v ++ repeat 0 (lanes - length v).

(** As long as all chains get a vector, each gets one in turn; then the first chain gets all that are left; the values of the
    last, not full vector go to chain [last].
    for (; n - i >= chains * lanes; ...) a, b, ...; for (; n - i >= lanes; ...) a; load_few *)
Definition schedule (chains lanes last : nat) (l : list Z) : list (nat * list Z) :=
  let n := length l in
  let '(vectors, rest) := cut lanes (n / lanes) l in
  let turns := ((n / (chains * lanes)) * chains)%nat in
  combine (map (fun i => if (i <? turns)%nat then (i mod chains)%nat else 0%nat) (seq 0 (n / lanes))) vectors ++
  [(last, padded lanes rest)].

(** Rows: two chains of four rows each; the rows that are left come one by one. *)
Definition row_schedule (l : list Z) : list (nat * list Z) :=
  let '(vectors, rest) := cut 4 (2 * (length l / 8)) l in
  combine (map (fun i => (i mod 2)%nat) (seq 0 (2 * (length l / 8)))) vectors ++
  map (fun x => (0%nat, padded 4 [x])) rest.

(** Rows one by one, in one chain. *)
Definition single_schedule (l : list Z) : list (nat * list Z) := map (fun x => (0%nat, [x])) l.

Definition scalar_age (s : sort) (sane : Z) (l : list Z) : Z := greatest_age s sane 2 0 (schedule 2 1 0 l).
Definition avx2_age (s : sort) (sane : Z) (l : list Z) : Z := greatest_age s sane 4 3 (schedule 4 8 1 l).
Definition avx512_age (s : sort) (sane : Z) (l : list Z) : Z := greatest_age s sane 4 4 (schedule 4 16 1 l).
Definition scalar_row_age (s : sort) (sane : Z) (l : list Z) : Z := greatest_age s sane 2 0 (single_schedule l).
Definition row_age (s : sort) (sane : Z) (l : list Z) : Z := greatest_age s sane 2 2 (row_schedule l).

(** ** The walk, chunk by chunk *)

(** The id of the greatest age takes the place of the oldest one so far, if it precedes it. *)
Definition lower (s : sort) (sane oldest greatest : Z) : Z :=
  let x := (sane - greatest) mod RING in if before s x oldest then x else oldest.

(** A chunk with a suspect age is scanned as upstream does. *)
Fixpoint by_age (s : sort) (sane : Z) (greatest : list Z -> Z) (chunks : list (list Z)) (place oldest : Z) : answer :=
  match chunks with
  | [] => Oldest oldest
  | c :: chunks =>
      if greatest c <? HALF
      then by_age s sane greatest chunks (place + Z.of_nat (length c)) (lower s sane oldest (greatest c))
      else match scan s sane c place oldest with
           | Future place => Future place
           | Oldest oldest => by_age s sane greatest chunks (place + Z.of_nat (length c)) oldest
           end
  end.

(** Rows whose kind holds no ids count as invalid. *)
Definition xid_of_row (r : row) : Z := if holds r then relfrozenxid r else 0.
Definition multi_of_row (r : row) : Z := if holds r then relminmxid r else 0.

Fixpoint rows_by_age (xid_sane multi_sane : Z) (greatest : sort -> Z -> list Z -> Z) (chunks : list (list row))
    (place xid multi : Z) : rows_answer :=
  match chunks with
  | [] => OldestOf xid multi
  | c :: chunks =>
      let x := greatest Xids xid_sane (map xid_of_row c) in
      let m := greatest Multis multi_sane (map multi_of_row c) in
      if (x <? HALF) && (m <? HALF)
      then rows_by_age xid_sane multi_sane greatest chunks (place + Z.of_nat (length c))
             (lower Xids xid_sane xid x) (lower Multis multi_sane multi m)
      else match scan_rows xid_sane multi_sane c place xid multi with
           | OldestOf xid multi =>
               rows_by_age xid_sane multi_sane greatest chunks (place + Z.of_nat (length c)) xid multi
           | future => future
           end
  end.

(** Chunks of [size], the last one shorter. *)
Fixpoint chunks_of {A} (fuel size : nat) (l : list A) : list (list A) :=
  match fuel, l with
  | S fuel, _ :: _ => firstn size l :: chunks_of fuel size (skipn size l)
  | _, _ => []
  end.

Definition CHUNK : nat := Z.to_nat 4096.
Definition ROW_CHUNK : nat := Z.to_nat 256.

(** The whole kernels; [find] is one of the ways to find a chunk's greatest age. *)
Definition min_frozen (find : sort -> Z -> list Z -> Z) (s : sort) (start sane : Z) (l : list Z) : answer :=
  by_age s sane (find s sane) (chunks_of (length l) CHUNK l) 1 start.

Definition min_frozen_rows (find : sort -> Z -> list Z -> Z) (xid multi xs ms : Z) (rows : list row) : rows_answer :=
  rows_by_age xs ms find (chunks_of (length rows) ROW_CHUNK rows) 1 xid multi.

(** ** need_update with one comparison *)

(** XIDs: (stored < 3) | (last_sane - stored > last_sane - minimum); MultiXactIds: the second half. *)
Definition need_update_by_age (s : sort) (dat new sane : Z) : bool :=
  match s with Xids => dat <? 3 | Multis => false end || ((sane - new) mod RING <? (sane - dat) mod RING).

(* SPDX-License-Identifier: PostgreSQL *)
(** * insert.c: a commit's XIDs go into an array that is not sorted, load by load

    This is the first insertion after the builder has become consistent: the array is sorted once, and each XID is left in
    it once. *)
From Coq Require Import ZArith.
From stdpp Require Import base option.
From Pgquern.snapbuild Require Import Memory Upstream Quicksort SideBySide.
Local Open Scope Z_scope.

(** if (xip[i] != xip[kept - 1]) xip[kept++] = xip[i]; *)
Fixpoint drop_equals (todo : nat) (i kept : Z) (m : memory) : option (Z * memory) :=
  match todo with
  | O => Some (kept, m)
  | S todo =>
      x ← load m i;
      last ← load m (kept - 1);
      if x =? last then drop_equals todo (i + 1) kept m
      else m ← store m kept x; drop_equals todo (i + 1) (kept + 1) m
  end.

Definition sort_all (n : Z) (xip : memory) : option (Z * memory) :=
  xip ← quicksort (fun xid => xid) (Z.to_nat (Z.log2 n)) (Z.to_nat n) xip 0 n;
  drop_equals (Z.to_nat (n - 1)) 1 (if 0 <? n then 1 else 0) xip.

(** pgq_snapbuild_insert_batch_merge on an array that is not sorted: nothing happens if an XID is permanent. *)
Definition insert_unsorted (n m : Z) (batch xip : memory) : option (Z * memory) :=
  '(_, permanent) ← while (Z.to_nat m) (permanent_test m) (permanent_body batch) (0, false);
  if (permanent : bool) then Some (n, xip)
  else
    '(n, xip) ← sort_all n xip;
    '(m, batch) ← sort_in_order m batch;
    merge_in_order n m batch xip.

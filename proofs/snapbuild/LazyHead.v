(* SPDX-License-Identifier: PostgreSQL *)
(** * What the moving head of a FullTransactionId array costs

    A purge only moves the head ([purge_full_lazy_head]); an insert moves the array to the front when there is no space
    behind it.  Here just the numbers count: [n] elements from [head] on, in an array with space for [space]. *)
From Coq Require Import ZArith Lia List Bool.
Import ListNotations.
Local Open Scope Z_scope.

(** A purge drops [gone] elements; an insert has a batch of [m], of which [fresh] weren't there yet. *)
Inductive operation := Purge (gone : Z) | Insert (m fresh : Z).

Record state := { head : Z; n : Z }.

Definition allowed (space : Z) (op : operation) (s : state) : Prop :=
  match op with
  | Purge gone => 0 <= gone <= n s
  | Insert m fresh => 0 <= fresh <= m /\ 2 * n s + m <= space
  end.

(** The new state; and how many elements were moved to the front, and dropped. *)
Definition step (space : Z) (op : operation) (s : state) : state * Z * Z :=
  match op with
  | Purge gone => ({| head := if n s - gone =? 0 then 0 else head s + gone; n := n s - gone |}, 0, gone)
  | Insert m fresh =>
      if space - n s - head s <? m then ({| head := 0; n := n s + fresh |}, n s, 0)
      else ({| head := head s; n := n s + fresh |}, 0, 0)
  end.

Fixpoint run (space : Z) (ops : list operation) (s : state) : state * Z * Z :=
  match ops with
  | [] => (s, 0, 0)
  | op :: ops =>
      let '(s, moved, dropped) := step space op s in
      let '(s, moved', dropped') := run space ops s in
      (s, moved + moved', dropped + dropped')
  end.

Fixpoint all_allowed (space : Z) (ops : list operation) (s : state) : Prop :=
  match ops with
  | [] => True
  | op :: ops => allowed space op s /\ all_allowed space ops (fst (fst (step space op s)))
  end.

Definition sound (space : Z) (s : state) : Prop := 0 <= head s /\ 0 <= n s /\ head s + n s <= space.

(* What was dropped stands below the head, and pays for moving as many. *)
Lemma step_cost space op s : sound space s -> allowed space op s ->
  let '(s', moved, dropped) := step space op s in moved + head s' <= head s + dropped /\ sound space s'.
Proof.
  intros (H & N & C) A. unfold sound. destruct op as [gone|m fresh]; cbn [allowed step] in *.
  - destruct (Z.eqb_spec (n s - gone) 0); cbn [head n]; lia.
  - destruct (Z.ltb_spec (space - n s - head s) m); cbn [head n]; lia.
Qed.

(** If the array always has space for twice its elements and the batch, any sequence of purges and inserts moves at
    most as many elements to the front as it drops, and head and elements stay within the space. *)
Theorem lazy_head_is_amortised : forall space ops, 0 <= space -> all_allowed space ops {| head := 0; n := 0 |} ->
  let '(s, moved, dropped) := run space ops {| head := 0; n := 0 |} in
  moved <= dropped /\ 0 <= head s /\ head s + n s <= space.
Proof.
  intros space ops S A.
  assert (G : forall ops s, sound space s -> all_allowed space ops s ->
    let '(s', moved, dropped) := run space ops s in moved + head s' <= head s + dropped /\ sound space s').
  { clear. induction ops as [|op ops IH]; intros s S A; cbn [run].
    - split; [lia|auto].
    - destruct A as [A1 A]. pose proof (step_cost space op s S A1) as C.
      destruct (step space op s) as [[s1 m] d]. destruct C as [C S1]. specialize (IH s1 S1 A).
      destruct (run space ops s1) as [[s2 m'] d']. destruct IH. split; [lia|auto]. }
  specialize (G ops {| head := 0; n := 0 |}). destruct (run space ops _) as [[s m] d].
  destruct G as [G1 (G2 & G3 & G4)]; [unfold sound; simpl; lia|auto|]. simpl in G1. lia.
Qed.

(** The condition is no stronger than it says: of eight places, twice the elements and the batch may take all, all of a
    batch may be new, and then what the purge left is moved. *)
Theorem all_of_the_space_may_be_needed :
  let ops := [Insert 4 4; Purge 3; Insert 6 6] in
  all_allowed 8 ops {| head := 0; n := 0 |} /\ run 8 ops {| head := 0; n := 0 |} = ({| head := 0; n := 7 |}, 1, 3).
Proof. split; [|reflexivity]. cbn. lia. Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The kernels from list to list, with their checks: what is extracted

    Bad input gets a code, as in the C API; otherwise the arrays are laid out in memory, the algorithm of Algorithms.v
    runs on it, and the result is read back.  That this yields a result at all, and which, is proved here for each. *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list zmap.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms.
From Pgquern.snapbuild Require Import Purge PurgeSorted PurgeFull Insert KnownAssigned.
Local Open Scope Z_scope.

Definition XID_PERMANENT : Z := 20.
Definition UNSORTED : Z := 21.
Definition DUPLICATE : Z := 23.

(** Refused with a code, or the array that results.  [Stuck] would be an access out of bounds or a loop without end: no
    input leads there. *)
Inductive answer := Refused (code : Z) | Accepted (l : list Z) | Stuck.

Definition all_normal (l : list Z) : bool := forallb is_normal l.

(** The code for the first element that is not above the one before it, if there is one. *)
Fixpoint order_fault (l : list Z) : option Z :=
  match l with
  | x :: (y :: _) as rest => if x <? y then order_fault rest else Some (if x =? y then DUPLICATE else UNSORTED)
  | _ => None
  end.

Definition result (r : option (Z * memory)) : answer :=
  match r with
  | Some (n, a) => match read a 0 (Z.to_nat n) with Some l => Accepted l | None => Stuck end
  | None => Stuck
  end.

Definition laid_out (l : list Z) : memory := allocate ∅ 0 l.

Definition run_purge (l : list Z) (xmin : Z) : answer :=
  if negb (all_normal l) then Refused XID_PERMANENT
  else if negb (is_normal xmin) then Accepted l
  else result (purge_inplace (zlength l) xmin (laid_out l)).

Definition run_purge_sorted (l : list Z) (xmin : Z) : answer :=
  if negb (all_normal l) then Refused XID_PERMANENT
  else match order_fault l with
  | Some code => Refused code
  | None =>
      if negb (is_normal xmin) then Accepted l
      else result (purge_sorted (zlength l) xmin (laid_out l))
  end.

Definition run_purge_full (l : list Z) (xmin : Z) : answer :=
  if negb (all_normal (map xid_of l)) then Refused XID_PERMANENT
  else match order_fault l with
  | Some code => Refused code
  | None =>
      if negb (is_normal (xid_of xmin)) then Accepted l
      else result (purge_full (zlength l) xmin (laid_out l))
  end.

Definition run_insert (l batch : list Z) : answer :=
  if negb (all_normal batch) then Refused XID_PERMANENT
  else match order_fault l with
  | Some code => Refused code
  | None => result (insert (zlength l) (zlength batch) (laid_out batch) (laid_out (l ++ map (fun _ => 0) batch)))
  end.

Definition run_compress (xids flags : list Z) : answer :=
  result ('(n, a, _) ← compress 0 (zlength xids) (laid_out xids) (laid_out flags); Some (n, a)).

(** ** What they yield *)

Lemma all_normal_spec l : Forall valid l -> all_normal l = true <-> Forall normal l.
Proof.
  intros V. unfold all_normal. rewrite forallb_forall, List.Forall_forall. rewrite List.Forall_forall in V.
  split; intros H x X; apply is_normal_spec; auto.
Qed.

Lemma all_normal_not_zero l : all_normal l = true -> Forall (fun x => x <> 0) l.
Proof.
  unfold all_normal. rewrite forallb_forall, List.Forall_forall. intros N x X ->. specialize (N 0 X). discriminate.
Qed.

Lemma order_fault_none l : order_fault l = None <-> sorted_unique l.
Proof.
  induction l as [|x [|y l] IH]; simpl in *.
  - split; [constructor|auto].
  - split; [repeat constructor|auto].
  - destruct (Z.ltb_spec x y) as [L|L].
    + rewrite IH. split; intros S.
      * constructor; [auto|]. constructor; [auto|]. apply StronglySorted_inv in S. eapply Forall_impl; [apply S|].
        simpl. lia.
      * now apply StronglySorted_inv in S.
    + split; [discriminate|]. intros S. apply StronglySorted_inv in S. destruct S as [_ F]. inversion F. lia.
Qed.

Lemma result_accepted a l : array a 0 l -> result (Some (zlength l, a)) = Accepted l.
Proof. intros A. unfold result. now rewrite Nat2Z.id, (array_read a 0 l A). Qed.

Lemma laid_out_array l : array (laid_out l) 0 l.
Proof. apply allocate_array. Qed.

(** On valid XIDs the extracted purge refuses an array in which not all XIDs are normal. It does nothing if xmin is not
    normal. Otherwise it keeps exactly the XIDs that do not precede xmin, in order. *)
Theorem run_purge_correct : forall l xmin, Forall valid l -> valid xmin ->
  run_purge l xmin =
    if all_normal l then Accepted (if is_normal xmin then kept xmin l else l) else Refused XID_PERMANENT.
Proof.
  intros l xmin V Vm. unfold run_purge. destruct (all_normal l); [|auto]. destruct (is_normal xmin); [|auto]. simpl.
  destruct (purge_inplace_is_filter l xmin _ (laid_out_array l)) as (a & -> & A & _). now apply result_accepted.
Qed.

(** On valid XIDs the extracted sorted purge has the result of the extracted purge. It also refuses an array that is
    unsorted or has duplicates. *)
Theorem run_purge_sorted_correct : forall l xmin, Forall valid l -> valid xmin ->
  run_purge_sorted l xmin =
    if all_normal l then
      match order_fault l with
      | None => Accepted (if is_normal xmin then kept xmin l else l)
      | Some code => Refused code
      end
    else Refused XID_PERMANENT.
Proof.
  intros l xmin V Vm. unfold run_purge_sorted. destruct (all_normal l) eqn:N; [|auto].
  destruct (order_fault l) eqn:O; [auto|]. destruct (is_normal xmin) eqn:M; [|auto]. simpl.
  apply all_normal_spec in N; auto. apply order_fault_none in O. apply is_normal_spec in M; auto.
  destruct (purge_sorted_is_filter l xmin _ O N M (laid_out_array l)) as (a & -> & A & _). now apply result_accepted.
Qed.

(** The extracted purge of FullTransactionIds keeps exactly those that do not precede xmin, and refuses permanent XIDs
    and an array that is unsorted or has duplicates. *)
Theorem run_purge_full_correct : forall l xmin,
  run_purge_full l xmin =
    if all_normal (map xid_of l) then
      match order_fault l with
      | None => Accepted (if is_normal (xid_of xmin) then full_kept xmin l else l)
      | Some code => Refused code
      end
    else Refused XID_PERMANENT.
Proof.
  intros l xmin. unfold run_purge_full. destruct (all_normal (map xid_of l)); [|auto].
  destruct (order_fault l) eqn:O; [auto|]. destruct (is_normal (xid_of xmin)); [|auto]. simpl.
  apply order_fault_none in O.
  destruct (purge_full_is_filter l xmin _ O (laid_out_array l)) as (a & -> & A & _). now apply result_accepted.
Qed.

(** The extracted insert yields the sorted union of the array and the batch, and refuses a batch with permanent XIDs and
    an array that is unsorted or has duplicates. *)
Theorem run_insert_correct : forall l batch,
  (all_normal batch = false /\ run_insert l batch = Refused XID_PERMANENT) \/
  (exists code, order_fault l = Some code /\ run_insert l batch = Refused code) \/
  (exists u, sorted_union l batch u /\ run_insert l batch = Accepted u).
Proof.
  intros l batch. unfold run_insert. destruct (all_normal batch) eqn:N; [|auto]. right. simpl.
  destruct (order_fault l) eqn:O; [eauto|]. right. apply order_fault_none in O.
  destruct (insert_is_union l batch (map (fun _ => 0) batch) _ _ O (laid_out_array _)
    ltac:(apply map_length) (laid_out_array batch) (all_normal_not_zero _ N)) as (u & a & E & U & A & _).
  exists u. split; [auto|]. rewrite E. now apply result_accepted.
Qed.

(** The extracted compress keeps the entries whose flag is set, in order. *)
Theorem run_compress_correct : forall xids flags, length xids = length flags ->
  run_compress xids flags = Accepted (live xids flags).
Proof.
  intros xids flags L. unfold run_compress.
  destruct (compress_keeps_live xids flags [] [] _ _ L eq_refl (laid_out_array xids) (laid_out_array flags))
    as (a & v & E & A & _).
  change (zlength []) with 0 in E. rewrite Z.add_0_l in E. rewrite E. now apply result_accepted.
Qed.

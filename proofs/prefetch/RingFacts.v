(* SPDX-License-Identifier: PostgreSQL *)
(** * The ring never overflows, counts what it holds, and frees what was replayed *)
From Coq Require Import ZArith Bool List Lia.
From Pgquern.prefetch Require Import Ring.
Import ListNotations.

Ltac decide_nat :=
  repeat match goal with
  | |- context [?a =? ?b] => destruct (Nat.eqb_spec a b)
  | |- context [?a <? ?b] => destruct (Nat.ltb_spec a b)
  | |- context [?a <=? ?b] => destruct (Nat.leb_spec a b)
  end; try lia.

Lemma entries_length r : length (entries r) = used r.
Proof. unfold entries. now rewrite map_length, seq_length. Qed.

Lemma ios_le l : ios l <= length l.
Proof. unfold ios. induction l as [|[[] ?] l IH]; simpl; lia. Qed.

Lemma ios_app l m : ios (l ++ m) = ios l + ios m.
Proof. unfold ios. now rewrite filter_app, app_length. Qed.

Lemma used_less r : head r < size r -> tail r < size r -> used r < size r.
Proof. unfold used. decide_nat. Qed.

Lemma consistent_sum r : consistent r -> inflight r + completed r = used r.
Proof. intros [_ _ I C _]. pose proof (ios_le (entries r)). rewrite <- entries_length. lia. Qed.

Lemma used_push r io lsn : head r < size r -> tail r < size r -> used r < size r - 1 ->
  used (push r io lsn) = S (used r).
Proof. unfold used, following; simpl. unfold following. decide_nat. Qed.

(** Where a look adds an entry, it stands at the end, and no other one is overwritten. *)
Lemma entries_push r io lsn : head r < size r -> tail r < size r -> used r < size r - 1 ->
  entries (push r io lsn) = entries r ++ [Entry io lsn].
Proof.
  intros H T U. unfold entries. rewrite used_push, seq_S, map_app by assumption. f_equal.
  - apply map_ext_in. intros k K. apply in_seq in K. unfold slot, used in *; simpl in *.
    revert K U. decide_nat; intros; try reflexivity; lia.
  - simpl. do 2 f_equal. unfold slot, used in *; simpl. revert U. decide_nat; intros; try reflexivity; lia.
Qed.

Lemma consistent_alloc max_distance max_in : consistent (lrq_alloc max_distance max_in).
Proof. constructor; simpl; try lia; unfold entries, used; simpl; reflexivity. Qed.

Lemma may_look_spec r : may_look r = true <-> inflight r < max_inflight r /\ inflight r + completed r < size r - 1.
Proof. unfold may_look. rewrite andb_true_iff, !Nat.ltb_lt. reflexivity. Qed.

(** A look is made only where a slot is free beside the gap: the slot after the head is not the tail. *)
Theorem ring_never_overflows r : consistent r -> may_look r = true -> following r (head r) <> tail r.
Proof.
  intros C M. apply may_look_spec in M. pose proof (consistent_sum r C) as U. destruct C as [H T _ _ _].
  unfold following, used in *. revert M U. decide_nat; intros; lia.
Qed.

Lemma consistent_push r io lsn : consistent r -> may_look r = true -> consistent (push r io lsn).
Proof.
  intros C M. apply may_look_spec in M. pose proof (consistent_sum r C) as S. destruct C as [H T I Co B].
  assert (U : used r < size r - 1) by lia.
  pose proof (ios_le (entries r)). pose proof (entries_length r).
  constructor; rewrite ?entries_push by assumption; rewrite ?ios_app, ?app_length; simpl.
  - unfold following. decide_nat.
  - assumption.
  - unfold ios at 2. simpl. destruct io; simpl; lia.
  - unfold ios at 2. simpl. destruct io; simpl; lia.
  - destruct io; lia.
Qed.

(** Whatever the callback answers, looking ahead keeps the ring consistent: at most N are in flight, and as many as the
    entries with an I/O between tail and head. *)
Theorem look_ahead_keeps_consistent {S : Type} (look : S -> answer * S) s r :
  consistent r -> consistent (fst (lrq_prefetch look s r)).
Proof.
  unfold lrq_prefetch. generalize (size r) as fuel. intros fuel. revert s r.
  induction fuel as [|fuel IH]; intros s r C; [exact C|]. simpl. destruct (may_look r) eqn:M; [|exact C].
  destruct (look s) as [[|lsn|lsn] s']; [exact C| |]; apply IH; now apply consistent_push.
Qed.

Lemma used_pop r : head r < size r -> tail r < size r -> tail r <> head r -> used r = S (used (pop r)).
Proof. unfold used; simpl. unfold following. decide_nat. Qed.

Lemma entries_pop r : head r < size r -> tail r < size r -> tail r <> head r ->
  entries r = queue r (tail r) :: entries (pop r).
Proof.
  intros H T N. unfold entries. rewrite (used_pop r) by assumption. rewrite <- cons_seq. simpl map. f_equal.
  - f_equal. unfold slot. decide_nat.
  - rewrite <- seq_shift, map_map. apply map_ext_in. intros k K. apply in_seq in K. f_equal.
    unfold slot, used in *; simpl in *. unfold following in *. revert K N. decide_nat; intros; lia.
Qed.

Lemma consistent_pop r : consistent r -> tail r <> head r -> consistent (pop r).
Proof.
  intros [H T I C B] N. pose proof (entries_pop r H T N) as E. pose proof (ios_le (entries (pop r))) as L.
  assert (K : ios (entries r) = (if entry_io (queue r (tail r)) then 1 else 0) + ios (entries (pop r))).
  { rewrite E. unfold ios. simpl. now destruct (entry_io (queue r (tail r))). }
  assert (M : length (entries r) = S (length (entries (pop r)))) by (now rewrite E).
  constructor; [exact H| | | |]; unfold pop at 1; simpl.
  - unfold following. decide_nat.
  - destruct (entry_io (queue r (tail r))); lia.
  - destruct (entry_io (queue r (tail r))); lia.
  - destruct (entry_io (queue r (tail r))); lia.
Qed.

Lemma no_entries r : head r < size r -> tail r < size r -> (used r = 0 <-> tail r = head r).
Proof. unfold used. decide_nat. Qed.

Fixpoint drop_below (lsn : Z) (l : list entry) : list entry :=
  match l with
  | [] => []
  | e :: l' => if (entry_lsn e <? lsn)%Z then drop_below lsn l' else l
  end.

Lemma complete_drops fuel : forall lsn r, consistent r -> used r <= fuel ->
  consistent (lrq_complete_loop fuel lsn r) /\ entries (lrq_complete_loop fuel lsn r) = drop_below lsn (entries r).
Proof.
  induction fuel as [|fuel IH]; intros lsn r C F; pose proof C as [H T _ _ _]; simpl.
  - split; [exact C|]. assert (E : entries r = []).
    { apply length_zero_iff_nil. rewrite entries_length. lia. }
    now rewrite E.
  - destruct (Nat.eqb_spec (tail r) (head r)) as [E|N]; simpl.
    + split; [exact C|]. apply no_entries in E; try assumption. assert (Z : entries r = []).
      { apply length_zero_iff_nil. now rewrite entries_length. }
      now rewrite Z.
    + rewrite (entries_pop r) by assumption. simpl. destruct (entry_lsn (queue r (tail r)) <? lsn)%Z eqn:L.
      * apply IH; [now apply consistent_pop|]. rewrite (used_pop r) in F by assumption. lia.
      * split; [exact C|]. now rewrite (entries_pop r).
Qed.

Lemma drop_below_ascending lsn l : ascending l ->
  drop_below lsn l = filter (fun e => negb (entry_lsn e <? lsn)%Z) l.
Proof.
  induction l as [|e l IH]; intros A; [reflexivity|]. inversion A as [|? ? A' F]; subst. simpl.
  destruct (Z.ltb_spec (entry_lsn e) lsn) as [L|L]; simpl; [now apply IH|]. f_equal.
  rewrite Forall_forall in F. clear IH A A'. induction l as [|d l IH]; [reflexivity|]. simpl.
  destruct (Z.ltb_spec (entry_lsn d) lsn) as [D|D].
  - specialize (F d (or_introl eq_refl)). lia.
  - simpl. f_equal. apply IH. intros x X. apply F. now right.
Qed.

(** Completion frees exactly the entries of records that start below the given LSN, and keeps the ring consistent. *)
Theorem complete_frees_exactly lsn r : consistent r -> ascending (entries r) ->
  consistent (lrq_complete lsn r) /\
  entries (lrq_complete lsn r) = filter (fun e => negb (entry_lsn e <? lsn)%Z) (entries r).
Proof.
  intros C A. unfold lrq_complete. destruct (complete_drops (size r) lsn r C) as [C' E].
  - destruct C as [H T _ _ _]. pose proof (used_less r H T). lia.
  - split; [exact C'|]. now rewrite E, drop_below_ascending.
Qed.

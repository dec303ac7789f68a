(* SPDX-License-Identifier: PostgreSQL *)
(** * Runs moved up in place by vectors *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Copies.

Lemma both_ends_moves size to from bytes s : 0 < size -> size <= bytes <= 2 * size -> forall i,
  page (exec (both_ends size to from bytes) s) i = page (step (Move to from bytes) s) i.
Proof.
  intros S B i. unfold both_ends. rewrite !exec_cons. set (t := step (Save 0 from size) _).
  assert (R : forall x, 0 <= x < size -> scratch t x = page s (from + x) /\ scratch t (size + x) = page s (from + bytes - size + x)).
  { intros x X. subst t. cbn [step page scratch]. unfold copy. split; cases; try lia; same. }
  assert (P : page t = page s) by reflexivity. cbn [exec fold_left step page scratch]. unfold copy. rewrite P.
  destruct (Z.leb_spec to i), (Z.ltb_spec i (to + size)); cbn [andb].
  - rewrite Z.add_0_l, (proj1 (R (i - to) ltac:(lia))). cases; try lia; reflexivity.
  - destruct (Z.leb_spec (to + bytes - size) i), (Z.ltb_spec i (to + bytes - size + size)), (Z.ltb_spec i (to + bytes));
      cbn [andb]; try lia.
    rewrite (proj2 (R (i - (to + bytes - size)) ltac:(lia))). f_equal. lia.
  - cases; lia || reflexivity.
  - lia.
Qed.

(** From the top downwards: what is still to be read lies below what has been written. *)
Lemma vectors_move vector to from bytes count : 0 < vector -> from <= to -> vector * Z.of_nat count <= bytes -> forall s i,
  page (exec (map (fun k => let at_ := bytes - vector * Z.of_nat (S k) in Move (to + at_) (from + at_) vector) (seq 0 count)) s) i =
  if (to + bytes - vector * Z.of_nat count <=? i) && (i <? to + bytes) then page s (from + (i - to)) else page s i.
Proof.
  intros V U. induction count as [|count IH]; intros B s i.
  - cbn. cases; lia || reflexivity.
  - rewrite seq_S, map_app, exec_app. cbn [map exec fold_left step page Nat.add]. unfold copy.
    change (fold_left (fun s o => step o s) ?p ?s) with (exec p s).
    rewrite !IH by lia. cases; try lia; same.
Qed.

Lemma vectors_scratch (f : nat -> op) l : (forall k, exists a b c, f k = Move a b c) -> forall s j,
  scratch (exec (map f l) s) j = scratch s j.
Proof.
  intros F. induction l as [|k l IH]; intros s j; [reflexivity|]. cbn [map]. rewrite exec_cons, IH.
  now destruct (F k) as (a & b & c & ->).
Qed.

Lemma move_up_moves vector long to from bytes s : 32 <= vector <= 64 -> from <= to -> forall i,
  page (exec (move_up vector long to from bytes) s) i = page (step (Move to from bytes) s) i.
Proof.
  intros V U i. unfold move_up. destruct (long <=? bytes); [reflexivity|].
  destruct (Z.leb_spec vector bytes).
  - rewrite exec_cons, exec_app. set (r := step (Save 0 from vector) s). set (t := exec (map _ _) r).
    assert (C : bytes - vector < vector * Z.of_nat (Z.to_nat (bytes / vector)) <= bytes).
    { pose proof (Z.div_pos bytes vector). rewrite Z2Nat.id by lia. pose proof (Z.div_mod bytes vector).
      pose proof (Z.mod_pos_bound bytes vector). lia. }
    cbn [exec fold_left step page]. unfold copy.
    assert (S : forall j, scratch t j = scratch r j) by (apply vectors_scratch; eauto).
    rewrite S. subst t. rewrite vectors_move by lia. subst r. cbn [step page scratch]. unfold copy. cases; try lia; same.
  - destruct (Z.leb_spec 32 bytes); [now apply both_ends_moves; lia|].
    destruct (Z.leb_spec 16 bytes); [now apply both_ends_moves; lia|reflexivity].
Qed.

Definition upwards (o : op) : Prop := match o with Move to from _ => from <= to | _ => False end.

Lemma by_vectors_moves vector long p : 32 <= vector <= 64 -> Forall upwards p -> forall s t, (forall i, page s i = page t i) ->
  forall i, page (exec (flat_map (by_vectors vector long) p) s) i = page (exec p t) i.
Proof.
  intros V. induction 1 as [|o p O _ IH]; intros s t E; [exact E|]. cbn [flat_map]. rewrite exec_app, exec_cons. apply IH.
  destruct o as [to from bytes| | | |]; try contradiction. intro i. cbn [by_vectors]. rewrite move_up_moves by assumption.
  cbn [step page]. unfold copy. now destruct (_ && _).
Qed.

Lemma runs_upwards its upper : nonneg its -> chain its upper -> Forall upwards (filter is_copy (runs Move its upper)).
Proof.
  assert (G : forall its, nonneg its -> forall upper start top, start <= upper -> chain its start ->
    Forall upwards (filter is_copy (runs_from Move its upper start top))).
  { induction 1 as [|it r L N IH]; intros u start top U C; cbn [runs_from]; [repeat constructor; exact U|].
    destruct C as [C1 C2]. unfold stop in C1.
    rewrite filter_app. apply Forall_app. split; [destruct (_ =? _); repeat constructor; exact U|].
    cbn [filter is_copy set_lp_off]. apply IH; [lia|exact C2]. }
  intros N C. destruct its as [|it r]; [constructor|]. apply G; [exact N|apply C|]. cbn. split; [lia|apply C].
Qed.

(** ** On a valid page *)
Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma move_runs_packs wide scratch0 i :
    page (exec (move_runs wide m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold move_runs. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed m page_m valid _ _ _ S).
    pose proof (by_runs_packs m page_m valid _ _ _ scratch0 i S) as B.
    destruct (presorted _ _) eqn:P; [|exact B]. rewrite <- B. unfold by_runs. rewrite P.
    destruct (start_spec m page_m valid _ _ _ S) as (_ & _ & _ & _ & _ & C & _).
    assert (U : Forall upwards (filter is_copy (runs Move rest upper)))
      by (apply runs_upwards; [apply (rest_nonneg m page_m valid _ _ _ S)|now apply C, valid]).
    destruct wide; apply by_vectors_moves; auto; lia.
  Qed.
End Valid.

(** Each vector lies in the run, and each register in scratch. *)
Lemma move_up_bounds vector long to from bytes : 32 <= vector <= 64 -> in_bounds 0 0 (Move to from bytes) ->
  Forall (fun o => is_copy o = true) (move_up vector long to from bytes) /\ Forall (in_bounds 0 0) (move_up vector long to from bytes).
Proof.
  intros V B. unfold move_up. destruct (long <=? bytes); [split; repeat constructor; apply B|].
  cbn [in_bounds] in B. unfold BLCKSZ in B.
  destruct (Z.leb_spec vector bytes).
  - split; constructor; try reflexivity; try (apply Forall_app; split; [apply Forall_forall; intros o O;
      apply in_map_iff in O as (k & <- & K); apply in_seq in K; cbv zeta|constructor; [|constructor]]); try reflexivity;
      cbn [in_bounds]; unfold BLCKSZ; try lia.
    pose proof (Z.div_pos bytes vector). pose proof (Z.div_mod bytes vector). pose proof (Z.mod_pos_bound bytes vector).
    assert (Z.of_nat (S k) <= bytes / vector) by lia. assert (vector * Z.of_nat (S k) <= bytes) by nia. lia.
  - destruct (Z.leb_spec 32 bytes); [|destruct (Z.leb_spec 16 bytes)]; unfold both_ends;
      split; repeat (constructor; try reflexivity); cbn [in_bounds]; unfold BLCKSZ; lia.
Qed.

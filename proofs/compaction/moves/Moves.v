(* SPDX-License-Identifier: PostgreSQL *)
(** * The copies of each algorithm leave the tuples packed

    For the tuple area alone: whatever way the bytes are moved, what results is [packed].  Line pointers and header are
    looked at in Pointers.v. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec.

(* Splits on every comparison in the goal or the hypotheses. *)
Ltac cases :=
  repeat match goal with
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b); try (exfalso; lia)
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b); try (exfalso; lia)
  | |- context [?a =? ?b] => destruct (Z.eqb_spec a b); try (exfalso; lia)
  | H : context [?a <=? ?b] |- _ => destruct (Z.leb_spec a b); try (exfalso; lia)
  | H : context [?a <? ?b] |- _ => destruct (Z.ltb_spec a b); try (exfalso; lia)
  | H : context [?a =? ?b] |- _ => destruct (Z.eqb_spec a b); try (exfalso; lia)
  end; cbn [andb orb negb] in *; try discriminate.
(* Two reads of one memory at addresses that are equal. *)
Ltac same := first [reflexivity | lia | f_equal; lia].

(** ** States that hold the same bytes *)
Definition same (s t : state) : Prop := (forall i, page s i = page t i) /\ (forall i, scratch s i = scratch t i).

Lemma same_refl s : same s s.
Proof. split; reflexivity. Qed.
Lemma same_trans s t u : same s t -> same t u -> same s u.
Proof. intros [P Q] [P' Q']; split; intro; etransitivity; eauto. Qed.

Lemma step_same o s t : same s t -> same (step o s) (step o t).
Proof.
  intros [P Q]; destruct o; split; intro i; cbn; auto; unfold copy, store; destruct (_ && _); auto.
Qed.
Lemma exec_same p : forall s t, same s t -> same (exec p s) (exec p t).
Proof. induction p as [|o p IH]; intros s t E; [exact E|]. apply IH, step_same, E. Qed.

Lemma exec_cons o p s : exec (o :: p) s = exec p (step o s).
Proof. reflexivity. Qed.
Lemma exec_app p q s : exec (p ++ q) s = exec q (exec p s).
Proof. apply fold_left_app. Qed.

(** ** Facts of [place], [packed] and [chain] *)
Definition nonneg (its : list item) : Prop := Forall (fun it => 0 <= len it) its.

Lemma total_nonneg its : nonneg its -> 0 <= total its.
Proof. induction 1; cbn; lia. Qed.

Lemma packed_above its : nonneg its -> forall upper src base i, upper <= i -> packed (place its upper) src base i = base i.
Proof.
  induction 1 as [|it r L _ IH]; intros upper src base i U; cbn; [reflexivity|].
  cases; try lia; apply IH; lia.
Qed.

Lemma packed_below its : nonneg its -> forall upper src base i, i < upper - total its ->
  packed (place its upper) src base i = base i.
Proof.
  induction 1 as [|it r L N IH]; intros upper src base i U; cbn in *; [reflexivity|].
  pose proof (total_nonneg r N). cases; try lia; apply IH; lia.
Qed.

(** Where the tuples are, what was there before doesn't matter. *)
Lemma packed_covered its : nonneg its -> forall upper src base base' i, upper - total its <= i < upper ->
  packed (place its upper) src base i = packed (place its upper) src base' i.
Proof.
  induction 1 as [|it r L N IH]; intros upper src base base' i B; cbn in *; [lia|].
  cases; try reflexivity; try lia; apply IH; lia.
Qed.

Lemma packed_base pl src base base' i : base i = base' i -> packed pl src base i = packed pl src base' i.
Proof. intro E. induction pl as [|[it to] r IH]; cbn; [exact E|]. now destruct (_ && _). Qed.

Lemma packed_src its src src' base : (forall it, In it its -> forall j, off it <= j < stop it -> src j = src' j) ->
  forall upper i, packed (place its upper) src base i = packed (place its upper) src' base i.
Proof.
  induction its as [|it r IH]; intros A upper i; cbn; [reflexivity|].
  rewrite IH by (intros; apply A with it0; auto using in_cons).
  cases; try reflexivity. apply A with it; [now left|]. unfold stop. lia.
Qed.

Lemma in_place its : forall upper it to, In (it, to) (place its upper) -> In it its.
Proof.
  induction its as [|x r IH]; intros upper it to I; cbn in *; [exact I|].
  destruct I as [E|I]; [left; congruence|right; eauto].
Qed.

Lemma place_bounds its : nonneg its -> forall upper it to, In (it, to) (place its upper) ->
  upper - total its <= to /\ to + len it <= upper.
Proof.
  induction 1 as [|x r L N IH]; intros upper it to I; cbn in *; [easy|]. pose proof (total_nonneg r N).
  destruct I as [[= <- <-]|I]; [lia|]. apply IH in I. lia.
Qed.

Lemma packed_content its : nonneg its -> forall upper it to src base i, In (it, to) (place its upper) ->
  to <= i < to + len it -> packed (place its upper) src base i = src (off it + (i - to)).
Proof.
  induction 1 as [|x r L N IH]; intros upper it to src base i I J; cbn in *; [easy|].
  destruct I as [[= <- <-]|I]; [cases; lia || reflexivity|].
  pose proof (place_bounds r N _ _ _ I). rewrite (IH _ it to) by assumption. cases; lia || reflexivity.
Qed.

(** Without gap: every byte below [upper], as far down as the lengths add up to, is one of a tuple's. *)
Lemma place_covers its : nonneg its -> forall upper i, upper - total its <= i < upper ->
  exists it to, In (it, to) (place its upper) /\ to <= i < to + len it.
Proof.
  induction 1 as [|x r L N IH]; intros upper i I; cbn in *; [lia|].
  destruct (Z.le_gt_cases (upper - len x) i).
  - exists x, (upper - len x). split; [now left|lia].
  - destruct (IH (upper - len x) i) as (it & to & J & K); [lia|]. exists it, to. split; [now right|exact K].
Qed.

Lemma chain_stop its : nonneg its -> forall top, chain its top -> forall it, In it its -> stop it <= top.
Proof.
  induction 1 as [|x r L N IH]; intros top C it I; [destruct I|].
  cbn in C. destruct C as [C1 C2], I as [->|I]; [exact C1|].
  specialize (IH _ C2 _ I). unfold stop in *. lia.
Qed.

(** ** One copy a tuple *)
Fixpoint single_copies (cp : copier) (its : list item) (upper : Z) : list op :=
  match its with
  | [] => []
  | it :: r => cp (upper - len it) (off it) (len it) :: single_copies cp r (upper - len it)
  end.

Definition copying (cp : copier) : Prop := forall a b c, is_copy (cp a b c) = true.
Lemma copying_Move : copying Move. Proof. easy. Qed.
Lemma copying_Restore : copying Restore. Proof. easy. Qed.

Lemma filter_singles cp : copying cp -> forall its upper,
  filter is_copy (singles cp its upper) = single_copies cp its upper.
Proof. intros C its. induction its; intros upper; cbn; [reflexivity|]. now rewrite C, IHits. Qed.

(** In place, each tuple below the one before it and none above its new place: no move destroys one still to be moved. *)
Lemma single_moves its : nonneg its -> forall top upper, chain its top -> top <= upper ->
  forall s i, page (exec (single_copies Move its upper) s) i = packed (place its upper) (page s) (page s) i.
Proof.
  induction 1 as [|it r L N IH]; intros top upper C U s i; [reflexivity|]. destruct C as [C1 C2].
  cbn [single_copies place packed]. rewrite exec_cons, (IH (off it)) by (unfold stop in C1; auto; lia).
  cbn [step page]. set (m := page s). unfold stop in C1.
  rewrite (packed_src r _ m).
  2: { intros x I j J. pose proof (chain_stop r N _ C2 x I). unfold copy. cases; same. }
  cases.
  1: rewrite packed_above by (auto; lia); unfold copy; cases; try lia; same.
  all: apply packed_base; unfold copy; cases; try lia; same.
Qed.

(** From scratch, nothing can be destroyed. *)
Lemma single_restores its : nonneg its -> forall upper s,
  (forall i, scratch (exec (single_copies Restore its upper) s) i = scratch s i) /\
  (forall i, page (exec (single_copies Restore its upper) s) i = packed (place its upper) (scratch s) (page s) i).
Proof.
  induction 1 as [|it r L N IH]; intros upper s; [split; reflexivity|].
  cbn [single_copies place packed]. split; intro i; rewrite exec_cons.
  - destruct (IH (upper - len it) (step (Restore (upper - len it) (off it) (len it)) s)) as [-> _]. reflexivity.
  - destruct (IH (upper - len it) (step (Restore (upper - len it) (off it) (len it)) s)) as [_ ->]. cbn [step page scratch].
    cases.
    1: rewrite packed_above by (auto; lia); unfold copy; cases; try lia; same.
    all: apply packed_base; unfold copy; cases; try lia; same.
Qed.

(** ** One copy a run *)

(** Two adjacent runs in one go: upwards in place, or from scratch. *)
Lemma split_move to from n k s : 0 <= n -> 0 <= k -> from <= to ->
  same (step (Move to from (n + k)) s) (step (Move to from n) (step (Move (to + n) (from + n) k) s)).
Proof. intros. split; intro i; cbn; unfold copy; cases; try lia; same. Qed.
Lemma split_restore to from n k s : 0 <= n -> 0 <= k ->
  same (step (Restore to from (n + k)) s) (step (Restore to from n) (step (Restore (to + n) (from + n) k) s)).
Proof. intros. split; intro i; cbn; unfold copy; cases; try lia; same. Qed.

Lemma runs_from_move its : nonneg its -> forall upper start top, start <= top -> start <= upper -> chain its start ->
  forall s, same (exec (filter is_copy (runs_from Move its upper start top)) s)
                 (exec (single_copies Move its upper) (step (Move upper start (top - start)) s)).
Proof.
  induction 1 as [|it r L N IH]; intros upper start top T U C s; [apply same_refl|].
  cbn [chain] in C. destruct C as [C1 C2]. unfold stop in *. cbn [runs_from single_copies].
  unfold stop. destruct (Z.eqb_spec (off it + len it) start) as [E|E]; cbn [app filter is_copy set_lp_off].
  - eapply same_trans; [apply IH; auto; lia|]. rewrite exec_cons. apply exec_same.
    replace (top - off it) with (len it + (top - start)) by lia.
    pose proof (split_move (upper - len it) (off it) (len it) (top - start) s ltac:(lia) ltac:(lia) ltac:(lia)) as S.
    replace (upper - len it + len it) with upper in S by lia. rewrite E in S. exact S.
  - rewrite exec_cons. eapply same_trans; [apply IH; auto; lia|]. rewrite exec_cons.
    replace (off it + len it - off it) with (len it) by lia. apply same_refl.
Qed.

Lemma runs_from_restore its : nonneg its -> forall upper start top, start <= top ->
  forall s, same (exec (filter is_copy (runs_from Restore its upper start top)) s)
                 (exec (single_copies Restore its upper) (step (Restore upper start (top - start)) s)).
Proof.
  induction 1 as [|it r L N IH]; intros upper start top T s; [apply same_refl|].
  cbn [runs_from single_copies].
  unfold stop. destruct (Z.eqb_spec (off it + len it) start) as [E|E]; cbn [app filter is_copy set_lp_off].
  - eapply same_trans; [apply IH; auto; lia|]. rewrite exec_cons. apply exec_same.
    replace (top - off it) with (len it + (top - start)) by lia.
    pose proof (split_restore (upper - len it) (off it) (len it) (top - start) s ltac:(lia) ltac:(lia)) as S.
    replace (upper - len it + len it) with upper in S by lia. rewrite E in S. exact S.
  - rewrite exec_cons. eapply same_trans; [apply IH; auto; lia|]. rewrite exec_cons.
    replace (off it + len it - off it) with (len it) by lia. apply same_refl.
Qed.

Lemma runs_move its upper s : nonneg its -> chain its upper ->
  same (exec (filter is_copy (runs Move its upper)) s) (exec (single_copies Move its upper) s).
Proof.
  intros N C. destruct its as [|it r]; [apply same_refl|]. unfold runs.
  eapply same_trans; [apply runs_from_move; auto; try lia|].
  - apply C.
  - cbn. split; [lia|apply C].
  - apply exec_same. split; intro i; cbn; unfold copy; cases; try lia; same.
Qed.

Lemma runs_restore its upper s : nonneg its ->
  same (exec (filter is_copy (runs Restore its upper)) s) (exec (single_copies Restore its upper) s).
Proof.
  intros N. destruct its as [|it r]; [apply same_refl|]. unfold runs.
  eapply same_trans; [apply runs_from_restore; auto; lia|].
  apply exec_same. split; intro i; cbn; unfold copy; cases; try lia; same.
Qed.

(** ** The prefix that is in place *)
Lemma skip_in_place_spec its : forall upper rest upper', skip_in_place its upper = (rest, upper') ->
  exists pre, its = pre ++ rest /\ place its upper = map (fun it => (it, off it)) pre ++ place rest upper' /\
    upper - total its = upper' - total rest /\ upper' = upper - total pre /\ (chain its upper -> chain rest upper').
Proof.
  induction its as [|it r IH]; intros upper rest upper' E; cbn in E.
  - injection E as <- <-. exists []. cbn. do 3 (split; [reflexivity|]). split; [lia|auto].
  - destruct (Z.eqb_spec (stop it) upper) as [P|P].
    + destruct (IH _ _ _ E) as (pre & -> & Q & T & U & C). exists (it :: pre). unfold stop in P.
      assert (O : upper - len it = off it) by lia.
      cbn. rewrite Q. split; [reflexivity|]. split; [now rewrite O|]. split; [lia|]. split; [lia|].
      intros [_ C']. apply C. now rewrite O.
    + injection E as <- <-. exists []. cbn. do 3 (split; [reflexivity|]). split; [lia|auto].
Qed.

Lemma skip_packed its upper rest upper' m i : nonneg its -> skip_in_place its upper = (rest, upper') ->
  packed (place its upper) m m i = packed (place rest upper') m m i.
Proof.
  revert upper. induction its as [|it r IH]; intros upper N E; cbn in E.
  - now injection E as <- <-.
  - inversion N as [|? ? L N']; subst. destruct (Z.eqb_spec (stop it) upper) as [P|P].
    + cbn. rewrite <- (IH _ N' E). unfold stop in P. cases; try reflexivity.
      rewrite packed_above by (auto; lia). f_equal. lia.
    + now injection E as <- <-.
Qed.

(** ** The ways to fill the scratch area *)
Lemma save_items its : forall s, (forall i, page (exec (map (fun it => Save (off it) (off it) (len it)) its) s) i = page s i) /\
  (forall j, scratch s j = page s j \/ (exists it, In it its /\ off it <= j < stop it) ->
     scratch (exec (map (fun it => Save (off it) (off it) (len it)) its) s) j = page s j).
Proof.
  induction its as [|it r IH]; intros s; cbn [map].
  - split; [reflexivity|]. now intros j [H|(x & [] & _)].
  - rewrite exec_cons. destruct (IH (step (Save (off it) (off it) (len it)) s)) as [P Q]. split; [exact P|].
    intros j H. apply Q. cbn. unfold copy, stop in *.
    destruct H as [H|(x & [->|I] & J)].
    + left. cases; same.
    + left. cases; try lia; same.
    + right. eauto.
Qed.

Lemma save_top_spec m its upper it : (forall x, In x its -> stop x <= pd_special m) -> In it its ->
  stop it <= save_top m its upper.
Proof.
  intros B I. unfold save_top. destruct (existsb _ its) eqn:E; [auto|].
  destruct (Z.ltb_spec upper (stop it)); [|assumption].
  assert (X : existsb (fun it => upper <? stop it) its = true) by (apply existsb_exists; exists it; split; [|apply Z.ltb_lt]; auto).
  congruence.
Qed.

(** ** Windows in scratch, last bytes first *)
Lemma windows_spec window its : nonneg its -> Forall (fun it => len it <= width window it) its -> forall upper s,
  (forall i, page (exec (windows window its upper) s) i = page s i) /\
  (forall i, upper - total its <= i ->
     scratch (exec (windows window its upper) s) i = packed (place its upper) (page s) (scratch s) i).
Proof.
  induction 1 as [|it r L N IH]; intros W upper s; [split; reflexivity|].
  inversion W as [|? ? W1 W2]; subst. cbn [windows place packed total]. rewrite exec_cons.
  destruct (IH W2 (upper - len it) (step (Save (upper - width window it) (stop it - width window it) (width window it)) s)) as [P Q].
  split; [exact P|]. intros i I. rewrite Q by lia. cbn [step page scratch]. set (w := width window it) in *. unfold stop in *. cases; try lia.
  - rewrite packed_above by (auto; lia). unfold copy. cases; try lia; same.
  - apply packed_base. unfold copy. cases; try lia; same.
  - apply packed_covered; auto; lia.
Qed.

Lemma longest_spec its : Forall (fun it => len it <= longest its) its.
Proof.
  induction its as [|it r IH]; constructor; unfold longest in *; cbn [fold_right]; [lia|].
  eapply Forall_impl; [|exact IH]. intros x X; cbv beta in *; lia.
Qed.

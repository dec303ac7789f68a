(* SPDX-License-Identifier: PostgreSQL *)
(** * Rows by vector registers, load by load, give upstream's answer, and nothing is loaded past the end *)
From Coq Require Import Bool ZArith Lia List Arith Permutation.
From stdpp Require Import base option.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum Rows Loads LoadsFacts.
Import ListNotations.
Local Open Scope Z_scope.

Definition counted (r : row) : Z * Z := (xid_of_row r, multi_of_row r).

Lemma counted_loads_counts front r back : counted_loads (front ++ r :: back) (length front) = Some (counted r).
Proof.
  unfold counted_loads, load_ids, load_relkind. rewrite load_at. cbn [fmap option_fmap option_map mbind option_bind].
  unfold counted, xid_of_row, multi_of_row. now destruct (holds r).
Qed.

Lemma counted_loads_at l front back k r : nth_error l k = Some r ->
  counted_loads (front ++ l ++ back) (length front + k) = Some (counted r).
Proof.
  intros N. destruct (nth_error_split l k N) as (before & after & -> & <-). rewrite <- app_assoc, app_assoc, <- app_length.
  apply counted_loads_counts.
Qed.

Lemma lanes_loads_are rows front back order : (forall k, In k order -> (k < length rows)%nat) ->
  exists loaded, lanes_loads order (front ++ rows ++ back) (length front) = Some loaded /\
    forall k, In k order -> lane_of loaded k = nth k (map counted rows) (0, 0).
Proof.
  induction order as [|lane order IH]; intros B; [exists []; split; [reflexivity|easy]|].
  destruct IH as (loaded & E & F); [intros k K; apply B; now right|]. cbn [lanes_loads].
  assert (Lane : (lane < length rows)%nat) by (apply B; now left).
  destruct (nth_error rows lane) as [r|] eqn:N; [|apply nth_error_None in N; lia].
  rewrite (counted_loads_at rows front back lane r N), E. cbn [mbind option_bind]. eexists. split; [reflexivity|].
  intros k K. cbn [lane_of]. destruct (Nat.eqb_spec lane k) as [<-|Ne].
  - symmetry. apply nth_error_nth. now rewrite nth_error_map, N.
  - apply F. destruct K; [congruence|assumption].
Qed.

Section registers.
  Context (order : list nat) (Order : Permutation order (seq 0 (length order))) (xs ms : Z).
  Let rows : nat := length order.
  Context (Rows : rows = 4%nat \/ rows = 2%nat).

  Lemma register_loads_are l front back : length l = rows ->
    register_loads order (front ++ l ++ back) (length front) = Some (map counted l).
  Proof.
    intros L. destruct (lanes_loads_are l front back order) as (loaded & E & F).
    { intros k K. apply (Permutation_in _ Order), in_seq in K. fold rows in K. lia. }
    unfold register_loads. rewrite E. cbn [mbind option_bind]. f_equal. fold rows. rewrite <- L, <- (map_length counted).
    assert (All : forall k, (k < length (map counted l))%nat -> lane_of loaded k = nth k (map counted l) (0, 0)).
    { intros k K. rewrite map_length in K. apply F, (Permutation_in _ (Permutation_sym Order)), in_seq. fold rows. lia. }
    revert All. generalize (map counted l) as v. clear. intros v All. apply nth_ext with (d := (0, 0)) (d' := (0, 0)).
    - now rewrite map_length, seq_length.
    - intros k K. rewrite map_length, seq_length in K. rewrite <- (All k K).
      rewrite (nth_indep _ (0, 0) (lane_of loaded 0%nat)) by (now rewrite map_length, seq_length).
      rewrite map_nth, seq_nth by exact K. reflexivity.
  Qed.

  (* A register of greatest ages; the greatest of all lanes; and those of rows. *)
  Definition ages_register (v : list (Z * Z)) : Prop := length v = rows /\ Forall (fun lane => 0 <= fst lane /\ 0 <= snd lane) v.
  Definition most (v : list (Z * Z)) : Z * Z := (greatest (map fst v), greatest (map snd v)).
  Definition ages (ids : list (Z * Z)) : Z * Z :=
    (greatest (map (age Xids xs) (map fst ids)), greatest (map (age Multis ms) (map snd ids))).

  Lemma lanes_older_register a v : ages_register a -> length v = rows -> ages_register (lanes_older xs ms a v).
  Proof.
    intros [L P] L'. unfold lanes_older. split; [rewrite map_length, combine_length; lia|].
    apply Forall_map, Forall_forall. intros [[x m] [xid multi]] I. apply in_combine_l in I.
    rewrite Forall_forall in P. specialize (P _ I). cbn [fst snd] in *. lia.
  Qed.

  Lemma most_older a : forall v, length a = length v -> most (lanes_older xs ms a v) = pair_max (most a) (ages v).
  Proof.
    induction a as [|[x m] a IH]; intros [|[xid multi] v] L; try discriminate; [reflexivity|]. injection L as L.
    specialize (IH v L). unfold most, ages, pair_max in *. cbn [fst snd] in IH. injection IH as E E'.
    unfold lanes_older in *. cbn [combine map fst snd]. rewrite !greatest_cons, E, E'. f_equal; lia.
  Qed.

  Lemma ages_app a b : ages (a ++ b) = pair_max (ages a) (ages b).
  Proof. unfold ages, pair_max. now rewrite !map_app, !greatest_app. Qed.

  Lemma pair_max_swap a b c d : pair_max (pair_max a b) (pair_max c d) = pair_max (pair_max a c) (pair_max b d).
  Proof. unfold pair_max. cbn [fst snd]. f_equal; lia. Qed.

  Lemma pair_max_assoc a b c : pair_max (pair_max a b) c = pair_max a (pair_max b c).
  Proof. unfold pair_max. cbn [fst snd]. f_equal; lia. Qed.

  Lemma no_ages a : pair_max (most a) (ages []) = most a.
  Proof.
    unfold pair_max, ages, most. cbn [map fst snd]. change (greatest []) with 0.
    pose proof (greatest_nonnegative (map fst a)). pose proof (greatest_nonnegative (map snd a)). f_equal; lia.
  Qed.

  Lemma steps_loads_find steps : forall l front back a b, length l = (2 * rows * steps)%nat ->
    ages_register a -> ages_register b ->
    exists a' b', steps_loads order xs ms (front ++ l ++ back) (length front) steps a b = Some (a', b') /\
      ages_register a' /\ ages_register b' /\
      pair_max (most a') (most b') = pair_max (pair_max (most a) (most b)) (ages (map counted l)).
  Proof.
    induction steps as [|steps IH]; intros l front back a b L A B.
    - destruct l; [|cbn in L; lia]. exists a, b. repeat (split; [assumption || reflexivity|]).
      cbn [map]. now rewrite pair_max_assoc, no_ages.
    - destruct (cut_off rows l) as [E1 L1]. destruct (cut_off rows (skipn rows l)) as [E2 L2]. rewrite skipn_length in L2.
      assert (L3 : length (skipn rows (skipn rows l)) = (2 * rows * steps)%nat) by (rewrite !skipn_length; lia).
      revert E1 L1 E2 L2 L3. generalize (skipn rows (skipn rows l)) as rest. generalize (firstn rows (skipn rows l)) as next.
      generalize (firstn rows l) as first. generalize (skipn rows l) as most_of_it. intros most_of_it first next rest <- L1 <- L2 L3.
      assert (Lf : length first = rows) by lia. assert (Ln : length next = rows) by lia. clear L L1 L2.
      cbn [steps_loads]. fold rows. rewrite <- !(app_assoc first), <- !(app_assoc next).
      rewrite (register_loads_are first front) by exact Lf. cbn [mbind option_bind]. rewrite (app_assoc front first).
      replace (length front + rows)%nat with (length (front ++ first)) by (rewrite app_length; lia).
      rewrite (register_loads_are next (front ++ first)) by exact Ln. cbn [mbind option_bind].
      rewrite (app_assoc (front ++ first) next).
      replace (length front + 2 * rows)%nat with (length ((front ++ first) ++ next)) by (rewrite !app_length; lia).
      destruct (IH rest ((front ++ first) ++ next) back (lanes_older xs ms a (map counted first))
        (lanes_older xs ms b (map counted next))) as (a' & b' & E & A' & B' & M);
        [exact L3|apply lanes_older_register; auto; now rewrite map_length..|].
      exists a', b'. split; [exact E|]. split; [exact A'|]. split; [exact B'|]. rewrite M.
      destruct A as [A _], B as [B _]. rewrite !most_older by (rewrite map_length; congruence).
      rewrite !map_app, !ages_app, pair_max_swap, (pair_max_assoc (pair_max (most a) (most b))). f_equal. apply pair_max_assoc.
  Qed.

  Context (UX : usual Xids xs) (UM : usual Multis ms).

  Lemma no_rows n : ages (repeat (0, 0) n) = ages [].
  Proof.
    unfold ages. induction n as [|n IH]; [reflexivity|]. cbn [repeat map fst snd]. injection IH as E E'.
    rewrite !greatest_cons, E, E', (age_invalid Xids xs UX), (age_invalid Multis ms UM). reflexivity.
  Qed.

  Lemma few_loads_find l : forall front back a, ages_register a ->
    exists a', few_loads rows xs ms (front ++ l ++ back) (length front) (length l) a = Some a' /\ ages_register a' /\
      most a' = pair_max (most a) (ages (map counted l)).
  Proof.
    induction l as [|r l IH]; intros front back a A.
    - exists a. cbn [map]. now rewrite no_ages.
    - cbn [length few_loads app]. rewrite counted_loads_counts. cbn [mbind option_bind].
      rewrite one_on, (one_longer front r). set (v := counted r :: repeat (0, 0) (rows - 1)).
      assert (Lv : length v = rows) by (unfold v; cbn [length]; rewrite repeat_length; lia).
      destruct (IH (front ++ [r]) back (lanes_older xs ms a v)) as (a' & E & A' & M); [now apply lanes_older_register|].
      exists a'. split; [exact E|]. split; [exact A'|]. destruct A as [A _]. rewrite M, most_older by congruence.
      assert (V : ages v = ages [counted r]).
      { change v with ([counted r] ++ repeat (0, 0) (rows - 1)). now rewrite ages_app, no_rows, <- ages_app. }
      rewrite V, pair_max_assoc, <- ages_app. reflexivity.
  Qed.

  Lemma most_of_two a b : ages_register [a; b] -> most [a; b] = pair_max a b.
  Proof.
    intros [_ P]. rewrite !Forall_cons_iff in P. destruct P as (_ & (P1 & P2) & _).
    unfold most, pair_max. cbn [map fst snd]. rewrite !greatest_cons. change (greatest []) with 0.
    now rewrite (Z.max_l _ 0), (Z.max_l _ 0).
  Qed.

  Lemma most_of_four a b c d : ages_register [a; b; c; d] -> most [a; b; c; d] = pair_max (pair_max a c) (pair_max b d).
  Proof.
    intros [_ P]. rewrite !Forall_cons_iff in P. destruct P as ((P1 & P2) & _ & _ & (P3 & P4) & _).
    unfold most, pair_max. cbn [map fst snd]. rewrite !greatest_cons. change (greatest []) with 0.
    rewrite (Z.max_l _ 0), (Z.max_l _ 0) by assumption. f_equal; lia.
  Qed.

  Lemma greatest_lane_is a b : ages_register a -> ages_register b -> greatest_lane a b = Some (pair_max (most a) (most b)).
  Proof.
    intros A B. pose proof (proj1 A) as La. pose proof (proj1 B) as Lb. destruct Rows as [R|R]; rewrite R in La, Lb.
    - destruct a as [|a1 [|a2 [|a3 [|a4 [|]]]]]; try discriminate. destruct b as [|b1 [|b2 [|b3 [|b4 [|]]]]]; try discriminate.
      rewrite (most_of_four a1 a2 a3 a4 A), (most_of_four b1 b2 b3 b4 B). unfold greatest_lane. cbn [combine map fst snd].
      now rewrite (pair_max_swap a1 b1), (pair_max_swap a2 b2), pair_max_swap.
    - destruct a as [|a1 [|a2 [|]]]; try discriminate. destruct b as [|b1 [|b2 [|]]]; try discriminate.
      rewrite (most_of_two a1 a2 A), (most_of_two b1 b2 B). unfold greatest_lane. cbn [combine map fst snd].
      now rewrite pair_max_swap.
  Qed.

  Lemma greatest_rows_loads_find : finds_rows xs ms (greatest_rows_loads order xs ms).
  Proof.
    intros l front back. unfold greatest_rows_loads. cbn zeta. fold rows. set (step := (2 * rows)%nat).
    assert (Step : step <> 0%nat) by lia.
    pose proof (Nat.div_mod (length l) step Step) as D. pose proof (Nat.mod_upper_bound (length l) step Step) as R.
    set (steps := (length l / step)%nat) in *.
    assert (Zero : ages_register (repeat (0, 0) rows)).
    { split; [apply repeat_length|]. apply Forall_forall. intros p P. apply repeat_spec in P. subst p. cbn. lia. }
    rewrite <- (firstn_skipn (step * steps) l) at 1. rewrite <- app_assoc.
    assert (L1 : length (firstn (step * steps) l) = (step * steps)%nat) by (rewrite firstn_length; lia).
    assert (L2 : length (skipn (step * steps) l) = (length l mod step)%nat) by (rewrite skipn_length; lia).
    destruct (steps_loads_find steps (firstn (step * steps) l) front (skipn (step * steps) l ++ back) _ _ L1 Zero Zero)
      as (a & b & -> & A & B & M). cbn [mbind option_bind].
    rewrite <- (firstn_skipn (step * steps) l) at 1. rewrite <- app_assoc, (app_assoc front).
    replace (length front + step * steps)%nat with (length (front ++ firstn (step * steps) l)) by (rewrite app_length; lia).
    rewrite <- L2. destruct (few_loads_find (skipn (step * steps) l) (front ++ firstn (step * steps) l) back a A)
      as (a' & -> & A' & M'). cbn [mbind option_bind].
    rewrite greatest_lane_is by assumption. f_equal. rewrite M'.
    transitivity (ages (map counted l)); [|unfold ages, counted; now rewrite !map_map].
    assert (E : pair_max (pair_max (most a) (ages (map counted (skipn (step * steps) l)))) (most b) =
                pair_max (pair_max (most a) (most b)) (ages (map counted (skipn (step * steps) l)))).
    { unfold pair_max. cbn [fst snd]. f_equal; lia. }
    rewrite E, M, pair_max_assoc, <- ages_app, <- map_app, firstn_skipn.
    assert (Z0 : pair_max (most (repeat (0, 0) rows)) (most (repeat (0, 0) rows)) = (0, 0)).
    { destruct Rows as [-> | ->]; reflexivity. }
    rewrite Z0. unfold pair_max, ages. cbn [fst snd]. rewrite !Z.max_r by apply greatest_nonnegative. reflexivity.
  Qed.
End registers.

(** The AVX2 kernel on records gives upstream's answer on every table, and stays within it, in whatever order the ids of four
    rows are loaded. *)
Theorem registers_of_rows_are_the_scan : forall order xid multi xs ms rows, Permutation order [0; 1; 2; 3]%nat ->
  bounds Xids xid xs -> bounds Multis multi ms -> Forall valid_row rows ->
  register_rows_kernel order xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros order xid multi xs ms rows O BX BM V. apply walk_row_loads_is_the_scan; auto.
  assert (L : length order = 4%nat) by (rewrite (Permutation_length O); reflexivity).
  apply greatest_rows_loads_find; [now rewrite L|now left|apply BX|apply BM].
Qed.

(** The NEON kernel on records does the same with registers of two rows, in whatever order their ids are loaded. *)
Theorem registers_of_two_rows_are_the_scan : forall order xid multi xs ms rows, Permutation order [0; 1]%nat ->
  bounds Xids xid xs -> bounds Multis multi ms -> Forall valid_row rows ->
  register_rows_kernel order xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros order xid multi xs ms rows O BX BM V. apply walk_row_loads_is_the_scan; auto.
  assert (L : length order = 2%nat) by (rewrite (Permutation_length O); reflexivity).
  apply greatest_rows_loads_find; [now rewrite L|now right|apply BX|apply BM].
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * Rows by vector registers, load by load, give upstream's answer, and nothing is loaded past the end *)
From Coq Require Import ZArith Lia List Arith Bool Permutation.
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

Lemma lanes_loads_are four front back order : length four = 4%nat -> (forall k, In k order -> (k < 4)%nat) ->
  exists loaded, lanes_loads order (front ++ four ++ back) (length front) = Some loaded /\
    forall k, In k order -> lane_of loaded k = nth k (map counted four) (0, 0).
Proof.
  intros L. induction order as [|lane order IH]; intros B; [exists []; split; [reflexivity|easy]|].
  destruct IH as (loaded & E & F); [intros k K; apply B; now right|]. cbn [lanes_loads].
  assert (Lane : (lane < 4)%nat) by (apply B; now left).
  destruct (nth_error four lane) as [r|] eqn:N; [|apply nth_error_None in N; lia].
  rewrite (counted_loads_at four front back lane r N), E. cbn [mbind option_bind]. eexists. split; [reflexivity|].
  intros k K. cbn [lane_of]. destruct (Nat.eqb_spec lane k) as [<-|Ne].
  - symmetry. apply nth_error_nth. now rewrite nth_error_map, N.
  - apply F. destruct K; [congruence|assumption].
Qed.

Section registers.
  Context (order : list nat) (Order : Permutation order [0; 1; 2; 3]%nat) (xs ms : Z).

  Lemma register_loads_are four front back : length four = 4%nat ->
    register_loads order (front ++ four ++ back) (length front) = Some (map counted four).
  Proof.
    intros L. destruct (lanes_loads_are four front back order L) as (loaded & E & F).
    { intros k K. apply (Permutation_in _ Order) in K. cbn in K. lia. }
    unfold register_loads. rewrite E. cbn [mbind option_bind]. f_equal.
    assert (In4 : forall k, (k < 4)%nat -> lane_of loaded k = nth k (map counted four) (0, 0)).
    { intros k K. apply F, (Permutation_in _ (Permutation_sym Order)). cbn. lia. }
    cbn [map]. rewrite !In4 by lia. destruct four as [|a [|b [|c [|d [|]]]]]; try discriminate. reflexivity.
  Qed.

  (* A register of greatest ages; the greatest of all lanes; and those of rows. *)
  Definition ages_register (v : list (Z * Z)) : Prop := length v = 4%nat /\ Forall (fun lane => 0 <= fst lane /\ 0 <= snd lane) v.
  Definition most (v : list (Z * Z)) : Z * Z := (greatest (map fst v), greatest (map snd v)).
  Definition ages (ids : list (Z * Z)) : Z * Z :=
    (greatest (map (age Xids xs) (map fst ids)), greatest (map (age Multis ms) (map snd ids))).

  Lemma lanes_older_register a v : ages_register a -> length v = 4%nat -> ages_register (lanes_older xs ms a v).
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

  Lemma eights_loads_find steps : forall l front back a b, length l = (8 * steps)%nat ->
    ages_register a -> ages_register b ->
    exists a' b', eights_loads order xs ms (front ++ l ++ back) (length front) steps a b = Some (a', b') /\
      ages_register a' /\ ages_register b' /\
      pair_max (most a') (most b') = pair_max (pair_max (most a) (most b)) (ages (map counted l)).
  Proof.
    induction steps as [|steps IH]; intros l front back a b L A B.
    - destruct l; [|cbn in L; lia]. exists a, b. repeat (split; [assumption || reflexivity|]).
      cbn [map]. now rewrite pair_max_assoc, no_ages.
    - destruct l as [|r1 [|r2 [|r3 [|r4 [|r5 [|r6 [|r7 [|r8 l]]]]]]]]; cbn [length] in L; try lia.
      set (four := [r1; r2; r3; r4]). set (next := [r5; r6; r7; r8]). cbn [eights_loads].
      change (r1 :: r2 :: r3 :: r4 :: r5 :: r6 :: r7 :: r8 :: l) with (four ++ next ++ l). rewrite <- !(app_assoc four).
      rewrite (register_loads_are four front) by reflexivity. cbn [mbind option_bind].
      rewrite <- (app_assoc next l), (app_assoc front four).
      replace (length front + 4)%nat with (length (front ++ four)) by (rewrite app_length; reflexivity).
      rewrite (register_loads_are next (front ++ four)) by reflexivity. cbn [mbind option_bind].
      rewrite (app_assoc (front ++ four) next).
      replace (length front + 8)%nat with (length ((front ++ four) ++ next)) by (rewrite !app_length; cbn; lia).
      destruct (IH l ((front ++ four) ++ next) back (lanes_older xs ms a (map counted four))
        (lanes_older xs ms b (map counted next))) as (a' & b' & E & A' & B' & M);
        [lia|apply lanes_older_register; auto; now rewrite map_length..|].
      exists a', b'. split; [exact E|]. split; [exact A'|]. split; [exact B'|]. rewrite M.
      destruct A as [A _], B as [B _]. rewrite !most_older by (rewrite map_length; exact A || exact B).
      rewrite !map_app, !ages_app, pair_max_swap, (pair_max_assoc (pair_max (most a) (most b))). f_equal. apply pair_max_assoc.
  Qed.

  Context (UX : usual Xids xs) (UM : usual Multis ms).

  Lemma few_loads_find l : forall front back a, ages_register a ->
    exists a', few_loads xs ms (front ++ l ++ back) (length front) (length l) a = Some a' /\ ages_register a' /\
      most a' = pair_max (most a) (ages (map counted l)).
  Proof.
    induction l as [|r l IH]; intros front back a A.
    - exists a. cbn [map]. now rewrite no_ages.
    - cbn [length few_loads app]. rewrite counted_loads_counts. cbn [mbind option_bind].
      rewrite one_on, (one_longer front r). set (v := [counted r; (0, 0); (0, 0); (0, 0)]).
      destruct (IH (front ++ [r]) back (lanes_older xs ms a v)) as (a' & E & A' & M); [now apply lanes_older_register|].
      exists a'. split; [exact E|]. split; [exact A'|]. destruct A as [A _]. rewrite M, most_older by exact A.
      assert (V : ages v = ages [counted r]).
      { unfold v, ages. cbn [map fst snd]. rewrite (age_invalid Xids xs UX), (age_invalid Multis ms UM), !greatest_cons.
        change (greatest []) with 0. f_equal; lia. }
      rewrite V, pair_max_assoc, <- ages_app. reflexivity.
  Qed.

  Lemma most_of_four a b c d : ages_register [a; b; c; d] -> most [a; b; c; d] = pair_max (pair_max a c) (pair_max b d).
  Proof.
    intros [_ P]. rewrite !Forall_cons_iff in P. destruct P as ((P1 & P2) & _ & _ & (P3 & P4) & _).
    unfold most, pair_max. cbn [map fst snd]. rewrite !greatest_cons. change (greatest []) with 0.
    rewrite (Z.max_l _ 0), (Z.max_l _ 0) by assumption. f_equal; lia.
  Qed.

  Lemma greatest_lane_is a b : ages_register a -> ages_register b -> greatest_lane a b = Some (pair_max (most a) (most b)).
  Proof.
    intros A B. destruct a as [|a1 [|a2 [|a3 [|a4 [|]]]]]; try (destruct A; discriminate).
    destruct b as [|b1 [|b2 [|b3 [|b4 [|]]]]]; try (destruct B; discriminate).
    rewrite (most_of_four a1 a2 a3 a4 A), (most_of_four b1 b2 b3 b4 B). unfold greatest_lane. cbn [combine map fst snd].
    now rewrite (pair_max_swap a1 b1), (pair_max_swap a2 b2), pair_max_swap.
  Qed.

  Lemma greatest_rows_loads_find : finds_rows xs ms (greatest_rows_loads order xs ms).
  Proof.
    intros l front back. unfold greatest_rows_loads. cbn zeta.
    pose proof (Nat.div_mod (length l) 8 ltac:(lia)) as D. pose proof (Nat.mod_upper_bound (length l) 8 ltac:(lia)) as R.
    set (steps := (length l / 8)%nat) in *.
    assert (Zero : ages_register (repeat (0, 0) 4)) by (split; [reflexivity|repeat constructor; cbn; lia]).
    rewrite <- (firstn_skipn (8 * steps) l) at 1. rewrite <- app_assoc.
    assert (L1 : length (firstn (8 * steps) l) = (8 * steps)%nat) by (rewrite firstn_length; lia).
    assert (L2 : length (skipn (8 * steps) l) = (length l mod 8)%nat) by (rewrite skipn_length; lia).
    destruct (eights_loads_find steps (firstn (8 * steps) l) front (skipn (8 * steps) l ++ back) _ _ L1 Zero Zero)
      as (a & b & -> & A & B & M). cbn [mbind option_bind].
    rewrite <- (firstn_skipn (8 * steps) l) at 1. rewrite <- app_assoc, (app_assoc front).
    replace (length front + 8 * steps)%nat with (length (front ++ firstn (8 * steps) l)) by (rewrite app_length; lia).
    rewrite <- L2. destruct (few_loads_find (skipn (8 * steps) l) (front ++ firstn (8 * steps) l) back a A)
      as (a' & -> & A' & M'). cbn [mbind option_bind].
    rewrite greatest_lane_is by assumption. f_equal. rewrite M'.
    transitivity (ages (map counted l)); [|unfold ages, counted; now rewrite !map_map].
    assert (E : pair_max (pair_max (most a) (ages (map counted (skipn (8 * steps) l)))) (most b) =
                pair_max (pair_max (most a) (most b)) (ages (map counted (skipn (8 * steps) l)))).
    { unfold pair_max. cbn [fst snd]. f_equal; lia. }
    rewrite E, M, pair_max_assoc, <- ages_app, <- map_app, firstn_skipn.
    assert (Z0 : pair_max (most (repeat (0, 0) 4)) (most (repeat (0, 0) 4)) = (0, 0)) by reflexivity. rewrite Z0.
    unfold pair_max, ages. cbn [fst snd]. rewrite !Z.max_r by apply greatest_nonnegative. reflexivity.
  Qed.
End registers.

(** The AVX2 kernel on records gives upstream's answer on every table, and stays within it, in whatever order the ids of four
    rows are loaded. *)
Theorem registers_of_rows_are_the_scan : forall order xid multi xs ms rows, Permutation order [0; 1; 2; 3]%nat ->
  bounds Xids xid xs -> bounds Multis multi ms -> Forall valid_row rows ->
  avx2_rows_kernel order xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros order xid multi xs ms rows O BX BM V. apply walk_row_loads_is_the_scan; auto.
  apply greatest_rows_loads_find; [exact O|apply BX|apply BM].
Qed.

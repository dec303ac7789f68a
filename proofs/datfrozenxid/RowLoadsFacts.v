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

Lemma lanes_loads_are four front back order : (forall k, In k order -> (k < length four)%nat) ->
  exists loaded, lanes_loads order (front ++ four ++ back) (length front) = Some loaded /\
    forall k, In k order -> lane_of loaded k = nth k (map counted four) (0, 0).
Proof.
  induction order as [|lane order IH]; intros B; [exists []; split; [reflexivity|easy]|].
  destruct IH as (loaded & E & F); [intros k K; apply B; now right|]. cbn [lanes_loads].
  assert (Lane : (lane < length four)%nat) by (apply B; now left).
  destruct (nth_error four lane) as [r|] eqn:N; [|apply nth_error_None in N; lia].
  rewrite (counted_loads_at four front back lane r N), E. cbn [mbind option_bind]. eexists. split; [reflexivity|].
  intros k K. cbn [lane_of]. destruct (Nat.eqb_spec lane k) as [<-|Ne].
  - symmetry. apply nth_error_nth. now rewrite nth_error_map, N.
  - apply F. destruct K; [congruence|assumption].
Qed.

Lemma each_in_turn {A} (d : A) l : map (fun k => nth k l d) (seq 0 (length l)) = l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [length seq map nth]. f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.

Section registers.
  Context (wide : nat) (Wide : wide = 2%nat \/ wide = 4%nat).
  Context (order : list nat) (Order : Permutation order (seq 0 wide)) (xs ms : Z).

  Lemma register_loads_are rows front back : length rows = wide ->
    register_loads wide order (front ++ rows ++ back) (length front) = Some (map counted rows).
  Proof.
    intros L. destruct (lanes_loads_are rows front back order) as (loaded & E & F).
    { intros k K. apply (Permutation_in _ Order), in_seq in K. lia. }
    unfold register_loads. rewrite E. cbn [mbind option_bind]. f_equal.
    rewrite <- (each_in_turn (0, 0) (map counted rows)), map_length, L. apply map_ext_in. intros k K.
    apply F, (Permutation_in _ (Permutation_sym Order)), K.
  Qed.

  (* A register of greatest ages; the greatest of all lanes; and those of rows. *)
  Definition ages_register (v : list (Z * Z)) : Prop := length v = wide /\ Forall (fun lane => 0 <= fst lane /\ 0 <= snd lane) v.
  Definition most (v : list (Z * Z)) : Z * Z := (greatest (map fst v), greatest (map snd v)).
  Definition ages (ids : list (Z * Z)) : Z * Z :=
    (greatest (map (age Xids xs) (map fst ids)), greatest (map (age Multis ms) (map snd ids))).

  Lemma lanes_older_register a v : ages_register a -> length v = wide -> ages_register (lanes_older xs ms a v).
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

  Lemma steps_loads_find steps : forall l front back a b, length l = (2 * wide * steps)%nat ->
    ages_register a -> ages_register b ->
    exists a' b', steps_loads wide order xs ms (front ++ l ++ back) (length front) steps a b = Some (a', b') /\
      ages_register a' /\ ages_register b' /\
      pair_max (most a') (most b') = pair_max (pair_max (most a) (most b)) (ages (map counted l)).
  Proof.
    induction steps as [|steps IH]; intros l front back a b L A B.
    - rewrite Nat.mul_0_r in L. destruct l; [|cbn in L; lia]. exists a, b. repeat (split; [assumption || reflexivity|]).
      cbn [map]. now rewrite pair_max_assoc, no_ages.
    - assert (L' : length l = (wide + (wide + 2 * wide * steps))%nat) by lia. clear L.
      rewrite <- (firstn_skipn wide l) in *. set (first := firstn wide l) in *. set (others := skipn wide l) in *.
      assert (F : length first = wide) by (unfold first; rewrite app_length in L'; rewrite firstn_length;
        unfold first, others in L'; rewrite firstn_length, skipn_length in L'; lia).
      rewrite app_length, F in L'. clearbody first others. clear l.
      rewrite <- (firstn_skipn wide others) in *. set (next := firstn wide others) in *. set (l := skipn wide others) in *.
      assert (N : length next = wide) by (unfold next; rewrite firstn_length;
        unfold next, l in L'; rewrite app_length, firstn_length, skipn_length in L'; lia).
      rewrite app_length, N in L'. clearbody next l. clear others. assert (L : length l = (2 * wide * steps)%nat) by lia.
      cbn [steps_loads]. rewrite <- !(app_assoc first).
      rewrite (register_loads_are first front) by exact F. cbn [mbind option_bind].
      rewrite <- (app_assoc next l), (app_assoc front first).
      replace (length front + wide)%nat with (length (front ++ first)) by (rewrite app_length; lia).
      rewrite (register_loads_are next (front ++ first)) by exact N. cbn [mbind option_bind].
      rewrite (app_assoc (front ++ first) next).
      replace (length front + 2 * wide)%nat with (length ((front ++ first) ++ next)) by (rewrite !app_length; lia).
      destruct (IH l ((front ++ first) ++ next) back (lanes_older xs ms a (map counted first))
        (lanes_older xs ms b (map counted next))) as (a' & b' & E & A' & B' & M);
        [exact L|apply lanes_older_register; auto; now rewrite map_length..|].
      exists a', b'. split; [exact E|]. split; [exact A'|]. split; [exact B'|]. rewrite M.
      destruct A as [A _], B as [B _]. rewrite !most_older by (rewrite map_length; congruence).
      rewrite !map_app, !ages_app, pair_max_swap, (pair_max_assoc (pair_max (most a) (most b))). f_equal. apply pair_max_assoc.
  Qed.

  Context (UX : usual Xids xs) (UM : usual Multis ms).

  Lemma ages_of_none n : ages (repeat (0, 0) n) = (0, 0).
  Proof.
    induction n as [|n IH]; [reflexivity|]. unfold ages in *. cbn [repeat map fst snd].
    rewrite (age_invalid Xids xs UX), (age_invalid Multis ms UM), !greatest_cons. injection IH as -> ->. reflexivity.
  Qed.

  Lemma few_loads_find l : forall front back a, ages_register a ->
    exists a', few_loads wide xs ms (front ++ l ++ back) (length front) (length l) a = Some a' /\ ages_register a' /\
      most a' = pair_max (most a) (ages (map counted l)).
  Proof.
    induction l as [|r l IH]; intros front back a A.
    - exists a. cbn [map]. now rewrite no_ages.
    - cbn [length few_loads app]. rewrite counted_loads_counts. cbn [mbind option_bind].
      rewrite one_on, (one_longer front r). set (v := counted r :: repeat (0, 0) (wide - 1)).
      assert (Lv : length v = wide) by (cbn [v length]; rewrite repeat_length; lia).
      destruct (IH (front ++ [r]) back (lanes_older xs ms a v)) as (a' & E & A' & M); [now apply lanes_older_register|].
      exists a'. split; [exact E|]. split; [exact A'|]. destruct A as [A _]. rewrite M, most_older by congruence.
      assert (V : ages v = ages [counted r]).
      { change v with ([counted r] ++ repeat (0, 0) (wide - 1)). rewrite ages_app, ages_of_none. unfold pair_max, ages.
        cbn [fst snd]. f_equal; apply Z.max_l, greatest_nonnegative. }
      rewrite V, pair_max_assoc, <- ages_app. reflexivity.
  Qed.

  Lemma most_of_four a b c d : ages_register [a; b; c; d] -> most [a; b; c; d] = pair_max (pair_max a c) (pair_max b d).
  Proof.
    intros [_ P]. rewrite !Forall_cons_iff in P. destruct P as ((P1 & P2) & _ & _ & (P3 & P4) & _).
    unfold most, pair_max. cbn [map fst snd]. rewrite !greatest_cons. change (greatest []) with 0.
    rewrite (Z.max_l _ 0), (Z.max_l _ 0) by assumption. f_equal; lia.
  Qed.

  Lemma most_of_two a b : ages_register [a; b] -> most [a; b] = pair_max a b.
  Proof.
    intros [_ P]. rewrite !Forall_cons_iff in P. destruct P as (_ & (P1 & P2) & _).
    unfold most, pair_max. cbn [map fst snd]. rewrite !greatest_cons. change (greatest []) with 0. f_equal; lia.
  Qed.

  Lemma greatest_lane_is a b : ages_register a -> ages_register b -> greatest_lane a b = Some (pair_max (most a) (most b)).
  Proof.
    intros A B. pose proof (proj1 A) as LA. pose proof (proj1 B) as LB. destruct Wide as [W|W]; rewrite W in LA, LB.
    - destruct a as [|a1 [|a2 [|]]]; try discriminate. destruct b as [|b1 [|b2 [|]]]; try discriminate.
      rewrite (most_of_two a1 a2 A), (most_of_two b1 b2 B). unfold greatest_lane. cbn [combine map fst snd].
      now rewrite pair_max_swap.
    - destruct a as [|a1 [|a2 [|a3 [|a4 [|]]]]]; try discriminate. destruct b as [|b1 [|b2 [|b3 [|b4 [|]]]]]; try discriminate.
      rewrite (most_of_four a1 a2 a3 a4 A), (most_of_four b1 b2 b3 b4 B). unfold greatest_lane. cbn [combine map fst snd].
      now rewrite (pair_max_swap a1 b1), (pair_max_swap a2 b2), pair_max_swap.
  Qed.

  Lemma greatest_rows_loads_find : finds_rows xs ms (greatest_rows_loads wide order xs ms).
  Proof.
    intros l front back. unfold greatest_rows_loads. cbn zeta. set (step := (2 * wide)%nat).
    assert (Step : (0 < step)%nat) by (unfold step; lia).
    pose proof (Nat.div_mod (length l) step ltac:(lia)) as D. pose proof (Nat.mod_upper_bound (length l) step ltac:(lia)) as R.
    set (steps := (length l / step)%nat) in *.
    assert (Zero : ages_register (repeat (0, 0) wide)).
    { split; [apply repeat_length|]. apply Forall_forall. intros x X. apply repeat_spec in X. subst x. cbn. lia. }
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
    assert (Z0 : most (repeat (0, 0) wide) = (0, 0)).
    { destruct Wide as [W|W]; rewrite W; reflexivity. }
    rewrite Z0. unfold pair_max, ages. cbn [fst snd]. rewrite !(Z.max_l 0 0) by lia.
    rewrite !Z.max_r by apply greatest_nonnegative. reflexivity.
  Qed.
End registers.

(** The AVX2 and the NEON kernel on records give upstream's answer on every table, and stay within it, in whatever order the ids
    of the rows of a register are loaded. *)
Theorem registers_of_rows_are_the_scan : forall four two xid multi xs ms rows,
  Permutation four [0; 1; 2; 3]%nat -> Permutation two [0; 1]%nat ->
  bounds Xids xid xs -> bounds Multis multi ms -> Forall valid_row rows ->
  avx2_rows_kernel four xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi) /\
  neon_rows_kernel two xid multi xs ms (length rows) rows = Some (scan_rows xs ms rows 1 xid multi).
Proof.
  intros four two xid multi xs ms rows F T BX BM V.
  split; (apply walk_row_loads_is_the_scan; auto; apply greatest_rows_loads_find; [lia|assumption|apply BX|apply BM]).
Qed.

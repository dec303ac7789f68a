(* SPDX-License-Identifier: PostgreSQL *)
(** * The first step of an insert sorts the batch and drops duplicates *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms Search.
Local Open Scope Z_scope.

(* Of the batch [l], [done] was read and now stands in front as [run], sorted; [stale] cells follow. *)
Definition sort_invariant (l : list Z) (b0 : memory) (s : Z * Z * memory) : Prop :=
  let '(i, n, b) := s in
  exists done run stale todo, l = done ++ todo /\ i = zlength done /\ n = zlength run /\ 0 < n /\
    i = n + zlength stale /\ array b 0 (run ++ stale ++ todo) /\ sorted_unique run /\
    (forall x, In x run <-> In x done) /\ unchanged_outside 0 (zlength l) b0 b.

Lemma sort_step l b0 i n b : sort_invariant l b0 (i, n, b) -> i < zlength l ->
  exists n' b', sort_body (i, n, b) = Some (i + 1, n', b') /\ sort_invariant l b0 (i + 1, n', b').
Proof.
  intros (done & run & stale & todo & -> & I & N & P & G & A & S & E & U) L.
  destruct todo as [|x todo]; [rewrite app_nil_r in L; lia|]. rewrite app_length in L, U. simpl in L, U.
  assert (X : load b i = Some x).
  { rewrite app_assoc in A. apply load_in_array in A. rewrite app_length in A. rewrite <- A. f_equal. lia. }
  cbn [sort_body]. rewrite X. cbn [mbind option_bind].
  destruct (exists_last (l := run)) as (front & highest & R). { intros ->. simpl in N. lia. }
  assert (H : load b (n - 1) = Some highest).
  { rewrite R, <- app_assoc in A. apply load_in_array in A. rewrite <- A. f_equal. rewrite R, app_length in N.
    simpl in N. lia. }
  rewrite H. cbn [mbind option_bind].
  assert (Top : forall y, In y run -> y <= highest).
  { intros y Y. rewrite R in Y, S. apply in_app_or in Y. destruct Y as [Y|[->|[]]]; [|lia].
    apply Z.lt_le_incl. eapply sorted_cut; eauto. now left. }
  destruct (next_cell stale x todo) as (y & stale' & EN & LN).
  assert (Done : forall z, In z (done ++ [x]) <-> z = x \/ In z done).
  { intros z. rewrite in_app_iff. simpl. intuition. }
  destruct (Z.ltb_spec highest x) as [C|C].
  - rewrite EN in A. destruct (store_in_array _ _ _ _ _ x A) as (b' & W & A' & U'). rewrite Z.add_0_l, <- N in *.
    rewrite W. exists (n + 1), b'. split; [reflexivity|].
    exists (done ++ [x]), (run ++ [x]), stale', todo. rewrite <- !app_assoc, !app_length. simpl.
    repeat split; auto; try lia.
    + apply sorted_unique_app. split; [auto|]. split; [repeat constructor|]. apply List.Forall_forall.
      intros z Z. constructor; [|constructor]. specialize (Top z Z). lia.
    + intros Z. rewrite Done. apply in_app_or in Z. simpl in Z. rewrite <- E. intuition.
    + intros Z. apply Done in Z. rewrite in_app_iff. simpl. rewrite E. intuition.
    + eapply unchanged_trans; eauto; lia.
  - destruct (sorted_split x run S) as (below & rest & -> & B & F).
    rewrite app_length in N. rewrite <- app_assoc in A.
    assert (F' : Forall (fun v => x <= v) rest) by auto.
    assert (LB : lower_bound b x 0 n = Some (0 + zlength below)).
    { rewrite app_assoc in A. apply array_app in A. destruct A as [A _].
      apply (lower_bound_spec b x 0 below rest); auto; rewrite ?app_length; lia. }
    rewrite LB. cbn [mbind option_bind]. rewrite Z.add_0_l.
    destruct rest as [|v rest].
    { exfalso. rewrite app_nil_r in *. rewrite List.Forall_forall in B. specialize (B highest). simpl in B.
      rewrite R in B. specialize (B ltac:(apply in_or_app; right; now left)). lia. }
    pose proof (load_in_array b 0 below v _ A) as V. rewrite Z.add_0_l in V. rewrite V. cbn [mbind option_bind].
    inversion F as [|? ? Xv _]; subst. destruct (Z.eqb_spec v x) as [->|Ne].
    + exists (Z.of_nat (length below + length (x :: rest))), b. split; [reflexivity|].
      exists (done ++ [x]), (below ++ x :: rest), (stale ++ [x]), todo. rewrite <- !app_assoc, !app_length. simpl.
      repeat split; auto; try (simpl in *; lia).
      * intros Z. apply Done. right. now apply E.
      * intros Z. apply Done in Z. destruct Z as [->|Z]; [|now apply E]. apply in_app_iff. right. now left.
    + replace (Z.of_nat (length below + length (v :: rest)) - zlength below) with (zlength (v :: rest)) by lia.
      change (v :: rest) with ([] ++ (v :: rest)) in A.
      assert (A2 : array b 0 (below ++ (v :: rest) ++ [y] ++ stale' ++ todo)) by (simpl in *; now rewrite <- EN).
      destruct (move_up _ _ _ _ _ A2) as (b1 & g & M & A1 & LG & U1). simpl length in M at 2.
      change (Z.of_nat 1) with 1 in M. rewrite M. cbn [mbind option_bind].
      destruct g as [|g [|]]; try discriminate. simpl in A1.
      destruct (store_in_array _ _ _ _ _ x A1) as (b2 & W & A3 & U2). rewrite Z.add_0_l in W, U2. rewrite W.
      exists (Z.of_nat (length below + length (v :: rest)) + 1), b2. split; [reflexivity|].
      exists (done ++ [x]), (below ++ x :: v :: rest), stale', todo. rewrite <- !app_assoc, !app_length. simpl in *.
      repeat split; auto; try lia.
      * apply sorted_insert; auto. constructor; [lia|]. apply sorted_unique_app in S. destruct S as (_ & S & _).
        apply StronglySorted_inv in S. eapply Forall_impl; [apply S|]. simpl. lia.
      * intros Z. apply Done. apply in_app_or in Z. simpl in Z. rewrite <- E, in_app_iff. simpl. intuition.
      * intros Z. apply Done in Z. rewrite <- E in Z. rewrite in_app_iff in *. simpl in *. intuition.
      * intros k K. rewrite U2, U1, U by lia. reflexivity.
Qed.

(** The batch, in any order and with duplicates, becomes the sorted array of its XIDs; nothing outside it is written. *)
Theorem sort_batch_sorts : forall l b, array b 0 l ->
  exists u b' stale, sort_batch (zlength l) b = Some (zlength u, b') /\ sorted_unique u /\
    (forall x, In x u <-> In x l) /\ array b' 0 (u ++ stale) /\ length (u ++ stale) = length l /\
    unchanged_outside 0 (zlength l) b b'.
Proof.
  intros l b A. unfold sort_batch. destruct (Z.eqb_spec (zlength l) 0) as [L|L].
  { destruct l; [|simpl in L; lia]. exists [], b, []. simpl. repeat split; auto using unchanged_refl; constructor. }
  destruct (while_total (sort_invariant l b) (fun '(i, _, _) => zlength l - i) (sort_test (zlength l)) sort_body
    (Z.to_nat (zlength l)) (1, 1, b)) as ([[i n] b'] & E & I & T).
  - destruct l as [|x l]; [simpl in L; lia|]. exists [x], [x], [], l. simpl.
    repeat split; auto using unchanged_refl; try tauto; try lia; try apply A. all: repeat constructor.
  - lia.
  - intros [[i n] c] I. eexists. split; [reflexivity|]. intros H. apply Z.ltb_lt in H. split; [lia|].
    destruct (sort_step l b i n c I H) as (n' & c' & E & I'). eexists. split; [exact E|]. split; [auto|]. lia.
  - rewrite E. cbn [mbind option_bind].
    destruct I as (done & run & stale & todo & -> & I & N & P & G & A' & S & In & U).
    injection T as T. apply Z.ltb_ge in T. rewrite app_length in T. destruct todo; [|simpl in T; lia].
    rewrite !app_nil_r in *. exists run, b', stale. subst n. rewrite app_length. repeat split; auto; try apply In. lia.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * What the quicksort keeps: it rearranges its own elements, and touches nothing else *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory MemoryFacts Quicksort.
Local Open Scope Z_scope.

(** Each element of [lo, hi) is there, and has the property. *)
Definition every (P : Z -> Prop) (m : memory) (lo hi : Z) : Prop := forall i, lo <= i < hi -> exists x, m !! i = Some x /\ P x.
Definition allocated : memory -> Z -> Z -> Prop := every (fun _ => True).
(** The keys of [lo, hi) rise. *)
Definition ordered (key : Z -> Z) (m : memory) (lo hi : Z) : Prop :=
  forall i j x y, lo <= i -> i < j -> j < hi -> m !! i = Some x -> m !! j = Some y -> key x <= key y.
(** What stands in [lo, hi) has changed places; nothing else is written. *)
Definition rearranged (lo hi : Z) (m m' : memory) : Prop :=
  unchanged_outside lo hi m m' /\
  forall l, zlength l = hi - lo -> array m lo l -> exists l', l' ≡ₚ l /\ array m' lo l'.

Lemma every_impl (P Q : Z -> Prop) m lo hi : (forall x, P x -> Q x) -> every P m lo hi -> every Q m lo hi.
Proof. intros I E i L. destruct (E i L) as (x & X & H). eauto. Qed.

Lemma every_allocated P m lo hi : every P m lo hi -> allocated m lo hi.
Proof. now apply every_impl. Qed.

Lemma every_sub P m lo hi lo' hi' : every P m lo hi -> lo <= lo' -> hi' <= hi -> every P m lo' hi'.
Proof. intros E L H i I. apply E. lia. Qed.

Lemma every_join P m lo mid hi : every P m lo mid -> every P m mid hi -> every P m lo hi.
Proof. intros E F i I. destruct (Z.lt_ge_cases i mid); [apply E|apply F]; lia. Qed.

Lemma every_same P m m' lo hi : every P m lo hi -> (forall i, lo <= i < hi -> m' !! i = m !! i) -> every P m' lo hi.
Proof. intros E S i I. rewrite S by exact I. now apply E. Qed.

Lemma every_one (P : Z -> Prop) m i x : m !! i = Some x -> P x -> every P m i (i + 1).
Proof. intros X H k K. replace k with i by lia. eauto. Qed.

Lemma array_every m lo hi P : every P m lo hi -> lo <= hi -> exists l, zlength l = hi - lo /\ array m lo l /\ Forall P l.
Proof.
  intros E L. remember (Z.to_nat (hi - lo)) as n eqn:N. revert lo E L N. induction n as [|n IH]; intros lo E L N.
  - exists []. split; [cbn [length]; lia|]. split; [exact I|constructor].
  - destruct (E lo ltac:(lia)) as (x & X & Px).
    destruct (IH (lo + 1)) as (l & Ll & A & F); [apply (every_sub _ _ _ _ _ _ E); lia|lia|lia|].
    exists (x :: l). split; [cbn [length]; lia|]. split; [now split|now constructor].
Qed.

Lemma every_array m lo l P : array m lo l -> Forall P l -> every P m lo (lo + zlength l).
Proof. intros A F i I. exact (array_load P m l lo i A F I). Qed.

(** A rearrangement keeps what all elements have. *)
Lemma rearranged_every P lo hi m m' : rearranged lo hi m m' -> every P m lo hi -> every P m' lo hi.
Proof.
  intros [_ R] E. destruct (Z.le_gt_cases lo hi) as [L|L]; [|intros i I; lia].
  destruct (array_every m lo hi P E L) as (l & Ll & A & F). destruct (R l Ll A) as (l' & Pm & A').
  replace hi with (lo + zlength l') by (rewrite Pm; lia). apply every_array; [exact A'|]. now rewrite Pm.
Qed.

Lemma rearranged_trans lo hi m1 m2 m3 : rearranged lo hi m1 m2 -> rearranged lo hi m2 m3 -> rearranged lo hi m1 m3.
Proof.
  intros [U1 R1] [U2 R2]. split.
  - intros i I. now rewrite U2, U1.
  - intros l L A. destruct (R1 l L A) as (l1 & P1 & A1). destruct (R2 l1) as (l2 & P2 & A2); [now rewrite P1|exact A1|].
    exists l2. split; [now rewrite P2|exact A2].
Qed.

(** What is rearranged in a part is so in the whole. *)
Lemma rearranged_wider lo hi lo' hi' m m' : rearranged lo hi m m' -> lo' <= lo -> lo <= hi -> hi <= hi' -> rearranged lo' hi' m m'.
Proof.
  intros [U R] L M H. split; [intros i I; apply U; lia|]. intros l Ll A.
  rewrite <- (take_drop (Z.to_nat (lo - lo')) l) in A. rewrite <- (take_drop (Z.to_nat (hi - lo)) (drop _ l)) in A.
  rewrite !array_app in A. destruct A as (A1 & A2 & A3). rewrite drop_drop in A3.
  replace (lo' + zlength (take (Z.to_nat (lo - lo')) l)) with lo in * by (rewrite firstn_length; lia).
  replace (lo + zlength (take (Z.to_nat (hi - lo)) (drop (Z.to_nat (lo - lo')) l))) with hi in *
    by (rewrite firstn_length, skipn_length; lia).
  destruct (R (take (Z.to_nat (hi - lo)) (drop (Z.to_nat (lo - lo')) l))) as (l' & Pm & A'); [rewrite firstn_length, skipn_length; lia|exact A2|].
  assert (Ll' : zlength l' = hi - lo) by (rewrite Pm, firstn_length, skipn_length; lia).
  exists (take (Z.to_nat (lo - lo')) l ++ l' ++ drop (Z.to_nat (lo - lo') + Z.to_nat (hi - lo)) l). split.
  - rewrite Pm, <- drop_drop, take_drop. now rewrite take_drop.
  - rewrite !array_app, firstn_length, Ll'. replace (lo' + Z.of_nat (Z.to_nat (lo - lo') `min` length l)) with lo by lia.
    replace (lo + (hi - lo)) with hi by lia. split; [|split; [exact A'|]].
    + apply (array_frame m); [|exact A1]. intros k K. rewrite firstn_length in K. apply U. lia.
    + apply (array_frame m); [|exact A3]. intros k K. apply U. lia.
Qed.

(** ** A swap *)
Lemma array_lookup m lo l : array m lo l <-> forall k x, l !! k = Some x -> m !! (lo + Z.of_nat k) = Some x.
Proof.
  revert lo. induction l as [|y l IH]; intros lo; cbn [array].
  - split; [|auto]. intros _ k x. now destruct k.
  - rewrite IH. split.
    + intros [Y L] [|k] x X; [injection X as <-; now rewrite Z.add_0_r|].
      specialize (L k x X). now replace (lo + Z.of_nat (S k)) with (lo + 1 + Z.of_nat k) by lia.
    + intros L. split; [rewrite <- (L O y eq_refl); f_equal; lia|]. intros k x X.
      rewrite <- (L (S k) x X). f_equal. lia.
Qed.

Lemma put_in_front (l : list Z) j x y : l !! j = Some y -> y :: <[j:=x]> l ≡ₚ x :: l.
Proof.
  revert j. induction l as [|z l IH]; intros [|j] E; try discriminate.
  - injection E as ->. apply Permutation_swap.
  - cbn. rewrite Permutation_swap, (IH j E). apply Permutation_swap.
Qed.

Lemma swapped_list (l : list Z) i j x y : l !! i = Some x -> l !! j = Some y -> <[j:=x]> (<[i:=y]> l) ≡ₚ l.
Proof.
  revert i j. induction l as [|z l IH]; intros [|i] [|j] X Y; try discriminate; cbn in *.
  - now injection X as ->.
  - injection X as ->. now apply put_in_front.
  - injection Y as ->. now apply put_in_front.
  - now rewrite (IH i j X Y).
Qed.

Lemma written (m : memory) i x : <[i:=x]> m !! i = Some x.
Proof. apply lookup_insert. Qed.

Lemma not_written (m : memory) i k x : i <> k -> <[i:=x]> m !! k = m !! k.
Proof. apply lookup_insert_ne. Qed.

Lemma swap_spec m i j x y : m !! i = Some x -> m !! j = Some y -> exists m', swap m i j = Some m' /\
  m' !! i = Some y /\ m' !! j = Some x /\ (forall k, k <> i -> k <> j -> m' !! k = m !! k) /\
  forall lo hi, lo <= i < hi -> lo <= j < hi -> rearranged lo hi m m'.
Proof.
  intros X Y. exists (<[j:=x]> (<[i:=y]> m)). unfold swap, load, store. rewrite X, Y. cbn [mbind option_bind].
  destruct (decide (i = j)) as [->|N].
  - rewrite written. assert (x = y) as -> by congruence. split; [reflexivity|].
    rewrite (insert_insert m), (insert_id m) by exact Y. repeat split; auto. intros l _ A. now exists l.
  - rewrite not_written, Y by auto. split; [reflexivity|].
    split; [rewrite not_written by auto; apply written|]. split; [apply written|].
    split; [intros k K1 K2; now rewrite !not_written by auto|]. intros lo hi I J. split.
    + intros k K. rewrite !not_written by lia. reflexivity.
    + intros l L A. rewrite array_lookup in A.
      assert (In : forall k z, lo <= k < hi -> m !! k = Some z -> l !! Z.to_nat (k - lo) = Some z).
      { intros k z K Z. destruct (lookup_lt_is_Some_2 l (Z.to_nat (k - lo))) as [u U]; [lia|]. rewrite U.
        apply A in U. replace (lo + Z.of_nat (Z.to_nat (k - lo))) with k in U by lia. congruence. }
      exists (<[Z.to_nat (j - lo):=x]> (<[Z.to_nat (i - lo):=y]> l)). split; [apply swapped_list; auto|].
      apply array_lookup. intros k z K. apply list_lookup_insert_Some in K.
      destruct K as [(<- & <- & _)|(N1 & K)]; [replace (lo + Z.of_nat (Z.to_nat (j - lo))) with j by lia; apply written|].
      rewrite not_written by lia. apply list_lookup_insert_Some in K.
      destruct K as [(<- & <- & _)|(N2 & K)]; [replace (lo + Z.of_nat (Z.to_nat (i - lo))) with i by lia; apply written|].
      rewrite not_written by lia. now apply A.
Qed.

(** Two runs that lie apart change places. *)
Lemma swap_runs_spec P Q n : forall m i j lo hi, every P m i (i + Z.of_nat n) -> every Q m j (j + Z.of_nat n) ->
  i + Z.of_nat n <= j -> lo <= i -> j + Z.of_nat n <= hi ->
  exists m', swap_runs m i j n = Some m' /\ every Q m' i (i + Z.of_nat n) /\ every P m' j (j + Z.of_nat n) /\
    (forall k, ~ i <= k < i + Z.of_nat n -> ~ j <= k < j + Z.of_nat n -> m' !! k = m !! k) /\ rearranged lo hi m m'.
Proof.
  induction n as [|n IH]; intros m i j lo hi E F D L H.
  - exists m. repeat split; auto; try (intros k K; lia). intros l Ll A. now exists l.
  - destruct (E i ltac:(lia)) as (x & X & Px). destruct (F j ltac:(lia)) as (y & Y & Qy).
    destruct (swap_spec m i j x y X Y) as (m1 & S & Yi & Xj & K & R). cbn [swap_runs]. rewrite S. cbn [mbind option_bind].
    destruct (IH m1 (i + 1) (j + 1) lo hi) as (m2 & S2 & E2 & F2 & K2 & R2); try lia.
    + apply (every_same P m); [apply (every_sub _ _ _ _ _ _ E); lia|]. intros k I. apply K; lia.
    + apply (every_same Q m); [apply (every_sub _ _ _ _ _ _ F); lia|]. intros k I. apply K; lia.
    + exists m2. split; [exact S2|]. split; [|split; [|split]].
      * apply (every_join _ _ _ (i + 1)); [|apply (every_sub _ _ _ _ _ _ E2); lia].
        apply (every_one _ _ _ y); [rewrite K2 by lia; exact Yi|exact Qy].
      * apply (every_join _ _ _ (j + 1)); [|apply (every_sub _ _ _ _ _ _ F2); lia].
        apply (every_one _ _ _ x); [rewrite K2 by lia; exact Xj|exact Px].
      * intros k K3 K4. rewrite K2 by lia. apply K; lia.
      * apply (rearranged_trans _ _ _ m1); [apply R; lia|exact R2].
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The in-place purge is the filter, and how it uses its one array *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms.
Local Open Scope Z_scope.

Lemma kept_app xmin l1 l2 : kept xmin (l1 ++ l2) = kept xmin l1 ++ kept xmin l2.
Proof. apply List.filter_app. Qed.

Lemma kept_snoc xmin l x : kept xmin (l ++ [x]) = kept xmin l ++ (if precedes x xmin then [] else [x]).
Proof. rewrite kept_app. f_equal. unfold kept, keeps. simpl. now destruct (precedes x xmin). Qed.

Lemma kept_length xmin l : zlength (kept xmin l) <= zlength l.
Proof. unfold kept. induction l as [|x l IH]; simpl; [lia|]. destruct (keeps xmin x); simpl; lia. Qed.

(** What holds each time round.  Of the array [l], [done] was read and [todo] wasn't: its cells still hold what they
    did.  The survivors of [done] stand in front, in order; [stale] cells between them and [todo] are free to be
    overwritten, so that the write index is never past the read index.  Nothing was written at or above [touched]. *)
Definition slide_invariant (touched : Z -> Z -> Z) (xmin : Z) (l : list Z) (a0 : memory) (s : Z * Z * memory) : Prop :=
  let '(r, w, a) := s in
  exists done stale todo, l = done ++ todo /\ r = zlength done /\ w = zlength (kept xmin done) /\
    r = w + zlength stale /\ array a 0 (kept xmin done ++ stale ++ todo) /\ unchanged_outside 0 (touched r w) a0 a.

Definition upto_write (r w : Z) : Z := w.
Definition upto_read (r w : Z) : Z := r.

Lemma slide_start touched xmin l a0 : array a0 0 l -> slide_invariant touched xmin l a0 (0, 0, a0).
Proof. intros A. exists [], [], l. simpl. auto 10 using unchanged_refl. Qed.

Lemma slide_step xmin l a0 r w a : slide_invariant upto_write xmin l a0 (r, w, a) -> r < zlength l ->
  exists w' a', slide_body xmin (r, w, a) = Some (r + 1, w', a') /\
    slide_invariant upto_write xmin l a0 (r + 1, w', a').
Proof.
  intros (done & stale & todo & -> & R & W & G & A & U) N.
  destruct todo as [|x todo]; [rewrite app_nil_r in N; lia|].
  assert (X : load a r = Some x).
  { rewrite app_assoc in A. apply load_in_array in A. rewrite app_length in A. rewrite <- A. f_equal. lia. }
  cbn [slide_body]. rewrite X. cbn [mbind option_bind]. pose proof (kept_snoc xmin done x) as K.
  destruct (precedes x xmin).
  - exists w, a. split; [reflexivity|]. rewrite app_nil_r in K.
    exists (done ++ [x]), (stale ++ [x]), todo. rewrite K, <- !app_assoc, !app_length. simpl. repeat split; auto; lia.
  - destruct (next_cell stale x todo) as (y & stale' & E & L). rewrite E in A.
    destruct (store_in_array _ _ _ _ _ x A) as (a' & S & A' & U'). rewrite Z.add_0_l, <- W in *.
    exists (w + 1), a'. rewrite S. split; [reflexivity|].
    exists (done ++ [x]), stale', todo. rewrite K, <- !app_assoc, !app_length. simpl. repeat split; auto; try lia.
    eapply unchanged_trans; eauto; unfold upto_write; lia.
Qed.

Lemma branchless_step xmin l a0 r w a : slide_invariant upto_read xmin l a0 (r, w, a) -> r < zlength l ->
  exists w' a', branchless_body xmin (r, w, a) = Some (r + 1, w', a') /\
    slide_invariant upto_read xmin l a0 (r + 1, w', a').
Proof.
  intros (done & stale & todo & -> & R & W & G & A & U) N.
  destruct todo as [|x todo]; [rewrite app_nil_r in N; lia|].
  assert (X : load a r = Some x).
  { rewrite app_assoc in A. apply load_in_array in A. rewrite app_length in A. rewrite <- A. f_equal. lia. }
  cbn [branchless_body]. rewrite X. cbn [mbind option_bind]. pose proof (kept_snoc xmin done x) as K.
  destruct (next_cell stale x todo) as (y & stale' & E & L). rewrite E in A.
  destruct (store_in_array _ _ _ _ _ x A) as (a' & S & A' & U'). rewrite Z.add_0_l, <- W in *. rewrite S.
  assert (unchanged_outside 0 (r + 1) a0 a') by (eapply unchanged_trans; eauto; unfold upto_read; lia).
  destruct (precedes x xmin).
  - exists w, a'. split; [reflexivity|]. rewrite app_nil_r in K.
    exists (done ++ [x]), (x :: stale'), todo. rewrite K, <- !app_assoc, !app_length. simpl. repeat split; auto; lia.
  - exists (w + 1), a'. split; [reflexivity|].
    exists (done ++ [x]), stale', todo. rewrite K, <- !app_assoc, !app_length. simpl. repeat split; auto; lia.
Qed.

(* Both loops, from what one time round does. *)
Lemma slide_loop touched body xmin l a : array a 0 l ->
  (forall r w b, slide_invariant touched xmin l a (r, w, b) -> r < zlength l ->
    exists w' b', body (r, w, b) = Some (r + 1, w', b') /\ slide_invariant touched xmin l a (r + 1, w', b')) ->
  exists r w a', while (Z.to_nat (zlength l)) (slide_test (zlength l)) body (0, 0, a) = Some (r, w, a') /\
    r = zlength l /\ w = zlength (kept xmin l) /\ array a' 0 (kept xmin l) /\ unchanged_outside 0 (touched r w) a a'.
Proof.
  intros A Step.
  destruct (while_total (slide_invariant touched xmin l a) (fun '(r, _, _) => zlength l - r)
    (slide_test (zlength l)) body (Z.to_nat (zlength l)) (0, 0, a)) as ([[r w] a'] & E & I & T).
  - now apply slide_start.
  - lia.
  - intros [[r w] b] I. eexists. split; [reflexivity|]. intros R. apply Z.ltb_lt in R. split; [lia|].
    destruct (Step r w b I R) as (w' & b' & E & I'). eexists. split; [exact E|]. split; [auto|]. lia.
  - exists r, w, a'. split; [auto|]. destruct I as (done & stale & todo & -> & R & W & G & A' & U).
    simpl in T. injection T as T. apply Z.ltb_ge in T. rewrite app_length in T.
    destruct todo; [|simpl in T; lia]. rewrite app_nil_r in *. apply array_app in A'. tauto.
Qed.

(** The in-place purge keeps exactly the XIDs that do not precede xmin, in their order, at the front of the same array;
    it ends in bounds, and no cell past the last survivor changes. *)
Theorem purge_inplace_is_filter : forall l xmin a, array a 0 l ->
  exists a', purge_inplace (zlength l) xmin a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength (kept xmin l)) a a'.
Proof.
  intros l xmin a A. unfold purge_inplace.
  destruct (slide_loop upto_write (slide_body xmin) xmin l a A) as (r & w & a' & E & R & W & A' & U).
  - intros. now apply slide_step.
  - rewrite E. simpl. subst. eauto.
Qed.

(** The purge without a branch also keeps exactly the XIDs that do not precede xmin, in their order. It may overwrite
    any cell of the array, and none outside it. *)
Theorem purge_branchless_is_filter : forall l xmin a, array a 0 l ->
  exists a', purge_branchless (zlength l) xmin a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength l) a a'.
Proof.
  intros l xmin a A. unfold purge_branchless.
  destruct (slide_loop upto_read (branchless_body xmin) xmin l a A) as (r & w & a' & E & R & W & A' & U).
  - intros. now apply branchless_step.
  - rewrite E. simpl. subst. eauto.
Qed.

(** At every moment of the in-place purge the write index is not past the read index, and the elements that are not read
    yet are the original ones. So one array is both source and target. *)
Theorem purge_inplace_one_array : forall l xmin a r w a', array a 0 l ->
  passes_through (slide_test (zlength l)) (slide_body xmin) (0, 0, a) (r, w, a') ->
  0 <= w <= r /\ r <= zlength l /\ array a' r (List.skipn (Z.to_nat r) l) /\ unchanged_outside 0 w a a'.
Proof.
  intros l xmin a r w a' A P.
  assert (I : slide_invariant upto_write xmin l a (r, w, a')).
  { eapply (passes_through_keeps (slide_invariant upto_write xmin l a)); eauto using slide_start.
    intros [[r1 w1] a1] s2 I T B. injection T as T. apply Z.ltb_lt in T.
    destruct (slide_step _ _ _ _ _ _ I T) as (w2 & a2 & E & I'). congruence. }
  destruct I as (done & stale & todo & -> & -> & -> & G & A' & U).
  rewrite app_length, Nat2Z.id, skipn_app, skipn_all, Nat.sub_diag. simpl. repeat split; try lia; auto.
  rewrite app_assoc in A'. apply array_app in A'. destruct A' as [_ A'].
  rewrite app_length in A'. replace (zlength done) with (0 + Z.of_nat (length (kept xmin done) + length stale)) by lia.
  auto.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge of FullTransactionIds, and when it is that of XIDs *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms Search.
Local Open Scope Z_scope.

Lemma full_kept_split xmin below rest : Forall (fun v => v < xmin) below -> Forall (fun v => xmin <= v) rest ->
  full_kept xmin (below ++ rest) = rest.
Proof.
  intros B R. unfold full_kept, full_keeps, full_precedes. rewrite List.filter_app.
  induction B as [|x below X B IH]; simpl.
  - induction R as [|x rest X R IH]; simpl in *; [auto|]. rewrite (proj2 (Z.ltb_ge x xmin)) by auto. simpl. now f_equal.
  - now rewrite (proj2 (Z.ltb_lt x xmin)).
Qed.

(** On sorted FullTransactionIds one search and one memmove keep exactly those that do not precede xmin, in order. *)
Theorem purge_full_is_filter : forall l xmin a, sorted_unique l -> array a 0 l ->
  exists a', purge_full (zlength l) xmin a = Some (zlength (full_kept xmin l), a') /\
    array a' 0 (full_kept xmin l) /\ unchanged_outside 0 (zlength (full_kept xmin l)) a a'.
Proof.
  intros l xmin a S A. unfold purge_full, purge_one_search.
  destruct (sorted_split xmin l S) as (below & rest & -> & B & R). rewrite full_kept_split by auto.
  rewrite (lower_bound_spec a xmin 0 below rest A B R) by (rewrite ?app_length; lia). cbn [mbind option_bind].
  rewrite Z.add_0_l. replace (zlength (below ++ rest) - zlength below) with (zlength rest) by (rewrite app_length; lia).
  destruct (array_slice a 0 (below ++ rest) 0 (zlength rest)) as (old & O1 & O2); auto.
  { lia. } { lia. } { rewrite app_length. lia. }
  apply array_app in A. destruct A as [_ A].
  destruct (memmove_spec a 0 (zlength below) rest old) as (a' & E & V & U); auto. { lia. }
  rewrite E. exists a'. auto.
Qed.

(** A FullTransactionId in [xmin - 2^31, xmin + 2^31) survives a purge by xmin if and only if its XID survives a purge
    by the XID of xmin. *)
Theorem full_keeps_agrees : forall xmin x, normal (xid_of xmin) -> normal (xid_of x) -> - HALF <= x - xmin < HALF ->
  full_keeps xmin x = keeps (xid_of xmin) (xid_of x).
Proof. intros xmin x Nm Nx H. unfold full_keeps, keeps. f_equal. xid. Qed.

(** So long as all FullTransactionIds lie in [xmin - 2^31, xmin + 2^31), purging them and then taking their XIDs is the
    same as purging their XIDs. *)
Theorem full_purge_refines : forall l xmin, normal (xid_of xmin) -> Forall (fun x => normal (xid_of x)) l ->
  Forall (fun x => - HALF <= x - xmin < HALF) l ->
  map xid_of (full_kept xmin l) = kept (xid_of xmin) (map xid_of l).
Proof.
  intros l xmin M N H. unfold full_kept, kept. induction l as [|x l IH]; simpl; [auto|].
  inversion N; inversion H; subst. rewrite full_keeps_agrees by auto.
  destruct (keeps (xid_of xmin) (xid_of x)); simpl; rewrite IH; auto.
Qed.

(** Both ends of [xmin - 2^31, xmin + 2^31) are sharp: with an XID one further, on either side, the purge of
    FullTransactionIds differs from the purge of their XIDs. *)
Theorem full_purge_refines_sharp :
  (exists x xmin, normal (xid_of x) /\ normal (xid_of xmin) /\ x - xmin = HALF /\
     full_keeps xmin x = true /\ keeps (xid_of xmin) (xid_of x) = false) /\
  (exists x xmin, normal (xid_of x) /\ normal (xid_of xmin) /\ x - xmin = - HALF - 1 /\
     full_keeps xmin x = false /\ keeps (xid_of xmin) (xid_of x) = true).
Proof.
  split; [exists 2147483651, 3|exists 3, 2147483652]; repeat split; vm_compute; reflexivity || (intro; discriminate).
Qed.

(** With a moving head no element moves or changes. The survivors stay in place, from the new head on; they are exactly
    those that do not precede xmin. *)
Theorem purge_full_lazy_head_is_filter : forall l xmin head a, 0 <= head -> sorted_unique l -> array a head l ->
  exists head', purge_full_lazy_head head (zlength l) xmin a = Some (head', zlength (full_kept xmin l)) /\
    array a head' (full_kept xmin l) /\
    (head' = head + (zlength l - zlength (full_kept xmin l)) \/ full_kept xmin l = [] /\ head' = 0).
Proof.
  intros l xmin head a H S A. unfold purge_full_lazy_head.
  destruct (sorted_split xmin l S) as (below & rest & -> & B & R). rewrite full_kept_split by auto.
  rewrite (lower_bound_spec a xmin head below rest A B R) by (rewrite ?app_length; lia). cbn [mbind option_bind].
  replace (zlength (below ++ rest) - (head + zlength below - head)) with (zlength rest) by (rewrite app_length; lia).
  apply array_app in A. destruct A as [_ A]. destruct (Z.eqb_spec (zlength rest) 0) as [E|E].
  - destruct rest; [|simpl in E; lia]. exists 0. simpl. auto.
  - eexists. split; [reflexivity|]. split; [auto|]. left. rewrite app_length. lia.
Qed.

Lemma xid_of_epoch epoch x : epoch * RING <= x < (epoch + 1) * RING -> xid_of x = x - epoch * RING.
Proof. intros H. unfold xid_of. symmetry. apply Z.mod_unique with epoch; unfold RING in *; lia. Qed.

(** The snapshot of a builder that tracks FullTransactionIds: take the XIDs of a sorted array that spans less than a
    ring, and put those of the younger epoch, which come last, first. The result is raw-sorted and has no duplicates. *)
Theorem snapshot_full_sorted : forall l a, sorted_unique l -> array a 0 l ->
  (forall x y, In x l -> In y l -> y - x < RING) ->
  exists old young, l = old ++ young /\
    snapshot_full (zlength l) a = Some (map xid_of young ++ map xid_of old) /\
    sorted_unique (map xid_of young ++ map xid_of old).
Proof.
  intros l a S A Span. unfold snapshot_full. destruct (Z.eqb_spec (zlength l) 0) as [L|L].
  { destruct l; [|simpl in L; lia]. exists [], []. repeat split; constructor. }
  destruct (exists_last (l := l)) as (front & last & ->). { intros ->. now apply L. }
  pose proof (load_in_array a 0 front last [] A) as V.
  rewrite app_length. simpl length. replace (Z.of_nat (length front + 1) - 1) with (0 + zlength front) by lia.
  rewrite V. cbn [mbind option_bind]. set (epoch := epoch_of last).
  assert (Last : epoch * RING <= last < (epoch + 1) * RING).
  { subst epoch. unfold epoch_of. pose proof (Z.div_mod last RING). pose proof (Z.mod_pos_bound last RING).
    unfold RING in *. lia. }
  clearbody epoch. set (l := front ++ [last]) in *.
  assert (Top : forall x, In x l -> x <= last).
  { intros x X. subst l. apply in_app_or in X. destruct X as [X|[->|[]]]; [|lia].
    apply Z.lt_le_incl. eapply sorted_cut; eauto. now left. }
  assert (In last l) by (subst l; apply in_or_app; right; now left).
  assert (Len : zlength l = zlength front + 1) by (subst l; rewrite app_length; simpl; lia). clearbody l.
  destruct (sorted_split (epoch * RING) l S) as (old & young & -> & B & R). exists old, young. split; [auto|].
  rewrite app_length in Len.
  rewrite (lower_bound_spec a (epoch * RING) 0 old young A B R) by (rewrite ?app_length; lia).
  cbn [mbind option_bind]. pose proof A as A'. apply array_app in A'. destruct A' as [A1 A2].
  replace (Z.to_nat (Z.of_nat (length front + 1) - (0 + zlength old))) with (length young) by lia.
  rewrite (array_read _ _ _ A2). cbn [mbind option_bind].
  replace (Z.to_nat (0 + zlength old)) with (length old) by lia. rewrite (array_read _ _ _ A1).
  split; [reflexivity|]. rewrite List.Forall_forall in B, R.
  assert (Old : forall x, In x old -> xid_of x = x - (epoch - 1) * RING).
  { intros x X. apply xid_of_epoch. specialize (B x X). simpl in B.
    pose proof (Span x last ltac:(apply in_or_app; auto) ltac:(auto)). lia. }
  assert (Young : forall x, In x young -> xid_of x = x - epoch * RING).
  { intros x X. apply xid_of_epoch. specialize (R x X). pose proof (Top x ltac:(apply in_or_app; auto)). simpl in R.
    lia. }
  apply sorted_unique_app in S. destruct S as (S1 & S2 & _). apply sorted_unique_app. split; [|split].
  - apply sorted_map; auto. intros x y X Y. rewrite !Young by auto. lia.
  - apply sorted_map; auto. intros x y X Y. rewrite !Old by auto. lia.
  - apply List.Forall_forall. intros x' X. apply in_map_iff in X. destruct X as (x & <- & X).
    apply List.Forall_forall. intros y' Y. apply in_map_iff in Y. destruct Y as (y & <- & Y).
    rewrite Young, Old by auto. pose proof (Span y x ltac:(apply in_or_app; auto) ltac:(apply in_or_app; auto)). lia.
Qed.

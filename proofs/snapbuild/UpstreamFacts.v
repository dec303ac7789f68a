(* SPDX-License-Identifier: PostgreSQL *)
(** * What upstream's purge and insert, and a snapshot, leave in memory *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Purge Upstream.
Local Open Scope Z_scope.

Lemma memcpy_spec to i old from j l : array to i old -> array from j l -> length old = length l ->
  exists to', memcpy to i from j (zlength l) = Some to' /\ array to' i l /\ unchanged_outside i (i + zlength l) to to'.
Proof.
  intros T F E. unfold memcpy. rewrite Nat2Z.id, (array_read _ _ _ F). cbn [mbind option_bind]. eauto using write_spec.
Qed.

(** What holds each time round: of [l], [done] was read; its survivors stand at the front of the workspace. *)
Definition keep_invariant (xmin : Z) (l : list Z) (s : Z * Z * memory) : Prop :=
  let '(off, surviving, workspace) := s in
  exists done todo stale, l = done ++ todo /\ off = zlength done /\ surviving = zlength (kept xmin done) /\
    array workspace 0 (kept xmin done ++ stale) /\ (length todo <= length stale)%nat.

(** Upstream's purge keeps exactly the XIDs that do not precede xmin, in their order, whatever the workspace held; no cell
    past the last survivor changes. *)
Theorem purge_upstream_is_filter : forall l junk xmin workspace xip, array xip 0 l -> array workspace 0 junk ->
  length junk = length l ->
  exists xip', purge_upstream (zlength l) xmin workspace xip = Some (zlength (kept xmin l), xip') /\
    array xip' 0 (kept xmin l) /\ unchanged_outside 0 (zlength (kept xmin l)) xip xip'.
Proof.
  intros l junk xmin workspace xip A W L. unfold purge_upstream.
  destruct (while_total (keep_invariant xmin l) (fun '(off, _, _) => zlength l - off)
    (keep_test (zlength l)) (keep_body xmin xip) (Z.to_nat (zlength l)) (0, 0, workspace))
    as ([[off surviving] ws] & E & I & T).
  - exists [], l, junk. cbn. repeat split; auto. lia.
  - lia.
  - intros [[off surviving] ws] (done & todo & stale & -> & -> & -> & S & N). eexists. split; [reflexivity|].
    intros R. apply Z.ltb_lt in R. split; [lia|]. destruct todo as [|x todo]; [rewrite app_nil_r in R; lia|].
    pose proof (load_in_array _ _ _ _ _ A) as X. rewrite Z.add_0_l in X. cbn [keep_body]. rewrite X.
    cbn [mbind option_bind]. pose proof (kept_snoc xmin done x) as K. destruct (precedes x xmin).
    + eexists. split; [reflexivity|]. split; [|lia]. exists (done ++ [x]), todo, stale. rewrite app_nil_r in K.
      rewrite K, <- app_assoc, app_length. cbn in *. repeat split; auto; lia.
    + destruct stale as [|y stale]; [cbn in N; lia|].
      destruct (store_in_array _ _ _ _ _ x S) as (ws' & E & S' & _). rewrite Z.add_0_l in E. rewrite E.
      cbn [mbind option_bind]. eexists. split; [reflexivity|]. split; [|lia]. exists (done ++ [x]), todo, stale.
      rewrite K, <- !app_assoc, !app_length. cbn in *. repeat split; auto; lia.
  - rewrite E. cbn [mbind option_bind]. destruct I as (done & todo & stale & -> & -> & -> & S & N).
    injection T as T. apply Z.ltb_ge in T. rewrite app_length in T. destruct todo; [|cbn in T; lia].
    rewrite app_nil_r in *. apply array_app in S as [S _].
    assert (K : (length (kept xmin done) <= length done)%nat) by (pose proof (kept_length xmin done); lia).
    destruct (cut_at done (length (kept xmin done)) K) as (front & back & F & LF & _).
    pose proof A as A0. rewrite F in A0. apply array_app in A0 as [A0 _].
    destruct (memcpy_spec _ _ _ _ _ _ A0 S LF) as (xip' & -> & A' & U). cbn [mbind option_bind]. eauto.
Qed.

(* The loop of has_permanent. *)
Lemma permanent_is_found batch b : array b 0 batch -> exists i,
  while (Z.to_nat (zlength batch)) (permanent_test (zlength batch)) (permanent_body b) (0, false) =
    Some (i, negb (forallb (fun x => 3 <=? x) batch)).
Proof.
  intros B.
  destruct (while_total (fun '(i, permanent) => exists done todo, batch = done ++ todo /\ i = zlength done /\
      permanent = negb (forallb (fun x => 3 <=? x) done)) (fun '(i, _) => zlength batch - i)
    (permanent_test (zlength batch)) (permanent_body b) (Z.to_nat (zlength batch)) (0, false))
    as ([i permanent] & E & (done & todo & F & -> & ->) & T).
  - exists [], batch. auto.
  - lia.
  - intros [i permanent] (done & todo & F & -> & ->). eexists. split; [reflexivity|]. intros R. apply Z.ltb_lt in R.
    split; [lia|]. destruct todo as [|x todo]; [subst; rewrite app_nil_r in R; lia|]. rewrite F in B.
    pose proof (load_in_array _ _ _ _ _ B) as X. rewrite Z.add_0_l in X. cbn [permanent_body]. rewrite X.
    cbn [mbind option_bind]. eexists. split; [reflexivity|]. split; [|lia]. exists (done ++ [x]), todo.
    rewrite <- app_assoc, app_length, forallb_app, Bool.negb_andb. cbn [forallb length]. rewrite Bool.andb_true_r.
    repeat split; [exact F|lia|]. f_equal. rewrite Z.ltb_antisym. reflexivity.
  - exists (zlength done). rewrite E. injection T as T. apply Z.ltb_ge in T. rewrite F, app_length in T.
    destruct todo; [|cbn in T; lia]. rewrite app_nil_r in F. now subst done.
Qed.

(** Upstream's insert: the array, and the commit's XIDs behind it, in their order; but if one of them is permanent, the array
    stays as it is. *)
Theorem append_adds_a_commit : forall l batch space more b xip, array xip 0 (l ++ space ++ more) ->
  length space = length batch -> array b 0 batch ->
  exists n xip', append (zlength l) (zlength batch) b xip = Some (n, xip') /\
    if forallb (fun x => 3 <=? x) batch
    then n = zlength (l ++ batch) /\ array xip' 0 (l ++ batch ++ more) /\
         unchanged_outside (zlength l) (zlength l + zlength batch) xip xip'
    else n = zlength l /\ xip' = xip.
Proof.
  intros l batch space more b xip A L B. unfold append.
  destruct (permanent_is_found batch b B) as (i & ->). cbn [mbind option_bind].
  destruct (forallb _ batch); cbn [negb]; [|eauto].
  apply array_app in A as [A1 A2]. apply array_app in A2 as [A2 A3]. rewrite Z.add_0_l in *.
  destruct (memcpy_spec _ _ _ _ _ _ A2 B L) as (xip' & -> & A' & U). cbn [mbind option_bind].
  exists (zlength l + zlength batch), xip'. rewrite L in A3. repeat split; [rewrite app_length; lia| |exact U].
  apply array_app. split; [eapply array_unchanged; [exact U| |exact A1]; lia|]. rewrite Z.add_0_l. apply array_app.
  split; [exact A'|]. eapply array_unchanged; [exact U| |exact A3]. lia.
Qed.

(** A snapshot of a sorted array has its XIDs, in their order. *)
Theorem snapshot_sorted_copies : forall l space xip snapshot, array xip 0 l -> array snapshot 0 space ->
  length space = length l ->
  exists snapshot', snapshot_sorted (zlength l) xip snapshot = Some snapshot' /\ array snapshot' 0 l /\
    unchanged_outside 0 (zlength l) snapshot snapshot'.
Proof.
  intros l space xip snapshot A S L. unfold snapshot_sorted. destruct (memcpy_spec _ _ _ _ _ _ S A L) as (m & E & A' & U).
  rewrite Z.add_0_l in U. eauto.
Qed.

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

Lemma store_few_stores l batch space more b xip : array xip 0 (l ++ space ++ more) -> length space = length batch ->
  array b 0 batch -> 1 <= zlength batch <= FEW ->
  exists xip', store_few (zlength l) (zlength batch) b xip = Some xip' /\ array xip' 0 (l ++ batch ++ more) /\
    unchanged_outside (zlength l) (zlength l + zlength batch) xip xip'.
Proof.
  unfold FEW. intros A L B M. unfold store_few. destruct (Z.eqb_spec (zlength batch) 1) as [One|Ne].
  - destruct batch as [|x [|]]; try (cbn in One; lia). destruct space as [|y [|]]; try discriminate.
    pose proof (load_in_array b 0 [] x [] B) as X. change (zlength []) with 0 in X. rewrite Z.add_0_l in X. rewrite X. cbn [mbind option_bind].
    destruct (store_in_array _ _ _ _ _ x A) as (xip' & S & A' & U). rewrite Z.add_0_l in S, U. rewrite S.
    exists xip'. repeat split; auto.
  - set (e := if zlength batch <? 4 then 2 else 4).
    assert (E : 2 <= e <= zlength batch /\ zlength batch <= 2 * e) by (unfold e; destruct (Z.ltb_spec (zlength batch) 4); lia).
    destruct (cut_at batch (Z.to_nat e)) as (first & after & Fb & Lf & La); [lia|].
    destruct (cut_at batch (length batch - Z.to_nat e)) as (before & last & Lb & Lbe & Ll); [lia|].
    destruct (cut_at first (length before)) as (before' & both & Ff & Lb' & Lboth); [lia|].
    assert (Same : before' = before).
    { rewrite Fb, Ff, <- app_assoc in Lb. apply app_inj_1 in Lb; [tauto|lia]. }
    subst before'. assert (R1 : read b 0 (Z.to_nat e) = Some first).
    { rewrite <- Lf. apply array_read. rewrite Fb in B. now apply array_app in B as [B _]. }
    assert (R2 : read b (zlength batch - e) (Z.to_nat e) = Some last).
    { replace (Z.to_nat e) with (length last) by lia. apply array_read. rewrite Lb in B. apply array_app in B as [_ B].
      replace (zlength batch - e) with (0 + zlength before) by lia. exact B. }
    rewrite R1, R2. cbn [mbind option_bind].
    destruct (cut_at space (Z.to_nat e)) as (s1 & s2 & -> & L1 & L2); [lia|]. rewrite <- app_assoc in A.
    destruct (write_in_array _ _ _ _ first _ A) as (xip1 & W1 & A1 & U1); [lia|]. rewrite Z.add_0_l in W1, U1. rewrite W1.
    cbn [mbind option_bind]. rewrite app_length in L.
    rewrite Ff, <- app_assoc, (app_assoc both), (app_assoc l) in A1.
    destruct (write_in_array _ _ _ _ last _ A1) as (xip2 & W2 & A2 & U2); [rewrite app_length; lia|].
    rewrite Z.add_0_l, app_length in W2, U2.
    replace (zlength l + (zlength batch - e)) with (Z.of_nat (length l + length before)) by lia.
    exists xip2. split; [exact W2|]. rewrite <- app_assoc, (app_assoc before), <- Lb in A2. split; [exact A2|].
    intros i I. rewrite U2, U1; auto; lia.
Qed.

(** The insert before CONSISTENT does what upstream's does, also where it stores the first and the last XIDs of a few. *)
Theorem append_few_adds_a_commit : forall l batch space more b xip, array xip 0 (l ++ space ++ more) ->
  length space = length batch -> array b 0 batch ->
  exists n xip', append_few (zlength l) (zlength batch) b xip = Some (n, xip') /\
    if forallb (fun x => 3 <=? x) batch
    then n = zlength (l ++ batch) /\ array xip' 0 (l ++ batch ++ more) /\
         unchanged_outside (zlength l) (zlength l + zlength batch) xip xip'
    else n = zlength l /\ xip' = xip.
Proof.
  intros l batch space more b xip A L B. destruct (append_adds_a_commit l batch space more b xip A L B) as (n & xip' & E & C).
  unfold append in E. unfold append_few. destruct (permanent_is_found batch b B) as (i & P). rewrite P in E |- *.
  cbn [mbind option_bind] in E |- *. destruct (forallb _ batch); cbn [negb] in E |- *; [|eauto].
  destruct ((zlength batch =? 0) || (FEW <? zlength batch)) eqn:F; [eauto|].
  apply orb_false_elim in F as [F0 F8]. apply Z.eqb_neq in F0. apply Z.ltb_ge in F8.
  destruct (store_few_stores l batch space more b xip A L B ltac:(lia)) as (xip2 & -> & A2 & U2). cbn [mbind option_bind].
  exists (zlength l + zlength batch), xip2. rewrite app_length. repeat split; [lia|exact A2|exact U2].
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

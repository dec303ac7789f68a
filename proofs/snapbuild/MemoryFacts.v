(* SPDX-License-Identifier: PostgreSQL *)
(** * Facts about memories and loops *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory.
Local Open Scope Z_scope.

(** The rule for loops: an invariant, and a measure that falls each time round. *)
Lemma while_total {S} (I : S -> Prop) (measure : S -> Z) test body fuel : forall s,
  I s -> measure s <= Z.of_nat fuel ->
  (forall s, I s -> exists again, test s = Some again /\
    (again = true -> 0 < measure s /\ exists s', body s = Some s' /\ I s' /\ measure s' < measure s)) ->
  exists s', while fuel test body s = Some s' /\ I s' /\ test s' = Some false.
Proof.
  induction fuel as [|fuel IH]; intros s Is Ms Step;
    destruct (Step s Is) as (again & T & B); simpl; rewrite T; simpl; destruct again; eauto.
  - destruct (B eq_refl). lia.
  - destruct (B eq_refl) as (_ & s1 & E & I1 & M1). rewrite E. simpl. apply IH; auto; lia.
Qed.

(** What each step keeps holds in all states passed through. *)
Lemma passes_through_keeps {S} (I : S -> Prop) test body :
  (forall s s', I s -> test s = Some true -> body s = Some s' -> I s') ->
  forall s s', passes_through test body s s' -> I s -> I s'.
Proof. intros Step s s' H. induction H; eauto. Qed.

Lemma array_app m l1 : forall i l2, array m i (l1 ++ l2) <-> array m i l1 /\ array m (i + zlength l1) l2.
Proof.
  induction l1 as [|x l1 IH]; intros i l2; simpl.
  - rewrite Z.add_0_r. tauto.
  - rewrite IH. replace (i + 1 + zlength l1) with (i + Z.of_nat (S (length l1))) by lia. tauto.
Qed.

Lemma array_frame m m' l : forall i,
  (forall k, i <= k < i + zlength l -> m' !! k = m !! k) -> array m i l -> array m' i l.
Proof.
  induction l as [|x l IH]; intros i F; simpl in *; [auto|]. intros [X L]. split.
  - rewrite F by lia. auto.
  - apply IH; auto. intros. apply F. lia.
Qed.

Lemma array_unchanged m m' lo hi i l :
  unchanged_outside lo hi m m' -> (i + zlength l <= lo \/ hi <= i) -> array m i l -> array m' i l.
Proof. intros U D. apply array_frame. intros. apply U. lia. Qed.

Lemma array_load P m l : forall i k, array m i l -> Forall P l -> i <= k < i + zlength l ->
  exists x, load m k = Some x /\ P x.
Proof.
  induction l as [|x l IH]; intros i k A F K; simpl in *; [lia|]. destruct A as [X L]. inversion F; subst.
  destruct (Z.eq_dec k i) as [->|]; [eauto|]. apply (IH (i + 1)); auto. lia.
Qed.

Lemma array_read_onto m i l : forall l2, array m i l -> read_onto m i (length l) l2 = Some (l ++ l2).
Proof.
  induction l as [|x l IH] using rev_ind; intros l2 A; [auto|].
  rewrite app_length, Nat.add_comm. apply array_app in A. destruct A as [A [X _]]. simpl. unfold load. rewrite X.
  simpl. rewrite IH by auto. now rewrite <- app_assoc.
Qed.

Lemma array_read m i l : array m i l -> read m i (length l) = Some l.
Proof. intros A. unfold read. rewrite array_read_onto by auto. now rewrite app_nil_r. Qed.

Lemma unchanged_refl lo hi m : unchanged_outside lo hi m m.
Proof. intros i _. reflexivity. Qed.

Lemma unchanged_trans lo1 hi1 lo2 hi2 lo hi m1 m2 m3 :
  unchanged_outside lo1 hi1 m1 m2 -> unchanged_outside lo2 hi2 m2 m3 ->
  (lo1 < hi1 -> lo <= lo1 /\ hi1 <= hi) -> (lo2 < hi2 -> lo <= lo2 /\ hi2 <= hi) -> unchanged_outside lo hi m1 m3.
Proof. intros U1 U2 L1 L2 i N. rewrite U2, U1; auto; lia. Qed.

Lemma store_spec m i x y : m !! i = Some y ->
  exists m', store m i x = Some m' /\ m' !! i = Some x /\ unchanged_outside i (i + 1) m m'.
Proof.
  intros Y. unfold store. rewrite Y. eexists. split; [reflexivity|]. split; [apply lookup_insert|].
  intros k N. apply lookup_insert_ne. lia.
Qed.

Lemma store_in_array m i l1 y l2 x : array m i (l1 ++ y :: l2) ->
  exists m', store m (i + zlength l1) x = Some m' /\ array m' i (l1 ++ x :: l2) /\
    unchanged_outside (i + zlength l1) (i + zlength l1 + 1) m m'.
Proof.
  intros A. apply array_app in A. destruct A as [A1 [Y A2]].
  destruct (store_spec m _ x y Y) as (m' & E & X & U). exists m'. split; [auto|]. split; [|auto].
  apply array_app. simpl. split; [|split]; auto; eapply array_unchanged; eauto; lia.
Qed.

Lemma load_in_array m i l1 x l2 : array m i (l1 ++ x :: l2) -> load m (i + zlength l1) = Some x.
Proof. intros A. apply array_app in A. apply A. Qed.

Lemma write_spec l : forall m i old, array m i old -> length old = length l ->
  exists m', write m i l = Some m' /\ array m' i l /\ unchanged_outside i (i + zlength l) m m'.
Proof.
  induction l as [|x l IH]; intros m i old A E; destruct old as [|y old]; simpl in *; try lia.
  - exists m. repeat split; auto using unchanged_refl.
  - destruct A as [Y A]. destruct (store_spec m i x y Y) as (m1 & S1 & X1 & U1). rewrite S1. simpl.
    destruct (IH m1 (i + 1) old) as (m2 & W2 & A2 & U2).
    + eapply array_unchanged; eauto. lia.
    + lia.
    + exists m2. repeat split; auto.
      * rewrite U2; auto. lia.
      * eapply unchanged_trans; eauto; lia.
Qed.

Lemma memmove_spec m dst src l old : array m src l -> array m dst old -> length old = length l ->
  exists m', memmove m dst src (zlength l) = Some m' /\ array m' dst l /\
    unchanged_outside dst (dst + zlength l) m m'.
Proof.
  intros A O E. unfold memmove. rewrite Nat2Z.id, (array_read _ _ _ A). simpl. eauto using write_spec.
Qed.

(* The cell to be written is free, or the one that was just read. *)
Lemma next_cell (stale : list Z) x todo : exists y stale', stale ++ x :: todo = y :: stale' ++ todo /\
  length stale' = length stale.
Proof.
  destruct stale as [|y stale]; [exists x, []; auto|].
  exists y, (stale ++ [x]). rewrite <- app_assoc, app_length. simpl. split; [auto|lia].
Qed.

(* Writing, and moving, within an array. *)
Lemma write_in_array m i l1 old l l2 : array m i (l1 ++ old ++ l2) -> length old = length l ->
  exists m', write m (i + zlength l1) l = Some m' /\ array m' i (l1 ++ l ++ l2) /\
    unchanged_outside (i + zlength l1) (i + zlength l1 + zlength l) m m'.
Proof.
  intros A E. pose proof A as A'. apply array_app in A'. destruct A' as [A1 A2]. apply array_app in A2.
  destruct A2 as [A2 A3]. destruct (write_spec l m (i + zlength l1) old A2 E) as (m' & W & A' & U).
  exists m'. split; [auto|]. split; [|auto]. rewrite E in A3. rewrite !array_app.
  split; [|split]; auto; eapply array_unchanged; eauto; lia.
Qed.

Lemma cut_at (l : list Z) (k : nat) : (k <= length l)%nat ->
  exists l1 l2, l = l1 ++ l2 /\ length l1 = k /\ length l2 = (length l - k)%nat.
Proof.
  intros K. exists (take k l), (drop k l). rewrite take_drop, firstn_length, skipn_length. repeat split; lia.
Qed.

Lemma move_down m l1 gap run l2 : array m 0 (l1 ++ gap ++ run ++ l2) ->
  exists m' gap', memmove m (zlength l1) (zlength l1 + zlength gap) (zlength run) = Some m' /\
    array m' 0 (l1 ++ run ++ gap' ++ l2) /\ length gap' = length gap /\
    unchanged_outside (zlength l1) (zlength l1 + zlength run) m m'.
Proof.
  intros A. unfold memmove. rewrite Nat2Z.id.
  assert (R : read m (zlength l1 + zlength gap) (length run) = Some run).
  { pose proof A as A'. apply array_app in A'. destruct A' as [_ A']. apply array_app in A'. destruct A' as [_ A'].
    apply array_app in A'. now apply array_read. }
  rewrite R. cbn [mbind option_bind]. rewrite (app_assoc gap run) in A.
  destruct (cut_at (gap ++ run) (length run)) as (old & gap' & E & L1 & L2); [rewrite app_length; lia|].
  rewrite E, <- app_assoc in A. destruct (write_in_array m 0 l1 old run _ A L1) as (m' & W & A' & U).
  exists m', gap'. rewrite app_length in L2. repeat split; auto. lia.
Qed.

Lemma move_up m l1 run gap l2 : array m 0 (l1 ++ run ++ gap ++ l2) ->
  exists m' gap', memmove m (zlength l1 + zlength gap) (zlength l1) (zlength run) = Some m' /\
    array m' 0 (l1 ++ gap' ++ run ++ l2) /\ length gap' = length gap /\
    unchanged_outside (zlength l1 + zlength gap) (zlength l1 + zlength gap + zlength run) m m'.
Proof.
  intros A. unfold memmove. rewrite Nat2Z.id.
  assert (R : read m (zlength l1) (length run) = Some run).
  { pose proof A as A'. apply array_app in A'. destruct A' as [_ A']. apply array_app in A'. now apply array_read. }
  rewrite R. cbn [mbind option_bind]. rewrite (app_assoc run gap) in A.
  destruct (cut_at (run ++ gap) (length gap)) as (gap' & old & E & L1 & L2); [rewrite app_length; lia|].
  rewrite app_length in L2. rewrite E, <- app_assoc, app_assoc in A.
  destruct (write_in_array m 0 (l1 ++ gap') old run l2 A) as (m' & W & A' & U); [lia|].
  rewrite app_length in W, U. exists m', gap'. rewrite <- app_assoc in A'.
  replace (0 + Z.of_nat (length l1 + length gap')) with (zlength l1 + zlength gap) in * by lia. auto.
Qed.

(* Any stretch of an array is an array. *)
Lemma array_slice m i l k n : array m i l -> 0 <= k -> 0 <= n -> k + n <= zlength l ->
  exists l', array m (i + k) l' /\ zlength l' = n.
Proof.
  intros A K N B. exists (take (Z.to_nat n) (drop (Z.to_nat k) l)).
  rewrite <- (take_drop (Z.to_nat k) l) in A. apply array_app in A. destruct A as [_ A].
  rewrite <- (take_drop (Z.to_nat n) (drop _ l)) in A. apply array_app in A. destruct A as [A _].
  rewrite firstn_length_le in A by lia. split.
  - now rewrite Z2Nat.id in A by lia.
  - rewrite firstn_length, skipn_length. lia.
Qed.

Lemma allocate_outside l : forall m i k, k < i -> allocate m i l !! k = m !! k.
Proof.
  induction l as [|x l IH]; intros m i k K; simpl; [auto|]. rewrite IH by lia. apply lookup_insert_ne. lia.
Qed.

Lemma allocate_array l : forall m i, array (allocate m i l) i l.
Proof.
  induction l as [|x l IH]; intros m i; simpl; [auto|]. split; [|apply IH].
  rewrite allocate_outside by lia. apply lookup_insert.
Qed.

Lemma halvings_nonneg n : 0 <= halvings n.
Proof. unfold halvings. destruct (Z.leb_spec n 0); [lia|]. pose proof (Z.log2_nonneg n). lia. Qed.

Lemma halvings_pos n : 0 < n -> 0 < halvings n.
Proof. intros. unfold halvings. destruct (Z.leb_spec n 0); [lia|]. pose proof (Z.log2_nonneg n). lia. Qed.

(* Half of it, or less, has one halving less. *)
Lemma halvings_half n k : 0 < n -> 2 * k <= n -> halvings k < halvings n.
Proof.
  intros N K. unfold halvings. destruct (Z.leb_spec k 0), (Z.leb_spec n 0); try lia.
  - pose proof (Z.log2_nonneg n). lia.
  - rewrite <- Z.add_lt_mono_r. pose proof (Z.log2_double k ltac:(lia)).
    pose proof (Z.log2_le_mono (2 * k) n ltac:(lia)). lia.
Qed.

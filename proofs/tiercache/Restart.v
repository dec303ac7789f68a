(* SPDX-License-Identifier: PostgreSQL *)
(** * A restart after a crash, with the SSD or without it, finds tiers that fit *)
From Coq Require Import List Bool Arith Lia.
From Pgquern.tiercache Require Import Tiers FlatFile Fits.
Import ListNotations.

Definition reads (s : state) (f : flat) : flat :=
  Flat (fun p => match read s p with Some v => v | None => newest f p end) (since_sync f).

Lemma nth_in {A} k (l : list A) d : In d l -> In (nth k l d) l.
Proof. intros H. destruct (nth_in_or_default k l d) as [E|E]; [exact E|now rewrite E]. Qed.

Lemma take_over_some m found i e : take_over m found i = Some e ->
  found i = Some e /\ forall j, j < m -> newer found i e j = false.
Proof.
  unfold take_over. destruct (found i) as [d|]; [|discriminate]. destruct (existsb (newer found i d) (seq 0 m)) eqn:X; [discriminate|].
  intros [= <-]. split; [reflexivity|]. intros j L. apply not_true_is_false. intros N. apply not_true_iff_false in X. apply X.
  apply existsb_exists. exists j. split; [apply in_seq; lia|exact N].
Qed.

(** Of the slots that hold a page one is the newest: the one with the largest number, the first of these. *)
Lemma some_is_taken m found p : (exists i e, i < m /\ found i = Some e /\ slot_page e = p) ->
  exists i e, i < m /\ found i = Some e /\ slot_page e = p /\ forall j, j < m -> newer found i e j = false.
Proof.
  induction m as [|m IH]; intros (i & e & L & E & P); [lia|].
  assert (Here : (exists i e, i < m /\ found i = Some e /\ slot_page e = p) \/
                 ((forall i e, i < m -> found i = Some e -> slot_page e <> p) /\ i = m)).
  { destruct (existsb (fun j => holds (found j) p) (seq 0 m)) eqn:X.
    - left. apply existsb_exists in X as (j & I & H). apply in_seq in I. apply holds_iff in H as (d & D & Q).
      exists j, d. repeat split; auto. lia.
    - right. assert (N : forall j d, j < m -> found j = Some d -> slot_page d <> p).
      { intros j d Lj D Q. apply not_true_iff_false in X. apply X. apply existsb_exists. exists j.
        split; [apply in_seq; lia|]. apply holds_iff. eauto. }
      split; [exact N|]. destruct (Nat.eq_dec i m) as [|M]; [assumption|]. exfalso. apply (N i e); auto. lia. }
  destruct Here as [H|(N & ->)].
  - destruct (IH H) as (k & c & Lk & Ek & Pk & Best). destruct (found m) as [d|] eqn:D.
    2:{ exists k, c. repeat split; auto. intros j Lj. destruct (Nat.eq_dec j m) as [->|]; [unfold newer; now rewrite D|apply Best; lia]. }
    destruct (newer found k c m) eqn:New.
    + unfold newer in New. rewrite D in New. apply andb_true_iff in New as (Q & New). apply Nat.eqb_eq in Q.
      assert (V : slot_contents c < slot_contents d).
      { apply orb_true_iff in New as [V|V]; [now apply Nat.ltb_lt|]. apply andb_true_iff in V as (_ & V). apply Nat.ltb_lt in V. lia. }
      exists m, d. repeat split; [lia|exact D|congruence|]. intros j Lj. unfold newer.
      destruct (Nat.eq_dec j m) as [->|]; [rewrite D, Nat.ltb_irrefl, (Nat.ltb_irrefl m), andb_false_r; apply andb_false_r|].
      specialize (Best j ltac:(lia)). unfold newer in Best. destruct (found j) as [x|]; [|reflexivity].
      destruct (Nat.eqb_spec (slot_page x) (slot_page d)) as [Px|]; [|reflexivity]. cbn [andb].
      rewrite (proj2 (Nat.eqb_eq (slot_page x) (slot_page c))) in Best by congruence. cbn [andb] in Best.
      apply orb_false_iff in Best as (B & _). apply Nat.ltb_ge in B.
      rewrite (proj2 (Nat.ltb_ge _ _)) by lia. rewrite (proj2 (Nat.eqb_neq _ _)) by lia. reflexivity.
    + exists k, c. repeat split; auto. intros j Lj. destruct (Nat.eq_dec j m) as [->|]; [exact New|apply Best; lia].
  - exists m, e. repeat split; auto. intros j Lj. unfold newer. destruct (Nat.eq_dec j m) as [->|].
    + rewrite E, Nat.ltb_irrefl, (Nat.ltb_irrefl m), andb_false_r. apply andb_false_r.
    + destruct (found j) as [x|] eqn:D; [|reflexivity]. rewrite (proj2 (Nat.eqb_neq _ _)); [reflexivity|]. rewrite P. apply (N j); auto. lia.
Qed.

Lemma crash_fits s f loses keeps kept : fits s f -> fits (do_crash s loses keeps kept) (reads (do_crash s loses keeps kept) f).
Proof.
  intros F. set (t := do_crash s loses keeps kept).
  set (found i := disk t i). set (stored := store t).
  assert (Found : forall i e, found i = Some e -> i < slots s /\ trusted s = true /\ In (Some e) (disk_may s i)).
  { intros i e. unfold found. cbn. destruct (loses || negb (trusted s) || (slots s <=? i)) eqn:X; [discriminate|].
    apply orb_false_iff in X as (X & L). apply orb_false_iff in X as (_ & T). apply negb_false_iff in T.
    apply Nat.leb_gt in L. intros <-. repeat split; auto. apply nth_in, (disk_may_now _ _ F). }
  assert (Stored : forall p, In (stored p) (store_may s p)) by (intros p; apply nth_in, (store_now _ _ F)).
  assert (H : forall i e, held t i = Some e -> found i = Some e /\ forall j, j < slots s -> newer found i e j = false)
    by (intros i e; apply take_over_some).
  assert (B : forall i e, held t i = Some e -> i < slots s) by (intros i e He; apply H in He as (He & _); now apply Found in He).
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd P. pose proof (B _ _ He) as Li. pose proof (B _ _ Hd) as Lj.
    apply H in He as (He & Ne), Hd as (Hd & Nd). specialize (Ne j Lj). specialize (Nd i Li).
    unfold newer in Ne, Nd. rewrite Hd in Ne. rewrite He in Nd. rewrite P, Nat.eqb_refl in Ne, Nd. cbn [andb] in Ne, Nd.
    apply orb_false_iff in Ne as (N1 & N2), Nd as (N3 & N4). apply Nat.ltb_ge in N1, N3.
    assert (C : slot_contents e = slot_contents d) by lia. rewrite C, Nat.eqb_refl in N2, N4. cbn [andb] in N2, N4.
    apply Nat.ltb_ge in N2, N4. lia. }
  assert (O : forall i e, held t i = Some e -> slot_of t (slot_page e) = Some i).
  { intros i e He. destruct (slot_of t (slot_page e)) as [j|] eqn:X.
    - apply slot_of_some in X as (_ & d & Hd & P). f_equal. now apply (U j i d e).
    - exfalso. exact (slot_of_none t _ X i e (B _ _ He) He eq_refl). }
  assert (R : forall p, match slot_of t p with
     | Some i => exists e, held t i = Some e /\ slot_page e = p /\ newest (reads t f) p = slot_contents e
     | None => newest (reads t f) p = stored p end).
  { intros p. cbn [reads newest]. unfold read. change (memory t p) with (@None frame). destruct (slot_of t p) as [i|] eqn:X; [|reflexivity].
    apply slot_of_some in X as (_ & e & He & P). exists e. split; [exact He|]. split; [exact P|].
    unfold read_slot. apply H in He as (He & _). unfold found in He. rewrite He. now rewrite P, Nat.eqb_refl. }
  constructor; try exact U.
  - intros p. specialize (R p). destruct (slot_of t p) as [i|].
    + destruct R as (e & He & P & ->). apply H in He as (He & _). apply Found in He as (_ & Tr & He).
      subst p. now apply (trusted_fits _ _ F Tr i).
    + rewrite R. now apply (store_fits _ _ F).
  - intros p m [=].
  - intros p m i e [=].
  - intros i e He. split; [exact (B _ _ He)|]. specialize (R (slot_page e)). rewrite (O _ _ He) in R.
    destruct R as (d & Hd & _ & R). rewrite R. rewrite He in Hd. injection Hd as <-. split; [|reflexivity].
    apply H in He as (He & _). apply Found in He as (_ & Tr & He). now apply (trusted_fits _ _ F Tr i).
  - intros i e He. apply H in He as (He & _). exists (slot_dirty e). split; [|auto]. fold (found i). rewrite He. now destruct e.
  - intros i Hs. assert (K : exists e, found i = Some e /\ held t i = None).
    { change (match found i, held t i with Some _, None => true | _, _ => false end = true) in Hs.
      destruct (found i) as [e|]; [|discriminate]. destruct (held t i); [discriminate|]. eauto. }
    destruct K as (e & K & E). split; [now apply Found in K|exact E].
  - intros i e Hd. destruct (held t i) as [d|] eqn:E.
    + right. exists d. apply H in E as (E & _). unfold found in E. split; [reflexivity|]. split; congruence.
    + left. change (match found i, held t i with Some _, None => true | _, _ => false end = true).
      unfold found. now rewrite Hd, E.
  - intros i. now left.
  - intros _ i e [Hd|[]]. fold (found i) in Hd. apply Found in Hd as (_ & Tr & He).
    destruct (trusted_fits _ _ F Tr i e He) as (X & Y & Z). repeat split; auto. intros D v [<-|[]]. apply (Z D), Stored.
  - intros p. now left.
  - intros p v [<-|[]]. apply (store_fits _ _ F), Stored.
  - intros p v D [<-|[]]. fold (stored p). specialize (R p). destruct (slot_of t p) as [i|] eqn:X; [|now symmetry].
    destruct R as (e & He & P & ->). assert (De : slot_dirty e = false).
    { unfold dirty, dirty_on_ssd in D. rewrite X, He in D. apply orb_false_iff in D. tauto. }
    apply H in He as (He & _). apply Found in He as (_ & Tr & He). subst p. apply (proj2 (proj2 (trusted_fits _ _ F Tr i e He)) De), Stored.
  - intros _ i e v [Hd|[]] [<-|[]]. fold (found i) in Hd. apply Found in Hd as (_ & Tr & He).
    apply (trusted_not_older _ _ F Tr i e _ He), Stored.
  - intros _ i e [Hk|[]] D. assert (Hd : found i = Some e) by exact Hk. clear Hk.
    destruct (some_is_taken (slots s) found (slot_page e)) as (j & d & Lj & Hj & Pj & Best).
    { exists i, e. split; [now apply Found in Hd|auto]. }
    assert (T : held t j = Some d).
    { change (held t j) with (take_over (slots s) found j). unfold take_over. rewrite Hj.
      destruct (existsb (newer found j d) (seq 0 (slots s))) eqn:X; [|reflexivity].
      apply existsb_exists in X as (k & I & X). apply in_seq in I. rewrite Best in X by lia. discriminate. }
    specialize (R (slot_page e)). rewrite <- Pj, (O _ _ T) in R. destruct R as (d' & Hd' & _ & R).
    rewrite T in Hd'. injection Hd' as <-. rewrite <- Pj, R.
    assert (Dd : slot_dirty d = false).
    { unfold dirty, dirty_on_ssd in D. rewrite <- Pj, (O _ _ T), T in D. apply orb_false_iff in D. tauto. }
    pose proof (Found _ _ Hd) as (Li & Tr & He). pose proof (Found _ _ Hj) as (_ & _ & Hej).
    destruct (trusted_fits _ _ F Tr j d Hej) as (_ & _ & Z).
    pose proof (Z Dd _ (Stored (slot_page d))) as Sd. rewrite Pj in Sd.
    pose proof (trusted_not_older _ _ F Tr i e _ He (Stored (slot_page e))) as Le.
    specialize (Best i Li). unfold newer in Best. rewrite Hd, Pj, Nat.eqb_refl in Best. cbn [andb] in Best.
    apply orb_false_iff in Best as (Small & _). apply Nat.ltb_ge in Small. lia.
  - intros p v [<-|[]]. fold (stored p). specialize (R p). destruct (slot_of t p) as [i|]; [|rewrite R; constructor].
    destruct R as (e & He & P & ->). apply H in He as (He & _). apply Found in He as (_ & Tr & He). subst p.
    apply (trusted_not_older _ _ F Tr i e _ He), Stored.
  - apply (next_is_new _ _ F).
Qed.

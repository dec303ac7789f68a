(* SPDX-License-Identifier: PostgreSQL *)
(** * Write-backs and fsyncs, failed ones too, keep the tiers fitting *)
From Coq Require Import List Bool Arith Lia.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves.
Import ListNotations.

Lemma with_failed_fits s f b : fits s f -> fits (with_failed s b) f.
Proof. intros F. constructor; apply F. Qed.

Lemma scrub_fits s f n : fits s f -> fits (scrub s n) f.
Proof.
  intros F.
  assert (K : forall i e, held s i = Some e -> overwritten s n i = false).
  { intros i e He. unfold overwritten. destruct (stale s i) eqn:Hs; [|reflexivity]. apply (stale_free _ _ F) in Hs as (_ & X). congruence. }
  constructor; cbn -[overwritten]; try (now apply F).
  - intros i e He. rewrite (K _ _ He). now apply (held_on_disk _ _ F).
  - intros i Hs. apply andb_true_iff in Hs as (Hs & _). now apply (stale_free _ _ F).
  - intros i e. destruct (overwritten s n i); [discriminate|]. rewrite andb_true_r. apply (disk_known _ _ F).
  - intros i. destruct (overwritten s n i); [now left|apply (disk_may_now _ _ F)].
  - intros Tr i e. destruct (overwritten s n i); [intros [[=]|H]|intros H];
      now apply (trusted_fits _ _ F Tr i).
  - intros Tr i e v. destruct (overwritten s n i); [intros [[=]|H]|intros H]; now apply (trusted_not_older _ _ F Tr i).
  - intros Tr i e. destruct (overwritten s n i); [intros [[=]|H]|intros H]; now apply (trusted_clean _ _ F Tr i).
Qed.

Lemma sync_ssd_fits s f : fits s f -> fits (sync_ssd s) f.
Proof.
  intros F. constructor; cbn; try (now apply F).
  - now left.
  - intros Tr i e [H|[]]. apply (trusted_fits _ _ F Tr i). rewrite <- H. apply (disk_may_now _ _ F).
  - intros Tr i e v [H|[]]. apply (trusted_not_older _ _ F Tr i). rewrite <- H. apply (disk_may_now _ _ F).
  - intros Tr i e [H|[]]. apply (trusted_clean _ _ F Tr i). rewrite <- H. apply (disk_may_now _ _ F).
Qed.

Lemma retire_fits s f told : fits s f -> fits (retire s told) f.
Proof.
  intros F. set (t := retire s told).
  assert (H : forall i e, held t i = Some e <-> held s i = Some e /\ slot_dirty e = true).
  { intros i e. cbn. destruct (held s i) as [d|]; [|split; [discriminate|now intros ([=] & _)]].
    destruct (slot_dirty d) eqn:D; (split; [intros [= <-]|intros ([= <-] & X)]); auto; congruence. }
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd. apply H in He as (He & _), Hd as (Hd & _). now apply (held_once _ _ F). }
  assert (Was : forall p, dirty t p = false -> dirty s p = false).
  { intros p. apply clean_before with (f := f); auto.
    - intros i e He. apply H in He as (He & _). exact (proj1 (held_newest _ _ F _ _ He)).
    - intros i e He P D. exists i, e. split; [now apply H|auto]. }
  constructor; try exact U; try (now apply F).
  - intros p m i e M D He. apply H in He as (He & _). eapply (memory_alone _ _ F); eauto.
  - intros i e He. apply H in He as (He & _). now apply (held_newest _ _ F).
  - intros i e He. apply H in He as (He & _). now apply (held_on_disk _ _ F).
  - intros i. cbn. destruct (held s i) as [e|] eqn:E.
    + intros Hs. split; [exact (proj1 (held_newest _ _ F _ _ E))|]. destruct (slot_dirty e) eqn:D; [|reflexivity].
      rewrite orb_false_r in Hs. apply (stale_free _ _ F) in Hs as (_ & X). congruence.
    + intros Hs. split; [now apply (stale_free _ _ F)|reflexivity].
  - intros i e Hd. apply (disk_known _ _ F) in Hd as [Hs|(d & Hd & P & C)]; cbn.
    + left. rewrite Hs. now destruct (held s i).
    + rewrite Hd. destruct (slot_dirty d) eqn:D; [right; eauto|left; apply orb_true_r].
  - cbn. intros Tr. apply andb_true_iff in Tr as (Tr & _). now apply (trusted_fits _ _ F).
  - intros p v D. apply (clean_stored _ _ F). now apply Was.
  - cbn. intros Tr. apply andb_true_iff in Tr as (Tr & _). now apply (trusted_not_older _ _ F).
  - intros Tr i e He D. cbn in Tr. apply andb_true_iff in Tr as (Tr & _). apply (trusted_clean _ _ F Tr i e He). now apply Was.
Qed.

(** What a restart would take over is the newest. *)
Definition settled (s : state) (f : flat) : Prop :=
  trusted s = true -> forall i e, In (Some e) (disk_may s i) -> slot_contents e = newest f (slot_page e).

(** Before the store is written, no restart finds older contents on the SSD. *)
Lemma take_old_off_fits s f w : fits s f -> fits (take_old_off s w) f /\ settled (take_old_off s w) f.
Proof.
  intros F. unfold take_old_off. destruct (in_use s && w).
  - set (t := scrub s (slots s)). assert (Ft : fits t f) by now apply scrub_fits. split; [now apply sync_ssd_fits|].
    intros _ i e [Hd|[]]. apply (disk_known _ _ Ft) in Hd as [Hs|(d & Hd & P & C)].
    + exfalso. cbn in Hs. unfold overwritten in Hs. apply andb_true_iff in Hs as (Hs & N). pose proof (proj1 (stale_free _ _ F _ Hs)) as I.
      apply Nat.ltb_lt in I. rewrite Hs, I in N. discriminate.
    + rewrite <- P, <- C. exact (proj2 (proj2 (held_newest _ _ Ft _ _ Hd))).
  - split; [now apply retire_fits|]. intros Tr. cbn in Tr. apply andb_true_iff in Tr as (_ & [=]).
Qed.

Lemma write_page_fits s f p : fits s f -> settled s f -> fits (write_page s p) f /\ settled (write_page s p) f.
Proof.
  intros F S. unfold write_page. rewrite (read_newest _ _ p F). split; [|exact S].
  constructor; cbn -[update]; try (now apply F).
  - intros Tr i e He. destruct (trusted_fits _ _ F Tr _ _ He) as (X & Y & Z). repeat split; auto.
    intros D v. destruct (Nat.eq_dec (slot_page e) p) as [E|E]; [|rewrite update_other by exact E; apply (Z D)].
    rewrite E, update_same, <- E. intros [<-|Hv]; [|exact (Z D v Hv)]. symmetry. exact (S Tr i e He).
  - intros q. at_key q p; [now left|apply (store_now _ _ F)].
  - intros q v. at_key q p; [|apply (store_fits _ _ F)]. intros [<-|Hv]; [apply (newest_counts _ _ F)|now apply (store_fits _ _ F)].
  - intros q v D. at_key q p; [|now apply (clean_stored _ _ F)]. intros [<-|Hv]; [reflexivity|now apply (clean_stored _ _ F)].
  - intros Tr i e v He. destruct (Nat.eq_dec (slot_page e) p) as [E|E].
    + rewrite E, update_same, <- E. intros [<-|Hv]; [|now apply (trusted_not_older _ _ F Tr i)].
      rewrite (S Tr i e He). constructor.
    + rewrite update_other by exact E. now apply (trusted_not_older _ _ F Tr i).
  - intros q v. at_key q p; [|apply (store_not_newer _ _ F)]. intros [<-|Hv]; [constructor|now apply (store_not_newer _ _ F)].
Qed.

Lemma write_store_fits ps : forall s f, fits s f -> settled s f ->
  fits (write_store s ps) f /\ settled (write_store s ps) f.
Proof.
  induction ps as [|p ps IH]; intros s f F S; [now split|]. destruct (write_page_fits s f p F S) as (F' & S'). now apply IH.
Qed.

Lemma write_store_written ps : forall s f p, fits s f -> settled s f ->
  In p ps \/ unsynced s p = true /\ store s p = newest f p ->
  unsynced (write_store s ps) p = true /\ store (write_store s ps) p = newest f p.
Proof.
  induction ps as [|q ps IH]; intros s f p F S H; [destruct H as [[]|H]; exact H|].
  destruct (write_page_fits s f q F S) as (F' & S'). cbn [write_store fold_left]. apply IH; auto.
  assert (W : unsynced (write_page s q) q = true /\ store (write_page s q) q = newest f q).
  { unfold write_page. rewrite (read_newest _ _ q F). cbn -[update]. now rewrite !update_same. }
  destruct (Nat.eq_dec p q) as [->|N]; [now right|]. destruct H as [[->|H]|(H & K)]; [contradiction|now left|right].
  unfold write_page. rewrite (read_newest _ _ q F). cbn -[update]. now rewrite !update_other.
Qed.

Lemma sync_store_fits s f w : fits s f -> fits (sync_store s w) f.
Proof.
  intros F.
  assert (H : forall p v, In v (store_may (sync_store s w) p) -> In v (store_may s p)).
  { intros p v. cbn. destruct w; [|auto]. destruct (unsynced s p); [|auto]. intros [<-|[]]. apply (store_now _ _ F). }
  constructor; try (now apply F).
  - cbn -[sync_store]. intros Tr i e He. destruct (trusted_fits _ _ F Tr _ _ He) as (X & Y & Z). repeat split; auto.
  - intros p. cbn. destruct w; [|apply (store_now _ _ F)]. destruct (unsynced s p); [now left|apply (store_now _ _ F)].
  - intros p v Hv. apply H in Hv. now apply (store_fits _ _ F).
  - intros p v D Hv. apply H in Hv. now apply (clean_stored _ _ F).
  - cbn -[sync_store]. intros Tr i e v He Hv. apply H in Hv. now apply (trusted_not_older _ _ F Tr i).
  - intros p v Hv. apply H in Hv. now apply (store_not_newer _ _ F).
Qed.

Lemma contains_iff ps p : contains ps p = true <-> In p ps.
Proof.
  unfold contains. rewrite existsb_exists. split.
  - intros (q & H & E). apply Nat.eqb_eq in E. now subst.
  - intros H. exists p. split; [exact H|apply Nat.eqb_refl].
Qed.

(** Pages may be called clean if the store has them, whatever a crash leaves, and no restart finds older contents. *)
Lemma call_clean_fits s f ps : fits s f -> ps = [] \/ settled s f ->
  (forall p v, In p ps -> In v (store_may s p) -> v = newest f p) -> fits (call_clean s ps) f.
Proof.
  intros F S C. set (t := call_clean s ps).
  assert (H : forall i e, held t i = Some e -> exists d, held s i = Some d /\ slot_page d = slot_page e /\
                slot_contents d = slot_contents e /\ (slot_dirty e = true -> slot_dirty d = true)).
  { intros i e. cbn. destruct (held s i) as [d|]; [|discriminate]. intros [= <-]. exists d.
    destruct (contains ps (slot_page d)); cbn; repeat split; auto; discriminate. }
  assert (M : forall p m, memory t p = Some m -> exists n, memory s p = Some n /\ frame_contents n = frame_contents m /\
                (frame_dirty m = true -> frame_dirty n = true)).
  { intros p m. cbn. destruct (memory s p) as [n|]; [|discriminate]. intros [= <-]. exists n.
    destruct (contains ps p); cbn; repeat split; auto; discriminate. }
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd P. apply H in He as (e' & He & Pe & _), Hd as (d' & Hd & Pd & _).
    eapply (held_once _ _ F); eauto. congruence. }
  assert (Was : forall p, contains ps p = false -> dirty t p = false -> dirty s p = false).
  { intros p I. apply clean_before with (f := f); auto.
    - intros i e He. apply H in He as (d & Hd & _). exact (proj1 (held_newest _ _ F _ _ Hd)).
    - intros m Hm Dm. left. cbn. now rewrite Hm, I.
    - intros i e He P D. exists i, e. cbn. now rewrite He, P, I. }
  constructor; try exact U; try (now apply F).
  - intros p m Hm. apply M in Hm as (n & Hn & E & _). rewrite <- E. now apply (memory_newest _ _ F).
  - intros p m i e Hm D He. apply M in Hm as (n & Hn & _ & Dn). apply H in He as (d & Hd & P & _). rewrite <- P.
    eapply (memory_alone _ _ F); eauto.
  - intros i e He. apply H in He as (d & Hd & P & E & _). rewrite <- P, <- E. now apply (held_newest _ _ F).
  - intros i e He. apply H in He as (d & Hd & P & E & D). rewrite <- P, <- E.
    destruct (held_on_disk _ _ F _ _ Hd) as (b & Hb & B). exists b. split; [exact Hb|auto].
  - intros i Hs. apply (stale_free _ _ F) in Hs as (I & E). split; [exact I|]. cbn. now rewrite E.
  - intros i e Hd. apply (disk_known _ _ F) in Hd as [Hs|(d & Hd & P & E)]; [now left|right]. cbn. rewrite Hd.
    destruct (contains ps (slot_page d)); eexists; repeat split; cbn; auto.
  - intros p v D Hv. destruct (contains ps p) eqn:I; [apply C; [now apply contains_iff|exact Hv]|].
    apply (clean_stored _ _ F); [|exact Hv]. now apply Was.
  - intros Tr i e He D. destruct S as [->|S]; [|exact (S Tr i e He)].
    apply (trusted_clean _ _ F Tr i e He). now apply Was.
Qed.

(** After the steps before the pages are called clean, the store has those pages, whatever a crash leaves; and if the
    store was written, no restart finds others. *)
Lemma try_write_back_fits s f ps w o : fits s f ->
  let '(t, clean, done) := try_write_back s ps w o in
  fits t f /\ (clean = [] \/ settled t f) /\ (forall p v, In p clean -> In v (store_may t p) -> v = newest f p).
Proof.
  intros F. destruct o as [whole part syncs|n]; cbn [try_write_back].
  - destruct (take_old_off_fits s f w F) as (F1 & S1).
    destruct (write_store_fits (whole ++ part) _ f F1 S1) as (F2 & S2). split; [now apply sync_store_fits|]. split.
    + right. exact S2.
    + intros p v I. destruct syncs; [|easy].
      destruct (write_store_written (whole ++ part) _ f p F1 S1) as (W & E); [left; apply in_app_iff; now left|].
      cbn. rewrite W, E. now intros [<-|[]].
  - split; [|split; [now left|easy]]. apply retire_fits. destruct (in_use s); [now apply scrub_fits|exact F].
Qed.

Lemma write_back_fits s f ps w o : fits s f -> fits (do_write_back s ps w o) f.
Proof.
  intros F. unfold do_write_back. pose proof (try_write_back_fits s f ps w o F) as H.
  destruct (try_write_back s ps w o) as ((t, clean), done). destruct H as (Ft & S & C).
  assert (G : fits (call_clean t clean) f) by now apply call_clean_fits.
  destruct done; [exact G|now apply with_failed_fits].
Qed.

(** It changes neither what memory has, nor what the cache knows of the SSD, except that it forgets clean pages. *)
Lemma write_store_same ps : forall s, memory (write_store s ps) = memory s /\ held (write_store s ps) = held s.
Proof.
  induction ps as [|p ps IH]; intros s; [now split|]. cbn [write_store fold_left]. destruct (IH (write_page s p)) as (M & H).
  unfold write_store in M, H. rewrite M, H. unfold write_page. now destruct (read s p).
Qed.

Lemma try_write_back_same s ps w o :
  let u := fst (fst (try_write_back s ps w o)) in
  memory u = memory s /\ (forall i e, held u i = Some e -> held s i = Some e) /\
  (forall i e, held s i = Some e -> slot_dirty e = true -> held u i = Some e).
Proof.
  assert (R : forall t b, memory (retire t b) = memory t /\ (forall i e, held (retire t b) i = Some e -> held t i = Some e) /\
                (forall i e, held t i = Some e -> slot_dirty e = true -> held (retire t b) i = Some e)).
  { intros t b. cbn. split; [reflexivity|]. split; [|now intros i e -> ->].
    intros i e. destruct (held t i) as [d|]; [|discriminate]. now destruct (slot_dirty d). }
  destruct o as [whole part syncs|n]; cbn [try_write_back fst].
  - destruct (write_store_same (whole ++ part) (take_old_off s w)) as (M & H). cbn -[write_store take_old_off]. rewrite M, H.
    unfold take_old_off. destruct (in_use s && w); [|apply R]. now cbn.
  - specialize (R (if in_use s then scrub s n else s) false). now destruct (in_use s).
Qed.

(** *** Fsync *)
Definition all_synced (f : flat) : flat := Flat (newest f) (fun p => [newest f p]).

Lemma fsync_fits s f : fits s f -> fits (fst (do_fsync s)) (if snd (do_fsync s) then all_synced f else f).
Proof.
  intros F. unfold do_fsync. cbn [fst snd]. apply with_failed_fits.
  destruct (negb (failed s) && _) eqn:X; [|exact F]. apply andb_true_iff in X as (_ & X).
  assert (Clean : forall p, dirty s p = false).
  { intros p. destruct (dirty s p) eqn:D; [|reflexivity].
    assert (I : In p (seq 0 (pages s))) by (apply in_seq; pose proof (dirty_inside _ _ _ F D); lia).
    apply (proj1 (forallb_forall _ _) X) in I. now rewrite D in I. }
  constructor; cbn [all_synced newest since_sync]; try (now apply F).
  - now left.
  - intros Tr i e He. destruct (trusted_fits _ _ F Tr i e He) as (I & _ & Z). split; [exact I|]. split; [|exact Z].
    left. symmetry. now apply (trusted_clean _ _ F Tr i).
  - intros p v Hv. left. symmetry. now apply (clean_stored _ _ F).
  - intros p v [<-|[]]. apply (next_is_new _ _ F p), (newest_counts _ _ F).
Qed.

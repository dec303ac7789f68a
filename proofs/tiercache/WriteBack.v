(* SPDX-License-Identifier: PostgreSQL *)
(** * Write-backs and fsyncs, failed ones too, keep the tiers fitting *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves.

Lemma with_failed_fits s f b : fits s f -> up s = true -> fits (with_failed s b) f.
Proof. intros F Up. constructor; try (now apply F). cbn. congruence. Qed.

Lemma with_seen_fits s f l : fits s f -> fits (with_seen s l) f.
Proof.
  intros F. constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)); cbn; intros.
    + split; apply in_app_iff; right; now apply (met_super _ _ _ _ _ _ _ F).
    + apply in_app_iff; right. eapply (met_slot _ _ _ _ _ _ _ F); eauto.
    + apply in_app_iff; right. now apply (met_control _ _ _ _ _ _ _ F).
  - intros Use. destruct (current _ _ F Use) as (X & Y). split; [apply in_app_iff; now right|exact Y].
Qed.

(** No superblock has a nonce that is fresh. *)
Definition unmet (s : state) (m : mark) : Prop := forall u, In (Some u) (super_may s) -> super_mark u <> m.
Lemma fresh_is_unmet s f m : fits s f -> is_fresh s m = true -> unmet s m.
Proof. intros F H u Hu E. apply is_fresh_iff in H. apply H. rewrite <- E. now apply (met_super _ _ _ _ _ _ _ F). Qed.

(** ** Taking old contents off the SSD *)

Lemma scrub_fits s f n : fits s f -> up s = true -> fits (scrub s n) f.
Proof.
  intros F Up.
  assert (K : forall i e, held s i = Some e -> overwritten s n i = false).
  { intros i e He. unfold overwritten. destruct (stale s i) eqn:Hs; [|reflexivity]. apply (stale_free _ _ F) in Hs as (_ & X). congruence. }
  assert (I : forall i w, In (Some w) (disk_may (scrub s n) i) -> In (Some w) (disk_may s i)).
  { intros i w. cbn -[overwritten]. destruct (overwritten s n i); [intros [[=]|H]; exact H|auto]. }
  assert (T : forall i e, may_be_trusted (scrub s n) s i e -> may_be_trusted s s i e).
  { intros i e (u & Hu & Hc & Hd). exists u. auto. }
  constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + intros i. cbn -[overwritten]. destruct (overwritten s n i); [now left|apply (disk_may_now _ _ _ _ _ _ _ F)].
    + intros i e H. apply T in H. now apply (trusted_fits _ _ _ _ _ _ _ F i).
    + intros i w H. apply I in H. now apply (disk_inside _ _ _ _ _ _ _ F i w).
    + intros i g e H. apply I in H. now apply (met_slot _ _ _ _ _ _ _ F i g e).
  - intros i e He. cbn -[overwritten]. rewrite (K _ _ He). now apply (held_on_disk _ _ F).
  - intros i Hs. apply andb_true_iff in Hs as (Hs & _). now apply (stale_free _ _ F).
  - intros Use i e. cbn -[overwritten valid]. destruct (overwritten s n i); [discriminate|]. rewrite andb_true_r. now apply (disk_known _ _ F).
  - intros X Y Z i e H. apply T in H. now apply (told _ _ F X Y Z i e).
  - cbn. congruence.
Qed.

Lemma synced_slots_sub d c g i w : In (disk d i) (disk_may d i) -> In w (synced_slots d g i) -> In w (disk_may d i) /\ (c = true -> In w (disk_may d i)).
Proof. unfold synced_slots. intros N [<-|H]; [auto|]. apply filter_In in H as (H & _). auto. Qed.

Lemma synced_slot_is_there d g i e : In (Some (g, e)) (synced_slots d g i) -> disk d i = Some (g, e).
Proof.
  intros [H|H]; [exact H|]. apply filter_In in H as (_ & H). cbn in H. rewrite same_mark_self in H. discriminate.
Qed.

Lemma sync_ssd_fits s f : fits s f -> up s = true -> fits (sync_ssd s) f.
Proof.
  intros F Up. pose proof (disk_may_now _ _ _ _ _ _ _ F) as N.
  assert (I : forall i w, In w (synced_slots s (generation s) i) -> In w (disk_may s i)).
  { intros i w H. now apply (synced_slots_sub s true) in H. }
  assert (T : forall i e, may_be_trusted (sync_ssd s) s i e -> may_be_trusted s s i e).
  { intros i e (u & Hu & Hc & Hd). apply I in Hd. exists u. auto. }
  constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + intros i. now left.
    + intros i e H. apply T in H. now apply (trusted_fits _ _ _ _ _ _ _ F i).
    + intros i w H. apply I in H. now apply (disk_inside _ _ _ _ _ _ _ F i w).
    + intros i g e H. apply I in H. now apply (met_slot _ _ _ _ _ _ _ F i g e).
  - intros X Y Z i e H. apply T in H. now apply (told _ _ F X Y Z i e).
Qed.

Lemma forgetting_fits s f b : fits s f -> up s = true -> fits (forgetting s b) f.
Proof.
  intros F Up. constructor; try (now apply F).
  - constructor; now apply (devices _ _ F).
Qed.

(** After the control file has got a nonce that no superblock has, a restart trusts what it might have trusted before,
    or nothing. *)
Lemma retire_trusted s now lands n i e : unmet s (Mark (identity s) n) ->
  may_be_trusted s (retire s now lands n) i e -> now = false /\ may_be_trusted s s i e.
Proof.
  intros Un (u & Hu & Hc & Hd). cbn in Hc. destruct now; cbn in Hc.
  - destruct Hc as [Hc|[]]. injection Hc as Hc. exfalso. now apply (Un u).
  - split; [reflexivity|]. destruct Hc as [Hc|Hc]; [injection Hc as Hc; exfalso; now apply (Un u)|]. exists u. auto.
Qed.

Lemma retire_fits s f now lands n : fits s f -> up s = true -> unmet s (Mark (identity s) n) -> In (Mark (identity s) n) (seen s) ->
  fits (retire s now lands n) f.
Proof.
  intros F Up Un Met. set (t := retire s now lands n).
  assert (H : forall i e, held t i = Some e <-> held s i = Some e /\ slot_dirty e = true).
  { intros i e. cbn. destruct (held s i) as [d|]; [|split; [discriminate|now intros ([=] & _)]].
    destruct (slot_dirty d) eqn:D; (split; [intros [= <-]|intros ([= <-] & X)]); auto; congruence. }
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd. apply H in He as (He & _), Hd as (Hd & _). now apply (held_once _ _ F). }
  assert (Was : forall p, dirty t p = false -> dirty s p = false).
  { intros p. apply clean_before with (f := f); auto.
    - intros i e He. apply H in He as (He & _). exact (proj1 (held_newest _ _ F _ _ He)).
    - intros i e He P D. exists i, e. split; [now apply H|auto]. }
  assert (T : forall i e, may_be_trusted t t i e -> now = false /\ may_be_trusted s s i e) by (intros i e; exact (retire_trusted s now lands n i e Un)).
  constructor; try exact U; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + cbn. destruct now; [now left|]. destruct lands; [now left|right; apply (control_now _ _ _ _ _ _ _ F)].
    + intros i e X. apply T in X as (_ & X). now apply (trusted_fits _ _ _ _ _ _ _ F i).
    + intros a. cbn. destruct now; cbn; (intros [[= <-]|X]; [exact Met|]); [easy|now apply (met_control _ _ _ _ _ _ _ F)].
  - intros p m i e M D He. apply H in He as (He & _). eapply (memory_alone _ _ F); eauto.
  - intros i e He. apply H in He as (He & _). now apply (held_newest _ _ F).
  - intros i e He. apply H in He as (He & _). now apply (held_on_disk _ _ F).
  - intros i. cbn. destruct (held s i) as [e|] eqn:E.
    + intros Hs. split; [exact (proj1 (held_newest _ _ F _ _ E))|]. destruct (slot_dirty e) eqn:D; [|reflexivity].
      rewrite orb_false_r in Hs. apply (stale_free _ _ F) in Hs as (_ & X). congruence.
    + intros Hs. split; [now apply (stale_free _ _ F)|reflexivity].
  - discriminate.
  - intros _ p v L D. apply (clean_stored _ _ F Up); [exact L|]. now apply Was.
  - discriminate.
  - intros _ _ R i e X. apply T in X as (-> & _). discriminate R.
  - cbn. congruence.
Qed.

(** What a restart would take over is the newest. *)
Definition settled (s : state) (f : flat) : Prop := forall i e, may_be_trusted s s i e -> slot_contents e = newest f (slot_page e).

(** Before the store is written, or an fsync succeeds, no restart finds other contents on the SSD than the newest. *)
Lemma take_off_fits s f k : fits s f -> up s = true -> unmet s (drawn s k) -> In (drawn s k) (seen s) ->
  fits (fst (take_off s k)) f /\ up (fst (take_off s k)) = true /\ (snd (take_off s k) = true -> settled (fst (take_off s k)) f).
Proof.
  intros F Up Un Met.
  assert (R : forall t l n, fits t f -> up t = true -> unmet t (Mark (identity t) n) -> In (Mark (identity t) n) (seen t) ->
    fits (retire t true l n) f /\ up (retire t true l n) = true /\ (true = true -> settled (retire t true l n) f)).
  { intros t l n Ft Ut Unt Mt. split; [now apply retire_fits|]. split; [exact Ut|]. intros _ i e X.
    now destruct (retire_trusted t true l n i e Unt X). }
  destruct k as [w n|n g l m]; cbn [take_off drawn fst snd] in *.
  - destruct (in_use s) eqn:Use; [destruct w; [|now apply R]|].
    + set (t := scrub s (slots s)). assert (Ft : fits t f) by now apply scrub_fits.
      split; [now apply sync_ssd_fits|]. split; [exact Up|].
      intros _ i e (u & Hu & Hc & Hd). rewrite (proj2 (current _ _ F Use) u Hu Hc) in Hd. apply synced_slot_is_there in Hd.
      apply valid_some in Hd. apply (disk_known _ _ Ft) in Hd as [Hs|(d & Hd & P & C)]; [| |exact Use].
      * exfalso. cbn in Hs. unfold overwritten in Hs. apply andb_true_iff in Hs as (Hs & N).
        pose proof (proj1 (stale_free _ _ F _ Hs)) as I. apply Nat.ltb_lt in I. rewrite Hs, I in N. discriminate.
      * rewrite <- P, <- C. exact (proj2 (proj2 (held_newest _ _ Ft _ _ Hd))).
    + destruct (retiring s) eqn:Ret; [now apply R|]. split; [exact F|]. split; [exact Up|].
      intros _ i e X. exfalso. now apply (told _ _ F Up Use Ret i e).
  - destruct (in_use s).
    + split; [|now split]. apply retire_fits; auto. apply forgetting_fits; [|exact Up]. now apply scrub_fits.
    + destruct (retiring s); split; try exact F; try (now split). now apply retire_fits.
Qed.

(** ** The store *)

Lemma write_page_fits s f p : fits s f -> up s = true -> settled s f -> fits (write_page s p) f /\ settled (write_page s p) f.
Proof.
  intros F Up S. unfold write_page. destruct (read s p) as [v|] eqn:R; [|now split]. destruct (p <? pages s) eqn:L; [|now split].
  apply Nat.ltb_lt in L. rewrite (read_newest _ _ p F Up L) in R. injection R as <-. split; [|exact S].
  constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)); cbn -[update].
    + intros q. at_key q p; [now left|apply (store_now _ _ _ _ _ _ _ F)].
    + intros i e T. destruct (trusted_fits _ _ _ _ _ _ _ F i e T) as (X & Y & Z). repeat split; auto.
      intros D v. destruct (Nat.eq_dec (slot_page e) p) as [E|E]; [|rewrite update_other by exact E; apply (Z D)].
      rewrite E, update_same, <- E. intros [<-|Hv]; [|exact (Z D v Hv)]. symmetry. exact (S i e T).
    + intros q v Lq. at_key q p; [|now apply (store_fits _ _ _ _ _ _ _ F)].
      intros [<-|Hv]; [now apply (newest_counts _ _ _ _ _ _ _ F)|now apply (store_fits _ _ _ _ _ _ _ F)].
  - intros _ q v Lq D. cbn -[update]. at_key q p; [|now apply (clean_stored _ _ F Up)].
    intros [<-|Hv]; [reflexivity|now apply (clean_stored _ _ F Up)].
Qed.

Lemma write_page_same s p : cache_of (write_page s p) = s /\ pages (write_page s p) = pages s.
Proof. unfold write_page. destruct (read s p); [|now split]. now destruct (p <? pages s). Qed.

Lemma write_store_same ps : forall s, cache_of (write_store s ps) = s /\ pages (write_store s ps) = pages s.
Proof.
  induction ps as [|p ps IH]; intros s; [now split|]. cbn [write_store fold_left]. destruct (IH (write_page s p)) as (C & P).
  unfold write_store in C, P. rewrite C, P. apply write_page_same.
Qed.

Lemma write_store_fits ps : forall s f, fits s f -> up s = true -> settled s f ->
  fits (write_store s ps) f /\ settled (write_store s ps) f.
Proof.
  induction ps as [|p ps IH]; intros s f F Up S; [now split|]. destruct (write_page_fits s f p F Up S) as (F' & S').
  apply IH; auto. now rewrite (proj1 (write_page_same s p)).
Qed.

Lemma write_store_written ps : forall s f p, fits s f -> up s = true -> settled s f -> p < pages s ->
  In p ps \/ unsynced s p = true /\ store s p = newest f p ->
  unsynced (write_store s ps) p = true /\ store (write_store s ps) p = newest f p.
Proof.
  induction ps as [|q ps IH]; intros s f p F Up S L H; [destruct H as [[]|H]; exact H|].
  destruct (write_page_fits s f q F Up S) as (F' & S'). destruct (write_page_same s q) as (C & P).
  cbn [write_store fold_left]. apply IH; auto; [now rewrite C|now rewrite P|].
  destruct (Nat.eq_dec p q) as [->|N].
  - right. unfold write_page. rewrite (read_newest _ _ q F Up L). apply Nat.ltb_lt in L. rewrite L. cbn -[update].
    now rewrite !update_same.
  - destruct H as [[->|H]|(H & K)]; [contradiction|now left|right].
    unfold write_page. destruct (read s q); [|now split]. destruct (q <? pages s); [|now split]. cbn -[update]. now rewrite !update_other.
Qed.

(** A sync of the store adds nothing to what a crash may leave. *)
Lemma sync_store_sub (s : state) w g : (forall p, In (store s p) (store_may s p)) ->
  forall p v, In v (store_may (sync_store s w g) p) -> In v (store_may s p).
Proof. intros N p v. cbn. destruct w; [|auto]. destruct (unsynced s p); [|auto]. now intros [<-|[]]. Qed.

Lemma sync_store_fits s f w g : fits s f -> fits (sync_store s w g) f.
Proof.
  intros F. pose proof (sync_store_sub s w g (store_now _ _ _ _ _ _ _ F)) as H. constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + intros p. cbn. destruct w; [|apply (store_now _ _ _ _ _ _ _ F)]. destruct (unsynced s p); [now left|apply (store_now _ _ _ _ _ _ _ F)].
    + intros i e T. destruct (trusted_fits _ _ _ _ _ _ _ F i e T) as (X & Y & Z). repeat split; auto.
    + intros p v L Hv. apply H in Hv. now apply (store_fits _ _ _ _ _ _ _ F).
  - intros Up p v L D Hv. apply H in Hv. now apply (clean_stored _ _ F Up).
Qed.

Lemma contains_iff ps p : contains ps p = true <-> In p ps.
Proof.
  unfold contains. rewrite existsb_exists. split.
  - intros (q & H & E). apply Nat.eqb_eq in E. now subst.
  - intros H. exists p. split; [exact H|apply Nat.eqb_refl].
Qed.

(** Pages may be called clean if the store has them, whatever a crash leaves. *)
Lemma call_clean_fits s f ps : fits s f -> up s = true ->
  (forall p v, In p ps -> In v (store_may s p) -> v = newest f p) -> fits (call_clean s ps) f.
Proof.
  intros F Up C. set (t := call_clean s ps).
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
  - intros i e He. apply H in He as (d & Hd & P & E & D). rewrite <- P, <- E. exact (held_on_disk _ _ F _ _ Hd).
  - intros i Hs. apply (stale_free _ _ F) in Hs as (I & E). split; [exact I|]. cbn. now rewrite E.
  - intros Use i e Hd. apply (disk_known _ _ F Use) in Hd as [Hs|(d & Hd & P & E)]; [now left|right]. cbn. rewrite Hd.
    destruct (contains ps (slot_page d)); eexists; repeat split; cbn; auto.
  - intros _ p v L D Hv. destruct (contains ps p) eqn:I; [apply C; [now apply contains_iff|exact Hv]|].
    apply (clean_stored _ _ F Up); [exact L| |exact Hv]. now apply Was.
  - cbn. congruence.
Qed.

(** ** A write-back *)

Lemma take_off_same s k :
  let t := fst (take_off s k) in
  memory t = memory s /\ pages t = pages s /\ seen t = seen s /\ failed t = failed s /\ next t = next s /\
  (forall i e, held t i = Some e -> held s i = Some e) /\
  (forall i e, held s i = Some e -> slot_dirty e = true -> held t i = Some e).
Proof.
  assert (R : forall t b l n, memory (retire t b l n) = memory t /\ pages (retire t b l n) = pages t /\ seen (retire t b l n) = seen t /\
                failed (retire t b l n) = failed t /\ next (retire t b l n) = next t /\
                (forall i e, held (retire t b l n) i = Some e -> held t i = Some e) /\
                (forall i e, held t i = Some e -> slot_dirty e = true -> held (retire t b l n) i = Some e)).
  { intros t b l n. cbn. repeat split; [|now intros i e -> ->].
    intros i e. destruct (held t i) as [d|]; [|discriminate]. now destruct (slot_dirty d). }
  assert (Refl : memory s = memory s /\ pages s = pages s /\ seen s = seen s /\ failed s = failed s /\ next s = next s /\
    (forall i e, held s i = Some e -> held s i = Some e) /\ (forall i e, held s i = Some e -> slot_dirty e = true -> held s i = Some e))
    by (repeat split; auto).
  destruct k as [w n|n g l m]; cbn [take_off fst].
  - destruct (in_use s); [destruct w; [exact Refl|apply R]|]. destruct (retiring s); [apply R|exact Refl].
  - destruct (in_use s); [apply (R (forgetting (scrub s n) g))|]. destruct (retiring s); [apply R|exact Refl].
Qed.

(** After the steps before the pages are called clean, the store has those pages, whatever a crash leaves. *)
Lemma try_write_back_fits s f ps k whole part w g : fits s f -> up s = true -> unmet s (drawn s k) -> In (drawn s k) (seen s) ->
  let '(t, clean, done) := try_write_back s ps k whole part w g in
  fits t f /\ up t = true /\ (forall p v, In p clean -> In v (store_may t p) -> v = newest f p).
Proof.
  intros F Up Un Met. unfold try_write_back. destruct (take_off_fits s f k F Up Un Met) as (F1 & U1 & S1).
  pose proof (take_off_same s k) as (_ & P1 & _). cbv zeta in P1. destruct (take_off s k) as (t, off). cbn [fst snd] in *.
  destruct off; [|split; [exact F1|split; [exact U1|easy]]]. specialize (S1 eq_refl).
  destruct (write_store_fits (whole ++ part) t f F1 U1 S1) as (F2 & _).
  split; [now apply sync_store_fits|]. split; [cbn -[write_store]; now rewrite (proj1 (write_store_same (whole ++ part) t))|].
  intros p v I. destruct w; [|easy]. apply filter_In in I as (I & L). apply Nat.ltb_lt in L.
  destruct (write_store_written (whole ++ part) t f p F1 U1 S1) as (W & E); [congruence|left; apply in_app_iff; now left|].
  cbn -[write_store]. rewrite W, E. now intros [<-|[]].
Qed.

Lemma write_back_fits s f ps k whole part w g : fits s f -> up s = true -> is_fresh s (drawn s k) = true ->
  fits (do_write_back s ps k whole part w g) f /\ up (do_write_back s ps k whole part w g) = true.
Proof.
  intros F Up Fresh. unfold do_write_back. set (s' := with_seen s [drawn s k]).
  pose proof (try_write_back_fits s' f ps k whole part w g (with_seen_fits _ _ _ F) Up (fresh_is_unmet s f _ F Fresh) (or_introl eq_refl)) as H.
  destruct (try_write_back s' ps k whole part w g) as ((t, clean), done). destruct H as (Ft & Ut & C).
  assert (G : fits (call_clean t clean) f) by now apply call_clean_fits.
  destruct done; (split; [|exact Ut]); [exact G|now apply with_failed_fits].
Qed.

Lemma try_write_back_same s ps k whole part w g :
  let u := fst (fst (try_write_back s ps k whole part w g)) in
  memory u = memory s /\ (forall i e, held u i = Some e -> held s i = Some e) /\
  (forall i e, held s i = Some e -> slot_dirty e = true -> held u i = Some e).
Proof.
  unfold try_write_back. pose proof (take_off_same s k) as (M & _ & _ & _ & _ & H & K). cbv zeta in *.
  destruct (take_off s k) as (t, off). cbn [fst] in *. destruct off; cbn -[write_store]; [|auto].
  rewrite (proj1 (write_store_same (whole ++ part) t)). auto.
Qed.

(** ** An fsync *)

(** Whether a page is dirty does not change when old contents are taken off. *)
Lemma take_off_dirty s f k p : fits s f -> fits (fst (take_off s k)) f -> dirty (fst (take_off s k)) p = dirty s p.
Proof.
  intros F G. destruct (take_off_same s k) as (M & _ & _ & _ & _ & H & K). cbv zeta in *. apply eq_iff_eq_true.
  rewrite (dirty_iff _ _ p F), (dirty_iff _ _ p G), M. split; (intros [X|(i & e & He & P & D)]; [now left|right; exists i, e; auto]).
Qed.

Lemma fsync_fits s f k : fits s f -> up s = true -> is_fresh s (drawn s k) = true ->
  let t := fst (do_fsync s k) in let g := if snd (do_fsync s k) then all_synced f else f in
  fits t g /\ up t = true /\ (snd (do_fsync s k) = true -> settled t g /\ forall p, dirty t p = false).
Proof.
  intros F Up Fresh. unfold do_fsync. set (s' := with_seen s [drawn s k]).
  pose proof (with_seen_fits s f [drawn s k] F) as F'. fold s' in F'.
  destruct (take_off_fits s' f k F' Up (fresh_is_unmet s f _ F Fresh) (or_introl eq_refl)) as (F1 & U1 & S1).
  assert (P1 : pages (fst (take_off s' k)) = pages s) by (now destruct (take_off_same s' k) as (_ & P1 & _)).
  assert (D1 : forall p, dirty (fst (take_off s' k)) p = dirty s p) by (intros p; now rewrite (take_off_dirty s' f k p F' F1)).
  destruct (take_off s' k) as (t, off). cbn [fst snd] in *. cbn [fst snd].
  pose proof (with_failed_fits t f false F1 U1) as F2.
  destruct (off && negb (failed s) && _) eqn:X; [|split; [exact F2|split; [exact U1|discriminate]]].
  apply andb_true_iff in X as (X & Y). apply andb_true_iff in X as (-> & _). specialize (S1 eq_refl).
  assert (Clean : forall p, dirty t p = false).
  { intros p. destruct (dirty t p) eqn:D; [|reflexivity].
    assert (I : In p (seq 0 (pages s))) by (apply in_seq; pose proof (dirty_inside _ _ _ F1 D); lia).
    apply (proj1 (forallb_forall _ _) Y) in I. rewrite <- D1, D in I. discriminate. }
  split; [|split; [exact U1|intros _; split; [exact S1|exact Clean]]].
  constructor; try (now apply F2).
  constructor; try (now apply (devices _ _ F2)); cbn [all_synced newest since_sync].
  - now left.
  - intros i e T. destruct (trusted_fits _ _ _ _ _ _ _ F1 i e T) as (I & _ & Z). split; [exact I|]. split; [|exact Z].
    left. symmetry. exact (S1 i e T).
  - intros p v L Hv. left. symmetry. now apply (clean_stored _ _ F1 U1 p v L).
Qed.

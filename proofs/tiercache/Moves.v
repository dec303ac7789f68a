(* SPDX-License-Identifier: PostgreSQL *)
(** * Writes, loads and evictions keep the tiers fitting *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits.

Lemma update_same {A} (g : nat -> A) i a : update g i a i = a.
Proof. unfold update. now rewrite Nat.eqb_refl. Qed.
Lemma update_other {A} (g : nat -> A) i j a : j <> i -> update g i a j = g j.
Proof. unfold update. intros. now rewrite (proj2 (Nat.eqb_neq j i)). Qed.

Ltac at_key i j := destruct (Nat.eq_dec i j) as [->|]; [rewrite ?update_same in *|rewrite ?update_other in * by auto].

(** Changing nothing but which clean pages memory has. *)
Lemma memory_fits s f g : fits s f -> up s = true ->
  (forall p m, g p = Some m -> p < pages s /\ frame_contents m = newest f p) ->
  (forall p m, g p = Some m -> frame_dirty m = true -> memory s p = Some m) ->
  (forall p m, memory s p = Some m -> frame_dirty m = true -> g p = Some m) ->
  fits (with_memory s g) f.
Proof.
  intros F Up G1 G2 G3.
  assert (Was : forall p, dirty (with_memory s g) p = false -> dirty s p = false).
  { intros p D. apply not_true_is_false. intros D'. apply not_true_iff_false in D. apply D.
    unfold dirty in *. apply orb_true_iff in D' as [D'|D']; apply orb_true_iff; [left|right; exact D'].
    apply dirty_in_memory_iff in D' as (m & M & Dm). apply dirty_in_memory_iff. exists m. cbn. auto. }
  constructor; cbn; try (now apply F); auto.
  - intros p m i e M D. eapply (memory_alone _ _ F); eauto.
  - intros _ p v L D. apply (clean_stored _ _ F Up); [exact L|]. now apply Was.
  - congruence.
Qed.

Lemma load_fits s f p : fits s f -> up s = true -> p < pages s -> fits (do_load s p) f.
Proof.
  intros F Up L. unfold do_load. rewrite (read_newest _ _ p F Up L). destruct (memory s p) as [m|] eqn:M; [exact F|].
  apply memory_fits; auto.
  - intros q n. at_key q p; [intros [= <-]; auto|apply F].
  - intros q n. at_key q p; [intros [= <-]; discriminate|auto].
  - intros q n. at_key q p; [congruence|auto].
Qed.

Lemma drop_fits s f p : fits s f -> up s = true -> fits (do_drop s p) f.
Proof.
  intros F Up. unfold do_drop. destruct (memory s p) as [m|] eqn:M; [|exact F]. destruct (frame_dirty m) eqn:D; [exact F|].
  apply memory_fits; auto.
  - intros q n. at_key q p; [discriminate|apply F].
  - intros q n. at_key q p; [discriminate|auto].
  - intros q n. at_key q p; [congruence|auto].
Qed.

(** Dirty, judged without the invariant of the state itself: what is needed to keep a page dirty. *)
Lemma still_dirty (t : state) p : (forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j) ->
  (forall i e, held t i = Some e -> i < slots t) ->
  (exists m, memory t p = Some m /\ frame_dirty m = true) \/
  (exists i e, held t i = Some e /\ slot_page e = p /\ slot_dirty e = true) -> dirty t p = true.
Proof.
  intros U B [M|(j & d & Hd & P & Dd)]; unfold dirty; apply orb_true_iff; [left; now apply dirty_in_memory_iff|right].
  unfold dirty_on_ssd. destruct (slot_of t p) as [k|] eqn:O.
  - apply slot_of_some in O as (_ & d' & Hd' & P'). rewrite (U j k d d') in Hd by congruence. now rewrite Hd.
  - exfalso. eapply (slot_of_none t); eauto.
Qed.

(** A page that is clean in t was clean in s, if what was dirty in s is dirty in t. *)
Lemma clean_before (s t : state) f p : fits s f ->
  (forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j) ->
  (forall i e, held t i = Some e -> i < slots t) ->
  (forall m, memory s p = Some m -> frame_dirty m = true ->
     memory t p = Some m \/ exists i e, held t i = Some e /\ slot_page e = p /\ slot_dirty e = true) ->
  (forall i e, held s i = Some e -> slot_page e = p -> slot_dirty e = true ->
     exists i e, held t i = Some e /\ slot_page e = p /\ slot_dirty e = true) ->
  dirty t p = false -> dirty s p = false.
Proof.
  intros F U B M H D. apply not_true_is_false. intros D'. apply not_true_iff_false in D. apply D. apply still_dirty; auto.
  apply (dirty_iff _ _ _ F) in D' as [(m & E & Dm)|(j & d & Hd & P & Dd)]; [|right; eauto].
  destruct (M m E Dm); eauto.
Qed.

Lemma drop_slot_fits s f i : fits s f -> up s = true -> fits (do_drop_slot s i) f.
Proof.
  intros F Up. unfold do_drop_slot. destruct (held s i) as [e|] eqn:E; [|exact F]. destruct (slot_dirty e) eqn:De; [exact F|].
  set (t := with_tiers _ _ _ _).
  assert (H : forall j d, held t j = Some d -> held s j = Some d) by (intros j d; cbn; at_key j i; [discriminate|auto]).
  assert (Was : forall p, dirty t p = false -> dirty s p = false).
  { intros p. apply clean_before with (f := f); auto.
    - intros j k d d' Hd Hd'. apply H in Hd, Hd'. now apply (held_once _ _ F).
    - intros j d Hd. apply H in Hd. exact (proj1 (held_newest _ _ F _ _ Hd)).
    - intros j d Hd P Dd. exists j, d. split; [|auto]. cbn. rewrite update_other; [exact Hd|congruence]. }
  constructor; cbn -[update dirty]; try (now apply F).
  - intros p m j d M Dm Hd. apply H in Hd. eapply (memory_alone _ _ F); eauto.
  - intros j d Hd. apply H in Hd. now apply F.
  - intros j d Hd. apply H in Hd. now apply F.
  - intros j k d d' Hd Hd'. apply H in Hd, Hd'. eapply (held_once _ _ F); eauto.
  - intros j. at_key j i; [intros _; now apply (held_newest _ _ F) in E|apply F].
  - intros Use j d Hd. at_key j i; [now left|]. now apply (disk_known _ _ F).
  - intros _ p v L D. apply (clean_stored _ _ F Up); [exact L|]. now apply Was.
  - congruence.
Qed.

(** *** A write *)
Lemma forget_held s f p : fits s f -> forall i e, fst (forget s p) i = Some e <-> held s i = Some e /\ slot_page e <> p.
Proof.
  intros F i e. unfold forget. destruct (slot_of s p) as [j|] eqn:O; cbn.
  - apply slot_of_some in O as (_ & d & Hd & P). at_key i j.
    + split; [discriminate|]. intros (Hd' & N). congruence.
    + split; [intros H|now intros (H & _)]. split; [exact H|]. intros P'. apply n. eapply (held_once _ _ F); eauto. congruence.
  - split; [|now intros (H & _)]. intros H. split; [exact H|]. eapply slot_of_none; eauto. exact (proj1 (held_newest _ _ F _ _ H)).
Qed.

Lemma forget_stale s f p : fits s f -> forall i, snd (forget s p) i = true <->
  stale s i = true \/ exists e, held s i = Some e /\ slot_page e = p.
Proof.
  intros F i. unfold forget. destruct (slot_of s p) as [j|] eqn:O; cbn.
  - apply slot_of_some in O as O'. destruct O' as (_ & d & Hd & P). at_key i j; [split; eauto|].
    split; [now left|intros [H|(e & He & P')]; [exact H|]]. exfalso. apply n. eapply (held_once _ _ F); eauto. congruence.
  - split; [now left|]. intros [H|(e & He & P)]; [exact H|]. exfalso. eapply slot_of_none; eauto.
    exact (proj1 (held_newest _ _ F _ _ He)).
Qed.

Definition flat_write (f : flat) (p v : nat) : flat :=
  Flat (update (newest f) p v) (update (since_sync f) p (v :: since_sync f p)).

Lemma since_grows f p v q w : In w (since_sync f q) -> In w (since_sync (flat_write f p v) q).
Proof. cbn. intros H. at_key q p; [now right|exact H]. Qed.

Lemma write_fits s f p : fits s f -> up s = true -> p < pages s -> fits (do_write s p) (flat_write f p (next s)).
Proof.
  intros F Up L. unfold do_write. pose proof (forget_held s f p F) as H. pose proof (forget_stale s f p F) as St.
  destruct (forget s p) as (h, st). cbn [fst snd] in H, St.
  assert (N : forall q, q <> p -> newest (flat_write f p (next s)) q = newest f q) by (intros; cbn; now rewrite update_other).
  cbv zeta. set (t := State _ _ _ _ _ _ _ _).
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { cbn. intros i j e d He Hd. apply H in He, Hd. now apply (held_once _ _ F). }
  assert (B : forall i e, held t i = Some e -> i < slots t).
  { cbn. intros i e He. apply H in He as (He & _). exact (proj1 (held_newest _ _ F _ _ He)). }
  assert (Was : forall q, dirty t q = false -> q <> p /\ dirty s q = false).
  { intros q D. assert (Q : q <> p).
    { intros ->. apply not_true_iff_false in D. apply D. apply still_dirty; auto. left. cbn. rewrite update_same. eauto. }
    split; [exact Q|]. revert D. apply clean_before with (f := f); auto.
    - intros m M _. left. cbn. now rewrite update_other.
    - intros i e He P De. exists i, e. cbn. split; [apply H; split; [exact He|congruence]|auto]. }
  constructor; try exact U; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + intros q. cbn. at_key q p; [now left|apply (newest_counts _ _ _ _ _ _ _ F)].
    + intros i e T. destruct (trusted_fits _ _ _ _ _ _ _ F i e T) as (X & Y & Z). split; [exact X|]. split; [|exact Z].
      now apply (since_grows f p (next s)).
    + intros q v Lq Hv. apply since_grows. now apply (store_fits _ _ _ _ _ _ _ F).
  - intros q m. cbn. at_key q p; [now intros [= <-]|apply F].
  - intros q m i e. cbn. at_key q p; intros M D He; apply H in He as (He & P); [exact P|]. eapply (memory_alone _ _ F); eauto.
  - intros i e He. cbn -[newest]. apply H in He as (He & P). rewrite N by exact P. now apply (held_newest _ _ F).
  - intros i e He. apply H in He as (He & _). cbn. now apply (held_on_disk _ _ F).
  - intros i Hs. apply St in Hs as [Hs|(e & He & P)].
    + destruct (stale_free _ _ F _ Hs) as (I & E). split; [exact I|]. cbn. destruct (h i) as [e|] eqn:X; [|reflexivity].
      apply H in X as (X & _). congruence.
    + split; [exact (proj1 (held_newest _ _ F _ _ He))|]. cbn. destruct (h i) as [d|] eqn:X; [|reflexivity].
      apply H in X as (X & Q). congruence.
  - intros Use i e. cbn. intros Hd. apply (disk_known _ _ F Use) in Hd as [Hs|(d & Hd & P & C)]; [left; apply St; now left|].
    destruct (Nat.eq_dec (slot_page d) p); [left; apply St; right; eauto|]. right. exists d. split; [|auto]. now apply H.
  - intros _ q v Lq D Hv. rewrite N by (now apply Was in D). apply (clean_stored _ _ F Up); [exact Lq| |exact Hv]. now apply Was.
  - cbn. congruence.
Qed.

(** *** To the SSD *)
Lemma to_ssd_fits s f p i works l : fits s f -> up s = true -> fits (do_to_ssd s p i works l) f.
Proof.
  intros F Up. unfold do_to_ssd. destruct (memory s p) as [m|] eqn:M; [|exact F]. destruct (slot_of s p) eqn:O; [exact F|].
  destruct (in_use s && may_take s i) eqn:G; [|exact F]. apply andb_true_iff in G as (Use & G).
  unfold may_take in G. apply andb_true_iff in G as (I & G). apply Nat.ltb_lt in I.
  destruct (memory_newest _ _ F _ _ M) as (Lp & Vm).
  cbv zeta. set (e := Slot p (frame_contents m) (frame_dirty m)). set (w := Some (generation s, e)).
  set (there := if works then w else _). set (t := with_ssd _ _).
  assert (There : In there (None :: w :: disk_may s i)).
  { unfold there. destruct works; [right; now left|].
    destruct l as [| | |k]; [right; right; apply (disk_may_now _ _ _ _ _ _ _ F)|now left|right; now left|].
    destruct (nth_in_or_default k (disk_may s i) None) as [X|X]; [right; now right|left; now rewrite X]. }
  assert (Not : forall j d, held s j = Some d -> slot_page d <> p).
  { intros j d Hd. exact (slot_of_none s p O j d (proj1 (held_newest _ _ F _ _ Hd)) Hd). }
  assert (Clean : forall d, held s i = Some d -> slot_dirty d = false) by (intros d Hd; rewrite Hd in G; now apply negb_true_iff).
  assert (Hi : held t i = if works then Some e else None) by apply update_same.
  assert (Ho : forall j, j <> i -> held t j = held s j) by (intros; cbn; now apply update_other).
  assert (H : forall j d, held t j = Some d -> (j = i /\ works = true /\ d = e) \/ (j <> i /\ held s j = Some d)).
  { intros j d Hd. destruct (Nat.eq_dec j i) as [->|J]; [left|right; split; [exact J|now rewrite <- Ho]].
    rewrite Hi in Hd. destruct works; [|discriminate]. now injection Hd as <-. }
  assert (U : forall j k d d', held t j = Some d -> held t k = Some d' -> slot_page d = slot_page d' -> j = k).
  { intros j k d d' Hd Hk P. apply H in Hd as [(-> & _ & ->)|(_ & Hd)], Hk as [(-> & _ & ->)|(_ & Hk)]; auto.
    - apply Not in Hk. cbn in P. congruence.
    - apply Not in Hd. cbn in P. congruence.
    - eapply (held_once _ _ F); eauto. }
  assert (B : forall j d, held t j = Some d -> j < slots t).
  { intros j d Hd. apply H in Hd as [(-> & _)|(_ & Hd)]; [exact I|exact (proj1 (held_newest _ _ F _ _ Hd))]. }
  assert (Mem : forall q n, memory t q = Some n -> memory s q = Some n /\ (works = true -> q <> p)).
  { intros q n. cbn. destruct works; [|now split]. at_key q p; [discriminate|]. now split. }
  assert (Was : forall q, dirty t q = false -> dirty s q = false).
  { intros q. apply clean_before with (f := f); auto.
    - intros n Hn Dn. destruct works eqn:W; [|left; exact Hn]. destruct (Nat.eq_dec q p) as [->|Q].
      + right. exists i, e. rewrite Hi. repeat split. cbn. congruence.
      + left. cbn. now rewrite update_other.
    - intros j d Hd P Dd. exists j, d. rewrite Ho; [auto|]. intros ->. apply Clean in Hd. congruence. }
  (* What may be trusted now: what was, or the page that was put there. *)
  assert (T : forall j d, may_be_trusted t t j d -> may_be_trusted s s j d \/ d = e).
  { intros j d (u & Hu & Hc & Hd). cbn -[update] in Hu, Hc, Hd. destruct (Nat.eq_dec j i) as [->|J].
    - rewrite update_same in Hd. destruct Hd as [[=]|[[= _ <-]|Hd]]; [now right|left; exists u; auto].
    - rewrite update_other in Hd by exact J. left. exists u. auto. }
  constructor; try exact U; try (now apply F).
  - constructor; try (now apply (devices _ _ F)).
    + intros j. cbn -[update]. at_key j i; [exact There|apply (disk_may_now _ _ _ _ _ _ _ F)].
    + intros j d Td. apply T in Td as [Td| ->]; [now apply (trusted_fits _ _ _ _ _ _ _ F j)|]. cbn. split; [exact Lp|]. rewrite Vm.
      split; [now apply (newest_counts _ _ _ _ _ _ _ F)|]. intros D v Hv. apply (clean_stored _ _ F Up p v Lp); [|exact Hv].
      apply not_true_is_false. intros X. apply (dirty_iff _ _ _ F) in X as [(n & Hn & Dn)|(k & d & Hd & P & _)]; [congruence|].
      now apply Not in Hd.
    + intros j x. cbn -[update]. at_key j i; [now intros _|apply (disk_inside _ _ _ _ _ _ _ F)].
    + intros j g d. cbn -[update]. at_key j i; [|apply (met_slot _ _ _ _ _ _ _ F)].
      intros [[=]|[[= <- _]|Hd]]; [exact (proj1 (current _ _ F Use))|now apply (met_slot _ _ _ _ _ _ _ F i g d)].
  - intros q n Hq. apply Mem in Hq as (Hq & _). now apply (memory_newest _ _ F).
  - intros q n j d Hq D Hd P. apply Mem in Hq as (Hq & Q). apply H in Hd as [(_ & W & ->)|(_ & Hd)].
    + now apply (Q W).
    + eapply (memory_alone _ _ F); eauto.
  - intros j d Hd. apply H in Hd as [(-> & _ & ->)|(_ & Hd)]; [now cbn|now apply (held_newest _ _ F)].
  - intros j d Hd. apply H in Hd as [(-> & W & ->)|(J & Hd)]; cbn -[update].
    + rewrite update_same. unfold there. rewrite ?W. now exists (frame_dirty m).
    + rewrite update_other by exact J. now apply (held_on_disk _ _ F).
  - intros j. cbn -[update]. at_key j i; [|apply (stale_free _ _ F)].
    intros W. split; [exact I|]. now destruct works.
  - intros _ j d Hd. cbn -[update valid] in *. destruct (Nat.eq_dec j i) as [->|J].
    + rewrite !update_same in *. destruct works eqn:W; [right|now left]. apply valid_some in Hd. unfold there, w in Hd.
      rewrite ?W in Hd. injection Hd as <-. eauto.
    + rewrite !update_other in * by exact J. now apply (disk_known _ _ F Use).
  - intros _ q v Lq D. apply (clean_stored _ _ F Up); [exact Lq|]. now apply Was.
  - cbn. congruence.
  - cbn. congruence.
Qed.

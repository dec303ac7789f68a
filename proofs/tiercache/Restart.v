(* SPDX-License-Identifier: PostgreSQL *)
(** * A mount finds tiers that fit: after kills and power losses, with the SSD, without it, or with another one, and
    whatever of its own writes fails *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits WriteBack.

Lemma nth_in {A} k (l : list A) d : In d l -> In (nth k l d) l.
Proof. intros H. destruct (nth_in_or_default k l d) as [E|E]; [exact E|now rewrite E]. Qed.

(** ** While the cache is down *)

Lemma down_fits s f : cache_of s = down -> devices_fit (pages s) (slots s) s s s (seen s) f -> fits s f.
Proof. intros E D. constructor; try exact D; rewrite ?E; cbn; discriminate || auto. Qed.

Lemma kill_fits s f : fits s f -> fits (with_cache s down) f.
Proof. intros F. now apply down_fits; [|apply F]. Qed.

Lemma power_loss_fits s f loses keeps kept u c : fits s f -> fits (power_loss s loses keeps kept u c) f.
Proof.
  intros F. apply down_fits; [reflexivity|]. set (t := power_loss s loses keeps kept u c).
  assert (D : forall i w, In (Some w) (disk_may t i) -> i < slots s /\ In (Some w) (disk_may s i)).
  { intros i w [H|[]]. revert H. destruct (loses || (slots s <=? i)) eqn:X; [discriminate|]. apply orb_false_iff in X as (_ & L).
    apply Nat.leb_gt in L. destruct (kept i) as [|k]; [discriminate|]. intros <-. split; [exact L|].
    apply nth_in, (disk_may_now _ _ _ _ _ _ _ F). }
  assert (U : forall b, In (Some b) (super_may t) -> In (Some b) (super_may s)).
  { intros b [H|[]]. revert H. destruct loses; [discriminate|]. intros <-. apply nth_in, (super_now _ _ _ _ _ _ _ F). }
  assert (C : forall a, In a (control_may t) -> In a (control_may s)).
  { intros a [<-|[]]. apply nth_in, (control_now _ _ _ _ _ _ _ F). }
  assert (S : forall p v, In v (store_may t p) -> In v (store_may s p)).
  { intros p v [<-|[]]. apply nth_in, (store_now _ _ _ _ _ _ _ F). }
  constructor; try (now left).
  - apply (newest_counts _ _ _ _ _ _ _ F).
  - intros i e (b & Hb & Hc & Hd). destruct (trusted_fits _ _ _ _ _ _ _ F i e) as (X & Y & Z); [|repeat split; auto].
    exists b. split; [now apply U|]. split; [now apply C|now apply D in Hd].
  - intros p v L H. apply (store_fits _ _ _ _ _ _ _ F p v L). now apply S.
  - intros i w H. now apply D in H.
  - intros b H. apply U in H. now apply (met_super _ _ _ _ _ _ _ F).
  - intros i g e H. apply D in H as (_ & H). now apply (met_slot _ _ _ _ _ _ _ F i g e).
  - intros a H. apply C in H. now apply (met_control _ _ _ _ _ _ _ F).
Qed.

Lemma exchange_fits s f u what : fits s f -> up s = false -> is_not_of_the_last_mount s u = true -> fits (exchange s u what) f.
Proof.
  intros F Down Other. pose proof (down_is_empty _ _ F Down) as E. apply down_fits; [exact E|].
  assert (N : forall i e, ~ may_be_trusted (exchange s u what) s i e).
  { intros i e (b & [Hb|[]] & Hc & _). subst u. apply negb_true_iff, not_true_iff_false in Other. apply Other.
    apply existsb_exists. exists (Some (super_mark b)). split; [exact Hc|apply same_mark_self]. }
  assert (M : forall l, In l (marks_on (slots s) u what) -> In l (marks_on (slots s) u what ++ seen s)) by (intros; apply in_app_iff; auto).
  constructor; try (now apply (devices _ _ F)); try (now left).
  - intros i e T. now apply N in T.
  - intros i w [H|[]]. revert H. destruct (i <? slots s) eqn:L; [|discriminate]. now apply Nat.ltb_lt in L.
  - intros b [H|[]]. subst u. split; apply M; cbn; auto.
  - intros i g e [H|[]]. apply M. unfold marks_on. apply in_app_iff. right. apply in_flat_map.
    destruct (i <? slots s) eqn:L; [|discriminate]. apply Nat.ltb_lt in L. exists i. split; [apply in_seq; lia|]. rewrite H. now left.
  - intros a H. apply in_app_iff. right. now apply (met_control _ _ _ _ _ _ _ F).
Qed.

Lemma second_life_fits s f : fits s f -> up s = false -> fits (second_life s) empty.
Proof.
  intros F Down. pose proof (down_is_empty _ _ F Down) as E. apply down_fits; [exact E|].
  constructor; try (now apply (devices _ _ F)); cbn; auto.
  - intros i e (b & _ & [[=]|[]] & _).
  - now intros a [[=]|[]].
Qed.

(** ** What a mount takes over *)

Lemma take_over_some takes found i e : take_over takes found i = Some e ->
  found i = Some e /\ takes i = true /\ forall j, j < i -> takes j = true -> holds (found j) (slot_page e) = false.
Proof.
  unfold take_over. destruct (found i) as [d|]; [|discriminate]. destruct (takes i && _) eqn:X; [|discriminate].
  apply andb_true_iff in X as (T & X). intros [= <-]. repeat split; auto. intros j L Tj. apply not_true_is_false. intros H.
  apply negb_true_iff, not_true_iff_false in X. apply X. apply existsb_exists. exists j. split; [apply in_seq; lia|]. now rewrite Tj, H.
Qed.

Lemma taken_once takes found i j e d : take_over takes found i = Some e -> take_over takes found j = Some d ->
  slot_page e = slot_page d -> i = j.
Proof.
  intros He Hd P. apply take_over_some in He as (Fe & Te & Ne), Hd as (Fd & Td & Nd).
  destruct (Nat.lt_trichotomy i j) as [L|[L|L]]; [|exact L|]; exfalso.
  - specialize (Nd i L Te). apply not_true_iff_false in Nd. apply Nd. apply holds_iff. eauto.
  - specialize (Ne j L Td). apply not_true_iff_false in Ne. apply Ne. apply holds_iff. eauto.
Qed.

(** ** A mount *)

(** The store, after its sync: what is there is durable, if nothing is forgotten or what was forgotten is written again. *)
Lemma remembered s m : remembers s m = true ->
  forall g p v, p < pages s -> In v (store_may (sync_store (written_again s (again m)) true g) p) -> v = store s p.
Proof.
  intros R g p v L. apply andb_true_iff in R as (_ & R). rewrite forallb_forall in R.
  assert (I : In p (seq 0 (pages s))) by (apply in_seq; lia). apply R in I. cbn.
  destruct (contains (again m) p || unsynced s p); [now intros [<-|[]]|].
  cbn in I. rewrite forallb_forall in I. intros H. apply I in H. now apply Nat.eqb_eq in H.
Qed.

Lemma written_again_fits s f ps : fits s f -> fits (written_again s ps) f.
Proof. intros F. constructor; try (now apply F). constructor; now apply (devices _ _ F). Qed.

Section Mount.
Variables (s : state) (f : flat) (m : mount).
Hypothesis F : fits s f.
Hypothesis Sure : forall p v, p < pages s -> In v (store_may s p) -> v = store s p.
Notation mine := (mark_of s m).
Hypothesis Fresh_super : forall u, In (Some u) (super_may s) -> super_mark u <> mine /\ super_mark u <> other_mark_of s m.
Hypothesis Fresh_slot : forall i g e, In (Some (g, e)) (disk_may s i) -> g <> mine.
Hypothesis Fresh_control : ~ In (Some mine) (control_may s).
Hypothesis Two : mine <> other_mark_of s m.
Hypothesis Met : In mine (seen s) /\ In (other_mark_of s m) (seen s).

Variable uses : bool.
Notation t := (mount_ssd s m uses).
Notation told_now := (told_by s m uses).
Let trusted := if reads_super m then is_trusted s else None.
Let g := match trusted with Some g => g | None => mine end.

(** The generation that is trusted is one that a restart might have trusted. *)
Lemma is_trusted_was h i e : trusted = Some h -> In (Some (h, e)) (disk_may s i) -> may_be_trusted s s i e.
Proof.
  unfold trusted, is_trusted. destruct (reads_super m); [|discriminate]. destruct (super s) as [u|] eqn:Su; [|discriminate].
  destruct (control s) as [c|] eqn:Co; [|discriminate]. destruct (same_mark (super_mark u) c) eqn:X; [|discriminate].
  apply same_mark_iff in X. intros [= <-] D. exists u. rewrite <- Su, X, <- Co. repeat split; [apply F|apply F|exact D].
Qed.

Lemma generation_is_met : In g (seen s).
Proof.
  unfold g, trusted, is_trusted. destruct (reads_super m); [|apply Met]. destruct (super s) as [u|] eqn:Su; [|apply Met].
  destruct (control s) as [c|]; [|apply Met]. destruct (same_mark (super_mark u) c); [|apply Met].
  apply (met_super _ _ _ _ _ _ _ F). rewrite <- Su. apply F.
Qed.

(** What the SSD has of that generation was trusted before: an SSD that is taken for empty gives nothing. *)
Lemma found_was i e : In (Some (g, e)) (disk_may s i) -> may_be_trusted s s i e /\ exists h, trusted = Some h.
Proof.
  intros D. unfold g in D. destruct trusted as [h|] eqn:T; [split; [|eauto]; now apply (is_trusted_was h i e)|].
  exfalso. now apply (Fresh_slot i mine e).
Qed.

Lemma mounted_slots_sub h taken i w : In w (mounted_slots s m h taken i) -> In w (disk_may s i).
Proof.
  unfold mounted_slots. intros H. assert (Y : In w (synced_slots s h i) -> In w (disk_may s i)).
  { intros K. apply (synced_slots_sub s true) in K; [tauto|apply F]. }
  destruct (in_doubt m); [destruct (taken i)|]; auto.
Qed.

(** With the SSD: a restart may trust what it might have trusted before. Without it: too, and nothing once the control
    file has told. *)
Lemma mount_trusted c i e :
  (forall a, In (Some a) (control_may c) -> a = told_now \/ In (Some a) (control_may s)) ->
  may_be_trusted t c i e -> may_be_trusted s s i e /\ (uses = false -> exists a, In (Some a) (control_may c) /\ a <> told_now).
Proof.
  intros C (u & Hu & Hc & Hd). unfold mount_ssd in Hu, Hd. fold trusted in Hu, Hd. fold g in Hu, Hd.
  destruct uses.
  - destruct Hu as [[= <-]|[]]. cbn [disk_may ssd_of with_ssd super_generation] in Hd. apply mounted_slots_sub in Hd.
    destruct (found_was i e Hd) as (X & _). split; [exact X|discriminate].
  - assert (Old : In (Some u) (super_may s) -> may_be_trusted s s i e /\ exists a, In (Some a) (control_may c) /\ a <> other_mark_of s m).
    { intros Hu'. destruct (Fresh_super u Hu') as (N1 & N2).
      destruct (C _ Hc) as [E|E]; [exfalso; exact (N2 E)|]. split; [exists u; auto|]. exists (super_mark u). split; [exact Hc|exact N2]. }
    cbn in Hu, Hd. destruct (reads_super m); [destruct Hu as [[= <-]|Hu]|].
    + exfalso. cbn in Hc. destruct (C _ Hc) as [E|E]; [exact (Two E)|exact (Fresh_control E)].
    + destruct (Old Hu) as (X & Y). split; [exact X|auto].
    + destruct (Old Hu) as (X & Y). split; [exact X|auto].
Qed.

Lemma mount_devices c h : (forall p, p < pages s -> In (newest h p) (since_sync f p)) -> since_sync h = since_sync f ->
  In (control c) (control_may c) ->
  (forall a, In (Some a) (control_may c) -> a = told_now \/ In (Some a) (control_may s)) ->
  devices_fit (pages s) (slots s) t c s (seen s) h.
Proof.
  intros N E Now C.
  assert (D : forall i w, In w (disk_may t i) -> In w (disk_may s i)).
  { intros i w. unfold mount_ssd. destruct uses; [|auto]. apply mounted_slots_sub. }
  constructor; rewrite ?E; try (now apply (devices _ _ F)); try assumption.
  - intros i. unfold mount_ssd. destruct uses; [|apply F]. cbn -[synced_slots]. unfold mounted_slots.
    assert (Y : In (disk s i) (disk_may s i)) by apply F. destruct (in_doubt m); [destruct (take_over _ _ i)|]; [now left|exact Y|now left].
  - unfold mount_ssd.  destruct uses; [now left|]. cbn.
    destruct (reads_super m); [|apply F]. cbn. destruct (super_lands m); [now left|right; apply F].
  - intros i e T. apply mount_trusted in T as (T & _); [|exact C]. now apply (trusted_fits _ _ _ _ _ _ _ F i).
  - intros i w H. apply D in H. now apply (disk_inside _ _ _ _ _ _ _ F i w).
  - intros u. unfold mount_ssd. fold trusted; fold g.
    assert (New : In mine (seen s) /\ In g (seen s)) by (split; [apply Met|apply generation_is_met]).
    destruct uses; [intros [[= <-]|[]]; exact New|]. cbn. destruct (reads_super m); [intros [[= <-]|H]; [exact New|]|intros H];
      now apply (met_super _ _ _ _ _ _ _ F).
  - intros i h' e H. apply D in H. now apply (met_slot _ _ _ _ _ _ _ F i h' e).
  - intros a H. apply C in H as [->|H]; [|now apply (met_control _ _ _ _ _ _ _ F)].
    unfold told_by. destruct uses; apply Met.
Qed.

(** The mount is refused: it is down, and nothing is lost. *)
Lemma refused_fits : control_works m = false -> fits (mount_control t m told_now) f.
Proof.
  intros W. unfold mount_control. rewrite W. apply down_fits; [reflexivity|].
  assert (D : devices_fit (pages s) (slots s) t
    (Control (if control_lands m then Some told_now else control s) (Some told_now :: control_may s)) s (seen s) f).
  { apply mount_devices; auto; [apply F|cbn; destruct (control_lands m); [now left|right; apply F]|].
    intros a [[= <-]|H]; auto. }
  unfold mount_ssd in *. destruct uses; exact D.
Qed.

Lemma mounted_fits : control_works m = true ->
  let u := mount_control t m told_now in fits u (reads u f) /\ up u = true.
Proof.
  intros W u.
  assert (Eu : u = mount_control t m told_now) by reflexivity. unfold mount_control in Eu. rewrite W in Eu.
  assert (Up : up u = true) by now rewrite Eu. split; [|exact Up].
  set (found := fun i => match trusted with Some h => if i <? slots s then valid h (disk s i) else None | None => None end).
  assert (Base : pages u = pages s /\ slots u = slots s /\ disk u = disk s /\ store_of u = s /\ seen u = seen s /\
    (forall p, memory u p = None) /\ in_use u = uses /\ retiring u = false /\ generation u = g /\
    (forall i, held u i = if uses then take_over (takes m) found i else None) /\
    (forall i, stale u i = if uses then (i <? slots s) && is_left (in_doubt m) (take_over (takes m) found i) (found i) else false)).
  { rewrite Eu. unfold mount_ssd.  destruct uses; repeat split. }
  destruct Base as (Pu & Su & Du & Tu & Nu & Mu & Iu & Ru & Gu & Hu & Lu).
  assert (Dev : forall h, (forall p, p < pages s -> In (newest h p) (since_sync f p)) -> since_sync h = since_sync f ->
    devices_fit (pages u) (slots u) u u u (seen u) h).
  { intros h X Y. rewrite Pu, Su, Nu, Tu.
    assert (D : devices_fit (pages s) (slots s) t (Control (Some told_now) [Some told_now]) s (seen s) h).
    { apply mount_devices; auto; [now left|]. intros a [[= <-]|[]]. auto. }
    rewrite Eu. exact D. }
  assert (Trust : forall i e, may_be_trusted u u i e -> may_be_trusted s s i e /\ uses = true).
  { intros i e H. assert (H' : may_be_trusted t (Control (Some told_now) [Some told_now]) i e) by (rewrite Eu in H; exact H).
    apply mount_trusted in H' as (X & Z); [|intros a [[= <-]|[]]; auto]. split; [exact X|].
    destruct uses; [auto|]. destruct (Z eq_refl) as (a & [[= <-]|[]] & B). contradiction. }
  (* What is taken over *)
  assert (Found : forall i e, found i = Some e -> i < slots s /\ disk s i = Some (g, e) /\ may_be_trusted s s i e).
  { intros i e. unfold found. destruct trusted as [h|] eqn:T; [|discriminate]. destruct (i <? slots s) eqn:L; [|discriminate].
    intros V. apply valid_some in V. split; [now apply Nat.ltb_lt|]. split; [|apply (is_trusted_was h i e T); rewrite <- V; apply F].
    rewrite V. unfold g. now rewrite ?T. }
  assert (Held : forall i e, held u i = Some e -> take_over (takes m) found i = Some e).
  { intros i e. rewrite Hu. destruct uses; [auto|discriminate]. }
  assert (Hf : forall i e, held u i = Some e -> found i = Some e) by (intros i e H; apply Held, take_over_some in H; tauto).
  assert (Once : forall i j e d, held u i = Some e -> held u j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd. apply Held in He, Hd. now apply (taken_once (takes m) found). }
  assert (Slot : forall i e, held u i = Some e -> slot_of u (slot_page e) = Some i).
  { intros i e He. destruct (slot_of u (slot_page e)) as [j|] eqn:X.
    - apply slot_of_some in X as (_ & d & Hd & P). f_equal. now apply (Once j i d e).
    - exfalso. refine (slot_of_none u _ X i e _ He eq_refl). rewrite Su. now apply Hf, Found in He. }
  (* What a read gives *)
  assert (Read : forall p, match slot_of u p with
     | Some i => exists e, held u i = Some e /\ slot_page e = p /\ newest (reads u f) p = slot_contents e
     | None => newest (reads u f) p = store s p end).
  { intros p. cbn [reads newest]. unfold read. rewrite Mu. destruct (slot_of u p) as [i|] eqn:X; [|now rewrite Tu].
    apply slot_of_some in X as (_ & e & He & P). exists e. split; [exact He|]. split; [exact P|].
    unfold read_slot. rewrite Du, Gu. apply Hf, Found in He as (_ & D & _). rewrite D. cbn. rewrite same_mark_self.
    now rewrite P, Nat.eqb_refl. }
  assert (Counts : forall p, p < pages s -> In (newest (reads u f) p) (since_sync f p)).
  { intros p L. specialize (Read p). destruct (slot_of u p) as [i|].
    - destruct Read as (e & He & P & ->). apply Hf, Found in He as (_ & _ & T). subst p. now apply (trusted_fits _ _ _ _ _ _ _ F i).
    - rewrite Read. apply (store_fits _ _ _ _ _ _ _ F p _ L), F. }
  constructor.
  - now apply Dev.
  - intros p x X. rewrite Mu in X. discriminate.
  - intros p x i e X. rewrite Mu in X. discriminate.
  - intros i e He. pose proof (Read (slot_page e)) as R. rewrite (Slot _ _ He) in R. destruct R as (d & Hd & _ & R).
    rewrite He in Hd. injection Hd as <-. rewrite R. apply Hf, Found in He as (L & _ & T). rewrite Su, Pu.
    split; [exact L|]. split; [now apply (trusted_fits _ _ _ _ _ _ _ F i)|reflexivity].
  - intros i e He. apply Hf, Found in He as (_ & D & _). exists (slot_dirty e). rewrite Du, Gu, D. now destruct e.
  - exact Once.
  - intros i. rewrite Lu, Hu, Su. destruct uses; [|discriminate]. intros X. apply andb_true_iff in X as (L & X). apply Nat.ltb_lt in L.
    split; [exact L|]. unfold is_left in X. now destruct (take_over (takes m) found i).
  - rewrite Iu, Gu, Du. intros Use i e V. rewrite Lu, Hu, Use. apply valid_some in V.
    assert (Now : In (Some (g, e)) (disk_may s i)) by (rewrite <- V; apply F).
    destruct (found_was i e Now) as (_ & h & Th). pose proof (disk_inside _ _ _ _ _ _ _ F i _ Now) as L. apply Nat.ltb_lt in L.
    assert (X : found i = Some e).
    { unfold found. rewrite Th, L. apply valid_some. unfold g in V. now rewrite Th in V. }
    rewrite X, L. destruct (take_over (takes m) found i) as [d|] eqn:Y; [right|now left].
    apply take_over_some in Y as (Y & _). exists d. split; [reflexivity|]. rewrite X in Y. injection Y as <-. auto.
  - intros _ p v L D. rewrite Tu. intros Hv. rewrite Pu in L. pose proof (Read p) as R. destruct (slot_of u p) as [i|] eqn:X.
    + destruct R as (e & He & P & ->). assert (De : slot_dirty e = false).
      { unfold dirty, dirty_on_ssd in D. rewrite X, He in D. apply orb_false_iff in D. tauto. }
      apply Hf, Found in He as (_ & _ & T). subst p. now apply (proj2 (proj2 (trusted_fits _ _ _ _ _ _ _ F i e T)) De).
    + rewrite R. now apply Sure.
  - rewrite Iu, Gu, Nu. intros Use. split; [apply generation_is_met|]. intros b Hb _. rewrite Eu in Hb.
    unfold mount_ssd in Hb. rewrite Use in Hb. destruct Hb as [[= <-]|[]]. reflexivity.
  - rewrite Iu. intros _ Use _ i e T. apply Trust in T as (_ & T). congruence.
  - rewrite Up. discriminate.
Qed.
End Mount.

Lemma mount_fits s f m : fits s f -> up s = false -> assumed s (Mount m) = true -> fits (do_mount s m) (flat_step s f (Mount m)).
Proof.
  intros F Down A. cbn [assumed] in A. apply andb_true_iff in A as (A & Two). apply andb_true_iff in A as (A & N2).
  apply andb_true_iff in A as (R & N1). apply is_fresh_iff in N1, N2. apply negb_true_iff, not_true_iff_false in Two.
  cbn [flat_step]. rewrite Down. cbn [negb andb]. unfold do_mount.
  set (t := sync_store (written_again (with_seen s [mark_of s m; other_mark_of s m]) (again m)) (store_syncs m) (store_forgets m)).
  assert (Ft : fits t f) by now apply sync_store_fits, written_again_fits, with_seen_fits.
  destruct (store_syncs m) eqn:Syncs; [|change (up t) with (up s); rewrite Down; exact Ft].
  assert (Sure : forall p v, p < pages t -> In v (store_may t p) -> v = store t p).
  { intros p v L Hv. exact (remembered s m R (store_forgets m) p v L Hv). }
  assert (Fresh_super : forall u, In (Some u) (super_may t) -> super_mark u <> mark_of t m /\ super_mark u <> other_mark_of t m).
  { intros u Hu. apply (met_super _ _ _ _ _ _ _ F) in Hu as (Hu & _). split; intros E; [apply N1|apply N2]; unfold mark_of, other_mark_of, id_of in *;
      cbn in E; rewrite <- E; exact Hu. }
  assert (Fresh_slot : forall i g e, In (Some (g, e)) (disk_may t i) -> g <> mark_of t m).
  { intros i g e H E. subst g. apply (met_slot _ _ _ _ _ _ _ F) in H. now apply N1. }
  assert (Fresh_control : ~ In (Some (mark_of t m)) (control_may t)).
  { intros H. apply (met_control _ _ _ _ _ _ _ F) in H. now apply N1. }
  assert (Differ : mark_of t m <> other_mark_of t m) by (intros E; apply Two; now apply same_mark_iff).
  assert (Met : In (mark_of t m) (seen t) /\ In (other_mark_of t m) (seen t)) by (cbn; auto).
  set (uses := reads_super m && super_works m). change (told_by s m uses) with (told_by t m uses).
  pose proof (refused_fits t f m Ft Fresh_super Fresh_slot Fresh_control Differ Met uses) as No.
  pose proof (mounted_fits t f m Ft Sure Fresh_super Fresh_slot Fresh_control Differ Met uses) as Yes.
  destruct (control_works m) eqn:W.
  - destruct (Yes eq_refl) as (G & U). now rewrite U.
  - replace (up (mount_control (mount_ssd t m uses) m (told_by t m uses))) with false; [now apply No|].
    unfold mount_control. now rewrite W.
Qed.

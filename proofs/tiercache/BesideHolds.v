(* SPDX-License-Identifier: PostgreSQL *)
(** * The tiers fit the flat file between any two steps of a write-back, whatever stands there, and wherever mounts stop *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves WriteBack Refines Stops StopsFit Beside.

(** ** Contents are numbered: what comes next is larger than what was *)
Definition numbered (s : state) (f : flat) : Prop :=
  1 <= next s /\ forall p v, p < pages s -> In v (since_sync f p) -> v < next s.

Lemma write_page_next s p : next (write_page s p) = next s.
Proof. unfold write_page. destruct (read s p); [destruct (p <? pages s)|]; reflexivity. Qed.
Lemma write_store_next ps : forall s, next (write_store s ps) = next s.
Proof. induction ps as [|p ps IH]; intros s; [reflexivity|]. exact (eq_trans (IH (write_page s p)) (write_page_next s p)). Qed.

Lemma step_next s x : next (run_step s x) = match x with Write p => if up s && (p <? pages s) then S (next s) else next s | _ => next s end.
Proof.
  destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |m]; cbn [run_step]; try reflexivity;
    destruct (up s); try reflexivity.
  - destruct (p <? pages s); [|reflexivity]. unfold do_write. now destruct (forget s p).
  - destruct (p <? pages s); [|reflexivity]. unfold do_load. destruct (memory s p); [reflexivity|now destruct (read s p)].
  - unfold do_to_ssd. destruct (memory s p); [|reflexivity]. destruct (slot_of s p); [reflexivity|now destruct (in_use s && may_take s i)].
  - unfold do_drop. destruct (memory s p) as [f|]; [now destruct (frame_dirty f)|reflexivity].
  - unfold do_drop_slot. destruct (held s i) as [e|]; [now destruct (slot_dirty e)|reflexivity].
  - unfold do_write_back, try_write_back. pose proof (take_off_same (with_seen s [drawn s k]) k) as (_ & _ & _ & _ & N & _). cbv zeta in N.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). cbn [fst] in N. destruct off; [|exact N].
    pose proof (write_store_next (whole ++ part) t) as M. rewrite N in M. now destruct (w && forallb (contains whole) ps).
  - unfold do_fsync. pose proof (take_off_same (with_seen s [drawn s k]) k) as (_ & _ & _ & _ & N & _). cbv zeta in N.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). exact N.
  - unfold do_mount. destruct (store_syncs m); [|reflexivity]. unfold mount_control, mount_ssd.
    now destruct (control_works m), (reads_super m && super_works m).
Qed.

Lemma step_numbered s f x : fits s f -> numbered s f -> numbered (run_step s x) (flat_step s f x).
Proof.
  intros F (P & N). unfold numbered. rewrite step_next, step_pages.
  destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |m]; cbn [flat_step]; try exact (conj P N).
  - destruct (up s && (p <? pages s)); [|exact (conj P N)]. split; [lia|]. intros q v L. cbn [since_sync].
    at_key q p; [intros [<-|H]; [lia|]|intros H]; specialize (N _ _ L H); lia.
  - destruct (up s && snd (do_fsync s k)); [|exact (conj P N)]. split; [exact P|]. intros q v L [<-|[]].
    apply (N q); [exact L|now apply (newest_counts _ _ _ _ _ _ _ F)].
  - destruct (up s); [exact (conj P N)|]. split; [exact P|]. intros q v _ [<-|[]]. lia.
  - destruct (negb (up s) && up (do_mount s m)); exact (conj P N).
Qed.

(** ** What may stand beside a write-back *)

Lemma move_same s x : is_move x = true -> store_of (run_step s x) = store_of s /\ up (run_step s x) = up s.
Proof.
  intros M. destruct x as [p|p|p i w l|p|i| | | | | | |]; try discriminate M; cbn [run_step]; destruct (up s) eqn:U; try (now split).
  - destruct (p <? pages s); [|now split]. unfold do_write. destruct (forget s p). now split.
  - destruct (p <? pages s); [|now split]. unfold do_load. destruct (memory s p); [now split|]. destruct (read s p); now split.
  - unfold do_to_ssd. destruct (memory s p); [|now split]. destruct (slot_of s p); [now split|]. destruct (in_use s && may_take s i); now split.
  - unfold do_drop. destruct (memory s p) as [f|]; [|now split]. destruct (frame_dirty f); now split.
  - unfold do_drop_slot. destruct (held s i) as [e|]; [|now split]. destruct (slot_dirty e); now split.
Qed.

(** What may be trusted then, was before; or it is a page that was in memory, as it was there. *)
Lemma move_trusted s x i e : is_move x = true -> may_be_trusted (run_step s x) (run_step s x) i e ->
  may_be_trusted s s i e \/
  (forall f, flat_step s f x = f) /\
  exists p m, memory s p = Some m /\ slot_of s p = None /\ e = Slot p (frame_contents m) (frame_dirty m).
Proof.
  intros M T. destruct x as [p|p|p j w l|p|j| | | | | | |]; try discriminate M; cbn [run_step] in T;
    (destruct (up s); [|left; exact T]).
  - left. destruct (p <? pages s); [|exact T]. unfold do_write in T. destruct (forget s p). exact T.
  - left. destruct (p <? pages s); [|exact T]. unfold do_load in T. destruct (memory s p); [exact T|]. destruct (read s p); exact T.
  - unfold do_to_ssd in T. destruct (memory s p) as [m|] eqn:Q; [|left; exact T]. destruct (slot_of s p) eqn:O; [left; exact T|].
    destruct (in_use s && may_take s j); [|left; exact T]. destruct T as (u & Hu & Hc & Hd). cbn -[update] in Hu, Hc, Hd.
    destruct (Nat.eq_dec i j) as [->|J].
    + rewrite update_same in Hd. destruct Hd as [[=]|[[= _ <-]|Hd]]; [right; split; [reflexivity|now exists p, m]|left; exists u; auto].
    + rewrite update_other in Hd by exact J. left. exists u. auto.
  - left. unfold do_drop in T. destruct (memory s p) as [f|]; [|exact T]. destruct (frame_dirty f); exact T.
  - left. unfold do_drop_slot in T. destruct (held s j) as [d|]; [|exact T]. destruct (slot_dirty d); exact T.
Qed.

Lemma move_dirty s f g x p : fits s f -> fits (run_step s x) g -> up s = true -> is_move x = true ->
  dirty s p = true -> dirty (run_step s x) p = true.
Proof.
  intros F G Up M D. apply (dirty_iff _ _ _ G). apply (dirty_iff _ _ _ F) in D. clear G.
  destruct x as [q|q|q i w l|q|i| | | | | | |]; try discriminate M; cbn [run_step]; rewrite Up.
  - destruct (q <? pages s); [|exact D]. unfold do_write. pose proof (forget_held s f q F) as H. destruct (forget s q) as (h, st).
    cbn [fst] in H. cbn -[update]. destruct (Nat.eq_dec p q) as [->|N].
    + left. exists (Frame (next s) true). rewrite update_same. now split.
    + destruct D as [(m & Hm & Dm)|(i & e & He & P & De)].
      * left. exists m. rewrite update_other by exact N. now split.
      * right. exists i, e. split; [apply H; split; [exact He|congruence]|now split].
  - destruct (q <? pages s); [|exact D]. unfold do_load. destruct (memory s q) eqn:Q; [exact D|]. destruct (read s q); [|exact D].
    destruct D as [(m & Hm & Dm)|D]; [left|right; exact D]. exists m. cbn -[update]. rewrite update_other; [now split|congruence].
  - unfold do_to_ssd. destruct (memory s q) as [m|] eqn:Q; [|exact D]. destruct (slot_of s q); [exact D|].
    destruct (in_use s && may_take s i) eqn:T; [|exact D]. apply andb_true_iff in T as (_ & T). unfold may_take in T.
    apply andb_true_iff in T as (_ & T). destruct D as [(y & Hy & Dy)|(j & e & He & P & De)].
    + destruct w; [|left; exists y; now split]. destruct (Nat.eq_dec p q) as [->|N].
      * right. exists i, (Slot q (frame_contents m) (frame_dirty m)). cbn -[update]. rewrite update_same. repeat split. cbn. congruence.
      * left. exists y. cbn -[update]. rewrite update_other by exact N. now split.
    + right. exists j, e. cbn -[update]. rewrite update_other; [auto|]. intros ->. rewrite He, De in T. discriminate.
  - unfold do_drop. destruct (memory s q) as [m|] eqn:Q; [|exact D]. destruct (frame_dirty m) eqn:X; [exact D|].
    destruct D as [(y & Hy & Dy)|D]; [left|right; exact D]. exists y. cbn -[update]. rewrite update_other; [now split|]. intros ->. congruence.
  - unfold do_drop_slot. destruct (held s i) as [e|] eqn:E; [|exact D]. destruct (slot_dirty e) eqn:X; [exact D|].
    destruct D as [D|(j & d & Hd & P & Dd)]; [left; exact D|right]. exists j, d. cbn -[update]. rewrite update_other; [auto|]. intros ->. congruence.
Qed.

Lemma move_newest (s : state) f x p : is_move x = true -> up s = true ->
  (forall v, In v (since_sync f p) -> In v (since_sync (flat_step s f x) p)) /\
  (newest (flat_step s f x) p = newest f p \/ x = Write p /\ p < pages s /\ newest (flat_step s f x) p = next s).
Proof.
  intros M Up. destruct x as [q|q|q i w l|q|i| | | | | | |]; try discriminate M; try (split; [auto|now left]).
  cbn [flat_step]. rewrite Up. cbn [andb]. destruct (q <? pages s) eqn:L; [|split; [auto|now left]]. apply Nat.ltb_lt in L. split.
  - intros v. exact (since_grows f q (next s) p v).
  - cbn [newest]. at_key p q; [right; auto|now left].
Qed.

(** ** What holds while a write-back is under way *)
Record gathered_fits (s : state) (f : flat) (w : write_back) : Prop := {
  is_up : up s = true;
  had_counts : forall p v, had w p = Some v -> p < pages s /\ In v (since_sync f p);
  had_or_dirty : forall p v, had w p = Some v -> newest f p = v \/ dirty s p = true;
  had_trusted : forall p v i e, had w p = Some v -> may_be_trusted s s i e -> slot_page e = p -> slot_dirty e = false ->
    match at_stage w with Taking | Failing => newest f p = v \/ slot_contents e <> newest f p | _ => slot_contents e = v end;
  put_stored : forall p, In p (put w) -> exists v, had w p = Some v /\
    match at_stage w with
    | Storing => unsynced s p = true /\ store s p = v
    | Synced true => forall u, In u (store_may s p) -> u = v
    | Synced false => True
    | _ => False
    end;
}.

Lemma move_gathered s f x w : fits s f -> numbered s f -> is_move x = true -> assumed s x = true ->
  gathered_fits s f w -> gathered_fits (run_step s x) (flat_step s f x) w.
Proof.
  intros F (_ & N) M A W. pose proof (step_fits s f x F A) as G. pose proof (is_up _ _ _ W) as Up.
  destruct (move_same s x M) as (St & Us). constructor.
  - now rewrite Us.
  - intros p v H. destruct (had_counts _ _ _ W p v H) as (L & I). rewrite step_pages. split; [exact L|].
    now apply (move_newest s f x p M Up).
  - intros p v H. destruct (move_newest s f x p M Up) as (_ & [E|(-> & L & E)]).
    + rewrite E. destruct (had_or_dirty _ _ _ W p v H) as [X|X]; [now left|right]. now apply (move_dirty s f (flat_step s f x)).
    + right. apply (dirty_iff _ _ _ G). left. exists (Frame (next s) true). cbn [run_step]. rewrite Up.
      apply Nat.ltb_lt in L. rewrite L. unfold do_write. destruct (forget s p). cbn -[update]. rewrite update_same. now split.
  - intros p v i e H T P D. apply (move_trusted s x i e M) in T as [T|(Ef & q & m & Q & O & ->)].
    + pose proof (had_trusted _ _ _ W p v i e H T P D) as X.
      assert (Y : newest f p = v \/ slot_contents e <> newest f p ->
        newest (flat_step s f x) p = v \/ slot_contents e <> newest (flat_step s f x) p).
      { destruct (move_newest s f x p M Up) as (_ & [E|(_ & L & E)]); rewrite E; [auto|]. intros _. right.
        destruct (trusted_fits _ _ _ _ _ _ _ F i e T) as (_ & I & _). rewrite P in I. specialize (N _ _ L I). lia. }
      destruct (at_stage w); auto.
    + cbn [slot_page slot_dirty slot_contents] in *. subst q. assert (E : newest f p = v).
      { destruct (had_or_dirty _ _ _ W p v H) as [E|Dd]; [exact E|exfalso].
        apply (dirty_iff _ _ _ F) in Dd as [(y & Hy & Dy)|(j & d & Hd & P & _)]; [congruence|].
        exact (slot_of_none s p O j d (proj1 (held_newest _ _ F _ _ Hd)) Hd P). }
      rewrite Ef, (proj2 (memory_newest _ _ F _ _ Q)). destruct (at_stage w); auto.
  - intros p I. destruct (put_stored _ _ _ W p I) as (v & H & X). exists v. split; [exact H|]. rewrite St. exact X.
Qed.

Lemma take_off_trusted s f k i e : fits s f -> up s = true -> unmet s (drawn s k) ->
  may_be_trusted (fst (take_off s k)) (fst (take_off s k)) i e -> may_be_trusted s s i e.
Proof.
  intros F Up Un T.
  assert (Scrub : forall n, may_be_trusted (scrub s n) s i e -> may_be_trusted s s i e).
  { intros n (u & Hu & Hc & Hd). exists u. split; [exact Hu|]. split; [exact Hc|]. revert Hd. cbn -[overwritten].
    destruct (overwritten s n i); [intros [[=]|H]; exact H|auto]. }
  destruct k as [w n|n g l m]; cbn [take_off fst drawn] in *.
  - destruct (in_use s); [destruct w|destruct (retiring s); [|exact T]].
    + apply (Scrub (slots s)). destruct T as (u & Hu & Hc & Hd). exists u. split; [exact Hu|]. split; [exact Hc|].
      apply (synced_slots_sub _ true) in Hd; [tauto|]. exact (disk_may_now _ _ _ _ _ _ _ (scrub_fits s f (slots s) F Up) i).
    + destruct (retire_trusted s true true n i e Un T) as (X & _). discriminate X.
    + destruct (retire_trusted s true true n i e Un T) as (X & _). discriminate X.
  - destruct (in_use s); [|destruct (retiring s); [|exact T]].
    + apply (Scrub n). exact (proj2 (retire_trusted (forgetting (scrub s n) g) false l m i e Un T)).
    + exact (proj2 (retire_trusted s false l m i e Un T)).
Qed.

Lemma take_off_gathered s f k a h l : fits s f -> is_fresh s (drawn s k) = true -> gathered_fits s f (WritingBack a h Taking l) ->
  let t := fst (take_off (with_seen s [drawn s k]) k) in
  fits t f /\ gathered_fits t f (WritingBack a h (if snd (take_off (with_seen s [drawn s k]) k) then Storing else Failing) l).
Proof.
  intros F Fresh W t. pose proof (is_up _ _ _ W) as Up. set (s' := with_seen s [drawn s k]) in *.
  pose proof (with_seen_fits s f [drawn s k] F) as F'. fold s' in F'. pose proof (fresh_is_unmet s f _ F Fresh) as Un.
  destruct (take_off_fits s' f k F' Up Un (or_introl eq_refl)) as (Ft & Ut & St). fold t in Ft, Ut, St. split; [exact Ft|].
  destruct (take_off_same s' k) as (_ & P & _). fold t in P. constructor; cbn [had put at_stage].
  - exact Ut.
  - intros p v H. rewrite P. exact (had_counts _ _ _ W p v H).
  - intros p v H. destruct (had_or_dirty _ _ _ W p v H) as [X|X]; [now left|right].
    exact (eq_trans (take_off_dirty s' f k p F' Ft) X).
  - intros p v i e H T Q D. pose proof (had_trusted _ _ _ W p v i e H (take_off_trusted s' f k i e F' Up Un T) Q D) as X.
    cbn [at_stage] in X. destruct (snd (take_off s' k)); [|exact X]. specialize (St eq_refl i e T). rewrite Q in St.
    destruct X as [X|X]; [congruence|contradiction].
  - intros p I. destruct (put_stored _ _ _ W p I) as (v & _ & []).
Qed.

Lemma put_page_fits s f p v : fits s f -> p < pages s -> In v (since_sync f p) -> newest f p = v \/ dirty s p = true ->
  (forall i e, may_be_trusted s s i e -> slot_page e = p -> slot_dirty e = false -> slot_contents e = v) -> fits (put_page s p v) f.
Proof.
  intros F L I N S. constructor; try (now apply F).
  - constructor; try (now apply (devices _ _ F)); cbn -[update].
    + intros q. at_key q p; [now left|apply (store_now _ _ _ _ _ _ _ F)].
    + intros i e T. destruct (trusted_fits _ _ _ _ _ _ _ F i e T) as (X & Y & Z). repeat split; auto.
      intros D u. destruct (Nat.eq_dec (slot_page e) p) as [E|E]; [|rewrite update_other by exact E; apply (Z D)].
      rewrite E, update_same, <- E. intros [<-|Hu]; [|exact (Z D u Hu)]. symmetry. now apply (S i e T).
    + intros q u Lq. at_key q p; [|now apply (store_fits _ _ _ _ _ _ _ F)].
      intros [<-|Hu]; [exact I|now apply (store_fits _ _ _ _ _ _ _ F)].
  - intros Up q u Lq D. cbn -[update]. change (dirty s q = false) in D. at_key q p; [|now apply (clean_stored _ _ F Up)].
    intros [<-|Hu]; [destruct N as [N|N]; congruence|now apply (clean_stored _ _ F Up)].
Qed.

(** Pages may be called clean if the store has them, whatever a crash leaves. *)
Lemma call_unchanged_clean_fits s f w : fits s f -> up s = true ->
  (forall p v, unchanged w p (newest f p) = true -> In v (store_may s p) -> v = newest f p) -> fits (call_unchanged_clean s w) f.
Proof.
  intros F Up C. set (t := call_unchanged_clean s w).
  assert (H : forall i e, held t i = Some e -> exists d, held s i = Some d /\ slot_page d = slot_page e /\
                slot_contents d = slot_contents e /\ (slot_dirty e = true -> slot_dirty d = true)).
  { intros i e. cbn. destruct (held s i) as [d|]; [|discriminate]. intros [= <-]. exists d.
    destruct (unchanged w (slot_page d) (slot_contents d)); cbn; repeat split; auto; discriminate. }
  assert (M : forall p m, memory t p = Some m -> exists n, memory s p = Some n /\ frame_contents n = frame_contents m /\
                (frame_dirty m = true -> frame_dirty n = true)).
  { intros p m. cbn. destruct (memory s p) as [n|]; [|discriminate]. intros [= <-]. exists n.
    destruct (unchanged w p (frame_contents n)); cbn; repeat split; auto; discriminate. }
  assert (U : forall i j e d, held t i = Some e -> held t j = Some d -> slot_page e = slot_page d -> i = j).
  { intros i j e d He Hd P. apply H in He as (e' & He & Pe & _), Hd as (d' & Hd & Pd & _).
    eapply (held_once _ _ F); eauto. congruence. }
  assert (Was : forall p, unchanged w p (newest f p) = false -> dirty t p = false -> dirty s p = false).
  { intros p I. apply clean_before with (f := f); auto.
    - intros i e He. apply H in He as (d & Hd & _). exact (proj1 (held_newest _ _ F _ _ Hd)).
    - intros m Hm Dm. left. cbn. now rewrite Hm, (proj2 (memory_newest _ _ F _ _ Hm)), I.
    - intros i e He P D. exists i, e. cbn. rewrite He, (proj2 (proj2 (held_newest _ _ F _ _ He))), P, I. auto. }
  constructor; try exact U; try (now apply F).
  - intros p m Hm. apply M in Hm as (n & Hn & E & _). rewrite <- E. now apply (memory_newest _ _ F).
  - intros p m i e Hm D He. apply M in Hm as (n & Hn & _ & Dn). apply H in He as (d & Hd & P & _). rewrite <- P.
    eapply (memory_alone _ _ F); eauto.
  - intros i e He. apply H in He as (d & Hd & P & E & _). rewrite <- P, <- E. now apply (held_newest _ _ F).
  - intros i e He. apply H in He as (d & Hd & P & E & D). rewrite <- P, <- E. exact (held_on_disk _ _ F _ _ Hd).
  - intros i Hs. apply (stale_free _ _ F) in Hs as (I & E). split; [exact I|]. cbn. now rewrite E.
  - intros Use i e Hd. apply (disk_known _ _ F Use) in Hd as [Hs|(d & Hd & P & E)]; [now left|right]. cbn. rewrite Hd.
    destruct (unchanged w (slot_page d) (slot_contents d)); eexists; repeat split; cbn; auto.
  - intros _ p v L D Hv. destruct (unchanged w p (newest f p)) eqn:I; [now apply C|].
    apply (clean_stored _ _ F Up); [exact L| |exact Hv]. now apply Was.
  - cbn. congruence.
Qed.

(** A page whose newest contents were not gathered stays dirty when the others are called clean. *)
Lemma settle_dirty s f w p : fits s f -> fits (call_unchanged_clean s w) f -> unchanged w p (newest f p) = false ->
  dirty s p = true -> dirty (call_unchanged_clean s w) p = true.
Proof.
  intros F G I D. apply (dirty_iff _ _ _ G). apply (dirty_iff _ _ _ F) in D as [(m & Hm & Dm)|(i & e & He & P & De)].
  - left. exists m. cbn. rewrite Hm, (proj2 (memory_newest _ _ F _ _ Hm)), I. auto.
  - right. exists i, e. cbn. rewrite He, (proj2 (proj2 (held_newest _ _ F _ _ He))), P, I. auto.
Qed.

Lemma settle_fits s f w : fits s f -> gathered_fits s f w -> fits (settle s w) f /\ fits (call_unchanged_clean s w) f \/
  fits (settle s w) f /\ settle s w = with_failed s true.
Proof.
  intros F W. pose proof (is_up _ _ _ W) as Up. unfold settle.
  destruct (at_stage w) as [| | |works] eqn:E; try (right; split; [now apply with_failed_fits|reflexivity]).
  destruct works; [left|right; split; [now apply with_failed_fits|reflexivity]].
  assert (G : fits (call_unchanged_clean s w) f).
  { apply call_unchanged_clean_fits; auto. intros p v I Hv. unfold unchanged in I. apply andb_true_iff in I as (I & X).
    apply contains_iff in I. destruct (put_stored _ _ _ W p I) as (u & H & Y). rewrite E in Y. rewrite H in X.
    apply Nat.eqb_eq in X. rewrite <- X. now apply Y. }
  split; [|exact G]. destruct (forallb _ _); [exact G|now apply with_failed_fits].
Qed.

(** ** Steps *)
Definition beside_fits (b : both) (f : flat) : Prop :=
  fits (fst b) f /\ numbered (fst b) f /\ match snd b with None => True | Some w => gathered_fits (fst b) f w end.

Lemma beside_step_fits b f y : beside_fits b f -> assumed_beside b y = true -> beside_fits (do_beside b y) (flat_beside b f y).
Proof.
  destruct b as (s, w). intros (F & N & W) A. cbn [fst snd] in *.
  assert (Same : beside_fits (s, w) f) by exact (conj F (conj N W)).
  destruct y as [x|ps|k|p whole|works forgets| |m x]; cbn [do_beside flat_beside assumed_beside fst snd] in *.
  - destruct (may_be_called w x) eqn:M; [|exact Same]. split; [now apply step_fits|]. split; [now apply step_numbered|]. cbn [fst snd].
    destruct (is_crash x) eqn:X; [exact I|]. destruct w as [w|]; [|exact I]. cbn [may_be_called] in M. rewrite X, orb_false_r in M.
    now apply move_gathered.
  - destruct w as [w|]; [exact Same|]. destruct (up s) eqn:Up; [|exact Same]. split; [exact F|]. split; [exact N|]. cbn [fst snd].
    assert (R : forall p v, (if p <? pages s then read s p else None) = Some v -> p < pages s /\ newest f p = v).
    { intros p v. destruct (p <? pages s) eqn:L; [|discriminate]. apply Nat.ltb_lt in L. rewrite (read_newest _ _ _ F Up L).
      intros [= <-]. auto. }
    constructor; cbn [had put at_stage]; [exact Up| | | |easy].
    + intros p v H. apply R in H as (L & <-). split; [exact L|now apply (newest_counts _ _ _ _ _ _ _ F)].
    + intros p v H. left. now apply R.
    + intros p v i e H _ _ _. left. now apply R.
  - destruct w as [[a h [| | |w] l]|]; try exact Same. pose proof (take_off_gathered s f k a h l F A W) as (Ft & Wt).
    destruct (take_off_same (with_seen s [drawn s k]) k) as (_ & P & _ & _ & Nx & _).
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). cbn [fst snd] in *. split; [exact Ft|]. split; [|exact Wt].
    unfold numbered. cbn [fst]. rewrite P, Nx. exact N.
  - destruct w as [[a h [| | |w] l]|]; try exact Same. destruct (h p) as [v|] eqn:H; [|exact Same].
    destruct (had_counts _ _ _ W p v H) as (L & I). pose proof (had_or_dirty _ _ _ W p v H) as Nd.
    pose proof (fun i e => had_trusted _ _ _ W p v i e H) as S. cbn [at_stage] in S.
    split; [now apply put_page_fits|]. split; [exact N|]. cbn [fst snd]. constructor; cbn [had put at_stage].
    + exact (is_up _ _ _ W).
    + exact (had_counts _ _ _ W).
    + exact (had_or_dirty _ _ _ W).
    + exact (had_trusted _ _ _ W).
    + intros q Q. assert (B : q = p \/ In q l) by (destruct whole; [destruct Q; auto|now right]).
      cbn -[update]. destruct (Nat.eq_dec q p) as [->|D]; [exists v; rewrite !update_same; auto|]. destruct B as [B|B]; [contradiction|].
      rewrite !update_other by exact D. exact (put_stored _ _ _ W q B).
  - destruct w as [[a h [| | |w] l]|]; try exact Same. split; [now apply sync_store_fits|]. split; [exact N|]. cbn [fst snd].
    constructor; cbn [had put at_stage].
    + exact (is_up _ _ _ W).
    + exact (had_counts _ _ _ W).
    + exact (had_or_dirty _ _ _ W).
    + exact (had_trusted _ _ _ W).
    + intros p I. destruct (put_stored _ _ _ W p I) as (v & H & U & E). exists v. split; [exact H|]. destruct works; [|exact Logic.I].
      cbn. rewrite U, E. now intros u [<-|[]].
  - destruct w as [w|]; [|exact Same]. assert (X : fits (settle s w) f) by (destruct (settle_fits s f w F W) as [X|X]; apply X).
    split; [exact X|]. split; [|exact Logic.I]. cbn [fst]. unfold settle. destruct (at_stage w) as [| | |[]]; try exact N.
    destruct (forallb _ _); exact N.
  - destruct w as [w|]; [exact Same|]. destruct (up s) eqn:Up; [exact Same|]. destruct (mount_until_same s m x) as (P & Nx).
    split; [now apply stop_fits|]. split; [|exact Logic.I]. unfold numbered. cbn [fst]. now rewrite P, Nx.
Qed.

Lemma run_beside_fits ys : forall b f, beside_fits b f -> assumed_of_all_beside b ys = true ->
  beside_fits (fst (run_beside b f ys)) (snd (run_beside b f ys)).
Proof.
  induction ys as [|y ys IH]; intros b f F A; [exact F|]. apply andb_true_iff in A as (A & B). cbn [run_beside].
  apply IH; [now apply beside_step_fits|exact B].
Qed.

Lemma start_beside n m : beside_fits (start n m, None) empty.
Proof. split; [apply start_fits|]. split; [|exact I]. split; [constructor|]. intros p v _ [<-|[]]. constructor. Qed.

Lemma beside_pages b y : pages (fst (do_beside b y)) = pages (fst b).
Proof.
  destruct b as (s, w). destruct y as [x|ps|k|p whole|works forgets| |m x]; cbn [do_beside].
  - destruct (may_be_called w x); [apply step_pages|reflexivity].
  - destruct w; [reflexivity|now destruct (up s)].
  - destruct w as [[a h [| | |w] l]|]; try reflexivity. destruct (take_off_same (with_seen s [drawn s k]) k) as (_ & P & _).
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). exact P.
  - destruct w as [[a h [| | |w] l]|]; try reflexivity. now destruct (h p).
  - now destruct w as [[a h [| | |w] l]|].
  - destruct w as [w|]; [|reflexivity]. cbn [fst]. unfold settle. destruct (at_stage w) as [| | |[]]; try reflexivity. now destruct (forallb _ _).
  - destruct w; [reflexivity|]. destruct (up s); [reflexivity|]. apply mount_until_same.
Qed.

Lemma run_beside_pages ys : forall b f, pages (fst (fst (run_beside b f ys))) = pages (fst b).
Proof. induction ys as [|y ys IH]; intros b f; [reflexivity|]. cbn [run_beside]. now rewrite IH, beside_pages. Qed.

Lemma run_beside_app xs ys : forall b f, run_beside b f (xs ++ ys) = run_beside (fst (run_beside b f xs)) (snd (run_beside b f xs)) ys.
Proof. induction xs as [|x xs IH]; intros b f; [reflexivity|]. apply IH. Qed.

Lemma assumed_beside_app xs ys : forall b f,
  assumed_of_all_beside b (xs ++ ys) = assumed_of_all_beside b xs && assumed_of_all_beside (fst (run_beside b f xs)) ys.
Proof.
  induction xs as [|x xs IH]; intros b f; [reflexivity|]. cbn [app assumed_of_all_beside run_beside].
  now rewrite (IH _ (flat_beside b f x)), andb_assoc.
Qed.

(** With calls, failures and crashes between any two steps of write-backs, and mounts that stop at any of their operations, a read gives
    the newest write at every moment; and after each crash it gives what the last successful fsync has covered, or what was written
    since. *)
Theorem reads_beside_a_write_back n m ys p : assumed_of_all_beside (start n m, None) ys = true ->
  let '(b, f) := run_beside (start n m, None) empty ys in
  up (fst b) = true -> p < n -> read (fst b) p = Some (newest f p) /\ In (newest f p) (since_sync f p).
Proof.
  intros A. pose proof (run_beside_fits ys _ _ (start_beside n m) A) as (F & _). pose proof (run_beside_pages ys (start n m, None) empty) as P.
  destruct (run_beside (start n m, None) empty ys) as (b, f). cbn [fst snd] in *. intros Up L. cbn in P. rewrite <- P in L.
  split; [now apply read_newest|now apply (newest_counts _ _ _ _ _ _ _ F)].
Qed.

(** A step that does not end the write-back keeps it, and what it has gathered; a page stays dirty. *)
Lemma still_under_way s w f y p : beside_fits (s, Some w) f -> assumed_beside (s, Some w) y = true ->
  y <> Settle -> (forall x, y = Call x -> is_crash x = false) -> p < pages s ->
  exists w', snd (do_beside (s, Some w) y) = Some w' /\ had w' = had w /\ asked w' = asked w /\
    newest f p <= newest (flat_beside (s, Some w) f y) p /\
    (dirty s p = true -> dirty (fst (do_beside (s, Some w) y)) p = true).
Proof.
  intros B A NS NC L. pose proof (beside_step_fits _ _ y B A) as (G & _). destruct B as (F & (_ & N) & W). cbn [fst snd] in *.
  pose proof (is_up _ _ _ W) as Up.
  destruct y as [x|ps|k|q whole|works forgets| |m x]; cbn [do_beside flat_beside assumed_beside fst snd] in *; [| | | | |contradiction|].
  - specialize (NC x eq_refl). destruct (may_be_called (Some w) x) eqn:M; [|now exists w]. rewrite NC. cbn [fst snd] in *. exists w.
    cbn [may_be_called] in M. rewrite NC, orb_false_r in M. repeat split; [|now apply (move_dirty s f (flat_step s f x))].
    destruct (move_newest s f x p M Up) as (_ & [E|(_ & _ & E)]); rewrite E; [constructor|].
    apply Nat.lt_le_incl, (N p); [exact L|now apply (newest_counts _ _ _ _ _ _ _ F)].
  - now exists w.
  - destruct w as [a h [| | |w] l]; try (eexists; now repeat split).
    pose proof (take_off_dirty (with_seen s [drawn s k]) f k p (with_seen_fits _ _ _ F)) as D.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). cbn [fst snd] in *. specialize (D G).
    eexists. split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. split; [constructor|]. intros X. exact (eq_trans D X).
  - destruct w as [a h [| | |w] l]; try (eexists; now repeat split). destruct (h q); eexists; now repeat split.
  - destruct w as [a h [| | |w] l]; eexists; now repeat split.
  - now exists w.
Qed.

(** A page that is written while a write-back is under way, at any of its steps, is dirty when the write-back has ended, however it
    ended, and a read gives the newest write. *)
Theorem a_page_written_beside_stays_dirty n m xs p zs :
  assumed_of_all_beside (start n m, None) (xs ++ Call (Write p) :: zs) = true -> p < n ->
  snd (fst (run_beside (start n m, None) empty xs)) <> None ->
  (forall z, In z zs -> z <> Settle /\ forall x, z = Call x -> is_crash x = false) ->
  let '(b, f) := run_beside (start n m, None) empty (xs ++ Call (Write p) :: zs) in
  let t := fst (do_beside b Settle) in
  snd b <> None /\ dirty t p = true /\ read t p = Some (newest f p).
Proof.
  intros A L Some_w Z. rewrite (assumed_beside_app _ _ _ empty) in A. apply andb_true_iff in A as (A1 & A2).
  pose proof (run_beside_fits xs _ _ (start_beside n m) A1) as B. pose proof (run_beside_pages xs (start n m, None) empty) as P.
  rewrite run_beside_app. destruct (run_beside (start n m, None) empty xs) as ((s, w), f). cbn [fst snd] in *.
  destruct w as [w|]; [|contradiction]. cbn in P. rewrite <- P in L.
  cbn [assumed_of_all_beside run_beside] in *. apply andb_true_iff in A2 as (A2 & A3).
  pose proof (beside_step_fits _ _ _ B A2) as B2. destruct B as (F & (_ & N) & W). cbn [fst snd] in *. pose proof (is_up _ _ _ W) as Up.
  cbn [do_beside flat_beside may_be_called is_move is_crash orb fst snd flat_step] in *.
  rewrite Up in *. cbn [andb] in *. pose proof (proj2 (Nat.ltb_lt _ _) L) as L'. rewrite L' in *.
  set (t := run_step s (Write p)) in *. set (g := Flat _ _) in *.
  assert (Lt : p < pages t) by (unfold t; now rewrite step_pages).
  assert (New : forall v, had w p = Some v -> v < newest g p).
  { intros v H. destruct (had_counts _ _ _ W p v H) as (_ & I). unfold g. cbn [newest]. rewrite update_same. now apply (N p). }
  assert (D : dirty t p = true).
  { destruct B2 as (G & _). apply (dirty_iff _ _ _ G). left. exists (Frame (next s) true). unfold t. cbn [run_step]. rewrite Up, L'.
    unfold do_write. destruct (forget s p). cbn -[update]. rewrite update_same. now split. }
  clearbody t g. clear Up L L' N W F A2 P Some_w xs A1. revert t g w B2 A3 Lt New D.
  induction zs as [|z zs IH]; intros t g w B A Lt New D.
  - cbn [run_beside do_beside snd fst]. destruct B as (F & Nn & W). cbn [fst snd] in *. split; [discriminate|].
    assert (I : unchanged w p (newest g p) = false).
    { unfold unchanged. destruct (had w p) as [v|] eqn:H; [|apply andb_false_r]. specialize (New v eq_refl).
      rewrite (proj2 (Nat.eqb_neq v (newest g p))) by lia. apply andb_false_r. }
    assert (X : fits (settle t w) g /\ dirty (settle t w) p = true).
    { destruct (settle_fits t g w F W) as [(X & Y)|(X & E)]; (split; [exact X|]); [|now rewrite E].
      pose proof (settle_dirty t g w p F Y I D) as Z'. unfold settle. destruct (at_stage w) as [| | |[]]; try exact D.
      now destruct (forallb _ _). }
    destruct X as (X & Y). split; [exact Y|]. apply read_newest; [exact X| |].
    + unfold settle. pose proof (is_up _ _ _ W) as U. destruct (at_stage w) as [| | |[]]; try exact U. now destruct (forallb _ _).
    + unfold settle. destruct (at_stage w) as [| | |[]]; try exact Lt. now destruct (forallb _ _).
  - cbn [run_beside]. apply andb_true_iff in A as (A & A'). destruct (Z z (or_introl eq_refl)) as (Z1 & Z2).
    destruct (still_under_way t w g z p B A Z1 Z2 Lt) as (w' & E & H & _ & Le & D'). pose proof (beside_step_fits _ _ _ B A) as B'.
    pose proof (beside_pages (t, Some w) z) as Pg. destruct (do_beside (t, Some w) z) as (t', w''). cbn [fst snd] in *. subst w''.
    apply IH with (w := w'); auto; [intros y Y; apply Z; now right|now rewrite Pg|].
    intros v Hv. rewrite H in Hv. specialize (New v Hv). lia.
Qed.

(** A page that is dirty when a write-back begins stands in the store when it has ended, durable, as it was then, whatever other calls
    did meanwhile; or the next fsync gives an error. *)
Theorem a_write_back_beside_is_done_or_told n m xs ps p zs :
  assumed_of_all_beside (start n m, None) (xs ++ Gather ps :: zs) = true -> p < n ->
  let b := fst (run_beside (start n m, None) empty xs) in
  snd b = None -> up (fst b) = true -> In p ps -> dirty (fst b) p = true ->
  (forall z, In z zs -> z <> Settle /\ forall x, z = Call x -> is_crash x = false) ->
  let t := fst (do_beside (fst (run_beside (start n m, None) empty (xs ++ Gather ps :: zs))) Settle) in
  (exists v, read (fst b) p = Some v /\ forall u, In u (store_may t p) -> u = v) \/
  failed t = true /\ forall k, snd (do_fsync t k) = false.
Proof.
  intros A L b Alone Up I D Z. rewrite run_beside_app. cbv zeta. rewrite (assumed_beside_app _ _ _ empty) in A. apply andb_true_iff in A as (A1 & A2).
  pose proof (run_beside_fits xs _ _ (start_beside n m) A1) as B. pose proof (run_beside_pages xs (start n m, None) empty) as P.
  fold b in A2, B, P |- *. set (f := snd (run_beside (start n m, None) empty xs)) in *. clearbody f b. clear A1.
  destruct b as (s, w). cbn [fst snd] in *. subst w. cbn in P. rewrite <- P in L. clear P.
  cbn [assumed_of_all_beside run_beside] in *. apply andb_true_iff in A2 as (A2 & A3).
  pose proof (beside_step_fits _ _ _ B A2) as B2. cbn [do_beside flat_beside] in *. rewrite Up in *.
  set (w := WritingBack _ _ _ _) in *.
  assert (Asked : In p (asked w)) by (apply filter_In; now split).
  assert (Had : had w p = read s p) by (unfold w; cbn [had]; now rewrite (proj2 (Nat.ltb_lt _ _) L)).
  rewrite <- Had. assert (Same : forall v, had w p = Some v -> had w p = Some v) by auto. revert Same.
  generalize (had w p) at 2 3 as h. intros h Same. clearbody w. clear B A2 Up I D Had ps. revert s w f B2 A3 L Asked Same.
  induction zs as [|z zs IH]; intros s w f B A L Asked Same.
  - cbn [run_beside do_beside fst]. destruct B as (F & N & W). cbn [fst snd] in *. unfold settle.
    assert (Told : forall u : state, failed u = true -> failed u = true /\ forall k, snd (do_fsync u k) = false).
    { intros u E. split; [exact E|]. intros k. unfold do_fsync. destruct (take_off (with_seen u [drawn u k]) k) as (x, off). cbn [snd].
      rewrite E. cbn [negb]. now rewrite andb_false_r. }
    destruct (at_stage w) as [| | |[]] eqn:E; try (right; now apply Told).
    destruct (forallb (contains (put w)) (asked w)) eqn:X; [left|right; now apply Told].
    apply (proj1 (forallb_forall _ _) X), contains_iff in Asked. destruct (put_stored _ _ _ W p Asked) as (v & H & Y).
    rewrite E in Y. exists v. split; [now apply Same|exact Y].
  - cbn [run_beside]. apply andb_true_iff in A as (A & A'). destruct (Z z (or_introl eq_refl)) as (Z1 & Z2).
    destruct (still_under_way s w f z p B A Z1 Z2 L) as (w' & E & H & Ask & _). pose proof (beside_step_fits _ _ _ B A) as B'.
    pose proof (beside_pages (s, Some w) z) as Pg. destruct (do_beside (s, Some w) z) as (s', w''). cbn [fst snd] in *. subst w''.
    apply IH; auto; [intros y Y; apply Z; now right|now rewrite Pg|now rewrite Ask|now rewrite H].
Qed.

(** What an fsync has covered is read again, also if crashes come between any two steps of a later write-back, and mounts stop at any of
    their operations before one works. *)
Theorem synced_pages_survive_beside n m xs k ys p c :
  assumed_of_all_beside (start n m, None) (xs ++ Call (Fsync k) :: ys) = true -> p < n ->
  let b := fst (run_beside (start n m, None) empty xs) in
  let t := fst (run_beside (start n m, None) empty (xs ++ Call (Fsync k) :: ys)) in
  snd b = None -> up (fst b) = true -> read (fst b) p = Some c -> snd (do_fsync (fst b) k) = true ->
  (forall y, In y ys -> y <> Call (Write p) /\ y <> Call SecondLife) ->
  up (fst t) = true -> read (fst t) p = Some c.
Proof.
  intros A L b t. unfold t. rewrite run_beside_app. intros Alone Up R Ok No Ut.
  pose proof A as A'. rewrite (assumed_beside_app _ _ _ empty) in A'. apply andb_true_iff in A' as (A1 & A2). fold b in A2, Ut |- *.
  pose proof (run_beside_fits xs _ _ (start_beside n m) A1) as B. fold b in B.
  pose proof (run_beside_pages xs (start n m, None) empty) as P. fold b in P. cbn in P. rewrite <- P in L.
  set (f := snd (run_beside (start n m, None) empty xs)) in *. clearbody f b. clear t A A1 P xs.
  destruct b as (s, w). cbn [fst snd] in *. subst w. cbn [run_beside assumed_of_all_beside] in *. apply andb_true_iff in A2 as (A2 & A3).
  pose proof (beside_step_fits _ _ _ B A2) as B2. destruct B as (F & _ & _). cbn [fst snd] in F.
  rewrite (read_newest _ _ _ F Up L) in R. injection R as R.
  assert (S : since_sync (flat_beside (s, None) f (Call (Fsync k))) p = [c]).
  { cbn [flat_beside may_be_called fst snd flat_step]. rewrite Up, Ok. cbn [andb all_synced since_sync]. now rewrite R. }
  pose proof (beside_pages (s, None) (Call (Fsync k))) as P. cbn [fst] in P. rewrite <- P in L.
  set (b := do_beside (s, None) (Call (Fsync k))) in *. set (g := flat_beside (s, None) f (Call (Fsync k))) in *.
  clearbody b g. clear R Ok Up F P A2 s f k n m. revert b g B2 A3 L S Ut. induction ys as [|y ys IH]; intros b g B A L S Up.
  - cbn [run_beside fst] in *. destruct B as (F & _ & _). rewrite (read_newest _ _ _ F Up L). f_equal.
    pose proof (newest_counts _ _ _ _ _ _ _ F p L) as I. rewrite S in I. now destruct I as [<-|[]].
  - cbn [run_beside] in *. apply andb_true_iff in A as (A & A'). pose proof (beside_step_fits _ _ _ B A) as B'.
    apply (IH (fun z I => No z (or_intror I)) _ _ B' A'); [now rewrite beside_pages| |exact Up].
    destruct (No y (or_introl eq_refl)) as (N1 & N2). destruct y as [x|ps|q|q whole|works forgets| |m x]; cbn [flat_beside]; try exact S.
    destruct (may_be_called (snd b) x); [|exact S]. destruct B as (F & _ & _).
    destruct x as [q|q|q i v l|q|i|ps q whole part v h|q| |loses keeps kept u e|u what| |mm]; cbn [flat_step]; try exact S; try contradiction.
    + destruct (up (fst b) && (q <? pages (fst b))); [|exact S]. cbn [since_sync]. rewrite update_other; [exact S|]. intros ->. now apply N1.
    + destruct (up (fst b) && _); [|exact S]. cbn [all_synced since_sync]. pose proof (newest_counts _ _ _ _ _ _ _ F p L) as I.
      rewrite S in I. now destruct I as [->|[]].
    + destruct (negb (up (fst b)) && _); exact S.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The tiers refine a flat file with a durable prefix *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves WriteBack Restart.

Lemma step_fits s f x : fits s f -> assumed s x = true -> fits (run_step s x) (flat_step s f x).
Proof.
  intros F A. destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |m]; cbn [run_step flat_step].
  - destruct (up s) eqn:Up; [|exact F]. destruct (p <? pages s) eqn:L; [apply Nat.ltb_lt in L; now apply write_fits|exact F].
  - destruct (up s) eqn:Up; [|exact F]. destruct (p <? pages s) eqn:L; [apply Nat.ltb_lt in L; now apply load_fits|exact F].
  - destruct (up s) eqn:Up; [now apply to_ssd_fits|exact F].
  - destruct (up s) eqn:Up; [now apply drop_fits|exact F].
  - destruct (up s) eqn:Up; [now apply drop_slot_fits|exact F].
  - destruct (up s) eqn:Up; [now apply write_back_fits|exact F].
  - destruct (up s) eqn:Up; [now apply fsync_fits|exact F].
  - now apply kill_fits.
  - now apply power_loss_fits.
  - destruct (up s) eqn:Up; [exact F|now apply exchange_fits].
  - destruct (up s) eqn:Up; [exact F|now apply second_life_fits with (f := f)].
  - destruct (up s) eqn:Up; [exact F|]. pose proof (mount_fits s f m F Up A) as G. cbn [flat_step] in G. rewrite Up in G. exact G.
Qed.

Lemma run_both_fits xs : forall s f, fits s f -> assumed_of_all s xs = true -> let '(t, g) := run_both s f xs in fits t g.
Proof.
  induction xs as [|x xs IH]; intros s f F A; [exact F|]. apply andb_true_iff in A as (A & B). apply IH; [now apply step_fits|exact B].
Qed.

Lemma run_both_is_run xs : forall s f, fst (run_both s f xs) = run s xs.
Proof. induction xs as [|x xs IH]; intros s f; [reflexivity|]. apply IH. Qed.

Lemma run_both_app xs ys : forall s f, run_both s f (xs ++ ys) = let '(t, g) := run_both s f xs in run_both t g ys.
Proof. induction xs as [|x xs IH]; intros s f; [reflexivity|]. apply IH. Qed.

Lemma assumed_app xs ys : forall s, assumed_of_all s (xs ++ ys) = assumed_of_all s xs && assumed_of_all (run s xs) ys.
Proof. induction xs as [|x xs IH]; intros s; [reflexivity|]. cbn [app assumed_of_all]. now rewrite IH, andb_assoc. Qed.

Lemma step_pages s x : pages (run_step s x) = pages s.
Proof.
  destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |m]; cbn [run_step]; try reflexivity;
    destruct (up s); try reflexivity.
  - destruct (p <? pages s); [|reflexivity]. unfold do_write. now destruct (forget s p).
  - destruct (p <? pages s); [|reflexivity]. unfold do_load. destruct (memory s p); [reflexivity|now destruct (read s p)].
  - unfold do_to_ssd. destruct (memory s p); [|reflexivity]. destruct (slot_of s p); [reflexivity|now destruct (in_use s && may_take s i)].
  - unfold do_drop. destruct (memory s p) as [f|]; [now destruct (frame_dirty f)|reflexivity].
  - unfold do_drop_slot. destruct (held s i) as [e|]; [now destruct (slot_dirty e)|reflexivity].
  - unfold do_write_back, try_write_back. pose proof (take_off_same (with_seen s [drawn s k]) k) as (_ & P & _). cbv zeta in P.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). cbn [fst] in P. destruct off; [|exact P].
    assert (Q : pages (sync_store (write_store t (whole ++ part)) w g) = pages s).
    { change (pages (write_store t (whole ++ part)) = pages s). now rewrite (proj2 (write_store_same (whole ++ part) t)). }
    now destruct (w && forallb (contains whole) ps).
  - unfold do_fsync. pose proof (take_off_same (with_seen s [drawn s k]) k) as (_ & P & _). cbv zeta in P.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). exact P.
  - unfold do_mount. destruct (store_syncs m); [|reflexivity]. unfold mount_control. destruct (control_works m);
      unfold mount_ssd; now destruct (reads_super m && super_works m).
Qed.

Lemma run_pages xs : forall s, pages (run s xs) = pages s.
Proof. induction xs as [|x xs IH]; intros s; [reflexivity|]. cbn [run fold_left]. unfold run in IH. now rewrite IH, step_pages. Qed.

(** After any steps (failures, kills, power losses, mounts with or without their SSD, other SSDs and a second life among
    them) a read gives what the flat file has. *)
Theorem reads_give_the_newest n m xs p : assumed_of_all (start n m) xs = true ->
  let '(s, f) := run_both (start n m) empty xs in up s = true -> p < n -> read s p = Some (newest f p).
Proof.
  intros A. pose proof (run_both_fits xs _ _ (start_fits n m) A) as F. pose proof (run_pages xs (start n m)) as P.
  rewrite <- (run_both_is_run xs _ empty) in P. destruct (run_both (start n m) empty xs) as (s, f). intros Up L.
  apply read_newest; auto. cbn in P. rewrite P. exact L.
Qed.

(** After any steps, as soon as the cache is up, each page has what it held at the last successful fsync, or what was
    written since: nothing that an fsync has covered is lost, and nothing comes back that it has not said. *)
Theorem nothing_is_lost_and_nothing_comes_back n m xs p : assumed_of_all (start n m) xs = true ->
  let '(s, f) := run_both (start n m) empty xs in
  up s = true -> p < n -> exists v, read s p = Some v /\ In v (since_sync f p).
Proof.
  intros A. pose proof (reads_give_the_newest n m xs p A) as R. pose proof (run_both_fits xs _ _ (start_fits n m) A) as F.
  pose proof (run_pages xs (start n m)) as P. rewrite <- (run_both_is_run xs _ empty) in P.
  destruct (run_both (start n m) empty xs) as (s, f). intros Up L. exists (newest f p). split; [now apply R|].
  apply (newest_counts _ _ _ _ _ _ _ F). cbn in P. now rewrite P.
Qed.

(** A page that is not written after a successful fsync keeps what that fsync has covered, whatever follows: kills and
    power losses, mounts that fail at any operation, slots that cannot be read, SSDs of other stores or of earlier mounts. *)
Theorem fsynced_pages_survive n m xs k ys p c : assumed_of_all (start n m) (xs ++ Fsync k :: ys) = true -> p < n ->
  let s := run (start n m) xs in let t := run (start n m) (xs ++ Fsync k :: ys) in
  up s = true -> read s p = Some c -> snd (do_fsync s k) = true ->
  (forall y, In y ys -> y <> Write p /\ y <> SecondLife) -> up t = true -> read t p = Some c.
Proof.
  intros A L s t Us R Ok No Ut.
  assert (Keeps : forall zs u g, fits u g -> assumed_of_all u zs = true -> p < pages u -> since_sync g p = [c] ->
    (forall y, In y zs -> y <> Write p /\ y <> SecondLife) -> since_sync (snd (run_both u g zs)) p = [c]).
  { induction zs as [|z zs IH]; intros u g Fu Au Lu E N; [exact E|]. apply andb_true_iff in Au as (A1 & A2).
    cbn [run_both]. apply IH; [now apply step_fits|exact A2|now rewrite step_pages| |intros y Y; apply N; now right].
    destruct (N z (or_introl eq_refl)) as (N1 & N2). destruct z as [q|q|q i w l|q|i|ps k' whole part w g'|k'| |loses keeps kept u' c'|u' what| |mm];
      cbn [flat_step]; try exact E; try contradiction.
    - destruct (up u && (q <? pages u)); [|exact E]. cbn. rewrite update_other; [exact E|]. intros ->. now apply N1.
    - destruct (up u && _); [|exact E]. cbn. pose proof (newest_counts _ _ _ _ _ _ _ Fu p Lu) as I. rewrite E in I. now destruct I as [->|[]].
    - destruct (negb (up u) && _); exact E. }
  pose proof (reads_give_the_newest n m _ p A) as Rt. rewrite assumed_app in A. apply andb_true_iff in A as (A1 & A2).
  cbn [assumed_of_all] in A2. apply andb_true_iff in A2 as (A2 & A3).
  pose proof (reads_give_the_newest n m xs p A1) as Rs. pose proof (run_both_fits xs _ _ (start_fits n m) A1) as F.
  pose proof (nothing_is_lost_and_nothing_comes_back n m (xs ++ Fsync k :: ys) p) as Last.
  rewrite assumed_app, A1 in Last. cbn [assumed_of_all andb] in Last. rewrite A2, A3 in Last. specialize (Last eq_refl).
  rewrite run_both_app in Rt, Last. pose proof (run_both_is_run xs (start n m) empty) as Es. fold s in Es.
  pose proof (run_both_is_run (xs ++ Fsync k :: ys) (start n m) empty) as Et. rewrite run_both_app in Et. fold t in Et.
  destruct (run_both (start n m) empty xs) as (s', f) eqn:B. cbn [fst] in Es. subst s'.
  specialize (Rs Us L). rewrite R in Rs. injection Rs as Rs.
  assert (Ls : p < pages s) by (unfold s; now rewrite run_pages).
  cbn [run_both] in Rt, Et, Last. pose proof (Keeps ys (run_step s (Fsync k)) (flat_step s f (Fsync k))) as K.
  specialize (K (step_fits s f (Fsync k) F A2) A3). rewrite step_pages in K. specialize (K Ls).
  cbn [flat_step] in K. rewrite Us, Ok in K. cbn [andb all_synced since_sync] in K. rewrite <- Rs in K. specialize (K eq_refl No).
  cbn [flat_step] in Rt, Et, Last. rewrite Us, Ok in Rt, Et, Last. cbn [andb] in Rt, Et, Last.
  destruct (run_both (run_step s (Fsync k)) (all_synced f) ys) as (t', h). cbn [fst snd] in *. subst t'.
  destruct (Last Ut L) as (v & Rv & I). rewrite K in I. destruct I as [<-|[]]. exact Rv.
Qed.

(** After a successful fsync no device has anything else than what it has covered: neither the store, nor a slot that a
    restart may trust. *)
Theorem an_fsync_leaves_nothing_else n m xs k : assumed_of_all (start n m) (xs ++ [Fsync k]) = true ->
  let '(s, f) := run_both (start n m) empty xs in let t := run_step s (Fsync k) in
  up s = true -> snd (do_fsync s k) = true ->
  (forall p v, p < n -> In v (store_may t p) -> v = newest f p) /\
  (forall i e, may_be_trusted t t i e -> slot_contents e = newest f (slot_page e)).
Proof.
  intros A. rewrite assumed_app in A. apply andb_true_iff in A as (A & B). pose proof (run_both_fits xs _ _ (start_fits n m) A) as F.
  rewrite <- (run_both_is_run xs (start n m) empty) in B. pose proof (run_pages xs (start n m)) as P. rewrite <- (run_both_is_run xs _ empty) in P.
  destruct (run_both (start n m) empty xs) as (s, f). cbn [fst] in B, P. cbn in B. rewrite andb_true_r in B. cbv zeta. intros Up Ok.
  cbn [run_step]. rewrite Up. destruct (fsync_fits s f k F Up B) as (G & U & S). destruct (S Ok) as (S1 & S2). rewrite Ok in *. split.
  - intros p v L. apply (clean_stored _ _ G U); [|apply S2]. pose proof (step_pages s (Fsync k)) as Q. cbn [run_step] in Q. rewrite Up in Q.
    rewrite Q, P. exact L.
  - exact S1.
Qed.

(** While the SSD is not in use, set aside by a mount or retired, no restart trusts anything on it, whatever of the mount's
    writes has landed: unless the control file could not be told, and then nothing is written to the store. *)
Theorem an_unused_ssd_is_not_trusted n m xs : assumed_of_all (start n m) xs = true ->
  let s := run (start n m) xs in up s = true -> in_use s = false -> retiring s = false -> forall i e, ~ may_be_trusted s s i e.
Proof.
  intros A s. pose proof (run_both_fits xs _ _ (start_fits n m) A) as F. pose proof (run_both_is_run xs (start n m) empty) as E.
  fold s in E. destruct (run_both (start n m) empty xs) as (s', f). cbn [fst] in E. subst s'. exact (told _ _ F).
Qed.

(** If a write-back does not get all that it was asked to write to the store, and synced, then each page that it did not
    get there stays dirty, and the next fsync gives an error. *)
Theorem a_failed_write_back_is_told n m xs ps k whole part w g : assumed_of_all (start n m) (xs ++ [WriteBack ps k whole part w g]) = true ->
  let s := run (start n m) xs in
  let '(_, clean, done) := try_write_back (with_seen s [drawn s k]) ps k whole part w g in
  let t := do_write_back s ps k whole part w g in
  up s = true ->
  (forall p, dirty s p = true -> ~ In p clean -> dirty t p = true) /\
  (done = false -> failed t = true /\ forall k', snd (do_fsync t k') = false).
Proof.
  intros A s. rewrite assumed_app in A. apply andb_true_iff in A as (A & B). fold s in B. cbn in B. rewrite andb_true_r in B.
  pose proof (run_both_fits xs _ _ (start_fits n m) A) as F. pose proof (run_both_is_run xs (start n m) empty) as E. fold s in E.
  destruct (run_both (start n m) empty xs) as (s', f). cbn [fst] in E. subst s'.
  pose proof (write_back_fits s f ps k whole part w g F) as G. unfold do_write_back in *.
  pose proof (try_write_back_same (with_seen s [drawn s k]) ps k whole part w g) as Same. cbv zeta in Same.
  destruct (try_write_back (with_seen s [drawn s k]) ps k whole part w g) as ((u, clean), done). cbn [fst] in Same.
  destruct Same as (M & _ & H). cbv zeta. intros Up. destruct (G Up B) as (Gt & _). split.
  - intros p D N. apply (dirty_iff _ _ _ Gt). assert (K : contains clean p = false).
    { apply not_true_is_false. intros K. now apply N, contains_iff. }
    apply (dirty_iff _ _ _ F) in D as [(x & Hx & Dx)|(i & e & He & P & De)].
    + left. exists x. change (memory s) with (memory (with_seen s [drawn s k])) in Hx. rewrite <- M in Hx. destruct done; cbn; now rewrite Hx, K.
    + right. exists i, e. specialize (H i e He De). destruct done; cbn; rewrite H, P, K; auto.
  - intros ->. split; [reflexivity|]. intros k'. unfold do_fsync. cbn [failed with_failed with_cache cache_of].
    match goal with |- context [take_off ?x k'] => destruct (take_off x k') as (v, off) end. cbn. now rewrite andb_false_r.
Qed.

(** ** What is assumed can be met *)

(** For each id there is a fresh nonce, at any time. *)
Theorem a_fresh_nonce_exists s id : exists n, is_fresh s (Mark id n) = true.
Proof.
  exists (S (list_max (map mark_nonce (seen s)))). apply is_fresh_iff. intros I.
  assert (L : list_max (map mark_nonce (seen s)) <= list_max (map mark_nonce (seen s))) by constructor.
  apply list_max_le in L. rewrite Forall_forall in L. specialize (L (S (list_max (map mark_nonce (seen s))))).
  assert (X : In (S (list_max (map mark_nonce (seen s)))) (map mark_nonce (seen s))) by (apply in_map_iff; eexists; split; [|exact I]; reflexivity).
  apply L in X. lia.
Qed.

(** A power loss drops the kernel's cache: what is read then is durable. *)
Theorem a_power_loss_is_remembered s loses keeps kept u c m : remembers (power_loss s loses keeps kept u c) m = true.
Proof.
  unfold remembers. apply andb_true_iff. split; [reflexivity|]. apply forallb_forall. intros p _. cbn. now rewrite Nat.eqb_refl, orb_true_r.
Qed.

(** A mount that writes again whatever a failed sync may have made the kernel forget may follow any kill. *)
Theorem a_mount_that_writes_again_remembers s m : in_doubt m = true -> (forall p, p < pages s -> In p (again m)) -> remembers s m = true.
Proof.
  intros D A. unfold remembers. rewrite D, orb_true_r. apply forallb_forall. intros p I. apply in_seq in I.
  rewrite (proj2 (contains_iff (again m) p)); [reflexivity|]. apply A. lia.
Qed.

(** The steps after which the kernel has forgotten what a failed sync was to write. *)
Definition forgets (x : step) : bool :=
  match x with
  | WriteBack _ k _ _ syncs forgets =>
      negb syncs && forgets || match k with NotTaken _ forgets _ _ => forgets | _ => false end
  | Fsync (NotTaken _ forgets _ _) => forgets
  | Mount m => negb (store_syncs m) && store_forgets m
  | _ => false
  end.
Definition clear (s : state) : Prop :=
  forgot s = false /\ forall p v, unsynced s p = false -> In v (store_may s p) -> v = store s p.

Lemma clear_is_remembered s m : clear s -> remembers s m = true.
Proof.
  intros (X & Y). unfold remembers. rewrite X. cbn. apply forallb_forall. intros p _.
  destruct (unsynced s p) eqn:U; [now rewrite orb_true_r|]. rewrite orb_false_r. apply orb_true_iff. right.
  apply forallb_forall. intros v H. apply Nat.eqb_eq. symmetry. now apply Y.
Qed.

Lemma take_off_clear s k : clear s -> match k with NotTaken _ forgets _ _ => forgets | _ => false end = false -> clear (fst (take_off s k)).
Proof.
  intros (X & Y) N. destruct k as [w n|n g l m]; cbn [take_off fst].
  - destruct (in_use s); [destruct w|destruct (retiring s)]; split; assumption.
  - subst g. destruct (in_use s); [|destruct (retiring s)]; (split; [|exact Y]); cbn; now rewrite ?X.
Qed.

Lemma write_store_clear ps : forall s, clear s -> clear (write_store s ps).
Proof.
  induction ps as [|p ps IH]; intros s C; [exact C|]. apply IH. unfold write_page. destruct (read s p) as [v|]; [|exact C].
  destruct (p <? pages s); [|exact C]. destruct C as (X & Y). split; [exact X|]. intros q w. cbn -[update]. at_key q p; [discriminate|apply Y].
Qed.

Lemma sync_store_clear s w g : clear s -> negb w && g = false -> clear (sync_store s w g).
Proof.
  intros (X & Y) N. split; [exact X|]. intros p v. cbn. destruct w; cbn in *; [|subst g; apply Y].
  intros _. destruct (unsynced s p) eqn:U; [now intros [<-|[]]|now apply Y].
Qed.

(** With a kernel that writes later what a failed sync was to write, a mount may follow any kill. *)
Theorem what_is_not_forgotten_is_remembered n m xs x : forallb (fun x => negb (forgets x)) xs = true ->
  remembers (run (start n m) xs) x = true.
Proof.
  intros N. apply clear_is_remembered. assert (C : clear (start n m)) by (split; [reflexivity|now intros p v _ [<-|[]]]).
  clear x. revert N C. generalize (start n m). induction xs as [|x xs IH]; intros s N C; [exact C|].
  cbn [forallb] in N. apply andb_true_iff in N as (N & Ns). apply negb_true_iff in N. apply IH; [exact Ns|]. clear IH Ns xs.
  destruct x as [p|p|p i w l|p|i|ps k whole part w g|k| |loses keeps kept u c|u what| |mm]; cbn [run_step]; try exact C;
    try (destruct (up s); [|exact C]).
  - destruct (p <? pages s); [|exact C]. unfold do_write. now destruct (forget s p).
  - destruct (p <? pages s); [|exact C]. unfold do_load. destruct (memory s p); [exact C|now destruct (read s p)].
  - unfold do_to_ssd. destruct (memory s p); [|exact C]. destruct (slot_of s p); [exact C|now destruct (in_use s && may_take s i)].
  - unfold do_drop. destruct (memory s p) as [f|]; [now destruct (frame_dirty f)|exact C].
  - unfold do_drop_slot. destruct (held s i) as [e|]; [now destruct (slot_dirty e)|exact C].
  - cbn [forgets] in N. apply orb_false_iff in N as (N1 & N2). unfold do_write_back, try_write_back.
    pose proof (take_off_clear (with_seen s [drawn s k]) k C N2) as T. destruct (take_off (with_seen s [drawn s k]) k) as (t, off).
    cbn [fst] in T. destruct off; [|exact T]. pose proof (sync_store_clear _ w g (write_store_clear (whole ++ part) t T) N1) as S.
    now destruct (w && forallb (contains whole) ps).
  - pose proof (take_off_clear (with_seen s [drawn s k]) k C N) as T. unfold do_fsync.
    destruct (take_off (with_seen s [drawn s k]) k) as (t, off). exact T.
  - split; [reflexivity|]. now intros p v _ [<-|[]].
  - destruct (up s); [exact C|]. split; [reflexivity|apply C].
  - destruct (up s); [exact C|]. split; [apply C|]. now intros p v _ [<-|[]].
  - destruct (up s); [exact C|]. cbn [forgets] in N. unfold do_mount.
    assert (Again : clear (written_again (with_seen s [mark_of s mm; other_mark_of s mm]) (again mm))).
    { split; [apply C|]. intros p v. cbn. destruct (contains (again mm) p); [discriminate|apply C]. }
    pose proof (sync_store_clear _ (store_syncs mm) (store_forgets mm) Again N) as (X & Y).
    destruct (store_syncs mm); [|now split]. unfold mount_control, mount_ssd.
    destruct (control_works mm), (reads_super mm && super_works mm); split; auto.
Qed.

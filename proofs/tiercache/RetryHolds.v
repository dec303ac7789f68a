(* SPDX-License-Identifier: PostgreSQL *)
(** * Wherever a mount stops, the devices fit the flat file, so that the next mount finds what was promised *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves WriteBack Restart Refines Retry.

Lemma stop_fits s f m x : fits s f -> up s = false -> assumed_retry s (Stops m x) = true -> fits (mount_until s m x) f.
Proof.
  intros F Down A. cbn [assumed_retry] in A. apply andb_true_iff in A as (A & Two). apply andb_true_iff in A as (N1 & N2).
  apply is_fresh_iff in N1, N2. apply negb_true_iff, not_true_iff_false in Two. pose proof (down_is_empty _ _ F Down) as Empty.
  set (drawn := with_seen s [mark_of s m; other_mark_of s m]).
  set (t := sync_store (written_again drawn (again m)) true (store_forgets m)).
  assert (Fd : fits drawn f) by now apply with_seen_fits.
  assert (Ft : fits t f) by now apply sync_store_fits, written_again_fits.
  assert (Fresh_super : forall u, In (Some u) (super_may t) -> super_mark u <> mark_of t m /\ super_mark u <> other_mark_of t m).
  { intros u Hu. apply (met_super _ _ _ _ _ _ _ F) in Hu as (Hu & _). split; intros E; [apply N1|apply N2]; unfold mark_of, other_mark_of, id_of in *;
      cbn in E; rewrite <- E; exact Hu. }
  assert (Fresh_slot : forall i g e, In (Some (g, e)) (disk_may t i) -> g <> mark_of t m).
  { intros i g e H E. subst g. apply (met_slot _ _ _ _ _ _ _ F) in H. now apply N1. }
  assert (Fresh_control : ~ In (Some (mark_of t m)) (control_may t)).
  { intros H. apply (met_control _ _ _ _ _ _ _ F) in H. now apply N1. }
  assert (Differ : mark_of t m <> other_mark_of t m) by (intros E; apply Two; now apply same_mark_iff).
  assert (Met : In (mark_of t m) (seen t) /\ In (other_mark_of t m) (seen t)) by (cbn; auto).
  assert (D : forall uses c, In (control c) (control_may c) ->
    (forall a, In (Some a) (control_may c) -> a = told_by t m uses \/ In (Some a) (control_may t)) ->
    fits (with_control (with_ssd_of t (mount_ssd t m uses)) c) f).
  { intros uses c Now C. apply down_fits; [exact Empty|].
    exact (mount_devices t f m Ft Fresh_super Fresh_slot Fresh_control Differ Met uses c f (newest_counts _ _ _ _ _ _ _ Ft) eq_refl Now C). }
  assert (Same : forall uses, fits (with_ssd_of t (mount_ssd t m uses)) f).
  { intros uses. exact (D uses t (control_now _ _ _ _ _ _ _ Ft) (fun a H => or_intror H)). }
  destruct x as [|ps|g| | | |lands]; cbn [mount_until]; fold drawn; fold t.
  - exact Fd.
  - now apply written_again_fits.
  - now apply sync_store_fits, written_again_fits.
  - exact Ft.
  - apply Same.
  - destruct (reads_super m); [apply Same|exact Ft].
  - apply D; cbn [control control_may].
    + destruct lands; [now left|right; apply (control_now _ _ _ _ _ _ _ F)].
    + intros a [[= <-]|H]; [now left|now right].
Qed.

Lemma retry_fits s f y : fits s f -> assumed_retry s y = true -> fits (do_retry s y) (flat_retry s f y).
Proof.
  intros F A. destruct y as [x|m x]; [now apply step_fits|]. cbn [do_retry flat_retry]. destruct (up s) eqn:Up; [exact F|].
  now apply stop_fits.
Qed.

Lemma run_retries_fits ys : forall s f, fits s f -> assumed_of_all_retries s ys = true ->
  fits (fst (run_retries s f ys)) (snd (run_retries s f ys)).
Proof.
  induction ys as [|y ys IH]; intros s f F A; [exact F|]. apply andb_true_iff in A as (A & B). cbn [run_retries].
  apply IH; [now apply retry_fits|exact B].
Qed.

Lemma retry_pages s y : pages (do_retry s y) = pages s.
Proof.
  destruct y as [x|m x]; [apply step_pages|]. cbn [do_retry]. destruct (up s); [reflexivity|].
  destruct x; cbn [mount_until]; try reflexivity. now destruct (reads_super m).
Qed.

Lemma run_retries_pages ys : forall s f, pages (fst (run_retries s f ys)) = pages s.
Proof. induction ys as [|y ys IH]; intros s f; [reflexivity|]. cbn [run_retries]. now rewrite IH, retry_pages. Qed.

Lemma run_retries_app xs ys : forall s f, run_retries s f (xs ++ ys) = run_retries (fst (run_retries s f xs)) (snd (run_retries s f xs)) ys.
Proof. induction xs as [|x xs IH]; intros s f; [reflexivity|]. apply IH. Qed.

Lemma assumed_retries_app xs ys : forall s f,
  assumed_of_all_retries s (xs ++ ys) = assumed_of_all_retries s xs && assumed_of_all_retries (fst (run_retries s f xs)) ys.
Proof.
  induction xs as [|x xs IH]; intros s f; [reflexivity|]. cbn [app assumed_of_all_retries run_retries].
  now rewrite (IH _ (flat_retry s f x)), andb_assoc.
Qed.

(** However many mounts stop, each at any of its operations, because of an error or a crash: as soon as one works, each page has what it
    held at the last successful fsync, or what was written since, and no older contents. *)
Theorem mounts_that_stop_lose_nothing n m ys p : assumed_of_all_retries (start n m) ys = true ->
  let '(s, f) := run_retries (start n m) empty ys in
  up s = true -> p < n -> read s p = Some (newest f p) /\ In (newest f p) (since_sync f p).
Proof.
  intros A. pose proof (run_retries_fits ys _ _ (start_fits n m) A) as F. pose proof (run_retries_pages ys (start n m) empty) as P.
  destruct (run_retries (start n m) empty ys) as (s, f). cbn [fst snd] in *. intros Up L. cbn in P. rewrite <- P in L.
  split; [now apply read_newest|now apply (newest_counts _ _ _ _ _ _ _ F)].
Qed.

(** A page that is not written after a successful fsync keeps what that fsync has covered, though mounts stop at any of their operations
    before one works. *)
Theorem synced_pages_survive_mounts_that_stop n m xs k ys p c :
  assumed_of_all_retries (start n m) (xs ++ Step (Fsync k) :: ys) = true -> p < n ->
  let s := fst (run_retries (start n m) empty xs) in
  let t := fst (run_retries (start n m) empty (xs ++ Step (Fsync k) :: ys)) in
  up s = true -> read s p = Some c -> snd (do_fsync s k) = true ->
  (forall y, In y ys -> y <> Step (Write p) /\ y <> Step SecondLife) ->
  up t = true -> read t p = Some c.
Proof.
  intros A L s t. unfold t. rewrite run_retries_app. intros Up R Ok No Ut.
  pose proof A as A'. rewrite (assumed_retries_app _ _ _ empty) in A'. apply andb_true_iff in A' as (A1 & A2). fold s in A2, Ut |- *.
  pose proof (run_retries_fits xs _ _ (start_fits n m) A1) as F. fold s in F.
  pose proof (run_retries_pages xs (start n m) empty) as P. fold s in P. cbn in P. rewrite <- P in L.
  set (f := snd (run_retries (start n m) empty xs)) in *. clearbody f s. clear t A A1 P xs.
  cbn [run_retries assumed_of_all_retries] in *. apply andb_true_iff in A2 as (A2 & A3).
  pose proof (retry_fits s f _ F A2) as F2. rewrite (read_newest _ _ _ F Up L) in R. injection R as R.
  assert (S : since_sync (flat_retry s f (Step (Fsync k))) p = [c]).
  { cbn [flat_retry flat_step]. rewrite Up, Ok. cbn [andb all_synced since_sync]. now rewrite R. }
  pose proof (retry_pages s (Step (Fsync k))) as P. rewrite <- P in L.
  set (b := do_retry s (Step (Fsync k))) in *. set (g := flat_retry s f (Step (Fsync k))) in *.
  clearbody b g. clear R Ok Up F P A2 s f k n m. revert b g F2 A3 L S Ut. induction ys as [|y ys IH]; intros b g F A L S Up.
  - cbn [run_retries fst] in *. rewrite (read_newest _ _ _ F Up L). f_equal.
    pose proof (newest_counts _ _ _ _ _ _ _ F p L) as I. rewrite S in I. now destruct I as [<-|[]].
  - cbn [run_retries] in *. apply andb_true_iff in A as (A & A'). pose proof (retry_fits _ _ _ F A) as F'.
    apply (IH (fun z I => No z (or_intror I)) _ _ F' A'); [now rewrite retry_pages| |exact Up].
    destruct (No y (or_introl eq_refl)) as (N1 & N2). destruct y as [x|m x]; cbn [flat_retry]; [|exact S].
    destruct x as [q|q|q i v l|q|i|ps q whole part v h|q| |loses keeps kept u e|u what| |mm]; cbn [flat_step]; try exact S; try contradiction.
    + destruct (up b && (q <? pages b)); [|exact S]. cbn [since_sync]. rewrite update_other; [exact S|]. intros ->. now apply N1.
    + destruct (up b && _); [|exact S]. cbn [all_synced since_sync]. pose proof (newest_counts _ _ _ _ _ _ _ F p L) as I.
      rewrite S in I. now destruct I as [->|[]].
    + destruct (negb (up b) && _); exact S.
Qed.

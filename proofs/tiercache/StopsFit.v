(* SPDX-License-Identifier: PostgreSQL *)
(** * Wherever a mount stops, the devices fit the flat file, so that the next mount finds what was promised *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves WriteBack Restart Refines Stops.

Lemma stop_fits s f m x : fits s f -> up s = false -> assumed_stop s m = true -> fits (mount_until s m x) f.
Proof.
  intros F Down A. apply andb_true_iff in A as (A & Two). apply andb_true_iff in A as (N1 & N2).
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

Lemma mount_until_same s m x : pages (mount_until s m x) = pages s /\ next (mount_until s m x) = next s.
Proof. destruct x; cbn [mount_until]; try (now split). now destruct (reads_super m). Qed.

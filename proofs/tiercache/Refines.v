(* SPDX-License-Identifier: PostgreSQL *)
(** * The tiers refine a flat file with a durable prefix *)
From Coq Require Import List Bool Arith Lia.
From Pgquern.tiercache Require Import Tiers FlatFile Fits Moves WriteBack Restart.
Import ListNotations.

Lemma step_fits s f x : fits s f -> fits (run_step s x) (flat_step s f x).
Proof.
  intros F. destruct x as [p|p|p i w|p|i|ps w o| |loses keeps kept]; cbn [run_step flat_step].
  - destruct (p <? pages s) eqn:L; [apply Nat.ltb_lt in L; now apply write_fits|exact F].
  - destruct (p <? pages s) eqn:L; [apply Nat.ltb_lt in L; now apply load_fits|exact F].
  - now apply to_ssd_fits.
  - now apply drop_fits.
  - now apply drop_slot_fits.
  - now apply write_back_fits.
  - now apply fsync_fits.
  - now apply crash_fits.
Qed.

Lemma run_both_fits xs : forall s f, fits s f -> let '(t, g) := run_both s f xs in fits t g.
Proof. induction xs as [|x xs IH]; intros s f F; [exact F|]. apply IH. now apply step_fits. Qed.

(** After any steps, failures and crashes among them, a read gives what the flat file has. *)
Theorem reads_give_the_newest n m xs p :
  let '(s, f) := run_both (start n m) empty xs in read s p = Some (newest f p).
Proof.
  pose proof (run_both_fits xs _ _ (start_fits n m)) as F. destruct (run_both (start n m) empty xs). now apply read_newest.
Qed.

(** A crash at any point, with the SSD or without, leaves of each page what it held at the last successful fsync, or
    what was written since: the tiers are a flat file with a durable prefix. *)
Theorem a_crash_leaves_what_was_synced_or_later n m xs loses keeps kept p :
  let '(s, f) := run_both (start n m) empty xs in
  exists v, read (do_crash s loses keeps kept) p = Some v /\ In v (since_sync f p).
Proof.
  pose proof (run_both_fits xs _ _ (start_fits n m)) as F. destruct (run_both (start n m) empty xs) as (s, f).
  pose proof (crash_fits s f loses keeps kept F) as G. eexists. split; [apply (read_newest _ _ p G)|].
  apply (newest_counts _ _ G p).
Qed.

(** A failure is remembered until an fsync tells it, or a crash. *)
Lemma a_failure_is_kept t x : x <> Fsync -> (forall a b c, x <> Crash a b c) -> failed t = true -> failed (run_step t x) = true.
Proof.
  intros N C T. destruct x as [p|p|p i w|p|i|ps w o| |a b c]; [..|now contradiction N|now contradiction (C a b c)]; cbn [run_step].
  - destruct (p <? pages t); [|exact T]. unfold do_write. now destruct (forget t p).
  - destruct (p <? pages t); [|exact T]. unfold do_load. destruct (memory t p); [exact T|now destruct (read t p)].
  - unfold do_to_ssd. destruct (memory t p); [|exact T]. destruct (slot_of t p); [exact T|].
    now destruct (in_use t && may_take t i).
  - unfold do_drop. destruct (memory t p) as [m|]; [|exact T]. now destruct (frame_dirty m).
  - unfold do_drop_slot. destruct (held t i) as [e|]; [|exact T]. now destruct (slot_dirty e).
  - assert (Z : forall qs u, failed u = true -> failed (write_store u qs) = true).
    { induction qs as [|q qs IH]; intros u Hu; [exact Hu|]. apply IH. unfold write_page. now destruct (read u q). }
    assert (V : failed (take_old_off t w) = true) by (unfold take_old_off; now destruct (in_use t && w)).
    assert (Y : failed (fst (fst (try_write_back t ps w o))) = true).
    { destruct o as [whole part syncs|k]; cbn -[write_store]; [now apply Z|now destruct (in_use t)]. }
    unfold do_write_back. destruct (try_write_back t ps w o) as ((u, clean), []); [exact Y|reflexivity].
Qed.

(** What was synced and not written since survives a crash. *)
Theorem synced_pages_survive n m xs loses keeps kept p :
  let '(s, f) := run_both (start n m) empty xs in
  since_sync f p = [newest f p] -> read (do_crash s loses keeps kept) p = read s p.
Proof.
  pose proof (a_crash_leaves_what_was_synced_or_later n m xs loses keeps kept p) as C.
  pose proof (reads_give_the_newest n m xs p) as R. destruct (run_both (start n m) empty xs) as (s, f).
  intros E. rewrite E in C. destruct C as (v & C & [V|[]]). congruence.
Qed.

(** If a write-back does not get all that it was asked to write to the store, and synced, then each page that it did not
    get there stays dirty, and the next fsync gives an error. *)
Theorem a_failed_write_back_is_told n m xs ps w o :
  let '(s, _) := run_both (start n m) empty xs in
  let '(_, clean, done) := try_write_back s ps w o in
  let t := do_write_back s ps w o in
  (forall p, dirty s p = true -> ~ In p clean -> dirty t p = true) /\
  (done = false -> failed t = true /\ snd (do_fsync t) = false).
Proof.
  pose proof (run_both_fits xs _ _ (start_fits n m)) as F. destruct (run_both (start n m) empty xs) as (s, f).
  pose proof (write_back_fits s f ps w o F) as G. unfold do_write_back in *.
  pose proof (try_write_back_same s ps w o) as Same. cbv zeta in Same.
  destruct (try_write_back s ps w o) as ((u, clean), done). cbn [fst] in Same. destruct Same as (M & _ & H). split.
  - intros p D N. apply (dirty_iff _ _ _ G). assert (K : contains clean p = false).
    { apply not_true_is_false. intros K. now apply N, contains_iff. }
    apply (dirty_iff _ _ _ F) in D as [(x & Hx & Dx)|(i & e & He & P & De)].
    + left. exists x. rewrite <- M in Hx. destruct done; cbn; now rewrite Hx, K.
    + right. exists i, e. specialize (H i e He De). destruct done; cbn; rewrite H, P, K; auto.
  - intros ->. now split.
Qed.

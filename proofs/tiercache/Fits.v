(* SPDX-License-Identifier: PostgreSQL *)
(** * What holds between the tiers and the flat file, and what a read then gives *)
From Coq Require Import List Bool Arith Lia.
From Pgquern.tiercache Require Import Tiers FlatFile.
Import ListNotations.

(** What holds between the cache and the flat file after each step. *)
Record fits (s : state) (f : flat) : Prop := {
  newest_counts : forall p, In (newest f p) (since_sync f p);
  memory_newest : forall p m, memory s p = Some m -> p < pages s /\ frame_contents m = newest f p;
  memory_alone : forall p m i e, memory s p = Some m -> frame_dirty m = true -> held s i = Some e -> slot_page e <> p;
  held_newest : forall i e, held s i = Some e ->
    i < slots s /\ slot_page e < pages s /\ slot_contents e = newest f (slot_page e);
  held_on_disk : forall i e, held s i = Some e ->
    exists d, disk s i = Some (Slot (slot_page e) (slot_contents e) d) /\ (slot_dirty e = true -> d = true);
  held_once : forall i j e d, held s i = Some e -> held s j = Some d -> slot_page e = slot_page d -> i = j;
  stale_free : forall i, stale s i = true -> i < slots s /\ held s i = None;
  disk_known : forall i e, disk s i = Some e -> stale s i = true \/
    exists d, held s i = Some d /\ slot_page d = slot_page e /\ slot_contents d = slot_contents e;
  disk_may_now : forall i, In (disk s i) (disk_may s i);
  trusted_fits : trusted s = true -> forall i e, In (Some e) (disk_may s i) ->
    slot_page e < pages s /\ In (slot_contents e) (since_sync f (slot_page e)) /\
    (slot_dirty e = false -> forall v, In v (store_may s (slot_page e)) -> v = slot_contents e);
  store_now : forall p, In (store s p) (store_may s p);
  store_fits : forall p v, In v (store_may s p) -> In v (since_sync f p);
  clean_stored : forall p v, dirty s p = false -> In v (store_may s p) -> v = newest f p;
  (* What a restart might trust is not older than the store, and of a clean page it is the newest. *)
  trusted_not_older : trusted s = true -> forall i e v, In (Some e) (disk_may s i) ->
    In v (store_may s (slot_page e)) -> v <= slot_contents e;
  trusted_clean : trusted s = true -> forall i e, In (Some e) (disk_may s i) -> dirty s (slot_page e) = false ->
    slot_contents e = newest f (slot_page e);
  (* Contents are numbered in the order of the writes. *)
  store_not_newer : forall p v, In v (store_may s p) -> v <= newest f p;
  next_is_new : forall p v, In v (since_sync f p) -> v < next s;
}.

(** ** Where a page is *)

Lemma holds_iff what p : holds what p = true <-> exists e, what = Some e /\ slot_page e = p.
Proof.
  unfold holds. destruct what as [e|]; [rewrite Nat.eqb_eq|]; split; try discriminate; eauto.
  - now intros (d & [= ->] & E).
  - intros (d & [=] & _).
Qed.

Lemma slot_of_some s p i : slot_of s p = Some i -> i < slots s /\ exists e, held s i = Some e /\ slot_page e = p.
Proof.
  intros H. apply find_some in H as (I & H). apply in_seq in I. split; [lia|]. now apply holds_iff.
Qed.

Lemma slot_of_none s p : slot_of s p = None -> forall i e, i < slots s -> held s i = Some e -> slot_page e <> p.
Proof.
  intros H i e L E P. assert (I : In i (seq 0 (slots s))) by (apply in_seq; lia).
  pose proof (find_none _ _ H i I) as F. cbn in F. assert (T : holds (held s i) p = true) by (apply holds_iff; eauto). congruence.
Qed.

Lemma slot_of_held s f p i e : fits s f -> held s i = Some e -> slot_page e = p -> slot_of s p = Some i.
Proof.
  intros F E P. destruct (slot_of s p) as [j|] eqn:O.
  - apply slot_of_some in O as (_ & d & Hd & Pd). f_equal. eapply held_once; eauto. congruence.
  - exfalso. eapply slot_of_none; eauto. now apply (held_newest _ _ F) in E.
Qed.

Lemma dirty_in_memory_iff s p : dirty_in_memory s p = true <-> exists m, memory s p = Some m /\ frame_dirty m = true.
Proof.
  unfold dirty_in_memory. destruct (memory s p) as [m|]; split; try discriminate; eauto.
  - now intros (n & [= ->] & E).
  - intros (n & [=] & _).
Qed.

Lemma dirty_on_ssd_iff s f p : fits s f ->
  dirty_on_ssd s p = true <-> exists i e, held s i = Some e /\ slot_page e = p /\ slot_dirty e = true.
Proof.
  intros F. unfold dirty_on_ssd. split.
  - destruct (slot_of s p) as [i|] eqn:O; [|discriminate]. apply slot_of_some in O as (_ & e & E & P).
    rewrite E. eauto.
  - intros (i & e & E & P & D). erewrite slot_of_held by eauto. now rewrite E.
Qed.

(** Dirty in other words: in memory, or on the SSD. *)
Lemma dirty_iff s f p : fits s f -> dirty s p = true <->
  (exists m, memory s p = Some m /\ frame_dirty m = true) \/
  (exists i e, held s i = Some e /\ slot_page e = p /\ slot_dirty e = true).
Proof.
  intros F. unfold dirty. now rewrite orb_true_iff, dirty_in_memory_iff, (dirty_on_ssd_iff _ _ _ F).
Qed.

Lemma dirty_inside s f p : fits s f -> dirty s p = true -> p < pages s.
Proof.
  intros F H. apply (dirty_iff _ _ _ F) in H as [(m & M & _)|(i & e & E & <- & _)].
  - now apply (memory_newest _ _ F) in M.
  - now apply (held_newest _ _ F) in E.
Qed.

(** A read gives the newest write. *)
Lemma read_newest s f p : fits s f -> read s p = Some (newest f p).
Proof.
  intros F. unfold read. destruct (memory s p) as [m|] eqn:M.
  - f_equal. exact (proj2 (memory_newest _ _ F _ _ M)).
  - destruct (slot_of s p) as [i|] eqn:O.
    + apply slot_of_some in O as (_ & e & E & P). destruct (held_on_disk _ _ F _ _ E) as (d & D & _).
      unfold read_slot. rewrite D. cbn. rewrite P, Nat.eqb_refl. f_equal. subst p. exact (proj2 (proj2 (held_newest _ _ F _ _ E))).
    + f_equal. apply (clean_stored _ _ F); [|apply (store_now _ _ F)]. apply not_true_is_false. intros D.
      apply (dirty_iff _ _ _ F) in D as [(m & M' & _)|(i & e & E & P & _)]; [congruence|].
      erewrite slot_of_held in O by eauto. discriminate.
Qed.

(** ** The start *)
Lemma start_fits n m : fits (start n m) empty.
Proof.
  constructor; cbn; try discriminate; auto.
  - intros _ i e [[=]|[]].
  - now intros p v _ [<-|[]].
  - intros _ i e v [[=]|[]].
  - intros _ i e [[=]|[]].
  - intros p v [<-|[]]. lia.
  - intros p v [<-|[]]. lia.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * What holds between the tiers and the flat file, and what a read then gives *)
From Pgquern.common Require Import Naturals.
From Pgquern.tiercache Require Import Tiers FlatFile.

(** What a restart may take over of a slot, whatever a power loss leaves. *)
Definition may_be_trusted (d : ssd) (c : control_file) (i : nat) (e : slot) : Prop :=
  exists u, In (Some u) (super_may d) /\ In (Some (super_mark u)) (control_may c) /\
    In (Some (super_generation u, e)) (disk_may d i).

(** What holds of the devices, of n pages and m slots, at each moment: while the cache is down, too. *)
Record devices_fit (n m : nat) (d : ssd) (c : control_file) (t : store_file) (met : list mark) (f : flat) : Prop := {
  newest_counts : forall p, p < n -> In (newest f p) (since_sync f p);
  disk_may_now : forall i, In (disk d i) (disk_may d i);
  super_now : In (super d) (super_may d);
  control_now : In (control c) (control_may c);
  store_now : forall p, In (store t p) (store_may t p);
  trusted_fits : forall i e, may_be_trusted d c i e ->
    slot_page e < n /\ In (slot_contents e) (since_sync f (slot_page e)) /\
    (slot_dirty e = false -> forall v, In v (store_may t (slot_page e)) -> v = slot_contents e);
  store_fits : forall p v, p < n -> In v (store_may t p) -> In v (since_sync f p);
  disk_inside : forall i w, In (Some w) (disk_may d i) -> i < m;
  met_super : forall u, In (Some u) (super_may d) -> In (super_mark u) met /\ In (super_generation u) met;
  met_slot : forall i g e, In (Some (g, e)) (disk_may d i) -> In g met;
  met_control : forall a, In (Some a) (control_may c) -> In a met;
}.

(** What holds between the cache and the flat file after each step. *)
Record fits (s : state) (f : flat) : Prop := {
  devices :> devices_fit (pages s) (slots s) s s s (seen s) f;
  memory_newest : forall p m, memory s p = Some m -> p < pages s /\ frame_contents m = newest f p;
  memory_alone : forall p m i e, memory s p = Some m -> frame_dirty m = true -> held s i = Some e -> slot_page e <> p;
  held_newest : forall i e, held s i = Some e ->
    i < slots s /\ slot_page e < pages s /\ slot_contents e = newest f (slot_page e);
  held_on_disk : forall i e, held s i = Some e ->
    exists d, disk s i = Some (generation s, Slot (slot_page e) (slot_contents e) d);
  held_once : forall i j e d, held s i = Some e -> held s j = Some d -> slot_page e = slot_page d -> i = j;
  stale_free : forall i, stale s i = true -> i < slots s /\ held s i = None;
  disk_known : in_use s = true -> forall i e, valid (generation s) (disk s i) = Some e -> stale s i = true \/
    exists d, held s i = Some d /\ slot_page d = slot_page e /\ slot_contents d = slot_contents e;
  clean_stored : up s = true -> forall p v, p < pages s -> dirty s p = false -> In v (store_may s p) -> v = newest f p;
  (* The generation of the slots that a restart may trust; and once the control file has told, it trusts none. *)
  current : in_use s = true -> In (generation s) (seen s) /\
    forall u, In (Some u) (super_may s) -> In (Some (super_mark u)) (control_may s) -> super_generation u = generation s;
  told : up s = true -> in_use s = false -> retiring s = false -> forall i e, ~ may_be_trusted s s i e;
  down_is_empty : up s = false -> cache_of s = down;
}.

(** ** Marks *)

Lemma same_mark_iff a b : same_mark a b = true <-> a = b.
Proof.
  destruct a as [i m], b as [j n]. unfold same_mark. cbn. rewrite andb_true_iff, !Nat.eqb_eq. split; [now intros (-> & ->)|now intros [= -> ->]].
Qed.
Lemma same_mark_self a : same_mark a a = true.
Proof. now apply same_mark_iff. Qed.

Lemma valid_some g w e : valid g w = Some e <-> w = Some (g, e).
Proof.
  unfold valid. destruct w as [(h, d)|]; [|now split]. destruct (same_mark h g) eqn:E.
  - apply same_mark_iff in E as ->. split; [now intros [= ->]|now intros [= ->]].
  - split; [discriminate|]. intros [= -> ->]. rewrite same_mark_self in E. discriminate.
Qed.

Lemma is_fresh_iff s m : is_fresh s m = true <-> ~ In m (seen s).
Proof.
  unfold is_fresh. rewrite negb_true_iff, <- not_true_iff_false, existsb_exists. split; intros H I; apply H.
  - exists m. split; [exact I|apply same_mark_self].
  - destruct I as (a & I & E). apply same_mark_iff in E as <-. exact I.
Qed.

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
Lemma read_newest s f p : fits s f -> up s = true -> p < pages s -> read s p = Some (newest f p).
Proof.
  intros F Up L. unfold read. destruct (memory s p) as [m|] eqn:M.
  - f_equal. exact (proj2 (memory_newest _ _ F _ _ M)).
  - destruct (slot_of s p) as [i|] eqn:O.
    + apply slot_of_some in O as (_ & e & E & P). destruct (held_on_disk _ _ F _ _ E) as (d & D).
      unfold read_slot. rewrite D. cbn. rewrite same_mark_self. cbn. rewrite P, Nat.eqb_refl. f_equal. subst p.
      exact (proj2 (proj2 (held_newest _ _ F _ _ E))).
    + f_equal. apply (clean_stored _ _ F Up); [exact L| |apply (store_now _ _ _ _ _ _ _ F)]. apply not_true_is_false. intros D.
      apply (dirty_iff _ _ _ F) in D as [(m & M' & _)|(i & e & E & P & _)]; [congruence|].
      erewrite slot_of_held in O by eauto. discriminate.
Qed.

(** ** The start *)
Lemma start_fits n m : fits (start n m) empty.
Proof.
  assert (D : devices_fit n m (start n m) (start n m) (start n m) [first_mark] empty).
  { constructor; cbn; try discriminate; auto.
    - intros i e (u & _ & _ & [[=]|[]]).
    - intros i w [[=]|[]].
    - intros u [[= <-]|[]]. cbn. auto.
    - intros i g e [[=]|[]].
    - intros a [[= <-]|[]]. auto. }
  constructor; cbn; try discriminate; auto.
  - now intros _ p v _ _ [<-|[]].
  - intros _. split; [auto|]. intros u [[= <-]|[]] _. reflexivity.
Qed.

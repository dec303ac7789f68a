(* SPDX-License-Identifier: PostgreSQL *)
(** * Each protection gives back a state that the page had, with all that is durable *)
From Pgquern.common Require Import Naturals.
From Pgquern.tornpage Require Import Recovery.

(** Records that are whole are found, up to the first that is not. *)
Theorem durable_records_are_found whole flushed : forall first room,
  flushed <= room -> (forall j, first <= j < first + flushed -> whole j = true) -> flushed <= valid whole first room.
Proof.
  induction flushed as [|flushed IH]; intros first room R W; [lia|].
  destruct room as [|room]; [lia|]. cbn. rewrite (W first) by lia. apply le_n_S, IH; [lia|]. intros j J. apply W. lia.
Qed.

Lemma same_by_sector {sector} : forall a b : page sector,
  length a = length b -> (forall i s, nth_error a i = Some s -> nth_error b i = Some s) -> a = b.
Proof.
  induction a as [|x a IH]; intros [|y b] L S; try discriminate; [reflexivity|].
  assert (Some y = Some x) by exact (S 0 x eq_refl). f_equal; [congruence|].
  apply IH; [now injection L|]. intros i s E. exact (S (Datatypes.S i) s E).
Qed.

Lemma leaves_of_equal {sector} (durable : page sector) written left :
  (forall w, In w written -> w = durable) -> leaves durable written left -> left = durable.
Proof.
  intros W [L S]. apply same_by_sector; [exact L|]. intros i s E.
  destruct (S i s E) as [D|(w & I & D)]; [exact D|]. now rewrite (W w I) in D.
Qed.

Section Facts.
  Context {sector : Type} (is_image : nat -> bool) (image : nat -> page sector) (change : nat -> page sector -> page sector).
  Context (lsn : page sector -> nat) (state : nat -> page sector).
  Hypothesis H : history is_image image change lsn state.

  (** A page that contains some of the records is brought to the last one. *)
  Lemma replay_reaches count : forall first j, first <= S j -> S j <= S first + count - 1 -> 1 <= first ->
    replay is_image image change lsn first count (state j) = state (first + count - 1).
  Proof.
    destruct H as (L & I & C). induction count as [|count IH]; intros first j A B F; cbn.
    - f_equal. lia.
    - unfold replay_one. replace (first + S count - 1) with (S first + count - 1) by lia.
      destruct first as [|first]; [lia|]. destruct (is_image (S first)) eqn:M.
      + rewrite I by exact M. apply IH; lia.
      + rewrite L. destruct (Nat.leb_spec (S first) j); [apply IH; lia|].
        replace j with first in * by lia. rewrite C by exact M. apply IH; lia.
  Qed.

  Context (whole : nat -> bool) (room : nat).
  Let found := valid whole 1 room.
  Notation recover := (recover is_image image change lsn whole room).
  Notation recover_double := (recover_double is_image image change lsn).

  Lemma recover_state j : j <= found -> recover (state j) = state found.
  Proof. intros J. unfold Recovery.recover. fold found. rewrite replay_reaches by lia. f_equal. lia. Qed.

  (** Full page images: if the log begins with an image that is found, whatever stands on the device is made right; also what
      a crash in an earlier recovery has left. *)
  Theorem an_image_heals_anything place : is_image 1 = true -> 1 <= found -> recover place = state found.
  Proof.
    intros M F. unfold Recovery.recover. fold found. destruct found as [|n]; [lia|]. cbn. unfold replay_one. rewrite M.
    destruct H as (_ & I & _). rewrite (I 0 M). rewrite replay_reaches by lia. reflexivity.
  Qed.

  (** Full page images, after any crash: the page is as the last record found has left it.  A page is only written when its
      records are durable, and these are found. *)
  Theorem images_restore flushed written place :
    (found <> 0 -> is_image 1 = true) -> flushed <= found ->
    (forall w, In w written -> exists j, j <= flushed /\ w = state j) ->
    leaves (state 0) written place -> recover place = state found.
  Proof.
    intros M F W L. destruct (Nat.eq_dec found 0) as [Z|N].
    - assert (place = state 0) as ->.
      { eapply leaves_of_equal; [|exact L]. intros w I. destruct (W w I) as (j & J & ->). f_equal. lia. }
      apply recover_state. lia.
    - apply an_image_heals_anything; [now apply M|lia].
  Qed.

  (** Double write, while the copy is written: the place still holds the older state, which the area held before, or the area
      held nothing whole.  The CRC tells a mixture from both. *)
  Theorem double_write_restores_in_the_area crc_is_right old new before area :
    old <= found -> new <= found -> (crc_is_right before = true -> before = state old) ->
    (forall p, leaves before [state new] p -> crc_is_right p = true -> p = before \/ p = state new) ->
    leaves before [state new] area -> recover_double crc_is_right whole room area (state old) = state found.
  Proof.
    intros O N B S L. unfold Recovery.recover_double, restore. destruct (crc_is_right area) eqn:E.
    - destruct (S area L E) as [->| ->]; [rewrite (B E)|]; now apply recover_state.
    - now apply recover_state.
  Qed.

  (** Double write, while the page is written in place: the copy is durable, and nothing of the place is needed.  So it does
      not matter what an earlier crash, or one in recovery, has left there. *)
  Theorem double_write_restores_in_place crc_is_right new place :
    new <= found -> crc_is_right (state new) = true ->
    recover_double crc_is_right whole room (state new) place = state found.
  Proof. intros N E. unfold Recovery.recover_double, restore. rewrite E. now apply recover_state. Qed.

  (** A device that writes a page whole or not at all. *)
  Theorem atomic_writes_restore old written place :
    old <= found -> (forall w, In w written -> exists j, j <= found /\ w = state j) ->
    leaves_whole (state old) written place -> recover place = state found.
  Proof.
    intros O W [->|I]; [now apply recover_state|]. destruct (W place I) as (j & J & ->). now apply recover_state.
  Qed.
End Facts.

(* SPDX-License-Identifier: PostgreSQL *)
(** * Ages put what survives the look at the future in order *)
From Coq Require Import Bool ZArith Lia.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms.
Local Open Scope Z_scope.

(** An id that survives the scan: valid, not 0, not in the future.  Permanent XIDs are among these. *)
Definition survives (s : sort) (sane x : Z) : Prop := 0 < x < RING /\ before s sane x = false.

(** ** Without remainders: ids lie less than 2^32 apart *)

Lemma to_int32_negative d : - RING < d < RING ->
  (to_int32 d <? 0) = (((- HALF <=? d) && (d <? 0)) || (HALF <=? d)).
Proof. intros. unfold to_int32. ring_mods. xid_cases; try reflexivity; xid_lia. Qed.

Lemma before_is s a b : valid a -> valid b -> before s a b =
  if match s with Xids => (a <? 3) || (b <? 3) | Multis => false end then a <? b
  else ((- HALF <=? a - b) && (a - b <? 0)) || (HALF <=? a - b).
Proof.
  intros A B. unfold valid in *. destruct s; cbn [before]; [unfold precedes, is_normal, FIRST_NORMAL|];
    rewrite to_int32_negative by lia; [|reflexivity].
  destruct (Z.leb_spec 3 a), (Z.ltb_spec a 3), (Z.leb_spec 3 b), (Z.ltb_spec b 3); try lia; reflexivity.
Qed.

Lemma small_mod d : - RING < d < RING -> d mod RING = if d <? 0 then d + RING else d.
Proof.
  intros. destruct (Z.ltb_spec d 0); [|apply Z.mod_small; lia].
  replace d with (d + RING + (-1) * RING) at 1 by lia. rewrite Z.mod_add by discriminate. apply Z.mod_small. lia.
Qed.

Lemma age_is s sane x : usual s sane -> valid x -> age s sane x =
  if x <? first_normal s then (if x =? 0 then 0 else RING - x)
  else if x <=? sane then sane - x else sane - x + RING.
Proof.
  intros U V. unfold age. assert (0 <= sane < RING) by (unfold usual in U; destruct s; cbn in U; lia). unfold valid in V.
  destruct (Z.ltb_spec x (first_normal s)); rewrite small_mod by lia.
  - destruct (Z.eqb_spec x 0), (Z.ltb_spec (0 - x) 0); lia.
  - destruct (Z.leb_spec x sane), (Z.ltb_spec (sane - x) 0); lia.
Qed.

(* Splits at each `if`, in goal or hypotheses, and drops at once what cannot be. *)
Ltac ids :=
  unfold survives, in_future, usual, valid, first_normal, HALF, RING in *;
  repeat (match goal with
  | |- context [if ?c then _ else _] => destruct c eqn:?
  | H : context [if ?c then _ else _] |- _ => destruct c eqn:?
  end; try (exfalso; lia)); try lia.

Lemma usual_valid s x : usual s x -> valid x.
Proof. unfold usual, valid. destruct s; cbn; lia. Qed.

(** Of two ids that survive, the one of greater age precedes the other. *)
Theorem age_is_the_order : forall s sane a b, usual s sane -> survives s sane a -> survives s sane b ->
  before s a b = (age s sane b <? age s sane a).
Proof.
  intros s sane a b U [A FA] [B FB]. pose proof (usual_valid _ _ U).
  assert (valid a /\ valid b) as [VA VB] by (unfold valid; lia).
  rewrite before_is in * by auto. rewrite !age_is by auto. destruct s; ids.
Qed.

(** An age is suspect, 2^31 or more, if and only if the id lies in the future or is a permanent XID. *)
Theorem suspect_age : forall s sane x, usual s sane -> valid x ->
  (HALF <= age s sane x <-> in_future s sane x = true \/ 0 < x < first_normal s).
Proof.
  intros s sane x U V. pose proof (usual_valid _ _ U). unfold in_future. rewrite before_is, age_is by auto. destruct s; ids.
Qed.

(** Ids that survive lie within half a ring: there PostgreSQL's comparison is a total order (Xid.v). *)
Theorem survivors_lie_within_half_a_ring : forall sane, normal sane -> within_half_ring (survives Xids sane).
Proof.
  intros sane N. exists (sane - HALF + 1). intros x [R F]. unfold normal, FIRST_NORMAL in N.
  split; [unfold valid; lia|]. unfold is_normal, FIRST_NORMAL. intros NX.
  rewrite before_is in F by (unfold valid; lia). unfold distance.
  destruct (Z.ltb_spec (x - (sane - HALF + 1)) RING).
  - rewrite small_mod by xid_lia. ids.
  - replace (x - (sane - HALF + 1)) with (x - (sane - HALF + 1) - RING + 1 * RING) by lia.
    rewrite Z.mod_add by discriminate. rewrite small_mod by xid_lia. ids.
Qed.

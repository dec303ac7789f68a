(* SPDX-License-Identifier: PostgreSQL *)
(** * The whole function, as it is and with the look at the syscache first

    The patch is "Check the syscache before updating datfrozenxid" (pgsql-hackers, July 2025).  What other backends do in between,
    and which stale caches there can be, is for the model (spec/datfrozenxid); here are one call and any cache. *)
From Coq Require Import ZArith Lia Bool.
From Pgquern.common Require Import Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Decision.
Local Open Scope Z_scope.

(** datfrozenxid and datminmxid, and the like. *)
Record pair := Pair { xid : Z; multi : Z }.

(** What a call has done: what is stored afterwards, what goes to vac_truncate_clog ([None]: it gave up), whether the row was
    written, and whether its tuple lock was taken. *)
Record outcome := Outcome { stored : pair; passed : option pair; dirty : bool; locked : bool }.

Definition changes (dat new sane : pair) : bool * bool :=
  (need_update Xids (xid dat) (xid new) (xid sane), need_update Multis (multi dat) (multi new) (multi sane)).

Definition write (dat new sane : pair) : outcome :=
  let '(x, m) := changes dat new sane in
  let after := Pair (if x then xid new else xid dat) (if m then multi new else multi dat) in
  Outcome after (Some after) (x || m) true.

Definition update (dat new sane : pair) : outcome := write dat new sane.

(** [cached]: the syscache's copy of the row, [None] if it has none. *)
Definition update_patched (cached : option pair) (dat new sane : pair) : outcome :=
  match cached with
  | Some c =>
      if (xid c =? 0) || (multi c =? 0) || fst (changes c new sane) || snd (changes c new sane) then write dat new sane
      else Outcome dat (Some c) false false
  | None => write dat new sane
  end.

(** Each field is stored by the answer for that field alone: the new value if need_update says so of it, and else the old one.
    What is stored is passed on. The row is written if and only if a field changes, and its lock is taken in any case. *)
Theorem each_field_is_stored_by_its_own_answer : forall dat new sane,
  let after := update dat new sane in
  xid (stored after) = (if need_update Xids (xid dat) (xid new) (xid sane) then xid new else xid dat) /\
  multi (stored after) = (if need_update Multis (multi dat) (multi new) (multi sane) then multi new else multi dat) /\
  passed after = Some (stored after) /\ (dirty after = true <-> stored after <> dat) /\ locked after = true.
Proof.
  intros [x m] [nx nm] [sx sm]. unfold update, write, changes. cbn [xid multi stored passed dirty locked].
  repeat (split; [reflexivity|]). split; [|reflexivity].
  pose proof (replaced_value_was_older_or_in_the_future Xids x nx sx) as RX.
  pose proof (replaced_value_was_older_or_in_the_future Multis m nm sm) as RM.
  destruct (need_update Xids x nx sx), (need_update Multis m nm sm); cbn [orb]; split; intros H; try reflexivity;
    try discriminate; try (now destruct H); intros E; injection E; intros;
    (destruct (RX eq_refl); congruence) || (destruct (RM eq_refl); congruence).
Qed.

(** So whatever was stored, both values that are stored afterwards do not lie in the future, and do not precede the new ones. *)
Theorem both_values_are_sane_afterwards : forall dat new sane,
  bounds Xids (xid new) (xid sane) -> bounds Multis (multi new) (multi sane) -> valid (xid dat) -> valid (multi dat) ->
  let after := stored (update dat new sane) in
  before Xids (xid sane) (xid after) = false /\ before Xids (xid after) (xid new) = false /\
  before Multis (multi sane) (multi after) = false /\ before Multis (multi after) (multi new) = false.
Proof.
  intros dat new sane BX BM VX VM. cbn zeta. pose proof (each_field_is_stored_by_its_own_answer dat new sane) as (-> & -> & _).
  pose proof (stored_value_is_sane_afterwards Xids _ _ _ BX VX) as [X1 X2].
  pose proof (stored_value_is_sane_afterwards Multis _ _ _ BM VM) as [M1 M2]. auto.
Qed.

(** The lock is not taken if and only if the cache has the row, both of its values are valid, and by them no field would
    change. *)
Theorem lock_is_skipped_iff_the_cache_agrees : forall cached dat new sane,
  locked (update_patched cached dat new sane) = false <->
  exists c, cached = Some c /\ xid c <> 0 /\ multi c <> 0 /\
    need_update Xids (xid c) (xid new) (xid sane) = false /\ need_update Multis (multi c) (multi new) (multi sane) = false.
Proof.
  intros [c|] dat new sane; unfold update_patched, write; [|split; [now destruct (changes dat new sane)|intros (c & E & _); discriminate]].
  unfold changes at 1 2. cbn [fst snd].
  destruct (Z.eqb_spec (xid c) 0), (Z.eqb_spec (multi c) 0), (need_update Xids _ _ _) eqn:X, (need_update Multis _ _ _) eqn:M;
    cbn [orb]; (split; [try (now destruct (changes dat new sane)); intros _; exists c; auto|]);
    intros (d & [= <-] & ?); try reflexivity; intuition congruence.
Qed.

(** With a fresh cache the patched function stores, passes on and marks dirty what the plain one does. *)
Theorem fresh_cache_changes_only_the_lock : forall dat new sane,
  let plain := update dat new sane in let patched := update_patched (Some dat) dat new sane in
  stored patched = stored plain /\ passed patched = passed plain /\ dirty patched = dirty plain /\
  (dirty plain = true -> locked patched = true).
Proof.
  intros [x m] new sane. unfold update, update_patched, write, changes. cbn [xid multi fst snd].
  destruct (need_update Xids _ _ _), (need_update Multis _ _ _), (x =? 0), (m =? 0); cbn; auto.
Qed.

(** Whatever the cache holds: if the lock is taken, all is as without the patch; if not, nothing is written. *)
Theorem any_cache_writes_right_or_nothing : forall cached dat new sane,
  update_patched cached dat new sane = update dat new sane \/
  (stored (update_patched cached dat new sane) = dat /\ dirty (update_patched cached dat new sane) = false /\
   passed (update_patched cached dat new sane) = cached).
Proof. intros [c|] dat new sane; unfold update_patched, update; [destruct (_ || _)|]; auto. Qed.

Lemma need_update_by_order s dat new sane : bounds s new sane -> survives s sane dat ->
  need_update s dat new sane = (age s sane new <? age s sane dat).
Proof.
  intros (UN & US & FN) S. assert (SN : survives s sane new).
  { split; [|auto]. unfold usual in UN. destruct s; cbn in UN; lia. }
  unfold need_update. rewrite (age_is_the_order s sane dat new) by auto. destruct S as [R ->]. rewrite orb_false_r.
  destruct (Z.eqb_spec dat new) as [->|]; cbn; lia.
Qed.

(** A stale cache that is no newer than what is stored, both sane, never skips what the plain function would have written. So
    it does no harm that a cache lags behind a datfrozenxid that only goes forward. *)
Theorem lagging_cache_skips_nothing : forall c dat new sane,
  bounds Xids (xid new) (xid sane) -> bounds Multis (multi new) (multi sane) ->
  survives Xids (xid sane) (xid c) -> survives Xids (xid sane) (xid dat) -> before Xids (xid dat) (xid c) = false ->
  survives Multis (multi sane) (multi c) -> survives Multis (multi sane) (multi dat) ->
  before Multis (multi dat) (multi c) = false ->
  locked (update_patched (Some c) dat new sane) = false -> dirty (update dat new sane) = false.
Proof.
  intros c dat new sane BX BM CX DX OX CM DM OM L. unfold update_patched in L.
  destruct (_ || _) eqn:E in L; [unfold write in L; now destruct (changes dat new sane)|].
  apply orb_false_elim in E as [E EM]. apply orb_false_elim in E as [_ EX]. unfold changes in EX, EM. cbn [fst snd] in *.
  unfold update, write, changes. cbn [dirty].
  rewrite need_update_by_order in EX, EM by auto. rewrite !need_update_by_order by auto.
  rewrite (age_is_the_order _ (xid sane)) in OX by (auto; apply BX).
  rewrite (age_is_the_order _ (multi sane)) in OM by (auto; apply BM).
  apply Z.ltb_ge in EX, EM, OX, OM. apply orb_false_intro; apply Z.ltb_ge; lia.
Qed.

(** A stale cache that is sane, while a value in the future is stored, skips the repair: the plain function writes. *)
Theorem stale_cache_can_skip_a_repair : exists c dat new sane,
  bounds Xids (xid new) (xid sane) /\ bounds Multis (multi new) (multi sane) /\
  survives Xids (xid sane) (xid c) /\ before Xids (xid sane) (xid dat) = true /\
  locked (update_patched (Some c) dat new sane) = false /\ dirty (update dat new sane) = true.
Proof.
  exists (Pair 900 90), (Pair 2000 90), (Pair 900 90), (Pair 1000 100).
  repeat split; cbn; try (unfold RING; lia); reflexivity.
Qed.

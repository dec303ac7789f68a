(* SPDX-License-Identifier: PostgreSQL *)
(** * Transaction identifiers on the ring of 2^32

    An XID is 32 bits; 0, 1 and 2 are permanent (InvalidTransactionId, BootstrapTransactionId, FrozenTransactionId), 3 is
    the first normal one, and XIDs wrap around.  The comparison is that of PostgreSQL's TransactionIdPrecedes
    (src/backend/access/transam/transam.c).  An XID is a [Z] here, with [valid] its range. *)
From Coq Require Import Bool ZArith Lia.
From Pgquern.common Require Import Premises Parts.
Local Open Scope Z_scope.

Definition RING : Z := 4294967296.
Definition HALF : Z := 2147483648.
Definition FIRST_NORMAL : Z := 3.

Definition valid (x : Z) : Prop := 0 <= x < RING.
Definition is_normal (x : Z) : bool := FIRST_NORMAL <=? x.
Definition normal (x : Z) : Prop := FIRST_NORMAL <= x < RING.

(** The C conversion [(int32) d] of a difference taken in uint32. *)
Definition to_int32 (d : Z) : Z := let u := d mod RING in if u <? HALF then u else u - RING.

(** TransactionIdPrecedes(a, b): if either is permanent an unsigned comparison, else the sign of the 32-bit difference. *)
Definition precedes (a b : Z) : bool :=
  if negb (is_normal a) || negb (is_normal b) then a <? b else to_int32 (a - b) <? 0.

(** How far [x] lies after [base], going up around the ring. *)
Definition distance (base x : Z) : Z := (x - base) mod RING.

(** A set of XIDs lies within half a ring: its normal members are less than 2^31 after one [base].  Permanent ones may be in it. *)
Definition within_half_ring (S : Z -> Prop) : Prop :=
  exists base, forall x, S x -> valid x /\ (is_normal x = true -> distance base x < HALF).

(** TransactionIdAdvance: the next XID, past the permanent ones. *)
Definition advance (x : Z) : Z := let n := (x + 1) mod RING in if n <? FIRST_NORMAL then FIRST_NORMAL else n.

(** A FullTransactionId is 64 bits, epoch * 2^32 + xid, in unsigned order. *)
Definition xid_of (full : Z) : Z := full mod RING.
Definition epoch_of (full : Z) : Z := full / RING.
Definition full_precedes (a b : Z) : bool := a <? b.

(** The FullTransactionId of a normal [xid] that is known to lie within half a ring before [next_full]
    (FullTransactionIdFromAllowableAt). *)
Definition widen (xid next_full : Z) : Z :=
  let epoch := if xid_of next_full <? xid then epoch_of next_full - 1 else epoch_of next_full in
  epoch * RING + xid.

(** ** Tactics *)

(* Replaces each [e mod RING] by a fresh remainder with its defining equation, for lia. *)
Ltac ring_mods :=
  repeat match goal with
  | |- context [?e mod RING] =>
      let q := fresh "q" in let r := fresh "r" in
      let E := fresh "E" in let B := fresh "B" in
      pose proof (Z.div_mod e RING ltac:(discriminate)) as E;
      pose proof (Z.mod_pos_bound e RING ltac:(reflexivity)) as B;
      set (q := e / RING) in *; set (r := e mod RING) in *; clearbody q r
  | H : context [?e mod RING] |- _ =>
      let q := fresh "q" in let r := fresh "r" in
      let E := fresh "E" in let B := fresh "B" in
      pose proof (Z.div_mod e RING ltac:(discriminate)) as E;
      pose proof (Z.mod_pos_bound e RING ltac:(reflexivity)) as B;
      set (q := e / RING) in *; set (r := e mod RING) in *; clearbody q r
  end.

(* Decides a statement about [precedes] by cases on the comparisons in it. *)
Ltac xid_unfold :=
  unfold precedes, full_precedes, widen, xid_of, epoch_of, distance, to_int32, is_normal, normal, valid, advance in *;
  change FIRST_NORMAL with 3 in *.
Ltac xid_cases :=
  repeat match goal with
  | |- context [?a <=? ?b] => destruct (Z.leb_spec a b); cbn [negb orb andb] in *
  | |- context [?a <? ?b] => destruct (Z.ltb_spec a b); cbn [negb orb andb] in *
  | H : context [?a <=? ?b] |- _ => destruct (Z.leb_spec a b); cbn [negb orb andb] in *
  | H : context [?a <? ?b] |- _ => destruct (Z.ltb_spec a b); cbn [negb orb andb] in *
  end.
Ltac xid_lia := unfold RING, HALF in *; lia.
Ltac xid := xid_unfold; ring_mods; xid_cases; try reflexivity; try discriminate; try (exfalso; xid_lia); try xid_lia.

Lemma is_normal_spec x : valid x -> is_normal x = true <-> normal x.
Proof. unfold is_normal, normal, valid. rewrite Z.leb_le. intuition. Qed.

(** For normal XIDs the comparison says on which side of the ring, seen from [b], the other one lies. *)
Lemma precedes_distance a b : normal a -> normal b -> precedes a b = (HALF <=? distance b a).
Proof. intros; xid. Qed.

(** ** The order *)

(** No XID precedes itself. *)
Theorem precedes_irreflexive : forall x, precedes x x = false.
Proof. intros x. unfold precedes. rewrite Z.sub_diag, Z.ltb_irrefl. now destruct (_ || _). Qed.

(** If a precedes b then b does not precede a, unless both are normal and exactly 2^31 apart. *)
Theorem precedes_asymmetric : forall a b, valid a -> valid b -> ~ (normal a /\ normal b /\ distance b a = HALF) ->
  precedes a b = true -> precedes b a = false.
Proof.
  intros a b Va Vb N P. destruct (is_normal a) eqn:Ea, (is_normal b) eqn:Eb.
  - apply is_normal_spec in Ea; auto. apply is_normal_spec in Eb; auto.
    assert (distance b a <> HALF) by tauto. clear N.
    rewrite precedes_distance in * by auto. unfold distance in *. ring_mods. unfold normal in *.
    xid_cases; try reflexivity; try discriminate. xid_lia.
  - clear N; xid.
  - clear N; xid.
  - clear N; xid.
Qed.

(** Two normal XIDs exactly 2^31 apart precede each other: the comparison is not an order on the whole ring. *)
Theorem precedes_both_ways_at_half : forall a b, normal a -> normal b -> distance b a = HALF ->
  precedes a b = true /\ precedes b a = true.
Proof. intros a b Na Nb D. unfold distance in D. split; xid. Qed.

(** Of two different XIDs at least one precedes the other. *)
Theorem precedes_total : forall a b, valid a -> valid b -> a <> b -> precedes a b = true \/ precedes b a = true.
Proof.
  intros a b Va Vb N. destruct (precedes a b) eqn:P; [auto|right]. revert P. xid.
Qed.

(** Within half a ring the comparison is the order of the distances from the window's start, permanent XIDs before all normal ones. *)
Lemma precedes_in_window base a b : normal a -> normal b -> distance base a < HALF -> distance base b < HALF ->
  precedes a b = (distance base a <? distance base b).
Proof. intros; xid. Qed.

(** On any set within half a ring, precedes is transitive. *)
Theorem precedes_transitive : forall S, within_half_ring S -> forall a b c, S a -> S b -> S c ->
  precedes a b = true -> precedes b c = true -> precedes a c = true.
Proof.
  intros S [base W] a b c Sa Sb Sc.
  destruct (W a Sa) as [Va Da], (W b Sb) as [Vb Db], (W c Sc) as [Vc Dc]. clear W Sa Sb Sc.
  destruct (is_normal a) eqn:Ea, (is_normal b) eqn:Eb, (is_normal c) eqn:Ec;
    try (clear Da Db Dc; xid; fail).
  apply is_normal_spec in Ea, Eb, Ec; auto.
  rewrite !(precedes_in_window base) by auto. rewrite !Z.ltb_lt. lia.
Qed.

(** On any set within half a ring, precedes is a strict total order: irreflexive, asymmetric, transitive, and total. *)
Theorem precedes_strict_total_order : forall S, within_half_ring S ->
  (forall a, S a -> precedes a a = false) /\
  (forall a b, S a -> S b -> precedes a b = true -> precedes b a = false) /\
  (forall a b c, S a -> S b -> S c -> precedes a b = true -> precedes b c = true -> precedes a c = true) /\
  (forall a b, S a -> S b -> a <> b -> precedes a b = true \/ precedes b a = true).
Proof.
  intros S H. split; [|split; [|split]].
  - intros; apply precedes_irreflexive.
  - intros a b Sa Sb. destruct H as [base W]. destruct (W a Sa) as [Va Da], (W b Sb) as [Vb Db].
    apply precedes_asymmetric; auto. intros (Na & Nb & D).
    specialize (Da (proj2 (is_normal_spec a Va) Na)). specialize (Db (proj2 (is_normal_spec b Vb) Nb)).
    clear W Sa Sb. revert Da Db D. unfold distance. intros. ring_mods. unfold normal in *. xid_lia.
  - intros a b c; apply precedes_transitive; auto.
  - intros a b Sa Sb. destruct H as [base W]. destruct (W a Sa), (W b Sb). now apply precedes_total.
Qed.

(** ** Outside half a ring *)

(** Of three XIDs a third of the ring apart each precedes the next, and the last precedes the first: the comparison is
    not transitive. *)
Theorem precedes_not_transitive : exists a b c, normal a /\ normal b /\ normal c /\
  precedes a b = true /\ precedes b c = true /\ precedes a c = false /\ precedes c a = true.
Proof. exists 3, 1431655768, 2863311533. repeat split; reflexivity || (intro; discriminate). Qed.

(** 3 and 3 + 2^31 precede each other: asymmetry fails at distance 2^31. *)
Theorem precedes_not_asymmetric : exists a b, normal a /\ normal b /\ precedes a b = true /\ precedes b a = true.
Proof. exists 3, 2147483651. repeat split; reflexivity || (intro; discriminate). Qed.

(** The bound is sharp: a window of 2^31 + 1 XIDs already holds two that precede each other. *)
Theorem half_ring_is_sharp : forall base, exists a b, (a = base mod RING /\ distance base b = HALF) /\
  (normal a -> normal b -> precedes a b = true /\ precedes b a = true).
Proof.
  intros base. exists (base mod RING), ((base + HALF) mod RING). split.
  - split; [reflexivity|]. unfold distance. rewrite Zminus_mod_idemp_l. now replace (base + HALF - base) with HALF by lia.
  - intros Na Nb. apply precedes_both_ways_at_half; auto. unfold distance.
    rewrite <- Zminus_mod. now replace (base - (base + HALF)) with (- HALF) by lia.
Qed.

(** ** Advancing *)

(** The XID after a valid one is normal: advancing skips the permanent ones. *)
Theorem advance_normal : forall x, valid x -> normal (advance x).
Proof. intros; xid. Qed.

(** A normal XID precedes its successor, also across the wrap. *)
Theorem precedes_advance : forall x, normal x -> precedes x (advance x) = true.
Proof. intros; xid. Qed.

(** ** FullTransactionId *)

(** Two FullTransactionIds with normal XIDs less than 2^31 apart are ordered as their XIDs are. *)
Theorem full_precedes_agrees : forall a b, normal (xid_of a) -> normal (xid_of b) -> - HALF < a - b < HALF ->
  full_precedes a b = precedes (xid_of a) (xid_of b).
Proof. intros; xid. Qed.

(** At a distance of exactly 2^31 they need not be: the XIDs precede each other, and the FullTransactionIds do not. *)
Theorem full_precedes_disagrees_at_half : exists a b, normal (xid_of a) /\ normal (xid_of b) /\ b - a = HALF /\
  full_precedes b a = false /\ precedes (xid_of b) (xid_of a) = true.
Proof. exists 3, 2147483651. repeat split; reflexivity || (intro; discriminate). Qed.

(** The XID of a FullTransactionId that lies less than a whole ring before the next one can be widened back to it. *)
Theorem widen_xid_of : forall full next_full, full <= next_full < full + RING -> widen (xid_of full) next_full = full.
Proof.
  intros full next H. unfold widen, xid_of, epoch_of.
  pose proof (Z.div_mod full RING ltac:(discriminate)). pose proof (Z.div_mod next RING ltac:(discriminate)).
  pose proof (Z.mod_pos_bound full RING ltac:(reflexivity)). pose proof (Z.mod_pos_bound next RING ltac:(reflexivity)).
  set (qf := full / RING) in *. set (qn := next / RING) in *. set (rf := full mod RING) in *. set (rn := next mod RING) in *.
  clearbody qf qn rf rn.
  destruct (Z.ltb_spec rn rf); unfold RING in *; nia.
Qed.

(** ** The premises can be met: by XIDs across the wrap, where that is allowed *)

Lemma precedes_asymmetric_witness : premises_of precedes_asymmetric.
Proof. exists (2 ^ 32 - 1), 3. repeat split; xid. Qed.
Lemma precedes_both_ways_at_half_witness : premises_of precedes_both_ways_at_half.
Proof. exists (2 ^ 31 + 5), 5. repeat split; xid. Qed.
Lemma precedes_total_witness : premises_of precedes_total.
Proof. exists (2 ^ 32 - 1), 3. repeat split; xid. Qed.

(* All XIDs from the last before the wrap to the tenth after it. *)
Lemma within_half_ring_across_the_wrap : within_half_ring (fun x => x = 2 ^ 32 - 1 \/ 3 <= x <= 10).
Proof.
  exists (2 ^ 32 - 1). change (2 ^ 32 - 1) with 4294967295. intros x X. unfold valid, distance. split; [xid_lia|].
  intros _. ring_mods. xid_lia.
Qed.
Lemma precedes_transitive_witness : premises_of precedes_transitive.
Proof. eexists. split; [apply within_half_ring_across_the_wrap|]. exists (2 ^ 32 - 1), 3, 4. repeat split; lia || reflexivity. Qed.
Lemma precedes_strict_total_order_witness : inner_premises_of precedes_strict_total_order.
Proof.
  repeat split; eexists; (split; [apply within_half_ring_across_the_wrap|]).
  - exists 3. lia.
  - exists 3, 4. repeat split; lia || reflexivity.
  - exists (2 ^ 32 - 1), 3, 4. repeat split; lia || reflexivity.
  - exists 3, 4. lia.
Qed.
Lemma half_ring_is_sharp_witness : inner_premises_of half_ring_is_sharp.
Proof. exists 3, 3, (3 + HALF). repeat split; discriminate || reflexivity. Qed.
Lemma advance_normal_witness : premises_of advance_normal.
Proof. exists (2 ^ 32 - 1). split; xid. Qed.
Lemma precedes_advance_witness : premises_of precedes_advance.
Proof. exists (2 ^ 32 - 1). split; xid. Qed.
Lemma full_precedes_agrees_witness : premises_of full_precedes_agrees.
Proof. exists (2 ^ 32 - 1), (2 ^ 32 + 3). repeat split; (reflexivity || discriminate). Qed.
Lemma widen_xid_of_witness : premises_of widen_xid_of.
Proof. exists (2 ^ 32 - 1), (2 ^ 32 + 3). split; (reflexivity || discriminate). Qed.

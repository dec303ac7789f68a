(* SPDX-License-Identifier: PostgreSQL *)
(** * The look at the future makes the minimum well defined *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order.

Definition greatest (l : list Z) : Z := fold_right Z.max 0 l.

Lemma greatest_cons x l : greatest (x :: l) = Z.max x (greatest l).
Proof. reflexivity. Qed.

Lemma greatest_nonnegative l : 0 <= greatest l.
Proof. induction l as [|x l IH]; [reflexivity|]. rewrite greatest_cons. lia. Qed.

Lemma greatest_app a b : greatest (a ++ b) = Z.max (greatest a) (greatest b).
Proof.
  pose proof (greatest_nonnegative b). induction a as [|x a IH]; [cbn [app]; change (greatest []) with 0; lia|].
  cbn [app]. rewrite !greatest_cons, IH. lia.
Qed.

Lemma greatest_bounds l x : In x l -> x <= greatest l.
Proof. induction l as [|y l IH]; [easy|]. rewrite greatest_cons. intros [->|I]; [lia|]. specialize (IH I). lia. Qed.

Lemma greatest_in l : greatest l = 0 \/ In (greatest l) l.
Proof.
  induction l as [|y l IH]; [auto|]. rewrite greatest_cons. cbn [In].
  destruct (Z.max_spec y (greatest l)) as [[_ ->]|[_ ->]]; [destruct IH; auto|auto].
Qed.

Section scan.
  Context (s : sort) (sane : Z) (U : usual s sane).
  Let ages l := map (age s sane) l.

  Lemma age_invalid : age s sane 0 = 0.
  Proof. rewrite age_is by (auto; unfold valid; easy). destruct s; reflexivity. Qed.

  Lemma age_range x : 0 <= age s sane x < RING.
  Proof. apply Z.mod_pos_bound. reflexivity. Qed.

  Lemma sane_survives : survives s sane sane /\ age s sane sane = 0.
  Proof.
    pose proof (usual_valid _ _ U) as V. unfold survives. rewrite before_is, age_is by auto. destruct s; split; ids.
  Qed.

  (* One id for each age. *)
  Lemma same_age x y : survives s sane x -> survives s sane y -> age s sane x = age s sane y -> x = y.
  Proof.
    intros [X FX] [Y FY]. pose proof (usual_valid _ _ U). rewrite before_is in FX, FY by (unfold valid in *; lia).
    rewrite !age_is by (unfold valid in *; auto; lia). destruct s; ids.
  Qed.

  Lemma survives_iff x : valid x -> x <> 0 -> survives s sane x <-> in_future s sane x = false.
  Proof.
    intros V N. unfold survives, in_future, valid in *. destruct (Z.eqb_spec x 0); [easy|]. cbn. intuition lia.
  Qed.

  Lemma scan_app c : forall rest place oldest, scan s sane (c ++ rest) place oldest =
    match scan s sane c place oldest with
    | Future i => Future i
    | Oldest o => scan s sane rest (place + Z.of_nat (length c)) o
    end.
  Proof.
    induction c as [|x c IH]; intros; cbn [app scan length]; [now rewrite Z.add_0_r|].
    destruct (x =? 0); [|destruct (before s sane x); [reflexivity|]]; rewrite IH;
      destruct (scan s sane c _ _); f_equal; lia.
  Qed.

  (* The oldest one so far survives, and its age is the greatest so far. *)
  Lemma scan_without_future l : forall place oldest, Forall valid l -> survives s sane oldest ->
    Forall (fun x => in_future s sane x = false) l ->
    exists o, scan s sane l place oldest = Oldest o /\ survives s sane o /\ (o = oldest \/ In o l) /\
      age s sane o = Z.max (age s sane oldest) (greatest (ages l)).
  Proof.
    induction l as [|x l IH]; intros place oldest V S F.
    - exists oldest. change (greatest (ages [])) with 0. cbn [scan]. pose proof (age_range oldest). repeat split; try apply S; auto. lia.
    - inversion_clear V as [|? ? VX V']. inversion_clear F as [|? ? FX F']. cbn [scan]. unfold ages in *. cbn [map]. rewrite greatest_cons.
      destruct (Z.eqb_spec x 0) as [->|N].
      + destruct (IH (place + 1) oldest V' S F') as (o & E & S' & I & A). exists o. rewrite age_invalid.
        pose proof (greatest_nonnegative (map (age s sane) l)). pose proof (age_range oldest).
        repeat split; try apply S'; auto; [intuition|lia].
      + assert (SX : survives s sane x) by now apply survives_iff.
        destruct SX as [RX BX]. rewrite BX. assert (SX : survives s sane x) by easy.
        rewrite (age_is_the_order s sane x oldest) by auto.
        destruct (Z.ltb_spec (age s sane oldest) (age s sane x)) as [L|L].
        * destruct (IH (place + 1) x V' SX F') as (o & E & S' & I & A). exists o.
          repeat split; try apply S'; auto; [destruct I; subst; cbn; auto|lia].
        * destruct (IH (place + 1) oldest V' S F') as (o & E & S' & I & A). exists o.
          repeat split; try apply S'; auto; [intuition|lia].
  Qed.

  Lemma scan_until_future front x back place oldest : Forall valid front -> survives s sane oldest ->
    Forall (fun y => in_future s sane y = false) front -> in_future s sane x = true ->
    scan s sane (front ++ x :: back) place oldest = Future (place + Z.of_nat (length front)).
  Proof.
    intros V S F X. rewrite scan_app. destruct (scan_without_future front place oldest V S F) as (o & -> & _).
    unfold in_future in X. cbn [scan]. destruct (x =? 0); [easy|]. cbn in X. now rewrite X.
  Qed.

  (* Either no value lies in the future, or there is a first one. *)
  Lemma first_future l : Forall (fun x => in_future s sane x = false) l \/
    exists front x back, l = front ++ x :: back /\ in_future s sane x = true /\
      Forall (fun y => in_future s sane y = false) front.
  Proof.
    induction l as [|x l IH]; [now left|]. destruct (in_future s sane x) eqn:E.
    - right. exists [], x, l. auto.
    - destruct IH as [F|(front & y & back & -> & Y & F)]; [left; auto|right]. exists (x :: front), y, back. auto.
  Qed.
End scan.

Lemma start_survives s start sane : bounds s start sane -> survives s sane start.
Proof.
  intros (B & U & F). split; [|auto]. unfold usual in B. destruct s; cbn in B; lia.
Qed.

(** The early exit is exact: the scan gives up at place i if and only if the i-th value is the first that lies in the
    future. *)
Theorem scan_gives_up_at_the_first_in_the_future : forall s start sane l i, bounds s start sane -> Forall valid l ->
  scan s sane l 1 start = Future i <->
  exists front x back, l = front ++ x :: back /\ i = 1 + Z.of_nat (length front) /\ in_future s sane x = true /\
    Forall (fun y => in_future s sane y = false) front.
Proof.
  intros s start sane l i B V. pose proof (start_survives _ _ _ B) as S. destruct B as (_ & U & _). split.
  - intros E. destruct (first_future s sane l) as [F|(front & x & back & -> & X & F)].
    + destruct (scan_without_future s sane U l 1 start V S F) as (o & E' & _). congruence.
    + exists front, x, back. apply Forall_app in V. rewrite scan_until_future in E by (tauto || auto).
      injection E as <-. auto.
  - intros (front & x & back & -> & -> & X & F). apply Forall_app in V. apply scan_until_future; tauto || auto.
Qed.

(** If no value lies in the future, the scan ends with one of the values, or the start, that none of them precedes. *)
Theorem scan_finds_the_minimum : forall s start sane l o, bounds s start sane -> Forall valid l ->
  scan s sane l 1 start = Oldest o ->
  In o (start :: l) /\ o <> 0 /\ forall x, In x (start :: l) -> x <> 0 -> before s x o = false.
Proof.
  intros s start sane l o B V E. pose proof (start_survives _ _ _ B) as S. destruct B as (_ & U & _).
  destruct (first_future s sane l) as [F|(front & x & back & -> & X & F)].
  - destruct (scan_without_future s sane U l 1 start V S F) as (o' & E' & S' & I & A).
    rewrite E in E'. injection E' as <-. split; [destruct I as [->|I]; cbn; auto|]. split; [destruct S'; lia|].
    intros x X N. assert (survives s sane x /\ age s sane x <= age s sane o) as [SX L].
    { destruct X as [<-|X]; [split; [auto|lia]|]. rewrite Forall_forall in V, F. split.
      - apply survives_iff; auto.
      - pose proof (greatest_bounds (map (age s sane) l) _ (in_map _ _ _ X)). lia. }
    rewrite (age_is_the_order s sane) by auto. apply Z.ltb_ge. lia.
  - apply Forall_app in V. rewrite scan_until_future in E by (tauto || auto). discriminate.
Qed.

(** The minimum does not depend on the order of the scan: in any other order the same value is found. *)
Theorem minimum_does_not_depend_on_the_order : forall s start sane l l' o, bounds s start sane -> Forall valid l ->
  Permutation l l' -> scan s sane l 1 start = Oldest o -> scan s sane l' 1 start = Oldest o.
Proof.
  intros s start sane l l' o B V P E. pose proof (start_survives _ _ _ B) as S. destruct B as (_ & U & _).
  assert (V' : Forall valid l') by now apply (Permutation_Forall P).
  destruct (first_future s sane l) as [F|(front & x & back & -> & X & F)].
  - assert (F' : Forall (fun x => in_future s sane x = false) l') by now apply (Permutation_Forall P).
    destruct (scan_without_future s sane U l 1 start V S F) as (o1 & E1 & S1 & _ & A1).
    destruct (scan_without_future s sane U l' 1 start V' S F') as (o2 & -> & S2 & _ & A2).
    rewrite E in E1. injection E1 as <-. f_equal. apply (same_age s sane); auto. rewrite A1, A2. f_equal.
    clear - P. apply (Permutation_map (age s sane)) in P. induction P; rewrite ?greatest_cons; lia.
  - apply Forall_app in V. rewrite scan_until_future in E by (tauto || auto). discriminate.
Qed.

(** Whether the scan gives up does not depend on the order either, only the place does. *)
Theorem giving_up_does_not_depend_on_the_order : forall s start sane l l' i, bounds s start sane -> Forall valid l ->
  Permutation l l' -> scan s sane l 1 start = Future i -> exists j, scan s sane l' 1 start = Future j.
Proof.
  intros s start sane l l' i B V P E. destruct (scan s sane l' 1 start) as [o|j] eqn:E'; [|eauto].
  apply (minimum_does_not_depend_on_the_order s start sane l' l) in E'; auto using Permutation_sym; [congruence|].
  now apply (Permutation_Forall P).
Qed.

(** Where the scan gives up nowhere, the one without the look at the future finds the same. *)
Theorem without_the_check_sound_ids_give_the_same : forall s sane l place oldest o,
  scan s sane l place oldest = Oldest o -> unchecked s l oldest = o.
Proof.
  intros s sane l. induction l as [|x l IH]; intros place oldest o; simpl; [congruence|].
  destruct (x =? 0); simpl; [apply IH|]. destruct (before s sane x); [discriminate|]. apply IH.
Qed.

(** Without the look at the future the order matters: the same three normal XIDs, a third of the ring apart, and the same
    start; in two orders two minima. *)
Theorem without_the_check_the_order_matters : exists l l' start,
  Permutation l l' /\ Forall normal l /\ normal start /\ unchecked Xids l start <> unchecked Xids l' start.
Proof.
  exists [3; 1431655768; 2863311533], [2863311533; 3; 1431655768], 3. split; [|split; [|split]].
  - apply (Permutation_app_comm [3; 1431655768] [2863311533]).
  - repeat constructor; easy.
  - easy.
  - vm_compute. discriminate.
Qed.

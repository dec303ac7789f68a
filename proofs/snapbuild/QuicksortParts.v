(* SPDX-License-Identifier: PostgreSQL *)
(** * A round of the quicksort: less on the left, the pivot in the middle, greater on the right *)
From Coq Require Import ZArith Lia.
From stdpp Require Import base option zmap.
From Pgquern.snapbuild Require Import Memory Quicksort QuicksortFacts.
Local Open Scope Z_scope.

Section sort.
Context (key : Z -> Z).
Local Notation compare := (compare key).
Local Notation median := (median key).
Local Notation pivot := (pivot key).
Local Notation from_left := (from_left key).
Local Notation from_right := (from_right key).
Local Notation partition := (partition key).
Local Notation split := (split key).

Lemma compare_spec m i j x y : m !! i = Some x -> m !! j = Some y -> compare m i j = Some (key x ?= key y).
Proof. intros X Y. unfold compare, load. now rewrite X, Y. Qed.

(** The pivot is one of the elements. *)
Lemma median_spec m lo hi a b c : allocated m lo hi -> lo <= a < hi -> lo <= b < hi -> lo <= c < hi ->
  exists p, median m a b c = Some p /\ lo <= p < hi.
Proof.
  intros E A B C. destruct (E a A) as (x & X & _), (E b B) as (y & Y & _), (E c C) as (z & Z & _). unfold median.
  rewrite (compare_spec m a b x y), (compare_spec m b c y z), (compare_spec m a c x z) by assumption. cbn [mbind option_bind].
  destruct (less (key x ?= key y)), (less (key y ?= key z)), (greater (key y ?= key z)), (less (key x ?= key z)); eauto.
Qed.

Lemma pivot_spec m a n : allocated m a (a + n) -> 7 <= n -> exists p, pivot m a n = Some p /\ a <= p < a + n.
Proof.
  intros E N. unfold pivot. assert (H : 0 < n / 2 < n) by (split; [apply Z.div_str_pos|apply Z.div_lt]; lia).
  destruct (Z.leb_spec n 7) as [_|L]; [exists (a + n / 2); split; [reflexivity|lia]|].
  destruct (Z.ltb_spec 40 n) as [B|_]; [|apply (median_spec m a (a + n)); [exact E|lia..]].
  assert (D : 0 < n / 8 /\ 2 * (n / 8) < n / 2 + 0 /\ n / 2 + n / 8 < n).
  { pose proof (Z.div_mod n 8 ltac:(lia)). pose proof (Z.mod_pos_bound n 8 ltac:(lia)).
    pose proof (Z.div_mod n 2 ltac:(lia)). pose proof (Z.mod_pos_bound n 2 ltac:(lia)). lia. }
  destruct (median_spec m a (a + n) a (a + n / 8) (a + 2 * (n / 8))) as (p & -> & P); [exact E|lia..|]. cbn [mbind option_bind].
  destruct (median_spec m a (a + n) (a + n / 2 - n / 8) (a + n / 2) (a + n / 2 + n / 8)) as (q & -> & Q); [exact E|lia..|].
  cbn [mbind option_bind].
  destruct (median_spec m a (a + n) (a + n - 1 - 2 * (n / 8)) (a + n - 1 - n / 8) (a + n - 1)) as (r & -> & R); [exact E|lia..|].
  cbn [mbind option_bind]. apply (median_spec m a (a + n)); assumption.
Qed.

Section around.
  (** The pivot's key, the place where it stands, the end of the array. *)
  Context (v a e : Z).

  Let equal (x : Z) : Prop := key x = v.
  Let smaller (x : Z) : Prop := key x < v.
  Let larger (x : Z) : Prop := v < key x.

  (** What stands on the left of the elements that are not looked at yet, and what on the right. *)
  Definition on_left (m : memory) (el l : Z) : Prop := a < el /\ el <= l /\ every equal m a el /\ every smaller m el l.
  Definition on_right (m : memory) (r er : Z) : Prop := r <= er /\ er < e /\ every larger m (r + 1) (er + 1) /\ every equal m (er + 1) e.

  Lemma on_left_pivot m el l : on_left m el l -> exists p, m !! a = Some p /\ key p = v.
  Proof. intros (A & _ & E & _). exact (E a ltac:(lia)). Qed.

  Lemma from_left_spec rounds : forall m el l r, on_left m el l -> allocated m l (r + 1) -> l <= r + 1 -> r < e ->
    r - l + 1 <= Z.of_nat rounds ->
    exists m' el' l', from_left rounds m a el l r = Some (m', el', l') /\ on_left m' el' l' /\ l <= l' <= r + 1 /\
      allocated m' l' (r + 1) /\ (forall k, r < k -> m' !! k = m !! k) /\ rearranged a e m m' /\
      (l' <= r -> exists x, m' !! l' = Some x /\ v < key x).
  Proof.
    induction rounds as [|rounds IH]; intros m el l r H E L R N; cbn [from_left]; destruct (Z.ltb_spec r l) as [O|O]; try lia.
    1, 2: exists m, el, l; repeat split; try apply H; auto; try lia; intros li _ A; now exists li.
    destruct (on_left_pivot m el l H) as (p & V & Kp). destruct (E l ltac:(lia)) as (x & X & _).
    rewrite (compare_spec m l a x p X V), Kp. cbn [mbind option_bind]. destruct H as (A & B & Ee & Es).
    destruct (Z.compare_spec (key x) v) as [Q|S|G].
    - assert (exists y, m !! el = Some y) as (y & Y).
      { destruct (Z.eq_dec el l) as [->|D]; [eauto|]. destruct (Es el ltac:(lia)) as (y & Y & _). eauto. }
      destruct (swap_spec m el l y x Y X) as (m1 & S & Yl & Xe & K & Re). rewrite S. cbn [mbind option_bind].
      destruct (IH m1 (el + 1) (l + 1) r) as (m2 & el2 & l2 & F & H2 & L2 & E2 & U2 & R2 & G2); try lia.
      + split; [lia|]. split; [lia|]. split.
        * apply (every_join _ _ _ el); [|apply (every_one _ _ _ x); [exact Yl|exact Q]].
          apply (every_same _ m); [exact Ee|]. intros k I. apply K; lia.
        * destruct (Z.eq_dec el l) as [->|D]; [intros k I; lia|]. apply (every_join _ _ _ l).
          -- apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ Es); lia|]. intros k I. apply K; lia.
          -- apply (every_one _ _ _ y); [exact Xe|]. destruct (Es el ltac:(lia)) as (z & Z & ?). congruence.
      + apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ E); lia|]. intros k I. apply K; lia.
      + exists m2, el2, l2. split; [exact F|]. split; [exact H2|]. split; [lia|]. split; [exact E2|]. split; [|split; [|exact G2]].
        * intros k I. rewrite U2 by exact I. apply K; lia.
        * apply (rearranged_trans _ _ _ m1); [apply Re; lia|exact R2].
    - destruct (IH m el (l + 1) r) as (m2 & el2 & l2 & F & H2 & L2 & E2 & U2 & R2 & G2); try lia.
      + split; [lia|]. split; [lia|]. split; [exact Ee|]. apply (every_join _ _ _ l); [exact Es|now apply (every_one _ _ _ x)].
      + apply (every_sub _ _ _ _ _ _ E); lia.
      + exists m2, el2, l2. repeat split; auto; lia || apply H2 || apply R2.
    - exists m, el, l. repeat split; auto; try lia; [intros li _ D; now exists li|eauto].
  Qed.

  Lemma from_right_spec rounds : forall m l r er, on_right m r er -> (exists p, m !! a = Some p /\ key p = v) -> allocated m l (r + 1) -> a < l -> l <= r + 1 ->
    r - l + 1 <= Z.of_nat rounds ->
    exists m' r' er', from_right rounds m a l r er = Some (m', r', er') /\ on_right m' r' er' /\ l - 1 <= r' <= r /\
      allocated m' l (r' + 1) /\ (forall k, k <= r' -> m' !! k = m !! k) /\ rearranged a e m m' /\
      (l <= r' -> exists x, m' !! r' = Some x /\ key x < v).
  Proof.
    induction rounds as [|rounds IH]; intros m l r er H (p & V & Kp) E Al L N; cbn [from_right]; destruct (Z.ltb_spec r l) as [O|O]; try lia.
    1, 2: exists m, r, er; repeat split; try apply H; auto; try lia; intros li _ A; now exists li.
    destruct (E r ltac:(lia)) as (x & X & _).
    rewrite (compare_spec m r a x p X V), Kp. cbn [mbind option_bind]. destruct H as (A & B & Eg & Ee).
    destruct (Z.compare_spec (key x) v) as [Q|S|G].
    - assert (exists y, m !! er = Some y) as (y & Y).
      { destruct (Z.eq_dec er r) as [->|D]; [eauto|]. destruct (Eg er ltac:(lia)) as (y & Y & _). eauto. }
      destruct (swap_spec m r er x y X Y) as (m1 & S & Yr & Xe & K & Re). rewrite S. cbn [mbind option_bind].
      destruct (IH m1 l (r - 1) (er - 1)) as (m2 & r2 & er2 & F & H2 & L2 & E2 & U2 & R2 & G2); try lia.
      + split; [lia|]. split; [lia|]. replace (r - 1 + 1) with r by lia. replace (er - 1 + 1) with er by lia. split.
        * destruct (Z.eq_dec er r) as [->|D]; [intros k I; lia|]. apply (every_join _ _ _ (r + 1)).
          -- apply (every_one _ _ _ y); [exact Yr|]. destruct (Eg er ltac:(lia)) as (z & Z & ?). congruence.
          -- apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ Eg); lia|]. intros k I. apply K; lia.
        * apply (every_join _ _ _ (er + 1)); [apply (every_one _ _ _ x); [exact Xe|exact Q]|].
          apply (every_same _ m); [exact Ee|]. intros k I. apply K; lia.
      + exists p. rewrite K by lia. now split.
      + replace (r - 1 + 1) with r by lia. apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ E); lia|]. intros k I. apply K; lia.
      + exists m2, r2, er2. split; [exact F|]. split; [exact H2|]. split; [lia|]. split; [exact E2|]. split; [|split; [|exact G2]].
        * intros k I. rewrite U2 by exact I. apply K; lia.
        * apply (rearranged_trans _ _ _ m1); [apply Re; lia|exact R2].
    - exists m, r, er. repeat split; auto; try lia; [intros li _ D; now exists li|eauto].
    - destruct (IH m l (r - 1) er) as (m2 & r2 & er2 & F & H2 & L2 & E2 & U2 & R2 & G2); try lia.
      + split; [lia|]. split; [lia|]. replace (r - 1 + 1) with r by lia. split; [|exact Ee].
        apply (every_join _ _ _ (r + 1)); [now apply (every_one _ _ _ x)|exact Eg].
      + now exists p.
      + apply (every_sub _ _ _ _ _ _ E); lia.
      + exists m2, r2, er2. repeat split; auto; lia || apply H2 || apply R2.
  Qed.

  Lemma partition_spec rounds : forall m el l r er, on_left m el l -> on_right m r er -> allocated m l (r + 1) -> l <= r + 1 ->
    r - l + 1 < Z.of_nat rounds ->
    exists m' el' l' er', partition rounds m a (Parts el l r er) = Some (m', Parts el' l' (l' - 1) er') /\
      on_left m' el' l' /\ on_right m' (l' - 1) er' /\ rearranged a e m m'.
  Proof.
    induction rounds as [|rounds IH]; intros m el l r er HL HR E L N; [lia|]. cbn [partition equal_left left right equal_right].
    destruct (from_left_spec (S rounds) m el l r) as (m1 & el1 & l1 & F1 & HL1 & L1 & E1 & U1 & R1 & G1); auto; try lia.
    { destruct HR as (? & ? & _). lia. }
    rewrite F1. cbn [mbind option_bind].
    assert (HR1 : on_right m1 r er).
    { destruct HR as (A & B & Eg & Ee). split; [exact A|]. split; [exact B|].
      split; [apply (every_same _ m); [exact Eg|]|apply (every_same _ m); [exact Ee|]]; intros k I; apply U1; lia. }
    destruct (from_right_spec (S rounds) m1 l1 r er) as (m2 & r2 & er2 & F2 & HR2 & L2 & E2 & U2 & R2 & G2); auto; try lia.
    { now apply (on_left_pivot m1 el1 l1). }
    { destruct HL1 as (? & ? & _). lia. }
    rewrite F2. cbn [mbind option_bind].
    assert (HL2 : on_left m2 el1 l1).
    { destruct HL1 as (A & B & Ee & Es). split; [exact A|]. split; [exact B|].
      split; [apply (every_same _ m1); [exact Ee|]|apply (every_same _ m1); [exact Es|]]; intros k I; apply U2; lia. }
    assert (R12 : rearranged a e m m2) by (apply (rearranged_trans _ _ _ m1); assumption).
    destruct (Z.ltb_spec r2 l1) as [D|D].
    - exists m2, el1, l1, er2. replace r2 with (l1 - 1) in * by lia. auto.
    - destruct (G1 ltac:(lia)) as (x & X & Gx). destruct (G2 D) as (y & Y & Sy).
      assert (X2 : m2 !! l1 = Some x) by (rewrite U2 by lia; exact X).
      assert (l1 <> r2) by (intros ->; rewrite X2 in Y; injection Y as ->; lia).
      destruct (swap_spec m2 l1 r2 x y X2 Y) as (m3 & S & Yl & Xr & K & Re). rewrite S. cbn [mbind option_bind].
      destruct HL2 as (A & B & Ee & Es), HR2 as (A' & B' & Eg & Eq).
      destruct (IH m3 el1 (l1 + 1) (r2 - 1) er2) as (m4 & el4 & l4 & er4 & P & HL4 & HR4 & R4); try lia.
      + split; [lia|]. split; [lia|]. split; [apply (every_same _ m2); [exact Ee|]; intros k I; apply K; lia|].
        apply (every_join _ _ _ l1); [|now apply (every_one _ _ _ y)]. apply (every_same _ m2); [exact Es|]. intros k I. apply K; lia.
      + split; [lia|]. split; [lia|]. replace (r2 - 1 + 1) with r2 by lia.
        split; [|apply (every_same _ m2); [exact Eq|]; intros k I; apply K; lia].
        apply (every_join _ _ _ (r2 + 1)); [now apply (every_one _ _ _ x)|]. apply (every_same _ m2); [exact Eg|]. intros k I. apply K; lia.
      + replace (r2 - 1 + 1) with r2 by lia. apply (every_same _ m2); [apply (every_sub _ _ _ _ _ _ E2); lia|]. intros k I. apply K; lia.
      + exists m4, el4, l4, er4. split; [exact P|]. split; [exact HL4|]. split; [exact HR4|].
        apply (rearranged_trans _ _ _ m2); [exact R12|]. apply (rearranged_trans _ _ _ m3); [apply Re; lia|exact R4].
  Qed.

  (** The borders of the three parts. *)
  Lemma bring_together_spec m el l er : on_left m el l -> on_right m (l - 1) er ->
    exists m', bring_together m a (e - a) (Parts el l (l - 1) er) = Some (m', l - el, er - (l - 1)) /\
      0 <= l - el /\ 0 <= er - (l - 1) /\ l - el + (er - (l - 1)) < e - a /\
      every smaller m' a (a + (l - el)) /\ every equal m' (a + (l - el)) (e - (er - (l - 1))) /\
      every larger m' (e - (er - (l - 1))) e /\ rearranged a e m m'.
  Proof.
    intros (A & B & Ee & Es) (A' & B' & Eg & Eq). unfold bring_together. cbn [equal_left left right equal_right].
    replace (l - 1 + 1) with l in * by lia. set (below := l - el). set (above := er - (l - 1)).
    set (d := Z.min (el - a) below). set (d' := Z.min above (a + (e - a) - er - 1)).
    destruct (swap_runs_spec equal smaller (Z.to_nat d) m a (l - d) a e) as (m1 & S1 & Q1 & P1 & K1 & R1); try lia.
    { apply (every_sub _ _ _ _ _ _ Ee); lia. } { apply (every_sub _ _ _ _ _ _ Es); lia. }
    rewrite Z2Nat.id in * by lia. rewrite S1. cbn [mbind option_bind].
    destruct (swap_runs_spec larger equal (Z.to_nat d') m1 l (a + (e - a) - d') a e) as (m2 & S2 & Q2 & P2 & K2 & R2); try lia.
    { apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ Eg); lia|]. intros k I. apply K1; lia. }
    { apply (every_same _ m); [apply (every_sub _ _ _ _ _ _ Eq); lia|]. intros k I. apply K1; lia. }
    rewrite Z2Nat.id in * by lia. rewrite S2. cbn [mbind option_bind].
    exists m2. split; [reflexivity|]. split; [lia|]. split; [lia|]. split; [lia|].
    split; [|split; [|split; [|apply (rearranged_trans _ _ _ m1); assumption]]].
    - apply (every_same _ m1); [|intros k I; apply K2; lia]. apply (every_join _ _ _ (a + d)); [exact Q1|].
      intros k I. rewrite K1 by lia. apply Es. lia.
    - apply (every_join _ _ _ l).
      + apply (every_same _ m1); [|intros k I; apply K2; lia]. apply (every_join _ _ _ (l - d)).
        * intros k I. rewrite K1 by lia. apply Ee. lia.
        * apply (every_sub _ _ _ _ _ _ P1); lia.
      + apply (every_join _ _ _ (l + d')); [exact Q2|]. intros k I. rewrite K2, K1 by lia. apply Eq. lia.
    - apply (every_join _ _ _ (e - d')).
      + intros k I. rewrite K2, K1 by lia. apply Eg. lia.
      + apply (every_sub _ _ _ _ _ _ P2); lia.
  Qed.
End around.

Lemma split_spec m a n : allocated m a (a + n) -> 7 <= n ->
  exists v m' below above, split m a n = Some (m', below, above) /\ 0 <= below /\ 0 <= above /\ below + above < n /\
    every (fun x => key x < v) m' a (a + below) /\ every (fun x => key x = v) m' (a + below) (a + n - above) /\
    every (fun x => v < key x) m' (a + n - above) (a + n) /\ rearranged a (a + n) m m'.
Proof.
  intros E N. unfold split. destruct (pivot_spec m a n E N) as (p & -> & P). cbn [mbind option_bind].
  destruct (E p P) as (v & V & _), (E a ltac:(lia)) as (x & X & _).
  destruct (swap_spec m a p x v X V) as (m1 & S & Va & _ & _ & R). rewrite S. cbn [mbind option_bind].
  specialize (R a (a + n) ltac:(lia) P). pose proof (rearranged_every _ _ _ _ _ R E) as E1.
  destruct (partition_spec (key v) a (a + n) (Z.to_nat n) m1 (a + 1) (a + 1) (a + n - 1) (a + n - 1)) as (m2 & el & l & er & S2 & HL & HR & R2); try lia.
  - split; [lia|]. split; [lia|]. split; [now apply (every_one _ _ _ v)|]. intros k I. lia.
  - split; [lia|]. split; [lia|]. split; intros k I; lia.
  - apply (every_sub _ _ _ _ _ _ E1); lia.
  - rewrite S2. cbn [mbind option_bind].
    destruct (bring_together_spec (key v) a (a + n) m2 el l er HL HR) as (m3 & S3 & B1 & B2 & B3 & Q1 & Q2 & Q3 & R3).
    replace (a + n - a) with n in * by lia. rewrite S3. exists (key v), m3, (l - el), (er - (l - 1)).
    repeat (split; [assumption || reflexivity|]). apply (rearranged_trans _ _ _ m1); [exact R|].
    apply (rearranged_trans _ _ _ m2); assumption.
Qed.
End sort.

(* SPDX-License-Identifier: PostgreSQL *)
(** * Each kernel's order of comparison gives what upstream's loop gives *)
From Coq Require Import Arith.
From Pgquern.common Require Import Integers Xid.
From Pgquern.datfrozenxid Require Import Spec Algorithms Order Minimum.

(** ** Lanes and chains *)

Lemma lanes_max_length a b : length a = length b -> length (lanes_max a b) = length a.
Proof. intros E. unfold lanes_max. rewrite map_length, combine_length, E. lia. Qed.

Lemma greatest_lanes_max a : forall b, length a = length b ->
  greatest (lanes_max a b) = Z.max (greatest a) (greatest b).
Proof.
  induction a as [|x a IH]; intros [|y b] E; try discriminate; [reflexivity|].
  unfold lanes_max in *. cbn [combine map fst snd]. rewrite !greatest_cons, IH by (cbn in E; lia). lia.
Qed.

(* All accumulators have as many lanes as a vector. *)
Definition shaped (lanes : nat) (accumulators : list (list Z)) : Prop := Forall (fun a => length a = lanes) accumulators.

Lemma take_spec s sane lanes v : length v = lanes -> forall accumulators i, shaped lanes accumulators ->
  (i < length accumulators)%nat ->
  shaped lanes (take s sane accumulators i v) /\ length (take s sane accumulators i v) = length accumulators /\
  greatest (concat (take s sane accumulators i v)) =
    Z.max (greatest (concat accumulators)) (greatest (map (age s sane) v)).
Proof.
  intros L. unfold shaped. induction accumulators as [|a rest IH]; intros i S I; [cbn in I; lia|].
  inversion_clear S as [|? ? A S']. destruct i as [|i]; cbn [take concat length].
  - assert (E : length a = length (map (age s sane) v)) by (rewrite map_length; lia).
    rewrite !greatest_app, greatest_lanes_max by auto. repeat split; [constructor; auto; rewrite lanes_max_length; lia|lia].
  - destruct (IH i S') as (S2 & L2 & G); [cbn in I; lia|]. rewrite !greatest_app, G, L2. repeat split; auto. lia.
Qed.

(* A schedule that is fit for some accumulators: each step is a whole vector, for one of them. *)
Definition fits (chains lanes : nat) (schedule : list (nat * list Z)) : Prop :=
  Forall (fun step => (fst step < chains)%nat /\ length (snd step) = lanes) schedule.

Lemma accumulate_spec s sane chains lanes schedule : fits chains lanes schedule -> forall accumulators,
  shaped lanes accumulators -> length accumulators = chains ->
  shaped lanes (accumulate s sane schedule accumulators) /\
  length (accumulate s sane schedule accumulators) = chains /\
  greatest (concat (accumulate s sane schedule accumulators)) =
    Z.max (greatest (concat accumulators)) (greatest (map (age s sane) (concat (map snd schedule)))).
Proof.
  unfold fits, accumulate. induction schedule as [|[i v] schedule IH]; intros F accumulators S L; cbn [fold_left].
  - repeat split; auto. cbn [map concat]. change (greatest []) with 0. pose proof (greatest_nonnegative (concat accumulators)). lia.
  - inversion_clear F as [|? ? [I V] F']. cbn [fst snd] in *. subst chains.
    destruct (take_spec s sane lanes v V accumulators i S I) as (S2 & L2 & G2).
    rewrite <- L2 in F'. destruct (IH ltac:(rewrite <- L2; exact F') _ S2 L2) as (S3 & L3 & G3).
    repeat split; auto. rewrite G3, G2. cbn [map concat snd]. rewrite map_app, greatest_app. lia.
Qed.

Lemma reduce_spec k : forall v, length v = (2 ^ k)%nat -> Forall (fun x => 0 <= x) v -> reduce k v = greatest v.
Proof.
  induction k as [|k IH]; intros v L P; cbn [reduce].
  - destruct v as [|x [|y v]]; try discriminate. inversion_clear P. unfold greatest. cbn [hd fold_right]. lia.
  - cbn [Nat.pow] in L.
    assert (L1 : length (firstn (2 ^ k) v) = (2 ^ k)%nat) by (rewrite firstn_length; lia).
    assert (L2 : length (skipn (2 ^ k) v) = (2 ^ k)%nat) by (rewrite skipn_length; lia).
    rewrite <- (firstn_skipn (2 ^ k) v) in P. apply Forall_app in P as [P1 P2]. rewrite IH.
    + rewrite greatest_lanes_max, <- greatest_app, firstn_skipn by congruence. reflexivity.
    + rewrite lanes_max_length; congruence.
    + unfold lanes_max. apply Forall_map. rewrite Forall_forall in *. intros [x y] I. cbn [fst snd].
      apply in_combine_l in I. specialize (P1 x I). lia.
Qed.

(* The values that a schedule takes are those of l, and invalid ones. *)
Definition covers (schedule : list (nat * list Z)) (l : list Z) : Prop :=
  (forall x, In x l -> In x (concat (map snd schedule))) /\
  (forall x, In x (concat (map snd schedule)) -> In x l \/ x = 0).

Lemma ages_nonnegative s sane schedule : forall accumulators,
  Forall (Forall (fun x => 0 <= x)) accumulators ->
  Forall (Forall (fun x => 0 <= x)) (accumulate s sane schedule accumulators).
Proof.
  unfold accumulate. induction schedule as [|[i v] schedule IH]; intros accumulators F; cbn [fold_left fst snd]; auto.
  apply IH. clear IH. revert i. induction F as [|a rest A F IH]; intros i; cbn [take]; [constructor|].
  destruct i as [|i]; constructor; auto. unfold lanes_max. apply Forall_map. rewrite Forall_forall in *.
  intros [x y] I. apply in_combine_l in I. specialize (A x I). cbn [fst snd]. lia.
Qed.

Lemma same_greatest s sane l l' : usual s sane -> (forall x, In x l -> In x l') ->
  (forall x, In x l' -> In x l \/ x = 0) -> greatest (map (age s sane) l') = greatest (map (age s sane) l).
Proof.
  intros U A B. apply Z.le_antisymm.
  - destruct (greatest_in (map (age s sane) l')) as [->|I]; [apply greatest_nonnegative|].
    apply in_map_iff in I as (x & <- & I). destruct (B x I) as [X| ->].
    + apply greatest_bounds, in_map, X.
    + rewrite age_invalid by auto. apply greatest_nonnegative.
  - destruct (greatest_in (map (age s sane) l)) as [->|I]; [apply greatest_nonnegative|].
    apply in_map_iff in I as (x & <- & I). apply greatest_bounds, in_map, A, I.
Qed.

Lemma greatest_zeros n : greatest (concat (repeat (repeat 0 n) 4)) = 0 /\ greatest (concat (repeat (repeat 0 n) 2)) = 0.
Proof.
  assert (Z : greatest (repeat 0 n) = 0) by (induction n; cbn [repeat]; [reflexivity|rewrite greatest_cons; lia]).
  cbn [repeat concat]. rewrite !greatest_app, Z. change (greatest []) with 0. auto.
Qed.

(** Whatever schedule deals the values to the lanes of two or four chains: the kernel finds their greatest age. *)
Theorem any_schedule_finds_the_greatest_age : forall s sane chains k schedule l, usual s sane ->
  chains = 2%nat \/ chains = 4%nat -> fits chains (2 ^ k) schedule -> covers schedule l ->
  greatest_age s sane chains k schedule = greatest (map (age s sane) l).
Proof.
  intros s sane chains k schedule l U C F [C1 C2]. unfold greatest_age.
  set (zeros := repeat (repeat 0 (2 ^ k)) chains).
  assert (S : shaped (2 ^ k) zeros).
  { unfold shaped, zeros. rewrite Forall_forall. intros a A. apply repeat_spec in A as ->. apply repeat_length. }
  assert (L : length zeros = chains) by apply repeat_length.
  assert (P : Forall (Forall (fun x => 0 <= x)) zeros).
  { unfold zeros. rewrite Forall_forall. intros a A. apply repeat_spec in A as ->. rewrite Forall_forall. intros x X.
    apply repeat_spec in X. lia. }
  assert (G0 : greatest (concat zeros) = 0).
  { unfold zeros. destruct C as [-> | ->]; apply greatest_zeros. }
  pose proof (ages_nonnegative s sane schedule zeros P) as P'.
  destruct (accumulate_spec s sane chains (2 ^ k) schedule F zeros S L) as (S' & L' & G).
  rewrite G0 in G. rewrite (same_greatest s sane l _ U C1 C2) in G.
  pose proof (greatest_nonnegative (map (age s sane) l)). rewrite Z.max_r in G by auto. rewrite <- G. clear G.
  set (acc := accumulate s sane schedule zeros) in *. clearbody acc. unfold shaped in S'.
  assert (Max : forall a b : list Z, Forall (fun x => 0 <= x) a -> Forall (fun x => 0 <= x) (lanes_max a b)).
  { intros a b A. unfold lanes_max. apply Forall_map. rewrite Forall_forall in *. intros [x y] I.
    apply in_combine_l in I. specialize (A x I). cbn [fst snd]. lia. }
  destruct C as [-> | ->].
  - destruct acc as [|a [|b [|]]]; try discriminate. cbn [join concat]. rewrite app_nil_r.
    inversion_clear S' as [|? ? A S2]. inversion_clear S2 as [|? ? B _]. inversion_clear P' as [|? ? PA _].
    rewrite reduce_spec; [rewrite greatest_lanes_max, greatest_app; congruence| |auto].
    rewrite lanes_max_length; congruence.
  - destruct acc as [|a [|b [|c [|d [|]]]]]; try discriminate. cbn [join concat]. rewrite app_nil_r.
    inversion_clear S' as [|? ? A S2]. inversion_clear S2 as [|? ? B S3]. inversion_clear S3 as [|? ? C S4].
    inversion_clear S4 as [|? ? D _]. inversion_clear P' as [|? ? PA _].
    assert (AB : length (lanes_max a b) = (2 ^ k)%nat) by (rewrite lanes_max_length; congruence).
    assert (CD : length (lanes_max c d) = (2 ^ k)%nat) by (rewrite lanes_max_length; congruence).
    rewrite reduce_spec; [|rewrite lanes_max_length; congruence|auto].
    rewrite !greatest_lanes_max, !greatest_app by congruence. lia.
Qed.

(** ** The schedules of the C kernels *)

Lemma cut_spec lanes count : forall l vectors rest, cut lanes count l = (vectors, rest) ->
  (count * lanes <= length l)%nat ->
  concat vectors ++ rest = l /\ length vectors = count /\ Forall (fun v => length v = lanes) vectors /\
  length rest = (length l - count * lanes)%nat.
Proof.
  induction count as [|count IH]; intros l vectors rest E L; cbn [cut] in E.
  - injection E as <- <-. cbn. repeat split; auto; lia.
  - destruct (cut lanes count (skipn lanes l)) as [vs r] eqn:E'. injection E as <- <-.
    cbn [Nat.mul] in L. destruct (IH _ _ _ E') as (C & N & F & R); [rewrite skipn_length; lia|].
    cbn [concat length]. rewrite <- app_assoc, C, firstn_skipn. repeat split; auto.
    + constructor; auto. rewrite firstn_length. lia.
    + rewrite R, skipn_length. lia.
Qed.

Lemma map_snd_combine {A B} (a : list A) (b : list B) : length a = length b -> map snd (combine a b) = b.
Proof. revert b. induction a as [|x a IH]; intros [|y b] E; try discriminate; cbn; f_equal; auto. Qed.

Lemma schedule_fits chains lanes last l : (0 < chains)%nat -> (0 < lanes)%nat -> (last < chains)%nat ->
  fits chains lanes (schedule chains lanes last l) /\ covers (schedule chains lanes last l) l.
Proof.
  intros C L Last. unfold schedule. destruct (cut lanes (length l / lanes) l) as [vectors rest] eqn:E.
  pose proof (Nat.div_mod (length l) lanes ltac:(lia)) as DM. pose proof (Nat.mod_upper_bound (length l) lanes ltac:(lia)).
  destruct (cut_spec _ _ _ _ _ E ltac:(lia)) as (CC & N & F & R).
  set (places := map _ (seq 0 (length l / lanes))).
  assert (LP : length places = length vectors) by (unfold places; rewrite map_length, seq_length; lia).
  assert (PL : length (padded lanes rest) = lanes).
  { unfold padded. rewrite app_length, repeat_length. lia. }
  split.
  - unfold fits. apply Forall_app. split; [|constructor; auto]. rewrite Forall_forall in *. intros [i v] I.
    cbn [fst snd]. split; [|apply in_combine_r in I; auto]. apply in_combine_l in I. unfold places in I.
    apply in_map_iff in I as (j & <- & _). destruct (j <? _)%nat; [apply Nat.mod_upper_bound|]; lia.
  - unfold covers. rewrite map_app, map_snd_combine, concat_app by auto. cbn [map snd concat]. rewrite app_nil_r.
    unfold padded. rewrite app_assoc, CC. split; intros x I; [apply in_app_iff; auto|].
    apply in_app_iff in I as [I|I]; [auto|right]. apply repeat_spec in I. auto.
Qed.

Lemma row_schedule_fits l : fits 2 4 (row_schedule l) /\ covers (row_schedule l) l.
Proof.
  unfold row_schedule. destruct (cut 4 (2 * (length l / 8)) l) as [vectors rest] eqn:E.
  pose proof (Nat.div_mod (length l) 8 ltac:(lia)) as DM.
  destruct (cut_spec _ _ _ _ _ E ltac:(lia)) as (CC & N & F & R).
  set (places := map _ (seq 0 (2 * (length l / 8)))).
  assert (LP : length places = length vectors) by (unfold places; rewrite map_length, seq_length; lia).
  split.
  - unfold fits. apply Forall_app. split.
    + rewrite Forall_forall in *. intros [i v] I. cbn [fst snd]. split; [|apply in_combine_r in I; auto].
      apply in_combine_l in I. unfold places in I. apply in_map_iff in I as (j & <- & _). apply Nat.mod_upper_bound. lia.
    + apply Forall_map, Forall_forall. intros x _. cbn [fst snd]. split; [lia|reflexivity].
  - unfold covers. rewrite map_app, map_snd_combine, concat_app, map_map by auto. cbn [snd].
    assert (Rest : forall x, (In x rest -> In x (concat (map (fun y => padded 4 [y]) rest))) /\
                   (In x (concat (map (fun y => padded 4 [y]) rest)) -> In x rest \/ x = 0)).
    { intros x. rewrite in_concat. split.
      - intros I. exists (padded 4 [x]). split; [apply in_map_iff; eauto|now left].
      - intros (v & V & I). apply in_map_iff in V as (y & <- & Y). cbn in I. intuition (subst; auto). }
    rewrite <- CC. split; intros x I; apply in_app_iff in I; rewrite ?in_app_iff; specialize (Rest x); tauto.
Qed.

Lemma single_schedule_fits l : fits 2 1 (single_schedule l) /\ covers (single_schedule l) l.
Proof.
  unfold single_schedule, fits, covers. rewrite map_map. cbn [snd].
  assert (E : concat (map (fun x => [x]) l) = l) by (induction l; cbn; congruence).
  rewrite E. repeat split; auto. apply Forall_map, Forall_forall. intros x _. cbn [fst snd]. split; [lia|reflexivity].
Qed.

(** Each kernel's way through an array, its chains, lanes and final reduction, finds the greatest age of all its values. *)
Theorem each_kernel_finds_the_greatest_age : forall s sane l, usual s sane ->
  scalar_age s sane l = greatest (map (age s sane) l) /\
  avx2_age s sane l = greatest (map (age s sane) l) /\
  avx512_age s sane l = greatest (map (age s sane) l) /\
  scalar_row_age s sane l = greatest (map (age s sane) l) /\
  row_age s sane l = greatest (map (age s sane) l).
Proof.
  intros s sane l U. unfold scalar_age, avx2_age, avx512_age, scalar_row_age, row_age.
  repeat split; apply any_schedule_finds_the_greatest_age; auto;
    try (apply row_schedule_fits); try (apply single_schedule_fits); apply schedule_fits; lia.
Qed.

(** ** The walk *)

Lemma lower_spec s sane oldest g : usual s sane -> survives s sane oldest -> g < HALF ->
  g = 0 \/ (exists x, survives s sane x /\ age s sane x = g) ->
  survives s sane (lower s sane oldest g) /\ age s sane (lower s sane oldest g) = Z.max (age s sane oldest) g.
Proof.
  intros U S H G. pose proof (sane_survives s sane U) as [SS SA]. unfold lower. cbn zeta.
  assert (X : exists x, survives s sane x /\ age s sane x = g /\ (sane - g) mod RING = x).
  { destruct G as [->|(x & SX & A)].
    - exists sane. rewrite Z.sub_0_r. repeat split; try apply SS; auto. apply Z.mod_small.
      pose proof (usual_valid _ _ U). auto.
    - exists x. repeat split; try apply SX; auto. pose proof (usual_valid _ _ U). destruct SX as [RX BX].
      rewrite age_is in A by (unfold valid; auto; lia). unfold valid in *. clear SS SA S BX.
      rewrite small_mod by (destruct s; ids). destruct s; ids. }
  destruct X as (x & SX & A & ->). rewrite (age_is_the_order s sane x oldest) by auto. rewrite A.
  destruct (Z.ltb_spec (age s sane oldest) g); (split; [auto|]; lia).
Qed.

(** Chunk by chunk, with any way to find a chunk's greatest age: the answer is upstream's, whether that is the minimum or the
    place of the first value in the future. *)
Theorem walk_by_age_is_the_scan : forall s start sane find chunks, bounds s start sane ->
  (forall c, In c chunks -> find c = greatest (map (age s sane) c)) -> Forall valid (concat chunks) ->
  by_age s sane find chunks 1 start = scan s sane (concat chunks) 1 start.
Proof.
  intros s start sane find chunks B Find V. pose proof (start_survives _ _ _ B) as S. destruct B as (_ & U & _).
  generalize 1 as place. revert start S Find V. induction chunks as [|c chunks IH]; intros start S Find V place; [reflexivity|].
  cbn [by_age concat] in *. apply Forall_app in V as [VC V]. rewrite scan_app, (Find c) by now left.
  assert (Find' : forall c, In c chunks -> find c = greatest (map (age s sane) c)) by (intros; apply Find; now right).
  destruct (Z.ltb_spec (greatest (map (age s sane) c)) HALF) as [H|H].
  - assert (F : Forall (fun x => in_future s sane x = false) c).
    { rewrite Forall_forall in *. intros x X. destruct (in_future s sane x) eqn:E; [|auto].
      assert (HALF <= age s sane x) by (apply suspect_age; auto).
      pose proof (greatest_bounds _ _ (in_map (age s sane) _ _ X)). lia. }
    destruct (scan_without_future s sane U c place start VC S F) as (o & -> & SO & _ & A).
    destruct (lower_spec s sane start (greatest (map (age s sane) c)) U S H) as [SL AL].
    { destruct (greatest_in (map (age s sane) c)) as [Z|I]; [auto|]. apply in_map_iff in I as (x & E & X).
      destruct (Z.eq_dec x 0) as [->|N]; [left; rewrite <- E; now apply age_invalid|right]. exists x. split; [|auto].
      rewrite Forall_forall in *. apply survives_iff; auto. }
    rewrite (same_age s sane U _ o SL SO) by lia. apply IH; auto.
  - destruct (scan s sane c place start) as [o|i] eqn:E; [|reflexivity]. apply IH; auto.
    destruct (first_future s sane c) as [F|(front & x & back & -> & X & F)].
    + destruct (scan_without_future s sane U c place start VC S F) as (o' & E' & SO & _). congruence.
    + apply Forall_app in VC. rewrite scan_until_future in E by (tauto || auto). discriminate.
Qed.

Lemma chunks_concat {A} size : (0 < size)%nat -> forall fuel (l : list A), (length l <= fuel)%nat ->
  concat (chunks_of fuel size l) = l.
Proof.
  intros P fuel. induction fuel as [|fuel IH]; intros [|x l] L; cbn in L; try lia; [reflexivity|reflexivity|].
  cbn [chunks_of concat]. rewrite IH; [apply firstn_skipn|]. rewrite skipn_length. cbn [length]. lia.
Qed.

(** The kernels scalar, avx2 and avx512 give upstream's answer on every array. *)
Theorem min_frozen_is_the_scan : forall s start sane l, bounds s start sane -> Forall valid l ->
  min_frozen scalar_age s start sane l = scan s sane l 1 start /\
  min_frozen avx2_age s start sane l = scan s sane l 1 start /\
  min_frozen avx512_age s start sane l = scan s sane l 1 start.
Proof.
  intros s start sane l B V. assert (U : usual s sane) by apply B. unfold min_frozen.
  assert (C : concat (chunks_of (length l) CHUNK l) = l) by (apply chunks_concat; auto; unfold CHUNK; lia).
  repeat split; (rewrite walk_by_age_is_the_scan; [now rewrite C|auto| |now rewrite C]); intros c _;
    destruct (each_kernel_finds_the_greatest_age s sane c U) as (E1 & E2 & E3 & _); auto.
Qed.

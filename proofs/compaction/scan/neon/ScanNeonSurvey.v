(* SPDX-License-Identifier: PostgreSQL *)
(** * The survey of neon.c: by how much each tuple moves, against the one before it, eight at a time *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey ScanAvx2Page Page Decode.
From Pgquern.compaction Require Import ScanAvx512Lanes ScanAvx512Round ScanAvx512Loop ScanNeonLanes ScanNeonRound.
From Pgquern.instructions Require Neon.
From Pgquern.compaction Require ScanNeon.

(** By how much a tuple moves, and by how much the one before it. *)
Definition further (p : Z * Z) : bool := signed 2 (fst p) >? signed 2 (snd p).
Definition less_far (p : Z * Z) : bool := signed 2 (fst p) <? signed 2 (snd p).
Definition either (p : Z * Z) : bool := further p || less_far p.
Definition flag (p : Z * Z) : Z := if further p then 255 else 0.
Definition word_shift (w : Z) : Z := (w mod 65536 - w / 65536) mod 65536.

Record surveyed (ps : list (Z * Z)) (final : Z) (v : ScanNeon.survey) : Prop := {
  s_gaps : listed (ScanNeon.gap_bytes v) 0 (length ps) = map flag ps;
  s_ngaps : exists xs, ScanNeon.gap_lanes v = reg2 xs /\ length xs = 8%nat /\ sum xs = count (map further ps);
  s_falls : exists us, ScanNeon.fall_lanes v = reg2 (map ones us) /\ length us = 8%nat /\ existsb (fun t => t) us = existsb less_far ps;
  s_first : exists xs, ScanNeon.first_lanes v = reg2 xs /\ length xs = 8%nat /\ Forall word16 xs /\
    fewest xs = if existsb either ps then clear_before (map either ps) else 65535;
  s_numbers : ScanNeon.tuple_numbers v = reg2 (map Z.of_nat (seq (length ps) 8));
  s_last : exists xs, ScanNeon.last_shift v = reg2 xs /\ length xs = 8%nat /\ last xs 0 mod 65536 = final;
  s_inside : ScanNeon.gaps_inside v = true }.

(** The number of the first lane that is set, or the greatest of 16 bits. *)
Definition numbered (k : Z) (t : bool) : Z := if t then k else 65535.

Lemma numbered_lanes : forall ks us, length ks = length us ->
  ScanNeon.vornq_u16 (reg2 ks) (reg2 (map ones us)) = reg2 (map2 numbered ks us).
Proof.
  intros ks us L. change (ScanNeon.vornq_u16 (reg2 ks) (reg2 (map ones us))) with (bitwise (fun x y => x || negb y) (reg2 ks) (reg2 (map ones us))).
  rewrite (bitwise_lanes _ (fun x y => Z.lor x (Z.lnot y))); [|intros x y i I; now rewrite Z.lor_spec, Z.lnot_spec|now rewrite map_length].
  clear L. revert us. induction ks as [|k ks IH]; intros [|t us]; try reflexivity. cbn [map map2].
  change (reg2 (?x :: ?r)) with (bytes_of 2 x ++ reg2 r). rewrite IH. f_equal. unfold numbered. destruct t; cbn [ones].
  - change (Z.lnot (-1)) with 0. now rewrite Z.lor_0_r.
  - change (Z.lnot 0) with (-1). now rewrite Z.lor_m1_r.
Qed.

Lemma first_number us : forall i, Z.of_nat (i + length us) < 65535 ->
  Forall word16 (map2 numbered (map Z.of_nat (seq i (length us))) us) /\
  fewest (map2 numbered (map Z.of_nat (seq i (length us))) us) =
    if existsb (fun t => t) us then Z.of_nat i + clear_before us else 65535.
Proof.
  induction us as [|t us IH]; intros i B; [split; [constructor|reflexivity]|]. cbn [length seq map map2 existsb clear_before] in *.
  destruct (IH (S i) ltac:(lia)) as [V F]. pose proof (clear_before_bounds us) as C. unfold fewest in *. cbn [fold_right]. rewrite F. split.
  - constructor; [|exact V]. unfold word16, numbered. destruct t; lia.
  - unfold numbered. destruct t; cbn [orb].
    + destruct (existsb _ us); lia.
    + destruct (existsb _ us); lia.
Qed.

Lemma or_ones us vs : length us = length vs ->
  ScanNeon.vorrq_u16 (reg2 (map ones us)) (reg2 (map ones vs)) = reg2 (map ones (map2 orb us vs)).
Proof.
  intros L. change (ScanNeon.vorrq_u16 (reg2 (map ones us)) (reg2 (map ones vs))) with (bitwise orb (reg2 (map ones us)) (reg2 (map ones vs))).
  rewrite (bitwise_lanes orb Z.lor) by (intros; rewrite ?map_length; try lia; symmetry; apply Z.lor_spec).
  f_equal. revert vs L. induction us as [|u us IH]; intros [|v vs] L; try discriminate; [reflexivity|]. cbn [map map2].
  rewrite IH by (now injection L). f_equal. apply lor_both.
Qed.

Lemma flags_range ps : Forall (fun x => 0 <= x < span 1) (map flag ps).
Proof. apply Forall_map, Forall_forall. intros p _. unfold flag. cbn [span]. destruct (further p); lia. Qed.

Lemma last_app_from {A} (u w : list A) : forall e, last (u ++ w) e = last w (last u e).
Proof. induction u as [|x u IH]; intros e; [reflexivity|]. cbn [app]. rewrite !last_of_cons. apply IH. Qed.
(** Each shift with the one before it. *)
Definition steps (before : Z) (ss : list Z) : list (Z * Z) := combine ss (before :: ss).
Lemma steps_length before ss : length (steps before ss) = length ss.
Proof. unfold steps. rewrite combine_length. cbn [length]. lia. Qed.
Lemma steps_app u w before : steps before (u ++ w) = steps before u ++ steps (last u before) w.
Proof. exact (pairs_of_app u w before). Qed.

Section Eight.
  Variables (a : nat -> Z) (ps : list (Z * Z)) (p : Z) (v : ScanNeon.survey).
  Let i := length ps.
  Let ss := map (fun k => word_shift (a k)) (seq i 8).
  Hypothesis few : (i < 2042)%nat.
  Hypothesis so_far : surveyed ps p v.

  Lemma eight_survey : surveyed (ps ++ steps p ss) (last ss p) (ScanNeon.compare_eight a i v).
  Proof.
    destruct so_far as [Sg (ng & Ng & Lng & Fng) (us & Us & Lus & Fus) (fi & Fi & Lfi & Vfi & Ffi) Sn (la & La & Lla & Fla) Si].
    assert (Ls : length ss = 8%nat) by (unfold ss; now rewrite map_length, seq_length).
    assert (Vs : Forall word16 ss) by (apply Forall_map, Forall_forall; intros k _; apply Z.mod_pos_bound; reflexivity).
    assert (Vp : word16 p) by (rewrite <- Fla; apply Z.mod_pos_bound; reflexivity).
    assert (Sh : Table.intrinsic "vreinterpretq_s16_u16" [ScanNeon.vsubq_u16 (reg2 (map (fun k => a k mod 65536) (seq i 8))) (reg2 (map (fun k => a k / 65536) (seq i 8)))] = reg2 ss).
    { change (Table.intrinsic "vreinterpretq_s16_u16" [?r]) with r. rewrite sub_neon, <- cut_lanes. reflexivity. }
    assert (Be : Table.intrinsic "vextq_s16 7" [reg2 la; reg2 ss] = reg2 (p :: firstn 7 ss)).
    { rewrite before_neon by assumption. change (reg2 (?x :: ?r)) with (bytes_of 2 x ++ reg2 r). rewrite <- Fla. f_equal. symmetry. exact (bytes_of_mod 2 _). }
    set (q := steps p ss).
    assert (Q : q = combine ss (p :: firstn 7 ss)).
    { unfold q, steps. rewrite combine_firstn_l, Ls. reflexivity. }
    assert (Lb : length ss = length (p :: firstn 7 ss)) by (cbn [length]; rewrite firstn_length; lia).
    destruct (combine_both ss (p :: firstn 7 ss) Lb) as [Q1 Q2]. rewrite <- Q in Q1, Q2.
    assert (Lq : length q = 8%nat) by (unfold q; rewrite steps_length; exact Ls).
    assert (Vq : forall x, In x q -> word16 (fst x) /\ word16 (snd x)).
    { intros x X. split; [apply (proj1 (Forall_forall _ _) Vs); rewrite <- Q1; now apply in_map|].
      assert (Vb : Forall word16 (p :: firstn 7 ss)).
      { constructor; [exact Vp|]. rewrite <- (firstn_skipn 7 ss) in Vs. now apply Forall_app in Vs. }
      apply (proj1 (Forall_forall _ _) Vb). rewrite <- Q2. now apply in_map. }
    assert (Ga : ScanNeon.vcgtq_s16 (reg2 ss) (reg2 (p :: firstn 7 ss)) = reg2 (map ones (map further q))).
    { rewrite <- Q1, <- Q2 at 1. rewrite cgt_neon, map_map. apply same_lanes. intros x X. destruct (Vq x X) as [A B]. unfold word16, further in *.
      now rewrite !Z.mod_small by lia. }
    assert (Fa : ScanNeon.vcgtq_s16 (reg2 (p :: firstn 7 ss)) (reg2 ss) = reg2 (map ones (map less_far q))).
    { rewrite <- Q1 at 2. rewrite <- Q2 at 1. rewrite cgt_neon, map_map. apply same_lanes. intros x X. destruct (Vq x X) as [A B]. unfold word16, less_far in *.
      rewrite Z.gtb_ltb, !Z.mod_small by lia. reflexivity. }
    unfold ScanNeon.compare_eight. rewrite loaded_two. cbv zeta. rewrite Sh, La, Be, Ga, Fa, narrowed, Ng, Us, Fi, Sn. fold i.
    assert (Ei : map2 orb (map further q) (map less_far q) = map either q) by apply map2_maps.
    rewrite (or_ones (map further q)), Ei by now rewrite !map_length.
    rewrite numbered_lanes by now rewrite !map_length, seq_length.
    destruct (first_number (map either q) i ltac:(rewrite map_length; lia)) as [Vn Fn]. rewrite map_length, Lq in Vn, Fn.
    split; cbn [ScanNeon.gap_bytes ScanNeon.gap_lanes ScanNeon.fall_lanes ScanNeon.first_lanes ScanNeon.tuple_numbers ScanNeon.last_shift ScanNeon.gaps_inside].
    - rewrite app_length, map_app, <- Sg, <- (map_length flag q). fold i.
      assert (E : register_of 1 (map ones (map further q)) = register_of 1 (map flag q ++ [])).
      { rewrite app_nil_r, map_map, <- cut_lanes, <- (cut_lanes 1 q flag). apply same_lanes. intros x _. unfold flag. now destruct (further x). }
      rewrite E. apply (store_behind_512 1 _ ltac:(lia) 0 i). rewrite app_nil_r. apply flags_range.
    - exists (map2 Z.sub ng (map ones (map further q))).
      change (ScanNeon.vsubq_u16 (reg2 ng) (reg2 (map ones (map further q)))) with (sub 2 (reg2 ng) (reg2 (map ones (map further q)))).
      rewrite sub_words. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, !map_length; lia|].
      rewrite sum_of_difference by (rewrite !map_length; lia). rewrite sum_of_ones, Fng, map_app, count_app. lia.
    - exists (map2 orb us (map less_far q)). rewrite or_ones by (rewrite map_length; lia). split; [reflexivity|].
      split; [rewrite ProgramFacts.map2_length, map_length; lia|]. rewrite existsb_or by (rewrite map_length; lia).
      now rewrite Fus, existsb_map, existsb_app.
    - set (zs := map2 numbered (map Z.of_nat (seq i 8)) (map either q)) in *.
      assert (Lz : length zs = 8%nat) by (unfold zs; rewrite ProgramFacts.map2_length, !map_length, seq_length; lia).
      exists (map2 Z.min fi zs). change (ScanNeon.vminq_u16 (reg2 fi) (reg2 zs)) with (min_unsigned 2 (reg2 fi) (reg2 zs)).
      rewrite min_words by assumption. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length; lia|]. split; [now apply min_word16|].
      rewrite fewest_of_two, Ffi, Fn, existsb_map, existsb_app, map_app by lia.
      pose proof (clear_before_bounds (map either ps)) as C1. pose proof (clear_before_bounds (map either q)) as C2. rewrite map_length in C1, C2. fold i in C1.
      rewrite Lq in C2. fold q. destruct (existsb either ps) eqn:E1; cbn [orb].
      + rewrite clear_before_found by (rewrite existsb_map; exact E1). destruct (existsb _ q); lia.
      + rewrite clear_before_not_found by (rewrite existsb_map; exact E1). rewrite map_length. fold i.
        destruct (existsb _ q); lia.
    - rewrite (dup_neon (seq i 8)), add_neon by apply seq_length. rewrite app_length. fold q i. rewrite Lq.
      rewrite (seq_from 8 (i + 8)), (seq_from 8 i), !map_map. f_equal. apply map_ext. intros k. unfold ScanNeon.LANES. lia.
    - exists ss. split; [reflexivity|]. split; [exact Ls|]. clear - Ls Vs. revert Ls Vs. generalize ss. intros l L V. destruct l as [|x r]; [discriminate|].
      rewrite !last_of_cons. apply Z.mod_small. assert (H : In (last r x) (x :: r)).
      { clear. revert x. induction r as [|y r IH]; intros x; [now left|]. rewrite last_of_cons. right. apply IH. }
      exact (proj1 (Forall_forall _ _) V _ H).
    - rewrite Si. unfold ScanNeon.fits, ScanAvx512.fits, ScanNeon.MAX_LINE_POINTERS, ScanNeon.LANES. cbn [andb]. rewrite andb_true_iff, !Z.leb_le. lia.
  Qed.
End Eight.

(** ** All of them *)
Section All.
  Variables (a : nat -> Z) (n : nat) (d : nat -> Z).
  Hypothesis few : (n <= 2042)%nat.
  Notation shifts k := (map (fun j => word_shift (a j)) (seq 0 k)).

  Definition nothing_yet : ScanNeon.survey :=
    ScanNeon.Survey d (ScanNeon.vdupq_n_u16 0) (ScanNeon.vdupq_n_u16 0) (ScanNeon.vdupq_n_u16 ScanNeon.UINT16_MAX)
      (register_of 2 [0; 1; 2; 3; 4; 5; 6; 7]) (Table.intrinsic "vdupq_n_s16" [bytes_of 2 0]) true.

  Lemma nothing_yet_surveyed : surveyed [] 0 nothing_yet.
  Proof.
    assert (V : Forall word16 (repeat 65535 8)) by (apply Forall_forall; intros x X; apply repeat_spec in X; subst x; unfold word16; lia).
    split; try reflexivity.
    - exists (repeat 0 8). repeat split; reflexivity.
    - exists (repeat false 8). repeat split; reflexivity.
    - exists (repeat 65535 8). split; [reflexivity|]. split; [reflexivity|]. split; [exact V|reflexivity].
    - exists (repeat 0 8). repeat split; reflexivity.
  Qed.

  Lemma all_eights fuel : forall k v, (n <= 8 * k + 8 * fuel)%nat -> (8 * k < n + 8)%nat ->
    surveyed (steps 0 (shifts (8 * k))) (last (shifts (8 * k)) 0) v ->
    exists k', (n <= 8 * k' < n + 8)%nat /\
      surveyed (steps 0 (shifts (8 * k'))) (last (shifts (8 * k')) 0) (ScanNeon.compare_tuples fuel a n (8 * k) v).
  Proof.
    induction fuel as [|fuel IH]; intros k v F B S; [exists k; split; [lia|exact S]|]. cbn [ScanNeon.compare_tuples].
    destruct (Nat.ltb_spec (8 * k) n) as [L|L]; [|exists k; split; [lia|exact S]].
    replace (8 * k + 8)%nat with (8 * (k + 1))%nat by lia. apply IH; [lia|lia|].
    assert (Le : length (steps 0 (shifts (8 * k))) = (8 * k)%nat) by (rewrite steps_length, map_length; apply seq_length).
    pose proof (eight_survey a _ _ v ltac:(rewrite Le; lia) S) as E. rewrite Le in E.
    assert (P : shifts (8 * (k + 1)) = shifts (8 * k) ++ map (fun j => word_shift (a j)) (seq (8 * k) 8)).
    { replace (8 * (k + 1))%nat with (8 * k + 8)%nat by lia. now rewrite seq_app, map_app. }
    rewrite P, steps_app. rewrite last_app_from. exact E.
  Qed.

  (** The array holds the words of tuples, and behind them the last one again. *)
  Variable ks : list placed_lane.
  Hypothesis words_of : listed a 0 n = map ends_word ks.
  Hypothesis stops : Forall (fun y => word16 (stop_of y)) ks.
  Hypothesis behind : forall j, (0 < n <= j)%nat -> (j < n + 8)%nat -> a j = a (n - 1)%nat.

  Lemma shift_says y : word16 (stop_of y) -> word_shift (ends_word y) = shift_of y.
  Proof.
    intros S. unfold word_shift, ends_word, word16 in *. pose proof (Z.mod_pos_bound (snd y + len_of (fst y)) 65536 ltac:(lia)) as E.
    fold (end_of y) in E. assert (E1 : (end_of y + 65536 * stop_of y) mod 65536 = end_of y) by div_lia.
    assert (E2 : (end_of y + 65536 * stop_of y) / 65536 = stop_of y) by div_lia.
    rewrite E1, E2. unfold end_of, shift_of, stop_of. rewrite Zminus_mod_idemp_l. f_equal. lia.
  Qed.

  Lemma shifts_are : shifts n = map shift_of ks.
  Proof.
    transitivity (map word_shift (listed a 0 n)); [unfold listed; now rewrite map_map|]. rewrite words_of, map_map. apply map_ext_in.
    intros y Y. apply shift_says. rewrite Forall_forall in stops. auto.
  Qed.

  Lemma moves_are_steps l : forall before, steps before (map shift_of l) = map (fun x : move => (shift_of (fst x), snd x)) (moves before l).
  Proof. unfold steps, moves. induction l as [|y l IH]; intros before; [reflexivity|]. cbn [map combine fst snd]. f_equal. apply IH. Qed.

  Lemma still x r : steps x (repeat x r) = repeat (x, x) r.
  Proof. unfold steps. induction r as [|r IH]; [reflexivity|]. cbn [repeat combine]. f_equal. exact IH. Qed.

  Lemma survey_finds : let v := ScanNeon.compare_tuples n a n 0 nothing_yet in let ms := moves 0 ks in
    let slots := (8 * ((n + 7) / 8))%nat in
    map (ScanNeon.gap_bytes v) (seq 0 slots) = map (fun x => if is_gap x then 255 else 0) ms ++ repeat 0 (slots - n) /\
    ScanNeon.vaddvq_u16 (ScanNeon.gap_lanes v) = Z.of_nat (length (filter is_gap ms)) /\
    ScanNeon.any (ScanNeon.fall_lanes v) = existsb is_fall ms /\
    ScanNeon.vminvq_u16 (ScanNeon.first_lanes v) = (if existsb differs ms then clear_before (map differs ms) else 65535) /\
    ScanNeon.gaps_inside v = true.
  Proof.
    destruct (all_eights n 0 nothing_yet ltac:(lia) ltac:(lia) nothing_yet_surveyed) as (k & K & S). intros v ms slots.
    change (8 * 0)%nat with 0%nat in S. fold v in S.
    assert (Ek : (8 * k)%nat = slots).
    { unfold slots. f_equal. apply (Nat.div_unique (n + 7) 8 k (n + 7 - 8 * k)); lia. }
    rewrite Ek in *. clear Ek. set (x := last (map shift_of ks) 0). set (r := (slots - n)%nat).
    assert (P : shifts slots = map shift_of ks ++ repeat x r).
    { replace slots with (n + r)%nat by lia. rewrite seq_app, map_app, shifts_are. f_equal. cbn [Nat.add].
      destruct (Nat.eq_dec n 0) as [N|N]; [replace r with 0%nat by lia; reflexivity|].
      assert (X : x = word_shift (a (n - 1)%nat)).
      { unfold x. rewrite <- shifts_are. replace n with (Datatypes.S (n - 1)) at 1 by lia. rewrite seq_S, map_app. cbn [map Nat.add]. now rewrite last_last. }
      rewrite X. transitivity (map (fun _ : nat => word_shift (a (n - 1)%nat)) (seq n r)).
      - apply map_ext_in. intros j J. apply in_seq in J. f_equal. apply behind; lia.
      - generalize n at 2 as m. generalize (word_shift (a (n - 1)%nat)). clear. intros z. induction r as [|r IH]; intros m; [reflexivity|].
        cbn [seq map repeat]. f_equal. apply IH. }
    rewrite P, steps_app, moves_are_steps in S. fold x ms in S. rewrite still in S.
    set (ps := map (fun y : move => (shift_of (fst y), snd y)) ms ++ repeat (x, x) r) in *.
    assert (Fx : further (x, x) = false) by (unfold further; cbn [fst snd]; rewrite Z.gtb_ltb; apply Z.ltb_irrefl).
    assert (Lx : less_far (x, x) = false) by apply Z.ltb_irrefl.
    assert (Ex : either (x, x) = false) by (unfold either; now rewrite Fx, Lx).
    assert (F : map further ps = map is_gap ms ++ repeat false r) by (unfold ps; rewrite map_app, map_map, repeat_mapped, Fx; reflexivity).
    assert (L : map less_far ps = map is_fall ms ++ repeat false r) by (unfold ps; rewrite map_app, map_map, repeat_mapped, Lx; reflexivity).
    assert (E : map either ps = map differs ms ++ repeat false r) by (unfold ps; rewrite map_app, map_map, repeat_mapped, Ex; reflexivity).
    assert (Ef : forall f, existsb f ps = existsb (fun t : bool => t) (map f ps)) by (intros f; now rewrite existsb_map).
    assert (Ln : length ms = n).
    { unfold ms. rewrite moves_length. apply (f_equal (@length Z)) in words_of. unfold listed in words_of. rewrite !map_length, seq_length in words_of. congruence. }
    assert (Lp : length ps = slots) by (unfold ps; rewrite app_length, map_length, repeat_length, Ln; lia).
    destruct S as [Sg (ng & Ng & Lng & Fng) (us & Us & Lus & Fus) (fi & Fi & Lfi & Vfi & Ffi) _ _ Si].
    rewrite Lp in Sg. rewrite (Ef less_far), L, existsb_where in Fus. rewrite (Ef either), E, existsb_where in Ffi. rewrite F, count_where in Fng.
    pose proof (filter_length_le is_gap ms) as Bm.
    split; [|split; [|split; [|split; [|exact Si]]]].
    - unfold listed in Sg. rewrite Sg. unfold ps. rewrite map_app, map_map, repeat_mapped. unfold flag at 2. rewrite Fx. reflexivity.
    - rewrite Ng, sum_neon, Fng. apply Z.mod_small. lia.
    - rewrite Us, any_ones_neon. exact Fus.
    - rewrite Fi, fewest_neon, Ffi by exact Vfi. destruct (existsb differs ms) eqn:D; [|reflexivity].
      apply clear_before_found. rewrite existsb_map. exact D.
  Qed.
End All.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The survey of avx2.c: each tuple against the one before it, eight at a time *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts ProgramFacts
  LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop Decode.
From Pgquern.compaction Require ScanAvx2.

(** A tuple's word, with that of the one before it. *)
Definition pair := (Z * Z)%type.
Definition p_off (p : pair) : Z := fst p mod 65536.
Definition p_end (p : pair) : Z := fst p mod 65536 + fst p / 65536.
Definition p_above (p : pair) : Z := snd p mod 65536.
Definition is_gap (p : pair) : bool := negb (p_end p =? p_above p).
Definition is_out_of_order (p : pair) : bool := p_above p <=? p_off p.
Definition reaches (p : pair) : bool := p_above p <? p_end p.
Definition gap_word (p : pair) : Z := p_end p + 65536 * p_above p.

(** The words that occur: offsets and lengths of 16 bits, of which the ends fit in 16 bits too. *)
Definition a_pair (p : pair) : Prop := word32 (fst p) /\ word32 (snd p) /\ p_end p < 65536.

Record surveyed (ps : list pair) (v : ScanAvx2.survey) : Prop := {
  s_unsorted : exists us, ScanAvx2.unsorted_lanes v = reg4 (map ones us) /\ length us = 8%nat /\
    existsb (fun t => t) us = existsb is_out_of_order ps;
  s_overlapping : exists us, ScanAvx2.overlapping_lanes v = reg4 (map ones us) /\ length us = 8%nat /\
    existsb (fun t => t) us = existsb reaches ps;
  s_next : ScanAvx2.next_gap v = length (filter is_gap ps);
  s_gaps : listed (ScanAvx2.gap_words v) 0 (length (filter is_gap ps)) = map gap_word (filter is_gap ps);
  s_first : existsb is_gap ps = true -> ScanAvx2.first_gap v = clear_before (map is_gap ps);
  s_inside : ScanAvx2.gaps_inside v = true }.

Lemma existsb_or : forall us vs : list bool, length us = length vs ->
  existsb (fun t => t) (map2 orb us vs) = existsb (fun t => t) us || existsb (fun t => t) vs.
Proof.
  induction us as [|u us IH]; intros [|v vs] L; try discriminate; [reflexivity|]. cbn [map2 existsb]. rewrite IH by (cbn in L; lia).
  destruct u, v, (existsb _ us); reflexivity.
Qed.

Lemma lor_ones us vs : length us = length vs -> Logic.or (reg4 (map ones us)) (reg4 (map ones vs)) = reg4 (map ones (map2 orb us vs)).
Proof.
  intros L. unfold Logic.or. rewrite (bitwise_lanes orb Z.lor) by (intros; rewrite ?map_length; try lia; symmetry; apply Z.lor_spec).
  f_equal. revert vs L. induction us as [|u us IH]; intros [|v vs] L; try discriminate; [reflexivity|]. cbn [map map2].
  rewrite IH by (cbn in L; lia). f_equal. apply lor_both.
Qed.

Lemma clear_before_found us vs : existsb (fun t => t) us = true -> clear_before (us ++ vs) = clear_before us.
Proof. induction us as [|[|] us IH]; intros E; [discriminate|reflexivity|]. cbn [app clear_before]. rewrite IH; [reflexivity|exact E]. Qed.
Lemma clear_before_not_found us vs : existsb (fun t => t) us = false -> clear_before (us ++ vs) = Z.of_nat (length us) + clear_before vs.
Proof.
  induction us as [|[|] us IH]; intros E; [reflexivity|discriminate|]. cbn [app clear_before length]. rewrite IH by exact E. lia.
Qed.
Lemma clear_before_bounds us : 0 <= clear_before us <= Z.of_nat (length us).
Proof. induction us as [|[|] us IH]; cbn [clear_before length]; lia. Qed.

Lemma filter_none {A} (f : A -> bool) l : (length (filter f l) =? 0)%nat = negb (existsb f l).
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [filter existsb]. destruct (f x); [reflexivity|exact IH]. Qed.

Lemma lor_apart a b : 0 <= a < 65536 -> 0 <= b -> Z.lor a (Z.shiftl b 16) = a + 65536 * b.
Proof.
  intros A B. rewrite Z.shiftl_mul_pow2 by lia. change (2 ^ 16) with 65536. rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor; [lia|..];
    apply Z.bits_inj'; intros i I; rewrite Z.land_spec, Z.bits_0; change 65536 with (2 ^ 16) in *; (destruct (Z.lt_ge_cases i 16);
      [rewrite Z.mul_pow2_bits_low by lia; apply andb_false_r|rewrite <- (Z.mod_small a (2 ^ 16)), Z.mod_pow2_bits_high by lia; reflexivity]).
Qed.

(** [compare_tuples]: the first lanes are the next tuples, the others do not count. *)
Section Compare.
  Variables (chunk junk : list pair).
  Hypothesis eight_lanes : length (chunk ++ junk) = 8%nat.
  Hypothesis chunk_pairs : Forall a_pair chunk.
  Hypothesis junk_words : Forall (fun p => word32 (fst p) /\ word32 (snd p)) junk.

  (** Each lane: is it one of them, and its words. *)
  Let q : list (bool * pair) := map (fun p => (true, p)) chunk ++ map (fun p => (false, p)) junk.
  Notation reg f := (reg4 (map f q)).

  Lemma q_length : length q = 8%nat.
  Proof. unfold q. rewrite app_length, !map_length, <- app_length. exact eight_lanes. Qed.
  Lemma q_words x : In x q -> word32 (fst (snd x)) /\ word32 (snd (snd x)).
  Proof.
    intros I. unfold q in I. rewrite in_app_iff, !in_map_iff in I. destruct I as [(p & <- & I)|(p & <- & I)]; cbn [snd].
    - rewrite Forall_forall in chunk_pairs. destruct (chunk_pairs p I) as (A & B & _). auto.
    - rewrite Forall_forall in junk_words. auto.
  Qed.
  Lemma q_is (f : pair -> Z) : map f (chunk ++ junk) = map (fun x => f (snd x)) q.
  Proof. unfold q. rewrite !map_app, !map_map. reflexivity. Qed.
  Lemma q_there (f : pair -> bool) : map (fun x : bool * pair => fst x && f (snd x)) q = map f chunk ++ repeat false (length junk).
  Proof.
    unfold q. rewrite map_app, !map_map. cbn [fst snd andb]. f_equal. clear. induction junk as [|p r IH]; [reflexivity|]. cbn [map repeat length]. now rewrite IH.
  Qed.

  Variable n : Z.
  Hypothesis lanes_count : 0 <= n < 2147483648 /\ (n < 8 -> Z.of_nat (length chunk) = n) /\ (8 <= n -> length chunk = 8%nat).

  Lemma set1_32 c : ScanAvx2.set1_epi32 c = reg (fun _ => c).
  Proof. change (ScanAvx2.set1_epi32 c) with (spread 8 (bytes_of 4 c)). apply constant_lanes. exact q_length. Qed.

  Lemma q_firsts : map fst q = map (fun k => Z.of_nat k <? n) (seq 0 8).
  Proof.
    unfold q. rewrite map_app, !map_map. cbn [fst]. destruct lanes_count as (B & C & D). rewrite app_length in eight_lanes.
    replace 8%nat with (length chunk + length junk)%nat by lia. rewrite seq_app, map_app. f_equal.
    - transitivity (map (fun _ : nat => true) (seq 0 (length chunk))).
      + clear. generalize 0%nat. induction chunk as [|p r IH]; intros k; [reflexivity|]. cbn [map length seq]. f_equal. apply IH.
      + apply map_ext_in. intros k K. apply in_seq in K. symmetry. apply Z.ltb_lt. lia.
    - transitivity (map (fun _ : nat => false) (seq (0 + length chunk) (length junk))).
      + clear. generalize (0 + length chunk)%nat. induction junk as [|p r IH]; intros k; [reflexivity|]. cbn [map length seq]. f_equal. apply IH.
      + apply map_ext_in. intros k K. apply in_seq in K. symmetry. apply Z.ltb_ge. lia.
  Qed.

  Lemma there_lanes : Table.intrinsic "_mm256_cmpgt_epi32" [ScanAvx2.set1_epi32 n;
    Table.intrinsic "_mm256_set_epi32" [register_of 4 [7; 6; 5; 4; 3; 2; 1; 0]]] = reg (fun x => ones (fst x)).
  Proof.
    rewrite <- (map_map fst ones), q_firsts, map_map.
    change (Table.intrinsic "_mm256_set_epi32" [register_of 4 [7; 6; 5; 4; 3; 2; 1; 0]]) with (reg4 (map Z.of_nat (seq 0 8))).
    change (ScanAvx2.set1_epi32 n) with (spread 8 (bytes_of 4 n)). rewrite (constant_lanes 4 (seq 0 8) 8) by reflexivity.
    match goal with |- Table.intrinsic _ [?a; ?b] = _ => change (Table.intrinsic "_mm256_cmpgt_epi32" [a; b]) with (compare_greater 4 a b) end.
    rewrite greater_lanes by lia. f_equal. apply map_ext_in. intros k K. apply in_seq in K. f_equal. change (span 4) with 4294967296.
    rewrite !Z.mod_small by lia. unfold signed. change (span 4) with 4294967296.
    destruct (Z.ltb_spec (2 * n) 4294967296), (Z.ltb_spec (2 * Z.of_nat k) 4294967296); try lia; apply Z.gtb_ltb.
  Qed.

  Definition t_of (x : bool * pair) : Z := fst (snd x).
  Definition b_of (x : bool * pair) : Z := snd (snd x).
  Definition end_lane (x : bool * pair) : Z := p_end (snd x).
  Definition above_lane (x : bool * pair) : Z := p_above (snd x).

  Lemma end_range x : In x q -> 0 <= end_lane x < 131072 /\ 0 <= above_lane x < 65536 /\ 0 <= p_off (snd x) < 65536.
  Proof.
    intros I. destruct (q_words x I) as [A B]. unfold word32, end_lane, above_lane, p_end, p_above, p_off in *. repeat split; div_lia.
  Qed.

  Lemma signed_small x : 0 <= x < 2147483648 -> signed 4 (x mod span 4) = x.
  Proof. intros X. unfold signed. change (span 4) with 4294967296. rewrite Z.mod_small by lia. destruct (Z.ltb_spec (2 * x) 4294967296); lia. Qed.

  Lemma sign_bits (f : bool * pair -> bool) :
    Lanes.number (Table.intrinsic "_mm256_movemask_ps" [Table.intrinsic "_mm256_castsi256_ps" [reg (fun x => ones (f x))]]) = number_of_bits (map f q).
  Proof.
    change (Table.intrinsic "_mm256_movemask_ps" [Table.intrinsic "_mm256_castsi256_ps" [reg (fun x => ones (f x))]]) with
      (widened 4 (signs 4 (reg (fun x => ones (f x))))).
    assert (B : signs 4 (reg (fun x => ones (f x))) = register_of_bits (map f q)).
    { unfold signs. rewrite pieces_reg, map_map by lia. f_equal. apply map_ext. intros x. now destruct (f x). }
    rewrite B. assert (Le : length (register_of_bits (map f q)) = 1%nat).
    { unfold register_of_bits. rewrite map_length, (pieces_count 8 1); [reflexivity|lia|]. rewrite map_length. exact q_length. }
    unfold widened. rewrite firstn_app, Le, firstn_all2 by lia. change (firstn (4 - 1) (zeros 4)) with (zeros 3).
    assert (N : forall r, Lanes.number (r ++ zeros 3) = Lanes.number r).
    { induction r as [|c r IH]; [reflexivity|]. cbn [app Lanes.number]. now rewrite IH. }
    rewrite N. apply (number_register_of_bits 1). rewrite map_length. exact q_length.
  Qed.

  Lemma gap_of_chunk x : In x q -> fst x = true -> 0 <= end_lane x < 65536 /\ 0 <= above_lane x < 65536.
  Proof.
    intros X T. pose proof (end_range x X) as (E & A & _). split; [|exact A]. unfold q in X. rewrite in_app_iff, !in_map_iff in X.
    destruct X as [(p & <- & X)|(p & <- & X)]; [|discriminate]. rewrite Forall_forall in chunk_pairs. destruct (chunk_pairs p X) as (_ & _ & Y).
    unfold end_lane in *. cbn [snd] in *. lia.
  Qed.

  Lemma compare_surveys done v i : surveyed done v -> i = Z.of_nat (length done) -> (length done <= 2042)%nat ->
    surveyed (done ++ chunk) (ScanAvx2.compare_tuples v i n (reg4 (map fst (chunk ++ junk))) (reg4 (map snd (chunk ++ junk)))).
  Proof.
    intros [(us & Us & Lus & Fus) (os & Os & Los & Fos) Sn Sg Sf Si] I Bd.
    rewrite !q_is. unfold ScanAvx2.compare_tuples. cbv zeta. rewrite there_lanes, set1_32.
    change (ScanAvx2.and (reg (fun x => fst (snd x))) (reg (fun _ => 65535))) with (Logic.and (reg t_of) (reg (fun _ => 65535))).
    change (ScanAvx2.and (reg (fun x => snd (snd x))) (reg (fun _ => 65535))) with (Logic.and (reg b_of) (reg (fun _ => 65535))).
    rewrite !and_lanes.
    assert (Eo : reg (fun x => Z.land (t_of x) 65535) = reg (fun x => p_off (snd x))).
    { apply same_lanes. intros x _. change 65535 with (Z.ones 16). rewrite Z.land_ones by lia. reflexivity. }
    assert (Ea : reg (fun x => Z.land (b_of x) 65535) = reg above_lane).
    { apply same_lanes. intros x _. change 65535 with (Z.ones 16). rewrite Z.land_ones by lia. reflexivity. }
    rewrite Eo, Ea.
    change (Table.intrinsic "_mm256_srli_epi32 16" [reg (fun x => fst (snd x))]) with (shift_right 4 16 (reg t_of)).
    rewrite shift_right_lanes by lia.
    match goal with |- context [Table.intrinsic "_mm256_add_epi32" [?a; ?b]] => change (Table.intrinsic "_mm256_add_epi32" [a; b]) with (add 4 a b) end.
    rewrite add_lanes by lia.
    assert (Ee : reg (fun x => p_off (snd x) + Z.shiftr (t_of x mod span 4) (Z.of_nat 16)) = reg end_lane).
    { apply same_lanes. intros x X. destruct (q_words x X) as [W _]. unfold t_of. change (span 4) with 4294967296. rewrite Z.mod_small by exact W.
      rewrite Z.shiftr_div_pow2 by lia. reflexivity. }
    rewrite Ee.
    change (Table.intrinsic "_mm256_cmpeq_epi32" [reg end_lane; reg above_lane]) with (compare_equal 4 (reg end_lane) (reg above_lane)).
    change (Table.intrinsic "_mm256_cmpgt_epi32" [reg end_lane; reg above_lane]) with (compare_greater 4 (reg end_lane) (reg above_lane)).
    change (Table.intrinsic "_mm256_cmpgt_epi32" [reg above_lane; reg (fun x => p_off (snd x))]) with
      (compare_greater 4 (reg above_lane) (reg (fun x => p_off (snd x)))).
    rewrite equal_lanes, !greater_lanes by lia.
    match goal with |- context [ScanAvx2.andnot (reg ?f) (reg ?g)] => change (ScanAvx2.andnot (reg f) (reg g)) with (Logic.andnot (reg f) (reg g)) end.
    rewrite andnot_lanes.
    assert (Eg : reg (fun x => Z.ldiff (ones (fst x)) (ones (end_lane x mod span 4 =? above_lane x mod span 4))) =
      reg (fun x => ones (fst x && is_gap (snd x)))).
    { apply same_lanes. intros x X. rewrite ldiff_both. f_equal. rewrite andb_comm. f_equal. unfold is_gap. f_equal. pose proof (end_range x X).
      change (span 4) with 4294967296. rewrite !Z.mod_small by lia. reflexivity. }
    match goal with |- context [ScanAvx2.andnot (reg ?f) (reg ?g)] => change (ScanAvx2.andnot (reg f) (reg g)) with (Logic.andnot (reg f) (reg g)) end.
    rewrite andnot_lanes. rewrite !Eg, !sign_bits.
    assert (Eu : reg (fun x => Z.ldiff (ones (fst x)) (ones (signed 4 (above_lane x mod span 4) >? signed 4 (p_off (snd x) mod span 4)))) =
      reg (fun x => ones (fst x && is_out_of_order (snd x)))).
    { apply same_lanes. intros x X. rewrite ldiff_both. f_equal. rewrite andb_comm. f_equal. unfold is_out_of_order. pose proof (end_range x X).
      rewrite !signed_small by lia. unfold above_lane. rewrite Z.gtb_ltb.
      destruct (Z.ltb_spec (p_off (snd x)) (p_above (snd x))), (Z.leb_spec (p_above (snd x)) (p_off (snd x))); try reflexivity; lia. }
    rewrite Eu.
    match goal with |- context [ScanAvx2.and (reg ?f) (reg ?g)] => change (ScanAvx2.and (reg f) (reg g)) with (Logic.and (reg f) (reg g)) end.
    rewrite and_lanes.
    assert (Eov : reg (fun x => Z.land (ones (signed 4 (end_lane x mod span 4) >? signed 4 (above_lane x mod span 4))) (ones (fst x))) =
      reg (fun x => ones (fst x && reaches (snd x)))).
    { apply same_lanes. intros x X. rewrite land_both. f_equal. rewrite andb_comm. f_equal. unfold reaches. pose proof (end_range x X).
      rewrite !signed_small by lia. apply Z.gtb_ltb. }
    rewrite Eov, Us, Os.
    rewrite <- (map_map (fun x : bool * pair => fst x && is_out_of_order (snd x)) ones), <- (map_map (fun x : bool * pair => fst x && reaches (snd x)) ones).
    rewrite !q_there.
    assert (Lj : forall f : pair -> bool, length (map f chunk ++ repeat false (length junk)) = 8%nat).
    { intros f. rewrite app_length, map_length, repeat_length, <- app_length. exact eight_lanes. }
    match goal with |- context [ScanAvx2.or (reg4 (map ones us)) ?b] => change (ScanAvx2.or (reg4 (map ones us)) b) with (Logic.or (reg4 (map ones us)) b) end.
    match goal with |- context [ScanAvx2.or (reg4 (map ones os)) ?b] => change (ScanAvx2.or (reg4 (map ones os)) b) with (Logic.or (reg4 (map ones os)) b) end.
    rewrite !lor_ones by (rewrite Lj; assumption).
    assert (Ex : forall (f : pair -> bool), existsb (fun t => t) (map f chunk ++ repeat false (length junk)) = existsb f chunk).
    { intros f. rewrite existsb_app, existsb_map. assert (R : existsb (fun t : bool => t) (repeat false (length junk)) = false).
      { generalize (length junk). induction n0 as [|k IH]; [reflexivity|exact IH]. }
      rewrite R. apply orb_false_r. }
    (* what is stored *)
    set (gw := ScanAvx2.or (reg end_lane) (Table.intrinsic "_mm256_slli_epi32 16" [reg above_lane])).
    assert (Gw : exists ws, gw = reg4 (map (fun x : bool * pair => if fst x then gap_word (snd x) else ws x) q) /\
      Forall (fun x => 0 <= x < span 4) (map (fun x : bool * pair => if fst x then gap_word (snd x) else ws x) q)).
    { exists (fun x => Z.lor (end_lane x) (Z.shiftl (above_lane x) 16) mod span 4). split.
      - unfold gw. change (Table.intrinsic "_mm256_slli_epi32 16" [reg above_lane]) with (shift_left 4 16 (reg above_lane)).
        rewrite shift_left_lanes by lia.
        match goal with |- ScanAvx2.or (reg ?f) (reg ?g) = _ => change (ScanAvx2.or (reg f) (reg g)) with (Logic.or (reg f) (reg g)) end.
        rewrite or_lanes, <- cut_lanes. apply same_lanes. intros x X. destruct (fst x) eqn:Tx; [|reflexivity].
        destruct (gap_of_chunk x X Tx) as (En & Ab). unfold gap_word. fold (end_lane x) (above_lane x). change (Z.of_nat 16) with 16.
        rewrite lor_apart by lia. apply Z.mod_small. change (span 4) with 4294967296. lia.
      - apply Forall_map, Forall_forall. intros x X. destruct (fst x) eqn:Tx; [|apply Z.mod_pos_bound; reflexivity].
        destruct (gap_of_chunk x X Tx) as (En & Ab). unfold gap_word. fold (end_lane x) (above_lane x). change (span 4) with 4294967296. lia. }
    destruct Gw as (ws & Gw & Rw). rewrite Gw.
    set (gaps := map is_gap chunk ++ repeat false (length junk)).
    assert (Lg : length gaps = 8%nat) by apply Lj.
    assert (Cg : count gaps = Z.of_nat (length (filter is_gap chunk))).
    { unfold gaps. rewrite count_app, count_false, Z.add_0_r. rewrite (count_selected _ chunk) by apply map_length.
      f_equal. f_equal. clear. induction chunk as [|p r IH]; [reflexivity|]. cbn [map selected filter]. rewrite IH. now destruct (is_gap p). }
    destruct (pack_is gaps _ Lg ltac:(rewrite map_length; exact q_length) Rw) as (others & Pk & Lo & Ro). rewrite Pk.
    assert (Sl : selected gaps (map (fun x : bool * pair => if fst x then gap_word (snd x) else ws x) q) = map gap_word (filter is_gap chunk)).
    { unfold gaps, q. rewrite map_app, !map_map. cbn [fst snd]. clear.
      transitivity (selected (map is_gap chunk) (map gap_word chunk)); [|apply selected_filter].
      induction chunk as [|p r IH]; cbn [map app selected].
      - induction junk as [|p r IH]; [reflexivity|exact IH].
      - now rewrite IH. }
    rewrite Sl in *. rewrite popcnt_is by lia. rewrite Cg, Nat2Z.id.
    assert (Lf : (length (filter is_gap done) <= length done)%nat) by apply filter_length_le.
    split; cbn [ScanAvx2.unsorted_lanes ScanAvx2.overlapping_lanes ScanAvx2.gap_words ScanAvx2.next_gap ScanAvx2.first_gap ScanAvx2.gaps_inside].
    - eexists. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, Lj; lia|].
      rewrite existsb_or by (rewrite Lj; exact Lus). now rewrite Fus, Ex, existsb_app.
    - eexists. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, Lj; lia|].
      rewrite existsb_or by (rewrite Lj; exact Los). now rewrite Fos, Ex, existsb_app.
    - rewrite Sn, filter_app, app_length. reflexivity.
    - rewrite filter_app, app_length, map_app, Sn, <- Sg. rewrite <- (map_length gap_word (filter is_gap chunk)).
      apply (store_behind (ScanAvx2.gap_words v) 0); [exact Lo|]. apply Forall_app. split; [|exact Ro].
      rewrite <- Sl. apply selected_in. exact Rw.
    - rewrite existsb_app, map_app, Sn, filter_none. intros F. destruct (existsb is_gap done) eqn:Ed; cbn [negb orb] in *.
      + rewrite clear_before_found by (rewrite existsb_map; exact Ed). now apply Sf.
      + rewrite clear_before_not_found by (rewrite existsb_map; exact Ed). rewrite map_length, I. f_equal.
        change (ScanAvx2.tzcnt (number_of_bits gaps)) with (Lanes.number (trailing (bytes_of 4 (number_of_bits gaps)))).
        unfold trailing. rewrite bits_of_number, number_bytes_of by lia. unfold gaps. rewrite <- app_assoc, clear_before_found
          by (rewrite existsb_map; exact F).
        apply Z.mod_small. pose proof (clear_before_bounds (map is_gap chunk)) as Cb. rewrite map_length in Cb. rewrite app_length in eight_lanes.
        change (span 4) with 4294967296. lia.
    - rewrite Si, Sn. unfold ScanAvx2.fits, ScanAvx2.HALF, ScanAvx2.MAX_LINE_POINTERS. cbn [andb]. apply Z.leb_le. lia.
  Qed.
End Compare.

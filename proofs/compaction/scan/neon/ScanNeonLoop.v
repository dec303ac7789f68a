(* SPDX-License-Identifier: PostgreSQL *)
(** * The loop of the scan of neon.c: what the rounds so far have gathered *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop Page Decode ScanAvx512Lanes ScanAvx512Round ScanAvx512Loop.
From Pgquern.compaction Require Import ScanNeonLanes ScanNeonRound.
From Pgquern.compaction Require ScanAvx2 ScanNeon.

Record gathered (special : Z) (l : list lane) (s : ScanNeon.state) : Prop := {
  g_words : listed (ScanNeon.words s) 0 (length l) = news special l;
  g_tuples : listed (ScanNeon.tuples s) 0 (length (tuples special l)) = map ends_word (tuples special l);
  g_next : ScanNeon.next s = length (tuples special l);
  g_base : ScanNeon.base s = reg2 (repeat (special - lengths_sum l) 8);
  g_numbers : ScanNeon.numbers s = reg2 (map (fun k => Z.of_nat k + 1) (seq (length l) 8));
  g_bounds : known l (ScanNeon.bounds s);
  g_inside : ScanNeon.inside s = true }.

(** Eight words of the page. *)
Lemma load_is_neon m a : (forall k, 0 <= k < 32 -> 0 <= m (a + k) < 256) ->
  ScanNeon.load_halves m a ++ ScanNeon.load_halves m (a + ScanNeon.VECTOR) = reg4 (map (fun k => read32 m (a + 4 * Z.of_nat k)) (seq 0 8)).
Proof.
  intros B. rewrite <- load_page_is by exact B.
  change (ScanNeon.load_halves m a) with (ScanNeon.vld1q_u8 m a).
  change (ScanNeon.load_halves m (a + ScanNeon.VECTOR)) with (ScanNeon.vld1q_u8 m (a + ScanNeon.VECTOR)).
  unfold ScanNeon.vld1q_u8, ScanAvx2.load_page. change (seq 0 32) with (seq 0 16 ++ seq 16 16). rewrite map_app. f_equal.
  rewrite (seq_from 16 16), map_map. apply map_ext. intros k. unfold ScanNeon.VECTOR. f_equal. lia.
Qed.

Lemma round_gathers m n special l s : is_page m -> 0 <= n <= 2042 -> Z.of_nat (length l) < n ->
  HEADER_SIZE + 4 * Z.of_nat (length l) + 32 <= BLCKSZ -> sound_lanes l -> gathered special l s ->
  gathered special (l ++ lanes_from m n (length l) 8) (ScanNeon.round m n (Z.of_nat (length l)) s).
Proof.
  intros P Bn I In Sl G. set (i := length l) in *. set (next := lanes_from m n i 8).
  assert (By : forall a, 0 <= a < 8192 -> 0 <= m a < 256) by (intros a A; apply P; exact A).
  unfold HEADER_SIZE, BLCKSZ in *.
  assert (S : sound_lanes next).
  { apply Forall_map, Forall_forall. intros k K. apply in_seq in K. cbn [lane_at snd]. apply read32_range. unfold HEADER_SIZE.
    intros j J. apply By. lia. }
  assert (L : length next = 8%nat) by (unfold next, lanes_from; now rewrite map_length, seq_length).
  assert (Ld : ScanNeon.load_halves m (24 + 4 * Z.of_nat i) ++ ScanNeon.load_halves m (24 + 4 * Z.of_nat i + ScanNeon.VECTOR) = reg4 (map snd next)).
  { rewrite load_is_neon by (intros k K; apply By; lia). unfold next, lanes_from. rewrite map_map, (seq_from 8 i), map_map. f_equal.
    apply map_ext. intros k. cbn [lane_at snd]. f_equal. unfold HEADER_SIZE. lia. }
  destruct (halves_neon _ _ _ Ld ltac:(rewrite map_length; exact L)) as [Lo Hi]. rewrite !map_map in Lo, Hi. clear Ld.
  destruct G as [Gw Gt Gn Gb Gm Gx Gi].
  pose proof (notes l next (ScanNeon.bounds s) L ltac:(lia) Sl S Gx) as Nt. cbv zeta in Nt. fold i in Nt, Gm.
  set (b := special - lengths_sum l) in *.
  destruct (words_neon next L S b) as (u & v & Nx & Lu & Lv & Z1 & Z2).
  pose proof (there_neon m n i Bn ltac:(lia)) as Th. fold next in Th.
  unfold ScanNeon.round. cbv zeta. unfold HEADER_SIZE. rewrite Lo, Hi, Gm, Th, (used_neon next L S), (len_neon next L S), (stored_neon next L S),
    (length_neon next L S), (off_neon next L), Gb, (new_off_neon next L b), (base_neon next L b), (low_to_be_neon next L b), (high_to_be_neon next b),
    Z1, Z2, (ends_neon next b), (old_ends_neon next b), Gn.
  set (c := combine next (tops b next)) in *.
  assert (Lc : length c = 8%nat) by (apply c_length_neon; exact L).
  pose proof (pack_tuples_is (ScanNeon.tuples s) (length (tuples special l)) (map kept next) (map (fun y => snd y + len_of (fst y)) c) (map stop_of c)
    ltac:(rewrite !map_length; auto) (stops_range next S b) _ Gt) as Pk. cbv zeta in Pk.
  assert (Sel : selected (map kept next) (map2 joined (map (fun y => snd y + len_of (fst y)) c) (map stop_of c)) = map ends_word (tuples b next))
    by exact (selected_neon next b).
  rewrite !Sel, (map_map kept ones) in Pk. clear Sel.
  destruct (ScanNeon.pack_tuples _ _ _ _ _) as [[to at_] ok]. cbn [fst snd] in Pk. rewrite map_length in Pk. destruct Pk as (T1 & T2 & T3).
  assert (Tu : tuples special (l ++ next) = tuples special l ++ tuples b next) by apply tuples_app.
  pose proof (tuples_few l special) as Bk. fold i in Bk.
  split; cbn [ScanNeon.words ScanNeon.tuples ScanNeon.next ScanNeon.base ScanNeon.numbers ScanNeon.bounds ScanNeon.inside].
  - rewrite Nat2Z.id, app_length, L, news_app. fold i b. pose proof (new_range next b S) as Rn. rewrite Nx in Rn |- *. apply Forall_app in Rn as [Ru Rv].
    change (ScanNeon.store_halves ?to ?k (reg4 ?r)) with (ScanAvx512.store 4 to k (reg4 r)).
    replace (i + 8)%nat with (i + 4 + length v)%nat by lia. rewrite <- (app_nil_r v) at 1.
    rewrite (store_behind_512 4 _ ltac:(lia) 0 (i + 4)) by (rewrite app_nil_r; exact Rv). rewrite app_assoc. f_equal.
    replace (i + 4)%nat with (i + length u)%nat by lia. rewrite <- (app_nil_r u) at 1.
    rewrite (store_behind_512 4 _ ltac:(lia) 0 i) by (rewrite app_nil_r; exact Ru). f_equal. exact Gw.
  - rewrite Tu, app_length, map_app. exact T1.
  - rewrite Tu, app_length. exact T2.
  - rewrite lengths_sum_app. f_equal. f_equal. unfold b. lia.
  - rewrite (dup_neon (seq i 8)), add_neon by apply seq_length. rewrite app_length, L. fold i.
    rewrite (seq_from 8 (i + 8)), (seq_from 8 i), !map_map. f_equal. apply map_ext. intros k. unfold ScanNeon.LANES. lia.
  - exact Nt.
  - rewrite Gi, T3 by lia. unfold ScanNeon.fits, ScanAvx512.fits, ScanNeon.VECTOR, BLCKSZ, ScanNeon.MAX_LINE_POINTERS, ScanNeon.LANES.
    rewrite andb_true_r. cbn [andb]. rewrite andb_true_iff, !Z.leb_le, Z2Nat.id by lia. lia.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The loop of the scan of avx2.c: what the rounds so far have gathered *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Compare Permute Scalar Facts ProgramFacts
  LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round Page Decode.
From Pgquern.compaction Require ScanAvx2.

(** The number of the last one that is set, counted from 1; 0 if none is. *)
Fixpoint last_set (us : list bool) : Z :=
  match us with [] => 0 | t :: r => if last_set r =? 0 then Z.b2z t else 1 + last_set r end.

Lemma last_set_bounds us : 0 <= last_set us <= Z.of_nat (length us).
Proof. induction us as [|t r IH]; cbn [last_set length]; [lia|]. destruct (Z.eqb_spec (last_set r) 0), t; cbn [Z.b2z]; lia. Qed.

Lemma last_set_app a b : last_set (a ++ b) = if last_set b =? 0 then last_set a else Z.of_nat (length a) + last_set b.
Proof.
  pose proof (last_set_bounds b) as B. induction a as [|t a IH]; cbn [app last_set length].
  - destruct (Z.eqb_spec (last_set b) 0); lia.
  - rewrite IH. destruct (Z.eqb_spec (last_set b) 0) as [E|E]; [reflexivity|].
    destruct (Z.eqb_spec (Z.of_nat (length a) + last_set b) 0); lia.
Qed.

Lemma last_set_none us : (last_set us =? 0) = (number_of_bits us =? 0).
Proof.
  induction us as [|t r IH]; [reflexivity|]. cbn [last_set number_of_bits]. pose proof (last_set_bounds r). pose proof (number_of_bits_bound r).
  destruct (Z.eqb_spec (last_set r) 0), (Z.eqb_spec (number_of_bits r) 0), t; try discriminate; cbn [Z.b2z];
    repeat match goal with |- context [?x =? 0] => destruct (Z.eqb_spec x 0) end; try reflexivity; lia.
Qed.

Lemma clear_before_app n l : clear_before (repeat false n ++ l) = Z.of_nat n + clear_before l.
Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat app clear_before]. rewrite IH. lia. Qed.

Lemma clear_before_last us : last_set us <> 0 -> clear_before (rev us) = Z.of_nat (length us) - last_set us.
Proof.
  induction us as [|t r IH] using rev_ind; [intros E; now destruct E|]. rewrite last_set_app, rev_app_distr, app_length. cbn [rev app clear_before last_set length].
  change (0 =? 0) with true. cbv iota. destruct t; cbn [Z.b2z clear_before]; [intros _; change (1 =? 0) with false; cbv iota; lia|].
  change (0 =? 0) with true. cbv iota. intros N. rewrite IH by exact N. lia.
Qed.

(** [i + 32 - lzcnt]: past the last one that is used. *)
Lemma lzcnt_is us : (length us <= 32)%nat -> number_of_bits us <> 0 -> 32 - ScanAvx2.lzcnt (number_of_bits us) = last_set us.
Proof.
  intros L N. change (ScanAvx2.lzcnt (number_of_bits us)) with (Lanes.number (leading (bytes_of 4 (number_of_bits us)))).
  unfold leading. rewrite bits_of_number, number_bytes_of by exact L. rewrite rev_app_distr.
  assert (R : rev (repeat false (32 - length us)) = repeat false (32 - length us)).
  { generalize (32 - length us)%nat. clear. induction n as [|n IH]; [reflexivity|]. cbn [repeat rev]. rewrite IH.
    clear. induction n as [|n IH]; [reflexivity|]. cbn [repeat app]. now rewrite IH. }
  rewrite R, clear_before_app.
  assert (S : last_set us <> 0). { pose proof (last_set_none us) as E. intros Z. rewrite Z in E. symmetry in E. apply Z.eqb_eq in E. auto. }
  rewrite clear_before_last by exact S. pose proof (last_set_bounds us). rewrite Z.mod_small by (cbn [span]; lia). lia.
Qed.

Lemma selected_filter {A} (f : A -> bool) (g : A -> Z) l : selected (map f l) (map g l) = map g (filter f l).
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [map selected filter]. rewrite IH. now destruct (f x).
Qed.

(** ** What is stored of the tuples of a round *)
Lemma tuple_range x : word32 (snd x) -> 0 <= tuple_of x < span 4.
Proof. intros W. pose proof (lane_bounds x W) as (O & L & _). unfold tuple_of. cbn [span]. lia. Qed.

Lemma tuples_range l : sound_lanes l -> Forall (fun x => 0 <= x < span 4) (map tuple_of l).
Proof. intros S. apply Forall_map. eapply Forall_impl; [|exact S]. intros x. apply tuple_range. Qed.

Definition kept_count (l : list lane) : nat := length (filter kept l).

Lemma store_tuples_is l to n : length l = 16%nat -> sound_lanes l -> forall done, listed to 1 n = done ->
  let r := ScanAvx2.store_tuples to (1 + n) (number_of_bits (map kept l)) (reg4 (firstn 8 (map tuple_of l))) (reg4 (skipn 8 (map tuple_of l))) in
  listed (fst (fst r)) 1 (n + kept_count l) = done ++ map tuple_of (filter kept l) /\ fst (fst r) 0%nat = to 0%nat /\
  snd (fst r) = (1 + (n + kept_count l))%nat /\ (Z.of_nat n <= 2042 -> snd r = true).
Proof.
  intros L S done D r. destruct (two_of_eight l L) as (a & b & -> & La & Lb). apply Forall_app in S as [Sa Sb].
  subst r. unfold ScanAvx2.store_tuples. cbv zeta.
  rewrite !map_app, firstn_app, skipn_app, !map_length, La, Nat.sub_diag, firstn_all2, skipn_all2 by (rewrite map_length; lia).
  cbn [firstn skipn app]. rewrite app_nil_r.
  rewrite low_byte_of_bits, high_byte_of_bits by now rewrite map_length.
  destruct (pack_is (map kept a) (map tuple_of a)) as (oa & Pa & La' & Va); [now rewrite map_length..|now apply tuples_range|].
  destruct (pack_is (map kept b) (map tuple_of b)) as (ob & Pb & Lb' & Vb); [now rewrite map_length..|now apply tuples_range|].
  rewrite Pa, Pb. rewrite !popcnt_is by (rewrite map_length; lia).
  rewrite (count_selected (map kept a) (map tuple_of a)), (count_selected (map kept b) (map tuple_of b)) by now rewrite !map_length.
  rewrite !Nat2Z.id, !selected_filter, !map_length in *. fold (kept_count a) (kept_count b) in *.
  assert (K : kept_count (a ++ b) = (kept_count a + kept_count b)%nat) by (unfold kept_count; now rewrite filter_app, app_length).
  assert (Ra : Forall (fun x => 0 <= x < span 4) (map tuple_of (filter kept a) ++ oa)).
  { apply Forall_app. split; [|exact Va]. apply tuples_range. exact (incl_Forall (incl_filter kept a) Sa). }
  assert (Rb : Forall (fun x => 0 <= x < span 4) (map tuple_of (filter kept b) ++ ob)).
  { apply Forall_app. split; [|exact Vb]. apply tuples_range. exact (incl_Forall (incl_filter kept b) Sb). }
  assert (Ka : length (map tuple_of (filter kept a)) = kept_count a) by apply map_length.
  assert (Kb : length (map tuple_of (filter kept b)) = kept_count b) by apply map_length.
  pose proof (filter_length_le kept a) as Ba. fold (kept_count a) in Ba.
  cbn [fst snd]. split; [|split; [|split]].
  - rewrite K, filter_app, map_app, app_assoc, Nat.add_assoc, <- Kb. replace (1 + n + kept_count a)%nat with (1 + (n + kept_count a))%nat by lia.
    rewrite store_behind by (rewrite ?Kb; assumption). f_equal. rewrite <- Ka. rewrite store_behind by (rewrite ?Ka; assumption).
    now rewrite D.
  - rewrite !store_below; try assumption; try (rewrite app_length, ?Ka, ?Kb; lia); lia.
  - rewrite K. lia.
  - intros Bn. unfold ScanAvx2.fits, ScanAvx2.HALF, ScanAvx2.MAX_LINE_POINTERS, ScanAvx2.LANES. rewrite andb_true_iff, !Z.leb_le. lia.
Qed.

(** ** Extremes *)
Definition alls (xs : list Z) : Z := fold_right Z.lor 0 xs.

Lemma lor_swap a b c d : Z.lor (Z.lor a b) (Z.lor c d) = Z.lor (Z.lor a c) (Z.lor b d).
Proof. rewrite !Z.lor_assoc. f_equal. rewrite <- !Z.lor_assoc. f_equal. apply Z.lor_comm. Qed.
Lemma alls_of_two : forall a b, length a = length b -> alls (map2 Z.lor a b) = Z.lor (alls a) (alls b).
Proof.
  unfold alls. induction a as [|x a IH]; intros [|y b] L; try discriminate; [reflexivity|]. cbn [map2 fold_right].
  rewrite IH by (cbn in L; lia). apply lor_swap.
Qed.
Lemma alls_app a b : alls (a ++ b) = Z.lor (alls a) (alls b).
Proof. unfold alls. induction a as [|x a IH]; cbn [app fold_right]; [reflexivity|]. now rewrite IH, Z.lor_assoc. Qed.
Lemma fewest_app a b : Forall word16 a -> fewest (a ++ b) = Z.min (fewest a) (fewest b).
Proof.
  unfold fewest, word16. intros V. induction V as [|x a X V IH]; cbn [app fold_right]; [|lia].
  clear. induction b as [|y b IH]; cbn [fold_right]; lia.
Qed.

Record known (l : list lane) (x : ScanAvx2.extremes) : Prop := {
  k_lows : exists xs, ScanAvx2.lows x = reg2 xs /\ length xs = 16%nat /\ Forall word16 xs /\ fewest xs = fewest (map low_of l);
  k_ends : exists xs, ScanAvx2.ends x = reg2 xs /\ length xs = 16%nat /\ Forall word16 xs /\ most xs = most (map (fun x => off_of x + len_of x) l);
  k_offs : exists xs, ScanAvx2.offs x = reg2 xs /\ length xs = 16%nat /\ alls xs = alls (map off_of l);
  k_longest : exists xs, ScanAvx2.longests x = reg2 xs /\ length xs = 16%nat /\ Forall word16 xs /\ most xs = most (map len_of l);
  k_totals : exists xs, ScanAvx2.totals x = reg4 xs /\ length xs = 8%nat /\ sum xs = sum (map (fun x => signed 2 (len_of x)) l) }.

Lemma range_map (f : lane -> Z) l : sound_lanes l -> (forall x, word32 (snd x) -> word16 (f x)) -> Forall word16 (map f l).
Proof. intros S F. apply Forall_map. eapply Forall_impl; [|exact S]. exact F. Qed.

Lemma note_bounds_is l m x : length m = 16%nat -> sound_lanes l -> sound_lanes m -> known l x ->
  known (l ++ m) (ScanAvx2.note_bounds x (reg2 (map (fun x => ones (kept x)) m)) (reg2 (map off_of m)) (reg2 (map len_of m))).
Proof.
  intros L Sl S [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) (lg & Lg & Llg & Vlg & Flg) (ts & Ts & Lts & Fts)].
  assert (R : forall f, (forall x, word32 (snd x) -> word16 (f x)) -> Forall word16 (map f m)) by (intros f; now apply range_map).
  assert (Bl : forall x, word32 (snd x) -> word16 (low_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Be : forall x, word32 (snd x) -> word16 (off_of x + len_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Bn : forall x, word32 (snd x) -> word16 (len_of x)) by (intros y Y; apply lane_bounds; exact Y).
  split; cbn [ScanAvx2.note_bounds ScanAvx2.lows ScanAvx2.ends ScanAvx2.offs ScanAvx2.longests ScanAvx2.totals].
  - exists (map2 Z.min lo (map low_of m)). rewrite Lo, set1_lanes with (l := m), xor_is, or_is by exact L.
    assert (E : reg2 (map (fun x => Z.lor (off_of x) (Z.lxor (ones (kept x)) (-1))) m) = reg2 (map low_of m)).
    { rewrite <- cut_lanes, <- (cut_lanes 2 m low_of). apply same_lanes. intros y I. unfold off_of, low_of. destruct (kept y).
      - change (Z.lxor (ones true) (-1)) with 0. now rewrite Z.lor_0_r.
      - reflexivity. }
    rewrite E. change (Table.intrinsic "_mm256_min_epu16" [reg2 lo; reg2 (map low_of m)]) with (min_unsigned 2 (reg2 lo) (reg2 (map low_of m))).
    rewrite min_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply min_word16; auto|].
    rewrite fewest_of_two by (rewrite map_length; lia). rewrite Flo, map_app, fewest_app by now apply range_map. reflexivity.
  - exists (map2 Z.max en (map (fun x => off_of x + len_of x) m)). rewrite En.
    change (Table.intrinsic "_mm256_add_epi16" [reg2 (map off_of m); reg2 (map len_of m)]) with (add 2 (reg2 (map off_of m)) (reg2 (map len_of m))).
    rewrite add_lanes by lia.
    change (Table.intrinsic "_mm256_max_epu16" [reg2 en; reg2 (map (fun x => off_of x + len_of x) m)]) with
      (max_unsigned 2 (reg2 en) (reg2 (map (fun x => off_of x + len_of x) m))).
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Fen, map_app, most_app by now apply range_map. reflexivity.
  - exists (map2 Z.lor os (map off_of m)). rewrite Os.
    change (ScanAvx2.or (reg2 os) (reg2 (map off_of m))) with (bitwise orb (reg2 os) (reg2 (map off_of m))).
    rewrite (bitwise_lanes orb Z.lor) by (intros; rewrite ?map_length; try lia; symmetry; apply Z.lor_spec).
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|].
    rewrite alls_of_two by (rewrite map_length; lia). now rewrite Fos, map_app, alls_app.
  - exists (map2 Z.max lg (map len_of m)). rewrite Lg.
    change (Table.intrinsic "_mm256_max_epu16" [reg2 lg; reg2 (map len_of m)]) with (max_unsigned 2 (reg2 lg) (reg2 (map len_of m))).
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Flg, map_app, most_app by now apply range_map. reflexivity.
  - destruct (madd_is (map len_of m)) as (ys & E & Ly & Fy); [auto|now rewrite map_length|].
    exists (map2 Z.add ts ys). rewrite Ts.
    change (Table.intrinsic "_mm256_madd_epi16" [reg2 (map len_of m); ScanAvx2.set1_epi16 1]) with
      (multiply_add (reg2 (map len_of m)) (spread 16 (bytes_of 2 1))).
    rewrite E. change (Table.intrinsic "_mm256_add_epi32" [reg4 ts; reg4 ys]) with (add 4 (reg4 ts) (reg4 ys)). rewrite add_dwords.
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length; lia|]. rewrite sum_of_two by lia. rewrite Fts, Fy, map_map, map_app, sum_app. reflexivity.
Qed.

(** ** The rounds *)
Record gathered (special : Z) (l : list lane) (s : ScanAvx2.state) : Prop := {
  g_words : listed (ScanAvx2.words s) 0 (length l) = news special l;
  g_special : ScanAvx2.tuples s 0%nat = special;
  g_tuples : listed (ScanAvx2.tuples s) 1 (kept_count l) = map tuple_of (filter kept l);
  g_next : ScanAvx2.next s = (1 + kept_count l)%nat;
  g_base : ScanAvx2.base s = reg2 (repeat (special - lengths_sum l) 16);
  g_bounds : known l (ScanAvx2.bounds s);
  g_nused : ScanAvx2.nused s = count (map used l);
  g_left : ScanAvx2.nline_left s = last_set (map used l);
  g_inside : ScanAvx2.inside s = true }.

(** The registers of the last round, which the survey of few tuples takes. *)
Record last_round (l : list lane) (s : ScanAvx2.state) : Prop := {
  r_bits : ScanAvx2.stored_bits s = number_of_bits (map kept l);
  r_first : ScanAvx2.first s = reg4 (firstn 8 (map tuple_of l));
  r_second : ScanAvx2.second s = reg4 (skipn 8 (map tuple_of l)) }.

Lemma news_app a b top : news top (a ++ b) = news top a ++ news (top - lengths_sum a) b.
Proof.
  unfold news. rewrite tops_app, <- map_app. f_equal. pose proof (tops_length a top) as L. generalize (tops (top - lengths_sum a) b). revert L. generalize (tops top a).
  induction a as [|x a IH]; intros [|t ts] L us; try discriminate; [reflexivity|]. cbn [app combine]. f_equal. apply IH. now injection L.
Qed.
Lemma news_length l top : length (news top l) = length l.
Proof. unfold news. rewrite map_length, combine_length, tops_length. lia. Qed.

Lemma new_range l top : sound_lanes l -> Forall (fun x => 0 <= x < span 4) (news top l).
Proof.
  intros S. apply Forall_map, Forall_forall. intros [x t] I. apply in_combine_l in I. unfold sound_lanes in S. rewrite Forall_forall in S.
  specialize (S x I). unfold word32 in S. unfold new_of, set_off. cbn [fst snd span]. destruct (kept x); [div_lia|]. destruct (used x); lia.
Qed.

Lemma lengths_sum_app a b : lengths_sum (a ++ b) = lengths_sum a + lengths_sum b.
Proof. unfold lengths_sum. now rewrite map_app, sum_app. Qed.

(** The sixteen lanes from the [i]-th line pointer on. *)
Definition lane_at (m : mem) (n : Z) (i : nat) : lane := (Z.of_nat i <? n, read32 m (HEADER_SIZE + 4 * Z.of_nat i)).
Definition lanes_from (m : mem) (n : Z) (from count : nat) : list lane := map (lane_at m n) (seq from count).

Lemma load_page_is m a : (forall k, 0 <= k < 32 -> 0 <= m (a + k) < 256) ->
  ScanAvx2.load_page m a = reg4 (map (fun k => read32 m (a + 4 * Z.of_nat k)) (seq 0 8)).
Proof.
  intros B. unfold ScanAvx2.load_page.
  assert (E : forall k, 0 <= k < 8 -> bytes_of 4 (read32 m (a + 4 * k)) = [m (a + 4 * k); m (a + 4 * k + 1); m (a + 4 * k + 2); m (a + 4 * k + 3)]).
  { intros k K. pose proof (B (4 * k) ltac:(lia)) as B0. pose proof (B (4 * k + 1) ltac:(lia)) as B1. pose proof (B (4 * k + 2) ltac:(lia)) as B2.
    pose proof (B (4 * k + 3) ltac:(lia)) as B3. rewrite !Z.add_assoc in *. unfold read32. cbn [bytes_of].
    generalize dependent (m (a + 4 * k)). generalize dependent (m (a + 4 * k + 1)). generalize dependent (m (a + 4 * k + 2)).
    generalize dependent (m (a + 4 * k + 3)). intros b3 B3 b2 B2 b1 B1 b0 B0. repeat (apply f_equal2; [div_lia|]). reflexivity. }
  unfold register_of. rewrite map_map.
  assert (F : map (fun k => bytes_of 4 (read32 m (a + 4 * Z.of_nat k))) (seq 0 8) =
    map (fun k => [m (a + 4 * Z.of_nat k); m (a + 4 * Z.of_nat k + 1); m (a + 4 * Z.of_nat k + 2); m (a + 4 * Z.of_nat k + 3)]) (seq 0 8)).
  { apply map_ext_in. intros k K. apply in_seq in K. apply E. lia. }
  rewrite F. cbn [seq map concat app]. repeat (apply f_equal2; [f_equal; lia|]). reflexivity.
Qed.

Lemma there_is m n i : 0 <= n - Z.of_nat i < 32768 ->
  Table.intrinsic "_mm256_cmpgt_epi16" [ScanAvx2.set1_epi16 (n - Z.of_nat i);
    Table.intrinsic "_mm256_set_epi16" [register_of 2 [15; 14; 13; 12; 11; 10; 9; 8; 7; 6; 5; 4; 3; 2; 1; 0]]] =
  reg2 (map (fun x => ones (fst x)) (lanes_from m n i 16)).
Proof.
  intros B. change (Table.intrinsic "_mm256_set_epi16" [register_of 2 [15; 14; 13; 12; 11; 10; 9; 8; 7; 6; 5; 4; 3; 2; 1; 0]]) with
    (reg2 (map Z.of_nat (seq 0 16))).
  change (ScanAvx2.set1_epi16 (n - Z.of_nat i)) with (spread 16 (bytes_of 2 (n - Z.of_nat i))).
  rewrite (constant_lanes 2 (seq 0 16) 16) by reflexivity.
  match goal with |- Table.intrinsic _ [?a; ?b] = _ => change (Table.intrinsic "_mm256_cmpgt_epi16" [a; b]) with (compare_greater 2 a b) end.
  rewrite greater_lanes by lia. unfold lanes_from. rewrite map_map, (seq_from 16 i), map_map. f_equal. apply map_ext_in. intros k K. apply in_seq in K.
  cbn [lane_at fst]. f_equal. change (span 2) with 65536. rewrite !Z.mod_small by lia. unfold signed. cbn [span].
  destruct (Z.ltb_spec (2 * (n - Z.of_nat i)) (256 * (256 * 1))), (Z.ltb_spec (2 * Z.of_nat k) (256 * (256 * 1))); try lia.
  rewrite Z.gtb_ltb. destruct (Z.ltb_spec (Z.of_nat k) (n - Z.of_nat i)), (Z.ltb_spec (Z.of_nat (k + i)) n); lia || reflexivity.
Qed.

Lemma read32_range m a : (forall k, 0 <= k < 4 -> 0 <= m (a + k) < 256) -> word32 (read32 m a).
Proof.
  intros B. pose proof (B 0 ltac:(lia)) as B0. rewrite Z.add_0_r in B0. pose proof (B 1 ltac:(lia)). pose proof (B 2 ltac:(lia)). pose proof (B 3 ltac:(lia)).
  unfold word32, read32. lia.
Qed.

Lemma round_gathers m n special l s : is_page m -> 0 <= n <= 2042 -> Z.of_nat (length l) < n ->
  HEADER_SIZE + 4 * Z.of_nat (length l) + 64 <= BLCKSZ -> sound_lanes l -> gathered special l s ->
  let next := lanes_from m n (length l) 16 in
  let t := ScanAvx2.round m n (Z.of_nat (length l)) s in
  sound_lanes next /\ gathered special (l ++ next) t /\ last_round next t.
Proof.
  intros P Bn I In Sl G next t. set (i := length l) in *.
  assert (By : forall a, 0 <= a < 8192 -> 0 <= m a < 256) by (intros a A; apply P; exact A).
  unfold HEADER_SIZE, BLCKSZ in *.
  assert (S : sound_lanes next).
  { apply Forall_map, Forall_forall. intros k K. apply in_seq in K. cbn [lane_at snd]. apply read32_range. unfold HEADER_SIZE.
    intros j J. apply By. lia. }
  split; [exact S|].
  assert (L : length next = 16%nat) by (unfold next, lanes_from; now rewrite map_length, seq_length).
  destruct G as [Gw Gs Gt Gn Gb Gx Gu Gl Gi].
  assert (W0 : ScanAvx2.load_page m (24 + 4 * Z.of_nat i) = reg4 (firstn 8 (map snd next))).
  { rewrite load_page_is by (intros k K; apply By; lia). unfold next, lanes_from. rewrite map_map, (seq_from 16 i), map_map, firstn_map. f_equal.
    apply map_ext. intros k. cbn [lane_at snd]. f_equal. unfold HEADER_SIZE. lia. }
  assert (W1 : ScanAvx2.load_page m (24 + 4 * Z.of_nat i + ScanAvx2.VECTOR) = reg4 (skipn 8 (map snd next))).
  { unfold ScanAvx2.VECTOR. rewrite load_page_is by (intros k K; apply By; lia). unfold next, lanes_from. rewrite map_map, (seq_from 16 i), map_map, skipn_map. f_equal.
    change (skipn 8 (seq 0 16)) with (seq 8 8). rewrite (seq_from 8 8), map_map. apply map_ext. intros k. cbn [lane_at snd]. f_equal. unfold HEADER_SIZE. lia. }
  assert (L0 : length (firstn 8 (map snd next)) = 8%nat) by (rewrite firstn_length, (map_length snd next); unfold lane in *; now rewrite L).
  assert (L1 : length (skipn 8 (map snd next)) = 8%nat) by (rewrite skipn_length, (map_length snd next); unfold lane in *; now rewrite L).
  assert (V : Forall word32 (map snd next)) by (apply Forall_map; exact S).
  assert (V0 : Forall word32 (firstn 8 (map snd next)) /\ Forall word32 (skipn 8 (map snd next))).
  { rewrite <- (firstn_skipn 8 (map snd next)) in V. now apply Forall_app in V. }
  destruct V0 as [V0 V1].
  assert (Lo : ScanAvx2.low_halves (reg4 (firstn 8 (map snd next))) (reg4 (skipn 8 (map snd next))) = reg2 (map (fun x => snd x mod 65536) next)).
  { rewrite low_halves_are by assumption. now rewrite firstn_skipn, map_map. }
  assert (Hi : ScanAvx2.high_halves (reg4 (firstn 8 (map snd next))) (reg4 (skipn 8 (map snd next))) = reg2 (map (fun x => snd x / 65536) next)).
  { rewrite high_halves_are by assumption. now rewrite firstn_skipn, map_map. }
  subst t. unfold ScanAvx2.round. cbv zeta. unfold HEADER_SIZE. rewrite W0, W1, Lo, Hi, (there_is m) by lia. fold next.
  rewrite used_is, len_is, stored_is, length_is, off_is by assumption.
  rewrite Gb, new_off_is, base_is, low_to_be_is, (high_to_be_is next (special - lengths_sum l)), words_are, tuples_are, !bits_are by assumption.
  rewrite Gn.
  destruct (store_tuples_is next (ScanAvx2.tuples s) (kept_count l) L S _ Gt) as (T1 & T2 & T3 & T4).
  destruct (ScanAvx2.store_tuples _ _ _ _ _) as [[to at_] ok]. cbn [fst snd] in *.
  assert (Kc : kept_count (l ++ next) = (kept_count l + kept_count next)%nat) by (unfold kept_count; now rewrite filter_app, app_length).
  pose proof (filter_length_le kept l) as Bk. fold (kept_count l) in Bk.
  split; [|split; reflexivity].
  split; cbn [ScanAvx2.words ScanAvx2.tuples ScanAvx2.next ScanAvx2.base ScanAvx2.bounds ScanAvx2.nused ScanAvx2.nline_left ScanAvx2.inside].
  - rewrite Nat2Z.id, app_length, L, news_app. fold i.
    pose proof (news_length next (special - lengths_sum l)) as Ln. rewrite L in Ln. pose proof (new_range next (special - lengths_sum l) S) as Rn.
    destruct (two_of_eight _ Ln) as (a & b & E & La & Lb). rewrite E in Rn |- *. apply Forall_app in Rn as [Ra Rb].
    rewrite firstn_app, skipn_app, La, Nat.sub_diag, firstn_all2, skipn_all2 by lia. cbn [firstn skipn app]. rewrite app_nil_r.
    replace (i + 16)%nat with (i + 8 + length b)%nat by lia. rewrite <- (app_nil_r b) at 1. change (i + 8)%nat with (0 + (i + 8))%nat at 1.
    rewrite store_behind by (rewrite ?app_nil_r; cbn [length]; auto; lia). rewrite app_assoc. f_equal.
    replace (i + 8)%nat with (i + length a)%nat by lia. rewrite <- (app_nil_r a) at 1. change i with (0 + i)%nat at 1.
    rewrite store_behind by (rewrite ?app_nil_r; cbn [length]; auto; lia). f_equal. exact Gw.
  - now rewrite T2.
  - rewrite Kc, T1, filter_app, map_app. reflexivity.
  - rewrite T3, Kc. reflexivity.
  - rewrite lengths_sum_app. f_equal. f_equal. lia.
  - now apply note_bounds_is.
  - rewrite Gu, popcnt_is, map_app, count_app by (rewrite map_length; lia). reflexivity.
  - rewrite map_app, last_set_app, last_set_none, map_length. fold i. destruct (Z.eqb_spec (number_of_bits (map used next)) 0) as [E|E]; [exact Gl|].
    rewrite <- lzcnt_is by (rewrite ?map_length; lia). lia.
  - rewrite Gi, T4 by lia. unfold ScanAvx2.fits, ScanAvx2.VECTOR, BLCKSZ, ScanAvx2.HALF, ScanAvx2.MAX_LINE_POINTERS, ScanAvx2.LANES.
    rewrite andb_true_r. cbn [andb]. rewrite andb_true_iff, !Z.leb_le, Nat2Z.inj_add, Z2Nat.id by lia. lia.
Qed.

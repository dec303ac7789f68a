(* SPDX-License-Identifier: PostgreSQL *)
(** * The loop of the scan of avx512vbmi2.c: what the vectors so far have gathered *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Scalar Facts ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey Page
  ScanAvx512Lanes.
From Pgquern.compaction Require Import ScanAvx512Round.
From Pgquern.compaction Require ScanAvx512.

(** ** Extremes *)
Definition short_of (x : lane) : Z := if kept x then len_of x else 65535.

Record known (l : list lane) (x : ScanAvx512.extremes) : Prop := {
  k_lows : exists xs, ScanAvx512.lows x = reg2 xs /\ length xs = 32%nat /\ Forall word16 xs /\ fewest xs = fewest (map low_of l);
  k_highs : exists xs, ScanAvx512.highs x = reg2 xs /\ length xs = 32%nat /\ Forall word16 xs /\
    most xs = most (map (fun x => off_of x + len_of x) l);
  k_offs : exists xs, ScanAvx512.offs x = reg2 xs /\ length xs = 32%nat /\ alls xs = alls (map off_of l);
  k_longests : exists xs, ScanAvx512.longests x = reg2 xs /\ length xs = 32%nat /\ Forall word16 xs /\ most xs = most (map len_of l);
  k_shortests : exists xs, ScanAvx512.shortests x = reg2 xs /\ length xs = 32%nat /\ Forall word16 xs /\ fewest xs = fewest (map short_of l);
  k_totals : exists xs, ScanAvx512.totals x = reg4 xs /\ length xs = 16%nat /\ sum xs = sum (map (fun x => signed 2 (len_of x)) l) }.

Lemma short_range x : word32 (snd x) -> word16 (short_of x).
Proof. intros W. pose proof (lane_bounds x W) as (_ & _ & _ & _ & L & _). unfold short_of, word16 in *. destruct (kept x); lia. Qed.

(** A lane that is not kept leaves the least so far as it is. *)
Lemma least_so_far (f g : lane -> Z) : (forall x, kept x = true -> g x = f x) -> (forall x, kept x = false -> g x = 65535) ->
  forall m xs, Forall word16 xs -> length m = length xs -> choose (map kept m) (map2 Z.min xs (map f m)) xs = map2 Z.min xs (map g m).
Proof.
  intros K N. induction m as [|x m IH]; intros xs V L; destruct V as [|v xs Vx V]; try discriminate; [reflexivity|]. cbn [map map2 choose].
  rewrite IH by (exact V || now injection L). f_equal. unfold word16 in Vx. destruct (kept x) eqn:E; [now rewrite K|rewrite N by exact E; lia].
Qed.

Lemma min_under xs ys us : length us = 32%nat -> Forall word16 xs -> Forall word16 ys ->
  ScanAvx512.mask_min_epu16 (reg2 xs) (number_of_bits us) (reg2 xs) (reg2 ys) = reg2 (choose us (map2 Z.min xs ys) xs).
Proof.
  intros L X Y.
  change (ScanAvx512.mask_min_epu16 (reg2 xs) (number_of_bits us) (reg2 xs) (reg2 ys)) with
    (masked 2 (reg2 xs) (bytes_of 4 (number_of_bits us)) (min_unsigned 2 (reg2 xs) (reg2 ys))).
  rewrite min_words by assumption. now apply masked_words.
Qed.

Lemma note_bounds_is_512 l m x : length m = 32%nat -> sound_lanes l -> sound_lanes m -> known l x ->
  known (l ++ m) (ScanAvx512.note_bounds x (number_of_bits (map kept m)) (reg2 (map off_of m)) (reg2 (map len_of m))).
Proof.
  intros L Sl S [(lo & Lo & Llo & Vlo & Flo) (en & En & Len & Ven & Fen) (os & Os & Los & Fos) (lg & Lg & Llg & Vlg & Flg)
    (sh & Sh & Lsh & Vsh & Fsh) (ts & Ts & Lts & Fts)].
  assert (R : forall f, (forall x, word32 (snd x) -> word16 (f x)) -> Forall word16 (map f m)) by (intros f; now apply range_map).
  assert (Bl : forall x, word32 (snd x) -> word16 (low_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Be : forall x, word32 (snd x) -> word16 (off_of x + len_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Bn : forall x, word32 (snd x) -> word16 (len_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Bo : forall x, word32 (snd x) -> word16 (off_of x)) by (intros y Y; apply lane_bounds; exact Y).
  assert (Lm : length (map kept m) = 32%nat) by now rewrite map_length.
  split; cbn [ScanAvx512.note_bounds ScanAvx512.lows ScanAvx512.highs ScanAvx512.offs ScanAvx512.longests ScanAvx512.shortests ScanAvx512.totals].
  - exists (map2 Z.min lo (map low_of m)). rewrite Lo, min_under by auto.
    rewrite (least_so_far off_of low_of); [|intros y Y; unfold low_of, off_of; now rewrite Y|intros y Y; unfold low_of; now rewrite Y|exact Vlo|lia].
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply min_word16; auto|].
    rewrite fewest_of_two by (rewrite map_length; lia). rewrite Flo, map_app, fewest_app by now apply range_map. reflexivity.
  - exists (map2 Z.max en (map (fun x => off_of x + len_of x) m)). rewrite En, add_on.
    match goal with |- ScanAvx512.max_epu16 ?a ?b = _ /\ _ => change (ScanAvx512.max_epu16 a b) with (max_unsigned 2 a b) end.
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Fen, map_app, most_app by now apply range_map. reflexivity.
  - exists (map2 Z.lor os (map off_of m)). rewrite Os.
    change (Table.intrinsic "_mm512_or_si512" [reg2 os; reg2 (map off_of m)]) with (bitwise orb (reg2 os) (reg2 (map off_of m))).
    rewrite (bitwise_lanes orb Z.lor) by (intros; rewrite ?map_length; try lia; symmetry; apply Z.lor_spec).
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|].
    rewrite alls_of_two by (rewrite map_length; lia). now rewrite Fos, map_app, alls_app.
  - exists (map2 Z.max lg (map len_of m)). rewrite Lg.
    match goal with |- ScanAvx512.max_epu16 ?a ?b = _ /\ _ => change (ScanAvx512.max_epu16 a b) with (max_unsigned 2 a b) end.
    rewrite max_words by auto. split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply max_word16; auto|].
    rewrite most_of_two by (rewrite map_length; lia). rewrite Flg, map_app, most_app by now apply range_map. reflexivity.
  - exists (map2 Z.min sh (map short_of m)). rewrite Sh, min_under by auto.
    rewrite (least_so_far len_of short_of); [|intros y Y; unfold short_of; now rewrite Y|intros y Y; unfold short_of; now rewrite Y|exact Vsh|lia].
    assert (Vm : Forall word16 (map short_of m)) by (apply R; exact short_range).
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length, map_length; lia|]. split; [now apply min_word16; auto|].
    rewrite fewest_of_two by (rewrite map_length; lia). rewrite Fsh, map_app, fewest_app by (apply range_map; [exact Sl|exact short_range]). reflexivity.
  - destruct (madd_is_512 (map len_of m)) as (ys & E & Ly & Fy); [auto|now rewrite map_length|].
    exists (map2 Z.add ts ys). rewrite Ts.
    change (Table.intrinsic "_mm512_madd_epi16" [reg2 (map len_of m); ScanAvx512.set1_epi16 1]) with
      (multiply_add (reg2 (map len_of m)) (ScanAvx512.set1_epi16 1)).
    rewrite E. change (Table.intrinsic "_mm512_add_epi32" [reg4 ts; reg4 ys]) with (add 4 (reg4 ts) (reg4 ys)). rewrite add_dwords.
    split; [reflexivity|]. split; [rewrite ProgramFacts.map2_length; lia|]. rewrite sum_of_two by lia. rewrite Fts, Fy, map_map, map_app, sum_app. reflexivity.
Qed.

(** ** Arrays *)
Section Store.
  Variables (w : nat) (a : nat -> Z).
  Hypothesis width : (0 < w)%nat.

  Lemma store_is_512 i xs : Forall (fun x => 0 <= x < span w) xs -> forall k,
    ScanAvx512.store w a i (register_of w xs) k = if (i <=? k)%nat && (k <? i + length xs)%nat then nth (k - i) xs 0 else a k.
  Proof. intros V k. unfold ScanAvx512.store. cbv zeta. now rewrite lanes_again by assumption. Qed.

  (** A vector whose first lanes are [xs] is put behind a list. *)
  Lemma store_behind_512 from n xs others : Forall (fun x => 0 <= x < span w) (xs ++ others) ->
    listed (ScanAvx512.store w a (from + n) (register_of w (xs ++ others))) from (n + length xs) = listed a from n ++ xs.
  Proof.
    intros V. rewrite listed_app. f_equal.
    - apply listed_same. intros k K. rewrite store_is_512 by exact V. destruct (Nat.leb_spec (from + n) k); [lia|reflexivity].
    - apply listed_nths. intros k K. rewrite store_is_512, app_length by exact V.
      destruct (Nat.leb_spec (from + n) (from + n + k)), (Nat.ltb_spec (from + n + k) (from + n + (length xs + length others))); try lia. cbn [andb].
      replace (from + n + k - (from + n))%nat with k by lia. now rewrite app_nth1.
  Qed.
End Store.

Lemma store_words2 a n xs junk : Forall word16 xs -> Forall word16 junk ->
  listed (ScanAvx512.store 2 a n (reg2 (xs ++ junk))) 0 (n + length xs) = listed a 0 n ++ xs.
Proof. intros X J. apply (store_behind_512 2 a ltac:(lia) 0 n xs junk). now apply Forall_app. Qed.

Lemma last_listed a k x xs : listed a 0 (S k) = x :: xs -> a k = last xs x.
Proof.
  unfold listed. rewrite seq_S, map_app. cbn [map Nat.add]. intros E. apply (f_equal (fun q => last q x)) in E.
  rewrite last_last in E. rewrite E. apply last_of_cons.
Qed.

(** ** The tuples of a list of lanes *)
Lemma tuples_app a b : forall top, tuples top (a ++ b) = tuples top a ++ tuples (top - lengths_sum a) b.
Proof.
  intros top. unfold tuples. rewrite tops_app. pose proof (tops_length a top) as L. generalize (tops (top - lengths_sum a) b). revert L. generalize (tops top a).
  induction a as [|x a IH]; intros [|t ts] L us; try discriminate; [reflexivity|]. cbn [app combine filter]. rewrite IH by now injection L.
  now destruct (is_kept (x, t)).
Qed.
Lemma tuples_count l : forall top, length (tuples top l) = kept_count l.
Proof.
  unfold tuples, kept_count. induction l as [|x l IH]; intros top; [reflexivity|]. cbn [tops combine filter]. change (is_kept (x, top - len_of x)) with (kept x).
  destruct (kept x); cbn [length]; now rewrite IH.
Qed.
Lemma tuples_few l top : (length (tuples top l) <= length l)%nat.
Proof. rewrite tuples_count. apply filter_length_le. Qed.

Lemma moves_app a b : forall p, moves p (a ++ b) = moves p a ++ moves (last (map shift_of a) p) b.
Proof.
  unfold moves. induction a as [|y a IH]; intros p; [reflexivity|]. cbn [app map combine]. f_equal. rewrite IH, last_of_cons. reflexivity.
Qed.
Lemma moves_tuples ks : forall p, map fst (moves p ks) = ks.
Proof. unfold moves. induction ks as [|y ks IH]; intros p; [reflexivity|]. cbn [map combine fst]. f_equal. apply IH. Qed.
Lemma moves_length ks p : length (moves p ks) = length ks.
Proof. rewrite <- (moves_tuples ks p) at 2. now rewrite map_length. Qed.

Definition differs (x : move) : bool := is_gap x || is_fall x.

Lemma last_shift ks p : word16 p -> word16 (last (map shift_of ks) p).
Proof.
  intros P. pose proof (shifts_range ks) as V. revert p P. induction V as [|x xs X V IH]; intros p P; [exact P|]. rewrite last_of_cons. apply IH. exact X.
Qed.

Lemma nothing_set n : existsb (fun t : bool => t) (repeat false n) = false.
Proof. induction n as [|n IH]; [reflexivity|exact IH]. Qed.

Lemma selected_none {A} n : forall l : list A, selected (repeat false n) l = [].
Proof. induction n as [|n IH]; intros [|x l]; try reflexivity. cbn [repeat selected]. now rewrite IH. Qed.

Lemma pack_moves (f : placed_lane -> Z) (t : move -> bool) ks p : (length ks <= 32)%nat ->
  ScanAvx512.pack (number_of_bits (map t (moves p ks) ++ repeat false (32 - length ks))) (reg2 (map f ks ++ repeat 0 (32 - length ks))) =
  reg2 (map (fun x : move => f (fst x)) (filter t (moves p ks)) ++ repeat 0 (32 - length (filter t (moves p ks)))).
Proof.
  intros L. rewrite pack_words.
  - rewrite selected_app, selected_none, app_nil_r by now rewrite !map_length, moves_length.
    assert (E : selected (map t (moves p ks)) (map f ks) = map (fun x : move => f (fst x)) (filter t (moves p ks))).
    { rewrite <- (selected_filter t (fun x : move => f (fst x))). f_equal. transitivity (map f (map fst (moves p ks))); [now rewrite moves_tuples|apply map_map]. }
    now rewrite E, map_length.
  - rewrite app_length, map_length, repeat_length, moves_length. lia.
  - rewrite app_length, map_length, repeat_length. lia.
Qed.

Lemma zeros_range n : Forall word16 (repeat 0 n).
Proof. apply Forall_forall. intros x X. apply repeat_spec in X. subst x. unfold word16. lia. Qed.

Lemma count_where {A} (t : A -> bool) l n : count (map t l ++ repeat false n) = Z.of_nat (length (filter t l)).
Proof.
  rewrite count_app, count_false, Z.add_0_r. induction l as [|x l IH]; [reflexivity|]. unfold count in *. cbn [map fold_right filter]. rewrite IH.
  destruct (t x); cbn [Z.b2z length]; lia.
Qed.

(** ** The vectors *)
Record gathered (special : Z) (l : list lane) (a : ScanAvx512.arrays) (v : ScanAvx512.survey) : Prop := {
  g_words : listed (ScanAvx512.words a) 0 (length l) = news special l;
  g_ends : listed (ScanAvx512.ends a) 0 (length (tuples special l)) = map end_of (tuples special l);
  g_old_ends : listed (ScanAvx512.old_ends a) 0 (length (tuples special l)) = map stop_of (tuples special l);
  g_shifts : listed (ScanAvx512.shifts a) 0 (S (length (tuples special l))) = 0 :: map shift_of (tuples special l);
  g_items : ScanAvx512.items_seen v = length (tuples special l);
  g_base : ScanAvx512.base v = reg2 (repeat (special - lengths_sum l) 32);
  g_bounds : known l (ScanAvx512.bounds v);
  g_used : ScanAvx512.used_seen v = count (map used l);
  g_left : ScanAvx512.left_seen v = last_set (map used l);
  g_falls : (ScanAvx512.falls_seen v =? 0) = negb (existsb is_fall (moves 0 (tuples special l)));
  g_gaps : ScanAvx512.gaps_seen v = length (filter is_gap (moves 0 (tuples special l)));
  g_first : existsb differs (moves 0 (tuples special l)) = true ->
    ScanAvx512.first_seen v = clear_before (map differs (moves 0 (tuples special l)));
  g_runs : existsb is_fall (moves 0 (tuples special l)) = false ->
    listed (ScanAvx512.run_ends a) 0 (length (filter is_gap (moves 0 (tuples special l)))) =
      map (fun x : move => end_of (fst x)) (filter is_gap (moves 0 (tuples special l))) /\
    listed (ScanAvx512.run_old_ends a) 0 (length (filter is_gap (moves 0 (tuples special l)))) =
      map (fun x : move => stop_of (fst x)) (filter is_gap (moves 0 (tuples special l)));
  g_inside : ScanAvx512.inside a = true }.

Lemma load_is m a : (forall k, 0 <= k < 64 -> 0 <= m (a + k) < 256) ->
  ScanAvx512.load_page m a = reg4 (map (fun k => read32 m (a + 4 * Z.of_nat k)) (seq 0 16)).
Proof.
  intros B.
  assert (E : ScanAvx512.load_page m a = ScanAvx2.load_page m a ++ ScanAvx2.load_page m (a + 32)).
  { unfold ScanAvx512.load_page, ScanAvx2.load_page. change (seq 0 64) with (seq 0 32 ++ seq 32 32). rewrite map_app. f_equal.
    rewrite (seq_from 32 32), map_map. apply map_ext. intros k. f_equal. lia. }
  rewrite E, !load_page_is by (intros k K; rewrite <- ?Z.add_assoc; apply B; lia). rewrite <- lanes_app. f_equal.
  change (seq 0 16) with (seq 0 8 ++ seq 8 8). rewrite map_app. f_equal. rewrite (seq_from 8 8), map_map. apply map_ext. intros k. f_equal. lia.
Qed.

Lemma existsb_where {A} (t : A -> bool) l n : existsb (fun t => t) (map t l ++ repeat false n) = existsb t l.
Proof. rewrite existsb_app, nothing_set, orb_false_r, existsb_map. reflexivity. Qed.

Lemma moved_or (f g : move -> bool) l n :
  map2 orb (map f l ++ repeat false n) (map g l ++ repeat false n) = map (fun x => f x || g x) l ++ repeat false n.
Proof.
  rewrite map2_app, map2_maps by now rewrite !map_length. f_equal. induction n as [|n IH]; [reflexivity|]. cbn [repeat map2 orb]. now rewrite IH.
Qed.

Lemma nothing_filtered {A} (f g : A -> bool) l : (Nat.eqb (length (filter f l)) 0) && negb (existsb g l) = negb (existsb (fun x => f x || g x) l).
Proof.
  rewrite filter_none. induction l as [|x l IH]; [reflexivity|]. cbn [existsb]. destruct (f x), (g x); cbn [orb negb andb]; try reflexivity.
  - now rewrite andb_false_r.
  - exact IH.
Qed.

Lemma lanes_gather m special l next a v : (length l <= 2042)%nat -> HEADER_SIZE + 4 * Z.of_nat (length l) + 128 <= BLCKSZ ->
  sound_lanes l -> gathered special l a v -> length next = 32%nat -> sound_lanes next ->
  ScanAvx512.load_page m (24 + 4 * Z.of_nat (length l)) = reg4 (firstn 16 (map snd next)) ->
  ScanAvx512.load_page m (24 + 4 * Z.of_nat (length l) + ScanAvx512.LINE) = reg4 (skipn 16 (map snd next)) ->
  let r := ScanAvx512.scan_vector m (Z.of_nat (length l)) (number_of_bits (map fst next)) a v in
  gathered special (l ++ next) (fst r) (snd r).
Proof.
  intros I In Sl G L S W0 W1 r. set (i := length l) in *. unfold HEADER_SIZE, BLCKSZ in *.
  destruct G as [Gw Ge Go Gs Gn Gb Gx Gu Gl Gf Gg Gfi Gr Gi].
  assert (L0 : length (firstn 16 (map snd next)) = 16%nat) by (rewrite firstn_length, (map_length snd next); unfold lane in *; now rewrite L).
  assert (L1 : length (skipn 16 (map snd next)) = 16%nat) by (rewrite skipn_length, (map_length snd next); unfold lane in *; now rewrite L).
  destruct (halves_are _ _ L0 L1) as [Lo Hi]. rewrite firstn_skipn, !map_map in Lo, Hi.
  set (b := special - lengths_sum l) in *.
  pose proof (new_off_is_512 next L b) as Nw. pose proof (base_is_512 next L b) as Ba. pose proof (low_to_be_is_512 next L b) as Lb.
  pose proof (high_to_be_is_512 next L b) as Hb. pose proof (shift_is next L b) as Sh. pose proof (end_is next L b) as En.
  pose proof (old_end_is next L b) as Ol.
  set (ks := tuples b next) in *.
  assert (Lk : (length ks <= 32)%nat) by (rewrite <- L; apply tuples_few).
  set (p := last (map shift_of (tuples special l)) 0).
  assert (Wp : word16 p) by (apply last_shift; unfold word16; lia).
  assert (Pv : ScanAvx512.shifts a (ScanAvx512.items_seen v) = p) by (rewrite Gn; exact (last_listed _ _ _ _ Gs)).
  assert (Cn : ScanAvx512.popcnt (number_of_bits (map kept next)) = Z.of_nat (length ks)).
  { change (ScanAvx2.popcnt (number_of_bits (map kept next)) = Z.of_nat (length ks)). rewrite popcnt_is by (rewrite map_length; lia).
    rewrite <- (app_nil_r (map kept next)). change (@nil bool) with (repeat false 0). rewrite count_where. unfold ks. rewrite tuples_count. reflexivity. }
  pose proof (gaps_are ks p Lk Wp) as Ga. pose proof (falls_are ks p Lk Wp) as Fa.
  pose proof (lane_before_is (map shift_of ks ++ repeat 0 (32 - length ks)) p ltac:(rewrite app_length, map_length, repeat_length; lia)) as Bf.
  pose proof (pack_moves end_of is_gap ks p Lk) as Pe. pose proof (pack_moves stop_of is_gap ks p Lk) as Po.
  subst r. unfold ScanAvx512.scan_vector. cbv zeta. unfold HEADER_SIZE. rewrite W0, W1, Lo, Hi.
  rewrite (used_is_512 next L S), (stored_is_512 next L S), (off_is_512 next L), (len_is_512 next L S), Cn.
  rewrite Gb, Nw, Ba, Lb, Hb, Sh, En, Pv, Bf, Ol, Ga, Fa, Pe, Po, !Nat2Z.id.
  set (c := combine next (tops b next)) in *.
  assert (Lc : length c = 32%nat) by (apply c_length; exact L).
  assert (Tu : tuples special (l ++ next) = tuples special l ++ ks) by (unfold ks, b; apply tuples_app).
  assert (Mv : moves 0 (tuples special (l ++ next)) = moves 0 (tuples special l) ++ moves p ks) by (rewrite Tu; apply moves_app).
  set (j := (32 - length ks)%nat) in *. set (done := moves 0 (tuples special l)) in *. set (new := moves p ks) in *.
  assert (Lnew : length new = length ks) by apply moves_length.
  assert (Ld : length done = length (tuples special l)) by apply moves_length.
  assert (Sk : sound_lanes (map fst ks)).
  { unfold ks, tuples, sound_lanes. apply Forall_map, Forall_forall. intros [x t] X. apply filter_In in X as [X _]. apply in_combine_l in X.
    unfold sound_lanes in S. rewrite Forall_forall in S. now apply S. }
  assert (Re : Forall word16 (map end_of ks)) by (apply Forall_map, Forall_forall; intros y _; apply Z.mod_pos_bound; reflexivity).
  assert (Ro : Forall word16 (map stop_of ks)).
  { unfold sound_lanes in Sk. rewrite Forall_map in Sk. apply Forall_map. eapply Forall_impl; [|exact Sk]. intros y Y. now apply lane_bounds. }
  assert (Ri : forall f : placed_lane -> Z, Forall word16 (map f ks) -> Forall word16 (map (fun x : move => f (fst x)) (filter is_gap new))).
  { intros f F. rewrite <- (moves_tuples ks p), map_map in F. fold new in F. rewrite Forall_map in F. apply Forall_map.
    exact (incl_Forall (incl_filter is_gap new) F). }
  pose proof (tuples_few l special) as Bk. fold i in Bk.
  pose proof (filter_length_le is_gap done) as Bg.
  assert (Fz : (Z.lor (ScanAvx512.falls_seen v) (number_of_bits (map is_fall new ++ repeat false j)) =? 0) = negb (existsb is_fall (done ++ new))).
  { rewrite lor_is_zero, Gf, mask_is_zero, existsb_where, existsb_app. now destruct (existsb is_fall done). }
  rewrite lor_masks, moved_or by now rewrite !app_length, !map_length. rewrite Fz.
  split; cbn [fst snd ScanAvx512.words ScanAvx512.ends ScanAvx512.old_ends ScanAvx512.shifts ScanAvx512.run_ends ScanAvx512.run_old_ends ScanAvx512.inside
    ScanAvx512.base ScanAvx512.bounds ScanAvx512.falls_seen ScanAvx512.items_seen ScanAvx512.used_seen ScanAvx512.left_seen ScanAvx512.gaps_seen
    ScanAvx512.first_seen]; rewrite ?Mv.
  - (* the line pointers *)
    rewrite ?Nat2Z.id, app_length, L, news_app. fold i b.
    assert (C2 : exists c1 c2, c = c1 ++ c2 /\ length c1 = 16%nat /\ length c2 = 16%nat).
    { exists (firstn 16 c), (skipn 16 c). rewrite firstn_skipn, firstn_length, skipn_length. unfold placed_lane in *. split; [reflexivity|lia]. }
    destruct C2 as (c1 & c2 & E & L3 & L4).
    assert (Nx : news b next = map new_of c1 ++ map new_of c2) by (rewrite <- map_app, <- E; reflexivity).
    assert (Rn : Forall (fun x => 0 <= x < span 4) (map new_of c1) /\ Forall (fun x => 0 <= x < span 4) (map new_of c2)).
    { apply Forall_app. rewrite <- Nx. now apply new_range. }
    destruct Rn as [R1 R2].
    assert (J : forall q, incl q c -> map2 joined (map low_to_be q) (map high_to_be q) = map new_of q).
    { intros q Q. rewrite map2_maps. apply map_ext_in. intros [x t] X. apply word_halves. cbn [fst]. apply Q in X. apply in_combine_l in X.
      unfold sound_lanes in S. rewrite Forall_forall in S. now apply S. }
    destruct (zipped (map low_to_be c1) (map low_to_be c2) (map high_to_be c1) (map high_to_be c2)) as [Z1 Z2]; [now rewrite map_length..|].
    rewrite <- !map_app, <- E in Z1, Z2. unfold ScanAvx512.store_words. cbv zeta. rewrite Z1, Z2.
    rewrite !J by (rewrite E; intros x X; apply in_or_app; auto).
    rewrite Nx. replace (i + 32)%nat with (i + 16 + length (map new_of c2))%nat by (rewrite map_length; lia).
    rewrite <- (app_nil_r (map new_of c2)) at 1.
    rewrite (store_behind_512 4 _ ltac:(lia) 0 (i + 16)) by (rewrite app_nil_r; exact R2). rewrite app_assoc. f_equal.
    replace (i + 16)%nat with (i + length (map new_of c1))%nat by (rewrite map_length; lia).
    rewrite <- (app_nil_r (map new_of c1)) at 1.
    rewrite (store_behind_512 4 _ ltac:(lia) 0 i) by (rewrite app_nil_r; exact R1). f_equal. exact Gw.
  - rewrite Tu, app_length, map_app, Gn, <- Ge, <- (map_length end_of ks). apply store_words2; [exact Re|apply zeros_range].
  - rewrite Tu, app_length, map_app, Gn, <- Go, <- (map_length stop_of ks). apply store_words2; [exact Ro|apply zeros_range].
  - rewrite Tu, app_length, map_app, Gn. change (0 :: map shift_of (tuples special l) ++ map shift_of ks) with ((0 :: map shift_of (tuples special l)) ++ map shift_of ks).
    rewrite <- Gs, <- (map_length shift_of ks). change (Datatypes.S (length (tuples special l) + length (map shift_of ks))) with (Datatypes.S (length (tuples special l)) + length (map shift_of ks))%nat.
    apply store_words2; [apply shifts_range|apply zeros_range].
  - rewrite Tu, app_length, Gn. reflexivity.
  - rewrite lengths_sum_app. f_equal. f_equal. unfold b. lia.
  - now apply note_bounds_is_512.
  - rewrite Gu. change (ScanAvx512.popcnt (number_of_bits (map used next))) with (ScanAvx2.popcnt (number_of_bits (map used next))).
    rewrite popcnt_is, map_app, count_app by (rewrite map_length; lia). reflexivity.
  - rewrite map_app, last_set_app, last_set_none, map_length. fold i. destruct (Z.eqb_spec (number_of_bits (map used next)) 0) as [E|E]; [exact Gl|].
    change (ScanAvx512.lzcnt (number_of_bits (map used next))) with (ScanAvx2.lzcnt (number_of_bits (map used next))).
    pose proof (lzcnt_is (map used next) ltac:(rewrite map_length; lia) E). unfold ScanAvx512.LANES. lia.
  - exact Fz.
  - rewrite Gg, filter_app, app_length.
    change (ScanAvx512.popcnt (number_of_bits (map is_gap new ++ repeat false j))) with (ScanAvx2.popcnt (number_of_bits (map is_gap new ++ repeat false j))).
    rewrite popcnt_is by (rewrite app_length, map_length, repeat_length; unfold j; lia). rewrite count_where, Nat2Z.id. reflexivity.
  - intros Ex. rewrite existsb_app in Ex. rewrite map_app.
    assert (D : (Z.lor (Z.of_nat (ScanAvx512.gaps_seen v)) (ScanAvx512.falls_seen v) =? 0) = negb (existsb differs done)).
    { rewrite lor_is_zero, Gf, Gg. unfold differs. rewrite <- nothing_filtered. f_equal.
      destruct (Z.eqb_spec (Z.of_nat (length (filter is_gap done))) 0), (Nat.eqb_spec (length (filter is_gap done)) 0); try reflexivity; lia. }
    rewrite D. destruct (existsb differs done) eqn:Ed; cbn [negb orb] in *.
    + rewrite clear_before_found by (rewrite existsb_map; exact Ed). now apply Gfi.
    + rewrite clear_before_not_found by (rewrite existsb_map; exact Ed). rewrite map_length, Ld, Gn. f_equal.
      change (ScanAvx512.tzcnt (number_of_bits (map (fun x : move => is_gap x || is_fall x) new ++ repeat false j))) with
        (Lanes.number (trailing (bytes_of 4 (number_of_bits (map differs new ++ repeat false j))))).
      unfold trailing. rewrite mask_bits, number_bytes_of by (rewrite app_length, map_length, repeat_length; unfold j; lia).
      rewrite clear_before_found by (rewrite existsb_map; exact Ex).
      apply Z.mod_small. pose proof (clear_before_bounds (map differs new)) as Cb. rewrite map_length in Cb. change (span 4) with 4294967296. lia.
  - intros F. rewrite F. cbn [negb]. rewrite existsb_app in F. apply orb_false_iff in F as [F1 F2]. destruct (Gr F1) as [Q1 Q2].
    rewrite filter_app, app_length, !map_app, Gg. rewrite <- Q1, <- Q2. split.
    + rewrite <- (map_length (fun x : move => end_of (fst x)) (filter is_gap new)). apply store_words2; [now apply Ri|apply zeros_range].
    + rewrite <- (map_length (fun x : move => stop_of (fst x)) (filter is_gap new)). apply store_words2; [now apply Ri|apply zeros_range].
  - rewrite Gi, Gg, Gn. unfold ScanAvx512.fits, ScanAvx512.LINE, BLCKSZ, ScanAvx512.MAX_LINE_POINTERS, ScanAvx512.LANES.
    rewrite !andb_true_iff, orb_true_iff, !Z.leb_le. repeat split; lia.
Qed.

Lemma vector_gathers m n special l a v there : is_page m -> 0 <= n <= 2042 -> Z.of_nat (length l) < n ->
  HEADER_SIZE + 4 * Z.of_nat (length l) + 128 <= BLCKSZ -> sound_lanes l -> gathered special l a v ->
  let next := lanes_from m n (length l) 32 in
  there = number_of_bits (map fst next) ->
  let r := ScanAvx512.scan_vector m (Z.of_nat (length l)) there a v in
  sound_lanes next /\ gathered special (l ++ next) (fst r) (snd r).
Proof.
  intros P Bn I In Sl G next Th r. set (i := length l) in *.
  assert (By : forall a, 0 <= a < 8192 -> 0 <= m a < 256) by (intros q A; apply P; exact A).
  unfold HEADER_SIZE, BLCKSZ in *.
  assert (S : sound_lanes next).
  { apply Forall_map, Forall_forall. intros k K. apply in_seq in K. cbn [lane_at snd]. apply read32_range. unfold HEADER_SIZE.
    intros j J. apply By. lia. }
  assert (L : length next = 32%nat) by (unfold next, lanes_from; now rewrite map_length, seq_length).
  assert (W0 : ScanAvx512.load_page m (24 + 4 * Z.of_nat i) = reg4 (firstn 16 (map snd next))).
  { rewrite load_is by (intros k K; apply By; lia). unfold next, lanes_from. rewrite map_map, (seq_from 32 i), map_map, firstn_map. f_equal.
    apply map_ext. intros k. cbn [lane_at snd]. f_equal. unfold HEADER_SIZE. lia. }
  assert (W1 : ScanAvx512.load_page m (24 + 4 * Z.of_nat i + ScanAvx512.LINE) = reg4 (skipn 16 (map snd next))).
  { unfold ScanAvx512.LINE. rewrite load_is by (intros k K; apply By; lia). unfold next, lanes_from. rewrite map_map, (seq_from 32 i), map_map, skipn_map. f_equal.
    change (skipn 16 (seq 0 32)) with (seq 16 16). rewrite (seq_from 16 16), map_map. apply map_ext. intros k. cbn [lane_at snd]. f_equal. unfold HEADER_SIZE. lia. }
  subst r there. split; [exact S|]. apply lanes_gather; try assumption; unfold HEADER_SIZE, BLCKSZ; lia.
Qed.

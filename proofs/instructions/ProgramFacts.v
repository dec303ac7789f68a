(* SPDX-License-Identifier: PostgreSQL *)
(** * How programs run: calls, loads, stores, loops

    Memory is split at a pointer: what lies before it, what is there, and what lies behind and need not be there. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Memory Facts Table
  Program.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** Cells that are all there. *)
Definition there (r : bytes) : cells := map Some r.

Lemma there_length r : length (there r) = length r.
Proof. apply map_length. Qed.

Lemma there_app a b : there (a ++ b) = there a ++ there b.
Proof. apply map_app. Qed.

(** ** Registers of lanes of 32 bits *)

Lemma words_length l : length (register_of 4 l) = (4 * length l)%nat.
Proof.
  unfold register_of. rewrite (concat_length 4), map_length; [lia|].
  apply Forall_map, Forall_forall. intros x _. apply bytes_of_length.
Qed.

Lemma words_app l l' : register_of 4 (l ++ l') = register_of 4 l ++ register_of 4 l'.
Proof. unfold register_of. now rewrite map_app, concat_app. Qed.

Lemma words_zeros n : register_of 4 (repeat 0 n) = zeros (4 * n).
Proof. rewrite (Nat.mul_comm 4), zeros_concat. unfold register_of. now rewrite repeat_mapped. Qed.

Lemma words_pieces l : pieces 4 (register_of 4 l) = map (bytes_of 4) l.
Proof. apply pieces_concat; [lia|]. apply Forall_map, Forall_forall. intros x _. apply bytes_of_length. Qed.

Lemma spread_words n x : spread n (bytes_of 4 x) = register_of 4 (repeat x n).
Proof. unfold spread, register_of. now rewrite repeat_mapped. Qed.

Lemma lanes_of_words l : Forall (fun x => 0 <= x < span 4) l -> lanes 4 (register_of 4 l) = l.
Proof.
  intros V. rewrite lanes_of_register by lia. rewrite <- map_id. apply map_ext_in. intros x X. apply Z.mod_small.
  rewrite Forall_forall in V. auto.
Qed.

Lemma map2_repeat {A B C} (f : A -> B -> C) c : forall l n, length l = n ->
  map2 f l (repeat c n) = map (fun x => f x c) l.
Proof. induction l as [|x l IH]; intros [|n] L; try discriminate; cbn [map2 map repeat]; [|rewrite IH]; auto. Qed.

Lemma map2_length {A B C} (f : A -> B -> C) : forall l m, length (map2 f l m) = Nat.min (length l) (length m).
Proof. induction l as [|x l IH]; intros [|y m]; cbn [map2 length]; auto. now rewrite IH. Qed.

(** ** The intrinsics that programs call *)

Lemma passed_as_is r : passed (length r) r = Some r.
Proof. unfold passed. now rewrite Nat.eqb_refl. Qed.

Lemma all_passed_as_they_are l : all_passed (map (@length Z) l) l = Some l.
Proof. induction l as [|r l IH]; [reflexivity|]. cbn [map all_passed]. rewrite passed_as_is. cbn [bind]. now rewrite IH. Qed.

Lemma call_is i s l : find (fun i => String.eqb (name i) s) registers_alone = Some i ->
  sizes i = map (@length Z) l -> call s l = Some (meaning i l).
Proof. intros F S. unfold call. rewrite F. cbn [bind]. rewrite S, all_passed_as_they_are. reflexivity. Qed.

(* The table is looked into, and the operands have the sizes that it says. *)
Ltac by_table :=
  intros; etransitivity;
  [eapply call_is; [reflexivity|]; cbn [sizes map one two three alike into_mask mask_into_mask]; congruence|reflexivity].

Lemma call_set1 x : length x = 4%nat -> call "_mm512_set1_epi32" [x] = Some (spread 16 x).
Proof. by_table. Qed.
Lemma call_sub a b : length a = 64%nat -> length b = 64%nat -> call "_mm512_sub_epi32" [a; b] = Some (sub 4 a b).
Proof. by_table. Qed.
Lemma call_max a b : length a = 64%nat -> length b = 64%nat ->
  call "_mm512_max_epu32" [a; b] = Some (max_unsigned 4 a b).
Proof. by_table. Qed.
Lemma call_cmplt a b : length a = 64%nat -> length b = 64%nat ->
  call "_mm512_cmplt_epu32_mask" [a; b] = Some (mask_compare 4 Z.ltb a b).
Proof. by_table. Qed.
Lemma call_cmpge a b : length a = 64%nat -> length b = 64%nat ->
  call "_mm512_cmpge_epu32_mask" [a; b] = Some (mask_compare 4 Z.geb a b).
Proof. by_table. Qed.
Lemma call_mask_cmplt k a b : length k = 2%nat -> length a = 64%nat -> length b = 64%nat ->
  call "_mm512_mask_cmplt_epu32_mask" [k; a; b] = Some (under_mask k (mask_compare 4 Z.ltb a b)).
Proof. by_table. Qed.
Lemma call_maskz_mov k a : length k = 2%nat -> length a = 64%nat ->
  call "_mm512_maskz_mov_epi32" [k; a] = Some (masked_zero 4 k a).
Proof. by_table. Qed.
Lemma call_compress k a : length k = 2%nat -> length a = 64%nat -> call "vpcompressd" [k; a] = Some (compress 4 k a).
Proof. by_table. Qed.
Lemma call_test a b : length a = 16%nat -> length b = 16%nat -> call "_mm_test_epi8_mask" [a; b] = Some (mask_test 1 a b).
Proof. by_table. Qed.
Lemma call_reduce_max a : length a = 64%nat -> call "_mm512_reduce_max_epu32" [a] = Some (reduce_max 4 a).
Proof. by_table. Qed.
Lemma call_set1_8 x : length x = 4%nat -> call "_mm256_set1_epi32" [x] = Some (spread 8 x).
Proof. by_table. Qed.
Lemma call_sub_8 a b : length a = 32%nat -> length b = 32%nat -> call "_mm256_sub_epi32" [a; b] = Some (sub 4 a b).
Proof. by_table. Qed.
Lemma call_max_8 a b : length a = 32%nat -> length b = 32%nat -> call "_mm256_max_epu32" [a; b] = Some (max_unsigned 4 a b).
Proof. by_table. Qed.
Lemma call_equal_8 a b : length a = 32%nat -> length b = 32%nat ->
  call "_mm256_cmpeq_epi32" [a; b] = Some (compare_equal 4 a b).
Proof. by_table. Qed.
Lemma call_and_8 a b : length a = 32%nat -> length b = 32%nat -> call "_mm256_and_si256" [a; b] = Some (and a b).
Proof. by_table. Qed.
Lemma call_lower a : length a = 32%nat -> call "_mm256_castsi256_si128" [a] = Some (firstn 16 a).
Proof. by_table. Qed.
Lemma call_upper a : length a = 32%nat -> call "_mm256_extracti128_si256 1" [a] = Some (extract 16 1 a).
Proof. by_table. Qed.
Lemma call_max_4 a b : length a = 16%nat -> length b = 16%nat -> call "_mm_max_epu32" [a; b] = Some (max_unsigned 4 a b).
Proof. by_table. Qed.
Lemma call_shuffle_78 a : length a = 16%nat -> call "_mm_shuffle_epi32 78" [a] = Some (shuffle 78 a).
Proof. by_table. Qed.
Lemma call_shuffle_177 a : length a = 16%nat -> call "_mm_shuffle_epi32 177" [a] = Some (shuffle 177 a).
Proof. by_table. Qed.
Lemma call_first a : length a = 16%nat -> call "_mm_cvtsi128_si32" [a] = Some (extract 4 0 a).
Proof. by_table. Qed.

Lemma count_app k k' : count (k ++ k') = count k + count k'.
Proof. induction k as [|t k IH]; [reflexivity|]. unfold count in *. cbn [app fold_right]. lia. Qed.

Lemma count_bounds k : 0 <= count k <= Z.of_nat (length k).
Proof. unfold count. induction k as [|t k IH]; cbn [fold_right length]; [lia|]. destruct t; cbn [Z.b2z]; lia. Qed.

(* A mask of 16 bits becomes an unsigned number, and its bits are counted. *)
Lemma count_false n : count (repeat false n) = 0.
Proof. induction n as [|n IH]; [reflexivity|]. unfold count in *. cbn [repeat fold_right Z.b2z]. now rewrite IH. Qed.

Lemma count_selected {A} : forall k (l : list A), length k = length l -> count k = Z.of_nat (length (selected k l)).
Proof.
  induction k as [|t k IH]; intros [|x l] L; try discriminate; [reflexivity|]. cbn [selected]. rewrite app_length, Nat2Z.inj_add, <- IH by (cbn in L; lia).
  unfold count. cbn [fold_right]. now destruct t.
Qed.

(** What VPERMD picks by an entry of left_pack.h: the lanes that are kept come first. *)
Definition picked (kept : list bool) (l : list bytes) : list bytes :=
  map (fun i => item (i mod Z.of_nat (length l)) l) (lanes 4 (left_packing kept)).

Lemma picked_begins kept l : length kept = 8%nat -> length l = 8%nat ->
  firstn (length (selected kept l)) (picked kept l) = selected kept l /\ length (picked kept l) = 8%nat.
Proof.
  intros K L. destruct (eight kept K) as (a & b & c & d & e & f & g & h & ->).
  destruct (eight l L) as (l0 & l1 & l2 & l3 & l4 & l5 & l6 & l7 & ->).
  destruct a, b, c, d, e, f, g, h; split; reflexivity.
Qed.

Lemma call_popcount k : length k = 2%nat ->
  exists r, call "__builtin_popcount" [k] = Some r /\ number r = count (bits k).
Proof.
  intros L. destruct k as [|a [|b [|]]]; try discriminate. exists (population [a; b; 0; 0]). split; [reflexivity|].
  unfold population. rewrite number_bytes_of. change (bits [a; b; 0; 0]) with (bits [a; b] ++ repeat false 16).
  rewrite count_app. change (count (repeat false 16)) with 0. rewrite Z.add_0_r. apply Z.mod_small.
  pose proof (count_bounds (bits [a; b])) as B. change (length (bits [a; b])) with 16%nat in B. change (span 4) with 4294967296.
  lia.
Qed.

Lemma call_permute a b : length a = 32%nat -> length b = 32%nat ->
  call "_mm256_permutevar8x32_epi32" [a; b] = Some (pick 4 a b).
Proof. by_table. Qed.
Lemma call_shift_7 a : length a = 16%nat -> call "_mm_slli_epi16 7" [a] = Some (shift_left 2 7 a).
Proof. by_table. Qed.
Lemma call_signs a : length a = 16%nat -> call "_mm_movemask_epi8" [a] = Some (signs_as_int 1 a).
Proof. by_table. Qed.
Lemma call_dup_neon x : length x = 4%nat -> call "vdupq_n_u32" [x] = Some (spread 4 x).
Proof. by_table. Qed.
Lemma call_sub_neon a b : length a = 16%nat -> length b = 16%nat -> call "vsubq_u32" [a; b] = Some (sub 4 a b).
Proof. by_table. Qed.
Lemma call_and_neon a b : length a = 16%nat -> length b = 16%nat -> call "vandq_u32" [a; b] = Some (and a b).
Proof. by_table. Qed.
Lemma call_count r : length r = 4%nat -> call "__builtin_popcount" [r] = Some (population r).
Proof. by_table. Qed.

(** The loads and stores that programs name mean what the table says of these names, and what is run against the CPU. *)
Theorem loads_and_stores_are_the_tables :
  Forall (fun e => find (fun i => String.eqb (name i) (fst e)) table = Some (load_instruction (fst e) (snd e)))
    loads_known /\
  Forall (fun e => find (fun i => String.eqb (name i) (fst e)) table = store_instruction (fst e) (snd e)) stores_known.
Proof. split; repeat constructor. Qed.

(** ** Memory *)

Lemma cells_split (A B C : cells) n : (length B <= n)%nat -> exists X,
  length X = (n - length B)%nat /\ cells_at (A ++ B ++ C) (Z.of_nat (length A)) n = Some (B ++ X) /\
  forall B', length B' = length B -> with_cells (A ++ B ++ C) (Z.of_nat (length A)) n (B' ++ X) = A ++ B' ++ C.
Proof.
  intros L. exists (firstn (n - length B) (C ++ repeat None n)). split; [|split].
  - rewrite firstn_length, app_length, repeat_length. lia.
  - unfold cells_at. destruct (Z.ltb_spec (Z.of_nat (length A)) 0); [lia|]. rewrite Nat2Z.id.
    rewrite skipn_app, skipn_all, Nat.sub_diag. cbn [skipn app]. rewrite <- app_assoc, firstn_app.
    now rewrite firstn_all2 by lia.
  - intros B' E. unfold with_cells. rewrite Nat2Z.id.
    assert (F : firstn (length A) (A ++ B ++ C) = A).
    { rewrite firstn_app, firstn_all, Nat.sub_diag. apply app_nil_r. }
    assert (S : skipn (length A + n) (A ++ B ++ C) = skipn (n - length B) C).
    { rewrite !skipn_app, !skipn_all2 by lia. cbn [app]. f_equal. lia. }
    rewrite F, S, <- app_assoc. clear F S.
    assert (G : firstn (length C) (firstn (n - length B) (C ++ repeat None n) ++ skipn (n - length B) C) = C).
    { destruct (Nat.le_gt_cases (n - length B) (length C)) as [H|H].
      - rewrite (firstn_app (n - length B)). replace (n - length B - length C)%nat with O by lia. cbn [firstn].
        rewrite app_nil_r, firstn_skipn. apply firstn_all.
      - rewrite (firstn_app (n - length B)), (firstn_all2 (n := n - length B) C), <- app_assoc by lia.
        rewrite firstn_app, Nat.sub_diag, firstn_all. apply app_nil_r. }
    rewrite !app_length, firstn_app, firstn_all2 by lia. f_equal.
    rewrite firstn_app, firstn_all2 by lia. f_equal.
    replace (length A + (length B + length C) - length A - length B')%nat with (length C) by lia. exact G.
Qed.

Lemma load_front b X : load_bytes (repeat true (length b) ++ repeat false (length X)) (there b ++ X) =
  Some (b ++ zeros (length X)).
Proof.
  induction b as [|x b IH]; cbn [length repeat app there map load_bytes].
  - induction X as [|c X IH]; [reflexivity|]. cbn [length repeat load_bytes]. now rewrite IH.
  - fold (there b). now rewrite IH.
Qed.

Lemma store_front b X : forall r1 r2, length r1 = length b -> length r2 = length X ->
  store_bytes (repeat true (length b) ++ repeat false (length X)) (r1 ++ r2) (there b ++ X) = Some (there r1 ++ X).
Proof.
  induction b as [|x b IH]; intros [|y r1] r2 L1 L2; try discriminate; cbn [length repeat app there map store_bytes].
  - revert r2 L2. induction X as [|c X IH]; intros [|y r2] L2; try discriminate; [reflexivity|].
    injection L2 as L2. cbn [length repeat store_bytes]. now rewrite (IH _ L2).
  - injection L1 as L1. fold (there b). rewrite (IH r1 r2) by auto. reflexivity.
Qed.

(* In C: (1 << n) - 1. *)
Definition lowest (n : nat) : bytes := bytes_of 2 (2 ^ Z.of_nat n - 1).
Lemma lowest_length n : length (lowest n) = 2%nat.
Proof. reflexivity. Qed.

Lemma lowest_bits n : (n <= 16)%nat -> bits (lowest n) = repeat true n ++ repeat false (16 - n).
Proof. intros N. do 17 (destruct n as [|n]; [reflexivity|]). lia. Qed.

Lemma byte_mask_repeats w n m :
  byte_mask w (repeat true n ++ repeat false m) = repeat true (w * n) ++ repeat false (w * m).
Proof.
  assert (R : forall t k, concat (map (fun t => repeat t w) (repeat t k)) = repeat t (w * k) :> list bool).
  { intros t k. rewrite Nat.mul_comm. induction k as [|k IH]; [reflexivity|]. cbn [repeat map concat Nat.mul]. rewrite IH.
    now rewrite repeat_app. }
  unfold byte_mask. now rewrite map_app, concat_app, !R.
Qed.

Lemma byte_mask_lowest w n : (n <= 16)%nat ->
  byte_mask w (bits (lowest n)) = repeat true (w * n) ++ repeat false (w * (16 - n)).
Proof. intros N. rewrite lowest_bits by exact N. apply byte_mask_repeats. Qed.

(* In C: [_mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))]. *)
Definition places : list Z := [0; 1; 2; 3; 4; 5; 6; 7].
Definition first_lanes (n : nat) : bytes := compare_greater 4 (spread 8 (bytes_of 4 (Z.of_nat n))) (register_of 4 places).

Lemma first_lanes_are n : (n <= 8)%nat ->
  sign_mask 4 (first_lanes n) = repeat true n ++ repeat false (8 - n) /\ length (first_lanes n) = 32%nat.
Proof. intros N. do 9 (destruct n as [|n]; [split; reflexivity|]). lia. Qed.

(** A load of a whole register, and one under a mask of the lowest lanes, which does not touch what lies behind them. *)
Lemma load_whole A r C n : length r = n -> load_from (Whole n) [] (A ++ there r ++ C) (Z.of_nat (length A)) = Some r.
Proof.
  intros <-.
  destruct (cells_split A (there r) C (length r)) as (X & L & E & _); [now rewrite there_length|].
  rewrite there_length, Nat.sub_diag in L. destruct X; [|discriminate]. unfold load_from. rewrite E. cbn [bind].
  pose proof (load_front r []) as F. cbn [length repeat zeros] in F. rewrite !app_nil_r in F.
  unfold load. now rewrite app_nil_r.
Qed.

Lemma load_lower A r C n size : length r = n ->
  load_from (Lower n size) [] (A ++ there r ++ C) (Z.of_nat (length A)) = Some (widened size r).
Proof.
  intros L. pose proof (load_whole A r C n L) as W. unfold load_from in *.
  destruct (cells_at (A ++ there r ++ C) (Z.of_nat (length A)) n); cbn [bind] in *; [now rewrite W|discriminate].
Qed.

Lemma load_lowest A r C w n : (n <= 16)%nat -> length r = (w * n)%nat -> (16 * w / w / 8 = 2)%nat ->
  load_from (Masked w (16 * w)) [lowest n] (A ++ there r ++ C) (Z.of_nat (length A)) = Some (r ++ zeros (w * (16 - n))).
Proof.
  intros N L K. destruct (cells_split A (there r) C (16 * w)) as (X & LX & E & _); [rewrite there_length; nia|].
  rewrite there_length in LX. unfold load_from, mask_of. rewrite K, lowest_length. cbn [Nat.eqb bind].
  rewrite E. cbn [bind]. unfold load_masked. rewrite byte_mask_lowest, <- L by exact N.
  replace (w * (16 - n))%nat with (length X) by nia. apply load_front.
Qed.

Lemma load_first_lanes A r C n : (n <= 8)%nat -> length r = (4 * n)%nat ->
  load_from (BySigns 4 32) [first_lanes n] (A ++ there r ++ C) (Z.of_nat (length A)) = Some (r ++ zeros (4 * (8 - n))).
Proof.
  intros N L. destruct (first_lanes_are n N) as [S F].
  destruct (cells_split A (there r) C 32) as (X & LX & E & _); [rewrite there_length; lia|].
  rewrite there_length in LX. unfold load_from, mask_of. rewrite F. cbn [Nat.eqb bind].
  rewrite E. cbn [bind]. unfold load_by_signs. rewrite S, byte_mask_repeats, <- L.
  replace (4 * (8 - n))%nat with (length X) by lia. apply load_front.
Qed.

Lemma store_whole A old r C n : length r = n -> length old = n ->
  store_to (Whole n) [] r (A ++ there old ++ C) (Z.of_nat (length A)) = Some (A ++ there r ++ C).
Proof.
  intros <- L. destruct (cells_split A (there old) C (length r)) as (X & LX & E & W); [rewrite there_length; lia|].
  rewrite there_length, L, Nat.sub_diag in LX. destruct X; [|discriminate]. unfold store_to. rewrite E. cbn [bind].
  rewrite Nat.eqb_refl. unfold store. pose proof (store_front old [] r []) as F. cbn [length repeat] in F.
  rewrite !app_nil_r in *. rewrite <- L, F by auto. cbn [bind]. rewrite L. specialize (W (there r)). rewrite app_nil_r in W.
  f_equal. apply W. rewrite !there_length. lia.
Qed.

Lemma store_lowest A old r1 r2 C w n : (n <= 16)%nat -> length old = (w * n)%nat -> length r1 = (w * n)%nat ->
  length (r1 ++ r2) = (16 * w)%nat -> (16 * w / w / 8 = 2)%nat ->
  store_to (Masked w (16 * w)) [lowest n] (r1 ++ r2) (A ++ there old ++ C) (Z.of_nat (length A)) =
  Some (A ++ there r1 ++ C).
Proof.
  intros N L L1 L2 K. destruct (cells_split A (there old) C (16 * w)) as (X & LX & E & W); [rewrite there_length; nia|].
  rewrite there_length in LX. rewrite app_length in L2. unfold store_to, mask_of. rewrite K, lowest_length.
  cbn [Nat.eqb bind]. rewrite E. cbn [bind].
  rewrite app_length, L2, Nat.eqb_refl. unfold store_masked. rewrite byte_mask_lowest, <- L by exact N.
  replace (w * (16 - n))%nat with (length X) by nia. rewrite store_front by lia. cbn [bind]. f_equal. apply W.
  rewrite !there_length. lia.
Qed.

(** ** Loops *)

(** The rule for loops: an invariant that knows how many elements are left. *)
Lemma loop_ends from last n beside l (I : nat -> state -> Prop) : (0 < n)%nat ->
  (forall d s, I d s -> distance s from last = Some (Z.of_nat d)) ->
  (forall d s, I d s -> (n <= d)%nat -> exists s1 s2, run_statements l s = Some s1 /\
    move n (from :: beside) s1 = Some s2 /\ I (d - n)%nat s2) ->
  forall fuel d s, I d s -> (d <= fuel)%nat ->
    exists s' d', run_loop fuel from last n beside l s = Some s' /\ I d' s' /\ (d' < n)%nat /\ (d' <= d)%nat.
Proof.
  intros N D B. induction fuel as [|fuel IH]; intros d s Is F; cbn [run_loop]; rewrite (D d s Is); cbn [bind];
    destruct (Z.ltb_spec (Z.of_nat d) (Z.of_nat n)) as [H|H].
  - exists s, d. repeat split; auto; lia.
  - lia.
  - exists s, d. repeat split; auto; lia.
  - destruct (B d s Is ltac:(lia)) as (s1 & s2 & E1 & E2 & I2). rewrite E1. cbn [bind]. rewrite E2. cbn [bind].
    destruct (IH _ s2 I2 ltac:(lia)) as (s' & d' & E & I' & L & L'). exists s', d'. repeat split; auto. lia.
Qed.

(** The same for loops that count. *)
Lemma rounds_end from n beside l (I : nat -> state -> Prop) : (0 < n)%nat ->
  (forall d s, I d s -> (n <= d)%nat -> exists s1 s2, run_statements l s = Some s1 /\
    move n (from :: beside) s1 = Some s2 /\ I (d - n)%nat s2) ->
  forall d s, I d s -> exists s' d', run_rounds (Z.to_nat (Z.of_nat d / Z.of_nat n)) from n beside l s = Some s' /\
    I d' s' /\ (d' < n)%nat /\ (d' <= d)%nat.
Proof.
  intros N B d s Is. rewrite <- Nat2Z.inj_div, Nat2Z.id. remember (d / n)%nat as k eqn:K.
  assert (D : (k * n <= d /\ d < k * n + n)%nat).
  { subst k. pose proof (Nat.div_mod d n ltac:(lia)). pose proof (Nat.mod_upper_bound d n ltac:(lia)). nia. }
  clear K. revert d s Is D. induction k as [|k IH]; intros d s Is [D1 D2]; cbn [run_rounds].
  - exists s, d. repeat split; auto; lia.
  - destruct (B d s Is ltac:(nia)) as (s1 & s2 & E1 & E2 & I2). rewrite E1. cbn [bind]. rewrite E2. cbn [bind].
    destruct (IH (d - n)%nat s2 I2 ltac:(nia)) as (s' & d' & E & I' & L & L'). exists s', d'. repeat split; auto. lia.
Qed.

Lemma run_statements_app l l' s : run_statements (l ++ l') s = bind (run_statements l s) (run_statements l').
Proof.
  revert s. induction l as [|i l IH]; intros s; [reflexivity|]. cbn [app run_statements].
  destruct (run_statement i s) as [s1|]; [apply IH|reflexivity].
Qed.

Lemma distance_is s from last w a d : env s from = Some (Address w a) ->
  env s last = Some (Address w (a + Z.of_nat w * d)) -> (0 < w)%nat -> distance s from last = Some d.
Proof.
  intros F L W. unfold distance, address_in. rewrite F, L. cbn [bind fst snd]. rewrite Nat.eqb_refl. f_equal.
  replace (a + Z.of_nat w * d - a) with (d * Z.of_nat w) by lia. apply Z.div_mul. lia.
Qed.

Lemma env_set_same x v s : env (set x v s) x = Some v.
Proof. cbn [env set]. now rewrite String.eqb_refl. Qed.

Lemma env_set_other x y v s : String.eqb y x = false -> env (set x v s) y = env s y.
Proof. intros N. cbn [env set]. now rewrite N. Qed.

(** A register of words is loaded [i] words behind a pointer. *)
Lemma load_words_by t f n : known f loads_known = Some (Whole (4 * n)) -> size t = (4 * n)%nat ->
  forall s x p i A l1 l l2 C, env s p = Some (Address 4 (Z.of_nat (length A))) ->
    memory s = A ++ there (register_of 4 (l1 ++ l ++ l2)) ++ C -> length l1 = i -> length l = n ->
    run_statement (Const t x (LoadVector f [] p i)) s = Some (set x (Register (register_of 4 l)) s).
Proof.
  intros Kn Sz s x p i A l1 l l2 C P M L1 L. cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in.
  rewrite P, Kn. cbn [bind fst snd]. rewrite M, !words_app, !there_app.
  replace (A ++ (there (register_of 4 l1) ++ there (register_of 4 l) ++ there (register_of 4 l2)) ++ C) with
    ((A ++ there (register_of 4 l1)) ++ there (register_of 4 l) ++ there (register_of 4 l2) ++ C)
    by now rewrite <- !app_assoc.
  replace (Z.of_nat (length A) + Z.of_nat 4 * Z.of_nat i) with (Z.of_nat (length (A ++ there (register_of 4 l1))))
    by (rewrite app_length, there_length, words_length; lia).
  rewrite load_whole by (rewrite words_length; lia). cbn [bind]. now rewrite words_length, L, Sz, Nat.eqb_refl.
Qed.

Lemma load_words s x p i A l1 l l2 C : env s p = Some (Address 4 (Z.of_nat (length A))) ->
  memory s = A ++ there (register_of 4 (l1 ++ l ++ l2)) ++ C -> length l1 = i -> length l = 16%nat ->
  run_statement (Const Vector512 x (LoadVector "_mm512_loadu_si512" [] p i)) s = Some (set x (Register (register_of 4 l)) s).
Proof. apply (load_words_by Vector512 "_mm512_loadu_si512" 16 eq_refl eq_refl). Qed.

(** The words that are left, fewer than a register holds, are loaded under their mask: zeros stand above them. *)
Lemma load_last_words s k p A l C : env s p = Some (Address 4 (Z.of_nat (length A))) ->
  env s k = Some (Register (lowest (length l))) -> memory s = A ++ there (register_of 4 l) ++ C ->
  (length l <= 16)%nat -> eval s (LoadVector "_mm512_maskz_loadu_epi32" [Var k] p 0) =
  Some (register_of 4 (l ++ repeat 0 (16 - length l))).
Proof.
  intros P K M L. cbn [eval]. unfold address_in, register_in. rewrite P, K.
  change (known "_mm512_maskz_loadu_epi32" loads_known) with (Some (Masked 4 (16 * 4))). cbn [bind fst snd].
  rewrite M, Z.mul_0_r, Z.add_0_r, (load_lowest _ _ _ 4 (length l)) by (auto using words_length; lia).
  now rewrite words_app, words_zeros.
Qed.

(* The same under the signs of eight lanes. *)
Lemma load_first_words s k p A l C : env s p = Some (Address 4 (Z.of_nat (length A))) ->
  env s k = Some (Register (first_lanes (length l))) -> memory s = A ++ there (register_of 4 l) ++ C ->
  (length l <= 8)%nat -> eval s (LoadVector "_mm256_maskload_epi32" [Var k] p 0) =
  Some (register_of 4 (l ++ repeat 0 (8 - length l))).
Proof.
  intros P K M L. cbn [eval]. unfold address_in, register_in. rewrite P, K.
  change (known "_mm256_maskload_epi32" loads_known) with (Some (BySigns 4 32)). cbn [bind fst snd].
  rewrite M, Z.mul_0_r, Z.add_0_r, (load_first_lanes _ _ _ (length l)) by (auto using words_length).
  now rewrite words_app, words_zeros.
Qed.

Lemma zeros_length n : length (zeros n) = n.
Proof. apply repeat_length. Qed.

(** Compressing packs words, and fills up with zeros. *)
Lemma compress_words k l : compress 4 k (register_of 4 l) =
  register_of 4 (selected (bits k) l) ++ zeros (4 * (length l - length (selected (bits k) l))).
Proof.
  unfold compress. rewrite words_pieces, <- selected_map, words_length.
  change (concat (map (bytes_of 4) (selected (bits k) l))) with (register_of 4 (selected (bits k) l)).
  set (n := length (selected (bits k) l)). assert (N : (n <= length l)%nat) by apply selected_length.
  unfold widened. rewrite firstn_app, words_length. fold n. rewrite firstn_all2 by (rewrite words_length; fold n; lia).
  f_equal.
  replace (zeros (4 * length l)) with (zeros (4 * (length l - n)) ++ zeros (4 * n)).
  - rewrite firstn_app, zeros_length. replace (4 * length l - 4 * n - 4 * (length l - n))%nat with O by lia. cbn [firstn].
    rewrite app_nil_r. apply firstn_all2. rewrite zeros_length. lia.
  - unfold zeros. rewrite <- repeat_app. f_equal. lia.
Qed.

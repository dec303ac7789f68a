(* SPDX-License-Identifier: PostgreSQL *)
(** * The vector step of the purges is made of instructions

    KeepRegisters.v takes a step of the SIMD purges as one: a register is packed.  Here the step is what the C code says: a
    composition of intrinsics, each with the meaning that the table of instructions/ gives it, and that is run against
    the CPU.  What lies between them in C, the negation of AVX2's mask and a look into an array, is said in Coq. *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Arithmetic Masked Compare Permute Scalar Facts Table ProgramFacts
  LaneFacts.
From Pgquern.snapbuild Require Import Memory Spec Purge KeepRegisters.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** The steps *)

(** In C: [_mm512_cmplt_epu32_mask(_mm512_sub_epi32(x, bound), half)]. *)
Definition avx512_mask (xmin : Z) (x : bytes) : bytes :=
  let bound := intrinsic "_mm512_set1_epi32" [bytes_of 4 xmin] in
  let half := intrinsic "_mm512_set1_epi32" [bytes_of 4 HALF] in
  intrinsic "_mm512_cmplt_epu32_mask" [intrinsic "_mm512_sub_epi32" [x; bound]; half].
Definition avx512_pack (xmin : Z) (x : bytes) : bytes := intrinsic "vpcompressd" [avx512_mask xmin x; x].

(** The same of the last, short register: [rest] has a bit for each of its lanes. *)
Definition avx512_last_mask (xmin : Z) (rest x : bytes) : bytes :=
  let bound := intrinsic "_mm512_set1_epi32" [bytes_of 4 xmin] in
  let half := intrinsic "_mm512_set1_epi32" [bytes_of 4 HALF] in
  intrinsic "_mm512_mask_cmplt_epu32_mask" [rest; intrinsic "_mm512_sub_epi32" [x; bound]; half].
Definition avx512_last_pack (xmin : Z) (rest x : bytes) : bytes :=
  intrinsic "vpcompressd" [avx512_last_mask xmin rest x; x].

(** Entry m of pgq_left_pack: the places of the bits set in m, then zeros. *)
Definition left_pack (kept : list bool) : bytes := widened 8 (selected kept [0; 1; 2; 3; 4; 5; 6; 7]).
(** In C: [~_mm256_movemask_ps(...) & 0xff], as bits. *)
Definition avx2_kept (xmin : Z) (x : bytes) : list bool :=
  let bound := intrinsic "_mm256_set1_epi32" [bytes_of 4 xmin] in
  let difference := intrinsic "_mm256_castsi256_ps" [intrinsic "_mm256_sub_epi32" [x; bound]] in
  map negb (firstn 8 (bits (intrinsic "_mm256_movemask_ps" [difference]))).
Definition avx2_pack (xmin : Z) (x : bytes) : bytes :=
  let entry := intrinsic "_mm_cvtsi64_si128" [left_pack (avx2_kept xmin x)] in
  intrinsic "_mm256_permutevar8x32_epi32" [x; intrinsic "_mm256_cvtepu8_epi32" [entry]].

(** ** Proofs *)

Lemma valid_mod x : valid x -> x mod span 4 = x.
Proof. intros V. apply Z.mod_small. exact V. Qed.

Lemma valid_lanes l : Forall valid l -> lanes 4 (register_of 4 l) = l.
Proof. apply lanes_of_words. Qed.

Lemma normal_is_valid l : Forall normal l -> Forall valid l.
Proof. apply Forall_impl. unfold normal, valid, FIRST_NORMAL. lia. Qed.

(* The lanes of x - xmin, for any number of them. *)
Lemma differences n xmin l : length l = n -> Forall valid l -> valid xmin ->
  lanes 4 (sub 4 (register_of 4 l) (spread n (bytes_of 4 xmin))) = map (fun x => (x - xmin) mod RING) l.
Proof.
  intros L V X. unfold sub. rewrite lanes_of_lanewise, spread_words, !valid_lanes
    by (lia || auto using forall_repeat).
  rewrite map2_repeat, map_map by exact L. reflexivity.
Qed.

Lemma below_half n xmin l : length l = (n * 8)%nat -> Forall valid l -> valid xmin ->
  bits (mask_compare 4 Z.ltb (sub 4 (register_of 4 l) (spread (n * 8) (bytes_of 4 xmin)))
    (spread (n * 8) (bytes_of 4 HALF))) =
  map (fun x => (x - xmin) mod RING <? HALF) l.
Proof.
  intros L V X. unfold mask_compare, compared. rewrite differences, spread_words, valid_lanes by
    (auto; apply forall_repeat; unfold valid, HALF, RING; lia).
  rewrite map2_repeat, map_map by now rewrite map_length. apply (bits_of_register n). now rewrite map_length.
Qed.

Lemma kept_by_difference xmin x : normal xmin -> normal x -> ((x - xmin) mod RING <? HALF) = keeps xmin x.
Proof.
  intros X N. unfold keeps, precedes, is_normal. unfold normal in *.
  destruct (Z.leb_spec FIRST_NORMAL x); [|lia]. destruct (Z.leb_spec FIRST_NORMAL xmin); [|lia]. cbn [negb orb].
  unfold to_int32. pose proof (Z.mod_pos_bound (x - xmin) RING ltac:(reflexivity)) as B.
  destruct (Z.ltb_spec ((x - xmin) mod RING) HALF) as [H1|H1].
  - destruct (Z.ltb_spec ((x - xmin) mod RING) 0); [lia|reflexivity].
  - destruct (Z.ltb_spec ((x - xmin) mod RING - RING) 0); [reflexivity|lia].
Qed.

Lemma kept_by_differences xmin l : normal xmin -> Forall normal l ->
  map (fun x => (x - xmin) mod RING <? HALF) l = map (keeps xmin) l.
Proof. intros X N. apply map_ext_in. intros x I. rewrite Forall_forall in N. apply kept_by_difference; auto. Qed.

Lemma selected_is_kept xmin l : selected (map (keeps xmin) l) l = kept xmin l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [map selected]. rewrite IH. unfold kept. cbn [List.filter].
  now destruct (keeps xmin x).
Qed.

Lemma count_is_kept xmin l : count (map (keeps xmin) l) = zlength (kept xmin l).
Proof.
  unfold kept. induction l as [|x l IH]; [reflexivity|]. cbn [map count fold_right List.filter]. unfold count in IH.
    rewrite IH.
  destruct (keeps xmin x); cbn [Z.b2z length]; lia.
Qed.

Lemma nothing_counted n : fold_right (fun t x => Z.b2z t + x) 0 (repeat false n) = 0.
Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat fold_right Z.b2z]. now rewrite IH. Qed.

Lemma register_length n l : length l = n -> length (register_of 4 l) = (n * 4)%nat.
Proof.
  intros <-. unfold register_of. rewrite (concat_length 4), map_length; [reflexivity|].
  apply Forall_map, List.Forall_forall. intros x _. apply bytes_of_length.
Qed.

Lemma avx512_mask_bits xmin l : length l = 16%nat -> Forall valid l -> valid xmin ->
  bits (avx512_mask xmin (register_of 4 l)) = map (fun x => (x - xmin) mod RING <? HALF) l.
Proof. intros L V X. exact (below_half 2 xmin l L V X). Qed.

(** A step of the AVX-512 purge, as the intrinsics that the C code calls, packs sixteen XIDs as the proof of the purge
    takes it, and its mask counts them. *)
Theorem avx512_step_is_its_instructions : forall xmin l, normal xmin -> Forall normal l -> length l = 16%nat ->
  lanes 4 (avx512_pack xmin (register_of 4 l)) = compress_zeros xmin l /\
  count (bits (avx512_mask xmin (register_of 4 l))) = zlength (kept xmin l).
Proof.
  intros xmin l X N L. pose proof (normal_is_valid l N) as V.
  assert (VX : valid xmin) by (unfold normal, valid, FIRST_NORMAL in *; lia).
  pose proof (avx512_mask_bits xmin l L V VX) as M. rewrite kept_by_differences in M by auto. split.
  - change (avx512_pack xmin (register_of 4 l)) with
      (compress 4 (avx512_mask xmin (register_of 4 l)) (register_of 4 l)).
    rewrite (lanes_of_compress 4 16) by (lia || now rewrite (register_length 16)).
    rewrite M, valid_lanes, selected_is_kept by exact V. unfold compress_zeros. now rewrite L.
  - rewrite M. apply count_is_kept.
Qed.

Lemma selected_none {A} : forall n (l : list A), selected (repeat false n) l = [].
Proof. induction n as [|n IH]; intros [|x l]; simpl; auto. Qed.

Lemma andb_true_all : forall l, map2 andb (repeat true (length l)) l = l.
Proof. induction l as [|t l IH]; cbn [length repeat map2]; [|rewrite IH]; reflexivity. Qed.

Lemma andb_false_all : forall n l, length l = n -> map2 andb (repeat false n) l = repeat false n.
Proof. induction n as [|n IH]; intros [|t l] L; try discriminate; cbn [repeat map2]; [|rewrite IH]; auto. Qed.

Lemma avx512_last_mask_bits xmin l : normal xmin -> Forall normal l -> (length l <= 16)%nat ->
  bits (avx512_last_mask xmin (lowest (length l)) (register_of 4 (l ++ repeat 0 (16 - length l)))) =
  map (keeps xmin) l ++ repeat false (16 - length l).
Proof.
  intros X N L. set (n := length l). pose proof (normal_is_valid l N) as V.
  assert (VX : valid xmin) by (unfold normal, valid, FIRST_NORMAL in *; lia).
  assert (V' : Forall valid (l ++ repeat 0 (16 - n))).
  { apply Forall_app. split; [exact V|]. apply forall_repeat. unfold valid, RING. lia. }
  assert (L' : length (l ++ repeat 0 (16 - n)) = 16%nat) by (rewrite app_length, repeat_length; unfold n; lia).
  change (avx512_last_mask xmin (lowest n) (register_of 4 (l ++ repeat 0 (16 - n)))) with (register_of_bits
    (map2 andb (bits (lowest n)) (bits (avx512_mask xmin (register_of 4 (l ++ repeat 0 (16 - n))))))).
  rewrite (avx512_mask_bits xmin _ L' V' VX), map_app, kept_by_differences by auto.
  rewrite lowest_bits by exact L. rewrite map2_app by (rewrite repeat_length, map_length; reflexivity).
  replace n with (length (map (keeps xmin) l)) at 1 by apply map_length. rewrite andb_true_all.
  rewrite andb_false_all by (rewrite map_length; apply repeat_length).
  apply (bits_of_register 2). rewrite app_length, map_length, repeat_length. unfold n. lia.
Qed.

(** The last step of the AVX-512 purge packs the fewer XIDs that are left, which a masked load has put over zeros: in
    its lanes stands what the proof of the purge takes. *)
Theorem avx512_last_step_is_its_instructions : forall xmin l, normal xmin -> Forall normal l -> (length l <= 16)%nat ->
  let n := length l in
  let rest := bytes_of 2 (2 ^ Z.of_nat n - 1) in
  let x := register_of 4 (l ++ repeat 0 (16 - n)) in
  firstn n (lanes 4 (avx512_last_pack xmin rest x)) = compress_zeros xmin l /\
  count (bits (avx512_last_mask xmin rest x)) = zlength (kept xmin l).
Proof.
  intros xmin l X N L n rest x. pose proof (normal_is_valid l N) as V.
  assert (VX : valid xmin) by (unfold normal, valid, FIRST_NORMAL in *; lia).
  assert (V' : Forall valid (l ++ repeat 0 (16 - n))).
  { apply Forall_app. split; [exact V|]. apply forall_repeat. unfold valid, RING. lia. }
  assert (L' : length (l ++ repeat 0 (16 - n)) = 16%nat) by (rewrite app_length, repeat_length; unfold n; lia).
  assert (M : bits (avx512_last_mask xmin rest x) = map (keeps xmin) l ++ repeat false (16 - n))
    by now apply avx512_last_mask_bits.
  split.
  - change (avx512_last_pack xmin rest x) with (compress 4 (avx512_last_mask xmin rest x) x).
    rewrite (lanes_of_compress 4 16) by (lia || unfold x; now rewrite (register_length 16)).
    assert (S : selected (bits (avx512_last_mask xmin rest x)) (lanes 4 x) = kept xmin l).
    { rewrite M. unfold x. rewrite valid_lanes, selected_app by (exact V' || apply map_length).
      now rewrite selected_none, app_nil_r, selected_is_kept. }
    rewrite !S.
    unfold compress_zeros. pose proof (kept_length xmin l) as K.
    rewrite firstn_app, firstn_all2 by (unfold n; lia). f_equal. fold n.
    replace (16 - length (kept xmin l))%nat with ((n - length (kept xmin l)) + (16 - n))%nat by (unfold n in *; lia).
    rewrite repeat_app, firstn_app, repeat_length, Nat.sub_diag, firstn_all2 by (rewrite repeat_length; lia).
    apply app_nil_r.
  - rewrite M. unfold count. rewrite fold_right_app, nothing_counted. apply count_is_kept.
Qed.

Lemma widened_length n r : length (widened n r) = n.
Proof. unfold widened, zeros. rewrite firstn_length, app_length, repeat_length. lia. Qed.

(* The sign bit of a difference of 32 bits. *)
Lemma sign_of_bytes x : (128 <=? last (bytes_of 4 x) 0) = negb (x mod RING <? HALF).
Proof.
  change (x mod RING) with (x mod span 4). rewrite <- number_bytes_of. pose proof (bytes_of_bytes 4 x) as B. revert B.
  cbn [bytes_of]. generalize (x mod 256) (x / 256 mod 256) (x / 256 / 256 mod 256) (x / 256 / 256 / 256 mod 256).
  intros b0 b1 b2 b3 B. cbn [last number]. repeat (inversion B as [|? ? ? B']; subst; clear B; rename B' into B).
  unfold is_byte, HALF in *.
  destruct (Z.leb_spec 128 b3), (Z.ltb_spec (b0 + 256 * (b1 + 256 * (b2 + 256 * (b3 + 256 * 0)))) 2147483648); auto;
    lia.
Qed.

Lemma low_byte_of_int m : length m = 8%nat -> firstn 8 (bits (widened 4 (register_of_bits m))) = m.
Proof.
  intros L. destruct (eight m L) as (a & b & c & d & e & f & g & h & ->).
  destruct a, b, c, d, e, f, g, h; reflexivity.
Qed.

Lemma avx2_kept_is_kept xmin l : normal xmin -> Forall normal l -> length l = 8%nat ->
  avx2_kept xmin (register_of 4 l) = map (keeps xmin) l.
Proof.
  intros X N L. pose proof (normal_is_valid l N) as V.
  assert (VX : valid xmin) by (unfold normal, valid, FIRST_NORMAL in *; lia).
  change (avx2_kept xmin (register_of 4 l)) with
    (map negb (firstn 8 (bits (widened 4 (signs 4 (sub 4 (register_of 4 l) (spread 8 (bytes_of 4 xmin)))))))).
  unfold sub, lanewise. rewrite spread_words, !valid_lanes by (auto using forall_repeat).
    rewrite map2_repeat by exact L.
  unfold signs, register_of at 1. rewrite pieces_concat by
    (lia || (apply Forall_map, List.Forall_forall; intros x _; apply bytes_of_length)).
  rewrite low_byte_of_int by (rewrite !map_length; exact L). rewrite <- kept_by_differences by auto.
  rewrite !map_map. apply map_ext. intros x. rewrite sign_of_bytes. apply negb_involutive.
Qed.

Lemma picked_lengths kept l : (0 < length l)%nat -> Forall (fun p => length p = 4%nat) l ->
  Forall (fun p => length p = 4%nat) (picked kept l).
Proof.
  intros L F. apply Forall_map, List.Forall_forall. intros i _. rewrite List.Forall_forall in F. apply F, nth_In.
  unfold bytes in *. pose proof (Z.mod_pos_bound i (Z.of_nat (length l)) ltac:(lia)). lia.
Qed.

(** A step of the AVX2 purge, as the intrinsics that the C code calls, packs eight XIDs: those that stay are in the
    lower lanes, in their order.  The entry of the array that it looks up has eight bytes, as in C. *)
Theorem avx2_step_is_its_instructions : forall xmin l, normal xmin -> Forall normal l -> length l = 8%nat ->
  (exists others, lanes 4 (avx2_pack xmin (register_of 4 l)) = kept xmin l ++ others /\
    length (lanes 4 (avx2_pack xmin (register_of 4 l))) = length l) /\
  count (avx2_kept xmin (register_of 4 l)) = zlength (kept xmin l) /\
  length (left_pack (avx2_kept xmin (register_of 4 l))) = 8%nat.
Proof.
  intros xmin l X N L. pose proof (avx2_kept_is_kept xmin l X N L) as K.
  split; [|rewrite K; split; [apply count_is_kept|apply widened_length]].
  assert (LP : length (map (bytes_of 4) l) = 8%nat) by now rewrite map_length.
  assert (FP : Forall (fun p => length p = 4%nat) (map (bytes_of 4) l)).
  { apply Forall_map, List.Forall_forall. intros x _. apply bytes_of_length. }
  assert (E : lanes 4 (avx2_pack xmin (register_of 4 l)) = map number (picked (map (keeps xmin) l) (map (bytes_of 4)
    l))).
  { change (avx2_pack xmin (register_of 4 l)) with
      (pick 4 (register_of 4 l) (widen 1 4 8 (widened 16 (left_pack (avx2_kept xmin (register_of 4 l)))))).
    assert (P : pieces 4 (register_of 4 l) = map (bytes_of 4) l) by (apply pieces_concat; [lia|exact FP]).
    rewrite K. unfold pick. cbv zeta. rewrite P. fold (picked (map (keeps xmin) l) (map (bytes_of 4) l)).
    unfold lanes at 1. rewrite pieces_concat; [reflexivity|lia|]. apply picked_lengths; [unfold bytes in *;
      lia|exact FP]. }
  destruct (picked_begins (map (keeps xmin) l) (map (bytes_of 4) l)) as [B C]; [now rewrite map_length|exact LP|].
  exists (map number (skipn (length (selected (map (keeps xmin) l) (map (bytes_of 4) l))) (picked (map (keeps xmin) l)
    (map (bytes_of 4) l)))).
  rewrite E. split; [|rewrite map_length, C; now symmetry].
  rewrite <- (firstn_skipn (length (selected (map (keeps xmin) l) (map (bytes_of 4) l))) (picked (map (keeps xmin) l)
    (map (bytes_of 4) l))) at 1.
  rewrite map_app, B. f_equal. rewrite selected_map, map_map. rewrite <- selected_is_kept. f_equal.
  transitivity (map (fun x => x) l); [|apply map_id]. apply map_ext_in. intros x I. rewrite number_bytes_of.
    apply valid_mod.
  pose proof (normal_is_valid l N) as V. rewrite List.Forall_forall in V. auto.
Qed.

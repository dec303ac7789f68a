(* SPDX-License-Identifier: PostgreSQL *)
(** * Registers as lanes of line pointers: what the scans' instructions make of them

    The lanes of a register belong to a list of line pointers, and hold a number of each: so an instruction that works lane by lane
    is an operation on such numbers.  The others change places, or sum up. *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Facts Program ProgramFacts LaneFacts.

Lemma lanes_again w xs : (0 < w)%nat -> Forall (fun x => 0 <= x < span w) xs -> lanes w (register_of w xs) = xs.
Proof.
  intros W V. rewrite lanes_of_register by exact W. rewrite <- map_id. apply map_ext_in. intros x I. apply Z.mod_small.
  rewrite Forall_forall in V. auto.
Qed.

(** ** Lane by lane *)
Section Lanes.
  Context {A : Type} (w : nat) (W : (0 < w)%nat) (l : list A).

  Notation reg f := (register_of w (map f l)).

  Lemma same_lanes (f g : A -> Z) : (forall x, In x l -> f x = g x) -> reg f = reg g.
  Proof. intros E. f_equal. now apply map_ext_in. Qed.

  Lemma cut_lanes (f : A -> Z) : reg (fun x => f x mod span w) = reg f.
  Proof. rewrite <- (register_of_mod w (map f l)), map_map. reflexivity. Qed.

  Lemma constant_lanes n c : length l = n -> spread n (bytes_of w c) = reg (fun _ => c).
  Proof.
    intros <-. unfold spread, register_of. f_equal. rewrite map_map. clear. induction l as [|x r IH]; cbn; [|rewrite IH]; reflexivity.
  Qed.

  Lemma zero_lanes n : length l = n -> zeros (n * w) = reg (fun _ => 0).
  Proof.
    intros <-. rewrite zeros_concat. unfold register_of. f_equal. rewrite map_map.
    assert (E : forall k, bytes_of k 0 = zeros k) by (induction k; cbn; [|rewrite IHk]; reflexivity). rewrite E.
    clear. induction l as [|x r IH]; cbn; [|rewrite IH]; reflexivity.
  Qed.

  Lemma lanes_reg f : lanes w (reg f) = map (fun x => f x mod span w) l.
  Proof. rewrite lanes_of_register, map_map by exact W. reflexivity. Qed.

  Lemma lanewise_reg op f g : lanewise w op (reg f) (reg g) = reg (fun x => op (f x mod span w) (g x mod span w)).
  Proof. unfold lanewise. rewrite !lanes_reg, map2_maps. reflexivity. Qed.

  Lemma add_lanes f g : add w (reg f) (reg g) = reg (fun x => f x + g x).
  Proof.
    unfold add. rewrite lanewise_reg, <- cut_lanes, <- (cut_lanes (fun x => f x + g x)). apply same_lanes. intros x _.
    now rewrite <- Zplus_mod.
  Qed.
  Lemma sub_lanes f g : sub w (reg f) (reg g) = reg (fun x => f x - g x).
  Proof.
    unfold sub. rewrite lanewise_reg, <- cut_lanes, <- (cut_lanes (fun x => f x - g x)). apply same_lanes. intros x _.
    now rewrite <- Zminus_mod.
  Qed.
  Lemma and_lanes f g : and (reg f) (reg g) = reg (fun x => Z.land (f x) (g x)).
  Proof. rewrite and_of_lanes, map2_maps by now rewrite !map_length. reflexivity. Qed.
  Lemma or_lanes f g : or (reg f) (reg g) = reg (fun x => Z.lor (f x) (g x)).
  Proof.
    unfold or. rewrite (bitwise_lanes orb Z.lor), map2_maps; [reflexivity| |now rewrite !map_length].
    intros x y i _. symmetry. apply Z.lor_spec.
  Qed.
  Lemma xor_lanes f g : xor (reg f) (reg g) = reg (fun x => Z.lxor (f x) (g x)).
  Proof. rewrite xor_of_lanes, map2_maps by now rewrite !map_length. reflexivity. Qed.
  Lemma andnot_lanes f g : andnot (reg f) (reg g) = reg (fun x => Z.ldiff (g x) (f x)).
  Proof.
    unfold andnot. rewrite (bitwise_lanes _ (fun x y => Z.ldiff y x)), map2_maps; [reflexivity| |now rewrite !map_length].
    intros x y i I. rewrite Z.ldiff_spec. apply andb_comm.
  Qed.
  Lemma min_lanes f g : min_unsigned w (reg f) (reg g) = reg (fun x => Z.min (f x mod span w) (g x mod span w)).
  Proof. apply lanewise_reg. Qed.
  Lemma max_lanes f g : max_unsigned w (reg f) (reg g) = reg (fun x => Z.max (f x mod span w) (g x mod span w)).
  Proof. apply lanewise_reg. Qed.

  (** A lane of a mask is all ones, or all zeros. *)
  Definition ones (t : bool) : Z := if t then -1 else 0.

  Lemma equal_lanes f g : compare_equal w (reg f) (reg g) = reg (fun x => ones (f x mod span w =? g x mod span w)).
  Proof. unfold compare_equal, compared, as_lanes. rewrite !lanes_reg, map2_maps, map_map. reflexivity. Qed.
  Lemma greater_lanes f g :
    compare_greater w (reg f) (reg g) = reg (fun x => ones (signed w (f x mod span w) >? signed w (g x mod span w))).
  Proof. unfold compare_greater, compared, as_lanes, on_signed. rewrite !lanes_reg, map2_maps, map_map. reflexivity. Qed.

  Lemma shift_right_lanes n f : (n <= 8 * w)%nat ->
    shift_right w n (reg f) = reg (fun x => Z.shiftr (f x mod span w) (Z.of_nat n)).
  Proof.
    intros N. rewrite <- cut_lanes, shift_right_of_lanes; [|exact W|exact N|].
    - now rewrite map_map.
    - apply Forall_map, Forall_forall. intros x _. apply Z.mod_pos_bound. pose proof (span_positive w). lia.
  Qed.

  Lemma pieces_reg f : pieces w (reg f) = map (fun x => bytes_of w (f x)) l.
  Proof. rewrite lanes_pieces, map_map by exact W. reflexivity. Qed.

  Lemma last_bit f n : (0 < n)%nat -> last (map (bit f) (seq 0 n)) false = bit f (n - 1).
  Proof.
    intros N. destruct n as [|n]; [lia|]. rewrite seq_S, map_app. cbn [map Nat.add]. rewrite last_last. f_equal. lia.
  Qed.

  (** The sign, in all bits of a lane. *)
  Lemma sign_lanes f :
    shift_right_signed w (8 * w - 1) (reg f) = reg (fun x => ones (bit (f x) (8 * w - 1))).
  Proof.
    unfold shift_right_signed, per_lane. rewrite pieces_reg, map_map. unfold register_of. rewrite map_map. f_equal.
    apply map_ext. intros x. rewrite bits_of_lane, <- lane_of_bits. f_equal.
    rewrite last_bit by lia. rewrite map_length, seq_length.
    assert (Sk : skipn (8 * w - 1) (map (bit (f x)) (seq 0 (8 * w))) = [bit (f x) (8 * w - 1)]).
    { assert (E : exists n, (8 * w = n + 1)%nat) by (exists (8 * w - 1)%nat; lia).
      destruct E as (n & ->). rewrite Nat.add_sub, seq_app, map_app, skipn_app, skipn_all2 by (rewrite map_length, seq_length; lia).
      rewrite map_length, seq_length, Nat.sub_diag. reflexivity. }
    rewrite Sk. set (t := bit (f x) (8 * w - 1)).
    assert (F : forall a b, (a <= b)%nat -> firstn a (repeat t b) = repeat t a).
    { induction a as [|a IH]; intros [|b] L; try lia; try reflexivity. cbn [repeat firstn]. f_equal. apply IH. lia. }
    rewrite F by lia. change ([t] ++ repeat t (8 * w - 1)) with (repeat t (S (8 * w - 1)%nat)).
    replace (S (8 * w - 1)%nat) with (8 * w)%nat by lia. clear.
    assert (E : forall k n, map (bit (ones t)) (seq k n) = repeat t n).
    { intros k n. revert k. induction n as [|n IH]; intros k; [reflexivity|]. cbn [seq map repeat]. rewrite IH. f_equal.
      unfold bit, ones. destruct t; [|apply Z.bits_0]. apply Z.bits_m1. lia. }
    symmetry. apply E.
  Qed.

  Lemma shift_left_lanes n f : (n <= 8 * w)%nat -> shift_left w n (reg f) = reg (fun x => Z.shiftl (f x) (Z.of_nat n)).
  Proof.
    intros N. unfold shift_left, per_lane. rewrite pieces_reg, map_map. unfold register_of. rewrite map_map. f_equal.
    apply map_ext. intros x. rewrite bits_of_lane, <- lane_of_bits. f_equal. rewrite map_length, seq_length.
    destruct (Nat.le_exists_sub n (8 * w) N) as (k & E & _). rewrite E, Nat.add_comm. clear E N.
    assert (F : forall r, firstn (n + k) (repeat false n ++ r) = repeat false n ++ firstn k r).
    { intros r. rewrite <- (repeat_length false n) at 1. apply firstn_app_2. }
    rewrite F, (seq_app n k 0), (map_app (bit (Z.shiftl (f x) (Z.of_nat n)))). f_equal.
    - transitivity (map (fun _ : nat => false) (seq 0 n)).
      + clear. generalize 0%nat. induction n as [|n IH]; intros j; [reflexivity|]. cbn [repeat seq map]. f_equal. apply IH.
      + apply map_ext_in. intros i I. apply in_seq in I. unfold bit. symmetry. apply Z.shiftl_spec_low. lia.
    - rewrite <- (seq_app n k 0), (Nat.add_comm n k), seq_app, map_app, firstn_app, map_length, seq_length, Nat.sub_diag, firstn_all2 by (rewrite map_length, seq_length; lia).
      cbn [firstn]. rewrite app_nil_r. rewrite (seq_from k (0 + n)), map_map. apply map_ext. intros i. unfold bit.
      rewrite Z.shiftl_spec by lia. f_equal. lia.
  Qed.

  (** PBLENDVB by a mask of whole lanes. *)
  Lemma blend_lanes f g (t : A -> bool) : blend_bytes (reg f) (reg g) (reg (fun x => ones (t x))) =
    reg (fun x => if t x then g x else f x).
  Proof.
    unfold blend_bytes, register_of. rewrite !map_map. clear. induction l as [|x r IH]; [reflexivity|]. cbn [map concat].
    assert (E : forall n (k k' : list bool) (a a' b b' : list Z), length k = n -> length a = n -> length b = n ->
      choose (k ++ k') (a ++ a') (b ++ b') = choose k a b ++ choose k' a' b').
    { clear. induction n as [|n IH]; intros [|k0 k] k' [|a0 a] a' [|b0 b] b' K P Q; try discriminate; [reflexivity|].
      cbn [app choose]. f_equal. apply IH; cbn in *; lia. }
    rewrite map_app, (E w) by (rewrite ?map_length, bytes_of_length; reflexivity). rewrite IH. f_equal. clear.
    assert (M : forall n, map (fun m => 128 <=? m) (bytes_of n (ones (t x))) = repeat (t x) n).
    { induction n as [|n IH]; [reflexivity|]. cbn [bytes_of map repeat]. destruct (t x).
      - change (ones true / 256) with (ones true). now rewrite IH.
      - change (ones false / 256) with (ones false). now rewrite IH. }
    rewrite M. generalize (f x), (g x). clear. intros a b.
    assert (C : forall n (p q : list Z), length p = n -> length q = n -> choose (repeat (t x) n) p q = if t x then p else q).
    { induction n as [|n IH]; intros [|c p] [|d q] P Q; try discriminate; [now destruct (t x)|].
      cbn [repeat choose]. rewrite IH by (cbn in *; lia). now destruct (t x). }
    rewrite (C w) by apply bytes_of_length. now destruct (t x).
  Qed.

  (** Ones choose a number, zeros 0. *)
  Lemma land_ones t x : Z.land x (ones t) = if t then x else 0.
  Proof. destruct t; [apply Z.land_m1_r|apply Z.land_0_r]. Qed.
  Lemma land_both s t : Z.land (ones s) (ones t) = ones (s && t).
  Proof. now destruct s, t. Qed.
  Lemma lor_both s t : Z.lor (ones s) (ones t) = ones (s || t).
  Proof. now destruct s, t. Qed.
  Lemma ldiff_both s t : Z.ldiff (ones t) (ones s) = ones (negb s && t).
  Proof. now destruct s, t. Qed.
End Lanes.

(** ** All bits of a register *)
Lemma bits_app a b : bits (a ++ b) = bits a ++ bits b.
Proof. unfold bits. now rewrite map_app, concat_app. Qed.

Lemma existsb_seq f n : forall k, existsb (fun x => x) (map f (seq k n)) = negb (forallb (fun i => negb (f i)) (seq k n)).
Proof. induction n as [|n IH]; intros k; [reflexivity|]. cbn [seq map existsb forallb]. rewrite IH. now destruct (f k). Qed.

Lemma lane_has_bits w x : existsb (fun t => t) (bits (bytes_of w x)) = negb (x mod span w =? 0).
Proof.
  rewrite bits_of_lane, existsb_seq. f_equal. destruct (Z.eqb_spec (x mod span w) 0) as [E|E].
  - apply forallb_forall. intros i I. apply in_seq in I. apply negb_true_iff. unfold bit. rewrite span_is in E.
    rewrite <- (Z.mod_pow2_bits_low x (Z.of_nat (8 * w))) by lia. rewrite E. apply Z.bits_0.
  - apply not_true_is_false. intros F. apply E. rewrite span_is. apply Z.bits_inj'. intros i I. rewrite Z.bits_0.
    destruct (Z.lt_ge_cases i (Z.of_nat (8 * w))) as [L|L]; [|apply Z.mod_pow2_bits_high; lia].
    rewrite Z.mod_pow2_bits_low by exact L. rewrite forallb_forall in F. specialize (F (Z.to_nat i)).
    rewrite in_seq, negb_true_iff in F. unfold bit in F. rewrite Z2Nat.id in F by lia. apply F. lia.
Qed.

Lemma aligned_down x : Z.land x (Z.lnot 7) = x / 8 * 8.
Proof.
  change (Z.land x (Z.lnot 7)) with (Z.land x (Z.lnot (Z.ones 3))). rewrite <- Z.ldiff_land, Z.ldiff_ones_r by lia.
  rewrite Z.shiftr_div_pow2, Z.shiftl_mul_pow2 by lia. reflexivity.
Qed.

Lemma any_bit w xs : existsb (fun t => t) (bits (register_of w xs)) = existsb (fun x => negb (x mod span w =? 0)) xs.
Proof.
  induction xs as [|x xs IH]; [reflexivity|]. change (register_of w (x :: xs)) with (bytes_of w x ++ register_of w xs).
  rewrite bits_app, existsb_app, IH, lane_has_bits. reflexivity.
Qed.

(** ** Lists of a known length *)
Ltac explode l := repeat (destruct l as [|? l]; [discriminate|]); destruct l; [|discriminate].

(** Prefix sums. *)
Fixpoint sums_from (s : Z) (xs : list Z) : list Z := match xs with [] => [] | x :: r => (s + x) :: sums_from (s + x) r end.

Lemma add_words xs ys : add 2 (register_of 2 xs) (register_of 2 ys) = register_of 2 (map2 Z.add xs ys).
Proof.
  unfold add, lanewise. rewrite !lanes_of_register by lia. rewrite <- register_of_mod, <- (register_of_mod 2 (map2 Z.add xs ys)).
  f_equal. revert ys. induction xs as [|x xs IH]; intros [|y ys]; cbn [map map2]; try reflexivity. rewrite IH. f_equal.
  now rewrite <- Zplus_mod.
Qed.
Lemma add_dwords xs ys : add 4 (register_of 4 xs) (register_of 4 ys) = register_of 4 (map2 Z.add xs ys).
Proof.
  unfold add, lanewise. rewrite !lanes_of_register by lia. rewrite <- register_of_mod, <- (register_of_mod 4 (map2 Z.add xs ys)).
  f_equal. revert ys. induction xs as [|x xs IH]; intros [|y ys]; cbn [map map2]; try reflexivity. rewrite IH. f_equal.
  now rewrite <- Zplus_mod.
Qed.

Lemma picked_register kept xs : length xs = 8%nat ->
  pick 4 (register_of 4 xs) (left_packing kept) = concat (picked kept (map (bytes_of 4) xs)).
Proof. intros L. unfold pick, picked. cbv zeta. now rewrite lanes_pieces by lia. Qed.

(** What VPERMD makes of an entry of left_pack.h: the kept lanes come first, in order. *)
Lemma packs_to_the_left kept xs : length kept = 8%nat -> length xs = 8%nat -> Forall (fun x => 0 <= x < span 4) xs ->
  exists others, pick 4 (register_of 4 xs) (left_packing kept) = register_of 4 (selected kept xs ++ others) /\
    (length (selected kept xs) + length others = 8)%nat /\ Forall (fun x => 0 <= x < span 4) others.
Proof.
  intros K L V. rewrite picked_register by exact L.
  assert (B : firstn (length (selected kept xs)) (map number (picked kept (map (bytes_of 4) xs))) = selected kept xs /\
    length (map number (picked kept (map (bytes_of 4) xs))) = 8%nat /\
    concat (picked kept (map (bytes_of 4) xs)) = register_of 4 (map number (picked kept (map (bytes_of 4) xs))) /\
    Forall (fun x => 0 <= x < span 4) (map number (picked kept (map (bytes_of 4) xs)))).
  { destruct (picked_begins kept (map (bytes_of 4) xs) K) as [B C]; [now rewrite map_length|].
    assert (F : Forall (fun p => exists x, In x xs /\ p = bytes_of 4 x) (picked kept (map (bytes_of 4) xs))).
    { apply Forall_map, Forall_forall. intros i _. rewrite map_length, L.
      assert (I : In (item (i mod Z.of_nat 8) (map (bytes_of 4) xs)) (map (bytes_of 4) xs)).
      { apply nth_In. rewrite map_length, L. pose proof (Z.mod_pos_bound i 8 ltac:(lia)). change (Z.of_nat 8) with 8. lia. }
      apply in_map_iff in I as (x & E & I). exists x. auto. }
    repeat split.
    - rewrite <- !selected_map, map_length in B. rewrite firstn_map, B, map_map.
      transitivity (map (fun x => x) (selected kept xs)); [|apply map_id]. apply map_ext_in. intros x I.
      rewrite number_bytes_of. apply Z.mod_small. pose proof (selected_in _ kept xs V) as S. rewrite Forall_forall in S. auto.
    - now rewrite map_length.
    - unfold register_of. rewrite map_map. f_equal. rewrite <- (map_id (picked _ _)) at 1. apply map_ext_in. intros p I.
      rewrite Forall_forall in F. destruct (F p I) as (x & _ & ->). rewrite number_bytes_of. symmetry. apply bytes_of_mod.
    - apply Forall_map, Forall_forall. intros p I. rewrite Forall_forall in F. destruct (F p I) as (x & _ & ->).
      rewrite number_bytes_of. apply Z.mod_pos_bound. reflexivity. }
  destruct B as (B & C & D & E). rewrite D.
  set (all := map number _) in *. exists (skipn (length (selected kept xs)) all). split; [|split].
  - f_equal. rewrite <- B at 1. symmetry. apply firstn_skipn.
  - rewrite skipn_length, C. pose proof (selected_length kept xs). lia.
  - rewrite <- (firstn_skipn (length (selected kept xs)) all) in E. now apply Forall_app in E as [_ E].
Qed.

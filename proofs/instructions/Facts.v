(* SPDX-License-Identifier: PostgreSQL *)
(** * What holds of every register: the lanes are its bytes, and a mask chooses *)
From Pgquern.common Require Import Integers.
From Pgquern.instructions Require Import Lanes Arithmetic Masked Memory.

Definition is_byte (b : Z) : Prop := 0 <= b < 256.

Lemma bytes_of_length w : forall x, length (bytes_of w x) = w.
Proof. induction w as [|w IH]; intros x; cbn [bytes_of length]; [|rewrite IH]; reflexivity. Qed.

Lemma bytes_of_bytes w : forall x, Forall is_byte (bytes_of w x).
Proof.
  induction w as [|w IH]; intros x; cbn [bytes_of]; constructor; [|auto].
  unfold is_byte. apply Z.mod_pos_bound. reflexivity.
Qed.

Lemma span_positive w : 0 < span w.
Proof. induction w; cbn [span]; lia. Qed.

Lemma number_bytes_of w : forall x, number (bytes_of w x) = x mod span w.
Proof.
  induction w as [|w IH]; intros x; cbn [bytes_of number span]; [now rewrite Z.mod_1_r|].
  rewrite IH, Z.rem_mul_r by (pose proof (span_positive w); lia). reflexivity.
Qed.

Lemma bytes_of_number r : Forall is_byte r -> bytes_of (length r) (number r) = r.
Proof.
  induction 1 as [|b r B F IH]; [reflexivity|]. cbn [length number bytes_of]. unfold is_byte in B.
  rewrite (Z.mul_comm 256), Z.mod_add, Z.div_add, (Z.mod_small b), (Z.div_small b) by lia. cbn [Z.add]. now rewrite IH.
Qed.

Lemma concat_length {A} w (ls : list (list A)) : Forall (fun l => length l = w) ls ->
  length (concat ls) = (length ls * w)%nat.
Proof. induction 1 as [|l ls L F IH]; [reflexivity|]. cbn [concat length]. rewrite app_length, IH, L. reflexivity. Qed.

Lemma pieces_concat {A} w (ls : list (list A)) : (0 < w)%nat -> Forall (fun l => length l = w) ls ->
  pieces w (concat ls) = ls.
Proof.
  intros W F. unfold pieces. rewrite (concat_length w) by exact F. rewrite Nat.div_mul by lia.
  induction F as [|l ls L F IH]; [reflexivity|]. cbn [concat length pieces_of].
  rewrite firstn_app, skipn_app, L, Nat.sub_diag, firstn_all2, skipn_all2 by lia. cbn [firstn skipn app].
  now rewrite app_nil_r, IH.
Qed.

Lemma pieces_of_lengths {A} w n : forall l : list A, (n * w <= length l)%nat ->
  Forall (fun p => length p = w) (pieces_of n w l).
Proof.
  induction n as [|n IH]; intros l L; cbn [pieces_of]; constructor.
  - rewrite firstn_length. lia.
  - apply IH. rewrite skipn_length. lia.
Qed.

Lemma pieces_lengths {A} w (l : list A) : (0 < w)%nat -> Forall (fun p => length p = w) (pieces w l).
Proof. intros W. apply pieces_of_lengths. pose proof (Nat.mul_div_le (length l) w ltac:(lia)). lia. Qed.

Lemma pieces_of_count {A} w n : forall l : list A, length (pieces_of n w l) = n.
Proof. induction n as [|n IH]; intros l; cbn [pieces_of length]; [|rewrite IH]; reflexivity. Qed.

Lemma pieces_count {A} w n (l : list A) : (0 < w)%nat -> length l = (n * w)%nat -> length (pieces w l) = n.
Proof. intros W L. unfold pieces. now rewrite pieces_of_count, L, Nat.div_mul by lia. Qed.

Lemma concat_pieces_of {A} w n : forall l : list A, length l = (n * w)%nat -> concat (pieces_of n w l) = l.
Proof.
  induction n as [|n IH]; intros l L; cbn [pieces_of concat].
  - now destruct l.
  - rewrite IH; [apply firstn_skipn|]. rewrite skipn_length. lia.
Qed.

Lemma concat_pieces {A} w n (l : list A) : (0 < w)%nat -> length l = (n * w)%nat -> concat (pieces w l) = l.
Proof. intros W L. unfold pieces. rewrite L, Nat.div_mul by lia. now apply concat_pieces_of. Qed.

(** The lanes of a register that was made of numbers are these numbers, cut to the lanes' width. *)
Theorem lanes_of_register w xs : (0 < w)%nat -> lanes w (register_of w xs) = map (fun x => x mod span w) xs.
Proof.
  intros W. unfold lanes, register_of. rewrite pieces_concat; [|exact W|].
  - rewrite map_map. apply map_ext. intros x. apply number_bytes_of.
  - apply Forall_map, Forall_forall. intros x _. apply bytes_of_length.
Qed.

(** A register is what its lanes make again. *)
Theorem register_of_its_lanes w n r : (0 < w)%nat -> length r = (n * w)%nat -> Forall is_byte r ->
  register_of w (lanes w r) = r.
Proof.
  intros W L B. unfold register_of, lanes. rewrite map_map. transitivity (concat (pieces w r));
    [|now apply (concat_pieces w n)].
  f_equal. rewrite <- map_id. apply map_ext_in. intros p P.
  pose proof (pieces_lengths w r W) as F. rewrite Forall_forall in F. rewrite <- (F p P) at 1. apply bytes_of_number.
  rewrite <- (concat_pieces w n r W L) in B. rewrite Forall_forall in B |- *. intros b I. apply B, in_concat. eauto.
Qed.

(** A lane of a sum, a difference, or any other operation lane by lane, is its result on these lanes, cut. *)
Theorem lanes_of_lanewise w f a b : (0 < w)%nat ->
  lanes w (lanewise w f a b) = map (fun x => x mod span w) (map2 f (lanes w a) (lanes w b)).
Proof. intros W. now apply lanes_of_register. Qed.

(** ** Masks *)

Lemma byte_of_bits l : length l = 8%nat -> bits_of (number_of_bits l) = l.
Proof.
  intros L. do 8 (destruct l as [|? l]; [discriminate|]). destruct l; [|discriminate].
  repeat match goal with t : bool |- _ => destruct t end; reflexivity.
Qed.

(** The bits of a mask that was made of bits are these. *)
Theorem bits_of_register n l : length l = (n * 8)%nat -> bits (register_of_bits l) = l.
Proof.
  intros L. unfold bits, register_of_bits. rewrite map_map. transitivity (concat (pieces 8 l));
    [|apply (concat_pieces 8 n); lia].
  f_equal. rewrite <- map_id. apply map_ext_in. intros p P. apply byte_of_bits.
  pose proof (pieces_lengths 8 l ltac:(lia)) as F. rewrite Forall_forall in F. auto.
Qed.

Lemma choose_lengths {A} w : forall k (l source : list (list A)), Forall (fun p => length p = w) l ->
  Forall (fun p => length p = w) source -> Forall (fun p => length p = w) (choose k l source).
Proof.
  induction k as [|t k IH]; intros [|x l] [|y source] F G; cbn [choose]; constructor; inversion F; inversion G;
    subst; auto.
  now destruct t.
Qed.

(** Under a mask, each lane of the result is that of the operation or that of the source. *)
Theorem lanes_of_masked w source k r : (0 < w)%nat ->
  lanes w (masked w source k r) = choose (bits k) (lanes w r) (lanes w source).
Proof.
  intros W. unfold lanes, masked.
  rewrite pieces_concat by (auto using choose_lengths, pieces_lengths).
  generalize (pieces w r) (pieces w source). induction (bits k) as [|t m IH]; intros [|x l] [|y s]; cbn [choose map];
    auto.
  rewrite IH. now destruct t.
Qed.

Lemma choose_map {A B} (f : A -> B) : forall k a b, choose k (map f a) (map f b) = map f (choose k a b).
Proof. induction k as [|t k IH]; intros [|x a] [|y b]; cbn [map choose]; auto. rewrite IH. now destruct t. Qed.

Lemma selected_map {A B} (f : A -> B) : forall k l, map f (selected k l) = selected k (map f l).
Proof. induction k as [|t k IH]; intros [|x l]; cbn [selected map]; auto. rewrite map_app, IH. now destruct t. Qed.

Lemma selected_in {A} (P : A -> Prop) : forall k l, Forall P l -> Forall P (selected k l).
Proof.
  induction k as [|t k IH]; intros [|x l] F; cbn [selected]; auto. inversion F; subst.
  apply Forall_app. split; [destruct t; auto|auto].
Qed.

Lemma selected_app {A} : forall k k' (l l' : list A), length k = length l ->
  selected (k ++ k') (l ++ l') = selected k l ++ selected k' l'.
Proof.
  induction k as [|t k IH]; intros k' [|x l] l' L; try discriminate; [reflexivity|]. cbn [app selected].
  injection L as L. rewrite (IH _ _ _ L). apply app_assoc.
Qed.

Lemma selected_length {A} : forall k (l : list A), (length (selected k l) <= length l)%nat.
Proof.
  induction k as [|t k IH]; intros [|x l]; cbn [selected length]; try lia. rewrite app_length.
  specialize (IH l). destruct t; cbn [length]; lia.
Qed.

Lemma zeros_concat w n : zeros (n * w) = concat (repeat (zeros w) n).
Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat concat Nat.mul]. rewrite <- IH. apply repeat_app. Qed.

Lemma repeat_mapped {A B} (f : A -> B) x n : map f (repeat x n) = repeat (f x) n.
Proof. induction n as [|n IH]; cbn [repeat map]; [|rewrite IH]; reflexivity. Qed.

Lemma number_zeros w : number (zeros w) = 0.
Proof. induction w as [|w IH]; [reflexivity|]. cbn [zeros repeat number]. fold (zeros w). now rewrite IH. Qed.

(** Compressing packs the lanes that the mask has to the bottom, and fills up with zeros. *)
Theorem lanes_of_compress w n k r : (0 < w)%nat -> length r = (n * w)%nat ->
  lanes w (compress w k r) = selected (bits k) (lanes w r) ++ repeat 0 (n - length (selected (bits k) (lanes w r))).
Proof.
  intros W L. unfold lanes, compress. rewrite <- selected_map, map_length.
  set (s := selected (bits k) (pieces w r)).
  assert (F : Forall (fun p => length p = w) s) by (apply selected_in, pieces_lengths, W).
  assert (S : (length s <= n)%nat) by (rewrite <- (pieces_count w n r W L); apply selected_length).
  assert (E : widened (length r) (concat s) = concat (s ++ repeat (zeros w) (n - length s))).
  { unfold widened. rewrite L, concat_app, firstn_app, (concat_length w s F), firstn_all2
      by (rewrite (concat_length w s F); nia).
    f_equal. rewrite <- zeros_concat. unfold zeros.
    replace (n * w)%nat with ((n - length s) * w + length s * w)%nat at 2 by nia.
    replace (n * w - length s * w)%nat with ((n - length s) * w)%nat by nia.
    rewrite repeat_app, firstn_app, repeat_length, Nat.sub_diag, firstn_all2 by (rewrite repeat_length; lia).
    apply app_nil_r. }
  rewrite E, pieces_concat; [|exact W|].
  - rewrite map_app. f_equal. rewrite repeat_mapped, number_zeros. reflexivity.
  - apply Forall_app. split; [exact F|]. apply Forall_forall. intros p P. apply repeat_spec in P. subst p.
    apply repeat_length.
Qed.

(** ** Memory *)

(** A masked load does not touch what the mask leaves out: there, memory may hold anything or not be at all. *)
Theorem load_touches_its_mask_alone k : forall m m', length m = length m' ->
  Forall (fun c => fst c = true -> fst (snd c) = snd (snd c)) (combine k (combine m m')) ->
    load_bytes k m = load_bytes k m'.
Proof.
  induction k as [|t k IH]; intros [|c m] [|c' m'] L F; try discriminate; auto.
  cbn [combine] in F. inversion F as [|? ? H F']; subst. cbn [fst snd] in H. injection L as L.
  destruct t; cbn [load_bytes]; [rewrite <- (H eq_refl); destruct c; auto|]; now rewrite (IH m m').
Qed.

(** A masked store leaves each cell as it is where the mask has no bit. *)
Theorem store_keeps_the_rest k : forall r m m', length k = length r -> length k = length m ->
  store_bytes k r m = Some m' ->
  Forall (fun c => fst c = false -> fst (snd c) = snd (snd c)) (combine k (combine m m')).
Proof.
  induction k as [|t k IH]; intros [|x r] [|c m] m' L1 L2 S; try discriminate; [constructor|].
  injection L1 as L1. injection L2 as L2. cbn [store_bytes] in S.
  destruct t; [destruct c; [|discriminate]|]; destruct (store_bytes k r m) as [m2|] eqn:E; try discriminate;
    injection S as <-; cbn [combine]; constructor; cbn [fst snd]; eauto; discriminate.
Qed.

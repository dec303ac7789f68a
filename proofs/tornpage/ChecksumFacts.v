(* SPDX-License-Identifier: PostgreSQL *)
(** * The kernels' forms of the checksum give PostgreSQL's *)
From Coq Require Import Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.tornpage Require Import Checksum Examples.

Definition is_word (x : Z) : Prop := 0 <= x < WORD.

Lemma lxor_word a b : is_word a -> is_word b -> is_word (Z.lxor a b).
Proof.
  unfold is_word, WORD. intros A B. assert (N : 0 <= Z.lxor a b) by (apply Z.lxor_nonneg; lia). split; [exact N|].
  destruct (Z.eq_dec (Z.lxor a b) 0) as [->|Z0]; [lia|]. apply Z.log2_lt_pow2; [lia|].
  assert (L := Z.log2_lxor a b ltac:(lia) ltac:(lia)).
  assert (forall x, 0 <= x < 2 ^ 32 -> Z.log2 x < 32).
  { intros x X. destruct (Z.eq_dec x 0) as [->|]; [reflexivity|]. apply Z.log2_lt_pow2; lia. }
  assert (Z.log2 a < 32) by auto. assert (Z.log2 b < 32) by auto. lia.
Qed.

Lemma mix_word s w : is_word s -> is_word w -> is_word (mix s w).
Proof.
  intros S W. unfold mix. assert (M := lxor_word s w S W). apply lxor_word.
  - unfold is_word. apply Z.mod_pos_bound. reflexivity.
  - unfold is_word, WORD in *. rewrite Z.shiftr_div_pow2 by lia. split; [apply Z.div_pos; lia|].
    apply Z.div_lt_upper_bound; lia.
Qed.

(** The chain that keeps sum xor word is upstream's chain, one word ahead. *)
Lemma mix_then_xor m w : Z.lxor (Z.lxor ((m * PRIME) mod WORD) (Z.shiftr m 17)) w = next m w.
Proof. unfold next. now rewrite Z.lxor_assoc. Qed.

Lemma chain_ahead words : forall sum word,
  fold_left mix (word :: words) sum = fold_left next (words ++ [0]) (Z.lxor sum word).
Proof.
  induction words as [|w words IH]; intros sum word.
  - cbn. unfold mix, next. now rewrite Z.lxor_0_r.
  - transitivity (fold_left mix (w :: words) (mix sum word)); [reflexivity|]. rewrite IH. cbn [app fold_left]. f_equal.
    unfold mix. apply mix_then_xor.
Qed.

Lemma column_by_chain base words : words <> [] -> chain next base words = column_sum base words.
Proof.
  destruct words as [|first rest]; [congruence|]. intros _. unfold chain, column_sum. cbn [app].
  rewrite chain_ahead, <- app_assoc. reflexivity.
Qed.

Lemma split_prime m w : next_split m w = next m w.
Proof.
  unfold next_split, next.
  assert (E : ((m * (PRIME - 2 ^ 24)) mod WORD + Z.shiftl m 24 mod WORD) mod WORD = (m * PRIME) mod WORD).
  { rewrite Z.shiftl_mul_pow2 by lia. rewrite <- Z.add_mod by (compute; congruence). f_equal. unfold PRIME. lia. }
  now rewrite E.
Qed.

Lemma fold_left_same {A} (f g : A -> Z -> A) l : (forall a x, f a x = g a x) -> forall a, fold_left f l a = fold_left g l a.
Proof. intros E. induction l as [|x l IH]; intros a; cbn; [reflexivity|]. now rewrite E, IH. Qed.

Lemma chain_split base words : chain next_split base words = chain next base words.
Proof. destruct words; [reflexivity|]. apply fold_left_same, split_prime. Qed.

(** Row by row over all columns is column by column. *)
Lemma map2_nth f a b k : (k < length a)%nat -> length a = length b -> nth k (map2 f a b) 0 = f (nth k a 0) (nth k b 0).
Proof.
  revert b k. induction a as [|x a IH]; intros [|y b] [|k] K E; cbn in *; try lia. apply IH; lia.
Qed.

Lemma map2_length f a b : length a = length b -> length (map2 f a b) = length a.
Proof. revert b. induction a as [|x a IH]; intros [|y b] E; cbn in *; try lia. now rewrite IH by lia. Qed.

Lemma rows_length f rows : forall bases, Forall (fun row => length row = length bases) rows ->
  length (fold_left (map2 f) rows bases) = length bases.
Proof.
  induction rows as [|row rows IH]; intros bases F; [reflexivity|]. inversion F as [|? ? E F']; subst. cbn.
  rewrite IH; rewrite map2_length by congruence; trivial.
Qed.

Lemma rows_are_columns f rows : forall bases k, Forall (fun row => length row = length bases) rows -> (k < length bases)%nat ->
  nth k (fold_left (map2 f) rows bases) 0 = fold_left f (column rows k) (nth k bases 0).
Proof.
  induction rows as [|row rows IH]; intros bases k F K; [reflexivity|]. inversion F as [|? ? E F']; subst. cbn.
  rewrite IH; [|rewrite map2_length by congruence; exact F'|rewrite map2_length by congruence; exact K].
  now rewrite map2_nth by congruence.
Qed.

Lemma nth_zeroes bases k : nth k (zeroes bases) 0 = 0.
Proof. unfold zeroes. revert k. induction bases as [|b bases IH]; intros [|k]; cbn; auto. Qed.

Lemma list_by_nth (l : list Z) : l = map (fun k => nth k l 0) (seq 0 (length l)).
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [length seq map nth]. f_equal.
  rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma fold_xor_permutation a b : Permutation a b -> fold_xor a = fold_xor b.
Proof.
  unfold fold_xor. induction 1 as [|x a b P IH|x y a|a b c P IH Q JH]; cbn; [reflexivity|now rewrite IH| |congruence].
  now rewrite <- !Z.lxor_assoc, (Z.lxor_comm y x).
Qed.

(** Upstream's loop is the xor of the columns' sums. *)
Lemma block_by_columns bases rows : Forall (fun row => length row = length bases) rows ->
  block_sum bases rows = fold_xor (map (fun k => column_sum (nth k bases 0) (column rows k)) (seq 0 (length bases))).
Proof.
  intros F. unfold block_sum.
  set (all := rows ++ [zeroes bases; zeroes bases]).
  assert (A : Forall (fun row => length row = length bases) all).
  { apply Forall_app. split; [exact F|]. repeat constructor; unfold zeroes; apply map_length. }
  rewrite (list_by_nth (fold_left (map2 mix) all bases)), rows_length by exact A. f_equal.
  apply map_ext_in. intros k K. apply in_seq in K. rewrite rows_are_columns by (trivial; lia). unfold column_sum, all, column.
  rewrite map_app. cbn [map]. now rewrite !nth_zeroes.
Qed.

(** The checksum by our chain is PostgreSQL's, in whatever order and grouping the kernel takes the columns, for any number of
    them and of rows. *)
Theorem kernel_is_checksum bases rows block lanes :
  rows <> [] -> Forall (fun row => length row = length bases) rows -> Permutation lanes (seq 0 (length bases)) ->
  kernel next lanes bases rows block = checksum bases rows block.
Proof.
  intros R F P. unfold kernel, checksum. f_equal. rewrite block_by_columns by exact F.
  rewrite (fold_xor_permutation _ _ (Permutation_map _ P)). f_equal. apply map_ext. intros k. apply column_by_chain.
  unfold column. destruct rows; [congruence|discriminate].
Qed.

(** The same with the prime in two parts. *)
Theorem split_kernel_is_checksum bases rows block lanes :
  rows <> [] -> Forall (fun row => length row = length bases) rows -> Permutation lanes (seq 0 (length bases)) ->
  kernel next_split lanes bases rows block = checksum bases rows block.
Proof.
  intros R F P. rewrite <- (kernel_is_checksum bases rows block lanes R F P). unfold kernel. do 2 f_equal.
  apply map_ext. intros k. apply chain_split.
Qed.

(** A checksum fits into 16 bits and is never 0, so that 0 can mean that there is none. *)
Theorem checksum_is_16_bits_and_not_0 bases rows block : 1 <= checksum bases rows block <= 65535.
Proof.
  unfold checksum, finish. assert (H := Z.mod_pos_bound (Z.lxor (block_sum bases rows) block) 65535). lia.
Qed.

(** Words stay words: no sum ever needs more than 32 bits. *)
Theorem sums_are_words bases rows :
  Forall is_word bases -> Forall (fun row => length row = length bases /\ Forall is_word row) rows ->
  Forall is_word (fold_left (map2 mix) rows bases).
Proof.
  revert bases. induction rows as [|row rows IH]; intros bases B F; [exact B|]. inversion F as [|? ? [E W] F']; subst.
  cbn. assert (L := map2_length mix bases row (eq_sym E)). apply IH.
  - clear - B W. revert row W. induction bases as [|b bases IH]; intros [|w row] W; cbn; constructor;
      inversion B; inversion W; subst; [now apply mix_word|now apply IH].
  - eapply Forall_impl; [|exact F']. cbn. intros a [A1 A2]. split; [congruence|exact A2].
Qed.

(** ** The numbers that PostgreSQL gives *)

(** What stands in pd_checksum does not count: words of a page that differ in the lower half of the third one have one
    checksum. *)
Theorem pd_checksum_does_not_count a b w w' rest block :
  w / 65536 = w' / 65536 -> page_checksum (a :: b :: w :: rest) block = page_checksum (a :: b :: w' :: rest) block.
Proof.
  intros E. unfold page_checksum. cbn [length without_checksum]. do 4 f_equal.
  rewrite !Z.mod_eq, E by easy. now rewrite !Z.sub_sub_distr, !Z.sub_diag.
Qed.

(** The pages of upstream's own test (contrib/pageinspect/sql/checksum.sql) have the checksums that its expected output
    (expected/checksum.out) has: prime, shift, rounds, modulus and block number are upstream's. *)
Theorem upstreams_test_is_passed : upstreams_test = upstreams_answers.
Proof. vm_cast_no_check (eq_refl upstreams_answers). Qed.

(** A page whose words all differ has, in blocks 0, 7 and 2^32 - 2, the checksums that upstream's loop, compiled from C, gives:
    each column has its own start value. *)
Theorem each_column_has_its_own_start : map (page_checksum all_differ) [0; 7; 2 ^ 32 - 2] = [46344; 46349; 19194].
Proof. vm_cast_no_check (eq_refl [46344; 46349; 19194]). Qed.

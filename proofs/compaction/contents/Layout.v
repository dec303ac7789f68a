(* SPDX-License-Identifier: PostgreSQL *)
(** * What the decoders of Page.v read is what was written

    src/include/storage/itemid.h, ItemIdData: lp_off takes the lowest 15 bits, lp_flags the next 2, lp_len the highest 15. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Decode.

Definition pack (off flags len : Z) : Z := off + 2 ^ 15 * flags + 2 ^ 17 * len.

Local Ltac powers := change (2 ^ 15) with 32768 in *; change (2 ^ 17) with 131072 in *; change (2 ^ 32) with 4294967296 in *.

(** From a packed line pointer the decoders read the three fields that were packed. *)
Theorem packed_is_unpacked : forall off flags len, 0 <= off < 2 ^ 15 -> 0 <= flags < 4 -> 0 <= len < 2 ^ 15 ->
  let word := pack off flags len in
  0 <= word < 2 ^ 32 /\ lp_off word = off /\ lp_flags word = flags /\ lp_len word = len.
Proof.
  intros off flags len O F L word. subst word. unfold pack, lp_off, lp_flags, lp_len in *. powers.
  repeat split; div_lia.
Qed.

(** Packing what the decoders read from a 32-bit word gives the word: they lose no bit. *)
Theorem unpacked_is_packed : forall word, 0 <= word < 2 ^ 32 ->
  pack (lp_off word) (lp_flags word) (lp_len word) = word /\
  0 <= lp_off word < 2 ^ 15 /\ 0 <= lp_flags word < 4 /\ 0 <= lp_len word < 2 ^ 15.
Proof. intros word W. unfold pack, lp_off, lp_flags, lp_len. powers. repeat split; div_lia. Qed.

(** The decoders are the masks and shifts that a compiler generates for the bit fields. *)
Theorem fields_are_bits : forall word,
  lp_off word = Z.land word (Z.ones 15) /\ lp_flags word = Z.land (Z.shiftr word 15) (Z.ones 2) /\
  lp_len word = Z.shiftr word 17.
Proof. intros word. rewrite !Z.land_ones, !Z.shiftr_div_pow2 by lia. auto. Qed.

(** A line pointer is read from the four bytes at which it was stored. *)
Theorem stored_line_pointer_is_read : forall m number word, 0 <= word < 2 ^ 32 ->
  lp_word (store m (24 + 4 * (number - 1)) 4 word) number = word.
Proof.
  intros m number word W. powers. rewrite <- (unbytes32 word W) at 2. unfold lp_word, read32, lp_address, HEADER_SIZE, store.
  set (a := 24 + 4 * (number - 1)).
  assert (E : forall k, 0 <= k < 4 -> (a <=? a + k) && (a + k <? a + 4) = true)
    by (intros; apply andb_true_intro; split; [apply Z.leb_le|apply Z.ltb_lt]; lia).
  pose proof (E 0 ltac:(lia)) as E0. rewrite Z.add_0_r in E0. rewrite E0, !E by lia.
  replace (a - a) with 0 by lia. replace (a + 1 - a) with 1 by lia. replace (a + 2 - a) with 2 by lia.
  replace (a + 3 - a) with 3 by lia. reflexivity.
Qed.

(** The header's fields are read from where they were stored: pd_flags, pd_lower, pd_upper, pd_special from byte 10 on. *)
Theorem stored_header_is_read : forall m flags lower upper special,
  0 <= flags < 2 ^ 16 -> 0 <= lower < 2 ^ 16 -> 0 <= upper < 2 ^ 16 -> 0 <= special < 2 ^ 16 ->
  let h := store (store (store (store m 10 2 flags) 12 2 lower) 14 2 upper) 16 2 special in
  pd_flags h = flags /\ pd_lower h = lower /\ pd_upper h = upper /\ pd_special h = special.
Proof.
  intros m flags lower upper special F L U S h. change (2 ^ 16) with 65536 in *.
  rewrite <- (unbytes16 flags F), <- (unbytes16 lower L), <- (unbytes16 upper U), <- (unbytes16 special S).
  repeat split; reflexivity.
Qed.

(** MAXALIGN rounds up to a multiple of 8, by less than 8. *)
Theorem maxalign_is_least : forall n, n <= maxalign n < n + 8 /\ maxalign n mod 8 = 0.
Proof. intros n. pose proof (maxalign_bounds n). lia. Qed.

(** ** Numbers that callers see *)

(** The codes of refusals are those that the kernels return (csrc/compaction/errors.def): no two are the same. *)
Theorem codes_are_those_of_the_kernels :
  [HEADER; LP_OFF; LP_ALIGN; LP_END; TOO_MANY; TOTAL; OVERLAP] = [3; 4; 5; 6; 7; 8; 9].
Proof. reflexivity. Qed.

(** Beside the page's own addresses the scratch area needs at most one line of 64 bytes: above for Lines, below for Lines and
    ByDepth, and below by one window for Gather. *)
Theorem scratch_is_no_larger_than_it_must_be : forall a,
  (scratch_above a = 0 \/ a = Lines /\ scratch_above a = 64) /\
  (scratch_below a = 0 \/ (a = Lines \/ a = ByDepth) /\ scratch_below a = 64 \/
   exists w, a = Gather (Some w) /\ scratch_below a = w).
Proof.
  intros a. split; [destruct a; auto|]. destruct a as [| |[w|]| | | | | | | | | |]; cbn [scratch_below]; auto 6.
  destruct (Z.max_spec 0 w) as [[_ ->]|[_ ->]]; [|auto]. right. right. now exists w.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The page of the specification, decoded again *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Spec Moves Decode Copies Pointers Repair.

(** ** Facts of [place] *)
(** No byte belongs to two. *)
Lemma place_disjoint its : nonneg its -> forall upper i it to it' to', In (it, to) (place its upper) ->
  In (it', to') (place its upper) -> to <= i < to + len it -> to' <= i < to' + len it' -> it = it' /\ to = to'.
Proof.
  induction 1 as [|x r L N IH]; intros upper i it to it' to' I I' J J'; cbn in *; [easy|].
  destruct I as [[= <- <-]|I], I' as [[= <- <-]|I']; [auto| | |eauto].
  - apply (place_bounds r N) in I'. lia.
  - apply (place_bounds r N) in I. lia.
Qed.

Lemma in_place_intro its : forall upper it, In it its -> exists to, In (it, to) (place its upper).
Proof.
  induction its as [|x r IH]; intros upper it I; [easy|]. destruct I as [->|I].
  - exists (upper - len it). now left.
  - destruct (IH (upper - len x) it I) as [to J]. exists to. now right.
Qed.

Section Repaired.
  Variables (o : order) (truncate : bool) (m r : mem).
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis repaired_r : forall i, r i = repaired o truncate m i.
  (* All lemmas take the same arguments. *)
  #[local] Set Default Proof Using "All".

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  #[local] Lemma bounds : 24 <= 24 + 4 * nline m <= pd_lower m /\ pd_lower m <= pd_upper m /\ pd_upper m <= pd_special m <= BLCKSZ.
  Proof. exact (header_bounds m valid). Qed.

  Lemma ordered_nonneg : nonneg (ordered o (items m)).
  Proof. eapply permuted_nonneg; eauto using ordered_permutation. Qed.
  Lemma ordered_total : total (ordered o (items m)) = total (items m).
  Proof. symmetry. apply total_permutation, ordered_permutation. Qed.

  Lemma new_upper_bounds : pd_lower m <= new_upper m <= pd_special m.
  Proof.
    pose proof (total_bound m valid). pose proof (total_nonneg _ (valid_nonneg m page_m valid)). unfold new_upper. lia.
  Qed.

  Lemma nline_left_range : 0 <= nline_left truncate m <= nline m.
  Proof. apply (nline_left_bounds m valid). Qed.

  Lemma new_lower_bounds : 24 <= new_lower truncate m <= pd_lower m.
  Proof. pose proof bounds. pose proof nline_left_range. unfold new_lower. lia. Qed.

  (** *** Bytes that stay *)
  Lemma r_untouched i : i < 10 \/ 16 <= i < 24 \/ 24 + 4 * nline m <= i < new_upper m \/ pd_special m <= i -> r i = m i.
  Proof.
    intros I. rewrite repaired_r. unfold repaired, placed. pose proof bounds. pose proof new_upper_bounds as B.
    assert (E : packed (place (ordered o (items m)) (pd_special m)) m m i = m i).
    { destruct (Z.le_gt_cases (pd_special m) i); [apply packed_above; auto using ordered_nonneg|].
      apply packed_below; [apply ordered_nonneg|]. rewrite ordered_total. unfold new_upper in *. lia. }
    rewrite E. cases; try lia; reflexivity.
  Qed.

  (** *** The header *)
  Lemma r_lower : pd_lower r = new_lower truncate m.
  Proof.
    unfold pd_lower, read16. rewrite !repaired_r. pose proof new_lower_bounds. pose proof bounds. unfold BLCKSZ in *.
    change (repaired o truncate m 12) with (byte_of 0 (new_lower truncate m)).
    change (repaired o truncate m (12 + 1)) with (byte_of 1 (new_lower truncate m)). apply unbytes16. lia.
  Qed.

  Lemma r_upper : pd_upper r = new_upper m.
  Proof.
    unfold pd_upper, read16. rewrite !repaired_r. pose proof new_upper_bounds. pose proof bounds. unfold BLCKSZ in *.
    change (repaired o truncate m 14) with (byte_of 0 (new_upper m)).
    change (repaired o truncate m (14 + 1)) with (byte_of 1 (new_upper m)). apply unbytes16. lia.
  Qed.

  Lemma r_flags : pd_flags r = new_flags truncate m.
  Proof.
    unfold pd_flags at 1, read16. rewrite !repaired_r.
    change (repaired o truncate m 10) with (byte_of 0 (new_flags truncate m)).
    change (repaired o truncate m (10 + 1)) with (byte_of 1 (new_flags truncate m)). apply unbytes16.
    pose proof (read16_range m page_m 10 ltac:(lia) ltac:(unfold BLCKSZ; lia)) as F. unfold new_flags, pd_flags.
    destruct (has_free_lines truncate m); div_lia.
  Qed.

  Lemma r_special : pd_special r = pd_special m.
  Proof. unfold pd_special, read16. now rewrite !r_untouched by lia. Qed.

  Lemma r_nline : nline r = nline_left truncate m.
  Proof. unfold nline. rewrite r_lower. unfold new_lower, nline, HEADER_SIZE. div_lia. Qed.

  (** *** Line pointers *)
  Lemma placed_bounds it to : In (it, to) (placed o m) -> new_upper m <= to /\ to + len it <= pd_special m.
  Proof.
    intros I. apply (place_bounds _ ordered_nonneg) in I. rewrite ordered_total in I. unfold new_upper. lia.
  Qed.

  Lemma placed_range it to : In (it, to) (placed o m) -> 24 <= to < 8192.
  Proof.
    intros I. pose proof (in_placed m o it to I) as J. apply placed_bounds in I.
    pose proof (item_facts m page_m header it J). pose proof bounds. pose proof new_upper_bounds. unfold BLCKSZ in *. lia.
  Qed.

  Lemma new_word_range n : 1 <= n <= nline m -> 0 <= new_word o m n < 4294967296.
  Proof.
    intros N. pose proof (lp_word_range m page_m header n N) as W. unfold new_word.
    destruct (new_off o m n) as [to|] eqn:E; [|destruct (is_used _); lia].
    apply new_off_inv in E as (it & I & _). apply placed_range in I. apply set_off_range; lia.
  Qed.

  Lemma r_byte n k : 1 <= n <= nline m -> 0 <= k < 4 -> r (lp_address n + k) = byte_of k (new_word o m n).
  Proof.
    intros N K. rewrite repaired_r. unfold repaired, lp_address, HEADER_SIZE.
    replace ((24 + 4 * (n - 1) + k - 24) mod 4) with k by div_lia.
    replace ((24 + 4 * (n - 1) + k - 24) / 4 + 1) with n by div_lia. cases; try lia; reflexivity.
  Qed.

  Lemma r_word n : 1 <= n <= nline m -> lp_word r n = new_word o m n.
  Proof.
    intros N. rewrite <- (unbytes32 _ (new_word_range n N)). unfold lp_word, read32.
    rewrite <- (Z.add_0_r (lp_address n)) at 1. now rewrite !r_byte by lia.
  Qed.

  (** A tuple's line pointer: a new lp_off, the rest as it was. *)
  Lemma r_placed it to : In (it, to) (placed o m) ->
    lp_word r (number it) = set_off (word it) to /\ lp_off (lp_word r (number it)) = to /\
    lp_flags (lp_word r (number it)) = lp_flags (word it) /\ lp_len (lp_word r (number it)) = lp_len (word it).
  Proof.
    intros I. pose proof (in_placed m o it to I) as J. pose proof (item_facts m page_m header it J) as F.
    apply in_items in J as [J _]. apply (in_line_pointers m header) in J as [N _].
    rewrite (r_word _ N), (new_word_placed m valid o it to I). split; [reflexivity|].
    apply placed_range in I. apply set_off_decode; lia.
  Qed.

  Lemma r_other n : 1 <= n <= nline m -> has_storage (lp_word m n) = false ->
    lp_word r n = if is_used (lp_word m n) then lp_word m n else 0.
  Proof.
    intros N S. rewrite (r_word n N).
    apply (new_word_other m valid o (Item n (lp_word m n))); [|exact S]. apply (in_line_pointers m header). cbn. auto.
  Qed.

  (** *** Bytes of the tuples *)
  Lemma r_content it to k : In (it, to) (placed o m) -> 0 <= k < len it -> r (to + k) = m (off it + k).
  Proof.
    intros I K. pose proof (placed_bounds it to I). pose proof bounds. pose proof new_upper_bounds.
    rewrite repaired_r, repaired_packed by (auto; lia). unfold placed.
    rewrite (packed_content _ ordered_nonneg _ it to) by (auto; lia). f_equal. lia.
  Qed.

  Lemma r_is_page : is_page r.
  Proof.
    intros i I. rewrite repaired_r. unfold repaired.
    destruct (_ && _); [apply byte_of_range|]. destruct (_ && _); [apply byte_of_range|].
    destruct (_ && _); [apply byte_of_range|]. destruct (_ && _); [apply byte_of_range|].
    assert (G : forall pl, (forall it to, In (it, to) pl -> forall k, 0 <= k < len it -> 0 <= off it + k < BLCKSZ) ->
      0 <= packed pl m m i < 256).
    { induction pl as [|[it to] q IH]; intros B; cbn; [now apply page_m|].
      destruct ((to <=? i) && (i <? to + len it)) eqn:E; [|apply IH; intros it' to' J k K; exact (B it' to' (or_intror J) k K)].
      apply page_m, (B it to); [now left|]. cases; lia. }
    apply G. intros it to J k K. apply in_placed in J. pose proof (valid_item m valid it J) as (A & _ & B).
    pose proof bounds. unfold stop, BLCKSZ in *. lia.
  Qed.
End Repaired.

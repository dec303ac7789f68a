(* SPDX-License-Identifier: PostgreSQL *)
(** * What decoding a page gives, and that the check is the contract *)
From Coq Require Import ZArith List Bool Lia Sorting.Permutation.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves.
Import ListNotations.
Local Open Scope Z_scope.

Ltac div_lia := Z.div_mod_to_equations; lia.

Lemma maxalign_bounds n : n <= maxalign n <= n + 7 /\ maxalign n mod 8 = 0.
Proof. unfold maxalign. split; [div_lia|apply Z_mod_mult]. Qed.
Lemma maxalign_fixed n : maxalign n = n <-> n mod 8 = 0.
Proof. unfold maxalign. split; intro; div_lia. Qed.

(** ** Numbers in bytes *)
Lemma byte_of_range k v : 0 <= byte_of k v < 256.
Proof. apply Z.mod_pos_bound. reflexivity. Qed.

Lemma bytes16 b0 b1 : 0 <= b0 < 256 -> 0 <= b1 < 256 ->
  byte_of 0 (b0 + 256 * b1) = b0 /\ byte_of 1 (b0 + 256 * b1) = b1.
Proof.
  intros. unfold byte_of. change (256 ^ 0) with 1. change (256 ^ 1) with 256. split; div_lia.
Qed.

Lemma bytes32 b0 b1 b2 b3 : 0 <= b0 < 256 -> 0 <= b1 < 256 -> 0 <= b2 < 256 -> 0 <= b3 < 256 ->
  let v := b0 + 256 * b1 + 65536 * b2 + 16777216 * b3 in
  byte_of 0 v = b0 /\ byte_of 1 v = b1 /\ byte_of 2 v = b2 /\ byte_of 3 v = b3.
Proof.
  intros. subst v. unfold byte_of. change (256 ^ 0) with 1. change (256 ^ 1) with 256.
  change (256 ^ 2) with 65536. change (256 ^ 3) with 16777216. repeat split; div_lia.
Qed.

Lemma unbytes16 v : 0 <= v < 65536 -> byte_of 0 v + 256 * byte_of 1 v = v.
Proof. intros. unfold byte_of. change (256 ^ 0) with 1. change (256 ^ 1) with 256. div_lia. Qed.

Lemma unbytes32 v : 0 <= v < 4294967296 ->
  byte_of 0 v + 256 * byte_of 1 v + 65536 * byte_of 2 v + 16777216 * byte_of 3 v = v.
Proof.
  intros. unfold byte_of. change (256 ^ 0) with 1. change (256 ^ 1) with 256.
  change (256 ^ 2) with 65536. change (256 ^ 3) with 16777216. div_lia.
Qed.

(** ** The word of a line pointer *)
Lemma set_off_range w to : 0 <= w < 4294967296 -> 0 <= to < 32768 -> 0 <= set_off w to < 4294967296.
Proof. unfold set_off. intros. div_lia. Qed.
Lemma set_off_decode w to : 0 <= w -> 0 <= to < 32768 ->
  lp_off (set_off w to) = to /\ lp_flags (set_off w to) = lp_flags w /\ lp_len (set_off w to) = lp_len w.
Proof. unfold set_off, lp_off, lp_flags, lp_len. intros. repeat split; div_lia. Qed.
Lemma set_off_same w : 0 <= w -> set_off w (lp_off w) = w.
Proof. unfold set_off, lp_off. intros. div_lia. Qed.

(** ** Line pointers *)
Lemma in_line_pointers_from m count : forall first it,
  In it (line_pointers_from m first count) <->
  (first <= number it < first + Z.of_nat count /\ word it = lp_word m (number it)).
Proof.
  induction count as [|count IH]; intros first it; cbn [line_pointers_from In]; [split; [easy|lia]|].
  rewrite IH. split.
  - intros [<-|[A B]]; cbn; [split; [lia|reflexivity]|split; [lia|exact B]].
  - intros [A B]. destruct (Z.eq_dec (number it) first) as [E|E]; [left|right; split; [lia|exact B]].
    destruct it as [n w]; cbn in *. now subst.
Qed.

Lemma numbers_from m count : forall first, NoDup (map number (line_pointers_from m first count)).
Proof.
  induction count as [|count IH]; intro first; cbn; constructor; [|apply IH].
  rewrite in_map_iff. intros (it & E & I). apply in_line_pointers_from in I. lia.
Qed.

Section Decoded.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.

  Lemma nline_bounds : 0 <= nline m /\ HEADER_SIZE + 4 * nline m <= pd_lower m.
  Proof. destruct header as (A & _). unfold nline, HEADER_SIZE in *. div_lia. Qed.

  Lemma in_line_pointers it : In it (line_pointers m) <-> (1 <= number it <= nline m /\ word it = lp_word m (number it)).
  Proof.
    unfold line_pointers. rewrite in_line_pointers_from. pose proof nline_bounds. rewrite Z2Nat.id by lia.
    split; intros [A B]; split; auto; lia.
  Qed.

  Lemma numbers_distinct : NoDup (map number (line_pointers m)).
  Proof. apply numbers_from. Qed.

  Lemma lp_word_range n : 1 <= n <= nline m -> 0 <= lp_word m n < 4294967296.
  Proof.
    intros N. pose proof nline_bounds. destruct header as (A & B & _).
    unfold lp_word, read32, lp_address, HEADER_SIZE, BLCKSZ in *.
    assert (forall i, 24 <= i < 8192 -> 0 <= m i < 256) as R by (intros; apply page_m; unfold BLCKSZ; lia).
    pose proof (R (24 + 4 * (n - 1))). pose proof (R (24 + 4 * (n - 1) + 1)).
    pose proof (R (24 + 4 * (n - 1) + 2)). pose proof (R (24 + 4 * (n - 1) + 3)). lia.
  Qed.

  Lemma read16_range a : 0 <= a -> a + 2 <= BLCKSZ -> 0 <= read16 m a < 65536.
  Proof. intros. unfold read16. pose proof (page_m a). pose proof (page_m (a + 1)). lia. Qed.

  Lemma in_items it : In it (items m) <-> In it (line_pointers m) /\ has_storage (word it) = true.
  Proof. apply filter_In. Qed.

  Lemma item_facts it : In it (items m) ->
    0 <= word it < 4294967296 /\ 0 < lp_len (word it) /\ 0 < len it /\ 0 <= off it < 32768 /\ len it mod 8 = 0.
  Proof.
    intros I. apply in_items in I as [I S]. apply in_line_pointers in I as [N W].
    pose proof (lp_word_range _ N) as R. rewrite <- W in R.
    unfold has_storage in S. apply andb_true_iff in S as [_ S]. apply negb_true_iff, Z.eqb_neq in S.
    assert (L : 0 < lp_len (word it)) by (unfold lp_len in *; div_lia).
    unfold len, off, lp_off. pose proof (maxalign_bounds (lp_len (word it))).
    repeat split; try lia; div_lia.
  Qed.

  Lemma items_nonneg : nonneg (items m).
  Proof. apply Forall_forall. intros it I. pose proof (item_facts it I). lia. Qed.

  Lemma items_distinct : NoDup (map number (items m)).
  Proof.
    unfold items. pose proof numbers_distinct as N. induction (line_pointers m) as [|it r IH]; cbn; [constructor|].
    cbn in N. inversion N as [|? ? X Y]; subst. destruct (has_storage _); [|auto]. cbn. constructor; [|auto].
    rewrite in_map_iff in *. intros (x & E & I). apply X. exists x. split; [exact E|]. now apply filter_In in I.
  Qed.
End Decoded.

(** ** The check is the contract *)
Lemma check_header_iff m : check_header m = true <-> header_ok m.
Proof. unfold check_header, header_ok. rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq. intuition. Qed.

Lemma check_items_iff m its : forall seen, 0 <= seen <= MAX_HEAP_TUPLES_PER_PAGE ->
  check_items (pd_upper m) (pd_special m) its seen = None <->
  Forall (item_ok m) its /\ seen + Z.of_nat (length its) <= MAX_HEAP_TUPLES_PER_PAGE.
Proof.
  unfold MAX_HEAP_TUPLES_PER_PAGE.
  induction its as [|it r IH]; intros seen S; cbn [check_items length].
  - split; [intros _; split; [constructor|lia]|reflexivity].
  - rewrite Forall_cons_iff. unfold item_ok at 1, MAX_HEAP_TUPLES_PER_PAGE.
    destruct (Z.leb_spec (pd_upper m) (off it)), (Z.ltb_spec (off it) (pd_special m)); cbn [andb negb];
      try (split; [discriminate|lia]).
    destruct (Z.eqb_spec (maxalign (off it)) (off it)); cbn [negb]; [|split; [discriminate|tauto]].
    destruct (Z.ltb_spec (pd_special m) (stop it)); [split; [discriminate|lia]|].
    destruct (Z.eqb_spec seen 291); [split; [discriminate|lia]|].
    rewrite IH by lia. intuition lia.
Qed.

Lemma find_overlap_iff its : forall top, find_overlap its top = None <-> chain its top.
Proof.
  induction its as [|it r IH]; intro top; cbn; [tauto|].
  destruct (Z.ltb_spec top (stop it)); [split; [discriminate|lia]|]. rewrite IH. intuition.
Qed.

(** A page is accepted if and only if it fulfils the contract. *)
Theorem check_iff_valid : forall m, check m = None <-> valid_page m.
Proof.
  intros m. unfold check, valid_page.
  destruct (check_header m) eqn:H; cbn [negb].
  2: { split; [discriminate|]. intros (X & _). apply check_header_iff in X. congruence. }
  apply check_header_iff in H.
  destruct (check_items _ _ _ _) eqn:I.
  { split; [discriminate|]. intros (_ & F & L & _).
    assert (X : check_items (pd_upper m) (pd_special m) (items m) 0 = None)
      by (apply check_items_iff; [unfold MAX_HEAP_TUPLES_PER_PAGE; lia|auto]). congruence. }
  apply check_items_iff in I; [|unfold MAX_HEAP_TUPLES_PER_PAGE; lia]. destruct I as [F L].
  destruct (Z.ltb_spec (pd_special m - pd_lower m) (total (items m))); [split; [discriminate|lia]|].
  destruct (presorted _ _) eqn:P; [rewrite find_overlap_iff|]; intuition; discriminate.
Qed.

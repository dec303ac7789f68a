(* SPDX-License-Identifier: PostgreSQL *)
(** * What decoding a page gives, and that the check is the contract *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Memory Spec Moves.

Ltac div_lia := Z.div_mod_to_equations; lia.

Lemma maxalign_bounds n : n <= maxalign n <= n + 7 /\ maxalign n mod 8 = 0.
Proof. unfold maxalign. split; [div_lia|apply Z_mod_mult]. Qed.
Lemma maxalign_fixed n : maxalign n = n <-> n mod 8 = 0.
Proof. unfold maxalign. split; intro; div_lia. Qed.

(** ** Numbers in bytes *)
Lemma byte_of_range k v : 0 <= byte_of k v < 256.
Proof. apply Z.mod_pos_bound. reflexivity. Qed.

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

(** ** The check names the first fault *)
Lemma check_items_first m its : forall seen r, 0 <= seen <= MAX_HEAP_TUPLES_PER_PAGE ->
  check_items (pd_upper m) (pd_special m) its seen = Some r <->
  exists before it after code, its = before ++ it :: after /\ Forall (item_ok m) before /\
    seen + Z.of_nat (length before) <= MAX_HEAP_TUPLES_PER_PAGE /\
    item_fault m (seen + Z.of_nat (length before)) it code /\ r = Refusal code (number it).
Proof.
  induction its as [|x its IH]; intros seen r B; cbn [check_items].
  { split; [discriminate|]. intros (before & it & after & code & E & _). now destruct before. }
  assert (Here : forall code, item_fault m seen x code -> Some (Refusal code (number x)) = Some r <->
    exists before it after code, x :: its = before ++ it :: after /\ Forall (item_ok m) before /\
      seen + Z.of_nat (length before) <= MAX_HEAP_TUPLES_PER_PAGE /\
      item_fault m (seen + Z.of_nat (length before)) it code /\ r = Refusal code (number it)).
  { intros code F. split.
    - intros [= <-]. exists [], x, its, code. cbn [length]. rewrite Z.add_0_r. repeat split; auto; lia.
    - intros ([|y before] & it & after & code' & E & O & L & F' & ->); injection E as <- E.
      + cbn [length] in F'. rewrite Z.add_0_r in F'. f_equal. f_equal.
        inversion F; inversion F'; subst; auto; unfold item_ok in *; tauto || lia.
      + exfalso. inversion O as [|? ? K _]. cbn [length] in L. unfold item_ok in K. inversion F; subst; tauto || lia. }
  destruct (Z.leb_spec (pd_upper m) (off x)), (Z.ltb_spec (off x) (pd_special m)); cbn [andb negb];
    try (apply Here, offset_outside; lia).
  destruct (Z.eqb_spec (maxalign (off x)) (off x)); cbn [negb]; [|now apply Here, offset_unaligned].
  destruct (Z.ltb_spec (pd_special m) (stop x)); [now apply Here, end_outside|].
  assert (O : item_ok m x) by (unfold item_ok; lia).
  destruct (Z.eqb_spec seen MAX_HEAP_TUPLES_PER_PAGE); [now apply Here, one_too_many|].
  rewrite IH by lia. split.
  - intros (before & it & after & code & -> & F & L & I & R). exists (x :: before), it, after, code.
    cbn [length]. replace (seen + Z.of_nat (S (length before))) with (seen + 1 + Z.of_nat (length before)) by lia.
    repeat split; auto.
  - intros ([|y before] & it & after & code & E & F & L & I & R); injection E as <- E.
    + exfalso. cbn [length] in I. rewrite Z.add_0_r in I. unfold item_ok in O. inversion I; subst; tauto || lia.
    + exists before, it, after, code. inversion F. cbn [length] in L, I.
      replace (seen + Z.of_nat (S (length before))) with (seen + 1 + Z.of_nat (length before)) in * by lia. repeat split; auto.
Qed.

Lemma find_overlap_first its : forall top r, find_overlap its top = Some r <->
  exists before it after, its = before ++ it :: after /\ chain before top /\ last (map off before) top < stop it /\
    r = Refusal OVERLAP (number it).
Proof.
  induction its as [|x its IH]; intros top r; cbn [find_overlap].
  { split; [discriminate|]. intros (before & it & after & E & _). now destruct before. }
  destruct (Z.ltb_spec top (stop x)) as [T|T].
  - split.
    + intros [= <-]. exists [], x, its. cbn. auto.
    + intros ([|y before] & it & after & E & C & _ & ->); injection E as <- E; [reflexivity|]. cbn in C. lia.
  - rewrite IH. split.
    + intros (before & it & after & -> & C & L & R). exists (x :: before), it, after. repeat split; auto.
      destruct before as [|y before]; [exact L|]. cbn [map] in *. rewrite last_of_cons. exact L.
    + intros ([|y before] & it & after & E & C & L & R); injection E as <- E; [cbn in L; lia|].
      exists before, it, after. destruct C as [_ C]. repeat split; auto.
      destruct before as [|z before]; [exact L|]. cbn [map] in *. rewrite last_of_cons in L. exact L.
Qed.

(** A refusal names the first fault of the page in the order of the checks, and the line pointer that has it. *)
Theorem check_names_first_fault : forall m r, check m = Some r <-> first_fault m r.
Proof.
  intros m r. unfold check. pose proof (check_header_iff m) as H.
  destruct (check_header m); cbn [negb].
  2: { split; [intros [= <-]; constructor; intros X; now apply H in X|].
       assert (N : ~ header_ok m) by (intros X; now apply H in X). now destruct 1. }
  assert (K : header_ok m) by now apply H. clear H.
  destruct (check_items _ _ _ _) as [q|] eqn:I.
  { apply (check_items_first m) in I as (before & it & after & code & E & O & L & F & ->); [|unfold MAX_HEAP_TUPLES_PER_PAGE; lia].
    split; [intros [= <-]; econstructor; eauto|]. intros X. f_equal.
    assert (Some (Refusal code (number it)) = check_items (pd_upper m) (pd_special m) (items m) 0) as Y.
    { symmetry. apply check_items_first; [unfold MAX_HEAP_TUPLES_PER_PAGE; lia|]. exists before, it, after, code. auto. }
    assert (N : ~ items_ok m).
    { intros [A B]. assert (Z0 : check_items (pd_upper m) (pd_special m) (items m) 0 = None)
        by (apply check_items_iff; [unfold MAX_HEAP_TUPLES_PER_PAGE; lia|split; [exact A|lia]]). congruence. }
    destruct X as [X|before' it' after' code' _ E' O' L' F'|_ X|? ? ? _ X]; try tauto.
    assert (Some (Refusal code' (number it')) = check_items (pd_upper m) (pd_special m) (items m) 0) as Y'.
    { symmetry. apply check_items_first; [unfold MAX_HEAP_TUPLES_PER_PAGE; lia|]. exists before', it', after', code'. auto. }
    congruence. }
  assert (A : items_ok m).
  { apply check_items_iff in I; [|unfold MAX_HEAP_TUPLES_PER_PAGE; lia]. unfold items_ok. split; [apply I|lia]. }
  assert (N : forall before it after code, items m = before ++ it :: after -> Forall (item_ok m) before ->
    Z.of_nat (length before) <= MAX_HEAP_TUPLES_PER_PAGE -> item_fault m (Z.of_nat (length before)) it code -> False).
  { intros before it after code E O L F.
    assert (check_items (pd_upper m) (pd_special m) (items m) 0 = Some (Refusal code (number it))); [|congruence].
    apply check_items_first; [unfold MAX_HEAP_TUPLES_PER_PAGE; lia|]. exists before, it, after, code. auto. }
  destruct (Z.ltb_spec (pd_special m - pd_lower m) (total (items m))) as [T|T].
  { split; [intros [= <-]; now constructor|].
    intros [X|before it after code _ E O L F|_ _ X|before it after _ _ X]; [tauto|now destruct (N _ _ _ _ E O L F)|auto|lia]. }
  destruct (presorted _ _) eqn:P.
  - rewrite find_overlap_first. split.
    + intros (before & it & after & E & C & L & ->). eapply overlap_fault; eauto.
    + intros [X|before it after code _ E O L F|_ _ X|before it after _ _ _ _ E C L];
        [tauto|now destruct (N _ _ _ _ E O L F)|lia|exists before, it, after; auto].
  - split; [discriminate|].
    intros [X|before it after code _ E O L F|_ _ X|before it after _ _ _ X]; [tauto|now destruct (N _ _ _ _ E O L F)|lia|congruence].
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * What the scan finds is what the page holds *)
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.compaction Require Import Page Decode Choice Scan.

Definition stored (lps : list item) : list item := filter (fun it => has_storage (word it)) lps.

(** ** check.c *)
Lemma len_zero it : 0 <= word it -> (len it =? 0) = (lp_len (word it) =? 0).
Proof. intros W. unfold len, maxalign. set (n := lp_len (word it)). assert (0 <= n) by (unfold n, lp_len; div_lia).
  destruct (Z.eqb_spec n 0), (Z.eqb_spec ((n + 7) / 8 * 8) 0); try reflexivity; div_lia. Qed.

Lemma has_storage_len it : 0 <= word it -> has_storage (word it) = is_used (word it) && negb (len it =? 0).
Proof. intros W. unfold has_storage. now rewrite len_zero. Qed.

Lemma aligned_fixed a : negb (maxalign a =? a) = negb (a mod 8 =? 0).
Proof.
  f_equal. pose proof (maxalign_fixed a) as M. destruct (Z.eqb_spec (maxalign a) a), (Z.eqb_spec (a mod 8) 0); tauto.
Qed.

Lemma check_loop m lps : Forall (fun it => 0 <= word it /\ 1 <= number it) lps -> forall n total previous sorted overlapping,
  0 <= n <= MAX_HEAP_TUPLES_PER_PAGE ->
  check_line_pointers m lps n total previous sorted overlapping =
  match check_items (pd_upper m) (pd_special m) (stored lps) n with
  | Some r => Some r
  | None =>
      if pd_special m - pd_lower m <? total + Page.total (stored lps) then Some (Refusal TOTAL 0)
      else if sorted && presorted_below previous (stored lps)
      then if overlapping =? 0 then find_overlap (stored lps) previous else Some (Refusal OVERLAP overlapping)
      else None
  end.
Proof.
  induction 1 as [|it r [W N] F IH]; intros n t previous sorted ov B; cbn [check_line_pointers stored filter].
  - cbn [check_items Page.total presorted_below find_overlap]. rewrite Z.add_0_r, andb_true_r.
    destruct (_ <? _); [reflexivity|]. destruct sorted, (ov =? 0); reflexivity.
  - rewrite has_storage_len by exact W. fold (stored r).
    destruct (is_used (word it)); cbn [negb orb andb]; [|now apply IH].
    destruct (len it =? 0); cbn [negb]; [now apply IH|].
    cbn [check_items Page.total presorted_below find_overlap]. rewrite aligned_fixed. unfold stop.
    assert (E : (off it <? pd_upper m) || (pd_special m <=? off it) = negb ((pd_upper m <=? off it) && (off it <? pd_special m))).
    { destruct (Z.ltb_spec (off it) (pd_upper m)), (Z.leb_spec (pd_special m) (off it)), (Z.leb_spec (pd_upper m) (off it)),
        (Z.ltb_spec (off it) (pd_special m)); try reflexivity; lia. }
    rewrite E. clear E. destruct (negb ((pd_upper m <=? off it) && (off it <? pd_special m))); [reflexivity|].
    destruct (negb (off it mod 8 =? 0)); [reflexivity|]. destruct (pd_special m <? off it + len it); [reflexivity|].
    destruct (Z.ltb_spec MAX_HEAP_TUPLES_PER_PAGE (n + 1)), (Z.eqb_spec n MAX_HEAP_TUPLES_PER_PAGE); try lia; [reflexivity|].
    destruct (Z.leb_spec previous (off it)), (Z.ltb_spec (off it) previous); try lia; rewrite IH by lia; rewrite Z.add_assoc;
      cbn [andb]; rewrite ?andb_false_r; [reflexivity|].
    destruct (check_items _ _ _ _); [reflexivity|]. destruct (_ <? _); [reflexivity|].
    destruct (sorted && _); [|reflexivity].
    destruct (ov =? 0) eqn:O; cbn [andb]; rewrite ?O; [|reflexivity].
    destruct (previous <? _); [|now rewrite O]. destruct (Z.eqb_spec (number it) 0); [lia|reflexivity].
Qed.

Lemma line_pointers_are m : is_page m -> header_ok m ->
  Forall (fun it => 0 <= word it < 4294967296 /\ 1 <= number it <= nline m) (line_pointers m).
Proof.
  intros P H. apply Forall_forall. intros it I. apply (in_line_pointers m H) in I as [N ->].
  split; [now apply lp_word_range|exact N].
Qed.

(** check.c goes line pointer by line pointer, and answers what the contract's check does: the first fault, its code and its line
    pointer, or none. *)
Theorem check_in_order_is_the_check : forall m, is_page m -> check_in_order m = check m.
Proof.
  intros m P. unfold check_in_order, check. destruct (check_header m) eqn:H; cbn [negb]; [|reflexivity].
  apply check_header_iff in H. rewrite check_loop.
  - rewrite Z.add_0_l. unfold presorted, items, stored. cbn [andb Z.eqb]. reflexivity.
  - eapply Forall_impl; [|now apply line_pointers_are]. cbn. lia.
  - unfold MAX_HEAP_TUPLES_PER_PAGE. lia.
Qed.

(** ** Bits of C's words *)
Lemma high_lor n a b : high n (Z.lor a b) = high n a || high n b.
Proof.
  unfold high. rewrite Z.shiftr_lor. destruct (Z.eqb_spec (Z.shiftr a n) 0) as [A|A], (Z.eqb_spec (Z.shiftr b n) 0) as [B|B];
    cbn [negb orb]; rewrite ?A, ?B, ?Z.lor_0_l, ?Z.lor_0_r; try reflexivity; apply negb_true_iff, Z.eqb_neq; auto.
  rewrite Z.lor_eq_0_iff. tauto.
Qed.

Lemma high_minus n a b : n = 29 \/ n = 31 -> 0 <= a < 131072 -> 0 <= b < 131072 -> high n (u32 (a - b)) = (a <? b).
Proof.
  intros N A B. unfold high, u32. rewrite Z.shiftr_div_pow2 by lia.
  destruct N as [-> | ->]; [change (2 ^ 29) with 536870912; set (q := (a - b) mod 4294967296 / 536870912)
    |change (2 ^ 31) with 2147483648; set (q := (a - b) mod 4294967296 / 2147483648)];
    destruct (Z.ltb_spec a b), (Z.eqb_spec q 0); try reflexivity; exfalso; subst q; div_lia.
Qed.

Lemma high_low_bits a : 0 <= a -> high 29 (u32 (Z.shiftl a 29)) = negb (a mod 8 =? 0).
Proof.
  intros A. unfold high, u32. rewrite Z.shiftr_div_pow2, Z.shiftl_mul_pow2 by lia. change (2 ^ 29) with 536870912. f_equal.
  destruct (Z.eqb_spec (a mod 8) 0), (Z.eqb_spec (a * 536870912 mod 4294967296 / 536870912) 0); try reflexivity; exfalso; div_lia.
Qed.

Lemma mask_says b x : 0 <= x < 4294967296 -> mask b x = if b then x else 0.
Proof.
  intros X. unfold mask. destruct b; [|apply Z.land_0_r]. change (u32 (- Z.b2z true)) with (Z.ones 32).
  rewrite Z.land_ones by lia. now apply Z.mod_small.
Qed.

Lemma pack_unpack o l : 0 <= o < 65536 -> 0 <= l -> tuple_off (Z.lor o (Z.shiftl l 16)) = o /\ tuple_len (Z.lor o (Z.shiftl l 16)) = l.
Proof.
  intros O L. assert (E : Z.lor o (Z.shiftl l 16) = o + l * 65536).
  { assert (Z.land o (Z.shiftl l 16) = 0) as D.
    { apply Z.bits_inj'. intros i I. rewrite Z.land_spec, Z.shiftl_spec, Z.bits_0 by lia.
      destruct (Z.lt_ge_cases i 16); [now rewrite (Z.testbit_neg_r l) by lia; apply andb_false_r|].
      rewrite <- (Z.mod_small o 65536) by lia. change 65536 with (2 ^ 16). rewrite Z.mod_pow2_bits_high by lia.
      reflexivity. }
    rewrite Z.shiftl_mul_pow2 in * by lia. change (2 ^ 16) with 65536 in *. rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor by exact D.
    reflexivity. }
  rewrite E. unfold tuple_off, tuple_len. change 65535 with (Z.ones 16). rewrite Z.land_ones, Z.shiftr_div_pow2 by lia.
  change (2 ^ 16) with 65536. split; div_lia.
Qed.

Lemma u32_small x : 0 <= x < 4294967296 -> u32 x = x.
Proof. apply Z.mod_small. Qed.
Lemma u32_u32 x y : u32 (u32 x - y) = u32 (x - y).
Proof. apply Zminus_mod_idemp_l. Qed.

(** ** Arrays *)
Definition listed {A} (a : nat -> A) (from count : nat) : list A := map a (seq from count).

Lemma listed_put_end {A} (a : nat -> A) from count v : listed (put a (from + count) v) from (S count) = listed a from count ++ [v].
Proof.
  unfold listed. rewrite seq_S, map_app. cbn [map]. unfold put at 2. rewrite Nat.eqb_refl. f_equal.
  apply map_ext_in. intros k K. apply in_seq in K. unfold put. destruct (Nat.eqb_spec k (from + count)); [lia|reflexivity].
Qed.

Lemma listed_put_beyond {A} (a : nat -> A) i from count v : (from + count <= i)%nat -> listed (put a i v) from count = listed a from count.
Proof.
  intros B. apply map_ext_in. intros k K. apply in_seq in K. unfold put. destruct (Nat.eqb_spec k i); [lia|reflexivity].
Qed.

Lemma listed_length {A} (a : nat -> A) from count : length (listed a from count) = count.
Proof. unfold listed. now rewrite map_length, seq_length. Qed.

Lemma listed_app {A} (a : nat -> A) from n k : listed a from (n + k) = listed a from n ++ listed a (from + n) k.
Proof. unfold listed. now rewrite seq_app, map_app. Qed.

Lemma listed_nth {A} (a : nat -> A) from count k d : (k < count)%nat -> nth k (listed a from count) d = a (from + k)%nat.
Proof.
  intros K. unfold listed. rewrite (nth_indep _ d (a (from + k)%nat)) by now rewrite map_length, seq_length.
  rewrite (map_nth a (seq from count) (from + k)%nat k) at 1. now rewrite seq_nth.
Qed.

(** ** What the checks find *)

Lemma gap_positions_count its : forall first above, Z.of_nat (length (gap_positions first its above)) = gaps its above.
Proof.
  induction its as [|it r IH]; intros first above; cbn [gap_positions gaps]; [reflexivity|].
  rewrite app_length, Nat2Z.inj_add, IH. destruct (_ =? _); reflexivity.
Qed.

Definition start_of (its : list item) (above : Z) : Z := last (map off its) above.
Lemma start_of_cons it r above : start_of (it :: r) above = start_of r (off it).
Proof. unfold start_of. cbn [map]. destruct (map off r) eqn:E; [reflexivity|]. now rewrite last_of_cons. Qed.
Lemma start_of_app a b : forall above, start_of (a ++ b) above = start_of b (start_of a above).
Proof. induction a as [|x a IH]; intros above; [reflexivity|]. cbn [app]. now rewrite !start_of_cons, IH. Qed.

Lemma start_of_in its : forall above, its = [] \/ exists it, In it its /\ off it = start_of its above.
Proof.
  induction its as [|it r IH]; intros above; [now left|right]. rewrite start_of_cons.
  destruct (IH (off it)) as [->|(x & I & E)]; [exists it|exists x]; (split; [|assumption || reflexivity]); [now left|now right].
Qed.

Lemma gap_positions_app a b : forall first above,
  gap_positions first (a ++ b) above = gap_positions first a above ++ gap_positions (first + length a) b (start_of a above).
Proof.
  induction a as [|x a IH]; intros first above; cbn [app gap_positions length]; [now rewrite Nat.add_0_r|].
  rewrite IH, start_of_cons, <- app_assoc. do 3 f_equal. lia.
Qed.
Lemma overlaps_app a b : forall above, overlaps (a ++ b) above = overlaps a above || overlaps b (start_of a above).
Proof.
  induction a as [|x a IH]; intros above; cbn [app overlaps]; [reflexivity|]. now rewrite IH, start_of_cons, orb_assoc.
Qed.
Lemma lengths_app a b : lengths (a ++ b) = Z.lor (lengths a) (lengths b).
Proof. unfold lengths. induction a as [|x a IH]; cbn [app fold_right]; [reflexivity|]. now rewrite IH, Z.lor_assoc. Qed.
Lemma total_app a b : total (a ++ b) = total a + total b.
Proof. induction a as [|x a IH]; cbn [app total]; [lia|]. rewrite IH. lia. Qed.
Lemma stored_app a b : stored (a ++ b) = stored a ++ stored b.
Proof. apply filter_app. Qed.

(** The numbers of a tuple with storage. *)
Definition a_tuple (it : item) : Prop := 0 <= off it < 32768 /\ 0 < len it <= 32768 /\ len it mod 8 = 0 /\ 0 <= word it < 4294967296.

Lemma word_a_tuple it : 0 <= word it < 4294967296 -> has_storage (word it) = true -> a_tuple it.
Proof.
  intros W S. rewrite has_storage_len in S by lia. apply andb_true_iff in S as [_ S]. apply negb_true_iff, Z.eqb_neq in S.
  unfold a_tuple, off, lp_off. pose proof (maxalign_bounds (lp_len (word it))) as M. fold (len it) in M.
  assert (0 <= lp_len (word it) < 32768) by (unfold lp_len; div_lia).
  assert (0 <= len it <= 32768) by (unfold len, maxalign in *; div_lia).
  repeat split; try lia; div_lia.
Qed.

Definition words_ok (lps : list item) : Prop := Forall (fun it => 0 <= word it < 4294967296) lps.

Lemma stored_tuples lps : words_ok lps -> Forall a_tuple (stored lps).
Proof.
  induction 1 as [|it r W F IH]; cbn; [constructor|]. destruct (has_storage (word it)) eqn:S; [|exact IH].
  constructor; [now apply word_a_tuple|exact IH].
Qed.

Section Bounds.
  Variables pd_upper pd_special : Z.
  Hypothesis bounds : 0 <= pd_upper <= pd_special /\ pd_special <= 8192 /\ pd_special mod 8 = 0.

  (** What [item_ok] says, as a test. *)
  Definition in_bounds_b (it : item) : bool := (pd_upper <=? off it) && (off it mod 8 =? 0) && (stop it <=? pd_special).

  (** As long as no fault was found, the last tuple starts where the next one may end. *)
  Definition sound (f : findings) : Prop :=
    0 <= last_off f < 32768 /\ (high 29 (bad f) = false -> last_off f mod 8 = 0 /\ last_off f <= pd_special).

  (** From [f] to [g] by checking these tuples, the first of which is the [first]-th. *)
  Record checked (first : nat) (its : list item) (f g : findings) : Prop := {
    c_last : last_off g = start_of its (last_off f);
    c_lengths : lengths_or g = Z.lor (lengths_or f) (lengths its);
    c_gaps : listed (gap_at g) 0 (ngaps g) = listed (gap_at f) 0 (ngaps f) ++ gap_positions first its (last_off f);
    c_overlap : high 31 (overlapping g) = high 31 (overlapping f) || overlaps its (last_off f);
    c_bad : sound f -> sound g /\ high 29 (bad g) = high 29 (bad f) || negb (forallb in_bounds_b its) }.

  Lemma checked_none first f : checked first [] f f.
  Proof.
    split; cbn; rewrite ?app_nil_r, ?orb_false_r, ?Z.lor_0_r; auto.
  Qed.

  Lemma checked_app first a b f g h : checked first a f g -> checked (first + length a) b g h -> checked first (a ++ b) f h.
  Proof.
    intros [A1 A2 A3 A4 A5] [B1 B2 B3 B4 B5]. split.
    - now rewrite B1, A1, start_of_app.
    - now rewrite B2, A2, lengths_app, Z.lor_assoc.
    - now rewrite B3, A3, A1, gap_positions_app, app_assoc.
    - now rewrite B4, A4, A1, overlaps_app, orb_assoc.
    - intros S. destruct (A5 S) as [S' A]. destruct (B5 S') as [S'' B]. split; [exact S''|].
      now rewrite B, A, forallb_app, negb_andb, orb_assoc.
  Qed.

  Lemma check_tuple_checks i it f : a_tuple it -> sound f -> checked i [it] f (check_tuple pd_upper pd_special i (off it) (len it) f).
  Proof.
    intros (O & L & A & _) S. split; cbn [check_tuple last_off lengths_or gap_at ngaps overlapping bad].
    - reflexivity.
    - cbn. now rewrite Z.lor_0_r.
    - cbn [gap_positions]. unfold stop. rewrite app_nil_r. destruct (Z.eqb_spec (off it + len it) (last_off f)).
      + rewrite listed_put_beyond by lia. now rewrite app_nil_r.
      + change (ngaps f) with (0 + ngaps f)%nat at 1. apply listed_put_end.
    - rewrite high_lor, high_minus by (destruct S; lia). cbn [overlaps]. now rewrite orb_false_r.
    - intros _. rewrite !high_lor, !high_minus, high_low_bits by lia. cbn [forallb]. rewrite andb_true_r. unfold in_bounds_b, stop.
      assert (E : (off it <? pd_upper) || (pd_special <? off it + len it) || negb (off it mod 8 =? 0) =
                  negb ((pd_upper <=? off it) && (off it mod 8 =? 0) && (off it + len it <=? pd_special))).
      { destruct (Z.ltb_spec (off it) pd_upper), (Z.ltb_spec pd_special (off it + len it)), (Z.leb_spec pd_upper (off it)),
          (Z.leb_spec (off it + len it) pd_special), (off it mod 8 =? 0); try reflexivity; lia. }
      rewrite E. split; [|reflexivity]. unfold sound. cbn [check_tuple last_off bad]. split; [lia|].
      rewrite !high_lor, !high_minus, high_low_bits by lia. rewrite E, orb_false_iff, negb_false_iff.
      intros (_ & B). rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq in B. lia.
  Qed.

  Lemma continue_run_checks i it f : a_tuple it -> sound f -> stop it = last_off f ->
    checked i [it] f (continue_run pd_upper (off it) (len it) f).
  Proof.
    intros (O & L & A & _) [S1 S2] E. split; cbn [continue_run last_off lengths_or gap_at ngaps overlapping bad].
    - reflexivity.
    - cbn. now rewrite Z.lor_0_r.
    - cbn [gap_positions]. destruct (Z.eqb_spec (stop it) (last_off f)); [|lia]. now rewrite app_nil_r.
    - cbn [overlaps]. destruct (Z.ltb_spec (last_off f) (stop it)); [lia|]. now rewrite !orb_false_r.
    - intros _. unfold sound. cbn [continue_run last_off bad]. rewrite high_lor, high_minus by lia. cbn [forallb]. rewrite andb_true_r.
      unfold in_bounds_b. unfold stop in *. destruct (high 29 (bad f)); cbn [orb]; [split; [split; [lia|discriminate]|reflexivity]|].
      destruct (S2 eq_refl) as [M B]. split; [split; [lia|intros _; split; [div_lia|lia]]|].
      destruct (Z.ltb_spec (off it) pd_upper), (Z.leb_spec pd_upper (off it)); try reflexivity; try lia.
      destruct (Z.eqb_spec (off it mod 8) 0); [|div_lia]. destruct (Z.leb_spec (off it + len it) pd_special); [reflexivity|lia].
  Qed.

  Lemma check_gathered_checks its : Forall a_tuple its -> forall t i f, sound f -> listed t i (length its) = map pack_tuple its ->
    checked i its f (check_gathered pd_upper pd_special t i (length its) f).
  Proof.
    induction 1 as [|it r T F IH]; intros t i f S E; [apply checked_none|].
    cbn [length] in *. unfold listed in E. cbn [seq map] in E. injection E as E1 E2. cbn [check_gathered]. rewrite E1.
    destruct (pack_unpack (off it) (len it)) as [P Q]; [destruct T; lia..|]. fold (pack_tuple it) in P, Q. rewrite P, Q.
    change (it :: r) with ([it] ++ r). pose proof (check_tuple_checks i it f T S) as C.
    apply checked_app with (g := check_tuple pd_upper pd_special i (off it) (len it) f); [exact C|].
    cbn [length]. rewrite Nat.add_1_r. apply IH; [|exact E2]. now apply (c_bad _ _ _ _ C).
  Qed.

  (** *** What is gathered *)

  (** The line pointers to be, of these line pointers, [upper] being where the first tuple of them must end; in 32 bits. *)
  Fixpoint words_of (lps : list item) (upper : Z) : list Z :=
    match lps with
    | [] => []
    | it :: r =>
        if has_storage (word it) then u32 (word it + u32 (u32 (upper - len it) - off it)) :: words_of r (u32 (upper - len it))
        else (if is_used (word it) then word it else 0) :: words_of r upper
    end.
  Fixpoint end_of (lps : list item) (upper : Z) : Z :=
    match lps with [] => upper | it :: r => end_of r (if has_storage (word it) then u32 (upper - len it) else upper) end.

  Lemma words_of_app a b : forall upper, words_of (a ++ b) upper = words_of a upper ++ words_of b (end_of a upper).
  Proof.
    induction a as [|it a IH]; intros u; cbn [app words_of end_of]; [reflexivity|]. destruct (has_storage _); cbn [app]; now rewrite IH.
  Qed.
  Lemma end_of_app a b : forall upper, end_of (a ++ b) upper = end_of b (end_of a upper).
  Proof. induction a as [|it a IH]; intros u; cbn [app end_of]; auto. Qed.
  Lemma end_of_total lps : forall upper, u32 (end_of lps upper) = u32 (upper - total (stored lps)).
  Proof.
    induction lps as [|it r IH]; intros u; cbn [end_of stored filter]; [cbn; now rewrite Z.sub_0_r|]. rewrite IH. fold (stored r).
    destruct (has_storage _); [|reflexivity]. cbn [total]. rewrite u32_u32. f_equal. lia.
  Qed.

  Definition bare (it : item) : bool := is_used (word it) && negb (has_storage (word it)).
  Definition nbare_of (lps : list item) : nat := length (filter bare lps).

  (** From [p] to [q] by these line pointers, the first of which has the index [i]. *)
  Record gathered (i : nat) (lps : list item) (p q : progress) : Prop := {
    g_before : forall k, (k < i)%nat -> words q k = words p k;
    g_words : listed (words q) i (length lps) = words_of lps (upper p);
    g_upper : upper q = end_of lps (upper p);
    g_tuples : listed (tuples q) 0 (nitems q) = listed (tuples p) 0 (nitems p) ++ map pack_tuple (stored lps);
    g_nbare : nbare q = (nbare p + nbare_of lps)%nat }.

  Lemma g_nitems i lps p q : gathered i lps p q -> nitems q = (nitems p + length (stored lps))%nat.
  Proof.
    intros G. apply g_tuples in G. apply (f_equal (@length Z)) in G. now rewrite app_length, !listed_length, map_length in G.
  Qed.

  Lemma gathered_none i p : gathered i [] p p.
  Proof. split; cbn; rewrite ?app_nil_r; auto. Qed.

  Lemma gathered_app i a b p q r : gathered i a p q -> gathered (i + length a) b q r -> gathered i (a ++ b) p r.
  Proof.
    intros [A1 A2 A3 A4 A5] [B1 B2 B3 B4 B5]. split.
    - intros k K. rewrite B1 by lia. now apply A1.
    - rewrite app_length, listed_app, B2, A3, words_of_app. f_equal. rewrite <- A2. apply map_ext_in.
      intros k K. apply in_seq in K. apply B1. lia.
    - now rewrite B3, A3, end_of_app.
    - now rewrite B4, A4, stored_app, map_app, app_assoc.
    - rewrite B5, A5. unfold nbare_of. rewrite filter_app, app_length. lia.
  Qed.

  Lemma nothing_stored_here it : has_storage (word it) = false -> stored [it] = [].
  Proof. intros S. cbn. now rewrite S. Qed.

  (** One line pointer with storage, and one without, by whichever loop. *)
  Lemma gathered_stored i it p g : has_storage (word it) = true ->
    gathered i [it] p (Progress (put (words p) i (u32 (word it + u32 (u32 (upper p - len it) - off it))))
      (put (tuples p) (nitems p) (pack_tuple it)) (u32 (upper p - len it)) (S (nitems p)) (nbare p) g).
  Proof.
    intros S. split; cbn [words tuples upper nitems nbare length words_of end_of stored filter map]; rewrite ?S.
    - intros k K. unfold put. destruct (Nat.eqb_spec k i); [lia|reflexivity].
    - unfold listed, put. cbn. now rewrite Nat.eqb_refl.
    - reflexivity.
    - change (nitems p) with (0 + nitems p)%nat at 1. apply listed_put_end.
    - unfold nbare_of, bare. cbn. rewrite S, andb_false_r. cbn. lia.
  Qed.

  Lemma gathered_bare i it p t g : has_storage (word it) = false -> listed t 0 (nitems p) = listed (tuples p) 0 (nitems p) ->
    gathered i [it] p (Progress (put (words p) i (if is_used (word it) then word it else 0)) t (upper p) (nitems p)
      (if is_used (word it) then S (nbare p) else nbare p) g).
  Proof.
    intros S T. split; cbn [words tuples upper nitems nbare length words_of end_of stored filter map]; rewrite ?S.
    - intros k K. unfold put. destruct (Nat.eqb_spec k i); [lia|reflexivity].
    - unfold listed, put. cbn. now rewrite Nat.eqb_refl.
    - reflexivity.
    - cbn. now rewrite app_nil_r.
    - unfold nbare_of, bare. cbn. rewrite S. destruct (is_used _); cbn; lia.
  Qed.

  Lemma without_branches_gathers lps : words_ok lps -> forall i p, 0 <= upper p < 4294967296 ->
    gathered i lps p (without_branches lps i p).
  Proof.
    induction 1 as [|it r W F IH]; intros i p U; [apply gathered_none|].
    cbn [without_branches]. assert (0 <= len it <= 32768 /\ 0 <= off it < 32768) as [L O].
    { unfold len, maxalign, off, lp_off. assert (0 <= lp_len (word it) < 32768) by (unfold lp_len; div_lia). split; div_lia. }
    assert (M : forall x, 0 <= u32 x < 4294967296) by (intros; apply Z.mod_pos_bound; lia).
    rewrite !mask_says by (auto; lia). change (it :: r) with ([it] ++ r).
    eapply gathered_app; [|cbn [length]; rewrite Nat.add_1_r; apply IH; apply M].
    pose proof (has_storage_len it ltac:(lia)) as H.
    destruct (is_used (word it)) eqn:Used; cbn [andb] in H; [destruct (len it =? 0) eqn:Z0; cbn [negb] in H|].
    - apply Z.eqb_eq in Z0. rewrite Z0. cbn [Z.eqb negb Nat.b2n Nat.sub]. rewrite Z.add_0_r, Z.sub_0_r, !u32_small by lia.
      pose proof (gathered_bare i it p (put (tuples p) (nitems p) (Z.lor (off it) (Z.shiftl 0 16))) (garbage p) H
        (listed_put_beyond (tuples p) (nitems p) 0 (nitems p) _ (le_n _))) as G. rewrite Used in G. now rewrite Nat.add_1_r.
    - cbn [negb Nat.b2n Nat.sub]. rewrite Nat.add_0_r. now apply gathered_stored.
    - cbn [Z.eqb negb Nat.b2n Nat.sub]. rewrite Nat.add_0_r, Z.sub_0_r, !u32_small by lia.
      pose proof (gathered_bare i it p (put (tuples p) (nitems p) (Z.lor (off it) (Z.shiftl 0 16))) (garbage p) H
        (listed_put_beyond (tuples p) (nitems p) 0 (nitems p) _ (le_n _))) as G. now rewrite Used in G.
  Qed.

  (** The unused ones are zero already. *)
  Definition no_garbage (lps : list item) : Prop := forall it, In it lps -> is_used (word it) = false -> word it = 0.

  Lemma with_branches_scans lps : words_ok lps -> forall i without p f, 0 <= upper p < 4294967296 -> sound f ->
    exists done rest j q g, with_branches pd_upper pd_special lps i without p f = (rest, j, q, g) /\ lps = done ++ rest /\
      j = (i + length done)%nat /\ gathered i done p q /\ checked (nitems p) (stored done) f g /\
      0 <= upper q < 4294967296 /\ (garbage q = 0 -> garbage p = 0 /\ no_garbage done).
  Proof.
    assert (M : forall x, 0 <= u32 x < 4294967296) by (intros; apply Z.mod_pos_bound; lia).
    induction 1 as [|it r W F IH]; intros i without p f U So.
    - exists [], [], i, p, f. cbn [with_branches length stored filter app]. split; [reflexivity|]. split; [reflexivity|]. split; [lia|].
      split; [apply gathered_none|]. split; [apply checked_none|]. split; [exact U|]. intros Z. split; [exact Z|easy].
    - cbn [with_branches]. pose proof (has_storage_len it ltac:(lia)) as H.
      destruct (is_used (word it) && negb (len it =? 0)) eqn:E.
      + set (p1 := Progress _ _ _ _ _ _). set (f1 := if _ =? _ then _ else _).
        assert (T : a_tuple it) by now apply word_a_tuple.
        assert (C : checked (nitems p) [it] f f1).
        { subst f1. destruct (Z.eqb_spec (off it + len it) (last_off f)).
          - now apply continue_run_checks.
          - now apply check_tuple_checks. }
        assert (G : gathered i [it] p p1) by now apply gathered_stored.
        destruct (IH (S i) without p1 f1) as (done & rest & j & q & g & R & -> & J & G' & C' & U' & B);
          [apply M|now apply (c_bad _ _ _ _ C)|].
        exists (it :: done), rest, j, q, g. split; [exact R|]. split; [reflexivity|]. cbn [length]. split; [lia|].
        split; [|split; [|split; [exact U'|]]].
        * change (it :: done) with ([it] ++ done). eapply gathered_app; [exact G|]. cbn [length]. now rewrite Nat.add_1_r.
        * assert (stored (it :: done) = [it] ++ stored done) as -> by (cbn; now rewrite H).
          eapply checked_app; [exact C|]. cbn [length]. now rewrite Nat.add_1_r.
        * intros Z. destruct (B Z) as [B1 B2]. split; [exact B1|]. intros x [<-|X] D; [|now apply B2].
          apply andb_true_iff in E as [E _]. congruence.
      + set (p1 := Progress _ _ _ _ _ _).
        assert (G : gathered i [it] p p1) by now apply gathered_bare.
        assert (Z1 : garbage p1 = 0 -> garbage p = 0 /\ (is_used (word it) = false -> word it = 0)).
        { cbn. rewrite Z.lor_eq_0_iff. intros [A B]. split; [exact A|]. intros D. now rewrite D in B. }
        destruct (_ <? _)%nat.
        * exists [it], r, (S i), p1, f. split; [reflexivity|]. split; [reflexivity|]. cbn [length]. split; [lia|].
          split; [exact G|]. rewrite nothing_stored_here by exact H. split; [apply checked_none|]. split; [exact U|].
          intros Z. destruct (Z1 Z). split; [assumption|]. intros x [<-|[]]. assumption.
        * destruct (IH (S i) (S without) p1 f) as (done & rest & j & q & g & R & -> & J & G' & C' & U' & B); [exact U|exact So|].
          exists (it :: done), rest, j, q, g. split; [exact R|]. split; [reflexivity|]. cbn [length]. split; [lia|].
          split; [|split; [|split; [exact U'|]]].
          -- change (it :: done) with ([it] ++ done). eapply gathered_app; [exact G|]. cbn [length]. now rewrite Nat.add_1_r.
          -- assert (stored (it :: done) = stored done) as -> by (cbn; now rewrite H). exact C'.
          -- intros Z. destruct (B Z) as [B1 B2]. destruct (Z1 B1). split; [assumption|].
             intros x [<-|X] D; [auto|now apply B2].
  Qed.

  (** *** Tuples in place *)

  (** They have storage, each ends where the one before starts, and the first one at [upper]. *)
  Fixpoint in_place_from (lps : list item) (upper : Z) : Prop :=
    match lps with [] => True | it :: r => has_storage (word it) = true /\ stop it = upper /\ in_place_from r (off it) end.

  Lemma pass_in_place_passes lps : words_ok lps -> forall i t lengths upper, exists done rest t',
    pass_in_place lps i t lengths upper =
      (rest, (i + length done)%nat, t', Z.lor lengths (Choice.lengths done), start_of done upper) /\
    lps = done ++ rest /\ in_place_from done upper /\ listed t' 0 (i + length done) = listed t 0 i ++ map pack_tuple done /\
    match rest with [] => True | it :: _ => has_storage (word it) = true -> stop it <> start_of done upper end.
  Proof.
    induction 1 as [|it r W F IH]; intros i t lengths upper.
    - exists [], [], t. cbn [pass_in_place length map]. rewrite Nat.add_0_r. unfold Choice.lengths. cbn [fold_right].
      rewrite Z.lor_0_r. repeat split. symmetry. apply app_nil_r.
    - cbn [pass_in_place]. pose proof (has_storage_len it ltac:(lia)) as H.
      destruct (negb (is_used (word it)) || (len it =? 0) || negb (off it + len it =? upper)) eqn:E.
      + exists [], (it :: r), t. cbn [length map]. rewrite Nat.add_0_r. unfold Choice.lengths. cbn [fold_right].
        rewrite Z.lor_0_r. repeat split; [symmetry; apply app_nil_r|]. intros S. rewrite S in H. symmetry in H. apply andb_true_iff in H as [H1 H2].
        rewrite H1 in E. apply negb_true_iff in H2. rewrite H2 in E. cbn [negb orb] in E. apply negb_true_iff, Z.eqb_neq in E. exact E.
      + apply orb_false_iff in E as [E E3]. apply orb_false_iff in E as [E1 E2]. apply negb_false_iff in E1, E3. apply Z.eqb_eq in E3.
        rewrite E1, E2 in H. cbn [negb andb] in H.
        destruct (IH (S i) (put t i (pack_tuple it)) (Z.lor lengths (len it)) (off it)) as (done & rest & t' & R & -> & P & L & Q).
        exists (it :: done), rest, t'. cbn [length]. rewrite R, start_of_cons. split; [|split; [reflexivity|split; [|split; [|exact Q]]]].
        * rewrite Nat.add_succ_r. unfold Choice.lengths. cbn [fold_right]. now rewrite Z.lor_assoc.
        * cbn [in_place_from]. auto.
        * rewrite Nat.add_succ_r. rewrite <- Nat.add_succ_l, L. change i with (0 + i)%nat at 1. rewrite listed_put_end, <- app_assoc. reflexivity.
  Qed.

  Lemma in_place_stored lps : forall upper, in_place_from lps upper -> stored lps = lps.
  Proof. induction lps as [|it r IH]; intros u; cbn; [reflexivity|]. intros (S & _ & P). rewrite S. f_equal. eauto. Qed.

  Lemma in_place_low its : Forall a_tuple its -> forall upper, in_place_from its upper -> 
    0 <= upper < 32768 -> 0 <= start_of its upper <= upper /\ Forall (fun it => start_of its upper <= off it) its.
  Proof.
    induction 1 as [|it r (O & L & A & _) F IH]; intros upper P U; [cbn; split; [lia|constructor]|].
    destruct P as (S & E & P). rewrite start_of_cons. unfold stop in E. destruct (IH (off it) P ltac:(lia)) as [B C].
    split; [lia|]. constructor; [lia|exact C].
  Qed.

  Lemma in_place_checked its : Forall a_tuple its -> in_place_from its pd_special ->
    checked 0 its (Findings 0 0 0 (fun _ => O) 0 pd_special)
      (Findings (u32 (start_of its pd_special - pd_upper)) 0 (Choice.lengths its) (fun _ => O) 0 (start_of its pd_special)).
  Proof.
    intros F P. assert (G : forall its, forall up k, in_place_from its up -> gap_positions k its up = [] /\ overlaps its up = false).
    { clear. induction its as [|it r IH]; intros up k; cbn; [auto|]. intros (_ & E & P). rewrite E, Z.eqb_refl, Z.ltb_irrefl. cbn. auto. }
    destruct (G its pd_special 0%nat P) as [G1 G2]. destruct (in_place_low its F pd_special P ltac:(lia)) as [B C].
    assert (A : forall its, Forall a_tuple its -> forall up, in_place_from its up -> up mod 8 = 0 -> up <= pd_special ->
      start_of its up mod 8 = 0 /\ Forall (fun it => off it mod 8 = 0 /\ stop it <= pd_special) its).
    { clear. induction 1 as [|it r (O & L & A & _) F IH]; intros up P M U; [cbn; auto|]. destruct P as (S & E & P).
      rewrite start_of_cons. unfold stop in E. assert (off it mod 8 = 0) by div_lia. destruct (IH (off it) P H ltac:(lia)) as [X Y].
      split; [exact X|]. constructor; [|exact Y]. unfold stop. lia. }
    destruct (A its F pd_special P ltac:(lia) ltac:(lia)) as [A1 A2].
    split; cbn [last_off lengths_or gap_at ngaps overlapping bad]; [reflexivity|now rewrite Z.lor_0_l|now rewrite G1|now rewrite G2|].
    intros _. unfold sound. cbn [last_off bad]. split; [split; [lia|intros _; split; [exact A1|lia]]|].
    change (high 29 0) with false. cbn [orb]. rewrite high_minus by lia.
    destruct (Z.ltb_spec (start_of its pd_special) pd_upper) as [Lo|Hi].
    - symmetry. apply negb_true_iff. destruct (forallb in_bounds_b its) eqn:B2; [|reflexivity]. exfalso.
      destruct (start_of_in its pd_special) as [->|(x & I & E)]; [cbn in Lo; lia|]. rewrite forallb_forall in B2.
      specialize (B2 x I). unfold in_bounds_b in B2. rewrite !andb_true_iff, !Z.leb_le in B2. lia.
    - symmetry. apply negb_false_iff, forallb_forall. intros it I. rewrite Forall_forall in A2, C. specialize (A2 it I). specialize (C it I).
      cbn in C. unfold in_bounds_b. rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq. lia.
  Qed.
End Bounds.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The scan of avx2.c finds what the page holds *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Shift Masked Compare Permute Scalar Facts Program ProgramFacts LaneFacts.
From Pgquern.compaction Require Import ScanLanes ScanAvx2Lanes ScanAvx2Round ScanAvx2Loop ScanAvx2Survey.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Decode Pointers Choice Chosen.
From Pgquern.compaction Require Scan ScanFacts Scanned ScannedPage.
From Pgquern.compaction Require ScanAvx2.

(** ** The rounds, to the end *)
Definition start (m : mem) (d : ScanAvx2.dirt) : ScanAvx2.state :=
  ScanAvx2.State (ScanAvx2.old_words d) (fun k => if (k =? 0)%nat then pd_special m else ScanAvx2.old_tuples d k) 1
    (ScanAvx2.set1_epi16 (pd_special m)) ScanAvx2.setzero ScanAvx2.setzero
    (ScanAvx2.Extremes (ScanAvx2.set1_epi16 (-1)) ScanAvx2.setzero ScanAvx2.setzero ScanAvx2.setzero ScanAvx2.setzero) 0 0 0 true.

Lemma known_nothing : known [] (ScanAvx2.Extremes (ScanAvx2.set1_epi16 (-1)) ScanAvx2.setzero ScanAvx2.setzero ScanAvx2.setzero ScanAvx2.setzero).
Proof.
  assert (V : Forall word16 (repeat 65535 16)) by (repeat constructor; unfold word16; cbn; lia).
  assert (Z16 : Forall word16 (repeat 0 16)) by (repeat constructor; unfold word16; cbn; lia).
  split.
  - exists (repeat 65535 16). split; [reflexivity|]. split; [reflexivity|]. split; [exact V|reflexivity].
  - exists (repeat 0 16). split; [reflexivity|]. split; [reflexivity|]. split; [exact Z16|reflexivity].
  - exists (repeat 0 16). split; [reflexivity|]. split; reflexivity.
  - exists (repeat 0 16). split; [reflexivity|]. split; [reflexivity|]. split; [exact Z16|reflexivity].
  - exists (repeat 0 8). split; [reflexivity|]. split; reflexivity.
Qed.

Lemma start_gathers m d : gathered (pd_special m) [] (start m d).
Proof.
  split; try reflexivity; [|exact known_nothing]. cbn [ScanAvx2.base start]. unfold lengths_sum. cbn [map sum fold_right]. rewrite Z.sub_0_r. reflexivity.
Qed.

Lemma lanes_from_app m n a b c : lanes_from m n a (b + c) = lanes_from m n a b ++ lanes_from m n (a + b) c.
Proof. unfold lanes_from. now rewrite seq_app, map_app. Qed.
Lemma lanes_from_length m n a b : length (lanes_from m n a b) = b.
Proof. unfold lanes_from. now rewrite map_length, seq_length. Qed.

Section Page.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis header : header_ok m.
  Hypothesis room : pd_lower m + 4 * ScanAvx2.LANES <= BLCKSZ.

  Let n := nline m.
  Let special := pd_special m.

  Lemma n_in_range : 0 <= n <= 2042.
  Proof. exact (Scanned.nline_small m header). Qed.
  Lemma n_small : 0 <= n <= 2042 /\ HEADER_SIZE + 4 * n + 64 <= BLCKSZ.
  Proof.
    pose proof n_in_range as A. pose proof (nline_bounds m header) as [_ B]. unfold ScanAvx2.LANES in *. fold n in B. lia.
  Qed.

  Lemma all_sound from count : HEADER_SIZE + 4 * Z.of_nat (from + count) <= BLCKSZ -> sound_lanes (lanes_from m n from count).
  Proof.
    intros B. unfold HEADER_SIZE, BLCKSZ in *. apply Forall_map, Forall_forall. intros k K. apply in_seq in K. cbn [lane_at snd].
    apply read32_range. intros j J. apply page_m. unfold HEADER_SIZE, BLCKSZ in *. lia.
  Qed.

  Lemma rounds_gather fuel : forall done s, Z.of_nat (16 * done) < n + 16 -> n <= Z.of_nat (16 * done + fuel) ->
    gathered special (lanes_from m n 0 (16 * done)) s ->
    exists done', n <= Z.of_nat (16 * done') < n + 16 /\ gathered special (lanes_from m n 0 (16 * done')) (ScanAvx2.rounds fuel m n (Z.of_nat (16 * done)) s).
  Proof.
    pose proof n_small as [N R]. unfold HEADER_SIZE, BLCKSZ in R.
    induction fuel as [|fuel IH]; intros done s U F G.
    - exists done. split; [lia|exact G].
    - cbn [ScanAvx2.rounds]. destruct (Z.ltb_spec (Z.of_nat (16 * done)) n) as [L|L]; [|exists done; split; [lia|exact G]].
      pose proof (lanes_from_length m n 0 (16 * done)) as Le.
      destruct (round_gathers m n special (lanes_from m n 0 (16 * done)) s) as (_ & G' & _); try assumption.
      + rewrite Le. exact L.
      + rewrite Le. unfold HEADER_SIZE, BLCKSZ. lia.
      + apply all_sound. unfold HEADER_SIZE, BLCKSZ. lia.
      + rewrite Le in G'. change (lanes_from m n (16 * done) 16) with (lanes_from m n (0 + 16 * done) 16) in G'.
        rewrite <- lanes_from_app in G'. replace (16 * done + 16)%nat with (16 * S done)%nat in G' by lia.
        replace (Z.of_nat (16 * done) + ScanAvx2.LANES) with (Z.of_nat (16 * S done)) by (unfold ScanAvx2.LANES; lia).
        apply IH; [lia|lia|exact G'].
  Qed.

  Lemma all_rounds d : exists count, n <= Z.of_nat count < n + 16 /\
    gathered special (lanes_from m n 0 count) (ScanAvx2.rounds (Z.to_nat n) m n 0 (start m d)).
  Proof.
    pose proof n_small as [N _]. destruct (rounds_gather (Z.to_nat n) 0 (start m d)) as (k & K & G); [lia|lia|exact (start_gathers m d)|].
    exists (16 * k)%nat. auto.
  Qed.

  (** At most 16 line pointers: the registers of the only round, if there is one. *)
  Lemma few_rounds d : n <= 16 -> exists l, length l = 16%nat /\ sound_lanes l /\ last_round l (ScanAvx2.rounds (Z.to_nat n) m n 0 (start m d)) /\
    gathered special l (ScanAvx2.rounds (Z.to_nat n) m n 0 (start m d)) \/
    n = 0 /\ ScanAvx2.rounds (Z.to_nat n) m n 0 (start m d) = start m d.
  Proof.
    intros F. pose proof n_small as [N R]. unfold HEADER_SIZE, BLCKSZ in R. destruct (Z.eq_dec n 0) as [E|E].
    - exists []. right. split; [exact E|]. now rewrite E.
    - exists (lanes_from m n 0 16). left. split; [reflexivity|].
      destruct (round_gathers m n special [] (start m d)) as (S & G & L); try assumption.
      + cbn [length]. lia.
      + unfold HEADER_SIZE, BLCKSZ. cbn [length]. lia.
      + constructor.
      + exact (start_gathers m d).
      + cbn [length app] in *. split; [exact S|]. change (Z.of_nat 0) with 0 in *.
        destruct (Z.to_nat n) as [|fuel] eqn:T; [lia|]. cbn [ScanAvx2.rounds]. destruct (Z.ltb_spec 0 n); [|lia].
        assert (Q : ScanAvx2.rounds fuel m n (0 + ScanAvx2.LANES) (ScanAvx2.round m n 0 (start m d)) = ScanAvx2.round m n 0 (start m d)).
        { destruct fuel; [reflexivity|]. cbn [ScanAvx2.rounds]. unfold ScanAvx2.LANES. destruct (Z.ltb_spec (0 + 16) n); [lia|reflexivity]. }
        rewrite Q. split; assumption.
  Qed.

  (** ** The lanes are the line pointers *)
  Definition there (it : item) : lane := (true, word it).

  Lemma pointers_from count : forall first, 0 <= first ->
    line_pointers_from m (first + 1) count = map (fun k => Item (Z.of_nat k + 1) (read32 m (HEADER_SIZE + 4 * Z.of_nat k))) (seq (Z.to_nat first) count).
  Proof.
    induction count as [|count IH]; intros first F; [reflexivity|]. cbn [line_pointers_from seq map]. rewrite Z2Nat.id by exact F. f_equal.
    - f_equal. unfold lp_word, lp_address. f_equal. lia.
    - rewrite (IH (first + 1)) by lia. rewrite Z2Nat.inj_add, Nat.add_1_r by lia. reflexivity.
  Qed.

  Lemma lanes_are count : n <= Z.of_nat count ->
    lanes_from m n 0 count = map there (line_pointers m) ++ map (lane_at m n) (seq (Z.to_nat n) (count - Z.to_nat n)).
  Proof.
    intros C. pose proof n_in_range as N. unfold lanes_from. replace count with (Z.to_nat n + (count - Z.to_nat n))%nat at 1 by lia.
    rewrite seq_app, map_app. f_equal. unfold line_pointers. fold n. pose proof (pointers_from (Z.to_nat n) 0 ltac:(lia)) as Pf. change (0 + 1) with 1 in Pf. rewrite Pf, map_map. apply map_ext_in.
    intros k K. apply in_seq in K. unfold lane_at, there. cbn [word]. f_equal. apply Z.ltb_lt. lia.
  Qed.

  (** A number of the lanes that are not there does not count. *)
  Definition absent (l : list lane) : Prop := Forall (fun x => fst x = false) l.
  Lemma rest_absent count : absent (map (lane_at m n) (seq (Z.to_nat n) count)).
  Proof. apply Forall_map, Forall_forall. intros k K. apply in_seq in K. cbn [lane_at fst]. apply Z.ltb_ge. pose proof n_in_range. lia. Qed.

  Lemma absent_kept l : absent l -> filter kept l = [] /\ map used l = repeat false (length l) /\ map len_of l = repeat 0 (length l).
  Proof.
    induction 1 as [|x l F A (IH1 & IH2 & IH3)]; [auto|].
    assert (K : kept x = false) by (unfold kept; now rewrite F). assert (U : used x = false) by (unfold used; now rewrite F).
    assert (Le : len_of x = 0) by (unfold len_of; now rewrite K). cbn [filter map length repeat]. rewrite K, U, Le, IH1, IH2, IH3. auto.
  Qed.

  Lemma kept_items its : filter kept (map there its) = map there (filter (fun it => has_storage (word it)) its).
  Proof.
    induction its as [|it r IH]; [reflexivity|]. cbn [map filter]. change (kept (there it)) with (has_storage (word it)). destruct (has_storage _); cbn [map]; now rewrite IH.
  Qed.

  Variable count : nat.
  Hypothesis enough : n <= Z.of_nat count.
  Let l := lanes_from m n 0 count.

  Lemma l_kept : filter kept l = map there (items m).
  Proof.
    unfold l. rewrite lanes_are by exact enough. rewrite filter_app, kept_items. destruct (absent_kept _ (rest_absent (count - Z.to_nat n))) as (E & _).
    rewrite E, app_nil_r. reflexivity.
  Qed.

  Lemma kept_there it : In it (items m) -> kept (there it) = true.
  Proof. intros I. unfold items in I. apply filter_In in I as [_ S]. exact S. Qed.

  Lemma l_tuples : map tuple_of (filter kept l) = map (fun it => off it + 65536 * len it) (items m).
  Proof.
    rewrite l_kept, map_map. apply map_ext_in. intros it I. unfold tuple_of, off_of, len_of. rewrite (kept_there it I). reflexivity.
  Qed.

  Lemma l_count : kept_count l = length (items m).
  Proof. unfold kept_count. rewrite l_kept. apply map_length. Qed.

  Lemma l_used_lanes : map used l = map (fun it => is_used (word it)) (line_pointers m) ++ repeat false (count - Z.to_nat n).
  Proof.
    unfold l. rewrite lanes_are, map_app, map_map by exact enough. f_equal.
    destruct (absent_kept _ (rest_absent (count - Z.to_nat n))) as (_ & E & _). rewrite E. f_equal. rewrite map_length. apply seq_length.
  Qed.

  Lemma l_nused : Scalar.count (map used l) = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m))).
  Proof.
    rewrite l_used_lanes, count_app, count_false, Z.add_0_r. rewrite (count_selected _ (line_pointers m)) by apply map_length. f_equal. f_equal.
    generalize (line_pointers m). clear. induction l as [|it r IH]; [reflexivity|]. cbn [map selected filter]. rewrite IH. now destruct (is_used _).
  Qed.

  Lemma last_set_nothing k : last_set (repeat false k) = 0.
  Proof. induction k as [|k IH]; [reflexivity|]. cbn [repeat last_set]. now rewrite IH. Qed.

  Lemma l_left : last_set (map used l) = last_used (line_pointers m).
  Proof.
    rewrite l_used_lanes, last_set_app, last_set_nothing. cbn [Z.eqb]. unfold last_used, line_pointers.
    assert (G : forall k first acc, fold_left (fun last it => if is_used (word it) then number it else last) (line_pointers_from m first k) acc =
      (let s := last_set (map (fun it => is_used (word it)) (line_pointers_from m first k)) in if s =? 0 then acc else first - 1 + s)).
    { induction k as [|k IH]; intros first acc; [reflexivity|]. cbn [line_pointers_from fold_left map last_set word number]. rewrite IH. cbv zeta.
      set (s := last_set (map (fun it => is_used (word it)) (line_pointers_from m (first + 1) k))).
      pose proof (last_set_bounds (map (fun it => is_used (word it)) (line_pointers_from m (first + 1) k))) as B. fold s in B.
      destruct (Z.eqb_spec s 0) as [E|E].
      - destruct (is_used _); cbn [Z.b2z]; [change (1 =? 0) with false|change (0 =? 0) with true]; cbv iota; lia.
      - destruct (Z.eqb_spec (1 + s) 0); lia. }
    rewrite G. cbv zeta. set (s := last_set _). destruct (Z.eqb_spec s 0); lia.
  Qed.

  (** Numbers of the tuples, in any order that does not see what is not kept. *)
  Lemma over_kept (f : lane -> Z) (op : Z -> Z -> Z) (e : Z) (ok : Z -> Prop) :
    (forall x, ok x -> op e x = x) -> (forall x, kept x = false -> f x = e) -> ok e -> (forall x r, In x l -> ok r -> ok (op (f x) r)) ->
    fold_right op e (map f l) = fold_right op e (map (fun it => f (there it)) (items m)).
  Proof.
    intros Id Un O Cl. rewrite <- (map_map there f), <- l_kept. revert Cl. generalize l. clear - Id Un O.
    assert (G : forall l', (forall x r, In x l' -> ok r -> ok (op (f x) r)) ->
      fold_right op e (map f l') = fold_right op e (map f (filter kept l')) /\ ok (fold_right op e (map f l'))).
    { induction l' as [|x l' IH]; intros Cl; [split; [reflexivity|exact O]|]. destruct IH as [IH OK]; [intros y r Y; apply Cl; now right|].
      cbn [map fold_right filter]. split; [|apply Cl; [now left|exact OK]]. destruct (kept x) eqn:K; cbn [map fold_right]; [now rewrite IH|].
      rewrite (Un x K), <- IH. now apply Id. }
    intros l' Cl. now apply G.
  Qed.

  Lemma over_any (g : lane -> bool) : (forall x, kept x = false -> g x = false) -> existsb g l = existsb (fun it => g (there it)) (items m).
  Proof.
    intros Un. rewrite <- (existsb_map there g), <- l_kept. generalize l. clear - Un.
    induction l as [|x r IH]; [reflexivity|]. cbn [existsb filter]. destruct (kept x) eqn:K; cbn [existsb]; [now rewrite IH|now rewrite (Un x K)].
  Qed.

  Lemma l_total : lengths_sum l = total (items m).
  Proof.
    unfold lengths_sum, sum. rewrite (over_kept len_of Z.add 0 (fun _ => True)); auto; [|intros x K; unfold len_of; now rewrite K].
    assert (E : map (fun it => len_of (there it)) (items m) = map len (items m)).
    { apply map_ext_in. intros it I. unfold len_of. now rewrite (kept_there it I). }
    rewrite E. clear. generalize (items m). induction l as [|it r IH]; [reflexivity|]. cbn [map fold_right total]. now rewrite IH.
  Qed.

  Lemma l_longest : most (map len_of l) = longest (items m).
  Proof.
    unfold most. rewrite (over_kept len_of Z.max 0 (fun x => 0 <= x)); try lia; [|intros x K; unfold len_of; now rewrite K].
    assert (E : map (fun it => len_of (there it)) (items m) = map len (items m)).
    { apply map_ext_in. intros it I. unfold len_of. now rewrite (kept_there it I). }
    rewrite E. clear. unfold longest. generalize (items m). induction l as [|it r IH]; [reflexivity|]. cbn [map fold_right]. now rewrite IH.
  Qed.

  Lemma l_signed : Forall (fun it => len it < 32768) (items m) -> sum (map (fun x => signed 2 (len_of x)) l) = total (items m).
  Proof.
    intros S. unfold sum. rewrite (over_kept (fun x => signed 2 (len_of x)) Z.add 0 (fun _ => True)); auto; [|intros x K; unfold len_of; now rewrite K].
    assert (E : map (fun it => signed 2 (len_of (there it))) (items m) = map len (items m)).
    { apply map_ext_in. intros it I. unfold len_of. rewrite (kept_there it I). rewrite Forall_forall in S. specialize (S it I).
      change (maxalign (lp_len (snd (there it)))) with (len it). unfold signed. cbn [span].
      destruct (Z.ltb_spec (2 * len it) (256 * (256 * 1))); lia. }
    rewrite E. clear. generalize (items m). induction l as [|it r IH]; [reflexivity|]. cbn [map fold_right total]. now rewrite IH.
  Qed.
End Page.

(** ** The bounds *)
Lemma fewest_below u xs : u <= 65535 -> (fewest xs <? u) = existsb (fun x => x <? u) xs.
Proof.
  intros U. unfold fewest. induction xs as [|x xs IH]; cbn [fold_right existsb]; [apply Z.ltb_ge; lia|]. rewrite <- IH.
  destruct (Z.ltb_spec (Z.min x (fold_right Z.min 65535 xs)) u), (Z.ltb_spec x u), (Z.ltb_spec (fold_right Z.min 65535 xs) u); try reflexivity; lia.
Qed.
Lemma most_above s xs : 0 <= s -> (s <? most xs) = existsb (fun x => s <? x) xs.
Proof.
  intros U. unfold most. induction xs as [|x xs IH]; cbn [fold_right existsb]; [apply Z.ltb_ge; lia|]. rewrite <- IH.
  destruct (Z.ltb_spec s (Z.max x (fold_right Z.max 0 xs))), (Z.ltb_spec s x), (Z.ltb_spec s (fold_right Z.max 0 xs)); try reflexivity; lia.
Qed.
Lemma alls_low xs : negb (Z.land (alls xs) 7 =? 0) = existsb (fun x => negb (Z.land x 7 =? 0)) xs.
Proof.
  unfold alls. induction xs as [|x xs IH]; [reflexivity|]. cbn [fold_right existsb]. rewrite <- IH, Z.land_lor_distr_l.
  destruct (Z.eqb_spec (Z.land x 7) 0) as [A|A], (Z.eqb_spec (Z.land (fold_right Z.lor 0 xs) 7) 0) as [B|B];
    destruct (Z.eqb_spec (Z.lor (Z.land x 7) (Z.land (fold_right Z.lor 0 xs) 7)) 0) as [C|C]; try reflexivity; exfalso;
    rewrite Z.lor_eq_0_iff in C; tauto.
Qed.

Lemma any_or xs ys : length xs = 16%nat -> length ys = 16%nat ->
  ScanAvx2.any (ScanAvx2.or (reg2 xs) (reg2 ys)) = ScanAvx2.any (reg2 xs) || ScanAvx2.any (reg2 ys).
Proof.
  intros Lx Ly. change (ScanAvx2.or (reg2 xs) (reg2 ys)) with (bitwise orb (reg2 xs) (reg2 ys)).
  rewrite (bitwise_lanes orb Z.lor) by (intros; try lia; symmetry; apply Z.lor_spec).
  assert (Lm : length (map2 Z.lor xs ys) = 16%nat) by (rewrite ProgramFacts.map2_length; lia).
  rewrite !any_says by (auto; lia). assert (L : length xs = length ys) by lia. clear - L. revert ys L.
  induction xs as [|x xs IH]; intros [|y ys] L; try discriminate; [reflexivity|]. cbn [map2 existsb]. rewrite IH by (cbn in L; lia).
  assert (E : negb (Z.lor x y mod span 2 =? 0) = negb (x mod span 2 =? 0) || negb (y mod span 2 =? 0)).
  { change (span 2) with (2 ^ 16). rewrite <- !Z.land_ones, Z.land_lor_distr_l by lia.
    destruct (Z.eqb_spec (Z.land x (Z.ones 16)) 0) as [A|A], (Z.eqb_spec (Z.land y (Z.ones 16)) 0) as [B|B];
      destruct (Z.eqb_spec (Z.lor (Z.land x (Z.ones 16)) (Z.land y (Z.ones 16))) 0) as [C|C]; try reflexivity; exfalso;
      rewrite Z.lor_eq_0_iff in C; tauto. }
  rewrite E. destruct (negb (x mod span 2 =? 0)), (negb (y mod span 2 =? 0)), (existsb _ xs); reflexivity.
Qed.

Lemma lxor_zero a b : word16 a -> word16 b -> (Z.lxor a b mod 65536 =? 0) = (a =? b).
Proof.
  unfold word16. intros A B. assert (E : Z.lxor a b mod 65536 = Z.lxor a b).
  { rewrite <- (Z.mod_small a 65536) at 2 by lia. rewrite <- (Z.mod_small b 65536) at 2 by lia. change 65536 with (2 ^ 16).
    rewrite <- !Z.land_ones by lia. apply Z.bits_inj'. intros i I. rewrite Z.lxor_spec, !Z.land_spec, Z.lxor_spec. now destruct (Z.testbit (Z.ones 16) i), (Z.testbit a i), (Z.testbit b i). }
  rewrite E. destruct (Z.eqb_spec a b) as [->|N]; [now rewrite Z.lxor_nilpotent|]. apply Z.eqb_neq. rewrite Z.lxor_eq_0_iff. exact N.
Qed.

Lemma out_of_bounds_is lo en os x upper special : ScanAvx2.lows x = reg2 lo -> ScanAvx2.ends x = reg2 en -> ScanAvx2.offs x = reg2 os ->
  length lo = 16%nat -> length en = 16%nat -> length os = 16%nat -> Forall word16 lo -> Forall word16 en ->
  0 <= upper < 65536 -> 0 <= special < 65536 ->
  ScanAvx2.out_of_bounds x upper special = (fewest lo <? upper) || (special <? most en) || negb (Z.land (alls os) 7 =? 0).
Proof.
  intros Lo En Os Ll Le Ls Vl Ve U S. unfold ScanAvx2.out_of_bounds. cbv zeta. rewrite Lo, En, Os.
  assert (C : forall c l, length l = 16%nat -> ScanAvx2.set1_epi16 c = reg2 (map (fun _ : Z => c) l)).
  { intros c l L. change (ScanAvx2.set1_epi16 c) with (spread 16 (bytes_of 2 c)). now apply constant_lanes. }
  assert (A : forall (f : Z -> Z) l, length l = 16%nat -> ScanAvx2.any (reg2 (map f l)) = existsb (fun x => negb (f x mod 65536 =? 0)) l).
  { intros f l L. rewrite any_says by (rewrite ?map_length; auto; lia). now rewrite existsb_map. }
  assert (Same : forall f g l, (forall x : Z, In x l -> f x = g x) -> existsb f l = existsb g l).
  { intros f g l. clear. induction l as [|y r IH]; intros E; [reflexivity|]. cbn [existsb]. rewrite E by now left. rewrite IH; [reflexivity|]. intros z Z. apply E. now right. }
  assert (X1 : ScanAvx2.xor (Table.intrinsic "_mm256_min_epu16" [reg2 lo; ScanAvx2.set1_epi16 upper]) (ScanAvx2.set1_epi16 upper) =
    reg2 (map (fun x => Z.lxor (Z.min (x mod 65536) (upper mod 65536)) upper) lo)).
  { rewrite !(C upper lo Ll). rewrite <- (map_id lo) at 1.
    change (Table.intrinsic "_mm256_min_epu16" [reg2 (map (fun x => x) lo); reg2 (map (fun _ => upper) lo)]) with
      (min_unsigned 2 (reg2 (map (fun x => x) lo)) (reg2 (map (fun _ => upper) lo))).
    rewrite min_lanes by lia. apply xor_lanes. }
  assert (X2 : ScanAvx2.xor (Table.intrinsic "_mm256_max_epu16" [reg2 en; ScanAvx2.set1_epi16 special]) (ScanAvx2.set1_epi16 special) =
    reg2 (map (fun x => Z.lxor (Z.max (x mod 65536) (special mod 65536)) special) en)).
  { rewrite !(C special en Le). rewrite <- (map_id en) at 1.
    change (Table.intrinsic "_mm256_max_epu16" [reg2 (map (fun x => x) en); reg2 (map (fun _ => special) en)]) with
      (max_unsigned 2 (reg2 (map (fun x => x) en)) (reg2 (map (fun _ => special) en))).
    rewrite max_lanes by lia. apply xor_lanes. }
  assert (X3 : ScanAvx2.and (reg2 os) (ScanAvx2.set1_epi16 7) = reg2 (map (fun x => Z.land x 7) os)).
  { rewrite (C 7 os Ls). rewrite <- (map_id os) at 1. apply and_lanes. }
  rewrite X1, X2, X3.
  set (l1 := map _ lo). set (l2 := map _ en). set (l3 := map _ os).
  assert (L1 : length l1 = 16%nat) by (unfold l1; now rewrite map_length). assert (L2 : length l2 = 16%nat) by (unfold l2; now rewrite map_length).
  assert (L3 : length l3 = 16%nat) by (unfold l3; now rewrite map_length).
  assert (O : ScanAvx2.or (reg2 l1) (reg2 l2) = reg2 (map2 Z.lor l1 l2)).
  { change (ScanAvx2.or (reg2 l1) (reg2 l2)) with (bitwise orb (reg2 l1) (reg2 l2)). apply bitwise_lanes; [|lia]. intros; symmetry; apply Z.lor_spec. }
  rewrite O, any_or by (rewrite ?ProgramFacts.map2_length; lia). rewrite <- O, any_or by assumption. unfold l1, l2, l3. rewrite !A by assumption.
  rewrite fewest_below, most_above, alls_low by lia. f_equal; [f_equal|]; apply Same; intros y Y.
  - rewrite Forall_forall in Vl. specialize (Vl y Y). unfold word16 in Vl. rewrite (Z.mod_small y), (Z.mod_small upper), lxor_zero by (unfold word16; lia).
    destruct (Z.eqb_spec (Z.min y upper) upper), (Z.ltb_spec y upper); try reflexivity; lia.
  - rewrite Forall_forall in Ve. specialize (Ve y Y). unfold word16 in Ve. rewrite (Z.mod_small y), (Z.mod_small special), lxor_zero by (unfold word16; lia).
    destruct (Z.eqb_spec (Z.max y special) special), (Z.ltb_spec special y); try reflexivity; lia.
  - f_equal. f_equal. change 7 with (Z.ones 3). rewrite Z.land_ones by lia. change (2 ^ 3) with 8. div_lia.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * From the scan to the page, without a gap

    What pgq_compaction_scalar makes of its scan are the copies of the way that is proved, the line pointers that change, and the
    header. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Pointers Repair Choice Chosen Scan
  ScanFacts Scanned.

(** ** Where the first tuple is that is not in place *)
Lemma first_gap its : forall k top g gs, gap_positions k its top = g :: gs -> exists done it r,
  its = done ++ it :: r /\ g = (k + length done)%nat /\ skip_in_place its top = (it :: r, start_of done top) /\
  gs = gap_positions (S g) r (off it).
Proof.
  induction its as [|x its IH]; intros k top g gs G; [discriminate|]. cbn [gap_positions skip_in_place] in *.
  destruct (Z.eqb_spec (stop x) top) as [E|E].
  - cbn [app] in G. destruct (IH _ _ _ _ G) as (done & it & r & -> & -> & Sk & Gs). exists (x :: done), it, r.
    cbn [app length]. rewrite start_of_cons. replace (top - len x) with (off x) by (unfold stop in E; lia).
    split; [reflexivity|]. split; [lia|]. split; [exact Sk|]. exact Gs.
  - cbn [app] in G. injection G as <- <-. exists [], x, its. cbn [app length]. rewrite Nat.add_0_r. auto.
Qed.

Section Arrays.
  Variable t : nat -> Z.

  (** [move_runs] by the list of the gaps that are left: [run_end] is where the run of the one before ends. *)
  Fixpoint walk (cp : copier) (run_end upper : Z) (gaps : list nat) : list op :=
    match gaps with
    | [] => []
    | g :: r =>
        let run_start := tuple_off (t (g - 1)%nat) in
        let upper := upper - (run_end - run_start) in
        cp upper run_start (run_end - run_start) :: walk cp (tuple_end (t g)) upper r
    end.

  Lemma move_from_gaps_walks cp count : forall gaps i upper g gs, listed gaps i (S count) = g :: gs ->
    move_from_gaps cp t gaps i count upper = walk cp (tuple_end (t g)) upper gs.
  Proof.
    induction count as [|count IH]; intros gaps i upper g gs L; unfold listed in L; cbn [seq map] in L; injection L as L1 L2.
    - subst. reflexivity.
    - subst gs. cbn [move_from_gaps walk]. rewrite L1. f_equal. apply IH. reflexivity.
  Qed.

  Lemma runs_walk cp : copying cp -> forall r, Forall a_tuple r -> forall k upper run_start run_end,
    listed t k (length r) = map pack_tuple r -> tuple_off (t (k - 1)%nat) = run_start ->
    filter is_copy (runs_from cp r upper run_start run_end) =
    walk cp run_end (upper + (run_end - run_start)) (gap_positions k r run_start ++ [(k + length r)%nat]).
  Proof.
    intros Cp. induction 1 as [|it r T F IH]; intros k upper run_start run_end L O.
    - cbn [runs_from gap_positions length app walk filter]. rewrite Cp, Nat.add_0_r, O.
      replace (upper + (run_end - run_start) - (run_end - run_start)) with upper by lia. reflexivity.
    - unfold listed in L. cbn [length seq map] in L. injection L as L1 L2.
      destruct (pack_unpack (off it) (len it)) as [P Q]; [destruct T; lia..|]. fold (pack_tuple it) in P, Q. rewrite <- L1 in P, Q.
      cbn [runs_from gap_positions]. assert (O' : tuple_off (t (S k - 1)%nat) = off it) by (rewrite Nat.sub_succ, Nat.sub_0_r; exact P).
      replace (k + length (it :: r))%nat with (S k + length r)%nat by (cbn; lia).
      destruct (Z.eqb_spec (stop it) run_start) as [E|E]; cbn [app filter is_copy set_lp_off].
      + rewrite (IH (S k) _ _ _ L2 O'). f_equal. unfold stop in E. lia.
      + rewrite Cp. cbn [filter is_copy set_lp_off walk]. rewrite O, (IH (S k) _ _ _ L2 O').
        replace (upper + (run_end - run_start) - (run_end - run_start)) with upper by lia. f_equal.
        unfold tuple_end. rewrite P, Q. unfold stop. f_equal. lia.
  Qed.

  Lemma gather_walks window r : Forall a_tuple r -> forall k upper, listed t k (length r) = map pack_tuple r ->
    gather_windows t k (length r) upper window = (Algorithms.windows (Some window) r upper, upper - total r).
  Proof.
    induction 1 as [|it r T F IH]; intros k upper L; [cbn; now rewrite Z.sub_0_r|].
    unfold listed in L. cbn [length seq map] in L. injection L as L1 L2.
    destruct (pack_unpack (off it) (len it)) as [P Q]; [destruct T; lia..|]. fold (pack_tuple it) in P, Q. rewrite <- L1 in P, Q.
    cbn [length gather_windows Algorithms.windows width total]. unfold tuple_end. rewrite P, Q, (IH _ _ L2). unfold stop. f_equal. lia.
  Qed.

  Lemma move_each_walks r : Forall a_tuple r -> forall k upper, listed t k (length r) = map pack_tuple r ->
    move_each t k (length r) upper = filter is_copy (singles Restore r upper).
  Proof.
    induction 1 as [|it r T F IH]; intros k upper L; [reflexivity|].
    unfold listed in L. cbn [length seq map] in L. injection L as L1 L2.
    destruct (pack_unpack (off it) (len it)) as [P Q]; [destruct T; lia..|]. fold (pack_tuple it) in P, Q. rewrite <- L1 in P, Q.
    cbn [length move_each singles filter is_copy set_lp_off]. rewrite P, Q, (IH _ _ L2). reflexivity.
  Qed.
End Arrays.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  #[local] Lemma its_tuples : Forall a_tuple (items m).
  Proof. apply items_are_tuples; [exact page_m|exact header]. Qed.
  Let s := scan_line_pointers m.
  #[local] Lemma is_found : found m s.
  Proof. apply scan_found; [exact page_m|exact header]. Qed.

  Lemma gap_counts : Z.of_nat (gap_count s) = Choice.ngaps m /\ Z.of_nat (tuple_count s) = Choice.nitems m.
  Proof. split; [apply is_found|]. rewrite (f_count _ _ is_found). reflexivity. Qed.

  (** The copies of [compact] are those of the way that is proved. *)
  Lemma compact_is_the_way : (gap_count s =? 0)%nat = false -> compact m s = body (scalar_way m) m.
  Proof.
    intros G. apply Nat.eqb_neq in G. pose proof is_found as F. pose proof gap_counts as [Ng Ni].
    assert (Gz : Choice.ngaps m <> 0) by lia.
    pose proof (scalar_suits m page_m valid Gz) as Suits.
    destruct (gap_positions 0 (items m) (pd_special m)) as [|g gs] eqn:Gp.
    { pose proof (f_gaps _ _ F) as X. rewrite Gp in X. apply (f_equal (@length nat)) in X. rewrite listed_length in X. cbn in X. lia. }
    destruct (first_gap _ _ _ _ _ Gp) as (done & it & r & Its & Gd & Skip & Gs). cbn [Nat.add] in Gd.
    pose proof (f_listed _ _ F) as L. rewrite (f_count _ _ F) in L. pose proof its_tuples as T.
    assert (Lr : listed (found_tuples s) g (length (it :: r)) = map pack_tuple (it :: r) /\ Forall a_tuple (it :: r) /\
                 listed (found_tuples s) 0 (length done) = map pack_tuple done).
    { rewrite Its in L, T. rewrite app_length, listed_app, map_app in L. cbn [Nat.add] in L. apply Forall_app in T as [_ T]. subst g.
      assert (H : listed (found_tuples s) 0 (length done) = map pack_tuple done).
      { apply (f_equal (firstn (length done))) in L. rewrite !firstn_app, listed_length, map_length, Nat.sub_diag, !firstn_O, !app_nil_r in L.
        rewrite !firstn_all2 in L by (rewrite ?listed_length, ?map_length; lia). exact L. }
      split; [|split; [exact T|exact H]]. rewrite H in L. apply app_inv_head in L. exact L. }
    destruct Lr as (Lr & Tr & Ld).
    assert (G0 : found_gaps s 0%nat = g).
    { pose proof (f_gaps _ _ F) as X. rewrite Gp in X. destruct (gap_count s); [lia|]. unfold listed in X. cbn [seq map] in X. injection X as X _. exact X. }
    assert (Up : (if (0 <? g)%nat then tuple_off (found_tuples s (g - 1)%nat) else pd_special m) = start_of done (pd_special m)).
    { subst g. destruct done as [|d0 d1] using rev_ind; [reflexivity|]. clear IHd1 || idtac.
      rewrite app_length. cbn [length]. replace (length d1 + 1)%nat with (S (length d1)) by lia. cbn [Nat.ltb Nat.leb].
      rewrite Nat.sub_succ, Nat.sub_0_r. rewrite Its in T. apply Forall_app in T as [Td _].
      assert (N : nth_error (d1 ++ [d0]) (length d1) = Some d0) by (rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity).
      destruct (tuple_of_list _ _ _ _ Td Ld N) as [A _]. rewrite A, start_of_app. reflexivity. }
    set (upper := start_of done (pd_special m)) in *.
    assert (Runs : forall cp, copying cp -> runs_from_gaps cp s upper = filter is_copy (runs cp (it :: r) upper)).
    { intros cp Cp. unfold runs_from_gaps. 
      pose proof (listed_put_end (found_gaps s) 0 (gap_count s) (tuple_count s)) as X. cbn [Nat.add] in X.
      rewrite (f_gaps _ _ F), Gp in X. cbn [app] in X.
      rewrite (move_from_gaps_walks (found_tuples s) cp _ _ _ upper _ _ X).
      unfold runs. cbn [runs_from]. rewrite Z.eqb_refl. cbn [app filter is_copy set_lp_off].
      unfold listed in Lr. cbn [length seq map] in Lr. injection Lr as L1 L2. inversion Tr as [|? ? T1 T2]; subst.
      destruct (pack_unpack (off it) (len it)) as [P Q]; [destruct T1; lia..|]. fold (pack_tuple it) in P, Q. rewrite <- L1 in P, Q.
      rewrite (runs_walk (found_tuples s) cp Cp r T2 (S (length done)) _ (off it) (stop it) L2)
        by (rewrite Nat.sub_succ, Nat.sub_0_r; exact P).
      unfold tuple_end. rewrite P, Q. rewrite (f_count _ _ F), Its, app_length. cbn [length].
      replace (S (length done) + length r)%nat with (length done + S (length r))%nat by lia. f_equal. unfold stop. lia. }
    assert (Cnt : (tuple_count s - g)%nat = length (it :: r)) by (rewrite (f_count _ _ F), Its, app_length; lia).
    assert (Below : below_special m s = map (fun x => pd_special m - off x) (items m)).
    { unfold below_special. rewrite (f_count _ _ F). transitivity (map (fun x => pd_special m - tuple_off x) (listed (found_tuples s) 0 (length (items m)))).
      - unfold listed. rewrite map_map. reflexivity.
      - rewrite L, map_map. apply map_ext_in. intros x X. rewrite Forall_forall in T. destruct (T x X) as (Ox & Lx & _).
        unfold pack_tuple. destruct (pack_unpack (off x) (len x)) as [A _]; [lia..|]. rewrite A. reflexivity. }
    assert (Slots : find_slots m s = in_slots (lengths (items m)) m).
    { unfold find_slots, in_slots, slots_found. rewrite Below, (f_lengths _ _ F), (f_total _ _ F), (f_count _ _ F), map_map.
      f_equal. f_equal. generalize (lengths (items m)) as w. clear. intros w. induction (items m) as [|x l IH]; [reflexivity|]. cbn [map forallb]. rewrite IH. reflexivity. }
    assert (Ord : is_unsorted s = negb (presorted (pd_special m) (items m))).
    { rewrite (f_unsorted _ _ F). apply kernels_agree_on_order; [exact page_m|exact valid]. }
    assert (C1 : (gap_count s <=? 1 + tuple_count s / 16)%nat = (Choice.ngaps m <=? 1 + Choice.nitems m / 16)).
    { assert (D : Z.of_nat (tuple_count s / 16) = Choice.nitems m / 16) by (rewrite Nat2Z.inj_div, Ni; reflexivity).
      rewrite <- D, <- Ng. destruct (Nat.leb_spec (gap_count s) (1 + tuple_count s / 16)),
        (Z.leb_spec (Z.of_nat (gap_count s)) (1 + Z.of_nat (tuple_count s / 16))); try reflexivity; lia. }
    assert (C2 : (4 * gap_count s <=? tuple_count s)%nat = (4 * Choice.ngaps m <=? Choice.nitems m)).
    { rewrite <- Ng, <- Ni. destruct (Nat.leb_spec (4 * gap_count s) (tuple_count s)), (Z.leb_spec (4 * Z.of_nat (gap_count s)) (Z.of_nat (tuple_count s))); try reflexivity; lia. }
    assert (Exact : body runs_by_memmove m = by_runs m (it :: r) upper).
    { cbn [body runs_by_memmove]. unfold gather, start. rewrite Skip. unfold windows_fit.
      assert (I : In it (items m)) by (rewrite Its; apply in_or_app; right; left; reflexivity).
      rewrite Forall_forall in T. destruct (T it I) as (_ & Lx & _).
      destruct (forallb (fun it => len it <=? 0) (items m)) eqn:Z0; [|reflexivity]. exfalso.
      rewrite forallb_forall in Z0. specialize (Z0 it I). apply Z.leb_le in Z0. lia. }
    unfold compact. rewrite G0, Up, (f_lengths _ _ F), C1, Ord, Slots. unfold scalar_way in *. cbv zeta in *.
    rewrite (f_unsorted _ _ F) in Ord. rewrite Ord in *. rewrite negb_involutive in *.
    set (small := (lengths (items m) <=? 64) && (64 <=? pd_upper m + 8)) in *.
    destruct (presorted (pd_special m) (items m) && (negb small || (Choice.ngaps m <=? 1 + Choice.nitems m / 16))) eqn:B1.
    - apply andb_true_iff in B1 as [B1 _]. rewrite Exact. unfold by_runs. rewrite B1. apply Runs. exact copying_Move.
    - destruct small eqn:Sm.
      + cbn [body suits] in *. unfold gather, start. rewrite Skip. unfold move_small. rewrite (f_lengths _ _ F), Cnt.
        rewrite (gather_walks (found_tuples s) _ _ Tr g upper Lr).
        apply orb_true_iff in Suits as [Suits|Suits]; [destruct (lengths (items m) <=? 32); discriminate|].
        rewrite Suits. unfold by_windows. do 3 f_equal. lia.
      + cbn [negb orb] in B1. rewrite andb_true_r in B1. destruct (in_slots (lengths (items m)) m) eqn:Sl.
        * pose proof (in_slots_lengths m page_m valid Gz Sl) as Fit. cbn [body]. unfold by_slots, start. rewrite Skip, Fit.
          assert (Lg : longest (items m) = lengths (items m)).
          { pose proof (lengths_spec (items m) (items_nonneg m page_m header)) as (N & Fa).
            unfold in_slots in Sl. rewrite !andb_true_iff, Z.eqb_eq in Sl. destruct Sl as (((_ & Tt) & _) & _).
            pose proof (longest_least (items m) _ N Fa) as A. pose proof (total_most (items m) _ (longest_spec (items m))) as B.
            destruct (some_items m page_m valid Gz) as [I _]. unfold Choice.nitems in Tt, I. nia. }
          unfold slots_found, slots_of. rewrite Below, (f_lengths _ _ F), Lg, map_map. reflexivity.
        * unfold move_large. rewrite C2, G0, Cnt. destruct (4 * Choice.ngaps m <=? Choice.nitems m).
          -- rewrite Exact. unfold by_runs. rewrite B1. cbn [filter is_copy save_area]. f_equal. apply Runs. exact copying_Restore.
          -- cbn [body]. unfold area, start. rewrite Skip. f_equal. apply move_each_walks; [exact Tr|exact Lr].
  Qed.

  (** *** The header *)
  Lemma cut_says ws kept n :
    (forall k, (k < kept)%nat -> is_used (lp_word m (Z.of_nat k + 1)) = true) ->
    (forall k, (kept <= k < n)%nat -> (ws k =? 0) = negb (is_used (lp_word m (Z.of_nat k + 1)))) ->
    Z.of_nat (cut_unused ws kept n) = last_used (line_pointers_from m 1 n).
  Proof.
    intros K. induction n as [|n IH]; intros W; [reflexivity|]. cbn [cut_unused]. rewrite line_pointers_from_snoc. unfold last_used in *.
    rewrite fold_left_app. cbn [fold_left word number]. replace (1 + Z.of_nat n) with (Z.of_nat n + 1) by lia.
    destruct (Nat.ltb_spec kept (S n)) as [L|L]; cbn [andb].
    - rewrite W by lia. destruct (is_used _); cbn [negb]; [lia|]. apply IH. intros k Kk. apply W. lia.
    - rewrite K by lia. lia.
  Qed.

  Lemma used_after_set w to : 0 <= w < 4294967296 -> 0 <= to < 32768 -> is_used w = true -> (set_off w to =? 0) = false.
  Proof.
    unfold is_used, lp_flags, set_off, LP_UNUSED. intros W T U. apply negb_true_iff, Z.eqb_neq in U. apply Z.eqb_neq. div_lia.
  Qed.

  Lemma new_word_zero n : 1 <= n <= nline m -> (new_word ItemOrder m n =? 0) = negb (is_used (lp_word m n)).
  Proof.
    intros N. pose proof (lp_word_range m page_m header n N) as R. unfold new_word.
    destruct (new_off ItemOrder m n) as [to|] eqn:E.
    - destruct (new_off_inv m ItemOrder n to E) as (it & I & Nm). pose proof (in_placed m ItemOrder it to I) as J.
      pose proof (item_facts m page_m header it J) as Fi. apply in_items in J as [J S]. apply (in_line_pointers m header) in J as [_ Wd].
      rewrite Nm in Wd. assert (U : is_used (lp_word m n) = true) by (rewrite <- Wd; unfold has_storage in S; destruct (is_used _); [reflexivity|discriminate]).
      rewrite U. cbn [negb]. apply used_after_set; [exact R| |exact U].
      pose proof (place_bounds (items m) (items_nonneg m page_m header) (pd_special m) it to I) as B.
      destruct valid as ((H1 & H2 & _) & _ & _ & Tt & _). unfold HEADER_SIZE, BLCKSZ in *. lia.
    - destruct (is_used (lp_word m n)) eqn:U; cbn [negb]; [|reflexivity]. apply Z.eqb_neq. unfold is_used, lp_flags, LP_UNUSED in U.
      apply negb_true_iff, Z.eqb_neq in U. intros Z. rewrite Z in U. now apply U.
  Qed.

  Definition left_of (truncate : bool) : nat :=
    if truncate then cut_unused (words_to_be s) (nkept s) (Z.to_nat (nline m)) else Z.to_nat (nline m).

  Lemma left_says truncate : Z.of_nat (left_of truncate) = nline_left truncate m.
  Proof.
    unfold left_of, nline_left. pose proof (nline_small m header) as N. destruct truncate; [|lia].
    destruct (stored_words m page_m valid) as (l & _ & _ & K & _ & W). fold s in K, W. apply cut_says.
    - intros k Kk. apply K. exact Kk.
    - intros k Kk. rewrite W by exact Kk. apply new_word_zero. lia.
  Qed.

  Lemma used_left truncate : (nused s <? left_of truncate)%nat =
    negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0).
  Proof.
    destruct (nline_left_bounds m valid truncate) as [B U]. pose proof (nline_small m header) as N.
    pose proof (left_says truncate) as Lf.
    pose proof (count_above m (Z.to_nat (nline m)) (nline_left truncate m) 1 ltac:(lia)) as C. fold (line_pointers m) in C.
    pose proof (f_used _ _ is_found) as Us. unfold nused_of in Us. unfold count_unused.
    assert (P : forall l : list item, (length (filter (fun it => is_used (word it)) l) + length (filter (fun it => negb (is_used (word it))) l) = length l)%nat).
    { induction l as [|x l IH]; [reflexivity|]. cbn [filter]. destruct (is_used (word x)); cbn [negb length]; lia. }
    specialize (P (line_pointers m)). unfold line_pointers in P at 3. rewrite line_pointers_from_length in P.
    assert (Q : forall l : list item, (forall it, In it l -> is_used (word it) = true -> number it <= nline_left truncate m) ->
      (length (filter (fun it => (nline_left truncate m <? number it)%Z) l) <= length (filter (fun it => negb (is_used (word it))) l))%nat).
    { clear. induction l as [|x l IH]; intros H; [cbn; lia|]. cbn [filter]. specialize (IH (fun y I => H y (or_intror I))).
      specialize (H x (or_introl eq_refl)). destruct (is_used (word x)); cbn [negb].
      - specialize (H eq_refl). destruct (Z.ltb_spec (nline_left truncate m) (number x)); [lia|exact IH].
      - destruct (_ <? _); cbn [length]; lia. }
    specialize (Q _ U). rewrite Us.
    destruct (Nat.ltb_spec (length (filter (fun it => is_used (word it)) (line_pointers m))) (left_of truncate));
      symmetry; [apply negb_true_iff, Z.eqb_neq|apply negb_false_iff, Z.eqb_eq]; lia.
  Qed.

  (** The copies of a way of ours, line pointers of which some had their new word, and the header make the page of the contract. *)
  Lemma rewritten_page a truncate scratch0 l i : ours a -> rewrites m ItemOrder l ->
    page (exec ((body a m ++ store_words l) ++ write_header truncate m) (State m scratch0)) i = repaired ItemOrder truncate m i.
  Proof.
    intros O R. assert (Q : Forall (low_store (24 + 4 * nline m)) (store_words l)) by (eapply rewrites_low; eauto).
    destruct (low_stores _ _ Q) as (A & B & _). rewrite <- (ours_order a O).
    apply (parts_repair m page_m valid a truncate scratch0 _ l).
    - now rewrite (ours_order a O).
    - apply splits_app; [now apply ours_splits|eapply rewrites_low; eauto].
    - rewrite filter_app, B, no_stores by now apply ours_copies. reflexivity.
    - now rewrite filter_app, A, app_nil_r.
  Qed.

  Lemma choice_is_ours k : ours (choice k m).
  Proof.
    unfold ours, choice, scalar_way, avx2_way, avx512_way, neon_way, nothing, runs_by_memmove. cbv zeta.
    destruct k; split; repeat match goal with |- context [if ?b then _ else _] => destruct b end; discriminate.
  Qed.

  Lemma choice_written k truncate scratch0 l : rewrites m ItemOrder l ->
    let ops := body (choice k m) m ++ store_words l ++ write_header truncate m in
    filter is_copy ops = filter is_copy (program (choice k m) truncate m) /\
    forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i.
  Proof.
    intros R ops. pose proof (choice_is_ours k) as O. unfold ops. split.
    - rewrite program_parts, !filter_app. assert (Q : forall w, filter is_copy (store_words w) = []) by (induction w; [reflexivity|assumption]).
      rewrite !Q. cbn [filter is_copy write_header app]. now rewrite !app_nil_r.
    - intros i. rewrite app_assoc. now apply rewritten_page.
  Qed.
End Valid.

(** ** The theorems *)

(** The scan of [scalar] refuses a page exactly if the contract does, though it tests tuples in runs for their start alone. *)
Theorem scan_refuses_the_same : forall m, is_page m -> header_ok m -> (refused (scan_line_pointers m) = true <-> check m <> None).
Proof.
  intros m P H. pose proof (refused_says m P H) as R. pose proof (check_iff_valid m) as C.
  destruct (refused (scan_line_pointers m)), (check m); split; try discriminate; try reflexivity; try congruence; intros _.
  - intros _. discriminate (proj2 R (proj1 C eq_refl)).
  - pose proof (proj2 C (proj1 R eq_refl)). discriminate.
Qed.

(** On every page with a sound header the scan finds the tuples with their offsets and lengths, where runs begin, the sum and the
    OR of the lengths, how many line pointers are used, and whether the tuples are out of order: what Choice.v takes as given. *)
Theorem scan_finds : forall m, is_page m -> header_ok m -> let s := scan_line_pointers m in
  map (fun i => (tuple_off (found_tuples s i), tuple_len (found_tuples s i))) (seq 0 (tuple_count s)) =
    map (fun it => (off it, len it)) (items m) /\
  map (found_gaps s) (seq 0 (gap_count s)) = gap_positions 0 (items m) (pd_special m) /\
  Z.of_nat (gap_count s) = Choice.ngaps m /\ total_length s = total (items m) /\ or_of_lengths s = lengths (items m) /\
  nused s = length (filter (fun it => is_used (word it)) (line_pointers m)) /\ is_unsorted s = unsorted Scalar m.
Proof.
  intros m P H s. pose proof (scan_found m P H) as F. fold s in F. split; [|split; [apply F|split; [apply F|split; [apply F|split; [apply F|split; apply F]]]]].
  pose proof (f_listed _ _ F) as L. pose proof (items_are_tuples m P H) as T.
  transitivity (map (fun t => (tuple_off t, tuple_len t)) (listed (found_tuples s) 0 (tuple_count s))).
  - unfold listed. rewrite map_map. reflexivity.
  - rewrite L, map_map. apply map_ext_in. intros x X. rewrite Forall_forall in T. destruct (T x X) as (O & Le & _).
    unfold pack_tuple. destruct (pack_unpack (off x) (len x)) as [A B]; [lia..|]. rewrite A, B. reflexivity.
Qed.

(** The scan stays within its arrays, which have 2042 elements and one more for what is not kept. *)
Theorem scan_stays_in_its_arrays : forall m, is_page m -> header_ok m -> let s := scan_line_pointers m in
  (tuple_count s <= 2042)%nat /\ (gap_count s <= tuple_count s)%nat /\ 0 <= nline m <= 2042 /\ 0 <= total_length s < 2 ^ 27.
Proof.
  intros m P H s. pose proof (scan_found m P H) as F. fold s in F. pose proof (items_small m P H) as [A B].
  pose proof (f_ngaps _ _ F) as G. pose proof (gaps_count (items m) (pd_special m)) as C. unfold Choice.ngaps in G.
  rewrite (f_count _ _ F), (f_total _ _ F). change (2 ^ 27) with 134217728. pose proof (nline_small m H). lia.
Qed.

(** The line pointers that [scalar] does not store, those of tuples in place, have their new word already; the others get it. *)
Theorem scan_knows_the_line_pointers : forall m, is_page m -> valid_page m -> let s := scan_line_pointers m in
  (forall k, (k < nkept s)%nat -> new_word ItemOrder m (Z.of_nat k + 1) = lp_word m (Z.of_nat k + 1)) /\
  (forall k, (nkept s <= k < Z.to_nat (nline m))%nat -> words_to_be s k = new_word ItemOrder m (Z.of_nat k + 1)).
Proof.
  intros m P V s. destruct (stored_words m P V) as (l & _ & _ & K & _ & W). split; [|exact W]. intros k Kk. apply K. exact Kk.
Qed.

(** pgq_compaction_scalar, from the line pointers to the header, refuses what the check refuses, with its code and line pointer; on
    every other page it copies as the proved choice says, and leaves exactly the page of the specification. *)
Theorem scalar_repairs : forall truncate m scratch0, is_page m ->
  match scalar_kernel truncate m with
  | inl r => check m = Some r
  | inr ops => check m = None /\ filter is_copy ops = filter is_copy (program (choice Scalar m) truncate m) /\
      forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i
  end.
Proof.
  intros truncate m scratch0 P. unfold scalar_kernel. cbv zeta. rewrite (check_in_order_is_the_check m P).
  destruct (check m) as [r|] eqn:C.
  - destruct (check_header m) eqn:H; cbn [negb]; [|reflexivity]. apply check_header_iff in H.
    pose proof (proj2 (scan_refuses_the_same m P H)) as R. rewrite R by (rewrite C; discriminate). reflexivity.
  - pose proof (proj1 (check_iff_valid m) C) as V. assert (H : header_ok m) by apply V.
    rewrite (proj2 (check_header_iff m) H). cbn [negb]. rewrite (proj2 (refused_says m P H) V).
    destruct (stored_words m P V) as (l & R & St & _). rewrite St. clear St.
    pose proof (left_says m P V truncate) as Lf. pose proof (used_left m P V truncate) as Us. unfold left_of in Lf, Us.
    rewrite Lf, Us, (f_total _ _ (scan_found m P H)).
    assert (Bd : (if (gap_count (scan_line_pointers m) =? 0)%nat then [] else compact m (scan_line_pointers m)) = body (choice Scalar m) m).
    { pose proof (f_ngaps _ _ (scan_found m P H)) as G. destruct (Nat.eqb_spec (gap_count (scan_line_pointers m)) 0) as [Z|Z].
      - destruct (nothing_to_move Scalar m P V) as [N ->]; [lia|]. symmetry. exact N.
      - unfold choice. destruct (Z.eqb_spec (Choice.ngaps m) 0); [lia|]. apply compact_is_the_way; [exact P|exact V|].
        apply Nat.eqb_neq. exact Z. }
    rewrite Bd. clear Bd.
    split; [reflexivity|]. exact (choice_written m P V Scalar truncate scratch0 l R).
Qed.

(** ** The kernels that scan by vectors: what is theirs is the scan, whether it refuses the page, and how tuples move *)

(** A scan that tells the number of tuples, the sum of their lengths, and whether one is out of bounds, refuses what the contract
    refuses, if it sees overlaps of tuples that are in order. *)
Lemma refusal_is_right m (out unfit : bool) count total_ : is_page m -> header_ok m ->
  (out = false <-> Forall (item_ok m) (items m)) -> count = Choice.nitems m -> (Forall (item_ok m) (items m) -> total_ = total (items m)) ->
  (Forall (item_ok m) (items m) -> total (items m) <= pd_special m - pd_lower m ->
   unfit = overlaps (items m) (pd_special m) && presorted (pd_special m) (items m)) ->
  let refuses := out || (MAX_HEAP_TUPLES_PER_PAGE <? count) || (pd_special m - pd_lower m <? total_) || unfit in
  (refuses = true <-> check m <> None) /\ refuses = refused (scan_line_pointers m) /\ (refuses = false -> total_ = total (items m)).
Proof.
  intros P H Out -> Tt Un refuses. pose proof (scan_refuses_the_same m P H) as Sc. pose proof (refused_says m P H) as Rf.
  assert (V : refuses = false <-> valid_page m).
  { unfold refuses, valid_page. rewrite !orb_false_iff, Out, !Z.ltb_ge. unfold Choice.nitems. split.
    - intros (((W & Nf) & To) & Ch). rewrite (Tt W) in To. rewrite (Un W To) in Ch. repeat (split; [assumption|]).
      intros Pr. rewrite Pr, andb_true_r in Ch. now apply overlaps_chain.
    - intros (_ & W & Nf & To & Ch). rewrite (Tt W), (Un W To). repeat split; try assumption. destruct (presorted _ _); [|apply andb_false_r].
      rewrite andb_true_r. apply overlaps_chain. auto. }
  clearbody refuses. assert (E : refuses = refused (scan_line_pointers m)).
  { destruct refuses, (refused (scan_line_pointers m)); try reflexivity; [discriminate (proj2 V (proj1 Rf eq_refl))|discriminate (proj2 Rf (proj1 V eq_refl))]. }
  split; [now rewrite E|]. split; [exact E|]. intros F. apply V in F. apply Tt, F.
Qed.

(** Where tuples must end fits in 16 bits. *)
Lemma placed_ends_small m : is_page m -> header_ok m -> total (items m) <= pd_special m ->
  map (fun p => (snd p + len (fst p)) mod 65536) (placed ItemOrder m) = map (fun p => snd p + len (fst p)) (placed ItemOrder m).
Proof.
  intros P H T. apply map_ext_in. intros [it to] I. cbn [fst snd]. apply Z.mod_small.
  pose proof (items_nonneg m P H) as Nn. destruct (place_bounds _ Nn _ _ _ I). apply in_place in I. unfold nonneg in Nn.
  rewrite Forall_forall in Nn. specialize (Nn it I). destruct H as (A & B & _). unfold HEADER_SIZE, BLCKSZ in *. lia.
Qed.

(** All line pointers, as they must be. *)
Definition new_words (m : mem) : list (Z * Z) := map (fun k => (Z.of_nat k + 1, new_word ItemOrder m (Z.of_nat k + 1))) (seq 0 (Z.to_nat (nline m))).

Section Kernel.
  Variables (k : kernel) (way : algorithm) (lanes : Z) (truncate : bool) (m scratch0 : mem).
  Hypothesis chosen : choice k m = if Choice.ngaps m =? 0 then nothing else if BLCKSZ <? pd_lower m + 4 * lanes then scalar_way m else way.
  Hypothesis page_m : is_page m.

  (** The header behind the line pointers, from what a scan tells. *)
  Definition written (words : nat -> Z) (used left_ upper : Z) : list op :=
    let left := if truncate then left_ else nline m in
    map (fun i => Store32 (HEADER_SIZE + 4 * Z.of_nat i) (words i)) (seq 0 (Z.to_nat (nline m))) ++
    [Store16 12 (pd_lower m - 4 * (nline m - left)); Store16 14 upper; Store16 10 (pd_flags m / 2 * 2 + (if used <? left then 1 else 0))].

  Record told (words : nat -> Z) (used left_ upper : Z) : Prop := {
    told_words : forall k, (k < Z.to_nat (nline m))%nat -> words k = new_word ItemOrder m (Z.of_nat k + 1);
    told_used : used = Z.of_nat (length (filter (fun it => is_used (word it)) (line_pointers m)));
    told_left : left_ = last_used (line_pointers m);
    told_upper : upper = new_upper m }.

  Lemma written_is words used left_ upper : valid_page m -> told words used left_ upper ->
    written words used left_ upper = store_words (new_words m) ++ write_header truncate m.
  Proof.
    intros V [W -> -> ->]. unfold written. cbv zeta. change (if truncate then last_used (line_pointers m) else nline m) with (nline_left truncate m).
    set (used_ := Z.of_nat _).
    assert (F : (used_ <? nline_left truncate m) = negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0)).
    { rewrite <- (used_left m page_m V truncate). destruct (scan_finds m page_m (proj1 V)) as (_ & _ & _ & _ & _ & U & _).
      unfold used_. rewrite U, <- (left_says m page_m V truncate).
      match goal with |- (Z.of_nat ?a <? Z.of_nat ?b) = _ => destruct (Z.ltb_spec (Z.of_nat a) (Z.of_nat b)), (Nat.ltb_spec a b) end; try reflexivity; lia. }
    rewrite F. f_equal. unfold store_words, new_words. rewrite map_map. apply map_ext_in. intros j J. apply in_seq in J.
    rewrite W by lia. unfold lp_address. cbn [fst snd]. f_equal. lia.
  Qed.

  Lemma told_repairs words used left_ upper : valid_page m -> told words used left_ upper ->
    let ops := body (choice k m) m ++ written words used left_ upper in
    filter is_copy ops = filter is_copy (program (choice k m) truncate m) /\
    forall i, page (exec ops (State m scratch0)) i = repaired ItemOrder truncate m i.
  Proof.
    intros V T. cbv zeta. rewrite written_is by assumption. apply choice_written; try assumption. split.
    - intros n w I. apply in_map_iff in I as (j & E & K). injection E as <- <-. apply in_seq in K. split; [lia|reflexivity].
    - intros n N. left. unfold new_words. rewrite map_map. cbn [fst]. apply in_map_iff. exists (Z.to_nat (n - 1)). split; [lia|]. apply in_seq. lia.
  Qed.

  Lemma moves_chosen moves : valid_page m -> pd_lower m + 4 * lanes <= BLCKSZ -> (Choice.ngaps m <> 0 -> moves = body way m) ->
    (if Choice.ngaps m =? 0 then [] else moves) = body (choice k m) m.
  Proof.
    intros V R M. destruct (Z.eqb_spec (Choice.ngaps m) 0) as [Z|Z].
    - destruct (nothing_to_move k m page_m V Z) as [N ->]. symmetry. exact N.
    - rewrite (M Z), chosen. now rewrite (proj2 (Z.ltb_ge _ _) R).
  Qed.

  (** It leaves to [scalar] what ends too near the page's end, and what it refuses. *)
  Lemma kernel_repairs (refuses : bool) (good : list op -> Prop) ops :
    (header_ok m -> pd_lower m + 4 * lanes <= BLCKSZ -> (refuses = true <-> check m <> None)) ->
    (valid_page m -> pd_lower m + 4 * lanes <= BLCKSZ -> good ops) ->
    (forall p, filter is_copy p = filter is_copy (program (choice k m) truncate m) ->
     (forall i, page (exec p (State m scratch0)) i = repaired ItemOrder truncate m i) -> good p) ->
    match (if negb (check_header m) || (BLCKSZ <? pd_lower m + 4 * lanes) then scalar_kernel truncate m
           else if refuses then scalar_kernel truncate m else inr ops) with
    | inl r => check m = Some r
    | inr p => check m = None /\ good p
    end.
  Proof.
    intros Rf Go Same. pose proof (scalar_repairs truncate m scratch0 page_m) as Sc.
    destruct (check_header m) eqn:Hd; cbn [negb orb].
    2: { destruct (scalar_kernel truncate m) as [r|p]; [exact Sc|]. destruct Sc as (C & _). unfold check in C. rewrite Hd in C. discriminate. }
    apply check_header_iff in Hd. destruct (Z.ltb_spec BLCKSZ (pd_lower m + 4 * lanes)) as [L|L].
    - destruct (scalar_kernel truncate m) as [r|p]; [exact Sc|]. destruct Sc as (C & F & E). split; [exact C|]. apply Same; [|exact E].
      now rewrite F, chosen.
    - specialize (Rf Hd L). destruct refuses.
      + destruct (scalar_kernel truncate m) as [r|p]; [exact Sc|]. destruct Sc as (C & _). exfalso. now apply Rf.
      + assert (C : check m = None) by (destruct (check m); [discriminate (proj2 Rf); discriminate|reflexivity]).
        split; [exact C|]. apply Go; [|exact L]. now apply check_iff_valid.
  Qed.
End Kernel.

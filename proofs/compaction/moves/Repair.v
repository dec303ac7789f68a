(* SPDX-License-Identifier: PostgreSQL *)
(** * The whole of PageRepairFragmentation: every algorithm leaves exactly the page of the specification, and stays in bounds *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Squeezed Windows Vectors Pieces
  Slots Pointers.

(** The line pointer changes and copies of an algorithm, before unused line pointers and the header. *)
Definition body (a : algorithm) (m : mem) : list op :=
  match a with PG13 => pg13 m | PG14 => pg14 m | Gather window => gather window m | Squeeze => squeeze m
  | Permute window few => permute window few m | Slide window => slide window m | SlidePairs => slide_pairs m | Runs wide => move_runs wide m | Area => area m | Climb pieces => climb pieces m | Lines => lines m
  | ByDepth => by_depth m | Slots => by_slots m end.

Section Contained.
  Variables edge low high : Z.

  Definition fits (it : item) : Prop :=
    0 <= len it /\ low <= off it /\ stop it <= high /\ 24 <= lp_address (number it) /\ lp_address (number it) + 4 <= edge.

  Definition copier_ok (cp : copier) : Prop := forall to from n,
    0 <= n -> edge <= to -> to + n <= high -> low <= from -> from + n <= high -> contained edge low high (cp to from n).
  Lemma Move_ok : copier_ok Move. Proof. unfold copier_ok. cbn. tauto. Qed.
  Lemma Restore_ok : copier_ok Restore. Proof. unfold copier_ok. cbn. tauto. Qed.

  Lemma fits_nonneg its : Forall fits its -> nonneg its.
  Proof. apply Forall_impl. intros it F. apply F. Qed.

  Lemma singles_contained cp : copier_ok cp -> forall its, Forall fits its -> forall upper,
    upper <= high -> edge <= upper - total its -> Forall (contained edge low high) (singles cp its upper).
  Proof.
    intros C its. induction 1 as [|it r F N IH]; intros upper U E; cbn [singles total] in *; [constructor|].
    pose proof (total_nonneg _ (fits_nonneg _ N)). unfold fits, stop in F.
    constructor; [apply C; lia|]. constructor; [cbn [contained set_lp_off]; lia|]. apply IH; lia.
  Qed.

  Lemma runs_from_contained cp : copier_ok cp -> forall its, Forall fits its -> forall upper start top,
    start <= top <= high -> low <= start -> upper + (top - start) <= high -> edge <= upper - total its ->
    Forall (contained edge low high) (runs_from cp its upper start top).
  Proof.
    intros C its. induction 1 as [|it r F N IH]; intros upper start top S L U E; cbn [runs_from total] in *.
    - constructor; [apply C; lia|constructor].
    - pose proof (total_nonneg _ (fits_nonneg _ N)). unfold fits, stop in F. apply Forall_app. split.
      + destruct (_ =? _); constructor; [apply C; lia|constructor].
      + constructor; [cbn [contained set_lp_off]; lia|]. unfold stop in *. destruct (Z.eqb_spec (off it + len it) start); apply IH; lia.
  Qed.

  Lemma runs_contained cp : copier_ok cp -> forall its, Forall fits its -> forall upper,
    upper <= high -> edge <= upper - total its -> Forall (contained edge low high) (runs cp its upper).
  Proof.
    intros C its F upper U E. destruct its as [|it r]; [constructor|]. unfold runs.
    inversion F as [|? ? F1 F2]; subst. unfold fits, stop in F1. apply runs_from_contained; auto; unfold stop; lia.
  Qed.

  Lemma contained_in_bounds below above o : 0 <= below -> 0 <= above -> 0 <= low -> 0 <= edge <= high -> high <= BLCKSZ ->
    contained edge low high o -> in_bounds below above o.
  Proof. unfold BLCKSZ. intros. destruct o; cbn in *; unfold BLCKSZ; lia. Qed.
End Contained.

Lemma low_store_words edge l : (forall n w, In (n, w) l -> lp_address n + 4 <= edge) -> Forall (low_store edge) (store_words l).
Proof.
  intros A. apply Forall_forall. intros o I. apply in_map_iff in I as ([n w] & <- & I). cbn. eapply A, I.
Qed.

Lemma write_header_spec truncate m s i : page (exec (write_header truncate m) s) i =
  if (10 <=? i) && (i <? 12) then byte_of (i - 10) (pd_flags m / 2 * 2 +
    (if negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0) then 1 else 0))
  else if (12 <=? i) && (i <? 14) then byte_of (i - 12) (new_lower truncate m)
  else if (14 <=? i) && (i <? 16) then byte_of (i - 14) (new_upper m)
  else page s i.
Proof.
  unfold write_header. fold (nline_left truncate m). cbn [exec fold_left step page].
  unfold store, new_lower, new_upper. change (10 + 2) with 12. change (12 + 2) with 14. change (14 + 2) with 16.
  destruct (Z.leb_spec 10 i), (Z.ltb_spec i 12), (Z.leb_spec 12 i), (Z.ltb_spec i 14), (Z.leb_spec 14 i);
    try lia; cbn [andb]; destruct (i <? 16); reflexivity.
Qed.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.
  Let edge : Z := 24 + 4 * nline m.

  Lemma header_bounds : 24 <= edge <= pd_lower m /\ pd_lower m <= pd_upper m /\ pd_upper m <= pd_special m <= BLCKSZ.
  Proof. pose proof (nline_bounds m header). destruct header as (A & B & _). unfold edge, HEADER_SIZE in *. lia. Qed.

  Lemma total_bound : total (items m) <= pd_special m - pd_lower m.
  Proof. apply valid. Qed.

  Lemma item_fits it : In it (items m) -> fits edge (pd_upper m) (pd_special m) it.
  Proof.
    intros I. pose proof (item_facts m page_m header it I) as F. pose proof (valid_item m valid it I) as (A & _ & B).
    apply in_items in I as [I _]. apply (in_line_pointers m header) in I as [N _].
    unfold fits, edge, lp_address, HEADER_SIZE. lia.
  Qed.

  Lemma items_fit its : (forall it, In it its -> In it (items m)) -> Forall (fits edge (pd_upper m) (pd_special m)) its.
  Proof. intros S. apply Forall_forall. intros it I. apply item_fits, S, I. Qed.

  Lemma rewrites_low o l : rewrites m o l -> Forall (low_store edge) (store_words l).
  Proof.
    intros [F _]. apply low_store_words. intros n w I. apply F in I. unfold lp_address, HEADER_SIZE, edge. lia.
  Qed.

  Lemma save_area_contained top : pd_upper m <= top <= pd_special m ->
    contained edge (pd_upper m) (pd_special m) (save_area m top).
  Proof. cbn. lia. Qed.

  Lemma start_facts whole rest upper : start whole m = (rest, upper) ->
    (forall it, In it rest -> In it (items m)) /\ upper <= pd_special m /\ upper - total rest = new_upper m /\
    pd_upper m <= upper /\
    exists pre, placed ItemOrder m = map (fun it => (it, off it)) pre ++ place rest upper.
  Proof.
    intros S. destruct (start_spec m page_m valid whole _ _ S) as (pre & E & P & T & U & _).
    assert (N : nonneg pre).
    { pose proof (valid_nonneg m page_m valid) as N. unfold nonneg in *. rewrite E in N. now apply Forall_app in N as [N _]. }
    pose proof (total_nonneg _ N).
    split; [apply (rest_incl m page_m valid whole rest upper S)|]. split; [lia|]. split; [exact T|]. split; [|eauto].
    pose proof header_bounds. unfold start in S. destruct whole; [injection S as <- <-; lia|].
    (* the last tuple in place starts at [upper], and at or above pd_upper *)
    assert (G : forall its top r u, skip_in_place its top = (r, u) -> pd_upper m <= top ->
      (forall it, In it its -> pd_upper m <= off it) -> pd_upper m <= u).
    { clear. induction its as [|it q IH]; intros top r u K T B; cbn in K; [congruence|].
      destruct (Z.eqb_spec (stop it) top) as [Q|Q]; [|congruence].
      eapply IH; [exact K| |intros; apply B; now right]. specialize (B it (or_introl eq_refl)). unfold stop in Q. lia. }
    eapply G; [exact S|lia|]. intros it I. now apply (valid_item m valid it).
  Qed.

  Lemma save_top_bounds rest upper : pd_upper m <= upper <= pd_special m ->
    pd_upper m <= save_top m rest upper <= pd_special m.
  Proof. unfold save_top. destruct (existsb _ _); lia. Qed.

  Lemma new_upper_edge : edge <= new_upper m.
  Proof. pose proof header_bounds. pose proof total_bound. unfold new_upper. lia. Qed.

  Lemma pg13_contained : Forall (contained edge (pd_upper m) (pd_special m)) (pg13 m).
  Proof.
    unfold pg13. pose proof (sort_permutation (items m)) as P. pose proof header_bounds. pose proof new_upper_edge as E.
    assert (F : Forall (fits edge (pd_upper m) (pd_special m)) (sort (items m))).
    { apply items_fit. intros it. apply Permutation_in. now symmetry. }
    unfold new_upper in E. rewrite (total_permutation _ _ P) in E.
    destruct (any_overlap _); [constructor; [apply save_area_contained; lia|]|];
      apply singles_contained; auto using Move_ok, Restore_ok; lia.
  Qed.

  Lemma pg14_contained : Forall (contained edge (pd_upper m) (pd_special m)) (pg14 m).
  Proof.
    unfold pg14, pg14_presorted, pg14_sparse, pg14_dense. pose proof header_bounds. pose proof new_upper_edge as E.
    destruct (start _ _) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & L & _).
    destruct (presorted _ _); [|destruct (is_sparse m)].
    - apply runs_contained; auto using Move_ok, items_fit; lia.
    - apply Forall_app. split.
      + apply Forall_forall. intros o O. apply in_map_iff in O as (it & <- & O). apply item_fits in O.
        unfold fits, stop in O. cbn. lia.
      + unfold new_upper in E. apply runs_contained; auto using Restore_ok, items_fit; lia.
    - constructor; [apply save_area_contained, save_top_bounds; lia|].
      apply runs_contained; auto using Restore_ok, items_fit; lia.
  Qed.

  (** *** Ours: copies only, all stores after them *)
  Lemma windows_bounds window : windows_fit m window = true -> forall its, (forall it, In it its -> In it (items m)) ->
    forall upper, 0 <= upper - total its -> upper <= pd_special m ->
    Forall (in_bounds (scratch_below (Gather window)) 0) (windows window its upper).
  Proof.
    intros W. pose proof header_bounds. induction its as [|it r IH]; intros S upper U H'; cbn [windows total] in *; [constructor|].
    assert (I : In it (items m)) by (apply S; now left).
    pose proof (item_facts m page_m header it I) as F. pose proof (valid_item m valid it I) as (O & _ & E).
    pose proof (windows_wide m window W it I) as L.
    assert (N : 0 <= total r).
    { apply total_nonneg, Forall_forall. intros x X. pose proof (item_facts m page_m header x (S x (or_intror X))). lia. }
    constructor; [|apply IH; [intros; apply S; now right| |]; lia].
    assert (8 <= len it) by (destruct F as (_ & _ & P & _ & M); Z.div_mod_to_equations; lia).
    destruct window as [w|]; cbn [width scratch_below in_bounds windows_fit] in *; unfold stop, BLCKSZ in *; [|lia].
    apply andb_true_iff in W as [_ W]. apply Z.leb_le in W. lia.
  Qed.

  Lemma by_runs_bounds whole rest upper : start whole m = (rest, upper) ->
    Forall (fun o => is_copy o = true) (by_runs m rest upper) /\
    forall below above, 0 <= below -> 0 <= above -> Forall (in_bounds below above) (by_runs m rest upper).
  Proof.
    intros S. pose proof header_bounds. pose proof new_upper_edge as E. destruct (start_facts _ _ _ S) as (I & U & T & L & _).
    assert (C : Forall (contained edge (pd_upper m) (pd_special m)) (by_runs m rest upper)).
    { unfold by_runs. apply Forall_forall. intros o O. apply filter_In in O as [O _]. revert o O.
      apply Forall_forall. destruct (presorted _ _); [|constructor; [apply save_area_contained; lia|]];
        apply runs_contained; auto using Move_ok, Restore_ok, items_fit; lia. }
    assert (K : Forall (fun o => is_copy o = true) (by_runs m rest upper)).
    { apply Forall_forall. intros o O. apply filter_In in O. apply O. }
    split; [exact K|]. intros below above B A. eapply Forall_impl; [|exact C]. intro o. apply contained_in_bounds; lia.
  Qed.

  Lemma gather_bounds window : Forall (in_bounds (scratch_below (Gather window)) 0) (gather window m).
  Proof.
    unfold gather. pose proof header_bounds. pose proof new_upper_edge as E.
    destruct (start _ _) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & L & _).
    pose proof (total_nonneg rest (rest_nonneg m page_m valid false rest upper S)) as N.
    assert (B : 0 <= scratch_below (Gather window)) by (destruct window; cbn; lia).
    destruct (windows_fit _ _) eqn:W.
    - unfold by_windows. apply Forall_app. split; [apply windows_bounds; auto; lia|].
      constructor; [|constructor]. cbn [in_bounds]. lia.
    - now apply (by_runs_bounds _ _ _ S).
  Qed.

  Lemma squeeze_copies : Forall (fun o => is_copy o = true) (squeeze m) /\ Forall (in_bounds 0 0) (squeeze m).
  Proof.
    unfold squeeze. destruct (start false m) as [rest upper] eqn:S. destruct (_ && _) eqn:E.
    - apply andb_true_iff in E as [E L]. apply Z.leb_le in L.
      destruct (squeezing_bounds m page_m valid rest upper S E L) as [A B]. split; assumption.
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  Lemma permute_copies window few : Forall (fun o => is_copy o = true) (permute window few m) /\ Forall (in_bounds 0 0) (permute window few m).
  Proof.
    unfold permute. destruct (start true m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & _).
    destruct (_ && _) eqn:E.
    - apply andb_true_iff in E as [_ R]. pose proof (window_bounds m page_m valid window rest upper R I U T 0 (Datatypes.S few)) as [A B].
      split; apply Forall_app; split; auto using reads_copies, writes_copies.
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  Lemma slide_all_bounds ahead window rest upper : registers_fit m window = true -> (forall it, In it rest -> In it (items m)) ->
    upper <= pd_special m -> upper - total rest = new_upper_of m -> Forall (in_bounds 0 0) (slide_all ahead window rest upper).
  Proof.
    intros R I U T. pose proof (window_bounds m page_m valid window rest upper R I U T) as B. apply Forall_app.
    split; [apply B|]. apply Forall_flat_map, Forall_forall. intros batch _. apply Forall_app. split; apply B.
  Qed.

  Lemma slide_copies window : Forall (fun o => is_copy o = true) (slide window m) /\ Forall (in_bounds 0 0) (slide window m).
  Proof.
    unfold slide. destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & _).
    destruct (_ && _) eqn:E.
    - apply andb_true_iff in E as [_ R]. split; [apply slide_all_copies|now apply slide_all_bounds].
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  Lemma slide_pairs_copies : Forall (fun o => is_copy o = true) (slide_pairs m) /\ Forall (in_bounds 0 0) (slide_pairs m).
  Proof.
    unfold slide_pairs. destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & _).
    destruct (_ && _) eqn:E.
    - apply andb_true_iff in E as [_ R]. split; [apply halves_copies, slide_all_copies|now apply halves_bounds, slide_all_bounds].
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  Lemma move_runs_copies wide :
    Forall (fun o => is_copy o = true) (move_runs wide m) /\ Forall (in_bounds 0 0) (move_runs wide m).
  Proof.
    unfold move_runs. destruct (start false m) as [rest upper] eqn:S. destruct (by_runs_bounds _ _ _ S) as [A B].
    specialize (B 0 0 ltac:(lia) ltac:(lia)). destruct (presorted _ _) eqn:P; [|split; assumption].
    unfold by_runs in A, B. rewrite P in A, B. rewrite Forall_forall in A, B.
    split; apply Forall_flat_map, Forall_forall; intros o O; specialize (A o O); specialize (B o O); destruct wide;
      (destruct o; [apply move_up_bounds; [lia|exact B]|constructor; [assumption|constructor]..]).
  Qed.

  Lemma area_copies : Forall (fun o => is_copy o = true) (area m) /\ Forall (in_bounds 0 0) (area m).
  Proof.
    unfold area. pose proof header_bounds. pose proof new_upper_edge as E.
    destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & L & _).
    split; constructor; try reflexivity.
    - apply Forall_forall. intros o O. apply filter_In in O. apply O.
    - cbn [in_bounds save_area]. lia.
    - apply (incl_Forall (incl_filter is_copy _)). eapply Forall_impl; [intro o; apply contained_in_bounds|
        apply (singles_contained edge (pd_upper m) (pd_special m)); auto using Restore_ok, items_fit]; lia.
  Qed.

  Lemma climb_copies pieces : Forall (fun o => is_copy o = true) (climb pieces m) /\ Forall (in_bounds 0 0) (climb pieces m).
  Proof.
    unfold climb. pose proof header_bounds. pose proof new_upper_edge as N.
    destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & _). destruct (_ && _) eqn:E.
    - apply andb_true_iff in E as [_ R]. apply (climb_all_bounds m page_m valid); auto; lia.
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  Lemma lines_copies : Forall (fun o => is_copy o = true) (lines m) /\ Forall (in_bounds LINE LINE) (lines m).
  Proof.
    unfold lines. pose proof header_bounds as H.
    destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & L & _).
    change (new_upper m) with (new_upper_of m) in T.
    pose proof (total_nonneg rest (rest_nonneg m page_m valid false rest upper S)).
    destruct (LINE <=? new_upper_of m) eqn:E.
    - apply Z.leb_le in E. destruct (restore_lines_bounds m page_m valid rest I upper ltac:(lia) U) as [A B].
      split; constructor; try reflexivity; try constructor; try (apply Forall_app; split; auto; repeat constructor); try reflexivity;
        cbn [in_bounds save_lines]; unfold line_end, LINE, BLCKSZ in *; div_lia.
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; unfold LINE; lia.
  Qed.

  Lemma by_depth_copies : Forall (fun o => is_copy o = true) (by_depth m) /\ Forall (in_bounds LINE 0) (by_depth m).
  Proof.
    unfold by_depth. pose proof header_bounds. pose proof new_upper_edge.
    destruct (start false m) as [rest upper] eqn:S. destruct (start_facts _ _ _ S) as (I & U & T & _).
    pose proof (total_nonneg rest (rest_nonneg m page_m valid false rest upper S)).
    destruct (_ <=? _) eqn:E.
    - apply Z.leb_le in E.
      assert (D : forall d, Forall (fun o => is_copy o = true) (lines_at (LINE * Z.of_nat d) rest upper) /\
        Forall (in_bounds LINE 0) (lines_at (LINE * Z.of_nat d) rest upper))
        by (intro d; apply (lines_at_bounds m page_m valid); auto; unfold LINE; lia).
      split; apply Forall_app; (split; [apply Forall_flat_map, Forall_forall; intros d _; apply D|]); constructor; try constructor;
        cbn [is_copy in_bounds]; try reflexivity; change (new_upper m) with (new_upper_of m) in *; unfold LINE; lia.
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; unfold LINE; lia.
  Qed.

  Lemma by_slots_copies : Forall (fun o => is_copy o = true) (by_slots m) /\ Forall (in_bounds 0 0) (by_slots m).
  Proof.
    unfold by_slots. destruct (start false m) as [rest upper] eqn:S. destruct (slots_fit m) eqn:E.
    - apply Forall_and_inv, (fit_permutes m valid E m).
    - destruct (by_runs_bounds _ _ _ S) as [A B]. split; [exact A|]. apply B; lia.
  Qed.

  (** *** All together *)
  Lemma no_stores p : Forall (fun o => is_copy o = true) p -> filter is_store p = [].
  Proof. induction 1 as [|o p C _ IH]; cbn; [reflexivity|]. unfold is_store in *. now rewrite C. Qed.

  (** Ours are copies only, all stores after them. *)
  Definition ours (a : algorithm) : Prop := a <> PG13 /\ a <> PG14.

  Lemma ours_copies a : ours a -> Forall (fun o => is_copy o = true) (body a m).
  Proof.
    intros [? ?]. destruct a; try congruence; [apply gather_copies|apply squeeze_copies|apply permute_copies|apply slide_copies
      |apply slide_pairs_copies|apply move_runs_copies|apply area_copies|apply climb_copies|apply lines_copies
      |apply by_depth_copies|apply by_slots_copies].
  Qed.

  Lemma body_packs a scratch0 i :
    page (exec (filter is_copy (body a m)) (State m scratch0)) i = packed (placed (order_of a) m) m m i.
  Proof.
    destruct a; [apply pg13_packs|apply pg14_packs|apply gather_packs|..]; try assumption.
    all: rewrite filter_copies by now apply ours_copies.
    all: [> apply squeeze_packs|apply permute_packs|apply slide_packs|apply slide_pairs_packs|apply move_runs_packs|apply area_packs|apply climb_packs|apply lines_packs
      |apply by_depth_packs|apply by_slots_packs]; assumption.
  Qed.

  Lemma ours_order a : ours a -> order_of a = ItemOrder.
  Proof. intros [? ?]. now destruct a. Qed.

  (** They may write below the edge for a while, since they put back what they found. *)
  Lemma ours_splits a scratch0 : ours a -> splits edge (body a m) (State m scratch0).
  Proof.
    intros O. pose proof (ours_copies a O) as C. pose proof new_upper_edge as E.
    unfold splits. rewrite filter_copies, no_stores by exact C. split; [reflexivity|].
    intros i I. rewrite <- (filter_copies _ C), body_packs, (ours_order a O).
    apply packed_below; [now apply valid_nonneg|]. unfold new_upper in E. cbn [ordered]. lia.
  Qed.

  Lemma upstream_stores a : a = PG13 \/ a = PG14 -> exists pre pl,
    placed (order_of a) m = map (fun it => (it, off it)) pre ++ pl /\ filter is_store (body a m) = store_words (moved_words pl).
  Proof.
    intros [-> | ->]; cbn [order_of body].
    - exists [], (placed Offset m). split; [reflexivity|]. unfold pg13, placed, ordered.
      destruct (any_overlap _); cbn [filter is_store is_copy negb save_area]; now apply filter_store_singles.
    - unfold pg14, pg14_presorted, pg14_sparse, pg14_dense. destruct (start _ _) as [rest upper] eqn:S.
      destruct (start_facts _ _ _ S) as (_ & _ & _ & _ & pre & P).
      destruct (presorted _ _); [|destruct (is_sparse m)].
      + exists pre, (place rest upper). split; [exact P|]. now apply filter_store_runs.
      + exists [], (placed ItemOrder m). split; [reflexivity|]. rewrite filter_app.
        rewrite no_stores by (apply Forall_forall; intros x X; now apply in_map_iff in X as (it & <- & _)).
        now apply filter_store_runs.
      + exists pre, (place rest upper). split; [exact P|]. cbn [filter is_store is_copy negb save_area]. now apply filter_store_runs.
  Qed.

  (** The stores after the body: the line pointers that it has not set. *)
  Definition rest_words (a : algorithm) : list (Z * Z) :=
    match a with
    | PG13 | PG14 => zeroed_words m
    | _ => all_words (line_pointers m) (pd_special m)
    end.

  Lemma ours_words a : ours a -> rest_words a = all_words (line_pointers m) (pd_special m).
  Proof. intros [? ?]. now destruct a. Qed.

  Lemma program_parts a truncate : program a truncate m = (body a m ++ store_words (rest_words a)) ++ write_header truncate m.
  Proof. unfold program. destruct a; cbn [body rest_words]; now rewrite ?zero_unused_words, ?write_line_pointers_words. Qed.

  Lemma body_and_words a scratch0 : let s := State m scratch0 in exists l, rewrites m (order_of a) l /\
    splits edge (body a m ++ store_words (rest_words a)) s /\
    filter is_store (body a m ++ store_words (rest_words a)) = store_words l /\
    filter is_copy (body a m ++ store_words (rest_words a)) = filter is_copy (body a m) /\
    Forall (low_store edge) (store_words (rest_words a)).
  Proof.
    intros s. pose proof header_bounds as H.
    assert (G : exists l, rewrites m (order_of a) l /\ splits edge (body a m) s /\
      Forall (low_store edge) (store_words (rest_words a)) /\
      filter is_store (body a m) ++ store_words (rest_words a) = store_words l).
    { assert (D : (a = PG13 \/ a = PG14) \/ ours a) by (unfold ours; destruct a; auto; right; now split).
      destruct D as [U|O].
      - destruct (upstream_stores a U) as (pre & pl & P & F).
        pose proof (upstream_rewrites m page_m valid _ pre pl P) as R. eexists. split; [exact R|].
        split; [apply (contained_splits edge (pd_upper m) (pd_special m)); [lia|destruct U as [->| ->]; [apply pg13_contained|apply pg14_contained]]|].
        assert (rest_words a = zeroed_words m) as -> by (destruct U; now subst a).
        rewrite F. unfold store_words. rewrite <- map_app. split; [|reflexivity].
        pose proof (rewrites_low _ _ R) as Q. unfold store_words in Q. rewrite map_app in Q. now apply Forall_app in Q.
      - pose proof (all_words_rewrite m valid) as R. rewrite (ours_order a O), (ours_words a O). eexists. split; [exact R|].
        split; [now apply ours_splits|]. split; [exact (rewrites_low _ _ R)|]. now rewrite no_stores by now apply ours_copies. }
    destruct G as (l & R & S & Q & F). exists l. destruct (low_stores edge _ Q) as (A & B & _).
    split; [exact R|]. split; [now apply splits_app|]. rewrite !filter_app, A, B, app_nil_r. auto.
  Qed.

  Lemma repaired_packed o truncate i : edge <= i -> repaired o truncate m i = packed (placed o m) m m i.
  Proof.
    intros I. pose proof header_bounds. unfold repaired. fold edge. cases; try lia; reflexivity.
  Qed.

  (** Operations that copy what [a] copies, store line pointers on the way, and then write the header. *)
  Lemma parts_repair a truncate scratch0 p l i : rewrites m (order_of a) l -> splits edge p (State m scratch0) ->
    filter is_store p = store_words l -> filter is_copy p = filter is_copy (body a m) ->
    page (exec (p ++ write_header truncate m) (State m scratch0)) i = repaired (order_of a) truncate m i.
  Proof.
    intros R (High & Low) F C. pose proof header_bounds. rewrite exec_app, write_header_spec, free_lines by assumption.
    rewrite C in High. rewrite F in Low. unfold repaired. fold edge. unfold new_flags.
    destruct (Z.le_gt_cases edge i) as [I|I].
    - rewrite High, body_packs by exact I. clear - H I. cases; try lia; reflexivity.
    - rewrite Low by exact I. destruct (Z.le_gt_cases 24 i) as [J|J].
      + rewrite (rewrites_spec m page_m valid _ l (State m scratch0) R) by (unfold edge in *; auto; lia).
        clear - H I J. cases; try lia; reflexivity.
      + assert (E : page (exec (store_words l) (State m scratch0)) i = m i).
        { destruct R as [R _]. destruct (store_words_spec (new_word (order_of a) m) l) with (s := State m scratch0) as [X _];
            [intros n w W; destruct (R n w W); split; [lia|assumption]|]. now rewrite X. }
        rewrite E. unfold placed. rewrite packed_below; [clear - H I J; cases; try lia; reflexivity| |].
        * eapply permuted_nonneg; eauto using ordered_permutation.
        * rewrite <- (total_permutation _ _ (ordered_permutation _ (items m))).
          pose proof new_upper_edge. unfold new_upper in *. lia.
  Qed.

  Lemma program_repairs a truncate scratch0 i :
    page (exec (program a truncate m) (State m scratch0)) i = repaired (order_of a) truncate m i.
  Proof.
    destruct (body_and_words a scratch0) as (l & R & S & F & C & _). rewrite program_parts. now apply (parts_repair _ _ _ _ l).
  Qed.

  Lemma program_bounds a truncate : Forall (in_bounds (scratch_below a) (scratch_above a)) (program a truncate m).
  Proof.
    pose proof header_bounds as H. rewrite program_parts. apply Forall_app. split; [apply Forall_app; split|].
    - assert (U : forall p, Forall (contained edge (pd_upper m) (pd_special m)) p -> Forall (in_bounds 0 0) p).
      { intros p. apply Forall_impl. intros o. apply contained_in_bounds; lia. }
      destruct a; cbn [body scratch_below scratch_above];
        [apply U, pg13_contained|apply U, pg14_contained|apply gather_bounds|apply squeeze_copies|apply permute_copies
        |apply slide_copies|apply slide_pairs_copies|apply move_runs_copies|apply area_copies|apply climb_copies|apply lines_copies
        |apply by_depth_copies|apply by_slots_copies].
    - destruct (body_and_words a m) as (l & [R _] & _ & F & _ & Q).
      apply Forall_forall. intros o O. assert (O' : In o (store_words l)).
      { rewrite <- F, filter_app. apply in_or_app. right. apply filter_In. split; [exact O|].
        apply in_map_iff in O as (x & <- & _). reflexivity. }
      apply in_map_iff in O' as ([n w] & <- & I). apply R in I.
      cbn. unfold lp_address, HEADER_SIZE, BLCKSZ, edge in *. lia.
    - unfold write_header. repeat constructor; cbn; unfold BLCKSZ; lia.
  Qed.
End Valid.

(** On every valid page each algorithm gives exactly the page of the specification, in all bytes, whatever the scratch
    area held before. *)
Theorem page_is_repaired : forall a truncate m scratch0, is_page m -> valid_page m ->
  forall i, run a truncate m scratch0 i = repaired (order_of a) truncate m i.
Proof.
  intros a truncate m scratch0 P V i. unfold run, page_repair_fragmentation.
  rewrite (proj2 (check_iff_valid m) V). now apply program_repairs.
Qed.

(** A page that is not valid is refused, and none of its bytes changes. *)
Theorem refused_is_unchanged : forall a truncate m scratch0, ~ valid_page m ->
  (exists r, page_repair_fragmentation a truncate m = inl r) /\ forall i, run a truncate m scratch0 i = m i.
Proof.
  intros a truncate m scratch0 V. unfold run, page_repair_fragmentation.
  destruct (check m) as [r|] eqn:C; [|exfalso; apply V, check_iff_valid, C]. split; [now exists r|reflexivity].
Qed.

(** On a valid page no algorithm reads or writes outside the 8192 bytes of the page, or outside the scratch area, which
    has one window's width more below, or one cache line more above. *)
Theorem stays_in_bounds : forall a truncate m, is_page m -> valid_page m ->
  Forall (in_bounds (scratch_below a) (scratch_above a)) (program a truncate m).
Proof. intros. now apply program_bounds. Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * Every algorithm's copies pack the tuples, on every valid page *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode.

(** ** Sorting by falling lp_off *)
Lemma insert_permutation it its : Permutation (it :: its) (insert it its).
Proof.
  induction its as [|x r IH]; cbn; [auto|]. destruct (_ <=? _); [auto|].
  rewrite perm_swap. now constructor.
Qed.
Lemma sort_permutation its : Permutation its (sort its).
Proof. induction its as [|it r IH]; cbn; [auto|]. rewrite <- insert_permutation. now constructor. Qed.

Lemma ordered_permutation o its : Permutation its (ordered o its).
Proof. destruct o; [apply sort_permutation|reflexivity]. Qed.

Lemma total_permutation l l' : Permutation l l' -> total l = total l'.
Proof. induction 1; cbn; lia. Qed.

Lemma any_overlap_chain_below r : forall a, any_overlap (a :: r) = false -> chain r (off a).
Proof.
  induction r as [|b r IH]; intros a O; [exact I|].
  cbn [any_overlap] in O. apply orb_false_iff in O as [O1 O2]. apply Z.ltb_ge in O1.
  split; [exact O1|]. apply IH, O2.
Qed.
Lemma any_overlap_chain its top : (forall it, In it its -> stop it <= top) -> any_overlap its = false -> chain its top.
Proof.
  intros B O. destruct its as [|a r]; [exact I|]. split; [apply B; now left|]. now apply any_overlap_chain_below.
Qed.

(** ** What a valid page gives *)
Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma valid_nonneg : nonneg (items m).
  Proof. apply items_nonneg; [exact page_m|apply valid]. Qed.

  Lemma valid_item it : In it (items m) -> item_ok m it.
  Proof. destruct valid as (_ & F & _). rewrite Forall_forall in F. apply F. Qed.

  Lemma valid_stop it : In it (items m) -> stop it <= pd_special m.
  Proof. intros I. apply valid_item in I. apply I. Qed.

  Lemma permuted_nonneg its : Permutation (items m) its -> nonneg its.
  Proof.
    intros P. apply Forall_forall. intros it I. pose proof (proj1 (Forall_forall _ _) valid_nonneg) as N.
    apply N. revert I. apply Permutation_in. now symmetry.
  Qed.

  (** The bytes of the tuple area in scratch. *)
  Lemma restored its upper scratch0 top : nonneg its ->
    (forall it, In it its -> pd_upper m <= off it /\ stop it <= top) ->
    forall i, page (exec (single_copies Restore its upper) (step (save_area m top) (State m scratch0))) i =
              packed (place its upper) m m i.
  Proof.
    intros N B i. destruct (single_restores its N upper (step (save_area m top) (State m scratch0))) as [_ ->].
    cbn [step page scratch save_area]. apply packed_src. intros it I j J. destruct (B it I). unfold copy. cases; try lia; same.
  Qed.

  Lemma pg13_packs scratch0 i :
    page (exec (filter is_copy (pg13 m)) (State m scratch0)) i = packed (placed Offset m) m m i.
  Proof.
    unfold pg13, placed, ordered. pose proof (sort_permutation (items m)) as P.
    pose proof (permuted_nonneg _ P) as N.
    assert (S : forall it, In it (sort (items m)) -> pd_upper m <= off it /\ stop it <= pd_special m).
    { intros it I. symmetry in P. apply (Permutation_in _ P) in I. apply valid_item in I.
      unfold item_ok in I. lia. }
    destruct (any_overlap (sort (items m))) eqn:O.
    - cbn [filter is_copy save_area]. rewrite filter_singles by easy. rewrite exec_cons. now apply restored.
    - rewrite filter_singles by easy. apply (single_moves _ N (pd_special m)); [|lia].
      apply any_overlap_chain; [|exact O]. intros it I. now apply S.
  Qed.

  Lemma pg14_presorted_packs scratch0 i : chain (items m) (pd_special m) ->
    page (exec (filter is_copy (pg14_presorted m)) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    intros C. unfold pg14_presorted, placed, ordered.
    destruct (start false m) as [rest upper] eqn:S. pose proof (skip_packed _ _ _ _ m i valid_nonneg S) as E.
    destruct (skip_in_place_spec _ _ _ _ S) as (pre & Q & _ & _ & _ & D). specialize (D C).
    assert (N : nonneg rest) by (pose proof valid_nonneg as N; unfold nonneg in *; rewrite Q in N; now apply Forall_app in N as [_ N]).
    rewrite E. destruct (runs_move rest upper (State m scratch0) N D) as [-> _].
    now apply (single_moves _ N upper); [|lia].
  Qed.

  Lemma pg14_sparse_packs scratch0 i :
    page (exec (filter is_copy (pg14_sparse m)) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold pg14_sparse, placed, ordered. rewrite filter_app, exec_app.
    replace (filter is_copy (map (fun it => Save (off it) (off it) (len it)) (items m)))
      with (map (fun it => Save (off it) (off it) (len it)) (items m))
      by (induction (items m) as [|? ? IH]; cbn; congruence).
    destruct (save_items (items m) (State m scratch0)) as [P Q].
    set (s := exec (map _ _) _) in *.
    destruct (runs_restore (items m) (pd_special m) s valid_nonneg) as [-> _].
    destruct (single_restores _ valid_nonneg (pd_special m) s) as [_ ->].
    rewrite (packed_base _ _ _ m) by apply P. apply packed_src. intros it I j J. apply Q. right. eauto.
  Qed.

  Lemma start_spec whole rest upper : start whole m = (rest, upper) -> exists pre, items m = pre ++ rest /\
    placed ItemOrder m = map (fun it => (it, off it)) pre ++ place rest upper /\ upper - total rest = new_upper m /\
    upper = pd_special m - total pre /\ (chain (items m) (pd_special m) -> chain rest upper) /\
    (forall i, packed (placed ItemOrder m) m m i = packed (place rest upper) m m i).
  Proof.
    unfold start, placed, ordered, new_upper. destruct whole; intros S.
    - injection S as <- <-. exists []. cbn. repeat (split; [reflexivity || lia || auto|]). reflexivity.
    - destruct (skip_in_place_spec _ _ _ _ S) as (pre & E & P & T & U & C). exists pre.
      repeat (split; [assumption || lia|]). intros i. now apply skip_packed; [apply valid_nonneg|].
  Qed.

  Section Rest.
    Variables (whole : bool) (rest : list item) (upper : Z).
    Hypothesis started : start whole m = (rest, upper).

    Lemma rest_incl it : In it rest -> In it (items m).
    Proof. destruct (start_spec _ _ _ started) as (pre & -> & _). intro. apply in_or_app. now right. Qed.
    Lemma rest_nonneg : nonneg rest.
    Proof.
      apply Forall_forall. intros it I. pose proof (proj1 (Forall_forall _ _) valid_nonneg) as N. apply N, rest_incl, I.
    Qed.
    Lemma rest_bounds it : In it rest -> pd_upper m <= off it /\ stop it <= save_top m rest upper.
    Proof.
      intro I. split; [apply valid_item, rest_incl, I|]. apply save_top_spec; [|exact I].
      intros x X. now apply valid_stop, rest_incl.
    Qed.
    Lemma rest_packed i : packed (placed ItemOrder m) m m i = packed (place rest upper) m m i.
    Proof. destruct (start_spec _ _ _ started) as (pre & _ & _ & _ & _ & _ & E). apply E. Qed.

    Lemma restore_runs_pack scratch0 i top : (forall it, In it rest -> pd_upper m <= off it /\ stop it <= top) ->
      page (exec (filter is_copy (save_area m top :: runs Restore rest upper)) (State m scratch0)) i =
      packed (place rest upper) m m i.
    Proof.
      intros B. cbn [filter is_copy save_area]. rewrite exec_cons.
      destruct (runs_restore rest upper (step (Save (pd_upper m) (pd_upper m) (top - pd_upper m)) (State m scratch0)) rest_nonneg)
        as [-> _].
      apply (restored rest upper scratch0 top rest_nonneg B).
    Qed.
  End Rest.

  Lemma pg14_dense_packs scratch0 i :
    page (exec (filter is_copy (pg14_dense m)) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold pg14_dense. destruct (start false m) as [rest upper] eqn:S.
    rewrite (rest_packed _ _ _ S). apply (restore_runs_pack _ _ _ S). intros it I. now apply (rest_bounds _ _ _ S).
  Qed.

  Lemma pg14_packs scratch0 i :
    page (exec (filter is_copy (pg14 m)) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold pg14. destruct (presorted _ _) eqn:P; [|destruct (is_sparse m)].
    - apply pg14_presorted_packs. now apply valid.
    - apply pg14_sparse_packs.
    - apply pg14_dense_packs.
  Qed.

  Lemma filter_copies p : Forall (fun o => is_copy o = true) p -> filter is_copy p = p.
  Proof. induction 1 as [|o p E _ IH]; cbn; [reflexivity|]. now rewrite E, IH. Qed.

  Lemma windows_copies window its : forall upper, Forall (fun o => is_copy o = true) (windows window its upper).
  Proof. induction its; intro; cbn; constructor; auto. Qed.

  Lemma gather_copies window : Forall (fun o => is_copy o = true) (gather window m).
  Proof.
    unfold gather, by_windows, by_runs. destruct (start _ _) as [rest upper]. destruct (windows_fit _ _).
    - apply Forall_app. split; [apply windows_copies|repeat constructor].
    - apply Forall_forall. intros o I. apply filter_In in I. apply I.
  Qed.

  Lemma windows_wide window : windows_fit m window = true -> forall it, In it (items m) -> len it <= width window it.
  Proof.
    intros W it I. destruct window as [w|]; cbn in *; [|lia]. apply andb_true_iff in W as [W _].
    rewrite forallb_forall in W. now apply Z.leb_le, W.
  Qed.

  Lemma by_runs_packs whole rest upper scratch0 i : start whole m = (rest, upper) ->
    page (exec (by_runs m rest upper) (State m scratch0)) i = packed (place rest upper) m m i.
  Proof.
    intros S. unfold by_runs. pose proof (rest_nonneg _ _ _ S) as N. destruct (presorted _ _) eqn:O.
    - destruct (start_spec _ _ _ S) as (_ & _ & _ & _ & _ & D & _). specialize (D (proj2 (proj2 (proj2 (proj2 valid))) O)).
      destruct (runs_move rest upper (State m scratch0) N D) as [-> _]. now apply (single_moves _ N upper); [|lia].
    - apply (restore_runs_pack _ _ _ S). intros it I.
      split; [apply valid_item|apply valid_stop]; apply (rest_incl _ _ _ S), I.
  Qed.

  Lemma gather_packs window scratch0 i :
    page (exec (filter is_copy (gather window m)) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    rewrite filter_copies by apply gather_copies. unfold gather.
    destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed _ _ _ S). pose proof (rest_nonneg _ _ _ S) as N.
    destruct (windows_fit m window) eqn:W.
    - unfold by_windows. rewrite exec_app.
      assert (W' : Forall (fun it => len it <= width window it) rest).
      { apply Forall_forall. intros it I. apply (windows_wide _ W), (rest_incl _ _ _ S), I. }
      destruct (windows_spec window rest N W' upper (State m scratch0)) as [P Q].
      cbn [exec fold_left step page]. unfold copy at 1. pose proof (total_nonneg _ N).
      change (fold_left (fun s o => step o s) ?p ?s) with (exec p s) in *.
      destruct (Z.leb_spec (upper - total rest) i), (Z.ltb_spec i (upper - total rest + total rest)); cbn [andb].
      + replace (upper - total rest + (i - (upper - total rest))) with i by lia. rewrite Q by lia. cbn [page scratch].
        apply packed_covered; [exact N|lia].
      + rewrite P, packed_above by (auto; lia). reflexivity.
      + rewrite P, packed_below by (auto; lia). reflexivity.
      + rewrite P, packed_below by (auto; lia). reflexivity.
    - now apply (by_runs_packs false).
  Qed.

  Lemma area_packs scratch0 i : page (exec (area m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold area. destruct (start false m) as [rest upper] eqn:S. rewrite (rest_packed _ _ _ S), exec_cons, filter_singles by easy.
    apply restored; [apply (rest_nonneg _ _ _ S)|]. intros it I.
    split; [apply valid_item|apply valid_stop]; apply (rest_incl _ _ _ S), I.
  Qed.
End Valid.

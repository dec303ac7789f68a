(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge of a raw-sorted array by two searches *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms Search Arc.
Local Open Scope Z_scope.

(* A look at the first or the last element spares a search whose answer it tells. *)
Lemma first_spec a x below rest : array a 0 (below ++ rest) ->
  Forall (fun v => v < x) below -> Forall (fun v => x <= v) rest -> below ++ rest <> [] ->
  exists v, load a 0 = Some v /\
    (if x <=? v then Some 0 else lower_bound a x 0 (zlength (below ++ rest))) = Some (zlength below).
Proof.
  intros A B R N. assert (0 < zlength (below ++ rest)) by (destruct (below ++ rest); [easy|simpl; lia]).
  destruct (probe a x 0 below rest A B R 0) as (v & V & C); [lia|]. exists v. split; [auto|].
  rewrite Z.leb_antisym, C. destruct (Z.ltb_spec 0 (0 + zlength below)); simpl; [|f_equal; lia].
  rewrite app_length. apply (lower_bound_spec a x 0 below rest A B R); rewrite ?app_length; lia.
Qed.

Lemma last_spec a x below rest : array a 0 (below ++ rest) ->
  Forall (fun v => v < x) below -> Forall (fun v => x <= v) rest -> below ++ rest <> [] ->
  exists v, load a (zlength (below ++ rest) - 1) = Some v /\
    (if v <? x then Some (zlength (below ++ rest)) else lower_bound a x 0 (zlength (below ++ rest))) =
      Some (zlength below).
Proof.
  intros A B R N. assert (0 < zlength (below ++ rest)) by (destruct (below ++ rest); [easy|simpl; lia]).
  destruct (probe a x 0 below rest A B R (zlength (below ++ rest) - 1)) as (v & V & C); [lia|].
  exists v. split; [auto|]. rewrite C. rewrite app_length in *.
  destruct (Z.ltb_spec (Z.of_nat (length below + length rest) - 1) (0 + zlength below)); [f_equal; lia|].
  apply (lower_bound_spec a x 0 below rest A B R); rewrite ?app_length; lia.
Qed.

(* Where it begins depends on xmin no more than by the guess. *)
Lemma gap_start_spec a past xmin below rest : array a 0 (below ++ rest) ->
  Forall (fun v => v < past) below -> Forall (fun v => past <= v) rest ->
  gap_start (zlength (below ++ rest)) past xmin a = Some (zlength below).
Proof.
  intros A B R. unfold gap_start, LONG. set (n := zlength (below ++ rest)).
  assert (0 <= zlength below <= n) by (subst n; rewrite app_length; lia).
  destruct (Z.ltb_spec n (2 ^ 16)) as [N|N].
  { replace (Some (zlength below)) with (Some (0 + zlength below)) by (f_equal; lia).
    apply (lower_bound_spec a past 0 below rest A B R); lia. }
  pose proof (Z.div_mod n 8 ltac:(lia)). pose proof (Z.mod_pos_bound n 8 ltac:(lia)).
  set (step := n / 8) in *. clearbody step.
  destruct (count_below_spec a past 0 below rest A B R 0 step 7) as (c & E & C & U & V); [lia|lia|lia|].
  rewrite E. cbn [mbind option_bind]. destruct (Z.eqb_spec c 7) as [->|N7].
  { replace (Some (zlength below)) with (Some (0 + zlength below)) by (f_equal; lia).
    apply (lower_bound_spec a past 0 below rest A B R); lia. }
  assert (zlength below < (c + 1) * step) by (apply V; lia). clear V. assert (c * step <= 6 * step) by nia.
  destruct (probe a past 0 below rest A B R (c * step + step - 1)) as (u & Lu & _); [nia|].
  destruct (probe a past 0 below rest A B R (c * step + 2 * step - 1)) as (v & Lv & _); [nia|].
  rewrite Lu. cbn [mbind option_bind]. rewrite Lv. cbn [mbind option_bind].
  replace (Some (zlength below)) with (Some (0 + zlength below)) by (f_equal; lia).
  apply (lower_bound_near_spec a past 0 below rest A B R); [nia|nia|].
  pose proof (Z.mod_pos_bound (v - u) RING ltac:(reflexivity)).
  assert (0 <= (if u <? xmin then 0 else u - xmin) * step / ((v - u) mod RING + 1)).
  { apply Z.div_pos; [|lia]. destruct (Z.ltb_spec u xmin); nia. }
  destruct (Z.ltb_spec ((if u <? xmin then 0 else u - xmin) * step / ((v - u) mod RING + 1)) step); lia.
Qed.

(** On a raw-sorted array of normal XIDs, two searches and one memmove keep exactly what the filter keeps, in
    order, wherever the arc lies; nothing past the last survivor changes. *)
Theorem purge_sorted_is_filter : forall l xmin a, sorted_unique l -> Forall normal l -> normal xmin -> array a 0 l ->
  exists a', purge_sorted (zlength l) xmin a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength (kept xmin l)) a a'.
Proof.
  intros l xmin a S N X A. unfold purge_sorted.
  destruct (Z.eqb_spec (zlength l) 0) as [L|L].
  { destruct l; [|simpl in L; lia]. exists a. simpl. auto using unchanged_refl. }
  assert (l <> []) by (intros ->; apply L; reflexivity). clear L.
  destruct (arc_cut l xmin S N X) as
    [(O & before & survivors & after & -> & K & B & M & M' & R)|(O & front & gap & back & -> & K & B & M & M' & R)];
    rewrite K; set (past := (xmin + HALF) mod RING) in *; clearbody past.
  - rewrite (proj2 (Z.leb_le xmin past)) by lia.
    destruct (first_spec a xmin before (survivors ++ after)) as (v & V & E); auto.
    { apply Forall_app. split; [auto|]. eapply Forall_impl; [exact R|]. simpl. lia. }
    rewrite V. cbn [mbind option_bind]. rewrite E. cbn [mbind option_bind]. clear v V E.
    destruct (last_spec a past (before ++ survivors) after) as (v & V & E); auto.
    { now rewrite <- app_assoc. }
    { apply Forall_app. split; [|auto]. eapply Forall_impl; [exact B|]. simpl. lia. }
    { now rewrite <- app_assoc. }
    rewrite <- app_assoc in V, E. rewrite V. cbn [mbind option_bind]. rewrite E. cbn [mbind option_bind]. clear v V E.
    replace (zlength (before ++ survivors) - zlength before) with (zlength survivors) by (rewrite app_length; lia).
    pose proof A as A1. apply array_app in A1. destruct A1 as [_ A1]. apply array_app in A1. destruct A1 as [A1 _].
    destruct (Z.ltb_spec 0 (zlength before)) as [L|L].
    + destruct (array_slice a 0 (before ++ survivors ++ after) 0 (zlength survivors)) as (old & O1 & O2); auto.
      { lia. } { lia. } { rewrite !app_length. lia. }
      destruct (memmove_spec a 0 (zlength before) survivors old) as (a' & E & V & U); auto. { lia. }
      rewrite E. exists a'. auto.
    + destruct before; [|simpl in L; lia]. exists a. auto using unchanged_refl.
  - rewrite (proj2 (Z.leb_gt xmin past)) by lia.
    rewrite (gap_start_spec a past xmin front (gap ++ back)); auto; cycle 1.
    { apply Forall_app. split; [auto|]. eapply Forall_impl; [exact R|]. simpl. lia. }
    cbn [mbind option_bind].
    assert (G : (none ← if zlength front =? zlength (front ++ gap ++ back) then Some true
                 else v ← load a (zlength front); Some (xmin <=? v); Some none) = Some (zlength gap =? 0)).
    { destruct gap as [|g gap].
      - destruct back as [|b back]; [now rewrite app_nil_r, Z.eqb_refl|].
        rewrite (proj2 (Z.eqb_neq _ _)) by (rewrite app_length; simpl; lia).
        pose proof (load_in_array a 0 front b back A) as V. rewrite Z.add_0_l in V. rewrite V. simpl.
        inversion R; subst.
        now rewrite (proj2 (Z.leb_le _ _)).
      - rewrite (proj2 (Z.eqb_neq _ _)) by (rewrite app_length; simpl; lia).
        pose proof (load_in_array a 0 front g (gap ++ back) A) as V. rewrite Z.add_0_l in V. rewrite V. simpl.
        inversion M'; subst.
        now rewrite (proj2 (Z.leb_gt _ _)). }
    destruct (if zlength front =? zlength (front ++ gap ++ back) then _ else _) as [none|]; [|discriminate].
    cbn [mbind option_bind] in *. injection G as ->. destruct (Z.eqb_spec (zlength gap) 0) as [L|L].
    { destruct gap; [|simpl in L; lia]. exists a. auto using unchanged_refl. }
    rewrite (lower_bound_spec a xmin 0 (front ++ gap) back); auto; cycle 1.
    { now rewrite <- app_assoc. }
    { apply Forall_app. split; [|auto]. eapply Forall_impl; [exact B|]. simpl. lia. }
    { rewrite !app_length. lia. } { rewrite !app_length. lia. }
    cbn [mbind option_bind]. rewrite (proj2 (Z.ltb_ge (0 + zlength (front ++ gap)) _)) by (rewrite app_length; lia).
    replace (zlength (front ++ gap ++ back) - (0 + zlength (front ++ gap))) with (zlength back)
      by (rewrite !app_length; lia).
    replace (zlength (front ++ gap ++ back) - (0 + zlength (front ++ gap) - zlength front)) with
      (zlength (front ++ back)) by (rewrite !app_length; lia).
    destruct (array_slice a 0 (front ++ gap ++ back) (zlength front) (zlength back)) as (old & O1 & O2); auto.
    { lia. } { lia. } { rewrite !app_length. lia. }
    pose proof A as A2. rewrite app_assoc in A2. apply array_app in A2. destruct A2 as [_ A2].
    apply array_app in A. destruct A as [A1 _].
    destruct (memmove_spec a (0 + zlength front) (0 + zlength (front ++ gap)) back old) as (a' & E & V & U); auto.
    { lia. }
    rewrite Z.add_0_l in E at 1. rewrite E. cbn [mbind option_bind]. exists a'. split; [auto|].
    rewrite app_length, Nat2Z.inj_add. split.
    + apply array_app. split; [|auto]. eapply array_unchanged; eauto. lia.
    + eapply unchanged_trans; [apply unchanged_refl with (lo := 0) (hi := 0)|exact U|lia|lia].
Qed.

(** A sorted array without duplicates is still sorted and without duplicates after a purge. *)
Theorem kept_sorted_unique : forall l xmin, sorted_unique l -> sorted_unique (kept xmin l).
Proof.
  unfold sorted_unique, kept. intros l xmin S. induction S as [|x l S IH F]; simpl; [constructor|].
  destruct (keeps xmin x); [|auto]. constructor; [auto|]. rewrite Forall_forall in *. intros y Y.
  apply F. apply elem_of_list_In in Y. apply List.filter_In in Y. now apply elem_of_list_In.
Qed.

(** With one search the purge is wrong across the wrap: XID 3 follows xmin = 2^32 - 1 and must be kept, but lies before
    it in raw order and is lost; and an XID past the end of the arc, which must go, is kept. *)
Theorem one_search_is_wrong :
  (exists l xmin a a', sorted_unique l /\ Forall normal l /\ normal xmin /\ array a 0 l /\
     purge_one_search (zlength l) xmin a = Some (1, a') /\ array a' 0 [4294967295] /\
     kept xmin l = [3; 4294967295]) /\
  (exists l xmin a a', sorted_unique l /\ Forall normal l /\ normal xmin /\ array a 0 l /\
     purge_one_search (zlength l) xmin a = Some (2, a') /\ array a' 0 [3; 4294967295] /\ kept xmin l = [3]).
Proof.
  assert (sorted_unique [3; 4294967295] /\ Forall normal [3; 4294967295]) as [S N].
  { unfold sorted_unique, normal, FIRST_NORMAL, RING. repeat first [split | constructor]; lia. }
  set (a := allocate ∅ 0 [3; 4294967295]).
  assert (A : array a 0 [3; 4294967295]) by apply allocate_array.
  split; [exists [3; 4294967295], 4294967295, a|exists [3; 4294967295], 3, a]; eexists;
    (split; [exact S|split; [exact N|split; [split; unfold RING, FIRST_NORMAL; lia|split; [exact A|split;
      [vm_compute; reflexivity|split; vm_compute; auto]]]]]).
Qed.

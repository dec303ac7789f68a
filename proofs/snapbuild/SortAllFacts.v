(* SPDX-License-Identifier: PostgreSQL *)
(** * The insertion into an array that is not sorted makes it the sorted union *)
From Coq Require Import ZArith Lia List Sorted Permutation.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts UpstreamFacts QuicksortSorts SideBySide
  SideBySideFacts SortAll.
Local Open Scope Z_scope.

(** [k] and [last] are kept; what is dropped stays behind them. *)
Lemma drop_equals_spec rest : forall m k last dropped, array m 0 (k ++ last :: dropped ++ rest) -> sorted_unique (k ++ [last]) ->
  StronglySorted Z.le (last :: rest) ->
  exists u dropped' m', drop_equals (length rest) (zlength k + 1 + zlength dropped) (zlength k + 1) m = Some (zlength u, m') /\
    array m' 0 (u ++ dropped') /\ length (u ++ dropped') = length (k ++ last :: dropped ++ rest) /\ sorted_unique u /\
    (forall x, In x u <-> In x (k ++ last :: rest)) /\ unchanged_outside 0 (zlength (k ++ last :: dropped ++ rest)) m m'.
Proof.
  induction rest as [|x rest IH]; intros m k last dropped A S L; cbn [length drop_equals].
  - exists (k ++ [last]), dropped, m. rewrite app_nil_r, <- !app_assoc, app_length in *. cbn [app length] in *.
    split; [do 2 f_equal; lia|]. split; [exact A|]. split; [now rewrite app_length|]. split; [exact S|].
    split; [reflexivity|apply unchanged_refl].
  - apply StronglySorted_inv in L as [L F]. inversion F as [|? ? Lx Fr]; subst. apply StronglySorted_inv in L as [Lr Fx].
    assert (X : load m (zlength k + 1 + zlength dropped) = Some x).
    { replace (zlength k + 1 + zlength dropped) with (0 + zlength (k ++ last :: dropped)) by (rewrite app_length; cbn [length]; lia).
      apply (load_in_array _ _ _ _ rest). now rewrite <- app_assoc. }
    assert (Y : load m (zlength k + 1 - 1) = Some last).
    { replace (zlength k + 1 - 1) with (0 + zlength k) by lia. now apply (load_in_array _ _ _ _ (dropped ++ x :: rest)). }
    rewrite X, Y. cbn [mbind option_bind]. destruct (Z.eqb_spec x last) as [->|N].
    + destruct (IH m k last (dropped ++ [last])) as (u & d & m' & E & A' & Len & Su & In' & U).
      * now rewrite <- app_assoc.
      * exact S.
      * now constructor.
      * rewrite <- app_assoc in Len, U. cbn [app] in Len, U. exists u, d, m'.
        replace (zlength k + 1 + zlength (dropped ++ [last])) with (zlength k + 1 + zlength dropped + 1) in E
          by (rewrite app_length; cbn [length]; lia).
        repeat (split; [assumption|]). split; [|exact U]. intros z. rewrite In', !in_app_iff. cbn [In]. tauto.
    + assert (Lt : last < x) by lia.
      assert (exists y d, dropped ++ x :: rest = y :: d ++ rest /\ length d = length dropped) as (y & d & D & Ld).
      { destruct dropped as [|y d]; [now exists x, []|]. exists y, (d ++ [x]). rewrite <- app_assoc. split; [reflexivity|].
        rewrite app_length. cbn [length]. lia. }
      destruct (store_in_array m 0 (k ++ [last]) y (d ++ rest) x) as (m1 & St & A1 & U1).
      { rewrite <- app_assoc. cbn [app]. now rewrite <- D. }
      replace (0 + zlength (k ++ [last])) with (zlength k + 1) in * by (rewrite app_length; cbn [length]; lia).
      rewrite St. cbn [mbind option_bind].
      destruct (IH m1 (k ++ [last]) x d) as (u & d' & m' & E & A' & Len & Su & In' & U).
      * exact A1.
      * apply sorted_unique_app. split; [exact S|]. split; [repeat constructor|]. rewrite Forall_app. split; [|repeat constructor; exact Lt].
        apply sorted_unique_app in S as (_ & _ & Fk). eapply Forall_impl; [exact Fk|]. intros z Z. inversion Z; subst.
        repeat constructor. lia.
      * now constructor.
      * exists u, d', m'. replace (zlength (k ++ [last]) + 1 + zlength d) with (zlength k + 1 + zlength dropped + 1) in E
          by (rewrite app_length; cbn [length]; lia).
        replace (zlength (k ++ [last]) + 1) with (zlength k + 1 + 1) in E by (rewrite app_length; cbn [length]; lia).
        assert (Same : length ((k ++ [last]) ++ x :: d ++ rest) = length (k ++ last :: dropped ++ x :: rest)).
        { rewrite D, <- app_assoc, !app_length. cbn [length]. rewrite !app_length. cbn [length app]. lia. }
        rewrite Same in Len, U. split; [exact E|]. split; [exact A'|]. split; [exact Len|]. split; [exact Su|]. split.
        -- intros z. rewrite In', !in_app_iff. cbn [In]. tauto.
        -- apply (unchanged_trans (zlength k + 1) (zlength k + 1 + 1) 0 (zlength (k ++ last :: dropped ++ x :: rest)) _ _ _ m1); auto; try lia.
           intros _. rewrite app_length. cbn [length]. rewrite app_length. cbn [length]. lia.
Qed.

(** Sorting leaves each XID once, and nothing is written behind the array. *)
Lemma sort_all_spec l m : array m 0 l -> exists u dropped m', sort_all (zlength l) m = Some (zlength u, m') /\
  array m' 0 (u ++ dropped) /\ length (u ++ dropped) = length l /\ sorted_unique u /\ (forall x, In x u <-> In x l) /\
  unchanged_outside 0 (zlength l) m m'.
Proof.
  intros A. unfold sort_all. destruct (quicksort_sorts (fun xid => xid) l m 0 A) as (l' & m1 & Q & A1 & P & O & U1).
  rewrite Nat2Z.id, Q. cbn [mbind option_bind].
  assert (Len : length l' = length l) by now rewrite P. rewrite <- Len in U1 |- *. destruct l' as [|last rest].
  - exists [], [], m1. split; [reflexivity|]. split; [exact I|]. split; [reflexivity|]. split; [constructor|].
    split; [intros x; now rewrite <- P|exact U1].
  - apply Sorted_StronglySorted in O; [|intros a b c; lia].
    assert (One : sorted_unique ([] ++ [last])) by repeat constructor.
    destruct (drop_equals_spec rest m1 [] last [] A1 One O) as (u & d & m2 & E & A2 & L & Su & In' & U2).
    exists u, d, m2. change (zlength []) with 0 in E. cbn [length app Z.of_nat] in *.
    replace (Z.to_nat (Z.of_nat (S (length rest)) - 1)) with (length rest) by lia.
    destruct (Z.ltb_spec 0 (Z.of_nat (S (length rest)))) as [_|]; [|lia]. split; [exact E|]. split; [exact A2|].
    split; [exact L|]. split; [exact Su|]. split; [intros x; now rewrite In', P|].
    intros i I. now rewrite U2, U1.
Qed.

(** The insertion of a commit's XIDs into an array in any order, which may have an XID several times, makes it the sorted
    union in place, and stays within the array, its space and the batch; if an XID is permanent, nothing changes. *)
Theorem insert_unsorted_is_union : forall l batch space a b, array a 0 (l ++ space) -> length space = length batch -> array b 0 batch ->
  exists n a', insert_unsorted (zlength l) (zlength batch) b a = Some (n, a') /\
    if forallb (fun x => 3 <=? x) batch
    then exists u, n = zlength u /\ sorted_union l batch u /\ array a' 0 u /\
           unchanged_outside 0 (zlength l + zlength batch) a a'
    else n = zlength l /\ a' = a.
Proof.
  intros l batch space a b A Ls B. unfold insert_unsorted. destruct (permanent_is_found batch b B) as (i & ->).
  cbn [mbind option_bind]. destruct (forallb (fun x => 3 <=? x) batch) eqn:N; cbn [negb]; [|eauto].
  apply array_app in A as [Al As]. destruct (sort_all_spec l a Al) as (k & d & a1 & -> & A1 & L1 & Sk & Ik & U1).
  cbn [mbind option_bind].
  assert (A2 : array a1 0 (k ++ take (length batch) (d ++ space))).
  { assert (W : array a1 0 (k ++ d ++ space)).
    { rewrite app_assoc. apply array_app. split; [exact A1|]. rewrite L1. apply (array_frame a); [|exact As]. intros z Z. apply U1. lia. }
    rewrite <- (take_drop (length batch) (d ++ space)), app_assoc in W. now apply array_app in W as [W _]. }
  destruct (insert_sorted_is_union k batch _ a1 b Sk A2) as (n & a2 & E & R); [|exact B|].
  { rewrite firstn_length, app_length. lia. }
  unfold insert_sorted in E. destruct (permanent_is_found batch b B) as (j & F). rewrite F, N in E. cbn [negb mbind option_bind] in E.
  rewrite E. exists n, a2. split; [reflexivity|]. rewrite N in R. destruct R as (u & -> & [Su Iu] & A3 & U2).
  exists u. split; [reflexivity|]. split; [split; [exact Su|intros x; now rewrite Iu, Ik]|]. split; [exact A3|].
  assert (zlength k <= zlength l) by (rewrite app_length in L1; lia).
  intros z Z. rewrite U2, U1; [reflexivity|lia..].
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The first step of an insert sorts the batch and drops duplicates *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list zmap.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec SortedFacts Algorithms Search Merge.
Local Open Scope Z_scope.

(** ** An XID's place in a chunk is the number of those below it *)

Lemma place_lt l x y : In x l -> x < y -> place l x < place l y.
Proof.
  intros X L. apply in_split in X. destruct X as (l1 & l2 & ->). rewrite !place_app.
  change (x :: l2) with ([x] ++ l2). rewrite !place_app, (place_none [x]), (place_all [x]) by (repeat constructor; lia).
  pose proof (place_le l1 x y ltac:(lia)). pose proof (place_le l2 x y ltac:(lia)). simpl. lia.
Qed.

Lemma place_bound l x : In x l -> 0 <= place l x < zlength l.
Proof.
  intros X. split; [unfold place; lia|]. apply in_split in X. destruct X as (l1 & l2 & ->). rewrite place_app.
  change (x :: l2) with ([x] ++ l2). rewrite place_app, (place_none [x]) by (repeat constructor; lia).
  assert (B : forall l, place l x <= zlength l).
  { intros l. unfold place. induction l as [|v l IH]; simpl; [lia|]. destruct (v <? x); simpl; lia. }
  pose proof (B l1). pose proof (B l2). rewrite !app_length. simpl. lia.
Qed.

Lemma count_below_place key l x : array key 0 l ->
  forall n, (n <= length l)%nat -> count_below key x 0 1 n = Some (place (take n l) x).
Proof.
  intros A. induction n as [|n IH]; intros N; [reflexivity|]. cbn [count_below]. rewrite IH by lia.
  cbn [mbind option_bind]. destruct (lookup_lt_is_Some_2 l n) as [y Y]; [lia|].
  assert (L : load key (0 + Z.of_nat (S n) * 1 - 1) = Some y).
  { rewrite <- (take_drop_middle _ _ _ Y) in A. apply load_in_array in A. rewrite firstn_length in A. rewrite <- A.
    f_equal. lia. }
  rewrite L. cbn [mbind option_bind]. rewrite (take_S_r _ _ _ Y), place_app. change (place [y] x) with
    (zlength (if y <? x then [y] else [])). destruct (y <? x); simpl; f_equal; lia.
Qed.

Lemma store_cell m c p x : array m 0 c -> 0 <= p < zlength c ->
  exists m', store m p x = Some m' /\ array m' 0 (<[Z.to_nat p := x]> c) /\ unchanged_outside p (p + 1) m m'.
Proof.
  intros A P. destruct (lookup_lt_is_Some_2 c (Z.to_nat p)) as [y Y]; [lia|].
  rewrite <- (take_drop_middle _ _ _ Y) in A. destruct (store_in_array _ _ _ _ _ x A) as (m' & S & A' & U).
  rewrite firstn_length in *. replace (0 + Z.of_nat (Z.to_nat p `min` length c)) with p in * by lia.
  exists m'. rewrite insert_take_drop by lia. auto.
Qed.

(** The XIDs [done] of the chunk stand at their places, and all other cells hold zero. *)
Definition ranked (l done c : list Z) : Prop := length c = length l /\
  (forall x, In x done -> c !! Z.to_nat (place l x) = Some x) /\
  (forall p x, c !! p = Some x -> x <> 0 -> In x done /\ p = Z.to_nat (place l x)).

(* The library's lemma has another name in Coq 8.20's std++ than in 8.16's. *)
Lemma length_after_insert (c : list Z) i x : length (<[i := x]> c) = length c.
Proof. revert i. induction c; intros [|i]; cbn; auto. Qed.

Lemma ranked_step l done c x : (forall y, In y (done ++ [x]) -> In y l) -> ranked l done c ->
  ranked l (done ++ [x]) (<[Z.to_nat (place l x) := x]> c).
Proof.
  intros I (L & P & Q). assert (X : In x l) by (apply I, in_or_app; right; now left).
  pose proof (place_bound l x X). split; [now rewrite length_after_insert|]. split.
  - intros y Y. destruct (Z.eq_dec y x) as [->|Ne]; [apply list_lookup_insert; lia|].
    apply in_app_or in Y. destruct Y as [Y|[Y|[]]]; [|congruence].
    assert (In y l) by (apply I, in_or_app; auto). pose proof (place_bound l y ltac:(auto)).
    rewrite list_lookup_insert_ne; [auto|]. intros E.
    destruct (Z.lt_total y x) as [O|[O|O]]; [|congruence|]; apply place_lt with (l := l) in O; auto; lia.
  - intros p y Y N. destruct (Nat.eq_dec p (Z.to_nat (place l x))) as [->|Ne].
    + rewrite list_lookup_insert in Y by lia. injection Y as ->. split; [apply in_or_app; right; now left|auto].
    + rewrite list_lookup_insert_ne in Y by auto. destruct (Q p y Y N). split; [apply in_or_app|]; auto.
Qed.

Definition squeezed (c : list Z) : list Z := List.filter (fun x => negb (x =? 0)) c.

Lemma squeezed_snoc c x : squeezed (c ++ [x]) = squeezed c ++ (if x =? 0 then [] else [x]).
Proof. unfold squeezed. rewrite List.filter_app. simpl. now destruct (x =? 0). Qed.

Lemma squeezed_in c x : In x (squeezed c) <-> In x c /\ x <> 0.
Proof. unfold squeezed. rewrite filter_In, negb_true_iff, Z.eqb_neq. reflexivity. Qed.

(* In increasing cells stand increasing XIDs. *)
Lemma squeezed_sorted c : (forall p q x y, (p < q)%nat -> c !! p = Some x -> c !! q = Some y -> x <> 0 -> y <> 0 -> x < y) ->
  sorted_unique (squeezed c).
Proof.
  unfold sorted_unique. induction c as [|x c IH]; intros O; [constructor|].
  assert (Sc : StronglySorted Z.lt (squeezed c)).
  { apply IH. intros p q y z L Y Z. apply (O (S p) (S q)); auto. lia. }
  unfold squeezed. simpl. destruct (Z.eqb_spec x 0) as [|N]; [exact Sc|]. constructor; [exact Sc|].
  apply List.Forall_forall. intros y Y. apply squeezed_in in Y. destruct Y as [Y NY].
  apply elem_of_list_In, elem_of_list_lookup in Y. destruct Y as [q Y]. apply (O 0%nat (S q)); auto. lia.
Qed.

Lemma ranked_squeezed l c : ranked l l c -> Forall (fun x => x <> 0) l ->
  sorted_unique (squeezed c) /\ forall x, In x (squeezed c) <-> In x l.
Proof.
  intros (L & P & Q) N. rewrite List.Forall_forall in N. split.
  - apply squeezed_sorted. intros p q x y O X Y NX NY. destruct (Q p x X NX) as [_ Px], (Q q y Y NY) as [_ Py].
    destruct (Z.lt_ge_cases x y) as [|G]; [auto|]. pose proof (place_le l y x G). lia.
  - intros x. rewrite squeezed_in. split.
    + intros [X NX]. apply elem_of_list_In, elem_of_list_lookup in X. destruct X as [p X]. now apply (Q p).
    + intros X. split; [|auto]. apply elem_of_list_In. eapply elem_of_list_lookup_2. apply (P x X).
Qed.

(** A chunk, in any order and with duplicates, becomes the sorted array of its XIDs; nothing outside it is written. *)
Lemma sort_chunk_sorts l b : array b 0 l -> Forall (fun x => x <> 0) l ->
  exists u stale b', sort_chunk (zlength l) b = Some (zlength u, b') /\ sorted_unique u /\
    (forall x, In x u <-> In x l) /\ array b' 0 (u ++ stale) /\ length (u ++ stale) = length l /\
    unchanged_outside 0 (zlength l) b b'.
Proof.
  intros A N. unfold sort_chunk. rewrite Nat2Z.id, (array_read _ _ _ A). cbn [mbind option_bind].
  destruct (write_spec (map (fun _ => 0) l) b 0 l A) as (b1 & -> & A1 & U1); [now rewrite map_length|].
  rewrite map_length in U1. cbn [mbind option_bind].
  pose proof (allocate_array l ∅ 0) as K. set (key := allocate ∅ 0 l) in *. clearbody key.
  (* all are ranked *)
  destruct (while_total (fun '(i, b') => exists done todo c, l = done ++ todo /\ i = zlength done /\ ranked l done c /\
      array b' 0 c /\ unchanged_outside 0 (zlength l) b b')
    (fun '(i, _) => zlength l - i) (rank_test (zlength l)) (rank_body (zlength l) key) (length l) (0, b1))
    as ([i b2] & E & I & T).
  - exists [], l, (map (fun _ => 0) l). split; [auto|]. split; [auto|]. split; [|auto]. split; [apply map_length|].
    split; [easy|]. intros p x X NX. exfalso. apply NX. apply elem_of_list_lookup_2, elem_of_list_In, in_map_iff in X.
    destruct X as (_ & <- & _). reflexivity.
  - lia.
  - intros [i b2] (done & todo & c & E & I & R & A2 & U2). eexists. split; [reflexivity|]. intros T.
    apply Z.ltb_lt in T. split; [lia|]. cbn [rank_body].
    destruct todo as [|x todo]; [rewrite E, app_nil_r in T; lia|].
    assert (X : load key i = Some x). { rewrite E in K. apply load_in_array in K. rewrite <- K. f_equal. lia. }
    rewrite X. cbn [mbind option_bind]. rewrite Nat2Z.id, (count_below_place key l x K (length l) ltac:(lia)), firstn_all.
    cbn [mbind option_bind]. assert (In x l) by (rewrite E; apply in_or_app; right; now left).
    pose proof (place_bound l x ltac:(auto)). destruct R as (Lc & R).
    destruct (store_cell b2 c (place l x) x A2) as (b3 & S & A3 & U3); [lia|]. rewrite S.
    eexists. split; [reflexivity|]. split; [|lia].
    exists (done ++ [x]), todo, (<[Z.to_nat (place l x) := x]> c). rewrite <- app_assoc, app_length. simpl.
    split; [auto|]. split; [lia|]. split; [|split; [auto|eapply unchanged_trans; eauto; lia]].
    apply ranked_step; [|split; auto]. intros y Y. rewrite E. apply in_app_or in Y. apply in_or_app. simpl in *. tauto.
  - rewrite E. cbn [mbind option_bind]. clear E. injection T as T. apply Z.ltb_ge in T.
    destruct I as (done & todo & c & E & I & R & A2 & U2). assert (todo = []) as ->.
    { destruct todo; [auto|]. rewrite E, app_length in T. simpl in T. lia. }
    rewrite app_nil_r in E. subst done. destruct (ranked_squeezed l c R N) as [S In']. destruct R as [Lc _].
    rewrite <- Lc in *. clear T I.
    (* the zeroes are squeezed out *)
    destruct (while_total (fun '(i, n, b') => exists done stale todo, c = done ++ todo /\ i = zlength done /\
        n = zlength (squeezed done) /\ i = n + zlength stale /\ array b' 0 (squeezed done ++ stale ++ todo) /\
        unchanged_outside 0 (zlength c) b b')
      (fun '(i, _, _) => zlength c - i) (squeeze_test (zlength c)) squeeze_body (length c) (0, 0, b2))
      as ([[i' n] b3] & E & I & T).
    + exists [], [], c. simpl. auto 10.
    + lia.
    + clear A1 A2 U1 U2 b1 b2. intros [[i' n] b2] (done & stale & todo & E & I & W & G & A2 & U2).
      eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T. split; [lia|]. cbn [squeeze_body].
      destruct todo as [|x todo]; [rewrite E, app_nil_r in T; lia|].
      assert (X : load b2 i' = Some x).
      { rewrite app_assoc in A2. apply load_in_array in A2. rewrite app_length in A2. rewrite <- A2. f_equal. lia. }
      rewrite X. cbn [mbind option_bind]. pose proof (squeezed_snoc done x) as Sn.
      destruct (next_cell stale x todo) as (y & stale' & En & Ln). rewrite En in A2.
      destruct (store_in_array _ _ _ _ _ x A2) as (b3 & St & A3 & U3). rewrite Z.add_0_l, <- W in *. rewrite St.
      assert (Lx : zlength c = i' + 1 + zlength todo) by (rewrite E, app_length; simpl; lia).
      assert (unchanged_outside 0 (zlength c) b b3) by (eapply unchanged_trans; eauto; lia).
      eexists. split; [reflexivity|]. split; [|lia]. destruct (x =? 0).
      * exists (done ++ [x]), (x :: stale'), todo. rewrite app_nil_r in Sn. rewrite Sn, <- !app_assoc, !app_length.
        simpl. repeat split; auto; lia.
      * exists (done ++ [x]), stale', todo. rewrite Sn, <- !app_assoc, !app_length. simpl. repeat split; auto; lia.
    + rewrite E. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T.
      destruct I as (done & stale & todo & Ec & I & W & G & A3 & U3). assert (todo = []) as ->.
      { destruct todo; [auto|]. rewrite Ec, app_length in T. simpl in T. lia. }
      rewrite app_nil_r in *. subst done. exists (squeezed c), stale, b3. rewrite W, app_length. split; [auto|].
      split; [auto|]. split; [auto|]. split; [auto|]. split; [lia|auto].
Qed.

(** ** A batch of chunks *)

Lemma sorted_snoc l u v : sorted_unique (l ++ [u]) -> u < v -> sorted_unique ((l ++ [u]) ++ [v]).
Proof.
  intros S L. apply sorted_unique_app. split; [auto|]. split; [repeat constructor|]. apply List.Forall_forall.
  intros x X. constructor; [|constructor]. apply in_app_or in X. destruct X as [X|[<-|[]]]; [|auto].
  assert (x < u) by (eapply sorted_cut; eauto; now left). lia.
Qed.

(* The part of the batch that rises. *)
Lemma rising_spec l b : array b 0 l -> exists run todo, l = run ++ todo /\ sorted_unique run /\
  while (Z.to_nat (zlength l)) (rising_test (zlength l) b) rising_body (if 0 <? zlength l then 1 else 0) =
    Some (zlength run).
Proof.
  intros A. destruct (while_total (fun n => exists run todo, l = run ++ todo /\ n = zlength run /\ sorted_unique run /\
      (todo <> [] -> run <> []))
    (fun n => zlength l - n) (rising_test (zlength l) b) rising_body (Z.to_nat (zlength l))
    (if 0 <? zlength l then 1 else 0)) as (n & E & I & _).
  - destruct l as [|x l]; [exists [], []|exists [x], l]; (split; [auto|]; split; [auto|]; split; [repeat constructor|easy]).
  - destruct l; simpl; lia.
  - intros n (run & todo & E & N & S & Ne). unfold rising_test. destruct (Z.ltb_spec n (zlength l)) as [L|L].
    + destruct todo as [|v todo]; [rewrite E, app_nil_r in L; lia|].
      destruct (exists_last (l := run)) as (front & u & ->); [auto using Ne; now apply Ne|].
      assert (V : load b n = Some v). { rewrite E in A. apply load_in_array in A. rewrite <- A. f_equal. lia. }
      assert (U : load b (n - 1) = Some u).
      { rewrite E, <- app_assoc in A. apply load_in_array in A. rewrite <- A. f_equal. rewrite app_length in N.
        simpl in N. lia. }
      rewrite U, V. cbn [mbind option_bind]. eexists. split; [reflexivity|]. intros T. apply Z.ltb_lt in T.
      split; [lia|]. eexists. split; [reflexivity|]. split; [|lia].
      exists ((front ++ [u]) ++ [v]), todo. split; [now rewrite <- app_assoc|]. split; [rewrite app_length; simpl; lia|].
      split; [now apply sorted_snoc|]. intros _. now destruct (front ++ [u]).
    + eexists. split; [reflexivity|]. discriminate.
  - destruct I as (run & todo & El & N & S & _). exists run, todo. subst n. auto.
Qed.

(** [done] was read and now stands in front as [run], sorted; [stale] cells follow, then the chunks still to be read. *)
Definition chunks_invariant (l : list Z) (b0 : memory) (s : Z * Z * memory) : Prop :=
  let '(i, n, b) := s in
  exists done run stale todo, l = done ++ todo /\ (i = zlength done \/ todo = [] /\ zlength l <= i) /\ n = zlength run /\
    length (run ++ stale) = length done /\ array b 0 (run ++ stale ++ todo) /\ sorted_unique run /\
    (forall x, In x run <-> In x done) /\ unchanged_outside 0 (zlength l) b0 b.

(* The next chunk of what is to be read. *)
Lemma next_chunk (todo : list Z) : exists c rest, todo = c ++ rest /\ zlength c = Z.min (zlength todo) CHUNK /\
  (zlength c = CHUNK \/ rest = []).
Proof.
  destruct (cut_at todo (Z.to_nat (Z.min (zlength todo) CHUNK))) as (c & rest & E & L & L'); [unfold CHUNK; lia|].
  exists c, rest. split; [auto|]. unfold CHUNK in *. split; [lia|].
  destruct (Z.le_gt_cases 64 (zlength todo)); [left; lia|right]. destruct rest; [auto|simpl in L'; lia].
Qed.

Lemma chunks_step l b0 i n b : Forall (fun x => x <> 0) l -> chunks_invariant l b0 (i, n, b) -> i < zlength l ->
  exists n' b', chunks_body (zlength l) (i, n, b) = Some (i + CHUNK, n', b') /\
    chunks_invariant l b0 (i + CHUNK, n', b').
Proof.
  intros NZ (done & run & stale & todo & -> & I & N & L & A & S & In' & U) H.
  assert (I' : i = zlength done) by (destruct I as [|[-> ]]; [auto|lia]). clear I. rewrite !app_length in *.
  destruct (next_chunk todo) as (c & rest & -> & Lc & Full). cbn [chunks_body].
  replace (Z.of_nat (length done + length (c ++ rest)) - i) with (zlength (c ++ rest)) by lia. rewrite <- Lc.
  assert (R : read b i (Z.to_nat (zlength c)) = Some c).
  { rewrite Nat2Z.id. apply array_read. rewrite app_assoc in A. apply array_app in A. destruct A as [_ A].
    rewrite app_length in A. replace (0 + Z.of_nat (length run + length stale)) with i in A by lia.
    apply array_app in A. apply A. }
  rewrite R. cbn [mbind option_bind].
  apply Forall_app in NZ. destruct NZ as [_ NZ]. apply Forall_app in NZ. destruct NZ as [NZ _].
  destruct (sort_chunk_sorts c (allocate ∅ 0 c) (allocate_array c ∅ 0) NZ) as (u & s & next & -> & Su & Iu & An & Lu & _).
  cbn [mbind option_bind]. apply array_app in An. destruct An as [An _]. rewrite app_length in Lu.
  destruct (cut_at (stale ++ c) (length u)) as (s1 & s2 & E & L1 & L2); [rewrite app_length; lia|].
  rewrite (app_assoc stale), E, <- app_assoc, app_assoc in A. rewrite app_length in L2.
  pose proof A as A'. apply array_app in A'. destruct A' as [A1 A2].
  destruct (merge_batch_is_union run u s1 b next S Su A1 L1 An) as (v & stale' & b' & M & [Sv Iv] & Av & Lv & Uv).
  subst n. rewrite M. cbn [mbind option_bind]. exists (zlength v), b'. split; [auto|].
  exists (done ++ c), v, (stale' ++ s2), rest. rewrite app_length in Lv.
  split; [now rewrite <- app_assoc|]. split.
  { rewrite !app_length. destruct Full as [Full| ->]; [left; lia|right]. split; [auto|]. unfold CHUNK in *. simpl. lia. }
  split; [auto|]. split; [rewrite !app_length; lia|]. split.
  { rewrite <- app_assoc, (app_assoc v). apply array_app. split; [auto|]. rewrite !app_length in *.
    replace (0 + Z.of_nat (length v + length stale')) with (0 + Z.of_nat (length run + length s1)) by lia.
    eapply array_unchanged; eauto. lia. }
  split; [auto|]. split; [intros x; rewrite Iv, Iu, In', in_app_iff; tauto|].
  eapply unchanged_trans; eauto; rewrite ?app_length; lia.
Qed.

Lemma sorted_no_longer (u l : list Z) : sorted_unique u -> (forall x, In x u <-> In x l) -> (length u <= length l)%nat.
Proof.
  intros S E. apply List.NoDup_incl_length; [|intros x; apply E]. clear E.
  induction S as [|x u _ IH F]; constructor; [|auto]. intros X. rewrite List.Forall_forall in F. specialize (F x X). lia.
Qed.

(** The batch, in any order and with duplicates, becomes the sorted array of its XIDs, if none of them is 0
    (InvalidTransactionId); nothing outside it is written. *)
Theorem sort_batch_sorts : forall l b, array b 0 l -> Forall (fun x => x <> 0) l ->
  exists u b', sort_batch (zlength l) b = Some (zlength u, b') /\ sorted_unique u /\ (forall x, In x u <-> In x l) /\
    array b' 0 u /\ (length u <= length l)%nat /\ unchanged_outside 0 (zlength l) b b'.
Proof.
  intros l b A NZ. unfold sort_batch. destruct (rising_spec l b A) as (run & todo & E & S & ->). cbn [mbind option_bind].
  assert (Ll : zlength l = zlength run + zlength todo) by (rewrite E, app_length; lia).
  destruct (Z.eqb_spec (zlength run) (zlength l)) as [Z|Z].
  { destruct todo; [|simpl in Ll; lia]. rewrite app_nil_r in E. subst run. exists l, b.
    repeat split; auto using unchanged_refl. }
  destruct (Z.eqb_spec (zlength run + 1) (zlength l)) as [O|O].
  - destruct todo as [|top [|]]; try (simpl in Ll; lia). pose proof A as A'. rewrite E in A'.
    pose proof (load_in_array _ _ _ _ _ A') as T. rewrite Z.add_0_l in T. rewrite T. cbn [mbind option_bind].
    destruct (merge_batch_is_union run [top] [top] b (allocate ∅ 0 [top]) S) as (u & stale & b' & M & [Su Iu] & A2 & L & U);
      auto using allocate_array; [repeat constructor|].
    assert (In' : forall x, In x u <-> In x l) by (intros x; rewrite Iu, E, in_app_iff; tauto).
    apply array_app in A2. destruct A2 as [A2 _]. change (zlength [top]) with 1 in *.
    exists u, b'. rewrite M. repeat split; auto; try apply In'; [now apply sorted_no_longer|].
    intros k K. apply U. lia.
  - clear run todo E S Ll Z O. destruct (next_chunk l) as (c & rest & E & Lc & Full). rewrite <- Lc.
    pose proof A as A'. rewrite E in A'. apply array_app in A'. destruct A' as [A1 A2].
    assert (NC : Forall (fun x => x <> 0) c) by (rewrite E in NZ; apply Forall_app in NZ; apply NZ).
    destruct (sort_chunk_sorts c b A1 NC) as (u & stale & b1 & -> & Su & Iu & B1 & Lu & U1). cbn [mbind option_bind].
    destruct (while_total (chunks_invariant l b) (fun '(i, _, _) => zlength l - i) (chunks_test (zlength l))
      (chunks_body (zlength l)) (Z.to_nat (zlength l)) (CHUNK, zlength u, b1)) as ([[i n] b2] & W & I & T).
    + exists c, u, stale, rest. split; [auto|]. split.
      { destruct Full as [|F]; [auto|right]. split; [auto|]. subst rest. rewrite app_nil_r in E. subst c.
        unfold CHUNK in *. lia. }
      split; [auto|]. split; [auto|]. split.
      { rewrite app_assoc. apply array_app. split; [auto|]. rewrite Lu. eapply array_unchanged; eauto. lia. }
      split; [auto|]. split; [auto|]. intros k K. apply U1. rewrite E, app_length in K. lia.
    + unfold CHUNK. lia.
    + intros [[i n] b2] I. eexists. split; [reflexivity|]. intros H. apply Z.ltb_lt in H. split; [lia|].
      destruct (chunks_step l b i n b2 NZ I H) as (n' & b3 & -> & I'). eexists. split; [reflexivity|]. split; [auto|].
      unfold CHUNK. lia.
    + rewrite W. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T.
      destruct I as (done & run & st & todo & E' & I & N & L & B2 & S & In' & U).
      assert (todo = []) as ->.
      { destruct I as [I|[-> _]]; [|auto]. destruct todo; [auto|]. rewrite E', app_length in T. simpl in T. lia. }
      rewrite app_nil_r in E'. subst done n. apply array_app in B2. destruct B2 as [B2 _]. exists run, b2.
      repeat split; auto; try apply In'. now apply sorted_no_longer.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The page afterwards is valid, presorted in item order, and stays so *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies Pointers Repair Result Contents.

(** ** Lists of items *)
Definition disjoint_items (its : list item) : Prop :=
  forall a b, In a its -> In b its -> a = b \/ stop a <= off b \/ stop b <= off a.

(** Falling keys, equal ones allowed. *)
Fixpoint falling_by (key : item -> Z) (its : list item) : Prop :=
  match its with [] => True | a :: r => (forall b, In b r -> key b <= key a) /\ falling_by key r end.
Definition falling : list item -> Prop := falling_by off.

(** What has the higher key is placed higher. *)
Lemma falling_placed key its : nonneg its -> falling_by key its -> forall upper a ta b tb,
  In (a, ta) (place its upper) -> In (b, tb) (place its upper) -> key b < key a -> tb + len b <= ta.
Proof.
  induction 1 as [|x r L N IH]; intros F upper a ta b tb A B K; cbn in *; [easy|]. destruct F as [F1 F2].
  destruct A as [[= <- <-]|A], B as [[= <- <-]|B]; [lia| | |eauto].
  - apply (place_bounds r N) in B. lia.
  - apply in_place, F1 in A. lia.
Qed.

Lemma falling_chain its : forall top, falling its -> NoDup its -> disjoint_items its -> (forall it, In it its -> 0 < len it) ->
  (forall it, In it its -> stop it <= top) -> chain its top.
Proof.
  induction its as [|a r IH]; intros top F D S L B; cbn; [exact I|]. destruct F as [F1 F2]. inversion D as [|? ? X Dr]; subst.
  split; [apply B; now left|]. apply IH; auto.
  - intros x y I J. apply S; now right.
  - intros it I. apply L. now right.
  - intros it I. destruct (S a it (or_introl eq_refl) (or_intror I)) as [->|[H|H]]; [contradiction| |exact H].
    specialize (F1 it I). specialize (L a (or_introl eq_refl)). unfold stop in H. lia.
Qed.

Lemma insert_falling it its : falling its -> falling (insert it its).
Proof.
  induction its as [|x r IH]; intros F; cbn; [split; [easy|exact I]|]. destruct F as [F1 F2].
  destruct (Z.leb_spec (off x) (off it)).
  - split; [|split; assumption]. intros b [<-|J]; [assumption|]. specialize (F1 b J). lia.
  - split; [|now apply IH]. intros b J. apply (Permutation_in _ (Permutation_sym (insert_permutation it r))) in J.
    destruct J as [<-|J]; [lia|now apply F1].
Qed.
Lemma sort_falling its : falling (sort its).
Proof. induction its; cbn; [exact I|]. now apply insert_falling. Qed.

Lemma presorted_falling its : forall top, presorted_below top its = true -> falling its /\ (forall it, In it its -> off it < top).
Proof.
  induction its as [|a r IH]; intros top P; cbn in *; [split; [exact I|easy]|].
  apply andb_true_iff in P as [A P]. apply Z.ltb_lt in A. apply IH in P as [F B]. split.
  - split; [intros b J; specialize (B b J); lia|exact F].
  - intros it [<-|J]; [exact A|]. specialize (B it J). lia.
Qed.

(** A chain that fills all the room there is is in place. *)
Lemma full_chain_in_place its : nonneg its -> forall top u, chain its top -> (forall it, In it its -> u <= off it) ->
  total its = top - u -> place its top = map (fun it => (it, off it)) its.
Proof.
  induction 1 as [|a r L N IH]; intros top u C B T; cbn in *; [reflexivity|]. destruct C as [C1 C2]. unfold stop in C1.
  assert (R : total r <= off a - u).
  { clear - N C2 B. assert (Bq : forall it, In it r -> u <= off it) by (intros; apply B; now right).
    assert (Ba : u <= off a) by (apply B; now left). clear B.
    revert C2 Ba Bq. generalize (off a). induction N as [|x q Lx _ IHq]; intros t C Ba Bq; cbn in *; [lia|].
    destruct C as [C1 C2]. unfold stop in C1. specialize (IHq (off x) C2 (Bq x (or_introl eq_refl)) (fun y J => Bq y (or_intror J))). lia. }
  replace (top - len a) with (off a) by lia. f_equal. apply (IH (off a) u); auto. lia.
Qed.

Lemma packed_in_place m its i : packed (map (fun it => (it, off it)) its) m m i = m i.
Proof. induction its as [|it r IH]; cbn; [reflexivity|]. destruct (_ && _); [f_equal; lia|exact IH]. Qed.

Section Repaired.
  Variables (o : order) (truncate : bool) (m r : mem).
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.
  Hypothesis repaired_r : forall i, r i = repaired o truncate m i.
  #[local] Set Default Proof Using "All".

  #[local] Lemma header_m : header_ok m.
  Proof. apply valid. Qed.

  (** [it] as it is in [r]. *)
  Definition moved (it : item) : item := Item (number it) (lp_word r (number it)).

  Lemma moved_facts it to : In (it, to) (placed o m) -> off (moved it) = to /\ len (moved it) = len it.
  Proof.
    intros I. destruct (r_placed o truncate m r page_m valid repaired_r it to I) as (_ & O & _ & L).
    unfold off, len, moved. cbn. now rewrite O, L.
  Qed.

  Lemma storage_same n : 1 <= n <= nline m -> has_storage (lp_word r n) = has_storage (lp_word m n).
  Proof.
    intros N. destruct (has_storage (lp_word m n)) eqn:S.
    - set (it := Item n (lp_word m n)).
      assert (I : In it (items m)) by (apply in_items; split; [apply (in_line_pointers m header_m); cbn; auto|exact S]).
      destruct (item_placed o m it I) as [to J].
      destruct (r_placed o truncate m r page_m valid repaired_r it to J) as (_ & _ & F & L).
      change n with (number it). unfold has_storage, is_used in *. now rewrite F, L.
    - rewrite (r_other o truncate m r page_m valid repaired_r n N S). destruct (is_used (lp_word m n)); [exact S|reflexivity].
  Qed.

  Lemma used_same n : 1 <= n <= nline m -> is_used (lp_word r n) = is_used (lp_word m n).
  Proof.
    intros N. destruct (has_storage (lp_word m n)) eqn:S.
    - pose proof (storage_same n N) as E. rewrite S in E. unfold has_storage in *.
      apply andb_true_iff in S as [-> _]. now apply andb_true_iff in E as [-> _].
    - rewrite (r_other o truncate m r page_m valid repaired_r n N S). destruct (is_used (lp_word m n)) eqn:U; [exact U|reflexivity].
  Qed.

  Lemma r_nline_left : nline r = nline_left truncate m.
  Proof. apply (r_nline o truncate m r page_m valid repaired_r). Qed.

  (** The same tuples, each moved. *)
  Lemma r_items : items r = map moved (items m).
  Proof.
    pose proof (nline_left_bounds m valid truncate) as [B U]. pose proof (nline_bounds m header_m) as [NB _].
    assert (G : forall count count' first, (count' <= count)%nat -> 1 <= first -> first + Z.of_nat count - 1 <= nline m ->
      (forall n, first + Z.of_nat count' <= n <= nline m -> has_storage (lp_word m n) = false) ->
      filter (fun it => has_storage (word it)) (line_pointers_from r first count') =
      map moved (filter (fun it => has_storage (word it)) (line_pointers_from m first count))).
    { induction count as [|count IH]; intros count' first C F E Z0.
      - now assert (count' = 0)%nat as -> by lia.
      - destruct count' as [|count'].
        + cbn [line_pointers_from filter word]. rewrite Z0 by lia. rewrite <- (IH 0%nat (first + 1)); try lia; [reflexivity|].
          intros n N. apply Z0. lia.
        + cbn [line_pointers_from filter word]. rewrite storage_same by lia.
          rewrite (IH count' (first + 1)); try lia; [destruct (has_storage _); reflexivity|].
          intros n N. apply Z0. lia. }
    unfold items, line_pointers. rewrite r_nline_left. apply G; try lia.
    intros n N. rewrite Z2Nat.id in N by lia. destruct (has_storage (lp_word m n)) eqn:S; [|reflexivity].
    unfold has_storage in S. apply andb_true_iff in S as [S _].
    specialize (U (Item n (lp_word m n)) ltac:(apply (in_line_pointers m header_m); cbn; split; [lia|reflexivity]) S).
    cbn [number] in U. lia.
  Qed.

  Lemma r_item_inv x : In x (items r) -> exists it to, x = moved it /\ In (it, to) (placed o m) /\ off x = to /\ len x = len it /\ 0 < len it.
  Proof.
    rewrite r_items. intros I. apply in_map_iff in I as (it & <- & I). destruct (item_placed o m it I) as [to J].
    exists it, to. destruct (moved_facts it to J). pose proof (item_facts m page_m header_m it I). repeat split; auto; lia.
  Qed.

  Lemma r_total : total (items r) = total (items m).
  Proof.
    rewrite r_items. assert (G : forall l, (forall it, In it l -> In it (items m)) -> total (map moved l) = total l).
    { induction l as [|it l IH]; intros S; cbn; [reflexivity|]. rewrite IH by (intros; apply S; now right).
      destruct (item_placed o m it (S it (or_introl eq_refl))) as [to J]. now destruct (moved_facts it to J) as [_ ->]. }
    now apply G.
  Qed.

  Lemma r_distinct : NoDup (items r).
  Proof. eapply NoDup_map_inv, items_distinct. Qed.

  Lemma r_disjoint : disjoint_items (items r).
  Proof.
    intros x y I J. destruct (r_item_inv x I) as (a & ta & -> & A & Oa & La & Pa).
    destruct (r_item_inv y J) as (b & tb & -> & B & Ob & Lb & Pb). unfold stop. rewrite Oa, La, Ob, Lb.
    pose proof (ordered_nonneg o truncate m r page_m valid repaired_r) as N.
    destruct (Z.le_gt_cases (ta + len a) tb); [now right; left|]. destruct (Z.le_gt_cases (tb + len b) ta); [now right; right|].
    left. destruct (Z.le_gt_cases ta tb).
    - now destruct (place_disjoint _ N (pd_special m) tb a ta b tb A B ltac:(lia) ltac:(lia)) as [-> _].
    - now destruct (place_disjoint _ N (pd_special m) ta a ta b tb A B ltac:(lia) ltac:(lia)) as [-> _].
  Qed.

  Lemma place_aligned its : (forall it, In it its -> len it mod 8 = 0) -> forall upper it to, upper mod 8 = 0 ->
    In (it, to) (place its upper) -> to mod 8 = 0.
  Proof.
    induction its as [|x q IH]; intros A upper it to U I; cbn in I; [easy|].
    pose proof (A x (or_introl eq_refl)) as X. destruct I as [[= <- <-]|I]; [div_lia|].
    eapply IH; [intros; apply A; now right| |exact I]. div_lia.
  Qed.

  Lemma r_item_ok x : In x (items r) -> item_ok r x.
  Proof.
    intros I. destruct (r_item_inv x I) as (it & to & _ & J & O & L & P). unfold item_ok, stop. rewrite O, L.
    rewrite (r_upper o truncate m r page_m valid repaired_r), (r_special o truncate m r page_m valid repaired_r).
    pose proof (placed_bounds o truncate m r page_m valid repaired_r it to J) as B.
    split; [lia|]. split; [|lia]. apply maxalign_fixed. unfold placed in J.
    refine (place_aligned _ _ _ _ _ _ J).
    - intros y Y. apply (Permutation_in _ (Permutation_sym (ordered_permutation o (items m)))) in Y.
      now apply (item_facts m page_m header_m).
    - apply maxalign_fixed. apply header_m.
  Qed.

  Lemma r_valid : valid_page r.
  Proof.
    pose proof header_m as (H1 & H2 & H3). pose proof (new_upper_bounds o truncate m r page_m valid repaired_r) as NU.
    pose proof (new_lower_bounds o truncate m r page_m valid repaired_r) as NL.
    unfold valid_page, header_ok. rewrite (r_upper o truncate m r page_m valid repaired_r),
      (r_special o truncate m r page_m valid repaired_r), (r_lower o truncate m r page_m valid repaired_r), r_total.
    unfold HEADER_SIZE in *. split; [repeat split; try lia; exact H3|]. split; [apply Forall_forall; intros x I; now apply r_item_ok|].
    split; [rewrite r_items, map_length; apply valid|]. split; [pose proof (total_bound m valid); lia|].
    intros P. apply presorted_falling in P as [F _]. apply falling_chain; auto using r_distinct, r_disjoint.
    - intros it I. destruct (r_item_inv it I) as (x & to & _ & _ & _ & -> & L). exact L.
    - intros it I. apply r_item_ok in I as (_ & _ & B).
      now rewrite (r_special o truncate m r page_m valid repaired_r) in B.
  Qed.

  (** In item order the offsets fall. *)
  Lemma r_presorted : o = ItemOrder -> presorted (pd_special r) (items r) = true.
  Proof.
    intros E. rewrite (r_special o truncate m r page_m valid repaired_r), r_items. unfold presorted.
    assert (G : forall its upper top, upper <= top -> (forall it, In it its -> 0 < len it) ->
      (forall it to, In (it, to) (place its upper) -> off (moved it) = to) -> presorted_below top (map moved its) = true).
    { induction its as [|x q IH]; intros upper top U L O; cbn; [reflexivity|].
      pose proof (L x (or_introl eq_refl)). rewrite (O x (upper - len x) (or_introl eq_refl)).
      apply andb_true_iff. split; [apply Z.ltb_lt; lia|].
      apply (IH (upper - len x)); [lia|intros; apply L; now right|]. intros it to I. apply O. now right. }
    apply (G _ (pd_special m)); [lia| |].
    - intros it I. pose proof (item_facts m page_m header_m it I). lia.
    - intros it to I. apply moved_facts. unfold placed. now rewrite E.
  Qed.

  (** Every tuple is in place already: for the same order, and for offset order whatever the first one was. *)
  Lemma r_in_place o' : o' = Offset \/ o = ItemOrder -> placed o' r = map (fun it => (it, off it)) (ordered o' (items r)).
  Proof.
    intros K. unfold placed. rewrite (r_special o truncate m r page_m valid repaired_r).
    pose proof (ordered_permutation o' (items r)) as P.
    assert (S : forall it, In it (ordered o' (items r)) -> In it (items r)) by (intros it; apply Permutation_in; now symmetry).
    assert (L : forall it, In it (items r) -> 0 < len it).
    { intros it I. destruct (r_item_inv it I) as (x & to & _ & _ & _ & -> & L). exact L. }
    assert (B : forall it, In it (items r) -> new_upper m <= off it /\ stop it <= pd_special m).
    { intros it I. apply r_item_ok in I as (A & _ & B). rewrite (r_upper o truncate m r page_m valid repaired_r) in A.
      rewrite (r_special o truncate m r page_m valid repaired_r) in B. lia. }
    apply (full_chain_in_place _ ltac:(apply Forall_forall; intros it I; pose proof (L it (S it I)); lia) _ (new_upper m)).
    - apply falling_chain.
      + destruct o'; [apply sort_falling|]. destruct K as [K|K]; [discriminate|].
        pose proof (r_presorted K) as Q. now apply presorted_falling in Q.
      + eapply Permutation_NoDup; [exact P|apply r_distinct].
      + intros x y I J. apply r_disjoint; now apply S.
      + intros it I. apply L, S, I.
      + intros it I. apply B, S, I.
    - intros it I. apply B, S, I.
    - rewrite <- (total_permutation _ _ P), r_total. unfold new_upper. lia.
  Qed.

  Lemma r_last_used : truncate = true -> last_used (line_pointers r) = nline r.
  Proof.
    intros T. rewrite r_nline_left, T.
    pose proof (nline_left_bounds m valid true) as [B _]. pose proof (nline_bounds m header_m) as [NB _].
    pose proof (nline_left_bounds r r_valid true) as [B' U']. rewrite r_nline_left, T in B'.
    change (nline_left true r) with (last_used (line_pointers r)) in *.
    destruct (last_used_from m (Z.to_nat (nline m)) 1 0 ltac:(lia)) as (_ & _ & [C|(it & I & E & L)]).
    - change (nline_left true m = 0) in C. lia.
    - change (number it = nline_left true m) in L. fold (line_pointers m) in I.
      apply (in_line_pointers m header_m) in I as [N W].
      specialize (U' (Item (number it) (lp_word r (number it)))). cbn [number word] in U'.
      assert (X : number it <= last_used (line_pointers r)); [|lia]. apply U'.
      + apply (in_line_pointers r (proj1 r_valid)). cbn [number word]. rewrite r_nline_left, T. split; [lia|reflexivity].
      + rewrite used_same by lia. now rewrite <- W.
  Qed.

  Lemma r_nline_left_same : nline_left truncate r = nline r.
  Proof.
    pose proof r_last_used as G. unfold nline_left. destruct (bool_dec truncate true) as [T|T].
    - rewrite T at 1. now apply G.
    - apply not_true_is_false in T. now rewrite T.
  Qed.

  Lemma r_free_lines : has_free_lines truncate r = has_free_lines truncate m.
  Proof.
    assert (E : forall x, (x = m \/ x = r) -> has_free_lines truncate x = true <->
      exists n, 1 <= n <= nline_left truncate m /\ is_used (lp_word m n) = false).
    { pose proof (nline_left_bounds m valid truncate) as [B _].
      intros x X. unfold has_free_lines. rewrite existsb_exists. split.
      - intros (it & I & E). apply andb_true_iff in E as [E L]. apply negb_true_iff in E. apply Z.leb_le in L.
        exists (number it). destruct X as [-> | ->].
        + apply (in_line_pointers m header_m) in I as [N W]. rewrite <- W. split; [lia|exact E].
        + apply (in_line_pointers r (proj1 r_valid)) in I as [N W]. rewrite r_nline_left_same, r_nline_left in L.
          rewrite W, used_same in E by (rewrite r_nline_left in N; lia). split; [lia|exact E].
      - intros (n & N & E). exists (Item n (lp_word x n)). cbn [number word].
        destruct X as [-> | ->].
        + split; [apply (in_line_pointers m header_m); cbn; split; [lia|reflexivity]|].
          rewrite E. apply Z.leb_le. lia.
        + split; [apply (in_line_pointers r (proj1 r_valid)); cbn; rewrite r_nline_left; split; [lia|reflexivity]|].
          rewrite used_same, E, r_nline_left_same, r_nline_left by lia. apply Z.leb_le. lia. }
    pose proof (E m (or_introl eq_refl)) as A. pose proof (E r (or_intror eq_refl)) as C.
    destruct (has_free_lines truncate r), (has_free_lines truncate m); intuition congruence.
  Qed.

  Lemma r_fixed i : repaired o truncate r i = r i.
  Proof.
    pose proof r_valid as V. pose proof (r_is_page o truncate m r page_m valid repaired_r) as PG.
    assert (P : packed (placed o r) r r i = r i).
    { rewrite r_in_place by (destruct o; auto). apply packed_in_place. }
    assert (FL : new_flags truncate r = new_flags truncate m).
    { unfold new_flags at 1. rewrite r_free_lines, (r_flags o truncate m r page_m valid repaired_r). unfold new_flags.
      destruct (has_free_lines truncate m); f_equal; div_lia. }
    assert (LO : new_lower truncate r = new_lower truncate m).
    { unfold new_lower at 1. rewrite r_nline_left_same, (r_lower o truncate m r page_m valid repaired_r). lia. }
    assert (UP : new_upper r = new_upper m).
    { unfold new_upper. now rewrite r_total, (r_special o truncate m r page_m valid repaired_r). }
    assert (W : forall n, 1 <= n <= nline r -> new_word o r n = lp_word r n).
    { intros n N. pose proof (nline_left_bounds m valid truncate) as [B _]. rewrite r_nline_left in N.
      pose proof (lp_word_range r PG (proj1 V) n ltac:(rewrite r_nline_left; lia)) as WR.
      unfold new_word. destruct (new_off o r n) as [to|] eqn:E.
      - apply new_off_inv in E as (it & I & NI). rewrite r_in_place in I by (destruct o; auto).
        apply in_map_iff in I as (x & [= -> <-] & I).
        apply (Permutation_in _ (Permutation_sym (ordered_permutation o (items r)))) in I.
        apply in_items in I as [I _]. apply (in_line_pointers r (proj1 V)) in I as [_ WI].
        unfold off. rewrite WI, NI. apply set_off_same. lia.
      - destruct (is_used (lp_word r n)) eqn:U; [reflexivity|].
        assert (S : has_storage (lp_word m n) = false).
        { rewrite <- storage_same by lia. unfold has_storage. now rewrite U. }
        rewrite (r_other o truncate m r page_m valid repaired_r n ltac:(lia) S).
        rewrite used_same in U by lia. now rewrite U. }
    unfold repaired. rewrite FL, LO, UP. rewrite (repaired_r i). unfold repaired at 1.
    destruct ((10 <=? i) && (i <? 12)) eqn:E1; [reflexivity|]. destruct ((12 <=? i) && (i <? 14)) eqn:E2; [reflexivity|].
    destruct ((14 <=? i) && (i <? 16)) eqn:E3; [reflexivity|].
    pose proof (nline_left_bounds m valid truncate) as [B _].
    destruct ((24 <=? i) && (i <? 24 + 4 * nline r)) eqn:E.
    - assert (N : 24 <= i < 24 + 4 * nline_left truncate m) by (rewrite r_nline_left in E; cases; lia).
      rewrite W by (rewrite r_nline_left; div_lia).
      rewrite (r_word o truncate m r page_m valid repaired_r) by div_lia. cases; try lia; reflexivity.
    - rewrite P. rewrite (repaired_r i). unfold repaired.
      now rewrite E1, E2, E3.
  Qed.
End Repaired.

(** Compaction leaves a valid page. *)
Theorem valid_afterwards : forall a truncate m scratch0, is_page m -> valid_page m ->
  is_page (run a truncate m scratch0) /\ valid_page (run a truncate m scratch0).
Proof.
  intros a truncate m s P V. pose proof (run_repaired a truncate m s P V) as R.
  split; [exact (r_is_page _ _ m _ P V R)|exact (r_valid _ _ m _ P V R)].
Qed.

(** PostgreSQL 14's algorithm and ours leave the tuples in reverse item order, so the page is presorted for the next time. *)
Theorem presorted_afterwards : forall a truncate m scratch0, is_page m -> valid_page m -> order_of a = ItemOrder ->
  let r := run a truncate m scratch0 in presorted (pd_special r) (items r) = true.
Proof.
  intros a truncate m s P V O r. pose proof (run_repaired a truncate m s P V) as R. now apply (r_presorted _ _ m r P V R).
Qed.

(** PostgreSQL 13's algorithm keeps the physical order: a tuple that was above another one stays above it. *)
Theorem pg13_keeps_physical_order : forall truncate m scratch0 it it', is_page m -> valid_page m ->
  In it (items m) -> In it' (items m) -> off it' < off it ->
  let r := run PG13 truncate m scratch0 in
  lp_off (pointer_in r it') + len it' <= lp_off (pointer_in r it).
Proof.
  intros truncate m s it it' P V I I' K r. pose proof (run_repaired PG13 truncate m s P V) as R. fold r in R.
  destruct (item_placed Offset m it I) as [to J], (item_placed Offset m it' I') as [to' J'].
  destruct (r_placed _ _ m r P V R it to J) as (_ & O & _), (r_placed _ _ m r P V R it' to' J') as (_ & O' & _).
  unfold pointer_in. rewrite O, O'.
  exact (falling_placed off _ (ordered_nonneg _ _ m r P V R) (sort_falling (items m)) _ _ _ _ _ J J' K).
Qed.

(** PostgreSQL 14's algorithm and ours place the tuples in reverse item order: the lower the number, the higher the
    place. *)
Theorem others_order_by_item : forall a truncate m scratch0 it it', is_page m -> valid_page m -> order_of a = ItemOrder ->
  In it (items m) -> In it' (items m) -> number it < number it' ->
  let r := run a truncate m scratch0 in
  lp_off (pointer_in r it') + len it' <= lp_off (pointer_in r it).
Proof.
  intros a truncate m s it it' P V E I I' K r. pose proof (run_repaired a truncate m s P V) as R. fold r in R. rewrite E in R.
  destruct (item_placed ItemOrder m it I) as [to J], (item_placed ItemOrder m it' I') as [to' J'].
  destruct (r_placed _ _ m r P V R it to J) as (_ & O & _), (r_placed _ _ m r P V R it' to' J') as (_ & O' & _).
  unfold pointer_in. rewrite O, O'.
  assert (F : falling_by (fun x => - number x) (items m)).
  { unfold items, line_pointers. generalize 1 at 1. induction (Z.to_nat (nline m)) as [|n IH]; intro first; cbn; [exact Logic.I|].
    destruct (has_storage _); [|apply IH]. split; [|apply IH].
    intros b B. apply filter_In in B as [B _]. apply in_line_pointers_from in B. cbn [number]. lia. }
  refine (falling_placed (fun x => - number x) _ (ordered_nonneg _ _ m r P V R) F _ _ _ _ _ J J' _). lia.
Qed.

(** Compacting a second time changes no byte. *)
Theorem idempotent : forall a truncate m s s', is_page m -> valid_page m ->
  forall i, run a truncate (run a truncate m s) s' i = run a truncate m s i.
Proof.
  intros a truncate m s s' P V i. pose proof (run_repaired a truncate m s P V) as R.
  destruct (valid_afterwards a truncate m s P V) as [P' V'].
  rewrite (run_repaired a truncate _ s' P' V'). apply (r_fixed _ _ m _ P V R).
Qed.

(** [r] is [m] after PageAddItem has added a tuple with a new line pointer: behind the others, its bytes right below the
    old pd_upper. *)
Definition added (m r : mem) : Prop :=
  pd_special r = pd_special m /\ nline r = nline m + 1 /\
  (forall n, 1 <= n <= nline m -> lp_word r n = lp_word m n) /\
  has_storage (lp_word r (nline r)) = true /\
  lp_off (lp_word r (nline r)) = pd_upper m - maxalign (lp_len (lp_word r (nline r))) /\
  pd_upper r = lp_off (lp_word r (nline r)).

(** Adding a tuple with a new line pointer keeps a valid presorted page presorted and its tuples disjoint. *)
Theorem append_keeps_presorted : forall m r, is_page m -> valid_page m -> added m r ->
  0 < maxalign (lp_len (lp_word r (nline r))) ->
  presorted (pd_special m) (items m) = true -> presorted (pd_special r) (items r) = true /\ chain (items r) (pd_special r).
Proof.
  intros m r P V (S & N & W & St & O & U) L Q. pose proof (nline_bounds m (proj1 V)) as [NB _].
  set (it := Item (nline r) (lp_word r (nline r))).
  assert (E : items r = items m ++ [it]).
  { unfold items, line_pointers. rewrite N. replace (Z.to_nat (nline m + 1)) with (Z.to_nat (nline m) + 1)%nat by lia.
    assert (G : forall count first, 1 <= first -> first + Z.of_nat count = nline m + 1 ->
      filter (fun it => has_storage (word it)) (line_pointers_from r first (count + 1)) =
      filter (fun it => has_storage (word it)) (line_pointers_from m first count) ++ [it]).
    { induction count as [|count IH]; intros first F E; cbn [Nat.add line_pointers_from filter word].
      - assert (first = nline r) as -> by lia. now rewrite St.
      - rewrite W by lia. rewrite IH by lia. destruct (has_storage (lp_word m first)); reflexivity. }
    apply G; lia. }
  assert (B : forall x, In x (items m) -> pd_upper m <= off x /\ 0 < len x).
  { intros x I. pose proof (valid_item m V x I) as (X & _). pose proof (item_facts m P (proj1 V) x I). lia. }
  assert (C : chain (items m) (pd_special m)) by now apply V.
  pose proof (proj1 V) as (_ & H & _).
  assert (G : forall its top, presorted_below top its = true -> chain its top -> pd_upper m <= top ->
    (forall x, In x its -> pd_upper m <= off x /\ 0 < len x) ->
    presorted_below top (its ++ [it]) = true /\ chain (its ++ [it]) top).
  { induction its as [|x q IH]; intros top A D T Bq; cbn in *.
    - assert (off it = pd_upper m - len it) as Eo by exact O. change (0 < len it) in L. unfold stop.
      split; [apply andb_true_iff; split; [apply Z.ltb_lt; lia|reflexivity]|split; [lia|exact I]].
    - apply andb_true_iff in A as [A1 A2]. destruct D as [D1 D2].
      destruct (IH (off x) A2 D2) as [G1 G2]; [apply Bq; now left|intros; apply Bq; now right|].
      rewrite A1, G1. auto. }
  rewrite E, S. apply G; auto. lia.
Qed.

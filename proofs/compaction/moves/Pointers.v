(* SPDX-License-Identifier: PostgreSQL *)
(** * Line pointers and header: the stores of each algorithm, and that they and the copies don't meet *)
From Coq Require Import Sorting.Permutation.
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Decode Copies.

Definition is_store (o : op) : bool := negb (is_copy o).

(** ** Copies stay in the tuple area, stores below it

    [edge] is the end of the line pointers, [low] and [high] are pd_upper and pd_special. *)
Definition contained (edge low high : Z) (o : op) : Prop :=
  match o with
  | Move to from n | Restore to from n => 0 <= n /\ edge <= to /\ to + n <= high /\ low <= from /\ from + n <= high
  | Save to from n => 0 <= n /\ low <= to /\ to + n <= high /\ low <= from /\ from + n <= high
  | Store32 a _ => 24 <= a /\ a + 4 <= edge
  | Store16 _ _ => False
  end.

Definition low_store (edge : Z) (o : op) : Prop :=
  match o with Store16 a _ => a + 2 <= edge | Store32 a _ => a + 4 <= edge | _ => False end.

(** Above the edge the page is what the copies make of it, below it what the stores do. *)
Definition splits (edge : Z) (p : list op) (s : state) : Prop :=
  (forall i, edge <= i -> page (exec p s) i = page (exec (filter is_copy p) s) i) /\
  (forall i, i < edge -> page (exec p s) i = page (exec (filter is_store p) s) i).

Lemma exec_split edge low high p : edge <= low -> Forall (contained edge low high) p -> forall s t u,
  (forall i, edge <= i -> page s i = page t i) -> (forall i, scratch s i = scratch t i) ->
  (forall i, i < edge -> page s i = page u i) ->
  (forall i, edge <= i -> page (exec p s) i = page (exec (filter is_copy p) t) i) /\
  (forall i, i < edge -> page (exec p s) i = page (exec (filter is_store p) u) i).
Proof.
  intros EL. induction 1 as [|o p C _ IH]; intros s t u H S L; [split; assumption|].
  destruct o; cbn [contained] in C; cbn [filter is_copy is_store negb]; rewrite ?exec_cons; try contradiction;
    apply IH; cbn [step page scratch]; auto; intro i; try intro I; unfold copy, store; cases; try lia;
    first [apply S | apply H; lia | apply L; lia | reflexivity].
Qed.

Lemma contained_splits edge low high p s : edge <= low -> Forall (contained edge low high) p -> splits edge p s.
Proof. intros EL C. apply (exec_split edge low high p EL C); reflexivity. Qed.

Lemma low_stores edge q : Forall (low_store edge) q ->
  filter is_copy q = [] /\ filter is_store q = q /\
  (forall s i, edge <= i -> page (exec q s) i = page s i) /\
  (forall s t, (forall i, i < edge -> page s i = page t i) -> forall i, i < edge -> page (exec q s) i = page (exec q t) i).
Proof.
  induction 1 as [|o q Lo _ (A & B & C & D)]; [repeat split; auto|].
  destruct o; cbn [low_store] in Lo; try contradiction; cbn [filter is_copy is_store negb]; rewrite A, B;
    (split; [reflexivity|]; split; [reflexivity|]; split).
  1, 3: intros s i I; rewrite exec_cons, C by exact I; cbn [step page]; unfold store; cases; try lia; reflexivity.
  all: intros s t E i I; rewrite !exec_cons; apply D; [|exact I]; intros j J; cbn [step page]; unfold store; rewrite E by exact J; reflexivity.
Qed.

Lemma splits_app edge p q s : splits edge p s -> Forall (low_store edge) q -> splits edge (p ++ q) s.
Proof.
  intros [H L] Q. destruct (low_stores edge q Q) as (A & B & C & D). split; intros i I; rewrite filter_app, !exec_app.
  - rewrite A, C by exact I. now apply H.
  - rewrite B. now apply D.
Qed.

(** ** Stores of line pointers, each with the value that [f] gives its number *)
Definition store_words (l : list (Z * Z)) : list op := map (fun p => Store32 (lp_address (fst p)) (snd p)) l.

Lemma store_words_spec (f : Z -> Z) l : (forall n w, In (n, w) l -> 1 <= n /\ w = f n) -> forall s,
  (forall i, i < 24 -> page (exec (store_words l) s) i = page s i) /\
  (forall i, 24 <= i ->
     page s i = byte_of ((i - 24) mod 4) (f ((i - 24) / 4 + 1)) \/ In ((i - 24) / 4 + 1) (map fst l) ->
     page (exec (store_words l) s) i = byte_of ((i - 24) mod 4) (f ((i - 24) / 4 + 1))).
Proof.
  induction l as [|[n w] l IH]; intros F s.
  - split; [reflexivity|]. now intros i _ [H|[]].
  - destruct (F n w (or_introl eq_refl)) as [N ->].
    cbn [store_words map fst snd]. rewrite exec_cons. set (t := step _ s).
    destruct (IH (fun n w I => F n w (or_intror I)) t) as [P Q]. unfold store_words in *. split; intros i I.
    + rewrite P by exact I. subst t. cbn [step page]. unfold store, lp_address, HEADER_SIZE. cases; try lia; reflexivity.
    + intros H. apply Q; [exact I|]. cbn [map fst In] in H.
      destruct (Z.eq_dec n ((i - 24) / 4 + 1)) as [E|E].
      * left. subst t. cbn [step page]. unfold store, lp_address, HEADER_SIZE. rewrite <- E.
        assert (i - (24 + 4 * (n - 1)) = (i - 24) mod 4) as -> by div_lia.
        assert (0 <= (i - 24) mod 4 < 4) by (apply Z.mod_pos_bound; lia). cases; first [reflexivity | div_lia].
      * destruct H as [H|[H|H]]; [left|contradiction|now right].
        rewrite <- H. subst t. cbn [step page]. unfold store, lp_address, HEADER_SIZE. cases; try reflexivity. exfalso. apply E. div_lia.
Qed.

Lemma filter_store_singles cp its : copying cp -> forall upper, filter is_store (singles cp its upper) =
  store_words (map (fun p => (number (fst p), set_off (word (fst p)) (snd p))) (place its upper)).
Proof.
  intros C. induction its as [|it r IH]; intro upper; [reflexivity|]. unfold is_store in *. cbn. rewrite C. cbn. now rewrite IH.
Qed.

Lemma filter_store_runs_from cp its : copying cp -> forall upper a b, filter is_store (runs_from cp its upper a b) =
  store_words (map (fun p => (number (fst p), set_off (word (fst p)) (snd p))) (place its upper)).
Proof.
  intros C. induction its as [|it r IH]; intros upper a b; unfold is_store in *; cbn [runs_from].
  - cbn. now rewrite C.
  - destruct (_ =? _); cbn; rewrite ?C; cbn; now rewrite IH.
Qed.

Lemma filter_store_runs cp its upper : copying cp -> filter is_store (runs cp its upper) =
  store_words (map (fun p => (number (fst p), set_off (word (fst p)) (snd p))) (place its upper)).
Proof. intros C. destruct its; [reflexivity|]. unfold runs. now apply filter_store_runs_from. Qed.

(** ** The last used line pointer, and how many unused ones are left *)
Lemma last_used_from m count : forall first l0, l0 < first ->
  let r := fold_left (fun last it => if is_used (word it) then number it else last) (line_pointers_from m first count) l0 in
  (r = l0 \/ first <= r < first + Z.of_nat count) /\
  (forall it, In it (line_pointers_from m first count) -> is_used (word it) = true -> number it <= r) /\
  (r = l0 \/ exists it, In it (line_pointers_from m first count) /\ is_used (word it) = true /\ number it = r).
Proof.
  induction count as [|count IH]; intros first l0 L; cbn [line_pointers_from fold_left word number].
  - split; [now left|]. split; [easy|now left].
  - set (l1 := if is_used (lp_word m first) then first else l0).
    assert (L1 : l1 < first + 1) by (subst l1; destruct (is_used _); lia).
    destruct (IH (first + 1) l1 L1) as (A & B & C). clear IH. cbn zeta.
    set (r := fold_left _ _ l1) in *. clearbody r. split; [|split].
    + destruct A as [A|A]; [|right; lia]. rewrite A. subst l1. destruct (is_used _); [right; lia|now left].
    + intros it [<-|I] U; [|now apply B]. cbn in *. subst l1. rewrite U in *. destruct A as [A|A]; lia.
    + destruct C as [C|(it & I & U & E)].
      * rewrite C. subst l1. destruct (is_used _) eqn:U; [right|now left].
        exists (Item first (lp_word m first)). cbn. auto.
      * right. exists it. cbn. auto.
Qed.

Lemma count_above m count last : forall first, first - 1 <= last <= first + Z.of_nat count - 1 ->
  Z.of_nat (length (filter (fun it => last <? number it) (line_pointers_from m first count))) = first + Z.of_nat count - 1 - last.
Proof.
  induction count as [|count IH]; intros first L; cbn [line_pointers_from filter number]; [cbn; lia|].
  destruct (Z.ltb_spec last first); cbn [length].
  - assert (G : forall first', last < first' -> filter (fun it => last <? number it) (line_pointers_from m first' count) =
                line_pointers_from m first' count).
    { clear. induction count; intros f F; cbn; [reflexivity|]. destruct (Z.ltb_spec last f); [|lia].
      now rewrite IHcount by lia. }
    rewrite G by lia. assert (length (line_pointers_from m (first + 1) count) = count) as ->; [|lia].
    clear. generalize (first + 1). induction count; intro; cbn; auto.
  - rewrite IH by lia. lia.
Qed.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  #[local] Lemma header : header_ok m.
  Proof. apply valid. Qed.

  Lemma nline_left_bounds truncate : 0 <= nline_left truncate m <= nline m /\
    forall it, In it (line_pointers m) -> is_used (word it) = true -> number it <= nline_left truncate m.
  Proof.
    pose proof (nline_bounds m header) as [N _]. unfold nline_left. destruct truncate.
    - destruct (last_used_from m (Z.to_nat (nline m)) 1 0 ltac:(lia)) as (A & B & _).
      unfold last_used. fold (line_pointers m) in *. split; [destruct A as [->|A]; lia|exact B].
    - split; [lia|]. intros it I _. apply (in_line_pointers m header) in I. lia.
  Qed.

  Lemma free_lines truncate :
    negb (count_unused (line_pointers m) - (nline m - nline_left truncate m) =? 0) = has_free_lines truncate m.
  Proof.
    destruct (nline_left_bounds truncate) as [B U]. pose proof (nline_bounds m header) as [N _].
    pose proof (count_above m (Z.to_nat (nline m)) (nline_left truncate m) 1 ltac:(lia)) as C. fold (line_pointers m) in C.
    unfold count_unused, has_free_lines. set (left := nline_left truncate m) in *. clearbody left.
    assert (S : forall l, (forall it, In it l -> is_used (word it) = true -> number it <= left) ->
      Z.of_nat (length (filter (fun it => negb (is_used (word it))) l)) =
      Z.of_nat (length (filter (fun it => negb (is_used (word it)) && (number it <=? left)) l)) +
      Z.of_nat (length (filter (fun it => left <? number it) l))).
    { clear. induction l as [|it l IH]; intros H; [reflexivity|]. cbn [filter].
      specialize (IH (fun x I => H x (or_intror I))). specialize (H it (or_introl eq_refl)).
      destruct (is_used (word it)); cbn [negb andb].
      - specialize (H eq_refl). destruct (Z.ltb_spec left (number it)); [lia|exact IH].
      - destruct (Z.leb_spec (number it) left), (Z.ltb_spec left (number it)); cbn [length]; lia. }
    rewrite S by exact U. rewrite C, Z2Nat.id by lia.
    replace (_ - _) with (Z.of_nat (length (filter (fun it => negb (is_used (word it)) && (number it <=? left)) (line_pointers m))))
      by lia.
    clear. induction (line_pointers m) as [|it l IH]; [reflexivity|]. cbn [filter existsb].
    destruct (_ && _); [reflexivity|exact IH].
  Qed.

  (** *** New words of line pointers *)
  Section Order.
    Variable o : order.

    Lemma placed_distinct : NoDup (map (fun p => number (fst p)) (placed o m)).
    Proof.
      assert (E : forall its upper, map (fun p : item * Z => number (fst p)) (place its upper) = map number its).
      { induction its; intro; cbn; congruence. }
      unfold placed. rewrite E. eapply Permutation_NoDup; [|apply (items_distinct m)].
      apply Permutation_map, ordered_permutation.
    Qed.

    Lemma in_placed it to : In (it, to) (placed o m) -> In it (items m).
    Proof.
      intros I. apply in_place in I. revert I. apply Permutation_in. symmetry. apply ordered_permutation.
    Qed.

    Lemma new_off_placed it to : In (it, to) (placed o m) -> new_off o m (number it) = Some to.
    Proof.
      unfold new_off. pose proof placed_distinct as D. induction (placed o m) as [|[x t] r IH]; intros I; [destruct I|].
      cbn in D. inversion D as [|? ? X Y]; subst. cbn. destruct (Z.eqb_spec (number x) (number it)) as [E|E].
      - destruct I as [I|I]; [cbn; congruence|]. exfalso. apply X. rewrite E.
        apply (in_map (fun p => number (fst p)) _ _ I).
      - destruct I as [I|I]; [congruence|now apply IH].
    Qed.

    Lemma new_off_inv n to : new_off o m n = Some to -> exists it, In (it, to) (placed o m) /\ number it = n.
    Proof.
      unfold new_off. destruct (find _ _) as [[it t]|] eqn:E; cbn; [|discriminate]. intros [= ->].
      apply find_some in E as [I E]. cbn in E. apply Z.eqb_eq in E. eauto.
    Qed.

    Lemma new_word_placed it to : In (it, to) (placed o m) -> new_word o m (number it) = set_off (word it) to.
    Proof.
      intros I. unfold new_word. rewrite (new_off_placed _ _ I). apply in_placed, in_items in I as [I _].
      apply (in_line_pointers m header) in I as [_ ->]. reflexivity.
    Qed.

    Lemma new_word_other it : In it (line_pointers m) -> has_storage (word it) = false ->
      new_word o m (number it) = if is_used (word it) then word it else 0.
    Proof.
      intros I S. apply (in_line_pointers m header) in I as [N W]. unfold new_word. rewrite <- W.
      destruct (new_off o m (number it)) as [to|] eqn:E; [|reflexivity].
      apply new_off_inv in E as (x & I & E). apply in_placed, in_items in I as [I S'].
      apply (in_line_pointers m header) in I as [_ W']. rewrite W', E, <- W in S'. congruence.
    Qed.

    (** Stores that give each line pointer its new word, or leave it out if it has that already. *)
    Definition rewrites (l : list (Z * Z)) : Prop :=
      (forall n w, In (n, w) l -> 1 <= n <= nline m /\ w = new_word o m n) /\
      (forall n, 1 <= n <= nline m -> In n (map fst l) \/ new_word o m n = lp_word m n).

    Lemma rewrites_spec l s : rewrites l -> (forall i, page s i = m i) -> forall i, 24 <= i < 24 + 4 * nline m ->
      page (exec (store_words l) s) i = byte_of ((i - 24) mod 4) (new_word o m ((i - 24) / 4 + 1)).
    Proof.
      intros [F A] S i I. apply (store_words_spec (new_word o m)); [|lia|].
      - intros n w J. destruct (F n w J). split; [lia|assumption].
      - destruct (A ((i - 24) / 4 + 1)) as [J|E]; [div_lia|now right|left].
        rewrite S, E. unfold lp_word, read32, lp_address, HEADER_SIZE.
        pose proof (nline_bounds m header) as [_ B]. destruct header as (H1 & H2 & _). unfold HEADER_SIZE, BLCKSZ in *.
        assert (R : forall j, 24 <= j < 24 + 4 * nline m -> 0 <= m j < 256) by (intros; apply page_m; unfold BLCKSZ; lia).
        set (a := 24 + 4 * ((i - 24) / 4 + 1 - 1)). assert (a = i - (i - 24) mod 4) by (subst a; div_lia).
        destruct (bytes32 (m a) (m (a + 1)) (m (a + 2)) (m (a + 3))) as (B0 & B1 & B2 & B3); try (apply R; subst a; div_lia).
        assert (K : (i - 24) mod 4 = 0 \/ (i - 24) mod 4 = 1 \/ (i - 24) mod 4 = 2 \/ (i - 24) mod 4 = 3) by div_lia.
        destruct K as [K|[K|[K|K]]]; rewrite K in *; rewrite ?B0, ?B1, ?B2, ?B3; f_equal; lia.
    Qed.
  End Order.

  Definition moved_words (pl : list (item * Z)) : list (Z * Z) :=
    map (fun p => (number (fst p), set_off (word (fst p)) (snd p))) pl.
  Definition zeroed_words : list (Z * Z) :=
    let unused := filter (fun it => negb (is_used (word it))) (line_pointers m) in
    if existsb (fun it => negb (word it =? 0)) unused then map (fun it => (number it, 0)) unused else [].

  Lemma zero_unused_words : zero_unused m = store_words zeroed_words.
  Proof.
    unfold zero_unused, zeroed_words. destruct (existsb _ _); [|reflexivity].
    unfold store_words. now rewrite map_map.
  Qed.

  (** Setting the moved ones and zeroing the unused ones rewrites all: also without those that were in place. *)
  Lemma upstream_rewrites o pre pl : placed o m = map (fun it => (it, off it)) pre ++ pl ->
    rewrites o (moved_words pl ++ zeroed_words).
  Proof.
    intros P. split.
    - intros n w I. apply in_app_or in I as [I|I].
      + unfold moved_words in I. apply in_map_iff in I as ([it to] & [= <- <-] & I). cbn.
        assert (J : In (it, to) (placed o m)) by (rewrite P; apply in_or_app; now right).
        split; [|symmetry; now apply new_word_placed]. apply in_placed, in_items in J as [J _].
        now apply (in_line_pointers m header) in J.
      + unfold zeroed_words in I. destruct (existsb _ _); [|destruct I].
        apply in_map_iff in I as (it & [= <- <-] & I). apply filter_In in I as [I U].
        split; [now apply (in_line_pointers m header) in I|]. apply negb_true_iff in U.
        rewrite new_word_other; [now rewrite U|exact I|]. unfold has_storage. now rewrite U.
    - intros n N. set (it := Item n (lp_word m n)).
      assert (I : In it (line_pointers m)) by (apply (in_line_pointers m header); cbn; auto).
      destruct (has_storage (lp_word m n)) eqn:S.
      + assert (J : exists to, In (it, to) (placed o m)).
        { assert (K : In it (ordered o (items m))).
          { eapply Permutation_in; [apply ordered_permutation|]. apply in_items. auto. }
          unfold placed. clear - K. revert K. generalize (pd_special m). induction (ordered o (items m)) as [|x r IH]; intros u [].
          - subst. eexists. left. reflexivity.
          - destruct (IH (u - len x) H) as [to J]. exists to. now right. }
        destruct J as [to J]. pose proof J as J'. rewrite P in J'. apply in_app_or in J' as [J'|J'].
        * right. apply in_map_iff in J' as (x & [= -> <-] & J').
          change n with (number it). rewrite (new_word_placed o it (off it) J).
          unfold off. apply set_off_same. cbn. apply lp_word_range; [exact page_m|exact header|exact N].
        * left. rewrite map_app. apply in_or_app. left. unfold moved_words. rewrite map_map.
          apply in_map_iff. exists (it, to). auto.
      + change n with (number it) at 2. change (lp_word m n) with (word it) in S |- *. rewrite (new_word_other o it I S).
        destruct (is_used (word it)) eqn:U; [now right|].
        unfold zeroed_words. destruct (existsb _ _) eqn:G.
        * left. rewrite map_app. apply in_or_app. right. rewrite map_map. cbn. apply in_map_iff. exists it.
          split; [reflexivity|]. apply filter_In. now rewrite U.
        * right. symmetry. destruct (Z.eqb_spec (word it) 0) as [E|E]; [exact E|]. exfalso.
          enough (X : existsb (fun it => negb (word it =? 0)) (filter (fun it => negb (is_used (word it))) (line_pointers m)) = true)
            by congruence.
          apply existsb_exists. exists it. split; [apply filter_In; now rewrite U|]. now apply negb_true_iff, Z.eqb_neq.
  Qed.

  Fixpoint all_words (lps : list item) (upper : Z) : list (Z * Z) :=
    match lps with
    | [] => []
    | it :: r =>
        if has_storage (word it) then (number it, set_off (word it) (upper - len it)) :: all_words r (upper - len it)
        else (number it, if is_used (word it) then word it else 0) :: all_words r upper
    end.

  Lemma write_line_pointers_words lps : forall upper, write_line_pointers lps upper = store_words (all_words lps upper).
  Proof. induction lps as [|it r IH]; intro upper; cbn; [reflexivity|]. destruct (has_storage _); cbn; now rewrite IH. Qed.

  Lemma all_words_rewrite : rewrites ItemOrder (all_words (line_pointers m) (pd_special m)).
  Proof.
    assert (G : forall lps upper, (forall n w, In (n, w) (all_words lps upper) ->
        (exists it to, In (it, to) (place (filter (fun it => has_storage (word it)) lps) upper) /\
           n = number it /\ w = set_off (word it) to) \/
        (exists it, In it lps /\ has_storage (word it) = false /\ n = number it /\ w = if is_used (word it) then word it else 0)) /\
      map fst (all_words lps upper) = map number lps).
    { induction lps as [|it r IH]; intro upper; [split; [easy|reflexivity]|]. cbn [all_words filter].
      destruct (has_storage (word it)) eqn:S.
      - destruct (IH (upper - len it)) as [A B]. split; [|cbn; now rewrite B]. intros n w [[= <- <-]|I].
        + left. exists it, (upper - len it). split; [now left|auto].
        + destruct (A n w I) as [(x & to & J & E)|(x & J & E)]; [left|right].
          * exists x, to. split; [now right|exact E].
          * exists x. split; [now right|exact E].
      - destruct (IH upper) as [A B]. split; [|cbn; now rewrite B]. intros n w [[= <- <-]|I].
        + right. exists it. split; [now left|auto].
        + destruct (A n w I) as [H|(x & J & E)]; [now left|right]. exists x. split; [now right|exact E]. }
    destruct (G (line_pointers m) (pd_special m)) as [A B]. split.
    - intros n w I. destruct (A n w I) as [(it & to & J & -> & ->)|(it & J & S & -> & ->)].
      + change (In (it, to) (placed ItemOrder m)) in J. split; [|symmetry; now apply new_word_placed].
        apply in_placed, in_items in J as [J _]. now apply (in_line_pointers m header) in J.
      + split; [now apply (in_line_pointers m header) in J|]. symmetry. now apply new_word_other.
    - intros n N. left. rewrite B. apply in_map_iff. exists (Item n (lp_word m n)). split; [reflexivity|].
      apply (in_line_pointers m header). cbn. auto.
  Qed.
End Valid.

(* SPDX-License-Identifier: PostgreSQL *)
(** * Long tuples of one length from slot to slot, on every valid page

    What counts is the order in which slots are filled: each before the one that its tuple comes from.  [done] are those filled so
    far; bytes come in with [holds] alone. *)
From Pgquern.common Require Import Integers.
From Pgquern.compaction Require Import Page Memory Algorithms Spec Moves Copies.

(** The test by multiplication accepts exactly the multiples of the length, counted down from pd_special, as starts of a
    slot, and gives the same slot as division. *)
Theorem slots_are_found : forall length below, SHORTEST_IN_SLOTS <= length <= BLCKSZ -> 0 <= below <= BLCKSZ ->
  (is_slot length below = true <-> below mod length = 0) /\
  (is_slot length below = true -> slot_below length below = below / length - 1).
Proof.
  intros length below L B. unfold SHORTEST_IN_SLOTS, BLCKSZ in *. change (8192 / 32 + 8) with 264 in L.
  assert (Q : below mod length = 0 -> slot_below length below = below / length - 1).
  { intro D. unfold slot_below. f_equal. pose proof (Z.div_mod below length ltac:(lia)) as E. rewrite D, Z.add_0_r in E.
    set (q := below / length) in *. pose proof (Z.div_mod 65536 length ltac:(lia)).
    pose proof (Z.mod_pos_bound 65536 length ltac:(lia)).
    set (c := 65536 / length) in *. symmetry. apply Z.div_unique with (r := q * (length - 65536 mod length)); nia. }
  assert (I : is_slot length below = true <-> below mod length = 0).
  { unfold is_slot. rewrite Z.eqb_eq. split; intro D.
    - rewrite <- D. apply Z_mod_mult.
    - rewrite (Q D). pose proof (Z.div_mod below length ltac:(lia)). lia. }
  split; [exact I|]. intro F. now apply Q, I.
Qed.

Lemma among_spec k l : among k l = true <-> In k l.
Proof.
  unfold among. rewrite existsb_exists. split.
  - intros (x & I & E). apply Nat.eqb_eq in E. now subst.
  - intro I. exists k. now rewrite Nat.eqb_refl.
Qed.
Lemma not_among k l : among k l = false <-> ~ In k l.
Proof. rewrite <- among_spec. destruct (among k l); intuition congruence. Qed.

Lemma distinct_spec l : distinct l = true -> NoDup l.
Proof.
  induction l as [|k r IH]; cbn; intro D; constructor; apply andb_true_iff in D as [D E]; [|now apply IH].
  now apply not_among, negb_true_iff.
Qed.

Section Slots.
  Variables (m : mem) (special length : Z) (slots : list nat).
  Let n : nat := List.length slots.
  Let from (k : nat) : nat := nth k slots O.
  Let at_ (k : nat) : Z := slot_start special length k.
  Hypothesis length_positive : 0 < length <= BLCKSZ.
  Hypothesis slots_distinct : NoDup slots.
  Hypothesis few : (n <= MAX_SLOTS)%nat.
  Hypothesis few_slots : forall k, In k slots -> (k < MAX_SLOTS)%nat.
  Hypothesis in_page : forall k, (k < n)%nat \/ In k slots -> 0 <= at_ k /\ at_ k + length <= BLCKSZ.

  (* All lemmas take the same arguments. *)
  #[local] Set Default Proof Using "All".

  Let good (o : op) : Prop := is_copy o = true /\ in_bounds 0 0 o.

  Lemma slots_apart j k x : 0 <= x < length -> at_ k <= at_ j + x < at_ k + length -> j = k.
  Proof. unfold at_, slot_start. intros. nia. Qed.

  Lemma from_in k : (k < n)%nat -> In (from k) slots.
  Proof. apply nth_In. Qed.
  Lemma from_injective i j : (i < n)%nat -> (j < n)%nat -> from i = from j -> i = j.
  Proof. intros I J E. apply (proj1 (NoDup_nth slots O) slots_distinct); assumption. Qed.

  (** Slots that are done hold the tuples that must go there, the others what they held; nothing outside them has changed. *)
  Definition holds (done : list nat) (s : state) : Prop :=
    (forall k x, 0 <= x < length -> page s (at_ k + x) = m (at_ (if among k done then from k else k) + x)) /\
    (forall i, i < special - Z.of_nat n * length \/ special <= i -> page s i = m i).

  (** One more is done, from the page or from scratch. *)
  Lemma one_more done s src at_src k : (k < n)%nat -> holds done s ->
    (forall x, 0 <= x < length -> src (at_src + x) = m (at_ (from k) + x)) ->
    holds (k :: done) (State (copy src at_src (page s) (at_ k) length) (scratch s)).
  Proof.
    intros K [H U] C. split; cbn [page]; unfold copy.
    - intros j x X. cbn [among existsb]. destruct (Nat.eqb_spec j k) as [->|E]; cbn [orb].
      + cases; try lia. rewrite <- C by lia. f_equal. lia.
      + cases; try (now apply H). exfalso. apply E, (slots_apart j k x); lia.
    - intros i I. cases; try (now apply U). unfold at_, slot_start in *. nia.
  Qed.

  (** What is true of the slots done so far, [next] being the one that is free now: each came from one that is done, or is next, or
      where none must go; and the tuple that lay in it has gone, except from slot [last], where the walk will end. *)
  Record settled (last : nat) (next done misplaced : list nat) : Prop := {
    once : NoDup done;
    below_n : forall k, In k done -> (k < n)%nat;
    not_done : forall k, In k misplaced <-> (k < n)%nat /\ from k <> k /\ ~ In k done;
    onwards : forall k, In k done -> In (from k) (next ++ done) \/ (n <= from k)%nat;
    gone : forall k j, In k (next ++ done) -> k <> last -> (j < n)%nat -> from j = k -> In j done
  }.

  Lemma fill_spec last rounds : forall free done misplaced s ops misplaced' free',
    settled last [free] done misplaced -> holds done s ->
    (free < n)%nat -> ~ In free done -> (n <= rounds + List.length done)%nat -> In last (free :: done) \/ (n <= last)%nat ->
    fill special length slots rounds misplaced free last = (ops, misplaced', free') ->
    Forall good ops /\ scratch (exec ops s) = scratch s /\ exists done',
    (forall k, In k done' -> In k done \/ k = free \/ In k slots) /\ incl (free :: done) done' /\
    ((exists moved, done' = free' :: moved /\ (free' < n)%nat /\ from free' = last /\ settled n [] done' misplaced' /\
        holds moved (exec ops s)) \/
     (exists j, (j < n)%nat /\ ~ In j done /\ free' = from j) /\ (n <= free')%nat /\
        settled last [] done' misplaced' /\ holds done' (exec ops s)).
  Proof.
    induction rounds as [|rounds IH]; intros free done misplaced s ops misplaced' free' S H F D R L E.
    - exfalso. assert (X : (List.length (free :: done) <= n)%nat).
      { rewrite <- (seq_length n 0). apply NoDup_incl_length; [constructor; [exact D|apply S]|].
        intros k [<-|I]; apply in_seq; [|apply S in I]; lia. }
      cbn in X. lia.
    - cbn [fill] in E. fold (from free) n in E. set (rest := filter _ misplaced) in E.
      assert (M : forall k, In k rest <-> (k < n)%nat /\ from k <> k /\ ~ In k (free :: done)).
      { intro k. subst rest. rewrite filter_In, (not_done _ _ _ _ S), negb_true_iff, Nat.eqb_neq. cbn [In].
        intuition congruence. }
      assert (O : NoDup (free :: done)) by (constructor; [exact D|apply S]).
      assert (B : forall k, In k (free :: done) -> (k < n)%nat) by (intros k [<-|I]; [exact F|now apply S in I]).
      (* the tuple that must come has not been overwritten *)
      assert (P : from free <> last -> ~ In (from free) (free :: done)).
      { intros N I. apply D, (gone _ _ _ _ S (from free)); auto. }
      destruct (Nat.eqb_spec (from free) last) as [T|T].
      + injection E as <- <- <-. split; [constructor|]. split; [reflexivity|]. exists (free :: done).
        split; [intros k [<-|I]; auto|]. split; [apply incl_refl|]. left. exists done.
        repeat (split; [reflexivity || assumption|]). split; [|exact H].
        constructor; auto; cbn [app].
        * intros k [<-|I]; [rewrite T; tauto|]. apply (onwards _ _ _ _ S) in I. exact I.
        * intros k j I _ J K. destruct (Nat.eq_dec k last) as [X|X].
          -- left. apply from_injective; auto. congruence.
          -- right. now apply (gone _ _ _ _ S k).
      + specialize (P T). set (s' := step (Move (at_ free) (at_ (from free)) length) s).
        assert (H' : holds (free :: done) s').
        { apply one_more; auto. intros x X. destruct H as [H _]. rewrite H by exact X.
          destruct (among (from free) done) eqn:A; [|reflexivity]. apply among_spec in A. exfalso. apply P. now right. }
        assert (G : good (Move (at_ free) (at_ (from free)) length)).
        { split; [reflexivity|]. pose proof (in_page free (or_introl F)).
          pose proof (in_page (from free) (or_intror (from_in _ F))). cbn [in_bounds]. lia. }
        assert (W : forall k j, In k (from free :: free :: done) -> k <> last -> (j < n)%nat -> from j = k ->
          In j (free :: done)).
        { intros k j [<-|I] X J K; [left; now apply from_injective|]. right. now apply (gone _ _ _ _ S k). }
        destruct (Nat.leb_spec n (from free)) as [Q|Q].
        * injection E as <- <- <-. split; [repeat constructor; apply G|]. split; [reflexivity|]. exists (free :: done).
          split; [intros k [<-|I]; auto|]. split; [apply incl_refl|]. right.
          split; [now exists free|]. split; [exact Q|]. split; [|exact H']. constructor; auto; cbn [app].
          -- intros k [<-|I]; [auto|]. apply (onwards _ _ _ _ S) in I. exact I.
          -- intros k j I. apply W. now right.
        * destruct (fill _ _ _ rounds rest (from free) last) as [[ops2 misplaced2] free2] eqn:N. injection E as <- <- <-.
          destruct (IH (from free) (free :: done) rest s' ops2 misplaced2 free2) as (G2 & C & done2 & X & I & Y);
            try assumption.
          -- constructor; auto; cbn [app].
             ++ intros k [<-|I]; [left; now left|]. apply (onwards _ _ _ _ S) in I as [I|I]; [left; now right|now right].
          -- cbn [List.length]. lia.
          -- destruct L as [L|L]; [left; now right|now right].
          -- split; [constructor; [exact G|exact G2]|]. split; [exact C|]. exists done2.
             split; [|split].
             ++ intros k K. apply X in K as [[<-|K]|[->|K]]; auto. right. right. now apply from_in.
             ++ intros k K. apply I. now right.
             ++ destruct Y as [Y|((j & J1 & J2 & J3) & Y)]; [now left|]. right. split; [|exact Y].
                exists j. split; [exact J1|]. split; [|exact J3]. intro K. apply J2. now right.
  Qed.

  (** From each slot that is free at first. *)
  Lemma fill_all_spec frees : forall done misplaced s ops misplaced', NoDup frees ->
    (forall k, In k frees -> (k < n)%nat /\ ~ In k slots /\ ~ In k done) -> settled n [] done misplaced -> holds done s ->
    fill_all special length slots frees misplaced = (ops, misplaced') ->
    Forall good ops /\
    exists done', incl done done' /\ incl frees done' /\ settled n [] done' misplaced' /\ holds done' (exec ops s).
  Proof.
    induction frees as [|free r IH]; intros done misplaced s ops misplaced' O F S H E; cbn [fill_all] in E.
    - injection E as <- <-. split; [constructor|]. exists done. split; [apply incl_refl|]. split; [easy|]. now split.
    - destruct (fill _ _ _ _ misplaced free MAX_SLOTS) as [[ops1 misplaced1] free1] eqn:E1.
      destruct (fill_all _ _ _ r misplaced1) as [ops2 misplaced2] eqn:E2. injection E as <- <-.
      destruct (F free (or_introl eq_refl)) as (F1 & F2 & F3). inversion O as [|? ? O1 O2]; subst.
      destruct (fill_spec MAX_SLOTS n free done misplaced s ops1 misplaced1 free1) as (G1 & _ & done1 & X & I & Y);
        try assumption; try lia.
      { constructor; try apply S; cbn [app].
        - intros k K. apply (onwards _ _ _ _ S) in K as [K|K]; [left; now right|now right].
        - intros k j [<-|K] _ J Z; [|apply (gone _ _ _ _ S k); auto; apply S in K; lia].
          exfalso. apply F2. rewrite <- Z. now apply from_in. }
      assert (A : settled n [] done1 misplaced1 /\ holds done1 (exec ops1 s)).
      { destruct Y as [(moved & _ & Y1 & Y2 & _)|(_ & _ & Y1 & Y2)].
        - exfalso. pose proof (few_slots _ (from_in _ Y1)). lia.
        - split; [|exact Y2]. constructor; try apply Y1. cbn [app]. intros k j K _ J Z.
          apply (gone _ _ _ _ Y1 k); auto. apply Y1 in K. lia. }
      destruct A as [S1 H1].
      destruct (IH done1 misplaced1 (exec ops1 s) ops2 misplaced2) as (G2 & done2 & I2 & J2 & S2 & H2); try assumption.
      { intros k K. destruct (F k (or_intror K)) as (K1 & K2 & K3). split; [exact K1|]. split; [exact K2|].
        intro Z. apply X in Z as [Z|[->|Z]]; auto. }
      split; [apply Forall_app; now split|]. exists done2. rewrite exec_app. split; [|split; [|split; assumption]].
      + intros k K. apply I2, I. now right.
      + intros k [<-|K]; [apply I2, I; now left|now apply J2].
  Qed.

  (** When no slot is free any more, what is left permutes itself. *)
  Lemma nothing_free done misplaced : settled n [] done misplaced ->
    (forall k, (k < n)%nat -> ~ In k slots -> In k done) -> forall k, (k < n)%nat -> ~ In k done -> (from k < n)%nat.
  Proof.
    intros S F. set (others := filter (fun k => negb (among k done)) (seq 0 n)).
    assert (M : forall k, In k others <-> (k < n)%nat /\ ~ In k done).
    { intro k. subst others. rewrite filter_In, in_seq, negb_true_iff, not_among. intuition lia. }
    assert (I : incl (map from others) others).
    { apply NoDup_length_incl; [apply NoDup_filter, seq_NoDup|rewrite map_length; lia|].
      intros k K. apply M in K as [K D]. destruct (in_dec Nat.eq_dec k slots) as [J|J]; [|now apply F in J].
      apply (In_nth slots k O) in J as (j & J & E). apply in_map_iff. exists j. split; [exact E|]. apply M. split; [exact J|].
      intro Z. apply (onwards _ _ _ _ S) in Z. cbn [app] in Z. unfold from in Z. rewrite E in Z.
      destruct Z as [Z|Z]; [auto|lia]. }
    intros k K D. apply M, I, in_map, M. now split.
  Qed.

  Lemma cycles_spec lowest : forall done misplaced s, settled n [] done misplaced -> holds done s ->
    (forall k, (k < n)%nat -> ~ In k done -> (from k < n)%nat) -> let ops := cycles special length slots lowest misplaced in
    Forall good ops /\ exists done', incl done done' /\ holds done' (exec ops s) /\
      (forall k, In k lowest -> In k misplaced -> In k done').
  Proof.
    induction lowest as [|first r IH]; intros done misplaced s S H P; cbn [cycles].
    - split; [constructor|]. exists done. split; [apply incl_refl|]. split; [exact H|easy].
    - destruct (among first misplaced) eqn:A.
      + apply among_spec in A. apply (not_done _ _ _ _ S) in A as (F & N & D).
        destruct (fill _ _ _ _ misplaced first first) as [[ops1 misplaced1] free1] eqn:E.
        set (s0 := step (Save 0 (slot_start special length first) length) s).
        assert (H0 : holds done s0) by exact H.
        destruct (fill_spec first n first done misplaced s0 ops1 misplaced1 free1) as (G1 & C & done1 & X & I & Y);
          try assumption; try lia.
        { constructor; try apply S; cbn [app].
          - intros k K. apply (onwards _ _ _ _ S) in K as [K|K]; [left; now right|now right].
          - intros k j [<-|K] Z J W; [easy|]. apply (gone _ _ _ _ S k); auto. apply S in K. lia. }
        { left. now left. }
        destruct Y as [(moved & -> & Y1 & Y2 & S1 & H1)|((j & J1 & J2 & ->) & Y & _)];
          [|exfalso; specialize (P j J1 J2); lia].
        set (s1 := exec ops1 s0) in *.
        set (s2 := step (Restore (slot_start special length free1) 0 length) s1).
        assert (H2 : holds (free1 :: moved) s2).
        { apply one_more; [exact Y1|exact H1|]. intros x Z. rewrite C. cbn [step scratch s0]. unfold copy.
          rewrite Y2. destruct H as [H _]. specialize (H first x Z). rewrite (proj2 (not_among _ _) D) in H. rewrite <- H.
          cases; try lia. unfold at_. same. }
        destruct (IH (free1 :: moved) misplaced1 s2 S1 H2) as (G2 & done2 & I2 & H3 & J2).
        { intros k K Z. apply P; [exact K|]. intro W. apply Z, I. now right. }
        pose proof (in_page first (or_introl F)) as B1. pose proof (in_page free1 (or_introl Y1)) as B2. unfold at_ in B1, B2.
        split.
        * constructor; [split; [reflexivity|cbn [in_bounds]; lia]|]. apply Forall_app. split; [exact G1|].
          constructor; [split; [reflexivity|cbn [in_bounds]; lia]|exact G2].
        * exists done2. rewrite exec_cons, exec_app, exec_cons. split; [|split; [exact H3|]].
          -- intros k K. apply I2, I. now right.
          -- intros k [<-|K] Z; [apply I2, I; now left|].
             destruct (in_dec Nat.eq_dec k (free1 :: moved)) as [W|W]; [now apply I2|].
             apply J2; [exact K|]. apply S1. apply S in Z as (Z1 & Z2 & _). now repeat split.
      + destruct (IH done misplaced s S H P) as (G & done' & I & H' & J). split; [exact G|]. exists done'.
        split; [exact I|]. split; [exact H'|]. intros k [<-|K] Z; [|now apply J].
        apply not_among in A. contradiction.
  Qed.

  Lemma permute_slots_spec scratch0 : let ops := permute_slots special length slots in
    Forall good ops /\
    (forall k x, (k < n)%nat -> 0 <= x < length -> page (exec ops (State m scratch0)) (at_ k + x) = m (at_ (from k) + x)) /\
    (forall i, i < special - Z.of_nat n * length \/ special <= i -> page (exec ops (State m scratch0)) i = m i).
  Proof.
    unfold permute_slots. fold n. set (misplaced := filter _ (seq 0 n)).
    assert (M : forall k, In k misplaced <-> (k < n)%nat /\ from k <> k).
    { intro k. subst misplaced. rewrite filter_In, in_seq, negb_true_iff, Nat.eqb_neq. unfold from. intuition lia. }
    destruct (fill_all _ _ _ _ _) as [ops1 misplaced1] eqn:E.
    set (frees := filter _ misplaced) in E.
    assert (F : forall k, In k frees <-> (k < n)%nat /\ ~ In k slots).
    { intro k. subst frees. rewrite filter_In, M, negb_true_iff, not_among. split; [tauto|]. intros [K Z].
      repeat split; auto. intro W. apply Z. rewrite <- W. now apply from_in. }
    destruct (fill_all_spec frees [] misplaced (State m scratch0) ops1 misplaced1) as (G1 & done1 & _ & I & S & H);
      try assumption.
    { apply NoDup_filter, NoDup_filter, seq_NoDup. }
    { intros k K. apply F in K. cbn. tauto. }
    { constructor; try easy; [constructor|]. intro k. rewrite M. cbn. tauto. }
    { split; [|reflexivity]. intros k x _. reflexivity. }
    destruct (cycles_spec misplaced1 done1 misplaced1 (exec ops1 (State m scratch0)) S H) as (G2 & done2 & I2 & [H2 U] & J).
    { apply (nothing_free _ _ S). intros k K Z. apply I, F. now split. }
    split; [apply Forall_app; now split|]. rewrite exec_app. split; [|exact U].
    intros k x K X. rewrite H2 by exact X. destruct (among k done2) eqn:A; [reflexivity|].
    (* in place from the beginning *)
    apply not_among in A. destruct (Nat.eq_dec (from k) k) as [->|Z]; [reflexivity|]. exfalso. apply A.
    destruct (in_dec Nat.eq_dec k done1) as [W|W]; [now apply I2|]. apply J; apply S; now repeat split.
  Qed.
End Slots.

Section Valid.
  Variable m : mem.
  Hypothesis page_m : is_page m.
  Hypothesis valid : valid_page m.

  Lemma one_length its l : Forall (fun it => len it <= l) its -> total its = Z.of_nat (length its) * l ->
    Forall (fun it => len it = l) its.
  Proof using.
    assert (B : forall its, Forall (fun it => len it <= l) its -> total its <= Z.of_nat (length its) * l)
      by (induction 1; cbn [total length]; lia).
    induction 1 as [|it r L F IH]; cbn [total length]; intro T; constructor; specialize (B r F); [lia|apply IH; lia].
  Qed.

  Lemma placed_in_slots special l its : Forall (fun it => len it = l) its -> forall first k it, nth_error its k = Some it ->
    In (it, slot_start special l (first + k)) (place its (special - Z.of_nat first * l)).
  Proof using.
    induction 1 as [|x r L _ IH]; intros first k it N; [now destruct k|]. cbn [place]. destruct k as [|k]; cbn [nth_error] in N.
    - injection N as <-. left. f_equal. unfold slot_start. rewrite Nat.add_0_r. lia.
    - right. rewrite Nat.add_succ_r.
      replace (special - Z.of_nat first * l - len x) with (special - Z.of_nat (S first) * l) by lia.
      now apply (IH (S first)).
  Qed.

  Section Fit.
    Let l : Z := longest (items m).
    Let n : nat := length (items m).
    Let slot_of (it : item) : nat := Z.to_nat (slot_below l (pd_special m - off it)).
    Hypothesis fit : slots_fit m = true.

    Lemma fit_length : SHORTEST_IN_SLOTS <= l <= BLCKSZ /\ total (items m) = Z.of_nat n * l /\ NoDup (slots_of m) /\
      forall it, In it (items m) -> len it = l /\ slot_start (pd_special m) l (slot_of it) = off it.
    Proof.
      unfold slots_fit in fit. fold l n in fit. rewrite !andb_true_iff, Z.leb_le, Z.eqb_eq, forallb_forall in fit.
      destruct fit as [[[L T] S] D]. destruct valid as ((H & U & _) & _). unfold HEADER_SIZE in H.
      pose proof (one_length _ l (longest_spec _) T) as O. rewrite Forall_forall in O.
      assert (I : forall it, In it (items m) -> len it = l /\ slot_start (pd_special m) l (slot_of it) = off it).
      { intros it I. split; [now apply O|]. specialize (S it I). specialize (O it I). apply Z.eqb_eq in S.
        pose proof (valid_stop m valid it I). unfold SHORTEST_IN_SLOTS, BLCKSZ, stop in *. change (8192 / 32 + 8) with 264 in L.
        unfold slot_start, slot_of. rewrite Nat2Z.inj_succ, Z2Nat.id by nia. lia. }
      split; [|split; [exact T|split; [now apply distinct_spec|exact I]]]. split; [exact L|].
      destruct (items m) as [|it r] eqn:E; [subst l; cbn; unfold BLCKSZ; lia|].
      destruct (I it (or_introl eq_refl)) as [<- _].
      assert (J : In it (items m)) by (rewrite E; now left).
      pose proof (valid_item m valid it J) as V. unfold item_ok, stop in V. lia.
    Qed.

    Lemma fit_permutes scratch0 : let ops := permute_slots (pd_special m) l (slots_of m) in
      Forall (fun o => is_copy o = true /\ in_bounds 0 0 o) ops /\
      (forall k it x, nth_error (items m) k = Some it -> 0 <= x < l ->
         page (exec ops (State m scratch0)) (slot_start (pd_special m) l k + x) = m (off it + x)) /\
      (forall i, i < new_upper m \/ pd_special m <= i -> page (exec ops (State m scratch0)) i = m i).
    Proof.
      destruct fit_length as (L & T & D & I). destruct valid as ((H & U & _) & _ & _ & B & _).
      unfold SHORTEST_IN_SLOTS, HEADER_SIZE, BLCKSZ in *. change (8192 / 32 + 8) with 264 in L.
      assert (N : length (slots_of m) = n) by apply map_length.
      assert (M : forall k, In k (slots_of m) -> exists it, In it (items m) /\ slot_of it = k /\
        slot_start (pd_special m) l k = off it /\ 0 <= off it /\ off it + l <= pd_special m).
      { intros k K. apply in_map_iff in K as (it & E & K). exists it. destruct (I it K) as [X F].
        pose proof (valid_item m valid it K) as V. unfold item_ok, stop in V. change (slot_of it = k) in E. subst k.
        repeat split; auto; lia. }
      destruct (permute_slots_spec m (pd_special m) l (slots_of m)) with (scratch0 := scratch0) as (G & P & V).
      - unfold BLCKSZ. lia.
      - exact D.
      - rewrite N. unfold MAX_SLOTS. nia.
      - intros k K. apply M in K as (it & _ & _ & K & J & _). unfold slot_start, MAX_SLOTS in *. nia.
      - rewrite N. unfold BLCKSZ. intros k [K|K].
        + unfold slot_start. nia.
        + apply M in K as (it & _ & _ & -> & K). lia.
      - rewrite N in *. split; [exact G|]. split.
        + intros k it x K X. assert (F : (k < n)%nat) by (apply nth_error_Some; congruence).
          rewrite P by assumption. pose proof (map_nth_error slot_of _ _ K) as E. apply (nth_error_nth _ _ O) in E.
          change (map slot_of (items m)) with (slots_of m) in E. rewrite E.
          destruct (I it (nth_error_In _ _ K)) as [_ ->]. reflexivity.
        + intros i J. apply V. unfold new_upper in J. lia.
    Qed.
  End Fit.

  Lemma by_slots_packs scratch0 i :
    page (exec (by_slots m) (State m scratch0)) i = packed (placed ItemOrder m) m m i.
  Proof.
    unfold by_slots. destruct (start false m) as [rest upper] eqn:S.
    destruct (slots_fit m) eqn:F; [|rewrite (rest_packed m page_m valid _ _ _ S); now apply (by_runs_packs m page_m valid false)].
    destruct (fit_length F) as (L & T & _ & I). destruct (fit_permutes F scratch0) as (_ & P & U).
    set (l := longest (items m)) in *. pose proof (valid_nonneg m page_m valid) as N. unfold placed, ordered.
    destruct (Z.lt_ge_cases i (new_upper m)) as [A|A]; [rewrite packed_below by auto; apply U; now left|].
    destruct (Z.le_gt_cases (pd_special m) i) as [B|B]; [rewrite packed_above by auto; apply U; now right|].
    (* in slot k *)
    unfold new_upper, SHORTEST_IN_SLOTS, BLCKSZ in *. change (8192 / 32 + 8) with 264 in L.
    set (k := Z.to_nat ((pd_special m - 1 - i) / l)).
    assert (K : slot_start (pd_special m) l k <= i < slot_start (pd_special m) l k + l).
    { unfold slot_start, k. rewrite Nat2Z.inj_succ, Z2Nat.id by (apply Z.div_pos; lia).
      pose proof (Z.div_mod (pd_special m - 1 - i) l). pose proof (Z.mod_pos_bound (pd_special m - 1 - i) l). lia. }
    destruct (nth_error (items m) k) as [it|] eqn:E.
    - replace i with (slot_start (pd_special m) l k + (i - slot_start (pd_special m) l k)) at 1 by lia.
      rewrite (P k it) by (auto; lia). symmetry. apply packed_content; [exact N| |].
      + rewrite <- (Z.sub_0_r (pd_special m)) at 2. apply (placed_in_slots _ l) with (first := O); [|exact E].
        apply Forall_forall. intros x X. now apply I.
      + destruct (I it (nth_error_In _ _ E)) as [-> _]. exact K.
    - exfalso. apply nth_error_None in E. unfold slot_start in K. nia.
  Qed.
End Valid.

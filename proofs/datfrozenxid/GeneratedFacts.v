(* SPDX-License-Identifier: PostgreSQL *)
(** * The program of which C is printed finds the greatest age *)
From Coq Require Import ZArith Lia String List Bool.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Import Lanes Arithmetic Masked Compare Permute Memory Facts Table Program ProgramFacts.
From Pgquern.datfrozenxid Require Import Spec Algorithms Minimum Kernels Generated.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation words l := (there (register_of 4 l)).

Lemma lanes_max_is_map2 : forall a b, lanes_max a b = map2 Z.max a b.
Proof.
  unfold lanes_max. induction a as [|x a IH]; intros [|y b]; auto. cbn [combine map map2 fst snd]. now rewrite IH.
Qed.

Lemma valid_lanes l : Forall valid l -> lanes 4 (register_of 4 l) = l.
Proof. apply lanes_of_words. Qed.

Lemma all_valid n x : valid x -> Forall valid (repeat x n).
Proof. intros V. apply Forall_forall. intros y Y. apply repeat_spec in Y. now subst. Qed.

Lemma lanes_max_valid a : forall b, Forall valid a -> Forall valid b -> Forall valid (lanes_max a b).
Proof.
  intros b. rewrite lanes_max_is_map2. revert b. induction a as [|x a IH]; intros [|y b] A B; cbn [map2]; auto.
  inversion A; inversion B; subst. constructor; auto. unfold valid in *. lia.
Qed.

Section greatest.
  Context (s : sort) (sane : Z) (Sane : valid sane).
  Let ages l := map (age s sane) l.

  Lemma ages_valid l : Forall valid (ages l).
  Proof. apply Forall_map, Forall_forall. intros x _. apply Z.mod_pos_bound. reflexivity. Qed.

  Lemma first_valid : valid (first_normal s).
  Proof. destruct s; split; easy. Qed.

  Definition at_hand (t : state) : Prop :=
    env t "sane" = Some (Register (spread 16 (bytes_of 4 sane))) /\
    env t "least" = Some (Register (spread 16 (bytes_of 4 (first_normal s)))).

  Definition accumulates (t : state) (x : string) (v : list Z) : Prop :=
    env t x = Some (Register (register_of 4 v)) /\ length v = 16%nat /\ Forall valid v.

  (* The lanes that a mask has from one register, zeros elsewhere. *)
  Lemma chosen_sane l : choose (map (fun x => x >=? first_normal s) l) (repeat sane (length l)) (repeat 0 (length l)) =
    map (fun x => if x <? first_normal s then 0 else sane) l.
  Proof.
    induction l as [|x l IH]; [reflexivity|]. cbn [map length repeat choose]. rewrite IH. f_equal.
    rewrite Z.geb_leb. destruct (Z.leb_spec (first_normal s) x), (Z.ltb_spec x (first_normal s)); auto; lia.
  Qed.

  Lemma map2_maps {A} (f g : A -> Z) (h : Z -> Z -> Z) l : map2 h (map f l) (map g l) = map (fun x => h (f x) (g x)) l.
  Proof. induction l as [|x l IH]; cbn [map map2]; [|rewrite IH]; reflexivity. Qed.

  Lemma older_runs t accumulator x mask l v : at_hand t -> accumulates t accumulator v ->
    env t x = Some (Register (register_of 4 l)) -> length l = 16%nat -> Forall valid l ->
    String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
    exists t', run_statements (older accumulator x mask) t = Some t' /\ memory t' = memory t /\
      accumulates t' accumulator (lanes_max v (ages l)) /\
      forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> env t' y = env t y.
  Proof.
    intros [S F] (A & Lv & Vv) X L V D1 D2 D3.
    set (k := mask_compare 4 Z.geb (register_of 4 l) (spread 16 (bytes_of 4 (first_normal s)))).
    assert (C : compared 4 Z.geb (register_of 4 l) (spread 16 (bytes_of 4 (first_normal s))) =
      map (fun x => x >=? first_normal s) l).
    { unfold compared. rewrite spread_words, !valid_lanes by (auto using all_valid, first_valid).
      now rewrite map2_repeat. }
    assert (B : bits k = map (fun x => x >=? first_normal s) l).
    { unfold k, mask_compare. rewrite C. apply (bits_of_register 2). now rewrite map_length. }
    assert (K : length k = 2%nat).
    { unfold k, mask_compare, register_of_bits. rewrite C, map_length. apply (pieces_count 8 2); [lia|]. now rewrite map_length. }
    assert (Z64 : zeros 64 = register_of 4 (repeat 0 16)) by reflexivity.
    assert (M : lanes 4 (masked_zero 4 k (spread 16 (bytes_of 4 sane))) =
      map (fun x => if x <? first_normal s then 0 else sane) l).
    { unfold masked_zero. rewrite lanes_of_masked by lia. rewrite spread_words, words_length, repeat_length.
      change (zeros (4 * 16)) with (register_of 4 (repeat 0 16)). rewrite !valid_lanes by
        (apply all_valid; auto; unfold valid, RING; lia).
      rewrite B, <- L. apply chosen_sane. }
    assert (Lm : length (masked_zero 4 k (spread 16 (bytes_of 4 sane))) = 64%nat).
    { unfold masked_zero, masked. rewrite (concat_length 4).
      - assert (G : forall (k : list bool) (a b : list (list Z)), length k = 16%nat -> length a = 16%nat -> length b = 16%nat ->
          length (choose k a b) = 16%nat).
        { clear. intros k a b. generalize 16%nat. intros n. revert k a b.
          induction n as [|n IH]; intros [|t k] [|x a] [|y b] H1 H2 H3; try discriminate; auto. cbn [choose length].
          rewrite IH; auto. }
        rewrite G; [reflexivity|rewrite B, map_length; exact L| |];
          apply (pieces_count 4 16); try lia; rewrite ?zeros_length, ?spread_words, ?words_length, ?repeat_length; reflexivity.
      - apply choose_lengths; apply pieces_lengths; lia. }
    set (d := sub 4 (masked_zero 4 k (spread 16 (bytes_of 4 sane))) (register_of 4 l)).
    assert (Ld : length d = 64%nat).
    { unfold d, sub, lanewise. rewrite M, valid_lanes, words_length, map2_length, map_length by exact V. lia. }
    assert (R : max_unsigned 4 (register_of 4 v) d = register_of 4 (lanes_max v (ages l))).
    { unfold max_unsigned, lanewise. rewrite valid_lanes by exact Vv. rewrite lanes_max_is_map2. do 2 f_equal.
      unfold d, sub. rewrite lanes_of_lanewise, M, valid_lanes by (lia || exact V).
      transitivity (map (fun x => x mod span 4) (map2 Z.sub (map (fun x => if x <? first_normal s then 0 else sane) l)
        (map (fun x => x) l))); [now rewrite map_id|]. rewrite map2_maps, map_map. reflexivity. }
    exists (set accumulator (Register (register_of 4 (lanes_max v (ages l)))) (set mask (Register k) t)).
    assert (Lr : length (register_of 4 (lanes_max v (ages l))) = 64%nat).
    { rewrite words_length, lanes_max_is_map2, map2_length. unfold ages. rewrite map_length. lia. }
    split; [|split; [reflexivity|split]].
    - unfold older. cbn [run_statements run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite X, F. cbn [bind].
      rewrite call_cmpge by (rewrite ?spread_words, words_length, ?repeat_length; lia). cbn [bind]. fold k. rewrite K.
      cbn [Nat.eqb size bind]. rewrite (env_set_other mask accumulator), (env_set_other mask "sane"), (env_set_other mask x) by assumption.
      rewrite A, env_set_same, S, X. cbn [bind].
      rewrite call_maskz_mov by (auto; rewrite spread_words, words_length, repeat_length; reflexivity). cbn [bind].
      rewrite call_sub by (auto; rewrite words_length; lia). cbn [bind]. fold d.
      rewrite call_max by (auto; rewrite words_length; lia). cbn [bind]. rewrite R, Lr, words_length, Lv. reflexivity.
    - split; [apply env_set_same|]. split.
      + rewrite words_length in Lr. lia.
      + apply lanes_max_valid; auto using ages_valid.
    - intros y Y1 Y2. now rewrite !env_set_other.
  Qed.

  Context (before behind : cells) (data : list Z) (Data : Forall valid data).

  Definition taken_so_far (d : nat) (t : state) : Prop := exists done todo a b c e,
    data = done ++ todo /\ length todo = d /\ memory t = before ++ words data ++ behind /\
    env t "from" = Some (Address 4 (Z.of_nat (length before + 4 * length done))) /\
    env t "end" = Some (Address 4 (Z.of_nat (length before + 4 * length data))) /\ at_hand t /\
    accumulates t "a" a /\ accumulates t "b" b /\ accumulates t "c" c /\ accumulates t "d" e /\
    greatest (a ++ b ++ c ++ e) = greatest (ages done).

  Lemma taken_distance d t : taken_so_far d t -> distance t "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & a & b & c & e & D & L & _ & F & E & _). eapply distance_is; [exact F| |lia]. rewrite E.
    do 2 f_equal. rewrite D, app_length. lia.
  Qed.

  Lemma split_at (l : list Z) n : (n <= length l)%nat -> exists a b, l = a ++ b /\ length a = n.
  Proof. intros L. exists (firstn n l), (skipn n l). rewrite firstn_skipn, firstn_length. split; [auto|lia]. Qed.

  Lemma taken_runs t accumulator x mask i done l1 l l2 v : at_hand t -> accumulates t accumulator v ->
    memory t = before ++ words data ++ behind -> data = done ++ l1 ++ l ++ l2 -> length l1 = i -> length l = 16%nat ->
    env t "from" = Some (Address 4 (Z.of_nat (length before + 4 * length done))) ->
    String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
    String.eqb accumulator x = false -> String.eqb "sane" x = false -> String.eqb "least" x = false ->
    exists t', run_statements (taken accumulator x mask i) t = Some t' /\ memory t' = memory t /\
      accumulates t' accumulator (lanes_max v (ages l)) /\
      forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> String.eqb y x = false ->
        env t' y = env t y.
  Proof.
    intros [S F] (A & Lv & Vv) M D L1 L Fr D1 D2 D3 D4 D5 D6. unfold taken. cbn [run_statements].
    rewrite (load_words t x "from" i (before ++ words done) l1 l l2 behind); auto.
    - cbn [bind]. destruct (older_runs (set x (Register (register_of 4 l)) t) accumulator x mask l v)
        as (t' & R & M' & A' & O); auto.
      + split; now rewrite env_set_other.
      + split; [now rewrite env_set_other|auto].
      + apply env_set_same.
      + rewrite D, !Forall_app in Data. tauto.
      + exists t'. split; [exact R|]. split; [exact M'|]. split; [exact A'|]. intros y Y1 Y2 Y3.
        rewrite O by assumption. now apply env_set_other.
    - rewrite Fr, app_length, there_length, words_length. reflexivity.
    - rewrite M, D, !words_app, !there_app, <- !app_assoc. reflexivity.
  Qed.

  Lemma greatest_of_lanes_max v l : length v = 16%nat -> length l = 16%nat ->
    greatest (lanes_max v (ages l)) = Z.max (greatest v) (greatest (ages l)).
  Proof. intros Lv L. apply greatest_lanes_max. unfold ages. rewrite map_length. lia. Qed.

  Lemma dealt a x b y : Z.max (Z.max a x) (Z.max b y) = Z.max (Z.max a b) (Z.max x y).
  Proof. lia. Qed.

  Lemma step_of_one d t : taken_so_far d t -> (16 <= d)%nat ->
    exists t1 t2, run_statements (taken "a" "x" "in_x" 0) t = Some t1 /\ move 16 ["from"] t1 = Some t2 /\
      taken_so_far (d - 16) t2.
  Proof.
    intros (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr) Le.
    destruct (split_at todo 16) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L.
    destruct (taken_runs t "a" "x" "in_x" 0 done [] l rest a) as (t1 & R & M1 & A1 & O); auto.
    exists t1. rewrite R. cbn [move]. unfold address_in. rewrite O, F by reflexivity. cbn [bind fst snd]. eexists.
    split; [reflexivity|]. split; [reflexivity|]. exists (done ++ l), rest, (lanes_max a (ages l)), b, c, e.
    split; [now rewrite <- app_assoc|]. split; [lia|]. split; [cbn [memory set]; now rewrite M1|].
    split; [rewrite env_set_same, app_length; do 2 f_equal; lia|].
    split; [rewrite env_set_other, O by reflexivity; exact E|].
    split; [destruct H; split; rewrite env_set_other, O by reflexivity; auto|].
    split; [destruct A1 as (A1 & A2); split; [rewrite env_set_other by reflexivity|]; auto|].
    split; [destruct B as (B1 & B2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    split; [destruct C as (C1 & C2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    split; [destruct G as (G1 & G2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    unfold ages in *. rewrite map_app, !greatest_app in *. destruct A as (_ & La & _).
    pose proof (greatest_of_lanes_max a l La Ll) as Gm. unfold ages in Gm. rewrite Gm, <- Gr. clear. lia.
  Qed.

  Lemma step_of_four d t : taken_so_far d t -> (64 <= d)%nat ->
    exists t1 t2, run_statements (taken "a" "at_a" "in_a" 0 ++ taken "b" "at_b" "in_b" 16 ++ taken "c" "at_c" "in_c" 32 ++
        taken "d" "at_d" "in_d" 48) t = Some t1 /\ move 64 ["from"] t1 = Some t2 /\ taken_so_far (d - 64) t2.
  Proof.
    intros (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr) Le.
    destruct (split_at todo 16) as (l1 & todo1 & -> & L1); [lia|]. rewrite app_length in L.
    destruct (split_at todo1 16) as (l2 & todo2 & -> & L2); [lia|]. rewrite app_length in L.
    destruct (split_at todo2 16) as (l3 & todo3 & -> & L3); [lia|]. rewrite app_length in L.
    destruct (split_at todo3 16) as (l4 & rest & -> & L4); [lia|]. rewrite app_length in L.
    destruct (taken_runs t "a" "at_a" "in_a" 0 done [] l1 (l2 ++ l3 ++ l4 ++ rest) a) as (t1 & R1 & M1 & A1 & O1); auto.
    rewrite run_statements_app, R1. cbn [bind].
    destruct (taken_runs t1 "b" "at_b" "in_b" 16 done l1 l2 (l3 ++ l4 ++ rest) b) as (t2 & R2 & M2 & A2 & O2); auto.
    { destruct H; split; rewrite O1 by reflexivity; auto. }
    { destruct B as (B1 & B2); split; [rewrite O1 by reflexivity|]; auto. }
    { now rewrite M1. }
    { rewrite O1 by reflexivity. exact F. }
    rewrite run_statements_app, R2. cbn [bind].
    destruct (taken_runs t2 "c" "at_c" "in_c" 32 done (l1 ++ l2) l3 (l4 ++ rest) c) as (t3 & R3 & M3 & A3 & O3); auto.
    { destruct H; split; rewrite O2, O1 by reflexivity; auto. }
    { destruct C as (C1 & C2); split; [rewrite O2, O1 by reflexivity|]; auto. }
    { now rewrite M2, M1. }
    { now rewrite D, <- !app_assoc. }
    { rewrite app_length. lia. }
    { rewrite O2, O1 by reflexivity. exact F. }
    rewrite run_statements_app, R3. cbn [bind].
    destruct (taken_runs t3 "d" "at_d" "in_d" 48 done (l1 ++ l2 ++ l3) l4 rest e) as (t4 & R4 & M4 & A4 & O4); auto.
    { destruct H; split; rewrite O3, O2, O1 by reflexivity; auto. }
    { destruct G as (G1 & G2); split; [rewrite O3, O2, O1 by reflexivity|]; auto. }
    { now rewrite M3, M2, M1. }
    { now rewrite D, <- !app_assoc. }
    { rewrite !app_length. lia. }
    { rewrite O3, O2, O1 by reflexivity. exact F. }
    exists t4. rewrite R4. cbn [move]. unfold address_in. rewrite O4, O3, O2, O1, F by reflexivity. cbn [bind fst snd]. eexists.
    split; [reflexivity|]. split; [reflexivity|].
    exists (done ++ l1 ++ l2 ++ l3 ++ l4), rest, (lanes_max a (ages l1)), (lanes_max b (ages l2)), (lanes_max c (ages l3)),
      (lanes_max e (ages l4)).
    split; [now rewrite D, <- !app_assoc|]. split; [lia|]. split; [cbn [memory set]; now rewrite M4, M3, M2, M1|].
    split; [rewrite env_set_same, !app_length; do 2 f_equal; lia|].
    split; [rewrite env_set_other, O4, O3, O2, O1 by reflexivity; exact E|].
    split; [destruct H; split; rewrite env_set_other, O4, O3, O2, O1 by reflexivity; auto|].
    split; [destruct A1 as (I1 & I2); split; [rewrite env_set_other, O4, O3, O2 by reflexivity|]; auto|].
    split; [destruct A2 as (I1 & I2); split; [rewrite env_set_other, O4, O3 by reflexivity|]; auto|].
    split; [destruct A3 as (I1 & I2); split; [rewrite env_set_other, O4 by reflexivity|]; auto|].
    split; [destruct A4 as (I1 & I2); split; [rewrite env_set_other by reflexivity|]; auto|].
    destruct A as (_ & La & _), B as (_ & Lb & _), C as (_ & Lc & _), G as (_ & Lg & _).
    unfold ages in *. rewrite !map_app, !greatest_app in *.
    pose proof (greatest_of_lanes_max a l1 La L1) as G1. pose proof (greatest_of_lanes_max b l2 Lb L2) as G2.
    pose proof (greatest_of_lanes_max c l3 Lc L3) as G3. pose proof (greatest_of_lanes_max e l4 Lg L4) as G4.
    unfold ages in G1, G2, G3, G4. rewrite G1, G2, G3, G4, (dealt (greatest c)), (dealt (greatest b)), (dealt (greatest a)), Gr.
    reflexivity.
  Qed.

  Lemma age_zero : age s sane 0 = 0.
  Proof. unfold age. destruct s; reflexivity. Qed.

  Lemma greatest_repeat n : greatest (repeat 0 n) = 0.
  Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat]. rewrite greatest_cons. lia. Qed.

  Lemma join_of_two a b : length a = 16%nat -> length b = 16%nat -> Forall valid a -> Forall valid b ->
    call "_mm512_max_epu32" [register_of 4 a; register_of 4 b] = Some (register_of 4 (lanes_max a b)) /\
    length (lanes_max a b) = 16%nat /\ Forall valid (lanes_max a b) /\
    greatest (lanes_max a b) = Z.max (greatest a) (greatest b).
  Proof.
    intros La Lb Va Vb. rewrite call_max by (rewrite words_length; lia). split; [|split; [|split]].
    - unfold max_unsigned, lanewise. now rewrite !valid_lanes, lanes_max_is_map2.
    - rewrite lanes_max_is_map2, map2_length. lia.
    - now apply lanes_max_valid.
    - apply greatest_lanes_max. lia.
  Qed.

  Lemma greatest_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    let m := before ++ words data ++ behind in
    run greatest_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                          Register (bytes_of 4 (first_normal s))] m =
      Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
  Proof.
    intros place m. unfold run, place. cbn [given parameters greatest_program Program.fits Nat.eqb width_of]. rewrite ?bytes_of_length.
    cbn [Nat.eqb bind]. set (t0 := set "first" _ _).
    assert (E0 : run_statement (Const Vector512 "sane" (Call "_mm512_set1_epi32" [Var "last_sane"])) t0 =
      Some (set "sane" (Register (spread 16 (bytes_of 4 sane))) t0)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in t0 "last_sane") with (Some (bytes_of 4 sane)).
      cbn [bind]. rewrite call_set1 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    cbn [body outcome_of greatest_program zero app map older run_steps]. rewrite E0. cbn [bind]. clear E0.
    set (t1 := set "sane" _ t0).
    assert (E1 : run_statement (Const Vector512 "least" (Call "_mm512_set1_epi32" [Var "first"])) t1 =
      Some (set "least" (Register (spread 16 (bytes_of 4 (first_normal s)))) t1)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in t1 "first") with (Some (bytes_of 4 (first_normal s))).
      cbn [bind]. rewrite call_set1 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    rewrite E1. cbn [bind]. clear E1. set (t2 := set "least" _ t1).
    assert (Zero : forall x t, run_statement (Variable_ Vector512 x (Call "_mm512_setzero_si512" [])) t =
      Some (set x (Register (register_of 4 (repeat 0 16))) t)) by reflexivity.
    do 4 (rewrite Zero; cbn [bind]). clear Zero. set (t6 := set "d" _ _).
    assert (Z16 : length (repeat 0 16) = 16%nat /\ Forall valid (repeat 0 16)).
    { split; [reflexivity|]. apply all_valid. unfold valid, RING. lia. }
    assert (T6 : taken_so_far (length data) t6).
    { exists [], data, (repeat 0 16), (repeat 0 16), (repeat 0 16), (repeat 0 16). split; [reflexivity|].
      split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
      split; [split; reflexivity|]. repeat (split; [split; [reflexivity|exact Z16]|]). reflexivity. }
    rewrite (taken_distance _ _ T6). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 64 [] _ taken_so_far ltac:(lia) taken_distance step_of_four (length data) _ t6 T6 (le_n _))
      as (t7 & d7 & E7 & T7 & _ & _).
    rewrite E7. cbn [bind]. rewrite (taken_distance _ _ T7). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 [] _ taken_so_far ltac:(lia) taken_distance step_of_one d7 _ t7 T7 (le_n _))
      as (t8 & d8 & E8 & T8 & D8 & _).
    rewrite E8. cbn [bind]. clear E7 E8 T6 T7. pose proof (taken_distance _ _ T8) as Dist.
    destruct T8 as (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr).
    assert (Few : (length todo <= 16)%nat) by lia.
    assert (Vt : Forall valid todo) by (rewrite D, Forall_app in Data; tauto).
    assert (E9 : run_statement (Const Mask16 "rest" (Rest "from" "end")) t8 =
      Some (set "rest" (Register (lowest (length todo))) t8)).
    { cbn [run_statement]. unfold declare. cbn [eval]. rewrite Dist. cbn [bind]. rewrite <- L.
      destruct (Z.leb_spec 0 (Z.of_nat (length todo))), (Z.ltb_spec (Z.of_nat (length todo)) 32); try lia. reflexivity. }
    rewrite E9. cbn [bind]. clear E9. set (t9 := set "rest" _ t8).
    set (l := todo ++ repeat 0 (16 - length todo)).
    assert (Ll : length l = 16%nat) by (unfold l; rewrite app_length, repeat_length; lia).
    assert (Vl : Forall valid l).
    { apply Forall_app. split; [exact Vt|]. apply all_valid. unfold valid, RING. lia. }
    assert (E10 : run_statement (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0)) t9 =
      Some (set "last" (Register (register_of 4 l)) t9)).
    { cbn [run_statement]. unfold declare. rewrite (load_last_words t9 "rest" "from" (before ++ words done) todo behind).
      - cbn [bind]. fold l. rewrite words_length, Ll. reflexivity.
      - change (env t9 "from") with (env t8 "from"). rewrite F, app_length, there_length, words_length. reflexivity.
      - reflexivity.
      - change (memory t9) with (memory t8). rewrite M, D, words_app, there_app, <- !app_assoc. reflexivity.
      - exact Few. }
    rewrite E10. cbn [bind]. clear E10. set (t10 := set "last" _ t9).
    destruct (older_runs t10 "b" "last" "in_last" l b H B eq_refl Ll Vl eq_refl eq_refl eq_refl) as (t11 & R & M11 & B11 & O).
    unfold older in R. cbn [run_statements] in R.
    match type of R with bind ?x _ = _ => destruct x as [t12|]; [|discriminate] end. cbn [bind] in R |- *.
    match type of R with bind ?x _ = _ => destruct x as [t13|]; [|discriminate] end. cbn [bind] in R |- *.
    injection R as ->. destruct A as (A1 & La & Va), B11 as (B1 & Lb & Vb), C as (C1 & Lc & Vc), G as (G1 & Lg & Vg).
    set (b' := lanes_max b (ages l)) in *.
    destruct (join_of_two a b' La Lb Va Vb) as (J1 & LJ1 & VJ1 & GJ1).
    destruct (join_of_two c e Lc Lg Vc Vg) as (J2 & LJ2 & VJ2 & GJ2).
    destruct (join_of_two _ _ LJ1 LJ2 VJ1 VJ2) as (J3 & LJ3 & VJ3 & GJ3).
    cbn [eval]. unfold register_in. rewrite (O "a"), (O "c"), (O "d") by reflexivity. change (env t10 "a") with (env t8 "a").
    change (env t10 "c") with (env t8 "c"). change (env t10 "d") with (env t8 "d"). rewrite A1, B1, C1, G1. cbn [bind].
    unfold bytes in *. rewrite J1. cbn [bind]. rewrite J2. cbn [bind]. rewrite J3. cbn [bind].
    rewrite call_reduce_max by (rewrite words_length; lia). cbn [bind option_map]. unfold reduce_max. rewrite valid_lanes by exact VJ3.
    change (fold_right Z.max 0) with greatest. rewrite GJ3, GJ1, GJ2. f_equal. f_equal.
    - do 2 f_equal. destruct B as (_ & Lb0 & _). unfold b'. rewrite greatest_of_lanes_max by auto.
      rewrite D. unfold ages, l in *. rewrite !map_app, !greatest_app in *.
      assert (Z0 : greatest (map (age s sane) (repeat 0 (16 - length todo))) = 0).
      { rewrite repeat_mapped, age_zero. apply greatest_repeat. }
      rewrite Z0. pose proof (greatest_nonnegative (map (age s sane) todo)) as P0. rewrite <- Gr. clear - P0. lia.
    - rewrite M11. exact M.
  Qed.
End greatest.

(** The program of the minimum, run on an array of any length, returns the greatest age of its values; it touches nothing
    outside the array, and writes nothing. *)
Theorem greatest_program_finds_the_greatest_age : forall s sane before data behind, valid sane -> Forall valid data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  let m := before ++ words data ++ behind in
  run greatest_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                        Register (bytes_of 4 (first_normal s))] m =
    Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
Proof. intros s sane before data behind Sane Data. exact (greatest_runs s sane Sane before behind data Data). Qed.

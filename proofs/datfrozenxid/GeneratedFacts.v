(* SPDX-License-Identifier: PostgreSQL *)
(** * The programs of which C is printed find the greatest age *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Compare Permute Memory Facts Program
  ProgramFacts LaneFacts.
From Pgquern.datfrozenxid Require Import Spec Algorithms Minimum Kernels Generated.
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

Lemma zero_valid : valid 0.
Proof. split; easy. Qed.

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

  Lemma age_zero : age s sane 0 = 0.
  Proof. unfold age. destruct s; reflexivity. Qed.

  Lemma greatest_repeat n : greatest (repeat 0 n) = 0.
  Proof. induction n as [|n IH]; [reflexivity|]. cbn [repeat]. rewrite greatest_cons. lia. Qed.

  (* What is taken in the place of last_sane: 0 for a value below the first normal one. *)
  Let taken_from (x : Z) : Z := if x <? first_normal s then 0 else sane.

  Lemma ages_of_differences v l : length v = length l -> Forall valid v ->
    max_unsigned 4 (register_of 4 v) (register_of 4 (map (fun x => taken_from x - x) l)) = register_of 4 (lanes_max v (ages l)).
  Proof.
    intros L V. rewrite <- (register_of_mod 4 (map _ l)), map_map. change (map _ l) with (ages l).
    rewrite max_of_words by (exact V || apply ages_valid). now rewrite lanes_max_is_map2.
  Qed.

  (** ** Registers of any width *)

  Section registers.
    Context (r : registers).

    Definition at_hand (t : state) : Prop :=
      env t "sane" = Some (Register (register_of 4 (repeat sane (wide r)))) /\
      env t "least" = Some (Register (register_of 4 (repeat (first_normal s) (wide r)))).

    Definition accumulates (t : state) (x : string) (v : list Z) : Prop :=
      env t x = Some (Register (register_of 4 v)) /\ length v = wide r /\ Forall valid v.

    (** What holds of the instructions of a width. *)
    Record fit : Prop := Fit {
      some_lanes : (0 < wide r)%nat;
      loops_end : forall from last n beside l (I : nat -> state -> Prop), (0 < n)%nat ->
        (forall d t, I d t -> distance t from last = Some (Z.of_nat d)) ->
        (forall d t, I d t -> (n <= d)%nat -> exists t1 t2, run_statements l t = Some t1 /\
          move n (from :: beside) t1 = Some t2 /\ I (d - n)%nat t2) ->
        forall d t, I d t -> exists t' d', (forall steps, run_steps (loop r from last n beside l :: steps) t = run_steps steps t') /\
          I d' t' /\ (d' < n)%nat;
      loads_words : forall t x p i A l1 l l2 C, env t p = Some (Address 4 (Z.of_nat (length A))) ->
        memory t = A ++ there (register_of 4 (l1 ++ l ++ l2)) ++ C -> length l1 = i -> length l = wide r ->
        run_statement (Const (typed r) x (LoadVector (loaded_by r) [] p i)) t = Some (set x (Register (register_of 4 l)) t);
      makes_zeros : forall t x, run_statement (Variable_ (typed r) x (zero_by r)) t =
        Some (set x (Register (register_of 4 (repeat 0 (wide r)))) t);
      spreads : forall t x y n, env t y = Some (Register (bytes_of 4 n)) ->
        run_statement (Const (typed r) x (Call (spread_by r) [Var y])) t =
        Some (set x (Register (register_of 4 (repeat n (wide r)))) t);
      older_runs : forall t accumulator x mask l v, at_hand t -> accumulates t accumulator v ->
        env t x = Some (Register (register_of 4 l)) -> length l = wide r -> Forall valid l ->
        String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
        exists t', run_statements (older r accumulator x mask) t = Some t' /\ memory t' = memory t /\
          accumulates t' accumulator (lanes_max v (ages l)) /\
          forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> env t' y = env t y }.
    Context (F : fit).

    Context (before behind : cells) (data : list Z) (Data : Forall valid data).

    Definition taken_so_far (d : nat) (t : state) : Prop := exists done todo a b c e,
      data = done ++ todo /\ length todo = d /\ memory t = before ++ words data ++ behind /\
      env t "from" = Some (Address 4 (Z.of_nat (length before + 4 * length done))) /\
      env t "end" = Some (Address 4 (Z.of_nat (length before + 4 * length data))) /\ at_hand t /\
      accumulates t "a" a /\ accumulates t "b" b /\ accumulates t "c" c /\ accumulates t "d" e /\
      greatest (a ++ b ++ c ++ e) = greatest (ages done).

    Lemma taken_distance d t : taken_so_far d t -> distance t "from" "end" = Some (Z.of_nat d).
    Proof.
      intros (done & todo & a & b & c & e & D & L & _ & Fr & E & _). eapply distance_is; [exact Fr| |lia]. rewrite E.
      do 2 f_equal. rewrite D, app_length. lia.
    Qed.

    Lemma taken_runs t accumulator x mask i done l1 l l2 v : at_hand t -> accumulates t accumulator v ->
      memory t = before ++ words data ++ behind -> data = done ++ l1 ++ l ++ l2 -> length l1 = i -> length l = wide r ->
      env t "from" = Some (Address 4 (Z.of_nat (length before + 4 * length done))) ->
      String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
      String.eqb accumulator x = false -> String.eqb "sane" x = false -> String.eqb "least" x = false ->
      exists t', run_statements (taken r accumulator x mask i) t = Some t' /\ memory t' = memory t /\
        accumulates t' accumulator (lanes_max v (ages l)) /\
        forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> String.eqb y x = false ->
          env t' y = env t y.
    Proof.
      intros [S Le] (A & Lv & Vv) M D L1 L Fr D1 D2 D3 D4 D5 D6. unfold taken. cbn [run_statements].
      rewrite (loads_words F t x "from" i (before ++ words done) l1 l l2 behind); auto.
      - cbn [bind]. destruct (older_runs F (set x (Register (register_of 4 l)) t) accumulator x mask l v)
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

    Lemma greatest_of_lanes_max v l : length v = wide r -> length l = wide r ->
      greatest (lanes_max v (ages l)) = Z.max (greatest v) (greatest (ages l)).
    Proof. intros Lv L. apply greatest_lanes_max. unfold ages. rewrite map_length. lia. Qed.

    Lemma dealt a x b y : Z.max (Z.max a x) (Z.max b y) = Z.max (Z.max a b) (Z.max x y).
    Proof. lia. Qed.

    Lemma step_of_one d t : taken_so_far d t -> (wide r <= d)%nat ->
      exists t1 t2, run_statements (taken r "a" "x" "in_x" 0) t = Some t1 /\ move (wide r) ["from"] t1 = Some t2 /\
        taken_so_far (d - wide r) t2.
    Proof.
      intros (done & todo & a & b & c & e & D & L & M & Fr & E & H & A & B & C & G & Gr) Le.
      destruct (split_at todo (wide r)) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L.
      destruct (taken_runs t "a" "x" "in_x" 0 done [] l rest a) as (t1 & R & M1 & A1 & O); auto.
      exists t1. rewrite R. cbn [move]. unfold address_in. rewrite O, Fr by reflexivity. cbn [bind fst snd]. eexists.
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

    Lemma step_of_four d t : taken_so_far d t -> (4 * wide r <= d)%nat ->
      exists t1 t2, run_statements (taken r "a" "at_a" "in_a" 0 ++ taken r "b" "at_b" "in_b" (wide r) ++
          taken r "c" "at_c" "in_c" (2 * wide r) ++ taken r "d" "at_d" "in_d" (3 * wide r)) t = Some t1 /\
        move (4 * wide r) ["from"] t1 = Some t2 /\ taken_so_far (d - 4 * wide r) t2.
    Proof.
      intros (done & todo & a & b & c & e & D & L & M & Fr & E & H & A & B & C & G & Gr) Le.
      destruct (split_at todo (wide r)) as (l1 & todo1 & -> & L1); [lia|]. rewrite app_length in L.
      destruct (split_at todo1 (wide r)) as (l2 & todo2 & -> & L2); [lia|]. rewrite app_length in L.
      destruct (split_at todo2 (wide r)) as (l3 & todo3 & -> & L3); [lia|]. rewrite app_length in L.
      destruct (split_at todo3 (wide r)) as (l4 & rest & -> & L4); [lia|]. rewrite app_length in L.
      destruct (taken_runs t "a" "at_a" "in_a" 0 done [] l1 (l2 ++ l3 ++ l4 ++ rest) a) as (t1 & R1 & M1 & A1 & O1); auto.
      rewrite run_statements_app, R1. cbn [bind].
      destruct (taken_runs t1 "b" "at_b" "in_b" (wide r) done l1 l2 (l3 ++ l4 ++ rest) b) as (t2 & R2 & M2 & A2 & O2); auto.
      { destruct H; split; rewrite O1 by reflexivity; auto. }
      { destruct B as (B1 & B2); split; [rewrite O1 by reflexivity|]; auto. }
      { now rewrite M1. }
      { rewrite O1 by reflexivity. exact Fr. }
      rewrite run_statements_app, R2. cbn [bind].
      destruct (taken_runs t2 "c" "at_c" "in_c" (2 * wide r) done (l1 ++ l2) l3 (l4 ++ rest) c)
        as (t3 & R3 & M3 & A3 & O3); auto.
      { destruct H; split; rewrite O2, O1 by reflexivity; auto. }
      { destruct C as (C1 & C2); split; [rewrite O2, O1 by reflexivity|]; auto. }
      { now rewrite M2, M1. }
      { now rewrite D, <- !app_assoc. }
      { rewrite app_length. lia. }
      { rewrite O2, O1 by reflexivity. exact Fr. }
      rewrite run_statements_app, R3. cbn [bind].
      destruct (taken_runs t3 "d" "at_d" "in_d" (3 * wide r) done (l1 ++ l2 ++ l3) l4 rest e)
        as (t4 & R4 & M4 & A4 & O4); auto.
      { destruct H; split; rewrite O3, O2, O1 by reflexivity; auto. }
      { destruct G as (G1 & G2); split; [rewrite O3, O2, O1 by reflexivity|]; auto. }
      { now rewrite M3, M2, M1. }
      { now rewrite D, <- !app_assoc. }
      { rewrite !app_length. lia. }
      { rewrite O3, O2, O1 by reflexivity. exact Fr. }
      exists t4. rewrite R4. cbn [move]. unfold address_in. rewrite O4, O3, O2, O1, Fr by reflexivity. cbn [bind fst snd].
      eexists. split; [reflexivity|]. split; [reflexivity|].
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

    (** All whole registers are taken, and fewer values than one holds are left. *)
    Lemma whole_registers_run t l : memory t = before ++ words data ++ behind ->
      env t "from" = Some (Address 4 (Z.of_nat (length before + 4 * 0))) ->
      env t "end" = Some (Address 4 (Z.of_nat (length before + 4 * length data))) ->
      env t "last_sane" = Some (Register (bytes_of 4 sane)) -> env t "first" = Some (Register (bytes_of 4 (first_normal s))) ->
      exists t' d, run_steps (whole_registers r ++ l) t = run_steps l t' /\ taken_so_far d t' /\ (d < wide r)%nat.
    Proof.
      intros M Fr E LS Fi. unfold whole_registers, everywhere, zero. cbn [app].
      assert (Done : forall i t t' steps, run_statement i t = Some t' -> run_steps (Do i :: steps) t = run_steps steps t').
      { intros i u u' steps R. cbn [run_steps]. now rewrite R. }
      erewrite Done by exact (spreads F t "sane" "last_sane" sane LS). set (t1 := set "sane" _ t).
      erewrite Done by exact (spreads F t1 "least" "first" (first_normal s) Fi). set (t2 := set "least" _ t1).
      do 4 (erewrite Done by apply (makes_zeros F)). set (t6 := set "d" _ _).
      assert (T6 : taken_so_far (length data) t6).
      { assert (Z0 : length (repeat 0 (wide r)) = wide r /\ Forall valid (repeat 0 (wide r))).
        { split; [apply repeat_length|]. apply forall_repeat, zero_valid. }
        exists [], data, (repeat 0 (wide r)), (repeat 0 (wide r)), (repeat 0 (wide r)), (repeat 0 (wide r)).
        split; [reflexivity|]. split; [reflexivity|]. split; [exact M|]. split; [exact Fr|]. split; [exact E|].
        split; [split; reflexivity|]. repeat (split; [split; [reflexivity|exact Z0]|]).
        rewrite !greatest_app, !greatest_repeat. reflexivity. }
      pose proof (some_lanes F) as W.
      destruct (loops_end F "from" "end" (4 * wide r)%nat [] _ taken_so_far ltac:(lia) taken_distance step_of_four (length data) t6
        T6) as (t7 & d7 & E7 & T7 & _).
      rewrite E7.
      destruct (loops_end F "from" "end" (wide r) [] _ taken_so_far W taken_distance step_of_one d7 t7 T7)
        as (t8 & d8 & E8 & T8 & D8).
      rewrite E8. exists t8, d8. auto.
    Qed.

    (* The values that are left, with zeros behind them. *)
    Definition filled (l : list Z) : list Z := l ++ repeat 0 (wide r - length l).

    Lemma filled_is l : (length l < wide r)%nat -> Forall valid l ->
      length (filled l) = wide r /\ Forall valid (filled l) /\ greatest (ages (filled l)) = greatest (ages l).
    Proof.
      intros L V. unfold filled. split; [rewrite app_length, repeat_length; lia|]. split.
      - apply Forall_app. split; [exact V|]. apply forall_repeat, zero_valid.
      - unfold ages. rewrite map_app, greatest_app, repeat_mapped, age_zero, greatest_repeat.
        pose proof (greatest_nonnegative (map (age s sane) l)). lia.
    Qed.

    (* The lanes of all chains, joined after the last register, have the greatest age. *)
    Lemma joined_is a b c e done todo : data = done ++ todo -> (length todo < wide r)%nat ->
      length a = wide r -> length b = wide r -> length c = wide r -> length e = wide r ->
      greatest (a ++ b ++ c ++ e) = greatest (ages done) ->
      greatest (lanes_max (lanes_max a (lanes_max b (ages (filled todo)))) (lanes_max c e)) = greatest (ages data).
    Proof.
      intros D L La Lb Lc Le G.
      assert (V : Forall valid todo) by (rewrite D, Forall_app in Data; tauto).
      destruct (filled_is todo L V) as (Lf & _ & Gf).
      assert (Lb' : length (lanes_max b (ages (filled todo))) = wide r).
      { rewrite lanes_max_length; [exact Lb|]. unfold ages. rewrite map_length. congruence. }
      set (b' := lanes_max b (ages (filled todo))) in *.
      assert (Lab : length (lanes_max a b') = wide r) by (rewrite lanes_max_length; congruence).
      assert (Lce : length (lanes_max c e) = wide r) by (rewrite lanes_max_length; congruence).
      rewrite (greatest_lanes_max (lanes_max a b')), (greatest_lanes_max a), (greatest_lanes_max c) by congruence.
      unfold b'. rewrite greatest_lanes_max by (unfold ages; rewrite map_length; congruence).
      rewrite Gf, D. unfold ages in *. rewrite map_app, !greatest_app in *. rewrite <- G. clear. lia.
    Qed.
  End registers.

  (** ** AVX-512 *)

  (* The lanes that a mask has from one register, zeros elsewhere. *)
  Lemma chosen_sane l : choose (map (fun x => x >=? first_normal s) l) (repeat sane (length l)) (repeat 0 (length l)) =
    map taken_from l.
  Proof.
    induction l as [|x l IH]; [reflexivity|]. cbn [map length repeat choose]. rewrite IH. f_equal. unfold taken_from.
    rewrite Z.geb_leb. destruct (Z.leb_spec (first_normal s) x), (Z.ltb_spec x (first_normal s)); auto; lia.
  Qed.

  Lemma older_runs_512 t accumulator x mask l v : at_hand avx512 t -> accumulates avx512 t accumulator v ->
    env t x = Some (Register (register_of 4 l)) -> length l = 16%nat -> Forall valid l ->
    String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
    exists t', run_statements (older avx512 accumulator x mask) t = Some t' /\ memory t' = memory t /\
      accumulates avx512 t' accumulator (lanes_max v (ages l)) /\
      forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> env t' y = env t y.
  Proof.
    intros [S F] (A & Lv & Vv) X L V D1 D2 D3. cbn [wide avx512] in S, F, Lv.
    set (ss := register_of 4 (repeat sane 16)) in *. set (ff := register_of 4 (repeat (first_normal s) 16)) in *.
    assert (Lss : length ss = 64%nat) by (unfold ss; rewrite words_length, repeat_length; reflexivity).
    assert (Lff : length ff = 64%nat) by (unfold ff; rewrite words_length, repeat_length; reflexivity).
    set (k := mask_compare 4 Z.geb (register_of 4 l) ff).
    assert (C : compared 4 Z.geb (register_of 4 l) ff = map (fun x => x >=? first_normal s) l).
    { unfold compared, ff. rewrite !valid_lanes by (auto using forall_repeat, first_valid). now rewrite map2_repeat. }
    assert (B : bits k = map (fun x => x >=? first_normal s) l).
    { unfold k, mask_compare. rewrite C. apply (bits_of_register 2). now rewrite map_length. }
    assert (K : length k = 2%nat).
    { unfold k, mask_compare, register_of_bits. rewrite C, map_length. apply (pieces_count 8 2); [lia|]. now rewrite map_length. }
    assert (M : masked_zero 4 k ss = register_of 4 (map taken_from l)).
    { unfold masked_zero, masked. rewrite Lss. change (zeros 64) with (register_of 4 (repeat 0 16)). unfold ss.
      rewrite !words_pieces, B, <- L, <- chosen_sane. unfold register_of. f_equal. clear.
      generalize (repeat sane (length l)) (repeat 0 (length l)). generalize (map (fun x => x >=? first_normal s) l). intros m.
      induction m as [|t m IH]; intros [|y p] [|z q]; cbn [map choose]; auto. rewrite IH. now destruct t. }
    assert (Ds : sub 4 (masked_zero 4 k ss) (register_of 4 l) = register_of 4 (map (fun x => taken_from x - x) l)).
    { rewrite M, sub_of_words; [|apply Forall_map, Forall_forall; intros y _; unfold taken_from; cbv beta|exact V].
      - f_equal. transitivity (map2 Z.sub (map taken_from l) (map (fun x => x) l)); [now rewrite map_id|]. apply map2_maps.
      - destruct (y <? first_normal s); [apply zero_valid|exact Sane]. }
    set (rr := register_of 4 (lanes_max v (ages l))).
    assert (Lr : length rr = 64%nat).
    { unfold rr. rewrite words_length, lanes_max_is_map2, map2_length. unfold ages. rewrite map_length. lia. }
    exists (set accumulator (Register rr) (set mask (Register k) t)).
    split; [|split; [reflexivity|split]].
    - cbn [older avx512 run_statements run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite X, F. cbn [bind].
      rewrite call_cmpge by (auto; rewrite words_length; lia). cbn [bind]. fold k. rewrite K.
      cbn [Nat.eqb size bind]. rewrite (env_set_other mask accumulator), (env_set_other mask "sane"), (env_set_other mask x) by assumption.
      rewrite A, env_set_same, S, X. cbn [bind].
      rewrite call_maskz_mov by auto. cbn [bind].
      rewrite call_sub by (rewrite ?M, words_length, ?map_length; lia). cbn [bind]. rewrite Ds.
      rewrite call_max by (rewrite words_length, ?map_length; lia). cbn [bind].
      rewrite ages_of_differences by (congruence || exact Vv). fold rr. rewrite Lr, words_length, Lv. reflexivity.
    - split; [apply env_set_same|]. split; [rewrite lanes_max_is_map2, map2_length; unfold ages; rewrite map_length; cbn; lia|].
      apply lanes_max_valid; auto using ages_valid.
    - intros y Y1 Y2. now rewrite !env_set_other.
  Qed.

  Lemma avx512_fits : fit avx512.
  Proof.
    constructor.
    - cbn. lia.
    - intros from last n beside l I N D B d t It.
      destruct (loop_ends from last n beside l I N D B d d t It (le_n _)) as (t' & d' & E & It' & L & _). exists t', d'.
      split; [|auto]. intros steps. cbn [loop avx512 run_steps]. rewrite (D _ _ It). cbn [bind]. now rewrite Nat2Z.id, E.
    - exact (load_words_by Vector512 "_mm512_loadu_si512" 16 eq_refl eq_refl).
    - intros t x. reflexivity.
    - intros t x y n Y. cbn [run_statement typed spread_by wide avx512]. unfold declare. cbn [eval]. unfold register_in.
      rewrite Y. cbn [bind]. rewrite call_set1 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length.
    - exact older_runs_512.
  Qed.

  Lemma join_of_two a b : length a = 16%nat -> length b = 16%nat -> Forall valid a -> Forall valid b ->
    call "_mm512_max_epu32" [register_of 4 a; register_of 4 b] = Some (register_of 4 (lanes_max a b)) /\
    length (lanes_max a b) = 16%nat /\ Forall valid (lanes_max a b).
  Proof.
    intros La Lb Va Vb. rewrite call_max by (rewrite words_length; lia). split; [|split].
    - now rewrite max_of_words, lanes_max_is_map2.
    - rewrite lanes_max_is_map2, map2_length. lia.
    - now apply lanes_max_valid.
  Qed.

  Context (before behind : cells) (data : list Z) (Data : Forall valid data).

  Lemma greatest_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    let m := before ++ words data ++ behind in
    run greatest_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                          Register (bytes_of 4 (first_normal s))] m =
      Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
  Proof.
    intros place m. unfold run, place. cbn [given parameters greatest_program its_parameters Program.fits Nat.eqb width_of].
    rewrite ?bytes_of_length. cbn [Nat.eqb bind]. set (t0 := set "first" _ _). cbn [body outcome_of greatest_program].
    match goal with |- context [run_steps (whole_registers avx512 ++ ?rest) t0] =>
      destruct (whole_registers_run avx512 avx512_fits before behind data Data t0 rest) as (t8 & d8 & E8 & T8 & D8);
        [reflexivity..|]
    end.
    rewrite E8. clear E8. cbn [wide avx512] in D8. pose proof (taken_distance avx512 before behind data d8 t8 T8) as Dist.
    destruct T8 as (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr). rewrite <- L in D8.
    cbn [map older avx512 app run_steps].
    assert (Vt : Forall valid todo) by (rewrite D, Forall_app in Data; tauto).
    assert (E9 : run_statement (Const Mask16 "rest" (Rest "from" "end")) t8 =
      Some (set "rest" (Register (lowest (length todo))) t8)).
    { cbn [run_statement]. unfold declare. cbn [eval]. rewrite Dist. cbn [bind]. rewrite <- L.
      destruct (Z.leb_spec 0 (Z.of_nat (length todo))), (Z.ltb_spec (Z.of_nat (length todo)) 32); try lia. reflexivity. }
    rewrite E9. cbn [bind]. clear E9. set (t9 := set "rest" _ t8).
    destruct (filled_is avx512 todo D8 Vt) as (Ll & Vl & _). set (l := filled avx512 todo) in *.
    assert (E10 : run_statement (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0)) t9 =
      Some (set "last" (Register (register_of 4 l)) t9)).
    { cbn [run_statement]. unfold declare. rewrite (load_last_words t9 "rest" "from" (before ++ words done) todo behind).
      - cbn [bind]. change (todo ++ repeat 0 (16 - length todo)) with l. rewrite words_length, Ll. reflexivity.
      - change (env t9 "from") with (env t8 "from"). rewrite F, app_length, there_length, words_length. reflexivity.
      - reflexivity.
      - change (memory t9) with (memory t8). rewrite M, D, words_app, there_app, <- !app_assoc. reflexivity.
      - lia. }
    rewrite E10. cbn [bind]. clear E10. set (t10 := set "last" _ t9).
    destruct (older_runs_512 t10 "b" "last" "in_last" l b H B eq_refl Ll Vl eq_refl eq_refl eq_refl) as (t11 & R & M11 & B11 & O).
    cbn [older avx512 run_statements] in R.
    match type of R with bind ?x _ = _ => destruct x as [t12|]; [|discriminate] end. cbn [bind] in R |- *.
    match type of R with bind ?x _ = _ => destruct x as [t13|]; [|discriminate] end. cbn [bind] in R |- *.
    injection R as ->. destruct A as (A1 & La & Va), B as (_ & Lb0 & _), B11 as (B1 & Lb & Vb), C as (C1 & Lc & Vc), G as (G1 & Lg & Vg).
    cbn [wide avx512] in *. set (b' := lanes_max b (ages l)) in *.
    destruct (join_of_two a b' La Lb Va Vb) as (J1 & LJ1 & VJ1).
    destruct (join_of_two c e Lc Lg Vc Vg) as (J2 & LJ2 & VJ2).
    destruct (join_of_two _ _ LJ1 LJ2 VJ1 VJ2) as (J3 & LJ3 & VJ3).
    unfold joined. cbn [eval]. unfold register_in. rewrite (O "a"), (O "c"), (O "d") by reflexivity.
    change (env t10 "a") with (env t8 "a"). change (env t10 "c") with (env t8 "c"). change (env t10 "d") with (env t8 "d").
    rewrite A1, B1, C1, G1. cbn [bind].
    unfold bytes in *. rewrite J1. cbn [bind]. rewrite J2. cbn [bind]. rewrite J3. cbn [bind].
    rewrite call_reduce_max by (rewrite words_length; lia). cbn [bind option_map]. unfold reduce_max. rewrite valid_lanes by exact VJ3.
    change (fold_right Z.max 0) with greatest. unfold b', l.
    rewrite (joined_is avx512 data Data a b c e done todo D D8 La Lb0 Lc Lg Gr), M11. f_equal. f_equal. exact M.
  Qed.

  (** ** AVX2 *)

  Lemma older_runs_256 t accumulator x mask l v : at_hand avx2 t -> accumulates avx2 t accumulator v ->
    env t x = Some (Register (register_of 4 l)) -> length l = 8%nat -> Forall valid l ->
    String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
    exists t', run_statements (older avx2 accumulator x mask) t = Some t' /\ memory t' = memory t /\
      accumulates avx2 t' accumulator (lanes_max v (ages l)) /\
      forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> env t' y = env t y.
  Proof.
    intros [S F] (A & Lv & Vv) X L V D1 D2 D3. cbn [wide avx2] in S, F, Lv.
    set (ss := register_of 4 (repeat sane 8)) in *. set (ff := register_of 4 (repeat (first_normal s) 8)) in *.
    assert (Lss : length ss = 32%nat) by (unfold ss; rewrite words_length, repeat_length; reflexivity).
    assert (Lff : length ff = 32%nat) by (unfold ff; rewrite words_length, repeat_length; reflexivity).
    assert (Mx : max_unsigned 4 (register_of 4 l) ff = register_of 4 (map (fun x => Z.max x (first_normal s)) l)).
    { unfold ff. rewrite max_of_words by (exact V || apply forall_repeat, first_valid). now rewrite map2_repeat. }
    set (normal := map (fun x => Z.max x (first_normal s) =? x) l).
    set (k := as_lanes 4 normal).
    assert (Eq : compare_equal 4 (register_of 4 (map (fun x => Z.max x (first_normal s)) l)) (register_of 4 l) = k).
    { rewrite equal_of_words; [|apply Forall_map|exact V].
      - unfold k, normal. f_equal. transitivity (map2 Z.eqb (map (fun x => Z.max x (first_normal s)) l) (map (fun x => x) l));
          [now rewrite map_id|]. apply map2_maps.
      - revert V. apply Forall_impl. intros y Y. pose proof first_valid as W. unfold valid in Y, W.
        change (span 4) with RING. lia. }
    assert (K : length k = 32%nat).
    { unfold k, as_lanes, normal. rewrite words_length, !map_length. lia. }
    assert (M : and k ss = register_of 4 (map taken_from l)).
    { unfold k, ss. rewrite and_chooses by (unfold normal; rewrite map_length, repeat_length; exact L). f_equal.
      rewrite map2_repeat by (unfold normal; now rewrite map_length). unfold normal. rewrite map_map. apply map_ext. intros y.
      unfold taken_from. destruct (Z.eqb_spec (Z.max y (first_normal s)) y), (Z.ltb_spec y (first_normal s)); auto; lia. }
    assert (Ds : sub 4 (and k ss) (register_of 4 l) = register_of 4 (map (fun x => taken_from x - x) l)).
    { rewrite M, sub_of_words; [|apply Forall_map, Forall_forall; intros y _; unfold taken_from; cbv beta|exact V].
      - f_equal. transitivity (map2 Z.sub (map taken_from l) (map (fun x => x) l)); [now rewrite map_id|]. apply map2_maps.
      - destruct (y <? first_normal s); [apply zero_valid|exact Sane]. }
    set (rr := register_of 4 (lanes_max v (ages l))).
    assert (Lr : length rr = 32%nat).
    { unfold rr. rewrite words_length, lanes_max_is_map2, map2_length. unfold ages. rewrite map_length. lia. }
    exists (set accumulator (Register rr) (set mask (Register k) t)).
    split; [|split; [reflexivity|split]].
    - cbn [older avx2 run_statements run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite X, F. cbn [bind].
      rewrite call_max_8 by (auto; rewrite words_length; lia). cbn [bind]. rewrite Mx.
      rewrite call_equal_8 by (rewrite words_length, ?map_length; lia). cbn [bind]. rewrite Eq, K.
      cbn [Nat.eqb size bind]. rewrite (env_set_other mask accumulator), (env_set_other mask "sane"), (env_set_other mask x) by assumption.
      rewrite A, env_set_same, S, X. cbn [bind].
      rewrite call_and_8 by auto. cbn [bind].
      rewrite call_sub_8 by (rewrite ?M, words_length, ?map_length; lia). cbn [bind]. rewrite Ds.
      rewrite call_max_8 by (rewrite words_length, ?map_length; lia). cbn [bind].
      rewrite ages_of_differences by (congruence || exact Vv). fold rr. rewrite Lr, words_length, Lv. reflexivity.
    - split; [apply env_set_same|]. split; [rewrite lanes_max_is_map2, map2_length; unfold ages; rewrite map_length; cbn; lia|].
      apply lanes_max_valid; auto using ages_valid.
    - intros y Y1 Y2. now rewrite !env_set_other.
  Qed.

  Lemma avx2_fits : fit avx2.
  Proof.
    constructor.
    - cbn. lia.
    - intros from last n beside l I N D B d t It.
      destruct (rounds_end from n beside l I N B d t It) as (t' & d' & E & It' & L & _). exists t', d'.
      split; [|auto]. intros steps. cbn [loop avx2 run_steps]. rewrite (D _ _ It). cbn [bind].
      destruct (Z.ltb_spec (Z.of_nat d) 0); [lia|]. now rewrite E.
    - exact (load_words_by Vector256 "_mm256_loadu_si256" 8 eq_refl eq_refl).
    - intros t x. reflexivity.
    - intros t x y n Y. cbn [run_statement typed spread_by wide avx2]. unfold declare. cbn [eval]. unfold register_in.
      rewrite Y. cbn [bind]. rewrite call_set1_8 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length.
    - exact older_runs_256.
  Qed.

  Lemma join_of_two_8 a b : length a = 8%nat -> length b = 8%nat -> Forall valid a -> Forall valid b ->
    call "_mm256_max_epu32" [register_of 4 a; register_of 4 b] = Some (register_of 4 (lanes_max a b)) /\
    length (lanes_max a b) = 8%nat /\ Forall valid (lanes_max a b).
  Proof.
    intros La Lb Va Vb. rewrite call_max_8 by (rewrite words_length; lia). split; [|split].
    - now rewrite max_of_words, lanes_max_is_map2.
    - rewrite lanes_max_is_map2, map2_length. lia.
    - now apply lanes_max_valid.
  Qed.

  Lemma join_of_two_4 a b : length a = 4%nat -> length b = 4%nat -> Forall valid a -> Forall valid b ->
    call "_mm_max_epu32" [register_of 4 a; register_of 4 b] = Some (register_of 4 (map2 Z.max a b)) /\
    Forall valid (map2 Z.max a b).
  Proof.
    intros La Lb Va Vb. rewrite call_max_4 by (rewrite words_length; lia). split.
    - now rewrite max_of_words.
    - rewrite <- lanes_max_is_map2. now apply lanes_max_valid.
  Qed.

  Lemma valid_in_places w x y z : Forall valid [w; x; y; z] -> Forall valid [y; z; w; x] /\ Forall valid [x; w; z; y].
  Proof. rewrite !Forall_forall. intros F. split; intros v I; apply F; cbn [In] in *; tauto. Qed.

  (* The eight lanes of "all" are halved three times. *)
  Lemma reduction_runs t g : env t "all" = Some (Register (register_of 4 g)) -> length g = 8%nat -> Forall valid g ->
    exists t', run_steps
      [Do (Const Vector128 "four"
        (Call "_mm_max_epu32" [Call "_mm256_castsi256_si128" [Var "all"]; Call "_mm256_extracti128_si256 1" [Var "all"]]));
       Do (Const Vector128 "two" (Call "_mm_max_epu32" [Var "four"; Call "_mm_shuffle_epi32 78" [Var "four"]]));
       Do (Const Vector128 "one" (Call "_mm_max_epu32" [Var "two"; Call "_mm_shuffle_epi32 177" [Var "two"]]))] t = Some t' /\
      memory t' = memory t /\ eval t' (Call "_mm_cvtsi128_si32" [Var "one"]) = Some (bytes_of 4 (greatest g)).
  Proof.
    intros A L V. destruct (split_at g 4) as (p & q & -> & Lp); [lia|]. rewrite app_length in L.
    apply Forall_app in V as [Vp Vq]. destruct (join_of_two_4 p q) as [J V4]; [lia|lia|auto|auto|].
    assert (G : greatest (p ++ q) = greatest (map2 Z.max p q)).
    { rewrite greatest_app, <- lanes_max_is_map2, greatest_lanes_max by lia. reflexivity. }
    assert (E4 : run_statement (Const Vector128 "four" (Call "_mm_max_epu32"
        [Call "_mm256_castsi256_si128" [Var "all"]; Call "_mm256_extracti128_si256 1" [Var "all"]])) t =
      Some (set "four" (Register (register_of 4 (map2 Z.max p q))) t)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite A. cbn [bind].
      assert (L32 : length (register_of 4 (p ++ q)) = 32%nat) by (rewrite words_length, app_length; lia).
      pose proof (call_lower _ L32) as CL. pose proof (call_upper _ L32) as CU. unfold bytes in *. rewrite CL, CU. cbn [bind].
      pose proof (lower_half 4 p q) as Lo. pose proof (upper_half 4 p q) as Up. rewrite Lp in Lo, Up.
      change (4 * 4)%nat with 16%nat in Lo, Up. unfold bytes in *. rewrite Lo, Up by lia. rewrite J. cbn [bind].
      rewrite words_length, map2_length. replace (Nat.min (length p) (length q)) with 4%nat by lia. reflexivity. }
    destruct p as [|a [|b [|c [|d [|]]]]]; try discriminate. destruct q as [|e [|f [|g [|h [|]]]]]; try discriminate.
    cbn [map2] in *. set (h0 := Z.max a e) in *. set (h1 := Z.max b f) in *. set (h2 := Z.max c g) in *.
    set (h3 := Z.max d h) in *. destruct (valid_in_places _ _ _ _ V4) as [V4' _].
    destruct (join_of_two_4 [h0; h1; h2; h3] [h2; h3; h0; h1] eq_refl eq_refl V4 V4') as [J2 V2]. cbn [map2] in *.
    set (t1 := set "four" _ t) in *.
    assert (E2 : run_statement (Const Vector128 "two" (Call "_mm_max_epu32" [Var "four"; Call "_mm_shuffle_epi32 78" [Var "four"]])) t1 =
      Some (set "two" (Register (register_of 4 [Z.max h0 h2; Z.max h1 h3; Z.max h2 h0; Z.max h3 h1])) t1)).
    { cbn [run_statement]. unfold declare. cbn [eval].
      change (register_in t1 "four") with (Some (register_of 4 [h0; h1; h2; h3])). cbn [bind].
      rewrite call_shuffle_78 by reflexivity. rewrite (proj1 (shuffles_of_four _ _ _ _)). cbn [bind].
      unfold bytes in *. rewrite J2. reflexivity. }
    destruct (valid_in_places _ _ _ _ V2) as [_ V2'].
    destruct (join_of_two_4 [Z.max h0 h2; Z.max h1 h3; Z.max h2 h0; Z.max h3 h1]
      [Z.max h1 h3; Z.max h0 h2; Z.max h3 h1; Z.max h2 h0] eq_refl eq_refl V2 V2') as [J1 _]. cbn [map2] in *. set (t2 := set "two" _ t1) in *.
    match type of J1 with _ = Some (register_of 4 ?l) =>
      assert (E1 : run_statement (Const Vector128 "one" (Call "_mm_max_epu32" [Var "two"; Call "_mm_shuffle_epi32 177" [Var "two"]])) t2 =
        Some (set "one" (Register (register_of 4 l)) t2))
    end.
    { cbn [run_statement]. unfold declare. cbn [eval].
      change (register_in t2 "two") with (Some (register_of 4 [Z.max h0 h2; Z.max h1 h3; Z.max h2 h0; Z.max h3 h1])). cbn [bind].
      rewrite call_shuffle_177 by reflexivity. rewrite (proj2 (shuffles_of_four _ _ _ _)). cbn [bind].
      unfold bytes in *. rewrite J1. reflexivity. }
    cbn [run_steps]. rewrite E4. cbn [bind]. rewrite E2. cbn [bind]. rewrite E1. cbn [bind]. eexists. split; [reflexivity|].
    split; [reflexivity|]. cbn [eval]. unfold register_in. rewrite env_set_same. cbn [bind].
    rewrite call_first by reflexivity. rewrite first_of_four. do 2 f_equal. rewrite G.
    assert (P : 0 <= h0) by (inversion V4 as [|? ? W _]; exact (proj1 W)). unfold greatest. cbn [fold_right].
    revert P. clearbody h0 h1 h2 h3. clear. intros P. lia.
  Qed.

  Lemma greatest_avx2_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    let m := before ++ words data ++ behind in
    run greatest_avx2_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                               Register (bytes_of 4 (first_normal s))] m =
      Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
  Proof.
    intros place m. unfold run, place.
    cbn [given parameters greatest_avx2_program its_parameters Program.fits Nat.eqb width_of].
    rewrite ?bytes_of_length. cbn [Nat.eqb bind]. set (t0 := set "first" _ _). cbn [body outcome_of greatest_avx2_program].
    match goal with |- context [run_steps (whole_registers avx2 ++ ?rest) t0] =>
      destruct (whole_registers_run avx2 avx2_fits before behind data Data t0 rest) as (t8 & d8 & E8 & T8 & D8);
        [reflexivity..|]
    end.
    rewrite E8. clear E8. cbn [wide avx2] in D8. pose proof (taken_distance avx2 before behind data d8 t8 T8) as Dist.
    destruct T8 as (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr). rewrite <- L in D8, Dist.
    cbn [map older avx2 app]. cbn [run_steps].
    assert (Vt : Forall valid todo) by (rewrite D, Forall_app in Data; tauto).
    change (run_statement (Const Vector256 "places" (Call "_mm256_setr_epi32" [Numbers [0; 1; 2; 3; 4; 5; 6; 7]])) t8) with
      (Some (set "places" (Register (register_of 4 places)) t8)).
    cbn [bind]. set (t9 := set "places" _ t8).
    assert (E9 : run_statement (Const Vector256 "rest"
        (Call "_mm256_cmpgt_epi32" [Call "_mm256_set1_epi32" [Left "from" "end"]; Var "places"])) t9 =
      Some (set "rest" (Register (first_lanes (length todo))) t9)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (distance t9 "from" "end") with (distance t8 "from" "end").
      rewrite Dist. cbn [bind]. change (span 4) with RING.
      destruct (Z.leb_spec 0 (Z.of_nat (length todo))), (Z.ltb_spec (Z.of_nat (length todo)) RING); try (unfold RING in *; lia).
      cbn [andb bind]. rewrite call_set1_8 by apply bytes_of_length. cbn [bind].
      change (register_in t9 "places") with (Some (register_of 4 places)). cbn [bind].
      change (call "_mm256_cmpgt_epi32" [spread 8 (bytes_of 4 (Z.of_nat (length todo))); register_of 4 places]) with
        (Some (first_lanes (length todo))).
      cbn [bind]. rewrite (proj2 (first_lanes_are (length todo) ltac:(lia))). reflexivity. }
    rewrite E9. cbn [bind]. clear E9. set (t10 := set "rest" _ t9).
    destruct (filled_is avx2 todo D8 Vt) as (Ll & Vl & _). set (l := filled avx2 todo) in *.
    assert (E10 : run_statement (Const Vector256 "last" (LoadVector "_mm256_maskload_epi32" [Var "rest"] "from" 0)) t10 =
      Some (set "last" (Register (register_of 4 l)) t10)).
    { cbn [run_statement]. unfold declare. rewrite (load_first_words t10 "rest" "from" (before ++ words done) todo behind).
      - cbn [bind]. change (todo ++ repeat 0 (8 - length todo)) with l. rewrite words_length, Ll. reflexivity.
      - change (env t10 "from") with (env t8 "from"). rewrite F, app_length, there_length, words_length. reflexivity.
      - reflexivity.
      - change (memory t10) with (memory t8). rewrite M, D, words_app, there_app, <- !app_assoc. reflexivity.
      - lia. }
    rewrite E10. cbn [bind]. clear E10. set (t11 := set "last" _ t10).
    destruct (older_runs_256 t11 "b" "last" "in_last" l b H B eq_refl Ll Vl eq_refl eq_refl eq_refl) as (t12 & R & M12 & B12 & O).
    cbn [older avx2 run_statements] in R.
    match type of R with bind ?x _ = _ => destruct x as [t13|]; [|discriminate] end. cbn [bind] in R |- *.
    match type of R with bind ?x _ = _ => destruct x as [t14|]; [|discriminate] end. cbn [bind] in R |- *.
    injection R as ->. destruct A as (A1 & La & Va), B as (_ & Lb0 & _), B12 as (B1 & Lb & Vb), C as (C1 & Lc & Vc), G as (G1 & Lg & Vg).
    cbn [wide avx2] in *. set (b' := lanes_max b (ages l)) in *.
    destruct (join_of_two_8 a b' La Lb Va Vb) as (J1 & LJ1 & VJ1).
    destruct (join_of_two_8 c e Lc Lg Vc Vg) as (J2 & LJ2 & VJ2).
    destruct (join_of_two_8 _ _ LJ1 LJ2 VJ1 VJ2) as (J3 & LJ3 & VJ3).
    assert (E13 : run_statement (Const Vector256 "all" (joined "_mm256_max_epu32")) t12 =
      Some (set "all" (Register (register_of 4 (lanes_max (lanes_max a b') (lanes_max c e)))) t12)).
    { cbn [run_statement]. unfold declare, joined. cbn [eval]. unfold register_in. rewrite (O "a"), (O "c"), (O "d") by reflexivity.
      change (env t11 "a") with (env t8 "a"). change (env t11 "c") with (env t8 "c"). change (env t11 "d") with (env t8 "d").
      rewrite A1, B1, C1, G1. cbn [bind]. unfold bytes in *. rewrite J1. cbn [bind]. rewrite J2. cbn [bind]. rewrite J3.
      cbn [bind]. rewrite words_length, LJ3. reflexivity. }
    rewrite E13. cbn [bind]. clear E13. set (t15 := set "all" _ t12).
    destruct (reduction_runs t15 _ (env_set_same _ _ _) LJ3 VJ3) as (t16 & R & M16 & V16).
    cbn [run_steps] in R. rewrite R. cbn [bind]. rewrite V16. cbn [option_map bind]. unfold b', l.
    rewrite (joined_is avx2 data Data a b c e done todo D D8 La Lb0 Lc Lg Gr), M16. f_equal. f_equal.
    change (memory t15) with (memory t12). rewrite M12. exact M.
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

(** The program of the AVX2 minimum does the same with registers of eight values, and with a mask that is made of signs. *)
Theorem greatest_avx2_program_finds_the_greatest_age : forall s sane before data behind, valid sane -> Forall valid data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  let m := before ++ words data ++ behind in
  run greatest_avx2_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                             Register (bytes_of 4 (first_normal s))] m =
    Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
Proof. intros s sane before data behind Sane Data. exact (greatest_avx2_runs s sane Sane before behind data Data). Qed.

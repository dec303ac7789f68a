(* SPDX-License-Identifier: PostgreSQL *)
(** * The program of which the C of the NEON minimum is printed finds the greatest age *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Compare Permute Neon Memory Facts Program ProgramFacts
  LaneFacts.
From Pgquern.datfrozenxid Require Import Spec Algorithms Minimum Kernels Generated GeneratedFacts.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** The intrinsics that the program calls *)

Lemma call_not_below a b : length a = 16%nat -> length b = 16%nat ->
  call "vcgeq_u32" [a; b] = Some (compare_lanes 4 Z.geb a b).
Proof. by_table. Qed.
Lemma call_max_neon a b : length a = 16%nat -> length b = 16%nat -> call "vmaxq_u32" [a; b] = Some (max_unsigned 4 a b).
Proof. by_table. Qed.
Lemma call_max_across a : length a = 16%nat -> call "vmaxvq_u32" [a] = Some (reduce_max 4 a).
Proof. by_table. Qed.

Section greatest.
  Context (s : sort) (sane : Z) (Sane : valid sane).

  (* The lanes that are not below the least normal id have the last sane one, and the others 0. *)
  Lemma masked_sane l :
    and (compare_lanes 4 Z.geb (register_of 4 l) (register_of 4 (repeat (first_normal s) (length l))))
      (register_of 4 (repeat sane (length l))) =
    register_of 4 (map (fun x => if x <? first_normal s then 0 else sane) (lanes 4 (register_of 4 l))).
  Proof.
    unfold compare_lanes, compared. rewrite (valid_lanes (repeat _ _)) by apply forall_repeat, (first_valid s sane).
    assert (L : length (lanes 4 (register_of 4 l)) = length l).
    { unfold lanes. now rewrite map_length, words_pieces, map_length. }
    rewrite <- L at 1 2. rewrite map2_repeat by reflexivity. rewrite and_chooses by now rewrite map_length, repeat_length.
    f_equal. generalize (lanes 4 (register_of 4 l)) as m. clear. induction m as [|x m IH]; [reflexivity|].
    cbn [map length repeat map2]. rewrite IH. f_equal. rewrite Z.geb_leb.
    destruct (Z.leb_spec (first_normal s) x), (Z.ltb_spec x (first_normal s)); auto; lia.
  Qed.

  Lemma older_runs_128 t accumulator x mask l v : at_hand s sane neon t -> accumulates neon t accumulator v ->
    env t x = Some (Register (register_of 4 l)) -> length l = 4%nat -> Forall valid l ->
    String.eqb accumulator mask = false -> String.eqb x mask = false -> String.eqb "sane" mask = false ->
    exists t', run_statements (older neon accumulator x mask) t = Some t' /\ memory t' = memory t /\
      accumulates neon t' accumulator (lanes_max v (map (age s sane) l)) /\
      forall y, String.eqb y accumulator = false -> String.eqb y mask = false -> env t' y = env t y.
  Proof.
    intros [S F] (A & Lv & Vv) X L V D1 D2 D3. cbn [wide neon] in S, F, Lv.
    pose proof (masked_sane l) as M. rewrite L, valid_lanes in M by exact V.
    set (ss := register_of 4 (repeat sane 4)) in *. set (ff := register_of 4 (repeat (first_normal s) 4)) in *.
    set (k := compare_lanes 4 Z.geb (register_of 4 l) ff) in *.
    assert (K : length k = 16%nat).
    { unfold k, compare_lanes, as_lanes, compared, ff. rewrite !valid_lanes by (auto using forall_repeat, (first_valid s sane)).
      rewrite words_length, map_length, map2_length, repeat_length. lia. }
    assert (Ds : sub 4 (and k ss) (register_of 4 l) =
                 register_of 4 (map (fun x => (if x <? first_normal s then 0 else sane) - x) l)).
    { rewrite M, sub_of_words; [|apply Forall_map, Forall_forall; intros y _; cbv beta|exact V].
      - f_equal. transitivity (map2 Z.sub (map (fun x => if x <? first_normal s then 0 else sane) l) (map (fun x => x) l));
          [now rewrite map_id|]. apply map2_maps.
      - destruct (y <? first_normal s); [apply zero_valid|exact Sane]. }
    set (rr := register_of 4 (lanes_max v (map (age s sane) l))).
    assert (Lr : length rr = 16%nat) by (unfold rr; rewrite words_length, lanes_max_is_map2, map2_length, map_length; lia).
    exists (set accumulator (Register rr) (set mask (Register k) t)).
    split; [|split; [reflexivity|split]].
    - cbn [older neon run_statements run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite X, F. cbn [bind].
      rewrite call_not_below by (unfold ff; rewrite words_length, ?repeat_length; lia). fold k. cbn [bind]. rewrite K.
      cbn [Nat.eqb size bind]. rewrite (env_set_other mask accumulator), (env_set_other mask "sane"), (env_set_other mask x) by assumption.
      rewrite A, env_set_same, S, X. cbn [bind].
      rewrite call_and_neon by (auto; unfold ss; rewrite words_length, repeat_length; reflexivity). cbn [bind].
      rewrite call_sub_neon by (rewrite ?M, words_length, ?map_length; lia). cbn [bind]. rewrite Ds.
      rewrite call_max_neon by (rewrite words_length, ?map_length; lia). cbn [bind].
      pose proof (ages_of_differences s sane v l ltac:(congruence) Vv) as G. cbv beta in G. unfold bytes in *.
      rewrite G. fold rr. rewrite Lr, words_length, Lv. reflexivity.
    - split; [apply env_set_same|]. split; [rewrite lanes_max_is_map2, map2_length, map_length; cbn; lia|].
      apply lanes_max_valid; [exact Vv|apply (ages_valid s sane)].
    - intros y Y1 Y2. now rewrite !env_set_other.
  Qed.

  Lemma neon_fits : fit s sane neon.
  Proof.
    constructor.
    - cbn. lia.
    - intros from last n beside l I N D B d t It.
      destruct (rounds_end from n beside l I N B d t It) as (t' & d' & E & It' & L & _). exists t', d'.
      split; [|auto]. intros steps. cbn [loop neon run_steps]. rewrite (D _ _ It). cbn [bind].
      destruct (Z.ltb_spec (Z.of_nat d) 0); [lia|]. now rewrite E.
    - exact (load_words_by Neon128 "vld1q_u32" 4 eq_refl eq_refl).
    - intros t x. reflexivity.
    - intros t x y n Y. cbn [run_statement typed spread_by wide neon]. unfold declare. cbn [eval]. unfold register_in.
      rewrite Y. cbn [bind]. rewrite call_dup_neon by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length.
    - exact older_runs_128.
  Qed.

  Lemma join_of_two_neon a b : length a = 4%nat -> length b = 4%nat -> Forall valid a -> Forall valid b ->
    call "vmaxq_u32" [register_of 4 a; register_of 4 b] = Some (register_of 4 (lanes_max a b)) /\
    length (lanes_max a b) = 4%nat /\ Forall valid (lanes_max a b).
  Proof.
    intros La Lb Va Vb. rewrite call_max_neon by (rewrite words_length; lia). split; [|split].
    - now rewrite max_of_words, lanes_max_is_map2.
    - rewrite lanes_max_is_map2, map2_length. lia.
    - now apply lanes_max_valid.
  Qed.

  Context (before behind : cells) (data : list Z) (Data : Forall valid data).

  (** A value that is left is loaded as a word, and stands in all lanes. *)
  Lemma step_of_the_rest d t : taken_so_far s sane neon before behind data d t -> (1 <= d)%nat ->
    exists t1 t2, run_statements (Const Neon128 "last" (Call "vdupq_n_u32" [WordAt "from"]) :: older neon "b" "last" "in_last") t =
        Some t1 /\
      move 1 ["from"] t1 = Some t2 /\ taken_so_far s sane neon before behind data (d - 1) t2.
  Proof.
    intros (done & todo & a & b & c & e & D & L & M & Fr & E & H & A & B & C & G & Gr) Le.
    destruct todo as [|x todo]; [cbn in L; lia|]. cbn [length] in L.
    assert (Vx : valid x) by (rewrite D, Forall_app in Data; destruct Data as [_ Vt]; now inversion Vt).
    assert (E1 : run_statement (Const Neon128 "last" (Call "vdupq_n_u32" [WordAt "from"])) t =
      Some (set "last" (Register (register_of 4 (repeat x 4))) t)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in. rewrite Fr. cbn [bind snd].
      pose proof (load_whole (before ++ words done) (bytes_of 4 x) (words todo ++ behind) 4 (bytes_of_length 4 x)) as W.
      cbn [load_from] in W. rewrite app_length, there_length, words_length in W. rewrite M, D.
      change (register_of 4 (done ++ x :: todo)) with (register_of 4 (done ++ [x] ++ todo)).
      rewrite !words_app, !there_app, <- !app_assoc. change (register_of 4 [x]) with (bytes_of 4 x ++ []).
      rewrite app_nil_r. rewrite <- app_assoc in W. rewrite W. cbn [bind].
      rewrite call_dup_neon by apply bytes_of_length. cbn [bind]. rewrite spread_words, words_length, repeat_length. reflexivity. }
    cbn [run_statements]. rewrite E1. cbn [bind]. set (t0 := set "last" _ t).
    destruct (older_runs_128 t0 "b" "last" "in_last" (repeat x 4) b H B eq_refl (repeat_length x 4)
      (forall_repeat valid x 4 Vx) eq_refl eq_refl eq_refl) as (t1 & R & M1 & B1 & O).
    exists t1. rewrite R. cbn [move]. unfold address_in. rewrite O by reflexivity. change (env t0 "from") with (env t "from").
    rewrite Fr. cbn [bind fst snd]. eexists. split; [reflexivity|]. split; [reflexivity|].
    exists (done ++ [x]), todo, a, (lanes_max b (map (age s sane) (repeat x 4))), c, e.
    split; [now rewrite <- app_assoc|]. split; [lia|]. split; [cbn [memory set]; now rewrite M1|].
    split; [rewrite env_set_same, app_length; cbn [length]; do 2 f_equal; lia|].
    split; [rewrite env_set_other, O by reflexivity; exact E|].
    split; [destruct H; split; rewrite env_set_other, O by reflexivity; auto|].
    split; [destruct A as (A1 & A2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    split; [destruct B1 as (I1 & I2); split; [rewrite env_set_other by reflexivity|]; auto|].
    split; [destruct C as (C1 & C2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    split; [destruct G as (G1 & G2); split; [rewrite env_set_other, O by reflexivity|]; auto|].
    destruct B as (_ & Lb & _). rewrite map_app, !greatest_app in *.
    rewrite greatest_lanes_max by (rewrite map_length, repeat_length; exact Lb). rewrite <- Gr, repeat_mapped.
    cbn [repeat map]. rewrite !greatest_cons. change (greatest []) with 0. clear. lia.
  Qed.

  Lemma greatest_neon_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    let m := before ++ words data ++ behind in
    run greatest_neon_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                               Register (bytes_of 4 (first_normal s))] m =
      Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
  Proof.
    intros place m. unfold run, place. cbn [given parameters greatest_neon_program its_parameters Program.fits Nat.eqb width_of].
    rewrite ?bytes_of_length. cbn [Nat.eqb bind]. set (t0 := set "first" _ _). cbn [body outcome_of greatest_neon_program].
    match goal with |- context [run_steps (whole_registers neon ++ ?rest) t0] =>
      destruct (whole_registers_run s sane neon neon_fits before behind data Data t0 rest) as (t8 & d8 & E8 & T8 & _);
        [reflexivity..|]
    end.
    rewrite E8. clear E8.
    destruct (loops_end s sane neon neon_fits "from" "end" 1 [] _ (taken_so_far s sane neon before behind data) (le_n 1)
      (taken_distance s sane neon before behind data) step_of_the_rest d8 t8 T8) as (t9 & d9 & E9 & T9 & D9).
    rewrite E9. clear E9. cbn [run_steps bind].
    destruct T9 as (done & todo & a & b & c & e & D & L & M & F & E & H & A & B & C & G & Gr).
    destruct todo; [|cbn in L; lia]. rewrite app_nil_r in D. subst done.
    destruct A as (A1 & La & Va), B as (B1 & Lb & Vb), C as (C1 & Lc & Vc), G as (G1 & Lg & Vg). cbn [wide neon] in *.
    destruct (join_of_two_neon a b La Lb Va Vb) as (J1 & LJ1 & VJ1).
    destruct (join_of_two_neon c e Lc Lg Vc Vg) as (J2 & LJ2 & VJ2).
    destruct (join_of_two_neon _ _ LJ1 LJ2 VJ1 VJ2) as (J3 & LJ3 & VJ3).
    unfold joined. cbn [eval]. unfold register_in. rewrite A1, B1, C1, G1. cbn [bind].
    unfold bytes in *. rewrite J1. cbn [bind]. rewrite J2. cbn [bind]. rewrite J3. cbn [bind].
    rewrite call_max_across by (rewrite words_length; lia). cbn [bind option_map]. unfold reduce_max. rewrite valid_lanes by exact VJ3.
    change (fold_right Z.max 0) with greatest. rewrite !greatest_lanes_max by congruence.
    rewrite !greatest_app in Gr. rewrite <- Gr, M, <- Z.max_assoc. reflexivity.
  Qed.
End greatest.

(** The program of the NEON minimum does the same with registers of four values; each value that fills no register is
    put into all lanes of one. *)
Theorem greatest_neon_program_finds_the_greatest_age : forall s sane before data behind, valid sane -> Forall valid data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  let m := before ++ words data ++ behind in
  run greatest_neon_program [place 0%nat; place (length data); Register (bytes_of 4 sane);
                             Register (bytes_of 4 (first_normal s))] m =
    Some (Register (bytes_of 4 (greatest (map (age s sane) data))), m).
Proof. intros s sane before data behind Sane Data. exact (greatest_neon_runs s sane Sane before behind data Data). Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The NEON programs of which C is printed move whole registers, and leave fewer values than one holds *)
From Coq Require Import ZArith Lia String List Bool.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Compare Masked Permute Scalar Memory Neon Facts Table Program
  ProgramFacts LaneFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Generated GeneratedFacts.
From Pgquern.snapbuild Require GeneratedAvx2.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** The intrinsics that the programs call *)

Lemma call_dup x : length x = 4%nat -> call "vdupq_n_u32" [x] = Some (spread 4 x).
Proof. by_table. Qed.
Lemma call_sub_4 a b : length a = 16%nat -> length b = 16%nat -> call "vsubq_u32" [a; b] = Some (sub 4 a b).
Proof. by_table. Qed.
Lemma call_as_signed a : length a = 16%nat -> call "vreinterpretq_s32_u32" [a] = Some a.
Proof. by_table. Qed.
Lemma call_not_negative a : length a = 16%nat -> call "vcgezq_s32" [a] = Some (compare_zero 4 Z.geb a).
Proof. by_table. Qed.
Lemma call_and_4 a b : length a = 16%nat -> length b = 16%nat -> call "vandq_u32" [a; b] = Some (and a b).
Proof. by_table. Qed.
Lemma call_sum a : length a = 16%nat -> call "vaddvq_u32" [a] = Some (reduce_add 4 a).
Proof. by_table. Qed.
Lemma call_as_bytes a : length a = 16%nat -> call "vreinterpretq_u8_u32" [a] = Some a.
Proof. by_table. Qed.
Lemma call_as_words a : length a = 16%nat -> call "vreinterpretq_u32_u8" [a] = Some a.
Proof. by_table. Qed.
Lemma call_look_up a b : length a = 16%nat -> length b = 16%nat -> call "vqtbl1q_u8" [a; b] = Some (look_up a b).
Proof. by_table. Qed.

(** ** One register is packed where a pointer points *)

Lemma four {A} (l : list A) : length l = 4%nat -> exists a b c d, l = [a; b; c; d].
Proof. intros L. do 4 (destruct l as [|? l]; [discriminate|]). destruct l; [repeat eexists|discriminate]. Qed.

(* The bits of the lanes that stay, and their number from bit 4 on. *)
Definition sum_of (kept : list bool) : bytes := reduce_add 4 (and (as_lanes 4 kept) (register_of 4 weights)).

Lemma sum_is kept : length kept = 4%nat ->
  let low := bytes_of 4 (Z.land (number (sum_of kept)) 15) in
  (number low <? 16) = true /\ firstn 4 (bits low) = kept /\ length (neon_entry kept) = 16%nat /\
  number (bytes_of 4 (Z.shiftr (number (sum_of kept)) 4)) = count kept.
Proof. intros L. destruct (four kept L) as (a & b & c & d & ->). destruct a, b, c, d; repeat split; reflexivity. Qed.

Lemma looked_up kept l : length kept = 4%nat -> length l = 4%nat ->
  look_up (register_of 4 l) (neon_entry kept) =
  register_of 4 (selected kept l) ++ zeros (4 * (4 - length (selected kept l))).
Proof.
  intros K L. destruct (four kept K) as (a & b & c & d & ->). destruct (four l L) as (w & x & y & z & ->).
  destruct a, b, c, d; reflexivity.
Qed.

(* The values that a sum has a bit for, of the register in [x], are stored, zeros behind them, and the pointer moves past them. *)
Lemma packed_runs_4 s x sum m kept l A junk C : env s "to" = Some (Address 4 (Z.of_nat (length A))) ->
  env s sum = Some (Register (sum_of kept)) -> env s x = Some (Register (register_of 4 l)) -> String.eqb "to" m = false ->
  length kept = 4%nat -> length l = 4%nat -> memory s = A ++ there junk ++ C -> (16 <= length junk)%nat ->
  let junk' := zeros (4 * (4 - length (selected kept l))) ++ skipn 16 junk in
  exists s', run_statements (packed_4 x sum m) s = Some s' /\
    memory s' = (A ++ words (selected kept l)) ++ there junk' ++ C /\
    (length junk' + 4 * length (selected kept l) = length junk)%nat /\
    env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words (selected kept l))))) /\
    forall z, String.eqb z "to" = false -> String.eqb z m = false -> env s' z = env s z.
Proof.
  intros T S X N Lk L M J junk'. subst junk'. destruct (sum_is kept Lk) as (B1 & B2 & B3 & B4).
  rewrite <- (firstn_skipn 16 junk), there_app, <- app_assoc in M.
  assert (O : length (firstn 16 junk) = 16%nat) by (rewrite firstn_length; lia).
  assert (Cnt : count kept = Z.of_nat (length (selected kept l))) by (apply count_selected; congruence).
  assert (Lr : length (register_of 4 l) = 16%nat) by (rewrite words_length; lia).
  pose proof (selected_length kept l) as Sl.
  assert (Lp : length (register_of 4 (selected kept l) ++ zeros (4 * (4 - length (selected kept l)))) = 16%nat)
    by (rewrite app_length, words_length, zeros_length; lia).
  unfold packed_4. cbn [run_statements run_statement eval eval_all]. unfold address_in, register_in. rewrite T, S, X.
  change (known "vst1q_u32" stores_known) with (Some (Whole 16)). cbn [bind fst snd].
  rewrite call_as_bytes by exact Lr. cbn [bind].
  change (length (sum_of kept)) with 4%nat. cbn [Nat.eqb].
  change (computed And (number (sum_of kept)) 15) with (Some (Z.land (number (sum_of kept)) 15)). cbn [bind].
  set (low := bytes_of 4 (Z.land (number (sum_of kept)) 15)) in *.
  assert (Ps : passed 4 low = Some low) by (apply (passed_as_is low)).
  rewrite Ps. cbn [bind]. rewrite B1, B2. cbn [bind]. rewrite call_look_up by auto. cbn [bind].
  rewrite looked_up by auto. rewrite call_as_words by exact Lp. cbn [bind].
  rewrite M, store_whole by auto. cbn [bind]. unfold declare. cbn [eval]. unfold register_in. cbn [env memory]. rewrite S.
  cbn [bind]. change (length (sum_of kept)) with 4%nat. cbn [Nat.eqb].
  change (computed Right (number (sum_of kept)) 4) with (Some (Z.shiftr (number (sum_of kept)) 4)). cbn [bind].
  set (n := bytes_of 4 (Z.shiftr (number (sum_of kept)) 4)) in *. change (Nat.eqb (length n) (size Word)) with true.
  cbn [bind]. rewrite env_set_other, env_set_same by exact N. cbn [env]. rewrite T. cbn [bind fst snd].
  change (Nat.eqb (length n) 4) with true. cbv iota. rewrite B4, Cnt.
  eexists. split; [reflexivity|]. cbn [memory set env].
  split; [|split; [|split]].
  - rewrite !there_app, <- !app_assoc. reflexivity.
  - rewrite app_length, skipn_length, zeros_length. lia.
  - cbn [String.eqb Ascii.eqb Bool.eqb]. do 2 f_equal. rewrite app_length, there_length, words_length. lia.
  - intros z Z1 Z2. now rewrite Z1, Z2.
Qed.

(** ** The purge *)

Section purge.
  Context (xmin : Z) (X : normal xmin).

  Definition at_hand_4 (s : state) : Prop :=
    env s "bound" = Some (Register (spread 4 (bytes_of 4 xmin))) /\
    env s "weights" = Some (Register (register_of 4 weights)).

  Lemma not_negative l : Forall normal l -> length l = 4%nat ->
    compare_zero 4 Z.geb (sub 4 (register_of 4 l) (spread 4 (bytes_of 4 xmin))) = as_lanes 4 (map (keeps xmin) l).
  Proof.
    intros N L. unfold compare_zero. rewrite differences by (auto using normal_is_valid, (xmin_valid xmin X)).
    rewrite map_map. f_equal. apply map_ext_in. intros x I. rewrite Forall_forall in N.
    rewrite <- (kept_by_difference xmin x X (N x I)). unfold signed. change (span 4) with RING.
    pose proof (Z.mod_pos_bound (x - xmin) RING ltac:(reflexivity)) as B. unfold RING, HALF in *.
    destruct (Z.ltb_spec (2 * ((x - xmin) mod 4294967296)) 4294967296), (Z.ltb_spec ((x - xmin) mod 4294967296) 2147483648);
      rewrite Z.geb_leb; lia.
  Qed.

  (* A register of XIDs: those that xmin does not precede go down to `to`. *)
  Lemma keep_runs_4 s x sum m l A junk C : at_hand_4 s -> Forall normal l ->
    env s "to" = Some (Address 4 (Z.of_nat (length A))) -> env s x = Some (Register (register_of 4 l)) ->
    length l = 4%nat -> memory s = A ++ there junk ++ C -> (16 <= length junk)%nat ->
    String.eqb "to" sum = false -> String.eqb x sum = false -> String.eqb "to" m = false ->
    exists s' junk', run_statements (keep_4 x sum m) s = Some s' /\
      memory s' = (A ++ words (kept xmin l)) ++ there junk' ++ C /\
      (length junk' + 4 * length (kept xmin l) = length junk)%nat /\
      env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words (kept xmin l))))) /\
      forall y, String.eqb y "to" = false -> String.eqb y sum = false -> String.eqb y m = false -> env s' y = env s y.
  Proof.
    intros [Bound Weights] N T XE L M J D1 D2 D3. unfold keep_4. cbn [run_statements]. set (k := map (keeps xmin) l).
    assert (Lk : length k = 4%nat) by (unfold k; now rewrite map_length).
    assert (E : run_statement (Const Word sum (Call "vaddvq_u32"
        [Call "vandq_u32"
          [Call "vcgezq_s32" [Call "vreinterpretq_s32_u32" [Call "vsubq_u32" [Var x; Var "bound"]]]; Var "weights"]])) s =
      Some (set sum (Register (sum_of k)) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite XE, Bound, Weights. cbn [bind].
      assert (Ls : length (sub 4 (register_of 4 l) (spread 4 (bytes_of 4 xmin))) = 16%nat).
      { unfold sub, lanewise. rewrite words_length, spread_words, !valid_lanes
          by (auto using normal_is_valid, all_valid, (xmin_valid xmin X)).
        rewrite map2_repeat, map_length by exact L. lia. }
      rewrite call_sub_4 by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
      rewrite call_as_signed by exact Ls. cbn [bind]. rewrite call_not_negative by exact Ls. cbn [bind].
      rewrite not_negative by auto. fold k. unfold as_lanes.
      rewrite call_and_4 by (rewrite words_length, ?map_length; unfold weights; cbn [length]; lia). cbn [bind].
      fold (as_lanes 4 k). rewrite call_sum. { cbn [bind]. reflexivity. }
      rewrite and_chooses by (rewrite Lk; reflexivity). rewrite words_length, map2_length, Lk. reflexivity. }
    rewrite E. cbn [bind].
    destruct (packed_runs_4 (set sum (Register (sum_of k)) s) x sum m k l A junk C) as (s' & R & M' & J' & T' & O); auto.
    - now rewrite env_set_other.
    - apply env_set_same.
    - now rewrite env_set_other.
    - unfold k in *. rewrite selected_is_kept in *. rewrite R. eexists s', _. repeat split; eauto.
      intros y Y1 Y2 Y3. rewrite O by auto. now apply env_set_other.
  Qed.

  (* Of all XIDs, [done] have been read, in registers of four, and [todo] have not; between the survivors and [todo] stands
     what is not needed. *)
  Context (before behind : cells) (stale data : list Z) (N : Forall normal data).

  Definition left_over_4 (d : nat) (s : state) : Prop := exists done todo junk k,
    data = done ++ todo /\ length todo = d /\ length done = (k * 4)%nat /\
    memory s = (before ++ words (kept xmin done)) ++ there junk ++ words todo ++ behind /\
    (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat /\
    env s "to" = Some (Address 4 (Z.of_nat (length (before ++ words (kept xmin done))))) /\
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length done)))) /\
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) /\ at_hand_4 s.

  Lemma left_over_4_distance d s : left_over_4 d s -> distance s "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & junk & k & D & L & _ & _ & _ & _ & F & E & _). eapply distance_is; [exact F| |lia]. rewrite E.
    do 2 f_equal. rewrite D, app_length. lia.
  Qed.

  Lemma load_words_4 s x p i A l1 l l2 C : env s p = Some (Address 4 (Z.of_nat (length A))) ->
    memory s = A ++ words (l1 ++ l ++ l2) ++ C -> length l1 = i -> length l = 4%nat ->
    run_statement (Const Neon128 x (LoadVector "vld1q_u32" [] p i)) s = Some (set x (Register (register_of 4 l)) s).
  Proof. apply (load_words_by Neon128 "vld1q_u32" 4 eq_refl eq_refl). Qed.

  Lemma step_of_one_4 d s : left_over_4 d s -> (4 <= d)%nat ->
    exists s1 s2, run_statements (loaded_4 "x" 0 :: keep_4 "x" "sum_x" "in_x") s = Some s1 /\
      move 4 ["from"] s1 = Some s2 /\ left_over_4 (d - 4) s2.
  Proof.
    intros (done & todo & junk & k & D & L & K & M & J & T & F & E & H) G.
    destruct (split_at todo 4) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L.
    assert (Nl : Forall normal l) by (rewrite D in N; apply Forall_app in N as [_ N']; now apply Forall_app in N').
    set (A := before ++ words (kept xmin done)) in *.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    pose proof (load_words_4 s "x" "from" 0 (A ++ there junk) [] l rest behind) as Load.
    specialize (Load ltac:(now rewrite AL) ltac:(rewrite M, <- !app_assoc; reflexivity) eq_refl Ll).
    cbn [run_statements]. unfold loaded_4. rewrite Load. cbn [bind].
    destruct (keep_runs_4 (set "x" (Register (register_of 4 l)) s) "x" "sum_x" "in_x" l A (junk ++ register_of 4 l)
      (words rest ++ behind) H Nl T eq_refl Ll) as (s1 & junk1 & R & M1 & J1 & T1 & O); auto.
    - change (memory (set _ _ s)) with (memory s). rewrite M, words_app, !there_app, <- !app_assoc. reflexivity.
    - rewrite app_length, words_length. lia.
    - exists s1. rewrite R. cbn [move]. unfold address_in. rewrite O by reflexivity. rewrite env_set_other, F by reflexivity.
      cbn [bind fst snd]. eexists. split; [reflexivity|]. split; [reflexivity|]. exists (done ++ l), rest, junk1, (k + 1)%nat.
      rewrite app_length, words_length in J1. split; [now rewrite <- app_assoc|]. split; [lia|].
      split; [rewrite app_length; lia|]. cbn [memory set].
      rewrite kept_app, words_app, there_app, (app_assoc before), (app_length done). fold A. split; [exact M1|].
      split; [rewrite app_length; lia|]. split; [exact T1|].
      split; [|split].
      + rewrite env_set_same. do 2 f_equal. lia.
      + rewrite env_set_other, O, env_set_other by reflexivity. exact E.
      + destruct H as [H1 H2]. split; rewrite env_set_other, O, env_set_other by reflexivity; auto.
  Qed.

  Lemma step_of_four_4 d s : left_over_4 d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements ([loaded_4 "a" 0; loaded_4 "b" 4; loaded_4 "c" 8; loaded_4 "d" 12] ++
        keep_4 "a" "sum_a" "in_a" ++ keep_4 "b" "sum_b" "in_b" ++ keep_4 "c" "sum_c" "in_c" ++ keep_4 "d" "sum_d" "in_d") s =
        Some s1 /\
      move 16 ["from"] s1 = Some s2 /\ left_over_4 (d - 16) s2.
  Proof.
    intros (done & todo & junk & k & D & L & K & M & J & T & F & E & H) G.
    destruct (split_at todo 4) as (a & todo1 & -> & La); [lia|]. rewrite app_length in L.
    destruct (split_at todo1 4) as (b & todo2 & -> & Lb); [lia|]. rewrite app_length in L.
    destruct (split_at todo2 4) as (c & todo3 & -> & Lc); [lia|]. rewrite app_length in L.
    destruct (split_at todo3 4) as (e & rest & -> & Le); [lia|]. rewrite app_length in L.
    assert (Nl : Forall normal a /\ Forall normal b /\ Forall normal c /\ Forall normal e).
    { rewrite D, !Forall_app in N. tauto. }
    destruct Nl as (Na & Nb & Nc & Ne).
    set (A := before ++ words (kept xmin done)) in *.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    rewrite <- AL in F.
    assert (Load : forall s' x i l1 l l2, a ++ b ++ c ++ e ++ rest = l1 ++ l ++ l2 -> length l1 = i -> length l = 4%nat ->
      env s' "from" = env s "from" -> memory s' = memory s ->
      run_statement (loaded_4 x i) s' = Some (set x (Register (register_of 4 l)) s')).
    { intros s' x i l1 l l2 Eq L1 Ll F' M'. apply (load_words_4 s' x "from" i (A ++ there junk) l1 l l2 behind); auto.
      - rewrite F'. exact F.
      - rewrite M', M, Eq, <- !app_assoc. reflexivity. }
    cbn [app run_statements].
    rewrite (Load s "a" 0%nat [] a (b ++ c ++ e ++ rest)) by auto. cbn [bind].
    erewrite (Load _ "b" 4%nat a b (c ++ e ++ rest)) by (reflexivity || auto). cbn [bind].
    erewrite (Load _ "c" 8%nat (a ++ b) c (e ++ rest)) by
      (rewrite <- ?app_assoc, ?app_length; reflexivity || lia || auto). cbn [bind].
    erewrite (Load _ "d" 12%nat (a ++ b ++ c) e rest) by
      (rewrite <- ?app_assoc, ?app_length; reflexivity || lia || auto). cbn [bind].
    set (s4 := set "d" _ _). clear Load.
    change (keep_4 "a" "sum_a" "in_a" ++ keep_4 "b" "sum_b" "in_b" ++ keep_4 "c" "sum_c" "in_c" ++ keep_4 "d" "sum_d" "in_d")
      with (keep_4 "a" "sum_a" "in_a" ++ (keep_4 "b" "sum_b" "in_b" ++ (keep_4 "c" "sum_c" "in_c" ++
        keep_4 "d" "sum_d" "in_d"))).
    destruct (keep_runs_4 s4 "a" "sum_a" "in_a" a A (junk ++ register_of 4 (a ++ b ++ c ++ e)) (words rest ++ behind)
      H Na T eq_refl La) as (s5 & j5 & R5 & M5 & J5 & T5 & O5); auto.
    { change (memory s4) with (memory s). rewrite M, !words_app, !there_app, <- !app_assoc. reflexivity. }
    { rewrite app_length, words_length, !app_length. lia. }
    rewrite app_length, words_length, !app_length in J5. pose proof (kept_length xmin a) as Ka.
    rewrite run_statements_app, R5. cbn [bind].
    assert (H5 : at_hand_4 s5) by (destruct H as [H1 H2]; split; rewrite O5 by reflexivity; auto).
    destruct (keep_runs_4 s5 "b" "sum_b" "in_b" b (A ++ words (kept xmin a)) j5 (words rest ++ behind))
      as (s6 & j6 & R6 & M6 & J6 & T6 & O6); auto;
      try (rewrite O5 by reflexivity; reflexivity); try lia.
    pose proof (kept_length xmin b) as Kb. rewrite run_statements_app, R6. cbn [bind].
    assert (H6 : at_hand_4 s6) by (destruct H5 as [H1 H2]; split; rewrite O6 by reflexivity; auto).
    destruct (keep_runs_4 s6 "c" "sum_c" "in_c" c ((A ++ words (kept xmin a)) ++ words (kept xmin b)) j6
      (words rest ++ behind)) as (s7 & j7 & R7 & M7 & J7 & T7 & O7); auto;
      try (rewrite O6, O5 by reflexivity; reflexivity); try lia.
    pose proof (kept_length xmin c) as Kc. rewrite run_statements_app, R7. cbn [bind].
    assert (H7 : at_hand_4 s7) by (destruct H6 as [H1 H2]; split; rewrite O7 by reflexivity; auto).
    destruct (keep_runs_4 s7 "d" "sum_d" "in_d" e (((A ++ words (kept xmin a)) ++ words (kept xmin b)) ++ words (kept xmin c))
      j7 (words rest ++ behind)) as (s8 & j8 & R8 & M8 & J8 & T8 & O8); auto;
      try (rewrite O7, O6, O5 by reflexivity; reflexivity); try lia.
    exists s8. rewrite R8. cbn [move]. unfold address_in.
    assert (Same : forall y, existsb (String.eqb y) ["to"; "a"; "b"; "c"; "d"; "sum_a"; "sum_b"; "sum_c"; "sum_d";
        "in_a"; "in_b"; "in_c"; "in_d"] = false -> env s8 y = env s y).
    { intros y Y. cbn [existsb] in Y. repeat (apply orb_false_elim in Y as [? Y]).
      rewrite O8, O7, O6, O5 by assumption. unfold s4. now rewrite !env_set_other by assumption. }
    rewrite (Same "from"), F by reflexivity. cbn [bind fst snd]. eexists. split; [reflexivity|]. split; [reflexivity|].
    exists (done ++ a ++ b ++ c ++ e), rest, j8, (k + 4)%nat. split; [now rewrite <- !app_assoc|]. split; [lia|].
    split; [rewrite !app_length; lia|]. cbn [memory set]. rewrite !kept_app, !words_app, !there_app.
    split; [rewrite M8; unfold A; rewrite <- !app_assoc; reflexivity|]. split; [rewrite !app_length; lia|].
    split; [rewrite env_set_other, T8 by reflexivity; unfold A; rewrite <- !app_assoc; reflexivity|]. split; [|split].
    - rewrite env_set_same, AL. do 2 f_equal. rewrite !app_length. lia.
    - rewrite env_set_other, (Same "end") by reflexivity. exact E.
    - destruct H as [H1 H2]. split; rewrite env_set_other, Same by reflexivity; auto.
  Qed.

  Lemma purge_neon_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk done todo,
      data = done ++ todo /\ length done = (length data / 4 * 4)%nat /\
      run purge_neon_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                              Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (kept xmin done)),
              before ++ words (kept xmin done) ++ there junk ++ words todo ++ behind) /\
      (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters purge_neon_program fits Nat.eqb width_of]. rewrite bytes_of_length.
    cbn [Nat.eqb bind body purge_neon_program run_steps outcome_of].
    set (s0 := set "xmin" _ _).
    assert (E0 : run_statement (Const Neon128 "bound" (Call "vdupq_n_u32" [Var "xmin"])) s0 =
      Some (set "bound" (Register (spread 4 (bytes_of 4 xmin))) s0)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s0 "xmin") with (Some (bytes_of 4 xmin)).
      cbn [bind]. rewrite call_dup by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    rewrite E0. cbn [bind]. clear E0. set (s1 := set "bound" _ s0).
    assert (E1 : run_statement (Const Neon128 "weights" (Four weights)) s1 =
      Some (set "weights" (Register (register_of 4 weights)) s1)) by reflexivity.
    rewrite E1. cbn [bind]. clear E1. set (s2 := set "weights" _ s1).
    assert (L2 : left_over_4 (length data) s2).
    { exists [], data, (register_of 4 stale), 0%nat. split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
      change (kept xmin []) with (@nil Z). change (words []) with (@nil (option Z)). rewrite app_nil_r.
      split; [change (memory s2) with (before ++ words (stale ++ data) ++ behind); now rewrite words_app, there_app, <- app_assoc|].
      split; [rewrite words_length; cbn [length]; lia|].
      split; [change (env s2 "to") with (Some (Address 4 (Z.of_nat (length before + 4 * 0)))); do 2 f_equal; lia|].
      split; [change (env s2 "from") with (Some (Address 4 (Z.of_nat (length before + 4 * length stale)))); do 2 f_equal; cbn [length]; lia|].
      split; [reflexivity|]. split; reflexivity. }
    rewrite (left_over_4_distance _ _ L2). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 [] _ left_over_4 ltac:(lia) left_over_4_distance step_of_four_4 (length data) _ s2 L2
      (le_n _)) as (s3 & d3 & E3 & L3 & _ & _).
    rewrite E3. cbn [bind]. rewrite (left_over_4_distance _ _ L3). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 4 [] _ left_over_4 ltac:(lia) left_over_4_distance step_of_one_4 d3 _ s3 L3 (le_n _))
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind].
    destruct L4 as (done & todo & junk & k & D & L & K & M & J & T & _).
    exists junk, done, todo. split; [exact D|]. split; [|split; [|exact J]].
    - rewrite D, app_length, K, L, (Nat.add_comm (k * 4)), Nat.div_add, Nat.div_small by lia. reflexivity.
    - rewrite T. cbn [bind]. rewrite M, <- !app_assoc. rewrite app_length, there_length, words_length. reflexivity.
  Qed.
End purge.

(** The program of the NEON purge, run on an array of any length, moves the XIDs that xmin does not precede down to `to`, in
    their order, as far as they fill registers of four, and returns where they end; the XIDs that are left, fewer than four,
    stay as they are, and nothing before `to` or from `end` on is touched. *)
Theorem purge_neon_program_is_filter : forall xmin before stale data behind, normal xmin -> Forall normal data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk done todo,
    data = done ++ todo /\ length done = (length data / 4 * 4)%nat /\
    run purge_neon_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                            Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin done)), before ++ words (kept xmin done) ++ there junk ++ words todo ++ behind) /\
    (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat.
Proof. intros xmin before stale data behind X N. exact (purge_neon_runs xmin X before behind stale data N). Qed.

(** ** The compression of KnownAssignedXids *)

(* Flags times a number, shifted: their bits, and their sum above. *)
Lemma flags_to_sum f : length f = 4%nat -> Forall GeneratedAvx2.is_flag f ->
  bytes_of 4 (Z.shiftr (number (bytes_of 4 (number f * moves_flags))) 24) = sum_of (map is_set f).
Proof.
  intros L F. destruct (four f L) as (a & b & c & d & ->). rewrite !Forall_cons_iff in F. destruct F as (A & B & C & D & _).
  destruct A as [-> | ->], B as [-> | ->], C as [-> | ->], D as [-> | ->]; reflexivity.
Qed.

Section compress.
  Context (before behind : cells) (stale data flags : list Z) (p : nat).
  Context (F : length flags = length data) (B : Forall GeneratedAvx2.is_flag flags).
  Context (Apart : flags_apart before behind stale data flags p).

  Definition left_live_4 (d : nat) (s : state) : Prop := exists done todo fdone ftodo junk k,
    data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\ length todo = d /\
    length done = (k * 4)%nat /\
    memory s = (before ++ words (live done fdone)) ++ there junk ++ words todo ++ behind /\
    (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat /\
    env s "to" = Some (Address 4 (Z.of_nat (length (before ++ words (live done fdone))))) /\
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length done)))) /\
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) /\
    env s "valid" = Some (Address 1 (Z.of_nat (p + length done))).

  Lemma left_live_4_distance d s : left_live_4 d s -> distance s "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & fdone & ftodo & junk & k & D & _ & _ & L & _ & _ & _ & _ & Fr & E & _).
    eapply distance_is; [exact Fr| |lia]. rewrite E. do 2 f_equal. rewrite D, app_length. lia.
  Qed.

  Lemma step_of_live_4 d s : left_live_4 d s -> (4 <= d)%nat ->
    exists s1 s2, run_statements live_4 s = Some s1 /\ move 4 ["from"; "valid"] s1 = Some s2 /\ left_live_4 (d - 4) s2.
  Proof.
    intros (done & todo & fdone & ftodo & junk & k & D & FE & FL & L & K4 & M & J & T & Fr & E & V) G.
    assert (FT : length ftodo = length todo).
    { apply (f_equal (@length Z)) in D. apply (f_equal (@length Z)) in FE. rewrite app_length in D, FE. lia. }
    destruct (split_at todo 4) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L, FT.
    destruct (split_at ftodo 4) as (fl & frest & -> & Lf); [lia|]. rewrite app_length in FT.
    assert (Bf : Forall GeneratedAvx2.is_flag fl) by (rewrite FE, !Forall_app in B; tauto).
    set (A := before ++ words (live done fdone)) in *.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    unfold live_4. cbn [app run_statements]. unfold loaded_4.
    rewrite (load_words_4 s "x" "from" 0 (A ++ there junk) [] l rest behind)
      by (auto; try (now rewrite AL); rewrite M, <- !app_assoc; reflexivity).
    cbn [bind]. set (s1 := set "x" _ s).
    destruct (flags_stay before behind stale data flags p F Apart (words (live done fdone) ++ there junk ++ words (l ++ rest))
      fdone fl frest) as (P & Q & PQ & PL); auto.
    { rewrite !app_length, !there_length, !words_length, D, !app_length. lia. }
    assert (M1 : memory s1 = P ++ there fl ++ Q).
    { rewrite <- PQ. change (memory s1) with (memory s). rewrite M. unfold A. now rewrite <- !app_assoc. }
    assert (E2 : run_statement (Const Word "flags" (WordAt "valid")) s1 = Some (set "flags" (Register fl) s1)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in. change (env s1 "valid") with (env s "valid").
      rewrite V. cbn [bind fst snd]. rewrite M1.
      replace (Z.of_nat (p + length done)) with (Z.of_nat (length P)) by lia.
      pose proof (load_whole P fl Q 4 Lf) as W. cbn [load_from] in W.
      destruct (cells_at (P ++ there fl ++ Q) (Z.of_nat (length P)) 4); cbn [bind] in *; [|discriminate].
      rewrite W. cbn [bind]. now rewrite Lf. }
    rewrite E2. cbn [bind]. clear E2. set (s2 := set "flags" _ s1). set (kept := map is_set fl).
    assert (Lk : length kept = 4%nat) by (unfold kept; now rewrite map_length).
    set (moved := bytes_of 4 (number fl * moves_flags)).
    assert (E3 : run_statement (Const Word "moved" (Computed Times "flags" moves_flags)) s2 =
      Some (set "moved" (Register moved) s2)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s2 "flags") with (Some fl). cbn [bind].
      rewrite Lf. reflexivity. }
    rewrite E3. cbn [bind]. clear E3. set (s3 := set "moved" _ s2).
    assert (E4 : run_statement (Const Word "sum" (Computed Right "moved" 24)) s3 =
      Some (set "sum" (Register (sum_of kept)) s3)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s3 "moved") with (Some moved). cbn [bind].
      change (length moved) with 4%nat. cbn [Nat.eqb].
      change (computed Right (number moved) 24) with (Some (Z.shiftr (number moved) 24)). cbn [bind].
      unfold moved. rewrite flags_to_sum by auto. reflexivity. }
    rewrite E4. cbn [bind]. clear E4. set (s4 := set "sum" _ s3).
    destruct (packed_runs_4 s4 "x" "sum" "live" kept l A (junk ++ register_of 4 l) (words rest ++ behind) T eq_refl eq_refl
      eq_refl) as (s5 & R & M5 & J5 & T5 & O); auto.
    - change (memory s4) with (memory s). rewrite M, words_app, !there_app, <- !app_assoc. reflexivity.
    - rewrite app_length, words_length. lia.
    - assert (S : selected kept l = live l fl) by (apply selected_is_live; lia).
      rewrite S in *. exists s5. rewrite R. cbn [move]. unfold address_in.
      rewrite O by reflexivity. change (env s4 "from") with (env s "from"). rewrite Fr. cbn [bind fst snd].
      rewrite env_set_other, O by reflexivity. change (env s4 "valid") with (env s "valid"). rewrite V. cbn [bind fst snd].
      eexists. split; [reflexivity|]. split; [reflexivity|].
      set (junk5 := zeros _ ++ skipn 16 _) in *.
      exists (done ++ l), rest, (fdone ++ fl), frest, junk5, (Datatypes.S k). rewrite app_length, words_length in J5.
      split; [now rewrite <- app_assoc|]. split; [now rewrite <- app_assoc|]. split; [rewrite !app_length; lia|].
      split; [lia|]. split; [rewrite app_length; lia|].
      cbn [memory set]. rewrite live_app, words_app, there_app, (app_assoc before), (app_length done) by exact FL.
      fold A. split; [exact M5|]. split; [rewrite app_length; lia|].
      split; [exact T5|]. split; [|split].
      + rewrite env_set_other, env_set_same by reflexivity. do 2 f_equal. lia.
      + rewrite !env_set_other, O by reflexivity. exact E.
      + rewrite env_set_same. do 2 f_equal. lia.
  Qed.

  Lemma compress_neon_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk done todo fdone ftodo,
      data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\
      length done = (length data / 4 * 4)%nat /\
      run compress_neon_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                                 Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (live done fdone)),
              before ++ words (live done fdone) ++ there junk ++ words todo ++ behind) /\
      (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters compress_neon_program fits Nat.eqb width_of].
    cbn [Nat.eqb bind body compress_neon_program run_steps outcome_of]. set (s0 := set "valid" _ _).
    assert (L0 : left_live_4 (length data) s0).
    { exists [], data, [], flags, (register_of 4 stale), 0%nat. split; [reflexivity|]. split; [reflexivity|].
      split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
      change (live [] []) with (@nil Z). change (words []) with (@nil (option Z)). rewrite app_nil_r.
      split; [change (memory s0) with (before ++ words (stale ++ data) ++ behind); now rewrite words_app, there_app, <- app_assoc|].
      split; [rewrite words_length; cbn [length]; lia|].
      split; [change (env s0 "to") with (Some (Address 4 (Z.of_nat (length before + 4 * 0)))); do 2 f_equal; lia|].
      split; [change (env s0 "from") with (Some (Address 4 (Z.of_nat (length before + 4 * length stale)))); do 2 f_equal; cbn [length]; lia|].
      split; [reflexivity|]. change (env s0 "valid") with (Some (Address 1 (Z.of_nat p))). do 2 f_equal. cbn [length]. lia. }
    rewrite (left_live_4_distance _ _ L0). cbn [bind]. destruct (Z.ltb_spec (Z.of_nat (length data)) 0); [lia|].
    destruct (rounds_end "from" 4 ["valid"] _ left_live_4 ltac:(lia) step_of_live_4 (length data) s0 L0)
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind].
    destruct L4 as (done & todo & fdone & ftodo & junk & k & D & FE & FL & L & K4 & M & J & T & _).
    assert (K : (length data / 4 = k)%nat).
    { rewrite D, app_length, K4, L, (Nat.add_comm (k * 4)), Nat.div_add, Nat.div_small by lia. reflexivity. }
    exists junk, done, todo, fdone, ftodo. split; [exact D|]. split; [exact FE|]. split; [exact FL|].
    rewrite K. split; [exact K4|]. split; [|lia].
    rewrite T. cbn [bind]. rewrite M, <- !app_assoc. rewrite app_length, there_length, words_length. reflexivity.
  Qed.
End compress.

(** The program of the NEON compression moves the XIDs whose flag is set down to `to`, as far as they fill registers of four,
    and returns where they end; the XIDs that are left, fewer than four, and all flags stay as they are. *)
Theorem compress_neon_program_keeps_live : forall before stale data behind flags p,
  length flags = length data -> Forall GeneratedAvx2.is_flag flags -> flags_apart before behind stale data flags p ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk done todo fdone ftodo,
    data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\
    length done = (length data / 4 * 4)%nat /\
    run compress_neon_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                               Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live done fdone)),
            before ++ words (live done fdone) ++ there junk ++ words todo ++ behind) /\
    (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat.
Proof.
  intros before stale data behind flags p F B Apart. exact (compress_neon_runs before behind stale data flags p F B Apart).
Qed.

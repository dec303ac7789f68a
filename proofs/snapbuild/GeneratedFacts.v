(* SPDX-License-Identifier: PostgreSQL *)
(** * The programs of which C is printed do what the kernels are for *)
From Coq Require Import ZArith Lia String List Bool.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Compare Permute Scalar Memory Facts Table Program
  ProgramFacts LaneFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Generated.
Import ListNotations.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Notation words l := (there (register_of 4 l)).

(** ** One register is packed where a pointer points *)

Lemma bits_of_mask f : length f = 2%nat -> length (bits f) = 16%nat.
Proof. intros F. destruct f as [|? [|? [|]]]; try discriminate. reflexivity. Qed.

Lemma count_selected {A} : forall (l : list A) k, length k = length l -> count k = Z.of_nat (length (selected k l)).
Proof.
  induction l as [|x l IH]; intros [|t k] B; try discriminate; [reflexivity|]. injection B as B. cbn [selected].
  rewrite app_length. specialize (IH _ B). unfold count in *. cbn [fold_right]. rewrite IH.
  destruct t; cbn [Z.b2z length]; lia.
Qed.

(* The lanes that a mask of sixteen bits has, of the register in [y], are stored, and the pointer moves past them. *)
Lemma packed_runs s k y f l A junk C : env s "to" = Some (Address 4 (Z.of_nat (length A))) ->
  env s k = Some (Register f) -> env s y = Some (Register (register_of 4 l)) -> String.eqb k "to" = false ->
  length f = 2%nat -> length l = 16%nat -> memory s = A ++ there junk ++ C -> (64 <= length junk)%nat ->
  exists s' junk',
    run_statements [Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var k; Var y]); Advance "to" (Var k)] s =
      Some s' /\
    memory s' = (A ++ words (selected (bits f) l)) ++ there junk' ++ C /\
    (length junk' + 4 * length (selected (bits f) l) = length junk)%nat /\
    env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words (selected (bits f) l))))) /\
    forall z, String.eqb z "to" = false -> env s' z = env s z.
Proof.
  intros T K Y N F L M J.
  assert (CL : length (compress 4 f (register_of 4 l)) = 64%nat).
  { rewrite compress_words, app_length, words_length, zeros_length. pose proof (selected_length (bits f) l). lia. }
  rewrite <- (firstn_skipn 64 junk), there_app, <- app_assoc in M.
  assert (O : length (firstn 64 junk) = 64%nat) by (rewrite firstn_length; lia).
  destruct (call_popcount f F) as (r & E & R). assert (Cnt : number r = Z.of_nat (length (selected (bits f) l))).
  { rewrite R. apply count_selected. rewrite bits_of_mask; auto. }
  cbn [run_statements run_statement eval eval_all]. unfold address_in, register_in. rewrite T, K, Y.
  change (known "_mm512_storeu_si512" stores_known) with (Some (Whole 64)). cbn [bind fst snd].
  rewrite call_compress by (auto; rewrite words_length; lia). cbn [bind]. rewrite M, store_whole by auto. cbn [bind env memory].
  rewrite T, K. cbn [bind fst snd]. unfold bytes in *. rewrite E. cbn [bind]. rewrite Cnt.
  eexists _, (zeros (4 * (length l - length (selected (bits f) l))) ++ skipn 64 junk). split; [reflexivity|].
  cbn [memory set env]. pose proof (selected_length (bits f) l) as S. rewrite L in S. split; [|split; [|split]].
  - rewrite compress_words, !there_app, <- !app_assoc. reflexivity.
  - rewrite app_length, zeros_length, skipn_length. lia.
  - cbn [String.eqb Ascii.eqb Bool.eqb]. do 2 f_equal. rewrite app_length, there_length, words_length. lia.
  - intros z Z. now rewrite Z.
Qed.

(* The same of the last lanes, fewer than a register has.  What the pointer points to is left as it is behind them. *)
Lemma last_packed_runs s k y f chosen l A junk C : env s "to" = Some (Address 4 (Z.of_nat (length A))) ->
  env s k = Some (Register f) -> env s y = Some (Register (register_of 4 (l ++ repeat 0 (16 - length l)))) ->
  env s "rest" = Some (Register (lowest (length l))) -> length f = 2%nat -> (length l <= 16)%nat ->
  length chosen = length l -> bits f = chosen ++ repeat false (16 - length l) ->
  memory s = A ++ there junk ++ C -> (4 * length l <= length junk)%nat ->
  exists s' junk',
    run_statements [Store "_mm512_mask_storeu_epi32" "to" [Var "rest"] (Call "vpcompressd" [Var k; Var y]);
                    Advance "to" (Var k)] s = Some s' /\
    memory s' = (A ++ words (selected chosen l)) ++ there junk' ++ C /\
    (length junk' + 4 * length (selected chosen l) = length junk)%nat /\
    env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words (selected chosen l))))).
Proof.
  intros T K Y Rest F L LC B M J. set (n := length l) in *.
  assert (L' : length (l ++ repeat 0 (16 - n)) = 16%nat) by (rewrite app_length, repeat_length; unfold n; lia).
  assert (S : selected (bits f) (l ++ repeat 0 (16 - n)) = selected chosen l).
  { rewrite B, selected_app by exact LC. now rewrite selected_none, app_nil_r. }
  pose proof (selected_length chosen l) as SL. fold n in SL.
  assert (CE : compress 4 f (register_of 4 (l ++ repeat 0 (16 - n))) =
    (register_of 4 (selected chosen l) ++ zeros (4 * (n - length (selected chosen l)))) ++ zeros (4 * (16 - n))).
  { rewrite compress_words, S, L', <- app_assoc. f_equal. unfold zeros. rewrite <- repeat_app. f_equal. lia. }
  rewrite <- (firstn_skipn (4 * n) junk), there_app, <- app_assoc in M.
  assert (O : length (firstn (4 * n) junk) = (4 * n)%nat) by (rewrite firstn_length; lia).
  destruct (call_popcount f F) as (r & E & R). assert (Cnt : number r = Z.of_nat (length (selected chosen l))).
  { rewrite R, <- S. apply count_selected. rewrite bits_of_mask; auto. }
  cbn [run_statements run_statement eval eval_all]. unfold address_in, register_in. rewrite T, K, Y, Rest.
  change (known "_mm512_mask_storeu_epi32" stores_known) with (Some (Masked 4 (16 * 4))). cbn [bind fst snd].
  rewrite call_compress by (auto; rewrite words_length; lia). cbn [bind]. rewrite M, CE, store_lowest by
    (auto; rewrite ?app_length, ?words_length, ?zeros_length; lia).
  cbn [bind env memory]. rewrite T, K. cbn [bind fst snd]. unfold bytes in *. rewrite E. cbn [bind]. rewrite Cnt.
  eexists _, (zeros (4 * (n - length (selected chosen l))) ++ skipn (4 * n) junk). split; [reflexivity|].
  cbn [memory set env]. split; [|split].
  - rewrite !there_app, <- !app_assoc. reflexivity.
  - rewrite app_length, zeros_length, skipn_length. lia.
  - cbn [String.eqb Ascii.eqb Bool.eqb]. do 2 f_equal. rewrite app_length, there_length, words_length. lia.
Qed.

(** ** The purge *)

Section purge.
  Context (xmin : Z) (X : normal xmin).

  Definition at_hand (s : state) : Prop :=
    env s "bound" = Some (Register (spread 16 (bytes_of 4 xmin))) /\
    env s "half" = Some (Register (spread 16 (bytes_of 4 HALF))).

  Lemma xmin_valid : valid xmin.
  Proof. unfold normal, valid, FIRST_NORMAL in *. lia. Qed.

  (* A register of XIDs: those that xmin does not precede go down to `to`. *)
  Lemma keep_runs s x mask l A junk C : at_hand s -> Forall normal l ->
    env s "to" = Some (Address 4 (Z.of_nat (length A))) -> env s x = Some (Register (register_of 4 l)) ->
    length l = 16%nat -> memory s = A ++ there junk ++ C -> (64 <= length junk)%nat ->
    String.eqb mask "to" = false -> String.eqb "to" mask = false -> String.eqb x mask = false ->
    exists s' junk', run_statements (keep x mask) s = Some s' /\
      memory s' = (A ++ words (kept xmin l)) ++ there junk' ++ C /\
      (length junk' + 4 * length (kept xmin l) = length junk)%nat /\
      env s' "to" = Some (Address 4 (Z.of_nat (length (A ++ words (kept xmin l))))) /\
      forall y, String.eqb y "to" = false -> String.eqb y mask = false -> env s' y = env s y.
  Proof.
    intros [Bound Half] N T XE L M J D1 D2 D3. unfold keep. cbn [run_statements].
    set (f := mask_compare 4 Z.ltb (sub 4 (register_of 4 l) (spread 16 (bytes_of 4 xmin))) (spread 16 (bytes_of 4 HALF))).
    assert (B : bits f = map (keeps xmin) l).
    { rewrite <- kept_by_differences by auto. apply (below_half 2); auto using normal_is_valid, xmin_valid. }
    assert (F : length f = 2%nat).
    { unfold f, mask_compare, register_of_bits. rewrite map_length. apply (pieces_count 8 2); [lia|].
      unfold compared. rewrite differences, spread_words, valid_lanes by
        (auto using normal_is_valid, xmin_valid; apply all_valid; unfold valid, HALF, RING; lia).
      rewrite map2_repeat by now rewrite map_length. now rewrite !map_length. }
    assert (E : run_statement (Const Mask16 mask (Call "_mm512_cmplt_epu32_mask"
        [Call "_mm512_sub_epi32" [Var x; Var "bound"]; Var "half"])) s = Some (set mask (Register f) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite XE, Bound, Half. cbn [bind].
      rewrite call_sub by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
      rewrite call_cmplt; [|unfold sub, lanewise; rewrite words_length|rewrite spread_words, words_length, repeat_length; lia].
      - cbn [bind]. fold f. now rewrite F.
      - rewrite spread_words, !valid_lanes by (auto using normal_is_valid, all_valid, xmin_valid).
        rewrite map2_repeat, map_length by exact L. lia. }
    rewrite E. cbn [bind].
    destruct (packed_runs (set mask (Register f) s) mask x f l A junk C) as (s' & junk' & R & M' & J' & T' & O); auto.
    - now rewrite env_set_other.
    - apply env_set_same.
    - now rewrite env_set_other.
    - rewrite B, selected_is_kept in *. cbn [run_statements] in R. rewrite R. exists s', junk'. repeat split; auto.
      intros y Y1 Y2. rewrite O by exact Y1. now apply env_set_other.
  Qed.

  (* Of all XIDs, [done] have been read and [todo] have not; between the survivors and [todo] stands what is not needed. *)
  Context (before behind : cells) (stale data : list Z) (N : Forall normal data).

  Definition left_over (d : nat) (s : state) : Prop := exists done todo junk,
    data = done ++ todo /\ length todo = d /\
    memory s = (before ++ words (kept xmin done)) ++ there junk ++ words todo ++ behind /\
    (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat /\
    env s "to" = Some (Address 4 (Z.of_nat (length (before ++ words (kept xmin done))))) /\
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length done)))) /\
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) /\ at_hand s.

  Lemma left_over_distance d s : left_over d s -> distance s "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & junk & D & L & _ & _ & _ & F & E & _). eapply distance_is; [exact F| |lia]. rewrite E.
    do 2 f_equal. rewrite D, app_length. lia.
  Qed.

  Lemma split_at (l : list Z) n : (n <= length l)%nat -> exists a b, l = a ++ b /\ length a = n.
  Proof. intros L. exists (firstn n l), (skipn n l). rewrite firstn_skipn, firstn_length. split; [auto|lia]. Qed.

  Lemma step_of_one d s : left_over d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements (loaded "x" 0 :: keep "x" "in_x") s = Some s1 /\ move 16 ["from"] s1 = Some s2 /\
      left_over (d - 16) s2.
  Proof.
    intros (done & todo & junk & D & L & M & J & T & F & E & H) G.
    destruct (split_at todo 16) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L.
    assert (Nl : Forall normal l) by (rewrite D in N; apply Forall_app in N as [_ N']; now apply Forall_app in N').
    set (A := before ++ words (kept xmin done)) in *.
    pose proof (load_words s "x" "from" 0 (A ++ there junk) [] l rest behind) as Load.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    specialize (Load ltac:(now rewrite AL) ltac:(rewrite M, <- !app_assoc; reflexivity) eq_refl Ll).
    cbn [run_statements]. unfold loaded. rewrite Load. cbn [bind].
    destruct (keep_runs (set "x" (Register (register_of 4 l)) s) "x" "in_x" l A (junk ++ register_of 4 l)
      (words rest ++ behind) H Nl T eq_refl Ll) as (s1 & junk1 & R & M1 & J1 & T1 & O); auto.
    - change (memory (set _ _ s)) with (memory s). rewrite M, words_app, !there_app, <- !app_assoc. reflexivity.
    - rewrite app_length, words_length. lia.
    - exists s1. rewrite R. cbn [move]. unfold address_in. rewrite O by reflexivity. rewrite env_set_other, F by reflexivity.
      cbn [bind fst snd]. eexists. split; [reflexivity|]. split; [reflexivity|]. exists (done ++ l), rest, junk1.
      rewrite app_length, words_length in J1. split; [now rewrite <- app_assoc|]. split; [lia|]. cbn [memory set].
      rewrite kept_app, words_app, there_app, (app_assoc before), (app_length done). fold A. split; [exact M1|].
      split; [rewrite app_length; lia|]. split; [exact T1|].
      split; [|split].
      + rewrite env_set_same. do 2 f_equal. lia.
      + rewrite env_set_other, O, env_set_other by reflexivity. exact E.
      + destruct H as [H1 H2]. split; rewrite env_set_other, O, env_set_other by reflexivity; auto.
  Qed.

  Lemma step_of_four d s : left_over d s -> (64 <= d)%nat ->
    exists s1 s2, run_statements ([loaded "a" 0; loaded "b" 16; loaded "c" 32; loaded "d" 48] ++
        keep "a" "in_a" ++ keep "b" "in_b" ++ keep "c" "in_c" ++ keep "d" "in_d") s = Some s1 /\
      move 64 ["from"] s1 = Some s2 /\ left_over (d - 64) s2.
  Proof.
    intros (done & todo & junk & D & L & M & J & T & F & E & H) G.
    destruct (split_at todo 16) as (a & todo1 & -> & La); [lia|]. rewrite app_length in L.
    destruct (split_at todo1 16) as (b & todo2 & -> & Lb); [lia|]. rewrite app_length in L.
    destruct (split_at todo2 16) as (c & todo3 & -> & Lc); [lia|]. rewrite app_length in L.
    destruct (split_at todo3 16) as (e & rest & -> & Le); [lia|]. rewrite app_length in L.
    assert (Nl : Forall normal a /\ Forall normal b /\ Forall normal c /\ Forall normal e).
    { rewrite D, !Forall_app in N. tauto. }
    destruct Nl as (Na & Nb & Nc & Ne).
    set (A := before ++ words (kept xmin done)) in *.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    rewrite <- AL in F.
    assert (Load : forall s' x i l1 l l2, a ++ b ++ c ++ e ++ rest = l1 ++ l ++ l2 -> length l1 = i -> length l = 16%nat ->
      env s' "from" = env s "from" -> memory s' = memory s ->
      run_statement (loaded x i) s' = Some (set x (Register (register_of 4 l)) s')).
    { intros s' x i l1 l l2 Eq L1 Ll F' M'. apply (load_words s' x "from" i (A ++ there junk) l1 l l2 behind); auto.
      - rewrite F'. exact F.
      - rewrite M', M, Eq, <- !app_assoc. reflexivity. }
    cbn [app run_statements].
    rewrite (Load s "a" 0%nat [] a (b ++ c ++ e ++ rest)) by auto. cbn [bind].
    erewrite (Load _ "b" 16%nat a b (c ++ e ++ rest)) by (reflexivity || auto). cbn [bind].
    erewrite (Load _ "c" 32%nat (a ++ b) c (e ++ rest)) by
      (rewrite <- ?app_assoc, ?app_length; reflexivity || lia || auto). cbn [bind].
    erewrite (Load _ "d" 48%nat (a ++ b ++ c) e rest) by
      (rewrite <- ?app_assoc, ?app_length; reflexivity || lia || auto). cbn [bind].
    set (s4 := set "d" _ _). clear Load.
    change (keep "a" "in_a" ++ keep "b" "in_b" ++ keep "c" "in_c" ++ keep "d" "in_d") with
      (keep "a" "in_a" ++ (keep "b" "in_b" ++ (keep "c" "in_c" ++ keep "d" "in_d"))).
    destruct (keep_runs s4 "a" "in_a" a A (junk ++ register_of 4 (a ++ b ++ c ++ e)) (words rest ++ behind)
      H Na T eq_refl La)
      as (s5 & j5 & R5 & M5 & J5 & T5 & O5); auto.
    { change (memory s4) with (memory s). rewrite M, !words_app, !there_app, <- !app_assoc. reflexivity. }
    { rewrite app_length, words_length, !app_length. lia. }
    rewrite app_length, words_length, !app_length in J5. pose proof (kept_length xmin a) as Ka.
    rewrite run_statements_app, R5. cbn [bind].
    assert (H5 : at_hand s5) by (destruct H as [H1 H2]; split; rewrite O5 by reflexivity; auto).
    destruct (keep_runs s5 "b" "in_b" b (A ++ words (kept xmin a)) j5 (words rest ++ behind))
      as (s6 & j6 & R6 & M6 & J6 & T6 & O6); auto.
    all: try solve [rewrite O5 by reflexivity; reflexivity | lia].
    pose proof (kept_length xmin b) as Kb. rewrite run_statements_app, R6. cbn [bind].
    assert (H6 : at_hand s6) by (destruct H5 as [H1 H2]; split; rewrite O6 by reflexivity; auto).
    destruct (keep_runs s6 "c" "in_c" c ((A ++ words (kept xmin a)) ++ words (kept xmin b)) j6 (words rest ++ behind))
      as (s7 & j7 & R7 & M7 & J7 & T7 & O7); auto.
    { rewrite O6, O5 by reflexivity. reflexivity. }
    { lia. }
    pose proof (kept_length xmin c) as Kc. rewrite run_statements_app, R7. cbn [bind].
    assert (H7 : at_hand s7) by (destruct H6 as [H1 H2]; split; rewrite O7 by reflexivity; auto).
    destruct (keep_runs s7 "d" "in_d" e (((A ++ words (kept xmin a)) ++ words (kept xmin b)) ++ words (kept xmin c)) j7
      (words rest ++ behind)) as (s8 & j8 & R8 & M8 & J8 & T8 & O8); auto.
    { rewrite O7, O6, O5 by reflexivity. reflexivity. }
    { lia. }
    exists s8. rewrite R8. cbn [move]. unfold address_in.
    assert (Same : forall y, existsb (String.eqb y) ["to"; "a"; "b"; "c"; "d"; "in_a"; "in_b"; "in_c"; "in_d"] = false ->
      env s8 y = env s y).
    { intros y Y. cbn [existsb] in Y. repeat (apply orb_false_elim in Y as [? Y]).
      rewrite O8, O7, O6, O5 by assumption. unfold s4. now rewrite !env_set_other by assumption. }
    rewrite (Same "from"), F by reflexivity. cbn [bind fst snd]. eexists. split; [reflexivity|]. split; [reflexivity|].
    exists (done ++ a ++ b ++ c ++ e), rest, j8. split; [now rewrite <- !app_assoc|]. split; [lia|]. cbn [memory set].
    rewrite !kept_app, !words_app, !there_app.
    split; [rewrite M8; unfold A; rewrite <- !app_assoc; reflexivity|]. split; [rewrite !app_length; lia|].
    split; [rewrite env_set_other, T8 by reflexivity; unfold A; rewrite <- !app_assoc; reflexivity|]. split; [|split].
    - rewrite env_set_same, AL. do 2 f_equal. rewrite !app_length. lia.
    - rewrite env_set_other, (Same "end") by reflexivity. exact E.
    - destruct H as [H1 H2]. split; rewrite env_set_other, Same by reflexivity; auto.
  Qed.

  Lemma purge_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk,
      run purge_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                         Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (kept xmin data)), before ++ words (kept xmin data) ++ there junk ++ behind) /\
      (length junk + 4 * length (kept xmin data) = 4 * (length stale + length data))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters purge_program fits Nat.eqb width_of]. rewrite bytes_of_length.
    cbn [Nat.eqb bind body purge_program run_steps outcome_of].
    set (s0 := set "xmin" _ _).
    assert (E0 : run_statement (Const Vector512 "bound" (Call "_mm512_set1_epi32" [Var "xmin"])) s0 =
      Some (set "bound" (Register (spread 16 (bytes_of 4 xmin))) s0)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s0 "xmin") with (Some (bytes_of 4 xmin)).
      cbn [bind]. rewrite call_set1 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    rewrite E0. cbn [bind]. clear E0. set (s1 := set "bound" _ s0).
    assert (E1 : run_statement (Const Vector512 "half" (Call "_mm512_set1_epi32" [Number HALF])) s1 =
      Some (set "half" (Register (spread 16 (bytes_of 4 HALF))) s1)) by reflexivity.
    rewrite E1. cbn [bind]. clear E1. set (s2 := set "half" _ s1).
    assert (L2 : left_over (length data) s2).
    { exists [], data, (register_of 4 stale). split; [reflexivity|]. split; [reflexivity|].
      change (kept xmin []) with (@nil Z). change (words []) with (@nil (option Z)). rewrite app_nil_r.
      split; [change (memory s2) with (before ++ words (stale ++ data) ++ behind); now rewrite words_app, there_app, <- app_assoc|].
      split; [rewrite words_length; cbn [length]; lia|].
      split; [change (env s2 "to") with (Some (Address 4 (Z.of_nat (length before + 4 * 0)))); do 2 f_equal; lia|].
      split; [change (env s2 "from") with (Some (Address 4 (Z.of_nat (length before + 4 * length stale)))); do 2 f_equal; cbn [length]; lia|].
      split; [reflexivity|]. split; reflexivity. }
    rewrite (left_over_distance _ _ L2). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 64 [] _ left_over ltac:(lia) left_over_distance step_of_four (length data) _ s2 L2
      (le_n _)) as (s3 & d3 & E3 & L3 & _ & _).
    rewrite E3. cbn [bind]. rewrite (left_over_distance _ _ L3). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 [] _ left_over ltac:(lia) left_over_distance step_of_one d3 _ s3 L3 (le_n _))
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. rewrite (left_over_distance _ _ L4). cbn [bind].
    pose proof (left_over_distance _ _ L4) as Dist.
    destruct L4 as (done & todo & junk & D & L & M & J & T & F & E & H1 & H2).
    set (A := before ++ words (kept xmin done)) in *.
    destruct (Z.eqb_spec (Z.of_nat d4) 0) as [Z|Z].
    - destruct todo; [|cbn [length] in L; lia]. rewrite app_nil_r in D. subst done. cbn [bind].
      rewrite T. exists junk. rewrite M. unfold A. rewrite <- !app_assoc. split; [|exact J].
      rewrite app_length, there_length, words_length. reflexivity.
    - assert (Few : (length todo <= 16)%nat) by lia. assert (Nt : Forall normal todo) by (rewrite D in N; now apply Forall_app in N).
      assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
      { unfold A. rewrite !app_length, !there_length, words_length. lia. }
      assert (E5 : run_statement (Const Mask16 "rest" (Rest "from" "end")) s4 =
        Some (set "rest" (Register (lowest (length todo))) s4)).
      { cbn [run_statement]. unfold declare. cbn [eval]. rewrite Dist. cbn [bind]. rewrite <- L.
        destruct (Z.leb_spec 0 (Z.of_nat (length todo))), (Z.ltb_spec (Z.of_nat (length todo)) 32); try lia. reflexivity. }
      rewrite E5. cbn [bind]. clear E5. set (s5 := set "rest" _ s4).
      set (x := register_of 4 (todo ++ repeat 0 (16 - length todo))).
      assert (E6 : run_statement (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0)) s5 =
        Some (set "last" (Register x) s5)).
      { cbn [run_statement]. unfold declare. rewrite (load_last_words s5 "rest" "from" (A ++ there junk) todo behind).
        - cbn [bind]. fold x. unfold x. rewrite words_length, app_length, repeat_length.
          replace (4 * (length todo + (16 - length todo)))%nat with 64%nat by lia. reflexivity.
        - change (env s5 "from") with (env s4 "from"). rewrite F, AL. reflexivity.
        - reflexivity.
        - change (memory s5) with (memory s4). rewrite M, <- !app_assoc. reflexivity.
        - exact Few. }
      rewrite E6. cbn [bind]. clear E6. set (s6 := set "last" _ s5).
      set (f := avx512_last_mask xmin (lowest (length todo)) x).
      assert (Fl : length f = 2%nat).
      { unfold f. change (avx512_last_mask xmin (lowest (length todo)) x) with
          (register_of_bits (map2 andb (bits (lowest (length todo))) (bits (avx512_mask xmin x)))).
        unfold register_of_bits. rewrite map_length. apply (pieces_count 8 2); [lia|].
        assert (V' : Forall valid (todo ++ repeat 0 (16 - length todo))).
        { apply Forall_app. split; [now apply normal_is_valid|]. apply all_valid. unfold valid, RING. lia. }
        unfold x. rewrite avx512_mask_bits, lowest_bits by
          (auto using xmin_valid; rewrite app_length, repeat_length; lia).
        rewrite map2_length, map_length, !app_length, !repeat_length. lia. }
      assert (E7 : run_statement (Const Mask16 "in_last" (Call "_mm512_mask_cmplt_epu32_mask"
          [Var "rest"; Call "_mm512_sub_epi32" [Var "last"; Var "bound"]; Var "half"])) s6 =
        Some (set "in_last" (Register f) s6)).
      { cbn [run_statement]. unfold declare. cbn [eval].
        change (register_in s6 "rest") with (Some (lowest (length todo))). change (register_in s6 "last") with (Some x).
        unfold register_in. change (env s6 "bound") with (env s4 "bound"). change (env s6 "half") with (env s4 "half").
        rewrite H1, H2. cbn [bind].
        assert (Lx : length (todo ++ repeat 0 (16 - length todo)) = 16%nat) by (rewrite app_length, repeat_length; lia).
        assert (V' : Forall valid (todo ++ repeat 0 (16 - length todo))).
        { apply Forall_app. split; [now apply normal_is_valid|]. apply all_valid. unfold valid, RING. lia. }
        unfold x. rewrite call_sub by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
        rewrite call_mask_cmplt; [|reflexivity| |rewrite spread_words, words_length, repeat_length; lia].
        - cbn [bind]. fold x. change (under_mask (lowest (length todo)) (mask_compare 4 Z.ltb
            (sub 4 x (spread 16 (bytes_of 4 xmin))) (spread 16 (bytes_of 4 HALF)))) with f. now rewrite Fl.
        - unfold sub, lanewise. rewrite words_length, spread_words, !valid_lanes by (auto using all_valid, xmin_valid).
          rewrite map2_repeat, map_length by exact Lx. lia. }
      rewrite E7. cbn [bind]. clear E7. set (s7 := set "in_last" _ s6).
      destruct (last_packed_runs s7 "in_last" "last" f (map (keeps xmin) todo) todo A (junk ++ register_of 4 todo) behind)
        as (s8 & junk8 & R & M8 & J8 & T8); auto.
      + apply map_length.
      + now apply avx512_last_mask_bits.
      + change (memory s7) with (memory s4). rewrite M, there_app, <- !app_assoc. reflexivity.
      + rewrite app_length, words_length. lia.
      + cbn [run_statements] in R. match type of R with bind ?a _ = _ => destruct a as [s9|]; [|discriminate] end.
        cbn [bind] in R |- *. match type of R with bind ?a _ = _ => destruct a as [s10|]; [|discriminate] end.
        cbn [bind] in R |- *. injection R as ->. rewrite selected_is_kept in *. rewrite T8. exists junk8. rewrite M8, D, kept_app.
        cbn [bind]. rewrite app_length, words_length in J8. unfold A. rewrite words_app, there_app, <- !app_assoc.
        split; [|rewrite !app_length in *; lia].
        rewrite !app_length, !there_length, !words_length. do 4 f_equal. lia.
  Qed.
End purge.

(** The program of the purge, run on an array of any length, moves the XIDs that xmin does not precede down to `to`, in
    their order, and returns where they end; it touches nothing before `to`, and nothing from `end` on. *)
Theorem purge_program_is_filter : forall xmin before stale data behind, normal xmin -> Forall normal data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk,
    run purge_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                       Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin data)), before ++ words (kept xmin data) ++ there junk ++ behind) /\
    (length junk + 4 * length (kept xmin data) = 4 * (length stale + length data))%nat.
Proof. intros xmin before stale data behind X N. exact (purge_runs xmin X before behind stale data N). Qed.

(** ** The compression of KnownAssignedXids *)

Definition is_set (v : Z) : bool := negb (v =? 0).

Lemma map2_andb_same : forall l, map2 andb l l = l.
Proof. induction l as [|t l IH]; cbn [map2]; [|rewrite IH, andb_diag]; reflexivity. Qed.

Lemma lanes_of_bytes r : lanes 1 r = r.
Proof.
  assert (P : pieces 1 r = map (fun x => [x]) r).
  { transitivity (pieces 1 (concat (map (fun x => [x]) r))).
    - f_equal. induction r as [|x r IH]; cbn [map concat app]; [|rewrite <- IH]; reflexivity.
    - apply pieces_concat; [lia|]. apply Forall_map, Forall_forall. auto. }
  unfold lanes. rewrite P, map_map. transitivity (map (fun x => x) r); [|apply map_id]. apply map_ext. intros x.
  cbn [number]. lia.
Qed.

Lemma test_bits n r : Forall is_byte r -> length r = (n * 8)%nat -> bits (mask_test 1 r r) = map is_set r.
Proof.
  intros B L. unfold mask_test, and, bitwise. rewrite map2_andb_same.
  rewrite (bits_again r B), lanes_of_bytes. apply (bits_of_register n). now rewrite map_length.
Qed.

Lemma selected_is_live : forall xids flags, length flags = length xids ->
  selected (map is_set flags) xids = live xids flags.
Proof.
  induction xids as [|x xids IH]; intros [|v flags] L; try discriminate; [reflexivity|]. injection L as L.
  cbn [map selected live]. rewrite (IH _ L). unfold is_set. now destruct (v =? 0).
Qed.

Lemma live_app : forall a fa b fb, length fa = length a -> live (a ++ b) (fa ++ fb) = live a fa ++ live b fb.
Proof.
  induction a as [|x a IH]; intros [|v fa] b fb L; try discriminate; [reflexivity|]. injection L as L. cbn [app live].
  rewrite (IH _ _ _ L). now destruct (v =? 0).
Qed.

Section compress.
  Context (before behind : cells) (stale data flags : list Z) (p : nat).
  Context (F : length flags = length data) (B : Forall is_byte flags).

  (** The flags lie before `to`, or behind `end`. *)
  Definition flags_apart : Prop :=
    (exists b1 b2, before = b1 ++ there flags ++ b2 /\ p = length b1) \/
    (exists b1 b2, behind = b1 ++ there flags ++ b2 /\
      p = (length before + 4 * (length stale + length data) + length b1)%nat).
  Context (Apart : flags_apart).

  Lemma flags_stay middle f1 f f2 : length middle = (4 * (length stale + length data))%nat -> flags = f1 ++ f ++ f2 ->
    exists A C, before ++ middle ++ behind = A ++ there f ++ C /\ length A = (p + length f1)%nat.
  Proof.
    intros L E. destruct Apart as [(b1 & b2 & Eb & P)|(b1 & b2 & Eb & P)]; rewrite E, !there_app in Eb; rewrite Eb.
    - exists (b1 ++ there f1), (there f2 ++ b2 ++ middle ++ behind). rewrite <- !app_assoc. split; [reflexivity|].
      rewrite app_length, there_length. lia.
    - exists (before ++ middle ++ b1 ++ there f1), (there f2 ++ b2). rewrite <- !app_assoc. split; [reflexivity|].
      rewrite !app_length, there_length. lia.
  Qed.

  Definition left_live (d : nat) (s : state) : Prop := exists done todo fdone ftodo junk,
    data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\ length todo = d /\
    memory s = (before ++ words (live done fdone)) ++ there junk ++ words todo ++ behind /\
    (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat /\
    env s "to" = Some (Address 4 (Z.of_nat (length (before ++ words (live done fdone))))) /\
    env s "from" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length done)))) /\
    env s "end" = Some (Address 4 (Z.of_nat (length before + 4 * (length stale + length data)))) /\
    env s "valid" = Some (Address 1 (Z.of_nat (p + length done))).

  Lemma left_live_distance d s : left_live d s -> distance s "from" "end" = Some (Z.of_nat d).
  Proof.
    intros (done & todo & fdone & ftodo & junk & D & _ & _ & L & _ & _ & _ & Fr & E & _).
    eapply distance_is; [exact Fr| |lia]. rewrite E. do 2 f_equal. rewrite D, app_length. lia.
  Qed.

  Lemma mask_length r : length r = 16%nat -> Forall is_byte r -> length (mask_test 1 r r) = 2%nat.
  Proof.
    intros L Br. pose proof (test_bits 2 r Br L) as T. apply (f_equal (@length bool)) in T. rewrite map_length, L in T.
    unfold bits in T. rewrite (concat_length 8), map_length in T; [lia|]. now apply Forall_map, Forall_forall.
  Qed.

  Lemma step_of_live d s : left_live d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements
      [loaded "x" 0; Const Vector128 "flags" (LoadVector "_mm_loadu_si128" [] "valid" 0);
       Const Mask16 "live" (Call "_mm_test_epi8_mask" [Var "flags"; Var "flags"]);
       Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var "live"; Var "x"]); Advance "to" (Var "live")] s = Some s1 /\
      move 16 ["from"; "valid"] s1 = Some s2 /\ left_live (d - 16) s2.
  Proof.
    intros (done & todo & fdone & ftodo & junk & D & FE & FL & L & M & J & T & Fr & E & V) G.
    assert (FT : length ftodo = length todo).
    { apply (f_equal (@length Z)) in D. apply (f_equal (@length Z)) in FE. rewrite app_length in D, FE. lia. }
    destruct (split_at todo 16) as (l & rest & -> & Ll); [lia|]. rewrite app_length in L, FT.
    destruct (split_at ftodo 16) as (fl & frest & -> & Lf); [lia|]. rewrite app_length in FT.
    assert (Bf : Forall is_byte fl) by (rewrite FE, !Forall_app in B; tauto).
    set (A := before ++ words (live done fdone)) in *.
    assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
    { unfold A. rewrite !app_length, !there_length, words_length. lia. }
    cbn [run_statements]. unfold loaded.
    rewrite (load_words s "x" "from" 0 (A ++ there junk) [] l rest behind) by
      (auto; try (now rewrite AL); rewrite M, <- !app_assoc; reflexivity). cbn [bind].
    set (s1 := set "x" _ s).
    destruct (flags_stay (words (live done fdone) ++ there junk ++ words (l ++ rest)) fdone fl frest) as (P & Q & PQ & PL); auto.
    { rewrite !app_length, !there_length, !words_length, D, !app_length. lia. }
    assert (M1 : memory s1 = P ++ there fl ++ Q).
    { rewrite <- PQ. change (memory s1) with (memory s). rewrite M. unfold A. now rewrite <- !app_assoc. }
    assert (E2 : run_statement (Const Vector128 "flags" (LoadVector "_mm_loadu_si128" [] "valid" 0)) s1 =
      Some (set "flags" (Register fl) s1)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in. change (env s1 "valid") with (env s "valid").
      rewrite V. change (known "_mm_loadu_si128" loads_known) with (Some (Whole 16)). cbn [bind fst snd]. rewrite M1.
      replace (Z.of_nat (p + length done) + Z.of_nat 1 * Z.of_nat 0) with (Z.of_nat (length P)) by lia.
      rewrite load_whole by exact Lf. cbn [bind]. now rewrite Lf. }
    rewrite E2. cbn [bind]. clear E2. set (s2 := set "flags" _ s1). set (f := mask_test 1 fl fl).
    assert (Lm : length f = 2%nat) by now apply mask_length.
    assert (E3 : run_statement (Const Mask16 "live" (Call "_mm_test_epi8_mask" [Var "flags"; Var "flags"])) s2 =
      Some (set "live" (Register f) s2)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s2 "flags") with (Some fl). cbn [bind].
      rewrite call_test by exact Lf. cbn [bind]. fold f. now rewrite Lm. }
    rewrite E3. cbn [bind]. clear E3. set (s3 := set "live" _ s2).
    destruct (packed_runs s3 "live" "x" f l A (junk ++ register_of 4 l) (words rest ++ behind) T eq_refl eq_refl eq_refl)
      as (s4 & junk4 & R & M4 & J4 & T4 & O); auto.
    - change (memory s3) with (memory s). rewrite M, words_app, !there_app, <- !app_assoc. reflexivity.
    - rewrite app_length, words_length. lia.
    - assert (S : selected (bits f) l = live l fl).
      { unfold f. rewrite (test_bits 2) by (auto; lia). apply selected_is_live. lia. }
      rewrite S in *. cbn [run_statements] in R. exists s4. rewrite R. cbn [move]. unfold address_in.
      rewrite O by reflexivity. change (env s3 "from") with (env s "from"). rewrite Fr. cbn [bind fst snd].
      rewrite env_set_other, O by reflexivity. change (env s3 "valid") with (env s "valid"). rewrite V. cbn [bind fst snd].
      eexists. split; [reflexivity|]. split; [reflexivity|].
      exists (done ++ l), rest, (fdone ++ fl), frest, junk4. rewrite app_length, words_length in J4.
      split; [now rewrite <- app_assoc|]. split; [now rewrite <- app_assoc|]. split; [rewrite !app_length; lia|].
      split; [lia|]. cbn [memory set]. rewrite live_app, words_app, there_app, (app_assoc before), (app_length done) by exact FL.
      fold A. split; [exact M4|]. split; [rewrite app_length; lia|]. split; [exact T4|]. split; [|split].
      + rewrite env_set_other, env_set_same by reflexivity. do 2 f_equal. lia.
      + rewrite !env_set_other, O by reflexivity. exact E.
      + rewrite env_set_same. do 2 f_equal. lia.
  Qed.

  Lemma compress_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk,
      run compress_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                            Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (live data flags)), before ++ words (live data flags) ++ there junk ++ behind) /\
      (length junk + 4 * length (live data flags) = 4 * (length stale + length data))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters compress_program fits Nat.eqb width_of].
    cbn [Nat.eqb bind body compress_program run_steps outcome_of]. set (s0 := set "valid" _ _).
    assert (L0 : left_live (length data) s0).
    { exists [], data, [], flags, (register_of 4 stale). split; [reflexivity|]. split; [reflexivity|]. split; [reflexivity|].
      split; [reflexivity|]. change (live [] []) with (@nil Z). change (words []) with (@nil (option Z)). rewrite app_nil_r.
      split; [change (memory s0) with (before ++ words (stale ++ data) ++ behind); now rewrite words_app, there_app, <- app_assoc|].
      split; [rewrite words_length; cbn [length]; lia|].
      split; [change (env s0 "to") with (Some (Address 4 (Z.of_nat (length before + 4 * 0)))); do 2 f_equal; lia|].
      split; [change (env s0 "from") with (Some (Address 4 (Z.of_nat (length before + 4 * length stale)))); do 2 f_equal; cbn [length]; lia|].
      split; [reflexivity|]. change (env s0 "valid") with (Some (Address 1 (Z.of_nat p))). do 2 f_equal. cbn [length]. lia. }
    rewrite (left_live_distance _ _ L0). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 ["valid"] _ left_live ltac:(lia) left_live_distance step_of_live (length data) _ s0 L0
      (le_n _)) as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. rewrite (left_live_distance _ _ L4). cbn [bind].
    pose proof (left_live_distance _ _ L4) as Dist.
    destruct L4 as (done & todo & fdone & ftodo & junk & D & FE & FL & L & M & J & T & Fr & E & V).
    assert (FT : length ftodo = length todo).
    { pose proof (f_equal (@length Z) D) as D'. pose proof (f_equal (@length Z) FE) as FE'. rewrite app_length in D', FE'. lia. }
    set (A := before ++ words (live done fdone)) in *.
    destruct (Z.eqb_spec (Z.of_nat d4) 0) as [Z|Z].
    - destruct todo; [|cbn [length] in L; lia]. destruct ftodo; [|discriminate]. rewrite app_nil_r in D, FE. subst done fdone.
      cbn [bind]. rewrite T. exists junk. rewrite M. unfold A. rewrite <- !app_assoc. split; [|exact J].
      rewrite app_length, there_length, words_length. reflexivity.
    - assert (Few : (length todo <= 16)%nat) by lia.
      assert (AL : length (A ++ there junk) = (length before + 4 * (length stale + length done))%nat).
      { unfold A. rewrite !app_length, !there_length, words_length. lia. }
      assert (E5 : run_statement (Const Mask16 "rest" (Rest "from" "end")) s4 =
        Some (set "rest" (Register (lowest (length todo))) s4)).
      { cbn [run_statement]. unfold declare. cbn [eval]. rewrite Dist. cbn [bind]. rewrite <- L.
        destruct (Z.leb_spec 0 (Z.of_nat (length todo))), (Z.ltb_spec (Z.of_nat (length todo)) 32); try lia. reflexivity. }
      rewrite E5. cbn [bind]. clear E5. set (s5 := set "rest" _ s4).
      set (x := register_of 4 (todo ++ repeat 0 (16 - length todo))).
      assert (E6 : run_statement (Const Vector512 "last" (LoadVector "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0)) s5 =
        Some (set "last" (Register x) s5)).
      { cbn [run_statement]. unfold declare. rewrite (load_last_words s5 "rest" "from" (A ++ there junk) todo behind).
        - cbn [bind]. fold x. unfold x. rewrite words_length, app_length, repeat_length.
          replace (4 * (length todo + (16 - length todo)))%nat with 64%nat by lia. reflexivity.
        - change (env s5 "from") with (env s4 "from"). rewrite Fr, AL. reflexivity.
        - reflexivity.
        - change (memory s5) with (memory s4). rewrite M, <- !app_assoc. reflexivity.
        - exact Few. }
      rewrite E6. cbn [bind]. clear E6. set (s6 := set "last" _ s5).
      destruct (flags_stay (words (live done fdone) ++ there junk ++ words todo) fdone ftodo []) as (P & Q & PQ & PL).
      { rewrite !app_length, !there_length, !words_length, D, !app_length. lia. }
      { now rewrite app_nil_r. }
      set (r := ftodo ++ zeros (16 - length todo)).
      assert (Lr : length r = 16%nat) by (unfold r; rewrite app_length, zeros_length; lia).
      assert (Br : Forall is_byte r).
      { apply Forall_app. split; [rewrite FE, Forall_app in B; tauto|]. apply Forall_forall. intros b I.
        apply repeat_spec in I. subst b. unfold is_byte. lia. }
      assert (E7 : run_statement (Const Vector128 "last_flags" (LoadVector "_mm_maskz_loadu_epi8" [Var "rest"] "valid" 0)) s6 =
        Some (set "last_flags" (Register r) s6)).
      { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in. change (env s6 "valid") with (env s4 "valid").
        change (register_in s6 "rest") with (Some (lowest (length todo))). rewrite V.
        change (known "_mm_maskz_loadu_epi8" loads_known) with (Some (Masked 1 (16 * 1))). cbn [bind fst snd].
        replace (memory s6) with (P ++ there ftodo ++ Q).
        - replace (Z.of_nat (p + length done) + Z.of_nat 1 * Z.of_nat 0) with (Z.of_nat (length P)) by lia.
          rewrite (load_lowest P ftodo Q 1 (length todo)) by (auto; lia). cbn [bind]. rewrite Nat.mul_1_l. fold r. now rewrite Lr.
        - rewrite <- PQ. change (memory s6) with (memory s4). rewrite M. unfold A. now rewrite <- !app_assoc. }
      rewrite E7. cbn [bind]. clear E7. set (s7 := set "last_flags" _ s6). set (f := mask_test 1 r r).
      assert (Lm : length f = 2%nat) by now apply mask_length.
      assert (E8 : run_statement (Const Mask16 "last_live" (Call "_mm_test_epi8_mask" [Var "last_flags"; Var "last_flags"])) s7 =
        Some (set "last_live" (Register f) s7)).
      { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s7 "last_flags") with (Some r). cbn [bind].
        rewrite call_test by exact Lr. cbn [bind]. fold f. now rewrite Lm. }
      rewrite E8. cbn [bind]. clear E8. set (s8 := set "last_live" _ s7).
      destruct (last_packed_runs s8 "last_live" "last" f (map is_set ftodo) todo A (junk ++ register_of 4 todo) behind T eq_refl
        eq_refl eq_refl) as (s9 & junk9 & R & M9 & J9 & T9); auto.
      + now rewrite map_length.
      + unfold f. rewrite (test_bits 2) by (auto; lia). unfold r. rewrite map_app. f_equal. unfold zeros. now rewrite repeat_mapped.
      + change (memory s8) with (memory s4). rewrite M, there_app, <- !app_assoc. reflexivity.
      + rewrite app_length, words_length. lia.
      + cbn [run_statements] in R. match type of R with bind ?a _ = _ => destruct a as [s10|]; [|discriminate] end.
        cbn [bind] in R |- *. match type of R with bind ?a _ = _ => destruct a as [s11|]; [|discriminate] end.
        cbn [bind] in R |- *. injection R as ->. rewrite selected_is_live in * by exact FT. rewrite T9. exists junk9.
        rewrite M9, D, FE, live_app by exact FL.
        cbn [bind]. rewrite app_length, words_length in J9. unfold A. rewrite words_app, there_app, <- !app_assoc.
        split; [|rewrite !app_length in *; lia].
        rewrite !app_length, !there_length, !words_length. do 4 f_equal. lia.
  Qed.
End compress.

(** The program of the compression moves the XIDs whose flag is set down to `to`, in their order, and returns where they
    end; the flags stay as they are, before `to` or behind `end`, and nothing else there is touched. *)
Theorem compress_program_keeps_live : forall before stale data behind flags p,
  length flags = length data -> Forall is_byte flags -> flags_apart before behind stale data flags p ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk,
    run compress_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                          Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live data flags)), before ++ words (live data flags) ++ there junk ++ behind) /\
    (length junk + 4 * length (live data flags) = 4 * (length stale + length data))%nat.
Proof. intros before stale data behind flags p F B Apart. exact (compress_runs before behind stale data flags p F B Apart). Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The programs of which C is printed do what the kernels are for *)
From Coq Require Import ZArith Lia String List Bool.
From Pgquern.common Require Import Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Compare Permute Scalar Memory Facts Table Program
  ProgramFacts.
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

Lemma map2_length {A B C} (f : A -> B -> C) : forall l m, length (map2 f l m) = Nat.min (length l) (length m).
Proof. induction l as [|x l IH]; intros [|y m]; cbn [map2 length]; auto. now rewrite IH. Qed.

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
    { rewrite O5 by reflexivity. reflexivity. }
    { lia. }
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

  (** The program of the purge: of an array of any length it moves the XIDs that xmin does not precede down to `to`, in their
      order, and returns where they end.  It touches nothing before `to`, and nothing from `end` on. *)
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
      assert (E6 : run_statement (Const Vector512 "last" (Load "_mm512_maskz_loadu_epi32" [Var "rest"] "from" 0)) s5 =
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

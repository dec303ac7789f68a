(* SPDX-License-Identifier: PostgreSQL *)
(** * The AVX2 programs of which C is printed move whole registers, and leave fewer values than one holds *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Arithmetic Shift Masked Compare Permute Scalar Memory Facts Program ProgramFacts
  LaneFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Generated Packing GeneratedFacts.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** One register is packed where a pointer points *)

(* A mask of eight bits, as C has it: an unsigned number. *)
Definition mask_of (kept : list bool) : bytes := widened 4 (register_of_bits kept).

Lemma mask_is kept : length kept = 8%nat ->
  (number (mask_of kept) <? 256) = true /\ firstn 8 (bits (mask_of kept)) = kept /\ length (mask_of kept) = 4%nat /\
  number (population (mask_of kept)) = count kept /\ length (left_packing kept) = 32%nat.
Proof.
  intros L. destruct (eight kept L) as (a & b & c & d & e & f & g & h & ->).
  destruct a, b, c, d, e, f, g, h; repeat split; reflexivity.
Qed.

Lemma permuted kept l : length kept = 8%nat -> length l = 8%nat -> exists others,
  pick 4 (register_of 4 l) (left_packing kept) = register_of 4 (selected kept l) ++ others /\
  (4 * length (selected kept l) + length others = 32)%nat.
Proof.
  intros K L. set (p := map (bytes_of 4) l). assert (Lp : length p = 8%nat) by (unfold p; now rewrite map_length).
  assert (Fp : Forall (fun q => length q = 4%nat) p).
  { unfold p. apply Forall_map, List.Forall_forall. intros x _. apply bytes_of_length. }
  destruct (picked_begins kept p K Lp) as [B C].
  assert (E : pick 4 (register_of 4 l) (left_packing kept) = concat (picked kept p)).
  { unfold pick. cbv zeta. rewrite words_pieces. reflexivity. }
  assert (T : length (concat (picked kept p)) = 32%nat).
  { unfold bytes in *. rewrite (concat_length 4), C; [reflexivity|]. apply picked_lengths; [unfold bytes in *; lia|exact Fp]. }
  assert (S : concat (picked kept p) =
    register_of 4 (selected kept l) ++ concat (skipn (length (selected kept p)) (picked kept p))).
  { rewrite <- (firstn_skipn (length (selected kept p)) (picked kept p)) at 1. rewrite concat_app, B. f_equal.
    unfold p. rewrite <- selected_map. reflexivity. }
  exists (concat (skipn (length (selected kept p)) (picked kept p))). rewrite E. split; [exact S|].
  rewrite S, app_length, words_length in T. exact T.
Qed.

(* The values that a mask of eight bits has, of the register in [y], are stored, and the pointer moves past them. *)
Lemma packed_stores_8 s k y kept l : env s k = Some (Register (mask_of kept)) ->
  env s y = Some (Register (register_of 4 l)) -> length kept = 8%nat -> length l = 8%nat ->
  stores 8 [] (selected kept l) (packed_8 k y) s.
Proof.
  intros K Y Lk L A junk C T M J. destruct (mask_is kept Lk) as (M1 & M2 & M3 & M4 & M5).
  assert (Ps : passed 4 (mask_of kept) = Some (mask_of kept)) by (rewrite <- M3 at 1; apply passed_as_is).
  destruct (permuted kept l Lk L) as (others & P & Lo).
  rewrite <- (firstn_skipn 32 junk), there_app, <- app_assoc in M.
  assert (O : length (firstn 32 junk) = 32%nat) by (rewrite firstn_length; lia).
  assert (Cnt : count kept = Z.of_nat (length (selected kept l))) by (apply count_selected; congruence).
  assert (Lr : length (register_of 4 (selected kept l) ++ others) = 32%nat) by (rewrite app_length, words_length; lia).
  unfold packed_8. cbn [run_statements run_statement eval eval_all]. unfold address_in, register_in. rewrite T, K, Y.
  change (known "_mm256_storeu_si256" stores_known) with (Some (Whole 32)). cbn [bind fst snd].
  rewrite Ps. cbn [bind]. rewrite M1, M2. cbn [bind].
  rewrite call_permute by (rewrite ?words_length; lia). cbn [bind]. rewrite P.
  rewrite M, store_whole by auto. cbn [bind env memory]. rewrite T, K. cbn [bind fst snd].
  rewrite call_count by exact M3. cbn [bind]. rewrite M4, Cnt.
  eexists _, (others ++ skipn 32 junk). split; [reflexivity|]. cbn [memory set env]. split; [|split; [|split]].
  - rewrite !there_app, <- !app_assoc. reflexivity.
  - rewrite app_length, skipn_length. lia.
  - cbn [String.eqb Ascii.eqb Bool.eqb]. do 2 f_equal. rewrite app_length, there_length, words_length. lia.
  - intros z Z. cbn [existsb] in Z. apply orb_false_elim in Z as [Z _]. now rewrite Z.
Qed.

(** ** The purge *)

Lemma call_as_floats a : length a = 32%nat -> call "_mm256_castsi256_ps" [a] = Some a.
Proof. by_table. Qed.
Lemma call_signs_4 a : length a = 32%nat -> call "_mm256_movemask_ps" [a] = Some (signs_as_int 4 a).
Proof. by_table. Qed.

Section purge.
  Context (xmin : Z) (X : normal xmin).

  Definition at_hand_8 (s : state) : Prop := env s "bound" = Some (Register (spread 8 (bytes_of 4 xmin))).

  (* A register of XIDs: those that xmin does not precede go down to `to`. *)
  Lemma keep_stores_8 s x m l : at_hand_8 s -> Forall normal l -> env s x = Some (Register (register_of 4 l)) ->
    length l = 8%nat -> String.eqb "to" m = false -> String.eqb x m = false -> stores 8 [m] (kept xmin l) (keep_8 x m) s.
  Proof.
    intros Bound N XE L D1 D2 A junk C T M J. unfold keep_8. cbn [run_statements]. set (k := map (keeps xmin) l).
    assert (Lk : length k = 8%nat) by (unfold k; now rewrite map_length).
    assert (E : run_statement (Const Word m (Turned (Call "_mm256_movemask_ps"
        [Call "_mm256_castsi256_ps" [Call "_mm256_sub_epi32" [Var x; Var "bound"]]]))) s = Some (set m (Register (mask_of k)) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite XE, Bound. cbn [bind].
      assert (Ls : length (sub 4 (register_of 4 l) (spread 8 (bytes_of 4 xmin))) = 32%nat).
      { unfold sub, lanewise. rewrite words_length, spread_words, !valid_lanes
          by (auto using normal_is_valid, forall_repeat, (xmin_valid xmin X)).
        rewrite map2_repeat, map_length by exact L. lia. }
      rewrite call_sub_8 by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
      rewrite call_as_floats by exact Ls. cbn [bind]. rewrite call_signs_4 by exact Ls. cbn [bind].
      pose proof (avx2_kept_is_kept xmin l X N L) as K. fold k in K.
      change (map negb (firstn 8 (bits (signs_as_int 4 (sub 4 (register_of 4 l) (spread 8 (bytes_of 4 xmin))))))) with
        (avx2_kept xmin (register_of 4 l)). rewrite K.
      unfold signs_as_int. rewrite widened_length. cbn [Nat.eqb bind]. now rewrite widened_length. }
    rewrite E. cbn [bind].
    destruct (packed_stores_8 (set m (Register (mask_of k)) s) m x k l) with (A := A) (junk := junk) (C := C)
      as (s' & junk' & R & M' & J' & T' & O); auto.
    - apply env_set_same.
    - now rewrite env_set_other.
    - now rewrite env_set_other.
    - unfold k in *. rewrite selected_is_kept in *. rewrite R. exists s', junk'. repeat split; auto.
      intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y. destruct Y as (Y1 & Y2 & _).
      rewrite O by (cbn [existsb]; now rewrite Y1). now apply env_set_other.
  Qed.

  Context (before behind : cells) (stale data : list Z) (N : Forall normal data).
  Let left_over := left before behind stale data 8 (kept xmin) (fun _ => at_hand_8).

  Lemma purge_step_8 xs : NoDup xs -> incl xs ["a"; "b"; "c"; "d"; "x"] -> forall d s, left_over d s ->
    (length xs * 8 <= d)%nat -> exists s1 s2,
    run_statements (reads 8 Vector256 "_mm256_loadu_si256" 0 xs ++ concat (map (fun x => keep_8 x (append "in_" x)) xs)) s =
      Some s1 /\
    move (length xs * 8) ["from"] s1 = Some s2 /\ left_over (d - length xs * 8) s2.
  Proof.
    refine (registers_step before behind stale data 8 (kept xmin) (fun _ => at_hand_8) (filter_length_le (keeps xmin)) [] _
      Vector256 "_mm256_loadu_si256" eq_refl eq_refl (kept_app xmin) normal N ["a"; "b"; "c"; "d"; "x"]
      (fun x => [append "in_" x]) ["bound"] (fun x => keep_8 x (append "in_" x)) eq_refl eq_refl _ _ xs).
    - intros n k v s H. exists (set "from" v s). repeat split; apply H.
    - intros n s s' H S. unfold at_hand_8 in *. rewrite S by (cbn [In]; auto). exact H.
    - intros n s x l I H V L E. apply keep_stores_8; auto; cbn [In] in I; repeat (destruct I as [<-|I]; [reflexivity|]); destruct I.
  Qed.

  Lemma step_of_one_8 d s : left_over d s -> (8 <= d)%nat ->
    exists s1 s2, run_statements (loaded_8 "x" 0 :: keep_8 "x" "in_x") s = Some s1 /\
      move 8 ["from"] s1 = Some s2 /\ left_over (d - 8) s2.
  Proof. apply (purge_step_8 ["x"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

  Lemma step_of_four_8 d s : left_over d s -> (32 <= d)%nat ->
    exists s1 s2, run_statements ([loaded_8 "a" 0; loaded_8 "b" 8; loaded_8 "c" 16; loaded_8 "d" 24] ++
        keep_8 "a" "in_a" ++ keep_8 "b" "in_b" ++ keep_8 "c" "in_c" ++ keep_8 "d" "in_d") s = Some s1 /\
      move 32 ["from"] s1 = Some s2 /\ left_over (d - 32) s2.
  Proof. apply (purge_step_8 ["a"; "b"; "c"; "d"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

  Lemma purge_avx2_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk done todo,
      data = done ++ todo /\ length done = (length data / 8 * 8)%nat /\
      run purge_avx2_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                              Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (kept xmin done)),
              before ++ words (kept xmin done) ++ there junk ++ words todo ++ behind) /\
      (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters purge_avx2_program fits Nat.eqb width_of]. rewrite bytes_of_length.
    cbn [Nat.eqb bind body purge_avx2_program run_steps outcome_of].
    set (s0 := set "xmin" _ _).
    assert (E0 : run_statement (Const Vector256 "bound" (Call "_mm256_set1_epi32" [Var "xmin"])) s0 =
      Some (set "bound" (Register (spread 8 (bytes_of 4 xmin))) s0)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s0 "xmin") with (Some (bytes_of 4 xmin)).
      cbn [bind]. rewrite call_set1_8 by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    rewrite E0. cbn [bind]. clear E0. set (s1 := set "bound" _ s0).
    assert (L1 : left_over (length data) s1) by (apply left_at_first; reflexivity).
    destruct (whole_registers_run before behind stale data 8 (kept xmin) (fun _ => at_hand_8) [] 32 _ _ s1 ltac:(lia)
      ltac:(lia) step_of_four_8 step_of_one_8 L1) as (s3 & done & todo & E3 & D & K & junk & M & J & T).
    cbn [run_steps] in E3. rewrite E3. cbn [bind]. rewrite T. cbn [bind]. exists junk, done, todo.
    split; [exact D|]. split; [exact K|]. split; [|exact J].
    rewrite M, <- !app_assoc. rewrite app_length, there_length, words_length. reflexivity.
  Qed.
End purge.

(** The program of the AVX2 purge, run on an array of any length, moves the XIDs that xmin does not precede down to `to`, in
    their order, as far as they fill registers of eight, and returns where they end; the XIDs that are left, fewer than eight,
    stay as they are, and nothing before `to` or from `end` on is touched. *)
Theorem purge_avx2_program_is_filter : forall xmin before stale data behind, normal xmin -> Forall normal data ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk done todo,
    data = done ++ todo /\ length done = (length data / 8 * 8)%nat /\
    run purge_avx2_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                            Register (bytes_of 4 xmin)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin done)), before ++ words (kept xmin done) ++ there junk ++ words todo ++ behind) /\
    (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat.
Proof. intros xmin before stale data behind X N. exact (purge_avx2_runs xmin X before behind stale data N). Qed.

(** ** The compression of KnownAssignedXids *)

(** A bool of C. *)
Definition is_flag (v : Z) : Prop := v = 0 \/ v = 1.

Lemma flags_to_mask f : length f = 8%nat -> Forall is_flag f ->
  signs_as_int 1 (shift_left 2 7 (widened 16 f)) = mask_of (map is_set f).
Proof.
  intros L F. destruct (eight f L) as (a & b & c & d & e & g & h & i & ->). rewrite !Forall_cons_iff in F.
  destruct F as (A & B & C & D & E & G & H & I & _).
  destruct A as [-> | ->], B as [-> | ->], C as [-> | ->], D as [-> | ->], E as [-> | ->], G as [-> | ->], H as [-> | ->],
    I as [-> | ->]; reflexivity.
Qed.

Lemma shift_7_length f : length f = 8%nat -> length (shift_left 2 7 (widened 16 f)) = 16%nat.
Proof. intros L. destruct (eight f L) as (a & b & c & d & e & g & h & i & ->). reflexivity. Qed.

Section compress.
  Context (before behind : cells) (stale data flags : list Z) (p : nat).
  Context (F : length flags = length data) (B : Forall is_flag flags).
  Context (Apart : flags_apart before behind stale data flags p).

  Let left_live := left before behind stale data 8 (lives flags) (at_flag p).

  Lemma step_of_live_8 d s : left_live d s -> (8 <= d)%nat ->
    exists s1 s2, run_statements live_8 s = Some s1 /\ move 8 ["from"; "valid"] s1 = Some s2 /\ left_live (d - 8) s2.
  Proof.
    apply (step_of_live before behind stale data flags p F Apart is_flag 8 Vector256 "_mm256_loadu_si256" ["flags"; "live"]); auto.
    clear d s. intros s l fl P Q Ll Lf Bf X V M A junk C T MA J. cbn [app run_statements].
    assert (E2 : run_statement (Const Vector128 "flags" (LoadVector "_mm_loadl_epi64" [] "valid" 0)) s =
      Some (set "flags" (Register (widened 16 fl)) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in.
      rewrite V. change (known "_mm_loadl_epi64" loads_known) with (Some (Lower 8 16)). cbn [bind fst snd]. rewrite M.
      replace (Z.of_nat (length P) + Z.of_nat 1 * Z.of_nat 0) with (Z.of_nat (length P)) by lia.
      rewrite load_lower by exact Lf. cbn [bind]. now rewrite widened_length. }
    rewrite E2. cbn [bind]. clear E2. set (s2 := set "flags" _ s). set (kept := map is_set fl).
    assert (Lk : length kept = 8%nat) by (unfold kept; now rewrite map_length).
    assert (E3 : run_statement (Const Word "live"
        (Call "_mm_movemask_epi8" [Call "_mm_slli_epi16 7" [Var "flags"]])) s2 =
      Some (set "live" (Register (mask_of kept)) s2)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s2 "flags") with (Some (widened 16 fl)). cbn [bind].
      rewrite call_shift_7 by apply widened_length. cbn [bind].
      rewrite call_signs by now apply shift_7_length. cbn [bind].
      rewrite flags_to_mask by auto. fold kept. destruct (mask_is kept Lk) as (_ & _ & M3 & _ & _). now rewrite M3. }
    rewrite E3. cbn [bind]. clear E3. set (s3 := set "live" _ s2).
    destruct (packed_stores_8 s3 "live" "x" kept l eq_refl X Lk Ll A junk C T MA J) as (s' & junk' & R & M' & J' & T' & O).
    assert (S : selected kept l = live l fl) by (apply selected_is_live; lia).
    rewrite S in *. exists s', junk'. repeat split; auto. intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y.
    rewrite O by (cbn [existsb]; now rewrite (proj1 Y)). unfold s3, s2. now rewrite !env_set_other by tauto.
  Qed.

  Lemma compress_avx2_runs :
    let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
    exists junk done todo fdone ftodo,
      data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\
      length done = (length data / 8 * 8)%nat /\
      run compress_avx2_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                                 Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
        Some (place (length (live done fdone)),
              before ++ words (live done fdone) ++ there junk ++ words todo ++ behind) /\
      (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat.
  Proof.
    intros place. unfold run, place. cbn [given parameters compress_avx2_program fits Nat.eqb width_of].
    cbn [Nat.eqb bind body compress_avx2_program run_steps outcome_of]. set (s0 := set "valid" _ _).
    assert (L0 : left_live (length data) s0).
    { apply left_at_first; try reflexivity. unfold at_flag. cbn. do 3 f_equal. lia. }
    rewrite (left_distance _ _ _ _ _ _ _ _ _ L0). cbn [bind]. destruct (Z.ltb_spec (Z.of_nat (length data)) 0); [lia|].
    destruct (rounds_end "from" 8 ["valid"] _ left_live ltac:(lia) step_of_live_8 (length data) s0 L0)
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. destruct L4 as (done & todo & k & D & L & K8 & (junk & M & J & T) & _).
    destruct (flags_split data flags F done 0 todo D ltac:(lia)) as (fdone & fl & ftodo & FE & FL & Fn & Ld & _).
    destruct fl; [|discriminate]. rewrite Ld in *.
    exists junk, done, todo, fdone, ftodo. split; [exact D|]. split; [exact FE|]. split; [exact FL|]. split; [|split; [|exact J]].
    - rewrite D, app_length, K8, L, (Nat.add_comm (k * 8)), Nat.div_add, Nat.div_small by lia. reflexivity.
    - rewrite T. cbn [bind]. rewrite M, <- !app_assoc. rewrite app_length, there_length, words_length. reflexivity.
  Qed.
End compress.

(** The program of the AVX2 compression moves the XIDs whose flag is set down to `to`, as far as they fill registers of eight,
    and returns where they end; the XIDs that are left, fewer than eight, and all flags stay as they are. *)
Theorem compress_avx2_program_keeps_live : forall before stale data behind flags p,
  length flags = length data -> Forall is_flag flags -> flags_apart before behind stale data flags p ->
  let place n := Address 4 (Z.of_nat (length before + 4 * n)) in
  exists junk done todo fdone ftodo,
    data = done ++ todo /\ flags = fdone ++ ftodo /\ length fdone = length done /\
    length done = (length data / 8 * 8)%nat /\
    run compress_avx2_program [place 0%nat; place (length stale); place (length stale + length data)%nat;
                               Address 1 (Z.of_nat p)] (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live done fdone)),
            before ++ words (live done fdone) ++ there junk ++ words todo ++ behind) /\
    (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat.
Proof.
  intros before stale data behind flags p F B Apart. exact (compress_avx2_runs before behind stale data flags p F B Apart).
Qed.

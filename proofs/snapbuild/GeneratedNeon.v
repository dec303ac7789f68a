(* SPDX-License-Identifier: PostgreSQL *)
(** * The NEON programs of which C is printed move whole registers, and leave fewer values than one holds *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Compare Masked Permute Scalar Memory Neon Facts
  Program ProgramFacts LaneFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Generated Packing GeneratedFacts.
From Pgquern.snapbuild Require GeneratedAvx2.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** The intrinsics that the programs call *)

Lemma call_as_signed a : length a = 16%nat -> call "vreinterpretq_s32_u32" [a] = Some a.
Proof. by_table. Qed.
Lemma call_not_negative a : length a = 16%nat -> call "vcgezq_s32" [a] = Some (compare_zero 4 Z.geb a).
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
Lemma packed_stores_4 s x sum m kept l : env s sum = Some (Register (sum_of kept)) ->
  env s x = Some (Register (register_of 4 l)) -> String.eqb "to" m = false -> length kept = 4%nat -> length l = 4%nat ->
  stores 4 [m] (selected kept l) (packed_4 x sum m) s.
Proof.
  intros S X N Lk L A junk C T M J. destruct (sum_is kept Lk) as (B1 & B2 & B3 & B4).
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
  eexists _, (zeros (4 * (4 - length (selected kept l))) ++ skipn 16 junk). split; [reflexivity|]. cbn [memory set env].
  split; [|split; [|split]].
  - rewrite !there_app, <- !app_assoc. reflexivity.
  - rewrite app_length, skipn_length, zeros_length. lia.
  - cbn [String.eqb Ascii.eqb Bool.eqb]. do 2 f_equal. rewrite app_length, there_length, words_length. lia.
  - intros z Z. cbn [existsb] in Z. rewrite !orb_false_iff in Z. destruct Z as (Z1 & Z2 & _). now rewrite Z1, Z2.
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
  Lemma keep_stores_4 s x sum m l : at_hand_4 s -> Forall normal l -> env s x = Some (Register (register_of 4 l)) ->
    length l = 4%nat -> String.eqb "to" sum = false -> String.eqb x sum = false -> String.eqb "to" m = false ->
    stores 4 [sum; m] (kept xmin l) (keep_4 x sum m) s.
  Proof.
    intros [Bound Weights] N XE L D1 D2 D3 A junk C T M J. unfold keep_4. cbn [run_statements]. set (k := map (keeps xmin) l).
    assert (Lk : length k = 4%nat) by (unfold k; now rewrite map_length).
    assert (E : run_statement (Const Word sum (Call "vaddvq_u32"
        [Call "vandq_u32"
          [Call "vcgezq_s32" [Call "vreinterpretq_s32_u32" [Call "vsubq_u32" [Var x; Var "bound"]]]; Var "weights"]])) s =
      Some (set sum (Register (sum_of k)) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite XE, Bound, Weights. cbn [bind].
      assert (Ls : length (sub 4 (register_of 4 l) (spread 4 (bytes_of 4 xmin))) = 16%nat).
      { unfold sub, lanewise. rewrite words_length, spread_words, !valid_lanes
          by (auto using normal_is_valid, forall_repeat, (xmin_valid xmin X)).
        rewrite map2_repeat, map_length by exact L. lia. }
      rewrite call_sub_neon by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
      rewrite call_as_signed by exact Ls. cbn [bind]. rewrite call_not_negative by exact Ls. cbn [bind].
      rewrite not_negative by auto. fold k. unfold as_lanes.
      rewrite call_and_neon by (rewrite words_length, ?map_length; unfold weights; cbn [length]; lia). cbn [bind].
      fold (as_lanes 4 k). rewrite call_sum. { cbn [bind]. reflexivity. }
      rewrite and_chooses by (rewrite Lk; reflexivity). rewrite words_length, map2_length, Lk. reflexivity. }
    rewrite E. cbn [bind].
    destruct (packed_stores_4 (set sum (Register (sum_of k)) s) x sum m k l) with (A := A) (junk := junk) (C := C)
      as (s' & junk' & R & M' & J' & T' & O); auto.
    - apply env_set_same.
    - now rewrite env_set_other.
    - now rewrite env_set_other.
    - unfold k in *. rewrite selected_is_kept in *. rewrite R. exists s', junk'. repeat split; auto.
      intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y. destruct Y as (Y1 & Y2 & Y3 & _).
      rewrite O by (cbn [existsb]; now rewrite Y1, Y3). now apply env_set_other.
  Qed.

  Context (before behind : cells) (stale data : list Z) (N : Forall normal data).
  Let left_over := left before behind stale data 4 (kept xmin) (fun _ => at_hand_4).

  Lemma purge_step_4 xs : NoDup xs -> incl xs ["a"; "b"; "c"; "d"; "x"] -> forall d s, left_over d s ->
    (length xs * 4 <= d)%nat -> exists s1 s2,
    run_statements (reads 4 Neon128 "vld1q_u32" 0 xs ++
      concat (map (fun x => keep_4 x (append "sum_" x) (append "in_" x)) xs)) s = Some s1 /\
    move (length xs * 4) ["from"] s1 = Some s2 /\ left_over (d - length xs * 4) s2.
  Proof.
    refine (registers_step before behind stale data 4 (kept xmin) (fun _ => at_hand_4) (filter_length_le (keeps xmin)) [] _
      Neon128 "vld1q_u32" eq_refl eq_refl (kept_app xmin) normal N ["a"; "b"; "c"; "d"; "x"]
      (fun x => [append "sum_" x; append "in_" x]) ["bound"; "weights"] (fun x => keep_4 x (append "sum_" x) (append "in_" x))
      eq_refl eq_refl _ _ xs).
    - intros n k v s H. exists (set "from" v s). repeat split; apply H.
    - intros n s s' [H1 H2] S. split; rewrite S by (cbn [In]; auto); auto.
    - intros n s x l I H V L E. apply keep_stores_4; auto; cbn [In] in I; repeat (destruct I as [<-|I]; [reflexivity|]); destruct I.
  Qed.

  Lemma step_of_one_4 d s : left_over d s -> (4 <= d)%nat ->
    exists s1 s2, run_statements (loaded_4 "x" 0 :: keep_4 "x" "sum_x" "in_x") s = Some s1 /\
      move 4 ["from"] s1 = Some s2 /\ left_over (d - 4) s2.
  Proof. apply (purge_step_4 ["x"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

  Lemma step_of_four_4 d s : left_over d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements ([loaded_4 "a" 0; loaded_4 "b" 4; loaded_4 "c" 8; loaded_4 "d" 12] ++
        keep_4 "a" "sum_a" "in_a" ++ keep_4 "b" "sum_b" "in_b" ++ keep_4 "c" "sum_c" "in_c" ++ keep_4 "d" "sum_d" "in_d") s =
        Some s1 /\
      move 16 ["from"] s1 = Some s2 /\ left_over (d - 16) s2.
  Proof. apply (purge_step_4 ["a"; "b"; "c"; "d"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

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
      cbn [bind]. rewrite call_dup_neon by apply bytes_of_length. cbn [bind].
      now rewrite spread_words, words_length, repeat_length. }
    rewrite E0. cbn [bind]. clear E0. set (s1 := set "bound" _ s0).
    assert (E1 : run_statement (Const Neon128 "weights" (Four weights)) s1 =
      Some (set "weights" (Register (register_of 4 weights)) s1)) by reflexivity.
    rewrite E1. cbn [bind]. clear E1. set (s2 := set "weights" _ s1).
    assert (L2 : left_over (length data) s2) by (apply left_at_first; reflexivity || (split; reflexivity)).
    destruct (whole_registers_run before behind stale data 4 (kept xmin) (fun _ => at_hand_4) [] 16 _ _ s2 ltac:(lia)
      ltac:(lia) step_of_four_4 step_of_one_4 L2) as (s3 & done & todo & E3 & D & K & junk & M & J & T).
    cbn [run_steps] in E3. rewrite E3. cbn [bind]. rewrite T. cbn [bind]. exists junk, done, todo.
    split; [exact D|]. split; [exact K|]. split; [|exact J].
    rewrite M, <- !app_assoc. rewrite app_length, there_length, words_length. reflexivity.
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

  Let left_live := left before behind stale data 4 (lives flags) (at_flag p).

  Lemma step_of_live_4 d s : left_live d s -> (4 <= d)%nat ->
    exists s1 s2, run_statements live_4 s = Some s1 /\ move 4 ["from"; "valid"] s1 = Some s2 /\ left_live (d - 4) s2.
  Proof.
    apply (step_of_live before behind stale data flags p F Apart GeneratedAvx2.is_flag 4 Neon128 "vld1q_u32"
      ["flags"; "moved"; "sum"; "live"]); auto.
    clear d s. intros s l fl P Q Ll Lf Bf X V M A junk C T MA J. cbn [app run_statements].
    assert (E2 : run_statement (Const Word "flags" (WordAt "valid")) s = Some (set "flags" (Register fl) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in. rewrite V. cbn [bind fst snd]. rewrite M.
      pose proof (load_whole P fl Q 4 Lf) as W. cbn [load_from] in W.
      destruct (cells_at (P ++ there fl ++ Q) (Z.of_nat (length P)) 4); cbn [bind] in *; [|discriminate].
      rewrite W. cbn [bind]. now rewrite Lf. }
    rewrite E2. cbn [bind]. clear E2. set (s2 := set "flags" _ s). set (kept := map is_set fl).
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
    destruct (packed_stores_4 s4 "x" "sum" "live" kept l eq_refl X eq_refl Lk Ll A junk C T MA J)
      as (s' & junk' & R & M' & J' & T' & O).
    assert (S : selected kept l = live l fl) by (apply selected_is_live; lia).
    rewrite S in *. exists s', junk'. repeat split; auto. intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y.
    destruct Y as (Y1 & Y2 & Y3 & Y4 & Y5 & _). rewrite O by (cbn [existsb]; now rewrite Y1, Y5).
    unfold s4, s3, s2. now rewrite !env_set_other.
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
    assert (L0 : left_live (length data) s0).
    { apply left_at_first; try reflexivity. unfold at_flag. cbn. do 3 f_equal. lia. }
    rewrite (left_distance _ _ _ _ _ _ _ _ _ L0). cbn [bind]. destruct (Z.ltb_spec (Z.of_nat (length data)) 0); [lia|].
    destruct (rounds_end "from" 4 ["valid"] _ left_live ltac:(lia) step_of_live_4 (length data) s0 L0)
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. destruct L4 as (done & todo & k & D & L & K4 & (junk & M & J & T) & _).
    destruct (flags_split data flags F done 0 todo D ltac:(lia)) as (fdone & fl & ftodo & FE & FL & Fn & Ld & _).
    destruct fl; [|discriminate]. rewrite Ld in *.
    assert (K : (length data / 4 = k)%nat).
    { rewrite D, app_length, K4, L, (Nat.add_comm (k * 4)), Nat.div_add, Nat.div_small by lia. reflexivity. }
    exists junk, done, todo, fdone, ftodo. split; [exact D|]. split; [exact FE|]. split; [exact FL|].
    rewrite K. split; [exact K4|]. split; [|exact J].
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

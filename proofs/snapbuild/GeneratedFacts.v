(* SPDX-License-Identifier: PostgreSQL *)
(** * The programs of which C is printed do what the kernels are for *)
From Coq Require Import String.
From Pgquern.common Require Import Integers ListFacts Xid.
From Pgquern.instructions Require Import Lanes Logic Arithmetic Masked Compare Permute Scalar Memory Facts Program
  ProgramFacts LaneFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Generated Packing.
Local Open Scope string_scope.
Local Open Scope list_scope.
Local Open Scope Z_scope.

(** ** One register is packed where a pointer points *)

Lemma bits_of_mask f : length f = 2%nat -> length (bits f) = 16%nat.
Proof. intros F. destruct f as [|? [|? [|]]]; try discriminate. reflexivity. Qed.

(* The lanes that a mask of sixteen bits has, of the register in [y], are stored, and the pointer moves past them. *)
Lemma packed_stores s k y f l : env s k = Some (Register f) -> env s y = Some (Register (register_of 4 l)) ->
  length f = 2%nat -> length l = 16%nat -> stores 16 [] (selected (bits f) l)
    [Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var k; Var y]); Advance "to" (Var k)] s.
Proof.
  intros K Y F L A junk C T M J.
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
  - intros z Z. cbn [existsb] in Z. apply orb_false_elim in Z as [Z _]. now rewrite Z.
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
  Lemma keep_stores s x mask l : at_hand s -> Forall normal l -> env s x = Some (Register (register_of 4 l)) ->
    length l = 16%nat -> String.eqb "to" mask = false -> String.eqb x mask = false ->
    stores 16 [mask] (kept xmin l) (keep x mask) s.
  Proof.
    intros [Bound Half] N XE L D2 D3 A junk C T M J. unfold keep. cbn [run_statements].
    set (f := mask_compare 4 Z.ltb (sub 4 (register_of 4 l) (spread 16 (bytes_of 4 xmin))) (spread 16 (bytes_of 4 HALF))).
    assert (B : bits f = map (keeps xmin) l).
    { rewrite <- kept_by_differences by auto. apply (below_half 2); auto using normal_is_valid, xmin_valid. }
    assert (F : length f = 2%nat).
    { unfold f, mask_compare, register_of_bits. rewrite map_length. apply (pieces_count 8 2); [lia|].
      unfold compared. rewrite differences, spread_words, valid_lanes by
        (auto using normal_is_valid, xmin_valid; apply forall_repeat; unfold valid, HALF, RING; lia).
      rewrite map2_repeat by now rewrite map_length. now rewrite !map_length. }
    assert (E : run_statement (Const Mask16 mask (Call "_mm512_cmplt_epu32_mask"
        [Call "_mm512_sub_epi32" [Var x; Var "bound"]; Var "half"])) s = Some (set mask (Register f) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold register_in. rewrite XE, Bound, Half. cbn [bind].
      rewrite call_sub by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
      rewrite call_cmplt; [|unfold sub, lanewise; rewrite words_length|rewrite spread_words, words_length, repeat_length; lia].
      - cbn [bind]. fold f. now rewrite F.
      - rewrite spread_words, !valid_lanes by (auto using normal_is_valid, forall_repeat, xmin_valid).
        rewrite map2_repeat, map_length by exact L. lia. }
    rewrite E. cbn [bind].
    destruct (packed_stores (set mask (Register f) s) mask x f l) with (A := A) (junk := junk) (C := C)
      as (s' & junk' & R & M' & J' & T' & O); auto.
    - apply env_set_same.
    - now rewrite env_set_other.
    - now rewrite env_set_other.
    - rewrite B, selected_is_kept in *. cbn [run_statements] in R. rewrite R. exists s', junk'. repeat split; auto.
      intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y. rewrite O by (cbn [existsb]; now rewrite (proj1 Y)).
      now apply env_set_other.
  Qed.

  Context (before behind : cells) (stale data : list Z) (N : Forall normal data).
  Let left_over := left before behind stale data 16 (kept xmin) (fun _ => at_hand).

  Lemma purge_step xs : NoDup xs -> incl xs ["a"; "b"; "c"; "d"; "x"] -> forall d s, left_over d s ->
    (length xs * 16 <= d)%nat -> exists s1 s2,
    run_statements (reads 16 Vector512 "_mm512_loadu_si512" 0 xs ++ concat (map (fun x => keep x (append "in_" x)) xs)) s = Some s1 /\
    move (length xs * 16) ["from"] s1 = Some s2 /\ left_over (d - length xs * 16) s2.
  Proof.
    refine (registers_step before behind stale data 16 (kept xmin) (fun _ => at_hand) (filter_length_le (keeps xmin)) [] _
      Vector512 "_mm512_loadu_si512" eq_refl eq_refl (kept_app xmin) normal N ["a"; "b"; "c"; "d"; "x"] (fun x => [append "in_" x])
      ["bound"; "half"] (fun x => keep x (append "in_" x)) eq_refl eq_refl _ _ xs).
    - intros n k v s H. exists (set "from" v s). repeat split; apply H.
    - intros n s s' [H1 H2] S. split; rewrite S by (cbn [In]; auto); auto.
    - intros n s x l I H V L E. apply keep_stores; auto; cbn [In] in I; repeat (destruct I as [<-|I]; [reflexivity|]); destruct I.
  Qed.

  Lemma step_of_one d s : left_over d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements (loaded "x" 0 :: keep "x" "in_x") s = Some s1 /\ move 16 ["from"] s1 = Some s2 /\
      left_over (d - 16) s2.
  Proof. apply (purge_step ["x"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

  Lemma step_of_four d s : left_over d s -> (64 <= d)%nat ->
    exists s1 s2, run_statements ([loaded "a" 0; loaded "b" 16; loaded "c" 32; loaded "d" 48] ++
        keep "a" "in_a" ++ keep "b" "in_b" ++ keep "c" "in_c" ++ keep "d" "in_d") s = Some s1 /\
      move 64 ["from"] s1 = Some s2 /\ left_over (d - 64) s2.
  Proof. apply (purge_step ["a"; "b"; "c"; "d"]); [repeat constructor; cbn; intuition easy|intros y Y; cbn in *; tauto]. Qed.

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
    assert (L2 : left_over (length data) s2) by (apply left_at_first; reflexivity || (split; reflexivity)).
    pose proof (left_distance before behind stale data 16 (kept xmin) (fun _ => at_hand)) as left_over_distance.
    rewrite (left_over_distance _ _ L2). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 64 [] _ left_over ltac:(lia) left_over_distance step_of_four (length data) _ s2 L2
      (le_n _)) as (s3 & d3 & E3 & L3 & _ & _).
    rewrite E3. cbn [bind]. rewrite (left_over_distance _ _ L3). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 [] _ left_over ltac:(lia) left_over_distance step_of_one d3 _ s3 L3 (le_n _))
      as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. rewrite (left_over_distance _ _ L4). cbn [bind].
    pose proof (left_over_distance _ _ L4) as Dist.
    destruct L4 as (done & todo & k & D & L & _ & (junk & M & J & T) & F & E & H1 & H2).
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
        { apply Forall_app. split; [now apply normal_is_valid|]. apply forall_repeat. unfold valid, RING. lia. }
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
        { apply Forall_app. split; [now apply normal_is_valid|]. apply forall_repeat. unfold valid, RING. lia. }
        unfold x. rewrite call_sub by (rewrite ?words_length, ?spread_words, ?words_length, ?repeat_length; lia). cbn [bind].
        rewrite call_mask_cmplt; [|reflexivity| |rewrite spread_words, words_length, repeat_length; lia].
        - cbn [bind]. fold x. change (under_mask (lowest (length todo)) (mask_compare 4 Z.ltb
            (sub 4 x (spread 16 (bytes_of 4 xmin))) (spread 16 (bytes_of 4 HALF)))) with f. now rewrite Fl.
        - unfold sub, lanewise. rewrite words_length, spread_words, !valid_lanes by (auto using forall_repeat, xmin_valid).
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
  Context (F : length flags = length data).

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

  (* The live ones of the first XIDs; where their flags end. *)
  Definition lives (done : list Z) : list Z := live done (firstn (length done) flags).
  Definition at_flag (n : nat) (s : state) : Prop := env s "valid" = Some (Address 1 (Z.of_nat (p + n))).

  Lemma lives_fewer l : (length (lives l) <= length l)%nat.
  Proof.
    unfold lives. generalize (firstn (length l) flags). induction l as [|x l IH]; intros [|v f]; cbn [live length]; try lia.
    specialize (IH f). destruct (v =? 0); cbn [length]; lia.
  Qed.

  Lemma at_flag_moves n k v s : at_flag k s -> exists s', move n ["valid"] (set "from" v s) = Some s' /\ at_flag (k + n) s' /\
    memory s' = memory s /\ env s' "from" = Some v /\ env s' "to" = env s "to" /\ env s' "end" = env s "end".
  Proof.
    intros V. cbn [move]. unfold address_in. rewrite env_set_other by reflexivity. rewrite V. cbn [bind fst snd].
    eexists. split; [reflexivity|]. repeat split. unfold at_flag. rewrite env_set_same. do 2 f_equal. lia.
  Qed.

  Lemma flags_split done n todo : data = done ++ todo -> (n <= length todo)%nat -> exists fdone fl frest,
    flags = fdone ++ fl ++ frest /\ length fdone = length done /\ length fl = n /\ lives done = live done fdone /\
    forall l, length l = n -> lives (done ++ l) = live done fdone ++ live l fl.
  Proof.
    intros D N. assert (Fi : forall a b : list Z, firstn (length a) (a ++ b) = a).
    { intros a b. rewrite firstn_app, Nat.sub_diag, firstn_all. apply app_nil_r. }
    assert (L : length flags = (length done + length todo)%nat) by now rewrite F, D, app_length.
    destruct (split_at flags (length done)) as (fdone & ft & E & L1); [lia|]. rewrite E, app_length in L.
    destruct (split_at ft n) as (fl & frest & -> & L2); [lia|]. exists fdone, fl, frest. repeat split; auto; unfold lives.
    - now rewrite <- L1, E, Fi.
    - intros l Ll. rewrite app_length, <- L1, Ll, <- L2, E, app_assoc, <- app_length, Fi. apply live_app. lia.
  Qed.

  (* A round on any instruction set: a register is loaded, and [statements] look at the flags and store what is live. *)
  Lemma step_of_live good lanes t f own statements : Forall good flags -> known f loads_known = Some (Whole (4 * lanes)) ->
    size t = (4 * lanes)%nat ->
    forallb (fun y => negb (existsb (String.eqb y) ("to" :: own))) ["from"; "end"; "valid"] = true ->
    (forall s l fl A C, length l = lanes -> length fl = lanes -> Forall good fl -> env s "x" = Some (Register (register_of 4 l)) ->
      env s "valid" = Some (Address 1 (Z.of_nat (length A))) -> memory s = A ++ there fl ++ C ->
      stores lanes own (live l fl) statements s) ->
    let left_live := left before behind stale data lanes lives at_flag in
    forall d s, left_live d s -> (lanes <= d)%nat -> exists s1 s2,
      run_statements (Const t "x" (LoadVector f [] "from" 0) :: statements) s = Some s1 /\
      move lanes ["from"; "valid"] s1 = Some s2 /\ left_live (d - lanes)%nat s2.
  Proof.
    intros Good Known Size Own Keeps left_live.
    pose proof (left_steps before behind stale data lanes lives at_flag ["valid"] at_flag_moves 1) as Step.
    rewrite Nat.mul_1_l in Step. apply Step. clear Step. intros done l rest s D L P Q.
    destruct (flags_split done lanes (l ++ rest) D) as (fdone & fl & frest & Ef & L1 & L2 & Ld & App); [rewrite app_length; lia|].
    cbn [run_statements]. rewrite (loads before behind stale data lanes lives at_flag t f Known Size done [] l rest s s "x" 0) by auto.
    cbn [bind]. set (s1 := set "x" _ s). destruct Q as (Fr & En & V).
    assert (S : stores lanes own (live l fl) statements s1).
    { destruct P as (junk & M & J & _).
      destruct (flags_stay (words (lives done) ++ there junk ++ words (l ++ rest)) fdone fl frest) as (A & C & E & LA); auto.
      { rewrite !app_length, !there_length, !words_length, D, !app_length. lia. }
      apply (Keeps s1 l fl A C); auto.
      - rewrite Ef, !Forall_app in Good. tauto.
      - change (env s1 "valid") with (env s "valid"). rewrite V, LA, L1. reflexivity.
      - rewrite <- E. change (memory s1) with (memory s). rewrite M. now rewrite <- !app_assoc. }
    assert (P1 : packed before behind stale lives (length done + lanes) done rest s1).
    { rewrite <- L. destruct (read _ _ _ _ _ _ _ _ _ P) as (junk & H). exists junk. exact H. }
    destruct (stored before behind stale lanes lives lives_fewer own _ _ _ done l rest s1 S P1) as (s' & R & P' & O); auto.
    { rewrite Ld. now apply App. }
    cbn [forallb] in Own. rewrite !andb_true_iff, !negb_true_iff in Own. destruct Own as (O1 & O2 & O3 & _).
    exists s'. rewrite !O by assumption. repeat split; auto. unfold at_flag. rewrite O by assumption. exact V.
  Qed.

  (** *** AVX-512 *)

  Context (B : Forall is_byte flags).

  Lemma mask_length r : length r = 16%nat -> Forall is_byte r -> length (mask_test 1 r r) = 2%nat.
  Proof.
    intros L Br. pose proof (test_bits 2 r Br L) as T. apply (f_equal (@length bool)) in T. rewrite map_length, L in T.
    unfold bits in T. rewrite (concat_length 8), map_length in T; [lia|]. now apply Forall_map, Forall_forall.
  Qed.

  Let left_live := left before behind stale data 16 lives at_flag.

  Lemma step_of_live_16 d s : left_live d s -> (16 <= d)%nat ->
    exists s1 s2, run_statements
      [loaded "x" 0; Const Vector128 "flags" (LoadVector "_mm_loadu_si128" [] "valid" 0);
       Const Mask16 "live" (Call "_mm_test_epi8_mask" [Var "flags"; Var "flags"]);
       Store "_mm512_storeu_si512" "to" [] (Call "vpcompressd" [Var "live"; Var "x"]); Advance "to" (Var "live")] s = Some s1 /\
      move 16 ["from"; "valid"] s1 = Some s2 /\ left_live (d - 16) s2.
  Proof.
    apply (step_of_live is_byte 16 Vector512 "_mm512_loadu_si512" ["flags"; "live"]); auto. clear d s.
    intros s l fl P Q Ll Lf Bf X V M. assert (Lm : length (mask_test 1 fl fl) = 2%nat) by now apply mask_length.
    assert (S : selected (bits (mask_test 1 fl fl)) l = live l fl).
    { rewrite (test_bits 2) by (auto; lia). apply selected_is_live. lia. }
    intros A junk C T MA J. cbn [run_statements].
    assert (E2 : run_statement (Const Vector128 "flags" (LoadVector "_mm_loadu_si128" [] "valid" 0)) s =
      Some (set "flags" (Register fl) s)).
    { cbn [run_statement]. unfold declare. cbn [eval]. unfold address_in.
      rewrite V. change (known "_mm_loadu_si128" loads_known) with (Some (Whole 16)). cbn [bind fst snd]. rewrite M.
      replace (Z.of_nat (length P) + Z.of_nat 1 * Z.of_nat 0) with (Z.of_nat (length P)) by lia.
      rewrite load_whole by exact Lf. cbn [bind]. now rewrite Lf. }
    rewrite E2. cbn [bind]. clear E2. set (s2 := set "flags" _ s).
    assert (E3 : run_statement (Const Mask16 "live" (Call "_mm_test_epi8_mask" [Var "flags"; Var "flags"])) s2 =
      Some (set "live" (Register (mask_test 1 fl fl)) s2)).
    { cbn [run_statement]. unfold declare. cbn [eval]. change (register_in s2 "flags") with (Some fl). cbn [bind].
      rewrite call_test by exact Lf. cbn [bind]. now rewrite Lm. }
    rewrite E3. cbn [bind]. clear E3. set (s3 := set "live" _ s2).
    destruct (packed_stores s3 "live" "x" (mask_test 1 fl fl) l eq_refl X Lm Ll A junk C T MA J)
      as (s' & junk' & R & M' & J' & T' & O).
    rewrite S in *. exists s', junk'. repeat split; auto. intros y Y. cbn [existsb] in Y. rewrite !orb_false_iff in Y.
    rewrite O by (cbn [existsb]; now rewrite (proj1 Y)). unfold s3, s2. now rewrite !env_set_other by tauto.
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
    { apply left_at_first; try reflexivity. unfold at_flag. cbn. do 3 f_equal. lia. }
    pose proof (left_distance before behind stale data 16 lives at_flag) as left_live_distance.
    rewrite (left_live_distance _ _ L0). cbn [bind]. rewrite Nat2Z.id.
    destruct (loop_ends "from" "end" 16 ["valid"] _ left_live ltac:(lia) left_live_distance step_of_live_16 (length data) _ s0 L0
      (le_n _)) as (s4 & d4 & E4 & L4 & D4 & _).
    rewrite E4. cbn [bind]. rewrite (left_live_distance _ _ L4). cbn [bind].
    pose proof (left_live_distance _ _ L4) as Dist.
    destruct L4 as (done & todo & k & D & L & _ & (junk & M & J & T) & Fr & E & V).
    destruct (flags_split done (length todo) todo D (le_n _)) as (fdone & ftodo & rest & FE & FL & FT & Ld & _).
    assert (rest = []).
    { apply (f_equal (@length Z)) in FE. rewrite F, D, !app_length in FE. destruct rest; [reflexivity|cbn [length] in FE; lia]. }
    subst rest. rewrite app_nil_r in FE. rewrite Ld in *.
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
Proof. intros before stale data behind flags p F B Apart. exact (compress_runs before behind stale data flags p F Apart B). Qed.

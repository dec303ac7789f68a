(* SPDX-License-Identifier: PostgreSQL *)
(** * The AVX2 and NEON kernels move all that stays *)
From Pgquern.common Require Import Integers Xid.
From Pgquern.instructions Require Import Lanes Memory Facts Program ProgramFacts.
From Pgquern.snapbuild Require Import Spec Purge Vectors Packing GeneratedFacts GeneratedNeon Slides.
From Pgquern.snapbuild Require GeneratedAvx2.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Lemma word_is x l : words (x :: l) = there (bytes_of 4 x) ++ words l.
Proof. change (register_of 4 (x :: l)) with (bytes_of 4 x ++ register_of 4 l). apply there_app. Qed.

(* A word is loaded behind what is not needed, and stored before it: what is not needed moves up by a word. *)
Lemma word_moves A junk x rest : exists others, others = skipn 4 (junk ++ bytes_of 4 x) /\ length others = length junk /\
  load_from (Whole 4) [] (A ++ there junk ++ words [x] ++ rest) (Z.of_nat (length (A ++ there junk))) =
    Some (bytes_of 4 x) /\
  store_to (Whole 4) [] (bytes_of 4 x) (A ++ there junk ++ words [x] ++ rest) (Z.of_nat (length A)) =
    Some (A ++ there (bytes_of 4 x) ++ there others ++ rest).
Proof.
  set (b := bytes_of 4 x). assert (Lb : length b = 4%nat) by apply bytes_of_length.
  assert (W : words [x] = there b) by (rewrite word_is; apply app_nil_r).
  exists (skipn 4 (junk ++ b)). rewrite skipn_length, app_length, W. split; [reflexivity|]. split; [lia|]. split.
  - rewrite app_assoc. now apply load_whole.
  - assert (E : there junk ++ there b ++ rest = there (firstn 4 (junk ++ b)) ++ there (skipn 4 (junk ++ b)) ++ rest).
    { rewrite !app_assoc, <- !there_app. now rewrite firstn_skipn. }
    rewrite E. apply store_whole; [exact Lb|]. rewrite firstn_length, app_length. lia.
Qed.

Lemma words_between_are a s n :
  words_between (Z.of_nat (a + 4 * s)) (Z.of_nat (a + 4 * (s + n))) = Z.of_nat n.
Proof.
  unfold words_between. replace (Z.of_nat (a + 4 * (s + n)) - Z.of_nat (a + 4 * s)) with (Z.of_nat n * 4) by lia.
  apply Z.div_mul. lia.
Qed.

Lemma in_registers_are lanes n : in_registers (Z.of_nat lanes) (Z.of_nat n) = Z.of_nat (n / lanes * lanes).
Proof. unfold in_registers. rewrite Nat2Z.inj_mul, Nat2Z.inj_div. reflexivity. Qed.

(** ** The purge *)

Lemma survivors_slide xmin : normal xmin -> forall todo A junk C, Forall normal todo -> exists junk',
  slide_survivors xmin (length todo) (Z.of_nat (length A)) (Z.of_nat (length (A ++ there junk)))
    (A ++ there junk ++ words todo ++ C) =
    Some (Z.of_nat (length (A ++ words (kept xmin todo))), A ++ words (kept xmin todo) ++ there junk' ++ C) /\
  (length junk' + 4 * length (kept xmin todo) = length junk + 4 * length todo)%nat.
Proof.
  intros X. induction todo as [|x todo IH]; intros A junk C N.
  - exists junk. cbn [slide_survivors length]. change (kept xmin []) with (@nil Z). change (words []) with (@nil (option Z)).
    rewrite app_nil_r. split; [reflexivity|]. cbn [length]. lia.
  - apply Forall_cons_iff in N as [Nx N]. cbn [slide_survivors length].
    change (x :: todo) with ([x] ++ todo). rewrite words_app, there_app, <- app_assoc.
    destruct (word_moves A junk x (words todo ++ C)) as (others & _ & Lo & Load & Store). rewrite Load. cbn [bind].
    rewrite Store. cbn [bind]. rewrite number_bytes_of.
    rewrite (valid_mod x) by (unfold normal, valid, FIRST_NORMAL in *; lia). rewrite kept_by_difference by auto.
    rewrite kept_app. assert (K : kept xmin [x] = if keeps xmin x then [x] else []) by reflexivity. rewrite K.
    destruct (keeps xmin x); cbn [Z.b2z].
    + destruct (IH (A ++ there (bytes_of 4 x)) others C N) as (junk' & E & L).
      exists junk'. split.
      * rewrite words_app, there_app, (word_is x []), app_nil_r, <- !app_assoc. rewrite <- !app_assoc in E. rewrite <- E.
        f_equal; rewrite !app_length, !there_length, bytes_of_length; lia.
      * cbn [app length]. lia.
    + destruct (IH A (bytes_of 4 x ++ others) C N) as (junk' & E & L).
      exists junk'. rewrite app_length, bytes_of_length in L. split.
      * rewrite there_app, <- !app_assoc in E.
        replace (Z.of_nat (length A) + 4 * 0) with (Z.of_nat (length A)) by lia.
        replace (Z.of_nat (length (A ++ there junk)) + 4) with
          (Z.of_nat (length (A ++ there (bytes_of 4 x) ++ there others)))
          by (rewrite !app_length, !there_length, bytes_of_length; lia).
        rewrite E. reflexivity.
      * cbn [app length]. lia.
Qed.

(* What a printed loop over registers must do, is all that is known of it here. *)
Lemma keep_runs_whole loop lanes xmin before stale data behind junk done todo : (0 < lanes)%nat ->
  normal xmin -> Forall normal data ->
  let at_word n := Address 4 (Z.of_nat (length before + 4 * n)) in
  data = done ++ todo -> length done = (length data / lanes * lanes)%nat ->
  run loop [at_word 0%nat; at_word (length stale); at_word (length stale + length data)%nat; Register (bytes_of 4 xmin)]
    (before ++ words (stale ++ data) ++ behind) =
    Some (at_word (length (kept xmin done)), before ++ words (kept xmin done) ++ there junk ++ words todo ++ behind) ->
  (length junk + 4 * length (kept xmin done) = 4 * (length stale + length done))%nat ->
  let place n := Z.of_nat (length before + 4 * n) in
  exists left,
    keep_by loop (Z.of_nat lanes) xmin (place 0%nat) (place (length stale)) (place (length stale + length data)%nat)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin data)), before ++ words (kept xmin data) ++ there left ++ behind) /\
    (length left + 4 * length (kept xmin data) = 4 * (length stale + length data))%nat.
Proof.
  intros P X N at_word D Ld R L place. unfold keep_by, place, at_word in *. cbv zeta. rewrite words_between_are, R. cbn [bind].
  assert (T : length data = (length done + length todo)%nat) by (rewrite D; apply app_length).
  assert (Rest : Z.of_nat (length data) mod Z.of_nat lanes = Z.of_nat (length todo)).
  { rewrite <- Nat2Z.inj_mod. pose proof (Nat.div_mod (length data) lanes ltac:(lia)). lia. }
  rewrite Rest, Nat2Z.id.
  assert (Nt : Forall normal todo) by (rewrite D in N; now apply Forall_app in N).
  destruct (survivors_slide xmin X todo (before ++ words (kept xmin done)) junk behind Nt) as (junk' & E & L').
  rewrite (app_assoc before (words (kept xmin done)) (there junk ++ words todo ++ behind)).
  replace (Z.of_nat (length before + 4 * length (kept xmin done))) with (Z.of_nat (length (before ++ words (kept xmin done))))
    by (rewrite app_length, there_length, words_length; reflexivity).
  replace (Z.of_nat (length before + 4 * (length stale + length data)) - 4 * Z.of_nat (length todo)) with
    (Z.of_nat (length ((before ++ words (kept xmin done)) ++ there junk)))
    by (rewrite !app_length, !there_length, words_length; lia).
  rewrite E. exists junk'. rewrite D, kept_app, words_app, there_app, <- !app_assoc.
  split; [|rewrite !app_length in *; lia]. do 3 f_equal. rewrite !app_length, !there_length, !words_length. lia.
Qed.

(** The NEON purge's inner loop, with its rest, run on an array of any length, moves the XIDs that xmin does not precede down to
    `to`, in their order, and returns where they end; it touches nothing before `to`, and nothing from `end` on. *)
Theorem keep_neon_is_filter : forall xmin before stale data behind, normal xmin -> Forall normal data ->
  let place n := Z.of_nat (length before + 4 * n) in
  exists junk,
    keep_neon xmin (place 0%nat) (place (length stale)) (place (length stale + length data)%nat)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin data)), before ++ words (kept xmin data) ++ there junk ++ behind) /\
    (length junk + 4 * length (kept xmin data) = 4 * (length stale + length data))%nat.
Proof.
  intros xmin before stale data behind X N place.
  destruct (purge_neon_program_is_filter xmin before stale data behind X N) as (junk & done & todo & D & Ld & R & L).
  exact (keep_runs_whole _ 4 xmin before stale data behind junk done todo ltac:(lia) X N D Ld R L).
Qed.

(** The AVX2 purge's inner loop, with its rest, run on an array of any length, moves the XIDs that xmin does not precede down to
    `to`, in their order, and returns where they end; it touches nothing before `to`, and nothing from `end` on. *)
Theorem keep_avx2_is_filter : forall xmin before stale data behind, normal xmin -> Forall normal data ->
  let place n := Z.of_nat (length before + 4 * n) in
  exists junk,
    keep_avx2 xmin (place 0%nat) (place (length stale)) (place (length stale + length data)%nat)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (kept xmin data)), before ++ words (kept xmin data) ++ there junk ++ behind) /\
    (length junk + 4 * length (kept xmin data) = 4 * (length stale + length data))%nat.
Proof.
  intros xmin before stale data behind X N place.
  destruct (GeneratedAvx2.purge_avx2_program_is_filter xmin before stale data behind X N) as (junk & done & todo & D & Ld & R & L).
  exact (keep_runs_whole _ 8 xmin before stale data behind junk done todo ltac:(lia) X N D Ld R L).
Qed.

(** ** The compression of KnownAssignedXids *)

(* What stands behind the live XIDs after the rest: each XID of it is stored over the first word of that. *)
Fixpoint bytes_left (junk : bytes) (data flags : list Z) : bytes :=
  match data, flags with
  | x :: data, v :: flags =>
      let moved := skipn 4 (junk ++ bytes_of 4 x) in
      bytes_left (if v =? 0 then bytes_of 4 x ++ moved else moved) data flags
  | _, _ => junk
  end.

Section compress.
  Context (before behind : cells) (stale data flags : list Z) (p : nat).
  Context (F : length flags = length data) (B : Forall GeneratedAvx2.is_flag flags).
  Context (Apart : flags_apart before behind stale data flags p).

  (* [junk] may be longer or shorter, but all of the array has one length. *)
  Lemma live_slide : forall todo ftodo done fdone L junk, flags = fdone ++ ftodo -> data = done ++ todo ->
    length fdone = length done ->
    (4 * length L + length junk = 4 * (length stale + length done))%nat ->
    let junk' := bytes_left junk todo ftodo in
    slide_live (length todo) (Z.of_nat (length (before ++ words L))) (Z.of_nat (length ((before ++ words L) ++ there junk)))
      (Z.of_nat (p + length fdone)) ((before ++ words L) ++ there junk ++ words todo ++ behind) =
      Some (Z.of_nat (length (before ++ words (L ++ live todo ftodo))),
            (before ++ words (L ++ live todo ftodo)) ++ there junk' ++ behind) /\
    (4 * length (L ++ live todo ftodo) + length junk' = 4 * (length stale + length data))%nat.
  Proof.
    induction todo as [|x todo IH]; intros ftodo done fdone l junk Ef Ed Lf Lj junk'; subst junk'.
    - cbn [bytes_left]. assert (Z : live [] ftodo = []) by now destruct ftodo. rewrite Z, app_nil_r. split; [reflexivity|].
      rewrite Ed, app_nil_r. exact Lj.
    - assert (Lt : length ftodo = S (length todo)).
      { apply (f_equal (@length Z)) in Ed. apply (f_equal (@length Z)) in Ef. rewrite app_length in Ed, Ef.
        cbn [length] in Ed. lia. }
      destruct ftodo as [|v ftodo]; [discriminate|]. injection Lt as Lt.
      assert (Bv : GeneratedAvx2.is_flag v).
      { rewrite Ef, Forall_app in B. destruct B as [_ B']. now apply Forall_cons_iff in B'. }
      cbn [slide_live length]. change (words (x :: todo)) with (words ([x] ++ todo)).
      rewrite (words_app [x] todo), there_app, <- (app_assoc (words [x]) (words todo) behind).
      destruct (word_moves (before ++ words l) junk x (words todo ++ behind)) as (others & Eo & Lo & Load & Store).
      rewrite Load. cbn [bind]. rewrite Store. cbn [bind].
      set (m := (before ++ words l) ++ there (bytes_of 4 x) ++ there others ++ words todo ++ behind).
      destruct (flags_stay before behind stale data flags p F Apart
        (words l ++ there (bytes_of 4 x) ++ there others ++ words todo) fdone [v] ftodo) as (P & Q & PQ & PL).
      { rewrite !app_length, !there_length, !words_length, bytes_of_length, Ed, app_length. cbn [length]. lia. }
      { exact Ef. }
      assert (M : m = P ++ there [v] ++ Q) by (rewrite <- PQ; unfold m; now rewrite <- !app_assoc).
      assert (Flag : load_from (Whole 1) [] m (Z.of_nat (p + length fdone)) = Some [v])
        by (rewrite M, <- PL; now apply load_whole).
      rewrite Flag. cbn [bind]. unfold m. replace (number [v]) with v by (cbn [number]; lia).
      assert (Ef' : flags = (fdone ++ [v]) ++ ftodo) by now rewrite <- app_assoc.
      assert (Ed' : data = (done ++ [x]) ++ todo) by now rewrite <- app_assoc.
      assert (Lf' : length (fdone ++ [v]) = length (done ++ [x])) by (rewrite !app_length; cbn [length]; lia).
      cbn [bytes_left]. rewrite <- Eo. destruct Bv as [-> | ->]; cbn [live Z.eqb].
      + destruct (IH ftodo (done ++ [x]) (fdone ++ [0]) l (bytes_of 4 x ++ others) Ef' Ed' Lf') as (E & L').
        { rewrite !app_length, bytes_of_length. cbn [length]. lia. }
        split; [|exact L']. rewrite there_app, <- !app_assoc in E. rewrite <- !app_assoc.
        rewrite Z.mul_0_r, Z.add_0_r.
        replace (Z.of_nat (length (before ++ words l ++ there junk)) + 4) with
          (Z.of_nat (length (before ++ words l ++ there (bytes_of 4 x) ++ there others)))
          by (rewrite !app_length, !there_length, bytes_of_length; lia).
        replace (Z.of_nat (p + length fdone) + 1) with (Z.of_nat (p + length (fdone ++ [0])))
          by (rewrite app_length; cbn [length]; lia).
        exact E.
      + destruct (IH ftodo (done ++ [x]) (fdone ++ [1]) (l ++ [x]) others Ef' Ed' Lf') as (E & L').
        { rewrite !app_length. cbn [length]. lia. }
        assert (W : words [x] = there (bytes_of 4 x)) by (rewrite word_is; apply app_nil_r).
        change (x :: live todo ftodo) with ([x] ++ live todo ftodo). rewrite (app_assoc l).
        split; [|exact L']. rewrite <- E, words_app, there_app, W, <- !app_assoc. f_equal.
        * rewrite !app_length, !there_length, bytes_of_length. lia.
        * rewrite !app_length, !there_length, bytes_of_length. lia.
        * rewrite app_length. cbn [length]. lia.
  Qed.

  (* What a printed loop over registers must do, is all that is known of it here. *)
  Lemma compress_runs_whole loop lanes junk done todo fdone ftodo :
    let at_word n := Address 4 (Z.of_nat (length before + 4 * n)) in
    data = done ++ todo -> flags = fdone ++ ftodo -> length fdone = length done ->
    length done = (length data / lanes * lanes)%nat ->
    run loop [at_word 0%nat; at_word (length stale); at_word (length stale + length data)%nat; Address 1 (Z.of_nat p)]
      (before ++ words (stale ++ data) ++ behind) =
      Some (at_word (length (live done fdone)),
            before ++ words (live done fdone) ++ there junk ++ words todo ++ behind) ->
    (length junk + 4 * length (live done fdone) = 4 * (length stale + length done))%nat ->
    let place n := Z.of_nat (length before + 4 * n) in
    let left := bytes_left junk todo ftodo in
    compress_by loop (Z.of_nat lanes) (place 0%nat) (place (length stale)) (place (length stale + length data)%nat) (Z.of_nat p)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live data flags)), before ++ words (live data flags) ++ there left ++ behind) /\
    (length left + 4 * length (live data flags) = 4 * (length stale + length data))%nat.
  Proof.
    intros at_word D FE FL Ld R L place left. unfold compress_by, place, at_word in *. cbv zeta.
    rewrite words_between_are, in_registers_are, <- Ld, R. cbn [bind].
    replace (Z.to_nat (Z.of_nat (length data) - Z.of_nat (length done))) with (length todo) by (rewrite D, app_length; lia).
    destruct (live_slide todo ftodo done fdone (live done fdone) junk FE D FL ltac:(lia)) as (E & L').
    replace (Z.of_nat (length before + 4 * length (live done fdone))) with
      (Z.of_nat (length (before ++ words (live done fdone)))) by (rewrite app_length, there_length, words_length; reflexivity).
    replace (Z.of_nat (length before + 4 * length stale) + 4 * Z.of_nat (length done)) with
      (Z.of_nat (length ((before ++ words (live done fdone)) ++ there junk)))
      by (rewrite !app_length, !there_length, words_length; lia).
    replace (Z.of_nat p + Z.of_nat (length done)) with (Z.of_nat (p + length fdone)) by lia.
    rewrite (app_assoc before (words (live done fdone)) (there junk ++ words todo ++ behind)).
    rewrite E. unfold left. rewrite D, FE, live_app, <- !app_assoc by exact FL.
    split; [|rewrite D, !app_length in L'; rewrite !app_length; lia]. do 3 f_equal.
    rewrite app_length, there_length, words_length. reflexivity.
  Qed.
End compress.

(** The NEON compression, with its rest, moves the XIDs whose flag is set down to `to`, in their order, and returns where they
    end; the flags stay as they are, before `to` or behind `end`, and nothing else there is touched. *)
Theorem compress_neon_keeps_live : forall before stale data behind flags p,
  length flags = length data -> Forall GeneratedAvx2.is_flag flags -> flags_apart before behind stale data flags p ->
  let place n := Z.of_nat (length before + 4 * n) in
  exists junk,
    compress_neon (place 0%nat) (place (length stale)) (place (length stale + length data)%nat) (Z.of_nat p)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live data flags)), before ++ words (live data flags) ++ there junk ++ behind) /\
    (length junk + 4 * length (live data flags) = 4 * (length stale + length data))%nat.
Proof.
  intros before stale data behind flags p F B Apart place.
  destruct (compress_neon_program_keeps_live before stale data behind flags p F B Apart)
    as (junk & done & todo & fdone & ftodo & D & FE & FL & Ld & R & L).
  eexists. exact (compress_runs_whole before behind stale data flags p F B Apart _ 4 _ _ _ _ _ D FE FL Ld R L).
Qed.

(** The AVX2 compression, with its rest, moves the XIDs whose flag is set down to `to`, in their order, and returns where they
    end; the flags stay as they are, before `to` or behind `end`, and nothing else there is touched. *)
Theorem compress_avx2_keeps_live : forall before stale data behind flags p,
  length flags = length data -> Forall GeneratedAvx2.is_flag flags -> flags_apart before behind stale data flags p ->
  let place n := Z.of_nat (length before + 4 * n) in
  exists junk,
    compress_avx2 (place 0%nat) (place (length stale)) (place (length stale + length data)%nat) (Z.of_nat p)
      (before ++ words (stale ++ data) ++ behind) =
      Some (place (length (live data flags)), before ++ words (live data flags) ++ there junk ++ behind) /\
    (length junk + 4 * length (live data flags) = 4 * (length stale + length data))%nat.
Proof.
  intros before stale data behind flags p F B Apart place.
  destruct (GeneratedAvx2.compress_avx2_program_keeps_live before stale data behind flags p F B Apart)
    as (junk & done & todo & fdone & ftodo & D & FE & FL & Ld & R & L).
  eexists. exact (compress_runs_whole before behind stale data flags p F B Apart _ 8 _ _ _ _ _ D FE FL Ld R L).
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * NEON's compression stands twice: both do the same

    CompressRegisters.v has it with XIDs as cells and registers as lists; that is traced.  Slides.v has it with bytes as cells,
    around the loop of which C is printed. *)
From Coq Require Import ZArith Lia List Bool.
From Pgquern.instructions Require Import Lanes Facts Memory Program ProgramFacts.
From Pgquern.snapbuild Require Import Spec Generated GeneratedFacts GeneratedNeon CompressRegisters CompressRegistersFacts Leftovers
  CompressLeft Slides SlidesFacts.
From Pgquern.snapbuild Require Memory GeneratedAvx2.
Import ListNotations.
Local Open Scope list_scope.
Local Open Scope Z_scope.

Lemma skip_word l : skipn 4 (register_of 4 l) = register_of 4 (skipn 1 l).
Proof. destruct l as [|x l]; reflexivity. Qed.

Lemma bytes_left_are : forall data flags left,
  bytes_left (register_of 4 left) data flags = register_of 4 (leftovers_of_rest left data flags).
Proof.
  induction data as [|x data IH]; intros [|v flags] left; try reflexivity. cbn [bytes_left leftovers_of_rest].
  assert (W : bytes_of 4 x = register_of 4 [x]) by (symmetry; apply app_nil_r).
  assert (M : skipn 4 (register_of 4 left ++ bytes_of 4 x) = register_of 4 (skipn 1 (left ++ [x])))
    by now rewrite W, <- words_app, skip_word.
  rewrite M. destruct (v =? 0); rewrite <- IH; reflexivity.
Qed.

(** The NEON compression of registers as lists, which is traced, and that of bytes, of which C is printed, run on the same
    array, return the same place and leave the same in each cell, also in those that nobody needs any more. *)
Theorem compress_neon_is_compress_registers : forall before dead xs behind flags p dead_flags xids valid,
  length flags = length xs -> Forall GeneratedAvx2.is_flag flags -> flags_apart before behind dead xs flags p ->
  length dead = length dead_flags -> snapbuild.Memory.array xids 0 (dead ++ xs) ->
  snapbuild.Memory.array valid 0 (dead_flags ++ flags) ->
  let place n := Z.of_nat (length before + 4 * n) in
  let tail := Z.of_nat (length dead) in
  exists n cells xids' valid',
    compress_registers pack_live 4 tail (tail + Z.of_nat (length xs)) xids valid = Some (Z.of_nat n, xids', valid') /\
    snapbuild.Memory.array xids' 0 cells /\ length cells = length (dead ++ xs) /\
    compress_neon (place 0%nat) (place (length dead)) (place (length dead + length xs)%nat) (Z.of_nat p)
      (before ++ words (dead ++ xs) ++ behind) = Some (place n, before ++ words cells ++ behind).
Proof.
  intros before dead xs behind flags p dead_flags xids valid F B Apart Ld X V place tail.
  destruct (compress_registers_leaves pack_live 4 xs flags dead dead_flags xids valid pack_live_packs ltac:(lia) ltac:(lia) Ld X V)
    as (xids' & valid' & E & A).
  destruct (compress_neon_runs before behind dead xs flags p F B Apart)
    as (done & todo & fdone & ftodo & D & FE & FL & Ldone & R & L).
  set (left := leftovers pack_live 4 (length xs / 4) dead xs flags) in *.
  destruct (compress_runs_whole before behind dead xs flags p F B Apart compress_neon_program 4 (register_of 4 left) done todo fdone
    ftodo D FE FL Ldone R ltac:(rewrite words_length; lia)) as (E2 & L2).
  rewrite bytes_left_are in E2, L2. rewrite words_length in L2.
  assert (Left : left_by pack_live 4 dead xs flags = leftovers_of_rest left todo ftodo).
  { unfold left_by. fold left. f_equal.
    - rewrite D at 2. rewrite <- Ldone, skipn_app, skipn_all, Nat.sub_diag. reflexivity.
    - rewrite FE at 1. rewrite <- Ldone, <- FL, skipn_app, skipn_all, Nat.sub_diag. reflexivity. }
  rewrite Left in A.
  exists (length (live xs flags)), (live xs flags ++ leftovers_of_rest left todo ftodo), xids', valid'.
  split; [exact E|]. split; [exact A|]. split; [rewrite !app_length; lia|].
  rewrite (words_app (live xs flags)), there_app, <- app_assoc. exact E2.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * The SIMD purges, with the blocks of long arrays, are the filter *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Purge Blocks BlocksFacts KeepRegisters.
Local Open Scope Z_scope.

Section registers.
  Variables (pack : list Z -> list Z) (xmin : Z) (l : list Z) (a0 : memory).
  Hypothesis Packs : packs xmin pack.
  Let holds : state -> Prop := slide_invariant upto_read xmin l a0.

  Lemma load_registers_spec a front todo : forall r widths data, r = zlength front ->
    array a 0 (front ++ data ++ todo) -> length data = list_sum widths ->
    exists registers, load_registers a r widths = Some registers /\ concat registers = data.
  Proof.
    intros r widths. revert r front. induction widths as [|width widths IH]; intros r front data R A L; simpl in L.
    - destruct data; [|discriminate]. exists []. auto.
    - destruct (cut_at data width) as (d1 & d2 & -> & L1 & L2); [lia|]. rewrite app_length in L2.
      destruct (IH (r + Z.of_nat width) (front ++ d1) d2) as (registers & E & C).
      + rewrite app_length. lia.
      + rewrite <- !app_assoc in *. exact A.
      + rewrite app_length in L. lia.
      + exists (d1 :: registers). simpl. rewrite <- L1.
        pose proof A as A'. apply array_app in A'. destruct A' as [_ A']. rewrite <- app_assoc in A'.
        apply array_app in A'. destruct A' as [A' _]. rewrite Z.add_0_l, <- R in A'. rewrite (array_read _ _ _ A').
        cbn [mbind option_bind]. rewrite L1, E. simpl. split; [auto|congruence].
  Qed.

  (* What is held in registers may be overwritten: it is among the stale cells. *)
  Lemma store_registers_spec todo total before : forall registers a w front stale,
    w = zlength front -> array a 0 (front ++ stale ++ todo) -> (length (concat registers) <= length stale)%nat ->
    length (front ++ stale ++ todo) = total -> unchanged_outside 0 (Z.of_nat total) before a ->
    exists a' stale', store_registers pack xmin a w registers = Some (w + zlength (kept xmin (concat registers)), a') /\
      array a' 0 ((front ++ kept xmin (concat registers)) ++ stale' ++ todo) /\
      length (stale' ++ kept xmin (concat registers)) = length stale /\ unchanged_outside 0 (Z.of_nat total) before a'.
  Proof.
    induction registers as [|register registers IH]; intros a w front stale W A L T U; simpl concat in *.
    - exists a, stale. unfold kept. simpl. rewrite !app_nil_r, Z.add_0_r. auto.
    - rewrite app_length in L. destruct (Packs register) as (others & P & LP).
      destruct (cut_at stale (length (pack register))) as (old & stale2 & -> & L1 & L2); [lia|].
      rewrite <- app_assoc in A. destruct (write_in_array a 0 front old (pack register) _ A L1) as (a1 & E & A1 & U1).
      rewrite Z.add_0_l, <- W in E, U1. cbn [store_registers]. rewrite E. cbn [mbind option_bind].
      rewrite kept_app. rewrite P in A1, U1, LP. rewrite !app_length in *.
      destruct (IH a1 (w + zlength (kept xmin register)) (front ++ kept xmin register) (others ++ stale2))
        as (a' & stale' & E' & A' & L' & U').
      + rewrite app_length. lia.
      + rewrite <- !app_assoc in *. exact A1.
      + rewrite !app_length. rewrite P, app_length in *. lia.
      + rewrite !app_length. rewrite P, app_length in *. lia.
      + intros k K. rewrite U1, U; auto. rewrite P, app_length in *. lia.
      + exists a', stale'. rewrite E', !app_length, <- !app_assoc in *. rewrite P, app_length in *.
        split; [f_equal; f_equal; lia|]. split; [auto|]. split; [lia|auto].
  Qed.

  (* Registers of any widths. *)
  Lemma registers_step widths r w a : holds (r, w, a) -> r + Z.of_nat (list_sum widths) <= zlength l ->
    exists w' a', registers_body pack xmin widths (r, w, a) = Some (r + Z.of_nat (list_sum widths), w', a') /\
      holds (r + Z.of_nat (list_sum widths), w', a').
  Proof.
    intros H N. destruct (holds_range xmin l a0 r w a H) as [P _].
    destruct (run_exists l r (Z.of_nat (list_sum widths)) P ltac:(lia) N) as (g & G & Lg).
    destruct (holds_run xmin l a0 r w a g H G) as (done & stale & todo & L & R & W & E & A & U).
    pose proof A as A1. rewrite app_assoc in A1.
    destruct (load_registers_spec a (kept xmin done ++ stale) todo r widths g) as (registers & Load & C);
      [rewrite app_length; lia|exact A1|lia|].
    rewrite (app_assoc stale) in A.
    destruct (store_registers_spec todo (length (kept xmin done ++ (stale ++ g) ++ todo)) a registers a w
      (kept xmin done) (stale ++ g) W A) as (a' & stale' & Store & A' & L' & _);
      [rewrite C, app_length; lia|reflexivity|apply unchanged_refl|].
    (* Of the same stores, that they end where the registers did. *)
    pose proof A as A2. rewrite (app_assoc (kept xmin done)) in A2. apply array_app in A2 as [A2 _].
    destruct (store_registers_spec [] (length (kept xmin done ++ (stale ++ g) ++ [])) a registers a w
      (kept xmin done) (stale ++ g) W) as (a2 & _ & Store2 & _ & _ & U');
      [now rewrite app_nil_r|rewrite C, app_length; lia|reflexivity|apply unchanged_refl|].
    rewrite Store in Store2. injection Store2 as <-. rewrite C, !app_length in *. cbn [length] in U'.
    unfold registers_body. rewrite Load. cbn [mbind option_bind]. rewrite Store. cbn [mbind option_bind].
    eexists _, _. split; [reflexivity|]. exists (done ++ g), stale', todo. rewrite kept_app, !app_length.
    repeat split; try lia; [now rewrite L, <- app_assoc|exact A'|]. unfold upto_read.
    intros k K. rewrite U', U; [reflexivity|..]; unfold upto_read; lia.
  Qed.

  (* As many of them as there are up to a place. *)
  Lemma registers_loop widths to r w a : (0 < list_sum widths)%nat -> holds (r, w, a) -> r <= to <= zlength l ->
    exists r' w' a', while (Z.to_nat to) (registers_test widths to) (registers_body pack xmin widths) (r, w, a) =
      Some (r', w', a') /\ holds (r', w', a') /\ r <= r' <= to.
  Proof.
    intros Some_ H T. pose proof (holds_range xmin l a0 r w a H) as P.
    destruct (while_total (fun s => holds s /\ (let '(r', _, _) := s in r <= r' <= to)) (fun '(r, _, _) => to - r)
      (registers_test widths to) (registers_body pack xmin widths) (Z.to_nat to) (r, w, a))
      as ([[r1 w1] a1] & E & [H1 R1] & _).
    - split; [exact H|lia].
    - lia.
    - intros [[r1 w1] a1] [H1 R1]. eexists. split; [reflexivity|]. intros N. apply Z.leb_le in N. split; [lia|].
      destruct (registers_step widths r1 w1 a1 H1 ltac:(lia)) as (w2 & a2 & E2 & H2). eexists. split; [exact E2|].
      split; [split; [exact H2|lia]|lia].
    - eauto 10.
  Qed.

  Lemma keep_registers_keeps lanes rest : (0 < lanes)%nat -> keeps_up_to xmin l a0 rest ->
    keeps_up_to xmin l a0 (keep_registers pack xmin lanes rest).
  Proof.
    intros Lanes Rest to r w a H T. unfold keep_registers.
    destruct (registers_loop [lanes; lanes; lanes; lanes] to r w a ltac:(cbn; lia) H T) as (r1 & w1 & a1 & E1 & H1 & R1).
    unfold state in *. rewrite E1. cbn [mbind option_bind].
    destruct (registers_loop [lanes] to r1 w1 a1 ltac:(cbn; lia) H1 ltac:(lia)) as (r2 & w2 & a2 & E2 & H2 & R2).
    unfold state in *. rewrite E2. cbn [mbind option_bind]. apply Rest; [exact H2|lia].
  Qed.

  Lemma slide_rest_keeps : keeps_up_to xmin l a0 (slide_rest xmin).
  Proof.
    intros to r w a H T. pose proof (holds_range xmin l a0 r w a H). apply slide_to; [exact H|exact T|lia].
  Qed.

  Lemma masked_rest_keeps : keeps_up_to xmin l a0 (masked_rest pack xmin).
  Proof.
    intros to r w a H T. cbn [masked_rest]. destruct (Z.eqb_spec r to) as [<-|N]; [eauto|].
    destruct (registers_step [Z.to_nat (to - r)] r w a H) as (w' & a' & E & H'); [cbn; lia|].
    replace (r + Z.of_nat (list_sum [Z.to_nat (to - r)])) with to in * by (cbn; lia). eauto.
  Qed.
End registers.

Lemma compress_zeros_packs xmin : packs xmin (compress_zeros xmin).
Proof.
  intros register. eexists. split; [reflexivity|]. unfold compress_zeros. rewrite app_length, repeat_length.
  pose proof (kept_length xmin register). lia.
Qed.

(** The SIMD purges, with the blocks of long arrays, keep exactly the XIDs that do not precede xmin, in their order, whatever
    a register has past its survivors. They may overwrite any cell of the array, and none outside it. *)
Theorem simd_purges_are_filters : forall pack l xmin a, packs xmin pack -> array a 0 l ->
  Forall (fun purge => exists a', purge pack (zlength l) xmin a = Some (zlength (kept xmin l), a') /\
    array a' 0 (kept xmin l) /\ unchanged_outside 0 (zlength l) a a') [purge_avx2; purge_avx512; purge_neon].
Proof.
  intros pack l xmin a P A. repeat constructor; apply purge_by_blocks_is_filter; auto.
  - now exists 8%nat.
  - apply keep_registers_keeps; [exact P|lia|apply slide_rest_keeps].
  - now exists 4%nat.
  - apply keep_registers_keeps; [exact P|lia|now apply masked_rest_keeps].
  - now exists 8%nat.
  - apply keep_registers_keeps; [exact P|lia|apply slide_rest_keeps].
Qed.

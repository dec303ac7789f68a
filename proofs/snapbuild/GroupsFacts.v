(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge by groups and blocks, load by load, is the filter *)
From Coq Require Import ZArith Lia.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Purge Blocks Groups BlocksFacts.
Local Open Scope Z_scope.

Section groups.
  Variables (xmin : Z) (l : list Z) (a0 : memory).
  Let holds : state -> Prop := slide_invariant upto_read xmin l a0.

  (* A group of 16. *)
  Lemma group_step r w a : holds (r, w, a) -> r + GROUP <= zlength l ->
    exists w' a', group_body xmin (r, w, a) = Some (r + GROUP, w', a') /\ holds (r + GROUP, w', a').
  Proof.
    intros H N. destruct (holds_range xmin l a0 r w a H) as [P _]. unfold GROUP in *.
    destruct (run_exists l r 16 P ltac:(lia) N) as (g & G & L). cbn [group_body]. unfold GROUP.
    assert (Loaded : loads a r (Z.to_nat 16) = Some g).
    { replace (Z.to_nat 16) with (length g) by lia. exact (run_loads xmin l a0 r w a g H G). }
    rewrite Loaded. cbn [mbind option_bind]. destruct (all_stay xmin g) eqn:S; [|destruct (all_go xmin g) eqn:D].
    - destruct (run_stays xmin l a0 r w a g H G S) as (a' & -> & H'). cbn [mbind option_bind]. rewrite L in H'. eauto.
    - pose proof (run_goes xmin l a0 r w a g H G D) as H'. rewrite L in H'. eauto.
    - destruct (slide_to xmin l a0 (Z.to_nat 16) (r + 16) r w a H ltac:(lia) ltac:(lia)) as (w' & a' & E & H'). eauto.
  Qed.

  Lemma keep_scalar_keeps : keeps_up_to xmin l a0 (keep_scalar xmin).
  Proof.
    intros to r w a H T. unfold keep_scalar. pose proof (holds_range xmin l a0 r w a H) as P.
    destruct (while_total (fun s => holds s /\ (let '(r, _, _) := s in r <= to)) (fun '(r, _, _) => to - r)
      (group_test to) (group_body xmin) (Z.to_nat to) (r, w, a)) as ([[r1 w1] a1] & E & [H1 R1] & _).
    - split; [exact H|lia].
    - lia.
    - intros [[r1 w1] a1] [H1 R1]. eexists. split; [reflexivity|]. intros N. apply Z.leb_le in N. unfold GROUP in N.
      split; [lia|]. destruct (group_step r1 w1 a1 H1 ltac:(unfold GROUP; lia)) as (w2 & a2 & E2 & H2). eexists.
      split; [exact E2|]. unfold GROUP in *. split; [split; [exact H2|lia]|lia].
    - rewrite E. cbn [mbind option_bind]. pose proof (holds_range xmin l a0 r1 w1 a1 H1).
      apply slide_to; [exact H1|lia|lia].
  Qed.
End groups.

(** The kernel `scalar`, groups and blocks and all, keeps exactly the XIDs that do not precede xmin, in their order. It may
    overwrite any cell of the array, and none outside it. *)
Theorem purge_scalar_is_filter : forall l xmin a, array a 0 l ->
  exists a', purge_scalar (zlength l) xmin a = Some (zlength (kept xmin l), a') /\ array a' 0 (kept xmin l) /\
    unchanged_outside 0 (zlength l) a a'.
Proof.
  intros l xmin a. apply purge_by_blocks_is_filter; [now exists 8%nat|]. apply keep_scalar_keeps.
Qed.

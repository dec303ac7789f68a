(* SPDX-License-Identifier: PostgreSQL *)
(** * The purge of long arrays by blocks is the filter if its inner loop is *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list fin_maps.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms Purge Blocks.
Local Open Scope Z_scope.

Lemma array_loads l : forall a i, array a i l -> loads a i (length l) = Some l.
Proof.
  induction l as [|x l IH]; intros a i A; [reflexivity|]. destruct A as [X A]. cbn [length loads]. unfold load. rewrite X.
  cbn [mbind option_bind]. now rewrite (IH _ _ A).
Qed.

Lemma kept_all_stay xmin l : all_stay xmin l = true -> kept xmin l = l.
Proof.
  unfold all_stay, kept. induction l as [|x l IH]; [reflexivity|]. cbn. destruct (keeps xmin x); [|discriminate].
  intros H. now rewrite IH.
Qed.

Lemma kept_all_go xmin l : all_go xmin l = true -> kept xmin l = [].
Proof.
  unfold all_go, kept. induction l as [|x l IH]; [reflexivity|]. cbn. now destruct (keeps xmin x).
Qed.

(** [g] is what [l] has from place [r] on. *)
Definition run (l : list Z) (r : Z) (g : list Z) : Prop := exists front back, l = front ++ g ++ back /\ r = zlength front.

Lemma run_exists l r k : 0 <= r -> 0 <= k -> r + k <= zlength l -> exists g, run l r g /\ zlength g = k.
Proof.
  intros R K L. destruct (cut_at l (Z.to_nat r)) as (front & rest & -> & F & _); [lia|]. rewrite app_length in L.
  destruct (cut_at rest (Z.to_nat k)) as (g & back & -> & G & _); [lia|].
  exists g. split; [|lia]. exists front, back. split; [auto|lia].
Qed.

Lemma run_split l r g1 g2 : run l r (g1 ++ g2) -> run l r g1 /\ run l (r + zlength g1) g2.
Proof.
  intros (front & back & -> & ->). split.
  - exists front, (g2 ++ back). now rewrite <- app_assoc.
  - exists (front ++ g1), back. rewrite <- !app_assoc, app_length. split; [auto|lia].
Qed.

Section slide.
  Variables (xmin : Z) (l : list Z) (a0 : memory).
  Let holds : state -> Prop := slide_invariant upto_read xmin l a0.

  Lemma holds_range r w a : holds (r, w, a) -> 0 <= r <= zlength l.
  Proof. intros (done & stale & todo & -> & -> & _). rewrite app_length. lia. Qed.

  (* What the invariant says of the run that comes next. *)
  Lemma holds_run r w a g : holds (r, w, a) -> run l r g -> exists done stale todo, l = done ++ g ++ todo /\
    r = zlength done /\ w = zlength (kept xmin done) /\ r = w + zlength stale /\
    array a 0 (kept xmin done ++ stale ++ g ++ todo) /\ unchanged_outside 0 r a0 a.
  Proof.
    intros (done & stale & todo & L & R & W & G & A & U) (front & back & L' & R'). unfold upto_read in U.
    assert (E : length front = length done) by lia. rewrite L in L'. apply app_inj_1 in L' as [-> ->]; [|auto].
    exists front, stale, back. auto 10.
  Qed.

  Lemma run_loads r w a g : holds (r, w, a) -> run l r g -> loads a r (length g) = Some g.
  Proof.
    intros H G. destruct (holds_run r w a g H G) as (done & stale & todo & _ & _ & W & R & A & _). apply array_loads.
    apply array_app in A as [_ A]. apply array_app in A as [_ A]. apply array_app in A as [A _].
    replace r with (0 + zlength (kept xmin done) + zlength stale) by lia. exact A.
  Qed.

  Lemma run_stays r w a g : holds (r, w, a) -> run l r g -> all_stay xmin g = true ->
    exists a', write a w g = Some a' /\ holds (r + zlength g, w + zlength g, a').
  Proof.
    intros H G S. destruct (holds_run r w a g H G) as (done & stale & todo & L & R & W & E & A & U).
    destruct (cut_at (stale ++ g) (length g)) as (old & stale' & C & O & N); [rewrite app_length; lia|].
    rewrite app_length in N. rewrite (app_assoc stale), C, <- app_assoc in A.
    destruct (write_in_array _ _ _ _ g _ A O) as (a' & X & A' & U'). rewrite Z.add_0_l, <- W in X, U'. exists a'.
    split; [exact X|]. exists (done ++ g), stale', todo. rewrite kept_app, (kept_all_stay xmin g S), !app_length.
    repeat split; try lia; [now rewrite L, <- app_assoc|now rewrite <- app_assoc|].
    eapply unchanged_trans; eauto; unfold upto_read; lia.
  Qed.

  Lemma run_goes r w a g : holds (r, w, a) -> run l r g -> all_go xmin g = true -> holds (r + zlength g, w, a).
  Proof.
    intros H G S. destruct (holds_run r w a g H G) as (done & stale & todo & L & R & W & E & A & U).
    exists (done ++ g), (stale ++ g), todo. rewrite kept_app, (kept_all_go xmin g S), app_nil_r, !app_length.
    repeat split; try lia; [now rewrite L, <- app_assoc|now rewrite <- !app_assoc|].
    apply (unchanged_trans 0 r r r _ _ _ a _ U); [apply unchanged_refl|..]; unfold upto_read; lia.
  Qed.

  (** What an inner loop must do: go on to any place of the array, with all that stays in front. *)
  Definition keeps_up_to (keep : Z -> state -> option state) : Prop := forall to r w a,
    holds (r, w, a) -> r <= to <= zlength l ->
    exists w' a', keep to (r, w, a) = Some (to, w', a') /\ holds (to, w', a').

  (* One by one, up to a place. *)
  Lemma slide_to fuel to r w a : holds (r, w, a) -> r <= to <= zlength l -> to - r <= Z.of_nat fuel ->
    exists w' a', while fuel (slide_test to) (branchless_body xmin) (r, w, a) = Some (to, w', a') /\ holds (to, w', a').
  Proof.
    intros H T F.
    destruct (while_total (fun s => holds s /\ (let '(r, _, _) := s in r <= to)) (fun '(r, _, _) => to - r)
      (slide_test to) (branchless_body xmin) fuel (r, w, a)) as ([[r' w'] a'] & E & [H' R'] & D).
    - split; [exact H|lia].
    - lia.
    - intros [[r1 w1] a1] [H1 R1]. eexists. split; [reflexivity|]. intros N. apply Z.ltb_lt in N. split; [lia|].
      destruct (branchless_step xmin l a0 r1 w1 a1 H1 ltac:(lia)) as (w2 & a2 & E2 & H2). eexists. split; [exact E2|].
      split; [split; [exact H2|lia]|lia].
    - injection D as D. apply Z.ltb_ge in D. assert (r' = to) by lia. subst. eauto.
  Qed.

  (* A block, piece by piece. *)
  Lemma copy_pieces_stays piece pieces : forall r w a g, holds (r, w, a) -> run l r g -> length g = (piece * pieces)%nat ->
    all_stay xmin g = true ->
    exists a', copy_pieces piece a w r pieces = Some a' /\ holds (r + zlength g, w + zlength g, a').
  Proof.
    induction pieces as [|pieces IH]; intros r w a g H G L S; cbn [copy_pieces].
    - assert (g = []) as -> by (apply length_zero_iff_nil; lia). cbn [length]. rewrite !Z.add_0_r. eauto.
    - destruct (cut_at g piece) as (g1 & g2 & -> & L1 & L2); [lia|]. apply run_split in G as [G1 G2].
      unfold all_stay in S. rewrite forallb_app in S. apply andb_prop in S as [S1 S2].
      assert (Loaded : loads a r piece = Some g1) by (rewrite <- L1; exact (run_loads r w a g1 H G1)).
      rewrite Loaded. cbn [mbind option_bind]. destruct (run_stays r w a g1 H G1 S1) as (a1 & -> & H1).
      cbn [mbind option_bind]. rewrite L1 in H1, G2. rewrite app_length in *.
      destruct (IH _ _ _ g2 H1 G2 ltac:(lia) S2) as (a2 & -> & H2). exists a2.
      split; [reflexivity|]. replace (r + Z.of_nat (length g1 + length g2)) with (r + Z.of_nat piece + zlength g2) by lia.
      now replace (w + Z.of_nat (length g1 + length g2)) with (w + Z.of_nat piece + zlength g2) by lia.
  Qed.

  (* Whole blocks, as long as a test of their XIDs says so, by a body that moves on by a block. *)
  Lemma blocks_loop of_block body : 
    (forall r w a g, holds (r, w, a) -> run l r g -> zlength g = BLOCK -> of_block g = true ->
      exists w' a', body (r, w, a) = Some (r + BLOCK, w', a') /\ holds (r + BLOCK, w', a')) ->
    forall r w a, holds (r, w, a) -> exists r' w' a',
      while (Z.to_nat (zlength l)) (block_test of_block (zlength l)) body (r, w, a) = Some (r', w', a') /\
      holds (r', w', a') /\ r <= r'.
  Proof.
    intros Step r w a H. pose proof (holds_range r w a H) as P.
    destruct (while_total (fun s => holds s /\ (let '(r', _, _) := s in r <= r')) (fun '(r, _, _) => zlength l - r)
      (block_test of_block (zlength l)) body (Z.to_nat (zlength l)) (r, w, a)) as ([[r1 w1] a1] & E & [H1 R1] & _).
    - split; [exact H|lia].
    - lia.
    - intros [[r1 w1] a1] [H1 R1]. cbn [block_test]. unfold BLOCK in *. destruct (Z.leb_spec 256 (zlength l - r1)) as [N|N].
      + pose proof (holds_range r1 w1 a1 H1). destruct (run_exists l r1 256 ltac:(lia) ltac:(lia) ltac:(lia)) as (g & G & L).
        assert (Loaded : loads a1 r1 (Z.to_nat 256) = Some g).
        { replace (Z.to_nat 256) with (length g) by lia. exact (run_loads r1 w1 a1 g H1 G). }
        rewrite Loaded. cbn [mbind option_bind]. eexists. split; [reflexivity|]. intros T. split; [lia|].
        destruct (Step r1 w1 a1 g H1 G L T) as (w2 & a2 & E2 & H2). eexists. split; [exact E2|].
        split; [split; [exact H2|lia]|lia].
      + eexists. split; [reflexivity|discriminate].
    - eauto 10.
  Qed.

  Lemma stay_loop piece r w a : (exists pieces, 256 = piece * pieces)%nat -> (0 < piece)%nat -> holds (r, w, a) -> exists r' w' a',
    while (Z.to_nat (zlength l)) (block_test (all_stay xmin) (zlength l)) (stay_body piece) (r, w, a) =
      Some (r', w', a') /\
    holds (r', w', a') /\ r <= r'.
  Proof.
    intros [pieces Pieces] Some_. apply blocks_loop. clear r w a. intros r w a g H G L S. cbn [stay_body]. destruct (Z.eqb_spec w r) as [->|N].
    - cbn [mbind option_bind]. destruct (run_stays r r a g H G S) as (a' & E & H'). rewrite L in H'.
      (* What is written is what is there already. *)
      assert (a' = a) as ->; [|eauto].
      destruct (holds_run r r a g H G) as (done & stale & todo & _ & _ & W & R & A & _).
      apply array_app in A as [_ A]. apply array_app in A as [_ A]. apply array_app in A as [A _].
      replace (0 + zlength (kept xmin done) + zlength stale) with r in A by lia. clear - A E.
      revert a r A E. induction g as [|x g IH]; intros a r A E; [cbn in E; congruence|]. destruct A as [X A].
      assert (S : store a r x = Some a) by (unfold store; rewrite X; f_equal; now apply insert_id).
      cbn [write] in E. rewrite S in E. cbn [mbind option_bind] in E. eauto.
    - change (Z.to_nat BLOCK) with 256%nat. rewrite Pieces, Nat.mul_comm, Nat.div_mul by lia.
      destruct (copy_pieces_stays piece pieces r w a g H G) as (a' & -> & H').
      + unfold BLOCK in L. lia.
      + exact S.
      + cbn [mbind option_bind]. rewrite L in H'. eauto.
  Qed.

  Lemma go_loop r w a : holds (r, w, a) -> exists r' w' a',
    while (Z.to_nat (zlength l)) (block_test (all_go xmin) (zlength l)) go_body (r, w, a) = Some (r', w', a') /\
    holds (r', w', a') /\ r <= r'.
  Proof.
    apply blocks_loop. clear r w a. intros r w a g H G L S. exists w, a. split; [reflexivity|].
    rewrite <- L. now apply run_goes.
  Qed.

  (* The inner loop, up to a place. *)
  Variables (piece : nat) (keep : Z -> state -> option state).
  Hypothesis Pieces : (exists pieces, 256 = piece * pieces)%nat.
  Hypothesis Some_ : (0 < piece)%nat.
  Hypothesis Keeps : keeps_up_to keep.

  Lemma span_step stay go r w a : holds (r, w, a) -> r < zlength l -> exists stay' go' r' w' a',
    span_body piece keep (zlength l) xmin (stay, go, (r, w, a)) = Some (stay', go', (r', w', a')) /\
    holds (r', w', a') /\ r < r'.
  Proof.
    intros H N. cbn [span_body]. unfold state in *.
    assert (Stay : exists r1 w1 a1, (if stay then while (Z.to_nat (zlength l)) (block_test (all_stay xmin) (zlength l))
        (stay_body piece) (r, w, a) else Some (r, w, a)) = Some (r1, w1, a1) /\ holds (r1, w1, a1) /\ r <= r1).
    { destruct stay; [now apply stay_loop|]. exists r, w, a. repeat split; auto; lia. }
    destruct Stay as (r1 & w1 & a1 & E1 & H1 & R1). unfold state in E1. rewrite E1. cbn [mbind option_bind].
    assert (Go : exists r2 w2 a2, (if go then while (Z.to_nat (zlength l)) (block_test (all_go xmin) (zlength l))
        go_body (r1, w1, a1) else Some (r1, w1, a1)) = Some (r2, w2, a2) /\ holds (r2, w2, a2) /\ r1 <= r2).
    { destruct go; [now apply go_loop|]. exists r1, w1, a1. repeat split; auto; lia. }
    destruct Go as (r2 & w2 & a2 & E2 & H2 & R2). unfold state in E2. rewrite E2. cbn [mbind option_bind].
    pose proof (holds_range r2 w2 a2 H2) as P. unfold SPAN.
    set (next := if 1024 <? zlength l - r2 then r2 + 1024 else zlength l).
    assert (Next : r2 <= next <= zlength l /\ r < next) by (unfold next; destruct (Z.ltb_spec 1024 (zlength l - r2)); lia).
    destruct (Keeps next r2 w2 a2 H2 ltac:(lia)) as (w3 & a3 & -> & H3). cbn [mbind option_bind].
    do 5 eexists. split; [reflexivity|]. split; [exact H3|lia].
  Qed.

  Lemma purge_by_blocks_ends : array a0 0 l -> exists w a',
    purge_by_blocks piece keep (zlength l) xmin a0 = Some (w, a') /\ holds (zlength l, w, a').
  Proof.
    intros A. assert (Start : holds (0, 0, a0)) by (apply slide_start; auto). unfold purge_by_blocks.
    destruct (LONG_ARRAY <=? zlength l).
    - destruct (while_total (fun '(_, _, s) => holds s) (fun '(_, _, (r, _, _)) => zlength l - r) (span_test (zlength l))
        (span_body piece keep (zlength l) xmin) (Z.to_nat (zlength l)) (true, true, (0, 0, a0)))
        as ([[stay go] [[r w] a']] & E & H & D).
      + exact Start.
      + lia.
      + intros [[stay go] [[r w] a1]] H. eexists. split; [reflexivity|]. intros N. apply Z.ltb_lt in N. split; [lia|].
        destruct (span_step stay go r w a1 H N) as (stay' & go' & r' & w' & a' & E & H' & R). eexists.
        split; [exact E|]. split; [exact H'|lia].
      + unfold state in *. rewrite E. cbn [mbind option_bind]. injection D as D. apply Z.ltb_ge in D.
        pose proof (holds_range r w a' H). assert (r = zlength l) by lia. subst. eauto.
    - destruct (Keeps (zlength l) 0 0 a0 Start ltac:(lia)) as (w & a' & -> & H). cbn [mbind option_bind]. eauto.
  Qed.
End slide.

(** Around an inner loop that keeps what stays up to any place, the purge by blocks keeps exactly the XIDs that do not precede
    xmin, in their order. It may overwrite any cell of the array, and none outside it. *)
Lemma purge_by_blocks_is_filter : forall piece keep xmin l a,
  (exists pieces, 256 = piece * pieces)%nat -> keeps_up_to xmin l a keep -> array a 0 l ->
  exists a', purge_by_blocks piece keep (zlength l) xmin a = Some (zlength (kept xmin l), a') /\ array a' 0 (kept xmin l) /\
    unchanged_outside 0 (zlength l) a a'.
Proof.
  intros piece keep xmin l a Pieces Keeps A.
  destruct (purge_by_blocks_ends xmin l a piece keep Pieces ltac:(destruct Pieces; lia) Keeps A)
    as (w & a' & E & done & stale & todo & L & R & W & G & A' & U).
  rewrite E. exists a'. unfold upto_read in U. assert (todo = []) as ->.
  { rewrite L, app_length in R. apply length_zero_iff_nil. lia. }
  rewrite app_nil_r in *. subst l. rewrite W. apply array_app in A' as [A' _]. auto.
Qed.

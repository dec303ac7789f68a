(* SPDX-License-Identifier: PostgreSQL *)
(** * KnownAssignedXids: compressing by vector registers keeps the live entries, in order *)
From Coq Require Import ZArith Lia List.
From stdpp Require Import base option list.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms KnownAssigned CompressRegisters.
Local Open Scope Z_scope.

Lemma live_app xs : forall vs ys ws, length xs = length vs -> live (xs ++ ys) (vs ++ ws) = live xs vs ++ live ys ws.
Proof.
  induction xs as [|x xs IH]; intros [|v vs] ys ws L; cbn in *; try lia; [reflexivity|].
  rewrite IH by lia. now destruct (v =? 0).
Qed.

Lemma pack_live_packs : packs_live pack_live.
Proof.
  intros xs flags L. eexists. split; [reflexivity|]. unfold pack_live. rewrite app_length, repeat_length.
  pose proof (live_length xs flags). lia.
Qed.

Lemma compress_groups_keep pack lanes tail xs vs dead_v x0 valid : packs_live pack -> array valid 0 (dead_v ++ vs) -> zlength dead_v = tail ->
  forall groups r w xids, branchless_invariant tail xs vs x0 (r, w, xids) ->
  r + Z.of_nat (groups * lanes) <= tail + zlength xs ->
  exists w' xids', compress_groups pack lanes groups r w xids valid = Some (w', xids') /\
    branchless_invariant tail xs vs x0 (r + Z.of_nat (groups * lanes), w', xids').
Proof.
  intros Packs V Ld. induction groups as [|groups IH]; intros r w xids I N.
  - exists w, xids. cbn [compress_groups Nat.mul]. rewrite Z.add_0_r. auto.
  - destruct I as (dx & dv & sx & tx & tv & Ex & Ev & L & Lt & R & W & Rx & X & U). cbn [Nat.mul] in N.
    assert (T : (lanes <= length tx)%nat) by (rewrite Ex, app_length in N; lia).
    destruct (cut_at tx lanes T) as (x & tx' & -> & Lx & Lx'). destruct (cut_at tv lanes ltac:(lia)) as (v & tv' & -> & Lv & Lv').
    assert (Rv : read valid r lanes = Some v).
    { rewrite <- Lv. apply array_read. rewrite Ev in V. rewrite !(app_assoc dead_v) in V. apply array_app in V as [_ V].
      apply array_app in V as [V _]. rewrite app_length in V. replace r with (0 + Z.of_nat (length dead_v + length dv)) by lia.
      exact V. }
    assert (Rd : read xids r lanes = Some x).
    { rewrite <- Lx. apply array_read. rewrite app_assoc in X. apply array_app in X as [_ X]. apply array_app in X as [X _].
      rewrite app_length in X. replace r with (0 + Z.of_nat (length (live dx dv) + length sx)) by lia. exact X. }
    cbn [compress_groups]. rewrite Rd. cbn [mbind option_bind]. rewrite Rv. cbn [mbind option_bind].
    destruct (Packs x v ltac:(lia)) as (others & P & Lp). rewrite P in *. rewrite app_length in Lp.
    destruct (cut_at (sx ++ x) lanes) as (old & stale & E & O & S); [rewrite app_length; lia|]. rewrite app_length in S.
    rewrite (app_assoc sx), E, <- (app_assoc old) in X.
    destruct (write_in_array _ _ _ _ (live x v ++ others) _ X ltac:(rewrite app_length; lia)) as (xids' & Wr & X' & U').
    rewrite Z.add_0_l, <- W in Wr, U'. rewrite Wr. cbn [mbind option_bind].
    destruct (IH (r + Z.of_nat lanes) (w + zlength (live x v)) xids') as (w' & xids'' & C & I).
    + exists (dx ++ x), (dv ++ v), (others ++ stale), tx', tv'.
      rewrite live_app by exact L. rewrite Ex, Ev, <- !app_assoc, !app_length.
      rewrite <- !app_assoc in X'. rewrite app_length in Lt.
      repeat split; try reflexivity; try lia; [exact X'|].
      eapply unchanged_trans; [exact U|exact U'|lia|]. rewrite app_length. lia.
    + rewrite Lx in *. lia.
    + exists w', xids''. split; [exact C|]. cbn [Nat.mul].
      replace (r + Z.of_nat (lanes + groups * lanes)) with (r + Z.of_nat lanes + Z.of_nat (groups * lanes)) by lia. exact I.
Qed.

(** Compressing by registers of any number of lanes gives the same XIDs and flags, whatever a register has past its live XIDs.
    It may overwrite any XID before the head, and no flag past those that it sets. *)
Theorem compress_registers_keeps_live : forall pack lanes xs vs dead_x dead_v xids valid, packs_live pack -> (0 < lanes)%nat ->
  length xs = length vs -> length dead_x = length dead_v -> array xids 0 (dead_x ++ xs) -> array valid 0 (dead_v ++ vs) ->
  let tail := zlength dead_x in let w := zlength (live xs vs) in
  exists xids' valid', compress_registers pack lanes tail (tail + zlength xs) xids valid = Some (w, xids', valid') /\
    array xids' 0 (live xs vs) /\ array valid' 0 (repeat 1 (length (live xs vs))) /\
    unchanged_outside 0 (tail + zlength xs) xids xids' /\ unchanged_outside 0 w valid valid'.
Proof.
  intros pack lanes xs vs dead_x dead_v xids valid Packs Lanes L Ld X V tail w. unfold compress_registers. cbn zeta.
  replace (tail + zlength xs - tail) with (zlength xs) by lia. rewrite Nat2Z.id.
  pose proof (Nat.div_mod (length xs) lanes ltac:(lia)) as D. set (q := (length xs / lanes)%nat) in *.
  set (rest := (length xs mod lanes)%nat) in *. assert (E : zlength xs = Z.of_nat (q * lanes) + Z.of_nat rest) by nia.
  destruct (compress_groups_keep pack lanes tail xs vs dead_v xids valid Packs V ltac:(lia) q tail 0 xids) as (w1 & x1 & -> & I).
  { exists [], [], dead_x, xs, vs. cbn. subst tail. repeat split; auto using unchanged_refl; lia. }
  { lia. }
  cbn [mbind option_bind]. replace (tail + zlength xs - Z.of_nat rest) with (tail + Z.of_nat (q * lanes)) by lia.
  destruct (while_total (branchless_invariant tail xs vs xids) (fun '(r, _, _) => tail + zlength xs - r)
    (slide_test (tail + zlength xs)) (compress_branchless_body valid) rest (tail + Z.of_nat (q * lanes), w1, x1))
    as ([[r n] xids'] & Run & J & T).
  - exact I.
  - lia.
  - intros [[r n] x2] K. eexists. split; [reflexivity|]. intros R. apply Z.ltb_lt in R. split; [lia|].
    destruct (branchless_compress_step tail xs vs dead_v xids r n x2 valid V ltac:(lia) K R) as (n' & x3 & B & K').
    eexists. split; [exact B|]. split; [exact K'|lia].
  - rewrite Run. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T.
    destruct J as (dx & dv & sx & tx & tv & -> & -> & L1 & L2 & R & N & Rx & X' & U). rewrite app_length in T.
    destruct tx; [|cbn in T; lia]. destruct tv; [|discriminate]. subst w n. rewrite !app_nil_r in *. rewrite Nat2Z.id.
    pose proof (live_length dx dv) as Q.
    destruct (cut_at (dead_v ++ dv) (length (live dx dv))) as (old & others & C & O & _); [rewrite app_length; lia|].
    rewrite C in V. apply array_app in V as [V _].
    destruct (write_spec (repeat 1 (length (live dx dv))) valid 0 old V) as (valid' & -> & V' & U');
      [now rewrite repeat_length|].
    cbn [mbind option_bind]. rewrite repeat_length, Z.add_0_l in U'. apply array_app in X' as [X' _].
    exists xids', valid'. split; [reflexivity|]. split; [exact X'|]. split; [exact V'|]. split; [|exact U'].
    now rewrite <- R.
Qed.

(* SPDX-License-Identifier: PostgreSQL *)
(** * KnownAssignedXids: compressing keeps the live entries, in order, and the search finds an XID where it stands *)
From Coq Require Import ZArith Lia List Sorted.
From stdpp Require Import base option list.
From Pgquern.common Require Import Xid.
From Pgquern.snapbuild Require Import Memory MemoryFacts Spec Algorithms Search.
Local Open Scope Z_scope.

Lemma live_snoc xs : forall vs x v, length xs = length vs ->
  live (xs ++ [x]) (vs ++ [v]) = live xs vs ++ (if v =? 0 then [] else [x]).
Proof.
  induction xs as [|y xs IH]; intros [|u vs] x v L; simpl in *; try lia.
  - now destruct (v =? 0).
  - rewrite IH by lia. now destruct (u =? 0).
Qed.

(* Of the entries (xs, vs), (dx, dv) were read; their live ones stand at 0, stale cells follow, then the others. *)
Definition compress_invariant (tail : Z) (xs vs : list Z) (x0 v0 : memory) (s : Z * Z * memory * memory) : Prop :=
  let '(r, w, xids, valid) := s in
  exists dx dv sx sv tx tv, xs = dx ++ tx /\ vs = dv ++ tv /\ length dx = length dv /\ length tx = length tv /\
    r = tail + zlength dx /\ w = zlength (live dx dv) /\ r = w + zlength sx /\ r = w + zlength sv /\
    array xids 0 (live dx dv ++ sx ++ tx) /\ array valid 0 (repeat 1 (length (live dx dv)) ++ sv ++ tv) /\
    unchanged_outside 0 w x0 xids /\ unchanged_outside 0 w v0 valid.

Lemma compress_step tail xs vs x0 v0 r w xids valid :
  compress_invariant tail xs vs x0 v0 (r, w, xids, valid) -> r < tail + zlength xs ->
  exists w' xids' valid', compress_body (r, w, xids, valid) = Some (r + 1, w', xids', valid') /\
    compress_invariant tail xs vs x0 v0 (r + 1, w', xids', valid').
Proof.
  intros (dx & dv & sx & sv & tx & tv & -> & -> & Ld & Lt & R & W & Rx & Rv & X & V & Ux & Uv) N.
  destruct tx as [|x tx]; [rewrite app_nil_r in N; lia|]. destruct tv as [|v tv]; [discriminate|]. simpl in Lt.
  pose proof (live_snoc dx dv x v Ld) as K.
  assert (Lv : load valid r = Some v).
  { rewrite app_assoc in V. apply load_in_array in V. rewrite app_length, repeat_length in V. rewrite <- V.
    f_equal. lia. }
  cbn [compress_body]. rewrite Lv. cbn [mbind option_bind]. destruct (Z.eqb_spec v 0) as [E|E].
  - exists w, xids, valid. split; [reflexivity|]. rewrite app_nil_r in K.
    exists (dx ++ [x]), (dv ++ [v]), (sx ++ [x]), (sv ++ [v]), tx, tv. rewrite K, <- !app_assoc, !app_length. simpl.
    repeat split; auto; lia.
  - assert (Lx : load xids r = Some x).
    { rewrite app_assoc in X. apply load_in_array in X. rewrite app_length in X. rewrite <- X. f_equal. lia. }
    rewrite Lx. cbn [mbind option_bind].
    destruct (next_cell sx x tx) as (cx & sx' & Ex & Lsx). destruct (next_cell sv v tv) as (cv & sv' & Ev & Lsv).
    rewrite Ex in X. rewrite Ev in V.
    destruct (store_in_array _ _ _ _ _ x X) as (xids' & Sx & X' & Ux').
    destruct (store_in_array _ _ _ _ _ 1 V) as (valid' & Sv & V' & Uv').
    rewrite repeat_length in Sv, Uv'. rewrite Z.add_0_l, <- W in Sx, Sv, Ux', Uv'. rewrite Sx. cbn [mbind option_bind].
    rewrite Sv. exists (w + 1), xids', valid'. split; [reflexivity|].
    exists (dx ++ [x]), (dv ++ [v]), sx', sv', tx, tv. rewrite K, <- !app_assoc, !app_length. simpl.
    repeat split; auto; try lia.
    + rewrite repeat_app, <- app_assoc. exact V'.
    + intros i I. rewrite Ux', Ux; auto; lia.
    + intros i I. rewrite Uv', Uv; auto; lia.
Qed.

(** Compressing moves the XIDs of [tail, head) whose flag is set to the front, in their order, sets as many flags, and
    touches no entry past them; it ends in bounds. *)
Theorem compress_keeps_live : forall xs vs dead_x dead_v xids valid, length xs = length vs ->
  length dead_x = length dead_v -> array xids 0 (dead_x ++ xs) -> array valid 0 (dead_v ++ vs) ->
  let tail := zlength dead_x in let w := zlength (live xs vs) in
  exists xids' valid', compress tail (tail + zlength xs) xids valid = Some (w, xids', valid') /\
    array xids' 0 (live xs vs) /\ array valid' 0 (repeat 1 (length (live xs vs))) /\
    unchanged_outside 0 w xids xids' /\ unchanged_outside 0 w valid valid'.
Proof.
  intros xs vs dead_x dead_v xids valid L Ld X V tail w. unfold compress.
  replace (tail + zlength xs - tail) with (zlength xs) by lia.
  destruct (while_total (compress_invariant tail xs vs xids valid) (fun '(r, _, _, _) => tail + zlength xs - r)
    (compress_test (tail + zlength xs)) compress_body (Z.to_nat (zlength xs)) (tail, 0, xids, valid))
    as ([[[r n] xids'] valid'] & E & I & T).
  - exists [], [], dead_x, dead_v, xs, vs. simpl. subst tail. repeat split; auto using unchanged_refl; lia.
  - lia.
  - intros [[[r n] x1] v1] I. eexists. split; [reflexivity|]. intros R. apply Z.ltb_lt in R. split; [lia|].
    destruct (compress_step _ _ _ _ _ _ _ _ _ I R) as (n' & x2 & v2 & E & I'). eexists. split; [exact E|].
    split; [auto|]. lia.
  - rewrite E. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T.
    destruct I as (dx & dv & sx & sv & tx & tv & -> & -> & L1 & L2 & R & N & Rx & Rv & X' & V' & Ux & Uv).
    rewrite app_length in T. destruct tx; [|simpl in T; lia]. destruct tv; [|discriminate].
    subst w n. rewrite !app_nil_r in *. apply array_app in X', V'. destruct X', V'. exists xids', valid'.
    split; [auto|]. split; [auto|]. split; auto.
Qed.

Lemma live_length xs : forall vs, (length (live xs vs) <= length vs)%nat.
Proof. induction xs as [|x xs IH]; intros [|v vs]; cbn; try lia. specialize (IH vs). destruct (v =? 0); cbn; lia. Qed.

(* Of the entries (xs, vs), (dx, dv) were read; the live XIDs stand at 0, stale cells follow, then the others. *)
Definition branchless_invariant (tail : Z) (xs vs : list Z) (x0 : memory) (s : Z * Z * memory) : Prop :=
  let '(r, w, xids) := s in
  exists dx dv sx tx tv, xs = dx ++ tx /\ vs = dv ++ tv /\ length dx = length dv /\ length tx = length tv /\
    r = tail + zlength dx /\ w = zlength (live dx dv) /\ r = w + zlength sx /\
    array xids 0 (live dx dv ++ sx ++ tx) /\ unchanged_outside 0 r x0 xids.

Lemma branchless_compress_step tail xs vs dead_v x0 r w xids valid :
  array valid 0 (dead_v ++ vs) -> zlength dead_v = tail ->
  branchless_invariant tail xs vs x0 (r, w, xids) -> r < tail + zlength xs ->
  exists w' xids', compress_branchless_body valid (r, w, xids) = Some (r + 1, w', xids') /\
    branchless_invariant tail xs vs x0 (r + 1, w', xids').
Proof.
  intros V Ld (dx & dv & sx & tx & tv & -> & -> & L & Lt & R & W & Rx & X & U) N.
  destruct tx as [|x tx]; [rewrite app_nil_r in N; lia|]. destruct tv as [|v tv]; [discriminate|]. cbn in Lt.
  pose proof (live_snoc dx dv x v L) as K.
  assert (Lx : load xids r = Some x).
  { rewrite app_assoc in X. apply load_in_array in X. rewrite app_length in X. rewrite <- X. f_equal. lia. }
  assert (Lv : load valid r = Some v).
  { rewrite app_assoc in V. apply load_in_array in V. rewrite app_length in V. rewrite <- V. f_equal. lia. }
  cbn [compress_branchless_body]. rewrite Lx. cbn [mbind option_bind].
  destruct (next_cell sx x tx) as (cx & sx' & Ex & Lsx). rewrite Ex in X.
  destruct (store_in_array _ _ _ _ _ x X) as (xids' & Sx & X' & Ux). rewrite Z.add_0_l, <- W in Sx, Ux. rewrite Sx.
  cbn [mbind option_bind]. rewrite Lv. cbn [mbind option_bind].
  assert (Un : unchanged_outside 0 (r + 1) x0 xids') by (eapply unchanged_trans; eauto; lia).
  destruct (Z.eqb_spec v 0).
  - exists w, xids'. split; [reflexivity|]. rewrite app_nil_r in K.
    exists (dx ++ [x]), (dv ++ [v]), (x :: sx'), tx, tv. rewrite K, <- !app_assoc, !app_length. cbn in *.
    repeat split; auto; lia.
  - exists (w + 1), xids'. split; [reflexivity|].
    exists (dx ++ [x]), (dv ++ [v]), sx', tx, tv. rewrite K, <- !app_assoc, !app_length. cbn in *.
    repeat split; auto; lia.
Qed.

(** Compressing without a branch gives the same XIDs and flags. It may overwrite any XID before the head, and no flag past
    those that it sets. *)
Theorem compress_branchless_keeps_live : forall xs vs dead_x dead_v xids valid, length xs = length vs ->
  length dead_x = length dead_v -> array xids 0 (dead_x ++ xs) -> array valid 0 (dead_v ++ vs) ->
  let tail := zlength dead_x in let w := zlength (live xs vs) in
  exists xids' valid', compress_branchless tail (tail + zlength xs) xids valid = Some (w, xids', valid') /\
    array xids' 0 (live xs vs) /\ array valid' 0 (repeat 1 (length (live xs vs))) /\
    unchanged_outside 0 (tail + zlength xs) xids xids' /\ unchanged_outside 0 w valid valid'.
Proof.
  intros xs vs dead_x dead_v xids valid L Ld X V tail w. unfold compress_branchless.
  replace (tail + zlength xs - tail) with (zlength xs) by lia.
  destruct (while_total (branchless_invariant tail xs vs xids) (fun '(r, _, _) => tail + zlength xs - r)
    (slide_test (tail + zlength xs)) (compress_branchless_body valid) (Z.to_nat (zlength xs)) (tail, 0, xids))
    as ([[r n] xids'] & E & I & T).
  - exists [], [], dead_x, xs, vs. cbn. subst tail. repeat split; auto using unchanged_refl; lia.
  - lia.
  - intros [[r n] x1] I. eexists. split; [reflexivity|]. intros R. apply Z.ltb_lt in R. split; [lia|].
    destruct (branchless_compress_step tail xs vs dead_v xids r n x1 valid V ltac:(lia) I R) as (n' & x2 & E & I').
    eexists. split; [exact E|]. split; [exact I'|lia].
  - rewrite E. cbn [mbind option_bind]. injection T as T. apply Z.ltb_ge in T.
    destruct I as (dx & dv & sx & tx & tv & -> & -> & L1 & L2 & R & N & Rx & X' & U). rewrite app_length in T.
    destruct tx; [|cbn in T; lia]. destruct tv; [|discriminate]. subst w n. rewrite !app_nil_r in *. rewrite Nat2Z.id.
    pose proof (live_length dx dv) as Q.
    destruct (cut_at (dead_v ++ dv) (length (live dx dv))) as (old & rest & C & O & _); [rewrite app_length; lia|].
    rewrite C in V. apply array_app in V as [V _].
    destruct (write_spec (repeat 1 (length (live dx dv))) valid 0 old V) as (valid' & -> & V' & U');
      [now rewrite repeat_length|].
    cbn [mbind option_bind]. rewrite repeat_length, Z.add_0_l in U'. apply array_app in X' as [X' _].
    exists xids', valid'. split; [reflexivity|]. split; [exact X'|]. split; [exact V'|]. split; [|exact U'].
    now rewrite <- R.
Qed.

(* Within half the ring, an array in its order falls into what precedes an XID and what doesn't. *)
Lemma ring_split xid xs : within_half_ring (fun x => x = xid \/ In x xs) ->
  StronglySorted (fun x y => precedes x y = true) xs ->
  exists below rest, xs = below ++ rest /\ Forall (fun v => precedes v xid = true) below /\
    Forall (fun v => precedes v xid = false) rest.
Proof.
  intros W S. induction S as [|x xs S IH F]; [exists [], []; auto|].
  destruct (precedes x xid) eqn:P.
  - destruct IH as (below & rest & -> & B & R).
    { destruct W as [base W]. exists base. intros y Y. apply W. simpl. tauto. }
    exists (x :: below), rest. auto.
  - exists [], (x :: xs). split; [auto|]. split; [auto|]. constructor; [auto|]. rewrite List.Forall_forall in *.
    intros y Y. destruct (precedes y xid) eqn:Q; [|auto].
    rewrite <- P. symmetry. apply (precedes_transitive _ W x y xid); simpl; auto.
Qed.

Lemma sorted_after (P : Z -> Z -> Prop) below v rest : StronglySorted P (below ++ v :: rest) -> Forall (P v) rest.
Proof. induction below as [|x below IH]; intros S; apply StronglySorted_inv in S; [apply S|]. now apply IH. Qed.

(** In an array in the order of precedes, within half the ring, the binary search gives the place of an XID, or says
    that it is not there. *)
Theorem find_finds : forall xs xid tail xids, array xids tail xs -> within_half_ring (fun x => x = xid \/ In x xs) ->
  StronglySorted (fun x y => precedes x y = true) xs ->
  exists i, find tail (tail + zlength xs) xid xids = Some i /\
    (In xid xs /\ tail <= i < tail + zlength xs /\ load xids i = Some xid \/ ~ In xid xs /\ i = tail + zlength xs).
Proof.
  intros xs xid tail xids A W S. destruct (ring_split xid xs W S) as (below & rest & -> & B & R).
  unfold find. rewrite (bisect_spec (fun v => precedes v xid) xids tail below rest A B R); rewrite ?app_length; try lia.
  cbn [mbind option_bind].
  assert (NB : ~ In xid below).
  { rewrite List.Forall_forall in B. intros I. specialize (B xid I). simpl in B.
    now rewrite precedes_irreflexive in B. }
  destruct rest as [|v rest].
  - rewrite (proj2 (Z.ltb_ge _ _)) by (simpl; lia). eexists. split; [reflexivity|]. right. rewrite app_nil_r. auto.
  - rewrite (proj2 (Z.ltb_lt _ _)) by (simpl; lia). pose proof (load_in_array xids tail below v rest A) as V. rewrite V.
    cbn [mbind option_bind]. destruct (Z.eqb_spec v xid) as [->|Ne].
    + eexists. split; [reflexivity|]. left. split; [apply in_or_app; right; now left|]. split; [simpl; lia|auto].
    + eexists. split; [reflexivity|]. right. split; [|auto]. intros I. apply in_app_or in I.
      destruct I as [I|[I|I]]; [auto|auto|]. apply sorted_after in S.
      rewrite List.Forall_forall in S. specialize (S xid I). inversion R as [|? ? P _]. simpl in S. congruence.
Qed.
